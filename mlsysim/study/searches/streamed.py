"""The best points, or the exact front, of a grid of any size: block by block, here or on a cluster."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from mlsysim.backends.blocks import POINTS, Blocks, blocks
from mlsysim.backends.dense import DenseSearch, Scan, Smallest
from mlsysim.backends.front import Front, GridFront, joined_fronts
from mlsysim.errors import InputError
from mlsysim.progress import bar
from mlsysim.study.grids.checkpoint import Checkpoint, resumable, told
from mlsysim.study.grids.cluster import each
from mlsysim.study.grids.grid import Grid

#: Seconds between two checkpoints of a search.
OFTEN = 1.0
#: Tasks that a search on a cluster is split into, and most points of each.
SHARES, SHARE_POINTS = 64, 2**28


@dataclass(eq=False)
class _Search:
    """A search of a grid. Workers get its fields, and compile for themselves."""

    grid: Grid
    objectives: tuple[sympy.Basic, ...]
    conditions: tuple[sympy.Basic, ...]
    k: int = 1

    def __reduce__(self) -> tuple[Any, ...]:
        return _Search, (self.grid, self.objectives, self.conditions, self.k)

    @cached_property
    def dense(self) -> DenseSearch:
        grid, (objective,) = self.grid, self.objectives
        return DenseSearch(grid.system, objective, [*grid.required, *self.conditions], grid.values, grid.sizes)

    @cached_property
    def front(self) -> GridFront:
        grid = self.grid
        return GridFront(grid.system, self.objectives, [*grid.required, *self.conditions], grid.values)

    def fingerprint(self) -> dict[str, str]:
        return self.grid.fingerprint() | {
            "objective": f"{self.objectives} {self.k} {self.dense.tiling}",
            "conditions": "\n".join(map(str, self.conditions)),
        }


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
    grid : Grid
        System, inputs and requirements; points they refuse are out.
    objectives : sequence of sympy.Expr
        At least one.
    conditions : sequence of sympy Boolean
        All must hold.
    block_points : int
        Most points held at once.
    client : dask.distributed.Client, optional
        Of a cluster that looks at the blocks.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.

    Returns
    -------
    Front
        Of points alike in every objective the first in C order.
    """
    if not objectives:
        raise InputError("objectives", objectives, "name at least one")
    parts = blocks(grid.sizes, block_points)
    shared = _Search(grid, tuple(objectives), tuple(conditions)), parts
    found = Front(np.empty((0, len(objectives))), np.empty(0, np.int64), 0, 0)
    with bar("front", grid.points, show=progress) as advance:
        for number, front in each(_front, shared, range(parts.count), client):
            found = joined_fronts(found, front)
            advance(parts.points(number))
    return found


def _front(shared: tuple[_Search, Blocks], number: int) -> Front:
    search, parts = shared
    front = search.front.of(parts.region(number))
    return replace(front, indices=front.indices + parts.start(number))


def smallest(
    grid: Grid,
    objective: sympy.Basic,
    conditions: Sequence[sympy.Basic] = (),
    k: int = 1,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    client: Any = None,
    deadline: float = math.inf,
    progress: bool | None = None,
) -> Smallest:
    """The points of a grid with the smallest values of an expression; only one tile is held at a time.

    Parameters
    ----------
    grid, conditions, client, progress
        As for :func:`pareto`.
    objective : sympy.Expr
        In inputs and variables of the system, canonical.
    k : int
        How many points.
    checkpoint : path, optional
        File that keeps what is known, to go on from.
    deadline : float
        Time of ``time.perf_counter`` after which no further part of the grid is begun.

    Returns
    -------
    Smallest
        Of the points that were looked at.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError("top", k, "must be a whole number >= 1")
    search = _Search(grid, (objective,), tuple(conditions), k)
    note = None if checkpoint is None else Checkpoint(checkpoint, search.fingerprint())
    with note.held() if note else nullcontext():
        return _smallest(search, note, deadline, client, progress)


def _smallest(
    search: _Search, note: Checkpoint | None, deadline: float, client: Any, progress: bool | None
) -> Smallest:
    points, saved = search.grid.points, note.read(lambda state, _: _scan_of(state)) if note else None
    # What is known and where to go on change in one step, so that no interrupt comes between.
    reached = saved or (0, Scan())

    def keep() -> float:
        if note is not None:
            with told(note.path, "cannot be written", lambda: "what it held is kept; the same call goes on from there"):
                note.save({"run": reached[0], **_state_of(reached[1])})
        return time.monotonic()

    def so_far() -> str:
        after = (
            f"the same call goes on from {note.path}" if note else "with checkpoint=... a call could go on from there"
        )
        return f"{reached[1].points:,} of {points:,} points are done; {after}"

    kept = time.monotonic()
    with bar("search", points, reached[1].points, progress) as advance, resumable(so_far):
        try:
            for further in _scanned(search, *reached, client):
                advance(further[1].points - reached[1].points)
                reached = further
                if time.monotonic() - kept > OFTEN:
                    kept = keep()
                if time.perf_counter() > deadline:
                    break
        finally:
            keep()
    return search.dense.resolve(reached[1], search.k)


def _scanned(search: _Search, start: int, found: Scan, client: Any) -> Iterator[tuple[int, Scan]]:
    """Yield the next run of tiles, and what is known from all runs before it."""
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


def _scan_of(state: Mapping[str, Any]) -> tuple[int, Scan]:
    lowest = np.array([float.fromhex(value) for value in state["lowest"]])
    tiles = np.array(state["tiles"], np.int64)
    return int(state["run"]), Scan(tiles, lowest, int(state["feasible"]), int(state["points"]))
