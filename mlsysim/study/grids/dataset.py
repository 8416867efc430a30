"""Representation of variables, axes and inputs in a data set: units, flags, coordinates, attributes (CF convention)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import units
from mlsysim.backends import OutputSpec, compiled
from mlsysim.backends.blocks import POINTS
from mlsysim.inputs.axes import DerivedInput
from mlsysim.inputs.binding import Binding
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.grids.notes import grid_notes
from mlsysim.study.results.display import as_text, named
from mlsysim.symbolic import Family, Variable, variable_of
from mlsysim.symbolic.family import members_among

if TYPE_CHECKING:
    import xarray

#: The dimension of a sweep over variants.
VARIANT = "variant"


def output_spec(variable: Variable) -> OutputSpec:
    """Return the representation of a variable in a data set."""
    if variable.domain.kind == "boolean":
        return OutputSpec(variable.name, kind="truth")
    if variable.domain.kind == "choice":
        return OutputSpec(variable.name, kind="label")
    return OutputSpec(variable.name, units.factor(variable.unit))


def flags(long_name: str, meanings: Iterable[str]) -> dict[str, Any]:
    """Return the attributes of codes that stand for words, by the CF convention."""
    words = [meaning.replace(" ", "_") for meaning in meanings]
    return {
        "long_name": long_name,
        "flag_values": np.arange(len(words), dtype=np.int8),
        "flag_meanings": " ".join(words),
    }


def displayed(variable: Variable, values: np.ndarray) -> np.ndarray:
    """Convert canonical values for a data set: to the unit of the variable; codes and counts to whole numbers."""
    if variable.domain.kind in ("boolean", "choice"):
        return values.astype(bool if variable.domain.kind == "boolean" else np.int8)
    return whole_counts(variable, np.asarray(units.from_canonical(values, variable.unit)))


def whole_counts(variable: Variable, amounts: np.ndarray) -> np.ndarray:
    """Convert counts to whole numbers, unless one is missing, infinite, or too large for 64 bits."""
    if variable.domain.kind == "integer" and (np.abs(amounts) < 2.0**63).all():
        return amounts.astype(np.int64)
    return amounts


def attributes(variable: Variable) -> dict[str, Any]:
    """Return unit, description, label and LaTeX of a variable; for a choice also flag codes and meanings (CF)."""
    attrs: dict[str, Any] = named(variable)
    if variable.domain.kind == "choice":
        labels = variable.domain.labels
        attrs |= flags(attrs["long_name"], labels)
        attrs["valid_range"] = np.array([0, len(labels) - 1], dtype=np.int8)
    elif variable.dimension:
        attrs["units"] = variable.unit
    return attrs


def coordinates(binding: Binding) -> dict[str, Any]:
    """Return the axes as coordinates, in the units typed, and the derived inputs along them."""
    coords: dict[str, Any] = {}
    for dim, axis in binding.axes.items():
        for name, member in (axis.members or {dim: axis}).items():
            attrs: dict[str, Any] = {"long_name": f"{name} of the catalog"}
            if name not in binding.entries:
                variable = variable_of(name)
                attrs = named(variable)
                if member.unit:
                    attrs["units"] = member.unit
            coords[name] = (dim, member.coordinates, attrs)
    for entry in binding.derived:
        if is_coordinate(binding, entry):
            expressions = (("value", entry.variable.symbol), ("good", entry.condition))
            evaluated = compiled(binding.system, None, "vector", expressions)(binding.values)
            value = np.where(evaluated["good"], evaluated["value"], np.nan)  # nothing where it leaves its domain
            dims = [dim for dim, size in zip(binding.axes, value.shape, strict=False) if size > 1]
            attrs = {**attributes(entry.variable), "derived": entry.text}
            coords[entry.variable.name] = (dims, displayed(entry.variable, value.squeeze()), attrs)
    return coords


def is_coordinate(binding: Binding, entry: DerivedInput) -> bool:
    """Tell whether a derived input is a coordinate along its axes; if not, it is computed like an output."""
    return math.prod(np.broadcast_shapes(*(np.shape(binding.values[name]) for name in entry.inputs))) <= POINTS


def variant_coordinates(models: Sequence[DeclaredModel], bindings: Sequence[Binding]) -> dict[str, Any]:
    """Return the variants as a coordinate, and the derived inputs that differ between them."""
    coords: dict[str, Any] = {VARIANT: (VARIANT, [model.variant for model in models], {"long_name": "Set of formulas"})}
    all_coords = [coordinates(binding) for binding in bindings]
    for entry in bindings[0].derived:
        per_variant = [coordinate[entry.variable.name] for coordinate in all_coords]
        if any(not np.array_equal(values, per_variant[0][1], equal_nan=True) for _, values, _ in per_variant):
            coords[entry.variable.name] = (
                (VARIANT, *per_variant[0][0]),
                np.stack([v for _, v, _ in per_variant]),
                per_variant[0][2],
            )
    return coords


def described(models: Sequence[DeclaredModel], bindings: Sequence[Binding]) -> dict[str, str]:
    """Describe model, variants and constant inputs as attributes; for several variants, the inputs they share.

    Also list settings of a recipe that the model has no argument for, and notes on the inputs, one per line.
    """
    fixed = [
        {name: as_text(variable_of(name), value) for name, value in binding.values.items() if np.ndim(value) == 0}
        for binding in bindings
    ]
    shared = {name: text for name, text in fixed[0].items() if all(texts.get(name) == text for texts in fixed)}
    entries = {name: entry.name for name, entry in bindings[0].entries.items() if not isinstance(entry, list)}
    unused = dict.fromkeys(name for binding in bindings for name in binding.left_out)
    variants = [model.variant for model in models]
    notes = dict.fromkeys(note for binding in bindings for note in grid_notes(binding, variants))
    return {
        **({"left_out": ", ".join(unused)} if unused else {}),
        **({"notes": "\n".join(notes)} if notes else {}),
        "Conventions": "CF-1.11",
        "model": type(models[0]).__name__,
        "variant": ", ".join(variants),
        "entries": json.dumps(entries),
        "fixed_inputs": json.dumps(shared, ensure_ascii=False),
    }


def stacked(dataset: xarray.Dataset, families: Mapping[Family, Mapping[str, Any]]) -> xarray.Dataset:
    """Add to a data set one variable per family; it is missing where a member is not computed.

    Parameters
    ----------
    dataset : xarray.Dataset
        Data set with a variable for each member.
    families : mapping
        Families to add, with the attributes of each.
    """
    import xarray

    members_by_family = {family: members_among(family.name, dataset.data_vars) for family in families}
    added = {}
    for family, members in members_by_family.items():
        index = family.index
        computed = {
            member for other in members_by_family if other.index == index for member in members_by_family[other]
        }
        known = [member for member in index.members if member in computed]
        dimension = xarray.DataArray(list(members), dims=index.name, name=index.name, attrs={"long_name": index.name})
        joined = xarray.concat([dataset[name] for name in members.values()], dimension, combine_attrs="drop")
        joined = joined.reindex({index.name: known}).transpose(..., index.name)
        added[family.name] = joined.assign_attrs(families[family])
    return dataset.assign(added)
