"""Plans for lower bounds of sums: term by term, or with a maximum, case or ceiling replaced by its branches.

Bounding term by term forgets what terms have in common. ``T + Max(0, V - T)`` is at least ``T`` and at
least ``V``. The second is seen only when the branch ``V - T`` replaces the maximum and ``T`` cancels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mlsysim.backends.budget import aside
from mlsysim.bounds.forms import Atom, Condition, Forms, Sum, Term, shows_positive
from mlsysim.graph import TABLE

#: No axis is taken value by value.
NO_SWITCH: tuple[int, dict[Term, tuple[Term, np.ndarray]]] = (-1, {})


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """Plan for a lower bound of a sum: term by term, or from the bounds of other sums.

    Attributes
    ----------
    of : Sum
        The bounded sum.
    how : {"plain", "any", "all"}
        Term by term; or also from branches. ``"any"``: no branch exceeds the sum, so the largest of their bounds
        counts. ``"all"``: the sum is one of the branches, so only the least of their bounds counts.
    branches : tuple of Plan
        Plans of the branches.
    condition : Condition, optional
        Selects the first of two branches where it holds, and the second elsewhere.
    """

    of: Sum
    how: Literal["plain", "any", "all"] = "plain"
    branches: tuple[Plan, ...] = ()
    condition: Condition | None = None

    def __str__(self) -> str:
        branches = "; ".join(map(str, self.branches))
        return str(self.of) if self.how == "plain" else f"{self.how} of: {branches}"


class Plans:
    """Makes the plan of a sum when it is first asked for.

    Parameters
    ----------
    forms : Forms
        Where sums are built.
    """

    #: Most sums that one plan may bound, and that all plans together may.
    BUDGET, LARGEST = 16, 96
    #: Share of points at which an argument of a maximum must be the largest for a plan to go on from it.
    SELDOM = 0.1
    #: Most values of an axis that is taken value by value because it switches terms on and off.
    SHORT = 6

    def __init__(self, forms: Forms) -> None:
        self.forms = forms
        self.least: Any = None
        self.sample: Any = None
        self._plans: dict[int, Plan] = {}
        self._opened_sums = 0
        self._groups: dict[int, tuple[tuple[Term, Sum | None], ...]] = {}
        self._inverses: dict[Any, tuple[Sum, ...]] = {}
        self._switches: dict[int, tuple[int, dict[Term, tuple[Term, np.ndarray]]]] = {}
        self._simple: dict[Any, bool] = {}
        self._values: dict[int, np.ndarray] = {}
        self._partial: dict[int, tuple[tuple[Sum, bool], ...]] = {}

    def lower(self, of: Sum) -> Plan:
        """The plan of a sum."""
        if of.number not in self._plans:
            with aside():  # a plan is made once, whoever asks for it first
                self._plans[of.number] = self._plan(of, self.BUDGET)
        return self._plans[of.number]

    def groups(self, of: Sum) -> tuple[tuple[Term, Sum | None], ...]:
        """Terms of a sum, each negative one paired with a positive one: ``p - q`` as ``p (1 - q/p)``.

        Term by term, ``p`` would be taken at its least and ``q`` at its greatest, as if they did not depend on the
        same axes. Each term comes with the sum it is to be multiplied by, or None.
        """
        known = self._groups.get(of.number)
        if known is not None:
            return known
        with aside():
            self._groups[of.number] = groups = self._grouped(of)
        for _, inner in groups:
            if inner is not None:  # a quotient is bounded as it is, or the two would take turns for ever
                for side in (inner, self.forms.negative(inner)):
                    self._groups.setdefault(side.number, tuple((term, None) for term in side.terms))
        return self._groups[of.number]

    def inverses(self, term: Term) -> tuple[Sum, ...]:
        """Sums whose inverse is a term without its number.

        A term ``r / (a + b)`` is also one over ``a / r + b / r``, which may have a tighter range.
        """
        if not term.atoms or not any(a.kind == "sum" and e == -1 for a, e in term.atoms):
            return ()
        if term.key not in self._inverses:
            self._inverses[term.key] = tuple(self._inverse(term))
        return self._inverses[term.key]

    def partial(self, of: Sum) -> tuple[tuple[Sum, bool], ...]:
        """Sums whose signs decide if a sum has a value.

        These are arguments of roots and logarithms, the load of a queue, and a sum that is negative where a table or a
        least whole number is infinite, as a quotient of two such has no value. Each comes with True if it may be zero.
        Where one is negative, the value is not a number.
        """
        if of.number not in self._partial:
            self._partial[of.number] = tuple(dict.fromkeys(self._partial_of(of)))
        return self._partial[of.number]

    def _partial_of(self, of: Sum) -> Iterator[tuple[Sum, bool]]:
        for table in (table for term in of.terms for table in term.tables):
            if not table.finite:
                yield self.forms.table(table.axis, np.where(np.isfinite(table.values), 1.0, -1.0)), False
        for atom, exponent in (factor for term in of.terms for factor in term.atoms):
            if not float(exponent).is_integer():
                yield self.forms.alone(atom), True
            if atom.kind == "power" and not float(atom.args[1]).is_integer():
                yield atom.args[0], True
            for arg, domain in zip(atom.args, TABLE[atom.kind].domain if atom.kind in TABLE else (), strict=False):
                for end, sign in ((domain.low, 1.0), (-domain.high, -1.0)):
                    if end > -np.inf:
                        yield self.forms.subtract(self.forms.scale(arg, sign), self.forms.number(end)), domain.zero
            if atom.kind in ("least", "root", "between"):
                yield self.forms.subtract(self.forms.number(2.0**53), self.forms.alone(atom)), False
            for arg in atom.args:
                if isinstance(arg, Sum):
                    yield from self.partial(arg)

    def switch(self, of: Sum) -> tuple[int, dict[Term, tuple[Term, np.ndarray]]]:
        """Short axis that is taken value by value, because its values switch terms on and off.

        Returns
        -------
        int
            The axis whose tables have zeros in most terms; -1 if none is short enough.
        dict
            For each term with a table of that axis: the term without number and table, and what it is multiplied by
            at each value of the axis.
        """
        if len(of.terms) < 2:
            return NO_SWITCH
        switch = self._switches.get(of.number)
        if switch is None:
            switch = self._switches[of.number] = self._switch(of)
        return switch

    def _switch(self, of: Sum) -> tuple[int, dict[Term, tuple[Term, np.ndarray]]]:
        paired = {term.key for term, inner in self.groups(of) if inner is not None}
        terms = [term for term, inner in self.groups(of) if inner is None and term.key not in paired]
        by_axis: dict[int, list[Term]] = {}
        for term in terms:
            for table in term.tables:
                if len(table.values) <= self.SHORT and table.finite:
                    by_axis.setdefault(table.axis, []).append(term)
        off = {axis: sum(any(t.axis == axis and t.has_zero for t in term.tables) for term in terms_along)
               for axis, terms_along in by_axis.items()}  # fmt: skip
        axis = max(off, key=lambda a: off[a], default=-1)
        if axis < 0 or off[axis] < 1 or len(by_axis[axis]) < 2:
            return NO_SWITCH
        switched = {}
        for term in by_axis[axis]:
            own = next(t for t in term.tables if t.axis == axis)
            rest = Term(1.0, tuple(t for t in term.tables if t is not own), term.atoms)
            switched[term] = (rest, term.number * own.values)
        return axis, switched

    def simple(self, term: Term) -> bool:
        """True if no factor is negative or infinite: then the ends of a term are products of ends."""
        if term.key not in self._simple:
            self._simple[term.key] = all(t.plain for t in term.tables) and all(
                shows_positive(self.forms.alone(atom)) for atom, _ in term.atoms
            )
        return self._simple[term.key]

    def _grouped(self, of: Sum) -> tuple[tuple[Term, Sum | None], ...]:
        if len(of.terms) < 2:
            return tuple([(term, None) for term in of.terms])
        fixed = [t.positive for t in of.terms]
        givers = [i for i, t in enumerate(of.terms) if fixed[i] and t.number > 0 and (t.tables or t.atoms)]
        takers = [i for i, t in enumerate(of.terms) if fixed[i] and t.number < 0]
        inner: dict[int, list[Sum]] = {}
        taken = set()
        for taker in takers if givers else []:
            giver = max(givers, key=lambda g: _likeness(of.terms[taker], of.terms[g]))
            ratio = self._ratio(of.terms[taker], of.terms[giver])
            if len(ratio.terms) == 1 and self.least(ratio.terms[0]) > -np.inf:
                inner.setdefault(giver, []).append(ratio)
                taken.add(taker)
        return tuple(
            (term, self.forms.add([self.forms.number(1.0), *inner[i]]) if i in inner else None)
            for i, term in enumerate(of.terms)
            if i not in taken
        )

    def _ratio(self, above: Term, below: Term) -> Sum:
        return self.forms.multiply(self.forms.one(above), self.forms.power(self.forms.one(below), -1.0))

    def _inverse(self, term: Term) -> list[Sum]:
        if len(term.tables) + len(term.atoms) == 1 or not all((t.values > 0).all() for t in term.tables):
            return []
        inverses = []
        for index, (atom, exponent) in enumerate(term.atoms):
            if atom.kind == "sum" and exponent == -1:
                rest = Term(1.0, term.tables, term.atoms[:index] + term.atoms[index + 1 :])
                inverses.append(self.forms.multiply(atom.args[0], self.forms.power(self.forms.one(rest), -1.0)))
        return inverses

    def _plan(self, of: Sum, budget: int) -> Plan:
        if budget < 2 or self._opened_sums >= self.LARGEST:
            return Plan(of)
        candidates: list[tuple[int, Any]] = []
        for index in self._largest_first(of):
            for atom, exponent in of.terms[index].atoms:
                opened = self._branched(of, index, atom) if exponent == 1 else None
                if opened is not None:
                    candidates.append((min(len(each.terms) for each in opened[1]), opened))
        if not candidates:
            return Plan(of)
        # Of equal ones the first, which is the largest part of the sum.
        how, sums, condition = min(candidates, key=lambda each: each[0])[1]
        self._opened_sums += len(sums)
        share = budget // len(sums)
        return Plan(of, how, tuple(self._plan(each, share) for each in sums), condition)

    def _branched(self, of: Sum, index: int, atom: Atom) -> tuple[Any, list[Sum], Condition | None] | None:
        """Open an atom in one term of a sum, and return the sums that bound it; None if that is of no use."""
        term = of.terms[index]
        branches = self._branches(term, atom)
        if branches is None:
            return None
        how, choices, condition = branches
        if how == "any":
            choices = self._often_largest(choices)
        if condition is None:
            sums = [self._opened(of, index, atom, how, choice) for choice in choices]
        else:
            sums = [self.forms.where(of, condition, holds) for holds in (True, False)]
        return (how, sums, condition) if self._useful(of, term, choices, sums) else None

    def _largest_first(self, of: Sum) -> list[int]:
        """Indices of the terms, largest share of the sum at sampled points first."""
        if len(of.terms) < 2 or self.sample is None:
            return list(range(len(of.terms)))
        sizes = np.array([np.abs(self._sampled(self.forms.one(term))) for term in of.terms])
        with np.errstate(all="ignore"):
            shares = sizes / np.maximum(sizes.sum(axis=0), 1e-300)
        shares = np.where(shares >= 0, np.minimum(shares, 1.0), 0.0).mean(axis=1)
        return np.argsort(-shares, kind="stable").tolist()

    def _sampled(self, of: Sum) -> np.ndarray:
        """A sum at points of the grid."""
        if of.number not in self._values:
            self._values[of.number] = self.sample.value(of)
        return self._values[of.number]

    def _often_largest(self, choices: list[Sum]) -> list[Sum]:
        """Keep arguments of a maximum that attain it at many sampled points; the others seldom bound it."""
        if len(choices) < 2 or self.sample is None:
            return choices
        values = np.array([np.nan_to_num(self._sampled(choice), nan=-np.inf) for choice in choices])
        wins = (values >= values.max(axis=0) - 1e-9 * np.abs(values.max(axis=0))).mean(axis=1)
        return [choice for choice, share in zip(choices, wins, strict=True) if share >= min(self.SELDOM, wins.max())]

    def _branches(self, term: Term, atom: Atom) -> tuple[Any, list[Sum], Condition | None] | None:
        rest = _without(term, atom, 1.0)
        signed = not rest.positive
        if atom.kind == "case":
            return "all", list(atom.args[1:]), atom.args[0]
        if signed:
            return None
        if atom.kind == "max":
            return ("any" if term.number > 0 else "all"), list(atom.args), None
        if atom.kind == "ceil" and term.number > 0:
            return "any", [atom.args[0]], None
        if atom.kind == "ceil":
            return "any", [self.forms.add([atom.args[0], self.forms.number(1.0)])], None
        if atom.kind == "floor" and term.number < 0:
            return "any", [atom.args[0]], None
        if atom.kind == "floor":
            return "any", [self.forms.subtract(atom.args[0], self.forms.number(1.0))], None
        return None

    def _opened(self, of: Sum, index: int, atom: Atom, how: str, choice: Sum) -> Sum:
        """Put a choice in the place of an atom, in all terms in which it bounds or equals the sum."""
        terms: list[Term] = []
        for position, term in enumerate(of.terms):
            if (atom, 1.0) not in term.atoms or not (
                position == index or how == "all" or self._same_side(of.terms[index], term, atom)
            ):
                terms.append(term)
                continue
            rest = _without(term, atom, term.number)
            terms += self.forms.times(rest, choice).terms
        return self.forms.total(terms)

    def _same_side(self, first: Term, second: Term, atom: Atom) -> bool:
        """True if a bound of an atom bounds two terms from the same side."""
        rests = [_without(term, atom, 1.0) for term in (first, second)]
        return first.number * second.number > 0 and all(rest.positive for rest in rests)

    def _useful(self, of: Sum, term: Term, choices: list[Sum], sums: list[Sum]) -> bool:
        """True if something cancels when a branch takes the place of its atom."""
        axes = {t.axis for t in term.tables}
        return any(
            len(opened.terms) < len(of.terms) - 1 + len(choice.terms)
            or any(t.axis in axes for inner in choice.terms for t in inner.tables)
            or len(term.atoms) > 1
            for choice, opened in zip(choices, sums, strict=True)
        )


def _without(term: Term, atom: Atom, number: float) -> Term:
    """Factors of a term but for an atom, times a number."""
    return Term(number, term.tables, tuple((a, e) for a, e in term.atoms if a is not atom))


def _likeness(left: Term, right: Term) -> int:
    """Number of factors that two terms share, less the number they do not share."""
    one, other = left.factors, right.factors
    return 3 * len(one & other) - len(one) - len(other)
