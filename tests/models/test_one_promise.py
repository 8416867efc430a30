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


@pytest.mark.parametrize("rate", [5, 20, 60])
def test_the_replicas_of_a_promise_are_the_fewest_that_keep_it(rate):
    found = BOTH.solve_for(
        "num_replicas", e2e_p99="<= 2 s", subject_to="num_replicas >= 1", request_rate=rate, **POINT
    ).value
    assert late(request_rate=rate, num_replicas=found) <= 2
    assert found == 1 or late(request_rate=rate, num_replicas=found - 1) > 2


def test_the_rate_of_one_replica_is_the_largest_that_keeps_it():
    most = BOTH.solve_for("request_rate", e2e_p99="<= 2 s", num_replicas=1, **POINT).value
    assert late(request_rate=most, num_replicas=1) == pytest.approx(2, rel=1e-6)
    assert late(request_rate=1.01 * most, num_replicas=1) > 2
    found = BOTH.solve_for("num_replicas", e2e_p99="<= 2 s", subject_to="num_replicas >= 1", request_rate=60, **POINT)
    assert found.value == math.ceil(60 / most.magnitude)


def test_both_models_find_the_same_deployment_for_the_tutorial():
    """By another law of a step, so that a replica completes 4% less."""
    asked = {**ServingCapacityModel.example, "precision": "fp16"}
    single = ServingCapacityModel("prefill_aware").solve(**asked)
    both = BOTH.solve(**POINT, request_rate=20, num_replicas=single.required_replicas)
    assert both.canonical("replica_capacity") == pytest.approx(single.canonical("per_replica_qps_capacity"), rel=0.05)
    found = BOTH.solve_for("num_replicas", e2e_p99="<= 2 s", subject_to="num_replicas >= 1", request_rate=20, **POINT)
    assert found.value == single.required_replicas
