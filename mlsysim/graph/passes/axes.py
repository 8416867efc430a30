"""The axes of a grid that each node depends on, and the graph in stages by them."""

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
        Its outputs are what later stages need of it; of the last stage, the outputs of the whole.
    """

    axes: int
    graph: Graph


def axes(graph: Graph, inputs: Mapping[str, int]) -> list[int]:
    """The axes that every node depends on, as bits.

    Parameters
    ----------
    graph : Graph
        Any graph.
    inputs : mapping
        Axes of each input, as bits; those of inputs that are left out are none.
    """
    found: list[int] = []
    for node in graph.nodes:
        bits = inputs.get(node.data, 0) if node.op == "input" else 0
        for arg in node.args:
            bits |= found[arg]
        found.append(bits)
    return found


def cost(graph: Graph, inputs: Mapping[str, int]) -> Counter[int]:
    """Nanoseconds of NumPy for each value, by the axes of what is computed; iterations with all that they try."""
    found: Counter[int] = Counter()
    for node, bits in zip(graph.nodes, axes(graph, inputs), strict=True):
        found[bits] += cost_of(node)
    return found


def cost_of(node: Node) -> int:
    """Nanoseconds of NumPy for a value of a node; iterations with all that they try."""
    tried = TRIES[node.op] * cost(node.data, {}).total() if node.op in TRIES else 0
    return TABLE[node.op].cost + tried


def stages(graph: Graph, inputs: Mapping[str, int], early: Callable[[int], int | None]) -> list[Stage]:
    """Split a graph into stages, each of which is evaluated at the shape of its axes.

    Parameters
    ----------
    graph : Graph
        Any graph.
    inputs : mapping
        As for :func:`axes`.
    early : callable
        From axes to those by which their stage is known and sorted; None for the last stage, and so for any axes that
        include some of these.

    Returns
    -------
    list of Stage
        In order; a stage may read the outputs of those before it, under names that no input has.
    """
    over, live = axes(graph, inputs), graph.live()
    stage = {place: early(over[place]) for place in live if graph.nodes[place].op not in _LEAVES}
    handed = {arg: "" for place, own in stage.items() for arg in graph.nodes[place].args if stage.get(arg, own) != own}
    handed |= {place: "" for place in graph.outputs.values() if stage.get(place) is not None}
    fresh = (name for number in itertools.count() if (name := f"_h{number}") not in graph.inputs)
    handed = dict(zip(sorted(handed), fresh, strict=False))
    found = []
    for own in sorted({own for own in stage.values() if own is not None}, key=lambda bits: (bits.bit_count(), bits)):
        places = [place for place, each in stage.items() if each == own]
        outputs = {handed[place]: place for place in places if place in handed}
        found.append(Stage(own, _part(graph, places, outputs, handed)))
    places = [place for place, each in stage.items() if each is None]
    every = 0
    for place in places:
        every |= over[place]
    return [*found, Stage(every, _part(graph, places, graph.outputs, handed))]


_LEAVES = ("input", "number")


def _part(graph: Graph, places: Collection[int], outputs: Mapping[str, int], handed: Mapping[int, str]) -> Graph:
    """Some nodes as a graph, which is given what it reads of others by name."""
    nodes: list[Node] = []
    facts = []
    moved: dict[int, int] = {}

    def add(place: int, node: Node) -> None:
        moved[place] = len(nodes)
        nodes.append(node)
        facts.append(graph.facts[place])

    def read(args: Iterable[int]) -> None:
        for arg in args:
            if arg in moved:
                continue
            if graph.nodes[arg].op in _LEAVES:
                add(arg, graph.nodes[arg])
                continue
            add(arg, Node("input", (), handed[arg]))
            if is_truth(graph, arg):  # which is handed on as a number
                add(arg, Node("truth", (moved[arg],)))

    for place in places:
        node = graph.nodes[place]
        read(node.args)
        add(place, node._replace(args=tuple(moved[arg] for arg in node.args)))
    read(outputs.values())
    return Graph(
        tuple(sorted({node.data for node in nodes if node.op == "input"})),
        tuple(nodes),
        {name: moved[place] for name, place in outputs.items()},
        {moved[place]: graph.names[place] for place in places if place in graph.names},
        tuple(facts),
    )


def is_truth(graph: Graph, place: int) -> bool:
    """True if a node is a truth value."""
    node = graph.nodes[place]
    if node.op == "where":
        return is_truth(graph, node.args[1]) and is_truth(graph, node.args[2])
    return isinstance(node.data, bool) if node.op == "number" else TABLE[node.op].truth
