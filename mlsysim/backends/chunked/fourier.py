"""Fourier transforms of real sequences, along the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

Array = NDArray[Any]
Spectrum = NDArray[np.complex128]


def length_of(places: int) -> int:
    """Length of at least so many entries whose transforms are fast."""
    length: Any = next_fast_len(places, real=True)
    return length


def spectrum(values: Array, length: int) -> Spectrum:
    """Transform of values, with zeros up to a length."""
    return np.fft.rfft(values, length)


def values(spectrum: Spectrum, length: int) -> Array:
    """Inverse transform."""
    return np.fft.irfft(spectrum, length)


def product(values: Array, length: int) -> Spectrum:
    """Factors of a transform whose sum has, as its real part, the sum of the products of both sequences."""
    factors = 2.0 * spectrum(values, length).conj() / length
    factors[..., 0] /= 2.0
    if length % 2 == 0:
        factors[..., -1] /= 2.0
    return factors


# A library of linear algebra spreads products over threads, which takes longer than small ones do and keeps them busy.
def summed(weights: Array, rows: Array) -> Array:
    """Sum of rows with weights."""
    total: Array = np.einsum("k,km->m", weights, rows)
    return total


def products(left: Array, right: Array) -> Array:
    """Product of every row with every row."""
    result: Array = np.einsum("ik,jk->ij", left, right)
    return result
