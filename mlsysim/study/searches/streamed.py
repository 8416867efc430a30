"""Streaming searches: the best points, or the exact front, of a grid of any size, here or on a cluster."""

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
from mlsysim.study.grids.checkpoint import Checkpoint, resumable, storage_errors
from mlsysim.study.grids.cluster import map_items
from mlsysim.study.grids.grid import Grid

#: Seconds between two checkpoints.
OFTEN = 1.0
#: Tasks of a search on a cluster, and most points of each.
SHARES, SHARE_POINTS = 64, 2**28


@dataclass(eq=False)
class _Search:
    """A streaming search. Workers receive its fields and compile the code themselves."""

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
    """Find the exact front of several objectives, all minimised; one block is in memory at a time.

    Parameters
    ----------
    grid : Grid
        System, inputs and requirements; points that these refuse are left out.
    objectives : sequence of sympy.Expr
        Objectives, at least one.
    conditions : sequence of sympy Boolean
        Conditions that must all hold.
    block_points : int
        Most points in memory at once.
    client : dask.distributed.Client, optional
        Cluster that evaluates the blocks.
    progress : bool, optional
        Show a progress bar; by default on a terminal.

    Returns
    -------
    Front
        The front; of points equal in every objective, the first in C order.
    """
    if not objectives:
        raise InputError("objectives", objectives, "name at least one")
    tiles = blocks(grid.sizes, block_points)
    shared = _Search(grid, tuple(objectives), tuple(conditions)), tiles
    merged = Front(np.empty((0, len(objectives))), np.empty(0, np.int64), 0, 0)
    with bar("front", grid.points, show=progress) as advance:
        for index, block_front in map_items(_front, shared, range(tiles.count), client):
            merged = joined_fronts(merged, block_front)
            advance(tiles.points(index))
    return merged


def _front(shared: tuple[_Search, Blocks], index: int) -> Front:
    search, tiles = shared
    front = search.front.of(tiles.region(index))
    return replace(front, indices=front.indices + tiles.start(index))


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
    """Find the points of a grid with the smallest values of an expression; one tile is in memory at a time.

    Parameters
    ----------
    grid, conditions, client, progress
        As for :func:`pareto`.
    objective : sympy.Expr
        Expression of inputs and variables of the system, canonical.
    k : int
        Number of points.
    checkpoint : path, optional
        File with the state of the search, from which it resumes.
    deadline : float
        Time of ``time.perf_counter`` after which no further part of the grid is started.

    Returns
    -------
    Smallest
        The best of the points evaluated.
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
    # State and position change in one assignment, so that no interrupt comes between.
    reached = saved or (0, Scan())

    def keep() -> float:
        if note is not None:
            with storage_errors(
                note.path, "cannot be written", lambda: "what it held is kept; the same call goes on from there"
            ):
                note.save({"run": reached[0], **_state_of(reached[1])})
        return time.monotonic()

    def describe_progress() -> str:
        after = (
            f"the same call goes on from {note.path}" if note else "with checkpoint=... a call could go on from there"
        )
        return f"{reached[1].points:,} of {points:,} points are done; {after}"

    saved_at = time.monotonic()
    with bar("search", points, reached[1].points, progress) as advance, resumable(describe_progress):
        try:
            for following in _scanned(search, *reached, client):
                advance(following[1].points - reached[1].points)
                reached = following
                if time.monotonic() - saved_at > OFTEN:
                    saved_at = keep()
                if time.perf_counter() > deadline:
                    break
        finally:
            keep()
    return search.dense.resolve(reached[1], search.k)


def _scanned(search: _Search, start: int, scan: Scan, client: Any) -> Iterator[tuple[int, Scan]]:
    """Yield the position of the next run of tiles, and the state after all runs before it."""
    total = search.dense.runs
    if client is None:
        for run_scan, following in search.dense.scans(start, total, search.k):
            scan = scan.joined(run_scan, search.k)
            yield following, scan
        return
    share = max(1, min(-(-total // SHARES), SHARE_POINTS // (search.dense.tiling.width * search.dense.tiling.run)))
    ranges = [(first, min(first + share, total)) for first in range(start, total, share)]
    for (_, following), block_scan in map_items(_range, search, ranges, client):
        scan = scan.joined(block_scan, search.k)
        yield following, scan


def _range(search: _Search, tiles: tuple[int, int]) -> Scan:
    return search.dense.scan(*tiles, search.k)


def _state_of(scan: Scan) -> dict[str, Any]:
    lowest = [value.hex() for value in scan.lowest.tolist()]
    return {"tiles": scan.tiles.tolist(), "lowest": lowest, "feasible": scan.feasible, "points": scan.points}


def _scan_of(state: Mapping[str, Any]) -> tuple[int, Scan]:
    lowest = np.array([float.fromhex(value) for value in state["lowest"]])
    tiles = np.array(state["tiles"], np.int64)
    return int(state["run"]), Scan(tiles, lowest, int(state["feasible"]), int(state["points"]))
