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


def slots_busy_series(slots: float, a: float, b: float, e: float) -> tuple[float, float, float, float]:
    """``sum_{j<m} u_j / u_m`` of :class:`SlotsBusy`, infinite without arrivals, and minus its relative slopes.

    The slopes, by a, b and e, are means over the terms, so that they are finite however large the sum.
    """
    total = by_a = by_b = by_e = 0.0
    inverse = weighted = logs = 0.0
    term, i = 1.0, float(slots)
    while i >= 1 and total < 1.0 / NEVER_WAITS:
        arriving = a + b * i
        rate = arriving / i
        if not rate > 0:
            return math.inf, 0.0, 0.0, 0.0
        thinning = rate**e
        if not thinning > 0:
            return math.inf, 0.0, 0.0, 0.0
        term /= thinning
        inverse += 1.0 / arriving
        weighted += i / arriving
        logs += math.log(rate)
        total += term
        weight = term / total
        by_a += weight * (e * inverse - by_a)
        by_b += weight * (e * weighted - by_b)
        by_e += weight * (logs - by_e)
        if rate > 1 and term < 1e-17 * total:
            break
        i -= 1.0
    return total, by_a, by_b, by_e


def slots_busy(slots: float, a: float, b: float, e: float, tail: float) -> float:
    """Probability that all slots are taken; see :class:`mlsysim.symbolic.SlotsBusy`."""
    total, *_ = slots_busy_series(*map(float, (slots, a, b, e)))
    if math.isinf(total):
        return 0.0
    return tail / (total + tail) if total + tail else math.nan


def slots_busy_slope(which: int, slots: float, a: float, b: float, e: float, tail: float) -> float:
    """Derivative of :func:`slots_busy` by one of its arguments, counted from 1."""
    total, *slopes = slots_busy_series(*map(float, (slots, a, b, e)))
    weight = total + tail
    if math.isinf(total) or not weight:
        return 0.0
    return total / weight * (1.0 if which == 5 else tail * slopes[which - 2]) / weight


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
    below, above, limit = np.float64(0.0), np.float64(1.0), np.float64(limit)
    while not condition(above, *given):
        if above >= limit:
            return math.inf
        below, above = above, min(2.0 * above, limit)
    while above - below > 1:
        middle = np.floor((below + above) / 2)
        if condition(middle, *given):
            above = middle
        else:
            below = middle
    return float(above)


#: What these return are NumPy floats, which divide by zero without raising.
NAMESPACE: dict[str, Any] = {
    "absolute": np.absolute,
    "ceil": ceil,
    "erlang_c": lambda servers, load: np.float64(erlang_c(servers, load)),
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
    "slots_busy": lambda *args: np.float64(slots_busy(*args)),
    "slots_busy_slope": lambda *args: np.float64(slots_busy_slope(*args)),
    "sqrt": np.sqrt,
    "where": lambda condition, then, otherwise: np.float64(then if condition else otherwise),
}
