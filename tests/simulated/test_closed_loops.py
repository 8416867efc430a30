"""Closed loops of engines that prefill and decode by turns: in step where all answers are of one length."""

import pytest
from simulated.serving_settings import ENGINES, Setting, simulate

from mlsysim import ServingModel

MODEL = ServingModel("colocated")
QUICK = 3
#: Engine, prompt, answer, slots, requests in flight; slots for all, or for some, who take turns.
IN_STEP = (
    ("8B", 1024, 128, 256, 8),
    ("8B", 1024, 64, 256, 24),
    ("8B", 1024, 128, 16, 40),
    ("8B", 1024, 128, 16, 24),
    ("8B", 1024, 128, 256, 32),
    ("8B", 256, 512, 256, 32),
    ("8B", 1024, 16, 256, 32),
    ("70B tp4", 1024, 256, 256, 32),
    ("70B tp2", 4096, 128, 256, 8),
    ("70B tp2", 4096, 128, 256, 2),
    ("Mixtral", 512, 300, 64, 100),
)
STEP = (1 - 1e-4, 1 + 1e-4)
LATENCIES = ("ttft_mean", "ttft_p50", "ttft_p90", "ttft_p99", "tpot_mean", "tpot_p50", "tpot_p90", "tpot_p99")
LATENCIES += ("e2e_mean", "e2e_p50", "e2e_p90", "e2e_p99", "itl_p99")


def some_long(cases, quick):
    """Cases of which only the first are quick."""
    return [pytest.param(each, marks=() if place < quick else pytest.mark.long) for place, each in enumerate(cases)]


def setting(engine, isl, osl, slots, **spread):
    lengths = {"isl": isl, "osl": osl, "isl_cv": 0, "osl_cv": 0, "max_num_seqs": slots}
    return Setting("colocated", 0.5, ENGINES[engine] | lengths | spread)


@pytest.mark.parametrize("loop", some_long(IN_STEP, QUICK), ids=str)
def test_equal_answers_go_round_in_step(loop):
    """Every latency within 2%, single gaps within 6%: a step is taken to be the mean one, and steps grow meanwhile."""
    engine, isl, osl, slots, concurrency = loop
    asked = setting(engine, isl, osl, slots)
    found = MODEL.solve(**asked.keywords, concurrency=concurrency)
    seen = simulate(asked, 1.0, 1, 20_000, concurrency=concurrency)
    assert found.canonical("cohort_size") == min(concurrency, slots)
    assert found.canonical("decode_batch") == pytest.approx(seen.batch_size, rel=0.02)
    place = found.canonical("prompt_time")
    for name in LATENCIES:
        # Of as many requests before as behind, either may be the median.
        half = {"ttft_p50": 0.51 * place, "tpot_p50": 0.51 * place / (osl - 1)}.get(name, 0)
        assert found.canonical(name) == pytest.approx(
            getattr(seen, name), rel=0.06 if name == "itl_p99" else 0.02, abs=half
        ), name


@pytest.mark.long
@pytest.mark.parametrize(("ttft_slo", "tpot_slo"), [(0.2, 0.0125), (0.4, 0.009), (0.5, 0.0117), (0.9, 0.02)])
def test_what_is_in_time_is_counted(ttft_slo, tpot_slo):
    asked = setting("8B", 1024, 128, 256)
    promised = {"ttft_slo": f"{ttft_slo} s", "tpot_slo": f"{tpot_slo} s"}
    found = MODEL.solve(**asked.keywords, concurrency=32, **promised)
    seen = simulate(asked, 1.0, 1, 20_000, concurrency=32, ttft_slo=ttft_slo, tpot_slo=tpot_slo)
    assert found.canonical("slo_attainment") == pytest.approx(seen.slo_attainment, abs=0.04)


@pytest.mark.long
@pytest.mark.parametrize("concurrency", [2, 8, 32])
def test_prompts_of_other_lengths_stay_in_step(concurrency):
    """Means within 4%; the tail of the first token is that of prompts of one length."""
    asked = setting("8B", 1024, 128, 256, isl_cv=1)
    found = MODEL.solve(**asked.keywords, concurrency=concurrency)
    seen = simulate(asked, 1.0, 1, 40_000, concurrency=concurrency)
    for name in ("ttft_mean", "tpot_mean", "e2e_mean"):
        assert found.canonical(name) == pytest.approx(getattr(seen, name), rel=0.04), name


@pytest.mark.long
@pytest.mark.parametrize("concurrency", [2, 8, 32])
def test_answers_of_other_lengths_fall_out_of_step(concurrency):
    """As they do in the simulation from a spread of a twentieth on; times per token within 10%."""
    asked = setting("8B", 1024, 128, 256, osl_cv=0.05)
    found = MODEL.solve(**asked.keywords, concurrency=concurrency)
    seen = simulate(asked, 1.0, 1, 40_000, concurrency=concurrency)
    assert found.canonical("cohort_size") == 0
    assert found.canonical("ttft_mean") == pytest.approx(seen.ttft_mean, rel=0.15)
    assert found.canonical("tpot_mean") == pytest.approx(seen.tpot_mean, rel=0.1)
    together = MODEL.solve(**asked.keywords | {"osl_cv": 0}, concurrency=concurrency)
    assert together.canonical("ttft_mean") > 1.4 * seen.ttft_mean


@pytest.mark.long
@pytest.mark.parametrize("output", some_long(["ttft_p99", "ttft_mean", "tpot_p99", "itl_p99", "tokens_per_second"], 1))
def test_slopes_in_step_are_those_of_the_values(output):
    asked = setting("8B", 1024, 64, 256).keywords | {"concurrency": 24}
    found, at = MODEL.sensitivity(output, **asked), MODEL.solve(**asked)
    for name in ("efficiency", "memory_efficiency", "layer_tax", "kv_read_efficiency"):
        values = [MODEL.solve(**asked, **{name: step * at[name]}).canonical(output) for step in STEP]
        change = (values[1] - values[0]) / (STEP[1] - STEP[0])
        near = pytest.approx(change, rel=1e-5, abs=1e-9)
        assert found[name].elasticity * at.canonical(output) == near, name
