"""Branch and bound over a grid, for one objective or several, with a proof of the result.

Boxes are taken lowest key first. Both halves of a box along every axis are bounded, and a half that cannot hold a
point of the answer is dropped. If no half is dropped, the box is split along the axis whose halves raise the bounds
most. Small boxes are enumerated. The incumbent decides which points belong to the answer, and so which boxes matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlsysim.backends.budget import Budget, SpentError
from mlsysim.bounds.bounding import Bounding
from mlsysim.bounds.boxes import BoxArrays, Boxes
from mlsysim.bounds.branch_tree import BOUND, EVALUATED, INFEASIBLE, OPEN, BranchTree
from mlsysim.bounds.descent import descend
from mlsysim.bounds.effects import effects
from mlsysim.bounds.forms import Condition, Sum
from mlsysim.bounds.implied import implied
from mlsysim.bounds.incumbent import Aim, Incumbent
from mlsysim.bounds.limits import Limited
from mlsysim.bounds.plans import Plans
from mlsysim.bounds.points import Points
from mlsysim.bounds.stages import Pairs, into_stages


@dataclass
class Progress:
    """Counts and bounds of a search so far.

    Attributes
    ----------
    boxes, points : int
        Boxes bounded, points evaluated.
    bound : float
        Least key of what was not evaluated. With one objective no point there is below it; with several none
        improves on all points of the answer by more than this share, negated, in every objective.
    proven : bool
        True if no other point can be better than those of the answer, up to rounding.
    first : bool
        True if these are also the first, in C order, among points with equal values.
    feasible, infeasible : int
        Points known to meet the conditions, and points known not to.
    """

    boxes: int = 0
    points: int = 0
    bound: float = math.inf
    proven: bool = False
    first: bool = False
    feasible: int = 0
    infeasible: int = 0


class Search:
    """Search for the points with small objectives under conditions.

    Parameters
    ----------
    plans : Plans
        Rewrites under which sums are bounded.
    objectives : sequence of Sum
        What is minimised.
    conditions : tuple of Condition
        What must hold.
    evaluate : Points
        Evaluates objectives and conditions at points.
    alone : sequence of Points
        One evaluator per objective, with that objective first.
    sizes : tuple of int
        Values per axis.
    limited : mapping, optional
        The sum that must be small, by limited quantity of ``evaluate``.
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
        limited: Mapping[Limited, Sum] | None = None,
    ) -> None:
        further = implied(plans.forms, conditions)
        first, *others = objectives
        self._bounds = [Bounding(plans, first, conditions, further, limited)]
        self._bounds += [Bounding(plans, other, (), ()) for other in others]
        self.evaluate, self._alone, self.sizes = evaluate, alone, sizes
        self.limit(evaluate.limits)
        pairs = [
            Pairs(c.args[0], c.args[1], np.diff(np.diff(c.args[2], axis=0), axis=1) > 0)
            for c in further
            if c.relation == "pairs"
        ]
        self._stages = into_stages([*pairs, *evaluate.checks], sizes)
        decided = {axis for stage in self._stages for axis in stage.axes}
        self._undecided = [axis for axis in range(len(sizes)) if axis not in decided]
        self._mark: tuple[Any, ...] | None = None
        self._tree: BranchTree | None = None

    def limit(self, limits: Mapping[Limited, float]) -> None:
        """Take other numbers as limits.

        Parameters
        ----------
        limits : mapping
            Numbers, by limited quantity.
        """
        self._bounds[0].limits = limits
        self.evaluate = self.evaluate.limited(limits)

    def bound(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Lower bound of the first objective in every box, given by the first and last index per axis (rows)."""
        bound, alive = self._bounds[0](low, high)
        return np.where(alive, bound, np.inf)

    def run(
        self,
        incumbent: Incumbent,
        budget: Budget | None = None,
        report: Callable[[Progress], None] | None = None,
        tree: BranchTree | None = None,
    ) -> Progress:
        """Find the points of an answer.

        Parameters
        ----------
        incumbent : Incumbent
            Keeps the k best points, or the nondominated ones.
        budget : Budget, optional
            Operations and time this may take. When they are used up, the search returns with what is known.
        report : callable, optional
            Called with the progress after every round.
        tree : BranchTree, optional
            Records the outcome of every part of the grid.

        Returns
        -------
        Progress
        """
        self._budget = Budget() if budget is None else budget
        self._tree, self._mark, progress = tree, None, Progress()
        low = np.zeros((len(self.sizes), 1), dtype=np.int64)
        high = np.array(self.sizes, dtype=np.int64)[:, None] - 1
        boxes = Boxes([low, high, np.full((len(self._bounds), 1), -np.inf), np.full(1, -np.inf)])
        # A round that is broken off leaves its boxes among those that are open.
        with self._budget.running():
            if len(self._bounds) == 1:
                # A bound of the whole grid comes first, so that an answer has a gap however dear its points are.
                self._round(boxes, 1, incumbent, progress)
            self._descend(incumbent, progress)
            self._prune(boxes, incumbent, progress)
            width = 16
            while len(boxes):
                self._round(boxes, width, incumbent, progress)
                self._prune(boxes, incumbent, progress)
                width = min(math.ceil(incumbent.growth * width), self.WIDTH * len(self._bounds))
                if report is not None:
                    report(progress)
        self._mark = None
        self._prune(boxes, incumbent, progress)
        progress.first = not len(boxes) and not incumbent.lossy
        if tree is not None:
            low, high, *_ = boxes.all
            tree.add(low, high, OPEN)
        self._tree = None
        return progress

    def _without(self, arrays: BoxArrays, gone: np.ndarray, fate: int) -> BoxArrays:
        """Drop the boxes that are gone, and record why."""
        if self._tree is not None:
            self._tree.add(arrays[0][:, gone], arrays[1][:, gone], fate)
        return [array[..., ~gone] for array in arrays]

    def _prune(self, boxes: Boxes, incumbent: Incumbent, progress: Progress) -> None:
        """Drop boxes that no longer matter, and update what is proven."""
        if incumbent.mark != self._mark:
            low, high, lower, _ = boxes.all
            key = incumbent.key(lower, lambda places: low[:, places])
            boxes.all = self._without([low, high, lower, key], key == np.inf, BOUND)
            self._mark = incumbent.mark
        least = float(boxes.all[-1].min(initial=np.inf))
        # Nothing is below the least key of the open boxes, nor below what others were dropped by.
        progress.bound = min(least, incumbent.settled)
        if not progress.proven and least >= incumbent.settled:
            progress.proven = True
            self._budget.narrow(max(self.FIRST_OPERATIONS, self._budget.done))

    def _round(self, boxes: Boxes, width: int, incumbent: Incumbent, progress: Progress) -> None:
        """Replace the foremost boxes by what remains of them; put them back if the budget ends."""
        if self._tree is not None:
            self._tree.commit()
        left = taken = boxes.take(width)
        try:
            low, high, lower = self._process(taken[:-1], incumbent, progress)
            key = incumbent.key(lower, lambda places: low[:, places])
            left = self._without([low, high, lower, key], key == np.inf, BOUND)
        except SpentError:
            if self._tree is not None:
                self._tree.rollback()
            raise
        finally:
            boxes.put(left)

    def _process(self, arrays: BoxArrays, incumbent: Incumbent, progress: Progress) -> BoxArrays:
        """Shrink, split or enumerate boxes, and return those that remain."""
        low, high, lower = arrays = self._relevant(arrays, incumbent)
        small = np.prod((high - low + 1).astype(float), axis=0) <= self.LEAF
        if small.any():
            self._enumerate(low[:, small], high[:, small], incumbent, progress)
        low, high, lower = arrays = self._without(arrays, small, EVALUATED)
        if not lower.size:
            return arrays
        better, alive = _stacked(bounding(low, high) for bounding in self._bounds)
        progress.boxes += alive.size
        progress.infeasible += _volume(low[:, ~alive], high[:, ~alive])
        arrays = self._without([low, high, np.maximum(lower, better)], ~alive, INFEASIBLE)
        low, high, lower = arrays = self._relevant(arrays, incumbent)
        if not lower.size:
            return arrays
        # Two corners and the middle of every box are tried.
        _, good = self._evaluate(np.concatenate([low, high, (low + high) // 2], axis=1), incumbent)
        progress.points += good.size
        return self._split(low, high, lower, incumbent, progress)

    def _relevant(self, arrays: BoxArrays, incumbent: Incumbent) -> BoxArrays:
        """Keep the boxes that may hold a point of the answer."""
        low, _, lower = arrays
        return self._without(arrays, ~incumbent.matters(lower, lambda places: low[:, places]), BOUND)

    def _split(
        self, low: np.ndarray, high: np.ndarray, lower: np.ndarray, incumbent: Incumbent, progress: Progress
    ) -> BoxArrays:
        """Return the halves that matter of boxes no half of which can be dropped, and the others shrunk."""
        open_axes, middles = high > low, (low + high) // 2
        own, may = _stacked(bounding.halves(low, high) for bounding in self._bounds)
        progress.boxes += 2 * int(open_axes.sum())
        whole = lower[:, None, None]
        child = np.where(open_axes, np.maximum(own, whole), whole)
        stays = may & (self._halves_matter(child, low, middles, incumbent) | ~open_axes)
        dead = (~stays).all(axis=0).any(axis=0)
        if self._tree is not None:
            self._tree.halves(low, high, (stays[0], stays[1]), (~may[0], ~may[1]))
        new_low = np.where(~stays[0] & stays[1], middles + 1, low)
        new_high = np.where(stays[0] & ~stays[1], middles, high)
        new_lower = np.maximum(lower, np.where(stays, child, np.inf).min(axis=1).max(axis=1))
        shrunk = ~stays.all(axis=(0, 1))
        keep = shrunk & ~dead
        # What is dropped is known to be infeasible where the conditions alone rule it out.
        sure = (stays | ~may).all(axis=(0, 1)) & keep
        progress.infeasible += _volume(low[:, sure], high[:, sure]) - _volume(new_low[:, sure], new_high[:, sure])
        void = (~may).all(axis=0).any(axis=0)
        progress.infeasible += _volume(low[:, void], high[:, void])
        parts = [(new_low[:, keep], new_high[:, keep], new_lower[:, keep])]
        columns = np.flatnonzero(~shrunk)
        if columns.size:
            axis, at = self._axis(low[:, columns], high[:, columns], own[..., columns]), np.arange(columns.size)
            for side in (0, 1):
                part_low, part_high = low[:, columns].copy(), high[:, columns].copy()
                (part_high, part_low)[side][axis, at] = middles[axis, columns] + side
                parts.append((part_low, part_high, np.maximum(child[:, side, axis, columns], new_lower[:, columns])))
        return [np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True)]

    def _halves_matter(
        self, child: np.ndarray, low: np.ndarray, middles: np.ndarray, incumbent: Incumbent
    ) -> np.ndarray:
        """Tell which halves of boxes may hold a point of the answer, by half, axis and box."""
        shape = child.shape[1:]

        def first(places: np.ndarray) -> np.ndarray:
            half, axis, box = np.unravel_index(places, shape)
            corner, right = low[:, box], np.flatnonzero(half)
            corner[axis[right], right] = middles[axis[right], box[right]] + 1
            return corner

        return incumbent.matters(child.reshape(len(child), -1), first).reshape(shape)

    def _axis(self, low: np.ndarray, high: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Choose the axis to split: its halves raise the bounds most, and the objectives change most along it."""
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

    def _evaluate(self, points: np.ndarray, incumbent: Incumbent) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate points, offer the feasible ones to the incumbent, and return objectives and feasibility."""
        columns, good = self.evaluate.columns(points)
        incumbent.offer(columns[:, good], points[:, good])
        return columns, good

    def _enumerate(self, low: np.ndarray, high: np.ndarray, incumbent: Incumbent, progress: Progress) -> None:
        """Evaluate every point of some boxes, axis by axis, after ruling out what conditions on inputs refuse."""
        for places in self._accepted_points(low, high, 0, progress):
            _, good = self._evaluate(places, incumbent)
            progress.points += good.size
            progress.feasible += int(good.sum())
            progress.infeasible += int((~good).sum())

    def _accepted_points(
        self, low: np.ndarray, high: np.ndarray, stage: int, progress: Progress
    ) -> Iterator[np.ndarray]:
        """Points of some boxes that conditions on inputs accept, few axes first."""
        done = stage == len(self._stages)
        axes = self._undecided if done else self._stages[stage].axes
        for part in _slices(np.prod((high - low + 1)[axes], axis=0), self.evaluate.chunk):
            last = low[:, part].copy()
            last[axes] = high[axes, part]
            points, owner = _points_of(low[:, part], last, axes)
            if done:
                yield points
                continue
            good = self._stages[stage].checks.accepts(points)
            points, ends = points[:, good], high[:, part][:, owner[good]]
            ends[axes] = points[axes]
            rest = np.prod((high - low + 1)[:, part], axis=0) // np.prod((high - low + 1)[axes, part], axis=0)
            progress.infeasible += int(rest[owner[~good]].sum())
            yield from self._accepted_points(points, ends, stage + 1, progress)

    def _descend(self, incumbent: Incumbent, progress: Progress) -> None:
        """Find a first incumbent by local search."""
        for aim in incumbent.aims:

            def value(points: np.ndarray, aim: Aim = aim) -> np.ndarray:
                columns, good = self._evaluate(points, incumbent)
                progress.points += int(good.sum())
                with np.errstate(all="ignore"):
                    return np.where(good, aim(columns), np.inf)

            descend(self.evaluate, self.sizes, value)


def _stacked(bounds: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Stack bounds by objective; the first of them knows whether the conditions may hold."""
    own, (alive, *_) = zip(*bounds, strict=True)
    return np.stack(own), alive


def _volume(low: np.ndarray, high: np.ndarray) -> int:
    """Count the points of some boxes, exactly."""
    sides = high - low + 1
    if np.prod(sides.max(axis=1, initial=1).astype(float)) * max(sides.shape[1], 1) < 2.0**62:
        return int(np.prod(sides, axis=0).sum())
    return sum(math.prod(map(int, column)) for column in sides.T)


def _slices(counts: np.ndarray, most: int) -> Iterator[slice]:
    """Slices of boxes that hold at most so many points, but at least one box."""
    order, start = np.cumsum(counts), 0
    while start < len(counts):
        done = order[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(order, done + most, side="right")))
        yield slice(start, stop)
        start = stop


def _points_of(low: np.ndarray, high: np.ndarray, axes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Enumerate boxes along some axes, at the low end of the others; return the points and the box of each."""
    sides = (high - low + 1)[axes]
    counts = np.prod(sides, axis=0)
    owner = np.repeat(np.arange(len(counts)), counts)
    offset = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    points = low[:, owner]
    for axis, side in zip(reversed(axes), reversed(sides), strict=True):
        points[axis] += offset % side[owner]
        offset //= side[owner]
    return points, owner
