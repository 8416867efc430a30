"""Numbers and quantities as text, the same in tables, explanations and error messages."""

from __future__ import annotations

import math
import numbers
from typing import Any

from mlsysim import units


def number(value: Any) -> str:
    """A number to read: 1 decimal from 100 up, 2 from 1 up, 3 below, 3 digits below 0.01; whole numbers stay whole.

    Parameters
    ----------
    value : int, float or NumPy scalar

    Returns
    -------
    str
        Scientific where fixed decimals would run long or show nothing.
    """
    if isinstance(value, numbers.Integral):
        return str(int(value))
    value = float(value) + 0.0  # no negative zero
    size = abs(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if size >= 1e6 or 0 < size < 5e-4:
        mantissa, _, exponent = f"{value:.4g}".partition("e")
        return f"{mantissa}e{int(exponent)}" if exponent else mantissa
    if 0 < size < 0.00995:
        return f"{value:.3g}"
    decimals = 1 if size >= 100 else 2 if size >= 1 else 3
    return f"{value:.{decimals}f}"


def quantity(value: Any, unit: str | None = None) -> str:
    """A pint quantity to read, in its own unit or in the one given.

    Parameters
    ----------
    value : pint.Quantity
    unit : str, optional
        Unit to show it in.
    """
    converted = value.to(unit) if unit is not None else value
    suffix = f"{converted.units:~P}"
    return f"{number(converted.magnitude)} {suffix}".strip()


def amount(value: Any) -> str:
    """A quantity or a number to read."""
    return quantity(value) if units.is_quantity(value) else number(value)


def canonical(value: float, unit: str) -> str:
    """A canonical float to read, in ``unit``."""
    return with_unit(float(units.from_canonical(value, unit)), unit)


def with_unit(value: float, unit: str) -> str:
    """A number of a unit to read, with the unit."""
    return f"{number(value)} {units.printed(unit)}".strip()
