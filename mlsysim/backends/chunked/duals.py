"""Latencies under chunked prefill of dual numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mlsysim.backends.chunked.batch import MOVING, Loads, solved
from mlsysim.backends.chunked.result import ChunkedLatencies
from mlsysim.backends.chunked.slopes import Direction
from mlsysim.backends.dual import Dual, plain
from mlsysim.errors import FormulaError


def chunked_latencies(loads: Loads) -> ChunkedLatencies:
    """As :func:`mlsysim.backends.chunked.chunked_latencies`, with slopes where a load has some.

    ``tau(n, c, *given)`` gets plain ``n`` and ``c`` and ``given`` with slopes; what it gives may have slopes.

    Raises
    ------
    FormulaError
        If second derivatives are asked for.
    """
    moving = {name: getattr(loads, name) for name in MOVING}
    duals = [value for value in (*moving.values(), *loads.given) if isinstance(value, Dual)]
    if any(value.level > 1 for value in duals):
        raise FormulaError("latencies under chunked prefill have first derivatives only")
    bare = replace(loads, given=tuple(map(plain, loads.given)), **{k: plain(value) for k, value in moving.items()})
    order = sorted({by for value in duals for by in value.slopes})
    inputs = {name: _columns(value, bare) for name, value in moving.items()}
    rest = [_columns(value, bare) for value in loads.given]

    def directions(place: int) -> list[Direction]:
        """Where a load moves with each input."""
        own = [
            Dual(value, {by: slope[place] for by, slope in slopes.items()}) if slopes else value
            for value, slopes in zip(bare.given_at(place), rest, strict=True)
        ]
        of_tau = {by for slopes in rest for by in slopes}
        times = Times(loads.tau, own)
        return [
            Direction(
                {name: slopes[by][place] for name, slopes in inputs.items() if by in slopes},
                partial(times.slope, by) if by in of_tau else None,
            )
            for by in order
        ]

    values, *found = solved(bare, directions)
    if not order:
        return values
    slopes = {name: {by: getattr(each, name) for by, each in zip(order, found, strict=True)} for name in vars(values)}
    asked = {name: value for name, value in vars(values).items() if value is not None}
    return ChunkedLatencies(**{name: Dual(value, slopes[name]) for name, value in asked.items()})


def _columns(value: Any, loads: Loads) -> dict[str, Any]:
    """Slopes of an argument, a column each."""
    own = value.slopes if isinstance(value, Dual) else {}
    return {by: np.broadcast_to(slope, loads.shape).ravel() for by, slope in own.items()}


class Times:
    """Slopes of the time of an iteration by all inputs, found together and kept for the arrays they are asked for.

    Parameters
    ----------
    tau : callable
        ``tau(n, c, *given)``.
    given : sequence
        Further arguments, with slopes.
    """

    def __init__(self, tau: Callable[..., Any], given: Sequence[Any]) -> None:
        self.tau, self.given = tau, given
        self._known: dict[tuple[int, int], tuple[Any, Any, Any]] = {}

    def slope(self, by: str, n: Any, c: Any) -> Any:
        """Slope by an input."""
        kept = self._known.get((id(n), id(c)))
        if kept is None:
            kept = n, c, self.tau(n, c, *self.given)
            if np.ndim(c):
                self._known[id(n), id(c)] = kept
        time = kept[2]
        return time.slopes.get(by, 0.0) if isinstance(time, Dual) else 0.0
