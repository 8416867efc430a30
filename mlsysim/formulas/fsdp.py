"""Fully sharded data parallelism

Memory that FSDP needs besides its shards, and costs of expert exchanges besides their bytes. A caching allocator never
reuses a block of one stream in another, so the peaks of the streams that gather, compute and reduce add up, although
they occur at different times. If they do not fit, memory pools are unmapped and remapped in every step.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Gt, Le, Ne, Piecewise

from mlsysim.formulas import step_moments
from mlsysim.formulas.parameter_counts import norms, plain_layers
from mlsysim.formulas.rank_parameters import WHOLE_EDGE, at_place, most
from mlsysim.formulas.step_time import PARTS, binding, longest
from mlsysim.formulas.trained_parameters import ON_LAST
from mlsysim.formulas.training_memory import DRIVER_MEMORY
from mlsysim.symbolic import Example, Formula, Max, Min, Source, label, token, when
from mlsysim.symbols.activations import A_bwd, A_loss, M_r, V_r, b_last
from mlsysim.symbols.formats import q_a, q_u
from mlsysim.symbols.fsdp import (
    A_frag,
    B_map,
    G_edge,
    M_ag,
    M_comp,
    M_live,
    M_live_r,
    M_report,
    M_rs,
    M_usable,
    T_again,
    T_remap,
    T_remap_r,
    T_sync,
    U_ahead,
    U_block,
    U_edge,
    U_exp,
    ahead,
    prefetch,
    retries,
)
from mlsysim.symbols.groups import n_g, t_ag_g
from mlsysim.symbols.hardware import M_cap
from mlsysim.symbols.iteration import M_drv
from mlsysim.symbols.layers import T_host, T_stage, t_dev, t_stage_host
from mlsysim.symbols.mixers import n_N
from mlsysim.symbols.parameters import P_norm
from mlsysim.symbols.step import (
    T_attn,
    T_bub,
    T_cp,
    T_dp,
    T_el,
    T_ep,
    T_head,
    T_lin,
    T_max,
    T_opt,
    T_pp,
    T_step,
    T_tp,
    kappa_step,
    step_bottleneck,
)
from mlsysim.symbols.trained import f_w
from mlsysim.symbols.training import (
    A,
    C_buf,
    G,
    M,
    M_ctx,
    O,
    P_attn_r,
    P_exp_r,
    P_ffn_r,
    P_sh_r,
    W,
    Z,
    checkpointing,
    e,
    ell_moe,
    feasible,
    n_mb,
    n_tok,
    n_z,
    reserve,
    workspace,
)
from mlsysim.symbols.workload import L, L_moe, L_nb, h_V

FSDP = Source("pytorch_fsdp2", "param group")
ALLOCATOR = Source("pytorch_allocator", "memory management")
REPORT = Source("torchtitan_issue_1624")
RANK = "The rank that holds the most; GB = 1e9 bytes."
TRACED = "Within 1.4% of reserved bytes that a traced step of torchtitan gives in a model of the allocator."

_reduced = And(Z >= 2, n_z > 1)
_apart = And(e > 1, L_moe > 0)

gathered_edge = Formula(
    U_edge,
    when(n_z > 1, WHOLE_EDGE),
    title="Embedding or head, gathered",
    source=FSDP,
    example=Example({n_z: 8, q_u: 2, V_r: 202048, h_V: 2048}, "0.82759 GB", derived="2 * 202048 * 2048 / 1e9"),
)

gathered_block = Formula(
    U_block,
    when(n_z > 1, q_u * (P_attn_r + norms() + Max(Min(1, plain_layers()) * P_ffn_r, Min(1, L_moe) * P_sh_r))),
    title="A layer without its routed experts, gathered",
    source=FSDP,
    example=Example(
        {
            L_nb: 0,
            n_z: 8,
            q_u: 2,
            P_attn_r: 9437184,
            P_norm: 2048,
            n_N: 2,
            L: 48,
            L_moe: 48,
            P_ffn_r: 0,
            P_sh_r: 4980736,
        },
        "28.844 MB",
        derived="2 * (9437184 + 2 * 2048 + 4980736) / 1e6",
    ),
)

gathered_experts = Formula(
    U_exp,
    when(n_g["edp"] > 1, q_u * P_exp_r),
    title="The routed experts of a layer, gathered",
    source=FSDP,
    assumes="Experts that one rank holds whole are not gathered.",
    example=Example({n_g["edp"]: 2, q_u: 2, P_exp_r: 150994944}, "0.30199 GB", derived="2 * 150994944 / 1e9"),
)

_kept_ahead: Any = Eq(prefetch, label(prefetch, "accumulated"))
_runs_again: Any = Ne(checkpointing, label(checkpointing, "none"))

gathers_behind = Formula(
    ahead,
    And(_apart, Z >= 3, _kept_ahead, _runs_again),
    title="Whether weights are gathered for layers that are behind",
    source=REPORT,
    assumes="Until PyTorch 2.9 the forward pass that a backward pass repeats put experts, a unit of their own, into "
    "the order of prefetching once more. So each layer gathered those of the layer behind it.",
    example=Example(
        {e: 4, L_moe: 48, Z: 3, prefetch: "accumulated", checkpointing: "full"},
        "True",
        derived="4 > 1 and 48 > 0 and 3 >= 3",
    ),
)

accumulated_weights = Formula(
    U_ahead,
    Piecewise(
        (0, Eq(ahead, 0)),
        ((2 + 1 / n_z) * U_edge, n_g["edp"] <= 1),
        (2 * U_edge + Max(0, ell_moe - 1 + 1 / n_g["edp"]) * U_exp, True),
    ),
    title="Weights gathered for layers that are behind",
    source=REPORT,
    assumes="They are freed at the end of the backward pass: those of all layers but one, the head beside them.",
    accuracy=TRACED,
    example=Example(
        {ahead: 1, n_z: 8, U_edge: 0.827589, U_exp: 0.301990, ell_moe: 48, n_g["edp"]: 2},
        "16.00 GB",
        derived="2 * 0.827589 + (48 - 1 + 1 / 2) * 0.301990",
    ),
)

gather_pool = Formula(
    M_ag,
    Piecewise(
        (0, Z < 3),
        ((1 + 1 / n_z) * U_edge + (2 + 1 / n_z) * (U_block + U_exp), e < 2),
        (Max(U_ahead, (1 + 1 / n_z) * U_edge + U_block + U_exp), True),
    ),
    title="Pool of the stream that gathers weights",
    source=REPORT,
    assumes="Without expert parallelism a layer is one unit: one is at work and one gathered ahead, beside the head "
    "and the shards that travel. With it, experts are a unit of their own.",
    accuracy=TRACED,
    example=Example(
        {Z: 3, n_z: 8, e: 4, U_edge: 0.827589, U_block: 0.028844, U_exp: 0.301990, U_ahead: 16.0},
        "16.00 GB",
        derived="max(16, (1 + 1 / 8) * 0.827589 + 0.028844 + 0.301990)",
    ),
)

reduction_pool = Formula(
    M_rs,
    when(_reduced, G),
    title="Pool of the stream that reduces gradients",
    source=ALLOCATOR,
    assumes="The shards of gradients are what reductions give, so their stream allocates them.",
    example=Example({Z: 3, n_z: 8, G: 15.2554}, "15.255 GB", derived="15.2554"),
)

edge_gradient = Formula(
    G_edge,
    when(_reduced, f_w * q_a * V_r * h_V),
    title="Gradient of the head before its reduction",
    source=FSDP,
    example=Example(
        {Z: 3, n_z: 8, f_w: 1, q_a: 2, V_r: 202048, h_V: 2048}, "0.82759 GB", derived="2 * 202048 * 2048 / 1e9"
    ),
)

loss_pool = Formula(
    A_frag,
    A_loss + q_a * n_tok / token * V_r,
    title="Pool of the loss",
    source=REPORT,
    assumes="The gradient of the log-softmax does not fit the hole that the 16-bit logits leave: 14 bytes per token "
    "and row of the vocabulary are reserved where 12 are alive.",
    accuracy=TRACED,
    example=Example(
        {A_loss: 19.997, q_a: 2, n_tok: 8192, V_r: 202048}, "23.307 GB", derived="19.997 + 2 * 8192 * 202048 / 1e9"
    ),
)

compute_pool = Formula(
    M_comp,
    W + O + workspace + (G - M_rs) + Max(A + when(ON_LAST, A_frag + G_edge), A + A_bwd + C_buf),
    title="Pool of the stream that computes",
    source=ALLOCATOR,
    assumes="Shards of weights and optimizer state, activations, and the larger of two peaks: the loss, or the "
    "backward pass of a layer with its gradients before they are reduced. Buffers of routed tokens are in the second. "
    "Of a pipeline the last stage has the loss and one micro-batch, the first one all that are in flight.",
    convention=RANK,
    accuracy=TRACED,
    example=Example(
        {W: 15.2554, O: 30.5109, G: 15.2554, M_rs: 15.2554, A: 1.6106, A_frag: 23.307, G_edge: 0.8276,
         A_bwd: 2.08, C_buf: 0.33, workspace: 0, b_last: 1},
        "71.51 GB",
        derived="15.2554 + 30.5109 + 1.6106 + 23.307 + 0.8276",
    ),
)  # fmt: skip

rank_memory = Formula(
    M_r,
    M_comp + M_ag + M_rs,
    title="Training memory of one rank, as its streams reserve it",
    source=ALLOCATOR,
    variant="fsdp",
    assumes="No stream takes a block of another, so their peaks add up. What the framework keeps beside its allocator "
    "is not in it.",
    convention=RANK,
    accuracy="0.5% below the reserved memory of torchtitan's issue 1624 without expert parallelism, with no constant "
    "fitted; what it reports with four ranks is all the device has (docs/expert_parallel_memory.md).",
    example=Example({M_comp: 71.51, M_ag: 16.0, M_rs: 15.255}, "102.77 GB", derived="71.51 + 16 + 15.255"),
)

_POOLS = (
    gathered_edge,
    gathered_block,
    gathered_experts,
    gathers_behind,
    accumulated_weights,
    gather_pool,
    reduction_pool,
    edge_gradient,
    loss_pool,
    compute_pool,
    rank_memory,
)
first_rank, second_rank, last_rank = step_moments.of_ranks((*step_moments.leading(), *_POOLS), M_r, "fsdp")

total_memory = Formula(
    M,
    M_r,
    title="Training memory of the fullest rank, as its streams reserve it",
    source=ALLOCATOR,
    variant="fsdp",
    convention=RANK,
    example=Example({M_r: 102.77}, "102.77 GB", derived="102.77"),
)

usable_memory = Formula(
    M_usable,
    Max(0, DRIVER_MEMORY - reserve - M_ctx),
    title="Memory that the allocator can have",
    source=ALLOCATOR,
    variant="fsdp",
    assumes="Less the context of the device and the buffers of the communication library.",
    example=Example({M_cap: 103.08, M_drv: 0, reserve: 4.3, M_ctx: 0}, "98.78 GB", derived="103.08 - 4.3"),
)

reported_memory = Formula(
    M_report,
    Min(M, M_usable),
    title="Memory that is reported as reserved",
    source=REPORT,
    variant="fsdp",
    example=Example({M: 102.77, M_usable: 98.78}, "98.78 GB", derived="min(102.77, 98.78)"),
)

rank_live = Formula(
    M_live_r,
    Max(
        W + O + (G - M_rs) + A + when(ON_LAST, A_loss + G_edge + when(Z >= 3, U_edge)),
        W + O + (G - M_rs) + A + A_bwd + C_buf,
        W + O + G + M_ag + A_bwd + C_buf,
    )
    + workspace,
    title="Memory of one rank alive at once",
    source=ALLOCATOR,
    assumes="At the loss no gradient is reduced yet; at the end of the backward pass no activation is left but those "
    "of one layer.",
    convention=RANK,
    example=Example(
        {W: 15.2554, O: 30.5109, G: 15.2554, M_rs: 15.2554, A: 1.6106, A_loss: 19.997, G_edge: 0.8276, Z: 3,
         U_edge: 0.8276, M_ag: 16.0, A_bwd: 2.08, C_buf: 0.33, workspace: 0, b_last: 1},
        "79.43 GB",
        derived="max(15.2554 + 30.5109 + 1.6106 + 19.997 + 2 * 0.8276, 2 * 15.2554 + 30.5109 + 16 + 2.08 + 0.33)",
    ),
)  # fmt: skip

_PARTS = frozenset((*step_moments.leading(), *_POOLS, rank_live))

live_memory = Formula(
    M_live,
    step_moments.asked(lambda place: at_place(M_live_r, place, _PARTS), most(M_live_r, _PARTS)),
    title="Memory alive at once",
    source=ALLOCATOR,
    assumes="That of the rank with the most, which need not be the one that reserves the most; or of the rank that is "
    "asked.",
    convention=RANK,
    no_example="the most of three ranks, whose parts have examples",
)

fits = Formula(
    feasible,
    Le(M_live, M_usable),
    title="Whether what is alive fits",
    source=ALLOCATOR,
    variant="fsdp",
    assumes="What is reserved and not alive can be given back, which takes time.",
    example=Example({M_live: 79.43, M_usable: 98.78}, "True", derived="79.43 <= 98.78"),
)

gives_back = Formula(
    retries,
    Gt(M, M_usable),
    title="Whether the allocator must give pools back",
    source=ALLOCATOR,
    example=Example({M: 102.77, M_usable: 98.78}, "True", derived="102.77 > 98.78"),
)

regathering = Formula(
    T_again,
    when(ahead, n_mb * t_ag_g["edp"]),
    title="Experts gathered once more than needed",
    source=REPORT,
    assumes="What is gathered for a layer that is behind is of no use, so experts are gathered again when needed.",
    example=Example({ahead: 1, n_mb: 1, t_ag_g["edp"]: 24}, "24 ms", derived="24"),
)

rank_remapping = Formula(
    T_remap_r,
    when(M_r > M_usable, (A_frag + M_ag + M_rs) / B_map),
    title="Pools of one rank given back and mapped again",
    source=REPORT,
    assumes="Each phase of a step gives back what the phase before it holds no more: the loss, gathered weights and "
    "shards of gradients, once each.",
    accuracy="The bandwidth is calibrated on one run, in which it cannot be told from imbalance.",
    example=Example(
        {M_r: 102.77, M_usable: 98.78, A_frag: 23.307, M_ag: 16.0, M_rs: 15.255, B_map: 17},
        "3.2095 s",
        derived="(23.307 + 16 + 15.255) / 17",
    ),
)

remapping = Formula(
    T_remap,
    most(T_remap_r, _PARTS | {rank_remapping}),
    title="Pools given back and mapped again",
    source=REPORT,
    assumes="The others wait for the rank that takes longest.",
    no_example="the most of three ranks, whose parts have examples",
)

step = Formula(
    T_step,
    kappa_step * (T_stage + T_bub + T_pp + T_dp + T_opt + T_sync + T_again + T_remap),
    title="One training step, with what its allocator and its counts of tokens cost",
    source=REPORT,
    variant="fsdp",
    assumes="The slowest rank sets the time.",
    example=Example(
        {kappa_step: 1, T_stage: 3900, T_bub: 0, T_pp: 0, T_dp: 5, T_opt: 29, T_sync: 96, T_again: 24, T_remap: 3209},
        "7.263 s",
        derived="(3900 + 5 + 29 + 96 + 24 + 3209) / 1e3",
    ),
)

_parts = {**PARTS, "Token counts": T_sync, "Allocator": T_again + T_remap}

longest_part_time = Formula(
    T_max,
    longest(_parts),
    title="The longest part of a step, its allocator and counts of tokens among them",
    source=Source("williams2009"),
    variant="fsdp",
    assumes="Launching is a part where the device waits for it.",
    example=Example(
        {n_mb: 1, T_lin: 1900, T_attn: 1200, T_head: 200, T_host: 0, t_stage_host: 300, t_dev: 3000, T_el: 460, T_tp: 0,
         T_ep: 95, T_cp: 0, T_bub: 0, T_pp: 0, T_dp: 5, T_opt: 29, T_sync: 96, T_again: 24, T_remap: 3209},
        "3300 ms",
        derived="max(1900 + 1200 + 200, 460, 95, 96, 24 + 3209)",
    ),
)  # fmt: skip

longest_part = Formula(
    step_bottleneck,
    binding(_parts, M_usable < M_live),
    title="What binds a step, its allocator and counts of tokens among it",
    source=Source("williams2009"),
    variant="fsdp",
    example=Example(
        {M_usable: 98.78, M_live: 79.43, T_max: 3300, n_mb: 1, T_lin: 1900, T_attn: 1200, T_head: 200, T_host: 0,
         t_stage_host: 300, t_dev: 3000, T_el: 460, T_tp: 0, T_ep: 95, T_cp: 0, T_bub: 0, T_pp: 0,
         T_dp: 5, T_opt: 29, T_sync: 96},
        "Arithmetic",
        derived="79.43 <= 98.78 and 1900 + 1200 + 200 >= 3300",
    ),
)  # fmt: skip

FORMULAS = (
    *_POOLS,
    first_rank,
    second_rank,
    last_rank,
    total_memory,
    usable_memory,
    reported_memory,
    rank_live,
    live_memory,
    fits,
    gives_back,
    regathering,
    rank_remapping,
    remapping,
    step,
    longest_part_time,
    longest_part,
)
