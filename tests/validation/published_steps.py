"""Step times, throughputs and utilizations that others measured, beside a step of ours.

One efficiency per class of device, one latency and bandwidth per class of link, and two factors of overlap
and rings are calibrated, each on one named row, which is then left out.
"""

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from validation.checks import Check, Group

from mlsysim import DistributedModel
from mlsysim.engine import compiled

ROWS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("steps.json").read_text(encoding="utf-8"))
STEP = DistributedModel()

#: Dense peaks in TFLOP/s at 16 and 8 bit, memory in GB/s, class of link, fabric per device in GB/s, ranks of a node.
DEVICES = {
    "A100": (312, 312, 2039, "A100", 25, 8),
    "A100_40": (312, 312, 1555, "A100", 25, 8),
    "H100": (989, 1979, 3350, "H100", 50, 8),
    "H100_96": (989, 1979, 2400, "H100", 50, 8),
    "H200": (989, 1979, 4800, "H200", 50, 8),
    "B200": (2250, 4500, 7700, "B200", 50, 8),
    "GB200": (2450, 4900, 8000, "B200", 50, 64),
    "GB300": (2450, 4900, 8000, "B200", 100, 64),
    "H20": (148, 296, 4000, "H200", 50, 8),
}
#: Calibrated: all-gathers among eight devices as aiconfigurator measured them, 512 MiB (GB/s) and 512 B (us).
LINKS = {"A100": (206.7, 2.22), "H100": (338.5, 1.48), "H200": (339.9, 1.48), "B200": (608.4, 2.32)}
#: Calibrated: products of 8192 by 8192 by 8192 at 8 bit over those at 16 bit, of aiconfigurator.
EIGHT_BIT = {"H100": 0.746, "H200": 0.746, "B200": 0.734, "A100": 1.0}
#: Assumed: a port reaches four fifths of its line rate, and a message takes 5 us over the fabric.
PORT, FABRIC_LATENCY = 0.8, 5e-6
#: Assumed: fused attention reaches half the rate of the products, cuDNN's (``att``) all of it.
ATTENTION = 0.5
#: The row each class of device has its efficiency from.
CALIBRATED_ON = {
    "A100": "mpt 7b s2048 8 a100_80gb m6x2",
    "H100": "mpt 7b s2048 8 h100_80gb m6x1",
    "H100_96": "torchtitan 8B 8 compile",
    "GB200": "megatron_bridge L3 8B GB200 fp8",
}
CLASS = {
    "A100": "A100", "A100_40": "A100", "H100": "H100", "H200": "H100", "H20": "H100", "H100_96": "H100_96",
    "B200": "GB200", "GB200": "GB200", "GB300": "GB200",
}  # fmt: skip
#: Rows the two further factors have their value from.
HIDDEN_ON = "torchtitan 70B 256 bf16 async"
FLAT_ON = "narayanan2 ZeRO-3 174.6B 1536"

CHECKPOINTS = {
    "none": [("none", "core_attention")],
    "core": [("selective", "core_attention")],
    "full": [("full", "core_attention")],
    "alt": [("selective", "alternate_matmuls")],
    # Every second layer: half the step of each.
    "layer2": [("none", "core_attention"), ("full", "core_attention")],
}


def name(row: dict[str, Any]) -> str:
    """Group and case."""
    return f"{row['group']} {row['name']}"


def inputs(row: dict[str, Any], *, efficiency: float, hidden: float, flat: float) -> dict[str, float]:
    """What the model is asked, canonical but for labels."""
    shape, (wide, narrow, memory, links, fabric, node) = row["shape"], DEVICES[row["dev"]]
    rank, latency = LINKS[links]
    r_q, r_kv, rope, nope, v = 0, 0, 0, 0, 0
    if "mla" in shape:
        r_q, r_kv, nope, rope, v = shape["mla"]
    port = PORT * row.get("fabric", 1e9 * fabric) / 1e9
    if row.get("flat"):
        rank, port = flat, flat
    ranks = row["N"] // (row["t"] * row["p"] * row["c"])
    full = row["core"] == "eager"
    rate = narrow * EIGHT_BIT[links] if row["fp8"] else wide
    # Attention is computed at 16 bit where the products are at 8.
    attention = (1.0 if full else ATTENTION / row["att"]) * wide / rate
    return {
        "layers": shape["L"], "hidden_dim": shape["h"], "heads": shape["a"], "kv_heads": shape["kv"],
        "head_dim": shape["dh"], "ffn_dim": shape["ff"], "vocab_size": shape["V"], "gated": shape["gated"],
        "tied_embeddings": shape["tied"], "experts": shape.get("E", 1), "active_experts_per_token": shape.get("k", 1),
        "expert_ffn_dim": shape.get("de", 0), "shared_ffn_dim": shape.get("dsh", 0), "moe_layers": shape.get("Lmoe", 0),
        "moe_layer_interval": 1, "router_bias": 0, "learned_positions": 0, "qkv_bias": 0, "attention_output_bias": 0,
        "mlp_bias": 0, "norm_bias": 0, "qk_norm": 0, "q_lora_rank": r_q, "kv_lora_rank": r_kv,
        "qk_rope_head_dim": rope, "qk_nope_head_dim": nope, "v_head_dim": v,
        "batch_size": row["b"], "gradient_accumulation_steps": row["b"] // (ranks * row["m"]), "seq_len": row["s"],
        "precision": "bf16", "optimizer": "adam", "zero_stage": row["Z"], "tp_size": row["t"], "pp_size": row["p"],
        "cp_size": row["c"], "ep_size": row["e"], "fleet_size": row["N"], "interleaved_stages": row["v"],
        "pipeline_schedule": "1f1b",
        "sequence_parallel": row["sp"], "gradient_storage": "fp32" if row["fp32g"] else "as_weights",
        "attention_kernel": "eager" if full else "flash", "attention_mask": "full" if full else "causal",
        "elementwise_kernels": "fused" if row["fused"] else "eager", "dropout_mask_bytes": 0.0,
        "trainable_fraction": 1.0, "routing_imbalance_factor": 1.0, "gathered_layers": 2, "reserved_memory": 0.0,
        "flop_convention": "counted", "memory_capacity": 80e9, "memory_bandwidth": memory * 1e9,
        "peak_flops": 1e12 * rate, "efficiency": efficiency,
        "attention_efficiency": attention,
        "memory_efficiency": 0.8, "link_efficiency": 1.0, "node_bandwidth": rank * 1e9, "node_latency": latency * 1e-6,
        "fabric_bandwidth": port * 1e9, "fabric_latency": FABRIC_LATENCY, "oversubscription": 1,
        "accelerators_per_node": node, "congestion_factor": 1.0, "straggler_factor": 1.0,
        # Megatron-LM of 2021 and 2022 reduced gradients after the last micro-batch.
        "dp_overlap": row.get("phi", 0.0 if row["Z"] == 0 else 1.0), "cp_overlap": 1.0,
        "tp_overlap": hidden if row["asy"] else 0.0,
        "training_tokens": 1e12, "tdp": 700.0, "idle_power_fraction": 0.3, "host_power_fraction": 0.0, "pue": 1.2,
        "grid_carbon": 0.0,
    }  # fmt: skip


def seconds(row: dict[str, Any], **calibrated: float) -> float:
    """Our step."""
    given = inputs(row, **calibrated)
    found = []
    for checkpointing, policy in CHECKPOINTS[row["ck"]]:
        point = {**given, "activation_checkpointing": checkpointing, "selective_policy": policy}
        values = {v.name: coded(v, point[v.name]) for v in STEP.system.inputs}
        found.append(float(compiled(STEP.system)(values)["step_time"]))
    return sum(found) / len(found)


def coded(variable: Any, value: Any) -> float:
    """A label by its place, a number as it is."""
    return float(variable.code(value)) if isinstance(value, str) else float(value)


def measured(row: dict[str, Any], step: float) -> float:
    """A step in the unit of the row: seconds, tokens per second and device, or TFLOP/s by Narayanan's equation 3."""
    if row["unit"] == "s":
        return step
    tokens = row["b"] * row["s"] / row["N"] / step
    if row["unit"] == "tps":
        return tokens
    shape = row["shape"]
    h, L, V, s = shape["h"], shape["L"], shape["V"], row["s"]
    return 96 * tokens * L * h * h * (1 + s / 6 / h + V / 16 / L / h) / 1e12


def found_at(case: str, value: Callable[[float, dict[str, Any]], float], lower: float, upper: float) -> float:
    """The factor at which our step is the one a row publishes, by bisection."""
    row = next(row for row in ROWS if name(row) == case)
    rises = value(upper, row) > value(lower, row)
    for _ in range(50):
        middle = (lower + upper) / 2
        lower, upper = (middle, upper) if (value(middle, row) < row["val"]) == rises else (lower, middle)
    return (lower + upper) / 2


@cache
def calibrated() -> tuple[dict[str, float], float, float]:
    """Efficiency per class of device, share of tensor-parallel traffic hidden, GB/s of a flat ring."""

    def efficiency(share: float, row: dict[str, Any]) -> float:
        return measured(row, seconds(row, efficiency=share, hidden=0.0, flat=1.0))

    shares = {kind: found_at(case, efficiency, 0.05, 1.5) for kind, case in CALIBRATED_ON.items()}

    def hidden(share: float, row: dict[str, Any]) -> float:
        return measured(row, seconds(row, efficiency=shares[CLASS[row["dev"]]], hidden=share, flat=1.0))

    def flat(rate: float, row: dict[str, Any]) -> float:
        return measured(row, seconds(row, efficiency=shares[CLASS[row["dev"]]], hidden=0.0, flat=rate))

    return shares, found_at(HIDDEN_ON, hidden, 0.0, 1.0), found_at(FLAT_ON, flat, 2.0, 60.0)


GPT = "element-wise work of a Llama layer is taken; a layer of Megatron-LM moves a quarter less"
HIDDEN = "with four sequences on a rank more of its traffic hides than a ring of 2021 is taken to hide"
RING = "ring attention works on blocks of a sequence, whose kernels are slower"
LONG = "over long sequences the attention of this repository runs at less than half the rate of the products"
SMALL = "products of a small model are short, and what launching them costs is not modelled"
FABRIC = "between these nodes less of the fabric is reached than four fifths"
LIMIT = "the layout just fits, and its allocator frees and asks again"
EXPERTS = "permuting tokens and the small products of experts are slower than the products efficiency is taken from"
LATER = "this release is faster than the one its class is calibrated on"
SLOW_FABRIC = "the negative control: traffic of this run was neither hidden nor at the rate of its fabric"
#: Why a row is further off than allowed. A row that comes within its tolerance must leave this table.
MISSED = {
    "korthikanti5 22B full": GPT,
    "korthikanti5 1T full": GPT,
    "narayanan2 ZeRO-3 174.6B 384": HIDDEN,
    "narayanan2 ZeRO-3 529.6B 640": HIDDEN,
    "torchtitan 8B s131072 cp4": RING,
    "torchtitan 8B s262144 cp8": RING,
    "torchtitan 405B s65536 cp2": RING,
    "torchtitan 405B s131072 cp4": RING,
    "torchtitan 405B s262144 cp8": RING,
    "mpt 7b s65536 8 h100_80gb m1x2": LONG,
    "mpt 3b s65536 8 h100_80gb m1x2": LONG,
    "mpt 3b s32768 8 h100_80gb m3x6": LONG,
    "mpt 3b s16384 8 h100_80gb m1x6": LONG,
    "mpt 1b s65536 8 h100_80gb m1x2": LONG,
    "mpt 1b s32768 8 h100_80gb m1x4": LONG,
    "mpt 1b s16384 8 h100_80gb m2x4": LONG,
    "mpt 760m s32768 8 h100_80gb m1x2": LONG,
    "mpt 760m s16384 8 h100_80gb m3x2": LONG,
    "mpt 760m s8192 8 h100_80gb m6x2": LONG,
    "mpt 30b s8192 8 a100_80gb m1x21": LIMIT,
    "mpt 760m s512 8 a100_80gb m96x2": SMALL,
    "mpt 350m s65536 8 a100_80gb m1x2": LONG,
    "mpt 350m s32768 8 a100_80gb m2x2": LONG,
    "mpt 125m s65536 8 a100_80gb m1x2": LONG,
    "mpt 125m s32768 8 a100_80gb m2x2": LONG,
    "mpt 70b s2048 64 a100_40gb m2x1": FABRIC,
    "mpt 1b s2048 32 a100_40gb m10x1": FABRIC,
    "mpt 350m s32768 8 a100_40gb m1x4": LONG,
    "mpt 125m s32768 8 a100_40gb m1x4": LONG,
    "mpt 125m s16384 8 a100_40gb m2x3": LONG,
    "mpt 125m s2048 128 a100_40gb m26x1": FABRIC,
    "megatron_bridge GPTOSS h100": EXPERTS,
    "megatron_bridge Qwen30 fp8 h100": EXPERTS,
    "megatron_bridge DSV3 B200 fp8": EXPERTS,
    "megatron_bridge Qwen30 GB200 fp8": EXPERTS,
    "megatron_bridge MLM 405B h100 fp8": LATER,
    "idefics 80B 512": SLOW_FABRIC,
    "llama4_ep EP=4": EXPERTS,
}


def steps(group: str, *devices: str) -> list[Check]:
    """Our steps beside the rows of a group, those something is calibrated on left out."""
    shares, hidden, flat = calibrated()
    used = {*CALIBRATED_ON.values(), HIDDEN_ON, FLAT_ON}
    found = []
    for row in ROWS:
        if row["group"] != group or (devices and row["dev"] not in devices) or name(row) in used:
            continue
        step = seconds(row, efficiency=shares[CLASS[row["dev"]]], hidden=hidden, flat=flat)
        unit = {"s": "s", "tps": "token/s", "TFLOPS": "TFLOP/s"}[row["unit"]]
        found.append(
            Check(row["name"], row["val"], measured(row, step), row["tol"], unit, None, MISSED.get(name(row), ""))
        )
    return found


def constants() -> str:
    """What was calibrated, in words."""
    shares, hidden, flat = calibrated()
    each = ", ".join(f"{kind} {shares[kind]:.3f} on {CALIBRATED_ON[kind]}" for kind in shares)
    return (
        f"Calibrated, and left out below: efficiency of products {each}; {hidden:.2f} of asynchronous tensor-parallel "
        f"traffic hidden on {HIDDEN_ON}; {flat:.1f} GB/s of a flat ring on {FLAT_ON}; links on all-gathers of eight "
        "devices at 512 MiB and 512 B."
    )


def _group(key: str, title: str, about: str, source: str, group: str, *devices: str) -> Group:
    return Group(key, title, about, source, partial(steps, group, *devices))


GROUPS: tuple[Group, ...] = (
    _group(
        "steps_korthikanti", "Steps: Megatron-LM, 22B to 1T",
        "Seconds per step, 10%. " + constants(), "Korthikanti et al., table 5 (A100)", "korthikanti5",
    ),
    _group(
        "steps_narayanan_1", "Steps: Megatron-LM, 1.7B to 1T on up to 3,072 devices",
        "TFLOP/s per device by their equation 3, 15%. Micro-batches are not in the table: the largest that fit are "
        "taken.", "Narayanan et al., table 1 (A100)", "narayanan1",
    ),
    _group(
        "steps_narayanan_2", "Steps: pipeline and tensor parallelism against ZeRO-3",
        "TFLOP/s per device, 15%.", "Narayanan et al., table 2 (A100)", "narayanan2",
    ),
    _group(
        "steps_torchtitan", "Steps: torchtitan",
        "Tokens per second and device, 15%. Degrees and micro-batches that the notes leave out are assumed.",
        "torchtitan, benchmarks and docs/performance.md", "torchtitan",
    ),
    _group(
        "steps_mpt_h100", "Steps: MPT on H100", "Tokens per second and device, 25%.",
        "llm-foundry, scripts/train/benchmarking, without its 8-bit rows", "mpt", "H100",
    ),
    _group(
        "steps_mpt_a100", "Steps: MPT on A100", "Tokens per second and device, 25%.",
        "llm-foundry, scripts/train/benchmarking", "mpt", "A100",
    ),
    _group(
        "steps_mpt_a100_40", "Steps: MPT on A100 with 40 GB", "Tokens per second and device, 25%.",
        "llm-foundry, scripts/train/benchmarking", "mpt", "A100_40",
    ),
    _group(
        "steps_megatron_bridge", "Steps: Megatron-Bridge and Megatron-LM",
        "Tokens per second and device, 20%.", "Megatron-Bridge 25.11, performance summary; Megatron-LM, examples",
        "megatron_bridge",
    ),
    _group(
        "steps_idefics", "Steps: an 80B model with ZeRO-3 over slow fabric",
        "A published case where plain estimates are far off: their own gives 29 s for 49 s. 50%.",
        "stas00, ml-engineering, training/model-parallelism", "idefics",
    ),
    _group(
        "steps_llama4_ep", "Steps: expert parallelism that did not pay",
        "Tokens per second and device; the sign of the change is what the report shows.", "torchtitan, issue 1624",
        "llama4_ep",
    ),
)  # fmt: skip
