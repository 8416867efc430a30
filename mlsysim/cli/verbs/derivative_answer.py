"""Answer of ``mlsysim derivative``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlsysim.cli import axes
from mlsysim.cli import output as printed
from mlsysim.cli.words import in_options, shelf_of
from mlsysim.errors import InputError, MissingInputError, MlsysimError
from mlsysim.inputs.recipe import as_run
from mlsysim.jsontext import json_text
from mlsysim.models import PerformanceModel
from mlsysim.study.derivative import Derivative
from mlsysim.symbolic.printing import text


@in_options(("at",))
def answer(
    kind: type[PerformanceModel],
    words: Sequence[str],
    *,
    output: str,
    by: str,
    at: Sequence[str] | None,
    relax: bool,
    latex: bool,
    variant: str | None,
    catalog: Path | None,
    as_json: bool,
) -> None:
    """Print the derivative of an output, in general or for the cases of a point."""
    if latex and as_json:
        raise MlsysimError("--latex and --json: choose one")
    point = axes.arguments(kind, [word for typed in at or () for word in shlex.split(typed)], shelf_of(catalog))
    if several := axes.swept(point, 0):
        raise InputError("at", ", ".join(several), "a point has one value each")
    model = as_run(kind.asked(variant), point)
    slope = model.derivative(output.replace("-", "_"), by.replace("-", "_"), relax=relax, at=point if at else None)
    value = _value(slope, point) if at and not latex else None
    if latex:
        print(slope.latex())
    elif as_json:
        conditions = [text(condition) for condition in slope.conditions]
        print(
            json_text(
                {
                    "output": slope.output.name,
                    "by": slope.by.name,
                    "unit": slope.unit,
                    "value": None if value is None else value.magnitude,
                    "text": slope.text(),
                    "latex": slope.latex(),
                    "conditions": conditions,
                    "steps": list(slope.steps),
                },
                2,
            )
        )
    else:
        for line in str(slope).splitlines():
            said = line.replace("relax=True", "--relax").replace("are in .conditions", "by --json")
            printed.paragraph(said.strip(), "  " if line.startswith("  ") else "")
        if value is not None:
            print(f"  = {value.magnitude:.4g} {slope.unit}".rstrip() + " at the point")


def _value(slope: Derivative, point: Mapping[str, Any]) -> Any:
    """Evaluate a derivative, or return None where the point leaves out arguments that it needs."""
    try:
        return slope.at(**point)
    except MissingInputError:
        return None
