"""Check of the worked example of a formula before a page of it is written: it must give what it prints."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from mlsysim import units
from mlsysim.backends import compiled_expression
from mlsysim.errors import FormulaError, MlsysimError, quoted
from mlsysim.symbolic import Formula, Variable, variable_of

_SIGNS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_CALLS = {"max": max, "min": min, "ceil": math.ceil, "floor": math.floor, "sqrt": math.sqrt, "exp": math.exp,
          "log": math.log}  # fmt: skip


def check_examples(formulas: Iterable[Formula]) -> None:
    """Refuse formulas whose example gives something else than it prints.

    Parameters
    ----------
    formulas : iterable of Formula
        Those without an example pass.

    Raises
    ------
    FormulaError
        If the arithmetic or the formula of one does not give the printed result to its last digit.
    """
    for formula in formulas:
        if formula.example is not None:
            _check(formula.worked)


def _check(formula: Formula) -> None:
    example, domain = formula.example, formula.variable.domain
    assert example is not None
    what = f"formula for {formula.name}: its example prints {example.result}"
    try:
        example.check(formula.variable, formula.inputs)
        found = example_value(formula)
    except (MlsysimError, ArithmeticError, TypeError, ValueError) as error:
        raise FormulaError(f"{what}, but the formula cannot be evaluated there: {error}") from None
    if domain.kind in ("choice", "boolean"):
        text = domain.labels[int(found)] if domain.kind == "choice" else str(bool(found))
        if text != example.result.strip():
            raise FormulaError(f"{what}, but the formula gives {text}")
    else:
        number, half = example.value()
        if not abs(found - number) <= half * (1 + 1e-9):
            unit = example.unit()
            raise FormulaError(f"{what}, but the formula gives {units.from_canonical(found, unit):.6g} {unit}".rstrip())
    if example.derived:
        _check_derived(formula, what)


def _check_derived(formula: Formula, what: str) -> None:
    example, kind = formula.example, formula.variable.domain.kind
    assert example is not None
    try:
        found = _by_hand(ast.parse(example.derived, mode="eval").body)
    except (SyntaxError, KeyError, TypeError, ArithmeticError, ValueError):
        raise FormulaError(f"{what}, but {quoted(example.derived)} is no arithmetic of plain numbers") from None
    if kind in ("choice", "boolean"):
        good = found is True if kind == "choice" else str(found) == example.result.strip()
    else:
        number, half = example.value()
        good = abs(found - number / units.factor(example.unit())) <= half / units.factor(example.unit()) * (1 + 1e-9)
    if not good:
        raise FormulaError(f"{what}, but {quoted(example.derived)} gives {found}")


def example_value(formula: Formula) -> Any:
    """Value of a plain formula for its example, in canonical units."""
    assert formula.example is not None
    given = {s.name: _canonical(variable_of(s), value) for s, value in formula.example.inputs.items()}
    return compiled_expression(formula.expression)(given)["value"]


def _canonical(variable: Variable, value: Any) -> float:
    return variable.code(value) if isinstance(value, str) else units.to_canonical(value, variable.unit)


def _by_hand(node: ast.expr) -> Any:
    """Written arithmetic of plain numbers."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_by_hand(node.operand)
    if isinstance(node, ast.BinOp):
        return _SIGNS[type(node.op)](_by_hand(node.left), _by_hand(node.right))
    if isinstance(node, ast.Compare):
        terms = [_by_hand(each) for each in (node.left, *node.comparators)]
        return all(_SIGNS[type(sign)](*pair) for sign, pair in zip(node.ops, pairwise(terms), strict=True))
    if isinstance(node, ast.BoolOp):
        return (all if isinstance(node.op, ast.And) else any)(_by_hand(each) for each in node.values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _CALLS[node.func.id](*map(_by_hand, node.args))
    raise ValueError(ast.dump(node))
