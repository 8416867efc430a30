"""The closed form of chunked prefill against the simulation of its engines, at equal rates."""

from dataclasses import replace

import pytest
from simulated.serving_settings import CHUNKED, capacity, simulate

from mlsysim import ServingModel

MODEL = ServingModel("chunked_estimate")
#: Settings in which requests wait for slots or memory where they are loaded.
CROWDED = (CHUNKED[16], CHUNKED[17])
QUICK = (CHUNKED[0], CHUNKED[1], CHUNKED[13])
LOADS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)
#: Errors at most, by the highest load: of the batch and of the time per token, of the first token, and of its tail.
NEAR = {0.5: (0.08, 0.125, 0.53), 0.8: (0.155, 0.21, 0.42), 0.9: (0.1, 0.24, 0.56)}

#: Of this one the first token is late at a load of 0.9, mean and 99%: the model has 4% wait for a slot, of 0.1%.
LATE, LATE_FIRST, LATE_TAIL = {"hardware": "A100", "isl": 1024, "osl": 1024}, 0.41, 2.3


def each(settings):
    return [pytest.param(s, marks=() if s in QUICK else pytest.mark.long, id=s.name) for s in settings]


def compare(setting, count):
    """Hold a setting against so many simulated requests."""
    rate = setting.load * capacity(setting)
    found = MODEL.solve(**setting.keywords, request_rate=rate, num_replicas=1)
    seen = simulate(setting, rate, 1, count)
    near, first, tail = next(errors for load, errors in NEAR.items() if setting.load <= load)
    if setting.load > 0.8 and LATE.items() <= setting.keywords.items():
        first, tail = LATE_FIRST, LATE_TAIL
    assert found.canonical("tpot_mean") == pytest.approx(seen.tpot_mean, rel=near)
    assert found.canonical("decode_batch") == pytest.approx(seen.batch_size, rel=near)
    if setting.keywords not in [crowded.keywords for crowded in CROWDED] or setting.load <= 0.5:
        assert found.canonical("ttft_mean") == pytest.approx(seen.ttft_mean, rel=first)
        assert found.canonical("ttft_p99") == pytest.approx(seen.ttft_p99, rel=tail)


@pytest.mark.parametrize("setting", each(CHUNKED))
def test_batch_and_latencies_are_near_the_simulated_ones(setting):
    compare(setting, 100_000)


@pytest.mark.long
@pytest.mark.parametrize("setting", CHUNKED, ids=lambda setting: setting.name)
def test_they_are_at_all_loads(setting):
    for load in LOADS:
        compare(replace(setting, load=load), 150_000 if load <= 0.75 else min(400_000, 4 * setting.requests))


def test_the_rate_that_is_promised_is_kept():
    point = {name: value for name, value in ServingModel.example.items() if name not in ("request_rate", "tpot_slo")}
    goodput = MODEL.solve(**point, tpot_slo="30 ms", request_rate=1, num_replicas=1).canonical("replica_goodput")
    kept = MODEL.solve(**point, tpot_slo="30 ms", request_rate=goodput * (1 - 1e-9), num_replicas=1)
    missed = MODEL.solve(**point, tpot_slo="30 ms", request_rate=goodput * 1.02, num_replicas=1)
    assert goodput < 0.9 * kept.canonical("replica_capacity")
    assert kept.canonical("slo_attainment") == pytest.approx(0.9, abs=1e-3)
    assert missed.canonical("slo_attainment") < 0.9


def test_it_is_near_the_chain():
    """Means of the example, of which the chain is within a few percent of the simulation."""
    ours, chain = (ServingModel.solve_example(variant=name) for name in ("chunked_estimate", "chunked"))
    for name, near in (("tpot_mean", 0.05), ("decode_batch", 0.05), ("ttft_mean", 0.1), ("goodput", 0.1)):
        assert ours.canonical(name) == pytest.approx(chain.canonical(name), rel=near), name


def test_without_requests_a_request_is_alone():
    """One prompt takes its pieces, each token an iteration of one request."""
    alone = ServingModel.solve_example(variant="chunked_estimate", request_rate=1e-9)
    assert alone.canonical("ttft_mean") == pytest.approx(alone.canonical("prompt_time"), rel=1e-6)
    assert alone.canonical("tpot_mean") == pytest.approx(alone.canonical("decode_iteration_time"), rel=1e-5)


def test_closed_loops_are_closed_as_those_of_the_chain():
    ours, chain = (ServingModel.solve_example(variant=v, concurrency=40) for v in ("chunked_estimate", "chunked"))
    for name in ("tokens_per_second", "tpot_mean", "ttft_mean", "e2e_mean", "decode_batch"):
        assert ours.canonical(name) == pytest.approx(chain.canonical(name), rel=1e-12), name
