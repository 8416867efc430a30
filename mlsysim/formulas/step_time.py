"""Step time

One training step on the slowest rank: products at a share of the peak rate, attention, element-wise work
at a share of the memory bandwidth, the collectives of each kind of parallelism over links or fabric by
where their group sits, pipeline, update. Overlap hides at most the computing it runs beside. Ranks are
counted tensor-parallel first, then context- and data-parallel (expert-parallel among them), stages last.
"""

from __future__ import annotations

from typing import Any

from sympy import Eq, Max, Min, Piecewise

from mlsysim.formulas.collectives import placed_exchange, placed_pass
from mlsysim.symbolic import Formula, Source, by_label, byte, label, sharded, token, when
from mlsysim.symbols.activations import attention_kernel, elementwise_kernels, sigma
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
    T_dpt,
    T_ep,
    T_mean,
    T_opt,
    T_pp,
    T_step,
    T_tp,
    T_train,
    V_dp,
    eta_attn,
    eta_mem,
    hfu,
    mfu,
    n_steps,
    n_train,
    phi_cp,
    phi_dp,
    phi_tp,
    q_red,
    rho_attn,
    rho_el,
    rho_lin,
    scaling,
    step_bottleneck,
    straggler,
    t_ag,
    t_attn,
    t_cp,
    t_el,
    t_ep,
    t_lin,
    t_mb,
    t_ring,
    t_rs,
    t_tp,
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
    a_kv_r,
    b,
    c_cp,
    checkpointing,
    d,
    e,
    ell,
    ell_moe,
    f,
    gradient_storage,
    m,
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
    d_h,
    d_nope,
    d_rope,
    d_sh,
    d_v,
    gated,
    h,
    k,
    q,
    r_kv,
    s,
)

MEGATRON = Source("shoeybi2019", "section 3")
DERIVED = "derived here; no source prints it"
CALIBRATED = "See docs/validation.md for the error against published steps."

data_parallel_ranks = Formula(
    d,
    n_fleet / (t * p * c_cp),
    title="Data-parallel ranks of a fleet",
    source=Source("narayanan2021", "section 3"),
    assumes="Every accelerator works. Expert-parallel ranks are data-parallel ranks for all that is not an expert.",
    no_example="a quotient",
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
    no_example=DERIVED,
)

score_time = Formula(
    t_attn,
    n_tok / t * _layers * (3 + rho_attn) * w_attn / (F * eta * eta_attn),
    title="Core of attention, one micro-batch",
    source=Source("dao2022", "section 3"),
    assumes="Fused kernels reach part of the rate of the products; what their backward pass computes beyond twice the "
    "forward is in that part.",
    accuracy=CALIBRATED,
    no_example=DERIVED,
)

_width = Max((1 - Min(1, L_moe)) * d_ff, Min(1, L_moe) * (k * gamma_r * d_e + d_sh))
_eager = Eq(elementwise_kernels, label(elementwise_kernels, "eager"))
_inner = when(_eager, 5, 3) * gated + when(_eager, 4, 2) * (1 - gated)

elementwise_traffic = Formula(
    x_el,
    q * (when(_eager, 66, 15) * h / sigma + _inner * _width / t + Min(1, L_moe) * 7 * k * gamma_r * h) / token,
    title="Bytes that norms, rotations, gates and residuals move, per layer and token",
    source=Source("dao2022", "section 3.1"),
    assumes="Fused: each result is written once and read where it is needed, fifteen vectors of the width for two "
    "norms, two residual sums and rotations. Eager: every operation reads and writes, norms in fp32.",
    accuracy="The counts are taken from kernels by hand; no profile was matched.",
    no_example="counted here; no source prints it",
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
    no_example=DERIVED,
)

_hidden = q * h * n_tok / token

tensor_parallel_time = Formula(
    t_tp,
    (1 - phi_tp)
    * ell
    * by_label(checkpointing, {"none": 4, "selective": 4, "full": 6})
    * 2
    * placed_pass(t, 1, _hidden),
    title="Tensor-parallel traffic, one micro-batch",
    source=MEGATRON,
    assumes="Two all-reduces of the hidden states forward and two backward per layer, and two more where the "
    "forward is repeated. Sequence parallelism makes each a reduce-scatter and an all-gather of the same bytes.",
    no_example="the paper prints no time for it",
)

expert_parallel_time = Formula(
    t_ep,
    ell_moe * n_exchanges * placed_exchange(e, t, gamma_r * k * _hidden / sigma),
    title="Expert-parallel exchanges, one micro-batch",
    source=Source("deepseek2024", "section 3.2.2"),
    assumes="Nothing hides them; the hot rank sets the time. With sequence parallelism a rank sends its own tokens.",
    no_example=DERIVED,
)

_kv = when(r_kv > 0, a * (d_nope + d_rope + d_v) / t, 2 * a_kv_r * d_h)

context_traffic_time = Formula(
    t_ring,
    ell * (3 + rho_attn) * placed_pass(c_cp, t, q * _kv * m * s / token),
    title="Keys and values around the ring, one micro-batch",
    source=Source("liu2024", "section 3"),
    assumes="All keys and values pass every rank in each pass over the layer; the backward pass moves their "
    "gradients too.",
    no_example=DERIVED,
)

context_parallel_time = Formula(
    t_cp,
    Max(0, t_ring - phi_cp * t_attn),
    title="Context-parallel traffic left exposed",
    source=Source("liu2024", "section 3"),
    no_example="a difference",
)

micro_batch_time = Formula(
    t_mb,
    t_lin + t_attn + t_el + t_tp + t_ep + t_cp,
    title="One micro-batch through one stage, forward and backward",
    source=MEGATRON,
    no_example="a sum",
)

computing = Formula(
    T_comp,
    n_mb * (t_lin + t_attn + t_el),
    title="Computing of one step",
    source=MEGATRON,
    variant="per_operator",
    no_example="a product",
)

mean_computing = Formula(
    T_mean,
    n_mb * (t_lin * ((3 + rho_lin) * w_lin + 3 * w_head) / ((3 + rho_lin) * w_hot + 3 * w_head) + t_attn + t_el),
    title="Computing of one step, mean rank",
    source=Source("fedus2022", "section 2.2"),
    assumes="Products with routed experts alone are spread; their element-wise work is taken as that of the hot rank.",
    no_example=DERIVED,
)

tensor_parallel_share = Formula(
    T_tp, n_mb * t_tp, title="Tensor-parallel traffic of one step", source=MEGATRON, no_example="a product"
)

expert_parallel_share = Formula(
    T_ep,
    n_mb * t_ep,
    title="Expert-parallel exchanges of one step",
    source=Source("deepseek2024", "section 3.2.2"),
    no_example="a product",
)

context_parallel_share = Formula(
    T_cp,
    n_mb * t_cp,
    title="Context-parallel traffic of one step",
    source=Source("liu2024", "section 3"),
    no_example="a product",
)

reduced_bytes = Formula(
    q_red,
    by_label(gradient_storage, {"as_weights": q, "fp32": 4 * byte, "both": q}),
    title="Bytes of a gradient on the wire",
    source=Source("narayanan2021", "section 3.3"),
    no_example="a table of three cases",
)

gradient_reduction = Formula(
    t_rs,
    f * (placed_pass(n_z, t, q_red * P_dense) + placed_pass(n_z / e, t * e, q_red * P_sparse)),
    title="One reduce-scatter of all gradients",
    source=Source("rajbhandari2020", "section 7"),
    assumes="Dense gradients over all ranks that hold them; those of an expert over one in e of these.",
    no_example="the paper counts elements",
)

weight_gather = Formula(
    t_ag,
    placed_pass(n_z, t, q * P_dense) + placed_pass(n_z / e, t * e, q * P_sparse),
    title="One all-gather of all weights",
    source=Source("rajbhandari2020", "section 7"),
    no_example="the paper counts elements",
)


def each_step(reduce: Any, gather: Any) -> Any:
    """So many reduce-scatters of gradients and all-gathers of weights as the ZeRO stage asks."""
    return Piecewise(
        (2 * reduce, Z < 1),
        (reduce + f * gather, Z < 2),
        (n_mb * reduce + f * gather, Z < 3),
        (n_mb * (reduce + 2 * gather), True),
    )


_sent = f * q_red, q
_dense, _routed = (n_z - 1) / n_z * P_dense, (n_z - e) / n_z * P_sparse

data_parallel_bytes = Formula(
    V_dp,
    each_step(*(each * (_dense + _routed) for each in _sent)),
    title="Data-parallel traffic one rank sends in a step",
    source=Source("rajbhandari2020", "section 7"),
    assumes="An expert is shared by one in e ranks, so expert parallelism lowers its traffic.",
    no_example="the paper counts elements of a dense model",
)

data_parallel_traffic = Formula(
    T_dpt,
    each_step(t_rs, t_ag),
    title="Data-parallel traffic of a step",
    source=Source("rajbhandari2020", "section 7"),
    assumes="Stage 0 all-reduces gradients once a step, stage 1 reduces once and gathers the weights that changed. "
    "Stage 2 "
    "keeps a shard of the gradients only, so it reduces after each micro-batch; stage 3 also gathers the weights "
    "forward and backward in each.",
    no_example="the paper counts elements",
)

_computing = t_lin + t_attn + t_el
_forward = _computing / (3 + rho_lin)
_backward = _computing - _forward


def exposed(traffic: Any, beside: Any) -> Any:
    """What of a collective over all layers is left when each runs beside the computing of the others."""
    return Max(traffic / ell, traffic - phi_dp * (1 - 1 / ell) * beside)


def exposed_together(gather: Any, reduce: Any, beside: Any) -> Any:
    """The same where each layer is gathered before its backward pass and reduced after it, on one link."""
    computing = phi_dp * beside / ell
    edges = Max(0, gather / ell - computing) + Max(0, reduce / ell - computing)
    between = Max(0, ell - 2) * Max(0, (gather + reduce) / ell - computing)
    return (gather + reduce) / ell + when(ell > 1, edges + between)


data_parallel_time = Formula(
    T_dp,
    Piecewise(
        (exposed(2 * t_rs, _backward), Z < 1),
        (exposed(t_rs, _backward) + exposed(f * t_ag, _forward), Z < 2),
        (n_mb * exposed(t_rs, _backward) + exposed(f * t_ag, _forward), Z < 3),
        (n_mb * (exposed_together(t_ag, t_rs, _backward) + exposed(t_ag, _forward)), True),
    ),
    title="Data-parallel traffic left exposed",
    source=Source("li2020", "section 3.2"),
    assumes="Traffic of a layer runs beside the computing of the others, never beside other traffic: that of one layer "
    "cannot hide, nor more than "
    "there is computing beside it. Gradients travel in the backward pass, weights in the forward pass of the next "
    "step, in stage 3 in both; once a step, that is beside one micro-batch only.",
    accuracy="Equal to traffic executed layer by layer behind a forward or backward pass.",
    no_example=DERIVED,
)

optimizer_update = Formula(
    T_opt,
    f * (2 * o + q_g + q) * (P_dense / sharded(Z >= 1, n_z) + P_sparse / sharded(Z >= 1, n_z / e)) / (B_mem * eta_mem),
    title="Update of weights and optimizer state",
    source=Source("rajbhandari2020", "section 3.1"),
    variant="per_operator",
    assumes="State is read and written, gradients read, weights written; 28 bytes per parameter for "
    "Adam at 16 bit, 30 with 32-bit gradients.",
    no_example=DERIVED,
)

step = Formula(
    T_step,
    straggler * (T_comp + T_tp + T_ep + T_cp + T_bub + T_pp + T_dp + T_opt),
    title="One training step",
    source=Source("narayanan2021", "section 3"),
    variant="per_operator",
    assumes="The slowest rank sets the time.",
    accuracy=CALIBRATED,
    no_example="published steps stand in docs/validation.md",
)

throughput = Formula(
    R_tok, b * s / T_step, title="Tokens per second", source=Source("narayanan2021", "section 5.1"),
    no_example="a quotient",
)  # fmt: skip

device_throughput = Formula(
    R_dev,
    R_tok / n_fleet,
    title="Tokens per second and accelerator",
    source=Source("liang2024", "section 3"),
    no_example="a quotient",
)

model_utilization = Formula(
    mfu,
    Phi / (T_step * n_fleet * F),
    title="Model FLOPs utilization",
    source=Source("chowdhery2022", "appendix B"),
    convention="Over the dense peak rate at the precision.",
    no_example="published utilizations stand in docs/validation.md",
)

hardware_utilization = Formula(
    hfu,
    Phi_hw / (T_step * n_fleet * F),
    title="Hardware FLOPs utilization",
    source=Source("chowdhery2022", "appendix B"),
    convention="What is executed, whatever the convention of the model FLOPs.",
    no_example="published utilizations stand in docs/validation.md",
)

scaling_efficiency = Formula(
    scaling,
    (T_mean + T_opt) / T_step,
    title="Scaling efficiency",
    source=Source("narayanan2021", "section 5.1"),
    assumes="Against ranks that exchange nothing and wait for nobody.",
    no_example="a quotient",
)

steps = Formula(
    n_steps, n_train / (b * s), title="Steps of a training run", source=Source("kaplan2020", "section 2.1"),
    no_example="a quotient",
)  # fmt: skip

run_time = Formula(
    T_train,
    n_train / R_tok,
    title="Time to train",
    source=Source("narayanan2021", "section 5.1"),
    assumes="Every step takes equally long; restarts and checkpoints are left out.",
    no_example="published runs include failures",
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
_largest = Max(_arithmetic, *_parts.values())

longest_part = Formula(
    step_bottleneck,
    Piecewise(
        (label(step_bottleneck, "Memory"), M_cap < M),
        (label(step_bottleneck, "Arithmetic"), _arithmetic >= _largest),
        *((label(step_bottleneck, name), part >= _largest) for name, part in list(_parts.items())[:-1]),
        (label(step_bottleneck, "Optimizer"), True),
    ),
    title="What binds a step",
    source=Source("williams2009"),
    no_example="a label",
)

FORMULAS = (
    data_parallel_ranks,
    product_time,
    score_time,
    elementwise_traffic,
    elementwise_time,
    tensor_parallel_time,
    expert_parallel_time,
    context_traffic_time,
    context_parallel_time,
    micro_batch_time,
    computing,
    mean_computing,
    tensor_parallel_share,
    expert_parallel_share,
    context_parallel_share,
    reduced_bytes,
    gradient_reduction,
    weight_gather,
    data_parallel_bytes,
    data_parallel_traffic,
    data_parallel_time,
    optimizer_update,
    step,
    throughput,
    device_throughput,
    model_utilization,
    hardware_utilization,
    scaling_efficiency,
    steps,
    run_time,
    longest_part,
)
