"""Interface of compiled code to the law: arguments in order, and outputs with the shares of quantiles."""

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

#: An output with its share, if it is a quantile; then an operand, if its slope by that is requested.
Asked = Sequence[tuple[Any, ...]]


def answers(
    requested: Asked,
    tau: FunctionType,
    arguments: Sequence[Any],
    captured: Sequence[Any],
    slopes: FunctionType | None,
    namespace: dict[str, Any],
    numbers: dict[str, Any],
) -> list[Any]:
    """Evaluate the outputs of the law that compiled code requests; the law is solved once.

    Parameters
    ----------
    requested : sequence of tuple
        Outputs, with shares for quantiles; or their slopes by an operand, counted through the arguments and then the
        captured ones.
    tau : function
        ``tau(n, c, *captured)``: seconds of an iteration, in neutral functions.
    arguments : sequence of float or array
        Arguments of a load that may move, in order.
    captured : sequence of float or array
        Further arguments of the time.
    slopes : function or None
        ``slopes(n, c, *captured)``: derivatives of the time by all captured arguments.
    namespace : dict
        Functions of arrays by their neutral names.
    numbers : dict
        Functions of single numbers by the same names.
    """
    names, shares = (
        {request[0] for request in requested},
        sorted({request[1] for request in requested if request[0] in QUANTILES}),
    )
    time = iteration_time(tau, namespace, numbers)
    loads = Loads(time, *arguments, captured=captured, quantiles=shares, outputs=names)
    moving = sorted({request[2] for request in requested if len(request) == 3})
    rates: Callable[..., Any] | None = FunctionType(slopes.__code__, namespace) if slopes is not None else None

    def directions(index: int) -> list[Direction]:
        rate = _CachedSlopes(loads.iteration(rates, index)) if rates is not None else None
        return [
            Direction({MOVING[operand]: 1.0})
            if operand < len(MOVING)
            else Direction(tau=partial(rate.slope, operand - len(MOVING)))  # type: ignore[union-attr]
            for operand in moving
        ]

    values, *sloped = batch.solved(loads, directions)
    by_operand = {None: values} | dict(zip(moving, sloped, strict=True))

    def one(output: str, share: float, operand: int | None = None) -> Any:
        value = getattr(by_operand[operand], output)
        return value[..., shares.index(share)] if output in QUANTILES else value

    return [one(*request) for request in requested]


def iteration_time(tau: FunctionType, namespace: dict[str, Any], numbers: dict[str, Any]) -> Callable[..., Any]:
    """Time of an iteration; of a single one by functions of single numbers, which are several times faster.

    Parameters
    ----------
    tau : function
        ``tau(n, c, *captured)``: seconds of an iteration, in neutral functions.
    namespace : dict
        Functions of arrays by their neutral names.
    numbers : dict
        Functions of single numbers by the same names.
    """
    many: Callable[..., Any] = FunctionType(tau.__code__, namespace)
    single: Callable[..., Any] = FunctionType(tau.__code__, numbers)

    def time(n: Any, c: Any, *captured: Any) -> Any:
        if np.ndim(n) or np.ndim(c) or any(type(value) is not np.float64 for value in captured):
            return many(n, c, *captured)
        return single(np.float64(n), np.float64(c), *captured)

    return time


class _CachedSlopes:
    """Slopes of a time, computed together and cached for the arrays they are requested for.

    Parameters
    ----------
    slopes : callable
        ``slopes(n, c)``: all of them.
    """

    def __init__(self, slopes: Callable[..., Any]) -> None:
        self.slopes = slopes
        self._known: dict[tuple[int, int], tuple[Any, Any, Any]] = {}

    def slope(self, index: int, n: Any, c: Any) -> Any:
        """One of the slopes."""
        kept = self._known.get((id(n), id(c)))
        if kept is None:
            kept = n, c, self.slopes(n, c)
            if np.ndim(c):
                self._known[id(n), id(c)] = kept
        return kept[2][index]
