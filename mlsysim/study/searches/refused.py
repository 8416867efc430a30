"""Refused points of a search problem, by reason, and the entries of the catalog refused with them."""

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

#: Grids of which counts are kept.
KEPT = 4
#: Most points of a grid of which infeasible ones are counted.
COUNTED = 1 << 16


def refused(asked: Problem) -> tuple[tuple[int, int], dict[str, Refused]]:
    """The fewest and the most points that may be accepted; and what is refused, by reason.

    Parameters
    ----------
    asked : Problem
        Whose grid is counted. It depends on the problem alone and not on how it is solved.
    """
    accepted, by_reason = _counted(asked)
    found = {
        reason.text: Refused(each.count, tuple(_entries(asked, reason, each)))
        for reason, each in zip(asked.binding.reasons, by_reason, strict=True)
        if each.count[1]
    }
    return accepted, found


def infeasible(asked: Problem) -> tuple[int, int] | None:
    """The fewest and the most accepted points at which ``feasible`` is False; None where counting them takes long."""
    binding = asked.binding
    condition = asked.constraints[-1].sympy
    if asked.points.iterates or asked.grid.points > COUNTED:
        return None
    both = Refusals(binding.system, (*binding.conditions, condition), binding.numbers, binding.sizes).accepted()
    accepted, _ = _counted(asked)
    return accepted[0] - both[1], accepted[1] - both[0]


#: What was counted on the last grids, which several questions are asked of.
_counts: OrderedDict[Any, tuple[tuple[int, int], list[RefusedBy]]] = OrderedDict()
_lock = Lock()


def _counted(asked: Problem) -> tuple[tuple[int, int], list[RefusedBy]]:
    """The fewest and the most points that are accepted, and what each reason refuses."""
    binding = asked.binding
    # A grid of other inputs, of which no reason knows, refuses the same points.
    key = (asked.known_of(binding.conditions), binding.conditions) if asked.is_small else None
    with _lock:
        known = _counts.get(key)
    if known is not None:
        return known
    counts = Refusals(binding.system, binding.conditions, binding.numbers, binding.sizes)
    found = counts.accepted(), counts.by_reason()
    if key is not None:
        with _lock:
            _counts[key] = found
            while len(_counts) > KEPT:
                _counts.popitem(last=False)
    return found


def _entries(asked: Problem, reason: Reason, refused: RefusedBy) -> Iterator[str]:
    """Entries that are refused altogether, and entries that are refused with some labels of one other axis."""
    if refused.where is None:
        return
    axes = list(asked.binding.axes.values())
    for place, number in enumerate(refused.axes):
        names = _names(asked, axes[number], reason)
        others = [axes[other] for other in refused.axes if other != number]
        for name in dict.fromkeys(names):
            rows = np.moveaxis(refused.where, place, 0)[[each == name for each in names]]
            if rows.all():
                yield name
            elif len(others) == 1 and others[0].coordinates.dtype.kind in "OU" and rows.any():
                labels = others[0].coordinates[rows.all(axis=0)]
                if len(labels):
                    yield f"{name} ({', '.join(map(str, labels))})"


def _names(asked: Problem, axis: Axis, reason: Reason) -> list[str]:
    """For each value of an axis, the name of the entry or entries that a reason may refuse; none if it has none."""
    slots = asked.model.slots
    members = [
        part.coordinates
        for name, part in (axis.members or {axis.name: axis}).items()
        if name in asked.binding.entries and (reason.known is None or reason.inputs[0] in slots[name].gives)
    ]
    return [" with ".join(map(str, labels)) for labels in zip(*members, strict=True)]
