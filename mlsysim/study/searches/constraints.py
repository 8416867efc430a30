"""Constraints: the condition that a design is feasible, and the comparisons that a constraint consists of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import sympy

from mlsysim.errors import InputError, MlsysimError
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.expressions import Expression, condition
from mlsysim.symbolic import Label, System, UnitSymbol, variable_of

#: Output of a model that tells whether a design meets its limits, such as the memory of its device.
FEASIBLE = "feasible"

_OPERATORS = {sympy.Le: "<=", sympy.Lt: "<", sympy.Ge: ">=", sympy.Gt: ">", sympy.Eq: "=="}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two quantities, one of which must be at most the other, or equal to it.

    Attributes
    ----------
    text : str
        The comparison as typed.
    left, right : Expression
        The two sides.
    condition : sympy.Basic
        Condition that must hold.
    """

    text: str
    left: Expression
    right: Expression
    condition: sympy.Basic

    @property
    def at_most(self) -> bool:
        """True if the left side must be the smaller one."""
        return isinstance(self.condition, sympy.Le | sympy.Lt)

    @property
    def equal(self) -> bool:
        """True if both sides must be equal, so that there is no room to use."""
        return isinstance(self.condition, sympy.Eq)

    @property
    def excess(self) -> Expression:
        """Amount by which the comparison is violated: negative if it holds with room to spare."""
        left, right = self.left.sympy, self.right.sympy
        over, under = left - right, right - left  # type: ignore[operator]
        excess = sympy.Max(over, under) if self.equal else over if self.at_most else under
        return replace(self.left, text=f"{self.left.text} - ({self.right.text})", sympy=excess)


def feasibility(
    model: DeclaredModel, system: System, own: Iterable[Expression], allow_infeasible: Any
) -> tuple[Expression, ...]:
    """Return the condition that a design is feasible, as one of several conditions; empty if it is not required.

    Parameters
    ----------
    model : DeclaredModel
        Model whose designs are searched.
    system : System
        Formulas that can be evaluated: without a device none tells whether a design is feasible.
    own : iterable of Expression
        Conditions that were given; one on feasibility, or one that implies it, replaces the default.
    allow_infeasible : bool
        Allow infeasible designs.

    Raises
    ------
    InputError
        If ``allow_infeasible`` is not a truth value.
    """
    if not isinstance(allow_infeasible, bool):
        raise InputError("allow_infeasible", allow_infeasible, "must be True or False")
    conditions = tuple(own)
    if (
        allow_infeasible
        or FEASIBLE not in system
        or any(FEASIBLE in condition_given.names for condition_given in conditions)
    ):
        return ()
    limit = system[FEASIBLE].expression
    if any(
        _follows(limit, part, system)
        for condition_given in conditions
        for part in sympy.And.make_args(condition_given.sympy)
    ):
        return ()
    return (condition(FEASIBLE, model, [FEASIBLE]),)


def _follows(limit: sympy.Basic, other: sympy.Basic, system: System) -> bool:
    """Tell whether another condition implies a limit: the same limit, or a share of it if it is a positive input."""
    if not isinstance(limit, sympy.Le) or not isinstance(other, sympy.Le | sympy.Lt | sympy.Ge | sympy.Gt):
        return False
    most = limit.gts
    if not isinstance(most, sympy.Symbol) or other.lts != limit.lts:
        return False
    share = other.gts / most  # type: ignore[operator]
    at_least_nothing = most.name not in system and variable_of(most.name).domain.lower >= 0
    return share == 1 or bool(at_least_nothing and share.is_number and 0 < share <= 1)


def comparisons(constraint: Expression, system: System, read: Callable[[Any], Expression]) -> list[Comparison]:
    """Return the numeric comparisons that must all hold for a constraint to hold; its other parts are left out.

    Parameters
    ----------
    constraint : Expression
        A condition. A truth value such as ``feasible`` stands for the comparisons of its formula.
    system : System
        Formulas.
    read : callable
        Function that reads sympy or text as an expression with a unit.
    """
    condition = constraint.sympy
    if condition == False:  # noqa: E712
        return _beyond_domains(constraint, read)
    if isinstance(condition, sympy.Symbol) and condition.name in system:
        condition = system[condition.name].expression
    parts = [part for part in sympy.And.make_args(condition) if type(part) in _OPERATORS and _of_numbers(part)]
    alone = len(parts) == 1 and parts[0] is constraint.sympy
    result = []
    for part in parts:
        operator = _OPERATORS[type(part)]
        left, right = map(read, part.args)
        typed = constraint.text.split(operator)
        if alone and len(typed) == 2 and "<" not in typed[1] + typed[0]:
            left, right = (replace(side, text=text.strip()) for side, text in zip((left, right), typed, strict=True))
        left, right = _as_constant(left, right), _as_constant(right, left)
        text = constraint.text if alone else f"{left.text} {operator} {right.text}"
        result.append(Comparison(text, left, right, part))
    return result


def _beyond_domains(constraint: Expression, read: Callable[[Any], Expression]) -> list[Comparison]:
    """Read, from its text, a constraint that sympy evaluates to false, such as a size of at most zero."""
    result = []
    for text in constraint.text.split(" and "):
        left, operator, right = (re.split("(<=|>=|==|<|>)", text) + [""] * 3)[:3]
        kinds: list[Any] = [kind for kind, sign in _OPERATORS.items() if sign == operator]
        if text.count(operator or " ") != 1 or not kinds or re.search(r"\b(or|not|in)\b", text):
            return []
        try:
            left_side, right_side = read(left.strip()), read(right.strip())
        except MlsysimError:  # a label, or part of something in brackets
            return []
        condition = kinds[0](left_side.sympy, right_side.sympy, evaluate=False)
        result.append(
            Comparison(
                text.strip(), _as_constant(left_side, right_side), _as_constant(right_side, left_side), condition
            )
        )
    return result


def _of_numbers(part: sympy.Basic) -> bool:
    """Tell whether a comparison is between numbers rather than labels."""
    symbols = [symbol for symbol in part.free_symbols if not isinstance(symbol, UnitSymbol | Label)]
    return not part.atoms(Label) and all(variable_of(s).domain.kind != "choice" for s in symbols)  # type: ignore[arg-type]


def _as_constant(side: Expression, other: Expression) -> Expression:
    """Give a side without variables the unit of the other side."""
    if side.names:
        return side
    return replace(side, text=side.text.replace("*", " "), unit=other.unit)
