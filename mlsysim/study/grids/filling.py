"""Filling of a store block by block; the same call resumes after an interruption."""

from __future__ import annotations

import math
import os
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.backends.blocks import Blocks, blocks
from mlsysim.errors import InputError, StoreError
from mlsysim.progress import bar
from mlsysim.study.grids.checkpoint import Checkpoint, resumable, storage_errors
from mlsysim.study.grids.store import remove, store_at
from mlsysim.study.grids.template import Template

if TYPE_CHECKING:
    import xarray

#: Arrays of a block by name; and a function that yields the arrays of blocks, given their indices.
Arrays = Mapping[str, np.ndarray]
Compute = Callable[[Blocks, Iterable[int]], Iterator[tuple[int, Arrays]]]


class Filling:
    """A data set on disk, with the set of its finished blocks.

    A file beside it lists the finished blocks, each with a checksum.

    Parameters
    ----------
    path : path
        Path of a Zarr group (``.zarr``) or a NetCDF file (``.nc``).
    template : Template
        Names, coordinates and attributes.
    fingerprint : mapping
        Texts that determine the values, by part.
    """

    def __init__(self, path: str | os.PathLike[str], template: Template, fingerprint: Mapping[str, str]) -> None:
        self.store, self.template = store_at(path), template
        progress_path = self.store.path.with_name(f"{self.store.path.name}.progress")
        marks = {**fingerprint, **template.fingerprint()}
        self.note = Checkpoint(progress_path, marks, "store", self.store.path, template.facts())
        self.tiling, self.finished = blocks(template.sizes), dict[int, int]()

    def run(self, compute: Compute, block_points: int, progress: bool | None = None) -> xarray.Dataset:
        """Compute the missing blocks; return the data set, whose values are read from disk on access.

        Parameters
        ----------
        compute : callable
            Function of the blocks of the grid and of block indices; yields each index with its arrays.
        block_points : int
            Most points of a block; a store that was begun with smaller blocks keeps them.
        progress : bool, optional
            Show a progress bar; by default on a terminal.

        Raises
        ------
        InputError
            If something else is at the path, another call writes there, or the store was begun with larger blocks.
        StoreError
            If the store cannot be read or written, or its coordinates or attributes have changed.
        """
        self._refuse_other(begun=os.path.exists(self.note.path))
        with self.note.held():
            if not self._resume(block_points):
                self._lay_out(block_points)
            self._drop_changed(progress)
            if len(self.finished) < self.tiling.count:
                self._complete(compute, progress)
            return self._dataset()

    def _refuse_other(self, *, begun: bool) -> None:
        """Refuse a path with something else, also before anything is put beside it."""
        if not begun and os.path.lexists(self.store.path):
            raise InputError("store", self.store.path, "exists, and was begun by another call", "name another")

    def _resume(self, block_points: int) -> bool:
        """Resume from the state of an earlier call, if there is one."""
        path, saved = self.store.path, self.note.read(self._reached)
        self._refuse_other(begun=saved is not None)
        if not saved or not os.path.lexists(path):
            return False
        self.tiling, self.finished = saved
        largest = math.prod(self.tiling.shape)
        if largest > block_points:
            allowed = f"{str(path)!r} was begun in blocks of {largest:,} points"
            raise InputError("block_points", block_points, allowed, "give at least as many, or name another store")
        return True

    def _reached(self, state: dict[str, Any], records: list[Any]) -> tuple[Blocks, dict[int, int]] | tuple[()]:
        """Read the blocks and the checksums of finished ones; empty if the store was not laid out."""
        if not state["laid_out"]:
            return ()
        tiling, finished = blocks(self.template.sizes, state["block_points"]), dict(records)
        if not all(isinstance(index, int) and 0 <= index < tiling.count for index in finished):
            raise ValueError
        return tiling, finished

    def _lay_out(self, block_points: int) -> None:
        self.tiling, self.finished = blocks(self.template.sizes, block_points), {}
        with storage_errors(
            self.store.path, "cannot be laid out", lambda: "nothing is lost; the same call begins again"
        ):
            self.note.save({"laid_out": False})
            remove(self.store.path)
            self.store.create(self.template, self.tiling.shape)
            self._save()

    def _save(self) -> None:
        self.note.save({"laid_out": True, "block_points": math.prod(self.tiling.shape)}, self.finished.items())

    def _dataset(self) -> xarray.Dataset:
        with storage_errors(self.store.path, "cannot be read", lambda: f"restore it, or {self.note.again}"):
            whole = self.store.dataset()
            dataset = whole[list(self.template.dtypes)]
            dataset.set_close(whole.close)
            return dataset

    def _drop_changed(self, progress: bool | None) -> None:
        """Refuse a store whose coordinates have changed; treat changed blocks as unfinished."""
        with self._dataset() as dataset:
            changed_parts = self.template.changed(dataset)
        if changed_parts:
            remedy = f"restore it, or {self.note.again}"
            raise StoreError(self.store.path, f"{' and '.join(changed_parts)} changed since it was begun", remedy)
        changed = self._changed(progress)
        for index in changed:
            del self.finished[index]
        if changed:
            warnings.warn(
                f"{len(changed)} of {self.tiling.count} blocks in {self.store.path} are not what was written there; "
                "they are computed again",
                stacklevel=2,
            )

    def _changed(self, progress: bool | None) -> list[int]:
        """Return finished blocks whose checksum no longer matches their values."""
        store, tiling, changed = self.store, self.tiling, list[int]()
        points = sum(map(tiling.points, self.finished))
        with storage_errors(store.path, "cannot be read", lambda: f"restore it, or {self.note.again}"):
            store.open(writing=False)
        try:
            with bar(f"{store.path.name}: checking", points, show=progress) as advance:
                for index, checksum in self.finished.items():
                    try:
                        same = _checksum(store.read(tiling.region(index), self.template.dtypes)) == checksum
                    except Exception:  # whatever a storage library makes of a damaged block
                        same = False
                    if not same:
                        changed.append(index)
                    advance(tiling.points(index))
        finally:
            store.close()
        return changed

    def _complete(self, compute: Compute, progress: bool | None) -> None:
        path, finished, tiling = self.store.path, self.finished, self.tiling
        missing = [index for index in range(tiling.count) if index not in finished]

        def describe_progress() -> str:
            if not finished:
                return f"no block of {tiling.count} is finished in {path}; the same call begins again"
            return f"{len(finished)} of {tiling.count} blocks are finished in {path}; the same call goes on from there"

        with storage_errors(path, "cannot be written", describe_progress):
            self._save()
            self.store.open()
        try:
            with (
                bar(path.name, math.prod(tiling.sizes), sum(map(tiling.points, finished)), progress) as advance,
                resumable(describe_progress),
            ):
                for index, arrays in compute(tiling, missing):
                    with storage_errors(path, "cannot be written", describe_progress):
                        self.store.write(tiling.region(index), arrays)
                        checksum = _checksum(arrays)
                        self.note.append([index, checksum])
                    finished[index] = checksum
                    advance(tiling.points(index))
        finally:
            with storage_errors(path, "cannot be written", describe_progress):
                self.store.close()


def _checksum(arrays: Arrays) -> int:
    """Checksum all bits of a block."""
    checksum = 0
    for name in sorted(arrays):
        checksum = zlib.crc32(np.ascontiguousarray(arrays[name]).data, checksum)
    return checksum
