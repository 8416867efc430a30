"""Parameter counts

Parameters of a transformer, summed over its tensors: embeddings, attention (grouped-query or multi-head latent),
feed-forward blocks plain or gated, experts, shared experts, routers, norms, biases. Rotary tables are not parameters. A
flag (``gated``, ``qkv_bias``) is 0 or 1.
"""

from __future__ import annotations

from typing import Any

from mlsysim.formulas.mixers import SHAPE, Matrices, elements, summed
from mlsysim.symbolic import Example, Formula, Max, Source, when
from mlsysim.symbols.mixers import P_mix, n_N
from mlsysim.symbols.parameters import P_attn, P_emb, P_exp, P_ffn, P_head, P_norm, P_rt, P_sh
from mlsysim.symbols.sources import P_src, P_xs
from mlsysim.symbols.workload import (
    E,
    L,
    L_moe,
    L_mtp,
    L_nb,
    M_x,
    P,
    P_active,
    P_lk,
    P_re,
    V,
    b_x,
    d_e,
    d_ff,
    d_sh,
    expert_bias,
    gated,
    h,
    h_e,
    h_V,
    k,
    mlp_bias,
    n_pos,
    norm_bias,
    norm_scale,
    r_moe,
    r_V,
    router_bias,
    tied,
)

#: Width at which routed experts work.
EXPERT_WIDTH = when(r_moe > 0, r_moe, h)


def block_matrices(ways: Any, width: Any, outer: Any = h) -> Matrices:
    """Matrices of a feed-forward block: two, or three with a gate, split along the inner width."""
    return ((2 + gated, outer, width / ways),)


def block_vectors(ways: Any, width: Any, bias: Any, outer: Any = h) -> Any:
    """Biases of a feed-forward block; all ranks hold the output bias."""
    return bias * ((1 + gated) * width / ways + outer)


def feed_forward(ways: Any, width: Any, bias: Any, outer: Any = h) -> Any:
    """Parameters of a feed-forward block; all ranks hold the output bias."""
    return summed(block_matrices(ways, width, outer), elements) + block_vectors(ways, width, bias, outer)


def plain_layers(layers: Any = L, sparse: Any = L_moe) -> Any:
    """Number of layers with a dense block; layers with neither block are spread evenly."""
    return Max(0, layers - sparse - layers * L_nb / L)


def norms() -> Any:
    """Parameters of the norms of one layer."""
    return n_N * P_norm


def prediction(attention: Any, block: Any, ways: Any) -> Any:
    """Parameters of a multi-token-prediction layer: a layer, the product that joins two vectors, and three norms."""
    return attention + norms() + block + 2 * h**2 / ways + 3 * P_norm


norm_parameters = Formula(
    P_norm,
    (norm_scale + norm_bias) * h,
    title="Parameters of one norm",
    source=Source("zhang2019", "equation 4"),
    assumes="A scale per channel (RMSNorm), and a bias where the norm has one (LayerNorm); neither in some models.",
    example=Example({h: 12288, norm_scale: 1, norm_bias: 1}, "24576", derived="2 * 12288"),
)

ffn_parameters = Formula(
    P_ffn,
    feed_forward(1, d_ff, mlp_bias),
    title="Feed-forward parameters of one dense layer",
    source=Source("shazeer2020", "section 2"),
    assumes="An input and an output matrix; a gate is a second input matrix.",
    convention=SHAPE,
    example=Example({h: 4096, d_ff: 14336, gated: 1, mlp_bias: 0}, "176160768", derived="3 * 4096 * 14336"),
)

expert_width = Formula(
    h_e,
    EXPERT_WIDTH,
    title="Width at which routed experts work",
    source=Source("nvidia2025nemotron3", "LatentMoE"),
    assumes="That of the model, unless tokens are projected to another before they are sent to experts, and back "
    "behind them (Nemotron 3 Super).",
    example=Example({r_moe: 1024, h: 4096}, "1024", derived="1024"),
)

expert_parameters = Formula(
    P_exp,
    feed_forward(1, d_e, expert_bias, h_e),
    title="Parameters of one routed expert",
    source=Source("jiang2024", "section 2.2"),
    assumes="Experts are feed-forward blocks, with biases where the model has them (gpt-oss).",
    convention=SHAPE,
    example=Example({h_e: 7168, d_e: 2048, gated: 1, expert_bias: 0}, "44040192", derived="3 * 7168 * 2048"),
)

shared_expert_parameters = Formula(
    P_sh,
    feed_forward(1, d_sh, 0),
    title="Parameters of the shared experts of one layer",
    source=Source("deepseek2024v2", "section 2.2"),
    assumes="All shared experts of a layer are one block of their summed width.",
    convention=SHAPE,
    example=Example({h: 5120, d_sh: 2 * 1536, gated: 1}, "47185920", derived="3 * 5120 * 2 * 1536"),
)

router_parameters = Formula(
    P_rt,
    when(L_moe > 0, E * (h + router_bias) + 2 * h * r_moe),
    title="Parameters of the router of one layer",
    source=Source("fedus2022", "section 2.1"),
    assumes="With the projections around experts that work at another width than the model.",
    convention=SHAPE,
    example=Example({h: 7168, E: 256, L_moe: 58, router_bias: 1, r_moe: 0}, "1835264", derived="256 * (7168 + 1)"),
)

embedding_width = Formula(
    h_V,
    when(r_V > 0, r_V, h),
    title="Width of embedding and head",
    source=Source("lan2020", "section 3.1"),
    assumes="That of the model, unless it factorises its embedding.",
    example=Example({r_V: 128, h: 768}, "128", derived="128"),
)

embedding_parameters = Formula(
    P_emb,
    V * h_V + n_pos * h + 2 * h * r_V + P_lk,
    title="Parameters of the embeddings",
    source=Source("brown2020", "section 2.1"),
    assumes="With projections to the width of the model and back where there are some, and tables that layers look up "
    "(Gemma 3n).",
    convention=SHAPE,
    example=Example(
        {V: 50257, h: 768, h_V: 768, r_V: 0, n_pos: 1024, P_lk: 0}, "39383808", derived="(50257 + 1024) * 768"
    ),
)

head_parameters = Formula(
    P_head,
    (1 - tied) * V * h_V,
    title="Parameters of an output head of its own",
    source=Source("press2017", "section 3"),
    assumes="None where head and embedding are one matrix.",
    convention=SHAPE,
    example=Example({V: 128256, h_V: 4096, tied: 0}, "525336576", derived="128256 * 4096"),
)


def everything(experts: Any) -> Any:
    """Parameters of embeddings, layers and head, with this many experts counted per MoE layer."""
    sparse = P_rt + P_sh + experts * P_exp
    layers = P_mix + L * norms() + plain_layers() * P_ffn + L_moe * sparse
    further = L_mtp * prediction(P_attn, when(L_moe > 0, sparse, P_ffn), 1)
    return P_emb + P_head + P_norm + layers + further + M_x + b_x + P_src + P_xs


counted_parameters = Formula(
    P,
    Max(1, everything(E) - P_re),
    title="Parameters, counted",
    source=Source("kaplan2020", "table 1"),
    variant="counted",
    assumes="Two norms per layer, four where they stand behind its blocks too, and one after the last. A layer for "
    "predicting one more token is as wide as the others. What several layers share is stored once. What reads a source "
    "counts, with its keys and values. Kaplan et al. leave embeddings, norms and biases out; here nothing is.",
    convention=SHAPE,
    example=Example(
        {P_mix: 32 * 41943040, M_x: 0, b_x: 0, P_re: 0, P_src: 0, P_xs: 0, L_nb: 0, L: 32, L_moe: 0, E: 1, L_mtp: 0,
         n_N: 2, h: 4096, P_emb: 525336576,
         P_head: 525336576, P_norm: 4096, P_attn: 41943040,
         P_ffn: 176160768, P_exp: 0, P_sh: 0, P_rt: 0},
        "8.03e9",
        Source("grattafiori2024", "model card of Llama 3 8B"),
    ),
)  # fmt: skip

counted_active_parameters = Formula(
    P_active,
    everything(k),
    title="Active parameters, counted",
    source=Source("jiang2024", "section 2.2"),
    variant="counted",
    convention="What one token passes through, embedding and head included: Mixtral and Qwen3 publish this "
    "count, DeepSeek-V3 (37e9) leaves the embedding out. What layers share counts as often as it is passed.",
    example=Example(
        {P_mix: 32 * 41943040, M_x: 0, b_x: 0, P_src: 0, P_xs: 0, L_nb: 0, L: 32, L_moe: 32, k: 2, L_mtp: 0, n_N: 2,
         h: 4096, P_emb: 131072000,
         P_head: 131072000, P_norm: 4096, P_attn: 41943040,
         P_ffn: 0, P_exp: 176160768, P_sh: 0, P_rt: 32768},
        "12.9e9",
        Source("jiang2024", "section 1 and the announcement: 12.9B active"),
    ),
)  # fmt: skip

FORMULAS = (
    norm_parameters,
    ffn_parameters,
    expert_width,
    expert_parameters,
    shared_expert_parameters,
    router_parameters,
    embedding_width,
    embedding_parameters,
    head_parameters,
    counted_parameters,
    counted_active_parameters,
)
