"""Values that count as equal, for every way a grid is searched."""

from __future__ import annotations

import math

import numpy as np

#: Relative difference up to which values count as equal: two ways of computing one need not agree to the last bit.
TIE = 1e-9


def band(value: float) -> tuple[float, float]:
    """The lowest and the highest value that count as equal to a value."""
    margin = TIE * abs(value) if math.isfinite(value) else 0.0
    return value - margin, value + margin


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
