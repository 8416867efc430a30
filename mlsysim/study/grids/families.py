"""Families in a data set: the members as one variable along a dimension named after the index."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mlsysim.errors import InputError
from mlsysim.symbolic import Family, family_of
from mlsysim.symbolic.family import members_among

if TYPE_CHECKING:
    import xarray


def asked_families(outputs: str | Iterable[str] | None, names: Collection[str], axes: Collection[str]) -> list[Family]:
    """The families among the outputs asked for.

    Parameters
    ----------
    outputs : str or iterable of str, optional
        As asked for.
    names : collection of str
        The outputs they stand for.
    axes : collection of str
        Dimensions of the grid.

    Raises
    ------
    InputError
        If a dimension has the name of the index.
    """
    asked = () if outputs is None else (outputs,) if isinstance(outputs, str) else tuple(outputs)
    found = [family for name in asked if name not in names and (family := family_of(name))]
    for family in found:
        if family.index.name in axes:
            raise InputError(
                family.index.name, family.name, "a dimension and an index have one name", "rename the axis"
            )
    return found


def stacked(dataset: xarray.Dataset, families: Mapping[Family, Mapping[str, Any]]) -> xarray.Dataset:
    """The data set with one variable more for each family; it is missing where a member is not computed.

    Parameters
    ----------
    dataset : xarray.Dataset
        With a variable for each member.
    families : mapping
        To add, with the attributes of each.
    """
    import xarray

    held = {family: members_among(family.name, dataset.data_vars) for family in families}
    added = {}
    for family, members in held.items():
        index = family.index
        beside = {member for other in held if other.index == index for member in held[other]}
        known = [member for member in index.members if member in beside]
        along = xarray.DataArray(list(members), dims=index.name, name=index.name, attrs={"long_name": index.name})
        joined = xarray.concat([dataset[name] for name in members.values()], along, combine_attrs="drop")
        joined = joined.reindex({index.name: known}).transpose(..., index.name)
        added[family.name] = joined.assign_attrs(families[family])
    return dataset.assign(added)
