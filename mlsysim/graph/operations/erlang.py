"""Erlang C: the probability that an arrival waits in an M/M/c queue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mlsysim.graph.builder import Builder
from mlsysim.graph.facts import Facts
from mlsysim.graph.operand import Operand
from mlsysim.graph.operation import Arithmetic, Operation, State, define
from mlsysim.symbolic.functions import erlang_c_slope

#: A term of less than this share of a sum no longer changes it.
NEGLIGIBLE = 1e-17

#: Terms of the sum for Erlang C between two tests for convergence.
TERMS = 4


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


def erlang_c_partials(builder: Builder, operands: Sequence[int], wait: int) -> Sequence[int | None]:
    """Derivative by the load, in terms of the probability itself; the servers are whole and have none.

    Zero where the queue is not stable.
    """
    make, number = builder.make, builder.number
    servers, load = operands
    stable = make("less", load, servers)
    inside = make("where", stable, load, make("divide", servers, number(2.0)))  # finite where nobody looks
    wait = make("where", stable, wait, number(0.5))
    slope: Any = erlang_c_slope(*[Operand(builder, index) for index in (servers, inside, wait)])
    return None, make("where", stable, slope.index, number(0.0))


define(
    Operation(
        "erlang_c", numerics=erlang_c, partials=erlang_c_partials, risky=1, cost=400,
        facts=lambda servers, load: Facts(0.0, 1.0, False),
        rises=(-1, 1), domain=(Facts(1.0), Facts(0.0, zero=False)), error=4e-12,
    )
)  # fmt: skip
