"""Edges: arguments at the end of their axis in the best design, so that a better one may lie beyond."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.backends.ties import band
from mlsysim.study.results.display import as_text, plain
from mlsysim.study.searches.problem import Problem
from mlsysim.symbolic import variable_of

#: Least number of values of an axis that counts as a range with ends.
RANGE = 3


@dataclass(frozen=True)
class Edge:
    """An argument whose value in the best design is the smallest or largest of its axis.

    Attributes
    ----------
    name : str
        Name of the argument.
    end : {"smallest", "largest"}
        End of the axis.
    value : float
        The value in canonical units.
    """

    name: str
    end: str
    value: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"argument": self.name, "end": self.end, **plain(variable_of(self.name), self.value)}

    def __str__(self) -> str:
        return f"{self.name}={as_text(variable_of(self.name), self.value)} ({self.end})"


def edges(problem: Problem, position: Sequence[int]) -> tuple[Edge, ...]:
    """Find the ends of axes at which the best design lies.

    Labels, entries, linked axes and axes of fewer than three values are skipped. So are ends beyond which no value is
    allowed, and axes along which the next value inward is feasible and equally good.

    Parameters
    ----------
    problem : Problem
        Problem with one objective.
    position : sequence of int
        Index of the best design along every axis.
    """
    result = []
    for dimension, (name, axis) in enumerate(problem.binding.axes.items()):
        if axis.members or name in problem.binding.entries or len(axis) < RANGE:
            continue
        domain = variable_of(name).domain
        order = np.argsort(axis.canonical)
        rank = int(np.flatnonzero(order == position[dimension])[0])
        if domain.kind == "choice" or domain.is_flag or 0 < rank < len(axis) - 1:
            continue
        value = float(axis.canonical[position[dimension]])
        typed = units.from_canonical(value, variable_of(name).unit)
        if typed == (domain.lower if rank == 0 else domain.upper):
            continue
        inward = order[1] if rank == 0 else order[-2]
        if not _as_good(problem, position, dimension, int(inward)):
            result.append(Edge(name, "largest" if rank else "smallest", value))
    return tuple(result)


def _as_good(problem: Problem, position: Sequence[int], dimension: int, other: int) -> bool:
    """Tell whether the design with another value along one axis is feasible and counts as equal."""
    points = np.tile(np.asarray(position, np.int64)[:, None], 2)
    points[dimension, 1] = other
    (best, value), feasible = problem.points(points)
    return bool(feasible[1]) and value <= band(float(best))[1]
