"""The shape of a transformer as inputs: what a catalog entry gives, and what may be left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sympy import And, Eq, Ne, false, true

from mlsysim.formats import WEIGHT_PARTS
from mlsysim.formulas import mixers, parameter_counts, sources, transformer_flops
from mlsysim.formulas.collectives import takes_whole_nodes
from mlsysim.inputs.declaration import Caveat
from mlsysim.inputs.slot import Counted
from mlsysim.symbolic import Max, Mod, Requirement, label, variable_of, when
from mlsysim.symbols.hardware import M_cap, n_fleet, n_node, n_seg
from mlsysim.symbols.iteration import M_drv, d_a
from mlsysim.symbols.lora import N_lo
from mlsysim.symbols.mixers import (
    C_st,
    H_k,
    H_st,
    L_both,
    L_c,
    L_hc,
    L_ix,
    L_kv,
    L_kv_w,
    L_none,
    L_st,
    L_w,
    X_st,
    a,
    a_ix,
    a_kv,
    a_kv_w,
    a_w,
    d_v,
    g_o,
    k_ix,
    m_hc,
    m_ix,
    n_G,
    qk_norm,
    r_kv,
    r_o,
    r_q,
    sinks,
    window,
)
from mlsysim.symbols.serving import n_out
from mlsysim.symbols.sources import L_x, P_src, bidirectional, n_im, s_im, s_src, w_src
from mlsysim.symbols.trained import lora_targets
from mlsysim.symbols.training import p, t
from mlsysim.symbols.workload import E, L, L_moe, L_nb, d_e, d_ff, expert_bias, k, r_moe

#: Inputs that describe a transformer tensor by tensor.
SHAPE = (
    "layers",
    "hidden_dim",
    "heads",
    "kv_heads",
    "head_dim",
    "vocab_size",
    "embedding_dim",
    "ffn_dim",
    "gated",
    "experts",
    "active_experts_per_token",
    "moe_layers",
    "expert_ffn_dim",
    "expert_input_dim",
    "shared_ffn_dim",
    "router_bias",
    "tied_embeddings",
    "lookup_parameters",
    "learned_positions",
    "qkv_bias",
    "attention_output_bias",
    "mlp_bias",
    "norm_bias",
    "norm_scale",
    "qk_norm",
    "q_lora_rank",
    "kv_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "v_head_dim",
    "attention_sinks",
    "gate_width",
    "block_norms",
    "sandwich_norm",
    "expert_bias",
    "mtp_layers",
    "sliding_layers",
    "sliding_heads",
    "sliding_kv_heads",
    "sliding_head_dim",
    "sliding_v_head_dim",
    "value_projections",
    "shared_cache_layers",
    "sliding_shared_layers",
    "mixerless_layers",
    "blockless_layers",
    "state_layers",
    "parallel_layers",
    "state_key_heads",
    "state_key_dim",
    "state_heads",
    "state_value_dim",
    "state_gates",
    "state_scalars",
    "conv_channels",
    "conv_kernel",
    "state_matrices",
    "state_vectors",
    "index_layers",
    "index_heads",
    "index_head_dim",
    "compressed_layers",
    "heavily_compressed_layers",
    "index_compression",
    "heavy_compression",
    "o_lora_rank",
    "o_groups",
    "further_matrices",
    "further_vectors",
    "reused_parameters",
    "cross_layers",
    "source_hidden_dim",
    "source_parameters",
)

#: Those that the products of a pass and the weights of a replica are counted from.
_STORED_ALONE = (
    "learned_positions", "norm_scale", "block_norms", "sandwich_norm", "further_vectors", "reused_parameters"
)  # fmt: skip
PASS_SHAPE = tuple(name for name in SHAPE if name not in _STORED_ALONE)

#: Inputs that say how far attention reaches, and how a recurrent mixer scans.
WINDOW = (
    "sliding_window",
    "chunked_attention",
    "index_topk",
    "state_operations",
    "state_chunk",
    "delta_rule",
    "bidirectional",
)

#: Inputs that say what a request has beside its text, and what it takes to read it.
SOURCES = ("source_tokens", "image_patches", "source_token_flops", "source_pair_flops")

#: Inputs that say what a recurrent mixer keeps for the backward pass.
SAVED = ("state_matrix_width",)

#: Inputs that the state of a request is counted from beside them.
STATE = ("state_element_bytes",)

#: Inputs that say how its checkpoint stores weights, keys and values.
CHECKPOINT = (*WEIGHT_PARTS, "kv_cache_dtype")

#: What every model says of itself, and what the others have of the rest where they say nothing: none of most.
_STATED = ("layers", "hidden_dim", "heads", "kv_heads", "head_dim", "vocab_size", "ffn_dim", "gated")
_USUAL = {
    "norm_scale": True, "block_norms": 2, "value_projections": True, "experts": 1, "active_experts_per_token": 1,
}  # fmt: skip


def _none(names: Iterable[str]) -> dict[str, Any]:
    """Nothing of some inputs: False of a flag, else 0."""
    return {name: False if variable_of(name).domain.is_flag else 0 for name in names}


#: What a model has that says nothing of it.
OPTIONAL_SHAPE = {**_none(name for name in SHAPE if name not in _STATED), **_USUAL}
#: The same of what a pass is counted from.
OPTIONAL_PASS_SHAPE = {name: value for name, value in OPTIONAL_SHAPE.items() if name in PASS_SHAPE}
#: Attention that reaches as far as the sequence, and no recurrent mixer.
NO_WINDOW = _none(WINDOW)
#: Requests of text alone.
NO_SOURCES = _none((*SOURCES, "images"))
#: A mixer that keeps nothing.
SAVED_DEFAULTS = _none(SAVED)
#: States are kept in fp32 unless an engine says otherwise.
STATE_DEFAULTS: dict[str, Any] = {"state_element_bytes": 4}
#: Weights are stored as weight_dtype says.
CHECKPOINT_DEFAULTS: dict[str, Any] = dict.fromkeys(WEIGHT_PARTS, 0.0)


def divides(ranks: Any, whole: Any, words: str = "") -> Requirement:
    """Requirement that ranks of a kind share something evenly; words follow what they must divide."""
    return Requirement(ranks, Eq(Mod(whole, ranks), 0), f"must divide {{{variable_of(whole).name}}}{words}")


#: A driver gives programs no more than it shows.
DRIVEN = Requirement(M_drv, M_drv <= M_cap, "must be at most {memory_capacity}, or 0 for all of it")

#: Key-value heads are copied where there are fewer of them than tensor-parallel ranks.
SHARED_KV_HEADS = Requirement(
    t, Eq(Mod(a_kv, t), 0) | Eq(Mod(t, a_kv), 0), "must divide {kv_heads} or be a multiple of it"
)

#: The same of attention with a window, and of a recurrent mixer.
SHARED_MIXERS = (
    Requirement(t, Eq(Mod(a_w, t), 0), "must divide {sliding_heads}"),
    Requirement(
        t,
        Eq(a_kv_w, 0) | Eq(Mod(a_kv_w, t), 0) | Eq(Mod(t, Max(1, a_kv_w)), 0),
        "must divide {sliding_kv_heads} or be a multiple of it",
    ),
    Requirement(t, Eq(Mod(H_st, t), 0), "must divide {state_heads}"),
    Requirement(t, Eq(Mod(g_o, t), 0), "must divide {o_groups}"),
    Requirement(
        t,
        Eq(H_k, 0) | Eq(Mod(H_k, t), 0) | Eq(Mod(t, Max(1, H_k)), 0),
        "must divide {state_key_heads} or be a multiple of it",
    ),
)

#: Of latent attention the products of queries and values alone are not counted.
LATENT_ADAPTERS = Requirement(
    lora_targets,
    (Eq(r_kv, 0) & Eq(L_c, 0)) | Ne(lora_targets, label(lora_targets, "query_value")),
    "must be attention or all_linear with latent attention",
)

#: Requests are sized by a cache, and a model without attention keeps none.
ATTENDS = Requirement(
    L_st,
    L_st + L_none < L + L_both,
    "must be less than {layers}, less {mixerless_layers}: serving takes models with attention in a layer at least",
)

WINDOW_REQUIREMENTS = (
    Requirement(window, (window > 0) | Eq(L_w, 0), "must be above 0 where {sliding_layers} have one"),
    Requirement(window, (window > 0) | Eq(L_c, 0), "must be above 0 where {compressed_layers} have one"),
    Requirement(k_ix, Eq(k_ix, 0) | (L_ix > 0), "must be 0 where {index_layers}"),
    Requirement(k_ix, (k_ix > 0) | Eq(L_ix, 0), "must be above 0 where {index_layers}"),
)

#: Requests say what an encoder or a tower reads.
SOURCE_REQUIREMENTS = (
    Requirement(
        s_src, (s_src > 0) | Eq(L_x, 0) | (n_im > 0), "must be above 0 where {cross_layers} attend to a source"
    ),
    Requirement(s_src, Eq(s_src, 0) | (L_x > 0) | (w_src > 0), "must be 0 where nothing reads a source"),
    Requirement(n_im, Eq(n_im, 0) | (w_src > 0), "must be 0 for a model without a tower (source_stack of its entry)"),
    Requirement(
        n_im, Eq(n_im, 0) | Eq(s_src, 0), "must be 0 where {source_tokens} are read: an encoder reads no images"
    ),
    Requirement(s_im, Eq(n_im, 0) | (s_im > 0), "must be above 0 where requests have {images}"),
)
#: What an engine does not do with them.
SOURCE_LAYOUT = (
    Requirement(
        p,
        Eq(p, 1) | (Eq(s_src, 0) & Eq(n_im, 0)),
        "must be 1 where an encoder or tower reads {source_tokens}, {images}",
    ),
    Requirement(N_lo, Eq(N_lo, 0) | Eq(L_x, 0), "must be 0: adapters of {cross_layers} are not counted"),
)

#: Training of what has a second stack is not counted.
TEXT_ALONE = (
    Requirement(L_x, Eq(L_x, 0), "must be 0: training with cross-attention is not counted"),
    Requirement(P_src, Eq(P_src, 0), "must be 0: training with an encoder or a tower is not counted"),
)


#: Answers are decoded token by token, or there are none.
DECODES = Requirement(
    bidirectional,
    Eq(bidirectional, 0),
    "must be False here, where tokens are decoded: ServingCapacityModel counts sequences, IterationModel batches",
)
ANSWERS_AT_ONCE = Requirement(
    n_out, Eq(bidirectional, 0) | Eq(n_out, 1), "must be 1 where {bidirectional}: a token sees those behind it"
)
#: Layers of each kind, of which there are no more than layers, and what a kind needs.
KIND_REQUIREMENTS = (
    Requirement(L_nb, L_nb + L_moe <= L, "must leave {layers} the {moe_layers} with experts"),
    Requirement(L_both, L_both <= L_st, "must be at most {state_layers}"),
    Requirement(L_st, L_st + L_none <= L + L_both, "must be at most {layers}, less {mixerless_layers}"),
    Requirement(L_w, L_w + L_c + L_st + L_none <= L + L_both, "must be at most the layers with attention, of {layers}"),
    Requirement(
        L_kv,
        Eq(L_kv, 0) | (L_kv + L_w + L_st + L_none < L + L_both),
        "must leave a layer without a window that keeps keys and values, of {layers}",
    ),
    Requirement(
        L_kv_w,
        Eq(L_kv_w, 0) | (L_kv_w < L_w),
        "must be less than {sliding_layers}: one of them keeps keys and values",
    ),
    Requirement(L_kv, Eq(L_kv, 0) | Eq(r_kv, 0), "must be 0 with latent attention ({kv_lora_rank})"),
    Requirement(L_kv_w, Eq(L_kv_w, 0) | Eq(r_kv, 0), "must be 0 with latent attention ({kv_lora_rank})"),
    Requirement(
        a_kv_w,
        Eq(a_kv_w, 0) | Eq(Mod(when(a_w > 0, a_w, a), Max(1, a_kv_w)), 0),
        "must divide {sliding_heads}, or {heads} where that is 0",
    ),
    Requirement(
        L_st,
        Eq(L_st, 0) | (H_st + X_st + C_st > 0),
        "must be 0 where a recurrent mixer has {state_heads}, {state_matrices}, {conv_channels}",
    ),
    Requirement(H_st, (H_st > 0) | Eq(H_k, 0), "must be above 0 where {state_key_heads}"),
    Requirement(L_ix, Eq(L_ix, 0) | (a_ix > 0), "must be 0 where {index_heads}"),
    Requirement(L_c, Eq(L_c, 0) | Eq(r_kv, 0), "must be 0 with latent attention ({kv_lora_rank})"),
    Requirement(L_c, L_c + L_w + L_st + L_none <= L + L_both, "must be at most the layers with attention, of {layers}"),
    Requirement(L_hc, L_hc <= L_c, "must be at most {compressed_layers}"),
    Requirement(L_ix, Eq(L_c, 0) | (L_ix + L_hc <= L_c), "must leave {compressed_layers} those that read all entries"),
    Requirement(m_ix, Eq(m_ix, 0) | (L_c > 0), "must be 0 where {compressed_layers}"),
    Requirement(m_ix, (m_ix > 0) | Eq(L_c, 0) | Eq(L_ix, 0), "must be above 0 where {index_layers} pick entries"),
    Requirement(m_hc, (m_hc > 0) | Eq(L_hc, 0), "must be above 0 where {heavily_compressed_layers} have entries"),
    Requirement(r_o, (r_o > 0) | Eq(L_c, 0), "must be above 0 where {compressed_layers}"),
    Requirement(g_o, (g_o > 0) | Eq(L_c, 0), "must be above 0 where {compressed_layers}"),
    Requirement(g_o, Eq(Mod(a, Max(1, g_o)), 0), "must divide {heads}"),
    Requirement(L_ix, L_ix <= L, "must be at most {layers}"),
    Requirement(L_x, L_x <= L, "must be at most {layers}"),
    Requirement(L_x, Eq(L_x, 0) | Eq(r_kv, 0), "must be 0 with latent attention ({kv_lora_rank})"),
)

SHAPE_REQUIREMENTS = (
    divides(a_kv, a),
    Requirement(k, k <= E, "must be at most {experts}"),
    Requirement(L_moe, L_moe <= L, "must be at most {layers}"),
    Requirement(L_moe, Eq(L_moe, 0) | (E > 1), "must be 0 where {experts}"),
    Requirement(E, Eq(E, 1) | (L_moe > 0), "must be 1 where {moe_layers}"),
    Requirement(d_e, (d_e > 0) | Eq(L_moe, 0), "must be above 0 where {moe_layers} have experts"),
    Requirement(d_ff, (d_ff > 0) | Eq(L_moe + L_nb, L), "must be above 0 where layers have no experts"),
    Requirement(qk_norm, Eq(qk_norm, 0) | Eq(r_kv, 0), "must be False with latent attention ({kv_lora_rank})"),
    Requirement(sinks, Eq(sinks, 0) | Eq(r_kv, 0), "must be False with latent attention ({kv_lora_rank})"),
    Requirement(d_v, (d_v > 0) | Eq(r_kv, 0), "must be above 0 with latent attention ({kv_lora_rank})"),
    Requirement(n_G, Eq(Mod(n_G, a), 0), "must be a multiple of {heads}"),
    Requirement(n_G, Eq(n_G, 0) | Eq(r_kv, 0), "must be 0 with latent attention ({kv_lora_rank})"),
    Requirement(expert_bias, Eq(expert_bias, 0) | (L_moe > 0), "must be False where {moe_layers}"),
    Requirement(r_moe, Eq(r_moe, 0) | (L_moe > 0), "must be 0 where {moe_layers}"),
    Requirement(r_q, Eq(r_q, 0) | (r_kv + L_c > 0), "must be 0 where {kv_lora_rank}"),
    Requirement(r_q, (r_q > 0) | Eq(L_c, 0), "must be above 0 where {compressed_layers}"),
    *KIND_REQUIREMENTS,
)


#: Parameters of a transformer that gives no count of them.
COUNTED = Counted(
    ("parameters", "active_parameters"),
    (
        *mixers.STORED,
        *parameter_counts.FORMULAS,
        mixers.attention_work,
        mixers.near_attention_work,
        transformer_flops.routed_work,
        transformer_flops.product_work,
        *sources.OF_STACK,
    ),
    {**OPTIONAL_SHAPE, "sliding_window": 0},
    {
        "source_parameters": ("parameters", "source_stack"),
        **{formula.name: (formula.name, "source_stack") for formula in sources.OF_STACK},
    },
)
#: The same of weights that are served, which are not those of a name: 7B are 6.74 billion.
COUNTED_SERVED = replace(COUNTED, rounding=0.015)
#: What a reader must know where a group is larger than what fast links join.
BEYOND_NODE = Caveat(
    t > n_node,
    "tensor parallelism over {tp_size} ranks leaves a node of {accelerators_per_node}: each of its collectives "
    "goes over the fabric",
)
_ALONE = "must be 1, as {wanted} is not given: there is one device then, and nothing crosses its links"
_NODE = "must be at most {{accelerators_per_node}}, as {wanted} is not given: nothing leaves a node then"


def _uncrossed(wanted: str, fabric: bool) -> tuple[Requirement, ...]:
    engine = t * p * d_a
    if fabric:
        return (Requirement(n_fleet, n_fleet <= n_node, _NODE.format(wanted=wanted)),)
    text = _ALONE.format(wanted=wanted)
    return (Requirement(n_fleet, Eq(n_fleet, 1), text), Requirement(t, Eq(engine, 1), text))


SEGMENT = Requirement(n_seg, n_seg <= n_node, "must be at most {accelerators_per_node}")


def fills_nodes(blamed: Any, ranks: Any, words: str = "") -> tuple[Requirement, ...]:
    """Conditions that ranks fill a part of a node, or whole nodes or segments; words follow the one blamed."""
    kept = takes_whole_nodes(ranks)
    text = f"{words}must be at most {{accelerators_per_node}} or a multiple of it"
    return (
        Requirement(blamed, kept | (n_seg > 0), text),
        Requirement(
            blamed,
            kept | (n_seg <= 0) | Eq(Mod(ranks, Max(1, n_seg)), 0),
            f"{text}, or of {{accelerators_per_segment}}",
        ),
    )


def divides_nodes(
    blamed: Any, ranks: Any, run: Any, free: Any = false, words: str = "", why: str = ""
) -> tuple[Requirement, ...]:
    """Conditions that ranks divide nodes or segments of a run, or are a multiple of them, but where they are free."""
    whole = takes_whole_nodes(run) | (n_seg <= 0)
    return tuple(
        Requirement(
            blamed,
            free | other | Eq(Mod(size, ranks), 0) | Eq(Mod(ranks, size), 0),
            f"{words}must divide {{{name}}} or be a multiple of it{why}",
        )
        for other, size, name in (
            (~whole, n_node, "accelerators_per_node"),
            (whole, Max(1, n_seg), "accelerators_per_segment"),
        )
    )


#: What devices say of the links among them, nodes of their size, and fabrics of themselves; and what holds elsewhere.
LINKS = ("node_bandwidth", "switch_reduces", "direct_mesh", "torus_axes")
NODE = ("accelerators_per_node", "accelerators_per_segment")
FABRIC = (
    "fabric_bandwidth",
    "fabric_latency",
    "oversubscription",
    "accelerators_per_pod",
    "low_latency_bandwidth",
    "bulk_start",
)
PLACED = {
    "accelerators_per_node": 8,
    "accelerators_per_segment": 0,
    "accelerators_per_pod": 0,
    "low_latency_bandwidth": 0.0,
    "bulk_start": 0.0,
    "switch_reduces": 0.0,
    "direct_mesh": 0,
    "torus_axes": 0,
}
#: Links whose speed is not asked for in layouts that use none.
UNCROSSED = {
    name: _uncrossed(name, name.startswith("fabric"))
    for name in ("node_bandwidth", "fabric_bandwidth", "fabric_latency")
}


def alike_caveats(simple: str, exact: str) -> tuple[Caveat, ...]:
    """Caveats on a variant that counts a decoder with a cache of its own in every layer, where an entry has others."""
    alike = Caveat(
        L_st + L_none + L_c + L_kv + L_kv_w > 0,
        "each of {layers} layers is counted as attention with keys and values of its own for all tokens, which those "
        "of other kinds are not (state_layers={state_layers}, mixerless_layers={mixerless_layers}, compressed_layers="
        "{compressed_layers}, shared_cache_layers={shared_cache_layers}, sliding_shared_layers="
        f"{{sliding_shared_layers}}): variant={exact} counts each kind",
        (simple,),
        stored=True,
    )
    decoder = Caveat(
        L_x + bidirectional > 0,
        "the model is counted as a decoder that reads no source, which it is not (bidirectional="
        f"{{bidirectional}}, cross_layers={{cross_layers}}): variant={exact} counts what it is",
        (simple,),
        stored=True,
    )
    return alike, decoder


def prefill_caveats(tokens: Any, where: Any = true) -> tuple[Caveat, ...]:
    """Caveats on the time of a prefill of so many tokens, where there is one."""
    prompt = f"{{{variable_of(tokens).name}}}"
    return (
        Caveat(
            And(k_ix > 0, tokens > k_ix, where),
            f"prefills of {prompt} with sparse attention to {{index_topk}} of them are unreliable: by such "
            "laws kernels were off by a median of 27% at 16 bit and 39% at 8 (H200)",
        ),
        Caveat(
            And(L_st > 0, where),
            f"in prefills of {prompt} the scans of {{state_layers}} recurrent mixers follow from the bytes they move: "
            "by such laws kernels were off by medians of 9 to 19%, on shapes that the fits had not seen",
        ),
    )
