"""Reasons why no value meets the targets: the range of the output, jumps, and conditions that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mlsysim import formatting
from mlsysim.errors import MlsysimError
from mlsysim.inputs.expressions import Expression
from mlsysim.inputs.refusal import first_reason
from mlsysim.study.inverse.intervals import SOLVED, STEPS, Solutions
from mlsysim.study.inverse.scan import beyond
from mlsysim.study.inverse.solution import as_text
from mlsysim.study.inverse.target_function import Block, evaluated, relative_residual
from mlsysim.study.searches.constraints import Comparison

if TYPE_CHECKING:
    from mlsysim.study.results.result import Result

#: Both sides of a comparison or equation.
Sides = tuple[Expression, object]


def explain_none(block: Block, x: np.ndarray, solutions: Solutions, *, missed: bool = False) -> tuple[str, str]:
    """Return status and reason if no value meets the targets.

    Parameters
    ----------
    block : Block
        The point.
    x : ndarray
        Values of the unknown that were scanned.
    solutions : Solutions
        Solutions found on the scan.
    missed : bool
        Whether values between them may meet the targets, so that none outside the domain is named.
    """
    function, evaluation = block.function, solutions.evaluation
    accepted = evaluation.accepted[:, 0]
    if not accepted.any():
        return "none", f"the model accepts no value that was scanned: {_refused(block, x)}"
    if infeasible := _infeasible(block, x, solutions):
        return "none", infeasible
    compared = compared_sides(block)
    if compared is not None and not missed and not len(solutions.rejected) and not len(solutions.jumps):
        outside = _outside(block, compared)
        if outside is not None:
            allowed = function.unknown.domain.describe()
            at = as_text(function.unknown, outside) if not function.whole else formatting.number(outside)
            within = _range(block, x, accepted, compared)
            return (
                "outside",
                f"it would have to be {at}, outside its domain ({allowed}){within and f'; within it {within}'}",
            )
    if len(solutions.rejected):
        return "none", _rejected(block, solutions)
    jumped = _jumped(block, x, accepted, solutions, compared)
    if jumped and compared:
        reached = _range(block, x, accepted, compared)
    else:
        reached = _reached(block, x, accepted, compared, function.comparison)
    return "none", "; ".join(filter(None, [jumped, reached, _alone(block, x, accepted)]))


def with_obstacle(reason: str, solved_at: Callable[[float], Result], x: np.ndarray) -> str:
    """Append the model's obstacle to a reason in which an output is infinite.

    Parameters
    ----------
    reason : str
        Reason why no value meets the targets.
    solved_at : callable
        Function that solves the model at a value of the unknown.
    x : ndarray
        Values of the unknown that were scanned.
    """
    if "∞" not in reason:
        return reason
    try:
        obstacle = solved_at(float(x[len(x) // 2])).obstacle
    except MlsysimError:
        return reason
    return f"{reason}: {obstacle}" if obstacle else reason


def _refused(block: Block, x: np.ndarray) -> str:
    binding, values = block.function.binding, block.values | block.known(x[len(x) // 2 :][:1], np.zeros(1, int))
    scalars = {name: float(np.ravel(value)[0]) for name, value in values.items()}
    code = first_reason(binding.reasons, binding.system, scalars)
    return binding.reasons[code - 1].text if code else block.function.unknown.domain.describe()


def compared_sides(block: Block) -> Sides | None:
    """Return both sides of the first equation, or of the only comparison."""
    function = block.function
    if function.targets.equations:
        return function.targets.equations[0].left, block.right[0]
    comparison: Comparison | None = function.comparison
    return None if comparison is None else (comparison.left, comparison.right)


def sides_of(block: Block, compared: Sides, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate both sides of a comparison at values of the unknown."""
    left, right = compared
    needed = {*left.names, *(right.names if isinstance(right, Expression) else ())}
    values = block.known(np.reshape(x, (-1, 1)))
    values = values if needed <= values.keys() else block.everything(np.reshape(x, (-1, 1)))
    other = evaluated(right, values) if isinstance(right, Expression) else np.asarray(right)
    shape = (np.size(x), 1)
    return np.broadcast_to(evaluated(left, values), shape)[:, 0], np.broadcast_to(other, shape)[:, 0]


def _outside(block: Block, compared: Sides) -> float | None:
    """Find a number outside the domain that would meet the target."""
    from scipy.optimize import elementwise

    function = block.function
    x = beyond(function.unknown.domain, function.usual)
    sign = np.sign(relative_residual(*sides_of(block, compared, x)))
    (row,) = np.nonzero(sign[:-1] * sign[1:] < 0)
    if not len(row):
        return None
    solved = elementwise.find_root(
        lambda at: relative_residual(*sides_of(block, compared, at)).reshape(at.shape),
        (x[row], x[row + 1]),
        maxiter=STEPS,
    )
    roots = np.asarray(solved.x)[np.abs(np.asarray(solved.f_x)) <= SOLVED]
    nearest = function.unknown.domain.lower if np.isfinite(function.unknown.domain.lower) else 0.0
    return float(min(roots, key=lambda root: abs(root - nearest))) if len(roots) else None


def _infeasible(block: Block, x: np.ndarray, solutions: Solutions) -> str:
    """Say what is infeasible, and by how much, where all typed targets hold; empty if they hold nowhere."""
    function, evaluation = block.function, solutions.evaluation
    if len(solutions.rejected):
        x, evaluation = solutions.rejected.lower, block.along(solutions.rejected.lower)
    solved = (evaluation.worst_residual <= SOLVED) | (function.whole and len(solutions.rejected) > 0)
    (rows,) = np.nonzero(
        (evaluation.accepted & evaluation.conditions_hold & ~evaluation.constraints_hold & solved)[:, 0]
    )
    if not len(rows):
        return ""
    comparisons = [
        comparison for condition in function.targets.assumed for comparison in function.comparisons_of(condition)
    ]
    sides = [sides_of(block, (comparison.left, comparison.right), x[rows]) for comparison in comparisons]
    over = [
        relative_residual(*pair) * (1 if comparison.at_most else -1)
        for comparison, pair in zip(comparisons, sides, strict=True)
    ]
    nearest_row = int(np.argmin(np.nanmax(over, axis=0))) if comparisons else 0
    missed = [
        f"{comparison.left.text} is {formatting.canonical(float(left[nearest_row]), comparison.left.unit)}, "
        f"and {comparison.right.text} {formatting.canonical(float(right[nearest_row]), comparison.right.unit)}"
        for comparison, (left, right), residual in zip(comparisons, sides, over, strict=True)
        if residual[nearest_row] > 0
    ]
    where = as_text(function.unknown, float(x[rows[nearest_row]]))
    example = f": at {function.unknown.name} = {where} {'; '.join(missed)}" if missed else ""
    return f"it is not feasible where the rest holds{example} (allow_infeasible=True keeps what is not)"


def _rejected(block: Block, solutions: Solutions) -> str:
    """Name a root of the first equation and the conditions that fail there."""
    function, at = block.function, solutions.rejected.lower[:1]
    values = block.known(at)
    first, *others = function.targets.equations
    failures = [
        f"{equation.text} does not hold"
        for index, equation in enumerate(others, start=1)
        if not abs(relative_residual(*block.sides(index, values))) <= SOLVED
    ]
    failures += [
        f"{condition.text} does not hold"
        for condition in function.targets.conditions
        if not evaluated(condition, values).all()
    ]
    if not block.accepted(values).all():
        failures.append("the model refuses the point")
    return f"{first.text} at {as_text(function.unknown, float(at[0]))}, where {' and '.join(failures)}"


def _jumped(block: Block, x: np.ndarray, accepted: np.ndarray, solutions: Solutions, compared: Sides | None) -> str:
    """Say where an output jumps over its target, unless it comes nearer to it elsewhere."""
    if not len(solutions.jumps) or compared is None:
        return ""
    ends = np.array([solutions.jumps.lower, solutions.jumps.upper])
    left, right = (side.reshape(ends.shape) for side in sides_of(block, compared, ends.ravel()))
    residuals = np.abs(relative_residual(left, right)).min(axis=0)
    index = int(np.argmin(residuals))
    elsewhere = np.abs(relative_residual(*sides_of(block, compared, x)))[accepted]
    if np.any(elsewhere < residuals[index] * (1 - SOLVED)):
        return ""
    low, high = (formatting.canonical(float(side), compared[0].unit) for side in left[:, index])
    where = as_text(block.function.unknown, float(ends[0, index]))
    return f"{compared[0].text} jumps over it at {where}, from {low} to {high}"


def _range(block: Block, x: np.ndarray, accepted: np.ndarray, compared: Sides) -> str:
    """Say between which values one side lies over the domain."""
    left, _ = sides_of(block, compared, x)
    left = left[accepted & ~np.isnan(left)]
    if not len(left):
        return ""
    low, high = (formatting.canonical(float(end), compared[0].unit) for end in (left.min(), left.max()))
    name = compared[0].text
    return f"{name} is {low}" if low == high else f"{name} goes from {low} to {high}"


def _reached(
    block: Block, x: np.ndarray, accepted: np.ndarray, compared: Sides | None, bound: Comparison | None = None
) -> str:
    """Say which range an output covers and where it comes nearest to its target; empty if it reaches it."""
    if compared is None:
        return ""
    left, right = sides_of(block, compared, x)
    known = accepted & ~np.isnan(left) & ~np.isnan(right)
    if not known.any():
        return f"{compared[0].text} is no number wherever the model accepts the point"
    residual = np.where(known, np.abs(relative_residual(left, right)), np.inf)
    near = int(np.argmin(residual))
    if residual[near] <= SOLVED:
        return ""
    low, high = (formatting.canonical(float(end), compared[0].unit) for end in (left[known].min(), left[known].max()))
    name, unknown = compared[0].text, block.function.unknown
    best, asked = (formatting.canonical(float(side[near]), compared[0].unit) for side in (left, right))
    if low == high:
        return f"{name} is {low} whatever {unknown.name} is, and never {asked}"
    where = f"{unknown.name} = {as_text(unknown, float(x[near]))}"
    if bound is not None and not bound.equal and np.ptp(right[known]) == 0:
        least, most = ("at least", "at most") if bound.at_most else ("at most", "at least")
        limit = f"{bound.right.text} is {asked}" if bound.right.names else f"must be {most} {asked}"
        return f"{name} is {least} {best}, at {where}, and {limit}"
    return f"{name} goes from {low} to {high}; it comes nearest to {asked} with {best}, at {where}"


def _alone(block: Block, x: np.ndarray, accepted: np.ndarray) -> str:
    """Name the conditions that hold nowhere and the range of their outputs, or say that they never hold together."""
    function = block.function
    conditions = [*function.targets.conditions, *function.targets.assumed]
    if function.comparison is not None:
        return ""
    values = block.everything(x[:, None])
    never = []
    for condition in conditions:
        met = np.broadcast_to(evaluated(condition, values), (len(x), 1))[:, 0]
        if not (met.astype(bool) & accepted).any():
            comparisons = function.comparisons_of(condition)
            sides = (comparisons[0].left, comparisons[0].right) if len(comparisons) == 1 else None
            reached = _reached(block, x, accepted, sides, comparisons[0]) if sides else ""
            never.append(f"{condition.text} holds nowhere" + (f": {reached}" if reached else ""))
    if never:
        return "; ".join(never)
    return "each target is met somewhere, but never all of them" if len(conditions) + len(block.right) > 1 else ""
