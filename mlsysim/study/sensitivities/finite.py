"""Change of one input that makes an infinite output finite."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.study.results.display import as_text, presented
from mlsysim.study.sensitivities.moves import Moves
from mlsysim.symbolic import Variable

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
    inputs = [by for by in moves.system.inputs if by.name in moves.binding.values]
    tried = [(by, value, moved) for by in inputs for value, moved in _tried(moves, by)]
    if not tried:
        return ()
    found: dict[tuple[str, Any], Finite] = {}
    outputs = moves.outputs([moved for *_, moved in tried]).tolist()
    for (by, value, _), output in zip(tried, outputs, strict=True):
        if not math.isfinite(output):
            continue
        here = float(moves.binding.values[by.name])
        label = isinstance(value, str)
        before, text = as_text(by, here), value if label else as_text(by, value)
        number = value if label else float(units.from_canonical(value, by.unit))
        place = (by.name, value if label else value > here)
        found.setdefault(place, Finite(by.name, before, text, number, presented(moves.output, output)))
    return tuple(found.values())


def _tried(moves: Moves, by: Variable) -> list[tuple[Any, dict[str, float]]]:
    """Other values of an input, in either direction the nearest first, each with what it changes."""
    if by.domain.kind == "choice":
        return [(label, moved) for label, moved in moves.relabelled(by).items() if moved is not None]
    at, powers = float(moves.binding.values[by.name]), np.arange(1.0, TIMES + 1)
    values = at * 2.0 ** np.concatenate([-powers, powers])
    if by.domain.kind == "integer":
        one = units.factor(by.unit)
        beside = [value for value in moves.neighbours(by) if value is not None]
        values = np.concatenate([beside, np.round(values / one) * one])
    values = np.unique(values[values != at])
    values = values[moves.allowed(by.name, values)] if values.size else values
    return [(float(value), {by.name: float(value)}) for value in sorted(values, key=lambda each: abs(each - at))]
