"""The parts that a difference between two results is made of; they add up to it.

A sum is split by its addends; those that only one of two formulas has are parts of their own. What else a formula does
is split among the inputs that differ, and a formula that differs, by their Shapley values: the mean effect of changing
one, over all orders in which all are changed. Both are exact and additive. From formula to formula, a part is passed on
in the proportions in which its own inputs make it. Where a formula is infinite in between, as the wait for new devices
with the old number of replicas, the case that holds on both sides is split in its place.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import sympy

from mlsysim.backends import compiled_expression
from mlsysim.symbolic import System, lower
from mlsysim.symbolic.printing import text

#: Up to so many things that change, all orders are counted; of more, the orders that go round, both ways.
ALL_ORDERS = 10
#: Values that differ by less than this share of them are the same.
SAME = 1e-13


@dataclass(frozen=True)
class Cause:
    """Something that differs between two results.

    Attributes
    ----------
    kind : {"variable", "formula", "term", "together"}
        A variable with two values; a variable with two formulas; an addend that only one formula has; all that changes
        a variable, which cannot be told apart since something is infinite.
    name : str
        The variable; of an addend that is a variable, that one.
    term : str
        The addend, as text.
    side : int
        The result whose formula has the addend: 0 or 1.
    """

    kind: str
    name: str
    term: str = ""
    side: int = 0


@dataclass(frozen=True)
class Side:
    """One of two results: its formulas, and the canonical value of every variable."""

    system: System
    values: Mapping[str, float]

    def expression(self, name: str) -> Any:
        """The right side of the formula of a variable, in numbers and symbols; None for an input."""
        return _lowered(self.system[name].expression) if name in self.system else None


@cache
def _lowered(expression: sympy.Basic) -> sympy.Basic:
    return lower(expression)


class Decomposition:
    """The difference of one output between two results, from the output down to the inputs."""

    def __init__(self, first: Side, second: Side, output: str) -> None:
        self.sides = first, second
        self.output = output
        self.difference = second.values[output] - first.values[output]

    def parts(self, name: str | None = None) -> dict[Cause, float]:
        """Parts of the difference of a variable, one formula down; by default of the output."""
        name = self.output if name is None else name
        first, second = (side.expression(name) for side in self.sides)
        if first is None or second is None:
            return {Cause("variable", name): self._change(name)}
        found = self._pieces(name, first, second)
        if not all(map(math.isfinite, found.values())):
            cases = [self._cases(each, side) for side, each in enumerate((first, second))]
            found = self._pieces(name, *cases) if cases[0] == cases[1] else found
        if not all(map(math.isfinite, found.values())):
            return {Cause("together", name): self._change(name)}
        return {cause: amount for cause, amount in found.items() if amount}

    def _pieces(self, name: str, first: Any, second: Any) -> dict[Cause, float]:
        """The change from one expression to another, by what makes it; not finite where that is infinite in between."""
        found: dict[Cause, float] = {}
        if first != second:
            first, second = (self._taken(each, side) for side, each in enumerate((first, second)))
        ours, theirs = (sympy.Add.make_args(each) for each in (first, second))
        shared = [each for each in ours if each in theirs]
        pieces = [(each, each) for each in shared]
        left, right = ([each for each in some if each not in shared] for some in (ours, theirs))
        for before, after in _together(left, right) if name == self.output else [(left, right)]:
            if before and after:
                pieces.append((sympy.Add(*before), sympy.Add(*after)))
            for side, alone in enumerate((before, after) if not (before and after) else ()):
                for term in alone:
                    cause = Cause("term", term.name if isinstance(term, sympy.Symbol) else name, text(term), side)
                    _add(found, {cause: (2 * side - 1) * self._value(term, side)})
        for before, after in pieces:
            _add(found, self._shared_out(name, before, after))
        return found

    def causes(self) -> dict[Cause, float]:
        """Final causes of the difference: inputs, formulas and addends."""
        found: dict[Cause, float] = {}
        amounts = {self.output: self.difference}
        passed: set[str] = set()
        for name in self.order:
            passed.add(name)
            amount = amounts.pop(name, 0.0)
            change = self._change(name)
            if not amount or not change:
                continue
            if not math.isfinite(change):
                _add(found, {Cause("together", name): amount})
                continue
            for cause, part in self.parts(name).items():
                share = amount * (part / change)
                on = cause.kind == "variable" and cause.name != name and cause.name not in passed
                if on and any(cause.name in side.system for side in self.sides):
                    amounts[cause.name] = amounts.get(cause.name, 0.0) + share
                else:
                    _add(found, {cause: share})
        return found

    @cached_property
    def order(self) -> list[str]:
        """Variables that the output needs by either set of formulas, each before those that it needs."""
        found: list[str] = []
        seen: set[str] = set()

        def visit(name: str) -> None:
            seen.add(name)
            for side in self.sides:
                if name in side.system:
                    for needed in side.system[name].inputs:
                        if needed.name not in seen:
                            visit(needed.name)
            found.append(name)

        visit(self.output)
        return found[::-1]

    def _change(self, name: str) -> float:
        before, after = (side.values.get(name, math.nan) for side in self.sides)
        return float(after) - float(before)

    def _differs(self, name: str) -> bool:
        before, after = (side.values.get(name) for side in self.sides)
        if before is None or after is None or before == after:
            return False
        largest = max(abs(after), abs(before))
        return not math.isfinite(largest) or abs(after - before) > SAME * largest

    def _taken(self, expression: Any, side: int) -> Any:
        """An expression with the cases that were taken, and the largest or smallest of several, in their place."""
        if isinstance(expression, sympy.Add):
            return sympy.Add(*(self._taken(each, side) for each in expression.args))
        if isinstance(expression, sympy.Piecewise):
            return self._taken(self._case(expression, side), side)
        if isinstance(expression, sympy.Max | sympy.Min):
            choose = max if isinstance(expression, sympy.Max) else min
            return self._taken(choose(expression.args, key=lambda each: self._value(each, side)), side)
        return expression

    def _case(self, expression: sympy.Piecewise, side: int) -> Any:
        values = self.sides[side].values
        pairs: Any = [each.args for each in expression.args]
        cases = (value for value, condition in pairs if condition is sympy.true or _evaluated(condition, values))
        return next(cases, expression)

    def _cases(self, expression: Any, side: int) -> Any:
        """An expression with the cases that were taken in their place, and the rest as it is."""
        if isinstance(expression, sympy.Piecewise):
            taken = self._case(expression, side)
            return taken if taken is expression else self._cases(taken, side)
        if not isinstance(expression, sympy.Basic) or not expression.has(sympy.Piecewise):
            return expression
        return expression.func(*(self._cases(each, side) for each in expression.args))

    def _value(self, expression: sympy.Basic, side: int) -> float:
        return float(_evaluated(expression, self.sides[side].values))

    def _shared_out(self, name: str, before: sympy.Basic, after: sympy.Basic) -> dict[Cause, float]:
        """The change of an expression, by what changes in it."""
        symbols = {symbol.name for symbol in before.free_symbols | after.free_symbols}  # type: ignore[attr-defined]
        changing = sorted(symbol for symbol in symbols if self._differs(symbol))
        players = [Cause("variable", each) for each in changing]
        if before != after:
            players.append(Cause("formula", name))
        if not players:
            return {}
        first, second = (side.values for side in self.sides)
        fixed = {each: first.get(each, second.get(each)) for each in symbols}

        def value(changed: np.ndarray) -> np.ndarray:
            """The expression where those are changed that a row of truth values says."""
            at: dict[str, Any] = dict(fixed)
            for place, each in enumerate(changing):
                at[each] = np.where(changed[:, place], second[each], first[each])
            old = np.broadcast_to(_evaluated(before, at), len(changed))
            if before == after:
                return old
            return np.where(changed[:, -1], _evaluated(after, at), old)

        with np.errstate(all="ignore"):
            return dict(zip(players, shapley(value, len(players)), strict=True))


def _together(left: Sequence[Any], right: Sequence[Any]) -> list[tuple[list[Any], list[Any]]]:
    """Addends of two sums, in groups that have a symbol in common."""
    groups: list[tuple[set[Any], list[Any], list[Any]]] = []
    for place, terms in enumerate((left, right)):
        for term in terms:
            symbols, sides = set(term.free_symbols), ([], [])
            sides[place].append(term)
            for group in [each for each in groups if each[0] & symbols]:
                groups.remove(group)
                symbols |= group[0]
                for side in (0, 1):
                    sides[side][:0] = group[1 + side]
            groups.append((symbols, *sides))
    return [(before, after) for _, before, after in groups]


def _evaluated(expression: sympy.Basic, values: Mapping[str, Any]) -> Any:
    with np.errstate(all="ignore"):
        return compiled_expression(expression)(values)["value"]  # type: ignore[arg-type]


def _add(found: dict[Cause, float], more: Mapping[Cause, float]) -> None:
    for cause, amount in more.items():
        found[cause] = found.get(cause, 0.0) + float(amount)


def shapley(value: Callable[[np.ndarray], np.ndarray], players: int) -> Sequence[float]:
    """The mean effect of each player, over all orders in which they come.

    Parameters
    ----------
    value : callable
        Values of rows of truth values, one per player, that say who has come.
    players : int
        How many there are. Of more than ten, the orders that go round, both ways, stand for all.

    Returns
    -------
    sequence of float
        They add up to the value with all, less that with none.
    """
    if players <= ALL_ORDERS:
        rows = np.array([*itertools.product((False, True), repeat=players)])
        values = np.asarray(value(rows), float)
        size = rows.sum(axis=1)
        weight = np.array([math.factorial(k) * math.factorial(players - k - 1) for k in range(players)], float)
        found = []
        for player in range(players):
            without = np.flatnonzero(~rows[:, player])
            gain = values[without + (1 << (players - 1 - player))] - values[without]
            found.append(float(np.sum(gain * weight[size[without]]) / math.factorial(players)))
        return found
    orders = [np.roll(way, turn) for turn in range(players) for way in (range(players), range(players)[::-1])]
    gains = np.zeros(players)
    for order in orders:
        rows = np.zeros((players + 1, players), bool)
        for place, player in enumerate(order, start=1):
            rows[place:, player] = True
        gains[order] += np.diff(np.asarray(value(rows), float))
    return (gains / len(orders)).tolist()
