"""Identifiability: combinations of parameters that measurements do not determine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

#: Relative change of predictions that counts as zero; and the standard error of a direction, in natural logarithms,
#: from which it counts as undetermined: a factor of ten.
NOTHING, UNKNOWN = 1e-7, np.log(10)
#: Component of a direction below which a parameter does not take part in it.
PART = 1e-3


@dataclass(frozen=True)
class Combination:
    """Parameters that measurements do not determine separately.

    Attributes
    ----------
    parameters : tuple of str
        Names of the parameters.
    changes : tuple of str
        Change of each that together changes no prediction; the largest is one percent.
    """

    parameters: tuple[str, ...]
    changes: tuple[str, ...]

    @property
    def name(self) -> str:
        """Names of the parameters, as ``retries x imbalance``."""
        return " x ".join(self.parameters)

    @property
    def text(self) -> str:
        """Sentence on what is not determined."""
        if len(self.parameters) == 1:
            return f"{self.name}: these measurements say nothing of it"
        changes = " with ".join(f"{name} {change}" for name, change in zip(self.parameters, self.changes, strict=True))
        return f"{self.name}: known together and not apart; {changes} changes no prediction"


def undetermined(jacobian: np.ndarray, deviation: float) -> np.ndarray:
    """Find undetermined directions, as rows.

    Parameters
    ----------
    jacobian : ndarray
        Jacobian of the residuals by relative changes of the parameters.
    deviation : float
        Standard deviation of the residuals; nan if it is not known.
    """
    size, directions = _singular(jacobian)
    return directions[size <= _least(size, deviation)]


def leave_their_bound(
    jacobian: np.ndarray, deviation: float, residuals: np.ndarray, at_bound: np.ndarray
) -> np.ndarray:
    """Find parameters at a bound that could as well be off it, together with others.

    Such a parameter takes part in an undetermined direction that stays within all bounds, along which a factor of ten
    costs no more than the scatter of the residuals.

    Parameters
    ----------
    jacobian, deviation
        As for :func:`undetermined`.
    residuals : ndarray
        Residuals at the parameters.
    at_bound : ndarray of int
        Per parameter -1 at its lower bound, 1 at its upper one, else 0.

    Returns
    -------
    ndarray of bool
        Mask of the parameters.
    """
    size, directions = _singular(jacobian)
    flat, exact = size <= _least(size, deviation), size <= _least(size, np.nan)
    inward = np.where(np.abs(directions) > PART, -directions * at_bound, 0.0)
    direction_sign = np.where((inward >= 0).all(axis=1), 1.0, np.where((inward <= 0).all(axis=1), -1.0, 0.0))
    cost = 2 * UNKNOWN * direction_sign * (directions @ (jacobian.T @ residuals))
    free = flat & (direction_sign != 0) & (exact | (cost <= deviation**2))
    return (inward[free] != 0).any(axis=0)


def _singular(jacobian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the singular value of every direction, zero beyond the rows, and the directions as rows."""
    size = np.zeros(jacobian.shape[1])
    if not size.size:
        return size, np.empty((0, 0))
    # The triangular factor has the same directions, and only as many rows as parameters.
    _, singular, directions = np.linalg.svd(np.linalg.qr(jacobian, mode="r"), full_matrices=True)
    size[: len(singular)] = singular
    return size, directions


def _least(size: np.ndarray, deviation: float) -> float:
    """Return the singular value up to which a direction is undetermined."""
    return max(NOTHING * size.max(initial=0.0), deviation / UNKNOWN if np.isfinite(deviation) else 0.0)


def combinations(
    directions: np.ndarray, names: Sequence[str], format_change: Callable[[int, float], str]
) -> tuple[Combination, ...]:
    """Express directions as combinations of as few parameters as possible.

    Parameters
    ----------
    directions : ndarray
        Directions as rows, in relative changes of the parameters.
    names : sequence of str
        Names of the parameters.
    format_change : callable
        Function that formats a relative change of a parameter, by index.
    """
    result = []
    for row in _reduced(directions):
        members = [index for index in range(len(names)) if abs(row[index]) > PART]
        # Of components equal up to rounding, the first.
        largest = row[max(members, key=lambda index: round(abs(row[index]), 6))]
        changes = tuple(format_change(index, 0.01 * float(row[index] / largest)) for index in members)
        result.append(Combination(tuple(names[index] for index in members), changes))
    return tuple(result)


def _reduced(directions: np.ndarray) -> np.ndarray:
    """Reduce rows by elimination to as many zeros as possible in the same space; each row has length one."""
    rows = np.array(directions, float)
    pivots: list[int] = []
    for row in range(len(rows)):
        remaining = np.abs(rows[row:])
        remaining[:, pivots] = 0
        at, pivot = np.unravel_index(int(remaining.argmax()), remaining.shape)
        rows[[row, row + at]] = rows[[row + at, row]]
        rows[row] /= rows[row, pivot]
        for other in range(len(rows)):
            if other != row:
                rows[other] -= rows[other, pivot] * rows[row]
        pivots.append(int(pivot))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if len(rows) else rows


def covariance(jacobian: np.ndarray, deviation: float, unknown: np.ndarray) -> np.ndarray:
    """Compute the covariance of the parameters, nan for those that take part in an undetermined direction.

    Parameters
    ----------
    jacobian : ndarray
        Jacobian of the residuals by the parameters.
    deviation : float
        Standard deviation of the residuals.
    unknown : ndarray of bool
        Mask of parameters that take part in an undetermined direction.
    """
    matrix = np.full((jacobian.shape[1],) * 2, np.nan)
    known = np.flatnonzero(~unknown)
    if known.size:
        # Projecting out undetermined parameters leaves the errors that the others have beside them.
        whole = np.linalg.pinv(jacobian, rcond=NOTHING)
        matrix[np.ix_(known, known)] = deviation**2 * (whole @ whole.T)[np.ix_(known, known)]
    return matrix
