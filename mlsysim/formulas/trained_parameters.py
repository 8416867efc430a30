"""Trained parameters

Parameters that a step updates on one rank: a share of the weights, or low-rank adapters beside frozen weights (LoRA;
QLoRA if these are stored in 4 bits). An adapter has two factors, one as wide as the matrix has columns and one as long
as it has rows, so its parameters are rank times rows plus columns. Tensor-parallel ranks split an adapter as they split
its matrix: one factor is split, and all ranks hold the other.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Not

from mlsysim.formulas.mixers import edges
from mlsysim.formulas.parameter_counts import block_matrices, block_vectors, norms, plain_layers, summed
from mlsysim.symbolic import Example, Formula, Max, Min, Source, byte, label, sharded, when
from mlsysim.symbols.activations import L_mtp_r, V_r, b_first, b_last, n_s
from mlsysim.symbols.formats import q_a, q_c, q_w
from mlsysim.symbols.groups import n_g
from mlsysim.symbols.mixers import n_N
from mlsysim.symbols.parameters import P_norm
from mlsysim.symbols.trained import (
    K_attn,
    K_d,
    K_s,
    P_ad_d,
    P_ad_s,
    P_ad_unit,
    R_ad,
    R_attn,
    R_d,
    R_e,
    R_ff,
    R_s,
    R_sh,
    T_d,
    T_r,
    T_s,
    T_unit,
    U_attn,
    U_d,
    U_s,
    W_ad,
    adapter_dtype,
    f_w,
    finetuning,
    lora_targets,
    q_t,
    r_lora,
)
from mlsysim.symbols.training import (
    P_dense,
    P_sparse,
    P_unit,
    Z,
    e,
    ell_moe,
    ell_r,
    f,
    n_z,
    p,
    t,
)
from mlsysim.symbols.workload import (
    E,
    L,
    L_moe,
    L_nb,
    d_e,
    d_ff,
    d_sh,
    expert_bias,
    gated,
    h,
    h_e,
    h_V,
    mlp_bias,
    n_pos,
    r_moe,
    r_V,
    router_bias,
    tied,
)

LORA = Source("hu2022", "section 4.1")
QLORA = Source("dettmers2023", "section 3")
FACTORS = Source("shazeer2018", "section 3")
COUNTED = "Equal, tensor for tensor, to PyTorch and transformers models (docs/validation.md)."
RANK = "The rank that holds the most."

#: Where weights are trained themselves, without adapters.
FULL: Any = Eq(finetuning, label(finetuning, "full"))
#: Whether the rank that is described holds the first stage of a pipeline, or the last.
ON_FIRST: Any = b_first > 0
ON_LAST: Any = b_last > 0
#: Where every product of a layer has an adapter.
EVERYWHERE: Any = Eq(lora_targets, label(lora_targets, "all_linear"))
#: Where weights are wider than hidden states and cast for each product; ZeRO gathers them cast, or has 16-bit ones.
AUTOCAST: Any = And(q_w > q_a, Z < 1)
#: Where adapters are kept wider than hidden states.
WIDE_ADAPTERS = Eq(adapter_dtype, label(adapter_dtype, "fp32"))
#: Where frozen weights are kept narrower than their products are computed.
WIDENED = And(Not(FULL), q_w < q_c)


def block_edges(ways: Any, width: Any, outer: Any = h) -> Any:
    """Rows and columns of a feed-forward block on one rank."""
    return summed(block_matrices(ways, width, outer), edges)


#: The block of a layer that predicts one more token is that of the others.
_further_block = when(L_moe > 0, R_sh, R_ff)

ffn_edges = Formula(
    R_ff,
    block_edges(t, d_ff),
    title="Rows and columns of the matrices of a dense feed-forward block",
    source=FACTORS,
    convention="One layer on one rank.",
    accuracy=COUNTED,
    example=Example({gated: 1, h: 4096, d_ff: 14336, t: 1}, "55296", derived="3 * (4096 + 14336)"),
)

shared_edges = Formula(
    R_sh,
    Min(1, d_sh) * block_edges(t, d_sh) + when(r_moe > 0, 2 * (h + r_moe)),
    title="Rows and columns of the matrices of shared experts",
    source=FACTORS,
    assumes="With the projections around experts that work at another width than the model.",
    convention="One layer on one rank.",
    accuracy=COUNTED,
    example=Example({gated: 1, h: 7168, d_sh: 2048, t: 1, r_moe: 0}, "27648", derived="3 * (7168 + 2048)"),
)

single_expert_edges = Formula(
    R_e,
    Min(1, d_e) * block_edges(n_g["etp"], d_e, h_e),
    title="Rows and columns of the matrices of one routed expert",
    source=FACTORS,
    convention="On one rank.",
    accuracy=COUNTED,
    example=Example({gated: 1, h_e: 4096, d_e: 14336, n_g["etp"]: 1}, "55296", derived="3 * (4096 + 14336)"),
)

vectors = Formula(
    U_d,
    (ell_r + L_mtp_r) * (U_attn + norms())
    + (plain_layers(ell_r, ell_moe) + L_mtp_r * when(L_moe > 0, 0, 1)) * block_vectors(t, d_ff, mlp_bias)
    + 3 * L_mtp_r * P_norm,
    title="Norms and biases in the layers of one rank",
    source=FACTORS,
    convention=RANK,
    accuracy=COUNTED,
    example=Example(
        {L: 32, L_nb: 0, ell_r: 32, ell_moe: 0, L_mtp_r: 0, L_moe: 0, U_attn: 0, P_norm: 4096, mlp_bias: 0, gated: 1,
         d_ff: 14336, t: 1,
         h: 4096, n_N: 2},
        "262144",
        derived="32 * 2 * 4096",
    ),
)  # fmt: skip

_experts = (ell_moe + L_mtp_r) * E / e
expert_vectors = Formula(
    U_s,
    _experts * block_vectors(n_g["etp"], d_e, expert_bias, h_e),
    title="Biases of the experts of one rank",
    source=FACTORS,
    convention=RANK,
    accuracy=COUNTED,
    example=Example(
        {ell_moe: 24, L_mtp_r: 0, E: 32, e: 8, expert_bias: 1, gated: 1, d_e: 2880, n_g["etp"]: 1, h_e: 2880},
        "829440",
        derived="24 * 32 / 8 * 3 * 2880",
    ),
)

_router = E + h
_positions = Min(1, n_pos) * (n_pos + h)
_vocabulary = V_r + h_V
_factor = when(r_V > 0, h + r_V)

matrix_edges = Formula(
    R_d,
    (ell_r + L_mtp_r) * R_attn
    + plain_layers(ell_r, ell_moe) * R_ff
    + ell_moe * (_router + R_sh)
    + L_mtp_r * (when(L_moe > 0, _router + R_sh, R_ff) + h + 2 * h / t)
    + when(
        p > 1,
        when(ON_FIRST, _vocabulary + _factor + _positions) + when(ON_LAST, _vocabulary + _factor),
        (2 - tied) * _vocabulary + 2 * _factor + _positions,
    ),
    title="Rows and columns of the matrices of one rank",
    source=FACTORS,
    convention=RANK,
    accuracy=COUNTED,
    example=Example(
        {L: 32, L_nb: 0, ell_r: 32, L_mtp_r: 0, R_attn: 26624, ell_moe: 0, R_ff: 55296, h: 4096, h_V: 4096, r_V: 0,
         t: 1, E: 1, R_sh: 0, L_moe: 0, p: 1, b_first: 1, b_last: 1, V_r: 128256, n_pos: 0, tied: 0},
        "2886144",
        derived="32 * (26624 + 55296) + 2 * (128256 + 4096)",
    ),
)  # fmt: skip

expert_edges = Formula(
    R_s,
    _experts * R_e,
    title="Rows and columns of the matrices of the experts of one rank",
    source=FACTORS,
    assumes="Every expert has matrices of its own.",
    convention=RANK,
    accuracy=COUNTED,
    example=Example(
        {ell_moe: 32, L_mtp_r: 0, E: 8, e: 8, R_e: 55296},
        "1769472",
        derived="32 * 55296",
    ),
)

_blocks = when(EVERYWHERE, 1)

adapter_parameters = Formula(
    P_ad_d,
    r_lora
    * (
        (ell_r + L_mtp_r) * R_ad
        + _blocks * (plain_layers(ell_r, ell_moe) * R_ff + ell_moe * R_sh + L_mtp_r * _further_block)
    ),
    title="Parameters of adapters on one rank",
    source=LORA,
    assumes="Neither embedding, head and norms nor routers have adapters.",
    convention=RANK,
    accuracy="Equal to adapters made of PyTorch modules, product by product.",
    example=Example(
        {L: 32, L_nb: 0, r_lora: 1, lora_targets: "query_value", ell_r: 96, ell_moe: 0, L_mtp_r: 0, R_ad: 49152,
         R_ff: 122880,
         R_sh: 0, L_moe: 0},
        "4.7e6",
        Source("hu2022", "table 4: GPT-3 175B, 4.7M"),
    ),
)  # fmt: skip

expert_adapter_parameters = Formula(
    P_ad_s,
    r_lora * _blocks * R_s,
    title="Parameters of adapters of experts on one rank",
    source=LORA,
    assumes="Every product of every expert has an adapter of its own.",
    convention=RANK,
    example=Example({r_lora: 16, lora_targets: "all_linear", R_s: 1769472}, "28311552", derived="16 * 1769472"),
)

adapted_products = Formula(
    K_d,
    (ell_r + L_mtp_r) * K_attn
    + _blocks
    * (
        (2 + gated)
        * (plain_layers(ell_r, ell_moe) + ell_moe * Min(1, d_sh) + L_mtp_r * when(L_moe > 0, Min(1, d_sh), 1))
        + when(r_moe > 0, 2 * (ell_moe + L_mtp_r))
    ),
    title="Products of one rank that have adapters",
    source=LORA,
    convention=RANK,
    example=Example(
        {
            L: 32,
            L_nb: 0,
            ell_r: 32,
            ell_moe: 0,
            L_mtp_r: 0,
            K_attn: 4,
            lora_targets: "all_linear",
            gated: 1,
            d_sh: 0,
            r_moe: 0,
            L_moe: 0,
        },
        "224",
        derived="32 * (4 + 3)",
    ),
)

adapted_expert_products = Formula(
    K_s,
    _blocks * (2 + gated) * _experts,
    title="Products of experts of one rank that have adapters",
    source=LORA,
    convention=RANK,
    example=Example(
        {lora_targets: "all_linear", gated: 1, ell_moe: 32, L_mtp_r: 0, E: 8, e: 8}, "96", derived="32 * 3"
    ),
)

gradient_share = Formula(
    f_w,
    when(FULL, f),
    title="Share of the weights whose gradients are computed",
    source=LORA,
    assumes="A backward pass needs the gradients of its inputs in any case.",
    example=Example({finetuning: "full", f: 0.25}, "0.25", derived="0.25"),
)

trained_dense = Formula(
    T_d,
    when(FULL, f * Max(0, P_dense - router_bias * E * (n_s * ell_moe + L_mtp_r)), P_ad_d),
    title="Trained parameters of one rank that are not of experts",
    source=LORA,
    assumes="A router's correction bias is set by counting, without gradients.",
    convention=RANK,
    example=Example(
        {
            finetuning: "full",
            f: 1,
            P_dense: 2910133504,
            router_bias: 1,
            E: 256,
            n_s: 1,
            ell_moe: 1,
            L_mtp_r: 0,
            P_ad_d: 0,
        },
        "2910133248",
        derived="2910133504 - 256",
    ),
)

trained_experts = Formula(
    T_s,
    when(FULL, f * P_sparse, P_ad_s),
    title="Trained parameters of the experts of one rank",
    source=LORA,
    convention=RANK,
    example=Example({finetuning: "lora", f: 1, P_sparse: 5637144576, P_ad_s: 28311552}, "28311552", derived="28311552"),
)

trained = Formula(
    T_r,
    T_d + T_s,
    title="Trained parameters of one rank",
    source=LORA,
    convention=RANK,
    example=Example({T_d: 37.7e6, T_s: 0}, "37.7e6", Source("hu2022", "table 4: GPT-3 175B, 37.7M")),
)

adapter_layer = Formula(
    P_ad_unit,
    r_lora
    * (
        R_ad
        + _blocks
        * Max(Min(1, plain_layers()) * R_ff, Min(1, L_moe) * (R_sh + when(n_g["edp"] > 1, E / e * R_e)))
    ),
    title="Parameters of the adapters of the largest layer on one rank",
    source=LORA,
    assumes="Where one rank alone holds its experts, they are not counted.",
    convention=RANK,
    example=Example(
        {L_nb: 0, r_lora: 16, lora_targets: "all_linear", R_ad: 26624, L: 32, L_moe: 0, R_ff: 55296, R_sh: 0, R_e: 0,
         n_g["edp"]: 8, e: 1, E: 1},
        "1310720",
        derived="16 * (26624 + 55296)",
    ),
)  # fmt: skip

trained_layer = Formula(
    T_unit,
    when(FULL, f * P_unit, P_ad_unit),
    title="Trained parameters of the largest layer on one rank",
    source=Source("zhao2023", "section 3.2"),
    convention=RANK,
    example=Example({finetuning: "lora", f: 1, P_unit: 218112000, P_ad_unit: 1310720}, "1310720", derived="1310720"),
)

trained_bytes = Formula(
    q_t,
    when(FULL, q_w, when(WIDE_ADAPTERS, 4 * byte, Max(q_a, 2 * byte))),
    title="Bytes of a trained weight",
    source=QLORA,
    assumes="Adapters have the format of hidden states, or fp32 (peft, beside weights at 16 bit).",
    example=Example({finetuning: "qlora", adapter_dtype: "as_precision", q_w: 0.516, q_a: 2}, "2 byte", QLORA),
)

adapter_weights = Formula(
    W_ad,
    when(FULL, 0, q_t * (P_ad_d / sharded(Z >= 3, n_z) + P_ad_s / sharded(Z >= 3, n_g["edp"]))),
    title="Weights of adapters held by one rank",
    source=LORA,
    convention=RANK + " GB = 1e9 bytes.",
    example=Example(
        {finetuning: "lora", q_t: 2, P_ad_d: 41943040, P_ad_s: 0, Z: 0, n_z: 8, n_g["edp"]: 8},
        "83.886 MB",
        derived="2 * 41943040 / 1e6",
    ),
)

FORMULAS = (
    ffn_edges,
    shared_edges,
    single_expert_edges,
    vectors,
    expert_vectors,
    matrix_edges,
    expert_edges,
    adapter_parameters,
    expert_adapter_parameters,
    adapted_products,
    adapted_expert_products,
    gradient_share,
    trained_dense,
    trained_experts,
    trained,
    adapter_layer,
    trained_layer,
    trained_bytes,
    adapter_weights,
)
