"""The columns of a table of designs: what was chosen, what was asked for, and what was constrained."""

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

#: Headline outputs in the table, in addition to choices, objectives and what is constrained.
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
        Why it is in the table: it was chosen or follows from a choice, it is an objective, it is constrained, or it
        is one of the headline outputs.
    """

    header: str
    cells: tuple[Any, ...]
    kind: str

    @property
    def texts(self) -> tuple[str, ...]:
        """Every cell as text, in a unit of its own."""
        return tuple(formatting.quantity(cell) if units.is_quantity(cell) else str(cell) for cell in self.cells)

    @property
    def is_constant(self) -> bool:
        """True if all cells read the same."""
        return len({*self.texts}) == 1


def columns(asked: Problem, places: np.ndarray, results: Sequence[Result]) -> list[Column]:
    """All columns of a table of designs, each once.

    Parameters
    ----------
    asked : Problem
        What was asked.
    places : ndarray
        Index along every axis (columns) of each design (rows).
    results : sequence of Result
        One per design.
    """
    found = {slot: Column(slot, entry_names(asked, places, slot), "choice") for slot in swept_entries(asked)}
    for name in swept_inputs(asked):
        found[name] = _of_variable(name, results, "choice")
    for expression in (*(objective for objective, _ in asked.objectives), *_constrained(asked)):
        kind = "asked" if any(name in asked.binding.system for name in expression.names) else "limit"
        found.setdefault(expression.text, _of_expression(expression, results, kind))
    for name in (name for each in asked.constraints for name in each.names if name in asked.binding.system):
        if variable_of(name).domain.kind == "choice":
            found.setdefault(name, _of_variable(name, results, "asked"))
    heads = [name for name in asked.model.headline if name in asked.binding.system]
    for name in heads[:HEADLINE]:
        found.setdefault(name, _of_variable(name, results, "headline"))
    return list(found.values())


def swept_entries(asked: Problem) -> list[str]:
    """Arguments that are lists of catalog entries."""
    return [name for name, entry in asked.binding.entries.items() if isinstance(entry, list)]


def swept_inputs(asked: Problem) -> list[str]:
    """Swept and derived inputs that are numbers or labels."""
    axes = asked.binding.axes.items()
    names = [member for name, axis in axes for member in (axis.members or {name: axis})]
    names += [entry.variable.name for entry in asked.binding.derived]
    return [name for name in names if name not in swept_entries(asked)]


def entry_names(asked: Problem, places: np.ndarray, slot: str) -> tuple[str, ...]:
    """The entry of each design."""
    return tuple(str(asked.swept(place)[slot].name) for place in places)


def value_of(expression: Expression, result: Result) -> float:
    """An expression in canonical units, at one design."""
    function = compiled(result._binding.system, None, "numpy", (("value", lower(expression.sympy)),))
    return float(function(result._values)["value"])


def amount(expression: Expression, value: float) -> Any:
    """A canonical value in the unit of its expression: a quantity if it has a unit, and whole if it always is."""
    found: Any = number(expression, value)
    return found if expression.unit in ("", "count") else units.Q_(found, units.unit(expression.unit))


def number(expression: Expression, value: float) -> int | float:
    """A canonical value as a number in the unit of its expression."""
    found = float(units.from_canonical(value, expression.unit))
    whole = lower(expression.sympy).is_integer and math.isfinite(found)  # type: ignore[attr-defined]
    return round(found) if whole else found


def _constrained(asked: Problem) -> Iterable[Expression]:
    """Sides of comparisons that differ between designs, and the outputs in constraints that compare nothing."""
    system, values = asked.binding.system, asked.binding.values
    for constraint in asked.constraints:
        compared = asked.comparisons(constraint)
        for side in (side for each in compared for side in (each.left, each.right)):
            if any(name in system or np.ndim(values[name]) for name in side.names):
                yield side
        if not compared:
            for name in constraint.names:
                if name in system and variable_of(name).domain.kind != "choice":
                    yield asked.quantity(name)


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
    """The value of a variable, as a cell of a table."""
    if variable.domain.is_flag:
        return str(bool(value))
    seen = presented(variable, value)
    return seen if units.is_quantity(seen) else as_text(variable, value)


def render(table: Sequence[Column], width: int) -> str:
    """Columns as text: a row per design, or a column per design if there is one design or rows are too wide."""
    designs = range(1, len(table[0].cells) + 1)
    turned = show.fitted(["", *map(str, designs)], [[column.header, *column.texts] for column in table], width)
    if len(designs) == 1:
        return turned
    found = []
    for some in (table, [column for column in table if column.kind != "headline"]):
        rows = [[str(place), *cells] for place, *cells in zip(designs, *(column.cells for column in some), strict=True)]
        found.append(show.render(show.narrowed(["", *(column.header for column in some)], rows, width), rows))
    return next((text for text in found if show.extent(text) <= width), turned)
