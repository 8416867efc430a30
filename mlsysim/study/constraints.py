"""What a constraint compares: the two sides of each of its comparisons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import sympy

from mlsysim.inputs.expressions import Expression
from mlsysim.symbolic import System

_OPERATORS = {sympy.Le: "<=", sympy.Lt: "<", sympy.Ge: ">=", sympy.Gt: ">"}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two quantities, one of which must be at most the other.

    Attributes
    ----------
    text : str
        As typed; of a part of a longer constraint, that part.
    left, right : Expression
        The two sides.
    condition : sympy.Basic
        What must hold.
    """

    text: str
    left: Expression
    right: Expression
    condition: sympy.Basic

    @property
    def at_most(self) -> bool:
        """Whether the left side must be the smaller one."""
        return isinstance(self.condition, sympy.Le | sympy.Lt)

    @property
    def excess(self) -> Expression:
        """By how much the comparison is missed: negative where it holds with room to spare."""
        less, more = (self.left, self.right) if self.at_most else (self.right, self.left)
        return replace(less, text=f"{less.text} - ({more.text})", sympy=less.sympy - more.sympy)  # type: ignore[operator]


def comparisons(constraint: Expression, system: System, read: Callable[[sympy.Basic], Expression]) -> list[Comparison]:
    """The comparisons that must all hold for a constraint to hold, as far as it is made of comparisons.

    Parameters
    ----------
    constraint : Expression
        A condition. A truth value such as ``feasible`` stands for the comparisons of its formula.
    system : System
        Formulas.
    read : callable
        From sympy to an expression with a unit.
    """
    condition = constraint.sympy
    if isinstance(condition, sympy.Symbol) and condition.name in system:
        condition = system[condition.name].expression
    parts = [part for part in sympy.And.make_args(condition) if type(part) in _OPERATORS]
    alone = len(parts) == 1 and parts[0] is constraint.sympy
    found = []
    for part in parts:
        operator = _OPERATORS[type(part)]
        left, right = map(read, part.args)
        typed = constraint.text.split(operator)
        if alone and len(typed) == 2 and "<" not in typed[1] + typed[0]:
            left, right = (replace(side, text=text.strip()) for side, text in zip((left, right), typed, strict=True))
        left, right = _as_constant(left, right), _as_constant(right, left)
        text = constraint.text if alone else f"{left.text} {operator} {right.text}"
        found.append(Comparison(text, left, right, part))
    return found


def _as_constant(side: Expression, other: Expression) -> Expression:
    """A side without variables in the unit of the other one."""
    if side.names:
        return side
    return replace(side, text=side.text.replace("*", " "), unit=other.unit)
