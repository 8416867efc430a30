"""Arguments as plain data: what JSON holds of a question, and the question again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.catalog import Entry
from mlsysim.errors import InputError
from mlsysim.inputs.axes import Derived, Linked, derived

#: Finds an entry of the catalog by its kind and name.
Find = Callable[[str, str], Entry]


def as_plain(name: str, value: Any) -> Any:
    """An argument as JSON holds it.

    Parameters
    ----------
    name : str
        The argument, for errors.
    value : object
        As a user gives it: a number, a label, a quantity, an entry of the catalog, or several of them.

    Returns
    -------
    object
        Numbers and labels stay; anything else is an object with one key that says what it is.

    Raises
    ------
    InputError
        If it is nothing of that kind.
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
        return [as_plain(name, each) for each in value]
    raise InputError(
        name, value, "cannot be written down", "give numbers, labels, quantities or entries of the catalog"
    )


def as_given(name: str, plain: Any, find: Find) -> Any:
    """An argument from what JSON holds of it.

    Parameters
    ----------
    name : str
        The argument, for errors.
    plain : object
        As :func:`as_plain` gives it.
    find : callable
        Finds entries of the catalog.

    Raises
    ------
    InputError
        If it is not a way to write an argument.
    UnknownNameError
        If there is no entry of a name.
    """
    if isinstance(plain, list):
        return [as_given(name, each, find) for each in plain]
    if not isinstance(plain, Mapping):
        return plain
    try:
        match dict(plain):
            case {"range": [int(start), int(stop), int(step)]}:
                return range(start, stop, step)
            case {"entry": [str(what), str(entry)]}:
                return find(what, entry)
            case {"linked": dict(members), "repeats": bool(repeats)}:
                return Linked({key: as_given(key, each, find) for key, each in members.items()}, repeats=repeats)
            case {"derived": str(text)}:
                return derived(text)
            case {"quantity": [magnitude, str(unit)]}:
                return units.Q_(np.asarray(magnitude) if isinstance(magnitude, list) else magnitude, units.unit(unit))
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(name, dict(plain), f"cannot be read: {error}") from None
    raise InputError(name, dict(plain), "is not a way to write an argument")
