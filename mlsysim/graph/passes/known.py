"""The graph in which some inputs are numbers: what follows from them is computed now, and not at every point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mlsysim.graph.builder import Builder, inlined
from mlsysim.graph.graph import OWN, Graph, Node


def known(graph: Graph, values: Mapping[str, float]) -> Graph:
    """Put numbers in for some inputs.

    Parameters
    ----------
    graph : Graph
        Any graph. What is differentiated later keeps its inputs: numbers have no slopes.
    values : mapping
        Canonical number, or truth value, per input; other names are ignored.

    Returns
    -------
    Graph
        Of the other inputs, with the same outputs.
    """
    builder = Builder()
    given: dict[str, int] = {}
    for place, node in enumerate(graph.nodes):
        if node.op == "input":
            value = values.get(node.data)
            if value is None:
                given[node.data] = builder.input(node.data, graph.facts[place])
            else:
                given[node.data] = builder.number(value if isinstance(value, bool) else float(value))
    places = inlined(builder, graph, given, lambda node, args: _within(node, args, builder))
    return builder.graph({name: places[place] for name, place in graph.outputs.items()})


def _within(node: Node, args: list[int], builder: Builder) -> tuple[Node, list[int]]:
    """A node with a subgraph in which numbers that it captures are put in, and its other operands."""
    if node.op == "chunked":  # whose answers count its operands
        return node, args
    graph: Graph = node.data
    own, captured = graph.inputs[: OWN[node.op]], graph.inputs[OWN[node.op] :]
    first = len(args) - len(captured)
    numbers = {name: builder.value(arg) for name, arg in zip(captured, args[first:], strict=True)}
    inner = known(graph, {name: value for name, value in numbers.items() if value is not None})
    left = [(name, arg) for name, arg in zip(captured, args[first:], strict=True) if name in inner.inputs]
    inner = replace(inner, inputs=(*own, *(name for name, _ in left)))
    return node._replace(data=inner), [*args[:first], *(arg for _, arg in left)]
