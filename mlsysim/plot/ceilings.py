"""Peak rate and memory bandwidth of the accelerators of a sweep, and the roof they make."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import units
from mlsysim.backends import compiled
from mlsysim.catalog import builtin
from mlsysim.errors import InputError, UnitError, UnknownNameError
from mlsysim.formats import rate_format
from mlsysim.formulas.roofline import attainable
from mlsysim.study.results.display import named
from mlsysim.symbolic import System, variable_of

if TYPE_CHECKING:
    import xarray

#: Ceilings that a data set may be without, and what they are then.
_SHARES = {"efficiency": 1.0, "memory_efficiency": 1.0}
_ROOF = System([attainable])


def found(ds: xarray.Dataset, **given: Any) -> xarray.Dataset:
    """Ceilings in canonical units, over the dimensions they vary along.

    Raises
    ------
    InputError
        If one is neither given nor known to the data set or the catalog.
    """
    import xarray

    return xarray.Dataset({name: _ceiling(ds, name, value).rename(name) for name, value in given.items()})


def _ceiling(ds: xarray.Dataset, name: str, given: Any) -> xarray.DataArray:
    import xarray

    fixed = json.loads(ds.attrs.get("fixed_inputs", "{}"))
    names = [str(value) for value in ds["hardware"].values] if "hardware" in ds.dims else []
    if isinstance(given, Mapping):
        for missing in (one for one in names if one not in given):
            raise InputError(name, dict(given), f"must have a value for {missing}")
        given = {one: _canonical(name, given[one]) for one in names}
        return xarray.DataArray(list(given.values()), dims=["hardware"], coords={"hardware": names})
    if given is not None:
        return xarray.DataArray(_canonical(name, given))
    if name in ds.variables:
        return ds[name].drop_attrs() * units.factor(ds[name].attrs.get("units", ""))
    if name in fixed:
        return xarray.DataArray(_canonical(name, fixed[name]))
    if name in _SHARES:
        return xarray.DataArray(_SHARES[name])
    values = [
        _of_catalog(one, name, rate_format(fixed.get("precision", ""), fixed.get("compute_dtype", "as_precision")))
        for one in names
    ]
    if not values or None in values:
        known = f"the data set does not say it; give {name}=..., a quantity"
        raise InputError(name, None, known + (f", or one for each of {', '.join(names)}" if names else ""))
    return xarray.DataArray(values, dims=["hardware"], coords={"hardware": names})


def _canonical(name: str, given: Any) -> float:
    variable = variable_of(name)
    try:
        value = units.parsed(given) if isinstance(given, str) else given
        amount = units.canonical(value, variable.unit, name) if units.is_quantity(value) else float(value)
        if not units.is_quantity(value) and variable.dimension:
            amount = units.to_canonical(amount, variable.unit)
    except (TypeError, ValueError) as error:
        if isinstance(error, UnitError):
            raise
        raise InputError(
            name, given, f"must be a number in {variable.unit}, a quantity, or text such as '1 TB/s'"
        ) from None
    if not np.isfinite(amount) or amount <= 0 or (name in _SHARES and amount > 1):
        raise InputError(name, given, f"must be {variable.domain.describe()}")
    return float(amount)


def _of_catalog(hardware: str, name: str, precision: str) -> float | None:
    try:
        value = builtin().find("hardware", hardware).value_of(name, precision)
    except (UnknownNameError, InputError):
        return None
    return None if value is None else value.canonical


def roof(intensity: Any, machine: Any) -> Any:
    """The attainable rate by the formula of the library; over arrays with or without dimensions."""
    import xarray

    function = compiled(_ROOF, None, "vector")
    parts = [intensity, *(machine[name] for name in function.inputs if name != "arithmetic_intensity")]
    names = ["arithmetic_intensity", *(name for name in function.inputs if name != "arithmetic_intensity")]

    def of(*arrays: Any) -> np.ndarray:
        return np.asarray(function(dict(zip(names, arrays, strict=True)))["attainable_rate"])

    return xarray.apply_ufunc(of, *parts)


def each(machine: xarray.Dataset) -> Iterator[tuple[str, dict[str, float]]]:
    """Every set of ceilings once, with its name where they vary along one dimension."""
    import xarray

    flat = xarray.broadcast(*machine.data_vars.values())
    rows = np.stack([array.values.ravel() for array in flat], axis=1)
    dims = flat[0].dims
    for place in sorted(np.unique(rows, axis=0, return_index=True)[1]):
        name = str(flat[0][dims[0]].values[place]) if len(dims) == 1 and dims[0] == "hardware" else ""
        yield name, dict(zip(map(str, machine.data_vars), map(float, rows[place]), strict=True))


def described(name: str) -> xarray.DataArray:
    """An empty array with the words of a variable, for the label of an axis."""
    import xarray

    variable = variable_of(name)
    return xarray.DataArray(name=name, attrs={**named(variable), "units": variable.unit})
