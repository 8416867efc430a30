"""Second derivatives of one output, and how elasticities change with inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlsysim import show, units
from mlsysim.errors import UnknownNameError
from mlsysim.symbolic import Variable, variable_of

#: Inputs that a printed table has room for.
SHOWN = 6


class SecondOrder:
    """Second derivatives and cross-elasticities of one output at one point.

    Attributes
    ----------
    inputs : tuple of str
        Strongest elasticity first.
    cross_elasticities : ndarray
        Change of the elasticity by the input of the row, per percent of the input of the column, in units of a
        percent: the second derivative of the logarithm of the output by those of the inputs. nan where the output
        is zero or infinite.
    """

    def __init__(
        self, output: Variable, inputs: Sequence[str], found: Mapping[Any, Any], at: Mapping[str, Any]
    ) -> None:
        self.output = output
        self.inputs = tuple(inputs)
        self._found = {by: float(np.reshape(value, -1)[0]) for by, value in found.items()}
        self.cross_elasticities = self._elastic({name: float(at[name]) for name in inputs})

    def _elastic(self, at: Mapping[str, float]) -> np.ndarray:
        value = self._found[()]
        found = np.full((len(self.inputs),) * 2, np.nan)
        if value == 0 or not np.isfinite(value):
            return found
        for i, a in enumerate(self.inputs):
            by_a = at[a] * self._found.get((a,), 0.0) / value
            for j, b in enumerate(self.inputs):
                by_b = at[b] * self._found.get((b,), 0.0) / value
                both = at[a] * at[b] * self._found.get((a, b), 0.0) / value
                found[i, j] = both + (by_a if a == b else 0.0) - by_a * by_b
        return found

    def __getitem__(self, names: tuple[str, str]) -> Any:
        """The second derivative by two inputs, with its unit."""
        for name in names:
            if name not in self.inputs:
                raise UnknownNameError("input", name, self.inputs)
        a, b = (variable_of(name) for name in names)
        scale, unit = units.per(self.output.unit, a.unit)
        below = "" if b.unit == "count" else b.unit
        value = self._found.get(names, 0.0) if np.isfinite(self._found[()]) else np.nan
        return units.Q_(value * scale * units.factor(b.unit), unit / units.unit(below))

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headers and cells of the cross-elasticities by the strongest inputs, as text."""
        names = self.inputs[:SHOWN]
        rows = [[a, *(_cell(self.cross_elasticities[i, j]) for j in range(len(names)))] for i, a in enumerate(names)]
        headers = ["Cross-elasticities", *names]
        return headers, rows

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the second derivatives that are not zero, with units, and all cross-elasticities."""
        pairs = [(a, b) for i, a in enumerate(self.inputs) for b in self.inputs[i:] if self._found.get((a, b), 0.0)]
        derivatives = [
            {"by": [*pair], "value": float(self[pair].magnitude), "unit": f"{self[pair].units:~P}"} for pair in pairs
        ]
        cross = [[None if np.isnan(each) else float(each) for each in row] for row in self.cross_elasticities]
        return {"inputs": list(self.inputs), "derivatives": derivatives, "cross_elasticities": cross}

    def __repr__(self) -> str:
        return show.fitted(*self.table())

    def _repr_html_(self) -> str:
        return show.html_table(*self.table())


def _cell(value: float) -> str:
    return "-" if np.isnan(value) else f"{value + 0.0:+.3f}"
