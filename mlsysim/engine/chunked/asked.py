"""The law as compiled code asks for it: arguments in their order, and outputs with the shares of quantiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from mlsysim.engine.chunked.batch import Loads
from mlsysim.engine.chunked.result import QUANTILES, ChunkedLatencies

Asked = Sequence[tuple[str, float]]


def loads(
    asked: Asked, tau: FunctionType, arguments: Sequence[Any], given: Sequence[Any], namespace: dict[str, Any]
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
    """
    time: Callable[..., Any] = FunctionType(tau.__code__, namespace)
    shares = sorted({share for name, share in asked if name in QUANTILES})
    return Loads(time, *arguments, given=given, quantiles=shares, outputs={name for name, _ in asked})


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
