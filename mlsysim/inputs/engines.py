"""Inference engines: the variant that serves as they do, and their newest stack for a device."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from mlsysim.catalog import Accelerator, Engine, Entry, Stack, builtin, stacks_of
from mlsysim.errors import InputError, MlsysimError
from mlsysim.inputs.axes import Linked
from mlsysim.inputs.convert import is_axis
from mlsysim.inputs.declaration import DeclaredModel

#: An entry of any kind.
AnyEntry = TypeVar("AnyEntry", bound=Entry)


@cache
def argument_of(model: type[DeclaredModel], kind: type[Entry]) -> str:
    """Name of the argument that takes an entry of a kind; empty if the model has none."""
    return next((name for name, slot in model.slots.items() if issubclass(slot.entry, kind)), "")


def given_entries(value: Any, kind: type[AnyEntry]) -> list[AnyEntry]:
    """Entries in an argument as it was typed; none if it is of another kind."""
    entries: list[AnyEntry] = []
    for item in value if is_axis(value) else (value,):
        try:
            entry = builtin().find(kind.what, item) if isinstance(item, str) else item
        except MlsysimError:
            continue
        entries += [entry] if isinstance(entry, kind) else []
    return entries


def given_or_linked(argument: str, typed: Mapping[str, Any]) -> Any:
    """Value of an argument as it was typed, also along a linked axis; None if it was not."""
    axes = (value.axes for value in typed.values() if isinstance(value, Linked))
    return typed.get(argument, next((axis[argument] for axis in axes if argument in axis), None))


def assumed_engine(model: DeclaredModel, typed: Mapping[str, Any]) -> Engine | None:
    """Engine where none is named: that of the stack that is, else the one that the command line takes."""
    argument = argument_of(type(model), Engine)
    if not argument or not model.assumed or given_or_linked(argument, typed) is not None:
        return None
    stacks = given_entries(given_or_linked(argument_of(type(model), Stack), typed), Stack)
    if stacks and model.is_chosen:  # nothing is left for it to say
        return None
    named = [stack.engine for stack in stacks if stack.engine is not None]
    engine = named[0] if named else builtin().find(Engine.what, model.assumed)
    return engine if isinstance(engine, Engine) else None


def check_stack(engine: Engine, stack: Stack) -> None:
    """Refuse a stack of another engine.

    Raises
    ------
    InputError
        If it is one.
    """
    if stack.engine is not None and stack.engine.name != engine.name:
        of = stack.engine.key or stack.engine.name
        hint = f"leave out engine, or give engine={of!r}"
        raise InputError("engine", engine.key or engine.name, f"must be that of {stack.key or stack.name}, {of}", hint)


def stack_for(engine: Engine, device: Accelerator) -> Stack | None:
    """Newest stack of an engine that knows a device; None if there is none."""
    own = (each for each in stacks_of(engine.name) if any(known.name == device.name for known in each.devices))
    return next(own, None)
