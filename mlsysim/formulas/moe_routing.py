"""MoE routing

Cost of unbalanced experts. A token is sent to its top-k experts; if some experts are chosen more often than others, the
group waits for them as if every token had chosen more experts.
"""

from __future__ import annotations

from typing import Any

from sympy import Integer, Piecewise

from mlsysim.formulas.collectives import EXCHANGES, all_to_all
from mlsysim.symbolic import Example, Formula, Max, Min, Source, by_label, token, total, when
from mlsysim.symbols.formats import q_comb, q_disp
from mlsysim.symbols.groups import delta_g, exchange, t_x
from mlsysim.symbols.hardware import alpha, beta
from mlsysim.symbols.parameters import P_exp
from mlsysim.symbols.routing import (
    M_hot,
    M_step,
    P_eff,
    T_step_a2a,
    c_f,
    delta_d,
    dispatch,
    gamma_m,
    gamma_r,
    k_eff,
    multiplier,
    n_exchanges,
    n_rank,
    pad,
    payload,
    t_a2a,
)
from mlsysim.symbols.training import b, checkpointing, e
from mlsysim.symbols.workload import E, L_moe, P_active, gamma, h_e, k, q, s

TUTORIAL = Source("mlsysim_tutorial", "section 3")

effective_experts = Formula(
    k_eff,
    Min(E, k * gamma),
    title="Experts per token the hot ones make it cost",
    source=TUTORIAL,
    variant="first_order",
    assumes="One factor stands for the imbalance, capped at the number of experts.",
    example=Example({E: 8, k: 2, gamma: 1.25}, "2.50", TUTORIAL),
)

active_work = Formula(
    multiplier,
    k_eff / k,
    title="Active work over that of balanced routing",
    source=TUTORIAL,
    variant="first_order",
    example=Example({k_eff: 2.5, k: 2}, "1.25", TUTORIAL),
)

effective_parameters = Formula(
    P_eff,
    P_active * multiplier,
    title="Active parameters, imbalance included",
    source=TUTORIAL,
    variant="first_order",
    assumes="All active parameters grow with the imbalance, the dense ones too.",
    example=Example({P_active: 12.9e9, multiplier: 1.25}, "1.6125e10", derived="12.9e9 * 1.25"),
)

routed_payload = Formula(
    payload,
    b * (s / token) * h_e * q * k_eff,
    title="Activations handed to experts",
    source=Source("fedus2022", "section 2"),
    variant="first_order",
    assumes="One hidden vector per token and expert, in the training precision; one direction, one layer. "
    "The imbalance inflates the bytes; in truth the total stays and the hot rank sets the time.",
    convention="All tokens of the batch; MB = 1e6 bytes.",
    example=Example(
        {b: 4, s: 2048, h_e: 4096, q: 2, k_eff: 2.5}, "167.77216 MB", derived="4 * 2048 * 4096 * 2 * 2.5 / 1e6"
    ),
)

dispatched = Formula(
    dispatch,
    payload * (e - 1) / e,
    title="Activations that leave their rank",
    source=TUTORIAL,
    variant="first_order",
    assumes="Experts are placed evenly, so a token's expert is local once in e.",
    convention="MB = 1e6 bytes.",
    example=Example({payload: 134.217728, e: 8}, "117.4 MB", TUTORIAL),
)

exchange_time = Formula(
    t_a2a,
    all_to_all(e, payload, beta, alpha),
    title="Time of one all-to-all exchange",
    source=Source("thakur2005", "all-to-all, pairwise exchange"),
    variant="first_order",
    assumes="One dispatch on the fabric, even where the group fits a node; no combine, no backward pass.",
    convention="One exchange of one layer.",
    example=Example({e: 8, payload: 134.217728, beta: 12.5, alpha: 50}, "9.75 ms", TUTORIAL),
)

FIRST_ORDER = (effective_experts, active_work, effective_parameters, routed_payload, dispatched, exchange_time)

DEEPSEEK = Source("deepseek2024", "section 3.2.2")
COUNTED = "Bytes and factor equal those counted from a router run on skewed inputs (docs/validation.md)."

tokens_per_rank = Formula(
    n_rank,
    b * s / e,
    title="Tokens one rank brings to an exchange",
    source=Source("fedus2022", "section 5.5"),
    variant="per_layer",
    assumes="The batch is that of one expert-parallel group, split evenly over its ranks.",
    example=Example({b: 4, s: 2048, e: 8}, "1024 token", derived="4 * 2048 / 8"),
)

CAPACITY = Source("fedus2022", "section 2.2")
#: Where every expert computes as many tokens as it takes at most.
PADDED = pad > 0
#: Tokens of the hot rank over the mean, where none is dropped.
ROUTED = Min(gamma, e, E / k)


def with_capacity(load: Any) -> Any:
    """Load of a rank over the mean, limited to its capacity; equal to the capacity if padded."""
    return Piecewise((c_f, PADDED), (Min(load, c_f), c_f > 0), (load, True))


hot_rank_factor = Formula(
    gamma_r,
    with_capacity(ROUTED),
    title="Tokens the hot rank computes over the mean",
    source=CAPACITY,
    variant="training",
    assumes="At most every token goes to the rank, once for each of its experts, and no expert takes more than its "
    "capacity. Where a rank holds several experts and some of them drop, it computes no more than that.",
    convention="Largest load of a rank over the mean load of the ranks, before any token is dropped; 1 is perfectly "
    "balanced.",
    example=Example({gamma: 6, e: 8, E: 8, k: 2, c_f: 1.25, pad: 0}, "1.25", derived="min(6, 8, 8 / 2, 1.25)"),
)

mean_rank_factor = Formula(
    gamma_m,
    with_capacity(1),
    title="Tokens the mean rank computes over those that are routed to it",
    source=CAPACITY,
    assumes="No more than all of them, and all of its capacity where experts are padded to it.",
    example=Example({c_f: 1.25, pad: 1}, "1.25", derived="1.25"),
)

least_dropped = Formula(
    delta_d,
    when(c_f > 0, (Max(0, ROUTED - c_f) + Max(0, e - ROUTED - (e - 1) * c_f)) / e),
    title="Share of the routed tokens that is dropped, at least",
    source=CAPACITY,
    assumes="The hot rank drops what exceeds its capacity, and the others what exceeds theirs together. Loads of "
    "experts say how much it is (dropped_tokens): experts of one rank may drop some while others have room.",
    convention="Each copy of a token counts. A lower bound; exact where a rank holds one expert and one alone is over "
    "its capacity.",
    example=Example({gamma: 2, e: 8, E: 8, k: 2, c_f: 1.25}, "0.09375", derived="(2 - 1.25) / 8"),
)

CAPACITIES = (hot_rank_factor, mean_rank_factor, least_dropped)

hot_experts = Formula(
    k_eff,
    k * gamma_r,
    title="Expert work of the hot rank, per token of the mean rank",
    source=Source("fedus2022", "section 2.2"),
    variant="per_layer",
    assumes="Every token still goes to k experts; only where they stand is uneven.",
    example=Example({k: 2, gamma_r: 1.25}, "2.5", derived="2 * 1.25"),
)

routed_work = Formula(
    multiplier,
    1 + (gamma_r - 1) * L_moe * k * P_exp / P_active,
    title="Active work of the hot rank over that of balanced routing",
    source=Source("fedus2022", "section 2.2"),
    variant="per_layer",
    assumes="Routed experts alone grow with the imbalance: attention, embeddings and shared experts see every "
    "rank's own tokens.",
    example=Example(
        {gamma_r: 1.25, L_moe: 32, k: 2, P_exp: 176160768, P_active: 12.9e9},
        "1.2185",
        derived="1 + 0.25 * 32 * 2 * 176160768 / 12.9e9",
    ),
)

hot_rank_parameters = Formula(
    P_eff,
    P_active * multiplier,
    title="Active parameters, hot rank",
    source=Source("fedus2022", "section 2.2"),
    variant="per_layer",
    example=Example({P_active: 12.9e9, multiplier: 1.2185}, "1.5719e10", derived="12.9e9 * 1.2185"),
)

all_payload = Formula(
    payload,
    gamma_m * b * (s / token) * h_e * (q_disp + q_comb) / 2 * k,
    title="Activations handed to experts, imbalance or not",
    source=Source("fedus2022", "section 2"),
    variant="per_layer",
    assumes="One hidden vector per token and expert. Imbalance moves bytes between ranks and adds none. "
    "The mean of the formats there and back. With a capacity no more than this, and just this where padded.",
    convention="All ranks of the group, one direction, one layer; MB = 1e6 bytes.",
    accuracy=COUNTED,
    example=Example(
        {gamma_m: 1, b: 4, s: 2048, h_e: 4096, q_disp: 1, q_comb: 2, k: 2},
        "100.663296 MB",
        derived="4 * 2048 * 4096 * (1 + 2) / 2 * 2 / 1e6",
    ),
)

all_dispatched = Formula(
    dispatch,
    payload * (e - 1) / e,
    title="Activations that leave their rank, imbalance or not",
    source=Source("fedus2022", "section 5.5"),
    variant="per_layer",
    assumes="Where a token starts says nothing of its experts, so one in e stays.",
    convention="All ranks of the group, one direction, one layer; MB = 1e6 bytes.",
    accuracy=COUNTED,
    example=Example({payload: 134.217728, e: 64}, "132.120576 MB", derived="134.217728 * 63 / 64"),
)

hot_rank_bytes = Formula(
    M_hot,
    gamma_r / gamma_m * dispatch / e,
    title="Activations the hot rank receives in one exchange",
    source=Source("fedus2022", "section 2.2"),
    assumes="Each rank receives its share of what leaves the others, the hot one gamma times as much.",
    convention="One direction, one layer; MB = 1e6 bytes.",
    accuracy=COUNTED,
    example=Example(
        {gamma_r: 1.25, gamma_m: 1, dispatch: 117.440512, e: 8}, "18.35008 MB", derived="1.25 * 117.440512 / 8"
    ),
)

neighbours = Formula(
    delta_g["ep"],
    Integer(1),
    title="How far apart the ranks of an expert-parallel group stand",
    source=Source("narayanan2021", "section 3"),
    variant="per_layer",
    assumes="They are neighbours and fill nodes in order.",
    no_example="a constant",
)

mean_exchange_time = Formula(
    t_a2a,
    total(exchange, t_x[exchange]) / 2,
    title="Time of one exchange, on average of a dispatch and a combine",
    source=DEEPSEEK,
    variant="per_layer",
    convention="One exchange of one layer.",
    accuracy=EXCHANGES,
    example=Example({t_x["dispatch"]: 0.4, t_x["combine"]: 0.74}, "0.57 ms", derived="(0.4 + 0.74) / 2"),
)

exchanges_per_layer = Formula(
    n_exchanges,
    by_label(checkpointing, {"none": 4, "selective": 4, "full": 6}),
    title="Exchanges of one layer and step",
    source=DEEPSEEK,
    assumes="Dispatch and combine in the forward and in the backward pass; full checkpointing repeats the forward.",
    example=Example({checkpointing: "full"}, "6", derived="2 + 2 + 2"),
)

step_dispatch_bytes = Formula(
    M_step,
    L_moe * n_exchanges * dispatch,
    title="Activations that leave their rank in one step",
    source=DEEPSEEK,
    convention="All ranks of the group; GB = 1e9 bytes.",
    example=Example(
        {L_moe: 32, n_exchanges: 4, dispatch: 117.440512}, "15.032 GB", derived="32 * 4 * 117.440512 / 1e3"
    ),
)

step_all_to_all_time = Formula(
    T_step_a2a,
    L_moe * n_exchanges * t_a2a,
    title="Time of all exchanges of one step",
    source=DEEPSEEK,
    assumes="Nothing else hides it.",
    example=Example({L_moe: 58, n_exchanges: 4, t_a2a: 2.16}, "501.12 ms", derived="58 * 4 * 2.16"),
)

PER_LAYER = (
    tokens_per_rank,
    *CAPACITIES,
    hot_experts,
    routed_work,
    hot_rank_parameters,
    all_payload,
    all_dispatched,
    hot_rank_bytes,
    neighbours,
    mean_exchange_time,
    exchanges_per_layer,
    step_dispatch_bytes,
    step_all_to_all_time,
)
FORMULAS = FIRST_ORDER + PER_LAYER
