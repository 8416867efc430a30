"""Time and room of recurrent mixers, held against a re-computation in plain Python of a model of Qwen3-Next's shape."""

import math

import pytest

from mlsysim import DistributedModel, IterationModel, MemoryExpansionModel, ServingCapacityModel, ServingModel
from mlsysim.errors import InputError

#: Qwen3-Next-80B-A3B, by its config.json.
HYBRID = {
    "layers": 48, "hidden_dim": 2048, "heads": 16, "kv_heads": 2, "head_dim": 256, "vocab_size": 151_936, "ffn_dim": 0,
    "gated": True, "experts": 512, "active_experts_per_token": 10, "moe_layers": 48, "expert_ffn_dim": 512,
    "shared_ffn_dim": 512, "router_bias": False, "qk_norm": True, "gate_width": 4096, "state_layers": 36,
    "state_key_heads": 16, "state_key_dim": 128, "state_heads": 32, "state_value_dim": 128, "state_gates": 1,
    "state_scalars": 2, "conv_channels": 8192, "conv_kernel": 4, "state_vectors": 192, "state_operations": 8,
    "state_chunk": 64, "delta_rule": True, "further_matrices": 98_304,
}  # fmt: skip
PARAMETERS = 79_674_391_296
#: Its twelve layers with attention keep two heads of keys and values at 16 bit; 36 keep a matrix a head and taps.
CACHE = 12 * 2 * 2 * 256 * 2
STATE = 36 * (4 * 32 * 128 * 128 + 2 * 8192 * 4)
SCANNED = 36 * 32 * (12 * 64 + 2 * (6 * 128 + 7 * 128) + 4 * 128 * 128 / 64)
PAIRS = 12 * 16 * 4 * 256
SCAN = 36 * (2 * 8192 * 4 + 2 * 32 * (3 * 64 * 128 + 2 * 64 * 128 + 3 * 128 * 128))
#: Another kind each: rows that decay apart (Kimi Linear), groups of keys (Nemotron-H), no heads at all (Jamba, LFM2).
KDA = {"state_key_heads": 32, "state_scalars": 1, "state_gates": 0, "conv_channels": 3 * 32 * 128}
MAMBA_2 = {
    "state_key_heads": 8, "state_heads": 128, "state_value_dim": 64, "state_scalars": 1, "state_chunk": 256,
    "delta_rule": False, "state_operations": 6, "conv_channels": 10_240,
}  # fmt: skip
MAMBA_1 = {
    "state_key_heads": 0, "state_key_dim": 16, "state_heads": 8192, "state_value_dim": 1, "state_scalars": 0,
    "state_chunk": 0, "delta_rule": False, "state_operations": 9,
}  # fmt: skip
SHORT = {
    "state_key_heads": 0, "state_key_dim": 0, "state_heads": 0, "state_value_dim": 0, "state_scalars": 0,
    "state_gates": 0, "state_chunk": 0, "delta_rule": False, "state_operations": 0,
}  # fmt: skip
DEVICE = {
    "memory_capacity": "141 GiB", "memory_bandwidth": "4800 GB/s", "peak_flops": "989 TFLOP/s",
    "attention_peak_flops": "989 TFLOP/s", "node_bandwidth": "450 GB/s",
}  # fmt: skip
ENGINE = {**HYBRID, **DEVICE, "parameters": PARAMETERS, "precision": "bf16", "stack": "Generic"}
DEPLOYMENT = {**ENGINE, "request_rate": 0.1, "isl": 100_000, "osl": 1_001, "max_num_seqs": 10**6}


def known_to(model, given):
    return {name: value for name, value in given.items() if name in model.arguments or name in model.slots}


def solved(model, **given):
    return model.solve(**known_to(model, given))


def iterated(**given):
    return solved(IterationModel(), **{**ENGINE, **given})


@pytest.mark.parametrize(
    ("kind", "moved"),
    [
        ({}, SCANNED),
        (KDA, 36 * 32 * (12 * 64 + 2 * (8 * 128 + 7 * 128) + 4 * 128 + 4 * 128 * 128 / 64)),
        (MAMBA_2, 36 * (128 * (2 * 3 * 64 + 12 * 128 * 64 / 256) + 8 * 8 * 128)),
        (MAMBA_1, 36 * 8192 * 6),
        (SHORT, 0),
    ],
    ids=["gated delta net", "KDA", "Mamba-2", "Mamba-1", "short convolution"],
)
def test_scans_move_what_their_kernels_pass_over(kind, moved):
    found = iterated(prompts=1, seq_len=8192, **kind)
    assert found.canonical("scan_traffic") == moved
    assert found.canonical("scan_time") == pytest.approx(8192 * moved / (0.3 * 4.8e12), rel=1e-14)


@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_a_prefill_computes_pairs_and_moves_what_it_scans(ranks):
    found = iterated(prompts=3, seq_len=8192, tp_size=ranks, prefix_hit_rate=0.25)
    scans = 3 * 8192 * 0.75 * SCANNED / (ranks * 0.3 * 4.8e12)
    pairs = 3 * 8192 * (1 - 0.25**2) * PAIRS * 8192 / 2 / (ranks * 989e12 * 0.5)
    assert found.canonical("scan_time") == pytest.approx(scans, rel=1e-14)
    assert found.canonical("prefill_attention_time") == pytest.approx(pairs + scans, rel=1e-14)


def test_scans_take_about_ten_times_as_long_as_their_arithmetic():
    found = iterated(prompts=1, seq_len=8192)
    assert found.canonical("scan_flops") == SCAN
    assert 8 < found.canonical("scan_time") / (8192 * SCAN / (989e12 * 0.5)) < 12


@pytest.mark.parametrize(("heads", "binds"), [(32, False), (1, True)])
def test_a_chunk_takes_a_while_however_few_heads_it_has(heads, binds):
    found = iterated(prompts=1, seq_len=6400, state_heads=heads, state_key_heads=1, scan_efficiency=1)
    assert (found.canonical("scan_time") == pytest.approx(36 * 100 * 0.2e-6, rel=1e-14)) == binds


@pytest.mark.parametrize(("ranks", "context"), [(1, 100), (1, 262_144), (8, 4096)])
def test_a_decode_step_reads_the_cache_and_reads_and_writes_the_state(ranks, context):
    """Two heads of keys and values are copied where there are more ranks; the state is split."""
    found = iterated(decode_requests=64, context_tokens=context, tp_size=ranks)
    moved = context * CACHE / min(2, ranks) + 2 * STATE / ranks
    read, computed = moved / (0.8 * 4.8e12), PAIRS * context / (ranks * 989e12 * 0.5)
    assert found.canonical("decode_attention_time") == pytest.approx(64 * math.hypot(read, computed), rel=1e-14)


def test_a_training_step_counts_the_arithmetic_and_takes_the_time_of_the_bytes():
    fabric = {"fabric_bandwidth": "50 GB/s", "fabric_latency": "5 us", "fleet_size": 1, "moe_layer_interval": 1}
    found = solved(DistributedModel(), **{**ENGINE, **fabric, "batch_size": 2, "seq_len": 4096, "zero_stage": 0})
    pairs = PAIRS * 4096 / 2
    assert found.canonical("score_flops") == pytest.approx(pairs + SCAN, rel=1e-14)
    rate = 989e12 * 0.6 * 0.5
    assert found.canonical("score_time") == pytest.approx(
        3 * 8192 * (pairs / rate + SCANNED / (0.3 * 4.8e12)), rel=1e-14
    )
    assert any("nothing measured" in note for note in found.notes)


def test_a_replica_prefills_by_bytes_and_decodes_with_its_state():
    model = ServingCapacityModel("prefill_aware")
    serve = {"qps": 0.1, "target_p99_latency_ms": 1e9, "seq_len": 8192, "output_tokens": 65, "kv_page_size": 1}
    found = solved(model, **{**ENGINE, **serve, "memory_capacity": "288 GB", "max_batch_size": 10**6})
    work = found.canonical("prefill_flops")
    assert work == pytest.approx(
        8192 * (found.canonical("product_flops") + PAIRS * 4096 + SCAN) + found.canonical("logit_flops"), rel=1e-14
    )
    weights = found.canonical("served_weights")
    computed, read = (work - 8192 * SCAN) / (989e12 * 0.6), weights / (0.8 * 4.8e12)
    scans = 8192 * SCANNED / (0.3 * 4.8e12)
    assert found.canonical("prefill_time") == pytest.approx(max(computed, read) + 1e-5 + scans, rel=1e-14)
    assert found.canonical("kv_bytes_per_request") == CACHE * (8192 + 65) + STATE
    assert found.canonical("kv_bytes_read") == pytest.approx(CACHE * (8192 + 65 / 2) + 2 * STATE, rel=1e-14)
    assert found.canonical("active_batch_size") == (0.9 * 288e9 - weights) // (CACHE * (8192 + 65) + STATE)


# --- room of a request ----------------------------------------------------------------------------


def held(found, ranks=1, tokens=101_001):
    """Requests of so many tokens in the memory for caches; keys and values are copied on ranks beyond two."""
    return found.canonical("kv_memory") / (CACHE * max(1, ranks / 2) * tokens + STATE)


@pytest.mark.parametrize("ranks", [2, 8])
def test_a_saturated_engine_holds_what_its_memory_has_room_for(ranks):
    model = IterationModel("saturated")
    given = {"tp_size": ranks, "seq_len": 100_000, "output_tokens": 1001, "max_batch_size": 10**6}
    found = solved(model, **{**ENGINE, **given})
    assert found.canonical("decode_requests") == pytest.approx(held(found, ranks), rel=1e-13)


@pytest.mark.parametrize("ranks", [2, 8])
def test_an_engine_has_as_many_slots_as_its_memory_has_room_for(ranks):
    found = solved(ServingModel("colocated"), **DEPLOYMENT, tp_size=ranks, kv_page_size=1)
    assert found.canonical("engine_slots") == math.floor(held(found, ranks))


@pytest.mark.long
def test_pools_size_and_send_the_cache_and_the_state():
    """Engines that prefill have ranks of their own, on which fewer copies stand."""
    found = solved(
        ServingModel("disaggregated"), **DEPLOYMENT, tp_size=8, prefill_tp_size=2, kv_page_size=1,
        kv_transfer_bandwidth="50 GB/s",
    )  # fmt: skip
    assert found.canonical("engine_slots") == math.floor(held(found, 8))
    alone = solved(ServingModel("colocated"), **DEPLOYMENT, tp_size=2)
    assert found.canonical("prompt_slots") == math.floor(held(alone, 2, 100_000))
    sent = CACHE * 100_000 + STATE
    assert found.canonical("kv_transfer_time") == pytest.approx(sent / 50e9, rel=1e-14)
    least = found.canonical("least_kv_transfer_bandwidth")
    assert least == pytest.approx(sent / found.canonical("prompt_interval"), rel=1e-14)


def test_tiers_hold_a_share_of_the_cache_and_the_state_each():
    design = {"design": "GH200", "fabric": "InfiniBand_NDR", "kv_offload": 0.5, "tp_size": 4, "kv_page_size": 1}
    given = {name: value for name, value in DEPLOYMENT.items() if name not in {*DEVICE, "state_operations"}}
    found = MemoryExpansionModel("serving").solve(**given, **design)
    request = 2 * CACHE * 101_001 + STATE
    slots = found.canonical("engine_slots")
    assert slots == math.floor(min(found.canonical("cache_tokens_of_all_layers") * 2 * CACHE / request, 10**6))
    assert found.canonical("slots_kv_cache") == pytest.approx(slots * request, rel=1e-13)


def test_a_cached_prefix_is_kept_with_the_state_at_its_end():
    prefixes = {"prefix_cache_memory": "20 GB", "num_prefixes": 1000, "prefix_len": 20_000}
    found = solved(ServingModel("colocated"), **DEPLOYMENT, **prefixes, tp_size=2)
    assert found.canonical("cached_prefixes") == pytest.approx(20e9 / (CACHE * 20_000 + STATE), rel=1e-13)


@pytest.mark.parametrize("variant", ["colocated", "disaggregated"])
def test_scans_grow_with_the_length_of_a_prompt_and_not_with_its_square(variant):
    given = {**DEPLOYMENT, "tp_size": 2, "isl_cv": 1}
    slow, quick = (solved(ServingModel(variant), **given, scan_efficiency=each) for each in (0.1, 0.3))
    curvature, slope = (
        [each.canonical(f"prompt_time_{name}") for each in (slow, quick)] for name in ("curvature", "slope")
    )
    assert curvature[0] == pytest.approx(curvature[1], rel=1e-9)
    assert slope[0] > 1.1 * slope[1]


@pytest.mark.long
def test_chunks_of_a_prompt_scan_no_pairs():
    given = {**DEPLOYMENT, "tp_size": 2, "max_num_seqs": 256}
    slow, quick = (solved(ServingModel("chunked"), **given, scan_efficiency=each) for each in (0.1, 0.3))
    assert slow.prompt_pair_time == quick.prompt_pair_time
    assert slow.canonical("ttft_mean") > 1.1 * quick.canonical("ttft_mean")


# --- what is said, and what is refused ------------------------------------------------------------

SPARSE = {"index_layers": 12, "index_heads": 4, "index_head_dim": 64, "index_topk": 2048}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"prompts": 1, "seq_len": 8192}, {"scans of 36"}),
        ({"decode_requests": 1, "context_tokens": 8192}, set()),
        ({"prompts": 1, "seq_len": 8192, **SPARSE}, {"scans of 36", "sparse attention to 2048"}),
        ({"prompts": 1, "seq_len": 2048, **SPARSE}, {"scans of 36"}),
        ({"decode_requests": 1, "context_tokens": 8192, **SPARSE}, set()),
    ],
)
def test_an_iteration_says_how_far_its_prefill_is_off(given, said):
    notes = iterated(**given).notes
    assert len(notes) == len(said)
    assert all(any(words in note for note in notes) for words in said)


@pytest.mark.parametrize("topk", [2048, 8192])
def test_deployments_say_it_of_their_prompts(topk):
    sparse = {**SPARSE, "index_topk": topk}
    serve = {"qps": 0.1, "target_p99_latency_ms": 1e9, "seq_len": 8192, "memory_capacity": "288 GB"}
    for model, given in (
        (ServingModel("disaggregated"), {**DEPLOYMENT, "isl": 8192, "tp_size": 2}),
        (ServingCapacityModel("prefill_aware"), {**ENGINE, **serve}),
    ):
        notes = " ".join(solved(model, **{**given, **sparse}).notes)
        assert "scans of 36" in notes
        assert ("sparse attention" in notes) == (topk < 8192)


def test_a_model_without_recurrent_mixers_says_nothing():
    assert not IterationModel().solve("Llama3_8B", "H100", prompts=1).notes


@pytest.mark.parametrize(
    "model",
    [IterationModel(), IterationModel("saturated"), ServingModel(), ServingModel("disaggregated"),
     ServingCapacityModel("prefill_aware")],
    ids=lambda model: f"{type(model).__name__}-{model.variant}",
)  # fmt: skip
@pytest.mark.parametrize(("states", "mixerless"), [(48, 0), (36, 12)])
def test_serving_refuses_a_model_without_attention(model, states, mixerless):
    """Room is counted in tokens of a cache."""
    given = {**DEPLOYMENT, "qps": 1, "target_p99_latency_ms": 1000, "prompts": 1, "tp_size": 2}
    with pytest.raises(InputError, match=rf"state_layers={states}: must be less than layers=48, less mixerless"):
        solved(model, **{**given, "state_layers": states, "mixerless_layers": mixerless})
    attended = {"parallel_layers": 1} if states == 48 else {"mixerless_layers": 11}
    solved(model, **{**given, "memory_capacity": "1 TB", "state_layers": states, **attended})


def test_a_model_without_attention_is_trained():
    fabric = {"fabric_bandwidth": "50 GB/s", "fabric_latency": "5 us", "fleet_size": 1, "moe_layer_interval": 1}
    given = {**ENGINE, **fabric, "batch_size": 2, "seq_len": 4096, "zero_stage": 0, "state_layers": 48}
    found = solved(DistributedModel(), **given)
    assert found.canonical("score_flops") == pytest.approx(SCAN * 48 / 36, rel=1e-14)


@pytest.mark.parametrize("name", ["scan_efficiency", "scan_chunk_time"])
def test_shares_and_times_that_are_none_are_refused(name):
    with pytest.raises(InputError, match=f"{name}=-1"):
        iterated(prompts=1, **{name: -1})
