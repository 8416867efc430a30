"""The commands. What a command needs is imported when it runs, so that help answers at once."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import mlsysim
from mlsysim.errors import MlsysimError

#: Command, the model it asks, and the question; the options come from the model.
QUESTIONS = {
    "parameters": ("ParameterCountModel", "How many parameters does a transformer have, and where?"),
    "memory": ("TrainingMemoryModel", "Does this training run fit on one accelerator?"),
    "serve": ("ServingCapacityModel", "How many replicas hold a latency target?"),
    "moe": ("MoERoutingModel", "What do hot experts cost?"),
    "train": ("DistributedModel", "How long does a step take on many accelerators?"),
    "cost": ("EconomicsModel", "What does a training run or a serving fleet cost?"),
    "offload": (
        "MemoryExpansionModel",
        "How long does a step take with memory in two tiers, and what must each of them hold?",
    ),
}

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
#: The spelling of values, for the help of the commands that ask a grid.
SPELLING = """
\b
NAME=VALUES is one value, or several with a comma between:
  batch_size=8               one value
  zero_stage=0,1,2,3         a list
  batch_size=1:256           whole numbers from 1 to 256, both included
  batch_size=8:256:8         every eighth
  tp_size=1:64:x2            1, 2, 4, ..., 64
  fabric_bandwidth="25 GB/s,50 GB/s"
                             quantities; a bare number is in the unit of the argument
  precision=bf16,fp8         labels
  hardware=A100,H100         entries of the catalog; for model also a Hugging Face config.json
  dp_size="=512/(tp_size*pp_size)"
                             follows from the others
  layout="tp_size=1,2,4; pp_size=8,4,2"
                             linked: one axis with a name of its own, value by value

`mlsysim memory --help` lists the names for the question memory."""
Question = Annotated[str, typer.Argument(metavar="QUESTION", help=f"One of {', '.join(QUESTIONS)}.")]
Words = Annotated[list[str], typer.Argument(metavar="NAME=VALUES...", help="Arguments of the question.")]
Variants = Annotated[str | None, typer.Option("--variant", metavar="NAME", help="Set of formulas.")]
SubjectTo = Annotated[
    list[str] | None,
    typer.Option(metavar="CONDITION", help="Such as 'total_memory <= 0.9 * memory_capacity'; may be repeated."),
]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw it into a .png, .pdf or .svg.")]
OwnCatalog = Annotated[
    Path | None,
    typer.Option("--catalog", metavar="FILE", help="A catalog of your own (TOML); names are looked up there first."),
]


def option_name(argument: str) -> str:
    """The option of an argument: ``batch_size`` is ``--batch-size``."""
    return f"--{argument.replace('_', '-')}"


class Commands(TyperGroup):
    """Builds the options of a model's command when it is called, and turns refusals into exit code 2."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command to run; one that asks a model gets its options now."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in QUESTIONS:
            from mlsysim.cli.question import question_command

            command = question_command(name, *QUESTIONS[name])
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command; bad input, or a file that cannot be written, ends in one line on stderr."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # a closed pipe must show up here, where it is handled quietly
        except (MlsysimError, OSError) as error:
            if isinstance(error, BrokenPipeError):
                raise
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(2) from None
        return result


app = typer.Typer(
    name="mlsysim",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 answered, 1 the book is out of date, 2 bad input, 3 infeasible (with --strict).",
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
) -> None:
    """Costs of machine-learning systems, each with the formula it comes from."""


def _declare(name: str, question: str) -> None:
    @app.command(name, help=question)
    def stand_in() -> None: ...


for _name, (_, _question) in QUESTIONS.items():
    _declare(_name, _question)


SWEEP = """A question on every combination of values.

\b
mlsysim sweep memory model=Llama3_8B hardware=A100,H100 dp_size=8 batch_size=1:256 \\
    zero_stage=0,1,2,3 --plot map.png --output map.nc
"""
SEARCH = """The best designs of a grid of any size, and the proof.

\b
mlsysim search train model=Llama3_70B fleet=SuperPOD_H100 batch_size=1024 seq_len=8192 \\
    tp_size=1:8:x2 pp_size=1:16:x2 zero_stage=0,1,2,3 gradient_accumulation_steps=1:64:x2 \\
    --minimize step_time --subject-to "total_memory <= 0.9 * memory_capacity" --top 5
"""
PARETO = """The Pareto front of a grid: what no other design beats.

\b
mlsysim pareto train model=Llama3_70B fleet=SuperPOD_H100 batch_size=1024 seq_len=8192 \\
    tp_size=1:8:x2 pp_size=1:16:x2 zero_stage=0,1,2,3 gradient_accumulation_steps=1:64:x2 \\
    --minimize step_time --minimize total_memory --plot front.png
"""


@app.command(help=SWEEP + SPELLING)
def sweep(
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
            help="Write it as .nc or .zarr, block by block, to be gone on with after an interrupt; or as .csv.",
        ),
    ] = None,
    plot: Plot = None,
    catalog: OwnCatalog = None,
) -> None:
    """Evaluate a grid."""
    from mlsysim.cli import grids

    grids.sweep(
        question, words, outputs=outputs, refused=refused, variant=variant, file=file, plot=plot, catalog=catalog
    )


@app.command(help=SEARCH + SPELLING)
def search(
    question: Question,
    words: Words,
    minimize: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="An output, or such as 'step_time / batch_size'.")
    ] = None,
    maximize: Annotated[str | None, typer.Option(metavar="EXPRESSION", help="Instead of --minimize.")] = None,
    subject_to: SubjectTo = None,
    top: Annotated[int, typer.Option(metavar="NUMBER", help="How many designs.")] = 1,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="auto, bounds (branch and bound alone) or dense (every point).")
    ] = "auto",
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Answer after so long, and say what is not known.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keeps what streaming has found, to go on from.")
    ] = None,
    variant: Variants = None,
    catalog: OwnCatalog = None,
    as_json: Json = False,
) -> None:
    """Find the best designs."""
    from mlsysim.cli import grids

    grids.search(
        question,
        words,
        minimize=minimize,
        maximize=maximize,
        subject_to=subject_to or (),
        top=top,
        method=method,
        time_limit=time_limit,
        checkpoint=checkpoint,
        variant=variant,
        catalog=catalog,
        as_json=as_json,
    )


@app.command(help=PARETO + SPELLING)
def pareto(
    question: Question,
    words: Words,
    minimize: Annotated[
        list[str] | None, typer.Option(metavar="EXPRESSION", help="An objective; may be repeated.")
    ] = None,
    maximize: Annotated[
        list[str] | None, typer.Option(metavar="EXPRESSION", help="An objective; may be repeated.")
    ] = None,
    subject_to: SubjectTo = None,
    variant: Variants = None,
    plot: Plot = None,
    catalog: OwnCatalog = None,
    as_json: Json = False,
) -> None:
    """Find the Pareto front."""
    from mlsysim.cli import grids

    grids.pareto(
        question,
        words,
        minimize=minimize or (),
        maximize=maximize or (),
        subject_to=subject_to or (),
        variant=variant,
        plot=plot,
        catalog=catalog,
        as_json=as_json,
    )


@app.command()
def formula(
    name: Annotated[str | None, typer.Argument(help="Name of a variable; all formulas without it.")] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print only the LaTeX.")] = False,
    as_json: Json = False,
) -> None:
    """Formula of a variable: text, source, assumptions, symbols, worked example."""
    from mlsysim.cli import formula_card

    formula_card.show(name, latex=latex, as_json=as_json)


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
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the book.")] = Path("formulas"),
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if a file is out of date.")] = False,
) -> None:
    """Write the formula book: Markdown, LaTeX, bibliography and index."""
    from mlsysim import book as pages

    if not check:
        written = pages.write(out)
        typer.echo(f"wrote {len(written)} files to {out}")
        return
    if not out.is_dir():
        typer.echo(f"error: there is no folder {out}; run mlsysim book --out {out}", err=True)
        raise typer.Exit(1)
    stale = pages.check(out)
    for name in stale:
        typer.echo(name)
    if stale:
        typer.echo(f"error: {out} is out of date in {len(stale)} files; run mlsysim book --out {out}", err=True)
        raise typer.Exit(1)
    typer.echo(f"{out} is up to date")


@app.command()
def demo() -> None:
    """The tutorial: three questions with their tables and formulas, then its exercises."""
    from mlsysim.cli import demo as tutorial

    tutorial.run()


def main() -> None:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # symbols must not fail on an ASCII terminal
    app()
