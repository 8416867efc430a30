"""A product with a factor of exactly zero is zero, also where another factor is infinite.

A rate of zero costs zero, whatever it is a rate of. In floating point zero times infinity is not a number, so an
infinite quantity counts as zero where a factor beside it is zero. Only what a formula *states* to be infinite is
such a quantity: an infinite case, a least integer that does not exist, and what follows from them. Zero over zero
stays undefined, for no rule knows its value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any

import sympy

from mlsysim.symbolic import ChunkedPrefill, ErlangC, EvaluatedAt, LeastInteger, NormalCDF, Root, SlotsBusy

#: A variable and the lowered expression that gives it.
Line = tuple[sympy.Symbol, Any]


class Beside(sympy.Function):
    """``Beside(quantity, *factors)``: the quantity, but zero where it is infinite and one of the factors is zero.

    It sorts where the quantity does, so that a product is multiplied in the same order with and without it.
    """

    is_commutative = True

    def sort_key(self, order: Any = None) -> Any:
        """Place in a product: that of the quantity, and right behind it, or two runs might print two orders."""
        return (*self.args[0].sort_key(order), 1)


def kept_zero(
    lines: Iterable[Line], asked: Sequence[Any] = (), infinite: Iterable[sympy.Symbol] = ()
) -> tuple[list[Line], list[Any]]:
    """Formulas in which nothing times infinity is nothing.

    Parameters
    ----------
    lines : iterable of (sympy.Symbol, sympy.Basic)
        Variables with the lowered expressions that give them, each after those it needs.
    asked : sequence of sympy.Basic
        Further lowered expressions in these variables.
    infinite : iterable of sympy.Symbol
        Symbols in ``asked`` that may be infinite, beside those of ``lines``.

    Returns
    -------
    list of (sympy.Symbol, sympy.Basic), list of sympy.Basic
        The same, with :class:`Beside` around what may be infinite beside a factor that may be zero.
    """
    lines = tuple(lines)
    known = may_be_infinite(lines) | frozenset(infinite)
    return [(symbol, _kept(expression, known)) for symbol, expression in lines], [_kept(each, known) for each in asked]


def may_be_infinite(lines: Iterable[Line]) -> frozenset[sympy.Symbol]:
    """Variables of which formulas state that they may be infinite; lines as for :func:`kept_zero`."""
    infinite: set[sympy.Symbol] = set()
    for symbol, expression in lines:
        if _may_be_infinite(expression, infinite):
            infinite.add(symbol)
    return frozenset(infinite)


def _may_be_infinite(node: Any, infinite: Set[sympy.Symbol]) -> bool:
    if node.is_Atom:
        return node in infinite or node in (sympy.oo, -sympy.oo)
    if isinstance(node, LeastInteger):
        return True
    if isinstance(node, ChunkedPrefill):
        return not node.output.endswith("attainment")  # beyond the capacity
    if isinstance(node, EvaluatedAt):
        return node.definitions[-1][0] in _infinite_steps(node, infinite)
    if isinstance(node, sympy.logic.boolalg.Boolean | ErlangC | SlotsBusy | NormalCDF):
        return False
    if isinstance(node, Root):
        return _may_be_infinite(node.upper, infinite)
    if isinstance(node, sympy.Piecewise):
        pairs: Any = node.args
        return any(_may_be_infinite(value, infinite) for value, _ in pairs)
    if isinstance(node, sympy.Pow) and node.exp.could_extract_minus_sign():
        return False
    least = all if isinstance(node, sympy.Min) else any
    return least(_may_be_infinite(arg, infinite) for arg in node.args)


def _kept(node: Any, infinite: Set[sympy.Symbol]) -> Any:
    if isinstance(node, LeastInteger) or not _mentions(node, infinite):
        return node
    if isinstance(node, EvaluatedAt):  # its steps are formulas, and give what these give
        known = _infinite_steps(node, infinite)
        steps = (sympy.Tuple(symbol, _kept(step, known)) for symbol, step in node.definitions)
        return node.func(*node.args[:2], sympy.Tuple(*steps))
    args = [_kept(arg, infinite) for arg in node.args]
    if isinstance(node, sympy.Mul):
        args = [_guarded(arg, args[:place] + args[place + 1 :], infinite) for place, arg in enumerate(args)]
    if all(new is old for new, old in zip(args, node.args, strict=True)):
        return node
    unevaluated = isinstance(node, sympy.Piecewise | sympy.Max | sympy.Min)
    return node.func(*args, evaluate=False) if unevaluated else node.func(*args)


def _infinite_steps(node: EvaluatedAt, infinite: Set[sympy.Symbol]) -> Set[sympy.Symbol]:
    """The symbols that may be infinite within what a variable would be elsewhere: those outside, and of its steps."""
    found = set(infinite)
    for symbol, step in node.definitions:
        if _may_be_infinite(step, found):
            found.add(symbol)
    return found


def _mentions(node: Any, infinite: Set[sympy.Symbol]) -> bool:
    """Whether something infinite may stand anywhere within."""
    return not infinite.isdisjoint(node.free_symbols) or node.has(sympy.oo, LeastInteger, ChunkedPrefill)


def _guarded(factor: Any, others: Sequence[Any], infinite: Set[sympy.Symbol]) -> Any:
    if not _may_be_infinite(factor, infinite):
        return factor
    zeros = [other for other in others if not _divides(other) and other.is_zero is not False]
    return Beside(factor, *zeros) if zeros else factor


def _divides(factor: Any) -> bool:
    """Whether it is a divisor: one over infinity is zero too, and infinity over infinity has no value."""
    return isinstance(factor, sympy.Pow) and factor.exp.could_extract_minus_sign()
