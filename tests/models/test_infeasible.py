"""Infeasible is an answer, not an error: each binding constraint by a concrete case."""

import itertools
import math

import pytest
from fuzz import rest_long
from study.points import CHAINS, DEPLOYMENTS, POINTS

import mlsysim
from mlsysim import Q_, ServingCapacityModel, ServingModel, TrainingMemoryModel
from mlsysim.symbolic import variable_of

MILLISECOND = 1e-3


def serve(model="Llama3_8B", **given):
    typed = {"qps": 20, "target_p99_latency_ms": 4000, **given}
    return ServingCapacityModel().solve(model, "H100", **typed)


def test_training_that_does_not_fit():
    found = TrainingMemoryModel().solve("Llama3_70B", "H100", batch_size=8, dp_size=8, zero_stage=3)
    assert found.feasible is False
    assert found.total_memory > found.memory_capacity
    assert found.memory_utilization > 1
    # 2 + 2 + 12 bytes per parameter over eight ranks alone are more than 80 GB.
    states = found.weights + found.gradients + found.optimizer_state
    assert states.to("GB").magnitude == pytest.approx(16 * 70.6 / 8, rel=1e-14)


def test_training_that_fits_exactly_is_feasible():
    need = TrainingMemoryModel().solve("Llama3_8B", "H100", batch_size=8).canonical("total_memory")
    fits = TrainingMemoryModel().solve("Llama3_8B", memory_capacity=Q_(need, "byte"), batch_size=8)
    tight = TrainingMemoryModel().solve("Llama3_8B", memory_capacity=Q_(need * (1 - 1e-12), "byte"), batch_size=8)
    assert (fits.feasible, tight.feasible) == (True, False)


class TestMemory:
    """The weights alone are larger than the accelerator."""

    found = serve("GPT3_175B")

    def test_it_is_the_bottleneck(self):
        assert (self.found.feasible, self.found.bottleneck) == (False, "Memory")
        assert self.found.served_weights > self.found.memory_capacity

    def test_nothing_is_served(self):
        assert Q_(0, "request") == self.found.active_batch_size
        assert self.found.per_replica_qps_capacity == self.found.qps_capacity == 0
        assert self.found.required_replicas == math.inf
        assert self.found.utilization == math.inf
        assert self.found.wait_probability == 1.0
        assert self.found.estimated_p99_latency == Q_(math.inf, "ms")

    def test_it_is_named_before_the_base_latency(self):
        assert serve("GPT3_175B", target_p99_latency_ms=1).bottleneck == "Memory"

    def test_a_cache_that_does_not_fit_beside_the_weights_is_memory_too(self):
        tight = serve(memory_capacity="16.3 GB")
        assert tight.served_weights < tight.memory_capacity
        assert (tight.bottleneck, tight.feasible) == ("Memory", False)
        assert serve(memory_capacity="16.4 GB").bottleneck != "Memory"


class TestBaseLatency:
    """A request alone takes longer than the target: no number of replicas helps."""

    found = serve(target_p99_latency_ms=100)

    def test_it_is_the_bottleneck(self):
        assert (self.found.feasible, self.found.bottleneck) == (False, "Base Latency")
        assert self.found.base_request_latency > Q_(100, "ms")
        assert self.found.required_replicas == math.inf

    @pytest.mark.parametrize("replicas", [1, 10, 1_000_000])
    def test_more_replicas_do_not_change_that(self, replicas):
        assert serve(target_p99_latency_ms=100, max_replicas=replicas).bottleneck == "Base Latency"

    def test_it_is_named_before_capacity(self):
        assert serve(target_p99_latency_ms=100, qps=1e6, max_replicas=1).bottleneck == "Base Latency"

    def test_a_target_of_exactly_the_base_latency_is_not_exceeded_by_it(self):
        base = serve().canonical("base_request_latency") / MILLISECOND
        light = serve(target_p99_latency_ms=base * (1 + 1e-12), qps=1e-3)
        assert (light.bottleneck, light.feasible) == ("Feasible", True)
        assert light.queue_wait_p99.magnitude == 0


class TestCapacity:
    """The arrivals are more than all allowed replicas complete."""

    found = serve(qps=500, max_replicas=14)

    def test_it_is_the_bottleneck(self):
        assert (self.found.feasible, self.found.bottleneck) == (False, "Capacity")
        assert self.found.qps_capacity < 500
        assert self.found.required_replicas == math.inf

    def test_the_queue_is_shown_at_the_most_replicas_allowed(self):
        assert self.found.replicas == 14
        assert self.found.qps_capacity == pytest.approx(14 * self.found.per_replica_qps_capacity, rel=1e-15)
        assert self.found.utilization == pytest.approx(500 / self.found.qps_capacity, rel=1e-15)
        assert self.found.utilization > 1
        assert self.found.queue_wait_p99 == Q_(math.inf, "ms")

    def test_one_more_replica_mends_it(self):
        assert serve(qps=500, max_replicas=15).feasible is True


class TestTailLatency:
    """Stable on average, but the wait of the last percent exceeds what the target leaves."""

    found = serve(qps=30, target_p99_latency_ms=3300, max_replicas=1)

    def test_it_is_the_bottleneck(self):
        assert (self.found.feasible, self.found.bottleneck) == (False, "Tail Latency")
        assert self.found.utilization < 1
        assert self.found.base_request_latency < Q_(3300, "ms") < self.found.estimated_p99_latency
        assert self.found.required_replicas == math.inf

    def test_the_latency_at_the_most_replicas_is_still_told(self):
        wait = math.log(self.found.utilization / 0.01) / (self.found.per_replica_qps_capacity - 30)
        assert self.found.queue_wait_p99.to("s").magnitude == pytest.approx(wait, rel=1e-12)

    def test_more_replicas_mend_it(self):
        found = [serve(qps=30, target_p99_latency_ms=3300, max_replicas=n).bottleneck for n in (1, 2, 3, 4)]
        assert found == ["Tail Latency", "Tail Latency", "Feasible", "Feasible"]
        assert serve(qps=30, target_p99_latency_ms=3300).required_replicas == 3


def test_every_label_of_the_bottleneck_has_been_met():
    met = {found.bottleneck for found in (TestMemory.found, TestBaseLatency.found, TestCapacity.found)}
    met |= {TestTailLatency.found.bottleneck, serve().bottleneck}
    labels = ServingCapacityModel().output("bottleneck").domain.labels
    assert met == set(labels)


@pytest.mark.parametrize("found", [serve(), TestMemory.found, TestBaseLatency.found, TestCapacity.found])
def test_feasible_means_the_label_says_so(found):
    assert found.feasible is (found.bottleneck == "Feasible")
    assert found.feasible is math.isfinite(found.required_replicas)


@pytest.mark.parametrize("variant", list(ServingModel.variants))
@pytest.mark.parametrize("rate", [1e-4, 20])
def test_a_token_that_comes_sooner_than_one_alone_is_promised_in_vain(variant, rate):
    found = ServingModel.solve_example(variant=variant, request_rate=rate, tpot_slo=1)
    assert found["tpot_p50"].to("ms").magnitude > 1
    assert found["slo_attainment"] == 0
    assert (found["feasible"], found["serving_bottleneck"]) == (False, "TPOT")
    assert found["deployed_replicas"] == math.inf


LONG_PROMPTS, LONG_ANSWERS = {"isl": 8192, "osl": 16}, {"isl": 128, "osl": 2048}


@pytest.mark.parametrize("variant", list(ServingModel.variants))
@pytest.mark.parametrize("promised", [{}, {"ttft_slo": 0, "tpot_slo": 0}])
@pytest.mark.parametrize(("lengths", "short"), [(LONG_PROMPTS, "Prefill"), (LONG_ANSWERS, "Decode")])
def test_a_deployment_with_too_much_to_do_lacks_capacity(variant, promised, lengths, short):
    found = ServingModel.solve_example(variant=variant, num_replicas=1, request_rate=300, **promised, **lengths)
    assert found["replica_load"] > 1
    assert (found["feasible"], found["serving_bottleneck"]) == (False, f"{short} capacity")


@pytest.mark.parametrize("replicas", [0, 1])
def test_a_link_that_takes_longer_than_the_answer_is_named(replicas):
    """No number of replicas helps; with a link that is faster the promise holds."""
    given = {"variant": "disaggregated", "request_rate": 0.1, "num_replicas": replicas, "isl": 4096, "osl": 64}
    slow = ServingModel.solve_example(**given, kv_transfer_bandwidth="0.1 GB/s")
    assert (slow["feasible"], slow["serving_bottleneck"]) == (False, "KV transfer")
    assert ServingModel.solve_example(**given)["serving_bottleneck"] == "None"


@pytest.mark.long
@pytest.mark.parametrize("variant", rest_long(ServingModel.variants, quick=1))
def test_a_deployment_is_explained_whole(variant):
    assert "A_slo" in str(ServingModel.solve_example(variant=variant).explain())


#: Every model that serves, in all its variants, by turns and in chunks.
SERVERS = [case for case in POINTS if case in DEPLOYMENTS and "max_num_seqs" in POINTS[case]]


@pytest.mark.long(quick=4)
@pytest.mark.parametrize("case", [case for case in SERVERS if case not in CHAINS], ids=str)
@pytest.mark.parametrize(
    "given",
    [
        {"max_num_seqs": 1, "num_replicas": 1},
        {"memory_capacity": 20},
        {"memory_capacity": 20, "request_rate": 0, "concurrency": 64},
        {"memory_capacity": 20, "request_rate": 0, "concurrency": 64, "head_dim": 1, "isl_cv": 0},
        {"memory_capacity": 20, "request_rate": 0, "concurrency": 64, "num_rounds": 10},
        {"memory_capacity": 20, "request_rate": 0, "concurrency": 64, "num_rounds": 1},
        {"request_rate": 200, "num_replicas": 1, "isl_cv": 1},
        {"memory_capacity": 10, "num_replicas": 3, "prefix_cache_memory": 100},
    ],
    ids=str,
)
def test_every_output_has_a_value_where_a_server_is_overloaded_or_has_no_room(case, given):
    """And of what has no room nothing is promised, with or without a promise."""
    kind, variant = case
    model = getattr(mlsysim, kind)(variant)
    for promises in ({}, {"ttft_slo": 0, "tpot_slo": 0}):
        found = model.solve(**{**POINTS[case], **given, **promises})
        assert not [name for name in found.outputs if math.isnan(found.canonical(name))]
        if found.canonical("replica_capacity") == 0:
            assert found.canonical("slo_attainment") == found.canonical("replica_goodput") == 0
            assert found.canonical("tpot_mean") == found.canonical("ttft_mean") == math.inf
            assert found.canonical("goodput") == 0
            assert not found.feasible
            assert "do not fit" in " ".join(found.notes)


@pytest.mark.parametrize("drafts", [1, 3, 4, 1000])
def test_shares_stay_shares_where_decode_steps_fill_the_budget(drafts):
    """Slots times one more than the drafts are more tokens than an iteration takes from three drafts on."""
    found = ServingModel("chunked_estimate").solve(
        "Llama3_1_8B", hardware="H200", precision="bf16", tp_size=1, isl=512, osl=64, request_rate=2, num_replicas=2,
        max_num_seqs=512, max_num_batched_tokens=2048, num_speculative_tokens=drafts,
    )  # fmt: skip
    shares = [name for name in found.outputs if (domain := variable_of(name).domain).upper == 1 and not domain.labels]
    assert len(shares) > 10
    assert {name: found.canonical(name) for name in shares if not 0 <= found.canonical(name) <= 1} == {}
    assert found.canonical("slot_decode_share") == 0 or drafts < 3
    assert found.canonical("slot_capacity") >= 0


@pytest.mark.parametrize("variant", list(ServingModel.variants))
@pytest.mark.parametrize(
    "load",
    [{"concurrency": 4}, {"request_rate": 1, "concurrency": 4}, {"request_rate": 2},
     {"concurrency": 4, "num_rounds": 1}, {"concurrency": 4, "num_rounds": 10, "osl_cv": 0.06}],
)  # fmt: skip
def test_a_deployment_without_room_is_an_answer_however_requests_come(variant, load):
    found = ServingModel(variant).solve(model="Llama3_1_70B", hardware="H100", **load)
    assert (found["feasible"], found["serving_bottleneck"]) == (False, "Memory")
    assert {found.canonical(f"{latency}_mean") for latency in ("ttft", "tpot", "e2e")} == {math.inf}
    assert not [name for name in found if math.isnan(found.canonical(name))]


@pytest.mark.parametrize("drafts", [0, 4, 16])
def test_a_closed_loop_serves_no_less_where_decode_steps_would_fill_the_budget(drafts):
    """More in flight wait for their prompt; they do not crowd prompts out of an iteration."""
    rates = []
    for concurrency in (1, 30, 100, 300, 512, 2000):
        found = ServingModel("chunked_estimate").solve(
            "Llama3_1_8B", hardware="H200", precision="bf16", isl=512, osl=64, num_replicas=1, concurrency=concurrency,
            max_num_seqs=512, max_num_batched_tokens=2048, num_speculative_tokens=drafts,
        )  # fmt: skip
        rates.append(found.canonical("replica_rate"))
        assert found.canonical("ttft_mean") > 0
    assert all(more >= few * 0.99 for few, more in itertools.pairwise(rates))
    assert rates[-1] == pytest.approx(found.canonical("replica_capacity"), rel=0.02)
