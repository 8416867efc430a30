"""Reassociation of sums and products by loop nest, with a bound on the rounding that this changes.

The factors of a product and the terms of a sum are put in order of the loop that changes them, and terms that share
factors of the innermost loop are added before it: ``(a + b*c*x) + d*x`` becomes ``a + x*(b*c + d)``.

The result differs from the original by a bounded relative error. Only quantities whose terms have one sign take part,
so that nothing cancels, and only factors whose products stay in the range of floats. Operations that round, compare or
branch are evaluated as written, and are one factor.
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
#: Most terms of a sum; a sum in a product that would lead to more stays a factor.
TERMS = 32
#: Relative error of an operation: twice that of floats, as XLA divides by multiplying with an inverse.
ROUNDING = 2.0**-52
#: Largest relative error of a quantity that takes part; a hundredth of that up to which values count as equal.
LARGEST_GAP = 1e-11
#: Whole numbers below this are floats.
EXACT = 2.0**53
#: Suffixes of the name of an output: for a factor to apply to it; for a truth value that is true wherever it may be.
SCALE, PERHAPS = "|scale", "|perhaps"


class Magnitude(NamedTuple):
    """Ends of the range of nonnegative numbers, zero aside, and a flag for zero."""

    least: float
    most: float
    zero: bool = False

    @property
    def digits(self) -> float:
        """Binary digits by which a value may differ from one."""
        return max(abs(math.log2(self.least)), abs(math.log2(self.most)))


@dataclass(frozen=True)
class Term:
    """Number times powers of factors."""

    number: float
    powers: tuple[tuple[Quantity, int], ...] = ()

    def times(self, other: Term, sign: int = 1) -> Term:
        """Multiply by a term, or by its inverse."""
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
    """Result of an operation as a sum of products.

    Attributes
    ----------
    index : int
        Index of the result as written.
    axes : int
        Loops that change it, as bits.
    whole : bool
        True if all values are whole numbers.
    size : Magnitude or None
        None if it is not known: then it takes no part.
    sign : int
        Sign of all values.
    terms : tuple of Term
        Its terms; empty if it is one factor, which is never negative.
    written : float
        Operations whose roundings its value has as written.
    """

    index: int
    axes: int
    whole: bool = False
    size: Magnitude | None = None
    sign: int = 1
    terms: tuple[Term, ...] = ()
    written: float = 0.0

    @property
    def level(self) -> int:
        """The innermost loop that changes it: 0 for none, then outer, inner."""
        return (self.axes & (OUTER | INNER)).bit_length()

    @property
    def parts(self) -> tuple[Term, ...]:
        """Terms; itself if it is one factor."""
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
        """Largest relative difference between its value as written and in the new order."""
        return 1.01 * ROUNDING * (self.written + self.reordered + 4)

    def spread(self) -> tuple[Term, ...]:
        """Terms, with sums that the innermost loop changes multiplied out."""
        terms: list[Term] = []
        for term in self.parts:
            inner = next((f for f, n in term.powers if n == 1 and f.level == 2 and len(f.terms) > 1), None)
            if inner is None:
                terms.append(term)
                continue
            rest = Term(term.number, tuple((f, n) for f, n in term.powers if f is not inner))
            terms += [rest.times(factor) for factor in inner.spread()]
        return tuple(terms) if len(terms) <= TERMS else self.parts


#: Constructor of the quantity of a node, whose index and axes are known; and rule that applies it to operands.
New = Callable[..., Quantity]
Rule = Callable[..., Quantity]


def _added(sign: int, new: New, left: Quantity, right: Quantity) -> Quantity:
    """Sum of quantities of one sign; or difference of whole numbers, which is exact."""
    (a, a_most, a_zero), (b, b_most, b_zero) = left.size, right.size  # type: ignore[misc]
    if left.sign == sign * right.sign:
        terms = (*left.spread(), *(Term(sign * term.number, term.powers) for term in right.spread()))
        size = Magnitude(min(a, b), a_most + b_most, a_zero and b_zero)
        return new(size, left.sign, terms if len(terms) <= TERMS else (), max(left.written, right.written) + 1)
    exact = left.whole and right.whole and not left.written and not right.written and max(a_most, b_most) < EXACT
    known = exact and left.sign > 0 and (0.0 if a_zero else a) >= b_most
    return new(Magnitude(1.0, max(1.0, a_most), True) if known else None)


def _multiplied(sign: int, new: New, left: Quantity, right: Quantity) -> Quantity:
    """Product or quotient."""
    (a, a_most, a_zero), (b, b_most, b_zero) = left.size, right.size  # type: ignore[misc]
    if sign < 0 and b_zero:
        return new()
    least, most = (a * b, a_most * b_most) if sign > 0 else (a / b_most, a_most / b)
    # A product of whole numbers has no rounding.
    exact = sign > 0 and left.whole and right.whole and not left.written and not right.written and most < EXACT
    terms = (left.product.times(right.product, sign),)
    written = 0.0 if exact else left.written + right.written + 1
    return new(Magnitude(least, most, a_zero or b_zero), left.sign * right.sign, terms, written)


def _opposite(new: New, one: Quantity) -> Quantity:
    return new(one.size, -one.sign, tuple(Term(-term.number, term.powers) for term in one.parts), one.written)


def _factor(size: Callable[..., Magnitude | None], roundings: float, new: New, *operands: Quantity) -> Quantity:
    """One factor: a rounding, a root, one of two quantities."""
    if any(operand.sign < 0 for operand in operands):
        return new()
    written = max(operand.written for operand in operands)
    return new(size(*(operand.size for operand in operands)), written=roundings * (written + 1))


def _union(a: Magnitude, b: Magnitude) -> Magnitude:
    return Magnitude(min(a.least, b.least), max(a.most, b.most), a.zero or b.zero)


def _whole(zero_below: float, one: Magnitude) -> Magnitude | None:
    return Magnitude(1.0, one.most + 1, one.zero or one.least < zero_below) if one.most < EXACT else None


def _root(one: Magnitude) -> Magnitude:
    return Magnitude(math.sqrt(one.least), math.sqrt(one.most), one.zero)


ONE_OF = partial(_factor, _union, 1.0)
RULES: dict[str, Rule] = {
    "add": partial(_added, 1), "subtract": partial(_added, -1), "negative": _opposite,
    "multiply": partial(_multiplied, 1), "lawful": partial(_multiplied, 1), "divide": partial(_multiplied, -1),
    "ceil": partial(_factor, partial(_whole, 0.0), 0.0), "floor": partial(_factor, partial(_whole, 1.01), 0.0),
    "sqrt": partial(_factor, _root, 1.0), "maximum": ONE_OF, "minimum": ONE_OF,
}  # fmt: skip
COMPARISONS, JOINTS = ("less", "less_equal", "greater", "greater_equal"), ("both", "either")


def _number(new: New, value: float) -> Quantity:
    number = abs(float(value))
    if isinstance(value, bool) or not math.isfinite(number):
        return new()
    return new(Magnitude(number or 1.0, number or 1.0, not number), -1 if value < 0 else 1, (Term(float(value)),))


def _is_sure(result: Quantity) -> bool:
    """True if the size of a result can be relied on: nothing cancels, and nothing leaves the range of floats."""
    size = result.size
    if size is None or not 0 < size.least <= size.most < math.inf or not (result.sign > 0 or result.terms):
        return False
    return result.gap < LARGEST_GAP and max(size.digits, *(term.digits for term in result.parts)) < DIGITS


class _Regrouping:
    """Quantities of the nodes of a graph, and their values in the new order; shared values are built once."""

    def __init__(self, graph: Graph, inputs: Mapping[str, int], sizes: Mapping[str, Magnitude | None]) -> None:
        self.graph = graph
        self.builder, copies = copied(graph)
        self.quantities: list[Quantity] = []
        self._values: dict[Quantity, int] = {}
        for node, index, bits, facts in zip(graph.nodes, copies, axes(graph, inputs), graph.facts, strict=True):
            new = partial(Quantity, index, bits, facts.whole)
            operands = [self.quantities[arg] for arg in node.args]
            if node.op == "input":
                result = new(sizes.get(node.data))
            elif node.op == "number":
                result = _number(new, node.data)
            elif node.op == "where" and operands[1].size and operands[2].size:
                result = self._chosen(new, *operands)
            elif node.op in RULES and all(operand.size for operand in operands):
                result = RULES[node.op](new, *operands)
            else:
                result = new()
            if not result.level and result.sign > 0 and any(term.powers for term in result.terms):
                result.terms = ()
            if not _is_sure(result):
                result.size = None
            self.quantities.append(result)

    def _chosen(self, new: New, truth: Quantity, taken: Quantity, other: Quantity) -> Quantity:
        """One of two quantities; if the other is zero, a product with a truth value."""
        for one, zero, flags in ((taken, other, (1.0, 0.0)), (other, taken, (0.0, 1.0))):
            if zero.terms == (Term(0.0),) and one.terms and one.size:
                flag = self.builder.make("where", truth.index, *map(self.builder.number, flags))
                indicator = Quantity(flag, truth.axes, True, Magnitude(1.0, 1.0, True))
                terms = (one.product.times(Term(1.0, ((indicator, 1),))),)
                return new(one.size._replace(zero=True), one.sign, terms, one.written)
        return ONE_OF(new, taken, other)

    def value(self, quantity: Quantity) -> int:
        """Index of the value of a quantity."""
        if not quantity.terms or not quantity.level:
            return quantity.index
        if quantity not in self._values:
            self._values[quantity] = self._collected(quantity.terms, 2)
        return self._values[quantity]

    def scaled(self, quantity: Quantity) -> tuple[int, int]:
        """Split the value of a quantity into two factors, the second one number for all points of a tile."""
        if len(quantity.parts) > 1:
            return self.value(quantity), self.builder.number(1.0)
        term = quantity.product
        alike = tuple((f, n) for f, n in term.powers if not f.axes & FLAT and not f.terms)
        rest = Term(math.copysign(1.0, term.number), tuple(power for power in term.powers if power not in alike))
        return self._collected((rest,), 2), self._collected((Term(abs(term.number), alike),), 2)

    def _collected(self, terms: Sequence[Term], level: int) -> int:
        """Build a sum in which factors of a loop stand outside brackets of factors of outer loops."""
        if level < 0:
            return self.builder.number(sum(term.number for term in terms))
        groups: dict[frozenset[tuple[Quantity, int]], tuple[list[tuple[Quantity, int]], list[Term]]] = {}
        for term in terms:
            own = [(f, n) for f, n in term.powers if f.level == level]
            rest = Term(term.number, tuple((f, n) for f, n in term.powers if f.level != level))
            groups.setdefault(frozenset(own), (own, []))[1].append(rest)
        make = self.builder.make
        sums = []
        for own, rest in sorted(groups.values(), key=lambda group: len(group[0])):
            flat = any(factor.axes & FLAT for term in rest for factor, _ in term.powers)
            above, below = [(flat, self._collected(rest, level - 1))], []
            for factor, power in own:
                (above if power > 0 else below).extend([(bool(factor.axes & FLAT), self.value(factor))] * abs(power))
            # First of what is one number for all points of a tile.
            product, *divisor = (
                reduce(partial(make, "multiply"), [index for _, index in sorted(some, key=itemgetter(0))])
                for some in filter(None, (above, below))
            )
            sums.append(make("divide", product, *divisor) if divisor else product)
        return reduce(partial(make, "add"), sums)

    def compares_sums(self, index: int) -> bool:
        """True if a condition compares a sum that the innermost loop changes, or joins one that does."""
        node = self.graph.nodes[index]
        if node.op in JOINTS:
            return any(map(self.compares_sums, node.args))
        sides = [self.quantities[arg] for arg in node.args] if node.op in COMPARISONS else []
        return all(side.size for side in sides) and any(side.level == 2 and len(side.parts) > 1 for side in sides)

    def holds(self, index: int, surely: bool) -> int:
        """Build a truth value that implies a condition as written, or is implied by it."""
        node, make = self.graph.nodes[index], self.builder.make
        if not self.compares_sums(index):
            return self.quantities[index].index
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


def regrouped(
    graph: Graph, inputs: Mapping[str, int], sizes: Mapping[str, Magnitude | None]
) -> tuple[Graph, dict[str, float]]:
    """Reassociate sums and products in the order of the loops that change their operands.

    Parameters
    ----------
    graph : Graph
        Any graph.
    inputs : mapping
        Axes of each input, as bits: of :data:`OUTER`, :data:`INNER` and :data:`FLAT`.
    sizes : mapping
        Magnitude of each input; None if it is negative or infinite somewhere.

    Returns
    -------
    graph : Graph
        Approximate results. A number that the innermost loop changes is near that of the original, and comes with a
        factor to apply, the same for all points of a tile (``name|scale``). A truth value that compares such a sum is
        true only where that of the original is; another one is true wherever it may be (``name|perhaps``). All else is
        as written.
    gaps : dict
        Largest relative difference of each number that is not as written.
    """
    regrouping = _Regrouping(graph, inputs, sizes)
    outputs: dict[str, int] = {}
    gaps = {}
    for name, index in graph.outputs.items():
        quantity = regrouping.quantities[index]
        if regrouping.compares_sums(index):
            outputs[name], outputs[name + PERHAPS] = (regrouping.holds(index, surely) for surely in (True, False))
        elif quantity.size is not None and quantity.level == 2:
            outputs[name], outputs[name + SCALE] = regrouping.scaled(quantity)
            gaps[name] = quantity.gap
        else:
            outputs[name] = quantity.index
    return regrouping.builder.graph(outputs), gaps
