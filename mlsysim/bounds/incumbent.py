"""Best points a search has evaluated so far, and a test of which boxes may still improve on them.

A search for one objective keeps the k best points and those that count as equal to the k-th. A search for several keeps
the nondominated points. Both decide from the lower bounds of a box and its first corner if it still matters and how
soon it is taken. The search itself is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from mlsysim.backends.front import BESIDE, index_of, nondominated, share_to_better
from mlsysim.backends.ties import band, rounded

#: Shares of the first objective in the sums whose small values a front begins with.
SHARES = 0.1, 0.3, 0.5, 0.7, 0.9

#: First index per axis (rows) of boxes (columns) that are selected by their positions.
First = Callable[[np.ndarray], np.ndarray]
#: Function from the objectives (rows) of points to one number per point that is to be small.
Aim = Callable[[np.ndarray], np.ndarray]


class Incumbent(Protocol):
    """Points evaluated so far that may be the answer.

    Attributes
    ----------
    growth : float
        Boxes taken in one round over those taken in the one before.
    """

    growth: ClassVar[float]

    @property
    def lossy(self) -> bool:
        """True if a point was dropped that might be the first of those that count as equal in the end."""
        ...

    @property
    def aims(self) -> Sequence[Aim]:
        """Functions whose small values a first local search looks for."""
        ...

    @property
    def settled(self) -> float:
        """Least key of a box that holds no better point, and at most an earlier one of equal points."""
        ...

    @property
    def mark(self) -> tuple[Any, ...]:
        """Value that changes once open boxes must be pruned again."""
        ...

    def offer(self, columns: np.ndarray, points: np.ndarray) -> None:
        """Keep those of some feasible points that belong to the answer; a point may be offered more than once.

        Parameters
        ----------
        columns : ndarray
            Objectives (rows) at points (columns).
        points : ndarray
            Index per axis (rows) and point (columns).
        """
        ...

    def matters(self, lower: np.ndarray, first: First) -> np.ndarray:
        """Select the boxes that may hold a better point, or an equal one that is earlier.

        Parameters
        ----------
        lower : ndarray
            Lower bounds by objective (rows) and box (columns).
        first : callable
            Their first corners.
        """
        ...

    def key(self, lower: np.ndarray, first: First) -> np.ndarray:
        """Rank boxes, of which those with the lowest keys are taken first; infinite for those that do not matter.

        Parameters
        ----------
        lower, first
            As for :meth:`matters`.
        """
        ...


@dataclass
class Best:
    """The k best points by one objective and then by index.

    Attributes
    ----------
    k : int
        Number of points wanted.
    threshold : float
        The k-th best value so far, infinite while fewer points are known.
    lossy : bool
        See :class:`Incumbent`.
    """

    #: Most points kept that count as equal to the k-th. When a better k-th is found, fewer of them count as equal
    #: to it, and another of them may be the first.
    RESERVE: ClassVar[int] = 1 << 16
    growth: ClassVar[float] = 2.0

    k: int
    threshold: float = math.inf
    lossy: bool = False
    _values: np.ndarray = field(default_factory=lambda: np.empty(0))
    _points: np.ndarray = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))

    @property
    def values(self) -> np.ndarray:
        """Values in ascending order; those that count as equal to the k-th come last, in the order of their index."""
        return self._values[: self.k]

    @property
    def points(self) -> np.ndarray:
        """Index per axis (rows) and point (columns)."""
        return self._points[:, : self.k]

    @property
    def aims(self) -> Sequence[Aim]:
        """The objective alone."""
        return (lambda columns: columns[0],)

    @property
    def settled(self) -> float:
        """Lowest value that counts as equal to the k-th."""
        return band(self.threshold)[0]

    @property
    def mark(self) -> tuple[Any, ...]:
        """Threshold and the k-th point, before which equal ones matter."""
        return (self.threshold, *self.points[:, -1].tolist()) if len(self.values) else (self.threshold,)

    def offer(self, columns: np.ndarray, points: np.ndarray) -> None:
        """Keep the k best points and those equal to the k-th; see :class:`Incumbent`."""
        values = columns[0]
        near = values <= band(self.threshold)[1]
        if not near.any():
            return
        values, points = values[near], points[:, near]
        before, last = self.threshold, float(self.values[-1]) if len(self.values) == self.k else -math.inf
        if len(self._values):
            values = np.concatenate([self._values, values])
            points = np.concatenate([self._points, points], axis=1)
        order = np.lexsort(points[::-1])
        values, points = values[order], points[:, order]
        fresh = np.ones(len(values), bool)
        fresh[1:] = (points[:, 1:] != points[:, :-1]).any(axis=0)
        values, points = values[fresh], points[:, fresh]
        if len(values) >= self.k:
            self.threshold = min(self.threshold, float(np.partition(values, self.k - 1)[self.k - 1]))
        below, above = band(self.threshold)
        if before <= band(above)[1] and last > above:
            self.lossy = True  # boxes were ruled out for a point that no longer counts as equal
        better, tied = np.flatnonzero(values < below), np.flatnonzero((values >= below) & (values <= above))
        better = better[np.argsort(values[better], kind="stable")]
        kept = np.concatenate([better, tied])
        dropped = kept[self.k + self.RESERVE :]
        if dropped.size and values[tied].min() != values[tied].max():
            self.lossy = True
        kept = kept[: self.k + self.RESERVE]
        self._values, self._points = values[kept], points[:, kept]

    def matters(self, lower: np.ndarray, first: First) -> np.ndarray:
        """Select boxes by their bound; see :class:`Incumbent`."""
        (bound,), (below, above) = lower, band(self.threshold)
        matter = bound < below
        tied = np.flatnonzero(~matter & (bound <= above) & (bound < math.inf))
        if tied.size:
            matter[tied] = _before(first(tied), self.points[:, -1])
        return matter

    def key(self, lower: np.ndarray, first: First) -> np.ndarray:
        """Rank boxes by their bound; see :class:`Incumbent`."""
        return np.where(self.matters(lower, first), lower[0], math.inf)


class Nondominated:
    """Points that no known point dominates; of points equal in every objective the first.

    Values are compared as :func:`~mlsysim.backends.ties.rounded` gives them: what differs by rounding
    alone is equal, and "as good as" stays transitive.

    Parameters
    ----------
    sizes : tuple of int
        Values per axis.
    objectives : int
        Number of objectives.

    Attributes
    ----------
    values : ndarray
        Rounded objectives: a row per point, ascending, a column per objective.
    indices : ndarray of int
        C-order index of each point.
    """

    #: Few of the points of a front are found in the first rounds, so that longer ones would look at more boxes in vain.
    growth: ClassVar[float] = 1.0625

    def __init__(self, sizes: tuple[int, ...], objectives: int) -> None:
        self.sizes, self.objectives = sizes, objectives
        self.values, self.indices = np.empty((0, objectives)), np.empty(0, np.int64)
        self.lossy, self.settled = False, 0.0
        # Comparing all open boxes with a front takes long, so a box is compared when it is taken.
        self.mark: tuple[Any, ...] = ()

    @property
    def aims(self) -> Sequence[Aim]:
        """Every objective, and weighted sums of their logarithms."""
        others = self.objectives - 1
        weights = [*np.eye(self.objectives), *(np.array([s, *[(1 - s) / others] * others]) for s in SHARES)]

        def aim(weight: np.ndarray) -> Aim:
            return lambda columns: weight @ (np.sign(columns) * np.log(np.maximum(np.abs(columns), 1e-300)))

        return [aim(weight) for weight in weights]

    def offer(self, columns: np.ndarray, points: np.ndarray) -> None:
        """Keep the nondominated points; see :class:`Incumbent`."""
        columns = rounded(columns)
        fresh = self.matters(columns, lambda places: points[:, places])
        if fresh.any():
            indices = index_of(points[:, fresh], self.sizes)
            values, indices = np.concatenate([self.values, columns[:, fresh].T]), np.append(self.indices, indices)
            self.values, self.indices = nondominated(values, indices)

    def matters(self, lower: np.ndarray, first: First) -> np.ndarray:
        """Select boxes that may hold a nondominated point; see :class:`Incumbent`."""
        better, earlier = self._against(lower, first)
        return better | earlier

    def key(self, lower: np.ndarray, first: First) -> np.ndarray:
        """Rank boxes by the share by which the nearest point must be bettered in every objective to beat a bound."""
        better, earlier = self._against(lower, first)
        key = np.where(earlier, self.settled, math.inf)
        key[better] = -share_to_better(self.values, lower[:, better])
        return key

    def _against(self, lower: np.ndarray, first: First) -> tuple[np.ndarray, np.ndarray]:
        """Select boxes that may hold a nondominated point, and boxes that hold at most an earlier equal one."""
        beaten, tied = self._compared(rounded(lower))
        places = np.flatnonzero(tied >= 0)
        earlier = np.zeros(beaten.shape, bool)
        earlier[places] = self.indices[tied[places]] > index_of(first(places), self.sizes)
        return ~beaten & (tied < 0), earlier

    def _compared(self, lower: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Select bounds that a known point dominates, and name the known point that equals them, else -1."""
        boxes = lower.shape[1]
        beaten, tied = np.zeros(boxes, bool), np.full(boxes, -1)
        if not len(self.values):
            return beaten, tied
        if self.objectives == 2:
            # Of the points that are as good in the first objective the last one is best in the second.
            at = np.searchsorted(self.values[:, 0], lower[0], side="right") - 1
            near = self.values[at].T
            good = (at >= 0) & (near[1] <= lower[1])
            same = good & (near == lower).all(axis=0)
            return good & ~same, np.where(same, at, -1)
        for start in range(0, len(self.values), BESIDE):
            known = self.values[start : start + BESIDE]
            good = (known[:, :, None] <= lower).all(axis=1)
            same = good & (known[:, :, None] == lower).all(axis=1)
            tied = np.where(same.any(axis=0), start + same.argmax(axis=0), tied)
            beaten |= (good & ~same).any(axis=0)
        return beaten, tied


def _before(points: np.ndarray, mark: np.ndarray) -> np.ndarray:
    """Select points that come before another point in C order."""
    before, equal = np.zeros(points.shape[1], bool), np.ones(points.shape[1], bool)
    for row, at in zip(points, mark, strict=True):
        before |= equal & (row < at)
        equal &= row == at
    return before
