"""Probability that all slots are taken, in a queue whose servers slow down as they fill."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mlsysim.graph.builder import Builder
from mlsysim.graph.facts import ANY, Facts
from mlsysim.graph.operation import Arithmetic, Operation, State, define
from mlsysim.graph.operations.erlang import NEGLIGIBLE


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


def slots_busy_slope(on: Arithmetic, which: float, slots: Any, a: Any, b: Any, e: Any, tail: Any) -> Any:
    """Derivative of :func:`slots_busy` by one of its arguments, counted from 1."""
    which = int(which)
    slots, a, b, e, tail = on.together(slots, a, b, e, tail)
    total, *slopes = _sum_and_slopes(on, slots, a, b, e)
    regular = (total > 0) & (total < math.inf)
    total = on.where(regular, total, 1.0)
    # Not a quotient of quotients: XLA would multiply the divisors, whose square overflows.
    free = 1.0 / (1.0 + tail / total)
    slope = free / (total + tail) if which == 5 else free * slopes[which - 2] * (tail / (total + tail))
    return on.where(regular, slope, 0.0)


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


def slots_busy_curvature(
    on: Arithmetic, which: float, other: float, slots: Any, a: Any, b: Any, e: Any, tail: Any
) -> Any:
    """Second derivative of :func:`slots_busy` by two of its arguments, counted from 1."""
    first, second = sorted((int(which), int(other)))
    slots, a, b, e, tail = on.together(slots, a, b, e, tail)
    arriving = _arriving(a, b)
    a, b, zero, one = on.where(arriving, a, 1.0), on.where(arriving, b, 0.0), on.constant(0.0, a), on.constant(1.0, a)
    largest = on.largest(a)

    def step(_going: Any, i: Any, term: Any, total: Any, *rest: Any) -> State:
        """Terms, relative slopes of a term, and their means over the terms."""
        by_first, by_second, by_both, *means, a, b, e = rest
        arrivals = a + b * i
        rate = arrivals / i
        term = term * on.power(rate, -e)
        total = total + term
        first_slopes = {2: -e / arrivals, 3: -e * i / arrivals, 4: -on.log(rate)}
        second_slopes = {
            (2, 2): e / (arrivals * arrivals), (2, 3): e * i / (arrivals * arrivals), (2, 4): -1.0 / arrivals,
            (3, 3): e * i * i / (arrivals * arrivals), (3, 4): -i / arrivals,
        }  # fmt: skip
        by_first, by_second = by_first + first_slopes.get(first, 0.0), by_second + first_slopes.get(second, 0.0)
        by_both = by_both + second_slopes.get((first, second), 0.0)
        slopes = (by_first, by_second, by_first * by_second + by_both)
        means = [mean + term / total * (slope - mean) for mean, slope in zip(means, slopes, strict=True)]
        return _going_on(i, term, total, rate, largest), i - 1.0, term, total, by_first, by_second, by_both, *means

    start = (slots >= 1, slots, one, *[zero] * 7)
    _, _, _, total, _, _, _, mean, other_mean, mean_of_both = on.iterate(step, start, (a, b, e))
    regular = arriving & (total > 0) & (total < math.inf)
    total = on.where(regular, total, 1.0)
    free, taken = 1.0 / (1.0 + tail / total), tail / (total + tail)
    if first == 5:
        curvature = -2.0 * free / (total + tail) / (total + tail)
    elif second == 5:
        curvature = mean * free * (taken - free) / (total + tail)
    else:
        curvature = taken * free * (2.0 * free * mean * other_mean - mean_of_both)
    return on.where(regular, curvature, 0.0)


def _arriving(a: Any, b: Any) -> Any:
    return (a + b > 0) & (a >= 0) & (b >= 0)


def _going_on(i: Any, term: Any, total: Any, rate: Any, largest: float) -> Any:
    """True while the sum goes on after its term for ``i`` taken slots."""
    return (i >= 2) & (total < largest) & ((rate <= 1) | (term >= NEGLIGIBLE * total))


def _partials(builder: Builder, operands: Sequence[int], _result: int) -> Sequence[int | None]:
    """Partial derivatives by all operands but the slots, which are whole."""
    return None, *(builder.make("slots_busy_slope", builder.number(float(n)), *operands) for n in (2, 3, 4, 5))


def _slope_partials(builder: Builder, operands: Sequence[int], _result: int) -> Sequence[int | None]:
    which, *rest = operands
    numbers = (builder.number(float(n)) for n in (2, 3, 4, 5))
    return None, None, *(builder.make("slots_busy_curvature", which, number, *rest) for number in numbers)


define(
    Operation(
        "slots_busy", numerics=slots_busy, partials=_partials, cost=800, facts=lambda *_: Facts(0.0, 1.0),
        rises=(0, 1, 1, 0, 1), domain=(Facts(high=2.0**20, whole=True), ANY, ANY, Facts(0.0), Facts(0.0, zero=False)),
        error=1e-7,
    )
)  # fmt: skip
#: First derivative, by the operand of a number, counted from one.
define(Operation("slots_busy_slope", numerics=slots_busy_slope, partials=_slope_partials, cost=1200))
#: Second derivative, by two operands.
define(Operation("slots_busy_curvature", numerics=slots_busy_curvature, cost=1600))
