"""Notes printed with a grid, as far as its inputs show them, with the number of points concerned."""

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
from mlsysim.study.results.notes import caveats, element, entries_over_axes, input_notes, without_arguments
from mlsysim.study.results.result import Result
from mlsysim.study.varied import closure
from mlsysim.symbolic import variable_of

#: Most points at which feasibility is evaluated for a note.
SMALL = 1 << 12
#: Most additional formulas evaluated for that.
MORE = 8
FEASIBLE = "feasible"


def grid_notes(binding: Binding, variants: Collection[str]) -> tuple[str, ...]:
    """Collect notes on the inputs: too long, unused, a better variant, caveats; one line each.

    Parameters
    ----------
    binding : Binding
        Inputs of one variant, of which some are axes.
    variants : collection of str
        Variants on the grid.
    """
    better = binding.model.better
    unused = without_arguments(binding.model, binding.left_out)
    notes = [*input_notes(binding), unused, *caveats(binding, binding.values)]
    if better is not None and better.variant not in variants:
        notes.append(f"{better.variant} is the variant that counts, and may say otherwise of {better.decides}")
    return tuple(note for note in notes if note)


def infeasible_note(
    binding: Binding, typed: Mapping[str, Any], computed: Mapping[str, np.ndarray], accepted: np.ndarray | bool
) -> str:
    """Count the infeasible points, and say why the first is; empty if there is none, or it is unknown.

    Parameters
    ----------
    binding : Binding
        Inputs of one variant, of which some are axes.
    typed : mapping
        Arguments as typed.
    computed : mapping
        Arrays computed at every point.
    accepted : array of bool, or bool
        Points that are not refused.
    """
    arrays = dict(computed)
    is_infeasible = np.logical_and(accepted, _mask_infeasible(binding, typed, arrays))
    if not (count := int(np.count_nonzero(is_infeasible))):
        return ""
    why = shortfall_at(_point(binding, arrays, np.unravel_index(int(np.argmax(is_infeasible)), is_infeasible.shape)))
    summary = f"{count:,} of {is_infeasible.size:,} points {'is' if count == 1 else 'are'} not feasible"
    return f"{summary}; the first: {why}" if why else summary


def _mask_infeasible(binding: Binding, typed: Mapping[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """Mask the points that are infeasible, or where no request fits; add the arrays computed for that."""
    model = binding.model
    if FEASIBLE in arrays:
        return ~arrays[FEASIBLE]
    if math.prod(binding.sizes) > SMALL:
        return False
    if FEASIBLE in binding.system:
        needed = closure(binding.system, tuple(name for name in arrays if name in binding.system))
        if sum(formula.name not in needed for formula in closure(binding.system, (FEASIBLE,))) > MORE:
            return False
        stated = binding.system[FEASIBLE].expression
        compared = [name for name in compared_in(stated) if name in binding.system and name not in arrays]
        arrays.update(_computed(binding, OutputSpec(FEASIBLE, kind="truth"), *map(_spec, compared)))
        return FEASIBLE in arrays and ~arrays[FEASIBLE]
    full: Any = False
    for room in model.room:
        holder = type(model)(room.variant) if room.variant and room.held not in binding.system else model
        try:
            taken = {
                argument: value
                for argument, value in typed.items()
                if argument in holder.arguments or isinstance(value, Linked)
            }
            other = binding if holder is model else bind_grid(holder, taken)
        except MlsysimError:
            continue
        requests = _computed(other, _spec(room.held)).get(room.held) if room.held in other.system else None
        if requests is not None:
            sizes = [size if name in other.axes else 1 for name, size in zip(binding.axes, binding.sizes, strict=True)]
            arrays[room.held] = np.broadcast_to(np.reshape(requests, sizes), binding.sizes)
            full = full | (arrays[room.held] < 1)
    return full


def _spec(name: str) -> OutputSpec:
    """Return the representation of a number on a grid: in its unit."""
    return OutputSpec(name, units.factor(variable_of(name).unit))


def _computed(binding: Binding, *outputs: OutputSpec) -> dict[str, np.ndarray]:
    """Evaluate outputs at every point; return nothing if a point takes long."""
    grid = Grid(binding.system, binding.numbers, binding.sizes, outputs)
    whole = tuple(slice(0, size) for size in binding.sizes)
    return {} if grid.block_points is not None else grid.arrays(whole)


def _point(binding: Binding, arrays: Mapping[str, np.ndarray], at: tuple[Any, ...]) -> Result:
    """Build the result at a point of a grid, with its inputs and the computed outputs."""
    values = {
        name: element(value, at) if isinstance(value, np.ndarray) else value for name, value in binding.values.items()
    }
    entries = {
        argument: element(entries_over_axes(binding, argument), at)
        if isinstance(entries_on_axis, list)
        else entries_on_axis
        for argument, entries_on_axis in binding.entries.items()
    }
    outputs = {name: units.to_canonical(array[at], variable_of(name).unit) for name, array in arrays.items()}
    return Result(binding.model, replace(binding, values=values, entries=entries, axes={}), outputs)
