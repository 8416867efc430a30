"""``mlsysim verify``: check of a saved certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mlsysim.cli.exits import Exit
from mlsysim.cli.options import Json, OwnCatalog
from mlsysim.errors import CertificateError
from mlsysim.jsontext import json_text

HELP = """Check the certificate of a search or of a front without the search.

\b
mlsysim search train model=Llama3_70B fleet=SuperPOD_H100 batch_size=1024 \\
    seq_len=8192 tp_size=1:8:x2 pp_size=1:16 \\
    gradient_accumulation_steps=1:64 --minimize step_time \\
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
    from mlsysim.cli import output
    from mlsysim.cli.foot import print_basis
    from mlsysim.cli.words import shelf_of
    from mlsysim.models.verify import verify as verified

    try:
        report = verified(file, catalog=shelf_of(catalog), registry=ctx.obj)
    except CertificateError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(Exit.REFUTED) from None
    if as_json:
        print(json_text(report.to_dict(), 2))
    else:
        output.block(str(report))
        print_basis(report.basis)
    if not report.complete:
        raise typer.Exit(Exit.UNPROVEN)
