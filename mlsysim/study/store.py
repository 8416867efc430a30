"""A data set on disk that is filled block by block: a Zarr group or a NetCDF file."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mlsysim.engine.blocks import Region
from mlsysim.errors import InputError
from mlsysim.extras import require

if TYPE_CHECKING:
    import xarray

MISSING = {"f": np.nan, "i": -1, "b": False}


@dataclass(frozen=True)
class Template:
    """A data set before its values are known.

    Attributes
    ----------
    dims : tuple of str
        Of every variable.
    sizes : tuple of int
        Length of each.
    dtypes : dict
        Type per variable.
    attrs : dict
        Of the data set.
    variable_attrs : dict
        Attributes per variable.
    coords : dict
        As ``xarray.Dataset`` takes them.
    """

    dims: tuple[str, ...]
    sizes: tuple[int, ...]
    dtypes: Mapping[str, np.dtype]
    attrs: Mapping[Any, Any] = field(default_factory=dict)
    variable_attrs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    coords: Mapping[str, Any] = field(default_factory=dict)

    def without_variables(self) -> xarray.Dataset:
        """Its coordinates and attributes alone."""
        import xarray

        return xarray.Dataset(coords=dict(self.coords), attrs=dict(self.attrs))


class Store(Protocol):
    """Where blocks are written."""

    path: Path

    def create(self, template: Template, block: tuple[int, ...]) -> None:
        """Lay out everything but the values."""
        ...

    def open(self) -> None:
        """Make ready for writing."""
        ...

    def write(self, region: Region, arrays: Mapping[str, np.ndarray]) -> None:
        """Write one block, so that it stays."""
        ...

    def close(self) -> None:
        """Finish writing."""
        ...

    def dataset(self) -> xarray.Dataset:
        """The whole, read when it is asked for; in chunks where dask is installed."""
        ...


def store_at(path: str | Path) -> Store:
    """The kind of store that a path names.

    Raises
    ------
    InputError
        If it ends neither in ``.zarr`` nor in ``.nc``.
    """
    place = Path(path)
    if place.suffix == ".zarr":
        return ZarrStore(place)
    if place.suffix in (".nc", ".nc4", ".h5"):
        return NetCDFStore(place)
    raise InputError("store", str(path), "must end in .zarr (a Zarr group) or .nc (a NetCDF file)")


def remove(path: Path) -> None:
    """Remove a store that was never filled."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


class ZarrStore:
    """A Zarr group, one chunk per block."""

    def __init__(self, path: Path) -> None:
        require("a store", "zarr")
        self.path = path
        self._arrays: dict[str, Any] = {}

    def create(self, template: Template, block: tuple[int, ...]) -> None:
        """Lay out everything but the values."""
        import zarr

        empty = template.without_variables()
        # Text of a fixed length has no specification in Zarr 3.
        text = {name: coord.astype(object) for name, coord in empty.coords.items() if coord.dtype.kind == "U"}
        empty.assign_coords(text).to_zarr(self.path, mode="w", zarr_format=3, consolidated=False)
        group = zarr.open_group(str(self.path), mode="r+")
        for name, dtype in template.dtypes.items():
            group.create_array(
                name,
                shape=template.sizes,
                chunks=tuple(map(min, block, template.sizes)),
                dtype=dtype,
                fill_value=MISSING[dtype.kind],
                dimension_names=template.dims,
                attributes={key: _plain(value) for key, value in template.variable_attrs.get(name, {}).items()},
            )

    def open(self) -> None:
        """Make ready for writing."""
        import zarr

        self._arrays = dict(zarr.open_group(str(self.path), mode="r+").arrays())

    def write(self, region: Region, arrays: Mapping[str, np.ndarray]) -> None:
        """Write one block, so that it stays."""
        for name, array in arrays.items():
            self._arrays[name][region] = array

    def close(self) -> None:
        """Finish writing."""
        self._arrays = {}

    def dataset(self) -> xarray.Dataset:
        """The whole, read when it is asked for; in chunks where dask is installed."""
        import xarray

        found = xarray.open_zarr(self.path, consolidated=False, chunks=_chunks())
        # Text is read as NumPy's variable-width strings, which a sweep in memory does not have.
        texts = {
            name: (array.dims, np.array(array.values.tolist()), array.attrs)
            for name, array in found.coords.items()
            if array.dtype.kind == "T"
        }
        return found.assign_coords(texts)


class NetCDFStore:
    """A NetCDF 4 file whose space is taken when it is laid out, so that a block is a plain write."""

    def __init__(self, path: Path) -> None:
        require("a store", "h5netcdf")
        require("a store", "h5py")
        self.path = path
        self._file: Any = None

    def create(self, template: Template, block: tuple[int, ...]) -> None:
        """Lay out everything but the values."""
        import h5netcdf

        template.without_variables().to_netcdf(self.path, mode="w", engine="h5netcdf")
        with h5netcdf.File(str(self.path), "a") as file:
            for name, size in zip(template.dims, template.sizes, strict=True):
                if name not in file.dimensions:
                    file.dimensions[name] = size
            for name, dtype in template.dtypes.items():
                held = np.dtype(np.int8) if dtype.kind == "b" else dtype
                made = file.create_variable(name, template.dims, held, dcpl=_taken_at_once())
                attrs = dict(template.variable_attrs.get(name, {}))
                if dtype.kind == "b":
                    attrs["dtype"] = "bool"
                for key, value in attrs.items():
                    made.attrs[key] = value

    def open(self) -> None:
        """Make ready for writing."""
        import h5netcdf

        self._file = h5netcdf.File(str(self.path), "a")

    def write(self, region: Region, arrays: Mapping[str, np.ndarray]) -> None:
        """Write one block, so that it stays."""
        for name, array in arrays.items():
            self._file[name][region] = array.astype(np.int8) if array.dtype == bool else array
        self._file.flush()

    def close(self) -> None:
        """Finish writing."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def dataset(self) -> xarray.Dataset:
        """The whole, read when it is asked for; in chunks where dask is installed."""
        import xarray

        return xarray.open_dataset(self.path, engine="h5netcdf", chunks=_chunks())


def _taken_at_once() -> Any:
    """Properties of an array whose place in the file never moves, so that a lost process breaks nothing."""
    import h5py

    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    return properties


def _plain(value: Any) -> Any:
    """An attribute as JSON holds it."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _chunks() -> Any:
    from importlib.util import find_spec

    return {} if find_spec("dask") else None
