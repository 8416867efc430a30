"""Command that asks one model; its options come from the model's form."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from mlsysim.cli.forms import ANSWER, INPUTS, OVERRIDES, Choice, Form, form
from mlsysim.cli.options import Ignored, Json, OwnCatalog, Strict
from mlsysim.collector import paused
from mlsysim.errors import MlsysimError
from mlsysim.inputs.spellings import option_name, own_name
from mlsysim.models.registry import Listed, Registry
from mlsysim.names import ELSEWHERE

SHOWN = "Outputs"
ALL = "Show this message with every option."

#: Key of a context that makes the help list every option.
EVERYTHING = "mlsysim.cli.everything"


class Sectioned(TyperCommand):
    """A command whose help groups options under headings and lists the common ones, or all.

    Attributes
    ----------
    form : Form
        Options and texts of the command.
    beside : mapping of str to Form
        Forms of the variants with options of their own that share the command, by their command lines.
    """

    form: Form
    beside: Mapping[str, Form]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Accept other spellings; the error for an unknown option names the variant that has it, or its right name."""
        options = {spelling for option in self.params for spelling in (*option.opts, *option.secondary_opts)}
        args = [_spelled(word, self.form.arguments) for word in args]
        if not ctx.resilient_parsing:
            for word in (argument.partition("=")[0] for argument in args if argument.startswith("--")):
                for words, other in self.beside.items() if word not in options else ():
                    if word in map(option_name, other.arguments):
                        raise MlsysimError(f"{word}: an option of `mlsysim {words}`")
                name = word[2:].replace("-", "_")
                meant = ELSEWHERE.get(name, ())
                if word not in options and name in self.form.outputs:
                    inverse = f"mlsysim solve-for {self.form.command} {next(iter(meant), 'ARGUMENT')} {name}=VALUE ..."
                    raise MlsysimError(
                        f"no such option: {word}: {name} is an output; `{inverse}` finds the argument that gives it"
                    )
                if word not in options and (
                    known := [option for option in map(option_name, meant) if option in options]
                ):
                    raise MlsysimError(f"no such option: {word}: did you mean {', '.join(known)}?")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write one section per heading of the options."""
        everything = ctx.meta.get(EVERYTHING, False)
        sections: dict[str, list[tuple[str, str]]] = {}
        hidden = 0
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            panel = getattr(option, "rich_help_panel", None) or ANSWER
            if record is None:
                continue
            if everything or panel not in (INPUTS, OVERRIDES) or option.name in self.form.common:
                sections.setdefault(panel, []).append(record)
            else:
                hidden += 1
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
        if everything:
            with formatter.section("What entries of the catalog give"):
                formatter.write_dl([(option_name(name), inputs) for name, inputs in self.form.given.items()])
        elif hidden:
            formatter.write_paragraph()
            formatter.write_text(f"{hidden} more options: --help-all")


def _print_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[EVERYTHING] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


def _spelled(word: str, arguments: Sequence[str]) -> str:
    """Replace another spelling of an option by its name."""
    option, equals, value = word.partition("=")
    typed = option.removeprefix("--").replace("-", "_")
    name = own_name(typed, arguments)
    return option_name(name) + equals + value if option.startswith("--") and name != typed else word


def question_command(listed: Listed, registry: Registry) -> Any:
    """Build the command of a model, which is loaded when the command runs.

    Parameters
    ----------
    listed : Listed
        Model whose arguments become options.
    registry : Registry
        Registry with the variants that share the command and have options of their own.

    Returns
    -------
    click command
    """
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    main_form, beside = (
        form(listed, registry),
        {variant.words: form(variant, registry) for variant in registry.beside(listed)},
    )

    def ask(*, help_all: bool, **options: Any) -> None:
        with paused(settled=True):
            from mlsysim.cli.answer import answer

            model = listed.load()
        answer(model, **options)

    parameters = [*map(_option, main_form.choices), *_answer(main_form, list(beside.values()))]
    ask.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    app.command(main_form.command, cls=Sectioned, help=main_form.help)(ask)
    command = typer.main.get_command(app)
    command.form, command.beside = main_form, beside  # type: ignore[attr-defined]
    return command


def _option(choice: Choice) -> inspect.Parameter:
    option = typer.Option(
        option_name(choice.name),
        help=choice.text,
        metavar=choice.metavar,
        rich_help_panel=choice.panel,
        autocompletion=_completing(choice.offered),
    )
    return inspect.Parameter(
        choice.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option]
    )


def _completing(values: Sequence[str]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete


def _answer(main_form: Form, beside: Sequence[Form]) -> Iterator[inspect.Parameter]:
    sets = ", ".join(main_form.variants)
    sets += "".join(f"; with other options: {', '.join(variant_form.variants)}" for variant_form in beside)

    text = "What to print, and with --explain to explain; the headline by default."
    shown = typer.Argument(
        metavar="OUTPUT", autocompletion=_completing(main_form.outputs), help=text, rich_help_panel=SHOWN
    )
    variant = typer.Option(help=f"Set of formulas (one of {sets}).", metavar="NAME", show_default=main_form.variants[0])
    explain = typer.Option("--explain", help="Also print the formulas with the numbers put in.")
    everything = typer.Option("--help-all", is_eager=True, callback=_print_all, help=ALL)
    flags: dict[str, tuple[Any, Any]] = {
        "shown": (Annotated[list[str] | None, shown], None),
        "variant": (Annotated[str | None, variant], None),
        "catalog": (OwnCatalog, None),
        **({"ignore": (Ignored, None)} if "model" in main_form.arguments else {}),
        "as_json": (Json, False),
        "explain": (Annotated[bool, explain], False),
        **({"strict": (Strict, False)} if main_form.strict else {}),
        "help_all": (Annotated[bool, everything], False),
    }
    for name, (annotation, default) in flags.items():
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
