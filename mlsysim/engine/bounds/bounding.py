"""What a search asks of boxes, by NumPy while they are few and by a program once they are many."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from mlsysim.engine import collector
from mlsysim.engine.bounds.forms import Condition, Sum
from mlsysim.engine.bounds.plans import Plans
from mlsysim.engine.bounds.ranges import Ranges
from mlsysim.engine.budget import CALL, Budget, spent, take
from mlsysim.engine.programs import Program, Recorder, UnrecordableError, is_loaded, worthwhile


@dataclass(frozen=True)
class Recorded:
    """A program, and the operations per box that NumPy would take for what it does.

    Attributes
    ----------
    program : Program
        From the first and last index of every axis to whether a box may hold a point, and the bound.
    conditions, objective : float
        Operations.
    """

    program: Program
    conditions: float
    objective: float


class Bounding:
    """Bounds an objective under conditions.

    Parameters
    ----------
    plans : Plans
        How sums are bounded.
    objective : Sum
        What is minimised.
    conditions, implied : tuple of Condition
        What must hold, and what follows from it.
    """

    def __init__(
        self, plans: Plans, objective: Sum, conditions: tuple[Condition, ...], implied: tuple[Condition, ...]
    ) -> None:
        self.plans, self.objective = plans, objective
        self._conditions, self._implied = conditions, implied
        self._recorded: dict[bool, Recorded | None] = {}
        self._done = 0.0

    def __call__(self, low: np.ndarray, high: np.ndarray, thorough: bool) -> tuple[np.ndarray, np.ndarray]:
        """For every box a lower bound of the objective, and whether the conditions may hold.

        Parameters
        ----------
        low, high : ndarray
            First and last index per axis (rows) and box (columns).
        thorough : bool
            See :class:`~mlsysim.engine.bounds.ranges.Ranges`.
        """
        recorded = self._program(thorough, low.shape[0])
        if recorded is None:
            return self._in_numpy(low, high, thorough)
        take(recorded.conditions, low.shape[1])
        alive, bound = recorded.program(np.concatenate([low, high]))
        if alive.any():
            take(recorded.objective, low.shape[1])
        return bound, alive != 0

    def _in_numpy(self, low: np.ndarray, high: np.ndarray, thorough: bool) -> tuple[np.ndarray, np.ndarray]:
        before = spent()
        with np.errstate(all="ignore"):
            ranges = Ranges(self.plans, low, high, thorough=thorough)
            alive = self._alive(ranges)
            bound = ranges.lower(self.objective) if alive.any() else np.full(low.shape[1], np.inf)
        self._done += spent() - before
        return bound, alive

    def _alive(self, ranges: Ranges) -> Any:
        """Whether all conditions may hold."""
        conditions = (self.plans.forms.true, *self._implied, *self._conditions)
        return reduce(np.logical_and, [ranges.truth(condition)[0] for condition in conditions])

    def _program(self, thorough: bool, axes: int) -> Recorded | None:
        if thorough not in self._recorded:
            # The first boxes in NumPy take as long as recording what is done to them.
            if not (is_loaded() or worthwhile(self._done)):
                return None
            self._recorded[thorough] = self._record(thorough, axes)
        return self._recorded[thorough]

    def _record(self, thorough: bool, axes: int) -> Recorded | None:
        recorder, aside = Recorder(), Budget()
        ends = recorder.inputs(2 * axes)
        try:
            with collector.paused(), aside.running(), np.errstate(all="ignore"):
                ranges = Ranges(self.plans, ends[:axes], ends[axes:], thorough=thorough)
                alive = self._alive(ranges)
                conditions = aside.done
                bound = ranges.lower(self.objective)
            program = Program(recorder, [alive, bound])
        except UnrecordableError:
            return None
        return Recorded(program, conditions / (1 + CALL), (aside.done - conditions) / (1 + CALL))
