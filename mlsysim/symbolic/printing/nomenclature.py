"""Nomenclature: tables of symbols with meaning and unit."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mlsysim.symbolic.printing.text import symbol_text
from mlsysim.symbolic.tex import prose_latex
from mlsysim.symbolic.variable import Variable

_HEAD = r"""% Needs longtable.
\begin{longtable}{lp{0.6\linewidth}l}
Symbol & Meaning & Unit \\
\hline
\endhead
"""


def in_order(variables: Iterable[Variable]) -> tuple[Variable, ...]:
    """Sort variables by symbol, each once: Latin letters first, then Greek ones."""
    return tuple(sorted({variable.name: variable for variable in variables}.values(), key=_key))


def nomenclature(variables: Iterable[Variable]) -> str:
    """Print variables as a ``longtable`` of symbol, meaning and unit.

    Parameters
    ----------
    variables : iterable of Variable
        In any order.

    Returns
    -------
    str
        LaTeX.
    """
    rows = (
        f"${variable.latex}$ & {prose_latex(variable.description.rstrip('.'))} & {_cell(variable.unit)}".rstrip()
        for variable in in_order(variables)
    )
    return _HEAD + "".join(f"{row} \\\\\n" for row in rows) + "\\end{longtable}"


def unit_latex(unit: str) -> str:
    """Print a unit in upright letters, as mathematics; empty for a pure number."""
    if unit == "count":
        return ""
    upright = re.sub(r"[A-Za-zµ]+", lambda word: rf"\mathrm{{{word[0]}}}".replace(r"{µ", r"{\mu "), unit)
    return upright.replace("**", "^").replace("*", r"\,")


def _cell(unit: str) -> str:
    return f"${unit_latex(unit)}$" if unit_latex(unit) else ""


def _key(variable: Variable) -> tuple[bool, str, str]:
    text = symbol_text(variable)
    return not text[:1].isascii(), text.casefold(), text
