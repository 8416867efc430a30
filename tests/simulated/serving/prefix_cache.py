"""A cache of prefixes from which the least recently used is thrown out."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


def zipf(count: int, exponent: float) -> NDArray[np.float64]:
    """Share of requests that want each of so many prefixes."""
    weight = np.arange(1, count + 1) ** -float(exponent)
    return weight / weight.sum()


def token_hit_rate(
    sizes: NDArray[np.int64], popularity: NDArray[np.float64], capacity: int, requests: int, seed: int
) -> float:
    """Share of the tokens of wanted prefixes that the cache holds, after it has filled; prefixes stay or go whole."""
    wanted = np.random.default_rng(seed).choice(len(sizes), requests, p=popularity)
    return float(_hits(wanted, np.asarray(sizes, np.int64), capacity, requests // 5))


@njit
def _hits(wanted, sizes, capacity, warm_up):
    # Places in a ring from the last used to the least recently used; the entry after all prefixes is its seam.
    seam = len(sizes)
    newer, older = np.full(seam + 1, -1), np.full(seam + 1, -1)
    newer[seam] = older[seam] = seam
    held = hit = total = 0
    for request in range(len(wanted)):
        prefix = wanted[request]
        inside = newer[prefix] >= 0
        if request >= warm_up:
            total += sizes[prefix]
            hit += sizes[prefix] if inside else 0
        if inside:
            older[newer[prefix]], newer[older[prefix]] = older[prefix], newer[prefix]
        else:
            if sizes[prefix] > capacity:
                continue
            held += sizes[prefix]
            while held > capacity:
                oldest = newer[seam]
                held -= sizes[oldest]
                newer[seam] = newer[oldest]
                older[newer[oldest]] = seam
                newer[oldest] = older[oldest] = -1
        newest = older[seam]
        older[prefix], newer[prefix] = newest, seam
        newer[newest] = older[seam] = prefix
    return hit / total
