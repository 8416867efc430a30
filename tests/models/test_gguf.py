"""Weights as llama.cpp's files store them: sizes of files, and blocks by kind of tensor."""

import pytest

from mlsysim import IterationModel, Models, ServingCapacityModel
from mlsysim.formats import GGUF, PRESETS, STORED_WEIGHT

#: Bytes of a block of 256 numbers (ggml-common.h).
Q4_K, Q5_K, Q6_K = 144 / 256, 176 / 256, 210 / 256


def served(model, precision):
    found = IterationModel("saturated").solve(model, "A100", precision=precision, tp_size=4)
    return found["served_weights"].m_as("GiB")


@pytest.mark.parametrize(
    ("model", "precision", "size"),
    [("Llama3_8B", "q4_k_m", 4.58), ("Llama3_70B", "q4_k_m", 39.59), ("Llama3_8B", "fp16", 14.96),
     ("Llama3_70B", "fp16", 131.42)],
)  # fmt: skip
def test_files_are_as_large_as_published(model, precision, size):
    """Sizes that a public table of llama.cpp prints with them."""
    assert served(model, precision) == pytest.approx(size, rel=0.004)


def in_more_bits(layer, layers):
    """Layers whose values and second matrices llama-quant.cpp stores in six bits."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2


@pytest.mark.parametrize(("precision", "few"), [("q4_k_m", Q4_K), ("q5_k_m", Q5_K)])
@pytest.mark.parametrize("name", ["Llama3_8B", "Llama3_70B", "Qwen3_32B", "Mistral_7B"])
def test_mixes_by_kind_of_tensor(name, precision, few):
    """The mean of a mix is that of gated blocks and grouped queries, within a hundredth elsewhere."""
    x = getattr(Models.Language, name)
    h, layers, ffn = (int(getattr(x, each).canonical) for each in ("hidden_dim", "layers", "ffn_dim"))
    width = x.head_dim.canonical if x.head_dim else h / x.heads.canonical
    heads, kv = (int(getattr(x, each).canonical * width) for each in ("heads", "kv_heads"))
    total = stored = 0.0
    for layer in range(layers):
        more = Q6_K if in_more_bits(layer, layers) else few
        for size, bytes_each in ((2 * h * heads + h * kv, few), (h * kv, more), (2 * h * ffn, few), (h * ffn, more)):
            total, stored = total + size, stored + size * bytes_each
    assert float(STORED_WEIGHT[precision]) == pytest.approx(stored / total, rel=0.004)


@pytest.mark.parametrize("precision", GGUF)
def test_heads_have_formats_of_their_own(precision):
    found = IterationModel().solve("Llama3_8B", "RTX_4090", precision=precision, decode_requests=1)
    assert found.canonical("embedding_bytes") == found.canonical("weight_bytes") == float(STORED_WEIGHT[precision])
    assert found.canonical("logit_weight_bytes") == float(STORED_WEIGHT["q8_0" if precision == "q8_0" else "q6_k"])
    by_argument = IterationModel().solve(
        "Llama3_8B", "RTX_4090", precision="fp16", weight_dtype=precision, decode_requests=1
    )
    assert by_argument.canonical("iteration_time") == found.canonical("iteration_time")
    assert PRESETS[precision].compute == "fp16"


def test_capacity_counts_them_as_well():
    asked = {"qps": 1, "seq_len": 100, "output_tokens": 100, "target_p99_latency_ms": 1e6}
    found = ServingCapacityModel("prefill_aware").solve("Llama3_8B", "RTX_4090", precision="q4_k_m", **asked)
    assert found["served_weights"].m_as("GiB") == pytest.approx(4.58, rel=0.004)


def test_embeddings_in_sixteen_bits_stay_so():
    """Other checkpoints in four bits keep embedding and head wide."""
    found = IterationModel().solve("Llama3_8B", "RTX_4090", precision="w4a16", decode_requests=1)
    assert found.canonical("embedding_bytes") == found.canonical("logit_weight_bytes") == 2
