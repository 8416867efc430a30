"""Sums of products of tables: the form of a formula in which everything but the axes is a number.

A sum has terms. A term is a number, times at most one table per axis, times powers of atoms. An atom is
what does not factor: a maximum, a case, a ceiling, a sum inside a product. A product of two tables of one axis
is one table, so that what cancels in the algebra cancels here, before any bound is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal, NamedTuple

import numpy as np

from mlsysim.bounds.tables import DIGITS, Plane, Table, Tables
from mlsysim.graph import ANY, TABLE

#: Share of the spread of a function of two axes that may remain after it was factored into tables.
FLATTER = 0.5

#: Kinds of atoms; or the name of an operation of the graph, whose entry in the table knows its range.
Kind = (
    Literal["max", "power", "case", "sum", "least", "root", "between", "parameter", "plane", "unknown", "truth"] | str
)
Relation = Literal["compare", "equal", "multiple", "and", "or", "not", "table", "pairs", "true", "false"]


class MergeKeys(NamedTuple):
    """Hash keys that agree for terms that differ along one axis alone, and hardly for others.

    Attributes
    ----------
    keys : list of tuple of int
        A key and its axis; -1 where another term may have one table more, of any axis.
    whole : int
        The key for that.
    without : list of int
        The other keys: one per table, without that table.
    along : list of int
        Keys that agree only for the same axis.
    """

    keys: list[tuple[int, int]]
    whole: int
    without: list[int]
    along: list[int]


@dataclass(eq=False, slots=True)
class Term:
    """``number * product of tables * product of atoms to their powers``."""

    number: float
    tables: tuple[Table, ...]
    atoms: tuple[tuple[Atom, float], ...]
    #: The same for terms that differ in their number alone.
    key: tuple[Any, ...] = field(init=False)
    #: The same for equal terms; zero until somebody asks.
    mark: int = field(init=False, default=0)
    _merge_keys: MergeKeys | None = field(init=False, default=None)
    _positive: bool | None = field(init=False, default=None)
    _factors: frozenset[int] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.key = (tuple([t.number for t in self.tables]), tuple([(a.number, e) for a, e in self.atoms]))

    @property
    def merge_keys(self) -> MergeKeys:
        """Hash keys that agree for terms that differ along one axis alone."""
        if self._merge_keys is None:
            owns = [(hash((t.axis, t.number)), t.axis) for t in self.tables]
            whole = hash(self.key[1]) + sum([own for own, _ in owns])
            without = [(whole - own, axis) for own, axis in owns]
            self._merge_keys = MergeKeys(
                [(whole, -1), *without], whole, [n for n, _ in without], [hash(n) for n in without]
            )
        return self._merge_keys

    @property
    def positive(self) -> bool:
        """True if the signs of its factors show that it is not negative, but for its number."""
        if self._positive is None:
            self._positive = all(table.nonnegative for table in self.tables) and all(
                _nonnegative(atom) for atom, _ in self.atoms
            )
        return self._positive

    @property
    def factors(self) -> frozenset[int]:
        """Numbers of its tables, and negated numbers of its atoms."""
        if self._factors is None:
            self._factors = frozenset([*[t.number for t in self.tables], *[-a.number for a, _ in self.atoms]])
        return self._factors

    def times(self, number: float) -> Term:
        """The term times a number."""
        scaled = Term.__new__(Term)
        scaled.number, scaled.mark = self.number * number, 0
        scaled.tables, scaled.atoms, scaled.key = self.tables, self.atoms, self.key
        scaled._merge_keys, scaled._positive, scaled._factors = self._merge_keys, self._positive, self._factors
        return scaled

    def __str__(self) -> str:
        powers = [str(atom) if exponent == 1 else f"{atom}^{exponent:g}" for atom, exponent in self.atoms]
        factors = [*map(str, self.tables), *powers]
        return " ".join([f"{self.number:.3g}"] * (self.number != 1 or not factors) + factors)


@dataclass(frozen=True, eq=False, slots=True)
class Sum:
    """A sum of terms, no two of which differ in their number alone."""

    terms: tuple[Term, ...]
    number: int

    def __str__(self) -> str:
        return " + ".join(map(str, self.terms)) or "0"

    @property
    def constant(self) -> float | None:
        """Value if it depends on no axis, else None."""
        if not self.terms:
            return 0.0
        first = self.terms[0]
        return first.number if len(self.terms) == 1 and not first.tables and not first.atoms else None


@dataclass(frozen=True, eq=False, slots=True)
class Atom:
    """A factor that is not a table."""

    kind: Kind
    args: tuple[Any, ...]
    number: int

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(str, self.args))})"


@dataclass(frozen=True, eq=False, slots=True)
class Condition:
    """A truth value over the axes: a comparison of a sum with zero, logic, or a table of truth values."""

    relation: Relation
    args: tuple[Any, ...]
    number: int

    def __str__(self) -> str:
        return f"{self.relation}({', '.join(map(str, self.args))})"


class Forms:
    """Builds sums, atoms and conditions; equal ones are one object.

    Parameters
    ----------
    sizes : tuple of int
        Number of values per axis.
    """

    #: Most terms up to which a product is multiplied out.
    LARGEST = 96

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.sizes = sizes
        self._tables = Tables()
        self._known: dict[Any, Any] = {}
        self._sums: dict[int | frozenset[int], Sum] = {}
        self._marks: dict[Any, int] = {}
        self._negatives: dict[int, Sum] = {}
        self._products: dict[tuple[int, int], Sum] = {}
        self._powers: dict[tuple[int, float], Sum] = {}
        self._totals: dict[tuple[int, ...], Sum] = {}
        self._count = 0
        self.true = self._condition("true", ())
        self.false = self._condition("false", ())

    def number(self, value: float) -> Sum:
        """A constant."""
        if not np.isfinite(value):
            return self.table(0, np.full(self.sizes[0], value))
        return self._sum((Term(float(value), (), ()),) if value != 0 else ())

    def table(self, axis: int, values: np.ndarray) -> Sum:
        """A function of one axis."""
        return self._scaled(*self._tables.intern(axis, np.asarray(values, float)))

    def plane(self, first: int, second: int, values: np.ndarray) -> Sum:
        """Function of two axes: an atom, or a product of two tables and an atom that changes much less.

        A table joins others of its axis, so that what grows and what falls along it cancels.

        Parameters
        ----------
        first, second : int
            The axes, the lower one first.
        values : ndarray
            One row per value of the first axis.
        """
        rows, columns = _factors(values)
        with np.errstate(all="ignore"):
            left = np.where(values == 0, 0.0, values / rows[:, None] / columns)
        if _spread(left) <= 10.0**-DIGITS:
            left = np.full_like(left, left[0, 0])
        elif _spread(left) > FLATTER * _spread(values):
            rows, columns, left = np.ones(values.shape[0]), np.ones(values.shape[1]), values
        product = self.multiply(self.table(first, rows), self.table(second, columns))
        if (left == left[0, 0]).all():
            return self.scale(product, float(left[0, 0]))
        key = ("plane", first, second, left.tobytes())
        if key not in self._known:
            self._known[key] = Plane((first, second), left)
        return self.multiply(product, self.atom("plane", self._known[key]))

    def atom(self, kind: Kind, *args: Any) -> Sum:
        """An atom as a sum of one term."""
        return self.alone(self._atom(kind, args))

    def condition(self, relation: Relation, *args: Any) -> Condition:
        """A condition."""
        return self._condition(relation, args)

    def pairs(self, first: int, second: int, mask: np.ndarray) -> Condition:
        """A condition on two axes, by its truth at every pair of values."""
        if mask.all():
            return self.true
        if not mask.any():
            return self.false
        counts = np.zeros((mask.shape[0] + 1, mask.shape[1] + 1), dtype=np.int64)
        counts[1:, 1:] = mask.cumsum(0).cumsum(1)
        return self.condition("pairs", first, second, counts)

    def add(self, sums: Iterable[Sum]) -> Sum:
        """A sum of sums, in which terms that differ along one axis alone become one term."""
        return self.total([term for summand in sums for term in summand.terms])

    def total(self, terms: list[Term]) -> Sum:
        """A sum of terms, in which those that differ along one axis alone become one."""
        key = tuple([term.mark or self._mark(term) for term in terms])
        total = self._totals.get(key)
        if total is None:
            total = self._totals[key] = self._sum(self._collected(terms))
        return total

    def scale(self, of: Sum, number: float) -> Sum:
        """A sum times a number."""
        if number == 0:
            return self.number(0.0)
        return self._sum(tuple([t.times(number) for t in of.terms]))

    def negative(self, of: Sum) -> Sum:
        """A sum with the other sign."""
        negated = self._negatives.get(of.number)
        if negated is None:
            negated = self._negatives[of.number] = self.scale(of, -1.0)
        return negated

    def subtract(self, left: Sum, right: Sum) -> Sum:
        """A difference."""
        return self.add([left, self.negative(right)])

    def multiply(self, left: Sum, right: Sum) -> Sum:
        """A product, multiplied out unless that has too many terms."""
        key = left.number, right.number
        product = self._products.get(key)
        if product is None:
            product = self._products[key] = self._multiplied(left, right)
        return product

    def _multiplied(self, left: Sum, right: Sum) -> Sum:
        if len(left.terms) * len(right.terms) > self.LARGEST and len(left.terms) > 1 and len(right.terms) > 1:
            left, right = (self._factored(factor) for factor in (left, right))
        if number := left.constant:
            products = [term.times(number) for term in right.terms]
        elif number := right.constant:
            products = [term.times(number) for term in left.terms]
        else:
            products = [self._product(a, b) for a in left.terms for b in right.terms]
        return self.total(products)

    def power(self, base: Sum, exponent: float) -> Sum:
        """A constant power. A single term is raised factor by factor, unless a sign would be lost."""
        key = base.number, exponent
        power = self._powers.get(key)
        if power is None:
            power = self._powers[key] = self._raised(base, exponent)
        return power

    def _raised(self, base: Sum, exponent: float) -> Sum:
        if exponent == 0:
            return self.number(1.0)
        if exponent == 1:
            return base
        if not base.terms:
            return self.number(0.0 if exponent > 0 else np.inf)
        if exponent in (2.0, 3.0) and len(base.terms) ** exponent <= self.LARGEST:
            product = base
            for _ in range(int(exponent) - 1):
                product = self.multiply(product, base)
            return product
        one = self._factored(base).terms[0]
        whole = float(exponent).is_integer()
        signed = (
            one.number < 0
            or not all(t.nonnegative for t in one.tables)
            or not all(_nonnegative(a) for a, _ in one.atoms)
        )
        if signed and not whole:
            return self.atom("power", base, float(exponent))
        number = one.number**exponent if one.number != 0 else 0.0
        if not np.isfinite(number):
            return self.multiply(self.number(number), self.power(self.one(Term(1.0, one.tables, one.atoms)), exponent))
        powers = [self._tables.power(table, exponent) for table in one.tables]
        for scale, _ in powers:
            number *= scale
        tables = tuple([table for _, table in powers if table is not None])
        raised = [(a, e * exponent) for a, e in one.atoms]
        # The reciprocal of a reciprocal of a sum is that sum, whose terms join with what it is multiplied with.
        sums = [a.args[0] for a, e in raised if a.kind == "sum" and e == 1]
        rest = tuple([(a, e) for a, e in raised if a.kind != "sum" or e != 1])
        return reduce(self.multiply, sums, self._sum((Term(number, tables, rest),) * (number != 0)))

    def masked(self, of: Sum, axis: int, mask: np.ndarray) -> Sum:
        """A sum where a mask over one axis is true, and zero elsewhere."""
        terms = []
        for term in of.terms:
            own = next((t for t in term.tables if t.axis == axis), None)
            values = np.where(mask, own.values if own else 1.0, 0.0)
            scale, table = self._tables.intern(axis, values)
            if scale != 0:
                others = tuple(t for t in term.tables if t.axis != axis)
                tables = _ordered((*others, table)) if table else others
                terms.append(Term(term.number * scale, tables, term.atoms))
        return self._sum(self._collected(terms))

    def primitive(self, of: Sum) -> tuple[Term, Sum]:
        """Factor that all terms share, and the sum without it."""
        first = of.terms[0]
        if len(of.terms) == 1:
            return first, self.number(1.0)
        tables = [t for t in first.tables if all(t in other.tables for other in of.terms[1:])]
        atoms = [(a, min(dict(other.atoms).get(a, 0.0) for other in of.terms)) for a, e in first.atoms if e > 0]
        atoms = [(a, e) for a, e in atoms if e > 0]
        number = max(abs(t.number) for t in of.terms) or 1.0
        shared = Term(number, tuple(tables), tuple(atoms))
        return shared, self.without(of, shared)

    def without(self, of: Sum, factor: Term) -> Sum:
        """A sum divided by a factor that every term has."""
        powers = dict(factor.atoms)
        terms = []
        for term in of.terms:
            atoms = tuple((a, e - powers.get(a, 0.0)) for a, e in term.atoms if e != powers.get(a, 0.0))
            tables = tuple(t for t in term.tables if t not in factor.tables)
            terms.append(Term(term.number / factor.number, tables, atoms))
        return self._sum(tuple(terms))

    def times(self, term: Term, of: Sum) -> Sum:
        """A term times a sum."""
        return self.multiply(self._sum((term,)), of)

    def one(self, term: Term) -> Sum:
        """A term as a sum."""
        return self._sum((term,))

    def alone(self, atom: Atom) -> Sum:
        """An atom as a sum."""
        return self.one(Term(1.0, (), ((atom, 1.0),)))

    def where(self, of: Sum, condition: Condition, holds: bool) -> Sum:
        """Sum in which every case of a condition is settled, inside other atoms, too."""
        if condition.number not in self.decided_by(of):
            return of
        key = ("where", of.number, condition.number, holds)
        if key not in self._known:
            self._known[key] = self.add([self._term_where(term, condition, holds) for term in of.terms])
        return self._known[key]

    def decided_by(self, of: Sum) -> frozenset[int]:
        """Numbers of the conditions of all cases in a sum."""
        key = ("decided by", of.number)
        if key not in self._known:
            numbers: set[int] = set()
            for atom in {atom for term in of.terms for atom, _ in term.atoms}:
                if atom.kind == "case":
                    numbers.add(atom.args[0].number)
                for arg in atom.args:
                    if isinstance(arg, Sum):
                        numbers |= self.decided_by(arg)
            self._known[key] = frozenset(numbers)
        return self._known[key]

    def _term_where(self, term: Term, condition: Condition, holds: bool) -> Sum:
        product = self.one(Term(term.number, term.tables, ()))
        for atom, exponent in term.atoms:
            product = self.multiply(product, self.power(self._atom_where(atom, condition, holds), exponent))
        return product

    def _atom_where(self, atom: Atom, condition: Condition, holds: bool) -> Sum:
        if atom.kind == "case" and atom.args[0] is condition:
            return self.where(atom.args[1 if holds else 2], condition, holds)
        args = [self.where(arg, condition, holds) if isinstance(arg, Sum) else arg for arg in atom.args]
        if all(new is old for new, old in zip(args, atom.args, strict=True)):
            return self.alone(atom)
        if atom.kind == "sum":
            return args[0]
        if atom.kind == "case" and args[1] is args[2]:
            return args[1]
        if atom.kind == "max":
            args = list(dict.fromkeys(args))
            if len(args) == 1:
                return args[0]
        return self.atom(atom.kind, *args)

    def gathered(self, terms: tuple[Term, ...]) -> Sum:
        """Some terms of a sum."""
        return self._sum(terms)

    def _scaled(self, scale: float, table: Table | None) -> Sum:
        """A table times a number."""
        return self._sum((Term(scale, (table,) if table else (), ()),) if scale != 0 else ())

    def _factored(self, of: Sum) -> Sum:
        """Sum as a single term: the shared factor times an atom that holds the rest."""
        if len(of.terms) <= 1:
            return of
        shared, rest = self.primitive(of)
        return self._sum(
            (Term(shared.number, shared.tables, _atoms([*shared.atoms, (self._atom("sum", (rest,)), 1.0)])),)
        )

    def _product(self, left: Term, right: Term) -> Term:
        number = left.number * right.number
        by_axis = {t.axis: t for t in left.tables}
        tables: dict[int, Table] = dict(by_axis)
        for table in right.tables:
            mine = by_axis.get(table.axis)
            if mine is None:
                tables[table.axis] = table
                continue
            scale, merged = self._tables.product(mine, table)
            number *= scale
            del tables[table.axis]
            if merged is not None:
                tables[table.axis] = merged
        return Term(number, _ordered(tables.values()), _atoms([*left.atoms, *right.atoms]))

    def _collected(self, terms: list[Term]) -> tuple[Term, ...]:
        """Add terms with the same factors, then merge those that differ along one axis alone."""
        if len(terms) < 2:
            return tuple([term for term in terms if term.number != 0])
        by_key: dict[Any, Term] = {}
        for term in terms:
            if term.number == 0:
                continue
            known = by_key.get(term.key)
            by_key[term.key] = Term(known.number + term.number, term.tables, term.atoms) if known else term
        pending = [term for term in by_key.values() if term.number != 0]
        shared = Counter([term.key[1] for term in pending])
        alone = [term for term in pending if shared[term.key[1]] == 1]
        return (*alone, *self._merge_along_axes([term for term in pending if shared[term.key[1]] > 1]))

    def _merge_along_axes(self, terms: list[Term]) -> list[Term]:
        """Merge terms that differ along one axis alone until there are no more such."""
        if not _may_differ_along_one([term.merge_keys for term in terms]):
            return terms
        kept: list[Term | None] = []
        index_by_key: dict[int, list[tuple[int, int]]] = {}
        pending = terms[::-1]
        while pending:
            term = pending.pop()
            if term.number == 0:
                continue
            keys, whole, without, _ = term.merge_keys
            may_match = whole in index_by_key or not index_by_key.keys().isdisjoint(without)
            mate = self._find_mergeable(term, keys, index_by_key, kept) if may_match else None
            if mate is not None:
                index, axis = mate
                pending.append(self._merged(kept[index], term, axis))  # type: ignore[arg-type]
                kept[index] = None
                continue
            for key, axis in keys:
                index_by_key.setdefault(key, []).append((len(kept), axis))
            kept.append(term)
        return [term for term in kept if term is not None]

    def _find_mergeable(
        self,
        term: Term,
        keys: list[tuple[int, int]],
        index_by_key: dict[int, list[tuple[int, int]]],
        kept: list[Term | None],
    ) -> tuple[int, int] | None:
        """Find a kept term that differs from another along one axis alone, by index and axis."""
        for key, axis in keys:
            for index, other_axis in index_by_key.get(key, ()):
                along = axis if axis >= 0 else other_axis
                candidate = kept[index]
                if candidate is None or (axis >= 0 and other_axis not in (-1, axis)):
                    continue
                if _key_without(candidate, along) == _key_without(term, along):
                    return index, along
        return None

    def _merged(self, left: Term, right: Term, axis: int) -> Term:
        with np.errstate(all="ignore"):
            values = sum(term.number * _along(term, axis, self.sizes[axis]) for term in (left, right))
        scale, table = self._tables.intern(axis, np.asarray(values))
        others = tuple(t for t in left.tables if t.axis != axis)
        return Term(scale, _ordered((*others, table)) if table else others, left.atoms)

    def _sum(self, terms: tuple[Term, ...]) -> Sum:
        key = self._mark(terms[0]) if len(terms) == 1 else frozenset([self._mark(term) for term in terms])
        interned = self._sums.get(key)
        if interned is None:
            interned = self._sums[key] = Sum(terms, self._next())
        return interned

    def _mark(self, term: Term) -> int:
        if not term.mark:
            term.mark = self._marks.setdefault((term.key, term.number), 1 + len(self._marks))
        return term.mark

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _atom(self, kind: Kind, args: tuple[Any, ...]) -> Atom:
        return self._intern((kind, _identity(args)), lambda number: Atom(kind, args, number))

    def _condition(self, relation: Relation, args: tuple[Any, ...]) -> Condition:
        return self._intern((relation, _identity(args)), lambda number: Condition(relation, args, number))

    def _intern(self, key: Any, build: Any) -> Any:
        if key not in self._known:
            self._known[key] = build(self._next())
        return self._known[key]


def _may_differ_along_one(merge_keys: list[MergeKeys]) -> bool:
    """True if two of some terms may differ along one axis alone."""
    along = [number for keys in merge_keys for number in keys.along]
    if len(set(along)) < len(along):
        return True
    return not {keys.whole for keys in merge_keys}.isdisjoint(
        [number for keys in merge_keys for number in keys.without]
    )


def _key_without(term: Term, axis: int) -> tuple[Any, ...]:
    """A key that is the same for terms that differ along this axis alone."""
    return tuple([t.number for t in term.tables if t.axis != axis]), term.key[1]


def _along(term: Term, axis: int, size: int) -> np.ndarray:
    return next((t.values for t in term.tables if t.axis == axis), np.ones(size))


def _ordered(tables: Iterable[Table]) -> tuple[Table, ...]:
    return tuple(sorted(tables, key=lambda t: t.axis))


def _atoms(factors: list[tuple[Atom, float]]) -> tuple[tuple[Atom, float], ...]:
    powers: dict[Atom, float] = {}
    for atom, exponent in factors:
        powers[atom] = powers.get(atom, 0.0) + exponent
    return tuple(sorted(((a, e) for a, e in powers.items() if e != 0), key=lambda pair: pair[0].number))


def _factors(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rank-one fit of positive values: a number per row and per column; ones for other values."""
    if not ((values >= 0) & np.isfinite(values)).all():
        return np.ones(values.shape[0]), np.ones(values.shape[1])
    there = values > 0
    logs = np.log(np.where(there, values, 1.0))
    rows = logs.sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    left = np.where(there, logs - rows[:, None], 0.0)
    columns = left.sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.exp(rows), np.exp(columns)


def _spread(values: np.ndarray) -> float:
    """Logarithm of the greatest over the least positive value; infinite where some are not positive."""
    least, greatest = values.min(), values.max()
    return float(np.log(greatest / least)) if least > 0 else np.inf if greatest != least else 0.0


def _nonnegative(atom: Atom) -> bool:
    if atom.kind == "max":
        return any(not arg.terms or shows_positive(arg) for arg in atom.args)
    if atom.kind == "sum":
        return shows_positive(atom.args[0])
    return (
        atom.kind == "least"
        or (atom.kind in TABLE and TABLE[atom.kind].facts(*[ANY] * len(atom.args)).low >= 0)
        or (atom.kind in ("ceil", "floor", "power", "mod") and shows_positive(atom.args[0]))
        or (atom.kind == "root" and shows_positive(atom.args[2]))
        or (atom.kind == "between" and shows_positive(atom.args[0]))
        or (atom.kind == "plane" and bool((atom.args[0].values >= 0).all()))
        or (atom.kind == "case" and all(shows_positive(arg) for arg in atom.args[1:]))
    )


def shows_positive(of: Sum) -> bool:
    """True if the signs of its factors show that no term is negative."""
    return all(term.number >= 0 and term.positive for term in of.terms)


def _identity(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        (type(arg).__name__, arg.number) if isinstance(arg, Sum | Atom | Condition)
        else (arg.shape, arg.tobytes()) if isinstance(arg, np.ndarray)
        else arg
        for arg in args
    )  # fmt: skip
