"""Conversion of canonical amounts to units, importable from both units and compiler."""

from __future__ import annotations

import math
from typing import Any


def in_unit(value: Any, scale: float) -> Any:
    """Convert a canonical value or array to a unit worth ``scale``.

    Divides by whole factors and multiplies by whole inverses, so decimal units lose no digit.
    """
    inverse = 1.0 / scale
    if scale < 1.0 and inverse == math.floor(inverse):
        return value * inverse
    return value / scale


def into_canonical(scale: float) -> tuple[str, float]:
    """Return operator and operand that convert a number in a unit worth ``scale``: ``"*"`` or ``"/"``."""
    inverse = 1.0 / scale
    return ("/", inverse) if scale < 1.0 and inverse == math.floor(inverse) else ("*", scale)
