"""What a request sees while it decodes: the iterations behind its own prompt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlsysim.engine.chunked.chain import Chain
from mlsysim.engine.chunked.fourier import Array

#: Steps that are taken one by one; the sum of all later ones is known, and they are taken as geometric.
STEPS = 32
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
        place = np.minimum(terms, last)
        below = np.minimum(place.astype(int), last - 1)
        shape = (-1, *[1] * (self.first.ndim - 1))
        part = (place - below).reshape(shape)
        known = self.first[below] * (1.0 - part) + self.first[below + 1] * part
        beyond = np.maximum(terms - last, 0.0).reshape(shape)
        return known + (self.limit - self.first[-1]) * (1.0 - self.ratio**beyond)


def ratio(left: float, last: float) -> float:
    """Ratio of a geometric series that sums up to ``left`` after the term ``last``."""
    return min(max(left / (left + last), 0.0), SLOWEST) if left * last > 0.0 else 0.0


@dataclass(frozen=True)
class Stay:
    """Times of iterations beyond their mean, after a departure.

    Attributes
    ----------
    extra : Sums
        Mean of the sum over the steps of a request.
    behind : Sums
        Mean of the sum over the iterations after some states.
    variance : ndarray
        Variance of the sum over 0, 1, 2, ... steps of a request.
    growth : tuple of float
        What every later step adds to the variance at last, and by which ratio it comes to that.
    bunching : Sums
        Of the covariances of the prompts completed in an iteration and in later ones, of each prompt.
    """

    extra: Sums
    behind: Sums
    variance: Array
    growth: tuple[float, float]
    bunching: Array
    bunching_left: float

    def variance_after(self, steps: Array) -> Array:
        """Variance of the sum after any numbers of steps."""
        last = len(self.variance) - 1
        known = np.interp(steps, np.arange(last + 1), self.variance)
        beyond = np.maximum(steps - last, 0.0)
        at_last, r = self.growth
        now = self.variance[-1] - self.variance[-2]
        return known + at_last * beyond + (now - at_last) * r * (1.0 - r**beyond) / (1.0 - r)

    def spread_of_departures(self, iterations: float) -> float:
        """Variance of the prompts completed in so many iterations, of each."""
        lags = np.arange(1, len(self.bunching))
        found = self.bunching[0] + 2.0 * np.sum(np.maximum(1.0 - lags / iterations, 0.0) * self.bunching[1:])
        left = iterations - lags[-1]
        r = ratio(self.bunching_left, float(self.bunching[-1]))
        if left > 0.0:
            share = 1.0 - (1.0 - r**left) / (left * (1.0 - r))
            found += 2.0 * self.bunching_left * share * left / iterations
        return float(found)


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


def stay(chain: Chain, places: Array) -> Stay:
    """All that later iterations tell.

    Parameters
    ----------
    chain : Chain
        At the number of requests that decode.
    places : ndarray of int
        States after which sums are wanted.
    """
    excess = chain.times - chain.time
    completed = chain.completed - chain.law @ chain.completed
    chance, weights = chain.law * excess, chain.law * completed
    extra, variance, behind = np.zeros(STEPS + 1), np.zeros(STEPS + 1), np.zeros((STEPS + 1, len(places)))
    bunching = np.zeros(STEPS + 1)
    bunching[0] = weights @ completed
    covariance, last = chance @ excess, 0.0
    sums = excess.copy()
    behind[1] = sums[places]
    # The squared sum from a state on: its own excess, and the sum from the next state on.
    columns = np.stack([excess, completed, excess**2])
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
            behind[step + 1] = sums[places]
    whole = chance @ chain.drawn
    slow = ratio(float(whole - covariance), float(last))
    prompts = chain.law @ chain.completed
    left = chain.transitions.total(weights) @ completed - bunching.sum()
    return Stay(
        _extra(chain, extra), Sums(behind, slow, chain.drawn[places]), variance,
        (float(2.0 * whole - chance @ excess), slow), bunching / prompts, float(left / prompts),
    )  # fmt: skip
