"""Collectives

Time of an exchange between ranks: start-up, a latency per step, the bytes at the bandwidth that links and ports reach,
and the fill of a pipeline of chunks. A group within a node uses the node's links. A larger group is bound by the slower
of these links and its ranks' ports to the fabric, and an oversubscribed level slows traffic that crosses it. Latencies
depend on the software as much as on the device, so they come with the stack.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Or, Piecewise, log, sqrt, true

from mlsysim.symbolic import Example, Formula, Max, Min, Mod, Source, when
from mlsysim.symbols.hardware import (
    alpha,
    alpha_node,
    beta,
    beta_fabric,
    beta_node,
    n_node,
    n_seg,
    oversubscription,
)
from mlsysim.symbols.network import (
    T_c,
    T_nvls,
    T_ring,
    T_tree,
    T_wire,
    V_c,
    alpha_aa,
    alpha_c,
    beta_bus,
    beta_c,
    beta_l,
    beta_ll,
    beta_near,
    beta_port,
    beta_x,
    delta_c,
    e_sw,
    eta_x,
    n_ax,
    n_c,
    n_mesh,
    n_near,
    n_pod,
    t_wire,
    tau_aa,
    tau_bulk,
    tau_ch,
    tau_coll,
    tau_sw,
)
from mlsysim.symbols.step import congestion, eta_link

TUTORIAL = Source("mlsysim_tutorial", "section 3")
THAKUR = "thakur2005"
NCCL = Source("nccl_tuning")
DEEPEP = Source("deepep2025", "README")
RINGS = (
    "756 NCCL rings on A100, H100, H200, B200: median 4.2%, from 16 MiB 3.7%; with a link class left out of the fit "
    "5.1% and 6.4% (docs/validation.md)."
)
EXCHANGES = "DeepEP on H800 and B200: median 5.2% on a configuration left out of the fit (docs/validation.md)."
DERIVED = "Within a node " + RINGS + " Between nodes derived; RCCL over two to eight nodes: 7.8 to 13%."
MESHES = (
    "On a mesh a rank has one link to each of the others, and those to ranks of other groups are idle. A part of a "
    "torus is as compact as can be and has one link for each axis; groups that reach through all of it have every link."
)
AMD = "RCCL on MI300X and MI325X in a node, 16 MiB to 8 GiB: within 5% at AMD's share of a link. No torus was measured."
IN_ORDER = "Ranks fill nodes in order, or segments of them where they fill neither a part of one nor whole ones."
TREES = (
    "Two trees between nodes, a chain in each. On a fabric with a protocol of short messages the faster of both: that "
    "one, or the other after its start."
)
TREE_WIRE = (
    "A chain in each node, whose links carry everything there and back; of two nodes each sends half up and half down. "
    "What trees reach of a ring's bandwidth is that of NCCL's tuner, and not fitted."
)
TWO_NODES = "31 all-reduces over two nodes on TCP, constants of the fabric calibrated there: median 4.6%, worst 15%."
#: Channels that reduce in the switches, of those there are; and what a tree reaches of a ring's bandwidth.
SWITCH_CHANNELS, TREE_SHARE = 15 / 16, 0.92


def all_to_all(ranks: Any, message: Any, bandwidth: Any, latency: Any) -> Any:
    """Pairwise all-to-all of ``message`` bytes per rank: each rank sends all but its own share."""
    return (ranks - 1) / ranks * message / bandwidth + (ranks - 1) * latency


def takes_whole_nodes(ranks: Any) -> Any:
    """Tell whether neighbouring ranks lie within one node, or fill whole nodes."""
    return (ranks <= n_node) | Eq(Mod(ranks, n_node), 0)


def near_ranks(ranks: Any, stride: Any) -> Any:
    """Ranks of a group within one node, given the stride between neighbours."""
    return Min(ranks, Max(1, when(Or(takes_whole_nodes(ranks * stride), n_seg <= 0), n_node, n_seg) / stride))


def meshed(near: Any, links: Any, span: Any) -> Any:
    """Bandwidth among devices of a node that has no switches, given the devices that the ranks span.

    In a mesh each has one link to each of the others. A part of a torus, as compact as can be, has one link to a side:
    a corner of it has one for each axis. All of a torus has all links.
    """
    mesh = Max(1, near - 1) / Max(1, n_mesh - 1)
    torus = Min(n_ax, Max(1, log(near) / log(2))) / (2 * n_ax)
    return links * Piecewise((mesh, n_mesh > 1), (torus, And(n_ax > 0, span < n_node)), (1, true))


def step_rate(ranks: Any, stride: Any, port: Any = beta_x) -> Any:
    """Bandwidth of one step to the next node, through one port.

    A ring enters a pod once, so as many ranks as a group has there share what the pod sends.
    """
    pod = Max(n_node, n_pod)
    return port * when(ranks * stride <= pod, 1, Min(1, Max(1, pod / stride) / oversubscription))


def ring_rate(ranks: Any, stride: Any, near: Any, links: Any) -> Any:
    """Bandwidth of rings through a group: bound by links, ports, and the oversubscribed level if crossed."""
    pod, ports = Max(n_node, n_pod), Min(links, near * beta_x)
    return when(
        ranks * stride <= n_node,
        links,
        when(ranks * stride <= pod, ports, Min(ports, Max(1, pod / stride) * beta_x / oversubscription)),
    )


def port_rate(ranks: Any, stride: Any, port: Any = beta_x) -> Any:
    """Bandwidth of one port if every rank sends to every other."""
    return port / when(ranks * stride <= Max(n_node, n_pod), 1, oversubscription)


def pass_steps(ranks: Any, near: Any) -> Any:
    """Latency of one pass: a step between nodes per further node, the other steps within nodes."""
    return (ranks - ranks / Max(1, near)) * alpha_node + (ranks / near - 1) * alpha


def chunk_latency(ranks: Any, near: Any, start: Any = tau_coll) -> Any:
    """Latency per chunk: start-up, and a step between nodes if there are several."""
    return start + when(ranks > near, alpha)


def pipelined(seconds: Any, latency: Any, guard: Any = 1) -> Any:
    """Transfer time in the optimal number of chunks, each with a latency; zero if that or a guard is zero."""
    return seconds + when(latency * guard > 0, sqrt(2 * latency * seconds))


def ring_pass(ranks: Any, message: Any, bandwidth: Any, steps: Any, chunk: Any) -> Any:
    """All-gather or reduce-scatter around a ring; the local share is copied at about twice the rate."""
    return tau_coll + steps + pipelined((ranks - 1 / 2) / ranks * message / bandwidth, chunk)


def two_protocols(ranks: Any, near: Any) -> Any:
    """Tell whether an all-reduce crosses a fabric with a separate protocol for short messages."""
    return And(ranks > near, beta_ll > 0)


def ring_all_reduce(ranks: Any, near: Any, message: Any, bandwidth: Any, steps: Any, chunk: Any) -> Any:
    """All-reduce around a ring: two passes, with one more step between nodes in each."""
    further = when(ranks > near, 2 * Max(0, alpha - alpha_node))
    wire = (2 * ranks - 3 / 2) / ranks * message / bandwidth
    usual = tau_coll + 2 * steps + further + pipelined(wire, chunk)
    return when(two_protocols(ranks, near), tau_bulk + wire, usual)


def tree_wire(ranks: Any, near: Any, message: Any, bandwidth: Any, links: Any) -> Any:
    """Transfer time of two trees, bound by links or ports; of two nodes each sends half up and half down."""
    passes = when(And(ranks > near, ranks <= 2 * near), 1, 2 / TREE_SHARE)
    return Max(passes * message / bandwidth, 2 / TREE_SHARE * message / links)


def tree_all_reduce(ranks: Any, near: Any, message: Any, wire: Any, chunk: Any) -> Any:
    """All-reduce over two trees between nodes, with a chain inside each.

    A fabric may have a protocol of short messages, which start at once and travel slowly: the faster one is taken.
    """
    steps = 2 * ((Max(1, near) - 1) * alpha_node + log(ranks / near) / log(2) * alpha)
    short, usual = steps + message / beta_ll, tau_coll + steps + pipelined(wire, chunk, guard=wire)
    return when(two_protocols(ranks, near), Min(short, tau_bulk + wire), usual)


def switch_all_reduce(ranks: Any, stride: Any, message: Any, otherwise: Any) -> Any:
    """All-reduce in the node's switches: a rank sends its buffer once, and receives its reduced share."""
    wire = (ranks + 1) / ranks * message / (beta_l * e_sw * SWITCH_CHANNELS)
    return when(And(ranks * stride <= n_node, e_sw > 0), tau_coll + tau_sw + pipelined(wire, tau_coll), otherwise)


def sent(ranks: Any, condition: Any, time: Any) -> Any:
    """Guard an exchange: zero for a single rank, or if nothing is sent."""
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

ranks_in_node = Formula(
    n_near,
    near_ranks(n_c, delta_c),
    title="Ranks of a group in one node",
    source=Source(THAKUR, "section 2"),
    assumes=IN_ORDER,
    example=Example({n_c: 64, n_node: 8, n_seg: 0, delta_c: 2}, "4", derived="min(64, max(1, 8 / 2))"),
)

group_links = Formula(
    beta_near,
    meshed(n_near, beta_l, n_near * delta_c),
    title="Bandwidth of a group's links in one node",
    source=NCCL,
    variant="ring",
    assumes=MESHES,
    accuracy=AMD,
    example=Example(
        {n_near: 4, delta_c: 1, n_node: 8, n_mesh: 8, n_ax: 0, beta_l: 387},
        "165.857 GB/s",
        derived="387 * (4 - 1) / (8 - 1)",
    ),
)

ports = Formula(
    beta_port,
    port_rate(n_c, delta_c),
    title="Bandwidth of a port where all send to all",
    source=NCCL,
    variant="collective",
    assumes="A group that leaves a pod shares the oversubscribed level with those beside it.",
    example=Example(
        {n_c: 64, delta_c: 1, n_node: 8, n_pod: 32, beta_x: 44, oversubscription: 4}, "11 GB/s", derived="44 / 4"
    ),
)

ring_bandwidth = Formula(
    beta_c,
    ring_rate(n_c, delta_c, n_near, beta_near),
    title="Bandwidth of a ring, by placement",
    source=NCCL,
    assumes="Over several nodes every rank in a node feeds a port of its own, and the node's links carry what all of "
    "them receive. Only a group that leaves a pod shares the oversubscribed level, with those beside it.",
    accuracy=DERIVED,
    example=Example(
        {n_c: 64, delta_c: 1, n_node: 8, beta_near: 387, n_near: 8, beta_x: 44.25, n_pod: 32, oversubscription: 4},
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

ring_reduction = Formula(
    T_ring,
    sent(n_c, V_c, ring_all_reduce(n_c, n_near, V_c, beta_c, alpha_c, tau_ch)),
    title="All-reduce around a ring",
    source=Source(THAKUR, "section 4.5"),
    assumes="A reduce-scatter and an all-gather, with one more step between nodes in each. Long messages alone, where "
    "short ones have a protocol of their own between nodes.",
    accuracy=DERIVED,
    example=Example(
        {n_c: 8, n_near: 8, V_c: 256, beta_c: 387, alpha_c: 6.16, tau_coll: 4.3, tau_ch: 4.3, alpha: 14,
         alpha_node: 0.88, beta_ll: 0, tau_bulk: 0},
        "1.31713 ms",
        derived="0.0043 + 2 * 0.00616 + 14.5 / 8 * 256 / 387 + sqrt(2 * 0.0043 * 14.5 / 8 * 256 / 387)",
    ),
)  # fmt: skip

tree_wire_time = Formula(
    T_wire,
    sent(n_c, V_c, tree_wire(n_c, n_near, V_c, beta_c, beta_near)),
    title="Two trees on links and ports",
    source=NCCL,
    assumes=TREE_WIRE,
    example=Example(
        {n_c: 64, n_near: 8, V_c: 256, beta_c: 354, beta_near: 387}, "1.5721 ms", derived="2 * 256 / (0.92 * 354)"
    ),
)

tree_reduction = Formula(
    T_tree,
    sent(n_c, V_c, tree_all_reduce(n_c, n_near, V_c, T_wire, tau_ch)),
    title="All-reduce over trees",
    source=NCCL,
    assumes=TREES,
    accuracy=TWO_NODES,
    example=Example(
        {n_c: 64, n_near: 8, V_c: 256, T_wire: 1.5721, tau_coll: 4.3, tau_ch: 18.3, alpha: 14, alpha_node: 0.88,
         beta_ll: 0, tau_bulk: 0},
        "1.91259 ms",
        derived="0.0043 + 2 * (7 * 0.00088 + 3 * 0.014) + 1.5721 + sqrt(2 * 0.0183 * 1.5721)",
    ),
)  # fmt: skip

switch_reduction = Formula(
    T_nvls,
    sent(n_c, V_c, switch_all_reduce(n_c, delta_c, V_c, T_ring)),
    title="All-reduce in the switches of a node",
    source=NCCL,
    assumes="A rank sends its buffer once and gets its reduced share back. Around a ring where the switches reduce "
    "nothing, and between nodes. Rates are those of NCCL's tuner, and not fitted.",
    accuracy="From 64 MiB, with a link class left out: median 7.1%.",
    example=Example(
        {
            n_c: 8,
            delta_c: 1,
            n_node: 8,
            V_c: 268.435456,
            beta_l: 387,
            tau_coll: 4.3,
            tau_sw: 25,
            e_sw: 0.85,
            T_ring: 1.4,
        },
        "1.1003 ms",
        derived="0.0043 + 0.025 + 9 / 8 * 268.435456 / (387 * 0.85 * 15 / 16) + sqrt(2 * 0.0043 * 9 / 8 * "
        "268.435456 / (387 * 0.85 * 15 / 16))",
    ),
)  # fmt: skip

reducing = Formula(
    T_c,
    Min(T_ring, T_tree, T_nvls),
    title="All-reduce",
    source=NCCL,
    variant="all_reduce",
    assumes="The fastest of a ring, two trees between nodes, and a reduction in the switches of a node.",
    accuracy=DERIVED,
    example=Example({T_ring: 1.32, T_tree: 1.5, T_nvls: 1.1}, "1.1 ms", derived="min(1.32, 1.5, 1.1)"),
)

exchange_on_wire = Formula(
    t_wire,
    Max((n_near - 1 / 2) / n_c * V_c / beta_near, (n_c - n_near) / n_c * V_c / beta_port),
    title="An all-to-all on links and ports",
    source=Source(THAKUR, "section 4.4"),
    variant="all_to_all",
    assumes="Each rank sends all but its own share, over links and ports at once, and copies that share.",
    example=Example(
        {n_c: 8, n_near: 8, V_c: 256, beta_near: 387, beta_port: 44}, "0.62016 ms", derived="7.5 / 8 * 256 / 387"
    ),
)

exchanging = Formula(
    T_c,
    sent(n_c, V_c, tau_ch + (n_c - 1) * alpha_aa + pipelined(t_wire, tau_ch, guard=t_wire)),
    title="All-to-all",
    source=Source(THAKUR, "section 4.4"),
    variant="all_to_all",
    accuracy="252 NCCL all-to-alls in a node: median 7.2%, at the links' share that rings reach. Between nodes "
    "derived, against no published row.",
    example=Example(
        {n_c: 8, V_c: 256, t_wire: 0.62, tau_ch: 6.2, alpha_aa: 0.3},
        "0.71598 ms",
        derived="0.0062 + 7 * 0.0003 + 0.62 + sqrt(2 * 0.0062 * 0.62)",
    ),
)

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

#: What any collective needs to know of links and fabric.
REACHED = (links_reached, fabric_reached)
_PLACED = (*REACHED, ranks_in_node, group_links, ring_bandwidth, ring_steps, chunk_start)
_ALL_REDUCE = (ring_reduction, tree_wire_time, tree_reduction, switch_reduction, reducing, bus_of_all_reduce)
_ALL_TO_ALL = (ranks_in_node, group_links, ports, exchange_start, exchange_on_wire, exchanging, bus_of_pass)
#: What an exchange of experts needs to know of ports.
PORTS = (fabric_reached, ranks_in_node, ports)
#: Formulas per kind of collective.
KINDS: dict[str, tuple[Formula, ...]] = {
    "all_reduce": (*_PLACED, *_ALL_REDUCE),
    "all_gather": (*_PLACED, gathering, bus_of_pass),
    "reduce_scatter": (*_PLACED, gathering, bus_of_pass),
    "all_to_all": (*REACHED, *_ALL_TO_ALL),
}
FORMULAS = (link_bandwidth, *dict.fromkeys(formula for kind in KINDS.values() for formula in kind))
