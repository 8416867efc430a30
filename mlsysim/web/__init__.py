"""Calculators in the browser, printed from the same Systems: one self-contained page per model."""

from mlsysim.web.pages import calculator

__all__ = ["calculator"]
