"""Facts that hold of a number at every point: its range, and whether it may be zero or infinite."""

from __future__ import annotations

import math
from typing import NamedTuple

INF, NAN = math.inf, math.nan


class Facts(NamedTuple):
    """Properties of a number that hold at every point.

    Attributes
    ----------
    low, high : float
        Ends of its range, in canonical units.
    zero : bool
        False if it is never zero.
    infinite : bool
        True if a formula states that it may be infinite. Overflow does not count.
    whole : bool
        True if it is always a whole number.
    """

    low: float = -INF
    high: float = INF
    zero: bool = True
    infinite: bool = False
    whole: bool = False


ANY, TRUTH = Facts(), Facts(0.0, 1.0, whole=True)


def facts_of(value: float) -> Facts:
    """Facts of a number that is known."""
    number = float(value)
    return Facts(number, number, number == 0, abs(number) == INF, number.is_integer())


def either(a: Facts, b: Facts) -> Facts:
    """Facts of a number that is one of two."""
    return Facts(
        min(a.low, b.low), max(a.high, b.high), a.zero or b.zero, a.infinite or b.infinite, a.whole and b.whole
    )
