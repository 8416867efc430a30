"""The functions compiled code calls on NumPy arrays: a few thousand points at once, without XLA."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsysim.engine import scalar


def least_integer(condition: Callable[..., Any], limit: Any, given: tuple[Any, ...]) -> np.ndarray:
    """Smallest ``n`` per element that meets a monotone condition, infinite if none does."""
    limit, *given_arrays = np.broadcast_arrays(np.asarray(limit, float), *given)
    shape = limit.shape

    def met(n: np.ndarray) -> np.ndarray:
        return np.broadcast_to(condition(n, *given_arrays), shape)

    below, above = np.zeros(shape), np.minimum(np.ones(shape), limit)
    done = met(above)
    while np.any(open_ := ~done & (above < limit)):
        below = np.where(open_, above, below)
        above = np.where(open_, np.minimum(2.0 * above, limit), above)
        done = done | met(above)
    while np.any(open_ := done & (above - below > 1)):
        middle = np.where(open_, np.floor((below + above) / 2), above)
        good = met(middle)
        above, below = np.where(open_ & good, middle, above), np.where(open_ & ~good, middle, below)
    return np.where(done, above, math.inf)


#: Element by element where a series has no closed form; a grid of many such points belongs on JAX.
NAMESPACE: dict[str, Any] = {
    **scalar.NAMESPACE,
    "erlang_c": np.vectorize(scalar.erlang_c, otypes=[float]),
    "least_integer": least_integer,
    "slots_busy": np.vectorize(scalar.slots_busy, otypes=[float]),
    "slots_busy_slope": np.vectorize(scalar.slots_busy_slope, otypes=[float]),
    "where": np.where,
}
