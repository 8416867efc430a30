"""Bounds of a System over boxes of a grid, and the exact search that rests on them."""

from mlsysim.engine.bounds.branch import Best, Progress, Search
from mlsysim.engine.bounds.points import Points, at_points
from mlsysim.engine.bounds.translate import Translator

__all__ = ["Best", "Points", "Progress", "Search", "Translator", "at_points"]
