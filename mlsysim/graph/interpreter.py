"""Values of a graph at one point, an operation at a time: for what is folded, and as a check of what is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlsysim.graph.graph import Graph
from mlsysim.graph.operation import TABLE


def interpreted(graph: Graph, values: Mapping[str, Any]) -> list[Any]:
    """Value of every node, from a number per input.

    Parameters
    ----------
    graph : Graph
        Without laws of chunked prefill, which do not fold.
    values : mapping
        Canonical number per input.
    """
    found: list[Any] = []
    for node in graph.nodes:
        if node.op == "input":
            found.append(values[node.data])
        elif node.op == "number":
            found.append(node.data)
        else:
            fold = TABLE[node.op].fold
            assert fold is not None
            subgraph = (node.data,) if isinstance(node.data, Graph) else ()
            found.append(fold(*subgraph, *[found[arg] for arg in node.args]))
    return found


def function_of(graph: Graph) -> Callable[..., Any]:
    """A subgraph as a function of its inputs, by place, that returns its only output."""
    (result,) = graph.outputs.values()
    return lambda *given: interpreted(graph, dict(zip(graph.inputs, given, strict=True)))[result]
