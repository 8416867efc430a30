"""Inverse problems in whole numbers, at many points at once, with the values that the model accepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from mlsysim.study.bisection import bisected
from mlsysim.study.inverse.intervals import Intervals, Solutions, find_intervals, no_intervals, runs
from mlsysim.study.inverse.target_function import Block, Evaluation

#: Whole numbers scanned around the end of an interval, because rounding moves it to and fro.
AROUND = 64
#: The same between neighbours of a few intervals.
FAR, FEW = 4096, 64
#: Distance from the end of an interval within which the next accepted whole number is searched.
FARTHEST = 1 << 19


@dataclass
class Neighbours:
    """Accepted whole numbers on both sides of the root of an equation, for each point that has one.

    Attributes
    ----------
    column : ndarray of int
        Point that each pair belongs to.
    values, reached, asked : ndarray
        The smaller and the larger number (rows), and both sides of the equation at each.
    best : ndarray of int
        Row of the answer, among those at which all conditions hold; -1 if there is none.
    """

    column: np.ndarray
    values: np.ndarray
    reached: np.ndarray
    asked: np.ndarray
    best: np.ndarray


def neighbours(block: Block, x: np.ndarray, solutions: Solutions, which: str | None) -> Neighbours | None:
    """Find the whole numbers next to the root of the only equation, at points where no number meets it; else None.

    Parameters
    ----------
    block : Block
        Points.
    x : ndarray
        Whole numbers scanned, sorted.
    solutions : Solutions
        Solutions found on the scan.
    which : {"largest", "smallest"}, optional
        Which of the two is the answer; by default the one whose left side is below the target.
    """
    evaluation, unsolved = solutions.evaluation, np.bincount(solutions.intervals.column, minlength=block.count) == 0
    if evaluation.residual is None or len(block.right) != 1 or not unsolved.any():
        return None
    valid, sign = evaluation.accepted & ~np.isnan(evaluation.residual), np.sign(evaluation.residual)
    last = np.maximum.accumulate(np.where(valid, np.arange(len(x))[:, None], -1), axis=0)
    before = np.concatenate([np.full((1, block.count), -1), last[:-1]])
    crossed = valid & (before >= 0) & (sign * np.take_along_axis(sign, np.maximum(before, 0), axis=0) < 0)
    (column,) = np.nonzero(crossed.any(axis=0) & unsolved)
    if not len(column):
        return None
    above = crossed.argmax(axis=0)[column]
    below = before[above, column]
    low, high = _crossing(block, x[below], x[above], sign[below, column], column)
    ends = [
        np.where(np.isnan(accepted := _next(block, start, x[beyond], column, block.accepts)), x[beyond], accepted)
        for start, beyond in ((low, below), (high, above))
    ]
    values = np.stack(ends)
    columns = np.broadcast_to(column, values.shape)
    left, right = block.sides(0, block.known(values, columns), columns)
    at = block.at(values, columns)
    first = np.full(len(column), int(which == "largest")) if which else np.argmax(left < right, axis=0)
    best = np.where(np.take_along_axis(at.constraints_hold, first[None], axis=0)[0], first, 1 - first)
    reached, asked = (np.broadcast_to(side, values.shape) for side in (left, right))
    return Neighbours(column, values, reached, asked, np.where(at.constraints_hold.any(axis=0), best, -1))


def whole_intervals(block: Block, x: np.ndarray) -> Solutions:
    """Find the intervals of whole numbers in which all targets hold and whose ends the model accepts.

    Parameters
    ----------
    block : Block
        Points.
    x : ndarray
        Whole numbers to scan, sorted.
    """
    evaluation = block.along(x)
    intervals = find_intervals(x, evaluation.equations_hold & evaluation.constraints_hold, partial(_end, block))
    if evaluation.residual is not None:
        intervals = _with_crossings(block, x, evaluation, intervals)
    return Solutions(_accepted(block, intervals, x, evaluation.all_hold), no_intervals(), no_intervals(), evaluation)


def _holds(block: Block, x: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Tell whether all targets hold, ignoring what the model accepts."""
    evaluation = block.at(x, column)
    return evaluation.equations_hold & evaluation.constraints_hold


def _end(block: Block, inside: np.ndarray, outside: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Bisect for the last whole numbers at which all targets hold, from inside towards outside."""
    bound = outside
    inside, _ = bisected(lambda at: _holds(block, at, column), inside, bound)
    near = np.flatnonzero(np.abs(bound - inside) > 1)
    if len(near):
        inside = inside.copy()
        inside[near] = _furthest(block, inside[near], bound[near], column[near])
    return inside


def _furthest(block: Block, end: np.ndarray, far: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Extend an end to the furthest whole number nearby that holds; rounding up makes some beyond the end hold."""
    direction = np.sign(far - end)
    candidates = end + direction * np.arange(1, AROUND + 1)[:, None]
    within = np.abs(candidates - end) < np.abs(far - end)
    met = _holds(block, candidates, np.broadcast_to(column, candidates.shape)) & within
    steps = np.where(met, np.arange(1, AROUND + 1)[:, None], 0).max(axis=0)
    return end + direction * steps


def _with_crossings(block: Block, x: np.ndarray, evaluation: Evaluation, intervals: Intervals) -> Intervals:
    """Add whole numbers that meet an equation between two scanned values."""
    assert evaluation.residual is not None
    sign = np.where(evaluation.equations_hold, 0, np.sign(evaluation.residual))
    row, column = np.nonzero((sign[:-1] * sign[1:] < 0) & (np.diff(x) > 1)[:, None])
    if not len(row):
        return intervals
    low, _ = _crossing(block, x[row], x[row + 1], sign[row, column], column)
    candidates = low + np.arange(-AROUND, AROUND + 1)[:, None]
    inside = (candidates > x[row]) & (candidates < x[row + 1])
    met = inside & _holds(block, candidates, np.broadcast_to(column, candidates.shape))
    column_of_run, first, last = runs(met)
    never = np.zeros(len(column_of_run), bool)
    at = np.arange(-AROUND, AROUND + 1)
    roots = Intervals(
        column[column_of_run], low[column_of_run] + at[first], low[column_of_run] + at[last], never, never.copy()
    )
    return intervals.union(roots) if len(roots) else intervals


def _crossing(
    block: Block, low: np.ndarray, high: np.ndarray, start: np.ndarray, column: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Bisect for adjacent whole numbers between which an equation changes sign."""
    return bisected(lambda at: np.sign(block.residual(at, column)) == start, low, high)


def _accepted(block: Block, intervals: Intervals, x: np.ndarray, true: np.ndarray) -> Intervals:
    """Move the ends of intervals to values the model accepts; drop intervals without any."""

    def holds(at: np.ndarray, column: np.ndarray) -> np.ndarray:
        return block.at(at, column).all_hold

    lower = _next(block, intervals.lower, intervals.upper, intervals.column, holds)
    upper = _next(block, intervals.upper, intervals.lower, intervals.column, holds)
    # Divisors of a size all lie far below the end of the domain: then the last accepted value of the scan.
    for index in np.flatnonzero(np.isnan(upper) & ~np.isnan(lower)):
        scanned = x[true[:, intervals.column[index]] & (x <= intervals.upper[index])]
        upper[index] = max(lower[index], scanned[-1] if len(scanned) else -np.inf)
    kept = ~np.isnan(lower)
    return _merged(
        block, Intervals(intervals.column, lower, upper, intervals.starts_at_edge, intervals.ends_at_edge).select(kept)
    )


def _merged(block: Block, intervals: Intervals) -> Intervals:
    """Merge intervals between which the model accepts nothing."""
    gap_width = np.where(np.diff(intervals.column) == 0, intervals.lower[1:] - intervals.upper[:-1] - 1, np.inf)
    adjacent = np.flatnonzero(gap_width <= (FAR if len(intervals) <= FEW else AROUND))
    if not len(adjacent):
        return intervals
    candidates = intervals.upper[adjacent] + np.arange(1, gap_width[adjacent].max() + 1)[:, None]
    within = candidates < intervals.lower[adjacent + 1]
    separated = (within & block.accepts(candidates, np.broadcast_to(intervals.column[adjacent], candidates.shape))).any(
        axis=0
    )
    begins, ends = np.ones(len(intervals), bool), np.ones(len(intervals), bool)
    begins[adjacent[~separated] + 1] = ends[adjacent[~separated]] = False
    merged = intervals.select(begins)
    merged.upper, merged.ends_at_edge = intervals.upper[ends], intervals.ends_at_edge[ends]
    return merged


def _next(
    block: Block, start: np.ndarray, stop: np.ndarray, column: np.ndarray,
    holds: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:  # fmt: skip
    """Find the first accepted whole number from start towards stop at which a condition holds; nan if there is none."""
    first = np.where(holds(start, column), start, np.nan) if len(start) else start
    direction = np.sign(stop - start)
    reached, width = 0, AROUND
    while len(pending := np.flatnonzero(np.isnan(first) & (np.abs(stop - start) > reached))) and reached < FARTHEST:
        candidates = start[pending] + direction[pending] * (reached + np.arange(1, width + 1))[:, None]
        within = np.abs(candidates - start[pending]) <= np.abs(stop - start)[pending]
        met = within & block.accepts(candidates, np.broadcast_to(column[pending], candidates.shape))
        row, index = np.nonzero(met)
        met[row, index] = holds(candidates[row, index], column[pending][index])
        hit = met.any(axis=0)
        first[pending[hit]] = candidates[met.argmax(axis=0)[hit], np.flatnonzero(hit)]
        reached, width = reached + width, width * 4 if len(pending) * width < 1 << 18 else width
    return first
