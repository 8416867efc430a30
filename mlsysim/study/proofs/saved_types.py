"""Types of the parts of a saved certificate: a file changed by hand is refused where it was changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any


def text(value: Any) -> str:
    """Say what a value lacks to be a text; empty where nothing."""
    return "" if isinstance(value, str) else "must be a text"


def truth(value: Any) -> str:
    """Say what a value lacks to be true or false."""
    return "" if isinstance(value, bool) else "must be true or false"


def count(value: Any) -> str:
    """Say what a value lacks to be a count."""
    return (
        "" if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else "must be a whole number >= 0"
    )


def number(value: Any) -> str:
    """Say what a value lacks to be a number; infinity is an object that says so."""
    if isinstance(value, Mapping):
        return "" if value.get("infinite") in ("positive", "negative") else "must be a number"
    try:
        finite = not isinstance(value, bool) and math.isfinite(value)
    except (TypeError, OverflowError):
        finite = False
    return "" if finite else "must be a number"


class Optional:
    """A part that may be null."""

    def __init__(self, of: Any) -> None:
        self.of = of


#: Stands for every name of an object whose names are those of a model, or of what was asked.
ANY = "*"
_OBJECT: Any = {ANY: None}
SHAPE: dict[str, Any] = {
    "question": {
        "kind": text,
        "command": text,
        "model": text,
        "variant": text,
        "arguments": _OBJECT,
        "minimize": [text],
        "maximize": [text],
        "subject_to": [text],
        "top": Optional(count),
    },
    "fingerprint": {ANY: _OBJECT},
    "axes": {ANY: count},
    "designs": [{"place": [count], "arguments": _OBJECT, "objectives": {ANY: {"value": number, "unit": text}}}],
    "certificate": {
        "method": text,
        "points": count,
        "accepted": [count],
        "refused": {ANY: {"count": [count], "entries": [text]}},
        "proven": truth,
        "first": truth,
        "bound": Optional(number),
        "gap": number,
        "boxes": count,
        "evaluated": count,
        "feasible": [count],
        "seconds": number,
        "undefined": Optional([count]),
    },
    "boxes": Optional({"tree": text, ANY: count}),
}


def wrong_in(value: Any, shape: Any = SHAPE, where: str = "") -> Iterator[tuple[str, str]]:
    """The places of a file that are missing or of another type, each with what it must be.

    Parameters
    ----------
    value
        As JSON was read.
    shape
        A check, a list of one shape, an object of shapes by name, or None for whatever it is.
    where : str
        The place of the value.

    Yields
    ------
    tuple of str
        A place, such as ``designs[0].place``, and what must stand there.
    """
    if isinstance(shape, Optional):
        if value is not None:
            yield from wrong_in(value, shape.of, where)
    elif isinstance(shape, dict):
        if not isinstance(value, Mapping):
            yield where, "must be an object"
            return
        yield from ((f"{where}.{name}".strip("."), "is missing") for name in shape if name != ANY and name not in value)
        for name, part in value.items():
            yield from wrong_in(part, shape.get(name, shape.get(ANY)), f"{where}.{name}".strip("."))
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield where, "must be a list"
            return
        for place, part in enumerate(value):
            yield from wrong_in(part, shape[0], f"{where}[{place}]")
    elif shape is not None and (lacking := shape(value)):
        yield where, f"{lacking}, and is {repr(value)[:60]}"
