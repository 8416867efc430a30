"""The functions compiled code calls on JAX arrays. Imported only when a grid is evaluated."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from mlsysim.engine import functions
from mlsysim.engine.functions import State
from mlsysim.symbolic.functions import erlang_c_slope


@cache
def namespace() -> dict[str, Any]:
    """Names compiled code uses, bound to ``jax.numpy``."""
    import jax.numpy as jnp

    on = arithmetic()
    return {
        "absolute": jnp.abs,
        "beside": partial(functions.beside, on),
        "ceil": partial(functions.ceil, on),
        "erlang_c": _erlang_c(),
        "erlang_c_slope": erlang_c_slope,
        "exp": jnp.exp,
        "floor": partial(functions.floor, on),
        "inf": jnp.inf,
        "least_integer": least_integer,
        "log": jnp.log,
        "maximum": on.maximum,
        "minimum": on.minimum,
        "mod": jnp.mod,
        "nan": jnp.nan,
        "slots_busy": _slots_busy(),
        "slots_busy_slope": partial(functions.slots_busy_slope, on),
        "sqrt": jnp.sqrt,
        "where": jnp.where,
    }


@cache
def arithmetic() -> Any:
    """The arithmetic of JAX arrays; see :class:`mlsysim.engine.functions.Arithmetic`."""
    import jax
    import jax.numpy as jnp

    class JaxArrays:
        where = staticmethod(jnp.where)
        floor = staticmethod(jnp.floor)
        nearest = staticmethod(jnp.rint)
        log = staticmethod(jnp.log)
        power = staticmethod(jnp.power)

        # At a tie jnp.maximum halves the derivative; these take the first argument, as the closed form does.
        @staticmethod
        def maximum(left: Any, right: Any) -> Any:
            return jnp.where((left >= right) | (left != left), left, right)

        @staticmethod
        def minimum(left: Any, right: Any) -> Any:
            return jnp.where((left <= right) | (left != left), left, right)

        @staticmethod
        def together(*values: Any) -> tuple[Any, ...]:
            real = _real(*values)
            return tuple(jnp.broadcast_arrays(*(jnp.asarray(value, real) for value in values)))

        @staticmethod
        def constant(value: float, x: Any) -> Any:
            return jnp.full_like(x, value)

        @staticmethod
        def precision(x: Any) -> Any:
            return jnp.finfo(_real(x)).eps

        @staticmethod
        def largest(x: Any) -> float:
            return 1.0 / functions.NEVER_WAITS if x.dtype == jnp.float64 else 1e30

        @staticmethod
        def alike(truth: Any, x: Any) -> Any:
            return jnp.broadcast_to(truth, jnp.shape(x))

        @staticmethod
        def iterate(step: Callable[..., State], state: State, fixed: State) -> State:
            """Take steps at every point until none is going; those that are not keep their state."""

            def one(state: State) -> State:
                after = zip(step(*state, *fixed), state, strict=True)
                return tuple(jnp.where(state[0], new, old) for new, old in after)

            return jax.lax.while_loop(lambda state: jnp.any(state[0]), one, state)

    return JaxArrays()


def _real(*values: Any) -> Any:
    """The floating dtype of values together: that of the caller, float32 or wider."""
    import jax.numpy as jnp

    return jnp.promote_types(jnp.result_type(*values, 1.0), jnp.float32)


def _erlang_c() -> Callable[[Any, Any], Any]:
    import jax
    import jax.numpy as jnp

    erlang_c = jax.custom_jvp(partial(functions.erlang_c, arithmetic()))

    @erlang_c.defjvp
    def slope(primals: Any, tangents: Any) -> Any:
        servers, load = primals
        wait = erlang_c(servers, load)
        stable = load < servers
        offered, waiting = jnp.where(stable, load, servers / 2), jnp.where(stable, wait, 0.5)
        return wait, jnp.where(stable, erlang_c_slope(servers, offered, waiting), 0.0) * tangents[1]

    return erlang_c


def _slots_busy() -> Callable[..., Any]:
    import jax

    slots_busy = jax.custom_jvp(partial(functions.slots_busy, arithmetic()))

    @slots_busy.defjvp
    def slope(primals: Any, tangents: Any) -> Any:
        slopes = (functions.slots_busy_slope(arithmetic(), which, *primals) for which in (2, 3, 4, 5))
        return slots_busy(*primals), sum(found * tangent for found, tangent in zip(slopes, tangents[1:], strict=True))

    return slots_busy


def least_integer(condition: Callable[..., Any], limit: Any, given: State, beyond: Any = 0.0) -> Any:
    """Smallest number, whose derivative is zero; see :func:`mlsysim.engine.functions.least_integer`."""
    import jax

    limit, given, beyond = jax.lax.stop_gradient((limit, tuple(given), beyond))
    return functions.least_integer(arithmetic(), condition, limit, given, beyond)
