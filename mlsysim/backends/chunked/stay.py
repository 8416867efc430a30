"""Iterations that a request sees while it decodes: those behind its own prompt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mlsysim.backends.chunked.chain import Chain
from mlsysim.backends.chunked.fourier import Array
from mlsysim.backends.chunked.later import STEPS, Later

#: Largest ratio of a step to the one before.
SLOWEST = 0.9999


@dataclass(frozen=True)
class Sums:
    """Sums of the first 0, 1, 2, ... terms of a series, and of them all.

    Attributes
    ----------
    first : ndarray
        The sums that are known one by one, along the first axis.
    ratio : float
        Of a later term to the one before.
    limit : ndarray
        The sum of all terms.
    """

    first: Array
    ratio: float
    limit: Array

    def after(self, terms: Array) -> Array:
        """The sums of any numbers of terms: between whole ones linear, beyond the first ones geometric."""
        last = len(self.first) - 1
        position = np.minimum(terms, last)
        below = np.minimum(position.astype(int), last - 1)
        shape = (-1, *[1] * (self.first.ndim - 1))
        part = (position - below).reshape(shape)
        known = self.first[below] * (1.0 - part) + self.first[below + 1] * part
        beyond = np.maximum(terms - last, 0.0).reshape(shape)
        return known + (self.limit - self.first[-1]) * (1.0 - self.ratio**beyond)


def ratio(left: float, last: float) -> float:
    """Ratio of a geometric series that sums up to ``left`` after the term ``last``."""
    return min(max(left / (left + last), 0.0), SLOWEST) if left * last > 0.0 else 0.0


@dataclass(frozen=True)
class Walk:
    """Gains step by step after a departure, and their covariances with completed prompts and long iterations.

    Attributes
    ----------
    extra, variance : ndarray
        Mean and variance of the sum of the times beyond their mean over 0, 1, 2, ... steps of a request.
    behind : ndarray
        Mean of that sum over the iterations after some states.
    bunching : ndarray
        Covariances of the prompts completed in an iteration and in later ones.
    covariance, last : float
        Sum of the covariances of the times of an iteration and later ones, and the last of them.
    """

    extra: Array
    variance: Array
    behind: Array
    bunching: Array
    covariance: float
    last: float


@dataclass(frozen=True)
class Stay:
    """Times of iterations beyond their mean, after a departure.

    Attributes
    ----------
    chain : Chain
        At the number of requests that decode.
    places : ndarray of int
        States after which sums are wanted.
    like : Stay, optional
        That of the chain nearby.
    """

    chain: Chain
    places: Array
    like: Stay | None = None

    @cached_property
    def excess(self) -> Array:
        """Time of an iteration beyond the mean, by state."""
        return self.chain.times - self.chain.time

    @cached_property
    def completed(self) -> Array:
        """Prompts completed beyond the mean, by state."""
        return self.chain.completed - self.chain.law @ self.chain.completed

    @cached_property
    def chance(self) -> Array:
        """Weights of the states by their excess."""
        return self.chain.law * self.excess

    @cached_property
    def weights(self) -> Array:
        """Weights of the states by what they complete."""
        return self.chain.law * self.completed

    @cached_property
    def walk(self) -> Walk:
        """Gains step by step."""
        chain, excess, chance, weights = self.chain, self.excess, self.chance, self.weights
        extra, variance = np.zeros(STEPS + 1), np.zeros(STEPS + 1)
        behind, bunching = np.zeros((STEPS + 1, len(self.places))), np.zeros(STEPS + 1)
        bunching[0] = weights @ self.completed
        covariance, last = chance @ excess, 0.0
        sums = excess.copy()
        behind[1] = sums[self.places]
        # The squared sum from a state on: its own excess, and the sum from the next state on.
        columns = np.stack([excess, self.completed, excess**2])
        for step in range(1, STEPS + 1):
            columns = chain.transitions.after(columns)
            now = columns[0]
            extra[step] = extra[step - 1] + chain.leaving @ now
            variance[step] = chain.leaving @ columns[2] - extra[step] ** 2
            bunching[step] = weights @ columns[1]
            last = chance @ now
            covariance += last
            if step < STEPS:
                columns[2] += excess**2 + 2.0 * excess * (sums + now - excess)
                sums = sums + now
                behind[step + 1] = sums[self.places]
        return Walk(extra, variance, behind, bunching, float(covariance), float(last))

    @cached_property
    def _later_times(self) -> Later:
        """Times of the iterations after a departure."""
        return Later(self.chain, self.chain.leaving, self.excess)

    @cached_property
    def _later_completed(self) -> Later:
        """Prompts that later iterations complete."""
        return Later(self.chain, self.weights, self.completed)

    @cached_property
    def extra(self) -> Sums:
        """Mean of the sum over the steps of a request."""
        if not self.like:
            return _extra(self.chain, self.walk.extra)
        later = self.like._later_times.near(self.chain, self.chain.leaving, self.excess)
        later[0] = 0.0
        return _extra(self.chain, np.cumsum(later))

    @cached_property
    def bunching(self) -> Array:
        """Covariances of the prompts completed in an iteration and in later ones, of each prompt."""
        return self._bunching / self._prompts

    @cached_property
    def bunching_left(self) -> float:
        """Sum of the covariances of steps that are not taken one by one."""
        return float((self.chain.total(self.weights) @ self.completed - self._bunching.sum()) / self._prompts)

    @cached_property
    def _bunching(self) -> Array:
        if not self.like:
            return self.walk.bunching
        return self.like._later_completed.near(self.chain, self.weights, self.completed)

    @property
    def _prompts(self) -> float:
        """Mean prompts that an iteration completes."""
        return float(self.chain.law @ self.chain.completed)

    @cached_property
    def _whole(self) -> float:
        """Sum of the covariances of the times of an iteration and of all later ones."""
        return float(self.chance @ self.chain.drawn)

    @cached_property
    def _slow(self) -> float:
        return ratio(self._whole - self.walk.covariance, self.walk.last)

    @cached_property
    def behind(self) -> Sums:
        """Mean of the sum over the iterations after some states."""
        return Sums(self.walk.behind, self._slow, self.chain.drawn[self.places])

    def variance_after(self, steps: Array) -> Array:
        """Variance of the sum after any numbers of steps."""
        variance, r = self.walk.variance, self._slow
        last = len(variance) - 1
        known = np.interp(steps, np.arange(last + 1), variance)
        beyond = np.maximum(steps - last, 0.0)
        # What every later step adds at last, and the ratio by which it comes to that.
        at_last = float(2.0 * self._whole - self.chance @ self.excess)
        now = variance[-1] - variance[-2]
        return known + at_last * beyond + (now - at_last) * r * (1.0 - r**beyond) / (1.0 - r)

    def spread_of_departures(self, iterations: float) -> float:
        """Variance of the prompts completed in so many iterations, per prompt."""
        lags = np.arange(1, len(self.bunching))
        variance = self.bunching[0] + 2.0 * np.sum(np.maximum(1.0 - lags / iterations, 0.0) * self.bunching[1:])
        left = iterations - lags[-1]
        r = ratio(self.bunching_left, float(self.bunching[-1]))
        if left > 0.0:
            share = 1.0 - (1.0 - r**left) / (left * (1.0 - r))
            variance += 2.0 * self.bunching_left * share * left / iterations
        return float(variance)


def mean_extra(chain: Chain, steps: int = STEPS) -> Sums:
    """Mean of the sum over the steps of a request alone.

    Parameters
    ----------
    chain : Chain
        At the number of requests that decode.
    steps : int, optional
        Steps that are taken one by one.
    """
    values = chain.times - chain.time
    known = np.zeros(steps + 1)
    for step in range(1, steps + 1):
        values = chain.transitions.after(values)
        known[step] = known[step - 1] + chain.leaving @ values
    return _extra(chain, known)


def _extra(chain: Chain, known: Array) -> Sums:
    limit = chain.leaving @ (chain.drawn - chain.times + chain.time)
    return Sums(known, ratio(float(limit - known[-1]), float(known[-1] - known[-2])), limit)
