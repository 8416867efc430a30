"""Values that count as equal, for every way a grid is searched."""

from __future__ import annotations

import math

import numpy as np

#: Relative difference up to which values count as equal: two ways of computing one need not agree to the last bit.
TIE = 1e-9
#: Binary digits of a float that are rounded away for the values of a front: of 52, 30 stay, so that those that count as
#: equal differ by less than a relative 1e-9.
SPARE = 22


def band(value: float) -> tuple[float, float]:
    """The lowest and the highest value that count as equal to a value."""
    margin = TIE * abs(value) if math.isfinite(value) else 0.0
    return value - margin, value + margin


def rounded(values: np.ndarray) -> np.ndarray:
    """Values to 30 binary digits, so that those of a front that differ by rounding are equal, and stay in order.

    Unlike in :func:`band`, which values are equal does not hang on what they are compared with, so that of three values
    the first cannot equal the second, and the second the third, alone.
    """
    bits = (np.asarray(values, float) + 0.0).view(np.int64)
    return np.where(np.isfinite(values), ((bits + (1 << (SPARE - 1))) >> SPARE << SPARE).view(float), values)


def in_order(values: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort points by value; a run of values that count as equal to its first one is sorted by index."""
    order = np.lexsort((indices, values))
    values, indices = values[order], indices[order]
    start = 0
    while start < len(values):
        stop = int(np.searchsorted(values, band(float(values[start]))[1], side="right"))
        run = start + np.argsort(indices[start:stop], kind="stable")
        values[start:stop], indices[start:stop] = values[run], indices[run]
        start = stop
    return values, indices
