"""Without expert parallelism

Cost of a layer with experts if every rank has all of them, or its slice of all of them: the baseline for expert
parallelism. All else is equal: fleet, batch, and tensor parallelism of the experts. Loads are balanced, nothing is
exchanged, and each expert gets only the rows of its rank.
"""

from __future__ import annotations

from typing import Any

from sympy import And

from mlsysim.formulas.collectives import NCCL, meshed, near_ranks, ring_pass, ring_rate, sent
from mlsysim.formulas.data_parallel_traffic import each_step
from mlsysim.formulas.expert_products import fixed_share, product_time, rows, slowing
from mlsysim.formulas.layer_time import casts, expert_launches, routed_widths
from mlsysim.formulas.rank_groups import routed_copies
from mlsysim.formulas.roofline import slower
from mlsysim.formulas.step_time import routed_elements
from mlsysim.symbolic import Example, Formula, Max, Min, Source, when
from mlsysim.symbols.activations import r_act, sequence_parallel, sigma_e
from mlsysim.symbols.break_even import (
    V_1,
    beta_1,
    links_1,
    n_1,
    nu_1,
    r_1,
    t_alone,
    t_besides,
    t_cut_1,
    t_etp_1,
    t_exp_1,
    t_fix_1,
    t_free_1,
    t_host_1,
    t_mb_1,
    t_routed,
    t_routed_1,
    t_tp_1,
    t_whole,
    x_rt,
)
from mlsysim.symbols.formats import q_a, q_c, q_u
from mlsysim.symbols.groups import alpha_g, beta_g, n_g, q_x, t_ag_g, tau_g
from mlsysim.symbols.hardware import B_mem, n_node, n_seg, oversubscription
from mlsysim.symbols.layers import (
    F_lin,
    K_e,
    ell_rest,
    ell_s,
    ell_s_moe,
    ell_sum,
    eta_r,
    grouped,
    kappa,
    on_last,
    t_dev,
    t_head,
    t_host,
    t_host_e,
    tau_h,
)
from mlsysim.symbols.network import beta_l, beta_x, n_ax, n_mesh, n_pod, tau_coll
from mlsysim.symbols.parameters import P_exp
from mlsysim.symbols.routing import gamma_m, n_exchanges, n_rank
from mlsysim.symbols.step import eta_el, eta_mem, q_red, rho_el, rho_lin, t_cp, t_ep, t_tp, v_ff
from mlsysim.symbols.trained import f_w, q_t
from mlsysim.symbols.training import P_exp_r, Z, e, n_mb, n_tok, t
from mlsysim.symbols.workload import E, L_moe, d_e, d_sh, expert_bias, gated, h_e, k, moe_interval

LAYER = "One layer with experts, one micro-batch."
FOLDING = Source("liu2025folding", "token dispatcher")
#: Layers with experts of a stage, where it has one.
layers = Max(1, ell_s_moe)

#: Bytes of a trained weight that a rank sends for one micro-batch.
_bytes = each_step(2 * f_w * q_red, f_w * q_red, when(Z >= 3, q_u, q_t)) / n_mb


def moves(share: Any) -> Any:
    """Time in which routed tokens pass through memory, on this share of the multiprocessors."""
    return n_tok * x_rt / (share * B_mem * eta_el)


routed_traffic = Formula(
    x_rt,
    when(L_moe > 0, routed_elements() + casts(routed_widths())),
    title="Bytes that routed tokens move through memory, per layer and token",
    source=Source("williams2009"),
    assumes="On the rank of the experts; what their own rank sorts, weighs and adds up does not grow with its load.",
    convention="All passes; a token of the micro-batch, with all experts it goes to.",
    example=Example(
        {L_moe: 48, rho_el: 0, q_a: 2, v_ff: 3, k: 8, d_e: 768, t: 1, h_e: 2048,
         sigma_e: 1, r_act: 0, q_c: 2, gated: 1, expert_bias: 0},
        "798720 byte/token",
        derived="3 * 2 * (3 * 8 * 768 + 7 * 8 * 2048)",
    ),
)  # fmt: skip

unsplit_factor = Formula(
    r_1,
    slowing(gamma_m * rows(1)),
    title="What few rows cost products without expert parallelism",
    source=Source("williams2009", "section 3"),
    assumes="A rank has all experts, of which each gets the rows of that rank alone. Loads of ranks are then equal.",
    example=Example(
        {gamma_m: 1, n_tok: 8192, k: 8, E: 128, F_lin: 593.4, B_mem: 3350, eta_mem: 0.8, q_c: 2, q_a: 2,
         sigma_e: 1, h_e: 2048, n_g["etp"]: 1, d_e: 768, eta_r: 0.72},
        "1.8040",
        derived="1 / 0.72 * (1 + (593.4e12 / (3350e9 * 0.8) * (1 / 512 + 1 / 2048 + 1 / 768))**2)**0.5",
    ),
)  # fmt: skip

unsplit_expert_time = Formula(
    t_exp_1,
    product_time(gamma_m, r_1),
    title="Products of the routed experts of a layer without expert parallelism",
    source=Source("fedus2022", "section 2.2"),
    convention=LAYER,
    example=Example(
        {gamma_m: 1, n_tok: 8192, t: 1, f_w: 1, rho_lin: 1, k: 8, P_exp: 4718592, F_lin: 593.4, r_1: 1.3},
        "5.4197 ms",
        derived="8192 * 4 * 2 * 8 * 4718592 / 593.4e12 * 1.3 * 1e3",
    ),
)

unsplit_routed_time = Formula(
    t_routed_1,
    t_exp_1 + gamma_m * moves(1),
    title="Computing of the routed experts of a layer without expert parallelism",
    source=Source("fedus2022", "section 2.2"),
    convention=LAYER,
    example=Example(
        {t_exp_1: 5.42, gamma_m: 1, n_tok: 8192, x_rt: 1064960, B_mem: 3350, eta_el: 0.8},
        "8.6753 ms",
        derived="5.42 + 8192 * 1064960 / (3350e9 * 0.8) * 1e3",
    ),
)  # fmt: skip

unsplit_fixed_time = Formula(
    t_fix_1,
    t_exp_1 * fixed_share(gamma_m * rows(1)),
    title="What of it does not grow with the rows of an expert, without expert parallelism",
    source=Source("williams2009", "section 3"),
    assumes="Along the tangent at the rows there are.",
    convention=LAYER,
    example=Example(
        {t_exp_1: 5.4195, gamma_m: 1, n_tok: 8192, k: 8, E: 128, F_lin: 593.4, B_mem: 3350, eta_mem: 0.8,
         q_c: 2, q_a: 2, sigma_e: 1, h_e: 2048, n_g["etp"]: 1, d_e: 768},
        "1.15151 ms",
        derived="5.4195 * (593.4 / 2680)**2 * 1e6 / 512 * (1 / 512 + 1 / 2048 + 1 / 768) / (1 + (593.4e3 / 2680 * "
        "(1 / 512 + 1 / 2048 + 1 / 768))**2)",
    ),
)  # fmt: skip

unsplit_computing = Formula(
    t_alone,
    kappa * t_besides + t_routed_1,
    title="Computing without expert parallelism, for each layer with experts",
    source=Source("fedus2022", "section 2.2"),
    assumes="No multiprocessors are kept for exchanges.",
    convention=LAYER,
    example=Example({kappa: 1, t_besides: 20, t_routed_1: 12}, "32 ms", derived="1 * 20 + 12"),
)

unsplit_holders = Formula(
    n_1,
    e * n_g["edp"],
    title="Ranks that hold the same experts without expert parallelism",
    source=FOLDING,
    assumes="All of a stage, but for those that an expert is cut over.",
    example=Example({e: 4, n_g["edp"]: 16}, "64", derived="4 * 16"),
)

unsplit_near = Formula(
    nu_1,
    near_ranks(n_1, n_g["etp"]),
    title="Those of them in one node",
    source=FOLDING,
    assumes="The ranks that an expert is cut over are neighbours.",
    example=Example({n_1: 64, n_node: 8, n_seg: 0, n_g["etp"]: 2}, "4", derived="min(64, 8 / 2)"),
)

unsplit_links = Formula(
    links_1,
    meshed(nu_1, beta_l, nu_1 * n_g["etp"]),
    title="Bandwidth of their links in one node",
    source=NCCL,
    example=Example(
        {nu_1: 4, n_g["etp"]: 1, n_node: 8, n_mesh: 8, n_ax: 0, beta_l: 387},
        "165.857 GB/s",
        derived="387 * (4 - 1) / (8 - 1)",
    ),
)

unsplit_bandwidth = Formula(
    beta_1,
    ring_rate(n_1, n_g["etp"], nu_1, links_1),
    title="Bandwidth of a ring among them",
    source=NCCL,
    example=Example(
        {n_1: 64, n_g["etp"]: 2, nu_1: 4, n_node: 8, links_1: 387, beta_x: 44, n_pod: 0, oversubscription: 1},
        "176 GB/s",
        derived="min(387, 4 * 44)",
    ),
)


def weight_traffic(ranks: Any, parameters: Any, bandwidth: Any) -> Any:
    """Time to gather and reduce these parameters over this many ranks, for one micro-batch."""
    return when(ranks > 1, (1 - 1 / (2 * ranks)) * _bytes * parameters / bandwidth)


unsplit_traffic = Formula(
    t_whole,
    weight_traffic(n_1, e * P_exp_r, beta_1),
    title="Gathering and reducing all experts of a layer",
    source=Source("rajbhandari2020", "section 7"),
    assumes="ZeRO-3 gathers twice and reduces once a micro-batch, ZeRO-2 reduces and gathers once a step what changed, "
    "ZeRO-1 does both once a step, and before it gradients are all-reduced. Latencies are not counted.",
    convention=LAYER,
    example=Example(
        {Z: 3, n_1: 8, f_w: 1, q_t: 4, q_u: 2, q_red: 4, n_mb: 1, e: 4, P_exp_r: 150994944, beta_1: 360},
        "12.583 ms",
        derived="15 / 16 * (2 * 2 + 4) * 4 * 150994944 / 360e9 * 1e3",
    ),
)

unsplit_message = Formula(
    V_1,
    when(And(sequence_parallel > 0, sigma_e > 1), routed_copies(gamma_m)),
    title="What the ranks of an expert gather of routed tokens without expert parallelism",
    source=FOLDING,
    assumes="Where experts are cut over fewer ranks than all else and each of those has tokens of its own. Where "
    "both are cut alike, hidden states are gathered in their place.",
    example=Example(
        {sequence_parallel: 1, sigma_e: 2, gamma_m: 1, k: 8, n_g["etp"]: 4, n_rank: 1024, q_x["dispatch"]: 1,
         q_x["combine"]: 2, h_e: 4096},
        "201.326592 MB",
        derived="8 * 4 * 1024 * (1 + 2) / 2 * 4096 / 1e6",
    ),
)  # fmt: skip

unsplit_gather = Formula(
    t_etp_1,
    sent(n_g["etp"], V_1, ring_pass(n_g["etp"], V_1, beta_g["etp"], alpha_g["etp"], tau_g["etp"])),
    title="One gather of it",
    source=FOLDING,
    example=Example(
        {V_1: 201.326592, n_g["etp"]: 4, beta_g["etp"]: 387, alpha_g["etp"]: 3, tau_coll: 6, tau_g["etp"]: 6},
        "0.53810 ms",
        derived="0.009 + 3.5 / 4 * 201.326592 / 387 + sqrt(2 * 0.006 * 3.5 / 4 * 201.326592 / 387)",
    ),
)

_hidden_states = Max(0, t_tp - ell_s_moe * n_exchanges * t_ag_g["etp"])

unsplit_sharing = Formula(
    t_cut_1,
    n_exchanges * t_etp_1
    + when(And(sequence_parallel > 0, e > 1, sigma_e <= 1, d_sh < 1), _hidden_states / (2 * Max(1, ell_sum))),
    title="What tensor-parallel ranks share around experts without expert parallelism, and not with it",
    source=FOLDING,
    assumes="Routed tokens where an expert is cut over fewer ranks; else hidden states, half of whose sums are those "
    "of the experts.",
    convention=LAYER,
    example=Example(
        {n_exchanges: 4, t_etp_1: 0, sequence_parallel: 1, e: 8, sigma_e: 1, d_sh: 0, t_tp: 60, ell_s_moe: 10,
         t_ag_g["etp"]: 0.9, ell_sum: 10},
        "1.2 ms",
        derived="(60 - 10 * 4 * 0.9) / (2 * 10)",
    ),
)  # fmt: skip

unsplit_tensor_parallel = Formula(
    t_tp_1,
    Max(0, t_tp + layers * (t_cut_1 - n_exchanges * t_ag_g["etp"])),
    title="Tensor-parallel traffic of one micro-batch without expert parallelism",
    source=FOLDING,
    example=Example(
        {t_tp: 80, ell_s_moe: 10, t_cut_1: 1.2, n_exchanges: 4, t_ag_g["etp"]: 0.5}, "72 ms",
        derived="80 + 10 * (1.2 - 4 * 0.5)",
    ),
)  # fmt: skip

unsplit_launching = Formula(
    t_host_1,
    t_host + Min(1, L_moe) / moe_interval * Max(0, expert_launches(1) - t_host_e),
    title="Time of the host to launch one layer without expert parallelism",
    source=Source("megatron_bridge_profile", "kernels of one step"),
    assumes="Where every expert is launched by itself, a rank with all of them launches the most.",
    example=Example(
        {t_host: 15.34, t_host_e: 9.984, tau_h: 52, L_moe: 48, moe_interval: 1, K_e: 12, grouped: 0, E: 128,
         rho_lin: 0},
        "85.228 ms",
        derived="15.34 + 0.052 * 12 * 128 - 9.984",
    ),
)  # fmt: skip

#: A micro-batch on the device, and where another stage has more layers.
_device = t_dev - t_ep - t_tp + t_tp_1 + layers * (t_alone - t_besides - t_routed)

unsplit_micro_batch = Formula(
    t_mb_1,
    Max(
        t_head + slower(_device, ell_s * t_host_1),
        when(on_last > 0, ell_rest * slower(_device / Max(1, ell_s), t_host_1)),
    ),
    title="One micro-batch through one stage without expert parallelism",
    source=Source("megatron_bridge_profile", "kernels of one step"),
    assumes="The slower of device and host sets the pace, on this stage or on one with more layers.",
    example=Example(
        {t_head: 5, t_dev: 354, t_ep: 51, t_tp: 60, t_tp_1: 60, ell_s_moe: 4, t_alone: 32, t_besides: 20,
         t_routed: 12.5, on_last: 0, ell_s: 4, ell_rest: 4, t_host_1: 40},
        "311.836 ms",
        derived="5 + ((354 - 51 + 4 * (32 - 20 - 12.5)) ** 4 + (4 * 40) ** 4) ** 0.25",
    ),
)  # fmt: skip

unsplit_free = Formula(
    t_free_1,
    Max(0, t_mb_1 - t_tp_1 - t_cp),
    title="Time of one micro-batch beside which traffic of weights may run, without expert parallelism",
    source=Source("li2020", "section 3.2"),
    example=Example({t_mb_1: 306, t_tp_1: 60, t_cp: 6}, "240 ms", derived="306 - 60 - 6"),
)

FORMULAS = (
    routed_traffic,
    unsplit_factor,
    unsplit_expert_time,
    unsplit_routed_time,
    unsplit_fixed_time,
    unsplit_computing,
    unsplit_holders,
    unsplit_near,
    unsplit_links,
    unsplit_bandwidth,
    unsplit_traffic,
    unsplit_message,
    unsplit_gather,
    unsplit_sharing,
    unsplit_tensor_parallel,
    unsplit_launching,
    unsplit_micro_batch,
    unsplit_free,
)
