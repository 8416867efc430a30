"""Inverse problem at one point: choose the answer among the solutions, or say why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.inverse.closed_form import closed_form
from mlsysim.study.inverse.intervals import CODES, SOLVED, Intervals, Solutions, choose, real_intervals
from mlsysim.study.inverse.no_solution import compared_sides, explain_none, sides_of, with_obstacle
from mlsysim.study.inverse.scan import real_values, whole_values
from mlsysim.study.inverse.solution import Solution, as_text, nearest_of
from mlsysim.study.inverse.target_function import Block, Evaluation, TargetFunction, relative_residual
from mlsysim.study.inverse.whole_numbers import neighbours, whole_intervals
from mlsysim.study.results.result import Result
from mlsysim.study.solve import solve

#: Rounds of refinement around the values with the least residuals, values around each, and how many of them.
ROUNDS, VALUES, NEAREST = 8, 65, 8
#: Rounds of refinement around solutions.
AGAIN = 4
#: Note on an output that rises and falls.
MISSED = "the output rises and falls or jumps to and fro: other values between those scanned may hold, too"
#: Most points of a grid of a real unknown that are scanned as densely as one point; the same where formulas iterate.
CLOSELY, CLOSELY_LOOP = 16, 4
#: Relative residual within which an output that rises and falls counts as near its target.
NEAR = 0.25
#: Most solutions listed.
LISTED = 12


def solution_at(function: TargetFunction, arguments: Mapping[str, Any], which: str | None) -> Solution:
    """Solve for the unknown at the only point.

    Parameters
    ----------
    function : TargetFunction
        Targets along the unknown.
    arguments : mapping
        Arguments of ``solve`` without the unknown.
    which : {"largest", "smallest"}, optional
        Value to return if there is more than one.
    """
    unknown, block = function.unknown, function.block(np.zeros(1, int))
    x, solver = search_of(function, 1)
    solutions = solver(block, x)
    solved_at = partial(_solved, function.model, arguments, unknown.name)
    answer = partial(Solution, unknown, tuple(function.targets.texts), _leaves_out=bool(function.targets.assumed),
                     _solved_at=solved_at)  # fmt: skip
    if not len(solutions.intervals):
        pair = neighbours(block, x, solutions, which) if function.whole else None
        if pair is not None and pair.best[0] >= 0:
            rows = [int(pair.best[0]), 1 - int(pair.best[0])]
            sides = pair.values[rows, 0], pair.reached[rows, 0], pair.asked[rows, 0]
            nearest = nearest_of(unknown, function.targets.equations[0].left.unit, *sides)
            return answer("nearest", _at=float(sides[0][0]), nearest=nearest)
        if pair is not None:
            solutions.rejected = Intervals(pair.column, *pair.values, *np.zeros((2, 1), bool))
        missed = _may_miss(block, x, None, several=False)
        status, reason = explain_none(block, x, solutions, missed=missed)
        return answer(status, reason=with_obstacle(reason, solved_at, x), note=MISSED if missed else "")
    choice = choose(unknown.domain, solutions.intervals, 1, which)
    status, side = CODES[choice.code[0]], "largest" if choice.largest[0] else "smallest"
    low, high = float(choice.intervals.lower[0]), float(choice.intervals.upper[0])
    at = None if choice.endless[0] else high if choice.largest[0] else low
    reason, named_end = "", side if low < high or status == "everywhere" else ""
    if at is None:
        extent = f"from {as_text(unknown, low)} on" if choice.largest[0] else f"up to {as_text(unknown, high)}"
        extent, named_end = "for every value" if status == "everywhere" else extent, side
        reason = f"there is no {side} value: {' and '.join(function.targets.texts)} {extent}"
    form = None if at is None or status == "everywhere" else closed_form(block, at, largest=named_end == "largest")
    if status == "several" and not named_end:
        named_end = which or "smallest"
    missed = status != "everywhere" and _may_miss(block, x, at, several=status == "several")
    return answer(
        status, _at=at, which=named_end, reason=reason, _ends=_intervals(solutions.intervals), _closed_form=form,
        note=MISSED if missed else "", _last=which == "largest", _more=max(0, len(solutions.intervals) - LISTED),
    )  # fmt: skip


def search_of(function: TargetFunction, points: int) -> tuple[np.ndarray, Callable[[Block, np.ndarray], Solutions]]:
    """Return the values of the unknown to scan, and the solver that scans them at this number of points."""
    domain, usual = function.unknown.domain, function.usual
    if function.whole:
        return whole_values(domain, usual, points, iterates=function.iterates), whole_intervals
    dense = points <= (CLOSELY_LOOP if function.iterates else CLOSELY)
    return real_values(domain, usual, dense=dense), refined_intervals if dense else real_intervals


def refined_intervals(block: Block, x: np.ndarray) -> Solutions:
    """Find the intervals in which all targets hold along a real unknown at one point; refine the scan around them.

    Parameters
    ----------
    block : Block
        The point.
    x : ndarray
        Values of the unknown to scan, sorted.
    """
    solutions = real_intervals(block, x)
    if len(solutions.intervals):
        return _refined_around(block, x, solutions)
    return solutions if solutions.evaluation.residual is None else _refined_at_minimum(block, x, solutions)


def _may_miss(block: Block, x: np.ndarray, at: float | None, *, several: bool) -> bool:
    """Tell whether an output rises and falls, so that values between those scanned may hold."""
    if several and not block.function.whole:
        return True
    compared = compared_sides(block)
    if compared is None:
        return False
    if block.function.whole:
        (gaps,) = np.nonzero(np.diff(x) > 1)
        if not len(gaps) or (at is not None and at <= x[gaps[0]]):
            return False
        x = x[gaps[0] :]
    left, right = sides_of(block, compared, x)
    is_near = block.along(x).accepted[:, 0] & (np.abs(relative_residual(left, right)) < NEAR)
    both_near = is_near[1:] & is_near[:-1]
    change = left[1:][both_near] - left[:-1][both_near]
    direction = np.sign(change[np.abs(change) > SOLVED * np.abs(left[1:][both_near])])
    return int(np.count_nonzero(direction[1:] != direction[:-1])) > 1


def _solved(model: DeclaredModel, arguments: Mapping[str, Any], unknown: str, value: float) -> Result:
    """Solve the model at a value of the unknown."""
    return solve(model, **{**arguments, unknown: value})


def _intervals(intervals: Intervals) -> tuple[tuple[float | None, float | None], ...]:
    ends = zip(intervals.lower, intervals.upper, intervals.starts_at_edge, intervals.ends_at_edge, strict=True)
    pairs = [(None if first else float(low), None if last else float(high)) for low, high, first, last in ends]
    return tuple(pairs[:LISTED])


def _refined_around(block: Block, x: np.ndarray, solutions: Solutions) -> Solutions:
    """Refine the scan around solutions: an output that rises and falls meets a target several times."""
    refined, edges = np.unique(np.append(x, solutions.intervals.lower)), _edges(x, solutions.evaluation)
    for _ in range(AGAIN):
        rows = np.unique(np.clip(np.searchsorted(x, edges), 1, len(x) - 1))
        if not len(rows):
            break
        rows = np.union1d(rows[:LISTED], rows[-LISTED:])
        low, high = x[np.maximum(rows - 2, 0)], x[np.minimum(rows + 1, len(x) - 1)]
        refined = np.union1d(refined, np.linspace(low, high, VALUES))
        known, edges = len(edges), _edges(refined, block.along(refined))
        if len(edges) == known:
            break
    return real_intervals(block, refined)


def _edges(x: np.ndarray, evaluation: Evaluation) -> np.ndarray:
    """Values after which targets begin or cease to hold, or the first equation changes sign."""
    changes = evaluation.all_hold[1:, 0] != evaluation.all_hold[:-1, 0]
    if evaluation.residual is not None:
        changes |= evaluation.residual[1:, 0] * evaluation.residual[:-1, 0] < 0
    return x[1:][changes]


def _refined_at_minimum(block: Block, x: np.ndarray, first: Solutions) -> Solutions:
    """Refine the scan where the residual of an equation is least: it may touch zero without a change of sign."""
    solutions = first
    for _ in range(ROUNDS):
        residuals = np.where(
            solutions.evaluation.accepted & solutions.evaluation.constraints_hold,
            solutions.evaluation.worst_residual,
            np.nan,
        )[:, 0]
        if len(solutions.intervals) or np.all(np.isnan(residuals)):
            break
        nearest = np.argsort(residuals)[: min(NEAREST, np.count_nonzero(~np.isnan(residuals)))]
        low, high = x[np.maximum(nearest - 1, 0)], x[np.minimum(nearest + 1, len(x) - 1)]
        x = np.unique(np.append(np.linspace(low, high, VALUES), x[nearest]))
        solutions = real_intervals(block, x)
        if len(solutions.intervals):
            never = np.zeros(len(solutions.intervals), bool)
            solutions.intervals.starts_at_edge, solutions.intervals.ends_at_edge = never, never.copy()
            return solutions
    return first
