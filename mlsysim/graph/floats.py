"""Arithmetic of single numbers, in which special functions are evaluated at one point."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

#: Values of a loop, of one shape; the first is the mask of the points that go on.
State = tuple[Any, ...]

#: Largest number that sums may reach: the inverse of the smallest probability above zero.
LARGEST = 1e300
EPS = float(np.finfo(float).eps)


class Floats:
    """Arithmetic of single numbers; see :class:`mlsysim.graph.Arithmetic`."""

    nearest = staticmethod(np.rint)
    log = staticmethod(math.log)
    sqrt = staticmethod(np.sqrt)

    @staticmethod
    def floor(x: Any) -> Any:
        """Largest whole number that is not larger."""
        return x // 1.0 if abs(x) < math.inf else x

    @staticmethod
    def where(condition: Any, then: Any, otherwise: Any) -> Any:
        """Select one of two numbers."""
        return then if condition else otherwise

    @staticmethod
    def minimum(left: Any, right: Any) -> Any:
        """Smaller number; nan if either is."""
        return left if left <= right or left != left else right

    @staticmethod
    def maximum(left: Any, right: Any) -> Any:
        """Larger number; nan if either is."""
        return left if left >= right or left != left else right

    @staticmethod
    def power(base: float, exponent: float) -> float:
        """Power of a positive number; infinite on overflow, which Python floats refuse."""
        try:
            return base**exponent
        except OverflowError:
            return math.inf

    @staticmethod
    def together(*values: Any) -> tuple[Any, ...]:
        """The same numbers."""
        return values

    @staticmethod
    def constant(value: float, x: Any) -> Any:
        """The number, of the same type."""
        return type(x)(value)

    @staticmethod
    def eps(_x: Any) -> float:
        """Machine epsilon."""
        return EPS

    @staticmethod
    def largest(_x: Any) -> float:
        """Bound below overflow, so that a product stays finite."""
        return LARGEST

    @staticmethod
    def broadcast_mask(truth: Any, _x: Any) -> Any:
        """The same truth value."""
        return truth

    @staticmethod
    def iterate(step: Callable[..., State], state: State, fixed: State) -> State:
        """Take steps until the state stops."""
        while state[0]:
            state = step(*state, *fixed)
        return state


FLOATS = Floats()
