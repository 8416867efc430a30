"""Sums and products in the order in which a loop moves their parts, with a bound on what that changes.

XLA moves what a loop does not change out of it, but computes sums and products as they are written. Here the factors
of a product and the terms of a sum are put in order of the loop that changes them, and terms that share what the
innermost loop changes are added before it: ``(a + b*c*x) + d*x`` becomes ``a + x*(b*c + d)``.

The result differs from the original by a relative error with a bound. Only quantities whose terms have one sign take
part, so that nothing cancels, and only factors of which no product leaves the range of floats. Whatever rounds,
compares or branches is computed as it is written, and is one factor.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np

#: Binary digits by which a product of factors of a term may differ from one; floats have 1022.
DIGITS = 900.0
#: Most terms of a sum; a sum in a product that would lead to more of them stays a factor.
TERMS = 32
#: Relative error of an operation: twice that of floats, as XLA divides by multiplying with an inverse.
ROUNDING = 2.0**-52
#: Largest relative error of a quantity that takes part; a hundredth of that up to which values count as equal.
LARGEST_GAP = 1e-11
#: Whole numbers below this are floats.
EXACT = 2.0**53
#: What changes a quantity: nothing, the loop over runs of tiles, or that over the tiles of a run.
FIXED, OUTER, INNER = range(3)

COMPARISONS = {"le": operator.le, "lt": operator.lt, "ge": operator.ge, "gt": operator.gt}
JOINTS = {"and": operator.and_, "or": operator.or_}
#: Operations that give the value they are given.
SAME = ("broadcast_in_dim", "convert_element_type", "copy", "reshape", "squeeze")
CALLS = ("jit", "pjit", "closed_call")


@dataclass(frozen=True)
class Range:
    """The least and the greatest magnitude of what is not zero, whether zero is among it, and all are whole numbers."""

    least: float
    most: float
    zero: bool = False
    whole: bool = False

    @property
    def digits(self) -> float:
        """Binary digits by which a value may differ from one."""
        return max(abs(math.log2(self.least)), abs(math.log2(self.most)))

    def joined(self, other: Range) -> Range:
        """Of what is one of two quantities."""
        return Range(
            min(self.least, other.least),
            max(self.most, other.most),
            self.zero or other.zero,
            self.whole and other.whole,
        )


#: Of a quantity of which only that it has a range is told.
SOME = Range(1.0, 1.0)


def range_of(values: Any) -> Range | None:
    """The range of some numbers; None if one is negative or not finite."""
    values = np.asarray(values, float)
    if not (np.isfinite(values).all() and (values >= 0).all()):
        return None
    above = values[values > 0]
    least, most = (float(above.min()), float(above.max())) if above.size else (1.0, 1.0)
    return Range(least, most, above.size < values.size, bool((values == np.rint(values)).all()))


@dataclass(frozen=True)
class Term:
    """A number times powers of quantities."""

    number: float
    powers: tuple[tuple[Quantity, int], ...] = ()

    def times(self, other: Term, sign: int = 1) -> Term:
        """The product with a term, or with its inverse."""
        powers = Counter(dict(self.powers))
        for factor, power in other.powers:
            powers[factor] += sign * power
        return Term(self.number * other.number**sign, tuple((f, n) for f, n in powers.items() if n))

    @property
    def digits(self) -> float:
        """Binary digits by which a product of some of its factors may differ from one."""
        number = abs(math.log2(abs(self.number))) if self.number else 0.0
        return number + sum(abs(n) * f.range.digits for f, n in self.powers if f.range is not None)

    @property
    def operations(self) -> float:
        """Operations whose roundings its value has when its factors are multiplied in any order."""
        return 1 + sum(abs(n) * (f.reordered + 1) for f, n in self.powers)


@dataclass(eq=False)
class Quantity:
    """What an operation gives.

    Attributes
    ----------
    value : array or None
        As it is written; None where only ranges are asked for.
    level : int
        The innermost loop that changes it.
    range : Range or None
        None where it has none that is known: then it takes no part.
    sign : int
        Of all values.
    terms : tuple of Term
        What it is the sum of; empty where it is one factor, which is never negative.
    written : float
        Operations whose roundings its value has as it is written.
    rounded : bool
        Whether it comes from a rounding or a truth value: what is added to it then stays there.
    relation : tuple
        Name of a comparison or of what joins truth values, and both sides.
    """

    value: Any
    level: int = FIXED
    range: Range | None = None
    sign: int = 1
    terms: tuple[Term, ...] = ()
    written: float = 0.0
    rounded: bool = False
    relation: tuple[Any, ...] = ()

    @property
    def parts(self) -> tuple[Term, ...]:
        """The terms it is the sum of; itself where it is one factor."""
        return self.terms or (Term(1.0, ((self, 1),)),)

    @property
    def product(self) -> Term:
        """As one term, in which a sum is a factor."""
        return self.parts[0] if len(self.parts) == 1 else Term(1.0, ((self, 1),))

    @property
    def reordered(self) -> float:
        """Operations whose roundings its value has in the new order."""
        if not self.terms:
            return self.written
        return max(term.operations for term in self.terms) + len(self.terms) + INNER

    @property
    def gap(self) -> float:
        """Relative difference between its value as it is written and in the new order, at most."""
        return 1.01 * ROUNDING * (self.written + self.reordered + 4)

    def spread(self) -> tuple[Term, ...]:
        """Its terms, with sums that the innermost loop changes multiplied out."""
        found: list[Term] = []
        for term in self.parts:
            inner = next((f for f, n in term.powers if n == 1 and f.level == INNER and len(f.terms) > 1), None)
            if inner is None:
                found.append(term)
                continue
            rest = Term(term.number, tuple((f, n) for f, n in term.powers if f is not inner))
            found += [rest.times(each) for each in inner.spread()]
        return tuple(found) if len(found) <= TERMS else self.parts


@dataclass(frozen=True)
class Known:
    """Which inputs of a function and which of its operations have a range."""

    inputs: tuple[bool, ...]
    operations: tuple[bool, ...]


def known_of(
    function: Any, ranges: Sequence[Range | None], shapes: Sequence[tuple[int, ...]], levels: Sequence[int]
) -> tuple[Known, list[Quantity]]:
    """Find out which operations of a function of arrays have a range, and what it gives.

    Parameters
    ----------
    function : callable
        Of arrays; gives a list of them.
    ranges : sequence of Range or None
        Of its arguments.
    shapes : sequence of tuple
        Of its arguments, within a loop.
    levels : sequence of int
        What changes each argument.
    """
    import jax

    with jax.enable_x64(True):
        jaxpr = _operations(function, tuple(shapes))
        reading = Reading()
        given = [Quantity(None, level, known) for level, known in zip(levels, ranges, strict=True)]
        results = reading.read(jaxpr.jaxpr, [None] * len(jaxpr.consts), given)
    return Known(tuple(known is not None for known in ranges), tuple(reading.found)), results


@lru_cache(maxsize=64)
def _operations(function: Any, shapes: tuple[tuple[int, ...], ...]) -> Any:
    import jax

    return jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(shape, np.float64) for shape in shapes))


def quantities(function: Any, values: Sequence[Any], levels: Sequence[int], known: Known) -> list[Quantity]:
    """What a function of arrays gives, within a loop that is compiled.

    Parameters
    ----------
    function, levels
        As for :func:`known_of`, which found what is known.
    values : sequence of array
        Its arguments.
    """
    jaxpr = _operations(function, tuple(value.shape for value in values))
    given = [
        Quantity(value, level, SOME if sure else None)
        for value, level, sure in zip(values, levels, known.inputs, strict=True)
    ]
    return Reading(known.operations).read(jaxpr.jaxpr, jaxpr.consts, given)


class Reading:
    """Go through the operations of a function and tell what each gives as a sum of products.

    Parameters
    ----------
    known : sequence of bool, optional
        Whether each operation has a range, as found by an earlier reading with the ranges of the inputs.
    """

    def __init__(self, known: Sequence[bool] | None = None) -> None:
        self.known = iter(known) if known is not None else None
        self.found: list[bool] = []

    def read(self, jaxpr: Any, constants: Iterable[Any], given: Sequence[Quantity]) -> list[Quantity]:
        """What the function gives, for quantities that it is given.

        Parameters
        ----------
        jaxpr : jax.extend.core.Jaxpr
            The function.
        constants : iterable of array
            Of the function.
        given : sequence of Quantity
            Its arguments.
        """
        held: dict[Any, Quantity] = dict(zip(jaxpr.invars, given, strict=True))
        for variable, constant in zip(jaxpr.constvars, constants, strict=True):
            held[variable] = Quantity(constant)

        def at(variable: Any) -> Quantity:
            return literal(variable.val) if hasattr(variable, "val") else held[variable]

        for equation in jaxpr.eqns:
            operands = [at(variable) for variable in equation.invars]
            if equation.primitive.name in CALLS:
                inside = equation.params["jaxpr"]
                results = self.read(inside.jaxpr, inside.consts, operands)
            else:
                results = self._results(equation, operands)
            held.update(zip(equation.outvars, results, strict=True))
        return [at(variable) for variable in jaxpr.outvars]

    def _results(self, equation: Any, operands: Sequence[Quantity]) -> list[Quantity]:
        values: list[Any] = [None] * len(equation.outvars)
        if self.known is not None:
            values = bound(equation, [each.value for each in operands])
        level = max((each.level for each in operands), default=FIXED)
        if len(values) > 1:
            return [Quantity(value, level) for value in values]
        result = _result(equation, operands, values[0], level)
        if level == FIXED and result.sign > 0 and any(term.powers for term in result.terms):
            result.terms = ()
        self._settle(result)
        return [result]

    def _settle(self, result: Quantity) -> None:
        """Keep the range of a result if it can be relied on."""
        if self.known is not None:
            result.range = SOME if next(self.known) else None
        elif result.range is not None:
            near = result.gap < LARGEST_GAP
            finite = near and 0 < result.range.least <= result.range.most < math.inf
            one_sign = result.sign > 0 or result.terms
            if not (finite and one_sign and max(result.range.digits, *(t.digits for t in result.parts)) < DIGITS):
                result.range = None
        self.found.append(result.range is not None)


def literal(value: Any) -> Quantity:
    """A number that is written in the function."""
    if np.ndim(value) or isinstance(value, bool | np.bool_):
        return Quantity(value)
    number = float(value)
    return Quantity(value, FIXED, range_of(abs(number)), -1 if number < 0 else 1, (Term(number),))


def _result(equation: Any, operands: Sequence[Quantity], value: Any, level: int) -> Quantity:
    """What an operation gives, as a sum of products where it is one."""
    name, kind = equation.primitive.name, equation.outvars[0].aval.dtype
    given = equation.invars[0].aval.dtype if equation.invars else kind
    nothing = Quantity(value, level)
    if name in COMPARISONS or (name in JOINTS and kind == np.bool_):
        return Quantity(value, level, relation=(name, *operands))
    if kind == np.bool_:
        return nothing
    if name == "convert_element_type" and given == np.bool_:
        return Quantity(value, level, Range(1.0, 1.0, True, True), rounded=True)
    if name == "select_n" and given == np.bool_:
        return _chosen(operands, value, level)
    ranges = [each.range for each in operands if each.range is not None]
    if len(ranges) < len(operands) or not np.issubdtype(kind, np.floating):
        return nothing
    if name in SAME:
        (one,) = operands
        return Quantity(value, level, one.range, one.sign, one.parts, one.written, one.rounded)
    if name in ("add", "sub"):
        return _added(operands, 1 if name == "add" else -1, value, level)
    if name in ("mul", "div"):
        return _multiplied(operands, 1 if name == "mul" else -1, value, level)
    if name == "integer_pow" and (power := equation.params["y"]) > 0:
        return reduce(lambda left, right: _multiplied((left, right), 1, value, level), list(operands) * power)
    if name == "neg":
        (one,) = operands
        negative = tuple(Term(-term.number, term.powers) for term in one.parts)
        return Quantity(value, level, one.range, -one.sign, negative, one.written, one.rounded)
    return _factor(name, operands, ranges, value, level)


def _factor(name: str, operands: Sequence[Quantity], ranges: Sequence[Range], value: Any, level: int) -> Quantity:
    """What roundings, maxima and roots give."""
    if any(each.sign < 0 for each in operands):
        return Quantity(value, level)
    written, first = max(each.written for each in operands), ranges[0]
    if name in ("round", "floor", "ceil"):
        zero = first.zero or (name != "ceil" and first.least < 1.01)
        return Quantity(value, level, Range(1.0, max(1.0, first.most + 1), zero, True), rounded=True)
    if name in ("max", "min"):
        return Quantity(value, level, first.joined(ranges[1]), written=written)
    if name == "sqrt":
        return Quantity(
            value, level, Range(math.sqrt(first.least), math.sqrt(first.most), first.zero), written=written + 1
        )
    return Quantity(value, level)


def _chosen(operands: Sequence[Quantity], value: Any, level: int) -> Quantity:
    """One of two quantities; where the other is zero, a product with a truth value."""
    import jax.numpy as jnp

    truth, when_false, when_true = operands
    if when_false.range is None or when_true.range is None:
        return Quantity(value, level)
    for one, other, flipped in ((when_true, when_false, False), (when_false, when_true, True)):
        if other.terms == (Term(0.0),) and one.terms:
            given = truth.value if truth.value is None or not flipped else ~truth.value
            held = None if given is None else jnp.asarray(given, jnp.float64)
            indicator = Quantity(held, truth.level, Range(1.0, 1.0, True, True))
            terms = (one.product.times(Term(1.0, ((indicator, 1),))),)
            joined = one.range.joined(Range(one.range.least, one.range.most, True, True)) if one.range else None
            return Quantity(value, level, joined, one.sign, terms, one.written)
    if when_false.sign < 0 or when_true.sign < 0:
        return Quantity(value, level)
    joined, written = when_false.range.joined(when_true.range), max(when_false.written, when_true.written)
    return Quantity(value, level, joined, written=written, rounded=when_false.rounded or when_true.rounded)


def _added(operands: Sequence[Quantity], sign: int, value: Any, level: int) -> Quantity:
    """A sum of quantities of one sign; or a difference of whole numbers, which is exact."""
    left, right = operands
    a, b = left.range, right.range
    assert a is not None
    assert b is not None
    written = max(left.written, right.written) + 1
    if left.sign == sign * right.sign:
        joined = Range(min(a.least, b.least), a.most + b.most, a.zero and b.zero, a.whole and b.whole)
        if left.rounded or right.rounded:
            whole = joined.whole and joined.most < EXACT
            return Quantity(value, level, joined, left.sign, written=0.0 if whole else written, rounded=True)
        second = tuple(Term(sign * term.number, term.powers) for term in right.spread())
        terms = (*left.spread(), *second)
        if len(terms) > TERMS:
            terms = ()
        return Quantity(value, level, joined, left.sign, terms, written)
    low, high = 0.0 if a.zero else a.least, b.most
    exact = a.whole and b.whole and not left.written and not right.written and max(a.most, b.most) < EXACT
    known = Range(1.0, max(1.0, a.most), True, True) if exact and left.sign > 0 and low >= high else None
    return Quantity(value, level, known)


def _multiplied(operands: Sequence[Quantity], sign: int, value: Any, level: int) -> Quantity:
    """A product or a quotient."""
    left, right = operands
    a, b = left.range, right.range
    assert a is not None
    assert b is not None
    if sign < 0 and (b.zero or right.terms == (Term(0.0),)):
        return Quantity(value, level)
    least, most = (a.least * b.least, a.most * b.most) if sign > 0 else (a.least / b.most, a.most / b.least)
    whole = sign > 0 and a.whole and b.whole and most < EXACT
    # A product of whole numbers has no rounding.
    exact = whole and not left.written and not right.written
    written = 0.0 if exact else left.written + right.written + 1
    terms = (left.product.times(right.product, sign),)
    return Quantity(value, level, Range(least, most, a.zero or b.zero, whole), left.sign * right.sign, terms, written)


class Ordered:
    """Values of quantities in the new order; what several of them share is computed once."""

    def __init__(self) -> None:
        self._values: dict[Quantity, Any] = {}

    def value(self, quantity: Quantity) -> Any:
        """The value of a quantity."""
        if not quantity.terms or quantity.level == FIXED:
            return quantity.value
        if quantity not in self._values:
            self._values[quantity] = self._collected(quantity.terms, INNER)
        return self._values[quantity]

    def scaled(self, quantity: Quantity) -> tuple[Any, Any]:
        """An array and a number that is not negative whose product is the value of a quantity."""
        term = quantity.product
        if quantity.level != INNER or len(quantity.parts) > 1:
            return self.value(quantity), 1.0
        numbers = tuple(power for power in term.powers if np.size(power[0].value) == 1 and not power[0].terms)
        sure = tuple(power for power in numbers if power[0].range is not None)
        rest = Term(math.copysign(1.0, term.number), tuple(p for p in term.powers if p not in sure))
        return self._collected((rest,), INNER), self._collected((Term(abs(term.number), sure),), INNER)

    def _collected(self, terms: Sequence[Term], level: int) -> Any:
        """A sum in which what a loop changes stands outside brackets of what it does not change."""
        if level < FIXED:
            return sum(term.number for term in terms)
        groups: dict[frozenset[Any], tuple[list[Any], list[Term]]] = {}
        for term in terms:
            here = [(f, n) for f, n in term.powers if f.level == level]
            rest = Term(term.number, tuple((f, n) for f, n in term.powers if f.level != level))
            groups.setdefault(frozenset(here), (here, []))[1].append(rest)
        ordered = sorted(groups.values(), key=lambda group: len(group[0]))
        return reduce(operator.add, (self._times(here, self._collected(rest, level - 1)) for here, rest in ordered))

    def _times(self, powers: Iterable[tuple[Quantity, int]], number: Any) -> Any:
        """A number times powers; first of what is one number."""
        above, below = [number] if not (isinstance(number, float) and number == 1.0) else [], []
        for factor, power in powers:
            (above if power > 0 else below).extend([self.value(factor)] * abs(power))
        above, below = (sorted(some, key=lambda value: np.size(value) > 1) for some in (above, below))
        found = reduce(operator.mul, above) if above else 1.0
        return found / reduce(operator.mul, below) if below else found

    def holds(self, truth: Quantity, surely: bool) -> Any:
        """Whether a condition holds as it is written: surely, or perhaps."""
        name, *sides = truth.relation or ("",)
        if name in JOINTS and any(map(_compares_sums, sides)):
            left, right = (self.holds(side, surely) for side in sides)
            return JOINTS[name](left, right)
        if name not in COMPARISONS or not _compares_sums(truth):
            return truth.value
        left, right = sides
        larger = right if name in ("le", "lt") else left
        # The margin goes to the side that changes less often.
        moved = right if (right.level, np.size(right.value)) <= (left.level, np.size(left.value)) else left
        outward = 1 if (moved is larger) != surely else -1
        share = 1.0 + outward * moved.sign * (left.gap + right.gap)
        values = [self.value(side) * share if side is moved else self.value(side) for side in sides]
        return COMPARISONS[name](*values)


def _compares_sums(truth: Quantity) -> bool:
    """Whether a sum that the innermost loop changes is compared, or is in a comparison that is part of a condition."""
    name, *sides = truth.relation or ("",)
    if name in JOINTS:
        return any(map(_compares_sums, sides))
    if name not in COMPARISONS or any(side.range is None for side in sides):
        return False
    return any(side.level == INNER and len(side.parts) > 1 for side in sides)


def reordered(quantity: Quantity) -> bool:
    """Whether the innermost loop has the factors of a quantity in another order than they are written."""
    return quantity.range is not None and quantity.level == INNER


def doubtful(conditions: Sequence[Quantity]) -> bool:
    """Whether there are conditions that are not as written."""
    return any(map(_compares_sums, conditions))


#: Operations that a division or a function takes.
DEAR = {"div": 4, "sqrt": 4, "exp": 10, "log": 10, "pow": 20, "while": 200, "scan": 200}


@dataclass(frozen=True)
class Step:
    """An operation of a function, numbers of what it is given and gives, and the innermost loop that changes it."""

    equation: Any
    operands: tuple[Any, ...]
    results: tuple[int, ...]
    level: int


class Nest:
    """A function within loops: each of its operations is done in the outermost loop that it can be done in.

    Parameters
    ----------
    closed : jax.extend.core.ClosedJaxpr
        The function.
    levels : sequence of int
        The innermost loop that changes each argument.
    """

    def __init__(self, closed: Any, levels: Sequence[int]) -> None:
        self.levels = tuple(levels)
        self._steps: list[Step] = []
        self._constants: dict[int, Any] = {}
        self._of: list[int] = list(levels)
        self._outputs = self._flatten(closed, list(range(len(levels))))

    def _new(self, level: int) -> int:
        self._of.append(level)
        return len(self._of) - 1

    def _flatten(self, closed: Any, given: Sequence[Any]) -> list[Any]:
        """Add the operations of a function, and of functions that it calls; variables become numbers."""
        held = dict(zip(closed.jaxpr.invars, given, strict=True))
        for variable, constant in zip(closed.jaxpr.constvars, closed.consts, strict=True):
            held[variable] = self._new(FIXED)
            self._constants[held[variable]] = constant

        def at(variable: Any) -> Any:
            return variable if hasattr(variable, "val") else held[variable]

        for equation in closed.jaxpr.eqns:
            operands = tuple(map(at, equation.invars))
            if equation.primitive.name in CALLS:
                results = self._flatten(equation.params["jaxpr"], operands)
            else:
                level = max((self._of[each] for each in operands if isinstance(each, int)), default=FIXED)
                results = [self._new(level) for _ in equation.outvars]
                self._steps.append(Step(equation, operands, tuple(results), level))
            held.update(zip(equation.outvars, results, strict=True))
        return [at(variable) for variable in closed.jaxpr.outvars]

    def done(self, level: int, held: dict[int, Any], given: Iterable[Any]) -> dict[int, Any]:
        """What is known in a loop, from what is known outside of it and the arguments that it changes."""
        places = [place for place, each in enumerate(self.levels) if each == level]
        held = {**(held or self._constants), **dict(zip(places, given, strict=True))}
        for step in self._steps:
            # One number at all places of an array is none to be kept.
            if step.level == level or (step.level < level and step.equation.primitive.name == "broadcast_in_dim"):
                results = bound(step.equation, [self._value(each, held) for each in step.operands])
                held.update(zip(step.results, results, strict=True))
        return held

    def outputs(self, held: dict[int, Any]) -> list[Any]:
        """What the function gives."""
        return [self._value(each, held) for each in self._outputs]

    @staticmethod
    def _value(each: Any, held: dict[int, Any]) -> Any:
        return held[each] if isinstance(each, int) else each.val

    @property
    def work(self) -> int:
        """Operations on arrays that the innermost loop repeats."""
        wanted, total = {each for each in self._outputs if isinstance(each, int)}, 0
        for step in reversed(self._steps):
            if wanted.isdisjoint(step.results):
                continue
            wanted.update(each for each in step.operands if isinstance(each, int))
            name = step.equation.primitive.name
            if step.level == INNER and name not in SAME and any(v.aval.shape for v in step.equation.outvars):
                total += DEAR.get(name, 1)
        return total


def bound(equation: Any, values: Sequence[Any]) -> list[Any]:
    """What an operation gives for some values."""
    primitive = equation.primitive
    params = primitive.get_bind_params(equation.params)
    # Before JAX 0.10 functions inside came apart from the other parameters.
    inside, params = params if isinstance(params, tuple) else ((), params)
    found = primitive.bind(*inside, *values, **params)
    return list(found) if primitive.multiple_results else [found]
