"""Bounded least squares from several starts, with exact derivatives and parameters at bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlsysim.progress import loop

Vector = Callable[[np.ndarray], np.ndarray]

#: Relative tolerance of cost, step and gradient of the final fit, and of fits from several starts; most evaluations.
ARRIVED, COMPARED, EVALUATIONS = 1e-13, 1e-6, 400
#: Gauss-Newton steps that refine the last digits, the relative step at which they stop, and the relative singular value
#: below which they leave a direction alone.
LAST, SHORT, FLAT = 20, 1e-9, 1e-7
#: Relative distance from its bound at which a parameter that starts on it is placed.
OFF = 1e-6
#: Relative distance from its bound within which a parameter is tried on it, and the relative cost that may add.
NEAR, COSTS = 1e-2, 1e-9
#: Cosine between residuals and the change of predictions by a parameter from which residuals push it.
PUSHED = 1e-4
#: Relative difference in cost from which another end counts as another minimum.
LOWER = 1e-4


@dataclass(frozen=True)
class Fit:
    """End of a least-squares fit.

    Attributes
    ----------
    x : ndarray
        Parameters.
    residuals : ndarray
        Residuals at these parameters.
    jacobian : ndarray
        Jacobian of the residuals, with a column per parameter.
    at_bound : ndarray of int
        Per parameter -1 at its lower bound, 1 at its upper one, else 0.
    """

    x: np.ndarray
    residuals: np.ndarray
    jacobian: np.ndarray
    at_bound: np.ndarray

    @property
    def cost(self) -> float:
        """Sum of squares."""
        return float(self.residuals @ self.residuals)

    def push(self, index: int) -> float:
        """Return how strongly residuals push a parameter up (down if negative): a cosine, zero if not at all."""
        column = self.jacobian[:, index]
        size = float(np.linalg.norm(column) * np.linalg.norm(self.residuals))
        return float(-column @ self.residuals) / size if size else 0.0


@dataclass(frozen=True)
class LeastSquares:
    """Sum of squared residuals of parameters within bounds.

    Attributes
    ----------
    residuals, jacobian : callable
        Functions of the parameters; the Jacobian has a row per residual and a column per parameter.
    lower, upper : ndarray
        Bounds, which may be infinite.
    """

    residuals: Vector
    jacobian: Vector
    lower: np.ndarray
    upper: np.ndarray

    def fit(self, starts: Sequence[np.ndarray], tolerance: float = ARRIVED) -> Fit:
        """Minimise the sum of squares.

        Parameters
        ----------
        starts : sequence of ndarray
            Starting points; the best end is returned, the first of equal ones.
        tolerance : float
            Relative tolerance of cost, step and gradient.
        """
        best, tried = None, starts if len(starts) > 1 else ()
        with loop(len(tried) + 1) as advance:
            for start in tried:
                end = self._descended(start, COMPARED)
                if best is None or end.cost < best.cost * (1 - LOWER):
                    best = end
                advance(1)
            fitted = self._descended(starts[0] if best is None else best.x, tolerance)
        return self._on_bounds(self._polished(fitted) if tolerance == ARRIVED else fitted)

    def _at(self, x: np.ndarray, at_bound: np.ndarray) -> Fit:
        return Fit(x, self.residuals(x), self.jacobian(x), at_bound)

    def _descended(self, start: np.ndarray, tolerance: float = ARRIVED) -> Fit:
        """Descend from a start to the nearest minimum; the start is moved off bounds, where the method cannot begin."""
        from scipy.optimize import least_squares

        room = np.where(np.isfinite(self.upper - self.lower), OFF * (self.upper - self.lower), OFF)
        minimised: Any = least_squares
        solution = minimised(
            self.residuals, np.clip(start, self.lower + room, self.upper - room), self.jacobian,
            (self.lower, self.upper), "trf", x_scale="jac", max_nfev=EVALUATIONS,
            ftol=tolerance, xtol=tolerance, gtol=tolerance,
        )  # fmt: skip
        return Fit(solution.x, solution.fun, solution.jac, np.zeros(len(start), int))

    def _polished(self, fitted: Fit) -> Fit:
        """Refine a minimum to more digits by Gauss-Newton steps."""
        for _ in range(LAST):
            size = np.linalg.norm(fitted.jacobian, axis=0)
            size[size == 0] = 1.0
            step = np.linalg.lstsq(fitted.jacobian / size, -fitted.residuals, rcond=FLAT)[0] / size
            moved = self._at(np.clip(fitted.x + step, self.lower, self.upper), fitted.at_bound)
            if not moved.cost <= fitted.cost * (1 + COSTS):
                break
            fitted = moved
            if (np.abs(step) <= SHORT * np.maximum(np.abs(moved.x), 1.0)).all():
                break
        return fitted

    def _on_bounds(self, fitted: Fit) -> Fit:
        """Put parameters on bounds that residuals push them to and the descent never reaches, one by one."""
        size = np.maximum(np.abs(fitted.x), 1.0)
        for index in range(len(fitted.x)):
            for side, bound in ((-1, self.lower[index]), (1, self.upper[index])):
                if abs(fitted.x[index] - bound) <= NEAR * size[index] and fitted.push(index) * side > PUSHED:
                    fixed = fitted.at_bound.copy()
                    fixed[index] = side
                    moved = self._refitted(fitted.x, fixed)
                    if moved.cost <= fitted.cost * (1 + COSTS) and moved.push(index) * side > PUSHED:
                        fitted = moved
        return self._rounded(fitted)

    def _rounded(self, fitted: Fit) -> Fit:
        """Put parameters on a bound if they stayed where they were moved off it: the distance means nothing."""
        x, room = fitted.x, OFF * np.maximum(np.abs(fitted.x), 1.0)
        for bound in (self.upper, self.lower):
            x = np.where(np.abs(fitted.x - bound) <= room, bound, x)
        if (x == fitted.x).all():
            return fitted
        moved = self._at(x, fitted.at_bound)
        return moved if moved.cost <= fitted.cost * (1 + COSTS) else fitted

    def _refitted(self, x: np.ndarray, fixed: np.ndarray) -> Fit:
        """Fit the other parameters again, with some on their bounds."""
        loose = fixed == 0
        whole = np.where(fixed < 0, self.lower, np.where(fixed > 0, self.upper, x))

        def filled(free_values: np.ndarray) -> np.ndarray:
            full = whole.copy()
            full[loose] = free_values
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
