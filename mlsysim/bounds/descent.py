"""Local search for a good first point, so that boxes are ruled out early.

Where conditions require products to divide, a step along one axis leaves hardly any accepted point. So two axes are
moved together, or three that share a condition, and only points that the conditions on inputs accept are evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from mlsysim.bounds.points import Points

#: Points that are drawn at first, points that are bettered at a time, and moves that are tried on each.
DRAWN, STARTS, TRIED = 1 << 14, 16, 64
#: Most rounds over all moves until a point is feasible: one more costs what bounds take for tens of thousands of boxes.
ROUNDS = 6

#: Function to minimise, at points (an index per axis in each column); infinite where one is not feasible.
Value = Callable[[np.ndarray], np.ndarray]


def descend(evaluate: Points, sizes: tuple[int, ...], value: Value) -> None:
    """Search for points with small values.

    Parameters
    ----------
    evaluate : Points
        Knows the conditions on inputs.
    sizes : tuple of int
        Values per axis.
    value : callable
        Evaluates points, and keeps good ones.
    """
    random = np.random.default_rng(0)
    drawn_indices = np.array([_draw(random, size, DRAWN) for size in sizes])
    drawn = drawn_indices[:, evaluate.accepts(drawn_indices)][:, : STARTS * TRIED]
    if not drawn.size:
        return
    values = value(drawn)
    order = np.argsort(values, kind="stable")[:STARTS]
    current, reached = drawn[:, order], values[order]
    moves = _moves([check.axes for check in evaluate.checks], [axis for axis, size in enumerate(sizes) if size > 1])
    for _ in range(ROUNDS):
        for axes in random.permutation(len(moves)):
            current, reached = _moved(value, drawn_indices, random, moves[axes], current, reached)
        if np.isfinite(reached.min()):
            break


def _moved(
    value: Value,
    drawn_indices: np.ndarray,
    random: np.random.Generator,
    axes: tuple[int, ...],
    current: np.ndarray,
    reached: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Try random moves of the current points along some axes, and keep those that improve.

    The targets are a stretch of the indices that were drawn at first, another stretch along each axis.
    """
    tried = np.repeat(current, TRIED, axis=1)
    count = tried.shape[1]
    for axis in axes:
        start = random.integers(0, drawn_indices.shape[1] - count + 1)
        tried[axis] = drawn_indices[axis, start : start + count]
    values = value(tried)
    best = values.reshape(-1, TRIED).argmin(axis=1) + TRIED * np.arange(len(reached))
    better = values[best] < reached
    return np.where(better, tried[:, best], current), np.where(better, values[best], reached)


def _moves(checks: list[frozenset[int]], axes: list[int]) -> list[tuple[int, ...]]:
    """Sets of axes to move together: each axis, every two, and three that share a condition."""
    threes = {three for shared in checks for three in combinations(sorted(shared), 3)}
    return [*((axis,) for axis in axes), *combinations(axes, 2), *sorted(threes)]


def _draw(random: np.random.Generator, size: int, count: int) -> np.ndarray:
    """Draw indices along an axis: a third anywhere, the others where a whole number has many divisors."""
    anywhere = random.integers(0, size, count)
    power = 2 ** random.integers(0, size.bit_length(), count)
    most = size // power
    times = np.where(random.random(count) < 0.5, random.integers(1, most + 1), most ** random.random(count)).astype(int)
    return np.where(random.random(count) < 1 / 3, anywhere, np.clip(times * power - 1, 0, size - 1))
