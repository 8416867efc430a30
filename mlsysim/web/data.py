"""Data of a model's page: variables, units, entries, defaults, requirements and formulas.

All of it is read from the model. No script names a variable, a unit, a limit or a model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from string import Formatter
from typing import Any

import pint
import sympy

import mlsysim
from mlsysim import units
from mlsysim.catalog import Accelerator, Engine, Entry, Recipe, Stack, TransformerWorkload, Value, builtin
from mlsysim.errors import InputError
from mlsysim.formats import PRESETS, RATE_OF, rate_format
from mlsysim.inputs import convert
from mlsysim.inputs.axes import Derived
from mlsysim.inputs.declaration import Caveat, DeclaredModel
from mlsysim.inputs.recipe import as_run, given_by, recipe_argument
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.study.results.basis import assumed, is_share, numbers, used_in
from mlsysim.study.results.expected_error import areas_of, error_of, specificity, standing
from mlsysim.study.results.notes import MUCH, lengths_of, longest
from mlsysim.symbolic import Requirement, Variable, variable_of
from mlsysim.version import __version__
from mlsysim.web.formulas import PrintedModel


def model_data(model: type[DeclaredModel], printed: PrintedModel, variant: str | None = None) -> dict[str, Any]:
    """Build the data of a model's page.

    Parameters
    ----------
    model : type
        Model of the page.
    printed : PrintedModel
        Its printed formulas, to which those of requirements and cases are added.
    variant : str, optional
        Variant with which the page opens; by default that of the example, else the measured one.
    """
    own = as_run(model.asked(), model.example).variant if "variant" not in model.example else model.example["variant"]
    first = variant if variant in printed.variants else own if own in printed.variants else next(iter(printed.variants))
    requirements: dict[Any, int] = {}
    variants = {name: _variant(model(name), printed, requirements) for name in printed.variants}
    arguments = {name for content in variants.values() for name in content["arguments"]}
    shown = {variable_of(name) for name in arguments.difference(model.slots)}
    shown |= {variable for name in printed.variants for variable in model(name).system.variables}
    ordered = sorted(shown, key=lambda v: v.name)
    slots = {name: slot for name, slot in model.slots.items() if name in arguments}
    return {
        "version": __version__,
        "model": model.__name__,
        "module": "mlsysim" if model.__name__ in mlsysim.__all__ else model.__module__,
        "command": model.command,
        "question": model.question(),
        "answer": model.answer,
        "example": _example(model(first)),
        "recipes": _recipes(model, list(variants)),
        "first": first,
        "variables": _by_place({printed.name_of(v.name): _variable(v, v.name in arguments) for v in ordered}),
        "amounts": {unit: _unit(unit) for unit in sorted({v.unit for v in shown} - {"count", ""})},
        "slots": {name: _slot(model, slot, arguments) for name, slot in slots.items()},
        "follows": dict(model.follows),
        "variants": variants,
        "better": {**asdict(model.better), "much": MUCH} if model.better and model.better.variant in variants else None,
        "without": printed.without,
        "texts": printed.texts,
        "requirements": list(requirements),
        "units": unit_table(),
        "formats": {"presets": {name: preset.compute for name, preset in PRESETS.items()}, "rates": RATE_OF},
        "limits": {
            "smallest": convert.SMALLEST,
            "largest": convert.LARGEST,
            "integer": float(convert.LARGEST_INTEGER),
            "thousands": units.THOUSANDS,
        },
    }


def _by_place(values: dict[int, Any]) -> list[Any]:
    """Convert values by index to a list, with null in gaps."""
    return [values.get(index) for index in range(max(values) + 1)]


def _example(model: DeclaredModel) -> dict[str, str]:
    """Return the model's example as typed text; a recipe is replaced by its arguments."""
    point = {name: value for name, value in model.example.items() if name != "variant"}
    recipe = point.pop(recipe_argument(type(model)), None)
    arguments = _given(builtin().find(Recipe.what, recipe), model, point) if recipe else {}
    return arguments | {name: str(value) for name, value in point.items()}


def _recipes(model: type[DeclaredModel], variants: list[str]) -> dict[str, Any]:
    """Describe each recipe: its name, the variant that fits it, and its arguments as typed text."""
    argument, described = recipe_argument(model), {}
    for recipe in _fitting(model.slots[argument]) if argument else ():
        assert isinstance(recipe, Recipe)
        variant = recipe.variants.get(model.command, "")
        if variant not in variants:
            takes = [variant for variant in variants if argument in model(variant).arguments]
            variant = takes[0] if takes else ""
        if variant:
            described[recipe.key] = {
                "name": recipe.name,
                "variant": variant,
                "typed": _given(recipe, model(variant), {}),
            }
    return described


def _given(recipe: Entry, model: DeclaredModel, typed: dict[str, Any]) -> dict[str, str]:
    """Return the arguments that a recipe sets, as typed text, without derived ones."""
    assert isinstance(recipe, Recipe)
    arguments = given_by(recipe, model, typed).typed
    return {name: _written(value) for name, value in arguments.items() if not isinstance(value, Derived)}


def _written(value: Any) -> str:
    """Format a value of a recipe as typed text."""
    if isinstance(value, Entry):
        return value.key
    if isinstance(value, Value):
        return f"{value.value:.15g} {value.unit}"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _variable(variable: Variable, typed: bool) -> dict[str, Any]:
    """Describe a variable; with limits if it is an argument."""
    domain = variable.domain
    description: dict[str, Any] = {
        "latex": variable.latex,
        "label": "" if variable.label == variable.name.replace("_", " ").capitalize() else variable.label,
        "about": variable.description,
        "unit": variable.unit if variable.unit != "count" else "",
        "named": variable.named_unit,
        "kind": "flag" if domain.is_flag else domain.kind if domain.kind != "real" else "",
        "labels": list(domain.labels),
    }
    if typed:
        description |= {
            "allowed": domain.describe(),
            "lower": domain.lower if math.isfinite(domain.lower) else None,
            "upper": domain.upper if math.isfinite(domain.upper) else None,
            "open": domain.open_lower,
            "counts": units.counts(units.dimension(variable.unit), variable.unit),
        }
    return {name: value for name, value in description.items() if value not in (None, "", []) and value is not False}


def _unit(text: str) -> dict[str, Any]:
    """Describe a unit: factor, dimension, and printed form."""
    powers = _powers(units.dimension(text))
    return {"factor": units.factor(text), "dimension": powers, "shown": f"{units.unit(text):~P}"}


def _powers(dimension: dict[str, int]) -> str:
    return " ".join(f"{name}{power}" for name, power in sorted(dimension.items()))


def _slot(model: type[DeclaredModel], slot: Slot, arguments: set[str]) -> dict[str, Any]:
    names = [name for name in slot.gives if name in arguments]
    return {
        "what": slot.entry.what,
        "gives": names,
        "optional": slot.optional,
        "extras": list(slot.extras),
        "default": slot.default,
        "prefix": slot.prefix,
        "way": _gives_way(slot, names),
        "entries": {
            entry.key: _entry(slot, entry, names) | _beside(model, entry, arguments) for entry in _fitting(slot)
        },
    }


def _gives_way(slot: Slot, names: list[str]) -> dict[str, list[str]]:
    """List the values of entries that arguments replace; those of models may apply beside formats."""
    others = {} if issubclass(slot.entry, TransformerWorkload) else slot.entry.gives_way
    return {name: list(others[name]) for name in names if name in others}


def _beside(model: type[DeclaredModel], entry: Entry, arguments: set[str]) -> dict[str, dict[str, float]]:
    """Describe the node and fabric that a device supplies by default."""
    if not isinstance(entry, Accelerator) or entry.link_domain is None:
        return {}
    supplied = {"accelerators_per_node": entry.link_domain.value} if "accelerators_per_node" in arguments else {}
    if entry.fabric is not None and "fabric" in arguments:
        from_fabric = {name: entry.fabric.value_of(name, "") for name in model.slots["fabric"].gives}
        supplied |= {name: value.canonical for name, value in from_fabric.items() if value is not None}
    return {"beside": supplied}


def _fitting(slot: Slot) -> list[Entry]:
    """List the catalog entries that an argument accepts."""
    catalog = builtin()
    return [entry for path in catalog.paths() if isinstance(entry := catalog.entry(path), slot.entry)]


def _picked(slot: Slot) -> bool:
    """Tell whether a page offers entries for an argument: not where the catalog has none, and no recipes or engines."""
    return not issubclass(slot.entry, Recipe | Engine) and bool(_fitting(slot))


def _entry(slot: Slot, entry: Entry, names: Iterable[str]) -> dict[str, Any]:
    """Describe the values of an entry; those that depend on a number format by format, or with the reason for a gap."""
    values: dict[str, Any] = {}
    rates: dict[str, Any] = {}
    for name in names:
        if not slot.by_format(name) or isinstance(getattr(entry, slot.field(name), None), Value):
            if (value := slot.value(entry, name, "")) is not None:
                values[name] = value.canonical
            continue
        rates[name] = {}
        for number_format in _formats():
            try:
                value = slot.value(entry, name, number_format)
            except InputError as error:
                rates[name][number_format] = [error.allowed, error.hint]
            else:
                rates[name][number_format] = None if value is None else value.canonical
    of_device = {"of" if entry.of_one_device else "device": entry.device.key} if entry.device is not None else {}
    known = {"devices": [device.key for device in entry.devices]} if isinstance(entry, Stack) and entry.devices else {}
    limit = longest(entry)
    described = {"name": entry.name, "values": values, **({"rates": rates} if rates else {}), **of_device, **known}
    return described | ({"longest": limit} if math.isfinite(limit) else {})


@cache
def _formats() -> tuple[str, ...]:
    return ("", *dict.fromkeys(rate_format(precision) for precision in PRESETS))


def _variant(model: DeclaredModel, printed: PrintedModel, requirements: dict[Any, int]) -> dict[str, Any]:
    of = type(model)
    own = Variant.of(of.variants[model.variant])
    arguments = [name for name in model.arguments if name not in of.slots or _picked(of.slots[name])]
    return {
        "about": own.about,
        "arguments": arguments,
        "keywords": [name for name in arguments if name in of.keywords],
        "defaults": {name: model.canonical_default(name) for name in model.defaults if name in model.arguments},
        "headline": list(model.headline),
        "parts": parts_shown(model),
        "formulas": _runs(printed.variants[model.variant]),
        "texts": _runs([printed.text_of(formula) for formula in model.formulas]),
        "basis": _basis(model),
        "requirements": [
            requirements.setdefault(_requirement(requirement, printed), len(requirements))
            for requirement in model.requirements
        ],
        "caveats": [
            _caveat(caveat, printed) for caveat in of.caveats if model.variant in (caveat.variants or of.variants)
        ],
        "lengths": lengths_of(arguments),
    }


def _runs(positions: list[int]) -> list[tuple[int, int]]:
    """Group positions into runs of consecutive ones, each with its first position and length."""
    runs: list[tuple[int, int]] = []
    for position in positions:
        first, count = runs[-1] if runs else (0, 0)
        if position == first + count:
            runs[-1:] = [(first, count + 1)]
        else:
            runs.append((position, 1))
    return runs


def _basis(model: DeclaredModel) -> dict[str, Any]:
    """Describe the assumptions behind an answer, and the measured errors by proximity."""
    (output,) = numbers(model)
    names = assumed(model, (output,))
    tiers = [
        [_area(area, output, follows) for area in sorted(areas_of(kind, variant, below), key=specificity, reverse=True)]
        for follows, below, kind, variant in standing(type(model), model.variant, output)
    ]
    return {
        "assumed": names,
        "used": {name: used_in(model.system)[name] for name in names if name in used_in(model.system)},
        "shares": [name for name in names if is_share(name)],
        "laws": {name: law for name, law in Stack.laws.items() if {name, *law} <= {*model.arguments}},
        "errors": [tier for tier in tiers if tier],
    }


def _area(area: dict[str, Any], output: str, follows: str) -> dict[str, Any]:
    """Describe a measured error and the answers that it covers; labels by code, numbers in canonical units."""
    where = {}
    for name, allowed in area["where"].items():
        labels, unit = variable_of(name).domain.labels, variable_of(name).unit
        factor = units.factor(unit) if unit != "count" else 1.0
        where[name] = [labels.index(limit) for limit in allowed] if labels else [limit * factor for limit in allowed]
    sentence = f"{error_of(area, output, follows).shares} ({area['about']}; {area['page']})"
    return {"devices": area["devices"], "stacks": area["stacks"], "where": where, "said": sentence}


def parts_shown(model: DeclaredModel) -> dict[str, tuple[str, ...]]:
    """List the components of each headline total: those declared, or the terms of its formula."""
    components = {name: model.parts_of(name) or _terms(model, name) for name in model.headline}
    return {name: outputs for name, outputs in components.items() if len(outputs) > 1}


def _terms(model: DeclaredModel, name: str) -> tuple[str, ...]:
    """List the headline outputs that a formula adds, alone or inside a maximum."""
    expression = model.system[name].expression
    sums = expression.args if isinstance(expression, sympy.Max) else (expression,)
    terms = {term for sum_ in sums if isinstance(sum_, sympy.Add) for term in sum_.args}
    return tuple(name for name in model.headline if variable_of(name).symbol in terms)


def _caveat(caveat: Caveat, printed: PrintedModel) -> tuple[Any, ...]:
    """Describe a caveat: the position of its condition, and its text as words with inputs between."""
    (position,) = printed.places_of([("caveat", caveat.where)])
    return position, tuple((text, name or "") for text, name, *_ in Formatter().parse(caveat.said))


def _requirement(requirement: Requirement, printed: PrintedModel) -> tuple[Any, ...]:
    """Describe a requirement: its argument, its condition's position, and its text as words with inputs between."""
    (position,) = printed.places_of([(requirement.variable.name, requirement.condition)])
    words = tuple((text, name or "") for text, name, *_ in Formatter().parse(requirement.template))
    return requirement.variable.name, position, words


@cache
def unit_table() -> dict[str, Any]:
    """Tabulate unit and prefix names as pint reads them: factor and dimension of units, factors of prefixes."""
    registry = pint.UnitRegistry(str(units.DEFINITIONS))
    names = [name for name in registry._units if name != "kilogram"]
    table = {name: [units.factor(name), _powers(units.dimension(name))] for name in names}
    prefixes = {name: float(prefix.converter.scale) for name, prefix in registry._prefixes.items()}
    return {"names": table, "prefixes": prefixes}
