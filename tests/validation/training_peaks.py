"""Peaks of training that frameworks logged, asked by the options of each run and the name of its stack."""

import json
from collections import defaultdict
from functools import cache, partial
from pathlib import Path
from typing import Any

from validation.checks import Check, Group, Spread

from mlsysim import Models, TrainingMemoryModel, from_megatron_config
from mlsysim.study.results.result import Result

#: A sample of both tables, drawn by a fixed hash; the whole stands beside the project where it is developed.
SAMPLE: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
WHOLE = Path(__file__).parents[3] / "shared" / "validation" / "data"
MEMORY = TrainingMemoryModel("per_operator")

#: Options of Megatron-LM by our names of what they say.
NAMED = {
    "layers": "num-layers", "hidden_dim": "hidden-size", "heads": "num-attention-heads", "head_dim": "kv-channels",
    "ffn_dim": "ffn-hidden-size", "vocab_size_padded": "padded-vocab-size", "seq_len": "seq-length",
    "micro_batch_size": "micro-batch-size", "batch_size": "global-batch-size", "tp_size": "tensor-model-parallel-size",
    "pp_size": "pipeline-model-parallel-size", "cp_size": "context-parallel-size",
    "ep_size": "expert-model-parallel-size", "etp_size": "expert-tensor-parallel-size",
    "interleaved_stages": "num-virtual-stages-per-pipeline-rank",
    "sequence_parallel": "sequence-parallel", "distributed_optimizer": "use-distributed-optimizer",
    "distributed_optimizer_instances": "num-distributed-optimizer-instances", "optimizer": "optimizer",
    "attention_backend": "attention-backend", "hidden_dropout": "hidden-dropout",
    "attention_dropout": "attention-dropout", "implementation": "transformer-impl",
    "positions": "position-embedding-type", "qk_norm": "qk-layernorm",
    "gated": "swiglu", "learned_positions": "max-position-embeddings", "experts": "num-experts",
    "active_experts_per_token": "moe-router-topk", "expert_ffn_dim": "moe-ffn-hidden-size",
    "dispatcher": "moe-token-dispatcher-type",
    "shared_ffn_dim": "moe-shared-expert-intermediate-size", "grouped_gemm": "moe-grouped-gemm",
    "q_lora_rank": "q-lora-rank", "kv_lora_rank": "kv-lora-rank", "qk_nope_head_dim": "qk-head-dim",
    "qk_rope_head_dim": "qk-pos-emb-head-dim", "v_head_dim": "v-head-dim", "mtp_layers": "mtp-num-layers",
    "deferred_weight_gradients": "wgrad-deferral-limit", "recompute": "recompute-granularity",
    "recompute_modules": "recompute-modules", "layers_first_stage": "decoder-first-pipeline-num-layers",
    "layers_last_stage": "decoder-last-pipeline-num-layers", "pipeline_layout": "pipeline-model-parallel-layout",
    "microbatch_group": "microbatch-group-size-per-virtual-pipeline-stage",
}  # fmt: skip
DEVICES = {"a100": "A100", "h100": "H100", "gb200": "GB200"}
#: Kinds of rows of Megatron-LM, in words.
KINDS = {"dense": "Dense", "moe": "Experts", "mla": "Latent attention", "bert": "BERT", "muon": "Muon"}

TRAINED: dict[str, Any] = {
    "mistralai/Mistral-7B-v0.1": Models.Language.Mistral_7B,
    "TheBloke/Mistral-7B-v0.1-GPTQ": Models.Language.Mistral_7B,
    "meta-llama/Meta-Llama-3-8B": Models.Language.Llama3_8B,
    "TechxGenus/Meta-Llama-3-8B-GPTQ": Models.Language.Llama3_8B,
    "mistralai/Mixtral-8x7B-Instruct-v0.1": Models.Language.Mixtral_8x7B,
    "TheBloke/Mixtral-8x7B-Instruct-v0.1-GPTQ": Models.Language.Mixtral_8x7B,
    "NousResearch/Llama-2-70b-hf": Models.Language.Llama2_70B,
    "TheBloke/Llama-2-70B-GPTQ": Models.Language.Llama2_70B,
}


def options(config: dict[str, Any]) -> dict[str, Any]:
    """Options of Megatron-LM that say the same."""
    said = {name: config.get(ours) for ours, name in NAMED.items()}
    found = {name: value for name, value in said.items() if value is not None and value is not False}
    if config["kv_heads"] != config["heads"]:
        found |= {"group-query-attention": True, "num-query-groups": config["kv_heads"]}
    found |= {"multi-latent-attention": True} if config.get("kv_lora_rank") else {}
    found |= {} if config["linear_bias"] else {"disable-bias-linear": True}
    found |= {} if config["tied_embeddings"] else {"untie-embeddings-and-output-weights": True}
    found["normalization"] = "LayerNorm" if config["norm"] == "layer" else "RMSNorm"
    found |= {"fp16": True} if config["precision"] == "fp16" else {"bf16": True}
    found |= {"fp8-format": "hybrid"} if config["precision"] == "fp8" else {}
    found |= {"grad-reduce-in-bf16": True} if config["gradient_bytes"] == 2 and config["precision"] != "fp16" else {}
    found |= {} if config["attention_mask_loaded"] else {"no-create-attention-mask-in-dataloader": True}
    found |= {"cross-entropy-loss-fusion": True} if config.get("loss_fusion") else {}
    pattern = config.get("moe_layer_pattern")
    if isinstance(pattern, list):
        found["moe-layer-freq"] = f"({pattern})" if len(pattern) == config["layers"] else len(pattern)
    if config.get("cublas_workspace"):
        found["ENV_VARS"] = {"CUBLAS_WORKSPACE_CONFIG": config["cublas_workspace"]}
    return found


@cache
def megatron_rows(whole: bool) -> list[dict[str, Any]]:
    """Runs with what they logged: of the sample, or of the whole table."""
    if not whole:
        common = SAMPLE["common"]
        return [{**row, "config": {**common, **row["config"]}} for row in SAMPLE["megatron"]]
    file = json.loads((WHOLE / "megatron_memory_shown.json").read_text(encoding="utf-8"))
    return [
        {"case": row["case"], "group": row["group"], "device": each["device"], "accelerators": row["accelerators"],
         "inferred": row["accelerators_inferred"], "allocated": each["allocated_bytes"], "peak": each["peak_bytes"],
         "config": row["config"]}
        for row in file["rows"] if row["group"] in KINDS and not row.get("not_in_the_law")
        for each in row["measured"]
    ]  # fmt: skip


@cache
def megatron(whole: bool) -> list[tuple[dict[str, Any], Result]]:
    """Rows with our results."""
    found = []
    for row in megatron_rows(whole):
        recipe = from_megatron_config(
            options(row["config"]), accelerators=row["accelerators"], hardware=DEVICES[row["device"]]
        )
        found.append((row, MEMORY.solve(recipe=recipe, peak_rank="last")))
    return found


def trainer_arguments(row: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a run of the Trainer, from its framework and layout."""
    framework, ranks = row["framework"], row["accelerators"]
    loss = "fused_linear" if "liger" in framework else "fast" if "foak" in framework else "eager_referenced"
    found = {
        "model": TRAINED[row["model"]], "hardware": "A100", "stack": "HF_Trainer", "loss_kernel": loss,
        "precision": "bf16", "batch_size": row["micro_batch_size"] * ranks, "seq_len": row["seq_len"], "dp_size": ranks,
        "zero_stage": 3 if ranks > 1 else 0, "optimizer": "adamw", "master_weights": False,
        "activation_checkpointing": "full",
    }  # fmt: skip
    if row["adapters"]:
        narrow = row["weights"] == "4bit"
        found |= {"finetuning": "qlora" if narrow else "lora", "lora_rank": 16, "lora_target_modules": "attention"}
        found |= {"weight_dtype": "int4_g128"} if "gptq" in framework else {}
        wide = ranks > 1
        found |= {"residual_dtype": "fp32"} if wide or "baseline" in framework else {}
    elif row["autocast"] and ranks > 1:
        found |= {"weight_dtype": "fp32", "gradient_dtype": "fp32"}
    return found


@cache
def trainer_rows(whole: bool) -> list[dict[str, Any]]:
    """Runs of the Trainer on models of the catalog, on full sequences."""
    if whole:
        rows = json.loads((WHOLE / "hf_memory_shown.json").read_text(encoding="utf-8"))["rows"]
    else:
        rows = [dict(zip(SAMPLE["trainer_columns"], row, strict=True)) for row in SAMPLE["trainer"]]
    return [row for row in rows if row["seq_len"] and row["model"] in TRAINED]


@cache
def trainer(whole: bool) -> list[tuple[dict[str, Any], Result]]:
    """Rows with our results."""
    return [(row, MEMORY.solve(**trainer_arguments(row))) for row in trainer_rows(whole)]


ROUNDED = (
    "PyTorch's allocator keeps what is left of a block with its tensor, 3 to 16 MB a run, which is not counted: half a "
    "percent of models as small as most of these (12 layers of width 512)"
)
LATENT = (
    "two of the rows are proxies of DeepSeek-V3 whose ranks are inferred and whose exchange buffers are not counted, "
    "and layers for further tokens keep less than is counted"
)
BERT = (
    "the release runs have ranks that are inferred, and heads of BERT beside that of the language model are not counted"
)
MUON = "its experts are logged at their largest imbalance"
HALVES = (
    "with FSDP and residuals in fp32 what layers keep and the loss are not at their highest together, as is counted"
)
UNEVEN = (
    "peaks of experts are logged at the largest imbalance of 50 to 100 steps, and are asked with none, which is a "
    "bound from below"
)
MISSED = {"mla": LATENT, "bert": BERT, "muon": MUON}
#: How far off a single row may be: experts are logged at their largest imbalance, ranks of releases are inferred.
FURTHEST = {"dense": 0.04, "moe": 0.04, "mla": 0.19, "bert": 0.2, "muon": 0.06}


def megatron_spreads(whole: bool) -> list[Spread]:
    """Errors of peaks, and of what is there all the time, by kind of model."""
    found = []
    for group, words in KINDS.items():
        own = [each for each in megatron(whole) if each[0]["group"] == group]
        if len(own) < 4:
            continue
        peaks = [ours.canonical("total_memory") / row["peak"] - 1 for row, ours in own]
        known = [ours.canonical("memory_after_step") / row["allocated"] - 1 for row, ours in own if not row["inferred"]]
        allowed = 0.005 if group == "dense" else 0.02
        missed = {**MISSED, **({"moe": UNEVEN} if whole else {})}.get(group, "")
        found.append(Spread(f"{words}: peak", peaks, allowed, missed=missed))
        rounded = "" if whole and group == "moe" else ROUNDED
        found.append(Spread(f"{words}: after a step", known, 0.003, missed=rounded))
    return found


def megatron_checks(whole: bool) -> list[Check]:
    """Peaks of models that are wide enough to say something of others."""
    return [
        Check(f"{row['case']}, {DEVICES[row['device']]}", row["peak"] / 1e9, ours.canonical("total_memory") / 1e9,
              FURTHEST[row["group"]], "GB")
        for row, ours in megatron(whole) if row["config"]["hidden_dim"] >= 1024
    ]  # fmt: skip


def trainer_spreads(whole: bool) -> list[Spread]:
    """Errors of peaks, by what is trained."""
    kinds: dict[str, list[float]] = defaultdict(list)
    for row, ours in trainer(whole):
        kind = (
            "4-bit weights, adapters" if row["weights"] == "4bit" else "Adapters" if row["adapters"] else "All weights"
        )
        for each in ("All", kind):
            kinds[each].append(ours.canonical("total_memory") / row["peak_bytes"] - 1)
    return [Spread(kind, each, 0.025, missed=HALVES if kind == "Adapters" else "") for kind, each in kinds.items()]


def trainer_checks(whole: bool) -> list[Check]:
    """Runs that train all weights, whose peak is the update."""
    return [
        Check(f"{row['model']}, {row['accelerators']} x {row['micro_batch_size']} x {row['seq_len']} tokens",
              row["peak_bytes"] / 1e9, ours.canonical("total_memory") / 1e9, 0.005, "GB")
        for row, ours in trainer(whole) if not row["adapters"] and row["framework"] == "none"
    ]  # fmt: skip


#: Of Megatron-DeepSpeed: recomputation, ranks of tensors, stages, data, micro-batch, and gigabytes of nvidia-smi.
DEEPSPEED_ROWS = (
    ("full", 1, 1, 8, 1, 16), ("full", 1, 1, 8, 2, 17), ("full", 1, 1, 8, 4, 20), ("full", 1, 1, 8, 8, 25),
    ("full", 1, 2, 4, 1, 10), ("full", 1, 2, 4, 2, 11), ("full", 1, 2, 4, 8, 15), ("full", 1, 4, 2, 1, 9),
    ("full", 1, 4, 2, 8, 13), ("full", 2, 1, 4, 1, 11), ("none", 1, 1, 8, 1, 27), ("none", 1, 2, 4, 1, 21),
    ("none", 1, 4, 2, 1, 19), ("none", 1, 4, 2, 2, 30), ("none", 2, 1, 4, 1, 21), ("full", 1, 8, 1, 1, 9),
    ("full", 1, 8, 1, 4, 11),
)  # fmt: skip
#: The same runs that ended out of memory, by device.
DEEPSPEED_ENDED = (
    ("V100", "full", 1, 2, 4, 16), ("V100_16GB", "full", 1, 2, 4, 8), ("V100_16GB", "full", 1, 4, 2, 8),
    ("V100_16GB", "full", 1, 8, 1, 8),
)  # fmt: skip
BIGSCIENCE = {
    "layers": 24, "hidden_dim": 2048, "heads": 16, "kv_heads": 16, "head_dim": 128, "ffn_dim": 8192, "gated": False,
    "vocab_size": 50257, "tied_embeddings": True, "mlp_bias": True, "qkv_bias": True, "attention_output_bias": True,
    "norm_bias": True, "learned_positions": 2048, "seq_len": 2048, "precision": "fp16", "experts": 1,
    "active_experts_per_token": 1, "moe_layers": 0, "moe_layer_interval": 1, "expert_ffn_dim": 0, "shared_ffn_dim": 0,
    "router_bias": False, "stack": "DeepSpeed", "zero_stage": 1, "attention_kernel": "unfused",
    "dropout_mask_bytes": 1, "batch_size": 512,
}  # fmt: skip


def bigscience(recomputed: str, tensors: int, stages: int, data: int, sequences: int, device: str = "V100") -> Result:
    """One run of 1.3 billion parameters by its layout."""
    return MEMORY.solve(
        **BIGSCIENCE, hardware=device, activation_checkpointing=recomputed, tp_size=tensors, pp_size=stages,
        dp_size=data, gradient_accumulation_steps=512 // (data * sequences),
    )  # fmt: skip


UNREAD = (
    "with a pipeline the reading is of one rank, rounded to a gigabyte, and may be that of a stage without a loss; "
    "with two tensor-parallel ranks more is shown than lives"
)
MISREAD = {("full", 1, 2, 4, 2), ("full", 1, 2, 4, 8), ("full", 1, 4, 2, 8), ("full", 2, 1, 4, 1), ("none", 2, 1, 4, 1)}


def deepspeed_checks() -> list[Check]:
    """What nvidia-smi shows of runs by DeepSpeed, contexts included."""
    found = []
    for *layout, shown in DEEPSPEED_ROWS:
        ours = bigscience(*layout).canonical("reported_memory") / 1e9
        recomputed, tensors, stages, data, sequences = layout
        what = f"recomputed {recomputed}, {tensors} x {stages} x {data} ranks, {sequences} sequences"
        missed = UNREAD if tuple(layout) in MISREAD else ""
        found.append(Check(what, shown, ours, 0.1, "GB", missed=missed))
    return found


#: Runs that ended out of memory: who says so, and what they asked for.
ENDED = {
    "hiyouga/LlamaFactory issue 1221, Llama 7B, ZeRO-2 on eight V100": {
        "model": "Llama2_7B", "hardware": "V100", "stack": "DeepSpeed", "precision": "fp16", "batch_size": 8,
        "dp_size": 8, "zero_stage": 2, "seq_len": 1024, "activation_checkpointing": "full", "update_buffer": "foreach",
    },
    "ZHZisZZ/dllm issue 9, 8B, ZeRO-2 on two A100 of 40 GB": {
        "model": "Llama3_8B", "hardware": "A100_40GB", "stack": "DeepSpeed", "precision": "bf16", "batch_size": 16,
        "gradient_accumulation_steps": 4, "dp_size": 2, "zero_stage": 2, "seq_len": 1024,
        "activation_checkpointing": "full",
    },
    "meta-llama/llama-cookbook issue 413, Llama 2 7B in fp32 on an A100": {
        "model": "Llama2_7B", "hardware": "A100", "stack": "HF_Trainer", "precision": "fp32", "batch_size": 1,
        "seq_len": 1024, "activation_checkpointing": "full",
    },
}  # fmt: skip


def ended() -> list[tuple[str, Result]]:
    """Runs that ended out of memory, with our results."""
    found = [(what, MEMORY.solve(**asked)) for what, asked in ENDED.items()]
    for device, *layout in DEEPSPEED_ENDED:
        what = f"bigscience 1.3B, {device}, {layout[2]} stages, {layout[-1]} sequences"
        found.append((what, bigscience(*layout, device=device)))
    return found


def verdict_checks(whole: bool) -> list[Check]:
    """How many of the runs that ended are said to fit, and of those that ran not to."""
    ran = [ours["fit"] for _, ours in (*megatron(whole), *trainer(whole))]
    return [
        *(Check(f"{what}: said to fit", 0, int(ours["fit"] == "fits"), 0) for what, ours in ended()),
        Check("runs that ended and are said to fit", 0, sum(ours["fit"] == "fits" for _, ours in ended()), 0),
        Check("runs that ran and are said not to fit", 0, sum(fit == "does not fit" for fit in ran), 0),
    ]


def verdicts(whole: bool) -> str:
    """What share of the runs that ran is too close to call, in words."""
    ran = [ours["fit"] for _, ours in (*megatron(whole), *trainer(whole))]
    close = sum(fit == "too close to call" for fit in ran)
    stopped = sum(ours["fit"] == "too close to call" for _, ours in ended())
    return (
        f"`fit` of every run above, on its own device and by the error of its stack: {close} of {len(ran)} that ran "
        f"are too close to call, {100 * close / len(ran):.1f}%, where a fifth is allowed. Of {len(ended())} that ended "
        f"out of memory none is said to fit; {stopped} are too close to call."
    )


#: Rows of measure_peaks.py, as it was run on one GPU.
MEASURED: dict[str, Any] = json.loads(Path(__file__).with_name("measured_peaks.json").read_text(encoding="utf-8"))
_DENSE = {
    "experts": 1, "active_experts_per_token": 1, "moe_layers": 0, "moe_layer_interval": 1, "expert_ffn_dim": 0,
    "shared_ffn_dim": 0, "router_bias": False, "gated": True,
}  # fmt: skip
_LLAMA = {**_DENSE, "heads": 32, "kv_heads": 8, "vocab_size": 128256}
#: Shapes as the script has them, without layers.
SHAPES: dict[str, dict[str, Any]] = {
    "Llama-3.2-1B": {**_LLAMA, "hidden_dim": 2048, "head_dim": 64, "ffn_dim": 8192, "tied_embeddings": True},
    "Llama-3.1-8B": {**_LLAMA, "hidden_dim": 4096, "head_dim": 128, "ffn_dim": 14336, "tied_embeddings": False},
    "Qwen2.5-7B": {
        **_DENSE, "hidden_dim": 3584, "heads": 28, "kv_heads": 4, "head_dim": 128, "ffn_dim": 18944,
        "vocab_size": 152064, "tied_embeddings": False, "qkv_bias": True,
    },
    "Qwen3-30B-A3B": {
        "hidden_dim": 2048, "heads": 32, "kv_heads": 4, "head_dim": 128, "ffn_dim": 6144, "gated": True,
        "vocab_size": 151936, "tied_embeddings": False, "qk_norm": True, "experts": 128, "active_experts_per_token": 8,
        "moe_layer_interval": 1, "expert_ffn_dim": 768, "shared_ffn_dim": 0, "router_bias": False,
    },
    "GPT2-XL": {
        **_DENSE, "gated": False, "hidden_dim": 1600, "heads": 25, "kv_heads": 25, "head_dim": 64, "ffn_dim": 6400,
        "vocab_size": 50257, "tied_embeddings": True, "mlp_bias": True, "qkv_bias": True,
        "attention_output_bias": True, "norm_bias": True, "learned_positions": 1024, "dropout_mask_bytes": 1,
    },
}  # fmt: skip


def measured_run(row: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a run of the script."""
    sparse = {"moe_layers": row["layers"]} if row["model"] == "Qwen3-30B-A3B" else {}
    found = {
        **SHAPES[row["model"]], **sparse, "layers": row["layers"], "hardware": "H200", "stack": "HF_Trainer",
        "precision": "bf16", "seq_len": row["seq_len"], "batch_size": row["micro_batch_size"] * row["micro_batches"],
        "gradient_accumulation_steps": row["micro_batches"], "optimizer": "adamw", "master_weights": False,
        "activation_checkpointing": "full" if row["checkpointing"] else "none", "update_buffer": row["update"],
        "attention_kernel": "flash" if row["attention"] == "sdpa" else "eager",
    }  # fmt: skip
    if row["parameters"] == "fp32":
        found |= {"weight_dtype": "fp32", "gradient_dtype": "fp32", "residual_dtype": "fp32"}
    if row["adapted"]:
        targets = "attention" if row["adapted"] == 4 else "all_linear"
        found |= {"finetuning": "lora", "lora_rank": 16, "lora_target_modules": targets}
    return found


@cache
def measured() -> list[tuple[dict[str, Any], Result]]:
    """Rows with our results."""
    rows = [dict(zip(MEASURED["columns"], row, strict=True)) for row in MEASURED["rows"]]
    return [(row, MEMORY.solve(**measured_run(row))) for row in rows]


COMPOSED = (
    "GPT-2 of transformers has its activation function as five kernels, of which each keeps a tensor as wide as the "
    "feed-forward block, in fp32 under autocast, and its eager attention keeps scores at 16 bit"
)


def measured_checks() -> list[Check]:
    """Peaks that PyTorch allocated, each of a run of three steps."""
    found = []
    for row, ours in measured():
        how = [f"{row['layers']} layers", f"{row['micro_batch_size']} x {row['seq_len']} tokens", row["parameters"]]
        how += ["recomputed"] * row["checkpointing"] + ["eager attention"] * (row["attention"] == "eager")
        how += [row["update"]] + [f"adapters of {row['adapted']} products"] * (row["adapted"] > 0)
        how += ["autocast"] * row["autocast"] + [f"{row['micro_batches']} micro-batches"] * (row["micro_batches"] > 1)
        composed = row["model"] == "GPT2-XL" and not row["checkpointing"]
        found.append(
            Check(f"{row['model']}, {', '.join(how)}", row["allocated"] / 1e9, ours.canonical("total_memory") / 1e9,
                  0.02, "GB", missed=COMPOSED if composed else "")
        )  # fmt: skip
    return found


def measured_spreads() -> list[Spread]:
    """Errors of peaks, of moments, and of what is there after a step."""
    rows = [(row, ours) for row, ours in measured() if row["model"] != "GPT2-XL"]
    errors = {
        "peak": [ours.canonical("total_memory") / row["allocated"] - 1 for row, ours in rows],
        "after a step": [ours.canonical("memory_after_step") / row["after_step"] - 1 for row, ours in rows],
        "reserved": [
            ours.canonical("total_memory") * (1 + ours["pool_share"]) / row["reserved"] - 1 for row, ours in rows
        ],
    }
    allowed = {"peak": 0.005, "after a step": 0.005, "reserved": 0.05}
    return [Spread(f"Without GPT-2: {name}", each, allowed[name]) for name, each in errors.items()]


MEGATRON = "NVIDIA/Megatron-LM d98e8a64, golden values and configurations of its functional tests"
TRAINER = "foundation-model-stack/fms-acceleration, scripts/benchmarks/refs"
ASKED = (
    "Every run is solved with its own options, as `from_megatron_config` reads them, with the stack `Megatron_LM`, its "
    'device and `peak_rank="last"`, which is the rank that logs. After a step weights, gradients, states, workspaces '
    "are left."
)
TRAINED_BY = (
    "Every run is solved with the stack `HF_Trainer` and what its script says: accelerators, batch, adapters, formats "
    "and the kernel of its loss. Peaks are those that PyTorch allocated on A100."
)


def _group(name: str, title: str, about: str, source: str, checks: Any, spreads: Any, whole: bool) -> Group:
    drawn = "all rows that were published" if whole else "a sample, drawn by a hash"
    return Group(
        f"{name}_whole" if whole else name, f"{title}: {'all rows' if whole else 'a sample'}", f"{about} Here {drawn}.",
        source, partial(checks, whole), spreads=partial(spreads, whole), beside_project=whole, long=whole,
    )  # fmt: skip


GROUPS = tuple(
    _group(*each, whole)
    for whole in (False, True)
    for each in (
        ("megatron_peaks", "Peaks of Megatron-LM", ASKED, MEGATRON, megatron_checks, megatron_spreads),
        ("trainer_peaks", "Peaks of the Trainer", TRAINED_BY, TRAINER, trainer_checks, trainer_spreads),
    )
)
GROUPS += (
    Group(
        "measured_peaks",
        "Peaks of one GPU",
        "Models of transformers with random weights, with the stack `HF_Trainer` and what each run was: formats, "
        "kernels, recomputation, batch. The law was held against them once before anything was changed: median 0.25%, "
        "worst 33%; what it lacked then was counted: inputs that frozen products need not keep, what autocast casts, "
        "the gradient of a tied embedding. Workspaces are those of the stack, 0.05 GB less than on this device.",
        "measured by tests/validation/measure_peaks.py on one NVIDIA H200, torch 2.11, transformers 5.17, peft 0.21",
        measured_checks,
        summary=True,
        spreads=measured_spreads,
    ),
    Group(
        "deepspeed_peaks",
        "Peaks of DeepSpeed",
        "1.3 billion parameters of GPT on V100, with ZeRO-1: `reported_memory` of the stack `DeepSpeed`, whose users "
        "read the device, so that contexts are in it. 10% are allowed, as gigabytes are whole.",
        "bigscience-workshop/bigscience, experiments/tr3m-1B3.md of January 2022",
        deepspeed_checks,
        summary=True,
    ),
    *(
        Group(
            "verdicts_whole" if whole else "verdicts",
            f"Peaks of runs, and verdicts: {'all rows' if whole else 'a sample'}",
            partial(verdicts, whole),
            "runs that were logged as done, and public reports of runs that ended out of memory",
            partial(verdict_checks, whole),
            beside_project=whole,
            long=whole,
        )
        for whole in (False, True)
    ),
)
