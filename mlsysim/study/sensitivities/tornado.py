"""Tornado: an output where one input at a time is lowered and raised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.backends.ties import rounded
from mlsysim.errors import InputError
from mlsysim.study.results.display import as_text, presented
from mlsysim.study.sensitivities.moves import Moves
from mlsysim.study.sensitivities.row import UNCHANGED
from mlsysim.symbolic import Variable


@dataclass(frozen=True)
class Bar:
    """The output with one input changed.

    Attributes
    ----------
    name : str
        The input.
    at : str
        Its value at the point.
    inputs : tuple of str
        Its other values.
    outputs : tuple
        The output there.
    """

    name: str
    at: str
    inputs: tuple[str, ...]
    outputs: tuple[Any, ...]

    @property
    def amounts(self) -> tuple[float, ...]:
        """The outputs as plain numbers, in the unit of the output."""
        return tuple(float(getattr(each, "magnitude", each)) for each in self.outputs)


def bars(moves: Moves, change: float) -> tuple[Bar, ...]:
    """Bars of all inputs that change the output, the widest first; see :class:`Bar`."""
    if isinstance(change, bool) or not isinstance(change, int | float) or not 0 < change < 1:
        raise InputError("change", change, "must be a share above 0 and below 1", "as in change=0.1 for 10%")
    inputs = [by for by in moves.system.inputs if by.name in moves.binding.values]
    places = [(by, text, moved) for by in inputs for text, moved in _moved(moves, by, change)]
    if not places:
        return ()
    found = moves.outputs([moved for _, _, moved in places])
    bars = []
    for by in inputs:
        mine = [(text, float(value)) for (each, text, _), value in zip(places, found, strict=True) if each is by]
        if any(moves.relative(value) > UNCHANGED for _, value in mine):
            texts, values = zip(*mine, strict=True)
            outputs = tuple(presented(moves.output, value) for value in values)
            bars.append(Bar(by.name, as_text(by, moves.binding.values[by.name]), texts, outputs))
    here = float(units.from_canonical(moves.value, moves.output.unit))
    return tuple(sorted(bars, key=lambda bar: -float(rounded(np.array(_width(bar.amounts, here))))))


def _width(amounts: tuple[float, ...], here: float) -> float:
    ends = np.array([*amounts, here])
    return float(np.max(ends) - np.min(ends)) if np.isfinite(ends).all() else np.inf


def _moved(moves: Moves, by: Variable, change: float) -> list[tuple[str, dict[str, float]]]:
    """The other values of an input as text, each with what it changes."""
    if by.domain.kind == "choice":
        return [(label, moved) for label, moved in moves.relabelled(by).items() if moved is not None]
    if by.domain.kind == "integer":
        values = np.array([value for value in moves.neighbours(by) if value is not None])
    else:
        one = units.factor(by.unit)
        ends = float(moves.binding.values[by.name]) * np.array([1 - change, 1 + change])
        values = np.clip(ends, by.domain.lower * one, by.domain.upper * one)
        values = values[moves.allowed(by.name, values)]
    return [(as_text(by, value), {by.name: float(value)}) for value in values]
