"""Grids too large for memory: block by block, from a checkpoint on, here or on a cluster."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from mlsysim.engine import (
    DenseSearch,
    Front,
    Refused,
    Scan,
    Shown,
    Smallest,
    evaluate_shown,
    front_of,
    joined_fronts,
)
from mlsysim.engine.blocks import POINTS, Blocks, Region, all_within, blocks, shape
from mlsysim.engine.versions import versions
from mlsysim.errors import InputError
from mlsysim.study.checkpoint import Checkpoint, resumable, text_of_values, told
from mlsysim.study.cluster import each
from mlsysim.study.filling import Filling
from mlsysim.study.progress import bar
from mlsysim.study.store import Template
from mlsysim.symbolic import System, reason_code

if TYPE_CHECKING:
    import xarray

#: Seconds between two checkpoints of a search.
OFTEN = 1.0
#: Ranges of runs that a search is spread over, and the seconds' worth of points in each.
SHARES, SHARE_POINTS = 64, 2**28


@dataclass(frozen=True)
class Grid:
    """What is asked of every point of a grid. Goes to a worker as it is.

    Attributes
    ----------
    system : System
        Formulas.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
    sizes : tuple of int
        Length of each axis.
    outputs : tuple of Shown
        What a data set holds.
    conditions : tuple of (int, sympy Boolean)
        Code of a reason, and what must hold for a point not to be refused.
    reasons : str
        Name of the codes in the data set; empty where there are none.
    """

    system: System
    values: Mapping[str, Any]
    sizes: tuple[int, ...]
    outputs: tuple[Shown, ...] = ()
    conditions: tuple[tuple[int, sympy.Basic], ...] = ()
    reasons: str = ""

    @property
    def points(self) -> int:
        """Points in all."""
        return math.prod(self.sizes)

    @property
    def dtypes(self) -> dict[str, np.dtype]:
        """Type of every variable of the data set."""
        kinds = {"number": np.float64, "label": np.int8, "truth": np.bool_}
        found = {output.name: np.dtype(kinds[output.kind]) for output in self.outputs}
        return found | ({self.reasons: np.dtype(np.int8)} if self.reasons else {})

    def arrays(self, region: Region) -> dict[str, np.ndarray]:
        """Every variable of the data set in a region, in memory."""
        return evaluate_shown(
            self.system,
            self.outputs,
            all_within(self._needed, region),
            shape(region),
            refused=Refused(self.reasons, reason_code(self.conditions)) if self.reasons else None,
            total=self.points,
        )

    @cached_property
    def _needed(self) -> dict[str, Any]:
        names = {symbol.name for _, e in self.conditions for symbol in e.free_symbols}  # type: ignore[attr-defined]
        defined = {v.name for v in self.system.variables}
        wanted = {output.name for output in self.outputs} | names & defined
        names |= {v.name for v in self.system.closure(wanted).inputs}
        return {name: value for name, value in self.values.items() if name in names}

    def fingerprint(self) -> dict[str, str]:
        """What the values of a point follow from, part by part."""
        return {
            "formulas": "\n".join(f"{f.name} = {f.expression}" for f in self.system),
            "inputs": f"{self.sizes}\n{text_of_values(self.values)}",
            "outputs": f"{self.outputs} {self.reasons}",
            "requirements": "\n".join(f"{code} {condition}" for code, condition in self.conditions),
            "versions": versions(),
        }


def write(
    grid: Grid,
    template: Template,
    path: str | os.PathLike[str],
    *,
    block_points: int = POINTS,
    client: Any = None,
    progress: bool | None = None,
) -> xarray.Dataset:
    """Fill a data set on disk, block by block.

    The finished blocks are noted in a small file beside it, so that the same call goes on where an
    interrupted one stopped, and computes nothing when all is finished. Blocks that have changed on disk
    are computed again.

    Parameters
    ----------
    grid : Grid
        What is computed.
    template : Template
        Names, coordinates and attributes.
    path : path
        Of a Zarr group (``.zarr``) or a NetCDF file (``.nc``).
    block_points : int
        Most points held at once; a store that was begun with smaller blocks goes on with those.
    client : dask.distributed.Client, optional
        Of a cluster that computes the blocks.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.

    Returns
    -------
    xarray.Dataset
        Read from disk when it is asked for.

    Raises
    ------
    InputError
        If there is something else at the path, or another call writes there.
    StoreError
        If the store cannot be read or written, or its coordinates or attributes have changed.
    """

    def compute(parts: Blocks, numbers: Iterable[int]) -> Iterator[tuple[int, Any]]:
        return each(_block, (grid, parts), numbers, client)

    return Filling(path, template, grid.fingerprint()).run(compute, block_points, progress)


def gather(
    grid: Grid, *, block_points: int | None = None, client: Any = None, progress: bool | None = None
) -> dict[str, np.ndarray]:
    """Every variable of the data set in memory; a sweep that is not split is one block.

    Parameters
    ----------
    grid, client, progress
        As for :func:`write`.
    block_points : int, optional
        Most points computed at once; all of them by default, on a cluster four million.

    Returns
    -------
    dict
        Array per variable, in the shape of the grid.
    """
    if block_points is None and client is None:
        return grid.arrays(tuple(slice(0, size) for size in grid.sizes))
    parts = blocks(grid.sizes, POINTS if block_points is None else block_points)
    arrays = {name: np.empty(grid.sizes, dtype) for name, dtype in grid.dtypes.items()}
    with bar("sweep", grid.points, show=progress) as advance:
        for number, found in each(_block, (grid, parts), range(parts.count), client):
            for name, values in found.items():
                arrays[name][parts.region(number)] = values
            advance(parts.points(number))
    return arrays


def _block(shared: tuple[Grid, Blocks], number: int) -> dict[str, np.ndarray]:
    grid, parts = shared
    return grid.arrays(parts.region(number))


class _Search:
    """A search of a grid, built where it is needed and sent to workers as its parts."""

    def __init__(self, grid: Grid, objective: sympy.Basic, conditions: tuple[sympy.Basic, ...], k: int, count: bool):
        self.grid, self.objective, self.conditions, self.k, self.count = grid, objective, conditions, k, count

    def __reduce__(self) -> tuple[Any, ...]:
        return _Search, (self.grid, self.objective, self.conditions, self.k, self.count)

    @cached_property
    def dense(self) -> DenseSearch:
        grid = self.grid
        conditions = [*(condition for _, condition in grid.conditions), *self.conditions]
        return DenseSearch(grid.system, self.objective, conditions, grid.values, grid.sizes, count=self.count)

    def fingerprint(self) -> dict[str, str]:
        return self.grid.fingerprint() | {
            "objective": f"{self.objective} {self.k} {self.count} {self.dense.tiling}",
            "conditions": "\n".join(map(str, self.conditions)),
        }


def smallest(
    grid: Grid,
    objective: sympy.Basic,
    conditions: Sequence[sympy.Basic] = (),
    k: int = 1,
    *,
    count: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    client: Any = None,
    deadline: float = math.inf,
    progress: bool | None = None,
) -> Smallest:
    """The points of a grid with the smallest values of an expression; no more than a tile is ever held.

    Parameters
    ----------
    grid : Grid
        System, inputs and requirements; points they refuse are out.
    objective : sympy.Expr
        In inputs and variables of the system, canonical.
    conditions : sequence of sympy Boolean
        All must hold.
    k : int
        How many points.
    count : bool
        Whether feasible points are counted.
    checkpoint : path, optional
        File that keeps what is known, to go on from.
    client, progress
        As for :func:`write`.
    deadline : float
        Time of ``time.perf_counter`` after which no further part of the grid is begun.

    Returns
    -------
    Smallest
        Of the points that were looked at.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError("top", k, "must be a whole number >= 1")
    search = _Search(grid, objective, tuple(conditions), k, count)
    if checkpoint is None:
        return _smallest(search, None, deadline, client, progress)
    note = Checkpoint(checkpoint, search.fingerprint())
    with note.held():
        return _smallest(search, note, deadline, client, progress)


def _smallest(
    search: _Search, note: Checkpoint | None, deadline: float, client: Any, progress: bool | None
) -> Smallest:
    grid, k = search.grid, search.k
    saved = note.read() if note is not None else None
    found, start = _scan_of(saved[0]) if saved is not None else (Scan(), 0)
    reached = {"run": start, "saved": time.monotonic()}
    known = found

    def keep(scan: Scan, following: int, *, now: bool = False) -> None:
        nonlocal known
        known, reached["run"] = scan, following
        if note is not None and (now or time.monotonic() - reached["saved"] > OFTEN):
            with told(note.path, "cannot be written", lambda: "what it held is kept; the same call goes on from there"):
                note.save({"run": following, **_state_of(scan)})
            reached["saved"] = time.monotonic()

    def so_far() -> str:
        after = (
            f"the same call goes on from {note.path}" if note else "with checkpoint=... a call could go on from there"
        )
        return f"{known.points:,} of {grid.points:,} points are done; {after}"

    with (
        bar("search", grid.points, found.points, progress) as advance,
        resumable(so_far),
    ):
        try:
            for following, scan in _scanned(search, found, start, client):
                advance(scan.points - known.points)
                keep(scan, following)
                if time.perf_counter() > deadline:
                    break
        finally:
            keep(known, int(reached["run"]), now=True)
    return search.dense.resolve(known, k)


def _scanned(search: _Search, found: Scan, start: int, client: Any) -> Iterator[tuple[int, Scan]]:
    """What is known after more and more runs of tiles, and the next run."""
    total = search.dense.runs
    if client is None:
        for part, following in search.dense.scans(start, total, search.k):
            found = found.joined(part, search.k)
            yield following, found
        return
    share = max(1, min(-(-total // SHARES), SHARE_POINTS // (search.dense.tiling.width * search.dense.tiling.run)))
    parts = [(first, min(first + share, total)) for first in range(start, total, share)]
    for (_, following), scan in each(_range, search, parts, client):
        found = found.joined(scan, search.k)
        yield following, found


def _range(search: _Search, part: tuple[int, int]) -> Scan:
    return search.dense.scan(*part, search.k)


def _state_of(scan: Scan) -> dict[str, Any]:
    lowest = [value.hex() for value in scan.lowest.tolist()]
    return {"tiles": scan.tiles.tolist(), "lowest": lowest, "feasible": scan.feasible, "points": scan.points}


def _scan_of(state: Mapping[str, Any]) -> tuple[Scan, int]:
    lowest = np.array([float.fromhex(value) for value in state["lowest"]])
    tiles = np.array(state["tiles"], np.int64)
    return Scan(tiles, lowest, state["feasible"], state["points"]), state["run"]


def pareto(
    grid: Grid,
    objectives: Sequence[sympy.Basic],
    conditions: Sequence[sympy.Basic] = (),
    *,
    block_points: int = POINTS,
    client: Any = None,
    progress: bool | None = None,
) -> Front:
    """The exact front of several objectives, all minimised; a block is held at a time.

    Parameters
    ----------
    grid, conditions, client, progress
        As for :func:`smallest`.
    objectives : sequence of sympy.Expr
        At least one.
    block_points : int
        Most points held at once.

    Returns
    -------
    Front
        Of points alike in every objective the first in C order.
    """
    if not objectives:
        raise InputError("objectives", objectives, "name at least one")
    parts = blocks(grid.sizes, block_points)
    shared = (grid, parts, tuple(objectives), tuple(conditions))
    found = Front(np.empty((0, len(objectives))), np.empty(0, np.int64), 0, 0)
    with bar("front", grid.points, show=progress) as advance:
        for number, front in each(_front, shared, range(parts.count), client):
            found = joined_fronts(found, front)
            advance(parts.points(number))
    return found


def _front(shared: tuple[Grid, Blocks, tuple[sympy.Basic, ...], tuple[sympy.Basic, ...]], number: int) -> Front:
    grid, cut, objectives, conditions = shared
    region = cut.region(number)
    required = [condition for _, condition in grid.conditions]
    values = all_within(grid.values, region)
    front = front_of(grid.system, objectives, [*required, *conditions], values, shape(region))
    return replace(front, indices=front.indices + cut.start(number))
