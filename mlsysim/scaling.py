"""Canonical amounts in a unit, where the registry of units and the compiler can both import it."""

from __future__ import annotations

import math
from typing import Any


def in_unit(value: Any, scale: float) -> Any:
    """A canonical value, or an array of them, as a number of a unit worth ``scale``.

    Divides by whole factors and multiplies by whole inverses, so decimal units lose no digit.
    """
    inverse = 1.0 / scale
    if scale < 1.0 and inverse == math.floor(inverse):
        return value * inverse
    return value / scale


def into_canonical(scale: float) -> tuple[str, float]:
    """Operator and operand that make a number of a unit worth ``scale`` canonical: ``"*"`` or ``"/"``."""
    inverse = 1.0 / scale
    return ("/", inverse) if scale < 1.0 and inverse == math.floor(inverse) else ("*", scale)
