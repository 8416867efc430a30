"""The arguments and outputs of a model, printed from its declaration: what a call needs and gives."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import groupby
from typing import Any

from mlsysim.book.contents import unit_text
from mlsysim.book.markdown import code, joined, prose, table
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.models.registry import words_for
from mlsysim.symbolic import Variable
from website.knowledge import Knowledge, Model
from website.markup import boxed, with_html
from website.models import formula_page
from website.public_names import VERB_NAMES, anchor, by_page, directive, lookup

#: Variants up to which tables name them.
_NAMED = 4
_HEADS = ("Name", "Unit", "Default", "Allowed", "Meaning", "Variants")


def overview(known: Knowledge) -> str:
    """The page that lists the models."""
    rows = [
        (f"[{code(model.__name__)}](../reference/{model.__name__}.md)", prose(model.question()),
         ", ".join(map(code, model.variants)))
        for model in known.models
    ]  # fmt: skip
    return with_html(joined([
        "# Models and their arguments", "",
        "A page for each model: its variants, the entries and inputs that its verbs take, and its outputs. "
        "[How arguments are given](ask.md#mlsysim.PerformanceModel.solve).", "",
        *table(("Model", "Question", "Variants"), rows),
    ]))  # fmt: skip


def page(known: Knowledge, model: Model, names: Mapping[str, tuple[str, ...]]) -> str:
    """Everything that a call of a model needs."""
    instances = {name: model(name) for name in model.variants}
    head = [
        f"# {model.__name__}", "",
        f"[Its equations and accuracy](../models/{model.__name__}.md), "
        f"[a calculator](../calculators/{model.__name__}.md), `mlsysim {words_for(model)}` in a shell.", "",
    ]  # fmt: skip
    about = ["```{eval-rst}", *directive(model.__name__, with_members=False), "```", ""]
    tables = [
        "## Variants", "", *_variants(instances), "", "## Entries", "", *_entries(model), "",
        "## Inputs", "", *_inputs(model, instances), "", "## Outputs", "", *_outputs(known, instances), "",
        "## Verbs", "", *_verbs(model, names),
    ]  # fmt: skip
    return joined([*head, *about, *_call(model), "", *tables])


def _call(model: Model) -> list[str]:
    """The example of a model, and what it prints."""
    arguments = {name: value for name, value in model.example.items() if name != "variant"}
    variant = model.example.get("variant")
    shown = ",\n".join(f"    {name}={value!r}" for name, value in arguments.items())
    made = f"{model.__name__}({f'{variant!r}' if variant else ''})"
    return [
        "## A call", "", "```python", f"from mlsysim import {model.__name__}", "",
        f"result = {made}.solve(\n{shown},\n)", "print(result)", "```", "", "```text",
        repr(model.solve_example()), "```",
    ]  # fmt: skip


def _variants(instances: Mapping[str, DeclaredModel]) -> list[str]:
    chosen = type(next(iter(instances.values())))
    first = next(iter(instances))
    mark = "-" if len(instances) <= _NAMED else "1."
    return [
        f"{mark} {code(name)}{' (default)' if name == first else ''}"
        f"{': ' + prose(about) if (about := Variant.of(chosen.variants[name]).about) else ''}"
        for name in instances
    ]


def _entries(model: Model) -> list[str]:
    """Arguments that take catalog entries, and what these give."""
    positional = model.positional()
    rows = [
        (code(name), f"[{code(slot.entry.__name__)}]({_page_of(slot.entry)})",
         f"yes, {positional.index(name) + 1}" if name in positional else "by name", _entry_default(slot),
         ", ".join(map(code, slot.gives)) or prose(slot.described))
        for name, slot in model.slots.items()
    ]  # fmt: skip
    if not rows:
        return ["None: this model takes inputs alone."]
    says = "An entry, its name in the [catalog](../catalog/index.md), or a file of one. Inputs given by name go first."
    return [says, "", *boxed("entries", table(("Name", "Takes", "Positional", "Default", "Gives"), rows))]


def _page_of(entry: type) -> str:
    """The anchor of a class of entries."""
    return next(
        f"../api/{page}.md#{anchor(name)}"
        for page, names in _pages().items() for name in names if lookup(name) is entry
    )  # fmt: skip


@cache
def _pages() -> dict[str, tuple[str, ...]]:
    return by_page()


def _entry_default(slot: Slot) -> str:
    return code(slot.default) if slot.default else "–" if slot.optional or not slot.gives else "inputs by name"


def _inputs(model: Model, instances: Mapping[str, DeclaredModel]) -> list[str]:
    rows = [
        (code(name), unit(variable), _default(model, name, instances), prose(variable.domain.describe()),
         prose(variable.description), _using(model.variants_using(name), instances))
        for name, variable in model.arguments.items() if variable is not None
    ]  # fmt: skip
    return boxed("reference", table(_HEADS, rows))


def _default(model: Model, name: str, instances: Mapping[str, DeclaredModel]) -> str:
    """The value of an argument that is left out, by variant where they differ."""
    if givers := model.givers.get(name):
        taken = "from " + " or ".join(code(argument) for argument, _ in givers)
    else:
        taken = "required"
    found: dict[str, list[str]] = {}
    for variant in model.variants_using(name):
        defaults = instances[variant].defaults
        found.setdefault(_value(model, name, defaults[name]) if name in defaults else taken, []).append(variant)
    if len(found) <= 1:
        return next(iter(found), taken)
    (common, _), *others = sorted(found.items(), key=lambda pair: -len(pair[1]))
    return "; ".join([common, *(f"{value} in {_using(variants, instances)}" for value, variants in others)])


def _value(model: Model, name: str, value: Any) -> str:
    automatic = model.automatic.get(name)
    return code(repr(value)) + (", the model finds it" if automatic is not None and automatic == value else "")


def _using(variants: Iterable[str], instances: Mapping[str, DeclaredModel]) -> str:
    """Variants that have something: by name where there are few, else by their numbers in the list."""
    every, using = list(instances), set(variants)
    if using == set(every):
        return "all"
    if len(every) <= _NAMED:
        return ", ".join(code(name) for name in every if name in using)
    places = [place for place, name in enumerate(every, 1) if name in using]
    runs = [[place for _, place in run] for _, run in groupby(enumerate(places), lambda pair: pair[1] - pair[0])]
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _outputs(known: Knowledge, instances: Mapping[str, DeclaredModel]) -> list[str]:
    """Outputs that are shown first, and below them every other."""
    heads = list(dict.fromkeys(name for model in instances.values() for name in model.headline))
    every = list(dict.fromkeys(v.name for model in instances.values() for v in model.outputs))
    others = [name for name in every if name not in heads]
    names = ("Name", "Unit", "Meaning", "Formula", "Variants")
    lines = boxed("reference", table(names, (_output(known, name, instances) for name in heads)))
    if others:
        rows = (_output(known, name, instances) for name in others)
        lines += ["", "<details>", f"<summary>{len(others)} intermediate values, which a result has too</summary>", "",
                  *boxed("reference", table(names, rows)), "", "</details>"]  # fmt: skip
    return lines


def _output(known: Knowledge, name: str, instances: Mapping[str, DeclaredModel]) -> tuple[str, ...]:
    having = {variant: model.system[name].printed for variant, model in instances.items() if name in model.system}
    variable = next(model.system[name].variable for model in instances.values() if name in model.system)
    forms = dict.fromkeys(having.values())
    links = ", ".join(f"[{each.variant or 'formula'}]({formula_page(known, each)})" for each in forms)
    return code(name), unit(variable), prose(variable.description), links, _using(having, instances)


def unit(variable: Variable) -> str:
    """The unit of a variable; a dash where it has none."""
    return unit_text(variable.unit) or "–"


def _verbs(model: Model, names: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The verbs of a model, each with the page that says how it is asked."""
    of = {name: page for page, listed in names.items() for name in listed}
    rows = [
        (f"[{code(verb)}](../api/{of[name]}.md#{anchor(name)})", prose(_first_line(name)))
        for verb, name in VERB_NAMES.items() if hasattr(model, verb)
    ]  # fmt: skip
    return table(("Verb", "Answer"), rows)


def _first_line(name: str) -> str:
    return (inspect.getdoc(lookup(name)) or "").partition("\n")[0]
