"""Arguments by the names that a shell and others have for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mlsysim.errors import UnknownNameError, nearest
from mlsysim.names import ELSEWHERE, SPELLINGS


def option_name(argument: str) -> str:
    """The option of an argument: ``batch_size`` is ``--batch-size``."""
    return f"--{argument.replace('_', '-')}"


def own_name(typed: str, known: Collection[str]) -> str:
    """The name of an argument from another spelling of it; what is a name itself, or no spelling of one, as it is."""
    return typed if typed in known or SPELLINGS.get(typed) not in known else SPELLINGS[typed]


def names_for(typed: str, known: Iterable[str]) -> list[str]:
    """The names that an argument of another tool has among those known, else those that are spelled nearly so."""
    names = list(known)
    return [each for each in ELSEWHERE.get(typed, ()) if each in names] or nearest(typed, names)


def unknown_argument(model: str, name: str, known: Iterable[str], hint: str = "") -> UnknownNameError:
    """The error for a keyword that a model does not take."""
    names = list(known)
    return UnknownNameError(f"argument of {model}", name, names, hint, close=names_for(name, names))
