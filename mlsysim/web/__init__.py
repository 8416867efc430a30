"""Browser calculators, one self-contained page per model, generated from the model's formulas."""

from mlsysim.web.pages import calculator

__all__ = ["calculator"]
