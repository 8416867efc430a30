"""Routed activations

Activations that a layer with experts keeps for its backward pass on one expert-parallel rank, and its peak need. The
tokens that a rank sends are its own; those that its experts receive come from all ranks.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Eq

from mlsysim.symbolic import Example, Formula, Max, Source, by_label, byte, label, token, when
from mlsysim.symbols.activations import (
    k_rows,
    q_ff,
    q_rw,
    r_act,
    r_pad,
    routing_weights,
    sigma,
    sigma_e,
    x_buf,
    x_moe,
)
from mlsysim.symbols.formats import q_a, q_in
from mlsysim.symbols.routing import gamma_m, gamma_r
from mlsysim.symbols.training import e, n_tok, t
from mlsysim.symbols.workload import E, d_e, d_sh, gated, h_e, k, r_moe

TITAN = Source("torchtitan_issue_1624")
HOOKS = (
    "Within 0.2% of the saved tensors of PyTorch layers: Mixtral, torchtitan, a rank of four with balanced and with "
    "skewed routers."
)
PEAKS = (
    "one rank of four and a rank alone, with torchtitan's permutation, with balanced and with skewed routers, within "
    "2%; a Mixtral layer of transformers 11 and 27% low on two shapes."
)

expert_rows = Formula(
    k_rows,
    gamma_r * k + sigma_e * E * r_pad / (e * n_tok),
    title="Rows that the experts of the hot rank hold, per token it brings",
    source=TITAN,
    assumes="Buffers are as long as they may have to be: a whole tile more for each expert of the rank.",
    example=Example(
        {gamma_r: 1.25, k: 8, sigma_e: 1, E: 128, r_pad: 8, e: 4, n_tok: 8192},
        "10.03125",
        derived="1.25 * 8 + 128 * 8 / (4 * 8192)",
    ),
)

routing_weight_bytes = Formula(
    q_rw,
    when(
        r_act > 0,
        0,
        by_label(routing_weights, {"after": q_a, "after_fp32": 4 * byte, "before_fp32": 4 * byte, "in_activation": 0}),
    ),
    title="Bytes kept of a token for the gradient of its routing weight",
    source=TITAN,
    assumes="Where the activation function is recomputed, it applies the routing weights, and nothing is kept for them "
    "(Megatron-LM).",
    no_example="a table of labels",
)

#: A plain activation is kept before it is weighed and after; a gated one is weighed by the kernel that computes it.
_BY_ACTIVATION: Any = Eq(routing_weights, label(routing_weights, "in_activation"))
_unweighted = when(And(_BY_ACTIVATION, r_act <= 0, gated <= 0), q_a)

moe_activation = Formula(
    x_moe,
    (
        k_rows * (q_in * h_e / sigma_e + (q_ff + _unweighted) * d_e / t)
        + gamma_m * k * q_rw * h_e / sigma_e
        + q_in * r_moe / sigma
        + q_ff * d_sh / t
        + 4 * byte * (E + 2 * k + 1)
    )
    / token,
    title="Kept by router and experts of a layer",
    source=Source("korthikanti2023", "section 4.1"),
    variant="per_operator",
    assumes="Each token is copied once per expert it goes to, and the hot rank holds gamma times the mean of those "
    "copies. A projection back from the width of experts keeps what it reads. What is kept for the gradient of a "
    "routing weight stays on the rank that brings the token. The router works in fp32.",
    accuracy=HOOKS,
    example=Example(
        {q_a: 2, routing_weights: "after", r_act: 0, gated: 1, k_rows: 10, gamma_m: 1, k: 8, q_rw: 2, q_in: 2,
         h_e: 7168, q_ff: 6, d_e: 2048, d_sh: 2048, t: 1, E: 256, sigma_e: 1, r_moe: 0, sigma: 1},
        "394308 byte/token",
        derived="10 * (2 * 7168 + 6 * 2048) + 8 * 2 * 7168 + 3 * 2 * 2048 + 4 * (256 + 2 * 8 + 1)",
    ),
)  # fmt: skip

_sent, _held = gamma_m * k * h_e / sigma_e, k_rows * h_e / sigma_e
_inner = k_rows * d_e / t
#: Returning rows forward, or two gradients of the inner width backward.
_experts = q_a * Max(when(e > 1, 3, 2) * _held + _sent, 2 * _inner)

routed_buffer = Formula(
    x_buf,
    by_label(
        routing_weights,
        {
            **dict.fromkeys(("after", "after_fp32"), Max(3 * q_rw * _sent, _experts - q_rw * _sent)),
            "in_activation": _experts,
            "before_fp32": Max(_experts, 3 * q_rw * _sent - q_in * _held - q_ff * _inner),
        },
    )
    / token,
    title="What a layer with experts needs at its peak beyond what it makes for its backward pass",
    source=TITAN,
    assumes="The largest of three. Forward: tokens as they were sent and, between ranks, as they came, with what "
    "experts return before and after it is ordered by sender. Backward: two gradients of the inner width, or three of "
    "the tokens that are weighed. What is not yet made, or no longer held, is less.",
    accuracy="Peaks of PyTorch layers: " + PEAKS,
    example=Example(
        {e: 4, routing_weights: "before_fp32", q_a: 2, q_in: 2, q_rw: 4, q_ff: 8, k_rows: 10.03125, gamma_m: 1, k: 8,
         h_e: 2048, sigma_e: 1, d_e: 768, t: 1},
        "156032 byte/token",
        derived="2 * (3 * 10.03125 + 8) * 2048",
    ),
)  # fmt: skip

FORMULAS = (expert_rows, routing_weight_bytes, moe_activation, routed_buffer)
