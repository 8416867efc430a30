"""Which combinations of parameters measurements do not determine."""

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
        """What is not known, in a sentence."""
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
    count = jacobian.shape[1]
    if not count:
        return np.empty((0, 0))
    # The triangle has the same directions, and as many rows as parameters.
    _, singular, directions = np.linalg.svd(np.linalg.qr(jacobian, mode="r"), full_matrices=True)
    size = np.zeros(count)
    size[: len(singular)] = singular
    least = NOTHING * size.max()
    if np.isfinite(deviation):
        least = max(least, deviation / UNKNOWN)
    return directions[size <= least]


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
