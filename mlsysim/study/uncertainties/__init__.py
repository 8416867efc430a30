"""Propagation of uncertainty: distributions of inputs, and the resulting distributions of outputs."""

from mlsysim.study.uncertainties import distributions

__all__ = ["distributions"]
