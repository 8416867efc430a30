"""Sums and products in the order in which loops change their operands, with a bound on what that changes.

The factors of a product and the terms of a sum are put in order of the loop that changes them, and terms that share
what the innermost loop changes are added before it: ``(a + b*c*x) + d*x`` becomes ``a + x*(b*c + d)``.

The result differs from the original by a relative error with a bound. Only quantities whose terms have one sign take
part, so that nothing cancels, and only factors of which no product leaves the range of floats. Whatever rounds,
compares or branches is computed as it is written, and is one factor.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import itemgetter
from typing import NamedTuple

from mlsysim.graph.builder import copied
from mlsysim.graph.graph import Graph
from mlsysim.graph.passes.axes import axes

#: Axes of a loop over runs, of one over the tiles of a run, and of the points of a tile, as bits.
OUTER, INNER, FLAT = 1, 2, 4
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
#: What is put after the name of an output to name a number that it is to be multiplied by, and of a truth value to
#: name one that holds wherever it may hold as it is written.
SCALE, PERHAPS = "|scale", "|perhaps"


class Magnitude(NamedTuple):
    """Size of numbers that are not negative.

    Attributes
    ----------
    least, most : float
        Ends of the range of those that are not zero.
    zero, whole : bool
        True if zero is among them; if all are whole numbers.
    """

    least: float
    most: float
    zero: bool = False
    whole: bool = False

    @property
    def digits(self) -> float:
        """Binary digits by which a value may differ from one."""
        return max(abs(math.log2(self.least)), abs(math.log2(self.most)))

    def union(self, other: Magnitude) -> Magnitude:
        """Magnitude of numbers of either."""
        least, most = min(self.least, other.least), max(self.most, other.most)
        return Magnitude(least, most, self.zero or other.zero, self.whole and other.whole)


@dataclass(frozen=True)
class Term:
    """A number times powers of factors."""

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
        return number + sum(abs(n) * f.size.digits for f, n in self.powers if f.size)

    @property
    def operations(self) -> float:
        """Operations whose roundings its value has when its factors are multiplied in any order."""
        return 1 + sum(abs(n) * (f.reordered + 1) for f, n in self.powers)


@dataclass(eq=False)
class Quantity:
    """The result of an operation as a sum of products.

    Attributes
    ----------
    place : int
        Place of the result as it is written.
    axes : int
        Loops that change it, as bits.
    size : Magnitude or None
        None where it is not known: then it takes no part.
    sign : int
        Sign of all values.
    terms : tuple of Term
        Its terms; empty where it is one factor, which is never negative.
    written : float
        Operations whose roundings its value has as it is written.
    rounded : bool
        True if it comes from a rounding: what is added to it then stays there.
    """

    place: int
    axes: int
    size: Magnitude | None = None
    sign: int = 1
    terms: tuple[Term, ...] = ()
    written: float = 0.0
    rounded: bool = False

    @property
    def level(self) -> int:
        """The innermost loop that changes it: 0 for none, then outer, inner."""
        return (self.axes & (OUTER | INNER)).bit_length()

    @property
    def parts(self) -> tuple[Term, ...]:
        """Its terms; itself where it is one factor."""
        return self.terms or (Term(1.0, ((self, 1),)),)

    @property
    def product(self) -> Term:
        """One term, in which a sum is a factor."""
        return self.parts[0] if len(self.parts) == 1 else Term(1.0, ((self, 1),))

    @property
    def reordered(self) -> float:
        """Operations whose roundings its value has in the new order."""
        if not self.terms:
            return self.written
        return max(term.operations for term in self.terms) + len(self.terms) + 2

    @property
    def gap(self) -> float:
        """Relative difference between its value as it is written and in the new order, at most."""
        return 1.01 * ROUNDING * (self.written + self.reordered + 4)

    def spread(self) -> tuple[Term, ...]:
        """Its terms, with sums that the innermost loop changes multiplied out."""
        found: list[Term] = []
        for term in self.parts:
            inner = next((f for f, n in term.powers if n == 1 and f.level == 2 and len(f.terms) > 1), None)
            if inner is None:
                found.append(term)
                continue
            rest = Term(term.number, tuple((f, n) for f, n in term.powers if f is not inner))
            found += [rest.times(each) for each in inner.spread()]
        return tuple(found) if len(found) <= TERMS else self.parts


#: A quantity of the operation in question, without its place.
New = Callable[..., Quantity]


def _added(sign: int, new: New, left: Quantity, right: Quantity) -> Quantity:
    """A sum of quantities of one sign; or a difference of whole numbers, which is exact."""
    a, b = left.size, right.size
    assert a
    assert b
    written = max(left.written, right.written) + 1
    if left.sign == sign * right.sign:
        size = Magnitude(min(a.least, b.least), a.most + b.most, a.zero and b.zero, a.whole and b.whole)
        if left.rounded or right.rounded:
            exact = size.whole and size.most < EXACT
            return new(size, left.sign, written=0.0 if exact else written, rounded=True)
        terms = (*left.spread(), *(Term(sign * term.number, term.powers) for term in right.spread()))
        return new(size, left.sign, terms if len(terms) <= TERMS else (), written)
    exact = a.whole and b.whole and not left.written and not right.written and max(a.most, b.most) < EXACT
    least = 0.0 if a.zero else a.least
    return new(Magnitude(1.0, max(1.0, a.most), True, True) if exact and left.sign > 0 and least >= b.most else None)


def _multiplied(sign: int, new: New, left: Quantity, right: Quantity) -> Quantity:
    """A product or a quotient."""
    a, b = left.size, right.size
    assert a
    assert b
    if sign < 0 and b.zero:
        return new()
    least, most = (a.least * b.least, a.most * b.most) if sign > 0 else (a.least / b.most, a.most / b.least)
    whole = sign > 0 and a.whole and b.whole and most < EXACT
    # A product of whole numbers has no rounding.
    written = 0.0 if whole and not left.written and not right.written else left.written + right.written + 1
    terms = (left.product.times(right.product, sign),)
    return new(Magnitude(least, most, a.zero or b.zero, whole), left.sign * right.sign, terms, written)


def _opposite(new: New, one: Quantity) -> Quantity:
    terms = tuple(Term(-term.number, term.powers) for term in one.parts)
    return new(one.size, -one.sign, terms, one.written, one.rounded)


def _rounded(zero_below: float, new: New, one: Quantity) -> Quantity:
    size = one.size
    if one.sign < 0 or size is None or size.most >= EXACT:
        return new()
    return new(Magnitude(1.0, size.most + 1, size.zero or size.least < zero_below, True), rounded=True)


def _root(new: New, one: Quantity) -> Quantity:
    if one.sign < 0 or one.size is None:
        return new()
    return new(
        one.size._replace(least=math.sqrt(one.size.least), most=math.sqrt(one.size.most)), written=one.written + 1
    )


def _one_of(new: New, left: Quantity, right: Quantity) -> Quantity:
    """One of two quantities, as an extreme or a case has it."""
    if left.sign < 0 or right.sign < 0 or left.size is None or right.size is None:
        return new()
    written, rounded = max(left.written, right.written), left.rounded or right.rounded
    return new(left.size.union(right.size), written=written, rounded=rounded)


RULES: dict[str, Callable[..., Quantity]] = {
    "add": partial(_added, 1), "subtract": partial(_added, -1), "multiply": partial(_multiplied, 1),
    "lawful": partial(_multiplied, 1), "divide": partial(_multiplied, -1), "negative": _opposite, "sqrt": _root,
    "ceil": partial(_rounded, 0.0), "floor": partial(_rounded, 1.01), "maximum": _one_of, "minimum": _one_of,
}  # fmt: skip
COMPARISONS = ("less", "less_equal", "greater", "greater_equal")
JOINTS = ("both", "either")


class _Regrouping:
    """Quantities of the nodes of a graph, and their values in the new order; what several share is built once."""

    def __init__(self, graph: Graph, inputs: Mapping[str, int], sizes: Mapping[str, Magnitude | None]) -> None:
        self.graph = graph
        self.builder, places = copied(graph)
        self.quantities: list[Quantity] = []
        self._values: dict[Quantity, int] = {}
        for node, place, bits in zip(graph.nodes, places, axes(graph, inputs), strict=True):
            new = partial(Quantity, place, bits)
            operands = [self.quantities[arg] for arg in node.args]
            if node.op == "input":
                result = new(sizes.get(node.data))
            elif node.op == "number":
                result = _number(new, node.data)
            elif node.op == "where":
                result = self._chosen(new, *operands)
            elif node.op in RULES and all(each.size for each in operands):
                result = RULES[node.op](new, *operands)
            else:
                result = new()
            if not result.level and result.sign > 0 and any(term.powers for term in result.terms):
                result.terms = ()
            if result.size is not None and not _is_sure(result):
                result.size = None
            self.quantities.append(result)

    def _chosen(self, new: New, truth: Quantity, taken: Quantity, other: Quantity) -> Quantity:
        """One of two quantities; where the other is zero, a product with a truth value."""
        if taken.size is None or other.size is None:
            return new()
        for one, zero, flags in ((taken, other, (1.0, 0.0)), (other, taken, (0.0, 1.0))):
            if zero.terms == (Term(0.0),) and one.terms:
                make, number = self.builder.make, self.builder.number
                flag = make("where", truth.place, *map(number, flags))
                indicator = Quantity(flag, truth.axes, Magnitude(1.0, 1.0, True, True))
                terms = (one.product.times(Term(1.0, ((indicator, 1),))),)
                return new(one.size and one.size._replace(zero=True), one.sign, terms, one.written)
        return _one_of(new, taken, other)

    def value(self, quantity: Quantity) -> int:
        """Place of the value of a quantity."""
        if not quantity.terms or not quantity.level:
            return quantity.place
        if quantity not in self._values:
            self._values[quantity] = self._collected(quantity.terms, 2)
        return self._values[quantity]

    def scaled(self, quantity: Quantity) -> tuple[int, int]:
        """Places of two numbers, the second one for all points of a tile, whose product is the value of a quantity."""
        if len(quantity.parts) > 1:
            return self.value(quantity), self.builder.number(1.0)
        term = quantity.product
        alike = tuple((f, n) for f, n in term.powers if not f.axes & FLAT and not f.terms)
        rest = Term(math.copysign(1.0, term.number), tuple(power for power in term.powers if power not in alike))
        return self._collected((rest,), 2), self._collected((Term(abs(term.number), alike),), 2)

    def _collected(self, terms: Sequence[Term], level: int) -> int:
        """A sum in which what a loop changes stands outside brackets of what it does not change."""
        if level < 0:
            return self.builder.number(sum(term.number for term in terms))
        groups: dict[frozenset[tuple[Quantity, int]], tuple[list[tuple[Quantity, int]], list[Term]]] = {}
        for term in terms:
            here = [(f, n) for f, n in term.powers if f.level == level]
            rest = Term(term.number, tuple((f, n) for f, n in term.powers if f.level != level))
            groups.setdefault(frozenset(here), (here, []))[1].append(rest)
        make = self.builder.make
        found = []
        for here, rest in sorted(groups.values(), key=lambda group: len(group[0])):
            flat = any(factor.axes & FLAT for term in rest for factor, _ in term.powers)
            above, below = [(flat, self._collected(rest, level - 1))], []
            for factor, power in here:
                (above if power > 0 else below).extend([(bool(factor.axes & FLAT), self.value(factor))] * abs(power))
            # First of what is one number for all points of a tile.
            product, *divisor = (
                reduce(partial(make, "multiply"), [place for _, place in sorted(some, key=itemgetter(0))])
                for some in filter(None, (above, below))
            )
            found.append(make("divide", product, *divisor) if divisor else product)
        return reduce(partial(make, "add"), found)

    def compares_sums(self, place: int) -> bool:
        """True if a condition compares a sum that the innermost loop changes, or joins one that does."""
        node = self.graph.nodes[place]
        if node.op in JOINTS:
            return any(map(self.compares_sums, node.args))
        sides = [self.quantities[arg] for arg in node.args] if node.op in COMPARISONS else []
        return all(side.size for side in sides) and any(side.level == 2 and len(side.parts) > 1 for side in sides)

    def holds(self, place: int, surely: bool) -> int:
        """Place of a truth value: true only, or everywhere, where a condition is true as it is written."""
        node, make = self.graph.nodes[place], self.builder.make
        if not self.compares_sums(place):
            return self.quantities[place].place
        if node.op in JOINTS:
            return make(node.op, *[self.holds(arg, surely) for arg in node.args])
        left, right = (self.quantities[arg] for arg in node.args)
        larger = right if node.op in ("less", "less_equal") else left
        # The margin goes to the side that changes less often.
        moved = min(right, left, key=lambda side: (side.level, side.axes & FLAT))
        outward = 1 if (moved is larger) != surely else -1
        share = self.builder.number(1.0 + outward * moved.sign * (left.gap + right.gap))
        values = [make("multiply", self.value(s), share) if s is moved else self.value(s) for s in (left, right)]
        return make(node.op, *values)


def _number(new: New, value: float) -> Quantity:
    number = abs(float(value))
    if isinstance(value, bool) or not math.isfinite(number):
        return new()
    size = Magnitude(number or 1.0, number or 1.0, not number, number.is_integer())
    return new(size, -1 if value < 0 else 1, (Term(float(value)),))


def _is_sure(result: Quantity) -> bool:
    """True if the size of a result can be relied on: nothing cancels, and nothing leaves the range of floats."""
    size = result.size
    assert size
    if not (result.gap < LARGEST_GAP and 0 < size.least <= size.most < math.inf and (result.sign > 0 or result.terms)):
        return False
    return max(size.digits, *(term.digits for term in result.parts)) < DIGITS


def regrouped(
    graph: Graph, inputs: Mapping[str, int], sizes: Mapping[str, Magnitude | None]
) -> tuple[Graph, dict[str, float]]:
    """Put sums and products in the order of the loops that change their operands.

    Parameters
    ----------
    graph : Graph
        Any graph.
    inputs : mapping
        Axes of each input, as bits: of :data:`OUTER`, :data:`INNER` and :data:`FLAT`.
    sizes : mapping
        Magnitude of each input; None where it is negative or infinite somewhere.

    Returns
    -------
    graph : Graph
        Proposes results. A number that the innermost loop changes is near that of the original, and comes with another
        one, the same for all points of a tile, that it is to be multiplied by (``name|scale``). A truth value that
        compares such a sum is true only where that of the original is; another one is true wherever it may be
        (``name|perhaps``). All else is as it is written.
    gaps : dict
        Relative difference, at most, of each number that is not as it is written.
    """
    regrouping = _Regrouping(graph, inputs, sizes)
    outputs: dict[str, int] = {}
    gaps = {}
    for name, place in graph.outputs.items():
        quantity = regrouping.quantities[place]
        if regrouping.compares_sums(place):
            outputs[name], outputs[name + PERHAPS] = (regrouping.holds(place, surely) for surely in (True, False))
        elif quantity.size is not None and quantity.level == 2:
            outputs[name], outputs[name + SCALE] = regrouping.scaled(quantity)
            gaps[name] = quantity.gap
        else:
            outputs[name] = quantity.place
    return regrouping.builder.graph(outputs), gaps
