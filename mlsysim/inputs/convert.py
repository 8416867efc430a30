"""Conversion of typed values to canonical float64: one value, or an axis of them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.catalog import Value
from mlsysim.errors import InputError, MlsysimError, UnitError, nearest
from mlsysim.names import known_as
from mlsysim.symbolic import Variable

#: Magnitudes outside would overflow in products, and whole numbers from 2**53 on are not exact.
LARGEST, SMALLEST, LARGEST_INTEGER = 1e30, 1e-30, 2**53

#: Types of most arguments, none of which holds several values.
_PLAIN = frozenset({str, int, float, bool})

#: Points of a grid held in memory; one output of so many takes 0.8 GB.
LARGEST_GRID = 100_000_000


@dataclass(frozen=True)
class Axis:
    """One dimension of a grid: a swept argument, or several along one axis.

    Attributes
    ----------
    name : str
        Name of the argument, or of the linked axis.
    coordinates : ndarray
        The values as typed: numbers in ``unit``, or labels.
    canonical : ndarray
        The values as compiled code gets them, in canonical units.
    unit : str
        Unit of the coordinates; empty for labels and pure numbers.
    members : dict
        For a linked axis, whose values are positions: the axis of each argument along it.
    """

    name: str
    coordinates: np.ndarray
    canonical: np.ndarray
    unit: str = ""
    members: dict[str, Axis] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.canonical)


def is_axis(value: Any) -> bool:
    """Tell if an argument is swept: a list, tuple, range, array, or a quantity that holds an array."""
    if type(value) in _PLAIN:
        return False
    if units.is_quantity(value):
        return np.ndim(value.magnitude) > 0
    if hasattr(value, "__array__"):
        return np.ndim(value) > 0
    return isinstance(value, list | tuple | range | set | frozenset) or (
        isinstance(value, Sequence) and not isinstance(value, str | bytes)
    )


def scalar(variable: Variable, value: Any) -> float:
    """Convert one argument to a canonical float.

    Parameters
    ----------
    variable : Variable
        Variable of the argument.
    value : object
        Number in the variable's unit, quantity of any pint registry, text such as ``"80 GB"``, or a
        label.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If the value is not allowed.
    UnitError
        If a quantity has the wrong dimension.
    """
    if variable.domain.kind == "choice":
        return float(_label_code(variable, value))
    typed = number(variable, value)
    _check(variable, typed, value)
    return float(units.to_canonical(typed, variable.unit))


def axis(variable: Variable, values: Any, *, repeats: bool = False) -> Axis:
    """Convert a swept argument to an axis.

    Parameters
    ----------
    variable : Variable
        Variable of the argument.
    values : sequence, ndarray or quantity
        One-dimensional; each element as for :func:`scalar`.
    repeats : bool
        Allow repeated values, as along a linked axis.

    Returns
    -------
    Axis

    Raises
    ------
    InputError
        If it is empty, has more than one dimension, repeats a value, or an element is not allowed.
    """
    refuse_masked(variable.name, values)
    if not units.is_quantity(values):
        values = (
            np.asarray(values) if hasattr(values, "__array__") else values if isinstance(values, range) else [*values]
        )
    if not isinstance(values, list | range) and np.ndim(values) != 1:
        raise InputError(variable.name, values, "an axis has one dimension")
    if not 0 < len(values) <= LARGEST_GRID:
        raise InputError(variable.name, values, f"an axis has at least one and at most {LARGEST_GRID:,} values")
    if variable.domain.kind == "choice":
        canonical = np.array([scalar(variable, label) for label in values])
        swept = Axis(variable.name, np.array([variable.domain.labels[int(code)] for code in canonical]), canonical)
    else:
        swept = _number_axis(variable, values)
    if not repeats and len(np.unique(swept.canonical)) != len(swept.canonical):
        raise InputError(variable.name, values, "an axis has each value once")
    return swept


def refuse_masked(argument: str, value: Any) -> None:
    """Refuse a masked array that hides values.

    Raises
    ------
    InputError
        If it does.
    """
    magnitude = units.magnitude(value)
    if hasattr(magnitude, "mask") and np.ma.is_masked(magnitude):  # NumPy imports its masked arrays when they are named
        raise InputError(argument, value, "has masked values", "leave them out, as in values.compressed()")


def _number_axis(variable: Variable, values: Any) -> Axis:
    unit = variable.unit if _has_unit(variable) else ""
    if units.is_quantity(values):
        canonical = np.asarray(units.canonical(values, variable.unit, variable.name), float)
        _check_all(variable, np.asarray(units.from_canonical(canonical, variable.unit)))
        return Axis(variable.name, np.asarray(values.magnitude), canonical, f"{units.own(values).units:~C}")
    if (plain := _plain_numbers(values)) is not None:
        _check_all(variable, plain)
        canonical = np.asarray(units.to_canonical(plain, variable.unit))
    else:
        canonical = np.array([scalar(variable, value) for value in values])
    typed = np.asarray(units.from_canonical(canonical, variable.unit))
    if variable.domain.kind == "integer":
        typed = typed.astype(bool if variable.domain.is_flag else np.int64)
    return Axis(variable.name, typed, canonical, unit)


def _plain_numbers(values: Any) -> np.ndarray | None:
    """Convert the values to float64 if all are plain numbers, to be checked at once; else None."""
    if isinstance(values, np.ndarray):
        return values.astype(float) if values.dtype.kind in "iuf" else None
    if isinstance(values, range) or all(type(value) in (int, float) for value in values):
        try:
            return np.array(values, dtype=float)
        except OverflowError:
            return None
    return None


def _check_all(variable: Variable, typed: np.ndarray) -> None:
    """Refuse the first value outside the domain, as :func:`_check` would."""
    good = _allowed(variable, typed)
    if not good.all():
        first = float(typed[int(np.argmin(good))])
        _check(variable, first, int(first) if math.isfinite(first) and first == int(first) else first)


def check(variable: Variable, canonical: float) -> None:
    """Refuse a canonical value outside the domain of its variable.

    Raises
    ------
    InputError
        If it is.
    """
    typed = float(units.from_canonical(canonical, variable.unit))
    _check(variable, typed, typed)


def inside(variable: Variable, canonical: Any) -> np.ndarray:
    """Mask the canonical numbers that lie in the domain of a variable: what :func:`check` accepts."""
    return _allowed(variable, np.asarray(units.from_canonical(np.asarray(canonical, float), variable.unit)))


def _allowed(variable: Variable, typed: np.ndarray) -> np.ndarray:
    """Mask the numbers, in the unit of a variable, that lie in its domain."""
    domain, size = variable.domain, np.abs(typed)
    allowed = np.isfinite(typed) & (typed >= domain.lower) & (typed <= domain.upper)
    if domain.open_lower:
        allowed &= typed > domain.lower
    if domain.kind != "integer":
        return allowed & ((typed == 0) | ((size >= SMALLEST) & (size <= LARGEST)))
    with np.errstate(invalid="ignore"):
        return allowed & (typed == np.floor(typed)) & (typed < LARGEST_INTEGER)


def as_label(variable: Variable, value: Any) -> Any:
    """Label that a text means, whatever its case or alias; any other value as it is."""
    labels = variable.domain.labels
    if not labels or not isinstance(value, str) or value in labels:
        return value
    return known_as(value, labels) or value


def _label_code(variable: Variable, value: Any) -> int:
    labels = variable.domain.labels
    label = as_label(variable, value)
    if isinstance(label, str) and label in labels:
        return labels.index(label)
    close = nearest(value, labels) if isinstance(value, str) else []
    hint = f"did you mean {', '.join(close)}?" if close else ""
    raise InputError(variable.name, value, f"must be {variable.domain.describe()}", hint)


def number(variable: Variable, typed: Any) -> float:
    """Convert a number, quantity or text to the unit of a variable, allowed in its domain or not.

    Raises
    ------
    InputError
        If it is no number.
    UnitError
        If a quantity has the wrong dimension.
    """
    if type(typed) is float or (type(typed) is int and abs(typed) < LARGEST_INTEGER):
        return float(typed)
    value = typed
    refuse_masked(variable.name, value)
    allowed = f"must be {variable.domain.describe()}" + (f", in {variable.unit}" if _has_unit(variable) else "")
    try:
        if isinstance(value, Value):
            value = value.quantity
        if not isinstance(value, numbers.Number) and not units.is_quantity(value) and hasattr(value, "__array__"):
            value = np.asarray(value).item()
        if isinstance(value, str) and not variable.domain.is_flag:
            value = units.spelled_out(value, variable.unit)
            meant = units.capital(value) if units.counts(units.dimension(variable.unit), variable.unit) else ""
            if meant:
                raise InputError(variable.name, value, allowed, f"did you mean {meant}?")
            known = units.number_in(value, variable.unit)
            value = _parsed(variable, value, allowed) if known is None else known
        if units.is_quantity(value):
            canonical = units.canonical(value, variable.unit, variable.name)
            return float(units.from_canonical(canonical, variable.unit))
        if isinstance(value, bool | np.bool_) and variable.domain.is_flag:
            return float(value)
        if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real | Decimal):
            raise InputError(variable.name, typed, allowed)
        return float(value)
    except MlsysimError:
        raise
    except Exception:
        raise InputError(variable.name, typed, allowed) from None


def _parsed(variable: Variable, text: str, allowed: str) -> Any:
    try:
        value = units.parsed(text)
    except UnitError as error:
        raise InputError(variable.name, text, allowed, str(error)) from None
    if _has_unit(variable) and value.unitless:
        raise InputError(variable.name, text, allowed, f"text needs a unit, as in '80 {variable.unit}'")
    return value


def _has_unit(variable: Variable) -> bool:
    return variable.unit not in units.PURE


def _check(variable: Variable, typed: float, value: Any) -> None:
    domain = variable.domain
    inside = math.isfinite(typed) and domain.lower <= typed <= domain.upper
    if not inside or (domain.open_lower and typed == domain.lower):
        raise InputError(variable.name, value, f"must be {domain.describe()}")
    if domain.kind == "integer":
        if typed != math.floor(typed) and domain.is_flag:
            raise InputError(variable.name, value, f"must be {domain.describe()}")
        if typed != math.floor(typed):
            below = math.floor(typed)
            raise InputError(variable.name, value, f"must be {domain.describe()}", f"nearest: {below}, {below + 1}")
        if typed >= LARGEST_INTEGER:
            raise InputError(variable.name, value, "must be below 2**53, beyond which whole numbers are not exact")
    elif typed != 0 and not SMALLEST <= abs(typed) <= LARGEST:
        raise InputError(variable.name, value, f"must be between {SMALLEST:g} and {LARGEST:g} in size")
