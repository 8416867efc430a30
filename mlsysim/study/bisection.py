"""Bisection of many brackets at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: Halvings that locate an end to rounding.
HALVINGS = 60


def bisected(
    holds: Callable[[np.ndarray], np.ndarray],
    inside: np.ndarray,
    outside: np.ndarray,
    near: float = 0.0,
    middle: Callable[[np.ndarray, np.ndarray], np.ndarray] = lambda low, high: np.floor((low + high) / 2),
) -> tuple[np.ndarray, np.ndarray]:
    """Bisect brackets: return the last points inside at which a condition holds, and the next outside where it fails.

    The two differ by at most ``near`` times their size; whole numbers (``near`` zero) are adjacent.
    """
    for _ in range(HALVINGS):
        if np.all(np.abs(outside - inside) <= (near * np.abs(inside) if near else 1)):
            break
        at = middle(inside, outside)
        met = holds(at)
        inside, outside = np.where(met, at, inside), np.where(met, outside, at)
    return inside, outside
