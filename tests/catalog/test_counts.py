"""Parameter counts of the built-in models, added up tensor by tensor in plain Python, against what was published."""

import math

import pytest

from mlsysim.catalog import SparseTransformerWorkload, TransformerWorkload, builtin

MODELS = {
    path.rpartition(".")[2]: builtin().entry(path)
    for path in builtin().paths()
    if isinstance(builtin().entry(path), TransformerWorkload)
}
SHAPED = {name: model for name, model in MODELS.items() if model.vocab_size is not None}
PUBLISHED = [name for name, model in SHAPED.items() if model.parameters is not None]
MATRICES_ONLY = {name: model for name, model in MODELS.items() if model.vocab_size is None}


def printed_as(count, published):
    """Whether a count gives the published digits, rounded or cut."""
    decimals = len(f"{published / 1e9:.9f}".rstrip("0").partition(".")[2])
    step = 1e9 / 10**decimals
    return math.isclose(published, step * round(count / step)) or math.isclose(published, step * (count // step))


#: Published numbers that are not the digits of the count, and how far off they are.
OFF = {
    "Llama2_70B": 0.015, "Mistral_7B": 0.009, "DeepSpeedMoE_2_4B_MoE_128": 0.008, "Qwen2_5_32B": 0.009,
    "Kimi_K2": 0.014, "ERNIE_4_5_300B_A47B": 0.002, "GLM_4_5": 0.007, "MiniMax_M2_5": 0.006,
    "Nemotron_3_Ultra_550B_A55B": 0.002, "Qwen3_5_397B_A17B": 0.002, "Step_3_5_Flash": 0.001,
}  # fmt: skip
#: Counted with a part the shape leaves out: Llama 4's vision encoder and projector.
VISION = {"Llama4_Scout": 871_932_416}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_shape_gives_the_published_count(name, total):
    count = total(SHAPED[name]) + VISION.get(name, 0)
    published = SHAPED[name].parameters.value
    if name in OFF:
        assert not printed_as(count, published)
        assert count == pytest.approx(published, rel=OFF[name])
    else:
        assert printed_as(count, published)


def test_a_count_that_is_neither_rounded_nor_cut_is_told_apart():
    assert printed_as(8_030_261_248, 8.03e9)
    assert printed_as(405_853_388_800, 405e9)
    assert not printed_as(68_976_648_192, 70e9)
    assert not printed_as(8_040_261_248, 8.03e9)


COUNTED = {name: model for name, model in MODELS.items() if model.counted_parameters is not None}


def test_counts_of_others_are_kept_for_these():
    assert set(COUNTED) == {
        "Llama3_2_1B", "Llama3_2_3B",
        "Llama3_8B", "Llama3_70B", "Llama3_1_8B", "Llama3_1_70B", "Llama3_1_405B", "Mixtral_8x7B", "Mixtral_8x22B",
        "Qwen3_30B_A3B", "Qwen3_235B_A22B", "DeepSeek_V3", "Llama4_Maverick", "torchtitan_llama4_3bx128e",
        "Llama3_3_70B", "Qwen2_5_14B", "Qwen2_5_32B", "Qwen3_0_6B", "Qwen3_1_7B", "Qwen3_4B", "Qwen3_8B", "Qwen3_14B",
        "Qwen3_32B", "Kimi_K2", "Gemma2_2B", "Gemma2_9B", "Gemma2_27B", "Gemma3_1B", "Gemma3_4B", "Gemma3_12B",
        "Gemma3_27B", "gpt_oss_20B", "gpt_oss_120B",
        "DeepSeek_R1", "DeepSeek_V2", "DeepSeek_V2_Lite", "DeepSeek_V3_1", "ERNIE_4_5_0_3B",
        "ERNIE_4_5_21B_A3B", "ERNIE_4_5_300B_A47B", "Falcon_H1_0_5B", "Falcon_H1_1_5B_Deep", "Falcon_H1_34B",
        "Falcon_H1_7B", "GLM_4_5", "GLM_4_5_Air", "GLM_5", "Granite_4_0_H_Small", "Granite_4_0_H_Tiny",
        "Jamba_1_5_Large", "Jamba_v0_1", "LFM2_8B_A1B", "MiMo_V2_Flash",
        "MiniMax_M2_5", "Ministral_3_14B", "Ministral_3_3B", "Ministral_3_8B",
        "Mistral_Small_3", "Moonlight_16B_A3B", "Nemotron_3_Nano_30B_A3B", "Nemotron_3_Super_120B_A12B",
        "Nemotron_3_Ultra_550B_A55B", "Nemotron_H_56B", "Nemotron_H_8B", "OLMo_2_7B", "OLMo_3_32B",
        "OLMo_3_7B", "Phi_4", "Phi_4_mini", "Qwen3_5_122B_A10B", "Qwen3_5_27B",
        "Qwen3_5_35B_A3B", "Qwen3_5_397B_A17B", "Qwen3_6_27B", "Qwen3_6_35B_A3B", "Qwen3_Coder_30B_A3B",
        "Qwen3_Coder_480B_A35B", "Qwen3_Next_80B_A3B", "Qwen3_VL_235B_A22B", "SmolLM3_3B", "Step_3_5_Flash",
    }  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_the_shape_gives_the_exact_count(name, total):
    model = COUNTED[name]
    assert total(model) == model.counted_parameters.value
    assert model.counted_parameters.kind == "derived"
    assert model.counted().parameters is model.counted_parameters
    assert model.counted().layers is model.layers


SPARSE = {name: model for name, model in SHAPED.items() if isinstance(model, SparseTransformerWorkload)}
#: The embedding table is a lookup, and its publisher leaves it out.
WITHOUT_EMBEDDING = {"DeepSeek_V3", "gpt_oss_20B", "gpt_oss_120B"}


@pytest.mark.parametrize("name", [name for name, model in SPARSE.items() if model.active_parameters is not None])
def test_the_shape_gives_the_published_active_count(name, active):
    model = SPARSE[name]
    table = model.vocab_size.value * model.hidden_dim.value
    count = active(model) - (table if name in WITHOUT_EMBEDDING else 0)
    assert printed_as(count, model.active_parameters.value)


def test_the_exact_active_count(active):
    counted = {name: model for name, model in SPARSE.items() if model.counted_active_parameters is not None}
    assert set(counted) == {"Qwen3_30B_A3B"}
    model = counted["Qwen3_30B_A3B"]
    assert active(model) == model.counted_active_parameters.value
    assert model.counted().active_parameters is model.counted_active_parameters
    assert SPARSE["DeepSeek_V3"].counted().active_parameters is SPARSE["DeepSeek_V3"].active_parameters


@pytest.mark.parametrize("name", MATRICES_ONLY)
def test_the_matrices_of_deepspeed_moe(name):
    """Twelve squares of the width per layer; with experts, the eight of the feed-forward block come 128 times."""
    model = MATRICES_ONLY[name]
    layers, square = model.layers.value, model.hidden_dim.value**2
    count = 12 * layers * square + layers / 2 * 127 * 8 * square
    assert (model.moe_layers.value, model.experts.value) == (layers / 2, 128)
    assert model.active_parameters.value == 12 * layers * square
    if name in OFF:
        assert count == pytest.approx(model.parameters.value, rel=OFF[name])
    else:
        assert printed_as(count, model.parameters.value)


DECODERS = {
    name: model
    for name, model in SHAPED.items()
    if model.bidirectional is None and model.cross_layers is None and model.source_stack is None
}


@pytest.mark.parametrize("model", DECODERS.values(), ids=DECODERS)
class TestEveryShape:
    def test_heads_of_a_usual_width(self, model):
        width = model.value_of("head_dim", "fp16").value
        assert width in ((192, 256) if model.kv_lora_rank else (64, 128, 192, 256, 512))

    def test_key_value_heads_divide_the_heads(self, model):
        assert model.heads.value % (model.kv_heads or model.heads).value == 0

    def test_embeddings_are_tied_where_positions_are_learned(self, model):
        """GPT-2's layout is one package: all of it or none of it."""
        package = [model.norm_bias, model.mlp_bias]
        package += [] if model.attention_sinks else [model.attention_output_bias]
        assert all((flag is not None and flag.value == 1) == (model.learned_positions is not None) for flag in package)
        assert model.gated.value == (model.learned_positions is None and not model.name.startswith("Nemotron"))
        assert model.learned_positions is None or model.tied_embeddings.value == 1

    def test_four_widths_of_feed_forward_work_per_token(self, model):
        """Two matrices of four widths, three of eight thirds or wider with grouped keys, three of two in Falcon-H1."""
        if not isinstance(model, SparseTransformerWorkload):
            matrices = 3 if model.gated.value else 2
            assert 6 <= matrices * model.ffn_dim.value / model.hidden_dim.value <= 24

    def test_a_vocabulary_fits_the_family(self, model):
        assert 32_000 <= model.vocab_size.value <= 262_400
