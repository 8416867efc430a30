"""A System on JAX arrays: whole grids, derivatives, and the pure function for a user's own use.

float64 is switched on by a scoped context around each call; the global flag is never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mlsysim.engine.compiled import compiled
from mlsysim.symbolic import System

Values = Mapping[str, Any]
Pure = Callable[[Mapping[str, Any]], dict[str, Any]]


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
    function = compiled(system, outputs, "jax")

    def pure(values: Values) -> dict[str, Any]:
        found = dict(zip(function.outputs, function.raw(*[values[name] for name in function.inputs]), strict=True))
        return {name: found[name] for name in outputs}

    return pure


@lru_cache(maxsize=256)
def _jitted(system: System, outputs: tuple[str, ...]) -> Pure:
    import jax

    return jax.jit(pure_function(system, outputs))


@lru_cache(maxsize=256)
def _jitted_slopes(system: System, outputs: tuple[str, ...], wrt: tuple[str, ...]) -> Any:
    import jax
    import jax.numpy as jnp

    pure = pure_function(system, outputs)

    def directional(values: Values, name: str) -> dict[str, Any]:
        def along(x: Any) -> dict[str, Any]:
            found = pure({**values, name: x})
            # Truth values and whole numbers have no tangent in JAX; as floats they have a zero one.
            return {output: jnp.asarray(value, float) for output, value in found.items()}

        return jax.jvp(along, (values[name],), (jnp.ones_like(values[name]),))[1]

    return jax.jit(lambda values: {name: directional(values, name) for name in wrt})


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


def slopes(
    system: System, outputs: Sequence[str], wrt: Sequence[str], values: Values
) -> dict[str, dict[str, np.ndarray]]:
    """Derivative of every output with respect to each input, element by element, in float64.

    Parameters
    ----------
    system, outputs, values
        As for :func:`evaluate`.
    wrt : sequence of str
        Inputs to differentiate by.

    Returns
    -------
    dict
        Per input, per output: an array in canonical units.
    """
    return _in_float64(_jitted_slopes(system, tuple(outputs), tuple(wrt)), values)


def _in_float64(function: Any, values: Values) -> Any:
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        arguments = {name: jnp.asarray(value, dtype=jnp.float64) for name, value in values.items()}
        return jax.tree.map(np.asarray, function(arguments))
