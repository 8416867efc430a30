"""Distribution as cumulated probability at logarithmically spaced times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mlsysim.backends.chunked.fourier import Array
from mlsysim.backends.chunked.slots import SlotWait

#: Times at which a distribution is held.
TIMES = 1500
#: Means of an exponential wait beyond which nothing is left.
LONGEST = 20.0
#: A quantile is smoothed within this part of what lies above it, a probability within this part of the time.
AROUND, NEAR = 0.3, 0.05


@dataclass(frozen=True)
class Distribution:
    """Mixture of uniform distributions.

    Attributes
    ----------
    intervals : ndarray of shape (2, atoms)
        First and last time of each; both differ.
    weights : ndarray
        Weight of each.
    ends : tuple of float
        Least and largest time.
    """

    intervals: Array
    weights: Array
    ends: tuple[float, float]

    @cached_property
    def _shares(self) -> Array:
        return self.weights / self.weights.sum()

    @cached_property
    def mean(self) -> float:
        """Mean time."""
        return float(np.sum(self._shares * self.intervals.mean(axis=0)))

    @property
    def _pace(self) -> float:
        return math.log(self.ends[1] / self.ends[0]) / (TIMES - 1)

    @cached_property
    def times(self) -> Array:
        """Times at which the distribution is held."""
        return self.ends[0] * np.exp(self._pace * np.arange(TIMES))

    @cached_property
    def cumulated(self) -> Array:
        """Probability of at most each of these times."""
        slopes = self._shares / (self.intervals[1] - self.intervals[0])
        cumulated = np.zeros(TIMES)
        for edge, sign in zip(self.intervals, (1.0, -1.0), strict=True):
            # The first time of the grid that is not before the edge: from there on its ramp counts.
            index = np.clip(np.ceil(np.log(edge / self.ends[0]) / self._pace), 0, TIMES - 1).astype(np.intp)
            slope = np.cumsum(np.bincount(index, sign * slopes, TIMES))
            cumulated += slope * self.times - np.cumsum(np.bincount(index, sign * slopes * edge, TIMES))
        cumulated[-1] = 1.0
        return np.maximum.accumulate(cumulated)

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


@dataclass(frozen=True)
class Delayed(Distribution):
    """Distribution delayed for some by an exponential wait.

    Attributes
    ----------
    wait : SlotWait
        The wait.
    """

    wait: SlotWait

    @classmethod
    def of(cls, first: Distribution, wait: SlotWait, ends: tuple[float, float] | None = None) -> Delayed:
        """Delay a distribution by a wait."""
        far = ends or (first.ends[0], first.ends[1] + LONGEST * wait.mean)
        return cls(first.intervals, first.weights, far, wait)

    @cached_property
    def mean(self) -> float:
        """Mean time."""
        return super().mean + self.wait.probability * self.wait.mean

    @cached_property
    def cumulated(self) -> Array:
        """Probability of at most each of these times."""
        known = super().cumulated
        lengths = np.diff(self.times) / self.wait.mean
        kept = np.exp(-lengths)
        share = -np.expm1(-lengths)
        # Between two times the distribution that is waited for grows evenly.
        come = known[:-1] * share + np.diff(known) * (1.0 - share / lengths)
        late, waited = [0.0], 0.0
        for keep, more in zip(kept.tolist(), come.tolist(), strict=True):
            waited = keep * waited + more
            late.append(waited)
        cumulated = known + self.wait.probability * (np.array(late) - known)
        cumulated[-1] = 1.0
        return np.maximum.accumulate(cumulated)
