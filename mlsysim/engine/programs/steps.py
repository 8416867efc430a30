"""What bounds do to arrays in one go and the machine has an instruction for, written in NumPy."""

from __future__ import annotations

import numpy as np

from mlsysim.engine.programs.recording import recorded

#: Relative error of a term: tables that differ less count as one, and sums and products are taken in another order.
MARGIN = 4e-12


@recorded
def plus_outward(total: np.ndarray, least: np.ndarray) -> np.ndarray:
    """A sum of lower bounds with one more, which is moved down by what rounding may have done to it."""
    return total + (least - MARGIN * np.abs(least))


@recorded
def known(x: np.ndarray, otherwise: float) -> np.ndarray:
    """An array with another number where it has none."""
    return np.where(np.isnan(x), otherwise, x)


@recorded
def inverted(bound: np.ndarray, otherwise: float) -> np.ndarray:
    """One over a bound, where that is positive."""
    with np.errstate(all="ignore"):
        return np.where(bound > 0, 1.0 / bound, otherwise)


@recorded
def times_low(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Lower end of the product of ranges from a to b and from c to d; zero times infinity is zero.

    A zero comes from a mask, which takes away whatever it is multiplied by.
    """
    found = _times(a, c)
    if not (np.min(a) >= 0 and np.min(c) >= 0):
        lowest = np.minimum(np.minimum(found, _times(b, d)), np.minimum(_times(a, d), _times(b, c)))
        found = np.where((a >= 0) & (c >= 0), found, lowest)
    return known(found, -np.inf)


@recorded
def times_high(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Upper end of the product of two ranges; see :func:`times_low`."""
    found = _times(b, d)
    if not (np.min(a) >= 0 and np.min(c) >= 0):
        highest = np.maximum(np.maximum(found, _times(a, c)), np.maximum(_times(a, d), _times(b, c)))
        found = np.where((a >= 0) & (c >= 0), found, highest)
    return known(found, np.inf)


def _times(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    found = x * y
    if np.isnan(np.sum(found)):
        found = np.where((x == 0) | (y == 0), 0.0, found)
    return found


@recorded
def looked_up(table: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The values of a table at some places."""
    return table[place]


@recorded
def looked_up_pair(table: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The values of a table of two dimensions."""
    return table[row, column]


@recorded
def least_of(ladder: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Least value from one place to another, both included.

    Parameters
    ----------
    ladder : ndarray
        In row n, the least of every 2**n values from each place on.
    low, high : ndarray
        The places.
    """
    level = np.frexp(high - low + 1)[1] - 1
    return np.minimum(ladder[level, low], ladder[level, high - (1 << level) + 1])


@recorded
def greatest_of(ladder: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Greatest value from one place to another; see :func:`least_of`."""
    level = np.frexp(high - low + 1)[1] - 1
    return np.maximum(ladder[level, low], ladder[level, high - (1 << level) + 1])
