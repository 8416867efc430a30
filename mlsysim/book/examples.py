"""Check of worked examples before the book is written: each must give its published number."""

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
    """Refuse formulas whose example does not give its published number.

    Parameters
    ----------
    formulas : iterable of Formula
        Formulas to check; those without an example pass.

    Raises
    ------
    FormulaError
        If the arithmetic or the formula of an example does not give the published number to its last digit.
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
        value = example_value(formula)
    except (MlsysimError, ArithmeticError, TypeError, ValueError) as error:
        raise FormulaError(f"{what}, but the formula cannot be evaluated there: {error}") from None
    if domain.kind in ("choice", "boolean"):
        text = domain.labels[int(value)] if domain.kind == "choice" else str(bool(value))
        if text != example.result.strip():
            raise FormulaError(f"{what}, but the formula gives {text}")
    else:
        number, half = example.value()
        if not abs(value - number) <= half * (1 + 1e-9):
            unit = example.unit()
            raise FormulaError(f"{what}, but the formula gives {units.from_canonical(value, unit):.6g} {unit}".rstrip())
    if example.derived:
        _check_derived(formula, what)


def _check_derived(formula: Formula, what: str) -> None:
    example, kind = formula.example, formula.variable.domain.kind
    assert example is not None
    try:
        value = _by_hand(ast.parse(example.derived, mode="eval").body)
    except (SyntaxError, KeyError, TypeError, ArithmeticError, ValueError):
        raise FormulaError(f"{what}, but {quoted(example.derived)} is no arithmetic of plain numbers") from None
    if kind in ("choice", "boolean"):
        good = value is True if kind == "choice" else str(value) == example.result.strip()
    else:
        number, half = example.value()
        good = abs(value - number / units.factor(example.unit())) <= half / units.factor(example.unit()) * (1 + 1e-9)
    if not good:
        raise FormulaError(f"{what}, but {quoted(example.derived)} gives {value}")


def example_value(formula: Formula) -> Any:
    """Evaluate a plain formula for its example, in canonical units."""
    assert formula.example is not None
    values = {s.name: _canonical(variable_of(s), value) for s, value in formula.example.inputs.items()}
    return compiled_expression(formula.expression)(values)["value"]


def _canonical(variable: Variable, value: Any) -> float:
    return variable.code(value) if isinstance(value, str) else units.to_canonical(value, variable.unit)


def _by_hand(node: ast.expr) -> Any:
    """Evaluate written arithmetic of plain numbers."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_by_hand(node.operand)
    if isinstance(node, ast.BinOp):
        return _SIGNS[type(node.op)](_by_hand(node.left), _by_hand(node.right))
    if isinstance(node, ast.Compare):
        terms = [_by_hand(operand) for operand in (node.left, *node.comparators)]
        return all(_SIGNS[type(sign)](*pair) for sign, pair in zip(node.ops, pairwise(terms), strict=True))
    if isinstance(node, ast.BoolOp):
        return (all if isinstance(node.op, ast.And) else any)(_by_hand(operand) for operand in node.values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _CALLS[node.func.id](*map(_by_hand, node.args))
    raise ValueError(ast.dump(node))
