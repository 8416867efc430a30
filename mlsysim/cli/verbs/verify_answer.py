"""Answer of ``mlsysim verify``."""

from __future__ import annotations

from pathlib import Path

import typer

from mlsysim.cli import output
from mlsysim.cli.exits import Exit
from mlsysim.cli.foot import print_basis
from mlsysim.cli.words import shelf_of
from mlsysim.errors import CertificateError
from mlsysim.jsontext import json_text
from mlsysim.models.registry import Registry
from mlsysim.models.verify import verify


def answer(file: Path, registry: Registry, *, catalog: Path | None, as_json: bool) -> None:
    """Print what was shown of a certificate; the exit code says whether all of it was."""
    try:
        found = verify(file, catalog=shelf_of(catalog), registry=registry)
    except CertificateError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(Exit.REFUTED) from None
    if as_json:
        print(json_text(found.to_dict(), 2))
    else:
        output.block(str(found))
        print_basis(found.basis)
    if not found.complete:
        raise typer.Exit(Exit.UNPROVEN)
