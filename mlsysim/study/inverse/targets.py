"""Targets that must hold at the value that is asked for: equations and conditions, read from keywords."""

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
    """An output, or an expression, that must have a value.

    Attributes
    ----------
    text : str
        As it is shown.
    left : Expression
        What must have the value.
    right : Expression or float or ndarray
        The value: an expression, or canonical numbers along an axis of targets.
    """

    text: str
    left: Expression
    right: Any


@dataclass
class Targets:
    """All that must hold.

    Attributes
    ----------
    equations : list of Equation
        Equalities between numbers.
    conditions : list of Expression
        Everything else.
    assumed : list of Expression
        What nobody gave: that the answer is feasible, where the model computes that.
    axes : dict
        Targets of which several values are asked for, as axes of the grid.
    """

    equations: list[Equation] = field(default_factory=list)
    conditions: list[Expression] = field(default_factory=list)
    assumed: list[Expression] = field(default_factory=list)
    axes: dict[str, convert.Axis] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        """All of them as text."""
        return [each.text for each in (*self.equations, *self.conditions, *self.assumed)]

    @property
    def names(self) -> tuple[str, ...]:
        """Inputs and outputs that what was given needs, sorted."""
        needed = {name for each in self.conditions for name in each.names}
        for equation in self.equations:
            needed.update(equation.left.names)
            if isinstance(equation.right, Expression):
                needed.update(equation.right.names)
        return tuple(sorted(needed))


def split(model: DeclaredModel, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keywords as arguments of the model, and as targets: those that are outputs.

    Raises
    ------
    UnknownNameError
        If one is neither.
    """
    arguments, targets = {}, {}
    families = families_among(type(model).arguments)
    for name, value in given.items():
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
    """The refusal of a keyword that is neither an argument nor an output."""
    known = [*model.arguments, *(v.name for v in model.outputs)]
    refused = model.unknown_output(name, known)
    what = f"argument or output of {type(model).__name__}"
    return UnknownNameError(what, name, known, refused.hint, close=names_for(name, known))


def read(model: DeclaredModel, given: Mapping[str, Any], subject_to: Any, unknown: str) -> Targets:
    """Read targets from keyword values and from conditions.

    Parameters
    ----------
    model : DeclaredModel
        Whose outputs they are about.
    given : mapping
        By output: a value, several values, or text that begins with a comparison.
    subject_to : str, sympy Boolean or sequence of them, or None
        Further conditions on inputs and outputs.
    unknown : str
        The input that is asked for; it is not the value that lets the model find it.

    Returns
    -------
    Targets

    Raises
    ------
    InputError
        If there is none, or one cannot be read.
    """
    found = Targets()
    known = [*(v.name for v in model.system.variables), *(n for n, v in model.arguments.items() if v is not None)]
    for name, value in given.items():
        _take(found, model, variable_of(name), value, known)
    more = list(subject_to) if isinstance(subject_to, list | tuple | set | frozenset) else [subject_to]
    for each in more:
        if each is not None:
            _add(found, condition(each, model, known, "subject_to"), model, known)
    if not found.texts:
        raise InputError(
            "targets", dict(given), "give at least one output and what it must be", f"as in {model.answer}=..."
        )
    if unknown in model.automatic:
        beyond = f"{unknown} > {model.automatic[unknown]:g}"
        _add(found, condition(beyond, model, known, unknown), model, known)
    return found


def _take(found: Targets, model: DeclaredModel, variable: Variable, value: Any, known: list[str]) -> None:
    name, kind = variable.name, variable.domain.kind
    if value is None:
        raise InputError(name, None, "is an output: give the value that it must have")
    if isinstance(value, str) and _COMPARES.match(value):
        _add(found, condition(f"{name} {with_unit(variable, value)}", model, known, name), model, known)
    elif convert.is_axis(value):
        _take_axis(found, variable, value)
    elif kind == "choice":
        code = convert.scalar(variable, value)
        word = variable.domain.labels[int(code)]
        asked = sympy.Eq(variable.symbol, label(variable.symbol, word))
        found.conditions.append(Expression(f"{name} == {word}", asked, {}, ""))
    elif kind == "boolean":
        truth = bool(convert.scalar(variable, _truth(value)))
        asked = variable.symbol if truth else sympy.Not(variable.symbol)
        found.conditions.append(Expression(name if truth else f"not {name}", asked, {}, ""))
    else:
        _take_number(found, model, variable, value, known)


def with_unit(variable: Variable, comparison: str) -> str:
    """A comparison with a number, such as ``"<= 80"``, in the unit of the variable; any other as it is."""
    has_unit = bool(variable.dimension) and not variable.named_unit
    return f"{comparison.strip()} {variable.unit}" if has_unit and _BARE.fullmatch(comparison) else comparison


def _take_axis(found: Targets, variable: Variable, value: Any) -> None:
    name = variable.name
    if variable.domain.kind in ("choice", "boolean") or any(isinstance(v, str) and _COMPARES.match(v) for v in value):
        raise InputError(name, value, "several targets are numbers, each of which the output must equal")
    axis = convert.axis(variable, value)
    found.axes[name] = axis
    found.equations.append(Equation(name, Expression(name, variable.symbol, {}, variable.unit), axis.canonical))


def _take_number(found: Targets, model: DeclaredModel, variable: Variable, value: Any, known: list[str]) -> None:
    try:
        number = convert.scalar(variable, value)
    except MlsysimError:
        if isinstance(value, str) and any(re.search(rf"\b{name}\b", value) for name in known):
            _add(found, condition(f"{variable.name} == {value}", model, known, variable.name), model, known)
            return
        raise
    text = f"{variable.name} = {as_text(variable, number)}"
    left = Expression(variable.name, variable.symbol, variable.dimension, variable.unit)
    found.equations.append(Equation(text, left, number))


def _truth(value: Any) -> Any:
    words = {"true": True, "yes": True, "false": False, "no": False}
    return words.get(value.lower(), value) if isinstance(value, str) else value


def _add(found: Targets, asked: Expression, model: DeclaredModel, known: list[str]) -> None:
    """Add a condition; an equality between numbers is an equation."""
    if not isinstance(asked.sympy, sympy.Eq):
        found.conditions.append(asked)
        return
    (comparison,) = comparisons(asked, model.system, lambda text: quantity(text, model, known)) or (None,)
    if comparison is None:
        found.conditions.append(asked)
    else:
        found.equations.append(Equation(asked.text, comparison.left, comparison.right))


def numbers(values: Any, places: np.ndarray) -> Any:
    """A number, or those of an array at places."""
    return values[places] if np.ndim(values) else values
