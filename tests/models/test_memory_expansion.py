"""Memory in two tiers at the front door: presets, equality with the plain models, refusals."""

import itertools
import math
import pickle
import re
from pathlib import Path

import pytest
from fuzz import rest_long
from study.points import POINTS

from mlsysim import (
    DistributedModel,
    MemoryExpansionModel,
    ServingModel,
    Systems,
    TrainingMemoryModel,
)
from mlsysim.errors import InputError, MlsysimError, UnknownNameError
from mlsysim.symbolic import variable_of

MOE = "DeepSpeedMoE_24B_MoE_128"
DENSE = {
    "model": "Llama3_8B", "batch_size": 64, "seq_len": 4096, "precision": "bf16", "gradient_accumulation_steps": 4,
    "fleet_size": 8, "fabric_bandwidth": 50, "fabric_latency": 5, "activation_checkpointing": "full",
}  # fmt: skip
SERVED = {"model": "Llama3_8B", "request_rate": 2, "isl": 1024}


# --- presets --------------------------------------------------------------------------------------


def test_policy_and_design_are_those_of_the_model_unless_a_call_says_otherwise():
    model = MemoryExpansionModel(policy="aggressive", design="Per_Node")
    given = MemoryExpansionModel().solve(MOE, "Per_Node", policy="aggressive")
    assert model.solve(MOE).canonical("step_time") == given.canonical("step_time")
    other = model.solve(MOE, design=Systems.Designs.Per_GPU, policy="conservative")
    assert other.canonical("step_time") == MemoryExpansionModel(design="Per_GPU").solve(MOE).canonical("step_time")


def test_policies_and_designs_are_axes():
    grid = MemoryExpansionModel().sweep(
        MOE, design=["Per_Node", "Per_GPU"], policy=["conservative", "aggressive"], prefetch_fraction=[0, 0.5]
    )
    assert dict(grid.sizes) == {"design": 2, "policy": 2, "prefetch_fraction": 2}
    one = MemoryExpansionModel(policy="aggressive", design="Per_GPU").solve(MOE, prefetch_fraction=0.5)
    here = grid.sel(design="Per_GPU", policy="aggressive", prefetch_fraction=0.5)
    assert here.exposed_remote_time.item() == pytest.approx(one.canonical("exposed_remote_time") * 1e3, rel=1e-12)
    assert "feasible" not in grid
    real = MemoryExpansionModel().sweep(MOE, design=["GH200", "DGX_H100_PCIe"], memory_capacity=[16, 96])
    assert real.feasible.values.tolist() == [[False, True], [False, True]]


def test_the_bound_model_sweeps_and_searches_its_design():
    model = MemoryExpansionModel("by_share", design="GH200")
    shares = [0.0, 0.25, 0.5, 0.75, 1.0]
    front = model.pareto(["local_memory", "step_time"], MOE, weights_offload=shares, checkpoints_offload=shares)
    points = [(d.canonical("local_memory"), d.canonical("step_time")) for d in front]
    assert points == sorted(points)
    assert [time for _, time in points] == sorted((time for _, time in points), reverse=True)
    assert len(points) > 5


def test_a_model_with_presets_is_pickled():
    model = pickle.loads(pickle.dumps(MemoryExpansionModel(policy="aggressive", design="GH200")))
    assert model.solve(MOE).canonical("local_memory") == pytest.approx(6.265e9, rel=1e-3)


# --- nothing offloaded is the plain model ---------------------------------------------------------


def test_states_are_those_of_the_plain_training_memory():
    shape = {"vocab_size": 1, "tied_embeddings": True, "shared_ffn_dim": 0, "router_bias": False}
    ours = MemoryExpansionModel(design="Per_Node").solve(MOE, policy="none")
    plain = TrainingMemoryModel("per_operator").solve(
        MOE, batch_size=64, dp_size=32, tp_size=8, ep_size=32, zero_stage=3, gradient_dtype="both",
        activation_checkpointing="full", memory_capacity="80 GB", **shape,
    )  # fmt: skip
    for name in ("weights", "gradients", "optimizer_state"):
        assert ours.canonical(name) == plain.canonical(name)
    assert ours.canonical("checkpoint_bytes") == pytest.approx(plain.canonical("activations"), rel=1e-15)
    assert ours.canonical("remote_memory") == ours.canonical("exposed_remote_time") == 0


def test_arithmetic_is_that_of_the_plain_step():
    """The plain step adds what products of few rows cost; memory that is read at once leaves their arithmetic."""
    shape = {"vocab_size": 1, "tied_embeddings": True, "shared_ffn_dim": 0, "router_bias": False}
    ours = MemoryExpansionModel(design="Integrated_GPU_Links").solve(MOE, policy="none")
    plain = DistributedModel().solve(
        MOE, batch_size=64, fleet_size=256, tp_size=8, ep_size=32, zero_stage=3, gradient_dtype="both",
        activation_checkpointing="full", attention_mask="full", efficiency=1, attention_efficiency=1,
        expert_product_ratio=1,
        peak_flops=2048, attention_peak_flops=2048, memory_bandwidth=1e9, memory_capacity=80, node_bandwidth=900,
        fabric_bandwidth=900, fabric_latency=0, node_latency=0, accelerators_per_node=8,
        sequence_parallel=True, **shape,
    )  # fmt: skip
    arithmetic = plain.canonical("product_time") + plain.canonical("score_time")
    assert ours.canonical("compute_time") == pytest.approx(arithmetic, rel=1e-5)


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("place", ["remote", "local"])
def test_an_offloaded_step_with_nothing_offloaded_is_the_plain_step(stage, place):
    layout = {**DENSE, "zero_stage": stage, "gradient_dtype": "as_precision"}
    plain = DistributedModel().solve(hardware="H100", **layout)
    model = MemoryExpansionModel("offloaded_training", design="DGX_H100_PCIe", policy="none")
    ours = model.solve(**layout, update_place=place)
    assert ours.canonical("local_memory") == plain.canonical("total_memory")
    assert ours.canonical("remote_memory") == 0
    for name in ("step_time", "compute_time", "dp_time", "optimizer_time", "mfu", "tokens_per_second"):
        assert ours.canonical(name) == plain.canonical(name), name


def test_a_mixture_of_experts_with_nothing_offloaded_is_the_plain_step():
    layout = {**DENSE, "model": "Mixtral_8x7B", "fleet_size": 64, "ep_size": 8, "tp_size": 2, "pp_size": 2}
    plain = DistributedModel().solve(hardware="H100", **layout, zero_stage=3, gradient_dtype="fp32")
    ours = MemoryExpansionModel("offloaded_training", design="DGX_H100_PCIe", policy="none").solve(**layout)
    assert ours.canonical("step_time") == plain.canonical("step_time")
    assert ours.canonical("local_memory") == plain.canonical("total_memory")


LAYOUTS = [
    {"model": "Llama3_8B"},
    {"model": "Mixtral_8x7B", "tp_size": 2, "prefix_hit_rate": 0.3},
    {"model": "DeepSeek_V3", "tp_size": 1, "dp_attention_size": 16, "ep_size": 16, "precision": "fp8_deepseek"},
    {"model": "Llama3_70B", "tp_size": 2, "pp_size": 2, "ttft_slo": 2000, "tpot_slo": 80},
]


APART = {"model": "Llama3_70B", "tp_size": 4, "prefill_tp_size": 2, "prefill_pp_size": 2, "prefill_workers": 2}
#: Layouts that chunked prefill knows: one stage, one group of requests.
ONE_GROUP = [LAYOUTS[0], LAYOUTS[1], {"model": "Llama3_70B", "tp_size": 4, "ttft_slo": 2000, "tpot_slo": 80}]
#: The engines of each variant in one memory.
ENGINES = {
    "serving": "colocated",
    "disaggregated_serving": "disaggregated",
    "chunked_serving_estimate": "chunked_estimate",
    "chunked_serving": "chunked",
}
EVERY_ENGINE = pytest.mark.parametrize("variant", ENGINES)
PLACED = [
    *(("serving", layout) for layout in LAYOUTS),
    *(("disaggregated_serving", layout) for layout in (*LAYOUTS, APART)),
    *(("chunked_serving_estimate", layout) for layout in ONE_GROUP),
    *(("chunked_serving", layout) for layout in ONE_GROUP),
]


@pytest.mark.parametrize(("variant", "layout"), PLACED)
def test_a_deployment_with_nothing_remote_is_the_plain_deployment(variant, layout):
    asked = {**SERVED, **layout}
    plain = ServingModel(ENGINES[variant]).solve(hardware="H100", **asked)
    ours = MemoryExpansionModel(variant, design="DGX_H100_PCIe").solve(**asked)
    shared = [v.name for v in ours.model.outputs if v.name in plain.model.system and v.domain.kind != "choice"]
    assert len(shared) > 100
    for name in shared:
        assert ours.canonical(name) == plain.canonical(name), name
    assert ours["serving_bottleneck"] == plain["serving_bottleneck"]
    assert ours.canonical("remote_memory") == 0


# --- offloaded training ---------------------------------------------------------------------------


def offloaded(**inputs):
    return MemoryExpansionModel("offloaded_by_share", design="DGX_H100_PCIe").solve(**{**DENSE, **inputs})


def test_traffic_of_a_step_counted_by_hand():
    """One pull each for forward, recomputation and backward, gradients stored once, state updated where it is."""
    found = offloaded(weights_offload=1, gradients_offload=1, optimizer_offload=1, prefetch_fraction=0)
    weights = found.canonical("weights")
    assert found.canonical("gradients") == pytest.approx(2 * weights, rel=1e-12)
    assert found.canonical("remote_traffic") == pytest.approx(4 * weights, rel=1e-12)
    assert found.canonical("update_traffic") == 0
    assert found.canonical("exposed_remote_time") == pytest.approx(4 * 4 * weights / 64e9, rel=1e-12)
    kept = offloaded(weights_offload=0, gradients_offload=1, optimizer_offload=1)
    assert kept.canonical("update_traffic") == pytest.approx(weights, rel=1e-12)
    here = offloaded(weights_offload=0, gradients_offload=1, optimizer_offload=1, update_place="local")
    state = here.canonical("optimizer_state")
    assert here.canonical("update_traffic") == pytest.approx(2 * state + weights, rel=1e-12)
    assert here.canonical("optimizer_time") < kept.canonical("optimizer_time")


def test_state_moves_from_one_tier_to_the_other():
    near, far = offloaded(weights_offload=0), offloaded(weights_offload=1)
    moved = far.canonical("remote_memory") - near.canonical("remote_memory")
    assert moved == pytest.approx(near.canonical("weights"), rel=1e-12)
    assert near.canonical("local_memory") - far.canonical("local_memory") == pytest.approx(moved, rel=1e-12)


def test_one_device_stages_the_layers_zero_would_have_gathered():
    found = offloaded(fleet_size=1, batch_size=8, weights_offload=1)
    layers = 2 * 2 * found.canonical("largest_layer_parameters")
    assert found.canonical("staging_buffer") > layers
    assert (
        offloaded(fleet_size=1, batch_size=8, weights_offload=0, gradients_offload=0).canonical("staging_buffer") == 0
    )


@pytest.mark.parametrize("policy", ["zero_offload", "zero_infinity"])
def test_more_remote_bandwidth_never_slows_and_prefetching_helps(policy):
    model = MemoryExpansionModel("offloaded_training", design="DGX_H100_PCIe", policy=policy)
    times = [model.solve(**DENSE, remote_bandwidth=each).canonical("step_time") for each in (8, 64, 500, 1e15)]
    assert times == sorted(times, reverse=True)
    hidden, exposed = (model.solve(**DENSE, prefetch_fraction=eta).canonical("step_time") for eta in (1, 0))
    assert hidden < exposed
    none = model.solve(**DENSE, policy="none", remote_bandwidth=1e15)
    assert times[-1] == pytest.approx(none.canonical("step_time") - none.canonical("optimizer_time"), rel=1e-6)


# --- serving --------------------------------------------------------------------------------------


def full_step(found):
    """Seconds of a decode step of a full engine, as its capacity has it."""
    slots = found["engine_slots"].magnitude
    answers = slots / found.canonical("replica_capacity") - slots * found.canonical("prompt_interval")
    return answers / found["answer_steps"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_remote_weights_bound_a_step_by_their_port(ranks):
    """All but the rows of the embedding are read; each rank reads its share through a port of its own."""
    model = MemoryExpansionModel("serving", design="DGX_H100_PCIe")
    slow = {"remote_bandwidth": 1, "layer_tax": 0, "tp_size": ranks}
    found = model.solve(**SERVED, weights_offload=1, **slow)
    read = found.canonical("served_weights") - 2 * 128256 * 4096
    assert full_step(found) == pytest.approx(read / ranks / 1e9, rel=2e-3)
    half = model.solve(**SERVED, weights_offload=0.5, **slow)
    assert full_step(half) == pytest.approx(0.5 * read / ranks / 1e9, rel=4e-3)
    assert half.canonical("local_memory") - found.canonical("local_memory") == pytest.approx(
        0.5 * half.canonical("replica_weights") / ranks, rel=1e-12
    )


PROMPTS = {"model": "Llama3_3_70B", "precision": "fp8", "tp_size": 2, "request_rate": 1, "isl": 2048}


@EVERY_ENGINE
def test_more_kept_remote_is_never_faster_and_never_less_room(variant):
    model = MemoryExpansionModel(variant, design="GH200")
    for name in ("weights_offload", "kv_offload"):
        found = [model.solve(**PROMPTS, num_replicas=4, **{name: share}) for share in (0, 0.25, 0.5, 0.75)]
        for output in ("tpot_mean", "ttft_mean"):
            times = [each.canonical(output) for each in found]
            assert times == sorted(times)
            assert output != "tpot_mean" or times[0] < times[-1]
        for room in ("engine_slots", "prompt_slots", "kv_cache_tokens"):
            if room in found[0].outputs:
                assert [each.canonical(room) for each in found] == sorted(each.canonical(room) for each in found)


@EVERY_ENGINE
def test_a_remote_tier_as_fast_as_local_memory_takes_as_long(variant):
    """As fast as what is reached of the local bandwidth, that is."""
    model = MemoryExpansionModel(variant, design="GH200")
    fixed = {**PROMPTS, "num_replicas": 4, "max_num_seqs": 32, "memory_bandwidth": 4000, "memory_efficiency": 0.8}
    plain = model.solve(**fixed)
    alike = model.solve(**fixed, weights_offload=0.5, remote_bandwidth=3200)
    for output in ("tpot_mean", "ttft_mean", "replica_capacity"):
        assert alike.canonical(output) == pytest.approx(plain.canonical(output), rel=1e-6)


@EVERY_ENGINE
@pytest.mark.parametrize("remote", [400, 1e12])
def test_a_decode_step_reads_its_shares_by_hand(variant, remote):
    """Llama 3 8B in 16 bits at hardly any load; at an endless remote bandwidth the local share alone takes time."""
    model = MemoryExpansionModel(variant, design="GH200")
    given = {**SERVED, "request_rate": 1e-3, "num_replicas": 1, "memory_bandwidth": 4000, "memory_efficiency": 0.8}
    near, far = (model.solve(**given, remote_bandwidth=remote, weights_offload=share) for share in (0, 0.25))
    weights = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 128256 * 4096
    seconds = 2 * weights * 0.25 * (1 / (remote * 1e9) - 1 / (0.8 * 4e12))
    assert far.canonical("tpot_mean") - near.canonical("tpot_mean") == pytest.approx(seconds, rel=1e-2)


def test_pools_that_prefill_have_room_in_both_tiers():
    """One accelerator prefills, two decode: half of the weights and of the caches stand in either tier."""
    model = MemoryExpansionModel("disaggregated_serving", design="GH200")
    shares = {"weights_offload": 0.5, "kv_offload": 0.5}
    found = model.solve(**PROMPTS, **shares, prefill_tp_size=1)
    half, each = found.canonical("served_weights") / 2, found.canonical("kv_bytes_per_token") * 2048 / 2
    expected = math.floor(min(0.9 * 97280 * 2**20 - half, 480e9 - half) / each)
    assert found["prompt_slots"].magnitude == expected
    one, alike = (model.solve(**PROMPTS, **shares, prefill_tp_size=size, max_num_seqs=1) for size in (1, 2))
    assert one.canonical("local_memory") == pytest.approx(half + each, rel=1e-12)
    assert alike.canonical("local_memory") < one.canonical("local_memory")
    plain = model.solve(**PROMPTS, prefill_tp_size=1)
    assert found.canonical("prompt_time") > plain.canonical("prompt_time")


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("variant", rest_long(ENGINES, quick=2))
def test_every_engine_is_swept_and_searched(variant):
    model, shares = MemoryExpansionModel(variant, design="GH200"), [0, 0.5]
    swept = model.sweep(**PROMPTS, num_replicas=4, kv_offload=shares)
    alone = [model.solve(**PROMPTS, num_replicas=4, kv_offload=share).canonical("tpot_mean") for share in shares]
    assert swept.tpot_mean.values / 1e3 == pytest.approx(alone, rel=1e-9)
    best = model.search(**PROMPTS, num_replicas=4, kv_offload=shares, minimize="tpot_mean")
    assert best.certificate.proven
    assert best.best.inputs["kv_offload"] == 0


def test_caches_in_the_remote_tier_make_room():
    model = MemoryExpansionModel("serving", design="GH200")
    asked = {**SERVED, "model": "Llama3_70B", "precision": "fp8", "isl": 32768, "max_num_seqs": 512}
    near, far = (model.solve(**asked, kv_offload=share) for share in (0, 1))
    assert near["engine_slots"] < far["engine_slots"]
    each = far.canonical("kv_bytes_per_token") * far.canonical("peak_seq_len")
    assert far["engine_slots"].magnitude == math.floor(480e9 / each)
    assert near["engine_slots"].magnitude == math.floor((0.9 * 96 * 2**30 - near.canonical("served_weights")) / each)
    some = model.solve(**asked, kv_offload=0.5)
    assert some["engine_slots"].magnitude == math.floor(2 * near.canonical("kv_memory") / each)


def test_a_remote_cache_slows_steps_and_not_prefill():
    model = MemoryExpansionModel("serving", design="GH200")
    near, far = (model.solve(**SERVED, kv_offload=share) for share in (0, 0.9))
    assert far.canonical("tpot_mean") > near.canonical("tpot_mean")
    assert far.canonical("prompt_time") == near.canonical("prompt_time")
    assert far.canonical("goodput") < near.canonical("goodput")


def test_one_memory_is_filled_once():
    model = MemoryExpansionModel("serving", design="MI300A")
    asked = {**SERVED, "max_num_seqs": 2000}
    found = [model.solve(**asked, kv_offload=share)["engine_slots"] for share in (0, 0.5, 1)]
    assert found[0] == found[1] == found[2]


def test_weights_that_do_not_fit_where_they_are_kept_serve_nothing():
    model = MemoryExpansionModel("serving", design="DGX_H100_PCIe")
    asked = {**SERVED, "model": "Llama3_1_405B"}
    found = [model.solve(**asked, weights_offload=share) for share in (0, 1)]
    assert [each["engine_slots"].magnitude for each in found] == [0, 0]
    assert found[0].notes == (
        "Llama3_1_405B and a request do not fit one accelerator: they fit with tp_size=8, pp_size=2",
    )
    assert model.solve(**asked, weights_offload=1, remote_capacity="1 TB")["engine_slots"].magnitude > 0


# --- feasibility and price ------------------------------------------------------------------------


def test_what_fits_is_asked_of_both_tiers():
    conservative = MemoryExpansionModel(design="GH200").solve(MOE)
    assert conservative.feasible
    assert not MemoryExpansionModel(design="GH200").solve(MOE, memory_capacity="16 GB").feasible
    assert not MemoryExpansionModel(design="GH200").solve(MOE, remote_capacity="70 GB").feasible
    aggressive = MemoryExpansionModel(design="GH200", policy="aggressive")
    assert aggressive.solve(MOE, memory_capacity="16 GB").feasible
    one = MemoryExpansionModel(design="MI300A").solve(MOE)
    assert one.feasible
    assert not MemoryExpansionModel(design="MI300A").solve(MOE, memory_capacity="88 GB").feasible


def test_a_design_without_capacities_leaves_out_whether_it_fits():
    found = MemoryExpansionModel(design="Per_Node").solve(MOE)
    with pytest.raises(MlsysimError, match="memory_capacity"):
        _ = found.feasible
    assert found.canonical("step_time") > 0


def test_prices_by_hand():
    found = MemoryExpansionModel(design="Per_GPU").solve(MOE, bare_price=10_000)
    near, far = (found.canonical(name) / 1e9 for name in ("local_memory", "remote_memory"))
    assert found.canonical("memory_cost") == pytest.approx(15 * near + 5 * far, rel=1e-12)
    rate = 64 * 2048 / 256 / found.canonical("step_time")
    assert found.canonical("tokens_per_second_per_accelerator") == pytest.approx(rate, rel=1e-12)
    expected = rate / (10_000 + 15 * near + 5 * far)
    assert found.canonical("tokens_per_second_per_dollar") == pytest.approx(expected, rel=1e-12)


def test_which_segment_is_the_longest():
    names = {"Compute": {}, "Remote memory": {"remote_bandwidth": 10}, "Communication": {"link_bandwidth": 10},
             "Local memory": {"memory_bandwidth": 100}}  # fmt: skip
    for name, inputs in names.items():
        assert MemoryExpansionModel(design="Integrated_GPU_Links").solve(MOE, **inputs).longest_segment == name


def test_gradients_and_updates_cross_when_asked():
    """What the robustness table of docs/memory_expansion.md is made of."""
    plain = MemoryExpansionModel(design="Per_Node").solve(MOE)
    stored = MemoryExpansionModel(design="Per_Node").solve(MOE, gradient_passes=1)
    more = stored.canonical("exposed_remote_time") - plain.canonical("exposed_remote_time")
    assert more == pytest.approx(plain.canonical("weights") / 128e9, rel=1e-12)
    updated = MemoryExpansionModel(design="Per_Node").solve(MOE, optimizer_passes=2)
    more = updated.canonical("exposed_remote_time") - plain.canonical("exposed_remote_time")
    assert more == pytest.approx(2 * plain.canonical("optimizer_state") / 128e9, rel=1e-12)


PAGE = Path(__file__).parents[2] / "docs" / "memory_expansion.md"
BARS = re.findall(r"^\| (\d), (\w+) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("number", "policy", "cells"), BARS)
def test_the_page_prints_the_bars_of_the_model(number, policy, cells):
    designs = ("Per_Node", "Per_GPU", "Integrated_CPU_Links", "Integrated_GPU_Links")
    found = MemoryExpansionModel(policy=policy, design=designs[int(number) - 1]).solve(MOE)
    first = MemoryExpansionModel(design="Per_Node").solve(MOE)
    parts = [f"exposed_{name}_time" for name in ("local", "remote", "link")]
    times = [found.canonical(name) for name in ("compute_time", *parts, "step_time")]
    expected = [f"{1e3 * time:.2f}" for time in times] + [f"{times[-1] / first.canonical('step_time'):.3f}"]
    assert cells.split(" | ") == expected


def test_the_page_prints_all_eight():
    assert len(BARS) == 8


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"policy": "bold"}, "policy='bold': must be one of none, conservative"),
        ({"design": "GH20"}, "unknown design 'GH20': did you mean GH200"),
        ({"design": Systems.Nodes.DGX_H100}, "must be an entry of the catalog (design), or its name"),
        ({"variant": "by_polici"}, "unknown variant of MemoryExpansionModel 'by_polici': did you mean by_policy"),
        ({"variant": "serving", "policy": "none"}, "policy='none': the variant serving does not use it"),
    ],
)
def test_presets_are_checked_at_once(given, message):
    with pytest.raises((InputError, UnknownNameError)) as refused:
        MemoryExpansionModel(**given)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weights_offload": 0.5}, "the variant by_policy computes it"),
        ({"prefetch_fraction": 1.5}, "prefetch_fraction=1.5: must be a finite number >= 0 and <= 1"),
        ({"remote_bandwidth": 0}, "remote_bandwidth=0: must be"),
        ({"remote_bandwidth": "3 GB"}, "remote_bandwidth='3 GB'"),
        ({"pp_size": 2}, "pp_size=2: must be 1: the phases are those of one stage"),
        ({"cp_size": 2}, "cp_size=2: must be 1"),
        ({"tp_size": 7}, "tp_size=7: must divide heads=64"),
        ({"ep_size": 48}, "ep_size=48: must divide experts=128"),
        ({"ep_size": 64}, "fleet_size=256: must be a multiple of tp_size=8 times ep_size=64"),
        ({"batch_size": 33}, "batch_size=33: must fill gradient_accumulation_steps=1 micro-batches"),
        ({"precision": "fp8"}, "precision='fp8'"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(MlsysimError) as refused:
        MemoryExpansionModel(design="Per_Node").solve(MOE, **given)
    assert message in str(refused.value)


def test_a_dense_model_needs_no_experts():
    found = MemoryExpansionModel(design="GH200").solve("Llama3_8B", tp_size=1, ep_size=1, fleet_size=8, batch_size=8)
    assert found.canonical("blocking_link_traffic") == 0
    assert variable_of("expert_slices") in found.model.outputs


#: Of a layout with data-parallel traffic, and one whose device waits for launches.
OFFLOADED = [
    {"zero_stage": 3, "seq_len": 512, "dp_overlap": 1, "fabric_bandwidth": "5 GB/s"},
    {"zero_stage": 1, "seq_len": 5, "memory_bandwidth": 100, "host_operation_time": 50},
]


@pytest.mark.parametrize("given", OFFLOADED, ids=["gathers", "host"])
@pytest.mark.parametrize("name", ["peak_flops", "memory_bandwidth", "remote_bandwidth", "fabric_bandwidth"])
def test_a_faster_resource_never_slows_an_offloaded_step(given, name):
    """Fetches do not hide behind the arithmetic that other traffic hides behind as if each had it alone."""
    model = MemoryExpansionModel("offloaded_by_share", design="GH200")
    point = {**POINTS["MemoryExpansionModel", "offloaded_by_share"], **given, "prefetch_fraction": 1,
             "weights_offload": 1, "gradients_offload": 1, "optimizer_offload": 1, "remote_bandwidth": 50}  # fmt: skip
    at = model.solve(**point)
    base = {n: at.canonical(n) for n in ("peak_flops", "memory_bandwidth", "remote_bandwidth", "fabric_bandwidth")}
    unit = {"peak_flops": 1e12}.get(name, 1e9)
    times = [
        model.solve(**{**point, name: factor * base[name] / unit}).canonical("step_time")
        for factor in (0.01, 0.1, 0.5, 1, 2, 8, 64)
    ]
    assert all(slow >= fast * (1 - 1e-12) for slow, fast in itertools.pairwise(times))
