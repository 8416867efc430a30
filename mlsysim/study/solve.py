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

    Parameters
    ----------
    *entries : Entry or str
        Catalog entries without a name, in the order in which the page of the model lists them: an entry such as
        ``Hardware.Cloud.H100``, its name (``"H100"``), or a file of one. Each can also be given by name.
    **inputs
        Inputs by name; the page of the model has their units, defaults and allowed values. A number is in the unit of
        the input. ``"40 GB"`` and ``Q_(40, "GB")`` bring their own, ``"2T"`` is a count, a label is text and a flag is
        ``True`` or ``False``. An input given by name goes before what an entry or a default says; ``None`` leaves it
        out.

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

    Examples
    --------
    >>> from mlsysim import Q_, TrainingMemoryModel
    >>> memory = TrainingMemoryModel("first_order")
    >>> run = dict(batch_size=8, seq_len=2048, dp_size=8, zero_stage=2)
    >>> result = memory.solve("Llama3_8B", "H100", **run)
    >>> print(f"{result.total_memory:.2f}, fits: {result.feasible}")
    32.90 GB, fits: True
    >>> smaller = memory.solve("Llama3_8B", "H100", **run, memory_capacity=Q_(24, "GB"))
    >>> print(f"{smaller.memory_capacity}, fits: {smaller.feasible}")
    24.0 GB, fits: False
    >>> memory.solve("Llama3_8B", "H100", batch_size="eight", seq_len=2048)
    Traceback (most recent call last):
        ...
    mlsysim.errors.InputError: batch_size='eight': must be a whole number >= 1; ...
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
