"""Branch and bound of a problem, cached in case it is solved again with another limit or for more designs."""

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

#: Problems cached.
KEPT = 4
#: Most points of a grid whose front is found by bounds: indices must fit in 64 bits.
LARGEST = 1 << 62

_kept: OrderedDict[Any, Search] = OrderedDict()
_lock = Lock()


@contextmanager
def solver(problem: Problem, budget: Budget) -> Iterator[Search]:
    """Provide the branch and bound of a problem for exclusive use.

    Parameters
    ----------
    problem : Problem
        Problem to solve.
    budget : Budget
        Budget of the solution. A search that its deadline interrupted is not cached.
    """
    # Forms depend on the values and compiled programs on the expressions: together they make the key.
    others, limits = problem.parted
    key = problem.grid_key, problem.goals, others, tuple(limits)
    with _lock:
        search = _kept.pop(key, None)
    if search is None:
        search = _built(problem)
    else:
        search.limit(limits)
    yield search
    if problem.is_small and time.perf_counter() <= budget.deadline:
        with _lock:
            _kept[key] = search
            while len(_kept) > KEPT:
                _kept.popitem(last=False)


def _built(problem: Problem) -> Search:
    binding, goals = problem.binding, problem.goals
    others, limits = problem.parted
    needed = *goals, *others, *(limited.quantity for limited in limits)
    forms = GraphForms(binding.system, binding.numbers, binding.sizes, needed)
    conditions = forms.require(others)
    limited_forms = {limited: forms.sum(limited.quantity, limited.sign) for limited in limits}
    evaluators = (
        [Points(binding.system, (goal,), (), binding.numbers) for goal in goals] if goals[1:] else [problem.points]
    )
    objectives = [forms.sum(goal) for goal in goals]
    return Search(forms.plans, objectives, conditions, problem.points, evaluators, binding.sizes, limited_forms)
