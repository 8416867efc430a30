"""Grids: a model on every combination of the arguments that are lists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import units
from mlsysim.engine import evaluate
from mlsysim.errors import InputError
from mlsysim.models import PerformanceModel
from mlsysim.models.binding import Binding
from mlsysim.symbolic import Variable, variable_of

if TYPE_CHECKING:
    import xarray


def sweep(model: PerformanceModel, arguments: Mapping[str, Any], outputs: str | Iterable[str] | None) -> xarray.Dataset:
    """Evaluate a model on a grid.

    Parameters
    ----------
    model : PerformanceModel
        What is evaluated.
    arguments : mapping
        Arguments of ``solve``; those that are lists become dimensions.
    outputs : iterable of str, optional
        Names to compute; the headline outputs by default.

    Returns
    -------
    xarray.Dataset

    Raises
    ------
    InputError
        If nothing is swept, or any point is refused.
    """
    import xarray

    binding = model.bind((), arguments, sweep=True)
    if not binding.axes:
        raise InputError("axes", dict(arguments), "give at least one argument as a list", "use solve() for one point")
    if outputs is None:
        names = [name for name in model.headline if name in binding.system]
    else:
        names = [model.require(name, binding).name for name in model.named_outputs(outputs)]
    found = evaluate(binding.system, names, binding.values)
    sizes = [len(axis.canonical) for axis in binding.axes.values()]
    variables = {
        name: (
            tuple(binding.axes),
            np.broadcast_to(displayed(variable_of(name), found[name]), sizes),
            attributes(variable_of(name)),
        )
        for name in names
    }
    return xarray.Dataset(variables, coords=coordinates(binding), attrs=described(model, binding))


def displayed(variable: Variable, values: np.ndarray) -> np.ndarray:
    """Canonical values as a data set shows them: in the variable's unit, codes and counts whole."""
    if variable.domain.kind == "boolean":
        return values.astype(bool)
    if variable.domain.kind == "choice":
        return values.astype(np.int8)
    amounts = np.asarray(units.from_canonical(values, variable.unit))
    if variable.domain.kind == "integer" and np.isfinite(amounts).all():
        return amounts.astype(np.int64)
    return amounts


def attributes(variable: Variable) -> dict[str, Any]:
    """``units``, ``long_name`` and LaTeX of a variable; flag codes and meanings of a label (CF)."""
    found: dict[str, Any] = {"long_name": variable.description.rstrip("."), "latex": variable.latex}
    if variable.domain.kind == "choice":
        labels = variable.domain.labels
        found["flag_values"] = np.arange(len(labels), dtype=np.int8)
        found["flag_meanings"] = " ".join(label.replace(" ", "_") for label in labels)
    elif variable.dimension:
        found["units"] = variable.unit
    return found


def coordinates(binding: Binding) -> dict[str, Any]:
    """The axes as coordinates of a data set, in the units they were typed in."""
    coords: dict[str, Any] = {}
    for name, axis in binding.axes.items():
        attrs: dict[str, Any] = {}
        if name not in binding.entries:
            variable = variable_of(name)
            attrs = {"long_name": variable.description.rstrip("."), "latex": variable.latex}
            if axis.unit:
                attrs["units"] = axis.unit
        coords[name] = (name, axis.coordinates, attrs)
    return coords


def described(model: PerformanceModel, binding: Binding) -> dict[str, str]:
    """Model, variant and the inputs that were not swept, as attributes of a data set."""
    fixed = {name: float(v) for name, v in binding.values.items() if np.ndim(v) == 0}
    entries = {name: e.name for name, e in binding.entries.items() if not isinstance(e, list)}
    return {
        "model": type(model).__name__,
        "variant": model.variant,
        "entries": json.dumps(entries),
        "fixed_inputs": json.dumps(fixed),
        "fixed_inputs_units": "canonical: byte, second, FLOP, token, request, USD",
    }
