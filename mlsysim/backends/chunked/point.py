"""Latencies of one load, and their slopes along it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlsysim.backends.chunked.chain import ENDLESS, Chain, chain, full, nearby
from mlsysim.backends.chunked.distribution import Delayed, Distribution
from mlsysim.backends.chunked.first_token import FirstToken
from mlsysim.backends.chunked.fourier import Array
from mlsysim.backends.chunked.lengths import scores
from mlsysim.backends.chunked.little import FINE, settled
from mlsysim.backends.chunked.load import Load
from mlsysim.backends.chunked.mixture import Mixture
from mlsysim.backends.chunked.result import QUANTILES
from mlsysim.backends.chunked.slots import FEW, SlotWait, few_slots, many_slots
from mlsysim.backends.chunked.spread import Spread, spread
from mlsysim.backends.chunked.stay import Stay
from mlsysim.backends.chunked.tokens import Tokens, whole

#: States after which sums are kept, closer together where less waits.
PLACES = 48
#: Numbers of decoding requests at which the time to the first token is taken: standard deviations and weights.
NODES = ((0.0, 2.0 / 3.0), (-math.sqrt(3.0), 1.0 / 6.0), (math.sqrt(3.0), 1.0 / 6.0))
#: Rows times states at most of the chains at the outer of them.
OUTER = 8_000
#: How often the largest of them is halved at most, where a backlog at it would have no end.
HALVED = 20
#: Outputs of which each has an objective.
ATTAINMENTS = ("ttft_attainment", "tpot_attainment", "e2e_attainment")
#: Least load, as a share of the capacity, with which limits at no load are found.
LEAST_LOAD = 1e-8


@dataclass(frozen=True)
class Point:
    """Load with some number of decoding requests.

    Attributes
    ----------
    above : Chain
        At one request more than decode on average.
    like : Point, optional
        A point nearby. What jumps is as there.
    drifts : sequence of ndarray, optional
        Seconds by which iterations at the places of its chains are longer.
    """

    above: Chain
    like: Point | None = None
    drifts: Sequence[Array] | None = None

    @property
    def load(self) -> Load:
        """Requests that arrive."""
        return self.above.load

    @property
    def mean(self) -> float:
        """Mean number of decoding requests."""
        return self.above.batch - 1.0

    @cached_property
    def below(self) -> Chain:
        """The chain at the mean."""
        if self.like:
            return nearby(self.like.below, self.load, self.mean, self.drifts[1] if self.drifts else 0.0)
        return chain(self.load, self.mean, FINE, self.above.lattice)

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """States after which sums are kept."""
        return np.unique((np.linspace(0.0, 1.0, PLACES) ** 2 * (self.above.lattice.states - 1)).astype(np.intp))

    @cached_property
    def slow(self) -> Spread:
        """The slow part of the noise."""
        return self.tokens.slow

    @cached_property
    def tokens(self) -> Tokens:
        """Times that requests see while they decode."""
        around = Stay(self.above, self.places, self.like.tokens.stay if self.like else None)
        # A fixed prompt that grows is a mixture of shorter and longer ones, which are not completed as evenly.
        departures = self.like.tokens.stay if self.like and self.load.isl_cv == 0 else around
        return Tokens(self.above, self.below, around, spread(self.above, self.below, departures, self.mean))

    @cached_property
    def chains(self) -> list[Chain]:
        """The chains at the numbers of decoding requests at which the time to the first token is taken."""
        load, mean, stay = self.load, self.mean, self.load.steps + 1.0
        deviation = math.sqrt(self.slow.effective * stay / (stay + 2.0 * self.below.full.backlog))
        batches = [min(max(mean + score * deviation, 0.0), max(mean, load.full_batch)) for score, _ in NODES[1:]]
        for _ in range(0 if self.like else HALVED):
            if full(load, batches[-1]).busy < ENDLESS:
                break
            batches[-1] = (batches[-1] + mean) / 2.0
        if self.like:
            drifts = self.drifts[2:] if self.drifts else (0.0,) * len(batches)
            others = zip(self.like.chains[1:], batches, drifts, strict=True)
            return [self.below, *(nearby(like, load, batch, drift) for like, batch, drift in others)]
        return [self.below, *(chain(load, batch, OUTER) for batch in batches)]

    @property
    def solved(self) -> list[Chain]:
        """The chains that outputs have needed so far."""
        return [self.above, self.below, *(self.chains[1:] if "chains" in vars(self) else ())]

    @cached_property
    def arrivals(self) -> list[FirstToken]:
        """First-token times that arrivals see at these chains."""
        if self.like:
            return [FirstToken(*both) for both in zip(self.chains, self.like.arrivals, strict=True)]
        return [FirstToken(at) for at in self.chains]

    @cached_property
    def first(self) -> Distribution:
        """Distribution of the time to the first token, over how many requests decode."""
        atoms = [seen.atoms for seen in self.arrivals]
        times = np.concatenate([time for time, _ in atoms], axis=1)
        weights = np.concatenate([share * weight for (_, weight), (_, share) in zip(atoms, NODES, strict=True)])
        ends = self.like.first.ends if self.like else (0.99 * float(times.min()), 1.01 * float(times.max()))
        return Distribution(times, weights, ends)

    @cached_property
    def slot_wait(self) -> SlotWait:
        """The wait for a slot; a request has one from its prompt on."""
        if (self.like and not self.like.slot_wait.probability) or math.isinf(self.load.max_num_seqs):
            return SlotWait()
        load = self.load
        if load.max_num_seqs <= FEW:
            return few_slots(load.max_num_seqs, load.request_rate, load.slot_capacity, load.slot_variation)
        taken = self.mean + load.request_rate * self.first.mean
        variation = load.osl_cv * self.decode_time / (self.first.mean + self.decode_time)
        spare = load.capacity() - load.request_rate
        return many_slots(load.max_num_seqs, taken, self.slow.variance, variation, spare)

    @cached_property
    def answered(self) -> Distribution:
        """Distribution of the time to the first token with the wait for a slot."""
        if not self.slot_wait.probability:
            return self.first
        return Delayed.of(self.first, self.slot_wait, self.like.answered.ends if self.like else None)

    @cached_property
    def end(self) -> Mixture:
        """Distribution of the time to the last token."""
        normal, ends = scores()
        first, ahead = self.answered.cell_means(ends), self.first.cell_means(ends)
        return whole(self.tokens, normal, np.diff(ends, prepend=0.0), first, ahead, self.places)

    @cached_property
    def missed(self) -> float:
        """Number of requests by which Little's law is missed."""
        return self.decoding - self.mean

    @cached_property
    def decoding(self) -> float:
        """Mean number of requests that decode, by Little's law."""
        return self.load.request_rate * self.decode_time

    @cached_property
    def decode_time(self) -> float:
        """Mean seconds between the first token and the last."""
        return self.load.steps * self.above.time + float(self.tokens.weights @ self.tokens.extra)

    def outputs(
        self,
        names: Sequence[str],
        shares: Sequence[float],
        slos: Sequence[float],
        near: Mapping[str, Array] | None = None,
    ) -> Array:
        """Outputs by name, quantiles one after the other.

        Parameters
        ----------
        names : sequence of str
            Fields of the result.
        shares : sequence of float
            Probabilities of the quantiles.
        slos : sequence of float
            Objectives for the time to the first token, per token and to the last one, in s.
        near : mapping, optional
            Outputs nearby; distributions on few times are then smoothed.
        """
        return np.concatenate([np.atleast_1d(self._output(name, shares, slos, near)) for name in names])

    def _output(
        self, name: str, shares: Sequence[float], slos: Sequence[float], near: Mapping[str, Array] | None
    ) -> Any:
        def quantiles(law: Mixture, shares: Sequence[float] = shares) -> list[float]:
            guesses = [None] * len(shares) if near is None else near[name]
            return [law.quantile(*at) for at in zip(shares, guesses, strict=True)]

        tokens_per_step = self.load.tokens_per_step

        match name:
            case "batch_size":
                return self.mean
            case "batch_variance":
                return self.slow.variance
            case "capacity":
                return self.load.capacity()
            case "iteration_time":
                return self.above.time
            case "rest":
                return self.above.rest
            case "tail":
                return self.above.beyond
            case "slot_wait_probability":
                return self.slot_wait.probability
            case "slot_wait_mean":
                return self.slot_wait.mean
            case "ttft_mean":
                return self.answered.mean
            case "ttft":
                return (self.answered.quantiles if near is None else self.answered.smooth_quantiles)(np.array(shares))
            case "tpot_mean":
                return self.tokens.mean / tokens_per_step
            case "tpot":
                return quantiles(self.tokens.per_token.times(1.0 / tokens_per_step))
            case "itl_p99":
                return quantiles(self.tokens.between, (0.99,))
            case "e2e_mean":
                return self.answered.mean + self.decode_time
            case "e2e":
                return quantiles(self.end)
            case "ttft_attainment":
                return (self.answered.below if near is None else self.answered.smooth_below)(slos[0])
            case "tpot_attainment":
                return self.tokens.per_token.below(slos[1] * tokens_per_step)
            case "e2e_attainment":
                return self.end.below(slos[2])
            case _:
                first, further = (self._output(one, shares, slos, near) for one in ATTAINMENTS[:2])
                return first * further if math.isinf(slos[2]) else self._kept(first, slos[1] * tokens_per_step, slos[2])

    def _kept(self, first: float, per_step: float, whole: float) -> float:
        """Share of the requests that keep three objectives, the first of them a share.

        Among requests with equal answers and first tokens, those with slow tokens end late.
        """
        ends = scores()[1]
        classes = np.diff(ends, prepend=0.0)
        in_time = np.clip((first - ends + classes) / classes, 0.0, 1.0)
        further = self.tokens.per_token.each_below(per_step)[:, None] * classes
        return float(np.sum(in_time * np.minimum(further, self.end.each_below(whole))))


def outputs(
    load: Load, names: Sequence[str], shares: Sequence[float], slos: tuple[float, ...]
) -> tuple[Point | None, Array]:
    """Point at which a load settles, if it does and is needed, and its outputs."""
    capacity = load.capacity()
    many = len(shares)
    if not load.request_rate < capacity:
        return None, overloaded(capacity if load.request_rate >= capacity else math.nan, names, many)
    known = {"capacity": capacity}
    kept = [name for name, slo in zip(ATTAINMENTS, slos, strict=True) if slo == math.inf]
    known |= dict.fromkeys([*kept, "slo_attainment"] if len(kept) == len(slos) else kept, 1.0)
    if known.keys() >= set(names):
        return None, np.array([known[name] for name in names])
    point = Point(settled(load.at(max(load.request_rate, LEAST_LOAD * capacity))))
    if not (point.above.ends and point.below.ends):
        return None, overloaded(capacity, names, many)
    return point, point.outputs(names, shares, slos)


def overloaded(capacity: float, names: Sequence[str], shares: int) -> Array:
    """Outputs where more arrives than can be served; nan where the capacity is unknown."""
    known = {"capacity": capacity, "rest": 1.0, "tail": 1.0, "slot_wait_probability": 1.0}
    known |= dict.fromkeys((*ATTAINMENTS, "slo_attainment"), 0.0)
    columns = [np.full(shares if name in QUANTILES else 1, known.get(name, math.inf)) for name in names]
    return np.concatenate(columns) if not math.isnan(capacity) else np.full(sum(map(len, columns)), math.nan)
