"""A cache of prefixes of a given size: against a simulated one, the sum over every prefix, limits and slopes."""

import numpy as np
import pytest
from scipy.optimize import brentq
from simulated.serving.prefix_cache import token_hit_rate, zipf

from mlsysim import IterationModel, ServingModel
from mlsysim.backends import compiled, derivatives
from mlsysim.errors import InputError
from mlsysim.inputs.binding import bind

POINT = {**ServingModel.example, "isl": 4096, "num_replicas": 4}
LENGTH = 1024
BYTES = IterationModel().solve(**IterationModel.example)["kv_bytes_per_token"].to("byte/token").magnitude


def solved(held, count, exponent, variant="colocated", **more):
    """A deployment whose cache holds so many prefixes."""
    cache = {"prefix_cache_memory": f"{held * LENGTH * BYTES} byte", "num_prefixes": count, "prefix_zipf": exponent}
    return ServingModel(variant).solve(**{**POINT, "prefix_len": LENGTH, **cache, **more})


def by_every_prefix(held, count, exponent):
    """Che's approximation without classes."""
    asked = zipf(count, exponent)

    def kept(requests):
        return -np.expm1(-asked * np.exp(requests))

    return asked @ kept(brentq(lambda requests: kept(requests).sum() - held, 0, 60))


@pytest.mark.long(quick=2)
@pytest.mark.parametrize(
    ("held", "count", "exponent"),
    [(100, 1000, 1.0), (500, 10_000, 0.9), (2000, 100_000, 1.1), (10, 50, 0.6), (300, 1000, 0.0), (50, 20_000, 1.3)],
)
def test_hits_are_those_of_a_simulated_cache(held, count, exponent):
    found = solved(held, count, exponent)
    sizes = np.full(count, LENGTH)
    seen = token_hit_rate(sizes, zipf(count, exponent), held * LENGTH, 2_000_000, 1)
    assert found["cached_prefixes"] == pytest.approx(held, rel=1e-12)
    assert found["prefix_found_share"] == pytest.approx(seen, abs=0.002)
    assert found["cached_prompt_share"] == pytest.approx(found["prefix_found_share"] / 4, rel=1e-12)


@pytest.mark.parametrize("count", [2, 10, 1000, 1_000_000])
@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.0, 1.5])
def test_classes_stand_for_every_prefix(count, exponent):
    for share in (0.5, 0.1, 0.001):
        held = share * count
        if held >= 1:
            expected = by_every_prefix(held, count, exponent)
            assert solved(held, count, exponent)["prefix_found_share"] == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize("variant", ServingModel.variants)
def test_without_a_memory_the_share_is_as_given(variant):
    plain = ServingModel(variant).solve(**POINT, prefix_hit_rate=0.2)
    told = solved(0, 500, 2.0, variant, prefix_hit_rate=0.2)
    for name in ("ttft_mean", "tpot_mean", "replica_capacity", "cached_prompt_share"):
        assert told[name] == plain[name]


@pytest.mark.parametrize("variant", ["colocated", "disaggregated"])
def test_hits_save_what_a_given_share_saves(variant):
    cached = solved(200, 1000, 1.0, variant)
    given = ServingModel(variant).solve(**POINT, prefix_hit_rate=cached["cached_prompt_share"])
    for name in ("ttft_mean", "tpot_mean", "replica_capacity", "goodput"):
        assert cached.canonical(name) == pytest.approx(given.canonical(name), rel=1e-12)


def test_the_ends():
    assert solved(0.9, 1000, 1.0)["cached_prompt_share"] == 0
    assert solved(1000, 1000, 1.0)["prefix_found_share"] == 1
    assert solved(1e6, 1000, 1.0)["cached_prompt_share"] == LENGTH / 4096
    assert solved(1e6, 1000, 1.0, prefix_len=4096)["cached_prompt_share"] == 0.999
    shares = [solved(held, 1000, 1.0)["prefix_found_share"] for held in (1, 2, 10, 100, 999, 1000)]
    assert shares == sorted(shares)
    assert solved(999.999, 1000, 1.0)["prefix_found_share"] == pytest.approx(1, abs=1e-5)


def test_what_a_day_of_hits_leaves_to_compute():
    """342 of 608 billion tokens were found on the sixth day of DeepSeek's week: 73.7k tokens/s are 32.2k computed."""
    found = solved(1e6, 1000, 1.0, isl=608, prefix_len=342)
    assert found["cached_prompt_share"] == pytest.approx(342 / 608)
    assert 73.7 * (1 - found["cached_prompt_share"]) == pytest.approx(32.2, abs=0.05)


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("by", ["prefix_cache_memory", "prefix_zipf"])
def test_slopes_are_those_of_differences(by):
    outputs = ("cached_prompt_share", "prefix_lifetime", "ttft_mean")
    point = {**POINT, "prefix_cache_memory": "40 GB", "prefix_zipf": 0.9, "num_prefixes": 2000, "num_replicas": 16}
    binding = bind(ServingModel("colocated"), point)
    values = {name: float(value) for name, value in binding.values.items()}
    found = derivatives(binding.system, outputs, (by,), values)
    at = values[by]
    ends = compiled(binding.system, outputs, "vector")({**values, by: np.array([at * (1 - 1e-4), at * (1 + 1e-4)])})
    for name in outputs:
        low, high = ends[name]
        assert found[name][(by,)].item() == pytest.approx((high - low) / (2e-4 * at), rel=1e-4), name


def test_a_prefix_is_part_of_a_prompt():
    with pytest.raises(InputError, match=r"prefix_len.*at most isl"):
        solved(10, 1000, 1.0, isl=512)
    assert solved(0, 1000, 1.0, isl=512)["cached_prompt_share"] == 0
