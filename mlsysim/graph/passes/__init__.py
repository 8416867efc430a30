"""Passes: a graph in, a graph out."""

from mlsysim.graph.passes.axes import ITERATED, Stage, axes, cost, stages
from mlsysim.graph.passes.derivative import along, derivative
from mlsysim.graph.passes.guards import guarded
from mlsysim.graph.passes.known import known

__all__ = ["ITERATED", "Stage", "along", "axes", "cost", "derivative", "guarded", "known", "stages"]
