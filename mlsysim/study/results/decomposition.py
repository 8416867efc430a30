"""Additive decomposition of a difference between two results.

A sum is split by its addends; addends that only one of two formulas has are parts of their own. Any other change of a
formula is split by Shapley values among the inputs that differ and the formula itself if it differs: the mean effect of
changing one, over all orders in which all are changed. Both splits are exact and additive. From formula to formula, a
part is passed on in proportion to the parts of its own inputs. If a formula is infinite in between, as is the wait for
new devices with the old number of replicas, the case that holds on both sides is split instead.
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

#: Most changes for which all orders are enumerated; beyond, cyclic orders both ways are used.
ALL_ORDERS = 10
#: Relative difference below which values count as equal.
SAME = 1e-13


@dataclass(frozen=True)
class Cause:
    """A cause of the difference between two results.

    Attributes
    ----------
    kind : {"variable", "formula", "term", "together"}
        A variable with two values; a variable with two formulas; an addend that only one formula has; or all changes of
        a variable together, which cannot be separated because something is infinite.
    name : str
        Name of the variable; for an addend that is a variable, of that variable.
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
        """Return the right side of the formula of a variable, lowered; None for an input."""
        return _lowered(self.system[name].expression) if name in self.system else None


@cache
def _lowered(expression: sympy.Basic) -> sympy.Basic:
    return lower(expression)


class Decomposition:
    """Difference of one output between two results, decomposed from the output down to the inputs."""

    def __init__(self, first: Side, second: Side, output: str) -> None:
        self.sides = first, second
        self.output = output
        self.difference = second.values[output] - first.values[output]

    def parts(self, name: str | None = None) -> dict[Cause, float]:
        """Decompose the difference of a variable, by default of the output, by one formula."""
        name = self.output if name is None else name
        first, second = (side.expression(name) for side in self.sides)
        if first is None or second is None:
            return {Cause("variable", name): self._change(name)}
        parts = self._split_change(name, first, second)
        if not all(map(math.isfinite, parts.values())):
            cases = [self._with_held_cases(expression, side) for side, expression in enumerate((first, second))]
            parts = self._split_change(name, *cases) if cases[0] == cases[1] else parts
        if not all(map(math.isfinite, parts.values())):
            return {Cause("together", name): self._change(name)}
        return {cause: amount for cause, amount in parts.items() if amount}

    def _split_change(self, name: str, first: Any, second: Any) -> dict[Cause, float]:
        """Decompose the change from one expression to another; infinite if an intermediate value is."""
        parts: dict[Cause, float] = {}
        if first != second:
            first, second = (
                self._with_binding_terms(expression, side) for side, expression in enumerate((first, second))
            )
        ours, theirs = (sympy.Add.make_args(expression) for expression in (first, second))
        shared = [addend for addend in ours if addend in theirs]
        pieces = [(addend, addend) for addend in shared]
        left, right = ([addend for addend in addends if addend not in shared] for addends in (ours, theirs))
        for before, after in _grouped_addends(left, right) if name == self.output else [(left, right)]:
            if before and after:
                pieces.append((sympy.Add(*before), sympy.Add(*after)))
            for side, alone in enumerate((before, after) if not (before and after) else ()):
                for term in alone:
                    cause = Cause("term", term.name if isinstance(term, sympy.Symbol) else name, text(term), side)
                    _add(parts, {cause: (2 * side - 1) * self._value(term, side)})
        for before, after in pieces:
            _add(parts, self._shapley_parts(name, before, after))
        return parts

    def causes(self) -> dict[Cause, float]:
        """Return the final causes of the difference: inputs, formulas and addends."""
        causes: dict[Cause, float] = {}
        amounts = {self.output: self.difference}
        passed: set[str] = set()
        for name in self.order:
            passed.add(name)
            amount = amounts.pop(name, 0.0)
            change = self._change(name)
            if not amount or not change:
                continue
            if not math.isfinite(change):
                _add(causes, {Cause("together", name): amount})
                continue
            for cause, part in self.parts(name).items():
                share = amount * (part / change)
                passes_on = cause.kind == "variable" and cause.name != name and cause.name not in passed
                if passes_on and any(cause.name in side.system for side in self.sides):
                    amounts[cause.name] = amounts.get(cause.name, 0.0) + share
                else:
                    _add(causes, {cause: share})
        return causes

    @cached_property
    def order(self) -> list[str]:
        """Variables that the output needs by either set of formulas, each before those it needs."""
        ordered: list[str] = []
        seen: set[str] = set()

        def visit(name: str) -> None:
            seen.add(name)
            for side in self.sides:
                if name in side.system:
                    for needed in side.system[name].inputs:
                        if needed.name not in seen:
                            visit(needed.name)
            ordered.append(name)

        visit(self.output)
        return ordered[::-1]

    def _change(self, name: str) -> float:
        before, after = (side.values.get(name, math.nan) for side in self.sides)
        return float(after) - float(before)

    def _differs(self, name: str) -> bool:
        before, after = (side.values.get(name) for side in self.sides)
        if before is None or after is None or before == after:
            return False
        largest = max(abs(after), abs(before))
        return not math.isfinite(largest) or abs(after - before) > SAME * largest

    def _with_binding_terms(self, expression: Any, side: int) -> Any:
        """Replace case distinctions, maxima and minima by the expression that holds."""
        if isinstance(expression, sympy.Add):
            return sympy.Add(*(self._with_binding_terms(addend, side) for addend in expression.args))
        if isinstance(expression, sympy.Piecewise):
            return self._with_binding_terms(self._held_case(expression, side), side)
        if isinstance(expression, sympy.Max | sympy.Min):
            choose = max if isinstance(expression, sympy.Max) else min
            return self._with_binding_terms(
                choose(expression.args, key=lambda argument: self._value(argument, side)), side
            )
        return expression

    def _held_case(self, expression: sympy.Piecewise, side: int) -> Any:
        values = self.sides[side].values
        pairs: Any = [case.args for case in expression.args]
        cases = (value for value, condition in pairs if condition is sympy.true or _evaluated(condition, values))
        return next(cases, expression)

    def _with_held_cases(self, expression: Any, side: int) -> Any:
        """Replace only case distinctions by the case that holds."""
        if isinstance(expression, sympy.Piecewise):
            taken = self._held_case(expression, side)
            return taken if taken is expression else self._with_held_cases(taken, side)
        if not isinstance(expression, sympy.Basic) or not expression.has(sympy.Piecewise):
            return expression
        return expression.func(*(self._with_held_cases(argument, side) for argument in expression.args))

    def _value(self, expression: sympy.Basic, side: int) -> float:
        return float(_evaluated(expression, self.sides[side].values))

    def _shapley_parts(self, name: str, before: sympy.Basic, after: sympy.Basic) -> dict[Cause, float]:
        """Split the change of an expression among the variables that change, and the formula, by Shapley values."""
        symbols = {symbol.name for symbol in before.free_symbols | after.free_symbols}  # type: ignore[attr-defined]
        changing = sorted(symbol for symbol in symbols if self._differs(symbol))
        players = [Cause("variable", changed_name) for changed_name in changing]
        if before != after:
            players.append(Cause("formula", name))
        if not players:
            return {}
        first, second = (side.values for side in self.sides)
        fixed = {symbol: first.get(symbol, second.get(symbol)) for symbol in symbols}

        def value(changed: np.ndarray) -> np.ndarray:
            """Evaluate the expression with the players of each row of truth values changed."""
            at: dict[str, Any] = dict(fixed)
            for column, name_changed in enumerate(changing):
                at[name_changed] = np.where(changed[:, column], second[name_changed], first[name_changed])
            old = np.broadcast_to(_evaluated(before, at), len(changed))
            if before == after:
                return old
            return np.where(changed[:, -1], _evaluated(after, at), old)

        with np.errstate(all="ignore"):
            return dict(zip(players, shapley(value, len(players)), strict=True))


def _grouped_addends(left: Sequence[Any], right: Sequence[Any]) -> list[tuple[list[Any], list[Any]]]:
    """Group the addends of two sums that have a symbol in common."""
    groups: list[tuple[set[Any], list[Any], list[Any]]] = []
    for index, terms in enumerate((left, right)):
        for term in terms:
            symbols, sides = set(term.free_symbols), ([], [])
            sides[index].append(term)
            for group in [candidate for candidate in groups if candidate[0] & symbols]:
                groups.remove(group)
                symbols |= group[0]
                for side in (0, 1):
                    sides[side][:0] = group[1 + side]
            groups.append((symbols, *sides))
    return [(before, after) for _, before, after in groups]


def _evaluated(expression: sympy.Basic, values: Mapping[str, Any]) -> Any:
    with np.errstate(all="ignore"):
        return compiled_expression(expression)(values)["value"]  # type: ignore[arg-type]


def _add(parts: dict[Cause, float], more: Mapping[Cause, float]) -> None:
    for cause, amount in more.items():
        parts[cause] = parts.get(cause, 0.0) + float(amount)


def shapley(value: Callable[[np.ndarray], np.ndarray], players: int) -> Sequence[float]:
    """Compute the Shapley value of each player: the mean effect over all orders in which the players join.

    Parameters
    ----------
    value : callable
        Function of rows of truth values, one per player, that say who has joined.
    players : int
        Number of players. Beyond ten, cyclic orders both ways stand for all orders.

    Returns
    -------
    sequence of float
        Values that add up to the value with all players less the value with none.
    """
    if players <= ALL_ORDERS:
        rows = np.array([*itertools.product((False, True), repeat=players)])
        values = np.asarray(value(rows), float)
        size = rows.sum(axis=1)
        weight = np.array([math.factorial(k) * math.factorial(players - k - 1) for k in range(players)], float)
        effects = []
        for player in range(players):
            without = np.flatnonzero(~rows[:, player])
            gain = values[without + (1 << (players - 1 - player))] - values[without]
            effects.append(float(np.sum(gain * weight[size[without]]) / math.factorial(players)))
        return effects
    orders = [np.roll(way, turn) for turn in range(players) for way in (range(players), range(players)[::-1])]
    gains = np.zeros(players)
    for order in orders:
        rows = np.zeros((players + 1, players), bool)
        for step, player in enumerate(order, start=1):
            rows[step:, player] = True
        gains[order] += np.diff(np.asarray(value(rows), float))
    return (gains / len(orders)).tolist()
