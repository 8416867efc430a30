"""Weights in the formats of a checkpoint: what they take, what reading them takes, and what replaces them."""

import random

import pytest

from mlsysim import (
    IterationModel,
    MemoryExpansionModel,
    ServingCapacityModel,
    ServingModel,
    SparseTransformerWorkload,
)
from mlsysim.catalog import Choice, builtin
from mlsysim.errors import InputError, MissingInputError
from mlsysim.formats import WEIGHT_PARTS

REPLICA = ServingCapacityModel("prefill_aware")
ASKED = {"hardware": "H200", "qps": 1, "target_p99_latency_ms": 10_000}
ENGINE = {"hardware": "H200", "stack": "TensorRT_LLM_H100", "tp_size": 8}
#: A model whose parts all are there: dense layers, experts, shared experts, a head of its own, latent attention.
MODEL = "DeepSeek_V3"
QUARTER = dict.fromkeys(WEIGHT_PARTS, 0.5)
ASK = {
    "prefill_aware": (REPLICA, ASKED),
    "iteration": (IterationModel("iteration"), {**ENGINE, "decode_requests": 1, "context_tokens": 1000}),
    "saturated": (IterationModel("saturated"), ENGINE),
    **{
        name: (ServingModel(name), {**ENGINE, "request_rate": 0.1})
        for name in ("colocated", "disaggregated", "chunked_estimate")
    },
    "two tiers": (
        MemoryExpansionModel("serving"),
        {"design": "GH200", "stack": "TensorRT_LLM_H100", "tp_size": 8, "request_rate": 0.1},
    ),
}


def gpt_oss(**more):
    """A catalog entry with other bytes."""
    return builtin().find("model", "gpt_oss_20B").changed(**more)


def by_hand(x, stored):
    """Bytes of the weights of a decoder with grouped-query attention, part by part."""
    h, heads = x["hidden_dim"], x["heads"] * x["head_dim"]
    mixers = x["layers"] * (2 * h * heads + 2 * h * x["kv_heads"] * x["head_dim"])
    sizes = {
        "mixer_bytes": mixers,
        "dense_bytes": (x["layers"] - x["moe_layers"]) * 3 * h * x["ffn_dim"],
        "expert_bytes": x["moe_layers"] * x["experts"] * 3 * h * x["expert_ffn_dim"],
        "shared_expert_bytes": x["moe_layers"] * 3 * h * x["shared_ffn_dim"],
        "head_bytes": 0 if x["tied_embeddings"] else x["vocab_size"] * h,
    }
    rest = x["vocab_size"] * h + x["moe_layers"] * x["experts"] * h + (2 * x["layers"] + 1) * h
    return sum(stored.get(name, 2) * size for name, size in sizes.items()) + 2 * rest


@pytest.mark.parametrize("seed", range(12))
def test_each_part_has_its_bytes(seed):
    draw = random.Random(seed)
    layers = draw.randint(2, 40)
    shape = {
        "layers": layers, "hidden_dim": 128 * draw.randint(4, 32), "heads": 8, "kv_heads": draw.choice([1, 2, 8]),
        "head_dim": draw.choice([64, 128]), "vocab_size": draw.randint(1000, 99_999), "ffn_dim": draw.randint(64, 9999),
        "gated": True, "tied_embeddings": draw.random() < 0.5, "experts": draw.choice([8, 64]),
        "active_experts_per_token": 2, "moe_layers": draw.randint(1, layers), "expert_ffn_dim": draw.randint(64, 4000),
        "shared_ffn_dim": draw.choice([0, 512]), "router_bias": False,
    }  # fmt: skip
    model = SparseTransformerWorkload(name="drawn", **shape)
    stored = {name: draw.choice([0.5, 0.53125, 1.0, 2.0]) for name in WEIGHT_PARTS if draw.random() < 0.7}
    found = REPLICA.solve(model, **{**ASKED, "hardware": "B200"}, **stored)
    assert found.canonical("served_weights") == pytest.approx(by_hand(shape, stored), rel=1e-12)


@pytest.mark.parametrize("name", ASK)
def test_every_model_of_serving_counts_them(name):
    model, asked = ASK[name]
    free = {"weight_read_efficiency": 1} if name == "iteration" else {}  # no time to widen them
    wide, narrow = model.solve(MODEL, **asked), model.solve(MODEL, **asked, **QUARTER, **free)
    if "served_weights" in wide:
        assert narrow.canonical("served_weights") / wide.canonical("served_weights") == pytest.approx(0.25, abs=0.01)
    for time in ("dense_product_time", "expert_product_time", "head_time") if name == "iteration" else ():
        # Routers, which every rank holds, keep 16 bit.
        assert 0.25 <= narrow.canonical(time) / wide.canonical(time) < 0.29


@pytest.mark.parametrize("name", ASK)
def test_two_bytes_each_are_what_bf16_is(name):
    model, asked = ASK[name]
    plain = model.solve(MODEL, **asked, precision="bf16")
    typed = model.solve(MODEL, **asked, precision="bf16", **dict.fromkeys(WEIGHT_PARTS, 2.0))
    assert all(plain.canonical(each) == typed.canonical(each) for each in model.headline if each in plain)


@pytest.mark.parametrize(
    ("part", "time"),
    [
        ("mixer_bytes", "dense_product_time"),
        ("dense_bytes", "dense_product_time"),
        ("shared_expert_bytes", "dense_product_time"),
        ("expert_bytes", "expert_product_time"),
        ("head_bytes", "head_time"),
    ],
)
def test_a_part_slows_its_own_products_alone(part, time):
    model, asked = ASK["iteration"]
    plain, narrow = model.solve(MODEL, **asked), model.solve(MODEL, **asked, **{part: 0.5})
    times = ("dense_product_time", "expert_product_time", "head_time", "activation_time")
    assert [name for name in times if narrow.canonical(name) < plain.canonical(name)] == [time]
    assert all(narrow.canonical(name) == plain.canonical(name) for name in times if name != time)


class TestWhatReplacesThem:
    def test_without_a_word_they_are_as_stored(self):
        found = REPLICA.solve("gpt_oss_20B", **ASKED)
        assert found["expert_bytes"].magnitude == 0.53125
        assert not any("stores weights" in note for note in found.notes)

    @pytest.mark.parametrize("given", [{"precision": "bf16"}, {"weight_dtype": "bf16"}, {"precision": "nvfp4"}])
    def test_what_is_given_counts_with_a_note(self, given):
        rate = {"peak_flops": "9 PFLOP/s"}
        found = REPLICA.solve("gpt_oss_20B", **ASKED, **given, **rate)
        plain = REPLICA.solve(gpt_oss(expert_bytes=0), **ASKED, **given, **rate)
        assert found.canonical("expert_bytes") == 0
        assert not any("stores weights" in note for note in plain.notes if "0 B" in note)
        assert found.canonical("served_weights") == plain.canonical("served_weights")
        said = [note for note in found.notes if "stores weights otherwise (" in note]
        assert len(said) == 1
        assert "expert 0.5312 B)" in said[0]

    @pytest.mark.parametrize(
        ("model", "word"), [("gpt_oss_20B", "mxfp4"), ("Kimi_K2_5", "nvfp4"), ("Kimi_K2_6", "nvfp4")]
    )
    @pytest.mark.parametrize("argument", ["precision", "weight_dtype"])
    def test_the_format_of_the_narrowest_leaves_the_others_as_stored(self, model, word, argument):
        """Attention stays at 16 bit, also after another format was asked."""
        asked = {**ASKED, "hardware": "B200"}
        stored = REPLICA.solve(model, **asked)
        REPLICA.solve(model, **asked, **{argument: "bf16"})
        found = REPLICA.solve(model, **asked, **{argument: word})
        assert found["mixer_bytes"].magnitude == 2
        assert found.canonical("served_weights") == pytest.approx(stored.canonical("served_weights"), rel=0.03)
        wide = REPLICA.solve(model, **asked, **{argument: "bf16"})
        assert wide.canonical("served_weights") > 3 * found.canonical("served_weights")

    def test_weights_of_kimi_are_those_of_its_file(self):
        """Routed experts in 4 bits with scales; attention, the shared expert, the dense layer and both ends in 16."""
        found = REPLICA.solve("Kimi_K2_5", **{**ASKED, "hardware": "B200"})
        experts = 60 * 384 * 3 * 7168 * 2048
        attention = 61 * (7168 * 1536 + 1536 * 64 * 192 + 7168 * 576 + 512 * 64 * 256 + 64 * 128 * 7168)
        others = attention + 60 * 3 * 7168 * 2048 + 3 * 7168 * 18432 + 2 * 163840 * 7168 + 60 * 384 * 7168
        assert found.canonical("served_weights") == pytest.approx(0.5625 * experts + 2 * others, rel=1e-4)

    def test_the_format_of_products_does_not(self):
        found = REPLICA.solve("gpt_oss_20B", **ASKED, compute_dtype="fp8")
        assert found["expert_bytes"].magnitude == 0.53125

    def test_an_axis_of_precisions_does(self):
        found = REPLICA.sweep("gpt_oss_20B", **ASKED, precision=["bf16", "w4a16"], outputs="served_weights")
        alone = [REPLICA.solve("gpt_oss_20B", **ASKED, precision=each) for each in ("bf16", "w4a16")]
        assert found["served_weights"].values.tolist() == [each.served_weights.magnitude for each in alone]

    def test_along_an_axis_of_models_each_has_its_own(self):
        models = ["gpt_oss_20B", "Llama3_8B"]
        found = REPLICA.sweep(models, **ASKED, outputs="served_weights")["served_weights"].values.tolist()
        assert found == [REPLICA.solve(each, **ASKED).served_weights.magnitude for each in models]

    def test_the_cache_is_as_the_checkpoint_says(self):
        model = gpt_oss(kv_cache_format=Choice(value="fp8", source="a file", date="", kind="user"))
        said = [
            REPLICA.solve(model, **ASKED, **given).kv_cache_bytes.magnitude
            for given in ({}, {"kv_cache_dtype": "bf16"}, {"precision": "bf16"}, {"weight_dtype": "bf16"})
        ]
        assert said == [1, 2, 2, 1]
        swept = REPLICA.sweep([model, "Llama3_8B"], **ASKED, outputs="kv_cache_bytes")
        assert swept["kv_cache_bytes"].values.tolist() == [1, 2]


@pytest.mark.parametrize("given", [{"kv_cache_dtype": "fp8"}, {"expert_bytes": 0.5}])
def test_a_format_alone_does_not_stand_for_the_shape(given):
    with pytest.raises(MissingInputError, match=r"needs model: give model=\.\.\., or what it gives one by one"):
        REPLICA.solve(**ASKED, **given)


@pytest.mark.parametrize("name", WEIGHT_PARTS)
def test_bytes_below_zero_are_refused(name):
    with pytest.raises(InputError, match=f"{name}=-1"):
        REPLICA.solve(MODEL, **ASKED, **{name: -1})


@pytest.mark.parametrize(("model", "billions"), [("Llama2_7B", 6.738415616), ("Gemma2_9B", 9.241705984)])
def test_a_name_is_no_count_of_weights(model, billions):
    """Llama 2 7B has 13.477 GB at 16 bit, not 14; numbers of three digits stay as they were published."""
    given = {"hardware": "H100", "precision": "bf16"}
    slow = {"qps": 1, "target_p99_latency_ms": 60_000}
    for found in (
        IterationModel("saturated").solve(model, **given),
        ServingModel("colocated").solve(model, isl=512, osl=64, request_rate=0.1, **given),
        ServingCapacityModel("prefill_aware").solve(model, **slow, **given),
    ):
        assert found.canonical("served_weights") == pytest.approx(2e9 * billions, rel=1e-3)
    assert IterationModel("saturated").solve("Llama3_8B", **given).canonical("parameters") == 8.03e9
    own = builtin().find("model", model).changed(parameters=7e9)
    assert IterationModel("saturated").solve(own, **given).canonical("parameters") == 7e9
