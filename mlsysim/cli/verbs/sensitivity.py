"""``mlsysim sensitivity``: response of an output to every input, and the regions in which each term binds."""

from __future__ import annotations

from typing import Annotated

import typer

from mlsysim.cli.options import Ignored, Json, OwnCatalog, Plot, Question, Theme, Variants, answered_by

WORDS = "Arguments of the question."
HELP = """Response of one output to every input: elasticities, next steps, other labels.

\b
mlsysim sensitivity train step_time model=Llama3_70B fleet=SuperPOD_H100 \\
    batch_size=1024 tp_size=8 pp_size=4 --plot tornado.png

With --regimes, which term binds where over one or two axes, and the boundaries as formulas:

\b
mlsysim sensitivity kernel kernel_bottleneck hardware=H100 \\
    product_columns=8192 product_rows=1:4096:x2 product_inner=16:16384:x2 \\
    --regimes --plot map.png

Without OUTPUT it is the one that answers the question.
"""


@answered_by("mlsysim.cli.verbs.sensitivity_answer")
def sensitivity(
    ctx: typer.Context,
    question: Question,
    output: Annotated[
        str | None, typer.Argument(metavar="OUTPUT", help="Name of an output, a number; by default the answer.")
    ] = None,
    words: Annotated[list[str] | None, typer.Argument(metavar="NAME=VALUES...", help=WORDS)] = None,
    second: Annotated[
        bool, typer.Option("--second", help="Add cross-elasticities: how one elasticity changes with another input.")
    ] = False,
    relax: Annotated[
        bool, typer.Option("--relax", help="Drop ceilings and floors, and differentiate by whole numbers too.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="All rows; by default the ten strongest of a table.")
    ] = False,
    regimes: Annotated[bool, typer.Option("--regimes", help="Which term binds where, over one or two axes.")] = False,
    change: Annotated[float, typer.Option(metavar="SHARE", help="By how much the figure changes inputs.")] = 0.1,
    plot: Plot = None,
    theme: Theme = None,
    variant: Variants = None,
    catalog: OwnCatalog = None,
    ignore: Ignored = None,
    as_json: Json = False,
) -> None:
    """Compute the response of an output to its inputs."""
