"""The requests that engines serve: when they come, how long their prompts and answers are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Load(NamedTuple):
    """Requests in order of arrival."""

    arrival: Floats
    prompt: Integers
    answer: Integers
    """Tokens of the answer; the prefill gives the first."""
    cached: Integers
    """Tokens of the prompt that are in a prefix cache."""
    steps: Integers
    """Decode steps that give the rest of the answer."""
    pace: Floats
    """Tokens per decode step of the request."""
    in_flight: int
    """In a closed loop so many requests are in flight, and the times of arrival are found; else zero."""


@dataclass(frozen=True)
class Drafts:
    """Speculative decoding: so many tokens drafted per step, each accepted by chance until one is not."""

    tokens: int = 0
    acceptance_rate: float = 0.0
    seconds: float = 0.0
    """Time of drafting, per decode step."""


def fixed_or_log_normal(mean: float, cv: float, count: int, rng: np.random.Generator) -> Integers:
    """Lengths, all alike where the coefficient of variation is zero."""
    if not cv:
        return np.full(count, round(mean))
    variance = np.log1p(cv**2)
    drawn = rng.lognormal(np.log(mean) - variance / 2, np.sqrt(variance), count)
    return np.maximum(1, np.rint(drawn)).astype(np.int64)


def poisson(rate: float, count: int, rng: np.random.Generator) -> Floats:
    """Times of Poisson arrivals."""
    return np.cumsum(rng.exponential(1 / rate, count))


def renewals(rate: float, cv: float, count: int, rng: np.random.Generator) -> Floats:
    """Times of arrivals whose gaps are gamma distributed: in bursts where the coefficient of variation exceeds one."""
    return np.cumsum(rng.gamma(cv**-2, cv**2 / rate, count))


def requests(
    arrival: Floats | int,
    prompt: Integers,
    answer: Integers,
    *,
    cached_share: float = 0.0,
    drafts: Drafts | None = None,
    seed: int = 0,
) -> Load:
    """Requests that arrive at given times, or so many of which are kept in flight."""
    in_flight = arrival if isinstance(arrival, int) else 0
    times = np.zeros(len(prompt)) if isinstance(arrival, int) else np.asarray(arrival, float).copy()
    prompt, answer = np.asarray(prompt, np.int64), np.asarray(answer, np.int64)
    # An engine computes at least the last token of a prompt, whose pass gives the first of the answer.
    cached = np.minimum(np.rint(prompt * cached_share).astype(np.int64), prompt - 1)
    steps = answer - 1
    if drafts is not None and drafts.tokens:
        steps = drafted_steps(steps, drafts.tokens, drafts.acceptance_rate, seed)
    pace = (answer - 1) / np.maximum(steps, 1)
    return Load(times, prompt, answer, cached, steps, pace, in_flight)


@njit
def drafted_steps(tokens, drafted, acceptance_rate, seed):
    """Steps of each request: one gives a token and those drafted before the first that is refused."""
    np.random.seed(seed)
    steps = np.zeros_like(tokens)
    for request in range(len(tokens)):
        left = tokens[request]
        while left > 0:
            given = 1
            while given <= drafted and np.random.random() < acceptance_rate:
                given += 1
            left -= given
            steps[request] += 1
    return steps
