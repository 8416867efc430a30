"""Passes: a graph in, a graph out."""

from mlsysim.graph.passes.axes import ITERATED, Stage, axes, cost, stages
from mlsysim.graph.passes.guards import guarded
from mlsysim.graph.passes.known import known
from mlsysim.graph.passes.regrouped import regrouped

__all__ = ["ITERATED", "Stage", "axes", "cost", "guarded", "known", "regrouped", "stages"]
