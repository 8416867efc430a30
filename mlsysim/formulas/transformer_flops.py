"""Transformer FLOPs

Arithmetic of a training step, product by product: two FLOPs per weight and token forward, twice as many backward;
attention over the scores that its mask leaves; logits, but no embedding look-ups; and recomputation. Publications
differ in which of these a utilization counts; each convention has a name here.
"""

from __future__ import annotations

from typing import Any

from mlsysim.formulas.parameter_counts import plain_layers
from mlsysim.symbolic import Example, Formula, Source, by_label, flop, token, when
from mlsysim.symbols.activations import r_up, selective_policy, sequence_parallel
from mlsysim.symbols.batching import attention_flops
from mlsysim.symbols.layers import r_e, w_ad
from mlsysim.symbols.mixers import P_mix, W_all, W_up
from mlsysim.symbols.parameters import P_attn, P_exp, P_ffn, P_rt, P_sh
from mlsysim.symbols.routing import gamma_m, gamma_r
from mlsysim.symbols.sources import bidirectional
from mlsysim.symbols.step import (
    Phi,
    Phi_hw,
    attention_mask,
    f_mask,
    flop_convention,
    rho_attn,
    rho_el,
    rho_lin,
    w_attn,
    w_head,
    w_hot,
    w_lin,
    w_redo,
    w_rt,
)
from mlsysim.symbols.trained import f_w
from mlsysim.symbols.training import b, checkpointing, t
from mlsysim.symbols.workload import L, L_moe, L_mtp, L_nb, M_x, P_active, V, h, h_V, k, r_V, s

KAPLAN = Source("kaplan2020", "section 2.1")
CHECKPOINTS = Source("korthikanti2023", "section 5")

scores = Formula(
    f_mask,
    by_label(attention_mask, {"causal": 0.5 * (1 + bidirectional), "full": 1}),
    title="Share of the scores that is computed",
    source=Source("dao2022", "section 3.1"),
    assumes="A kernel that skips masked blocks computes half of the square; nothing is masked where tokens see those "
    "behind them.",
    no_example="a table of labels",
)


#: Layers with experts, those for predicting a further token among them.
SPARSE = L_moe + when(L_moe > 0, L_mtp)


def sparse_block(load: Any) -> Any:
    """Parameters that a token passes outside attention, at this load factor of the experts."""
    return P_rt + P_sh + load * k * P_exp


def routed_layer() -> Any:
    """Forward arithmetic per token of the routed experts of one layer."""
    return 2 * flop * k * P_exp / token


def repeated() -> Any:
    """Forward arithmetic that all tensor-parallel ranks repeat: compressed vectors, and routers."""
    return 2 * flop * ((L + L_mtp) * W_all + SPARSE * P_rt) / token


routed_work = Formula(
    w_rt,
    SPARSE * routed_layer(),
    title="Arithmetic of the products with routed experts, per token",
    source=Source("fedus2022", "section 2.2"),
    example=Example(
        {L_moe: 58, L_mtp: 0, k: 8, P_exp: 44040192}, "40.869 GFLOP/token", derived="2 * 58 * 8 * 44040192 / 1e9"
    ),
)

_further = L_mtp * (P_attn + when(L_moe > 0, P_rt + P_sh, P_ffn) + 2 * h**2)

product_work = Formula(
    w_lin,
    2 * flop * (P_mix + M_x + plain_layers() * P_ffn + L_moe * (P_rt + P_sh) + _further) / token + w_rt,
    title="Arithmetic of the products with weights, per token",
    source=KAPLAN,
    assumes="Two FLOPs per weight. The few biases and norms of heads are counted as if they were products. Each layer "
    "for predicting a further token is one more layer and a product that joins two vectors.",
    example=Example(
        {
            P_mix: 61 * 187107328,
            M_x: 0,
            L_nb: 0,
            L: 61,
            L_moe: 58,
            L_mtp: 0,
            h: 7168,
            P_attn: 187107328,
            P_ffn: 396361728,
            P_rt: 1835264,
            P_sh: 44040192,
            w_rt: 40.869e9,
        },
        "71.396 GFLOP/token",
        derived="2 * (61 * 187107328 + 3 * 396361728 + 58 * (1835264 + 44040192)) / 1e9 + 40.869",
    ),
)

hot_product_work = Formula(
    w_hot,
    w_lin + (gamma_r * r_e - 1) * w_rt + (t - 1) * (1 - sequence_parallel) * repeated(),
    title="Arithmetic of the products on the hot rank, per token",
    source=Source("fedus2022", "section 2.2"),
    assumes="Routed experts alone grow with the imbalance. Tensor-parallel ranks repeat down-projections of latent "
    "attention and routers, unless they split the sequence.",
    convention="Of all tensor-parallel ranks together; products of experts as the arithmetic that takes their time.",
    example=Example(
        {
            L: 32,
            L_moe: 32,
            L_mtp: 0,
            w_lin: 25.236e9,
            w_rt: 22.549e9,
            r_e: 1.04,
            gamma_r: 1.25,
            P_rt: 32768,
            t: 4,
            sequence_parallel: 0,
            W_all: 0,
        },
        "32.007 GFLOP/token",
        derived="25.236 + (1.25 * 1.04 - 1) * 22.549 + 3 * 2 * 32 * 32768 / 1e9",
    ),
)

logit_work = Formula(
    w_head,
    2 * flop * (1 + L_mtp) * (V * h_V + 2 * h * r_V) / token,
    title="Arithmetic of the logits, per token",
    source=Source("narayanan2021", "appendix"),
    assumes="The look-up of the embedding multiplies nothing. Each further token that is predicted needs its own.",
    example=Example(
        {V: 128256, h: 4096, h_V: 4096, r_V: 0, L_mtp: 0}, "1.0507 GFLOP/token", derived="2 * 128256 * 4096 / 1e9"
    ),
)

model_arithmetic = Formula(
    Phi,
    b
    * s
    * by_label(
        flop_convention,
        {
            "counted": (2 + f_w) * (w_lin + w_head) + 3 * (w_attn + w_ad),
            "palm": 6 * flop * P_active / token + 3 * attention_flops * s,
            "six_n": 6 * flop * P_active / token,
        },
    ),
    title="Model FLOPs of a step",
    source=Source("chowdhery2022", "appendix B"),
    assumes="Forward and twice as much backward, nothing recomputed; frozen weights need no gradients.",
    convention="counted: products, logits and the scores the mask leaves. palm: 6 N + 12 L a d_h s, the full square. "
    "six_n: 6 N. N counts embedding and head, and active experts only.",
    example=Example(
        {flop_convention: "counted", b: 128, s: 8192, w_lin: 13.959e9, w_attn: 2.147e9, w_head: 1.051e9, f_w: 1,
         w_ad: 0, P_active: 8.03e9, attention_flops: 524288},
        "53.971 PFLOP",
        derived="128 * 8192 * 3 * (13.959e9 + 2.147e9 + 1.051e9) / 1e15",
    ),
)  # fmt: skip

recomputed_products = Formula(
    rho_lin,
    by_label(
        checkpointing,
        {
            "none": 0,
            "selective": by_label(selective_policy, {"core_attention": 0, "alternate_matmuls": 0.5}),
            "full": 1,
        },
    ),
    title="Products that are recomputed",
    source=CHECKPOINTS,
    no_example="a table of labels",
)

recomputed_attention = Formula(
    rho_attn,
    by_label(
        checkpointing,
        {
            "none": 0,
            "selective": by_label(selective_policy, {"core_attention": 1, "alternate_matmuls": 0}),
            "full": 1,
        },
    ),
    title="Whether the core of attention is recomputed",
    source=CHECKPOINTS,
    assumes="What a flash kernel recomputes inside its own backward pass is part of that pass.",
    no_example="a table of labels",
)

recomputed_elementwise = Formula(
    rho_el,
    by_label(
        checkpointing,
        {
            "none": 0,
            "selective": by_label(selective_policy, {"core_attention": 0, "alternate_matmuls": 1}),
            "full": 1,
        },
    ),
    title="Whether element-wise work is recomputed",
    source=CHECKPOINTS,
    no_example="a table of labels",
)

recomputed_arithmetic = Formula(
    w_redo,
    r_up * (1 - rho_lin) * 2 * flop * (L + L_mtp) * W_up / token,
    title="Arithmetic of recomputed up-projections, per token",
    source=Source("deepseek2024", "section 3.2.3"),
    assumes="Nothing where the whole layer is recomputed.",
    example=Example(
        {r_up: 1, rho_lin: 0, L: 61, L_mtp: 0, W_up: 54525952}, "6.652 GFLOP/token", derived="2 * 61 * 54525952 / 1e9"
    ),
)

executed_arithmetic = Formula(
    Phi_hw,
    b
    * s
    * (
        (2 + f_w + rho_lin) * (w_lin + (gamma_m - 1) * w_rt)
        + w_redo
        + (3 + rho_lin) * w_ad
        + (3 + rho_attn) * w_attn
        + (2 + f_w) * w_head
    ),
    title="FLOPs of a step that are carried out",
    source=CHECKPOINTS,
    assumes="What is recomputed is a fourth pass; the logits never are. Experts compute no dropped tokens, and rows "
    "that they are padded with as any other.",
    example=Example(
        {
            b: 128,
            s: 8192,
            w_lin: 13.959e9,
            gamma_m: 1,
            w_rt: 0,
            w_redo: 0,
            w_attn: 2.147e9,
            w_head: 1.051e9,
            rho_lin: 1,
            rho_attn: 1,
            f_w: 1,
            w_ad: 0,
        },
        "70.860 PFLOP",
        derived="128 * 8192 * (4 * 13.959e9 + 4 * 2.147e9 + 3 * 1.051e9) / 1e15",
    ),
)

FORMULAS = (
    scores,
    routed_work,
    product_work,
    hot_product_work,
    logit_work,
    model_arithmetic,
    recomputed_products,
    recomputed_attention,
    recomputed_elementwise,
    recomputed_arithmetic,
    executed_arithmetic,
)
