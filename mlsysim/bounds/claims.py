"""Claims of a saved answer about the points left out, and tests of boxes and points against them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mlsysim.backends.front import BESIDE, index_of, share_to_better
from mlsysim.backends.ties import TIE, rounded


class ExclusionClaim(Protocol):
    """Statement that must hold at every point left out of the answer.

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
        """Select boxes or points that may violate the claim.

        Parameters
        ----------
        values : ndarray
            Objectives (rows) by box or point (columns): lower bounds, or what they are worth.
        first : ndarray
            First index per axis (rows) and box (columns).
        """
        ...

    def nearness(self, values: np.ndarray) -> np.ndarray:
        """Score of every box: the higher, the nearer its bounds are to exclude a violation."""
        ...


@dataclass(frozen=True)
class Best:
    """Claim that no point is better than the designs.

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
        """Compare values with the best one; see :class:`ExclusionClaim`."""
        (own,) = values
        violating = ~(own >= self.value)
        tied = np.flatnonzero(~violating & (own <= self.equal))
        if tied.size and self.mark:
            violating[tied] = [tuple(corner) < self.mark for corner in first[:, tied].T.tolist()]
        return violating

    def nearness(self, values: np.ndarray) -> np.ndarray:
        """The lower bound itself; see :class:`ExclusionClaim`."""
        return values[0]


@dataclass(frozen=True)
class Undominated:
    """Claim that every point is matched by one of the front that is as good in every objective.

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
        Share of itself by which a point of the front may be worse and still count as good.
    """

    values: np.ndarray
    indices: np.ndarray
    known: frozenset[tuple[int, ...]]
    sizes: tuple[int, ...]
    first: bool = True
    slack: float = 0.0

    def against(self, values: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Compare values with the front; see :class:`ExclusionClaim`."""
        # No point is feasible where an objective is infinite.
        violating, lower = ~(values == math.inf).any(axis=0), rounded(values)
        for start in range(0, len(self.values) if violating.any() else 0, BESIDE):
            at = np.flatnonzero(violating)
            ours, theirs = self.values[start : start + BESIDE, :, None], lower[:, at]
            good = (ours - self.slack * np.abs(ours) <= theirs).all(axis=1)
            if self.first:
                # A point equal in every objective must come no later than the one it is compared with.
                equal = (ours == theirs).all(axis=1)
                good &= ~equal | (self.indices[start : start + BESIDE, None] <= index_of(first[:, at], self.sizes))
            violating[at] = ~good.any(axis=0)
        return violating

    def nearness(self, values: np.ndarray) -> np.ndarray:
        """Negated share by which a point of the front must be improved on; see :class:`ExclusionClaim`."""
        return -share_to_better(self.values, values)


@dataclass(frozen=True)
class WithinGap:
    """Claim that no point improves on all points of the front by more than a share in every objective.

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
        """Compare values with the front, less the gap; see :class:`ExclusionClaim`."""
        return ~(values == math.inf).any(axis=0) & ~(share_to_better(self.values, values) <= self.gap + TIE)

    def nearness(self, values: np.ndarray) -> np.ndarray:
        """Negated share by which a point of the front must be improved on; see :class:`ExclusionClaim`."""
        return -share_to_better(self.values, values)
