"""Random walk on the half line that goes down at most so many steps: sums over all its visits."""

from __future__ import annotations

import numpy as np

from mlsysim.backends.chunked.fourier import Array, length_of, spectrum, values

#: Newton steps to the tilt under which the walk shrinks fastest.
TILTS = 12
#: Largest exponent of a tilt at the end of the lattice: beyond it rounding would be tilted up.
STEEP = 20.0


class HalfLine:
    """Random walk on 0, 1, 2, ... that ends where it falls below zero.

    Solved by the factors of Wiener and Hopf, found from the Fourier coefficients of a logarithm. Sequences are
    tilted so that the walk shrinks in each step: then the logarithm is smooth.

    Parameters
    ----------
    law : ndarray
        Probability of 0, 1, 2, ... steps up, before ``down`` steps down. It falls on average.
    down : int
        Steps down.
    """

    def __init__(self, law: Array, down: int) -> None:
        self.places = len(law)
        self.length = length_of(4 * self.places)
        jumps = np.arange(self.places) - down
        tilt = _tilt(law, jumps)
        tilted = law * np.exp(tilt * jumps)
        symbol = np.zeros(self.length)
        symbol[: self.places - down] = -tilted[down:]
        symbol[self.length - down :] = -tilted[:down]
        symbol[0] += 1.0
        logarithm = values(np.log(spectrum(symbol, self.length)), self.length)
        half = self.length // 2
        rising, falling = logarithm.copy(), logarithm
        rising[half:] = 0.0
        falling[:half] = 0.0
        self.rising, self.falling = (np.exp(-spectrum(part, self.length)) for part in (rising, falling))
        self.growth = np.exp(tilt * np.arange(self.places))

    def visits(self, begins: Array) -> Array:
        """Mean visits to every place, from weights of the places where walks begin; along the last axis."""
        first = values(spectrum(begins * self.growth, self.length) * self.falling, self.length)
        first[..., self.length // 2 :] = 0.0
        visits = values(spectrum(first, self.length) * self.rising, self.length)
        return visits[..., : self.places] / self.growth

    def gains(self, gain: Array) -> Array:
        """Mean sum of what every visit gains, from each place on; along the last axis."""
        first = values(spectrum(gain / self.growth, self.length) * self.rising.conj(), self.length)
        first[..., self.length // 2 :] = 0.0
        sums = values(spectrum(first, self.length) * self.falling.conj(), self.length)
        return sums[..., : self.places] * self.growth


def _tilt(law: Array, jumps: Array) -> float:
    """Exponent at which the mean of ``exp(tilt * jump)`` is least."""
    tilt, low, high = 0.0, 0.0, STEEP / len(law)
    for _ in range(TILTS):
        weights = law * np.exp(tilt * jumps)
        total = weights.sum()
        mean = float(weights @ jumps) / total
        low, high = (tilt, high) if mean < 0 else (low, tilt)
        change = -mean / (float(weights @ jumps**2) / total - mean**2)
        if abs(change) < 0.02 * tilt or high - low < 0.02 * high:
            break
        tilt += change
        if not low < tilt < high:
            tilt = (low + high) / 2.0
    return tilt
