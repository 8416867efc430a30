"""The law of chunked prefill: solved once, for all that is asked of it."""

from __future__ import annotations

from mlsysim.graph.facts import INF, Facts
from mlsysim.graph.operation import Operation, define

#: Operands: what may move of the load, and what the time of an iteration captures, which is its subgraph.
define(Operation("chunked", cost=20_000_000))
#: One number of a law, and one that is a share: of their data, the output and the share of a quantile.
define(Operation("answer", cost=0, facts=lambda _law: Facts(0.0, INF, infinite=True)))
define(Operation("attained", cost=0, facts=lambda _law: Facts(0.0, 1.0)))
