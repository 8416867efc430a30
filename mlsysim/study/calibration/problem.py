"""Calibration as a least-squares problem in dimensionless coordinates: logarithms of positive inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.errors import InputError
from mlsysim.inputs.binding import Binding
from mlsysim.inputs.convert import LARGEST, SMALLEST
from mlsysim.inputs.refusal import refuse
from mlsysim.study.calibration.fit import LeastSquares
from mlsysim.study.calibration.measured import Measured
from mlsysim.study.calibration.table import in_row
from mlsysim.study.results.display import as_text, presented
from mlsysim.study.varied import accepted
from mlsysim.symbolic import Variable, variable_of

#: Points evaluated before least squares starts, number of the best it starts from, and the most rows times
#: points.
LOOKED_AT, BEGUN, POINTS = 128, 2, 200_000
#: Factors over which starting points are spread, with a known start and without one.
SPREAD, WIDE = 1e2, 1e8
#: Smallest starting value of a share.
SHARE = 1e-2


@dataclass(frozen=True, eq=False)
class Problem:
    """Least-squares problem.

    Attributes
    ----------
    measured : Measured
        Measured rows.
    parameters : tuple of Parameter
        Parameters to fit.
    weights : dict
        Weight of every measurement, by output.
    space : {"log", "linear"}
        Residuals are log ratios of predicted to measured values, or differences in the units of the outputs.
    """

    measured: Measured
    parameters: tuple[Parameter, ...]
    weights: Mapping[str, np.ndarray]
    space: str
    _kept: dict[bytes, dict[str, np.ndarray]] = field(default_factory=dict, init=False, repr=False)

    @property
    def used(self) -> dict[str, np.ndarray]:
        """Mask, per output, of the rows that were measured and have weight."""
        return {name: np.isfinite(values) & (self.weights[name] > 0) for name, values in self.measured.outputs.items()}

    def residuals(self, coordinates: np.ndarray) -> np.ndarray:
        """Compute weighted residuals along the last axis, for coordinates along the last axis."""
        predicted = self._predicted(coordinates)
        parts = []
        for name, used in self.used.items():
            predictions, measurements = predicted[name][..., used], self.measured.outputs[name][used]
            with np.errstate(all="ignore"):
                differences = (
                    np.log(predictions / measurements)
                    if self.space == "log"
                    else (predictions - measurements) / _unit_size(name)
                )
            parts.append(np.sqrt(self.weights[name][used]) * differences)
        return np.concatenate(parts, axis=-1)

    def _predicted(self, coordinates: np.ndarray) -> dict[str, np.ndarray]:
        """Predict all rows; cached, because derivatives are evaluated at the same coordinates."""
        key = coordinates.tobytes()
        if key not in self._kept:
            self._kept.clear()
            self._kept[key] = self.measured.predicted(values_of(self.parameters, coordinates))
        return self._kept[key]

    def jacobian(self, coordinates: np.ndarray) -> np.ndarray:
        """Differentiate the residuals by every coordinate."""
        values = {name: float(value) for name, value in values_of(self.parameters, coordinates).items()}
        slopes = self.measured.slopes(values)
        predicted = self._predicted(coordinates) if self.space == "log" else {}
        columns = []
        for parameter in self.parameters:
            parts = []
            for name, used in self.used.items():
                slope = slopes[parameter.name][name][used] * parameter.slope(values[parameter.name])
                reference = predicted[name][used] if self.space == "log" else _unit_size(name)
                with np.errstate(all="ignore"):
                    parts.append(np.sqrt(self.weights[name][used]) * slope / reference)
            columns.append(np.concatenate(parts))
        return np.nan_to_num(np.stack(columns, axis=1), nan=0.0, posinf=0.0, neginf=0.0)

    @property
    def squares(self) -> LeastSquares:
        """Sum of squared residuals, with bounds on the coordinates."""
        lower, upper = np.array([parameter.bounds for parameter in self.parameters]).T
        return LeastSquares(self.residuals, self.jacobian, lower, upper)

    def starts(self) -> list[np.ndarray]:
        """Choose starting points: the current values, and the best of points spread over the domains.

        Raises
        ------
        InputError
            If the model has no finite, positive answer in some row at any of the points.
        """
        rows = self.measured.table.rows
        count = max(8, min(LOOKED_AT, POINTS // rows))
        shares = _spread(count, len(self.parameters))
        candidates = np.stack(
            [parameter.candidates(shares[:, index]) for index, parameter in enumerate(self.parameters)], axis=1
        )
        known = all(np.isfinite(parameter.start) for parameter in self.parameters)
        if known:
            candidates = np.vstack(
                [[parameter.coordinate(parameter.start) for parameter in self.parameters], candidates]
            )
        candidates = np.clip(candidates, self.squares.lower, self.squares.upper)
        residuals = self.residuals(candidates)
        with np.errstate(all="ignore"):
            cost = np.where(np.isfinite(residuals).all(axis=1), (residuals**2).sum(axis=1), np.inf)
        if not np.isfinite(cost).any():
            self._refuse(candidates[0])
        order = np.argsort(cost, kind="stable")
        best = [row for row in order if np.isfinite(cost[row])][:BEGUN]
        first = [0] if known and np.isfinite(cost[0]) and 0 not in best else []
        return [candidates[row] for row in [*first, *best]]

    def _refuse(self, coordinates: np.ndarray) -> None:
        """Name the row in which the model has no comparable answer."""
        predicted = self.measured.predicted(values_of(self.parameters, coordinates))
        for name, used in self.used.items():
            predictions = predicted[name]
            not_comparable = used & ~(np.isfinite(predictions) & ((predictions > 0) | (self.space == "linear")))
            if not_comparable.any():
                row = int(np.argmax(not_comparable))
                allowed = (
                    f"is {as_text(variable_of(name), predictions[row])} by the model, for any value of the free inputs"
                )
                hint = f"row {row + 1} cannot be compared; leave it out, or look at what solve() says of it"
                raise InputError(name, as_text(variable_of(name), self.measured.outputs[name][row]), allowed, hint)
        names = [parameter.name for parameter in self.parameters]
        raise InputError(
            "free", names, "no values of them answer in every row", "give one to begin at, as in efficiency=0.5"
        )

    def refuse_rows(self, coordinates: np.ndarray) -> None:
        """Raise the error of the first row that the model refuses at these coordinates.

        Raises
        ------
        InputError
            If a row is refused.
        """
        binding = self.measured.varied.binding
        known = {**binding.numbers, **{name: float(v) for name, v in values_of(self.parameters, coordinates).items()}}
        is_accepted = np.broadcast_to(accepted(binding, known), (self.measured.table.rows,))
        if not is_accepted.all():
            row = int(is_accepted.argmin())
            at = {name: value[row] if np.ndim(value) else value for name, value in known.items()}
            try:
                refuse(binding.reasons, binding.system, at)
            except InputError as error:
                raise in_row(error, row) from None


def _spread(count: int, dimensions: int) -> np.ndarray:
    """Spread points evenly in a unit cube: multiples of powers of a generalised golden ratio."""
    ratio = 2.0
    for _ in range(40):
        ratio = (1 + ratio) ** (1 / (dimensions + 1))
    return (0.5 + np.arange(1, count + 1)[:, None] * ratio ** -np.arange(1.0, dimensions + 1)) % 1


def _unit_size(name: str) -> float:
    """Return the canonical size of the unit of an output."""
    return units.factor(variable_of(name).unit)


@dataclass(frozen=True)
class Parameter:
    """An input to fit.

    Attributes
    ----------
    variable : Variable
        Variable of the input.
    start : float
        Canonical starting value; nan without one.
    """

    variable: Variable
    start: float

    @property
    def name(self) -> str:
        """Name of the input."""
        return self.variable.name

    @property
    def logarithmic(self) -> bool:
        """True if the coordinate is a logarithm, for an input that must be positive."""
        domain = self.variable.domain
        return domain.lower > 0 or (domain.lower == 0 and domain.open_lower)

    @property
    def scale(self) -> float:
        """Canonical value of coordinate one, if the coordinate is no logarithm."""
        unit_size = units.factor(self.variable.unit)
        return abs(self.start) if math.isfinite(self.start) and self.start else unit_size

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound of the coordinate."""
        domain, unit_size = self.variable.domain, units.factor(self.variable.unit)
        if self.logarithmic:
            return math.log(max(domain.lower, SMALLEST) * unit_size), math.log(min(domain.upper, LARGEST) * unit_size)
        return domain.lower * unit_size / self.scale, domain.upper * unit_size / self.scale

    def value(self, coordinate: Any) -> Any:
        """Convert a coordinate to a canonical value."""
        return np.exp(coordinate) if self.logarithmic else coordinate * self.scale

    def coordinate(self, value: float) -> float:
        """Convert a canonical value to a coordinate."""
        return math.log(value) if self.logarithmic else value / self.scale

    def slope(self, value: float) -> float:
        """Differentiate the canonical value by the coordinate."""
        return value if self.logarithmic else self.scale

    def at_bound(self, value: float, side: int) -> float:
        """Return the exact canonical value at a bound of the domain, if it is finite and closed."""
        domain = self.variable.domain
        bound = domain.lower if side < 0 else domain.upper
        is_attained = side and math.isfinite(bound) and not (side < 0 and domain.open_lower)
        return bound * units.factor(self.variable.unit) if is_attained else value

    def candidates(self, shares: np.ndarray) -> np.ndarray:
        """Spread starting coordinates, given numbers between 0 and 1."""
        domain, unit_size = self.variable.domain, units.factor(self.variable.unit)
        known = math.isfinite(self.start) and self.start != 0
        if domain.lower >= 0 and math.isfinite(domain.upper):
            least = max(domain.lower, SHARE * domain.upper) * unit_size
            values = least * (domain.upper * unit_size / least) ** shares
        else:
            center, factor = (abs(self.start), SPREAD) if known else (unit_size, WIDE)
            values = center * factor ** (2 * shares - 1)
            if domain.lower < 0:
                values = math.copysign(1, self.start if known else 1) * values
            values = np.clip(values, domain.lower * unit_size, domain.upper * unit_size)
        return np.log(values) if self.logarithmic else values / self.scale

    def shown(self, value: float) -> Any:
        """Convert a canonical value to what a user sees."""
        return presented(self.variable, value)

    def text(self, value: float) -> str:
        """Format a canonical value."""
        return as_text(self.variable, value)


def parameters(binding: Binding, occurring: set[str], outputs: Sequence[str]) -> tuple[Parameter, ...]:
    """Read the free inputs of a binding, which must be real numbers that the outputs depend on.

    Raises
    ------
    InputError
        If an input is a whole number, or occurs in no formula of the outputs.
    """
    parameters_found = []
    for name in binding.free:
        variable = variable_of(name)
        if variable.domain.kind != "real":
            allowed = "is a whole number: only inputs that vary continuously are calibrated"
            raise InputError("free", name, allowed, "search() finds whole numbers")
        if name not in occurring:
            real = [input_name for input_name in sorted(occurring) if variable_of(input_name).domain.kind == "real"]
            hint = f"what has an effect: {', '.join(real[:12])}{', ...' if len(real) > 12 else ''}"
            raise InputError("free", name, f"has no effect on {' and '.join(outputs)}", hint)
        parameters_found.append(Parameter(variable, _start(binding.values[name])))
    return tuple(parameters_found)


def _start(bound: Any) -> float:
    """Return the bound value, or the median over several rows."""
    known = np.asarray(bound, float)
    known = known[np.isfinite(known)]
    return float(np.median(known)) if known.size else math.nan


def values_of(parameters: Sequence[Parameter], coordinates: np.ndarray) -> Mapping[str, Any]:
    """Convert coordinates, along the last axis, to canonical values by name."""
    return {parameter.name: parameter.value(coordinates[..., index]) for index, parameter in enumerate(parameters)}
