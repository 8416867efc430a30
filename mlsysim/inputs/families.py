"""Arguments that give several members of a family of inputs at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from mlsysim.errors import InputError, UnknownNameError
from mlsysim.symbolic.family import members_among


def by_member(arguments: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Arguments with every family of inputs replaced by its members.

    Parameters
    ----------
    arguments : mapping
        As typed; ``group_ranks={"tp": 8, "cp": 2}`` gives two.
    known : collection of str
        Names of the arguments there are.

    Returns
    -------
    dict

    Raises
    ------
    InputError
        If a family is not given as a mapping, or a member twice.
    UnknownNameError
        If a family has no such member among the arguments.
    """
    found = {}
    for name, value in arguments.items():
        members = {} if name in known else members_among(name, known)
        if not members:
            found[name] = value
            continue
        if value is None:
            continue
        if not isinstance(value, Mapping):
            one = next(iter(members))
            raise InputError(
                name, value, "takes a mapping of members", f"as in {name}={{{one!r}: ...}}, or {members[one]}=..."
            )
        for member, each in value.items():
            if member not in members:
                raise UnknownNameError(f"member of {name}", member, members)
            if arguments.get(members[member]) is not None:
                raise InputError(members[member], each, "is given twice", f"once in {name}")
            found[members[member]] = each
    return found
