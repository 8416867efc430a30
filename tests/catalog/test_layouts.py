"""Layouts of config.json files: what is counted is what classes build and makers publish, and the rest is refused."""

import json
import re
from pathlib import Path

import pytest

from mlsysim import ParameterCountModel, ServingCapacityModel, TransformerWorkload
from mlsysim.catalog.huggingface import layout, tables
from mlsysim.catalog.patterns import BLOCKS, MIXERS, WORDS
from mlsysim.catalog.quantization import LEFT_WIDE
from mlsysim.errors import CatalogError

SHARED = Path(__file__).parents[2].parent / "shared" / "validation"


@pytest.fixture
def read(tmp_path):
    """A model out of a file of these fields."""

    def model(ignore=(), **fields):
        file = tmp_path / "config.json"
        file.write_text(json.dumps(fields), encoding="utf-8")
        return TransformerWorkload.from_hf(file, ignore=ignore)

    return model


def decoder(model_type, layers, width, heads, kv_heads, ffn, vocabulary, **more):
    return {
        "model_type": model_type, "num_hidden_layers": layers, "hidden_size": width, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "intermediate_size": ffn, "vocab_size": vocabulary, **more,
    }  # fmt: skip


def experts(width, count, picked, **more):
    return {"moe_intermediate_size": width, "num_experts_per_tok": picked, "n_routed_experts": count, **more}


LLAMA = decoder("llama", 16, 2048, 32, 8, 8192, 128256, tie_word_embeddings=True)
LATENT = {"q_lora_rank": None, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
QWEN3_MOE = decoder("qwen3_moe", 48, 2048, 32, 4, 6144, 151936, head_dim=128, moe_intermediate_size=768)
QWEN3 = decoder("qwen3", 48, 2048, 32, 4, 6144, 151936)
TOWER = {"vision_config": {"hidden_size": 1152, "model_type": "unheard_of"}}
T5 = {"d_model": 512, "num_layers": 6, "num_heads": 8, "d_kv": 64, "d_ff": 2048, "vocab_size": 32128}
GEMMA3_4B = {"hidden_size": 2560, "num_hidden_layers": 34, "intermediate_size": 10240, "sliding_window": 1024}
#: Released models: fields of their files, and the parameters of the language model that transformers 5.23 builds of
#: them on the meta device (with the biases of routers), where not otherwise said.
RELEASED = {
    "Llama 3.2 1B": (LLAMA, 1_235_814_400),
    "Cohere 2, as its class takes it": (decoder("cohere2", 40, 8192, 64, None, 22528, 256000), 34_980_831_232),
    "GLM-4.5-Air": (
        decoder("glm4_moe", 46, 4096, 96, 8, 10944, 151552, head_dim=128, attention_bias=True, n_shared_experts=1,
                first_k_dense_replace=1, use_qk_norm=False, num_nextn_predict_layers=1, **experts(1408, 128, 8)),
        106_852_251_264,
    ),
    "GLM-4.5": (
        decoder("glm4_moe", 92, 5120, 96, 8, 12288, 151552, head_dim=128, attention_bias=True, n_shared_experts=1,
                first_k_dense_replace=3, use_qk_norm=True, **experts(1536, 160, 8)),
        352_797_829_024,
    ),
    "GLM-4 9B 0414": (
        decoder("glm4", 40, 4096, 32, 2, 13696, 151552, head_dim=128, attention_bias=True),
        9_400_279_040,
    ),
    "Moonlight 16B-A3B": (
        decoder("deepseek_v3", 27, 2048, 16, 16, 11264, 163840, n_shared_experts=2, first_k_dense_replace=1,
                **experts(1408, 64, 6), **LATENT),
        15_960_110_208,
    ),
    "DeepSeek-V2-Lite": (
        decoder("deepseek_v2", 27, 2048, 16, 16, 10944, 102400, n_shared_experts=2, first_k_dense_replace=1,
                **experts(1408, 64, 6), **LATENT),
        15_706_484_224,
    ),
    "Qwen3-Coder 480B-A35B": (
        decoder("qwen3_moe", 62, 6144, 96, 8, 8192, 151936, head_dim=128, moe_intermediate_size=2560, num_experts=160,
                num_experts_per_tok=8, use_qk_norm=True, shared_expert_intermediate_size=0, qkv_bias=False),
        480_154_875_392,
    ),
    "Gemma 7B": (decoder("gemma", 28, 3072, 16, 16, 24576, 256000, head_dim=256), 8_537_680_896),
    "Gemma 3 4B": ({"model_type": "gemma3", "text_config": GEMMA3_4B, **TOWER}, 3_880_263_168),
    "StarCoder2 15B": (decoder("starcoder2", 40, 6144, 48, 4, 24576, 49152, sliding_window=4096), 15_655_899_136),
    "Mixtral 8x22B": (decoder("mixtral", 56, 6144, 48, 8, 16384, 32768), 140_630_071_296),
    "Phi-3 mini": (decoder("phi3", 32, 3072, 32, 32, 8192, 32064, sliding_window=2047), 3_821_079_552),
    "Qwen2.5-VL 7B": (
        decoder("qwen2_5_vl", 28, 3584, 28, 4, 18944, 152064, use_sliding_window=False, sliding_window=32768, **TOWER),
        7_615_616_512,
    ),
    "LLaVA 1.5 7B": (
        {"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064}, "image_token_index": 32000,
         "projector_hidden_act": "gelu", "vision_feature_layer": -2, **TOWER},
        6_738_939_904,
    ),
    "Falcon 40B": (
        {"model_type": "falcon", "n_layer": 60, "hidden_size": 8192, "n_head": 128, "n_head_kv": 8, "vocab_size": 65024,
         "new_decoder_architecture": True, "bias": False, "alibi": False, "multi_query": True, "parallel_attn": True},
        41_303_293_952,
    ),
    "OPT 6.7B": (
        {"model_type": "opt", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "ffn_dim": 16384,
         "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 4096, "activation_dropout": 0.0,
         "output_past": True},
        6_658_473_984,
    ),
    "MiMo 7B (its card)": (
        decoder("mimo", 36, 4096, 32, 8, 11008, 151680, head_dim=128, attention_bias=True, sliding_window=32768,
                max_window_layers=32, use_sliding_window=False, use_mrope=False, num_nextn_predict_layers=1),
        7_622_619_136,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RELEASED)
def test_the_parameters_of_a_released_model(read, name):
    fields, parameters = RELEASED[name]
    assert ParameterCountModel().solve(read(**fields)).canonical("parameters") == parameters


SEVEN_B = (32, 4096, 32, 8, 14336, 32000)
#: Files that leave fields out, and what the class takes for them.
LEFT_OUT = {
    "a window in every layer": (decoder("mistral", *SEVEN_B), {"sliding_window": 4096, "sliding_layers": 32}),
    "no window, said": (decoder("mistral", *SEVEN_B, sliding_window=None), {"sliding_window": None}),
    "no window but where there is one": (decoder("mixtral", *SEVEN_B), {"sliding_window": None}),
    "the width of a head": (QWEN3, {"head_dim": 128}),
    "the width of a head, said to be none": ({**QWEN3, "head_dim": None}, {"head_dim": None}),
    "heads of keys and values": ({**QWEN3_MOE, "num_key_value_heads": "drop"}, {"kv_heads": 4}),
    "ranks, dense layers and shared experts": (
        decoder("deepseek_v3", 61, 7168, 128, 128, 18432, 129280),
        {"q_lora_rank": 1536, "moe_layers": 58, "shared_ffn_dim": 2048, "experts": 256},
    ),
    "no shared experts, said": (
        decoder("deepseek_v3", 61, 7168, 128, 128, 18432, 129280, n_shared_experts=None, first_k_dense_replace=0),
        {"shared_ffn_dim": 0, "moe_layers": 61},
    ),
    "heads and vocabulary of a part": (
        {"model_type": "gemma3", "text_config": GEMMA3_4B, **TOWER},
        {"heads": 8, "kv_heads": 4, "head_dim": 256, "vocab_size": 262208, "sliding_layers": 29},
    ),
    "ties": (decoder("gemma", 28, 3072, 16, 16, 24576, 256000), {"tied_embeddings": 1}),
}  # fmt: skip


@pytest.mark.parametrize("case", LEFT_OUT)
def test_what_a_file_leaves_out_is_that_of_the_class(read, case):
    fields, found = LEFT_OUT[case]
    model = read(**{name: value for name, value in fields.items() if value != "drop"})
    given = {name: getattr(model, name) for name in found}
    assert {name: value if value is None else value.value for name, value in given.items()} == found


def test_sizes_of_a_file_of_one_model_are_never_those_of_the_class(read):
    with pytest.raises(CatalogError, match="missing num_hidden_layers, vocab_size"):
        read(model_type="mistral", hidden_size=4096, num_attention_heads=32, intermediate_size=14336)


class TestWindows:
    def test_of_experts_are_switched_on_for_all_layers(self, read):
        """The class of Qwen3-MoE gives its window to every layer, other than that of Qwen3."""
        model = read(**QWEN3_MOE, num_experts=128, use_sliding_window=True, sliding_window=4096, max_window_layers=28)
        assert (model.sliding_layers.value, model.sliding_window.value) == (48, 4096)
        fields = {**QWEN3, "use_sliding_window": True, "max_window_layers": 28}
        assert read(**fields, sliding_window=4096).sliding_layers.value == 20

    def test_of_a_type_whose_layers_have_none_do_no_harm(self, read):
        assert read(**LLAMA, sliding_window=4096, layer_types=["full_attention"] * 16).sliding_window is None

    def test_letters_repeat(self, read):
        fields = decoder("exaone4", 8, 4096, 32, 8, 16384, 102400, sliding_window=4096)
        assert read(**fields, sliding_window_pattern="LLLG").sliding_layers.value == 6
        assert read(**fields, sliding_window_pattern=2).sliding_layers.value == 4

    def test_the_older_name_of_gemma_2(self, read):
        fields = decoder("gemma2", 26, 2304, 8, 4, 9216, 256000)
        assert read(**fields, sliding_window_size=2048).sliding_window.value == 2048
        with pytest.raises(CatalogError, match="sliding_window=4096 and sliding_window_size=2048 must be the same"):
            read(**fields, sliding_window=4096, sliding_window_size=2048)


REFUSED = {
    "chunks beside windows": (
        decoder("llama4_text", 2, 5120, 40, 8, 8192, 202048, attention_chunk_size=8192, sliding_window=4096,
                num_local_experts=16, num_experts_per_tok=1, intermediate_size_mlp=16384,
                layer_types=["sliding_attention", "chunked_attention"]),
        "layer_types: layers with windows beside layers with chunks, which cannot be counted yet",
    ),
    "an indexer": ({"model_type": "minimax_m3"}, "model_type='minimax_m3': attention to tokens that an"),
    "an indexer in another type": (
        {**LLAMA, "index_topk": 2048},
        "index_topk=2048: attention to tokens that an indexer picks, which cannot be counted yet",
    ),
    "shared caches": (
        {**LLAMA, "num_kv_shared_layers": 8},
        "num_kv_shared_layers=8: layers that share keys and values, which cannot be counted yet",
    ),
    "a second table of embeddings": (
        {**LLAMA, "hidden_size_per_layer_input": 256},
        "hidden_size_per_layer_input=256: a second table of embeddings, which cannot be counted yet",
    ),
    "widths of blocks that differ": (
        {"model_type": "gemma3n_text", "intermediate_size": [8192] * 34 + [4096]},
        "must be a whole number from 0",
    ),
    "three shapes of attention": (
        {"model_type": "gemma4_text", "hidden_size_per_layer_input": 0, "num_hidden_layers": 6, "per_layer_config":
         {"02": {"head_dim": 512}, "05": {"head_dim": 384}}},
        "per_layer_config.*.head_dim: all tables must have the same head_dim",
    ),
    "two shapes of attention in other layers": (
        {"model_type": "gemma4_text", "hidden_size_per_layer_input": 0, "num_hidden_layers": 6, "per_layer_config":
         {"02": {"head_dim": 512}, "05": {"head_dim": 512}}},
        "#per_layer_config=2 is a shape that is not known, only that of 1 * full_layers is",
    ),
    "a state where it has no lines": (
        {**LLAMA, "num_hidden_layers": 2, "layer_types": ["full_attention", "linear_attention"]},
        "layer_types: 1 of 2 layers have a recurrent state in place of a cache",
    ),
    "a state beside a cache where it has no lines": (
        {**LLAMA, "num_hidden_layers": 1, "layer_types": ["hybrid"]},
        "layer_types: 1 of 1 layers have a recurrent state beside a cache",
    ),
    "a letter": (
        decoder("nemotron_h", 2, 2688, 32, 2, 1856, 131072, hybrid_override_pattern="*K"),
        "hybrid_override_pattern: unknown kind of layer 'K'",
    ),
    "experts narrower than the model, of a type that has none": (
        {**QWEN3_MOE, "routed_expert_hidden_size": 1024},
        "routed_expert_hidden_size=1024: experts narrower than the model, which cannot be counted yet",
    ),
    "a shape of layers with windows, without a window": (
        decoder("mimo_v2_flash", 2, 4096, 64, 4, 16384, 152576, hybrid_layer_pattern=[0, 1], moe_layer_freq=[0, 0],
                sliding_window=None),
        "missing sliding_window, of layers whose attention has a shape of its own",
    ),
    "sinks in all layers": (
        decoder("mimo_v2_flash", 2, 4096, 64, 4, 16384, 152576, hybrid_layer_pattern=[0, 1], moe_layer_freq=[0, 0],
                add_full_attention_sink_bias=True),
        "add_full_attention_sink_bias=True is a shape that is not known, only False is",
    ),
    "heads that differ by layer": (
        {**LLAMA, "num_attention_heads_per_layer": [32, 16]},
        "num_attention_heads_per_layer=[32, 16]: attention of several shapes",
    ),
    "a width of heads that the file contradicts": (
        decoder("bamba", 2, 4096, 32, 8, 14336, 128000, mamba_n_heads=128, mamba_d_head=32, mamba_expand=2,
                attn_layer_indices=[1]),
        "mamba_expand=2 is a shape that is not known, only that of state_heads * state_value_dim / hidden_dim is",
    ),
    "a part of a state": (
        {**decoder("granitemoehybrid", 1, 4096, 32, 8, 1024, 32000), "mamba_n_heads": None},
        "missing mamba_n_heads, mamba_d_head",
    ),
    "a pattern word": (
        decoder("ministral", 2, 4096, 32, 8, 14336, 32000, layer_types=["full_attention", "slidng_attention"]),
        "layer_types: unknown kind of layer 'slidng_attention': did you mean sliding_attention",
    ),
    "a pattern word where all layers are alike": (
        {**LLAMA, "num_hidden_layers": 1, "layer_types": ["deepseek_sparse_attention"]},
        "layer_types: 1 of 1 layers have attention to tokens that an indexer picks",
    ),
    "a word of a block": (
        decoder("deepseek_v3", 1, 7168, 128, 128, 18432, 129280, mlp_layer_types=["thin"]),
        "mlp_layer_types: unknown kind of layer 'thin'",
    ),
    "a word of another type": (
        decoder("qwen3_next", 2, 2048, 16, 2, 5120, 151936, layer_types=["conv", "full_attention"]),
        "layer_types: unknown kind of layer 'conv': known: full_attention, attention, global, sliding_attention, "
        "local, linear_attention",
    ),
    "a window of a type without one": (
        {**LLAMA, "layer_types": ["full_attention", "sliding_attention"] * 8},
        "layer_types: unknown kind of layer 'sliding_attention': did you mean full_attention",
    ),
    "a chunk of a type without one": (
        decoder("qwen3", 2, 2048, 16, 2, 5120, 151936, layer_types=["chunked_attention", "full_attention"]),
        "layer_types: unknown kind of layer 'chunked_attention'",
    ),
    "attention beside a mixer, of a type without it": (
        decoder("granitemoehybrid", 2, 2048, 16, 2, 5120, 151936, layer_types=["mamba", "hybrid"]),
        "layer_types: unknown kind of layer 'hybrid': known: full_attention",
    ),
    **{
        f"layers beyond the last, {name}": (
            decoder(model_type, 4, 2048, 16, 2, 5120, 151936, **{name: [1, 4]}, **more),
            f"{name} names 4, and the last layer is 3",
        )
        for model_type, name, more in (
            ("bamba", "attn_layer_indices", {}), ("lfm2", "full_attn_idxs", {}), ("qwen3_moe", "mlp_only_layers", {}),
            ("llama4_text", "moe_layers", {"intermediate_size_mlp": 8192}),
        )
    },
    "layers beyond the last, in a text": (
        decoder("step3p5", 4, 4096, 64, 8, 11264, 128896, moe_layers_enum="2,3,4",
                layer_types=["full_attention"] * 4),
        "moe_layers_enum names 4, and the last layer is 3",
    ),
    "layers beyond the last, from one": (
        {"model_type": "kimi_linear", "num_hidden_layers": 4,
         "linear_attn_config": {"full_attn_layers": [2, 5], "kda_layers": [1, 3, 4]}},
        "full_attn_layers names 5, and the last layer is 4",
    ),
    "layers before the first": (
        {"model_type": "kimi_linear", "num_hidden_layers": 4, "linear_attn_config": {"full_attn_layers": [0, 2]}},
        "full_attn_layers=[0, 2] must be a list of layers, from 1 to 4",
    ),
    "a negative number of heads that latent attention does not use": (
        decoder("deepseek_v3", 2, 2048, 16, -1, 5120, 1000), "num_key_value_heads=-1 must be a whole number from 0",
    ),
    "no heads": (decoder("llama", 2, 2048, 16, 0, 5120, 1000), "num_key_value_heads=0 must be a whole number from 1"),
    "a derived width": (
        decoder("deepseek_v3", 61, 7168, 128, 128, 18432, 129280, qk_head_dim=200),
        "qk_head_dim=200 is a shape that is not known, only that of qk_nope_head_dim + qk_rope_head_dim is",
    ),
    "heads that do not share keys": (
        {name: value for name, value in decoder("qwen2", *SEVEN_B).items() if name != "num_key_value_heads"}
        | {"num_attention_heads": 28, "hidden_size": 3584},
        "28 heads are not a multiple of 32 heads of keys and values, those of the class",
    ),
    "a tower of a type without one": ({**LLAMA, **TOWER}, "vision_config may change the shape of a llama"),
    "cross-attention": (
        {"model_type": "mllama"}, "model_type='mllama': cross-attention that only requests with images pass"
    ),
    "a block of a word that is not known": (
        {"model_type": "t5", "feed_forward_proj": "gated-relu", **T5},
        "feed_forward_proj='gated-relu' is a shape that is not known, only ",
    ),
    "positions that an encoder does not add": (
        decoder("bert", 12, 768, 12, None, 3072, 30522, max_position_embeddings=512,
                position_embedding_type="relative_key"),
        "position_embedding_type='relative_key' is a shape that is not known, only absolute is",
    ),
    "an unknown type": (
        {"model_type": "qwen3_mo"},
        "unknown model_type 'qwen3_mo': did you mean qwen3_moe",
    ),
    "switched on where it is not read": ({**LLAMA, "use_qk_norm": True}, "use_qk_norm may change the shape of a llama"),
    "layers without end": ({**LLAMA, "num_hidden_layers": 2**40}, "layers=1099511627776 must be at most 1,000,000"),
    "positions": (
        {"model_type": "gpt2", "n_layer": 2, "n_embd": 48, "n_head": 4, "vocab_size": 9},
        "missing n_positions",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_counted_is_refused_by_its_name(read, case):
    fields, message = REFUSED[case]
    with pytest.raises(CatalogError) as caught:
        read(**fields)
    assert message in str(caught.value)


HARMLESS = {
    "activation_dropout": 0.1, "output_past": True, "qkv_bias": False, "shared_expert_intermediate_size": 0,
    "rope_interleaved": True, "dual_chunk_attention_config": {"chunk_size": 262144}, "attn_output_gate": False,
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_fields_that_leave_the_shape_alone(read, name):
    assert read(**LLAMA, **{name: HARMLESS[name]}).layers.value == 16


def test_an_ignored_field_is_read_as_if_it_were_not_there(read):
    fields = decoder("llama4_text", 48, 5120, 40, 8, 8192, 202048, attention_chunk_size=8192)
    assert read(ignore=["attention_chunk_size"], **fields).sliding_layers is None
    assert read(ignore="sliding_window", **decoder("mistral", 32, 4096, 32, 8, 14336, 32000)).sliding_layers is None


class TestParts:
    def test_a_tower_is_left_out_with_a_note(self, read):
        model = read(**RELEASED["Gemma 3 4B"][0])
        assert model.layers.note == (
            "Without what vision_config describes: the language model alone. vision_config: model_type='unheard_of' is "
            "not known."
        )
        assert any("vision_config" in note for note in ParameterCountModel().solve(model).notes)

    def test_the_tie_of_the_whole_wins(self, read):
        fields = {"model_type": "gemma3", "text_config": {**GEMMA3_4B, "tie_word_embeddings": True}, **TOWER}
        assert not read(**fields, tie_word_embeddings=False).tied_embeddings.value

    def test_the_part_says_its_type(self, read):
        text = {**LLAMA, "model_type": "qwen2"}
        assert read(model_type="llava", text_config=text, **TOWER).qkv_bias.value
        with pytest.raises(CatalogError, match="model_type='mllama': cross-attention"):
            read(model_type="llava", text_config={**text, "model_type": "mllama"}, **TOWER)

    def test_sound_is_a_tower_of_some_types_alone(self, read):
        sound = {"audio_config": {"d_model": 1280}}
        assert (
            "audio_config"
            in read(model_type="qwen2_audio", text_config={**LLAMA, "model_type": "qwen2"}, **sound).layers.note
        )
        with pytest.raises(CatalogError, match="audio_config may change the shape of a llava"):
            read(model_type="llava", text_config=LLAMA, **sound)


FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128], "fmt": "e4m3"}
GROUPS = {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": True}
STORED = {
    "blocks of DeepSeek": (FP8, "fp8_block", ""),
    "fp8 with one scale": ({"quant_method": "fp8"}, "fp8", ""),
    "GPTQ": ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "int4_g128", ""),
    "QLoRA": ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4", ""),
    "mxfp4 of experts": (
        {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]},
        "mxfp4",
        "attention and dense blocks at 16 bit",
    ),
    "NVFP4": (
        {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", "model.layers.15.self_attn*"]},
        "nvfp4",
        "attention of some layers at 16 bit",
    ),
    **{
        f"{name} of what stays wide": ({"quant_method": "FP8", name: ["self_attn"]}, "fp8", "attention at 16 bit")
        for name in LEFT_WIDE
    },
    "blocks of other sides": ({**FP8, "weight_block_size": [1, 32]}, "", ""),
    "groups of 32": (
        {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": GROUPS}},
         "ignore": ["lm_head", "re:.*self_attn.*"]},
        "int4_g128",
        "0.5625 B in the file, 1.08 times as much; attention at 16 bit",
    ),
}  # fmt: skip


#: Tables that no class of transformers writes, and the field that is at fault.
MALFORMED = {
    "bits below": ({"quant_method": "gptq", "bits": -4}, "bits=-4"),
    "bits above": ({"quant_method": "awq", "bits": 16}, "bits=16"),
    "groups of none": ({"quant_method": "gptq", "bits": 4, "group_size": 0}, "group_size=0"),
    "one side of a block": ({**FP8, "weight_block_size": "128"}, "'128'"),
    "neither flag": ({"quant_method": "bitsandbytes"}, "load_in_4bit"),
    "a flag as text": ({"quant_method": "bitsandbytes", "load_in_4bit": "false"}, "load_in_4bit"),
    "names as text": ({**FP8, "modules_to_not_convert": "lm_head"}, "modules_to_not_convert='lm_head'"),
    "no expression": ({**FP8, "ignore": ["re:("]}, "'('"),
    "a repeat in a repeat": ({**FP8, "ignore": ["re:(a|a?)+$"]}, "repeats too much"),
    "many repeats": ({**FP8, "ignore": ["re:.*.*.*.*.*z"]}, "repeats too much"),
}


class TestFormats:
    @pytest.mark.parametrize("case", STORED)
    def test_the_format_of_the_weights(self, read, case):
        table, name, note = STORED[case]
        found = read(**LLAMA, quantization_config=table).weight_format
        assert ((found.value, found.note) if found else ("", "")) == (name, note)

    @pytest.mark.parametrize("case", MALFORMED)
    def test_a_malformed_table_is_refused_by_its_field(self, read, case):
        table, said = MALFORMED[case]
        with pytest.raises(CatalogError, match=re.escape(said)):
            read(**LLAMA, quantization_config=table)

    def test_the_format_of_the_cache(self, read):
        scheme = {"num_bits": 8, "type": "float", "dynamic": False}
        model = read(**LLAMA, quantization_config={**FP8, "kv_cache_scheme": scheme})
        assert model.kv_cache_format.value == "fp8"
        with pytest.raises(CatalogError, match=r"kv_cache_scheme=.* is not known, only fp32, bf16"):
            read(**LLAMA, quantization_config={**FP8, "kv_cache_scheme": {"num_bits": 3}})

    def test_several_formats_are_named(self, read):
        layered = {"a": {"quant_algo": "FP8"}, "b": {"quant_algo": "NVFP4"}}
        model = read(**LLAMA, quantization_config={"quant_method": "modelopt", "quantized_layers": layered})
        assert model.weight_format is None
        assert model.layers.note.startswith("2 names in its quantization_config are of no part that is known: 'a', 'b'")
        assert model.mixer_bytes.value == model.dense_bytes.value == 2

    def test_a_method_that_is_not_known_is_named(self, read):
        model = read(**LLAMA, quantization_config={"quant_method": "hqq"})
        assert model.mixer_bytes is None
        assert model.layers.note == (
            "Its file stores weights as hqq, which precision does not name: they are counted as weight_dtype says."
        )

    def test_one_that_is_no_table(self, read):
        with pytest.raises(CatalogError, match="quantization_config='fp8' must be an object"):
            read(**LLAMA, quantization_config="fp8")
        assert read(ignore="quantization_config", **LLAMA, quantization_config="fp8").weight_format is None

    @pytest.mark.parametrize(
        "token", [None, True, 3, 2.5, "x", [], [1], {"a": 1}, {"a": {"weights": {"num_bits": "x"}}}]
    )
    def test_a_table_with_any_one_field_changed_is_read_or_refused(self, read, token):
        scheme = {"num_bits": 8, "type": "float"}
        table = {**STORED["groups of 32"][0], "kv_cache_scheme": scheme, **FP8, "quant_algo": None, "bits": 4}
        for method in ("fp8", "gptq", "bitsandbytes", "compressed-tensors", "modelopt"):
            for name in (*table, "quantized_layers"):
                found = attempt(read, **LLAMA, quantization_config={**table, "quant_method": method, name: token})
                assert isinstance(found, str | TransformerWorkload)

    @pytest.mark.parametrize(("precision", "told"), [(None, True), ("bf16", True), ("fp8_deepseek", False)])
    def test_a_note_says_how_far_off_a_precision_is(self, read, precision, told):
        model = read(**LLAMA, quantization_config=FP8)
        given = {} if precision is None else {"precision": precision}
        found = ServingCapacityModel().solve(model, "H100", qps=1, target_p99_latency_ms=10_000, **given)
        said = [note for note in found.notes if "stores weights as fp8_block" in note]
        assert len(said) == told
        assert not told or "here each is 2 B, 2 times as much" in said[0]


class Fields:
    """Fields of a file, as patterns ask for them."""

    words, refused = WORDS, {}

    def __init__(self, **content):
        self.get = content.get

    def whole(self, name, otherwise):
        return otherwise if self.get(name) is None else self.get(name)

    every = whole

    def yes(self, name, *, default):
        return default if self.get(name) is None else self.get(name)


PATTERNS = {
    "layer_types": ({"layer_types": ["full_attention", "sliding_attention", "linear_attention", "conv"]}, "fwrr"),
    "attention_layers": ({"attention_layers": ["global", "local", "global", "local"]}, "fwfw"),
    "attention_types": ({"attention_types": [[["global", "local"], 2]]}, "fwfw"),
    "hybrid_override_pattern": ({"hybrid_override_pattern": "M*-E"}, "rfnn"),
    "layers_block_type": ({"layers_block_type": ["mamba", "attention", "mlp", "moe"]}, "rfnn"),
    "hybrid_layer_pattern": ({"hybrid_layer_pattern": [0, 1, 1, 0]}, "fwwf"),
    "full_attention_interval": ({"full_attention_interval": 2}, "rfrf"),
    "attn_layer_period": ({"attn_layer_period": 4, "attn_layer_offset": 1}, "rfrr"),
    "attn_layer_indices": ({"attn_layer_indices": [2]}, "rrfr"),
    "attn_type_list": ({"attn_type_list": [0, 1, 0, 1]}, "rfrf"),
    "compress_ratios": ({"compress_ratios": [0, 4, 128, 4, 0]}, "wpep"),
    "full_attn_idxs": ({"full_attn_idxs": [1, 2]}, "rffr"),
    "block_types": ({"block_types": ["recurrent", "recurrent", "attention"]}, "rrwr"),
    "linear_attn_config": ({"linear_attn_config": {"full_attn_layers": [4], "kda_layers": [1, 2, 3]}}, "rrrf"),
    "no_rope_layers": ({"no_rope_layers": [1, 1, 0, 1], "attention_chunk_size": 8192}, "ccfc"),
    "sliding_window_pattern": ({"sliding_window_pattern": 3}, "wwfw"),
    "global_layers": ({"global_attn_every_n_layers": 3}, "fwwf"),
    "max_window_layers": ({"use_sliding_window": True, "max_window_layers": 1}, "fwww"),
    "use_sliding_window": ({"use_sliding_window": True}, "wwww"),
    "alternating": ({}, "wfwf"),
    "every_layer": ({}, "wwww"),
    "all_recurrent": ({}, "rrrr"),
    "all_parallel": ({}, "bbbb"),
}  # fmt: skip
SPARSE = {
    "mlp_layer_types": ({"mlp_layer_types": ["dense", "sparse", "sparse", "dense"]}, "0110"),
    "first_k_dense_replace": ({"first_k_dense_replace": 1, "moe_layer_freq": 2}, "0010"),
    "decoder_sparse_step": ({"decoder_sparse_step": 1, "mlp_only_layers": [3]}, "1110"),
    "interleave_moe_layer_step": ({"interleave_moe_layer_step": 2}, "0101"),
    "moe_layers_enum": ({"moe_layers_enum": "1,3"}, "0101"),
    "moe_layer_interval": ({"moe_layer_interval": 1, "moe_layer_start_index": 1, "moe_layer_end_index": 2}, "0110"),
    "num_dense_layers": ({"num_dense_layers": 1}, "0111"),
    "expert_layer_period": ({"expert_layer_period": 2, "expert_layer_offset": 1, "num_experts": 16}, "0101"),
    "hybrid_experts": ({"hybrid_override_pattern": "ME*E"}, "0101"),
    "enable_moe_block": ({"enable_moe_block": True}, "1111"),
    "num_local_experts": ({"num_local_experts": 0}, "0000"),
    "indexer_types": ({"index_topk_pattern": "FSSF"}, "1001"),
    "index_topk_freq": ({"index_topk_freq": 2, "index_skip_topk_offset": 2}, "1101"),
    "all_layers": ({}, "1111"),
}


@pytest.mark.parametrize("name", MIXERS)
def test_a_pattern_of_mixers(name):
    fields, kinds = PATTERNS[name]
    assert "".join(kind[0] for kind in MIXERS[name](Fields(**fields), 4, 0)) == kinds


@pytest.mark.parametrize("name", BLOCKS)
def test_a_pattern_of_blocks(name):
    fields, sparse = SPARSE[name]
    assert "".join(str(int(each)) for each in BLOCKS[name](Fields(**fields), 4, 0)[0]) == sparse


def test_a_list_of_experts_by_layer():
    fields = Fields(moe_layer_freq=[0, 1, 1, 1])
    assert BLOCKS["first_k_dense_replace"](fields, 4, 0)[0] == [False, True, True, True]
    with pytest.raises(CatalogError, match="moe_layers_enum='a' must be numbers of layers"):
        BLOCKS["moe_layers_enum"](Fields(moe_layers_enum="a"), 4, 0)


def test_every_line_names_patterns_and_fields_that_there_are():
    for name in tables()["types"]:
        lines = layout(name)
        assert {each.partition(":")[0] for each in lines["mixers"]} <= {*MIXERS}
        assert {each.partition(":")[0] for each in lines["blocks"]} <= {*BLOCKS}
    refused = " ".join(tables()["refused"].values()).split()
    assert len({*refused, *tables()["types"], *tables()["parts"]}) == len(refused) + len(tables()["types"]) + len(
        tables()["parts"]
    )


@pytest.mark.long
def test_the_class_defaults_are_those_of_transformers():
    pytest.importorskip("transformers")
    import class_defaults as script

    assert script.FILE.read_text(encoding="utf-8") == script.text()


#: What a class needs to be built, or to have a shape that we can count.
BUILT = {
    "deepseek_v2": {"num_experts_per_tok": 6},
    "dots1": {"head_dim": 128, "n_routed_experts": 16, "num_experts_per_tok": 4, "n_shared_experts": 2},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128, "num_experts": 8, "moe_topk": 2},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 16},
    "llama4_text": {"attention_chunk_size": None},
    "ministral": {"head_dim": 128},
    "nemotron": {"head_dim": 128, "num_key_value_heads": 8},
}
#: Types that transformers has as parts of others alone.
BASES = (
    "glm4v_moe_text", "glm4v_text", "mistral4", "qwen2_5_vl_text", "qwen2_vl_text", "qwen3_vl_moe_text",
    "qwen3_vl_text",
)  # fmt: skip
#: Types that transformers does not have, or does not build alone.
NOT_BUILT = (
    "dbrx",
    "deepseek_ref",
    "mimo",
    "paddleocr_vl_text",
    "emu3_text_model",
    "glm_ocr_text",
    "hunyuan_vl_text",
    "phi4_multimodal_text",
    "qwen2_5_omni_text",
    "qwen3_omni_moe_text",
    "RefinedWebModel",
    "step3p5",
)
#: Ends of the names of buffers that checkpoints store.
BUFFERS = (
    "final_logits_bias",
    "std_bias",
    "std_scale",
    "e_score_correction_bias",
    "expert_bias",
    "layer_scalar",
    "act_fn.beta",
    "act_fn.eps",
)


def built(model_type, fields):
    """All fields of the file of a class with these ones, and the tensors of its model; None where it does not build."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    auto = transformers.AutoModel if model_type in BASES else transformers.AutoModelForCausalLM
    if "stack" in layout(model_type):
        auto = transformers.AutoModelForSpeechSeq2Seq if model_type == "whisper" else transformers.AutoModelForSeq2SeqLM
    elif "bidirectional" in layout(model_type) and model_type != "bert-generation":
        auto = transformers.AutoModelForMaskedLM
    try:
        made = CONFIG_MAPPING["deepseek_v3" if model_type == "kimi_k2" else model_type](**fields)
        with torch.device("meta"):
            model = auto.from_config(made)
    except Exception:
        return None
    given = {**json.loads(made.to_json_string(use_diff=False)), "model_type": model_type}
    count = sum(each.numel() for each in model.parameters())
    count += sum(each.numel() for name, each in model.named_buffers() if name.endswith(BUFFERS))
    if model_type in BASES and not given.get("tie_word_embeddings", False):
        count += made.vocab_size * made.hidden_size
    return given, count


@pytest.mark.long
@pytest.mark.parametrize("model_type", [name for name in tables()["types"] if name not in NOT_BUILT])
def test_the_default_of_a_class_is_counted_or_refused(read, model_type):
    """Every tensor of the model that a class builds by itself, of files with all of its fields."""
    fields, count = built(model_type, BUILT.get(model_type, {}))
    model = attempt(read, **fields)
    if isinstance(model, str):
        assert model.endswith("cannot be counted yet")
    else:
        assert ParameterCountModel().solve(model).canonical("parameters") == count


#: Thirty types of which one field is changed at a time.
CHANGED = (
    "afmoe", "apertus", "bamba", "bitnet", "cohere", "deepseek_v32", "deepseek_v4", "falcon", "falcon_h1",
    "falcon_mamba", "gemma3n_text", "gemma4_text", "gpt_neox", "glm4_moe", "glm_moe_dsa", "gptj",
    "granitemoehybrid", "jamba", "kimi_linear", "lfm2", "lfm3", "llama", "mamba2", "mimo_v2_flash", "minimax",
    "nemotron_h", "olmo2", "olmo_hybrid", "phi", "qwen2_moe", "qwen3_5_text", "qwen3_next", "recurrent_gemma",
    "stablelm",
)  # fmt: skip
#: Ends of names of fields that are no sizes and no flags of a shape.
UNCHANGED = ("_id", "_size_feed_forward", "_dropout", "_group", "use_cache", "is_encoder_decoder")


@pytest.mark.long
@pytest.mark.parametrize("model_type", CHANGED)
def test_a_class_with_one_field_changed_is_counted_or_refused(read, model_type):
    defaults, _ = built(model_type, {})
    for name, value in defaults.items():
        if type(value) not in (int, bool) or name.endswith(UNCHANGED) or name.startswith(("output_", "return_")):
            continue
        changed = built(model_type, {name: not value if isinstance(value, bool) else 2 * value})
        model = changed and attempt(read, **changed[0])
        # Some classes build more heads of keys than of queries.
        if isinstance(model, TransformerWorkload) and model.value_of("kv_heads", "bf16").value <= model.heads.value:
            assert (name, ParameterCountModel().solve(model).canonical("parameters")) == (name, changed[1])


def attempt(read, **fields):
    """A model, or the words that refuse it."""
    try:
        return read(**fields)
    except CatalogError as error:
        return str(error)


def cache_bytes(model, tokens):
    """Bytes of 16 bit, and states of 32, that a request keeps, written down apart from the formulas."""
    said = {name: model.value_of(name, "bf16") for name in type(model).model_fields}
    given = {name: value.value for name, value in said.items() if value is not None}

    def number(name, otherwise=0):
        return given.get(name) or otherwise

    mixed = number("state_layers")
    attention = number("layers") - mixed - number("mixerless_layers") + number("parallel_layers")
    state = number("state_heads") * number("state_key_dim") * number("state_value_dim")
    states = mixed * (2 * number("conv_channels") * number("conv_kernel") + number("state_element_bytes", 4) * state)
    if number("kv_lora_rank"):
        latent = attention * (number("kv_lora_rank") + number("qk_rope_head_dim"))
        return 2 * (latent + number("index_layers") * number("index_head_dim")) * tokens + states
    if number("bidirectional"):
        return 0
    if number("compressed_layers"):
        width, key = number("head_dim"), number("index_head_dim")
        windows = number("compressed_layers") * width * min(tokens, number("sliding_window"))
        made, waiting = divmod(tokens, number("index_compression"))
        picked = made + 4 * waiting + (2 * number("index_compression") if made else 0)
        made, waiting = divmod(tokens, number("heavy_compression"))
        read = number("heavily_compressed_layers") * width * (made + 2 * waiting)
        return 2 * (windows + number("index_layers") * (width + key) * picked + read)
    shared, near_shared = number("shared_cache_layers"), number("sliding_shared_layers")
    windows, keys = number("sliding_layers"), number("head_dim")
    values = number("v_head_dim", keys)
    near = number("sliding_head_dim", keys)
    beside = number("sliding_v_head_dim", near if number("sliding_head_dim") else values)
    kept = (windows - near_shared) * number("sliding_kv_heads", number("kv_heads")) * (near + beside)
    kept *= min(tokens, number("sliding_window"))
    # Of an encoder-decoder the facts have as many tokens of the source.
    attention += number("cross_layers")
    return 2 * ((attention - windows - shared) * number("kv_heads") * (keys + values) * tokens + kept) + states


def facts(key):
    """Facts of a folder beside this repository, where there is one."""
    file = SHARED / "data" / "model_shapes.json"
    return json.loads(file.read_text(encoding="utf-8"))[key] if file.exists() else []


def compare(model, fact):
    """Hold a model against facts of one; those with a tower count it, and so have more parameters."""
    count = ParameterCountModel().solve(model)
    if "Without what" in model.layers.note and not fact.get("text_only"):
        assert count.canonical("parameters") < fact["parameters"]
    else:
        assert count.canonical("parameters") == fact["parameters"]
        assert count.canonical("active_parameters") == fact["active_parameters"]
    assert {tokens: cache_bytes(model, int(tokens)) for tokens in fact["cache_bytes_at"]} == fact["cache_bytes_at"]


@pytest.mark.long
@pytest.mark.parametrize("file", sorted(SHARED.glob("configs/*.json")), ids=lambda file: file.stem)
def test_every_file_beside_the_repository_is_read_or_refused_by_its_name(file):
    known = {fact["name"].replace("/", "--"): fact for fact in facts("released")}
    model = attempt(TransformerWorkload.from_hf, path=file)
    if isinstance(model, str):
        assert model.endswith("cannot be counted yet")
    elif (fact := known.get(file.stem.removesuffix("_config"))) is not None:
        compare(model, fact)


@pytest.mark.long
@pytest.mark.parametrize("fact", facts("types"), ids=lambda fact: fact["model_type"])
def test_the_facts_of_a_type(read, fact):
    pytest.importorskip("transformers")
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    model_type = fact["model_type"]
    if model_type not in CONFIG_MAPPING:
        return
    made = CONFIG_MAPPING[model_type](**BUILT.get(model_type, {}))
    model = attempt(read, **{**json.loads(made.to_json_string(use_diff=False)), "model_type": model_type})
    if isinstance(model, str):
        said = ("cannot be counted yet", "unknown model_type", "missing", "not a multiple of 28 heads")
        assert any(each in model for each in said)
    elif model_type not in BUILT and {group["stack"] for group in fact["groups"]} != {"decoder"}:
        compare(model, fact)


@pytest.mark.long
@pytest.mark.parametrize("fact", facts("encoder_decoders_whole"), ids=lambda fact: fact["type"])
def test_the_facts_of_an_encoder_with_its_decoder(read, fact):
    fields, _ = built(fact["type"], {})
    assert ParameterCountModel().solve(read(**fields)).canonical("parameters") == fact["parameters"]
