"""The closed form of a step with experts against layers executed operation by operation, on random settings."""

import random
from dataclasses import replace
from statistics import median

import pytest
from fuzz import rest_long
from simulated.expert_layer import Layer, Part, Program, layers_held, one_at_a_time, two_at_a_time

from mlsysim import ExpertParallelModel
from mlsysim.backends import compiled
from mlsysim.formulas import activations
from mlsysim.symbolic import System

MODEL = ExpertParallelModel()
#: Kernels of each part of a layer: with fewer, a device waits longer for the first of them behind a read.
KERNELS = 8
LAYER = Layer(Part(3), Part(2), Part(6), Part(4), dispatch=1, combine=2)


class TestSchedule:
    """Worked out by hand."""

    def test_streams_run_beside_each_other_and_wait_for_what_they_need(self):
        program = Program()
        first = program.launch("compute", 3)
        sent = program.launch("dispatch", 5, first)
        beside = program.launch("compute", 4)
        last = program.launch("compute", 1, sent)
        assert [program.run()[each] for each in (first, sent, beside, last)] == [3, 8, 7, 9]

    def test_both_exchanges_share_a_port(self):
        """The combination is ready first, although the dispatch was launched before it."""
        program = Program()
        slow, quick = program.launch("compute", 1), None
        sent = program.launch("dispatch", 5, program.launch("compute", 2, slow))
        quick = program.launch("combine", 4, slow)
        assert [program.run()[each] for each in (quick, sent)] == [5, 10]

    def test_a_host_that_reads_launches_nothing_meanwhile(self):
        """Launched from 0 to 2, computed until 7, read until 8, launched until 10."""
        program = Program()
        program.read(program.launch("compute", 5, launch=2), 1)
        program.launch("compute", 1, launch=2)
        assert program.run() == [7, 11]

    def test_a_host_that_reads_nothing_runs_ahead(self):
        program = Program()
        for _ in range(3):
            program.launch("compute", 5, launch=2)
        assert program.run() == [7, 12, 17]

    def test_one_micro_batch_hides_nothing(self):
        forward, backward = 3 + 1 + 2 + 2, 1 + 4 + 2 + 6
        assert one_at_a_time([LAYER] * 3, 2, head=1) == 2 * (3 * (forward + backward) + 1)
        assert one_at_a_time([LAYER] * 3, 2, head=1, recomputed=True) == 2 * (3 * (2 * forward + backward) + 1)

    @pytest.mark.parametrize(("dispatch", "combine"), [(1, 2), (5, 1), (1, 9), (7, 8)])
    def test_two_hide_each_exchange_behind_one_part(self, dispatch, combine):
        """Six units of attention backward hide a combination forward, four of experts a dispatch, and so on."""
        layer = replace(LAYER, dispatch=dispatch, combine=combine)
        pair = max(3, dispatch) + max(4, dispatch) + max(2, combine) + max(6, combine)
        alone = 3 + 2 + 4 + 6 + 2 * (dispatch + combine)
        assert two_at_a_time([layer] * 5, 4, head=1) == 5 * (3 * pair + alone) + 4

    def test_what_exchanges_take_of_the_device_hides_behind_nothing(self):
        """Half of each exchange runs on the device, behind the part beside which the other half does."""
        pair, alone = (3 + 0.5) + (4 + 0.5) + (2 + 1) + (6 + 1), 3 + 2 + 4 + 6 + 2 * (1 + 2)
        assert two_at_a_time([replace(LAYER, hides=0.5)] * 5, 4, head=1) == pytest.approx(5 * (3 * pair + alone) + 4)

    def test_reading_counts_is_waiting(self):
        counted = replace(LAYER, count=0.5)
        assert one_at_a_time([counted] * 3, 2) == one_at_a_time([LAYER] * 3, 2) + 2 * 3 * 0.5
        assert two_at_a_time([counted] * 3, 4) == two_at_a_time([LAYER] * 3, 4) + 4 * 3 * 0.5

    def test_the_slower_of_host_and_device_sets_the_pace_between_reads(self):
        """Nine units of launching against eight of the device forward, three against thirteen backward."""
        parts = [Part(3, 6, 1000), Part(2, 3, 1000), Part(6, 2, 1000), Part(4, 1, 1000)]
        slow = Layer(*parts, dispatch=1, combine=2, count=0.0)
        assert one_at_a_time([slow] * 9, 1) == pytest.approx(9 * (9 + 13), rel=0.02)

    def test_what_runs_beside_its_own_exchanges_hides_them(self):
        """Of five units half run beside three forward, of ten half beside three backward."""
        assert one_at_a_time([replace(LAYER, beside=0.5)], 1) == (5 + 0.5) + 10

    @pytest.mark.parametrize("layers", [1, 4, 9])
    def test_two_micro_batches_hold_one_layer_more(self, layers):
        assert (layers_held(layers, two=False), layers_held(layers, two=True)) == (layers, layers + 1)
        held = compiled(System([activations.in_flight_micro_batches]))(
            {"pp_size": 1, "micro_batches": 4, "two_batch_overlap": 1, "layers_per_stage": layers,
             "pipeline_schedule": 0, "interleaved_stages": 1}
        )  # fmt: skip
        assert held["in_flight_micro_batches"] * layers == pytest.approx(layers + 1)


def asked(seed):
    """A model, a layout, links and a host by chance."""
    rng = random.Random(f"expert layer {seed}")
    ranks, micro_batches = rng.choice([2, 4, 8, 16, 32]), rng.randint(1, 3)
    fleet, layers, experts = max(8, ranks), rng.randint(12, 24), ranks * rng.choice([1, 2, 4, 8, 16, 32])
    policy = rng.choice(["none", "selective", "full"])
    return {
        "model": "Qwen3_30B_A3B", "hardware": "H100", "precision": "bf16", "fabric_latency": "10 us",
        "layers": layers, "moe_layers": layers - rng.choice([0, 0, 1]),
        "hidden_dim": rng.choice([1024, 2048, 4096]), "ffn_dim": rng.choice([4096, 8192]),
        "experts": experts, "active_experts_per_token": min(rng.choice([1, 2, 4, 8]), experts),
        "expert_ffn_dim": rng.choice([512, 1024, 2048, 4096]), "vocab_size": rng.choice([8192, 32768]),
        "seq_len": rng.choice([1024, 2048, 4096, 8192]), "batch_size": fleet * micro_batches * rng.choice([1, 2]),
        "gradient_accumulation_steps": micro_batches, "fleet_size": fleet, "ep_size": ranks, "zero_stage": 2,
        "activation_checkpointing": policy, "dispatch_dtype": rng.choice(["bf16", "fp8"]),
        "node_bandwidth": f"{10 ** rng.uniform(1.5, 2.9)} GB/s",
        "fabric_bandwidth": f"{10 ** rng.uniform(1, 2.5)} GB/s",
        "host_operation_time": f"{rng.choice([0, 5, 10, 20, 50])} us", "grouped_experts": rng.random() < 0.6,
        "count_sync_time": f"{rng.choice([0, 0.1, 0.3, 1])} ms", "ep_overlap": rng.choice([0, 0, 0.3, 0.7, 1]),
        "routing_imbalance_factor": rng.choice([1, 1.3, 2]),
        "two_batch_overlap": micro_batches > 1 and policy != "full" and rng.random() < 0.6,
    }  # fmt: skip


def executed(found):
    """Seconds of all micro-batches, from the durations of the parts of a layer.

    Kernels of a part are alike here, so that the slower of device and host alone sets their pace; of those that differ
    now the one does and now the other. So a step takes no less than fourth powers of both clocks, executed alone, add
    up to.
    """
    value = found.canonical
    layers, sparse = round(value("slowest_stage_layers")), round(value("slowest_stage_moe_layers"))
    again, two = value("activation_checkpointing") == 2, bool(value("two_batch_overlap"))
    experts = value("expert_time")
    recomputed = value("recomputed_products")
    # Passes as long as a forward pass: itself, gradients of inputs and of weights, what is recomputed.
    passes = 2 + value("weight_gradient_share") + recomputed
    forward = (
        (value("product_time") - sparse * experts) / layers / passes
        + value("score_time") / layers / (3 + value("recomputed_attention"))
        + value("elementwise_time") / layers / (3 + value("recomputed_elementwise"))
    )
    whole = value("product_time") + value("score_time") + value("elementwise_time")
    besides = (whole - sparse * experts) / layers
    launch, rest = (value(f"{name}_launch_time") / (3 + recomputed) for name in ("expert", "besides"))
    layer = Layer(
        Part(forward, rest, KERNELS),
        Part(experts / passes, launch, KERNELS),
        Part(besides - (1 + again) * forward, 2 * rest, KERNELS),
        Part(experts * (1 - (1 + again) / passes), 2 * launch, KERNELS),
        dispatch=value("dispatch_time"),
        combine=value("combine_time"),
        count=value("count_sync_time"),
        beside=0.0 if two else value("ep_overlap"),
        hides=value("two_batch_hidden_share") if two else 1.0,
    )
    micro_batches, head = round(value("micro_batches")), value("loss_time")

    def took(each, head=0.0):
        # Layers without experts come first, and half of each is attention.
        stage = [each.without_experts()] * (layers - sparse) + [each] * sparse
        if two:
            return two_at_a_time(stage, micro_batches, head)
        return one_at_a_time(stage, micro_batches, head, recomputed=again)

    whole, both = took(layer, head), took(replace(layer, count=0.0))
    device, host = (took(alone(layer, host=each)) for each in (False, True))
    return whole + max(0, (device**4 + host**4) ** 0.25 - both)


def alone(layer, *, host):
    """A layer with launches that take no time, or with kernels and exchanges that take none."""
    parts = {name: getattr(layer, name) for name in ("attention", "experts", "attention_back", "experts_back")}
    for name, part in parts.items():
        parts[name] = replace(part, seconds=0.0) if host else replace(part, launch=0.0)
    sent = {"dispatch": 0.0, "combine": 0.0} if host else {}
    return replace(layer, **parts, **sent, count=0.0)


def off(seed):
    found = MODEL.solve(**asked(seed))
    return (found.canonical("stage_time") + found.canonical("host_sync_time")) / executed(found) - 1


@pytest.mark.parametrize("first", rest_long(range(0, 200, 20), quick=1))
def test_two_hundred_settings(first):
    """Within 5% each, and within 0.3% in the median of twenty."""
    errors = [abs(off(seed)) for seed in range(first, first + 20)]
    assert max(errors) < 0.05
    assert median(errors) < 0.005
