"""The exact front of a grid of any size, block by block, here or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from mlsysim.backends.blocks import POINTS, Blocks, blocks
from mlsysim.backends.front import Front, GridFront, joined_fronts
from mlsysim.errors import InputError
from mlsysim.progress import bar
from mlsysim.study.grids.cluster import each
from mlsysim.study.grids.grid import Grid


@dataclass(eq=False)
class _Fronts:
    """The fronts of the blocks of a grid; what finds them is made by whoever looks at the first block."""

    grid: Grid
    parts: Blocks
    objectives: tuple[sympy.Basic, ...]
    conditions: tuple[sympy.Basic, ...]

    @cached_property
    def held(self) -> GridFront:
        conditions = [*self.grid.required, *self.conditions]
        return GridFront(self.grid.system, self.objectives, conditions, self.grid.values)


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
    shared = _Fronts(grid, parts, tuple(objectives), tuple(conditions))
    found = Front(np.empty((0, len(objectives))), np.empty(0, np.int64), 0, 0)
    with bar("front", grid.points, show=progress) as advance:
        for number, front in each(_front, shared, range(parts.count), client):
            found = joined_fronts(found, front)
            advance(parts.points(number))
    return found


def _front(shared: _Fronts, number: int) -> Front:
    front = shared.held.of(shared.parts.region(number))
    return replace(front, indices=front.indices + shared.parts.start(number))
