"""Latencies under chunked prefill, as arrays over points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ChunkedLatencies:
    """Latencies of requests, in the shape of the loads; quantiles have one more axis, the last. None if not requested.

    Attributes
    ----------
    batch_size, batch_variance : ndarray
        Mean and variance of the number of requests that decode.
    capacity : ndarray
        Most requests that can be served, in 1/s.
    iteration_time : ndarray
        Mean seconds of an iteration while any request is there.
    rest : ndarray
        Share of the iterations that leave prompt tokens waiting.
    tail : ndarray
        Probability of the last 20 states: where it is not small, the lattice is too short for the queue.
    slot_wait_probability, slot_wait_mean : ndarray
        Probability that a request waits for a slot, and seconds that it then waits on average.
    ttft_mean, ttft : ndarray
        Seconds to the first token: mean and quantiles.
    tpot_mean, tpot : ndarray
        Seconds per further token of a request: mean over requests and quantiles.
    itl_p99 : ndarray
        Seconds between two tokens that 99% of them do not exceed.
    e2e_mean, e2e : ndarray
        Seconds to the last token: mean and quantiles.
    ttft_attainment, tpot_attainment, e2e_attainment, slo_attainment : ndarray
        Share of the requests that meet each objective, and all.
    """

    batch_size: Any = None
    batch_variance: Any = None
    capacity: Any = None
    iteration_time: Any = None
    rest: Any = None
    tail: Any = None
    slot_wait_probability: Any = None
    slot_wait_mean: Any = None
    ttft_mean: Any = None
    ttft: Any = None
    tpot_mean: Any = None
    tpot: Any = None
    itl_p99: Any = None
    e2e_mean: Any = None
    e2e: Any = None
    ttft_attainment: Any = None
    tpot_attainment: Any = None
    e2e_attainment: Any = None
    slo_attainment: Any = None


#: All outputs.
OUTPUTS = tuple(entry.name for entry in fields(ChunkedLatencies))
#: Outputs that are quantiles.
QUANTILES = ("ttft", "tpot", "e2e")


def unpacked(rows: NDArray[np.float64], shape: tuple[int, ...], names: Sequence[str], shares: int) -> ChunkedLatencies:
    """Outputs by name, from a row per load.

    Parameters
    ----------
    rows : ndarray of shape (loads, outputs)
        As :meth:`mlsysim.backends.chunked.point.Point.outputs` gives them.
    shape : tuple of int
        Of the loads.
    names : sequence of str
        The outputs.
    shares : int
        Number of quantiles.
    """
    outputs, column = {}, 0
    for name in names:
        if name in QUANTILES:
            outputs[name] = rows[:, column : column + shares].reshape((*shape, shares))
            column += shares
        else:
            outputs[name] = rows[:, column].reshape(shape)
            column += 1
    return ChunkedLatencies(**outputs)
