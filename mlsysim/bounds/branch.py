"""Branch and bound over a grid, for one objective or several, with a proof of what is found.

Boxes are taken lowest key first. Both halves of a box along every axis are bounded, and a half that cannot hold a
point of the answer is dropped. Where none is, the box is split along the axis whose halves raise the bounds most.
Small boxes are enumerated. Which points belong to the answer, and so which boxes matter, the incumbent says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlsysim.backends.budget import Budget, SpentError
from mlsysim.bounds.bounding import Bounding
from mlsysim.bounds.boxes import Boxes, Some
from mlsysim.bounds.cuts import BOUND, EVALUATED, INFEASIBLE, OPEN, Cuts
from mlsysim.bounds.descent import descend
from mlsysim.bounds.effects import effects
from mlsysim.bounds.forms import Condition, Sum
from mlsysim.bounds.implied import implied
from mlsysim.bounds.incumbent import Aim, Incumbent
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
        The least key of what was not evaluated. With one objective no point there is below it; with several none
        betters all points found by more than this share, negated, in every objective.
    proven : bool
        Whether no other point can be better than those found, up to rounding.
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


class Search:
    """The search for the points with small objectives under conditions.

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
        Evaluate each objective first.
    sizes : tuple of int
        Values per axis.
    held : mapping, optional
        What ``evaluate`` holds to a number: the sum that must be small, by what is held.
    """

    #: Most boxes taken in one round for each objective, and most points of a box that is enumerated instead of split.
    WIDTH, LEAF = 1024, 2048
    #: Operations that may at least be spent, once the values are proven, on finding the first of the points that have
    #: them.
    FIRST_OPERATIONS = 2e8

    def __init__(
        self,
        plans: Plans,
        objectives: Sequence[Sum],
        conditions: tuple[Condition, ...],
        evaluate: Points,
        alone: Sequence[Points],
        sizes: tuple[int, ...],
        held: Mapping[Limited, Sum] | None = None,
    ) -> None:
        further = implied(plans.forms, conditions)
        first, *others = objectives
        self._bounds = [Bounding(plans, first, conditions, further, held)]
        self._bounds += [Bounding(plans, other, (), ()) for other in others]
        self.evaluate, self._alone, self.sizes = evaluate, alone, sizes
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
        self._bounds[0].limits = limits
        self.evaluate = self.evaluate.limited(limits)

    def bound(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """A lower bound of the first objective in every box, given by the first and last index per axis (rows)."""
        bound, alive = self._bounds[0](low, high)
        return np.where(alive, bound, np.inf)

    def run(
        self,
        found: Incumbent,
        budget: Budget | None = None,
        report: Callable[[Progress], None] | None = None,
        cuts: Cuts | None = None,
    ) -> Progress:
        """Find the points of an answer.

        Parameters
        ----------
        found : Incumbent
            Keeps them, the k best or those that none beats.
        budget : Budget, optional
            Operations and time this may take. When they are used up, it returns with what is known.
        report : callable, optional
            Called with the progress after every round.
        cuts : Cuts, optional
            Keeps what becomes of every part of the grid.

        Returns
        -------
        Progress
        """
        self._budget = Budget() if budget is None else budget
        self._cuts, self._mark, seen = cuts, None, Progress()
        low = np.zeros((len(self.sizes), 1), dtype=np.int64)
        high = np.array(self.sizes, dtype=np.int64)[:, None] - 1
        boxes = Boxes([low, high, np.full((len(self._bounds), 1), -np.inf), np.full(1, -np.inf)])
        # A round that is broken off leaves its boxes among those that are open.
        with self._budget.running():
            if len(self._bounds) == 1:
                # A bound of the whole grid comes first, so that an answer has a gap however dear its points are.
                self._round(boxes, 1, found, seen)
            self._descend(found, seen)
            self._look(boxes, found, seen)
            width = 16
            while len(boxes):
                self._round(boxes, width, found, seen)
                self._look(boxes, found, seen)
                width = min(math.ceil(found.growth * width), self.WIDTH * len(self._bounds))
                if report is not None:
                    report(seen)
        self._mark = None
        self._look(boxes, found, seen)
        seen.first = not len(boxes) and not found.lossy
        if cuts is not None:
            low, high, *_ = boxes.all
            cuts.add(low, high, OPEN)
        self._cuts = None
        return seen

    def _without(self, some: Some, gone: np.ndarray, fate: int) -> Some:
        """Boxes but those that are gone, of which it is kept why."""
        if self._cuts is not None:
            self._cuts.add(some[0][:, gone], some[1][:, gone], fate)
        return [array[..., ~gone] for array in some]

    def _look(self, boxes: Boxes, found: Incumbent, seen: Progress) -> None:
        """Drop boxes that do not matter any more, and see what is proven."""
        if found.mark != self._mark:
            low, high, lower, _ = boxes.all
            key = found.key(lower, lambda places: low[:, places])
            boxes.all = self._without([low, high, lower, key], key == np.inf, BOUND)
            self._mark = found.mark
        least = float(boxes.all[-1].min(initial=np.inf))
        # Nothing is below the least key of the open boxes, nor below what others were dropped by.
        seen.bound = min(least, found.settled)
        if not seen.proven and least >= found.settled:
            seen.proven = True
            self._budget.narrow(max(self.FIRST_OPERATIONS, self._budget.done))

    def _round(self, boxes: Boxes, width: int, found: Incumbent, seen: Progress) -> None:
        """Replace the foremost boxes by what is left of them; put them back if that is broken off."""
        if self._cuts is not None:
            self._cuts.commit()
        left = taken = boxes.take(width)
        try:
            low, high, lower = self._taken(taken[:-1], found, seen)
            key = found.key(lower, lambda places: low[:, places])
            left = self._without([low, high, lower, key], key == np.inf, BOUND)
        except SpentError:
            if self._cuts is not None:
                self._cuts.rollback()
            raise
        finally:
            boxes.put(left)

    def _taken(self, some: Some, found: Incumbent, seen: Progress) -> Some:
        """What is left of some boxes after they were shrunk, split or enumerated."""
        low, high, lower = some = self._mattering(some, found)
        small = np.prod((high - low + 1).astype(float), axis=0) <= self.LEAF
        if small.any():
            self._enumerate(low[:, small], high[:, small], found, seen)
        low, high, lower = some = self._without(some, small, EVALUATED)
        if not lower.size:
            return some
        better, alive = _stacked(bounding(low, high) for bounding in self._bounds)
        seen.boxes += alive.size
        seen.infeasible += _volume(low[:, ~alive], high[:, ~alive])
        some = self._without([low, high, np.maximum(lower, better)], ~alive, INFEASIBLE)
        low, high, lower = some = self._mattering(some, found)
        if not lower.size:
            return some
        # Two corners and the middle of every box are tried.
        _, good = self._evaluated(np.concatenate([low, high, (low + high) // 2], axis=1), found)
        seen.points += good.size
        return self._split(low, high, lower, found, seen)

    def _mattering(self, some: Some, found: Incumbent) -> Some:
        """The boxes that may hold a point of the answer."""
        low, _, lower = some
        return self._without(some, ~found.matters(lower, lambda places: low[:, places]), BOUND)

    def _split(self, low: np.ndarray, high: np.ndarray, lower: np.ndarray, found: Incumbent, seen: Progress) -> Some:
        """The halves that matter, of the boxes of which no half along any axis can be dropped; and what is left."""
        open_axes, middles = high > low, (low + high) // 2
        own, may = _stacked(bounding.halves(low, high) for bounding in self._bounds)
        seen.boxes += 2 * int(open_axes.sum())
        whole = lower[:, None, None]
        child = np.where(open_axes, np.maximum(own, whole), whole)
        stays = may & (self._halves_matter(child, low, middles, found) | ~open_axes)
        dead = (~stays).all(axis=0).any(axis=0)
        if self._cuts is not None:
            self._cuts.halves(low, high, (stays[0], stays[1]), (~may[0], ~may[1]))
        new_low = np.where(~stays[0] & stays[1], middles + 1, low)
        new_high = np.where(stays[0] & ~stays[1], middles, high)
        new_lower = np.maximum(lower, np.where(stays, child, np.inf).min(axis=1).max(axis=1))
        shrunk = ~stays.all(axis=(0, 1))
        keep = shrunk & ~dead
        # What is dropped is known to be infeasible where the conditions alone rule it out.
        sure = (stays | ~may).all(axis=(0, 1)) & keep
        seen.infeasible += _volume(low[:, sure], high[:, sure]) - _volume(new_low[:, sure], new_high[:, sure])
        void = (~may).all(axis=0).any(axis=0)
        seen.infeasible += _volume(low[:, void], high[:, void])
        parts = [(new_low[:, keep], new_high[:, keep], new_lower[:, keep])]
        columns = np.flatnonzero(~shrunk)
        if columns.size:
            axis, at = self._axis(low[:, columns], high[:, columns], own[..., columns]), np.arange(columns.size)
            for side in (0, 1):
                part_low, part_high = low[:, columns].copy(), high[:, columns].copy()
                (part_high, part_low)[side][axis, at] = middles[axis, columns] + side
                parts.append((part_low, part_high, np.maximum(child[:, side, axis, columns], new_lower[:, columns])))
        return [np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True)]

    def _halves_matter(self, child: np.ndarray, low: np.ndarray, middles: np.ndarray, found: Incumbent) -> np.ndarray:
        """Tell which halves of boxes may hold a point of the answer, by half, axis and box."""
        shape = child.shape[1:]

        def first(places: np.ndarray) -> np.ndarray:
            half, axis, box = np.unravel_index(places, shape)
            corner, right = low[:, box], np.flatnonzero(half)
            corner[axis[right], right] = middles[axis[right], box[right]] + 1
            return corner

        return found.matters(child.reshape(len(child), -1), first).reshape(shape)

    def _axis(self, low: np.ndarray, high: np.ndarray, own: np.ndarray) -> np.ndarray:
        """The axis to split: the one whose halves raise the bounds most, and along which the objectives change most."""
        score: Any = 0.0
        for bounds, evaluate in zip(own, self._alone, strict=True):
            with np.errstate(all="ignore"):
                # Against the least of all halves: the bound of the box itself may be better than either's.
                bound = bounds.min(axis=(0, 1))
                scale = np.maximum(np.abs(bound), 1e-300)
                rise = (np.minimum(bounds - bound, scale) / scale).sum(axis=0)
            rise = np.where(np.isfinite(rise), rise, np.where(np.isfinite(bounds.min(axis=0)), 2.0, 0.0))
            score = score + (rise + effects(evaluate, low, high))
        score = score + 1e-6 * np.log2(high - low + 1.0)
        return np.argmax(np.where(high > low, score, -np.inf), axis=0)

    def _evaluated(self, points: np.ndarray, found: Incumbent) -> tuple[np.ndarray, np.ndarray]:
        """The objectives at some points, which may belong to the answer, and which of these are feasible."""
        columns, good = self.evaluate.columns(points)
        found.offer(columns[:, good], points[:, good])
        return columns, good

    def _enumerate(self, low: np.ndarray, high: np.ndarray, found: Incumbent, seen: Progress) -> None:
        """Evaluate every point of some boxes, axis by axis, after ruling out what conditions on inputs refuse."""
        for places in self._accepted(low, high, 0, seen):
            _, good = self._evaluated(places, found)
            seen.points += good.size
            seen.feasible += int(good.sum())
            seen.infeasible += int((~good).sum())

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

    def _descend(self, found: Incumbent, seen: Progress) -> None:
        """Find the first good values."""
        for aim in found.aims:

            def value(points: np.ndarray, aim: Aim = aim) -> np.ndarray:
                columns, good = self._evaluated(points, found)
                seen.points += int(good.sum())
                with np.errstate(all="ignore"):
                    return np.where(good, aim(columns), np.inf)

            descend(self.evaluate, self.sizes, value)


def _stacked(bounds: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Bounds by objective, and where the conditions may hold, of which the first knows."""
    own, (alive, *_) = zip(*bounds, strict=True)
    return np.stack(own), alive


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
