"""Partial evaluation of a graph on a grid: scalars in plain floats, nodes of few axes once, and a residual function."""

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
#: Most values of a node that is evaluated before a loop over the parts of a grid.
MOST = 2**16
#: Axes of each input, as bits.
Over = tuple[tuple[str, int], ...]
#: Stage of the nodes over a set of axes, by these axes; both as bits.
Own = tuple[tuple[int, int], ...]
#: Lengths of the axes of a grid, and whether all its inputs are finite.
Grid = tuple[Shape, bool]
#: Values of an array up to which it is no stage of its own in a sweep.
TOGETHER = 1 << 15


def all_at_once(function: CompiledFunction, values: Values, _shape: Shape) -> Sequence[Any]:
    """Evaluate the outputs of a function of arrays in one call."""
    return function.raw(*[values[name] for name in function.inputs])


class Staged:
    """Graph on a grid, evaluated in stages.

    Parameters
    ----------
    graph : Graph
        Any graph.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
    early : callable
        True for shapes that are a stage of their own; a shape has the length of each axis, or one. Monotone: if it is
        false for a shape, it is false for any shape that is longer along some axis.
    backend : {"vector", "jax"}
        Arrays that the last stage takes.
    reorders : mapping, optional
        Values on the whole grid, of which ``values`` may be a block. Sums and products are reordered by their shapes,
        which changes last digits.

    Attributes
    ----------
    stages : list of tuple
        Shape and function of each stage but the last, in order.
    last : CompiledFunction
        Residual function, with all outputs. Other numbers that decide all cases alike give the same function.
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
        # Along one axis, as in draws, all arrays have one shape: last digits need not depend on the other outputs.
        if reorders is not None and sum([size > 1 for size in lengths]) > 1:
            # Powers of two, so that grids of nearly the same lengths share what is printed.
            near = tuple([1 << size.bit_length() for size in lengths])
            grid = near, all(math.isfinite(np.add.reduce(reorders[name], None)) for name in self._arrays)
        left, sets, self._numbers = _residual(graph, tuple(numbers), over, grid)
        shapes = {bits: _shape(bits, self._sizes) for bits in sets}
        # Nodes with few values are one stage of a sweep: NumPy gives each result the shape of its own axes.
        few = 0 if reorders is None else TOGETHER
        own = tuple([(bits, bits if math.prod(shape) > few else 0) for bits, shape in shapes.items() if early(shape)])
        *before, (_, self.last) = _functions(left, over, own, backend)
        self.stages = [(shapes.get(bits, ()), function) for bits, function in before]

    def has(self, *operations: str) -> bool:
        """True if some node that depends on an axis is one of these operations."""
        return any(function.graph.has(*operations) for function in (*(stage for _, stage in self.stages), self.last))

    @property
    def nanoseconds(self) -> float:
        """Time of NumPy per point of the grid, including its share of the stages before the last."""
        points = math.prod(self._sizes)
        before = sum(cost(function.graph, {}).total() * math.prod(shape) / points for shape, function in self.stages)
        return before + cost(self.last.graph, {}).total()

    def evaluated(
        self, evaluate: Callable[[CompiledFunction, Values, Shape], Sequence[Any]] = all_at_once
    ) -> dict[str, Any]:
        """Evaluate all stages but the last; return the inputs of the last: numbers, or arrays over the axes.

        Parameters
        ----------
        evaluate : callable, optional
            Evaluates a stage from the values it may read and its shape.
        """
        values_by_name: dict[str, Any] = {**self._numbers, **self._arrays}
        with np.errstate(all="ignore"):
            for shape, function in self.stages:
                values_by_name.update(zip(function.outputs, evaluate(function, values_by_name, shape), strict=True))
        return {name: values_by_name[name] for name in self.last.inputs}


def graph_of_expressions(system: System, expressions: Sequence[Any]) -> Graph:
    """Lower some expressions in inputs and variables of a system to a graph."""
    return graph_of(system, None, tuple((f"asked_{index}", expression) for index, expression in enumerate(expressions)))


def on_jax(
    graph: Graph, values: Values, early: Callable[[Shape], bool]
) -> tuple[CompiledFunction, dict[str, np.ndarray]]:
    """Evaluate the nodes of a graph with few values on a grid; return the residual function for JAX and its inputs.

    Parameters
    ----------
    graph, values, early
        As for :class:`Staged`.

    Returns
    -------
    tuple of CompiledFunction and dict
        Residual function of JAX arrays, and its inputs: arrays with one dimension per axis, or none.
    """
    staged = Staged(graph, values, early, "jax")
    return staged.last, {name: np.asarray(value, float) for name, value in staged.evaluated().items()}


class _Freeing(Printer):
    """Printer of functions that free an array after its last use, so that a block stays in the cache."""

    def definition(self, name: str, inputs: Sequence[str], lines: Sequence[str], result: str) -> str:
        """Definition of a function."""
        last_use = {word: index for index, line in enumerate((*lines, result)) for word in _WORD.findall(line)}
        live, printed = set[str](), list[str]()
        for index, line in enumerate(lines):
            printed.append(line)
            if line[0] != " ":
                live.update([line[: line.index(" = ")]] if " = " in line else [])
            if index + 1 < len(lines) and lines[index + 1][0] == " ":
                continue  # within the function of a root
            dead = sorted(word for word in live if last_use[word] <= index)
            live.difference_update(dead)
            printed += [f"del {', '.join(dead)}"] if dead else []
        return super().definition(name, inputs, printed, result)


class _Into(_Freeing):
    """Printer of functions that write sums and products into output arrays of the caller."""

    def __init__(self, graph: Graph) -> None:
        super().__init__("text")
        self._graph, self._outputs = graph, list(graph.outputs.values())

    def _expression(
        self, index: int, node: Node, printed: list[tuple[str, int]], graph: Graph, laws: Any, lines: list[str]
    ) -> tuple[str, int]:
        if graph is self._graph and index in self._outputs and node.op in vector.INTO:
            operands = ", ".join(text for text, _ in printed)
            return f"_{node.op}({operands}, _into[{self._outputs.index(index)}])", NAME
        return super()._expression(index, node, printed, graph, laws, lines)

    def definition(self, name: str, inputs: Sequence[str], lines: Sequence[str], result: str) -> str:
        """Definition of a function."""
        into = [f"_into=({'None, ' * len(self._outputs)})"] if name == "compiled" else []
        return super().definition(name, [*inputs, *into], lines, result)


_WORD = re.compile(r"\w+")


def _decides(number: Any) -> bool:
    """True for truth values, which decide cases, and for numbers that change nothing in a product or difference."""
    return type(number) is bool or number == 1 or repr(number) == "0.0"


def _together(shapes: Sequence[Shape]) -> Shape:
    """Common shape of arrays, each of which has every axis."""
    return tuple(map(max, *shapes)) if len(shapes) > 1 else (*shapes, ())[0]


def _bits(shape: Shape) -> int:
    return sum([1 << axis for axis, size in enumerate(shape) if size > 1])


@lru_cache(maxsize=4096)
def _shape(bits: int, sizes: Shape) -> Shape:
    return tuple([size if bits >> axis & 1 else 1 for axis, size in enumerate(sizes)])


@lru_cache(maxsize=256)
def _residual(
    graph: Graph, numbers: tuple[tuple[str, float], ...], over: Over, grid: Grid | None
) -> tuple[Graph, frozenset[int], dict[str, np.float64]]:
    """Residual graph of what depends on axes, the sets of axes its nodes depend on, and the numbers that it reads."""
    first, rest = _partition(graph, over)
    numeric: dict[str, Any] = dict(numbers)
    if first is not None:
        numeric.update(zip(first.outputs, first.raw(*[numeric[name] for name in first.inputs]), strict=True))
    read = {name: numeric[name] for name in rest.inputs if name in numeric}
    decided = tuple((name, number) for name, number in read.items() if _decides(number))
    positive = frozenset(name for name, number in read.items() if 0 < number < math.inf) if grid else frozenset()
    residual, sets = _decided(rest, decided, over, grid, positive)
    return residual, sets, {name: np.float64(numeric[name]) for name in residual.inputs if name in numeric}


@lru_cache(maxsize=256)
def _partition(graph: Graph, over: Over) -> tuple[CompiledFunction | None, Graph]:
    """Partition a graph into a function of plain floats for nodes that depend on no axis, and the residual graph."""
    *first, rest = stages(graph, dict(over), {0: 0}.get)
    return of_graph(first[0].graph, "numpy") if first else None, rest.graph


@lru_cache(maxsize=256)
def _decided(
    graph: Graph, decided: tuple[tuple[str, Any], ...], over: Over, grid: Grid | None, positive: frozenset[str]
) -> tuple[Graph, frozenset[int]]:
    """Residual graph with decided cases and sums in the order for a grid, and the axes that its nodes depend on."""
    residual = known(graph, dict(decided))
    if grid is not None:
        facts = list(residual.facts)
        for index, node in enumerate(residual.nodes):
            if node.op == "input" and node.data in positive:
                facts[index] = facts[index]._replace(low=max(facts[index].low, 0.0), zero=False)
        lengths, finite = grid
        residual = ordered(replace(residual, facts=tuple(facts)), dict(over), lengths, finite=finite)
    return residual, frozenset(axes(residual, dict(over)))


@lru_cache(maxsize=256)
def _functions(graph: Graph, over: Over, own: Own, backend: Backend) -> list[tuple[int, CompiledFunction]]:
    """Axes and function of each stage."""
    *before, last = stages(graph, dict(over), dict(own).get)

    def function(graph: Graph, backend: Backend) -> CompiledFunction:
        printer = _Into(graph) if backend == "vector" else _Freeing("text")
        return CompiledFunction(graph, printer.function("compiled", graph), backend)

    return [
        *((stage.axes, function(stage.graph, "vector")) for stage in before),
        (last.axes, function(last.graph, backend)),
    ]
