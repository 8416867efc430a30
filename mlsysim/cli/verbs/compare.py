"""``mlsysim compare``: two answers side by side, and the inputs behind the difference."""

from __future__ import annotations

from typing import Annotated

import typer

from mlsysim.cli.options import Ignored, Json, OwnCatalog, Plot, Question, Theme, Words, answered_by

HELP = """Two answers side by side, and what makes the difference.

\b
mlsysim compare train model=Llama3_70B fleet=SuperPOD_H100 batch_size=1024 \\
    seq_len=8192 tp_size=4,8 pp_size=4 gradient_accumulation_steps=8
mlsysim compare memory model=Llama3_8B hardware=H100 dp_size=8 batch_size=64 \\
    --variant first_order,per_operator

One argument, or --variant, has two values; a linked argument may change several.
"""


@answered_by("mlsysim.cli.verbs.compare_answer")
def compare(
    ctx: typer.Context,
    question: Question,
    words: Words,
    output: Annotated[
        str | None, typer.Option(metavar="NAME", help="The output to take apart; the answer by default.")
    ] = None,
    variant: Annotated[
        str | None, typer.Option("--variant", metavar="NAMES", help="One set of formulas, or two.")
    ] = None,
    plot: Plot = None,
    theme: Theme = None,
    catalog: OwnCatalog = None,
    ignore: Ignored = None,
    as_json: Json = False,
) -> None:
    """Compare two answers."""
