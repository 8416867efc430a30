"""Functions that compiled code calls on JAX arrays. Imported only when a grid is evaluated."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from mlsysim.graph import TABLE
from mlsysim.graph.floats import LARGEST, State
from mlsysim.graph.operations import least_integer as of_least_integer
from mlsysim.graph.operations import root as of_root


@cache
def namespace() -> dict[str, Any]:
    """Names that compiled code uses, bound to ``jax.numpy``."""
    import jax
    import jax.numpy as jnp

    on = arithmetic()
    written = {name: operation for name, operation in TABLE.items() if operation.numerics is not None}
    return {
        **{name: partial(operation.numerics, on) for name, operation in written.items()},  # type: ignore[arg-type]
        "absolute": jnp.abs,
        "chunked_prefill": chunked_prefill,
        "exp": jnp.exp,
        "inf": jnp.inf,
        "least_integer": partial(of_least_integer.least_integer, on),
        "log": jnp.log,
        "maximum": on.maximum,
        "minimum": on.minimum,
        "mod": jnp.mod,
        "nan": jnp.nan,
        "normal_cdf": jax.scipy.special.ndtr,
        "normal_quantile": jax.scipy.special.ndtri,
        "power": operator.pow,
        "root": _root,
        "sqrt": jnp.sqrt,
        "where": jnp.where,
    }


@cache
def arithmetic() -> Any:
    """Arithmetic of JAX arrays; see :class:`mlsysim.graph.Arithmetic`."""
    import jax
    import jax.numpy as jnp

    class JaxArrays:
        where = staticmethod(jnp.where)
        floor = staticmethod(jnp.floor)
        nearest = staticmethod(jnp.rint)
        log = staticmethod(jnp.log)
        sqrt = staticmethod(jnp.sqrt)
        power = staticmethod(jnp.power)

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
        def eps(x: Any) -> Any:
            return jnp.finfo(_real(x)).eps

        @staticmethod
        def largest(x: Any) -> float:
            return LARGEST if x.dtype == jnp.float64 else 1e30

        @staticmethod
        def broadcast_mask(truth: Any, x: Any) -> Any:
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
    """Common floating dtype of values: that of the caller, float32 or wider."""
    import jax.numpy as jnp

    return jnp.promote_types(jnp.result_type(*values, 1.0), jnp.float32)


def _root(residual: Callable[..., Any], lower: Any, upper: Any, captured: State, within: float = 0.0) -> Any:
    """Find the number at which a function is zero; see :func:`mlsysim.graph.operations.root.root`."""
    lower, upper, *rest = arithmetic().together(lower, upper, *captured)

    def number(*values: Any) -> Any:
        return arithmetic().together(residual(*values), values[0])[0]

    return of_root.root(arithmetic(), number, lower, upper, tuple(rest), within)


def chunked_prefill(requested: Any, tau: Any, arguments: State, captured: State, slopes: Any = None) -> Any:
    """Latencies under chunked prefill, solved in NumPy; see :class:`mlsysim.symbolic.ChunkedPrefill`."""
    import jax
    import numpy as np

    from mlsysim.backends import vector

    values = arithmetic().together(*arguments, *captured)
    like = jax.ShapeDtypeStruct(values[0].shape, values[0].dtype)

    def numbers(*values: Any) -> Any:
        moving = [np.asarray(value, float) for value in values]
        latencies = vector.chunked_prefill(
            requested, tau, tuple(moving[: len(arguments)]), tuple(moving[len(arguments) :]), slopes
        )
        return tuple(np.broadcast_to(np.asarray(latency, like.dtype), np.shape(values[0])) for latency in latencies)

    return jax.pure_callback(numbers, (like,) * len(requested), *values, vmap_method="broadcast_all")
