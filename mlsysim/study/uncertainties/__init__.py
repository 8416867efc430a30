"""Uncertainty of an answer: distributions of inputs, and what they make of the outputs."""

from mlsysim.study.uncertainties import distributions

__all__ = ["distributions"]
