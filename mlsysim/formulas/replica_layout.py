"""Layout of a replica

A replica may span many accelerators. Attention ranks hold their own requests and caches, each on several
tensor-parallel ranks; experts are spread over ranks of several attention ranks, to which tokens travel and return.
Pipeline stages work on different groups of requests at a time. With two micro-batches, one computes while the other
exchanges. With one of each, nothing on this page adds anything.
"""

from __future__ import annotations

from typing import Any

from sympy import Piecewise, ceiling, floor

from mlsysim.formulas.collectives import EXCHANGES
from mlsysim.formulas.expert_exchange import DEEPEP
from mlsysim.formulas.moe_routing import ROUTED
from mlsysim.formulas.pipeline_schedule import handed_on
from mlsysim.formulas.rank_groups import COPIES
from mlsysim.symbolic import Example, Formula, Max, Min, Source, byte, evaluated_at, request, token, total, when
from mlsysim.symbols.deployment import d_P, d_pre, e_P, e_pre, g_P, p_P, p_pre, t_P, t_pre
from mlsysim.symbols.formats import q_er
from mlsysim.symbols.groups import X_l_i, X_x_i, exchange, n_g, nu_g, q_x, t_x
from mlsysim.symbols.hardware import alpha, alpha_node, n_node, oversubscription, tau_layer
from mlsysim.symbols.iteration import (
    E_red,
    N_exp,
    N_it,
    W_rep,
    d_a,
    gamma_s,
    h_c,
    n_dec,
    n_dec_r,
    n_grp,
    n_pro,
    n_pro_r,
    p_busy,
    t_act,
    t_den,
    t_even,
    t_exp,
    t_head,
    t_hop,
    t_kind,
    t_kv,
    t_moe,
    t_pat,
    t_red,
)
from mlsysim.symbols.layers import two
from mlsysim.symbols.lora import t_lo
from mlsysim.symbols.network import beta_l, beta_x, m_N, m_R, n_ax, n_mesh, n_pod
from mlsysim.symbols.parameters import P_exp
from mlsysim.symbols.routing import gamma_r, n_rank
from mlsysim.symbols.serving import W_s
from mlsysim.symbols.step import t_send
from mlsysim.symbols.training import e, p, t
from mlsysim.symbols.workload import E, L, L_moe, gamma, h, h_e, k, s

DAY_SIX = Source("deepseek2025", "day 6: decoding by EP144")
DISTSERVE = Source("zhong2024", "section 3.1")
COLOCATED, DISAGGREGATED = "colocated", "disaggregated"
#: Bytes of one number between stages, whatever the products are computed in.
_WIDE = 2 * byte
#: Accelerators of one engine, experts of a layer with those held twice, and ranks that an expert group stands on.
ACCELERATORS = t * p * d_a
SLOTS = E + E_red
EXPERT_RANKS = Max(t, e)
#: What the layers of a pass take one after the other, without the head.
LAYERS = t_den + t_exp + t_act + t_kv + t_pat + t_red + t_lo + L * tau_layer + t_kind


def tokens(decoding: Any, prompts: Any) -> Any:
    """Tokens of decoding requests and prompts, with drafted tokens and without cached ones."""
    return decoding * (1 + gamma_s) * token / request + prompts * s * (1 - h_c) / request


def _share(requests: Any) -> Any:
    return Min(requests, Max(request, requests / n_grp))


request_groups = Formula(
    n_grp,
    p * d_a * (1 + two),
    title="Groups that the requests of an engine are spread over",
    source=DISTSERVE,
    assumes="Each stage works on a group of its own, each attention rank has requests of its own, and two "
    "micro-batches share those of a rank.",
    example=Example({p: 2, d_a: 8, two: 1}, "32", derived="2 * 8 * 2"),
)

group_requests = Formula(
    n_dec_r,
    _share(n_dec),
    title="Requests of one group that decode",
    source=DISTSERVE,
    assumes="They are spread evenly; where there are fewer than groups, the group that has one sets the time.",
    example=Example({n_dec: 256, n_grp: 32}, "8 request", derived="256 / 32"),
)

group_prompts = Formula(
    n_pro_r,
    _share(n_pro),
    title="Prompts of one group that are prefilled",
    source=DISTSERVE,
    assumes="As for requests that decode: a prompt is not cut.",
    example=Example({n_pro: 1, n_grp: 8}, "1 request", derived="max(1, 1 / 8)"),
)

busy_stages = Formula(
    p_busy,
    when(p > 1, Max(1, Min(p, p * Max(n_dec, n_pro) / (n_grp * request))), 1),
    title="Stages that have a group of requests at work",
    source=DISTSERVE,
    assumes="Fewer requests than groups leave stages idle: one request is in one stage at a time.",
    example=Example({p: 8, n_dec: 3, n_pro: 1, n_grp: 8}, "3", derived="8 * 3 / 8"),
)

expert_group_tokens = Formula(
    N_exp,
    tokens(n_dec, n_pro) * Max(1, e / t) / n_grp * (p / p_busy),
    title="Tokens of all ranks that share experts",
    source=DAY_SIX,
    assumes="Experts stand on the ranks of several attention ranks, or of one.",
    example=Example(
        {n_dec: 12672, n_pro: 0, gamma_s: 0, s: 1000, h_c: 0, e: 144, t: 1, n_grp: 144, p: 1, p_busy: 1},
        "12672 token",
        derived="12672 * 144 / 144",
    ),
)

replica_weights = Formula(
    W_rep,
    d_a * Max(0, W_s - q_er * L_moe * P_exp * (E - SLOTS * t / EXPERT_RANKS)),
    title="Weights that the accelerators of an engine hold together",
    source=DAY_SIX,
    assumes="Attention ranks hold copies of everything but experts; those of a layer stand once on each group of ranks "
    "that shares them, some of them twice.",
    example=Example(
        {d_a: 4, W_s: 100, q_er: 1, L_moe: 10, P_exp: 1e8, E: 80, E_red: 0, t: 1, e: 4},
        "160 GB",
        derived="4 * (100 - 80) + 80",
    ),
)

dropless_hot_rank = Formula(
    gamma_r,
    ROUTED,
    title="Tokens the hot rank computes over the mean, where none is dropped",
    source=Source("fedus2022", "section 2.2"),
    variant="iteration",
    assumes="At most every token goes to the rank, once for each of its experts.",
    example=Example({gamma: 1.25, e: 8, E: 64, k: 2}, "1.25", derived="min(1.25, 8, 64 / 2)"),
)

exchanged_tokens = Formula(
    n_rank,
    N_it / t,
    title="Tokens of an iteration that one rank brings to an exchange",
    source=Source("fedus2022", "section 5.5"),
    variant="iteration",
    assumes="Tensor-parallel ranks, which all have the same tokens, send a share each.",
    example=Example({N_it: 128, t: 2}, "64 token", derived="128 / 2"),
)

through_port = Formula(
    X_x_i[exchange],
    COPIES * when(n_pro > 0, m_N, k) * (1 - nu_g["ep"] / n_g["ep"]),
    title="What an exchange of an iteration sends through the port of a rank",
    source=DEEPEP,
    variant="iteration",
    assumes="With prompts a copy per node that a token goes to, sent on over the links there. A decode step is "
    "exchanged at low latency: a copy per expert.",
    example=Example(
        {gamma_r: 1, n_rank: 88, q_x[exchange]: 1.03125, h_e: 7168, n_pro: 0, m_N: 3.6, k: 8, nu_g["ep"]: 8,
         n_g["ep"]: 144},
        "4.9149 MB",
        derived="88 * 1.03125 * 7168 * 8 * (1 - 8 / 144) / 1e6",
    ),
)  # fmt: skip

over_links = Formula(
    X_l_i[exchange],
    COPIES * (1 - 1 / Max(1, nu_g["ep"])) * Piecewise((m_R, n_pro > 0), (k, n_g["ep"] <= nu_g["ep"]), (0, True)),
    title="What an exchange of an iteration sends over the links of a rank",
    source=DEEPEP,
    variant="iteration",
    assumes="With prompts a copy per rank that a token goes to. At low latency a copy per expert; what stays in the "
    "node is not seen beside the port.",
    example=Example(
        {gamma_r: 1, n_rank: 4096, q_x[exchange]: 1.03125, h_e: 7168, n_pro: 1, m_R: 7.1776, k: 8, nu_g["ep"]: 8,
         n_g["ep"]: 32},
        "190.16 MB",
        derived="4096 * 1.03125 * 7168 * 7.1776 * (1 - 1 / 8) / 1e6",
    ),
)  # fmt: skip

exchange_time = Formula(
    t_moe,
    when(e > t, L_moe * total(exchange, t_x[exchange]), 0),
    title="Exchanges of experts of one micro-batch",
    source=DAY_SIX,
    assumes="A dispatch and a combine a layer. Tensor-parallel ranks have the same tokens, so experts on them alone "
    "need no exchange beside the all-reduces.",
    accuracy=EXCHANGES,
    example=Example(
        {e: 144, t: 1, L_moe: 58, t_x["dispatch"]: 0.14, t_x["combine"]: 0.25},
        "22.62 ms",
        derived="58 * (0.14 + 0.25)",
    ),
)

stage_send = Formula(
    t_send,
    handed_on(_WIDE * h * N_it / (token * t), ACCELERATORS),
    title="Hidden states of a group to the next stage",
    source=Source("narayanan2021", "section 4.1"),
    variant="iteration",
    assumes="Stages are the outermost ranks; tensor-parallel ranks send a share each.",
    example=Example(
        {h: 8192, N_it: 1000, t: 8, p: 2, d_a: 1, n_node: 8, n_pod: 0, oversubscription: 1, n_mesh: 0, n_ax: 0,
         beta_l: 387, alpha_node: 1, beta_x: 44, alpha: 5},
        "51.545 µs",
        derived="2 * 8192 * 1000 / 8 / 44e3 + 5",
    ),
)  # fmt: skip

stage_sends = Formula(
    t_hop,
    when(p > 1, when(n_dec > 0, p, p - 1) * t_send, 0),
    title="Hidden states from stage to stage",
    source=DISTSERVE,
    assumes="A decoded token goes back to the first stage.",
    example=Example({p: 4, n_dec: 0, t_send: 0.05}, "0.15 ms", derived="(4 - 1) * 0.05"),
)

_whole = LAYERS + t_moe

slowest_stage = Formula(
    t_even,
    when(
        p > 1,
        Max(
            0,
            (p_busy * ceiling(L / p) / L - 1) * _whole - t_head,
            (p_busy - 1) * t_head - (1 - p_busy * floor(L / p) / L) * _whole,
        ),
        0,
    ),
    title="Wait of all stages for the slowest one",
    source=DISTSERVE,
    assumes="As many groups as stages that are at work pass the slowest one, by turns: one with more layers, or the "
    "last one, which has the head. A group alone waits for no other, and takes the sum of all stages.",
    accuracy="llama.cpp decodes one request of Llama 3 8B on eight RTX 4090, four layers each, 4% slower than on one.",
    example=Example(
        {p: 2, p_busy: 2, L: 80, t_den: 12, t_exp: 0, t_act: 2, t_kv: 7, t_pat: 0, t_red: 2, t_lo: 0, tau_layer: 0,
         t_kind: 0, t_moe: 0, t_head: 0.5},
        "0.5 ms",
        derived="2 * (23 / 2 + 0.5) - 23 - 0.5",
    ),
)  # fmt: skip


def _size(own: Any, given: Any, shared: Any, title: str) -> Formula:
    """Size of a prefill engine, by default that of the decode engines."""
    return Formula(
        own,
        when(given > 0, given, shared),
        title=f"{title} of an engine that prefills",
        source=DISTSERVE,
        variant=DISAGGREGATED,
        example=Example({given: 0, shared: 4}, "4", derived="4"),
    )


prefill_tensor_ranks = _size(t_P, t_pre, t, "Tensor-parallel ranks")
prefill_stages = _size(p_P, p_pre, p, "Stages")
prefill_expert_ranks = _size(e_P, e_pre, e, "Expert-parallel ranks")
prefill_attention_ranks = _size(d_P, d_pre, d_a, "Attention ranks")
#: The layout of an engine that prefills, in place of that of one that decodes.
APART = {t: t_P, p: p_P, e: e_P, d_a: d_P}

prefill_groups = Formula(
    g_P,
    evaluated_at(n_grp, {p: p_P, d_a: d_P}, (request_groups,)),
    title="Prompts that an engine of a pool prefills at a time",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    assumes="One in each group.",
    example=Example({p_P: 2, d_P: 4, two: 0}, "8", derived="2 * 4"),
)

FORMULAS = (
    request_groups,
    group_requests,
    group_prompts,
    busy_stages,
    expert_group_tokens,
    replica_weights,
    dropless_hot_rank,
    exchanged_tokens,
    through_port,
    over_links,
    exchange_time,
    stage_send,
    stage_sends,
    slowest_stage,
    prefill_tensor_ranks,
    prefill_stages,
    prefill_expert_ranks,
    prefill_attention_ranks,
    prefill_groups,
)
#: The layout of engines that prefill in a pool of their own.
POOLS = FORMULAS[FORMULAS.index(slowest_stage) + 1 :]
#: What an iteration asks of the layout.
PASS = tuple(formula for formula in FORMULAS if formula is not replica_weights and formula not in POOLS)
