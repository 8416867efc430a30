"""Arguments that a recipe gives to one model, beside those that were typed."""

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
        Where the recipe has it from.
    entry : str
        The argument whose entry gave it; empty where the recipe did.
    """

    recipe: str
    origin: Sourced | str
    entry: str = ""

    @property
    def by(self) -> str:
        """The recipe, and its entry if that gave the value."""
        return f"recipe {self.recipe}" + f", {self.entry}" * bool(self.entry)

    def __str__(self) -> str:
        return f"{self.by}: {self.origin}"


#: Where an input came from.
Origin = Sourced | FromRecipe | str


@dataclass
class Given:
    """Arguments that a recipe gives to a model.

    Attributes
    ----------
    typed : dict
        Arguments as if they were typed; derived ones are ``Derived``.
    origins : dict
        Where each of them came from, but those of entries.
    left_out : tuple of str
        What the recipe gives and the model has no argument for.
    """

    typed: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, Sourced | str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


#: A model of any class.
AnyModel = TypeVar("AnyModel", bound=DeclaredModel)


@cache
def recipe_argument(model: type[DeclaredModel]) -> str:
    """The argument that takes a recipe; empty where the model has none."""
    return next((name for name, slot in model.slots.items() if issubclass(slot.entry, Recipe)), "")


def as_run(model: AnyModel, typed: Mapping[str, Any]) -> AnyModel:
    """The model in the variant that its recipe or its engine names; itself where a variant was chosen.

    Parameters
    ----------
    model : DeclaredModel
        What is asked.
    typed : mapping
        The arguments of the call.

    Raises
    ------
    InputError
        If several recipes, or several engines, name several variants, and none was chosen.
    """
    if model.is_chosen or typed.get("variant") is not None:
        return model
    given: list[Any] = []
    for argument, kind in _namers(type(model)):
        value = typed.get(argument) if kind is Recipe else given_or_linked(argument, typed)
        if value is not None:
            given = given_entries(value, kind)
    if model.assumed and not given:
        given = [each for each in (assumed_engine(model, typed),) if each is not None]
    elif model.assumed:
        model = copy(model)
        model.assumed = ""
    if not given:
        return model
    named: dict[str, list[str]] = {}
    extended = {name for kind in type(model).__mro__[1:] for name in getattr(kind, "variants", ())}
    for each in given:
        run = each.variant.value if isinstance(each, Engine) else each.variants.get(model.command, model.variant)
        # A model of one's own may lack a variant of the one that it extends; any other name is a slip.
        run = model.variant if run in extended - {*model.variants} else run
        named.setdefault(run, []).append(name_of(each))
    if len(named) > 1:
        runs = "; ".join(f"{variant} describes {', '.join(names)}" for variant, names in named.items())
        one = " or ".join(f'{type(model).__name__}("{variant}")' for variant in named)
        raise InputError(
            given[0].what, [name for names in named.values() for name in names], runs, f"{one} asks all by one"
        )
    if model.variant in named:
        return model
    found = model.in_variant(*named)
    found.is_chosen = False
    return found


@cache
def _namers(model: type[DeclaredModel]) -> tuple[tuple[str, type[Entry]], ...]:
    """Arguments that take an entry which names a variant, and its kind."""
    kinds: tuple[type[Entry], ...] = (Recipe, Engine)
    return tuple((argument, kind) for kind in kinds if (argument := argument_of(model, kind)))


def name_of(entry: Entry) -> str:
    """Name of an entry in the catalog, else its own."""
    return entry.key or entry.name


def given_by(recipe: Recipe, model: DeclaredModel, typed: Mapping[str, Any]) -> Given:
    """The arguments of a model that a recipe gives and the call does not.

    What a call gives wins: also over what the recipe says of an entry that the call gives in place of its own.

    Parameters
    ----------
    recipe : Recipe
        What gives.
    model : DeclaredModel
        Whose arguments they are.
    typed : mapping
        The arguments of the call.

    Returns
    -------
    Given

    Raises
    ------
    UnknownNameError
        If the recipe names an argument that no model has.
    """
    own, covered = _own(model, typed)
    found, left_out = Given(), []
    for name, entry in _entries(recipe, model).items():
        if name not in model.slots or name not in model.arguments:
            left_out.append(name)
        elif name not in own and not (covered and covered.issuperset(model.slots[name].gives)):
            found.typed[name] = entry
    for name, setting in recipe.arguments.items():
        if model.arguments.get(name) is None:
            _check_known(recipe, model, name)
            left_out.append(name)
        elif name not in own and name not in covered:
            found.typed[name] = _plain(variable_of(name), setting)
            found.origins[name] = setting
    if "dp_size" in model.arguments and "fleet_size" not in model.arguments and recipe.accelerators is not None:
        left_out = [name for name in left_out if name not in ("fleet", "fleet_size")]
        if "dp_size" not in own | set(found.typed):
            found.typed["dp_size"], found.origins["dp_size"] = _data_parallel(
                recipe.accelerators.value, model, {**found.typed, **_alone(typed)}
            )
    found.left_out = tuple(left_out)
    return found


def _own(model: DeclaredModel, typed: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """The arguments of a call, and the inputs that its entries give."""
    own = set(_alone(typed))
    return own, {name for slot in own & set(model.slots) for name in model.slots[slot].gives}


def _entries(recipe: Recipe, model: DeclaredModel) -> dict[str, Entry]:
    """The entries of a recipe; to a model without fleets, a fleet is its accelerators."""
    found = recipe.entries
    if "fleet" not in model.slots and recipe.fleet is not None and "hardware" in model.slots:
        found.setdefault("hardware", recipe.fleet.node.accelerator)
    return found


def _alone(typed: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, and those linked with others."""
    linked = {name: values for each in typed.values() if isinstance(each, Linked) for name, values in each.axes.items()}
    return {**typed, **linked}


def _data_parallel(size: float, model: DeclaredModel, given: Mapping[str, Any]) -> tuple[Any, str]:
    """Data-parallel ranks of a model that asks for them, out of the accelerators of a recipe."""
    ranks = [name for name in _OTHER_RANKS if name in model.arguments]
    text = f"{size:.0f} / ({' * '.join(ranks)})"
    return _over(size, ranks, model, given) or derived(text), f"derived: {text}"


def _over(size: float, ranks: Sequence[str], model: DeclaredModel, given: Mapping[str, Any]) -> int | None:
    """A number of accelerators over ranks; None where those vary, or it is not whole."""
    values = [given.get(name, model.defaults.get(name, 1)) for name in ranks]
    if any(is_axis(value) or isinstance(value, Derived) for value in values):
        return None
    found = size / prod(scalar(variable_of(name), value) for name, value in zip(ranks, values, strict=True))
    return int(found) if found == int(found) else None


def _plain(variable: Variable, setting: Sourced) -> Any:
    """A value as it is typed."""
    if isinstance(setting, Choice):
        flag = {"yes": True, "no": False} if variable.domain.is_flag else {}
        return flag.get(setting.value, setting.value)
    return setting if setting.unit else setting.value


def _check_known(recipe: Recipe, model: DeclaredModel, name: str) -> None:
    """Refuse a name that is an argument of no model."""
    try:
        variable_of(name)
    except MlsysimError:
        known = [each for each, variable in type(model).arguments.items() if variable is not None]
        raise UnknownNameError(f"argument in the recipe {name_of(recipe)}", name, known) from None


def along_axis(recipes: Sequence[Recipe], model: DeclaredModel, typed: Mapping[str, Any]) -> Given:
    """Arguments that several recipes give to a model: a list for each, with a value of each recipe.

    Raises
    ------
    InputError
        If a recipe does not give what others do, and nothing else does.
    """
    each = [given_by(recipe, model, typed) for recipe in recipes]
    if 0 < sum("fleet" in given.typed for given in each) < len(each):
        for given in each:
            _spell_out(given, model, typed)
    names = dict.fromkeys(name for given in each for name in given.typed)
    lists = {
        name: [_one(name, recipe, given, model) for recipe, given in zip(recipes, each, strict=True)] for name in names
    }
    return Given(lists, left_out=tuple(dict.fromkeys(name for given in each for name in given.left_out)))


def _spell_out(given: Given, model: DeclaredModel, typed: Mapping[str, Any]) -> None:
    """Replace a fleet by its accelerator and by each value it gives, beside recipes that name no fleet."""
    fleet = given.typed.pop("fleet", None)
    if not isinstance(fleet, Fleet):
        return
    own, covered = _own(model, typed)
    if "hardware" not in own:
        given.typed["hardware"] = fleet.node.accelerator
    for name in model.slots["fleet"].gives:
        taken = model.arguments.get(name) is None or name in own | covered | fleet.by_precision
        value = None if taken else fleet.value_of(name, "")
        if value is not None:
            given.typed.setdefault(name, value)


def _one(name: str, recipe: Recipe, given: Given, model: DeclaredModel) -> Any:
    """Argument from one of several recipes, or what holds where it gives nothing."""
    value = given.typed.get(name)
    if isinstance(value, Derived):
        hint = f"one recipe at a time where ranks vary or do not divide them; or give {name}=..."
        raise InputError("recipe", name_of(recipe), hint)
    if value is not None:
        return value
    if name in model.slots:
        found: Any = model.slots[name].default or None
    else:
        entries = [(slot, given.typed[argument]) for argument, slot in model.givers.get(name, ())
                   if isinstance(given.typed.get(argument), Entry)]  # fmt: skip
        values = (slot.value(entry, name, "") for slot, entry in entries if name not in slot.entry.by_precision)
        found = next((v for v in values if v is not None), None)
        found = model.defaults.get(name, model.fallback(name, "")) if found is None else found
    if found is None:
        raise InputError("recipe", name_of(recipe), f"gives no {name}, which others do", f"give {name}=...")
    return found
