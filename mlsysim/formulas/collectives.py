"""Collectives

Time of an exchange between ranks: a start, a step per rank, the bytes at the bandwidth that links and ports reach,
and the filling of a pipeline of chunks. A group that fits a node uses its links; a larger one is bound by the slower of
those links and the ports its ranks have to the fabric, and an oversubscribed level slows what crosses it. Latencies
belong to the software as much as to the device, so they come with the stack.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import And, Max, Min, Rational, log, sqrt

from mlsysim.formats import BITS, STORED
from mlsysim.symbolic import Example, Formula, Source, byte, token, when
from mlsysim.symbols.hardware import alpha, alpha_node, beta, beta_fabric, beta_node, n_node, oversubscription
from mlsysim.symbols.network import (
    T_c,
    V_c,
    X_l,
    X_x,
    alpha_aa,
    alpha_c,
    b_copy,
    beta_a,
    beta_bus,
    beta_c,
    beta_l,
    beta_x,
    delta_c,
    e_sw,
    eta_a,
    eta_x,
    m_N,
    m_R,
    n_c,
    n_mesh,
    n_near,
    n_pod,
    node_limit,
    tau_0,
    tau_aa,
    tau_ch,
    tau_coll,
    tau_sw,
)
from mlsysim.symbols.roofline import q_out
from mlsysim.symbols.routing import n_rank
from mlsysim.symbols.step import congestion, eta_link
from mlsysim.symbols.workload import h, k, q

TUTORIAL = Source("mlsysim_tutorial", "section 3")
THAKUR = "thakur2005"
NCCL = Source("nccl_tuning")
DEEPEP = Source("deepep2025", "README")
RINGS = (
    "756 NCCL rings on A100, H100, H200, B200: median 4.2%, from 16 MiB 3.7%; with a link class left out of the fit "
    "5.1% and 6.4% (docs/validation.md)."
)
EXCHANGES = "DeepEP on H800 and B200: median 5.2% on a configuration left out of the fit (docs/validation.md)."
DERIVED = "Within a node " + RINGS + " Between nodes derived, against no published row."
#: Channels that reduce in the switches, of those there are; and what a tree reaches of a ring's bandwidth.
SWITCH_CHANNELS, TREE_SHARE = 15 / 16, 0.92


def all_to_all(ranks: Any, message: Any, bandwidth: Any, latency: Any) -> Any:
    """Pairwise all-to-all of ``message`` bytes per rank: each rank sends all but its own share."""
    return (ranks - 1) / ranks * message / bandwidth + (ranks - 1) * latency


def hierarchical_all_to_all(ranks: Any, node: Any, message: Any, near: Any, far: Any) -> Any:
    """All-to-all over several nodes: first over the fabric to the same place in each node, then within the node.

    ``near`` and ``far`` are (bandwidth, latency) within a node and between nodes.
    """
    between = (ranks - node) / ranks * message / far[0] + (ranks / node - 1) * far[1]
    return between + all_to_all(node, message, *near)


def near_ranks(ranks: Any, stride: Any) -> Any:
    """Ranks of a group in one node, where its neighbours stand ``stride`` ranks apart."""
    return Min(ranks, Max(1, n_node / stride))


def meshed(near: Any, links: Any) -> Any:
    """Bandwidth among some devices of a node; in a mesh each has one link to each of the others."""
    return links * when(n_mesh > 1, Max(1, near - 1) / Max(1, n_mesh - 1), 1)


def step_rate(ranks: Any, stride: Any, port: Any = beta_x) -> Any:
    """Bandwidth of one step to the next node, through one port.

    A ring enters a pod once, so as many ranks as a group has there share what the pod sends.
    """
    pod = Max(n_node, n_pod)
    return port * when(ranks * stride <= pod, 1, Min(1, Max(1, pod / stride) / oversubscription))


def ring_rate(ranks: Any, stride: Any, near: Any) -> Any:
    """Bandwidth of rings through a group: links, ports, and the oversubscribed level where the group crosses it."""
    pod, links = Max(n_node, n_pod), meshed(near, beta_l)
    ports = Min(links, near * beta_x)
    return when(
        ranks * stride <= n_node,
        links,
        when(ranks * stride <= pod, ports, Min(ports, Max(1, pod / stride) * beta_x / oversubscription)),
    )


def port_rate(ranks: Any, stride: Any, port: Any = beta_x) -> Any:
    """Bandwidth of one port where every rank sends to every other."""
    return port / when(ranks * stride <= Max(n_node, n_pod), 1, oversubscription)


def pass_steps(ranks: Any, near: Any) -> Any:
    """Latencies of one pass: a step between nodes per further node, the others within them."""
    return (ranks - ranks / near) * alpha_node + (ranks / near - 1) * alpha


def chunk_latency(ranks: Any, near: Any, start: Any = tau_coll) -> Any:
    """What each chunk costs: a start, and a step between nodes where there are several."""
    return start + when(ranks > near, alpha)


def pipelined(seconds: Any, latency: Any) -> Any:
    """Time on the wire in the best number of chunks, each of which costs a latency."""
    return seconds + when(latency > 0, sqrt(2 * latency * seconds))


def ring_pass(ranks: Any, message: Any, bandwidth: Any, steps: Any, chunk: Any) -> Any:
    """All-gather or reduce-scatter around a ring; the local share is copied too, at about twice the rate."""
    return tau_coll + steps + pipelined((ranks - 1 / 2) / ranks * message / bandwidth, chunk)


def ring_all_reduce(ranks: Any, near: Any, message: Any, bandwidth: Any, steps: Any, chunk: Any) -> Any:
    """All-reduce around a ring: two passes, with one more step between nodes in each."""
    further = when(ranks > near, 2 * (alpha - alpha_node))
    return tau_coll + 2 * steps + further + pipelined((2 * ranks - 3 / 2) / ranks * message / bandwidth, chunk)


def tree_all_reduce(ranks: Any, near: Any, message: Any, bandwidth: Any, chunk: Any) -> Any:
    """All-reduce over two trees between nodes, and a chain in each."""
    steps = 2 * ((near - 1) * alpha_node + log(ranks / near) / log(2) * alpha)
    return tau_coll + steps + pipelined(2 * message / (TREE_SHARE * bandwidth), chunk)


def switch_all_reduce(ranks: Any, message: Any, links: Any) -> Any:
    """All-reduce in the switches of a node: a rank sends its buffer once, and its reduced share back."""
    return tau_coll + tau_sw + pipelined((ranks + 1) / ranks * message / (links * e_sw * SWITCH_CHANNELS), tau_coll)


def all_reduce(ranks: Any, stride: Any, near: Any, message: Any, bandwidth: Any, steps: Any, chunk: Any) -> Any:
    """All-reduce by the fastest algorithm there is, as the library's tuner picks it."""
    ring = ring_all_reduce(ranks, near, message, bandwidth, steps, chunk)
    return when(
        And(ranks * stride <= n_node, e_sw > 0),
        Min(ring, switch_all_reduce(ranks, message, beta_l)),
        Min(ring, tree_all_reduce(ranks, near, message, bandwidth, chunk)),
    )


def distinct(places: Any, choices: Any) -> Any:
    """Places that at least one of some choices falls on, all alike."""
    places = Max(1, places)
    return places * (1 - (1 - 1 / places) ** choices)


def limited_nodes(nodes: Any) -> Any:
    """Nodes that one token's experts may stand in."""
    return when(node_limit > 0, Min(node_limit, nodes), nodes)


def sent(ranks: Any, condition: Any, time: Any) -> Any:
    """Nothing for a rank alone, nor where nothing is sent."""
    return when(And(ranks > 1, condition > 0), time)


link_bandwidth = Formula(
    beta,
    beta_fabric / oversubscription,
    title="Bandwidth left by an oversubscribed fabric",
    source=TUTORIAL,
    assumes="All ranks send at once through the tapered level.",
    convention="One accelerator, one direction.",
    example=Example({beta_fabric: 50, oversubscription: 4}, "12.5 GB/s", derived="50 / 4"),
)

links_reached = Formula(
    beta_l,
    eta_link * beta_node,
    title="Bandwidth a collective reaches within a node",
    source=NCCL,
    example=Example({eta_link: 0.86, beta_node: 450}, "387 GB/s", derived="0.86 * 450"),
)

fabric_reached = Formula(
    beta_x,
    eta_x * beta_fabric / congestion,
    title="Bandwidth a collective reaches through one port",
    source=DEEPEP,
    accuracy=EXCHANGES,
    example=Example({eta_x: 0.885, beta_fabric: 50, congestion: 1.5}, "29.5 GB/s", derived="0.885 * 50 / 1.5"),
)

exchange_links_reached = Formula(
    beta_a,
    eta_a * beta_node,
    title="Bandwidth an exchange of experts reaches within a node",
    source=DEEPEP,
    accuracy=EXCHANGES,
    example=Example({eta_a: 0.67, beta_node: 200}, "134 GB/s", derived="0.67 * 200"),
)

ranks_in_node = Formula(
    n_near,
    near_ranks(n_c, delta_c),
    title="Ranks of a group in one node",
    source=Source(THAKUR, "section 2"),
    assumes="Ranks fill nodes in order.",
    example=Example({n_c: 64, n_node: 8, delta_c: 2}, "4", derived="min(64, max(1, 8 / 2))"),
)

ring_bandwidth = Formula(
    beta_c,
    ring_rate(n_c, delta_c, n_near),
    title="Bandwidth of a ring, by placement",
    source=NCCL,
    assumes="Over several nodes every rank in a node feeds a port of its own, and the node's links carry what all of "
    "them receive. Only a group that leaves a pod shares the oversubscribed level, with those beside it.",
    accuracy=DERIVED,
    example=Example(
        {n_c: 64, delta_c: 1, n_node: 8, beta_l: 387, n_near: 8, beta_x: 44.25, n_pod: 32, oversubscription: 4,
         n_mesh: 0},
        "354 GB/s",
        derived="min(387, 8 * 44.25, 32 * 44.25 / 4)",
    ),
)  # fmt: skip

ring_steps = Formula(
    alpha_c,
    pass_steps(n_c, n_near),
    title="Steps of one pass through a group",
    source=NCCL,
    example=Example(
        {n_c: 64, n_near: 8, alpha: 14, alpha_node: 0.9}, "148.4 µs", derived="(64 - 8) * 0.9 + (8 - 1) * 14"
    ),
)

chunk_start = Formula(
    tau_ch,
    chunk_latency(n_c, n_near),
    title="What a chunk costs",
    source=Source(THAKUR, "section 2"),
    variant="ring",
    example=Example({n_c: 64, n_near: 8, tau_coll: 4.3, alpha: 14}, "18.3 µs", derived="4.3 + 14"),
)

exchange_start = Formula(
    tau_ch,
    chunk_latency(n_c, n_near, tau_aa),
    title="What a chunk of an all-to-all costs",
    source=Source(THAKUR, "section 2"),
    variant="all_to_all",
    example=Example({n_c: 64, n_near: 8, tau_aa: 6.2, alpha: 14}, "20.2 µs", derived="6.2 + 14"),
)

gathering = Formula(
    T_c,
    sent(n_c, V_c, ring_pass(n_c, V_c, beta_c, alpha_c, tau_ch)),
    title="All-gather or reduce-scatter",
    source=Source(THAKUR, "section 4.1"),
    variant="pass",
    assumes="Chunks fill a pipeline, and their number is the best.",
    accuracy=DERIVED,
    example=Example(
        {n_c: 8, V_c: 256, beta_c: 387, alpha_c: 6.16, tau_coll: 4.3, tau_ch: 4.3},
        "0.7036 ms",
        derived="0.0043 + 0.00616 + 7.5 / 8 * 256 / 387 + sqrt(2 * 0.0043 * 7.5 / 8 * 256 / 387)",
    ),
)

reducing = Formula(
    T_c,
    sent(n_c, V_c, all_reduce(n_c, delta_c, n_near, V_c, beta_c, alpha_c, tau_ch)),
    title="All-reduce",
    source=NCCL,
    variant="all_reduce",
    assumes="The fastest of a ring, two trees between nodes, and a reduction in the switches of a node. Rates of the "
    "last two are those of NCCL's tuner, and not fitted.",
    accuracy=DERIVED + " In the switches, from 64 MiB, with a link class left out: median 7.1%.",
    example=Example(
        {n_c: 8, delta_c: 1, n_node: 8, n_near: 8, V_c: 268.435456, beta_l: 387, beta_c: 387, alpha_c: 6.16,
         tau_coll: 4.3, tau_ch: 4.3, tau_sw: 25, e_sw: 0.85, alpha: 14, alpha_node: 0.88},
        "1.1003 ms",
        derived="0.0043 + 0.025 + 9 / 8 * 268.435456 / (387 * 0.85 * 15 / 16) + sqrt(2 * 0.0043 * 9 / 8 * "
        "268.435456 / (387 * 0.85 * 15 / 16))",
    ),
)  # fmt: skip

_links_time = (n_near - 1 / 2) / n_c * V_c / meshed(n_near, beta_l)
_port_time = (n_c - n_near) / n_c * V_c / port_rate(n_c, delta_c)

exchanging = Formula(
    T_c,
    sent(
        n_c,
        V_c,
        tau_ch + (n_c - 1) * alpha_aa + pipelined(Max(_links_time, _port_time), tau_ch),
    ),
    title="All-to-all",
    source=Source(THAKUR, "section 4.4"),
    variant="all_to_all",
    assumes="Each rank sends all but its own share, over links and ports at once, and copies that share.",
    accuracy="252 NCCL all-to-alls in a node: median 7.2%, at the links' share that rings reach. Between nodes "
    "derived, against no published row.",
    example=Example(
        {n_c: 8, delta_c: 1, n_node: 8, n_near: 8, V_c: 256, beta_l: 387, beta_x: 44, n_mesh: 0, n_pod: 0,
         oversubscription: 1, tau_ch: 6.2, alpha_aa: 0.3},
        "0.7161 ms",
        derived="0.0062 + 7 * 0.0003 + 7.5 / 8 * 256 / 387 + sqrt(2 * 0.0062 * 7.5 / 8 * 256 / 387)",
    ),
)  # fmt: skip

_WIRE = "As nccl-tests count it: what a ring would send."

bus_of_pass = Formula(
    beta_bus,
    when(And(n_c > 1, V_c > 0, T_c > 0), (n_c - 1) / n_c * V_c / T_c),
    title="Bus bandwidth of a pass",
    source=NCCL,
    variant="pass",
    convention=_WIRE,
    example=Example({n_c: 8, V_c: 256, T_c: 0.7}, "320 GB/s", derived="7 / 8 * 256 / 0.7"),
)

bus_of_all_reduce = Formula(
    beta_bus,
    when(And(n_c > 1, V_c > 0, T_c > 0), 2 * (n_c - 1) / n_c * V_c / T_c),
    title="Bus bandwidth of an all-reduce",
    source=NCCL,
    variant="all_reduce",
    convention=_WIRE,
    example=Example({n_c: 8, V_c: 256, T_c: 1.12}, "400 GB/s", derived="2 * 7 / 8 * 256 / 1.12"),
)

_nodes = n_c / n_near

distinct_nodes = Formula(
    m_N,
    distinct(limited_nodes(_nodes), k),
    title="Nodes that one token goes to",
    source=Source("deepseek2024", "section 2.1.2"),
    assumes="Experts are drawn with replacement, all alike.",
    example=Example({n_c: 64, n_near: 8, node_limit: 4, k: 8}, "3.5995", derived="4 * (1 - (1 - 1 / 4)**8)"),
)

distinct_ranks = Formula(
    m_R,
    distinct(n_near * limited_nodes(_nodes), k),
    title="Ranks that one token goes to",
    source=Source("deepseek2024", "section 2.1.2"),
    assumes="Experts are drawn with replacement, all alike.",
    example=Example({n_c: 64, n_near: 8, node_limit: 4, k: 8}, "7.1776", derived="32 * (1 - (1 - 1 / 32)**8)"),
)

#: Bytes of scales that come with each number sent below 16 bit.
_SCALE = Rational(*(STORED["fp8_block"] - Fraction(BITS["fp8_block"], 8)).as_integer_ratio()) * byte

dispatched_copy = Formula(
    b_copy,
    h * (q + when(q < 2 * byte, _SCALE, 0)) / token,
    title="One token on the way to its experts",
    source=Source("deepseek2024", "section 3.3.2"),
    variant="dispatch",
    assumes="Below 16 bit each 128 numbers have a scale of four bytes.",
    example=Example({q: 1, h: 7168}, "7392 byte/token", derived="7168 * (1 + 4 / 128)"),
)

combined_copy = Formula(
    b_copy,
    q_out * h / token,
    title="One token on the way back",
    source=Source("deepseek2024", "section 3.3.2"),
    variant="combine",
    example=Example({q_out: 2, h: 7168}, "14336 byte/token", derived="2 * 7168"),
)

forwarded_fabric = Formula(
    X_x,
    n_rank * b_copy * m_N * (1 - n_near / n_c),
    title="Copies through the port of one rank",
    source=DEEPEP,
    variant="normal",
    assumes="A copy per node that a token goes to, sent on over the links there.",
    example=Example(
        {n_rank: 4096, b_copy: 7392, m_N: 3.5996, n_near: 8, n_c: 64},
        "95.36 MB",
        derived="4096 * 7392 * 3.5996 * (1 - 1 / 8) / 1e6",
    ),
)

forwarded_links = Formula(
    X_l,
    n_rank * b_copy * m_R * (1 - 1 / n_near),
    title="Copies over the links of one rank",
    source=DEEPEP,
    variant="normal",
    assumes="A copy per rank that a token goes to.",
    example=Example(
        {n_rank: 4096, b_copy: 7392, m_R: 7.1776, n_near: 8},
        "190.16 MB",
        derived="4096 * 7392 * 7.1776 * (1 - 1 / 8) / 1e6",
    ),
)

direct_fabric = Formula(
    X_x,
    n_rank * b_copy * k * (1 - n_near / n_c),
    title="Every copy through the port",
    source=DEEPEP,
    variant="low_latency",
    assumes="A copy per expert, none of them forwarded.",
    example=Example(
        {n_rank: 128, b_copy: 7392, k: 8, n_near: 8, n_c: 64},
        "6.6232 MB",
        derived="128 * 7392 * 8 * (1 - 1 / 8) / 1e6",
    ),
)

direct_links = Formula(
    X_l,
    when(n_c > n_near, 0, n_rank * b_copy * k * (1 - 1 / n_near)),
    title="Every copy over the links",
    source=DEEPEP,
    variant="low_latency",
    assumes="Within a node; between nodes what stays in it is not seen beside the port.",
    example=Example(
        {n_rank: 128, b_copy: 7392, k: 8, n_near: 8, n_c: 8}, "6.6232 MB", derived="128 * 7392 * 8 * (1 - 1 / 8) / 1e6"
    ),
)

expert_exchange = Formula(
    T_c,
    when(n_c > 1, Max(X_x / port_rate(n_c, delta_c), X_l / meshed(n_near, beta_a)) + tau_0),
    title="Exchange of experts",
    source=DEEPEP,
    variant="normal",
    assumes="Ports and links work at once.",
    accuracy=EXCHANGES,
    example=Example(
        {n_c: 64, delta_c: 1, n_near: 8, n_node: 8, X_x: 95.37, beta_x: 44.25, X_l: 190.16, beta_a: 134, tau_0: 30,
         n_mesh: 0, n_pod: 0, oversubscription: 1},
        "2.1853 ms",
        derived="max(95.37 / 44.25, 190.16 / 134) + 0.03",
    ),
)  # fmt: skip

#: What any collective needs to know of links and fabric.
REACHED = (links_reached, fabric_reached)
_PLACED = (*REACHED, ranks_in_node, ring_bandwidth, ring_steps, chunk_start)
_EXPERTS = (fabric_reached, exchange_links_reached, ranks_in_node)
_FORWARDED = (distinct_nodes, distinct_ranks, forwarded_fabric, forwarded_links, expert_exchange)
_DIRECT = (direct_fabric, direct_links, expert_exchange)
#: Formulas per kind of collective.
KINDS: dict[str, tuple[Formula, ...]] = {
    "all_reduce": (*_PLACED, reducing, bus_of_all_reduce),
    "all_gather": (*_PLACED, gathering, bus_of_pass),
    "reduce_scatter": (*_PLACED, gathering, bus_of_pass),
    "all_to_all": (*REACHED, ranks_in_node, exchange_start, exchanging, bus_of_pass),
    "dispatch": (*_EXPERTS, dispatched_copy, *_FORWARDED),
    "combine": (*_EXPERTS, combined_copy, *_FORWARDED),
    "low_latency_dispatch": (*_EXPERTS, dispatched_copy, *_DIRECT),
    "low_latency_combine": (*_EXPERTS, combined_copy, *_DIRECT),
}
FORMULAS = (link_bandwidth, *dict.fromkeys(formula for kind in KINDS.values() for formula in kind))
