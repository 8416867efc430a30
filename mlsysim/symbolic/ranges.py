"""Ranges of expressions, by interval arithmetic over the domains of their symbols."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache, partial, reduce
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, NamedTuple

import sympy
from sympy.core.relational import Relational
from sympy.functions.elementary.piecewise import ExprCondPair

from mlsysim import units
from mlsysim.errors import UnknownNameError
from mlsysim.symbolic.chunked_prefill import OUTPUTS, ChunkedPrefill
from mlsysim.symbolic.constants import Label, UnitSymbol
from mlsysim.symbolic.exchange import free_symbols
from mlsysim.symbolic.functions import (
    ErlangC,
    ErlangCSlope,
    EvaluatedAt,
    LeastInteger,
    NormalCDF,
    NormalQuantile,
    Root,
    SlotsBusy,
)
from mlsysim.symbolic.variable import WHEN_REDECLARED, Domain, Variable, never_above, variable_of

#: Size of the caches of ranges; many formulas share subexpressions.
KEPT = 2**15
#: Relative difference below which two ends are equal, because unit factors may be no binary fractions.
ROUNDING = 1e-9


class Range(NamedTuple):
    """An interval of real numbers, in canonical units; an infinite end may be attained."""

    lower: float = -math.inf
    upper: float = math.inf
    open_lower: bool = False
    open_upper: bool = False
    whole: bool = False

    def union(self, other: Range) -> Range:
        """Smallest range that contains both."""
        low = min((self.lower, self.open_lower), (other.lower, other.open_lower))
        high = max((self.upper, not self.open_upper), (other.upper, not other.open_upper))
        return Range(low[0], high[0], low[1], not high[1], self.whole and other.whole)

    def intersection(self, other: Range) -> Range:
        """Intersect two ranges; return the other one if they are disjoint, which loses no value."""
        low = max((self.lower, self.open_lower), (other.lower, other.open_lower))
        high = min((self.upper, not self.open_upper), (other.upper, not other.open_upper))
        if low[0] > high[0]:
            return other
        return Range(low[0], high[0], low[1], not high[1], self.whole or other.whole)

    @property
    def is_nonnegative(self) -> bool:
        """True if no value is below zero."""
        return self.lower >= 0

    def describe(self, variable: Variable) -> str:
        """Describe the range in words, in the unit of a variable."""
        one = units.factor(variable.unit)
        ends = [f"{'>' if self.open_lower else '>='} {self.lower / one + 0.0:g}"] if self.lower > -math.inf else []
        ends += [f"{'<' if self.open_upper else '<='} {self.upper / one + 0.0:g}"] if self.upper < math.inf else []
        return " and ".join(ends) or "any real number"


REAL = Range()
_NONNEGATIVE, _SHARE = Range(0.0), Range(0.0, 1.0)
#: Ranges of functions, whatever their arguments.
RANGES: dict[type, Range] = {
    ErlangC: _SHARE,
    ErlangCSlope: _NONNEGATIVE,
    SlotsBusy: _SHARE,
    LeastInteger: Range(1.0, whole=True),
}
_SHARES = {name for name in OUTPUTS if name.endswith(("attainment", "probability"))}


class Facts(dict[sympy.Basic, Range]):
    """Known ranges of expressions at one place of a formula, such as under the condition of a case."""

    def __init__(self, known: Mapping[sympy.Basic, Range] = MappingProxyType({})) -> None:
        super().__init__(known)
        self.symbols = frozenset().union(*map(free_symbols, self))


def range_of(expression: sympy.Basic, given: sympy.Basic = sympy.true) -> Range:
    """Bound an expression whose symbols take every value of their domains.

    Parameters
    ----------
    expression : sympy.Basic
        Expression in declared variables, unit constants and numbers.
    given : sympy Boolean
        Condition that holds.

    Returns
    -------
    Range
        Contains every value in exact arithmetic; the real line if nothing is known.
    """
    return _known(expression) if given == sympy.true else _under(expression, _with(_NOTHING, given))


def domain_range(variable: Variable) -> Range:
    """Convert the domain of a variable to a range, in canonical units."""
    return _of_domain(variable.domain, units.factor(variable.unit))


@lru_cache(maxsize=512)
def _of_domain(domain: Domain, one: float) -> Range:
    whole = domain.kind != "real" and one == round(one)
    lower, upper = domain.lower * one, domain.upper * one
    return Range(lower, upper, domain.open_lower, False, whole)


def _closed(of: Range) -> Range:
    """Close a range of integers: from its first to its last."""
    if not of.whole:
        return of
    low = of.lower + 1 if of.open_lower and math.isfinite(of.lower) else of.lower
    high = of.upper - 1 if of.open_upper and math.isfinite(of.upper) else of.upper
    return Range(low, high, False, False, True)


def unshown(variable: Variable, proven: Range) -> str:
    """List, in words, the demands of a variable's domain that a range does not prove; empty if it proves all."""
    demanded, domain = domain_range(variable), variable.domain
    above = proven.lower > demanded.lower or math.isclose(proven.lower, demanded.lower, rel_tol=ROUNDING)
    if proven.lower == demanded.lower and demanded.open_lower and not proven.open_lower:
        above = False
    below = proven.upper < demanded.upper or math.isclose(proven.upper, demanded.upper, rel_tol=ROUNDING)
    whole = proven.whole or domain.kind not in ("integer", "choice")
    demands = [] if whole else ["whole"]
    demands += [] if above else [demanded._replace(upper=math.inf).describe(variable)]
    demands += [] if below else [demanded._replace(lower=-math.inf).describe(variable)]
    return " and ".join(demands)


_NOTHING = Facts()


@lru_cache(maxsize=KEPT)
def _known(expression: Any) -> Range:
    return _closed(_range(expression, _NOTHING))


def _under(expression: Any, facts: Facts) -> Range:
    """Bound an expression where the facts hold."""
    if facts.symbols.isdisjoint(free_symbols(expression)):
        return _known(expression)
    bounds = _range(expression, facts)
    return _closed(bounds.intersection(facts[expression]) if expression in facts else bounds)


def _range(expression: Any, facts: Facts) -> Range:
    kind = type(expression)
    if kind in RANGES:
        return RANGES[kind]
    for base in kind.__mro__:
        if base in _RULES:
            return _RULES[base](expression, facts)
    return REAL


def _number(expression: Any, _facts: Facts) -> Range:
    value = float(expression)
    if math.isnan(value):
        return REAL
    # A count is infinite if no number suffices.
    return Range(value, value, whole=math.isinf(value) or value == round(value))


def _unit(expression: UnitSymbol, _facts: Facts) -> Range:
    value = units.factor(expression.name)
    return Range(value, value, whole=value == round(value))


def _label(expression: Label, facts: Facts) -> Range:
    return _number(expression.code, facts)


def _symbol(expression: sympy.Symbol, _facts: Facts) -> Range:
    try:
        return domain_range(variable_of(expression))
    except UnknownNameError:
        return REAL


def _dummy(expression: sympy.Dummy, _facts: Facts) -> Range:
    whole = bool(expression.is_integer)
    if expression.is_positive:
        return Range(1.0, whole=True) if whole else Range(0.0, open_lower=True)
    return Range(0.0 if expression.is_nonnegative else -math.inf, whole=whole)


def _plus(left: Range, right: Range) -> Range:
    low, high = left.lower + right.lower, left.upper + right.upper
    return Range(
        -math.inf if math.isnan(low) else low,
        math.inf if math.isnan(high) else high,
        left.open_lower or right.open_lower,
        left.open_upper or right.open_upper,
        left.whole and right.whole,
    )


def _negative(of: Range) -> Range:
    return Range(-of.upper, -of.lower, of.open_upper, of.open_lower, of.whole)


def _sum(expression: sympy.Add, facts: Facts) -> Range:
    bounds = _bounded(expression, facts)
    for rule in (_never_above, _by_arguments, _rounded_apart, _by_factor, _mixture, _by_case, _expanded):
        if bounds.is_nonnegative or bounds.upper <= 0:
            break
        bounds = bounds.intersection(rule(expression, facts))
    return bounds


def _bounded(expression: sympy.Add, facts: Facts) -> Range:
    """Add the ranges of the terms."""
    return reduce(_plus, (_under(part, facts) for part in expression.args))


def _never_above(expression: sympy.Add, facts: Facts) -> Range:
    """Bound a sum that contains the difference of two variables, of which one never exceeds the other."""
    terms: dict[Any, Any] = dict(term.as_coeff_Mul()[::-1] for term in expression.args)  # type: ignore[arg-type]
    for low, number in terms.items():
        for high in terms if number < 0 else ():
            if terms[high] >= -number and never_above(low, high):
                whole = _known(low).whole and _known(high).whole
                difference = _times(Range(0.0, whole=whole), _number(-number, facts))
                return _plus(difference, _under(expression - number * (low - high), facts))
    return REAL


def _by_arguments(expression: sympy.Add, facts: Facts) -> Range:
    """Bound a sum by moving it into the arguments of a maximum or minimum, so that repeated terms cancel."""
    for term in expression.args:
        extreme = next((part for part in sympy.Mul.make_args(term) if isinstance(part, sympy.Max | sympy.Min)), None)
        if extreme is not None:
            rest, factor = expression - term, term / extreme
            sign = _under(factor, facts)
            if sign.is_nonnegative or sign.upper <= 0:
                bounds = [_under(rest + factor * arg, facts) for arg in extreme.args]
                largest = isinstance(extreme, sympy.Max) == sign.is_nonnegative
                return reduce(_larger if largest else _smaller, bounds)
    return REAL


def _rounded_apart(expression: sympy.Add, facts: Facts) -> Range:
    """Bound a sum with a rounded term: the range of the sum without rounding, plus the rounding error."""
    for term in expression.args:
        number, rounded = term.as_coeff_Mul()
        if isinstance(rounded, sympy.ceiling | sympy.floor):
            rest = expression - term
            exact = _under(rest + number * rounded.args[0], facts)
            up = isinstance(rounded, sympy.ceiling) == (number > 0)
            if abs(number) == 1 and _under(rest, facts).whole:
                return _rounded_up(exact) if up else _rounded_down(exact)
            size = float(abs(number))
            return _plus(exact, Range(0.0, size, False, True) if up else Range(-size, 0.0, True))
    return REAL


def _by_factor(expression: sympy.Add, facts: Facts) -> Range:
    """Bound a sum by factoring out what all of its terms share."""
    shared = reduce(set.intersection, (set(sympy.Mul.make_args(term)) for term in expression.args))
    shared = {factor_shared for factor_shared in shared if not factor_shared.is_number}
    if not shared:
        return REAL
    factor = sympy.Mul(*shared)
    return _times(_under(factor, facts), _under(sympy.Add(*(term / factor for term in expression.args)), facts))


def _by_case(expression: sympy.Add, facts: Facts) -> Range:
    """Bound a sum by moving it into the cases of a case distinction."""
    for term in expression.args:
        number, cases = term.as_coeff_Mul()
        if isinstance(cases, sympy.Piecewise):
            return _union(cases, facts, partial(_beside, expression - term, number))
    return REAL


def _beside(rest: Any, number: Any, value: Any, facts: Facts) -> Range:
    return _under(rest + number * value, facts)


def _mixture(expression: sympy.Add, facts: Facts) -> Range:
    """Bound a linear interpolation between two expressions: x (a - b) + b with a share x."""
    for term in expression.args:
        for step in (part for part in sympy.Mul.make_args(term) if part.is_Add):
            share = term / step
            for end in (part for part in expression.args if -part in step.args):
                if _known(share) == _known(share).intersection(_SHARE):
                    interpolated = _under(step + end, facts).union(_under(end, facts))
                    return _plus(interpolated, _under(expression - term - end, facts))
    return REAL


def _expanded(expression: sympy.Add, facts: Facts) -> Range:
    """Bound a sum with its products expanded, so that repeated terms cancel."""
    factors = ((term, _under(term, facts).is_nonnegative) for term in expression.args)
    written: Any = sympy.Add(*(term if fine else sympy.expand_mul(term, deep=False) for term, fine in factors))
    if written == expression or not written.is_Add:
        return REAL if written == expression else _under(written, facts)
    return _bounded(written, facts).intersection(_never_above(written, facts))


def _corner(a: float, a_open: bool, b: float, b_open: bool) -> tuple[float, bool]:
    """Multiply two ends; tell whether the product is excluded. Zero times infinity is zero."""
    if a == 0 or b == 0:
        taken = (a == 0 and not a_open) or (b == 0 and not b_open)
        return 0.0, not taken
    return a * b, a_open or b_open


def _times(left: Range, right: Range) -> Range:
    ends = [
        _corner(a, a_open, b, b_open)
        for a, a_open in ((left.lower, left.open_lower), (left.upper, left.open_upper))
        for b, b_open in ((right.lower, right.open_lower), (right.upper, right.open_upper))
    ]
    low, high = min(ends), max(ends, key=lambda end: (end[0], not end[1]))
    return Range(low[0], high[0], low[1], high[1], left.whole and right.whole)


def _product(expression: sympy.Mul, facts: Facts) -> Range:
    bounds = reduce(_times, (_under(part, facts) for part in expression.args))
    for part in expression.args:
        if not isinstance(part, sympy.Pow) or part.exp != -1:
            continue
        whole, above = part.base, expression * part.base
        if _is_part(above, whole, facts):
            return bounds.intersection(_SHARE)
        for factor in expression.args:
            if _is_part(factor, whole, facts):
                return bounds.intersection(_times(_SHARE, _under(above / factor, facts)))
            if never_above(whole, factor):
                return bounds.intersection(_times(Range(1.0), _under(above / factor, facts)))
    return bounds


def _is_part(part: Any, whole: Any, facts: Facts) -> bool:
    """Tell from their form whether one of two nonnegative expressions never exceeds the other."""
    if never_above(part, whole):
        return _under(part, facts).is_nonnegative
    if isinstance(part, sympy.Min) and whole in part.args:
        return all(_under(expression, facts).is_nonnegative for expression in (part, whole))
    if not isinstance(whole, sympy.Add | sympy.Max):
        return False
    some = set(part.args) if isinstance(part, type(whole)) else {part}
    there = some <= set(whole.args) or any(never_above(part, arg) for arg in whole.args)
    return there and all(_under(expression, facts).is_nonnegative for expression in (part, *whole.args))


def _inverse(of: Range) -> Range:
    if of.lower < 0 < of.upper or (of.lower == 0 and of.upper == 0):
        return REAL
    if of.upper <= 0:
        return _negative(_inverse(_negative(of)))
    upper = 1 / of.lower if of.lower > 0 else math.inf
    # A finite number has no inverse of zero; variables that may be infinite declare so in their domains.
    low = 1 / of.upper
    return Range(low, upper, of.open_upper or math.isinf(of.upper), of.open_lower, low == upper == round(low))


def _power(expression: sympy.Pow, facts: Facts) -> Range:
    base, exponent = _under(expression.base, facts), expression.exp
    if not exponent.is_Rational:
        return _general_power(base, _under(exponent, facts))
    number = float(exponent)
    if number < 0:
        return _inverse(_to_power(base, -number))
    return _to_power(base, number)


def _to_power(base: Range, number: float) -> Range:
    """Raise a range to a positive power."""
    if number == 1:
        return base
    if number == round(number) and number % 2 == 0 and base.lower < 0:
        if base.upper <= 0:
            base = _negative(base)
        else:
            largest = max((base.upper, not base.open_upper), (-base.lower, not base.open_lower))
            base = Range(0.0, largest[0], False, not largest[1], base.whole)
    elif base.lower < 0 and number == round(number):
        return Range(whole=base.whole)
    low = max(base.lower, 0.0)
    with_whole = base.whole and number == round(number)
    return Range(_raised(low, number), _raised(base.upper, number), base.open_lower, base.open_upper, with_whole)


def _raised(value: float, number: float) -> float:
    try:
        return math.pow(value, number)
    except (OverflowError, ValueError):
        return math.inf


def _general_power(base: Range, exponent: Range) -> Range:
    if base.lower < 0:
        return REAL
    if base.lower >= 1 and exponent.lower >= 0:
        return Range(1.0)
    if base.upper <= 1 and exponent.lower >= 1:
        return Range(0.0, base.upper, base.open_lower or base.lower > 0, base.open_upper)
    if base.upper <= 1 and exponent.lower >= 0:
        return Range(0.0, 1.0, base.open_lower or base.lower > 0)
    return Range(0.0, open_lower=base.lower > 0 or base.open_lower)


def _exponential(expression: Any, facts: Facts) -> Range:
    of = _under(expression.args[0], facts)
    low, high = (_raised(math.e, of.lower) if of.lower < 700 else math.inf), _raised(math.e, of.upper)
    return Range(low, high, of.open_lower or of.lower == -math.inf, of.open_upper)


def _logarithm(expression: Any, facts: Facts) -> Range:
    of = _under(expression.args[0], facts)
    low = math.log(of.lower) if of.lower > 0 else -math.inf
    high = math.log(of.upper) if 0 < of.upper < math.inf else of.upper if of.upper > 0 else -math.inf
    return Range(low, high, of.open_lower, of.open_upper)


def _absolute(expression: Any, facts: Facts) -> Range:
    of = _under(expression.args[0], facts)
    if of.lower >= 0:
        return of
    if of.upper <= 0:
        return _negative(of)
    return Range(0.0, max(of.upper, -of.lower), whole=of.whole)


def _ceiling(expression: Any, facts: Facts) -> Range:
    return _rounded_up(_under(expression.args[0], facts))


def _floor(expression: Any, facts: Facts) -> Range:
    return _rounded_down(_under(expression.args[0], facts))


def _rounded_up(of: Range) -> Range:
    low = of.lower if math.isinf(of.lower) else math.floor(of.lower) + 1 if of.open_lower else math.ceil(of.lower)
    return Range(float(low), of.upper if math.isinf(of.upper) else float(math.ceil(of.upper)), whole=True)


def _rounded_down(of: Range) -> Range:
    return _negative(_rounded_up(_negative(of)))


def _remainder(expression: Any, facts: Facts) -> Range:
    of, by = (_under(arg, facts) for arg in expression.args)
    if by.lower < 0:
        return REAL
    return Range(0.0, min(by.upper, of.upper) if of.lower >= 0 else by.upper, whole=of.whole and by.whole)


def _larger(left: Range, right: Range) -> Range:
    low = max((left.lower, left.open_lower), (right.lower, right.open_lower))
    high = max((left.upper, not left.open_upper), (right.upper, not right.open_upper))
    return Range(low[0], high[0], low[1], not high[1], left.whole and right.whole)


def _smaller(left: Range, right: Range) -> Range:
    return _negative(_larger(_negative(left), _negative(right)))


def _largest(expression: Any, facts: Facts) -> Range:
    return reduce(_larger, (_under(part, facts) for part in expression.args))


def _smallest(expression: Any, facts: Facts) -> Range:
    return reduce(_smaller, (_under(part, facts) for part in expression.args))


def _cases(expression: sympy.Piecewise, facts: Facts) -> Range:
    return _union(expression, facts, _under)


def _union(expression: sympy.Piecewise, facts: Facts, ranged: Callable[[Any, Facts], Range]) -> Range:
    """Unite the ranges of all values, each under its own condition and the negation of those before."""
    union: Range | None = None
    reached = facts
    for pair in expression.args:
        assert isinstance(pair, ExprCondPair)
        value = ranged(pair.expr, _with(reached, pair.cond))
        union = value if union is None else union.union(value)
        reached = _with(reached, sympy.Not(pair.cond))
    assert union is not None
    return union


def _with(facts: Facts, condition: Any) -> Facts:
    """Add to the facts the bounds that a condition puts on the sides of its comparisons."""
    more: dict[sympy.Basic, Range] = {}
    for part in sympy.And.make_args(condition):
        if isinstance(part, Relational) and not isinstance(part, sympy.Ne):
            _say(more, part, facts)
    return (
        Facts(facts | {key: value.intersection(facts.get(key, REAL)) for key, value in more.items()}) if more else facts
    )


def _say(more: dict[sympy.Basic, Range], part: Relational, facts: Facts) -> None:
    left, right = part.args
    if isinstance(left, sympy.Mod) and isinstance(part, sympy.Eq) and right == 0:
        dividend, divisor = left.args
        more[dividend / divisor] = Range(whole=True)  # type: ignore[operator]
        return
    strict = isinstance(part, sympy.Lt | sympy.Gt)
    if isinstance(part, sympy.Gt | sympy.Ge):
        left, right = right, left
    low, high = _under(left, facts), _under(right, facts)
    for side, bound in (
        (left, Range(-math.inf, high.upper, False, strict or high.open_upper)),
        (right, Range(low.lower, math.inf, strict or low.open_lower)),
    ):
        if isinstance(part, sympy.Eq):
            bound = high if side is left else low
        if side.free_symbols:
            more[side] = bound.intersection(more.get(side, REAL))
    difference: Any = right - left  # type: ignore[operator]
    if difference.is_Add and not isinstance(part, sympy.Eq):
        more[difference] = Range(0.0, open_lower=strict)
        more[-difference] = Range(-math.inf, 0.0, False, strict)


def _root(expression: Root, facts: Facts) -> Range:
    low, high = _under(expression.lower, facts), _under(expression.upper, facts)
    return Range(low.lower, max(low.upper, high.upper), low.open_lower)


def _below(expression: Any, facts: Facts) -> Range:
    of = _under(expression.args[0], facts)
    low, high = ((1 + math.erf(end / math.sqrt(2))) / 2 for end in (of.lower, of.upper))
    return Range(low, high)


def _score(expression: Any, facts: Facts) -> Range:
    of = _under(expression.args[0], facts)
    ends = (of.lower, of.upper)
    low, high = (NormalDist().inv_cdf(end) if 0 < end < 1 else -math.inf if end <= 0 else math.inf for end in ends)
    return Range(low, high)


def _elsewhere(expression: EvaluatedAt, facts: Facts) -> Range:
    """Bound a call: by its variable's domain if the new values lie in the domains of theirs."""
    values = ((variable_of(name), _under(value, facts)) for name, value in expression.changed.items())
    return _given_elsewhere(expression, tuple(_kind(variable, value) for variable, value in values))


def _kind(variable: Variable, bounds: Range) -> Range:
    """Widen a range to its variable's domain, or else to its sign: few results, so that caching pays."""
    if not unshown(variable, bounds):
        return domain_range(variable)
    positive = bounds.lower > 0 or (bounds.lower == 0 and bounds.open_lower)
    return Range(0.0, open_lower=positive) if bounds.is_nonnegative else REAL


@lru_cache(maxsize=KEPT)
def _given_elsewhere(expression: EvaluatedAt, put_in: tuple[Range, ...]) -> Range:
    variables = [variable_of(name) for name in expression.changed]
    if not any(map(unshown, variables, put_in)):
        return domain_range(variable_of(expression.target))
    if not all(value.is_nonnegative for value in put_in):
        return REAL
    facts, symbol = Facts(), expression.definitions[-1][0]
    for index, (bound, step) in enumerate(expression.definitions):
        facts = Facts(facts | {bound: put_in[index] if index < len(put_in) else _under(step, facts)})
    return facts[symbol]


def _law(expression: ChunkedPrefill, _facts: Facts) -> Range:
    return _SHARE if expression.output in _SHARES else _NONNEGATIVE


def _truth(_expression: Any, _facts: Facts) -> Range:
    return Range(0.0, 1.0, whole=True)


_RULES: dict[type, Callable[[Any, Facts], Range]] = {
    sympy.Number: _number,
    sympy.NumberSymbol: _number,
    UnitSymbol: _unit,
    Label: _label,
    sympy.Dummy: _dummy,
    sympy.Symbol: _symbol,
    sympy.Add: _sum,
    sympy.Mul: _product,
    sympy.Pow: _power,
    sympy.exp: _exponential,
    sympy.log: _logarithm,
    sympy.Abs: _absolute,
    sympy.ceiling: _ceiling,
    sympy.floor: _floor,
    sympy.Mod: _remainder,
    sympy.Max: _largest,
    sympy.Min: _smallest,
    sympy.Piecewise: _cases,
    Root: _root,
    NormalCDF: _below,
    NormalQuantile: _score,
    EvaluatedAt: _elsewhere,
    ChunkedPrefill: _law,
}

WHEN_REDECLARED += [_known.cache_clear, _given_elsewhere.cache_clear]
