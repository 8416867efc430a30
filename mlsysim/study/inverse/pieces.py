"""Pieces of a real unknown where everything holds: single values and intervals, of many points at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from mlsysim.study.bisection import bisected
from mlsysim.study.inverse.landscape import EQUAL, Block, Seen
from mlsysim.symbolic import Domain

#: How far both sides of an equation may be apart, of their size, at what counts as its solution.
SOLVED = 1e-9
#: Steps towards a root; one that is still not found, such as a jump at zero, is none.
STEPS = 120
#: How far beside a value, of its size, an equation that is flat still holds.
BESIDE = 1e-6
#: An end that holds with so many decimals of its leading digit is given with no more of them.
DIGITS = 12
#: What a point can be, in the order of the codes.
CODES = ("solved", "several", "everywhere", "none", "refused", "nearest")
#: From which number on the end of a domain is none that is meant.
ENDLESS = 2.0**52
#: What is left of the distance to an end, so that rounding of units cannot step over it.
MARGIN = 4e-13

Holds = Callable[[np.ndarray, np.ndarray], np.ndarray]
End = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass
class Pieces:
    """Intervals in which everything holds, of several points, sorted by point and by place.

    Attributes
    ----------
    column : ndarray of int
        To which point each belongs.
    lower, upper : ndarray
        Its ends, which belong to it; equal for a single value.
    opens, closes : ndarray of bool
        Whether it begins at the beginning of what was looked at, and ends at its end.
    """

    column: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    opens: np.ndarray
    closes: np.ndarray

    def __len__(self) -> int:
        return len(self.column)

    def only(self, kept: np.ndarray) -> Pieces:
        """Some of them."""
        return Pieces(*(each[kept] for each in vars(self).values()))

    def joined(self, other: Pieces) -> Pieces:
        """Both, sorted."""
        both = Pieces(*(np.concatenate(pair) for pair in zip(vars(self).values(), vars(other).values(), strict=True)))
        return both.only(np.lexsort((both.lower, both.column)))


@dataclass
class Found:
    """Pieces, jumps and values found along the unknown.

    Attributes
    ----------
    pieces : Pieces
        Where everything holds.
    jumps : Pieces
        Left and right of where an equation changes sign and has no solution.
    dropped : Pieces
        Solutions of the first equation at which something else does not hold, or the whole numbers around one.
    seen : Seen
        What was seen at every value that was looked at.
    """

    pieces: Pieces
    jumps: Pieces
    dropped: Pieces
    seen: Seen


def runs(true: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Runs of true values along the first dimension: the column of each, its first and its last row."""
    if not true.any():
        none = np.zeros(0, int)
        return none, none, none
    edge = np.zeros((1, true.shape[1]), bool)
    padded = np.concatenate([edge, true, edge]).T
    column, row = np.divmod(np.flatnonzero(padded[:, 1:] != padded[:, :-1]), len(true) + 1)
    return column[::2], row[::2], row[1::2] - 1


def real_pieces(block: Block, x: np.ndarray) -> Found:
    """Find where everything holds along a real unknown.

    Parameters
    ----------
    block : Block
        Points.
    x : ndarray
        Values of the unknown to look at, sorted.
    """
    seen = block.along(x)
    found = _intervals(block, x, seen)
    if seen.gap is None:
        return Found(found, nothing(), nothing(), seen)
    roots, jumps, dropped = _roots(block, x, seen)
    return Found(found.joined(roots) if len(roots) else found, jumps, dropped, seen)


@dataclass
class Chosen:
    """The piece of every point that has one, whether the answer is its upper end, and what the point is.

    Where the domain has no end there, the answer is endless and no value; ``count`` has the pieces of all points.
    """

    pieces: Pieces
    largest: np.ndarray
    endless: np.ndarray
    code: np.ndarray
    count: np.ndarray


def chosen(domain: Domain, pieces: Pieces, points: int, which: str | None) -> Chosen:
    """Choose the largest, the smallest or the usual one of the pieces of every point, and its end."""
    count = np.bincount(pieces.column, minlength=points)
    has = np.flatnonzero(count)
    found = pieces.only((np.cumsum(count) - (1 if which == "largest" else count))[has])
    largest = np.full(len(has), which == "largest") if which else found.opens & ~found.closes
    below = found.opens & (domain.open_lower or not np.isfinite(domain.lower))
    above = found.closes & (found.upper > ENDLESS) & (not np.isfinite(domain.upper))
    all_of_it = np.where(found.opens & found.closes, CODES.index("everywhere"), CODES.index("solved"))
    code = np.where(count[has] == 1, all_of_it, CODES.index("several"))
    return Chosen(found, largest, np.where(largest, above, below), code, count)


def nothing() -> Pieces:
    """No piece."""
    none, never = np.zeros(0), np.zeros(0, bool)
    return Pieces(none.astype(int), none, none, never, never)


def _intervals(block: Block, x: np.ndarray, seen: Seen) -> Pieces:
    """Runs of values at which everything holds, with their ends found by halving."""

    def wide(found: Pieces) -> np.ndarray:
        return (found.upper > found.lower) | _flat(block, found.lower, found.column)

    end = partial(halved, lambda at, column: block.at(at, column).true)
    return spans(x, seen.true, end, None if seen.gap is None else wide)


def spans(x: np.ndarray, true: np.ndarray, end: End, wide: Callable[[Pieces], np.ndarray] | None = None) -> Pieces:
    """Runs of values at which something holds, with the ends of those that may go on looked for between values."""
    column, first, last = runs(true)
    found = Pieces(column, x[first], x[last], first == 0, last == len(x) - 1)
    going = np.ones(len(found), bool) if wide is None else wide(found)
    for name, place, step, inner in (("lower", first, -1, ~found.opens), ("upper", last, 1, ~found.closes)):
        moved = np.flatnonzero(inner & going)
        if len(moved):
            getattr(found, name)[moved] = end(x[place[moved]], x[place[moved] + step], column[moved])
    return found


def _flat(block: Block, x: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Tell whether an equation that holds at a value holds beside it too, and is not just crossed there."""
    if not len(x):
        return np.zeros(0, bool)
    return block.at(x * (1 + BESIDE), column).close | block.at(x * (1 - BESIDE), column).close


def halved(holds: Holds, inside: np.ndarray, outside: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The last values from inside at which something holds, towards values outside at which it does not."""
    start = inside
    inside, outside = bisected(lambda at: holds(at, column), inside, outside, 1e-15, _middle)
    backed = inside - MARGIN * np.abs(inside) * np.sign(outside - start)
    found = np.where(((backed - start) * np.sign(outside - start) > 0) & holds(backed, column), backed, inside)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = 10.0 ** (np.floor(np.log10(np.abs(inside))) - DIGITS)
        short = np.where(unit > 0, np.round(inside / unit) * unit, inside)
    return np.where(holds(short, column), short, found)


def _middle(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Between two values: on a logarithmic scale where they are far apart."""
    low, high = np.minimum(np.abs(one), np.abs(other)), np.maximum(np.abs(one), np.abs(other))
    far = (one * other > 0) & (high > 4 * low)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(far, np.sign(one) * np.sqrt(low) * np.sqrt(high), one + 0.5 * (other - one))


def _roots(block: Block, x: np.ndarray, seen: Seen) -> tuple[Pieces, Pieces, Pieces]:
    """Crossings of the first equation: solutions of all, jumps, and solutions at which something does not hold."""
    from scipy.optimize import elementwise

    gap = seen.gap
    assert gap is not None
    above, below = gap > EQUAL, gap < -EQUAL
    crosses = (above[:-1] & below[1:]) | (below[:-1] & above[1:])
    place, column = np.divmod(np.flatnonzero(crosses), gap.shape[1])
    if not len(place):
        return nothing(), nothing(), nothing()
    solved = elementwise.find_root(
        lambda at, chosen: block.gap(at, chosen.astype(int)), (x[place], x[place + 1]), args=(column,), maxiter=STEPS
    )
    low, high = (np.asarray(each, float) for each in solved.bracket)
    away_low, away_high = (np.abs(np.asarray(each, float)) for each in solved.f_bracket)
    root, met = np.where(away_low <= away_high, low, high), np.fmin(away_low, away_high) <= SOLVED
    jumps = _sorted(column[~met], np.minimum(low, high)[~met], np.maximum(low, high)[~met])
    column, root = column[met], root[met]
    at = block.at(root, column)
    rest = at.held & at.accepted & (at.off <= SOLVED)
    return _sorted(column[rest], root[rest]), jumps, _sorted(column[~rest], root[~rest])


def _sorted(column: np.ndarray, lower: np.ndarray, upper: np.ndarray | None = None) -> Pieces:
    never = np.zeros(len(column), bool)
    upper = lower if upper is None else upper
    return Pieces(column, lower, upper, never, never).only(np.lexsort((lower, column)))
