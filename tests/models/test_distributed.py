"""Properties of a distributed step, and what is refused."""

import math
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mlsysim import Accelerator, DistributedModel, TrainingMemoryModel
from mlsysim.backends import compiled
from mlsysim.catalog import builtin
from mlsysim.errors import CatalogError, InputError, UnknownNameError
from mlsysim.formulas import data_parallel_traffic
from mlsysim.inputs.binding import bind
from mlsysim.models import every_model
from mlsysim.symbolic import System

STEP = DistributedModel()
TRAFFIC = ("tp_time", "ep_time", "cp_time", "pp_time", "dp_traffic_time")
PARTS = (
    "compute_time", "host_wait_time", "tp_time", "ep_time", "cp_time", "bubble_time", "pp_time", "dp_time",
    "optimizer_time",
)  # fmt: skip
LINKS = {
    "node_bandwidth": "450 GB/s",
    "node_latency": "2 us",
    "fabric_bandwidth": "50 GB/s",
    "fabric_latency": "5 us",
}
#: Software that starts everything at once.
AT_ONCE = {"node_latency": 0, "collective_latency": 0, "switch_latency": 0, "exchange_latency": 0}
DENSE = {"model": "Llama3_8B", "hardware": "H100", "seq_len": 4096, "precision": "bf16", **LINKS}
SPARSE = {**DENSE, "model": "Mixtral_8x7B"}


def seconds(found, name):
    return found.canonical(name)


@st.composite
def layouts(draw, experts=False):
    """A layout that divides, of a small fleet."""
    t, p, c = draw(st.sampled_from([1, 2, 4])), draw(st.sampled_from([1, 2, 4])), draw(st.sampled_from([1, 2]))
    d, m = draw(st.sampled_from([1, 2, 8, 16])), draw(st.sampled_from([1, 2]))
    g = draw(st.sampled_from([1, 4, 16]))
    e = draw(st.sampled_from([n for n in (1, 2, 8) if d % n == 0])) if experts else 1
    v = draw(st.sampled_from([1, 2])) if p > 1 and g % p == 0 else 1
    return {
        "tp_size": t,
        "pp_size": p,
        "cp_size": c,
        "ep_size": e,
        "fleet_size": t * p * c * d,
        "batch_size": d * m * g,
        "gradient_accumulation_steps": g,
        "interleaved_stages": v,
        "zero_stage": draw(st.integers(0, 3)),
        "activation_checkpointing": draw(st.sampled_from(["none", "selective", "full"])),
        "sequence_parallel": draw(st.booleans()),
        "dp_overlap": draw(st.sampled_from([0.0, 0.5, 1.0])),
        "efficiency": draw(st.floats(0.1, 1)),
    }


anywhere = settings(derandomize=True, deadline=None, max_examples=60)


@anywhere
@given(layouts())
def test_a_step_is_the_sum_of_its_parts(layout):
    found = STEP.solve(**DENSE, **layout)
    assert seconds(found, "step_time") == pytest.approx(sum(seconds(found, part) for part in PARTS), rel=1e-12)


@anywhere
@given(layouts())
def test_memory_is_that_of_the_memory_model(layout):
    """The same formulas, asked through the other door."""
    found = STEP.solve(**DENSE, **layout)
    shared = {k: v for k, v in layout.items() if k not in ("fleet_size", "dp_overlap", "efficiency")}
    plain = {k: v for k, v in DENSE.items() if k not in LINKS}
    memory = TrainingMemoryModel("per_operator").solve(**plain, **shared, dp_size=int(found.dp_size))
    assert found.canonical("total_memory") == memory.canonical("total_memory")


@settings(derandomize=True, deadline=None, max_examples=20)
@given(st.sampled_from([1, 4]), st.integers(0, 3), st.sampled_from(["none", "selective", "full"]))
def test_one_accelerator_exchanges_nothing(g, zero, checkpointing):
    found = STEP.solve(
        **DENSE, fleet_size=1, batch_size=g, gradient_accumulation_steps=g, zero_stage=zero,
        activation_checkpointing=checkpointing,
    )  # fmt: skip
    assert [seconds(found, name) for name in TRAFFIC] == [0] * len(TRAFFIC)
    assert seconds(found, "step_time") == pytest.approx(
        seconds(found, "compute_time") + seconds(found, "host_wait_time") + seconds(found, "optimizer_time"), rel=1e-14
    )
    free = STEP.solve(**DENSE, fleet_size=1, batch_size=g, gradient_accumulation_steps=g, host_operation_time=0)
    assert free.scaling_efficiency == pytest.approx(1)


@anywhere
@given(layouts())
def test_without_latency_infinite_bandwidth_leaves_computing_and_waiting(layout):
    fast = {"node_bandwidth": "1e15 GB/s", "fabric_bandwidth": "1e15 GB/s", "fabric_latency": 0, **AT_ONCE}
    found = STEP.solve(**{**DENSE, **fast}, **layout)
    left = sum(seconds(found, part) for part in ("compute_time", "host_wait_time", "bubble_time", "optimizer_time"))
    assert seconds(found, "step_time") == pytest.approx(left, rel=1e-9)


@anywhere
@given(layouts())
def test_the_parts_of_a_stage_add_up(layout):
    found = STEP.solve(**DENSE, **layout)
    parts = ("compute_time", "tp_time", "ep_time", "cp_time", "host_wait_time")
    assert seconds(found, "stage_time") == pytest.approx(sum(seconds(found, part) for part in parts), rel=1e-12)


def test_the_host_binds_where_a_rank_holds_many_experts():
    """Two clocks: one expert to a rank or one kernel for all leaves the device, thirty-two leave the host."""
    point = {**SPARSE, "model": "Qwen3_30B_A3B", "fleet_size": 64, "batch_size": 64, "host_operation_time": "52 us",
             "memory_capacity": "1 TB"}  # fmt: skip
    few, many, one_kernel = (
        STEP.solve(**{**point, **given})
        for given in ({"ep_size": 64}, {"ep_size": 4}, {"ep_size": 4, "grouped_experts": True})
    )
    assert many.step_bottleneck == "Host"
    assert many.canonical("micro_batch_launch_time") == pytest.approx(48 * (103 + 6.7 * 128 / 4) * 52e-6, rel=1e-9)
    assert one_kernel.canonical("micro_batch_launch_time") == pytest.approx(48 * (103 + 6.7) * 52e-6, rel=1e-9)
    assert few.canonical("micro_batch_launch_time") < many.canonical("micro_batch_launch_time")
    free = STEP.solve(**{**point, "ep_size": 4, "host_operation_time": 0})
    assert seconds(free, "host_wait_time") == 0
    assert free.step_bottleneck != "Host"
    waited = seconds(many, "stage_time") - seconds(free, "stage_time")
    assert waited == pytest.approx(seconds(many, "host_wait_time"), rel=1e-9)


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 8, 16, 32])
def test_whole_layers_stand_on_the_best_stages(stages):
    """No other number of layers on the last stage leaves less work to the fullest one."""
    point = {**DENSE, "fleet_size": 8 * stages, "batch_size": 64, "pp_size": stages}
    found = STEP.solve(**point, pipeline_split="balanced")
    head = found.canonical("head_layers")

    def fullest(last):
        others = math.ceil((32 - last) / (stages - 1)) if stages > 1 else 0
        return max(others, last + head)

    ours = found.canonical("slowest_stage_layers") + head * found.canonical("last_stage_is_slowest")
    assert ours == pytest.approx(min(fullest(last) for last in (range(33) if stages > 1 else (32,))), rel=1e-12)
    even = STEP.solve(**point, pipeline_split="even")
    assert seconds(even, "stage_time") >= seconds(found, "stage_time") * (1 - 1e-12)
    assert even.canonical("last_stage_layers") == 32 // stages
    chosen = even if 32 % stages == 0 else found
    assert seconds(STEP.solve(**point), "step_time") == seconds(chosen, "step_time")


def test_the_bubble_goes_with_micro_batches():
    shares = [
        STEP.solve(
            **DENSE, fleet_size=8, pp_size=8, batch_size=g, gradient_accumulation_steps=g
        ).canonical("bubble_fraction")
        for g in (8, 64, 512, 8192)
    ]  # fmt: skip
    assert all(more < fewer for fewer, more in pairwise(shares))
    assert shares[-1] < 1e-3


def test_gradients_of_weights_fill_two_thirds_of_the_wait():
    point = {**DENSE, "fleet_size": 8, "pp_size": 8, "batch_size": 64, "gradient_accumulation_steps": 64}
    plain, filled, again = (
        STEP.solve(**point, **given)
        for given in (
            {},
            {"pipeline_schedule": "zb1p"},
            {"pipeline_schedule": "zb1p", "activation_checkpointing": "full"},
        )
    )
    assert seconds(filled, "bubble_time") == pytest.approx(seconds(plain, "bubble_time") / 3, rel=1e-12)
    assert again.fill_share == pytest.approx(0.5, rel=1e-12)
    assert filled.total_memory == plain.total_memory


@anywhere
@given(layouts())
def test_no_step_is_below_what_cannot_hide(layout):
    found = STEP.solve(**DENSE, **layout)
    step, computing = seconds(found, "step_time"), seconds(found, "compute_time")
    assert step >= computing
    assert step >= seconds(found, "dp_traffic_time") * (1 - 1e-12)
    for part in ("tp_time", "cp_time", "pp_time"):
        assert step >= seconds(found, part)


@anywhere
@given(layouts(experts=True), st.sampled_from([2, 4]))
def test_strong_scaling_is_never_superlinear(layout, more):
    """The same batch on several times the data-parallel ranks."""
    assume(layout["gradient_accumulation_steps"] % (more * layout["pp_size"]) == 0)
    few = STEP.solve(**SPARSE, **layout)
    larger = {
        **layout,
        "fleet_size": layout["fleet_size"] * more,
        "gradient_accumulation_steps": layout["gradient_accumulation_steps"] // more,
    }
    many = STEP.solve(**SPARSE, **larger)
    # The update alone is sharded over more ranks, and may shrink by as much.
    assert seconds(many, "step_time") * more >= seconds(few, "step_time") * (1 - 1e-12)


@anywhere
@given(layouts())
def test_one_expert_is_a_dense_model(layout):
    """Equal to the last bit: experts that are none cost nothing."""
    dense = STEP.solve(**DENSE, **layout)
    none = STEP.solve(**DENSE, **layout, routing_imbalance_factor=4.0)
    assert seconds(dense, "step_time") == seconds(none, "step_time")
    assert seconds(dense, "ep_time") == 0


@pytest.mark.parametrize("zero", range(4))
def test_accumulation_never_shrinks_the_traffic_of_a_fixed_batch(zero):
    def traffic(g):
        found = STEP.solve(
            **SPARSE, fleet_size=64, ep_size=8, batch_size=512, gradient_accumulation_steps=g, zero_stage=zero
        )
        return seconds(found, "dp_traffic_time")

    assert traffic(8) >= traffic(1)
    if zero < 2:
        assert traffic(8) == traffic(1)
    if zero == 3:
        assert traffic(8) == pytest.approx(8 * traffic(1), rel=1e-12)


def test_expert_parallelism_lowers_the_gradient_traffic_of_mixtral():
    """On 64 accelerators: an expert on fewer ranks has fewer copies to agree."""

    def solved(e):
        return STEP.solve(**SPARSE, fleet_size=64, ep_size=e, batch_size=64, zero_stage=0)

    found = [solved(e) for e in (1, 2, 4, 8)]
    sent = [seconds(one, "dp_traffic_bytes") for one in found]
    assert all(more < fewer for fewer, more in pairwise(sent))
    # 1.6e9 parameters are dense, 45.1e9 are experts; a ring of n sends (n - 1) / n of a message.
    assert sent[0] / sent[-1] == pytest.approx((1.6 + 45.1) * 63 / (1.6 * 63 + 45.1 / 8 * 56), rel=0.01)
    times = [seconds(one, "dp_traffic_time") for one in found]
    assert times[-1] < times[0], "the ports of a node carry as much, so time falls less than bytes"


def test_overlap_hides_no_more_than_there_is():
    """Slow Ethernet: 277 ms of computing cannot hide 2,874 ms of traffic."""
    found = STEP.solve(
        **{**DENSE, "fabric_bandwidth": "1.25 GB/s"}, fleet_size=16, batch_size=16, zero_stage=1, link_efficiency=1.0
    )
    traffic = seconds(found, "dp_traffic_time")
    assert traffic > 5 * seconds(found, "compute_time")
    assert seconds(found, "step_time") > traffic


def test_an_overlapped_step_is_never_below_its_traffic():
    """277 ms of computing and 2,874 ms of traffic over 10 Gb/s Ethernet, at any depth and share of overlap."""
    exposed = compiled(System(data_parallel_traffic.EXPOSED))
    computing, traffic = 0.277, 2.874
    free = {"hidden_traffic_cost": 0.0}
    for layers in (1, 2, 32, 128):
        for overlap in (0.0, 0.5, 1.0):
            for stage, gathers in ((0, 0.0), (1, 1.0), (2, 1.0), (3, 2.0)):
                each = traffic / (2.0 if stage == 0 else 1.0 + gathers)
                left = exposed(
                    {
                        "zero_stage": stage,
                        "micro_batches": 1,
                        "layers_per_stage": layers,
                        "free_link_time": computing,
                        "forward_share": 1 / 3,
                        "dp_overlap": overlap,
                        "gradient_reduction_time": each,
                        "gradient_all_reduce_time": 2 * each,
                        "weight_gather_time": each,
                        **free,
                    }
                )["dp_time"]
                assert computing + left >= traffic * (1 - 1e-12)


def test_traffic_does_not_hide_beside_other_traffic():
    """Tensor-parallel ranks on four nodes fill the ports that gradients need."""
    found = STEP.solve(
        **{**DENSE, "seq_len": 2048}, fleet_size=256, batch_size=64, tp_size=32, zero_stage=3,
        gradient_accumulation_steps=8,
    )  # fmt: skip
    ports = seconds(found, "tp_time") + seconds(found, "dp_traffic_time")
    assert seconds(found, "step_time") > ports


def test_ranks_that_share_a_key_head_send_it_each():
    wide = {**DENSE, "seq_len": 8192, "accelerators_per_node": 256, **AT_ONCE}

    def traffic(t):
        found = STEP.solve(**wide, fleet_size=256, batch_size=128 // t, tp_size=t, cp_size=2)
        return seconds(found, "cp_traffic_time")

    assert traffic(16) == pytest.approx(traffic(8), rel=1e-3), "eight key heads: one on each of eight ranks or more"
    assert traffic(4) == pytest.approx(2 * traffic(8), rel=1e-3)


def test_attention_of_a_packed_batch_sees_documents():
    run = {**DENSE, "fleet_size": 8, "seq_len": 8192}
    whole, packed = (STEP.solve(**run, batch_size=8, document_len=each) for each in (None, 512))
    apart = STEP.solve(**run | {"seq_len": 512}, batch_size=8 * 16)
    same = ("scored_pair_flops", "short_sequence_factor", "model_flops", "step_score_time", "step_time")
    assert [seconds(packed, name) for name in same] == pytest.approx([seconds(apart, name) for name in same])
    assert packed.step_score_time < 0.15 * whole.step_score_time
    assert (packed.total_memory, packed.step_product_time) == (whole.total_memory, whole.step_product_time)
    times = {}
    for kernel in ("eager", "unfused"):
        kept, cut = (STEP.solve(**run, batch_size=8, attention_kernel=kernel, document_len=each) for each in (0, 512))
        assert cut.step_time == kept.step_time, "such attention computes every score"
        times[kernel] = kept.step_time
    assert times["eager"] > times["unfused"] > 1.3 * whole.step_time


@pytest.mark.parametrize(("stack", "own"), [("torchtitan_H100", "fa2"), ("MPT_H100", "triton")])
def test_flash_is_the_kernel_of_the_software(stack, own):
    scores = {
        kernel: seconds(
            STEP.solve(**DENSE, fleet_size=8, batch_size=8, stack=stack, attention_kernel=kernel), "step_score_time"
        )
        for kernel in ("flash", own, "cudnn")
    }
    assert scores["flash"] == scores[own] > 1.3 * scores["cudnn"]
    plain = STEP.solve(**DENSE, fleet_size=8, batch_size=8)
    assert (
        plain.step_score_time
        == STEP.solve(**DENSE, fleet_size=8, batch_size=8, attention_kernel="cudnn").step_score_time
    )


def test_a_stack_gives_operations_of_an_expert_by_number_format():
    """Casts are launched beside products at 8 bit and below."""
    asked = {"model": "Qwen3_30B_A3B", "hardware": "B200", "stack": "Megatron_Bridge_B200", "fleet_size": 8}
    asked |= {"ep_size": 8, "batch_size": 64, "seq_len": 4096}
    formats = ["bf16", "fp8", "nvfp4"]
    solved = [STEP.solve(**asked, precision=each) for each in formats]
    wide, narrow, narrower = (found["expert_operations"] for found in solved)
    assert wide == 6 < narrow == narrower
    swept = STEP.sweep(**asked, precision=formats, outputs=["host_wait_time"]).host_wait_time.values
    assert swept.tolist() == [found.host_wait_time.magnitude for found in solved]


@pytest.mark.parametrize(("hardware", "kernel", "said"), [
    ("A100", "fa3", "no figures of fa3 are known at a compute capability of 8.00"),
    ("H100", "fa4", "no figures of fa4"),
    ("B200", "fa3", "no figures of fa3"),
    ("H100", "splash", "no figures of splash"),
    ("MI300X", "cudnn", "attention takes attention_efficiency"),
    ("H100", "fa3", ""),
    ("B200", "fa4", ""),
    ("A100", "cudnn", ""),
    ("TPU_v5p", "splash", ""),
])  # fmt: skip
def test_a_kernel_without_figures_on_the_device_is_noted(hardware, kernel, said):
    found = STEP.solve(**DENSE | {"hardware": hardware}, fleet_size=8, batch_size=8, attention_kernel=kernel)
    assert said in " ".join(found.notes)
    assert bool(said) == any(kernel in note for note in found.notes)


@pytest.mark.parametrize("given", [
    {"document_len": 512, "attention_kernel": "eager"},
    {"hidden_traffic_cost": 0.3, "zero_stage": 1},
    {"slice_cost": 0.03},
    {"dispatcher": "all_to_all"},
    {"flash_kernel": "fa2", "attention_kernel": "cudnn"},
])  # fmt: skip
def test_an_argument_without_effect_is_noted(given):
    found = STEP.solve(**DENSE, fleet_size=8, batch_size=8, **given)
    assert any(note.startswith(f"{next(iter(given))}=") and "has no effect without" in note for note in found.notes)
    both = STEP.solve(**SPARSE, fleet_size=32, batch_size=32, zero_stage=3, document_len=512, hidden_traffic_cost=0.3,
                      slice_cost=0.03, dispatcher="all_to_all", flash_kernel="fa2", power_limit="500 W")  # fmt: skip
    assert not any("has no effect" in note for note in both.notes)


@pytest.mark.parametrize("model", [STEP, TrainingMemoryModel("per_operator")], ids=["train", "memory"])
def test_a_dense_shape_by_arguments_says_nothing_of_experts(model):
    shape = {"layers": 32, "hidden_dim": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "ffn_dim": 14336,
             "vocab_size": 128256, "gated": True}  # fmt: skip
    run = {"hardware": "H100", "seq_len": 4096, "batch_size": 8}
    run |= {**LINKS, "fleet_size": 8} if model is STEP else {"dp_size": 8}
    assert model.solve(**run, **shape).total_memory == model.solve(**run, model="Llama3_8B").total_memory
    with pytest.raises(InputError, match=r"experts=8: must be 1 where moe_layers=0"):
        model.solve(**run, **shape, experts=8, active_experts_per_token=2)


def test_a_stack_without_an_efficiency_says_why():
    trainium = {**DENSE, "hardware": "Trainium1", "stack": "Neuron_Trn1", "fleet_size": 32, "batch_size": 64}
    with pytest.raises(InputError, match=r"stack='Neuron_Trn1': has no efficiency: .* 0.28 .* 0.45.*efficiency="):
        STEP.solve(**trainium)
    assert STEP.solve(**trainium, efficiency=0.4).feasible in (True, False)


def test_frozen_weights_are_not_gathered_after_an_update():
    shares = [STEP.solve(**DENSE, fleet_size=8, batch_size=8, zero_stage=1, trainable_fraction=f) for f in (1, 0.01)]
    all_, few = (seconds(found, "dp_traffic_bytes") for found in shares)
    assert few == pytest.approx(all_ / 100, rel=1e-9)


def test_hot_experts_lower_the_efficiency_of_scaling():
    cold, hot = (
        STEP.solve(**SPARSE, fleet_size=64, ep_size=8, batch_size=64, routing_imbalance_factor=factor)
        for factor in (1, 4)
    )
    assert hot.scaling_efficiency < cold.scaling_efficiency
    assert hot.busy_share < cold.busy_share
    assert seconds(hot, "mean_compute_time") < seconds(hot, "compute_time")
    assert cold.canonical("mean_compute_time") == pytest.approx(cold.canonical("compute_time"), rel=1e-12)


def test_utilization_counts_what_the_convention_says():
    found = STEP.solve(**DENSE, fleet_size=8, batch_size=8, flop_convention="six_n")
    step = seconds(found, "step_time")
    assert found.mfu == pytest.approx(
        6 * found.canonical("active_parameters") * 8 * 4096 / (step * 8 * 989e12), rel=1e-3
    )
    full = STEP.solve(**DENSE, fleet_size=8, batch_size=8, activation_checkpointing="full")
    assert full.hfu > full.mfu
    none = STEP.solve(**DENSE, fleet_size=8, batch_size=8, activation_checkpointing="none")
    assert none.hfu == pytest.approx(none.mfu)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"fleet_size": 12, "tp_size": 8}, "fleet_size=12: must be a multiple of tp_size=8 times"),
        ({"batch_size": 9}, "batch_size=9: must fill gradient_accumulation_steps=1 micro-batches"),
        ({"gradient_accumulation_steps": 3}, "batch_size=8: must fill gradient_accumulation_steps=3"),
        ({"cp_size": 2, "seq_len": 4095}, "seq_len=4095: must be a multiple of cp_size=2"),
        ({"tp_size": 3}, "tp_size=3: must divide heads=32"),
        ({"document_len": 4097}, "document_len=4097: must be between 1 and seq_len=4096, or 0 where a sequence is one"),
        ({"document_len": 0.5}, "document_len=0.5: must be between 1 and seq_len=4096"),
        ({"document_len": -1}, "document_len=-1: must be a finite number >= 0"),
        ({"fleet_size": 12, "batch_size": 12}, "fleet_size=12: must be at most accelerators_per_node=8 or a multiple"),
        ({"fleet_size": 24, "batch_size": 24, "accelerators_per_node": 6, "tp_size": 4}, "tp_size=4: must divide acce"),
        (
            {"fleet_size": 24, "batch_size": 24, "accelerators_per_node": 6, "tp_size": 2, "cp_size": 2},
            "cp_size=2: times tp_size=2 must divide accelerators_per_node=6 or be a multiple of it",
        ),
        (
            {"pp_size": 4, "gradient_accumulation_steps": 4, "interleaved_stages": 16},
            "interleaved_stages=16: must be at most the layers of a stage",
        ),
        (
            {"pp_size": 4, "gradient_accumulation_steps": 4, "interleaved_stages": 2, "pipeline_schedule": "gpipe"},
            "interleaved_stages=2: must be 1 but with 1F1B",
        ),
        ({"ep_size": 2}, "ep_size=2: must divide experts=1"),
        ({"straggler_factor": 0.5}, "straggler_factor=0.5: must be a finite number >= 1"),
        ({"efficiency": 0}, "efficiency=0: must be a finite number > 0"),
    ],
)
def test_layouts_that_do_not_fit_are_refused(bad, message):
    with pytest.raises(InputError) as refused:
        STEP.solve(**{**DENSE, "fleet_size": 8, "batch_size": 8, **bad})
    assert str(refused.value).startswith(message)


def test_energy_is_left_out_where_the_power_is_not_known():
    bare = {"memory_capacity": 80, "memory_bandwidth": 3350, "peak_flops": 989, "attention_peak_flops": 989, **LINKS}
    point = {k: v for k, v in DENSE.items() if k != "hardware"} | bare
    found = STEP.solve(**point, fleet_size=8, batch_size=8)
    assert found.step_time.magnitude > 0
    with pytest.raises(UnknownNameError, match=r"it needs tdp=\.\.\."):
        _ = found.energy_per_token
    once = STEP.solve(**point, fleet_size=8, batch_size=8, tdp=700)
    busy = seconds(once, "compute_time") / seconds(once, "step_time")
    watts = 700 * (0.12 + 0.88 * (1 - math.exp(-busy - 5.21 * once.hfu)))
    joules = 8 * watts * 1.45 * 1.2 * seconds(once, "step_time") / (8 * 4096)
    assert once.canonical("energy_per_token") == pytest.approx(joules, rel=1e-12)
    assert "energy_per_token" not in STEP.sweep(**point, fleet_size=8, batch_size=[8, 16])


def test_a_fleet_gives_its_devices_and_links():
    found = STEP.solve("Llama3_1_405B", fleet="Llama3_16K", batch_size=2048, seq_len=8192, tp_size=8, pp_size=16,
                       gradient_accumulation_steps=16, precision="bf16", sequence_parallel=True)  # fmt: skip
    assert found.dp_size == 128
    assert found.canonical("peak_flops") == pytest.approx(989e12, rel=1e-3)
    assert found.training_time.units == "day"


def test_deepseek_v3_on_its_cluster():
    """180,000 hours of an H800 for 10^12 tokens are 1,543 tokens a second, between exchanges exposed and hidden.

    Their schedule hides exchanges behind two micro-batches at once; ours is 1F1B, which keeps fewer weights.
    """
    point = {
        "model": "DeepSeek_V3", "fleet": "DeepSeek_H800_2048", "batch_size": 15360, "seq_len": 4096, "pp_size": 16,
        "ep_size": 64, "zero_stage": 1, "gradient_accumulation_steps": 120, "precision": "fp8", "mtp_layers": 1,
        "routing_imbalance_factor": 1.1,
    }  # fmt: skip
    exposed, hidden = (STEP.solve(**point, ep_overlap=share) for share in (0, 1))
    measured = 1e12 / (180_000 * 3600)
    assert exposed.canonical("tokens_per_second_per_accelerator") < measured
    assert hidden.canonical("tokens_per_second_per_accelerator") == pytest.approx(measured, rel=0.3)
    # A forward pass is too short for the exchanges of its own layer.
    assert 0 < seconds(hidden, "ep_time") < 0.2 * seconds(exposed, "ep_time")
    assert seconds(exposed, "host_wait_time") < 1e-3 * seconds(exposed, "step_time")


@pytest.mark.parametrize(
    "model",
    [each for each in every_model() if {"tdp", "power_limit"} <= set(each().arguments)],
    ids=lambda m: m.command,
)
def test_a_power_that_is_typed_is_the_limit_unless_that_is_given(model):
    variant = model.example.get("variant") or next(each for each in model.variants if "tdp" in model(each).arguments)
    asked = {name: value for name, value in model.example.items() if name != "variant"}
    limits = [
        bind(model(variant), {**asked, **given}).values["power_limit"]
        for given in ({"tdp": "500 W"}, {"tdp": "0.5 kW", "power_limit": "650 W"})
    ]
    assert limits == [500, 650]


def test_products_slow_down_with_the_power_and_an_efficiency_wins_over_it():
    run = {**DENSE, "fleet_size": 8, "batch_size": 8}
    rates = [STEP.solve(**run, **given).canonical("product_rate") / 989e12 for given in (
        {}, {"tdp": "500 W"}, {"efficiency": 0.5}, {"efficiency": 0.5, "tdp": "500 W"}, {"power_limit": 0},
    )]  # fmt: skip
    law = [1 / (1 + 0.33 * 0.989 / kilowatts) for kilowatts in (0.7, 0.5)]
    assert rates == pytest.approx([*law, 0.5, 0.5, 0.6], rel=1e-12)


def test_a_device_of_ones_own_has_a_power_and_exponentials():
    said = {"name": "Prototype", "datasheet_memory": "128 GB", "memory_bandwidth": "6 TB/s",
            "peak_flops": {"bf16": "1500 TFLOP/s"}}  # fmt: skip
    known = {"tdp": "900 W", "multiprocessors": 160, "clock": "1.9 GHz", "compute_capability": 10}
    run = {"model": "Llama3_8B", "fleet_size": 1, "batch_size": 1, "seq_len": 4096, "precision": "bf16"}
    found = STEP.solve(**run, hardware=Accelerator(**said, **known))
    assert found.canonical("exponential_rate") == pytest.approx(16 * 160 * 1.9e9)
    assert found.canonical("product_efficiency") == pytest.approx(1 / (1 + 0.33 * 1.5 / 0.9))
    twice = STEP.solve(**run, hardware=Accelerator(**said, **known, exponentials_per_clock=32))
    assert twice.canonical("exponential_rate") == 2 * found.canonical("exponential_rate")
    bare = STEP.solve(**run, hardware=Accelerator(**said))
    assert [bare.canonical(name) for name in ("product_efficiency", "forward_core_time")] == [0.6, 0]
    alone = {"clock": "1.9 GHz"}
    for bad in ({"clock": "700 W"}, {"exponentials_per_clock": -1}, {"compute_capability": -9}, alone):
        with pytest.raises(CatalogError, match=f"Prototype: {next(iter(bad))}: "):
            Accelerator(**said, **bad)


def test_a_law_on_boards_that_it_was_not_fitted_on_says_so():
    def noted(**given):
        point = {"model": "Llama3_8B", "fleet_size": 8, "batch_size": 8, "seq_len": 4096, "precision": "bf16", **LINKS}
        return [
            note
            for note in STEP.solve(**point, **given).notes
            if note.startswith("matrix products are limited by power")
        ]

    assert len(noted(hardware="MI300X")) == 1
    assert "a stack of this device or efficiency=" in noted(hardware="MI300X")[0]
    known = ({"hardware": "H100"}, {"hardware": "MI300X", "stack": "Primus_MI300X"},
             {"hardware": "MI300X", "efficiency": 0.5}, {"hardware": "TPU_v5p"})  # fmt: skip
    assert not any(noted(**each) for each in known)


def test_constants_of_before_are_answered_as_before():
    """Pins are of the release before the laws of power, exponentials and hidden traffic."""
    before = {
        "efficiency": 0.6, "attention_efficiency": 0.5, "memory_efficiency": 0.8, "eight_bit_efficiency": 0.74,
        "tp_overlap": 0, "pipeline_split": "balanced", "layer_operations": 103, "expert_operations": 12,
        "host_operation_time": 0, "expert_product_ratio": 1, "hidden_traffic_cost": 0, "two_batch_hidden_share": 1,
    }  # fmt: skip
    dense = {"model": "Llama3_8B", "fleet": "SuperPOD_H100", "fleet_size": 256, "batch_size": 1024, "seq_len": 8192,
             "zero_stage": 3, "tp_size": 2, "gradient_accumulation_steps": 4, "activation_checkpointing": "selective",
             "precision": "bf16"}  # fmt: skip
    sparse = {"model": "Qwen3_235B_A22B", "hardware": "H100", "fleet_size": 256, "batch_size": 1024, "seq_len": 4096,
              "precision": "bf16", "zero_stage": 2, "ep_size": 32, "gradient_accumulation_steps": 4,
              "fabric_bandwidth": "50 GB/s", "fabric_latency": "10 us", "two_batch_overlap": True}  # fmt: skip
    times = [seconds(STEP.solve(**run, **before), "step_time") for run in (dense, sparse)]
    assert times == pytest.approx([4.1371637123085785, 6.758840733170285], rel=1e-12)


def test_element_wise_code_reaches_what_is_said_of_memory_alone():
    run = {**DENSE, "fleet_size": 8, "batch_size": 8}
    shares = [STEP.solve(**run, **given).canonical("elementwise_efficiency") for given in (
        {}, {"memory_efficiency": 0.7}, {"memory_efficiency": 0.7, "elementwise_efficiency": 0.5},
        {"stack": "TensorRT_LLM_H100"}, {"stack": "MaxText_TPU_v4"},
    )]  # fmt: skip
    own = builtin().find("stack", "MaxText_TPU_v4").elementwise_efficiency.value
    assert shares == [0.6, 0.7, 0.5, 0.85, own]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"step_flop_energy": "-1 pJ/FLOP"}, "step_flop_energy='-1 pJ/FLOP': must be a finite number >= 0"),
        ({"power_limit": "-700 W"}, "power_limit='-700 W': must be a finite number >= 0"),
        ({"exponentials_per_clock": -1}, "exponentials_per_clock=-1: must be a finite number >= 0"),
        ({"clock": -1}, "clock=-1: must be a finite number >= 0"),
        ({"multiprocessors": 1}, "multiprocessors=1: must be above 1 where clock is given"),
        ({"exponential_rate": 3000}, "unknown argument of DistributedModel 'exponential_rate': did you mean clock?"),
        ({"compute_capability": -9}, "compute_capability=-9: must be a finite number >= 0"),
        ({"attention_kernel_share": -0.1}, "attention_kernel_share=-0.1: must be a finite number >= 0"),
        ({"attention_kernel": "fa5"}, "attention_kernel='fa5': must be one of flash, eager, fused, "),
        ({"elementwise_efficiency": 0}, "elementwise_efficiency=0: must be a finite number > 0"),
        ({"hidden_traffic_cost": 1.5}, "hidden_traffic_cost=1.5: must be a finite number >= 0 and <= 1"),
        ({"two_batch_hidden_share": 2}, "two_batch_hidden_share=2: must be a finite number >= 0 and <= 1"),
        ({"slice_cost": -0.1}, "slice_cost=-0.1: must be a finite number >= 0"),
        ({"expert_product_ratio": 0}, "expert_product_ratio=0: must be a finite number > 0"),
        ({"moe_layer_operations": -1}, "moe_layer_operations=-1: must be a finite number >= 0"),
        ({"all_to_all_operations": -1}, "all_to_all_operations=-1: must be a finite number >= 0"),
        ({"dispatcher": "deepep"}, "dispatcher='deepep': must be one of fused, all_to_all"),
        ({"pipeline_split": "uneven"}, "pipeline_split='uneven': must be one of balanced, even, auto"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_a_step_takes_of_stack_and_board_is_refused_where_it_makes_no_sense(bad, message):
    with pytest.raises(InputError) as refused:
        STEP.solve(**DENSE, fleet_size=8, batch_size=8, **bad)
    assert str(refused.value).startswith(message)
