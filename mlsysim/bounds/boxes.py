"""The boxes of a search that are still open, of which those with the lowest bounds are taken first."""

from __future__ import annotations

import numpy as np

from mlsysim.backends.ties import band

#: First and last index per axis (rows) and box (columns), and a lower bound per box.
Some = tuple[np.ndarray, np.ndarray, np.ndarray]


class Boxes:
    """Open boxes, in arrays that are longer than needed, so that most rounds move few of them.

    Parameters
    ----------
    low, high : ndarray of int
        First and last index per axis (rows) and box (columns).
    bound : ndarray
        A lower bound of each box.
    """

    def __init__(self, low: np.ndarray, high: np.ndarray, bound: np.ndarray) -> None:
        self._low, self._high, self._bound = low, high, bound
        self._count = bound.size

    def __len__(self) -> int:
        return self._count

    @property
    def low(self) -> np.ndarray:
        """First index per axis and box."""
        return self._low[:, : self._count]

    @property
    def high(self) -> np.ndarray:
        """Last index per axis and box."""
        return self._high[:, : self._count]

    @property
    def bound(self) -> np.ndarray:
        """Lower bound of every box."""
        return self._bound[: self._count]

    def take(self, width: int) -> Some:
        """Remove the foremost boxes, at most so many."""
        places = np.sort(_foremost(self.low, self.high, self.bound, width))
        taken = self._low[:, places], self._high[:, places], self._bound[places]
        # The last boxes that stay move to where earlier ones were taken from.
        left = self._count - places.size
        gaps = places[places < left]
        tail = np.ones(places.size, bool)
        tail[places[places >= left] - left] = False
        moved = left + np.flatnonzero(tail)
        for array in (self._low, self._high):
            array[:, gaps] = array[:, moved]
        self._bound[gaps] = self._bound[moved]
        self._count = left
        return taken

    def put(self, low: np.ndarray, high: np.ndarray, bound: np.ndarray) -> None:
        """Add boxes."""
        more = self._count + bound.size
        if more > self._bound.size:
            self._grow(2 * more)
        new = slice(self._count, more)
        self._low[:, new], self._high[:, new], self._bound[new] = low, high, bound
        self._count = more

    def keep(self, which: np.ndarray) -> None:
        """Drop all boxes but some."""
        if not which.all():
            self._low, self._high = self.low[:, which], self.high[:, which]
            self._bound = self.bound[which]
            self._count = self._bound.size

    def _grow(self, capacity: int) -> None:
        for name in ("_low", "_high", "_bound"):
            old = getattr(self, name)
            longer = np.empty((*old.shape[:-1], capacity), old.dtype)
            longer[..., : self._count] = old[..., : self._count]
            setattr(self, name, longer)


def _foremost(low: np.ndarray, high: np.ndarray, bound: np.ndarray, width: int) -> np.ndarray:
    """The boxes with the lowest bounds. Of equal bounds the smallest boxes, so that a plateau is searched in depth."""
    if bound.size <= width:
        return np.arange(bound.size)
    limit = np.partition(bound, width - 1)[width - 1]
    lower, tied = np.flatnonzero(bound < limit), np.flatnonzero((bound >= limit) & (bound <= band(limit)[1]))
    size = np.prod((high[:, tied] - low[:, tied] + 1).astype(float), axis=0)
    return np.concatenate([lower, tied[_smallest(size, width - lower.size)]])


def _smallest(size: np.ndarray, wanted: int) -> np.ndarray:
    """Positions of the smallest numbers, of equal ones the first, so that every processor picks the same."""
    limit = np.partition(size, wanted - 1)[wanted - 1]
    lower, equal = np.flatnonzero(size < limit), np.flatnonzero(size == limit)
    return np.concatenate([lower, equal[: wanted - lower.size]])
