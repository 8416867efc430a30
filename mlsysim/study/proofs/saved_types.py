"""Types of the parts of a saved certificate, by which a file edited by hand is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any


def is_number(value: Any) -> bool:
    """Tell whether a value is a number; infinity is an object that says so."""
    if isinstance(value, Mapping):
        return value.get("infinite") in ("positive", "negative")
    try:
        return not isinstance(value, bool) and math.isfinite(value)
    except (TypeError, OverflowError):
        return False


#: Description of an allowed value, and a test of it.
Check = tuple[str, Callable[[Any], bool]]
TEXT: Check = ("must be a text", lambda value: isinstance(value, str))
TRUTH: Check = ("must be true or false", lambda value: isinstance(value, bool))
COUNT: Check = ("must be a whole number >= 0", lambda value: type(value) is int and value >= 0)
NUMBER: Check = ("must be a number", is_number)


class Optional:
    """A part that may be null."""

    def __init__(self, of: Any) -> None:
        self.of = of


#: Stands for any name in an object whose keys come from the model or the question.
ANY = "*"
_OBJECT: Any = {ANY: None}
SHAPE: dict[str, Any] = {
    "question": {
        "kind": TEXT,
        "command": TEXT,
        "model": TEXT,
        "variant": TEXT,
        "arguments": _OBJECT,
        "minimize": [TEXT],
        "maximize": [TEXT],
        "subject_to": [TEXT],
        "top": Optional(COUNT),
    },
    "fingerprint": {ANY: _OBJECT},
    "axes": {ANY: COUNT},
    "designs": [{"place": [COUNT], "arguments": _OBJECT, "objectives": {ANY: {"value": NUMBER, "unit": TEXT}}}],
    "certificate": {
        "method": TEXT,
        "points": COUNT,
        "accepted": [COUNT],
        "refused": {ANY: {"count": [COUNT], "entries": [TEXT]}},
        "proven": TRUTH,
        "first": TRUTH,
        "bound": Optional(NUMBER),
        "gap": NUMBER,
        "boxes": COUNT,
        "evaluated": COUNT,
        "feasible": [COUNT],
        "seconds": NUMBER,
        "undefined": Optional([COUNT]),
    },
    "boxes": Optional({"tree": TEXT, ANY: COUNT}),
}


def wrong_in(value: Any, shape: Any = SHAPE, where: str = "") -> Iterator[tuple[str, str]]:
    """Yield the parts of a file that are missing or of another type, each with what it must be.

    Parameters
    ----------
    value
        Parsed JSON.
    shape
        A check, a list of one shape, an object of shapes by name, or None for anything.
    where : str
        Path of the value in the file.

    Yields
    ------
    tuple of str
        A path, such as ``designs[0].place``, and what must stand there.
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
        for index, part in enumerate(value):
            yield from wrong_in(part, shape[0], f"{where}[{index}]")
    elif shape is not None and not shape[1](value):
        yield where, f"{shape[0]}, and is {repr(value)[:60]}"
