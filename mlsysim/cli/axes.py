"""Arguments as a command line has them, ``NAME=VALUES``, as a model takes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from mlsysim import units
from mlsysim.catalog import Catalog
from mlsysim.cli.words import typed_text
from mlsysim.errors import InputError, MlsysimError
from mlsysim.inputs.axes import Linked, derived, linked
from mlsysim.inputs.spellings import own_name, unknown_argument
from mlsysim.models import PerformanceModel
from mlsysim.symbolic import Variable
from mlsysim.symbolic.family import members_among, several

#: Values of one argument that are written out, where a range alone of whole numbers may be longer; and any of a range.
MOST = 1_000_000
LARGEST = Decimal(2**63)
RANGE = "a range is FIRST:LAST, FIRST:LAST:STEP or FIRST:LAST:xFACTOR, of bare numbers that rise"


def arguments(model: type[PerformanceModel], words: Sequence[str], shelf: Catalog) -> dict[str, Any]:
    """Read the words of a command line.

    Parameters
    ----------
    model : type
        Whose arguments are given.
    words : sequence of str
        ``NAME=VALUES`` each.
    shelf : Catalog
        Where names of entries are looked up first.

    Returns
    -------
    dict
        One value, a list, a linked axis or a derived input by argument.

    Raises
    ------
    InputError
        If a word cannot be read.
    UnknownNameError
        If there is no argument or entry of a name.
    """
    found: dict[str, Any] = {}
    for word in words:
        name, given, text = word.partition("=")
        name, text = _named(model, name), text.strip()
        if given and name == "variant":
            raise MlsysimError(f"variant={text}: a set of formulas is an option: use --variant {text}")
        if not given or not name:
            raise InputError("argument", word, "must be NAME=VALUES", "as in batch_size=8 or tp_size=1,2,4")
        if name in found:
            raise InputError(name, text, "is given twice", "list its values in one word, as in tp_size=1,2,4")
        if text.startswith("="):
            _known(model, name, text)
            found[name] = derived(text[1:].strip())
        elif name not in model.arguments and "=" in text:
            found[name] = _linked(model, name, text, shelf)
        else:
            found[name] = _values(model, name, text, shelf)
    _once(found)
    return found


def _named(model: type[PerformanceModel], typed: str) -> str:
    """The name of an argument from what stands before its value, which may be another spelling."""
    return own_name(typed.strip().replace("-", "_"), model.arguments)


def _once(given: dict[str, Any]) -> None:
    """Refuse what is linked along an axis and given beside it, or along another one."""
    linked_along: dict[str, str] = {}
    for axis, value in given.items():
        for member, values in value.axes.items() if isinstance(value, Linked) else ():
            if member in given or member in linked_along:
                along = linked_along.get(member, axis)
                raise InputError(member, values, "is given twice", f"it is linked along {along}")
            linked_along[member] = axis


def swept(given: dict[str, Any], most_points: int = 1) -> list[str]:
    """Names of the axes with more than so many points."""
    axes = {name: value for name, value in given.items() if isinstance(value, Linked | list | range)}
    return [name for name, axis in axes.items() if len(axis) > most_points]


def _known(model: type[PerformanceModel], name: str, text: str) -> None:
    if name not in model.arguments and (members := members_among(name, model.arguments)):
        raise InputError(name, text, several(name), f"name one of {', '.join(members.values())}")
    if name not in model.arguments:
        raise unknown_argument(model.__name__, name, tuple(model.arguments))


def _linked(model: type[PerformanceModel], name: str, text: str, shelf: Catalog) -> Linked:
    members: dict[str, Any] = {}
    for part in text.split(";"):
        member, given, values = part.partition("=")
        member = _named(model, member)
        if not given:
            hint = f"as in {name}='tp_size=1,2; pp_size=8,4'"
            raise InputError(name, text, "linked arguments are NAME=VALUES with ; between", hint)
        found = _values(model, member, values.strip(), shelf)
        members[member] = found if isinstance(found, list | range) else [found]
    return linked(**members)


def _values(model: type[PerformanceModel], name: str, text: str, shelf: Catalog) -> Any:
    """One value, or several as a list or range."""
    _known(model, name, text)
    variable, slot = model.arguments[name], model.slots.get(name)
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise InputError(name, text, "a value is missing", "values are listed with a comma between, as in 1,2,4")
    if slot is not None:
        entries = [shelf.find(slot.entry.what, part) for part in parts]
        return entries if len(entries) > 1 else entries[0]
    read = [_range(variable, name, part) or typed_text(variable, part) for part in parts]
    if len(read) == 1:
        return read[0]
    if sum(len(part) for part in read if isinstance(part, list | range)) > MOST:
        raise InputError(name, text, f"at most {MOST:,} values are listed beside a range")
    return [value for part in read for value in (part if isinstance(part, list | range) else [part])]


def _range(variable: Variable | None, name: str, text: str) -> range | list[int | float] | None:
    """The numbers of a range, both ends included where the step meets the last; None for what is no range."""
    if variable is None or variable.domain.kind == "choice" or variable.domain.is_flag or ":" not in text:
        return None
    matched = re.fullmatch(r"([^:]+):([^:]+?)(?::\s*(x?)([^:]+))?", text)
    try:
        if matched is None:
            raise InvalidOperation
        first, last, step = (_bare(variable, each) for each in (matched[1], matched[2], matched[4] or "1"))
        if not all(number.is_finite() and abs(number) < LARGEST for number in (first, last, step)) or first > last:
            raise InvalidOperation
        return _multiplied(first, last, step) if matched[3] else _added(first, last, step)
    except ArithmeticError:
        raise InputError(name, text, RANGE, "as in 1:256, 8:256:8 or 1:256:x2") from None


def _bare(variable: Variable, text: str) -> Decimal:
    """A bare number, or a count such as 4k, of which the unit is the same."""
    digits = units.spelled_out(text.strip(), variable.unit).split()[:1] if units.factor(variable.unit) == 1 else [text]
    return Decimal(digits[0] if digits else text)


def _added(first: Decimal, last: Decimal, step: Decimal) -> range | list[int | float]:
    if step <= 0:
        raise InvalidOperation
    if all(number == int(number) for number in (first, last, step)):
        return range(int(first), int(last) + 1, int(step))
    count = int((last - first) / step) + 1
    if count > MOST:
        raise InvalidOperation
    return [_number(first + place * step) for place in range(count)]


def _multiplied(first: Decimal, last: Decimal, factor: Decimal) -> list[int | float]:
    if factor <= 1 or first <= 0:
        raise InvalidOperation
    found = [first]
    while found[-1] * factor <= last:
        found.append(found[-1] * factor)
        if len(found) > MOST:
            raise InvalidOperation
    return [_number(value) for value in found]


def _number(value: Decimal) -> int | float:
    return int(value) if value == int(value) else float(value)
