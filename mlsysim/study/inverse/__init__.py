"""Inverse question: the value of one input at which a model meets targets."""

from mlsysim.study.inverse.solution import Solution
from mlsysim.study.inverse.solve_for import solve_for

__all__ = ["Solution", "solve_for"]
