"""Pareto front of a grid, of one block or of several: the points that no other point dominates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy

from mlsysim.backends.blocks import Region, all_within, shape
from mlsysim.backends.staged import MOST, graph_of_expressions, on_jax
from mlsysim.backends.ties import SPARE
from mlsysim.symbolic import System

#: Points with which every point of a block is compared first, and the stride of the sample they are taken from.
WITNESSES, STRIDE = 16, 997
#: Candidates that are compared with the front so far at once, for three objectives or more.
BATCH = 512
#: Points of a front that are compared with boxes at once.
BESIDE = 256


@dataclass(frozen=True)
class Front:
    """Points that no other point dominates: none is as good in every objective and better in one.

    Attributes
    ----------
    values : ndarray
        One row per point, one column per objective, to the digits that count; ascending.
    indices : ndarray of int
        C-order index of each point in the grid; of points equal in every objective the first.
    feasible : int
        Points that meet every condition.
    points : int
        Points evaluated.
    """

    values: np.ndarray
    indices: np.ndarray
    feasible: int
    points: int


class GridFront:
    """Fronts of the parts of a grid; every objective is minimised.

    Parameters
    ----------
    system : System
        Formulas.
    objectives : sequence of sympy.Expr
        In inputs and variables of the system; a point where one is infinite or undefined is out.
    conditions : sequence of sympy Boolean
        All must hold.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
    """

    def __init__(
        self,
        system: System,
        objectives: Sequence[sympy.Basic],
        conditions: Sequence[sympy.Basic],
        values: Mapping[str, Any],
    ) -> None:
        self.number = len(objectives)
        graph = graph_of_expressions(system, [*objectives, *conditions])
        self.function, self.values = on_jax(graph, values, lambda shape: math.prod(shape) <= MOST)

    def of(self, region: Region) -> Front:
        """Front of one region, held in memory; indices are those in the region."""
        import jax

        evaluated, surviving = _functions(self.function, self.number, shape(region))
        with jax.enable_x64(True):
            columns, feasible = evaluated(all_within(self.values, region))
            sample = np.stack([np.asarray(column[::STRIDE]) for column in columns], axis=1)
            witnesses = _witnesses(sample)
            kept = np.flatnonzero(np.asarray(surviving(columns, witnesses)))
            candidates = np.stack([np.asarray(column)[kept] for column in columns], axis=1)
            counted = int(feasible)
        return Front(*nondominated(candidates, kept), counted, math.prod(shape(region)))


def joined_fronts(first: Front, second: Front) -> Front:
    """Front of two parts of one grid; the indices of both are those of the grid."""
    values, indices = nondominated(
        np.concatenate([first.values, second.values]), np.concatenate([first.indices, second.indices])
    )
    return Front(values, indices, first.feasible + second.feasible, first.points + second.points)


def nondominated(values: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows that no other row dominates, in ascending order; of equal rows the one with the first index.

    Parameters
    ----------
    values : ndarray
        One row per point.
    indices : ndarray of int
        One per point.

    Returns
    -------
    tuple of ndarray
        Values and indices of the front.
    """
    order = np.lexsort((indices, *values.T[::-1]))
    values, indices = values[order], indices[order]
    if not len(values):
        return values, indices
    if values.shape[1] == 1:
        return values[:1], indices[:1]
    if values.shape[1] == 2:
        best = np.minimum.accumulate(values[:, 1])
        kept = np.concatenate([[True], values[1:, 1] < best[:-1]])
        return values[kept], indices[kept]
    kept = np.empty(0, int)
    for start in range(0, len(values), BATCH):
        batch = np.arange(start, min(start + BATCH, len(values)))
        # In ascending order only an earlier row can be as good everywhere.
        beaten = _as_good(values[kept], values[batch]).any(axis=1)
        batch = batch[~beaten]
        among = _as_good(values[batch], values[batch])
        kept = np.concatenate([kept, batch[~np.tril(among, -1).any(axis=1)]])
    return values[kept], indices[kept]


def share_to_better(front: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Share of itself by which the nearest point of a front must improve in every objective to beat a bound.

    Parameters
    ----------
    front : ndarray
        A row per point, a column per objective.
    lower : ndarray
        Lower bounds by objective (rows) and box (columns).

    Returns
    -------
    ndarray
        A share per box; 0 where a point of the front is as good in every objective, infinite where there is none.
    """
    shares = np.full(lower.shape[1], math.inf)
    with np.errstate(all="ignore"):
        for start in range(0, len(front), BESIDE):
            known = front[start : start + BESIDE, :, None]
            share = np.where(known <= lower, 0.0, (known - lower) / np.abs(known))
            shares = np.fmin(shares, np.where(np.isnan(share), math.inf, share).max(axis=1).min(axis=0))
    return shares


def index_of(points: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """C-order index of points."""
    index = np.zeros(points.shape[1], np.int64)
    for row, size in zip(points, sizes, strict=True):
        index = index * size + row
    return index


def _as_good(rows: np.ndarray, than: np.ndarray) -> np.ndarray:
    """Matrix of the ``rows`` (columns) that are as good or better in every column than each row of ``than``."""
    return np.all(rows[None] <= than[:, None], axis=2)


def _witnesses(sample: np.ndarray) -> np.ndarray:
    """A few points of the front of a sample, which dominate most of a block; rows are infinite if there are fewer."""
    sample = sample[np.isfinite(sample).all(1)]
    front, _ = nondominated(sample, np.arange(len(sample)))
    chosen = front[np.unique(np.linspace(0, len(front) - 1, WITNESSES).astype(int))] if len(front) else front
    witnesses = np.full((WITNESSES, sample.shape[1]), np.inf)
    witnesses[: len(chosen)] = chosen
    return witnesses


@lru_cache(maxsize=64)
def _functions(function: Any, number: int, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Compile two functions: objectives, infinite if infeasible; and the points that no witness dominates."""
    import jax
    import jax.numpy as jnp

    def rounded(objective: Any) -> Any:
        """Round on the device like :func:`mlsysim.backends.ties.rounded`."""
        bits = jax.lax.bitcast_convert_type(jnp.asarray(objective, jnp.float64) + 0.0, jnp.int64)
        return jax.lax.bitcast_convert_type((bits + (1 << (SPARE - 1))) >> SPARE << SPARE, jnp.float64)

    @jax.jit
    def evaluated(values: Mapping[str, Any]) -> Any:
        results = function.raw(*[values[name] for name in function.inputs])
        allowed: Any = True
        for objective in results[:number]:
            allowed = allowed & jnp.isfinite(objective)
        for condition in results[number:]:
            allowed = allowed & (jnp.asarray(condition) != False)  # noqa: E712
        allowed = jnp.broadcast_to(allowed, shape)
        columns = [jnp.where(allowed, rounded(objective), jnp.inf).reshape(-1) for objective in results[:number]]
        return columns, jnp.sum(allowed, dtype=jnp.int64)

    @jax.jit
    def surviving(columns: Any, witnesses: Any) -> Any:
        kept = columns[0] < jnp.inf
        for witness in witnesses:
            noworse, better = True, False
            for at, column in zip(witness, columns, strict=True):
                noworse, better = noworse & (at <= column), better | (at < column)
            kept = kept & ~(noworse & better)
        return kept

    return evaluated, surviving
