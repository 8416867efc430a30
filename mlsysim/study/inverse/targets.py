"""Targets of an inverse problem: equations and conditions, read from keywords."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy

from mlsysim.errors import InputError, MlsysimError, UnknownNameError
from mlsysim.inputs import convert
from mlsysim.inputs.axes import Linked
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.expressions import Expression, condition, quantity
from mlsysim.inputs.spellings import names_for
from mlsysim.study.results.display import as_text
from mlsysim.study.searches.constraints import comparisons
from mlsysim.symbolic import Variable, label, variable_of
from mlsysim.symbolic.family import families_among, members_among

_BARE = re.compile(r"\s*(?:<=|>=|==|!=|<|>)\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")
_COMPARES = re.compile(r"\s*(<=|>=|==|!=|<|>|not in\b|in\b)")


@dataclass(frozen=True)
class Equation:
    """An output, or an expression, with its required value.

    Attributes
    ----------
    text : str
        The equation as shown.
    left : Expression
        Expression with the required value.
    right : Expression or float or ndarray
        The value: an expression, or canonical numbers along an axis of targets.
    """

    text: str
    left: Expression
    right: Any


@dataclass
class Targets:
    """Conditions that must all hold.

    Attributes
    ----------
    equations : list of Equation
        Equalities between numbers.
    conditions : list of Expression
        All other conditions.
    assumed : list of Expression
        Conditions that were not typed: feasibility, if the model computes it.
    axes : dict
        Targets with several values, as axes of the grid.
    """

    equations: list[Equation] = field(default_factory=list)
    conditions: list[Expression] = field(default_factory=list)
    assumed: list[Expression] = field(default_factory=list)
    axes: dict[str, convert.Axis] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        """All of them as text."""
        return [target.text for target in (*self.equations, *self.conditions, *self.assumed)]

    @property
    def names(self) -> tuple[str, ...]:
        """Inputs and outputs that the typed conditions need, sorted."""
        needed = {name for condition in self.conditions for name in condition.names}
        for equation in self.equations:
            needed.update(equation.left.names)
            if isinstance(equation.right, Expression):
                needed.update(equation.right.names)
        return tuple(sorted(needed))


def split(model: DeclaredModel, keywords: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split keywords into arguments of the model and targets, which are outputs.

    Raises
    ------
    UnknownNameError
        If a keyword is neither.
    """
    arguments, targets = {}, {}
    families = families_among(type(model).arguments)
    for name, value in keywords.items():
        if name in model.system and name not in model.arguments:
            targets[name] = value
        elif name in type(model).arguments or name in families or isinstance(value, Linked):
            arguments[name] = value
        elif members_among(name, model.system):
            model.output(name)
        else:
            raise unknown_name(model, name)
    return arguments, targets


def unknown_name(model: DeclaredModel, name: str) -> UnknownNameError:
    """Build the error for a keyword that is neither an argument nor an output."""
    known = [*model.arguments, *(variable.name for variable in model.outputs)]
    refused = model.unknown_output(name, known)
    kind = f"argument or output of {type(model).__name__}"
    return UnknownNameError(kind, name, known, refused.hint, close=names_for(name, known))


def read(model: DeclaredModel, values: Mapping[str, Any], subject_to: Any, unknown: str) -> Targets:
    """Read targets from keyword values and from conditions.

    Parameters
    ----------
    model : DeclaredModel
        Model that computes the outputs.
    values : mapping
        Required values by output: a value, several values, or text that begins with a comparison.
    subject_to : str, sympy Boolean or sequence of them, or None
        Further conditions on inputs and outputs.
    unknown : str
        Input to solve for; a value that makes the model choose it itself never counts.

    Returns
    -------
    Targets

    Raises
    ------
    InputError
        If there is no target, or one cannot be read.
    """
    targets = Targets()
    known = [*(v.name for v in model.system.variables), *(n for n, v in model.arguments.items() if v is not None)]
    for name, value in values.items():
        _take(targets, model, variable_of(name), value, known)
    conditions = list(subject_to) if isinstance(subject_to, list | tuple | set | frozenset) else [subject_to]
    for typed in conditions:
        if typed is not None:
            _add(targets, condition(typed, model, known, "subject_to"), model, known)
    if not targets.texts:
        raise InputError(
            "targets", dict(values), "give at least one output and what it must be", f"as in {model.answer}=..."
        )
    if unknown in model.automatic:
        above_automatic = f"{unknown} > {model.automatic[unknown]:g}"
        _add(targets, condition(above_automatic, model, known, unknown), model, known)
    return targets


def _take(targets: Targets, model: DeclaredModel, variable: Variable, value: Any, known: list[str]) -> None:
    name, kind = variable.name, variable.domain.kind
    if value is None:
        raise InputError(name, None, "is an output: give the value that it must have")
    if isinstance(value, str) and _COMPARES.match(value):
        _add(targets, condition(f"{name} {with_unit(variable, value)}", model, known, name), model, known)
    elif convert.is_axis(value):
        _take_axis(targets, variable, value)
    elif kind == "choice":
        code = convert.scalar(variable, value)
        label_name = variable.domain.labels[int(code)]
        equality = sympy.Eq(variable.symbol, label(variable.symbol, label_name))
        targets.conditions.append(Expression(f"{name} == {label_name}", equality, {}, ""))
    elif kind == "boolean":
        truth = bool(convert.scalar(variable, _truth(value)))
        equality = variable.symbol if truth else sympy.Not(variable.symbol)
        targets.conditions.append(Expression(name if truth else f"not {name}", equality, {}, ""))
    else:
        _take_number(targets, model, variable, value, known)


def with_unit(variable: Variable, comparison: str) -> str:
    """Append the unit of the variable to a comparison with a bare number, such as ``"<= 80"``."""
    has_unit = bool(variable.dimension) and not variable.named_unit
    return f"{comparison.strip()} {variable.unit}" if has_unit and _BARE.fullmatch(comparison) else comparison


def _take_axis(targets: Targets, variable: Variable, value: Any) -> None:
    name = variable.name
    if variable.domain.kind in ("choice", "boolean") or any(isinstance(v, str) and _COMPARES.match(v) for v in value):
        raise InputError(name, value, "several targets are numbers, each of which the output must equal")
    axis = convert.axis(variable, value)
    targets.axes[name] = axis
    targets.equations.append(Equation(name, Expression(name, variable.symbol, {}, variable.unit), axis.canonical))


def _take_number(targets: Targets, model: DeclaredModel, variable: Variable, value: Any, known: list[str]) -> None:
    try:
        number = convert.scalar(variable, value)
    except MlsysimError:
        if isinstance(value, str) and any(re.search(rf"\b{name}\b", value) for name in known):
            _add(targets, condition(f"{variable.name} == {value}", model, known, variable.name), model, known)
            return
        raise
    text = f"{variable.name} = {as_text(variable, number)}"
    left = Expression(variable.name, variable.symbol, variable.dimension, variable.unit)
    targets.equations.append(Equation(text, left, number))


def _truth(value: Any) -> Any:
    words = {"true": True, "yes": True, "false": False, "no": False}
    return words.get(value.lower(), value) if isinstance(value, str) else value


def _add(targets: Targets, expression: Expression, model: DeclaredModel, known: list[str]) -> None:
    """Add a condition; an equality between numbers is an equation."""
    if not isinstance(expression.sympy, sympy.Eq):
        targets.conditions.append(expression)
        return
    (comparison,) = comparisons(expression, model.system, lambda text: quantity(text, model, known)) or (None,)
    if comparison is None:
        targets.conditions.append(expression)
    else:
        targets.equations.append(Equation(expression.text, comparison.left, comparison.right))


def numbers(values: Any, indices: np.ndarray) -> Any:
    """Index an array; return a number unchanged."""
    return values[indices] if np.ndim(values) else values
