"""Derivatives in closed form, by the chain rule through the formulas."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import sympy
from sympy.functions.elementary.piecewise import ExprCondPair

from mlsysim import units
from mlsysim.backends import slopes
from mlsysim.errors import InputError, MissingInputError, UnknownNameError
from mlsysim.inputs.binding import bind, bind_grid
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.specialised import Specialised
from mlsysim.study.varied import closure
from mlsysim.symbolic import STEPS, Closed, Queue, System, Variable, lower, variable_of
from mlsysim.symbolic.printing import equation, symbol_text, text

#: Conditions that are printed, those nearest to the output.
TOLD = 5


class Derivative:
    """Closed form of the derivative of one output by one input, in inputs and intermediates.

    Parameters
    ----------
    model : DeclaredModel
        Model whose formulas are differentiated.
    output, by : str
        Names of output and input. Every other input is held, ``power_limit`` too, which follows ``tdp`` where only
        that is typed.
    relax : bool
        Drop ceilings and floors first.
    point : mapping, optional
        Arguments of ``solve``, not all of which need be there: the derivative is that of the cases that hold with them.

    Attributes
    ----------
    expression : sympy.Expr
        The derivative.
    conditions : tuple of sympy.Basic
        Where the cases of the point hold: conditions between numbers. Labels, flags and zeros are those of the point.
    steps : tuple of str
        Variables that jump (ceiling, floor, least integer) between input and output. Their derivative is zero almost
        everywhere and counts as zero.

    Raises
    ------
    UnknownNameError
        If there is no such output or input.
    InputError
        If either is a label or a truth value, which have no derivative, or the input moves the
        number of servers of a queue, which is whole, or the root of an equation.

    Examples
    --------
    >>> from mlsysim import KernelModel
    >>> slope = KernelModel("roofline").derivative("ridge_point", "memory_bandwidth")
    >>> slope.unit
    'FLOP·s/B/GB'
    """

    def __init__(
        self,
        model: DeclaredModel,
        output: str,
        by: str,
        *,
        relax: bool = False,
        point: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self._relax = relax
        self.output = _number_variable(model.output(output))
        names = [variable.name for variable in model.inputs]
        if not isinstance(by, str) or by not in names:
            raise UnknownNameError(f"input of {type(model).__name__}", by, names)
        self.by = _number_variable(variable_of(by))
        self._system = closure(model.system, (output,), relax=relax)
        specialised = _specialised(model, self._system, point)
        chain, self.steps = _chain_rule(self._system, self.by, self.output, specialised)
        self.conditions = tuple(specialised.conditions) if specialised else ()
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
        """Value at a point, with its unit; arguments as for ``solve``.

        Parameters
        ----------
        *entries, **inputs
            Arguments as for ``solve``.

        Returns
        -------
        float or pint.Quantity
        """
        binding = bind(self.model, self.model.named_arguments(entries, inputs))
        binding.require(self.output.name)
        gradients = slopes(self._system, [self.output.name], [self.by.name], binding.values)
        scale, unit = units.per(self.output.unit, self.by.unit)
        return units.Q_(gradients[self.by.name][self.output.name].item() * scale, unit)

    def __str__(self) -> str:
        lines = [self.text()]
        if self.conditions:
            nearest = [text(condition) for condition in self.conditions[: -TOLD - 1 : -1]]
            left = len(self.conditions) - len(nearest)
            lines.append(f"  where {', '.join(nearest)}{f'; {left} more are in .conditions' if left else ''}")
        if self.steps:
            more = "" if self._relax else "; relax=True takes ceilings and floors as lines"
            lines.append(f"  steps, counted as constant: {', '.join(self.steps)}{more}")
        return "\n".join(lines)

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
    """Return the names of the variables that an output depends on numerically, not through a label alone."""
    needed, pending = set(), [output.name]
    while pending:
        name = pending.pop()
        if name in system and name not in needed:
            needed.add(name)
            pending += [variable.name for variable in system[name].inputs if variable.domain.kind != "choice"]
    return needed


def _specialised(model: DeclaredModel, system: System, point: Any) -> Specialised | None:
    if point is None:
        return None
    if not isinstance(point, Mapping):
        hint = "as in at={'model': 'Llama3_8B', 'precision': 'bf16'}"
        raise InputError("at", point, "must be a mapping of arguments to values", hint)
    arguments, free = model.named_arguments((), point), dict[str, None]()
    while True:
        try:
            return Specialised(system, bind_grid(model, arguments, free).values)
        except MissingInputError as missing:
            names = missing.argument.split(", ")
            names = [name for each in names for name in (model.slots[each].gives if each in model.slots else (each,))]
            unknown = [name for name in names if name not in arguments and name not in free and _is_number(model, name)]
            if not unknown:
                raise
            free |= dict.fromkeys(unknown)


def _is_number(model: DeclaredModel, name: str) -> bool:
    variable = model.arguments.get(name)
    return variable is not None and variable.domain.kind != "choice"


def _chain_rule(
    system: System, by: Variable, output: Variable, specialised: Specialised | None
) -> tuple[Chain, tuple[str, ...]]:
    """Partial derivatives of every variable between input and output, and the variables that jump on the way."""
    leading = _numbers(system, output)
    moved = {by.name}
    chain: Chain = []
    steps: list[str] = []
    for formula in system:
        moving = [v for v in formula.inputs if v.name in moved]
        if formula.name not in leading or not moving or _is_truth(formula.expression):
            continue
        moved_symbols = {v.symbol for v in moving}
        whole = lower(formula.expression)
        whole = whole if specialised is None else specialised.rewrite(whole, moved_symbols)
        try:
            expression, frozen = _smooth(whole, moved_symbols)
        except OverflowError:
            allowed = f"{formula.name} has too many cases for a closed form"
            raise InputError("derivative", by.name, f"{allowed}; sensitivity() has its number") from None
        if any(node.free_symbols & moved_symbols for node in expression.atoms(Closed)):
            allowed = f"{formula.name} has no derivative by it in closed form, as the root of an equation or elsewhere"
            raise InputError("derivative", by.name, f"{allowed}; sensitivity() has its number")
        if frozen or (by.domain.kind == "integer" and decides(whole, by)):
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
    """Differentiate partially; sympy writes the derivative of ``x**n`` as ``n*x**n/x``, which is undefined at zero."""
    partial = sympy.diff(expression, symbol)
    if any(power.exp.free_symbols for power in partial.atoms(sympy.Pow)):
        return sympy.powsimp(partial, deep=True, combine="exp")
    return partial


def decides(expression: Any, by: Variable) -> bool:
    """Tell whether a whole number selects the case of an expression."""
    return any(by.symbol in case.cond.free_symbols for case in expression.atoms(ExprCondPair))


def continuous(system: System) -> list[str]:
    """Return the names of the continuous inputs."""
    return [v.name for v in system.inputs if v.domain.kind == "real"]


def smooth(system: System) -> list[str]:
    """Return the differentiable inputs: continuous ones, and whole numbers in which all formulas are smooth.

    A whole number has no derivative if it is a flag, selects a case of a formula, or moves the number of servers of a
    queue, which is whole.
    """
    names = continuous(system)
    names += [v.name for v in system.inputs if v.domain.kind == "integer" and _is_smooth(system, v)]
    return sorted(names)


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
    """Write extrema as cases and replace moving steps by constants; return the expression and the steps by constant."""
    if isinstance(expression, STEPS) and expression.free_symbols & moving:
        stand_in = sympy.Dummy("step", real=True)
        return stand_in, {stand_in: expression}
    if not expression.args:
        return expression, {}
    frozen: dict[Any, Any] = {}
    args = []
    for arg in expression.args:
        smoothed, steps = _smooth(arg, moving)
        args.append(smoothed)
        frozen.update(steps)
    if isinstance(expression, sympy.Max | sympy.Min):
        return _cases(expression, args), frozen
    return expression.func(*args), frozen


def _compared(extreme: Any) -> int:
    """Count the cases of a maximum or minimum: those of any two arguments that are compared."""
    cases = sorted(
        math.prod(len(piecewise.args) for piecewise in argument.atoms(sympy.Piecewise)) for argument in extreme.args
    )
    return math.prod(cases[-2:])


def _cases(extreme: Any, values: list[Any]) -> Any:
    """Write a maximum or minimum as cases: each argument where it binds."""
    if _compared(extreme) > MOST_CASES:
        raise OverflowError
    wins = sympy.Ge if isinstance(extreme, sympy.Max) else sympy.Le
    # SymPy 1.14 turns the sign of a factor that is a sum to and fro in a condition, without end.
    arguments = [sympy.expand_mul(argument, deep=False) if argument.is_Mul else argument for argument in extreme.args]
    cases: list[tuple[Any, Any]] = []
    for index, argument in enumerate(arguments[:-1]):
        others = arguments[index + 1 :]
        cases.append((values[index], sympy.And(*(wins(argument, other) for other in others))))
    return sympy.Piecewise(*cases, (values[-1], True))


def derivative(
    model: DeclaredModel, /, output: str, by: str, *, relax: bool = False, at: Mapping[str, Any] | None = None
) -> Derivative:
    """Derive an output by an input, in closed form.

    Parameters
    ----------
    output, by : str
        Names of output and input. Every other input is held, ``power_limit`` too, which follows ``tdp`` where only
        that is typed.
    relax : bool
        Drop ceilings and floors first, so that the derivative sees through them.
    at : mapping, optional
        Arguments of ``solve``, such as ``{"model": "Llama3_8B", "precision": "bf16"}``: cases that they decide are
        replaced by the branch that holds, labels, flags and zeros are put in, and the rest stays symbolic. An argument
        that is left out has its default.

    Returns
    -------
    Derivative
        Prints as LaTeX and text; names the steps it cannot see through.

    Raises
    ------
    UnknownNameError
        If there is no such output or input.
    InputError
        If either is a label or a truth value, or there is no closed form.

    Examples
    --------
    >>> from mlsysim import KernelModel
    >>> slope = KernelModel("roofline").derivative("ridge_point", "memory_bandwidth")
    >>> print(slope)
    ∂I_0/∂B = -F·η/(B²·η_B)
    """
    return Derivative(model, output, by, relax=relax, point=at)
