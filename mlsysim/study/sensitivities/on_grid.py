"""Sensitivity on a grid, as a data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.backends import derivatives
from mlsysim.inputs.binding import Binding
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.grids.dataset import attributes, coordinates, described
from mlsysim.study.sensitivities.jumps import jumping
from mlsysim.study.sensitivities.second import cross_elasticities, elasticities
from mlsysim.symbolic import System, Variable, variable_of


def on_grid(
    model: DeclaredModel, output: Variable, binding: Binding, system: System, smooth: Sequence[str], *, second: bool
) -> Any:
    """Build gradients with units, elasticities and ranks along the axes; with ``second`` also cross-elasticities."""
    import xarray

    partials = derivatives(system, [output.name], smooth, binding.values, 2 if second else 1)[output.name]
    dims, sizes = tuple(binding.axes), binding.sizes
    finite = np.where(np.isfinite(partials[()]), 1.0, np.nan)
    data: dict[str, Any] = {}
    through = jumping(system, output.name)
    for name in smooth:
        scale, unit = units.per(output.unit, variable_of(name).unit)
        attrs = {
            "units": f"{unit:~P}",
            "long_name": f"Gradient of {output.name} with respect to {name}",
            "steps": " ".join(through[name]),
        }
        data[f"gradient_{name}"] = (dims, np.broadcast_to(partials.get((name,), 0.0) * scale * finite, sizes), attrs)
    stack = elasticities(smooth, partials, binding.values, sizes)
    data["elasticity"] = (("input", *dims), stack, {"long_name": f"Elasticity of {output.name}"})
    ranks = {"long_name": f"Rank of the input by the size of the elasticity of {output.name}, 1 the strongest"}
    data["elasticity_rank"] = (("input", *dims), _ranks(stack), ranks)
    coords = {**coordinates(binding), "input": ("input", np.array(smooth, dtype=str))}
    if second:
        about = f"Second derivative of the logarithm of {output.name} by the logarithms of two inputs"
        cross = cross_elasticities(smooth, partials, binding.values, sizes)
        data["cross_elasticity"] = (("input", "other", *dims), cross, {"long_name": about})
        coords["other"] = ("other", np.array(smooth, dtype=str))
    dataset = xarray.Dataset(data, coords=coords, attrs=described([model], [binding]))
    dataset.attrs["output"] = output.name
    dataset.attrs["output_units"] = attributes(output).get("units", "")
    return dataset


def _ranks(elasticities: np.ndarray) -> np.ndarray:
    """Rank along the first axis, 1 the strongest; 0 if the elasticity is zero or undefined."""
    sizes = np.nan_to_num(np.abs(elasticities))
    order = np.argsort(-sizes, axis=0, kind="stable")
    ranks = np.empty(sizes.shape, np.int16)
    ranks_in_order = np.arange(1, len(sizes) + 1, dtype=np.int16).reshape(-1, *[1] * (sizes.ndim - 1))
    np.put_along_axis(ranks, order, np.broadcast_to(ranks_in_order, sizes.shape), axis=0)
    return np.where(sizes > 0, ranks, 0).astype(np.int16)
