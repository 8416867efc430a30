"""Published training steps as calls that a user can repeat: ``DistributedModel().solve(...)`` on catalog entries."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mlsysim import DistributedModel

ROWS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("steps.json").read_text(encoding="utf-8"))
STEP = DistributedModel()

#: Recipes of the catalog whose throughput was published, and the row of each.
RECIPES = {
    "torchtitan_issue_1624": "llama4_ep EP=1",
    "Megatron_Qwen3_30B_A3B_H100": "megatron_bridge Qwen30 fp8 h100",
    "Megatron_Qwen3_30B_A3B_GB200": "megatron_bridge Qwen30 GB200 fp8",
    "Megatron_Qwen3_235B_A22B_GB200": "megatron_bridge Qwen235 GB200 bf16",
    "Megatron_DeepSeek_V3_GB300_bf16": "megatron_bridge DSV3 GB300 bf16",
    "Megatron_DeepSeek_V3_GB300_fp8": "megatron_bridge DSV3 GB300 fp8",
    "Megatron_DeepSeek_V3_GB200_bf16": "megatron_bridge DSV3 GB200 bf16",
    "Megatron_DeepSeek_V3_GB200_fp8": "megatron_bridge DSV3 GB200 fp8",
    "Megatron_DeepSeek_V3_B200_fp8": "megatron_bridge DSV3 B200 fp8",
    "Megatron_gpt_oss_120B_H100": "megatron_bridge GPTOSS h100",
}

#: For each stack its values that one row says: argument, rows (the median where there are several), limits of the
#: search. Each is found with the others as the catalog has them.
CALIBRATED: dict[str, tuple[tuple[str, tuple[str, ...], float, float], ...]] = {
    "DeepSpeed_A100": (("fabric_efficiency", ("narayanan2 ZeRO-3 174.6B 1536",), 0.02, 0.9),),
    "torchtitan_async_H100": (("tp_overlap", ("torchtitan 70B 256 asyncTP fp8",), 0.0, 1.0),),
    "torchtitan_H20": (("efficiency", ("llama4_ep EP=1",), 0.2, 1.0),),
}
_PORTS = {"fabric_bandwidth": "400 Gbit/s", "fabric_latency": "10 us"}
_HOPPER = {"node_bandwidth": "450 GB/s", "node_latency": "2 us", **_PORTS}
#: Where a row ran, as arguments: a cluster of the catalog, or a device of it with the ports of its node.
PLACES: dict[str, dict[str, Any]] = {
    "A100": {"fleet": "SuperPOD_A100"},
    "A100_40": {"fleet": "SuperPOD_A100", "memory_bandwidth": "1555 GB/s", "memory_capacity": "40 GiB"},
    "H100": {"fleet": "SuperPOD_H100"},
    # The H100 of torchtitan has 96 GB of HBM2e and 500 W.
    "H100_96": {
        "fleet": "SuperPOD_H100",
        "memory_bandwidth": "2400 GB/s",
        "memory_capacity": "96 GiB",
        "tdp": "500 W",
    },
    "H200": {"hardware": "H200", **_HOPPER},
    "H20": {"hardware": "H20", **_HOPPER},
    "B200": {"hardware": "B200", **_HOPPER, "node_bandwidth": "900 GB/s"},
    # A rack has 72 devices, of which these runs take 64.
    "GB200": {"fleet": "SuperPOD_GB200", "accelerators_per_node": 64},
    "GB300": {
        "hardware": "GB300",
        "accelerators_per_node": 64,
        "node_bandwidth": "900 GB/s",
        "node_latency": "2 us",
        "fabric_bandwidth": "800 Gbit/s",
        "fabric_latency": "10 us",
    },
}
#: The stack of a row by its group and device; those of single rows follow.
STACKS = {
    ("korthikanti5", "A100"): "Megatron_LM_A100",
    ("narayanan1", "A100"): "Megatron_LM_A100",
    ("narayanan2", "A100"): "Megatron_LM_A100",
    ("torchtitan", "A100"): "torchtitan_A100",
    ("torchtitan", "H100_96"): "torchtitan_H100",
    ("torchtitan", "H200"): "torchtitan_H100",
    ("mpt", "H100"): "MPT_H100",
    ("mpt", "A100"): "MPT_A100",
    ("mpt", "A100_40"): "MPT_A100",
    ("megatron_bridge", "H100"): "Megatron_Bridge_H100",
    ("megatron_bridge", "B200"): "Megatron_Bridge_B200",
    ("megatron_bridge", "GB200"): "Megatron_Bridge_GB200",
    ("megatron_bridge", "GB300"): "Megatron_Bridge_GB300",
    ("idefics", "A100"): "Generic",
    ("llama4_ep", "H20"): "torchtitan_H20",
}

#: Recomputed activations, as arguments; the step of a row is the mean of its variants.
_KEPT = {
    "none": ("none",),
    "core": ("selective",),
    "full": ("full",),
    "alt": ("alternate",),
    # Every second layer is recomputed: half the step of each.
    "layer2": ("none", "full"),
}
_SHAPE = {
    "L": "layers", "h": "hidden_dim", "a": "heads", "kv": "kv_heads", "dh": "head_dim", "ff": "ffn_dim",
    "V": "vocab_size", "gated": "gated", "tied": "tied_embeddings", "E": "experts", "k": "active_experts_per_token",
    "de": "expert_ffn_dim", "dsh": "shared_ffn_dim", "Lmoe": "moe_layers",
    "expert_bias": "expert_bias",
}  # fmt: skip
_DENSE = {"experts": 1, "active_experts_per_token": 1, "expert_ffn_dim": 0, "shared_ffn_dim": 0, "moe_layers": 0}
_LATENT = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


def name(row: dict[str, Any]) -> str:
    """Group and case."""
    return f"{row['group']} {row['name']}"


def calibrated_on(stack: str) -> set[str]:
    """Rows that single values of a stack come from."""
    return {row for _, rows, *_ in CALIBRATED.get(stack, ()) for row in rows}


def stack_of(row: dict[str, Any]) -> str:
    """The entry of the catalog for the software of a row on its device."""
    if row.get("flat"):
        return "DeepSpeed_A100"
    if row["group"] == "torchtitan" and row["asy"]:
        return "torchtitan_async_H100"
    return STACKS[row["group"], row["dev"]]


def shape(row: dict[str, Any]) -> dict[str, Any]:
    """The model of a row, tensor by tensor."""
    given = row["shape"]
    found = {**_DENSE, **{name: given[key] for key, name in _SHAPE.items() if key in given}}
    if "window" in given:
        # Every second layer looks back so far.
        found |= {"sliding_window": given["window"], "sliding_layers": given["L"] // 2}
    found.update(zip(_LATENT, given.get("mla", ()), strict=False))
    return {**found, "router_bias": False, "moe_layer_interval": 1, "gated": bool(given["gated"]),
            "tied_embeddings": bool(given["tied"])}  # fmt: skip


def arguments(row: dict[str, Any]) -> list[dict[str, Any]]:
    """What a user gives for a row, but the stack: model, place, published layout; one call per variant of it."""
    ranks = row["N"] // (row["t"] * row["p"] * row["c"])
    eager = row["core"] == "eager"
    found = {
        **shape(row), **PLACES[row["dev"]], "fleet_size": row["N"], "batch_size": row["b"], "seq_len": row["s"],
        "gradient_accumulation_steps": row["b"] // (ranks * row["m"]), "precision": "fp8" if row["fp8"] else "bf16",
        "zero_stage": row["Z"], "tp_size": row["t"], "pp_size": row["p"], "cp_size": row["c"], "ep_size": row["e"],
        "interleaved_stages": row["v"], "sequence_parallel": bool(row["sp"]),
        "gradient_dtype": "fp32" if row["fp32g"] else "bf16",
        "attention_kernel": "eager" if eager else "flash", "attention_mask": "full" if eager else "causal",
        "elementwise_kernels": "fused" if row["fused"] else "eager",
    }  # fmt: skip
    if "fabric" in row:
        found["fabric_bandwidth"] = f"{row['fabric'] / 1e9} GB/s"
    if "mtp" in row:
        found["mtp_layers"] = row["mtp"]
    if "redo" in row:
        # The module that the recipe recomputes; its expert activation is ours of all feed-forward blocks.
        found[f"recompute_{row['redo']}"] = True
    if "captured" in row:
        found["captured_share"] = row["captured"]
    if row["p"] > 1:
        # Recipes give every chunk as many layers where that is possible, and write down a split of their own elsewhere.
        found["pipeline_split"] = "balanced" if row["shape"]["L"] % (row["p"] * row["v"]) else "even"
    if "phi" in row:
        found["dp_overlap"] = row["phi"]
    calls = []
    for kept in _KEPT[row["ck"]]:
        alternate = kept == "alternate"
        calls.append({
            **found, "activation_checkpointing": "selective" if alternate else kept,
            "selective_policy": "alternate_matmuls" if alternate else "core_attention",
        })  # fmt: skip
    return calls


@cache
def _calls(place: int) -> list[dict[str, Any]]:
    return arguments(ROWS[place])


def seconds(row: dict[str, Any], **stack: Any) -> float:
    """Our step, with a stack or values of one."""
    calls = _calls(ROWS.index(row))
    return sum(STEP.solve(**{**call, **stack}).canonical("step_time") for call in calls) / len(calls)


def seconds_along(row: dict[str, Any], argument: str, values: Any, **stack: Any) -> np.ndarray:
    """Our step at each of several values of an argument."""
    calls = [{**call, **stack, argument: values} for call in _calls(ROWS.index(row))]
    return np.mean([STEP.sweep(**call, outputs=["step_time"]).step_time.values for call in calls], axis=0)


def measured(row: dict[str, Any], step: float) -> float:
    """A step in the unit of the row: seconds, tokens per second and device, or TFLOP/s by Narayanan's equation 3."""
    if row["unit"] == "s":
        return step
    tokens = row["b"] * row["s"] / row["N"] / step
    if row["unit"] == "tps":
        return tokens
    h, L, V = (row["shape"][key] for key in ("h", "L", "V"))
    return 96 * tokens * L * h * h * (1 + row["s"] / 6 / h + V / 16 / L / h) / 1e12


def published(row: dict[str, Any]) -> float:
    """Their step in seconds."""
    return row["val"] if row["unit"] == "s" else measured(row, 1.0) / row["val"]


def speed_error(row: dict[str, Any], **stack: Any) -> float:
    """Our throughput over theirs, less one."""
    return published(row) / seconds(row, **stack) - 1
