"""Optional packages, and how to install them."""

from __future__ import annotations

from importlib.util import find_spec

from mlsysim.errors import MissingPackageError

#: Extra of pyproject.toml that contains each package.
EXTRAS = {
    "matplotlib": "plot",
    "filelock": "store",
    "zarr": "store",
    "h5netcdf": "store",
    "h5py": "store",
    "distributed": "cluster",
    "numba": "fast",
    "SALib": "sobol",
    "plotly": "interactive",
}
#: Packages that write grids to files, by file extension.
STORES = {".zarr": ("filelock", "zarr"), ".nc": ("filelock", "h5netcdf", "h5py")}


def installed(package: str) -> bool:
    """Tell whether a package that is of use but not needed is there.

    Parameters
    ----------
    package : str
        One of the packages in ``EXTRAS``.
    """
    return find_spec(package) is not None


def require(what: str, package: str) -> None:
    """Refuse a feature whose package is not installed.

    Parameters
    ----------
    what : str
        Feature, as the error begins: ``"a figure"``.
    package : str
        One of the packages in ``EXTRAS``.

    Raises
    ------
    MissingPackageError
        If it is not installed; the error says how to install it.
    """
    if not installed(package):
        raise MissingPackageError(what, package, EXTRAS[package])
