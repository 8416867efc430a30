"""Estimates of the parameters: errors, correlations, intervals, and what the measurements do not determine."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mlsysim.errors import InputError
from mlsysim.formatting import number
from mlsysim.progress import looped
from mlsysim.study.calibration.fit import Fit
from mlsysim.study.calibration.identifiability import (
    Combination,
    combinations,
    covariance,
    leave_their_bound,
    undetermined,
)
from mlsysim.study.calibration.problem import Problem, values_of
from mlsysim.study.calibration.residuals import Residuals

#: Relative change at which a fit without one row has arrived; it begins where the whole one ended.
NEARBY = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class Estimates:
    """Parameters where least squares ended, in coordinates.

    Attributes
    ----------
    problem : Problem
        What was minimised.
    fit : Fit
        Where it ended.
    """

    problem: Problem
    fit: Fit

    @property
    def free(self) -> tuple[str, ...]:
        """The inputs that were found."""
        return tuple(each.name for each in self.problem.parameters)

    @cached_property
    def canonical(self) -> dict[str, float]:
        """Canonical value of every input that was found; exactly its bound where it is at one."""
        return {
            each.name: each.at_bound(float(each.value(x)), int(side))
            for each, x, side in zip(self.problem.parameters, self.fit.x, self.fit.at_bound, strict=True)
        }

    @cached_property
    def sides(self) -> np.ndarray:
        """Per parameter -1 if measurements keep it at its lower bound, 1 at its upper one, else 0."""
        sides = self.fit.at_bound
        if not sides.any():
            return sides
        return np.where(leave_their_bound(self._relative, self._scatter, self.fit.residuals, sides), 0, sides)

    @property
    def loose(self) -> np.ndarray:
        """Places of the parameters that measurements keep at no bound."""
        return np.flatnonzero(self.sides == 0)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Scale of each parameter, in coordinates.

        That of a logarithm is one. Another has its value, or where that is less what would change some
        prediction by its own size.
        """
        found = np.ones(len(self.free))
        for place, each in enumerate(self.problem.parameters):
            if not each.logarithmic:
                steepest = float(np.abs(self.fit.jacobian[:, place]).max(initial=0.0))
                matters = self.problem.space == "log" and steepest > 1e-9
                found[place] = max(abs(self.fit.x[place]), 1 / steepest if matters else 0.0) or 1.0
        return found

    @cached_property
    def _directions(self) -> np.ndarray:
        """Directions of which nothing is known, in shares of every parameter that is at no bound."""
        return undetermined(self._relative[:, self.loose], self._scatter)

    @property
    def _relative(self) -> np.ndarray:
        """The Jacobian by every parameter in shares of itself."""
        return self.fit.jacobian * self.sizes

    @property
    def _scatter(self) -> float:
        """Standard deviation of the residuals, were all parameters determined; nan where none is spare."""
        spare = len(self.fit.residuals) - len(self.free)
        return math.sqrt(self.fit.cost / spare) if spare > 0 else math.nan

    @cached_property
    def unidentifiable(self) -> tuple[Combination, ...]:
        """Combinations of inputs that the measurements do not determine."""
        names = [self.free[place] for place in self.loose]
        return combinations(self._directions, names, self._told)

    def _told(self, loose: int, share: float) -> str:
        place = int(self.loose[loose])
        each, step = self.problem.parameters[place], share * self.sizes[place]
        if each.logarithmic:
            return f"{100 * step:+.3g}%"
        return ("+" if step >= 0 else "") + each.text(step * each.scale)

    @property
    def degrees(self) -> int:
        """Measurements less parameters that they determine; one that they keep at its bound is one of these."""
        return len(self.fit.residuals) - len(self.free) + len(self._directions)

    @property
    def deviation(self) -> float:
        """Standard deviation of the residuals; nan where there are no more measurements than parameters."""
        return math.sqrt(self.fit.cost / self.degrees) if self.degrees > 0 else math.nan

    @cached_property
    def spread(self) -> np.ndarray:
        """Covariance of the coordinates; nan for what is at a bound or not determined."""
        found = np.full((len(self.free),) * 2, np.nan)
        unknown = np.zeros(len(self.loose), bool)
        for combination in self.unidentifiable:
            unknown |= np.isin([self.free[place] for place in self.loose], combination.parameters)
        if self.loose.size:
            jacobian = self.fit.jacobian[:, self.loose]
            found[np.ix_(self.loose, self.loose)] = covariance(jacobian, self.deviation, unknown)
        return found

    def error(self, place: int) -> float:
        """Standard error of a parameter in canonical units; nan if it has none."""
        each = self.problem.parameters[place]
        return math.sqrt(self.spread[place, place]) * each.slope(self.canonical[each.name])

    def interval(self, place: int, level: float) -> tuple[float, float] | None:
        """Confidence interval of a parameter in canonical units, within its domain; None if it has no error.

        Raises
        ------
        InputError
            If the level is not between 0 and 1.
        """
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
            raise InputError("level", level, "is between 0 and 1", "0.95 is usual")
        from scipy.special import stdtrit

        spread = math.sqrt(self.spread[place, place])
        if math.isnan(spread):
            return None
        each = self.problem.parameters[place]
        reach = float(stdtrit(self.degrees, 0.5 + level / 2)) * spread
        lower, upper = each.bounds
        x = self.fit.x[place]
        return float(each.value(max(x - reach, lower))), float(each.value(min(x + reach, upper)))

    def standing(self, name: str) -> str:
        """Why an input has no error; empty where it has one."""
        place = self.free.index(name)
        side = int(self.sides[place])
        if side:
            bound = self.problem.parameters[place].variable.domain
            return f"at its {'lower' if side < 0 else 'upper'} bound {number(bound.lower if side < 0 else bound.upper)}"
        if any(name in each.parameters for each in self.unidentifiable):
            return "not determined"
        return "no spare measurement" if math.isnan(self.deviation) else ""


class LeaveOneOut(Residuals):
    """Rows as they are predicted by a calibration without them; :attr:`errors` says how well.

    Attributes
    ----------
    values : dict
        Canonical value of every parameter without each row.
    """

    values: dict[str, np.ndarray]


def leave_one_out(found: Estimates) -> LeaveOneOut:
    """Fit again without each row in turn, from where the whole fit ended.

    Parameters
    ----------
    found : Estimates
        The fit to all rows.

    Returns
    -------
    LeaveOneOut
        A row that is the only one to be measured has no prediction.
    """
    problem = found.problem
    rows = problem.measured.table.rows
    used = problem.used
    counts = sum(each.astype(int) for each in used.values())
    predicted = {name: np.full(rows, np.nan) for name in used}
    values = {name: np.full(rows, np.nan) for name in found.free}
    for row in looped(np.flatnonzero(counts).tolist()):
        weights = {name: np.where(np.arange(rows) == row, 0.0, each) for name, each in problem.weights.items()}
        without = replace(problem, weights=weights)
        if not any(each.any() for each in without.used.values()):
            continue
        end = Estimates(without, without.squares.fit([found.fit.x], NEARBY))
        for name, value in end.canonical.items():
            values[name][row] = value
        answers = problem.measured.predicted(values_of(problem.parameters, end.fit.x))
        for name in used:
            predicted[name][row] = answers[name][row]
    measured = {name: np.where(used[name], each, np.nan) for name, each in problem.measured.outputs.items()}
    result = LeaveOneOut(measured, predicted, problem.measured.labels)
    result.values = values
    return result
