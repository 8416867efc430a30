"""Tilings of a grid: some axes are walked from tile to tile, the others lie flat within a tile.

A tile is one vector that fits the cache. Nodes that depend on the flat axes alone are computed once, and nodes that
depend on the walked axes alone once per tile. The axes to walk are those that leave the fewest operations.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mlsysim.graph import Graph
from mlsysim.graph.passes import axes, cost_of

#: Points of a tile on a processor, whose vectors stay in the cache, and on a GPU, which needs many at once.
CACHED, FLOODED = 2**14, 2**22
#: Largest factor by which a tile may have more points than that.
SLACK = 4
#: Most points of a run: the tiles that follow one another along the axis that is walked fastest.
RUN = 2**24
#: Operations that starting a tile costs, and a division of vectors; division by one number is a multiplication.
START, DIVISION = 30_000, 12
#: Most elements of a table that is spread over the positions of its tiles in advance.
SPREAD = 2**22
#: Most axes, the longest ones, among which every choice of walked axes is compared.
COMPARED = 14


@dataclass(frozen=True)
class Tiling:
    """Numbering of the points of a grid: ``index = row * width + column`` on every axis.

    Attributes
    ----------
    sizes : tuple of int
        Length of each axis.
    widths : tuple of int
        Columns of each axis: its length where it lies flat, 1 where it is walked.
    last : int
        The axis walked fastest; the others are walked in C order.
    """

    sizes: tuple[int, ...]
    widths: tuple[int, ...]
    last: int = -1

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """Steps along each axis."""
        return tuple(-(-size // width) for size, width in zip(self.sizes, self.widths, strict=True))

    @property
    def count(self) -> int:
        """Number of tiles."""
        return math.prod(self.rows)

    @property
    def width(self) -> int:
        """Positions in a tile; if an axis is split unevenly, some lie past its end and are no points."""
        return math.prod(self.widths)

    @cached_property
    def run(self) -> int:
        """Tiles of a run; nodes that do not depend on the last axis are computed once for all of them."""
        most = max(1, RUN // self.width)
        return max(n for n in range(1, min(self.rows[self.last], most) + 1) if self.rows[self.last] % n == 0)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Axes in the order they are walked, the slowest first."""
        last = self.last % len(self.sizes)
        return (*(axis for axis in range(len(self.sizes)) if axis != last), last)

    @property
    def points(self) -> int:
        """Points of the grid."""
        return math.prod(self.sizes)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Distance in C order between neighbours on each axis."""
        return tuple(math.prod(self.sizes[axis + 1 :]) for axis in range(len(self.sizes)))

    @cached_property
    def overhang(self) -> int | None:
        """Axis that is split unevenly, so that its last row is not full, if there is one."""
        return next((a for a, n in enumerate(self.sizes) if self.rows[a] * self.widths[a] > n), None)

    def places(self, tiles: np.ndarray) -> list[np.ndarray]:
        """Row of each tile along each axis."""
        rows = np.unravel_index(tiles, [self.rows[axis] for axis in self.order])
        return [np.asarray(rows[self.order.index(axis)]) for axis in range(len(self.sizes))]

    def first(self, tiles: np.ndarray) -> np.ndarray:
        """C-order index of the first position of tiles."""
        index = np.zeros(len(tiles), np.int64)
        for row, width, stride in zip(self.places(tiles), self.widths, self.strides, strict=True):
            index += row * (width * stride)
        return index

    @cached_property
    def steps(self) -> np.ndarray:
        """C-order index of each position of a tile, counted from its first."""
        index = np.zeros(1, np.int64)
        for width, stride in zip(self.widths, self.strides, strict=True):
            index = (index[:, None] + np.arange(width, dtype=np.int64) * stride).ravel()
        return index

    def points_of(self, tiles: np.ndarray) -> int:
        """Count the points of the grid in some tiles."""
        if self.overhang is None:
            return len(tiles) * self.width
        axis = self.overhang
        full = self.width // self.widths[axis]
        starts = self.places(tiles)[axis] * self.widths[axis]
        return full * int(np.minimum(self.widths[axis], self.sizes[axis] - starts).sum())

    def table(self, value: np.ndarray) -> np.ndarray:
        """Input over some axes as a table: one row per step along those that are walked.

        Each row has one dimension per axis: the values along a flat axis, or a single one.
        """
        over = range(len(self.sizes))
        for axis in over:
            spare = self.rows[axis] * self.widths[axis] - value.shape[axis]
            if value.shape[axis] > 1 and spare:
                edge = np.take(value, [-1], axis)
                value = np.concatenate([value, *[edge] * spare], axis)
        split = [(1, 1) if n == 1 else (self.rows[axis], self.widths[axis]) for axis, n in enumerate(value.shape)]
        value = value.reshape([n for pair in split for n in pair])
        value = value.transpose([*(2 * axis for axis in over), *(2 * axis + 1 for axis in over)])
        return value.reshape([math.prod(r for r, _ in split), *(w for _, w in split)])

    def row(self, value: np.ndarray, rows: Sequence[np.ndarray]) -> np.ndarray:
        """Row of :meth:`table` for each tile, by the row in which it lies along each axis."""
        table_row = np.zeros(rows[0].shape, np.int64)
        for axis, row in enumerate(rows):
            if value.shape[axis] > 1:
                table_row = table_row * self.rows[axis] + row
        return table_row

    def flat(self, table: Any, where: Any) -> Any:
        """Row of a table, spread over all positions of a tile as one vector."""
        return where.broadcast_to(table, self.widths).reshape(-1)


#: Kind of operation, the axes it runs over, and the axes of its operand or divisor; a set of axes is a bit mask.
Operation = tuple[str, int, int]


def tiled(graph: Graph, values: Mapping[str, Any], sizes: tuple[int, ...], width: int) -> Tiling:
    """Choose the tiling of a grid that leaves the fewest operations per point.

    Parameters
    ----------
    graph : Graph
        Graph to evaluate.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
    sizes : tuple of int
        Length of each axis.
    width : int
        Points of a tile to aim at.

    Returns
    -------
    Tiling
        The same for the same formulas and sizes, on every machine.
    """
    if math.prod(sizes) <= width:
        return Tiling(sizes, sizes)
    operations = _counted(graph, values)
    flat = dict.fromkeys(_candidates(sizes, width))
    ways = (Tiling(sizes, widths, last) for widths in flat for last in _walked(sizes, widths))
    return min(ways, key=lambda tiling: _cost(tiling, operations, width))


def _counted(graph: Graph, values: Mapping[str, Any]) -> Counter[Operation]:
    """Count cost per operation: ``"work"`` for arithmetic, and ``"operand"`` for the use of a value."""
    costs: Counter[Operation] = Counter()
    bits = {name: sum(1 << axis for axis, n in enumerate(np.shape(values[name])) if n > 1) for name in graph.inputs}
    over = axes(graph, bits)
    for node, own in zip(graph.nodes, over, strict=True):
        divides = node.op == "divide"
        costs["work", own, over[node.args[1]] if divides else own] += DIVISION if divides else cost_of(node)
        for part in {over[arg] for arg in node.args}:
            costs["operand", own, part] += 1
    return costs


def _candidates(sizes: tuple[int, ...], width: int) -> Iterator[tuple[int, ...]]:
    """Widths of a tile for every choice of flat axes; a part of one further axis may lie flat too."""
    long = [axis for axis, n in enumerate(sizes) if n > 1]
    compared = long if len(long) <= COMPARED else sorted(long, key=lambda axis: -sizes[axis])[:COMPARED]
    for number in range(len(compared) + 1):
        for flat in itertools.combinations(compared, number):
            points = math.prod(sizes[axis] for axis in flat)
            if points > SLACK * width:
                continue
            whole = [n if axis in flat else 1 for axis, n in enumerate(sizes)]
            yield tuple(whole)
            for axis in long:
                if axis not in flat and 1 < (part := _part(sizes[axis], width // points)) < sizes[axis]:
                    yield (*whole[:axis], part, *whole[axis + 1 :])


def _walked(sizes: tuple[int, ...], widths: tuple[int, ...]) -> list[int]:
    """Axes that are walked; the last one if none is."""
    return [axis for axis, (n, w) in enumerate(zip(sizes, widths, strict=True)) if w < n] or [len(sizes) - 1]


def _part(size: int, most: int) -> int:
    """Width of a part of an axis: a divisor of its length if one is near, else one that splits it nearly evenly."""
    if most < 2:
        return 1
    if most >= size:
        return size
    divisors = (n for n in range(most, most // 2, -1) if size % n == 0)
    return next(divisors, -(-size // -(-size // most)))


def _cost(tiling: Tiling, operations: Counter[Operation], width: int) -> float:
    """Cost of a point: the operations left inside the walk, and the loads of values computed before it."""
    walked = sum(1 << axis for axis, n in enumerate(tiling.rows) if n > 1)
    flat = sum(1 << axis for axis, n in enumerate(tiling.widths) if n > 1)
    last, run = 1 << tiling.last, tiling.run
    work = loads = 0.0
    for (kind, over, part), cost in operations.items():
        if not (over & walked and over & flat):
            continue
        share = 1.0 if over & last else 1.0 / run
        if kind == "work":
            work += share * (cost if part & flat else 1)
        elif part & flat and not part & (last if over & last else walked):
            loads += share
    waste = tiling.count * tiling.width / tiling.points
    return waste * (10.0 + work + loads * max(1.0, tiling.width / width) + START / tiling.width)
