"""Undefined outputs, as where a formula divides zero by zero: an error that names the formula."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any, NoReturn

from mlsysim.errors import UndefinedError
from mlsysim.study.results.display import as_text
from mlsysim.symbolic import System
from mlsysim.symbolic.printing import text


def refuse_undefined(system: System, inputs: Mapping[str, Any], values: Mapping[str, float]) -> NoReturn:
    """Raise an error that names the first undefined formula and its inputs."""
    formula = next(formula for formula in system if isnan(values[formula.name]))
    known = {**inputs, **values}
    arguments = ", ".join(f"{v.name}={as_text(v, known[v.name])}" for v in formula.inputs)
    raise UndefinedError(
        f"{formula.name} = {text(formula.expression)} is not a number at {arguments}; "
        "give the formula a case for it, or an input a domain without it"
    )
