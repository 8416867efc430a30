"""Data of a figure: one variable of a data set over the dimensions it shows, and the words for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    import xarray


def checked(ds: Any) -> xarray.Dataset:
    """The data set of a sweep, or an error."""
    import xarray

    if not isinstance(ds, xarray.Dataset):
        raise InputError("ds", ds, "must be the data set that model.sweep(...) gives")
    return ds


def named(ds: xarray.Dataset, name: Any, what: str = "variable of the data set") -> xarray.DataArray:
    """A variable or coordinate by its name."""
    if not isinstance(name, str) or name not in ds.variables:
        raise UnknownNameError(what, name, map(str, ds.variables))
    return ds[name]


def truth(ds: xarray.Dataset, name: str | None, argument: str = "feasible") -> xarray.DataArray | None:
    """A truth value of the data set; None without, or where a model has no such limit as ``feasible``."""
    if name is None or (name == "feasible" and name not in ds.variables):
        return None
    found = named(ds, name)
    if found.dtype.kind != "b":
        raise InputError(argument, name, "must be a truth value of the data set")
    return found


def shown_over(ds: xarray.Dataset, output: str, axes: Sequence[str | None], least: int) -> tuple[Any, list[str]]:
    """The data set over the dimensions of a figure, the others being single points.

    Parameters
    ----------
    ds : xarray.Dataset
        Of a sweep.
    output : str
        What is drawn.
    axes : sequence of str or None
        Dimension per axis; those left out take the dimensions that remain, the last one first.
    least : int
        Dimensions a figure must have; the axes beyond may stay empty.

    Returns
    -------
    (xarray.Dataset, list of str)
        Without dimensions of one point, and the dimension per axis.
    """
    checked(ds)
    named(ds, output, "output of the data set")
    given = [name for name in axes if name is not None]
    if len(set(given)) != len(given):
        raise InputError("axes", given, "each must show another dimension")
    for name in given:
        coordinate = named(ds, name, "dimension of the data set") if name not in ds.dims else None
        if coordinate is not None and coordinate.ndim == 1:
            ds = ds.swap_dims({coordinate.dims[0]: name})
        elif coordinate is not None:
            raise InputError("axes", name, f"must be one of the dimensions {', '.join(map(str, ds.dims))}")
    ds = ds.squeeze([dim for dim in ds.dims if ds.sizes[dim] == 1 and dim not in given])
    for name in given:
        if name not in ds[output].dims:
            raise InputError("axes", name, f"must be a dimension of {output}: {_listed(ds[output].dims)}")
    free = [str(dim) for dim in reversed(ds[output].dims) if dim not in given]
    filled = [name if name is not None else free.pop(0) if free else None for name in axes]
    if free:
        chosen = ", ".join(f"{name}={_plain(ds[name].values[0]) if name in ds.coords else 0!r}" for name in free)
        raise InputError(
            "dims",
            list(ds[output].dims),
            f"a figure shows {len(axes)} dimensions, and {_listed(free)} {'is' if len(free) == 1 else 'are'} left",
            f"select a point of each first, as in ds.sel({chosen}) or ds.isel({', '.join(f'{n}=0' for n in free)})",
        )
    used = [name for name in filled if name is not None]
    if len(used) < least:
        raise InputError("dims", list(ds[output].dims), f"a figure needs {least} dimensions of more than one point")
    return ds, used


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) or "none"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def ascending(ds: xarray.Dataset, dim: str) -> xarray.Dataset:
    """The data set with the numbers of a dimension in order; words stay as they are."""
    return ds if is_label(ds[dim]) else ds.sortby(dim)


def is_label(array: xarray.DataArray) -> bool:
    """Tell whether the values are words: flag codes with meanings, text, or truth values."""
    return "flag_meanings" in array.attrs or array.dtype.kind in "bOUS"


def codes(array: xarray.DataArray) -> xarray.DataArray:
    """Whole codes of labels or truth values, -1 where missing."""
    return array.astype(float).fillna(-1).astype(int)


def meanings(array: xarray.DataArray) -> dict[int, str]:
    """Meanings of the codes of a variable."""
    if "flag_meanings" not in array.attrs:
        return {0: "no", 1: "yes"}
    words = [word.replace("_", " ") for word in array.attrs["flag_meanings"].split()]
    values = np.atleast_1d(array.attrs.get("flag_values", range(len(words))))
    return {int(value): word for value, word in zip(values, words, strict=True)}


def refused(ds: xarray.Dataset) -> xarray.DataArray:
    """Mask of the points that were refused."""
    import xarray

    return ds["refused"] > 0 if "refused" in ds else xarray.DataArray(False)
