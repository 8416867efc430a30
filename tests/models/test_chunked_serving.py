"""The serving model with chunked prefill: its parts, limits, closed loops, and slopes against differences."""

import numpy as np
import pytest
from fuzz import rest_long

from mlsysim import ServingModel
from mlsysim.backends import compiled, derivatives
from mlsysim.errors import InputError
from mlsysim.inputs.binding import bind
from mlsysim.models.iteration import IterationModel

MODEL = ServingModel("chunked")
POINT = {**ServingModel.example, "num_replicas": 2}
TIMES = ("ttft_mean", "ttft_p50", "ttft_p90", "ttft_p99", "tpot_mean", "tpot_p99", "e2e_mean", "e2e_p99", "itl_p99")


def solved(**given):
    return MODEL.solve(**{**POINT, **given})


@pytest.fixture(scope="module")
def plain():
    return solved()


def test_the_parts_agree(plain):
    """Little's law, the order of quantiles, and the load."""
    rate = plain.canonical("replica_rate")
    assert rate == 10
    decoding = plain.canonical("e2e_mean") - plain.canonical("ttft_mean")
    assert plain.canonical("decode_batch") == pytest.approx(rate * decoding, rel=1e-4)
    assert decoding == pytest.approx(255 * plain.canonical("tpot_mean"), rel=1e-4)
    for name in ("ttft", "tpot", "e2e"):
        quantiles = [plain.canonical(f"{name}_{share}") for share in ("p50", "p90", "p99")]
        assert quantiles == sorted(quantiles)
    assert plain.canonical("replica_load") == rate / plain.canonical("replica_capacity")
    assert plain.canonical("tokens_per_second") == pytest.approx(20 * 256)
    assert plain["feasible"]


def test_nothing_of_an_iteration_is_written_again():
    """Without load a request alone prefills and decodes as the model of one iteration says."""
    quiet = solved(request_rate=1e-6)
    engine = {name: POINT[name] for name in ("model", "hardware", "precision", "tp_size", "stack")}
    prefill = IterationModel().solve(**engine, decode_requests=0, prompts=1, seq_len=1024)
    step = IterationModel().solve(**engine, decode_requests=1, context_tokens=1024 + 128, seq_len=1024)
    assert quiet.canonical("ttft_mean") == pytest.approx(prefill.canonical("iteration_time"), rel=1e-3)
    assert quiet.canonical("tpot_mean") == pytest.approx(step.canonical("iteration_time"), rel=1e-4)


def test_a_small_budget_cuts_prompts(plain):
    """Tokens come more evenly, the first one later."""
    cut = solved(max_num_batched_tokens=512)
    assert cut.canonical("itl_p99") < 0.6 * plain.canonical("itl_p99")
    assert cut.canonical("ttft_mean") > plain.canonical("ttft_mean")


def test_a_budget_beyond_what_waits_changes_nothing():
    given = {"request_rate": 4}
    one, other = (solved(max_num_batched_tokens=budget, **given) for budget in (1 << 17, 1 << 18))
    for name in TIMES:
        assert other.canonical(name) == pytest.approx(one.canonical(name), rel=1e-3), name


@pytest.mark.long
def test_more_load_makes_everything_later():
    found = MODEL.sweep(**{**POINT, "request_rate": [2, 8, 16, 22]}, outputs=[*TIMES, "decode_batch"])
    for name in (*TIMES, "decode_batch"):
        assert (np.diff(found[name].values) > 0).all(), name


def test_lengths_that_vary_make_requests_later(plain):
    varied = solved(isl_cv=1, osl_cv=1)
    assert varied.canonical("ttft_p99") > 1.5 * plain.canonical("ttft_p99")
    assert varied.canonical("e2e_p99") > 1.5 * plain.canonical("e2e_p99")
    assert varied.canonical("replica_capacity") < plain.canonical("replica_capacity")


def test_too_much_load_is_infeasible():
    found = solved(request_rate=60)
    assert not found["feasible"]
    assert found.canonical("ttft_mean") == np.inf
    assert found.canonical("slo_attainment") == 0


@pytest.mark.long
def test_the_rate_that_is_promised_is_kept():
    goodput = solved(request_rate=1, num_replicas=1).canonical("goodput")
    kept = solved(request_rate=goodput * (1 - 1e-9), num_replicas=1)
    missed = solved(request_rate=goodput * 1.02, num_replicas=1)
    assert kept.canonical("slo_attainment") == pytest.approx(0.9, abs=1e-3)
    assert kept["feasible"]
    assert not missed["feasible"]


def test_the_fewest_replicas_are_taken():
    found = solved(num_replicas=0)
    assert found["deployed_replicas"] == np.ceil(20 / found.canonical("replica_goodput"))


def test_neutral_arguments_change_nothing(plain):
    neutral = solved(prefix_hit_rate=0, num_speculative_tokens=0, acceptance_rate=0.7, draft_cost=0.3, isl_cv=0)
    asked_of = {"best_num_speculative_tokens": plain.outputs["best_num_speculative_tokens"]}  # what drafts would do
    assert {**neutral.outputs, **asked_of} == plain.outputs


def test_a_budget_below_the_slots_is_refused():
    with pytest.raises(InputError, match="max_num_batched_tokens=128: must be at least max_num_seqs=256"):
        solved(max_num_batched_tokens=128)


@pytest.mark.long
def test_loops_are_closed():
    """Requests in flight over the rate are the time of a request."""
    for concurrency in (1, 40, 600):
        found = solved(request_rate=0, concurrency=concurrency, num_replicas=1)
        rate = found.canonical("tokens_per_second") / 256
        assert rate * found.canonical("e2e_mean") == pytest.approx(concurrency, rel=1e-9)
        assert found.canonical("decode_batch") <= min(concurrency, found.canonical("engine_slots"))


@pytest.mark.long(quick=1)
@pytest.mark.parametrize(
    ("by", "step"),
    rest_long([("request_rate", 0.02), ("isl_cv", 0.02), ("memory_efficiency", 0.01), ("ttft_slo", 0.02)], quick=2),
)
def test_slopes_are_those_of_differences(by, step):
    """Means and the goodput, over differences of a percent or two: the lattice of the chain jumps by less."""
    outputs = ("ttft_mean", "tpot_mean", "e2e_mean", "decode_batch", "replica_goodput")
    binding = bind(MODEL, {**POINT, "ttft_slo": 250, "request_rate": 19, "isl_cv": 0.5})
    system, values = binding.system, {name: float(value) for name, value in binding.values.items()}
    found = derivatives(system, outputs, (by,), values)
    at = values[by]
    ends = compiled(system, outputs, "vector")({**values, by: np.array([at * (1 - step), at * (1 + step)])})
    for name in outputs:
        value, slope = found[name][()].item(), found[name].get((by,), np.zeros(1)).item()
        low, high = np.broadcast_to(ends[name], 2)
        share = (high - low) / (2 * step * value)
        assert slope * at / value == pytest.approx(share, rel=0.05, abs=0.005), name


@pytest.mark.parametrize("rate", [1e-3, 5])
def test_a_prompt_of_one_token_takes_a_step(rate):
    """By the estimate as by the chain, as near as the estimate is."""
    asked = {"model": "Llama3_3_70B", "hardware": "H100", "precision": "w8a8", "tp_size": 4, "isl": 1, "osl": 64}
    chain, estimate = (
        ServingModel(variant).solve(**asked, request_rate=rate, num_replicas=1).canonical("ttft_mean")
        for variant in ("chunked", "chunked_estimate")
    )
    assert estimate == pytest.approx(chain, rel=0.08)
