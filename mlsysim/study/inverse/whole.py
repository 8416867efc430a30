"""Whole numbers for which everything holds, of many points at once, and the values that the model accepts there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from mlsysim.study.bisection import bisected
from mlsysim.study.inverse.landscape import Block, Seen
from mlsysim.study.inverse.pieces import Found, Pieces, nothing, runs, spans

#: Whole numbers around the end of an interval that are all looked at, because rounding moves it to and fro.
AROUND = 64
#: The same between two intervals of few.
FAR, FEW = 4096, 64
#: How far from the end of an interval the next accepted whole number is looked for.
FARTHEST = 1 << 19


@dataclass
class Neighbours:
    """The accepted whole numbers on both sides of where an equation is crossed, per point where it is.

    Attributes
    ----------
    column : ndarray of int
        To which point each pair belongs.
    values, reached, asked : ndarray
        The smaller and the larger number (rows), and what both sides of the equation are there.
    best : ndarray of int
        The row of the answer, of those at which all conditions hold; -1 where that is none.
    """

    column: np.ndarray
    values: np.ndarray
    reached: np.ndarray
    asked: np.ndarray
    best: np.ndarray


def neighbours(block: Block, x: np.ndarray, found: Found, which: str | None) -> Neighbours | None:
    """The whole numbers nearest to meeting the only equation, where none meets it; None where there is no such point.

    Parameters
    ----------
    block : Block
        Points.
    x : ndarray
        Whole numbers that were looked at, sorted.
    found : Found
        What was found there.
    which : {"largest", "smallest"}, optional
        Which of the two is the answer; by default the one at which the left side is below what is asked.
    """
    seen, lacking = found.seen, np.bincount(found.pieces.column, minlength=block.count) == 0
    if seen.gap is None or len(block.right) != 1 or not lacking.any():
        return None
    valid, sign = seen.accepted & ~np.isnan(seen.gap), np.sign(seen.gap)
    last = np.maximum.accumulate(np.where(valid, np.arange(len(x))[:, None], -1), axis=0)
    before = np.concatenate([np.full((1, block.count), -1), last[:-1]])
    crossed = valid & (before >= 0) & (sign * np.take_along_axis(sign, np.maximum(before, 0), axis=0) < 0)
    (column,) = np.nonzero(crossed.any(axis=0) & lacking)
    if not len(column):
        return None
    above = crossed.argmax(axis=0)[column]
    below = before[above, column]
    low, high = _crossing(block, x[below], x[above], sign[below, column], column)
    ends = [
        np.where(np.isnan(near := _next(block, start, x[far], column, block.accepts)), x[far], near)
        for start, far in ((low, below), (high, above))
    ]
    values = np.stack(ends)
    columns = np.broadcast_to(column, values.shape)
    left, right = block.sides(0, block.known(values, columns), columns)
    at = block.at(values, columns)
    first = np.full(len(column), int(which == "largest")) if which else np.argmax(left < right, axis=0)
    best = np.where(np.take_along_axis(at.held, first[None], axis=0)[0], first, 1 - first)
    reached, asked = (np.broadcast_to(side, values.shape) for side in (left, right))
    return Neighbours(column, values, reached, asked, np.where(at.held.any(axis=0), best, -1))


def whole_pieces(block: Block, x: np.ndarray) -> Found:
    """Intervals of whole numbers in which everything holds, whose ends the model accepts.

    Parameters
    ----------
    block : Block
        Points.
    x : ndarray
        Whole numbers to look at, sorted.
    """
    seen = block.along(x)
    found = spans(x, seen.close & seen.held, partial(_end, block))
    if seen.gap is not None:
        found = _with_crossings(block, x, seen, found)
    return Found(_accepted(block, found, x, seen.true), nothing(), nothing(), seen)


def _holds(block: Block, x: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Tell whether all targets hold, whatever the model accepts."""
    seen = block.at(x, column)
    return seen.close & seen.held


def _end(block: Block, inside: np.ndarray, outside: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The last whole numbers from inside that hold, towards others that do not."""
    far = outside
    inside, _ = bisected(lambda at: _holds(block, at, column), inside, far)
    near = np.flatnonzero(np.abs(far - inside) > 1)
    if len(near):
        inside = inside.copy()
        inside[near] = _furthest(block, inside[near], far[near], column[near])
    return inside


def _furthest(block: Block, end: np.ndarray, far: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The furthest whole numbers that hold, a little past an end; rounding up makes some hold that lie past it."""
    way = np.sign(far - end)
    ahead = end + way * np.arange(1, AROUND + 1)[:, None]
    within = np.abs(ahead - end) < np.abs(far - end)
    met = _holds(block, ahead, np.broadcast_to(column, ahead.shape)) & within
    steps = np.where(met, np.arange(1, AROUND + 1)[:, None], 0).max(axis=0)
    return end + way * steps


def _with_crossings(block: Block, x: np.ndarray, seen: Seen, found: Pieces) -> Pieces:
    """Adds whole numbers that meet an equation between two that were looked at."""
    assert seen.gap is not None
    sign = np.where(seen.close, 0, np.sign(seen.gap))
    place, column = np.nonzero((sign[:-1] * sign[1:] < 0) & (np.diff(x) > 1)[:, None])
    if not len(place):
        return found
    low, _ = _crossing(block, x[place], x[place + 1], sign[place, column], column)
    near = low + np.arange(-AROUND, AROUND + 1)[:, None]
    inside = (near > x[place]) & (near < x[place + 1])
    met = inside & _holds(block, near, np.broadcast_to(column, near.shape))
    of, first, last = runs(met)
    never = np.zeros(len(of), bool)
    at = np.arange(-AROUND, AROUND + 1)
    more = Pieces(column[of], low[of] + at[first], low[of] + at[last], never, never.copy())
    return found.joined(more) if len(more) else found


def _crossing(
    block: Block, low: np.ndarray, high: np.ndarray, start: np.ndarray, column: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The whole numbers next to each other between which an equation changes its sign."""
    return bisected(lambda at: np.sign(block.gap(at, column)) == start, low, high)


def _accepted(block: Block, pieces: Pieces, x: np.ndarray, true: np.ndarray) -> Pieces:
    """Pieces with ends that the model accepts; those in which it accepts nothing are left out."""

    def holds(at: np.ndarray, column: np.ndarray) -> np.ndarray:
        return block.at(at, column).true

    lower = _next(block, pieces.lower, pieces.upper, pieces.column, holds)
    upper = _next(block, pieces.upper, pieces.lower, pieces.column, holds)
    # Divisors of a size all lie far below the end of the domain: then the last one that was seen.
    for place in np.flatnonzero(np.isnan(upper) & ~np.isnan(lower)):
        seen = x[true[:, pieces.column[place]] & (x <= pieces.upper[place])]
        upper[place] = max(lower[place], seen[-1] if len(seen) else -np.inf)
    kept = ~np.isnan(lower)
    return _merged(block, Pieces(pieces.column, lower, upper, pieces.opens, pieces.closes).only(kept))


def _merged(block: Block, pieces: Pieces) -> Pieces:
    """Pieces with those made one between which the model accepts nothing."""
    between = np.where(np.diff(pieces.column) == 0, pieces.lower[1:] - pieces.upper[:-1] - 1, np.inf)
    near = np.flatnonzero(between <= (FAR if len(pieces) <= FEW else AROUND))
    if not len(near):
        return pieces
    ahead = pieces.upper[near] + np.arange(1, between[near].max() + 1)[:, None]
    within = ahead < pieces.lower[near + 1]
    taken = (within & block.accepts(ahead, np.broadcast_to(pieces.column[near], ahead.shape))).any(axis=0)
    begins, ends = np.ones(len(pieces), bool), np.ones(len(pieces), bool)
    begins[near[~taken] + 1] = ends[near[~taken]] = False
    found = pieces.only(begins)
    found.upper, found.closes = pieces.upper[ends], pieces.closes[ends]
    return found


def _next(
    block: Block, start: np.ndarray, stop: np.ndarray, column: np.ndarray,
    holds: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:  # fmt: skip
    """The first accepted whole numbers from a start towards a stop at which something holds; nan without one."""
    found = np.where(holds(start, column), start, np.nan) if len(start) else start
    way = np.sign(stop - start)
    reached, width = 0, AROUND
    while len(open_ := np.flatnonzero(np.isnan(found) & (np.abs(stop - start) > reached))) and reached < FARTHEST:
        ahead = start[open_] + way[open_] * (reached + np.arange(1, width + 1))[:, None]
        within = np.abs(ahead - start[open_]) <= np.abs(stop - start)[open_]
        met = within & block.accepts(ahead, np.broadcast_to(column[open_], ahead.shape))
        row, place = np.nonzero(met)
        met[row, place] = holds(ahead[row, place], column[open_][place])
        hit = met.any(axis=0)
        found[open_[hit]] = ahead[met.argmax(axis=0)[hit], np.flatnonzero(hit)]
        reached, width = reached + width, width * 4 if len(open_) * width < 1 << 18 else width
    return found
