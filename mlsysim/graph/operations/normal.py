"""Normal distribution and its quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from mlsysim.graph.builder import Builder
from mlsysim.graph.facts import Facts
from mlsysim.graph.operation import Operation, define

_WIDTH = math.sqrt(2.0 * math.pi)


def normal_cdf(x: float) -> float:
    """Cumulative distribution function at a Python float."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def normal_quantile(p: float) -> float:
    """Quantile function; infinite at zero and one, nan beyond."""
    if 0 < p < 1:
        return NormalDist().inv_cdf(p)
    return -math.inf if p == 0 else math.inf if p == 1 else math.nan


def _half_square(builder: Builder, index: int) -> int:
    return builder.make("divide", builder.make("multiply", index, index), builder.number(2.0))


def _by_place(builder: Builder, operands: Sequence[int], _result: int) -> Sequence[int]:
    """The density."""
    density = builder.make("exp", builder.make("negative", _half_square(builder, operands[0])))
    return (builder.make("multiply", density, builder.number(1.0 / _WIDTH)),)


def _by_share(builder: Builder, _operands: Sequence[int], result: int) -> Sequence[int]:
    """One over the density at the quantile."""
    return (builder.make("multiply", builder.make("exp", _half_square(builder, result)), builder.number(_WIDTH)),)


define(
    Operation(
        "normal_cdf", fold=normal_cdf, partials=_by_place, facts=lambda _: Facts(0.0, 1.0), rises=(1,), error=4e-12,
        cost=20,
    )
)  # fmt: skip
define(
    Operation(
        "normal_quantile", fold=normal_quantile, partials=_by_share, rises=(1,), domain=(Facts(0.0, 1.0, False),),
        error=4e-12, cost=20,
    )
)  # fmt: skip
