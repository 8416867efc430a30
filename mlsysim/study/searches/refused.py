"""Refused points of a search problem, by reason, with the catalog entries refused."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from threading import Lock
from typing import Any

import numpy as np

from mlsysim.backends.refused import Refusals, RefusedBy
from mlsysim.inputs.convert import Axis
from mlsysim.inputs.refusal import Reason
from mlsysim.study.searches.certificate import Refused
from mlsysim.study.searches.problem import Problem

#: Grids whose counts are cached.
KEPT = 4
#: Most points of a grid whose infeasible points are counted.
COUNTED = 1 << 16


def refused(problem: Problem) -> tuple[tuple[int, int], dict[str, Refused]]:
    """Bound the number of accepted points, and describe what is refused, by reason.

    Parameters
    ----------
    problem : Problem
        Problem whose grid is counted. The counts do not depend on the method of solution.
    """
    accepted, by_reason = _counted(problem)
    refusals = {
        reason.text: Refused(counted.count, tuple(_entries(problem, reason, counted)))
        for reason, counted in zip(problem.binding.reasons, by_reason, strict=True)
        if counted.count[1]
    }
    return accepted, refusals


def infeasible(problem: Problem) -> tuple[int, int] | None:
    """Bound the number of accepted points at which ``feasible`` is False; None if counting takes long."""
    binding = problem.binding
    condition = problem.constraints[-1].sympy
    if problem.points.iterates or problem.grid.points > COUNTED:
        return None
    feasible = Refusals(binding.system, (*binding.conditions, condition), binding.numbers, binding.sizes).accepted()
    accepted, _ = _counted(problem)
    return accepted[0] - feasible[1], accepted[1] - feasible[0]


#: Counts on the last grids, shared by several questions.
_counts: OrderedDict[Any, tuple[tuple[int, int], list[RefusedBy]]] = OrderedDict()
_lock = Lock()


def _counted(problem: Problem) -> tuple[tuple[int, int], list[RefusedBy]]:
    """Bound the number of accepted points; count the points that each reason refuses."""
    binding = problem.binding
    # A grid that differs in inputs that no reason depends on refuses the same points.
    key = (problem.key_of(binding.conditions), binding.conditions) if problem.is_small else None
    with _lock:
        cached = _counts.get(key)
    if cached is not None:
        return cached
    counts = Refusals(binding.system, binding.conditions, binding.numbers, binding.sizes)
    counted = counts.accepted(), counts.by_reason()
    if key is not None:
        with _lock:
            _counts[key] = counted
            while len(_counts) > KEPT:
                _counts.popitem(last=False)
    return counted


def _entries(problem: Problem, reason: Reason, refused: RefusedBy) -> Iterator[str]:
    """Yield entries that are refused altogether, and entries that are refused with some labels of one other axis."""
    if refused.where is None:
        return
    axes = list(problem.binding.axes.values())
    for position, dimension in enumerate(refused.axes):
        names = _names(problem, axes[dimension], reason)
        others = [axes[other] for other in refused.axes if other != dimension]
        for name in dict.fromkeys(names):
            rows = np.moveaxis(refused.where, position, 0)[[other_name == name for other_name in names]]
            if rows.all():
                yield name
            elif len(others) == 1 and others[0].coordinates.dtype.kind in "OU" and rows.any():
                labels = others[0].coordinates[rows.all(axis=0)]
                if len(labels):
                    yield f"{name} ({', '.join(map(str, labels))})"


def _names(problem: Problem, axis: Axis, reason: Reason) -> list[str]:
    """Name, for each value of an axis, the entry or entries that a reason may refuse; empty if it has none."""
    slots = problem.model.slots
    members = [
        part.coordinates
        for name, part in (axis.members or {axis.name: axis}).items()
        if name in problem.binding.entries and (reason.known is None or reason.inputs[0] in slots[name].gives)
    ]
    return [" with ".join(map(str, labels)) for labels in zip(*members, strict=True)]
