"""Ceilings, floors and remainders: a quotient within two roundings of a whole number is that number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mlsysim.graph.builder import Builder
from mlsysim.graph.facts import INF, Facts
from mlsysim.graph.operation import Arithmetic, Operation, define

#: Largest distance of a quotient from the whole number it stands for, in units of the machine epsilon.
#: XLA multiplies by the inverse of a divisor that is one number for the whole grid: one rounding more.
ROUNDINGS = 2


def ceil(on: Arithmetic, x: Any) -> Any:
    """Ceiling; a quotient within rounding of a whole number is that number."""
    nearest = on.nearest(x)
    return nearest + (x - nearest > _rounding(on, x))


def floor(on: Arithmetic, x: Any) -> Any:
    """Floor; a quotient within rounding of a whole number is that number."""
    nearest = on.nearest(x)
    return nearest - 1.0 * (nearest - x > _rounding(on, x))


def _rounding(on: Arithmetic, x: Any) -> Any:
    return ROUNDINGS * on.eps(x) * abs(x)


def ceiled(x: float) -> float:
    """Ceiling of a Python float."""
    if x % 1.0 == 0.0:
        return x + 0.0
    if not math.isfinite(x):
        return x
    nearest = float(round(x))
    return nearest + (x - nearest > ROUNDINGS * 2.0**-52 * abs(x))


def floored(x: float) -> float:
    """Floor of a Python float."""
    if x % 1.0 == 0.0:
        return x + 0.0
    if not math.isfinite(x):
        return x
    nearest = float(round(x))
    return nearest - (nearest - x > ROUNDINGS * 2.0**-52 * abs(x))


def _remainder(a: float, b: float) -> float:
    return a % b if b and math.isfinite(a) else math.nan


def _by_remainder(builder: Builder, operands: Sequence[int], _result: int) -> Sequence[int]:
    quotient = builder.make("floor", builder.make("divide", *operands))
    return builder.number(1.0), builder.make("negative", quotient)


def _remainder_facts(a: Facts, b: Facts) -> Facts:
    low, high = (0.0, b.high) if b.low >= 0 else (-INF, INF)
    return Facts(low, high, whole=a.whole and b.whole)


define(
    Operation(
        "ceil", machine="ceil({0})", numerics=ceil, fold=ceiled, cost=6, form=lambda on, a: on.rounded("ceil", a),
        facts=lambda a: Facts(ceiled(a.low), ceiled(a.high), a.zero or a.low < 0, a.infinite, True),
    )
)  # fmt: skip
define(
    Operation(
        "floor", machine="floor({0})", numerics=floor, fold=floored, cost=6, form=lambda on, a: on.rounded("floor", a),
        facts=lambda a: Facts(floored(a.low), floored(a.high), a.low < 1, a.infinite, True),
    )
)  # fmt: skip
#: Remainder of whole numbers; of others, the rest after the floor of the quotient.
define(
    Operation(
        "mod", machine="np.remainder({0}, {1})", fold=_remainder, partials=_by_remainder,
        facts=_remainder_facts, cost=12,
    )
)  # fmt: skip
