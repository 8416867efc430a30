"""The functions compiled code calls on JAX arrays. Imported only when a grid is evaluated."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from mlsysim.graph import TABLE, Builder
from mlsysim.graph.floats import LARGEST, State
from mlsysim.graph.operations import least_integer as of_least_integer
from mlsysim.graph.operations import root as of_root
from mlsysim.graph.printer import Printer


@cache
def namespace() -> dict[str, Any]:
    """Names compiled code uses, bound to ``jax.numpy``."""
    import jax
    import jax.numpy as jnp

    on = arithmetic()
    written = {name: each for name, each in TABLE.items() if each.numerics is not None}
    iterated = {name for name, each in written.items() if each.partials is not None and each.iterates}
    return {
        **{name: partial(each.numerics, on) for name, each in written.items()},  # type: ignore[arg-type]
        **{name: _differentiable(name) for name in iterated},
        "absolute": jnp.abs,
        "chunked_prefill": chunked_prefill,
        "exp": jnp.exp,
        "inf": jnp.inf,
        "least_integer": least_integer,
        "log": jnp.log,
        "maximum": on.maximum,
        "minimum": on.minimum,
        "mod": jnp.mod,
        "nan": jnp.nan,
        "normal_cdf": jax.scipy.special.ndtr,
        "normal_quantile": jax.scipy.special.ndtri,
        "power": operator.pow,
        "root": _root(),
        "sqrt": jnp.sqrt,
        "where": jnp.where,
    }


@cache
def arithmetic() -> Any:
    """The arithmetic of JAX arrays; see :class:`mlsysim.graph.Arithmetic`."""
    import jax
    import jax.numpy as jnp

    class JaxArrays:
        where = staticmethod(jnp.where)
        floor = staticmethod(jnp.floor)
        nearest = staticmethod(jnp.rint)
        log = staticmethod(jnp.log)
        sqrt = staticmethod(jnp.sqrt)
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
            return LARGEST if x.dtype == jnp.float64 else 1e30

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


def _differentiable(name: str) -> Callable[..., Any]:
    """A special function with the partial derivatives of its entry in the table: XLA has no slopes of its loops."""

    def called(*operands: Any) -> Any:
        fixed = tuple(each if isinstance(each, float | int) else None for each in operands)
        moving = [each for each in operands if not isinstance(each, float | int)]
        if not moving:
            return TABLE[name].numerics(arithmetic(), *operands)  # type: ignore[misc]
        return _by_partials(name, fixed)(*moving)

    return called


@cache
def _by_partials(name: str, fixed: tuple[float | None, ...]) -> Callable[..., Any]:
    """A special function of the operands that are no numbers."""
    import jax

    places = [place for place, each in enumerate(fixed) if each is None]

    @jax.custom_jvp
    def function(*moving: Any) -> Any:
        rest = iter(moving)
        operands = (next(rest) if each is None else each for each in fixed)
        return TABLE[name].numerics(arithmetic(), *operands)  # type: ignore[misc]

    builder = Builder()
    operands = [builder.input(f"_{at}") if each is None else builder.number(each) for at, each in enumerate(fixed)]
    partials = TABLE[name].partials(builder, operands, builder.input("result"))  # type: ignore[misc]
    slopes = {f"{at}": partials[place] for at, place in enumerate(places) if partials[place] is not None}
    graph = builder.graph(slopes)  # type: ignore[arg-type]
    code = compile(Printer("text").function("slopes", graph), "<compiled>", "exec")

    @function.defjvp
    def slope(primals: Any, tangents: Any) -> Any:
        exec(code, space := dict(namespace()))
        given = {f"_{place}": value for place, value in zip(places, primals, strict=True)}
        given["result"] = function(*primals)
        found = space["slopes"](*(given[each] for each in graph.inputs))
        return given["result"], sum(each * tangents[int(at)] for at, each in zip(slopes, found, strict=True))

    return function


def _root() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    @partial(jax.custom_jvp, nondiff_argnums=(0, 1))
    def found(residual: Callable[..., Any], within: float, lower: Any, upper: Any, given: State) -> Any:
        return of_root.root(arithmetic(), residual, lower, upper, given, within)

    @found.defjvp
    def slope(residual: Callable[..., Any], within: float, primals: Any, tangents: Any) -> Any:
        """By the implicit function theorem; an end that is the root moves as it does."""
        lower, upper, given = primals
        x = found(residual, within, lower, upper, given)
        _, linear = jax.linearize(residual, x, *given)
        rise = linear(jnp.ones_like(x), *map(jnp.zeros_like, given))
        moved = linear(jnp.zeros_like(x), *tangents[2])
        flat = rise == 0
        inside = jnp.where(flat, 0.0, -moved / jnp.where(flat, 1.0, rise))
        return x, jnp.where(x == lower, tangents[0], jnp.where(x == upper, tangents[1], inside))

    def root(residual: Callable[..., Any], lower: Any, upper: Any, given: State, within: float = 0.0) -> Any:
        """Number at which a function is zero; see :func:`mlsysim.graph.operations.root.root`."""
        lower, upper, *rest = arithmetic().together(lower, upper, *given)

        def number(*values: Any) -> Any:
            return arithmetic().together(residual(*values), values[0])[0]

        return found(number, within, lower, upper, tuple(rest))

    return root


def chunked_prefill(asked: Any, tau: Any, arguments: State, given: State, slopes: Any) -> Any:
    """Latencies under chunked prefill, solved in NumPy; see :class:`mlsysim.symbolic.ChunkedPrefill`.

    First derivatives by all arguments that move are solved together; there are no second ones.
    """
    import jax
    import numpy as np

    from mlsysim.backends import vector

    count = len(arguments)

    def called(asked: Any, values: Any) -> Any:
        """Numbers that are asked, found in NumPy, of the shape and dtype of the values."""
        like = jax.ShapeDtypeStruct(values[0].shape, values[0].dtype)

        def numbers(*values: Any) -> Any:
            moving = [np.asarray(value, float) for value in values]
            found = vector.chunked_prefill(asked, tau, tuple(moving[:count]), tuple(moving[count:]), slopes)
            return tuple(np.broadcast_to(np.asarray(each, like.dtype), np.shape(values[0])) for each in found)

        return jax.pure_callback(numbers, (like,) * len(asked), *values, vmap_method="broadcast_all")

    @jax.custom_jvp
    def law(*values: Any) -> Any:
        return called(asked, values)

    def slope(primals: Any, tangents: Any) -> Any:
        moving = [
            place for place, each in enumerate(tangents) if not isinstance(each, jax.custom_derivatives.SymbolicZero)
        ]
        found = called([*asked, *((*each, place) for each in asked for place in moving)], primals)
        values, partials = found[: len(asked)], iter(found[len(asked) :])
        return values, tuple(sum(next(partials) * tangents[place] for place in moving) for _ in asked)

    law.defjvp(slope, symbolic_zeros=True)
    return law(*arithmetic().together(*arguments, *given))


def least_integer(condition: Callable[..., Any], limit: Any, given: State, beyond: Any = 0.0) -> Any:
    """Smallest number, whose derivative is zero; see :func:`mlsysim.graph.operations.least_integer.least_integer`."""
    import jax

    limit, given, beyond = jax.lax.stop_gradient((limit, tuple(given), beyond))
    return of_least_integer.least_integer(arithmetic(), condition, limit, given, beyond)
