"""Mixers of a layer

A mixer is the part of a layer in which tokens interact: grouped-query attention, which may have another shape in
sliding-window layers; multi-head latent attention with its indexer, if the cache has a rank; or a recurrent mixer with
a state of fixed size. This page has their matrices and vectors, in total and per rank, with adapters; their work per
token and pair of tokens; and what they keep in the cache and for the backward pass. Costs of layers add, so a model is
described by how often a token passes each kind; "of one layer" is the mean over all layers. Other pages build on these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sympy import And, Eq, Integer, Not, Or, ceiling, floor

from mlsysim.symbolic import Example, Formula, Max, Min, Source, by_label, byte, flop, label, request, token, when
from mlsysim.symbols.activations import (
    attention_kernel,
    elementwise_kernels,
    mask,
    q_copy,
    sigma,
    x_attn,
    x_core,
)
from mlsysim.symbols.batching import attention_flops
from mlsysim.symbols.formats import M_mix, q_a, q_in, q_kv, q_o
from mlsysim.symbols.groups import h_kv
from mlsysim.symbols.iteration import kv_rank, w_dec
from mlsysim.symbols.mixers import (
    C_st,
    D_st,
    H_k,
    H_st,
    K_st,
    L_all,
    L_att,
    L_both,
    L_c,
    L_hc,
    L_ix,
    L_kv,
    L_kv_w,
    L_none,
    L_st,
    L_w,
    N_st,
    P_c,
    P_c_r,
    P_ix,
    P_mix,
    P_mix_r,
    P_st,
    P_st_r,
    Q_st,
    W_all,
    W_up,
    X_st,
    Y_st,
    a,
    a_ix,
    a_kv,
    a_kv_s,
    a_kv_w,
    a_r,
    a_s,
    a_w,
    b_st,
    chunked,
    d_h,
    d_ix,
    d_nope,
    d_rope,
    d_s,
    d_v,
    d_v_h,
    d_v_s,
    d_v_w,
    d_w,
    delta,
    g_o,
    gamma_st,
    k_ix,
    m_hc,
    m_ix,
    n_B,
    n_G,
    n_N,
    n_st,
    n_vals,
    o_bias,
    q_2,
    q_st,
    qk_norm,
    qkv_bias,
    r_kv,
    r_o,
    r_q,
    sandwich,
    sigma_st,
    sinks,
    w_ix,
    w_near,
    w_pair,
    w_scan,
    w_win,
    window,
    x_c,
    x_ch,
    x_cn,
    x_gr,
    x_lat,
    x_sc,
    x_up,
    y_core,
    y_ek,
    y_hc,
    y_K,
    y_K_w,
    y_mix,
    y_q,
    y_R,
    y_R_w,
    y_sp,
    y_v,
    z_st,
)
from mlsysim.symbols.parameters import P_attn
from mlsysim.symbols.serving import kv_token
from mlsysim.symbols.sources import L_x, P_xs, bidirectional, h_src, kappa_x, s_all, w_x
from mlsysim.symbols.step import f_mask, n_sc, s_att, s_doc, s_reach, w_attn
from mlsysim.symbols.trained import K_attn, R_ad, R_attn, U_attn, lora_targets
from mlsysim.symbols.training import P_attn_r, a_kv_r, c_cp, m, t
from mlsysim.symbols.workload import L, L_mtp, h, norm_bias, q, s

#: How many, rows and columns of each kind of matrix.
Matrices = tuple[tuple[Any, Any, Any], ...]

MEGATRON = Source("shoeybi2019", "section 3")
LATENT = Source("deepseek2024v2", "section 2.1")
FACTORS = Source("shazeer2018", "section 3")
AUTOGRAD = Source("korthikanti2023", "section 4.1")
LORA = Source("hu2022", "section 4.1")
VASWANI = Source("vaswani2017", "section 3.2.3")
SHAPE = "Every stored tensor once; buffers such as rotary tables are not parameters."
COUNTED = "Equal, tensor for tensor, to PyTorch and transformers models split the same way (docs/validation.md)."
HOOKS = "Within 0.2% of the saved tensors of PyTorch layers: plain, dropout, Llama, Qwen3, Mixtral, DeepSeek-V3."

#: Where keys and values are kept as one compressed vector.
IS_LATENT = r_kv > 0
#: Where an indexer picks tokens, and not entries that stand for several.
PICKS_TOKENS = And(k_ix > 0, m_ix <= 0)
#: Where heads are too wide for the registers of a kernel of attention.
WIDE = d_h > 192
EAGER: Any = Eq(elementwise_kernels, label(elementwise_kernels, "eager"))


def _kernel(name: str) -> Any:
    """Condition that this kernel computes attention."""
    return Eq(attention_kernel, label(attention_kernel, name))


UNFUSED = _kernel("unfused")
#: Where scores are recomputed; where Transformer Engine computes attention, and keeps its output twice.
FLASH = Not(Or(_kernel("eager"), UNFUSED))
ENGINE = Or(_kernel("fused"), _kernel("flash_te"), UNFUSED)
_TWICE = And(_kernel("flash_te"), m > 1)
#: An example without such attention.
NOT_LATENT = {r_kv: 0}
#: Width of what the heads of a rank give.
y_out = a * when(IS_LATENT, d_v, d_v_h) / t
#: Inputs of worked examples: latent attention, and 32 heads without.
WITH_LATENTS = {r_kv: 512}
OF_HEADS = {a: 32, **NOT_LATENT, d_v: 0, d_v_h: 128}
#: One whose layers with a window read all that they keep.
NOT_CHUNKED = {chunked: 0, k_ix: 0, L_ix: 0, d_ix: 0, m_ix: 0}
#: One whose layers read no compressed entries.
UNCOMPRESSED = {y_sp: 0, y_hc: 0, m_ix: 0, m_hc: 0}
#: One of a head, where entries have no other width.
ONE_HEAD = {a: 1}
#: One whose layers all read everything.
READS_ALL = {window: 0, chunked: 0, k_ix: 0, **ONE_HEAD, **UNCOMPRESSED}
#: One whose layers with a window reach 64 tokens.
NEAR_64 = {window: 64}


def summed(matrices: Matrices, number: Callable[[Any, Any], Any]) -> Any:
    """Sum a function of rows and columns over matrices, each with its multiplicity."""
    return sum(times * number(rows, columns) for times, rows, columns in matrices)


def elements(rows: Any, columns: Any) -> Any:
    """Parameters of a matrix."""
    return rows * columns


def edges(rows: Any, columns: Any) -> Any:
    """Sum of a matrix's rows and columns."""
    return rows + columns


class Heads(NamedTuple):
    """Query and key-value heads of attention, widths of keys and values, gate, and value projections."""

    queries: Any
    kv: Any
    keys: Any
    values: Any
    gate: Any
    projected: Any
    own: int = 1


#: Attention that reaches back to the first token, and attention with a window.
ALL = Heads(a, a_kv, d_h, d_v_h, n_G, n_vals)
NEAR = Heads(a_s, a_kv_s, d_s, d_v_s, n_G * a_s / a, 1)
#: Layers of each, and those of them that read the keys and values of another layer.
LAYERS = ((L_all, L_kv, ALL), (L_w, L_kv_w, NEAR))
#: Shape of the second.
SHAPED = (a_s, a_kv_s, d_s, d_v_s)


#: An example in which every layer has keys and values of its own.
UNSHARED = {L_kv: 0, L_kv_w: 0}


def unbound(layers: int, *shape: Any) -> dict[Any, int]:
    """Example with this many layers, all without a window; a window would have this shape."""
    return {L_att: layers, L_all: layers, L_w: 0, L_c: 0, **dict.fromkeys(shape, 1)}


#: One whose attention projects values and whose layers have no recurrent mixer and no indexer.
UNMIXED = {L_st: 0, P_st: 0, P_ix: 0, L_ix: 0, n_vals: 1, P_c: 0, L_hc: 0, m_hc: 0, L_x: 0}


def grouped(of: Callable[[Heads], Any]) -> Any:
    """Sum over grouped-query attention layers, by head shape; fewer if keys and values are shared."""
    total = Integer(0)
    for layers, shared, heads in LAYERS:
        whole, rest = of(heads), of(heads._replace(own=0))
        total += layers * whole if whole == rest else Max(0, layers - shared) * whole + shared * rest
    return total


def attention(latent: Any, of: Callable[[Heads], Any], compressed: Any) -> Any:
    """Sum over attention layers: latent, by heads, and with compressed entries."""
    return when(IS_LATENT, L_att * latent, grouped(of)) + L_c * compressed


def kv_on(ways: Any, heads: Heads) -> Any:
    """Key-value heads on one of this many ranks."""
    return heads.kv if ways == 1 else a_kv_r if heads.kv == a_kv else ceiling(heads.kv / ways)


def own_kv(ways: Any, heads: Heads) -> Any:
    """Key-value heads that a layer computes and stores itself."""
    return heads.own * kv_on(ways, heads)


def heads_matrices(ways: Any, heads: Heads) -> Matrices:
    """Number, rows and columns of the query (with gate), key, value and output projections on one rank."""
    kv = own_kv(ways, heads)
    return (
        (1, (heads.queries * heads.keys + heads.gate) / ways, h),
        (1, heads.queries / ways * heads.values, h),
        (heads.own, kv * heads.keys, h),
        (heads.own * heads.projected, kv * heads.values, h),
    )


def latent_matrices(ways: Any) -> tuple[Matrices, Matrices, Matrices]:
    """The same for multi-head latent attention: with compressed query, with full query, and all else."""
    query = a / ways * (d_nope + d_rope)
    rest = ((1, h, r_kv + d_rope), (1, r_kv, a / ways * (d_nope + d_v)), (1, a / ways * d_v, h))
    return ((1, r_q, h), (1, r_q, query)), ((1, h, query),), rest


def compressed_matrices(ways: Any) -> Matrices:
    """The same for attention to compressed entries: compressed query, shared key and value, grouped output."""
    groups, width = g_o / ways, a * d_h
    return ((1, h, r_q), (1, r_q, width / ways), (1, h, d_h), (groups, width / Max(1, g_o), r_o), (1, groups * r_o, h))


def compressed_vectors(ways: Any) -> Any:
    """Norms and sinks of attention to compressed entries."""
    return r_q + d_h + sinks * a / ways


def compressed_attention(ways: Any) -> Any:
    """Parameters of attention to compressed entries on one rank, without compressors."""
    return summed(compressed_matrices(ways), elements) + compressed_vectors(ways)


#: A compressor has values and gates, of two series where windows overlap: its matrices, and places with a norm.
HEAVY = (2 * h * d_h, (m_hc + 1) * d_h)
_sparse = d_h + d_ix
#: Matrices and vectors of an indexer, with the compressors of its layer where it picks entries.
INDEXER = (
    when(r_q > 0, r_q, h) * a_ix * d_ix + h * a_ix + h * when(m_ix > 0, 4 * _sparse, d_ix),
    when(m_ix > 0, (2 * m_ix + 1) * d_h + (2 * m_ix + 1) * d_ix, 2 * d_ix),
)


def heads_vectors(ways: Any, heads: Heads) -> Any:
    """Biases, head norms and sinks of grouped-query attention on one rank."""
    kv = own_kv(ways, heads)
    biases = qkv_bias * ((heads.queries / ways + kv) * heads.keys + kv * heads.values) + o_bias * h
    return biases + qk_norm * (1 + heads.own) * (1 + norm_bias) * heads.keys + sinks * heads.queries / ways


def grouped_query_attention(ways: Any) -> Callable[[Heads], Any]:
    """Parameters of query, key, value and output projections on one rank."""
    return lambda heads: summed(heads_matrices(ways, heads), elements) + heads_vectors(ways, heads)


def cross_matrices(ways: Any) -> Matrices:
    """Matrices of cross-attention that a decoder token passes on one rank: query and output."""
    return heads_matrices(ways, ALL._replace(gate=0))[:2]


def cross_attention(ways: Any) -> Any:
    """Parameters of cross-attention without the key and value matrices, with all biases and a norm."""
    return summed(cross_matrices(ways), elements) + heads_vectors(ways, ALL) + (1 + norm_bias) * h


def latent_attention(ways: Any) -> Any:
    """Parameters of latent attention on one rank; all ranks hold the compressions."""
    compressed, plain, rest = (summed(matrices, elements) for matrices in latent_matrices(ways))
    return when(r_q > 0, compressed + r_q, plain) + rest + r_kv


def reach(tokens: Any) -> Any:
    """Tokens of a context within a sliding window."""
    return when(window > 0, Min(window, tokens), tokens)


def kept(tokens: Any, cache: Any = kv_token) -> Any:
    """Tokens of a context that a layer caches, as a mean relative to all layers.

    The state of a request, and the cache of what it attends to beside, count as the tokens that take as much: of a
    cache of so many bytes a token on all ranks.
    """
    kept_whole = Max(0, y_K - y_K_w) * tokens + y_K_w * reach(tokens)
    return (kept_whole + compressed(tokens)) / y_K + (sigma_st + kappa_x) * request / cache


#: Whether a request keeps less than every layer would of its tokens, or more beside them.
UNEVEN = Or(y_K_w > 0, sigma_st > 0, kappa_x > 0)


def compressed(tokens: Any) -> Any:
    """Number of compressed entries in a context, and of tokens not yet compressed, by their width.

    Values and gates wait; of two series where windows overlap, which also leave one series of the window before.
    """
    made, heavy = (floor(tokens / (Max(1, rate) * token)) for rate in (m_ix, m_hc))
    waiting = 4 * Max(0, tokens - Max(1, m_ix) * made * token) + when(made > 0, 2 * m_ix * token)
    rest = 2 * Max(0, tokens - Max(1, m_hc) * heavy * token)
    return (y_sp + y_ek) * (made * token + waiting) + y_hc * (heavy * token + rest)


def entries(tokens: Any) -> Any:
    """Number of compressed entries that attention reads, averaged over windows."""
    return y_sp * Min(k_ix, tokens / Max(1, m_ix)) + y_hc * tokens / Max(1, m_hc)


def read(
    tokens: Any,
    whole: Any = y_R,
    near: Any = y_R_w,
    index: Any = L_ix * d_ix,
    over: Any = y_K,
    number: Any = 1,
) -> Any:
    """Tokens of a context that the next token attends to, averaged over layers and positions in a chunk.

    Layers count by what they read of a token, as multiples of what all keep of it; or by other numbers of all, of those
    with a window, of indexers and of a number of an entry, as multiples of another.
    """
    of_chunk = when(And(chunked > 0, tokens > window), (window + token) / 2, reach(tokens))
    whole_read = Max(0, whole - near - index) * picked(tokens) + near * of_chunk
    return (whole_read + index * tokens / Max(1, m_ix) + number * entries(tokens)) / over


def picked(tokens: Any) -> Any:
    """Tokens of a context that attention reads: those picked, if there is an indexer."""
    return when(PICKS_TOKENS, Min(k_ix, tokens), tokens)


#: Arithmetic for one number of an entry: scores and weighted values of all heads.
ENTRY_WORK = 4 * a * flop / token**2


#: Arithmetic of attention with a window per token, where the sequence is longer and nothing is masked.
WITHIN = w_win * window


def scored(tokens: Any) -> Any:
    """Tokens of a context that attention scores, averaged over work."""
    return read(tokens, w_dec, w_near, w_ix, w_dec, ENTRY_WORK)


def windowed(layers: int, tokens: int, of: int = 80) -> dict[Any, int]:
    """Example of attention alone: this many layers have a window, the others full attention."""
    return {y_K: of, y_K_w: layers, window: tokens, sigma_st: 0, kappa_x: 0, y_ek: 0, **UNCOMPRESSED}


def windowed_read(layers: int, tokens: int, of: int = 80) -> dict[Any, int]:
    """Example of layers that read what they cache, with this window."""
    return {y_K: of, y_R: of, y_R_w: layers, window: tokens, sigma_st: 0, kappa_x: 0, **UNCOMPRESSED}


def normalised(width: Any) -> Any:
    """Bytes per token saved by a norm with its output: an fp32 copy if eager; and a statistic."""
    return ((q_a + q_in + q_copy) * width + 4 * byte) / token


norms_per_layer = Formula(
    n_N,
    n_B * (1 + sandwich),
    title="Norms of one layer",
    source=Source("korthikanti2023", "section 4.1"),
    assumes="One in front of each of its two blocks, and where the model has them one behind each (Gemma).",
    example=Example({n_B: 2, sandwich: 1}, "4", derived="2 * 2"),
)

attention_layers = Formula(
    L_att,
    Max(0, L - L_none - L_st + L_both),
    title="Layers with attention",
    source=Source("dao2024", "section 9.2"),
    assumes="All but those with a recurrent mixer alone, or with no mixer.",
    example=Example({L: 48, L_none: 0, L_st: 36, L_both: 0}, "12", derived="48 - 36"),
)

unbounded_attention_layers = Formula(
    L_all,
    Max(0, L_att - L_w - L_c),
    title="Layers whose attention reaches back to the first token",
    source=Source("gemma_team2025", "section 2"),
    example=Example({L_att: 62, L_w: 52, L_c: 0}, "10", derived="62 - 52"),
)

value_width = Formula(
    d_v_h,
    when(And(d_v > 0, r_kv <= 0), d_v, d_h),
    title="Width of the values of one head",
    source=Source("ainslie2023", "section 2"),
    assumes="That of the keys unless the model says otherwise (MiMo: 192 and 128).",
    example=Example({d_v: 128, d_h: 192, r_kv: 0}, "128", derived="128"),
)


def _near(name: Any, own: Any, others: Any, title: str, example: dict[Any, int], answer: str) -> Formula:
    """Width of attention in layers with a window: their own, or by default that of the others."""
    return Formula(
        name,
        when(own > 0, own, others),
        title=title,
        source=Source("gemma_team2025", "section 2"),
        assumes="As in the other layers where the model gives no other.",
        example=Example(example, answer, derived=answer),
    )


near_heads = _near(a_s, a_w, a, "Query heads in layers with a window", {a_w: 96, a: 64}, "96")
near_kv_heads = _near(a_kv_s, a_kv_w, a_kv, "Key-value heads in layers with a window", {a_kv_w: 0, a_kv: 8}, "8")
near_key_width = _near(d_s, d_w, d_h, "Width of a head in layers with a window", {d_w: 256, d_h: 512}, "256")
near_value_width = _near(
    d_v_s,
    d_v_w,
    when(d_w > 0, d_w, d_v_h),
    "Width of the values of one head in layers with a window",
    {d_v_w: 0, d_w: 256, d_v_h: 512},
    "256",
)


def recurrent(ways: Any, keys: Any) -> Any:
    """Parameters of a recurrent mixer on one rank with this many writing heads."""
    inner = ((1 + z_st) * H_st * D_st + n_st * H_st) / ways
    return h * (2 * keys * N_st + inner) + H_st * D_st * h / ways + (X_st + C_st * K_st + b_st) / ways


#: The gated delta net of Qwen3-Next 80B.
DELTA_NET = {
    h: 2048, H_k: 16, N_st: 128, H_st: 32, D_st: 128, z_st: 1, n_st: 2, C_st: 8192, K_st: 4, X_st: 0, b_st: 192
}  # fmt: skip

state_parameters = Formula(
    P_st,
    recurrent(1, H_k),
    title="Parameters of a recurrent mixer",
    source=Source("yang2024", "section 3"),
    assumes="Keys and queries of the heads that write, values with their gates, numbers per head, an output, a short "
    "convolution, and what is given beside: the table in docs/shapes.md says how each kind is described.",
    convention=SHAPE,
    example=Example(
        DELTA_NET,
        "33718464",
        derived="2048 * (2 * 16 * 128 + 2 * 32 * 128 + 2 * 32) + 32 * 128 * 2048 + 8192 * 4 + 192",
    ),
)

state_parameters_per_rank = Formula(
    P_st_r,
    recurrent(t, when(H_k > 0, Max(1, H_k / t))),
    title="Parameters of a recurrent mixer on one rank",
    source=MEGATRON,
    assumes="Heads are split; ranks beyond the heads that write hold copies of these.",
    example=Example({**DELTA_NET, t: 1}, "33718464", derived="33718464"),
)

indexer_parameters = Formula(
    P_ix,
    when(L_ix > 0, sum(INDEXER)),
    title="Parameters of an indexer",
    source=Source("deepseek2025v32", "section 2"),
    assumes="Queries from the compressed ones, one key, a weight per head, and a norm of the key. Where it picks "
    "compressed entries, with what makes these and their keys: values and gates of two series, places and norms.",
    example=Example(
        {L_ix: 61, r_q: 1536, h: 7168, a_ix: 64, d_ix: 128, d_h: 192, m_ix: 0},
        "13959424",
        derived="1536 * 64 * 128 + 7168 * (128 + 64) + 2 * 128",
    ),
)

#: Attention of DeepSeek-V4 Pro.
COMPRESSED = {h: 7168, a: 128, d_h: 512, r_q: 1536, r_o: 1024, g_o: 16, sinks: 1}

compressed_attention_parameters = Formula(
    P_c,
    compressed_attention(1),
    title="Parameters of attention to compressed entries",
    source=Source("deepseek2026v4", "section 2.3"),
    assumes="Compressed queries, one vector that all heads read as key and value, and an output projection of low rank "
    "for each group of heads; norms and a sink per head.",
    convention=SHAPE,
    example=Example(
        COMPRESSED,
        "299894912",
        derived="7168 * 1536 + 1536 * 128 * 512 + 7168 * 512 + 128 * 512 * 1024 + 16 * 1024 * 7168 + 1536 + 512 + 128",
    ),
)

compressed_attention_parameters_per_rank = Formula(
    P_c_r,
    compressed_attention(t),
    title="Parameters of attention to compressed entries on one rank",
    source=MEGATRON,
    assumes="Heads and their groups are split; what has no heads is held by all ranks, compressors and indexers too.",
    example=Example({**COMPRESSED, t: 1}, "299894912", derived="299894912"),
)

source_projections = Formula(
    P_xs,
    L_x * when(h_src > 0, h_src, h) * a_kv * (d_h + d_v_h),
    title="Elements of the matrices of keys and values of a source",
    source=VASWANI,
    assumes="Each layer that attends to the source projects it for itself, once a request.",
    example=Example({L_x: 6, a_kv: 8, d_h: 64, d_v_h: 64, h_src: 0, h: 512}, "3145728", derived="6 * 2 * 512 * 512"),
)

mixer_parameters = Formula(
    P_mix,
    attention(latent_attention(1), grouped_query_attention(1), P_c)
    + L_st * P_st
    + L_ix * P_ix
    + L_hc * sum(HEAVY)
    + L_x * cross_attention(1),
    title="Parameters of all mixers",
    source=Source("deepseek2024v2", "section 2.1 and appendix C"),
    assumes="Multi-head latent attention where the cache has a rank, with a norm on each compressed vector; "
    "grouped-query attention otherwise. Cross-attention has a norm of its own, and its keys and values are counted "
    "with what reads the source.",
    convention=SHAPE,
    example=Example(
        {**UNSHARED, h: 7168, a: 128, a_kv: 128, d_h: 192, r_q: 1536, r_kv: 512, d_nope: 128, d_rope: 64, d_v: 128,
         qkv_bias: 0,
         o_bias: 0, qk_norm: 0, sinks: 0, norm_bias: 0, n_G: 0, d_v_h: 192, **unbound(61, *SHAPED), **UNMIXED},
        "11413547008",
        derived="61 * ((7168 + 1) * 1536 + 1536 * 128 * 192 + 7168 * (512 + 64) + 512 + 512 * 128 * 256"
        " + 128 * 128 * 7168)",
    ),
)  # fmt: skip

attention_parameters = Formula(
    P_attn,
    P_mix / L,
    title="Parameters of the mixer of one layer",
    source=Source("deepseek2024v2", "section 2.1"),
    convention="Mean over all layers.",
    example=Example({P_mix: 11413547008, L: 61}, "187107328", derived="11413547008 / 61"),
)


def _latent_elements() -> Any:
    """Elements of the matrices of latent attention."""
    compressed, plain, rest = (summed(matrices, elements) for matrices in latent_matrices(1))
    return when(r_q > 0, compressed, plain) + rest


mixer_matrices = Formula(
    M_mix,
    attention(
        _latent_elements(),
        lambda heads: summed(heads_matrices(1, heads), elements),
        summed(compressed_matrices(1), elements),
    )
    + L_st * (h * (2 * H_k * N_st + (2 + z_st) * H_st * D_st + n_st * H_st) + X_st)
    + L_ix * INDEXER[0]
    + L_hc * HEAVY[0]
    + L_x * summed(cross_matrices(1), elements),
    title="Elements of the matrices of all mixers",
    source=Source("lin2024", "section 5.1"),
    assumes="Everything but biases, norms, sinks and short convolutions, and what reads a source.",
    example=Example(
        {L_hc: 0, m_ix: 0, g_o: 0, r_o: 0, **UNSHARED, h: 2880, a: 64, a_kv: 8, d_h: 64, d_v_h: 64, n_G: 0, n_vals: 1,
         r_q: 0, r_kv: 0, d_nope: 0, d_rope: 0, d_v: 0,
         **unbound(36, *SHAPED), L_st: 0, H_k: 0, N_st: 0, H_st: 0, D_st: 0, z_st: 0, n_st: 0, X_st: 0, L_ix: 0,
         a_ix: 0, d_ix: 0, L_x: 0},
        "955514880",
        derived="36 * 2880 * 64 * (2 * 64 + 2 * 8)",
    ),
)  # fmt: skip

kv_heads_per_rank = Formula(
    a_kv_r,
    ceiling(a_kv / t),
    title="Key-value heads on one tensor-parallel rank",
    source=MEGATRON,
    assumes="Ranks beyond the number of key-value heads hold copies.",
    example=Example({a_kv: 8, t: 16}, "1", derived="ceil(8 / 16)"),
)

mixer_parameters_per_rank = Formula(
    P_mix_r,
    attention(latent_attention(t), grouped_query_attention(t), P_c_r)
    + L_st * P_st_r
    + L_ix * P_ix
    + L_hc * sum(HEAVY)
    + L_x * cross_attention(t),
    title="Parameters of all mixers on one rank",
    source=MEGATRON,
    assumes="Query, key and value products are split by heads, the output product by its rows; compressed latents, "
    "norms of heads, the output bias and indexers are held by all.",
    accuracy=COUNTED,
    example=Example(
        {P_c_r: 0, L_hc: 0, m_hc: 0, **UNSHARED, h: 16384, a: 128, a_kv_r: 1, d_h: 128, t: 8, r_q: 0, r_kv: 0,
         d_nope: 0, d_rope: 0, d_v: 0, qkv_bias: 0,
         o_bias: 0, qk_norm: 0, sinks: 0, norm_bias: 0, n_G: 0, d_v_h: 128, **unbound(126, *SHAPED), P_st_r: 0,
         L_st: 0, P_ix: 0,
         L_ix: 0, n_vals: 1, L_x: 0},
        "8984199168",
        derived="126 * (2 * (128 / 8) * 128 * 16384 + 2 * 1 * 128 * 16384)",
    ),
)  # fmt: skip

attention_parameters_per_rank = Formula(
    P_attn_r,
    P_mix_r / L,
    title="Parameters of the mixer of one layer on one rank",
    source=MEGATRON,
    convention="Mean over all layers.",
    example=Example({P_mix_r: 8984199168, L: 126}, "71303168", derived="8984199168 / 126"),
)


def mean(of: Callable[[Heads], Any], state: Any = 0, entries: Any = 0) -> Any:
    """Mean over all layers: attention by heads, recurrent mixers, and attention to compressed entries."""
    return (grouped(of) + L_st * state + L_c * entries) / L


#: Widths of keys, values and gates of a recurrent mixer before its core; further matrices read what is as wide as h.
STATE_WIDTH = 2 * H_k * N_st + (1 + z_st) * H_st * D_st + n_st * H_st + X_st / h
#: Examples without one.
STATELESS = {L_st: 0, X_st: 0, H_k: 0, N_st: 0, H_st: 0, D_st: 0, z_st: 0, n_st: 0}

heads_per_rank = Formula(
    a_r,
    mean(lambda heads: heads.queries, 0, a) / t,
    title="Query heads on one tensor-parallel rank",
    source=MEGATRON,
    convention="Mean over all layers.",
    example=Example({a: 64, t: 8, L: 80, L_all: 80, L_w: 0, L_c: 0, a_s: 1}, "8", derived="64 / 8"),
)

query_width = Formula(
    y_q,
    Max(
        a * d_h + n_G,
        a * d_v_h,
        when(L_w > 0, Max(a_s * d_s + NEAR.gate, a_s * d_v_s)),
        when(L_st > 0, STATE_WIDTH),
    )
    / t,
    title="Width of the queries of one rank",
    source=MEGATRON,
    assumes="With their gate; or that of the output of attention, where it is wider. Of the widest layer.",
    example=Example(
        {a: 64, t: 8, d_h: 128, d_v_h: 128, n_G: 0, L_st: 0, L_w: 0, a_s: 1, d_s: 1, d_v_s: 1, h: 8192, **STATELESS},
        "1024",
        derived="64 / 8 * 128",
    ),
)

query_value_width = Formula(
    y_v,
    mean(
        lambda heads: (
            heads.queries / t * (heads.keys + heads.values) + own_kv(t, heads) * heads.values + heads.gate / t
        ),
        (STATE_WIDTH + H_st * D_st) / t,
        2 * a / t * d_h + d_h,
    ),
    title="Widths of queries, gate, values and output of one rank",
    source=MEGATRON,
    assumes="The output of attention is as wide as the values of all query heads.",
    convention="Mean over all layers.",
    example=Example(
        {
            L_c: 0,
            **UNSHARED,
            a: 64,
            t: 8,
            a_kv_r: 1,
            d_h: 128,
            d_v_h: 128,
            n_G: 0,
            L: 80,
            L_all: 80,
            L_w: 0,
            **dict.fromkeys(SHAPED, 1),
            h: 8192,
            **STATELESS,
        },
        "2176",
        derived="64 / 8 * 2 * 128 + 128",
    ),
)

core_width = Formula(
    y_core,
    y_v + mean(lambda heads: own_kv(t, heads) * heads.keys, C_st / t),
    title="The same with the keys",
    source=MEGATRON,
    assumes="Of a recurrent mixer, with what its convolution reads.",
    example=Example(
        {
            **UNSHARED,
            y_v: 2176,
            a_kv_r: 1,
            d_h: 128,
            L: 80,
            t: 8,
            C_st: 0,
            L_all: 80,
            L_w: 0,
            L_st: 0,
            a_kv_s: 1,
            d_s: 1,
        },
        "2304",
        derived="2176 + 1 * 128",
    ),
)

key_value_width = Formula(
    h_kv,
    attention(
        a * (d_nope + d_rope + d_v) / t,
        lambda heads: kv_on(t, heads) * (heads.keys + heads.values),
        d_h,
    )
    / L,
    title="Keys and values one rank sends for a token",
    source=Source("liu2024", "section 3"),
    assumes="Compressed keys and values are expanded before they travel.",
    convention="Mean over all layers.",
    example=Example(
        {
            r_kv: 0,
            a: 64,
            d_nope: 0,
            d_rope: 0,
            d_v: 0,
            t: 8,
            a_kv_r: 1,
            d_h: 128,
            d_v_h: 128,
            L: 80,
            **unbound(80, *SHAPED[1:]),
        },
        "256",
        derived="2 * 1 * 128",
    ),
)

repeated_elements = Formula(
    W_all,
    (when(IS_LATENT, L_att * h * (r_q + r_kv + d_rope)) + L_ix * P_ix + L_c * h * (r_q + d_h) + L_hc * HEAVY[0]) / L,
    title="Matrix elements of attention that every rank holds whole",
    source=LATENT,
    assumes="Tensor-parallel ranks split matrices by heads; compressed vectors have none, and indexers are copied.",
    convention="Mean over all layers.",
    example=Example(
        {r_kv: 512, h: 7168, r_q: 1536, d_rope: 64, L: 61, L_att: 61, L_ix: 0, P_ix: 0, L_c: 0, L_hc: 0, d_h: 192},
        "15138816",
        derived="7168 * (1536 + 512 + 64)",
    ),
)

expanding_elements = Formula(
    W_up,
    when(
        IS_LATENT,
        L_att * a * (when(r_q > 0, r_q, h) * (d_nope + d_rope) + r_kv * (d_nope + d_v)) / L,
    ),
    title="Matrix elements of up-projections",
    source=LATENT,
    convention="Mean over all layers.",
    example=Example(
        {r_kv: 512, r_q: 1536, h: 7168, a: 128, d_nope: 128, d_rope: 64, d_v: 128, L: 61, L_att: 61},
        "54525952",
        derived="128 * (1536 * (128 + 64) + 512 * (128 + 128))",
    ),
)

_query_widths = when(r_q > 0, h + r_q + r_q + a * (d_nope + d_rope), h + a * (d_nope + d_rope))
_latent_widths = _query_widths + h + r_kv + d_rope + r_kv + a * (d_nope + d_v) + a * d_v + h


_compressed_widths = 2 * (h + r_q + a * d_h + g_o * r_o) + d_h


def _heads_widths(heads: Heads) -> Any:
    return 2 * h + (heads.queries + heads.own * heads.kv) * (heads.keys + heads.values) + heads.gate


product_widths = Formula(
    y_mix,
    (attention(_latent_widths, _heads_widths, _compressed_widths) + L_st * (2 * h + STATE_WIDTH + H_st * D_st)) / L,
    title="Widths that the products of attention read and write",
    source=MEGATRON,
    assumes="Products with one input read it once.",
    convention="Mean over all layers; all ranks.",
    example=Example(
        {g_o: 0, r_o: 0, **UNSHARED, r_q: 0, r_kv: 0, d_nope: 0, d_rope: 0, d_v: 0, h: 4096, a: 32, a_kv: 8, d_h: 128,
         n_G: 0, d_v_h: 128, L: 32,
         **unbound(32, *SHAPED), **STATELESS},
        "18432",
        derived="2 * 4096 + 2 * (32 + 8) * 128",
    ),
)  # fmt: skip

_compressed, _plain, _rest = (summed(matrices, edges) for matrices in latent_matrices(t))
#: Rows and columns of attention in one layer.
_attention_edges = (
    attention(
        when(r_q > 0, _compressed, _plain) + _rest,
        lambda heads: summed(heads_matrices(t, heads), edges),
        summed(compressed_matrices(t), edges),
    )
    / L
)

attention_edges = Formula(
    R_attn,
    _attention_edges + L_st * (2 * h + (STATE_WIDTH + H_st * D_st) / t) / L,
    title="Rows and columns of the matrices of mixers",
    source=FACTORS,
    assumes="Query, key, value and output matrices, each for itself; of a recurrent mixer the one in and the one out.",
    convention="One layer on one rank, mean over all layers.",
    accuracy=COUNTED,
    example=Example(
        {g_o: 0, r_o: 0, **UNSHARED, h: 4096, a: 32, a_kv_r: 8, d_h: 128, t: 1, r_q: 0, r_kv: 0, d_nope: 0, d_rope: 0,
         d_v: 0, n_G: 0, d_v_h: 128,
         L: 32, n_vals: 1, **unbound(32, *SHAPED), **STATELESS},
        "26624",
        derived="2 * (4096 + 4096) + 2 * (1024 + 4096)",
    ),
)  # fmt: skip

attention_vectors = Formula(
    U_attn,
    (
        attention(r_q + r_kv, lambda heads: heads_vectors(t, heads), compressed_vectors(t))
        + L_st * (C_st * K_st + b_st) / t
        + L_ix * INDEXER[1]
        + L_hc * HEAVY[1]
    )
    / L,
    title="Norms and biases of mixers",
    source=FACTORS,
    convention="One layer on one rank, mean over all layers.",
    accuracy=COUNTED,
    example=Example(
        {L_hc: 0, m_hc: 0, m_ix: 0, **UNSHARED, h: 1024, a: 16, a_kv_r: 8, d_h: 128, t: 1, r_q: 0, r_kv: 0,
         qkv_bias: 0, o_bias: 0, qk_norm: 1, norm_bias: 0,
         sinks: 0, d_v_h: 128, L: 28, **unbound(28, *SHAPED), L_st: 0, L_ix: 0, d_ix: 0, C_st: 0, K_st: 0, b_st: 0},
        "256",
        derived="2 * 128",
    ),
)  # fmt: skip

_share, _sharing = L_att / L, (L_kv + L_kv_w) / L
_products = Max(0, _share * (4 + when(And(r_kv + L_c > 0, r_q > 0), 1)) - 2 * _sharing)

adapted_attention_products = Formula(
    K_attn,
    by_label(
        lora_targets,
        {
            "query_value": Max(0, 2 * _share - _sharing),
            "attention": _products,
            "all_linear": _products + 2 * L_st / L,
        },
    ),
    title="Products of mixers that have adapters",
    source=LORA,
    assumes="Query, key, value and output; queries and output of layers that share keys. Of latent "
    "attention those into and out of the compressed vectors; of "
    "recurrent mixers those in and out, where all products have adapters.",
    convention="Mean over all layers.",
    example=Example(
        {L_c: 0, **UNSHARED, lora_targets: "attention", r_kv: 0, r_q: 0, L: 32, L_att: 32, L_st: 0}, "4", LORA
    ),
)

_values_and_queries = mean(
    lambda heads: (
        heads.queries / t * heads.keys + own_kv(t, heads) * heads.values + heads.gate / t + (1 + heads.own) * h
    )
)

adapted_attention_edges = Formula(
    R_ad,
    by_label(
        lora_targets,
        {"query_value": _values_and_queries, "attention": _attention_edges, "all_linear": R_attn},
    ),
    title="Rows and columns of the products of mixers that have adapters",
    source=LORA,
    convention="One layer on one rank, mean over all layers.",
    example=Example(
        {g_o: 0, r_o: 0, **UNSHARED, lora_targets: "query_value", a: 96, a_kv_r: 96, d_h: 128, t: 1, h: 12288,
         R_attn: 98304, n_G: 0, d_v_h: 128,
         L: 96, n_vals: 1, r_q: 0, r_kv: 0, d_nope: 0, d_rope: 0, d_v: 0, **unbound(96, *SHAPED)},
        "49152",
        derived="(96 + 96) * 128 + 2 * 12288",
    ),
)  # fmt: skip


def _pair(heads: Heads) -> Any:
    return 2 * heads.queries * (heads.keys + heads.values)


#: Of attention to compressed entries, whose keys are values.
_PAIR = 4 * a * d_h

attention_work = Formula(
    attention_flops,
    attention(2 * a * (d_nope + d_rope + d_v), _pair, _PAIR) * flop / token**2,
    title="Arithmetic of attention, per pair of tokens",
    source=Source("kaplan2020", "table 1"),
    assumes="Scores and weighted values, two FLOPs per product.",
    example=Example(
        {a: 32, d_h: 128, r_kv: 0, d_nope: 0, d_rope: 0, d_v: 0, d_v_h: 128, **unbound(32, a_s, d_s, d_v_s)},
        "524288 FLOP/token^2",
        derived="32 * 32 * (2 * 128 + 2 * 128)",
    ),
)

near_attention_work = Formula(
    w_win,
    (L_w * when(IS_LATENT, 2 * a * (d_nope + d_rope + d_v), _pair(NEAR)) + L_c * _PAIR) * flop / token**2,
    title="Arithmetic of attention with a window, per pair of tokens",
    source=Source("kaplan2020", "table 1"),
    example=Example(
        {L_w: 16, a: 32, a_s: 32, d_s: 128, d_v_s: 128, r_kv: 0, d_nope: 0, d_rope: 0, d_v: 0, L_c: 0, d_h: 128},
        "262144 FLOP/token^2",
        derived="16 * 32 * (2 * 128 + 2 * 128)",
    ),
)

indexer_work = Formula(
    w_ix,
    2 * L_ix * a_ix * d_ix * flop / token**2,
    title="Arithmetic of indexers, per pair of tokens",
    source=Source("deepseek2025v32", "section 2"),
    assumes="Every head of an indexer scores every token before.",
    example=Example({L_ix: 61, a_ix: 64, d_ix: 128}, "999424 FLOP/token^2", derived="2 * 61 * 64 * 128"),
)

near_decode_work = Formula(
    w_near,
    (L_w * when(IS_LATENT, 2 * a * (2 * r_kv + d_rope), _pair(NEAR)) + L_c * _PAIR) * flop / token**2,
    title="Arithmetic of attention with a window in decoding, per pair of tokens",
    source=Source("deepseek2024v2", "section 2.1"),
    example=Example(
        {L_w: 16, a: 32, a_s: 32, d_s: 128, d_v_s: 128, r_kv: 0, d_rope: 0, L_c: 0, d_h: 128},
        "262144 FLOP/token^2",
        derived="16 * 32 * (2 * 128 + 2 * 128)",
    ),
)

decode_attention_work = Formula(
    w_dec,
    when(IS_LATENT, 2 * L_att * a * (2 * r_kv + d_rope) * flop / token**2, attention_flops) + w_ix,
    title="Arithmetic of attention in decoding, per pair of tokens",
    source=Source("deepseek2024v2", "section 2.1"),
    assumes="As in a prefill, but that latent attention scores and sums the compressed vectors themselves (absorbed), "
    "which is more arithmetic on less memory; and that of indexers.",
    example=Example(
        {a: 128, r_kv: 512, d_rope: 64, attention_flops: 4997120, L_att: 61, w_ix: 0},
        "16.990 MFLOP/token^2",
        derived="2 * 61 * 128 * (2 * 512 + 64) / 1e6",
    ),
)

cross_work = Formula(
    w_x,
    2 * L_x * a * (d_h + d_v_h) * flop / token**2,
    title="Arithmetic of cross-attention, per pair of tokens",
    source=VASWANI,
    example=Example({L_x: 6, a: 8, d_h: 64, d_v_h: 64}, "12288 FLOP/token^2", derived="6 * 4 * 8 * 64"),
)

#: Numbers of a chunk that products of matrices make per token and head: of pairs, and of the state.
_in_chunk = Q_st * (when(delta > 0, 3, 1) * N_st + when(delta > 0, 2, 1) * D_st) / token
_states = when(delta > 0, 3, 2) * N_st * D_st

scan_work = Formula(
    w_scan,
    L_st
    * (
        2 * flop * C_st * K_st / token
        + when(Q_st > 0, 2 * flop * H_st * (_in_chunk + _states) / token, gamma_st * H_st * N_st * D_st)
    ),
    title="Arithmetic of recurrent mixers beside their products, per token",
    source=Source("dao2024", "section 6"),
    assumes="A sequence is scanned in chunks, whose tokens see each other by products of matrices; where there are "
    "none, each element of the state takes a few operations a token. The delta rule also solves a triangular system "
    "a chunk (Yang 2024).",
    example=Example(
        {L_st: 36, C_st: 8192, K_st: 4, H_st: 32, N_st: 128, D_st: 128, Q_st: 64, delta: 1, gamma_st: 8},
        "209.98 MFLOP/token",
        derived="36 * (2 * 8192 * 4 + 2 * 32 * (3 * 64 * 128 + 2 * 64 * 128 + 3 * 128 * 128)) / 1e6",
    ),
)

window_reach = Formula(
    s_reach,
    reach(s),
    title="Tokens in reach of a sliding-window layer",
    source=Source("beltagy2020", "section 3.1"),
    example=Example({window: 4096, s: 8192}, "4096 token", derived="min(4096, 8192)"),
)

score_work = Formula(
    w_attn,
    w_pair + w_scan,
    title="Arithmetic of the cores of mixers, per token",
    source=Source("kaplan2020", "table 1"),
    assumes="Of attention and of recurrent mixers, whose scans take longer than it says: their time follows from the "
    "bytes that they move.",
    example=Example({w_pair: 2.147e9, w_scan: 0.210e9}, "2.357 GFLOP/token", derived="2.147 + 0.210"),
)

state_bytes = Formula(
    sigma_st,
    L_st * (2 * byte * C_st * K_st + q_st * H_st * N_st * D_st) / request,
    title="State of one request",
    source=Source("gu2023", "section 3"),
    assumes="A matrix per head, in fp32 as engines keep it, and the last tokens of the convolution at 16 bit.",
    convention="All layers, one replica.",
    accuracy="Equal to the states of transformers models, tensor for tensor (docs/validation.md).",
    example=Example(
        {L_st: 36, C_st: 8192, K_st: 4, q_st: 4, H_st: 32, N_st: 128, D_st: 128},
        "77.857 MB/request",
        derived="36 * (2 * 8192 * 4 + 4 * 32 * 128 * 128) / 1e6",
    ),
)


def _of_token(heads: Heads) -> Any:
    """Numbers per token in keys and values."""
    return heads.kv * (heads.keys + heads.values)


source_cache = Formula(
    kappa_x,
    L_x * a_kv * (d_h + d_v_h) * q_kv / token * s_all,
    title="Keys and values of the sources of one request",
    source=VASWANI,
    assumes="They are kept as long as the request, and no token is added.",
    convention="All layers, one replica.",
    example=Example(
        {L_x: 32, a_kv: 20, d_h: 64, d_v_h: 64, q_kv: 2, s_all: 1500},
        "245.76 MB/request",
        derived="32 * 2 * 20 * 64 * 2 * 1500 / 1e6",
    ),
)


def _cached(ways: Any) -> Any:
    """Numbers per token that all layers cache on one rank; at least one in total."""
    own = attention(r_kv + d_rope, lambda heads: own_kv(ways, heads) * (heads.keys + heads.values), d_h)
    return Max(Integer(1) / ways, own * (1 - bidirectional) + when(m_ix > 0, 0, L_ix * d_ix))


cache_width = Formula(
    y_K,
    _cached(1),
    title="Numbers that all layers keep of a token",
    source=Source("ainslie2023", "section 2"),
    assumes="Keys and values, or one compressed vector and a rotary key; and a key of each indexer. What sees a whole "
    "sequence at once keeps nothing for later tokens.",
    example=Example(
        {
            m_ix: 0,
            bidirectional: 0,
            **UNSHARED,
            a_kv: 40,
            d_h: 128,
            r_kv: 0,
            d_rope: 0,
            d_v_h: 128,
            L_ix: 0,
            d_ix: 0,
            **unbound(40, *SHAPED[1:]),
        },
        "409600",
        derived="40 * 40 * 2 * 128",
    ),
)

near_cache_width = Formula(
    y_K_w,
    when(IS_LATENT, L_w * (r_kv + d_rope), Max(0, L_w - L_kv_w) * _of_token(NEAR)) * (1 - bidirectional) + L_c * d_h,
    title="Numbers that layers with a window keep of a token",
    source=Source("ainslie2023", "section 2"),
    example=Example(
        {bidirectional: 0, L_c: 0, d_h: 1, L_kv_w: 0, L_w: 24, r_kv: 0, d_rope: 0, a_kv_s: 8, d_s: 128, d_v_s: 128},
        "49152",
        derived="24 * 8 * 2 * 128",
    ),
)


def _entries(name: Any, width: Any, title: str, example: dict[Any, int], answer: str) -> Formula:
    """Width of the compressed entries, summed over layers."""
    return Formula(
        name,
        width,
        title=title,
        source=Source("deepseek2026v4", "section 2.3"),
        convention="All layers, one replica.",
        example=Example(example, answer, derived=answer),
    )


_heavily = {L_hc: 31, d_h: 512}
picked_entry_width = _entries(
    y_sp,
    when(m_ix > 0, L_ix * d_h),
    "Numbers of an entry in layers with an indexer",
    {m_ix: 4, L_ix: 30, d_h: 512},
    "15360",
)
read_entry_width = _entries(y_hc, L_hc * d_h, "Numbers of an entry in layers that read all", _heavily, "15872")

kernel_scores = Formula(
    n_sc,
    a * f_mask * s / token**2,
    title="Attention scores per token in one layer",
    source=Source("dao2022", "section 3.1"),
    variant="kernel",
    example=Example({a: 32, f_mask: 0.5, s: 4096}, "65536 1/token", derived="32 * 0.5 * 4096"),
)

kernel_work = Formula(
    w_pair,
    4 * flop * d_h * n_sc,
    title="Arithmetic of core attention per token in one layer",
    source=Source("dao2022", "section 3.1"),
    variant="kernel",
    example=Example({d_h: 128, n_sc: 65536}, "33554432 FLOP/token", derived="4 * 128 * 65536"),
)

attended_tokens = Formula(
    s_att,
    when(And(s_doc > 0, FLASH), s_doc, s),
    title="Tokens that attention is computed over",
    source=Source("krell2021"),
    assumes="Of a packed sequence a kernel skips what lies between documents, all but those that compute every score. "
    "A document is the mean over tokens, whose pairs are those of all documents: lengths squared over lengths.",
    example=Example({attention_kernel: "flash", s_doc: 512, s: 4096}, "512 token", derived="512"),
)


def _in_reach(tokens: Any, of: Any) -> Any:
    """Tokens within reach, averaged over a sequence, whose first tokens see fewer."""
    return tokens * (1 - (1 - f_mask) * Min(1, tokens / of))


def _picked(of: Any) -> Any:
    """Tokens or entries that an indexer picks, averaged over a sequence of this final length."""
    return Min(k_ix, of) * (1 - (1 - f_mask) * Min(1, k_ix / of))


def _over_pairs(of: Any, near: Any) -> Any:
    """Work per token over all pairs of tokens, and over those within a window."""
    others = Max(0, attention_flops - w_win)
    full = floor(of / near)
    # Pairs of tokens in the same chunk: full ones, and the rest.
    chunks = full * near**2 + (of - full * near) ** 2
    return (
        others * when(PICKS_TOKENS, _picked(of), f_mask * of)
        + L_mtp * others / Max(1, L_all) * f_mask * of
        + w_win * when(chunked > 0, f_mask * chunks / of, _in_reach(near, of))
        + w_ix * f_mask * of / Max(1, m_ix)
        + ENTRY_WORK * (y_sp * _picked(of / Max(1, m_ix)) + y_hc * f_mask * of / Max(1, m_hc))
    )


pair_work, document_pair_work = (
    Formula(
        w_pair,
        _over_pairs(of, near),
        title="Arithmetic of attention over pairs of tokens, per token",
        source=Source("kaplan2020", "table 1"),
        variant=variant,
        assumes="A window of w leaves s w - w^2/2 pairs of a causal sequence of s tokens: its first tokens see fewer; "
        "so do the tokens that an indexer picks, which itself scores all. Chunks are whole squares or triangles, the "
        "last one smaller. Layers for predicting further tokens reach back to the first one. Of compressed entries "
        "there is one for so many tokens before; those of a window that is not full are left out.",
        example=Example(
            {chunked: 0, f_mask: 0.5, attention_flops: 524288, w_win: 262144, of: 8192, L_mtp: 0, s_reach: 1024,
             k_ix: 0, w_ix: 0, L_all: 16, a: 32, **UNCOMPRESSED},
            "1.3254 GFLOP/token",
            derived="524288 / 32 * (16 * 8192 / 2 + 16 * (8192 * 1024 - 1024**2 / 2) / 8192) / 1e9",
        ),
    )
    for of, near, variant in ((s, s_reach, "sequence"), (s_att, Min(s_reach, s_att), "documents"))
)  # fmt: skip
entry_key_width = _entries(
    y_ek, when(m_ix > 0, L_ix * d_ix), "Numbers of the keys of an entry", {m_ix: 4, L_ix: 30, d_ix: 128}, "3840"
)

read_width = Formula(
    y_R,
    y_K + L_kv * _of_token(ALL) + L_kv_w * _of_token(NEAR) + y_ek,
    title="Numbers of a token that all layers read",
    source=Source("brandon2024", "section 2.2"),
    assumes="What they keep, what layers read that share the keys and values of others, and keys of entries.",
    example=Example(
        {y_ek: 0, y_K: 20480, L_kv: 3, L_kv_w: 12, a_kv: 2, d_h: 256, d_v_h: 256, a_kv_s: 2, d_s: 256, d_v_s: 256},
        "35840",
        derived="20480 + 15 * 2 * 2 * 256",
    ),
)

near_read_width = Formula(
    y_R_w,
    y_K_w + L_kv_w * _of_token(NEAR),
    title="Numbers of a token that layers with a window read",
    source=Source("brandon2024", "section 2.2"),
    example=Example(
        {y_K_w: 16384, L_kv_w: 12, a_kv_s: 2, d_s: 256, d_v_s: 256}, "28672", derived="16384 + 12 * 2 * 2 * 256"
    ),
)

kv_bytes_by_width = Formula(
    kv_token,
    when(IS_LATENT, L * (r_kv + d_rope) * q / token, 2 * L * a_kv * (h / a) * q / token),
    title="KV cache of one token",
    source=Source("kwon2023", "section 3"),
    variant="first_order",
    assumes="Keys and values have width h / a per head; multi-head latent attention keeps one compressed "
    "vector and one rotary key instead (DeepSeek-V2).",
    convention="All layers, one replica; kB = 1000 bytes.",
    example=Example(
        {L: 40, a_kv: 40, h: 5120, a: 40, q: 2, r_kv: 0, d_rope: 0},
        "800 KiB/token",
        Source("kwon2023", "section 3: OPT-13B, printed as 800 KB"),
    ),
)

kv_bytes_per_token = Formula(
    kv_token,
    y_K * q_kv / token,
    title="KV cache of one token, by the width of a head",
    source=Source("ainslie2023", "section 2"),
    variant="prefill_aware",
    assumes="A head is as wide as the model says, which need not be h / a (Qwen3: 128, twice h / a).",
    convention="All layers, one replica; kB = 1000 bytes.",
    accuracy="Equal to the cache of transformers models, tensor for tensor (docs/validation.md).",
    example=Example(
        {y_K: 409600, q_kv: 2}, "800 KiB/token", Source("kwon2023", "section 3: OPT-13B, printed as 800 KB")
    ),
)

cache_per_rank = Formula(
    kv_rank,
    kv_token
    * _cached(t)
    / y_K,
    title="KV cache of one token on one tensor-parallel rank",
    source=MEGATRON,
    assumes="Heads are split; where there are more ranks than heads, heads are copied. A compressed cache and the keys "
    "of indexers are copied on every rank.",
    example=Example(
        {m_ix: 0, **UNSHARED, kv_token: 320, y_K: 163840, a_kv_r: 1, r_kv: 0, d_rope: 0, d_h: 128, d_v_h: 128, t: 8,
         L_ix: 0, d_ix: 0, bidirectional: 0,
         **unbound(80, *SHAPED[1:])},
        "40 kB/token",
        derived="320 * 80 * 2 * 128 / (80 * 8 * 2 * 128)",
    ),
)  # fmt: skip

#: The output of attention is kept twice where the product that reads it is narrower, once where it is kept narrow.
_output = when(q_o < q_a, q_o, q_a + when(q_in < q_a, q_in))


def _grouped(heads: Heads) -> Any:
    """Elements of queries, keys, values and output of grouped-query attention, with head norms and gate."""
    queries, kv = heads.queries / t, own_kv(t, heads)
    norms = (queries + kv) * qk_norm * ((q_a + q_copy) * heads.keys + 4 * byte)
    # A gate keeps its own output, and the product with it besides that of the core.
    gate = when(n_G > 0, q_a * (heads.gate + heads.queries * heads.values) / t)
    own = q_a * (queries * heads.keys + kv * (heads.keys + heads.values)) + _output * queries * heads.values + gate
    return own / token + norms / token


_compressed = when(r_q > 0, normalised(r_q)) + normalised(r_kv)
_rotated = q_a * d_rope / token
_latents = when(ENGINE, (_compressed + _rotated) / sigma + _rotated, _compressed + when(EAGER, 0, _rotated))
#: Queries and keys as they are assembled, and what the keys and values come from, which Transformer Engine reads apart.
_expansion = a / t * q_a * (2 * (d_nope + d_rope) + when(ENGINE, 0, d_nope) + d_v) / token
_latent = x_lat + a / t * _output * d_v / token

#: Of attention to compressed entries; of an indexer that picks them, with what makes entries and their keys.
_shared_vector = (
    normalised(r_q) + normalised(d_h) + a / t * (q_a + _output) * d_h / token + _output * g_o * r_o / t / token
)
_indexed = when(m_ix > 0, q_a * (4 * (d_h + d_ix) + a_ix * d_ix + a_ix) / token)

_given = STATE_WIDTH - X_st / h + when(Y_st > 0, Y_st, X_st / h)
_state = q_a * (2 * C_st + _given + H_st * D_st + Q_st / token * H_st) / t / token

grouped_activation = Formula(
    x_gr,
    grouped(_grouped),
    title="Kept by grouped-query attention outside its core",
    source=AUTOGRAD,
    assumes="Queries, keys, values and the output once each, with norms of heads and a gate; no keys and values that "
    "another layer has.",
    convention="All layers.",
    accuracy=HOOKS,
    example=Example(
        {**UNSHARED, a: 32, t: 1, a_kv_r: 8, d_h: 128, d_v_h: 128, qk_norm: 0, q_a: 2, q_in: 2, q_copy: 0, q_o: 2,
         n_G: 0,
         **{name: number for name, number in unbound(32, *SHAPED).items() if name not in (L_att, L_c)}},
        "655360 byte/token",
        derived="32 * 2 * 128 * (32 + 2 * 8 + 32)",
    ),
)  # fmt: skip

compressed_activation = Formula(
    x_c,
    L_c * _shared_vector + L_ix * _indexed + L_hc * 2 * q_a * d_h / token,
    title="Kept by attention to compressed entries outside its core",
    source=AUTOGRAD,
    assumes="Compressed queries and the vector that is key and value with their norms, queries, the output before and "
    "behind the groups; what compressors and indexers give: derived, not held against hooks.",
    convention="All layers.",
    example=Example(
        {L_c: 61, L_hc: 31, L_ix: 30, m_ix: 4, d_ix: 128, a_ix: 64, a: 128, t: 1, d_h: 512, g_o: 16, r_o: 1024,
         r_q: 1536,
         q_a: 2, q_in: 2, q_copy: 0, q_o: 2},
        "19202280 byte/token",
        derived="61 * (4 * 1536 + 4 * 512 + 8 + 4 * 128 * 512 + 2 * 16 * 1024)"
        " + 30 * 2 * (4 * (512 + 128) + 64 * 128 + 64) + 31 * 4 * 512",
    ),
)  # fmt: skip

latent_activation = Formula(
    x_lat,
    when(IS_LATENT, _latents + _expansion),
    title="Kept by latent attention as its vectors and what it assembles from them",
    source=AUTOGRAD,
    assumes="Compressed vectors with their norms, the rotary key, queries, keys, and what keys and values come from.",
    convention="One layer.",
    example=Example(
        {attention_kernel: "flash", sigma: 1, a: 128, t: 1, q_a: 2, q_in: 2, q_copy: 0, r_q: 1536, r_kv: 512,
         d_nope: 128, d_rope: 64, d_v: 128, elementwise_kernels: "fused"},
        "172168 byte/token",
        derived="2 * 2 * 1536 + 4 + 2 * 2 * 512 + 4 + 2 * 64 + 2 * 128 * (2 * (128 + 64) + 128 + 128)",
    ),
)  # fmt: skip

attention_activation = Formula(
    x_attn,
    (when(IS_LATENT, L_att * _latent, x_gr) + x_c + L_st * _state) / L,
    title="Kept by mixers outside the core of attention",
    source=AUTOGRAD,
    variant="per_operator",
    assumes="Queries, keys and values once each and the output; rotary embeddings keep tables only. Latent attention "
    "also keeps the compressed vectors with their norms and the keys it assembles. A recurrent mixer keeps what its "
    "convolution reads and writes, what its matrices give, its gate and output, and a matrix of each chunk: derived, "
    "not held against hooks.",
    convention="Mean over all layers.",
    accuracy=HOOKS,
    example=Example(
        {x_lat: 172168, Y_st: 0, a: 128, t: 1, q_a: 2, q_in: 2, r_kv: 512, d_v: 128, q_o: 2, L: 61, L_att: 61,
         C_st: 0, Q_st: 0, h: 7168, x_gr: 0, x_c: 0, **STATELESS},
        "204936 byte/token",
        derived="172168 + 2 * 128 * 128",
    ),
)  # fmt: skip

score_activation = Formula(
    x_sc,
    when(ENGINE, (q_a + when(mask > 0, q_a + mask)) / c_cp, q_a + 4 * byte + mask) * (s / token) / token,
    title="Kept of a row of scores of one head",
    source=Source("korthikanti2023", "section 4.1"),
    assumes="Eager attention keeps the softmax in fp32, its cast, and a dropout mask; unfused in Transformer Engine, "
    "the softmax at 16 bit, and with dropout its output and mask.",
    example=Example(
        {attention_kernel: "eager", q_a: 2, mask: 0, s: 2048, c_cp: 1}, "12288 byte/token", derived="(2 + 4) * 2048"
    ),
)


def _flash(values: Any) -> Any:
    """Bytes saved per head by flash attention for values of this width: a statistic, and a second output."""
    return (4 * byte + q_2 * values) / token


def _core(heads: Heads) -> Any:
    expanded = q_a * Max(0, heads.queries / t - kv_on(t, heads)) * (heads.keys + heads.values) / token
    return when(FLASH, _flash(heads.values) * heads.queries / t, expanded + x_sc * heads.queries / t)


def _of_queries(values: Any) -> Any:
    return when(FLASH, _flash(values), x_sc) * a / t


second_output_bytes = Formula(
    q_2,
    when(_TWICE, q_a),
    title="Bytes of the output of attention in a second layout",
    source=Source("dao2022", "section 3.1"),
    assumes="Flash attention of Transformer Engine keeps it so with more than one sequence.",
    example=Example({attention_kernel: "flash_te", m: 2, q_a: 2}, "2 byte", derived="2"),
)


def _core_of(name: Any, heads: Heads, words: str, example: dict[Any, Any]) -> Formula:
    """Bytes saved by the core of one grouped-query attention layer."""
    return Formula(
        name,
        _core(heads),
        title=f"Kept by the core of attention {words} a window",
        source=Source("dao2022", "section 3.1"),
        assumes="Eager attention also keeps keys and values repeated for all heads.",
        convention="One layer.",
        example=Example(
            {attention_kernel: "eager", q_2: 0, x_sc: 12288, t: 1, q_a: 2, **example},
            "405504 byte/token",
            derived="2 * 2 * (32 - 8) * 128 + 12288 * 32",
        ),
    )


unbound_core_activation = _core_of(x_ch, ALL, "without", {a: 32, a_kv_r: 8, d_h: 128, d_v_h: 128})
near_core_activation = _core_of(x_cn, NEAR, "with", {a_s: 32, a_kv_s: 8, d_s: 128, d_v_s: 128})

attention_core_activation = Formula(
    x_core,
    (when(IS_LATENT, L_att * _of_queries(d_v), L_all * x_ch + L_w * x_cn) + L_c * _of_queries(d_h)) / L,
    title="Kept by the core of attention",
    source=Source("dao2022", "section 3.1"),
    variant="per_operator",
    assumes="Flash attention keeps one statistic per head; in Transformer Engine, with more than one sequence, its "
    "output once more. Unfused, that keeps the softmax at 16 bit, and with dropout its output and mask. Eager "
    "attention keeps the softmax in fp32, its cast, a dropout mask, and keys and values repeated for all heads.",
    accuracy=HOOKS,
    example=Example(
        {attention_kernel: "eager", q_2: 0, x_sc: 12288, d_v: 0, a: 32, t: 1, r_kv: 0, d_h: 128, L: 32, L_c: 0,
         L_att: 32, L_all: 32, L_w: 0, x_ch: 405504, x_cn: 0},
        "405504 byte/token",
        derived="405504",
    ),
)  # fmt: skip

up_projection_activation = Formula(
    x_up,
    when(IS_LATENT, L_att * (x_lat - q_a * (r_q + r_kv + d_rope) / token) / L),
    title="Not kept by latent attention whose up-projections are recomputed",
    source=Source("deepseek2024", "section 3.2.3"),
    assumes="The compressed vectors before their norms stay.",
    convention="Mean over all layers.",
    example=Example(
        {x_lat: 170184, L: 61, L_att: 61, r_kv: 512, r_q: 1536, q_a: 2, d_rope: 64},
        "165960 byte/token",
        derived="170184 - 2 * (1536 + 512 + 64)",
    ),
)  # fmt: skip

#: Shapes that follow from others.
SHAPES = (
    attention_layers,
    unbounded_attention_layers,
    value_width,
    near_heads,
    near_kv_heads,
    near_key_width,
    near_value_width,
)
#: What mixers store.
WHOLE = (
    *SHAPES,
    state_parameters,
    indexer_parameters,
    compressed_attention_parameters,
    source_projections,
    mixer_parameters,
    attention_parameters,
)
STORED = (norms_per_layer, *WHOLE)
#: What one rank holds of it, with adapters.
SHARDED = (
    state_parameters_per_rank,
    compressed_attention_parameters_per_rank,
    kv_heads_per_rank,
    mixer_parameters_per_rank,
    attention_parameters_per_rank,
    heads_per_rank,
    query_width,
    query_value_width,
    core_width,
)
ADAPTED = (attention_edges, attention_vectors, adapted_attention_products, adapted_attention_edges)
#: What they keep for the backward pass.
SAVED = (
    grouped_activation,
    compressed_activation,
    latent_activation,
    attention_activation,
    score_activation,
    second_output_bytes,
    unbound_core_activation,
    near_core_activation,
    attention_core_activation,
    up_projection_activation,
)
#: What they compute.
COMPUTED = (
    attention_work,
    near_attention_work,
    indexer_work,
    scan_work,
    window_reach,
    score_work,
    picked_entry_width,
    read_entry_width,
    pair_work,
)
#: What one layer of grouped-query attention computes, without a window.
ALONE = (kernel_scores, kernel_work)
#: What they compute in decoding.
DECODED = (near_decode_work, decode_attention_work)
#: What layers that attend to a source compute, and keep of it.
CROSSED = (cross_work, source_cache)
#: What a training step needs beside that, and where documents are packed into a sequence.
TRAINED = (key_value_width, repeated_elements, expanding_elements, product_widths, *COMPUTED)
PACKED = (*(each for each in TRAINED if each is not pair_work), attended_tokens, document_pair_work)
#: What a request keeps.
CACHED = (
    state_bytes,
    cache_width,
    near_cache_width,
    entry_key_width,
    read_width,
    near_read_width,
    kv_bytes_per_token,
)

FORMULAS = (
    *STORED,
    mixer_matrices,
    *SHARDED,
    key_value_width,
    repeated_elements,
    expanding_elements,
    product_widths,
    *ADAPTED,
    *COMPUTED,
    *ALONE,
    attended_tokens,
    document_pair_work,
    *DECODED,
    *CROSSED,
    kv_bytes_by_width,
    *CACHED,
    cache_per_rank,
    *SAVED,
)
