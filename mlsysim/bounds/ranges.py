"""Ranges of forms over boxes of a grid, many boxes at once.

A range contains every value that the compiled function can return in the box. Bounds are computed in float64 and
moved outwards by a relative :data:`MARGIN` per term, to cover rounding. In an objective this is too little where large
terms cancel to a small rest; in a comparison the margin is taken of the sides that are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from mlsysim.backends import vector
from mlsysim.backends.budget import take
from mlsysim.bounds.forms import Atom, Condition, Sum, Term
from mlsysim.bounds.plans import Plan, Plans
from mlsysim.bounds.tables import Plane, Table
from mlsysim.graph import ANY, TABLE, Facts
from mlsysim.graph.operand import NoOperationError, of_operands
from mlsysim.graph.operations.outward import (
    MARGIN,
    inverted,
    known,
    least_inside,
    looked_up,
    looked_up_pair,
    plus_outward,
    times_high,
    times_low,
)

#: Most quotients and inverses that are bounded inside one another; beyond, a term is bounded factor by factor.
REWRITTEN = 8
#: Operations that a range, a term or a table takes per box.
PIECE = 8
#: Relative width up to which an operand counts as fixed.
FIXED = 1e-9

Pair = tuple[np.ndarray, np.ndarray]

ceil, floor = of_operands("ceil", vector.ceil), of_operands("floor", vector.floor)


class Ranges:
    """Lower and upper bounds over boxes.

    Parameters
    ----------
    plans : Plans
        Rewrites under which sums are bounded.
    low, high : ndarray or list of Operand
        First and last index per axis (rows) and box (columns); or an operand per axis, to build a graph.
    parameters : mapping, optional
        For each parameter atom, its value in every box.
    thorough : bool
        Follow plans, which takes longer and gives tighter bounds; else bound everything term by term.
    """

    def __init__(
        self,
        plans: Plans,
        low: Any,
        high: Any,
        parameters: Mapping[Atom, np.ndarray] | None = None,
        thorough: bool = True,
    ) -> None:
        self.plans, self.thorough = plans, thorough
        self.low, self.high = low, high
        #: Number of boxes; one where the ends are operands of a graph.
        self.boxes: int = low.shape[1] if isinstance(low, np.ndarray) else 1
        self.parameters = dict(parameters or {})
        self._known: dict[tuple[str, Any], Any] = {}
        self._nesting = 0

    def range(self, of: Sum) -> Pair:
        """Lower and upper bound of a sum."""
        return self._cached("range", of.number, lambda: self._range(of))

    def lower(self, of: Sum) -> np.ndarray:
        """Lower bound of a sum."""
        if self.thorough:
            return self._cached("lower", of.number, lambda: self._by_plan(self.plans.lower(of)))
        return self._cached("lower", of.number, lambda: self._termwise(of))

    def upper(self, of: Sum) -> np.ndarray:
        """Upper bound of a sum."""
        return -self.lower(self.plans.forms.negative(of))

    def truth(self, of: Condition) -> Pair:
        """Possible and certain truth of a condition: true somewhere in the box, and true all over it."""
        return self._cached("truth", of.number, lambda: self._truth(of))

    def least(self, term: Term) -> float:
        """Lower bound of one term over all boxes."""
        low, high = self._cached("term", term.key, lambda: self._term(term))
        return float(np.min(low * term.number if term.number >= 0 else high * term.number))

    def value(self, of: Sum) -> np.ndarray:
        """Approximate value of a sum in boxes of one point."""
        with np.errstate(all="ignore"):
            low, high = self.range(of) if len(of.terms) != 1 or self.thorough else self._range_of_one(of.terms[0])
            return np.where(np.isfinite(low + high), (low + high) / 2, np.where(np.isfinite(low), low, high))

    def _range(self, of: Sum) -> Pair:
        if (value := of.constant) is not None:
            return self._full(value), self._full(value)
        return self.lower(of), self.upper(of)

    def _range_of_one(self, term: Term) -> Pair:
        """Range of a single term. Its upper end needs no sum of the other sign."""
        number = term.number
        least, greatest = (self._either_end(term, side) * number for side in ((0, 1) if number >= 0 else (1, 0)))
        none = self._full(0.0)
        return known(plus_outward(none, least), -np.inf), -known(plus_outward(none, -greatest), -np.inf)

    def _cached(self, what: str, number: Any, compute: Callable[[], Any]) -> Any:
        key = (what, number)
        if key not in self._known:
            take(PIECE, self.boxes)
            self._known[key] = compute()
        return self._known[key]

    def _full(self, value: float) -> np.ndarray:
        return np.full(self.boxes, value)

    def _by_plan(self, plan: Plan) -> np.ndarray:
        bound = self._termwise(plan.of)
        if plan.how == "plain":
            return bound
        bounds = [self._by_plan(branch) for branch in plan.branches]
        if plan.how == "any":
            return reduce(np.maximum, [bound, *bounds])
        if plan.condition is None:
            return np.maximum(bound, reduce(np.minimum, bounds))
        may, must = self.truth(plan.condition)
        then, otherwise = bounds
        return np.maximum(bound, np.where(must, then, np.where(may, np.minimum(then, otherwise), otherwise)))

    def _termwise(self, of: Sum) -> np.ndarray:
        """Lower bound term by term; terms that an axis switches on and off are bounded value by value of it."""
        total = self._full(0.0)
        axis, switched = self.plans.switch(of)
        for term, inner in self.plans.groups(of):
            if inner is not None or term not in switched:
                total = plus_outward(total, self._grouped_end(term, inner))
        if switched:
            total = total + self._switched(axis, switched)
        return known(total, -np.inf)

    def _grouped_end(self, term: Term, inner: Sum | None) -> np.ndarray:
        side = 0 if term.number >= 0 else 1
        if inner is None:
            return self._either_end(term, side) * term.number
        factor = self._cached("term", term.key, lambda: self._term(term))
        return (times_low, times_high)[side](*factor, *self._within(lambda: self.range(inner))) * term.number

    def _within(self, bounded: Callable[[], Any]) -> Any:
        """Run a bound of a sum that was made to bound another one; nesting is counted."""
        self._nesting += 1
        try:
            return bounded()
        finally:
            self._nesting -= 1

    def _inverses(self, term: Term) -> tuple[Sum, ...]:
        return self.plans.inverses(term) if self._nesting < REWRITTEN else ()

    def _either_end(self, term: Term, side: int) -> np.ndarray:
        if self.plans.simple(term):
            return self._cached("end", (side, *term.key), lambda: self._end(term, side))
        return self._cached("term", term.key, lambda: self._term(term))[side]

    def _switched(self, axis: int, terms: Mapping[Term, tuple[Term, np.ndarray]]) -> np.ndarray:
        """Lower bound of the sum of some terms: the least over those values of an axis that are in the box."""
        least = self._full(np.inf)
        for value in range(len(next(iter(terms.values()))[1])):
            total = self._full(0.0)
            for rest, factors in terms.values():
                if factors[value] != 0:
                    total = plus_outward(total, self._either_end(rest, 0 if factors[value] > 0 else 1) * factors[value])
            inside = (self.low[axis] <= value) & (value <= self.high[axis])
            least = least_inside(least, total, inside)
        return least

    def _term(self, term: Term) -> Pair:
        """Range of a term without its number. Inverses come first: they have more to cancel, and plans are few."""
        inverses = [self._within(lambda of=inverse: self.range(of)) for inverse in self._inverses(term)]
        product = self._cached("tables", term.tables, lambda: self._tables(term.tables)) if term.tables else None
        for atom, exponent in term.atoms:
            product = _times(product, self._power(atom, exponent))
        if product is None:
            return self._full(1.0), self._full(1.0)
        for low, high in inverses:
            least, greatest = _inverse(low, high)
            product = np.maximum(product[0], least), np.minimum(product[1], greatest)
        return product

    def _end(self, term: Term, side: int) -> np.ndarray:
        """One end of the range of a term without its number, none of whose factors is negative."""
        inverses = [
            self._within(lambda of=inverse: self.upper(of) if side == 0 else self.lower(of))
            for inverse in self._inverses(term)
        ]
        product = self._cached("side", (side, *term.tables), lambda: self._table_end(term.tables, side))
        for atom, exponent in term.atoms:
            way = side if exponent > 0 else 1 - side
            end = np.maximum(
                self._cached("atom end", (way, atom.number), lambda a=atom, w=way: self._atom_end(a, w)), 0.0
            )
            product = product * (end if exponent == 1 else end**exponent)
        for bound in inverses:
            product = (np.fmax, np.fmin)[side](product, inverted(bound, (-np.inf, np.inf)[side]))
        return known(product, 0.0 if side == 0 else np.inf) if term.atoms else product

    def _table_end(self, tables: tuple[Table, ...], side: int) -> Any:
        if not tables:
            return np.float64(1.0)
        *others, last = tables
        end = self._cached("table end", (side, last), lambda: last.end(self.low[last.axis], self.high[last.axis], side))
        if not others:
            return end
        return self._cached("side", (side, *others), lambda: self._table_end(tuple(others), side)) * end

    def _atom_end(self, atom: Atom, side: int) -> np.ndarray:
        if atom.kind in ("sum", "max"):
            ends = [self.lower(arg) if side == 0 else self.upper(arg) for arg in atom.args]
            return reduce(np.maximum, ends)
        if atom.kind == "ceil":
            return np.ceil(self.lower(*atom.args)) if side == 0 else ceil(self.upper(*atom.args))
        return self._cached("atom", atom.number, lambda: self._atom(atom))[side]

    def _tables(self, tables: tuple[Table, ...]) -> Pair:
        """Range of a product of tables."""
        *others, last = tables
        table = self._cached("table", last.number, lambda: last.range(self.low[last.axis], self.high[last.axis]))
        if not others:
            return table
        rest = self._cached("tables", tuple(others), lambda: self._tables(tuple(others)))
        if all(factor.plain for factor in tables):
            return rest[0] * table[0], rest[1] * table[1]
        return _times(rest, table)

    def _power(self, atom: Atom, exponent: float) -> Pair:
        if atom in self.parameters:
            return _to_power(self.parameters[atom], self.parameters[atom], exponent)
        low, high = self._cached("atom", atom.number, lambda: self._atom(atom))
        return _to_power(low, high, exponent)

    def _atom(self, atom: Atom) -> Pair:
        with np.errstate(all="ignore"):
            own = getattr(self, f"_atom_{atom.kind}", None)
            low, high = own(*atom.args) if own is not None else self._by_operation(atom.kind, *atom.args)
        return known(low, -np.inf), known(high, np.inf)

    def _atom_sum(self, of: Sum) -> Pair:
        return self.range(of)

    def _atom_max(self, *args: Sum) -> Pair:
        ranges = [self.range(arg) for arg in args]
        return reduce(np.maximum, [r[0] for r in ranges]), reduce(np.maximum, [r[1] for r in ranges])

    def _atom_case(self, condition: Condition, then: Sum, otherwise: Sum) -> Pair:
        may, must = self.truth(condition)
        (a, b), (c, d) = self.range(then), self.range(otherwise)
        return (
            np.where(must, a, np.where(may, np.minimum(a, c), c)),
            np.where(must, b, np.where(may, np.maximum(b, d), d)),
        )

    def _atom_ceil(self, of: Sum) -> Pair:
        low, high = self.range(of)
        return np.ceil(low), ceil(high)

    def _atom_floor(self, of: Sum) -> Pair:
        low, high = self.range(of)
        return floor(low), np.floor(high)

    def _atom_mod(self, of: Sum, by: Sum) -> Pair:
        (low, high), (least, greatest) = self.range(of), self.range(by)
        whole = (least > 0) & (low >= 0) & (high < least)
        return np.where(whole, low, np.minimum(0.0, least)), np.where(whole, high, np.maximum(0.0, greatest))

    def _atom_absolute(self, of: Sum) -> Pair:
        low, high = self.range(of)
        return np.maximum(0.0, np.maximum(low, -high)), np.maximum(np.abs(low), np.abs(high))

    def _atom_power(self, of: Sum, exponent: float) -> Pair:
        return _to_power(*self.range(of), exponent)

    def _by_operation(self, op: str, *args: Any) -> Pair:
        """Range of an operation by its table entry: monotone between ends of operands, or a stated range.

        What has an instruction is exact but for its last digit, which the margin of a term covers.
        """
        operation, operands = TABLE[op], [arg for arg in args if isinstance(arg, Sum)]
        facts = operation.facts(*[ANY] * len(operands))
        if not operation.rises:
            return self._full(facts.low), self._full(facts.high)
        domains = operation.domain or (ANY,) * len(operands)
        ranged = list(zip(map(self.range, operands), operation.rises, domains, strict=True))
        fixed = [_is_fixed(*pair, domain.whole) for pair, rises, domain in ranged if rises == 0]
        ends = []
        for side in (0, 1):
            at = [_within(pair[side if rises >= 0 else 1 - side], domain) for pair, rises, domain in ranged]
            at = [np.where(np.logical_and.reduce(fixed), end, 1.0) for end in at] if fixed else at
            ends.append(vector.FUNCTIONS[op](*at))
        if operation.machine:
            return ends[0], ends[1]
        low, high = ends[0] - operation.error * np.abs(ends[0]), ends[1] + operation.error * np.abs(ends[1])
        low, high = known(np.maximum(low, facts.low), facts.low), known(np.minimum(high, facts.high), facts.high)
        if not fixed:
            return low, high
        everywhere = np.logical_and.reduce(fixed)
        return np.where(everywhere, low, facts.low), np.where(everywhere, high, facts.high)

    def _atom_parameter(self, _depth: int, least: float) -> Pair:
        return self._full(least), self._full(np.inf)

    def _atom_plane(self, plane: Plane) -> Pair:
        return plane.end(self.low, self.high, 0), plane.end(self.low, self.high, 1)

    def _atom_unknown(self, *_: Any) -> Pair:
        return self._full(-np.inf), self._full(np.inf)

    def _atom_truth(self, condition: Condition) -> Pair:
        may, must = self.truth(condition)
        return must.astype(float), may.astype(float)

    def _atom_least(self, parameter: Atom, condition: Condition, upper: Sum) -> Pair:
        """Range from the first number that may meet the condition to the first that surely does."""
        limit = np.minimum(self.range(upper)[1], 2.0**53)
        sure = self._first(parameter, condition, limit, 1)
        return self._first(parameter, condition, limit, 0), sure

    def _first(self, parameter: Atom, condition: Condition, limit: np.ndarray, which: int) -> np.ndarray:
        def met(n: np.ndarray, box: np.ndarray) -> np.ndarray:
            return self._trial(parameter, n, box).truth(condition)[which]

        return vector.least_integer(met, limit, (self._box_indices(),))

    def _box_indices(self) -> np.ndarray:
        """Index of every box, which a search carries along."""
        if not isinstance(self.low, np.ndarray):
            raise NoOperationError("a search for a number")
        return np.arange(self.boxes)

    def _trial(self, parameter: Atom, value: np.ndarray, box: np.ndarray) -> Ranges:
        """Bounds over some of the boxes with a parameter fixed."""
        boxes = box.astype(int)
        parameters = {atom: values[boxes] for atom, values in self.parameters.items()} | {parameter: value}
        return Ranges(self.plans, self.low[:, boxes], self.high[:, boxes], parameters, self.thorough)

    def _atom_root(self, parameter: Atom, residual: Sum, lower: Sum, upper: Sum | None = None) -> Pair:
        """Enclosure of the root: from where the function may be zero to where it is surely not negative.

        A number at which the upper bound of a rising function is negative lies below its root, and one at which the
        lower bound is not lies above it, also where these bounds themselves do not rise.
        """

        def most(x: np.ndarray, box: np.ndarray) -> np.ndarray:
            bound = known(self._trial(parameter, x, box).upper(residual), np.inf)
            return np.where(bound == 0, np.finfo(float).tiny, bound)  # a zero would end the search from above alone

        def least(x: np.ndarray, box: np.ndarray) -> np.ndarray:
            return known(self._trial(parameter, x, box).lower(residual), -np.inf)

        numbered = (self._box_indices(),)
        first, last = self.range(lower)
        soon, late = self.range(upper) if upper is not None else (self._full(np.inf), self._full(np.inf))
        low, *_ = vector.bracket(most, first, soon, numbered)
        *_, high, _ = vector.bracket(least, last, late, numbered)
        return low - MARGIN * np.abs(low), high + MARGIN * np.abs(high)

    def _atom_between(self, lower: Sum, upper: Sum) -> Pair:
        """Enclosure of a number between two ends, or of the first end if they are reversed."""
        (first, last), (_, late) = self.range(lower), self.range(upper)
        return first, np.maximum(last, late)

    def _truth(self, of: Condition) -> Pair:
        return getattr(self, f"_truth_{of.relation}")(*of.args)

    def _truth_true(self) -> Pair:
        return np.ones(self.boxes, bool), np.ones(self.boxes, bool)

    def _truth_false(self) -> Pair:
        return np.zeros(self.boxes, bool), np.zeros(self.boxes, bool)

    def _truth_compare(self, of: Sum, left: Sum, right: Sum) -> Pair:
        low, high = self.range(of)
        rounding = self._rounding(left, right)
        must = high < -rounding
        for side in (left, right):  # what is not a number compares as false
            for partial, may_be_zero in self.plans.partial(side):
                least = self.lower(partial)
                must = must & (least >= 0 if may_be_zero else least > 0)
        return low <= rounding, must

    def _truth_equal(self, of: Sum, left: Sum, right: Sum) -> Pair:
        low, high = self.range(of)
        rounding = self._rounding(left, right)
        return (low <= rounding) & (high >= -rounding), np.zeros(self.boxes, bool)

    def _rounding(self, left: Sum, right: Sum) -> np.ndarray:
        """Largest difference of two sides by rounding alone."""
        sizes = [np.maximum(np.abs(low), np.abs(high)) for low, high in (self.range(left), self.range(right))]
        return MARGIN * np.minimum(*sizes)

    def _truth_multiple(self, quotient: Sum) -> Pair:
        """A quotient may be a whole number if its range contains one."""
        low, high = self.range(quotient)
        return np.floor(high) >= np.ceil(low), np.zeros(self.boxes, bool)

    def _truth_and(self, *args: Condition) -> Pair:
        truths = [self.truth(arg) for arg in args]
        return reduce(np.logical_and, [f[0] for f in truths]), reduce(np.logical_and, [f[1] for f in truths])

    def _truth_or(self, *args: Condition) -> Pair:
        truths = [self.truth(arg) for arg in args]
        return reduce(np.logical_or, [f[0] for f in truths]), reduce(np.logical_or, [f[1] for f in truths])

    def _truth_not(self, of: Condition) -> Pair:
        may, must = self.truth(of)
        return ~must, ~may

    def _truth_table(self, axis: int, counts: np.ndarray) -> Pair:
        low, high = self.low[axis], self.high[axis]
        true = looked_up(counts, high + 1) - looked_up(counts, low)
        return true > 0, true == high - low + 1

    def _truth_pairs(self, first: int, second: int, counts: np.ndarray) -> Pair:
        a, b, c, d = self.low[first], self.high[first] + 1, self.low[second], self.high[second] + 1
        corners = [looked_up_pair(counts, row, column) for row, column in ((b, d), (a, d), (b, c), (a, c))]
        true = corners[0] - corners[1] - corners[2] + corners[3]
        return true > 0, true == (b - a) * (d - c)


def _is_fixed(low: np.ndarray, high: np.ndarray, whole: bool) -> np.ndarray:
    """True if a range is one number."""
    return np.rint(low) == np.rint(high) if whole else high - low <= FIXED * np.abs(high)


def _within(end: np.ndarray, domain: Facts) -> np.ndarray:
    """Clip the end of a range to a domain."""
    end = np.rint(end) if domain.whole else end
    end = np.maximum(end, domain.low) if domain.low > -np.inf else end
    return np.minimum(end, domain.high) if domain.high < np.inf else end


def _times(left: Pair | None, right: Pair) -> Pair:
    """Product of two ranges."""
    return right if left is None else (times_low(*left, *right), times_high(*left, *right))


def _inverse(low: np.ndarray, high: np.ndarray) -> Pair:
    with np.errstate(divide="ignore"):
        one_sign = (low > 0) | (high < 0)
        return np.where(one_sign, 1.0 / high, -np.inf), np.where(one_sign, 1.0 / low, np.inf)


def _to_power(low: np.ndarray, high: np.ndarray, exponent: float) -> Pair:
    if exponent == 1:
        return low, high
    if exponent == -1:
        positive = (low == 0) & (high > 0)
        least, greatest = _inverse(low, high)
        with np.errstate(divide="ignore"):
            return np.where(positive, 1.0 / high, least), greatest
    with np.errstate(all="ignore"):
        if float(exponent).is_integer() and exponent > 0:
            a, b = low**exponent, high**exponent
            if exponent % 2:
                return a, b
            return np.where((low <= 0) & (high >= 0), 0.0, np.minimum(a, b)), np.maximum(a, b)
        if float(exponent).is_integer():
            return _inverse(*_to_power(low, high, -exponent))
        a, b = np.maximum(low, 0.0) ** exponent, np.maximum(high, 0.0) ** exponent
    return (a, b) if exponent > 0 else (b, a)
