"""Values of one output where inputs are moved, all in one call: beside a point, for a tornado, and to be finite."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.backends import compiled
from mlsysim.backends.ties import rounded
from mlsysim.errors import InputError, MlsysimError
from mlsysim.inputs.binding import Binding, bind
from mlsysim.inputs.convert import inside
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.results.display import as_text, presented
from mlsysim.study.sensitivities.row import UNCHANGED
from mlsysim.study.varied import accepted
from mlsysim.symbolic import System, Variable, variable_of

#: How far from a whole number the next allowed one is looked for: first near by.
NEAR, FARTHEST = 32, 4096
#: How often a number is doubled and halved.
TIMES = 20


@dataclass(eq=False)
class Moves:
    """A point of a model, and the points beside it.

    Parameters
    ----------
    model : DeclaredModel
        Whose output responds.
    arguments : mapping
        As typed.
    binding : Binding
        The point.
    system : System
        The formulas of the output.
    output : Variable
        What responds.
    """

    model: DeclaredModel
    arguments: Mapping[str, Any]
    binding: Binding
    system: System
    output: Variable

    @cached_property
    def value(self) -> float:
        """The output at the point, in canonical units."""
        return float(self.outputs([{}])[0])

    def outputs(self, moved: Sequence[Mapping[str, float]]) -> np.ndarray:
        """The output with some canonical values changed, per mapping of them."""
        changed = {name for each in moved for name in each}
        at: dict[str, Any] = {name: float(value) for name, value in self.binding.values.items()}
        values: dict[str, Any] = dict(at)
        values |= {name: np.array([each.get(name, at[name]) for each in moved]) for name in changed}
        found = compiled(self.system, (self.output.name,), "vector")(values)[self.output.name]
        return np.broadcast_to(np.asarray(found, float), (len(moved),))

    def change(self, before: float, after: float) -> Any:
        """The change of the output as a user meets it; None from infinite to infinite."""
        if not np.isfinite(before) and not np.isfinite(after):
            return None
        amount = float(units.from_canonical(after - before, self.output.unit))
        return units.Q_(amount, units.unit(self.output.unit)) if self.output.dimension else amount

    def allowed(self, name: str, candidates: np.ndarray) -> np.ndarray:
        """Mask the canonical values of one input that the model accepts, the others held."""
        known = {**self.binding.numbers, name: candidates}
        return np.broadcast_to(inside(variable_of(name), candidates) & accepted(self.binding, known), candidates.shape)

    def neighbours(self, by: Variable) -> np.ndarray:
        """The next smaller and the next larger allowed value of a whole number, in canonical units."""
        at, one = float(self.binding.values[by.name]), units.factor(by.unit)
        found = []
        for way in (-1.0, 1.0):
            for steps in (np.arange(1, NEAR), np.arange(NEAR, FARTHEST)):
                candidates = at + way * one * steps
                places = np.flatnonzero(self.allowed(by.name, candidates))
                if places.size:
                    found.append(float(candidates[places[0]]))
                    break
        return np.array(found)

    def others(self, by: Variable) -> list[str]:
        """The labels that an input does not have here; none of a number."""
        return [label for code, label in enumerate(by.domain.labels) if code != int(self.binding.values[by.name])]

    def beside(self, numbers: Callable[[Variable], np.ndarray]) -> dict[str, list[tuple[Any, float]]]:
        """Other values of one input at a time with the output there: every other label, and some numbers.

        Parameters
        ----------
        numbers : callable
            Canonical values of an input, which the model accepts.

        Returns
        -------
        dict
            Labels, or canonical values, each with the output, by input.
        """
        places = [(by.name, *each) for by in self.system.inputs for each in self._changes(by, numbers)]
        outputs = self.outputs([moved for *_, moved in places]).tolist() if places else []
        found: dict[str, list[tuple[Any, float]]] = {by.name: [] for by in self.system.inputs}
        for (name, value, _), output in zip(places, outputs, strict=True):
            found[name].append((value, output))
        return found

    def _changes(
        self, by: Variable, numbers: Callable[[Variable], np.ndarray]
    ) -> Iterator[tuple[Any, dict[str, float]]]:
        """Other values of an input, each with what it changes: a label also chooses rates in the catalog."""
        if by.domain.kind != "choice":
            yield from ((value, {by.name: value}) for value in numbers(by).tolist())
        for label in self.others(by):
            try:
                other = bind(self.model, {**self.arguments, by.name: label})
            except MlsysimError:
                continue
            values = self.binding.values
            yield label, {n: float(v) for n, v in other.values.items() if n in values and v != values[n]}

    def relative(self, after: float) -> float:
        """The size of a change over that of the output; infinite out of nothing, or where one of them is."""
        if after == self.value or (not np.isfinite(after) and not np.isfinite(self.value)):
            return 0.0
        return abs(after - self.value) / abs(self.value) if self.value and np.isfinite(self.value) else np.inf


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
        values = values[np.argsort(np.abs(values - at), kind="stable")]
        return values[moves.allowed(by.name, values)] if values.size else values

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
        values = np.clip(ends, by.domain.lower * one, by.domain.upper * one)
        return values[moves.allowed(by.name, values)]

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
