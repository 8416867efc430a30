"""The wait for one of few slots, against the simulation of engines: latencies, and what a promise takes."""

import pytest
from simulated.serving_settings import ENGINES, Setting, capacity, simulate

from mlsysim import ServingModel

#: Requests that are simulated.
COUNT = 150_000
POOLS = {"prefill_workers": 1, "decode_workers": 1, "kv_transfer_bandwidth": "50 GB/s"}
BESIDE = {"colocated": {}, "disaggregated": POOLS, "chunked": {"max_num_batched_tokens": 2048}}
#: How near the first token is at loads of 0.5 to 0.9: mean, and the 99% quantile; for the estimate as for the chain.
FIRST = {"colocated": (0.1, 0.17), "chunked": (0.17, 0.16), "chunked_estimate": (0.18, 0.22)}


def setting_of(variant, isl, osl, cv, slots, load):
    """An 8B model on one device."""
    asked = {"isl": isl, "osl": osl, "isl_cv": cv, "osl_cv": cv, "max_num_seqs": slots, **BESIDE[variant]}
    return Setting(variant, load, ENGINES["8B"] | asked)


def cases(quick):
    """Slots and loads, of which the first are quick."""
    every = [(*shape, slots, load) for slots in (1, 4, 16) for load in (0.8, 0.5, 0.9)
             for shape in ((1024, 128, 0), (1024, 128, 1), (2048, 64, 0))]  # fmt: skip
    return [case if place < quick else pytest.param(*case, marks=pytest.mark.long) for place, case in enumerate(every)]


@pytest.mark.long(quick=1)
@pytest.mark.parametrize(("isl", "osl", "cv", "slots", "load"), cases(1))
@pytest.mark.parametrize("variant", ["colocated", "chunked"])
def test_the_first_token_waits_for_a_slot(variant, isl, osl, cv, slots, load):
    setting = setting_of(variant, isl, osl, cv, slots, load)
    rate = load * capacity(setting)
    seen = simulate(setting, rate, count=COUNT)
    for model in ("chunked", "chunked_estimate") if variant == "chunked" else (variant,):
        found = ServingModel(model).solve(**setting.keywords, request_rate=rate, num_replicas=1)
        mean, tail = FIRST[model]
        assert found.canonical("ttft_mean") == pytest.approx(seen.ttft_mean, rel=mean)
        assert found.canonical("ttft_p99") == pytest.approx(seen.ttft_p99, rel=tail)
        assert found.canonical("e2e_mean") == pytest.approx(seen.e2e_mean, rel=0.15 if slots == 16 else 0.1)
    if slots == 1 and variant == "colocated":  # nothing stops the one request that decodes
        assert found.canonical("tpot_mean") == pytest.approx(seen.tpot_mean, rel=0.01 if cv else 0.001)


@pytest.mark.parametrize(("isl", "osl", "cv", "slots", "load"), cases(1))
def test_the_second_token_waits_for_a_slot_of_a_pool(isl, osl, cv, slots, load):
    setting = setting_of("disaggregated", isl, osl, cv, slots, load)
    rate = load * capacity(setting)
    seen = simulate(setting, rate, count=COUNT)
    found = ServingModel("disaggregated").solve(**setting.keywords, request_rate=rate, num_replicas=1)
    assert found.canonical("tpot_mean") == pytest.approx(seen.tpot_mean, rel=0.06)
    assert found.canonical("e2e_mean") == pytest.approx(seen.e2e_mean, rel=0.06)


@pytest.mark.long
@pytest.mark.parametrize("slots", [1, *(pytest.param(n, marks=pytest.mark.long) for n in (8, 16))])
@pytest.mark.parametrize("load", [0.5, pytest.param(0.8, marks=pytest.mark.long)])
def test_the_median_is_of_those_who_wait_and_those_who_do_not(slots, load):
    for variant in ("colocated", "chunked"):
        setting = setting_of(variant, 256, 256, 1, slots, load)
        rate = load * capacity(setting)
        seen = simulate(setting, rate, count=80_000)
        found = ServingModel({"chunked": "chunked_estimate"}.get(variant, variant))
        median = found.solve(**setting.keywords, request_rate=rate, num_replicas=1).canonical("ttft_p50")
        assert median == pytest.approx(seen.ttft_p50, rel=0.34)


@pytest.mark.parametrize("slots", [256, pytest.param(128, marks=pytest.mark.long)])
def test_slots_are_free_where_the_batch_is_well_below_them(slots):
    """With 128 slots Erlang's law, of slots as slow as where all are taken, is 42% late in the mean."""
    setting = setting_of("chunked", 256, 256, 1, slots, 0.9)
    rate = 0.9 * capacity(setting)
    seen = simulate(setting, rate, count=80_000)
    found = ServingModel("chunked_estimate").solve(**setting.keywords, request_rate=rate, num_replicas=1)
    assert found.canonical("ttft_mean") == pytest.approx(seen.ttft_mean, rel=0.2)
    assert found.canonical("ttft_p99") == pytest.approx(seen.ttft_p99, rel=0.4)


@pytest.mark.parametrize("slots", [1, pytest.param(4, marks=pytest.mark.long)])
def test_a_promise_is_kept_up_to_the_goodput(slots):
    """A tenth below it more requests are in time than promised, a tenth above it fewer."""
    setting = setting_of("colocated", 1024, 128, 0, slots, 0.5)
    promised = {"ttft_slo": "2 s", "slo_quantile": 0.9}
    goodput = ServingModel().solve(**setting.keywords, **promised, request_rate=1).replica_goodput.magnitude
    kept = [simulate(setting, share * goodput, count=COUNT, ttft_slo=2.0).slo_attainment for share in (0.9, 1.1)]
    assert kept[0] > 0.9 > kept[1]
