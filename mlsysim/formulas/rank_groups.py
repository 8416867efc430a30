"""Groups of ranks

Ranks of a training step form groups by what they share: a layer, a sequence, weights, experts. Each kind of group has
the placement of its ranks, the bandwidth of a ring among them, the bytes exchanged, and the time per exchange. Ranks
are numbered tensor-parallel first, then context- and data-parallel, stages last; for experts the ranks of a stage are
renumbered expert-tensor-parallel, expert-parallel, expert-data-parallel.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Or

from mlsysim.formulas import optimizer_states, rank_parameters, trained_parameters
from mlsysim.formulas.collectives import (
    AMD,
    DERIVED,
    EXCHANGES,
    IN_ORDER,
    MESHES,
    NCCL,
    TREE_WIRE,
    TREES,
    TWO_NODES,
    chunk_latency,
    meshed,
    near_ranks,
    pass_steps,
    port_rate,
    ring_all_reduce,
    ring_pass,
    ring_rate,
    sent,
    switch_all_reduce,
    tree_all_reduce,
    tree_wire,
)
from mlsysim.formulas.expert_exchange import distinct, limited_nodes
from mlsysim.formulas.moe_routing import PADDED
from mlsysim.formulas.rank_parameters import EDGE_WIDTH, most
from mlsysim.symbolic import Example, Formula, Max, Min, Source, by_member, token, total, when
from mlsysim.symbols.activations import P_ends, sequence_parallel, sigma, sigma_e
from mlsysim.symbols.formats import q_a, q_e, q_u, q_w
from mlsysim.symbols.groups import (
    REPLICAS,
    S_g,
    V_g,
    X_l_i,
    X_x_i,
    alpha_g,
    beta_g,
    delta_g,
    exchange,
    group,
    h_kv,
    links_g,
    n_g,
    nu_g,
    q_x,
    t_ag_g,
    t_ar_g,
    t_ring_g,
    t_rs_g,
    t_sum,
    t_sw_g,
    t_tree_g,
    t_wire_g,
    t_x,
    tau_g,
)
from mlsysim.symbols.hardware import alpha, alpha_node, n_node, n_seg, oversubscription
from mlsysim.symbols.network import (
    beta_a,
    beta_l,
    beta_ll,
    beta_near,
    beta_port,
    beta_x,
    e_sw,
    m_N,
    m_R,
    n_ax,
    n_mesh,
    n_open,
    n_pod,
    node_limit,
    tau_0,
    tau_bulk,
    tau_coll,
    tau_sw,
)
from mlsysim.symbols.routing import gamma_r, n_rank, pad
from mlsysim.symbols.step import q_red, t_ag, t_ar, t_rs
from mlsysim.symbols.trained import X_O, T_d, T_s, X_d, X_ends, X_s, X_td, X_ts, f_w, q_t
from mlsysim.symbols.training import O, P_dense, P_sparse, Z, e, m, n_tok, n_z, t
from mlsysim.symbols.workload import h, h_e, k, s

THAKUR = "thakur2005"
DEEPSEEK = Source("deepseek2024", "section 3.2.2")
_hidden = q_a * h * n_tok / token

stride = Formula(
    delta_g[group],
    by_member(tp=1, cp=t, dp=t, etp=1, edp=n_g["etp"] * e, ep=n_g["etp"], rep=t * n_z),
    title="How far apart the ranks of a group stand",
    source=Source("narayanan2021", "section 3"),
    assumes="Tensor-parallel ranks are neighbours, also those of an expert; those that share experts stand apart by "
    "all that do not, and replicas of what ZeRO shards by all its shards.",
    example=Example({n_g["etp"]: 8, e: 4}, "32", derived="8 * 4", member="edp"),
)

ranks_per_node = Formula(
    nu_g[group],
    near_ranks(n_g[group], delta_g[group]),
    title="Ranks of one group in one node",
    source=Source(THAKUR, "section 2"),
    assumes=IN_ORDER,
    example=Example({n_g[group]: 64, n_node: 8, n_seg: 0, delta_g[group]: 2}, "4", derived="min(64, max(1, 8 / 2))"),
)

group_links = Formula(
    links_g[group],
    meshed(nu_g[group], beta_l, nu_g[group] * delta_g[group]),
    title="Bandwidth of one group's links in one node",
    source=NCCL,
    assumes=MESHES,
    accuracy=AMD,
    example=Example(
        {nu_g[group]: 4, delta_g[group]: 1, n_node: 8, n_mesh: 8, n_ax: 0, beta_l: 387},
        "165.857 GB/s",
        derived="387 * (4 - 1) / (8 - 1)",
    ),
)

ring_bandwidth = Formula(
    beta_g[group],
    ring_rate(n_g[group], delta_g[group], nu_g[group], links_g[group]),
    title="Bandwidth of a ring of one group",
    source=NCCL,
    assumes="Over several nodes every rank of the group in a node feeds a port of its own, and the node's links carry "
    "what all of them receive. Only a group that leaves a pod shares the oversubscribed level, with those beside it.",
    example=Example(
        {n_g[group]: 64, delta_g[group]: 2, n_node: 8, links_g[group]: 387, nu_g[group]: 4, beta_x: 44, n_pod: 32,
         oversubscription: 7},
        "100.57 GB/s",
        derived="min(387, 4 * 44, 32 / 2 * 44 / 7)",
    ),
)  # fmt: skip

ring_latency = Formula(
    alpha_g[group],
    pass_steps(n_g[group], nu_g[group]),
    title="Steps of one pass through a group",
    source=NCCL,
    assumes="As many steps between nodes as there are further nodes, the others within nodes.",
    example=Example(
        {n_g[group]: 64, nu_g[group]: 4, alpha: 14, alpha_node: 0.9},
        "253.2 µs",
        derived="(64 - 64 / 4) * 0.9 + (64 / 4 - 1) * 14",
    ),
)

chunk_start = Formula(
    tau_g[group],
    chunk_latency(n_g[group], nu_g[group]),
    title="What a chunk of one group costs",
    source=Source(THAKUR, "section 2"),
    example=Example({n_g[group]: 64, nu_g[group]: 4, tau_coll: 6, alpha: 14}, "20 µs", derived="6 + 14"),
)


def routed_copies(load: Any) -> Any:
    """Bytes of routed tokens that the ranks of an expert gather, at this load."""
    return load * k * n_g["etp"] * n_rank * (q_x["dispatch"] + q_x["combine"]) / 2 * h_e / token


_COUNTS = frozenset((*rank_parameters.FORMULAS, *trained_parameters.FORMULAS, *optimizer_states.FORMULAS))


def _largest(symbol: Any, own: Any, title: str) -> Formula:
    """Largest amount that a rank of a pipeline exchanges or updates, for which all others wait."""
    return Formula(
        symbol,
        most(own, _COUNTS),
        title=title,
        source=Source("narayanan2021", "section 2.2"),
        assumes="Of both ends of a pipeline and the second stage. With two stages a rank, between the ends.",
        no_example="the most of three ranks, whose parts have examples",
    )


largest_dense = _largest(X_d, P_dense, "The most parameters of a rank that are not experts")
largest_experts = _largest(X_s, P_sparse, "The most expert parameters of a rank")
largest_edges = _largest(X_ends, P_ends, "The most parameters of a rank outside the layers")
largest_dense_trained = _largest(X_td, T_d, "The most trained parameters of a rank that are not of experts")
largest_experts_trained = _largest(X_ts, T_s, "The most trained parameters of experts of a rank")
largest_state = _largest(X_O, O, "The most optimizer state of a rank")
#: What is exchanged and updated.
MOST = (
    largest_dense,
    largest_experts,
    largest_edges,
    largest_dense_trained,
    largest_experts_trained,
    largest_state,
)

message = Formula(
    V_g[group],
    by_member(
        tp=_hidden,
        cp=q_a * h_kv * m * s / token,
        dp=when(Z >= 3, q_u * X_d, q_t * X_td) + when(Z >= 3, EDGE_WIDTH - q_u, f_w * (q_e - q_w)) * X_ends,
        edp=when(Z >= 3, q_u * X_s, q_t * X_ts),
        etp=when(
            And(sequence_parallel > 0, Or(e > 1, sigma_e > 1)),
            routed_copies(gamma_r),
        ),
    ),
    title="What an exchange of a group is about",
    source=Source("narayanan2021", "section 3"),
    assumes="Hidden states of a micro-batch among tensor-parallel ranks; its keys and values among context-parallel "
    "ones; weights among those that hold the same, of experts apart: all of them in ZeRO-3, before it those that an "
    "update changed. Where each tensor-parallel rank brings tokens of its own, those that an expert is cut over gather "
    "what was dispatched to any of them: every copy of a token, in the mean of the formats there and back.",
    example=Example({q_a: 2, h: 4096, n_tok: 8192}, "67.108864 MB", derived="2 * 4096 * 8192 / 1e6", member="tp"),
)

summed = Formula(
    S_g[group],
    by_member(tp=V_g["tp"], dp=q_red * X_td, edp=q_red * X_ts, rep=q_red * (X_td + n_z / n_g["edp"] * X_ts) / n_z),
    title="What is summed over a group",
    source=Source("rajbhandari2020", "section 7"),
    assumes="Hidden states over tensor-parallel ranks, gradients over those that hold the same weights, and the share "
    "of each rank once more over the replicas.",
    example=Example({q_red: 4, X_td: 2e9}, "8000 MB", derived="4 * 2e9 / 1e6", member="dp"),
)

gather_time = Formula(
    t_ag_g[group],
    sent(n_g[group], V_g[group], ring_pass(n_g[group], V_g[group], beta_g[group], alpha_g[group], tau_g[group])),
    title="One all-gather around a group",
    source=Source(THAKUR, "section 4.1"),
    assumes="A reduce-scatter of the same bytes takes as long.",
    accuracy=DERIVED,
    example=Example(
        {n_g[group]: 64, V_g[group]: 640, beta_g[group]: 150, alpha_g[group]: 81, tau_coll: 6, tau_g[group]: 20},
        "4.7318 ms",
        derived="0.006 + 0.081 + 63.5 / 64 * 640 / 150 + sqrt(2 * 0.02 * 63.5 / 64 * 640 / 150)",
    ),
)  # fmt: skip

reduction_time = Formula(
    t_rs_g[group],
    sent(n_g[group], S_g[group], ring_pass(n_g[group], S_g[group], beta_g[group], alpha_g[group], tau_g[group])),
    title="One reduce-scatter around a group",
    source=Source(THAKUR, "section 4.3"),
    accuracy=DERIVED,
    example=Example(
        {n_g[group]: 64, S_g[group]: 8000, beta_g[group]: 150, alpha_g[group]: 81, tau_coll: 6, tau_g[group]: 20},
        "54.4585 ms",
        derived="0.006 + 0.081 + 63.5 / 64 * 8000 / 150 + sqrt(2 * 0.02 * 63.5 / 64 * 8000 / 150)",
    ),
)  # fmt: skip

ring_reduction = Formula(
    t_ring_g[group],
    sent(
        n_g[group],
        S_g[group],
        ring_all_reduce(n_g[group], nu_g[group], S_g[group], beta_g[group], alpha_g[group], tau_g[group]),
    ),
    title="One all-reduce of one group around a ring",
    source=Source(THAKUR, "section 4.5"),
    assumes="A reduce-scatter and an all-gather, with one more step between nodes in each. Long messages alone, where "
    "short ones have a protocol of their own between nodes.",
    accuracy=DERIVED,
    example=Example(
        {n_g[group]: 8, nu_g[group]: 8, S_g[group]: 256, beta_g[group]: 387, alpha_g[group]: 6.16, tau_coll: 4.3,
         tau_g[group]: 4.3, alpha: 14, alpha_node: 0.88, beta_ll: 0, tau_bulk: 0},
        "1.31713 ms",
        derived="0.0043 + 2 * 0.00616 + 14.5 / 8 * 256 / 387 + sqrt(2 * 0.0043 * 14.5 / 8 * 256 / 387)",
    ),
)  # fmt: skip

tree_wire_time = Formula(
    t_wire_g[group],
    sent(n_g[group], S_g[group], tree_wire(n_g[group], nu_g[group], S_g[group], beta_g[group], links_g[group])),
    title="Two trees of one group on links and ports",
    source=NCCL,
    assumes=TREE_WIRE,
    example=Example(
        {n_g[group]: 64, nu_g[group]: 8, S_g[group]: 256, beta_g[group]: 354, links_g[group]: 387},
        "1.5721 ms",
        derived="2 * 256 / (0.92 * 354)",
    ),
)

tree_reduction = Formula(
    t_tree_g[group],
    sent(
        n_g[group],
        S_g[group],
        tree_all_reduce(n_g[group], nu_g[group], S_g[group], t_wire_g[group], tau_g[group]),
    ),
    title="One all-reduce of one group over trees",
    source=NCCL,
    assumes=TREES,
    accuracy=TWO_NODES,
    example=Example(
        {n_g[group]: 64, nu_g[group]: 8, S_g[group]: 256, t_wire_g[group]: 1.5721, tau_coll: 4.3, tau_g[group]: 18.3,
         alpha: 14, alpha_node: 0.88, beta_ll: 0, tau_bulk: 0},
        "1.91259 ms",
        derived="0.0043 + 2 * (7 * 0.00088 + 3 * 0.014) + 1.5721 + sqrt(2 * 0.0183 * 1.5721)",
    ),
)  # fmt: skip

switch_reduction = Formula(
    t_sw_g[group],
    sent(n_g[group], S_g[group], switch_all_reduce(n_g[group], delta_g[group], S_g[group], t_ring_g[group])),
    title="One all-reduce of one group in the switches of a node",
    source=NCCL,
    assumes="A rank sends its buffer once and gets its reduced share back. Around a ring where the switches reduce "
    "nothing, and between nodes. Rates are those of NCCL's tuner, and not fitted.",
    accuracy="From 64 MiB, with a link class left out: median 7.1%.",
    example=Example(
        {n_g[group]: 8, delta_g[group]: 1, n_node: 8, S_g[group]: 268.435456, beta_l: 387, tau_coll: 4.3, tau_sw: 25,
         e_sw: 0.85, t_ring_g[group]: 1.4},
        "1.1003 ms",
        derived="0.0043 + 0.025 + 9 / 8 * 268.435456 / (387 * 0.85 * 15 / 16) + sqrt(2 * 0.0043 * 9 / 8 * "
        "268.435456 / (387 * 0.85 * 15 / 16))",
    ),
)  # fmt: skip

all_reduce_time = Formula(
    t_ar_g[group],
    Min(t_ring_g[group], t_tree_g[group], t_sw_g[group]),
    title="One all-reduce of one group",
    source=NCCL,
    assumes="The fastest of a ring, two trees between nodes, and a reduction in the switches of a node.",
    accuracy=DERIVED,
    example=Example(
        {t_ring_g[group]: 1.32, t_tree_g[group]: 1.5, t_sw_g[group]: 1.1},
        "1.1 ms",
        derived="min(1.32, 1.5, 1.1)",
    ),
)

sum_time = Formula(
    t_sum,
    when(sequence_parallel > 0, 2 * t_ag_g["tp"], t_ar_g["tp"]),
    title="Hidden states summed among tensor-parallel ranks",
    source=Source("shoeybi2019", "section 3"),
    assumes="An all-reduce; with sequence parallelism a reduce-scatter and an all-gather.",
    example=Example(
        {sequence_parallel: 0, t_ag_g["tp"]: 0.4, t_ar_g["tp"]: 0.56}, "0.56 ms", derived="(1 - 0) * 0.56 + 0 * 0.4"
    ),
)

exchange_links = Formula(
    beta_near,
    meshed(nu_g["ep"], beta_a, nu_g["ep"] * delta_g["ep"]),
    title="Bandwidth of an expert-parallel group's links in one node",
    source=NCCL,
    variant="step",
    example=Example(
        {nu_g["ep"]: 4, delta_g["ep"]: 1, n_node: 8, n_mesh: 8, n_ax: 0, beta_a: 134},
        "57.4286 GB/s",
        derived="134 * (4 - 1) / (8 - 1)",
    ),
)

exchange_ports = Formula(
    beta_port,
    port_rate(n_g["ep"], delta_g["ep"]),
    title="Bandwidth of a port where an expert-parallel group exchanges",
    source=NCCL,
    variant="step",
    assumes="A group that leaves a pod shares the oversubscribed level with those beside it.",
    example=Example(
        {n_g["ep"]: 64, delta_g["ep"]: 1, n_node: 8, n_pod: 32, beta_x: 44, oversubscription: 4},
        "11 GB/s",
        derived="44 / 4",
    ),
)

reachable = Formula(
    n_open,
    limited_nodes(n_g["ep"] / nu_g["ep"]),
    title="Nodes of a group that the experts of one token may stand in",
    source=Source("deepseek2024", "section 2.1.2"),
    variant="step",
    example=Example({n_g["ep"]: 64, nu_g["ep"]: 8, node_limit: 4}, "4", derived="min(4, 64 / 8)"),
)

distinct_ranks = Formula(
    m_R,
    distinct(Max(1, nu_g["ep"] * n_open), k),
    title="Ranks of a group that one token goes to",
    source=Source("deepseek2024", "section 2.1.2"),
    variant="step",
    assumes="Experts are drawn with replacement, all alike.",
    example=Example({nu_g["ep"]: 8, n_open: 4, k: 8}, "7.1776", derived="32 * (1 - (1 - 1 / 32)**8)"),
)

exchanged_tokens = Formula(
    n_rank,
    n_tok / Max(sigma, sigma_e),
    title="Tokens of a micro-batch that one rank brings to an exchange",
    source=Source("fedus2022", "section 5.5"),
    variant="step",
    assumes="Sequence parallelism leaves each rank its own tokens; without it tensor-parallel ranks that no expert is "
    "cut over send a share each of the tokens that all of them hold.",
    example=Example({n_tok: 8192, sigma: 8, sigma_e: 1}, "1024 token", derived="8192 / max(8, 1)"),
)

#: Bytes of one copy of the tokens that the hot rank exchanges.
COPIES = gamma_r * n_rank * q_x[exchange] * h_e / token


def _sent(places: Any) -> Any:
    """Copies of a token: one per destination, or one per expert if all send their full capacity."""
    return when(PADDED, k, places)


through_port = Formula(
    X_x_i[exchange],
    COPIES * _sent(m_N) * (1 - nu_g["ep"] / n_g["ep"]),
    title="What an exchange sends through the port of a rank",
    source=DEEPSEEK,
    variant="step",
    assumes="One copy of a token for each node that holds one of its experts, sent on over the links there. The hot "
    "rank has the most. Where experts are padded to their capacity, every copy travels by itself.",
    example=Example(
        {
            gamma_r: 1.25,
            n_rank: 1024,
            q_x[exchange]: 2,
            h_e: 4096,
            pad: 0,
            k: 8,
            m_N: 3.5995,
            nu_g["ep"]: 8,
            n_g["ep"]: 64,
        },
        "33.026 MB",
        derived="1.25 * 1024 * 2 * 4096 * 3.5995 * (1 - 8 / 64) / 1e6",
    ),
)

over_links = Formula(
    X_l_i[exchange],
    COPIES * _sent(m_R) * (1 - 1 / Max(1, nu_g["ep"])),
    title="What an exchange sends over the links of a rank",
    source=DEEPSEEK,
    variant="step",
    assumes="One copy of a token for each rank that holds one of its experts. The hot rank has the most.",
    example=Example(
        {gamma_r: 1.25, n_rank: 1024, q_x[exchange]: 2, h_e: 4096, pad: 0, k: 8, m_R: 7.1776, nu_g["ep"]: 8},
        "65.8548 MB",
        derived="1.25 * 1024 * 2 * 4096 * 7.1776 * (1 - 1 / 8) / 1e6",
    ),
)

exchange_time = Formula(
    t_x[exchange],
    when(n_g["ep"] > 1, Max(X_x_i[exchange] / beta_port, X_l_i[exchange] / beta_near) + tau_0),
    title="One exchange of experts",
    source=DEEPSEEK,
    assumes="Ports and links work at once.",
    accuracy=EXCHANGES,
    example=Example(
        {n_g["ep"]: 64, X_x_i[exchange]: 78.739, beta_port: 44, X_l_i[exchange]: 157.01, beta_near: 134, tau_0: 30},
        "1.8195 ms",
        derived="max(78.739 / 44, 157.01 / 134) + 0.03",
    ),
)

gradient_reduction = Formula(
    t_rs,
    total(group, t_rs_g[group], over=REPLICAS) + t_ar_g["rep"],
    title="One reduce-scatter of all gradients",
    source=Source("rajbhandari2020", "section 7"),
    assumes="Dense gradients over all ranks that hold them; those of an expert over those that hold it. Where there "
    "are replicas, the shards are all-reduced over them.",
    example=Example({t_rs_g["dp"]: 52, t_rs_g["edp"]: 38, t_ar_g["rep"]: 10}, "100 ms", derived="52 + 38 + 10"),
)

gradient_sum = Formula(
    t_ar,
    total(group, t_ar_g[group], over=(*REPLICAS, "rep")),
    title="One all-reduce of all gradients",
    source=Source("rajbhandari2020", "section 7"),
    assumes="Where there are replicas, each rank's share is summed over them in between.",
    example=Example({t_ar_g["dp"]: 90, t_ar_g["edp"]: 70, t_ar_g["rep"]: 10}, "170 ms", derived="90 + 70 + 10"),
)

weight_gather = Formula(
    t_ag,
    total(group, t_ag_g[group], over=REPLICAS),
    title="One all-gather of weights",
    source=Source("rajbhandari2020", "section 7"),
    example=Example({t_ag_g["dp"]: 26, t_ag_g["edp"]: 19}, "45 ms", derived="26 + 19"),
)

#: From the ranks of a group in a node, and the tokens each brings, to the time of an exchange.
EXCHANGE = (
    exchange_links,
    exchange_ports,
    reachable,
    distinct_ranks,
    through_port,
    over_links,
    exchange_time,
)
FORMULAS = (
    *MOST,
    stride,
    ranks_per_node,
    group_links,
    ring_bandwidth,
    ring_latency,
    chunk_start,
    message,
    summed,
    gather_time,
    reduction_time,
    ring_reduction,
    tree_wire_time,
    tree_reduction,
    switch_reduction,
    all_reduce_time,
    sum_time,
    exchange_links,
    exchange_ports,
    reachable,
    distinct_ranks,
    exchanged_tokens,
    through_port,
    over_links,
    exchange_time,
    gradient_reduction,
    gradient_sum,
    weight_gather,
)
