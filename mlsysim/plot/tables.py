"""Designs as a list of points, whatever holds them: a grid, a data set, columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import units
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.plot import data, style
from mlsysim.study.results.display import named
from mlsysim.symbolic import variable_of

if TYPE_CHECKING:
    import xarray


def data_set(designs: Any) -> xarray.Dataset:
    """A sweep as it is; columns as a data set, with units and symbols where the vocabulary has the name."""
    import xarray

    if isinstance(designs, xarray.Dataset):
        return designs
    columns = designs.to_dict("list") if hasattr(designs, "columns") and hasattr(designs, "to_dict") else designs
    if not isinstance(columns, Mapping) or not columns:
        raise InputError("designs", designs, "must be a data set, or columns by name")
    lengths = {str(name): len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        raise InputError("designs", lengths, "columns must be of one length")
    return xarray.Dataset({str(name): _column(str(name), list(column)) for name, column in columns.items()})


def _column(name: str, values: list[Any]) -> tuple[str, np.ndarray, dict[str, str]]:
    attrs = {}
    try:
        variable = variable_of(name)
    except UnknownNameError:
        unit = f"{units.own(values[0]).units:~P}" if values and units.is_quantity(values[0]) else ""
    else:
        unit = variable.unit if variable.dimension else ""
        attrs = named(variable)
    if unit:
        attrs["units"] = unit
    bare = [float(units.own(v).to(unit).magnitude) if units.is_quantity(v) else v for v in values]
    return "design", np.asarray(bare), attrs


def swept(ds: xarray.Dataset) -> list[str]:
    """Coordinates that tell the points of a data set apart."""
    return [str(name) for name, array in ds.coords.items() if array.ndim and array.size > 1]


class Points:
    """Feasible points that are finite in two outputs, in the order of the data set."""

    def __init__(self, ds: xarray.Dataset, x: str, y: str, limit: Any, front: Any) -> None:
        import xarray

        first, second, good = xarray.broadcast(ds[x], ds[y], data.refused(ds) == False if limit is None else limit)  # noqa: E712
        self._ds, self._dims, self._shape = ds, first.dims, first.shape
        across, up = first.values.astype(float).ravel(), second.values.astype(float).ravel()
        self._places = np.flatnonzero(good.values.ravel() & np.isfinite(across) & np.isfinite(up))
        self.x, self.y = across[self._places], up[self._places]
        fits = xarray.ones_like(first, bool) if "feasible" not in ds.data_vars else ds["feasible"].astype(bool)
        self.missed = ~fits.broadcast_like(first).transpose(*first.dims).values.ravel()[self._places]
        on_front = None if front is None else front.broadcast_like(first).transpose(*first.dims).values.ravel()
        self.front = None if on_front is None else on_front[self._places]

    def described(self, place: int, names: list[str]) -> list[str]:
        """Text that tells a point apart, one line per name."""
        at = dict(zip(self._dims, np.unravel_index(self._places[place], self._shape), strict=True))
        lines = []
        for name in names:
            array = self._ds[name]
            value = array.isel({dim: at[dim] for dim in array.dims}).expand_dims("point")
            unit = array.attrs.get("units", "")
            lines.append(f"{name} = {style.words(value)[0]} {unit}".strip())
        return lines or [f"design {int(self._places[place]) + 1}"]
