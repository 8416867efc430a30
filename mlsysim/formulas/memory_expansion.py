"""Memory expansion

A micro-batch passes the layers three times (forward, recomputation, backward), and each pass fetches, computes and
writes back every layer. Part of the training state is in a remote tier, by a policy that sets the share of each tensor.
Exposed are local memory time beyond a layer's roofline, remote memory time beyond prefetch, and communication beyond
overlap.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Le, Piecewise

from mlsysim.formulas.parameter_counts import norms, plain_layers
from mlsysim.formulas.training_memory import DRIVER_MEMORY
from mlsysim.formulas.transformer_flops import sparse_block
from mlsysim.symbolic import Example, Formula, Max, Min, Source, by_label, flop, label, sharded, token, when
from mlsysim.symbols.activations import rank, sigma, x_in
from mlsysim.symbols.formats import q_a, q_comb, q_disp, q_e, q_w
from mlsysim.symbols.groups import n_g
from mlsysim.symbols.hardware import B_mem, F, M_cap, beta, eta
from mlsysim.symbols.iteration import M_drv
from mlsysim.symbols.mixers import a_r, n_N, t_each, w_pair, y_core
from mlsysim.symbols.offload import (
    A_rec,
    B_far,
    C_ck,
    C_mem,
    M_far,
    M_far_need,
    M_near_need,
    M_work,
    P_kd,
    P_ks,
    Q_d,
    Q_s,
    R_usd,
    T_far,
    T_fetch,
    T_link,
    T_near,
    V_act,
    V_far,
    V_upd,
    X_block,
    chi,
    eta_pre,
    n_pass_act,
    n_pass_ck,
    n_pass_g,
    n_pass_o,
    n_pass_w,
    n_share,
    omega_act,
    omega_ck,
    omega_g,
    omega_o,
    omega_w,
    p_bare,
    p_far,
    p_near,
    policy,
    segment,
    t_fd,
    t_fs,
    unified,
    z_d,
    z_s,
)
from mlsysim.symbols.parameters import P_attn, P_exp, P_ffn, P_norm, P_rt, P_sh
from mlsysim.symbols.routing import gamma_r
from mlsysim.symbols.step import R_dev, T_comp, T_step, eta_attn, eta_mem
from mlsysim.symbols.training import (
    G,
    O,
    P_attn_r,
    P_edge_r,
    P_exp_r,
    P_ffn_r,
    P_sh_r,
    W,
    Z,
    e,
    ell_de,
    ell_moe,
    ell_r,
    feasible,
    n_mb,
    n_tok,
    n_z,
    o,
    q_g,
    t,
)
from mlsysim.symbols.workload import E, L, L_moe, L_nb, d_e, d_ff, d_sh, gated, h, h_e, k, s

HEO = Source("heo2023", "section 4")
INFINITY = Source("rajbhandari2021", "section 3")
DESIGNS = Source("heo2023", "section 5")
ROOFLINE = Source("williams2009", "section 3")
NAME = "memory_expansion"

#: Weights, checkpoints, recomputed activations, gradients and optimizer state of each policy: kept remote or not.
_KEPT_FAR = {
    "none": (0, 0, 0, 0, 0),
    "conservative": (0, 0, 1, 1, 1),
    "zero_offload": (0, 0, 0, 1, 1),
    "aggressive": (1, 1, 1, 1, 1),
    "zero_infinity": (1, 1, 0, 1, 1),
}


def _by_policy(place: int) -> Any:
    """Share of one class of tensors that each policy keeps in the remote tier."""
    return by_label(policy, {name: shares[place] for name, shares in _KEPT_FAR.items()})


TABLE = "a table of five cases"

weights_kept_far = Formula(omega_w, _by_policy(0), title="Weights kept remote", source=HEO, no_example=TABLE)

checkpoints_kept_far = Formula(omega_ck, _by_policy(1), title="Checkpoints kept remote", source=HEO, no_example=TABLE)

activations_kept_far = Formula(
    omega_act,
    _by_policy(2),
    title="Recomputed activations pushed and popped",
    source=HEO,
    assumes="Both policies of the source push them; ZeRO-Offload and ZeRO-Infinity recompute a layer where it is used.",
    no_example=TABLE,
)

gradients_kept_far = Formula(
    omega_g,
    _by_policy(3),
    title="Gradients kept remote",
    source=Source("ren2021", "section 4"),
    assumes="The capacities of Heo et al. put gradients and optimizer state there under both policies; the text does "
    "not say so.",
    no_example=TABLE,
)

optimizer_kept_far = Formula(
    omega_o, _by_policy(4), title="Optimizer state kept remote", source=Source("ren2021", "section 4"), no_example=TABLE
)

# --- capacity -------------------------------------------------------------------------------------

expert_slices = Formula(
    chi,
    Max(1, e * t / E),
    title="Ranks that share one expert",
    source=Source("rajbhandari2022", "section 5.2"),
    assumes="Experts stand on all tensor- and expert-parallel ranks: whole where there are as many experts as ranks, "
    "sliced where there are more ranks.",
    example=Example({e: 32, t: 8, E: 128}, "2.000", derived="max(1, 32 * 8 / 128)"),
)

checkpoints = Formula(
    C_ck,
    ell_r * n_tok * x_in,
    title="Activation checkpoints",
    source=Source("rajbhandari2021", "section 3, equation 3"),
    assumes="The input of every layer, the same on all tensor-parallel ranks.",
    convention="One micro-batch, one rank; GB = 1e9 bytes.",
    example=Example({ell_r: 24, n_tok: 4096, x_in: 8192}, "0.80531 GB", derived="24 * 4096 * 8192 / 1e9"),
)

recomputed = Formula(
    A_rec,
    q_a * (8 * h / t + a_r * s / token) * n_tok / token,
    title="Recomputed activations of one layer",
    source=Source("rajbhandari2021", "section 3, equation 5"),
    assumes="Eight vectors of the width and half of a score matrix at 16 bit, split evenly over tensor-parallel "
    "ranks; no experts in the count.",
    accuracy="Table 2 of Heo et al. does not test it (0.2 GB of 73); their ratio of 1.48 does, from 5.1 to 6.7 bytes "
    "per token and unit of width where this gives 6.",
    convention="One micro-batch, one rank.",
    example=Example(
        {q_a: 2, h: 4096, a_r: 4, s: 2048, n_tok: 4096, t: 8},
        "0.10066 GB",
        derived="2 * (8 * 4096 / 8 + 4 * 2048) * 4096 / 1e9",
    ),
)

_sharded_dense = sharded(Z >= 3, n_z)
_dense_whole = P_attn_r + norms() + P_ffn_r
_moe_whole = P_attn_r + norms() + P_sh_r

dense_layer_kept = Formula(
    P_kd,
    _dense_whole / _sharded_dense,
    title="Parameters of a dense layer that a rank keeps",
    source=Source("rajbhandari2020", "section 5"),
    example=Example(
        {P_attn_r: 6e7, P_norm: 5000, P_ffn_r: 1.2e8, Z: 3, n_z: 8, n_N: 2},
        "22501250",
        derived="(6e7 + 2 * 5000 + 1.2e8) / 8",
    ),
)

moe_layer_kept = Formula(
    P_ks,
    _moe_whole / _sharded_dense + P_exp_r / sharded(Z >= 3, n_g["edp"]),
    title="Parameters of a layer with experts that a rank keeps",
    source=Source("rajbhandari2020", "section 5"),
    example=Example(
        {P_attn_r: 6e7, P_norm: 5000, P_sh_r: 1e6, P_exp_r: 2.4e8, Z: 3, n_z: 8, n_g["edp"]: 2, n_N: 2},
        "127626250",
        derived="(6e7 + 2 * 5000 + 1e6) / 8 + 2.4e8 / 2",
    ),
)

_has_dense, _has_experts = Min(1, plain_layers()), Min(1, L_moe)

working_buffer = Formula(
    M_work,
    (2 * q_w + q_g + o) * Max(_has_dense * P_kd, _has_experts * P_ks) + A_rec + 2 * n_tok * x_in,
    title="Memory of the layer at work",
    source=INFINITY,
    assumes="All state of the largest layer, the weights of the next one, the recomputed activations of one layer, its "
    "input and its output. Weights gathered from other ranks are left out.",
    accuracy="0.2% above table 2 of Heo et al., where its parts were chosen knowing the sum: 8% below without the "
    "slot of the next layer.",
    example=Example(
        {L_nb: 0, q_w: 2, q_g: 2, o: 12, L: 24, L_moe: 12, P_kd: 2e7, P_ks: 1.2e8, A_rec: 0.1, n_tok: 4096, x_in: 8192},
        "2.32711 GB",
        derived="((2 * 2 + 2 + 12) * max(2e7, 1.2e8) + 1e8 + 2 * 4096 * 8192) / 1e9",
    ),
)

local_memory = Formula(
    M_near_need,
    (1 - omega_w) * W + (1 - omega_ck) * C_ck + (1 - omega_g) * G + (1 - omega_o) * O + M_work,
    title="Local memory",
    source=HEO,
    variant=NAME,
    assumes="What is kept remote has no local copy but in the working buffer.",
    accuracy="Within 1.0% of table 2 of Heo et al.",
    example=Example(
        {omega_w: 0.5, W: 8, omega_ck: 0.25, C_ck: 8, omega_g: 0.75, G: 8, omega_o: 0.9, O: 48, M_work: 2.3},
        "19.10 GB",
        derived="0.5 * 8 + 0.75 * 8 + 0.25 * 8 + 0.1 * 48 + 2.3",
    ),
)

remote_memory = Formula(
    M_far_need,
    omega_w * W + omega_ck * C_ck + omega_g * G + omega_o * O + omega_act * A_rec,
    title="Remote memory",
    source=HEO,
    variant=NAME,
    accuracy="Within 1.4% of table 2 of Heo et al.",
    example=Example(
        {omega_w: 0.5, W: 8, omega_ck: 0.25, C_ck: 8, omega_g: 0.75, G: 8, omega_o: 0.9, O: 48, omega_act: 1,
         A_rec: 2},
        "57.20 GB",
        derived="0.5 * 8 + 0.25 * 8 + 0.75 * 8 + 0.9 * 48 + 1 * 2",
    ),
)  # fmt: skip

# --- arithmetic and local memory ------------------------------------------------------------------


def _forward(parameters: Any) -> Any:
    """Forward arithmetic of one layer with these active parameters, at the device's rate."""
    return n_tok / t * (2 * flop * parameters / token + w_pair / (L * eta_attn)) / (F * eta) + n_tok * t_each / L


dense_layer_time = Formula(
    t_fd,
    _forward(P_attn + P_ffn),
    title="Arithmetic of a dense layer",
    source=Source("kaplan2020", "section 2.1"),
    convention="Forward; the backward pass is twice as much.",
    example=Example(
        {n_tok: 4096, t: 8, P_attn: 6e7, P_ffn: 1.2e8, w_pair: 2.4e9, L: 24, eta_attn: 0.5, F: 1000, eta: 0.5,
         t_each: 0},
        "0.57344 ms",
        derived="4096 / 8 * (2 * (6e7 + 1.2e8) + 2.4e9 / 24 / 0.5) / (1e15 * 0.5) * 1000",
    ),
)  # fmt: skip

moe_layer_time = Formula(
    t_fs,
    _forward(P_attn + sparse_block(gamma_r)),
    title="Arithmetic of a layer with experts",
    source=Source("kaplan2020", "section 2.1"),
    assumes="The rank with the hottest experts sets the time.",
    convention="Forward; the backward pass is twice as much.",
    example=Example(
        {n_tok: 4096, t: 8, P_attn: 6e7, P_rt: 5e5, P_sh: 2e7, gamma_r: 1.25, k: 2, P_exp: 1.2e8,
         w_pair: 2.4e9, L: 24, eta_attn: 0.5, F: 1000, eta: 0.5, t_each: 0},
        "0.98406 ms",
        derived="4096 / 8 * (2 * (6e7 + 5e5 + 2e7 + 1.25 * 2 * 1.2e8) + 2.4e9 / 24 / 0.5) / (1e15 * 0.5) * 1000",
    ),
)  # fmt: skip


dense_layers_of_rank = Formula(
    ell_de,
    plain_layers(ell_r, ell_moe),
    title="Layers of a stage without experts",
    source=DESIGNS,
    assumes="Those without a block count as shares of all stages.",
    example=Example({ell_r: 24, ell_moe: 12, L: 32, L_nb: 0}, "12", derived="24 - 12"),
)


def _all_layers(dense: Any, sparse: Any) -> Any:
    """Sum over the layers of a stage, of both kinds."""
    return ell_de * dense + ell_moe * sparse


layered_computing = Formula(
    T_comp,
    4 * n_mb * _all_layers(t_fd, t_fs),
    title="Computing of one step, layer by layer",
    source=DESIGNS,
    variant=NAME,
    assumes="Forward, recomputation, and twice as much backward. No logits, no embedding.",
    accuracy="Equal to the arithmetic of the plain training step with full recomputation, less its logits.",
    example=Example(
        {n_mb: 8, ell_de: 12, ell_moe: 12, t_fd: 0.5, t_fs: 0.9},
        "537.6 ms",
        derived="4 * 8 * (12 * 0.5 + 12 * 0.9)",
    ),
)

_vectors = q_a * (14 * h / sigma + 2 * y_core) / token


def _inner(width: Any) -> Any:
    """Local traffic per token of a feed-forward block's inner width, written and read around its activation."""
    return q_a * (4 + 2 * gated) * width / (t * token)


dense_traffic = Formula(
    Q_d,
    n_tok * (_vectors + _inner(d_ff)) + q_w * (P_attn_r + P_ffn_r),
    title="Local traffic of a dense layer",
    source=ROOFLINE,
    assumes="Weights once; fourteen vectors of the width for norms, residuals and products, which all tensor-parallel "
    "ranks move; queries, keys, values and output written and read; fused attention.",
    convention="Forward, one micro-batch.",
    example=Example(
        {n_tok: 4096, q_a: 2, q_w: 2, h: 4096, sigma: 8, t: 8, y_core: 1280, gated: 1, d_ff: 16384,
         P_attn_r: 5e6, P_ffn_r: 2.5e7},
        "0.24036 GB",
        derived="(4096 * 2 * (14 * 4096 / 8 + 2 * 1280 + 6 * 16384 / 8) + 2 * (5e6 + 2.5e7)) / 1e9",
    ),
)  # fmt: skip

moe_traffic = Formula(
    Q_s,
    n_tok * (_vectors + 6 * q_a * gamma_r * k * chi * h_e / (t * token) + _inner(gamma_r * k * d_e + d_sh))
    + q_w * (P_attn_r + P_sh_r + P_exp_r),
    title="Local traffic of a layer with experts",
    source=ROOFLINE,
    assumes="As for a dense layer, with six vectors per token and expert to permute, compute and return it.",
    convention="Forward, one micro-batch.",
    example=Example(
        {n_tok: 4096, q_a: 2, q_w: 2, h: 4096, h_e: 4096, sigma: 8, t: 8, y_core: 1280, gamma_r: 1.25, k: 2, chi: 2,
         gated: 0, d_e: 8192, d_sh: 4096, P_attn_r: 5e6, P_sh_r: 1e6, P_exp_r: 1e8},
        "0.51818 GB",
        derived="(4096 * 2 * (14 * 4096 / 8 + 2 * 1280 + 6 * 1.25 * 2 * 2 * 4096 / 8 "
        "+ 4 * (1.25 * 2 * 8192 + 4096) / 8) + 2 * (5e6 + 1e6 + 1e8)) / 1e9",
    ),
)  # fmt: skip


def _beyond(traffic: Any, computing: Any) -> Any:
    """Local traffic time in excess of the arithmetic that it overlaps."""
    return Max(0, traffic / (B_mem * eta_mem) - computing)


#: Layers of both kinds, forward: the longer of arithmetic and local traffic, beside which others are hidden.
_dense_pass, _moe_pass = t_fd + _beyond(Q_d, t_fd), t_fs + _beyond(Q_s, t_fs)


exposed_local = Formula(
    T_near,
    4 * n_mb * _all_layers(_beyond(Q_d, t_fd), _beyond(Q_s, t_fs)),
    title="Exposed local memory access",
    source=DESIGNS,
    assumes="Pipelined with the arithmetic of its layer, so the longer of the two counts; the backward pass moves "
    "twice as much.",
    accuracy="By operator instead of by layer it would be 13 times as much; the published ratios fit the layer.",
    example=Example(
        {
            n_mb: 8,
            ell_de: 12,
            ell_moe: 12,
            Q_d: 1.6,
            Q_s: 1.2,
            t_fd: 0.6,
            t_fs: 0.9,
            B_mem: 2000,
            eta_mem: 0.8,
        },
        "153.6 ms",
        derived="4 * 8 * (12 * max(0, 1.6 / (2 * 0.8) - 0.6) + 12 * max(0, 1.2 / (2 * 0.8) - 0.9))",
    ),
)

# --- remote memory --------------------------------------------------------------------------------

activation_traffic = Formula(
    V_act,
    omega_act * n_pass_act * ell_r * A_rec,
    title="Remote traffic of recomputed activations",
    source=HEO,
    assumes="Each layer pushes what it recomputes and pops it for its backward pass.",
    convention="One micro-batch, one rank.",
    example=Example({omega_act: 1, n_pass_act: 2, ell_r: 24, A_rec: 0.1}, "4.800 GB", derived="2 * 24 * 0.1"),
)

_gradient_traffic = omega_g * n_pass_g * G * q_a / q_g
_edge_traffic = omega_w * n_pass_w * q_e * P_edge_r / _sharded_dense

remote_traffic = Formula(
    V_far,
    V_act + omega_w * n_pass_w * W + omega_ck * n_pass_ck * C_ck + _gradient_traffic,
    title="Remote traffic of a micro-batch",
    source=HEO,
    variant=NAME,
    assumes="Aggressive, pull and write back: weights are pulled in three passes and written once, checkpoints pulled "
    "in two and written once. Gradients cross as many times as is asked, which is not at all by default: the source "
    "names weights, checkpoints and recomputed activations alone.",
    convention="One rank.",
    example=Example(
        {V_act: 4.8, omega_w: 0.5, n_pass_w: 4, W: 8, omega_ck: 0.25, n_pass_ck: 3, C_ck: 8, omega_g: 0.75,
         n_pass_g: 1, G: 8, q_a: 2, q_g: 4},
        "29.80 GB",
        derived="4.8 + 0.5 * 4 * 8 + 0.25 * 3 * 8 + 0.75 * 1 * 8 * 2 / 4",
    ),
)  # fmt: skip

update_traffic = Formula(
    V_upd,
    n_pass_o * omega_o * O,
    title="Remote traffic of an update",
    source=INFINITY,
    variant=NAME,
    assumes="None by default: with the update timed the published ratios cannot be met.",
    convention="One rank, one step.",
    example=Example({n_pass_o: 2, omega_o: 0.9, O: 48}, "86.40 GB", derived="2 * 0.9 * 48"),
)


def _transfer(volume: Any) -> Any:
    """Time to transfer these bytes to or from the remote tier."""
    return n_share * volume / B_far


def _unhidden(kept: Any, passing: Any) -> tuple[Any, Any]:
    """Exposed transfer time of one layer: in the forward pass, and in recomputation and backward pass."""
    weights, points = omega_w * n_pass_w * q_w * kept, omega_ck * n_pass_ck * n_tok * x_in
    phases = ((weights / 4 + 2 * points / 3, 1), (weights / 4 + points / 3, 1), (weights / 2, 2))
    forward, again, back = (Max(0, _transfer(volume) - eta_pre * times * passing) for volume, times in phases)
    return forward, again + back


_dense_unhidden, _moe_unhidden = _unhidden(P_kd, _dense_pass), _unhidden(P_ks, _moe_pass)


unhidden_fetches = Formula(
    T_fetch,
    _all_layers(sum(_dense_unhidden), sum(_moe_unhidden)),
    title="Fetching weights and checkpoints, beyond what prefetching hides",
    source=INFINITY,
    variant=NAME,
    assumes="A quarter of the passes of weights falls to the forward pass, a quarter to the recomputation, half to the "
    "backward pass; two thirds of those of checkpoints to the forward pass. Beside a layer means beside the longer of "
    "its arithmetic and its local traffic.",
    accuracy="Equal to a schedule of such layers, executed event by event. One that fetches every phase behind the one "
    "before it was from 15% shorter to 11% longer. The published 1.48 asks for no prefetching.",
    convention="One micro-batch, one rank.",
    example=Example(
        {ell_de: 1, ell_moe: 1, P_kd: 2e7, P_ks: 1.2e8, t_fd: 1, t_fs: 2, omega_w: 1, n_pass_w: 4,
         q_w: 2, omega_ck: 1,
         n_pass_ck: 3, n_tok: 4000, x_in: 10000, n_share: 1, B_far: 100, eta_pre: 0.5, Q_d: 1, Q_s: 1, B_mem: 2000,
         eta_mem: 0.5},
        "7.800 ms",
        derived="max(0, (0.04 + 2 * 0.04) / 0.1 - 0.5) + max(0, (0.04 + 0.04) / 0.1 - 0.5) "
        "+ max(0, 2 * 0.04 / 0.1 - 1) + (0.24 + 2 * 0.04) / 0.1 - 1 + (0.24 + 0.04) / 0.1 - 1 + 2 * 0.24 / 0.1 - 2",
    ),
)  # fmt: skip

exposed_remote = Formula(
    T_far,
    n_mb * (T_fetch + _transfer(V_act + _edge_traffic + _gradient_traffic)) + _transfer(V_upd),
    title="Exposed remote memory access",
    source=HEO,
    variant=NAME,
    assumes="Bytes over bandwidth, without latency; accelerators that share a port take turns. Recomputed activations "
    "are never hidden: their pop feeds the backward pass of the same layer and follows their push. Weights outside "
    "the layers are not prefetched.",
    accuracy="Equal to a schedule of the phases on three serial resources, in which each fetches beside its own pass.",
    example=Example(
        {n_mb: 8, T_fetch: 90, n_share: 1, B_far: 100, V_act: 5, omega_w: 1, n_pass_w: 4, q_e: 2, q_a: 2, P_edge_r: 1e9,
         Z: 3, n_z: 8, omega_g: 0.5, n_pass_g: 1, G: 8, q_g: 4, V_upd: 90},
        "2260 ms",
        derived="8 * (90 + (5 + 4 * 2 / 8 + 0.5 * 8 * 2 / 4) / 0.1) + 90 / 0.1",
    ),
)  # fmt: skip

# --- communication --------------------------------------------------------------------------------

_hidden_states = h * n_tok / token
_reduction = 2 * q_a * (t - 1) / t * _hidden_states
_exchange = ((q_disp + q_comb) * chi * gamma_r * k / t * (e - 1) / e + q_a * (t - 1) / t) * _hidden_states

blocking_traffic = Formula(
    X_block,
    3 * ((2 * ell_r - ell_moe) * _reduction + ell_moe * _exchange),
    title="Link traffic nothing hides",
    source=Source("shoeybi2019", "section 3"),
    assumes="Forward, recomputation and backward each: two all-reduces of the hidden states per layer; of a layer with "
    "experts one, with dispatch, combine and an all-gather over the tensor-parallel ranks in place of the other. "
    "Rings, without latency.",
    convention="One micro-batch, one rank.",
    example=Example(
        {
            ell_r: 24,
            ell_moe: 12,
            t: 4,
            e: 8,
            chi: 1,
            gamma_r: 1.25,
            k: 2,
            q_a: 2,
            q_disp: 2,
            q_comb: 2,
            h: 5000,
            n_tok: 4000,
        },
        "9.135 GB",
        derived="3 * (36 * 2 * 3 / 4 + 12 * (2 * 1.25 * 2 / 4 * 7 / 8 + 3 / 4)) * 2 * 5000 * 4000 / 1e9",
    ),
)

dense_gather = Formula(
    z_d,
    when(Z >= 3, q_w * _dense_whole * (n_z - 1) / n_z),
    title="Gathering the weights of a dense layer",
    source=Source("rajbhandari2020", "section 7"),
    convention="Bytes one rank receives.",
    example=Example(
        {Z: 3, q_w: 2, P_attn_r: 6e7, P_norm: 5000, P_ffn_r: 1.2e8, n_z: 8, n_N: 2},
        "0.3150175 GB",
        derived="2 * (6e7 + 2 * 5000 + 1.2e8) * 7 / 8 / 1e9",
    ),
)

moe_gather = Formula(
    z_s,
    when(Z >= 3, q_w * (_moe_whole * (n_z - 1) / n_z + P_exp_r * Max(0, n_g["edp"] - 1) / n_g["edp"])),
    title="Gathering the weights of a layer with experts",
    source=Source("rajbhandari2020", "section 7"),
    assumes="Experts that one rank holds alone are not gathered.",
    convention="Bytes one rank receives.",
    example=Example(
        {Z: 3, q_w: 2, P_attn_r: 6e7, P_norm: 5000, P_sh_r: 1e6, P_exp_r: 2.4e8, n_z: 8, n_g["edp"]: 2, n_N: 2},
        "0.3467675 GB",
        derived="2 * ((6e7 + 2 * 5000 + 1e6) * 7 / 8 + 2.4e8 / 2) / 1e9",
    ),
)


def _beside(gathered: Any, passing: Any, fetched: tuple[Any, Any]) -> Any:
    """Exposed time to gather a layer in the forward pass, and to gather and reduce it in the others."""
    forward, rest = fetched
    return Max(0, gathered / beta - passing - forward) + Max(0, 2 * gathered / beta - 3 * passing - rest)


exposed_communication = Formula(
    T_link,
    n_mb
    * (
        X_block / beta
        + _all_layers(_beside(z_d, _dense_pass, _dense_unhidden), _beside(z_s, _moe_pass, _moe_unhidden))
    ),
    title="Exposed communication",
    source=DESIGNS,
    assumes="ZeRO-3 gathers weights behind the forward pass, and gathers them and reduces gradients behind "
    "recomputation and backward pass, and beside what is fetched from remote memory: links and the port to it work at "
    "once. The rest blocks.",
    example=Example(
        {n_mb: 8, X_block: 9, beta: 100, ell_de: 12, ell_moe: 12, z_d: 0.2, t_fd: 1, z_s: 0.1, t_fs: 2,
         Q_d: 1.5, Q_s: 1,
         B_mem: 1000, eta_mem: 1, omega_w: 0, n_pass_w: 4, q_w: 2, P_kd: 2e7, P_ks: 1.2e8, omega_ck: 1, n_pass_ck: 3,
         n_tok: 1000, x_in: 10000, n_share: 1, B_far: 100, eta_pre: 0},
        "748.8 ms",
        derived="8 * (9 / 0.1 + 12 * (max(0, 0.2 / 0.1 - 1.5 - 0.2) + max(0, 0.4 / 0.1 - 3 * 1.5 - 0.1)) "
        "+ 12 * (max(0, 0.1 / 0.1 - 2 - 0.2) + max(0, 0.2 / 0.1 - 6 - 0.1)))",
    ),
)  # fmt: skip

# --- the step and what it costs -------------------------------------------------------------------

segments = Formula(
    T_step,
    T_comp + T_near + T_far + T_link,
    title="One step, by exposed segments",
    source=DESIGNS,
    variant=NAME,
    assumes="Computing, local and remote memory and link follow each other where they are exposed; no update, no "
    "logits, no latency. What hides beside a layer hides at once: local traffic, remote memory and links are resources "
    "of their own, so that a pass takes as long as the longest of them.",
    accuracy="Both published ratios within 1%; bars the source does not print are predictions.",
    example=Example(
        {T_comp: 540, T_near: 150, T_far: 2260, T_link: 912}, "3.862 s", derived="(540 + 150 + 2260 + 912) / 1000"
    ),
)

_largest = Max(T_comp, T_near, T_far, T_link)

longest = Formula(
    segment,
    Piecewise(
        (label(segment, "Compute"), T_comp >= _largest),
        (label(segment, "Remote memory"), T_far >= _largest),
        (label(segment, "Communication"), T_link >= _largest),
        (label(segment, "Local memory"), True),
    ),
    title="The longest segment of a step",
    source=DESIGNS,
    example=Example(
        {T_comp: 540, T_near: 150, T_far: 2260, T_link: 912}, "Remote memory", derived="2260 >= max(540, 150, 912)"
    ),
)

fits_both = Formula(
    feasible,
    And(Le(M_near_need + unified * M_far_need, DRIVER_MEMORY), Le((1 - unified) * M_far_need, M_far)),
    title="Whether both tiers hold what is kept in them",
    source=HEO,
    variant=NAME,
    example=Example(
        {M_near_need: 19.1, M_far_need: 57.2, unified: 0, M_cap: 24, M_drv: 0, M_far: 128},
        "True",
        derived="19.1 <= 24 and 57.2 <= 128",
    ),
)

memory_price = Formula(
    C_mem,
    p_near * M_near_need + p_far * M_far_need,
    title="Price of the memory of one accelerator",
    source=Source("heo2023", "section 1"),
    convention="What the step needs, not what is installed.",
    example=Example(
        {p_near: 10, M_near_need: 19.1, p_far: 3, M_far_need: 57.2}, "362.6 USD", derived="10 * 19.1 + 3 * 57.2"
    ),
)

throughput_per_price = Formula(
    R_usd,
    R_dev / (p_bare + C_mem),
    title="Performance per cost",
    source=Source("heo2023", "section 1"),
    assumes="Memory alone is paid for where no price of the bare accelerator is given.",
    example=Example({R_dev: 5000, p_bare: 10000, C_mem: 2500}, "0.4000 token/s/USD", derived="5000 / (10000 + 2500)"),
)

one_stage = Formula(
    rank,
    label(rank, "first"),
    title="The rank of the only stage",
    source=HEO,
    variant="one_stage",
    no_example="a label",
)

POLICY = (
    weights_kept_far,
    checkpoints_kept_far,
    activations_kept_far,
    gradients_kept_far,
    optimizer_kept_far,
)
SEGMENTS = (
    expert_slices,
    checkpoints,
    recomputed,
    dense_layer_kept,
    moe_layer_kept,
    working_buffer,
    local_memory,
    remote_memory,
    dense_layer_time,
    moe_layer_time,
    dense_layers_of_rank,
    layered_computing,
    dense_traffic,
    moe_traffic,
    exposed_local,
    activation_traffic,
    remote_traffic,
    update_traffic,
    unhidden_fetches,
    exposed_remote,
    blocking_traffic,
    dense_gather,
    moe_gather,
    exposed_communication,
    segments,
    longest,
    fits_both,
    memory_price,
    throughput_per_price,
)
FORMULAS = (*POLICY, *SEGMENTS, one_stage)
