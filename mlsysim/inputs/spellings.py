"""Arguments by the names that a shell and others have for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mlsysim.errors import UnknownNameError, nearest
from mlsysim.names import ELSEWHERE, SPELLINGS


def option_name(argument: str) -> str:
    """Option of an argument: ``batch_size`` is ``--batch-size``."""
    return f"--{argument.replace('_', '-')}"


def own_name(typed: str, known: Collection[str]) -> str:
    """Name of an argument from another spelling of it; names, and texts that are no spelling, as they are."""
    return typed if typed in known or SPELLINGS.get(typed) not in known else SPELLINGS[typed]


def names_for(typed: str, known: Iterable[str]) -> list[str]:
    """Names that an argument of another tool has among those known, else names spelled similarly."""
    names = list(known)
    return [name for name in ELSEWHERE.get(typed, ()) if name in names] or nearest(typed, names)


def unknown_argument(model: str, name: str, known: Iterable[str], hint: str = "") -> UnknownNameError:
    """Error for a keyword that a model does not take."""
    names = list(known)
    return UnknownNameError(f"argument of {model}", name, names, hint, close=names_for(name, names))
