"""JSON as mlsysim writes it, for every answer in the same way.

JSON has no infinity. A number that is infinite is written as ``"value": null, "infinite": "positive"`` (or
``"negative"``): in the object that holds the value with its unit, or as an object of its own where a bare number
would stand. A ``null`` without ``infinite`` beside it is no number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from mlsysim.errors import UNSEEN


def json_text(data: Any, indent: int | None = 2, *, sort_keys: bool = False) -> str:
    """Plain data as JSON that every reader takes.

    Parameters
    ----------
    data : dict, list, str, number or None
        Nested as deep as it likes.
    indent : int, optional
        Blanks per level; None for one line.
    sort_keys : bool
        Put the keys of every object in alphabetical order.
    """
    text = json.dumps(_finite(data), indent=indent, sort_keys=sort_keys, ensure_ascii=False, allow_nan=False)
    # On a terminal, letters stay legible and what it would obey does not.
    return UNSEEN.sub(lambda character: json.dumps(character[0])[1:-1], text)


class JsonAnswer:
    """Answer that is plain data, and JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        raise NotImplementedError

    def to_json(self, indent: int | None = 2) -> str:
        """:meth:`to_dict` as JSON; an infinite value is ``"value": null, "infinite": "positive"``.

        Parameters
        ----------
        indent : int, optional
            As of :func:`json.dumps`.
        """
        return json_text(self.to_dict(), indent)


def _finite(data: Any) -> Any:
    if isinstance(data, Mapping):
        found: dict[str, Any] = {}
        for name, value in data.items():
            found |= _number(value) if name == "value" and isinstance(value, float) else {name: _finite(value)}
        return found
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return _number(data) if isinstance(data, float) and not math.isfinite(data) else data


def _number(value: float) -> dict[str, Any]:
    if math.isinf(value):
        return {"value": None, "infinite": "positive" if value > 0 else "negative"}
    return {"value": None if math.isnan(value) else value}
