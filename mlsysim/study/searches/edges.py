"""Arguments of which the best design has the smallest or largest value, so that a better one may lie beyond."""

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

#: An axis of fewer values is a choice and not a range with ends.
RANGE = 3


@dataclass(frozen=True)
class Edge:
    """An argument of which the best design has the smallest or the largest value of its axis.

    Attributes
    ----------
    name : str
        Name of the argument.
    end : {"smallest", "largest"}
        Which end of the axis.
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


def edges(asked: Problem, place: Sequence[int]) -> tuple[Edge, ...]:
    """The ends of axes on which the best design lies.

    Left out are labels, entries, linked axes, axes of fewer than three values, ends beyond which no value is
    allowed, and axes along which the next value is feasible and as good.

    Parameters
    ----------
    asked : Problem
        With one objective.
    place : sequence of int
        Index of the best design along every axis.
    """
    found = []
    for number, (name, axis) in enumerate(asked.binding.axes.items()):
        if axis.members or name in asked.binding.entries or len(axis) < RANGE:
            continue
        domain = variable_of(name).domain
        order = np.argsort(axis.canonical)
        rank = int(np.flatnonzero(order == place[number])[0])
        if domain.kind == "choice" or domain.is_flag or 0 < rank < len(axis) - 1:
            continue
        value = float(axis.canonical[place[number]])
        typed = units.from_canonical(value, variable_of(name).unit)
        if typed == (domain.lower if rank == 0 else domain.upper):
            continue
        inward = order[1] if rank == 0 else order[-2]
        if not _as_good(asked, place, number, int(inward)):
            found.append(Edge(name, "largest" if rank else "smallest", value))
    return tuple(found)


def _as_good(asked: Problem, place: Sequence[int], number: int, other: int) -> bool:
    """Tell whether the design with another value along one axis is feasible and counts as equal."""
    both = np.tile(np.asarray(place, np.int64)[:, None], 2)
    both[number, 1] = other
    (best, beside), good = asked.points(both)
    return bool(good[1]) and beside <= band(float(best))[1]
