"""What ``mlsysim verify`` does."""

from __future__ import annotations

from pathlib import Path

import typer

from mlsysim.cli import output
from mlsysim.cli.exits import Exit
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
    print(json_text(found.to_dict(), 2)) if as_json else output.block(str(found))
    if not found.complete:
        raise typer.Exit(Exit.UNPROVEN)
