"""The arithmetic of single numbers, in which special functions are evaluated at one point."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

#: Values of a loop, of one shape; the first says where another step is taken.
State = tuple[Any, ...]

#: The largest number that sums may reach: the inverse of the smallest probability that is told from zero.
LARGEST = 1e300
PRECISION = float(np.finfo(float).eps)


class Floats:
    """The arithmetic of single numbers; see :class:`mlsysim.graph.Arithmetic`."""

    nearest = staticmethod(np.rint)
    log = staticmethod(math.log)
    sqrt = staticmethod(np.sqrt)

    @staticmethod
    def floor(x: Any) -> Any:
        """The largest whole number that is not larger."""
        return x // 1.0 if abs(x) < math.inf else x

    @staticmethod
    def where(condition: Any, then: Any, otherwise: Any) -> Any:
        """One of two numbers."""
        return then if condition else otherwise

    @staticmethod
    def minimum(left: Any, right: Any) -> Any:
        """The smaller number; nan where either is."""
        return left if left <= right or left != left else right

    @staticmethod
    def maximum(left: Any, right: Any) -> Any:
        """The larger number; nan where either is."""
        return left if left >= right or left != left else right

    @staticmethod
    def power(base: float, exponent: float) -> float:
        """A power of a positive number; infinite where it overflows, which Python floats refuse."""
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
    def precision(_x: Any) -> float:
        """Precision of a double."""
        return PRECISION

    @staticmethod
    def largest(_x: Any) -> float:
        """Largest sum of doubles, with room for a product."""
        return LARGEST

    @staticmethod
    def alike(truth: Any, _x: Any) -> Any:
        """The same truth value."""
        return truth

    @staticmethod
    def iterate(step: Callable[..., State], state: State, fixed: State) -> State:
        """Take steps while there are any to take."""
        while state[0]:
            state = step(*state, *fixed)
        return state


FLOATS = Floats()
