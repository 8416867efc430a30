"""An equation solved for one symbol: step by step where it stands once, as a polynomial where it stands often."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from mlsysim.study.chain import UnturnableError

#: Operations, and places of the symbol, beyond which an equation is not brought to a polynomial.
LARGEST, PLACES = 120, 12


def turned(left: Any, symbol: sympy.Symbol, right: Any) -> Iterator[Any]:
    """Solve an equation for a symbol.

    Parameters
    ----------
    left : sympy.Expr
        Holds the symbol.
    symbol : sympy.Symbol
        What is solved for.
    right : sympy.Expr
        Does not hold it.

    Yields
    ------
    sympy.Expr
        One of the solutions; of a rounding both neighbours, of which one is right.

    Raises
    ------
    UnturnableError
        If there is no closed form.
    """
    places = _places(left, symbol)
    if places == 0 or places > PLACES:
        raise UnturnableError
    if places == 1:
        yield from _alone(left, symbol, right)
        return
    rounded = _rounded(left, symbol)
    if rounded is not None:
        stands = sympy.Dummy("step", real=True)
        outer = left.xreplace({rounded: stands})
        for whole in turned(outer, stands, right):
            yield from _inside(rounded, symbol, whole)
        return
    yield from _polynomial(left, symbol, right)


def _places(expression: Any, symbol: sympy.Symbol) -> int:
    return sum(1 for node in sympy.preorder_traversal(expression) if node == symbol)


def _rounded(expression: Any, symbol: sympy.Symbol) -> Any:
    """The only rounding through which an expression depends on a symbol, if that is how it does."""
    nodes = {node for node in expression.atoms(sympy.ceiling, sympy.floor) if symbol in node.free_symbols}
    outer = [node for node in nodes if not any(node in other.atoms(type(node)) for other in nodes - {node})]
    if len(outer) != 1:
        if nodes:
            raise UnturnableError
        return None
    if symbol in expression.xreplace({outer[0]: sympy.Dummy()}).free_symbols:
        raise UnturnableError
    return outer[0]


def _inside(rounded: Any, symbol: sympy.Symbol, value: Any) -> Iterator[Any]:
    """A symbol inside a rounding that must have a value: the whole number below it, and the one above."""
    order = (sympy.floor, sympy.ceiling) if isinstance(rounded, sympy.ceiling) else (sympy.ceiling, sympy.floor)
    for whole in order:
        yield from turned(rounded.args[0], symbol, whole(value))


def _alone(left: Any, symbol: sympy.Symbol, right: Any) -> Iterator[Any]:
    """A symbol that stands once, freed of what stands around it."""
    while left != symbol:
        if isinstance(left, sympy.ceiling | sympy.floor):
            yield from _inside(left, symbol, right)
            return
        others = [arg for arg in left.args if symbol not in arg.free_symbols]
        (holds,) = (arg for arg in left.args if symbol in arg.free_symbols)
        if isinstance(left, sympy.Add):
            right = right - sympy.Add(*others)
        elif isinstance(left, sympy.Mul):
            right = right / sympy.Mul(*others)
        elif isinstance(left, sympy.Pow) and holds == left.base:
            right = right ** (1 / left.exp)
        elif isinstance(left, sympy.Pow):
            right = sympy.log(right) / sympy.log(left.base)
        elif isinstance(left, sympy.log):
            right = sympy.exp(right)
        elif isinstance(left, sympy.exp):
            right = sympy.log(right)
        else:
            raise UnturnableError
        left = holds
    yield right


def _polynomial(left: Any, symbol: sympy.Symbol, right: Any) -> Iterator[Any]:
    """Solutions of an equation that is rational in a symbol, of degree one or two."""
    parts: dict[Any, sympy.Dummy] = {}
    small = _hoisted(left, symbol, parts) - _hoisted(right, symbol, parts)
    if sympy.count_ops(small) > LARGEST or small.atoms(sympy.Function) or _has_roots(small, symbol):
        raise UnturnableError
    above, _ = sympy.fraction(sympy.together(small))
    try:
        polynomial = sympy.Poly(above, symbol)
    except sympy.PolynomialError:
        raise UnturnableError from None
    back = {stands: part for part, stands in parts.items()}
    coefficients = [each.xreplace(back) for each in polynomial.all_coeffs()]
    if len(coefficients) == 2:
        a, b = coefficients
        yield -b / a
    elif len(coefficients) == 3:
        a, b, c = coefficients
        root = sympy.sqrt(b**2 - 4 * a * c)
        yield (-b + root) / (2 * a)
        yield (-b - root) / (2 * a)
    else:
        raise UnturnableError


def _has_roots(expression: Any, symbol: sympy.Symbol) -> bool:
    """Tell whether a power of what holds the symbol is not whole."""
    return any(symbol in power.free_symbols and not power.exp.is_Integer for power in expression.atoms(sympy.Pow))


def _hoisted(node: Any, symbol: sympy.Symbol, parts: dict[Any, sympy.Dummy]) -> Any:
    """An expression in which one letter stands for each part without the symbol."""
    if symbol not in node.free_symbols:
        return node if node.is_number else parts.setdefault(node, sympy.Dummy(f"c{len(parts)}"))
    if not node.args:
        return node
    if isinstance(node, sympy.Add | sympy.Mul):
        fixed = [arg for arg in node.args if symbol not in arg.free_symbols]
        moving = [_hoisted(arg, symbol, parts) for arg in node.args if symbol in arg.free_symbols]
        return node.func(*moving, _hoisted(node.func(*fixed), symbol, parts))
    return node.func(*(_hoisted(arg, symbol, parts) for arg in node.args))
