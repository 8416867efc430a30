"""The number between two ends at which a rising function of it is zero."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsysim.graph.facts import Facts
from mlsysim.graph.floats import FLOATS
from mlsysim.graph.graph import Graph
from mlsysim.graph.interpreter import function_of
from mlsysim.graph.operation import Arithmetic, Operation, State, define

#: How near the numbers on both sides of a root come to each other, in units of the machine precision.
NEAR = 256

#: Numbers further apart than this factor are halved between their logarithms; what then stands for zero, as a share.
FAR, TOWARDS_ZERO = 8.0, 1e-6


def root(
    on: Arithmetic, residual: Callable[..., Any], lower: Any, upper: Any, given: State, within: float = 0.0
) -> Any:
    """Number between the ends at which a rising function of it is zero; see :class:`mlsysim.symbolic.Root`.

    Not a number where the function is none at a number between the ends that is tried. Where the function is known to
    so many digits only, ``within`` is how near the root is found, and the number below it is taken.
    """
    below, at_below, above, at_above = bracket(on, residual, lower, upper, given, within)
    return below if within else on.where(abs(at_below) < abs(at_above), below, above)


def bracket(
    on: Arithmetic, residual: Callable[..., Any], lower: Any, upper: Any, given: State, within: float = 0.0
) -> State:
    """The nearest numbers below and above a root, each with the function there; an end twice where it is the root.

    Chandrupatla's method: the inverse of the function is interpolated through three points where they lie nearly on
    a line, and else the interval is halved.
    """
    lower, upper, *rest = on.together(lower, upper, *given)
    largest, zero, infinite = on.largest(lower), on.constant(0.0, lower), on.constant(math.inf, lower)

    def at(x: Any, *given: Any) -> Any:
        return on.together(residual(x, *given), x)[0]

    def outward(
        _going: Any,
        below: Any,
        at_below: Any,
        tried: Any,
        _at: Any,
        jump: Any,
        factor: Any,
        lower: Any,
        upper: Any,
        *given: Any,
    ) -> State:
        found = at(tried, *given)
        unknown = (found != found) & (tried == lower)
        short = ((found < 0) | unknown) & (tried < upper) & (tried < largest)
        below, at_below = on.where(short, tried, below), on.where(short & (found < 0), found, at_below)
        following = on.where(upper == math.inf, on.minimum(tried + jump, largest), upper)
        tried, factor, jump = on.where(short, following, tried), on.minimum(factor * factor, 1e16), jump * factor
        return short, below, at_below, tried, found, jump, factor

    jump = on.maximum(abs(lower), zero + 1.0)
    state = (lower == lower, lower, -infinite, lower, infinite, jump, zero + 4.0)
    _, below, at_below, above, at_above, _, _ = on.iterate(outward, state, (lower, upper, *rest))
    ended, beyond = (above == lower) & (at_above >= 0), at_above < 0
    above = on.where(beyond, on.maximum(lower, upper), above)
    below = on.where(beyond, above, below)
    at_above = on.where(at_above == at_above, at_above, infinite)
    at_below = on.where(ended, at_above, at_below)

    def inward(_going: Any, x: Any, at_x: Any, other: Any, at_other: Any, tried: Any, *given: Any) -> State:
        found = at(tried, *given)
        same = (found < 0) == (at_x < 0)
        last, at_last = on.where(same, x, other), on.where(same, at_x, at_other)
        other, at_other = on.where(same, other, x), on.where(same, at_other, at_x)
        following, apart = _between(on, tried, found, other, at_other, last, at_last, within)
        going = (abs(found) > 0) & apart & (following != tried) & (following != other)
        return going, tried, found, other, at_other, following

    share = at_below / (at_below - at_above)
    straight = below + share * (above - below)
    tried = on.where((straight > below) & (straight < above), straight, _middle(on, below, above))
    state = ((tried > below) & (tried < above), below, at_below, above, at_above, tried)
    _, x, at_x, other, at_other, _ = on.iterate(inward, state, tuple(rest))
    rising, unknown = at_x < 0, (at_x != at_x) | (lower != lower) | (upper != upper)
    below, at_below = on.where(rising, x, other), on.where(rising, at_x, at_other)
    above, at_above = on.where(rising, other, x), on.where(rising, at_other, at_x)
    return on.where(unknown, math.nan, below), at_below, on.where(unknown, math.nan, above), at_above


def _between(
    on: Arithmetic, x: Any, at_x: Any, other: Any, at_other: Any, last: Any, at_last: Any, within: float
) -> tuple[Any, Any]:
    """The number to try next between two on both sides of a root, and whether they are far enough apart for one.

    ``x`` was tried last; ``last`` was on one of the two sides before.
    """
    width = other - x
    low, high = on.minimum(x, other), on.maximum(x, other)
    least = max(NEAR * on.precision(x), 0.5 * within) * on.maximum(abs(x), abs(other))
    first, second, third = at_other - at_x, at_last - at_other, at_last - at_x
    along, across = -width / (last - other), -first / second
    bent = 1.0 - across
    straight = (across * across < along) & (bent * bent < 1.0 - along)
    share = (at_x / second) * ((last - x) * at_other / (width * third) - at_last / first)
    interpolated = on.minimum(on.maximum(x + share * width, low + least), high - least)
    following = on.where(straight & (share == share), interpolated, _middle(on, low, high))
    return following, abs(width) > 2.0 * least


def _middle(on: Arithmetic, low: Any, high: Any) -> Any:
    """Half way between two numbers, by their logarithms where they are far from each other."""
    middle = on.sqrt(on.maximum(low, TOWARDS_ZERO * high)) * on.sqrt(high)
    return on.where((low >= 0) & (high > FAR * low), middle, low + 0.5 * (high - low))


@np.errstate(all="ignore")
def of_floats(residual: Callable[..., float], lower: float, upper: float, given: State, within: float = 0.0) -> float:
    """Number at which a function of Python floats is zero; NumPy's divide by zero without raising."""

    def number(x: Any, *given: Any) -> np.float64:
        return np.float64(residual(float(x), *given))

    return float(root(FLOATS, number, np.float64(lower), np.float64(upper), given, within))


def _fold(residual: Graph, lower: float, upper: float, *given: float) -> float:
    return of_floats(function_of(residual), lower, upper, given)


#: Operands: both ends, and what the residual captures; the residual is its subgraph.
define(Operation("root", fold=_fold, cost=400,
              facts=lambda a, b, *_: Facts(a.low, b.high, a.zero, b.infinite),
              form=lambda on, *operands: on.crossing(*operands)))  # fmt: skip
