"""The functions compiled code calls on NumPy scalars."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsysim.symbolic.functions import erlang_c_slope

#: Erlang sums stop when a term no longer changes the total, or when the wait is below this.
NEVER_WAITS = 1e-300

#: Roundings, in units of the machine precision, a quotient may lie from the whole number it stands for.
#: XLA multiplies by the inverse of a divisor that is one number for the whole grid: one rounding more.
ROUNDINGS = 2
EPSILON = float(np.finfo(float).eps)


def erlang_c(servers: float, load: float) -> float:
    """Probability of waiting in an M/M/c queue; one where it is not stable, nan without a load.

    Sums ``1/B = sum_j c! / ((c - j)! A^j)``, whose terms are all positive, from the front.
    """
    if not 0 < load < servers:
        return 1.0 if load >= servers else math.nan
    total = term = 1.0
    left = float(servers)
    while left > 0 and total < 1.0 / NEVER_WAITS:
        term *= left / load
        total += term
        if left < load and term < 1e-17 * total:
            break
        left -= 1.0
    blocking = 1.0 / total
    return max(servers * blocking / (servers - load * (1.0 - blocking)), NEVER_WAITS)


def ceil(x: Any) -> Any:
    """The ceiling; a quotient within rounding of a whole number is that number."""
    nearest = np.rint(x)
    return np.where(_is_whole(x, nearest), nearest, np.ceil(x))[()]


def floor(x: Any) -> Any:
    """The floor; a quotient within rounding of a whole number is that number."""
    nearest = np.rint(x)
    return np.where(_is_whole(x, nearest), nearest, np.floor(x))[()]


def _is_whole(x: Any, nearest: Any) -> Any:
    return abs(x - nearest) <= ROUNDINGS * EPSILON * abs(x)


def least_integer(condition: Callable[..., Any], limit: float, given: tuple[Any, ...]) -> float:
    """Smallest ``n`` from 1 to ``limit`` that meets a monotone condition, infinite if none does."""
    below, above = 0.0, 1.0
    while not condition(above, *given):
        if above >= limit:
            return math.inf
        below, above = above, min(2.0 * above, float(limit))
    while above - below > 1:
        middle = math.floor((below + above) / 2)
        if condition(middle, *given):
            above = middle
        else:
            below = middle
    return float(above)


NAMESPACE: dict[str, Any] = {
    "absolute": np.absolute,
    "ceil": ceil,
    "erlang_c": erlang_c,
    "erlang_c_slope": erlang_c_slope,
    "exp": np.exp,
    "floor": floor,
    "inf": np.float64(np.inf),
    "least_integer": least_integer,
    "log": np.log,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "mod": np.mod,
    "nan": np.float64(np.nan),
    "sqrt": np.sqrt,
    "where": lambda condition, then, otherwise: then if condition else otherwise,
}
