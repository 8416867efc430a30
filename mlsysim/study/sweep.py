"""Sweeps: evaluate a model at every combination of the arguments given as lists."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.errors import InputError
from mlsysim.extras import STORES, require
from mlsysim.inputs.binding import Binding, bind_grid
from mlsysim.inputs.convert import LARGEST_GRID, is_axis
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.grids.dataset import (
    VARIANT,
    attributes,
    coordinates,
    described,
    flags,
    is_coordinate,
    output_spec,
    stacked,
    variant_coordinates,
    whole_counts,
)
from mlsysim.study.grids.grid import Grid
from mlsysim.study.grids.notes import infeasible_note
from mlsysim.study.grids.stream import gather, write
from mlsysim.study.grids.template import Template
from mlsysim.symbolic import Family, family_of, variable_of

if TYPE_CHECKING:
    import xarray

#: The variable that says why points are refused.
REFUSED = "refused"
WHY = "Why a point is refused"


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
    """Evaluate the model on the grid of all combinations of the arguments given as lists.

    Several arguments along one axis: ``layout=mlsysim.linked(tp_size=[1, 2], pp_size=[8, 4])``;
    one that follows from others: ``dp_size=mlsysim.derived("512 / (tp_size * pp_size)")``.

    Parameters
    ----------
    *entries : Entry or str
        As for ``solve``; a list of entries is an axis.
    outputs : iterable of str, optional
        Names to compute; the headline outputs by default. A family gives its members, and all of them as one
        variable along a dimension named after its index.
    refused : {"raise", "mask"}
        Treatment of combinations that do not fit, such as sizes that do not divide or a device without a rate for the
        format. ``"raise"`` refuses the grid before anything is computed. ``"mask"`` leaves missing values, with the
        reason per point in ``refused`` and the counts, in all and by reason, in ``attrs``. Points at which an output is
        undefined (zero over zero) raise an error, or are missing and counted in ``undefined_points``.
    variant : str or sequence of str, optional
        Variant to evaluate instead of the model's own; several form a dimension, with the outputs that all have.
    store : path, optional
        Zarr group (``.zarr``) or NetCDF file (``.nc``) that is filled block by block, for grids of any size. After an
        interruption the same call resumes. One call writes at a time, and a block that has changed on disk is computed
        again. Beside the store lie ``.progress``, which lists the finished blocks with their checksums, and its lock.
    block_points : int, optional
        Most points evaluated at once; four million by default, 16 where each point solves a Markov chain. A store that
        was begun with smaller blocks keeps them.
    client : dask.distributed.Client, optional
        Cluster that computes the blocks.
    progress : bool, optional
        Show a progress bar; by default on a terminal, for a sweep computed in blocks.
    **axes
        Inputs as for ``solve``; a list, range or array of n values is an axis of length n.

    Returns
    -------
    xarray.Dataset
        One dimension per swept argument, units in ``attrs``; labels as flag codes with their
        meanings, -1 where refused (CF convention).

    Raises
    ------
    InputError
        As for ``solve``; if the store belongs to another computation, or another call writes it.
    StoreError
        If the store cannot be read or written; says what is kept and how to go on.
    UndefinedError
        If an output is no number at a point, and points are not masked.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel
    >>> memory = TrainingMemoryModel("first_order")
    >>> grid = memory.sweep("Llama3_8B", "H100", seq_len=2048, batch_size=[8, 16, 32], dp_size=[1, 8])
    >>> grid.total_memory.dims, grid.total_memory.shape, grid.total_memory.units
    (('batch_size', 'dp_size'), (3, 2), 'GB')
    >>> print(f"{grid.total_memory.sel(batch_size=16, dp_size=8).item():.2f}")
    134.65
    """
    _check_options(refused, store, block_points)
    models = _variants(model, variant)
    several = is_axis(variant)
    if several and not (store is None and block_points is None and client is None):
        raise InputError("variant", variant, "one variant at a time is computed in blocks")
    arguments = model.named_arguments(entries, axes)
    bindings = [bind_grid(variant_model, arguments) for variant_model in models]
    if not bindings[0].axes and not several:
        raise InputError("axes", dict(arguments), "give at least one argument as a list", "use solve() for one point")
    if store is None:
        refuse_size(bindings)
    if refused == "raise":
        _refuse_points(bindings)
    names = output_names(models, bindings, outputs)
    families = _families(outputs, names, bindings[0])
    derived = [entry for entry in bindings[0].derived if not is_coordinate(bindings[0], entry)]
    names += [entry.variable.name for entry in derived if entry.variable.name not in names]
    reasons = list(dict.fromkeys(reason.text for binding in bindings for reason in binding.reasons))
    reasons = reasons if refused == "mask" else []
    grids = [_grid(binding, names, reasons, defined=refused == "raise") for binding in bindings]
    if store is not None:
        variables = {name: attributes(variable_of(name)) for name in names}
        variables |= {REFUSED: flags(WHY, ["accepted", *reasons])} if reasons else {}
        coords, attrs = coordinates(bindings[0]), described(models, bindings)
        template = Template(tuple(bindings[0].axes), bindings[0].sizes, grids[0].dtypes, attrs, variables, coords)
        dataset = write(grids[0], template, store, block_points=block_points, client=client, progress=progress)
    else:
        values = [gather(grid, block_points=block_points, client=client, progress=progress) for grid in grids]
        dataset = _dataset(models, bindings, names, values, reasons, several=several, counted=refused == "mask")
        _add_infeasible_note(dataset, arguments, bindings, values)
    return stacked(dataset, {family: attributes(family.variable) for family in families})


def _families(outputs: str | Iterable[str] | None, names: Sequence[str], binding: Binding) -> list[Family]:
    """Return the families among the outputs asked for; an index must not have the name of an axis."""
    asked = () if outputs is None else (outputs,) if isinstance(outputs, str) else tuple(outputs)
    families = [family for name in asked if name not in names and (family := family_of(name))]
    for family in families:
        if family.index.name in binding.axes:
            conflict = "a dimension and an index have one name"
            raise InputError(family.index.name, family.name, conflict, "rename the axis")
    return families


def _check_options(refused: Any, store: Any, block_points: Any) -> None:
    if not isinstance(refused, str) or refused not in ("raise", "mask"):
        raise InputError("refused", refused, "must be 'raise' or 'mask'")
    if store is not None and not isinstance(store, str | os.PathLike):
        raise InputError("store", store, "must be a path", "as in store='sweep.zarr'")
    for package in STORES.get(Path(store).suffix, ()) if store is not None else ():
        require("a store", package)
    whole = isinstance(block_points, int) and not isinstance(block_points, bool)
    if block_points is not None and not (whole and block_points >= 1):
        raise InputError("block_points", block_points, "must be a whole number >= 1")


def _refuse_points(bindings: Sequence[Binding]) -> None:
    """Refuse the grid if any point of it is refused, before anything is computed."""
    points = math.prod(bindings[0].sizes)
    if points > LARGEST_GRID:
        allowed = f"a grid of more than {LARGEST_GRID:,} points is not checked before it is computed"
        raise InputError("refused", "raise", allowed, "use refused='mask'")
    for binding in bindings:
        binding.refuse()


def _grid(binding: Binding, names: Sequence[str], reasons: Sequence[str], *, defined: bool) -> Grid:
    """Build the grid to evaluate; the code of a reason is its position in the list of reasons, counted from 1."""
    return Grid(
        binding.system,
        binding.numbers,
        binding.sizes,
        tuple(output_spec(variable_of(name)) for name in names),
        tuple((reasons.index(reason.text) + 1, reason.condition) for reason in binding.reasons) if reasons else (),
        REFUSED if reasons else "",
        defined,
    )


def _dataset(
    models: Sequence[DeclaredModel],
    bindings: Sequence[Binding],
    names: Sequence[str],
    values: Sequence[Mapping[str, np.ndarray]],
    reasons: Sequence[str],
    *,
    several: bool,
    counted: bool,
) -> xarray.Dataset:
    """Build the data set in memory; list only the reasons that occur."""
    import xarray

    def gathered(name: str) -> np.ndarray:
        return np.stack([arrays[name] for arrays in values]) if several else values[0][name]

    dims = (VARIANT, *bindings[0].axes) if several else tuple(bindings[0].axes)
    variables: dict[str, Any] = {}
    for name in names:
        entry = variable_of(name)
        variables[name] = (dims, whole_counts(entry, gathered(name)), attributes(entry))
    attrs: dict[str, Any] = described(models, bindings)
    counts: dict[str, int] = {}
    if reasons:
        codes, counts = _occurring(gathered(REFUSED), reasons)
        if counts:
            variables[REFUSED] = (dims, codes, flags(WHY, ["accepted", *counts]))
    if counted:
        missing = [np.isnan(gathered(name)) for name in names if gathered(name).dtype.kind == "f"]
        undefined = int(np.logical_or.reduce(missing).sum()) - sum(counts.values()) if missing else 0
        attrs |= {"undefined_points": undefined} if undefined else {}
        attrs["refused_points"] = sum(counts.values())
        attrs["refused_reasons"] = json.dumps(counts)
    coords = coordinates(bindings[0])
    if several:
        coords |= variant_coordinates(models, bindings)
    return xarray.Dataset(variables, coords=coords, attrs=attrs)


def _add_infeasible_note(
    dataset: xarray.Dataset,
    typed: Mapping[str, Any],
    bindings: Sequence[Binding],
    values: Sequence[Mapping[str, np.ndarray]],
) -> None:
    """Add the number of infeasible points to the notes, by variant if there are several."""
    notes = [dataset.attrs["notes"]] if "notes" in dataset.attrs else []
    for binding, arrays in zip(bindings, values, strict=True):
        computed = {name: array for name, array in arrays.items() if name != REFUSED}
        text = infeasible_note(binding, typed, computed, arrays[REFUSED] == 0 if REFUSED in arrays else True)
        notes += [f"{binding.model.variant}: {text}" if len(bindings) > 1 else text] if text else []
    if notes:
        dataset.attrs["notes"] = "\n".join(notes)


def _occurring(codes: np.ndarray, reasons: Sequence[str]) -> tuple[np.ndarray, dict[str, int]]:
    """Renumber the codes of the reasons that occur; count the points that each refuses."""
    counts = np.bincount(codes.ravel(), minlength=len(reasons) + 1).tolist()
    occurring = [code for code, count in enumerate(counts) if code and count]
    renumbered = np.zeros(len(counts), np.int8)
    renumbered[occurring] = np.arange(1, len(occurring) + 1)
    return renumbered[codes], {reasons[code - 1]: counts[code] for code in occurring}


def _variants(model: DeclaredModel, variant: Any) -> list[DeclaredModel]:
    """Return the model in every variant asked for."""
    if variant is None:
        return [model]
    if not is_axis(variant):
        return [model.in_variant(variant)]
    models = [model.in_variant(name) for name in variant]
    if not models or len({member.variant for member in models}) != len(models):
        raise InputError(VARIANT, variant, "an axis has at least one variant, and each once")
    return models


def refuse_size(bindings: Sequence[Binding]) -> None:
    """Refuse a grid too large for memory.

    Raises
    ------
    InputError
        If the grid is too large.
    """
    points = len(bindings) * int(np.prod(bindings[0].sizes, dtype=float))
    if points > LARGEST_GRID:
        allowed = f"a grid in memory has at most {LARGEST_GRID:,} points; this one has {points:,}"
        names = ((VARIANT,) if len(bindings) > 1 else ()) + tuple(bindings[0].axes)
        raise InputError("axes", names, allowed, "name a file: store='sweep.zarr'")


def output_names(
    models: Sequence[DeclaredModel], bindings: Sequence[Binding], outputs: str | Iterable[str] | None
) -> list[str]:
    """Return the names of the outputs to compute, which every variant has."""
    if outputs is None:
        first = dict.fromkeys(name for model in models for name in model.headline)
        return [name for name in first if all(name in binding.system for binding in bindings)]
    named = models[0].named_outputs(outputs)
    for binding in bindings:
        for name in named:
            binding.require(name)
    return list(named)
