"""A sweep in blocks: into a file, or over a cluster, of a grid that need not fit in memory."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.engine.blocks import POINTS, blocks
from mlsysim.errors import InputError
from mlsysim.inputs.binding import Binding, bind
from mlsysim.inputs.convert import LARGEST_GRID, is_axis
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.store import Template
from mlsysim.study.stream import Grid, gather, write
from mlsysim.study.sweep import REFUSED, attributes, coordinates, described, flags, output_names, output_spec
from mlsysim.symbolic import variable_of

if TYPE_CHECKING:
    import xarray


def stored_sweep(
    model: DeclaredModel,
    arguments: Mapping[str, Any],
    outputs: str | Iterable[str] | None,
    refused: str,
    variant: Any,
    *,
    store: str | os.PathLike[str] | None,
    block_points: int | None,
    client: Any,
    progress: bool | None,
) -> xarray.Dataset:
    """Evaluate a model on a grid block by block; see :meth:`mlsysim.PerformanceModel.sweep`."""
    if block_points is not None and (
        isinstance(block_points, bool) or not isinstance(block_points, int) or block_points < 1
    ):
        raise InputError("block_points", block_points, "must be a whole number >= 1")
    if store is not None and not isinstance(store, str | os.PathLike):
        raise InputError("store", store, "must be a path", "as in store='sweep.zarr'")
    if not isinstance(refused, str) or refused not in ("raise", "mask"):
        raise InputError("refused", refused, "must be 'raise' or 'mask'")
    if is_axis(variant):
        raise InputError("variant", variant, "one variant at a time is computed in blocks")
    model = model if variant is None else type(model)(variant)
    binding = bind(model, arguments, sweep=True, mask=True, lazy=True)
    if not binding.axes:
        raise InputError("axes", dict(arguments), "give at least one argument as a list", "use solve() for one point")
    total = math.prod(binding.sizes)
    if refused == "raise":
        if total > LARGEST_GRID:
            allowed = f"a grid of more than {LARGEST_GRID:,} points is not checked before it is computed"
            raise InputError("refused", refused, allowed, "use refused='mask'")
        bind(model, arguments, sweep=True)
    if store is None and total > LARGEST_GRID:
        allowed = f"a grid in memory has at most {LARGEST_GRID:,} points; this one has {total:,}"
        raise InputError("axes", tuple(binding.axes), allowed, "name a file: store='sweep.zarr'")
    names = output_names([model], [binding], outputs)
    names += [e.variable.name for e in binding.derived if e.variable.name not in (*names, *binding.values)]
    grid, reasons = _grid(binding, names)
    template = Template(
        tuple(binding.axes),
        binding.sizes,
        grid.dtypes,
        described(model, binding),
        {name: attributes(variable_of(name)) for name in names}
        | ({REFUSED: flags("Why a point is refused", ["accepted", *reasons])} if reasons else {}),
        coordinates(binding),
    )
    points = POINTS if block_points is None else block_points
    if store is not None:
        return write(grid, template, store, block_points=points, client=client, progress=progress)
    return gather(grid, template, blocks(grid.sizes, points), client=client, progress=progress)


def _grid(binding: Binding, names: list[str]) -> tuple[Grid, list[str]]:
    """What is computed of every point, and the reasons for which points may be refused."""
    reasons = list(dict.fromkeys(reason for reason, _ in (*binding.refusals, *binding.conditions)))
    code = {reason: place + 1 for place, reason in enumerate(reasons)}
    grid = Grid(
        binding.system,
        binding.values,
        binding.sizes,
        tuple(output_spec(variable_of(name)) for name in names),
        tuple((code[reason], np.asarray(where)) for reason, where in binding.refusals),
        tuple((code[reason], condition) for reason, condition in binding.conditions),
        REFUSED if reasons else "",
    )
    return grid, reasons
