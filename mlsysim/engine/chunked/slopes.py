"""How the latencies of a load move with it: differences of a smooth function of load and batch, and Little's law.

Between loads that are nearly alike the lattice is the same and nothing jumps. The batch follows from the theorem of
the implicit function, so that no root is looked for again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import qr

from mlsysim.engine.chunked.chain import nearby
from mlsysim.engine.chunked.fourier import Array
from mlsysim.engine.chunked.load import IterationTime, Load
from mlsysim.engine.chunked.point import Point
from mlsysim.engine.chunked.result import QUANTILES

#: Relative change of what moves: the difference is then as exact as it is free of rounding.
CHANGE = 1e-6
#: Inputs whose slope is zero where they are: a spread of zero, whose square counts.
EVEN = ("isl_cv", "osl_cv")
#: Times at which directions are compared, of each of a few batches, and the part in which they differ at least.
PLACES, ALIKE = 9, 1e-4


@dataclass(frozen=True)
class Direction:
    """Where a load moves.

    Attributes
    ----------
    inputs : mapping
        Slope of every input that moves, by name of the attribute of the load, and of ``ttft_slo`` and ``tpot_slo``.
    tau : callable, optional
        ``tau(n, c)``: slope of the time of an iteration.
    """

    inputs: Mapping[str, float] = field(default_factory=dict)
    tau: IterationTime | None = None

    def pace(self, load: Load, batch: float, slos: Sequence[float]) -> float:
        """Largest relative slope."""
        own = {**vars(load), "ttft_slo": slos[0], "tpot_slo": slos[1]}
        paces = [abs(slope / own[name]) for name, slope in self.inputs.items() if own[name] and np.isfinite(own[name])]
        if self.tau:
            at = batch, load.free(batch)
            paces += [abs(float(self.tau(*place)) / float(load.tau(*place))) for place in (at, (batch, 0.0))]
        return max(paces, default=0.0)

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
    slos: tuple[float, float],
    directions: Sequence[Direction],
) -> Array:
    """Slope of every output along some directions, a row each.

    Parameters
    ----------
    point : Point
        Where the load settles.
    outputs : ndarray
        Its outputs.
    names : sequence of str
        What they are.
    shares : sequence of float
        Probabilities of the quantiles.
    slos : tuple of float
        Objectives, in s.
    directions : sequence of Direction
        Where the load moves.
    """
    load, batch = point.load, point.above.batch
    counts = np.cumsum([len(shares) if name in QUANTILES else 1 for name in names])
    near = dict(zip(names, np.split(outputs, counts[:-1]), strict=True))
    here = point.outputs(names, shares, slos, near)

    def change(load: Load, batch: float, slos: tuple[float, float], step: float) -> tuple[Array, float]:
        other = Point(nearby(point.above, load, batch), point)
        return (other.outputs(names, shares, slos, near) - here) / step, (other.missed - point.missed) / step

    step = CHANGE * batch
    by_batch, missed_by_batch = change(load, batch + step, slos, step)
    found = np.zeros((len(directions), len(here)))
    kept, shares_of_kept = independent(point, slos, directions)
    for place in kept:
        row, direction = found[place], directions[place]
        pace = direction.pace(load, batch, slos)
        if pace > 0:
            step = CHANGE / pace
            ttft, tpot = (
                slo + step * direction.inputs.get(name, 0.0)
                for slo, name in zip(slos, ("ttft_slo", "tpot_slo"), strict=True)
            )
            by_load, missed = change(direction.moved(load, step), batch, (ttft, tpot), step)
            row[:] = by_load - by_batch * (missed / missed_by_batch)
    rest = [place for place in range(len(directions)) if place not in kept]
    found[rest] = shares_of_kept[:, rest].T @ found[kept]
    return found


def independent(point: Point, slos: Sequence[float], directions: Sequence[Direction]) -> tuple[list[int], Array]:
    """Directions that no others lead along, and how the slopes of all follow from theirs.

    Much of what the time of an iteration depends on moves it alike: a peak and the share of it that is reached.

    Parameters
    ----------
    point : Point
        Where the load settles.
    slos : sequence of float
        Objectives.
    directions : sequence of Direction
        Where the load moves.

    Returns
    -------
    list of int
        Places of those that are followed.
    ndarray of shape (followed, directions)
        Shares of these in each direction.
    """
    if len(directions) == 1:
        return [0], np.ones((1, 1))
    load = point.load
    places = [(at.batch, np.linspace(0.0, at.free, PLACES)) for at in (point.above.full, point.below.full)]
    places += [(at.batch, at.step * np.linspace(0.0, at.lattice.chunk, PLACES)) for at in (point.above, point.below)]
    times = np.concatenate([np.broadcast_to(load.tau(*at), PLACES) for at in places])
    own = {**vars(load), "ttft_slo": slos[0], "tpot_slo": slos[1]}
    rows = []
    for each in directions:
        inputs = [each.inputs.get(name, 0.0) / (own[name] or 1.0) for name in own if name != "tau"]
        slopes = [np.broadcast_to(each.tau(*at), PLACES) if each.tau else np.zeros(PLACES) for at in places]
        rows.append(np.concatenate([np.nan_to_num(inputs), np.concatenate(slopes) / times]))
    columns = np.array(rows).T
    sizes = np.linalg.norm(columns, axis=0)
    factors: Any = qr(columns / np.where(sizes > 0, sizes, 1.0), mode="economic", pivoting=True)
    _, upper, order = factors
    count = max(int(np.sum(np.abs(np.diag(upper)) > ALIKE)), 1)
    shares = np.zeros((count, len(directions)))
    shares[:, order] = np.linalg.lstsq(upper[:count, :count], upper[:count], rcond=None)[0]
    kept = [int(place) for place in order[:count]]
    return kept, shares * sizes / np.where(sizes[kept] > 0, sizes[kept], 1.0)[:, None]
