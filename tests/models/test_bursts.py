"""Arrivals in bursts: what they make longer, and what each replica sees of them."""

from typing import Any

import numpy as np
import pytest

from mlsysim import EconomicsModel, MemoryExpansionModel, ServingModel
from mlsysim.errors import InputError, MlsysimError

POINT: dict[str, Any] = {name: value for name, value in ServingModel.example.items() if name != "request_rate"}
WHOLE = pytest.mark.parametrize("variant", ["colocated", "disaggregated"])


@pytest.mark.long(quick=1)
@WHOLE
def test_bursts_make_requests_wait(variant):
    found = [
        ServingModel(variant).solve(**POINT, request_rate=8, num_replicas=1, burstiness=shape)
        for shape in (4, 1, 0.5, 0.25)
    ]
    for name in ("ttft_mean", "ttft_p99", "tpot_mean", "tpot_p99", "e2e_p99", "batch_variance"):
        values = [each.canonical(name) for each in found]
        assert values == sorted(values), name
        assert values[0] < values[-1], name
    assert [each.canonical("goodput") for each in found] == sorted(
        (e.canonical("goodput") for e in found), reverse=True
    )


@WHOLE
def test_poisson_arrivals_are_the_default(variant):
    plain = ServingModel.solve_example(variant=variant)
    assert plain.outputs == ServingModel.solve_example(variant=variant, burstiness=1).outputs


@WHOLE
def test_replicas_see_their_share_of_a_burst(variant):
    """Of renewals spread at random the variance of a count over its mean, less one, is the share's: counted here."""
    rng, shape, replicas = np.random.default_rng(5), 0.25, 4
    times = np.cumsum(rng.gamma(shape, 1 / (20 * shape), 2_000_000))
    mine = times[rng.integers(replicas, size=times.size) == 0]
    counts = np.histogram(mine, np.arange(0, times[-1], 25.0))[0]
    found = ServingModel(variant).solve(**POINT, request_rate=20, num_replicas=replicas, burstiness=shape)
    assert found.canonical("arrival_scv") == pytest.approx(counts.var() / counts.mean(), rel=0.06)


@WHOLE
def test_the_fewest_replicas_keep_what_is_promised_and_one_less_does_not(variant):
    asked: dict[str, Any] = {**POINT, "ttft_slo": "200 ms", "request_rate": 40, "burstiness": 0.2}
    found = ServingModel(variant).solve(**asked)
    fewest = int(found.canonical("deployed_replicas"))
    steady: dict[str, Any] = {**asked, "burstiness": 1}
    assert fewest > ServingModel(variant).solve(**steady).canonical("deployed_replicas")
    assert found.canonical("slo_attainment") >= 0.9
    assert ServingModel(variant).solve(**asked, num_replicas=fewest - 1).canonical("slo_attainment") < 0.9


@pytest.mark.long
@WHOLE
def test_slopes_by_the_burstiness_are_those_of_differences(variant):
    model, step = ServingModel(variant), 1e-5
    asked: dict[str, Any] = {**POINT, "request_rate": 8, "num_replicas": 1}
    rows = {row.name: row for row in model.sensitivity("ttft_mean", **asked)}
    up, down = (model.solve(**asked, burstiness=1 + sign * step).canonical("ttft_mean") for sign in (1, -1))
    middle = model.solve(**asked).canonical("ttft_mean")
    assert rows["burstiness"].elasticity == pytest.approx((up - down) / (2 * step) / middle, rel=1e-3)


def test_a_closed_loop_has_no_bursts():
    plain, bursts = (ServingModel.solve_example(concurrency=32, burstiness=shape).outputs for shape in (1, 0.2))
    by_themselves = {"goodput", "goodput_per_accelerator", "replica_goodput"}  # of requests that come by themselves
    assert {name for name in plain if plain[name] != bursts[name]} == by_themselves


def test_bursts_that_no_simulation_has_seen_are_noted():
    for shape, said in ((0.25, ()), (4, ()), (0.1, ("outside of 0.25 to 4",)), (50, ("outside of 0.25 to 4",))):
        found = ServingModel("colocated").solve(**POINT, request_rate=8, num_replicas=1, burstiness=shape)
        notes = [note for note in found.notes if note.startswith("burstiness")]
        assert len(notes) == len(said)
        assert all(word in note for word, note in zip(said, notes, strict=True))
    notes = ServingModel("colocated").solve(**POINT, concurrency=8, num_replicas=1, burstiness=0.5).notes
    assert "closed loop" in notes[0]


def test_a_burst_meets_no_more_than_there_are_slots():
    for shape in (0.25, 0.05, 0.01):
        found = ServingModel("disaggregated").solve(
            **{**POINT, "isl": 1024, "osl": 128}, request_rate=1, num_replicas=1, max_num_seqs=4, burstiness=shape
        )
        assert found.canonical("decode_batch") <= found.canonical("replica_load") * 4 * (1 + 1e-9)


@pytest.mark.parametrize("variant", ["colocated", "disaggregated"])
@pytest.mark.parametrize("spread", [0, 1, 2, 3])
def test_quantiles_are_in_order_and_no_request_ends_before_it_begins(variant, spread):
    lengths = {"isl": 4096, "osl": 64, "isl_cv": spread, "osl_cv": spread}
    for rate in (0.1, 1):
        found = ServingModel(variant).solve(**{**POINT, **lengths}, request_rate=rate, num_replicas=2)
        for name in ("ttft", "e2e"):
            values = [found.canonical(f"{name}_{level}") for level in ("p50", "p90", "p99")]
            assert 0 < values[0] <= values[1] <= values[2]
        assert (
            found.canonical("e2e_p50") >= found.canonical("ttft_p50") >= found.canonical("prompt_time_p50") * (1 - 1e-9)
        )


#: One slot, where nothing of others is left in an answer.
ALONE = (
    {"isl": 8192, "osl": 16, "isl_cv": 0.5, "osl_cv": 1, "request_rate": 1},
    {"isl": 1024, "osl": 2, "isl_cv": 2, "osl_cv": 2, "request_rate": 3},
    {"isl": 1024, "osl": 16, "isl_cv": 0.5, "request_rate": 0},
    {"isl": 8192, "osl": 1024, "osl_cv": 0.5, "request_rate": 0.1, "ttft_slo": 200, "e2e_slo": 2000},
)


@pytest.mark.parametrize("asked", ALONE)
def test_one_slot_has_numbers(asked):
    engine = {"model": "Llama3_8B", "hardware": "H100", "precision": "fp16", "num_replicas": 1, "max_num_seqs": 1}
    assert ServingModel("colocated").solve(**engine, **asked).canonical("e2e_p50") > 0


@pytest.mark.long
def test_replicas_of_other_models_take_bursts():
    tiers: dict[str, Any] = {
        "design": "GH200",
        "model": "Llama3_3_70B",
        "precision": "fp8",
        "request_rate": 1,
        "num_replicas": 1,
    }
    waits = [MemoryExpansionModel("serving").solve(**tiers, burstiness=shape)["ttft_mean"] for shape in (1, 0.25)]
    assert waits[0] < waits[1]
    asked: dict[str, Any] = {**POINT, "ttft_slo": "200 ms", "request_rate": 40, "price": 30_000}
    costs = [EconomicsModel("owned_deployment").solve(**asked, burstiness=shape)["total_cost"] for shape in (1, 0.2)]
    assert costs[0] < costs[1]


def test_what_no_law_has_is_refused():
    for variant in ("chunked", "chunked_estimate"):
        with pytest.raises(MlsysimError, match=r"burstiness.*colocated or disaggregated"):
            ServingModel(variant).solve(**POINT, request_rate=1, burstiness=0.5)
    with pytest.raises(InputError, match=r"burstiness.*0\.01"):
        ServingModel("colocated").solve(**POINT, request_rate=1, burstiness=0)
