"""Passes: a graph in, a graph out."""

from mlsysim.graph.passes.axes import ITERATED, Stage, axes, cost, cost_of, is_truth, stages
from mlsysim.graph.passes.derivative import along, derivative
from mlsysim.graph.passes.known import known
from mlsysim.graph.passes.ordered import ordered
from mlsysim.graph.passes.regrouped import regrouped

__all__ = [
    "ITERATED", "Stage", "along", "axes", "cost", "cost_of", "derivative", "is_truth", "known",
    "ordered", "regrouped", "stages",
]  # fmt: skip
