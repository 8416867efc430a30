"""Graphs: operations in topological order, each on the results of earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from mlsysim.graph.facts import Facts

#: Number of bound inputs of a subgraph, by operation; captured inputs follow them.
OWN = {"root": 1, "least_integer": 1, "chunked": 2}


class Node(NamedTuple):
    """One operation on earlier nodes.

    Attributes
    ----------
    op : str
        Name of the operation.
    args : tuple of int
        Indices of its operands.
    data : object
        The value of a number, the name of an input, the subgraph of a root or a least integer.
    """

    op: str
    args: tuple[int, ...] = ()
    data: Any = None


@dataclass(frozen=True, eq=False)
class Graph:
    """Operations in topological order, without common subexpressions.

    Attributes
    ----------
    inputs : tuple of str
        Names of the arguments, in order.
    nodes : tuple of Node
        Each after its operands.
    outputs : dict
        Index of each result, by name.
    names : dict
        Variable of a node, by index: for readers of printed code, and for bounds.
    facts : tuple of Facts
        Facts of each node.
    """

    inputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: Mapping[str, int]
    names: Mapping[int, str] = field(default_factory=dict)
    facts: tuple[Facts, ...] = ()

    def live(self, outputs: Iterable[str] | None = None) -> list[int]:
        """Indices of the live nodes of some outputs, in order; of all outputs by default."""
        wanted = self.outputs.values() if outputs is None else [self.outputs[name] for name in outputs]
        needed = bytearray(len(self.nodes))
        for index in wanted:
            needed[index] = 1
        for index in range(len(self.nodes) - 1, -1, -1):
            if needed[index]:
                for arg in self.nodes[index].args:
                    needed[arg] = 1
        return [index for index, flag in enumerate(needed) if flag]

    @cached_property
    def size(self) -> int:
        """Number of nodes, those of subgraphs included."""
        return sum(1 + (node.data.size if isinstance(node.data, Graph) else 0) for node in self.nodes)

    def has(self, *operations: str) -> bool:
        """True if some node, also within subgraphs, is one of these operations."""
        return any(
            node.op in operations or (isinstance(node.data, Graph) and node.data.has(*operations))
            for node in self.nodes
        )
