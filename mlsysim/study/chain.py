"""Formulas between inputs and an expression, put into one another along the terms that bind at a point."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import sympy

from mlsysim.backends import compiled_expression
from mlsysim.symbolic import Closed, Formula, System, variable_of
from mlsysim.symbolic.printing import text


class UnturnableError(Exception):
    """There is no closed form, or none worth reading."""


def value_at(expression: Any, values: Mapping[str, Any]) -> Any:
    """An expression at canonical values of what it needs."""
    if type(expression) is sympy.Symbol and expression.name in values:  # neither a unit nor a label
        return values[expression.name]
    return compiled_expression(expression)(values)["value"]


def roots(coefficients: Sequence[Any], tidy: Callable[[Any], Any] = lambda expression: expression) -> list[Any]:
    """Zeros of a polynomial of first or second degree, its leading coefficient first; none of another."""
    if len(coefficients) == 2:
        return [tidy(-coefficients[1] / coefficients[0])]
    if len(coefficients) != 3:
        return []
    a, b, c = coefficients
    root = sympy.sqrt(tidy(b**2 - 4 * a * c))
    return [(-b + root) / (2 * a), (-b - root) / (2 * a)]


@lru_cache(maxsize=256)
def moved_by(system: System, names: tuple[str, ...]) -> dict[str, Formula]:
    """Formulas that some inputs move, by name and in order."""
    found: dict[str, Formula] = {}
    for formula in system:
        if any(v.name in names or v.name in found for v in formula.inputs):
            found[formula.name] = formula
    return found


@dataclass
class Chain:
    """Formulas put into one another in the cases that hold at a point.

    Attributes
    ----------
    system : System
        The formulas.
    inputs : tuple of str
        What they are expressed in, beside what these inputs do not move.
    values : mapping
        Every canonical value at the point.
    largest : int
        Operations beyond which an expression would explain nothing.
    closed : tuple of type
        Expressions into which nothing is put.
    cases : list
        The conditions that hold at the point, on which the result rests.
    """

    system: System
    inputs: tuple[str, ...]
    values: Mapping[str, Any]
    largest: int
    closed: tuple[type, ...] = (Closed,)
    cases: list[Any] = field(default_factory=list)
    _found: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._found |= {name: variable_of(name).symbol for name in self.inputs}
        self._formulas = moved_by(self.system, self.inputs)

    @property
    def where(self) -> tuple[str, ...]:
        """The cases that hold, as text."""
        return tuple(dict.fromkeys(map(text, self.cases)))

    def through(self, node: Any) -> Any:
        """An expression with the formulas of what the inputs move put in.

        Raises
        ------
        UnturnableError
            If one is closed to that, or too large.
        """
        if not _moves(node, self._found) and not _moves(node, self._formulas):
            return node
        if node.is_Symbol:
            return self._symbol(node.name)
        if isinstance(node, sympy.Max | sympy.Min):
            return self.through(self._binding(node))
        if isinstance(node, sympy.Piecewise):
            return self.through(self._case(node))
        if isinstance(node, self.closed) or not isinstance(node, sympy.Expr):
            raise UnturnableError
        return node.func(*map(self.through, node.args))

    def _symbol(self, name: str) -> Any:
        if name not in self._found:
            found = self.through(self._formulas[name].expression)
            if found.count_ops() > self.largest:
                raise UnturnableError
            self._found[name] = found
        return self._found[name]

    def _binding(self, node: Any) -> Any:
        """The argument of a maximum or minimum that is the largest or smallest at the point."""
        choose, wins = (max, sympy.Ge) if isinstance(node, sympy.Max) else (min, sympy.Le)
        best = choose(node.args, key=lambda argument: float(value_at(argument, self.values)))
        self.cases += [wins(best, other, evaluate=False) for other in node.args if other is not best]
        return best

    def _case(self, node: Any) -> Any:
        """The case of a distinction that holds at the point."""
        for value, condition in node.args:
            if condition == True:  # noqa: E712
                return value
            if value_at(condition, self.values):
                self.cases.append(condition)
                return value
            self.cases.append(sympy.Not(condition))
        raise UnturnableError


def _moves(node: Any, names: Collection[str]) -> bool:
    return any(symbol.name in names for symbol in node.free_symbols)
