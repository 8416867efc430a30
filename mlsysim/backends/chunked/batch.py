"""Many loads at once, on all processors."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlsysim.backends.blocks import cores
from mlsysim.backends.budget import look_at_the_clock
from mlsysim.backends.chunked.load import IterationTime, Load
from mlsysim.backends.chunked.point import outputs
from mlsysim.backends.chunked.result import OUTPUTS, ChunkedLatencies, unpacked
from mlsysim.backends.chunked.slopes import SLOS, Direction, slopes
from mlsysim.progress import loop


@dataclass(frozen=True)
class Loads:
    """Loads of replicas that prefill in chunks beside their decoding, and the outputs wanted of them.

    Numbers and arrays are broadcast against each other.

    Attributes
    ----------
    tau : callable
        ``tau(n, c, *captured)``: seconds of an iteration with ``n`` decoding requests of mean context and ``c`` prompt
        tokens of mean cost, for arrays of both; it does not fall with either.
    request_rate : float or array
        Poisson arrivals, in 1/s.
    isl, osl : float or array
        Mean tokens of a prompt and of an answer, whose first comes with the last of the prompt.
    isl_cv, osl_cv : float or array, optional
        Coefficients of variation of these; lengths are log-normal, fixed at zero.
    token_budget : float or array, optional
        Tokens of an iteration.
    pair_time : float or array, optional
        Seconds that a prompt token takes for each token before it: longer prompts take more than their share.
    max_num_seqs : float or array, optional
        Requests that are served at once at most; the others wait.
    decode_tokens, tokens_per_step : float or array, optional
        Tokens of an iteration that a decoding request takes, and that it gets on average: more than one with drafts.
    ttft_slo, tpot_slo, e2e_slo : float or array, optional
        Objectives for the time to the first token, per token and to the last one, in s.
    captured : sequence of float or array, optional
        Further arguments of ``tau``.
    quantiles : sequence of float, optional
        Probabilities.
    outputs : collection of str, optional
        Attributes of :class:`ChunkedLatencies` to compute.
    """

    tau: Callable[..., Any]
    request_rate: Any
    isl: Any
    osl: Any
    isl_cv: Any = 0.0
    osl_cv: Any = 0.0
    token_budget: Any = 2048.0
    pair_time: Any = 0.0
    max_num_seqs: Any = math.inf
    decode_tokens: Any = 1.0
    tokens_per_step: Any = 1.0
    ttft_slo: Any = math.inf
    tpot_slo: Any = math.inf
    e2e_slo: Any = math.inf
    captured: Sequence[Any] = ()
    quantiles: Sequence[float] = (0.5, 0.9, 0.99)
    outputs: Collection[str] = OUTPUTS

    @cached_property
    def columns(self) -> tuple[NDArray[np.float64], ...]:
        """Numbers and arrays in their order, broadcast."""
        moving = (getattr(self, name) for name in MOVING)
        return np.broadcast_arrays(*(np.asarray(value, float) for value in (*moving, *self.captured)))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the loads."""
        return self.columns[0].shape

    @cached_property
    def _flat(self) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
        flat = [column.ravel() for column in self.columns]
        return flat[: len(MOVING)], flat[len(MOVING) :]

    def iteration(self, tau: Callable[..., Any], index: int) -> IterationTime:
        """Time of an iteration of a load, or a slope of it."""
        captured = self.captured_at(index)
        return lambda n, c: tau(n, c, *captured)

    def captured_at(self, index: int) -> tuple[Any, ...]:
        """Further arguments of the time of an iteration, of one load."""
        return tuple(column[index] for column in self._flat[1])

    def load(self, index: int) -> tuple[Load, tuple[float, ...]]:
        """One of the loads, and its objectives."""
        numbers = [float(column[index]) for column in self._flat[0]]
        return Load(self.iteration(self.tau, index), *numbers[: -len(SLOS)]), tuple(numbers[-len(SLOS) :])


#: Arguments of a load that may move, the objectives last.
MOVING = tuple(entry.name for entry in fields(Loads))[1:14]


def solved(
    loads: Loads, directions: Callable[[int], Sequence[Direction]] = lambda _place: ()
) -> list[ChunkedLatencies]:
    """Solve for the latencies at every load, and their slopes along some directions.

    Parameters
    ----------
    loads : Loads
        The loads.
    directions : callable, optional
        Directions at a load, equally many everywhere.
    """
    shares = tuple(loads.quantiles)
    names = tuple(name for name in OUTPUTS if name in loads.outputs)

    def one(index: int) -> Any:
        look_at_the_clock()
        with np.errstate(all="ignore"):
            load, slos = loads.load(index)
            along = directions(index)
            point, values = outputs(load, names, shares, slos)
            if not along:
                return values[None]
            if point is None:
                return np.stack([values, *[np.where(np.isnan(values), np.nan, 0.0)] * len(along)])
            return np.concatenate([values[None], slopes(point, values, names, shares, slos, along)])

    rows = np.stack(_at_every_point(one, math.prod(loads.shape)), axis=1)
    return [unpacked(row, loads.shape, names, len(shares)) for row in rows]


def _at_every_point(one: Callable[[int], Any], points: int) -> list[Any]:
    """Call a function at every point, in as many threads as there are processors."""
    threads, results = min(cores(), points), list[Any]()
    if threads <= 1:
        return [one(index) for index in range(points)]
    with ThreadPoolExecutor(threads) as pool, loop(points) as advance:
        futures = [pool.submit(copy_context().run, one, index) for index in range(points)]
        try:
            for future in futures:
                results.append(future.result())
                advance(1)
        except BaseException:  # an interrupt does not wait for the points that have not begun
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results
