"""The ledger of a layer: models it counts to the last element, what shards conserve, and who may know a shape."""

import ast
from pathlib import Path

import pytest

from mlsysim import DistributedModel, ParameterCountModel, ServingCapacityModel, formulas
from mlsysim.errors import InputError
from mlsysim.symbols import mixers

COUNT, CACHE, STEP = ParameterCountModel(), ServingCapacityModel("prefill_aware"), DistributedModel()
#: Default configurations that transformers 5.23 builds on PyTorch's meta device: tensors, and tensors of the cache.
FALCON = {
    "layers": 32, "hidden_dim": 4544, "heads": 71, "kv_heads": 1, "head_dim": 64, "vocab_size": 65024, "ffn_dim": 18176,
    "gated": False, "norm_bias": True, "block_norms": 1, "tied_embeddings": True,
}  # fmt: skip
COHERE_2 = {
    "layers": 40, "hidden_dim": 8192, "heads": 64, "kv_heads": 64, "head_dim": 128, "vocab_size": 256000,
    "ffn_dim": 22528, "gated": True, "block_norms": 1, "tied_embeddings": True, "sliding_window": 4096,
    "sliding_layers": 30,
}  # fmt: skip
AFMOE = {
    "layers": 32, "hidden_dim": 2048, "heads": 16, "kv_heads": 16, "head_dim": 128, "vocab_size": 200192,
    "ffn_dim": 6144, "gated": True, "qk_norm": True, "gate_width": 2048, "sandwich_norm": True, "sliding_window": 1024,
    "sliding_layers": 24, "experts": 64, "active_experts_per_token": 6, "expert_ffn_dim": 1408, "shared_ffn_dim": 2816,
    "moe_layers": 31, "router_bias": True,
}  # fmt: skip
DENSE = {
    "experts": 1, "active_experts_per_token": 1, "expert_ffn_dim": 0, "shared_ffn_dim": 0, "moe_layers": 0,
    "router_bias": False,
}  # fmt: skip
FACTS = {
    "falcon": (
        {**DENSE, **FALCON},
        {"parameters": 6_921_720_704, "flops": 6_938_036_862_976, 61: 499_712, 4096: 33_554_432,
         131_072: 1_073_741_824},
    ),
    "cohere2": (
        {**DENSE, **COHERE_2},
        {"parameters": 34_980_831_232, "flops": 34_020_335_288_320, 61: 79_953_920, 4096: 5_368_709_120,
         131_072: 46_976_204_800},
    ),
    "afmoe": (
        AFMOE,
        {"parameters": 19_232_600_000, "flops": 2_996_425_457_664, 61: 15_990_784, 4096: 469_762_048,
         131_072: 8_791_261_184},
    ),
}  # fmt: skip
#: What a device without limits and one training step are.
DEVICE = {"memory_capacity": "1e6 GB", "memory_bandwidth": "3000 GB/s", "peak_flops": "1000 TFLOP/s"}
SERVE = {
    **DEVICE,
    "qps": 1e-3,
    "target_p99_latency_ms": 1e9,
    "precision": "bf16",
    "kv_page_size": 1,
    "output_tokens": 1,
}
TRAIN = {
    **DEVICE, "attention_peak_flops": "1000 TFLOP/s", "node_bandwidth": "450 GB/s", "fabric_bandwidth": "50 GB/s",
    "fabric_latency": "5 us", "fleet_size": 1, "batch_size": 1, "moe_layer_interval": 1,
}  # fmt: skip


def known_to(model, given):
    return {name: value for name, value in given.items() if name in model.arguments}


@pytest.mark.parametrize("name", FACTS)
def test_parameters_equal_the_tensors_of_transformers(name):
    given, facts = FACTS[name]
    assert COUNT.solve(**known_to(COUNT, given)).parameters == facts["parameters"]


@pytest.mark.parametrize("name", FACTS)
@pytest.mark.parametrize("tokens", [61, 4096, 131_072])
def test_caches_equal_the_tensors_of_transformers(name, tokens):
    given, facts = FACTS[name]
    found = CACHE.solve(**known_to(CACHE, given), **SERVE, parameters=facts["parameters"], seq_len=tokens - 1)
    assert found.canonical("kv_bytes_per_request") == facts[tokens]


@pytest.mark.parametrize("name", FACTS)
def test_arithmetic_is_that_of_the_operators_of_transformers(name):
    """All scores of 512 tokens and the logits of the last one; vectors that count as products are 3e-6 of one."""
    given, facts = FACTS[name]
    found = STEP.solve(**known_to(STEP, given), **TRAIN, seq_len=512, attention_mask="full")
    products, scores, logits = (found.canonical(f"{each}_flops") for each in ("product", "score", "logit"))
    assert 512 * (products + scores) + logits == pytest.approx(facts["flops"], rel=4e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gate_width": 100}, "gate_width=100: must be a multiple of heads=71; nearest: 71"),
        ({"gate_width": 71, "kv_lora_rank": 8, "v_head_dim": 64}, "gate_width=71: must be 0 with latent attention"),
        ({"kv_lora_rank": 8}, "v_head_dim=0: must be above 0 with latent attention"),
        ({"block_norms": 3}, "block_norms=3: must be"),
        ({"v_head_dim": -1}, "v_head_dim=-1: must be"),
    ],
)
def test_widths_that_are_none_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        COUNT.solve(**{**known_to(COUNT, FACTS["falcon"][0]), **given})


@pytest.mark.parametrize("tokens", [61, 4096, 131_072])
def test_the_cache_of_llama_4_is_that_of_transformers(tokens):
    """Chunks keep no more than one of them: 3.4 times less at the longest."""
    found = CACHE.solve("Llama4_Scout", **SERVE, seq_len=tokens - 1)
    held = {61: 11_993_088, 4096: 805_306_368, 131_072: 7_650_410_496}[tokens]
    assert found.canonical("kv_bytes_per_request") == held


@pytest.mark.parametrize("tokens", [1, 100, 512, 700, 1024, 1500])
def test_scores_of_chunks_are_the_pairs_they_leave(tokens):
    """Counted one by one, less the half of the diagonal that a triangle cuts."""
    chunk = {"sliding_window": 512, "sliding_layers": 32, "chunked_attention": True}
    device = {name: value for name, value in TRAIN.items() if name != "moe_layer_interval"}
    found = STEP.solve("Llama3_8B", **device, **chunk, seq_len=tokens)
    pairs = sum(place % 512 + 1 / 2 for place in range(tokens))
    assert found.canonical("score_flops") == pytest.approx(4 * 32 * 4096 * pairs / tokens, rel=1e-14)


@pytest.mark.parametrize(("context", "read"), [(300, 300), (512, 512), (5000, 513 / 2)])
def test_a_decode_step_reads_its_own_chunk(context, read):
    """Wherever in its chunk the next token stands, on average."""
    chunk = {"sliding_window": 512, "sliding_layers": 16, "chunked_attention": True}
    found = CACHE.solve("Llama3_8B", **SERVE | {"output_tokens": 2}, **chunk, seq_len=context - 1)
    assert found.canonical("kv_bytes_read") == 131_072 * (context + read) / 2


def test_training_of_llama_4_counts_its_chunks():
    device = {name: value for name, value in TRAIN.items() if name != "moe_layer_interval"}
    found = STEP.solve("Llama4_Scout", **device, seq_len=131_072)
    assert found.canonical("model_flops") == pytest.approx(20.21e15, rel=2e-4)


def test_values_as_wide_as_keys_are_the_default():
    shape = known_to(COUNT, FACTS["falcon"][0])
    for name in ("parameters", "attention_parameters"):
        assert COUNT.solve(**shape)[name] == COUNT.solve(**shape, v_head_dim=64)[name]


def test_shapes_of_attention_are_known_to_one_module_of_formulas():
    """A further kind of mixer touches its symbols and its formulas, and no other topic."""
    own = {"a", "a_kv", "d_h", "d_nope", "d_rope", "d_v", "r_q", "r_kv", "qk_norm", "sinks", "qkv_bias", "o_bias",
           "window", "L_w", "sandwich", "n_G"}  # fmt: skip
    assert own <= vars(mixers).keys()
    for path in Path(formulas.__file__).parent.glob("*.py"):
        nodes = [each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.ImportFrom)]
        taken = {each.name for node in nodes if node.module == mixers.__name__ for each in node.names}
        assert path.stem == "mixers" or taken.isdisjoint(own), path
