"""Comparisons, truth values, cases and extremes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from mlsysim.graph.builder import Builder
from mlsysim.graph.facts import TRUTH, Facts, either
from mlsysim.graph.operation import Operation, Simpler, define


def _larger(a: float, b: float) -> float:
    """The larger number; nan where either is."""
    return a if a >= b or a != a else b


def _smaller(a: float, b: float) -> float:
    """The smaller number; nan where either is."""
    return a if a <= b or a != a else b


def _extreme_facts(best: Callable[..., float], a: Facts, b: Facts) -> Facts:
    every = all if best is min else any
    low, high = best(a.low, b.low), best(a.high, b.high)
    nonzero = high < 0 or every(facts.low >= 0 and not facts.zero for facts in (a, b))
    return Facts(low, high, not nonzero, every((a.infinite, b.infinite)), a.whole and b.whole)


def _binding(better: str, builder: Builder, operands: Sequence[int], _result: int) -> Sequence[int]:
    """Partials of an extreme: one by the operand that binds, zero by the other; at a tie the first binds."""
    first = builder.make(better, *operands)
    one, zero = builder.number(1.0), builder.number(0.0)
    return builder.make("where", first, one, zero), builder.make("where", first, zero, one)


def _by_cases(builder: Builder, operands: Sequence[int], _result: int) -> Sequence[int | None]:
    one, zero = builder.number(1.0), builder.number(0.0)
    return None, builder.make("where", operands[0], one, zero), builder.make("where", operands[0], zero, one)


def _taken(known: Sequence[Any]) -> Simpler | None:
    """Select the case that is known to be taken, or a number that both cases are."""
    if known[0] is not None:
        return Simpler(operand=1 if known[0] else 2)
    return Simpler(operand=1) if known[1] is not None and repr(known[1]) == repr(known[2]) else None


def _settled(by: bool, known: Sequence[Any]) -> Simpler | None:
    """Simplify a conjunction or disjunction with one known operand."""
    for index, value in enumerate(known):
        if isinstance(value, bool):
            return Simpler(number=by) if value is by else Simpler(operand=1 - index)
    return None


def _truth(name: str, text: str, fold: Callable[..., Any], **rest: Any) -> Operation:
    return define(Operation(name, text, fold=fold, facts=lambda *_: TRUTH, truth=True, **rest))


for _name, _sign, _fold, _form in (
    ("less", "<", operator.lt, lambda on, a, b: on.compared("compare", a, b, strict=True)),
    ("less_equal", "<=", operator.le, lambda on, a, b: on.compared("compare", a, b)),
    ("greater", ">", operator.gt, lambda on, a, b: on.compared("compare", b, a, strict=True)),
    ("greater_equal", ">=", operator.ge, lambda on, a, b: on.compared("compare", b, a)),
    ("equal", "==", operator.eq, lambda on, a, b: on.equality(a, b)),
    ("not_equal", "!=", operator.ne, lambda on, a, b: on.negation(on.equality(a, b))),
):
    _truth(_name, f"{{0}} {_sign} {{1}}", _fold, form=_form)
_truth("both", "{0} & {1}", lambda a, b: bool(a and b), floats="{0} and {1}", javascript="{0} && {1}",
       machine="{0} != 0.0 and {1} != 0.0", form=lambda on, a, b: on.both(a, b),
       simplify=partial(_settled, False), idempotent_from=0)  # fmt: skip
_truth("either", "{0} | {1}", lambda a, b: bool(a or b), floats="{0} or {1}", javascript="{0} || {1}",
       machine="{0} != 0.0 or {1} != 0.0", form=lambda on, a, b: on.either(a, b),
       simplify=partial(_settled, True), idempotent_from=0)  # fmt: skip
_truth("negation", "{0} == False", operator.not_, floats="not {0}", javascript="!{0}", machine="{0} == 0.0",
       form=lambda on, a: on.negation(a))  # fmt: skip
#: Conversion of a number to a truth value.
_truth("truth", "{0} != 0", bool, javascript="{0}", machine="{0} != 0.0", form=lambda on, a: on.condition(a))

define(
    Operation(
        "where", floats="{1} if {0} else {2}", javascript="{0} ? {1} : {2}", machine="{1} if {0} != 0.0 else {2}",
        fold=lambda c, a, b: a if c else b,
        partials=_by_cases, facts=lambda _, a, b: either(a, b), form=lambda on, c, a, b: on.case(c, a, b),
        simplify=_taken, idempotent_from=1, cost=3,
    )
)  # fmt: skip
define(
    Operation(
        "maximum", javascript="Math.max({0}, {1})", machine="{0} if {0} >= {1} or {0} != {0} else {1}", fold=_larger,
        partials=partial(_binding, "greater_equal"),
        facts=partial(_extreme_facts, max), idempotent_from=0, form=lambda on, a, b: on.largest(a, b),
    )
)  # fmt: skip
define(
    Operation(
        "minimum", javascript="Math.min({0}, {1})", machine="{0} if {0} <= {1} or {0} != {0} else {1}", fold=_smaller,
        partials=partial(_binding, "less_equal"),
        facts=partial(_extreme_facts, min), idempotent_from=0,
        form=lambda on, a, b: on.negative(on.largest(on.negative(a), on.negative(b))),
    )
)  # fmt: skip
