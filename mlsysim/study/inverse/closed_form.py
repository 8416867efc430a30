"""The unknown in closed form: the formulas between it and a target, turned around where they can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from mlsysim import units
from mlsysim.backends import compiled_expression
from mlsysim.inputs.expressions import Expression
from mlsysim.study.inverse.landscape import Block, Landscape
from mlsysim.study.inverse.turned import UnturnableError, turned
from mlsysim.symbolic import Closed, UnitSymbol, Variable
from mlsysim.symbolic.printing import equation, symbol_text, text

#: Operations of the formulas put into one another, beyond which a closed form would explain nothing.
LARGEST = 250
#: How far, of its size, the closed form may lie from what was found in numbers.
AGREES = 1e-9
#: Operations of a closed form that is still worth reading.
READABLE = 60
#: Cases of formulas that are listed.
CASES = 6


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
        kind = {"=": sympy.Eq, "≤": sympy.Le, "≥": sympy.Ge}[self.relation]
        return kind(self.variable.symbol, self.expression, evaluate=False)

    def latex(self) -> str:
        """As LaTeX."""
        found = equation(self.variable.latex, self.expression)
        sign = {"=": "=", "≤": r"\le", "≥": r"\ge"}[self.relation]
        return found.replace("=", sign, 1) if sign != "=" else found

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
    chain = _Chain(landscape, known)
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
        for relation, expression in _as_whole(found) if landscape.whole else [("=", found)]:
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
        right = float(compiled_expression(right.sympy)({})["value"])
    if not isinstance(left.sympy, sympy.Symbol):
        return None
    return left, left.sympy, {left.sympy.name: float(right)}


class _Chain:
    """Formulas between the unknown and an output, put into one another in the cases that hold at a value."""

    def __init__(self, landscape: Landscape, known: Mapping[str, float]) -> None:
        self.known = known
        self.symbol = landscape.unknown.symbol
        self.moving = _moving(landscape)
        self.found: dict[str, Any] = {}
        self.cases: dict[str, None] = {}

    @property
    def where(self) -> tuple[str, ...]:
        """The cases that hold, as text."""
        return tuple(self.cases)

    def through(self, expression: Any) -> Any:
        """An expression with the formulas of what the unknown moves put in."""
        return self._put(expression)

    def _moves(self, expression: Any) -> bool:
        return any(symbol == self.symbol or symbol.name in self.moving for symbol in expression.free_symbols)

    def _put(self, node: Any) -> Any:
        if not self._moves(node):
            return node
        if isinstance(node, sympy.Symbol):
            return self._of(node)
        if isinstance(node, sympy.Max | sympy.Min):
            return self._put(self._binding(node))
        if isinstance(node, sympy.Piecewise):
            return self._put(self._case(node))
        if isinstance(node, Closed) or not isinstance(node, sympy.Expr):
            raise UnturnableError
        return node.func(*map(self._put, node.args))

    def _of(self, symbol: sympy.Symbol) -> Any:
        if symbol == self.symbol:
            return symbol
        if symbol.name not in self.found:
            found = self._put(self.moving[symbol.name])
            if sympy.count_ops(found) > LARGEST:
                raise UnturnableError
            self.found[symbol.name] = found
        return self.found[symbol.name]

    def _value(self, node: Any) -> float:
        return float(compiled_expression(node)(self.known)["value"])

    def _binding(self, node: Any) -> Any:
        """The argument of a maximum or minimum that is the largest or smallest at the value."""
        values = [self._value(argument) for argument in node.args]
        best = (max if isinstance(node, sympy.Max) else min)(range(len(values)), key=values.__getitem__)
        wins = sympy.Ge if isinstance(node, sympy.Max) else sympy.Le
        for place, other in enumerate(node.args):
            if place != best:
                self.cases[text(wins(node.args[best], other, evaluate=False))] = None
        return node.args[best]

    def _case(self, node: Any) -> Any:
        """The case of a distinction that holds at the value."""
        for value, condition in node.args:
            if condition == True:  # noqa: E712
                return value
            if self._value(condition):
                self.cases[text(condition)] = None
                return value
            self.cases[text(sympy.Not(condition))] = None
        raise UnturnableError


def _moving(landscape: Landscape) -> dict[str, Any]:
    """The expressions of what the unknown moves."""
    moved: dict[str, Any] = {}
    for formula in landscape.system:
        if any(v.name == landscape.unknown.name or v.name in moved for v in formula.inputs):
            moved[formula.name] = formula.expression
    return moved


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


def _as_whole(found: Any) -> Iterator[tuple[str, Any]]:
    """A closed form as whole numbers can meet it."""
    yield "=", found
    yield "=", sympy.floor(found)
    yield "=", sympy.ceiling(found)
    yield "≤", found
    yield "≥", found


def _agrees(form: ClosedForm, at: float, known: Mapping[str, float], unknown: Variable, *, largest: bool) -> bool:
    """Tell whether a closed form gives the value that was found, or a bound on the right side of it."""
    needed = {symbol.name for symbol in form.expression.free_symbols if not isinstance(symbol, UnitSymbol)}
    if not needed <= set(known):
        return False
    value = float(compiled_expression(form.expression)(known)["value"])
    typed = float(units.from_canonical(value, unknown.unit))
    if form.relation == "≤":
        return largest and at <= typed * (1 + AGREES)
    if form.relation == "≥":
        return not largest and at >= typed * (1 - AGREES)
    return abs(typed - at) <= AGREES * abs(at)
