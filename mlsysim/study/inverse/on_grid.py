"""One unknown at every point of a grid, as a data set with the reason where there is none."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.errors import InputError
from mlsysim.inputs.convert import LARGEST_GRID, Axis
from mlsysim.progress import loop
from mlsysim.study.grids.dataset import attributes, coordinates, described, flags, whole_counts
from mlsysim.study.inverse.at_point import closely, search_of
from mlsysim.study.inverse.landscape import Landscape
from mlsysim.study.inverse.pieces import CODES, chosen, real_pieces
from mlsysim.study.inverse.solution import STATUSES
from mlsysim.study.inverse.whole import neighbours
from mlsysim.study.results.display import named
from mlsysim.symbolic import variable_of

#: Points that are solved together, times the values of the unknown that are looked at for each.
TOGETHER = 1 << 19
#: What is said of larger ones.
COARSE = "fewer values are looked at than for one point: of an output that rises and falls some solutions may be missed"
STATUS, COUNT = "status", "intervals"
#: Where no whole number meets an equation: what it is at the value, the number on its other side, and what it is there.
BESIDE = ("reached", "other", "other_reached")


def solutions_on(landscape: Landscape, which: str | None) -> Any:
    """The unknown at every point of a grid.

    Parameters
    ----------
    landscape : Landscape
        Targets along the unknown.
    which : {"largest", "smallest"}, optional
        Which value where there is more than one.

    Returns
    -------
    xarray.Dataset
        The unknown, nan where there is no value; ``status`` with codes (CF flags) and ``intervals``, how many values
        or intervals meet the targets. Where no whole number meets an equation the value is one beside it: ``reached``
        is the output there, ``other`` and ``other_reached`` are the whole number on the other side and its output.
    """
    import xarray

    unknown, points = landscape.unknown, math.prod(landscape.sizes)
    if points > LARGEST_GRID:
        raise InputError(
            "axes", landscape.dims, f"a grid in memory has at most {LARGEST_GRID:,} points, not {points:,}"
        )
    x, look = search_of(landscape, points)
    value, status, count = np.full(points, np.nan), np.empty(points, np.int8), np.empty(points, np.int32)
    beside = np.full((len(BESIDE), points), np.nan)
    step = 1 if look is closely else max(1, TOGETHER // len(x))
    with loop(points, step) as advance:
        for start in range(0, points, step):
            places = np.arange(start, min(start + step, points))
            block = landscape.block(places)
            found = look(block, x)
            status[places] = np.where(found.seen.accepted.any(axis=0), CODES.index("none"), CODES.index("refused"))
            choice = chosen(unknown.domain, found.pieces, len(places), which)
            at, count[places] = places[choice.pieces.column], choice.count
            value[at] = np.where(choice.largest, choice.pieces.upper, choice.pieces.lower)
            value[at[choice.endless]], status[at] = np.nan, choice.code
            near = neighbours(block, x, found, which) if landscape.whole else None
            if near is not None:
                (one,) = np.nonzero(near.best >= 0)
                at, best = places[near.column[one]], near.best[one]
                value[at], status[at] = near.values[best, one], CODES.index("nearest")
                beside[:, at] = near.reached[best, one], near.values[1 - best, one], near.reached[1 - best, one]
            advance(len(places))
    sizes, dims = landscape.sizes, landscape.dims
    long_name = f"{named(unknown)['long_name']}, for {' and '.join(landscape.targets.texts)}"
    data = {
        unknown.name: (
            dims,
            whole_counts(unknown, value).reshape(sizes),
            {**attributes(unknown), "long_name": long_name},
        ),
        STATUS: (dims, status.reshape(sizes), flags("Whether there is a value", CODES)),
        COUNT: (dims, count.reshape(sizes), {"long_name": "How many values or intervals meet the targets"}),
    }
    if not np.isnan(beside).all():
        left = landscape.targets.equations[0].left
        there = {"long_name": left.text, **({} if left.unit in ("", "count") else {"units": left.unit})}
        beside[::2] = units.from_canonical(beside[::2], left.unit) if "units" in there else beside[::2]
        for name, row, attrs in zip(BESIDE, beside, (there, attributes(unknown), there), strict=True):
            data[name] = (dims, (whole_counts(unknown, row) if name == "other" else row).reshape(sizes), attrs)
    coords = {**_targets(landscape.targets.axes), **coordinates(landscape.binding)}
    attrs = described([landscape.model], [landscape.binding])
    fixed = json.loads(attrs["fixed_inputs"])
    fixed.pop(unknown.name, None)
    attrs["fixed_inputs"] = json.dumps(fixed, ensure_ascii=False)
    attrs |= {"unknown": unknown.name, "targets": "; ".join(landscape.targets.texts), "which": which or ""}
    if look is real_pieces:
        attrs["note"] = COARSE
    attrs |= {f"{STATUS}_{code}": STATUSES[code] for code in CODES}
    return xarray.Dataset(data, coords=coords, attrs=attrs)


def _targets(axes: dict[str, Axis]) -> dict[str, Any]:
    """The targets of which several values are asked for, as coordinates."""
    found = {}
    for name, axis in axes.items():
        attrs = named(variable_of(name)) | ({"units": axis.unit} if axis.unit else {})
        found[name] = (name, axis.coordinates, attrs)
    return found
