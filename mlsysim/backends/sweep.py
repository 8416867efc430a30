"""Sweeps of grids: scalars once, nodes of few axes at their own shape, the rest in cache-sized blocks or by XLA."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from mlsysim.backends.blocks import Region, blocks, cores, walked, within
from mlsysim.backends.compiled import CompiledFunction, graph_of, of_graph
from mlsysim.backends.output_spec import OutputSpec, ReasonCode
from mlsysim.backends.staged import Shape, Staged, Values, all_at_once
from mlsysim.graph import Graph, copied
from mlsysim.graph.passes import ITERATED, cost
from mlsysim.scaling import into_canonical
from mlsysim.symbolic import System

#: Fewest and most points of a block, so that intermediates stay in the cache and each result fills a page of memory.
BLOCK, PAGE = 1 << 15, 1 << 18
#: Elements from which on a loop of NumPy is long enough.
LONG = 64
#: Most numbers of arrays that share a piece of memory, 64 MB: a reference to one of them keeps all.
PIECE = 1 << 23
#: Nanoseconds of a grid from which blocks run in parallel; blocks that iterate always do.
THREADED = 20_000_000
#: Largest share of the points of a grid that a node that blocks would repeat may have to be computed before the walk.
SHARE = 1 / 16
#: Seconds in which XLA compiles an operation, its and JAX's start-up time, and expected calls of a compiled function.
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
    whole: Mapping[str, Any] | None = None,
) -> dict[str, np.ndarray]:
    """Evaluate outputs on a grid, each in its unit and type, in one pass over the points.

    Parameters
    ----------
    system : System
        Formulas.
    outputs : sequence of OutputSpec
        Outputs, with the unit and type to return each in.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
    shape : sequence of int
        Length of each axis: the shape of every array returned.
    reason : ReasonCode, optional
        Reason why points are refused: there every output is missing. The codes are returned too.
    whole : mapping, optional
        Values on the whole grid if this is a block of it, so that all its blocks are computed alike.

    Returns
    -------
    dict
        NumPy array per output. Several JAX devices share the longest axis they divide.
    """
    size = tuple(shape)
    graph = _output_graph(system, tuple(outputs), reason)
    stages = Staged(graph, values, before_blocks(size), reorders=whole or values)
    function, inputs = stages.last, stages.evaluated(_evaluated)
    if is_worth_compiling(function.graph, stages.points):
        return _by_xla(function, inputs, tuple(outputs), size, reason.name if reason else None)
    types = {output.name: output.dtype for output in outputs} | ({reason.name: np.dtype(np.int8)} if reason else {})
    arrays = _empty(types, size)

    def into(region: Region) -> list[np.ndarray]:
        return [arrays[name][(*region, ...)] for name in function.outputs]

    def refuse(_region: Region, results: Sequence[np.ndarray]) -> None:
        if reason is not None and results[-1].any():
            refused = results[-1] > 0
            for output, result in zip(outputs, results, strict=False):
                result[refused] = output.missing

    walk(function, inputs, size, refuse, into)
    return arrays


def _empty(types: Mapping[str, np.dtype], shape: Shape) -> dict[str, np.ndarray]:
    """Allocate an array per name; float64 arrays share one piece of memory unless it is large, which is faster."""
    numbers = [name for name, dtype in types.items() if dtype == np.float64]
    several = len(numbers) * math.prod(shape) <= PIECE
    piece = np.empty((len(numbers), *shape)) if several else np.empty(0)
    rows = {name: piece[index, ...] for index, name in enumerate(numbers)} if several else {}
    return {name: rows[name] if name in rows else np.empty(shape, dtype) for name, dtype in types.items()}


@lru_cache(maxsize=256)
def before_blocks(sizes: Shape) -> Callable[[Shape], bool]:
    """Rule for the shapes that are computed before the blocks: short ones, and those that blocks would repeat."""
    points, last = math.prod(sizes), blocks(sizes, BLOCK).axis if sizes else -1
    split = [axis for axis in range(last + 1) if sizes[axis] > 1]

    @cache
    def early(shape: Shape) -> bool:
        size = math.prod(shape)
        return size < points and (size <= BLOCK or (size <= SHARE * points and any(shape[axis] == 1 for axis in split)))

    return early


@lru_cache(maxsize=256)
def _output_graph(system: System, outputs: tuple[OutputSpec, ...], reason: ReasonCode | None) -> Graph:
    """Graph of outputs in their units, and of the reason."""
    named = tuple((output.name, system[output.name].variable.symbol) for output in outputs)
    builder, copies = copied(graph := graph_of(system, None, (*named, (reason.name, reason.code)) if reason else named))
    outputs_by_name = {name: copies[index] for name, index in graph.outputs.items()}
    for output in outputs:
        way, amount = into_canonical(output.scale)
        back = "multiply" if way == "/" else "divide"
        outputs_by_name[output.name] = builder.make(back, outputs_by_name[output.name], builder.number(amount))
    return builder.graph(outputs_by_name)


def _evaluated(function: CompiledFunction, values: Values, shape: Shape) -> Sequence[Any]:
    """Evaluate the outputs of a stage, by blocks if they are long."""
    if math.prod(shape) <= BLOCK:
        return all_at_once(function, values, shape)
    arrays = [np.empty(shape) for _ in function.outputs]
    walk(function, values, shape, lambda *_: None, lambda region: [array[(*region, ...)] for array in arrays])
    return arrays


def walk(
    function: CompiledFunction,
    values: Values,
    shape: Shape,
    put: Callable[[Region, Sequence[Any]], None],
    into: Callable[[Region], Sequence[np.ndarray]] | None = None,
) -> None:
    """Evaluate a function of arrays on a grid, in blocks.

    Parameters
    ----------
    function : CompiledFunction
        Residual function of a graph on the grid.
    values : mapping
        A number, or an array with one dimension per axis, per input of it.
    shape : tuple of int
        Length of each axis.
    put : callable
        Receives each region, and the results there, which broadcast to its shape.
    into : callable, optional
        Returns arrays of a region to write its results into; then ``put`` receives these.
    """
    start = len(shape)
    while start and math.prod(shape[start:]) < LONG and math.prod(shape[start - 1 :]) <= BLOCK // 8:
        start -= 1
    last = shape[start:]
    same = (last, (1,) * len(last))

    def widened(value: Any) -> Any:
        """Broadcast a value over all of the last axes, so that they are one axis and loops of NumPy are long."""
        if np.ndim(value) == 0 or value.shape[start:] in same:
            return value
        wide = np.empty((*value.shape[:start], *last), value.dtype)
        wide[...] = value
        return wide

    points = _points_of_a_block(function.graph)
    several = math.prod(shape) > points
    inputs = [values[name] for name in function.inputs]
    most = max(BLOCK, SHARE * math.prod(shape))
    few = [np.size(value) * math.prod(last) <= most for value in inputs]
    inputs = [widened(value) if now else value for value, now in zip(inputs, few, strict=True)]
    # An input that is read once is as fast unwidened.
    widened_once = [now or name in _read_once(function.graph) for now, name in zip(few, function.inputs, strict=True)]
    passed_through = _passed_through(function.graph) if into is not None else {}

    def work(region: Region) -> None:
        arguments = [within(value, region) for value in inputs] if several else list(inputs)
        targets_of_region = into(region) if into is not None else []
        targets = [result if result.dtype == np.float64 else None for result in targets_of_region]
        for input_index, output_index in passed_through.items():
            if not few[input_index] and (target := targets[output_index]) is not None:
                target[...] = arguments[input_index]
                arguments[input_index] = target
        arguments = [value if now else widened(value) for value, now in zip(arguments, widened_once, strict=True)]
        if into is None:
            put(region, function.raw(*arguments))
            return
        for value, result in zip(function.raw(*arguments, targets), targets_of_region, strict=True):
            if value is not result:
                result[...] = value
        put(region, targets_of_region)

    long = math.prod(shape) * _per_point(function.graph)[0] >= THREADED
    threads = cores() if long or iterates_of(function.graph) else 1
    with np.errstate(all="ignore"):
        walked(shape, points, work, threads)


@lru_cache(maxsize=1024)
def _read_once(graph: Graph) -> frozenset[str]:
    """Inputs that exactly one operation reads, and that are no output."""
    reads = Counter(arg for node in graph.nodes for arg in node.args) + Counter(2 * [*graph.outputs.values()])
    return frozenset(node.data for index, node in enumerate(graph.nodes) if node.op == "input" and reads[index] == 1)


@lru_cache(maxsize=1024)
def _passed_through(graph: Graph) -> dict[int, int]:
    """Index among the outputs of inputs that are outputs, by their index among the inputs."""
    outputs = list(graph.outputs.values())
    return {
        graph.inputs.index(node.data): outputs.index(index)
        for index, node in enumerate(graph.nodes)
        if node.op == "input" and index in outputs
    }


@lru_cache(maxsize=1024)
def iterates_of(graph: Graph) -> bool:
    """True if some output is computed in a loop at every point."""
    return graph.has(*ITERATED)


@lru_cache(maxsize=1024)
def _per_point(graph: Graph) -> tuple[int, int]:
    return cost(graph, {}).total(), len(graph.nodes)


@lru_cache(maxsize=1024)
def _points_of_a_block(graph: Graph) -> int:
    """Points of a block: fewer with more intermediates, few if something iterates."""
    intermediates = set(range(len(graph.nodes))) - set(graph.outputs.values())
    count = sum(graph.nodes[index].op not in ("input", "number") for index in intermediates)
    return BLOCK if iterates_of(graph) else max(BLOCK, PAGE >> (count // 2).bit_length())


def is_worth_compiling(graph: Graph, points: int) -> bool:
    """True if XLA takes less time than NumPy for a few grids of so many points, compile time included.

    Points that need iterations are left to NumPy: XLA goes on until the last point is done.
    """
    nanoseconds, nodes = _per_point(graph)
    saved = points * 1e-9 * (nanoseconds - WRITING * len(graph.outputs))
    return not iterates_of(graph) and CALLED * saved > STARTING + COMPILING * nodes


def _by_xla(
    function: CompiledFunction, inputs: Values, outputs: tuple[OutputSpec, ...], shape: Shape, reason: str | None
) -> dict[str, np.ndarray]:
    import jax

    with jax.enable_x64(True):
        results = _jitted(function, outputs, shape, reason)(_shared(dict(inputs), shape))
        arrays = jax.tree.map(np.asarray, results)
    return {name: arrays[name] for name in function.outputs}  # JAX sorts the names of a dict


@lru_cache(maxsize=256)
def _jitted(function: CompiledFunction, outputs: tuple[OutputSpec, ...], shape: Shape, reason: str | None) -> Any:
    """Compiled function of a dict of inputs."""
    import jax
    import jax.numpy as jnp

    raw = of_graph(function.graph, "jax").raw

    @jax.jit
    def all_outputs(values: Values) -> dict[str, Any]:
        results = dict(zip(function.outputs, raw(*[values[name] for name in function.inputs]), strict=True))
        codes = None if reason is None else jnp.asarray(results[reason], jnp.int8)
        converted = {}
        for output in outputs:
            value = jnp.asarray(results[output.name], output.dtype)
            converted[output.name] = (
                value if codes is None else jnp.where(codes == 0, value, jnp.asarray(output.missing, output.dtype))
            )
        converted |= {} if reason is None else {reason: codes}
        return {name: jnp.broadcast_to(value, shape) for name, value in converted.items()}

    return all_outputs


def _shared(arguments: Any, shape: Shape) -> Any:
    """Arguments with one axis of the grid divided among the devices if there are several."""
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
