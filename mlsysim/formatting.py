"""Numbers and quantities as text, for tables, explanations and error messages."""

from __future__ import annotations

import math
import numbers
from typing import Any

from mlsysim import units


def number(value: Any) -> str:
    """Format a number: 1 decimal from 100 up, 2 from 1 up, 3 below, 3 digits below 0.01; integers without decimals.

    Parameters
    ----------
    value : int, float or NumPy scalar

    Returns
    -------
    str
        Scientific notation if fixed decimals would be long or all zero.
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
    """Format a pint quantity, in its own unit or in the given one.

    Parameters
    ----------
    value : pint.Quantity
    unit : str, optional
        Unit of the text.
    """
    converted = value.to(unit) if unit is not None else value
    suffix = f"{converted.units:~P}"
    return f"{number(converted.magnitude)} {suffix}".strip()


def amount(value: Any) -> str:
    """Format a quantity or a number."""
    return quantity(value) if units.is_quantity(value) else number(value)


def canonical(value: float, unit: str) -> str:
    """Format a canonical number in ``unit``."""
    return with_unit(float(units.from_canonical(value, unit)), unit)


def with_unit(value: float, unit: str) -> str:
    """Format a number with its unit."""
    return f"{number(value)} {units.printed(unit)}".strip()
