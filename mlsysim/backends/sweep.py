"""Grids: numbers once, what few axes decide at the shape of these, the rest in blocks that fit the cache, or by XLA."""

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

#: Fewest and most points of a block: what it holds stays in the cache, of the results alone a page of memory each.
BLOCK, PAGE = 1 << 15, 1 << 18
#: Elements from which on a loop of NumPy is long enough.
LONG = 64
#: Most numbers of arrays that share a piece of memory, 64 MB: whoever keeps one of them keeps all.
PIECE = 1 << 23
#: Nanoseconds of a grid from which on blocks are worked on at the same time; fewer are where they iterate.
THREADED = 20_000_000
#: What blocks would repeat and takes at most this share of the points of a grid is computed before it is walked.
SHARE = 1 / 16
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
    whole: Mapping[str, Any] | None = None,
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
    whole : mapping, optional
        Values on the whole grid if this is a block of it, so that all its blocks are computed alike.

    Returns
    -------
    dict
        NumPy array per output. Several JAX devices share the longest axis they divide.
    """
    size = tuple(shape)
    graph = _asked(system, tuple(outputs), reason)
    stages = Staged(graph, values, before_blocks(size), reorders=whole or values)
    function, given = stages.last, stages.evaluated(_evaluated)
    if is_worth_compiling(function.graph, stages.points):
        return _by_xla(function, given, tuple(outputs), size, reason.name if reason else None)
    types = {output.name: output.dtype for output in outputs} | ({reason.name: np.dtype(np.int8)} if reason else {})
    arrays = _empty(types, size)

    def into(region: Region) -> list[np.ndarray]:
        return [arrays[name][(*region, ...)] for name in function.outputs]

    def refuse(_region: Region, parts: Sequence[np.ndarray]) -> None:
        if reason is not None and parts[-1].any():
            refused = parts[-1] > 0
            for output, part in zip(outputs, parts, strict=False):
                part[refused] = output.missing

    walk(function, given, size, refuse, into)
    return arrays


def _empty(types: Mapping[str, np.dtype], shape: Shape) -> dict[str, np.ndarray]:
    """An array per name; those of numbers in one piece unless it is large, which takes a part of the time."""
    numbers = [name for name, dtype in types.items() if dtype == np.float64]
    several = len(numbers) * math.prod(shape) <= PIECE
    held = np.empty((len(numbers), *shape)) if several else np.empty(0)
    rows = {name: held[place, ...] for place, name in enumerate(numbers)} if several else {}
    return {name: rows[name] if name in rows else np.empty(shape, dtype) for name, dtype in types.items()}


@lru_cache(maxsize=256)
def before_blocks(sizes: Shape) -> Callable[[Shape], bool]:
    """Rule by which shapes of a grid are computed before its blocks: what is short, and what these would repeat."""
    points, last = math.prod(sizes), blocks(sizes, BLOCK).axis if sizes else -1
    split = [axis for axis in range(last + 1) if sizes[axis] > 1]

    @cache
    def early(shape: Shape) -> bool:
        size = math.prod(shape)
        return size < points and (size <= BLOCK or (size <= SHARE * points and any(shape[axis] == 1 for axis in split)))

    return early


@lru_cache(maxsize=256)
def _asked(system: System, outputs: tuple[OutputSpec, ...], reason: ReasonCode | None) -> Graph:
    """The graph of outputs in the units asked for, and of the reason."""
    named = tuple((output.name, system[output.name].variable.symbol) for output in outputs)
    builder, places = copied(graph := graph_of(system, None, (*named, (reason.name, reason.code)) if reason else named))
    found = {name: places[place] for name, place in graph.outputs.items()}
    for output in outputs:
        way, amount = into_canonical(output.scale)
        back = "multiply" if way == "/" else "divide"
        found[output.name] = builder.make(back, found[output.name], builder.number(amount))
    return builder.graph(found)


def _evaluated(function: CompiledFunction, values: Values, shape: Shape) -> Sequence[Any]:
    """The outputs of a stage, by blocks where they are long."""
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
        What is left of a graph on the grid.
    values : mapping
        A number, or an array with one dimension per axis, per input of it.
    shape : tuple of int
        Length of each axis.
    put : callable
        Is given each region, and the results there, which broadcast to its shape.
    into : callable, optional
        Arrays of a region, into which its results are written; then ``put`` is given these.
    """
    start = len(shape)
    while start and math.prod(shape[start:]) < LONG and math.prod(shape[start - 1 :]) <= BLOCK // 8:
        start -= 1
    last = shape[start:]
    same = (last, (1,) * len(last))

    def widened(value: Any) -> Any:
        """A value over some of the last axes over all of them, so that they are one axis: loops of NumPy are long."""
        if np.ndim(value) == 0 or value.shape[start:] in same:
            return value
        wide = np.empty((*value.shape[:start], *last), value.dtype)
        wide[...] = value
        return wide

    points = _points_of_a_block(function.graph)
    several = math.prod(shape) > points
    given = [values[name] for name in function.inputs]
    most = max(BLOCK, SHARE * math.prod(shape))
    few = [np.size(value) * math.prod(last) <= most for value in given]
    given = [widened(value) if now else value for value, now in zip(given, few, strict=True)]
    # What is read once takes no longer as it is.
    ready = [now or name in _read_once(function.graph) for now, name in zip(few, function.inputs, strict=True)]
    shown = _shown(function.graph) if into is not None else {}

    def work(region: Region) -> None:
        here = [within(value, region) for value in given] if several else list(given)
        parts = into(region) if into is not None else []
        targets = [part if part.dtype == np.float64 else None for part in parts]
        for place, at in shown.items():
            if not few[place] and (target := targets[at]) is not None:
                target[...] = here[place]
                here[place] = target
        here = [value if now else widened(value) for value, now in zip(here, ready, strict=True)]
        if into is None:
            put(region, function.raw(*here))
            return
        for value, part in zip(function.raw(*here, targets), parts, strict=True):
            if value is not part:
                part[...] = value
        put(region, parts)

    long = math.prod(shape) * _per_point(function.graph)[0] >= THREADED
    threads = cores() if long or iterates_of(function.graph) else 1
    with np.errstate(all="ignore"):
        walked(shape, points, work, threads)


@lru_cache(maxsize=1024)
def _read_once(graph: Graph) -> frozenset[str]:
    """Inputs that one operation reads, and no output is."""
    reads = Counter(arg for node in graph.nodes for arg in node.args) + Counter(2 * [*graph.outputs.values()])
    return frozenset(node.data for place, node in enumerate(graph.nodes) if node.op == "input" and reads[place] == 1)


@lru_cache(maxsize=1024)
def _shown(graph: Graph) -> dict[int, int]:
    """Places among the outputs of inputs that are outputs, by their places among the inputs."""
    outputs = list(graph.outputs.values())
    return {
        graph.inputs.index(node.data): outputs.index(place)
        for place, node in enumerate(graph.nodes)
        if node.op == "input" and place in outputs
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
    """The more intermediates there are, the fewer points are looked at together; few where something iterates."""
    held = set(range(len(graph.nodes))) - set(graph.outputs.values())
    number = sum(graph.nodes[place].op not in ("input", "number") for place in held)
    return BLOCK if iterates_of(graph) else max(BLOCK, PAGE >> (number // 2).bit_length())


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

    raw = of_graph(function.graph, "jax").raw

    @jax.jit
    def all_outputs(values: Values) -> dict[str, Any]:
        found = dict(zip(function.outputs, raw(*[values[name] for name in function.inputs]), strict=True))
        codes = None if reason is None else jnp.asarray(found[reason], jnp.int8)
        shown = {}
        for output in outputs:
            value = jnp.asarray(found[output.name], output.dtype)
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
