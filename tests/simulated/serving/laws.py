"""Closed forms that simulations of serving are held against."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from simulated.serving.iteration_time import Clock, IterationTime, line


class Machine(NamedTuple):
    """Seconds of an iteration that reads or computes, whichever takes longer."""

    weights: float
    per_context: float
    """Reading the cache of one token."""
    per_token: float
    per_pair: float
    """Attention of a token to another."""
    fixed: float
    beside: float
    """Per token, beside reading and computing."""

    def times(self) -> IterationTime:
        """The two clocks."""
        reading = Clock(line(self.weights + self.fixed, self.beside), line(0.0), self.per_context, 0.0)
        computing = line(self.fixed, self.per_token + self.beside)
        return IterationTime(reading, Clock(computing, line(0.0), self.per_pair, self.per_pair))

    def mean_time(self, decoding: Any, tokens: Any, context: float, reach: float) -> Any:
        """Iteration of so many decoding requests and tokens of prompts that see so many others each."""
        reading = self.weights + self.per_context * decoding * context
        computing = (self.per_token + self.per_pair * context) * decoding
        computing = computing + (self.per_token + self.per_pair * reach) * tokens
        return np.maximum(reading, computing) + self.fixed + self.beside * (decoding + tokens)


#: Llama-3.1-8B on an H100 and Llama-3.1-70B on eight, at 16 bit.
ONE = Machine(5.99e-3, 48.9e-9, 32.5e-6, 1.06e-9, 0.32e-3, 0.0)
EIGHT = Machine(6.59e-3, 15.3e-9, 35.7e-6, 0.66e-9, 2.4e-3, 7.9e-6)


def _means(prompt, answer) -> tuple[float, float, float, float]:
    """Mean lengths, mean context of a decoding request, mean tokens before one of a prompt."""
    s, o = float(prompt.mean()), float(answer.mean())
    context = s + float((answer.astype(float) ** 2).mean()) / (2 * o)
    return s, o, context, float((prompt.astype(float) ** 2).mean()) / (2 * s)


def full_iterations_rate(machine: Machine, prompt, answer, budget: int) -> float:
    """Requests per second where every iteration is full: each brings a prompt and all of its answer but one token."""
    s, o, context, reach = _means(prompt, answer)
    decoding = budget * (o - 1) / (s + o - 1)
    return budget / ((s + o - 1) * machine.mean_time(decoding, budget - decoding, context, reach))


def full_slots_rate(machine: Machine, prompt, answer, budget: int, slots: int) -> float:
    """Requests per second where all slots are taken, and a prompt begins whenever an answer ends."""
    s, o, context, reach = _means(prompt, answer)
    decoding, ends = slots * (o - 1) / o, slots / o
    room = budget - decoding
    without = math.exp(-ends) if s <= room else 1 - ends * s / room
    alone = machine.mean_time(decoding, 0, context, reach)
    mixed = machine.mean_time(decoding, s * ends / (1 - without), context, reach)
    return ends / (without * alone + (1 - without) * mixed)


def erlang_c(servers: int, offered: float) -> float:
    """Probability that a request of an M/M/c queue waits."""
    blocked = 1.0
    for one in range(1, servers + 1):
        blocked = offered * blocked / (one + offered * blocked)
    return blocked / (1 - offered / servers * (1 - blocked))


def m_d_1_within(load: float, wait: float) -> float:
    """Share of the requests of an M/D/1 queue that wait no longer than so many service times (Erlang 1909)."""
    late = (load * (k - wait) for k in range(math.floor(wait) + 1))
    return (1 - load) * sum(one**k / math.factorial(k) * math.exp(-one) for k, one in enumerate(late))


def m_d_c_wait(servers: int, load: float) -> float:
    """Mean wait of M/D/c in service times (Crommelin 1932)."""
    from scipy.stats import poisson

    services = np.arange(1, 4000)
    mean = services * servers * load
    return float(np.sum(poisson.sf(services * servers - 1, mean) - poisson.sf(services * servers, mean) / load))


def near_m_d_c_wait(servers: int, load: float) -> float:
    """The same, nearly (Cosmetatos 1975)."""
    grows = (1 - load) * (servers - 1) * (math.sqrt(4 + 5 * servers) - 2) / (16 * load * servers)
    return erlang_c(servers, servers * load) / (2 * servers * (1 - load)) * (1 + grows)


def decode_batch(rate: float, steps: int, fixed: float, per_request: float) -> float:
    """Mean batch where n decoding requests take a straight line in n: a birth-death chain, negative binomial."""
    load = rate * steps * per_request
    return rate * steps * (fixed + per_request) / (1 - load)
