"""Serving and routing against published KV-cache sizes and the tutorial, at their own tolerances."""

import pytest

from mlsysim.engine import compiled
from mlsysim.models import MoERoutingModel, ServingCapacityModel
from mlsysim.symbolic import variable_of

#: Llama 3 8B on one H100 of 80 GiB, 3.35 TB/s and 989 TFLOP/s; the rest is set per case.
SERVING = {
    "parameters": 8.03e9, "layers": 32, "hidden_dim": 4096, "heads": 32, "kv_heads": 8, "kv_lora_rank": 0,
    "qk_rope_head_dim": 0, "precision": "fp16", "seq_len": 2048, "output_tokens": 128, "max_batch_size": 32,
    "kv_page_size": 16, "memory_capacity": 80 * 2**30, "memory_bandwidth": 3.35e12, "peak_flops": 989e12,
    "efficiency": 0.5, "dispatch_tax": 1e-5, "layer_tax": 1e-5, "qps": 1.0, "target_p99_latency_ms": 10.0,
    "service_time_cv": 1.0, "max_replicas": 1024,
}  # fmt: skip


def solve(model, inputs):
    """Canonical outputs."""
    coded = {k: float(variable_of(k).code(v)) if isinstance(v, str) else float(v) for k, v in inputs.items()}
    return compiled(model().system)(coded)


def serve(**inputs):
    return solve(ServingCapacityModel, {**SERVING, **inputs})


def test_kv_cache_of_opt_13b(case):
    """0.1 % on the 800 KiB of a token, 5 % on the 1.6 GB of 2048 tokens, rounded either way."""
    printed = case("pagedattention_kv")["measured"]
    found = serve(layers=40, hidden_dim=5120, heads=40, kv_heads=40, seq_len=2048)
    assert found["kv_bytes_per_token"] / 2**10 == pytest.approx(printed["kv_per_token_KB"], rel=0.001)
    assert found["kv_bytes_per_request"] / 1e9 == pytest.approx(printed["kv_2048_tokens_GB"], rel=0.05)
    assert found["kv_bytes_per_request"] / 2**30 == pytest.approx(printed["kv_2048_tokens_GB"], rel=0.05)


LLAMA = {
    "8B": {"layers": 32, "hidden_dim": 4096, "heads": 32, "kv_heads": 8},
    "70B": {"layers": 80, "hidden_dim": 8192, "heads": 64, "kv_heads": 8},
    "405B": {"layers": 126, "hidden_dim": 16384, "heads": 128, "kv_heads": 8},
}
TWICE = pytest.mark.xfail(
    reason="the published 405B row is twice the cache of the model's 8 KV heads; it matches 16", strict=True
)


@pytest.mark.parametrize("size", ["8B", "70B", pytest.param("405B", marks=TWICE)])
def test_kv_cache_of_llama_3_1(case, size):
    """0.5 %; the columns are 1024, 16 000 and 128 000 tokens, in GiB."""
    for tokens, printed in zip(
        (1024, 16_000, 128_000), case("hf_llama31_memory")["measured"]["kv_GB"][size], strict=True
    ):
        found = serve(**LLAMA[size], seq_len=tokens)["kv_bytes_per_request"] / 2**30
        assert found == pytest.approx(printed, rel=0.005), tokens


def test_the_405b_row_matches_sixteen_heads(case):
    for tokens, printed in zip(
        (1024, 16_000, 128_000), case("hf_llama31_memory")["measured"]["kv_GB"]["405B"], strict=True
    ):
        found = serve(**{**LLAMA["405B"], "kv_heads": 16}, seq_len=tokens)["kv_bytes_per_request"] / 2**30
        assert found == pytest.approx(printed, rel=0.005), tokens


def test_tutorial_section_2(case):
    """One replica holds 2 s at the 99th percentile, to 1 %."""
    table = case("seed_serving")
    at, printed = table["config"], table["measured"]
    found = serve(qps=at["qps"], target_p99_latency_ms=at["p99_ms"] / 1000, seq_len=at["seq"], output_tokens=at["out"],
                  max_batch_size=at["max_batch"], efficiency=at["efficiency"])  # fmt: skip
    assert found["required_replicas"] == printed["replicas"]
    assert found["qps_capacity"] == pytest.approx(printed["qps_capacity"], rel=0.01)
    assert found["utilization"] == pytest.approx(printed["utilization"], rel=0.01)
    assert found["estimated_p99_latency"] * 1000 == pytest.approx(printed["p99_ms"], rel=0.01)
    assert variable_of("bottleneck").domain.labels[int(found["bottleneck"])] == printed["bottleneck"]


@pytest.mark.parametrize("imbalance", ["1.0", "1.25", "1.5", "2.0"])
def test_tutorial_section_3(case, imbalance):
    """Experts per token, routed MB and milliseconds of one exchange over 12.5 GB/s and 50 us, to 0.1 %."""
    table = case("seed_moe_routing")
    at = table["config"]
    found = solve(
        MoERoutingModel,
        {
            "batch_size": at["batch"], "seq_len": at["seq"], "hidden_dim": at["h"], "experts": at["experts"],
            "active_experts_per_token": at["k"], "ep_size": at["ep"], "routing_imbalance_factor": float(imbalance),
            "precision": "fp16", "active_parameters": 12.9e9, "fabric_bandwidth": 12.5e9, "fabric_latency": 50e-6,
            "oversubscription": 1.0,
        },
    )  # fmt: skip
    experts, megabytes, milliseconds = table["measured"][imbalance]
    assert found["effective_active_experts"] == pytest.approx(experts, rel=0.001)
    assert found["token_dispatch_bytes"] / 1e6 == pytest.approx(megabytes, rel=0.001)
    assert found["all_to_all_latency"] * 1e3 == pytest.approx(milliseconds, rel=0.001)
