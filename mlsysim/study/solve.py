"""A model at one point."""

from __future__ import annotations

from math import isnan
from typing import Any

from mlsysim.backends import compiled
from mlsysim.inputs.binding import bind
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.recurring import Calls, kind_of
from mlsysim.study.results.result import Result
from mlsysim.study.undefined import refuse_undefined

_CALLS = Calls()


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
    UndefinedError
        If an output is no number, as where a formula divides zero by zero.
    """
    typed = {**dict(zip(model.positional(), entries, strict=False)), **inputs} if entries else inputs
    once = len(typed) == len(entries) + len(inputs)
    kind = kind_of(model, typed) if once else None
    call = _CALLS.find(kind)
    recurring = None if call is None else call.answer(model, typed)
    if recurring is not None:
        return Result._of(model, recurring)
    arguments = model.named_arguments(entries, inputs)
    binding = bind(model, arguments)
    values = compiled(binding.system)(binding.values)
    if any(map(isnan, values.values())):
        refuse_undefined(binding.system, binding.values, values)
    if kind is not None and arguments == typed:
        _CALLS.came(kind, typed, binding, values)
    return Result(model, binding, values)
