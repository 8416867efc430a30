"""A calibration as least squares of coordinates without units: logarithms where an input is positive."""

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

#: Points at which the model is looked at before least squares begins, at how many of the best it begins, and the most
#: rows times points.
LOOKED_AT, BEGUN, POINTS = 128, 2, 200_000
#: Factors by which starts lie apart: for what has a start, and for what has none.
SPREAD, WIDE = 1e2, 1e8
#: Smallest start of a share.
SHARE = 1e-2


@dataclass(frozen=True, eq=False)
class Problem:
    """Least-squares problem.

    Attributes
    ----------
    measured : Measured
        The rows.
    parameters : tuple of Parameter
        What is found.
    weights : dict
        Weight of every measurement by output.
    space : {"log", "linear"}
        Whether residuals are logarithms of predicted over measured, or differences in the units of the outputs.
    """

    measured: Measured
    parameters: tuple[Parameter, ...]
    weights: Mapping[str, np.ndarray]
    space: str
    _kept: dict[bytes, dict[str, np.ndarray]] = field(default_factory=dict, init=False, repr=False)

    @property
    def used(self) -> dict[str, np.ndarray]:
        """Per output, in which rows it was measured and counts."""
        return {name: np.isfinite(each) & (self.weights[name] > 0) for name, each in self.measured.outputs.items()}

    def residuals(self, coordinates: np.ndarray) -> np.ndarray:
        """Weighted residuals, along the last axis, of coordinates along the last axis."""
        predicted = self._predicted(coordinates)
        parts = []
        for name, used in self.used.items():
            ours, theirs = predicted[name][..., used], self.measured.outputs[name][used]
            with np.errstate(all="ignore"):
                apart = np.log(ours / theirs) if self.space == "log" else (ours - theirs) / _one(name)
            parts.append(np.sqrt(self.weights[name][used]) * apart)
        return np.concatenate(parts, axis=-1)

    def _predicted(self, coordinates: np.ndarray) -> dict[str, np.ndarray]:
        """Predictions of the model; kept for the derivatives, which are asked for at the same coordinates."""
        key = coordinates.tobytes()
        if key not in self._kept:
            self._kept.clear()
            self._kept[key] = self.measured.predicted(values_of(self.parameters, coordinates))
        return self._kept[key]

    def jacobian(self, coordinates: np.ndarray) -> np.ndarray:
        """Derivative of the residuals by every coordinate."""
        values = {name: float(value) for name, value in values_of(self.parameters, coordinates).items()}
        slopes = self.measured.slopes(values)
        predicted = self._predicted(coordinates) if self.space == "log" else {}
        columns = []
        for each in self.parameters:
            parts = []
            for name, used in self.used.items():
                slope = slopes[each.name][name][used] * each.slope(values[each.name])
                ours = predicted[name][used] if self.space == "log" else _one(name)
                with np.errstate(all="ignore"):
                    parts.append(np.sqrt(self.weights[name][used]) * slope / ours)
            columns.append(np.concatenate(parts))
        return np.nan_to_num(np.stack(columns, axis=1), nan=0.0, posinf=0.0, neginf=0.0)

    @property
    def squares(self) -> LeastSquares:
        """The sum of squared residuals, of coordinates within their bounds."""
        lower, upper = np.array([each.bounds for each in self.parameters]).T
        return LeastSquares(self.residuals, self.jacobian, lower, upper)

    def starts(self) -> list[np.ndarray]:
        """Starting points of least squares: the values the model has, and the best of points all over the domains.

        Raises
        ------
        InputError
            If the model has no finite, positive answer in some row, wherever one looks.
        """
        rows = self.measured.table.rows
        count = max(8, min(LOOKED_AT, POINTS // rows))
        shares = _spread(count, len(self.parameters))
        looked = np.stack([each.candidates(shares[:, place]) for place, each in enumerate(self.parameters)], axis=1)
        known = all(np.isfinite(each.start) for each in self.parameters)
        if known:
            looked = np.vstack([[each.coordinate(each.start) for each in self.parameters], looked])
        looked = np.clip(looked, self.squares.lower, self.squares.upper)
        found = self.residuals(looked)
        with np.errstate(all="ignore"):
            cost = np.where(np.isfinite(found).all(axis=1), (found**2).sum(axis=1), np.inf)
        if not np.isfinite(cost).any():
            self._refuse(looked[0])
        order = np.argsort(cost, kind="stable")
        best = [place for place in order if np.isfinite(cost[place])][:BEGUN]
        first = [0] if known and np.isfinite(cost[0]) and 0 not in best else []
        return [looked[place] for place in [*first, *best]]

    def _refuse(self, coordinates: np.ndarray) -> None:
        """Say in which row the model has no answer that can be compared."""
        predicted = self.measured.predicted(values_of(self.parameters, coordinates))
        for name, used in self.used.items():
            ours = predicted[name]
            bad = used & ~(np.isfinite(ours) & ((ours > 0) | (self.space == "linear")))
            if bad.any():
                row = int(np.argmax(bad))
                allowed = f"is {as_text(variable_of(name), ours[row])} by the model, for any value of the free inputs"
                hint = f"row {row + 1} cannot be compared; leave it out, or look at what solve() says of it"
                raise InputError(name, as_text(variable_of(name), self.measured.outputs[name][row]), allowed, hint)
        raise InputError("free", [each.name for each in self.parameters], "no values of them answer in every row",
                         "give one to begin at, as in efficiency=0.5")  # fmt: skip

    def refuse_rows(self, coordinates: np.ndarray) -> None:
        """Raise the error of the first row that the model refuses at these values.

        Raises
        ------
        InputError
            If it refuses one.
        """
        binding = self.measured.varied.binding
        known = {**binding.numbers, **{name: float(v) for name, v in values_of(self.parameters, coordinates).items()}}
        held = np.broadcast_to(accepted(binding, known), (self.measured.table.rows,))
        if not held.all():
            row = int(held.argmin())
            at = {name: value[row] if np.ndim(value) else value for name, value in known.items()}
            try:
                refuse(binding.reasons, binding.system, at)
            except InputError as error:
                raise in_row(error, row) from None


def _spread(count: int, dimensions: int) -> np.ndarray:
    """Points that fill a cube evenly: multiples of the powers of a golden ratio, one coordinate each."""
    ratio = 2.0
    for _ in range(40):
        ratio = (1 + ratio) ** (1 / (dimensions + 1))
    return (0.5 + np.arange(1, count + 1)[:, None] * ratio ** -np.arange(1.0, dimensions + 1)) % 1


def _one(name: str) -> float:
    """The canonical value of one in the unit of an output."""
    return units.factor(variable_of(name).unit)


@dataclass(frozen=True)
class Parameter:
    """An input that is found from measurements.

    Attributes
    ----------
    variable : Variable
        The input.
    start : float
        Canonical value at which the search begins; nan where nothing says one.
    """

    variable: Variable
    start: float

    @property
    def name(self) -> str:
        """Name of the input."""
        return self.variable.name

    @property
    def logarithmic(self) -> bool:
        """True if its coordinate is a logarithm: it can only be positive."""
        domain = self.variable.domain
        return domain.lower > 0 or (domain.lower == 0 and domain.open_lower)

    @property
    def scale(self) -> float:
        """The canonical value of one, where the coordinate is no logarithm."""
        one = units.factor(self.variable.unit)
        return abs(self.start) if math.isfinite(self.start) and self.start else one

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest coordinate."""
        domain, one = self.variable.domain, units.factor(self.variable.unit)
        if self.logarithmic:
            return math.log(max(domain.lower, SMALLEST) * one), math.log(min(domain.upper, LARGEST) * one)
        return domain.lower * one / self.scale, domain.upper * one / self.scale

    def value(self, coordinate: Any) -> Any:
        """The canonical value of a coordinate."""
        return np.exp(coordinate) if self.logarithmic else coordinate * self.scale

    def coordinate(self, value: float) -> float:
        """The coordinate of a canonical value."""
        return math.log(value) if self.logarithmic else value / self.scale

    def slope(self, value: float) -> float:
        """Change of the canonical value with the coordinate."""
        return value if self.logarithmic else self.scale

    def at_bound(self, value: float, side: int) -> float:
        """The canonical value exactly on a bound, where the domain has it."""
        domain = self.variable.domain
        bound = domain.lower if side < 0 else domain.upper
        on_it = side and math.isfinite(bound) and not (side < 0 and domain.open_lower)
        return bound * units.factor(self.variable.unit) if on_it else value

    def candidates(self, shares: np.ndarray) -> np.ndarray:
        """Coordinates to begin at, from numbers between 0 and 1."""
        domain, one = self.variable.domain, units.factor(self.variable.unit)
        known = math.isfinite(self.start) and self.start != 0
        if domain.lower >= 0 and math.isfinite(domain.upper):
            least = max(domain.lower, SHARE * domain.upper) * one
            found = least * (domain.upper * one / least) ** shares
        else:
            middle, factor = (abs(self.start), SPREAD) if known else (one, WIDE)
            found = middle * factor ** (2 * shares - 1)
            if domain.lower < 0:
                found = math.copysign(1, self.start if known else 1) * found
            found = np.clip(found, domain.lower * one, domain.upper * one)
        return np.log(found) if self.logarithmic else found / self.scale

    def shown(self, value: float) -> Any:
        """A canonical value as a user meets it."""
        return presented(self.variable, value)

    def text(self, value: float) -> str:
        """A canonical value as text."""
        return as_text(self.variable, value)


def parameters(binding: Binding, occurring: set[str], outputs: Sequence[str]) -> tuple[Parameter, ...]:
    """The free inputs of a binding, which must be real numbers that the outputs depend on.

    Raises
    ------
    InputError
        If one is a whole number, or no formula of the outputs has it.
    """
    found = []
    for name in binding.free:
        variable = variable_of(name)
        if variable.domain.kind != "real":
            allowed = "is a whole number: only inputs that vary continuously are calibrated"
            raise InputError("free", name, allowed, "search() finds whole numbers")
        if name not in occurring:
            real = [each for each in sorted(occurring) if variable_of(each).domain.kind == "real"]
            hint = f"what has an effect: {', '.join(real[:12])}{', ...' if len(real) > 12 else ''}"
            raise InputError("free", name, f"has no effect on {' and '.join(outputs)}", hint)
        found.append(Parameter(variable, _start(binding.values[name])))
    return tuple(found)


def _start(bound: Any) -> float:
    """The value that is bound; the median of those of several rows."""
    known = np.asarray(bound, float)
    known = known[np.isfinite(known)]
    return float(np.median(known)) if known.size else math.nan


def values_of(chosen: Sequence[Parameter], coordinates: np.ndarray) -> Mapping[str, Any]:
    """Canonical value by name, of coordinates along the last axis."""
    return {each.name: each.value(coordinates[..., place]) for place, each in enumerate(chosen)}
