"""A System on JAX arrays: whole grids, and the pure function for a user's own use.

float64 is switched on by a scoped context around each call; the global flag is never touched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mlsysim.backends.blocks import Region, all_within, cores, filled
from mlsysim.backends.blocks import shape as shape_of
from mlsysim.backends.compiled import compiled
from mlsysim.backends.output_spec import OutputSpec, ReasonCode
from mlsysim.backends.small import evaluate_small
from mlsysim.backends.specialized import has_roots
from mlsysim.symbolic import ChunkedPrefill, ErlangC, LeastInteger, Root, SlotsBusy, System

#: Points of a block where points are computed in loops, which go on until the last point of a block is done.
TOGETHER = 4096

Values = Mapping[str, Any]
Pure = Callable[[Mapping[str, Any]], dict[str, Any]]


#: Grids of up to so many points are evaluated in NumPy. An operation of a formula takes XLA a few milliseconds to
#: compile, and NumPy a few nanoseconds a point: about a million points, whatever the number of operations. Roots are
#: always found in NumPy: XLA takes minutes to compile them, and goes on until the last point of a block is done.
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
    import jax.numpy as jnp

    function = compiled(system, outputs, "jax")
    labels = {name for name in outputs if system[name].variable.domain.kind == "choice"}

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
    """Whether a value is one that JAX follows through a function, and has no number yet."""
    from jax.core import Tracer

    return isinstance(value, Tracer)


def default_dtype() -> np.dtype:
    """What JAX makes of a Python float."""
    import jax.numpy as jnp

    return np.dtype(jnp.result_type(float))


@lru_cache(maxsize=256)
def _jitted(system: System, outputs: tuple[str, ...]) -> Pure:
    import jax

    return jax.jit(pure_function(system, outputs))


@lru_cache(maxsize=256)
def _jitted_outputs(
    system: System, outputs: tuple[OutputSpec, ...], shape: tuple[int, ...], reason: ReasonCode | None
) -> tuple[tuple[str, ...], Any]:
    """Names of the inputs, and the compiled function of a dict of them."""
    import jax
    import jax.numpy as jnp

    pure = pure_function(system, tuple(output.name for output in outputs))
    code_of = compiled(system, None, "jax", ((reason.name, reason.code),)) if reason else None
    needed = {variable.name for variable in system.closure(output.name for output in outputs).inputs}

    def formed(output: OutputSpec, value: Any, code: Any) -> Any:
        found = output.formed(value, jnp)
        if code is not None:
            found = jnp.where(code == 0, found, jnp.asarray(output.missing, output.dtype))
        return jnp.broadcast_to(found, shape)

    @jax.jit
    def all_outputs(values: Values) -> dict[str, Any]:
        found, code = pure(values), None
        if code_of is not None:
            (code,) = code_of.raw(*(values[name] for name in code_of.inputs))
            code = jnp.asarray(code, jnp.int8)
        arrays = {output.name: formed(output, found[output.name], code) for output in outputs}
        return arrays if reason is None else arrays | {reason.name: jnp.broadcast_to(jnp.asarray(code), shape)}

    return tuple(sorted(needed.union(code_of.inputs if code_of else ()))), all_outputs


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


def evaluate_outputs(
    system: System,
    outputs: Sequence[OutputSpec],
    values: Values,
    shape: Sequence[int],
    *,
    reason: ReasonCode | None = None,
    total: int | None = None,
) -> dict[str, np.ndarray]:
    """Outputs on a grid, each in the unit and type asked for, in one pass over the points.

    Parameters
    ----------
    system, values
        As for :func:`evaluate`.
    outputs : sequence of OutputSpec
        What to compute, and in which unit and type to return it.
    shape : sequence of int
        Length of each axis: the shape of every array returned.
    reason : ReasonCode, optional
        Why points are refused: there every output is missing. The codes are returned too.
    total : int, optional
        Points of the whole grid if this is a block of it, so that all its blocks are computed alike.

    Returns
    -------
    dict
        NumPy array per output. Several JAX devices share the longest axis they divide.
    """
    names = tuple(output.name for output in outputs)
    iterated = iterates(system, names)
    threads = cores() if iterated else 1  # calls of NumPy that are done at once gain nothing by a second thread
    if has_roots(system, names) or (math.prod(shape) if total is None else total) <= SMALL:
        return evaluate_small(system, outputs, values, shape, reason, threads)
    dtypes = {output.name: output.dtype for output in outputs} | ({reason.name: np.int8} if reason else {})

    def compute(region: Region) -> dict[str, np.ndarray]:
        size = shape_of(region)
        needed, function = _jitted_outputs(system, tuple(outputs), size, reason)
        arguments = {name: np.asarray(values[name], np.float64) for name in needed}
        found = _called(function, all_within(arguments, region), size)
        return {name: found[name] for name in dtypes}  # JAX sorts the names of a dict.

    return filled(dtypes, shape, TOGETHER if iterated else math.prod(shape), compute, threads)


def _called(function: Any, arguments: Any, shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    import jax

    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, function(_shared(arguments, shape)))


@lru_cache(maxsize=256)
def iterates(system: System, outputs: tuple[str, ...] | None = None) -> bool:
    """Whether an output, of all by default, is computed in a loop at every point."""
    part = system if outputs is None else system.closure(outputs)
    return any(formula.expression.has(LeastInteger, Root, ErlangC, SlotsBusy, ChunkedPrefill) for formula in part)


def _shared(arguments: Any, shape: tuple[int, ...]) -> Any:
    """The arguments, with one axis of the grid divided among the devices if there are several."""
    import jax

    devices = jax.devices()
    longest = max((n for n in shape if n % len(devices) == 0), default=0)
    if len(devices) == 1 or not longest:
        return arguments
    axis = shape.index(longest)
    mesh = jax.sharding.Mesh(np.array(devices), ("devices",))

    def placed(value: np.ndarray) -> Any:
        over = value.ndim == len(shape) and value.shape[axis] > 1
        spec = ["devices" if over and a == axis else None for a in range(value.ndim)]
        return jax.device_put(value, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec)))

    return jax.tree.map(placed, arguments)


def _in_float64(function: Any, values: Values) -> Any:
    import jax

    with jax.enable_x64(True):
        arguments = {name: np.asarray(value, np.float64) for name, value in values.items()}
        return jax.tree.map(np.asarray, function(arguments))
