"""Why a point is not allowed: each reason is a condition, and all of them are one formula, the reason code."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sympy

from mlsysim import units
from mlsysim.backends import CompiledFunction, compiled, compiled_expression
from mlsysim.errors import InputError
from mlsysim.inputs.axes import DerivedInput
from mlsysim.symbolic import Requirement, System, Variable, reason_code, variable_of

#: How far from a whole number the nearest allowed one is looked for, at first and then.
NEAR, FAR = np.split(np.arange(1.0, 4097), [16])


@dataclass(frozen=True, eq=False)
class Unmet:
    """Inputs that do not fit each other.

    Attributes
    ----------
    requirement : Requirement
        The condition they must meet.
    """

    requirement: Requirement

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs it depends on."""
        return tuple(variable.name for variable in self.requirement.inputs)

    @property
    def text(self) -> str:
        """Why a point is refused, without its values."""
        return self.requirement.reason

    @property
    def condition(self) -> sympy.Basic:
        """Condition that holds where a point is not refused."""
        return self.requirement.condition

    @property
    def needs(self) -> dict[str, sympy.Basic]:
        """Symbols whose values at a point :meth:`error` needs, by name."""
        return {v.name: v.symbol for v in self.requirement.inputs}

    def error(self, at: Mapping[str, float], refused: int, points: int) -> InputError:
        """The error that names the argument, its value, what is allowed and the nearest allowed values."""
        given = {name: f"{name}={_text(variable_of(name), value)}" for name, value in at.items()}
        near = _nearest_allowed(self.requirement, at)
        hint = f"nearest: {', '.join(near)}" if near else ""
        if points > 1:
            hint = f"{refused} of {points} points are refused" + (f"; {hint}" if hint else "")
        variable = self.requirement.variable
        allowed = self.requirement.text(given)
        value = at[variable.name]
        shown = typed(variable, value) if units.factor(variable.unit) == 1 else _text(variable, value)
        return InputError(variable.name, shown, allowed, hint)


@dataclass(frozen=True, eq=False)
class OutsideDomain:
    """A derived input that leaves its domain.

    Attributes
    ----------
    derived : DerivedInput
        The input.
    """

    derived: DerivedInput

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs it depends on."""
        return self.derived.inputs

    @property
    def text(self) -> str:
        """Why a point is refused."""
        return self.derived.reason

    @property
    def condition(self) -> sympy.Basic:
        """Condition that holds where a point is not refused."""
        return self.derived.condition

    @property
    def needs(self) -> dict[str, sympy.Basic]:
        """Symbols whose values at a point :meth:`error` needs, by name."""
        return {"raw": self.derived.raw}

    def error(self, at: Mapping[str, float], refused: int, points: int) -> InputError:
        """The error that names the input, its value and how it is derived."""
        variable = self.derived.variable
        typed = float(units.from_canonical(at["raw"], variable.unit))
        hint = f"it is {self.derived.text}"
        if points > 1:
            hint += f"; {refused} of {points} points are refused"
        return InputError(variable.name, typed, f"must be {variable.domain.describe()}", hint)


@dataclass(frozen=True, eq=False)
class Gap:
    """Catalog entries along an axis, some of which have no value for an input.

    Attributes
    ----------
    name : str
        The input.
    known : ndarray of bool
        Whether there is a value, with one dimension per axis of the grid.
    missing : InputError
        The error for the first entry without a value.
    """

    name: str
    known: np.ndarray
    missing: InputError

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs it depends on."""
        return (self.name,)

    @property
    def text(self) -> str:
        """Why a point is refused."""
        return f"{self.name} is not in the catalog"

    @property
    def symbol(self) -> sympy.Symbol:
        """Stands for ``known`` in the condition."""
        return sympy.Symbol(f"has_{self.name}")

    @property
    def condition(self) -> sympy.Basic:
        """Condition that holds where a point is not refused."""
        return sympy.Eq(self.symbol, 1)

    @property
    def needs(self) -> dict[str, sympy.Basic]:
        """Symbols whose values at a point :meth:`error` needs, by name."""
        return {}

    def error(self, at: Mapping[str, float], refused: int, points: int) -> InputError:
        """The error that names the entry and how to give the value."""
        return self.missing


Reason = Unmet | OutsideDomain | Gap


@lru_cache(maxsize=1024)
def unmet(requirement: Requirement) -> Unmet:
    """The reason of a requirement; cached, because every call asks for it."""
    return Unmet(requirement)


def refuse(reasons: Sequence[Reason], system: System, values: Mapping[str, Any]) -> None:
    """Raise the error of the first reason that any point gives.

    Parameters
    ----------
    reasons : sequence of Reason
        In order.
    system : System
        Formulas of derived inputs.
    values : mapping
        Canonical value per input and mask: a number, or an array over the axes it depends on.

    Raises
    ------
    InputError
        If a point is refused.
    """
    if not any(isinstance(value, np.ndarray) for value in values.values()):
        code = first_reason(reasons, system, values)
        if code:
            raise _error(reasons[code - 1], np.asarray(False), system, values)
        return
    named = tuple((f"condition_{place}", reason.condition) for place, reason in enumerate(reasons))
    held = compiled(system, None, "vector", named)(values) if named else {}
    for reason, met in zip(reasons, held.values(), strict=True):
        if not np.all(met):
            raise _error(reason, np.asarray(met, bool), system, values)


def first_reason(reasons: Sequence[Reason], system: System, values: Mapping[str, float]) -> int:
    """The reason code of one point: 0 if it is allowed, else the number of the first reason, counted from 1."""
    return int(reason_function(reasons, system)(values)["code"]) if reasons else 0


def reason_function(reasons: Sequence[Reason], system: System) -> CompiledFunction:
    """The reason code of one point as a compiled function, which returns it as ``code``."""
    return compiled(system, None, "numpy", (("code", code_of(reasons)),))


def code_of(reasons: Sequence[Reason]) -> sympy.Basic:
    """The reason code as an expression: zero where no reason holds."""
    return _code(tuple(reason.condition for reason in reasons))


@lru_cache(maxsize=256)
def _code(conditions: tuple[sympy.Basic, ...]) -> sympy.Basic:
    return reason_code(enumerate(conditions, start=1))


def _error(reason: Reason, met: np.ndarray, system: System, values: Mapping[str, Any]) -> InputError:
    """The error of a reason at the first point that gives it."""
    needs = tuple(reason.needs.items())
    found = compiled(system, None, "vector", needs)(values) if needs else {}
    met, *arrays = np.broadcast_arrays(met, *found.values())
    place = np.unravel_index(int(np.argmin(met)), met.shape)
    at = {name: float(array[place]) for name, array in zip(found, arrays, strict=True)}
    return reason.error(at, int(met.size - met.sum()), met.size)


def _text(variable: Variable, value: float) -> str:
    """A canonical value as text, with its unit where that is not the canonical one."""
    scale = units.factor(variable.unit)
    return f"{value:.15g}" if scale == 1 else f"{units.from_canonical(value, variable.unit):.6g} {variable.unit}"


def typed(variable: Variable, value: float) -> str | float | int:
    """A canonical value of a pure number, label or flag, in the form in which it is typed."""
    if variable.domain.kind == "choice":
        return variable.domain.labels[int(value)]
    if variable.domain.is_flag:
        return bool(value)
    return int(value) if value == int(value) else value


def _nearest_allowed(requirement: Requirement, at: Mapping[str, float]) -> list[str]:
    """The closest whole numbers below and above that meet a requirement."""
    variable = variable_of(requirement.argument)
    if variable.domain.kind != "integer" or variable.domain.is_flag or not math.isfinite(at[variable.name]):
        return []
    condition, near = compiled_expression(requirement.condition), []
    for sign in (-1, 1):
        for steps in NEAR, FAR:
            found = at[variable.name] + sign * steps
            found = found[(variable.domain.lower <= found) & (found <= variable.domain.upper)]
            met = np.broadcast_to(condition({**at, variable.name: found})["value"], found.shape)
            if met.any():
                near.append(f"{found[met][0]:.15g}")
                break
    return near
