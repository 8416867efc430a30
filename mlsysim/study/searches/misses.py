"""Why no design meets the constraints: which constraint is out of reach, and by how much."""

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

#: A comparison of a constraint, as a constraint of its own; or the rest of one without its comparisons, and None.
Part = tuple[Expression, Comparison | None]
#: Solves a problem: the first of its best points as an index per axis, or None; and whether that is proven.
Answer = Callable[[Problem], tuple[Sequence[int] | None, bool]]


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
        The constraint as typed, or the comparison in it that is missed.
    nearest, limit : Side or None
        The value at the nearest point, and the value asked of it. None if the constraint compares no numbers, or if
        they are infinite everywhere.
    at : mapping
        The swept arguments of that point: names and labels as text, numbers in the unit of their variable.
    under : tuple of str
        Other constraints that hold at that point. Without them, this constraint can be met.
    proven : bool
        Whether no other point is nearer.
    """

    constraint: str
    nearest: Side | None
    limit: Side | None
    at: dict[str, Any]
    under: tuple[str, ...]
    proven: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __str__(self) -> str:
        under = f", where {' and '.join(self.under)}," if self.under else ""
        if self.nearest is None or self.limit is None:
            return f"{self.constraint}: met by no accepted point{under.rstrip(',')}"
        word = "nearest" if self.proven else "nearest found"
        place = ", ".join(f"{name}={_shown(name, value)}" for name, value in self.at.items())
        return f"{self.constraint}: {word}{under} {self.nearest.text} against {self.limit.text}, at {place}"


def misses(asked: Problem, answer: Answer) -> tuple[Miss, ...]:
    """The constraints that are out of reach.

    Each constraint is tried alone. Where each can be met, they exclude each other: they are added one by one, in the
    order they were given, and the first that cannot be met under those before it is returned.

    Parameters
    ----------
    asked : Problem
        To which no point is feasible, though some are accepted.
    answer : callable
        Solves a problem on the same grid.

    Returns
    -------
    tuple of Miss
        Empty where the constraints can be met, but not by a point at which the objective is a finite number.
    """
    parts = [part for constraint in asked.constraints for part in _parts(asked, constraint)]
    alone = [_miss(asked, part, (), answer) for part in parts]
    if any(alone):
        return tuple(miss for miss in alone if miss)
    for place in range(1, len(parts)):
        if miss := _miss(asked, parts[place], tuple(each for each, _ in parts[:place]), answer):
            return (miss,)
    return ()


def _parts(asked: Problem, constraint: Expression) -> list[Part]:
    compared = asked.comparisons(constraint)
    found: list[Part] = [(replace(constraint, text=each.text, sympy=each.condition), each) for each in compared]
    if not found:
        return [(constraint, None)]
    conditions = {each.condition for each in compared}
    others = [part for part in sympy.And.make_args(constraint.sympy) if part not in conditions]
    whole = [sympy.false, *(v.symbol for v in asked.binding.system.variables)]
    if others and constraint.sympy not in whole:
        found.append((replace(constraint, sympy=sympy.And(*others)), None))
    return found


def _miss(asked: Problem, part: Part, under: tuple[Expression, ...], answer: Answer) -> Miss | None:
    """Nearest miss of a constraint; None if it can be met."""
    texts, (constraint, compared) = tuple(expression.text for expression in under), part
    if compared is not None:
        nearest, proven = answer(replace(asked, objectives=((compared.excess, 1),), constraints=under))
        if nearest is not None and _met(asked, constraint, nearest):
            return None
        if nearest is not None:
            both = sides(compared, solve(asked.model, **asked.at(nearest)))
            return Miss(compared.text, *both, where(asked, nearest), texts, proven)
    one = Expression("1", sympy.Integer(1), {}, "")
    found, _ = answer(replace(asked, objectives=((one, 1),), constraints=(*under, constraint)))
    return None if found is not None else Miss(constraint.text, None, None, {}, texts, True)


def _met(asked: Problem, constraint: Expression, place: Sequence[int]) -> bool:
    binding = asked.binding
    one = Points(binding.system, (sympy.Integer(1),), (constraint.sympy,), binding.values)
    return bool(one(np.asarray(place, np.int64)[:, None])[1][0])


def sides(compared: Comparison, result: Result) -> tuple[Side, Side]:
    """Both sides of a comparison at one design, in one unit."""
    expressions = compared.left, compared.right
    values = [value_of(expression, result) for expression in expressions]
    cells = [amount(each, value) for each, value in zip(expressions, values, strict=True)]
    texts = show.cells([[cell] if units.is_quantity(cell) else [formatting.number(cell)] for cell in cells])
    left, right = (
        Side(number(each, value), "" if each.unit == "count" else each.unit, text)
        for each, value, (text,) in zip(expressions, values, texts, strict=True)
    )
    return left, right


def where(asked: Problem, place: Sequence[int]) -> dict[str, Any]:
    """The swept arguments at a point: names and labels as text, numbers in the unit of their variable."""
    found: dict[str, Any] = {}
    for (name, axis), index in zip(asked.binding.axes.items(), place, strict=True):
        for member, part in (axis.members or {name: axis}).items():
            entry = member in asked.binding.entries
            found[member] = (
                str(part.coordinates[index]) if entry else _typed(variable_of(member), float(part.canonical[index]))
            )
    return found


def _typed(variable: Variable, value: float) -> str | float | int:
    """A canonical value as it is typed, in the unit of its variable."""
    if variable.domain.kind == "choice" or variable.domain.is_flag:
        return typed(variable, value)
    return typed(variable, float(units.from_canonical(value, variable.unit)))


def _shown(name: str, value: Any) -> str:
    """A swept argument as text."""
    if isinstance(value, str):
        return value
    variable = variable_of(name)
    return as_text(
        variable, float(value) if isinstance(value, bool) else units.to_canonical(float(value), variable.unit)
    )
