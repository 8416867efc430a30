"""Intermediate representation below sympy: the graph that every backend prints, every pass rewrites and bounds read."""

from mlsysim.graph import operations
from mlsysim.graph.builder import Builder, copied, inlined
from mlsysim.graph.facts import ANY, Facts
from mlsysim.graph.graph import Graph, Node
from mlsysim.graph.lowering import lowered
from mlsysim.graph.operation import TABLE, Arithmetic, Operation, State

__all__ = [
    "ANY", "TABLE", "Arithmetic", "Builder", "Facts", "Graph", "Node", "Operation", "State", "copied", "inlined",
    "lowered", "operations",
]  # fmt: skip
