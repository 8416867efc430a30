"""Arrivals at a replica, and its capacity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

#: ``tau(n, c)``: seconds of an iteration with n decoding requests and c tokens of prompts.
IterationTime = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Load:
    """Requests that arrive at one replica, and the iterations that serve them.

    Attributes
    ----------
    tau : callable
        ``tau(n, c)``: seconds of an iteration with n decoding requests and c tokens of prompts.
    request_rate : float
        Poisson arrivals, in 1/s.
    isl, osl : float
        Mean tokens of a prompt and of an answer.
    isl_cv, osl_cv : float
        Coefficients of variation of these; lengths are log-normal, or fixed at zero.
    token_budget : float
        Tokens of an iteration.
    pair_time : float
        Seconds that a prompt token takes for each token before it.
    max_num_seqs : float
        Requests that are served at once at most.
    decode_tokens : float
        Tokens of an iteration that a decoding request takes: one, and those drafted for it.
    tokens_per_step : float
        Tokens that an iteration gives a decoding request, on average.
    """

    tau: IterationTime
    request_rate: float
    isl: float
    osl: float
    isl_cv: float
    osl_cv: float
    token_budget: float
    pair_time: float = 0.0
    max_num_seqs: float = math.inf
    decode_tokens: float = 1.0
    tokens_per_step: float = 1.0

    @property
    def steps(self) -> float:
        """Mean decode steps of a request: the iteration that ends its prompt gives the first token."""
        return (self.osl - 1.0) / self.tokens_per_step

    @property
    def tokens(self) -> float:
        """Mean tokens that iterations spend on a request."""
        return self.isl + self.decode_tokens * self.steps

    def free(self, batch: float) -> float:
        """Tokens of an iteration for prompts, beside a number of decoding requests: one at least."""
        return max(self.token_budget - self.decode_tokens * batch, 1.0)

    @property
    def full_batch(self) -> float:
        """Requests that decode where every iteration is full."""
        return self.token_budget * self.steps / self.tokens

    @property
    def context_spread(self) -> float:
        """Squared coefficient of variation of the context of a decoding request."""
        prompt, answer = 1.0 + self.isl_cv**2, 1.0 + self.osl_cv**2
        mean = self.isl + self.osl * answer / 2.0
        square = self.isl**2 * prompt + self.isl * self.osl * answer + self.osl**2 * answer**3 / 3.0
        return square / mean**2 - 1.0

    @property
    def depth_variance(self) -> float:
        """Variance of the tokens before a token of a prompt, beyond that of prompts of one length."""
        spread = self.isl_cv**2
        return self.isl**2 * spread * (0.5 + spread * (0.75 + spread / 3.0))

    def at(self, request_rate: float) -> Load:
        """The same requests, arriving at another rate."""
        return replace(self, request_rate=request_rate)

    def capacity(self) -> float:
        """Capacity: most requests that can be served, in 1/s; nan if an iteration has no room for prompts."""
        if not (self.free(1.0) >= 1.0 and self.isl > 0.0 and self.osl >= 1.0):
            return math.nan
        if self.max_num_seqs < 1.0:
            return 0.0
        every_full = self.token_budget / (self.tokens * float(self.tau(self.full_batch, self.free(self.full_batch))))
        if self.full_batch <= self.max_num_seqs:
            return every_full
        return min(every_full, self.slot_capacity)

    @property
    def _leaving(self) -> float:
        """Requests that end in an iteration where every slot is taken."""
        return self.max_num_seqs / (self.steps + 1.0)

    @property
    def slot_capacity(self) -> float:
        """Most requests that can be served if slots are scarce."""
        leaving = self._leaving
        decoding = leaving * self.steps
        free = self.free(decoding)
        none = math.exp(-leaving) if self.isl <= free else max(0.0, 1.0 - leaving * self.isl / free)
        mixed = float(self.tau(decoding, min(free, self.isl * leaving / (1.0 - none))))
        return leaving / (none * float(self.tau(decoding, 0.0)) + (1.0 - none) * mixed)

    @property
    def slot_variation(self) -> float:
        """Coefficient of variation of the slot time of a request: its prompt, and its share of the steps."""
        steps = min(1.0, float(self.tau(self._leaving * self.steps, 0.0)) * self.slot_capacity / self._leaving)
        return math.hypot(self.osl_cv * steps, self.isl_cv * (1.0 - steps))
