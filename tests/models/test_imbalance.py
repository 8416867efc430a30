"""Nothing gets quicker or smaller as routing gets less even, whatever sets the pace: random models and layouts."""

import random

import numpy as np
import pytest
from fuzz import rest_long

from mlsysim import DistributedModel, ExpertParallelModel
from mlsysim.errors import InputError

MODELS = {variant: ExpertParallelModel(variant) for variant in ("fsdp", "per_operator")}
OUTPUTS = {
    "fsdp": ("step_time", "total_memory", "reported_memory", "live_memory", "compute_pool"),
    "per_operator": ("step_time", "total_memory", "peak_activations"),
}
#: Parts of what one rank holds, which another one takes the place of.
OF_ONE_RANK = ("compute_pool", "peak_activations")


def layout(draw):
    """Ranks of each kind, a schedule and a batch; together they may be refused."""
    stages, schedule = draw.choice([1, 1, 1, 2, 4, 8]), draw.choice(["1f1b", "1f1b", "gpipe", "zb1p", "dualpipe"])
    tensor, context = draw.choice([1, 1, 1, 2, 4, 8]), draw.choice([1, 1, 1, 2])
    ranks, passes = draw.choice([1, 1, 2, 4, 8, 16]), draw.choice([1, 2, 4, 8, 16]) * (stages if stages > 1 else 1)
    return {
        "fleet_size": ranks * stages * tensor * context, "tp_size": tensor, "pp_size": stages, "cp_size": context,
        "ep_size": draw.choice([2, 4, 8, 16, 32]), "etp_size": draw.choice([0, 0, 1, tensor]),
        "dp_replicate_size": draw.choice([1, 1, 1, 2]), "pipeline_schedule": schedule,
        "interleaved_stages": draw.choice([1, 1, 2]) if stages > 1 and schedule == "1f1b" else 1,
        **{f"layers_{end}_stage": draw.choice([0, 0, 1, 3]) * (stages > 1) for end in ("first", "last")},
        "peak_rank": draw.choice(["fullest", "fullest", "first", "last"]),
        "pipeline_split": draw.choice(["balanced", "even"]), "sequence_parallel": tensor > 1 and draw.random() < 0.5,
        "batch_size": ranks * passes * draw.choice([1, 1, 2, 4]), "gradient_accumulation_steps": passes,
        "two_batch_overlap": draw.random() < 0.4,
    }  # fmt: skip


def setting(draw):
    """A model with experts on devices, links and hosts by chance; the host often sets the pace."""
    experts, layers = draw.choice([8, 16, 32, 64, 128, 256]), draw.choice([2, 4, 8, 16, 32, 64])
    width, latent = draw.choice([1024, 2048, 4096, 6144]), draw.random() < 0.2
    every, room = draw.choice([1, 1, 1, 2]), draw.choice([0, 0, 0, 0.5, 1.25])
    heads = width // 128
    found = {
        **layout(draw), "layers": layers, "moe_layers": layers // 2 if every > 1 else layers - draw.choice([0, 0, 1]),
        "moe_layer_interval": every, "hidden_dim": width, "heads": heads, "kv_heads": draw.choice([4, 8]),
        "head_dim": 128, "ffn_dim": 4 * width, "vocab_size": draw.choice([32000, 128256]), "gated": True,
        "tied_embeddings": False, "router_bias": False, "q_lora_rank": 1536 * latent, "kv_lora_rank": 512 * latent,
        "qk_nope_head_dim": 128 * latent, "qk_rope_head_dim": 64 * latent, "v_head_dim": 128 * latent,
        "experts": experts, "active_experts_per_token": draw.choice([k for k in (1, 2, 4, 8) if k <= experts // 2]),
        "expert_ffn_dim": draw.choice([512, 1536, 4096, 14336]), "shared_ffn_dim": draw.choice([0, 0, 2048]),
        "hardware": draw.choice(["H100", "H200", "B200", "H20"]), "accelerators_per_node": 8,
        "memory_capacity": draw.choice(["20 TB", "80 GB", "192 GB"]),
        "node_bandwidth": draw.choice(["450 GB/s", "50 GB/s"]), "fabric_latency": "10 us",
        "fabric_bandwidth": f"{draw.choice([6.25, 12.5, 25, 50, 100])} GB/s", "node_limit": draw.choice([0, 0, 2]),
        "seq_len": draw.choice([128, 512, 512, 2048, 8192]), "precision": draw.choice(["bf16", "bf16", "fp8"]),
        "weight_dtype": draw.choice(["bf16", "fp32"]), "gradient_dtype": draw.choice(["bf16", "fp32"]),
        "dispatch_dtype": draw.choice(["as_precision", "fp8"]), "finetuning": draw.choice(["full", "full", "lora"]),
        "zero_stage": draw.choice([0, 1, 2, 3, 3]), "elementwise_kernels": draw.choice(["fused", "eager"]),
        "activation_checkpointing": draw.choice(["none", "selective", "full"]),
        "grouped_experts": draw.choice([True, False]), "captured_share": draw.choice([0, 0.5]),
        "host_operation_time": f"{draw.choice([0, 5, 20, 50, 200])} us", "dp_overlap": draw.choice([0, 0.5, 1, 1]),
        "ep_overlap": draw.choice([0, 0, 0.3, 1]), "tp_overlap": draw.choice([0, 0.5]),
        "exchange_multiprocessor_share": draw.choice([0, 0.15]), "exchange_latency": draw.choice(["0 us", "30 us"]),
    }  # fmt: skip
    if room:
        found |= {"capacity_factor": room, "pad_to_capacity": draw.random() < 0.5}
    return found


def falls(variant, given):
    """By how much each output falls at most between two loads, relative; None where the layout is refused."""
    most = min(given["ep_size"], given["experts"] / given["active_experts_per_token"])
    loads = np.unique([*np.geomspace(1, min(most, 1.5), 12), *np.geomspace(1, most, 16)])
    try:
        found = [MODELS[variant].solve(**given, routing_imbalance_factor=float(load)) for load in loads]
    except InputError:
        return None
    values = {name: np.array([each.canonical(name) for each in found]) for name in OUTPUTS[variant]}
    same = np.diff([each.canonical("binding_rank") for each in found]) == 0
    return {
        name: float(np.max(-np.diff(value) / value[:-1] * (same | (name not in OF_ONE_RANK))))
        for name, value in values.items()
    }


def checked(seed, count):
    """So many random settings that are not refused."""
    draw, done = random.Random(f"imbalance {seed}"), 0
    while done < count:
        given, variant = setting(draw), draw.choice(list(MODELS))
        if variant == "fsdp":
            given |= {"fsdp_prefetch": draw.choice(["accumulated", "released"])}
            given |= {"count_sync_time": f"{draw.choice([0, 0.1, 1, 5])} ms"}
        fallen = falls(variant, given)
        if fallen is not None:
            done += 1
            assert max(fallen.values()) < 1e-9, (variant, fallen, given)


@pytest.mark.parametrize("seed", rest_long(range(300), quick=1))
def test_nothing_falls_as_imbalance_grows(seed):
    checked(seed, 10)


def test_times_are_the_same_whichever_rank_is_described():
    draw, done = random.Random("described"), 0
    while done < 20:
        given, variant = {**setting(draw), "pp_size": draw.choice([2, 4])}, draw.choice(list(MODELS))
        try:
            each = [MODELS[variant].solve(**{**given, "peak_rank": rank}) for rank in ("fullest", "first", "last")]
        except InputError:
            continue
        done += 1
        for name in [n for n in (*DistributedModel.headline, "remap_time", "expert_parallel_gain") if n in each[0]]:
            if "memory" not in name and name not in ("feasible", "step_bottleneck"):
                assert len({found.canonical(name) for found in each}) == 1, (variant, name, given)


@pytest.mark.parametrize("variant", MODELS)
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_nothing_falls_where_launches_of_experts_set_the_pace(variant, ranks):
    """Traffic of weights hides behind waiting for the host as behind computing, and exchanges take its links."""
    given = {"recipe": "torchtitan_issue_1624", "seq_len": 512, "ep_size": ranks, "grouped_experts": False}
    loads = np.linspace(1, ranks, 40)
    steps = MODELS[variant].sweep(**given, routing_imbalance_factor=loads, outputs=["step_time"]).step_time.values
    assert (np.diff(steps) >= -1e-9 * steps[:-1]).all()
    assert MODELS[variant].solve(**given, routing_imbalance_factor=1).host_wait_time.magnitude > 0
