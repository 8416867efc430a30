"""Formulas at a point: the cases that hold there, without what is zero, and the rest symbolic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from mlsysim.backends import graph_of
from mlsysim.graph.passes.known import known
from mlsysim.symbolic import Closed, System, variable_of

#: What no number is, and so no result of putting zeros in.
_UNDEFINED = (sympy.zoo, sympy.nan)


class Specialised:
    """Rewrites the formulas of a system for a point, of which some inputs may be unknown.

    The graph of the system is partially evaluated at the inputs that are known. Cases and extremes that these values
    decide are replaced by the branch that holds; labels, flags and zeros are put in; all else keeps its symbol.

    Parameters
    ----------
    system : System
        Whose formulas are rewritten.
    values : mapping
        Canonical values of inputs.

    Attributes
    ----------
    conditions : dict
        Conditions between numbers that decided a case, in order: what was rewritten holds where they do.
    """

    def __init__(self, system: System, values: Mapping[str, Any]) -> None:
        graph = known(
            graph_of(system, None, tuple((formula.name, formula.variable.symbol) for formula in system)), values
        )
        numbers = {name: graph.nodes[index].data for name, index in graph.outputs.items()
                   if graph.nodes[index].op == "number"}  # fmt: skip
        numbers |= {variable.name: values[variable.name] for variable in system.inputs if variable.name in values}
        self.conditions: dict[Any, None] = {}
        self._numbers: dict[Any, Any] = {}
        self._settled: dict[Any, Any] = {}
        for name, value in numbers.items():
            variable = variable_of(name)
            exact = _exact(value, variable.domain.kind)
            self._numbers[variable.symbol] = exact
            if exact == 0 or variable.domain.is_flag or variable.domain.kind in ("choice", "boolean"):
                self._settled[variable.symbol] = exact

    def rewrite(self, expression: Any, moving: set[Any]) -> Any:
        """Rewrite an expression; symbols that move keep their place even where they are zero."""
        if expression.is_Symbol:
            return expression if expression in moving else self._settled.get(expression, expression)
        if not expression.args or isinstance(expression, Closed):
            return expression
        if isinstance(expression, sympy.Piecewise):
            return self._case(expression, moving)
        args = [self.rewrite(arg, moving) for arg in expression.args]
        if isinstance(expression, sympy.Max | sympy.Min):
            return self._extreme(expression, args)
        return _built(expression, args)

    def _case(self, piecewise: Any, moving: set[Any]) -> Any:
        open_cases = []
        for branch, condition in piecewise.args:
            held = self._decided(condition)
            if held == sympy.false:
                continue
            if held == sympy.true and not open_cases:
                return self.rewrite(branch, moving)
            open_cases.append((self.rewrite(branch, moving), held))
        return sympy.Piecewise(*open_cases)

    def _decided(self, condition: Any) -> Any:
        """A condition as far as labels, flags and zeros decide it, else by the numbers, which is then noted."""
        settled = _put(condition, self._settled)
        if settled in (sympy.true, sympy.false):
            return settled
        held = _put(settled, self._numbers)
        if held not in (sympy.true, sympy.false):
            return settled
        self.conditions[settled if held == sympy.true else sympy.Not(settled)] = None
        return held

    def _extreme(self, extreme: Any, args: list[Any]) -> Any:
        sizes = [_put(arg, self._numbers) for arg in args]
        if not all(size.is_number and size.is_comparable for size in sizes):
            return _built(extreme, args)
        largest = isinstance(extreme, sympy.Max)
        binding = (max if largest else min)(range(len(args)), key=lambda index: sizes[index])
        for other in args:
            if other != args[binding]:
                held = (sympy.Ge if largest else sympy.Le)(args[binding], other)
                if held not in (sympy.true, sympy.false):
                    self.conditions[held] = None
        return args[binding]


def _put(expression: Any, values: Mapping[Any, Any]) -> Any:
    """An expression with values in place of symbols; as it was where that is no number."""
    try:
        replaced = expression.xreplace(values)
    except (TypeError, ValueError):  # SymPy compares nothing with what is no number
        return expression
    return expression if replaced.has(*_UNDEFINED) else replaced


def _built(expression: Any, args: list[Any]) -> Any:
    """An expression of other arguments; as it was where these give no number."""
    try:
        rewritten = expression.func(*args)
    except (TypeError, ValueError):
        return expression
    return expression if rewritten.has(*_UNDEFINED) else rewritten


def _exact(value: Any, kind: str) -> Any:
    if kind == "boolean":
        return sympy.true if value else sympy.false
    number = float(value)
    return sympy.Integer(int(number)) if number.is_integer() else sympy.Float(number)
