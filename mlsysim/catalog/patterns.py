"""Named layer patterns: layouts in which layers of a model differ, as a ``config.json`` spells them.

A mixer pattern gives the kind of each layer's mixer. A block pattern marks the layers that have experts, or an indexer.
A pattern returns None if the file does not define it; then the layout's next pattern is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlsysim.errors import CatalogError, UnknownNameError, quoted

FULL, WINDOW, CHUNK, STATE, BOTH, NONE = "full", "window", "chunk", "recurrent", "both", "none"
PICKED, COMPRESSED = "picked entries", "entries"
#: Kinds of mixers that only layouts with a line of this name support, with a description.
UNCOUNTED = {
    STATE: ("a recurrent state in place of a cache", "recurrent"),
    BOTH: ("a recurrent state beside a cache", "recurrent"),
    "picked": ("attention to tokens that an indexer picks", "indexers"),
    **dict.fromkeys((PICKED, COMPRESSED), ("attention to a compressed cache", "compressed")),
}
#: Kinds by the names used in files.
WORDS = {
    "full_attention": FULL,
    "attention": FULL,
    "global": FULL,
    "sliding_attention": WINDOW,
    "local": WINDOW,
    "chunked_attention": CHUNK,
    **dict.fromkeys(("linear_attention", "mamba", "mamba2", "conv", "recurrent"), STATE),
    "hybrid": BOTH,
    **dict.fromkeys(("deepseek_sparse_attention", "indexed_attention"), "picked"),
    "compressed_sparse_attention": PICKED,
    "heavily_compressed_attention": COMPRESSED,
}
#: Nemotron-H's letters: a mixer, or a block without one.
LETTERS = {"*": FULL, "M": STATE, "-": NONE, "E": NONE}
#: Nemotron-H's names of blocks without a mixer.
BLOCK_WORDS = {"mlp": NONE, "moe": NONE}
#: Largest number of layers that are expanded one by one.
MOST = 10**6

#: A pattern: from the fields of a file, the number of layers and the layout's parameter.
Mixers = Callable[[Any, int, int], "list[str] | None"]
Blocks = Callable[[Any, int, int], "tuple[list[bool], int] | None"]


def _kinds(
    name: str, words: Any, layers: int, known: dict[str, str], refused: dict[str, str] | None = None
) -> list[str]:
    """Translate one word per layer to kinds; ``refused`` words map to unsupported kinds."""
    if not isinstance(words, list | str) or len(words) != layers or not all(isinstance(word, str) for word in words):
        raise CatalogError(f"{name}={quoted(words)} must be a list of as many names as layers")
    kinds = {**(refused or {}), **known}
    for word in words:
        if word not in kinds:
            raise CatalogError(f"{name}: {UnknownNameError('kind of layer', word, known)}")
    return [kinds[word] for word in words]


def _numbers(name: str, value: Any, config: Any, layers: int, first: int = 0) -> list[int]:
    """Check layer indices, which start at ``first``; those of layers that predict further tokens may follow."""
    last = first + layers - 1
    if not isinstance(value, list) or not all(type(number) is int and number >= first for number in value):
        raise CatalogError(f"{name}={quoted(value)} must be a list of layers, from {first} to {last}")
    mtp_layers = config.whole("num_nextn_predict_layers", 0)
    if beyond := [number for number in value if number > last + mtp_layers]:
        raise CatalogError(f"{name} names {quoted(beyond[0])}, and the last layer is {last}")
    return value


def _flags(name: str, value: Any, layers: int) -> list[bool]:
    if not isinstance(value, list) or len(value) != layers or not all(type(flag) is int for flag in value):
        raise CatalogError(f"{name}={quoted(value)} must be a list of as many 0 and 1 as layers")
    return [flag > 0 for flag in value]


def layer_types(config: Any, layers: int, _: int) -> list[str] | None:
    """Read one word per layer; words of layers that predict further tokens may follow."""
    words, mtp_layers = config.get("layer_types"), config.whole("num_nextn_predict_layers", 0)
    if isinstance(words, list) and len(words) == layers + mtp_layers:
        words = words[:layers]
    return None if words is None else _kinds("layer_types", words, layers, config.words, config.refused)


def attention_layers(config: Any, layers: int, _: int) -> list[str] | None:
    """GPT-Neo: one word per layer."""
    words = config.get("attention_layers")
    return None if words is None else _kinds("attention_layers", words, layers, config.words, config.refused)


def attention_types(config: Any, layers: int, _: int) -> list[str] | None:
    """GPT-Neo: kinds, each with a number of repetitions."""
    groups = config.get("attention_types")
    if groups is None:
        return None
    try:
        words = [word for kinds, times in groups for word in list(kinds) * min(int(times), MOST)]
    except (TypeError, ValueError):
        words = groups
    return _kinds("attention_types", words, layers, config.words, config.refused)


def hybrid_override_pattern(config: Any, layers: int, _: int) -> list[str] | None:
    """Nemotron-H: one letter per layer."""
    letters = config.get("hybrid_override_pattern")
    return None if letters is None else _kinds("hybrid_override_pattern", letters, layers, LETTERS)


def layers_block_type(config: Any, layers: int, _: int) -> list[str] | None:
    """Nemotron-H, Bamba: one word per layer; it may name a block without a mixer."""
    words = config.get("layers_block_type")
    known = {**config.words, **BLOCK_WORDS}
    return None if words is None else _kinds("layers_block_type", words, layers, known, config.refused)


def hybrid_layer_pattern(config: Any, layers: int, _: int) -> list[str] | None:
    """MiMo-V2: 1 for a layer with a sliding window."""
    flags = config.get("hybrid_layer_pattern")
    return (
        None if flags is None else [WINDOW if flag else FULL for flag in _flags("hybrid_layer_pattern", flags, layers)]
    )


def full_attention_interval(config: Any, layers: int, otherwise: int) -> list[str]:
    """Attention in the last layer of every interval."""
    interval = config.every("full_attention_interval", config.every("layer_group_size", otherwise))
    return [FULL if (layer + 1) % interval == 0 else STATE for layer in range(layers)]


def attn_layer_period(config: Any, layers: int, otherwise: int) -> list[str]:
    """Jamba: attention in one layer of every period."""
    period, first = config.every("attn_layer_period", otherwise), config.whole("attn_layer_offset", 0)
    return [FULL if layer % period == first else STATE for layer in range(layers)]


def attn_layer_indices(config: Any, layers: int, _: int) -> list[str]:
    """Bamba: list of the layers with attention."""
    named = _numbers("attn_layer_indices", config.get("attn_layer_indices") or [], config, layers)
    return [FULL if layer in named else STATE for layer in range(layers)]


def attn_type_list(config: Any, layers: int, _: int) -> list[str] | None:
    """MiniMax: 1 for a layer with attention."""
    flags = config.get("attn_type_list")
    return None if flags is None else [FULL if flag else STATE for flag in _flags("attn_type_list", flags, layers)]


def full_attn_idxs(config: Any, layers: int, _: int) -> list[str]:
    """LFM2: list of the layers with attention; all layers if there is no list."""
    named = config.get("full_attn_idxs")
    attention = range(layers) if named is None else _numbers("full_attn_idxs", named, config, layers)
    return [FULL if layer in attention else STATE for layer in range(layers)]


def block_types(config: Any, layers: int, _: int) -> list[str] | None:
    """RecurrentGemma: words that repeat over the layers."""
    words = config.get("block_types")
    if not words:
        return None
    known = {**config.words, "attention": WINDOW}
    kinds = _kinds("block_types", words, len(words) if isinstance(words, list) else -1, known, config.refused)
    return [kinds[layer % len(kinds)] for layer in range(layers)]


def linear_attn_config(config: Any, layers: int, _: int) -> list[str] | None:
    """Kimi Linear: list of the layers with attention, counted from 1."""
    table = config.get("linear_attn_config")
    if not isinstance(table, dict):
        return None
    named = _numbers("full_attn_layers", table.get("full_attn_layers"), config, layers, 1)
    _numbers("kda_layers", table.get("kda_layers") or [], config, layers, 1)
    return [FULL if layer + 1 in named else STATE for layer in range(layers)]


def no_rope_layers(config: Any, layers: int, otherwise: int) -> list[str]:
    """Llama 4: chunked attention in the layers with rotary positions, if a chunk size is set."""
    interval = config.whole("no_rope_layer_interval", otherwise) or 1
    named = config.get("no_rope_layers")
    rotary = (
        _flags("no_rope_layers", named, layers) if named else [(layer + 1) % interval != 0 for layer in range(layers)]
    )
    chunks = config.whole("attention_chunk_size", 0)
    return [CHUNK if chunks and has_rope else FULL for has_rope in rotary]


def sliding_window_pattern(config: Any, layers: int, otherwise: int) -> list[str]:
    """Full attention in the last layer of every interval, else a window; or repeating letters, L for a window."""
    keys = ("sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers")
    letters = next((config.get(key) for key in keys if isinstance(config.get(key), str)), None)
    if letters:
        kinds = _kinds(keys[0], letters, len(letters), {"L": WINDOW, "G": FULL})
        return [kinds[layer % len(kinds)] for layer in range(layers)]
    interval = next((config.every(key, 1) for key in keys if config.get(key) is not None), max(otherwise, 1))
    return [FULL if (layer + 1) % interval == 0 else WINDOW for layer in range(layers)]


def global_layers(config: Any, layers: int, otherwise: int) -> list[str]:
    """ModernBERT: full attention in the first layer of every interval, else a sliding window."""
    interval = config.every("global_attn_every_n_layers", otherwise)
    return [FULL if layer % interval == 0 else WINDOW for layer in range(layers)]


def max_window_layers(config: Any, layers: int, otherwise: int) -> list[str]:
    """Qwen: sliding windows after the first ``max_window_layers`` layers, if switched on."""
    first = config.whole("max_window_layers", otherwise)
    on = config.yes("use_sliding_window", default=False)
    return [WINDOW if on and layer >= first else FULL for layer in range(layers)]


def use_sliding_window(config: Any, layers: int, otherwise: int) -> list[str]:
    """A sliding window in every layer if switched on; if the file is silent, a parameter of 1 switches it on."""
    return [WINDOW if config.yes("use_sliding_window", default=bool(otherwise)) else FULL] * layers


def compress_ratios(config: Any, layers: int, _: int) -> list[str]:
    """DeepSeek-V4: tokens per compressed entry, 0 for a sliding window alone; if not given, the class's defaults."""
    kinds = {0: WINDOW, 4: PICKED, 128: COMPRESSED}
    named = config.get("compress_ratios")
    if named is None:
        return [PICKED if layer % 2 and layer > 1 else COMPRESSED for layer in range(layers)]
    ratios = named[:layers] if isinstance(named, list) else []
    if len(ratios) < layers or any(type(ratio) is not int or ratio not in kinds for ratio in ratios):
        raise CatalogError(f"compress_ratios={quoted(named)} must be 0, 4 or 128 for each layer")
    return [kinds[ratio] for ratio in ratios]


def alternating(config: Any, layers: int, _: int) -> list[str]:
    """A sliding window in every other layer, starting with the first."""
    return [WINDOW if layer % 2 == 0 else FULL for layer in range(layers)]


def every_layer(config: Any, layers: int, _: int) -> list[str]:
    """A sliding window in every layer."""
    return [WINDOW] * layers


def all_recurrent(config: Any, layers: int, _: int) -> list[str]:
    """A recurrent mixer in every layer."""
    return [STATE] * layers


def all_parallel(config: Any, layers: int, _: int) -> list[str]:
    """Falcon-H1: attention beside a recurrent mixer in every layer."""
    return [BOTH] * layers


MIXERS: dict[str, Mixers] = {
    pattern.__name__: pattern
    for pattern in (
        layer_types, attention_layers, attention_types, hybrid_override_pattern, layers_block_type,
        hybrid_layer_pattern, full_attention_interval, attn_layer_period, attn_layer_indices, attn_type_list,
        full_attn_idxs, block_types, linear_attn_config, no_rope_layers, sliding_window_pattern, global_layers,
        max_window_layers, compress_ratios,
        use_sliding_window, alternating, every_layer, all_recurrent, all_parallel,
    )
}  # fmt: skip


def mlp_layer_types(config: Any, layers: int, _: int) -> tuple[list[bool], int] | None:
    """Read one word per layer: dense or sparse."""
    words = config.get("mlp_layer_types")
    if words is None:
        return None
    kinds = _kinds("mlp_layer_types", words, layers, {"dense": "dense", "sparse": "sparse"})
    return [kind == "sparse" for kind in kinds], 1


def first_k_dense_replace(config: Any, layers: int, otherwise: int) -> tuple[list[bool], int]:
    """DeepSeek: dense layers first, then experts in one layer of every interval, or as listed."""
    first, interval = config.whole("first_k_dense_replace", otherwise), config.get("moe_layer_freq")
    if isinstance(interval, list):
        return _flags("moe_layer_freq", interval, layers), 1
    interval = config.whole("moe_layer_freq", 1)
    return [layer >= first and layer % max(interval, 1) == 0 for layer in range(layers)], interval


def decoder_sparse_step(config: Any, layers: int, _: int) -> tuple[list[bool], int]:
    """Qwen: experts in the last layer of every interval, except in the layers listed as dense."""
    interval, named = config.every("decoder_sparse_step", 1), config.get("mlp_only_layers")
    dense = set() if named is None else set(_numbers("mlp_only_layers", named, config, layers))
    return [layer not in dense and (layer + 1) % interval == 0 for layer in range(layers)], interval


def interleave_moe_layer_step(config: Any, layers: int, _: int) -> tuple[list[bool], int]:
    """Llama 4: experts in the listed layers, else in the last layer of every interval."""
    interval, named = config.every("interleave_moe_layer_step", 1), config.get("moe_layers")
    if named is not None:
        sparse = set(_numbers("moe_layers", named, config, layers))
        return [layer in sparse for layer in range(layers)], interval
    return [(layer + 1) % interval == 0 for layer in range(layers)], interval


def moe_layers_enum(config: Any, layers: int, _: int) -> tuple[list[bool], int] | None:
    """Step 3: the layers with experts, as comma-separated text."""
    named = config.get("moe_layers_enum")
    if named is None:
        return None
    digits = named.split(",") if isinstance(named, str) else [""]
    if not all(digit.strip().isdigit() and len(digit) < 9 for digit in digits):
        raise CatalogError(f"moe_layers_enum={quoted(named)} must be numbers of layers, as in '4,5,6'")
    sparse = set(_numbers("moe_layers_enum", [int(digit) for digit in digits], config, layers))
    return [layer in sparse for layer in range(layers)], 1


def moe_layer_interval(config: Any, layers: int, _: int) -> tuple[list[bool], int]:
    """ERNIE: experts in the last layer of every interval, between a first and a last layer."""
    interval = config.every("moe_layer_interval", 1)
    first, last = config.whole("moe_layer_start_index", 0), config.get("moe_layer_end_index")
    last = layers if last in (None, -1) else config.whole("moe_layer_end_index", layers)
    return [first <= layer <= last and (layer + 1) % interval == 0 for layer in range(layers)], interval


def num_dense_layers(config: Any, layers: int, otherwise: int) -> tuple[list[bool], int]:
    """LFM2, AFMoE: dense layers first, then experts."""
    first = config.whole("num_dense_layers", otherwise)
    return [layer >= first for layer in range(layers)], 1


def expert_layer_period(config: Any, layers: int, otherwise: int) -> tuple[list[bool], int]:
    """Jamba: experts in one layer of every period, if there is more than one expert."""
    period, first = config.every("expert_layer_period", otherwise), config.whole("expert_layer_offset", 0)
    several = config.whole("num_experts", 0) > 1
    return [several and layer % period == first for layer in range(layers)], period


def hybrid_experts(config: Any, layers: int, _: int) -> tuple[list[bool], int]:
    """Nemotron-H: experts in the layers marked E or moe."""
    named = config.get("hybrid_override_pattern") or config.get("layers_block_type") or []
    return [kind in ("E", "moe") for kind in named], 1


def enable_moe_block(config: Any, layers: int, _: int) -> tuple[list[bool], int]:
    """Gemma 4: experts in every layer, if switched on."""
    return [config.yes("enable_moe_block", default=False)] * layers, 1


def num_local_experts(config: Any, layers: int, _: int) -> tuple[list[bool], int]:
    """Granite 4: experts in every layer, if there are any."""
    return [config.whole("num_local_experts", 0) > 0] * layers, 1


def indexer_types(config: Any, layers: int, _: int) -> tuple[list[bool], int] | None:
    """GLM-5: words or letters that mark the layers with an indexer of their own."""
    named, letters = config.get("indexer_types"), config.get("index_topk_pattern")
    if named is None and letters is None:
        return None
    known = {"full": "full", "F": "full", "shared": "shared", "S": "shared"}
    kinds = _kinds("indexer_types", letters if named is None else named, layers, known)
    return [kind == "full" for kind in kinds], 1


def index_topk_freq(config: Any, layers: int, _: int) -> tuple[list[bool], int]:
    """GLM-5: an indexer in the first layers, then in one layer of every interval."""
    interval, first = config.every("index_topk_freq", 1), config.whole("index_skip_topk_offset", 2)
    return [max(layer - first + 1, 0) % interval == 0 for layer in range(layers)], interval


def all_layers(config: Any, layers: int, _: int) -> tuple[list[bool], int]:
    """Experts, or an indexer, in every layer."""
    return [True] * layers, 1


BLOCKS: dict[str, Blocks] = {
    pattern.__name__: pattern
    for pattern in (
        mlp_layer_types, first_k_dense_replace, decoder_sparse_step, interleave_moe_layer_step, moe_layers_enum,
        moe_layer_interval, num_dense_layers, expert_layer_period, hybrid_experts, enable_moe_block,
        num_local_experts, indexer_types, index_topk_freq, all_layers,
    )
}  # fmt: skip
