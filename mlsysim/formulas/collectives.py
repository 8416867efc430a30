"""Collectives

Time of an exchange between ranks in the alpha-beta model: a latency per message and a bandwidth
per byte. A group that fits a node uses its links; a larger one is bound by the slower of those links
and the ports its ranks have to the fabric. What a link reaches of its bandwidth is a factor of its own.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Min, log, sqrt

from mlsysim.symbolic import Example, Formula, Source, when
from mlsysim.symbols.hardware import alpha, alpha_node, beta, beta_fabric, beta_node, n_node, oversubscription
from mlsysim.symbols.network import (
    T_aa,
    T_ag,
    T_ar,
    T_ch,
    T_p2p,
    T_rs,
    V_c,
    alpha_c,
    beta_c,
    beta_l,
    beta_x,
    n_c,
    n_near,
)
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


def exchange_of(ranks: Any, near: Any, message: Any, links: Any, fabric: Any) -> Any:
    """What crosses fabric and links in an all-to-all of ``message`` bytes per rank, ``near`` ranks in a node."""
    return (ranks - near) / ranks * message / fabric + (near - 1) / near * message / links


def ring_pass(ranks: Any, message: Any, bandwidth: Any, latency: Any) -> Any:
    """Reduce-scatter or all-gather of ``message`` bytes around a ring; an all-reduce is one of each."""
    return (ranks - 1) / ranks * message / bandwidth + (ranks - 1) * latency


link_bandwidth = Formula(
    beta,
    beta_fabric / oversubscription,
    title="Bandwidth left by an oversubscribed fabric",
    source=TUTORIAL,
    assumes="All ranks send at once through the tapered level.",
    convention="One accelerator, one direction.",
    example=Example({beta_fabric: 50, oversubscription: 4}, "12.5 GB/s", derived="50 / 4"),
)

THAKUR = "thakur2005"
NCCL = "Among eight devices, 16 MB and up, within 15% of NCCL on A100, H100, H200, B200 (docs/validation.md)."

links_reached = Formula(
    beta_l,
    eta_link * beta_node,
    title="Bandwidth a collective reaches within a node",
    source=Source(THAKUR, "section 2"),
    example=Example({eta_link: 0.75, beta_node: 450}, "337.5 GB/s", derived="0.75 * 450"),
)

fabric_reached = Formula(
    beta_x,
    eta_link * beta / congestion,
    title="Bandwidth a collective reaches between nodes",
    source=Source(THAKUR, "section 2"),
    example=Example({eta_link: 0.75, beta: 50, congestion: 1.5}, "25 GB/s", derived="0.75 * 50 / 1.5"),
)

ranks_in_node = Formula(
    n_near,
    Min(n_c, n_node),
    title="Ranks of a group in one node",
    source=Source(THAKUR, "section 2"),
    assumes="Ranks fill nodes in order.",
    example=Example({n_c: 64, n_node: 8}, "8", derived="min(64, 8)"),
)

ring_bandwidth = Formula(
    beta_c,
    when(n_c <= n_node, beta_l, Min(beta_l, n_near * beta_x)),
    title="Bandwidth of a ring, by placement",
    source=Source(THAKUR, "section 2"),
    assumes="Over several nodes every rank in a node feeds a port of its own, and the node's links carry what all of "
    "them receive.",
    example=Example(
        {n_c: 64, n_node: 8, beta_l: 337.5, n_near: 8, beta_x: 37.5}, "300 GB/s", derived="min(337.5, 8 * 37.5)"
    ),
)

ring_latency = Formula(
    alpha_c,
    (n_c / n_near - 1) * alpha + (n_near - 1) * alpha_node,
    title="Latencies of a ring, by placement",
    source=Source(THAKUR, "section 2"),
    assumes="As many steps between nodes as there are further nodes, each beside those within a node.",
    example=Example({n_c: 64, n_near: 8, alpha: 5, alpha_node: 2}, "49 µs", derived="(64 / 8 - 1) * 5 + (8 - 1) * 2"),
)

chunk_loss = Formula(
    T_ch,
    when(And(alpha_node > 0, n_c > 1), 2 * sqrt(2 * alpha_node * (n_c - 1) / n_c * V_c / beta_l)),
    title="Time lost to chunks",
    source=Source(THAKUR, "section 2"),
    assumes="Their number is the best: few wait long to fill, many cost a send and a receive each.",
    accuracy=NCCL,
    example=Example(
        {alpha_node: 2, n_c: 8, V_c: 256, beta_l: 350},
        "0.1012 ms",
        derived="2 * sqrt(2 * 2e-6 * 7 / 8 * 256e6 / 350e9) * 1e3",
    ),
)

ring_all_reduce = Formula(
    T_ar,
    2 * ring_pass(n_c, V_c, beta_l, alpha_node) + sqrt(2) * T_ch,
    title="All-reduce around a ring",
    source=Source(THAKUR, "section 4.5"),
    variant="ring",
    assumes="A reduce-scatter and an all-gather; the best for long messages. Links of one node. The two passes share "
    "their chunks.",
    accuracy=NCCL + " Switches that reduce (NVLS) are faster.",
    example=Example(
        {n_c: 8, V_c: 256, beta_l: 350, alpha_node: 2, T_ch: 0.1},
        "1.4494 ms",
        derived="2 * (7 / 8 * 256 / 350 + 7 * 0.002) + sqrt(2) * 0.1",
    ),
)

tree_all_reduce = Formula(
    T_ar,
    2 * V_c / beta_l + 2 * log(n_c) / log(2) * alpha_node,
    title="All-reduce over two trees",
    source=Source("sanders2009", "section 3"),
    variant="tree",
    assumes="Two binary trees of which each rank is a leaf in one: full bandwidth in both directions at a latency that "
    "grows with the logarithm; fill and drain of the pipeline are left out.",
    example=Example(
        {n_c: 8, V_c: 256, beta_l: 350, alpha_node: 2}, "1.4749 ms", derived="2 * 256 / 350 + 2 * 3 * 0.002"
    ),
)

hierarchical_all_reduce = Formula(
    T_ar,
    2 * ring_pass(n_near, V_c, beta_l, alpha_node) + 2 * ring_pass(n_c / n_near, V_c / n_near, beta_x, alpha),
    title="All-reduce within nodes, then between them",
    source=Source("shoeybi2019", "section 4"),
    variant="hierarchical",
    assumes="Reduce-scatter within the node, all-reduce of one share per port between nodes, all-gather within; the "
    "three follow each other.",
    example=Example(
        {n_c: 64, n_near: 8, V_c: 256, beta_l: 350, alpha_node: 2, beta_x: 40, alpha: 5},
        "2.778 ms",
        derived="2 * (7 / 8 * 256 / 350 + 7 * 0.002) + 2 * (7 / 8 * 32 / 40 + 7 * 0.005)",
    ),
)

_PASS = {n_c: 64, V_c: 256, beta_c: 320, alpha_c: 49, T_ch: 0.1}
_ONE_PASS = "63 / 64 * 256 / 320 + 0.049 + 0.1"

reduce_scatter = Formula(
    T_rs,
    (n_c - 1) / n_c * V_c / beta_c + alpha_c + T_ch,
    title="Reduce-scatter around a ring",
    source=Source(THAKUR, "section 4.3"),
    accuracy=NCCL,
    example=Example(_PASS, "0.9365 ms", derived=_ONE_PASS),
)

all_gather = Formula(
    T_ag,
    (n_c - 1) / n_c * V_c / beta_c + alpha_c + T_ch,
    title="All-gather around a ring",
    source=Source(THAKUR, "section 4.1"),
    accuracy=NCCL,
    example=Example(_PASS, "0.9365 ms", derived=_ONE_PASS),
)

pairwise_all_to_all = Formula(
    T_aa,
    exchange_of(n_c, n_near, V_c, beta_l, beta_x) + alpha_c + T_ch,
    title="All-to-all, by placement",
    source=Source(THAKUR, "section 4.4"),
    assumes="Each rank sends all but its own share: first over the fabric to the same place in each node, then within "
    "the node.",
    accuracy=NCCL,
    example=Example(
        {n_c: 64, n_near: 8, V_c: 256, beta_l: 350, beta_x: 40, alpha_c: 49, T_ch: 0.1},
        "6.389 ms",
        derived="56 / 64 * 256 / 40 + 7 / 8 * 256 / 350 + 0.049 + 0.1",
    ),
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
    example=Example(
        {n_c: 16, n_node: 8, V_c: 64, beta_l: 350, alpha_node: 2, beta_x: 40, alpha: 5},
        "1.605 ms",
        derived="64 / 40 + 0.005",
    ),
)

FORMULAS = (
    link_bandwidth,
    links_reached,
    fabric_reached,
    ranks_in_node,
    ring_bandwidth,
    ring_latency,
    chunk_loss,
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
#: And what one among all ranks of a group needs to know of where they stand.
PLACED = (ranks_in_node, ring_bandwidth, ring_latency, chunk_loss)
