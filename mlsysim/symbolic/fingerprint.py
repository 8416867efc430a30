"""The name of expressions by what they say, the same in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import sympy
from sympy.core.symbol import Str

from mlsysim.symbolic.constants import Label, UnitSymbol

#: Whose nodes say all in their name and arguments; code of others may change and keep its name.
_KNOWN = ("sympy", "mlsysim")
#: Nodes without arguments that their text tells apart.
_NAMED = (sympy.Integer, sympy.Rational, sympy.NumberSymbol, Str)
_SPECIAL = (sympy.true, sympy.false, sympy.oo, -sympy.oo, sympy.nan, sympy.zoo, sympy.I, sympy.S.EmptySet)


def fingerprint(expressions: Iterable[sympy.Basic]) -> str:
    """A digest of expressions, with what units and labels in them are worth.

    Bound symbols count by where they come first, so that it does not matter when they were made.

    Parameters
    ----------
    expressions : iterable of sympy.Basic
        In the order that counts.

    Returns
    -------
    str
        Hexadecimal digits; empty where a node is of a class of somebody else.
    """
    rows = _Rows()
    try:
        places = [rows.place(expression) for expression in expressions]
    except _ForeignError:
        return ""
    return hashlib.blake2b(repr((list(rows.by_content), places)).encode(), digest_size=16).hexdigest()


class _ForeignError(Exception):
    """A node of which nobody knows what it does."""


class _Rows:
    """Nodes by content, each row naming its arguments by their places."""

    def __init__(self) -> None:
        self.by_content: dict[tuple[Any, ...], int] = {}
        self._met: dict[int, tuple[sympy.Basic, int]] = {}
        self._bound: dict[sympy.Dummy, int] = {}

    def place(self, node: Any) -> int:
        """The place of a node, behind those of its arguments."""
        met = self._met.get(id(node))
        if met is not None:
            return met[1]
        args = node.args
        content = (_kind(node), *map(self.place, args)) if args else self._atom(node)
        place = self.by_content.setdefault(content, len(self.by_content))
        self._met[id(node)] = node, place
        return place

    def _atom(self, node: Any) -> tuple[Any, ...]:
        if isinstance(node, sympy.Symbol):
            worth = node.amount if isinstance(node, UnitSymbol) else node.code if isinstance(node, Label) else ""
            number = self._bound.setdefault(node, len(self._bound)) if isinstance(node, sympy.Dummy) else ""
            return _kind(node), node.name, str(worth), str(number), *sorted(node.assumptions0.items())
        if isinstance(node, sympy.Float):
            return _kind(node), str(node._mpf_), str(node._prec)
        if isinstance(node, _NAMED) or node in _SPECIAL or isinstance(node, sympy.Tuple):
            return _kind(node), str(node)
        raise _ForeignError


def _kind(node: Any) -> str:
    kind = type(node)
    if str(kind.__module__).partition(".")[0] not in _KNOWN:
        raise _ForeignError
    return kind.__qualname__
