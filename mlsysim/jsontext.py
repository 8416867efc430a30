"""JSON as mlsysim writes it, the same in every answer.

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
    """Serialise plain data as JSON that every parser accepts.

    Parameters
    ----------
    data : dict, list, str, number or None
        Data of any depth.
    indent : int, optional
        Spaces per level; None for one line.
    sort_keys : bool
        Sort the keys of every object.
    """
    text = json.dumps(_finite(data), indent=indent, sort_keys=sort_keys, ensure_ascii=False, allow_nan=False)
    # Letters stay legible on a terminal, and control characters are escaped.
    return UNSEEN.sub(lambda character: json.dumps(character[0])[1:-1], text)


class JsonAnswer:
    """Base of answers that convert to plain data and JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data."""
        raise NotImplementedError

    def to_json(self, indent: int | None = 2) -> str:
        """Serialise :meth:`to_dict` as JSON; an infinite value is ``"value": null, "infinite": "positive"``.

        Parameters
        ----------
        indent : int, optional
            Spaces per level, as in :func:`json.dumps`.
        """
        return json_text(self.to_dict(), indent)


def _finite(data: Any) -> Any:
    if isinstance(data, Mapping):
        converted: dict[str, Any] = {}
        for name, value in data.items():
            converted |= _number(value) if name == "value" and isinstance(value, float) else {name: _finite(value)}
        return converted
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return _number(data) if isinstance(data, float) and not math.isfinite(data) else data


def _number(value: float) -> dict[str, Any]:
    if math.isinf(value):
        return {"value": None, "infinite": "positive" if value > 0 else "negative"}
    return {"value": None if math.isnan(value) else value}
