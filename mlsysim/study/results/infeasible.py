"""Infeasible points: the condition that fails, and the nearest layout that meets it."""

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

#: Most ranks tried for one copy of the weights.
MOST_RANKS = 256
#: Dimensions of a memory limit: bytes, or the requests that fit.
HELD = ({"[information]": 1}, {"[request]": 1})
#: Most layouts named.
SHOWN = 2
#: Arguments of a layout, and the tensor-parallel ranks beyond which pipeline stages are tried instead.
LAYOUT, NEAR = ("tp_size", "pp_size", "dp_size"), 8
#: Settings that save memory without more ranks, the strongest last.
SAVING = {"zero_stage": (1, 2, 3), "activation_checkpointing": ("selective", "full")}
_ORDERS = (sympy.Le, sympy.Lt, sympy.Ge, sympy.Gt)


def shortfall(result: Any) -> str:
    """Describe in numbers the first condition of ``feasible`` that fails, and the nearest layout that fits.

    Parameters
    ----------
    result : Result
        Result of ``solve``.

    Returns
    -------
    str
        Empty if the point is feasible, or no condition that compares two quantities fails.
    """
    unmet = _unmet(result)
    if not unmet:
        return ""
    description = _describe(result, unmet[0])
    if _rank(unmet[0]):
        return description
    layouts: list[dict[str, Any]] = []
    for layout in (_first_that_meets(result, unmet[0], family) for family in _layouts(result)):
        if layout and not any(shorter.items() <= layout.items() for shorter in layouts):
            layouts.append(layout)
        if len(layouts) == SHOWN:
            break
    return f"{description}; it fits with {', or '.join(map(_keywords, layouts))}" if layouts else description


def shortfall_at(result: Any) -> str:
    """Describe what does not fit or which condition fails, from the values of the point alone.

    No layout is named, since nothing is solved again.

    Parameters
    ----------
    result : Result
        Result at a point of a grid, with the outputs computed there.
    """
    full = next((room for room in result.model.room if _is_full(result, room)), None)
    if full is not None:
        return _does_not_fit(result, full)
    unmet = _unmet(result)
    return _describe(result, unmet[0]) if unmet else ""


def compared_in(condition: Any) -> list[str]:
    """Return the names of the quantities that a condition compares."""
    return [variable.name for variable in _variables_of(condition)]


def obstacle(result: Any) -> str:
    """Describe what does not fit and what would make it fit, or the targets that no load meets; else empty.

    Parameters
    ----------
    result : Result
        Result of ``solve``.
    """
    description = _what_does_not_fit(result)
    if not description:
        return _unreachable_targets(result)
    capacities = (condition for condition in _unmet(result) if not _rank(condition))
    precision = next((_first_that_meets(result, condition, _narrower_formats(result)) for condition in capacities), {})
    return f"{description}, or {_keywords(precision)}" if precision else description


def _unreachable_targets(result: Any) -> str:
    """Describe the targets that even a lone request misses, and its latency."""
    alone, targets = result.model.alone, {}
    if alone is not None and "feasible" in result and not result.canonical("feasible"):
        targets = {name: by for name, by in alone.targets.items() if name in result and result.canonical(name) > 0}
    lone = solved_again(result, result.model.variant, **alone.load) if alone and targets else None
    if alone is None or lone is None or lone.canonical("feasible"):
        return ""
    descriptions = []
    for name, quantiles in targets.items():
        asked = result.canonical(alone.share)
        output = next(output for share, output in quantiles.items() if share >= asked and output in lone)
        if lone.canonical(output) > result.canonical(name):
            latency, target = lone.canonical(output), result.canonical(name)
            texts = as_text(variable_of(name), target), as_text(variable_of(output), latency)
            descriptions.append(
                f"{name}, {texts[0]}, cannot be met at any load: a request alone takes {texts[1]} ({output})"
            )
    return "; ".join(descriptions)


def _narrower_formats(result: Any) -> Iterator[dict[str, Any]]:
    """Yield narrower number formats, the widest first; for files of llama.cpp other formats of such files."""
    if "precision" not in result.model.arguments or "precision" not in result:
        return
    bits, now = {name: BITS[preset.served] for name, preset in PRESETS.items()}, str(result["precision"])
    less = [name for name in bits if bits[name] < bits[now] and (name in GGUF) == (now in GGUF)]
    yield from ({"precision": name} for name in sorted(less, key=lambda name: -bits[name]))


def _keywords(layout: Mapping[str, Any]) -> str:
    """Format arguments as keywords of a call."""
    return ", ".join(f"{name}={value}" for name, value in layout.items())


def _unmet(result: Any) -> list[Any]:
    """Return the comparisons that ``feasible`` requires and that fail; those on memory first."""
    if "feasible" not in result or "feasible" not in result.model.system or result.canonical("feasible"):
        return []
    stated = result.model.system["feasible"].expression
    conditions = stated.args if isinstance(stated, sympy.And) else (stated,)
    orders = [condition for condition in conditions if isinstance(condition, _ORDERS)]
    known = [order for order in orders if all(name in result for name in compared_in(order))]
    return sorted((order for order in known if not _value(result, order)), key=_rank)


def _rank(condition: Any) -> int:
    """Rank conditions: on memory first, then on times; shares and counts follow from these."""
    dimensions = [units.dimension(variable.unit) for variable in _variables_of(condition)]
    return 0 if any(dimension in HELD for dimension in dimensions) else 1 if any(dimensions) else 2


@lru_cache(maxsize=256)
def _variables_of(expression: Any) -> tuple[Variable, ...]:
    symbols = (symbol for symbol in expression.free_symbols if not isinstance(symbol, (UnitSymbol, Label)))
    return tuple(variable_of(symbol.name) for symbol in sorted(symbols, key=lambda free_symbol: free_symbol.name))


def _value(result: Any, expression: Any) -> float:
    known = {variable.name: result.canonical(variable.name) for variable in _variables_of(expression)}
    return float(compiled_expression(expression)(known)["value"])


def _describe(result: Any, condition: Any) -> str:
    """State both sides of a condition in numbers; a side without variables comes last."""
    left, right = condition.args
    below = isinstance(condition, sympy.Ge | sympy.Gt)
    if not _variables_of(left):
        left, right, below = right, left, not below
    variable = max(_variables_of(condition), key=lambda candidate: len(candidate.dimension))
    numbers = [_value(result, side) for side in (left, right)]
    value, limit = (as_text(variable, number) for number in numbers)
    limit = f"{right.name}, {limit}" if isinstance(right, sympy.Symbol) and _variables_of(right) else limit
    if math.isinf(numbers[0]):
        return f"{left}: no number up to {limit}, is enough"
    name = left.name if isinstance(left, sympy.Symbol) else left  # sympy prints a symbol as slowly as an expression
    if numbers[0] == numbers[1]:
        return f"{name}, {value}, must be {'above' if below else 'below'} {limit}"
    return f"{name}, {value}, {'is below' if below else 'exceeds'} {limit}"


def _layouts(result: Any) -> Iterator[Iterator[dict[str, Any]]]:
    """Yield families of layouts, each ordered from the nearest: first on the same accelerators, then on more."""
    takes = result.model.arguments
    at = {name: result[name] for name in (*LAYOUT, *SAVING) if name in takes and name in result}
    saving = {name: values for name, values in SAVING.items() if name in at}
    if at.get("dp_size") == 1:
        saving.pop("zero_stage", None)
    for name, values in saving.items():
        yield ({name: value} for value in values)
    yield _narrower_formats(result)
    more = [2**n for n in range(1, MOST_RANKS.bit_length())]
    if {"tp_size", "pp_size"} <= at.keys():
        shards = [
            {"tp_size": ranks // stages * at["tp_size"], "pp_size": stages * at["pp_size"]}
            for ranks in more
            for stages in (1, *more)
            if stages <= ranks <= NEAR * stages
        ]
        yield iter(shards)
        yield ({**{name: values[-1] for name, values in saving.items()}, **shard} for shard in shards)
    if {"dp_size", "zero_stage"} <= at.keys():
        yield ({"dp_size": ranks * at["dp_size"], "zero_stage": 3} for ranks in more)


def _first_that_meets(result: Any, condition: Any, layouts: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Return the first layout that meets a condition, as far as it changes anything; empty if none does."""
    for layout in layouts:
        solved = solved_again(result, result.model.variant, **layout)
        if solved is not None and _value(solved, condition):
            return {name: value for name, value in layout.items() if value != result[name]}
    return {}


def _what_does_not_fit(result: Any) -> str:
    """Describe what does not fit, and the smallest layout that does; empty if a request fits."""
    for room in result.model.room:
        holder = result if room.held in result or not room.variant else solved_again(result, room.variant)
        if holder is None or not _is_full(holder, room):
            continue
        (near, far), ranks, description = room.shards, _ranks(holder, room), _does_not_fit(holder, room)
        layout = _fewest_ranks(holder, room, ranks[0], ranks[1])
        if layout is None:
            return (
                f"{description}, nor any {near} and {far} of up to {MOST_RANKS} ranks that this model can be cut over"
            )
        if layout[1] == ranks[1]:
            return f"{description}: they fit with {near} >= {layout[0]}"
        return f"{description}: they fit with {near}={layout[0]}, {far}={layout[1]}"
    return ""


def _does_not_fit(result: Any, room: Room) -> str:
    """State that a model and a request do not fit the accelerators of a replica."""
    count = math.prod(_ranks(result, room))
    entry_names = {
        name: getattr(entry, "key", "").rpartition(".")[2] or entry.name for name, entry in result.entries.items()
    }
    device = next((entry_names[name] for name in ("hardware", "node", "fleet") if name in entry_names), "")
    where = f"{'one' if count == 1 else count} {device or ('accelerator' if count == 1 else 'accelerators')}"
    return f"{entry_names.get('model', 'the model')} and {room.what} do not fit {where}"


def _ranks(result: Any, room: Room) -> list[int]:
    """Count the ranks that share a copy of the weights, nearer ones first, and the copies."""
    counted = [own or shard for own, shard in zip(room.ranks, room.shards, strict=True)]
    return [int(result.canonical(name)) if name in result else 1 for name in (*counted, room.copies)]


def _is_full(result: Any, room: Room) -> bool:
    """Tell whether not even one request fits."""
    return room.held in result and result.canonical(room.held) < 1


def _fewest_ranks(result: Any, room: Room, near: int, far: int) -> tuple[int, int] | None:
    """Find the fewest ranks that fit, by powers of two of those given: as many as possible near each other."""
    limit, ranks = result.canonical(room.near), 2 * near * far
    while ranks <= MOST_RANKS:
        layouts = [(ranks // stages, stages) for stages in (far * 2**n for n in range(9)) if ranks % stages == 0]
        for layout in sorted(layouts, key=lambda candidate: candidate[0] > limit):
            other = solved_again(result, result.model.variant, **dict(zip(room.shards, layout, strict=True)))
            if other is not None and not _is_full(other, room):
                return layout
        ranks *= 2
    return None


def solved_again(result: Any, variant: str, **changed: Any) -> Any:
    """Solve the same question with another variant or other arguments; None if that has no answer."""
    if variant not in result.model.variants:
        return None
    model: Any = type(result.model)(variant)
    inputs = {
        name: bare(variable_of(name), result.canonical(name))
        for name in result.input_names
        if result.origin(name) == GIVEN and name in model.arguments
    }
    typed = [name for name in result.entries if name not in result.by_recipe]
    entries = {name: result.entries[name] for name in typed if name in model.arguments}
    try:
        return model.solve(**{**entries, **inputs, **changed})
    except MlsysimError:
        return None
