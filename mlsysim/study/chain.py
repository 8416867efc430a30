"""Formulas between inputs and an expression, substituted into one another along the terms that bind at a point."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import sympy

from mlsysim.backends import compiled_expression
from mlsysim.symbolic import Closed, Formula, System, variable_of
from mlsysim.symbolic.printing import text


class NoClosedFormError(Exception):
    """There is no closed form, or none worth reading."""


def value_at(expression: Any, values: Mapping[str, Any]) -> Any:
    """Evaluate an expression at canonical values of its symbols."""
    if type(expression) is sympy.Symbol and expression.name in values:  # neither a unit nor a label
        return values[expression.name]
    return compiled_expression(expression)(values)["value"]


def roots(coefficients: Sequence[Any], tidy: Callable[[Any], Any] = lambda expression: expression) -> list[Any]:
    """Return the zeros of a polynomial of degree one or two, leading coefficient first; none for other degrees."""
    if len(coefficients) == 2:
        return [tidy(-coefficients[1] / coefficients[0])]
    if len(coefficients) != 3:
        return []
    a, b, c = coefficients
    root = sympy.sqrt(tidy(b**2 - 4 * a * c))
    return [(-b + root) / (2 * a), (-b - root) / (2 * a)]


@lru_cache(maxsize=256)
def moved_by(system: System, names: tuple[str, ...]) -> dict[str, Formula]:
    """Return the formulas that depend on some inputs, by name and in order."""
    formulas: dict[str, Formula] = {}
    for formula in system:
        if any(v.name in names or v.name in formulas for v in formula.inputs):
            formulas[formula.name] = formula
    return formulas


@dataclass
class Chain:
    """Formulas substituted into one another in the cases that hold at a point.

    Attributes
    ----------
    system : System
        The formulas.
    inputs : tuple of str
        Inputs in which they are expressed, beside everything that does not depend on these.
    values : mapping
        Every canonical value at the point.
    largest : int
        Operations beyond which an expression would explain nothing.
    closed : tuple of type
        Expressions into which nothing is substituted.
    cases : list
        Conditions that hold at the point, on which the result rests.
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
        """Substitute into an expression the formulas that depend on the inputs.

        Raises
        ------
        NoClosedFormError
            If an expression is closed to substitution, or the result too large.
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
            raise NoClosedFormError
        return node.func(*map(self.through, node.args))

    def _symbol(self, name: str) -> Any:
        if name not in self._found:
            expression = self.through(self._formulas[name].expression)
            if expression.count_ops() > self.largest:
                raise NoClosedFormError
            self._found[name] = expression
        return self._found[name]

    def _binding(self, node: Any) -> Any:
        """Return the argument of a maximum or minimum that binds at the point."""
        choose, wins = (max, sympy.Ge) if isinstance(node, sympy.Max) else (min, sympy.Le)
        best = choose(node.args, key=lambda argument: float(value_at(argument, self.values)))
        self.cases += [wins(best, other, evaluate=False) for other in node.args if other is not best]
        return best

    def _case(self, node: Any) -> Any:
        """Return the case of a piecewise expression that holds at the point."""
        for value, condition in node.args:
            if condition == True:  # noqa: E712
                return value
            if value_at(condition, self.values):
                self.cases.append(condition)
                return value
            self.cases.append(sympy.Not(condition))
        raise NoClosedFormError


def _moves(node: Any, names: Collection[str]) -> bool:
    return any(symbol.name in names for symbol in node.free_symbols)
