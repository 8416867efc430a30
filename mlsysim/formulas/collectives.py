"""Collectives

Time of an exchange between ranks in the alpha-beta model: a latency per message and a bandwidth
per byte.
"""

from __future__ import annotations

from typing import Any

from mlsysim.symbolic import Formula, Source
from mlsysim.symbols.hardware import beta, beta_fabric, oversubscription

TUTORIAL = Source("mlsysim_tutorial", "section 3")


def all_to_all(ranks: Any, message: Any, bandwidth: Any, latency: Any) -> Any:
    """Pairwise all-to-all of ``message`` bytes per rank: each rank sends all but its own share."""
    return (ranks - 1) / ranks * message / bandwidth + (ranks - 1) * latency


def hierarchical_all_to_all(ranks: Any, node: Any, message: Any, near: Any, far: Any) -> Any:
    """All-to-all over several nodes: first over the fabric to the same place in each node, then within the node.

    ``near`` and ``far`` are (bandwidth, latency) within a node and between nodes.
    """
    between = (ranks - node) / ranks * message / far[0] + (ranks / node - 1) * far[1]
    return between + all_to_all(node, message, *near)


link_bandwidth = Formula(
    beta,
    beta_fabric / oversubscription,
    title="Bandwidth left by an oversubscribed fabric",
    source=TUTORIAL,
    assumes="All ranks send at once through the tapered level.",
    convention="One accelerator, one direction.",
    no_example="the tutorial prints only the exchange time it leads to",
)

FORMULAS = (link_bandwidth,)
