"""Stores: data sets on disk that are filled block by block, as a Zarr group or a NetCDF file."""

from __future__ import annotations

import errno
import math
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlsysim.backends.blocks import Region
from mlsysim.errors import InputError
from mlsysim.extras import STORES, require
from mlsysim.study.grids.template import Template

if TYPE_CHECKING:
    import xarray

#: Bytes kept free for the headers of a NetCDF file.
HEADER = 2**20
MISSING = {"f": np.nan, "i": -1, "b": False}


class Store(ABC):
    """A data set on disk to which blocks are written."""

    #: Packages required.
    needs: ClassVar[tuple[str, ...]]

    def __init__(self, path: Path) -> None:
        for package in self.needs:
            require("a store", package)
        self.path = path
        self._held: Any = None

    @abstractmethod
    def create(self, template: Template, block: tuple[int, ...]) -> None:
        """Create the data set without its values."""

    @abstractmethod
    def open(self, *, writing: bool = True) -> None:
        """Open for writing, or for reading only."""

    def read(self, region: Region, dtypes: Mapping[str, np.dtype]) -> dict[str, np.ndarray]:
        """Read one block of some variables, as written."""
        return {name: np.asarray(self._held[name][region], dtype) for name, dtype in dtypes.items()}

    def write(self, region: Region, arrays: Mapping[str, np.ndarray]) -> None:
        """Write one block durably."""
        for name, array in arrays.items():
            self._held[name][region] = array

    def close(self) -> None:
        """Finish writing."""
        self._held = None

    @abstractmethod
    def dataset(self) -> xarray.Dataset:
        """Open the data set, read on access; in chunks if dask is installed."""


def store_at(path: str | os.PathLike[str]) -> Store:
    """Return the store at a path, by its suffix.

    Raises
    ------
    InputError
        If it is no path, or ends neither in ``.zarr`` nor in ``.nc``.
    """
    try:
        location = Path(path)
    except TypeError:
        raise InputError("store", path, "must be a path", "as in store='sweep.zarr'") from None
    if location.suffix == ".zarr":
        return ZarrStore(location)
    if location.suffix in (".nc", ".nc4", ".h5"):
        return NetCDFStore(location)
    raise InputError("store", str(path), "must end in .zarr (a Zarr group) or .nc (a NetCDF file)")


def remove(path: Path) -> None:
    """Delete a store that was never filled."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


class ZarrStore(Store):
    """A Zarr group, one chunk per block."""

    needs = STORES[".zarr"]

    def create(self, template: Template, block: tuple[int, ...]) -> None:
        """Create the data set without its values."""
        import zarr

        empty = template.without_variables()
        # Text of a fixed length has no specification in Zarr 3.
        text = {name: coord.astype(object) for name, coord in empty.coords.items() if coord.dtype.kind == "U"}
        empty.assign_coords(text).to_zarr(self.path, mode="w", zarr_format=3, consolidated=False)
        group = zarr.open_group(str(self.path), mode="r+")
        for name, dtype in template.dtypes.items():
            attrs = template.variable_attrs.get(name, {}).items()
            group.create_array(
                name,
                shape=template.sizes,
                chunks=tuple(map(min, block, template.sizes)),
                dtype=dtype,
                fill_value=MISSING[dtype.kind],
                dimension_names=template.dims,
                attributes={key: v.tolist() if isinstance(v, np.ndarray | np.generic) else v for key, v in attrs},
            )

    def open(self, *, writing: bool = True) -> None:
        """Open for writing, or for reading only."""
        import zarr

        # Blocks of missing values are written, too, so that their bits can be compared.
        with zarr.config.set({"array.write_empty_chunks": True}):
            self._held = dict(zarr.open_group(str(self.path), mode="r+" if writing else "r").arrays())

    def dataset(self) -> xarray.Dataset:
        """Open the data set, read on access; in chunks if dask is installed."""
        import xarray

        dataset = xarray.open_zarr(self.path, consolidated=False, chunks=_chunks())
        # Text is read as NumPy's variable-width strings, which a sweep in memory does not have.
        texts = {
            name: (array.dims, np.array(array.values.tolist()), array.attrs)
            for name, array in dataset.coords.items()
            if array.dtype.kind == "T"
        }
        return dataset.assign_coords(texts)


class NetCDFStore(Store):
    """A NetCDF 4 file. All its space is allocated on creation, so that writing a block is a plain write."""

    needs = STORES[".nc"]

    def create(self, template: Template, block: tuple[int, ...]) -> None:
        """Create the data set without its values."""
        import h5netcdf

        empty = template.without_variables()
        values = math.prod(template.sizes) * sum(dtype.itemsize for dtype in template.dtypes.values())
        size = values + empty.nbytes + HEADER
        # HDF5 leaves a process broken when the disk runs full.
        if shutil.disk_usage(self.path.parent).free < size:
            raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)} for {size / 1e9:.3g} GB")
        empty.to_netcdf(self.path, mode="w", engine="h5netcdf")
        with h5netcdf.File(str(self.path), "a") as file:
            for name, size in zip(template.dims, template.sizes, strict=True):
                if name not in file.dimensions:
                    file.dimensions[name] = size
            for name, dtype in template.dtypes.items():
                stored_dtype = np.dtype(np.int8) if dtype.kind == "b" else dtype
                variable = file.create_variable(name, template.dims, stored_dtype, dcpl=_taken_at_once())
                attrs = dict(template.variable_attrs.get(name, {}))
                if dtype.kind == "b":
                    attrs["dtype"] = "bool"
                for key, value in attrs.items():
                    variable.attrs[key] = value
        # Allocate all of its space now, if the system supports that.
        if hasattr(os, "posix_fallocate"):
            with self.path.open("r+b") as whole:
                os.posix_fallocate(whole.fileno(), 0, self.path.stat().st_size)

    def open(self, *, writing: bool = True) -> None:
        """Open for writing, or for reading only."""
        import h5netcdf

        self._held = h5netcdf.File(str(self.path), "a" if writing else "r")

    def write(self, region: Region, arrays: Mapping[str, np.ndarray]) -> None:
        """Write one block durably; truth values as whole numbers."""
        super().write(
            region, {name: array.astype(np.int8) if array.dtype == bool else array for name, array in arrays.items()}
        )
        self._held.flush()

    def close(self) -> None:
        """Finish writing."""
        file, self._held = self._held, None
        if file is not None:
            file.close()

    def dataset(self) -> xarray.Dataset:
        """Open the data set, read on access; in chunks if dask is installed."""
        import xarray

        return xarray.open_dataset(self.path, engine="h5netcdf", chunks=_chunks())


def _taken_at_once() -> Any:
    """Properties of an array that never moves within the file, so that a killed process leaves it intact."""
    import h5py

    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    return properties


def _chunks() -> Any:
    from importlib.util import find_spec

    return {} if find_spec("dask") else None
