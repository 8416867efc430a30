"""One unknown at one point: which of the values found is the answer, and in words why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.inverse.closed_form import closed_form
from mlsysim.study.inverse.landscape import Block, Landscape, Seen, relative_gap
from mlsysim.study.inverse.pieces import CODES, SOLVED, Found, Pieces, chosen, real_pieces
from mlsysim.study.inverse.scan import real_values, whole_values
from mlsysim.study.inverse.solution import Solution, as_text, nearest_of
from mlsysim.study.inverse.whole import neighbours, whole_pieces
from mlsysim.study.inverse.without import because, sides_of, what_is_compared, why_none
from mlsysim.study.results.result import Result
from mlsysim.study.solve import solve

#: Rounds in which values that come nearest are looked for more closely, values around each, and how many of them.
ROUNDS, VALUES, NEAREST = 8, 65, 8
#: How often what was found is looked around.
AGAIN = 4
#: What is said where an output rises and falls.
MISSED = "the output rises and falls or jumps to and fro: others between the values looked at may hold too"
#: Up to how many points a grid of a real unknown is looked at as closely as one point; and where formulas iterate.
CLOSELY, CLOSELY_LOOP = 16, 4
#: How near to what is asked, as a share of both together, an output counts that rises and falls.
NEAR = 0.25
#: Solutions that are listed.
LISTED = 12


def solution_at(landscape: Landscape, arguments: Mapping[str, Any], which: str | None) -> Solution:
    """The value of the unknown at the only point there is.

    Parameters
    ----------
    landscape : Landscape
        Targets along the unknown.
    arguments : mapping
        Arguments of ``solve`` but the unknown.
    which : {"largest", "smallest"}, optional
        Which value where there is more than one.
    """
    unknown, block = landscape.unknown, landscape.block(np.zeros(1, int))
    x, look = search_of(landscape, 1)
    found = look(block, x)
    solved_at = partial(_solved, landscape.model, arguments, unknown.name)
    answer = partial(Solution, unknown, tuple(landscape.targets.texts), _leaves_out=bool(landscape.targets.assumed),
                     _solved_at=solved_at)  # fmt: skip
    if not len(found.pieces):
        near = neighbours(block, x, found, which) if landscape.whole else None
        if near is not None and near.best[0] >= 0:
            rows = [int(near.best[0]), 1 - int(near.best[0])]
            sides = near.values[rows, 0], near.reached[rows, 0], near.asked[rows, 0]
            pair = nearest_of(unknown, landscape.targets.equations[0].left.unit, *sides)
            return answer("nearest", _at=float(sides[0][0]), nearest=pair)
        if near is not None:
            found.dropped = Pieces(near.column, *near.values, *np.zeros((2, 1), bool))
        missed = _may_miss(block, x, None, several=False)
        status, reason = why_none(block, x, found, missed=missed)
        return answer(status, reason=because(reason, solved_at, x), note=MISSED if missed else "")
    choice = chosen(unknown.domain, found.pieces, 1, which)
    status, side = CODES[choice.code[0]], "largest" if choice.largest[0] else "smallest"
    low, high = float(choice.pieces.lower[0]), float(choice.pieces.upper[0])
    at = None if choice.endless[0] else high if choice.largest[0] else low
    reason, said = "", side if low < high or status == "everywhere" else ""
    if at is None:
        part = f"from {as_text(unknown, low)} on" if choice.largest[0] else f"up to {as_text(unknown, high)}"
        part, said = "for every value" if status == "everywhere" else part, side
        reason = f"there is no {side} value: {' and '.join(landscape.targets.texts)} {part}"
    form = None if at is None or status == "everywhere" else closed_form(block, at, largest=said == "largest")
    if status == "several" and not said:
        said = which or "smallest"
    missed = status != "everywhere" and _may_miss(block, x, at, several=status == "several")
    return answer(
        status, _at=at, which=said, reason=reason, _ends=_intervals(found.pieces), _closed_form=form,
        note=MISSED if missed else "", _last=which == "largest", _more=max(0, len(found.pieces) - LISTED),
    )  # fmt: skip


def search_of(landscape: Landscape, points: int) -> tuple[np.ndarray, Callable[[Block, np.ndarray], Found]]:
    """Values of the unknown to look at, and what looks at them at so many points."""
    domain, usual = landscape.unknown.domain, landscape.usual
    if landscape.whole:
        return whole_values(domain, usual, points, iterates=landscape.iterates), whole_pieces
    alone = points <= (CLOSELY_LOOP if landscape.iterates else CLOSELY)
    return real_values(domain, usual, dense=alone), closely if alone else real_pieces


def closely(block: Block, x: np.ndarray) -> Found:
    """Find where everything holds along a real unknown at one point, looked at again around what was found.

    Parameters
    ----------
    block : Block
        The point.
    x : ndarray
        Values of the unknown to look at, sorted.
    """
    found = real_pieces(block, x)
    if len(found.pieces):
        return _around(block, x, found)
    return found if found.seen.gap is None else _closer(block, x, found)


def _may_miss(block: Block, x: np.ndarray, at: float | None, *, several: bool) -> bool:
    """Tell whether an output rises and falls so that values between those looked at may hold."""
    if several and not block.landscape.whole:
        return True
    compared = what_is_compared(block)
    if compared is None:
        return False
    if block.landscape.whole:
        (gaps,) = np.nonzero(np.diff(x) > 1)
        if not len(gaps) or (at is not None and at <= x[gaps[0]]):
            return False
        x = x[gaps[0] :]
    left, right = sides_of(block, compared, x)
    near = block.along(x).accepted[:, 0] & (np.abs(relative_gap(left, right)) < NEAR)
    both = near[1:] & near[:-1]
    change = left[1:][both] - left[:-1][both]
    way = np.sign(change[np.abs(change) > SOLVED * np.abs(left[1:][both])])
    return int(np.count_nonzero(way[1:] != way[:-1])) > 1


def _solved(model: DeclaredModel, arguments: Mapping[str, Any], unknown: str, value: float) -> Result:
    """Solve the model at a value of the unknown."""
    return solve(model, **{**arguments, unknown: value})


def _intervals(pieces: Pieces) -> tuple[tuple[float | None, float | None], ...]:
    ends = zip(pieces.lower, pieces.upper, pieces.opens, pieces.closes, strict=True)
    found = [(None if first else float(low), None if last else float(high)) for low, high, first, last in ends]
    return tuple(found[:LISTED])


def _around(block: Block, x: np.ndarray, found: Found) -> Found:
    """Look more closely around what was found: an output that rises and falls meets a target several times."""
    near, edges = np.unique(np.append(x, found.pieces.lower)), _edges(x, found.seen)
    for _ in range(AGAIN):
        place = np.unique(np.clip(np.searchsorted(x, edges), 1, len(x) - 1))
        if not len(place):
            break
        place = np.union1d(place[:LISTED], place[-LISTED:])
        low, high = x[np.maximum(place - 2, 0)], x[np.minimum(place + 1, len(x) - 1)]
        near = np.union1d(near, np.linspace(low, high, VALUES))
        known, edges = len(edges), _edges(near, block.along(near))
        if len(edges) == known:
            break
    return real_pieces(block, near)


def _edges(x: np.ndarray, seen: Seen) -> np.ndarray:
    """Values after which targets begin or cease to hold, or the first equation changes sign."""
    changes = seen.true[1:, 0] != seen.true[:-1, 0]
    if seen.gap is not None:
        changes |= seen.gap[1:, 0] * seen.gap[:-1, 0] < 0
    return x[1:][changes]


def _closer(block: Block, x: np.ndarray, first: Found) -> Found:
    """Look more closely where an equation comes nearest to holding: it may touch without a change of sign."""
    found = first
    for _ in range(ROUNDS):
        off = np.where(found.seen.accepted & found.seen.held, found.seen.off, np.nan)[:, 0]
        if len(found.pieces) or np.all(np.isnan(off)):
            break
        nearest = np.argsort(off)[: min(NEAREST, np.count_nonzero(~np.isnan(off)))]
        low, high = x[np.maximum(nearest - 1, 0)], x[np.minimum(nearest + 1, len(x) - 1)]
        x = np.unique(np.append(np.linspace(low, high, VALUES), x[nearest]))
        found = real_pieces(block, x)
        if len(found.pieces):
            never = np.zeros(len(found.pieces), bool)
            found.pieces.opens, found.pieces.closes = never, never.copy()
            return found
    return first
