"""A data set on disk that is filled block by block: a Zarr group or a NetCDF file."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mlsysim.engine.blocks import Region
from mlsysim.errors import InputError
from mlsysim.extras import require

if TYPE_CHECKING:
    import xarray

#: Bytes kept free for the headers of a NetCDF file.
HEADER = 2**20
#: Parts of what is known of a data set before its values.
DIMENSIONS, COORDINATE = "dimensions", "coordinate"
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

    def marks(self) -> dict[str, str]:
        """All that is known before the values, part by part, as text."""
        sizes = dict(zip(self.dims, self.sizes, strict=True))
        variables = {
            name: (self.dims, dtype.str, self.variable_attrs.get(name, {})) for name, dtype in self.dtypes.items()
        }
        return _marks(sizes, self.without_variables().coords, variables, self.attrs)

    def fingerprint(self) -> dict[str, str]:
        """What a store is recognised by, beside what its values follow from."""
        marks = self.marks()
        coordinates = {part: text for part, text in marks.items() if part.startswith(COORDINATE)}
        attributes = {part: text for part, text in marks.items() if part not in coordinates and part != DIMENSIONS}
        return {
            "dimensions": marks[DIMENSIONS],
            "coordinates": json.dumps(coordinates, sort_keys=True),
            "attributes": json.dumps(attributes, sort_keys=True),
        }

    def changed(self, dataset: xarray.Dataset) -> list[str]:
        """Which parts of a data set on disk are not those that were laid out."""
        variables = {
            name: (array.dims, array.dtype.str, array.attrs)
            for name, array in dataset.data_vars.items()
            if name in self.dtypes
        }
        sizes = {dim: dataset.sizes[dim] for dim in self.dims if dim in dataset.sizes}
        found, laid_out = _marks(sizes, dataset.coords, variables, dataset.attrs), self.marks()
        return [part for part in {**laid_out, **found} if found.get(part) != laid_out.get(part)]


class Store(Protocol):
    """Where blocks are written."""

    path: Path

    def create(self, template: Template, block: tuple[int, ...]) -> None:
        """Lay out everything but the values."""
        ...

    def open(self, *, writing: bool = True) -> None:
        """Make ready for writing, or for reading alone."""
        ...

    def read(self, region: Region, dtypes: Mapping[str, np.dtype]) -> dict[str, np.ndarray]:
        """One block of the variables named, as it was written."""
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


def store_at(path: str | os.PathLike[str]) -> Store:
    """The kind of store that a path names.

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

    def open(self, *, writing: bool = True) -> None:
        """Make ready for writing, or for reading alone."""
        import zarr

        # A block of missing values is written too, so that its bits can be compared.
        with zarr.config.set({"array.write_empty_chunks": True}):
            self._arrays = dict(zarr.open_group(str(self.path), mode="r+" if writing else "r").arrays())

    def read(self, region: Region, dtypes: Mapping[str, np.dtype]) -> dict[str, np.ndarray]:
        """One block of the variables named, as it was written."""
        return {name: np.asarray(self._arrays[name][region], dtype) for name, dtype in dtypes.items()}

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

        empty = template.without_variables()
        values = math.prod(template.sizes) * sum(dtype.itemsize for dtype in template.dtypes.values())
        _refuse_full_disk(self.path, values + empty.nbytes + HEADER)
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
        _take_space(self.path)

    def open(self, *, writing: bool = True) -> None:
        """Make ready for writing, or for reading alone."""
        import h5netcdf

        self._file = h5netcdf.File(str(self.path), "a" if writing else "r")

    def read(self, region: Region, dtypes: Mapping[str, np.dtype]) -> dict[str, np.ndarray]:
        """One block of the variables named, as it was written."""
        return {name: np.asarray(self._file[name][region], dtype) for name, dtype in dtypes.items()}

    def write(self, region: Region, arrays: Mapping[str, np.ndarray]) -> None:
        """Write one block, so that it stays."""
        for name, array in arrays.items():
            self._file[name][region] = array.astype(np.int8) if array.dtype == bool else array
        self._file.flush()

    def close(self) -> None:
        """Finish writing."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def dataset(self) -> xarray.Dataset:
        """The whole, read when it is asked for; in chunks where dask is installed."""
        import xarray

        return xarray.open_dataset(self.path, engine="h5netcdf", chunks=_chunks())


def _marks(
    sizes: Mapping[str, int],
    coords: Mapping[Any, Any],
    variables: Mapping[Any, tuple[Sequence[Any], str, Mapping[Any, Any]]],
    attrs: Mapping[Any, Any],
) -> dict[str, str]:
    found = {DIMENSIONS: json.dumps(sizes), "attributes of the data set": _text_of_attributes(attrs)}
    for name, coord in coords.items():
        texts = coord.dtype.kind in "UOT"
        values = json.dumps(coord.values.tolist()).encode() if texts else np.ascontiguousarray(coord.values).tobytes()
        kind = "text" if texts else coord.dtype.str
        digest = hashlib.sha256(values).hexdigest()
        found[f"{COORDINATE} {name}"] = f"{coord.dims} {kind} {digest} {_text_of_attributes(coord.attrs)}"
    for name, (dims, dtype, own) in variables.items():
        found[f"variable {name}"] = f"{tuple(dims)} {dtype} {_text_of_attributes(own)}"
    return found


def _text_of_attributes(attrs: Mapping[Any, Any]) -> str:
    plain = {key: np.ravel(value).tolist() for key, value in attrs.items()}
    return json.dumps(plain, sort_keys=True, ensure_ascii=False)


def _refuse_full_disk(path: Path, size: int) -> None:
    """HDF5 leaves a process broken where the disk gets full, so it is asked before."""
    if shutil.disk_usage(path.parent).free < size:
        raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)} for {size / 1e9:.3g} GB")


def _take_space(path: Path) -> None:
    """Take all of the space of a file now, where the system can."""
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


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
