"""Values of one output where inputs are moved, all in one call; and to which values whole numbers can be moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.backends import compiled
from mlsysim.errors import MlsysimError
from mlsysim.inputs.binding import Binding, bind
from mlsysim.inputs.convert import inside
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.symbolic import System, Variable, variable_of

#: How far from a whole number the next allowed one is looked for: first near by.
NEAR, FARTHEST = 32, 4096


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

    def __init__(
        self, model: DeclaredModel, arguments: Mapping[str, Any], binding: Binding, system: System, output: Variable
    ) -> None:
        self.model = model
        self.arguments = arguments
        self.binding = binding
        self.system = system
        self.output = output
        self.value = float(self.outputs([{}])[0])

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
        good = np.broadcast_to(inside(variable_of(name), candidates), candidates.shape).copy()
        conditions = tuple((f"condition_{n}", each) for n, each in enumerate(self.binding.conditions))
        if conditions:
            values = {**self.binding.numbers, name: candidates}
            for met in compiled(self.binding.system, None, "vector", conditions)(values).values():
                good &= np.asarray(met, bool)
        return good

    def neighbours(self, by: Variable) -> tuple[float | None, float | None]:
        """The next smaller and the next larger allowed value of a whole number, in canonical units."""
        at, one = float(self.binding.values[by.name]), units.factor(by.unit)
        found: list[float | None] = []
        for way in (-1.0, 1.0):
            nearest = None
            for steps in (np.arange(1, NEAR), np.arange(NEAR, FARTHEST)):
                candidates = at + way * one * steps
                places = np.flatnonzero(self.allowed(by.name, candidates))
                if places.size:
                    nearest = float(candidates[places[0]])
                    break
            found.append(nearest)
        return found[0], found[1]

    def relabelled(self, by: Variable) -> dict[str, dict[str, float] | None]:
        """Changes of the inputs under every other label, which also chooses rates in the catalog; None if refused."""
        found: dict[str, dict[str, float] | None] = {}
        at = int(self.binding.values[by.name])
        for code, label in enumerate(by.domain.labels):
            if code == at:
                continue
            try:
                other = bind(self.model, {**self.arguments, by.name: label})
            except MlsysimError:
                found[label] = None
                continue
            values = self.binding.values
            found[label] = {n: float(v) for n, v in other.values.items() if n in values and v != values[n]}
        return found

    def relative(self, after: float) -> float:
        """The size of a change over that of the output; infinite out of nothing, or where one of them is."""
        if after == self.value or (not np.isfinite(after) and not np.isfinite(self.value)):
            return 0.0
        return abs(after - self.value) / abs(self.value) if self.value and np.isfinite(self.value) else np.inf
