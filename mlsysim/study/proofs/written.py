"""Serialised arguments: a question as JSON, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.catalog import Entry
from mlsysim.errors import InputError
from mlsysim.inputs.axes import Derived, Linked, derived

#: Function that finds a catalog entry by kind and name.
Find = Callable[[str, str], Entry]


def as_plain(name: str, value: Any) -> Any:
    """Serialise an argument.

    Parameters
    ----------
    name : str
        Name of the argument, for errors.
    value : object
        Argument as typed: a number, a label, a quantity, a catalog entry, or several of them.

    Returns
    -------
    object
        Numbers and labels as they are; anything else as an object with one key that names its type.

    Raises
    ------
    InputError
        If the type is not supported.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, Entry):
        return {"entry": [value.what, value.key or value.name]}
    if isinstance(value, Linked):
        members = {member: as_plain(member, values) for member, values in value.axes.items()}
        return {"linked": members, "repeats": value.repeats}
    if isinstance(value, Derived):
        return {"derived": str(value.expression)}
    if units.is_quantity(value):
        return {"quantity": [as_plain(name, value.magnitude), str(value.units)]}
    if isinstance(value, np.generic) or hasattr(value, "__array__"):
        return np.asarray(value).tolist()
    if isinstance(value, list | tuple):
        return [as_plain(name, item) for item in value]
    raise InputError(
        name, value, "cannot be written down", "give numbers, labels, quantities or entries of the catalog"
    )


def as_given(name: str, plain: Any, find: Find) -> Any:
    """Deserialise an argument.

    Parameters
    ----------
    name : str
        Name of the argument, for errors.
    plain : object
        Value from :func:`as_plain`.
    find : callable
        Function that finds catalog entries.

    Raises
    ------
    InputError
        If the object is none that :func:`as_plain` writes.
    UnknownNameError
        If there is no entry with that name.
    """
    if isinstance(plain, list):
        return [as_given(name, item, find) for item in plain]
    if not isinstance(plain, Mapping):
        return plain
    try:
        match dict(plain):
            case {"range": [int(start), int(stop), int(step)]}:
                return range(start, stop, step)
            case {"entry": [str(what), str(entry)]}:
                return find(what, entry)
            case {"linked": dict(members), "repeats": bool(repeats)}:
                return Linked({key: as_given(key, item, find) for key, item in members.items()}, repeats=repeats)
            case {"derived": str(text)}:
                return derived(text)
            case {"quantity": [magnitude, str(unit)]}:
                return units.Q_(np.asarray(magnitude) if isinstance(magnitude, list) else magnitude, units.unit(unit))
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(name, dict(plain), f"cannot be read: {error}") from None
    raise InputError(name, dict(plain), "is not a way to write an argument")
