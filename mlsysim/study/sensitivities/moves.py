"""Finite changes: one output at changed values of inputs, all evaluated in one call."""

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

#: Distances from a whole number within which the next allowed one is searched: first the smaller.
NEAR, FARTHEST = 32, 4096
#: Times a number is doubled and halved.
TIMES = 20


@dataclass(eq=False)
class Moves:
    """A point of a model, and points with one input changed.

    Parameters
    ----------
    model : DeclaredModel
        Model that computes the output.
    arguments : mapping
        Arguments as typed.
    binding : Binding
        Bound inputs of the point.
    system : System
        Formulas that the output needs.
    output : Variable
        The output.
    """

    model: DeclaredModel
    arguments: Mapping[str, Any]
    binding: Binding
    system: System
    output: Variable

    @cached_property
    def value(self) -> float:
        """Output at the point, in canonical units."""
        return float(self.outputs([{}])[0])

    def outputs(self, moved: Sequence[Mapping[str, float]]) -> np.ndarray:
        """Evaluate the output for each mapping of changed canonical values."""
        changed = {name for changes in moved for name in changes}
        at: dict[str, Any] = {name: float(value) for name, value in self.binding.values.items()}
        values: dict[str, Any] = dict(at)
        values |= {name: np.array([changes.get(name, at[name]) for changes in moved]) for name in changed}
        output = compiled(self.system, (self.output.name,), "vector")(values)[self.output.name]
        return np.broadcast_to(np.asarray(output, float), (len(moved),))

    def change(self, before: float, after: float) -> Any:
        """Return the change of the output as a user sees it; None from infinite to infinite."""
        if not np.isfinite(before) and not np.isfinite(after):
            return None
        amount = float(units.from_canonical(after - before, self.output.unit))
        return units.Q_(amount, units.unit(self.output.unit)) if self.output.dimension else amount

    def allowed(self, name: str, candidates: np.ndarray) -> np.ndarray:
        """Mask the canonical values of one input that the model accepts, with the other inputs constant."""
        known = {**self.binding.numbers, name: candidates}
        return np.broadcast_to(inside(variable_of(name), candidates) & accepted(self.binding, known), candidates.shape)

    def neighbours(self, by: Variable) -> np.ndarray:
        """Return the next smaller and the next larger allowed value of a whole number, in canonical units."""
        at, unit_size = float(self.binding.values[by.name]), units.factor(by.unit)
        neighbours = []
        for direction in (-1.0, 1.0):
            for steps in (np.arange(1, NEAR), np.arange(NEAR, FARTHEST)):
                candidates = at + direction * unit_size * steps
                allowed = np.flatnonzero(self.allowed(by.name, candidates))
                if allowed.size:
                    neighbours.append(float(candidates[allowed[0]]))
                    break
        return np.array(neighbours)

    def others(self, by: Variable) -> list[str]:
        """Return the labels that an input does not have at the point; none for a number."""
        return [label for code, label in enumerate(by.domain.labels) if code != int(self.binding.values[by.name])]

    def beside(self, numbers: Callable[[Variable], np.ndarray]) -> dict[str, list[tuple[Any, float]]]:
        """Evaluate the output with one input changed at a time: to every other label, and to some numbers.

        Parameters
        ----------
        numbers : callable
            Function that returns canonical values of an input, which the model accepts.

        Returns
        -------
        dict
            Labels, or canonical values, each with the output, by input.
        """
        changes = [(by.name, *change) for by in self.system.inputs for change in self._changes(by, numbers)]
        outputs = self.outputs([moved for *_, moved in changes]).tolist() if changes else []
        outputs_by_input: dict[str, list[tuple[Any, float]]] = {by.name: [] for by in self.system.inputs}
        for (name, value, _), output in zip(changes, outputs, strict=True):
            outputs_by_input[name].append((value, output))
        return outputs_by_input

    def _changes(
        self, by: Variable, numbers: Callable[[Variable], np.ndarray]
    ) -> Iterator[tuple[Any, dict[str, float]]]:
        """Yield other values of an input, each with all it changes: a label also selects rates in the catalog."""
        if by.domain.kind != "choice":
            yield from ((value, {by.name: value}) for value in numbers(by).tolist())
        for label in self.others(by):
            try:
                other = bind(self.model, {**self.arguments, by.name: label})
            except MlsysimError:
                continue
            values = self.binding.values
            yield (
                label,
                {
                    input_name: float(input_value)
                    for input_name, input_value in other.values.items()
                    if input_name in values and input_value != values[input_name]
                },
            )

    def relative(self, after: float) -> float:
        """Return the relative size of a change of the output; infinite from zero, or if one of the two is infinite."""
        if after == self.value or (not np.isfinite(after) and not np.isfinite(self.value)):
            return 0.0
        return abs(after - self.value) / abs(self.value) if self.value and np.isfinite(self.value) else np.inf


@dataclass(frozen=True)
class Finite:
    """A value of an input at which the output, infinite at the point, is finite.

    Attributes
    ----------
    name : str
        Name of the input.
    before, at : str
        Value at the point, and the nearest value tried that makes the output finite.
    value : number or str
        The same in the unit of the input, or a label.
    output : object
        Output at that value.
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
    """Find the nearest tried values of each input that make the output finite, with the other inputs constant.

    Whole numbers take their next values, numbers are doubled and halved repeatedly, labels take all others.
    """

    def numbers(by: Variable) -> np.ndarray:
        """Return other values of a number, the nearest first in either direction."""
        at, powers = float(moves.binding.values[by.name]), np.arange(1.0, TIMES + 1)
        values = at * 2.0 ** np.concatenate([-powers, powers])
        if by.domain.kind == "integer":
            unit_size = units.factor(by.unit)
            values = np.concatenate([moves.neighbours(by), np.round(values / unit_size) * unit_size])
        values = np.unique(values[values != at])
        values = values[np.argsort(np.abs(values - at), kind="stable")]
        return values[moves.allowed(by.name, values)] if values.size else values

    changes: dict[tuple[str, Any], Finite] = {}
    for name, outputs in moves.beside(numbers).items():
        by, here = variable_of(name), float(moves.binding.values[name])
        for value, output in outputs:
            if math.isfinite(output):
                shown: tuple[str, Any] = (value, value)
                if not isinstance(value, str):
                    shown = as_text(by, value), float(units.from_canonical(value, by.unit))
                key = (name, value if isinstance(value, str) else value > here)
                changes.setdefault(key, Finite(name, as_text(by, here), *shown, presented(moves.output, output)))
    return tuple(changes.values())


@dataclass(frozen=True)
class Bar:
    """Outputs with one input changed.

    Attributes
    ----------
    name : str
        Name of the input.
    at : str
        Value at the point.
    inputs : tuple of str
        Changed values.
    outputs : tuple
        Outputs at these values.
    """

    name: str
    at: str
    inputs: tuple[str, ...]
    outputs: tuple[Any, ...]

    @property
    def amounts(self) -> tuple[float, ...]:
        """Outputs as plain numbers, in the unit of the output."""
        return tuple(float(getattr(output, "magnitude", output)) for output in self.outputs)


def bars(moves: Moves, change: float) -> tuple[Bar, ...]:
    """Build the bars of a tornado diagram for all inputs that change the output, the widest first."""
    if isinstance(change, bool) or not isinstance(change, int | float) or not 0 < change < 1:
        raise InputError("change", change, "must be a share above 0 and below 1", "as in change=0.1 for 10%")

    def numbers(by: Variable) -> np.ndarray:
        if by.domain.kind == "integer":
            return moves.neighbours(by)
        ends, unit_size = (
            float(moves.binding.values[by.name]) * np.array([1 - change, 1 + change]),
            units.factor(by.unit),
        )
        values = np.clip(ends, by.domain.lower * unit_size, by.domain.upper * unit_size)
        return values[moves.allowed(by.name, values)]

    bars = []
    for name, changed in moves.beside(numbers).items():
        if any(moves.relative(output) > UNCHANGED for _, output in changed):
            by = variable_of(name)
            texts = tuple(value if isinstance(value, str) else as_text(by, value) for value, _ in changed)
            outputs = tuple(presented(moves.output, output) for _, output in changed)
            bars.append(Bar(name, as_text(by, moves.binding.values[name]), texts, outputs))
    here = float(units.from_canonical(moves.value, moves.output.unit))
    return tuple(sorted(bars, key=lambda bar: -float(rounded(np.array(_width(bar.amounts, here))))))


def _width(amounts: tuple[float, ...], here: float) -> float:
    ends = np.array([*amounts, here])
    return float(np.max(ends) - np.min(ends)) if np.isfinite(ends).all() else np.inf
