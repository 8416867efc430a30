"""Passes: a graph in, a graph out."""

from mlsysim.graph.passes.derivative import along, derivative
from mlsysim.graph.passes.guards import guarded
from mlsysim.graph.passes.known import known

__all__ = ["along", "derivative", "guarded", "known"]
