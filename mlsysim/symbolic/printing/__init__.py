"""Printing in the field's symbols: LaTeX for papers and pages, one line of Unicode for a terminal."""

from mlsysim.symbolic.printing.latex import amount_latex, equation, latex, range_latex
from mlsysim.symbolic.printing.order import listed
from mlsysim.symbolic.printing.text import latex_to_text, range_text, symbol_text, text
from mlsysim.symbolic.printing.units import constants

__all__ = [
    "amount_latex",
    "constants",
    "equation",
    "latex",
    "latex_to_text",
    "listed",
    "range_latex",
    "range_text",
    "symbol_text",
    "text",
]
