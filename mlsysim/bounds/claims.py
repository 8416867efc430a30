"""What a saved answer says of every point that is not in it, and whether a box or a point may be against that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mlsysim.backends.front import BESIDE, index_of, share_to_better
from mlsysim.backends.ties import TIE, rounded


class Claim(Protocol):
    """What no point may be that is not in the answer.

    Attributes
    ----------
    known : frozenset of tuple of int
        Index per axis of every point of the answer.
    """

    @property
    def known(self) -> frozenset[tuple[int, ...]]:
        """Index per axis of every point of the answer."""
        ...

    def against(self, values: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Where values at a place, or from there on in the order of the axes, may be against the claim.

        Parameters
        ----------
        values : ndarray
            Objectives (rows) by box or point (columns): lower bounds, or what they are worth.
        first : ndarray
            First index per axis (rows) and box (columns).
        """
        ...

    def nearness(self, values: np.ndarray) -> np.ndarray:
        """A number per box that is the higher the nearer its bounds are to show that it is not against the claim."""
        ...


@dataclass(frozen=True)
class Best:
    """No point is better than the designs.

    Attributes
    ----------
    value : float
        No point is below it.
    equal : float
        Where the first of equal points is claimed, up to which value a point counts as equal; else the same value.
    mark : tuple of int
        Index per axis of the last of the designs, before which no equal point may come.
    known : frozenset of tuple of int
        The designs.
    """

    value: float
    equal: float
    mark: tuple[int, ...]
    known: frozenset[tuple[int, ...]]

    def against(self, values: np.ndarray, first: np.ndarray) -> np.ndarray:
        """See :class:`Claim`."""
        (own,) = values
        found = ~(own >= self.value)
        tied = np.flatnonzero(~found & (own <= self.equal))
        if tied.size and self.mark:
            found[tied] = [tuple(place) < self.mark for place in first[:, tied].T.tolist()]
        return found

    def nearness(self, values: np.ndarray) -> np.ndarray:
        """See :class:`Claim`."""
        return values[0]


@dataclass(frozen=True)
class Unbeaten:
    """For every point there is one of the front that is as good in every objective.

    Attributes
    ----------
    values : ndarray
        A row per point of the front, a column per objective, rounded to the digits that count.
    indices : ndarray of int
        C-order index of each; where the first of equal points is claimed, none alike in every objective comes before.
    known : frozenset of tuple of int
        The points of the front.
    sizes : tuple of int
        Values per axis.
    first : bool
        Whether the first of equal points is claimed.
    slack : float
        By what share of itself a point of the front may be worse and count as good.
    """

    values: np.ndarray
    indices: np.ndarray
    known: frozenset[tuple[int, ...]]
    sizes: tuple[int, ...]
    first: bool = True
    slack: float = 0.0

    def against(self, values: np.ndarray, first: np.ndarray) -> np.ndarray:
        """See :class:`Claim`."""
        # No point is feasible where an objective is infinite.
        found, lower = ~(values == math.inf).any(axis=0), rounded(values)
        for start in range(0, len(self.values) if found.any() else 0, BESIDE):
            at = np.flatnonzero(found)
            ours, theirs = self.values[start : start + BESIDE, :, None], lower[:, at]
            good = (ours - self.slack * np.abs(ours) <= theirs).all(axis=1)
            if self.first:
                # One that is alike in everything must come no later than what it is compared with.
                alike = (ours == theirs).all(axis=1)
                good &= ~alike | (self.indices[start : start + BESIDE, None] <= index_of(first[:, at], self.sizes))
            found[at] = ~good.any(axis=0)
        return found

    def nearness(self, values: np.ndarray) -> np.ndarray:
        """See :class:`Claim`."""
        return -share_to_better(self.values, values)


@dataclass(frozen=True)
class Within:
    """No point is better than every one of the front by more than a share in every objective.

    Attributes
    ----------
    values : ndarray
        A row per point of the front, a column per objective.
    gap : float
        The share.
    known : frozenset of tuple of int
        The points of the front.
    """

    values: np.ndarray
    gap: float
    known: frozenset[tuple[int, ...]]

    def against(self, values: np.ndarray, first: np.ndarray) -> np.ndarray:
        """See :class:`Claim`."""
        return ~(values == math.inf).any(axis=0) & ~(share_to_better(self.values, values) <= self.gap + TIE)

    def nearness(self, values: np.ndarray) -> np.ndarray:
        """See :class:`Claim`."""
        return -share_to_better(self.values, values)
