"""What a simulated run says of the service."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from simulated.serving.engine import Totals
from simulated.serving.gaps import BINS, quantile
from simulated.serving.load import Load

#: Requests that are left out at the beginning, while the engine fills, and at the end, while it empties.
WARM_UP, COOL_DOWN = 0.1, 0.05


@dataclass(frozen=True)
class Outcome:
    """Times in seconds; of requests and of tokens."""

    ttft_mean: float
    ttft_p50: float
    ttft_p90: float
    ttft_p99: float
    tpot_mean: float
    """Mean over requests with more than one token of (finish - first token)/(tokens - 1)."""
    tpot_p50: float
    tpot_p90: float
    tpot_p99: float
    itl_p99: float
    """Of the times between the steps that give a request its tokens."""
    e2e_mean: float
    e2e_p50: float
    e2e_p90: float
    e2e_p99: float
    batch_size: float
    """Mean over time of requests that decode, also while a prompt stops them; of a decode worker in pools."""
    utilization: float
    """Share of the time an engine works; of a decode worker in pools."""
    prefill_utilization: float
    """Of a prefill worker in pools, else zero."""
    link_utilization: float
    tokens_per_second: float
    requests_per_second: float
    preemptions: int
    slo_attainment: float
    """Share of requests within all times that are asked for."""


@dataclass(frozen=True)
class Run:
    """Times of every request, and totals of the middle of the run."""

    arrival: NDArray[np.float64]
    first: NDArray[np.float64]
    """First token."""
    finish: NDArray[np.float64]
    """Last token."""
    answer: NDArray[np.int64]
    totals: Totals
    gaps: NDArray[np.float64]
    warm_up: float
    cool_down: float

    @property
    def middle(self) -> slice:
        """The requests that count."""
        return middle(len(self.arrival), self.warm_up, self.cool_down)

    @property
    def ttft(self) -> NDArray[np.float64]:
        """Seconds to the first token."""
        return (self.first - self.arrival)[self.middle]

    @property
    def tpot(self) -> NDArray[np.float64]:
        """Seconds per token after the first, of requests that have any."""
        several = self.answer[self.middle] > 1
        decoding = (self.finish - self.first)[self.middle]
        return decoding[several] / (self.answer[self.middle][several] - 1)

    @property
    def e2e(self) -> NDArray[np.float64]:
        """Seconds to the last token."""
        return (self.finish - self.arrival)[self.middle]

    def slo_attainment(self, ttft_slo: float, tpot_slo: float, e2e_slo: float = math.inf) -> float:
        """Share of requests within all; an answer of one token has no TPOT to miss."""
        steps = self.answer[self.middle] - 1
        decoding = (self.finish - self.first)[self.middle]
        soon = (self.ttft <= ttft_slo) & (self.e2e <= e2e_slo)
        return float(np.mean(soon & (decoding <= tpot_slo * np.maximum(steps, 1))))

    def outcome(self, *, ttft_slo: float = math.inf, tpot_slo: float = math.inf, e2e_slo: float = math.inf) -> Outcome:
        """Means, quantiles and the share of requests within all times."""
        total = self.totals
        ttft, tpot, e2e = self.ttft, self.tpot, self.e2e
        return Outcome(
            *_mean_and_quantiles(ttft),
            *_mean_and_quantiles(tpot),
            quantile(self.gaps, 0.99),
            *_mean_and_quantiles(e2e),
            total.batch / total.elapsed,
            total.busy / total.elapsed,
            total.prefill_busy / total.elapsed,
            total.link_busy / total.elapsed,
            total.tokens / total.elapsed,
            total.finished / total.elapsed,
            total.preemptions,
            self.slo_attainment(ttft_slo, tpot_slo, e2e_slo),
        )


def _mean_and_quantiles(values: NDArray[np.float64]) -> tuple[float, float, float, float]:
    if not len(values):
        return (float("nan"),) * 4
    p50, p90, p99 = np.quantile(values, (0.5, 0.9, 0.99))
    return float(values.mean()), float(p50), float(p90), float(p99)


def middle(count: int, warm_up: float, cool_down: float) -> slice:
    """The requests that count, by their place in the order of arrival."""
    return slice(int(warm_up * count), count - int(cool_down * count))


def empty_gaps() -> NDArray[np.float64]:
    """A histogram without gaps."""
    return np.zeros(BINS)


def run_of(load: Load, kernel, *arguments, warm_up: float = WARM_UP, cool_down: float = COOL_DOWN) -> Run:
    """Run a compiled simulation of the requests."""
    count = len(load.prompt)
    first, finish, gaps = np.zeros(count), np.zeros(count), empty_gaps()
    window = middle(count, warm_up, cool_down)
    totals = kernel(load, *arguments, window.start, window.stop, first, finish, gaps)
    return Run(load.arrival, first, finish, load.answer, totals, gaps, warm_up, cool_down)
