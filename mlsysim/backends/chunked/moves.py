"""Changes of a chain between nearby loads: the time of an iteration, and the steps from state to state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mlsysim.backends.chunked.fourier import Array, Spectrum, product, spectrum, summed, values
from mlsysim.backends.chunked.load import IterationTime
from mlsysim.backends.chunked.transitions import Transitions

#: Relative change of requests and tokens over which the growth of a time is taken.
CHANGE = 1e-6


@dataclass(frozen=True)
class Expansion:
    """First-order expansion of the time of an iteration about some places.

    Attributes
    ----------
    batches, tokens : ndarray
        Decoding requests and tokens of prompts: of a full iteration, at first and at last, and of every row.
    times : ndarray
        Seconds.
    by_batch, by_token : ndarray
        Their growth with either.
    """

    batches: Array
    tokens: Array
    times: Array
    by_batch: Array
    by_token: Array

    @classmethod
    def of(cls, time: IterationTime, batches: Array, tokens: Array) -> Expansion:
        """Expand the time about places."""
        here = np.broadcast_to(time(batches, tokens), batches.shape)
        more, longer = (CHANGE * np.where(at > 0, at, 1.0) for at in (batches, tokens))
        return cls(
            batches,
            tokens,
            here,
            (time(batches + more, tokens) - here) / more,
            (time(batches, tokens + longer) - here) / longer,
        )

    def near(self, drift: Array | float) -> tuple[IterationTime, IterationTime, IterationTime]:
        """The time near the places of a full iteration and of the rows, where it has moved by so much."""
        times = self.times + drift

        def about(which: int | slice) -> IterationTime:
            return lambda n, c: (
                times[which]
                + self.by_batch[which] * (n - self.batches[which])
                + self.by_token[which] * (c - self.tokens[which])
            )

        return about(0), about(1), about(slice(2, None))


@dataclass(frozen=True)
class Moves:
    """First-order differences of the steps of a chain from those of one nearby.

    Attributes
    ----------
    arrived : ndarray
        Fourier transforms of the steps that arrive in an iteration nearby, by row.
    more : ndarray
        Prompts more that arrive, by row.
    transform : ndarray
        Fourier transform of the work of a prompt nearby, less one.
    arriving : ndarray
        Prompts that arrive nearby, by row.
    longer : ndarray
        By what the transform of the work differs.
    steps : Transitions
        The steps nearby.
    """

    arrived: Spectrum
    more: Array
    transform: Spectrum
    arriving: Array
    longer: Spectrum
    steps: Transitions

    @property
    def _lowest(self) -> int:
        return self.steps.chunk + 1

    @cached_property
    def _full(self) -> Spectrum:
        """Change of the transform of the arrivals of a full iteration."""
        return self.arrived[-1] * (self.more[-1] * self.transform + self.arriving[-1] * self.longer)

    @cached_property
    def laws(self) -> Array:
        """Change of the laws of arrivals."""
        changes = self.arrived * (self.more[:, None] * self.transform + self.arriving[:, None] * self.longer)
        return values(changes, self.steps.length)[:, : self.steps.states]

    def of(self, law: Array) -> Array:
        """Change of the weights of states after a step."""
        low, length = law[: self._lowest], self.steps.length
        rest = np.concatenate([[0.0], law[self._lowest :]])
        cleared = self.arrived[:-1]
        more, arriving = (summed(low * by[:-1], cleared) for by in (self.more, self.arriving))
        changes = more * self.transform + arriving * self.longer
        moved = values(changes + self._full * spectrum(rest, length), length)[: self.steps.states]
        moved[-1] -= moved.sum()
        return moved

    def gained(self, gains: Array) -> tuple[Array, Array]:
        """Change of the mean of values one step later, from states that clear all and from those above."""
        length = self.steps.length
        beyond = gains - gains[-1]
        cleared, of = self.arrived[:-1], product(beyond, length)
        low = self.more[:-1] * np.real(summed(self.transform * of, cleared.T))
        low += self.arriving[:-1] * np.real(summed(self.longer * of, cleared.T))
        high = values(spectrum(beyond[1:], length) * self._full.conj(), length)
        return low, high[: self.steps.states - self._lowest]
