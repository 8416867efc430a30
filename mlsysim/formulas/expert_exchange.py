"""Expert exchange

Dispatch of tokens to their experts, and combination of the results. A token is sent once to each node with one of its
experts and forwarded over the node's links; the low-latency mode sends it once per expert. Routing may limit the number
of nodes per token.
"""

from __future__ import annotations

from typing import Any

from mlsysim.formulas.collectives import DEEPEP, EXCHANGES, meshed
from mlsysim.symbolic import Example, Formula, Max, Min, Source, token, when
from mlsysim.symbols.formats import q_comb, q_disp
from mlsysim.symbols.hardware import beta_node, n_node
from mlsysim.symbols.network import (
    T_c,
    X_l,
    X_x,
    b_copy,
    beta_a,
    beta_near,
    beta_port,
    delta_c,
    eta_a,
    m_N,
    m_R,
    n_ax,
    n_c,
    n_mesh,
    n_near,
    n_open,
    node_limit,
    tau_0,
)
from mlsysim.symbols.routing import n_rank
from mlsysim.symbols.workload import h, k


def distinct(places: Any, choices: Any) -> Any:
    """Expected number of distinct destinations of several equally likely choices."""
    return places * (1 - (1 - 1 / places) ** choices)


def limited_nodes(nodes: Any) -> Any:
    """Nodes among which the experts of one token may lie."""
    return Max(1, when(node_limit > 0, Min(node_limit, nodes), nodes))


exchange_links_reached = Formula(
    beta_a,
    eta_a * beta_node,
    title="Bandwidth an exchange of experts reaches within a node",
    source=DEEPEP,
    accuracy=EXCHANGES,
    example=Example({eta_a: 0.67, beta_node: 200}, "134 GB/s", derived="0.67 * 200"),
)

exchange_links = Formula(
    beta_near,
    meshed(n_near, beta_a, n_near * delta_c),
    title="Bandwidth of a group's links in one node, for an exchange of experts",
    source=DEEPEP,
    variant="normal",
    example=Example(
        {n_near: 4, delta_c: 1, n_node: 8, n_mesh: 8, n_ax: 0, beta_a: 134},
        "57.4286 GB/s",
        derived="134 * (4 - 1) / (8 - 1)",
    ),
)

reachable = Formula(
    n_open,
    limited_nodes(n_c / n_near),
    title="Nodes that the experts of one token may stand in",
    source=Source("deepseek2024", "section 2.1.2"),
    variant="collective",
    example=Example({n_c: 64, n_near: 8, node_limit: 4}, "4", derived="min(4, 64 / 8)"),
)

distinct_nodes = Formula(
    m_N,
    distinct(n_open, k),
    title="Nodes that one token goes to",
    source=Source("deepseek2024", "section 2.1.2"),
    assumes="Experts are drawn with replacement, all alike.",
    example=Example({n_open: 4, k: 8}, "3.5995", derived="4 * (1 - (1 - 1 / 4)**8)"),
)

distinct_ranks = Formula(
    m_R,
    distinct(Max(1, n_near * n_open), k),
    title="Ranks that one token goes to",
    source=Source("deepseek2024", "section 2.1.2"),
    variant="collective",
    assumes="Experts are drawn with replacement, all alike.",
    example=Example({n_near: 8, n_open: 4, k: 8}, "7.1776", derived="32 * (1 - (1 - 1 / 32)**8)"),
)

dispatched_copy = Formula(
    b_copy,
    q_disp * h / token,
    title="One token on the way to its experts",
    source=Source("deepseek2024", "section 3.3.2"),
    variant="dispatch",
    example=Example({q_disp: 1.03125, h: 7168}, "7392 byte/token", derived="7168 * (1 + 4 / 128)"),
)

combined_copy = Formula(
    b_copy,
    q_comb * h / token,
    title="One token on the way back",
    source=Source("deepseek2024", "section 3.3.2"),
    variant="combine",
    example=Example({q_comb: 2, h: 7168}, "14336 byte/token", derived="2 * 7168"),
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
    when(n_c > 1, Max(X_x / beta_port, X_l / beta_near) + tau_0),
    title="Exchange of experts",
    source=DEEPEP,
    variant="normal",
    assumes="Ports and links work at once.",
    accuracy=EXCHANGES,
    example=Example(
        {n_c: 64, X_x: 95.37, beta_port: 44.25, X_l: 190.16, beta_near: 134, tau_0: 30},
        "2.1853 ms",
        derived="max(95.37 / 44.25, 190.16 / 134) + 0.03",
    ),
)

_LINKS = (exchange_links_reached, exchange_links)
_FORWARDED = (reachable, distinct_nodes, distinct_ranks, forwarded_fabric, forwarded_links, expert_exchange)
_DIRECT = (direct_fabric, direct_links, expert_exchange)
#: Formulas per kind of exchange, beside those of ports.
KINDS: dict[str, tuple[Formula, ...]] = {
    "dispatch": (*_LINKS, dispatched_copy, *_FORWARDED),
    "combine": (*_LINKS, combined_copy, *_FORWARDED),
    "low_latency_dispatch": (*_LINKS, dispatched_copy, *_DIRECT),
    "low_latency_combine": (*_LINKS, combined_copy, *_DIRECT),
}
FORMULAS = (
    exchange_links_reached,
    exchange_links,
    reachable,
    distinct_nodes,
    distinct_ranks,
    dispatched_copy,
    combined_copy,
    forwarded_fabric,
    forwarded_links,
    direct_fabric,
    direct_links,
    expert_exchange,
)
