"""Root of a rising function between two ends."""

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

#: Width at which a bracket ends, in units of the machine epsilon.
NEAR = 256

#: Factor from which a bracket is bisected between logarithms; and the share of its upper end that then stands for zero.
FAR, TOWARDS_ZERO = 8.0, 1e-6


def root(
    on: Arithmetic, residual: Callable[..., Any], lower: Any, upper: Any, captured: State, within: float = 0.0
) -> Any:
    """Find the number between the ends at which a rising function is zero; see :class:`mlsysim.symbolic.Root`.

    The result is nan if the function is nan at a number that is tried. If the function is known to few digits only,
    ``within`` is the distance to the root that suffices, and the number below the root is returned.
    """
    below, at_below, above, at_above = bracket(on, residual, lower, upper, captured, within)
    return below if within else on.where(abs(at_below) < abs(at_above), below, above)


def bracket(
    on: Arithmetic, residual: Callable[..., Any], lower: Any, upper: Any, captured: State, within: float = 0.0
) -> State:
    """Bracket a root by the nearest numbers below and above, each with its value; an end twice if it is the root.

    Chandrupatla's method: inverse quadratic interpolation through three points if they lie nearly on a line, else
    bisection.
    """
    lower, upper, *rest = on.together(lower, upper, *captured)
    largest, zero, infinite = on.largest(lower), on.constant(0.0, lower), on.constant(math.inf, lower)

    def at(x: Any, *captured: Any) -> Any:
        return on.together(residual(x, *captured), x)[0]

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
        *captured: Any,
    ) -> State:
        value = at(tried, *captured)
        unknown = (value != value) & (tried == lower)
        short = ((value < 0) | unknown) & (tried < upper) & (tried < largest)
        below, at_below = on.where(short, tried, below), on.where(short & (value < 0), value, at_below)
        following = on.where(upper == math.inf, on.minimum(tried + jump, largest), upper)
        tried, factor, jump = on.where(short, following, tried), on.minimum(factor * factor, 1e16), jump * factor
        return short, below, at_below, tried, value, jump, factor

    jump = on.maximum(abs(lower), zero + 1.0)
    state = (lower == lower, lower, -infinite, lower, infinite, jump, zero + 4.0)
    _, below, at_below, above, at_above, _, _ = on.iterate(outward, state, (lower, upper, *rest))
    ended, beyond = (above == lower) & (at_above >= 0), at_above < 0
    above = on.where(beyond, on.maximum(lower, upper), above)
    below = on.where(beyond, above, below)
    at_above = on.where(at_above == at_above, at_above, infinite)
    at_below = on.where(ended, at_above, at_below)

    def inward(_going: Any, x: Any, at_x: Any, other: Any, at_other: Any, tried: Any, *captured: Any) -> State:
        value = at(tried, *captured)
        same = (value < 0) == (at_x < 0)
        last, at_last = on.where(same, x, other), on.where(same, at_x, at_other)
        other, at_other = on.where(same, other, x), on.where(same, at_other, at_x)
        following, apart = _between(on, tried, value, other, at_other, last, at_last, within)
        going = (abs(value) > 0) & apart & (following != tried) & (following != other)
        return going, tried, value, other, at_other, following

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
    """Choose the number to try next within a bracket, and decide if the bracket is still wide enough.

    ``x`` was tried last; ``last`` was on one of the two sides before.
    """
    width = other - x
    low, high = on.minimum(x, other), on.maximum(x, other)
    least = max(NEAR * on.eps(x), 0.5 * within) * on.maximum(abs(x), abs(other))
    first, second, third = at_other - at_x, at_last - at_other, at_last - at_x
    along, across = -width / (last - other), -first / second
    bent = 1.0 - across
    straight = (across * across < along) & (bent * bent < 1.0 - along)
    share = (at_x / second) * ((last - x) * at_other / (width * third) - at_last / first)
    interpolated = on.minimum(on.maximum(x + share * width, low + least), high - least)
    following = on.where(straight & (share == share), interpolated, _middle(on, low, high))
    return following, abs(width) > 2.0 * least


def _middle(on: Arithmetic, low: Any, high: Any) -> Any:
    """Geometric mean of two distant numbers, else the arithmetic mean."""
    middle = on.sqrt(on.maximum(low, TOWARDS_ZERO * high)) * on.sqrt(high)
    return on.where((low >= 0) & (high > FAR * low), middle, low + 0.5 * (high - low))


@np.errstate(all="ignore")
def of_floats(
    residual: Callable[..., float], lower: float, upper: float, captured: State, within: float = 0.0
) -> float:
    """Find a root of a function of Python floats; NumPy's floats divide by zero without raising."""

    def number(x: Any, *captured: Any) -> np.float64:
        return np.float64(residual(float(x), *captured))

    return float(root(FLOATS, number, np.float64(lower), np.float64(upper), captured, within))


def _fold(residual: Graph, lower: float, upper: float, *captured: float) -> float:
    return of_floats(function_of(residual), lower, upper, captured)


#: Operands: both ends, and captured values; the residual is its subgraph.
define(Operation("root", fold=_fold, cost=400,
              facts=lambda a, b, *_: Facts(a.low, b.high, a.zero, b.infinite),
              form=lambda on, *operands: on.crossing(*operands)))  # fmt: skip
