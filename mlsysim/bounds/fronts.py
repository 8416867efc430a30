"""The Pareto front of a grid by bounds: boxes whose bounds a point of the front beats are dropped.

The lower bounds of all objectives over a box make a point that no point of the box betters in anything. Where a known
point is as good as that in every objective, the box is dropped. What is left at the end are the points that no other
one beats. Values are compared as :func:`~mlsysim.backends.ties.rounded` gives them, which makes equal what differs by
rounding, and leaves "as good as" transitive.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from mlsysim.backends.budget import Budget
from mlsysim.backends.front import BESIDE, index_of, nondominated, share_to_better
from mlsysim.backends.ties import rounded
from mlsysim.bounds.bounding import Bounding
from mlsysim.bounds.branch import Progress, Search
from mlsysim.bounds.cuts import BOUND, EVALUATED, INFEASIBLE, OPEN, Cuts, volumes
from mlsysim.bounds.effects import effects
from mlsysim.bounds.forms import Condition, Sum
from mlsysim.bounds.incumbent import descend
from mlsysim.bounds.plans import Plans
from mlsysim.bounds.points import Points

#: Shares of the first objective in the sums whose small values the front begins with.
SHARES = 0.1, 0.3, 0.5, 0.7, 0.9

#: First and last index per axis (rows) and box (columns), and lower bounds by objective (rows).
Some = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass
class Known:
    """The points that no known point beats, and of points alike in every objective the first.

    Attributes
    ----------
    sizes : tuple of int
        Values per axis.
    values : ndarray
        Rounded objectives: a row per point, ascending, a column per objective.
    indices : ndarray of int
        C-order index of each point.
    """

    sizes: tuple[int, ...]
    objectives: int
    values: np.ndarray = field(init=False)
    indices: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.values, self.indices = np.empty((0, self.objectives)), np.empty(0, np.int64)

    def offer(self, columns: np.ndarray, points: np.ndarray) -> None:
        """Keep those of some feasible points that belong to the front.

        Parameters
        ----------
        columns : ndarray
            Objectives (rows) at points (columns).
        points : ndarray
            Index per axis (rows) and point (columns).
        """
        columns = rounded(columns)
        fresh = ~self.beats(columns, points)
        if fresh.any():
            indices = index_of(points[:, fresh], self.sizes)
            values, indices = np.concatenate([self.values, columns[:, fresh].T]), np.append(self.indices, indices)
            self.values, self.indices = nondominated(values, indices)

    def beats(self, lower: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Which boxes hold nothing new: a known point is better, or as good and no later than their first corner.

        Parameters
        ----------
        lower : ndarray
            Rounded lower bounds by objective (rows) and box (columns).
        first : ndarray
            First index per axis (rows) and box (columns).
        """
        beaten, tied = self.against(lower)
        places = np.flatnonzero(tied >= 0)
        beaten[places] = self.indices[tied[places]] <= index_of(first[:, places], self.sizes)
        return beaten

    def against(self, lower: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which bounds a known point betters; and the known point that equals them, -1 where none does."""
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

    def gap(self, lower: np.ndarray) -> np.ndarray:
        """By what share of itself the nearest known point must be bettered in every objective to beat a bound."""
        return share_to_better(self.values, lower)


class FrontSearch(Search):
    """The Pareto front of several objectives under conditions.

    Parameters
    ----------
    plans : Plans
        How sums are bounded.
    objectives : sequence of Sum
        What is minimised.
    conditions : tuple of Condition
        What must hold.
    evaluate : Points
        Evaluates objectives and conditions at points.
    alone : sequence of Points
        Evaluate each objective.
    sizes : tuple of int
        Values per axis.
    """

    def __init__(
        self,
        plans: Plans,
        objectives: Sequence[Sum],
        conditions: tuple[Condition, ...],
        evaluate: Points,
        alone: Sequence[Points],
        sizes: tuple[int, ...],
    ) -> None:
        super().__init__(plans, objectives[0], conditions, evaluate, sizes)
        self._others = [Bounding(plans, objective, (), ()) for objective in objectives[1:]]
        self._alone = alone

    def front(
        self,
        budget: Budget,
        report: Callable[[Progress, Known], None] | None = None,
        cuts: Cuts | None = None,
    ) -> tuple[Known, Progress, float]:
        """Find the front.

        Parameters
        ----------
        budget : Budget
            Operations and time this may take.
        report : callable, optional
            Called with the progress and the known points after every round.
        cuts : Cuts, optional
            Keeps what becomes of every part of the grid.

        Returns
        -------
        Known, Progress, float
            The front; what was looked at; and the gap: no point is better than all points of the front by more than
            this share in every objective. Zero if the front is proven.
        """
        self._budget, self._cuts = budget, cuts
        known, seen = Known(self.sizes, 1 + len(self._others)), Progress()
        low = np.zeros((len(self.sizes), 1), dtype=np.int64)
        whole = low, np.array(self.sizes, dtype=np.int64)[:, None] - 1, np.full((known.objectives, 1), -np.inf)
        self._open: list[tuple[float, int, Some]] = [(-math.inf, 0, whole)]
        self._tied: list[tuple[float, int, Some]] = []
        self._number = count(1)
        with budget.running():
            self._begin(known, seen)
            width = 16
            while self._open:
                self._foremost(self._open, width, known, seen)
                width = min(2 * width, self.WIDTH)
                if report is not None:
                    report(seen, known)
            seen.proven = True
            budget.narrow(max(self.FIRST_OPERATIONS, budget.done))
            while self._tied:
                self._foremost(self._tied, self.WIDTH, known, seen)
        for *_, (low, high, _) in (*self._open, *self._tied):
            self._cut(low, high, OPEN)
        self._cuts = None
        seen.proven = not self._open
        seen.first = seen.proven and not self._tied
        return known, seen, max((float(known.gap(lower).max()) for _, _, (_, _, lower) in self._open), default=0.0)

    def _begin(self, known: Known, seen: Progress) -> None:
        """Find a first front: points with small values of every objective, and of weighted sums of their logarithms."""
        weights = np.eye(known.objectives).tolist()
        weights += [[share, *[(1 - share) / (known.objectives - 1)] * (known.objectives - 1)] for share in SHARES]
        for weight in weights:
            descend(_Weighted(self.evaluate, np.array(weight), known, seen), self.sizes, lambda values, points: None)

    def _foremost(self, heap: list[tuple[float, int, Some]], width: int, known: Known, seen: Progress) -> None:
        """Replace the foremost boxes of a heap by what is left of them; put them back if that is broken off."""
        taken = [heapq.heappop(heap)]
        while heap and sum(some[2].shape[1] for *_, some in taken) < width:
            taken.append(heapq.heappop(heap))
        left: list[Some] = [some for *_, some in taken]
        try:
            low, high, lower = (np.concatenate(parts, axis=1) for parts in zip(*left, strict=True))
            keep = ~known.beats(rounded(lower), low)
            self._cut(low[:, ~keep], high[:, ~keep], BOUND)
            left = [self._rest(low[:, keep], high[:, keep], lower[:, keep], known, seen)]
            self._commit_cuts()
        finally:
            self._rollback_cuts()
            for some in left:
                self._put(some, known)
            self._commit_cuts()

    def _put(self, some: Some, known: Known) -> None:
        """Add boxes: those that may hold better points, and those that may hold earlier ones of equal points."""
        low, high, lower = some
        beaten, tied = known.against(rounded(lower))
        places = np.flatnonzero(tied >= 0)
        earlier = np.zeros(beaten.shape, bool)
        earlier[places] = known.indices[tied[places]] > index_of(low[:, places], self.sizes)
        better = ~beaten & (tied < 0)
        self._cut(low[:, ~better & ~earlier], high[:, ~better & ~earlier], BOUND)
        self._push(self._open, some, np.flatnonzero(better), known)
        self._push(self._tied, some, np.flatnonzero(earlier), known)

    def _push(self, heap: list[tuple[float, int, Some]], some: Some, places: np.ndarray, known: Known) -> None:
        if not places.size:
            return
        gap = known.gap(some[2][:, places])
        order = np.argsort(-gap, kind="stable")
        for start in range(0, order.size, self.WIDTH):
            chunk = order[start : start + self.WIDTH]
            part = places[chunk]
            boxes = some[0][:, part], some[1][:, part], some[2][:, part]
            heapq.heappush(heap, (-float(gap[chunk[0]]), next(self._number), boxes))

    def _rest(self, low: np.ndarray, high: np.ndarray, lower: np.ndarray, known: Known, seen: Progress) -> Some:
        """What is left of some boxes after they were shrunk, split or enumerated."""
        small = np.prod((high - low + 1).astype(float), axis=0) <= self.LEAF
        if small.any():
            for places in self._accepted(low[:, small], high[:, small], 0, seen):
                columns, good = self.evaluate.columns(places)
                known.offer(columns[:, good], places[:, good])
                seen.points += places.shape[1]
                seen.feasible += int(good.sum())
                seen.infeasible += int((~good).sum())
            self._cut(low[:, small], high[:, small], EVALUATED)
        low, high, lower = low[:, ~small], high[:, ~small], lower[:, ~small]
        if not lower.shape[1]:
            return low, high, lower
        first, alive = self._bounds(low, high)
        own = np.stack([first, *(other(low, high)[0] for other in self._others)])
        seen.boxes += alive.size
        seen.infeasible += sum(volumes(low[:, ~alive], high[:, ~alive]))
        lower = np.maximum(lower, own)
        self._cut(low[:, ~alive], high[:, ~alive], INFEASIBLE)
        beaten = alive & known.beats(rounded(lower), low)
        self._cut(low[:, beaten], high[:, beaten], BOUND)
        alive &= ~beaten
        low, high, lower = low[:, alive], high[:, alive], lower[:, alive]
        if not lower.shape[1]:
            return low, high, lower
        places = np.concatenate([low, high, (low + high) // 2], axis=1)
        columns, good = self.evaluate.columns(places)
        known.offer(columns[:, good], places[:, good])
        seen.points += places.shape[1]
        return self._parts(low, high, lower, known, seen)

    def _parts(self, low: np.ndarray, high: np.ndarray, lower: np.ndarray, known: Known, seen: Progress) -> Some:
        """The halves that may hold points of the front, of the boxes of which no half along any axis can be dropped."""
        open_axes, middles = high > low, (low + high) // 2
        first, may = self._bounds.halves(low, high)
        own = np.stack([first, *(other.halves(low, high)[0] for other in self._others)])
        seen.boxes += 2 * int(open_axes.sum())
        child = np.where(open_axes, np.maximum(own, lower[:, None, None]), lower[:, None, None])
        stays = may & (~self._beaten(child, low, middles, known) | ~open_axes)
        dead = (~stays).all(axis=0).any(axis=0)
        if self._cuts is not None:
            self._cuts.halves(low, high, (stays[0], stays[1]), (~may[0], ~may[1]))
        new_low = np.where(~stays[0] & stays[1], middles + 1, low)
        new_high = np.where(stays[0] & ~stays[1], middles, high)
        both = np.where(stays, child, np.inf).min(axis=1).max(axis=1)
        new_lower = np.maximum(lower, both)
        shrunk = ~stays.all(axis=(0, 1))
        void = ~may.any(axis=0).all(axis=0)
        seen.infeasible += sum(volumes(low[:, void], high[:, void]))
        keep = shrunk & ~dead
        found = [(new_low[:, keep], new_high[:, keep], new_lower[:, keep])]
        columns = np.flatnonzero(~shrunk)
        if columns.size:
            axis, at = self._split_axis(low[:, columns], high[:, columns], own[..., columns]), np.arange(columns.size)
            for side in (0, 1):
                part_low, part_high = low[:, columns].copy(), high[:, columns].copy()
                (part_high, part_low)[side][axis, at] = middles[axis, columns] + side
                found.append((part_low, part_high, np.maximum(child[:, side, axis, columns], new_lower[:, columns])))
        low, high, lower = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
        return low, high, lower

    def _beaten(self, child: np.ndarray, low: np.ndarray, middles: np.ndarray, known: Known) -> np.ndarray:
        """Which halves of boxes hold nothing new, by half, axis and box."""
        beaten, tied = known.against(rounded(child.reshape(len(child), -1)))
        beaten = beaten.reshape(child.shape[1:])
        half, axis, box = np.nonzero(tied.reshape(child.shape[1:]) >= 0)
        corner = low[:, box]
        right = np.flatnonzero(half)
        corner[axis[right], right] = middles[axis[right], box[right]] + 1
        equal = tied.reshape(child.shape[1:])[half, axis, box]
        beaten[half, axis, box] = known.indices[equal] <= index_of(corner, self.sizes)
        return beaten

    def _split_axis(self, low: np.ndarray, high: np.ndarray, own: np.ndarray) -> np.ndarray:
        """The axis along which the bounds of the halves and the objectives change most, in all objectives together."""
        score = 1e-6 * np.log2(high - low + 1.0)
        with np.errstate(all="ignore"):
            for bounds, evaluate in zip(own, self._alone, strict=True):
                bound = bounds.min(axis=(0, 1))
                scale = np.maximum(np.abs(bound), 1e-300)
                rise = (np.minimum(bounds - bound, scale) / scale).sum(axis=0)
                score = score + np.where(np.isfinite(rise), rise, 0.0) + effects(evaluate, low, high)
        return np.argmax(np.where(high > low, score, -np.inf), axis=0)


class _Weighted(Points):
    """Points by one number, a weighted sum of logarithms; what is evaluated is offered to a front."""

    def __init__(self, of: Points, weights: np.ndarray, known: Known, seen: Progress) -> None:
        self._of, self._weights, self._known, self._seen = of, weights, known, seen
        self.checks = of.checks

    def accepts(self, points: np.ndarray) -> np.ndarray:
        """Whether points meet the conditions on inputs alone."""
        return self._of.accepts(points)

    def __call__(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weighted sum, and whether a point is feasible."""
        columns, good = self._of.columns(points)
        self._known.offer(columns[:, good], points[:, good])
        self._seen.points += points.shape[1]
        with np.errstate(all="ignore"):
            size = np.sign(columns) * np.log(np.maximum(np.abs(columns), 1e-300))
        return self._weights @ np.where(good, size, 0.0), good
