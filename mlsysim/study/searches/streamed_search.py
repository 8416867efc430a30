"""The best points of a grid of any size, from a checkpoint on, here or on a cluster."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from mlsysim.backends.dense import DenseSearch, Scan, Smallest
from mlsysim.errors import InputError
from mlsysim.progress import bar
from mlsysim.study.grids.checkpoint import Checkpoint, resumable, told
from mlsysim.study.grids.cluster import each
from mlsysim.study.grids.grid import Grid

#: Seconds between two checkpoints of a search.
OFTEN = 1.0
#: Tasks that a search on a cluster is split into, and most points of each.
SHARES, SHARE_POINTS = 64, 2**28


class _Search:
    """A search of a grid. Workers get its arguments and build it themselves."""

    def __init__(self, grid: Grid, objective: sympy.Basic, conditions: tuple[sympy.Basic, ...], k: int, count: bool):
        self.grid, self.objective, self.conditions, self.k, self.count = grid, objective, conditions, k, count

    def __reduce__(self) -> tuple[Any, ...]:
        return _Search, (self.grid, self.objective, self.conditions, self.k, self.count)

    @cached_property
    def dense(self) -> DenseSearch:
        grid = self.grid
        conditions = [*grid.required, *self.conditions]
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
    """The points of a grid with the smallest values of an expression; only one tile is held at a time.

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
    client : dask.distributed.Client, optional
        Of a cluster that looks at the points.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.
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
    saved = note.read(lambda state, _: _scan_of(state)) if note is not None else None
    found, start = saved if saved is not None else (Scan(), 0)
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


def _scan_of(state: Mapping[str, Any]) -> tuple[Scan, int]:
    lowest = np.array([float.fromhex(value) for value in state["lowest"]])
    tiles = np.array(state["tiles"], np.int64)
    return Scan(tiles, lowest, int(state["feasible"]), int(state["points"])), int(state["run"])
