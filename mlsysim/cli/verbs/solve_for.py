"""``mlsysim solve-for``: the value of one argument that meets targets."""

from __future__ import annotations

from typing import Annotated

import typer

from mlsysim.cli.options import (
    AllowInfeasible,
    Ignored,
    Json,
    OwnCatalog,
    Question,
    Strict,
    SubjectTo,
    Variants,
    Words,
    answered_by,
)

HELP = """Find the value of one argument at which outputs meet their targets.

\b
mlsysim solve-for memory batch_size model=Llama3_8B hardware=H100 \\
    seq_len=8192 dp_size=8 zero_stage=3 feasible=true

\b
mlsysim solve-for serve memory_bandwidth model=Llama3_3_70B hardware=H100 \\
    tp_size=4 request_rate=2 num_replicas=1 "tpot_mean <= 20 ms"

A word that names an output is a target: OUTPUT=VALUE, or "OUTPUT <= VALUE" and the other
comparisons, in quotes; a bare number is in the unit of the output. All targets must hold.
"""


@answered_by("mlsysim.cli.verbs.solve_for_answer")
def solve_for(
    ctx: typer.Context,
    question: Question,
    unknown: Annotated[str, typer.Argument(metavar="ARGUMENT", help="What is asked for: an argument, a number.")],
    words: Words,
    which: Annotated[
        str | None, typer.Option(metavar="largest|smallest", help="Where the targets hold for more than one value.")
    ] = None,
    subject_to: SubjectTo = None,
    allow_infeasible: AllowInfeasible = False,
    variant: Variants = None,
    catalog: OwnCatalog = None,
    ignore: Ignored = None,
    as_json: Json = False,
    strict: Strict = False,
) -> None:
    """Find the value of one argument."""
