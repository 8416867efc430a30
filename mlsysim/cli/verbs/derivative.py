"""``mlsysim derivative``: derivative of one output by one input, as an equation."""

from __future__ import annotations

from typing import Annotated

import typer

from mlsysim.cli.options import Ignored, Json, OwnCatalog, Question, Variants, answered_by

HELP = """Derivative of one output by one input, as an equation.

\b
mlsysim derivative memory loss_buffer batch_size --relax \\
    --at "model=Llama3_8B hardware=H100 precision=bf16"

At a point, cases that it decides are replaced by the branch that holds there, and labels, flags and zeros
are put in; all else stays symbolic. A point with every argument that is needed also gives the number.
Without --at the equation has every case.
"""


@answered_by("mlsysim.cli.verbs.derivative_answer")
def derivative(
    ctx: typer.Context,
    question: Question,
    output: Annotated[str, typer.Argument(metavar="OUTPUT", help="Name of an output, a number.")],
    by: Annotated[str, typer.Argument(metavar="ARGUMENT", help="Name of an input, a number.")],
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE...", help="Arguments of the point, in quotes; some of them suffice."),
    ] = None,
    relax: Annotated[bool, typer.Option("--relax", help="Take ceilings and floors as lines.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print only the LaTeX.")] = False,
    variant: Variants = None,
    catalog: OwnCatalog = None,
    ignore: Ignored = None,
    as_json: Json = False,
) -> None:
    """Print the derivative."""
