"""Sums, products, quotients, powers, logarithms; total, as NumPy has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from mlsysim.graph.builder import Builder
from mlsysim.graph.facts import INF, NAN, Facts
from mlsysim.graph.operation import Arithmetic, Operation, Simpler, define

for _leaf in ("input", "captured", "number"):
    define(Operation(_leaf, "{0}", cost=0))


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def _product_facts(a: Facts, b: Facts) -> Facts:
    ends = [_times(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Facts(min(ends), max(ends), a.zero or b.zero, a.infinite or b.infinite, a.whole and b.whole)


def _lawful(on: Arithmetic, a: Any, b: Any) -> Any:
    return _beside(on, a, b) * _beside(on, b, a)


def _beside(on: Arithmetic, quantity: Any, factor: Any) -> Any:
    """Quantity, but zero where it is infinite and its factor is zero."""
    return on.where((factor == 0) & (abs(quantity) == INF), 0.0, quantity)


def _lawful_of_floats(a: float, b: float) -> float:
    product = a * b
    return 0.0 if product != product and a == a and b == b else product


def _chained(on: Arithmetic, a: Any, b: Any) -> Any:
    return on.where((a == 0) | (b == 0), 0.0, a * b)


def _finite(known: Sequence[Any]) -> Simpler | None:
    """Simplify a product of the chain rule with a number: zero, or a plain product."""
    numbers = [number for number in known if number is not None]
    if 0 in numbers:
        return Simpler(number=0.0)
    return Simpler(op="multiply") if any(abs(number) < INF for number in numbers) else None


def _multiplied(on: Any, a: Any, b: Any) -> Any:
    return on.product(a, b)


def _negative_facts(a: Facts) -> Facts:
    return Facts(-a.high, -a.low, a.zero, a.infinite, a.whole)


def _sum_facts(a: Facts, b: Facts) -> Facts:
    low, high = a.low + b.low, a.high + b.high
    low, high = (low if low == low else -INF), (high if high == high else INF)
    apart = (a.low >= 0 and b.low >= 0 and not (a.zero and b.zero)) or low > 0 or high < 0
    return Facts(low, high, not apart, a.infinite or b.infinite, a.whole and b.whole)


def _quotient_facts(a: Facts, b: Facts) -> Facts:
    if b.low < 0 or b.zero:
        sign = a.low >= 0 and b.low >= 0
        return Facts(0.0 if sign else -INF, INF, a.zero or b.infinite or b.high == INF, a.infinite)
    ends = [_end(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Facts(min(ends), max(ends), a.zero or b.infinite or b.high == INF, a.infinite)


def _end(x: float, y: float) -> float:
    """End of a quotient by a positive range, one end of which may be zero or infinite."""
    if y == 0:
        return math.copysign(INF, x) if x else 0.0
    return (x if abs(x) == INF else 0.0) if y == INF else x / y


def divided(a: float, b: float) -> float:
    """Quotient as NumPy defines it: Python's floats raise if the divisor is zero."""
    try:
        return a / b
    except ZeroDivisionError:
        return NAN if a == 0 or a != a else math.copysign(INF, a) * math.copysign(1.0, b)


def powered(a: float, b: float) -> float:
    """Power as C defines it: Python's floats raise, or are complex."""
    try:
        return math.pow(a, b)
    except OverflowError:
        return -INF if a < 0 and b % 2 == 1 else INF
    except ValueError:
        return INF if a == 0 else NAN


def rooted(a: float) -> float:
    """Square root; nan of a negative number."""
    return math.sqrt(a) if a >= 0 else NAN


def _neutral(number: float, *, second: bool = False) -> Any:
    """Rule for a neutral element: the result is the other operand; on both sides, or only as the second operand."""

    def simplify(known: Sequence[Any]) -> Simpler | None:
        if known[1] is not None and known[1] == number:
            return Simpler(operand=0)
        return Simpler(operand=1) if not second and known[0] is not None and known[0] == number else None

    return simplify


def _by_negative(builder: Builder, _operands: Sequence[int], _result: int) -> Sequence[int]:
    return (builder.number(-1.0),)


def _by_sum(sign: float, builder: Builder, _operands: Sequence[int], _result: int) -> Sequence[int]:
    return builder.number(1.0), builder.number(sign)


def _by_product(_builder: Builder, operands: Sequence[int], _result: int) -> Sequence[int]:
    return operands[1], operands[0]


def _by_lawful(builder: Builder, operands: Sequence[int], _result: int) -> Sequence[int]:
    """Partials of a product in which zero times infinity is zero."""
    make, zero = builder.make, builder.number(0.0)

    def beside(quantity: int, factor: int) -> int:
        if not builder.facts[quantity].infinite:
            return quantity
        infinite = make("equal", make("absolute", quantity), builder.number(INF))
        return make("where", make("both", make("equal", factor, zero), infinite), zero, quantity)

    return beside(operands[1], operands[0]), beside(*operands)


def _by_quotient(builder: Builder, operands: Sequence[int], result: int) -> Sequence[int]:
    inverse = builder.make("divide", builder.number(1.0), operands[1])
    return inverse, builder.make("negative", builder.make("divide", result, operands[1]))


def _by_power(builder: Builder, operands: Sequence[int], result: int) -> Sequence[int | None]:
    """Partials by base and exponent; zero by the base if the exponent is zero, and by the exponent if the base is."""
    make, number = builder.make, builder.number
    base, exponent = operands
    known = builder.value(exponent)
    if known is not None:
        return make("multiply", exponent, make("power", base, number(known - 1.0))), None
    lowered = make("multiply", exponent, make("power", base, make("subtract", exponent, number(1.0))))
    positive = make("where", make("greater", base, number(0.0)), base, number(1.0))
    return (
        make("where", make("equal", exponent, number(0.0)), number(0.0), lowered),
        make("multiply", make("log", positive), result),
    )


def _by_root(builder: Builder, _operands: Sequence[int], result: int) -> Sequence[int]:
    return (builder.make("divide", builder.number(0.5), result),)


def _by_exponential(_builder: Builder, _operands: Sequence[int], result: int) -> Sequence[int]:
    return (result,)


def _by_logarithm(builder: Builder, operands: Sequence[int], _result: int) -> Sequence[int]:
    return (builder.make("divide", builder.number(1.0), operands[0]),)


def _by_absolute(builder: Builder, operands: Sequence[int], _result: int) -> Sequence[int]:
    number = builder.number
    positive = builder.make("greater_equal", operands[0], number(0.0))
    return (builder.make("where", positive, number(1.0), number(-1.0)),)


def logarithm(a: float) -> float:
    """Logarithm with the bits of NumPy; of zero and below, what NumPy returns after a warning."""
    return float(np.log(a)) if a > 0 else -INF if a == 0 else NAN


def exponential(a: float) -> float:
    """Exponential with the bits of NumPy, which would warn on overflow and underflow."""
    if abs(a) < 700.0:
        return float(np.exp(a))
    with np.errstate(all="ignore"):
        return float(np.exp(a))


define(
    Operation(
        "add", "{0} + {1}", fold=lambda a, b: a + b, partials=partial(_by_sum, 1.0), facts=_sum_facts,
        form=lambda on, a, b: on.added(a, b),
    )
)  # fmt: skip
define(
    Operation(
        "subtract", "{0} - {1}", fold=lambda a, b: a - b, partials=partial(_by_sum, -1.0),
        facts=lambda a, b: _sum_facts(a, _negative_facts(b)), simplify=_neutral(0.0, second=True),
        form=lambda on, a, b: on.added(a, on.negative(b)),
    )
)  # fmt: skip
define(
    Operation(
        "multiply", "{0} * {1}", fold=lambda a, b: a * b, partials=_by_product, facts=_product_facts,
        form=_multiplied, simplify=_neutral(1.0),
    )
)  # fmt: skip
#: Product in which zero times infinity is zero: used where a formula states that a factor may be infinite.
define(
    Operation(
        "lawful", machine="lawful({0}, {1})", numerics=_lawful, fold=_lawful_of_floats, partials=_by_lawful,
        facts=_product_facts, form=_multiplied, simplify=_neutral(1.0), cost=6,
    )
)  # fmt: skip
#: Product of the chain rule: zero times a partial derivative that is infinite or undefined is zero.
define(
    Operation(
        "chained", numerics=_chained, fold=_times, partials=_by_product, facts=_product_facts, form=_multiplied,
        simplify=_finite, cost=6,
    )
)  # fmt: skip
define(
    Operation(
        "divide", "{0} / {1}", fold=divided, partials=_by_quotient, facts=_quotient_facts,
        form=lambda on, a, b: on.product(a, on.power(b, -1.0)), simplify=_neutral(1.0, second=True), risky=1, cost=2,
    )
)  # fmt: skip
define(
    Operation(
        "negative", "-{0}", fold=lambda a: -a, partials=_by_negative, facts=_negative_facts,
        form=lambda on, a: on.negative(a),
    )
)  # fmt: skip
define(
    Operation(
        "power", javascript="{0} ** {1}", machine="{0} ** {1}", fold=powered, partials=_by_power,
        facts=lambda a, b: Facts(0.0 if a.low >= 0 else -INF, INF, a.zero, a.infinite and b.high > 0),
        form=lambda on, a, b: on.power(a, b),
        simplify=_neutral(1.0, second=True), risky=0, cost=20,
    )
)  # fmt: skip
define(
    Operation(
        "sqrt", javascript="Math.sqrt({0})", machine="np.sqrt({0})", fold=rooted, partials=_by_root,
        facts=lambda a: Facts(0.0, rooted(max(a.high, 0.0)), a.zero, a.infinite), form=lambda on, a: on.power(a, 0.5),
        risky=0, cost=4,
    )
)  # fmt: skip
define(
    Operation(
        "exp", javascript="Math.exp({0})", machine="np.exp({0})", fold=exponential, partials=_by_exponential,
        facts=lambda a: Facts(0.0, INF, True, a.infinite), rises=(1,), cost=20,
    )
)  # fmt: skip
define(
    Operation(
        "log", javascript="Math.log({0})", machine="np.log({0})", fold=logarithm, partials=_by_logarithm,
        facts=lambda a: Facts(0.0 if a.low >= 1 else -INF, INF, True, a.infinite), rises=(1,), domain=(Facts(0.0),),
        risky=0, cost=20,
    )
)  # fmt: skip
define(
    Operation(
        "absolute", javascript="Math.abs({0})", machine="abs({0})", fold=abs, partials=_by_absolute,
        facts=lambda a: Facts(
            max(a.low, -a.high, 0.0), max(abs(a.low), abs(a.high)), a.zero, a.infinite, a.whole
        ),
    )
)  # fmt: skip
