"""Outputs that are no number, as where a formula divides zero by zero: an error that names the formula."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any, NoReturn

import numpy as np

from mlsysim.backends import compiled
from mlsysim.errors import UndefinedError
from mlsysim.study.results.display import as_text
from mlsysim.study.results.notes import element
from mlsysim.symbolic import System
from mlsysim.symbolic.printing import text


def refuse_undefined(system: System, inputs: Mapping[str, Any], values: Mapping[str, float]) -> NoReturn:
    """Name the first formula that has no value, and what it was given."""
    formula = next(formula for formula in system if isnan(values[formula.name]))
    known = {**inputs, **values}
    given = ", ".join(f"{v.name}={as_text(v, known[v.name])}" for v in formula.inputs)
    raise UndefinedError(
        f"{formula.name} = {text(formula.expression)} is not a number at {given}; "
        "give the formula a case for it, or an input a domain without it"
    )


def refuse_undefined_points(system: System, inputs: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse a grid with an output that is no number, at its first such point.

    Parameters
    ----------
    system : System
        Formulas.
    inputs : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
    arrays : mapping
        Outputs on the grid.

    Raises
    ------
    UndefinedError
        If there is one.
    """
    for name, found in arrays.items():
        if found.size and found.dtype.kind == "f" and isnan(found.min()):
            first = np.unravel_index(int(np.isnan(found).argmax()), found.shape)
            at = {each: float(element(np.asarray(value), first)) for each, value in inputs.items()}
            part = system.closure([name])
            refuse_undefined(part, at, compiled(part)({v.name: at[v.name] for v in part.inputs}))
