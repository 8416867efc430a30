"""The graph in which some inputs are numbers: what follows from them is computed now, and not at every point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mlsysim.graph.builder import Builder
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
    places: list[int] = []
    for place, node in enumerate(graph.nodes):
        if node.op == "input":
            value = values.get(node.data)
            if value is None:
                at = builder.input(node.data, graph.facts[place])
            else:
                at = builder.number(value if isinstance(value, bool) else float(value))
        elif node.op == "number":
            at = builder.number(node.data)
        else:
            args = [places[arg] for arg in node.args]
            if isinstance(node.data, Graph) and node.op != "chunked":  # whose answers count its operands
                node, args = _within(node, args, builder)
            at = builder.make(node.op, *args, data=node.data)
        if place in graph.names and builder.value(at) is None:
            builder.names.setdefault(at, graph.names[place])
        places.append(at)
    return builder.graph({name: places[place] for name, place in graph.outputs.items()})


def _within(node: Node, args: list[int], builder: Builder) -> tuple[Node, list[int]]:
    """A node with a subgraph in which numbers that it captures are put in, and its other operands."""
    graph: Graph = node.data
    own, captured = graph.inputs[: OWN[node.op]], graph.inputs[OWN[node.op] :]
    first = len(args) - len(captured)
    numbers = {name: builder.value(arg) for name, arg in zip(captured, args[first:], strict=True)}
    inner = known(graph, {name: value for name, value in numbers.items() if value is not None})
    left = [(name, arg) for name, arg in zip(captured, args[first:], strict=True) if name in inner.inputs]
    inner = replace(inner, inputs=(*own, *(name for name, _ in left)))
    return node._replace(data=inner), [*args[:first], *(arg for _, arg in left)]
