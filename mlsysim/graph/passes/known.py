"""Partial evaluation: specialize a graph to known inputs and fold everything that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mlsysim.graph.builder import Builder, inlined
from mlsysim.graph.graph import OWN, Graph, Node


def known(graph: Graph, values: Mapping[str, float]) -> Graph:
    """Specialize a graph to numbers for some inputs.

    Parameters
    ----------
    graph : Graph
        Any graph. Inputs that are differentiated later must stay unknown: numbers have no slopes.
    values : mapping
        Canonical number, or truth value, per input; other names are ignored.

    Returns
    -------
    Graph
        Residual graph of the other inputs, with the same outputs.
    """
    builder = Builder()
    inputs: dict[str, int] = {}
    for index, node in enumerate(graph.nodes):
        if node.op == "input":
            value = values.get(node.data)
            if value is None:
                inputs[node.data] = builder.input(node.data, graph.facts[index])
            else:
                inputs[node.data] = builder.number(value if isinstance(value, bool) else float(value))
    copies = inlined(builder, graph, inputs, lambda node, args: _within(node, args, builder))
    return builder.graph({name: copies[index] for name, index in graph.outputs.items()})


def _within(node: Node, args: list[int], builder: Builder) -> tuple[Node, list[int]]:
    """Specialize the subgraph of a node to captured numbers; return the node and its remaining operands."""
    if node.op == "chunked":  # its outputs refer to operands by position
        return node, args
    graph: Graph = node.data
    own, captured = graph.inputs[: OWN[node.op]], graph.inputs[OWN[node.op] :]
    first = len(args) - len(captured)
    numbers = {name: builder.value(arg) for name, arg in zip(captured, args[first:], strict=True)}
    inner = known(graph, {name: value for name, value in numbers.items() if value is not None})
    left = [(name, arg) for name, arg in zip(captured, args[first:], strict=True) if name in inner.inputs]
    inner = replace(inner, inputs=(*own, *(name for name, _ in left)))
    return node._replace(data=inner), [*args[:first], *(arg for _, arg in left)]
