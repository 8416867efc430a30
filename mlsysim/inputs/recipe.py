"""Arguments that a recipe gives to one model, besides those that were typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any, TypeVar

from mlsysim.catalog import Choice, Engine, Entry, Fleet, Recipe, Sourced
from mlsysim.errors import InputError, MlsysimError, UnknownNameError
from mlsysim.inputs.axes import Derived, Linked, derived
from mlsysim.inputs.convert import is_axis, scalar
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.engines import argument_of, assumed_engine, given_entries, given_or_linked
from mlsysim.symbolic import Variable, variable_of

#: Ranks that every accelerator is one of; the rest of a fleet is data-parallel.
_OTHER_RANKS = ("tp_size", "pp_size", "cp_size")


@dataclass(frozen=True)
class FromRecipe:
    """Origin of an input that a recipe gave.

    Attributes
    ----------
    recipe : str
        Name of the recipe.
    origin : Sourced or str
        Source of the recipe.
    entry : str
        The argument whose entry gave it; empty if the recipe did.
    """

    recipe: str
    origin: Sourced | str
    entry: str = ""

    @property
    def by(self) -> str:
        """Recipe, and its entry if that gave the value."""
        return f"recipe {self.recipe}" + f", {self.entry}" * bool(self.entry)

    def __str__(self) -> str:
        return f"{self.by}: {self.origin}"


#: Origin of the value of an input.
Origin = Sourced | FromRecipe | str


@dataclass
class RecipeArguments:
    """Arguments that a recipe gives to a model.

    Attributes
    ----------
    typed : dict
        Arguments as if they were typed; derived ones are ``Derived``.
    origins : dict
        Origin of each of them, but those of entries.
    left_out : tuple of str
        Settings of the recipe for which the model has no argument.
    """

    typed: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, Sourced | str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


#: A model of any class.
AnyModel = TypeVar("AnyModel", bound=DeclaredModel)


@cache
def recipe_argument(model: type[DeclaredModel]) -> str:
    """Name of the argument that takes a recipe; empty if the model has none."""
    return next((name for name, slot in model.slots.items() if issubclass(slot.entry, Recipe)), "")


def as_run(model: AnyModel, typed: Mapping[str, Any]) -> AnyModel:
    """Model in the variant that its recipe or its engine names; itself if a variant was chosen.

    Parameters
    ----------
    model : DeclaredModel
        Model that is asked.
    typed : mapping
        Arguments of the call.

    Raises
    ------
    InputError
        If several recipes, or several engines, name several variants, and none was chosen.
    """
    if model.is_chosen or typed.get("variant") is not None:
        return model
    namers: list[Any] = []
    for argument, kind in _namers(type(model)):
        value = typed.get(argument) if kind is Recipe else given_or_linked(argument, typed)
        if value is not None:
            namers = given_entries(value, kind)
    if model.assumed and not namers:
        engine = assumed_engine(model, typed)
        namers = [] if engine is None else [engine]
    elif model.assumed:
        model = copy(model)
        model.assumed = ""
    if not namers:
        return model
    named: dict[str, list[str]] = {}
    extended = {name for kind in type(model).__mro__[1:] for name in getattr(kind, "variants", ())}
    for namer in namers:
        run = namer.variant.value if isinstance(namer, Engine) else namer.variants.get(model.command, model.variant)
        # A model of one's own may lack a variant of the one that it extends; any other name is a slip.
        run = model.variant if run in extended - {*model.variants} else run
        named.setdefault(run, []).append(name_of(namer))
    if len(named) > 1:
        runs = "; ".join(f"{variant} describes {', '.join(names)}" for variant, names in named.items())
        one = " or ".join(f'{type(model).__name__}("{variant}")' for variant in named)
        raise InputError(
            namers[0].what, [name for names in named.values() for name in names], runs, f"{one} asks all by one"
        )
    if model.variant in named:
        return model
    in_variant = model.in_variant(*named)
    in_variant.is_chosen = False
    return in_variant


@cache
def _namers(model: type[DeclaredModel]) -> tuple[tuple[str, type[Entry]], ...]:
    """Arguments that take an entry which names a variant, and its kind."""
    kinds: tuple[type[Entry], ...] = (Recipe, Engine)
    return tuple((argument, kind) for kind in kinds if (argument := argument_of(model, kind)))


def name_of(entry: Entry) -> str:
    """Name of an entry in the catalog, else its own."""
    return entry.key or entry.name


def given_by(recipe: Recipe, model: DeclaredModel, typed: Mapping[str, Any]) -> RecipeArguments:
    """Arguments of a model that a recipe gives and the call does not.

    Arguments of the call win, also over settings of the recipe for an entry that the call replaces.

    Parameters
    ----------
    recipe : Recipe
        Recipe that gives them.
    model : DeclaredModel
        Model of the arguments.
    typed : mapping
        Arguments of the call.

    Returns
    -------
    RecipeArguments

    Raises
    ------
    UnknownNameError
        If the recipe names an argument that no model has.
    """
    own, covered = _own(model, typed)
    arguments, left_out = RecipeArguments(), []
    for name, entry in _entries(recipe, model).items():
        if name not in model.slots or name not in model.arguments:
            left_out.append(name)
        elif name not in own and not (covered and covered.issuperset(model.slots[name].gives)):
            arguments.typed[name] = entry
    for name, setting in recipe.arguments.items():
        if model.arguments.get(name) is None:
            _check_known(recipe, model, name)
            left_out.append(name)
        elif name not in own and name not in covered:
            arguments.typed[name] = _plain(variable_of(name), setting)
            arguments.origins[name] = setting
    if "dp_size" in model.arguments and "fleet_size" not in model.arguments and recipe.accelerators is not None:
        left_out = [name for name in left_out if name not in ("fleet", "fleet_size")]
        if "dp_size" not in own | set(arguments.typed):
            arguments.typed["dp_size"], arguments.origins["dp_size"] = _data_parallel(
                recipe.accelerators.value, model, {**arguments.typed, **_alone(typed)}
            )
    arguments.left_out = tuple(left_out)
    return arguments


def _own(model: DeclaredModel, typed: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """Arguments of a call, and the inputs that its entries give."""
    own = set(_alone(typed))
    return own, {name for slot in own & set(model.slots) for name in model.slots[slot].gives}


def _entries(recipe: Recipe, model: DeclaredModel) -> dict[str, Entry]:
    """Entries of a recipe; to a model without fleets, a fleet is its accelerators."""
    entries = recipe.entries
    if "fleet" not in model.slots and recipe.fleet is not None and "hardware" in model.slots:
        entries.setdefault("hardware", recipe.fleet.node.accelerator)
    return entries


def _alone(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a call, and those linked with others."""
    linked = {name: axis for value in typed.values() if isinstance(value, Linked) for name, axis in value.axes.items()}
    return {**typed, **linked}


def _data_parallel(size: float, model: DeclaredModel, arguments: Mapping[str, Any]) -> tuple[Any, str]:
    """Data-parallel ranks of a model that asks for them, out of the accelerators of a recipe."""
    ranks = [name for name in _OTHER_RANKS if name in model.arguments]
    text = f"{size:.0f} / ({' * '.join(ranks)})"
    return _over(size, ranks, model, arguments) or derived(text), f"derived: {text}"


def _over(size: float, ranks: Sequence[str], model: DeclaredModel, arguments: Mapping[str, Any]) -> int | None:
    """Divide a number of accelerators by ranks; None if those vary, or the quotient is not whole."""
    values = [arguments.get(name, model.defaults.get(name, 1)) for name in ranks]
    if any(is_axis(value) or isinstance(value, Derived) for value in values):
        return None
    quotient = size / prod(scalar(variable_of(name), value) for name, value in zip(ranks, values, strict=True))
    return int(quotient) if quotient == int(quotient) else None


def _plain(variable: Variable, setting: Sourced) -> Any:
    """Value as it is typed."""
    if isinstance(setting, Choice):
        flag = {"yes": True, "no": False} if variable.domain.is_flag else {}
        return flag.get(setting.value, setting.value)
    return setting if setting.unit else setting.value


def _check_known(recipe: Recipe, model: DeclaredModel, name: str) -> None:
    """Refuse a name that is an argument of no model."""
    try:
        variable_of(name)
    except MlsysimError:
        known = [argument for argument, variable in type(model).arguments.items() if variable is not None]
        raise UnknownNameError(f"argument in the recipe {name_of(recipe)}", name, known) from None


def along_axis(recipes: Sequence[Recipe], model: DeclaredModel, typed: Mapping[str, Any]) -> RecipeArguments:
    """Arguments that several recipes give to a model: a list for each, with a value of each recipe.

    Raises
    ------
    InputError
        If a recipe does not give what others do, and nothing else does.
    """
    by_recipe = [given_by(recipe, model, typed) for recipe in recipes]
    if 0 < sum("fleet" in arguments.typed for arguments in by_recipe) < len(by_recipe):
        for arguments in by_recipe:
            _spell_out(arguments, model, typed)
    names = dict.fromkeys(name for arguments in by_recipe for name in arguments.typed)
    lists = {
        name: [_one(name, recipe, arguments, model) for recipe, arguments in zip(recipes, by_recipe, strict=True)]
        for name in names
    }
    return RecipeArguments(
        lists, left_out=tuple(dict.fromkeys(name for arguments in by_recipe for name in arguments.left_out))
    )


def _spell_out(arguments: RecipeArguments, model: DeclaredModel, typed: Mapping[str, Any]) -> None:
    """Replace a fleet by its accelerator and by each value it gives, beside recipes that name no fleet."""
    fleet = arguments.typed.pop("fleet", None)
    if not isinstance(fleet, Fleet):
        return
    own, covered = _own(model, typed)
    if "hardware" not in own:
        arguments.typed["hardware"] = fleet.node.accelerator
    for name in model.slots["fleet"].gives:
        taken = model.arguments.get(name) is None or name in own | covered | fleet.by_precision
        value = None if taken else fleet.value_of(name, "")
        if value is not None:
            arguments.typed.setdefault(name, value)


def _one(name: str, recipe: Recipe, arguments: RecipeArguments, model: DeclaredModel) -> Any:
    """Argument from one of several recipes, or its value elsewhere if the recipe gives nothing."""
    value = arguments.typed.get(name)
    if isinstance(value, Derived):
        hint = f"one recipe at a time where ranks vary or do not divide them; or give {name}=..."
        raise InputError("recipe", name_of(recipe), hint)
    if value is not None:
        return value
    if name in model.slots:
        fallback: Any = model.slots[name].default or None
    else:
        entries = [(slot, arguments.typed[argument]) for argument, slot in model.givers.get(name, ())
                   if isinstance(arguments.typed.get(argument), Entry)]  # fmt: skip
        values = (slot.value(entry, name, "") for slot, entry in entries if name not in slot.entry.by_precision)
        fallback = next((v for v in values if v is not None), None)
        fallback = model.defaults.get(name, model.fallback(name, "")) if fallback is None else fallback
    if fallback is None:
        raise InputError("recipe", name_of(recipe), f"gives no {name}, which others do", f"give {name}=...")
    return fallback
