"""A distribution held by its cumulated probability at times that are evenly apart in their logarithm."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mlsysim.engine.chunked.fourier import Array

#: Times at which a distribution is held.
TIMES = 1500
#: A quantile is smoothed within this part of what lies above it, a probability within this part of the time.
AROUND, NEAR = 0.3, 0.05


@dataclass(frozen=True)
class Distribution:
    """Cumulated probability.

    Attributes
    ----------
    mean : float
        Mean time.
    times, cumulated : ndarray
        Times, and the probability of at most each.
    """

    mean: float
    times: Array
    cumulated: Array

    @classmethod
    def of(cls, intervals: Array, weights: Array, times: tuple[float, float]) -> Distribution:
        """A mixture of uniform distributions.

        Parameters
        ----------
        intervals : ndarray of shape (2, atoms)
            First and last time of each; both differ.
        weights : ndarray
            Weight of each.
        times : tuple of float
            Least and largest time.
        """
        pace = math.log(times[1] / times[0]) / (TIMES - 1)
        grid = times[0] * np.exp(pace * np.arange(TIMES))
        weights = weights / weights.sum()
        slopes = weights / (intervals[1] - intervals[0])
        cumulated = np.zeros(TIMES)
        for edge, sign in zip(intervals, (1.0, -1.0), strict=True):
            # The first time of the grid that is not before the edge: from there on its ramp counts.
            place = np.clip(np.ceil(np.log(edge / times[0]) / pace), 0, TIMES - 1).astype(np.intp)
            slope = np.cumsum(np.bincount(place, sign * slopes, TIMES))
            cumulated += slope * grid - np.cumsum(np.bincount(place, sign * slopes * edge, TIMES))
        cumulated[-1] = 1.0
        return cls(float(np.sum(weights * intervals.mean(axis=0))), grid, np.maximum.accumulate(cumulated))

    @property
    def ends(self) -> tuple[float, float]:
        """Least and largest time."""
        return float(self.times[0]), float(self.times[-1])

    def below(self, time: float) -> float:
        """Probability of at most this time."""
        return float(np.interp(time, self.times, self.cumulated, 0.0, 1.0))

    def quantiles(self, shares: Array) -> Array:
        """Times that are not exceeded with these probabilities."""
        rising = np.concatenate([[True], np.diff(self.cumulated) > 1e-15])
        return np.interp(shares, self.cumulated[rising], self.times[rising])

    def cell_means(self, ends: Array) -> Array:
        """Mean time between each two probabilities, the first from zero on."""
        sums = np.cumsum(np.diff(self.cumulated) * (self.times[1:] + self.times[:-1]) / 2.0)
        sums = np.concatenate([[0.0], sums])
        return np.diff(np.interp(ends, self.cumulated, sums), prepend=0.0) / np.diff(ends, prepend=0.0)

    def smooth_quantiles(self, shares: Array) -> Array:
        """Means of the quantiles around some, which move with the times though the distribution has steps."""
        width = AROUND * np.minimum(shares, 1.0 - shares)
        return np.array([self.cell_means(np.array([p - w, p + w]))[1] for p, w in zip(shares, width, strict=True)])

    def smooth_below(self, time: float) -> float:
        """Mean of the probabilities of at most the times around one."""
        if math.isinf(time):
            return float(time > 0)
        around = time * np.linspace(1.0 - NEAR, 1.0 + NEAR, 21)
        return float(np.interp(around, self.times, self.cumulated, 0.0, 1.0).mean())
