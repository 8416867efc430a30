"""A data set on disk that is filled block by block: a Zarr group or a NetCDF file."""

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
    """Place to which blocks are written."""

    #: Packages that it needs.
    needs: ClassVar[tuple[str, ...]]

    def __init__(self, path: Path) -> None:
        for package in self.needs:
            require("a store", package)
        self.path = path
        self._held: Any = None

    @abstractmethod
    def create(self, template: Template, block: tuple[int, ...]) -> None:
        """Lay out everything but the values."""

    @abstractmethod
    def open(self, *, writing: bool = True) -> None:
        """Make ready for writing, or for reading alone."""

    def read(self, region: Region, dtypes: Mapping[str, np.dtype]) -> dict[str, np.ndarray]:
        """One block of the variables named, as it was written."""
        return {name: np.asarray(self._held[name][region], dtype) for name, dtype in dtypes.items()}

    def write(self, region: Region, arrays: Mapping[str, np.ndarray]) -> None:
        """Write one block, so that it stays."""
        for name, array in arrays.items():
            self._held[name][region] = array

    def close(self) -> None:
        """Finish writing."""
        self._held = None

    @abstractmethod
    def dataset(self) -> xarray.Dataset:
        """The whole, read when it is asked for; in chunks where dask is installed."""


def store_at(path: str | os.PathLike[str]) -> Store:
    """The store at a path, whose ending says which kind it is.

    Raises
    ------
    InputError
        If it is not a path, or ends neither in ``.zarr`` nor in ``.nc``.
    """
    try:
        place = Path(path)
    except TypeError:
        raise InputError("store", path, "must be a path", "as in store='sweep.zarr'") from None
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


class ZarrStore(Store):
    """A Zarr group, one chunk per block."""

    needs = STORES[".zarr"]

    def create(self, template: Template, block: tuple[int, ...]) -> None:
        """Lay out everything but the values."""
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
        """Make ready for writing, or for reading alone."""
        import zarr

        # A block of missing values is written too, so that its bits can be compared.
        with zarr.config.set({"array.write_empty_chunks": True}):
            self._held = dict(zarr.open_group(str(self.path), mode="r+" if writing else "r").arrays())

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


class NetCDFStore(Store):
    """A NetCDF 4 file. Its whole space is taken when it is laid out, so that writing a block is a plain write."""

    needs = STORES[".nc"]

    def create(self, template: Template, block: tuple[int, ...]) -> None:
        """Lay out everything but the values."""
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
                held = np.dtype(np.int8) if dtype.kind == "b" else dtype
                made = file.create_variable(name, template.dims, held, dcpl=_taken_at_once())
                attrs = dict(template.variable_attrs.get(name, {}))
                if dtype.kind == "b":
                    attrs["dtype"] = "bool"
                for key, value in attrs.items():
                    made.attrs[key] = value
        # All of its space is taken now, where the system can do that.
        if hasattr(os, "posix_fallocate"):
            with self.path.open("r+b") as whole:
                os.posix_fallocate(whole.fileno(), 0, self.path.stat().st_size)

    def open(self, *, writing: bool = True) -> None:
        """Make ready for writing, or for reading alone."""
        import h5netcdf

        self._held = h5netcdf.File(str(self.path), "a" if writing else "r")

    def write(self, region: Region, arrays: Mapping[str, np.ndarray]) -> None:
        """Write one block, so that it stays; truth values as whole numbers."""
        super().write(region, {n: a.astype(np.int8) if a.dtype == bool else a for n, a in arrays.items()})
        self._held.flush()

    def close(self) -> None:
        """Finish writing."""
        file, self._held = self._held, None
        if file is not None:
            file.close()

    def dataset(self) -> xarray.Dataset:
        """The whole, read when it is asked for; in chunks where dask is installed."""
        import xarray

        return xarray.open_dataset(self.path, engine="h5netcdf", chunks=_chunks())


def _taken_at_once() -> Any:
    """Properties of an array that never moves within the file, so that a process that dies breaks nothing."""
    import h5py

    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    return properties


def _chunks() -> Any:
    from importlib.util import find_spec

    return {} if find_spec("dask") else None
