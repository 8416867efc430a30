"""Independent check of boxes of a certificate: by ranges in NumPy, box by box, and by evaluating small ones.

The check uses nothing of a search but its boxes. A search may know more of a box than the box itself shows, such as
bounds of both its halves. So a box that is not shown at once is halved along the axis that helps most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy

from mlsysim.bounds.branch_tree import volumes
from mlsysim.bounds.claims import ExclusionClaim
from mlsysim.bounds.from_graph import GraphForms
from mlsysim.bounds.implied import implied
from mlsysim.bounds.points import Points
from mlsysim.bounds.ranges import Ranges
from mlsysim.symbolic import System

#: Boxes bounded at once; most points of a box that is evaluated instead of halved; and most boxes of all halvings.
WIDTH, SMALL, MOST = 1024, 4096, 1 << 18


@dataclass
class CheckReport:
    """Outcome of a check of boxes.

    Attributes
    ----------
    by : dict of str to int
        Number of boxes by the argument that showed that they hold nothing better.
    halved : int
        Boxes that had to be halved.
    evaluated : int
        Points evaluated.
    feasible, infeasible : int
        Points that meet the conditions, and points that are known not to.
    missed : list of tuple
        Boxes that were not shown: first and last index per axis, and the bound of every objective.
    better : list of tuple
        Points that violate the claim: their objectives, and index per axis.
    """

    by: dict[str, int] = field(default_factory=dict)
    halved: int = 0
    evaluated: int = 0
    feasible: int = 0
    infeasible: int = 0
    missed: list[tuple[list[int], list[int], list[float]]] = field(default_factory=list)
    better: list[tuple[list[float], list[int]]] = field(default_factory=list)


class Recheck:
    """Check of boxes of a problem by its formulas, in NumPy.

    Parameters
    ----------
    system : System
        Formulas.
    objectives : sequence of sympy.Expr
        What is minimised.
    conditions : sequence of (str, sympy Boolean)
        What must hold, and how that is called.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
    sizes : tuple of int
        Values per axis.
    """

    def __init__(
        self,
        system: System,
        objectives: Sequence[sympy.Basic],
        conditions: Sequence[tuple[str, sympy.Basic]],
        values: Mapping[str, Any],
        sizes: tuple[int, ...],
    ) -> None:
        required = tuple(condition for _, condition in conditions)
        of_graph = GraphForms(system, values, sizes, (*objectives, *required))
        self._plans, everything = of_graph.plans, of_graph.require(required)
        self._conditions = [(name, part) for name, condition in conditions for part in of_graph.conditions(condition)]
        self._conditions += [("what several conditions imply", extra) for extra in implied(of_graph.forms, everything)]
        self._objectives = [of_graph.sum(objective) for objective in objectives]
        self._points = Points(system, tuple(objectives), required, values)

    def worth(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Objectives (rows) at points (columns), by the compiled function in NumPy; and their feasibility.

        Parameters
        ----------
        points : ndarray
            Index per axis (rows) and point (columns).
        """
        return self._points.columns(points)

    def evaluate(self, low: np.ndarray, high: np.ndarray, claim: ExclusionClaim, report: CheckReport) -> None:
        """Check every point of some boxes.

        Parameters
        ----------
        low, high : ndarray
            First and last index per axis (rows) and box (columns).
        claim : ExclusionClaim
            Excludes the points.
        report : CheckReport
            Collects the outcome.
        """
        for points in _points_of(low, high, self._points.chunk):
            values, good = self._points.columns(points)
            report.evaluated += len(good)
            report.feasible += int(good.sum())
            report.infeasible += int((~good).sum())
            against = np.flatnonzero(good)[claim.against(values[:, good], points[:, good])]
            for column in against.tolist():
                at = tuple(points[:, column].tolist())
                if at not in claim.known:
                    report.better.append((values[:, column].tolist(), list(at)))

    def show(
        self, low: np.ndarray, high: np.ndarray, claim: ExclusionClaim, report: CheckReport, most: int = MOST
    ) -> None:
        """Show that some boxes hold no point that violates a claim, or note those that may.

        Parameters
        ----------
        low, high, claim, report
            As for :meth:`evaluate`.
        most : int
            Boxes that are halved at most, in all that is noted.
        """
        left = [(low[:, start : start + WIDTH], high[:, start : start + WIDTH]) for start in
                range(0, low.shape[1], WIDTH)][::-1]  # fmt: skip
        while left:
            low, high = left.pop()
            bound, doubtful = self._bounded(low, high, claim, report)
            low, high, bound = low[:, doubtful], high[:, doubtful], bound[:, doubtful]
            small = np.array([volume <= SMALL for volume in volumes(low, high)], bool)
            self.evaluate(low[:, small], high[:, small], claim, report)
            low, high, bound = low[:, ~small], high[:, ~small], bound[:, ~small]
            if not bound.size:
                continue
            report.halved += low.shape[1]
            if report.halved > most:
                ends = zip(low.T.tolist(), high.T.tolist(), bound.T.tolist(), strict=True)
                report.missed += [(first, last, value) for first, last, value in ends]
                continue
            left.append(self._halved(low, high, claim, report))

    def _bounded(
        self, low: np.ndarray, high: np.ndarray, claim: ExclusionClaim, report: CheckReport
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower bounds of every box, and the boxes that may still violate the claim."""
        with np.errstate(all="ignore"):
            ranges = Ranges(self._plans, low, high)
            bound = self._lower(ranges, low.shape[1])
            doubtful = claim.against(bound, low)
            _add_boxes(report, "bound", int((~doubtful).sum()))
            for name, condition in self._conditions if doubtful.any() else ():
                may = np.broadcast_to(ranges.truth(condition)[0], doubtful.shape)
                out = doubtful & ~may
                _add_boxes(report, name, int(out.sum()))
                report.infeasible += sum(volumes(low[:, out], high[:, out]))
                doubtful &= may
        return bound, doubtful

    def _lower(self, ranges: Ranges, boxes: int) -> np.ndarray:
        """Lower bounds by objective (rows) and box (columns)."""
        return np.stack([np.broadcast_to(ranges.lower(objective), (boxes,)) for objective in self._objectives])

    def _halved(
        self, low: np.ndarray, high: np.ndarray, claim: ExclusionClaim, report: CheckReport
    ) -> tuple[np.ndarray, np.ndarray]:
        """Both halves of every box, along the axis whose halves are nearest to be shown."""
        axes, boxes = np.nonzero(high > low)
        middle = (low[axes, boxes] + high[axes, boxes]) // 2
        columns, count = np.arange(len(boxes)), len(boxes)
        lows, highs = np.tile(low[:, boxes], 2), np.tile(high[:, boxes], 2)
        highs[axes, columns], lows[axes, columns + count] = middle, middle + 1
        with np.errstate(all="ignore"):
            ranges = Ranges(self._plans, lows, highs)
            near = claim.nearness(self._lower(ranges, 2 * count))
            for _, condition in self._conditions:
                near = np.where(ranges.truth(condition)[0], near, np.inf)
        score = np.full(low.shape, -np.inf)
        rank = np.argsort(np.argsort(near)).reshape(2, count).astype(float)
        # Of boxes that are equally near the longest side is halved.
        score[axes, boxes] = rank.min(axis=0) + rank.max(axis=0) / 2 + 1e-3 * np.log2((high - low + 1)[axes, boxes])
        best = score.argmax(axis=0)
        kept = np.arange(low.shape[1])
        cut = (low[best, kept] + high[best, kept]) // 2
        first, last = np.tile(low, 2), np.tile(high, 2)
        last[best, kept], first[best, kept + len(kept)] = cut, cut + 1
        return first, last


def _add_boxes(report: CheckReport, name: str, boxes: int) -> None:
    if boxes:
        report.by[name] = report.by.get(name, 0) + boxes


def _points_of(low: np.ndarray, high: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """The points of some boxes, at most so many at once."""
    sides = high - low + 1
    counts = np.array(volumes(low, high), dtype=np.int64)
    ends = np.cumsum(counts)
    for start in range(0, int(ends[-1]) if ends.size else 0, most):
        number = np.arange(start, min(start + most, int(ends[-1])))
        owner = np.searchsorted(ends, number, side="right")
        offset = number - (ends - counts)[owner]
        points = np.empty((low.shape[0], number.size), np.int64)
        for axis in reversed(range(low.shape[0])):
            side = sides[axis, owner]
            points[axis] = low[axis, owner] + offset % side
            offset //= side
        yield points
