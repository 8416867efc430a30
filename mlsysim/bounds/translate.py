"""Turns a System, in which everything but the axes is a number, into forms that can be bounded."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from functools import lru_cache, reduce
from typing import Any, Literal

import numpy as np
import sympy
from sympy.logic.boolalg import BooleanFalse, BooleanTrue

from mlsysim.backends.compiled import compiled, compiled_expression, graph_of
from mlsysim.bounds.forms import Condition, Forms, Sum, shows_positive
from mlsysim.bounds.implied import LARGEST_PAIRS
from mlsysim.bounds.plans import Plans
from mlsysim.bounds.ranges import MARGIN, Ranges
from mlsysim.symbolic import (
    ErlangC,
    EvaluatedAt,
    LeastInteger,
    NormalCDF,
    NormalQuantile,
    Root,
    SlotsBusy,
    System,
    lower,
)

#: Points of the grid at which it is seen which terms of a sum are large.
SAMPLE = 64
#: Most pairs of values of two axes for which a variable is tabulated.
LARGEST_PLANE = 1 << 15
#: Most points on which it is seen along which of its axes a variable changes.
LARGEST_FELT = 512


class Translator:
    """Turns expressions over a system into sums and conditions.

    Parameters
    ----------
    system : System
        Formulas.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
    sizes : tuple of int
        Values per axis.
    needed : iterable of sympy.Basic
        Expressions that will be translated.
    """

    def __init__(
        self, system: System, values: Mapping[str, Any], sizes: tuple[int, ...], needed: tuple[sympy.Basic, ...]
    ) -> None:
        self.sizes = sizes
        self.forms = Forms(sizes)
        self.plans = Plans(self.forms)
        last = np.array(sizes, dtype=np.int64)[:, None] - 1
        # Plans hold ranges; were they held by those, all of it would stay until cycles are collected.
        plans: Any = weakref.proxy(self.plans)
        self._whole = Ranges(plans, np.zeros_like(last), last, thorough=False)
        self.plans.least = self._whole.least
        somewhere = np.random.default_rng(0).integers(0, last + 1, (len(sizes), SAMPLE))
        self.plans.sample = Ranges(plans, somewhere, somewhere, thorough=False)
        names = {s.name for e in needed for s in lower(e).free_symbols}  # type: ignore[attr-defined]
        self._system, self._infinite = _part(system, frozenset(names))
        self._function = compiled(self._system, None, "vector")
        self._values = {name: np.asarray(value, float) for name, value in values.items()}
        self._axes_of_name: dict[str, frozenset[int]] = {n: self._swept(v) for n, v in self._values.items()}
        self._on: dict[frozenset[int], dict[str, Any]] = {}
        self._first = self._at_the_first_point()
        for formula in self._system:
            self._axes_of_name[formula.name] = self._felt(formula.name, self._needs(lower(formula.expression)))
        self._exact = {axis: self._along(axis) for axis in range(len(sizes))}
        self._sums: dict[sympy.Basic, Sum] = {}
        self._conditions: dict[sympy.Basic, Condition] = {}
        self._bound: dict[sympy.Basic, Sum] = {}
        self._whole_numbers: set[int] = set()

    @np.errstate(all="ignore")
    def sum(self, expression: sympy.Basic) -> Sum:
        """The form of an expression that is a number."""
        return self._once(lower(expression))

    def _once(self, expression: sympy.Basic) -> Sum:
        if expression not in self._sums:
            self._sums[expression] = self._sum(expression)
        return self._sums[expression]

    def require(self, conditions: Iterable[sympy.Basic]) -> tuple[Condition, ...]:
        """The forms of conditions that every point must meet.

        A quotient that one of them says is whole is not rounded in what is translated afterwards.
        """
        parts = [part for condition in conditions for part in sympy.And.make_args(lower(condition))]
        parts.sort(key=lambda part: not isinstance(part, sympy.Eq))
        found = []
        for part in parts:
            condition = self.condition(part)
            if condition.relation == "multiple":
                self._whole_numbers.add(condition.args[0].number)
            found.append(condition)
        return tuple(dict.fromkeys(c for c in found if c is not self.forms.true))

    @np.errstate(all="ignore")
    def condition(self, expression: sympy.Basic) -> Condition:
        """The form of an expression that is a truth value."""
        return self._held(lower(expression))

    def _held(self, expression: sympy.Basic) -> Condition:
        if expression not in self._conditions:
            self._conditions[expression] = self._condition(expression)
        return self._conditions[expression]

    def _swept(self, value: np.ndarray) -> frozenset[int]:
        return frozenset(axis for axis, size in enumerate(value.shape) if size > 1)

    def _at_the_first_point(self) -> dict[str, float]:
        """Inputs and variables at the first point of the grid."""
        values: dict[str, Any] = {name: value.ravel()[0] for name, value in self._values.items()}
        return values | {name: float(found) for name, found in self._function(values).items()}

    def _needs(self, expression: Any) -> frozenset[int]:
        """The axes that an expression is computed from; a product with a factor that is nothing everywhere has none."""
        if isinstance(expression, sympy.Dummy):  # what it stands for is looked at where it is bound
            return frozenset()
        if isinstance(expression, sympy.Symbol):
            return self._axes_of_name.get(expression.name, frozenset())
        if isinstance(expression, sympy.Mul) and any(map(self._nothing, expression.args)):
            return frozenset()
        return frozenset[int]().union(*map(self._needs, expression.args))

    def _nothing(self, factor: Any) -> bool:
        return (
            isinstance(factor, sympy.Symbol)
            and not isinstance(factor, sympy.Dummy)
            and self._axes_of_name.get(factor.name) == frozenset()
            and self._first.get(factor.name) == 0
        )

    def _felt(self, name: str, needs: frozenset[int]) -> frozenset[int]:
        """Of the axes that a variable is computed from, those along which its value changes; all if they are many."""
        if len(needs) < 2 or np.prod([self.sizes[axis] for axis in needs]) > LARGEST_FELT:
            return needs
        value = np.asarray(self._at(needs)[name], float)
        first = {axis: value.take([0], axis) for axis in self._swept(value)}
        same = {axis: np.array_equal(value, np.broadcast_to(row, value.shape), True) for axis, row in first.items()}
        return frozenset(axis for axis, constant in same.items() if not constant)

    def _at(self, axes: frozenset[int]) -> dict[str, Any]:
        """Inputs and variables along some axes, at the first place of all others."""
        if axes not in self._on:
            values: dict[str, Any] = {name: self._restricted(value, axes) for name, value in self._values.items()}
            self._on[axes] = values | self._function(values)
        return self._on[axes]

    def _restricted(self, value: np.ndarray, axes: frozenset[int]) -> np.ndarray:
        """A value along some axes, at the first place of all others."""
        return value[tuple(slice(None) if a in axes else slice(0, 1) for a in range(value.ndim))]

    def _along(self, axis: int) -> dict[str, Any]:
        """Along one axis, the values of all inputs and of every variable that depends on no other axis."""
        slices = {}
        for name, value in self._values.items():
            if value.ndim:
                value = np.broadcast_to(self._restricted(value, frozenset({axis})).ravel(), self.sizes[axis])
            slices[name] = value
        found = self._function(slices)
        return slices | {
            name: found[name] for name, axes in self._axes_of_name.items() if name in found and axes <= {axis}
        }

    def _axes(self, expression: sympy.Basic) -> frozenset[int] | None:
        """The axes an expression depends on; None if it has a bound symbol, whose axes are not known."""
        found: set[int] = set()
        for symbol in _free(expression):
            if symbol in self._bound or symbol.name not in self._axes_of_name:
                return None
            found |= self._axes_of_name[symbol.name]
        return frozenset(found)

    def _tabulated(self, expression: sympy.Basic, axis: int) -> np.ndarray:
        """The values of an expression along its only axis, from the compiled function and so with its rounding."""
        known = self._exact[axis]
        if isinstance(expression, sympy.Symbol):
            found = known[expression.name]
        else:
            names = {symbol.name for symbol in expression.free_symbols}  # type: ignore[attr-defined]
            with np.errstate(all="ignore"):
                found = compiled_expression(expression, self._infinite)({name: known[name] for name in names})["value"]
        return np.broadcast_to(np.asarray(found), self.sizes[axis])

    def _one_axis(self, expression: sympy.Basic) -> int | None:
        """The only axis an expression depends on, an arbitrary one if it depends on none, and None if on several."""
        axes = self._axes(expression)
        if axes is None or len(axes) > 1 or not self.sizes:
            return None
        return next(iter(axes), 0)

    def _sum(self, expression: Any) -> Sum:
        forms = self.forms
        if expression in self._bound:
            return self._bound[expression]
        if isinstance(expression, sympy.Number | sympy.NumberSymbol):
            return forms.number(float(expression))
        if isinstance(expression, sympy.Symbol):
            return self._symbol(expression)
        if isinstance(expression, sympy.Add):
            return forms.add([self._once(arg) for arg in expression.args])
        if isinstance(expression, sympy.Mul):
            return reduce(forms.multiply, sorted(map(self._once, expression.args), key=lambda s: len(s.terms)))
        axis = self._one_axis(expression)
        if axis is not None:
            return forms.table(axis, np.asarray(self._tabulated(expression, axis), float))
        if isinstance(expression, sympy.Pow):
            return self._power(expression)
        if isinstance(expression, sympy.Piecewise):
            return self._cases(expression)
        if isinstance(expression, sympy.Max):
            return self._greatest([self._once(arg) for arg in expression.args])
        if isinstance(expression, sympy.Min):
            return forms.scale(self._greatest([forms.scale(self._once(arg), -1.0) for arg in expression.args]), -1.0)
        if isinstance(expression, EvaluatedAt):
            # The same steps may be bound to other values elsewhere.
            outside = self._sums.copy(), self._conditions.copy()
            for symbol, step in expression.definitions:
                self._bound[symbol] = self._once(step)
            self._sums, self._conditions = outside
            return self._bound[expression.definitions[-1][0]]
        if isinstance(expression, LeastInteger):
            return self._least(expression)
        if isinstance(expression, Root):
            return self._root(expression)
        kinds = {sympy.ceiling: "ceil", sympy.floor: "floor", sympy.log: "log", sympy.exp: "exp", sympy.Abs: "abs",
                 sympy.Mod: "mod", ErlangC: "erlang_c", SlotsBusy: "slots_busy", NormalCDF: "normal_cdf",
                 NormalQuantile: "normal_quantile"}  # fmt: skip
        kind = kinds.get(type(expression))
        if kind is None:
            return forms.atom("unknown", str(expression))
        args = [self._once(arg) for arg in expression.args]
        if kind in ("ceil", "floor"):
            return self._rounded(kind, args[0])
        return forms.atom(kind, *args)  # type: ignore[arg-type]

    def _rounded(self, kind: Literal["ceil", "floor"], of: Sum) -> Sum:
        if of.number in self._whole_numbers:
            return of
        axis = _only_axis(of)
        if axis is None:
            return self.forms.atom(kind, of)
        values = self._row(of, axis)
        whole = np.rint(values)
        near = np.abs(values - whole) <= MARGIN * np.abs(values)
        return self.forms.table(axis, np.where(near, whole, getattr(np, kind)(values)))

    def _symbol(self, symbol: sympy.Symbol) -> Sum:
        name = symbol.name
        axes = self._axes_of_name[name]
        if len(axes) <= 1 and self.sizes:
            axis = next(iter(axes), 0)
            return self.forms.table(axis, np.asarray(self._tabulated(symbol, axis), float))
        if name in self._system:
            expression = lower(self._system[name].expression)
            if not isinstance(expression, sympy.Expr):  # a symbol is a Boolean to sympy, too
                return self.forms.atom("truth", self._held(expression))
            found = self._once(expression)
            plane = self._plane(name, sorted(axes)) if len(axes) == 2 and _steps(found) else None
            return self._in_domain(symbol, found) if plane is None else plane
        return self._grid(self._values[name], sorted(axes))

    def _plane(self, name: str, axes: list[int]) -> Sum | None:
        """A variable over two axes by its values, if they are few and all are numbers."""
        values = self._over(name, axes)
        if values is None or not np.isfinite(values).all():
            return None
        return self.forms.plane(axes[0], axes[1], values)

    def _over(self, name: str, axes: list[int]) -> np.ndarray | None:
        """The values of an input or a variable at all pairs of values of two axes; None if they are too many."""
        if self.sizes[axes[0]] * self.sizes[axes[1]] > LARGEST_PLANE:
            return None
        shape = [size if axis in axes else 1 for axis, size in enumerate(self.sizes)]
        value = np.broadcast_to(np.asarray(self._at(frozenset(axes))[name], float), shape)
        return value.reshape(self.sizes[axes[0]], self.sizes[axes[1]])

    def _in_domain(self, symbol: sympy.Symbol, of: Sum) -> Sum:
        """The form of a quantity that requirements keep from being negative, so that its bounds are not either."""
        if not symbol.is_nonnegative or shows_positive(of) or self._whole.range(of)[0][0] >= 0:
            return of
        shared, (rest,) = self._shared([of], signed=False)
        return self.forms.times(shared, self.forms.atom("max", *sorted((rest, self.forms.number(0.0)), key=_number)))

    def _grid(self, value: np.ndarray, axes: list[int]) -> Sum:
        """An input over several axes: one table along the longest of them per combination of the others."""
        longest = max(axes, key=lambda axis: self.sizes[axis])
        others = [axis for axis in axes if axis != longest]
        parts = []
        for place in np.ndindex(*(self.sizes[axis] for axis in others)):
            at = dict(zip(others, place, strict=True))
            row = value[tuple(slice(None) if a == longest else at.get(a, 0) for a in range(value.ndim))]
            part = self.forms.table(longest, row)
            for axis, index in at.items():
                part = self.forms.masked(part, axis, np.arange(self.sizes[axis]) == index)
            parts.append(part)
        return self.forms.add(parts)

    def _power(self, expression: sympy.Pow) -> Sum:
        base, exponent = self._once(expression.base), self._once(expression.exp)
        if exponent.constant is not None:
            return self.forms.power(base, exponent.constant)
        if base.constant is not None and base.constant > 0:
            return self.forms.atom("exp", self.forms.scale(exponent, float(np.log(base.constant))))
        if self._whole.range(base)[0][0] > 0:
            return self.forms.atom("exp", self.forms.multiply(exponent, self.forms.atom("log", base)))
        return self.forms.atom("unknown", str(expression))

    def _cases(self, expression: sympy.Piecewise) -> Sum:
        cases: list[Any] = []
        for value, condition in expression.args:  # type: ignore[misc]
            found = self._held(condition)
            if found is self.forms.false:
                continue
            cases.append((value, found))
            if found is self.forms.true:
                break
        if not cases or cases[-1][1] is not self.forms.true:
            cases.append((sympy.nan, self.forms.true))
        result = self._value(cases[-1][0])
        for value, condition in reversed(cases[:-1]):
            result = self._where(condition, self._value(value), result)
        return result

    def _value(self, expression: sympy.Basic) -> Sum:
        return self.forms.number(np.nan) if expression is sympy.nan else self._once(expression)

    def _where(self, condition: Condition, then: Sum, otherwise: Sum) -> Sum:
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

    def _greatest(self, parts: list[Sum]) -> Sum:
        """The largest of some sums; those that are nowhere the largest are left out."""
        parts = list(dict.fromkeys(parts))
        ranges = [self._whole.range(part) for part in parts]
        floor = max(low[0] for low, _ in ranges)
        kept = [part for part, (_, high) in zip(parts, ranges, strict=True) if high[0] >= floor]
        if len(kept) <= 1:
            return kept[0] if kept else parts[0]
        axis = _only_axis(*kept)
        if axis is not None:
            rows = [self._row(part, axis) for part in kept]
            return self.forms.table(axis, np.maximum.reduce(rows))
        shared, rest = self._shared(kept, signed=False)
        return self.forms.times(shared, self.forms.atom("max", *sorted(rest, key=_number)))

    def _row(self, part: Sum, axis: int) -> np.ndarray:
        found = np.zeros(self.sizes[axis])
        for term in part.terms:
            found = found + term.number * (term.tables[0].values if term.tables else 1.0)
        return found

    def _shared(self, parts: list[Sum], signed: bool) -> tuple[Any, list[Sum]]:
        """The factor that all terms of all parts share, and the parts without it."""
        terms = tuple(term for part in parts for term in part.terms)
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
        return shared, [self.forms.without(part, shared) for part in parts]

    def _least(self, expression: LeastInteger) -> Sum:
        parameter = self.forms.atom("parameter", expression.n)
        self._bound[expression.n] = parameter
        condition = self._held(expression.condition)
        return self.forms.atom("least", parameter.terms[0].atoms[0][0], condition, self._once(expression.upper))

    def _root(self, expression: Root) -> Sum:
        if expression.has(EvaluatedAt) or expression.left.has(Root) or expression.right.has(Root):
            # Bounds of whole formulas at every number that is tried take longer than thousands of points.
            return self.forms.atom("between", *map(self._once, (expression.lower, expression.upper)))
        parameter = self.forms.atom("parameter", expression.x)
        self._bound[expression.x] = parameter
        residual = self.forms.subtract(self._once(expression.left), self._once(expression.right))
        ends = [self._once(end) for end in (expression.lower, expression.upper) if end != sympy.oo]
        return self.forms.atom("root", parameter.terms[0].atoms[0][0], residual, *ends)

    def _condition(self, expression: Any) -> Condition:
        forms = self.forms
        if isinstance(expression, BooleanTrue):
            return forms.true
        if isinstance(expression, BooleanFalse):
            return forms.false
        if isinstance(expression, sympy.Symbol) and len(self._axes_of_name[expression.name]) > 1:
            return self.condition(self._system[expression.name].expression)
        axis = self._one_axis(expression)
        if axis is not None:
            return self._table(axis, self._tabulated(expression, axis).astype(bool))
        if isinstance(expression, sympy.And | sympy.Or):
            return self._logic(expression)
        if isinstance(expression, sympy.Not):
            return forms.condition("not", self._held(expression.args[0]))
        pairs = self._pairs(expression)
        if pairs is not None:
            return pairs
        if isinstance(expression, sympy.Eq):
            quotient = self._said_whole(*expression.args)
            if quotient is not None:
                return forms.condition("multiple", quotient)
            return self._compared("equal", *expression.args)
        if isinstance(expression, sympy.Ne):
            return forms.condition("not", self._compared("equal", *expression.args))
        if isinstance(expression, sympy.Lt | sympy.Le | sympy.Gt | sympy.Ge):
            sides = expression.args if isinstance(expression, sympy.Lt | sympy.Le) else reversed(expression.args)
            compared = self._compared("compare", *sides)
            if all(side is forms.number(0.0) for side in compared.args[1:]):
                return forms.true if isinstance(expression, sympy.Le | sympy.Ge) else forms.false
            return self._decided(compared)
        return forms.condition("unknown", str(expression))

    def _said_whole(self, left: Any, right: Any) -> Sum | None:
        """The quotient of which an equation says that it is a whole number; None if it says something else."""
        both: tuple[Any, Any] = (left, right)
        if isinstance(left, sympy.Mod) and right == 0 and self._whole.range(self._once(left.args[1]))[0][0] > 0:
            inverse = self.forms.power(self._once(left.args[1]), -1.0)
            return self.forms.multiply(self._once(left.args[0]), inverse)
        if {type(side) for side in both} == {sympy.ceiling, sympy.floor} and both[0].args == both[1].args:
            return self._once(left.args[0])
        return None

    def _compared(self, relation: Any, left: Any, right: Any) -> Condition:
        """A comparison of two sums: their difference, and the two sums, whose size tells its rounding."""
        first, second = self._once(left), self._once(right)
        return self.forms.condition(relation, self.forms.subtract(first, second), first, second)

    def _decided(self, condition: Condition) -> Condition:
        """True or false instead of a comparison that has one outcome on the whole grid."""
        if any(term.atoms for term in condition.args[0].terms) and self._bound:
            return condition
        may, must = self._whole.truth(condition)
        return self.forms.true if must[0] else condition if may[0] else self.forms.false

    def _table(self, axis: int, mask: np.ndarray) -> Condition:
        if mask.all():
            return self.forms.true
        if not mask.any():
            return self.forms.false
        return self.forms.condition("table", axis, np.concatenate([[0], np.cumsum(mask)]))

    def _logic(self, expression: Any) -> Condition:
        neutral, absorbing = (
            (self.forms.true, self.forms.false)
            if isinstance(expression, sympy.And)
            else (self.forms.false, self.forms.true)
        )
        parts = []
        for arg in expression.args:
            part = self._held(arg)
            if part is absorbing:
                return absorbing
            if part is not neutral:
                parts.append(part)
        if not parts:
            return neutral
        if len(parts) == 1:
            return parts[0]
        return self.forms.condition("and" if isinstance(expression, sympy.And) else "or", *parts)

    def _pairs(self, expression: Any) -> Condition | None:
        """A table for a condition that depends on two axes, through quantities of one axis each; else None."""
        axes = self._axes(expression)
        if axes is None or len(axes) != 2:
            return None
        first, second = sorted(axes)
        if self.sizes[first] * self.sizes[second] > LARGEST_PAIRS:
            return None
        values = {}
        for symbol in expression.free_symbols:
            own = self._axes_of_name[symbol.name]
            if len(own) > 1 and symbol.name in self._system:
                over = self._over(symbol.name, [first, second])
                if over is None:
                    return None
                values[symbol.name] = over
                continue
            if len(own) > 1:
                values[symbol.name] = self._values[symbol.name].reshape(self.sizes[first], self.sizes[second])
                continue
            row = self._tabulated(symbol, next(iter(own), first))
            values[symbol.name] = row[:, None] if own == {first} else row[None, :] if own == {second} else row[0]
        with np.errstate(all="ignore"):
            found = compiled_expression(expression, self._infinite)(values)["value"]
        mask = np.broadcast_to(np.asarray(found, bool), (self.sizes[first], self.sizes[second]))
        return self.forms.pairs(first, second, mask)


@lru_cache(maxsize=64)
def _part(system: System, names: frozenset[str]) -> tuple[System, frozenset[sympy.Symbol]]:
    """The formulas that some variables need, and which of their variables may be infinite."""
    inside = [name for name in names if name in system]
    part = system.closure(inside) if inside else System(())
    graph = graph_of(part)
    infinite = {name for name, place in graph.outputs.items() if graph.facts[place].infinite}
    return part, frozenset(f.variable.symbol for f in part if f.name in infinite)


@lru_cache(maxsize=1 << 15)
def _free(expression: sympy.Basic) -> frozenset[Any]:
    """The free symbols of an expression, which all questions about a system ask for."""
    return frozenset(expression.free_symbols)


def _number(of: Sum) -> int:
    return of.number


def _steps(of: Sum) -> bool:
    """Whether a sum has cases or roundings, whose bounds are loose, in any depth."""
    return any(
        atom.kind in ("case", "ceil", "floor", "mod", "truth")
        or any(_steps(arg) for arg in atom.args if isinstance(arg, Sum))
        for term in of.terms
        for atom, _ in term.atoms
    )


def _only_axis(*sums: Sum) -> int | None:
    """The axis along which some sums change, if they are made of its tables alone."""
    if any(term.atoms for each in sums for term in each.terms):
        return None
    axes = {table.axis for each in sums for term in each.terms for table in term.tables}
    return axes.pop() if len(axes) == 1 else None
