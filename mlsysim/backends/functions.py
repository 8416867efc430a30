"""The functions that compiled code calls and no array library has, each written once for every backend.

They are written for one point in terms of an :class:`Arithmetic`, which knows how its backend chooses and
repeats: Python floats in :mod:`mlsysim.backends.scalar`, NumPy arrays in :mod:`mlsysim.backends.vector`, JAX
arrays in :mod:`mlsysim.backends.arrays`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any, Protocol

#: The smallest probability that is told from zero. Sums of inverse probabilities stop at its inverse.
NEVER_WAITS = 1e-300

#: A term of less than this share of a sum no longer changes it.
NEGLIGIBLE = 1e-17

#: Terms of the sum for Erlang C that are added before it is asked whether it is done.
TERMS = 4

#: How far a quotient may lie from the whole number it stands for, in units of the machine precision.
#: XLA multiplies by the inverse of a divisor that is one number for the whole grid: one rounding more.
ROUNDINGS = 2

#: How near the numbers on both sides of a root come to each other, in units of the machine precision.
NEAR = 256

#: Numbers further apart than this factor are halved between their logarithms; what then stands for zero, as a share.
FAR, TOWARDS_ZERO = 8.0, 1e-6

State = tuple[Any, ...]


class Arithmetic(Protocol):
    """What a backend does with its numbers; comparisons, sums and products are written as operators."""

    where: Any
    minimum: Any
    maximum: Any
    floor: Any
    nearest: Any
    log: Any
    sqrt: Any
    power: Any

    def together(self, *values: Any) -> tuple[Any, ...]:
        """Values as floats of one shape."""
        ...

    def constant(self, value: float, x: Any, /) -> Any:
        """A number of the shape of another."""
        ...

    def precision(self, x: Any, /) -> float:
        """Distance from one to the next larger number."""
        ...

    def largest(self, x: Any, /) -> float:
        """Where sums stop growing, well below the largest number."""
        ...

    def alike(self, truth: Any, x: Any, /) -> Any:
        """A truth value of the shape of a number."""
        ...

    def iterate(self, step: Callable[..., State], state: State, fixed: State, /) -> State:
        """Take steps at every point for as long as it is going.

        Parameters
        ----------
        step : callable
            ``step(*state, *fixed)``: the state after a step.
        state : tuple
            Of one shape; the first entry says where another step is taken.
        fixed : tuple
            Numbers of that shape that a step reads and leaves as they are.

        Returns
        -------
        tuple
            The last state of every point.
        """
        ...


def ceil(on: Arithmetic, x: Any) -> Any:
    """The ceiling; a quotient within rounding of a whole number is that number."""
    nearest = on.nearest(x)
    return nearest + (x - nearest > _rounding(on, x))


def floor(on: Arithmetic, x: Any) -> Any:
    """The floor; a quotient within rounding of a whole number is that number."""
    nearest = on.nearest(x)
    return nearest - 1.0 * (nearest - x > _rounding(on, x))


def _rounding(on: Arithmetic, x: Any) -> Any:
    return ROUNDINGS * on.precision(x) * abs(x)


def beside(on: Arithmetic, quantity: Any, *factors: Any) -> Any:
    """The quantity, but zero where it is infinite and one of the factors it is multiplied by is zero."""
    zero = reduce(operator.or_, [factor == 0 for factor in factors])
    return on.where(zero & (abs(quantity) == math.inf), 0.0, quantity)


def erlang_c(on: Arithmetic, servers: Any, load: Any) -> Any:
    """Probability of waiting in an M/M/c queue; one where it is not stable, nan without a load.

    Sums ``1/B = sum_j c! / ((c - j)! A^j)``, whose terms are all positive, from the front.
    """
    servers, load = on.together(servers, load)
    stable = (load > 0) & (load < servers)
    count, offered = on.where(stable, servers, 1.0), on.where(stable, load, 0.5)
    largest = on.largest(count)

    def step(_going: Any, left: Any, term: Any, total: Any, offered: Any) -> State:
        for _ in range(TERMS):
            term = on.minimum(term * left / offered, largest)
            total = total + term
            left = on.where(left > 1, left - 1.0, 0.0)
        return (left > 0) & (total < largest) & ((left >= offered) | (term >= NEGLIGIBLE * total)), left, term, total

    one = on.constant(1.0, count)
    *_, total = on.iterate(step, (one > 0, count, one, one), (offered,))
    blocking = 1.0 / total
    wait = count * blocking / (count - offered * (1.0 - blocking))
    return on.where(stable, on.maximum(wait, 1.0 / largest), on.where(load >= servers, 1.0, math.nan))


def slots_busy(on: Arithmetic, slots: Any, a: Any, b: Any, e: Any, tail: Any) -> Any:
    """Probability that all slots are taken; see :class:`mlsysim.symbolic.SlotsBusy`."""
    slots, a, b, e, tail = on.together(slots, a, b, e, tail)
    total = slots_busy_sum(on, slots, a, b, e)
    finite = total < math.inf
    weight = on.where(finite, total, 1.0) + tail
    return on.where(finite, on.where(weight > 0, tail / on.where(weight > 0, weight, 1.0), math.nan), 0.0)


def slots_busy_sum(on: Arithmetic, slots: Any, a: Any, b: Any, e: Any) -> Any:
    """``sum_{j<m} u_j / u_m`` of :class:`mlsysim.symbolic.SlotsBusy`; infinite where nothing arrives."""
    arriving = _arriving(a, b)
    a, b, zero, one = on.where(arriving, a, 1.0), on.where(arriving, b, 0.0), on.constant(0.0, a), on.constant(1.0, a)
    largest = on.largest(a)

    def step(_going: Any, i: Any, term: Any, total: Any, a: Any, b: Any, e: Any) -> State:
        rate = (a + b * i) / i
        term = term * on.power(rate, -e)
        total = total + term
        return _going_on(i, term, total, rate, largest), i - 1.0, term, total

    *_, total = on.iterate(step, (slots >= 1, slots, one, zero), (a, b, e))
    return on.where(arriving, total, math.inf)


def slots_busy_slope(on: Arithmetic, which: int, slots: Any, a: Any, b: Any, e: Any, tail: Any) -> Any:
    """Derivative of :func:`slots_busy` by one of its arguments, counted from 1."""
    slots, a, b, e, tail = on.together(slots, a, b, e, tail)
    total, *slopes = _sum_and_slopes(on, slots, a, b, e)
    regular = (total > 0) & (total < math.inf)
    total = on.where(regular, total, 1.0)
    # Not a quotient of quotients: XLA would multiply the divisors, whose square overflows.
    free = 1.0 / (1.0 + tail / total)
    found = free / (total + tail) if which == 5 else free * slopes[which - 2] * (tail / (total + tail))
    return on.where(regular, found, 0.0)


def _sum_and_slopes(on: Arithmetic, slots: Any, a: Any, b: Any, e: Any) -> State:
    """The sum of :func:`slots_busy_sum` and minus its relative slopes by a, b and e.

    The slopes are means over the terms, so that they are finite however large the sum.
    """
    arriving = _arriving(a, b)
    a, b, zero, one = on.where(arriving, a, 1.0), on.where(arriving, b, 0.0), on.constant(0.0, a), on.constant(1.0, a)
    largest = on.largest(a)

    def step(
        _going: Any, i: Any, term: Any, total: Any, inverse: Any, weighted: Any, logs: Any, by_a: Any, by_b: Any,
        by_e: Any, a: Any, b: Any, e: Any,
    ) -> State:  # fmt: skip
        arrivals = a + b * i
        rate = arrivals / i
        term = term * on.power(rate, -e)
        total = total + term
        inverse, weighted, logs = inverse + 1.0 / arrivals, weighted + i / arrivals, logs + on.log(rate)
        weight = term / total
        means = (
            by_a + weight * (e * inverse - by_a),
            by_b + weight * (e * weighted - by_b),
            by_e + weight * (logs - by_e),
        )
        return _going_on(i, term, total, rate, largest), i - 1.0, term, total, inverse, weighted, logs, *means

    start = (slots >= 1, slots, one, *[zero] * 7)
    _, _, _, total, _, _, _, *slopes = on.iterate(step, start, (a, b, e))
    return on.where(arriving, total, math.inf), *slopes


def _arriving(a: Any, b: Any) -> Any:
    return (a + b > 0) & (a >= 0) & (b >= 0)


def _going_on(i: Any, term: Any, total: Any, rate: Any, largest: float) -> Any:
    """Whether the sum goes on after its term for ``i`` taken slots."""
    return (i >= 2) & (total < largest) & ((rate <= 1) | (term >= NEGLIGIBLE * total))


def least_integer(on: Arithmetic, condition: Callable[..., Any], limit: Any, given: State, beyond: Any = 0.0) -> Any:
    """Smallest ``n`` from 1 to ``limit`` that meets a monotone condition, infinite if none does.

    No ``n`` below ``beyond`` meets it. The first number after that is tried, then the limit, beyond which
    nothing counts; then steps that double lead from the first to a number that meets it, and bisection back.
    """
    limit, beyond, *rest = on.together(limit, beyond, *given)
    zero = on.constant(0.0, limit)
    # A quotient is off by its rounding, and so is the product that the condition compares.
    start = on.floor(on.minimum(beyond * (1.0 - 4.0 * on.precision(limit)), limit - 1.0))
    start = on.where(start > 0, start, zero)

    def attempt(_going: Any, below: Any, above: Any, tried: Any, start: Any, limit: Any, *given: Any) -> State:
        missed = on.alike(condition(tried, *given), tried) == False  # noqa: E712
        below, above = on.where(missed, tried, below), on.where(missed, above, tried)
        middle, farther = on.floor((below + above) / 2), 2.0 * below - start
        # Between two floats there may be no whole number: above 2**24 not every one is a float32.
        farther = on.where(farther > below, on.minimum(farther, middle), middle)
        bounded = above < math.inf
        going = on.where(bounded, (below < middle) & (middle < above), below < limit)
        tried = on.where(bounded | (limit == math.inf), farther, limit)
        return going, below, above, on.where(going, tried, 0.0)

    first = on.minimum(start + 1.0, limit)
    state = (limit == limit, start, on.constant(math.inf, limit), first)
    return on.iterate(attempt, state, (start, limit, *rest))[2]


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
