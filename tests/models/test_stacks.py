"""Models with a second stack, against plain Python that goes layer by layer and lists the tensors of each stack."""

import random

import pytest

from mlsysim import (
    DistributedModel,
    IterationModel,
    ParameterCountModel,
    ServingCapacityModel,
    ServingModel,
    TrainingMemoryModel,
    TransformerWorkload,
)
from mlsysim.errors import InputError

DRAWS = range(30)
DEVICE = {"memory_capacity": "1e6 GB", "memory_bandwidth": "3000 GB/s", "peak_flops": "1000 TFLOP/s"}
CACHE = ServingCapacityModel("prefill_aware")


def stack(r, *, text):
    """The shape of a stack, with a window in some of its layers."""
    kv, d = r.choice([1, 2]), r.choice([32, 64])
    shape = {
        "layers": r.randint(2, 9), "hidden_dim": r.choice([128, 256]), "heads": kv * r.choice([1, 2, 4]),
        "kv_heads": kv, "head_dim": d, "ffn_dim": r.choice([256, 320]), "gated": r.random() < 0.5,
        "vocab_size": 1000 if text else 0,
        "tied_embeddings": r.random() < 0.5, "norm_bias": r.random() < 0.5, "qkv_bias": r.random() < 0.5,
        "attention_output_bias": r.random() < 0.5, "learned_positions": r.choice([0, 77]),
        "further_matrices": r.choice([0, 999]), "further_vectors": r.choice([0, 55]),
    }  # fmt: skip
    if not text:
        near = r.randint(0, shape["layers"])
        shape |= {"bidirectional": True, "sliding_layers": near, "sliding_window": 8 if near else 0}
    return shape


def draw(seed):
    """Two stacks, how many layers of the text attend to the other one, and what a request has of it."""
    r = random.Random(seed)
    text, source = stack(r, text=True), stack(r, text=False)
    cross, images = (0, r.choice([1, 3])) if r.random() < 0.5 else (text["layers"], 0)
    asked = {"images": images, "image_patches": 64 if images else 0, "source_tokens": 0 if images else 48}
    return text, source, cross, asked


def attention(x, width):
    """Matrices of an attention whose keys and values come from what is so wide: those of its own tokens, and others."""
    h, a, kv, d = x["hidden_dim"], x["heads"], x["kv_heads"], x["head_dim"]
    return 2 * h * a * d, 2 * width * kv * d


def vectors(x):
    h, a, kv, d = x["hidden_dim"], x["heads"], x["kv_heads"], x["head_dim"]
    return x["qkv_bias"] * (a + 2 * kv) * d + x["attention_output_bias"] * h


def products(x, cross=0):
    """Matrix elements that a token of a stack passes, without its head."""
    h = x["hidden_dim"]
    layer = sum(attention(x, h)) + (2 + x["gated"]) * h * x["ffn_dim"]
    return x["layers"] * layer + cross * attention(x, h)[0] + x["further_matrices"]


def parameters(x, cross=0, width=0):
    h = x["hidden_dim"]
    norm = h * (1 + x["norm_bias"])
    total = products(x, cross) + x["layers"] * (vectors(x) + 2 * norm) + cross * (vectors(x) + norm)
    total += cross * attention(x, width)[1]
    ends = x["vocab_size"] * h * (1 if x["tied_embeddings"] else 2) + x["learned_positions"] * h
    return total + ends + norm + x["further_vectors"]


def reading(x, tokens):
    """Arithmetic of a stack to read a source of so many tokens, pair by pair."""
    pair = 4 * x["heads"] * x["head_dim"]
    near = sum(tokens * x["sliding_window"] for _ in range(x["sliding_layers"]))
    far = sum(tokens * tokens for _ in range(x["layers"] - x["sliding_layers"]))
    biases = x["layers"] * vectors(x)  # a few biases are counted as if they were products
    return 2 * tokens * (products(x) + biases) + pair * (near + far)


def model(text, source, cross):
    inner = TransformerWorkload(name="source", **source)
    other = {"cross_layers": cross, "source_hidden_dim": source["hidden_dim"]} if cross else {}
    return TransformerWorkload(name="text", **text, source_stack=inner, **other)


@pytest.mark.parametrize("seed", DRAWS)
def test_parameters_are_those_of_both_stacks(seed):
    text, source, cross, _ = draw(seed)
    found = ParameterCountModel().solve(model(text, source, cross))
    assert found.canonical("source_parameters") == parameters(source)
    assert found.parameters == parameters(text, cross, source["hidden_dim"]) + parameters(source)


@pytest.mark.parametrize("seed", DRAWS)
def test_requests_read_their_sources_and_keep_what_they_attend_to(seed):
    text, source, cross, asked = draw(seed)
    given = {"qps": 1e-3, "target_p99_latency_ms": 1e9, "kv_page_size": 1, "seq_len": 20, "output_tokens": 5}
    found = CACHE.solve(model(text, source, cross), **DEVICE, **given, **asked, precision="bf16")
    each, number = (asked["image_patches"], asked["images"]) if asked["images"] else (asked["source_tokens"], 1)
    projected = 2 * each * cross * attention(text, source["hidden_dim"])[1]
    assert found.canonical("source_flops") == pytest.approx(number * reading(source, each) + projected, rel=1e-12)
    keys = 2 * text["kv_heads"] * text["head_dim"]
    beside = 2 * cross * keys * each
    assert found.canonical("kv_bytes_per_request") == 2 * text["layers"] * keys * 25 + beside
    assert found.canonical("kv_bytes_read") == pytest.approx(2 * text["layers"] * keys * 22.5 + beside, rel=1e-12)
    pairs = 4 * text["heads"] * text["head_dim"] * cross * each
    plain = CACHE.solve(TransformerWorkload(name="plain", **text), **DEVICE, **given, precision="bf16")
    own = 2 * (cross * (attention(text, 1)[0] + vectors(text) + text["hidden_dim"] * (1 + text["norm_bias"])))
    further = found.canonical("prefill_flops") - plain.canonical("prefill_flops")
    assert further == pytest.approx(20 * (pairs + own) + found.canonical("source_flops"), rel=1e-9)


@pytest.mark.parametrize("seed", DRAWS)
def test_an_iteration_takes_longer_by_what_its_prompts_read(seed):
    text, source, cross, asked = draw(seed)
    both, device = model(text, source, cross), {"attention_peak_flops": "1000 TFLOP/s", "node_bandwidth": "450 GB/s"}
    asked |= {"precision": "bf16", "efficiency": 0.5, "prompts": 2, "seq_len": 30}
    device |= {name: value for name, value in DEVICE.items() if name != "memory_capacity"}
    found = IterationModel().solve(both, **device, **asked)
    each, number = (asked["image_patches"], asked["images"]) if asked["images"] else (asked["source_tokens"], 1)
    projected = 2 * each * cross * attention(text, source["hidden_dim"])[1]
    pairs = 4 * text["heads"] * text["head_dim"] * cross * each * 30
    work = 2 * (number * reading(source, each) + projected + pairs)
    assert found.canonical("source_time") == pytest.approx(work / (1000e12 * 0.5), rel=1e-12)
    alone = IterationModel().solve(both, **device, **{**asked, "images": 0}) if asked["images"] else None
    if alone:
        added = found.canonical("iteration_time") - alone.canonical("iteration_time")
        assert added == pytest.approx(found.canonical("source_time"), rel=1e-6)


@pytest.mark.parametrize("changed", [{}, {"sliding_layers": 12, "sliding_window": 64}])
def test_a_bidirectional_stack_scores_the_whole_square_and_keeps_nothing(changed):
    shape = {
        "layers": 12, "hidden_dim": 768, "heads": 12, "vocab_size": 30522, "ffn_dim": 3072, "gated": False, **changed
    }  # fmt: skip
    asked = {"qps": 1, "target_p99_latency_ms": 1000, "seq_len": 512, "output_tokens": 1, "kv_page_size": 1}
    encoder = TransformerWorkload(name="encoder", bidirectional=True, **shape)
    found = CACHE.solve(encoder, "H100", **asked)
    assert found.canonical("score_flops") == 12 * 4 * 768 * (64 if changed else 512)
    assert found.canonical("kv_bytes_per_request") == 2 * 513  # one number a token, where there is none
    batches = IterationModel().solve(encoder, "H100", prompts=64, seq_len=512)
    assert batches.canonical("iteration_time") > 0


#: DiT-XL/2 by hand: blocks of attention and a plain block with 6 h^2 + 6 h of adaptive norms, which have no weights, a
#: table of 1,001 classes and one of 256 fixed positions; patches of 2 by 2 by 4, a time step, and a last layer.
DIT = 1152


def test_dit_xl_has_the_parameters_that_were_published():
    h = DIT
    ends = (16 * h + h) + (256 * h + h + h * h + h) + (2 * h * h + 2 * h) + (h * 32 + 32)
    further = 28 * 6 * h * h
    dit = TransformerWorkload(
        name="DiT-XL/2", layers=28, hidden_dim=h, heads=16, vocab_size=1001, ffn_dim=4 * h, gated=False, qkv_bias=True,
        attention_output_bias=True, mlp_bias=True, tied_embeddings=True, learned_positions=256, bidirectional=True,
        further_matrices=further, further_vectors=28 * 6 * h + ends - (2 * 28 + 1) * h,
    )  # fmt: skip
    assert ParameterCountModel().solve(dit).parameters == 675_129_632
    asked = {"qps": 1, "target_p99_latency_ms": 1000, "seq_len": 256, "output_tokens": 1}
    found = CACHE.solve(dit, "H100", **asked)
    assert found.canonical("score_flops") == 28 * 4 * h * 256


VLM = model(*draw(next(seed for seed in DRAWS if not draw(seed)[2]))[:3])
T5 = model(*draw(next(seed for seed in DRAWS if draw(seed)[2]))[:3])
SERVED = {"qps": 1, "target_p99_latency_ms": 1e6}


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: CACHE.solve("Llama3_8B", "H100", images=1, **SERVED),
            "images=1: must be 0 for a model without a tower",
        ),
        (lambda: CACHE.solve("Llama3_8B", "H100", images=-1, **SERVED), "images=-1: must be"),
        (lambda: CACHE.solve(VLM, "H100", images=1, **SERVED), "image_patches=0: must be above 0 where"),
        (
            lambda: CACHE.solve(T5, "H100", source_tokens=9, images=1, image_patches=9, **SERVED),
            "images=1: must be 0 where source_tokens=9 are read",
        ),
        (
            lambda: CACHE.solve("Llama3_8B", "H100", source_tokens=9, **SERVED),
            "source_tokens=9: must be 0 where nothing",
        ),
        (lambda: CACHE.solve(T5, "H100", **SERVED), "source_tokens=0: must be above 0 where cross_layers="),
        (lambda: CACHE.solve("Llama3_8B", "H100", bidirectional=True, **SERVED), "output_tokens=128: must be 1 where"),
        (
            lambda: IterationModel().solve(
                "Llama3_8B", "H100", bidirectional=True, decode_requests=1, context_tokens=9
            ),
            "decode_requests=1: must be 0 where",
        ),
        (lambda: IterationModel("saturated").solve("Llama3_8B", "H100", bidirectional=True), "must be False here"),
        (
            lambda: ServingModel().solve("Llama3_8B", "H100", request_rate=1, bidirectional=True),
            "bidirectional=True: must be False here, where tokens are decoded: ServingCapacityModel counts sequences",
        ),
        (
            lambda: IterationModel().solve(VLM, "H100", images=1, image_patches=9, prompts=1, pp_size=2),
            "pp_size=2: must be 1 where an encoder or tower reads",
        ),
        (
            lambda: IterationModel().solve(T5, "H100", source_tokens=9, prompts=1, num_loras=2),
            "num_loras=2: must be 0: adapters of cross_layers=",
        ),
        (
            lambda: DistributedModel().solve(VLM, fleet="SuperPOD_H100", batch_size=2048),
            "whose training is not counted",
        ),
        (lambda: TrainingMemoryModel("per_operator").solve(T5, "H100", batch_size=1), "whose training is not counted"),
        (
            lambda: TrainingMemoryModel("per_operator").solve("Llama3_8B", "H100", batch_size=1, cross_layers=2),
            "cross_layers=2: must be 0: training with cross-attention is not counted",
        ),
        (
            lambda: ParameterCountModel().solve("DeepSeek_V3", cross_layers=2),
            "cross_layers=2: must be 0 with latent attention",
        ),
    ],
)
def test_what_is_not_counted_is_refused_by_its_name(ask, message):
    with pytest.raises(InputError, match=message):
        ask()


@pytest.mark.parametrize("name", ["Encoders.BERT_base", "EncoderDecoders.Whisper_large_v3"])
def test_the_first_order_form_says_that_it_counts_a_decoder_alone(name):
    notes = ServingCapacityModel("first_order").solve(name, "H100", **{**SERVED, "seq_len": 64}).notes
    assert any("counted as a decoder that reads no source, which it is not" in note for note in notes)
