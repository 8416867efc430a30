"""Slopes of latencies along a load: differences of a smooth function of load and batch, and Little's law.

Nearby loads share the lattice, so nothing jumps. The slope of the batch follows from the implicit function theorem,
without another root search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import qr

from mlsysim.backends.chunked.chain import nearby
from mlsysim.backends.chunked.fourier import Array
from mlsysim.backends.chunked.load import IterationTime, Load
from mlsysim.backends.chunked.point import Point
from mlsysim.backends.chunked.result import QUANTILES

#: Objectives of a load.
SLOS = ("ttft_slo", "tpot_slo", "e2e_slo")
#: Relative step of the differences, which balances truncation and rounding.
CHANGE = 1e-6
#: Inputs whose slope is zero where they are: a spread of zero, whose square counts.
EVEN = ("isl_cv", "osl_cv")
#: Least relative part in which independent directions differ.
INDEPENDENT = 1e-6


@dataclass(frozen=True)
class Direction:
    """Direction in which a load moves.

    Attributes
    ----------
    inputs : mapping
        Slope of every input that moves, by name of the attribute of the load, and of objectives.
    tau : callable, optional
        ``tau(n, c)``: slope of the time of an iteration.
    """

    inputs: Mapping[str, float] = field(default_factory=dict)
    tau: IterationTime | None = None

    def pace(self, load: Load, slos: Sequence[float]) -> float:
        """Largest relative slope of the inputs."""
        own = {**vars(load), **dict(zip(SLOS, slos, strict=True))}
        paces = [abs(slope / own[name]) for name, slope in self.inputs.items() if own[name] and np.isfinite(own[name])]
        return max(paces, default=0.0)

    @property
    def of_objectives(self) -> bool:
        """True if only objectives move, and the chain stays."""
        return self.tau is None and all(name in SLOS for name, slope in self.inputs.items() if slope)

    def moved(self, load: Load, step: float) -> Load:
        """The load a step further."""
        changes = {}
        for name, slope in self.inputs.items():
            if not name.endswith("_slo") and (name not in EVEN or getattr(load, name) > 0):
                changes[name] = getattr(load, name) + step * slope
        if (slope := self.tau) is not None:
            changes["tau"] = lambda n, c: load.tau(n, c) + step * slope(n, c)
        return replace(load, **changes)


def slopes(
    point: Point,
    outputs: Array,
    names: Sequence[str],
    shares: Sequence[float],
    slos: tuple[float, ...],
    directions: Sequence[Direction],
) -> Array:
    """Slope of every output along some directions, a row each.

    Parameters
    ----------
    point : Point
        Point at which the load settles.
    outputs : ndarray
        Its outputs.
    names : sequence of str
        Their names.
    shares : sequence of float
        Probabilities of the quantiles.
    slos : tuple of float
        Objectives, in s, in the order of :data:`SLOS`.
    directions : sequence of Direction
        Directions in which the load moves.
    """
    load, batch = point.load, point.above.batch
    counts = np.cumsum([len(shares) if name in QUANTILES else 1 for name in names])
    near = dict(zip(names, np.split(outputs, counts[:-1]), strict=True))
    here = point.outputs(names, shares, slos, near)

    def change(
        load: Load, batch: float, slos: tuple[float, ...], step: float, drifts: Sequence[Array] = ()
    ) -> tuple[Array, float]:
        other = Point(nearby(point.above, load, batch, drifts[0] if drifts else 0.0), point, drifts)
        return (other.outputs(names, shares, slos, near) - here) / step, (other.missed - point.missed) / step

    step = CHANGE * batch
    by_batch, missed_by_batch = change(load, batch + step, slos, step)
    result = np.zeros((len(directions), len(here)))
    chains = point.solved
    ends = np.cumsum([at.expansion.times.size for at in chains])
    times = np.concatenate([at.expansion.times for at in chains])
    batches, tokens = (np.concatenate(columns) for columns in zip(*(at.places for at in chains), strict=True))
    rates = np.array(
        [np.broadcast_to(along.tau(batches, tokens) if along.tau else 0.0, times.shape) for along in directions]
    )
    kept, shares_of_kept = independent(point, names, slos, directions, rates / times)
    for index in kept:
        row, direction = result[index], directions[index]
        pace = max(direction.pace(load, slos), float(np.max(np.abs(rates[index] / times))))
        if pace > 0:
            step = CHANGE / pace
            moved = tuple(slo + step * direction.inputs.get(name, 0.0) for slo, name in zip(slos, SLOS, strict=True))
            if direction.of_objectives:
                row[:] = (point.outputs(names, shares, moved, near) - here) / step
                continue
            by_load, missed = change(
                direction.moved(load, step), batch, moved, step, np.split(step * rates[index], ends[:-1])
            )
            row[:] = by_load - by_batch * (missed / missed_by_batch)
    rest = [index for index in range(len(directions)) if index not in kept]
    result[rest] = shares_of_kept[:, rest].T @ result[kept]
    return result


def relevant(point: Point, names: Sequence[str]) -> list[str]:
    """Inputs on which outputs of these names depend, besides the time of an iteration."""
    load, without = point.load, {"tau"}
    if "capacity" not in names and not point.slot_wait.probability:
        without.add("max_num_seqs")
    if load.isl_cv == 0:
        without.add("pair_time")
    without |= {name for name in EVEN if getattr(load, name) == 0}
    attainments = {slo: f"{slo.removesuffix('_slo')}_attainment" for slo in SLOS}
    without |= {slo for slo, attainment in attainments.items() if not {attainment, "slo_attainment"} & {*names}}
    return [entry for entry in (*vars(load), *SLOS) if entry not in without]


def independent(
    point: Point, names: Sequence[str], slos: Sequence[float], directions: Sequence[Direction], rates: Array
) -> tuple[list[int], Array]:
    """Select linearly independent directions, and express the others as their combinations.

    Many inputs of the time of an iteration move it in the same direction, such as a peak and its efficiency.

    Parameters
    ----------
    point : Point
        Point at which the load settles.
    names : sequence of str
        Outputs wanted.
    slos : sequence of float
        Objectives.
    directions : sequence of Direction
        Directions in which the load moves.
    rates : ndarray
        Relative slopes of the time of an iteration along each, at all places where it is evaluated.

    Returns
    -------
    list of int
        Indices of the independent directions.
    ndarray of shape (followed, directions)
        Coefficients of these in each direction.
    """
    if len(directions) == 1:
        return [0], np.ones((1, 1))
    own = {**vars(point.load), **dict(zip(SLOS, slos, strict=True))}
    counted = relevant(point, names)
    inputs = [[direction.inputs.get(name, 0.0) / (own[name] or 1.0) for name in counted] for direction in directions]
    columns = np.concatenate([np.nan_to_num(inputs), rates], axis=1).T
    sizes = np.linalg.norm(columns, axis=0)
    factors: Any = qr(columns / np.where(sizes > 0, sizes, 1.0), mode="economic", pivoting=True)
    _, upper, order = factors
    count = max(int(np.sum(np.abs(np.diag(upper)) > INDEPENDENT)), 1)
    shares = np.zeros((count, len(directions)))
    shares[:, order] = np.linalg.lstsq(upper[:count, :count], upper[:count], rcond=None)[0]
    kept = [int(index) for index in order[:count]]
    return kept, shares * sizes / np.where(sizes[kept] > 0, sizes[kept], 1.0)[:, None]
