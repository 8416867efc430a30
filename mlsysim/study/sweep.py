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
from mlsysim.models.binding import Binding, bind
from mlsysim.models.result import as_text
from mlsysim.symbolic import Variable, variable_of

if TYPE_CHECKING:
    import xarray


def sweep(
    model: PerformanceModel, arguments: Mapping[str, Any], outputs: str | Iterable[str] | None, refused: str = "raise"
) -> xarray.Dataset:
    """Evaluate a model on a grid.

    Parameters
    ----------
    model : PerformanceModel
        What is evaluated.
    arguments : mapping
        Arguments of ``solve``; those that are lists become dimensions.
    outputs : iterable of str, optional
        Names to compute; the headline outputs by default.
    refused : {"raise", "mask"}
        Whether combinations that do not fit are an error or missing values.

    Returns
    -------
    xarray.Dataset

    Raises
    ------
    InputError
        If nothing is swept, or any point is refused and not masked.
    """
    import xarray

    if not isinstance(refused, str) or refused not in ("raise", "mask"):
        raise InputError("refused", refused, "must be 'raise' or 'mask'")
    binding = bind(model, arguments, sweep=True, mask=refused == "mask")
    if not binding.axes:
        raise InputError("axes", dict(arguments), "give at least one argument as a list", "use solve() for one point")
    if outputs is None:
        names = [name for name in model.headline if name in binding.system]
    else:
        names = [model.require(name, binding).name for name in model.named_outputs(outputs)]
    found = evaluate(binding.system, names, binding.values)
    dims = tuple(binding.axes)
    sizes = [len(axis.canonical) for axis in binding.axes.values()]
    reasons = _reasons(binding, sizes)
    variables: dict[str, Any] = {}
    for name in names:
        variable = variable_of(name)
        values = np.broadcast_to(displayed(variable, found[name]), sizes)
        variables[name] = (dims, values if reasons is None else _masked(values, reasons > 0), attributes(variable))
    attrs: dict[str, Any] = described(model, binding)
    if refused == "mask":
        attrs["refused_points"] = 0 if reasons is None else int((reasons > 0).sum())
    if reasons is not None:
        meanings = ["accepted", *dict.fromkeys(reason for reason, _ in binding.refusals)]
        variables["refused"] = (dims, reasons, _flags("Why a point is refused", meanings))
    return xarray.Dataset(variables, coords=coordinates(binding), attrs=attrs)


def _reasons(binding: Binding, sizes: list[int]) -> np.ndarray | None:
    """Per point, 0 or the number of the first reason to refuse it; None where all are accepted."""
    if not binding.refusals:
        return None
    order = list(dict.fromkeys(reason for reason, _ in binding.refusals))
    reasons = np.zeros(sizes, dtype=np.int8)
    for reason, where in binding.refusals:
        reasons[np.broadcast_to(where, sizes) & (reasons == 0)] = order.index(reason) + 1
    return reasons


def _masked(values: np.ndarray, refused: np.ndarray) -> np.ndarray:
    """Missing values at refused points: nan, -1 for a label, False for a truth value."""
    if values.dtype == bool:
        return values & ~refused
    return np.where(refused, np.int8(-1) if values.dtype == np.int8 else np.nan, values)


def _flags(long_name: str, meanings: Iterable[str]) -> dict[str, Any]:
    words = [meaning.replace(" ", "_") for meaning in meanings]
    return {
        "long_name": long_name,
        "flag_values": np.arange(len(words), dtype=np.int8),
        "flag_meanings": " ".join(words),
    }


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
        found |= _flags(found["long_name"], variable.domain.labels)
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
    fixed = {name: as_text(variable_of(name), v) for name, v in binding.values.items() if np.ndim(v) == 0}
    entries = {name: e.name for name, e in binding.entries.items() if not isinstance(e, list)}
    return {
        "model": type(model).__name__,
        "variant": model.variant,
        "entries": json.dumps(entries),
        "fixed_inputs": json.dumps(fixed, ensure_ascii=False),
    }
