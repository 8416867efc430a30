"""Values that count as equal, for every way a grid is searched."""

from __future__ import annotations

import math

import numpy as np

#: Values so near, relatively, count as equal: no way of computing them agrees to the last bit with another.
TIE = 1e-9


def band(value: float) -> tuple[float, float]:
    """The values that count as equal to one."""
    margin = TIE * abs(value) if math.isfinite(value) else 0.0
    return value - margin, value + margin


def in_order(values: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points by value, and by index where values count as equal to the first of their run."""
    order = np.lexsort((indices, values))
    values, indices = values[order], indices[order]
    start = 0
    while start < len(values):
        stop = int(np.searchsorted(values, band(float(values[start]))[1], side="right"))
        run = start + np.argsort(indices[start:stop], kind="stable")
        values[start:stop], indices[start:stop] = values[run], indices[run]
        start = stop
    return values, indices
