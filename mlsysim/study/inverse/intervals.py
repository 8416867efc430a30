"""Solutions along a real unknown: single values and intervals in which all targets hold, of many points at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from mlsysim.study.bisection import bisected
from mlsysim.study.inverse.target_function import EQUAL, Block, Evaluation
from mlsysim.symbolic import Domain

#: Largest relative residual of an equation at its solution.
SOLVED = 1e-9
#: Iterations of a root finder; a bracket without a root by then, such as a jump at zero, has none.
STEPS = 120
#: Relative distance from a value at which a flat equation must hold, too.
FLAT = 1e-6
#: Decimals after the leading digit to which an end is rounded if the rounded value holds, too.
DIGITS = 12
#: Statuses of a point, in the order of the codes.
CODES = ("solved", "several", "everywhere", "none", "refused", "nearest")
#: Size beyond which the end of a domain means that there is none.
ENDLESS = 2.0**52
#: Relative margin inside an end, so that rounding of units cannot step over it.
MARGIN = 4e-13

Condition = Callable[[np.ndarray, np.ndarray], np.ndarray]
EndFinder = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass
class Intervals:
    """Intervals in which all targets hold, of several points, sorted by point and value.

    Attributes
    ----------
    column : ndarray of int
        Point that each interval belongs to.
    lower, upper : ndarray
        Ends, which belong to the interval; equal for a single value.
    starts_at_edge, ends_at_edge : ndarray of bool
        True if the interval begins at the first, or ends at the last, scanned value.
    """

    column: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    starts_at_edge: np.ndarray
    ends_at_edge: np.ndarray

    def __len__(self) -> int:
        return len(self.column)

    def select(self, mask: np.ndarray) -> Intervals:
        """Return the intervals under a mask or an index."""
        return Intervals(*(values[mask] for values in vars(self).values()))

    def union(self, other: Intervals) -> Intervals:
        """Return both sets of intervals, sorted."""
        both = Intervals(
            *(np.concatenate(pair) for pair in zip(vars(self).values(), vars(other).values(), strict=True))
        )
        return both.select(np.lexsort((both.lower, both.column)))


@dataclass
class Solutions:
    """Intervals, jumps and rejected roots along the unknown.

    Attributes
    ----------
    intervals : Intervals
        Intervals in which all targets hold.
    jumps : Intervals
        Brackets in which an equation changes sign without a root.
    rejected : Intervals
        Roots of the first equation at which another target fails, or the whole numbers around one.
    evaluation : Evaluation
        Targets at every scanned value.
    """

    intervals: Intervals
    jumps: Intervals
    rejected: Intervals
    evaluation: Evaluation


def runs(true: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find runs of true values along the first dimension: column, first row and last row of each."""
    if not true.any():
        none = np.zeros(0, int)
        return none, none, none
    edge = np.zeros((1, true.shape[1]), bool)
    padded = np.concatenate([edge, true, edge]).T
    column, row = np.divmod(np.flatnonzero(padded[:, 1:] != padded[:, :-1]), len(true) + 1)
    return column[::2], row[::2], row[1::2] - 1


def real_intervals(block: Block, x: np.ndarray) -> Solutions:
    """Find the intervals in which all targets hold along a real unknown.

    Parameters
    ----------
    block : Block
        Points.
    x : ndarray
        Values of the unknown to scan, sorted.
    """
    evaluation = block.along(x)
    intervals = _intervals(block, x, evaluation)
    if evaluation.residual is None:
        return Solutions(intervals, no_intervals(), no_intervals(), evaluation)
    roots, jumps, rejected = _roots(block, x, evaluation)
    return Solutions(intervals.union(roots) if len(roots) else intervals, jumps, rejected, evaluation)


@dataclass
class Choice:
    """The chosen interval of every point that has one.

    ``largest`` says that the answer is its upper end, ``endless`` that the domain has no end there, so that there is no
    value; ``code`` is the status of the point. ``count`` has the number of intervals of all points.
    """

    intervals: Intervals
    largest: np.ndarray
    endless: np.ndarray
    code: np.ndarray
    count: np.ndarray


def choose(domain: Domain, intervals: Intervals, points: int, which: str | None) -> Choice:
    """Choose one interval per point, the largest, the smallest or the usual one, and its end."""
    count = np.bincount(intervals.column, minlength=points)
    has = np.flatnonzero(count)
    selected = intervals.select((np.cumsum(count) - (1 if which == "largest" else count))[has])
    largest = np.full(len(has), which == "largest") if which else selected.starts_at_edge & ~selected.ends_at_edge
    below = selected.starts_at_edge & (domain.open_lower or not np.isfinite(domain.lower))
    above = selected.ends_at_edge & (selected.upper > ENDLESS) & (not np.isfinite(domain.upper))
    single = np.where(selected.starts_at_edge & selected.ends_at_edge, CODES.index("everywhere"), CODES.index("solved"))
    code = np.where(count[has] == 1, single, CODES.index("several"))
    return Choice(selected, largest, np.where(largest, above, below), code, count)


def no_intervals() -> Intervals:
    """Return an empty set of intervals."""
    none, never = np.zeros(0), np.zeros(0, bool)
    return Intervals(none.astype(int), none, none, never, never)


def _intervals(block: Block, x: np.ndarray, evaluation: Evaluation) -> Intervals:
    """Find the runs of values at which all targets hold, with their ends by bisection."""

    def is_wide(intervals: Intervals) -> np.ndarray:
        return (intervals.upper > intervals.lower) | _flat(block, intervals.lower, intervals.column)

    end = partial(bisected_end, lambda at, column: block.at(at, column).all_hold)
    return find_intervals(x, evaluation.all_hold, end, None if evaluation.residual is None else is_wide)


def find_intervals(
    x: np.ndarray, true: np.ndarray, end: EndFinder, is_wide: Callable[[Intervals], np.ndarray] | None = None
) -> Intervals:
    """Find the runs of scanned values at which a condition holds; locate their ends between scanned values."""
    column, first, last = runs(true)
    intervals = Intervals(column, x[first], x[last], first == 0, last == len(x) - 1)
    may_extend = np.ones(len(intervals), bool) if is_wide is None else is_wide(intervals)
    for name, row, step, is_inner in (
        ("lower", first, -1, ~intervals.starts_at_edge),
        ("upper", last, 1, ~intervals.ends_at_edge),
    ):
        extended = np.flatnonzero(is_inner & may_extend)
        if len(extended):
            getattr(intervals, name)[extended] = end(x[row[extended]], x[row[extended] + step], column[extended])
    return intervals


def _flat(block: Block, x: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Tell whether an equation that holds at a value also holds next to it, rather than being crossed there."""
    if not len(x):
        return np.zeros(0, bool)
    return block.at(x * (1 + FLAT), column).equations_hold | block.at(x * (1 - FLAT), column).equations_hold


def bisected_end(holds: Condition, inside: np.ndarray, outside: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Bisect for the last values at which a condition holds, from inside towards outside."""
    start = inside
    inside, outside = bisected(lambda at: holds(at, column), inside, outside, 1e-15, _middle)
    with_margin = inside - MARGIN * np.abs(inside) * np.sign(outside - start)
    end = np.where(
        ((with_margin - start) * np.sign(outside - start) > 0) & holds(with_margin, column), with_margin, inside
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = 10.0 ** (np.floor(np.log10(np.abs(inside))) - DIGITS)
        short = np.where(unit > 0, np.round(inside / unit) * unit, inside)
    return np.where(holds(short, column), short, end)


def _middle(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the mean of two values: the geometric one if they are far apart."""
    smaller, larger = np.minimum(np.abs(left), np.abs(right)), np.maximum(np.abs(left), np.abs(right))
    far = (left * right > 0) & (larger > 4 * smaller)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(far, np.sign(left) * np.sqrt(smaller) * np.sqrt(larger), left + 0.5 * (right - left))


def _roots(block: Block, x: np.ndarray, evaluation: Evaluation) -> tuple[Intervals, Intervals, Intervals]:
    """Find the roots of the first equation: those that meet all targets, jumps, and those that do not."""
    from scipy.optimize import elementwise

    residual = evaluation.residual
    assert residual is not None
    above, below = residual > EQUAL, residual < -EQUAL
    crosses = (above[:-1] & below[1:]) | (below[:-1] & above[1:])
    row, column = np.divmod(np.flatnonzero(crosses), residual.shape[1])
    if not len(row):
        return no_intervals(), no_intervals(), no_intervals()
    solved = elementwise.find_root(
        lambda at, columns: block.residual(at, columns.astype(int)), (x[row], x[row + 1]), args=(column,), maxiter=STEPS
    )
    low, high = (np.asarray(end, float) for end in solved.bracket)
    low_residual, high_residual = (np.abs(np.asarray(residual, float)) for residual in solved.f_bracket)
    root, is_root = np.where(low_residual <= high_residual, low, high), np.fmin(low_residual, high_residual) <= SOLVED
    jumps = _sorted(column[~is_root], np.minimum(low, high)[~is_root], np.maximum(low, high)[~is_root])
    column, root = column[is_root], root[is_root]
    at = block.at(root, column)
    others_hold = at.constraints_hold & at.accepted & (at.worst_residual <= SOLVED)
    return _sorted(column[others_hold], root[others_hold]), jumps, _sorted(column[~others_hold], root[~others_hold])


def _sorted(column: np.ndarray, lower: np.ndarray, upper: np.ndarray | None = None) -> Intervals:
    never = np.zeros(len(column), bool)
    upper = lower if upper is None else upper
    return Intervals(column, lower, upper, never, never).select(np.lexsort((lower, column)))
