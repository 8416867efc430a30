"""Forms of a graph's nodes, in which everything but the axes of a grid is a number.

A node along one axis is a table of its values. Of any other, its operation says what form it has.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import sympy

from mlsysim.backends.compiled import graph_of
from mlsysim.bounds.forms import Atom, Condition, Forms, Relation, Sum, shows_positive
from mlsysim.bounds.nodes import Nodes, Quantity
from mlsysim.bounds.plans import Plans
from mlsysim.bounds.ranges import MARGIN, Ranges
from mlsysim.graph import Graph
from mlsysim.symbolic import System

#: Points of the grid that show which terms of a sum are large.
SAMPLE = 64
#: Most nodes of a residual that is bounded at every number that a search for its root tries.
LARGEST_RESIDUAL = 64


@dataclass(slots=True, eq=False)
class Deferred:
    """Deferred sum, product or maximum: it is built once all operands are known.

    Attributes
    ----------
    kind : {"sum", "product", "largest"}
        The operation.
    operands : tuple
        Sums; of a product with their exponents.
    sign : float
        Factor of the largest one.
    """

    kind: str
    operands: tuple[Any, ...]
    sign: float = 1.0


class GraphForms:
    """Sums and conditions of expressions over a system.

    Parameters
    ----------
    system : System
        Formulas.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
    sizes : tuple of int
        Values per axis.
    needed : iterable of sympy.Basic
        Expressions whose forms are asked for.
    """

    def __init__(
        self, system: System, values: Mapping[str, Any], sizes: tuple[int, ...], needed: Iterable[sympy.Basic]
    ) -> None:
        self.sizes = sizes
        self.forms = Forms(sizes)
        self.plans = Plans(self.forms)
        last = np.array(sizes, dtype=np.int64)[:, None] - 1
        # Plans hold ranges; were they held by those, all of it would stay until cycles are collected.
        plans: Any = weakref.proxy(self.plans)
        self._whole = Ranges(plans, np.zeros_like(last), last, thorough=False)
        self.plans.least = self._whole.least
        sampled_points = np.random.default_rng(0).integers(0, last + 1, (len(sizes), SAMPLE))
        self.plans.sample = Ranges(plans, sampled_points, sampled_points, thorough=False)
        self._outputs = {expression: f"asked_{index}" for index, expression in enumerate(dict.fromkeys(needed))}
        graph = graph_of(system, None, tuple((name, expression) for expression, name in self._outputs.items()))
        self._whole_numbers: set[int] = set()
        self._depth = 0
        # Nodes are held, and hold what makes their forms.
        self._nodes = Nodes(weakref.proxy(self), graph, [self._input(values[name]) for name in graph.inputs])

    def _input(self, value: Any) -> Quantity:
        value = np.asarray(value, float)
        axes = sum([1 << axis for axis, size in enumerate(value.shape) if size > 1])
        return Quantity(value if axes else float(value.ravel()[0]), axes)

    @np.errstate(all="ignore")
    def sum(self, expression: sympy.Basic, sign: int = 1) -> Sum:
        """Form of an expression that is a number, with this sign."""
        return self.forms.scale(self.settled(self._nodes.quantity(self._index(expression))), sign)

    @np.errstate(all="ignore")
    def conditions(self, expression: sympy.Basic) -> list[Condition]:
        """Forms of all parts of an expression that is a truth value."""
        return [self.condition(self._nodes.quantity(part)) for part in self._nodes.parts(self._index(expression))]

    @np.errstate(all="ignore")
    def require(self, conditions: Iterable[sympy.Basic]) -> tuple[Condition, ...]:
        """Forms of conditions that every point must meet.

        A quotient that one of them requires to be whole is not rounded in forms built afterwards.
        """
        parts = [part for condition in conditions for part in self._nodes.parts(self._index(condition))]
        parts.sort(key=lambda part: self._nodes.graph.nodes[part].op != "equal")
        required = []
        for part in parts:
            condition = self.condition(self._nodes.quantity(part))
            if condition.relation == "multiple":
                self._whole_numbers.add(condition.args[0].number)
            required.append(condition)
        return tuple(dict.fromkeys(c for c in required if c is not self.forms.true))

    def _index(self, expression: sympy.Basic) -> int:
        return self._nodes.graph.outputs[self._outputs[expression]]

    # Operations build their forms from the methods below.

    def settled(self, of: Any) -> Sum:
        """A number as a sum of products."""
        of = of.form if type(of) is Quantity else of
        if type(of) is Deferred:
            return getattr(self, f"_{of.kind}_of")(of)
        return self._counted(of) if type(of) is Condition else of

    def condition(self, of: Any) -> Condition:
        """A truth value as a condition."""
        of = of.form if type(of) is Quantity else of
        if type(of) is Condition:
            return of
        return self.negation(self.compared("equal", of, self.forms.number(0.0)))

    def _counted(self, of: Condition) -> Sum:
        if of is self.forms.true or of is self.forms.false:
            return self.forms.number(float(of is self.forms.true))
        return self.forms.atom("truth", of)

    def _operands_of(self, of: Any, kind: str) -> tuple[Any, ...]:
        """Operands of a deferred operation of this kind; else the number itself as the only one."""
        form = of.form if type(of) is Quantity else of
        if type(form) is Deferred and form.kind == kind and form.sign == 1:
            return form.operands
        settled = self.settled(form)
        return ((settled, 1.0),) if kind == "product" else (settled,)

    def added(self, *operands: Any) -> Deferred:
        """Sum of some numbers."""
        return self._deferred("sum", operands)

    def product(self, *operands: Any) -> Deferred:
        """Product of some numbers."""
        return self._deferred("product", operands)

    def largest(self, *operands: Any) -> Deferred:
        """Largest of some numbers."""
        return self._deferred("largest", operands)

    def _deferred(self, kind: str, numbers: tuple[Any, ...]) -> Deferred:
        return Deferred(kind, tuple([operand for number in numbers for operand in self._operands_of(number, kind)]))

    def negative(self, of: Any) -> Deferred:
        """A number with the other sign."""
        form = of.form if type(of) is Quantity else of
        if type(form) is Deferred and form.kind == "largest":
            return Deferred("largest", form.operands, -form.sign)
        if type(form) is Deferred and form.kind == "product":
            return self.product(form, self.forms.number(-1.0))
        return Deferred("sum", tuple([self.forms.negative(part) for part in self._operands_of(form, "sum")]))

    def power(self, base: Any, exponent: Any) -> Any:
        """A number to the power of another one."""
        forms, power = self.forms, exponent if type(exponent) is float else self.settled(exponent).constant
        if power is not None:
            factors = self._operands_of(base, "product") if power.is_integer() else ((self.settled(base), 1.0),)
            return Deferred("product", tuple([(factor, power * own) for factor, own in factors]))
        base, exponent = self.settled(base), self.settled(exponent)
        if base.constant is not None and base.constant > 0:
            return forms.atom("exp", forms.scale(exponent, float(np.log(base.constant))))
        if self._whole.range(base)[0][0] > 0:
            return forms.atom("exp", forms.multiply(exponent, forms.atom("log", base)))
        return forms.atom("unknown", base, exponent)

    def rounded(self, kind: str, of: Any) -> Sum:
        """A ceiling or a floor."""
        of = self.settled(of)
        if of.number in self._whole_numbers:
            return of
        axis = _only_axis(of)
        if axis is None:
            return self.forms.atom(kind, of)
        values = self._row(of, axis)
        whole = np.rint(values)
        near = np.abs(values - whole) <= MARGIN * np.abs(values)
        return self.forms.table(axis, np.where(near, whole, getattr(np, kind)(values)))

    def case(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """One of two, by whether a condition holds."""
        condition = self.condition(condition)
        if condition is self.forms.true or condition is self.forms.false:
            return then if condition is self.forms.true else otherwise
        if all(type(branch.form) is Condition for branch in (then, otherwise)):
            return self.either(self.both(condition, then), self.both(self.negation(condition), otherwise))
        return self._chosen(condition, self.settled(then), self.settled(otherwise))

    def _chosen(self, condition: Condition, then: Sum, otherwise: Sum) -> Sum:
        forms = self.forms
        if then is otherwise:
            return then
        if condition.relation == "table":
            axis, counts = condition.args
            mask = np.diff(counts) > 0
            return forms.add([forms.masked(then, axis, mask), forms.masked(otherwise, axis, ~mask)])
        if not then.terms and not otherwise.terms:
            return then
        shared, (first, second) = self._shared([then, otherwise], signed=True)
        return forms.times(shared, forms.atom("case", condition, first, second))

    def compared(self, relation: Relation, left: Any, right: Any, strict: bool = False) -> Condition:
        """Comparison of two sums: their difference, and the two sums, whose size bounds its rounding."""
        forms = self.forms
        first, second = self.settled(left), self.settled(right)
        if relation == "equal":
            quotient = self._whole_quotient(first, second)
            if quotient is not None:
                return forms.condition("multiple", quotient)
        elif first is second is forms.number(0.0):
            return forms.false if strict else forms.true
        comparison = forms.condition(relation, forms.subtract(first, second), first, second)
        return self._decided(comparison) if relation == "compare" else comparison

    def _decided(self, condition: Condition) -> Condition:
        """Replace a comparison that has one outcome on the whole grid by true or false."""
        if self._depth and any(term.atoms for term in condition.args[0].terms):
            return condition
        may, must = self._whole.truth(condition)
        return self.forms.true if must[0] else condition if may[0] else self.forms.false

    def _whole_quotient(self, left: Sum, right: Sum) -> Sum | None:
        """Quotient that an equation requires to be whole; None if it requires something else."""
        first, second = _only_atom(left), _only_atom(right)
        if first is None:
            return None
        if first.kind == "mod" and not right.terms and self._whole.range(first.args[1])[0][0] > 0:
            return self.forms.multiply(first.args[0], self.forms.power(first.args[1], -1.0))
        if first.kind == "case" and first.args[0].relation == "multiple" and not (right.terms or first.args[1].terms):
            return first.args[0].args[0]
        if second is not None and {first.kind, second.kind} == {"ceil", "floor"} and first.args == second.args:
            return first.args[0]
        return None

    def both(self, *operands: Any) -> Condition:
        """Conjunction of conditions."""
        return self._junction("and", self.forms.true, self.forms.false, operands)

    def either(self, *operands: Any) -> Condition:
        """Disjunction of conditions."""
        return self._junction("or", self.forms.false, self.forms.true, operands)

    def _junction(
        self, relation: Relation, neutral: Condition, absorbing: Condition, operands: Sequence[Any]
    ) -> Condition:
        operands_kept: list[Condition] = []
        for condition in map(self.condition, operands):
            if condition is absorbing:
                return absorbing
            if condition is not neutral:
                operands_kept += condition.args if condition.relation == relation else (condition,)
        operands_kept = list(dict.fromkeys(operands_kept))
        return (
            neutral
            if not operands_kept
            else operands_kept[0]
            if len(operands_kept) == 1
            else self.forms.condition(relation, *operands_kept)
        )

    def negation(self, of: Any) -> Condition:
        """Negation of a condition."""
        of, forms = self.condition(of), self.forms
        if of is forms.true or of is forms.false:
            return forms.false if of is forms.true else forms.true
        return of.args[0] if of.relation == "not" else forms.condition("not", of)

    def equality(self, left: Any, right: Any) -> Condition:
        """Equality of two numbers, or of two truth values."""
        if all(type(side.form) is Condition for side in (left, right)):
            neither = self.both(self.negation(left), self.negation(right))
            return self.either(self.both(left, right), neither)
        return self.compared("equal", left, right)

    def crossing(self, residual: Graph, lower: Any, upper: Any, *captured: Any) -> Sum:
        """Root of a residual between two ends; any number between them if bounding it takes long."""
        ends = [self.settled(end) for end in (lower, upper)]
        endless = ends[1] is self.forms.number(math.inf)
        if residual.size > LARGEST_RESIDUAL or residual.has("root"):
            # Bounds of whole formulas at every number that is tried take longer than thousands of points.
            return self.forms.atom("between", *ends)
        parameter, inner = self._within(residual, captured)
        return self.forms.atom("root", parameter, self.settled(inner), *ends[: 1 if endless else 2])

    def first(self, condition: Graph, limit: Any, _beyond: Any, *captured: Any) -> Sum:
        """Smallest whole number that meets a condition."""
        parameter, inner = self._within(condition, captured)
        return self.forms.atom("least", parameter, self.condition(inner), self.settled(limit))

    def _within(self, graph: Graph, captured: Sequence[Quantity]) -> tuple[Atom, Quantity]:
        """Bound input of a subgraph, and its result."""
        index = next(index for index, node in enumerate(graph.nodes) if node.data == graph.inputs[0])
        self._depth += 1
        parameter = self.forms.atom("parameter", self._depth, graph.facts[index].low)
        own = Quantity(None, 1 << len(self.sizes), parameter)
        inner = Nodes(self, graph, [own, *captured])
        (result,) = graph.outputs.values()
        inner_result = inner.quantity(result)
        self._depth -= 1
        return parameter.terms[0].atoms[0][0], inner_result

    def atom(self, op: str, *operands: Any, data: Any = None) -> Sum:
        """Result without a form; the table of operations knows a range at most."""
        return self.forms.atom(op, *map(self.settled, operands), *(() if data is None else (data,)))

    def _sum_of(self, of: Deferred) -> Sum:
        return self.forms.add(of.operands)

    def _product_of(self, of: Deferred) -> Sum:
        powers: dict[Sum, float] = {}
        for factor, exponent in of.operands:
            powers[factor] = powers.get(factor, 0.0) + exponent
        factors = [self.forms.power(factor, exponent) for factor, exponent in powers.items()]
        return reduce(self.forms.multiply, sorted(factors, key=lambda factor: len(factor.terms)))

    def _largest_of(self, of: Deferred) -> Sum:
        return self.forms.scale(self.greatest(list(of.operands)), of.sign)

    def greatest(self, arguments: list[Sum]) -> Sum:
        """Maximum of some sums; those that are nowhere the largest are left out."""
        arguments = list(dict.fromkeys(arguments))
        ranges = [self._whole.range(argument) for argument in arguments]
        floor = max(low[0] for low, _ in ranges)
        kept = [argument for argument, (_, high) in zip(arguments, ranges, strict=True) if high[0] >= floor]
        if len(kept) <= 1:
            return kept[0] if kept else arguments[0]
        axis = _only_axis(*kept)
        if axis is not None:
            rows = [self._row(argument, axis) for argument in kept]
            return self.forms.table(axis, np.maximum.reduce(rows))
        shared, rest = self._shared(kept, signed=False)
        return self.forms.times(shared, self.forms.atom("max", *sorted(rest, key=_number)))

    def in_domain(self, of: Sum) -> Sum:
        """Form of a quantity that requirements keep nonnegative, so that its bounds are nonnegative, too."""
        if shows_positive(of) or self._whole.range(of)[0][0] >= 0:
            return of
        shared, (rest,) = self._shared([of], signed=False)
        return self.forms.times(shared, self.forms.atom("max", *sorted((rest, self.forms.number(0.0)), key=_number)))

    def _row(self, of: Sum, axis: int) -> np.ndarray:
        values = np.zeros(self.sizes[axis])
        for term in of.terms:
            values = values + term.number * (term.tables[0].values if term.tables else 1.0)
        return values

    def _shared(self, summands: list[Sum], signed: bool) -> tuple[Any, list[Sum]]:
        """Factor that all terms of all summands share, and the summands without it."""
        terms = tuple(term for summand in summands for term in summand.terms)
        first = next(iter(terms))
        shared, _ = self.forms.primitive(self.forms.gathered(terms)) if len(terms) > 1 else (first, None)
        if not signed:
            shared = type(shared)(
                abs(shared.number),
                tuple(t for t in shared.tables if t.nonnegative),
                tuple(
                    (a, e) for a, e in shared.atoms if shows_positive(self.forms.one(type(shared)(1.0, (), ((a, e),))))
                ),
            )
        return shared, [self.forms.without(summand, shared) for summand in summands]


def _number(of: Sum) -> int:
    return of.number


def _only_atom(of: Sum) -> Atom | None:
    """Atom of a sum that is zero where the atom is, and nowhere else."""
    if len(of.terms) != 1 or len(of.terms[0].atoms) != 1:
        return None
    (atom, exponent), tables = of.terms[0].atoms[0], of.terms[0].tables
    return atom if exponent == 1 and not any(table.has_zero for table in tables) else None


def _only_axis(*sums: Sum) -> int | None:
    """Axis along which some sums change, if they are made of its tables alone."""
    if any(term.atoms for of in sums for term in of.terms):
        return None
    axes = {table.axis for of in sums for term in of.terms for table in term.tables}
    return axes.pop() if len(axes) == 1 else None
