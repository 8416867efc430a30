"""Step time

One training step on the slowest rank: products at a share of the peak rate, attention, element-wise work
at a share of the memory bandwidth, the traffic of each kind of parallelism, pipeline, update. Overlap hides
at most the computing it runs beside. What one exchange takes stands under groups of ranks.
"""

from __future__ import annotations

from sympy import Eq, Max, Min, Piecewise

from mlsysim.symbolic import Example, Formula, Source, by_label, byte, label, sharded, token, total, when
from mlsysim.symbols.activations import attention_kernel, elementwise_kernels, sigma
from mlsysim.symbols.groups import T_g, group, t_aa, t_ag_g
from mlsysim.symbols.hardware import B_mem, F, M_cap, eta, n_fleet
from mlsysim.symbols.routing import gamma_r, n_exchanges
from mlsysim.symbols.step import (
    Phi,
    Phi_hw,
    R_dev,
    R_tok,
    T_bub,
    T_comp,
    T_cp,
    T_dp,
    T_ep,
    T_max,
    T_mean,
    T_opt,
    T_pp,
    T_step,
    T_tp,
    T_train,
    d_in,
    eta_attn,
    eta_mem,
    hfu,
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
    v_ff,
    v_h,
    w_attn,
    w_head,
    w_hot,
    w_lin,
    x_el,
)
from mlsysim.symbols.training import (
    M,
    P_dense,
    P_sparse,
    Z,
    b,
    c_cp,
    checkpointing,
    d,
    e,
    ell,
    ell_moe,
    f,
    n_mb,
    n_tok,
    n_z,
    o,
    p,
    q_g,
    t,
)
from mlsysim.symbols.workload import (
    L,
    L_moe,
    V,
    a,
    d_e,
    d_ff,
    d_sh,
    gated,
    h,
    k,
    q,
    s,
)

MEGATRON = Source("shoeybi2019", "section 3")
COUNTED = "The counts are taken from kernels by hand; no profile was matched."
CALIBRATED = "See docs/validation.md for the error against published steps."

data_parallel_ranks = Formula(
    d,
    n_fleet / (t * p * c_cp),
    title="Data-parallel ranks of a fleet",
    source=Source("narayanan2021", "section 3"),
    assumes="Every accelerator works. Expert-parallel ranks are data-parallel ranks for all that is not an expert.",
    example=Example({n_fleet: 512, t: 8, p: 4, c_cp: 2}, "8", derived="512 / (8 * 4 * 2)"),
)

#: The layers of a stage, at least; all work of the model over its stages, where stages are balanced.
_layers = ell / L

product_time = Formula(
    t_lin,
    n_tok / t * Max(_layers * (3 + rho_lin) * w_hot, ((3 + rho_lin) * w_hot + 3 * w_head) / p) / (F * eta),
    title="Products with weights, one micro-batch",
    source=Source("kaplan2020", "section 2.1"),
    assumes="Backward is twice the forward. Stages are balanced by work, the logits among it, but the fullest has its "
    "whole layers.",
    accuracy=CALIBRATED,
    example=Example(
        {n_tok: 8192, t: 8, ell: 20, L: 80, p: 4, rho_lin: 0, w_hot: 140e9, w_head: 2e9, F: 989, eta: 0.6},
        "183.78 ms",
        derived="8192 / 8 * max(20 / 80 * 3 * 140e9, (3 * 140e9 + 3 * 2e9) / 4) / (989e12 * 0.6) * 1e3",
    ),
)

score_time = Formula(
    t_attn,
    n_tok / t * _layers * (3 + rho_attn) * w_attn / (F * eta * eta_attn),
    title="Core of attention, one micro-batch",
    source=Source("dao2022", "section 3"),
    assumes="Fused kernels reach part of the rate of the products; what their backward pass computes beyond twice the "
    "forward is in that part.",
    accuracy=CALIBRATED,
    example=Example(
        {n_tok: 8192, t: 8, ell: 20, L: 80, rho_attn: 1, w_attn: 10e9, F: 989, eta: 0.6, eta_attn: 0.5},
        "34.51 ms",
        derived="8192 / 8 * 20 / 80 * 4 * 10e9 / (989e12 * 0.6 * 0.5) * 1e3",
    ),
)

_eager = Eq(elementwise_kernels, label(elementwise_kernels, "eager"))

width_vectors = Formula(
    v_h,
    when(_eager, 66, 15),
    title="Vectors of the width that a layer moves",
    source=Source("dao2022", "section 3.1"),
    assumes="Fused: each result is written once and read where it is needed, fifteen vectors for two norms, two "
    "residual sums and rotations. Eager: every operation reads and writes, norms in fp32.",
    accuracy=COUNTED,
    no_example="a table of labels",
)

inner_vectors = Formula(
    v_ff,
    gated * when(_eager, 5, 3) + (1 - gated) * when(_eager, 4, 2),
    title="Vectors of the inner width that a layer moves",
    source=Source("dao2022", "section 3.1"),
    assumes="Of the activation between the products, gated or not.",
    accuracy=COUNTED,
    example=Example({elementwise_kernels: "eager", gated: 1}, "5", derived="1 * 5 + 0 * 4"),
)

inner_width = Formula(
    d_in,
    Max((1 - Min(1, L_moe)) * d_ff, Min(1, L_moe) * (k * gamma_r * d_e + d_sh)),
    title="Inner width that a token passes through",
    source=Source("fedus2022", "section 2.2"),
    assumes="In a model with experts every layer is taken as one with experts, on the hot rank.",
    example=Example(
        {L_moe: 58, d_ff: 18432, k: 8, gamma_r: 1.25, d_e: 2048, d_sh: 2048}, "22528", derived="8 * 1.25 * 2048 + 2048"
    ),
)

elementwise_traffic = Formula(
    x_el,
    q * (v_h * h / sigma + v_ff * d_in / t + Min(1, L_moe) * 7 * k * gamma_r * h) / token,
    title="Bytes that norms, rotations, gates and residuals move, per layer and token",
    source=Source("dao2022", "section 3.1"),
    assumes="With experts, seven more vectors of the width for each that a token is sent to.",
    accuracy=COUNTED,
    example=Example(
        {q: 2, v_h: 15, h: 8192, sigma: 8, v_ff: 3, d_in: 28672, t: 8, L_moe: 0, k: 1, gamma_r: 1},
        "52224 byte/token",
        derived="2 * (15 * 8192 / 8 + 3 * 28672 / 8)",
    ),
)

elementwise_time = Formula(
    t_el,
    n_tok
    * (
        ell * (3 + rho_el) * x_el
        + when(
            Eq(attention_kernel, label(attention_kernel, "eager")),
            ell * (3 + rho_attn) * 6.5 * q * a * s / (t * token) / token,
        )
        + when(_eager, 40, 20) * byte * V / (t * p) / token
    )
    / (B_mem * eta_mem),
    title="Everything bound by memory, one micro-batch",
    source=Source("williams2009"),
    assumes="Eager attention writes and reads its scores thirteen bytes a number at 16 bit; the loss passes over "
    "the logits in fp32.",
    accuracy=CALIBRATED,
    example=Example(
        {
            n_tok: 8192,
            ell: 20,
            rho_el: 0,
            x_el: 52224,
            attention_kernel: "flash",
            rho_attn: 0,
            q: 2,
            a: 64,
            s: 8192,
            t: 8,
            elementwise_kernels: "fused",
            V: 128256,
            p: 4,
            B_mem: 3350,
            eta_mem: 0.8,
        },
        "9.823 ms",
        derived="8192 * (20 * 3 * 52224 + 20 * 128256 / (8 * 4)) / (3350e9 * 0.8) * 1e3",
    ),
)

tensor_parallel_time = Formula(
    t_tp,
    (1 - phi_tp) * ell * by_label(checkpointing, {"none": 4, "selective": 4, "full": 6}) * 2 * t_ag_g["tp"],
    title="Tensor-parallel traffic, one micro-batch",
    source=MEGATRON,
    assumes="Two all-reduces of the hidden states forward and two backward per layer, and two more where the "
    "forward is repeated. Sequence parallelism makes each a reduce-scatter and an all-gather of the same bytes.",
    example=Example(
        {phi_tp: 0.25, ell: 20, checkpointing: "full", t_ag_g["tp"]: 0.4}, "72 ms", derived="0.75 * 20 * 6 * 2 * 0.4"
    ),
)

expert_parallel_time = Formula(
    t_ep,
    ell_moe * n_exchanges * t_aa,
    title="Expert-parallel exchanges, one micro-batch",
    source=Source("deepseek2024", "section 3.2.2"),
    assumes="Nothing hides them; the hot rank sets the time. With sequence parallelism a rank sends its own tokens.",
    example=Example({ell_moe: 15, n_exchanges: 6, t_aa: 0.57}, "51.3 ms", derived="15 * 6 * 0.57"),
)

context_traffic_time = Formula(
    t_ring,
    ell * (3 + rho_attn) * t_ag_g["cp"],
    title="Keys and values around the ring, one micro-batch",
    source=Source("liu2024", "section 3"),
    assumes="All keys and values pass every rank in each pass over the layer; the backward pass moves their "
    "gradients too.",
    example=Example({ell: 20, rho_attn: 1, t_ag_g["cp"]: 0.2}, "16 ms", derived="20 * (3 + 1) * 0.2"),
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
    t_lin + t_attn + t_el,
    title="Computing of one micro-batch",
    source=MEGATRON,
    example=Example({t_lin: 180, t_attn: 35, t_el: 10}, "225 ms", derived="180 + 35 + 10"),
)

micro_batch_time = Formula(
    t_mb,
    t_comp + t_tp + t_ep + t_cp,
    title="One micro-batch through one stage, forward and backward",
    source=MEGATRON,
    example=Example({t_comp: 225, t_tp: 72, t_ep: 51, t_cp: 6}, "354 ms", derived="225 + 72 + 51 + 6"),
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
    n_mb * (t_lin * ((3 + rho_lin) * w_lin + 3 * w_head) / ((3 + rho_lin) * w_hot + 3 * w_head) + t_attn + t_el),
    title="Computing of one step, mean rank",
    source=Source("fedus2022", "section 2.2"),
    assumes="Products with routed experts alone are spread; their element-wise work is taken as that of the hot rank.",
    example=Example(
        {n_mb: 4, t_lin: 180, rho_lin: 0, w_lin: 100e9, w_head: 20e9, w_hot: 130e9, t_attn: 35, t_el: 10},
        "756 ms",
        derived="4 * (180 * (3 * 100 + 3 * 20) / (3 * 130 + 3 * 20) + 35 + 10)",
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
    n_mb * t_ep,
    title="Expert-parallel exchanges of one step",
    source=Source("deepseek2024", "section 3.2.2"),
    example=Example({n_mb: 4, t_ep: 51}, "204 ms", derived="4 * 51"),
)

context_parallel_share = Formula(
    T_cp,
    n_mb * t_cp,
    title="Context-parallel traffic of one step",
    source=Source("liu2024", "section 3"),
    example=Example({n_mb: 4, t_cp: 6}, "24 ms", derived="4 * 6"),
)

optimizer_update = Formula(
    T_opt,
    f * (2 * o + q_g + q) * (P_dense / sharded(Z >= 1, n_z) + P_sparse / sharded(Z >= 1, n_z / e)) / (B_mem * eta_mem),
    title="Update of weights and optimizer state",
    source=Source("rajbhandari2020", "section 3.1"),
    variant="per_operator",
    assumes="State is read and written, gradients read, weights written; 28 bytes per parameter for "
    "Adam at 16 bit, 30 with 32-bit gradients.",
    example=Example(
        {f: 1, o: 12, q_g: 2, q: 2, Z: 1, n_z: 8, e: 4, P_dense: 8e9, P_sparse: 4e9, B_mem: 2000, eta_mem: 0.8},
        "52.5 ms",
        derived="(2 * 12 + 2 + 2) * (8e9 / 8 + 4e9 / 2) / (2000e9 * 0.8) * 1e3",
    ),
)

step = Formula(
    T_step,
    straggler * (T_comp + total(group, T_g[group], over=tuple(T_g)) + T_bub + T_pp + T_opt),
    title="One training step",
    source=Source("narayanan2021", "section 3"),
    variant="per_operator",
    assumes="The slowest rank sets the time.",
    accuracy=CALIBRATED,
    example=Example(
        {straggler: 1.05, T_comp: 900, T_tp: 288, T_ep: 204, T_cp: 24, T_bub: 150, T_pp: 10, T_dp: 130, T_opt: 50},
        "1.8438 s",
        derived="1.05 * (900 + 288 + 204 + 24 + 150 + 10 + 130 + 50) / 1e3",
    ),
)

throughput = Formula(
    R_tok, b * s / T_step, title="Tokens per second", source=Source("narayanan2021", "section 5.1"),
    example=Example({b: 1024, s: 8192, T_step: 8}, "1048576 token/s", derived="1024 * 8192 / 8"),
)  # fmt: skip

device_throughput = Formula(
    R_dev,
    R_tok / n_fleet,
    title="Tokens per second and accelerator",
    source=Source("liang2024", "section 3"),
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
    example=Example({n_train: 1e12, b: 1024, s: 8192}, "119209.3", derived="1e12 / (1024 * 8192)"),
)  # fmt: skip

run_time = Formula(
    T_train,
    n_train / R_tok,
    title="Time to train",
    source=Source("narayanan2021", "section 5.1"),
    assumes="Every step takes equally long; restarts and checkpoints are left out.",
    example=Example({n_train: 1e12, R_tok: 1e6}, "11.574 day", derived="1e12 / 1e6 / 86400"),
)

_parts = {
    "Memory bandwidth": n_mb * t_el,
    "Tensor parallel": T_tp,
    "Expert parallel": T_ep,
    "Context parallel": T_cp,
    "Pipeline": T_bub + T_pp,
    "Data parallel": T_dp,
    "Optimizer": T_opt,
}
_arithmetic = n_mb * (t_lin + t_attn)

longest_part_time = Formula(
    T_max,
    Max(_arithmetic, *_parts.values()),
    title="The longest part of a step",
    source=Source("williams2009"),
    example=Example(
        {
            n_mb: 4,
            t_lin: 180,
            t_attn: 35,
            t_el: 10,
            T_tp: 288,
            T_ep: 204,
            T_cp: 24,
            T_bub: 150,
            T_pp: 10,
            T_dp: 130,
            T_opt: 50,
        },
        "860 ms",
        derived="max(4 * (180 + 35), 4 * 10, 288, 204, 24, 150 + 10, 130, 50)",
    ),
)

longest_part = Formula(
    step_bottleneck,
    Piecewise(
        (label(step_bottleneck, "Memory"), M_cap < M),
        (label(step_bottleneck, "Arithmetic"), _arithmetic >= T_max),
        *((label(step_bottleneck, name), part >= T_max) for name, part in list(_parts.items())[:-1]),
        (label(step_bottleneck, "Optimizer"), True),
    ),
    title="What binds a step",
    source=Source("williams2009"),
    example=Example(
        {
            M_cap: 80,
            M: 60,
            T_max: 860,
            n_mb: 4,
            t_lin: 180,
            t_attn: 20,
            t_el: 10,
            T_tp: 288,
            T_ep: 204,
            T_cp: 24,
            T_bub: 850,
            T_pp: 10,
            T_dp: 130,
        },
        "Pipeline",
        derived="60 <= 80 and 4 * (180 + 20) < 860 and 850 + 10 >= 860",
    ),
)

FORMULAS = (
    data_parallel_ranks,
    product_time,
    score_time,
    width_vectors,
    inner_vectors,
    inner_width,
    elementwise_traffic,
    elementwise_time,
    tensor_parallel_time,
    expert_parallel_time,
    context_traffic_time,
    context_parallel_time,
    micro_batch_computing,
    micro_batch_time,
    computing,
    mean_computing,
    tensor_parallel_share,
    expert_parallel_share,
    context_parallel_share,
    optimizer_update,
    step,
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
