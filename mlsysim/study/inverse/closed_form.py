"""Closed form of the unknown: the formulas between it and a target, inverted where possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from mlsysim import units
from mlsysim.inputs.expressions import Expression
from mlsysim.study.chain import Chain, NoClosedFormError, roots, value_at
from mlsysim.study.inverse.target_function import Block, TargetFunction
from mlsysim.symbolic import UnitSymbol, Variable
from mlsysim.symbolic.printing import equation, symbol_text, text

#: Operations of the substituted formulas beyond which a closed form would explain nothing.
LARGEST = 250
#: Largest relative difference between the closed form and the numeric solution.
AGREES = 1e-9
#: Most operations of a closed form that is still readable.
READABLE = 60
#: Most cases of formulas listed.
CASES = 6
#: Relations of sympy, and LaTeX.
RELATIONS: dict[str, tuple[Any, str]] = {"=": (sympy.Eq, "="), "≤": (sympy.Le, r"\le"), "≥": (sympy.Ge, r"\ge")}
#: Most operations, and occurrences of the symbol, of an equation that is brought to a polynomial.
RATIONAL, OCCURRENCES = 120, 12


@dataclass(frozen=True)
class ClosedForm:
    """The unknown as a formula.

    Attributes
    ----------
    variable : Variable
        The unknown.
    relation : str
        ``"="``; or ``"≤"`` and ``"≥"`` if the model accepts only some of the whole numbers on that side.
    expression : sympy.Expr
        In inputs, in outputs that do not depend on the unknown, and in the target.
    where : tuple of str
        Cases of the formulas in between that hold at the value.
    """

    variable: Variable
    relation: str
    expression: Any
    where: tuple[str, ...]

    @property
    def equation(self) -> Any:
        """Sympy relation: an equation or a bound."""
        return RELATIONS[self.relation][0](self.variable.symbol, self.expression, evaluate=False)

    def latex(self) -> str:
        """Return the relation as LaTeX."""
        return equation(self.variable.latex, self.expression).replace("=", RELATIONS[self.relation][1], 1)

    def text(self) -> str:
        """Return the relation as one line of text."""
        return f"{symbol_text(self.variable)} {self.relation} {text(self.expression)}"


def closed_form(block: Block, at: float, *, largest: bool) -> ClosedForm | None:
    """Derive the closed form of a value found numerically; None if there is none, or it does not agree.

    Parameters
    ----------
    block : Block
        The point.
    at : float
        The value, in the unit of the unknown.
    largest : bool
        The value is the largest of those at which the targets hold.
    """
    known = {name: float(np.ravel(value)[0]) for name, value in block.everything(np.array([at])).items()}
    candidates = [_form(block.function, sides, at, known, largest=largest) for sides in _sides(block)]
    forms = [form for form in candidates if form is not None]
    return next((form for form in forms if form.relation == "="), forms[0] if forms else None)


def _form(
    function: TargetFunction, sides: tuple[Expression, Any, dict[str, float]], at: float, known: Mapping[str, float],
    *, largest: bool,
) -> ClosedForm | None:  # fmt: skip
    """Derive the closed form that follows from the two sides of a target, if it agrees."""
    left, right, target = sides
    chain = Chain(function.system, (function.unknown.name,), known, LARGEST)
    try:
        moving = chain.through(left.sympy)
        constant = right if target else chain.through(right)
    except NoClosedFormError:
        return None
    unknown = function.unknown
    known = {**known, **target}
    for candidate in _candidates(moving, constant, unknown):
        if sympy.count_ops(candidate) > READABLE:
            continue
        relations = [("=", candidate)]
        if function.whole:  # as whole numbers can meet it
            relations += [
                ("=", sympy.floor(candidate)),
                ("=", sympy.ceiling(candidate)),
                ("≤", candidate),
                ("≥", candidate),
            ]
        for relation, expression in relations:
            form = ClosedForm(unknown, relation, expression, chain.where[:CASES])
            if _agrees(form, at, known, unknown, largest=largest):
                return form
    return None


def _sides(block: Block) -> Iterator[tuple[Expression, Any, dict[str, float]]]:
    """Yield the expression that depends on the unknown, its required value, and the value of a bare target by name.

    If a single comparison was given, feasibility may be what ends the interval of values.
    """
    function = block.function
    targets = function.targets
    pairs: list[tuple[Expression, Any]] = []
    if len(targets.equations) == 1 and not targets.conditions:
        pairs = [(targets.equations[0].left, block.right[0])]
    elif function.comparison is not None:
        limits = [comparison for condition in targets.assumed for comparison in function.comparisons_of(condition)]
        pairs = [(comparison.left, comparison.right) for comparison in (function.comparison, *limits)]
    return filter(None, (_invertible(left, right) for left, right in pairs))


def _invertible(left: Expression, right: Any) -> tuple[Expression, Any, dict[str, float]] | None:
    """Return both sides, and the value of the left side by name if it is a bare target."""
    if isinstance(right, Expression):
        if right.names or not isinstance(left.sympy, sympy.Symbol):
            return left, right.sympy, {}
        right = value_at(right.sympy, {})
    if not isinstance(left.sympy, sympy.Symbol):
        return None
    return left, left.sympy, {left.sympy.name: float(right)}


def _candidates(left: Any, right: Any, unknown: Variable) -> Iterator[Any]:
    """Yield candidates for the unknown in closed form."""
    symbol = unknown.symbol
    if symbol not in left.free_symbols:
        left, right = right, left
    if symbol in right.free_symbols:
        left, right = left - right, sympy.S.Zero
    try:
        yield from isolated(left, symbol, right)
    except NoClosedFormError:
        return


def _agrees(form: ClosedForm, at: float, known: Mapping[str, float], unknown: Variable, *, largest: bool) -> bool:
    """Tell whether a closed form gives the numeric value, or a bound on the right side of it."""
    needed = {symbol.name for symbol in form.expression.free_symbols if not isinstance(symbol, UnitSymbol)}
    if not needed <= set(known):
        return False
    typed = float(units.from_canonical(float(value_at(form.expression, known)), unknown.unit))
    if form.relation == "≤":
        return largest and at <= typed * (1 + AGREES)
    if form.relation == "≥":
        return not largest and at >= typed * (1 - AGREES)
    return abs(typed - at) <= AGREES * abs(at)


def isolated(left: Any, symbol: sympy.Symbol, right: Any) -> Iterator[Any]:
    """Solve an equation for a symbol.

    Parameters
    ----------
    left : sympy.Expr
        Expression that contains the symbol.
    symbol : sympy.Symbol
        Symbol to solve for.
    right : sympy.Expr
        Expression without the symbol.

    Yields
    ------
    sympy.Expr
        A solution; for a rounding, both neighbours, of which one is right.

    Raises
    ------
    NoClosedFormError
        If there is no closed form.
    """
    occurrences = sum(node == symbol for node in sympy.preorder_traversal(left))
    if occurrences == 0 or occurrences > OCCURRENCES:
        raise NoClosedFormError
    if occurrences == 1:
        yield from _alone(left, symbol, right)
        return
    rounded = _rounded(left, symbol)
    if rounded is not None:
        stands = sympy.Dummy("step", real=True)
        outer = left.xreplace({rounded: stands})
        for value in isolated(outer, stands, right):
            yield from _inside(rounded, symbol, value)
        return
    yield from _polynomial(left, symbol, right)


def _rounded(expression: Any, symbol: sympy.Symbol) -> Any:
    """Return the only rounding through which an expression depends on a symbol, if there is exactly one."""
    nodes = {node for node in expression.atoms(sympy.ceiling, sympy.floor) if symbol in node.free_symbols}
    outer = [node for node in nodes if not any(node in other.atoms(type(node)) for other in nodes - {node})]
    if len(outer) != 1:
        if nodes:
            raise NoClosedFormError
        return None
    if symbol in expression.xreplace({outer[0]: sympy.Dummy()}).free_symbols:
        raise NoClosedFormError
    return outer[0]


def _inside(rounded: Any, symbol: sympy.Symbol, value: Any) -> Iterator[Any]:
    """Solve for a symbol inside a rounding with a given value: first the whole number next to it, then the other."""
    order = (sympy.floor, sympy.ceiling) if isinstance(rounded, sympy.ceiling) else (sympy.ceiling, sympy.floor)
    for rounding in order:
        yield from isolated(rounded.args[0], symbol, rounding(value))


def _alone(left: Any, symbol: sympy.Symbol, right: Any) -> Iterator[Any]:
    """Isolate a symbol that occurs once by inverting the operations around it."""
    while left != symbol:
        if isinstance(left, sympy.ceiling | sympy.floor):
            yield from _inside(left, symbol, right)
            return
        others = [arg for arg in left.args if symbol not in arg.free_symbols]
        (inner,) = (arg for arg in left.args if symbol in arg.free_symbols)
        if isinstance(left, sympy.Add):
            right = right - sympy.Add(*others)
        elif isinstance(left, sympy.Mul):
            right = right / sympy.Mul(*others)
        elif isinstance(left, sympy.Pow) and inner == left.base:
            right = right ** (1 / left.exp)
        elif isinstance(left, sympy.Pow):
            right = sympy.log(right) / sympy.log(left.base)
        elif isinstance(left, sympy.log):
            right = sympy.exp(right)
        elif isinstance(left, sympy.exp):
            right = sympy.log(right)
        else:
            raise NoClosedFormError
        left = inner
    yield right


def _polynomial(left: Any, symbol: sympy.Symbol, right: Any) -> Iterator[Any]:
    """Solve an equation that is rational in a symbol, of degree one or two."""
    constants: dict[Any, sympy.Dummy] = {}
    difference = _with_constants_as_letters(left, symbol, constants) - _with_constants_as_letters(
        right, symbol, constants
    )
    if sympy.count_ops(difference) > RATIONAL or difference.atoms(sympy.Function) or _has_roots(difference, symbol):
        raise NoClosedFormError
    numerator, _ = sympy.fraction(sympy.together(difference))
    try:
        polynomial = sympy.Poly(numerator, symbol)
    except sympy.PolynomialError:
        raise NoClosedFormError from None
    values = {letter: constant for constant, letter in constants.items()}
    yield from roots([coefficient.xreplace(values) for coefficient in polynomial.all_coeffs()])


def _has_roots(expression: Any, symbol: sympy.Symbol) -> bool:
    """Tell whether the symbol occurs under a fractional power."""
    return any(symbol in power.free_symbols and not power.exp.is_Integer for power in expression.atoms(sympy.Pow))


def _with_constants_as_letters(node: Any, symbol: sympy.Symbol, constants: dict[Any, sympy.Dummy]) -> Any:
    """Replace each subexpression without the symbol by one letter."""
    if symbol not in node.free_symbols:
        return node if node.is_number else constants.setdefault(node, sympy.Dummy(f"c{len(constants)}"))
    if not node.args:
        return node
    if isinstance(node, sympy.Add | sympy.Mul):
        fixed = [arg for arg in node.args if symbol not in arg.free_symbols]
        moving = [_with_constants_as_letters(arg, symbol, constants) for arg in node.args if symbol in arg.free_symbols]
        return node.func(*moving, _with_constants_as_letters(node.func(*fixed), symbol, constants))
    return node.func(*(_with_constants_as_letters(arg, symbol, constants) for arg in node.args))
