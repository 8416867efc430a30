"""Packages that only some questions need, and how to get them."""

from __future__ import annotations

from importlib.util import find_spec

from mlsysim.errors import MissingPackageError

#: The extra of pyproject.toml that has each package.
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
#: Packages that write a grid to a file, by the ending of its name.
STORES = {".zarr": ("filelock", "zarr"), ".nc": ("filelock", "h5netcdf", "h5py")}


def installed(package: str) -> bool:
    """Tell whether a package that is of use but not needed is there.

    Parameters
    ----------
    package : str
        One of ``EXTRAS``.
    """
    return find_spec(package) is not None


def require(what: str, package: str) -> None:
    """Refuse what needs a package that is not installed.

    Parameters
    ----------
    what : str
        What needs it, as the error begins: ``"a figure"``.
    package : str
        One of ``EXTRAS``.

    Raises
    ------
    MissingPackageError
        If it is not installed; says how to install it.
    """
    if not installed(package):
        raise MissingPackageError(what, package, EXTRAS[package])
