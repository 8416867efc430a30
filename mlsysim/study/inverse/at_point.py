"""One unknown at one point: which of the values found is the answer, and in words why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.inverse.closed_form import closed_form
from mlsysim.study.inverse.landscape import Block, Landscape
from mlsysim.study.inverse.pieces import Found, Pieces, real_pieces
from mlsysim.study.inverse.scan import real_values, whole_values
from mlsysim.study.inverse.solution import Solution, as_text
from mlsysim.study.inverse.whole import whole_pieces
from mlsysim.study.inverse.without import why_none
from mlsysim.study.result import Result
from mlsysim.study.solve import solve

#: Rounds in which the value that comes nearest is looked for more closely, and values of each.
ROUNDS, VALUES = 8, 65
#: Solutions that are listed.
LISTED = 12
#: From which number on the end of a domain is none that is meant.
ENDLESS = 2.0**52


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
    if landscape.whole:
        x = whole_values(unknown.domain, landscape.usual, iterates=landscape.iterates)
        found = whole_pieces(block, x)
    else:
        x = real_values(unknown.domain, landscape.usual, dense=True)
        found = real_pieces(block, x)
        if found.seen.gap is not None:
            found = _around(block, x, found) if len(found.pieces) else _closer(block, x, found)
    texts = tuple(landscape.targets.texts)
    if not len(found.pieces):
        status, reason = why_none(block, x, found)
        return Solution(unknown, texts, status, reason=reason)
    status, at, said, reason = _chosen(landscape, found.pieces, which)
    form = None if at is None or status == "everywhere" else closed_form(block, at, largest=said == "largest")
    return Solution(
        unknown, texts, status, at=at, which=said, reason=reason, intervals=_intervals(found.pieces), closed_form=form,
        solved_at=partial(_solved, landscape.model, arguments, unknown.name),
    )  # fmt: skip


def _solved(model: DeclaredModel, arguments: Mapping[str, Any], unknown: str, value: float) -> Result:
    """What the model says at a value of the unknown."""
    return solve(model, **{**arguments, unknown: value})


def _intervals(pieces: Pieces) -> tuple[tuple[float | None, float | None], ...]:
    ends = zip(pieces.lower, pieces.upper, pieces.opens, pieces.closes, strict=True)
    found = [(None if first else float(low), None if last else float(high)) for low, high, first, last in ends]
    return tuple(found[:LISTED])


def _chosen(landscape: Landscape, pieces: Pieces, which: str | None) -> tuple[str, float | None, str, str]:
    """Status, value, which of the values that hold it is, and why there is none."""
    several, unknown = len(pieces) > 1, landscape.unknown
    opens, closes = bool(pieces.opens[0]), bool(pieces.closes[0])
    everywhere = not several and opens and closes
    status = "everywhere" if everywhere else "several" if several else "solved"
    side = which or ("largest" if opens and not closes else "smallest")
    place = -1 if which == "largest" else 0
    low, high = float(pieces.lower[place]), float(pieces.upper[place])
    at = high if side == "largest" else low
    if side == "largest":
        endless = bool(pieces.closes[place]) and not np.isfinite(unknown.domain.upper) and high > ENDLESS
    else:
        endless = bool(pieces.opens[place]) and (unknown.domain.open_lower or not np.isfinite(unknown.domain.lower))
    if endless:
        part = f"from {as_text(unknown, low)} on" if side == "largest" else f"up to {as_text(unknown, high)}"
        said = " and ".join(landscape.targets.texts)
        return status, None, side, f"there is no {side} value: {said} {'for every value' if everywhere else part}"
    return status, at, side if low < high or everywhere else "", ""


def _around(block: Block, x: np.ndarray, found: Found) -> Found:
    """Look more closely around what was found: an output that rises and falls meets a target several times."""
    ends = np.concatenate([found.pieces.lower, found.pieces.upper])[: 2 * LISTED]
    place = np.clip(np.searchsorted(x, ends), 1, len(x) - 1)
    low, high = x[np.maximum(place - 2, 0)], x[np.minimum(place + 1, len(x) - 1)]
    return real_pieces(
        block, np.unique(np.concatenate([x, *np.linspace(low, high, VALUES, axis=1), found.pieces.lower]))
    )


def _closer(block: Block, x: np.ndarray, first: Found) -> Found:
    """Look more closely where an equation comes nearest to holding: it may touch without a change of sign."""
    found = first
    for _ in range(ROUNDS):
        off = np.where(found.seen.accepted & found.seen.held, found.seen.off, np.nan)[:, 0]
        if len(found.pieces) or np.all(np.isnan(off)):
            break
        place = int(np.nanargmin(off))
        low, high = x[max(place - 1, 0)], x[min(place + 1, len(x) - 1)]
        x = np.unique(np.append(np.linspace(low, high, VALUES), x[place]))
        found = real_pieces(block, x)
        if len(found.pieces):
            never = np.zeros(len(found.pieces), bool)
            found.pieces.opens, found.pieces.closes = never, never.copy()
            return found
    return first
