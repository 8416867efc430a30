"""A graph on a grid: numbers in plain floats, what few axes decide at their shape, and a function of the rest."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from mlsysim.backends import vector
from mlsysim.backends.compiled import Backend, CompiledFunction, graph_of, of_graph
from mlsysim.graph import Graph, Node
from mlsysim.graph.passes import axes, cost, known, ordered, stages
from mlsysim.graph.printer import NAME, Printer
from mlsysim.symbolic import System

Values = Mapping[str, Any]
Shape = tuple[int, ...]
#: Most values of what is evaluated before a loop over the parts of a grid.
MOST = 2**16
#: Over which axes inputs are arrays, as bits.
Over = tuple[tuple[str, int], ...]
#: By which axes stages are known, by axes.
Own = tuple[tuple[int, int], ...]
#: Lengths of the axes of a grid, and whether all its inputs are finite.
Grid = tuple[Shape, bool]
#: Values of an array up to which it is no stage of its own in a sweep.
TOGETHER = 1 << 15


def all_at_once(function: CompiledFunction, values: Values, _shape: Shape) -> Sequence[Any]:
    """The outputs of a function of arrays."""
    return function.raw(*[values[name] for name in function.inputs])


class Staged:
    """A graph on a grid, in stages.

    Parameters
    ----------
    graph : Graph
        Any graph.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
    early : callable
        True for shapes of what is a stage of its own; a shape has the length of each axis, or one. False for a shape,
        it is false for any that is longer along some axis.
    backend : {"vector", "jax"}
        Arrays that the last stage takes.
    reorders : mapping, optional
        Values on the whole grid, of which ``values`` may be a block: those by whose shapes sums and products are put in
        another order than they are written in, which changes last digits.

    Attributes
    ----------
    stages : list of tuple
        Of each stage but the last, in order, its shape and its function.
    last : CompiledFunction
        What is left, with all outputs. For other numbers, by which cases are decided alike, it is the same function.
    points : int
        Points of the whole grid, along the axes that some input has.
    """

    def __init__(
        self,
        graph: Graph,
        values: Values,
        early: Callable[[Shape], bool],
        backend: Backend = "vector",
        *,
        reorders: Values | None = None,
    ) -> None:
        numbers: list[tuple[str, float]] = []
        self._arrays: dict[str, np.ndarray] = {}
        whole: list[tuple[int, ...]] = []
        for name in graph.inputs:
            value = values[name]
            if type(value) is float:
                numbers.append((name, value))
                continue
            shape = np.shape(value if reorders is None else reorders[name])
            if math.prod(shape) == 1:
                numbers.append((name, float(np.ravel(value)[0])))
            else:
                self._arrays[name] = np.asarray(value, float)
                whole.append(shape)
        over = tuple([(name, _bits(shape)) for name, shape in zip(self._arrays, whole, strict=True)])
        self._sizes = _together([array.shape for array in self._arrays.values()])
        lengths, grid = _together(whole), None
        self.points = math.prod(lengths)
        # Along one axis, as in draws, all arrays are alike, and last digits need not hang on what else is asked.
        if reorders is not None and sum([size > 1 for size in lengths]) > 1:
            # Powers of two, so that grids of nearly the same lengths share what is printed.
            near = tuple([1 << size.bit_length() for size in lengths])
            grid = near, all(math.isfinite(np.add.reduce(reorders[name], None)) for name in self._arrays)
        left, sets, self._numbers = _left(graph, tuple(numbers), over, grid)
        shapes = {bits: _shape(bits, self._sizes) for bits in sets}
        # What has few values is one stage of a sweep: NumPy gives each result the shape of its own axes.
        few = 0 if reorders is None else TOGETHER
        own = tuple([(bits, bits if math.prod(shape) > few else 0) for bits, shape in shapes.items() if early(shape)])
        *before, (_, self.last) = _functions(left, over, own, backend)
        self.stages = [(shapes.get(bits, ()), function) for bits, function in before]

    def has(self, *operations: str) -> bool:
        """True if some node that depends on an axis is one of these operations."""
        return any(function.graph.has(*operations) for function in (*(each for _, each in self.stages), self.last))

    @property
    def nanoseconds(self) -> float:
        """Time of NumPy for each point of the grid, its share of the stages before the last included."""
        points = math.prod(self._sizes)
        before = sum(cost(function.graph, {}).total() * math.prod(shape) / points for shape, function in self.stages)
        return before + cost(self.last.graph, {}).total()

    def evaluated(
        self, evaluate: Callable[[CompiledFunction, Values, Shape], Sequence[Any]] = all_at_once
    ) -> dict[str, Any]:
        """Inputs of the last stage: a number, or an array with one dimension per axis, per input of it.

        Parameters
        ----------
        evaluate : callable, optional
            Evaluates a stage, given what it may read and its shape.
        """
        found: dict[str, Any] = {**self._numbers, **self._arrays}
        with np.errstate(all="ignore"):
            for shape, function in self.stages:
                found.update(zip(function.outputs, evaluate(function, found, shape), strict=True))
        return {name: found[name] for name in self.last.inputs}


def graph_of_expressions(system: System, expressions: Sequence[Any]) -> Graph:
    """The graph of some expressions, in inputs and variables of a system."""
    return graph_of(system, None, tuple((f"asked_{place}", expression) for place, expression in enumerate(expressions)))


def on_jax(
    graph: Graph, values: Values, early: Callable[[Shape], bool]
) -> tuple[CompiledFunction, dict[str, np.ndarray]]:
    """Evaluate what takes few values of a graph on a grid.

    Parameters
    ----------
    graph, values, early
        As for :class:`Staged`.

    Returns
    -------
    tuple of CompiledFunction and dict
        What is left as a function of JAX arrays, and what it reads: arrays with one dimension per axis, or none.
    """
    found = Staged(graph, values, early, "jax")
    return found.last, {name: np.asarray(value, float) for name, value in found.evaluated().items()}


class _Freeing(Printer):
    """Prints functions that free an array after its last use, so that what a block needs stays in the cache."""

    def definition(self, name: str, inputs: Sequence[str], lines: Sequence[str], result: str) -> str:
        """Definition of a function."""
        last = {word: place for place, line in enumerate((*lines, result)) for word in _WORD.findall(line)}
        held, freed = set[str](), list[str]()
        for place, line in enumerate(lines):
            freed.append(line)
            if line[0] != " ":
                held.update([line[: line.index(" = ")]] if " = " in line else [])
            if place + 1 < len(lines) and lines[place + 1][0] == " ":
                continue  # within the function of a root
            done = sorted(word for word in held if last[word] <= place)
            held.difference_update(done)
            freed += [f"del {', '.join(done)}"] if done else []
        return super().definition(name, inputs, freed, result)


class _Into(_Freeing):
    """Prints functions that may be given arrays for their outputs, into which sums and products are then written."""

    def __init__(self, graph: Graph) -> None:
        super().__init__("text")
        self._graph, self._outputs = graph, list(graph.outputs.values())

    def _expression(
        self, place: int, node: Node, said: list[tuple[str, int]], graph: Graph, laws: Any, lines: list[str]
    ) -> tuple[str, int]:
        if graph is self._graph and place in self._outputs and node.op in vector.INTO:
            operands = ", ".join(text for text, _ in said)
            return f"_{node.op}({operands}, _into[{self._outputs.index(place)}])", NAME
        return super()._expression(place, node, said, graph, laws, lines)

    def definition(self, name: str, inputs: Sequence[str], lines: Sequence[str], result: str) -> str:
        """Definition of a function."""
        into = [f"_into=({'None, ' * len(self._outputs)})"] if name == "compiled" else []
        return super().definition(name, [*inputs, *into], lines, result)


_WORD = re.compile(r"\w+")


def _decides(number: Any) -> bool:
    """True for what a case is decided by, and for numbers that change nothing in a product or a difference."""
    return type(number) is bool or number == 1 or repr(number) == "0.0"


def _together(shapes: Sequence[Shape]) -> Shape:
    """Shape of arrays together, each of which has every axis."""
    return tuple(map(max, *shapes)) if len(shapes) > 1 else (*shapes, ())[0]


def _bits(shape: Shape) -> int:
    return sum([1 << axis for axis, size in enumerate(shape) if size > 1])


@lru_cache(maxsize=4096)
def _shape(bits: int, sizes: Shape) -> Shape:
    return tuple([size if bits >> axis & 1 else 1 for axis, size in enumerate(sizes)])


@lru_cache(maxsize=256)
def _left(
    graph: Graph, numbers: tuple[tuple[str, float], ...], over: Over, grid: Grid | None
) -> tuple[Graph, frozenset[int], dict[str, np.float64]]:
    """The graph of what depends on axes, the sets of axes that its nodes depend on, and the numbers that it reads."""
    first, rest = _split(graph, over)
    held: dict[str, Any] = dict(numbers)
    if first is not None:
        held.update(zip(first.outputs, first.raw(*[held[name] for name in first.inputs]), strict=True))
    read = {name: held[name] for name in rest.inputs if name in held}
    decided = tuple((name, number) for name, number in read.items() if _decides(number))
    positive = frozenset(name for name, number in read.items() if 0 < number < math.inf) if grid else frozenset()
    left, sets = _decided(rest, decided, over, grid, positive)
    return left, sets, {name: np.float64(held[name]) for name in left.inputs if name in held}


@lru_cache(maxsize=256)
def _split(graph: Graph, over: Over) -> tuple[CompiledFunction | None, Graph]:
    """A function of plain floats of what depends on no axis, and the graph of the rest."""
    *first, rest = stages(graph, dict(over), {0: 0}.get)
    return of_graph(first[0].graph, "numpy") if first else None, rest.graph


@lru_cache(maxsize=256)
def _decided(
    graph: Graph, decided: tuple[tuple[str, Any], ...], over: Over, grid: Grid | None, positive: frozenset[str]
) -> tuple[Graph, frozenset[int]]:
    """The graph in which cases are decided, and sums in the order for a grid; the axes that its nodes depend on."""
    found = known(graph, dict(decided))
    if grid is not None:
        facts = list(found.facts)
        for place, node in enumerate(found.nodes):
            if node.op == "input" and node.data in positive:
                facts[place] = facts[place]._replace(low=max(facts[place].low, 0.0), zero=False)
        lengths, finite = grid
        found = ordered(replace(found, facts=tuple(facts)), dict(over), lengths, finite=finite)
    return found, frozenset(axes(found, dict(over)))


@lru_cache(maxsize=256)
def _functions(graph: Graph, over: Over, own: Own, backend: Backend) -> list[tuple[int, CompiledFunction]]:
    """The axes and the function of each stage."""
    *before, last = stages(graph, dict(over), dict(own).get)

    def function(graph: Graph, backend: Backend) -> CompiledFunction:
        printer = _Into(graph) if backend == "vector" else _Freeing("text")
        return CompiledFunction(graph, printer.function("compiled", graph), backend)

    return [
        *((stage.axes, function(stage.graph, "vector")) for stage in before),
        (last.axes, function(last.graph, backend)),
    ]
