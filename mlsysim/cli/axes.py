"""Parse arguments of the form ``NAME=VALUES`` into arguments of a model."""

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

#: Most values of one argument that are listed, except for a single range of integers; and largest bound of a range.
MOST = 1_000_000
LARGEST = Decimal(2**63)
RANGE = "a range is FIRST:LAST, FIRST:LAST:STEP or FIRST:LAST:xFACTOR, of bare numbers that rise"


def arguments(model: type[PerformanceModel], words: Sequence[str], shelf: Catalog) -> dict[str, Any]:
    """Parse the words of a command line.

    Parameters
    ----------
    model : type
        Model whose arguments are given.
    words : sequence of str
        Arguments as ``NAME=VALUES``.
    shelf : Catalog
        Catalog that is searched first for entries.

    Returns
    -------
    dict
        Value, list, linked axis or derived input, by argument.

    Raises
    ------
    InputError
        If a word cannot be read.
    UnknownNameError
        If an argument or entry does not exist.
    """
    parsed: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name, text = _named(model, name), text.strip()
        if equals and name == "variant":
            raise MlsysimError(f"variant={text}: a set of formulas is an option: use --variant {text}")
        if not equals or not name:
            raise InputError("argument", word, "must be NAME=VALUES", "as in batch_size=8 or tp_size=1,2,4")
        if name in parsed:
            raise InputError(name, text, "is given twice", "list its values in one word, as in tp_size=1,2,4")
        if text.startswith("="):
            _known(model, name, text)
            parsed[name] = derived(text[1:].strip())
        elif name not in model.arguments and "=" in text:
            parsed[name] = _linked(model, name, text, shelf)
        else:
            parsed[name] = _values(model, name, text, shelf)
    _once(parsed)
    return parsed


def _named(model: type[PerformanceModel], typed: str) -> str:
    """Return the argument's name; the typed name may be another spelling."""
    return own_name(typed.strip().replace("-", "_"), model.arguments)


def _once(arguments: dict[str, Any]) -> None:
    """Refuse an argument that is both given and linked, or linked along two axes."""
    linked_along: dict[str, str] = {}
    for axis, value in arguments.items():
        for member, values in value.axes.items() if isinstance(value, Linked) else ():
            if member in arguments or member in linked_along:
                along = linked_along.get(member, axis)
                raise InputError(member, values, "is given twice", f"it is linked along {along}")
            linked_along[member] = axis


def swept(arguments: dict[str, Any], most_points: int = 1) -> list[str]:
    """List the axes with more than ``most_points`` points."""
    axes = {name: value for name, value in arguments.items() if isinstance(value, Linked | list | range)}
    return [name for name, axis in axes.items() if len(axis) > most_points]


def _known(model: type[PerformanceModel], name: str, text: str) -> None:
    if name not in model.arguments and (members := members_among(name, model.arguments)):
        raise InputError(name, text, several(name), f"name one of {', '.join(members.values())}")
    if name not in model.arguments:
        raise unknown_argument(model.__name__, name, tuple(model.arguments))


def _linked(model: type[PerformanceModel], name: str, text: str, shelf: Catalog) -> Linked:
    members: dict[str, Any] = {}
    for part in text.split(";"):
        member, equals, values = part.partition("=")
        member = _named(model, member)
        if not equals:
            hint = f"as in {name}='tp_size=1,2; pp_size=8,4'"
            raise InputError(name, text, "linked arguments are NAME=VALUES with ; between", hint)
        read = _values(model, member, values.strip(), shelf)
        members[member] = read if isinstance(read, list | range) else [read]
    return linked(**members)


def _values(model: type[PerformanceModel], name: str, text: str, shelf: Catalog) -> Any:
    """Parse one value, or several as a list or range."""
    _known(model, name, text)
    variable, slot = model.arguments[name], model.slots.get(name)
    texts = [part.strip() for part in text.split(",")]
    if not all(texts):
        raise InputError(name, text, "a value is missing", "values are listed with a comma between, as in 1,2,4")
    if slot is not None:
        entries = [shelf.find(slot.entry.what, part) for part in texts]
        return entries if len(entries) > 1 else entries[0]
    read = [_range(variable, name, part) or typed_text(variable, part) for part in texts]
    if len(read) == 1:
        return read[0]
    if sum(len(values) for values in read if isinstance(values, list | range)) > MOST:
        raise InputError(name, text, f"at most {MOST:,} values are listed beside a range")
    return [value for values in read for value in (values if isinstance(values, list | range) else [values])]


def _range(variable: Variable | None, name: str, text: str) -> range | list[int | float] | None:
    """Parse a range, both ends included if the step meets the last one; None if the text is no range."""
    if variable is None or variable.domain.kind == "choice" or variable.domain.is_flag or ":" not in text:
        return None
    matched = re.fullmatch(r"([^:]+):([^:]+?)(?::\s*(x?)([^:]+))?", text)
    try:
        if matched is None:
            raise InvalidOperation
        first, last, step = (_bare(variable, part) for part in (matched[1], matched[2], matched[4] or "1"))
        if not all(number.is_finite() and abs(number) < LARGEST for number in (first, last, step)) or first > last:
            raise InvalidOperation
        return _multiplied(first, last, step) if matched[3] else _added(first, last, step)
    except ArithmeticError:
        raise InputError(name, text, RANGE, "as in 1:256, 8:256:8 or 1:256:x2") from None


def _bare(variable: Variable, text: str) -> Decimal:
    """Parse a bare number, or a count such as 4k if the unit is one."""
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
    return [_number(first + step_index * step) for step_index in range(count)]


def _multiplied(first: Decimal, last: Decimal, factor: Decimal) -> list[int | float]:
    if factor <= 1 or first <= 0:
        raise InvalidOperation
    numbers = [first]
    while numbers[-1] * factor <= last:
        numbers.append(numbers[-1] * factor)
        if len(numbers) > MOST:
            raise InvalidOperation
    return [_number(value) for value in numbers]


def _number(value: Decimal) -> int | float:
    return int(value) if value == int(value) else float(value)
