"""Notes to read beside the numbers of a grid, as far as its inputs show them, with the number of points concerned."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.backends import OutputSpec, compiled_expression
from mlsysim.errors import MlsysimError
from mlsysim.inputs.axes import Linked
from mlsysim.inputs.binding import GIVEN, Binding, bind_grid
from mlsysim.inputs.declaration import Caveat
from mlsysim.study.grids.grid import Grid
from mlsysim.study.results.display import as_text
from mlsysim.study.results.infeasible import compared_in, shortfall_at
from mlsysim.study.results.notes import lengths, longest, meant, of_others, too_long, without_arguments
from mlsysim.study.results.result import Result
from mlsysim.study.varied import closure
from mlsysim.symbolic import variable_of

#: Most combinations of the axes that a condition depends on at which it is looked at.
LARGEST = 1 << 16
#: Most models that are named.
NAMED = 3
#: Most points at which it is computed for a note whether they are feasible.
SMALL = 1 << 12
#: Most formulas that are computed only for that.
MORE = 8
FEASIBLE = "feasible"


def grid_notes(binding: Binding, variants: Collection[str]) -> tuple[str, ...]:
    """Collect the notes that the inputs give: too long, left out, a better variant, caveats; one line each.

    Parameters
    ----------
    binding : Binding
        The inputs of one variant, of which some are axes.
    variants : collection of str
        The variants that are asked on the grid.
    """
    better = binding.model.better
    found = [*_beyond_context(binding), *_memory(binding), *_elsewhere(binding)]
    found += [without_arguments(binding.model, binding.left_out), *_caveats(binding)]
    if better is not None and better.variant not in variants:
        found.append(f"{better.variant} is the variant that counts, and may say otherwise of {better.decides}")
    return tuple(note for note in found if note)


def _beyond_context(binding: Binding) -> Iterator[str]:
    """Count the points whose sequences are longer than the model is made for."""
    if "model" not in binding.entries:
        return
    entries = _over(binding, "model")
    most = np.asarray(np.frompyfunc(longest, 1, 1)(entries), float)
    for names, used, said in lengths(binding.values):
        tokens = sum(np.asarray(binding.values[name], float) for name in names)
        if _size(tokens, most, used) <= LARGEST:
            points = _points(binding, (tokens > most) & (np.asarray(used) > 0))
            if points:
                made = [f"{e.key or e.name} ({longest(e):,.0f})" for e in entries.flat if longest(e) < np.max(tokens)]
                limit = ", ".join(made[:NAMED]) + f" and {len(made) - NAMED} others" * (len(made) > NAMED)
                yield f"{points}: {too_long(names, 'longer than the positions of', limit, said)}"


def _over(binding: Binding, argument: str) -> np.ndarray:
    """The entries of an argument over the axes."""
    entries = binding.entries[argument]
    along = [argument == name or argument in (axis.members or {}) for name, axis in binding.axes.items()]
    found = np.empty(len(entries) if isinstance(entries, list) else 1, object)
    found[:] = entries
    return found.reshape([-1 if own else 1 for own in along] if isinstance(entries, list) else ())


def _memory(binding: Binding) -> Iterator[str]:
    """Name the reading of a memory that was taken, as it was typed or an entry has it."""
    if "memory_capacity" not in binding.values:
        return
    capacity, origin = np.asarray(binding.values["memory_capacity"], float), binding.origins["memory_capacity"]
    givers = {name: slot for name, slot in binding.model.givers["memory_capacity"] if name in binding.entries}
    if not capacity.ndim or origin == GIVEN:
        if capacity.size <= LARGEST:
            yield from _counted(binding, _said(lambda each: meant(origin, each), capacity))
    elif givers:
        name, slot = next(iter(givers.items()))
        found = _said(lambda each: meant(slot.value(each, "memory_capacity", ""), 0.0), _over(binding, name))
        yield from _counted(binding, found)


def _elsewhere(binding: Binding) -> Iterator[str]:
    """That the constants of a stack are those of other devices."""
    found = {name: _over(binding, name) for name in binding.entries} if "stack" in binding.entries else {}
    device = next((each for each in found.values() if each.flat[0].device is not None), None)
    if device is not None:
        yield from _counted(binding, _said(lambda stack, entry: of_others(stack, entry.device), found["stack"], device))


def _said(text: Callable[..., str], *over: np.ndarray) -> np.ndarray:
    """A text at every place of arrays."""
    return np.asarray(np.frompyfunc(text, len(over), 1)(*over), object)


def _counted(binding: Binding, texts: np.ndarray) -> Iterator[str]:
    """Each of several texts with how many points it is of."""
    for text in dict.fromkeys(texts.flat):
        if text:
            yield f"{_points(binding, texts == text)}: {text}"


def unfit(binding: Binding, typed: Mapping[str, Any], found: Mapping[str, np.ndarray], good: np.ndarray | bool) -> str:
    """Count the points that are not feasible, and say why the first is not; empty where none is, or nobody knows.

    Parameters
    ----------
    binding : Binding
        The inputs of one variant, of which some are axes.
    typed : mapping
        The arguments as they were given.
    found : mapping
        What was computed at every point.
    good : array of bool, or bool
        Points that are not refused.
    """
    arrays = dict(found)
    bad = np.logical_and(good, _unfit(binding, typed, arrays))
    if not (count := int(np.count_nonzero(bad))):
        return ""
    why = shortfall_at(_point(binding, arrays, np.unravel_index(int(np.argmax(bad)), bad.shape)))
    said = f"{count:,} of {bad.size:,} points {'is' if count == 1 else 'are'} not feasible"
    return f"{said}; the first: {why}" if why else said


def _unfit(binding: Binding, typed: Mapping[str, Any], found: dict[str, np.ndarray]) -> Any:
    """Mask the points that are not feasible, or without room for a request; add what was computed for that."""
    model = binding.model
    if FEASIBLE in found:
        return ~found[FEASIBLE]
    if math.prod(binding.sizes) > SMALL:
        return False
    if FEASIBLE in binding.system:
        asked = closure(binding.system, tuple(name for name in found if name in binding.system))
        if sum(formula.name not in asked for formula in closure(binding.system, (FEASIBLE,))) > MORE:
            return False
        stated = binding.system[FEASIBLE].expression
        compared = [name for name in compared_in(stated) if name in binding.system and name not in found]
        found.update(_computed(binding, OutputSpec(FEASIBLE, kind="truth"), *map(_spec, compared)))
        return FEASIBLE in found and ~found[FEASIBLE]
    full: Any = False
    for room in model.room:
        holder = type(model)(room.variant) if room.variant and room.held not in binding.system else model
        try:
            taken = {n: v for n, v in typed.items() if n in holder.arguments or isinstance(v, Linked)}
            other = binding if holder is model else bind_grid(holder, taken)
        except MlsysimError:
            continue
        held = _computed(other, _spec(room.held)).get(room.held) if room.held in other.system else None
        if held is not None:
            along = [size if name in other.axes else 1 for name, size in zip(binding.axes, binding.sizes, strict=True)]
            found[room.held] = np.broadcast_to(np.reshape(held, along), binding.sizes)
            full = full | (found[room.held] < 1)
    return full


def _spec(name: str) -> OutputSpec:
    """The form in which a grid has a number: in its unit."""
    return OutputSpec(name, units.factor(variable_of(name).unit))


def _computed(binding: Binding, *outputs: OutputSpec) -> dict[str, np.ndarray]:
    """Outputs at every point; none where a point takes long."""
    grid = Grid(binding.system, binding.numbers, binding.sizes, outputs)
    whole = tuple(slice(0, size) for size in binding.sizes)
    return {} if grid.block_points is not None else grid.arrays(whole)


def _point(binding: Binding, found: Mapping[str, np.ndarray], at: tuple[Any, ...]) -> Result:
    """A point of a grid as a result that has the inputs and what was computed."""
    values = {
        name: _at(value, at) if isinstance(value, np.ndarray) else value for name, value in binding.values.items()
    }
    entries = {n: _at(_over(binding, n), at) if isinstance(e, list) else e for n, e in binding.entries.items()}
    outputs = {name: units.to_canonical(array[at], variable_of(name).unit) for name, array in found.items()}
    return Result(binding.model, replace(binding, values=values, entries=entries, axes={}), outputs)


def _caveats(binding: Binding) -> Iterator[str]:
    """Caveats of the model that the inputs meet, with the values of the first such point."""
    for caveat in binding.model.caveats:
        names = _names(caveat)
        if not all(name in binding.values for name in names):
            continue
        if caveat.variants and binding.model.variant not in caveat.variants:
            continue
        values = {name: np.asarray(binding.values[name], float) for name in names}
        if _size(*values.values()) > LARGEST:
            continue
        met = np.asarray(compiled_expression(caveat.where)(values)["value"], bool)  # type: ignore[arg-type]
        if points := _points(binding, met):
            at = np.unravel_index(int(np.argmax(met)), met.shape)
            told = {name: as_text(variable_of(name), _at(values[name], at)) for name in caveat.told}
            yield f"{points}: {caveat.said.format(**told)}"


@lru_cache(maxsize=256)
def _names(caveat: Caveat) -> frozenset[str]:
    """Inputs and outputs that a caveat is about."""
    return frozenset({symbol.name for symbol in caveat.where.free_symbols} | caveat.told)


def _size(*values: Any) -> int:
    return math.prod(np.broadcast_shapes(*map(np.shape, values)))


def _points(binding: Binding, met: np.ndarray) -> str:
    """At how many points of the grid a condition holds; empty where at none."""
    total = math.prod(binding.sizes)
    count = int(np.count_nonzero(met)) * (total // max(met.size, 1))
    return f"{count:,} of {total:,} points" if count else ""


def _at(value: np.ndarray, at: tuple[Any, ...]) -> Any:
    """An element of an array that was broadcast to more dimensions, or the number where it is one."""
    index = tuple(place if size > 1 else 0 for place, size in zip(at[len(at) - value.ndim :], value.shape, strict=True))
    return value[index]
