"""Misses: the constraints that no design meets, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import sympy

from mlsysim import formatting, show, units
from mlsysim.bounds import Points
from mlsysim.inputs.expressions import Expression
from mlsysim.inputs.refusal import typed
from mlsysim.study.results.display import as_text
from mlsysim.study.results.result import Result
from mlsysim.study.searches.columns import amount, number, value_of
from mlsysim.study.searches.constraints import Comparison
from mlsysim.study.searches.problem import Problem
from mlsysim.study.solve import solve
from mlsysim.symbolic import Variable, variable_of

#: A comparison of a constraint, as a constraint of its own; or the rest of a constraint without comparisons, and None.
Part = tuple[Expression, Comparison | None]
#: Function that solves a problem: its first best point as an index per axis, or None; and whether that is proven.
BestPoint = Callable[[Problem], tuple[Sequence[int] | None, bool]]


@dataclass(frozen=True)
class Side:
    """One side of a comparison at the nearest point."""

    value: float
    unit: str
    text: str


@dataclass(frozen=True)
class Miss:
    """A constraint that no accepted point meets, and the point that comes nearest.

    Attributes
    ----------
    constraint : str
        The constraint as typed, or the comparison in it that fails.
    nearest, limit : Side or None
        The value at the nearest point, and its limit there. None if the constraint compares no numbers, or if they are
        infinite everywhere.
    at : mapping
        Swept arguments of that point: names and labels as text, numbers in the unit of their variable.
    under : tuple of str
        Other constraints that hold at that point. Without them this constraint can be met.
    proven : bool
        True if no other point is nearer.
    """

    constraint: str
    nearest: Side | None
    limit: Side | None
    at: dict[str, Any]
    under: tuple[str, ...]
    proven: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def __str__(self) -> str:
        under = f", where {' and '.join(self.under)}," if self.under else ""
        if self.nearest is None or self.limit is None:
            return f"{self.constraint}: met by no accepted point{under.rstrip(',')}"
        word = "nearest" if self.proven else "nearest found"
        point = ", ".join(f"{name}={_shown(name, value)}" for name, value in self.at.items())
        return f"{self.constraint}: {word}{under} {self.nearest.text} against {self.limit.text}, at {point}"


def misses(problem: Problem, best_point: BestPoint) -> tuple[Miss, ...]:
    """Find the constraints that cannot be met.

    Each constraint is tried alone. If each can be met, they exclude each other: they are added one by one in the order
    given, and the first that cannot be met together with those before it is returned.

    Parameters
    ----------
    problem : Problem
        Problem without a feasible point, although some points are accepted.
    best_point : callable
        Function that solves a problem on the same grid.

    Returns
    -------
    tuple of Miss
        Empty if the constraints can be met, but only where the objective is infinite or undefined.
    """
    parts = [part for constraint in problem.constraints for part in _parts(problem, constraint)]
    alone = [_miss(problem, part, (), best_point) for part in parts]
    if any(alone):
        return tuple(miss for miss in alone if miss)
    for index in range(1, len(parts)):
        if miss := _miss(problem, parts[index], tuple(constraint for constraint, _ in parts[:index]), best_point):
            return (miss,)
    return ()


def _parts(problem: Problem, constraint: Expression) -> list[Part]:
    compared = problem.comparisons(constraint)
    parts: list[Part] = [
        (replace(constraint, text=comparison.text, sympy=comparison.condition), comparison) for comparison in compared
    ]
    if not parts:
        return [(constraint, None)]
    conditions = {comparison.condition for comparison in compared}
    others = [part for part in sympy.And.make_args(constraint.sympy) if part not in conditions]
    whole = [sympy.false, *(variable.symbol for variable in problem.binding.system.variables)]
    if others and constraint.sympy not in whole:
        parts.append((replace(constraint, sympy=sympy.And(*others)), None))
    return parts


def _miss(problem: Problem, part: Part, under: tuple[Expression, ...], best_point: BestPoint) -> Miss | None:
    """Return the nearest miss of a constraint; None if it can be met."""
    texts, (constraint, comparison) = tuple(expression.text for expression in under), part
    if comparison is not None:
        nearest, proven = best_point(replace(problem, objectives=((comparison.excess, 1),), constraints=under))
        if nearest is not None and _met(problem, constraint, nearest):
            return None
        if nearest is not None:
            both = sides(comparison, solve(problem.model, **problem.at(nearest)))
            return Miss(comparison.text, *both, where(problem, nearest), texts, proven)
    constant = Expression("1", sympy.Integer(1), {}, "")
    point, _ = best_point(replace(problem, objectives=((constant, 1),), constraints=(*under, constraint)))
    return None if point is not None else Miss(constraint.text, None, None, {}, texts, True)


def _met(problem: Problem, constraint: Expression, position: Sequence[int]) -> bool:
    binding = problem.binding
    points = Points(binding.system, (sympy.Integer(1),), (constraint.sympy,), binding.values)
    return bool(points(np.asarray(position, np.int64)[:, None])[1][0])


def sides(comparison: Comparison, result: Result) -> tuple[Side, Side]:
    """Evaluate both sides of a comparison at one design, in one unit."""
    expressions = comparison.left, comparison.right
    values = [value_of(expression, result) for expression in expressions]
    cells = [amount(expression, value) for expression, value in zip(expressions, values, strict=True)]
    texts = show.cells([[cell] if units.is_quantity(cell) else [formatting.number(cell)] for cell in cells])
    left, right = (
        Side(number(expression, value), "" if expression.unit == "count" else expression.unit, text)
        for expression, value, (text,) in zip(expressions, values, texts, strict=True)
    )
    return left, right


def where(problem: Problem, position: Sequence[int]) -> dict[str, Any]:
    """Return the swept arguments at a point: names and labels as text, numbers in the unit of their variable."""
    settings: dict[str, Any] = {}
    for (name, axis), index in zip(problem.binding.axes.items(), position, strict=True):
        for member, part in (axis.members or {name: axis}).items():
            entry = member in problem.binding.entries
            settings[member] = (
                str(part.coordinates[index]) if entry else _typed(variable_of(member), float(part.canonical[index]))
            )
    return settings


def _typed(variable: Variable, value: float) -> str | float | int:
    """Convert a canonical value to how it is typed, in the unit of its variable."""
    if variable.domain.kind == "choice" or variable.domain.is_flag:
        return typed(variable, value)
    return typed(variable, float(units.from_canonical(value, variable.unit)))


def _shown(name: str, value: Any) -> str:
    """Format a swept argument."""
    if isinstance(value, str):
        return value
    variable = variable_of(name)
    return as_text(
        variable, float(value) if isinstance(value, bool) else units.to_canonical(float(value), variable.unit)
    )
