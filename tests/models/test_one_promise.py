"""One promise for the whole request: what `ServingCapacityModel` asks, of replicas that prefill and decode by turns."""

import math

import pytest

from mlsysim import ServingCapacityModel, ServingModel

POINT = {
    "model": "Llama3_8B", "hardware": "H100", "precision": "fp16", "efficiency": 0.35, "isl": 1024, "osl": 64,
    "max_num_seqs": 16,
}  # fmt: skip
BOTH = ServingModel("colocated")


def late(**given):
    return BOTH.solve(**POINT, **given).canonical("e2e_p99")


@pytest.fixture(scope="module")
def most():
    """The largest rate at which one replica keeps the promise."""
    return BOTH.solve_for("request_rate", e2e_p99="<= 2 s", num_replicas=1, **POINT).value


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("rate", [5, 20, 60])
def test_the_replicas_of_a_promise_are_the_fewest_that_keep_it(rate):
    found = BOTH.solve_for(
        "num_replicas", e2e_p99="<= 2 s", subject_to="num_replicas >= 1", request_rate=rate, **POINT
    ).value
    assert late(request_rate=rate, num_replicas=found) <= 2
    assert found == 1 or late(request_rate=rate, num_replicas=found - 1) > 2


@pytest.mark.long
def test_the_rate_of_one_replica_is_the_largest_that_keeps_it(most):
    assert late(request_rate=most, num_replicas=1) == pytest.approx(2, rel=1e-6)
    assert late(request_rate=1.01 * most, num_replicas=1) > 2
    found = BOTH.solve_for("num_replicas", e2e_p99="<= 2 s", subject_to="num_replicas >= 1", request_rate=60, **POINT)
    assert found.value == math.ceil(60 / most.magnitude)


@pytest.mark.parametrize("rate", [5, 60])
def test_a_promise_that_is_given_finds_the_same_replicas(rate, most):
    """What 99% of the requests stay below is what 99% of them keep."""
    found = BOTH.solve_for(
        "num_replicas", e2e_p99="<= 2 s", subject_to="num_replicas >= 1", request_rate=rate, **POINT
    ).value
    given = BOTH.solve(**POINT, request_rate=rate, e2e_slo="2 s", slo_quantile=0.99)
    assert (given["deployed_replicas"], given["feasible"], given["serving_bottleneck"]) == (found, True, "None")
    assert given["replica_goodput"].to("request/s").magnitude == pytest.approx(most.magnitude, rel=1e-6)


LAWS = [*((variant, {}) for variant in ServingModel.variants), ("colocated", {"isl_cv": 1, "osl_cv": 1})]


@pytest.mark.parametrize(
    ("variant", "lengths"), [pytest.param(*law, marks=pytest.mark.long if law[0] == "chunked" else ()) for law in LAWS]
)
def test_promises_are_kept_together_by_as_many_as_can_be(variant, lengths):
    """Between what independent promises have and what the rarest of them has; nothing without one."""
    point = {"num_replicas": 3, "ttft_slo": 400, "tpot_slo": 0, **lengths}
    plain = ServingModel.solve_example(variant=variant, **point)
    shares = [plain.canonical(f"{each}_attainment") for each in ("ttft", "tpot", "e2e", "slo")]
    assert shares[3] == shares[0] * shares[1]
    assert shares[2] == 1
    whole = plain.canonical("e2e_mean") * 1e3
    tpot = 1.01 * plain.canonical("tpot_mean") * 1e3
    asked = {**point, "tpot_slo": tpot, "e2e_slo": 1.02 * whole}
    first, further, last, every = (
        ServingModel.solve_example(variant=variant, **asked).canonical(f"{each}_attainment")
        for each in ("ttft", "tpot", "e2e", "slo")
    )
    assert 0.2 < last < 0.999
    assert first * further * last * (1 - 1e-3) <= every <= min(first * further, last) * (1 + 1e-3)
    alone = ServingModel.solve_example(variant=variant, **{**point, "ttft_slo": 0, "e2e_slo": 1.02 * whole})
    assert alone.canonical("slo_attainment") == pytest.approx(alone.canonical("e2e_attainment"), rel=1e-9)
    assert alone.canonical("e2e_attainment") == last
    never_missed = ServingModel.solve_example(variant=variant, **{**asked, "e2e_slo": 1e9})
    assert never_missed.canonical("slo_attainment") == pytest.approx(first * further, rel=1e-6)


@pytest.mark.parametrize("variant", ["colocated", "disaggregated", "chunked"])
@pytest.mark.parametrize("lengths", [{}, {"isl_cv": 1, "osl_cv": 1}])
def test_the_share_that_keeps_a_quantile_is_that_of_the_quantile(variant, lengths):
    point = {"num_replicas": 3, "ttft_slo": 0, "tpot_slo": 0, **lengths}
    late = ServingModel.solve_example(variant=variant, **point).canonical("e2e_p90")
    kept = ServingModel.solve_example(variant=variant, **point, e2e_slo=late * 1e3)
    assert kept.canonical("slo_attainment") == pytest.approx(0.9, rel=1e-6)


@pytest.mark.parametrize("variant", ServingModel.variants)
def test_a_whole_request_sooner_than_one_alone_is_promised_in_vain(variant):
    found = ServingModel.solve_example(variant=variant, e2e_slo=1000)
    assert found["slo_attainment"] == 0
    assert (found["feasible"], found["serving_bottleneck"]) == (False, "E2E")
    assert found["deployed_replicas"] == math.inf


def test_requests_of_a_round_end_together():
    """Twenty in flight with sixteen slots: twelve of a round waited for one round, four for two."""
    looped = {**POINT, "concurrency": 20}
    found = BOTH.solve(**looped)
    least, most = (found.canonical(f"e2e_{level}") * 1e3 for level in ("p50", "p99"))
    shares = [
        BOTH.solve(**looped, e2e_slo=each)["slo_attainment"]
        for each in (0.999 * least, 1.001 * least, 0.999 * most, 1.001 * most)
    ]
    assert shares == [0, 0.75, 0.75, 1]
    late = BOTH.solve(**looped, e2e_slo=1.001 * least, num_replicas=1)
    assert (late["feasible"], late["serving_bottleneck"]) == (False, "E2E")


def test_both_models_find_the_same_deployment_for_the_tutorial():
    """By another law of a step, so that a replica completes 4% less."""
    asked = {**ServingCapacityModel.example, "precision": "fp16"}
    single = ServingCapacityModel("prefill_aware").solve(**asked)
    both = BOTH.solve(**POINT, request_rate=20, num_replicas=single.required_replicas)
    assert both.canonical("replica_capacity") == pytest.approx(single.canonical("per_replica_qps_capacity"), rel=0.05)
    found = BOTH.solve_for("num_replicas", e2e_p99="<= 2 s", subject_to="num_replicas >= 1", request_rate=20, **POINT)
    assert found.value == single.required_replicas
