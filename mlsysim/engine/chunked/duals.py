"""Latencies under chunked prefill of dual numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mlsysim.engine.chunked.batch import MOVING, Loads, solved
from mlsysim.engine.chunked.result import ChunkedLatencies
from mlsysim.engine.chunked.slopes import Direction
from mlsysim.engine.dual import Dual, plain
from mlsysim.errors import FormulaError


def chunked_latencies(loads: Loads) -> ChunkedLatencies:
    """As :func:`mlsysim.engine.chunked.chunked_latencies`, with slopes where a load has some.

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

    def along(place: int, by: str) -> Direction:
        """Where a load moves with an input."""
        moved = {name: slopes[by][place] for name, slopes in inputs.items() if by in slopes}
        if not any(by in slopes for slopes in rest):
            return Direction(moved)
        own = tuple(
            Dual(value, {by: slopes[by][place]}) if by in slopes else value
            for value, slopes in zip(bare.given_at(place), rest, strict=True)
        )
        return Direction(moved, partial(_slope, loads.tau, own, by))

    values, *found = solved(bare, lambda place: [along(place, by) for by in order])
    if not order:
        return values
    slopes = {name: {by: getattr(each, name) for by, each in zip(order, found, strict=True)} for name in vars(values)}
    asked = {name: value for name, value in vars(values).items() if value is not None}
    return ChunkedLatencies(**{name: Dual(value, slopes[name]) for name, value in asked.items()})


def _columns(value: Any, loads: Loads) -> dict[str, Any]:
    """Slopes of an argument, a column each."""
    own = value.slopes if isinstance(value, Dual) else {}
    return {by: np.broadcast_to(slope, loads.shape).ravel() for by, slope in own.items()}


def _slope(tau: Callable[..., Any], given: tuple[Any, ...], by: str, n: Any, c: Any) -> Any:
    """Slope of the time of an iteration."""
    time = tau(n, c, *given)
    return time.slopes.get(by, 0.0) if isinstance(time, Dual) else 0.0
