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

from mlsysim.catalog import Traffic, TransformerWorkload
from mlsysim.cli import output
from mlsysim.cli.exits import Exit
from mlsysim.cli.options import Json, OwnCatalog, Strict, option_name
from mlsysim.cli.words import as_options, command_line, offered_values, shelf_of, typed_text
from mlsysim.errors import MlsysimError, quoted
from mlsysim.inputs.binding import DEFAULT, GIVEN
from mlsysim.inputs.signature import only_in
from mlsysim.inputs.spellings import ELSEWHERE, own_name
from mlsysim.jsontext import json_text
from mlsysim.models import PerformanceModel
from mlsysim.models.registry import Listed, words_for
from mlsysim.study.display import INFINITE, as_text, endless, listed
from mlsysim.study.result import Result
from mlsysim.symbolic import Variable, variable_of

CATALOG, INPUTS, OVERRIDES, ANSWER = "From the catalog", "Inputs", "In place of the catalog", "Options"
SHOWN = "Outputs"
ALL = "Show this message with every option."

#: Where a context says that help lists every option.
EVERYTHING = "mlsysim.cli.everything"

UNITS = "A bare number is in the unit shown; text brings its own unit, as in '80 GB'."


class Sectioned(TyperCommand):
    """A command whose help lists the options under headings, the common ones or all of them.

    Attributes
    ----------
    beside : tuple of Listed
        Others that share its name, with options of their own.
    model : type
        The one that it asks.
    """

    beside: tuple[Listed, ...] = ()
    model: type[PerformanceModel]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take other spellings; say which variant takes an option that this model has not, or what others call so."""
        own = {each for option in self.params for each in (*option.opts, *option.secondary_opts)}
        args = [_spelled(word, self.model) for word in args]
        if not ctx.resilient_parsing:
            for word in (each.partition("=")[0] for each in args if each.startswith("--")):
                for other in (each.load() for each in self.beside if word not in own):
                    if word in map(option_name, other.arguments):
                        raise MlsysimError(f"{word}: an option of `mlsysim {words_for(other)}`")
                meant = [option_name(each) for each in ELSEWHERE.get(word[2:].replace("-", "_"), ())]
                if word not in own and (known := [each for each in meant if each in own]):
                    raise MlsysimError(f"no such option: {word}: did you mean {', '.join(known)}?")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write one section per heading."""
        whole = ctx.meta.get(EVERYTHING, False)
        common = common_inputs(self.model)
        sections: dict[str, list[tuple[str, str]]] = {}
        rest = 0
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            panel = getattr(option, "rich_help_panel", None) or ANSWER
            if record is None:
                continue
            if whole or panel not in (INPUTS, OVERRIDES) or option.name in common:
                sections.setdefault(panel, []).append(record)
            else:
                rest += 1
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
        if whole:
            with formatter.section("What entries of the catalog give"):
                formatter.write_dl([(option_name(name), each.described) for name, each in self.model.slots.items()])
        elif rest:
            formatter.write_paragraph()
            formatter.write_text(f"{rest} more options: --help-all")


def common_inputs(model: type[PerformanceModel]) -> tuple[str, ...]:
    """The inputs that help shows: those declared as common, of the example, and without a default."""
    own = model()
    needed = [name for name in model.keywords if name in own.arguments and name not in own.defaults]
    return tuple(dict.fromkeys([*needed, *model.example, *model.common]))


def _print_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[EVERYTHING] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


def _spelled(word: str, model: type[PerformanceModel]) -> str:
    """A word of the command line, with another spelling of an option replaced by its name."""
    option, given, value = word.partition("=")
    typed = option.removeprefix("--").replace("-", "_")
    name = own_name(typed, model.arguments)
    return option_name(name) + given + value if option.startswith("--") and name != typed else word


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

    def ask(*, help_all: bool, **options: Any) -> None:
        _ask(model, **options)

    ask.__signature__ = inspect.Signature([*_arguments(model), *_answer(model, beside)])  # type: ignore[attr-defined]
    app.command(model.command, cls=Sectioned, help=_help(model, program, beside))(ask)
    command = typer.main.get_command(app)
    command.beside, command.model = tuple(beside), model  # type: ignore[attr-defined]
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
        text = f"Entry of the catalog ({slot.entry.what}), by name{or_file}{lost}."
        yield _option(name, text, "NAME", CATALOG, partial(offered_values, model, name))
    for name, variable in model.arguments.items():
        if variable is not None and model.variants_using(name):
            panel = INPUTS if name in model.keywords else OVERRIDES
            only = only_in(model, name)
            allowed = f"{variable.domain.describe()}; {_default(model, variable)}{only and f'; {only.lower()}'}"
            text = f"{variable.description} ({allowed})"
            yield _option(name, text, _metavar(variable), panel, partial(offered_values, model, name))


def _option(name: str, text: str, metavar: str, panel: str, values: Callable[[], tuple[str, ...]]) -> inspect.Parameter:
    def complete(incomplete: str) -> list[str]:
        return [value for value in values() if value.startswith(incomplete)]

    option = typer.Option(option_name(name), help=text, metavar=metavar, rich_help_panel=panel, autocompletion=complete)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option]
    )


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
    flags["help_all"] = (
        Annotated[bool, typer.Option("--help-all", is_eager=True, callback=_print_all, help=ALL)],
        False,
    )
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
        entries = {
            name: shelf.find(slot.entry.what, given[name]) for name, slot in model.slots.items() if name in given
        }
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
        print_result(result, names, () if shown else _left_out(result), () if shown else endless(result, names))
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


def print_result(result: Result, names: Sequence[str], lost: Sequence[str], infinite: Sequence[str] = ()) -> None:
    """Print outputs of a result as a table, with what each means; first why it has none, if so, and last what it lacks.

    Parameters
    ----------
    result : Result
        Of ``solve``.
    names : sequence of str
        Its outputs to print.
    lost : sequence of str
        Outputs that it lacks for want of an argument.
    infinite : sequence of str
        Of the outputs those that are only named.
    """
    entries = result.to_dict()["entries"]
    if entries:
        output.heading(", ".join(f"{argument}: {name}" for argument, name in entries.items()))
        if result.obstacle:
            output.paragraph(result.obstacle)
        print()
    told = [name for name in names if name not in infinite]
    values = {name: result.canonical(name) for name in told}
    output.listing(("Output", "Value", "Meaning"), listed(result.model, told, values), numbers=("Value",))
    if infinite:
        output.paragraph(INFINITE.format(", ".join(infinite)))
    _print_inputs(result, names)
    for note in result.notes:
        if note != result.obstacle:
            output.paragraph(note)
    if lost:
        absent = dict.fromkeys(option_name(each) for name in lost for each in result.missing_for(name))
        output.paragraph(f"Left out for want of {', '.join(absent)}: {', '.join(lost)}")


def _print_inputs(result: Result, names: Sequence[str]) -> None:
    """Print what was given and what was assumed, as far as the outputs depend on it; what is nothing only counts."""
    needed = {v.name: v for v in result.model.system.closure(names).inputs if v.name in result.inputs}
    if traffic := result.entries.get("traffic"):
        told = [needed[name] for name in traffic.values() if name in needed]
        texts = [f"{v.name}={as_text(v, result.canonical(v.name))}" for v in told if result.origin(v.name) != GIVEN]
        output.paragraph(", ".join(texts), f"{'Traffic':<9}")
    for said, origin in (("Given", GIVEN), ("Assumed", DEFAULT)):
        found = result.inputs_as(origin)
        inputs = [(name, found[name]) for name in result.model.arguments if name in found and name in needed]
        shown = [f"{n}={text}" for n, text in inputs if origin == GIVEN or not _is_nothing(result, n, text)]
        rest = len(inputs) - len(shown)
        counted = [f"{rest} more that are 0, off or follow from others"] if rest else []
        if shown or counted:
            output.paragraph(", ".join([*shown, *counted]), f"{said:<9}")


def _is_nothing(result: Result, name: str, text: str) -> bool:
    """Whether an input is 0, off, or as others have it."""
    return text.startswith("as_") or (not variable_of(name).domain.labels and result.canonical(name) == 0)
