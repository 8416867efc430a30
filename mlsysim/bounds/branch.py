"""Branch and bound over a grid: the k best points, with a proof that none is better.

Boxes are taken lowest bound first. Both halves of a box along every axis are bounded, and a half that cannot
hold a better point is dropped. Where none is, the box is split along the axis whose halves raise the bound most.
Small boxes are enumerated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mlsysim.backends.budget import Budget
from mlsysim.backends.ties import band
from mlsysim.bounds.bounding import Bounding
from mlsysim.bounds.boxes import Boxes
from mlsysim.bounds.cuts import BOUND, EVALUATED, INFEASIBLE, OPEN, Cuts
from mlsysim.bounds.effects import effects
from mlsysim.bounds.forms import Condition, Sum
from mlsysim.bounds.implied import implied
from mlsysim.bounds.incumbent import descend
from mlsysim.bounds.limits import Limited
from mlsysim.bounds.plans import Plans
from mlsysim.bounds.points import Points
from mlsysim.bounds.stages import Pairs, staged


@dataclass
class Progress:
    """What a search has looked at.

    Attributes
    ----------
    boxes, points : int
        Boxes bounded, points evaluated.
    bound : float
        Every point that was not evaluated has an objective of at least this.
    proven : bool
        Whether no other value can be better than those found, up to rounding.
    first : bool
        Whether the points found are also the first ones, in C order, among those with equal values.
    feasible, infeasible : int
        How many points are known to meet the conditions, and how many are known not to.
    """

    boxes: int = 0
    points: int = 0
    bound: float = math.inf
    proven: bool = False
    first: bool = False
    feasible: int = 0
    infeasible: int = 0


@dataclass
class Best:
    """The k best points found so far, by value and then by index.

    Attributes
    ----------
    k : int
        How many are wanted.
    threshold : float
        The k-th best value found, infinite while fewer points are known.
    lossy : bool
        Whether a point was dropped that might be the first of those that count as equal in the end.
    """

    #: Most points kept that count as equal to the k-th. When a better k-th is found, fewer of them count as equal
    #: to it, and another of them may be the first.
    RESERVE: ClassVar[int] = 1 << 16

    k: int
    threshold: float = math.inf
    lossy: bool = False
    _values: np.ndarray = field(default_factory=lambda: np.empty(0))
    _points: np.ndarray = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))

    @property
    def values(self) -> np.ndarray:
        """In ascending order; those that count as equal to the k-th come last, in the order of their index."""
        return self._values[: self.k]

    @property
    def points(self) -> np.ndarray:
        """Index per axis (rows) and point (columns)."""
        return self._points[:, : self.k]

    def offer(self, values: np.ndarray, points: np.ndarray) -> None:
        """Keep those of some feasible points that belong to the k best. A point may be offered more than once."""
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

    @property
    def mark(self) -> tuple[Any, ...]:
        """What says which boxes matter; as long as it stays the same, so do they."""
        return (self.threshold, *self.points[:, -1].tolist()) if len(self.values) else (self.threshold,)

    @property
    def band(self) -> tuple[float, float]:
        """Between which values others count as equal to the k-th."""
        return band(self.threshold)

    def matters(self, bound: np.ndarray, low: np.ndarray) -> np.ndarray:
        """Which boxes may hold a better point, or an equal one that is earlier, by their bounds and first corners."""
        below, above = self.band
        matter = bound < below
        tied = np.flatnonzero(~matter & (bound <= above) & (bound < math.inf))
        if tied.size:
            matter[tied] = _before(low[:, tied], self.points[:, -1])
        return matter


def _before(points: np.ndarray, mark: np.ndarray) -> np.ndarray:
    """Which of some points come before another point in C order."""
    before, equal = np.zeros(points.shape[1], bool), np.ones(points.shape[1], bool)
    for row, at in zip(points, mark, strict=True):
        before |= equal & (row < at)
        equal &= row == at
    return before


class Search:
    """The k smallest values of an objective under conditions.

    Parameters
    ----------
    plans : Plans
        How sums are bounded.
    objective : Sum
        What is minimised.
    conditions : tuple of Condition
        What must hold.
    evaluate : Points
        Evaluates objective and conditions at points.
    sizes : tuple of int
        Values per axis.
    held : mapping, optional
        What ``evaluate`` holds to a number: the sum that must be small, by what is held.
    """

    #: Boxes taken in one round, and most points of a box that is enumerated instead of split.
    WIDTH, LEAF = 1024, 2048
    #: Operations that may at least be spent, once a value is proven, on finding the first of the points that have it.
    FIRST_OPERATIONS = 2e8

    def __init__(
        self,
        plans: Plans,
        objective: Sum,
        conditions: tuple[Condition, ...],
        evaluate: Points,
        sizes: tuple[int, ...],
        held: Mapping[Limited, Sum] | None = None,
    ) -> None:
        further = implied(plans.forms, conditions)
        self._bounds = Bounding(plans, objective, conditions, further, held)
        self.evaluate, self.sizes = evaluate, sizes
        self.limit(evaluate.limits)
        pairs = [
            Pairs(c.args[0], c.args[1], np.diff(np.diff(c.args[2], axis=0), axis=1) > 0)
            for c in further
            if c.relation == "pairs"
        ]
        self._stages = staged([*pairs, *evaluate.checks], sizes)
        decided = {axis for stage in self._stages for axis in stage.axes}
        self._undecided = [axis for axis in range(len(sizes)) if axis not in decided]
        self._mark: tuple[Any, ...] | None = None
        self._cuts: Cuts | None = None

    def limit(self, limits: Mapping[Limited, float]) -> None:
        """Take other numbers as limits.

        Parameters
        ----------
        limits : mapping
            The numbers, by what is held to them.
        """
        self._bounds.limits = limits
        self.evaluate = self.evaluate.limited(limits)

    def bound(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """A lower bound of the objective in every box, given by the first and last index per axis (rows)."""
        bound, alive = self._bounds(low, high)
        return np.where(alive, bound, np.inf)

    def run(
        self,
        k: int,
        budget: Budget | None = None,
        report: Callable[[Progress, Best], None] | None = None,
        cuts: Cuts | None = None,
    ) -> tuple[Best, Progress]:
        """Find the k best points.

        Parameters
        ----------
        k : int
            How many.
        budget : Budget, optional
            Operations and time this may take. When they are used up, it returns what is known.
        report : callable, optional
            Called with the progress and the best points after every round.
        cuts : Cuts, optional
            Keeps what becomes of every part of the grid.

        Returns
        -------
        Best, Progress
        """
        self._budget = Budget() if budget is None else budget
        best, seen = Best(k), Progress()
        self._cuts = cuts
        low = np.zeros((len(self.sizes), 1), dtype=np.int64)
        high = np.array(self.sizes, dtype=np.int64)[:, None] - 1
        boxes = Boxes(low, high, np.full(1, -np.inf))
        self._mark = None
        # A round that is broken off leaves its boxes among those that are open.
        with self._budget.running():
            # A bound of the whole grid comes first, so that an answer has a gap however dear its points are.
            self._round(boxes, 1, best, seen)
            self._descend(best, seen)
            self._look(boxes, best, seen)
            width = 16
            while len(boxes):
                self._round(boxes, width, best, seen)
                self._look(boxes, best, seen)
                width = min(2 * width, self.WIDTH)
                if report is not None:
                    report(seen, best)
        self._look(boxes, best, seen)
        seen.first = not len(boxes) and not best.lossy
        self._cut(boxes.low, boxes.high, OPEN)
        self._cuts = None
        return best, seen

    def _cut(self, low: np.ndarray, high: np.ndarray, fate: int | np.ndarray) -> None:
        if self._cuts is not None:
            self._cuts.add(low, high, fate)

    def _commit_cuts(self) -> None:
        """Keep what was cut since the last time."""
        if self._cuts is not None:
            self._cuts.commit()

    def _rollback_cuts(self) -> None:
        """Forget what was cut since then."""
        if self._cuts is not None:
            self._cuts.rollback()

    def _look(self, boxes: Boxes, best: Best, seen: Progress) -> None:
        """Drop boxes that can hold no better point, nor an earlier equal one, and see what is proven."""
        mark = best.mark
        if mark != self._mark:
            keep = best.matters(boxes.bound, boxes.low)
            self._cut(boxes.low[:, ~keep], boxes.high[:, ~keep], BOUND)
            self._commit_cuts()
            boxes.keep(keep)
            self._mark = mark
        pruned = band(best.threshold)[0]
        least = float(boxes.bound.min()) if len(boxes) else math.inf
        # No point is below the least bound of the open boxes, nor below what others were dropped by.
        seen.bound = min(least, pruned)
        if not seen.proven and least >= pruned:
            seen.proven = True
            self._budget.narrow(max(self.FIRST_OPERATIONS, self._budget.done))

    def _round(self, boxes: Boxes, width: int, best: Best, seen: Progress) -> None:
        """Replace the foremost boxes by what is left of them; put them back if that is broken off."""
        taken = boxes.take(width)
        left = taken
        try:
            low, high, bound = self._taken(*taken, best, seen)
            keep = best.matters(bound, low)
            self._cut(low[:, ~keep], high[:, ~keep], BOUND)
            left = low[:, keep], high[:, keep], bound[keep]
            self._commit_cuts()
        finally:
            self._rollback_cuts()
            boxes.put(*left)

    def _taken(
        self, low: np.ndarray, high: np.ndarray, bound: np.ndarray, best: Best, seen: Progress
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What is left of some boxes after they were shrunk, split or enumerated."""
        volume = np.prod((high - low + 1).astype(float), axis=0)
        small = volume <= self.LEAF
        if small.any():
            self._enumerate(low[:, small], high[:, small], best, seen)
            self._cut(low[:, small], high[:, small], EVALUATED)
        low, high, bound = low[:, ~small], high[:, ~small], bound[~small]
        if not bound.size:
            return low, high, bound
        better, alive = self._bounds(low, high)
        seen.boxes += bound.size
        seen.infeasible += _volume(low[:, ~alive], high[:, ~alive])
        bound = np.maximum(bound, better)
        self._cut(low[:, ~alive], high[:, ~alive], INFEASIBLE)
        worse = alive & ~best.matters(bound, low)
        self._cut(low[:, worse], high[:, worse], BOUND)
        alive &= ~worse
        low, high, bound = low[:, alive], high[:, alive], bound[alive]
        if not bound.size:
            return low, high, bound
        self._sample(low, high, best, seen)
        return self._split(low, high, bound, best, seen)

    def _split(
        self, low: np.ndarray, high: np.ndarray, bound: np.ndarray, best: Best, seen: Progress
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        open_axes, middles = high > low, (low + high) // 2
        own, may = self._bounds.halves(low, high)
        seen.boxes += 2 * int(open_axes.sum())
        left_bound, right_bound = child = np.where(open_axes, np.maximum(own, bound), bound)
        left, right = may & (self._matters(child, low, middles, best) | ~open_axes)
        left_empty, right_empty = ~may
        dead = (~left & ~right).any(axis=0)
        if self._cuts is not None:
            self._cuts.halves(low, high, (left, right), (left_empty, right_empty))
        new_low, new_high, new_bound = low.copy(), high.copy(), bound.copy()
        only_right, only_left = ~left & right, left & ~right
        new_low[only_right], new_high[only_left] = middles[only_right] + 1, middles[only_left]
        both = np.minimum(np.where(left, left_bound, np.inf), np.where(right, right_bound, np.inf))
        new_bound = np.maximum(new_bound, both.max(axis=0))
        shrunk = (only_right | only_left).any(axis=0)
        keep = shrunk & ~dead
        # What is dropped is known to be infeasible where the conditions alone rule it out.
        sure = (~(only_right & ~left_empty) & ~(only_left & ~right_empty)).all(axis=0) & keep
        seen.infeasible += _volume(low[:, sure], high[:, sure]) - _volume(new_low[:, sure], new_high[:, sure])
        void = (left_empty & right_empty).any(axis=0)
        seen.infeasible += _volume(low[:, void], high[:, void])
        found = [(new_low[:, keep], new_high[:, keep], new_bound[keep])]
        pick = ~shrunk & ~dead
        if pick.any():
            columns = np.nonzero(pick)[0]
            axis = self._axis(low[:, columns], high[:, columns], *own[:, :, columns])
            for side in ("left", "right"):
                part_low, part_high = low[:, columns].copy(), high[:, columns].copy()
                at = np.arange(len(columns))
                if side == "left":
                    part_high[axis, at] = middles[axis, columns]
                    part_bound = left_bound[axis, columns]
                else:
                    part_low[axis, at] = middles[axis, columns] + 1
                    part_bound = right_bound[axis, columns]
                found.append((part_low, part_high, np.maximum(part_bound, new_bound[columns])))
        return (
            np.concatenate([f[0] for f in found], axis=1),
            np.concatenate([f[1] for f in found], axis=1),
            np.concatenate([f[2] for f in found]),
        )

    def _matters(self, bound: np.ndarray, low: np.ndarray, middles: np.ndarray, best: Best) -> np.ndarray:
        """Which halves of boxes may hold a better point, or an equal one that is earlier, by half, axis and box."""
        below, above = best.band
        matter = bound < below
        half, axis, box = np.nonzero(~matter & (bound <= above))
        first = low[:, box]
        place = np.flatnonzero(half)
        first[axis[place], place] = middles[axis[place], box[place]] + 1
        matter[half, axis, box] = best.matters(bound[half, axis, box], first)
        return matter

    def _axis(self, low: np.ndarray, high: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The axis to split: the one whose halves raise the bound most, and along which the objective changes most."""
        with np.errstate(all="ignore"):
            # Against the least of all halves: the bound of the box itself may be better than either's.
            bound = np.minimum(left, right).min(axis=0)
            scale = np.maximum(np.abs(bound), 1e-300)
            rise = np.minimum(left - bound, scale) / scale + np.minimum(right - bound, scale) / scale
        rise = np.where(np.isfinite(rise), rise, np.where(np.isfinite(np.minimum(left, right)), 2.0, 0.0))
        score = rise + effects(self.evaluate, low, high) + 1e-6 * np.log2(high - low + 1.0)
        return np.argmax(np.where(high > low, score, -np.inf), axis=0)

    def _enumerate(self, low: np.ndarray, high: np.ndarray, best: Best, seen: Progress) -> None:
        """Evaluate every point of some boxes, axis by axis, after ruling out what conditions on inputs refuse."""
        for places in self._accepted(low, high, 0, seen):
            values, feasible = self.evaluate(places)
            best.offer(values[feasible], places[:, feasible])
            seen.points += len(values)
            seen.feasible += int(feasible.sum())
            seen.infeasible += int((~feasible).sum())

    def _accepted(self, low: np.ndarray, high: np.ndarray, stage: int, seen: Progress) -> Iterator[np.ndarray]:
        """The points of some boxes that inputs alone do not refuse: few axes first, the others for what is left."""
        done = stage == len(self._stages)
        axes = self._undecided if done else self._stages[stage].axes
        for part in _parts(np.prod((high - low + 1)[axes], axis=0), self.evaluate.chunk):
            last = low[:, part].copy()
            last[axes] = high[axes, part]
            points, owner = _spread(low[:, part], last, axes)
            if done:
                yield points
                continue
            good = self._stages[stage].checks.accepts(points)
            points, ends = points[:, good], high[:, part][:, owner[good]]
            ends[axes] = points[axes]
            rest = np.prod((high - low + 1)[:, part], axis=0) // np.prod((high - low + 1)[axes, part], axis=0)
            seen.infeasible += int(rest[owner[~good]].sum())
            yield from self._accepted(points, ends, stage + 1, seen)

    def _sample(self, low: np.ndarray, high: np.ndarray, best: Best, seen: Progress) -> None:
        """Try two corners and the middle of every box."""
        points = np.concatenate([low, high, (low + high) // 2], axis=1)
        values, good = self.evaluate(points)
        best.offer(values[good], points[:, good])
        seen.points += points.shape[1]

    def _descend(self, best: Best, seen: Progress) -> None:
        """Find a first good value."""

        def offer(values: np.ndarray, points: np.ndarray) -> None:
            best.offer(values, points)
            seen.points += len(values)

        descend(self.evaluate, self.sizes, offer)


def _volume(low: np.ndarray, high: np.ndarray) -> int:
    """How many points some boxes hold, exactly."""
    sides = high - low + 1
    if np.prod(sides.max(axis=1, initial=1).astype(float)) * max(sides.shape[1], 1) < 2.0**62:
        return int(np.prod(sides, axis=0).sum())
    return sum(math.prod(map(int, column)) for column in sides.T)


def _parts(counts: np.ndarray, most: int) -> Iterator[slice]:
    """Boxes in groups that hold at most so many points, but at least one box."""
    order, start = np.cumsum(counts), 0
    while start < len(counts):
        done = order[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(order, done + most, side="right")))
        yield slice(start, stop)
        start = stop


def _spread(low: np.ndarray, high: np.ndarray, axes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The points of some boxes along some axes, at the low end of the others; and to which box each belongs."""
    sides = (high - low + 1)[axes]
    counts = np.prod(sides, axis=0)
    owner = np.repeat(np.arange(len(counts)), counts)
    offset = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    points = low[:, owner]
    for axis, side in zip(reversed(axes), reversed(sides), strict=True):
        points[axis] += offset % side[owner]
        offset //= side[owner]
    return points, owner
