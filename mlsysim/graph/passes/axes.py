"""Axes of a grid on which each node depends, and stages of the graph by axes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from mlsysim.graph.graph import Graph, Node
from mlsysim.graph.operation import TABLE

#: Operations that take iterations at every point, and how often a root or a least integer evaluates its subgraph.
ITERATED = tuple(name for name, operation in TABLE.items() if operation.iterates)
TRIES = {"root": 10, "least_integer": 20}


class Stage(NamedTuple):
    """Part of a graph whose nodes depend on the same axes.

    Attributes
    ----------
    axes : int
        These axes, as bits; of the last stage those of all its nodes.
    graph : Graph
        Its outputs are the values that later stages need; of the last stage, the outputs of the whole.
    """

    axes: int
    graph: Graph


def axes(graph: Graph, inputs: Mapping[str, int]) -> list[int]:
    """Axes on which every node depends, as bits.

    Parameters
    ----------
    graph : Graph
        Any graph.
    inputs : mapping
        Axes of each input, as bits; none for inputs left out.
    """
    axes_of_nodes: list[int] = []
    for node in graph.nodes:
        bits = inputs.get(node.data, 0) if node.op == "input" else 0
        for arg in node.args:
            bits |= axes_of_nodes[arg]
        axes_of_nodes.append(bits)
    return axes_of_nodes


def cost(graph: Graph, inputs: Mapping[str, int]) -> Counter[int]:
    """Nanoseconds of NumPy per value, by the axes of the node; iterations include all tries."""
    nanoseconds: Counter[int] = Counter()
    for node, bits in zip(graph.nodes, axes(graph, inputs), strict=True):
        nanoseconds[bits] += cost_of(node)
    return nanoseconds


def cost_of(node: Node) -> int:
    """Nanoseconds of NumPy for a value of a node; iterations include all tries."""
    tried = TRIES[node.op] * cost(node.data, {}).total() if node.op in TRIES else 0
    return TABLE[node.op].cost + tried


def stages(graph: Graph, inputs: Mapping[str, int], early: Callable[[int], int | None]) -> list[Stage]:
    """Partition a graph into stages, each of which is evaluated at the shape of its axes.

    Parameters
    ----------
    graph : Graph
        Any graph.
    inputs : mapping
        As for :func:`axes`.
    early : callable
        Maps axes to the axes that identify and sort their stage; None for the last stage, and so for any axes that
        include these.

    Returns
    -------
    list of Stage
        In order; a stage may read the outputs of those before it, under names that no input has.
    """
    over, live = axes(graph, inputs), graph.live()
    stage = {index: early(over[index]) for index in live if graph.nodes[index].op not in _LEAVES}
    exported = {
        arg: "" for index, own in stage.items() for arg in graph.nodes[index].args if stage.get(arg, own) != own
    }
    exported |= {index: "" for index in graph.outputs.values() if stage.get(index) is not None}
    fresh = (name for number in itertools.count() if (name := f"_h{number}") not in graph.inputs)
    exported = dict(zip(sorted(exported), fresh, strict=False))
    partition = []
    for own in sorted({own for own in stage.values() if own is not None}, key=lambda bits: (bits.bit_count(), bits)):
        indices = [index for index, own_axes in stage.items() if own_axes == own]
        outputs = {exported[index]: index for index in indices if index in exported}
        partition.append(Stage(own, _extract(graph, indices, outputs, exported)))
    indices = [index for index, own_axes in stage.items() if own_axes is None]
    every = 0
    for index in indices:
        every |= over[index]
    return [*partition, Stage(every, _extract(graph, indices, graph.outputs, exported))]


_LEAVES = ("input", "number")


def _extract(graph: Graph, indices: Collection[int], outputs: Mapping[str, int], exported: Mapping[int, str]) -> Graph:
    """Extract some nodes as a graph whose inputs are named values of other parts."""
    nodes: list[Node] = []
    facts = []
    moved: dict[int, int] = {}

    def add(index: int, node: Node) -> None:
        moved[index] = len(nodes)
        nodes.append(node)
        facts.append(graph.facts[index])

    def read(args: Iterable[int]) -> None:
        for arg in args:
            if arg in moved:
                continue
            if graph.nodes[arg].op in _LEAVES:
                add(arg, graph.nodes[arg])
                continue
            add(arg, Node("input", (), exported[arg]))
            if is_truth(graph, arg):  # passed on as a number
                add(arg, Node("truth", (moved[arg],)))

    for index in indices:
        node = graph.nodes[index]
        read(node.args)
        add(index, node._replace(args=tuple(moved[arg] for arg in node.args)))
    read(outputs.values())
    return Graph(
        tuple(sorted({node.data for node in nodes if node.op == "input"})),
        tuple(nodes),
        {name: moved[index] for name, index in outputs.items()},
        {moved[index]: graph.names[index] for index in indices if index in graph.names},
        tuple(facts),
    )


def is_truth(graph: Graph, index: int) -> bool:
    """True if a node is a truth value."""
    node = graph.nodes[index]
    if node.op == "where":
        return is_truth(graph, node.args[1]) and is_truth(graph, node.args[2])
    return isinstance(node.data, bool) if node.op == "number" else TABLE[node.op].truth
