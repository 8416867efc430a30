"""Open boxes of a search, taken lowest key first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlsysim.backends.ties import band

#: First and last index per axis (rows) and box (columns), lower bounds by objective (rows), and a key per box.
BoxArrays = Sequence[np.ndarray]


class Boxes:
    """Open boxes, in arrays longer than needed, so that most rounds move few of them.

    Parameters
    ----------
    arrays : sequence of ndarray
        The boxes.
    """

    def __init__(self, arrays: BoxArrays) -> None:
        self.all = arrays

    def __len__(self) -> int:
        return self._count

    @property
    def all(self) -> BoxArrays:
        """All open boxes."""
        return [array[..., : self._count] for array in self._arrays]

    @all.setter
    def all(self, some: BoxArrays) -> None:
        self._arrays, self._count = some, some[-1].size

    def take(self, width: int) -> BoxArrays:
        """Remove the foremost boxes, at most so many."""
        low, high, _, key = self.all
        places = np.sort(_foremost(low, high, key, width))
        taken = [array[..., places] for array in self._arrays]
        # The last boxes that stay move to where earlier ones were taken from.
        left = self._count - places.size
        gaps = places[places < left]
        tail = np.ones(places.size, bool)
        tail[places[places >= left] - left] = False
        moved = left + np.flatnonzero(tail)
        for array in self._arrays:
            array[..., gaps] = array[..., moved]
        self._count = left
        return taken

    def put(self, added: BoxArrays) -> None:
        """Add boxes."""
        more = self._count + added[-1].size
        if more > self._arrays[-1].size:
            longer = [np.empty((*array.shape[:-1], 2 * more), array.dtype) for array in self._arrays]
            for new, old in zip(longer, self.all, strict=True):
                new[..., : self._count] = old
            self._arrays = longer
        for array, new in zip(self._arrays, added, strict=True):
            array[..., self._count : more] = new
        self._count = more


def _foremost(low: np.ndarray, high: np.ndarray, key: np.ndarray, width: int) -> np.ndarray:
    """Positions of the boxes with the lowest keys; of equal keys the smallest boxes, for depth first on plateaus."""
    if key.size <= width:
        return np.arange(key.size)
    limit = np.partition(key, width - 1)[width - 1]
    lower, tied = np.flatnonzero(key < limit), np.flatnonzero((key >= limit) & (key <= band(limit)[1]))
    size = np.prod((high[:, tied] - low[:, tied] + 1).astype(float), axis=0)
    return np.concatenate([lower, tied[_smallest(size, width - lower.size)]])


def _smallest(size: np.ndarray, wanted: int) -> np.ndarray:
    """Positions of the smallest numbers, of equal ones the first, so that every processor picks the same."""
    limit = np.partition(size, wanted - 1)[wanted - 1]
    lower, equal = np.flatnonzero(size < limit), np.flatnonzero(size == limit)
    return np.concatenate([lower, equal[: wanted - lower.size]])
