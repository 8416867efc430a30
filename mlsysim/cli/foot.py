"""The end of every answer: what it rests on, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mlsysim.cli import output
from mlsysim.jsontext import json_text
from mlsysim.study.results.basis import Basis


def print_basis(basis: Basis | None) -> None:
    """Print stack, efficiencies, overlaps and expected errors, a line each."""
    for label, text in basis.lines() if basis else ():
        output.paragraph(text, f"{label:<9}")


def print_answer(found: Any, basis: Basis | None, as_json: bool) -> None:
    """Print an answer and what it rests on."""
    if as_json:
        print(with_basis(json.loads(found.to_json()), basis))
    else:
        print(found)
        print_basis(basis)


def with_basis(data: Mapping[str, Any], basis: Basis | None) -> str:
    """An answer in JSON, with what it rests on under ``basis``."""
    return json_text({**data, "basis": basis and basis.to_dict()}, 2)
