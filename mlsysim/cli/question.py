"""A command that asks one model: its options come from the model's arguments."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from mlsysim import show
from mlsysim.catalog import Traffic, TransformerWorkload, builtin
from mlsysim.cli import output
from mlsysim.cli.exits import Exit
from mlsysim.cli.options import Json, OwnCatalog, Strict, option_name
from mlsysim.cli.words import NO, YES, as_options, command_line, read_entry, shelf_of, typed_text
from mlsysim.errors import MlsysimError, quoted
from mlsysim.inputs.signature import only_in
from mlsysim.inputs.slot import Slot
from mlsysim.jsontext import json_text
from mlsysim.models import PerformanceModel
from mlsysim.models.registry import Listed, words_for
from mlsysim.study.display import listed
from mlsysim.study.result import Result
from mlsysim.symbolic import Variable

CATALOG, INPUTS, OVERRIDES, ANSWER = "From the catalog", "Inputs", "In place of the catalog", "Options"
SHOWN = "Outputs"

UNITS = "A bare number is in the unit shown; text brings its own unit, as in '80 GB'."


class Sectioned(TyperCommand):
    """A command whose help lists the options under headings; it knows the options of others that share its name."""

    beside: tuple[Listed, ...] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Say which variant takes an option that this model has not."""
        if not ctx.resilient_parsing:
            own = {each for option in self.params for each in (*option.opts, *option.secondary_opts)}
            for word in (each.partition("=")[0] for each in args if each.startswith("--")):
                for other in (each.load() for each in self.beside if word not in own):
                    if word in map(option_name, other.arguments):
                        raise MlsysimError(f"{word}: an option of `mlsysim {words_for(other)}`")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write one section per heading."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(option, "rich_help_panel", None) or ANSWER, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def question_command(model: type[PerformanceModel], program: str = "mlsysim", beside: Sequence[Listed] = ()) -> Any:
    """The command of a model.

    Parameters
    ----------
    model : type
        Whose arguments become options.
    program : str
        With what the command begins, for the example in its help.
    beside : sequence of Listed
        Other models that have the same command, with variants and options of their own.

    Returns
    -------
    click command
    """
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

    def ask(**options: Any) -> None:
        _ask(model, **options)

    ask.__signature__ = inspect.Signature([*_arguments(model), *_answer(model, beside)])  # type: ignore[attr-defined]
    app.command(model.command, cls=Sectioned, help=_help(model, program, beside))(ask)
    command = typer.main.get_command(app)
    command.beside = tuple(beside)  # type: ignore[attr-defined]
    return command


def _help(model: type[PerformanceModel], program: str, beside: Sequence[Listed]) -> str:
    """The question with the sentence that follows it, the command of the example, and how numbers are read.

    Other models of the command follow with their questions.
    """
    question, _, more = inspect.cleandoc(model.__doc__ or "").partition("\n")
    summary = "" if more.lstrip().startswith("Parameters\n") else more.lstrip().partition("\n\n")[0]
    example = f"\b\n{command_line(model, 74, program)}" if model.example else ""
    others = [f"\b\n{program} {words_for(each.load())} --help\n    {each.question}" for each in beside]
    return "\n\n".join(filter(None, (f"{question} {summary}".strip(), example, UNITS, *others)))


def _arguments(model: type[PerformanceModel]) -> Iterator[inspect.Parameter]:
    for name, slot in model.slots.items():
        lost = "; without it, what needs them is left out" if slot.optional else ""
        lost += f"; {slot.default} by default" if slot.default else ""
        or_file = ", or a Hugging Face config.json" if issubclass(slot.entry, TransformerWorkload) else ""
        or_file = ", or a CSV file of a trace" if issubclass(slot.entry, Traffic) else or_file
        text = f"Entry of the catalog ({slot.entry.what}), by name{or_file}. Gives {slot.described}{lost}."
        yield _option(name, text, "NAME", CATALOG, partial(_entry_names, slot))
    for name, variable in model.arguments.items():
        if variable is not None and model.variants_using(name):
            panel = INPUTS if name in model.keywords else OVERRIDES
            only = only_in(model, name)
            allowed = f"{variable.domain.describe()}; {_default(model, variable)}{only and f'; {only.lower()}'}"
            text = f"{variable.description} ({allowed})"
            values = (YES[0], NO[0]) if variable.domain.is_flag else variable.domain.labels
            yield _option(name, text, _metavar(variable), panel, partial(tuple, values))


def _option(name: str, text: str, metavar: str, panel: str, values: Callable[[], tuple[str, ...]]) -> inspect.Parameter:
    def complete(incomplete: str) -> list[str]:
        return [value for value in values() if value.startswith(incomplete)]

    option = typer.Option(option_name(name), help=text, metavar=metavar, rich_help_panel=panel, autocompletion=complete)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option]
    )


def _entry_names(slot: Slot) -> tuple[str, ...]:
    catalog = builtin()
    fitting = [path for path in catalog.paths() if isinstance(catalog.entry(path), slot.entry)]
    return tuple(path.rpartition(".")[2] for path in fitting)


def _default(model: type[PerformanceModel], variable: Variable) -> str:
    """What an option left out means; for each variant where they differ."""
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


def _answer(model: type[PerformanceModel], beside: Sequence[Listed]) -> Iterator[inspect.Parameter]:
    sets = ", ".join(model.variants)
    sets += "".join(f"; with other options: {', '.join(each.variants)}" for each in beside)

    def complete(incomplete: str) -> list[str]:
        return [v.name for v in model().outputs if v.name.startswith(incomplete)]

    flags: dict[str, tuple[Any, Any]] = {
        "shown": (
            Annotated[
                list[str] | None,
                typer.Argument(
                    metavar="OUTPUT",
                    autocompletion=complete,
                    help="What to print, and with --explain to explain; the headline by default.",
                    rich_help_panel=SHOWN,
                ),
            ],
            None,
        ),
        "variant": (
            Annotated[
                str | None,
                typer.Option(
                    help=f"Set of formulas (one of {sets}).", metavar="NAME", show_default=next(iter(model.variants))
                ),
            ],
            None,
        ),
        "catalog": (OwnCatalog, None),
        "as_json": (Json, False),
        "explain": (
            Annotated[bool, typer.Option("--explain", help="Also print the formulas with the numbers put in.")],
            False,
        ),
    }
    if "feasible" in model.headline:
        flags["strict"] = (Strict, False)
    for name, (annotation, default) in flags.items():
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _ask(
    model: type[PerformanceModel],
    /,
    *,
    variant: str | None,
    catalog: Path | None,
    as_json: bool,
    explain: bool,
    shown: list[str] | None = None,
    strict: bool = False,
    **arguments: str | None,
) -> None:
    if as_json and explain:
        raise MlsysimError("--json and --explain: choose one")
    for word in shown or ():
        if "=" in word:
            grid = f"`mlsysim sweep {words_for(model)}` takes {word}"
            raise MlsysimError(f"{quoted(word)}: options are --name value; {grid}")
    shelf = shelf_of(catalog)
    given = {name: text for name, text in arguments.items() if text is not None}
    try:
        entries = {name: read_entry(shelf, slot, given[name]) for name, slot in model.slots.items() if name in given}
        typed = {name: typed_text(model.arguments[name], text) for name, text in given.items() if name not in entries}
        result = model(variant).solve(**entries, **typed)
        names = result.model.named_outputs(shown) if shown else headline(result)
        explanation = result.explain(*names) if shown or explain else ""
    except MlsysimError as error:
        message = as_options(str(error), model.arguments)
        raise MlsysimError(f"{message}; {_as_grid(model, given)}" if _is_list(error, given) else message) from None
    if as_json:
        found = result.to_dict()
        outputs = {name: found["outputs"][name] for name in names} if shown else found["outputs"]
        print(json_text({**found, "outputs": outputs}, 2))
    else:
        print_result(result, names, () if shown else _left_out(result))
        if explain:
            print()
            output.block(str(explanation))
    if strict and not result.feasible:
        raise typer.Exit(Exit.INFEASIBLE)


def _is_list(error: MlsysimError, given: dict[str, str]) -> bool:
    """Whether an error refuses several values of one argument, as a grid takes them."""
    refused = getattr(error, "value", None)
    return isinstance(refused, str) and refused in given.values() and any(each in refused for each in ",:")


def _as_grid(model: type[PerformanceModel], given: dict[str, str]) -> str:
    """The command that takes several values of an argument."""
    words = " ".join(shlex.quote(f"{name}={text}") for name, text in given.items())
    return f"several values: `mlsysim sweep {words_for(model)} {words}`"


def headline(result: Result) -> tuple[str, ...]:
    """The headline outputs that this result has."""
    return tuple(name for name in result.model.headline if name in result.outputs)


def _left_out(result: Result) -> list[str]:
    """The headline outputs that this result has not."""
    return [name for name in result.model.headline if name not in result.outputs]


def print_result(result: Result, names: Sequence[str], lost: Sequence[str]) -> None:
    """Print outputs of a result as a table, with what each means, and which ones were left out for want of what."""
    entries = result.to_dict()["entries"]
    if entries:
        output.heading(", ".join(f"{argument}: {name}" for argument, name in entries.items()))
        print()
    listing = listed(result.model, names, {name: result.canonical(name) for name in names})
    widest = max(len(name) for name, *_ in listing)
    rows = [[f"{name:<{widest}}  {meaning}", text] for name, text, meaning in listing]
    show.table(["Output", "Value"], rows)
    for note in result.notes:
        print(note)
    if lost:
        absent = dict.fromkeys(option_name(each) for name in lost for each in result.missing_for(name))
        print(f"Left out for want of {', '.join(absent)}: {', '.join(lost)}")
