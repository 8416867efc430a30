"""The mixers of a layer

A mixer is the part of a layer in which tokens see each other: grouped-query attention, or multi-head latent attention
where the cache has a rank. Its matrices and vectors, whole and on one rank, with the adapters they may have; its work
per token and pair of tokens; what it keeps in the cache and for the backward pass. Other pages read these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sympy import And, Eq, ceiling, floor

from mlsysim.symbolic import Example, Formula, Max, Min, Source, by_label, byte, flop, label, token, when
from mlsysim.symbols.activations import (
    attention_kernel,
    elementwise_kernels,
    mask,
    q_copy,
    x_attn,
    x_core,
)
from mlsysim.symbols.batching import attention_flops
from mlsysim.symbols.formats import q_a, q_in, q_kv, q_o
from mlsysim.symbols.groups import h_kv
from mlsysim.symbols.iteration import kv_rank, w_dec
from mlsysim.symbols.mixers import (
    L_w,
    W_all,
    W_up,
    a,
    a_kv,
    a_r,
    chunked,
    d_h,
    d_nope,
    d_rope,
    d_v,
    d_v_h,
    n_B,
    n_G,
    n_N,
    o_bias,
    qk_norm,
    qkv_bias,
    r_kv,
    r_q,
    sandwich,
    sinks,
    window,
    x_up,
    y_core,
    y_mix,
    y_q,
    y_v,
)
from mlsysim.symbols.parameters import P_attn
from mlsysim.symbols.serving import kv_token
from mlsysim.symbols.step import f_mask, s_reach, w_attn
from mlsysim.symbols.trained import K_attn, R_ad, R_attn, U_attn, lora_targets
from mlsysim.symbols.training import P_attn_r, a_kv_r, t
from mlsysim.symbols.workload import L, L_mtp, h, norm_bias, q, s

#: How many, rows and columns of each kind of matrix.
Matrices = tuple[tuple[Any, Any, Any], ...]

MEGATRON = Source("shoeybi2019", "section 3")
LATENT = Source("deepseek2024v2", "section 2.1")
FACTORS = Source("shazeer2018", "section 3")
AUTOGRAD = Source("korthikanti2023", "section 4.1")
LORA = Source("hu2022", "section 4.1")
SHAPE = "Every stored tensor once; buffers such as rotary tables are not parameters."
COUNTED = "Equal, tensor for tensor, to PyTorch and transformers models split the same way (docs/validation.md)."
HOOKS = "Within 0.2% of the saved tensors of PyTorch layers: plain, dropout, Llama, Qwen3, Mixtral, DeepSeek-V3."

#: Where keys and values are kept as one compressed vector.
IS_LATENT = r_kv > 0
EAGER = Eq(elementwise_kernels, label(elementwise_kernels, "eager"))
FLASH = Eq(attention_kernel, label(attention_kernel, "flash"))

#: An example without such attention.
NOT_LATENT = {r_kv: 0}
#: One whose layers with a window read all that they keep.
NOT_CHUNKED = {chunked: 0}


def summed(matrices: Matrices, number: Callable[[Any, Any], Any]) -> Any:
    """Sum a function of rows and columns over so many matrices."""
    return sum(times * number(rows, columns) for times, rows, columns in matrices)


def elements(rows: Any, columns: Any) -> Any:
    """Parameters of a matrix."""
    return rows * columns


def edges(rows: Any, columns: Any) -> Any:
    """Rows and columns of a matrix, added up."""
    return rows + columns


def heads_matrices(ways: Any, kv_heads: Any) -> Matrices:
    """Number, rows and columns of query (with a gate), output, key and value projections on one of so many ranks."""
    return ((1, (a * d_h + n_G) / ways, h), (1, a / ways * d_v_h, h), (1, kv_heads * d_h, h), (1, kv_heads * d_v_h, h))


def latent_matrices(ways: Any) -> tuple[Matrices, Matrices, Matrices]:
    """The same of multi-head latent attention: a compressed query, one that is not, and everything else."""
    query = a / ways * (d_nope + d_rope)
    rest = ((1, h, r_kv + d_rope), (1, r_kv, a / ways * (d_nope + d_v)), (1, a / ways * d_v, h))
    return ((1, r_q, h), (1, r_q, query)), ((1, h, query),), rest


def heads_vectors(ways: Any, kv_heads: Any) -> Any:
    """Biases, norms of heads and sinks of grouped-query attention on one of so many ranks."""
    biases = qkv_bias * ((a / ways + kv_heads) * d_h + kv_heads * d_v_h) + o_bias * h
    return biases + qk_norm * 2 * (1 + norm_bias) * d_h + sinks * a / ways


def grouped_query_attention(ways: Any, kv_heads: Any) -> Any:
    """Query, key, value and output projections on one of so many tensor-parallel ranks."""
    return summed(heads_matrices(ways, kv_heads), elements) + heads_vectors(ways, kv_heads)


def latent_attention(ways: Any) -> Any:
    """Multi-head latent attention on one of so many ranks: what is compressed is held by all."""
    compressed, plain, rest = (summed(matrices, elements) for matrices in latent_matrices(ways))
    return when(r_q > 0, compressed + r_q, plain) + rest + r_kv


def reach(tokens: Any) -> Any:
    """Tokens among so many that a sliding-window layer attends to."""
    return when(window > 0, Min(window, tokens), tokens)


def kept(tokens: Any) -> Any:
    """Tokens among so many that a layer keeps, mean over all layers: what its cache must hold."""
    return ((L - L_w) * tokens + L_w * reach(tokens)) / L


def read(tokens: Any) -> Any:
    """Tokens among so many that the next one attends to, mean over all layers and over its places in a chunk."""
    of_chunk = when(And(chunked > 0, tokens > window), (window + token) / 2, reach(tokens))
    return ((L - L_w) * tokens + L_w * of_chunk) / L


def windowed(layers: int, tokens: int) -> dict[Any, int]:
    """Example in which so many layers reach back so many tokens, and the others to the first one."""
    return {L_w: layers, window: tokens}


def normalised(width: Any) -> Any:
    """Bytes per token that a norm keeps with its output, which a product reads: eager, an fp32 copy; a statistic."""
    return ((q_a + q_in + q_copy) * width + 4 * byte) / token


norms_per_layer = Formula(
    n_N,
    n_B * (1 + sandwich),
    title="Norms of one layer",
    source=Source("korthikanti2023", "section 4.1"),
    assumes="One in front of each of its two blocks, and where the model has them one behind each (Gemma).",
    example=Example({n_B: 2, sandwich: 1}, "4", derived="2 * 2"),
)

value_width = Formula(
    d_v_h,
    when(And(d_v > 0, r_kv <= 0), d_v, d_h),
    title="Width of the values of one head",
    source=Source("ainslie2023", "section 2"),
    assumes="That of the keys unless the model says otherwise (MiMo: 192 and 128).",
    example=Example({d_v: 128, d_h: 192, r_kv: 0}, "128", derived="128"),
)

attention_parameters = Formula(
    P_attn,
    when(IS_LATENT, latent_attention(1), grouped_query_attention(1, a_kv)),
    title="Attention parameters of one layer",
    source=Source("deepseek2024v2", "section 2.1 and appendix C"),
    assumes="Multi-head latent attention where the cache has a rank, with a norm on each compressed vector; "
    "grouped-query attention otherwise.",
    convention=SHAPE,
    example=Example(
        {h: 7168, a: 128, a_kv: 128, d_h: 192, r_q: 1536, r_kv: 512, d_nope: 128, d_rope: 64, d_v: 128, qkv_bias: 0,
         o_bias: 0, qk_norm: 0, sinks: 0, norm_bias: 0, n_G: 0, d_v_h: 192},
        "187107328",
        derived="(7168 + 1) * 1536 + 1536 * 128 * 192 + 7168 * (512 + 64) + 512 + 512 * 128 * 256 + 128 * 128 * 7168",
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

attention_parameters_per_rank = Formula(
    P_attn_r,
    when(IS_LATENT, latent_attention(t), grouped_query_attention(t, a_kv_r)),
    title="Attention parameters of one layer on one rank",
    source=MEGATRON,
    assumes="Query, key and value products are split by heads, the output product by its rows; compressed latents, "
    "norms of heads and the output bias are held by all.",
    accuracy=COUNTED,
    example=Example(
        {h: 16384, a: 128, a_kv_r: 1, d_h: 128, t: 8, r_q: 0, r_kv: 0, d_nope: 0, d_rope: 0, d_v: 0, qkv_bias: 0,
         o_bias: 0, qk_norm: 0, sinks: 0, norm_bias: 0, n_G: 0, d_v_h: 128},
        "71303168",
        derived="2 * (128 / 8) * 128 * 16384 + 2 * 1 * 128 * 16384",
    ),
)  # fmt: skip

heads_per_rank = Formula(
    a_r,
    a / t,
    title="Query heads on one tensor-parallel rank",
    source=MEGATRON,
    example=Example({a: 64, t: 8}, "8", derived="64 / 8"),
)

query_width = Formula(
    y_q,
    Max(a * d_h + n_G, a * d_v_h) / t,
    title="Width of the queries of one rank",
    source=MEGATRON,
    assumes="With their gate; or that of the output of attention, where it is wider.",
    example=Example({a: 64, t: 8, d_h: 128, d_v_h: 128, n_G: 0}, "1024", derived="64 / 8 * 128"),
)

query_value_width = Formula(
    y_v,
    a / t * (d_h + d_v_h) + a_kv_r * d_v_h + n_G / t,
    title="Widths of queries, gate, values and output of one rank",
    source=MEGATRON,
    assumes="The output of attention is as wide as the values of all query heads.",
    example=Example({a: 64, t: 8, a_kv_r: 1, d_h: 128, d_v_h: 128, n_G: 0}, "2176", derived="64 / 8 * 2 * 128 + 128"),
)

core_width = Formula(
    y_core,
    y_v + a_kv_r * d_h,
    title="The same with the keys",
    source=MEGATRON,
    example=Example({y_v: 2176, a_kv_r: 1, d_h: 128}, "2304", derived="2176 + 1 * 128"),
)

key_value_width = Formula(
    h_kv,
    when(IS_LATENT, a * (d_nope + d_rope + d_v) / t, a_kv_r * (d_h + d_v_h)),
    title="Keys and values one rank sends for a token",
    source=Source("liu2024", "section 3"),
    assumes="Compressed keys and values are expanded before they travel.",
    example=Example(
        {r_kv: 0, a: 64, d_nope: 0, d_rope: 0, d_v: 0, t: 8, a_kv_r: 1, d_h: 128, d_v_h: 128},
        "256",
        derived="2 * 1 * 128",
    ),
)

repeated_elements = Formula(
    W_all,
    when(IS_LATENT, h * (r_q + r_kv + d_rope)),
    title="Matrix elements of attention that every rank holds whole",
    source=LATENT,
    assumes="Tensor-parallel ranks split matrices by heads; compressed vectors have none.",
    convention="One layer.",
    example=Example({r_kv: 512, h: 7168, r_q: 1536, d_rope: 64}, "15138816", derived="7168 * (1536 + 512 + 64)"),
)

expanding_elements = Formula(
    W_up,
    when(IS_LATENT, a * (when(r_q > 0, r_q, h) * (d_nope + d_rope) + r_kv * (d_nope + d_v))),
    title="Matrix elements of up-projections",
    source=LATENT,
    convention="One layer.",
    example=Example(
        {r_kv: 512, r_q: 1536, h: 7168, a: 128, d_nope: 128, d_rope: 64, d_v: 128},
        "54525952",
        derived="128 * (1536 * (128 + 64) + 512 * (128 + 128))",
    ),
)

_query_widths = when(r_q > 0, h + r_q + r_q + a * (d_nope + d_rope), h + a * (d_nope + d_rope))
_latent_widths = _query_widths + h + r_kv + d_rope + r_kv + a * (d_nope + d_v) + a * d_v + h
_heads_widths = 2 * h + (a + a_kv) * (d_h + d_v_h) + n_G

product_widths = Formula(
    y_mix,
    when(IS_LATENT, _latent_widths, _heads_widths),
    title="Widths that the products of attention read and write",
    source=MEGATRON,
    assumes="Products with one input read it once.",
    convention="One layer, all ranks.",
    example=Example(
        {r_q: 0, r_kv: 0, d_nope: 0, d_rope: 0, d_v: 0, h: 4096, a: 32, a_kv: 8, d_h: 128, n_G: 0, d_v_h: 128},
        "18432",
        derived="2 * 4096 + 2 * (32 + 8) * 128",
    ),
)

_compressed, _plain, _rest = (summed(matrices, edges) for matrices in latent_matrices(t))

attention_edges = Formula(
    R_attn,
    when(
        r_kv > 0,
        when(r_q > 0, _compressed, _plain) + _rest,
        summed(heads_matrices(t, a_kv_r), edges),
    ),
    title="Rows and columns of the matrices of attention",
    source=FACTORS,
    assumes="Query, key, value and output matrices, each for itself.",
    convention="One layer on one rank.",
    accuracy=COUNTED,
    example=Example(
        {h: 4096, a: 32, a_kv_r: 8, d_h: 128, t: 1, r_q: 0, r_kv: 0, d_nope: 0, d_rope: 0, d_v: 0, n_G: 0, d_v_h: 128},
        "26624",
        derived="2 * (4096 + 4096) + 2 * (1024 + 4096)",
    ),
)

attention_vectors = Formula(
    U_attn,
    when(IS_LATENT, r_q + r_kv, heads_vectors(t, a_kv_r)),
    title="Norms and biases of attention",
    source=FACTORS,
    convention="One layer on one rank.",
    accuracy=COUNTED,
    example=Example(
        {h: 1024, a: 16, a_kv_r: 8, d_h: 128, t: 1, r_q: 0, r_kv: 0, qkv_bias: 0, o_bias: 0, qk_norm: 1, norm_bias: 0,
         sinks: 0, d_v_h: 128},
        "256",
        derived="2 * 128",
    ),
)  # fmt: skip

adapted_attention_products = Formula(
    K_attn,
    by_label(
        lora_targets,
        {
            "query_value": 2,
            "attention": 4 + when(And(r_kv > 0, r_q > 0), 1),
            "all_linear": 4 + when(And(r_kv > 0, r_q > 0), 1),
        },
    ),
    title="Products of attention that have adapters",
    source=LORA,
    assumes="Query, key, value and output. Of latent attention those into and out of the compressed vectors.",
    example=Example({lora_targets: "attention", r_kv: 0, r_q: 0}, "4", LORA),
)

adapted_attention_edges = Formula(
    R_ad,
    by_label(
        lora_targets,
        {"query_value": a / t * d_h + a_kv_r * d_v_h + n_G / t + 2 * h, "attention": R_attn, "all_linear": R_attn},
    ),
    title="Rows and columns of the products of attention that have adapters",
    source=LORA,
    convention="One layer on one rank.",
    example=Example(
        {lora_targets: "query_value", a: 96, a_kv_r: 96, d_h: 128, t: 1, h: 12288, R_attn: 98304, n_G: 0, d_v_h: 128},
        "49152",
        derived="(96 + 96) * 128 + 2 * 12288",
    ),
)

attention_work = Formula(
    attention_flops,
    when(IS_LATENT, 2 * L * a * (d_nope + d_rope + d_v), 2 * L * a * (d_h + d_v_h)) * flop / token**2,
    title="Arithmetic of attention, per pair of tokens",
    source=Source("kaplan2020", "table 1"),
    assumes="Scores and weighted values, two FLOPs per product.",
    example=Example(
        {L: 32, a: 32, d_h: 128, r_kv: 0, d_nope: 0, d_rope: 0, d_v: 0, d_v_h: 128},
        "524288 FLOP/token^2",
        derived="32 * 32 * (2 * 128 + 2 * 128)",
    ),
)

decode_attention_work = Formula(
    w_dec,
    when(IS_LATENT, 2 * L * a * (2 * r_kv + d_rope) * flop / token**2, attention_flops),
    title="Arithmetic of attention in decoding, per pair of tokens",
    source=Source("deepseek2024v2", "section 2.1"),
    assumes="As in a prefill, but that latent attention scores and sums the compressed vectors themselves (absorbed), "
    "which is more arithmetic on less memory.",
    example=Example(
        {L: 61, a: 128, r_kv: 512, d_rope: 64, attention_flops: 4997120},
        "16.990 MFLOP/token^2",
        derived="2 * 61 * 128 * (2 * 512 + 64) / 1e6",
    ),
)

window_reach = Formula(
    s_reach,
    reach(s),
    title="Tokens in reach of a sliding-window layer",
    source=Source("beltagy2020", "section 3.1"),
    example=Example({window: 4096, s: 8192}, "4096 token", derived="min(4096, 8192)"),
)

_full = floor(s / s_reach)
#: Pairs of tokens in the same chunk: full ones, and the rest.
_chunks = _full * s_reach**2 + (s - _full * s_reach) ** 2

score_work = Formula(
    w_attn,
    attention_flops
    / L
    * (
        (L - L_w + L_mtp) * f_mask * s
        + L_w * when(chunked > 0, f_mask * _chunks / s, s_reach * (1 - (1 - f_mask) * s_reach / s))
    ),
    title="Arithmetic of the core of attention, per token",
    source=Source("kaplan2020", "table 1"),
    assumes="A window of w leaves s w - w^2/2 pairs of a causal sequence of s tokens: its first tokens see fewer. "
    "Chunks are whole squares or triangles, the last one smaller. Layers for predicting further tokens reach back to "
    "the first one.",
    example=Example(
        {chunked: 0, f_mask: 0.5, attention_flops: 524288, s: 8192, L: 32, L_w: 16, L_mtp: 0, s_reach: 1024},
        "1.3254 GFLOP/token",
        derived="524288 / 32 * (16 * 8192 / 2 + 16 * (8192 * 1024 - 1024**2 / 2) / 8192) / 1e9",
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
    when(IS_LATENT, L * (r_kv + d_rope) * q_kv / token, L * a_kv * (d_h + d_v_h) * q_kv / token),
    title="KV cache of one token, by the width of a head",
    source=Source("ainslie2023", "section 2"),
    variant="prefill_aware",
    assumes="A head is as wide as the model says, which need not be h / a (Qwen3: 128, twice h / a).",
    convention="All layers, one replica; kB = 1000 bytes.",
    accuracy="Equal to the cache of transformers models, tensor for tensor (docs/validation.md).",
    example=Example(
        {L: 40, a_kv: 40, d_h: 128, q_kv: 2, r_kv: 0, d_rope: 0, d_v_h: 128},
        "800 KiB/token",
        Source("kwon2023", "section 3: OPT-13B, printed as 800 KB"),
    ),
)

cache_per_rank = Formula(
    kv_rank,
    when(IS_LATENT, kv_token, kv_token * a_kv_r / a_kv),
    title="KV cache of one token on one tensor-parallel rank",
    source=MEGATRON,
    assumes="Heads are split; where there are more ranks than heads, heads are copied. A compressed cache is copied on "
    "every rank.",
    example=Example({kv_token: 320, a_kv: 8, a_kv_r: 1, r_kv: 0}, "40 kB/token", derived="320 * 1 / 8"),
)

#: The output of attention is kept twice where the product that reads it is narrower, once where it is kept narrow.
_output = when(q_o < q_a, q_o, q_a + when(q_in < q_a, q_in))
_heads = (a / t + a_kv_r) * qk_norm * ((q_a + q_copy) * d_h + 4 * byte) / token
#: A gate keeps its own output, and the product with it besides that of the core.
_gate = when(n_G > 0, q_a * (n_G + a * d_v_h) / t)
_grouped = (q_a * (a / t * d_h + a_kv_r * (d_h + d_v_h)) + _output * a / t * d_v_h + _gate) / token
_latents = when(r_q > 0, normalised(r_q)) + normalised(r_kv) + when(EAGER, 0, q_a * d_rope / token)
#: Queries and keys as they are assembled, and what the keys and values come from.
_expansion = a / t * q_a * (2 * (d_nope + d_rope) + (d_nope + d_v)) / token
_latent = _latents + _expansion + a / t * _output * d_v / token

attention_activation = Formula(
    x_attn,
    when(IS_LATENT, _latent, _grouped + _heads),
    title="Kept by attention outside its core",
    source=AUTOGRAD,
    variant="per_operator",
    assumes="Queries, keys and values once each and the output; rotary embeddings keep tables only. Latent attention "
    "also keeps the compressed vectors with their norms and the keys it assembles.",
    accuracy=HOOKS,
    example=Example(
        {a: 128, t: 1, a_kv_r: 128, d_h: 192, qk_norm: 0, q_a: 2, q_in: 2, q_copy: 0, r_q: 1536, r_kv: 512, d_nope: 128,
         d_rope: 64, d_v: 128, elementwise_kernels: "fused", q_o: 2, n_G: 0, d_v_h: 192},
        "204936 byte/token",
        derived="2 * 2 * 1536 + 4 + 2 * 2 * 512 + 4 + 2 * 64 + 2 * 128 * (2 * (128 + 64) + 128 + 128 + 128)",
    ),
)  # fmt: skip

_expanded = q_a * Max(0, a / t - a_kv_r) * (d_h + d_v_h) / token
_score_rows = (q_a + 4 * byte + mask) * a / t * (s / token) / token

attention_core_activation = Formula(
    x_core,
    when(FLASH, 4 * byte * a / t / token, when(IS_LATENT, _score_rows, _expanded + _score_rows)),
    title="Kept by the core of attention",
    source=Source("dao2022", "section 3.1"),
    variant="per_operator",
    assumes="Flash attention keeps one statistic per head. Eager attention keeps the softmax in fp32, its cast, a "
    "dropout mask, and keys and values repeated for all heads.",
    accuracy=HOOKS,
    example=Example(
        {attention_kernel: "eager", a: 32, t: 1, a_kv_r: 8, d_h: 128, r_kv: 0, q_a: 2, mask: 0, s: 2048, d_v_h: 128},
        "405504 byte/token",
        derived="2 * 2 * (32 - 8) * 128 + (2 + 4) * 32 * 2048",
    ),
)

up_projection_activation = Formula(
    x_up,
    when(IS_LATENT, _latents + _expansion - q_a * (r_q + r_kv + d_rope) / token),
    title="Not kept by latent attention whose up-projections are recomputed",
    source=Source("deepseek2024", "section 3.2.3"),
    assumes="The compressed vectors before their norms stay.",
    example=Example(
        {r_kv: 512, r_q: 1536, q_a: 2, q_in: 1.03125, q_copy: 0, d_rope: 64, d_nope: 128, d_v: 128, a: 128, t: 1,
         elementwise_kernels: "fused"},
        "165960 byte/token",
        derived="3.03125 * (1536 + 512) + 2 * 4 + 2 * 64 + 128 * 2 * (2 * 192 + 256) - 2 * (1536 + 512 + 64)",
    ),
)  # fmt: skip

#: What attention stores.
STORED = (norms_per_layer, value_width, attention_parameters)
#: What one rank holds of it, with adapters.
SHARDED = (kv_heads_per_rank, attention_parameters_per_rank, heads_per_rank, query_width, query_value_width, core_width)
ADAPTED = (attention_edges, attention_vectors, adapted_attention_products, adapted_attention_edges)
#: What it keeps for the backward pass.
SAVED = (attention_activation, attention_core_activation, up_projection_activation)
#: What it computes.
COMPUTED = (attention_work, window_reach, score_work)
#: What a training step needs beside that.
TRAINED = (key_value_width, repeated_elements, expanding_elements, product_widths, *COMPUTED)

FORMULAS = (
    *STORED,
    *SHARDED,
    key_value_width,
    repeated_elements,
    expanding_elements,
    product_widths,
    *ADAPTED,
    *COMPUTED,
    decode_attention_work,
    kv_bytes_by_width,
    kv_bytes_per_token,
    cache_per_rank,
    *SAVED,
)
