"""``mlsysim calibrate``: estimate inputs from a table of measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mlsysim.cli.ignored import keep_ignored
from mlsysim.cli.options import Json, OwnCatalog, Question, Variants, answered_by

HELP = """Inputs that a table of measurements implies, with errors, and what the table does not say.

\b
mlsysim calibrate iterate measured.csv model=Llama3_8B hardware=H100 \\
    precision=bf16 --free efficiency,layer_tax \\
    --save own.toml --name Ours_H100

A column is an argument or an output, with its unit in the header: iteration_time [ms]. NAME=VALUE is an argument with
one value in all rows; for an input to find, it is where the search begins.
"""
Table = Annotated[Path, typer.Argument(metavar="TABLE.csv", help="Measurements: a line of headers, then rows.")]
Held = Annotated[list[str] | None, typer.Argument(metavar="NAME=VALUE...", help="Arguments of the question.")]


@answered_by("mlsysim.cli.verbs.calibrate_answer")
def calibrate(
    ctx: typer.Context,
    question: Question,
    table: Table,
    words: Held = None,
    free: Annotated[str, typer.Option(metavar="NAMES", help="Inputs to find (a,b).")] = "",
    outputs: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Measured columns to use (a,b); all by default.")
    ] = None,
    ignore: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Columns that are carried along, and fields of a config.json that leave the shape alone (a,b).",
            callback=keep_ignored,
        ),
    ] = None,
    space: Annotated[
        str, typer.Option(metavar="log|linear", help="Compare by ratio, or by difference in the units of the outputs.")
    ] = "log",
    predict: Annotated[
        Path | None, typer.Option(metavar="TABLE.csv", help="Other rows, predicted beside what was measured there.")
    ] = None,
    rows: Annotated[bool, typer.Option("--rows", help="Also print every row, predicted beside measured.")] = False,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A catalog of your own (TOML), which gets the values as a stack."),
    ] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="Of that stack.")] = "",
    source: Annotated[str, typer.Option(metavar="ADDRESS", help="Where the measurements are published.")] = "own",
    variant: Variants = None,
    catalog: OwnCatalog = None,
    as_json: Json = False,
) -> None:
    """Estimate inputs from measurements."""
