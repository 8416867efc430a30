"""Why no value meets targets, in words: what the output reaches, where it jumps, and what else does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mlsysim import formatting
from mlsysim.errors import MlsysimError
from mlsysim.inputs.expressions import Expression
from mlsysim.inputs.refusal import first_reason
from mlsysim.study.inverse.landscape import Block, evaluated, relative_gap
from mlsysim.study.inverse.pieces import SOLVED, STEPS, Found
from mlsysim.study.inverse.scan import beyond
from mlsysim.study.inverse.solution import as_text
from mlsysim.study.searches.constraints import Comparison

if TYPE_CHECKING:
    from mlsysim.study.results.result import Result

#: What must be at most, at least or equal to something, and that.
Sides = tuple[Expression, object]


def why_none(block: Block, x: np.ndarray, found: Found, *, missed: bool = False) -> tuple[str, str]:
    """Status and reason where no value meets the targets.

    Parameters
    ----------
    block : Block
        The point.
    x : ndarray
        Values of the unknown that were looked at.
    found : Found
        What was found there.
    missed : bool
        Whether values between them may meet the targets, so that none outside the domain is named.
    """
    landscape, seen = block.landscape, found.seen
    accepted = seen.accepted[:, 0]
    if not accepted.any():
        return "none", f"the model accepts no value that was looked at: {_refused(block, x)}"
    if said := _infeasible(block, x, found):
        return "none", said
    compared = what_is_compared(block)
    if compared is not None and not missed and not len(found.dropped) and not len(found.jumps):
        outside = _outside(block, compared)
        if outside is not None:
            allowed = landscape.unknown.domain.describe()
            at = as_text(landscape.unknown, outside) if not landscape.whole else formatting.number(outside)
            within = _range(block, x, accepted, compared)
            return (
                "outside",
                f"it would have to be {at}, outside its domain ({allowed}){within and f'; within it {within}'}",
            )
    if len(found.dropped):
        return "none", _dropped(block, found)
    jumped = _jumped(block, x, accepted, found, compared)
    if jumped and compared:
        reached = _range(block, x, accepted, compared)
    else:
        reached = _reached(block, x, accepted, compared, landscape.comparison)
    return "none", "; ".join(filter(None, [jumped, reached, _alone(block, x, accepted)]))


def because(reason: str, solved_at: Callable[[float], Result], x: np.ndarray) -> str:
    """A reason in which an output is infinite, with what the model says of that.

    Parameters
    ----------
    reason : str
        Why no value meets the targets.
    solved_at : callable
        The result at a value of the unknown.
    x : ndarray
        Values of the unknown that were looked at.
    """
    if "∞" not in reason:
        return reason
    try:
        obstacle = solved_at(float(x[len(x) // 2])).obstacle
    except MlsysimError:
        return reason
    return f"{reason}: {obstacle}" if obstacle else reason


def _refused(block: Block, x: np.ndarray) -> str:
    binding, values = block.landscape.binding, block.values | block.known(x[len(x) // 2 :][:1], np.zeros(1, int))
    scalars = {name: float(np.ravel(value)[0]) for name, value in values.items()}
    code = first_reason(binding.reasons, binding.system, scalars)
    return binding.reasons[code - 1].text if code else block.landscape.unknown.domain.describe()


def what_is_compared(block: Block) -> Sides | None:
    """Both sides of the first equation, or of the only comparison."""
    landscape = block.landscape
    if landscape.targets.equations:
        return landscape.targets.equations[0].left, block.right[0]
    found: Comparison | None = landscape.comparison
    return None if found is None else (found.left, found.right)


def sides_of(block: Block, compared: Sides, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both sides of a comparison at values of the unknown."""
    left, right = compared
    needed = {*left.names, *(right.names if isinstance(right, Expression) else ())}
    values = block.known(np.reshape(x, (-1, 1)))
    values = values if needed <= values.keys() else block.everything(np.reshape(x, (-1, 1)))
    other = evaluated(right, values) if isinstance(right, Expression) else np.asarray(right)
    shape = (np.size(x), 1)
    return np.broadcast_to(evaluated(left, values), shape)[:, 0], np.broadcast_to(other, shape)[:, 0]


def _outside(block: Block, compared: Sides) -> float | None:
    """A number outside the domain that would do."""
    from scipy.optimize import elementwise

    landscape = block.landscape
    x = beyond(landscape.unknown.domain, landscape.usual)
    sign = np.sign(relative_gap(*sides_of(block, compared, x)))
    (place,) = np.nonzero(sign[:-1] * sign[1:] < 0)
    if not len(place):
        return None
    solved = elementwise.find_root(
        lambda at: relative_gap(*sides_of(block, compared, at)).reshape(at.shape),
        (x[place], x[place + 1]),
        maxiter=STEPS,
    )
    roots = np.asarray(solved.x)[np.abs(np.asarray(solved.f_x)) <= SOLVED]
    nearest = landscape.unknown.domain.lower if np.isfinite(landscape.unknown.domain.lower) else 0.0
    return float(min(roots, key=lambda root: abs(root - nearest))) if len(roots) else None


def _infeasible(block: Block, x: np.ndarray, found: Found) -> str:
    """State what is not feasible, and by how much, where all that was given holds; empty where it holds nowhere."""
    landscape, seen = block.landscape, found.seen
    if len(found.dropped):
        x, seen = found.dropped.lower, block.along(found.dropped.lower)
    solved = (seen.off <= SOLVED) | (landscape.whole and len(found.dropped) > 0)
    (places,) = np.nonzero((seen.accepted & seen.given & ~seen.held & solved)[:, 0])
    if not len(places):
        return ""
    parts = [part for each in landscape.targets.assumed for part in landscape.comparisons_of(each)]
    sides = [sides_of(block, (part.left, part.right), x[places]) for part in parts]
    over = [relative_gap(*each) * (1 if part.at_most else -1) for part, each in zip(parts, sides, strict=True)]
    place = int(np.argmin(np.nanmax(over, axis=0))) if parts else 0
    missed = [
        f"{part.left.text} is {formatting.canonical(float(left[place]), part.left.unit)}, "
        f"and {part.right.text} {formatting.canonical(float(right[place]), part.right.unit)}"
        for part, (left, right), gap in zip(parts, sides, over, strict=True)
        if gap[place] > 0
    ]
    where = as_text(landscape.unknown, float(x[places[place]]))
    nearest = f": at {landscape.unknown.name} = {where} {'; '.join(missed)}" if missed else ""
    return f"it is not feasible where the rest holds{nearest} (allow_infeasible=True keeps what is not)"


def _dropped(block: Block, found: Found) -> str:
    """A solution of the first equation, and what does not hold there."""
    landscape, at = block.landscape, found.dropped.lower[:1]
    values = block.known(at)
    first, *others = landscape.targets.equations
    lost = [
        f"{equation.text} does not hold"
        for place, equation in enumerate(others, start=1)
        if not abs(relative_gap(*block.sides(place, values))) <= SOLVED
    ]
    lost += [f"{each.text} does not hold" for each in landscape.targets.conditions if not evaluated(each, values).all()]
    if not block.accepted(values).all():
        lost.append("the model refuses the point")
    return f"{first.text} at {as_text(landscape.unknown, float(at[0]))}, where {' and '.join(lost)}"


def _jumped(block: Block, x: np.ndarray, accepted: np.ndarray, found: Found, compared: Sides | None) -> str:
    """State where an output jumps over what is asked, if it comes nowhere nearer to it."""
    if not len(found.jumps) or compared is None:
        return ""
    ends = np.array([found.jumps.lower, found.jumps.upper])
    left, right = (side.reshape(ends.shape) for side in sides_of(block, compared, ends.ravel()))
    away = np.abs(relative_gap(left, right)).min(axis=0)
    place = int(np.argmin(away))
    elsewhere = np.abs(relative_gap(*sides_of(block, compared, x)))[accepted]
    if np.any(elsewhere < away[place] * (1 - SOLVED)):
        return ""
    low, high = (formatting.canonical(float(side), compared[0].unit) for side in left[:, place])
    where = as_text(block.landscape.unknown, float(ends[0, place]))
    return f"{compared[0].text} jumps over it at {where}, from {low} to {high}"


def _range(block: Block, x: np.ndarray, accepted: np.ndarray, compared: Sides) -> str:
    """Between which values one side lies over the domain."""
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
    """State the range over the domain, and where it comes nearest; nothing where it comes to what is asked."""
    if compared is None:
        return ""
    left, right = sides_of(block, compared, x)
    known = accepted & ~np.isnan(left) & ~np.isnan(right)
    if not known.any():
        return f"{compared[0].text} is no number wherever the model accepts the point"
    gap = np.where(known, np.abs(relative_gap(left, right)), np.inf)
    near = int(np.argmin(gap))
    if gap[near] <= SOLVED:
        return ""
    low, high = (formatting.canonical(float(end), compared[0].unit) for end in (left[known].min(), left[known].max()))
    name, unknown = compared[0].text, block.landscape.unknown
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
    """Name the conditions that hold nowhere and what their outputs reach, or say that they never hold together."""
    landscape = block.landscape
    conditions = [*landscape.targets.conditions, *landscape.targets.assumed]
    if landscape.comparison is not None:
        return ""
    values = block.everything(x[:, None])
    never = []
    for each in conditions:
        met = np.broadcast_to(evaluated(each, values), (len(x), 1))[:, 0]
        if not (met.astype(bool) & accepted).any():
            parts = landscape.comparisons_of(each)
            sides = (parts[0].left, parts[0].right) if len(parts) == 1 else None
            reached = _reached(block, x, accepted, sides, parts[0]) if sides else ""
            never.append(f"{each.text} holds nowhere" + (f": {reached}" if reached else ""))
    if never:
        return "; ".join(never)
    return "each target is met somewhere, but never all of them" if len(conditions) + len(block.right) > 1 else ""
