"""Uncertainty of the outputs at every point of a grid, as a data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.grids.dataset import attributes, coordinates, described
from mlsysim.study.uncertainties import statistics
from mlsysim.study.uncertainties.draws import Uncertain, conditions_of, evaluated, shares_that_hold
from mlsysim.symbolic import variable_of

QUANTILE, CONDITION = "quantile", "condition"


def on_grid(
    model: DeclaredModel,
    uncertain_inputs: Uncertain,
    outputs: Sequence[str],
    shares: np.ndarray,
    levels: Sequence[float],
    conditions: Sequence[Any],
    *,
    first_order: bool,
) -> Any:
    """Compute quantiles, mean and deviation of every output along the axes.

    Returns
    -------
    xarray.Dataset
        Per numeric output ``<output>`` along ``quantile`` and the axes, ``<output>_mean``, ``<output>_sd`` and
        ``<output>_first_order_sd``; per label or truth value its shares along a dimension of its name; ``probability``
        along ``condition``; ``refused_share``, and ``infinite_share_<output>`` if an output is infinite.
    """
    import xarray

    read_conditions = conditions_of(model, uncertain_inputs, conditions)
    values, conditions_hold, allowed = evaluated(uncertain_inputs, outputs, shares, read_conditions)
    numbers = [name for name in outputs if statistics.is_number(name)]
    parts = statistics.first_order(uncertain_inputs, numbers) if first_order else {}
    dims, data = uncertain_inputs.axes, {}
    coords = {
        name: coordinate
        for name, coordinate in coordinates(uncertain_inputs.varied.binding).items()
        if {*_dims(coordinate)} <= {*dims}
    }
    for name in outputs:
        variable, attrs = variable_of(name), attributes(variable_of(name))
        if not statistics.is_number(name):
            labels = variable.domain.labels or ("False", "True")
            shares_by_label = statistics.shares_of_codes(values[name], len(labels))
            data[f"{name}_share"] = ((name, *dims), shares_by_label, {"long_name": f"Share of the draws by {name}"})
            coords[name] = (name, np.array(labels, dtype=str))
            continue
        mean, sd = statistics.mean_and_sd(values[name])
        linear_sd = np.sqrt(sum(parts[name].values())) if parts.get(name) else None
        data[name] = ((QUANTILE, *dims), _in_unit(name, statistics.quantiles_of(values[name], levels)), attrs)
        for ending, what, array in (("mean", "Mean", mean), ("sd", "Standard deviation", sd),
                                    ("first_order_sd", "Deviation by the gradient", linear_sd)):  # fmt: skip
            if array is not None:
                data[f"{name}_{ending}"] = (dims, _in_unit(name, array), attrs | {"long_name": f"{what} of {name}"})
        infinite = statistics.infinite_share(values[name])
        if infinite.any():
            data[f"infinite_share_{name}"] = (dims, infinite, {"long_name": f"Share of draws with an infinite {name}"})
    if read_conditions:
        data["probability"] = (
            (CONDITION, *dims),
            shares_that_hold(conditions_hold, allowed),
            {"long_name": "Probability"},
        )
        coords[CONDITION] = (
            CONDITION,
            np.array([read_condition.text for read_condition in read_conditions], dtype=str),
        )
    data["refused_share"] = (dims, 1 - allowed.mean(axis=0), {"long_name": "Share of the draws that are refused"})
    if any(QUANTILE in variable_data[0] for variable_data in data.values()):
        coords[QUANTILE] = (QUANTILE, np.array(levels))
    about: dict[str, Any] = described([model], [uncertain_inputs.varied.binding])
    about["distributions"] = ", ".join(uncertain_inputs.texts)
    about["samples"] = len(shares)
    return xarray.Dataset(data, coords=coords, attrs=about)


def _in_unit(name: str, canonical: Any) -> np.ndarray:
    return np.asarray(units.from_canonical(np.asarray(canonical), variable_of(name).unit))


def _dims(coordinate: Any) -> tuple[str, ...]:
    dims = coordinate[0]
    return (dims,) if isinstance(dims, str) else tuple(dims)
