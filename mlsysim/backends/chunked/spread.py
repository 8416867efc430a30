"""Spread of the number of decoding requests, and of its slow drift."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mlsysim.backends.chunked.chain import Chain
from mlsysim.backends.chunked.stay import Stay

#: Largest factor of the time of an iteration by which its own length draws in more decoding requests.
STEEPEST = 0.995


@dataclass(frozen=True)
class Spread:
    """The slow part of the noise.

    Attributes
    ----------
    slope : float
        Seconds by which an iteration is longer with one more decoding request.
    feedback : float
        Requests more that decode on average for one more that does.
    variance : float
        Variance of the number of decoding requests.
    effective : float
        The same, where a request counts by its context.
    """

    slope: float
    feedback: float
    variance: float
    effective: float

    def of_stay(self) -> float:
        """Variance of the mean time of an iteration during a stay, in s^2."""
        return self.slope**2 * self.effective * stay_share(1.0 - self.feedback)


def stay_share(x: float) -> float:
    """Variance of the mean of an Ornstein-Uhlenbeck process over ``x`` relaxation times, of that of the process."""
    return 1.0 - x / 3.0 + x**2 / 12.0 if x < 1e-3 else 2.0 * (x - 1.0 + math.exp(-x)) / x**2


def spread(above: Chain, below: Chain, departures: Stay, mean: float) -> Spread:
    """Estimate the slow part of the noise.

    Parameters
    ----------
    above, below : Chain
        At the mean number of decoding requests and one more, and at the mean.
    departures : Stay
        Tells how the departures are bunched at the first.
    mean : float
        Mean number of requests that decode.
    """
    load = above.load
    slope = max((above.time - below.time) / (above.batch - below.batch), 0.0)
    feedback = float(np.clip(load.request_rate * load.steps * slope, 0.0, STEEPEST))
    bunched = max(departures.spread_of_departures(max(load.steps / (1.0 - feedback), 1.0)), 0.0)
    variance = bunched * mean / (1.0 - feedback)
    return Spread(slope, feedback, variance, variance * (1.0 + load.context_spread))
