"""Command line: models, formulas, catalog and book in a terminal."""

from mlsysim.cli.app import app, main

__all__ = ["app", "main"]
