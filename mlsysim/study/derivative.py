"""Derivatives in closed form, by the chain rule through the formulas."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import sympy
from sympy.functions.elementary.piecewise import ExprCondPair

from mlsysim import units
from mlsysim.backends import slopes
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs.binding import bind
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.varied import closure
from mlsysim.symbolic import STEPS, Closed, Queue, System, Variable, lower, variable_of
from mlsysim.symbolic.printing import equation, symbol_text, text


class Derivative:
    """Closed form of how one output changes with one input, in inputs and intermediates.

    Parameters
    ----------
    model : DeclaredModel
        Whose formulas are differentiated.
    output, by : str
        Names. Every other input is held, ``power_limit`` too, which follows ``tdp`` where only that is typed.
    relax : bool
        Drop ceilings and floors first.

    Attributes
    ----------
    expression : sympy.Expr
        The derivative.
    steps : tuple of str
        Variables that jump (ceiling, floor, least integer) between input and output: their
        derivative is zero almost everywhere and counted as zero.

    Raises
    ------
    UnknownNameError
        If there is no such output or input.
    InputError
        If either is a label or a truth value, which have no derivative, or the input moves the
        number of servers of a queue, which is whole, or the root of an equation.
    """

    def __init__(self, model: DeclaredModel, output: str, by: str, *, relax: bool = False) -> None:
        self.model = model
        self._relax = relax
        self.output = _number_variable(model.output(output))
        names = [variable.name for variable in model.inputs]
        if not isinstance(by, str) or by not in names:
            raise UnknownNameError(f"input of {type(model).__name__}", by, names)
        self.by = _number_variable(variable_of(by))
        self._system = closure(model.system, (output,), relax=relax)
        chain, self.steps = _chain_rule(self._system, self.by, self.output)
        self.expression = _total(chain, output, self.by.name)
        if self.expression.has(sympy.Derivative):
            allowed = f"{output} has no derivative by it: Erlang C is defined for whole numbers of replicas only"
            raise InputError("derivative", by, allowed)

    @property
    def unit(self) -> str:
        """Unit of the derivative: that of the output over that of the input."""
        return f"{units.per(self.output.unit, self.by.unit)[1]:~P}"

    def latex(self) -> str:
        """The equation as LaTeX."""
        left = rf"\frac{{\partial {self.output.latex}}}{{\partial {self.by.latex}}}"
        return equation(left, self.expression)

    def text(self) -> str:
        """The equation as one line of text."""
        return f"∂{symbol_text(self.output)}/∂{symbol_text(self.by)} = {text(self.expression)}"

    def at(self, *entries: Any, **inputs: Any) -> Any:
        """Value at a point, with its unit; arguments as for ``solve``."""
        binding = bind(self.model, self.model.named_arguments(entries, inputs))
        binding.require(self.output.name)
        found = slopes(self._system, [self.output.name], [self.by.name], binding.values)
        scale, unit = units.per(self.output.unit, self.by.unit)
        return units.Q_(found[self.by.name][self.output.name].item() * scale, unit)

    def __str__(self) -> str:
        if not self.steps:
            return self.text()
        more = "" if self._relax else "; relax=True takes ceilings and floors as lines"
        return f"{self.text()}\n  steps, counted as constant: {', '.join(self.steps)}{more}"

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def _number_variable(variable: Variable) -> Variable:
    if variable.domain.kind in ("choice", "boolean"):
        raise InputError("derivative", variable.name, "only numbers have derivatives, not labels or truth values")
    return variable


#: Cases up to which SymPy compares arguments of a maximum in seconds; beyond, in hours.
MOST_CASES = 4096

Chain = list[tuple[str, list[tuple[str, Any]]]]


def _numbers(system: System, output: Variable) -> set[str]:
    """Names of the variables that lead to an output by their numbers, not by a label alone."""
    needed, open_ = set(), [output.name]
    while open_:
        name = open_.pop()
        if name in system and name not in needed:
            needed.add(name)
            open_ += [each.name for each in system[name].inputs if each.domain.kind != "choice"]
    return needed


def _chain_rule(system: System, by: Variable, output: Variable) -> tuple[Chain, tuple[str, ...]]:
    """The partial derivatives of every variable on the way from an input to an output, and the variables that jump."""
    leading = _numbers(system, output)
    moved = {by.name}
    chain: Chain = []
    steps: list[str] = []
    for formula in system:
        moving = [v for v in formula.inputs if v.name in moved]
        if formula.name not in leading or not moving or _is_truth(formula.expression):
            continue
        moved_symbols = {v.symbol for v in moving}
        try:
            expression, frozen = _smooth(lower(formula.expression), moved_symbols)
        except OverflowError:
            allowed = f"{formula.name} has too many cases for a closed form"
            raise InputError("derivative", by.name, f"{allowed}; sensitivity() has its number") from None
        if any(node.free_symbols & moved_symbols for node in expression.atoms(Closed)):
            allowed = f"{formula.name} has no derivative by it in closed form, as the root of an equation or elsewhere"
            raise InputError("derivative", by.name, f"{allowed}; sensitivity() has its number")
        if frozen or (by.domain.kind == "integer" and decides(formula.expression, by)):
            steps.append(formula.name)
        partials = [(v.name, _slope(expression, v.symbol).xreplace(frozen)) for v in moving]
        partials = [(name, partial) for name, partial in partials if partial != 0]
        if partials:
            moved.add(formula.name)
            chain.append((formula.name, partials))
    return chain, tuple(steps)


def _is_truth(expression: Any) -> bool:
    """Tell whether an expression is a condition, which has no slope; to sympy a symbol may be one, too."""
    return isinstance(expression, sympy.logic.boolalg.Boolean) and not expression.is_Symbol


def _slope(expression: Any, symbol: sympy.Symbol) -> Any:
    """The partial derivative; sympy writes that of ``x**n`` as ``n*x**n/x``, which is no number at zero."""
    partial = sympy.diff(expression, symbol)
    if any(power.exp.free_symbols for power in partial.atoms(sympy.Pow)):
        return sympy.powsimp(partial, deep=True, combine="exp")
    return partial


def decides(expression: Any, by: Variable) -> bool:
    """Tell whether the value of a whole number decides which case of an expression holds."""
    return any(by.symbol in case.cond.free_symbols for case in expression.atoms(ExprCondPair))


def continuous(system: System) -> list[str]:
    """Names of the inputs that are continuous."""
    return [v.name for v in system.inputs if v.domain.kind == "real"]


def smooth(system: System) -> list[str]:
    """Names of the inputs with a derivative: continuous ones, and whole numbers in which every formula is smooth.

    A whole number has none where it is a flag, or decides which case of a formula holds, or moves the number of
    servers of a queue, which is whole.
    """
    found = continuous(system)
    found += [v.name for v in system.inputs if v.domain.kind == "integer" and _is_smooth(system, v)]
    return sorted(found)


@lru_cache(maxsize=4096)
def _is_smooth(system: System, by: Variable) -> bool:
    if by.domain.is_flag:
        return False
    touched: set[Any] = {by.symbol}
    for formula in system:
        expression: Any = formula.expression
        if not touched & expression.free_symbols:
            continue
        touched.add(formula.variable.symbol)
        if decides(expression, by):
            return False
        whole = [node.args[0] for node in expression.atoms(Queue)] + [*expression.atoms(*STEPS, sympy.Mod)]
        # In others a bound number may count servers.
        whole += [node for node in expression.atoms(Closed) if node.has(Queue, sympy.Mod)]
        if any(touched & node.free_symbols for node in whole):
            return False
    return True


def _total(chain: Chain, output: str, by: str) -> Any:
    slopes: dict[str, Any] = {by: sympy.S.One}
    for name, partials in chain:
        slopes[name] = sum((partial * slopes[v] for v, partial in partials), sympy.S.Zero)
    return slopes.get(output, sympy.S.Zero)


def _smooth(expression: Any, moving: set[Any]) -> tuple[Any, dict[Any, Any]]:
    """An expression with maxima as cases and with moving steps as constants; a dict from the constants to the steps."""
    if isinstance(expression, STEPS) and expression.free_symbols & moving:
        stand_in = sympy.Dummy("step", real=True)
        return stand_in, {stand_in: expression}
    if not expression.args:
        return expression, {}
    frozen: dict[Any, Any] = {}
    args = []
    for arg in expression.args:
        part, more = _smooth(arg, moving)
        args.append(part)
        frozen.update(more)
    if isinstance(expression, sympy.Max | sympy.Min):
        return _cases(expression, args), frozen
    return expression.func(*args), frozen


def _compared(extreme: Any) -> int:
    """Cases of a maximum or minimum: those of any two arguments that are compared."""
    cases = sorted(math.prod(len(each.args) for each in argument.atoms(sympy.Piecewise)) for argument in extreme.args)
    return math.prod(cases[-2:])


def _cases(extreme: Any, parts: list[Any]) -> Any:
    """A maximum or minimum as cases: each argument where it is the one that binds."""
    if _compared(extreme) > MOST_CASES:
        raise OverflowError
    wins = sympy.Ge if isinstance(extreme, sympy.Max) else sympy.Le
    # SymPy 1.14 turns the sign of a factor that is a sum to and fro in a condition, without end.
    arguments = [sympy.expand_mul(each, deep=False) if each.is_Mul else each for each in extreme.args]
    cases: list[tuple[Any, Any]] = []
    for place, argument in enumerate(arguments[:-1]):
        others = arguments[place + 1 :]
        cases.append((parts[place], sympy.And(*(wins(argument, other) for other in others))))
    return sympy.Piecewise(*cases, (parts[-1], True))


def derivative(model: DeclaredModel, /, output: str, by: str, *, relax: bool = False) -> Derivative:
    """The derivative of an output with respect to an input, in closed form.

    Parameters
    ----------
    output, by : str
        Names. Every other input is held, ``power_limit`` too, which follows ``tdp`` where only that is typed.
    relax : bool
        Drop ceilings and floors first, so that the derivative sees through them.

    Returns
    -------
    Derivative
        Prints as LaTeX and text; names the steps it cannot see through.
    """
    return Derivative(model, output, by, relax=relax)
