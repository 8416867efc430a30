"""Mixtures of normal distributions: probabilities and quantiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from mlsysim.backends.chunked.fourier import Array

#: Standard deviations beyond which nothing is left, steps of Newton at most, and the share of a time they end at.
FARTHEST, STEPS, EXACT = 8.0, 60, 1e-10

#: Of the density of a normal distribution.
ROOT = math.sqrt(2.0 * math.pi)


@dataclass(frozen=True)
class Mixture:
    """Mixture of normal distributions; weights add up to one.

    Attributes
    ----------
    weights, means, deviations : ndarray
        Of one shape; the deviations are positive.
    """

    weights: Array
    means: Array
    deviations: Array

    def times(self, factor: float) -> Mixture:
        """Distribution of a positive multiple."""
        return Mixture(self.weights, factor * self.means, factor * self.deviations)

    def below(self, value: float) -> float:
        """Probability of at most a value."""
        if math.isinf(value):
            return float(value > 0)
        return float(np.sum(self.weights * ndtr((value - self.means) / self.deviations)))

    def each_below(self, value: float) -> Array:
        """Probability of at most a value, in sums over the last axis."""
        if math.isinf(value):
            return np.sum(self.weights, axis=-1) * float(value > 0)
        return np.sum(self.weights * ndtr((value - self.means) / self.deviations), axis=-1)

    def quantile(self, share: float, guess: float | None = None) -> float:
        """Value that is not exceeded with a probability, from a guess on."""
        low = float(np.min(self.means - FARTHEST * self.deviations))
        high = float(np.max(self.means + FARTHEST * self.deviations))
        value = float(np.sum(self.weights * self.means)) if guess is None else guess
        value = min(max(value, low), high)
        for _ in range(STEPS):
            score = (value - self.means) / self.deviations
            missing = share - float(np.sum(self.weights * ndtr(score)))
            density = float(np.sum(self.weights / self.deviations * np.exp(-(score**2) / 2.0))) / ROOT
            low, high = (value, high) if missing > 0 else (low, value)
            change = missing / density if density > 0 else math.inf
            if abs(change) <= EXACT * abs(value) or high - low <= EXACT * abs(value):
                break
            value += change
            if not low < value < high:
                value = (low + high) / 2.0
        return value
