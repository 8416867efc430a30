"""Sliding windows and layers that predict further tokens: pairs counted one by one, and published arithmetic."""

import pytest

from mlsysim import DistributedModel, ParameterCountModel, ServingCapacityModel
from mlsysim.errors import MlsysimError

TRAIN = {"hardware": "H100", "fleet_size": 8, "batch_size": 8, "precision": "bf16", "fabric_bandwidth": "50 GB/s",
         "fabric_latency": "10 µs"}  # fmt: skip
SERVE = {"hardware": "H100", "qps": 1, "target_p99_latency_ms": 60_000, "precision": "bf16"}


def pairs(tokens, window):
    """Pairs of a token and one it attends to, itself included, less the half of the diagonal that a triangle cuts."""
    seen = sum(min(place, window) for place in range(1, tokens + 1))
    return seen - min(tokens, window) / 2


@pytest.mark.parametrize("window", [1, 100, 1024, 2048, 4096])
def test_scores_of_a_window_are_the_pairs_it_leaves(window):
    """All layers slide, half of them do, and none does."""
    tokens = 2048
    whole = DistributedModel().solve("Llama3_8B", **TRAIN, seq_len=tokens).canonical("score_flops")
    for sliding in (0, 16, 32):
        found = DistributedModel().solve(
            "Llama3_8B", **TRAIN, seq_len=tokens, sliding_window=window, sliding_layers=sliding
        )
        share = ((32 - sliding) * tokens**2 / 2 + sliding * pairs(tokens, window)) / (32 * tokens**2 / 2)
        assert found.canonical("score_flops") == pytest.approx(whole * share, rel=1e-12)


def test_a_full_mask_fills_the_window():
    found = DistributedModel().solve(
        "Llama3_8B", **TRAIN, seq_len=2048, attention_mask="full", sliding_window=512, sliding_layers=32
    )
    whole = DistributedModel().solve("Llama3_8B", **TRAIN, seq_len=2048, attention_mask="full")
    assert found.canonical("score_flops") == pytest.approx(whole.canonical("score_flops") / 4, rel=1e-12)


def test_a_cache_keeps_the_window():
    model = ServingCapacityModel("prefill_aware")
    plain = model.solve("Llama3_8B", **SERVE, seq_len=8000, output_tokens=192)
    found = model.solve("Llama3_8B", **SERVE, seq_len=8000, output_tokens=192, sliding_window=1024, sliding_layers=24)
    per_token = plain.canonical("kv_bytes_per_token")
    assert found.canonical("kv_bytes_per_token") == per_token == 131_072
    assert plain.canonical("kv_bytes_per_request") == per_token * 8192
    assert found.canonical("kv_bytes_per_request") == per_token * (8 * 8192 + 24 * 1024) / 32
    assert found.canonical("kv_bytes_read") == per_token * (8 * 8096 + 24 * 1024) / 32


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sliding_layers": 33, "sliding_window": 8}, "must be at most"),
        ({"sliding_layers": 4}, "must be above 0 where"),
    ],
)
def test_a_window_that_is_none_is_refused(given, message):
    with pytest.raises(MlsysimError, match=message):
        DistributedModel().solve("Llama3_8B", **TRAIN, seq_len=2048, **given)


DEEPSEEK = {"hardware": "H100", "fleet_size": 64, "batch_size": 64, "seq_len": 4096, "precision": "bf16", "ep_size": 64,
            "fabric_bandwidth": "50 GB/s", "fabric_latency": "10 µs"}  # fmt: skip


@pytest.mark.parametrize(("further", "published"), [(0, 250.45), (1, 260.6)])
def test_arithmetic_of_deepseek_v3_with_and_without_its_further_layer(further, published):
    """GFLOP a token as NVIDIA's rows imply them: 249 to 250 without the layer, 260 with it."""
    found = DistributedModel().solve("DeepSeek_V3", **DEEPSEEK, mtp_layers=further)
    assert found.canonical("model_flops") / (64 * 4096) / 1e9 == pytest.approx(published, rel=2e-4)


def test_parameters_of_the_further_layer_of_deepseek_v3():
    """With copies of embedding and head, which the module stores too, and one scale for each block of 128 x 128."""
    count = ParameterCountModel().solve("DeepSeek_V3", mtp_layers=1).canonical("parameters")
    layer = 187_107_328 + 2 * 7168 + 256 * 7169 + 257 * 3 * 7168 * 2048
    assert count == 671_026_419_200 + layer + 2 * 7168**2 + 3 * 7168
    assert count + 2 * 129_280 * 7168 + 41e6 == pytest.approx(684.53e9, rel=1e-5)


def test_a_rank_that_holds_all_holds_the_further_layer_too():
    given = {**DEEPSEEK, "fleet_size": 1, "ep_size": 1, "batch_size": 1, "mtp_layers": 1}
    held = DistributedModel().solve("DeepSeek_V3", **given).canonical("parameters_per_rank")
    assert held == ParameterCountModel().solve("DeepSeek_V3", mtp_layers=1).canonical("parameters")
