"""Change of one input that makes an infinite output finite."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.study.results.display import as_text, presented
from mlsysim.study.sensitivities.moves import Moves
from mlsysim.symbolic import Variable, variable_of

#: How often a number is doubled and halved.
TIMES = 20


@dataclass(frozen=True)
class Finite:
    """A value of an input at which an output is finite that is infinite here.

    Attributes
    ----------
    name : str
        The input.
    before, at : str
        Its value here, and the nearest one that was tried and makes the output finite.
    value : number or str
        The same in the unit of the input, or a label.
    output : object
        The output there.
    """

    name: str
    before: str
    at: str
    value: Any
    output: Any

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"at": self.value, "output": float(getattr(self.output, "magnitude", self.output))}


def finite_at(moves: Moves) -> tuple[Finite, ...]:
    """The nearest values of each input that make the output finite, the other inputs held, among those that are tried.

    Tried are the next values of whole numbers, every number doubled and halved again and again, and other labels.
    """

    def numbers(by: Variable) -> np.ndarray:
        """Other values of a number, in either direction the nearest first."""
        at, powers = float(moves.binding.values[by.name]), np.arange(1.0, TIMES + 1)
        values = at * 2.0 ** np.concatenate([-powers, powers])
        if by.domain.kind == "integer":
            one = units.factor(by.unit)
            values = np.concatenate([moves.neighbours(by), np.round(values / one) * one])
        values = np.unique(values[values != at])
        return values[np.argsort(np.abs(values - at), kind="stable")]

    found: dict[tuple[str, Any], Finite] = {}
    for name, beside in moves.beside(numbers).items():
        by, here = variable_of(name), float(moves.binding.values[name])
        for value, output in beside:
            if math.isfinite(output):
                there: tuple[str, Any] = (value, value)
                if not isinstance(value, str):
                    there = as_text(by, value), float(units.from_canonical(value, by.unit))
                place = (name, value if isinstance(value, str) else value > here)
                found.setdefault(place, Finite(name, as_text(by, here), *there, presented(moves.output, output)))
    return tuple(found.values())
