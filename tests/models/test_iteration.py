"""One iteration of an inference engine: limits, conservation, and what an engine at full load does."""

import numpy as np
import pytest

from mlsysim import CollectiveModel, IterationModel
from mlsysim.errors import InputError

MODEL, FULL = IterationModel(), IterationModel("saturated")
LLAMA = {"model": "Llama3_1_8B", "hardware": "H100", "stack": "Ideal"}
MIXTRAL = {**LLAMA, "model": "Mixtral_8x7B"}
PARTS = ("dense_product_time", "expert_product_time", "head_time", "activation_time", "decode_attention_time",
         "prefill_attention_time", "allreduce_time")  # fmt: skip


def seconds(**inputs):
    return MODEL.solve(**inputs).canonical("iteration_time")


@pytest.mark.parametrize("stack", ["Ideal", "Generic", "TensorRT_LLM_H100", "vLLM_2023_A100"])
def test_parts_and_overheads_add_up(stack):
    found = MODEL.solve(**{**MIXTRAL, "stack": stack}, tp_size=2, decode_requests=8, context_tokens=900, prompts=1)
    parts = sum(found.canonical(name) for name in PARTS) + 32 * found.canonical("layer_tax")
    device = max(parts, 32 * found.canonical("host_layer_time"))
    overhead = sum(found.canonical(name) for name in ("iteration_overhead", "worker_overhead"))
    assert found.canonical("iteration_time") == pytest.approx(
        device + overhead + 9 * found.canonical("sequence_overhead"), rel=1e-12
    )


def test_a_long_prompt_is_its_arithmetic_at_the_peak():
    """14.6 TFLOP for 1,024 tokens of Llama 3.1 8B and 739 for 32,768, causal, one token sampled."""
    for tokens, theirs in ((1024, 14.6), (32768, 739)):
        found = MODEL.solve(**LLAMA, prompts=1, seq_len=tokens, memory_bandwidth="1e6 TB/s")
        products = 2 * tokens * found.canonical("dense_weights_per_rank")
        flops = products + tokens * found.canonical("score_flops") + 2 * 128256 * 4096
        assert flops / 1e12 == pytest.approx(theirs, rel=0.005)
        computed = sum(found.canonical(name) for name in ("dense_product_time", "prefill_attention_time"))
        assert computed == pytest.approx(flops / 989e12, rel=1e-3)


def test_one_request_reads_every_weight_once():
    found = MODEL.solve(**LLAMA, decode_requests=1, context_tokens=0)
    read = (8_030_261_248 - 128256 * 4096) * 2 / 3.35e12
    assert found.canonical("dense_product_time") + found.canonical("head_time") == pytest.approx(read, rel=1e-3)
    assert found["iteration_bottleneck"] == "Products"
    assert found.canonical("decode_attention_time") == found.canonical("prefill_attention_time") == 0


def test_experts_are_read_as_tokens_reach_them():
    one, many = (MODEL.solve(**MIXTRAL, decode_requests=n, context_tokens=10) for n in (1, 200))
    assert one.canonical("touched_expert_weights") == pytest.approx(32 * 2 * 176160768)
    assert many.canonical("touched_expert_weights") == pytest.approx(32 * 8 * 176160768)


def test_a_dense_model_has_no_experts_and_one_rank_no_all_reduce():
    found = MODEL.solve(**LLAMA, decode_requests=4, context_tokens=100)
    assert found.canonical("expert_product_time") == found.canonical("allreduce_time") == 0


def test_ranks_share_weights_caches_and_products():
    """Heads are whole on up to eight ranks, so nothing is held twice."""
    wide = MODEL.sweep(**LLAMA, tp_size=[1, 2, 4, 8], decode_requests=4, context_tokens=100,
                       outputs=["dense_weights_per_rank", "kv_bytes_per_token_per_rank"])  # fmt: skip
    ranks = np.array([1, 2, 4, 8])
    for values in wide.data_vars.values():
        np.testing.assert_allclose(values * ranks, values[0], rtol=1e-12)


def test_a_compressed_cache_is_copied_on_every_rank():
    given = {"model": "DeepSeek_V3", "hardware": "H200", "decode_requests": 1, "context_tokens": 1}
    found = MODEL.sweep(**given, tp_size=[1, 8], outputs=["kv_bytes_per_token_per_rank"]).kv_bytes_per_token_per_rank
    assert found[0] == found[1] > 0


def test_the_host_binds_where_launching_takes_longer():
    found = MODEL.solve(**LLAMA, decode_requests=1, context_tokens=10, host_layer_time="1 ms")
    assert found["iteration_bottleneck"] == "Host"
    assert found.canonical("iteration_time") == pytest.approx(32e-3)


def test_infinitely_many_links_leave_latencies_alone():
    given = {**LLAMA, "tp_size": 8, "decode_requests": 64, "context_tokens": 500, "collective_latency": "3 us"}
    found = MODEL.solve(**given, node_bandwidth="1e20 GB/s")
    assert found.canonical("allreduce_time") == pytest.approx(2 * 32 * 3e-6)


@pytest.mark.parametrize("ranks", [2, 8, 16])
def test_ranks_reduce_by_the_law_of_collectives(ranks):
    """Two all-reduces a layer of 1,024 tokens of 8,192 numbers at 16 bit; sixteen ranks stand in two nodes."""
    fleet = {"fleet": "SuperPOD_H100", "stack": "NCCL_H100"}
    one = CollectiveModel("all_reduce").solve(**fleet, collective_ranks=ranks, message_bytes="16 MiB")
    found = MODEL.solve(**fleet, model="Llama3_1_70B", tp_size=ranks, prompts=1, seq_len=1024)
    assert found.canonical("allreduce_time") == pytest.approx(2 * 80 * one.canonical("collective_time"), rel=1e-12)


def test_kv_tokens_at_the_share_of_memory_vllm_takes():
    """About 462,000 tokens of Llama 3 8B on an H100; all memory would hold 527,000."""
    given = {"model": "Llama3_8B", "hardware": "H100", "workspace_memory": 0}
    weights, cache, usable = 16.06e9, 131072, 79.22 * 2**30
    found = FULL.solve(**given, gpu_memory_utilization=0.9)
    assert found.canonical("kv_cache_tokens") == pytest.approx((0.9 * usable - weights) / cache, rel=1e-3)
    found = FULL.solve(**given, gpu_memory_utilization=1, kv_memory_fraction=0.9)
    assert found.canonical("kv_cache_tokens") == pytest.approx(0.9 * (usable - weights) / cache, rel=1e-3)


def test_a_saturated_engine_is_its_iteration():
    """As many prompts join as answers end, at the mean context."""
    full = FULL.solve(model="Llama3_1_70B", hardware="H200", stack="TensorRT_LLM_H100", precision="w8a8", seq_len=1000,
                      output_tokens=500)  # fmt: skip
    running, prompts = full.canonical("decode_requests"), full.canonical("prompts")
    assert prompts == pytest.approx(running / 500)
    one = seconds(model="Llama3_1_70B", hardware="H200", stack="TensorRT_LLM_H100", precision="w8a8", seq_len=1000,
                  decode_requests=running, context_tokens=1250, prompts=prompts)  # fmt: skip
    assert full.canonical("iteration_time") == pytest.approx(one, rel=1e-12)
    assert full.canonical("output_tokens_per_second") == pytest.approx(running / one, rel=1e-12)


def test_nothing_fits_gives_no_throughput():
    found = FULL.solve(model="Llama3_1_405B", hardware="H100", precision="w8a8")
    assert found.canonical("kv_cache_tokens") == found.canonical("output_tokens_per_second") == 0


def test_heads_that_do_not_divide_are_refused():
    with pytest.raises(InputError, match="must divide"):
        MODEL.solve(**LLAMA, tp_size=3, decode_requests=1, context_tokens=1)


def test_a_search_over_layouts_and_stacks_proves_its_best():
    found = FULL.search(
        model=["Llama3_1_8B", "Llama3_1_70B"], hardware=["H100", "H200"], precision="w8a8", tp_size=[1, 2, 4, 8],
        seq_len=[1000, 5000], output_tokens=[200, 1000], maximize="output_tokens_per_second / tp_size",
        stack=["Generic", "TensorRT_LLM_H100"], method="bounds", top=3,
    )  # fmt: skip
    assert found.certificate.proven
    every = FULL.sweep(
        model=["Llama3_1_8B", "Llama3_1_70B"], hardware=["H100", "H200"], precision="w8a8", tp_size=[1, 2, 4, 8],
        seq_len=[1000, 5000], output_tokens=[200, 1000], stack=["Generic", "TensorRT_LLM_H100"],
    )  # fmt: skip
    best = (every.output_tokens_per_second / every.tp_size).max()
    assert found.objectives[0][0] == pytest.approx(float(best), rel=1e-9)
