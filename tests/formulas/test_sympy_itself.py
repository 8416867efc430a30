"""Compiled formulas against their expressions, evaluated with 40 digits: nothing of the compiler is shared."""

import math
import operator

import mpmath
import pytest
import sympy
from formulas.every import FORMULAS, quick_first

from mlsysim.backends import compiled
from mlsysim.symbolic import (
    ErlangC,
    EvaluatedAt,
    Label,
    LeastInteger,
    NormalCDF,
    NormalQuantile,
    Root,
    SlotsBusy,
    System,
    UnitSymbol,
)  # fmt: skip

mp = mpmath.MPContext()
mp.dps = 40
#: A quotient is a product with an inverse, so that a whole one is off in the last of the forty digits.
ROUNDED = mp.mpf(10) ** -30
#: Differences of nearly equal numbers, in which floats keep fewer digits.
DIFFERENCES = {"step_growth_at_load": 1e-6}
COMPARED = {
    sympy.StrictLessThan: operator.lt, sympy.LessThan: operator.le, sympy.StrictGreaterThan: operator.gt,
    sympy.GreaterThan: operator.ge, sympy.Equality: operator.eq, sympy.Unequality: operator.ne,
}  # fmt: skip
CALLED = {
    sympy.exp: mp.exp, sympy.log: mp.log, sympy.Abs: abs,
    sympy.ceiling: lambda x: mp.ceil(x - ROUNDED), sympy.floor: lambda x: mp.floor(x + ROUNDED),
    NormalCDF: mp.ncdf, NormalQuantile: lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1),
}  # fmt: skip


def times(a, b):
    return mp.mpf(0) if a == 0 or b == 0 else a * b


def value(node, at):
    """Number or truth value of an expression, from a number per symbol."""
    if isinstance(node, UnitSymbol | Label):
        return value(node.amount if isinstance(node, UnitSymbol) else node.code, at)
    if node.is_Symbol:
        return at[node]
    if node in (sympy.oo, -sympy.oo):
        return mp.mpf(math.copysign(math.inf, float(node)))
    if node.is_Rational:
        return mp.mpf(node.p) / node.q
    if node.is_number and not node.args:
        return mp.mpf(sympy.N(node, 40))
    if isinstance(node, sympy.Piecewise):
        return next((value(case.expr, at) for case in node.args if value(case.cond, at)), mp.nan)
    if isinstance(node, sympy.logic.boolalg.BooleanAtom):
        return bool(node)
    if isinstance(node, EvaluatedAt):
        at = dict(at)
        for symbol, step in node.definitions:
            at[symbol] = value(step, at)
        return at[node.definitions[-1][0]]
    if isinstance(node, sympy.ITE):
        return value(node.args[1 if value(node.args[0], at) else 2], at)
    return combined(node, [value(arg, at) for arg in node.args])


def combined(node, args):
    if isinstance(node, sympy.Add):
        return sum(args, mp.mpf(0))
    if isinstance(node, sympy.Mul):
        found = mp.mpf(1)
        for arg in args:
            found = times(found, arg)
        return found
    if isinstance(node, sympy.Pow):
        return power(*args)
    if isinstance(node, sympy.Max | sympy.Min):
        return max(args) if isinstance(node, sympy.Max) else min(args)
    if isinstance(node, sympy.And | sympy.Or):
        return (all if isinstance(node, sympy.And) else any)(args)
    if isinstance(node, sympy.Not):
        return not args[0]
    if isinstance(node, sympy.Mod):
        return args[0] - args[1] * mp.floor(args[0] / args[1])
    if isinstance(node, ErlangC):
        return erlang_c(*args)
    if isinstance(node, SlotsBusy):
        return slots_busy(*args)
    return (COMPARED.get(type(node)) or CALLED[node.func])(*args)


def power(base, exponent):
    if base == 0 and exponent < 0:
        return mp.inf
    return mp.sqrt(base) if exponent == 0.5 else base**exponent


def erlang_c(servers, load):
    """By the sums of the textbook, from the recursion of Erlang B."""
    if load >= servers:
        return mp.mpf(1)
    blocking = mp.mpf(1)
    for n in range(1, int(servers) + 1):
        blocking = load * blocking / (n + load * blocking)
    return servers * blocking / (servers - load * (1 - blocking))


def slots_busy(slots, a, b, e, tail):
    """By its definition, term by term from the front."""
    terms = [mp.mpf(1)]
    for n in range(1, int(slots) + 1):
        terms.append(terms[-1] * ((a + b * n) / n) ** e)
    weight = tail * terms[-1]
    return weight / (sum(terms[:-1]) + weight)


@pytest.mark.parametrize("formula", quick_first([f for f in FORMULAS if not f.expression.has(Root, LeastInteger)]))
def test_compiled_formulas_are_their_expressions(formula, draw_points, to_canonical):
    function = compiled(System([formula]))
    for point in draw_points(formula, 5):
        given = to_canonical(point)
        at = {variable.symbol: mp.mpf(given[variable.name]) for variable in formula.inputs}
        try:
            expected = value(formula.expression, at)
        except ZeroDivisionError:
            continue
        found = float(function(given)[formula.name])
        if isinstance(expected, mp.mpf) and mp.isfinite(expected):
            assert found == pytest.approx(float(expected), rel=DIFFERENCES.get(formula.name, 1e-11)), formula.id
        elif not mp.isnan(expected):
            assert found == float(expected), formula.id
