"""A grid of cells, one around every point of a plane, and the lines between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.plot import data, style

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


class Grid:
    """Edges of the cells in both directions.

    Labels and a few values get cells of one size; many numbers stand to scale.
    """

    def __init__(self, x: xarray.DataArray, y: xarray.DataArray) -> None:
        self.x, self.y = x, y
        self.columns, self.rows = edges(x), edges(y)

    def mark(self, ax: Axes) -> None:
        """Put ticks and scales on both axes."""
        for axis, array in ((ax.xaxis, self.x), (ax.yaxis, self.y)):
            if is_even(array):
                style.ticks_at(axis, list(range(array.size)), style.words(array))
            else:
                style.numeric(axis, array.values, style.geometric(array.values))
        ax.set(xlim=self.columns[[0, -1]], ylim=self.rows[[0, -1]])


def is_even(array: xarray.DataArray) -> bool:
    """Tell whether values get cells of one size and no scale: labels, and a few numbers."""
    return data.is_label(array) or array.size <= style.FEW


def edges(array: xarray.DataArray) -> np.ndarray:
    """Edges of the cells around the values of a coordinate."""
    if is_even(array):
        return np.arange(array.size + 1) - 0.5
    return to_scale(array.values)


def to_scale(values: Any) -> np.ndarray:
    """Edges of the cells around numbers in order; halfway by ratio where they are spread by ratio."""
    values = np.asarray(values, dtype=float)
    log = style.geometric(values)
    places = np.log(values) if log else values
    middles = (places[1:] + places[:-1]) / 2
    ends = 2 * places[0] - middles[0], 2 * places[-1] - middles[-1]
    bounds = np.concatenate([ends[:1], middles, ends[1:]])
    return np.exp(bounds) if log else bounds


def covered(where: np.ndarray, grid: Grid) -> Any:
    """Outline the cells where a mask holds, as one path; cells of one row that touch are joined."""
    from matplotlib.path import Path

    boxes = []
    for row, line in enumerate(np.asarray(where, dtype=np.int8)):
        steps = np.diff(line, prepend=0, append=0)
        low, high = grid.rows[row], grid.rows[row + 1]
        for start, end in zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1), strict=True):
            left, right = grid.columns[start], grid.columns[end]
            boxes.append([(left, low), (right, low), (right, high), (left, high), (left, low)])
    return Path.make_compound_path(*(Path(box, closed=True) for box in boxes))


def boundary(inside: np.ndarray, known: np.ndarray, grid: Grid) -> list[tuple[np.ndarray, np.ndarray]]:
    """Trace the lines between known cells inside and outside, in whole strokes; the outside is on their left."""
    ends: dict[tuple[int, int], list[tuple[int, int]]] = {}
    inside = np.asarray(inside, dtype=bool)
    beside = (inside[:, 1:] != inside[:, :-1]) & known[:, 1:] & known[:, :-1]
    for row, column in np.argwhere(beside):
        low, high = (int(row), int(column) + 1), (int(row) + 1, int(column) + 1)
        start, end = (low, high) if inside[row, column + 1] else (high, low)
        ends.setdefault(start, []).append(end)
    above = (inside[1:] != inside[:-1]) & known[1:] & known[:-1]
    for row, column in np.argwhere(above):
        left, right = (int(row) + 1, int(column)), (int(row) + 1, int(column) + 1)
        start, end = (left, right) if inside[row, column] else (right, left)
        ends.setdefault(start, []).append(end)
    return [(grid.columns[[c for _, c in line]], grid.rows[[r for r, _ in line]]) for line in _strokes(ends)]


def _strokes(ends: dict[tuple[int, int], list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    """Join directed edges end to start; open lines first, what is left are rings."""
    arrivals = {end for targets in ends.values() for end in targets}
    strokes = []
    for start in [*(place for place in ends if place not in arrivals), *list(ends)]:
        while ends.get(start):
            line = [start]
            while ends.get(line[-1]):
                line.append(ends[line[-1]].pop())
            strokes.append(line)
    return strokes
