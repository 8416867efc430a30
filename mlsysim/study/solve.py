"""A model at one point."""

from __future__ import annotations

from typing import Any

from mlsysim.engine import compiled
from mlsysim.inputs.binding import bind
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.result import Result


def solve(model: DeclaredModel, /, *entries: Any, **inputs: Any) -> Result:
    """Evaluate the model at one point.

    Returns
    -------
    Result
        Every output and intermediate with its unit; ``explain()`` shows how each came about.

    Raises
    ------
    InputError
        If an argument is unknown, missing, outside its domain or does not fit the others.
    UnitError
        If a quantity has the wrong dimension.
    """
    binding = bind(model, model.named_arguments(entries, inputs))
    return Result(model, binding, compiled(binding.system)(binding.values))
