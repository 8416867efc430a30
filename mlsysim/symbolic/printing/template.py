"""LaTeX with marks for pages that substitute numbers: marks show symbols and cases.

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
    """Format an expression as marked LaTeX; also return, per case distinction, the number of the row that holds.

    Parameters
    ----------
    expression : sympy.Basic
        In declared symbols.
    """
    printer = _Marked()
    short = exchanged(expression, {call: _said(call) for call in expression.atoms(EvaluatedAt)}, numbered)
    return unbroken(printer.doprint(prepared(bare(short)))), printer.cases


class _Marked(Latex):
    def __init__(self) -> None:
        super().__init__({}, "¦")
        self.cases: list[sympy.Basic] = []

    def _print_Placed(self, expr: Any, style: str = "plain") -> str:
        return f"«{expr.variable.name}»"

    def _print_Piecewise(self, expr: sympy.Piecewise) -> str:
        case = len(self.cases)
        numbers = ((sympy.Integer(row), condition) for row, (_, condition) in enumerate(expr.args))  # type: ignore[misc]
        self.cases.append(_declared(sympy.Piecewise(*numbers, evaluate=False)))
        rows = []
        for value, condition in expr.args:  # type: ignore[misc]
            when = r"\text{otherwise}" if condition == True else rf"\text{{if}}\ {self._print(condition)}"  # noqa: E712
            rows.append(f"¶{full_size(self._print(value))}¬{when}")
        return f"§{case}{''.join(rows)}¤"


def _said(node: EvaluatedAt) -> Any:
    """Replace a call by one without its steps, which are not printed: far less to walk through."""
    target, names, steps = node.args
    return node.func(target, names, sympy.Tuple(*steps.args[: len(names.args)]))


def _declared(expression: Any) -> Any:
    """Restore the variables' own symbols in an expression."""
    return exchanged(expression, {symbol: symbol.variable.symbol for symbol in expression.atoms(Placed)})
