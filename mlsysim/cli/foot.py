"""The end of every answer: what it rests on, as text and as JSON."""

from __future__ import annotations

import json

from mlsysim.cli import output
from mlsysim.jsontext import json_text
from mlsysim.study.results.basis import Basis


def print_basis(basis: Basis | None) -> None:
    """Print stack, efficiencies, overlaps and expected errors, a line each."""
    for label, text in basis.lines() if basis else ():
        output.paragraph(text, f"{label:<9}")


def with_basis(text: str, basis: Basis | None) -> str:
    """An answer in JSON, with what it rests on under ``basis``."""
    return json_text({**json.loads(text), "basis": basis and basis.to_dict()}, 2)
