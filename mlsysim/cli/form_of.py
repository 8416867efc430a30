"""Build the form of a model; ``python -m mlsysim.cli.form_of`` prints those of the built-in models."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from mlsysim.catalog import Engine, Traffic, TransformerWorkload, builtin
from mlsysim.cli.forms import CATALOG, INPUTS, OVERRIDES, STORED, Choice, Form
from mlsysim.cli.words import NO, YES, command_line
from mlsysim.inputs.signature import only_in
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.spellings import option_name
from mlsysim.jsontext import json_text
from mlsysim.models import PerformanceModel
from mlsysim.models.registry import Listed, Registry, ours
from mlsysim.symbolic import Variable

#: Columns of a line that help does not wrap: 80 columns, less its indent of two.
WIDTH = 74
UNITS = "A bare number is in the unit shown; text brings its own unit, as in '80 GB'."


def form_of(model: type[PerformanceModel], program: str = "mlsysim", beside: Sequence[Listed] = ()) -> Form:
    """Build the form of a model.

    Parameters
    ----------
    model : type
        Model whose arguments become options.
    program : str
        Beginning of the command in the help's example.
    beside : sequence of Listed
        Other models with the same command, and variants and options of their own.
    """
    return Form(
        command=model.command,
        help=_help(model, program, beside),
        choices=tuple(_choices(model)),
        common=_common(model),
        given={name: slot.described for name, slot in model.slots.items()},
        variants=tuple(dict.fromkeys((model.measured(), *model.variants))),
        outputs=tuple(variable.name for variable in model.asked().outputs),
        strict="feasible" in model.headline,
    )


def printed() -> str:
    """Serialise the forms of the built-in models by class, as JSON."""
    registry = Registry()
    return (
        json_text({listed.name: asdict(form_of(listed.load(), beside=registry.beside(listed))) for listed in ours()})
        + "\n"
    )


def _common(model: type[PerformanceModel]) -> tuple[str, ...]:
    """List the inputs that help shows: those declared common, those of the example, and those without a default."""
    model_asked = model.asked()
    needed = [name for name in model.keywords if name in model_asked.arguments and name not in model_asked.defaults]
    return tuple(dict.fromkeys([*needed, *model.example, *model.common]))


def _help(model: type[PerformanceModel], program: str, beside: Sequence[Listed]) -> str:
    """Compose the help text: the question, its explanation, the example's command, and how numbers are read.

    Other models of the command follow with their questions.
    """
    question, _, more = inspect.cleandoc(model.__doc__ or "").partition("\n")
    summary = "" if more.lstrip().startswith("Parameters\n") else more.lstrip().partition("\n\n")[0]
    example = f"\b\n{command_line(model, WIDTH, program)}" if model.example else ""
    others = [f"\b\n{program} {other.words} --help\n{_indented(other.question)}" for other in beside]
    return "\n\n".join(filter(None, (f"{question} {summary}".strip(), example, UNITS, *others)))


def _indented(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 4)


def _choices(model: type[PerformanceModel]) -> Iterator[Choice]:
    for name, slot in model.slots.items():
        lost = "; without it, what needs them is left out" if slot.optional else ""
        default = slot.default or (model.engine if issubclass(slot.entry, Engine) else "")
        lost += f"; {default} by default" if default else ""
        or_file = (
            ", a Hugging Face config.json or an id of the Hub in its cache"
            if issubclass(slot.entry, TransformerWorkload)
            else ""
        )
        or_file = ", or a CSV or JSONL file of a trace" if issubclass(slot.entry, Traffic) else or_file
        text = f"Entry of the catalog ({slot.entry.what}), by name{or_file}{lost}."
        yield Choice(name, text, "NAME", CATALOG, _offered(model, name))
    for name, variable in model.arguments.items():
        if variable is not None and model.variants_using(name):
            panel = INPUTS if name in model.keywords else OVERRIDES
            only = only_in(model, name)
            allowed = f"{variable.domain.describe()}; {_default(model, variable)}{only and f'; {only.lower()}'}"
            text = f"{variable.description} ({allowed})"
            yield Choice(name, text, _metavar(variable), panel, _offered(model, name))


def _offered(model: type[PerformanceModel], name: str) -> tuple[str, ...]:
    """List the values of an argument that have names: entries, labels, or yes and no."""
    if name in model.slots:
        return _entry_names(model.slots[name])
    variable = model.arguments.get(name)
    return () if variable is None else (YES[0], NO[0]) if variable.domain.is_flag else variable.domain.labels


def _entry_names(slot: Slot) -> tuple[str, ...]:
    catalog = builtin()
    fitting = [path for path in catalog.paths() if isinstance(catalog.entry(path), slot.entry)]
    return tuple(path.rpartition(".")[2] for path in fitting)


def _default(model: type[PerformanceModel], variable: Variable) -> str:
    """Describe an option's default, per variant if they differ."""
    name = variable.name
    unit = "" if variable.unit in ("", "count") else f" {variable.unit}"
    givers = [option_name(argument) for argument, slot in model.slots.items() if name in slot.gives]
    without = f"default from {' or '.join(givers)}" if givers else "required"
    meant: dict[str, list[str]] = {}
    for variant in model.variants_using(name):
        defaults = model(variant).defaults
        meant.setdefault(f"default {defaults[name]}{unit}" if name in defaults else without, []).append(variant)
    if len(meant) == 1:
        return next(iter(meant))
    return "; ".join(f"{text} for {' and '.join(variants)}" for text, variants in meant.items())


def _metavar(variable: Variable) -> str:
    if variable.domain.kind == "choice":
        return "NAME"
    if variable.domain.is_flag:
        return "TRUE|FALSE"
    return variable.unit if variable.unit not in ("", "count") else "NUMBER"


if __name__ == "__main__":
    STORED.write_text(printed(), encoding="utf-8")
