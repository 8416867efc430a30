"""Lattice for the tokens of prompts: its step, its length, and the work of one prompt on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from mlsysim.backends.chunked.fourier import Array
from mlsysim.backends.chunked.load import Load

#: Prompts that wait at most, at least so many: where lengths are fixed and where they vary.
LEAST_SPAN = (6.0, 24.0)
#: Steps of the budget at most: the time of an iteration is known there and nowhere between.
FINEST = 48
#: States at most.
LONGEST = 4000
#: Additional cost of a state besides its entry in every row, in rows.
ASIDE = 12
#: Largest difference of two misfits that are equal but for rounding.
EQUAL = 1e-12
#: A prompt takes at least this share of the work of its tokens at average cost.
LEAST_WORK = 0.1


@dataclass(frozen=True)
class Lattice:
    """Numbers of steps: of the tokens an iteration has for prompts, and of those that may wait.

    Attributes
    ----------
    chunk : int
        Steps of a full iteration.
    states : int
        Numbers of steps that may wait, from zero.
    """

    chunk: int
    states: int


def chosen(load: Load, free: float, busy: float, most: int) -> Lattice:
    """A lattice long enough for the tail of the queue.

    Parameters
    ----------
    load : Load
        Requests that arrive.
    free : float
        Tokens a full iteration has for prompts.
    busy : float
        Share of them that arrivals take.
    most : int
        Rows times states at most.
    """
    random = load.isl_cv > 0
    variation = load.isl_cv * (1.0 + load.isl_cv**2 / 2.0) if load.pair_time else load.isl_cv
    idle = max(1.0 - busy, 0.005)
    prompts = max(LEAST_SPAN[random], (11.0 + 6.0 * variation) * (1.0 + variation**2) / (2.0 * idle))
    chunks = load.isl / free
    # Prompts shorter than a step are spread over it, and the queue is as long as with prompts of a step.
    longer = 1.0 + prompts * max(chunks, 1.0 / FINEST)
    longest = max(1, min(FINEST, int(math.sqrt(ASIDE**2 / 4.0 + most / longer) - ASIDE / 2.0)))
    chunk = longest
    if not random:
        misfits = {steps: _misfit(steps, chunks) for steps in range(longest, (longest - 1) // 2, -1)}
        # Steps that divide others fit as badly: the finest is taken, whatever their last bits.
        chunk = next(steps for steps, misfit in misfits.items() if misfit <= min(misfits.values()) + EQUAL)
    return Lattice(chunk, min(LONGEST, math.ceil(chunk * longer)) + 2)


def _misfit(chunk: int, chunks: float) -> float:
    """Relative distance of a prompt from a whole number of steps, at least one."""
    steps = chunk * chunks
    return abs(steps - max(1, round(steps))) / steps


@dataclass(frozen=True)
class Prompts:
    """Quantities on which the steps of a prompt depend.

    Attributes
    ----------
    isl, isl_cv : float
        Mean tokens of a prompt and their coefficient of variation.
    quadratic : float
        Additional cost of a token for each token before it, in shares of one of mean cost.
    free : float
        Tokens for prompts in a full iteration.
    """

    isl: float
    isl_cv: float
    quadratic: float
    free: float

    @classmethod
    def of(cls, load: Load, free: float, full_time: float) -> Prompts:
        """Quantities of a load, with the tokens for prompts in a full iteration and its seconds."""
        return cls(load.isl, load.isl_cv, load.pair_time * free / full_time, free)

    @cached_property
    def numbers(self) -> Array:
        """All quantities as one array."""
        return np.array([self.isl, self.isl_cv, self.quadratic, self.free])


def work(prompts: Prompts, lattice: Lattice) -> Array:
    """Probability of every number of steps that a prompt takes, its mean exact.

    Parameters
    ----------
    prompts : Prompts
        Requests that arrive.
    lattice : Lattice
        The steps.

    Returns
    -------
    ndarray
        Of the length of the lattice; its last entry holds the probability beyond.
    """
    step = prompts.free / lattice.chunk
    law = np.zeros(lattice.states)
    if prompts.isl_cv == 0:
        whole, part = divmod(prompts.isl / step, 1.0)
        index = min(int(whole), lattice.states - 1)
        law[index] += 1.0 - part
        law[min(index + 1, lattice.states - 1)] += part
        return law
    beyond = _mean_beyond(prompts, step * np.arange(lattice.states + 1))
    slopes = np.diff(beyond) / step
    law[0] = 1.0 + slopes[0]
    law[1:] = np.diff(slopes)
    law[-1] -= slopes[-1]
    return law


def _mean_beyond(prompts: Prompts, places: Array) -> Array:
    """Mean of the work of a prompt beyond each of some places."""
    spread = math.sqrt(math.log1p(prompts.isl_cv**2))
    centre = math.log(prompts.isl) - spread**2 / 2.0
    half = prompts.quadratic / 2.0
    linear = 1.0 - half * prompts.isl * (1.0 + prompts.isl_cv**2)

    def moment(order: int, lengths: Array) -> Array:
        with np.errstate(divide="ignore"):
            score = order * spread - (np.log(lengths) - centre) / spread
        return math.exp(order * centre + (order * spread) ** 2 / 2.0) * ndtr(score)

    corner = 0.0 if linear >= LEAST_WORK else (LEAST_WORK - linear) / half
    zero = np.array([corner])
    mean = linear * moment(1, zero) + half * moment(2, zero) + LEAST_WORK * (prompts.isl - moment(1, zero))
    scale = float(prompts.isl / mean[0])
    places = places / scale
    lengths = (np.sqrt(linear**2 + 4.0 * half * places) - linear) / (2.0 * half) if half > 0 else places
    short = places < LEAST_WORK * corner
    upper = np.where(short, corner, lengths)
    mean_work = linear * moment(1, upper) + half * moment(2, upper) - places * moment(0, upper)
    if corner > 0:
        begin = np.minimum(places / LEAST_WORK, corner)
        between = LEAST_WORK * (moment(1, begin) - moment(1, zero)) - places * (moment(0, begin) - moment(0, zero))
        mean_work = mean_work + np.where(short, between, 0.0)
    return scale * mean_work
