"""Evaluation of a grid block by block, in memory or on disk, here or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.backends.blocks import POINTS, Blocks, blocks
from mlsysim.progress import bar
from mlsysim.study.grids.cluster import map_items
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

    Finished blocks are recorded in a small file beside the data set, so the same call resumes after an interruption and
    computes nothing once all are finished. Blocks that have changed on disk are computed again.

    Parameters
    ----------
    grid : Grid
        Grid to evaluate.
    template : Template
        Names, coordinates and attributes.
    path : path
        Path of a Zarr group (``.zarr``) or a NetCDF file (``.nc``).
    block_points, client, progress
        As for :func:`~mlsysim.study.sweep.sweep`; errors are those of :meth:`Filling.run`.

    Returns
    -------
    xarray.Dataset
        Data set whose values are read from disk on access.
    """

    def compute(tiling: Blocks, indices: Iterable[int]) -> Iterator[tuple[int, Any]]:
        return map_items(_block, (grid, tiling), indices, client)

    return Filling(path, template, grid.fingerprint()).run(
        compute, block_points or grid.block_points or POINTS, progress
    )


def gather(
    grid: Grid, *, block_points: int | None = None, client: Any = None, progress: bool | None = None
) -> dict[str, np.ndarray]:
    """Evaluate every variable of the data set in memory; without a block size the grid is one block.

    Parameters
    ----------
    grid, client, progress
        As for :func:`write`.
    block_points : int, optional
        Most points evaluated at once; by default all, on a cluster four million, and 16 where each point takes long.

    Returns
    -------
    dict
        Array per variable, in the shape of the grid.
    """
    block_points = block_points or grid.block_points
    if block_points is None and client is None:
        return grid.arrays(tuple(slice(0, size) for size in grid.sizes))
    tiling = blocks(grid.sizes, POINTS if block_points is None else block_points)
    arrays = {name: np.empty(grid.sizes, dtype) for name, dtype in grid.dtypes.items()}
    with bar("sweep", grid.points, show=progress) as advance:
        for index, block in map_items(_block, (grid, tiling), range(tiling.count), client):
            for name, values in block.items():
                arrays[name][tiling.region(index)] = values
            advance(tiling.points(index))
    return arrays


def _block(shared: tuple[Grid, Blocks], index: int) -> dict[str, np.ndarray]:
    grid, tiling = shared
    return grid.arrays(tiling.region(index))
