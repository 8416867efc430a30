"""Memory expansion

A micro-batch passes the layers three times (forward, recomputation, backward), and in each pass a layer is
pulled, computed and written back. Part of the training state is kept in a remote tier: a policy says which
share of which tensor. What is not hidden behind arithmetic is exposed: local memory beyond the roofline of
a layer, remote memory beyond what is prefetched, communication beyond what runs beside computing.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Le, Max, Min, Piecewise

from mlsysim.symbolic import Formula, Source, by_label, flop, label, sharded, token, when
from mlsysim.symbols.activations import sigma, x_in
from mlsysim.symbols.hardware import B_mem, F, M_cap, beta, eta
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
from mlsysim.symbols.step import R_dev, T_comp, T_step, eta_attn, eta_mem, w_attn
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
    a_kv_r,
    e,
    ell,
    ell_moe,
    feasible,
    n_mb,
    n_tok,
    n_z,
    o,
    q_g,
    t,
)
from mlsysim.symbols.workload import E, L, L_moe, a, d_e, d_ff, d_h, d_sh, gated, h, k, q, s

HEO = Source("heo2023", "section 4")
INFINITY = Source("rajbhandari2021", "section 3")
DESIGNS = Source("heo2023", "section 5")
ROOFLINE = Source("williams2009", "section 3")
NAME = "memory_expansion"
DERIVED = "derived here; the source prints the sums of its table 2, see docs/validation.md"
NO_BARS = "derived here; the source prints two ratios, see docs/validation.md"

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
    no_example="a quotient",
)

checkpoints = Formula(
    C_ck,
    ell * n_tok * x_in,
    title="Activation checkpoints",
    source=Source("rajbhandari2021", "section 3, equation 3"),
    assumes="The input of every layer, the same on all tensor-parallel ranks.",
    convention="One micro-batch, one rank; GB = 1e9 bytes.",
    no_example=DERIVED,
)

recomputed = Formula(
    A_rec,
    q * (8 * h + a * s / token) * n_tok / (t * token),
    title="Recomputed activations of one layer",
    source=Source("rajbhandari2021", "section 3, equation 5"),
    assumes="Eight vectors of the width and half of a score matrix at 16 bit, split evenly over tensor-parallel "
    "ranks; no experts in the count.",
    accuracy="Table 2 of Heo et al. does not test it (0.2 GB of 73); their ratio of 1.48 does, from 5.1 to 6.7 bytes "
    "per token and unit of width where this gives 6.",
    convention="One micro-batch, one rank.",
    no_example=DERIVED,
)

_sharded_dense = sharded(Z >= 3, n_z)
_dense_whole = P_attn_r + 2 * P_norm + P_ffn_r
_moe_whole = P_attn_r + 2 * P_norm + P_sh_r

dense_layer_kept = Formula(
    P_kd,
    _dense_whole / _sharded_dense,
    title="Parameters of a dense layer that a rank keeps",
    source=Source("rajbhandari2020", "section 5"),
    no_example="a quotient",
)

moe_layer_kept = Formula(
    P_ks,
    _moe_whole / _sharded_dense + P_exp_r / sharded(Z >= 3, n_z / e),
    title="Parameters of a layer with experts that a rank keeps",
    source=Source("rajbhandari2020", "section 5"),
    no_example="a quotient",
)

_has_dense, _has_experts = Min(1, L - L_moe), Min(1, L_moe)

working_buffer = Formula(
    M_work,
    (2 * q + q_g + o) * Max(_has_dense * P_kd, _has_experts * P_ks) + A_rec + 2 * n_tok * x_in,
    title="Memory of the layer at work",
    source=INFINITY,
    assumes="All state of the largest layer, the weights of the next one, the recomputed activations of one layer, its "
    "input and its output. Weights gathered from other ranks are left out.",
    accuracy="0.2% above table 2 of Heo et al., where its parts were chosen knowing the sum: 8% below without the "
    "slot of the next layer.",
    no_example=DERIVED,
)

local_memory = Formula(
    M_near_need,
    (1 - omega_w) * W + (1 - omega_ck) * C_ck + (1 - omega_g) * G + (1 - omega_o) * O + M_work,
    title="Local memory",
    source=HEO,
    variant=NAME,
    assumes="What is kept remote has no local copy but in the working buffer.",
    accuracy="Within 1.0% of table 2 of Heo et al.",
    no_example=DERIVED,
)

remote_memory = Formula(
    M_far_need,
    omega_w * W + omega_ck * C_ck + omega_g * G + omega_o * O + omega_act * A_rec,
    title="Remote memory",
    source=HEO,
    variant=NAME,
    accuracy="Within 1.4% of table 2 of Heo et al.",
    no_example=DERIVED,
)

# --- arithmetic and local memory ------------------------------------------------------------------


def _forward(parameters: Any) -> Any:
    """Arithmetic of one layer with so many parameters at work, forward, at the rate of the device."""
    return n_tok / t * (2 * flop * parameters / token + w_attn / (L * eta_attn)) / (F * eta)


dense_layer_time = Formula(
    t_fd,
    _forward(P_attn + P_ffn),
    title="Arithmetic of a dense layer",
    source=Source("kaplan2020", "section 2.1"),
    convention="Forward; the backward pass is twice as much.",
    no_example=NO_BARS,
)

moe_layer_time = Formula(
    t_fs,
    _forward(P_attn + P_rt + P_sh + gamma_r * k * P_exp),
    title="Arithmetic of a layer with experts",
    source=Source("kaplan2020", "section 2.1"),
    assumes="The rank with the hottest experts sets the time.",
    convention="Forward; the backward pass is twice as much.",
    no_example=NO_BARS,
)


def _all_layers(dense: Any, sparse: Any) -> Any:
    """A sum over the layers of a stage, of both kinds."""
    return (ell - ell_moe) * dense + ell_moe * sparse


layered_computing = Formula(
    T_comp,
    4 * n_mb * _all_layers(t_fd, t_fs),
    title="Computing of one step, layer by layer",
    source=DESIGNS,
    variant=NAME,
    assumes="Forward, recomputation, and twice as much backward. No logits, no embedding.",
    accuracy="Equal to the arithmetic of the plain training step with full recomputation, less its logits.",
    no_example=NO_BARS,
)

_vectors = q * (14 * h / sigma + (4 * a / t + 4 * a_kv_r) * d_h) / token


def _inner(width: Any) -> Any:
    """Traffic per token of the inner width of a feed-forward block: written and read around its activation."""
    return q * (4 + 2 * gated) * width / (t * token)


dense_traffic = Formula(
    Q_d,
    n_tok * (_vectors + _inner(d_ff)) + q * (P_attn_r + P_ffn_r),
    title="Local traffic of a dense layer",
    source=ROOFLINE,
    assumes="Weights once; fourteen vectors of the width for norms, residuals and products, which all tensor-parallel "
    "ranks move; queries, keys, values and output written and read; fused attention.",
    convention="Forward, one micro-batch.",
    no_example="counted here; no source prints it",
)

moe_traffic = Formula(
    Q_s,
    n_tok * (_vectors + 6 * q * gamma_r * k * chi * h / (t * token) + _inner(gamma_r * k * d_e + d_sh))
    + q * (P_attn_r + P_sh_r + P_exp_r),
    title="Local traffic of a layer with experts",
    source=ROOFLINE,
    assumes="As for a dense layer, with six vectors per token and expert to permute, compute and return it.",
    convention="Forward, one micro-batch.",
    no_example="counted here; no source prints it",
)


def _beyond(traffic: Any, computing: Any) -> Any:
    """What local traffic takes longer than the arithmetic it is pipelined with."""
    return Max(0, traffic / (B_mem * eta_mem) - computing)


exposed_local = Formula(
    T_near,
    4 * n_mb * _all_layers(_beyond(Q_d, t_fd), _beyond(Q_s, t_fs)),
    title="Exposed local memory access",
    source=DESIGNS,
    assumes="Pipelined with the arithmetic of its layer, so the longer of the two counts; the backward pass moves "
    "twice as much.",
    accuracy="By operator instead of by layer it would be 13 times as much; the published ratios fit the layer.",
    no_example=NO_BARS,
)

# --- remote memory --------------------------------------------------------------------------------

activation_traffic = Formula(
    V_act,
    omega_act * n_pass_act * ell * A_rec,
    title="Remote traffic of recomputed activations",
    source=HEO,
    assumes="Each layer pushes what it recomputes and pops it for its backward pass.",
    convention="One micro-batch, one rank.",
    no_example=NO_BARS,
)

_gradient_traffic = omega_g * n_pass_g * G * q / q_g
_edge_traffic = omega_w * n_pass_w * q * P_edge_r / _sharded_dense

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
    no_example=NO_BARS,
)

update_traffic = Formula(
    V_upd,
    n_pass_o * omega_o * O,
    title="Remote traffic of an update",
    source=INFINITY,
    variant=NAME,
    assumes="None by default: with the update timed the published ratios cannot be met.",
    convention="One rank, one step.",
    no_example=NO_BARS,
)


def _transfer(volume: Any) -> Any:
    """Time of so many bytes to or from the remote tier."""
    return n_share * volume / B_far


def _unhidden(kept: Any, computing: Any) -> Any:
    """What one layer fetches and writes beyond its computing: forward, recomputation, backward."""
    weights, points = omega_w * n_pass_w * q * kept, omega_ck * n_pass_ck * n_tok * x_in
    phases = ((weights / 4 + 2 * points / 3, 1), (weights / 4 + points / 3, 1), (weights / 2, 2))
    return sum(Max(0, _transfer(volume) - eta_pre * times * computing) for volume, times in phases)


unhidden_fetches = Formula(
    T_fetch,
    _all_layers(_unhidden(P_kd, t_fd), _unhidden(P_ks, t_fs)),
    title="Fetching weights and checkpoints, beyond what prefetching hides",
    source=INFINITY,
    variant=NAME,
    assumes="A quarter of the passes of weights falls to the forward pass, a quarter to the recomputation, half to the "
    "backward pass; two thirds of those of checkpoints to the forward pass.",
    accuracy="Bounded from both sides by a schedule executed event by event. The published 1.48 asks for none.",
    convention="One micro-batch, one rank.",
    no_example=NO_BARS,
)

exposed_remote = Formula(
    T_far,
    n_mb * (T_fetch + _transfer(V_act + _edge_traffic + _gradient_traffic)) + _transfer(V_upd),
    title="Exposed remote memory access",
    source=HEO,
    variant=NAME,
    assumes="Bytes over bandwidth, without latency; accelerators that share a port take turns. Recomputed activations "
    "are never hidden: their pop feeds the backward pass of the same layer and follows their push. Weights outside "
    "the layers are not prefetched.",
    accuracy="Equal to a schedule of the phases on three serial resources where nothing is prefetched.",
    no_example=NO_BARS,
)

# --- communication --------------------------------------------------------------------------------

_hidden_states = q * h * n_tok / token
_reduction = 2 * (t - 1) / t * _hidden_states
_exchange = (2 * chi * gamma_r * k / t * (e - 1) / e + (t - 1) / t) * _hidden_states

blocking_traffic = Formula(
    X_block,
    3 * ((2 * ell - ell_moe) * _reduction + ell_moe * _exchange),
    title="Link traffic nothing hides",
    source=Source("shoeybi2019", "section 3"),
    assumes="Forward, recomputation and backward each: two all-reduces of the hidden states per layer; of a layer with "
    "experts one, with dispatch, combine and an all-gather over the tensor-parallel ranks in place of the other. "
    "Rings, without latency.",
    convention="One micro-batch, one rank.",
    no_example=NO_BARS,
)

dense_gather = Formula(
    z_d,
    when(Z >= 3, q * _dense_whole * (n_z - 1) / n_z),
    title="Gathering the weights of a dense layer",
    source=Source("rajbhandari2020", "section 7"),
    convention="Bytes one rank receives.",
    no_example="a product",
)

moe_gather = Formula(
    z_s,
    when(Z >= 3, q * (_moe_whole * (n_z - 1) / n_z + P_exp_r * (n_z - e) / n_z)),
    title="Gathering the weights of a layer with experts",
    source=Source("rajbhandari2020", "section 7"),
    assumes="Experts that one rank holds alone are not gathered.",
    convention="Bytes one rank receives.",
    no_example="a product",
)


def _beside(gathered: Any, computing: Any) -> Any:
    """What gathering a layer takes beyond the forward pass, and gathering and reducing beyond the rest."""
    return Max(0, gathered / beta - computing) + Max(0, 2 * gathered / beta - 3 * computing)


exposed_communication = Formula(
    T_link,
    n_mb * (X_block / beta + _all_layers(_beside(z_d, t_fd), _beside(z_s, t_fs))),
    title="Exposed communication",
    source=DESIGNS,
    assumes="ZeRO-3 gathers weights behind the forward pass, and gathers them and reduces gradients behind "
    "recomputation and backward pass; the rest blocks.",
    no_example=NO_BARS,
)

# --- the step and what it costs -------------------------------------------------------------------

segments = Formula(
    T_step,
    T_comp + T_near + T_far + T_link,
    title="One step, by exposed segments",
    source=DESIGNS,
    variant=NAME,
    assumes="Computing, local and remote memory and link follow each other where they are exposed; no update, no "
    "logits, no latency. Each kind of traffic has the arithmetic beside it to itself, so that where several hide at "
    "once the sum is a lower bound, and faster arithmetic can lengthen it.",
    accuracy="Both published ratios within 1%; bars the source does not print are predictions.",
    no_example=NO_BARS,
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
    no_example="a label",
)

fits_both = Formula(
    feasible,
    And(Le(M_near_need + unified * M_far_need, M_cap), Le((1 - unified) * M_far_need, M_far)),
    title="Whether both tiers hold what is kept in them",
    source=HEO,
    variant=NAME,
    no_example="the source gives no capacities",
)

memory_price = Formula(
    C_mem,
    p_near * M_near_need + p_far * M_far_need,
    title="Price of the memory of one accelerator",
    source=Source("heo2023", "section 1"),
    convention="What the step needs, not what is installed.",
    no_example="the source names performance per cost as its aim and prints no price",
)

throughput_per_price = Formula(
    R_usd,
    R_dev / (p_bare + C_mem),
    title="Performance per cost",
    source=Source("heo2023", "section 1"),
    assumes="Memory alone is paid for where no price of the bare accelerator is given.",
    no_example="the source names performance per cost as its aim and prints no price",
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
FORMULAS = POLICY + SEGMENTS
