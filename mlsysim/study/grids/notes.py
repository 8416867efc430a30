"""Notes to read beside the numbers of a grid, as far as its inputs show them, with the number of points concerned."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.backends import OutputSpec
from mlsysim.errors import MlsysimError
from mlsysim.inputs.axes import Linked
from mlsysim.inputs.binding import Binding, bind_grid
from mlsysim.study.grids.grid import Grid
from mlsysim.study.results.infeasible import compared_in, shortfall_at
from mlsysim.study.results.notes import caveats, element, input_notes, over, without_arguments
from mlsysim.study.results.result import Result
from mlsysim.study.varied import closure
from mlsysim.symbolic import variable_of

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
    lost = without_arguments(binding.model, binding.left_out)
    found = [*input_notes(binding), lost, *caveats(binding, binding.values)]
    if better is not None and better.variant not in variants:
        found.append(f"{better.variant} is the variant that counts, and may say otherwise of {better.decides}")
    return tuple(note for note in found if note)


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
        name: element(value, at) if isinstance(value, np.ndarray) else value for name, value in binding.values.items()
    }
    entries = {n: element(over(binding, n), at) if isinstance(e, list) else e for n, e in binding.entries.items()}
    outputs = {name: units.to_canonical(array[at], variable_of(name).unit) for name, array in found.items()}
    return Result(binding.model, replace(binding, values=values, entries=entries, axes={}), outputs)
