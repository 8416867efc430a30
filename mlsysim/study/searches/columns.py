"""Columns of a table of designs: choices, objectives and constraints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlsysim import formatting, show, units
from mlsysim.backends import compiled
from mlsysim.inputs.expressions import Expression
from mlsysim.study.results.display import as_text, presented
from mlsysim.study.results.result import Result
from mlsysim.study.searches.problem import Problem
from mlsysim.symbolic import Variable, lower, variable_of

#: Headline outputs in the table, in addition to choices, objectives and constrained quantities.
HEADLINE = 2


@dataclass(frozen=True)
class Column:
    """One column, a cell per design.

    Attributes
    ----------
    header : str
        Name or expression.
    cells : tuple
        Text, whole numbers and quantities, so that a table gives the column one unit.
    kind : {"choice", "asked", "limit", "headline"}
        Reason for the column: it was chosen or follows from a choice, it is an objective, it is constrained, or it is
        one of the headline outputs.
    """

    header: str
    cells: tuple[Any, ...]
    kind: str

    @property
    def texts(self) -> tuple[str, ...]:
        """Every cell as text, each in its own unit."""
        return tuple(formatting.quantity(cell) if units.is_quantity(cell) else str(cell) for cell in self.cells)

    @property
    def is_constant(self) -> bool:
        """True if all cells read the same."""
        return len({*self.texts}) == 1


def columns(problem: Problem, places: np.ndarray, results: Sequence[Result]) -> list[Column]:
    """Build all columns of a table of designs, each once.

    Parameters
    ----------
    problem : Problem
        Search problem.
    places : ndarray
        Index along every axis (columns) of each design (rows).
    results : sequence of Result
        One per design.
    """
    table = {slot: Column(slot, entry_names(problem, places, slot), "choice") for slot in swept_entries(problem)}
    for name in swept_inputs(problem):
        table[name] = _of_variable(name, results, "choice")
    for expression in (*(objective for objective, _ in problem.objectives), *_constrained(problem)):
        kind = "asked" if any(name in problem.binding.system for name in expression.names) else "limit"
        table.setdefault(expression.text, _of_expression(expression, results, kind))
    for name in (
        name for constraint in problem.constraints for name in constraint.names if name in problem.binding.system
    ):
        if variable_of(name).domain.kind == "choice":
            table.setdefault(name, _of_variable(name, results, "asked"))
    heads = [name for name in problem.model.headline if name in problem.binding.system]
    for name in heads[:HEADLINE]:
        table.setdefault(name, _of_variable(name, results, "headline"))
    return list(table.values())


def swept_entries(problem: Problem) -> list[str]:
    """Return the arguments that are lists of catalog entries."""
    return [name for name, entry in problem.binding.entries.items() if isinstance(entry, list)]


def swept_inputs(problem: Problem) -> list[str]:
    """Return the swept and derived inputs that are numbers or labels."""
    axes = problem.binding.axes.items()
    names = [member for name, axis in axes for member in (axis.members or {name: axis})]
    names += [entry.variable.name for entry in problem.binding.derived]
    return [name for name in names if name not in swept_entries(problem)]


def entry_names(problem: Problem, places: np.ndarray, slot: str) -> tuple[str, ...]:
    """Return the catalog entry of each design."""
    return tuple(str(problem.swept(position)[slot].name) for position in places)


def value_of(expression: Expression, result: Result) -> float:
    """Evaluate an expression at one design, in canonical units."""
    function = compiled(result._binding.system, None, "numpy", (("value", lower(expression.sympy)),))
    return float(function(result._values)["value"])


def amount(expression: Expression, value: float) -> Any:
    """Convert a canonical value to the unit of its expression: a quantity if it has one, and whole if it always is."""
    converted: Any = number(expression, value)
    return converted if expression.unit in ("", "count") else units.Q_(converted, units.unit(expression.unit))


def number(expression: Expression, value: float) -> int | float:
    """Convert a canonical value to a number in the unit of its expression."""
    converted = float(units.from_canonical(value, expression.unit))
    whole = lower(expression.sympy).is_integer and math.isfinite(converted)  # type: ignore[attr-defined]
    return round(converted) if whole else converted


def _constrained(problem: Problem) -> Iterable[Expression]:
    """Yield sides of comparisons that differ between designs, and outputs in constraints that compare nothing."""
    system, values = problem.binding.system, problem.binding.values
    for constraint in problem.constraints:
        compared = problem.comparisons(constraint)
        for side in (side for comparison in compared for side in (comparison.left, comparison.right)):
            if any(name in system or np.ndim(values[name]) for name in side.names):
                yield side
        if not compared:
            for name in constraint.names:
                if name in system and variable_of(name).domain.kind != "choice":
                    yield problem.quantity(name)


def _of_expression(expression: Expression, results: Sequence[Result], kind: str) -> Column:
    if expression.text in expression.names:
        return _of_variable(expression.text, results, kind)
    cells = [amount(expression, value_of(expression, result)) for result in results]
    formatted = [cell if units.is_quantity(cell) else formatting.number(cell) for cell in cells]
    return Column(expression.text, tuple(formatted), kind)


def _of_variable(name: str, results: Sequence[Result], kind: str) -> Column:
    variable = variable_of(name)
    return Column(name, tuple(_cell(variable, result.canonical(name)) for result in results), kind)


def _cell(variable: Variable, value: float) -> Any:
    """Format the value of a variable as a cell of a table."""
    if variable.domain.is_flag:
        return str(bool(value))
    shown = presented(variable, value)
    return shown if units.is_quantity(shown) else as_text(variable, value)


def render(table: Sequence[Column], width: int) -> str:
    """Render columns as text: a row per design, or a column per design if there is one design or rows are too wide."""
    designs = range(1, len(table[0].cells) + 1)
    transposed = show.fitted(["", *map(str, designs)], [[column.header, *column.texts] for column in table], width)
    if len(designs) == 1:
        return transposed
    candidates = []
    for shown in (table, [column for column in table if column.kind != "headline"]):
        rows = [
            [str(number), *cells] for number, *cells in zip(designs, *(column.cells for column in shown), strict=True)
        ]
        candidates.append(show.render(show.narrowed(["", *(column.header for column in shown)], rows, width), rows))
    return next((text for text in candidates if show.extent(text) <= width), transposed)
