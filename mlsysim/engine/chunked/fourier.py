"""Fourier transforms of real sequences, along the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

Array = NDArray[Any]
Spectrum = NDArray[np.complex128]


def length_of(places: int) -> int:
    """A length of at least so many places whose transforms are fast."""
    found: Any = next_fast_len(places, real=True)
    return found


def spectrum(values: Array, length: int) -> Spectrum:
    """Transform of values, with zeros up to a length."""
    return np.fft.rfft(values, length)


def values(spectrum: Spectrum, length: int) -> Array:
    """The values a transform is of."""
    return np.fft.irfft(spectrum, length)
