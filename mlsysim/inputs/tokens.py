"""Tokenizer of expressions: numbers with units, names, quoted labels and operators."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from mlsysim import units
from mlsysim.errors import InputError, UnitError

#: Most characters of a text.
LONGEST = 2000

WORDS = ("and", "or", "not", "in")

_NUMBER = re.compile(r"(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(rf"[{''.join(units.THOUSANDS)}](?!\w)")
_NAME = re.compile(r"[^\W\d]\w*")
_QUOTED = re.compile(r"'([^'\"]*)'|\"([^'\"]*)\"")
_OPERATOR = re.compile(r"not\s+in\b|(?:and|or|not|in)\b|\*\*|//|<=|>=|==|!=|[-+*/%<>=^(),\[\]]")
_PERCENT = re.compile(r"\s*%(?!\s*(?!(?:and|or|not|in)\b)[\w.(])")
_UNIT = re.compile(r"\s*([^\W\d]\w*|\$)((?:\s*(?:\*\*|\^)\s*-?\d{1,2}(?![\w.]))?)(?!\w)(?!\s*\()")
_PER = re.compile(r"\s+1\s*/\s*([^\W\d]\w*)(?!\s*\()")
_FACTOR = re.compile(r"\s*([*/])(?!\*)")


@dataclass(frozen=True)
class Token:
    """Piece of a text.

    Attributes
    ----------
    kind : {"number", "name", "text", "operator", "end"}
        Kind of the piece.
    text : str
        The piece, without quotes and unit.
    unit : str
        Unit of a number.
    """

    kind: Literal["number", "name", "text", "operator", "end"]
    text: str
    unit: str = ""


def tokens(
    text: str, known: Collection[str], functions: Collection[str], refused: Callable[..., InputError]
) -> list[Token]:
    """Split a text into tokens; the last one is its end.

    Parameters
    ----------
    text : str
        Text to split.
    known, functions : collection of str
        Names that are not read as units after an operator.
    refused : callable
        Makes an error from the text that says what is allowed.

    Returns
    -------
    list of Token
    """
    split: list[Token] = []
    position = 0
    while text[position:].strip():
        position += len(text[position:]) - len(text[position:].lstrip())
        if match := _NUMBER.match(text, position):
            number = match[0].replace("_", "")
            vanished = float(number) == 0 and re.search("[1-9]", re.split("[eE]", number)[0])
            if vanished or not math.isfinite(float(number)):
                raise refused(f"{match[0]} is too large or too small")
            position = match.end()
            if (many := _THOUSANDS.match(text, position)) and not _is_unit(many[0]):
                number, position = f"{Decimal(number).scaleb(units.THOUSANDS[many[0]]):f}", many.end()
            unit, position = _unit_after(text, position, {*known, *functions}, refused)
            split.append(Token("number", number, unit))
            continue
        if match := _OPERATOR.match(text, position):
            split.append(Token("operator", re.sub(r"\s+", " ", match[0])))
        elif match := _NAME.match(text, position):
            split.append(Token("name", match[0]))
        elif match := _QUOTED.match(text, position):
            split.append(Token("text", match[1] if match[1] is not None else match[2]))
        else:
            raise refused(f"cannot be read at {text[position : position + 10]!r}")
        position = match.end()
    return [*split, Token("end", "")]


def _unit_after(text: str, position: int, names: set[str], refused: Callable[..., InputError]) -> tuple[str, int]:
    """Unit that follows a number, and its end: ``GB/s``, but not ``GB / dp_size``."""
    if match := _PERCENT.match(text, position):
        return "%", match.end()
    if (match := _PER.match(text, position)) and match[1] not in names and _is_unit(match[1]):
        return f"1/{match[1]}", match.end()
    match = _UNIT.match(text, position)
    if not match or match[1] in WORDS:
        return "", position
    unit = ""
    sign = ""
    while match and match[1] not in WORDS:
        one = match[1].replace("$", "USD") + re.sub(r"\s|\^", lambda m: "**" if m[0] == "^" else "", match[2])
        if sign and (match[1] in names or not _is_unit(one)):
            break
        if not sign and not _is_unit(one):
            meant = [f"did you mean {name}?" for name in units.near(one) if name.casefold() == one.casefold()]
            raise refused(f"{match[1]!r} is no unit", *meant or ["a product needs *, as in 2 * batch_size"])
        unit, position = f"{unit}{sign}{one}", match.end()
        factor = _FACTOR.match(text, position)
        sign = factor[1] if factor else ""
        match = _UNIT.match(text, factor.end()) if factor else None
    return unit, position


def _is_unit(text: str) -> bool:
    try:
        units.check(text)
    except UnitError:
        return False
    return True
