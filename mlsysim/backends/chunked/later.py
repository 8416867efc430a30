"""Gains of a chain step by step, and their change with the chain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mlsysim.backends.chunked.chain import Chain
from mlsysim.backends.chunked.fourier import Array, Spectrum, product, products, spectrum, summed

#: Steps that are taken one by one; the sum of all later ones is known, and they are taken as geometric.
STEPS = 32


@dataclass(frozen=True)
class Later:
    """Gains 0, 1, 2, ... steps after some states.

    Attributes
    ----------
    chain : Chain
        The steps.
    weights : ndarray
        Of the states where they begin.
    gain : ndarray
        By state.
    """

    chain: Chain
    weights: Array
    gain: Array

    @cached_property
    def forward(self) -> Array:
        """Weights of the states after 0, 1, 2, ... steps."""
        weights_by_step = [self.weights]
        for _ in range(STEPS):
            weights_by_step.append(self.chain.transitions.before(weights_by_step[-1]))
        return np.array(weights_by_step)

    @cached_property
    def gains(self) -> Array:
        """Mean gain 0, 1, 2, ... steps after every state."""
        gains_by_step = [self.gain]
        for _ in range(STEPS):
            gains_by_step.append(self.chain.transitions.after(gains_by_step[-1]))
        return np.array(gains_by_step)

    @cached_property
    def _slopes(self) -> tuple[Array, Spectrum]:
        """Slopes of every gain by the prompts that arrive, by row, and by the transform of their work."""
        chain, lowest, length = self.chain, self.chain.lattice.chunk + 1, self.chain.length
        beyond = self.gains[:-1] - self.gains[:-1, -1:]
        low, high = self.forward[:-1, :lowest], np.zeros((STEPS, chain.lattice.states))
        high[:, 1 : chain.lattice.states - chain.lattice.chunk] = self.forward[:-1, lowest:]
        of, above = product(beyond, length), spectrum(high, length) * chain.arrived[-1]
        by_row = products(of * chain.transform, chain.arrived[:-1])
        by_work = (
            products(low * chain.arriving[:-1], np.ascontiguousarray(chain.arrived[:-1].T)) + chain.arriving[-1] * above
        )
        rows, works = np.zeros((STEPS + 1, lowest + 1)), np.zeros((STEPS + 1, of.shape[1]), complex)
        for step in range(STEPS):
            # What moves in a step after so many others is seen in every gain that follows.
            rows[step + 1 :, :lowest] += low[step] * np.real(by_row[: STEPS - step])
            rows[step + 1 :, lowest] += np.real(summed(above[step] * chain.transform, of[: STEPS - step].T))
            works[step + 1 :] += by_work[step] * of[: STEPS - step]
        return rows, works

    def near(self, chain: Chain, weights: Array, gain: Array) -> Array:
        """Mean gains after 0, 1, 2, ... steps of a chain nearby."""
        rows, works = self._slopes
        gains = summed(weights, self.gains.T) + summed(gain - self.gain, self.forward.T)
        return gains + summed(chain.moves.more, rows.T) + np.real(summed(chain.moves.longer, works.T))
