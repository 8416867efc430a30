"""Step time

A training step on the slowest rank: products as fast as the board's power allows, attention by its products and
exponentials, element-wise work at a share of the memory bandwidth, host launches, the traffic of each kind of
parallelism, the pipeline, and the update. Traffic hides at most behind the computing it overlaps with, and slows it
down. Times of single exchanges are under groups of ranks.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Not, Or, Piecewise, Rational, log, sqrt

from mlsysim.formulas import (
    attention_core,
    collectives,
    data_parallel_traffic,
    exchange_overlap,
    expert_exchange,
    expert_products,
    layer_time,
    mixer_times,
    mixers,
    moe_routing,
    number_formats,
    pipeline_schedule,
    rank_groups,
    training_memory,
    transformer_flops,
)
from mlsysim.formulas.mixers import EAGER, FLASH, UNFUSED
from mlsysim.formulas.roofline import slower
from mlsysim.symbolic import (
    Example,
    Formula,
    Max,
    Min,
    Mod,
    Source,
    System,
    by_label,
    label,
    sharded,
    swapped,
    token,
    when,
)
from mlsysim.symbols.activations import (
    attention_kernel,
    elementwise_kernels,
    r_act,
    r_norm,
    sigma,
    sigma_e,
)
from mlsysim.symbols.formats import q_a
from mlsysim.symbols.fsdp import M_usable
from mlsysim.symbols.groups import V_g, n_g, t_ag_g, t_sum
from mlsysim.symbols.hardware import B_mem, F, n_fleet, n_node
from mlsysim.symbols.layers import (
    F_lin,
    F_wide,
    T_fill,
    T_host,
    T_stage,
    V_wide,
    ell_s,
    ell_s_moe,
    ell_sum,
    kappa,
    r_e,
    t_dev,
    t_head,
    t_host,
    t_stage_host,
    t_wait,
    w_ad,
    x_cast,
    x_inp,
)
from mlsysim.symbols.mixers import a_r, t_each, w_pair
from mlsysim.symbols.routing import gamma_m, gamma_r, n_exchanges
from mlsysim.symbols.step import (
    Phi,
    Phi_hw,
    R_dev,
    R_tok,
    T_attn,
    T_bub,
    T_comp,
    T_cp,
    T_dp,
    T_el,
    T_ep,
    T_head,
    T_lin,
    T_max,
    T_mean,
    T_opt,
    T_pp,
    T_slow,
    T_step,
    T_tp,
    T_train,
    c_slice,
    d_in,
    eta_attn,
    eta_el,
    eta_mem,
    hfu,
    kappa_step,
    mfu,
    n_steps,
    n_train,
    phi_cp,
    phi_tp,
    rho_attn,
    rho_el,
    rho_lin,
    scaling,
    step_bottleneck,
    straggler,
    t_attn,
    t_comp,
    t_cp,
    t_el,
    t_ep,
    t_lin,
    t_mb,
    t_ring,
    t_tp,
    tau_b,
    tau_f,
    v_ff,
    v_h,
    w_hot,
    w_lin,
    w_redo,
    w_rt,
    x_a,
    x_el,
    x_el_redo,
)
from mlsysim.symbols.trained import X_O, P_upd, X_td, X_ts, f_w, q_t
from mlsysim.symbols.training import (
    M,
    Z,
    b,
    c_cp,
    checkpointing,
    d,
    n_mb,
    n_tok,
    n_z,
    p,
    q_g,
    t,
)
from mlsysim.symbols.workload import L, L_moe, L_mtp, d_e, d_ff, d_sh, expert_bias, gated, h, h_e, k, s

MEGATRON = Source("shoeybi2019", "section 3")
COUNTED = "The counts are taken from kernels by hand; no profile was matched."
CALIBRATED = "See docs/validation.md for the error against published steps."

data_parallel_ranks = Formula(
    d,
    n_fleet / (t * p * c_cp),
    given=Eq(Mod(n_fleet, t * p * c_cp), 0),
    title="Data-parallel ranks of a fleet",
    source=Source("narayanan2021", "section 3"),
    assumes="Every accelerator works. Experts are laid out over the same ranks anew.",
    example=Example({n_fleet: 512, t: 8, p: 4, c_cp: 2}, "8", derived="512 / (8 * 4 * 2)"),
)

_eager_scores = Not(FLASH)


def waited(device: Any, host: Any) -> Any:
    """Part of that time beyond the device's, written without a difference of nearly equal numbers."""
    return when(host > 0, host**4 / ((sqrt(device**4 + host**4) + device**2) * (slower(device, host) + device)))


product_time = Formula(
    t_lin,
    n_tok / t * ell_s / (L + L_mtp) * ((2 + f_w + rho_lin) * w_hot + w_redo + (3 + rho_lin) * w_ad) / (kappa * F_lin),
    title="Products with weights, one micro-batch",
    source=Source("kaplan2020", "section 2.1"),
    assumes="Backward is twice the forward, but that frozen weights need no gradients. The slowest "
    "stage has its whole layers; the head stands apart.",
    accuracy=CALIBRATED,
    example=Example(
        {
            n_tok: 8192,
            t: 8,
            ell_s: 20,
            L: 80,
            L_mtp: 0,
            rho_lin: 0,
            f_w: 1,
            w_hot: 140e9,
            w_redo: 0,
            w_ad: 0,
            kappa: 1,
            F_lin: 593.4,
        },
        "181.19 ms",
        derived="8192 / 8 * 20 / 80 * 3 * 140e9 / 593.4e12 * 1e3",
    ),
)

score_time = Formula(
    t_attn,
    n_tok
    * ell_s
    / ((L + L_mtp) * kappa)
    * (
        Piecewise(
            ((3 + rho_attn) * w_pair / F_wide, _eager_scores),
            ((3 + rho_attn) * w_pair / (F_wide * eta_attn), Or(x_a <= 0, tau_f <= 0)),
            (((1 + rho_attn) * tau_f + tau_b) / Max(x_a, Rational(1, 1000)), True),
        )
        / t
        + (3 + rho_attn) * t_each
    ),
    title="Cores of mixers, one micro-batch",
    source=Source("dao2022", "section 3"),
    assumes="Eager and unfused attention is products; other kernels take their products and exponentials. Where the "
    "exponentials of a device are not known, or attention_efficiency is given, they reach that part of the rate of "
    "products, and what they compute backward beyond twice the forward is in it. At 16 bit where products are computed "
    "at less. Scans of recurrent mixers take the time of the bytes that they move, backward twice as long as forward: "
    "derived from prefills.",
    accuracy=CALIBRATED,
    example=Example(
        {
            n_tok: 8192,
            t: 8,
            ell_s: 20,
            L: 80,
            L_mtp: 0,
            rho_attn: 1,
            w_pair: 10e9,
            t_each: 0,
            kappa: 1,
            F_wide: 593.4,
            attention_kernel: "flash",
            eta_attn: 0.5,
            x_a: 0.9,
            tau_f: 20,
            tau_b: 60,
        },
        "28.444 ms",
        derived="8192 / 8 * 20 / 80 * (2 * 20 + 60) / 0.9 / 1e3",
    ),
)

width_vectors = Formula(
    v_h,
    when(EAGER, 66, 15),
    title="Vectors of the width that a layer moves",
    source=Source("dao2022", "section 3.1"),
    assumes="Fused: each result is written once and read where it is needed, fifteen vectors for two norms, two "
    "residual sums and rotations. Eager: every operation reads and writes, norms in fp32.",
    accuracy=COUNTED,
    no_example="a table of labels",
)

inner_vectors = Formula(
    v_ff,
    gated * when(EAGER, 5, 3) + (1 - gated) * when(EAGER, 4, 2),
    title="Vectors of the inner width that a layer moves",
    source=Source("dao2022", "section 3.1"),
    assumes="Of the activation between the products, gated or not.",
    accuracy=COUNTED,
    example=Example({elementwise_kernels: "eager", gated: 1}, "5", derived="1 * 5 + 0 * 4"),
)

inner_width = Formula(
    d_in,
    Max((1 - Min(1, L_moe)) * d_ff, Min(1, L_moe) * (gamma_r * k * d_e + d_sh)),
    title="Inner width that a token passes through",
    source=Source("fedus2022", "section 2.2"),
    assumes="In a model with experts every layer is taken as one with experts, on the hot rank.",
    example=Example(
        {L_moe: 58, d_ff: 18432, k: 8, gamma_r: 1.25, d_e: 2048, d_sh: 2048}, "22528", derived="8 * 1.25 * 2048 + 2048"
    ),
)

#: Widths that move for what a token's experts get and that pass through their gates, on the rank of the experts.
_permuted, _routed = (7 + Rational(32, 3) * expert_bias) * k * h_e / sigma_e, k * d_e


def _gates(width: Any) -> Any:
    """Bytes per token moved forward by the activation between the products of a block this wide."""
    return q_a * v_ff * width / (t * token)


def _gates_again(width: Any) -> Any:
    """Bytes per token moved again if only the activation is recomputed."""
    return q_a * (1 - rho_el) * 3 * r_act * width / (t * token)


def routed_elements() -> Any:
    """Bytes per token moved locally by routed experts for permutation and gates, in all passes."""
    return (3 + rho_el) * (_gates(_routed) + q_a * _permuted / token) + _gates_again(_routed)


elementwise_traffic = Formula(
    x_el,
    q_a
    * (v_h * h / sigma + Min(1, L_moe) * (when(EAGER, 11.5) * gamma_m * k * h_e / sigma_e + gamma_r * _permuted))
    / token
    + _gates(d_in),
    title="Bytes that norms, rotations, gates and residuals move, per layer and token",
    source=Source("dao2022", "section 3.1"),
    assumes="With experts, more vectors of the width for each that a token is sent to: seven on the hot rank, and "
    "where their permutation is not fused eleven and a half on every rank, to sort, weigh and add up its own "
    "(torchtitan's operations, counted). A bias behind an expert is weighed in fp32, added, joined and cast: fourteen "
    "vectors forward and eighteen backward (Megatron's operations, counted).",
    accuracy=COUNTED,
    example=Example(
        {
            q_a: 2,
            v_h: 15,
            h: 8192,
            h_e: 8192,
            sigma: 8,
            v_ff: 3,
            d_in: 28672,
            t: 8,
            L_moe: 0,
            elementwise_kernels: "fused",
            k: 1,
            gamma_r: 1,
            gamma_m: 1,
            sigma_e: 1,
            expert_bias: 0,
        },
        "52224 byte/token",
        derived="2 * (15 * 8192 / 8 + 3 * 28672 / 8)",
    ),
)

recomputed_traffic = Formula(
    x_el_redo,
    q_a * (1 - rho_el) * 4 * r_norm * h / (sigma * token) + _gates_again(d_in),
    title="Bytes that recomputed norms and activation functions move, per layer and token",
    source=Source("deepseek2024", "section 3.2.3"),
    assumes="Two norms read and write the width, a gate reads two vectors of the inner width and writes one. Nothing "
    "more where all element-wise work is recomputed.",
    accuracy=COUNTED,
    example=Example(
        {q_a: 2, rho_el: 0, r_norm: 1, r_act: 1, h: 7168, sigma: 1, d_in: 18432, t: 1},
        "167936 byte/token",
        derived="2 * (4 * 7168 + 3 * 18432)",
    ),
)

elementwise_time = Formula(
    t_el,
    (
        V_wide
        + n_tok
        * ell_s
        * (
            (3 + rho_el) * x_el
            + (3 + rho_lin) * x_inp
            + x_el_redo
            + x_cast
            + when(_eager_scores, (3 + rho_attn) * when(UNFUSED, 4, 6.5) * q_a * a_r * s / token / token)
        )
    )
    / (kappa * B_mem * eta_el),
    title="Everything bound by memory, one micro-batch",
    source=Source("williams2009"),
    assumes="Eager attention writes and reads its scores thirteen bytes a number at 16 bit; unfused in Transformer "
    "Engine, whose softmax is one kernel at 16 bit, eight.",
    accuracy=CALIBRATED,
    example=Example(
        {n_tok: 8192, ell_s: 20, rho_el: 0, kappa: 1, x_el: 52224, x_el_redo: 0, x_cast: 0, x_inp: 0, rho_lin: 0,
         V_wide: 0, attention_kernel: "flash", rho_attn: 0, q_a: 2, a_r: 8, s: 8192, B_mem: 3350, eta_el: 0.8},
        "9.578 ms",
        derived="8192 * 20 * 3 * 52224 / (3350e9 * 0.8) * 1e3",
    ),
)  # fmt: skip

summing_layers = Formula(
    ell_sum,
    Max(0, ell_s - when(And(V_g["etp"] > 0, d_sh < 1), ell_s_moe / 2)),
    title="Layers of the slowest stage that sum hidden states",
    source=Source("liu2025folding", "token dispatcher"),
    assumes="Where routed tokens are gathered by themselves, hidden states go to shared experts alone.",
    example=Example({ell_s: 20, ell_s_moe: 10, V_g["etp"]: 400, d_sh: 0}, "15", derived="20 - 10 / 2"),
)

tensor_parallel_time = Formula(
    t_tp,
    (1 - phi_tp) * ell_sum * by_label(checkpointing, {"none": 4, "selective": 4, "full": 6}) * t_sum
    + ell_s_moe * n_exchanges * t_ag_g["etp"],
    title="Tensor-parallel traffic, one micro-batch",
    source=MEGATRON,
    assumes="Two all-reduces of the hidden states forward and two backward per layer, and two more where the "
    "forward is repeated. With sequence parallelism the ranks that an expert is cut over gather the routed tokens "
    "behind each dispatch and sum them before each combination, beside no computing.",
    example=Example(
        {phi_tp: 0.25, ell_sum: 20, ell_s_moe: 10, checkpointing: "full", t_sum: 0.8, n_exchanges: 6,
         t_ag_g["etp"]: 2},
        "192 ms",
        derived="0.75 * 20 * 6 * 0.8 + 10 * 6 * 2",
    ),
)  # fmt: skip

context_traffic_time = Formula(
    t_ring,
    ell_s * (3 + rho_attn) * t_ag_g["cp"],
    title="Keys and values around the ring, one micro-batch",
    source=Source("liu2024", "section 3"),
    assumes="All keys and values pass every rank in each pass over the layer; the backward pass moves their "
    "gradients too.",
    example=Example({ell_s: 20, rho_attn: 1, t_ag_g["cp"]: 0.2}, "16 ms", derived="20 * (3 + 1) * 0.2"),
)

context_parallel_time = Formula(
    t_cp,
    Max(0, t_ring - phi_cp * t_attn),
    title="Context-parallel traffic left exposed",
    source=Source("liu2024", "section 3"),
    example=Example({t_ring: 16, phi_cp: 0.5, t_attn: 20}, "6 ms", derived="max(0, 16 - 0.5 * 20)"),
)

micro_batch_computing = Formula(
    t_comp,
    t_lin + t_attn + t_el + t_head,
    title="Computing of one micro-batch",
    source=MEGATRON,
    example=Example({t_lin: 180, t_attn: 35, t_el: 10, t_head: 5}, "230 ms", derived="180 + 35 + 10 + 5"),
)

layers_on_device = Formula(
    t_dev,
    t_lin + t_attn + t_el + t_tp + t_ep + t_cp,
    title="Layers of one micro-batch on the device",
    source=MEGATRON,
    example=Example(
        {t_lin: 180, t_attn: 35, t_el: 10, t_tp: 72, t_ep: 51, t_cp: 6},
        "354 ms",
        derived="180 + 35 + 10 + 72 + 51 + 6",
    ),
)

micro_batch_wait = Formula(
    t_wait,
    waited(t_dev, ell_s * t_host),
    title="Time of one micro-batch in which the device waits for launches",
    source=Source("megatron_bridge_profile", "kernels of one step"),
    variant="per_operator",
    assumes="The host launches while the device works, and the slower of the two sets the pace: some phases of a layer "
    "are bound by the one and some by the other, so that the fourth power of both is added up.",
    accuracy="Powers of 3 and 4 fit alike; with the slower one alone steps of small models are 10.3% off in the mean "
    "and not 8.7% (vTrain, 720 steps).",
    example=Example({ell_s: 20, t_host: 20, t_dev: 354}, "96.815 ms", derived="(354**4 + 400**4) ** 0.25 - 354"),
)

micro_batch_time = Formula(
    t_mb,
    t_dev + t_head + t_wait,
    title="One micro-batch through one stage, forward and backward",
    source=Source("megatron_bridge_profile", "kernels of one step"),
    example=Example({t_dev: 354, t_head: 5, t_wait: 46}, "405 ms", derived="354 + 5 + 46"),
)

host_wait = Formula(
    T_host,
    n_mb * t_wait,
    title="Time of a step in which the device waits for launches",
    source=Source("megatron_bridge_profile", "kernels of one step"),
    example=Example({n_mb: 4, t_wait: 46}, "184 ms", derived="4 * 46"),
)

stage_work = Formula(
    T_stage,
    n_mb * t_mb + T_fill,
    title="All micro-batches of a step through the slowest stage",
    source=MEGATRON,
    assumes="Its computing, the traffic of its layers and what it waits for the host, together.",
    example=Example({n_mb: 4, t_mb: 359, T_fill: 12}, "1448 ms", derived="4 * 359 + 12"),
)

step_products, step_scores, step_elementwise, step_loss = (
    Formula(
        whole,
        n_mb * part,
        title=title,
        source=MEGATRON,
        example=Example({n_mb: 4, part: took}, f"{4 * took} ms", derived=f"4 * {took}"),
    )
    for whole, part, title, took in (
        (T_lin, t_lin, "Products with weights in a step", 180),
        (T_attn, t_attn, "Core of attention in a step", 35),
        (T_el, t_el, "Everything bound by memory in a step", 10),
        (T_head, t_head, "Head and loss in a step", 5),
    )
)

computing = Formula(
    T_comp,
    n_mb * t_comp,
    title="Computing of one step",
    source=MEGATRON,
    variant="per_operator",
    example=Example({n_mb: 4, t_comp: 225}, "900 ms", derived="4 * 225"),
)

mean_computing = Formula(
    T_mean,
    n_mb * (t_lin * (w_lin + (gamma_m * r_e - 1) * w_rt) / w_hot + t_attn + t_el + t_head),
    title="Computing of one step, mean rank",
    source=Source("fedus2022", "section 2.2"),
    assumes="Products with routed experts alone are spread; their element-wise work, and what few rows cost, is taken "
    "as that of the hot rank.",
    example=Example(
        {
            n_mb: 4,
            t_lin: 180,
            w_lin: 100e9,
            gamma_m: 1,
            r_e: 1.1,
            w_rt: 60e9,
            w_hot: 126e9,
            t_attn: 35,
            t_el: 10,
            t_head: 5,
        },
        "805.7 ms",
        derived="4 * (180 * (100 + 0.1 * 60) / 126 + 35 + 10 + 5)",
    ),
)

tensor_parallel_share = Formula(
    T_tp,
    n_mb * t_tp,
    title="Tensor-parallel traffic of one step",
    source=MEGATRON,
    example=Example({n_mb: 4, t_tp: 72}, "288 ms", derived="4 * 72"),
)

expert_parallel_share = Formula(
    T_ep,
    n_mb * t_ep + T_fill,
    title="Expert-parallel exchanges of one step",
    source=Source("deepseek2024", "section 3.2.2"),
    example=Example({n_mb: 4, t_ep: 51, T_fill: 12}, "216 ms", derived="4 * 51 + 12"),
)

context_parallel_share = Formula(
    T_cp,
    n_mb * t_cp,
    title="Context-parallel traffic of one step",
    source=Source("liu2024", "section 3"),
    example=Example({n_mb: 4, t_cp: 6}, "24 ms", derived="4 * 6"),
)

updated_parameters = Formula(
    P_upd,
    X_td / sharded(Z >= 1, n_z) + X_ts / sharded(Z >= 1, n_g["edp"]),
    title="Trained parameters that one rank updates",
    source=Source("rajbhandari2020", "section 5"),
    assumes="A rank updates those whose optimizer state it holds.",
    convention="The rank that holds the most.",
    example=Example(
        {Z: 1, n_z: 8, n_g["edp"]: 2, X_td: 8e9, X_ts: 4e9},
        "3e9",
        derived="8e9 / 8 + 4e9 / 2",
    ),
)

optimizer_update = Formula(
    T_opt,
    (2 * X_O + (q_g + q_t) * P_upd) / (B_mem * eta_mem),
    title="Update of weights and optimizer state",
    source=Source("rajbhandari2020", "section 3.1"),
    variant="per_operator",
    assumes="State is read and written, gradients read, weights written; 28 bytes per parameter for "
    "Adam at 16 bit, 30 with 32-bit gradients. The products by which Muon orthogonalises are not counted: below 1% of "
    "a step of many tokens (jordan2024).",
    example=Example(
        {X_O: 36, q_g: 2, q_t: 2, P_upd: 3e9, B_mem: 2000, eta_mem: 0.8},
        "52.5 ms",
        derived="(2 * 36e9 + (2 + 2) * 3e9) / (2000e9 * 0.8) * 1e3",
    ),
)

slow_factor = Formula(
    kappa_step,
    straggler * (1 + c_slice * log(Max(1, n_fleet / n_node)) / log(2)),
    title="Slowdown by stragglers and slices",
    source=Source("maxtext_tables"),
    assumes="Slices of TPUs are nodes. What their traffic over the fabric takes beside is counted by itself.",
    accuracy="22 steps on 1 to 64 slices of TPU v4, v5e and v5p.",
    example=Example({straggler: 1, c_slice: 0.032, n_fleet: 8192, n_node: 256}, "1.16", derived="1 + 0.032 * 5"),
)

step = Formula(
    T_step,
    kappa_step * (T_stage + T_bub + T_pp + T_dp + T_opt),
    title="One training step",
    source=Source("narayanan2021", "section 3"),
    variant="per_operator",
    assumes="The slowest rank sets the time.",
    accuracy=CALIBRATED,
    example=Example(
        {kappa_step: 1.05, T_stage: 1416, T_bub: 150, T_pp: 10, T_dp: 130, T_opt: 50},
        "1.8438 s",
        derived="1.05 * (1416 + 150 + 10 + 130 + 50) / 1e3",
    ),
)

straggling = Formula(
    T_slow,
    (1 - 1 / kappa_step) * T_step,
    title="Waiting for the slowest rank",
    source=Source("narayanan2021", "section 3"),
    assumes="It is slower by the same factor in all that it does.",
    example=Example({kappa_step: 1.25, T_step: 2}, "400 ms", derived="(1 - 1 / 1.25) * 2 * 1e3"),
)

throughput = Formula(
    R_tok, b * s / T_step, title="Tokens per second", source=Source("narayanan2021", "section 5.1"), variant="training",
    example=Example({b: 1024, s: 8192, T_step: 8}, "1048576 token/s", derived="1024 * 8192 / 8"),
)  # fmt: skip

device_throughput = Formula(
    R_dev,
    R_tok / n_fleet,
    title="Tokens per second and accelerator",
    source=Source("liang2024", "section 3"),
    variant="training",
    example=Example({R_tok: 1048576, n_fleet: 512}, "2048 token/s", derived="1048576 / 512"),
)

model_utilization = Formula(
    mfu,
    Phi / (T_step * n_fleet * F),
    title="Model FLOPs utilization",
    source=Source("chowdhery2022", "appendix B"),
    convention="Over the dense peak rate at the precision.",
    example=Example({Phi: 2300, T_step: 8, n_fleet: 2048, F: 312}, "0.4499", derived="2300e15 / (8 * 2048 * 312e12)"),
)

hardware_utilization = Formula(
    hfu,
    Phi_hw / (T_step * n_fleet * F),
    title="Hardware FLOPs utilization",
    source=Source("chowdhery2022", "appendix B"),
    convention="What is executed, whatever the convention of the model FLOPs.",
    example=Example(
        {Phi_hw: 3000, T_step: 8, n_fleet: 2048, F: 312}, "0.5869", derived="3000e15 / (8 * 2048 * 312e12)"
    ),
)

scaling_efficiency = Formula(
    scaling,
    (T_mean + T_opt) / T_step,
    title="Scaling efficiency",
    source=Source("narayanan2021", "section 5.1"),
    assumes="Against ranks that exchange nothing and wait for nobody.",
    example=Example({T_mean: 756, T_opt: 50, T_step: 1.6}, "0.50375", derived="(756 + 50) / 1600"),
)

steps = Formula(
    n_steps, n_train / (b * s), title="Steps of a training run", source=Source("kaplan2020", "section 2.1"),
    variant="training", example=Example({n_train: 1e12, b: 1024, s: 8192}, "119209.3", derived="1e12 / (1024 * 8192)"),
)  # fmt: skip

run_time = Formula(
    T_train,
    n_train / R_tok,
    title="Time to train",
    source=Source("narayanan2021", "section 5.1"),
    assumes="Every step takes equally long; restarts and checkpoints are left out.",
    example=Example({n_train: 1e12, R_tok: 1e6}, "11.574 day", derived="1e12 / 1e6 / 86400"),
)

_host_binds = And(T_host > 0, t_stage_host >= t_dev)
#: What a step is made of beside its arithmetic.
PARTS = {
    "Host": n_mb * t_stage_host,
    "Memory bandwidth": T_el,
    "Tensor parallel": T_tp,
    "Expert parallel": T_ep,
    "Context parallel": T_cp,
    "Pipeline": T_bub + T_pp,
    "Data parallel": T_dp,
    "Optimizer": T_opt,
}
_arithmetic = T_lin + T_attn + T_head


def longest(parts: dict[str, Any]) -> Any:
    """Longest of arithmetic and these parts; launching counts if the device waits for it."""
    return Max(_arithmetic, when(_host_binds, parts["Host"]), *(part for name, part in parts.items() if name != "Host"))


def binding(parts: dict[str, Any], too_much: Any) -> Any:
    """Name of the longest of these parts, the first of equal ones; Memory if it does not fit."""
    *others, last = (name for name in parts if name != "Host")
    return Piecewise(
        (label(step_bottleneck, "Memory"), too_much),
        (label(step_bottleneck, "Host"), And(_host_binds, parts["Host"] >= T_max)),
        (label(step_bottleneck, "Arithmetic"), _arithmetic >= T_max),
        *((label(step_bottleneck, name), parts[name] >= T_max) for name in others),
        (label(step_bottleneck, last), True),
    )


longest_part_time = Formula(
    T_max,
    longest(PARTS),
    title="The longest part of a step",
    source=Source("williams2009"),
    variant="per_operator",
    assumes="Launching is a part where the device waits for it.",
    example=Example(
        {
            n_mb: 4,
            T_lin: 720,
            T_attn: 140,
            T_head: 20,
            T_host: 0,
            t_stage_host: 300,
            t_dev: 200,
            T_el: 40,
            T_tp: 288,
            T_ep: 204,
            T_cp: 24,
            T_bub: 150,
            T_pp: 10,
            T_dp: 130,
            T_opt: 50,
        },
        "880 ms",
        derived="max(720 + 140 + 20, 40, 288, 204, 24, 150 + 10, 130, 50)",
    ),
)

longest_part = Formula(
    step_bottleneck,
    binding(PARTS, M_usable < M),
    title="What binds a step",
    source=Source("williams2009"),
    variant="per_operator",
    example=Example(
        {M_usable: 80, M: 60, T_max: 860, n_mb: 4, T_host: 0, t_stage_host: 210, t_dev: 200, T_lin: 720, T_attn: 80,
         T_head: 20, T_el: 40, T_tp: 288, T_ep: 204, T_cp: 24, T_bub: 850, T_pp: 10, T_dp: 130},
        "Pipeline",
        derived="60 <= 80 and 0 <= 0 and 720 + 80 + 20 < 860 and 850 + 10 >= 860",
    ),
)  # fmt: skip

FORMULAS = (
    data_parallel_ranks,
    product_time,
    score_time,
    width_vectors,
    inner_vectors,
    inner_width,
    elementwise_traffic,
    recomputed_traffic,
    elementwise_time,
    summing_layers,
    tensor_parallel_time,
    context_traffic_time,
    context_parallel_time,
    micro_batch_computing,
    layers_on_device,
    micro_batch_wait,
    micro_batch_time,
    host_wait,
    stage_work,
    step_products,
    step_scores,
    step_elementwise,
    step_loss,
    computing,
    mean_computing,
    tensor_parallel_share,
    expert_parallel_share,
    context_parallel_share,
    updated_parameters,
    optimizer_update,
    slow_factor,
    step,
    straggling,
    throughput,
    device_throughput,
    model_utilization,
    hardware_utilization,
    scaling_efficiency,
    steps,
    run_time,
    longest_part_time,
    longest_part,
)

#: A training step and its memory, operator by operator.
PER_OPERATOR = System(
    swapped(
        training_memory.PER_OPERATOR,
        (
            number_formats.reduced_bytes,
            *number_formats.EXCHANGED,
            *collectives.REACHED,
            expert_exchange.exchange_links_reached,
            expert_exchange.distinct_nodes,
            *mixers.PACKED,
            *mixer_times.SHARDED,
            *transformer_flops.FORMULAS,
            moe_routing.exchanges_per_layer,
            *pipeline_schedule.FORMULAS,
            *rank_groups.FORMULAS,
            *data_parallel_traffic.FORMULAS,
            *expert_products.FORMULAS,
            *layer_time.FORMULAS,
            *attention_core.STEP,
            *exchange_overlap.FORMULAS,
            *FORMULAS,
        ),
    )
)
