"""The law as compiled code asks for it: arguments in their order, and outputs with the shares of quantiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from mlsysim.backends.chunked.batch import Loads
from mlsysim.backends.chunked.result import QUANTILES, ChunkedLatencies

Asked = Sequence[tuple[str, float]]


def loads(
    asked: Asked,
    tau: FunctionType,
    arguments: Sequence[Any],
    given: Sequence[Any],
    namespace: dict[str, Any],
    numbers: dict[str, Any],
) -> Loads:
    """Loads of which some outputs are asked.

    Parameters
    ----------
    asked : sequence of (str, float)
        Outputs, and shares where they are quantiles.
    tau : function
        ``tau(n, c, *given)``: seconds of an iteration, in neutral functions.
    arguments : sequence of float or array
        What may move, in the order of the loads.
    given : sequence of float or array
        Further arguments of the time.
    namespace : dict
        Functions of arrays by their neutral names.
    numbers : dict
        Functions of single numbers by the same names.
    """
    time = iteration_time(tau, namespace, numbers)
    shares = sorted({share for name, share in asked if name in QUANTILES})
    return Loads(time, *arguments, given=given, quantiles=shares, outputs={name for name, _ in asked})


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


def answers(asked: Asked, found: ChunkedLatencies, at: Callable[[Any, int], Any]) -> list[Any]:
    """What was asked, one by one.

    Parameters
    ----------
    asked : sequence of (str, float)
        Outputs, and shares where they are quantiles.
    found : ChunkedLatencies
        The latencies.
    at : callable
        ``at(values, place)``: the values at a place of their last axis.
    """
    shares = sorted({share for name, share in asked if name in QUANTILES})
    return [
        at(getattr(found, name), shares.index(share)) if name in QUANTILES else getattr(found, name)
        for name, share in asked
    ]
