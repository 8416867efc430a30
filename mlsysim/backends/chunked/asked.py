"""The law as compiled code asks for it: arguments in their order, and outputs with the shares of quantiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from mlsysim.backends.chunked import batch
from mlsysim.backends.chunked.batch import MOVING, Loads
from mlsysim.backends.chunked.result import QUANTILES
from mlsysim.backends.chunked.slopes import Direction

#: An output with its share, if it is a quantile; then an operand, if its slope by that is asked.
Asked = Sequence[tuple[Any, ...]]


def answers(
    asked: Asked,
    tau: FunctionType,
    arguments: Sequence[Any],
    given: Sequence[Any],
    slopes: FunctionType | None,
    namespace: dict[str, Any],
    numbers: dict[str, Any],
) -> list[Any]:
    """Numbers that are asked of the law, one by one; it is solved once.

    Parameters
    ----------
    asked : sequence of tuple
        Outputs, with shares where they are quantiles; or their slopes by an operand, counted through the arguments and
        then what is given.
    tau : function
        ``tau(n, c, *given)``: seconds of an iteration, in neutral functions.
    arguments : sequence of float or array
        What may move, in the order of the loads.
    given : sequence of float or array
        Further arguments of the time.
    slopes : function or None
        ``slopes(n, c, *given)``: derivatives of the time by all that is given.
    namespace : dict
        Functions of arrays by their neutral names.
    numbers : dict
        Functions of single numbers by the same names.
    """
    names, shares = {each[0] for each in asked}, sorted({each[1] for each in asked if each[0] in QUANTILES})
    time = iteration_time(tau, namespace, numbers)
    loads = Loads(time, *arguments, given=given, quantiles=shares, outputs=names)
    moving = sorted({each[2] for each in asked if len(each) == 3})
    rates: Callable[..., Any] | None = FunctionType(slopes.__code__, namespace) if slopes is not None else None

    def directions(place: int) -> list[Direction]:
        rate = _Kept(loads.iteration(rates, place)) if rates is not None else None
        return [
            Direction({MOVING[operand]: 1.0})
            if operand < len(MOVING)
            else Direction(tau=partial(rate.slope, operand - len(MOVING)))  # type: ignore[union-attr]
            for operand in moving
        ]

    values, *every = batch.solved(loads, directions)
    found = {None: values} | dict(zip(moving, every, strict=True))

    def one(output: str, share: float, operand: int | None = None) -> Any:
        value = getattr(found[operand], output)
        return value[..., shares.index(share)] if output in QUANTILES else value

    return [one(*each) for each in asked]


def iteration_time(tau: FunctionType, namespace: dict[str, Any], numbers: dict[str, Any]) -> Callable[..., Any]:
    """The time of an iteration; of a single one by functions of single numbers, which are several times faster.

    Parameters
    ----------
    tau : function
        ``tau(n, c, *given)``: seconds of an iteration, in neutral functions.
    namespace : dict
        Functions of arrays by their neutral names.
    numbers : dict
        Functions of single numbers by the same names.
    """
    many: Callable[..., Any] = FunctionType(tau.__code__, namespace)
    single: Callable[..., Any] = FunctionType(tau.__code__, numbers)

    def time(n: Any, c: Any, *given: Any) -> Any:
        if np.ndim(n) or np.ndim(c) or any(type(value) is not np.float64 for value in given):
            return many(n, c, *given)
        return single(np.float64(n), np.float64(c), *given)

    return time


class _Kept:
    """Slopes of a time, found together and kept for the arrays that they are asked for.

    Parameters
    ----------
    slopes : callable
        ``slopes(n, c)``: all of them.
    """

    def __init__(self, slopes: Callable[..., Any]) -> None:
        self.slopes = slopes
        self._known: dict[tuple[int, int], tuple[Any, Any, Any]] = {}

    def slope(self, place: int, n: Any, c: Any) -> Any:
        """One of the slopes."""
        kept = self._known.get((id(n), id(c)))
        if kept is None:
            kept = n, c, self.slopes(n, c)
            if np.ndim(c):
                self._known[id(n), id(c)] = kept
        return kept[2][place]
