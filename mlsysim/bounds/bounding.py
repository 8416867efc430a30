"""Bounds of boxes for a search: in NumPy while boxes are few, by a program once they are many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from mlsysim.backends.budget import CALL, aside, take
from mlsysim.backends.programs.lazily import is_loaded, worthwhile
from mlsysim.backends.programs.program import Program
from mlsysim.bounds.forms import Condition, Sum
from mlsysim.bounds.limits import Limited
from mlsysim.bounds.plans import Plans
from mlsysim.bounds.ranges import Ranges
from mlsysim.graph.operand import NoOperationError, Operand


@dataclass(frozen=True)
class Built:
    """Program, and the operations per box that NumPy would take for the same.

    Attributes
    ----------
    program : Program
        Maps the first and last index of every axis to feasibility of the box, the bound, and bounds of the limited
        quantities.
    conditions, objective : float
        Operations.
    """

    program: Program
    conditions: float
    objective: float


class Bounding:
    """Lower bound of an objective under conditions.

    Parameters
    ----------
    plans : Plans
        Rewrites under which sums are bounded.
    objective : Sum
        Sum to minimise.
    conditions, implied : tuple of Condition
        Conditions, and others that follow from them.
    limited : mapping, optional
        The sum that must be small, by limited quantity.

    Attributes
    ----------
    limits : mapping
        Numbers, by limited quantity.
    """

    def __init__(
        self,
        plans: Plans,
        objective: Sum,
        conditions: tuple[Condition, ...],
        implied: tuple[Condition, ...],
        limited: Mapping[Limited, Sum] | None = None,
    ) -> None:
        self.plans, self.objective = plans, objective
        self._limited = dict(limited or {})
        self.limits: Mapping[Limited, float] = {}
        self._conditions, self._implied = conditions, implied
        self._built: dict[bool, Built | None] = {}
        self._done = self._last = 0.0

    def __call__(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bound the objective in every box, and select the boxes in which the conditions may hold.

        Parameters
        ----------
        low, high : ndarray
            First and last index per axis (rows) and box (columns).
        """
        built = self._program(True, low.shape[0])
        if built is None:
            return self._in_numpy(low, high, thorough=True)
        take(built.conditions, low.shape[1])
        alive, bound, *limited = built.program(np.concatenate([low, high]))
        alive = self._meets_limits(alive != 0, limited)
        if alive.any():
            take(built.objective, low.shape[1])
        return bound, alive

    def halves(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bound, less thoroughly, both halves of every box along every axis.

        Parameters
        ----------
        low, high : ndarray
            First and last index per axis (rows) and box (columns).

        Returns
        -------
        bound, alive : ndarray
            By half, axis and box. Along an axis with one value there are no halves: infinite, and true.
        """
        middle = (low + high) // 2
        wanted = high > low
        built = self._program(False, low.shape[0])
        if built is None:
            return self._halves_in_numpy(low, high)
        count = 2 * int(wanted.sum())
        take(built.conditions, count)
        both = np.concatenate([wanted, wanted])
        changed = np.concatenate([middle, middle + 1])
        alive, bound, *limited = built.program.varied(np.concatenate([low, high]), changed, both)[:, 1:]
        alive = self._meets_limits(alive != 0, limited) | ~both
        if (alive & both).any():
            take(built.objective, count)
        return np.where(both, bound, np.inf).reshape(2, *low.shape), alive.reshape(2, *low.shape)

    def _halves_in_numpy(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        axes, boxes = np.nonzero(high > low)
        middle = (low[axes, boxes] + high[axes, boxes]) // 2
        count = len(boxes)
        columns = np.arange(count)
        lows, highs = np.tile(low[:, boxes], 2), np.tile(high[:, boxes], 2)
        highs[axes, columns] = middle
        lows[axes, columns + count] = middle + 1
        bounds, alives = self._in_numpy(lows, highs, thorough=False)
        bound, alive = np.full((2, *low.shape), np.inf), np.ones((2, *low.shape), bool)
        bound[:, axes, boxes] = bounds.reshape(2, count)
        alive[:, axes, boxes] = alives.reshape(2, count)
        return bound, alive

    def _in_numpy(self, low: np.ndarray, high: np.ndarray, thorough: bool) -> tuple[np.ndarray, np.ndarray]:
        count = low.shape[1]
        bound = np.full(count, np.inf)
        with np.errstate(all="ignore"):
            ranges = Ranges(self.plans, low, high, thorough=thorough)
            with aside() as counted:
                alive = self._meets_limits(self._alive(ranges), self._limited_bounds(ranges))
            self._take(counted.done, count)
            if alive.any():
                with aside() as counted:
                    bound = ranges.lower(self.objective)
                self._take(counted.done, count)
        return bound, alive

    def _take(self, operations: float, count: int) -> None:
        """Count operations in NumPy as those of a program are, so that a budget ends either in the same round."""
        self._last += operations
        take(operations / (count + CALL), count)

    def _alive(self, ranges: Ranges) -> Any:
        """Select boxes in which all conditions may hold."""
        conditions = (self.plans.forms.true, *self._implied, *self._conditions)
        return reduce(np.logical_and, [ranges.truth(condition)[0] for condition in conditions])

    def _limited_bounds(self, ranges: Ranges) -> list[Any]:
        """Lower bounds of the limited quantities."""
        return [ranges.lower(quantity) for quantity in self._limited.values()]

    def _meets_limits(self, alive: Any, lower: Iterable[Any]) -> Any:
        """Select boxes that may meet the limits, by lower bounds of the limited quantities."""
        for quantity, bound in zip(self._limited, lower, strict=True):
            alive = alive & quantity.may_hold(bound, self.limits[quantity])
        return alive

    def _program(self, thorough: bool, axes: int) -> Built | None:
        if thorough not in self._built:
            # The first boxes in NumPy take as long as building the program of what is done to them.
            last, self._last = self._last, 0.0
            self._done += last
            if not (worthwhile(self._done, last) or is_loaded()):
                return None
            self._built[thorough] = self._build(thorough, axes)
        return self._built[thorough]

    def _build(self, thorough: bool, axes: int) -> Built | None:
        conditions = 0.0

        def compute(ends: list[Operand]) -> list[Any]:
            nonlocal conditions
            ranges = Ranges(self.plans, ends[:axes], ends[axes:], thorough=thorough)
            alive, limited = self._alive(ranges), self._limited_bounds(ranges)
            conditions = counted.done
            return [alive, ranges.lower(self.objective), *limited]

        # The left half along an axis has another last index, the right half another first one.
        changes = [] if thorough else [*range(axes, 2 * axes), *range(axes)]
        try:
            with aside() as counted, np.errstate(all="ignore"):
                program = Program.written(compute, 2 * axes, changes)
        except NoOperationError:
            return None
        return Built(program, conditions / (1 + CALL), (counted.done - conditions) / (1 + CALL))
