"""Shapes of models from the ``config.json`` of a Hugging Face repository on disk.

Each ``model_type`` has a :class:`Layout`: our field names, and what in the file gives each. A field of the
file that no layout names and that is not known to leave the shape alone is refused, never passed over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mlsysim.catalog.entries import SparseTransformerWorkload, TransformerWorkload
from mlsysim.catalog.files import content_of
from mlsysim.errors import CatalogError, InputError, UnknownNameError, quoted

#: What one field of ours is in a file.
Reader = Callable[["Config"], Any]


class Config:
    """The fields of a file, which remembers what was asked of it."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.asked: set[str] = set()
        self.missing: list[str] = []

    def get(self, *names: str) -> tuple[str, Any]:
        """The first of several names that has a value, and the value; ``null`` counts as none."""
        self.asked.update(names)
        return next(((name, self.content[name]) for name in names if self.content.get(name) is not None), ("", None))


def whole(*names: str, default: Reader | None = None) -> Reader:
    """A whole number under one of several names; missing where it has neither value nor default."""

    def read(config: Config) -> Any:
        name, value = config.get(*names)
        if not name:
            if default is None:
                config.missing.append(names[0])
                return 0
            return default(config)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
            raise CatalogError(f"{name}={quoted(value)} must be a whole number")
        return value

    return read


def yes(name: str, *, default: bool) -> Reader:
    """A yes or no, and what the model class takes where the file is silent."""

    def read(config: Config) -> Any:
        found, value = config.get(name)
        if not found:
            return default
        if not isinstance(value, bool):
            raise CatalogError(f"{name}={quoted(value)} must be true or false")
        return value

    return read


def always(value: Any) -> Reader:
    """Fields that every model of the type has."""
    return lambda config: value


def scaled(reader: Reader, factor: int = 1, plus: int = 0) -> Reader:
    """A multiple of another field, and something more."""
    return lambda config: reader(config) * factor + plus


def product(left: Reader, right: Reader) -> Reader:
    """Two fields multiplied."""
    return lambda config: left(config) * right(config)


def every(interval: Reader, first_dense: Reader, offset: int) -> Reader:
    """Number of layers with experts: one in so many, none of the first few."""

    def read(config: Config) -> Any:
        step, dense = max(interval(config), 1), first_dense(config)
        return sum((layer + offset) % step == 0 for layer in range(dense, min(LAYERS(config), 10**6)))

    return read


def listed(name: str, otherwise: Reader) -> Reader:
    """Number of layers that a list names."""

    def read(config: Config) -> Any:
        found, value = config.get(name)
        if not found:
            return otherwise(config)
        return len(set(_layer_numbers(name, value)))

    return read


def without(reader: Reader, interval: Reader, name: str) -> Reader:
    """A number of layers less those a list takes out of it, where every so many layers counts."""

    def read(config: Config) -> Any:
        found, value = config.get(name)
        named = set(_layer_numbers(name, value)) if found else set()
        step = max(interval(config), 1)
        return reader(config) - sum((layer + 1) % step == 0 for layer in named if layer < LAYERS(config))

    return read


def unless_all(reader: Reader, moe_layers: Reader) -> Reader:
    """The width of the dense layers; 0 where every layer has experts."""

    def read(config: Config) -> Any:
        width = reader(config)
        return 0 if moe_layers(config) == LAYERS(config) else width

    return read


def _layer_numbers(name: str, value: Any) -> list[int]:
    if not isinstance(value, list) or not all(type(layer) is int and layer >= 0 for layer in value):
        raise CatalogError(f"{name}={quoted(value)} must be a list of layers")
    return value


def sliding(otherwise: Reader, kind: str = "sliding_attention") -> Reader:
    """Number of layers of a kind of reach: by the list of kinds, else by the rule of the model class."""

    def read(config: Config) -> Any:
        found, kinds = config.get("layer_types")
        if not found:
            return otherwise(config)
        if not isinstance(kinds, list) or len(kinds) != LAYERS(config) or not all(isinstance(k, str) for k in kinds):
            raise CatalogError(f"layer_types={quoted(kinds)} must be a list of as many names as layers")
        return kinds.count(kind)

    return read


def all_but_every(interval: Reader) -> Reader:
    """Number of layers less one in so many."""
    return lambda config: LAYERS(config) - LAYERS(config) // max(interval(config), 1)


def windowed(layers: Reader, default: int = 0, name: str = "sliding_window") -> dict[str, Reader]:
    """Reach of attention in tokens; a file may give a window that no layer uses, or ``null`` for none."""
    window = whole(name, default=lambda config: 0 if name in config.content else default)
    return {
        "sliding_layers": lambda config: layers(config) if window(config) else 0,
        "sliding_window": lambda config: window(config) if layers(config) else 0,
    }


def with_positions(interval: Reader) -> Reader:
    """Number of layers with rotary positions: those that a list marks by 1, else all but every so many."""

    def read(config: Config) -> Any:
        found, marks = config.get("no_rope_layers")
        if not found or not marks:
            return all_but_every(interval)(config)
        if not isinstance(marks, list) or len(marks) != LAYERS(config) or not set(marks) <= {0, 1}:
            raise CatalogError(f"no_rope_layers={quoted(marks)} must be a list of a 0 or 1 for each layer")
        return sum(marks)

    return read


@dataclass(frozen=True, slots=True)
class Layout:
    """Fields in the files of one ``model_type``.

    Parameters
    ----------
    fields : mapping
        Our field name to its reader.
    only : mapping
        Fields whose other values our shape cannot express, and the one value it can.
    equal : mapping
        Fields that must equal another field.
    harmless : frozenset of str
        Further fields of the type that leave the shape alone.
    within : str
        Name of the table that holds the language model, for models of several parts.
    """

    fields: Mapping[str, Reader]
    only: Mapping[str, Any] = field(default_factory=dict)
    equal: Mapping[str, str] = field(default_factory=dict)
    harmless: frozenset[str] = frozenset()
    within: str = ""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: What any model may say that leaves its shape alone.
HARMLESS = _words(
    """
    _attn_implementation _attn_implementation_autoset _commit_hash _name_or_path activation_function architectures
    attention_dropout attn_implementation attn_pdrop auto_map bos_token_id chunk_size_feed_forward
    decoder_start_token_id do_sample dropout dtype embd_pdrop eos_token_id finetuning_task hidden_act hidden_dropout
    id2label init_std initializer_range label2id layer_norm_epsilon layerdrop max_length min_length model_type
    num_beams output_attentions output_hidden_states output_router_logits pad_token_id prefix pretraining_tp
    problem_type quantization_config repetition_penalty resid_pdrop return_dict rms_norm_eps sep_token_id
    task_specific_params temperature tie_encoder_decoder tokenizer_class top_k top_p torch_dtype torchscript
    transformers_version unsloth_fixed unsloth_version use_bfloat16 use_cache
    """
)
#: Rotary positions, and windows of types whose layers have none.
ROTARY = _words(
    """
    attention_chunk_size layer_types max_window_layers partial_rotary_factor rope_interleave rope_parameters
    rope_scaling rope_theta sliding_window use_mrope use_sliding_window
    """
)
#: How experts are picked and trained.
ROUTING = _words(
    """
    aux_loss_alpha ep_size n_group norm_topk_prob routed_scaling_factor router_aux_loss_coef router_jitter_noise
    scoring_func seq_aux topk_group
    """
)
LATER_TOKENS = "num_nextn_predict_layers"

LAYERS = whole("num_hidden_layers")
HEADS = whole("num_attention_heads")
CONTEXT = whole("max_position_embeddings", default=always(None))
ONE_STACK: dict[str, Any] = {"is_encoder_decoder": False, "pruned_heads": {}}


def _decoder(**fields: Reader) -> dict[str, Reader]:
    """The names Llama has and most others took over: RMSNorm, gated feed-forward, no learned positions."""
    return {
        "layers": LAYERS,
        "hidden_dim": whole("hidden_size"),
        "heads": HEADS,
        "kv_heads": whole("num_key_value_heads", default=HEADS),
        "head_dim": whole("head_dim", default=always(None)),
        "ffn_dim": whole("intermediate_size"),
        "gated": always(True),
        "vocab_size": whole("vocab_size"),
        "tied_embeddings": yes("tie_word_embeddings", default=False),
        "max_position_embeddings": CONTEXT,
        **fields,
    }


def _biased(name: str) -> dict[str, Reader]:
    """One switch for the biases of all four projections."""
    return {"qkv_bias": yes(name, default=False), "attention_output_bias": yes(name, default=False)}


def _latent(only: Mapping[str, Any], **fields: Reader) -> Layout:
    """DeepSeek's: latent attention, dense layers first, shared experts."""
    width = whole("moe_intermediate_size")
    interval = whole("moe_layer_freq", default=always(1))
    moe_layers = every(interval, whole("first_k_dense_replace", default=always(0)), offset=0)
    shape = _decoder(
        q_lora_rank=whole("q_lora_rank", default=always(0)),
        kv_lora_rank=whole("kv_lora_rank"),
        qk_nope_head_dim=whole("qk_nope_head_dim"),
        qk_rope_head_dim=whole("qk_rope_head_dim"),
        v_head_dim=whole("v_head_dim"),
        ffn_dim=unless_all(whole("intermediate_size"), moe_layers),
        experts=whole("n_routed_experts"),
        active_experts_per_token=whole("num_experts_per_tok"),
        expert_ffn_dim=width,
        shared_ffn_dim=product(width, whole("n_shared_experts", default=always(0))),
        moe_layers=moe_layers,
        moe_layer_interval=interval,
        **fields,
    )
    # Keys and values come from the compressed vector: what the file says of their heads is not used.
    del shape["kv_heads"], shape["head_dim"]
    return Layout(
        shape,
        only={**ONE_STACK, "attention_bias": False, "mlp_bias": False, **only},
        harmless=ROTARY | ROUTING | {"head_dim", "num_key_value_heads", "qk_head_dim", "topk_method", LATER_TOKENS},
    )


def _llama4() -> Layout:
    interval = whole("interleave_moe_layer_step", default=always(1))
    moe_layers = listed("moe_layers", otherwise=every(interval, always(0), offset=1))
    width = whole("intermediate_size")
    chunks = with_positions(whole("no_rope_layer_interval", default=always(4)))
    shape = _decoder(
        ffn_dim=unless_all(whole("intermediate_size_mlp"), moe_layers),
        experts=whole("num_local_experts"),
        active_experts_per_token=whole("num_experts_per_tok"),
        expert_ffn_dim=width,
        shared_ffn_dim=width,
        moe_layers=moe_layers,
        moe_layer_interval=interval,
        chunked_attention=always(True),
        **windowed(sliding(chunks, "chunked_attention"), 8192, "attention_chunk_size"),
        **_biased("attention_bias"),
    )
    scaling = {"attn_scale", "attn_temperature_tuning", "floor_scale", "for_llm_compressor"}
    rope = {"no_rope_layer_interval", "no_rope_layers", "use_qk_norm"}  # its norm of queries and keys has no weights
    return Layout(shape, only=ONE_STACK, harmless=ROTARY | ROUTING | scaling | rope)


def _after_the_first(config: Config) -> Any:
    """Qwen's: where windows are switched on, the layers behind the first so many."""
    switched = yes("use_sliding_window", default=False)(config)
    return max(0, LAYERS(config) - whole("max_window_layers", default=always(28))(config)) if switched else 0


_QWEN = windowed(sliding(_after_the_first))


def _gemma(heads: Reader, kv_heads: Reader, vocabulary: Reader, layers: Reader, **fields: Reader) -> Layout:
    shape = _decoder(
        heads=heads,
        kv_heads=kv_heads,
        head_dim=whole("head_dim", default=always(256)),
        vocab_size=vocabulary,
        tied_embeddings=yes("tie_word_embeddings", default=True),
        sandwich_norm=always(True),
        **windowed(sliding(layers), default=4096),
        **_biased("attention_bias"),
        **fields,
    )
    harmless = _words(
        """
        _sliding_window_pattern attn_logit_softcapping cache_implementation final_logit_softcapping hidden_activation
        query_pre_attn_scalar rope_local_base_freq sliding_window_pattern
        """
    )
    return Layout(shape, only={**ONE_STACK, "use_bidirectional_attention": False}, harmless=ROTARY | harmless)


def _gpt_oss() -> Layout:
    shape = _decoder(
        head_dim=whole("head_dim", default=always(64)),
        ffn_dim=always(0),
        experts=whole("num_local_experts"),
        active_experts_per_token=whole("num_experts_per_tok", "experts_per_token"),
        expert_ffn_dim=whole("intermediate_size"),
        moe_layers=LAYERS,
        **dict.fromkeys(("attention_sinks", "expert_bias", "router_bias"), always(True)),
        **windowed(sliding(all_but_every(always(2))), default=128),
        **dict.fromkeys(("qkv_bias", "attention_output_bias"), yes("attention_bias", default=True)),
    )
    harmless = {"experts_per_token", "initial_context_length", "swiglu_alpha", "swiglu_limit"}
    return Layout(shape, only=ONE_STACK, harmless=ROTARY | ROUTING | harmless)


def _qwen3_moe() -> Layout:
    interval = whole("decoder_sparse_step", default=always(1))
    moe_layers = without(every(interval, always(0), offset=1), interval, "mlp_only_layers")
    shape = _decoder(
        ffn_dim=unless_all(whole("intermediate_size"), moe_layers),
        experts=whole("num_experts", "num_local_experts"),
        active_experts_per_token=whole("num_experts_per_tok"),
        expert_ffn_dim=whole("moe_intermediate_size"),
        moe_layers=moe_layers,
        moe_layer_interval=interval,
        qk_norm=always(True),
        **_QWEN,
        **_biased("attention_bias"),
    )
    return Layout(shape, only=ONE_STACK, harmless=ROTARY | ROUTING)


_GPT2 = Layout(
    {
        "layers": whole("n_layer"),
        "hidden_dim": whole("n_embd"),
        "heads": whole("n_head"),
        "ffn_dim": whole("n_inner", default=scaled(whole("n_embd"), 4)),
        "gated": always(False),
        "vocab_size": whole("vocab_size"),
        "learned_positions": whole("n_positions"),
        "max_position_embeddings": whole("n_positions"),
        "tied_embeddings": yes("tie_word_embeddings", default=True),
        **dict.fromkeys(("qkv_bias", "attention_output_bias", "mlp_bias", "norm_bias"), always(True)),
    },
    only={**ONE_STACK, "add_cross_attention": False},
    harmless=_words(
        """
        n_ctx reorder_and_upcast_attn scale_attn_by_inverse_layer_idx scale_attn_weights summary_activation
        summary_first_dropout summary_proj_to_labels summary_type summary_use_proj
        """
    ),
)
_OPT = Layout(
    {
        "layers": LAYERS,
        "hidden_dim": whole("hidden_size"),
        "heads": HEADS,
        "ffn_dim": whole("ffn_dim"),
        "gated": always(False),
        "vocab_size": whole("vocab_size"),
        # The first two rows of the table are never looked up.
        "learned_positions": scaled(whole("max_position_embeddings"), plus=2),
        "max_position_embeddings": CONTEXT,
        "tied_embeddings": yes("tie_word_embeddings", default=True),
        **dict.fromkeys(("qkv_bias", "attention_output_bias", "mlp_bias"), yes("enable_bias", default=True)),
        "norm_bias": always(True),
    },
    only={
        **ONE_STACK,
        "do_layer_norm_before": True,
        "_remove_final_layer_norm": False,
        "layer_norm_elementwise_affine": True,
    },
    equal={"word_embed_proj_dim": "hidden_size"},
)
_MIXTRAL = Layout(
    _decoder(
        ffn_dim=always(0),
        experts=whole("num_local_experts"),
        active_experts_per_token=whole("num_experts_per_tok"),
        expert_ffn_dim=whole("intermediate_size"),
        moe_layers=LAYERS,
        **windowed(sliding(LAYERS)),
    ),
    only=ONE_STACK,
    harmless=ROTARY | ROUTING,
)
_LLAMA4 = _llama4()
#: Files of the larger models leave out what the class has by default.
_GEMMA3 = _gemma(
    whole("num_attention_heads", default=always(8)),
    whole("num_key_value_heads", default=always(4)),
    whole("vocab_size", default=always(262_208)),
    all_but_every(whole("sliding_window_pattern", "_sliding_window_pattern", default=always(6))),
    qk_norm=always(True),
    max_position_embeddings=whole("max_position_embeddings", default=always(131_072)),
)
_PICTURES = _words("boi_token_index eoi_token_index image_token_index tie_word_embeddings vision_config")

LAYOUTS: dict[str, Layout] = {
    "gpt2": _GPT2,
    "opt": _OPT,
    "llama": Layout(
        _decoder(mlp_bias=yes("mlp_bias", default=False), **_biased("attention_bias")), ONE_STACK, harmless=ROTARY
    ),
    "mistral": Layout(_decoder(**windowed(sliding(LAYERS))), ONE_STACK, harmless=ROTARY),
    "mixtral": _MIXTRAL,
    "qwen2": Layout(_decoder(qkv_bias=always(True), **_QWEN), ONE_STACK, harmless=ROTARY),
    "qwen3": Layout(_decoder(qk_norm=always(True), **_QWEN, **_biased("attention_bias")), ONE_STACK, harmless=ROTARY),
    "gemma2": _gemma(HEADS, whole("num_key_value_heads"), whole("vocab_size"), all_but_every(always(2))),
    "gemma3_text": _GEMMA3,
    "gemma3": Layout({}, ONE_STACK, harmless=_PICTURES | {"mm_tokens_per_image"}, within="text_config"),
    "gpt_oss": _gpt_oss(),
    "qwen3_moe": _qwen3_moe(),
    "deepseek_v2": _latent({}),
    "deepseek_v3": _latent({"topk_method": "noaux_tc"}, router_bias=always(True)),
    "kimi_k2": _latent({"topk_method": "noaux_tc"}, router_bias=always(True)),
    "llama4": Layout({}, ONE_STACK, harmless=_PICTURES, within="text_config"),
    "llama4_text": _LLAMA4,
}
#: The type of the language model inside a model of several parts.
PARTS = {"llama4": "llama4_text", "gemma3": "gemma3_text"}


def workload(path: str | Path, *, ignore: str | Iterable[str] = (), **fields: Any) -> TransformerWorkload:
    """A model of the shape a ``config.json`` gives.

    Parameters
    ----------
    path : str or Path
        The file, or the folder that holds it.
    ignore : str or iterable of str
        Fields of the file that are known to leave the shape alone.
    **fields
        Fields of the entry that the file does not give (``parameters=8.03e9``), or gives otherwise (``name=...``).

    Returns
    -------
    TransformerWorkload
        A :class:`SparseTransformerWorkload` where the model has experts.

    Raises
    ------
    CatalogError
        If the file cannot be read or is too large, its ``model_type`` is not known, or a field is missing, wrong or
        unknown.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError("path", path, "must be the path of a config.json, or of the folder that holds it")
    file = Path(path) / "config.json" if os.path.isdir(path) else Path(path)
    content = content_of(file, "JSON", json.loads)
    if not isinstance(content, dict):
        raise CatalogError(f'{file}: must be an object, as in {{"model_type": "llama"}}')
    ignored = (ignore,) if isinstance(ignore, str) else ignore
    if not isinstance(ignored, list | tuple | set | frozenset) or not all(isinstance(n, str) for n in ignored):
        raise InputError("ignore", ignore, "must be names of fields")
    try:
        shape = _shape(content, frozenset(ignored))
        _divisible(shape)
        given = {
            name: {"value": value, "source": str(file), "date": "", "kind": "user"} for name, value in shape.items()
        }
        if content.get(LATER_TOKENS):
            given["layers"]["note"] = "Without the layers that predict further tokens."
        kind = SparseTransformerWorkload if "experts" in given else TransformerWorkload
        return kind(**{"name": _name(content, file), **given, **fields})
    except CatalogError as error:
        raise CatalogError(f"{file}: {error}") from None


def _divisible(shape: Mapping[str, Any]) -> None:
    """Refuse a width that its heads do not share, where the file gives no width of a head."""
    if shape.get("kv_lora_rank") or shape.get("head_dim") is not None or not shape["heads"]:
        return
    if shape["hidden_dim"] % shape["heads"]:
        raise CatalogError(
            f"hidden width {shape['hidden_dim']} is not a multiple of {shape['heads']} heads; give head_dim"
        )


def _name(content: Mapping[str, Any], file: Path) -> str:
    said = content.get("_name_or_path")
    if isinstance(said, str) and said:
        return said
    folder = file.absolute().parent.name
    return folder if file.name == "config.json" and folder else file.stem


def _shape(content: Mapping[str, Any], ignore: frozenset[str]) -> dict[str, Any]:
    """Our fields, of a file whose every field is accounted for."""
    layout = _layout(content)
    if layout.within:
        part = content.get(layout.within)
        if not isinstance(part, dict):
            raise CatalogError(f"{layout.within}={quoted(part)} must be an object")
        _account(Config(content), layout, ignore | {layout.within})
        # The part need not repeat its type, nor whether the head is the embedding.
        inherited = {name: content[name] for name in ("tie_word_embeddings",) if name in content}
        return _shape({**inherited, **part, "model_type": PARTS[content["model_type"]]}, ignore)
    config = Config(content)
    shape = {name: read(config) for name, read in layout.fields.items()}
    if config.missing:
        raise CatalogError(f"missing {', '.join(dict.fromkeys(config.missing))}")
    _account(config, layout, ignore)
    return {name: value for name, value in shape.items() if value is not None}


def _layout(content: Mapping[str, Any]) -> Layout:
    model_type = content.get("model_type")
    if isinstance(model_type, str) and model_type in LAYOUTS:
        return LAYOUTS[model_type]
    if model_type is None:
        raise CatalogError(f"missing model_type; known: {', '.join(LAYOUTS)}")
    unknown = UnknownNameError("model_type", model_type, LAYOUTS)
    known = f" known: {', '.join(LAYOUTS)}" if unknown.suggestions else ""
    raise CatalogError(f"{unknown}{known}; any other shape can be given to TransformerWorkload(...) field by field")


def _account(config: Config, layout: Layout, ignore: frozenset[str]) -> None:
    """Refuse what our shape cannot express, and what may change it unseen."""
    for name, value in layout.only.items():
        if name not in ignore and config.get(name)[1] not in (None, value):
            raise CatalogError(f"{name}={quoted(config.content[name])} is a shape that is not known, only {value} is")
    for name, other in layout.equal.items():
        if name not in ignore and config.get(name)[1] not in (None, config.content.get(other)):
            raise CatalogError(
                f"{name}={quoted(config.content[name])} is a shape that is not known, only that of {other} is"
            )
    known = HARMLESS | layout.harmless | config.asked | ignore
    unknown = [name for name, value in config.content.items() if name not in known and value is not None]
    if unknown:
        raise CatalogError(
            f"{', '.join(unknown)} may change the shape of a {config.content['model_type']}; where not, "
            f"TransformerWorkload.from_hf(path, ignore={tuple(unknown)!r}) reads it"
        )
