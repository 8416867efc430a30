"""A System on JAX arrays: the pure function for a user's own use.

float64 is switched on by a scoped context around each call; the global flag is never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from mlsysim.backends.compiled import CompiledFunction, compiled, graph_of, of_graph
from mlsysim.graph.passes import ITERATED, guarded, known
from mlsysim.symbolic import System

Values = Mapping[str, Any]
Pure = Callable[[Mapping[str, Any]], dict[str, Any]]

#: XLA takes longer to compile more operations than these together than one by one, unless they stand in loops: each of
#: those is compiled as a whole anyway, and at every call again where it is called by itself.
LARGEST = 600
LARGEST_WITH_LOOPS = 6_000
#: Arrays of up to so many numbers are computed in NumPy, where JAX follows none of them.
SMALL = 1 << 20


@lru_cache(maxsize=256)
def pure_function(system: System, outputs: tuple[str, ...]) -> Pure:
    """The outputs as a pure JAX function of a dict of canonical inputs.

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
    return _pure(compiled(system, outputs, "jax"), outputs, labels)


def _pure(function: CompiledFunction, outputs: tuple[str, ...], labels: Collection[str] = ()) -> Pure:
    import jax.numpy as jnp

    def pure(values: Values) -> dict[str, Any]:
        given = [values[name] for name in function.inputs]
        try:
            results = function.raw(*given)
        except ArithmeticError:
            # Python's floats raise where arrays are infinite; JAX takes the type of other operands for either.
            results = function.raw(*map(jnp.asarray, given))
        found = dict(zip(function.outputs, results, strict=True))
        return {name: _labelled(found[name]) if name in labels else found[name] for name in outputs}

    return pure


def _labelled(code: Any) -> Any:
    """Places of labels, as whole numbers."""
    import jax.numpy as jnp

    return jnp.asarray(code, jnp.result_type(int))


def has_known(given: Values) -> bool:
    """True if JAX follows some of the values, and each is one number that need not be whole.

    A function that knows the others has neither the shape nor the type of these.
    """
    import jax.numpy as jnp

    return any(map(is_traced, given.values())) and all(
        np.shape(value) == () and jnp.issubdtype(jnp.result_type(value), jnp.floating) for value in given.values()
    )


@lru_cache(maxsize=256)
def known_function(system: System, outputs: tuple[str, ...], held: tuple[tuple[str, float], ...]) -> Pure | None:
    """The outputs as a function of the inputs that are not held, compiled by XLA as a whole.

    Outside of ``jit``, JAX compiles every operation by itself, a few milliseconds each, and calls them one by one.

    Parameters
    ----------
    system, outputs
        As for :func:`pure_function`.
    held : tuple of (str, float)
        Names and canonical values of the other inputs.

    Returns
    -------
    callable or None
        As :func:`pure_function`, of numbers; None where that takes less time, or keeps whole numbers.
    """
    import jax

    if any(system[name].variable.domain.kind != "real" for name in outputs):
        return None
    whole = graph_of(system, outputs)
    graph = known(replace(whole, outputs={name: whole.outputs[name] for name in outputs}), dict(held))
    if graph.size > (LARGEST_WITH_LOOPS if graph.has(*ITERATED) else LARGEST):
        return None
    return jax.jit(_pure(of_graph(guarded(graph), "jax"), outputs))


def concrete_function(system: System, outputs: tuple[str, ...]) -> Pure:
    """As :func:`pure_function` for values that JAX does not follow: as fast as ``solve``, since XLA compiles nothing.

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
            found = compiled(system, outputs, "vector")(arrays)
        else:
            found = compiled(system)({name: float(array) for name, array in arrays.items()})
        real = jnp.result_type(float, *(value for value in values.values() if not isinstance(value, float)))
        types = {"boolean": jnp.result_type(bool), "choice": jnp.result_type(int)}
        kinds = {name: system[name].variable.domain.kind for name in outputs}
        return {name: jnp.asarray(found[name], types.get(kinds[name], real)) for name in outputs}

    return concrete


def is_traced(value: Any) -> bool:
    """True if a value is one that JAX follows through a function, and has no number yet."""
    from jax.core import Tracer

    return isinstance(value, Tracer)


def default_dtype() -> np.dtype:
    """Type that JAX makes of a Python float."""
    import jax.numpy as jnp

    return np.dtype(jnp.result_type(float))


@lru_cache(maxsize=256)
def _jitted(system: System, outputs: tuple[str, ...]) -> Pure:
    import jax

    return jax.jit(pure_function(system, outputs))


def evaluate(system: System, outputs: Sequence[str], values: Values) -> dict[str, np.ndarray]:
    """Outputs on a grid, in float64.

    Parameters
    ----------
    system : System
        Formulas.
    outputs : sequence of str
        Names to compute.
    values : mapping
        Canonical array per input name; arrays broadcast against each other.

    Returns
    -------
    dict
        NumPy array per output, over the axes it depends on.
    """
    return _in_float64(_jitted(system, tuple(outputs)), values)


@lru_cache(maxsize=256)
def iterates(system: System, outputs: tuple[str, ...] | None = None) -> bool:
    """True if an output, of all by default, is computed in a loop at every point."""
    return graph_of(system, outputs).has(*ITERATED)


def _in_float64(function: Any, values: Values) -> Any:
    import jax

    with jax.enable_x64(True):
        arguments = {name: np.asarray(value, np.float64) for name, value in values.items()}
        return jax.tree.map(np.asarray, function(arguments))
