"""The regularised incomplete gamma function of a whole shape: the share of Erlang-distributed times below a number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mlsysim.graph.builder import Builder
from mlsysim.graph.facts import Facts
from mlsysim.graph.operation import Arithmetic, Operation, State, define


def gamma_p(on: Arithmetic, shape: Any, x: Any) -> Any:
    """One minus ``sum_{n<k} e^-x x^n / n!``."""
    shape, x = on.together(shape, x)
    one = on.constant(1.0, x)
    term = on.power(math.e, -x)

    def step(_going: Any, n: Any, term: Any, total: Any, shape: Any, x: Any) -> State:
        term = term * x / n
        return n + 1.0 < shape, n + 1.0, term, total + term

    *_, total = on.iterate(step, (shape > 1, one, term, term), (shape, x))
    return 1.0 - total


def _density(builder: Builder, operands: Sequence[int], _result: int) -> Sequence[int | None]:
    """By the number: what one more stage would take off; the shape is whole."""
    shape, x = operands
    less = builder.make("gamma_p", builder.make("subtract", shape, builder.number(1.0)), x)
    first = builder.make("exp", builder.make("negative", x))
    more = builder.make("subtract", less, builder.make("gamma_p", shape, x))
    return None, builder.make("where", builder.make("greater", shape, builder.number(1.0)), more, first)


define(Operation("gamma_p", numerics=gamma_p, partials=_density, facts=lambda *_: Facts(0.0, 1.0), cost=400))
