"""A histogram of the times between tokens, on a logarithmic scale."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

#: A bin is a fifth of a percent wide; the first is at a microsecond, the last at about twenty minutes.
SHORTEST, WIDTH, BINS = 1e-6, 0.002, 10_500


@njit
def note(gaps, seconds, weight):
    """Count so many gaps of one length."""
    if seconds > SHORTEST:
        gaps[min(BINS - 1, int(np.log(seconds / SHORTEST) / WIDTH))] += weight
    else:
        gaps[0] += weight


def quantile(gaps: NDArray[np.float64], share: float) -> float:
    """Gap that the given share of all stays below, to the width of a bin."""
    total = gaps.sum()
    if not total:
        return float("nan")
    return float(SHORTEST * np.exp(WIDTH * (np.searchsorted(np.cumsum(gaps), share * total) + 0.5)))
