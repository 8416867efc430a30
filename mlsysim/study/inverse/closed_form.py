"""The unknown in closed form: the formulas between it and a target, turned around where they can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from mlsysim import units
from mlsysim.inputs.expressions import Expression
from mlsysim.study.chain import Chain, UnturnableError, roots, value_at
from mlsysim.study.inverse.landscape import Block, Landscape
from mlsysim.symbolic import UnitSymbol, Variable
from mlsysim.symbolic.printing import equation, symbol_text, text

#: Operations of the formulas put into one another, beyond which a closed form would explain nothing.
LARGEST = 250
#: How far, of its size, the closed form may lie from what was found in numbers.
AGREES = 1e-9
#: Operations of a closed form that is still worth reading.
READABLE = 60
#: Cases of formulas that are listed.
CASES = 6
#: Relations of sympy, and LaTeX.
RELATIONS: dict[str, tuple[Any, str]] = {"=": (sympy.Eq, "="), "≤": (sympy.Le, r"\le"), "≥": (sympy.Ge, r"\ge")}
#: Operations, and places of the symbol, beyond which an equation is not brought to a polynomial.
RATIONAL, PLACES = 120, 12


@dataclass(frozen=True)
class ClosedForm:
    """The unknown as a formula.

    Attributes
    ----------
    variable : Variable
        The unknown.
    relation : str
        ``"="``; or ``"≤"`` and ``"≥"`` where the model accepts only some of the whole numbers on that side.
    expression : sympy.Expr
        In inputs, in outputs that the unknown does not move, and in the target.
    where : tuple of str
        The cases of the formulas in between that hold at the value.
    """

    variable: Variable
    relation: str
    expression: Any
    where: tuple[str, ...]

    @property
    def equation(self) -> Any:
        """As sympy: an equation, or a bound."""
        return RELATIONS[self.relation][0](self.variable.symbol, self.expression, evaluate=False)

    def latex(self) -> str:
        """As LaTeX."""
        return equation(self.variable.latex, self.expression).replace("=", RELATIONS[self.relation][1], 1)

    def text(self) -> str:
        """As one line of text."""
        return f"{symbol_text(self.variable)} {self.relation} {text(self.expression)}"


def closed_form(block: Block, at: float, *, largest: bool) -> ClosedForm | None:
    """The closed form of a value that was found in numbers; None if there is none, or it does not agree.

    Parameters
    ----------
    block : Block
        The point.
    at : float
        The value, in the unit of the unknown.
    largest : bool
        Whether it is the largest of the values that hold.
    """
    known = {name: float(np.ravel(value)[0]) for name, value in block.everything(np.array([at])).items()}
    found = [_form(block.landscape, sides, at, known, largest=largest) for sides in _sides(block)]
    forms = [form for form in found if form is not None]
    return next((form for form in forms if form.relation == "="), forms[0] if forms else None)


def _form(
    landscape: Landscape, sides: tuple[Expression, Any, dict[str, float]], at: float, known: Mapping[str, float],
    *, largest: bool,
) -> ClosedForm | None:  # fmt: skip
    """The closed form that follows from two sides, if it agrees."""
    left, right, target = sides
    chain = Chain(landscape.system, (landscape.unknown.name,), known, LARGEST)
    try:
        one = chain.through(left.sympy)
        other = right if target else chain.through(right)
    except UnturnableError:
        return None
    unknown = landscape.unknown
    known = {**known, **target}
    for found in _candidates(one, other, unknown):
        if sympy.count_ops(found) > READABLE:
            continue
        relations = [("=", found)]
        if landscape.whole:  # as whole numbers can meet it
            relations += [("=", sympy.floor(found)), ("=", sympy.ceiling(found)), ("≤", found), ("≥", found)]
        for relation, expression in relations:
            form = ClosedForm(unknown, relation, expression, chain.where[:CASES])
            if _agrees(form, at, known, unknown, largest=largest):
                return form
    return None


def _sides(block: Block) -> Iterator[tuple[Expression, Any, dict[str, float]]]:
    """Expression that the unknown moves, what it must be, and the value of a target that stands for itself.

    Where one comparison was given, that of feasibility may be the one that ends the values that hold.
    """
    landscape = block.landscape
    targets = landscape.targets
    pairs: list[tuple[Expression, Any]] = []
    if len(targets.equations) == 1 and not targets.conditions:
        pairs = [(targets.equations[0].left, block.right[0])]
    elif landscape.comparison is not None:
        limits = [each for condition in targets.assumed for each in landscape.comparisons_of(condition)]
        pairs = [(each.left, each.right) for each in (landscape.comparison, *limits)]
    return filter(None, (_turnable(left, right) for left, right in pairs))


def _turnable(left: Expression, right: Any) -> tuple[Expression, Any, dict[str, float]] | None:
    """Both sides, and the value of the left one where it is a target that stands for itself."""
    if isinstance(right, Expression):
        if right.names or not isinstance(left.sympy, sympy.Symbol):
            return left, right.sympy, {}
        right = value_at(right.sympy, {})
    if not isinstance(left.sympy, sympy.Symbol):
        return None
    return left, left.sympy, {left.sympy.name: float(right)}


def _candidates(one: Any, other: Any, unknown: Variable) -> Iterator[Any]:
    """Candidates for the unknown in closed form."""
    symbol = unknown.symbol
    if symbol not in one.free_symbols:
        one, other = other, one
    if symbol in other.free_symbols:
        one, other = one - other, sympy.S.Zero
    try:
        yield from turned(one, symbol, other)
    except UnturnableError:
        return


def _agrees(form: ClosedForm, at: float, known: Mapping[str, float], unknown: Variable, *, largest: bool) -> bool:
    """Tell whether a closed form gives the value that was found, or a bound on the right side of it."""
    needed = {symbol.name for symbol in form.expression.free_symbols if not isinstance(symbol, UnitSymbol)}
    if not needed <= set(known):
        return False
    typed = float(units.from_canonical(float(value_at(form.expression, known)), unknown.unit))
    if form.relation == "≤":
        return largest and at <= typed * (1 + AGREES)
    if form.relation == "≥":
        return not largest and at >= typed * (1 - AGREES)
    return abs(typed - at) <= AGREES * abs(at)


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
    places = sum(node == symbol for node in sympy.preorder_traversal(left))
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
    if sympy.count_ops(small) > RATIONAL or small.atoms(sympy.Function) or _has_roots(small, symbol):
        raise UnturnableError
    above, _ = sympy.fraction(sympy.together(small))
    try:
        polynomial = sympy.Poly(above, symbol)
    except sympy.PolynomialError:
        raise UnturnableError from None
    back = {stands: part for part, stands in parts.items()}
    yield from roots([each.xreplace(back) for each in polynomial.all_coeffs()])


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
