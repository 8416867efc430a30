"""Figures of a sweep: what is feasible and what binds where, curves, Pareto fronts, rooflines."""

from mlsysim.plot.heatmap import heatmap
from mlsysim.plot.lines import lines
from mlsysim.plot.pareto import pareto
from mlsysim.plot.roofline import roofline

__all__ = ["heatmap", "lines", "pareto", "roofline"]
