"""The functions compiled code calls on NumPy arrays: a few thousand points at once, without XLA."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsysim.engine import scalar
from mlsysim.engine.budget import look_at_the_clock


def least_integer(condition: Callable[..., Any], limit: Any, given: tuple[Any, ...]) -> np.ndarray:
    """Smallest ``n`` per element that meets a monotone condition, infinite if none does."""
    limit, *given_arrays = np.broadcast_arrays(np.asarray(limit, float), *given)
    shape = limit.shape

    def met(n: np.ndarray) -> np.ndarray:
        return np.broadcast_to(condition(n, *given_arrays), shape)

    below, above = np.zeros(shape), np.minimum(np.ones(shape), limit)
    done = met(above)
    while np.any(open_ := ~done & (above < limit)):
        look_at_the_clock()
        below = np.where(open_, above, below)
        above = np.where(open_, np.minimum(2.0 * above, limit), above)
        done = done | met(above)
    while np.any(open_ := done & (above - below > 1)):
        look_at_the_clock()
        middle = np.where(open_, np.floor((below + above) / 2), above)
        good = met(middle)
        above, below = np.where(open_ & good, middle, above), np.where(open_ & ~good, middle, below)
    return np.where(done, above, math.inf)


def erlang_c(servers: Any, load: Any) -> np.ndarray:
    """Probability of waiting, element by element; one where the queue is not stable, nan without a load."""
    servers, load = np.broadcast_arrays(np.asarray(servers, float), np.asarray(load, float))
    stable = (load > 0) & (load < servers)
    count, offered = np.where(stable, servers, 1.0), np.where(stable, load, 0.5)
    ceiling = 1.0 / scalar.NEVER_WAITS
    left, term, total = count, np.ones_like(offered), np.ones_like(offered)
    while np.any(open_ := (left > 0) & (total < ceiling) & ~((left < offered) & (term < 1e-17 * total))):
        look_at_the_clock()
        term = np.where(open_, term * np.maximum(left, 0.0) / offered, term)
        total = np.where(open_, total + term, total)
        left = np.where(open_, left - 1.0, left)
    blocking = 1.0 / total
    wait = count * blocking / (count - offered * (1.0 - blocking))
    return np.where(stable, np.maximum(wait, scalar.NEVER_WAITS), np.where(load >= servers, 1.0, math.nan))


def slots_busy(slots: Any, a: Any, b: Any, e: Any, tail: Any) -> np.ndarray:
    """Probability that all slots are taken, element by element; see :class:`mlsysim.symbolic.SlotsBusy`."""
    shape = np.broadcast_shapes(*map(np.shape, (slots, a, b, e, tail)))
    left, a, b, e = (np.broadcast_to(np.asarray(each, float), shape).ravel() for each in (slots, a, b, e))
    total = np.zeros(left.shape)
    ceiling, place = 1.0 / scalar.NEVER_WAITS, np.nonzero(left >= 1)[0]
    left, a, b, e = left[place], a[place], b[place], e[place]
    term, sums = np.ones(left.shape), np.zeros(left.shape)
    with np.errstate(all="ignore"):
        while place.size:
            look_at_the_clock()
            rate = (a + b * left) / left
            thinning = rate**e
            idle = ~((rate > 0) & (thinning > 0))
            term = term / thinning
            sums = np.where(idle, math.inf, sums + term)
            left = left - 1.0
            open_ = (left >= 1) & (sums < ceiling) & ~((rate > 1) & (term < 1e-17 * sums))
            if not open_.all():
                total[place[~open_]] = sums[~open_]
                place = place[open_]
                left, a, b, e, term, sums = (each[open_] for each in (left, a, b, e, term, sums))
        total, tail = total.reshape(shape), np.broadcast_to(np.asarray(tail, float), shape)
        return np.where(np.isinf(total), 0.0, np.where(total + tail != 0, tail / (total + tail), math.nan))


#: The slope is taken one by one: no grid is differentiated in NumPy.
NAMESPACE: dict[str, Any] = {
    **scalar.NAMESPACE,
    "erlang_c": erlang_c,
    "least_integer": least_integer,
    "slots_busy": slots_busy,
    "slots_busy_slope": np.vectorize(scalar.slots_busy_slope, otypes=[float]),
    "where": np.where,
}
