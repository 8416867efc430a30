"""Fill a store block by block; the same call goes on where an interrupted one stopped."""

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
from mlsysim.study.grids.checkpoint import Checkpoint, resumable, told
from mlsysim.study.grids.store import remove, store_at
from mlsysim.study.grids.template import Template

if TYPE_CHECKING:
    import xarray

#: Arrays of a block by name, and how blocks are computed: numbers of them in, each with its arrays out.
Arrays = Mapping[str, np.ndarray]
Compute = Callable[[Blocks, Iterable[int]], Iterator[tuple[int, Arrays]]]


class Filling:
    """A data set on disk, and which of its blocks are finished.

    A file beside it notes the finished blocks, each with a checksum.

    Parameters
    ----------
    path : path
        Of a Zarr group (``.zarr``) or a NetCDF file (``.nc``).
    template : Template
        Names, coordinates and attributes.
    fingerprint : mapping
        Texts that say what the values follow from, by name of the part.
    """

    def __init__(self, path: str | os.PathLike[str], template: Template, fingerprint: Mapping[str, str]) -> None:
        self.place, self.template = store_at(path), template
        beside = self.place.path.with_name(f"{self.place.path.name}.progress")
        marks = {**fingerprint, **template.fingerprint()}
        self.note = Checkpoint(beside, marks, "store", self.place.path, template.facts())
        self.parts, self.finished = blocks(template.sizes), dict[int, int]()

    def run(self, compute: Compute, block_points: int, progress: bool | None = None) -> xarray.Dataset:
        """Compute the blocks that are missing; the whole data set, whose values are read from disk when they are used.

        Parameters
        ----------
        compute : callable
            Takes the blocks of the grid and numbers of blocks; yields each number with its arrays.
        block_points : int
            Most points of a block; a store that was begun with smaller blocks goes on with those.
        progress : bool, optional
            Whether to show a progress bar; by default on a terminal.

        Raises
        ------
        InputError
            If there is something else at the path, another call writes there, or it was begun with larger blocks.
        StoreError
            If the store cannot be read or written, or its coordinates or attributes have changed.
        """
        self._refuse_other(begun=os.path.exists(self.note.path))
        with self.note.held():
            if not self._go_on(block_points):
                self._lay_out(block_points)
            self._forget_changed(progress)
            if len(self.finished) < self.parts.count:
                self._complete(compute, progress)
            return self._dataset()

    def _refuse_other(self, *, begun: bool) -> None:
        """Refuse a path with something else; before anything is put beside it, too."""
        if not begun and os.path.lexists(self.place.path):
            raise InputError("store", self.place.path, "exists, and was begun by another call", "name another")

    def _go_on(self, block_points: int) -> bool:
        """Go on from what an earlier call left, if there was one."""
        path, found = self.place.path, self.note.read(self._reached)
        self._refuse_other(begun=found is not None)
        if not found or not os.path.lexists(path):
            return False
        self.parts, self.finished = found
        largest = math.prod(self.parts.shape)
        if largest > block_points:
            allowed = f"{str(path)!r} was begun in blocks of {largest:,} points"
            raise InputError("block_points", block_points, allowed, "give at least as many, or name another store")
        return True

    def _reached(self, state: dict[str, Any], records: list[Any]) -> tuple[Blocks, dict[int, int]] | tuple[()]:
        """Blocks and the checksums of those that are finished; nothing where none was laid out."""
        if not state["laid_out"]:
            return ()
        parts, finished = blocks(self.template.sizes, state["block_points"]), dict(records)
        if not all(isinstance(number, int) and 0 <= number < parts.count for number in finished):
            raise ValueError
        return parts, finished

    def _lay_out(self, block_points: int) -> None:
        self.parts, self.finished = blocks(self.template.sizes, block_points), {}
        with told(self.place.path, "cannot be laid out", lambda: "nothing is lost; the same call begins again"):
            self.note.save({"laid_out": False})
            remove(self.place.path)
            self.place.create(self.template, self.parts.shape)
            self._save()

    def _save(self) -> None:
        self.note.save({"laid_out": True, "block_points": math.prod(self.parts.shape)}, self.finished.items())

    def _dataset(self) -> xarray.Dataset:
        with told(self.place.path, "cannot be read", lambda: f"restore it, or {self.note.again}"):
            whole = self.place.dataset()
            found = whole[list(self.template.dtypes)]
            found.set_close(whole.close)
            return found

    def _forget_changed(self, progress: bool | None) -> None:
        """Refuse a store whose coordinates have changed; blocks that have changed count as not finished."""
        with self._dataset() as found:
            parts = self.template.changed(found)
        if parts:
            remedy = f"restore it, or {self.note.again}"
            raise StoreError(self.place.path, f"{' and '.join(parts)} changed since it was begun", remedy)
        changed = self._changed(progress)
        for number in changed:
            del self.finished[number]
        if changed:
            warnings.warn(
                f"{len(changed)} of {self.parts.count} blocks in {self.place.path} are not what was written there; "
                "they are computed again",
                stacklevel=2,
            )

    def _changed(self, progress: bool | None) -> list[int]:
        """Finished blocks whose checksum is no longer that of their values."""
        place, parts, found = self.place, self.parts, list[int]()
        points = sum(map(parts.points, self.finished))
        with told(place.path, "cannot be read", lambda: f"restore it, or {self.note.again}"):
            place.open(writing=False)
        try:
            with bar(f"{place.path.name}: checking", points, show=progress) as advance:
                for number, checksum in self.finished.items():
                    try:
                        same = _checksum(place.read(parts.region(number), self.template.dtypes)) == checksum
                    except Exception:  # whatever a storage library makes of a damaged block
                        same = False
                    if not same:
                        found.append(number)
                    advance(parts.points(number))
        finally:
            place.close()
        return found

    def _complete(self, compute: Compute, progress: bool | None) -> None:
        path, finished, parts = self.place.path, self.finished, self.parts
        missing = [number for number in range(parts.count) if number not in finished]

        def reached() -> str:
            if not finished:
                return f"no block of {parts.count} is finished in {path}; the same call begins again"
            return f"{len(finished)} of {parts.count} blocks are finished in {path}; the same call goes on from there"

        with told(path, "cannot be written", reached):
            self._save()
            self.place.open()
        try:
            with (
                bar(path.name, math.prod(parts.sizes), sum(map(parts.points, finished)), progress) as advance,
                resumable(reached),
            ):
                for number, arrays in compute(parts, missing):
                    with told(path, "cannot be written", reached):
                        self.place.write(parts.region(number), arrays)
                        checksum = _checksum(arrays)
                        self.note.append([number, checksum])
                    finished[number] = checksum
                    advance(parts.points(number))
        finally:
            with told(path, "cannot be written", reached):
                self.place.close()


def _checksum(arrays: Arrays) -> int:
    """Checksum of all bits of a block."""
    found = 0
    for name in sorted(arrays):
        found = zlib.crc32(np.ascontiguousarray(arrays[name]).data, found)
    return found
