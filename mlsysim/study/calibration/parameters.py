"""The inputs that a calibration finds, as coordinates without units: logarithms where an input is positive."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.errors import InputError
from mlsysim.inputs.binding import Binding
from mlsysim.inputs.convert import LARGEST, SMALLEST
from mlsysim.study.results.display import as_text, presented
from mlsysim.symbolic import Variable, variable_of

#: Factors by which starts lie apart: for what has a start, and for what has none.
SPREAD, WIDE = 1e2, 1e8
#: Smallest start of a share.
SHARE = 1e-2


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
