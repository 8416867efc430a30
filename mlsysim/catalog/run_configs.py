"""Training runs from configuration files of frameworks: Megatron-LM, torchtitan, Hugging Face's Trainer.

Each option is read, known to leave memory and time alone, or named among ``not_read`` of the recipe; never passed over.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from mlsysim.catalog.entries import Accelerator, SparseTransformerWorkload, TransformerWorkload
from mlsysim.catalog.files import content_of
from mlsysim.catalog.recipes import Recipe
from mlsysim.catalog.stacks import Stack
from mlsysim.errors import CatalogError, InputError, UnknownNameError, quoted
from mlsysim.tracebacks import at_the_call

Config = Mapping[str, Any] | str | Path
MIB = 2**20
#: Values that switch an option off, as files spell them.
_OFF = (None, False, 0, "", "0", "none", "null", "no", "false", "off", (), [], {})
_YES = ("true", "yes", "on", "1")
#: Prefixes of options that do not affect memory and step time.
_MEGATRON_NEUTRAL = re.compile(
    r"(adam-(beta|eps)|async-save|attention-softmax-in-fp32|auto-detect|bias-(gelu|swiglu|dropout)|calculate-per-token|check-|"
    r"ckpt|clip-grad|config-|cross-entropy-fusion-impl|data-(args|cache|path)|dataloader|ddp-|deterministic|disable-(gloo|log)|dist-|"
    r"distributed-(backend|timeout)|enable-experimental|end-weight|eod-|error-|eval|exit|ffn-hidden-size-|finetune|"
    r"full-validation|hysteresis|init-method|initial-loss|legacy-|load|log-|logging|loss-scale|lr|manual-gc|mask-prob|"
    r"masked-softmax-fusion|max-position-embeddings|merge-file|min-lr|min-loss|moe-(aux|grouped-gemm|input-jitter|per-layer|router-"
    r"(bias-update|dtype|force|fusion|group|load|num-groups|pre-softmax|score|topk-scaling)|z-loss|permute-fusion)|"
    r"mmap|mscale|muon-(extra|momentum|num-ns|scale|split|use)|no-(async|load|mmap|save|ckpt|rope-fusion)|norm-epsilon|nccl|"
    r"num-(dataset|workers)|original-max|overlap-(grad|param)|per-split|perform|position-embedding|profile|qk-clip|rampup|"
    r"record-|reset-|result|rerun|rotary|run-|save|seed|short-seq|sgd-momentum|skip-train|split|start-weight|straggler|tensorboard|test-|"
    r"tiktoken|timing|tokenizer|train-|transformer-impl|use-(checkpoint|cpu-initialization|dist-ckpt|legacy|mcore|pytorch-profiler|rotary|tp-pp-dp|persistent|flash-attn)|valid|vocab-(extra|file)|wandb|"
    r"weight-decay|apply-(layernorm|query|residual|rope)|timers|inference|bert-|te-rng|accumulate-allreduce|attention-backend|high-priority|"
    r"optimizer-cpu-offload-none|local-rank|rank|world-size|group-query-attention|swiglu|global-batch|micro-batch)"
)
_TITAN_NEUTRAL = re.compile(
    r"(job|profiling|metrics|checkpoint|comm|lr_scheduler|validation|fault_tolerance|debug|memory_estimation)\.|"
    r"model\.(tokenizer|hf_assets|print|converters|norm_type)|training\.(dataset|max_norm|steps|seed|deterministic|gc_|data|enable_cpu)|"
    r"optimizer\.(lr|beta|eps|weight_decay|name|implementation)|parallelism\.enable_async"
)
_TRAINER_NEUTRAL = re.compile(
    r"(output|overwrite|do_|eval|per_device_eval|learning|lr|warmup|num_train|max_steps|logging|save|seed|data_|dataset|dataloader|report|run_name|"
    r"push|hub|weight_decay|adam_|max_grad|disable_tqdm|remove_unused|label_|load_best|metric|greater|ignore_data|log_|local_rank|ddp_|"
    r"resume|include|length_column|past_index|project|skip_memory|jit|tf32|prediction_loss|torchdynamo|torch_empty|train_file|"
    r"validation|test|preprocessing|response|instruction|split|stage|template|finetuning_type|lora_(alpha|dropout|bias)|bnb_4bit|trust|use_auth|token|"
    r"trackio|average|full_determinism|restore|accelerator_config|gradient_checkpointing_kwargs|"
    r"use_fast|cache_dir|task_type|bias|bf16_full|fp16_(backend|full|opt)|half_precision|mp_parameters|no_cuda|use_cpu|group_by)"
)
_FSDP_NEUTRAL = re.compile(
    r"transformer_layer|min_num|(back|for)ward_prefetch|limit_all|use_orig|sync_module|xla|cpu_ram|state_dict|auto_wrap|version|"
    r"reshard_after_forward"
)
_DEEPSPEED_NEUTRAL = re.compile(
    r"(bf16|fp16|scheduler|optimizer\.params|flops_profiler|tensorboard|wandb|csv_monitor)\.|"
    r"(train_|gradient_(acc|clip)|steps_per|wall_clock|prescale|dump_state|zero_allow|"
    r"zero_optimization\.(overlap|contiguous|round_robin|stage3_gather|offload_optimizer\.(pin|buffer|fast)))"
)
#: Options of torchtitan's flavors whose shape is in the catalog.
_FLAVORS = {
    ("llama3", "8B"): "Llama3_1_8B",
    ("llama3", "70B"): "Llama3_1_70B",
    ("llama3", "405B"): "Llama3_1_405B",
    ("llama4", "17bx16e"): "Llama4_Scout",
    ("llama4", "17bx128e"): "Llama4_Maverick",
    ("deepseek_v3", "671B"): "DeepSeek_V3",
    ("qwen3", "0.6B"): "Qwen3_0_6B",
    ("qwen3", "1.7B"): "Qwen3_1_7B",
    ("qwen3", "4B"): "Qwen3_4B",
    ("qwen3", "8B"): "Qwen3_8B",
    ("qwen3", "14B"): "Qwen3_14B",
    ("qwen3", "32B"): "Qwen3_32B",
    ("qwen3", "30B-A3B"): "Qwen3_30B_A3B",
}
_TOKENIZERS = {"gpt2bpetokenizer": 50_257, "bertwordpiecelowercase": 30_522, "bertwordpiececase": 28_996}


class _Options:
    """Options of a run by name; remembers which of them were read."""

    def __init__(self, values: Mapping[str, Any], source: str, spelled: Callable[[str], str]) -> None:
        self.source, self._spelled = source, spelled
        self._values = {spelled(str(name)): value for name, value in values.items()}
        self._read: set[str] = set()

    def raw(self, name: str, default: Any = None) -> Any:
        """Return the value of an option and mark it as read; the default if it is missing or null."""
        name = self._spelled(name)
        self._read.add(name)
        value = self._values.get(name)
        return default if value is None or value in ("null", "None") else value

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number; an error if there is neither a number nor a default."""
        value = self.raw(name, default)
        if value is None:
            raise CatalogError(f"{self.source}: {name} is missing")
        return self.numeric(name, value)

    def numeric(self, name: str, value: Any) -> float:
        """Convert a value to a number, or raise an error."""
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise CatalogError(f"{self.source}: {name}: {quoted(value)} is not a number")
        return number if number != int(number) else int(number)

    def whole(self, name: str, default: Any = None, least: int = 1, override: Any = None) -> int:
        """Check that an option, or a value of a call, is an integer with a minimum."""
        number = self.number(name, default) if override is None else self.numeric(name, override)
        if number != int(number) or number < least:
            raise CatalogError(f"{self.source}: {name}: {quoted(number)} is not a whole number >= {least}")
        return int(number)

    def flag(self, name: str, default: bool = False) -> bool:
        """Tell whether an option is on; refused where its value is neither."""
        value = self.raw(name, default)
        if _is_off(value) or str(value).lower() in _YES:
            return not _is_off(value)
        raise CatalogError(f"{self.source}: {name}: {quoted(value)} is neither true nor false")

    def word(self, name: str, default: str, words: Mapping[str, Any] | None = None) -> Any:
        """Return a word, translated by a table if there is one."""
        value = str(self.raw(name, default)).lower()
        if words is None:
            return value
        if value not in words:
            raise CatalogError(f"{self.source}: {UnknownNameError(name, value, words)}")
        return words[value]

    def rest(self, neutral: re.Pattern[str]) -> list[str]:
        """List the options that were not read, are on, and may change memory or time."""
        names = sorted(self._values.keys() - self._read)
        return [name for name in names if not _is_off(self._values[name]) and not neutral.match(name)]


def _is_off(value: Any) -> bool:
    return value.lower() in _OFF if isinstance(value, str) else value in _OFF


def _loaded(config: Config, parse: Mapping[str, Callable[[str], Any]], what: str) -> tuple[dict[str, Any], str]:
    """Return the options of a mapping or file, and a name for them."""
    if isinstance(config, Mapping):
        return dict(config), what
    if not isinstance(config, str | Path):
        raise InputError("config", config, f"must be options of {what} by name, or a file of them")
    file = Path(config)
    read = parse.get(file.suffix, parse[""])
    braced = parse.get(".json", read)
    content = content_of(file, what, lambda text: (braced if text.lstrip().startswith("{") else read)(text))
    if not isinstance(content, Mapping):
        raise CatalogError(f"{file}: not {what}: no options")
    return dict(content), file.name


def command_options(text: str) -> dict[str, Any]:
    """Parse the options of a command line, or of YAML with such keys, and the variables set before them."""
    options: dict[str, Any] = {}
    for line in text.splitlines():
        if match := re.match(r"\s*(?:export\s+)?(CUBLAS_WORKSPACE_CONFIG)\s*[:=]\s*(\S+)", line):
            options[match[1]] = match[2].strip("'\"")
        name = ""
        for word in shlex.split(line.rstrip().rstrip("\\"), comments=True):
            if re.match(r"\$\{?\w+\[[@*]\]", word):
                name = ""  # options of an array, which are read where it is set
            elif re.match(r"--[a-zA-Z]", word):
                name, _, value = word.rstrip(":").partition("=")
                options[name] = value or True
            elif name:
                options[name] = word if options[name] is True else f"{options[name]} {word}"
    return options


def _of_megatron(name: str) -> str:
    return name.lstrip("-").replace("_", "-").lower()


def _of_trainer(name: str) -> str:
    return name.lstrip("-").replace("-", "_").lower()


def _flat(content: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Flatten nested tables to dotted names."""
    flat: dict[str, Any] = {}
    for name, value in content.items():
        flat |= _flat(value, f"{before}{name}.") if isinstance(value, Mapping) else {f"{before}{name}": value}
    return flat


def _recipe(options: _Options, not_read: Iterable[str], framework: str, **fields: Any) -> Recipe:
    entries = {name: fields.pop(name) for name in ("model", "hardware", "stack") if name in fields}
    entries = {name: entry for name, entry in entries.items() if entry is not None}
    arguments = {name: value for name, value in fields.items() if value is not None}
    named = options.source if options.source != framework else f"a run of {framework}"
    return Recipe(
        name=named, variants=dict.fromkeys(("memory",), "per_operator"), arguments=arguments, not_read=tuple(not_read),
        **entries,
    )  # fmt: skip


def _entry_of(kind: str, given: Any) -> Any:
    """Look up a catalog entry by name; return an entry unchanged."""
    from mlsysim.catalog.loader import builtin

    return builtin().find(kind, str(given)) if isinstance(given, str | Path) else given


def _moe_layers(options: _Options, layers: int) -> int:
    """Count the layers with experts, from an interval or a pattern."""
    freq = str(options.raw("moe-layer-freq", 1))
    if freq.isdigit() and int(freq):
        return len(range(0, layers, int(freq)))
    if not re.fullmatch(r"[\[\]()\d,+* ]+", freq):
        raise CatalogError(f"{options.source}: moe-layer-freq: {quoted(freq)} is neither a number nor a pattern")
    pattern: list[int] = []
    for part in freq.strip("() ").split("+"):
        match = re.fullmatch(r"\(*\[([\d, ]*)\]\)*(?:\*(\d+))?", part.replace(" ", ""))
        if match is None:
            raise CatalogError(f"{options.source}: moe-layer-freq: {quoted(freq)} is neither a number nor a pattern")
        pattern += [int(digit) for digit in match[1].split(",") if digit] * int(match[2] or 1)
    if len(pattern) != layers:
        raise CatalogError(f"{options.source}: moe-layer-freq: a pattern of {len(pattern)} layers for {layers}")
    return sum(pattern)


def _megatron_model(options: _Options) -> TransformerWorkload:
    number, flag, off = options.whole, options.flag, options.word
    layers, h, a = number("num-layers"), number("hidden-size"), number("num-attention-heads")
    gated = flag("swiglu")
    ffn = number("ffn-hidden-size", 64 * (8 * h // 3 // 64) if gated else 4 * h)
    tokenizer = off("tokenizer-type", "")
    default = next((size for key, size in _TOKENIZERS.items() if key == tokenizer), None)
    if default is None and "nemotron_2_256k" in str(options.raw("tokenizer-model", "")):
        default = 256_000
    default = options.raw("padded-vocab-size", default)
    vocabulary = number("vocab-size", default) + (tokenizer == "nulltokenizer")
    bias, positions = not flag("disable-bias-linear"), off("position-embedding-type", "learned_absolute")
    shape: dict[str, Any] = {
        "name": options.source,
        "layers": layers,
        "hidden_dim": h,
        "heads": a,
        "kv_heads": number("num-query-groups", a) if flag("group-query-attention") else a,
        "head_dim": number("kv-channels", h // a),
        "ffn_dim": ffn,
        "gated": gated,
        "vocab_size": vocabulary,
        "tied_embeddings": not flag("untie-embeddings-and-output-weights"),
        "learned_positions": number("max-position-embeddings", options.whole("seq-length"))
        if positions == "learned_absolute"
        else 0,
        "qkv_bias": bias or flag("add-qkv-bias"),
        "attention_output_bias": bias,
        "mlp_bias": bias,
        "norm_bias": off("normalization", "layernorm") == "layernorm",
        "qk_norm": flag("qk-layernorm"),
        "mtp_layers": number("mtp-num-layers", 0, 0),
    }
    if flag("multi-latent-attention"):
        nope, rope = number("qk-head-dim", 128), number("qk-pos-emb-head-dim", 64)
        latent = {"q_lora_rank": number("q-lora-rank", 0, 0), "kv_lora_rank": number("kv-lora-rank", 512)}
        shape |= latent | {"qk_nope_head_dim": nope, "qk_rope_head_dim": rope, "v_head_dim": number("v-head-dim", 128)}
        shape |= {"head_dim": nope + rope, "kv_heads": a, "qk_norm": False}
    experts = number("num-experts", 0, 0)
    if not experts:
        return TransformerWorkload(**shape)
    shape |= {
        "experts": experts,
        "active_experts_per_token": number("moe-router-topk", 2),
        "moe_layers": _moe_layers(options, layers),
        "expert_ffn_dim": number("moe-ffn-hidden-size", ffn),
        "shared_ffn_dim": number("moe-shared-expert-intermediate-size", 0, 0),
        "router_bias": flag("moe-router-enable-expert-bias"),
        "expert_bias": bias,
    }
    return SparseTransformerWorkload(**shape)


def _virtual_stages(options: _Options, layers: int, stages: int, not_read: list[str]) -> int:
    """Count the chunks of each pipeline stage."""
    per_chunk = options.whole("num-layers-per-virtual-pipeline-stage", 0, 0)
    chunks = options.whole("num-virtual-stages-per-pipeline-rank", 1)
    layout = options.raw("pipeline-model-parallel-layout")
    if layout is not None:
        pieces = re.sub(r"\(([^()]*)\)\*(\d+)", lambda m: m[1] * int(m[2]), str(layout).replace(",", ""))
        chunks = max(1, (pieces.strip("|").count("|") + 1) // stages)
        not_read.append("pipeline-model-parallel-layout (its number of chunks is read, not which layers they have)")
    if per_chunk and layers % (stages * per_chunk):
        raise CatalogError(
            f"{options.source}: num-layers-per-virtual-pipeline-stage: {per_chunk} times {stages} stages do not divide "
            f"{layers} layers"
        )
    return layers // stages // per_chunk if per_chunk else chunks


def _recomputed(options: _Options, layers: int, not_read: list[str]) -> dict[str, Any]:
    granularity = options.word(
        "recompute-granularity", "none", {"none": "none", "selective": "selective", "full": "full"}
    )
    if options.flag("recompute-activations"):
        granularity = "selective"
    arguments: dict[str, Any] = {"activation_checkpointing": granularity}
    method, every = options.word("recompute-method", ""), options.whole("recompute-num-layers", 1)
    if granularity == "full" and (method == "block" or every > 1):
        not_read.append("recompute-method, recompute-num-layers (every layer is taken to be recomputed alone)")
    modules = re.findall(r"\w+", str(options.raw("recompute-modules", "core_attn")))
    known = {
        "layernorm": "recompute_layernorm",
        "mla_up_proj": "recompute_mla_up_proj",
        "moe_act": "recompute_activation_func",
    }
    if granularity == "selective":
        if "core_attn" not in modules:
            arguments["activation_checkpointing"] = "none"
        arguments |= {known[module]: True for module in modules if module in known}
        unknown = [module for module in modules if module not in known and module != "core_attn"]
        if unknown:
            not_read.append(f"recompute-modules: {', '.join(unknown)}")
    return arguments


@at_the_call
def from_megatron_config(
    config: Config,
    *,
    accelerators: int | None = None,
    hardware: str | Accelerator | None = None,
    stack: str | Stack | None = "Megatron_LM",
) -> Recipe:
    """Read the options of a Megatron-LM run, with Megatron-LM's defaults for missing ones.

    Parameters
    ----------
    config : mapping, str or Path
        Options by name, with or without dashes; or a file with a command line, or with YAML of the same keys.
    accelerators : int, optional
        Devices of the run, for which there is no option; by default ``world-size``, or the fewest that the layout
        needs.
    hardware : str or Accelerator, optional
        Device of the run, which sets attention kernels and workspaces.
    stack : str, Stack or None
        Software stack of the run.

    Returns
    -------
    Recipe
        The model as an entry, all arguments, and in ``not_read`` the options that no argument expresses.

    Raises
    ------
    CatalogError
        If a required option is missing, or a value is invalid for its option.

    Examples
    --------
    >>> from mlsysim import from_megatron_config
    >>> options = {"num-layers": 32, "hidden-size": 4096, "num-attention-heads": 32, "vocab-size": 131072}
    >>> options |= {"seq-length": 4096, "micro-batch-size": 1, "global-batch-size": 128, "bf16": True}
    >>> options |= {"tokenizer-type": "NullTokenizer", "position-embedding-type": "rope", "disable-bias-linear": True}
    >>> run = from_megatron_config(options | {"tensor-model-parallel-size": 4}, accelerators=8, hardware="A100")
    >>> run.values()["tp_size"].value
    4.0
    """
    content, source = _loaded(config, {".json": json.loads, "": command_options}, "Megatron-LM")
    for name in ("MODEL_ARGS", "model_args"):
        content = {**content, **content.pop(name)} if isinstance(content.get(name), Mapping) else content
    environment = content.pop("ENV_VARS", None)
    options, not_read = _Options(content, source, _of_megatron), []
    number, flag = options.whole, options.flag
    device = _entry_of("hardware", hardware)
    model = _megatron_model(options)
    layers = int(model.layers.value)
    tp, pp, cp = (number(f"{kind}-parallel-size", 1) for kind in ("tensor-model", "pipeline-model", "context"))
    ep = number("expert-model-parallel-size", 1)
    etp = number("expert-tensor-parallel-size", tp)
    ranks = tp * pp * cp
    fewest = pp * max(tp * cp, etp * ep)
    devices = number("world-size", 0, 0) if accelerators is None else number("accelerators", override=accelerators)
    if not devices:
        devices = fewest
        not_read.append(f"accelerators (no option says how many: {devices}, the fewest that its layout takes)")
    if devices % ranks:
        raise CatalogError(f"{source}: {devices} accelerators are no multiple of its {ranks} model-parallel ranks")
    data_parallel = devices // ranks
    micro = number("micro-batch-size")
    batch = number("global-batch-size", micro * data_parallel)
    if batch % (micro * data_parallel):
        raise CatalogError(
            f"{source}: global-batch-size {batch} is no multiple of micro-batch-size {micro} times {data_parallel} "
            "data-parallel ranks"
        )
    half = "bf16" if flag("bf16") else "fp16" if flag("fp16") else "fp32"
    reduced = flag("grad-reduce-in-bf16") or flag("ddp-grad-reduce-in-bf16")
    backend = options.word(
        "attention-backend", "auto", {name: name for name in ("auto", "flash", "fused", "unfused", "local")}
    )
    fused_auto = device is None or not re.search("A100|A800|B200|B300", device.key or device.name)
    local = options.word("transformer-impl", "transformer_engine") == "local"
    kernel = {"flash": "flash_te", "local": "unfused", "auto": "fused" if fused_auto else "flash_te"}.get(
        backend, backend
    )
    if local and backend == "auto":
        kernel = "flash" if flag("use-flash-attn") else "unfused"
    dropouts = [options.number(f"{kind}-dropout", 0.1) for kind in ("hidden", "attention")]
    if (dropouts[0] > 0) != (dropouts[1] > 0):
        not_read.append("hidden-dropout, attention-dropout (one alone: masks of both are counted)")
    fusion = flag("cross-entropy-loss-fusion")
    if fusion and options.word("cross-entropy-fusion-impl", "native") != "native":
        not_read.append("cross-entropy-fusion-impl (counted as native)")
    limit = number("wgrad-deferral-limit", 0, 0)
    ends = [number(f"decoder-{end}-pipeline-num-layers", 0, 0) for end in ("first", "last")]
    counted = [flag(f"account-for-{end}-in-pipeline-split") for end in ("embedding", "loss")]
    if any(counted):
        ends = [(layers + sum(counted)) // pp - taken for taken in counted]
    optimizer = options.word("optimizer", "adam", {"adam": "adam", "sgd": "sgd", "muon": "muon", "dist_muon": "muon"})
    sparse = isinstance(model, SparseTransformerWorkload)
    arguments: dict[str, Any] = {
        "fleet_size": devices,
        "batch_size": batch,
        "seq_len": number("seq-length"),
        "gradient_accumulation_steps": batch // (micro * data_parallel),
        "precision": "fp8" if options.raw("fp8-format") or options.raw("fp8") else half,
        "gradient_dtype": "both" if half == "fp16" else "bf16" if reduced and half == "bf16" else "fp32",
        "optimizer": optimizer,
        "zero_stage": 1 if flag("use-distributed-optimizer") else 0,
        "tp_size": tp,
        "pp_size": pp,
        "cp_size": cp,
        "sequence_parallel": flag("sequence-parallel") and tp > 1,
        "interleaved_stages": _virtual_stages(options, layers, pp, not_read),
        "attention_kernel": kernel,
        "elementwise_kernels": "fused",
        "dropout_mask_bytes": "1 byte" if any(dropouts) else "0 byte",
        "loss_kernel": "megatron_fused" if fusion else "megatron",
        "loaded_mask": flag("create-attention-mask-in-dataloader", not flag("no-create-attention-mask-in-dataloader")),
        "vocab_multiple": number("make-vocab-size-divisible-by", 128),
        "residual_dtype": "fp32" if flag("fp32-residual-connection") else None,
        "deferred_head_gradients": (limit or batch // (micro * data_parallel))
        if flag("defer-embedding-wgrad-compute", limit > 0)
        else None,
        "microbatch_group": number("microbatch-group-size-per-virtual-pipeline-stage", 0, 0) or None,
        "dp_replicate_size": number("num-distributed-optimizer-instances", 1),
        "layers_first_stage": ends[0] or None,
        "layers_last_stage": ends[1] or None,
        "workspace": _workspace(options, device, environment, sparse and flag("moe-grouped-gemm")),
        **_recomputed(options, layers, not_read),
    }
    if flag("optimizer-cpu-offload"):
        arguments["optimizer_device"] = "host"
    if sparse:
        dispatcher = options.word("moe-token-dispatcher-type", "allgather")
        if dispatcher not in ("alltoall", "allgather") and ep * etp > 1:
            not_read.append(f"moe-token-dispatcher-type = {dispatcher} (its buffers are not counted)")
        capacity = options.number("moe-expert-capacity-factor", 0)
        arguments |= {
            "ep_size": ep,
            "etp_size": etp,
            "token_dispatcher": dispatcher if dispatcher == "allgather" else None,
            "dispatcher": {"alltoall": "all_to_all", "flex": "fused"}.get(dispatcher),
            "capacity_factor": capacity or None,
            "pad_to_capacity": flag("moe-pad-expert-input-to-capacity") or None,
            "routing_weights": "in_activation",
        }
    not_read += options.rest(_MEGATRON_NEUTRAL)
    return _recipe(
        options, not_read, "Megatron-LM", model=model, hardware=device, stack=_entry_of("stack", stack), **arguments
    )


def _workspace(options: _Options, device: Accelerator | None, environment: Any, grouped: bool) -> str:
    """Compute the workspaces of cuBLAS, for the main thread and autograd's, and of Transformer Engine."""
    variables = dict(environment) if isinstance(environment, Mapping) else {}
    config = variables.get("CUBLAS_WORKSPACE_CONFIG", options.raw("CUBLAS_WORKSPACE_CONFIG", ""))
    name = "" if device is None else device.key or device.name
    ampere, blackwell = re.search("A100|A800", name) is not None, re.search("B[23]00", name) is not None
    blas = 32.0 if ":4096:8" in str(config) or not (ampere or blackwell) else 8.125
    engine = 4 if ampere else 32
    return f"{(2 * blas + engine * (5 if grouped else 1)) * MIB / 1e9:.6g} GB"


@at_the_call
def from_torchtitan_toml(
    config: Config,
    *,
    accelerators: int | None = None,
    model: str | TransformerWorkload | None = None,
    hardware: str | Accelerator | None = None,
    stack: str | Stack | None = "torchtitan",
) -> Recipe:
    """Read the job file of a torchtitan run.

    Parameters
    ----------
    config : mapping, str or Path
        Tables by name, or the TOML file.
    accelerators : int, optional
        Devices of the run; by default the product of its parallel degrees.
    model : str or TransformerWorkload, optional
        Trained model; by default the entry of the flavor.
    hardware, stack : optional
        Device and software stack of the run.

    Returns
    -------
    Recipe
        As :func:`from_megatron_config` returns it.

    Raises
    ------
    CatalogError
        If the model has no entry, or a value is invalid for its option.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mlsysim import from_torchtitan_toml
    >>> job = ["[model]", 'name = "llama3"', 'flavor = "8B"', "[training]", "local_batch_size = 1", "seq_len = 8192",
    ...        "[parallelism]", "data_parallel_shard_degree = 8"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "job.toml")
    ...     size = file.write_text(chr(10).join(job))
    ...     run = from_torchtitan_toml(file)
    >>> run.values()["seq_len"].value
    8192.0
    """
    content, source = _loaded(config, {"": tomllib.loads}, "torchtitan")
    options, not_read = _Options(_flat(content), source, lambda name: name), []
    number, word = options.whole, options.word
    flavor = (options.raw("model.name", ""), options.raw("model.flavor", ""))
    if model is None and flavor not in _FLAVORS:
        flavors = ", ".join(" ".join(known) for known in _FLAVORS)
        raise CatalogError(
            f"{source}: model {' '.join(map(str, flavor))!r} has no entry; give model=..., or of {flavors}"
        )
    degrees = {
        kind: number(f"parallelism.{kind}_parallel_degree", 1) for kind in ("tensor", "pipeline", "context", "expert")
    }
    replicate = number("parallelism.data_parallel_replicate_degree", 1)
    shard = number("parallelism.data_parallel_shard_degree", -1, -1)
    ranks = degrees["tensor"] * degrees["pipeline"] * degrees["context"]
    accelerators = accelerators if accelerators is None else number("accelerators", override=accelerators)
    wanted = ranks * replicate * shard
    if accelerators is not None and shard > 0 and accelerators != wanted:
        raise CatalogError(f"{source}: its parallel degrees are of {wanted} accelerators, not {accelerators}")
    if accelerators is None:
        accelerators = ranks * replicate * max(1, shard)
        if shard < 0:
            not_read.append(
                f"accelerators (data_parallel_shard_degree takes all there are, which no option says: {accelerators})"
            )
    if accelerators % (ranks * replicate):
        raise CatalogError(
            f"{source}: {accelerators} accelerators are no multiple of its {ranks * replicate} other ranks"
        )
    data_parallel = accelerators // ranks
    local = number("training.local_batch_size", number("training.batch_size", 8))
    batch = number("training.global_batch_size", -1, -1)
    batch = local * data_parallel if batch < 0 else batch
    if batch % (local * data_parallel):
        raise CatalogError(f"{source}: training.global_batch_size {batch} is no multiple of {local * data_parallel}")
    if degrees["pipeline"] > 1:  # a pipeline cuts the local batch into its own micro-batches
        staged = number("parallelism.pipeline_parallel_microbatch_size", 1)
        if local % staged:
            raise CatalogError(f"{source}: training.local_batch_size {local} is no multiple of {staged}")
        local = staged
    compiled = options.flag("compile.enable", options.flag("training.compile"))
    components = options.raw("compile.components", ["model", "loss"])
    mode = word("activation_checkpoint.mode", "selective", {"none": "none", "selective": "selective", "full": "full"})
    choice = str(options.raw("activation_checkpoint.selective_ac_option", "2"))
    if mode == "selective" and choice == "1":
        mode = "full"
    elif mode == "selective" and choice != "op":
        not_read.append(f"activation_checkpoint.selective_ac_option = {choice} (counted as 'op')")
    update = word("optimizer.implementation", "fused", {"fused": "fused", "foreach": "foreach", "for-loop": "none"})
    float8 = options.raw("float8.recipe_name") or any(
        "float8" in str(converter) for converter in options.raw("model.converters", [])
    )
    schedule = word("parallelism.pipeline_parallel_schedule", "1f1b")
    if degrees["pipeline"] > 1 and schedule != "1f1b":
        not_read.append(f"parallelism.pipeline_parallel_schedule = {schedule} (counted as 1F1B)")
    precision = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
    #: Weights stay gathered between micro-batches of a pipeline unless a run says otherwise.
    gathered = {"default": 3 if degrees["pipeline"] == 1 else 2, "always": 3, "never": 2}
    arguments = {
        "fleet_size": accelerators,
        "batch_size": batch,
        "seq_len": number("training.seq_len", 2048),
        "gradient_accumulation_steps": batch // (local * data_parallel),
        "precision": "fp8" if float8 else word("training.mixed_precision_param", "bfloat16", precision),
        "weight_dtype": "fp32",
        "gradient_dtype": word("training.mixed_precision_reduce", "float32", precision),
        "optimizer": word("optimizer.name", "adamw", {"adam": "adam", "adamw": "adamw"}),
        "zero_stage": word("parallelism.fsdp_reshard_after_forward", "default", gathered),
        "dp_replicate_size": replicate,
        "tp_size": degrees["tensor"],
        "pp_size": degrees["pipeline"],
        "cp_size": degrees["context"],
        "ep_size": degrees["expert"] if degrees["expert"] > 1 else None,
        "sequence_parallel": degrees["tensor"] > 1,
        "activation_checkpointing": mode,
        "selective_policy": "alternate_matmuls" if mode == "selective" else None,
        "elementwise_kernels": "fused" if compiled and "model" in components else "eager",
        "loss_kernel": "compiled" if compiled and "loss" in components else "eager_referenced",
        "update_buffer": update,
        "optimizer_in_backward": options.flag("optimizer.early_step_in_backward"),
    }
    if options.flag("training.enable_cpu_offload"):
        arguments["optimizer_device"] = "host"
        not_read.append("training.enable_cpu_offload (states alone are taken to the host, not weights)")
    not_read += options.rest(_TITAN_NEUTRAL)
    entry = _entry_of("model", model if model is not None else _FLAVORS[flavor])
    device, software = _entry_of("hardware", hardware), _entry_of("stack", stack)
    return _recipe(options, not_read, "torchtitan", model=entry, hardware=device, stack=software, **arguments)


#: Names of optimizers of the Trainer: catalog name, buffer of the update, and device of the states.
_TRAINER_OPTIMIZERS = {
    **dict.fromkeys(("adamw_torch", "adamw_hf", "adamw"), ("adamw", "foreach", "accelerator")),
    **dict.fromkeys(("adamw_torch_fused", "adamw_apex_fused"), ("adamw", "fused", "accelerator")),
    **dict.fromkeys(("adamw_8bit", "adamw_bnb_8bit"), ("adam_8bit", "none", "accelerator")),
    **dict.fromkeys(("paged_adamw", "paged_adamw_32bit"), ("adamw", "none", "host")),
    "paged_adamw_8bit": ("adam_8bit", "none", "host"),
    "adafactor": ("adafactor", "none", "accelerator"),
    "sgd": ("sgd", "none", "accelerator"),
}
_TORCH = {"bfloat16": "bf16", "bf16": "bf16", "float16": "fp16", "fp16": "fp16", "float32": "fp32", "fp32": "fp32"}
_TORCH |= {f"torch.{name}": kept for name, kept in _TORCH.items()}
_FSDP = {"full_shard": 3, "shard_grad_op": 2, "hybrid_shard": 3, "hybrid_shard_zero2": 2, "no_shard": 0}


@at_the_call
def from_trainer_arguments(
    config: Config,
    *,
    model: str | TransformerWorkload | None = None,
    accelerators: int = 1,
    seq_len: int | None = None,
    hardware: str | Accelerator | None = None,
    stack: str | Stack | None = "HF_Trainer",
) -> Recipe:
    """Read the arguments of a Hugging Face Trainer, with those of model and adapters if the file has them.

    Parameters
    ----------
    config : mapping, str or Path
        Arguments by name, or a file of them: JSON, YAML of one level, or a command line.
    model : str or TransformerWorkload, optional
        Trained model; by default ``model_name_or_path``, if that is an entry, a Hub repository named like one (or a
        tuned copy of it, which is noted), or a folder with a ``config.json``.
    accelerators : int
        Number of processes of the run, for which there is no argument.
    seq_len : int, optional
        Tokens per sequence; by default ``max_seq_length`` or a similar argument.
    hardware, stack : optional
        Device and software stack of the run.

    Returns
    -------
    Recipe
        As :func:`from_megatron_config` returns it.

    Raises
    ------
    CatalogError
        If the sequence length is missing, or a value is invalid for its argument.

    Examples
    --------
    >>> from mlsysim import from_trainer_arguments
    >>> arguments = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "bf16": True}
    >>> run = from_trainer_arguments(arguments, model="Llama3_8B", accelerators=8, seq_len=4096)
    >>> run.values()["gradient_accumulation_steps"].value
    2.0
    """
    readers = {".json": json.loads, ".yaml": _one_level, ".yml": _one_level}
    content, source = _loaded(config, readers | {"": lambda text: command_options(text) or _one_level(text)}, "Trainer")
    shards = content.pop("deepspeed", None)
    fsdp_config = content.pop("fsdp_config", None) or {}
    options, not_read = _Options(content, source, _of_trainer), []
    number, flag, word = options.whole, options.flag, options.word
    accelerators = number("accelerators", override=accelerators)
    named = options.raw("model_name_or_path")
    entry = _entry_of("model", model) if model is not None else None
    if entry is None and named is not None:
        entry, said = _of_hub(str(named))
        not_read += [f"model_name_or_path = {named} ({said})"] if said else []
    names = ("max_seq_length", "max_length", "cutoff_len", "model_max_length", "block_size")
    lengths = [name for name in names if options.raw(name) is not None]
    if seq_len is None and not lengths:
        raise CatalogError(f"{source}: no max_seq_length, max_length or cutoff_len; give seq_len=...")
    micro, steps = number("per_device_train_batch_size", 8), number("gradient_accumulation_steps", 1)
    half = "bf16" if flag("bf16") else "fp16" if flag("fp16") else "fp32"
    kept = next((name for name in ("torch_dtype", "dtype") if options.raw(name) not in (None, "auto")), None)
    stored = word(kept, "", _TORCH) if kept else half
    if kept is None:
        not_read.append(f"torch_dtype (not said: weights are taken in {half})")
    optimizer, buffer, device_of_states = word("optim", "adamw_torch", _TRAINER_OPTIMIZERS)
    stage, offloaded = _sharding(options, shards, fsdp_config, not_read)
    quantized = flag("load_in_4bit") or str(options.raw("quantization_bit", "")) == "4"
    adapters = flag("use_peft") or word("finetuning_type", "full") == "lora" or options.raw("lora_r") is not None
    rank = number("lora_r", options.raw("lora_rank", 8))
    targets = re.findall(r"\w+", str(options.raw("lora_target_modules", options.raw("lora_target", "q_proj v_proj"))))
    products = {"q_proj", "k_proj", "v_proj", "o_proj"}
    wide = "attention" if targets and set(targets) <= products else "all_linear"
    wide = "query_value" if targets and set(targets) <= {"q_proj", "v_proj"} else wide
    if quantized and not adapters:
        raise CatalogError(
            f"{source}: weights in 4 bit are trained by adapters alone; give use_peft or finetuning_type"
        )
    compiled, liger = (
        flag("torch_compile"),
        flag("use_liger_kernel") or flag("use_liger") or flag("enable_liger_kernel"),
    )
    states = {"adamw": "adam_bf16"} if stored == "bf16" and not adapters else {}
    arguments: dict[str, Any] = {
        "fleet_size": accelerators,
        "batch_size": micro * steps * accelerators,
        "seq_len": number("seq_len", override=seq_len) if seq_len is not None else number(lengths[0]),
        "gradient_accumulation_steps": steps,
        "precision": half if half != "fp32" else stored,
        "weight_dtype": "nf4" if quantized else stored,
        "gradient_dtype": stored if not quantized else half,
        "optimizer": states.get(optimizer, optimizer),
        "master_weights": False,
        "zero_stage": stage,
        "finetuning": ("qlora" if quantized else "lora") if adapters else "full",
        "activation_checkpointing": "full" if flag("gradient_checkpointing") else "none",
        "loss_kernel": "fused_linear" if liger else "compiled" if compiled else None,
        "elementwise_kernels": "fused" if compiled or liger else None,
        "update_buffer": buffer,
        "optimizer_device": "host" if offloaded or device_of_states == "host" else "accelerator",
    }
    attention = word("attn_implementation", "sdpa")
    if attention == "eager":
        arguments["attention_kernel"] = "eager"
    elif attention not in ("sdpa", "auto") and not re.search("flash|flex", attention):
        not_read.append(f"attn_implementation = {attention} (counted as flash attention)")
    if shards is not None and half != "fp32":
        arguments |= {"optimizer": optimizer, "master_weights": True, "update_buffer": "none"}
        arguments |= {"gradient_dtype": half if stage == 1 else "both", "gradients_at_loss": True}
        if stage == 1:
            not_read.append("deepspeed.zero_optimization.stage = 1 (without the fp32 copy of its share of gradients)")
        arguments |= {} if quantized else {"weight_dtype": half}
    if adapters:
        # Hidden states are handed on in fp32 by FSDP in mixed precision, and by 4-bit models that PEFT prepares; those
        # that were measured with Liger were not prepared.
        wide_states = half != "fp32" if shards is None and stage else quantized and not liger
        arguments |= {"residual_dtype": "fp32"} if wide_states else {}
        arguments |= {"lora_rank": rank, "lora_target_modules": wide}
    not_read += options.rest(_TRAINER_NEUTRAL)
    device, software = _entry_of("hardware", hardware), _entry_of("stack", stack)
    return _recipe(options, not_read, "Trainer", model=entry, hardware=device, stack=software, **arguments)


def _of_hub(named: str) -> tuple[Any, str]:
    """Find the entry of a file or Hub repository, and what is assumed about it.

    Tuned copies, and copies in other file formats, have the shape of their original.
    """
    last = named.rpartition("/")[2]
    made_of = re.sub(r"(?i)^meta-|-(hf|base|chat|instruct|it)(?![a-z0-9])", "", last)
    for name in (named, last, made_of):
        try:
            entry = _entry_of("model", name)
        except (CatalogError, UnknownNameError):
            continue
        return entry, "" if name != made_of or name == last else f"taken as {entry.name}"
    return None, "no entry: give model=..."


def _one_level(text: str) -> dict[str, Any]:
    """Parse YAML of one level: a name and its value on each line."""
    values: dict[str, Any] = {}
    for line in text.splitlines():
        match = re.match(r"([A-Za-z_]\w*)\s*:\s*(.*?)\s*(?:#.*)?$", line)
        if match:
            values[match[1]] = match[2].strip("'\"") or None
        elif line.strip() and not line.lstrip().startswith(("#", "---")):
            raise ValueError(f"{line.strip()[:40]!r}: one level of names and values is read")
    return values


def _sharding(options: _Options, shards: Any, fsdp_config: Any, not_read: list[str]) -> tuple[int, bool]:
    """Return the ZeRO stage of a run, and whether its optimizer state is on the host."""
    shards, fsdp_config = (
        content_of(Path(table), "JSON", json.loads) if isinstance(table, str) else table
        for table in (shards, fsdp_config)
    )
    if isinstance(shards, Mapping):
        deepspeed = _Options(_flat(shards), f"{options.source}: deepspeed", lambda name: name)
        zero = "zero_optimization"
        stage = deepspeed.whole(f"{zero}.stage", 0, 0)
        if stage > 3:
            raise CatalogError(f"{deepspeed.source}: {zero}.stage: {stage} is none of 0 to 3")
        device = deepspeed.word(f"{zero}.offload_optimizer.device", "none")
        if device == "nvme":
            not_read.append(f"deepspeed.{zero}.offload_optimizer.device = nvme (taken to the host)")
        not_read += [
            f"deepspeed.{name}" for name in deepspeed.rest(_DEEPSPEED_NEUTRAL) if deepspeed.raw(name) != "auto"
        ]
        return stage, device in ("cpu", "nvme")
    names = re.findall(r"\w+", "full_shard" if options.raw("fsdp") is True else str(options.raw("fsdp", "")).lower())
    for name in names:
        if name not in (*_FSDP, "offload", "auto_wrap", "true", "false"):
            raise CatalogError(f"{options.source}: {UnknownNameError('fsdp', name, (*_FSDP, 'offload', 'auto_wrap'))}")
    stage = next((_FSDP[name] for name in names if name in _FSDP), 0)
    if "offload" in names:
        not_read.append("fsdp = offload (states alone are taken to the host, not weights)")
    of_fsdp = _Options(_flat(fsdp_config), options.source, lambda name: name.removeprefix("fsdp_"))
    not_read += [f"fsdp_config.{name}" for name in of_fsdp.rest(_FSDP_NEUTRAL)]
    return stage, "offload" in names


#: Words that identify the files of frameworks, unsupported ones first, and the readers of the others.
_TOLD_BY: tuple[tuple[str, str, Callable[..., Recipe] | None], ...] = (
    ("torchtune", r"_component_\W", None),
    ("axolotl", r"^\W*base_model\W*[:=]", None),
    ("DeepSpeed", r"^\W*(zero_optimization|train_micro_batch_size_per_gpu)\W*:", None),
    ("NeMo", r"^\W*(defaults|exp_manager)\W*:", None),
    ("Megatron-LM", r"(?<![\w-])(--)?num[-_]layers\b", from_megatron_config),
    ("torchtitan", r"^\[(job|model|training|parallelism)\]", from_torchtitan_toml),
    ("a Trainer", r"(per[-_]device[-_]train[-_]batch[-_]size|model[-_]name[-_]or[-_]path)", from_trainer_arguments),
)


def from_file(file: str) -> Recipe:
    """Read a run from a file, whose options identify Megatron-LM, torchtitan or Hugging Face's Trainer."""
    text = content_of(Path(file), "a training run", str)
    told = ((name, read) for name, words, read in _TOLD_BY if re.search(words, text, re.MULTILINE))
    by_ending = {".toml": ("", from_torchtitan_toml), ".json": ("", from_trainer_arguments)}
    name, read = next(told, by_ending.get(Path(file).suffix, ("", None)))
    if read is not None:
        return read(file)
    refusal = f"a run of {name}, which is not read" if name else "not known as a run of any framework"
    named = f": give stack={quoted(name)} and its arguments" if name in ("torchtune", "DeepSpeed") else ""
    raise CatalogError(
        f"{Path(file).name}: {refusal}{named}; read are options of Megatron-LM (num-layers, in a command line or "
        "YAML), jobs of torchtitan ([model] and [training] in TOML) and arguments of a Trainer "
        "(per_device_train_batch_size, in JSON, YAML or a command line)"
    )
