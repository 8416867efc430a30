"""Estimates of fitted parameters: errors, correlations, intervals, and what the measurements do not determine."""

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

#: Relative tolerance of a fit without one row, which starts from the full fit.
NEARBY = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class Estimates:
    """Parameters at the end of a least-squares fit, in coordinates.

    Attributes
    ----------
    problem : Problem
        Least-squares problem.
    fit : Fit
        End of the fit.
    """

    problem: Problem
    fit: Fit

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the fitted inputs."""
        return tuple(parameter.name for parameter in self.problem.parameters)

    @cached_property
    def canonical(self) -> dict[str, float]:
        """Canonical value of every fitted input; exactly the bound if it is at one."""
        return {
            parameter.name: parameter.at_bound(float(parameter.value(x)), int(side))
            for parameter, x, side in zip(self.problem.parameters, self.fit.x, self.fit.at_bound, strict=True)
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
        """Indices of the parameters that are at no bound."""
        return np.flatnonzero(self.sides == 0)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Scale of each parameter, in coordinates.

        A logarithm has scale one. Any other coordinate has its value as scale, or, if that is smaller, the change that
        alters some prediction by its own size.
        """
        sizes = np.ones(len(self.free))
        for index, parameter in enumerate(self.problem.parameters):
            if not parameter.logarithmic:
                steepest = float(np.abs(self.fit.jacobian[:, index]).max(initial=0.0))
                is_informative = self.problem.space == "log" and steepest > 1e-9
                sizes[index] = max(abs(self.fit.x[index]), 1 / steepest if is_informative else 0.0) or 1.0
        return sizes

    @cached_property
    def _directions(self) -> np.ndarray:
        """Undetermined directions, in relative changes of the parameters that are at no bound."""
        return undetermined(self._relative[:, self.loose], self._scatter)

    @property
    def _relative(self) -> np.ndarray:
        """Jacobian by relative changes of the parameters."""
        return self.fit.jacobian * self.sizes

    @property
    def _scatter(self) -> float:
        """Standard deviation of the residuals if all parameters are determined; nan without spare measurements."""
        spare = len(self.fit.residuals) - len(self.free)
        return math.sqrt(self.fit.cost / spare) if spare > 0 else math.nan

    @cached_property
    def unidentifiable(self) -> tuple[Combination, ...]:
        """Combinations of inputs that the measurements do not determine."""
        names = [self.free[index] for index in self.loose]
        return combinations(self._directions, names, self._change_text)

    def _change_text(self, loose: int, share: float) -> str:
        index = int(self.loose[loose])
        parameter, step = self.problem.parameters[index], share * self.sizes[index]
        if parameter.logarithmic:
            return f"{100 * step:+.3g}%"
        return ("+" if step >= 0 else "") + parameter.text(step * parameter.scale)

    @property
    def degrees(self) -> int:
        """Degrees of freedom: measurements minus determined parameters, including those kept at a bound."""
        return len(self.fit.residuals) - len(self.free) + len(self._directions)

    @property
    def deviation(self) -> float:
        """Standard deviation of the residuals; nan without more measurements than parameters."""
        return math.sqrt(self.fit.cost / self.degrees) if self.degrees > 0 else math.nan

    @cached_property
    def spread(self) -> np.ndarray:
        """Covariance of the coordinates; nan at a bound or if not determined."""
        matrix = np.full((len(self.free),) * 2, np.nan)
        unknown = np.zeros(len(self.loose), bool)
        for combination in self.unidentifiable:
            unknown |= np.isin([self.free[index] for index in self.loose], combination.parameters)
        if self.loose.size:
            jacobian = self.fit.jacobian[:, self.loose]
            matrix[np.ix_(self.loose, self.loose)] = covariance(jacobian, self.deviation, unknown)
        return matrix

    def error(self, index: int) -> float:
        """Return the standard error of a parameter in canonical units; nan if it has none."""
        parameter = self.problem.parameters[index]
        return math.sqrt(self.spread[index, index]) * parameter.slope(self.canonical[parameter.name])

    def interval(self, index: int, level: float) -> tuple[float, float] | None:
        """Return the confidence interval of a parameter in canonical units, within its domain; None without an error.

        Raises
        ------
        InputError
            If the level is not between 0 and 1.
        """
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
            raise InputError("level", level, "is between 0 and 1", "0.95 is usual")
        from scipy.special import stdtrit

        spread = math.sqrt(self.spread[index, index])
        if math.isnan(spread):
            return None
        parameter = self.problem.parameters[index]
        reach = float(stdtrit(self.degrees, 0.5 + level / 2)) * spread
        lower, upper = parameter.bounds
        x = self.fit.x[index]
        return float(parameter.value(max(x - reach, lower))), float(parameter.value(min(x + reach, upper)))

    def standing(self, name: str) -> str:
        """Say why an input has no error; empty if it has one."""
        index = self.free.index(name)
        side = int(self.sides[index])
        if side:
            bound = self.problem.parameters[index].variable.domain
            return f"at its {'lower' if side < 0 else 'upper'} bound {number(bound.lower if side < 0 else bound.upper)}"
        if any(name in combination.parameters for combination in self.unidentifiable):
            return "not determined"
        return "no spare measurement" if math.isnan(self.deviation) else ""


class LeaveOneOut(Residuals):
    """Rows predicted by a calibration without them; :attr:`errors` summarises how well.

    Attributes
    ----------
    values : dict
        Canonical value of every parameter without each row.
    """

    values: dict[str, np.ndarray]


def leave_one_out(estimates: Estimates) -> LeaveOneOut:
    """Repeat the fit without each row in turn, starting from the full fit.

    Parameters
    ----------
    estimates : Estimates
        Fit to all rows.

    Returns
    -------
    LeaveOneOut
        Predictions; a row that is the only measurement has none.
    """
    problem = estimates.problem
    rows = problem.measured.table.rows
    used = problem.used
    counts = sum(mask.astype(int) for mask in used.values())
    predicted = {name: np.full(rows, np.nan) for name in used}
    values = {name: np.full(rows, np.nan) for name in estimates.free}
    for row in looped(np.flatnonzero(counts).tolist()):
        weights = {name: np.where(np.arange(rows) == row, 0.0, weight) for name, weight in problem.weights.items()}
        reduced = replace(problem, weights=weights)
        if not any(mask.any() for mask in reduced.used.values()):
            continue
        refit = Estimates(reduced, reduced.squares.fit([estimates.fit.x], NEARBY))
        for name, value in refit.canonical.items():
            values[name][row] = value
        answers = problem.measured.predicted(values_of(problem.parameters, refit.fit.x))
        for name in used:
            predicted[name][row] = answers[name][row]
    measured = {
        name: np.where(used[name], values_measured, np.nan)
        for name, values_measured in problem.measured.outputs.items()
    }
    result = LeaveOneOut(measured, predicted, problem.measured.labels)
    result.values = values
    return result
