"""What is split over ranks is whole again when it is summed over them; the copies are those that a layout makes."""

import math
from typing import Any

import pytest
from fuzz import fuzzing
from hypothesis import event, given
from hypothesis import strategies as st

from mlsysim import DistributedModel, ParameterCountModel, TrainingMemoryModel

COUNT, MEMORY, STEP = ParameterCountModel(), TrainingMemoryModel("per_operator"), DistributedModel()
#: A device without limits, so that every layout is answered.
DEVICE = {
    "memory_capacity": "1e6 GB",
    "memory_bandwidth": "1e9 GB/s",
    "peak_flops": "1000 TFLOP/s",
    "attention_peak_flops": "1000 TFLOP/s",
}
LINKS = {"node_bandwidth": "450 GB/s", "fabric_bandwidth": "50 GB/s", "fabric_latency": "5 us",
         "accelerators_per_node": 1024}  # fmt: skip
HEAD = 16


@st.composite
def models(draw):
    """A model all of whose layers are alike, and wide enough for every layout below."""
    heads = draw(st.sampled_from([4, 8]))
    shape: dict[str, Any] = {
        "layers": 8, "hidden_dim": heads * HEAD, "heads": heads, "head_dim": HEAD, "vocab_size": draw(
            st.sampled_from([512, 1000])
        ), "gated": draw(st.booleans()), "tied_embeddings": False, "kv_heads": draw(st.sampled_from([1, 2, heads])),
        "experts": 1, "active_experts_per_token": 1, "moe_layers": 0, "moe_layer_interval": 1, "expert_ffn_dim": 0,
        "shared_ffn_dim": 0, "router_bias": False, "ffn_dim": 64,
    }  # fmt: skip
    if draw(st.booleans()):
        shape |= {
            "experts": 8, "active_experts_per_token": draw(st.sampled_from([1, 2, 8])), "moe_layers": 8,
            "expert_ffn_dim": draw(st.sampled_from([32, 64])), "shared_ffn_dim": draw(st.sampled_from([0, 32])),
            "ffn_dim": 0,
        }  # fmt: skip
    if draw(st.booleans()):
        shape |= {"kv_heads": heads, "q_lora_rank": draw(st.sampled_from([0, 24])), "kv_lora_rank": 32,
                  "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16}  # fmt: skip
    else:
        shape |= {name: draw(st.booleans()) for name in ("qkv_bias", "attention_output_bias", "qk_norm", "norm_bias")}
        shape["mlp_bias"] = shape["moe_layers"] == 0 and draw(st.booleans())
        shape |= {"v_head_dim": draw(st.sampled_from([0, 8, 32])), "block_norms": draw(st.sampled_from([1, 2])),
                  "gate_width": heads * draw(st.sampled_from([0, 1, 16]))}  # fmt: skip
    return shape


@st.composite
def layouts(draw, experts):
    """A layout that divides the model, with as many layers on every stage."""
    t, p, c = draw(st.sampled_from([1, 2, 4])), draw(st.sampled_from([1, 2, 4])), draw(st.sampled_from([1, 2]))
    d, g = draw(st.sampled_from([1, 2, 4, 8])), draw(st.sampled_from([4, 8]))
    etp = draw(st.sampled_from([n for n in (0, 1, 2, 4) if n <= t]))
    places = t * c * d // (etp or t)
    chosen = {
        "tp_size": t, "pp_size": p, "cp_size": c,
        "ep_size": draw(st.sampled_from([n for n in (1, 2, 4, 8) if places % n == 0])) if experts > 1 else 1,
        "etp_size": etp,
        "zero_stage": draw(st.integers(0, 3)), "gradient_accumulation_steps": g, "batch_size": d * g,
        "interleaved_stages": draw(st.sampled_from([1, 2])) if p > 1 else 1, "seq_len": 256,
        "sequence_parallel": draw(st.booleans()), "gradient_dtype": draw(st.sampled_from(["bf16", "fp32"])),
        "activation_checkpointing": draw(st.sampled_from(["none", "full"])), "precision": "bf16",
    }  # fmt: skip
    return chosen, d


def holders(layout):
    """Ranks of a stage that hold all experts of its layers between them: those an expert is cut over, and ep."""
    return (layout["etp_size"] or layout["tp_size"]) * layout["ep_size"]


points = models().flatmap(lambda shape: st.tuples(st.just(shape), layouts(shape["experts"])))


def copied(shape, t):
    """Parameters of one layer that every tensor-parallel rank holds, and those of heads that there are too few of."""
    h, on = shape["hidden_dim"], shape.get
    norms = on("block_norms", 2) * h * (1 + on("norm_bias", 0))
    router = h * shape["experts"] if shape["moe_layers"] else 0
    if "kv_lora_rank" in shape:
        q, kv, rope = shape["q_lora_rank"], shape["kv_lora_rank"], shape["qk_rope_head_dim"]
        # Down-projections and their norms; the rotated part of the keys goes with them.
        return (t - 1) * (norms + router + q * h + q + kv * h + kv + rope * h)
    of_heads = 2 * HEAD * on("qk_norm", 0) * (1 + on("norm_bias", 0))
    same = norms + router + of_heads + h * (on("attention_output_bias", 0) + on("mlp_bias", 0))
    more = t * math.ceil(shape["kv_heads"] / t) - shape["kv_heads"]
    return (t - 1) * same + more * (HEAD + (on("v_head_dim", 0) or HEAD)) * (h + on("qkv_bias", 0))


def computed_by_all(shape, layout):
    """Weights of a layer that further tensor-parallel ranks multiply with again, unless they split the sequence."""
    ranks = 0 if layout["sequence_parallel"] else layout["tp_size"] - 1
    router = shape["hidden_dim"] * shape["experts"] if shape["moe_layers"] else 0
    names = ("q_lora_rank", "kv_lora_rank", "qk_rope_head_dim")
    return ranks * (router + shape["hidden_dim"] * sum(shape.get(name, 0) for name in names))


def solved(model, shape, layout, **given):
    """The model on a device without limits."""
    device = {name: value for name, value in DEVICE.items() if name in model.arguments}
    return model.solve(**{**shape, **layout, **device, **given})


@fuzzing(200)
@given(points)
def test_parameters_over_ranks_are_the_model_and_its_copies(point):
    shape, (layout, d) = point
    t, p = layout["tp_size"], layout["pp_size"]
    whole = COUNT.solve(**{name: value for name, value in shape.items() if name in COUNT.arguments})
    found = solved(MEMORY, shape, layout, dp_size=d)
    event(f"{'experts' if shape['moe_layers'] else 'dense'}, {'latent' if 'kv_lora_rank' in shape else 'heads'}")
    experts = shape["moe_layers"] * shape["experts"] * whole.canonical("expert_parameters")
    assert p * holders(layout) * found["expert_parameters_per_rank"] == experts
    edges = whole.canonical("embedding_parameters") + whole.canonical("head_parameters")
    last = shape["hidden_dim"] * (1 + shape.get("norm_bias", 0))
    layers = whole.canonical("parameters") - experts - edges - last
    inside = found["dense_parameters_per_rank"] - found["end_edge_parameters"]
    assert p * t * inside == layers + shape["layers"] * copied(shape, t)


@fuzzing(200)
@given(points, st.integers(1, 9), st.integers(1, 3), st.booleans())
def test_no_layout_has_fewer_parameters_than_the_model(point, layers, interval, tied):
    """Also where stages differ, every so many layers has experts, and both ends share a matrix."""
    shape, (layout, d) = point
    shape = {**shape, "layers": max(layers, 2 * layout["pp_size"]), "tied_embeddings": tied, "ffn_dim": 64}
    if shape["moe_layers"]:
        shape |= {"moe_layers": shape["layers"] // interval, "moe_layer_interval": interval}
    whole = COUNT.solve(**{name: value for name, value in shape.items() if name in COUNT.arguments})
    found = solved(MEMORY, shape, layout, dp_size=d)
    experts = shape["moe_layers"] * shape["experts"] * whole.canonical("expert_parameters")
    rest = whole.canonical("parameters") - experts
    stages, t = layout["pp_size"], layout["tp_size"]
    dense, sparse = found["dense_parameters_per_rank"], found["expert_parameters_per_rank"]
    assert stages * (t * dense + holders(layout) * sparse) >= rest + experts


@fuzzing(200)
@given(points)
def test_states_are_held_once_where_they_are_shared_and_by_all_where_they_are_not(point):
    """Summed over the ranks of a stage that share them: ``Z`` of ZeRO decides which are held once."""
    shape, (layout, d) = point
    zero, t = layout["zero_stage"], layout["tp_size"]
    found = solved(MEMORY, shape, layout, dp_size=d)
    ranks = t * d * layout["cp_size"]
    dense, sparse = found["dense_parameters_per_rank"], found["expert_parameters_per_rank"]
    widths = {"weights": 2, "gradients": 4 if layout["gradient_dtype"] == "fp32" else 2, "optimizer_state": 12}
    for (name, width), shared in zip(widths.items(), (zero >= 3, zero >= 2, zero >= 1), strict=True):
        # Where they are shared, what tensor-parallel ranks hold is there once, and so are all parts of the experts.
        expected = width * (t * dense + holders(layout) * sparse if shared else ranks * (dense + sparse))
        assert ranks * found.canonical(name) == pytest.approx(expected, rel=1e-12), name


@fuzzing(120)
@given(points)
def test_a_step_holds_what_the_memory_model_holds(point):
    shape, (layout, d) = point
    ranks = d * layout["tp_size"] * layout["pp_size"] * layout["cp_size"]
    step = solved(STEP, shape, layout, fleet_size=ranks, **LINKS)
    memory = solved(MEMORY, shape, layout, dp_size=d)
    for name in ("weights", "gradients", "optimizer_state", "activations", "total_memory"):
        assert step.canonical(name) == memory.canonical(name), name


@fuzzing(200)
@given(points)
def test_arithmetic_over_ranks_is_that_of_the_step(point):
    """Products, attention and logits: rate times time, over micro-batches and ranks."""
    shape, (layout, d) = point
    p = layout["pp_size"]
    ranks = d * layout["tp_size"] * p * layout["cp_size"]
    found = solved(STEP, shape, layout, fleet_size=ranks, pipeline_split="even", attention_efficiency=1.0,
                   selective_policy="core_attention", **LINKS)  # fmt: skip
    on_stage = layout["gradient_accumulation_steps"] * ranks / p
    rate, wide = found.canonical("product_rate"), found.canonical("wide_rate")
    per_stage = on_stage * (found.canonical("product_time") * rate + found.canonical("score_time") * wide)
    tokens = layout["batch_size"] * layout["seq_len"]
    head = 3 * found.canonical("logit_flops") * tokens
    again = 3 + (layout["activation_checkpointing"] == "full")
    repeated = again * tokens * 2 * shape["layers"] * computed_by_all(shape, layout)
    # Products of few rows take the time of more arithmetic.
    slower = again * tokens * found.canonical("routed_flops") * (found.canonical("expert_product_factor") - 1)
    assert p * per_stage + head == pytest.approx(found.canonical("hardware_flops") + repeated + slower, rel=1e-12)
    if found.canonical("last_stage_is_slowest"):
        assert on_stage * found.canonical("loss_time") * wide == pytest.approx(head, rel=1e-3)


@fuzzing(60)
@given(points)
def test_tokens_and_caches_of_a_rank_add_up(point):
    """Micro-batches hold all tokens of a step, each on the ranks of one data- and context-parallel place."""
    shape, (layout, d) = point
    ranks = d * layout["tp_size"] * layout["pp_size"] * layout["cp_size"]
    found = solved(STEP, shape, layout, fleet_size=ranks, **LINKS)
    places = ranks / (layout["tp_size"] * layout["pp_size"])
    tokens = found.canonical("micro_batch_tokens") * found.canonical("micro_batches") * places
    assert tokens == layout["batch_size"] * layout["seq_len"]
