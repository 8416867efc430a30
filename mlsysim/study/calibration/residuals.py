"""Residuals: predicted and measured outputs, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import show, units
from mlsysim.study.grids.dataset import attributes
from mlsysim.study.results.display import as_text
from mlsysim.symbolic import variable_of

if TYPE_CHECKING:
    import xarray

#: Most rows of a printed table.
SHOWN = 40


@dataclass(frozen=True)
class Errors:
    """Relative errors of predictions.

    Attributes
    ----------
    median, worst : float
        Median and largest absolute error; nan if no row has one.
    worst_row : int
        Row of the largest error, from 1; 0 if there is none.
    """

    median: float
    worst: float
    worst_row: int

    def __str__(self) -> str:
        if not self.worst_row:
            return "no row has one"
        return f"median {self.median:.1%}, worst {self.worst:.1%} (row {self.worst_row})"


@dataclass(eq=False, repr=False)
class Residuals:
    """Predicted and measured outputs of every row.

    Parameters
    ----------
    measured, predicted : mapping
        Canonical values by output, nan if missing.
    labels : mapping
        Cells that identify the rows, by column.
    """

    measured: Mapping[str, np.ndarray]
    predicted: Mapping[str, np.ndarray]
    labels: Mapping[str, Sequence[Any]]

    @cached_property
    def ratios(self) -> dict[str, np.ndarray]:
        """Predicted over measured, by output; nan if not measured."""
        with np.errstate(all="ignore"):
            return {name: self.predicted[name] / self.measured[name] for name in self.measured}

    @cached_property
    def errors(self) -> Errors:
        """Median and worst error over all measurements."""
        errors = np.stack([np.abs(ratio - 1) for ratio in self.ratios.values()])
        if np.isnan(errors).all():
            return Errors(np.nan, np.nan, 0)
        worst = int(np.nanargmax(errors)) % errors.shape[1]
        return Errors(float(np.nanmedian(errors)), float(np.nanmax(errors)), worst + 1)

    def to_dataset(self) -> xarray.Dataset:
        """Return measured and predicted values and their ratio along ``observation``, with labels as coordinates."""
        import xarray

        data: dict[str, Any] = {}
        for name in self.measured:
            variable = variable_of(name)
            for what, values in (("measured", self.measured), ("predicted", self.predicted)):
                shown = np.asarray(units.from_canonical(values[name], variable.unit))
                long_name = f"{variable.description.rstrip('.')}, {what}"
                data[f"{name}_{what}"] = ("observation", shown, {**attributes(variable), "long_name": long_name})
            data[f"{name}_ratio"] = ("observation", self.ratios[name], {"long_name": f"Predicted over measured {name}"})
        rows = len(next(iter(self.measured.values())))
        coords: dict[str, Any] = {"observation": ("observation", np.arange(1, rows + 1))}
        coords |= {name: ("observation", [_cell(cell) for cell in cells]) for name, cells in self.labels.items()}
        return xarray.Dataset(data, coords=coords)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: unit, measured and predicted values of every output; median and worst error."""
        outputs = {}
        for name in self.measured:
            unit = variable_of(name).unit
            series = {"measured": self.measured[name], "predicted": self.predicted[name]}
            outputs[name] = {
                "unit": "" if unit == "count" else unit,
                **{what: _listed(units.from_canonical(values, unit)) for what, values in series.items()},
                "ratio": _listed(self.ratios[name]),
            }
        return {"outputs": outputs, "error": asdict(self.errors) if self.errors.worst_row else None}

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headers and cells, as text."""
        headers = ["Row", *self.labels]
        for name in self.measured:
            headers += [name, "predicted", "ratio"]
        rows = []
        for row in range(len(next(iter(self.measured.values())))):
            cells = [str(row + 1), *(str(_cell(cells[row])) for cells in self.labels.values())]
            for name in self.measured:
                variable = variable_of(name)
                measurement, ratio = self.measured[name][row], self.ratios[name][row]
                cells.append("-" if np.isnan(measurement) else as_text(variable, measurement))
                prediction = self.predicted[name][row]
                cells += [
                    "-" if np.isnan(prediction) else as_text(variable, prediction),
                    "-" if np.isnan(ratio) else f"{ratio:.3f}",
                ]
            rows.append(cells)
        return headers, rows

    def __repr__(self) -> str:
        headers, rows = self.table()
        lines = [f"Predicted over measured: {self.errors}", show.fitted(headers, rows[:SHOWN])]
        if len(rows) > SHOWN:
            lines.append(f"... {len(rows) - SHOWN} more rows")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return show.html_table(*self.table(), f"Predicted over measured: {self.errors}")


def _listed(values: Any) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _cell(cell: Any) -> Any:
    """Convert a cell for a data set: a number stays, anything else becomes text."""
    return cell if isinstance(cell, int | float) and not isinstance(cell, bool) else "" if cell is None else str(cell)
