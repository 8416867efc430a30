"""Collectives

Time of an exchange between ranks in the alpha-beta model: a latency per message and a bandwidth
per byte. A group that fits a node uses its links; a larger one is bound by the slower of those links
and the ports its ranks have to the fabric. What a link reaches of its bandwidth is a factor of its own.
"""

from __future__ import annotations

from typing import Any

from sympy import Max, Min

from mlsysim.symbolic import Formula, Source, when
from mlsysim.symbols.hardware import alpha, alpha_node, beta, beta_fabric, beta_node, n_node, oversubscription
from mlsysim.symbols.step import congestion, eta_link

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


def ring_pass(ranks: Any, message: Any, bandwidth: Any, latency: Any) -> Any:
    """Reduce-scatter or all-gather of ``message`` bytes around a ring; an all-reduce is one of each."""
    return (ranks - 1) / ranks * message / bandwidth + (ranks - 1) * latency


def placed_pass(ranks: Any, stride: Any, message: Any) -> Any:
    """One ring pass of a group whose neighbours stand ``stride`` ranks apart, on links or fabric by where it sits.

    Over several nodes every rank of the group in a node feeds a port of its own, and the node's links carry
    what all of them receive.
    """
    near = Max(1, n_node / stride)
    across = eta_link * Min(beta_node, near * beta / congestion)
    far = (ranks - 1) / ranks * message / across + (ranks / near - 1) * alpha + (near - 1) * alpha_node
    return when(ranks * stride <= n_node, ring_pass(ranks, message, eta_link * beta_node, alpha_node), far)


def placed_exchange(ranks: Any, stride: Any, message: Any) -> Any:
    """All-to-all of ``message`` bytes per rank of such a group."""
    near = Max(1, n_node / stride)
    links, fabric = (eta_link * beta_node, alpha_node), (eta_link * beta / congestion, alpha)
    return when(
        ranks * stride <= n_node,
        all_to_all(ranks, message, *links),
        hierarchical_all_to_all(ranks, near, message, links, fabric),
    )


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
