"""Reasons to refuse a point: each is a condition, and all of them are one formula, the reason code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
import sympy

from mlsysim import units
from mlsysim.backends import CompiledFunction, compiled, compiled_expression
from mlsysim.errors import InputError
from mlsysim.inputs.axes import DerivedInput
from mlsysim.symbolic import Requirement, System, Variable, reason_code, variable_of

#: Distances from a whole number at which the nearest allowed one is looked for, at first and then.
NEAR, FAR = np.split(np.arange(1.0, 4097), [16])


@dataclass(frozen=True, eq=False)
class Reason:
    """Reason to refuse a point.

    Attributes
    ----------
    inputs : tuple of str
        Names of the inputs it depends on.
    text : str
        The reason, without the values of a point.
    condition : sympy.Basic
        Condition that holds where a point is not refused.
    error : callable
        The error, from the values of ``needs`` at the first such point, how many are refused, and how many there are.
    needs : mapping of str to sympy.Basic
        Expressions whose values at a point the error needs, by name.
    known : ndarray of bool, optional
        Mask of the catalog entries along an axis that have a value for the one input.
    """

    inputs: tuple[str, ...]
    text: str
    condition: sympy.Basic
    error: Callable[[Mapping[str, float], int, int], InputError] = field(repr=False)
    needs: Mapping[str, sympy.Basic] = field(default_factory=dict)
    known: np.ndarray | None = None


@lru_cache(maxsize=1024)
def unmet(requirement: Requirement) -> Reason:
    """Reason that inputs do not fit each other; cached, because every call asks for it."""
    inputs = requirement.inputs
    return Reason(
        tuple(variable.name for variable in inputs),
        requirement.reason,
        requirement.condition,
        partial(_unmet_error, requirement),
        {variable.name: variable.symbol for variable in inputs},
    )


def _unmet_error(requirement: Requirement, at: Mapping[str, float], refused: int, points: int) -> InputError:
    """Error that names the argument, its value, what is allowed and the nearest allowed values."""
    inputs_text = {name: f"{name}={_text(variable_of(name), value)}" for name, value in at.items()}
    near = _nearest_allowed(requirement, at)
    hint = f"nearest: {', '.join(near)}" if near else ""
    if points > 1:
        hint = f"{refused} of {points} points are refused" + (f"; {hint}" if hint else "")
    variable = requirement.variable
    value = at[variable.name]
    shown = typed(variable, value) if units.factor(variable.unit) == 1 else _text(variable, value)
    return InputError(variable.name, shown, requirement.text(inputs_text), hint)


def outside_domain(derived: DerivedInput) -> Reason:
    """Reason that a derived input leaves its domain."""
    return Reason(
        derived.inputs, derived.reason, derived.condition, partial(_outside_error, derived), {"raw": derived.raw}
    )


def _outside_error(derived: DerivedInput, at: Mapping[str, float], refused: int, points: int) -> InputError:
    """Error that names the input, its value and how it is derived."""
    variable = derived.variable
    hint = f"it is {derived.text}" + f"; {refused} of {points} points are refused" * (points > 1)
    typed = float(units.from_canonical(at["raw"], variable.unit))
    return InputError(variable.name, typed, f"must be {variable.domain.describe()}", hint)


def gap(name: str, known: np.ndarray, missing: InputError) -> Reason:
    """Reason that some catalog entries along an axis have no value for an input.

    Parameters
    ----------
    name : str
        The input.
    known : ndarray of bool
        Mask of the values there are, with one dimension per axis of the grid.
    missing : InputError
        The error for the first entry without a value.
    """
    condition = sympy.Eq(sympy.Symbol(mask_of(name)), 1)
    return Reason((name,), f"{name} is not in the catalog", condition, partial(_error_of, missing), known=known)


def mask_of(name: str) -> str:
    """Name of the mask ``known`` of an input in conditions."""
    return f"has_{name}"


def _error_of(missing: InputError, at: Mapping[str, float], refused: int, points: int) -> InputError:
    return missing


def met(reason: Reason, values: Mapping[str, float]) -> bool:
    """Tell if the condition of a reason holds at a point; it does not if an input has no value."""
    if any(math.isnan(value) for value in values.values()):
        return False
    return bool(compiled_expression(reason.condition)(values)["value"])


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
    named = tuple((f"condition_{index}", reason.condition) for index, reason in enumerate(reasons))
    truths = compiled(system, None, "vector", named)(values) if named else {}
    for reason, met in zip(reasons, truths.values(), strict=True):
        if not np.all(met):
            raise _error(reason, np.asarray(met, bool), system, values)


def first_reason(reasons: Sequence[Reason], system: System, values: Mapping[str, float]) -> int:
    """Reason code of one point: 0 if it is allowed, else the number of the first reason, counted from 1."""
    return int(reason_function(reasons, system)(values)["code"]) if reasons else 0


def reason_function(reasons: Sequence[Reason], system: System) -> CompiledFunction:
    """Reason code of one point as a compiled function, which returns it as ``code``."""
    return compiled(system, None, "numpy", (("code", code_of(reasons)),))


def code_of(reasons: Sequence[Reason]) -> sympy.Basic:
    """Reason code as an expression: zero if no reason holds."""
    return _code(tuple(reason.condition for reason in reasons))


@lru_cache(maxsize=256)
def _code(conditions: tuple[sympy.Basic, ...]) -> sympy.Basic:
    return reason_code(enumerate(conditions, start=1))


def _error(reason: Reason, met: np.ndarray, system: System, values: Mapping[str, Any]) -> InputError:
    """Error of a reason at the first point that gives it."""
    needs = tuple(reason.needs.items())
    needed = compiled(system, None, "vector", needs)(values) if needs else {}
    met, *arrays = np.broadcast_arrays(met, *needed.values())
    index = np.unravel_index(int(np.argmin(met)), met.shape)
    at = {name: float(array[index]) for name, array in zip(needed, arrays, strict=True)}
    return reason.error(at, int(met.size - met.sum()), met.size)


def _text(variable: Variable, value: float) -> str:
    """Canonical value as text, with its unit if that is not the canonical one."""
    scale = units.factor(variable.unit)
    return f"{value:.15g}" if scale == 1 else f"{units.from_canonical(value, variable.unit):.6g} {variable.unit}"


def typed(variable: Variable, value: float) -> str | float | int:
    """Canonical value of a pure number, label or flag, in the form in which it is typed."""
    if variable.domain.kind == "choice":
        return variable.domain.labels[int(value)]
    if variable.domain.is_flag:
        return bool(value)
    return int(value) if value == int(value) else value


def _nearest_allowed(requirement: Requirement, at: Mapping[str, float]) -> list[str]:
    """Closest whole numbers below and above that meet a requirement."""
    variable = variable_of(requirement.argument)
    if variable.domain.kind != "integer" or variable.domain.is_flag or not math.isfinite(at[variable.name]):
        return []
    condition, near = compiled_expression(requirement.condition), []
    for sign in (-1, 1):
        for steps in NEAR, FAR:
            candidates = at[variable.name] + sign * steps
            candidates = candidates[(variable.domain.lower <= candidates) & (candidates <= variable.domain.upper)]
            met = np.broadcast_to(condition({**at, variable.name: candidates})["value"], candidates.shape)
            if met.any():
                near.append(f"{candidates[met][0]:.15g}")
                break
    return near
