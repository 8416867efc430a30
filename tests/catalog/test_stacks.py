"""Encoders, encoder-decoders and models with a tower: all stacks that transformers builds of a file are counted."""

import json

import pytest

from mlsysim import ParameterCountModel, ServingCapacityModel, TransformerWorkload
from mlsysim.catalog import builtin
from mlsysim.catalog.huggingface import class_defaults, tables

#: Parameters of types as their classes are, counted by transformers 5.23 on the meta device: encoders with the head
#: that predicts masked words, encoder-decoders with what they add to logits.
TYPES = {
    "bert": 109_514_298,
    "roberta": 124_696_665,
    "xlm-roberta": 109_514_298,
    "camembert": 109_514_298,
    "distilbert": 66_985_530,
    "modernbert": 149_655_232,
    "gte": 306_210_496,
    "jina_embeddings_v3": 559_616_146,
    "nomic_bert": 137_354_304,
    "bert-generation": 354_452_662,
    "deberta": 124_685_913,
    "t5": 60_506_624,
    "mt5": 172_119_424,
    "umt5": 172_122_112,
    "bart": 406_341_721,
    "mbart": 406_345_817,
    "pegasus": 406_337_625,
    "marian": 414_365_429,
    "whisper": 37_760_640,
    "blenderbot": 2_696_276_808,
    "plbart": 139_270_741,
    "mvp": 406_343_771,
}
QWEN3_VL = {
    "deepstack_visual_indexes": [8, 16, 24], "depth": 27, "hidden_size": 1152, "in_channels": 3,
    "intermediate_size": 4304, "model_type": "qwen3_vl", "num_heads": 16, "num_position_embeddings": 2304,
    "out_hidden_size": 4096, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2,
}  # fmt: skip
SIGLIP = {
    "model_type": "siglip_vision_model", "hidden_size": 1152, "image_size": 896, "intermediate_size": 4304,
    "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14, "vision_use_head": False,
}  # fmt: skip
MOONVIT = {
    "init_pos_emb_height": 64, "init_pos_emb_time": 4, "init_pos_emb_width": 64, "merge_kernel_size": [2, 2],
    "merge_type": "sd2_tpool", "mm_hidden_size": 1152, "mm_projector_type": "patchmerger", "patch_size": 14,
    "pos_emb_type": "divided_fixed", "text_hidden_size": 7168, "video_attn_type": "spatial_temporal",
    "vt_hidden_size": 1152, "vt_intermediate_size": 4304, "vt_num_attention_heads": 16, "vt_num_hidden_layers": 27,
}  # fmt: skip
GEMMA4_VISION = {
    "model_type": "gemma4_vision", "hidden_size": 1152, "intermediate_size": 4304, "num_attention_heads": 16,
    "num_hidden_layers": 27, "num_key_value_heads": 16, "head_dim": 72, "patch_size": 16, "pooling_kernel_size": 3,
    "position_embedding_size": 10240, "standardize": True, "use_clipped_linears": False, "attention_bias": False,
}  # fmt: skip
QWEN = {"num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 151936, "tie_word_embeddings": False}
LLAMA4 = {
    "image_size": 336, "hidden_size": 1408, "intermediate_size": 5632, "num_attention_heads": 16, "patch_size": 14,
    "num_hidden_layers": 34, "model_type": "llama4_vision_model", "projector_input_dim": 4096,
    "projector_output_dim": 4096, "vision_output_dim": 4096, "pixel_shuffle_ratio": 0.5,
}  # fmt: skip
PIXTRAL = {
    "model_type": "pixtral", "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16,
    "num_hidden_layers": 24, "patch_size": 14, "image_size": 1540,
}  # fmt: skip
CLIP = {
    "model_type": "clip_vision_model", "hidden_size": 1024, "image_size": 336, "intermediate_size": 4096,
    "num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14, "projection_dim": 768, "vocab_size": 32000,
}  # fmt: skip
INTERN = {
    "model_type": "internvl_vision", "hidden_size": 1024, "image_size": [448, 448], "patch_size": [14, 14],
    "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 24, "norm_type": "layer_norm",
    "attention_bias": True, "use_mean_pooling": True, "use_absolute_position_embeddings": True,
}  # fmt: skip
#: Fields of a language model and of its tower, parameters of all together, those of the tower and what joins it, and
#: patches of an image where all have so many. Counted in the same way, with the buffers that checkpoints store.
TOWERS = {
    "Qwen3-VL 8B": (
        "qwen3_vl", {"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "head_dim": 128, **QWEN},
        QWEN3_VL, {}, 8_767_123_696, 576_388_336, None,
    ),
    "Gemma 3 4B": (
        "gemma3", {"hidden_size": 2560, "num_hidden_layers": 34, "intermediate_size": 10240}, SIGLIP,
        {"mm_tokens_per_image": 256}, 4_300_079_472, 419_816_304, 4096,
    ),
    "Kimi K2.5": (
        "kimi_k25",
        {"num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 64, "num_key_value_heads": 64,
         "n_routed_experts": 384, "first_k_dense_replace": 1, "vocab_size": 163840, "model_type": "kimi_k2",
         "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_shared_experts": 1, "num_experts_per_tok": 8},
        MOONVIT, {}, 1_026_879_376_368, 471_143_920, None,
    ),
    "LLaVA 1.5 7B": (
        "llava", {"model_type": "llama", "vocab_size": 32064}, CLIP, {"vision_feature_layer": -2}, 7_063_427_072,
        324_487_168, 577,
    ),
    "Mistral Small 3.1 without tied embeddings": (
        "mistral3",
        {"model_type": "mistral", "hidden_size": 5120, "intermediate_size": 32768, "num_attention_heads": 32,
         "num_hidden_layers": 40, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 131072,
         "sliding_window": None},
        PIXTRAL, {"vision_feature_layer": -1, "spatial_merge_size": 2, "multimodal_projector_bias": False},
        24_011_361_280, 438_958_080, None,
    ),
}  # fmt: skip


#: Entries of the catalog: those of a type or file above, and the models' own tables (Whisper 1.55 B, DiT 675 M).
ENTRIES = {
    "BERT_base": 109_514_298,
    "ModernBERT_base": 149_655_232,
    "T5_small": 60_506_624,
    "Whisper_large_v3": 1_543_490_560,
    "Qwen3_VL_8B_Instruct": 8_767_123_696,
    "LLaVA_1_5_7B": 7_063_427_072,
    "DiT_XL_2": 675_129_632,
}


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_of_the_catalog_has_all_of_its_stacks(name, total):
    model = builtin().find("model", name)
    assert count(model).canonical("parameters") == total(model) == ENTRIES[name]


#: FLOPs of a forward pass over 512 tokens, and as many of a source, that transformers' counter finds without masks, and
#: how many of the tokens have logits. BERT's counts the head's product for one of them, ours for all.
FLOPS = {
    "BERT_base": (96_684_825_600, 1, 8e-3),
    "ModernBERT_base": (170_875_944_960, 512, 1e-4),
    "T5_small": (71_605_157_888, 512, 1e-4),
}


@pytest.mark.parametrize("name", FLOPS)
def test_the_arithmetic_of_a_pass_is_that_of_its_modules(name):
    model, (flops, logits, near) = builtin().find("model", name), FLOPS[name]
    asked = {"qps": 1, "target_p99_latency_ms": 1e6, "seq_len": 512, "output_tokens": 1, "attention_mask": "full"}
    # Attention with a window is counted as a full square there.
    asked |= {"source_tokens": 512} if model.cross_layers else {"sliding_layers": 0, "sliding_window": 0}
    found = ServingCapacityModel("prefill_aware").solve(model, "H100", **asked)
    counted = found.canonical("prefill_flops") + (logits - 1) * found.canonical("logit_flops")
    assert counted == pytest.approx(flops, rel=near)


@pytest.fixture
def read(tmp_path):
    """A model out of a file of these fields, which gives all sizes that its class has."""

    def model(**fields):
        file = tmp_path / "config.json"
        sizes = {} if "vision_config" in fields else class_defaults().get(fields["model_type"], {})
        file.write_text(json.dumps({**sizes, **fields}), encoding="utf-8")
        return TransformerWorkload.from_hf(file)

    return model


def count(model):
    return ParameterCountModel().solve(model)


@pytest.mark.parametrize("model_type", TYPES)
def test_all_stacks_of_a_type_are_counted(read, model_type):
    found = count(read(model_type=model_type))
    assert found.canonical("parameters") == found.canonical("active_parameters") == TYPES[model_type]


@pytest.mark.parametrize("name", TOWERS)
def test_a_tower_is_counted_with_what_joins_it(read, name):
    model_type, text, tower, more, parameters, beside, patches = TOWERS[name]
    model = read(model_type=model_type, text_config=text, vision_config=tower, **more)
    found = count(model)
    assert found.canonical("parameters") == parameters
    assert found.canonical("source_parameters") == beside
    assert (model.image_patches and model.image_patches.value) == patches
    assert "Without" not in model.layers.note


@pytest.mark.parametrize(
    ("model_type", "tower", "more", "note"),
    [
        ("llava", {**CLIP, "model_type": "dinov2"}, {}, "model_type='dinov2' is not known"),
        ("llava", {**CLIP, "registers": 4}, {}, "registers may change the shape of a clip_vision_model"),
        ("llava", CLIP, {"multimodal_projector_bias": False}, "only True is"),
        ("internvl", {**INTERN, "use_qk_norm": True}, {}, "use_qk_norm=True is a shape that is not known"),
        ("qwen3_vl", {**QWEN3_VL, "in_channels": 4}, {}, "in_channels=4 is a shape that is not known, only 3 is"),
    ],
)
def test_a_tower_that_cannot_be_counted_is_left_out_with_a_note(read, model_type, tower, more, note):
    model = read(model_type=model_type, text_config={}, vision_config=tower, **more)
    assert model.source_stack is None
    assert model.layers.note.startswith("Without what vision_config describes: the language model alone. ")
    assert note in model.layers.note


@pytest.mark.parametrize("silent", [{}, {"vision_config": None}])
@pytest.mark.parametrize("model_type", ["llava", "qwen3_vl", "gemma3"])
def test_a_file_that_is_silent_about_its_tower_says_so(read, model_type, silent):
    note = "Its file describes no tower, which its type has: the language model alone."
    assert read(model_type=model_type, text_config={}, **silent).layers.note == note


def test_every_stack_has_a_layout_and_every_tower_a_stack():
    assert {each["tower"] for each in tables()["joined"].values()} <= tables()["stacks"].keys()
    assert tables()["joined"].keys() <= tables()["parts"].keys()


def test_whisper_says_how_many_tokens_its_encoder_reads(read):
    model = read(model_type="whisper")
    assert model.source_tokens.value == 1500
    asked = {"qps": 1, "target_p99_latency_ms": 1e6, "seq_len": 3, "output_tokens": 1, "kv_page_size": 1}
    kept = ServingCapacityModel("prefill_aware").solve(model, "H100", **asked).canonical("kv_bytes_per_request")
    assert kept == 4 * 2 * 384 * 2 * (4 + 1500)
