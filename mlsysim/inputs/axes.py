"""Axes beyond a list per argument: several arguments along one axis, and arguments that follow from others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sympy

from mlsysim import units
from mlsysim.errors import InputError, UnitError, quoted
from mlsysim.inputs.convert import LARGEST, LARGEST_INTEGER
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.expressions import bare_unit, quantity
from mlsysim.symbolic import Formula, Source, System, UnitSymbol, Variable, variable_of
from mlsysim.symbolic.dimensions import describe
from mlsysim.tracebacks import at_the_call


class Linked:
    """Arguments that are swept together; made by :func:`linked`.

    Attributes
    ----------
    axes : dict
        Values by argument, of one length.
    repeats : bool
        Allow repeated combinations, as among measurements.
    """

    def __init__(self, axes: Mapping[str, Any], *, repeats: bool = False) -> None:
        self.axes = dict(axes)
        self.repeats = repeats

    def __len__(self) -> int:
        """Points along the axis."""
        return max(map(len, self.axes.values()))

    def __repr__(self) -> str:
        return f"linked({', '.join(f'{name}={values!r}' for name, values in self.axes.items())})"


class Derived:
    """Argument that follows from others; made by :func:`derived`."""

    def __init__(self, expression: Any) -> None:
        self.expression = expression

    def __repr__(self) -> str:
        return f"derived({self.expression!r})"


@at_the_call
def linked(**axes: Any) -> Linked:
    """Sweep several arguments along one axis: the first values together, then the second ones.

    Parameters
    ----------
    **axes
        Lists of one length by argument, of values or of catalog entries.

    Returns
    -------
    Linked
        For an axis with a name of its own: ``sweep(layout=linked(tp_size=[1, 2], pp_size=[8, 4]))``.

    Raises
    ------
    InputError
        If no argument is given.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel, linked
    >>> layout = linked(tp_size=[1, 2, 4], dp_size=[8, 4, 2])
    >>> run = dict(batch_size=8, seq_len=2048)
    >>> grid = TrainingMemoryModel("first_order").sweep("Llama3_8B", "H100", **run, layout=layout)
    >>> grid.total_memory.dims, grid.dp_size.values.tolist()
    (('layout',), [8, 4, 2])
    """
    if not axes:
        raise InputError("linked", axes, "give at least one argument as a list, as in linked(tp_size=[1, 2])")
    return Linked(axes)


def derived(expression: Any) -> Derived:
    """Compute an argument from others, at one point or at every point of a grid.

    Parameters
    ----------
    expression : str or sympy.Expr
        Expression of other arguments: ``dp_size=derived("512 / (tp_size * pp_size)")``. If the argument must be a
        whole number, points at which the expression is not whole are refused.

    Returns
    -------
    Derived

    Raises
    ------
    InputError
        Where it is used: if the expression has an unknown name or another dimension than its argument.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel, derived
    >>> run = dict(batch_size=8, seq_len=2048, tp_size=[1, 2, 4], dp_size=derived("8 / tp_size"))
    >>> grid = TrainingMemoryModel("first_order").sweep("Llama3_8B", "H100", **run)
    >>> grid.dp_size.values.tolist()
    [8, 4, 2]
    """
    return Derived(expression)


@dataclass(frozen=True)
class Typed(Source):
    """Source of a formula that the caller typed."""

    key: str = "given"

    def __post_init__(self) -> None:
        """Skip the look-up in the bibliography, as no publication stands behind it."""


@dataclass(frozen=True)
class DerivedInput:
    """Input as a formula of others.

    Attributes
    ----------
    variable : Variable
        The input that is derived.
    text : str
        As typed.
    formula : Formula
        In the names that were typed.
    raw : sympy.Basic
        The expression in inputs that are not derived, before it is rounded to the whole number it stands for.
    condition : sympy.Basic
        Condition on the same inputs, which holds where the value lies in the domain of the variable.
    """

    variable: Variable
    text: str
    formula: Formula
    raw: sympy.Basic
    condition: sympy.Basic

    @property
    def inputs(self) -> tuple[str, ...]:
        """Inputs it depends on, none of them derived."""
        symbols = (s for s in self.raw.free_symbols if not isinstance(s, UnitSymbol))
        return tuple(sorted(symbol.name for symbol in symbols))  # type: ignore[attr-defined]

    @property
    def reason(self) -> str:
        """Reason to refuse a point where the condition does not hold."""
        return f"{self.variable.name} must be {self.variable.domain.describe()}"


def derived_inputs(model: DeclaredModel, arguments: Mapping[str, Derived]) -> tuple[DerivedInput, ...]:
    """Turn derived arguments into formulas, each after those it needs.

    Raises
    ------
    InputError
        If an argument is a label, or follows from itself.
    UnitError
        If an expression has not the unit of its argument.
    """
    known = [name for name, variable in model.arguments.items() if variable is not None]
    typed = {name: _expression(model, name, expression, known) for name, expression in arguments.items()}
    ordered: dict[str, DerivedInput] = {}
    values: dict[sympy.Basic, Any] = {}

    def visit(name: str, trail: tuple[str, ...]) -> None:
        if name in ordered:
            return
        if name in trail:
            loop = " -> ".join([*trail[trail.index(name) :], name])
            raise InputError(name, arguments[name], "must not follow from itself", loop)
        variable, expression = variable_of(name), typed[name]
        for needed in sorted(symbol.name for symbol in expression.free_symbols if symbol.name in arguments):
            visit(needed, (*trail, name))
        raw = expression.xreplace(values)
        values[variable.symbol] = _whole(variable, raw)
        formula = _declared(variable, expression)
        ordered[name] = DerivedInput(variable, str(arguments[name].expression), formula, raw, _inside(variable, raw))

    for name in arguments:
        visit(name, ())
    return tuple(ordered.values())


def _expression(model: DeclaredModel, name: str, derived: Derived, known: list[str]) -> Any:
    """Expression that was typed, in the unit of the argument."""
    variable = model.arguments[name]
    if variable is None or variable.domain.kind == "choice":
        raise InputError(name, derived, "only a number can be derived", "give it as a value or a list")
    read = quantity(derived.expression, model, known, name)
    expression: Any = read.sympy
    if dict(read.dimension) != variable.dimension and not expression.is_zero:
        unit = "" if read.dimension else bare_unit(variable.dimension, variable.unit if variable.named_unit else "")
        if not unit:
            raise UnitError(
                f"{name}={quoted(derived)}: the expression is {describe(dict(read.dimension))}, "
                f"but {name} is {describe(variable.dimension)}"
            )
        expression = expression * UnitSymbol(unit)
    return expression


def _whole(variable: Variable, expression: Any) -> Any:
    """Expression, rounded to the whole number it stands for if the variable is one."""
    return sympy.floor(expression) if variable.domain.kind == "integer" else expression


@lru_cache(maxsize=256)
def _declared(variable: Variable, expression: Any) -> Formula:
    """Formula of a derived input; values outside its domain, or refused by its model, are refused before."""
    value = _whole(variable, expression)
    orders = (value <= high if low == variable.symbol else low <= value for low, high in variable.orders)
    return Formula(
        variable.symbol,
        value,
        given=sympy.And(_inside(variable, expression), *orders),
        title=variable.description.rstrip("."),
        source=Typed(),
        no_example="typed by the caller",
    )


@lru_cache(maxsize=64)
def extended(system: System, formulas: tuple[Formula, ...]) -> System:
    """Extend a system by the formulas of derived inputs; cached, since code is cached by the object."""
    return system.extend(*formulas)


def _inside(variable: Variable, raw: Any) -> Any:
    """Condition that a value lies in the domain of its variable."""
    domain, one = variable.domain, sympy.nsimplify(units.factor(variable.unit), rational=True)
    largest = min(domain.upper, LARGEST_INTEGER - 1 if domain.kind == "integer" else LARGEST)
    conditions: list[Any] = [raw <= sympy.Rational(largest) * one]
    if domain.kind == "integer":
        # Ceiling and floor of compiled code take a quotient within rounding of a whole number for it.
        conditions.append(sympy.Eq(sympy.ceiling(raw), sympy.floor(raw)))
        raw = sympy.floor(raw)
    lower = sympy.Rational(max(domain.lower, -largest)) * one
    conditions.append(raw > lower if domain.open_lower else raw >= lower)
    return sympy.And(*conditions)
