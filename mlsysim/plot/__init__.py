"""Figures: heat maps, regimes, curves, bars, fronts, rooflines, spreads, tornadoes, waterfalls; interactive ones."""

from mlsysim.plot.bars import bars
from mlsysim.plot.designs import designs
from mlsysim.plot.heatmap import heatmap
from mlsysim.plot.interactive import interactive
from mlsysim.plot.lines import lines
from mlsysim.plot.moments import moments
from mlsysim.plot.pareto import pareto
from mlsysim.plot.regimes import regimes
from mlsysim.plot.roofline import roofline
from mlsysim.plot.spread import spread
from mlsysim.plot.themes import themed
from mlsysim.plot.tornado import tornado
from mlsysim.plot.waterfall import waterfall

__all__ = [
    "bars",
    "designs",
    "heatmap",
    "interactive",
    "lines",
    "moments",
    "pareto",
    "regimes",
    "roofline",
    "spread",
    "themed",
    "tornado",
    "waterfall",
]
