"""The front of a problem by bounds."""

from __future__ import annotations

from mlsysim.backends.budget import Budget
from mlsysim.backends.front import Front
from mlsysim.bounds import Cuts, FrontSearch, Known, Points, Progress, Translator
from mlsysim.progress import watched
from mlsysim.study.searches.problem import Problem

#: Most points of a grid whose front is found by bounds: more have no number each in 64 bits.
LARGEST = 1 << 62


def front_by_bounds(
    asked: Problem, budget: Budget, progress: bool | None, cuts: Cuts | None = None
) -> tuple[Front, Progress, float]:
    """The Pareto front of a problem by bounds, or what is known of it when the budget is used up.

    Parameters
    ----------
    asked : Problem
        What is solved.
    budget : Budget
        Operations and time.
    progress : bool, optional
        Whether to show progress; by default on a terminal.
    cuts : Cuts, optional
        Keeps what becomes of every part of the grid.

    Returns
    -------
    Front, Progress, float
        The front; what was looked at; and by what share of itself a point of the front may be bettered in every
        objective, zero if the front is proven.
    """
    binding = asked.binding
    translator = Translator(binding.system, binding.numbers, binding.sizes, (*asked.goals, *asked.required))
    conditions = translator.require(asked.required)
    search = FrontSearch(
        translator.plans,
        [translator.sum(goal) for goal in asked.goals],
        conditions,
        asked.points,
        [Points(binding.system, (goal,), (), binding.numbers) for goal in asked.goals],
        binding.sizes,
    )
    with watched("pareto", progress) as line:

        def report(seen: Progress, known: Known) -> None:
            if line is not None:
                line.say(f"{seen.boxes:,} boxes, {seen.points:,} points, {len(known.values):,} on the front")

        known, seen, gap = search.front(budget, report, cuts)
    return Front(known.values, known.indices, seen.feasible, seen.points), seen, gap
