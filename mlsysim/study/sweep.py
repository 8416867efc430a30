"""Grids: a model on every combination of the arguments that are lists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import units
from mlsysim.engine import Shown, evaluate_shown
from mlsysim.errors import InputError
from mlsysim.inputs.binding import Binding, bind
from mlsysim.inputs.convert import LARGEST_GRID, is_axis
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.display import as_text
from mlsysim.symbolic import Variable, variable_of

if TYPE_CHECKING:
    import xarray

#: The dimension of a sweep over variants.
VARIANT = "variant"
#: The variable that says why points are refused.
REFUSED = "refused"


def sweep(
    model: DeclaredModel,
    /,
    *entries: Any,
    outputs: Iterable[str] | None = None,
    refused: str = "raise",
    variant: str | Sequence[str] | None = None,
    store: Any = None,
    block_points: int | None = None,
    client: Any = None,
    progress: bool | None = None,
    **axes: Any,
) -> Any:
    """Evaluate the model on the grid of all combinations of the arguments that are lists.

    Several arguments along one axis: ``layout=mlsysim.linked(tp_size=[1, 2], pp_size=[8, 4])``;
    one that follows from others: ``dp_size=mlsysim.derived("512 / (tp_size * pp_size)")``.

    Parameters
    ----------
    outputs : iterable of str, optional
        Names to compute; the headline outputs by default.
    refused : {"raise", "mask"}
        What becomes of combinations that do not fit (sizes that do not divide, a device without
        a rate for the format): an error before anything is computed, or missing values, with the
        reason per point in ``refused`` and their number, in all and by reason, in ``attrs``.
    variant : str or sequence of str, optional
        Another variant than the model's; several become a dimension, with the outputs they share.
    store : path, optional
        A Zarr group (``.zarr``) or NetCDF file (``.nc``) that is filled block by block, for grids
        of any size. Interrupted, the same call goes on where it stopped.
    block_points : int, optional
        Most points held at once; four million by default.
    client : dask.distributed.Client, optional
        Of a cluster that computes the blocks.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal, for what is computed in blocks.

    Returns
    -------
    xarray.Dataset
        One dimension per swept argument, units in ``attrs``; labels as flag codes with their
        meanings, -1 where refused (CF convention).

    Raises
    ------
    InputError
        As for ``solve``.
    """
    arguments = model.named_arguments(entries, axes)
    if store is None and block_points is None and client is None:
        return _in_memory(model, arguments, outputs, refused, variant)
    from mlsysim.study.stored import stored_sweep

    return stored_sweep(
        model,
        arguments,
        outputs,
        refused,
        variant,
        store=store,
        block_points=block_points,
        client=client,
        progress=progress,
    )


def _in_memory(
    model: DeclaredModel,
    arguments: Mapping[str, Any],
    outputs: str | Iterable[str] | None,
    refused: str,
    variant: str | Sequence[str] | None,
) -> xarray.Dataset:
    """The whole grid at once."""
    import xarray

    if not isinstance(refused, str) or refused not in ("raise", "mask"):
        raise InputError("refused", refused, "must be 'raise' or 'mask'")
    models = _variants(model, variant)
    mask = refused == "mask"
    bindings = [bind(each, arguments, sweep=True, mask=mask) for each in models]
    several = is_axis(variant)
    if not bindings[0].axes and not several:
        raise InputError("axes", dict(arguments), "give at least one argument as a list", "use solve() for one point")
    _refuse_size(bindings)
    names = output_names(models, bindings, outputs)
    order = list(dict.fromkeys(reason for binding in bindings for reason, _ in binding.refusals))
    grids = [_evaluated(binding, names, order) for binding in bindings]

    def gathered(arrays: Sequence[np.ndarray]) -> np.ndarray:
        return np.stack(arrays) if several else arrays[0]

    dims = (VARIANT, *bindings[0].axes) if several else tuple(bindings[0].axes)
    variables: dict[str, Any] = {}
    for name in names:
        entry = variable_of(name)
        variables[name] = (dims, _whole(entry, gathered([grid[name] for grid in grids])), attributes(entry))
    attrs: dict[str, Any] = _described(models, bindings)
    counts: list[int] = []
    if order:
        why = gathered([grid[REFUSED] for grid in grids])
        variables[REFUSED] = (dims, why, flags("Why a point is refused", ["accepted", *order]))
        counts = np.bincount(why.ravel(), minlength=len(order) + 1)[1:].tolist()
    if mask:
        attrs["refused_points"] = sum(counts)
        attrs["refused_reasons"] = json.dumps(dict(zip(order, counts, strict=True)))
    coords = coordinates(bindings[0])
    if several:
        coords |= _differing(bindings)
        coords[VARIANT] = (VARIANT, [each.variant for each in models], {"long_name": "Set of formulas"})
    return xarray.Dataset(variables, coords=coords, attrs=attrs)


def _variants(model: DeclaredModel, variant: Any) -> list[DeclaredModel]:
    """The model in every variant asked for."""
    if variant is None:
        return [model]
    if not is_axis(variant):
        return [type(model)(variant)]
    found = [type(model)(name) for name in variant]
    if not found or len({each.variant for each in found}) != len(found):
        raise InputError(VARIANT, variant, "an axis has at least one variant, and each once")
    return found


def _refuse_size(bindings: Sequence[Binding]) -> None:
    points = len(bindings) * int(np.prod(bindings[0].sizes, dtype=float))
    if points > LARGEST_GRID:
        allowed = f"a grid in memory has at most {LARGEST_GRID:,} points; this one has {points:,}"
        raise InputError("axes", (VARIANT, *bindings[0].axes), allowed)


def output_names(
    models: Sequence[DeclaredModel], bindings: Sequence[Binding], outputs: str | Iterable[str] | None
) -> list[str]:
    """Outputs to compute, which every variant has."""
    if outputs is None:
        first = dict.fromkeys(name for model in models for name in model.headline)
        return [name for name in first if all(name in binding.system for binding in bindings)]
    named = models[0].named_outputs(outputs)
    for binding in bindings:
        for name in named:
            binding.require(name)
    return list(named)


def _evaluated(binding: Binding, names: Sequence[str], order: Sequence[str]) -> dict[str, np.ndarray]:
    """Outputs over the grid, in their units and missing at refused points, and why those are refused."""
    needed = {variable.name for variable in binding.system.inputs}
    return evaluate_shown(
        binding.system,
        [output_spec(variable_of(name)) for name in names],
        {name: value for name, value in binding.values.items() if name in needed},
        binding.sizes,
        refused=[(order.index(reason) + 1, where) for reason, where in binding.refusals],
        reasons=REFUSED if order else "",
    )


def output_spec(variable: Variable) -> Shown:
    """A variable as a data set shows it."""
    if variable.domain.kind == "boolean":
        return Shown(variable.name, kind="truth")
    if variable.domain.kind == "choice":
        return Shown(variable.name, kind="label")
    return Shown(variable.name, units.factor(variable.unit))


def flags(long_name: str, meanings: Iterable[str]) -> dict[str, Any]:
    """Attributes of codes that stand for words, by the CF convention."""
    words = [meaning.replace(" ", "_") for meaning in meanings]
    return {
        "long_name": long_name,
        "flag_values": np.arange(len(words), dtype=np.int8),
        "flag_meanings": " ".join(words),
    }


def displayed(variable: Variable, values: np.ndarray) -> np.ndarray:
    """Canonical values as a data set holds them: in the variable's unit, codes and counts whole."""
    if variable.domain.kind in ("boolean", "choice"):
        return values.astype(bool if variable.domain.kind == "boolean" else np.int8)
    return _whole(variable, np.asarray(units.from_canonical(values, variable.unit)))


def _whole(variable: Variable, amounts: np.ndarray) -> np.ndarray:
    """Counts as whole numbers, where none is missing or infinite, or too large for 64 bits."""
    if variable.domain.kind == "integer" and (np.abs(amounts) < 2.0**63).all():
        return amounts.astype(np.int64)
    return amounts


def attributes(variable: Variable) -> dict[str, Any]:
    """``units``, ``long_name`` and LaTeX of a variable; flag codes and meanings of a label (CF)."""
    found: dict[str, Any] = {"long_name": variable.description.rstrip("."), "latex": variable.latex}
    if variable.domain.kind == "choice":
        labels = variable.domain.labels
        found |= flags(found["long_name"], labels)
        found["valid_range"] = np.array([0, len(labels) - 1], dtype=np.int8)
    elif variable.dimension:
        found["units"] = variable.unit
    return found


def coordinates(binding: Binding) -> dict[str, Any]:
    """The axes as coordinates of a data set, in the units they were typed in, and derived inputs along them."""
    coords: dict[str, Any] = {}
    for dim, axis in binding.axes.items():
        for name, each in (axis.members or {dim: axis}).items():
            attrs: dict[str, Any] = {"long_name": f"{name} of the catalog"}
            if name not in binding.entries:
                variable = variable_of(name)
                attrs = {"long_name": variable.description.rstrip("."), "latex": variable.latex}
                if each.unit:
                    attrs["units"] = each.unit
            coords[name] = (dim, each.coordinates, attrs)
    for entry in binding.derived:
        variable = entry.variable
        if variable.name not in binding.values:  # it varies over a lazy grid, and is computed there
            continue
        value = np.asarray(binding.values[variable.name])
        dims = [dim for dim, size in zip(binding.axes, value.shape, strict=False) if size > 1]
        attrs = {**attributes(variable), "derived": entry.text}
        coords[variable.name] = (dims, displayed(variable, value.squeeze()), attrs)
    return coords


def _differing(bindings: Sequence[Binding]) -> dict[str, Any]:
    """Derived inputs that are not the same in all variants, because a default is not."""
    coords: dict[str, Any] = {}
    found = [coordinates(binding) for binding in bindings]
    for entry in bindings[0].derived:
        each = [coordinate[entry.variable.name] for coordinate in found]
        if any(not np.array_equal(values, each[0][1], equal_nan=True) for _, values, _ in each):
            coords[entry.variable.name] = ((VARIANT, *each[0][0]), np.stack([v for _, v, _ in each]), each[0][2])
    return coords


def described(model: DeclaredModel, binding: Binding) -> dict[str, str]:
    """Model, variant and the inputs that were not swept, as attributes of a data set."""
    return _described([model], [binding])


def _described(models: Sequence[DeclaredModel], bindings: Sequence[Binding]) -> dict[str, str]:
    """Of several variants, the inputs that all of them fix at the same value."""
    fixed = [
        {name: as_text(variable_of(name), v) for name, v in binding.values.items() if np.ndim(v) == 0}
        for binding in bindings
    ]
    shared = {name: text for name, text in fixed[0].items() if all(each.get(name) == text for each in fixed)}
    entries = {name: e.name for name, e in bindings[0].entries.items() if not isinstance(e, list)}
    return {
        "Conventions": "CF-1.11",
        "model": type(models[0]).__name__,
        "variant": ", ".join(each.variant for each in models),
        "entries": json.dumps(entries),
        "fixed_inputs": json.dumps(shared, ensure_ascii=False),
    }
