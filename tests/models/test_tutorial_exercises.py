"""The tutorial's exercises and numbers, against calculations done here in plain Python."""

import math
from fractions import Fraction

import pytest

from mlsysim import MoERoutingModel, ServingCapacityModel, SparseTransformerWorkload, Systems, TrainingMemoryModel

GB, MB, MS = 1e9, 1e6, 1e-3
PARAMETERS, LAYERS, WIDTH, HEADS, KV_HEADS = 8.03e9, 32, 4096, 32, 8
BYTES, BANDWIDTH, RATE, CAPACITY = 2, 3.35e12, 989e12, 80 * 2**30


def zero(stage, ranks):
    """Bytes per rank of the tutorial's run, part by part."""
    weights = BYTES * PARAMETERS / (ranks if stage >= 3 else 1)
    gradients = BYTES * PARAMETERS / (ranks if stage >= 2 else 1)
    optimizer = 12 * PARAMETERS / (ranks if stage >= 1 else 1)
    activations = 10 * LAYERS * (8 // ranks) * 2048 * WIDTH
    return weights, gradients, optimizer, activations, 0.05 * gradients


PARTS = ("weights", "gradients", "optimizer_state", "activations", "communication_buffers")


class TestZero:
    """Change zero_stage from 0 to 3: which components shrink?"""

    @pytest.mark.parametrize("stage", range(4))
    def test_every_part(self, stage):
        found = TrainingMemoryModel().solve(
            "Llama3_8B", "H100", batch_size=8, seq_len=2048, dp_size=8, zero_stage=stage
        )
        parts = zero(stage, 8)
        assert [found.canonical(name) for name in PARTS] == pytest.approx(parts, rel=1e-14)
        assert found.canonical("total_memory") == pytest.approx(sum(parts), rel=1e-14)
        assert found.feasible is (sum(parts) <= CAPACITY)

    def test_the_table_a_reader_sees(self):
        sweep = TrainingMemoryModel().sweep(
            "Llama3_8B", "H100", batch_size=8, seq_len=2048, dp_size=8, zero_stage=range(4)
        )
        printed = {name: [f"{value:.3f}" for value in sweep[name].values] for name in (*PARTS, "total_memory")}
        assert printed == {
            "weights": ["16.060", "16.060", "16.060", "2.007"],
            "gradients": ["16.060", "16.060", "2.007", "2.007"],
            "optimizer_state": ["96.360", "12.045", "12.045", "12.045"],
            "activations": ["2.684", "2.684", "2.684", "2.684"],
            "communication_buffers": ["0.803", "0.803", "0.100", "0.100"],
            "total_memory": ["131.967", "47.652", "32.897", "18.845"],
        }
        assert sweep.feasible.values.tolist() == [False, True, True, True]

    def test_activations_do_not_shrink_because_each_rank_has_its_own_sequences(self):
        found = [
            TrainingMemoryModel().solve("Llama3_8B", "H100", batch_size=8, dp_size=8, zero_stage=stage)
            for stage in range(4)
        ]
        assert len({result.activations.magnitude for result in found}) == 1
        alone = TrainingMemoryModel().solve("Llama3_8B", "H100", batch_size=1, dp_size=1)
        assert found[3].activations == alone.activations

    def test_without_data_parallel_ranks_a_stage_changes_nothing(self):
        totals = {
            TrainingMemoryModel().solve("Llama3_8B", "H100", batch_size=8, zero_stage=stage).canonical("total_memory")
            for stage in range(4)
        }
        assert len(totals) == 1


def erlang_c(servers, load):
    """Exactly, in fractions: the probability of waiting in an M/M/c queue."""
    load = Fraction(load)
    term, total = Fraction(1), Fraction(1)
    for k in range(1, servers):
        term = term * load / k
        total += term
    last = term * load / servers * servers / (servers - load)
    return float(last / (total + last))


def capacity(qps, target, seq_len, output_tokens, max_batch, efficiency):
    """The physics of the tutorial's second section, by hand."""
    weights = PARAMETERS * BYTES
    per_token = 2 * LAYERS * KV_HEADS * (WIDTH // HEADS) * BYTES
    per_request = per_token * 16 * math.ceil(seq_len / 16)
    batch = min(max_batch, (CAPACITY - int(weights)) // per_request)
    work = (2 * PARAMETERS * seq_len + 4 * LAYERS * WIDTH * seq_len**2) * batch
    first = work / (RATE * efficiency) + 0.01 * MS
    step = (weights + batch * per_request) / BANDWIDTH
    base = first + (step + LAYERS * 0.01 * MS) * output_tokens
    rate = batch / step / output_tokens
    replicas = 1
    while True:
        if qps < replicas * rate:
            wait = max(0.0, math.log(erlang_c(replicas, qps / rate) / 0.01) / (replicas * rate - qps))
            if base + wait <= target:
                return replicas, replicas * rate, base, wait
        replicas += 1


def solved(**given):
    typed = {"seq_len": 1024, "output_tokens": 64, "max_batch_size": 16, "efficiency": 0.35, **given}
    return ServingCapacityModel().solve("Llama3_8B", "H100", **typed)


class TestOutputTokens:
    """Double output_tokens from 64 to 128: does the replica count change by exactly 2x?"""

    @pytest.mark.parametrize("tokens", [64, 128])
    @pytest.mark.parametrize("qps", [1, 20, 22, 40, 100, 230, 500])
    def test_replicas_capacity_and_latencies(self, qps, tokens):
        found = solved(qps=qps, target_p99_latency_ms=2000, output_tokens=tokens)
        replicas, rate, base, wait = capacity(qps, 2.0, 1024, tokens, 16, 0.35)
        assert found.required_replicas == replicas
        assert found.qps_capacity == pytest.approx(rate, rel=1e-13)
        assert found.canonical("base_request_latency") == pytest.approx(base, rel=1e-13)
        assert found.canonical("queue_wait_p99") == pytest.approx(wait, rel=1e-9, abs=1e-15)
        assert found.canonical("estimated_p99_latency") == pytest.approx(base + wait, rel=1e-11)
        assert found.feasible is True

    def test_the_tutorials_own_point(self):
        short = solved(qps=20, target_p99_latency_ms=2000)
        long = solved(qps=20, target_p99_latency_ms=2000, output_tokens=128)
        assert (short.required_replicas, long.required_replicas) == (1, 2)
        assert long.per_replica_qps_capacity == pytest.approx(short.per_replica_qps_capacity / 2, rel=1e-15)

    def test_the_base_latency_does_not_double_because_prefill_stays(self):
        short = solved(qps=20, target_p99_latency_ms=2000)
        long = solved(qps=20, target_p99_latency_ms=2000, output_tokens=128)
        assert long.ttft == short.ttft
        decode = {result: result.base_request_latency - result.ttft for result in (short, long)}
        assert decode[long].magnitude == pytest.approx(2 * decode[short].magnitude, rel=1e-13)
        assert 1.3 < (long.base_request_latency / short.base_request_latency).magnitude < 1.4

    def test_the_replicas_do_not_simply_double(self):
        """Whole replicas, and a queue that pools better as it grows: the ratio is rarely two."""
        ratios = set()
        for qps in (1, 20, 40, 100, 230, 500):
            short = solved(qps=qps, target_p99_latency_ms=2000).required_replicas
            long = solved(qps=qps, target_p99_latency_ms=2000, output_tokens=128).required_replicas
            ratios.add(Fraction(long, short))
        assert len(ratios) > 2
        assert min(ratios) == 1
        assert any(ratio != 2 for ratio in ratios)

    def test_utilization_of_a_larger_pool_is_higher(self):
        small, large = (solved(qps=qps, target_p99_latency_ms=2000) for qps in (40, 500))
        assert large.utilization > small.utilization


class TestRouting:
    @pytest.mark.parametrize(
        ("factor", "experts", "megabytes", "milliseconds"),
        [(1.0, 2.0, 117.4, 9.75), (1.25, 2.5, 146.8, 12.09), (1.5, 3.0, 176.2, 14.44), (2.0, 4.0, 234.9, 19.14)],
    )
    def test_the_tutorials_rows(self, factor, experts, megabytes, milliseconds):
        toy = SparseTransformerWorkload(
            name="toy", parameters=64e9, active_parameters=8e9, experts=8, active_experts_per_token=2, layers=32,
            hidden_dim=4096, heads=32,
        )  # fmt: skip
        found = MoERoutingModel().solve(
            toy, Systems.Clusters.Research_256, batch_size=4, ep_size=8, routing_imbalance_factor=factor
        )
        payload = 4 * 2048 * 4096 * 2 * experts
        seconds = 7 / 8 * payload / 12.5e9 + 7 * 50e-6
        assert found.effective_active_experts == experts
        assert found.active_parameter_multiplier == experts / 2
        assert found.effective_active_parameters == 8e9 * experts / 2
        assert found.canonical("token_dispatch_bytes") == pytest.approx(payload * 7 / 8, rel=1e-14)
        assert found.canonical("all_to_all_latency") == pytest.approx(seconds, rel=1e-14)
        assert round(found.token_dispatch_bytes.to("MB").magnitude, 1) == megabytes
        assert round(found.all_to_all_latency.to("ms").magnitude, 2) == milliseconds

    def test_hot_experts_cannot_be_more_than_there_are(self):
        cap = MoERoutingModel().solve("Mixtral_8x7B", batch_size=4, routing_imbalance_factor=100)
        assert cap.effective_active_experts == 8
        assert cap.active_parameter_multiplier == 4

    def test_one_rank_sends_nothing(self):
        alone = MoERoutingModel().solve("Mixtral_8x7B", "Research_256", batch_size=4, ep_size=1)
        assert alone.token_dispatch_bytes.magnitude == alone.all_to_all_latency.magnitude == 0
