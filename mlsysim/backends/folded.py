"""A pure JAX function of a few inputs with the rest folded in, so that XLA compiles one small program.

Outside of ``jit``, JAX compiles every operation by itself, a few milliseconds each, and calls them one by one. What
depends on no input that is differentiated is computed in NumPy here, while the function is recorded; what is left is
handed to JAX as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from operator import itemgetter
from types import FunctionType
from typing import Any

import numpy as np

from mlsysim.backends import arrays, vector
from mlsysim.backends.compiled import compiled
from mlsysim.backends.grid import Pure, is_traced
from mlsysim.backends.programs.recording import Recorder, UnrecordableError, recorder_of
from mlsysim.backends.programs.replay import Replay
from mlsysim.graph.floats import State
from mlsysim.symbolic import System

#: XLA takes longer to compile more operations than these together than one by one, unless they stand in loops: each of
#: those is compiled as a whole anyway, and at every call again where it is called by itself.
LARGEST = 600
LARGEST_WITH_LOOPS = 6_000


def is_foldable(given: Mapping[str, Any]) -> bool:
    """Whether JAX follows some of the values, and each is one number that need not be whole.

    What is folded has neither the shape nor the type of its operands.
    """
    import jax.numpy as jnp

    return any(map(is_traced, given.values())) and all(
        np.shape(value) == () and jnp.issubdtype(jnp.result_type(value), jnp.floating) for value in given.values()
    )


@lru_cache(maxsize=256)
def folded(system: System, outputs: tuple[str, ...], held: tuple[tuple[str, float], ...]) -> Pure | None:
    """The outputs as a function of the inputs that are not held, compiled by XLA as a whole.

    Parameters
    ----------
    system : System
        Formulas to compile.
    outputs : tuple of str
        Names to return.
    held : tuple of (str, float)
        Names and canonical values of the other inputs.

    Returns
    -------
    callable or None
        As :func:`mlsysim.backends.pure_function`, of numbers; None where that takes less time, or keeps whole numbers.
    """
    import jax

    if any(system[name].variable.domain.kind != "real" for name in outputs):
        return None
    function, recorder = compiled(system, outputs, "jax"), Recorder()
    values: dict[str, Any] = {name: np.float64(value) for name, value in held}
    names = [name for name in function.inputs if name not in values]
    values.update(zip(names, recorder.inputs(len(names)), strict=True))
    raw = function.on(_namespace())
    try:
        with np.errstate(all="ignore"):
            found = dict(zip(function.outputs, raw(*map(values.__getitem__, function.inputs)), strict=True))
    except UnrecordableError:
        return None
    functions = {
        name: each if name.startswith("call ") else arrays.operation(name) for name, each in recorder.functions.items()
    }
    replay = Replay(recorder, [found[name] for name in outputs], arrays.namespace()["root"], functions)
    if len(replay) > (LARGEST_WITH_LOOPS if replay.iterates else LARGEST):
        return None

    def pure(x: Mapping[str, Any]) -> dict[str, Any]:
        return dict(zip(outputs, replay([x[name] for name in names]), strict=True))

    return jax.jit(pure)


@cache
def _namespace() -> dict[str, Any]:
    """Names compiled code uses, bound to what can be recorded; searches are recorded as calls of JAX."""
    return {**vector.NAMESPACE, "least_integer": least_integer, "chunked_prefill": chunked_prefill}


def least_integer(condition: Callable[..., Any], limit: Any, given: State, beyond: Any = 0.0) -> Any:
    """Smallest number; see :func:`mlsysim.graph.operations.least_integer.least_integer`."""
    recorder = recorder_of((limit, beyond, *given))
    if recorder is None:
        return vector.least_integer(condition, limit, given, beyond)
    on_jax = FunctionType(condition.__code__, arrays.namespace())
    return recorder.call(
        lambda limit, beyond, *given: arrays.least_integer(on_jax, limit, given, beyond), (limit, beyond, *given)
    )


def chunked_prefill(asked: Any, tau: Any, arguments: State, given: State, slopes: Any) -> list[Any]:
    """What requests see under chunked prefill; see :class:`mlsysim.symbolic.ChunkedPrefill`."""
    recorder, count = recorder_of((*arguments, *given)), len(arguments)
    if recorder is None:
        return vector.chunked_prefill(asked, tau, arguments, given, slopes)
    law = recorder.call(
        lambda *values: arrays.chunked_prefill(asked, tau, values[:count], values[count:], slopes), (*arguments, *given)
    )
    return [recorder.call(itemgetter(place), (law,)) for place in range(len(asked))]
