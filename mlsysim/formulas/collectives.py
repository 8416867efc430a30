"""Collectives

Time of an exchange between ranks in the alpha-beta model: a latency per message and a bandwidth
per byte. A group that fits a node uses its links; a larger one is bound by the slower of those links
and the ports its ranks have to the fabric. What a link reaches of its bandwidth is a factor of its own.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Max, Min, log, sqrt

from mlsysim.symbolic import Formula, Source, when
from mlsysim.symbols.hardware import alpha, alpha_node, beta, beta_fabric, beta_node, n_node, oversubscription
from mlsysim.symbols.network import T_aa, T_ag, T_ar, T_p2p, T_rs, V_c, beta_l, beta_x, n_c, n_near
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
    far = (
        (ranks - 1) / ranks * message / Min(beta_l, near * beta_x)
        + (ranks / near - 1) * alpha
        + (near - 1) * alpha_node
    )
    return when(ranks * stride <= n_node, ring_pass(ranks, message, beta_l, alpha_node), far)


def placed_exchange(ranks: Any, stride: Any, message: Any) -> Any:
    """All-to-all of ``message`` bytes per rank of such a group."""
    near = Max(1, n_node / stride)
    links, fabric = (beta_l, alpha_node), (beta_x, alpha)
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

THAKUR = "thakur2005"
NCCL = "Among eight devices, 16 MB and up, within 15% of NCCL on A100, H100, H200, B200 (docs/validation.md)."
DERIVED = "the source prints the formula, measured times stand in docs/validation.md"


def chunked(volume: Any) -> Any:
    """Time lost to chunks when their number is the best: few wait long to fill, many cost a send and a receive each."""
    return when(And(alpha_node > 0, n_c > 1), 2 * sqrt(2 * alpha_node * volume / beta_l))


links_reached = Formula(
    beta_l,
    eta_link * beta_node,
    title="Bandwidth a collective reaches within a node",
    source=Source(THAKUR, "section 2"),
    no_example="a product",
)

fabric_reached = Formula(
    beta_x,
    eta_link * beta / congestion,
    title="Bandwidth a collective reaches between nodes",
    source=Source(THAKUR, "section 2"),
    no_example="a product",
)

ranks_in_node = Formula(
    n_near, Min(n_c, n_node), title="Ranks of a group in one node", source=Source(THAKUR, "section 2"),
    assumes="Ranks fill nodes in order.", no_example="a minimum",
)  # fmt: skip

ring_all_reduce = Formula(
    T_ar,
    2 * ring_pass(n_c, V_c, beta_l, alpha_node) + chunked(2 * (n_c - 1) / n_c * V_c),
    title="All-reduce around a ring",
    source=Source(THAKUR, "section 4.5"),
    variant="ring",
    assumes="A reduce-scatter and an all-gather; the best for long messages. Links of one node.",
    accuracy=NCCL + " Switches that reduce (NVLS) are faster.",
    no_example=DERIVED,
)

tree_all_reduce = Formula(
    T_ar,
    2 * V_c / beta_l + 2 * log(n_c) / log(2) * alpha_node,
    title="All-reduce over two trees",
    source=Source("sanders2009", "section 3"),
    variant="tree",
    assumes="Two binary trees of which each rank is a leaf in one: full bandwidth in both directions at a latency that "
    "grows with the logarithm; fill and drain of the pipeline are left out.",
    no_example=DERIVED,
)

hierarchical_all_reduce = Formula(
    T_ar,
    2 * ring_pass(n_near, V_c, beta_l, alpha_node) + 2 * ring_pass(n_c / n_near, V_c / n_near, beta_x, alpha),
    title="All-reduce within nodes, then between them",
    source=Source("shoeybi2019", "section 4"),
    variant="hierarchical",
    assumes="Reduce-scatter within the node, all-reduce of one share per port between nodes, all-gather within; the "
    "three follow each other.",
    no_example=DERIVED,
)

reduce_scatter = Formula(
    T_rs,
    placed_pass(n_c, 1, V_c) + chunked((n_c - 1) / n_c * V_c),
    title="Reduce-scatter around a ring",
    source=Source(THAKUR, "section 4.3"),
    accuracy=NCCL,
    no_example=DERIVED,
)

all_gather = Formula(
    T_ag,
    placed_pass(n_c, 1, V_c) + chunked((n_c - 1) / n_c * V_c),
    title="All-gather around a ring",
    source=Source(THAKUR, "section 4.1"),
    accuracy=NCCL,
    no_example=DERIVED,
)

pairwise_all_to_all = Formula(
    T_aa,
    placed_exchange(n_c, 1, V_c) + chunked((n_c - 1) / n_c * V_c),
    title="All-to-all, by placement",
    source=Source(THAKUR, "section 4.4"),
    accuracy=NCCL,
    no_example=DERIVED,
)

point_to_point = Formula(
    T_p2p,
    when(
        n_c <= n_node,
        V_c / beta_l + alpha_node,
        V_c / beta_x + alpha,
    ),
    title="One message",
    source=Source(THAKUR, "section 2"),
    assumes="Over the fabric where the group is larger than a node.",
    no_example=DERIVED,
)

FORMULAS = (
    link_bandwidth,
    links_reached,
    fabric_reached,
    ranks_in_node,
    ring_all_reduce,
    tree_all_reduce,
    hierarchical_all_reduce,
    reduce_scatter,
    all_gather,
    pairwise_all_to_all,
    point_to_point,
)
#: What any exchange needs to know of links and fabric.
REACHED = (link_bandwidth, links_reached, fabric_reached)
