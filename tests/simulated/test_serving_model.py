"""The serving model against the simulation of its engines: latencies, batch and attainment at equal rates."""

import math

import numpy as np
import pytest
from simulated.serving_settings import (
    COLOCATED,
    DISAGGREGATED,
    VARIED,
    capacity,
    drawn,
    engine_of,
    pools,
    simulate,
)

from mlsysim import ServingModel

#: What a setting has that the model does not take.
OTHER = ("isl_cv", "osl_cv", "kv_transfer_latency")
#: Settings near the end of what slots or memory hold, where the wait for a slot is told badly, by place among all.
CROWDED = {"max_num_seqs=16", "isl=1024 osl=512"}


def taken(setting):
    """Its keywords, or nothing where its lengths vary or its link has a start."""
    keywords = {name: value for name, value in setting.keywords.items() if name != "max_num_batched_tokens"}
    if any(keywords.pop(name, 0) for name in OTHER):
        return None
    return keywords


def busy(given, seen):
    """Share of the time that engines work, mean over those of both pools."""
    if "prefill_workers" not in given:
        return seen.utilization
    x, y = given["prefill_workers"], given["decode_workers"]
    return (x * seen.prefill_utilization + y * seen.utilization) / (x + y)


SETTINGS = [each for each in (*COLOCATED, *DISAGGREGATED) if taken(each) is not None]
QUICK = [each for each in SETTINGS if each.load <= 0.5][:4]
PARAMETERS = [pytest.param(each, marks=() if each in QUICK else pytest.mark.long, id=each.name) for each in SETTINGS]


@pytest.mark.parametrize("setting", PARAMETERS)
def test_batch_and_latencies_are_near_the_simulated_ones(setting):
    rate = setting.load * capacity(setting)
    given = taken(setting)
    found = ServingModel(setting.variant).solve(**given, request_rate=rate, num_replicas=1)
    seen = simulate(setting, rate)
    crowded = any(word in setting.name for word in CROWDED)
    pools = setting.variant == "disaggregated"
    # 5.5% where answers have 16 tokens.
    allowed = (0.06 if crowded or setting.keywords["osl"] == 16 else 0.05) if setting.load <= 0.8 else 0.1
    assert found.canonical("tpot_mean") == pytest.approx(seen.tpot_mean, rel=allowed)
    assert found.canonical("decode_batch") == pytest.approx(seen.batch_size, rel=allowed)
    if crowded:
        return
    assert found.canonical("ttft_mean") == pytest.approx(seen.ttft_mean, rel=0.1)
    # At a load of 0.9 colocated first tokens are 20% late: steps and prompts share the tail.
    assert found.canonical("ttft_p99") == pytest.approx(seen.ttft_p99, rel=0.15 if setting.load <= 0.8 else 0.2)
    # 8.8% where memory holds few slots at a load of 0.9 and answers have 64 tokens; other seeds see up to 13.2%.
    short = not pools and setting.load > 0.8
    assert found.canonical("e2e_mean") == pytest.approx(seen.e2e_mean, rel=0.09 if short else 0.06)
    # Where prompts wait for each other as long as an answer takes, no gamma law fits: there medians are 21.1% high, of
    # other seeds up to 26.0%, and elsewhere up to 13.1%, of other seeds 15.4%.
    colocated = {"p50": 0.215 if short else 0.135, "p90": 0.1, "p99": 0.2}
    allowed = {"p50": 0.02, "p90": 0.04, "p99": 0.09} if pools else colocated
    for level, within in allowed.items():
        assert found.canonical(f"e2e_{level}") == pytest.approx(getattr(seen, f"e2e_{level}"), rel=within)
    assert found.canonical("itl_p99") == pytest.approx(seen.itl_p99, rel=0.09 if pools else 0.2)
    assert found.canonical("busy_share") == pytest.approx(busy(given, seen), rel=0.01 if pools else 0.05)


RANDOM = [*(each for each in (*COLOCATED, *DISAGGREGATED) if each.keywords["isl_cv"]), *VARIED]
SOON = [each for each in VARIED if each.load <= 0.6]
VARIED_PARAMETERS = [
    pytest.param(each, marks=() if each in SOON else pytest.mark.long, id=each.name) for each in RANDOM
]
#: How near the model comes where lengths vary: means, and quantiles of first tokens, of tokens and of requests.
NEAR = {
    "replica_capacity": 0.03,
    "decode_batch": 0.05,
    "ttft_mean": 0.05,
    "ttft_p90": 0.13,
    "ttft_p99": 0.12,
    "tpot_mean": 0.05,
    "tpot_p50": 0.08,
    "tpot_p90": 0.22,
    "tpot_p99": 0.24,
    "e2e_mean": 0.05,
    "e2e_p50": 0.07,
    "e2e_p90": 0.1,
}


@pytest.mark.parametrize("setting", VARIED_PARAMETERS)
def test_lengths_that_vary_are_near_the_simulated_ones(setting):
    limit = capacity(setting)
    given = {name: value for name, value in setting.keywords.items() if name != "max_num_batched_tokens"}
    found = ServingModel(setting.variant).solve(**given, request_rate=setting.load * limit, num_replicas=1)
    seen = simulate(setting, setting.load * limit, 1, 100_000)
    simulated = {"replica_capacity": limit, "decode_batch": seen.batch_size}
    for name, within in NEAR.items():
        expected = simulated[name] if name in simulated else getattr(seen, name)
        assert found.canonical(name) == pytest.approx(expected, rel=within), name
    # Half the first tokens come earlier than a log-normal law has it where waits are many times a prefill.
    assert found.canonical("ttft_p50") == pytest.approx(seen.ttft_p50, rel=0.28)
    # With answers of one length what a prompt waits and what stops its answer go together, and the tail is thin.
    assert found.canonical("e2e_p99") == pytest.approx(seen.e2e_p99, rel=0.06 if given["osl_cv"] else 0.26)
    # Prompts of a gap are whole numbers where they are alike: one too few is 43%.
    assert found.canonical("itl_p99") == pytest.approx(seen.itl_p99, rel=0.21 if given["isl_cv"] else 0.44)


def some_long(settings, quick):
    """Settings of which only the first are quick."""
    return [*settings[:quick], *(pytest.param(each, marks=pytest.mark.long) for each in settings[quick:])]


#: Pools with few slots, of equal lengths and of varied ones.
SHORT = [pools("8B", 1024, 256, 0, load, 2, 1, max_num_seqs=48) for load in (0.9, 0.8)]
SHORT += [pools("8B", 1024, 256, 1, 0.8, 2, 1, max_num_seqs=48)]


@pytest.mark.parametrize("setting", some_long(SHORT, 1), ids=lambda setting: setting.name)
def test_a_request_in_a_pool_waits_for_a_slot_after_its_first_token(setting):
    rate = setting.load * capacity(setting)
    given = {name: value for name, value in setting.keywords.items() if name != "max_num_batched_tokens"}
    found = ServingModel("disaggregated").solve(**given, request_rate=rate, num_replicas=1)
    seen = simulate(setting, rate, 1, 100_000)
    assert found.canonical("slot_wait_probability") > 0.03
    near = {"ttft_mean": 0.02, "ttft_p50": 0.02, "ttft_p90": 0.13, "ttft_p99": 0.1, "tpot_mean": 0.01, "tpot_p50": 0.03,
            "tpot_p90": 0.11, "e2e_mean": 0.01, "e2e_p50": 0.03, "e2e_p90": 0.02, "e2e_p99": 0.11}  # fmt: skip
    for name, within in near.items():
        assert found.canonical(name) == pytest.approx(getattr(seen, name), rel=within), name
    alone = ServingModel("disaggregated").solve(**given, request_rate=rate / 1e6, num_replicas=1)
    assert found.canonical("e2e_p50") > alone.canonical("e2e_p50")


#: Levels of the promised times to the first token, per token and of the whole request; 0 where none is promised.
KEPT = ((90, 0, 90), (0, 90, 90), (90, 90, 90), (90, 99, 90))
TOGETHER = [
    COLOCATED[8],
    VARIED[6],
    COLOCATED[2],
    COLOCATED[6],
    VARIED[0],
    VARIED[4],
    DISAGGREGATED[6],
    DISAGGREGATED[10],
]


@pytest.mark.parametrize("setting", some_long(TOGETHER, 2), ids=lambda setting: setting.name)
def test_three_promises_are_kept_by_as_many_as_in_the_simulation(setting):
    """Each alone is a quantile, of the model and of the simulation; as if they were independent 0.11 fewer keep all."""
    rate = setting.load * capacity(setting)
    given = {name: value for name, value in setting.keywords.items() if name != "max_num_batched_tokens"}
    plain = ServingModel(setting.variant).solve(**given, request_rate=rate, num_replicas=1)
    run = engine_of(setting).run(drawn(setting, rate, 1, 100_000))
    for levels in KEPT:
        asked = dict(zip(("ttft", "tpot", "e2e"), levels, strict=True))
        seen = {f"{name}_slo": np.quantile(getattr(run, name), at / 100) for name, at in asked.items() if at}
        promised = {f"{name}_slo": plain[f"{name}_p{at}"] for name, at in asked.items() if at}
        found = ServingModel(setting.variant).solve(**given, request_rate=rate, num_replicas=1, **promised)
        kept = run.slo_attainment(**{"ttft_slo": math.inf, "tpot_slo": math.inf, **seen})
        assert found.canonical("slo_attainment") == pytest.approx(kept, abs=0.05), levels


@pytest.mark.parametrize("variant", ["colocated", "disaggregated"])
def test_the_rate_that_is_promised_is_kept(variant):
    model = ServingModel(variant)
    point = {name: value for name, value in ServingModel.example.items() if name != "request_rate"}
    goodput = model.solve(**point, request_rate=1, num_replicas=1).canonical("goodput")
    kept = model.solve(**point, request_rate=goodput * (1 - 1e-9), num_replicas=1)
    missed = model.solve(**point, request_rate=goodput * 1.02, num_replicas=1)
    assert kept.canonical("slo_attainment") == pytest.approx(0.9, abs=1e-3)
    assert missed.canonical("slo_attainment") < 0.9
    assert kept["feasible"]
    assert not missed["feasible"]


@pytest.mark.parametrize("variant", ["colocated", "disaggregated"])
def test_neutral_arguments_change_nothing(variant):
    plain = ServingModel.solve_example(variant=variant)
    neutral = ServingModel.solve_example(
        variant=variant,
        prefix_hit_rate=0,
        num_speculative_tokens=0,
        acceptance_rate=0.7,
        draft_cost=0.3,
        isl_cv=0,
        osl_cv=0,
    )
    asked_of = {"best_num_speculative_tokens": plain.outputs["best_num_speculative_tokens"]}  # what drafts would do
    assert plain.outputs == {**neutral.outputs, **asked_of}


@pytest.mark.parametrize("variant", ["colocated", "disaggregated"])
def test_tokens_are_conserved_and_loops_are_closed(variant):
    result = ServingModel.solve_example(variant=variant)
    assert result.canonical("tokens_per_second") == pytest.approx(20 * 256)
    looped = ServingModel.solve_example(variant=variant, concurrency=40)
    rate = looped.canonical("tokens_per_second") / 256
    assert pytest.approx(rate * looped.canonical("e2e_mean"), rel=1e-9) == 40
