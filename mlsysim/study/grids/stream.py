"""The values of a grid block by block, in memory or on disk, here or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.backends.blocks import POINTS, Blocks, blocks
from mlsysim.progress import bar
from mlsysim.study.grids.cluster import each
from mlsysim.study.grids.filling import Filling
from mlsysim.study.grids.grid import Grid
from mlsysim.study.grids.template import Template

if TYPE_CHECKING:
    import xarray


def write(
    grid: Grid,
    template: Template,
    path: str | os.PathLike[str],
    *,
    block_points: int | None = None,
    client: Any = None,
    progress: bool | None = None,
) -> xarray.Dataset:
    """Fill a data set on disk, block by block.

    The finished blocks are noted in a small file beside it, so that the same call goes on where an
    interrupted one stopped, and computes nothing when all is finished. Blocks that have changed on disk
    are computed again.

    Parameters
    ----------
    grid : Grid
        What is computed.
    template : Template
        Names, coordinates and attributes.
    path : path
        Path of a Zarr group (``.zarr``) or a NetCDF file (``.nc``).
    block_points, client, progress
        As for :func:`~mlsysim.study.sweep.sweep`; errors are those of :meth:`Filling.run`.

    Returns
    -------
    xarray.Dataset
        Its values are read from disk when they are used.
    """

    def compute(parts: Blocks, numbers: Iterable[int]) -> Iterator[tuple[int, Any]]:
        return each(_block, (grid, parts), numbers, client)

    return Filling(path, template, grid.fingerprint()).run(
        compute, block_points or grid.block_points or POINTS, progress
    )


def gather(
    grid: Grid, *, block_points: int | None = None, client: Any = None, progress: bool | None = None
) -> dict[str, np.ndarray]:
    """Every variable of the data set, in memory. A sweep that is not split is one block.

    Parameters
    ----------
    grid, client, progress
        As for :func:`write`.
    block_points : int, optional
        Most points computed at once; all of them by default, on a cluster four million, and 16 where each takes long.

    Returns
    -------
    dict
        Array per variable, in the shape of the grid.
    """
    block_points = block_points or grid.block_points
    if block_points is None and client is None:
        return grid.arrays(tuple(slice(0, size) for size in grid.sizes))
    parts = blocks(grid.sizes, POINTS if block_points is None else block_points)
    arrays = {name: np.empty(grid.sizes, dtype) for name, dtype in grid.dtypes.items()}
    with bar("sweep", grid.points, show=progress) as advance:
        for number, found in each(_block, (grid, parts), range(parts.count), client):
            for name, values in found.items():
                arrays[name][parts.region(number)] = values
            advance(parts.points(number))
    return arrays


def _block(shared: tuple[Grid, Blocks], number: int) -> dict[str, np.ndarray]:
    grid, parts = shared
    return grid.arrays(parts.region(number))
