"""The time of one iteration of an engine, as plain numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


class Clock(NamedTuple):
    """Seconds by what an iteration handles; beyond its end a table goes on in a straight line."""

    tokens: NDArray[np.float64]
    """By the tokens that pass the layers: of decoding requests and of prompts."""
    sampled: NDArray[np.float64]
    """By the tokens that are sampled."""
    per_context: float
    """Per token of context of a decoding request."""
    per_pair: float
    """Per pair of tokens that prompts attend over."""


class IterationTime(NamedTuple):
    """Two clocks that run side by side: the slower one counts."""

    first: Clock
    second: Clock


def line(fixed: float, per_token: float = 0.0) -> NDArray[np.float64]:
    """Table of a straight line."""
    return np.array([fixed, fixed + per_token])


#: A clock that never counts.
NO_CLOCK = Clock(np.zeros(2), np.zeros(2), 0.0, 0.0)


def one_clock(
    tokens: NDArray[np.float64],
    sampled: NDArray[np.float64] | None = None,
    per_context: float = 0.0,
    per_pair: float = 0.0,
) -> IterationTime:
    """Time that one clock tells."""
    return IterationTime(Clock(tokens, np.zeros(2) if sampled is None else sampled, per_context, per_pair), NO_CLOCK)


@njit
def look_up(table, index):
    last = len(table) - 1
    if index <= last:
        return table[index]
    return table[last] + (index - last) * (table[last] - table[last - 1])


@njit
def told(clock, tokens, sampled, context, pairs):
    return (
        look_up(clock.tokens, tokens)
        + look_up(clock.sampled, sampled)
        + clock.per_context * context
        + clock.per_pair * pairs
    )


@njit
def seconds(times, tokens, sampled, context, pairs):
    """Seconds of an iteration over so many tokens, sampled tokens, tokens of context and pairs."""
    return max(told(times.first, tokens, sampled, context, pairs), told(times.second, tokens, sampled, context, pairs))
