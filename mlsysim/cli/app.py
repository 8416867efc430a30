"""All commands. A command imports what it needs when it runs, so that help appears at once."""

from __future__ import annotations

import atexit
import gc
import io
import os
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import mlsysim
from mlsysim.cli.exits import EXIT_CODES, Exit
from mlsysim.cli.options import (
    AllowInfeasible,
    Certificate,
    Ignored,
    Json,
    Method,
    OwnCatalog,
    OwnModels,
    Plot,
    Question,
    Strict,
    SubjectTo,
    Theme,
    TimeLimit,
    Variants,
    Words,
    answered_by,
)
from mlsysim.cli.verbs import (
    calibrate,
    compare,
    derivative,
    plan,
    sensitivity,
    simulate,
    solve_for,
    uncertainty,
    verify,
    what_fits,
)
from mlsysim.errors import InputError, MlsysimError, legible, printable
from mlsysim.extras import STORES, require
from mlsysim.inputs.spellings import option_name
from mlsysim.models.registry import Registry
from mlsysim.progress import watched

#: Syntax of values, for the help of commands that evaluate a grid.
SPELLING = """
\b
NAME=VALUES is one value, or several with a comma between:
  batch_size=8             one value
  zero_stage=0,1,2,3       a list
  batch_size=1:256         whole numbers from 1 to 256, both included
  batch_size=8:256:8       every eighth
  tp_size=1:64:x2          1, 2, 4, ..., 64
  fabric_bandwidth="25 GB/s,50 GB/s"
                           quantities; a bare number is in the argument's unit
  parameters=70B,2T        k, M, B and T behind counts are powers of 1000
  precision=bf16,fp8       labels, in any case
  hardware=A100,H100       entries of the catalog
  model=./config.json      also a Hugging Face config.json or model id
  dp_size="=512/(tp_size*pp_size)"
                           follows from the others
  layout="tp_size=1,2,4; pp_size=8,4,2"
                           linked: one axis with its own name, value by value

`mlsysim memory --help` lists the names for the question memory."""

#: Base class of the errors for an unknown option or command.
USAGE: Any = typer.BadParameter.__base__


class Asked(TyperCommand):
    """Placeholder for a model's command, with its question, until it is called."""


class Grid(TyperCommand):
    """A command that asks a model on a grid; its arguments are NAME=VALUES words instead of options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Explain how to write an argument that was typed as an option."""
        question = next((word for word in args if word in ctx.obj.commands), "")
        if question and not ctx.resilient_parsing:
            from mlsysim.cli.forms import form

            listed = ctx.obj.listed(question, _typed("--variant", args))
            main_form, others = (
                form(listed, ctx.obj),
                {variant.words: form(variant, ctx.obj) for variant in ctx.obj.beside(listed)},
            )
            names = {
                option_name(argument): argument
                for variant_form in (*others.values(), main_form)
                for argument in variant_form.arguments
            }
            if self.name == "solve-for":
                names = {option_name(target): target for target in main_form.outputs} | names
            taken = {option for param in self.params for option in param.opts}
            words = _as_words(args, {option: name for option, name in names.items() if option not in taken})
            for name in (word.partition("=")[0].replace("-", "_") for word in words):
                for variant_words, other in others.items() if name not in main_form.arguments else ():
                    if name in other.arguments:
                        chosen = _typed("--variant", args)
                        other_set = f", not of its variant {chosen}" if variant_words == question and chosen else ""
                        raise MlsysimError(f"{name}: an argument of `mlsysim {self.name} {variant_words}`{other_set}")
            if words != args:
                meant = f"`mlsysim {self.name} {shlex.join(words)}`"
                raise MlsysimError(f"options with the names of arguments: here those are NAME=VALUES, {meant}")
        return super().parse_args(ctx, args)


def _as_words(args: list[str], names: dict[str, str]) -> list[str]:
    """Rewrite ``--ep-size 1,2`` in the typed words as ``ep_size=1,2``."""
    words, rest = [], list(args)
    while rest:
        option, equals, value = rest.pop(0).partition("=")
        if option in names and (equals or rest):
            words.append(f"{names[option]}={value if equals else rest.pop(0)}")
        else:
            words.append(option + equals + value)
    return words


def _typed(option: str, args: list[str]) -> str | None:
    """Read the value typed for an option, before its command is known."""
    values, _ = _separated(option, args)
    return values[0] if values else None


def _separated(option: str, args: list[str]) -> tuple[list[str], list[str]]:
    """Separate an option's values, wherever they stand, from the other words; an option without a value stays."""
    values, rest, words = [], [], list(args)
    while words:
        name, equals, value = (word := words.pop(0)).partition("=")
        if name == option and (equals or words):
            values.append(value if equals else words.pop(0))
        else:
            rest.append(word)
    return values, rest


class Commands(TyperGroup):
    """Command group with one command per model, whose options are built on call; input errors exit with code 2."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Load the user's models first, since they determine the commands."""
        files, rest = _separated("--with", args)
        builtin_commands = {name: command for name, command in self.commands.items() if not isinstance(command, Asked)}
        with _in_one_line():
            try:
                registry = Registry(files, taken=builtin_commands)
            except MlsysimError:
                if not extra.get("resilient_parsing"):  # completion offers what it can
                    raise
                registry = Registry(taken=builtin_commands)
        model_commands = {name: Asked(name, help=listed[0].question) for name, listed in registry.commands.items()}
        self.commands = {**model_commands, **builtin_commands}
        with _in_one_line():
            return super().make_context(info_name, rest, parent, obj=registry, **extra)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command to run; a model's command gets its options now."""
        name, command, rest = super().resolve_command(ctx, args)
        if isinstance(command, Asked):
            from mlsysim.cli.question import question_command

            try:
                listed = ctx.obj.listed(name, _typed("--variant", rest))
            except InputError:
                if not ctx.resilient_parsing:  # completion offers what it can
                    raise
                listed = ctx.obj.listed(name)
            command = question_command(listed, ctx.obj)
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command; bad input or an unwritable file ends in one line on stderr."""
        with _in_one_line(), watched("mlsysim"):
            result = super().invoke(ctx)
            sys.stdout.flush()  # a closed pipe must show up here, where it is handled quietly
        return result


@contextmanager
def _in_one_line() -> Iterator[None]:
    """Map errors that end a command early to its exit code."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as stop:  # rich makes one of the other
        if isinstance(stop, SystemExit) and not isinstance(stop.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nothing is left for Python to flush when it ends
        raise typer.Exit(Exit.UNREAD) from None
    except USAGE as error:
        error.message = legible(error.message)
        raise
    except (MlsysimError, OSError) as error:
        typer.echo(f"error: {legible(str(error))}", err=True)
        raise typer.Exit(Exit.REFUSED) from None
    except KeyboardInterrupt as stop:
        # Python notes an interrupt out of a string that is executed, and ends by the signal; another one forgets it.
        exec("")
        typer.echo(": ".join(["interrupted", *getattr(stop, "__notes__", [])]), err=True)
        raise typer.Exit(Exit.INTERRUPTED) from None


app = typer.Typer(
    name="mlsysim",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"Exit codes: {EXIT_CODES}.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mlsysim {mlsysim.__version__}")
        raise typer.Exit


@app.callback()
def _mlsysim(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    own: OwnModels = None,
) -> None:
    """Costs of machine-learning systems, each with the formula it comes from."""


SWEEP = """A question on every combination of values.

\b
mlsysim sweep memory model=Llama3_8B hardware=A100,H100 dp_size=8 \\
    batch_size=1:256 zero_stage=0,1,2,3 --plot map.png --output map.nc
"""
SEARCH = """The best designs of a grid of any size, and the proof.

\b
mlsysim search train model=Llama3_70B fleet=SuperPOD_H100 batch_size=1024 \\
    seq_len=8192 tp_size=1:8:x2 pp_size=1:16:x2 zero_stage=0,1,2,3 \\
    gradient_accumulation_steps=1:64:x2 --minimize step_time \\
    --subject-to "total_memory <= 0.9 * memory_capacity" --top 5
"""
PARETO = """The Pareto front of a grid: what no other design beats.

\b
mlsysim pareto train model=Llama3_70B fleet=SuperPOD_H100 batch_size=1024 \\
    seq_len=8192 tp_size=1:8:x2 pp_size=1:16:x2 zero_stage=0,1,2,3 \\
    gradient_accumulation_steps=1:64:x2 --minimize step_time \\
    --minimize total_memory --plot front.png
"""


def _storable(file: Path | None) -> Path | None:
    """Refuse a store whose package is not installed, before anything is loaded."""
    for package in STORES.get(file.suffix, ()) if file is not None else ():
        require(f"--output {file}", package)
    return file


@app.command(cls=Grid, help=SWEEP + SPELLING)
@answered_by("mlsysim.cli.grids", "sweep")
def sweep(
    ctx: typer.Context,
    question: Question,
    words: Words,
    outputs: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Outputs to compute (a,b); by default the headline ones.")
    ] = None,
    refused: Annotated[
        str,
        typer.Option(metavar="raise|mask", help="Combinations that do not fit: an error, or left out and counted."),
    ] = "raise",
    variant: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Sets of formulas; several become an axis.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE",
            callback=_storable,
            help="Write it as .nc or .zarr, block by block, to be gone on with after an interrupt; or as .csv.",
        ),
    ] = None,
    plot: Plot = None,
    theme: Theme = None,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table with a row per point instead of text.")] = False,
    catalog: OwnCatalog = None,
    ignore: Ignored = None,
) -> None:
    """Evaluate a grid."""


@app.command(cls=Grid, help=SEARCH + SPELLING)
@answered_by("mlsysim.cli.grids", "search")
def search(
    ctx: typer.Context,
    question: Question,
    words: Words,
    minimize: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="An output, or such as 'step_time / batch_size'.")
    ] = None,
    maximize: Annotated[str | None, typer.Option(metavar="EXPRESSION", help="Instead of --minimize.")] = None,
    subject_to: SubjectTo = None,
    allow_infeasible: AllowInfeasible = False,
    top: Annotated[int, typer.Option(metavar="NUMBER", help="How many designs.")] = 1,
    method: Method = "auto",
    time_limit: TimeLimit = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keeps what streaming has found, to go on from.")
    ] = None,
    certificate: Certificate = None,
    variant: Variants = None,
    plot: Plot = None,
    theme: Theme = None,
    catalog: OwnCatalog = None,
    ignore: Ignored = None,
    as_json: Json = False,
    strict: Strict = False,
) -> None:
    """Find the best designs."""


@app.command(cls=Grid, help=PARETO + SPELLING)
@answered_by("mlsysim.cli.grids", "pareto")
def pareto(
    ctx: typer.Context,
    question: Question,
    words: Words,
    minimize: Annotated[
        list[str] | None, typer.Option(metavar="EXPRESSION", help="An objective; may be repeated.")
    ] = None,
    maximize: Annotated[
        list[str] | None, typer.Option(metavar="EXPRESSION", help="An objective; may be repeated.")
    ] = None,
    subject_to: SubjectTo = None,
    allow_infeasible: AllowInfeasible = False,
    method: Method = "auto",
    time_limit: TimeLimit = None,
    certificate: Certificate = None,
    variant: Variants = None,
    plot: Plot = None,
    theme: Theme = None,
    catalog: OwnCatalog = None,
    ignore: Ignored = None,
    as_json: Json = False,
    strict: Strict = False,
) -> None:
    """Find the Pareto front."""


app.command(cls=Grid, help=sensitivity.HELP + SPELLING)(sensitivity.sensitivity)
app.command(help=derivative.HELP)(derivative.derivative)
app.command(cls=Grid, help=solve_for.HELP + SPELLING)(solve_for.solve_for)
app.command(cls=Grid, help=compare.HELP + SPELLING)(compare.compare)
app.command(cls=Grid, help=uncertainty.HELP + SPELLING)(uncertainty.uncertainty)
app.command(cls=Grid, help=simulate.HELP)(simulate.simulate)


app.command(cls=Grid, help=calibrate.HELP)(calibrate.calibrate)
app.command(help=verify.HELP)(verify.verify)
app.command(help=what_fits.HELP)(what_fits.what_fits)
app.command(help=plan.HELP)(plan.plan)


@app.command()
def formula(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Name of a variable; all formulas without it.")] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print only the LaTeX.")] = False,
    as_json: Json = False,
) -> None:
    """Formula of a variable: text, source, assumptions, symbols, worked example."""
    from mlsysim.cli import formula_card

    formula_card.show(name, ctx.obj.others(), latex=latex, as_json=as_json)


SYMBOLS = """Nomenclature of a question, an output or a formula: symbol, unit, meaning.

\b
mlsysim symbols memory gradients
mlsysim symbols train step_time --latex
"""


@app.command(help=SYMBOLS)
def symbols(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="QUESTION|NAME", help="The command of a model, or a variable; all symbols without it."),
    ] = None,
    needed_by: Annotated[
        str | None, typer.Argument(metavar="OUTPUT", help="Only symbols that this output of the question needs.")
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX longtable.")] = False,
    variant: Variants = None,
    as_json: Json = False,
) -> None:
    """Nomenclature of a question, an output or a formula."""
    from mlsysim.cli import symbol_table

    symbol_table.show(name, needed_by, ctx.obj, variant, latex=latex, as_json=as_json)


@app.command()
def catalog(
    name: Annotated[str | None, typer.Argument(help="An entry or a branch, such as H100 or Hardware.")] = None,
    file: OwnCatalog = None,
    as_json: Json = False,
) -> None:
    """Devices, models and fleets, every value with unit, source, date and kind."""
    from mlsysim.cli import catalog_card

    catalog_card.show(name, file, as_json=as_json)


@app.command()
def book(
    ctx: typer.Context,
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder of the book.")] = "formulas",
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if a file is out of date.")] = False,
) -> None:
    """Write the formula book: Markdown, LaTeX, bibliography and index."""
    from mlsysim import book as pages

    own_models = ctx.obj.own()
    if not out:
        raise InputError("--out", out, "must name a folder", "the one that you are in is .")
    if not check:
        written = pages.write(Path(out), own_models)
        typer.echo(printable(f"wrote {len(written)} files to {out}"))
        return
    if not os.path.isdir(out):
        typer.echo(f"error: there is no folder {legible(out)}; run mlsysim book --out {legible(out)}", err=True)
        raise typer.Exit(Exit.STALE)
    stale = pages.check(Path(out), own_models)
    for name in stale:
        typer.echo(name)
    if stale:
        message = f"error: {out} is out of date in {len(stale)} files; run mlsysim book --out {out}"
        typer.echo(printable(message), err=True)
        raise typer.Exit(Exit.STALE)
    typer.echo(printable(f"{out} is up to date"))


@app.command()
def calculator(
    ctx: typer.Context,
    question: Question,
    variant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Set of formulas with which the page opens.")
    ] = None,
) -> None:
    """Print a question as a page for the browser: `mlsysim calculator memory > memory.html`."""
    from mlsysim.web import calculator as page

    typer.echo(page(ctx.obj.model(question, variant), variant), nl=False)


@app.command()
def demo(
    full: Annotated[
        bool, typer.Option("--full", help="The whole tutorial: every formula with its numbers, and the exercises.")
    ] = False,
) -> None:
    """The first minute: three questions, a formula, a search with its proof, a figure."""
    from mlsysim.cli import demo as first_minute
    from mlsysim.cli import tutorial

    (tutorial if full else first_minute).run()


def main() -> None:
    """Run the command line and exit with its code."""
    # Formulas are kept until the end, and looking for garbage takes time, a quarter of a short answer when Python ends.
    gc.set_threshold(20_000, 20, 20)
    atexit.register(gc.freeze)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # symbols must not fail on an ASCII terminal
    try:
        app()
    except Exception:
        traceback.print_exc()
        typer.echo("error: this is a fault of mlsysim, not of what you typed; please report the lines above", err=True)
        sys.exit(Exit.FAULT)
