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

    def push(self, place: int) -> float:
        """Pull of the residuals towards more of a parameter (less, below zero): a cosine, zero where none."""
        column = self.jacobian[:, place]
        size = float(np.linalg.norm(column) * np.linalg.norm(self.residuals))
        return float(-column @ self.residuals) / size if size else 0.0


@dataclass(frozen=True)
class LeastSquares:
    """Sum of squared residuals, of parameters within bounds.

    Attributes
    ----------
    residuals, jacobian : callable
        Of the parameters; the Jacobian has a row per residual and a column per parameter.
    lower, upper : ndarray
        Bounds, which may be infinite.
    """

    residuals: Vector
    jacobian: Vector
    lower: np.ndarray
    upper: np.ndarray

    def fit(self, starts: Sequence[np.ndarray], tolerance: float = ARRIVED) -> Fit:
        """The parameters with the least sum.

        Parameters
        ----------
        starts : sequence of ndarray
            Where to begin; the best end is returned, the first one of those that are equal.
        tolerance : float
            Relative change of cost, step and gradient at which it has arrived.
        """
        best, tried = None, starts if len(starts) > 1 else ()
        with loop(len(tried) + 1) as advance:
            for start in tried:
                end = self._descended(start, COMPARED)
                if best is None or end.cost < best.cost * (1 - LOWER):
                    best = end
                advance(1)
            found = self._descended(starts[0] if best is None else best.x, tolerance)
        return self._on_bounds(self._polished(found) if tolerance == ARRIVED else found)

    def _at(self, x: np.ndarray, at_bound: np.ndarray) -> Fit:
        return Fit(x, self.residuals(x), self.jacobian(x), at_bound)

    def _descended(self, start: np.ndarray, tolerance: float = ARRIVED) -> Fit:
        """The nearest minimum below a start, which is moved off the bounds: there least squares cannot begin."""
        from scipy.optimize import least_squares

        room = np.where(np.isfinite(self.upper - self.lower), OFF * (self.upper - self.lower), OFF)
        minimised: Any = least_squares
        found = minimised(
            self.residuals, np.clip(start, self.lower + room, self.upper - room), self.jacobian,
            (self.lower, self.upper), "trf", x_scale="jac", max_nfev=EVALUATIONS,
            ftol=tolerance, xtol=tolerance, gtol=tolerance,
        )  # fmt: skip
        return Fit(found.x, found.fun, found.jac, np.zeros(len(start), int))

    def _polished(self, found: Fit) -> Fit:
        """The same minimum with more digits, by steps to where the gradient is zero."""
        for _ in range(LAST):
            size = np.linalg.norm(found.jacobian, axis=0)
            size[size == 0] = 1.0
            step = np.linalg.lstsq(found.jacobian / size, -found.residuals, rcond=FLAT)[0] / size
            moved = self._at(np.clip(found.x + step, self.lower, self.upper), found.at_bound)
            if not moved.cost <= found.cost * (1 + COSTS):
                break
            found = moved
            if (np.abs(step) <= SHORT * np.maximum(np.abs(moved.x), 1.0)).all():
                break
        return found

    def _on_bounds(self, found: Fit) -> Fit:
        """Put the parameters on bounds that residuals push them to and least squares never reaches, one by one."""
        size = np.maximum(np.abs(found.x), 1.0)
        for place in range(len(found.x)):
            for side, bound in ((-1, self.lower[place]), (1, self.upper[place])):
                if abs(found.x[place] - bound) <= NEAR * size[place] and found.push(place) * side > PUSHED:
                    fixed = found.at_bound.copy()
                    fixed[place] = side
                    moved = self._refitted(found.x, fixed)
                    if moved.cost <= found.cost * (1 + COSTS) and moved.push(place) * side > PUSHED:
                        found = moved
        return self._rounded(found)

    def _rounded(self, found: Fit) -> Fit:
        """Parameters that stayed where they were moved off a bound, on it: how far off they are says nothing."""
        x, room = found.x, OFF * np.maximum(np.abs(found.x), 1.0)
        for bound in (self.upper, self.lower):
            x = np.where(np.abs(found.x - bound) <= room, bound, x)
        if (x == found.x).all():
            return found
        moved = self._at(x, found.at_bound)
        return moved if moved.cost <= found.cost * (1 + COSTS) else found

    def _refitted(self, x: np.ndarray, fixed: np.ndarray) -> Fit:
        """The other parameters fitted again, with some of them on their bounds."""
        loose = fixed == 0
        whole = np.where(fixed < 0, self.lower, np.where(fixed > 0, self.upper, x))

        def filled(part: np.ndarray) -> np.ndarray:
            full = whole.copy()
            full[loose] = part
            return full

        if loose.any():
            others = LeastSquares(
                lambda p: self.residuals(filled(p)),
                lambda p: self.jacobian(filled(p))[:, loose],
                self.lower[loose],
                self.upper[loose],
            )
            whole = filled(others._descended(x[loose]).x)
        return self._at(whole, fixed)
