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
        self.cross_elasticities = cross_elasticities(self.inputs, self._found, at, ())

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


def elasticities(
    inputs: Sequence[str], found: Mapping[Any, Any], at: Mapping[str, Any], sizes: tuple[int, ...]
) -> np.ndarray:
    """Elasticities along inputs and then the axes of a grid; nan where the output is zero or infinite."""
    return _stacked([at[a] * found.get((a,), 0.0) for a in inputs], found, sizes)


def cross_elasticities(
    inputs: Sequence[str], found: Mapping[Any, Any], at: Mapping[str, Any], sizes: tuple[int, ...]
) -> np.ndarray:
    """Change of each elasticity per percent of every input, along two dimensions of inputs and then the axes."""
    first = elasticities(inputs, found, at, sizes)
    second = [at[a] * at[b] * found.get((a, b), 0.0) for a in inputs for b in inputs]
    cross = _stacked(second, found, sizes).reshape(len(inputs), len(inputs), *sizes)
    own = np.eye(len(inputs)).reshape(len(inputs), len(inputs), *[1] * len(sizes))
    return cross + own * first - first[:, None] * first


def _stacked(rows: Sequence[Any], found: Mapping[Any, Any], sizes: tuple[int, ...]) -> np.ndarray:
    """Rows over the output, along the axes of a grid."""
    value = np.asarray(found[()])
    value = np.where((value != 0) & np.isfinite(value), value, np.nan)
    with np.errstate(all="ignore"):
        return np.array([np.broadcast_to(row / value, sizes) for row in rows]).reshape(len(rows), *sizes)


def _cell(value: float) -> str:
    return "-" if np.isnan(value) else f"{value + 0.0:+.3f}"
