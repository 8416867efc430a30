"""Substitution in expressions that leaves maxima, minima and cases unevaluated.

sympy compares the arguments of every maximum with each other whenever it builds one, and ``xreplace``
builds it anew: that took most of the time of printing and compiling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key, lru_cache
from typing import Any

import sympy
from sympy.core.relational import Relational

from mlsysim.symbolic.extremes import as_written

#: Sympy's order of terms and factors: numbers first.
IN_ORDER = cmp_to_key(sympy.Basic.compare)


#: Size of caches for subexpressions; many formulas share them.
SHARED = 2**15


@lru_cache(maxsize=SHARED)
def free_symbols(expression: Any) -> frozenset[Any]:
    """Collect the free symbols of an expression; cached, because sympy computes them anew for every part."""
    if type(expression).free_symbols is not sympy.Basic.free_symbols:
        return frozenset(expression.free_symbols)
    return frozenset().union(*map(free_symbols, expression.args))


def rebuilt(node: Any, args: Sequence[Any]) -> Any:
    """Rebuild a node with other arguments."""
    if tuple(args) == node.args:
        return node
    if isinstance(node, sympy.Max | sympy.Min):
        return as_written(node.func, args)
    return node.func(*args)


def numbered(node: Any, args: Sequence[Any]) -> Any:
    """Rebuild a node with numbers for units and labels; cases and comparisons stay unevaluated.

    A remainder that may not be of whole numbers becomes what the floor of the quotient leaves, so that both agree on
    which quotients are whole but for rounding.
    """
    if isinstance(node, sympy.Mod) and not all(arg.is_integer for arg in args):
        return _remainder(*args)
    if isinstance(node, sympy.Eq | sympy.Ne) and sympy.S.Zero in args:
        rest: Any = args[0] if args[1] == 0 else args[1]
        if isinstance(rest, sympy.Piecewise) and any(isinstance(arg, sympy.Mod) for arg in node.args):
            _, is_whole = rest.args[0].args
            return is_whole if isinstance(node, sympy.Eq) else sympy.Not(is_whole)
    if tuple(args) == node.args:
        return node
    if isinstance(node, sympy.Eq | sympy.Ne) and any(arg.is_Symbol for arg in args):
        symbol, other = args if args[0].is_Symbol else args[::-1]
        if other.is_Integer and other >= 0:
            return node.func(symbol, other, evaluate=False)
    if isinstance(node, sympy.Piecewise):
        settled = any(pair.cond in (sympy.true, sympy.false) for pair in args[:-1])
        return node.func(*args, evaluate=settled)
    return rebuilt(node, args)


def _remainder(whole: Any, by: Any) -> Any:
    """Compute a remainder; zero if the quotient is an integer within rounding."""
    quotient = whole / by
    is_whole = sympy.Eq(sympy.ceiling(quotient), sympy.floor(quotient))
    return sympy.Piecewise((sympy.S.Zero, is_whole), (whole - by * sympy.floor(quotient), True))


def renamed(node: Any, args: Sequence[Any]) -> Any:
    """Rebuild a node with symbols of the same assumptions, so that nothing further can be simplified."""
    if all(new is old for new, old in zip(args, node.args, strict=True)):
        return node
    if isinstance(node, sympy.Add | sympy.Mul):
        return node.func._from_args(sorted(args, key=IN_ORDER))
    if isinstance(node, sympy.Pow | sympy.Piecewise | Relational | sympy.log | sympy.exp | sympy.ceiling | sympy.floor):
        return node.func(*args, evaluate=False)
    return rebuilt(node, args)


def exchanged(expression: Any, swaps: Mapping[sympy.Basic, sympy.Basic], build: Callable[..., Any] = rebuilt) -> Any:
    """Exchange every key of ``swaps`` in the expression for its value."""
    known = dict(swaps)  # a part that stands often is exchanged once

    def exchange(node: Any) -> Any:
        if node not in known:
            known[node] = build(node, [*map(exchange, node.args)]) if node.args else node
        return known[node]

    return exchange(expression)
