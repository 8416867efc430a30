"""Units and values of every formula, by pint instead of by the library's own rules."""

import math
import operator
from statistics import NormalDist

import pytest
import sympy
from formulas.every import GOODPUTS, every
from fuzz import tries
from scipy.optimize import brentq
from sympy.functions.elementary.piecewise import Piecewise

from mlsysim import units
from mlsysim.backends import compiled
from mlsysim.symbolic import (
    ErlangC,
    EvaluatedAt,
    LeastInteger,
    NormalCDF,
    NormalQuantile,
    Root,
    SlotsBusy,
    System,
    variable_of,
)
from mlsysim.symbolic.constants import Label, UnitSymbol
from mlsysim.symbolic.functions import Unknown


def erlang_c(servers, load):
    """Erlang C by the recurrence of Erlang B; one where the queue is not stable."""
    if load >= servers:
        return 1.0
    blocking = 1.0
    for k in range(1, round(servers) + 1):
        blocking = load * blocking / (k + load * blocking)
    return servers * blocking / (servers - load * (1 - blocking))


def slots_busy(slots, a, b, e, tail):
    """The ratio of all smaller terms to the last, term by term from an empty queue on."""
    if a + b == 0:
        return 0.0
    below = 0.0
    for i in range(1, round(slots) + 1):
        step = (a + b * i) / i
        power = e * math.log(step)
        below = (below + 1) / step**e if abs(power) < 700 else (0.0 if power > 0 else math.inf)
    return tail / (below + tail)


def root(node, values):
    """Where the sides of an equation are equal: by halving, or by Brent's method where they take long."""
    unit = units.Q_(1.0, node.x.variable.unit if isinstance(node.x, Unknown) else "")
    ends = (with_unit(pint_value(end, values), [unit]).to(unit.units) for end in (node.lower, node.upper))
    low, high = (end.magnitude for end in ends)

    def beyond(number):
        sides = [pint_value(side, {**values, node.x: number * unit}) for side in (node.left, node.right)]
        left, right = (with_unit(side, sides) for side in sides)
        gap = left - right
        return gap.to_base_units().magnitude if isinstance(gap, units.Q_) else gap

    if not beyond(low) < 0:
        return low * unit
    tried = high if high < math.inf else abs(low) + 1.0
    while high == math.inf and beyond(tried) < 0 and tried < 1e300:
        low, tried = tried, 2 * tried
    if beyond(tried) < 0:
        return high * unit
    high = tried
    if sum(1 for _ in sympy.preorder_traversal(node)) > 1000:
        return brentq(lambda number: max(-1e300, min(1e300, beyond(number))), low, high, xtol=1e-300) * unit
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if beyond(middle) < 0 else (low, middle)
    return high * unit


def with_unit(node, like):
    """Zero and infinity take the unit of what they are compared or added with."""
    if isinstance(node, units.Q_):
        return node
    others = [other for other in like if isinstance(other, units.Q_)]
    fits_any = node == 0 or math.isinf(node)
    return units.Q_(float(node), others[0].units if others and fits_any else "")


def pure(quantity):
    return units.Q_(quantity, "").to("").magnitude if not isinstance(quantity, units.Q_) else quantity.to("").magnitude


COMPARISONS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne
}  # fmt: skip


def pint_value(node, values):
    """An expression evaluated with pint quantities; pint objects where units do not agree."""

    def visit(child):
        return pint_value(child, values)

    def agreeing(children):
        found = [visit(child) for child in children]
        return [with_unit(value, found) for value in found]

    if isinstance(node, UnitSymbol):
        return units.Q_(1.0, node.name)
    if isinstance(node, Label):
        return units.Q_(float(variable_of(node.variable_name).domain.labels.index(node.text)), "")
    if isinstance(node, sympy.Symbol):
        return values[node if isinstance(node, sympy.Dummy) else node.name]
    if node.is_Number:
        return float(node)
    if node in (sympy.true, sympy.false):
        return bool(node)
    if node.is_Add:
        first, *rest = agreeing(node.args)
        return sum(rest, start=first)
    if node.is_Mul:
        below = [arg for arg in node.args if arg.is_Pow and arg.exp == -1]
        found = math.prod(visit(arg) for arg in node.args if arg not in below)
        for arg in below:  # divided, for 196 times the reciprocal of 196 is less than one
            value = visit(arg.base)
            found = found / value if getattr(value, "magnitude", value) else found * visit(arg)
        return found
    if node.is_Pow:
        base, exponent = visit(node.base), pure(visit(node.exp))
        if getattr(base, "dimensionless", False):  # lest a ratio of seconds and milliseconds keep both
            base = base.to("")
        if exponent < 0 and base.magnitude == 0:
            return math.inf / (1 * base.units) ** -exponent
        return base**exponent
    if isinstance(node, sympy.Max | sympy.Min):
        return (max if isinstance(node, sympy.Max) else min)(agreeing(node.args))
    if isinstance(node, sympy.ceiling | sympy.floor):
        inner = with_unit(visit(node.args[0]), []).to_base_units()
        assert set(inner.dimensionality) <= {"[token]", "[request]"}
        if not math.isfinite(inner.magnitude):
            return inner  # of a branch that is not taken
        return units.Q_((math.ceil if isinstance(node, sympy.ceiling) else math.floor)(inner.magnitude), inner.units)
    if isinstance(node, Piecewise):
        branches = agreeing([case.expr for case in node.args])
        for branch in branches:
            branches[0].to(branch.units)
        return next(branch for branch, case in zip(branches, node.args, strict=True) if visit(case.cond))
    if isinstance(node, sympy.Rel):
        left, right = agreeing(node.args)
        return COMPARISONS[node.rel_op](left, right.to(left.units))
    if isinstance(node, sympy.Not):
        return not visit(node.args[0])
    if isinstance(node, sympy.Mod):
        whole, part = agreeing(node.args)
        return whole % part
    if isinstance(node, sympy.And | sympy.Or):
        return (all if isinstance(node, sympy.And) else any)([visit(arg) for arg in node.args])
    if isinstance(node, sympy.Not):
        return not visit(node.args[0])
    if isinstance(node, sympy.log):
        inner = pure(visit(node.args[0]))
        return units.Q_(math.log(inner) if inner > 0 else -math.inf, "")
    if isinstance(node, sympy.exp):
        power = pure(visit(node.args[0]))
        return units.Q_(math.exp(power) if power < 700 else math.inf, "")
    if isinstance(node, sympy.Abs):
        return abs(visit(node.args[0]))
    if node == sympy.pi:
        return units.Q_(math.pi, "")
    if isinstance(node, ErlangC):
        return units.Q_(erlang_c(*(pure(visit(arg)) for arg in node.args)), "")
    if isinstance(node, LeastInteger):
        limit = pure(visit(node.upper))
        for n in range(1, int(limit) + 1):
            if pint_value(node.condition, {**values, node.n: units.Q_(float(n), "")}):
                return units.Q_(float(n), "")
        return units.Q_(math.inf, "")
    if isinstance(node, SlotsBusy):
        return units.Q_(slots_busy(*(pure(visit(arg)) for arg in node.args)), "")
    if isinstance(node, NormalCDF):
        return units.Q_(math.erfc(-pure(visit(node.args[0])) / math.sqrt(2)) / 2, "")
    if isinstance(node, NormalQuantile):
        share = pure(visit(node.args[0]))
        return units.Q_(NormalDist().inv_cdf(share) if 0 < share < 1 else math.inf * (2 * share - 1), "")
    if isinstance(node, Root):
        return root(node, values)
    if isinstance(node, EvaluatedAt):
        defined = dict(values)
        for symbol, expression in node.definitions:
            unit = units.Q_(1.0, variable_of(symbol.name).unit)
            defined[symbol] = with_unit(pint_value(expression, defined), [unit])
            assert defined[symbol].is_compatible_with(unit.units)
        return defined[node.definitions[-1][0]]
    if isinstance(node, sympy.ITE):
        return visit(node.args[1] if visit(node.args[0]) else node.args[2])
    raise TypeError(f"no rule for {type(node).__name__}")


@every
def test_units_and_value_agree_with_pint(formula, draw_points, to_canonical):
    function = compiled(System([formula]))
    # Pint takes a tenth of a second for what is solved or evaluated anew, and looks into every branch at each point.
    points = draw_points(formula, tries(20, quick=1 if formula.expression.has(Root, EvaluatedAt) else 2))
    if formula.expression.has(LeastInteger):  # they are counted up one by one
        most, count = tries(1000, quick=20), tries(4, quick=1)
        points = [p for p in draw_points(formula) if function(to_canonical(p))[formula.name] < most][:count]
    if formula.name in GOODPUTS:  # pint takes seconds for a root around a root
        points = points[:2]
    assert points
    for point in points:
        quantities = {name: units.Q_(value, variable_of(name).unit) for name, value in point.items()}
        value = with_unit(pint_value(formula.expression, quantities), [units.Q_(1.0, formula.variable.unit)])
        assert value.is_compatible_with(formula.variable.unit or "")
        ours = float(function(to_canonical(point))[formula.name])
        near = 1e-10 if formula.expression.has(EvaluatedAt) else 1e-12  # experts untouched: one less nearly one
        given_up = 1e-290 if formula.expression.has(SlotsBusy, ErlangC, Root) else 0
        if formula.name == "step_growth_at_load":  # the difference of two steps, which are nearly equal
            given_up = 1e-11
        if formula.name == "closed_step":  # as well, and multiplied by the requests
            near = 1e-7
        if formula.id == "replica_goodput[chunked_estimate]":  # a root around roots: 1e-13 of an input moves it by 1e-9
            near = 1e-8
        if formula.name in ("late_share", "weights_read_stretch", "kv_read_stretch"):  # a difference of shares
            given_up = 1e-15
        if math.isnan(ours) and formula.name in GOODPUTS:
            continue  # inputs that are drawn apart have no queue
        assert float(value.to_base_units().magnitude) == pytest.approx(ours, rel=near, abs=given_up)
