"""Bisection of many intervals together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: Halvings until an end is known to rounding.
HALVINGS = 60


def bisected(
    holds: Callable[[np.ndarray], np.ndarray],
    inside: np.ndarray,
    outside: np.ndarray,
    near: float = 0.0,
    middle: Callable[[np.ndarray, np.ndarray], np.ndarray] = lambda one, other: np.floor((one + other) / 2),
) -> tuple[np.ndarray, np.ndarray]:
    """Last values from inside at which something holds, and the next ones outside at which it does not.

    They are as near as this share of their size; whole numbers are next to each other.
    """
    for _ in range(HALVINGS):
        if np.all(np.abs(outside - inside) <= (near * np.abs(inside) if near else 1)):
            break
        at = middle(inside, outside)
        met = holds(at)
        inside, outside = np.where(met, at, inside), np.where(met, outside, at)
    return inside, outside
