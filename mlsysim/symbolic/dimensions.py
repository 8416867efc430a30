"""Dimensional analysis of an expression, done once when its formula is declared."""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch
from typing import Any

import sympy
from sympy.core.relational import Relational
from sympy.functions.elementary.integers import RoundFunction
from sympy.functions.elementary.miscellaneous import MinMaxBase
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.logic.boolalg import Boolean, BooleanFunction

from mlsysim.errors import UnitError
from mlsysim.symbolic.chunked_prefill import ARGUMENTS, OUTPUTS, ChunkedPrefill
from mlsysim.symbolic.constants import Label, UnitSymbol
from mlsysim.symbolic.functions import (
    ErlangCSlope,
    EvaluatedAt,
    LeastInteger,
    Root,
    Unknown,
)
from mlsysim.symbolic.indexed import ByMember, Total
from mlsysim.symbolic.variable import variable_of
from mlsysim.units import COUNTABLE
from mlsysim.units import dimension as dimension_of_unit

Dimension = dict[str, Any]


class _Any:
    """Dimension of zero and infinity, compatible with every other."""


ANY = _Any()


def dimension_of(expression: sympy.Basic) -> Dimension | _Any:
    """Compute the exponent per base dimension of an expression.

    Parameters
    ----------
    expression : sympy.Basic
        In declared variables, unit constants and numbers.

    Returns
    -------
    dict or ANY
        ``ANY`` for zero and infinity, which fit every dimension.

    Raises
    ------
    UnitError
        If two terms that must agree do not.
    """
    return _dimension(expression)


def describe(dimension: Dimension | _Any) -> str:
    """Describe a dimension in words: ``information / time``."""
    if isinstance(dimension, _Any):
        return "any dimension"
    if not dimension:
        return "a pure number"

    def power(name: str, exponent: Any) -> str:
        bare = name.strip("[]")
        return bare if exponent == 1 else f"{bare}^{exponent}"

    above = [power(n, e) for n, e in sorted(dimension.items()) if e > 0]
    below = [power(n, -e) for n, e in sorted(dimension.items()) if e < 0]
    return " * ".join(above or ["1"]) + (" / " + " / ".join(below) if below else "")


def same(left: Dimension | _Any, right: Dimension | _Any) -> bool:
    """Tell whether two dimensions may be added or compared."""
    return isinstance(left, _Any) or isinstance(right, _Any) or left == right


@singledispatch
def _dimension(expression: Any) -> Dimension | _Any:
    if isinstance(expression, sympy.Function) and hasattr(expression, "operation"):
        return _pure(expression)
    raise UnitError(f"no dimension rule for {type(expression).__name__} in {expression}")


@_dimension.register(sympy.Number)
@_dimension.register(sympy.NumberSymbol)
def _number(expression: Any) -> Dimension | _Any:
    return ANY if expression == 0 or expression.is_infinite else {}


@_dimension.register(sympy.Symbol)
def _symbol(expression: sympy.Symbol) -> Dimension:
    return dict(variable_of(expression).dimension)


@_dimension.register(sympy.Dummy)
def _bound(_expression: sympy.Dummy) -> Dimension:
    return {}


@_dimension.register(Unknown)
def _unknown(expression: Unknown) -> Dimension:
    return dict(expression.variable.dimension)


@_dimension.register(UnitSymbol)
def _unit(expression: UnitSymbol) -> Dimension:
    return dict(expression.dimension)


@_dimension.register(Label)
def _label(_expression: Label) -> Dimension:
    return {}


@_dimension.register(sympy.Add)
@_dimension.register(MinMaxBase)
@_dimension.register(sympy.Abs)
def _agreeing(expression: sympy.Basic) -> Dimension | _Any:
    return _common(expression.args, expression)


def _common(terms: Any, where: sympy.Basic) -> Dimension | _Any:
    common: Dimension | _Any = ANY
    first: Any = None
    for term in terms:
        dimension = _dimension(term)
        if not same(common, dimension):
            raise UnitError(f"{first} is {describe(common)} but {term} is {describe(dimension)} in {where}")
        if isinstance(common, _Any):
            common, first = dimension, term
    return common


@_dimension.register(sympy.Mul)
def _product(expression: sympy.Mul) -> Dimension | _Any:
    total: Dimension = {}
    for part in expression.args:
        dimension = _dimension(part)
        if isinstance(dimension, _Any):
            return ANY
        for name, exponent in dimension.items():
            total[name] = total.get(name, 0) + exponent
    return {name: exponent for name, exponent in total.items() if exponent != 0}


@_dimension.register(sympy.Pow)
def _power(expression: sympy.Pow) -> Dimension | _Any:
    base, exponent = _dimension(expression.base), _dimension(expression.exp)
    if not same(exponent, {}):
        raise UnitError(f"exponent {expression.exp} is {describe(exponent)}, not a pure number, in {expression}")
    if isinstance(base, _Any) or not base:
        return base
    if not isinstance(expression.exp, sympy.Rational):
        raise UnitError(f"{expression.base} is {describe(base)} and cannot have the exponent {expression.exp}")
    ratio = Fraction(int(expression.exp.p), int(expression.exp.q))
    return {name: power * ratio for name, power in base.items()}


@_dimension.register(sympy.log)
@_dimension.register(sympy.exp)
@_dimension.register(ErlangCSlope)
def _pure(expression: sympy.Basic) -> Dimension:
    for part in expression.args:
        dimension = _dimension(part)
        if not same(dimension, {}):
            raise UnitError(f"{part} is {describe(dimension)}, not a pure number, in {expression}")
    return {}


@_dimension.register(RoundFunction)
@_dimension.register(sympy.Mod)
def _rounded(expression: sympy.Basic) -> Dimension | _Any:
    dimension = _common(expression.args, expression)
    if not isinstance(dimension, _Any) and not set(dimension) <= COUNTABLE:
        raise UnitError(f"{expression} rounds {describe(dimension)}, which is not a count")
    return dimension


@_dimension.register(sympy.Piecewise)
def _cases(expression: sympy.Piecewise) -> Dimension | _Any:
    for part in expression.args:
        if isinstance(part, ExprCondPair):
            _dimension(part.cond)
    return _common([case.expr for case in expression.args], expression)  # type: ignore[union-attr]


@_dimension.register(Relational)
def _comparison(expression: Relational) -> Dimension:
    _common(expression.args, expression)
    return {}


@_dimension.register(BooleanFunction)
@_dimension.register(Boolean)
def _logic(expression: sympy.Basic) -> Dimension:
    for part in expression.args:
        _dimension(part)
    return {}


@_dimension.register(LeastInteger)
def _least(expression: LeastInteger) -> Dimension:
    _dimension(expression.condition)
    if not same(_dimension(expression.upper), {}):
        raise UnitError(f"limit {expression.upper} of a least integer is not a pure number")
    return {}


@_dimension.register(Root)
def _root(expression: Root) -> Dimension | _Any:
    _common((expression.left, expression.right), expression)
    return _common((expression.x, expression.lower, expression.upper), expression)


@_dimension.register(EvaluatedAt)
def _elsewhere(expression: EvaluatedAt) -> Dimension:
    for name, value in expression.changed.items():
        dimension, own = _dimension(value), dict(variable_of(name).dimension)
        if not same(dimension, own):
            raise UnitError(f"{name} is {describe(own)} but {value} is {describe(dimension)} in {expression}")
    return dict(variable_of(expression.target).dimension)


@_dimension.register(ChunkedPrefill)
def _law(expression: ChunkedPrefill) -> Dimension:
    units = {name: unit for name, (unit, _) in ARGUMENTS.items()} | {"tau": "s", "share": "count"}
    for name, part in {**expression.arguments, "tau": expression.tau, "share": expression.share}.items():
        dimension, own = _dimension(part), dimension_of_unit(units[name])
        if not same(dimension, own):
            raise UnitError(f"{name} of chunked_prefill is {describe(own)} but {part} is {describe(dimension)}")
    return dict(dimension_of_unit(OUTPUTS[expression.output]))


@_dimension.register(Total)
def _sum_over(expression: Total) -> Dimension | _Any:
    return _dimension(expression.term)


@_dimension.register(ByMember)
def _table(expression: ByMember) -> Dimension | _Any:
    return _common(tuple(expression.table.values()), expression)
