"""Second derivatives of one output, and how elasticities change with inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlsysim import show, units
from mlsysim.errors import UnknownNameError
from mlsysim.symbolic import Variable, variable_of

#: Most inputs in a printed table.
SHOWN = 6


class SecondOrder:
    """Second derivatives and cross-elasticities of one output at one point.

    Attributes
    ----------
    inputs : tuple of str
        Names, the strongest elasticity first.
    cross_elasticities : ndarray
        Change of the elasticity by the input of the row, per percent of the input of the column, in percent: the second
        derivative of the logarithm of the output by the logarithms of the inputs. nan if the output is zero or
        infinite.
    """

    def __init__(
        self, output: Variable, inputs: Sequence[str], partials: Mapping[Any, Any], at: Mapping[str, Any]
    ) -> None:
        self.output = output
        self.inputs = tuple(inputs)
        self._found = {by: float(np.reshape(value, -1)[0]) for by, value in partials.items()}
        self.cross_elasticities = cross_elasticities(self.inputs, self._found, at, ())

    def __getitem__(self, names: tuple[str, str]) -> Any:
        """Return the second derivative by two inputs, with its unit."""
        for name in names:
            if name not in self.inputs:
                raise UnknownNameError("input", name, self.inputs)
        a, b = (variable_of(name) for name in names)
        scale, unit = units.per(self.output.unit, a.unit)
        below = "" if b.unit == "count" else b.unit
        value = self._found.get(names, 0.0) if np.isfinite(self._found[()]) else np.nan
        return units.Q_(value * scale * units.factor(b.unit), unit / units.unit(below))

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headers and cells of the cross-elasticities of the strongest inputs, as text."""
        names = self.inputs[:SHOWN]
        rows = [[a, *(_cell(self.cross_elasticities[i, j]) for j in range(len(names)))] for i, a in enumerate(names)]
        headers = ["Cross-elasticities", *names]
        return headers, rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the nonzero second derivatives with units, and all cross-elasticities."""
        pairs = [(a, b) for i, a in enumerate(self.inputs) for b in self.inputs[i:] if self._found.get((a, b), 0.0)]
        derivatives = [
            {"by": [*pair], "value": float(self[pair].magnitude), "unit": f"{self[pair].units:~P}"} for pair in pairs
        ]
        cross = [[None if np.isnan(value) else float(value) for value in row] for row in self.cross_elasticities]
        return {"inputs": list(self.inputs), "derivatives": derivatives, "cross_elasticities": cross}

    def __repr__(self) -> str:
        return show.fitted(*self.table())

    def _repr_html_(self) -> str:
        return show.html_table(*self.table())


def elasticities(
    inputs: Sequence[str], partials: Mapping[Any, Any], at: Mapping[str, Any], sizes: tuple[int, ...]
) -> np.ndarray:
    """Elasticities along inputs and then the axes of a grid; nan if the output is zero or infinite."""
    return _stacked([at[a] * partials.get((a,), 0.0) for a in inputs], partials, sizes)


def cross_elasticities(
    inputs: Sequence[str], partials: Mapping[Any, Any], at: Mapping[str, Any], sizes: tuple[int, ...]
) -> np.ndarray:
    """Change of each elasticity per percent of every input, along two dimensions of inputs and then the axes."""
    first = elasticities(inputs, partials, at, sizes)
    second = [at[a] * at[b] * partials.get((a, b), 0.0) for a in inputs for b in inputs]
    cross = _stacked(second, partials, sizes).reshape(len(inputs), len(inputs), *sizes)
    own = np.eye(len(inputs)).reshape(len(inputs), len(inputs), *[1] * len(sizes))
    return cross + own * first - first[:, None] * first


def _stacked(rows: Sequence[Any], partials: Mapping[Any, Any], sizes: tuple[int, ...]) -> np.ndarray:
    """Divide rows by the output and broadcast them along the axes of a grid."""
    value = np.asarray(partials[()])
    value = np.where((value != 0) & np.isfinite(value), value, np.nan)
    with np.errstate(all="ignore"):
        return np.array([np.broadcast_to(row / value, sizes) for row in rows]).reshape(len(rows), *sizes)


def _cell(value: float) -> str:
    return "-" if np.isnan(value) else f"{value + 0.0:+.3f}"
