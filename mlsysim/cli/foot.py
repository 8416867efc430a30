"""Basis of an answer, printed at its end as text or JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mlsysim.cli import output
from mlsysim.jsontext import json_text
from mlsysim.study.results.basis import Basis


def print_basis(basis: Basis | None) -> None:
    """Print stack, efficiencies, overlaps and expected errors, one per line."""
    for label, text in basis.lines() if basis else ():
        output.paragraph(text, f"{label:<9}")


def print_answer(answer: Any, basis: Basis | None, as_json: bool) -> None:
    """Print an answer and its basis."""
    if as_json:
        print(with_basis(json.loads(answer.to_json()), basis))
    else:
        print(answer)
        print_basis(basis)


def with_basis(data: Mapping[str, Any], basis: Basis | None) -> str:
    """Serialise an answer with its basis under ``basis``."""
    return json_text({**data, "basis": basis and basis.to_dict()}, 2)
