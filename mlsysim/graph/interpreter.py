"""Interpreter of graphs at one point, for constant folding and as a check of printed code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlsysim.graph.graph import Graph
from mlsysim.graph.operation import TABLE


def interpreted(graph: Graph, values: Mapping[str, Any]) -> list[Any]:
    """Evaluate every node from a number per input.

    Parameters
    ----------
    graph : Graph
        Graph without laws of chunked prefill, which do not fold.
    values : mapping
        Canonical number per input.
    """
    values_of_nodes: list[Any] = []
    for node in graph.nodes:
        if node.op == "input":
            values_of_nodes.append(values[node.data])
        elif node.op == "number":
            values_of_nodes.append(node.data)
        else:
            fold = TABLE[node.op].fold
            assert fold is not None
            subgraph = (node.data,) if isinstance(node.data, Graph) else ()
            values_of_nodes.append(fold(*subgraph, *[values_of_nodes[arg] for arg in node.args]))
    return values_of_nodes


def function_of(graph: Graph) -> Callable[..., Any]:
    """Function of the inputs of a subgraph, in order, that returns its only output."""
    (result,) = graph.outputs.values()
    return lambda *arguments: interpreted(graph, dict(zip(graph.inputs, arguments, strict=True)))[result]
