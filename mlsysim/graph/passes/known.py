"""The graph in which some inputs are numbers: what follows from them is computed now, and not at every point."""

from __future__ import annotations

from collections.abc import Mapping

from mlsysim.graph.builder import Builder, inlined
from mlsysim.graph.graph import Graph


def known(graph: Graph, values: Mapping[str, float]) -> Graph:
    """Put numbers in for some inputs.

    Parameters
    ----------
    graph : Graph
        Any graph. What is differentiated later keeps its inputs: numbers have no slopes.
    values : mapping
        Canonical number per input; other names are ignored.

    Returns
    -------
    Graph
        Of the other inputs, with the same outputs.
    """
    builder = Builder()
    given = {}
    for place, node in enumerate(graph.nodes):
        if node.op == "input":
            value = values.get(node.data)
            given[node.data] = (
                builder.input(node.data, graph.facts[place]) if value is None else builder.number(float(value))
            )
    places = inlined(builder, graph, given)
    return builder.graph({name: places[place] for name, place in graph.outputs.items()})
