"""Maxima, minima and remainders that are kept as written.

``sympy.Max`` asks of every pair of arguments whether one is always at least the other, and ``sympy.Mod`` whether the
dividend lies within the divisor. That took half of the time of declaring all formulas and decided nothing: no formula
lists what another argument covers, or a remainder that is always the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy


def Max(*args: Any) -> Any:  # noqa: N802
    """Build the maximum of several expressions.

    Parameters
    ----------
    *args
        Expressions and numbers.

    Returns
    -------
    sympy.Max
        Maximum with nested maxima flattened; expressions are not compared with each other.

    Examples
    --------
    >>> import sympy
    >>> from mlsysim.symbolic import Max
    >>> a, b = sympy.symbols("a b", positive=True)
    >>> Max(a, b).subs({a: 2, b: 3})
    3
    """
    return as_written(sympy.Max, args)


def Min(*args: Any) -> Any:  # noqa: N802
    """Build the minimum of several expressions; see :func:`Max`.

    Parameters
    ----------
    *args
        Expressions and numbers.

    Returns
    -------
    sympy.Min

    Examples
    --------
    >>> import sympy
    >>> from mlsysim.symbolic import Min
    >>> a, b = sympy.symbols("a b", positive=True)
    >>> Min(a, b).subs({a: 2, b: 3})
    2
    """
    return as_written(sympy.Min, args)


def Mod(whole: Any, by: Any) -> Any:  # noqa: N802
    """Build the remainder of a division, as ``sympy.Mod`` does; of two numbers it is a number.

    Parameters
    ----------
    whole, by : sympy.Expr or number
        Dividend and divisor.

    Returns
    -------
    sympy.Mod or sympy.Integer

    Examples
    --------
    >>> from mlsysim.symbolic import Mod
    >>> Mod(7, 4)
    3
    """
    dividend, divisor = sympy.sympify(whole, strict=True), sympy.sympify(by, strict=True)
    return sympy.Mod(dividend, divisor, evaluate=bool(dividend.is_number))


def as_written(kind: Any, args: Iterable[Any]) -> Any:
    """Build sympy's ``Max`` or ``Min`` as written; numbers among the arguments are merged into one."""
    arguments = [sympy.sympify(arg, strict=True) for arg in args]
    flat = [item for arg in arguments for item in (arg.args if arg.func is kind else (arg,))]
    numbers = [part for part in flat if part.is_number]
    plain = len(numbers) < 2 and sympy.oo not in numbers and -sympy.oo not in numbers
    return kind(*flat, evaluate=not plain or not all(isinstance(part, sympy.Expr) for part in flat))
