"""Lengths that vary, where prompts are prefilled whole: moments against sampled lengths, laws against SciPy, limits."""

import numpy as np
import pytest
from scipy import stats

from mlsysim import IterationModel, ServingModel
from mlsysim.errors import InputError
from mlsysim.formulas.varied_lengths import beyond_mean, law

POINT = {name: value for name, value in ServingModel.example.items() if name not in ("ttft_slo", "tpot_slo")}
WHOLE = ("colocated", "disaggregated")


def log_normal(cv):
    """Lengths of mean one."""
    spread = np.sqrt(np.log1p(cv**2))
    return stats.lognorm(spread, scale=np.exp(-(spread**2) / 2))


@pytest.mark.parametrize(("isl", "cv", "within"), [(1024, 0.5, 0.02), (4096, 1, 0.03), (512, 1, 0.09)])
def test_a_prefill_has_the_moments_of_sampled_lengths(isl, cv, within):
    found = ServingModel("disaggregated").solve(**{**POINT, "isl": isl}, isl_cv=cv, num_replicas=1)
    engine = {name: POINT[name] for name in ("model", "hardware", "precision", "tp_size", "stack")}
    # The law is even in its logarithm, so that a midpoint rule far into both tails converges.
    at = np.linspace(-7, 7, 141)
    spread = np.sqrt(np.log1p(cv**2))
    lengths = np.maximum(1, np.rint(isl * np.exp(spread * at - spread**2 / 2))).astype(int)
    lengths, where = np.unique(lengths, return_inverse=True)
    times = IterationModel().sweep(**engine, decode_requests=0, prompts=1, seq_len=lengths, outputs=("iteration_time",))
    weights = stats.norm.pdf(at) / stats.norm.pdf(at).sum()
    took = times["iteration_time"].values[where] / 1e3
    mean = weights @ took
    assert found.canonical("prompt_time") == pytest.approx(mean, rel=within)
    variance = weights @ (took - mean) ** 2
    assert found.canonical("prompt_time") * found["prompt_time_cv"] == pytest.approx(variance**0.5, rel=2 * within)


@pytest.mark.parametrize("cv", [0.1, 0.5, 1.0, 2.0])
def test_the_law_of_a_log_normal_is_itself(cv):
    lengths = log_normal(cv)
    _, variance, skewness = (float(each) for each in lengths.stats("mvs"))
    growth = float(law(skewness / 6))
    assert growth == pytest.approx(1 + cv**2, rel=1e-9)
    for share in (0.1, 0.5, 0.9, 0.99):
        beyond = float(beyond_mean(variance, growth, stats.norm.ppf(share)))
        assert 1 + beyond == pytest.approx(lengths.ppf(share), rel=1e-8)


@pytest.mark.parametrize("variant", WHOLE)
def test_a_small_spread_is_near_none(variant):
    alike, varied = (ServingModel(variant).solve(**POINT, isl_cv=cv, osl_cv=cv) for cv in (0, 1e-4))
    for name in (
        "ttft_mean",
        "tpot_mean",
        "e2e_mean",
        "decode_batch",
        "batch_variance",
        "replica_capacity",
        "tpot_p99",
    ):
        assert varied.canonical(name) == pytest.approx(alike.canonical(name), rel=1e-4)
    # Another form: log-normal instead of the tail of a wait, and of a gamma law.
    for name, within in {"ttft_p50": 0.1, "ttft_p99": 0.13, "e2e_p50": 0.02, "e2e_p99": 0.02}.items():
        assert varied.canonical(name) == pytest.approx(alike.canonical(name), rel=within)


@pytest.mark.parametrize("variant", WHOLE)
def test_longer_tails_cost_more(variant):
    found = [ServingModel(variant).solve(**POINT, isl_cv=cv, osl_cv=cv, num_replicas=4) for cv in (0, 0.5, 1, 1.5)]
    for name in ("ttft_mean", "ttft_p99", "e2e_p99", "decode_batch", "tpot_spread", "prompt_time"):
        values = [each.canonical(name) for each in found]
        assert values == sorted(values), name
    capacity = [each.canonical("replica_capacity") for each in found]
    assert capacity == sorted(capacity, reverse=True)


@pytest.mark.parametrize("variant", WHOLE)
def test_requests_are_conserved(variant):
    """Little's law holds of the mean over requests, which is not that over tokens."""
    found = ServingModel(variant).solve(**POINT, isl_cv=1, osl_cv=1, num_replicas=4)
    rate = found.canonical("replica_rate")
    decoding = found.canonical("e2e_mean") - found.canonical("ttft_mean")
    assert found.canonical("decode_batch") == pytest.approx(rate * decoding, rel=0.03)
    assert 255 * found.canonical("tpot_mean") > decoding
    assert found.canonical("tokens_per_second") == pytest.approx(20 * 256)


@pytest.mark.parametrize("variant", WHOLE)
def test_attainment_is_the_share_below_a_quantile(variant):
    found = ServingModel(variant).solve(**POINT, isl_cv=1, osl_cv=1, num_replicas=4)
    told = ServingModel(variant).solve(
        **POINT, isl_cv=1, osl_cv=1, num_replicas=4, ttft_slo=found["ttft_p90"], tpot_slo=0
    )
    assert told["ttft_attainment"] == pytest.approx(0.9, rel=1e-6)


def test_answers_that_vary_hold_more_of_the_cache():
    alike, varied = (
        ServingModel("colocated").solve(**{**POINT, "tp_size": 2, "osl": 2048}, max_num_seqs=4096, osl_cv=cv)
        for cv in (0, 1)
    )
    assert varied["engine_slots"] < alike["engine_slots"]
    assert varied.canonical("context_tokens") == alike.canonical("context_tokens") + 1024


def test_a_spread_is_not_negative():
    with pytest.raises(InputError, match=r"isl_cv.*>= 0"):
        ServingModel("colocated").solve(**POINT, isl_cv=-0.5)
