"""Predicted beside measured, row by row."""

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

#: Rows that a printed table shows.
SHOWN = 40


@dataclass(frozen=True)
class Errors:
    """Errors of predictions, as shares of what was measured.

    Attributes
    ----------
    median, worst : float
        Of the sizes of all errors; nan where no row has one.
    worst_row : int
        Row of the worst, from 1; 0 where there is none.
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
        Canonical values by output, nan where there is none.
    labels : mapping
        Cells that tell the rows apart, by column.
    """

    measured: Mapping[str, np.ndarray]
    predicted: Mapping[str, np.ndarray]
    labels: Mapping[str, Sequence[Any]]

    @cached_property
    def ratios(self) -> dict[str, np.ndarray]:
        """Predicted over measured, by output; nan where nothing was measured."""
        with np.errstate(all="ignore"):
            return {name: self.predicted[name] / self.measured[name] for name in self.measured}

    @cached_property
    def errors(self) -> Errors:
        """Median and worst error over all measurements."""
        off = np.stack([np.abs(ratio - 1) for ratio in self.ratios.values()])
        if np.isnan(off).all():
            return Errors(np.nan, np.nan, 0)
        worst = int(np.nanargmax(off)) % off.shape[1]
        return Errors(float(np.nanmedian(off)), float(np.nanmax(off)), worst + 1)

    def to_dataset(self) -> xarray.Dataset:
        """Measured, predicted and their ratio by output, along ``observation``, with units; labels are coordinates."""
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
        """Plain data: by output its unit and what was measured and predicted in every row; median and worst error."""
        outputs = {}
        for name in self.measured:
            unit = variable_of(name).unit
            both = {"measured": self.measured[name], "predicted": self.predicted[name]}
            outputs[name] = {
                "unit": "" if unit == "count" else unit,
                **{what: _listed(units.from_canonical(values, unit)) for what, values in both.items()},
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
                theirs, ratio = self.measured[name][row], self.ratios[name][row]
                cells.append("-" if np.isnan(theirs) else as_text(variable, theirs))
                ours = self.predicted[name][row]
                cells += [
                    "-" if np.isnan(ours) else as_text(variable, ours),
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
    """A cell as a data set holds it: a number, else text."""
    return cell if isinstance(cell, int | float) and not isinstance(cell, bool) else "" if cell is None else str(cell)
