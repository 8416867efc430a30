"""Arguments that give several members of a family of inputs at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from mlsysim.errors import InputError, UnknownNameError
from mlsysim.symbolic.family import members_among


def by_member(arguments: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Replace every family of inputs among arguments by its members.

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
    by_name = {}
    for name, value in arguments.items():
        members = {} if name in known else members_among(name, known)
        if not members:
            by_name[name] = value
            continue
        if value is None:
            continue
        if not isinstance(value, Mapping):
            one = next(iter(members))
            raise InputError(
                name, value, "takes a mapping of members", f"as in {name}={{{one!r}: ...}}, or {members[one]}=..."
            )
        for member, member_value in value.items():
            if member not in members:
                raise UnknownNameError(f"member of {name}", member, members)
            if arguments.get(members[member]) is not None:
                raise InputError(members[member], member_value, "is given twice", f"once in {name}")
            by_name[members[member]] = member_value
    return by_name
