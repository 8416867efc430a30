"""Inverse problems on a grid: the unknown at every point, with a status that says why there is none."""

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
from mlsysim.study.inverse.at_point import refined_intervals, search_of
from mlsysim.study.inverse.intervals import CODES, choose, real_intervals
from mlsysim.study.inverse.solution import STATUSES
from mlsysim.study.inverse.target_function import TargetFunction
from mlsysim.study.inverse.whole_numbers import neighbours
from mlsysim.study.results.display import named
from mlsysim.symbolic import variable_of

#: Points solved together, times the values of the unknown scanned for each.
TOGETHER = 1 << 19
#: Note on grids that are solved together.
COARSE = "fewer values are scanned than for one point: if an output rises and falls, some solutions may be missed"
STATUS, COUNT = "status", "intervals"
#: If no whole number meets an equation: the output at the value, the number on the other side, and the output there.
NEIGHBOUR = ("reached", "other", "other_reached")


def solutions_on(function: TargetFunction, which: str | None) -> Any:
    """Solve for the unknown at every point of a grid.

    Parameters
    ----------
    function : TargetFunction
        Targets along the unknown.
    which : {"largest", "smallest"}, optional
        Value to return if there is more than one.

    Returns
    -------
    xarray.Dataset
        The unknown, nan if there is no value; ``status`` as codes (CF flags) and ``intervals``, the number of values or
        intervals that meet the targets. If no whole number meets an equation, the value is one next to its solution:
        ``reached`` is the output there, ``other`` and ``other_reached`` are the whole number on the other side and its
        output.
    """
    import xarray

    unknown, points = function.unknown, math.prod(function.sizes)
    if points > LARGEST_GRID:
        raise InputError("axes", function.dims, f"a grid in memory has at most {LARGEST_GRID:,} points, not {points:,}")
    x, solver = search_of(function, points)
    value, status, count = np.full(points, np.nan), np.empty(points, np.int8), np.empty(points, np.int32)
    neighbour = np.full((len(NEIGHBOUR), points), np.nan)
    step = 1 if solver is refined_intervals else max(1, TOGETHER // len(x))
    with loop(points, step) as advance:
        for start in range(0, points, step):
            points_solved = np.arange(start, min(start + step, points))
            block = function.block(points_solved)
            solutions = solver(block, x)
            status[points_solved] = np.where(
                solutions.evaluation.accepted.any(axis=0), CODES.index("none"), CODES.index("refused")
            )
            choice = choose(unknown.domain, solutions.intervals, len(points_solved), which)
            at, count[points_solved] = points_solved[choice.intervals.column], choice.count
            value[at] = np.where(choice.largest, choice.intervals.upper, choice.intervals.lower)
            value[at[choice.endless]], status[at] = np.nan, choice.code
            pair = neighbours(block, x, solutions, which) if function.whole else None
            if pair is not None:
                (has_best,) = np.nonzero(pair.best >= 0)
                at, best = points_solved[pair.column[has_best]], pair.best[has_best]
                value[at], status[at] = pair.values[best, has_best], CODES.index("nearest")
                neighbour[:, at] = (
                    pair.reached[best, has_best],
                    pair.values[1 - best, has_best],
                    pair.reached[1 - best, has_best],
                )
            advance(len(points_solved))
    sizes, dims = function.sizes, function.dims
    long_name = f"{named(unknown)['long_name']}, for {' and '.join(function.targets.texts)}"
    data = {
        unknown.name: (
            dims,
            whole_counts(unknown, value).reshape(sizes),
            {**attributes(unknown), "long_name": long_name},
        ),
        STATUS: (dims, status.reshape(sizes), flags("Whether there is a value", CODES)),
        COUNT: (dims, count.reshape(sizes), {"long_name": "How many values or intervals meet the targets"}),
    }
    if not np.isnan(neighbour).all():
        left = function.targets.equations[0].left
        attrs_reached = {"long_name": left.text, **({} if left.unit in ("", "count") else {"units": left.unit})}
        neighbour[::2] = units.from_canonical(neighbour[::2], left.unit) if "units" in attrs_reached else neighbour[::2]
        for name, row, attrs in zip(
            NEIGHBOUR, neighbour, (attrs_reached, attributes(unknown), attrs_reached), strict=True
        ):
            data[name] = (dims, (whole_counts(unknown, row) if name == "other" else row).reshape(sizes), attrs)
    coords = {**_targets(function.targets.axes), **coordinates(function.binding)}
    attrs = described([function.model], [function.binding])
    fixed = json.loads(attrs["fixed_inputs"])
    fixed.pop(unknown.name, None)
    attrs["fixed_inputs"] = json.dumps(fixed, ensure_ascii=False)
    attrs |= {"unknown": unknown.name, "targets": "; ".join(function.targets.texts), "which": which or ""}
    if solver is real_intervals:
        attrs["note"] = COARSE
    attrs |= {f"{STATUS}_{code}": STATUSES[code] for code in CODES}
    return xarray.Dataset(data, coords=coords, attrs=attrs)


def _targets(axes: dict[str, Axis]) -> dict[str, Any]:
    """Return the targets that have several values as coordinates."""
    coords = {}
    for name, axis in axes.items():
        attrs = named(variable_of(name)) | ({"units": axis.unit} if axis.unit else {})
        coords[name] = (name, axis.coordinates, attrs)
    return coords
