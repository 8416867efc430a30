"""The settings on which laws of serving are compared with the simulation: that they mean what they say."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("numba")

import numpy as np
from simulated.serving.iteration_time import seconds
from simulated.serving_settings import (
    CHUNKED,
    COLOCATED,
    DISAGGREGATED,
    SETTINGS,
    TABLED,
    capacity,
    drawn,
    engine_keywords,
    engine_of,
    iteration_time,
    kv_cache,
    request_rate,
    simulate,
)

from mlsysim import IterationModel

ENGINES = {tuple(engine_keywords(setting).items()) for setting in SETTINGS}
#: Overheads beside the device: a host that launches every layer, tokens that are sampled one by one.
STACKED = [
    (("model", "OPT_13B"), ("hardware", hardware), ("precision", "fp16"), ("tp_size", ranks), ("stack", stack))
    for hardware, ranks, stack in (("H100", 8, "vLLM_2023_A100"), ("A100", 2, "vLLM_2023_A100"))
]


@pytest.mark.parametrize("engine", [*STACKED, *sorted(ENGINES)], ids=lambda engine: " ".join(str(v) for _, v in engine))
def test_the_tables_add_up_to_the_time_of_an_iteration(engine):
    rng = np.random.default_rng(1)
    times = iteration_time(**dict(engine))
    for _ in range(6):
        n, context, prompts = (int(one) for one in rng.integers((0, 1, 0), (400, 9000, 4)))
        length = int(rng.integers(1, (TABLED - n) // max(prompts, 1)))
        if n + prompts == 0:
            continue
        point = IterationModel().solve(
            **dict(engine), decode_requests=n, context_tokens=context, prompts=prompts, seq_len=length
        )
        told = seconds(times, n + prompts * length, n + prompts, float(n * context), prompts * length**2 / 2)
        assert told == pytest.approx(point.iteration_time.to("s").magnitude, rel=1e-9)


def test_the_host_counts_where_it_is_slower():
    engine = {**dict(STACKED[0]), "host_layer_time": "1 ms"}
    times = iteration_time(**engine)
    point = IterationModel().solve(**engine, decode_requests=3, context_tokens=100, prompts=0)
    assert point.iteration_bottleneck == "Host"
    assert seconds(times, 3, 3, 300.0, 0.0) == pytest.approx(point.iteration_time.to("s").magnitude, rel=1e-9)


def test_the_settings_span_what_is_asked_of_engines():
    assert [len(CHUNKED), len(COLOCATED), len(DISAGGREGATED)] == [20, 20, 20]
    assert len({setting.name for setting in SETTINGS}) == 60
    for settings in (CHUNKED, COLOCATED, DISAGGREGATED):
        assert {0.2, 0.9} <= {setting.load for setting in settings}
        assert {0, 1} == {setting.keywords["isl_cv"] for setting in settings}
        keywords = set().union(*(setting.keywords for setting in settings))
        assert {"prefix_hit_rate", "num_speculative_tokens", "acceptance_rate", "max_num_seqs"} <= keywords
    asked = [setting.keywords for setting in SETTINGS]
    assert {one["isl"] for one in asked} >= {128, 512, 1024, 2048, 4096, 8192}
    assert {one["osl"] for one in asked} >= {16, 64, 128, 256, 512, 1024}
    assert {one.get("max_num_batched_tokens") for one in asked} == {None, 512, 2048, 8192}
    assert {(one.get("prefill_workers"), one.get("decode_workers")) for one in asked} >= {(1, 1), (4, 3)}


def check(setting, count):
    rate = request_rate(setting)
    out = simulate(setting, rate, 1, count)
    assert out.requests_per_second == pytest.approx(rate, rel=0.03)
    assert out.tokens_per_second == pytest.approx(rate * setting.keywords["osl"], rel=0.05)
    assert out.ttft_p50 <= out.ttft_p90 <= out.ttft_p99
    assert out.tpot_p50 <= out.tpot_p90 <= out.tpot_p99
    # Little's law; pools decode from the arrival at a worker on, which is some time after the first token.
    workers = setting.keywords.get("decode_workers", 1)
    load = drawn(setting, rate, 1, count)
    answers = load.answer - 1
    decoding = out.batch_size * workers / rate
    if setting.keywords["osl_cv"] == 0 and setting.variant != "disaggregated" and out.preemptions == 0:
        assert decoding == pytest.approx(answers.mean() * out.tpot_mean, rel=0.03)


# The simulation compiles for seconds: quick tests run it in test_inference_engine.py, three settings among them.
@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.name)
def test_every_setting_completes_what_arrives(setting):
    check(setting, 40_000)


@pytest.mark.long
def test_what_is_asked_of_an_engine_reaches_its_simulation():
    cached = next(one for one in CHUNKED if "prefix_hit_rate" in one.keywords)
    plain = replace(cached, keywords={key: one for key, one in cached.keywords.items() if key != "prefix_hit_rate"})
    assert drawn(cached, 1.0, 1, 5).cached.tolist() == [round(0.6 * 4096)] * 5
    assert capacity(cached) > 1.5 * capacity(plain)
    drafted = next(one for one in COLOCATED if "acceptance_rate" in one.keywords)
    assert drawn(drafted, 1.0, 1, 3000).pace.mean() == pytest.approx((1 - 0.7**4) / 0.3, rel=0.02)
    pools = engine_of(next(one for one in DISAGGREGATED if "kv_transfer_latency" in one.keywords))
    assert (pools.bandwidth, pools.latency, pools.bytes_per_token) == (4e9, 1e-3, 131_072)


@pytest.mark.long
def test_memory_holds_few_requests_where_weights_fill_it():
    full = next(one for one in CHUNKED if kv_cache(**engine_keywords(one))[0] < 50_000)
    out = simulate(full, request_rate(full), 1, 20_000)
    assert out.preemptions > 0
    assert out.batch_size < 50_000 / 1024


@pytest.mark.long
def test_a_closed_loop_is_littles():
    out = simulate(CHUNKED[2], seed=1, count=20_000, concurrency=32)
    assert out.requests_per_second * out.e2e_mean == pytest.approx(32, rel=0.02)


@pytest.mark.long
def test_promised_times_are_counted():
    setting = COLOCATED[2]
    rate = request_rate(setting)
    out = simulate(setting, rate, 1, 20_000)
    assert out.slo_attainment == 1.0
    half = simulate(setting, rate, 1, 20_000, ttft_slo=out.ttft_p50)
    assert half.slo_attainment == pytest.approx(0.5, abs=0.001)
