"""Combinations of parameters that measurements do not determine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

#: Change of predictions, over the largest one, that counts as none; and the standard error of a direction, in natural
#: logarithms, from which it counts as not determined: a factor of ten.
NOTHING, UNKNOWN = 1e-7, np.log(10)
#: Share of a direction below which a parameter has no part in it.
PART = 1e-3


@dataclass(frozen=True)
class Combination:
    """Parameters that measurements do not tell apart.

    Attributes
    ----------
    parameters : tuple of str
        Their names.
    changes : tuple of str
        By how much each changes where all change together and no prediction does; the largest by one percent.
    """

    parameters: tuple[str, ...]
    changes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The parameters, as ``retries x imbalance``."""
        return " x ".join(self.parameters)

    @property
    def text(self) -> str:
        """Sentence on what is not known."""
        if len(self.parameters) == 1:
            return f"{self.name}: these measurements say nothing of it"
        moved = " with ".join(f"{name} {change}" for name, change in zip(self.parameters, self.changes, strict=True))
        return f"{self.name}: known together and not apart; {moved} changes no prediction"


def undetermined(jacobian: np.ndarray, deviation: float) -> np.ndarray:
    """Directions in which nothing is known, as rows.

    Parameters
    ----------
    jacobian : ndarray
        Of the residuals by the parameters, each in shares of itself.
    deviation : float
        Standard deviation of the residuals; nan if it is not known.
    """
    size, directions = _singular(jacobian)
    return directions[size <= _least(size, deviation)]


def leave_their_bound(
    jacobian: np.ndarray, deviation: float, residuals: np.ndarray, at_bound: np.ndarray
) -> np.ndarray:
    """Parameters at a bound that could as well be off it, others with them.

    There is a direction that stays within all bounds, in which nothing is known, and a factor of ten along it costs
    no more than the residuals scatter.

    Parameters
    ----------
    jacobian, deviation
        As for :func:`undetermined`.
    residuals : ndarray
        At the parameters.
    at_bound : ndarray of int
        Per parameter -1 at its lower bound, 1 at its upper one, else 0.

    Returns
    -------
    ndarray of bool
        Per parameter.
    """
    size, directions = _singular(jacobian)
    flat, exact = size <= _least(size, deviation), size <= _least(size, np.nan)
    off = np.where(np.abs(directions) > PART, -directions * at_bound, 0.0)
    way = np.where((off >= 0).all(axis=1), 1.0, np.where((off <= 0).all(axis=1), -1.0, 0.0))
    cost = 2 * UNKNOWN * way * (directions @ (jacobian.T @ residuals))
    free = flat & (way != 0) & (exact | (cost <= deviation**2))
    return (off[free] != 0).any(axis=0)


def _singular(jacobian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The singular value of every direction of the parameters, zero beyond the rows, and the directions as rows."""
    size = np.zeros(jacobian.shape[1])
    if not size.size:
        return size, np.empty((0, 0))
    # The triangle has the same directions, and as many rows as parameters.
    _, singular, directions = np.linalg.svd(np.linalg.qr(jacobian, mode="r"), full_matrices=True)
    size[: len(singular)] = singular
    return size, directions


def _least(size: np.ndarray, deviation: float) -> float:
    """The singular value up to which nothing is known of a direction."""
    return max(NOTHING * size.max(initial=0.0), deviation / UNKNOWN if np.isfinite(deviation) else 0.0)


def combinations(
    directions: np.ndarray, names: Sequence[str], told: Callable[[int, float], str]
) -> tuple[Combination, ...]:
    """Directions as combinations of as few parameters as possible.

    Parameters
    ----------
    directions : ndarray
        One per row, in shares of each parameter.
    names : sequence of str
        The parameters.
    told : callable
        A change as text, of the place of a parameter and a share of it.
    """
    found = []
    for row in _reduced(directions):
        part = [place for place in range(len(names)) if abs(row[place]) > PART]
        # Of parts that are as large but for rounding, the first.
        largest = row[max(part, key=lambda place: round(abs(row[place]), 6))]
        changes = tuple(told(place, 0.01 * float(row[place] / largest)) for place in part)
        found.append(Combination(tuple(names[place] for place in part), changes))
    return tuple(found)


def _reduced(directions: np.ndarray) -> np.ndarray:
    """The same space by rows with as many zeros as elimination leaves, each row of length one."""
    rows = np.array(directions, float)
    pivots: list[int] = []
    for place in range(len(rows)):
        below = np.abs(rows[place:])
        below[:, pivots] = 0
        at, pivot = np.unravel_index(int(below.argmax()), below.shape)
        rows[[place, place + at]] = rows[[place + at, place]]
        rows[place] /= rows[place, pivot]
        for other in range(len(rows)):
            if other != place:
                rows[other] -= rows[other, pivot] * rows[place]
        pivots.append(int(pivot))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if len(rows) else rows


def covariance(jacobian: np.ndarray, deviation: float, unknown: np.ndarray) -> np.ndarray:
    """Covariance of the parameters, nan for those that have a part in what is not known.

    Parameters
    ----------
    jacobian : ndarray
        Of the residuals by the parameters.
    deviation : float
        Standard deviation of the residuals.
    unknown : ndarray of bool
        Per parameter, whether it has such a part.
    """
    found = np.full((jacobian.shape[1],) * 2, np.nan)
    known = np.flatnonzero(~unknown)
    if known.size:
        # Freed of what the unknown parameters explain, the others keep the errors that they have beside them.
        whole = np.linalg.pinv(jacobian, rcond=NOTHING)
        found[np.ix_(known, known)] = deviation**2 * (whole @ whole.T)[np.ix_(known, known)]
    return found
