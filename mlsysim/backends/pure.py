"""Systems on JAX arrays: the pure function for a user's own use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from mlsysim.backends.compiled import compiled, graph_of, of_graph
from mlsysim.graph import Graph
from mlsysim.graph.passes import ITERATED, derivative, known
from mlsysim.graph.passes.derivative import BY
from mlsysim.symbolic import System

Values = Mapping[str, Any]
Pure = Callable[[Mapping[str, Any]], dict[str, Any]]

#: Most operations that XLA compiles together faster than one by one; more if some stand in loops, each of which is
#: compiled as a whole anyway, and at every call again if it is called by itself.
LARGEST = 600
LARGEST_WITH_LOOPS = 6_000
#: Most numbers of an array that is computed in NumPy if JAX traces no input.
SMALL = 1 << 20


@lru_cache(maxsize=256)
def pure_function(system: System, outputs: tuple[str, ...]) -> Pure:
    """Outputs as a pure JAX function of a dict of canonical inputs.

    Parameters
    ----------
    system : System
        Formulas to compile.
    outputs : tuple of str
        Names to return.

    Returns
    -------
    callable
        ``f(values) -> dict``, traceable by ``jit``, ``grad`` and ``vmap``, in the dtype of its inputs.
    """
    labels = {name for name in outputs if system[name].variable.domain.kind == "choice"}
    return _pure(graph_of(system, outputs), outputs, labels)


def _pure(graph: Graph, outputs: tuple[str, ...], labels: Collection[str] = ()) -> Pure:
    function = _differentiable(graph)

    def pure(values: Values) -> dict[str, Any]:
        results = dict(zip(graph.outputs, function(*(values[name] for name in graph.inputs)), strict=True))
        return {name: _labelled(results[name]) if name in labels else results[name] for name in outputs}

    return pure


@lru_cache(maxsize=256)
def _differentiable(graph: Graph) -> Callable[..., tuple[Any, ...]]:
    """Outputs of a graph as a function of its inputs; JAX differentiates it by the derivative of the graph."""
    import jax
    import jax.numpy as jnp

    raw = of_graph(graph, "jax").raw

    @jax.custom_jvp
    def function(*arguments: Any) -> tuple[Any, ...]:
        try:
            return tuple(raw(*arguments))
        except ArithmeticError:
            # Python's floats raise where arrays are infinite; JAX takes the type of other operands for either.
            return tuple(raw(*map(jnp.asarray, arguments)))

    def slope(primals: Any, tangents: Any) -> Any:
        moving = {
            name: tangent
            for name, tangent in zip(graph.inputs, tangents, strict=True)
            if not isinstance(tangent, jax.custom_derivatives.SymbolicZero)
        }
        outputs, arguments = tuple(graph.outputs), dict(zip(graph.inputs, primals, strict=True))
        partials = derivative(graph, outputs, moving)
        results = dict(
            zip(
                partials.outputs,
                _differentiable(partials)(*(arguments[key] for key in partials.inputs)),
                strict=True,
            )
        )
        values = [jnp.asarray(results[name]) for name in outputs]
        along: dict[str, Any] = dict.fromkeys(outputs, 0.0)
        for name in outputs:
            for by, tangent in moving.items():
                if f"{name}{BY}{by}" in results:
                    along[name] += results[f"{name}{BY}{by}"] * tangent
        return tuple(values), tuple(map(_slope, values, along.values()))

    function.defjvp(slope, symbolic_zeros=True)
    return function


def _slope(value: Any, slope: Any) -> Any:
    """Slope of the type and shape of a value; for whole numbers, the zero tangent that JAX expects."""
    import jax
    import jax.numpy as jnp

    if not jnp.issubdtype(value.dtype, jnp.floating):
        return np.zeros(value.shape, jax.dtypes.float0)
    return jnp.broadcast_to(jnp.asarray(slope, value.dtype), value.shape)


def _labelled(code: Any) -> Any:
    """Codes of labels, as whole numbers."""
    import jax.numpy as jnp

    return jnp.asarray(code, jnp.result_type(int))


def has_known(values: Values) -> bool:
    """True if JAX traces some of the values, and each is one number that need not be whole.

    A function that is specialised on the other inputs has neither their shape nor their type.
    """
    import jax.numpy as jnp

    return any(map(is_traced, values.values())) and all(
        np.shape(value) == () and jnp.issubdtype(jnp.result_type(value), jnp.floating) for value in values.values()
    )


@lru_cache(maxsize=256)
def known_function(system: System, outputs: tuple[str, ...], fixed: tuple[tuple[str, float], ...]) -> Pure | None:
    """Outputs as a function of the inputs that are not fixed, compiled by XLA as a whole.

    Outside of ``jit``, JAX compiles every operation by itself, a few milliseconds each, and calls them one by one.

    Parameters
    ----------
    system, outputs
        As for :func:`pure_function`.
    fixed : tuple of (str, float)
        Names and canonical values of the other inputs.

    Returns
    -------
    callable or None
        Like :func:`pure_function`, for numbers; None if that takes less time, or keeps whole numbers.
    """
    import jax

    if any(system[name].variable.domain.kind != "real" for name in outputs):
        return None
    whole = graph_of(system, outputs)
    graph = known(replace(whole, outputs={name: whole.outputs[name] for name in outputs}), dict(fixed))
    if graph.size > (LARGEST_WITH_LOOPS if graph.has(*ITERATED) else LARGEST):
        return None
    return jax.jit(_pure(graph, outputs))


def concrete_function(system: System, outputs: tuple[str, ...]) -> Pure:
    """Outputs as a function of values that JAX does not trace: as fast as ``solve``, since XLA compiles nothing.

    Arrays of more than a million points are left to XLA.

    Parameters
    ----------
    system : System
        Formulas to compile.
    outputs : tuple of str
        Names to return.

    Returns
    -------
    callable
        ``f(values) -> dict`` of JAX arrays, in the dtype of its inputs; computed in float64.
    """
    import jax.numpy as jnp

    def concrete(values: Values) -> dict[str, Any]:
        if max(map(np.size, values.values()), default=0) > SMALL:
            return pure_function(system, outputs)(values)
        arrays: dict[str, Any] = {name: np.asarray(value, np.float64) for name, value in values.items()}
        if any(array.ndim for array in arrays.values()):
            results = compiled(system, outputs, "vector")(arrays)
        else:
            results = compiled(system)({name: float(array) for name, array in arrays.items()})
        real = jnp.result_type(float, *(value for value in values.values() if not isinstance(value, float)))
        types = {"boolean": jnp.result_type(bool), "choice": jnp.result_type(int)}
        kinds = {name: system[name].variable.domain.kind for name in outputs}
        return {name: jnp.asarray(results[name], types.get(kinds[name], real)) for name in outputs}

    return concrete


def is_traced(value: Any) -> bool:
    """True if a value is a tracer of JAX, and has no number yet."""
    from jax.core import Tracer

    return isinstance(value, Tracer)


def default_dtype() -> np.dtype:
    """Type that JAX gives a Python float."""
    import jax.numpy as jnp

    return np.dtype(jnp.result_type(float))


@lru_cache(maxsize=256)
def iterates(system: System, outputs: tuple[str, ...] | None = None) -> bool:
    """True if an output, of all by default, is computed in a loop at every point."""
    return graph_of(system, outputs).has(*ITERATED)
