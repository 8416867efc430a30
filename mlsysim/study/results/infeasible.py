"""Why a point is infeasible: the condition that it does not meet, and the nearest layout that meets it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import sympy

from mlsysim import units
from mlsysim.backends import compiled_expression
from mlsysim.errors import MlsysimError
from mlsysim.formats import BITS, GGUF, PRESETS
from mlsysim.inputs.binding import GIVEN
from mlsysim.inputs.declaration import Room
from mlsysim.study.results.display import as_text, bare
from mlsysim.symbolic import Label, UnitSymbol, Variable, variable_of

#: Most ranks that a copy of the weights is tried on.
MOST_RANKS = 256
#: What a memory holds: bytes, or the requests that it has room for.
HELD = ({"[information]": 1}, {"[request]": 1})
#: Layouts that are named.
SHOWN = 2
#: Numbers of ranks, and tensor-parallel ranks from which on pipeline stages are tried instead.
LAYOUT, NEAR = ("tp_size", "pp_size", "dp_size"), 8
#: What saves memory on the ranks there are, the most last.
SAVING = {"zero_stage": (1, 2, 3), "activation_checkpointing": ("selective", "full")}
_ORDERS = (sympy.Le, sympy.Lt, sympy.Ge, sympy.Gt)


def shortfall(result: Any) -> str:
    """The first condition of ``feasible`` that does not hold, in numbers, and the nearest layout with room.

    Parameters
    ----------
    result : Result
        Of ``solve``.

    Returns
    -------
    str
        Empty where the point is feasible, or no condition that compares two quantities is unmet.
    """
    unmet = _unmet(result)
    if not unmet:
        return ""
    said = _said(result, unmet[0])
    if _rank(unmet[0]):
        return said
    found: list[dict[str, Any]] = []
    for layout in (_first(result, unmet[0], family) for family in _layouts(result)):
        if layout and not any(each.items() <= layout.items() for each in found):
            found.append(layout)
        if len(found) == SHOWN:
            break
    return f"{said}; it fits with {', or '.join(map(_written, found))}" if found else said


def shortfall_at(result: Any) -> str:
    """State what a point has no room for or which condition it does not meet, from the values it has.

    Nothing is solved again for it, so that no layout is named.

    Parameters
    ----------
    result : Result
        Of a point of a grid, with the outputs that were computed there.
    """
    full = next((room for room in result.model.room if _is_full(result, room)), None)
    if full is not None:
        return _crowded(result, full)
    unmet = _unmet(result)
    return _said(result, unmet[0]) if unmet else ""


def compared_in(condition: Any) -> list[str]:
    """Names of the quantities that a condition compares."""
    return [variable.name for variable in _compared(condition)]


def obstacle(result: Any) -> str:
    """Name what has no room and what would give it, or the targets that not even a request alone meets; else empty.

    Parameters
    ----------
    result : Result
        Of ``solve``.
    """
    said = _roomless(result)
    if not said:
        return _beyond_reach(result)
    full = (each for each in _unmet(result) if not _rank(each))
    narrow = next((_first(result, each, _narrower(result)) for each in full), {})
    return f"{said}, or {_written(narrow)}" if narrow else said


def _beyond_reach(result: Any) -> str:
    """The targets that not even a request alone meets, and what it takes."""
    alone, targets = result.model.alone, {}
    if alone is not None and "feasible" in result and not result.canonical("feasible"):
        targets = {name: by for name, by in alone.targets.items() if name in result and result.canonical(name) > 0}
    lone = asked_again(result, result.model.variant, **alone.load) if alone and targets else None
    if alone is None or lone is None or lone.canonical("feasible"):
        return ""
    said = []
    for name, quantiles in targets.items():
        asked = result.canonical(alone.share)
        output = next(output for share, output in quantiles.items() if share >= asked and output in lone)
        if lone.canonical(output) > result.canonical(name):
            takes, target = lone.canonical(output), result.canonical(name)
            texts = as_text(variable_of(name), target), as_text(variable_of(output), takes)
            said.append(f"{name}, {texts[0]}, cannot be met at any load: a request alone takes {texts[1]} ({output})")
    return "; ".join(said)


def _narrower(result: Any) -> Iterator[dict[str, Any]]:
    """Presets of number formats whose weights take fewer bits, widest first; those of files of llama.cpp among them."""
    if "precision" not in result.model.arguments or "precision" not in result:
        return
    bits, now = {name: BITS[preset.served] for name, preset in PRESETS.items()}, str(result["precision"])
    less = [name for name in bits if bits[name] < bits[now] and (name in GGUF) == (now in GGUF)]
    yield from ({"precision": name} for name in sorted(less, key=lambda name: -bits[name]))


def _written(layout: Mapping[str, Any]) -> str:
    """Arguments as a call has them."""
    return ", ".join(f"{name}={value}" for name, value in layout.items())


def _unmet(result: Any) -> list[Any]:
    """Comparisons of two quantities that ``feasible`` asks for and that do not hold; those on a memory first."""
    if "feasible" not in result or "feasible" not in result.model.system or result.canonical("feasible"):
        return []
    stated = result.model.system["feasible"].expression
    parts = stated.args if isinstance(stated, sympy.And) else (stated,)
    orders = [each for each in parts if isinstance(each, _ORDERS)]
    known = [each for each in orders if all(name in result for name in compared_in(each))]
    return sorted((each for each in known if not _value(result, each)), key=_rank)


def _rank(condition: Any) -> int:
    """Conditions on a memory come first, then those on times; shares and counts follow from them."""
    dimensions = [units.dimension(variable.unit) for variable in _compared(condition)]
    return 0 if any(each in HELD for each in dimensions) else 1 if any(dimensions) else 2


@lru_cache(maxsize=256)
def _compared(expression: Any) -> tuple[Variable, ...]:
    found = (each for each in expression.free_symbols if not isinstance(each, (UnitSymbol, Label)))
    return tuple(variable_of(symbol.name) for symbol in sorted(found, key=lambda each: each.name))


def _value(result: Any, expression: Any) -> float:
    known = {variable.name: result.canonical(variable.name) for variable in _compared(expression)}
    return float(compiled_expression(expression)(known)["value"])


def _said(result: Any, condition: Any) -> str:
    """Both sides in numbers; a side that is no variable stands behind."""
    one, other = condition.args
    below = isinstance(condition, sympy.Ge | sympy.Gt)
    if not _compared(one):
        one, other, below = other, one, not below
    variable = max(_compared(condition), key=lambda each: len(each.dimension))
    numbers = [_value(result, side) for side in (one, other)]
    value, limit = (as_text(variable, number) for number in numbers)
    limit = f"{other.name}, {limit}" if isinstance(other, sympy.Symbol) and _compared(other) else limit
    if math.isinf(numbers[0]):
        return f"{one}: no number up to {limit}, is enough"
    name = one.name if isinstance(one, sympy.Symbol) else one  # sympy prints a symbol as slowly as an expression
    if numbers[0] == numbers[1]:
        return f"{name}, {value}, must be {'above' if below else 'below'} {limit}"
    return f"{name}, {value}, {'is below' if below else 'exceeds'} {limit}"


def _layouts(result: Any) -> Iterator[Iterator[dict[str, Any]]]:
    """Families of layouts, each from the nearest on: on as many accelerators, then on more."""
    takes = result.model.arguments
    at = {name: result[name] for name in (*LAYOUT, *SAVING) if name in takes and name in result}
    saving = {name: values for name, values in SAVING.items() if name in at}
    if at.get("dp_size") == 1:
        saving.pop("zero_stage", None)
    for name, values in saving.items():
        yield ({name: value} for value in values)
    yield _narrower(result)
    more = [2**n for n in range(1, MOST_RANKS.bit_length())]
    if {"tp_size", "pp_size"} <= at.keys():
        shards = [
            {"tp_size": ranks // stages * at["tp_size"], "pp_size": stages * at["pp_size"]}
            for ranks in more
            for stages in (1, *more)
            if stages <= ranks <= NEAR * stages
        ]
        yield iter(shards)
        yield ({**{name: values[-1] for name, values in saving.items()}, **each} for each in shards)
    if {"dp_size", "zero_stage"} <= at.keys():
        yield ({"dp_size": ranks * at["dp_size"], "zero_stage": 3} for ranks in more)


def _first(result: Any, condition: Any, layouts: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """The first layout that meets a condition, as far as it changes anything; empty where none does."""
    for layout in layouts:
        found = asked_again(result, result.model.variant, **layout)
        if found is not None and _value(found, condition):
            return {name: value for name, value in layout.items() if value != result[name]}
    return {}


def _roomless(result: Any) -> str:
    """Name what has no room, and the smallest layout that has; empty where a request has room."""
    for room in result.model.room:
        holder = result if room.held in result or not room.variant else asked_again(result, room.variant)
        if holder is None or not _is_full(holder, room):
            continue
        (near, far), ranks, said = room.shards, _ranks(holder, room), _crowded(holder, room)
        found = _roomy(holder, room, ranks[0], ranks[1])
        if found is None:
            return f"{said}, nor any {near} and {far} of up to {MOST_RANKS} ranks that this model can be cut over"
        if found[1] == ranks[1]:
            return f"{said}: they fit with {near} >= {found[0]}"
        return f"{said}: they fit with {near}={found[0]}, {far}={found[1]}"
    return ""


def _crowded(result: Any, room: Room) -> str:
    """State that a model and a request do not fit the accelerators of a replica."""
    many = math.prod(_ranks(result, room))
    of_what = {
        name: getattr(entry, "key", "").rpartition(".")[2] or entry.name for name, entry in result.entries.items()
    }
    device = next((of_what[name] for name in ("hardware", "node", "fleet") if name in of_what), "")
    where = f"{'one' if many == 1 else many} {device or ('accelerator' if many == 1 else 'accelerators')}"
    return f"{of_what.get('model', 'the model')} and {room.what} do not fit {where}"


def _ranks(result: Any, room: Room) -> list[int]:
    """Numbers of ranks that share a copy of the weights, nearer ones first, and of such copies."""
    counted = [own or shard for own, shard in zip(room.ranks, room.shards, strict=True)]
    return [int(result.canonical(name)) if name in result else 1 for name in (*counted, room.copies)]


def _is_full(result: Any, room: Room) -> bool:
    """Tell whether an engine has room for not one request."""
    return room.held in result and result.canonical(room.held) < 1


def _roomy(result: Any, room: Room, near: int, far: int) -> tuple[int, int] | None:
    """The fewest ranks with room, by powers of two of those given: as many as possible near each other."""
    limit, ranks = result.canonical(room.near), 2 * near * far
    while ranks <= MOST_RANKS:
        layouts = [(ranks // stages, stages) for stages in (far * 2**n for n in range(9)) if ranks % stages == 0]
        for layout in sorted(layouts, key=lambda each: each[0] > limit):
            other = asked_again(result, result.model.variant, **dict(zip(room.shards, layout, strict=True)))
            if other is not None and not _is_full(other, room):
                return layout
        ranks *= 2
    return None


def asked_again(result: Any, variant: str, **changed: Any) -> Any:
    """The same question to another variant, or with other arguments; None where that has no answer."""
    if variant not in result.model.variants:
        return None
    model: Any = type(result.model)(variant)
    given = {
        name: bare(variable_of(name), result.canonical(name))
        for name in result.input_names
        if result.origin(name) == GIVEN and name in model.arguments
    }
    typed = [name for name in result.entries if name not in result.by_recipe]
    entries = {name: result.entries[name] for name in typed if name in model.arguments}
    try:
        return model.solve(**{**entries, **given, **changed})
    except MlsysimError:
        return None
