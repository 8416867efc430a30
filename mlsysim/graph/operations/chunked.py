"""Law of chunked prefill: solved once for all outputs requested of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from mlsysim.errors import FormulaError
from mlsysim.graph.builder import Builder
from mlsysim.graph.facts import INF, Facts
from mlsysim.graph.operation import Operation, define

#: Operations that pick one number of a law, their only operand.
PICKS = ("answer", "attained", "answer_slope")


def _by_operands(builder: Builder, operands: Sequence[int], result: int) -> Sequence[int]:
    """Partial derivatives by every operand of the law."""
    (law,), requested = operands, builder.nodes[result].data
    places = range(len(builder.nodes[law].args))
    return [builder.make("answer_slope", law, data=(*requested, operand)) for operand in places]


def _none(*_: object) -> NoReturn:
    raise FormulaError("latencies under chunked prefill have first derivatives only")


#: Operands: inputs of the load, and values that the time of an iteration captures, which is its subgraph.
define(Operation("chunked", cost=20_000_000))
#: One number of a law, and one that is a share: of their data, the output and the share of a quantile. Their partial
#: derivatives are those by the operands of the law.
define(Operation("answer", cost=0, partials=_by_operands, facts=lambda _law: Facts(0.0, INF, infinite=True)))
define(Operation("attained", cost=0, partials=_by_operands, facts=lambda _law: Facts(0.0, 1.0)))
#: A derivative of one: of its data, output and share as before, and which operand of the law it is by.
define(Operation("answer_slope", cost=0, partials=_none, facts=lambda _law: Facts(infinite=True)))
