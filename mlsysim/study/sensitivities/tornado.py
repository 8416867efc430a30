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
from mlsysim.symbolic import Variable, variable_of


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

    def numbers(by: Variable) -> np.ndarray:
        if by.domain.kind == "integer":
            return moves.neighbours(by)
        ends, one = float(moves.binding.values[by.name]) * np.array([1 - change, 1 + change]), units.factor(by.unit)
        return np.clip(ends, by.domain.lower * one, by.domain.upper * one)

    bars = []
    for name, beside in moves.beside(numbers).items():
        if any(moves.relative(output) > UNCHANGED for _, output in beside):
            by = variable_of(name)
            texts = tuple(value if isinstance(value, str) else as_text(by, value) for value, _ in beside)
            outputs = tuple(presented(moves.output, output) for _, output in beside)
            bars.append(Bar(name, as_text(by, moves.binding.values[name]), texts, outputs))
    here = float(units.from_canonical(moves.value, moves.output.unit))
    return tuple(sorted(bars, key=lambda bar: -float(rounded(np.array(_width(bar.amounts, here))))))


def _width(amounts: tuple[float, ...], here: float) -> float:
    ends = np.array([*amounts, here])
    return float(np.max(ends) - np.min(ends)) if np.isfinite(ends).all() else np.inf
