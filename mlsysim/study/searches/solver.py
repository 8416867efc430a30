"""The branch and bound of a problem, kept in case the same problem is solved again: with another limit, or for more."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from mlsysim.backends.budget import Budget
from mlsysim.bounds import GraphForms, Points, Search
from mlsysim.study.searches.problem import Problem

#: Problems that are kept.
KEPT = 4
#: Most points of a grid whose front is found by bounds: more have no number each in 64 bits.
LARGEST = 1 << 62

_kept: OrderedDict[Any, Search] = OrderedDict()
_lock = Lock()


@contextmanager
def solver(asked: Problem, budget: Budget) -> Iterator[Search]:
    """The branch and bound of a problem, which nobody else uses meanwhile.

    Parameters
    ----------
    asked : Problem
        What is solved.
    budget : Budget
        Under which it is. What its deadline broke off is not kept.
    """
    # The forms hold what the values are, the programs what is done to them: all of it hangs on nothing else.
    others, limits = asked.parted
    key = asked.over, asked.goals, others, tuple(limits)
    with _lock:
        found = _kept.pop(key, None)
    if found is None:
        found = _made(asked)
    else:
        found.limit(limits)
    yield found
    if asked.is_small and time.perf_counter() <= budget.deadline:
        with _lock:
            _kept[key] = found
            while len(_kept) > KEPT:
                _kept.popitem(last=False)


def _made(asked: Problem) -> Search:
    binding, goals = asked.binding, asked.goals
    others, limits = asked.parted
    needed = *goals, *others, *(limited.quantity for limited in limits)
    forms = GraphForms(binding.system, binding.numbers, binding.sizes, needed)
    conditions = forms.require(others)
    held = {limited: forms.sum(limited.quantity, limited.sign) for limited in limits}
    alone = [Points(binding.system, (goal,), (), binding.numbers) for goal in goals] if goals[1:] else [asked.points]
    objectives = [forms.sum(goal) for goal in goals]
    return Search(forms.plans, objectives, conditions, asked.points, alone, binding.sizes, held)
