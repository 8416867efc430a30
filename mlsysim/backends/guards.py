"""Keeps derivatives finite: an untaken branch of a Piecewise must not divide by zero.

Reverse- and forward-mode derivatives multiply the untaken branch by zero, and zero times infinity is
not a number. Inside each branch, whatever could blow up is evaluated only where the branch is taken.
"""

from __future__ import annotations

from typing import Any

import sympy

from mlsysim.backends.laws import SolvedLaw
from mlsysim.symbolic import ChunkedPrefill, ErlangC, LeastInteger
from mlsysim.symbolic.exchange import rebuilt


class Guard(sympy.Function):
    """``Guard(operand, taken, safe)``: the operand where taken, else the safe stand-in.

    Opaque to sympy, which would fold a Piecewise back into the power or logarithm around it.
    """

    nargs = 3
    is_commutative = True


def guarded(expression: Any, taken: Any = sympy.true) -> Any:
    """The expression with a safe stand-in for every risky operand of an untaken branch.

    Parameters
    ----------
    expression : sympy.Basic
        Lowered expression.
    taken : sympy Boolean
        Where the expression is used at all.

    Returns
    -------
    sympy.Basic
        Equal to ``expression`` wherever ``taken`` holds.
    """
    if isinstance(expression, LeastInteger | ChunkedPrefill | SolvedLaw) or not expression.args:
        return expression
    if isinstance(expression, sympy.Piecewise):
        cases: list[Any] = []
        earlier: Any = sympy.false
        pairs: Any = expression.args
        for value, condition in pairs:
            here = sympy.And(taken, condition, sympy.Not(earlier))
            cases.append((guarded(value, here), condition))
            earlier = sympy.Or(earlier, condition)
        return sympy.Piecewise(*cases, evaluate=False)
    args: list[Any] = [guarded(arg, taken) for arg in expression.args]
    if taken != True:  # noqa: E712
        if (isinstance(expression, sympy.Pow) and not _always_safe(expression)) or isinstance(expression, sympy.log):
            args[0] = _stand_in(args[0], taken, sympy.S.One)
        elif isinstance(expression, ErlangC):
            args[1] = _stand_in(args[1], taken, args[0] / 2)
    return rebuilt(expression, args)


def _always_safe(power: sympy.Pow) -> bool:
    return not power.base.free_symbols or bool(power.exp.is_integer and power.exp.is_nonnegative)


def _stand_in(operand: Any, taken: Any, safe: Any) -> Any:
    return Guard(operand, taken, safe) if operand.free_symbols else operand
