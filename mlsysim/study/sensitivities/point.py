"""Sensitivity at one point: a row per input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from mlsysim import units
from mlsysim.backends import derivatives
from mlsysim.backends.ties import rounded
from mlsysim.progress import looped
from mlsysim.study.results.display import as_text, presented
from mlsysim.study.sensitivities.jumps import jumping, next_jumps
from mlsysim.study.sensitivities.moves import TIMES, Moves, bars, finite_at
from mlsysim.study.sensitivities.row import Row, Step
from mlsysim.study.sensitivities.second import SecondOrder
from mlsysim.study.sensitivities.table import Sensitivity
from mlsysim.symbolic import Variable

#: Remarks on an output without slopes, or without elasticities.
INFINITE = (
    "It is infinite here: it has no slopes. One input at a time was tried: whole numbers at their next values, numbers "
    f"doubled and halved up to {TIMES} times, labels at every other."
)
UNDEFINED = "It has no value here (zero over zero): it has no slopes."
ZERO = "It is zero here: a change in percent of nothing is not defined, so there are no elasticities."
RELAXED = "Ceilings and floors are dropped (relax=True): the value and the slopes are those of the smooth formulas."


def at_point(moves: Moves, smooth: Sequence[str], *, second: bool, relax: bool) -> Sensitivity:
    """Compute gradients, steps and labels at a point.

    Parameters
    ----------
    moves : Moves
        The point.
    smooth : sequence of str
        Inputs with a derivative.
    second : bool
        Compute second derivatives.
    relax : bool
        True if the formulas have been relaxed.
    """
    output, values = moves.output, moves.binding.values
    partials = derivatives(moves.system, [output.name], smooth, values, 2 if second else 1)[output.name]
    real = [variable for variable in moves.system.inputs if variable.domain.kind == "real"]
    through = jumping(moves.system, output.name)
    jumps = next_jumps(moves, [variable for variable in real if through[variable.name]])
    changes = moves.beside(lambda by: moves.neighbours(by) if by.domain.kind == "integer" else np.empty(0))
    rows = []
    for by in looped(moves.system.inputs):
        row = Row(by.name, _kind(by, smooth), as_text(by, values[by.name]), through=through[by.name])
        if by.name in smooth:
            row = _with_slope(row, moves, by, float(np.ravel(partials.get((by.name,), 0.0))[0]))
        if by.domain.kind == "integer":
            row = _with_steps(row, moves, by, changes[by.name])
        elif by.domain.kind == "choice":
            row = _with_labels(row, moves, by, changes[by.name])
        else:
            nearest = jumps.get(by.name, [None, None])
            down, up = (jump and jump[0] for jump in nearest)
            row = replace(row, down=down, up=up, effect=max((jump[1] for jump in nearest if jump), default=0.0))
        rows.append(row)
    rows = ranked(rows)
    strongest = [row.name for row in rows if row.name in smooth and row.strength]
    rest = [name for name in smooth if name not in strongest]
    order = SecondOrder(output, [*strongest, *rest], partials, values) if second else None
    remark = " ".join(text for text in (RELAXED if relax else "", _remark(moves.value)) if text)
    text, amount = as_text(output, moves.value), float(units.from_canonical(moves.value, output.unit))
    finite = finite_at(moves) if math.isinf(moves.value) else ()
    return Sensitivity(output, text, amount, tuple(rows), order, remark, finite, partial(bars, moves))


def ranked(rows: Sequence[Row]) -> list[Row]:
    """Rank rows by elasticity, then by the effect of steps and labels, then those without effect.

    Differences within rounding keep the order of rows, so that it is the same on every processor.
    """
    ordered = sorted(rows, key=lambda row: (*-rounded(np.array([row.strength, row.effect])), not row.matters))
    return [replace(row, rank=rank if row.strength else None) for rank, row in enumerate(ordered, start=1)]


def _kind(by: Variable, smooth: Sequence[str]) -> str:
    whole = "relaxed" if by.name in smooth else "step"
    return {"integer": whole, "choice": "label"}.get(by.domain.kind, "continuous")


def _remark(value: float) -> str:
    if math.isnan(value):
        return UNDEFINED
    return INFINITE if math.isinf(value) else ZERO if value == 0 else ""


def _with_slope(row: Row, moves: Moves, by: Variable, slope: float) -> Row:
    """Add gradient and elasticity to a row, if the output is finite."""
    value = moves.value
    if not math.isfinite(value):
        return row
    scale, unit = units.per(moves.output.unit, by.unit)
    elasticity = slope * float(moves.binding.values[by.name]) / value if value else None
    return replace(row, gradient=units.Q_(slope * scale, unit), elasticity=elasticity)


def _with_steps(row: Row, moves: Moves, by: Variable, changes: Sequence[tuple[float, float]]) -> Row:
    """Add the next allowed values both ways to a row."""
    at = float(moves.binding.values[by.name])
    steps: dict[bool, Step] = {}
    arcs: dict[bool, float | None] = {}
    for value, after in changes:
        distance = presented(by, abs(value - at))
        steps[value > at] = Step(presented(by, value), distance, moves.change(moves.value, after))
        arcs[value > at] = _arc(at, value, moves.value, after)
    arc = arcs.get(False) if arcs.get(True) is None else arcs[True]
    effect = max((moves.relative(after) for _, after in changes), default=0.0)
    down, up = steps.get(False), steps.get(True)
    return replace(row, down=down, up=up, arc_elasticity=None if by.domain.is_flag else arc, effect=effect)


def _with_labels(row: Row, moves: Moves, by: Variable, changes: Sequence[tuple[str, float]]) -> Row:
    """Add the change of the output for every other label to a row, the largest first."""
    after = dict(changes)
    effects = {label: moves.relative(after.get(label, moves.value)) for label in moves.others(by)}
    ordered = sorted(effects, key=lambda label: -effects[label])
    labels = {label: moves.change(moves.value, after[label]) if label in after else None for label in ordered}
    return replace(row, labels=labels, effect=max(effects.values(), default=0.0))


def _arc(before: float, after: float, output_before: float, output_after: float) -> float | None:
    """Return the elasticity between two values: percent of output per percent of input."""
    numbers = (before, after, output_before, output_after)
    if not all(math.isfinite(number) and number > 0 for number in numbers):
        return None
    return math.log(output_after / output_before) / math.log(after / before)
