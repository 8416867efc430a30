"""The functions compiled code calls on JAX arrays. Imported only when a grid is evaluated."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from mlsysim.engine.scalar import NEVER_WAITS, ROUNDINGS
from mlsysim.symbolic.functions import erlang_c_slope


@cache
def namespace() -> dict[str, Any]:
    """Names compiled code uses, bound to ``jax.numpy``."""
    import jax.numpy as jnp

    return {
        "absolute": jnp.abs,
        "ceil": ceil,
        "erlang_c": _erlang_c(),
        "erlang_c_slope": erlang_c_slope,
        "exp": jnp.exp,
        "floor": floor,
        "inf": jnp.inf,
        "least_integer": least_integer,
        "log": jnp.log,
        # At a tie jnp.maximum halves the derivative; these take the first argument, as the closed form does.
        "maximum": lambda left, right: jnp.where((left >= right) | (left != left), left, right),
        "minimum": lambda left, right: jnp.where((left <= right) | (left != left), left, right),
        "mod": jnp.mod,
        "nan": jnp.nan,
        "slots_busy": _slots_busy(),
        "slots_busy_slope": slots_busy_slope,
        "sqrt": jnp.sqrt,
        "where": jnp.where,
    }


def ceil(x: Any) -> Any:
    """The ceiling; a quotient within rounding of a whole number is that number."""
    import jax.numpy as jnp

    nearest = jnp.rint(x)
    return jnp.where(x - nearest <= _rounding(x), nearest, nearest + 1)


def floor(x: Any) -> Any:
    """The floor; a quotient within rounding of a whole number is that number."""
    import jax.numpy as jnp

    nearest = jnp.rint(x)
    return jnp.where(nearest - x <= _rounding(x), nearest, nearest - 1)


def _rounding(x: Any) -> Any:
    import jax.numpy as jnp

    return ROUNDINGS * jnp.finfo(_real(x)).eps * jnp.abs(x)


def _real(*values: Any) -> Any:
    """The floating dtype of values together: that of the caller, float32 or wider."""
    import jax.numpy as jnp

    return jnp.promote_types(jnp.result_type(*values, 1.0), jnp.float32)


def _erlang_c() -> Callable[[Any, Any], Any]:
    import jax
    import jax.numpy as jnp

    @jax.custom_jvp
    def erlang_c(servers: Any, load: Any) -> Any:
        """Probability of waiting, element-wise; one where the queue is not stable, nan without a load."""
        real = _real(servers, load)
        servers, load = jnp.broadcast_arrays(jnp.asarray(servers, real), jnp.asarray(load, real))
        stable = (load > 0) & (load < servers)
        count, offered = jnp.where(stable, servers, 1.0), jnp.where(stable, load, 0.5)
        # Totals must stay finite at the working precision of a caller who chose float32.
        ceiling = 1.0 / NEVER_WAITS if offered.dtype == jnp.float64 else 1e30

        def growing(state: Any) -> Any:
            left, term, total = state
            settled = (left < offered) & (term < 1e-17 * total)
            return jnp.any((left > 0) & (total < ceiling) & ~settled)

        def add_term(state: Any) -> Any:
            left, term, total = state
            term = jnp.where(total < ceiling, term * jnp.maximum(left, 0.0) / offered, term)
            return left - 1.0, term, jnp.where(total < ceiling, total + term, total)

        ones = jnp.ones_like(offered)
        _, _, total = jax.lax.while_loop(growing, add_term, (count, ones, ones))
        blocking = 1.0 / total
        wait = count * blocking / (count - offered * (1.0 - blocking))
        return jnp.where(stable, jnp.maximum(wait, 1.0 / ceiling), jnp.where(load >= servers, 1.0, jnp.nan))

    @erlang_c.defjvp
    def slope(primals: Any, tangents: Any) -> Any:
        servers, load = primals
        wait = erlang_c(servers, load)
        stable = load < servers
        offered, waiting = jnp.where(stable, load, servers / 2), jnp.where(stable, wait, 0.5)
        return wait, jnp.where(stable, erlang_c_slope(servers, offered, waiting), 0.0) * tangents[1]

    return erlang_c


def slots_busy_series(slots: Any, a: Any, b: Any, e: Any) -> tuple[Any, ...]:
    """``sum_{j<m} u_j / u_m`` of :class:`SlotsBusy` and minus its relative slopes by a, b and e, element-wise.

    The slopes are means over the terms, so that they are finite however large the sum.
    """
    import jax
    import jax.numpy as jnp

    real = _real(slots, a, b, e)
    slots, a, b, e = jnp.broadcast_arrays(*(jnp.asarray(value, real) for value in (slots, a, b, e)))
    ceiling = 1.0 / NEVER_WAITS if real == jnp.float64 else 1e30
    arriving = (a + b > 0) & (a >= 0) & (b >= 0)
    a = jnp.where(arriving, a, 1.0)

    def open_(state: Any) -> Any:
        return (state["i"] >= 1) & (state["total"] < ceiling) & ~state["settled"]

    def add_term(state: Any) -> Any:
        going, i = open_(state), jnp.maximum(state["i"], 1.0)
        rate = (a + b * i) / i
        term = state["term"] / rate**e
        inverse, weighted = state["inverse"] + 1.0 / (a + b * i), state["weighted"] + i / (a + b * i)
        logs, total = state["logs"] + jnp.log(rate), state["total"] + term
        weight = term / total
        new = {
            "i": i - 1.0,
            "term": term,
            "total": total,
            "inverse": inverse,
            "weighted": weighted,
            "logs": logs,
            "by_a": state["by_a"] + weight * (e * inverse - state["by_a"]),
            "by_b": state["by_b"] + weight * (e * weighted - state["by_b"]),
            "by_e": state["by_e"] + weight * (logs - state["by_e"]),
            "settled": (rate > 1) & (term < 1e-17 * total),
        }
        return {name: jnp.where(going, value, state[name]) for name, value in new.items()}

    zeros = jnp.zeros_like(a)
    start = dict.fromkeys(("total", "inverse", "weighted", "logs", "by_a", "by_b", "by_e"), zeros)
    start |= {"i": slots, "term": zeros + 1.0, "settled": ~arriving}
    end = jax.lax.while_loop(lambda state: jnp.any(open_(state)), add_term, start)
    total = jnp.where(arriving, end["total"], jnp.inf)
    return total, *(jnp.where(arriving, end[name], 0.0) for name in ("by_a", "by_b", "by_e"))


def slots_busy_slope(which: int, slots: Any, a: Any, b: Any, e: Any, tail: Any) -> Any:
    """Derivative of :class:`SlotsBusy` by one of its arguments, counted from 1."""
    import jax.numpy as jnp

    total, *slopes = slots_busy_series(slots, a, b, e)
    finite = jnp.isfinite(total)
    total = jnp.where(finite, total, 1.0)
    # Not a quotient of quotients: XLA would multiply the divisors, whose square overflows.
    free = 1.0 / (1.0 + tail / total)
    found = free / (total + tail) if which == 5 else free * slopes[which - 2] * (tail / (total + tail))
    return jnp.where(finite, found, 0.0)


def _slots_busy() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    @jax.custom_jvp
    def slots_busy(slots: Any, a: Any, b: Any, e: Any, tail: Any) -> Any:
        """Probability that all slots are taken, element-wise."""
        total, *_ = slots_busy_series(slots, a, b, e)
        finite = jnp.isfinite(total)
        return jnp.where(finite, tail / (jnp.where(finite, total, 1.0) + tail), 0.0)

    @slots_busy.defjvp
    def slope(primals: Any, tangents: Any) -> Any:
        found = sum(slots_busy_slope(which, *primals) * tangents[which - 1] for which in (2, 3, 4, 5))
        return slots_busy(*primals), found

    return slots_busy


def least_integer(condition: Callable[..., Any], limit: Any, given: tuple[Any, ...]) -> Any:
    """Smallest ``n`` per element that meets a monotone condition, infinite if none does.

    Its derivative is zero: the inputs are held constant.
    """
    import jax
    import jax.numpy as jnp

    limit, given = jax.lax.stop_gradient((jnp.asarray(limit, _real(limit, *given)), tuple(given)))
    shape = jnp.broadcast_shapes(limit.shape, *(jnp.shape(value) for value in given))
    limit = jnp.broadcast_to(limit, shape)

    def met(n: Any) -> Any:
        return jnp.broadcast_to(condition(n, *given), shape)

    def galloping(state: Any) -> Any:
        _, above, done = state
        return jnp.any(~done & (above < limit))

    def gallop(state: Any) -> Any:
        below, above, done = state
        farther = jnp.minimum(2.0 * above, limit)
        below, above = jnp.where(done, below, above), jnp.where(done, above, farther)
        return below, above, done | met(above)

    zeros = jnp.zeros(shape, limit.dtype)
    start = jnp.minimum(zeros + 1.0, limit)
    below, above, done = jax.lax.while_loop(galloping, gallop, (zeros, start, met(start)))

    def between(state: Any) -> Any:
        """A whole number between, and where there is one: above 2**24 not every one is a float32."""
        low, high = state
        middle = jnp.floor((low + high) / 2)
        return middle, (low < middle) & (middle < high)

    def wide(state: Any) -> Any:
        return jnp.any(between(state)[1])

    def halve(state: Any) -> Any:
        low, high = state
        middle, open_ = between(state)
        ok = met(middle)
        return jnp.where(open_ & ~ok, middle, low), jnp.where(open_ & ok, middle, high)

    _, above = jax.lax.while_loop(wide, halve, (below, above))
    return jnp.where(done, above, jnp.inf)
