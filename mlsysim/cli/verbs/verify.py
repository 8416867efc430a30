"""``mlsysim verify``: whether a saved certificate holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mlsysim.cli.options import Json, OwnCatalog

HELP = """Whether the certificate of a search or of a front holds, shown without the search.

\b
mlsysim search train model=Llama3_70B fleet=SuperPOD_H100 batch_size=1024 seq_len=8192 \\
    tp_size=1:8:x2 pp_size=1:16 gradient_accumulation_steps=1:64 --minimize step_time \\
    --method bounds --certificate best.json
mlsysim verify best.json

The designs are solved again, the boxes that were ruled out must tile the grid, and each is
bounded again from the formulas as they are now. Of a front, no design may be as good as another
one in every objective, and no box may hold a point that none of them equals or betters in all.
"""


def verify(
    ctx: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What --certificate of `mlsysim search` or `pareto` wrote.")
    ],
    catalog: OwnCatalog = None,
    as_json: Json = False,
) -> None:
    """Verify a certificate."""
    from mlsysim.cli.verbs import verify_answer

    verify_answer.answer(file, ctx.obj, catalog=catalog, as_json=as_json)
