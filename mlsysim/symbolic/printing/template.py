"""Expressions as LaTeX with marks, for pages that put numbers in: where a symbol stands, and where cases do.

``«name»`` is a symbol. ``§place¶row¶row¤`` is a case distinction, of which the page shows every row, or the one that
holds; a row is a value, ``¬`` and its condition. ``¦`` stands between factors.
"""

from __future__ import annotations

from typing import Any

import sympy

from mlsysim.symbolic.exchange import exchanged, numbered
from mlsysim.symbolic.functions import EvaluatedAt
from mlsysim.symbolic.printing.latex import Latex, full_size
from mlsysim.symbolic.printing.lines import unbroken
from mlsysim.symbolic.printing.order import Placed, bare, prepared


def template(expression: sympy.Basic) -> tuple[str, list[sympy.Basic]]:
    """An expression as LaTeX with marks, and for each case distinction in it the number of the row that holds.

    Parameters
    ----------
    expression : sympy.Basic
        In declared symbols.
    """
    printer = _Marked()
    short = exchanged(expression, {each: _said(each) for each in expression.atoms(EvaluatedAt)}, numbered)
    return unbroken(printer.doprint(prepared(bare(short)))), printer.cases


class _Marked(Latex):
    def __init__(self) -> None:
        super().__init__({}, "¦")
        self.cases: list[sympy.Basic] = []

    def _print_Placed(self, expr: Any, style: str = "plain") -> str:
        return f"«{expr.variable.name}»"

    def _print_Piecewise(self, expr: sympy.Piecewise) -> str:
        place = len(self.cases)
        numbers = ((sympy.Integer(row), condition) for row, (_, condition) in enumerate(expr.args))  # type: ignore[misc]
        self.cases.append(_declared(sympy.Piecewise(*numbers, evaluate=False)))
        rows = []
        for value, condition in expr.args:  # type: ignore[misc]
            when = r"\text{otherwise}" if condition == True else rf"\text{{if}}\ {self._print(condition)}"  # noqa: E712
            rows.append(f"¶{full_size(self._print(value))}¬{when}")
        return f"§{place}{''.join(rows)}¤"


def _said(node: EvaluatedAt) -> Any:
    """Value elsewhere, without the steps that lead there, which nobody prints: far less to go through."""
    target, names, steps = node.args
    return node.func(target, names, sympy.Tuple(*steps.args[: len(names.args)]))


def _declared(expression: Any) -> Any:
    """An expression in the symbols of its variables again."""
    return exchanged(expression, {each: each.variable.symbol for each in expression.atoms(Placed)})
