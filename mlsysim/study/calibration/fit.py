"""Bounded least squares from several starts, with exact derivatives, and parameters that end at a bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlsysim.progress import loop

Vector = Callable[[np.ndarray], np.ndarray]

#: Relative change of cost, step and gradient at which a fit has arrived, and one that is compared with others;
#: evaluations after which it gives up.
ARRIVED, COMPARED, EVALUATIONS = 1e-13, 1e-6, 400
#: Steps that follow to the last digits, where least squares no longer sees its cost fall, the step after which they
#: end, and singular values, over the largest, in whose directions they do not go.
LAST, SHORT, FLAT = 20, 1e-9, 1e-7
#: Distance from its bound, over its size, at which a parameter begins that is said to begin there.
OFF = 1e-6
#: Distance from its bound at which a parameter is tried on it, over its size, and what that may cost, over the cost.
NEAR, COSTS = 1e-2, 1e-9
#: Cosine between residuals and the change of predictions with a parameter from which the residuals push it.
PUSHED = 1e-4
#: Share of the cost by which one end must be lower to be another minimum.
LOWER = 1e-4


@dataclass(frozen=True)
class Fit:
    """End of a least-squares fit.

    Attributes
    ----------
    x : ndarray
        The parameters.
    residuals : ndarray
        At these parameters.
    jacobian : ndarray
        Of the residuals, with a column per parameter.
    at_bound : ndarray of int
        Per parameter -1 at its lower bound, 1 at its upper one, else 0.
    """

    x: np.ndarray
    residuals: np.ndarray
    jacobian: np.ndarray
    at_bound: np.ndarray

    @property
    def cost(self) -> float:
        """The sum of squares."""
        return float(self.residuals @ self.residuals)


def fit(
    residuals: Vector,
    jacobian: Vector,
    starts: Sequence[np.ndarray],
    lower: np.ndarray,
    upper: np.ndarray,
    tolerance: float = ARRIVED,
) -> Fit:
    """The parameters with the least sum of squared residuals.

    Parameters
    ----------
    residuals, jacobian : callable
        Of the parameters; the Jacobian has a row per residual and a column per parameter.
    starts : sequence of ndarray
        Where to begin; the best end is returned, the first one of those that are equal.
    lower, upper : ndarray
        Bounds, which may be infinite.
    tolerance : float
        Relative change of cost, step and gradient at which it has arrived.

    Returns
    -------
    Fit
    """
    best, tried = None, starts if len(starts) > 1 else ()
    with loop(len(tried) + 1) as advance:
        for start in tried:
            end = _descended(residuals, jacobian, start, lower, upper, COMPARED)
            if best is None or end.cost < best.cost * (1 - LOWER):
                best = end
            advance(1)
        found = _descended(residuals, jacobian, starts[0] if best is None else best.x, lower, upper, tolerance)
    if tolerance == ARRIVED:
        found = _polished(residuals, jacobian, found, lower, upper)
    return _on_bounds(residuals, jacobian, found, lower, upper)


def _descended(
    residuals: Vector,
    jacobian: Vector,
    start: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    tolerance: float = ARRIVED,
) -> Fit:
    """The nearest minimum below a start, which is moved off the bounds: there least squares cannot begin."""
    from scipy.optimize import least_squares

    room = np.where(np.isfinite(upper - lower), OFF * (upper - lower), OFF)
    inner = np.clip(start, lower + room, upper - room)
    minimised: Any = least_squares
    found = minimised(
        residuals, inner, jacobian, (lower, upper), "trf", x_scale="jac", max_nfev=EVALUATIONS,
        ftol=tolerance, xtol=tolerance, gtol=tolerance,
    )  # fmt: skip
    return Fit(found.x, found.fun, found.jac, np.zeros(len(start), int))


def _polished(residuals: Vector, jacobian: Vector, found: Fit, lower: np.ndarray, upper: np.ndarray) -> Fit:
    """The same minimum with more digits, by steps to where the gradient is zero."""
    for _ in range(LAST):
        size = np.linalg.norm(found.jacobian, axis=0)
        size[size == 0] = 1.0
        step = np.linalg.lstsq(found.jacobian / size, -found.residuals, rcond=FLAT)[0] / size
        x = np.clip(found.x + step, lower, upper)
        moved = Fit(x, residuals(x), jacobian(x), found.at_bound)
        if not moved.cost <= found.cost * (1 + COSTS):
            break
        found = moved
        if (np.abs(step) <= SHORT * np.maximum(np.abs(x), 1.0)).all():
            break
    return found


def _on_bounds(residuals: Vector, jacobian: Vector, found: Fit, lower: np.ndarray, upper: np.ndarray) -> Fit:
    """Put the parameters on bounds that residuals push them to and least squares never reaches, one by one."""
    size = np.maximum(np.abs(found.x), 1.0)
    for place in range(len(found.x)):
        for side, bound in ((-1, lower[place]), (1, upper[place])):
            if abs(found.x[place] - bound) <= NEAR * size[place] and _push(found, place) * side > PUSHED:
                fixed = found.at_bound.copy()
                fixed[place] = side
                moved = _refitted(residuals, jacobian, found.x, fixed, lower, upper)
                if moved.cost <= found.cost * (1 + COSTS) and _push(moved, place) * side > PUSHED:
                    found = moved
    return _rounded(residuals, jacobian, found, lower, upper)


def _rounded(residuals: Vector, jacobian: Vector, found: Fit, lower: np.ndarray, upper: np.ndarray) -> Fit:
    """Parameters that stayed where they were moved off a bound, on it: how far off they are says nothing."""
    room = OFF * np.maximum(np.abs(found.x), 1.0)
    x = np.where(np.abs(found.x - lower) <= room, lower, np.where(np.abs(found.x - upper) <= room, upper, found.x))
    if (x == found.x).all():
        return found
    moved = Fit(x, residuals(x), jacobian(x), found.at_bound)
    return moved if moved.cost <= found.cost * (1 + COSTS) else found


def _push(found: Fit, place: int) -> float:
    """Pull of the residuals towards more of a parameter (less, below zero): a cosine, zero where it has no effect."""
    column = found.jacobian[:, place]
    size = float(np.linalg.norm(column) * np.linalg.norm(found.residuals))
    return float(-column @ found.residuals) / size if size else 0.0


def _refitted(
    residuals: Vector, jacobian: Vector, x: np.ndarray, fixed: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> Fit:
    """The other parameters fitted again, with some of them on their bounds."""
    loose = fixed == 0
    whole = np.where(fixed < 0, lower, np.where(fixed > 0, upper, x))

    def filled(part: np.ndarray) -> np.ndarray:
        full = whole.copy()
        full[loose] = part
        return full

    if loose.any():
        part = _descended(
            lambda p: residuals(filled(p)),
            lambda p: jacobian(filled(p))[:, loose],
            x[loose],
            lower[loose],
            upper[loose],
        )
        whole = filled(part.x)
    return Fit(whole, residuals(whole), jacobian(whole), fixed)
