"""Lengths of answers as a few values with weights."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from mlsysim.backends.chunked.fourier import Array
from mlsysim.backends.chunked.load import Load

#: Normal scores at which distributions are taken, evenly apart, and how far out.
SCORES, FARTHEST = 23, 3.3


def scores() -> tuple[Array, Array]:
    """Normal scores, and the probability of at most the upper end of the cell of each."""
    places = np.linspace(-FARTHEST, FARTHEST, SCORES)
    ends = ndtr(places + FARTHEST / (SCORES - 1))
    ends[-1] = 1.0
    return places, ends


def answers(load: Load) -> tuple[Array, Array]:
    """Decode steps of an answer and the weight of each; their mean is exact."""
    if load.osl_cv == 0:
        return np.array([load.steps]), np.ones(1)
    places, _ = scores()
    weights = np.exp(-(places**2) / 2.0)
    weights /= weights.sum()
    spread = math.sqrt(math.log1p(load.osl_cv**2))
    steps = np.maximum(load.osl * np.exp(spread * places - spread**2 / 2.0), 1.0) - 1.0
    mean = float(weights @ steps)
    return steps * (load.steps / mean if mean else 1.0), weights
