"""Checks of the declaration of a model when its class is made: every error names the class and the attribute."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import sympy

from mlsysim.errors import MlsysimError, ModelError, UnknownNameError, quoted
from mlsysim.inputs import convert
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.symbolic import Formula, Requirement, System, variable_of
from mlsysim.symbolic.family import families_among
from mlsysim.symbolic.ranges import range_of

if TYPE_CHECKING:
    from mlsysim.inputs.declaration import DeclaredModel

_TEXTS = "a tuple of names, as in ('total_memory',)"
_FORMULAS = "a tuple of formulas, as in (formula,), or a Variant of one"


def check_kinds(model: type[DeclaredModel]) -> None:
    """Refuse attributes of the wrong kind.

    Raises
    ------
    ModelError
        If one is.
    """
    for name in ("command", "answer"):
        if not isinstance(getattr(model, name), str):
            raise _wrong(model, name, getattr(model, name), "a text")
    for name in ("variants", "slots", "defaults", "example", "parts"):
        value = getattr(model, name)
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise _wrong(model, name, value, "a mapping from names")
    if model.command and not model.variants:
        raise ModelError(f"{model.__name__}.variants: names no set of formulas, though the class has a command")
    for name, slot in model.slots.items():
        if not isinstance(slot, Slot):
            raise _wrong(model, f"slots[{name!r}]", slot, "a Slot")
        _check_texts(model, f"slots[{name!r}].provides", slot.gives)
    _check_texts(model, "headline", model.headline)
    _check_texts(model, "keywords", tuple(model.keywords) if isinstance(model.keywords, Mapping) else model.keywords)
    _check_texts(model, "common", model.common)
    for name, parts in model.parts.items():
        _check_texts(model, f"parts[{name!r}]", parts)
    _check_requirements(model, "requirements", model.requirements)
    for name, chosen in model.variants.items():
        where = f"variants[{name!r}]"
        formulas = chosen.formulas if isinstance(chosen, Variant) else chosen
        if not isinstance(formulas, Iterable) or isinstance(formulas, str | Mapping):
            raise _wrong(model, where, formulas, _FORMULAS)
        if isinstance(formulas, tuple | list) and not all(isinstance(formula, Formula) for formula in formulas):
            raise _wrong(model, where, formulas, _FORMULAS)
        if isinstance(chosen, Variant):
            if not isinstance(chosen.defaults, Mapping):
                raise _wrong(model, f"{where}.defaults", chosen.defaults, "a mapping from names")
            _check_texts(model, f"{where}.headline", chosen.headline)
            _check_requirements(model, f"{where}.requirements", chosen.requirements)


def check_inputs_only(model: type[DeclaredModel], variant: str, system: System) -> None:
    """Refuse a requirement on a variable that the formulas of a variant compute.

    Raises
    ------
    ModelError
        If there is one.
    """
    own = Variant.of(model.variants[variant]).requirements
    for requirement in (*model.requirements, *own):
        for needed in requirement.inputs:
            if needed.name in system:
                raise ModelError(
                    f"{model.__name__}, variant {variant!r}: the requirement {quoted(requirement.reason)} is on "
                    f"{needed.name}, which the formulas compute; requirements are conditions on inputs"
                )


def premises(model: type[DeclaredModel], variant: str, system: System) -> tuple[Requirement, ...]:
    """Requirements that the formulas of a variant rest on, beyond those that the model and the variant declare.

    Raises
    ------
    ModelError
        If a formula rests on a condition that is not on inputs alone.
    """
    own = Variant.of(model.variants[variant]).requirements
    required = {part for known in (*model.requirements, *own) for part in sympy.And.make_args(known.condition)}
    conditions = {part: formula.name for formula in system for part in sympy.And.make_args(formula.given)}
    names = {v.name for v in (*system.inputs, *system.variables)}
    inputs = {pair: v.name for v in system.inputs for pair in v.orders}
    conditions |= {low <= high: name for (low, high), name in inputs.items() if {low.name, high.name} <= names}
    missing = [
        (condition, name)
        for condition, name in conditions.items()
        if condition != sympy.true and condition not in required and not _is_implied(condition, required, system)
    ]
    for condition, name in missing:
        if any(symbol.name in system for symbol in condition.free_symbols):
            raise ModelError(
                f"{model.__name__}, variant {variant!r}: {name} stays in its domain only where {condition}, which the "
                "model does not require: add a Requirement of it"
            )
    return tuple(_requirement(condition) for condition, _ in missing)


def _requirement(condition: Any) -> Requirement:
    """Requirement of an order or of a whole quotient, with its words."""
    if isinstance(condition, sympy.Le):
        low, high = condition.args
        assert isinstance(low, sympy.Symbol)
        return Requirement(low, condition, f"must be at most {{{high}}}")
    dividend, divisor = (
        (part, "*".join(f"{{{symbol}}}" for symbol in sorted(part.free_symbols, key=str)))
        for part in condition.lhs.args
    )
    if divisor[0].is_Symbol:
        return Requirement(divisor[0], condition, f"must divide {dividend[1]}")
    return Requirement(min(dividend[0].free_symbols, key=str), condition, f"must be a multiple of {divisor[1]}")


def _is_implied(condition: Any, required: Collection[Any], system: System) -> bool:
    """Tell if a quotient is whole because it is a required whole quotient times a whole number."""
    if not isinstance(condition, sympy.Eq) or not isinstance(condition.lhs, sympy.Mod) or condition.rhs != 0:
        return isinstance(condition, sympy.Le) and sympy.Lt(*condition.args) in required
    dividend, divisor = condition.lhs.args
    quotient: Any = dividend / divisor  # type: ignore[operator]
    for formula in reversed(system.formulas):
        quotient = quotient.xreplace({formula.symbol: formula.expression})
    quotient = quotient.xreplace(
        {known.lhs: known.rhs for known in required if isinstance(known, sympy.Eq) and known.rhs.is_number}
    )
    equations = (equation for equation in required if isinstance(equation, sympy.Eq))
    whole = (equation.lhs.args for equation in equations if isinstance(equation.lhs, sympy.Mod))
    return any(range_of(quotient * by / of).whole for of, by in whole)  # type: ignore[operator]


def check_names(model: type[DeclaredModel], systems: Mapping[str, System]) -> None:
    """Refuse names that a model does not have, and defaults that are no values of their inputs.

    Raises
    ------
    ModelError
        If there is one.
    """
    computed = {v.name for system in systems.values() for v in system.variables}
    for name in (*model.headline, *filter(None, (model.answer,))):
        if name not in computed:
            where = "headline" if name in model.headline else "answer"
            raise _unknown(model, where, f"output of {model.__name__}", name, computed)
    for total, parts in model.parts.items():
        for name in (total, *parts):
            if name not in computed:
                raise _unknown(model, f"parts[{total!r}]", f"output of {model.__name__}", name, computed)
    arguments = (*model.arguments, *families_among(model.arguments))
    _check_defaults(model, "defaults", model.defaults)
    for variant, chosen in model.variants.items():
        changed = Variant.of(chosen)
        for name in changed.headline:
            if name not in systems[variant]:
                raise _unknown(model, f"variants[{variant!r}].headline", "output", name, computed)
        _check_defaults(model, f"variants[{variant!r}].defaults", changed.defaults)
        for name in changed.example:
            if name not in arguments:
                of = f"variants[{variant!r}].example"
                raise _unknown(model, of, f"argument of {model.__name__}", name, arguments)
    for name in model.common:
        if name not in arguments:
            raise _unknown(model, "common", f"argument of {model.__name__}", name, arguments)
    for name, value in model.example.items():
        if name == "variant":
            if value not in model.variants:
                raise _unknown(model, "example", "variant", value, model.variants)
        elif name not in arguments:
            raise _unknown(model, "example", f"argument of {model.__name__}", name, arguments)


def check_arguments(model: type[DeclaredModel], taken: Collection[str]) -> None:
    """Refuse arguments with the name of a parameter of a verb or an option of a command.

    Parameters
    ----------
    model : type
        The model.
    taken : collection of str
        Names of those.

    Raises
    ------
    ModelError
        If there is one.
    """
    for name in (*model.arguments, *families_among(model.arguments)):
        if name in taken:
            raise ModelError(
                f"{model.__name__}: no input can be called {name!r}, which is a word of the verbs or of the commands; "
                f"give its variable another name, such as {name}_value"
            )


def _check_defaults(model: type[DeclaredModel], where: str, defaults: Mapping[str, Any]) -> None:
    for name, value in defaults.items():
        if model.arguments.get(name) is None:
            known = [argument for argument, variable in model.arguments.items() if variable is not None]
            raise _unknown(model, where, f"input of {model.__name__}", name, known)
        try:
            convert.scalar(variable_of(name), value)
        except MlsysimError as error:
            raise ModelError(f"{model.__name__}.{where}: {error}") from None


def _check_texts(model: type[DeclaredModel], where: str, value: Any) -> None:
    if not isinstance(value, tuple | list) or not all(isinstance(each, str) for each in value):
        raise _wrong(model, where, value, _TEXTS)


def _check_requirements(model: type[DeclaredModel], where: str, value: Any) -> None:
    if not isinstance(value, tuple | list) or not all(isinstance(each, Requirement) for each in value):
        raise _wrong(model, where, value, "a tuple of requirements, as in (Requirement(...),)")


def _wrong(model: type[DeclaredModel], where: str, value: Any, allowed: str) -> ModelError:
    return ModelError(f"{model.__name__}.{where}: must be {allowed}, not {quoted(value)}")


def _unknown(model: type[DeclaredModel], where: str, what: str, name: Any, known: Iterable[str]) -> ModelError:
    return ModelError(f"{model.__name__}.{where}: {UnknownNameError(what, name, known)}")
