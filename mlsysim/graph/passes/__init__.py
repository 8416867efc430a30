"""Passes: a graph in, a graph out."""

from mlsysim.graph.passes.axes import ITERATED, Stage, axes, cost, cost_of, stages
from mlsysim.graph.passes.guards import guarded
from mlsysim.graph.passes.known import known
from mlsysim.graph.passes.regrouped import regrouped

__all__ = ["ITERATED", "Stage", "axes", "cost", "cost_of", "guarded", "known", "regrouped", "stages"]
