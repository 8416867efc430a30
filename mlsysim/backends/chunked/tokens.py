"""Time per output token of a request, and the time between two tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betainc, gammainc

from mlsysim.backends.chunked.chain import Chain
from mlsysim.backends.chunked.fourier import Array
from mlsysim.backends.chunked.lengths import answers
from mlsysim.backends.chunked.mixture import Mixture
from mlsysim.backends.chunked.spread import Spread
from mlsysim.backends.chunked.stay import Stay

#: Cells of the distribution of the fast part, over so many standard deviations below and above its mean.
CELLS, BELOW, ABOVE = 24, 5.0, 7.0
#: Least variance of the fast part, and the largest as a share of what two values have.
LEAST, LARGEST = 1e-9, 0.98
#: Least deviation of what is certain, as a share of it.
SHARP = 1e-9
#: Cells of the time from the first token on, given the first: for one number of steps, and for several.
ALONE, TOGETHER = 20, 6
#: Correlation of the slow noise with the time to the first token, in normal scores.
CORRELATION = 0.5
#: Least decode steps: a request of one token has none, and takes the limit.
FEWEST = 1e-9


@dataclass(frozen=True)
class Tokens:
    """Times that requests see while they decode.

    Attributes
    ----------
    above, below : Chain
        At one request more than decode on average, and at the mean.
    stay : Stay
        Of the first.
    slow : Spread
        The slow part of the noise.
    """

    above: Chain
    below: Chain
    stay: Stay
    slow: Spread

    @cached_property
    def answers(self) -> tuple[Array, Array]:
        """Decode steps of a request, and their weights."""
        return answers(self.above.load)

    @property
    def weights(self) -> Array:
        """Weights of the numbers of decode steps."""
        return self.answers[1]

    @cached_property
    def counted(self) -> Array:
        """Decode steps, a little where there are none."""
        return np.maximum(self.answers[0], FEWEST)

    @cached_property
    def extra(self) -> Array:
        """Mean of the sum of the iterations of a request beyond their mean."""
        return self.stay.extra.after(self.counted)

    @cached_property
    def means(self) -> Array:
        """Mean time per token by decode steps."""
        return self.above.time + self.extra / self.counted

    @cached_property
    def fast(self) -> Array:
        """Variance of the sum of the iterations of a request at one number of decoding requests."""
        return np.maximum(self.stay.variance_after(self.counted), 0.0)

    @property
    def mean(self) -> float:
        """Mean time per token."""
        return float(self.weights @ self.means)

    @cached_property
    def per_token(self) -> Mixture:
        """Time per token: a beta distribution between the shortest and the full iteration, with slow normal noise."""
        least = float(self.above.row_times[0])
        width = max(self.above.full.time - least, SHARP * least)
        mean = np.clip((self.means - least) / width, LEAST, 1.0 - LEAST)
        variance = np.clip(self.fast / (self.counted * width) ** 2, LEAST * mean, LARGEST * mean * (1.0 - mean))
        deviation = np.sqrt(variance)
        first, last = np.maximum(mean - BELOW * deviation, 0.0), np.minimum(mean + ABOVE * deviation, 1.0)
        edges = first[:, None] + (last - first)[:, None] * np.linspace(0.0, 1.0, CELLS + 1)
        both = mean * (1.0 - mean) / variance - 1.0
        share = betainc((mean * both)[:, None], ((1.0 - mean) * both)[:, None], edges)
        share[:, 0], share[:, -1] = 0.0, 1.0
        share = np.diff(share, axis=1)
        middle = (edges[:, 1:] + edges[:, :-1]) / 2.0
        middle += (mean - np.sum(share * middle, axis=1))[:, None]
        cell = width * (edges[:, 1] - edges[:, 0])
        noise = self.slow.of_stay() + cell**2 / 12.0 + between(self.means) + (SHARP * self.means) ** 2
        noise = np.broadcast_to(np.sqrt(noise)[:, None], share.shape)
        return Mixture(self.weights[:, None] * share, least + width * middle, noise)

    @cached_property
    def between(self) -> Mixture:
        """Time between two tokens: the iterations that decoding requests see."""
        chain = self.above
        limit = float(self.stay.extra.limit)
        seen = float(self.weights @ self.extra) / (limit * max(chain.load.steps, FEWEST)) if limit else 0.0
        apart = chain.leaving - chain.law
        law = np.maximum(chain.law + seen * (chain.total(apart) - apart), 0.0)
        weights = np.bincount(chain.rows, law, chain.lattice.chunk + 2)
        slopes = (chain.row_times - self.below.row_times) / (chain.batch - self.below.batch)
        noise = slopes**2 * self.slow.effective + (SHARP * chain.row_times) ** 2
        noise[:-1] += between(chain.row_times[:-1])
        cleared = np.append(chain.step * np.arange(chain.lattice.chunk + 1), chain.full.free)
        bound = chain.row_times > chain.row_times[0] * (1.0 + SHARP)
        noise += (
            bound * (chain.load.pair_time * cleared) ** 2 * chain.load.depth_variance / (1.0 + cleared / chain.load.isl)
        )
        return Mixture(weights / weights.sum(), chain.row_times, np.sqrt(noise))


def between(values: Array) -> Array:
    """Variance within the cells of values that stand for all between them."""
    return np.gradient(values, axis=0) ** 2 / 12.0 if len(values) > 1 else np.zeros_like(values)


def whole(tokens: Tokens, scores: Array, score_weights: Array, first: Array, ahead: Array, places: Array) -> Mixture:
    """Time from arrival to the last token: gamma above the shortest iterations, with slow normal noise.

    Parameters
    ----------
    tokens : Tokens
        What requests see while they decode.
    scores, score_weights : ndarray
        Normal scores and their weights.
    first, ahead : ndarray
        Times to the first token at these, with and without the wait for a slot.
    places : ndarray of int
        States after which the stay has sums.
    """
    load, waiting = tokens.above.load, tokens.above.waiting[places]
    behind = tokens.stay.behind.after(tokens.counted)
    left = load.request_rate * load.isl * ahead
    later = np.stack([np.interp(left, waiting, row) for row in behind])
    later -= (later @ score_weights)[:, None]
    slow = tokens.counted * math.sqrt(tokens.slow.of_stay())
    least = (tokens.counted * tokens.above.row_times[0])[:, None]
    over = np.maximum((tokens.counted * tokens.means)[:, None] - least + later, SHARP * least)
    fast = np.maximum(tokens.fast - later**2 @ score_weights, 0.0)[:, None]
    known = least + first + CORRELATION * slow[:, None] * scores
    share, middle, cell = _gamma(over, np.maximum(fast, LEAST * over**2), ALONE if len(slow) == 1 else TOGETHER)
    noise = (1.0 - CORRELATION**2) * slow[:, None] ** 2 + between(first) + (SHARP * known) ** 2
    noise = (noise + between(known + over))[..., None] + cell[..., None] ** 2 / 12.0
    weights = (tokens.weights[:, None] * score_weights)[..., None] * share
    return Mixture(weights, known[..., None] + middle, np.broadcast_to(np.sqrt(noise), share.shape))


def _gamma(mean: Array, variance: Array, cells: int) -> tuple[Array, Array, Array]:
    """Gamma distributions in cells: probability and middle of each, and their width; the means are exact."""
    deviation = np.sqrt(variance)
    first, last = np.maximum(mean - BELOW * deviation, 0.0), mean + ABOVE * deviation
    edges = first[..., None] + (last - first)[..., None] * np.linspace(0.0, 1.0, cells + 1)
    share = gammainc((mean**2 / variance)[..., None], edges * (mean / variance)[..., None])
    share[..., 0], share[..., -1] = 0.0, 1.0
    share = np.diff(share, axis=-1)
    middle = (edges[..., 1:] + edges[..., :-1]) / 2.0
    middle += (mean - np.sum(share * middle, axis=-1))[..., None]
    return share, middle, (last - first) / cells
