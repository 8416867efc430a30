"""Least whole number that meets a monotone condition."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mlsysim.graph.facts import Facts
from mlsysim.graph.floats import FLOATS
from mlsysim.graph.graph import Graph
from mlsysim.graph.interpreter import function_of
from mlsysim.graph.operation import Arithmetic, Operation, State, define


def least_integer(on: Arithmetic, condition: Callable[..., Any], limit: Any, captured: State, beyond: Any = 0.0) -> Any:
    """Find the smallest ``n`` from 1 to ``limit`` that meets a monotone condition; infinite if none does.

    No ``n`` below ``beyond`` meets it. The search tries the first number after that, then the limit; then it doubles
    its steps until a number meets the condition, and bisects back.
    """
    limit, beyond, *rest = on.together(limit, beyond, *captured)
    zero = on.constant(0.0, limit)
    # A quotient is off by its rounding, and so is the product that the condition compares.
    start = on.floor(on.minimum(beyond * (1.0 - 4.0 * on.eps(limit)), limit - 1.0))
    start = on.where(start > 0, start, zero)

    def attempt(_going: Any, below: Any, above: Any, tried: Any, start: Any, limit: Any, *captured: Any) -> State:
        missed = on.broadcast_mask(condition(tried, *captured), tried) == False  # noqa: E712
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


def _fold(condition: Graph, limit: float, beyond: float, *captured: float) -> float:
    return least_integer(FLOATS, function_of(condition), limit, captured, beyond)


#: Operands: the limit, a number that misses, and captured values; the condition is its subgraph.
define(
    Operation(
        "least_integer", fold=_fold, cost=400, facts=lambda limit, *_: Facts(1.0, limit.high, False, True, True),
        form=lambda on, *operands: on.first(*operands),
    )
)  # fmt: skip
