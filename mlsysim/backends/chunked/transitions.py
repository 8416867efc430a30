"""Transitions of a queue that a full iteration empties by a chunk: products and solutions without its matrix."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mlsysim.backends.chunked.fourier import Array, Spectrum, length_of, spectrum, summed, values
from mlsysim.backends.chunked.halfline import HalfLine


class Transitions:
    """Transitions of the chain ``w' = max(w - chunk, 0) + arrivals``, whose arrivals depend on ``min(w, chunk + 1)``.

    The last state stands for all beyond.

    Parameters
    ----------
    laws : ndarray of shape (chunk + 2, states)
        Probability of 0, 1, 2, ... arrivals by what is cleared; the last row where a rest is left.
    chunk : int
        What an iteration clears at most.
    """

    def __init__(self, laws: Array, chunk: int) -> None:
        self.states, self.chunk = laws.shape[1], chunk
        self.clearing, self.full = laws[:-1], laws[-1]
        self.length = length_of(2 * self.states)

    @cached_property
    def pull(self) -> Spectrum:
        """Fourier transform of the arrivals of a full iteration."""
        return spectrum(self.full, self.length).conj()

    def after(self, gains: Array) -> Array:
        """Mean of values one step later, from every state on; along the last axis."""
        last = gains[..., -1:]
        beyond = gains - last
        means = np.empty_like(gains)
        lowest = self.chunk + 1
        means[..., :lowest] = self._cleared(beyond)
        rest = values(spectrum(beyond[..., 1:], self.length) * self.pull, self.length)
        means[..., lowest:] = rest[..., : self.states - lowest]
        means += last
        return means

    def before(self, weights: Array) -> Array:
        """Weights of states one step later."""
        lowest = self.chunk + 1
        rest = np.zeros(self.states)
        rest[1 : self.states - self.chunk] = weights[lowest:]
        next_weights = values(spectrum(rest, self.length) * self.pull.conj(), self.length)[: self.states]
        next_weights += summed(weights[:lowest], self.clearing)
        next_weights[-1] += weights.sum() - next_weights.sum()
        return next_weights

    def _cleared(self, gains: Array) -> Array:
        """Mean of values after iterations that leave no rest."""
        return summed(gains, self.clearing.T) if gains.ndim == 1 else gains @ self.clearing.T

    @cached_property
    def above(self) -> HalfLine:
        """The walk while a rest is left, from the state above a chunk on."""
        return HalfLine(self.full, self.chunk)

    @cached_property
    def visits(self) -> Array:
        """Mean visits above a chunk before the next state at or below it, by the state that is left."""
        begins = np.zeros_like(self.clearing)
        begins[:, : self.states - self.chunk - 1] = self.clearing[:, self.chunk + 1 :]
        return np.maximum(self.above.visits(begins), 0.0)

    @cached_property
    def down(self) -> Array:
        """Probability of the states at or below a chunk after those just above it."""
        lowest = self.chunk + 1
        padded = np.concatenate([np.zeros(lowest), self.full[:lowest]])
        return np.stack([padded[lowest - k - 1 : 2 * lowest - k - 1] for k in range(min(self.chunk, self.states))])

    @cached_property
    def below(self) -> tuple[Array, Array]:
        """The chain seen at or below a chunk only: inverse of ``I - K + 1 v``, and v, a law."""
        between = self.clearing[:, : self.chunk + 1] + self.visits[:, : self.chunk] @ self.down
        between /= between.sum(axis=1, keepdims=True)
        return np.linalg.inv(np.eye(len(between)) - between + between[0]), between[0]

    @cached_property
    def stationary(self) -> Array:
        """Stationary probability of every state."""
        inverse, anchor = self.below
        law = self._spread(anchor @ inverse, np.zeros(self.states))
        return law / law.sum()

    def _spread(self, low: Array, high: Array) -> Array:
        """Weights of all states from those at or below a chunk."""
        high = summed(low, self.visits) + high
        lowest = self.chunk + 1
        weights = np.concatenate([low, high[: self.states - lowest]])
        weights[-1] += high[self.states - lowest :].sum()
        return weights

    def total(self, weights: Array) -> Array:
        """Sum of weights over all steps from now on; the weights add up to zero."""
        lowest = self.chunk + 1
        high = np.zeros(self.states)
        high[: self.states - lowest] = weights[lowest:]
        high = self.above.visits(high)
        inverse, _ = self.below
        sums = self._spread((weights[:lowest] + high[: self.chunk] @ self.down) @ inverse, high)
        return sums - sums.sum() * self.stationary

    @cached_property
    def _arriving(self) -> Array:
        """Mean arrivals, by row."""
        laws = np.concatenate([self.clearing, self.full[None]])
        return laws @ np.arange(self.states) + (1.0 - laws.sum(axis=1)) * self.states

    def growth(self, gain: Array) -> float:
        """Increase of the sum of gains by row per token, where tokens stay waiting."""
        return float(gain[-1] / (self.chunk - self._arriving[-1]))

    def sums(self, gain: Array, beside: Array | None = None) -> Array:
        """Mean sum of what all steps gain, from every state on; the gain adds up to zero.

        Parameters
        ----------
        gain : ndarray of shape (chunk + 2,)
            By what is cleared; the last where a rest is left.
        beside : ndarray, optional
            What every state above a chunk gains beside; it vanishes far above.
        """
        lowest = self.chunk + 1
        places = np.arange(self.states)
        # Where a rest is left the sum grows by the same amount with every token; what is left over lies below.
        growth = self.growth(gain)
        left = gain[:-1] - growth * (places[:lowest] - self._arriving[:-1])
        inverse, _ = self.below
        first = np.zeros(self.states)
        if beside is not None:
            first[: len(beside)] = beside
            left = left + summed(self.above.gains(first)[: self.states - lowest], self.clearing[:, lowest:].T)
        low = inverse @ left
        first[: self.chunk] += self.down @ low
        high = self.above.gains(first)[: self.states - lowest]
        sums = growth * places + np.concatenate([low, high])
        return sums - self.stationary @ sums
