"""Passes: a graph in, a graph out."""

from mlsysim.graph.passes.guards import guarded
from mlsysim.graph.passes.known import known

__all__ = ["guarded", "known"]
