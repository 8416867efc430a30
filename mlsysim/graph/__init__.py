"""The graph below sympy: the one program that every backend prints, every pass reads and every bound is made of."""

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
