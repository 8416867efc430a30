"""Grids: numbers once, what few axes decide at the shape of these, the rest in blocks that fit the cache, or by XLA."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mlsysim.backends.blocks import Region, cores, walked, within
from mlsysim.backends.compiled import CompiledFunction, graph_of
from mlsysim.backends.output_spec import OutputSpec, ReasonCode
from mlsysim.backends.staged import Shape, Staged, Values, all_at_once
from mlsysim.graph import Graph
from mlsysim.graph.passes import ITERATED, cost
from mlsysim.symbolic import System

#: Points of a block: its arrays stay in the cache, and are long enough that calling NumPy takes little of the time.
BLOCK = 1 << 15
#: Elements from which on a loop of NumPy is long enough.
LONG = 64
#: Points from which on blocks are worked on at the same time; fewer are where they iterate.
THREADED = 1 << 18
#: What takes at most this share of the points of a grid is computed before it is walked.
SHARE = 1 / 8
#: Seconds in which XLA compiles an operation, and what it and JAX take besides; how often what is compiled is called.
COMPILING, STARTING, CALLED = 0.002, 0.4, 4
#: Nanoseconds in which XLA writes a value of an output.
WRITING = 3


def evaluate_outputs(
    system: System,
    outputs: Sequence[OutputSpec],
    values: Mapping[str, Any],
    shape: Sequence[int],
    *,
    reason: ReasonCode | None = None,
    total: int | None = None,
) -> dict[str, np.ndarray]:
    """Outputs on a grid, each in the unit and type asked for, in one pass over the points.

    Parameters
    ----------
    system : System
        Formulas.
    outputs : sequence of OutputSpec
        What to compute, and in which unit and type to return it.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
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
    size, points = tuple(shape), math.prod(shape)
    named = tuple((output.name, system[output.name].variable.symbol) for output in outputs)
    graph = graph_of(system, None, (*named, (reason.name, reason.code)) if reason else named)
    few = min(max(BLOCK, int(SHARE * points)), points - 1)
    stages = Staged(graph, values, lambda part: math.prod(part) <= few)
    function, given = stages.last, stages.evaluated(_evaluated)
    if is_worth_compiling(function.graph, points if total is None else total):
        return _by_xla(function, given, tuple(outputs), size, reason.name if reason else None)
    arrays = {output.name: np.empty(size, output.dtype) for output in outputs}
    if reason is not None:
        arrays[reason.name] = np.empty(size, np.int8)

    def put(region: Region, found: Sequence[Any]) -> None:
        parts = [arrays[name][(*region, ...)] for name in function.outputs]
        refused = None
        if reason is not None:
            parts[-1][...] = found[-1]
            refused = parts[-1] > 0 if parts[-1].any() else None
        for output, value, part in zip(outputs, found, parts, strict=False):
            output.write(value, part)
            if refused is not None:
                part[refused] = output.missing

    walk(function, given, size, put)
    return arrays


def _evaluated(function: CompiledFunction, values: Values, shape: Shape) -> Sequence[Any]:
    """The outputs of a stage, by blocks where they are long."""
    if math.prod(shape) <= BLOCK:
        return all_at_once(function, values, shape)
    arrays = [np.empty(shape) for _ in function.outputs]

    def put(region: Region, found: Sequence[Any]) -> None:
        for value, array in zip(found, arrays, strict=True):
            array[region] = value

    walk(function, values, shape, put)
    return arrays


def walk(
    function: CompiledFunction,
    values: Values,
    shape: Shape,
    put: Callable[[Region, Sequence[Any]], None],
    points: int | None = None,
) -> None:
    """Evaluate a function of arrays on a grid, in blocks.

    Parameters
    ----------
    function : CompiledFunction
        What is left of a graph on the grid.
    values : mapping
        A number, or an array with one dimension per axis, per input of it.
    shape : tuple of int
        Length of each axis.
    put : callable
        Is given each region, and the results there, which broadcast to its shape.
    points : int, optional
        Most points of a block; 32,768 by default.
    """
    points, start = points or BLOCK, len(shape)
    while start and math.prod(shape[start:]) < LONG and math.prod(shape[start - 1 :]) <= BLOCK // 8:
        start -= 1
    last = shape[start:]

    def widened(value: Any) -> Any:
        """A value over some of the last axes over all of them, so that they are one axis: loops of NumPy are long."""
        if np.ndim(value) == 0 or value.shape[start:] in (last, (1,) * len(last)):
            return value
        return np.ascontiguousarray(np.broadcast_to(value, (*value.shape[:start], *last)))

    several = math.prod(shape) > points
    given = [values[name] for name in function.inputs]
    few = [np.size(value) * math.prod(last) <= BLOCK for value in given]
    given = [widened(value) if now else value for value, now in zip(given, few, strict=True)]

    def work(region: Region) -> None:
        here = [within(value, region) for value in given] if several else given
        found = function.raw(*[value if now else widened(value) for value, now in zip(here, few, strict=True)])
        put(region, found)

    with np.errstate(all="ignore"):
        walked(shape, points, work, cores() if math.prod(shape) >= THREADED or iterates_of(function.graph) else 1)


@lru_cache(maxsize=1024)
def iterates_of(graph: Graph) -> bool:
    """True if some output is computed in a loop at every point."""
    return graph.has(*ITERATED)


@lru_cache(maxsize=1024)
def _per_point(graph: Graph) -> tuple[int, int]:
    return cost(graph, {}).total(), len(graph.nodes)


def is_worth_compiling(graph: Graph, points: int) -> bool:
    """True if XLA takes less time than NumPy for a few grids of so many points, the time that it compiles included.

    Points at which something iterates are left to NumPy: XLA goes on until the last point is done.
    """
    nanoseconds, nodes = _per_point(graph)
    saved = points * 1e-9 * (nanoseconds - WRITING * len(graph.outputs))
    return not iterates_of(graph) and CALLED * saved > STARTING + COMPILING * nodes


def _by_xla(
    function: CompiledFunction, given: Values, outputs: tuple[OutputSpec, ...], shape: Shape, reason: str | None
) -> dict[str, np.ndarray]:
    import jax

    with jax.enable_x64(True):
        found = _jitted(function, outputs, shape, reason)(_shared(dict(given), shape))
        arrays = jax.tree.map(np.asarray, found)
    return {name: arrays[name] for name in function.outputs}  # JAX sorts the names of a dict


@lru_cache(maxsize=256)
def _jitted(function: CompiledFunction, outputs: tuple[OutputSpec, ...], shape: Shape, reason: str | None) -> Any:
    """A function of a dict of inputs, compiled."""
    import jax
    import jax.numpy as jnp

    from mlsysim.backends import arrays

    raw = function.on(arrays.namespace())

    @jax.jit
    def all_outputs(values: Values) -> dict[str, Any]:
        found = dict(zip(function.outputs, raw(*[values[name] for name in function.inputs]), strict=True))
        codes = None if reason is None else jnp.asarray(found[reason], jnp.int8)
        shown = {}
        for output in outputs:
            value = output.formed(found[output.name])
            shown[output.name] = (
                value if codes is None else jnp.where(codes == 0, value, jnp.asarray(output.missing, output.dtype))
            )
        shown |= {} if reason is None else {reason: codes}
        return {name: jnp.broadcast_to(value, shape) for name, value in shown.items()}

    return all_outputs


def _shared(arguments: Any, shape: Shape) -> Any:
    """The arguments, with one axis of the grid divided among the devices if there are several."""
    import jax

    devices = jax.devices()
    longest = max((n for n in shape if n % len(devices) == 0), default=0)
    if len(devices) == 1 or not longest:
        return arguments
    axis = shape.index(longest)
    mesh = jax.sharding.Mesh(np.array(devices), ("devices",))

    def placed(value: Any) -> Any:
        over = np.ndim(value) == len(shape) and value.shape[axis] > 1
        spec = ["devices" if over and a == axis else None for a in range(np.ndim(value))]
        return jax.device_put(value, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec)))

    return jax.tree.map(placed, arguments)
