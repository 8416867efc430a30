"""Models whose layers have several kinds of mixers and blocks: what their files give is what transformers builds."""

import json

import pytest

from mlsysim import ParameterCountModel, ServingCapacityModel, TransformerWorkload
from mlsysim.catalog.huggingface import class_defaults

#: Types as their classes are without a file: parameters and active parameters (embeddings, head and the experts of one
#: token), and bytes that a request keeps at 1, 61, 4,096 and 131,072 tokens. Counted by transformers 5.23 on the meta
#: device: a cache of 16 bit, states of 32 bit (that of lightning attention 16), all taps of a convolution.
TYPES = {
    "deepseek_v3": (671_026_419_200, 37_552_297_472, 70_272, 4_286_592, 287_834_112, 9_210_691_584),
    "deepseek_v32": (671_877_944_064, 38_403_822_336, 85_888, 5_239_168, 351_797_248, 11_257_511_936),
    "deepseek_v4": (284_325_879_255, 13_793_271_255, 193_536, 6_250_496, 32_808_960, 868_818_944),
    "gemma3n_text": (6_835_235_568, 6_835_235_568, 40_960, 2_498_560, 50_331_648, 1_090_519_040),
    "gemma4_text": (5_077_177_886, 5_077_177_886, 143_360, 8_744_960, 220_200_960, 5_421_137_920),
    "gemma2": (2_614_341_888, 2_614_341_888, 106_496, 6_496_256, 436_207_616, 7_197_425_664),
    "glm4_moe": (103_481_206_400, 10_053_084_800, 61_824, 3_771_264, 253_231_104, 8_103_395_328),
    "glm_moe_dsa": (743_911_218_432, 41_784_728_832, 109_824, 6_699_264, 449_839_104, 14_394_851_328),
    "llama": (6_738_415_616, 6_738_415_616, 524_288, 31_981_568, 2_147_483_648, 68_719_476_736),
    "ministral3": (8_489_553_920, 8_489_553_920, 139_264, 8_495_104, 570_425_344, 18_253_611_008),
    "mistral": (7_241_732_096, 7_241_732_096, 131_072, 7_995_392, 536_870_912, 536_870_912),
    "mixtral": (46_702_792_704, 12_879_925_248, 131_072, 7_995_392, 536_870_912, 17_179_869_184),
    "olmo3": (6_888_624_128, 6_888_624_128, 524_288, 31_981_568, 2_147_483_648, 18_790_481_920),
    "qwen2": (12_049_846_272, 12_049_846_272, 524_288, 31_981_568, 2_147_483_648, 68_719_476_736),
    "qwen3_5_moe_text": (34_660_610_688, 3_454_988_928, 64_901_120, 66_129_920, 148_766_720, 2_749_235_200),
    "qwen3_moe": (15_350_731_776, 1_761_186_816, 24_576, 1_499_136, 100_663_296, 3_221_225_472),
    "qwen3_next": (79_674_391_296, 3_874_929_408, 77_881_344, 79_355_904, 178_520_064, 3_299_082_240),
    "afmoe": (19_232_600_000, 3_678_547_904, 262_144, 15_990_784, 469_762_048, 8_791_261_184),
    "apertus": (6_979_596_416, 6_979_596_416, 524_288, 31_981_568, 2_147_483_648, 68_719_476_736),
    "arcee": (4_022_766_080, 4_022_766_080, 327_680, 19_988_480, 1_342_177_280, 42_949_672_960),
    "bitnet": (2_741_155_840, 2_741_155_840, 76_800, 4_684_800, 314_572_800, 10_066_329_600),
    "cohere2": (34_980_831_232, 34_980_831_232, 1_310_720, 79_953_920, 5_368_709_120, 46_976_204_800),
    "ernie4_5": (360_748_032, 360_748_032, 18_432, 1_124_352, 75_497_472, 2_415_919_104),
    "ernie4_5_moe": (21_825_437_888, 3_352_150_208, 57_344, 3_497_984, 234_881_024, 7_516_192_768),
    "exaone4": (9_429_069_824, 9_429_069_824, 524_288, 31_981_568, 2_147_483_648, 18_790_481_920),
    "exaone_moe": (28_550_641_600, 6_706_706_368, 524_288, 31_981_568, 2_147_483_648, 18_790_481_920),
    "falcon": (6_921_720_704, 6_921_720_704, 8_192, 499_712, 33_554_432, 1_073_741_824),
    "gemma": (8_537_680_896, 8_537_680_896, 458_752, 27_983_872, 1_879_048_192, 60_129_542_144),
    "granitemoe": (37_039_116_288, 11_067_985_920, 524_288, 31_981_568, 2_147_483_648, 68_719_476_736),
    "granitemoeshared": (37_039_116_288, 11_067_985_920, 524_288, 31_981_568, 2_147_483_648, 68_719_476_736),
    "helium": (2_172_643_840, 2_172_643_840, 245_760, 14_991_360, 1_006_632_960, 32_212_254_720),
    "lfm2": (2_705_497_600, 2_705_497_600, 81_920, 4_997_120, 335_544_320, 10_737_418_240),
    "mamba": (159_308_544, 159_308_544, 3_538_944, 3_538_944, 3_538_944, 3_538_944),
    "mamba2": (7_285_403_648, 7_285_403_648, 273_678_336, 273_678_336, 273_678_336, 273_678_336),
    "minimax": (47_373_946_880, 13_551_079_424, 16_842_752, 20_774_912, 285_212_672, 8_606_711_808),
    "ministral": (7_241_732_096, 7_241_732_096, 131_072, 7_995_392, 536_870_912, 536_870_912),
    "mpt": (1_311_213_568, 1_311_213_568, 196_608, 11_993_088, 805_306_368, 25_769_803_776),
    "nemotron": (17_642_041_344, 17_642_041_344, 786_432, 47_972_352, 3_221_225_472, 103_079_215_104),
    "nanochat": (256_573_440, 256_573_440, 36_864, 2_248_704, 150_994_944, 4_831_838_208),
    "olmo": (6_888_095_744, 6_888_095_744, 524_288, 31_981_568, 2_147_483_648, 68_719_476_736),
    "olmo2": (6_888_624_128, 6_888_624_128, 524_288, 31_981_568, 2_147_483_648, 68_719_476_736),
    "opt": (125_239_296, 125_239_296, 36_864, 2_248_704, 150_994_944, 4_831_838_208),
    "persimmon": (9_397_175_296, 9_397_175_296, 589_824, 35_979_264, 2_415_919_104, 77_309_411_328),
    "phi": (1_418_270_720, 1_418_270_720, 196_608, 11_993_088, 805_306_368, 25_769_803_776),
    "phimoe": (41_872_793_600, 6_640_640_000, 131_072, 7_995_392, 536_870_912, 17_179_869_184),
    "rwkv": (7_392_649_216, 7_392_649_216, 2_097_152, 2_097_152, 2_097_152, 2_097_152),
    "seed_oss": (28_921_040_896, 28_921_040_896, 262_144, 15_990_784, 1_073_741_824, 34_359_738_368),
    "smollm3": (3_075_098_624, 3_075_098_624, 73_728, 4_497_408, 301_989_888, 9_663_676_416),
    "solar_open": (102_651_799_552, 12_054_833_152, 196_608, 11_993_088, 805_306_368, 25_769_803_776),
    "stablelm": (2_795_443_200, 2_795_443_200, 327_680, 19_988_480, 1_342_177_280, 42_949_672_960),
    "starcoder2": (3_030_371_328, 3_030_371_328, 30_720, 1_873_920, 125_829_120, 4_026_531_840),
    "vaultgemma": (2_614_222_080, 2_614_222_080, 106_496, 6_496_256, 436_207_616, 7_197_425_664),
    "phi4_multimodal_text": (4_400_286_720, 4_400_286_720, 98_304, 5_996_544, 402_653_184, 12_884_901_888),
    "qwen3_omni_moe_text": (17_201_485_816, 1_347_016_696, 32_704, 1_994_944, 133_955_584, 4_286_578_688),
}  # fmt: skip
TOKENS = (1, 61, 4096, 131_072)


def kinds(pattern, layers, **words):
    """One word a layer, by letters that repeat."""
    return [words[pattern[layer % len(pattern)]] for layer in range(layers)]


LINEAR = {"L": "linear_attention", "F": "full_attention", "W": "sliding_attention", "C": "conv"}
NEMOTRON = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
SUPER = "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"
ULTRA = "MEMEMEMFEMEMEMFE" + "MEMEMEMFEMEMEMEMFEMEMEMFE" * 3 + "MEMEMEMFEMEMEMEME"
ZAMBA = {"M": "mamba", "H": "hybrid"}
ZAMBA2 = kinds("M" + "MMMMMH" * 7 + "MMMMHMMMHMM", 54, **ZAMBA)
KIMI = [4, 8, 12, 16, 20, 24, 27]
MIMO = [int(layer > 0 and (layer + 1) % 6 > 0) for layer in range(48)]
MIMO_EXPERTS = {
    "moe_layer_freq": [0] + [1] * 47, "hybrid_layer_pattern": MIMO, "swa_num_attention_heads": 64,
    "swa_num_key_value_heads": 8, "swa_head_dim": 192, "swa_v_head_dim": 128, "add_swa_attention_sink_bias": True,
    "add_full_attention_sink_bias": False, "sliding_window": 128, "sliding_window_size": 128,
}  # fmt: skip
GEMMA4 = {
    "hidden_size": 2816, "num_hidden_layers": 30, "num_attention_heads": 16, "num_key_value_heads": 8,
    "num_global_key_value_heads": 2, "head_dim": 256, "global_head_dim": 512, "attention_k_eq_v": True,
    "enable_moe_block": True, "num_experts": 128, "top_k_experts": 8, "moe_intermediate_size": 704,
    "intermediate_size": 2112, "sliding_window": 1024, "vocab_size": 262144, "hidden_size_per_layer_input": 0,
    "layer_types": kinds("WWWWWF", 30, **LINEAR), "num_kv_shared_layers": 0, "max_position_embeddings": 262144,
}  # fmt: skip
#: Models as released or, where so said, as their classes are but for some fields: parameters, active parameters, and
#: bytes at those lengths where they are known. Of the language model alone, counted in the same way.
MODELS = {
    "Kimi-Linear-48B-A3B": (
        {"model_type": "kimi_linear", "linear_attn_config": {
            "full_attn_layers": KIMI, "kda_layers": [n for n in range(1, 28) if n not in KIMI], "head_dim": 128,
            "num_heads": 32, "short_conv_kernel_size": 4}, "head_dim": 72, "moe_router_activation_func": "sigmoid"},
        49_122_681_728, 3_484_459_904, None,
    ),
    "LFM2-8B-A1B": (
        {"model_type": "lfm2_moe", "layer_types": kinds("C", 32, C="conv")[:24] + ["full_attention"] * 8},
        11_280_732_096, 2_032_291_776, (311_296, 1_294_336, 67_403_776, 2_147_778_560),
    ),
    "Nemotron 3 Nano 30B-A3B": (
        {"model_type": "nemotron_h", "num_hidden_layers": 52, "hidden_size": 2688, "num_key_value_heads": 2,
         "hybrid_override_pattern": NEMOTRON, "mamba_num_heads": 64, "intermediate_size": 1856, "n_routed_experts": 128,
         "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712, "num_experts_per_tok": 6},
        31_577_940_288, 3_580_076_352, (49_371_136, 49_739_776, 74_530_816, 854_671_360),
    ),
    "Nemotron-H, as its class takes it": (
        {"model_type": "nemotron_h", "layers_block_type": ["linear_attention", "moe", "full_attention", "mlp"]},
        1_968_355_720, 1_590_475_144, (4_280_320, 4_526_080, 21_053_440, 541_147_136),
    ),
    "MiMo-V2-Flash": (
        {"model_type": "mimo_v2_flash", **MIMO_EXPERTS},
        308_778_780_864, 15_445_936_320, (222_720, 13_585_920, 119_930_880, 3_045_457_920),
    ),
    "Gemma 4 26B-A4B": (
        {"model_type": "gemma4", "text_config": {"model_type": "gemma4_text", **GEMMA4}, "vision_config": {}},
        25_233_141_790, 3_822_530_590, (225_280, 13_742_080, 293_601_280, 2_894_069_760),
    ),
    # As Gemma 4 E2B and Gemma 3n E2B.
    "Gemma 4 with shared keys and wider blocks there": (
        {"model_type": "gemma4_text", "num_hidden_layers": 35, "hidden_size": 1536, "intermediate_size": 6144,
         "num_key_value_heads": 1, "num_kv_shared_layers": 20, "use_double_wide_mlp": True,
         "layer_types": kinds("WWWWF", 35, **LINEAR)},
        4_628_569_379, 4_628_569_379, (18_432, 1_124_352, 31_457_280, 811_597_824),
    ),
    "Gemma 3n of 30 layers": (
        {"model_type": "gemma3n", "audio_config": {}, "vision_config": {}, "text_config": {
            "model_type": "gemma3n_text", "num_hidden_layers": 30, "intermediate_size": [8192] * 30,
            "num_kv_shared_layers": 10}},
        4_435_182_688, 4_435_182_688, None,
    ),
    "DeepSeek-V4 Pro": (
        {"model_type": "deepseek_v4", "num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 128,
         "q_lora_rank": 1536, "n_routed_experts": 384, "moe_intermediate_size": 3072, "o_groups": 16,
         "index_topk": 1024, "num_hash_layers": 3, "compress_ratios": [128, 128, *[4, 128] * 29, 4, 0],
         "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}, "expert_dtype": "fp4"},
        1_572_997_201_763, 49_779_081_059, (279_552, 8_719_872, 48_640_000, 1_299_099_648),
    ),
    "DeepSeek-V4 Flash": (
        {"model_type": "deepseek_ref", "compress_ratios": [0, 0, *[4, 128] * 20, 4, 0], "num_hash_layers": 3},
        284_332_240_471, 13_799_632_471, (192_512, 5_910_272, 34_031_616, 907_626_496),
    ),
    "GLM-5.2": (
        {"model_type": "glm_moe_dsa", "indexer_types": kinds("FFF" + "SSSF" * 18 + "SSS", 78, F="full", S="shared")},
        743_377_019_904, 41_250_530_304, (95_232, 5_809_152, 390_070_272, 12_482_248_704),
    ),
    "Qwen3.5-27B": (
        {"model_type": "qwen3_5", "vision_config": {}, "text_config": {
            "model_type": "qwen3_5_text", "hidden_size": 5120, "intermediate_size": 17408, "num_hidden_layers": 64,
            "num_attention_heads": 24, "num_key_value_heads": 4, "linear_num_value_heads": 48}},
        26_895_998_464, 26_895_998_464, (154_992_640, 158_924_800, 423_362_560, 8_744_861_696),
    ),
    "Step 3.5 Flash": (
        {"model_type": "step3p5", "layer_types": kinds("FWWW", 45, **LINEAR), "sliding_window": 512,
         "attention_other_setting": {"attention_type": "sliding_attention", "num_attention_heads": 96,
                                     "num_attention_groups": 8, "head_dim": 128}},
        196_955_466_816, None, None,
    ),
    "DBRX": (
        {"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "vocab_size": 100352,
         "max_seq_len": 32768, "attn_config": {"clip_qkv": 8, "kv_n_heads": 8, "rope_theta": 500000},
         "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}},
        131_596_523_520, None, None,
    ),
    "Bamba, with attention in layers 9, 18 and 27": (
        {"model_type": "bamba", "attn_layer_indices": [9, 18, 27]}, 9_808_584_064, 9_808_584_064, None,
    ),
    "Granite 4, with attention in every eighth layer": (
        {"model_type": "granitemoehybrid", "layer_types": kinds("MMMMMMMA", 32, M="mamba", A="attention")},
        38_456_152_576, None, (None, 240_828_416, None, None),
    ),
    "Falcon-H1, as its class takes it": (
        {"model_type": "falcon_h1"}, 8_514_961_408, 8_514_961_408, (None, 41_943_040, None, None),
    ),
    "Jamba, as its class takes it": ({"model_type": "jamba"}, 51_570_323_328, None, (None, 17_514_496, None, None)),
    "RecurrentGemma, as its class takes it": (
        {"model_type": "recurrent_gemma", "block_types": ["recurrent", "recurrent", "attention"]},
        2_010_263_040, 2_010_263_040, None,
    ),
    "OLMo hybrid, as its class takes it": (
        {"model_type": "olmo_hybrid"}, 7_430_870_688, 7_430_870_688, (None, 62_791_680, None, None),
    ),
    "Ling 3, as its class takes it": (
        {"model_type": "bailing_hybrid"}, 124_414_211_552, None, (None, 77_332_864, None, None),
    ),
    "LFM2, with attention in every third layer": (
        {"model_type": "lfm2", "layer_types": kinds("CCF", 32, **LINEAR)},
        2_921_931_840, 2_921_931_840, (None, 1_899_520, None, None),
    ),
    "MiniMax M2, as its class takes it": (
        {"model_type": "minimax_m2"}, 228_689_764_864, None, (None, 15_491_072, None, None),
    ),
    # What token passes: nine and thirteen times through the block that is stored once, or twice.
    "Zamba2, as its class takes it": (
        {"model_type": "zamba2", "layers_block_type": ZAMBA2}, 2_481_848_336, 3_845_058_576,
        (73_230_336, 84_289_536, 828_020_736, 24_232_237_056),
    ),
    "Zamba2, of two blocks": (
        {"model_type": "zamba2", "layers_block_type": ZAMBA2, "num_mem_blocks": 2}, 2_652_249_616, 3_845_058_576,
        None,
    ),
    "Zamba2, with adapters of queries, keys and values": (
        {"model_type": "zamba2", "layers_block_type": ["mamba", "hybrid"] * 6, "num_hidden_layers": 12,
         "use_shared_attention_adapter": True, "num_key_value_heads": 8, "adapter_rank": 77, "hidden_size": 1024,
         "n_mamba_heads": 16, "mamba_ngroups": 2},
        148_985_408, 253_858_368, None,
    ),
    "Zamba2, with biases and two blocks": (
        {"model_type": "zamba2", "layers_block_type": ["mamba", "hybrid"] * 6, "num_hidden_layers": 12,
         "use_shared_attention_adapter": True, "num_key_value_heads": 8, "adapter_rank": 77, "hidden_size": 1024,
         "n_mamba_heads": 16, "mamba_ngroups": 2, "num_mem_blocks": 2, "add_bias_linear": True},
        170_043_136, 253_978_368, None,
    ),
    "Zamba, as its class takes it": (
        {"model_type": "zamba", "layers_block_type": kinds("MMH", 3, **ZAMBA) + kinds("MMMMHM", 73, **ZAMBA)},
        7_232_490_496, 11_531_654_656, (41_010_176, 64_173_056, 1_621_876_736, 50_640_707_584),
    ),
    "Nemotron 3 Super": (
        {"model_type": "nemotron_h", "num_hidden_layers": 88, "hidden_size": 4096, "num_key_value_heads": 2,
         "hybrid_override_pattern": SUPER, "mamba_num_heads": 128, "intermediate_size": 2688, "n_routed_experts": 512,
         "moe_intermediate_size": 2688, "moe_shared_expert_intermediate_size": 5376, "num_experts_per_tok": 22,
         "moe_latent_size": 1024},
        120_668_707_840, 12_770_237_440, (171_057_152, 171_548_672, 204_603_392, 1_244_790_784),
    ),
    "Nemotron 3 Ultra": (
        {"model_type": "nemotron_h", "hidden_size": 8192, "num_attention_heads": 64, "num_key_value_heads": 2,
         "layers_block_type": kinds(ULTRA, 108, M="mamba", E="moe", F="attention"), "mamba_num_heads": 256,
         "intermediate_size": 5120, "n_routed_experts": 512, "moe_intermediate_size": 5120,
         "moe_shared_expert_intermediate_size": 10240, "num_experts_per_tok": 22, "moe_latent_size": 2048},
        549_308_993_536, 56_058_843_136, (409_743_360, 410_480_640, 460_062_720, 2_020_343_808),
    ),
    "Nemotron, with biases around experts": (
        {"model_type": "nemotron_h", "layers_block_type": ["mamba", "moe", "attention", "mlp"], "moe_latent_size": 512,
         "n_routed_experts": 16, "mlp_bias": True},
        1_594_744_216, None, None,
    ),
    "Qwen2-MoE, as its class takes it": (
        {"model_type": "qwen2_moe"}, 14_315_784_192, None, (None, 11_993_088, None, None),
    ),
}  # fmt: skip


@pytest.fixture
def read(tmp_path):
    """A model out of a file of these fields, which gives all sizes that its class has."""

    def model(**fields):
        file = tmp_path / "config.json"
        file.write_text(json.dumps({**class_defaults().get(fields["model_type"], {}), **fields}), encoding="utf-8")
        return TransformerWorkload.from_hf(file)

    return model


def held(model, tokens):
    """Bytes that a request of so many tokens keeps."""
    unbound = model.model_copy(update={"max_position_embeddings": None})
    given = {"qps": 1, "target_p99_latency_ms": 1e12, "kv_page_size": 1, "precision": "bf16"}
    result = ServingCapacityModel("prefill_aware").solve(unbound, "B300", seq_len=tokens - 1, output_tokens=1, **given)
    return result.canonical("kv_bytes_per_request")


def compare(model, parameters, active, kept):
    count = ParameterCountModel().solve(model)
    assert count.canonical("parameters") == parameters
    assert active is None or count.canonical("active_parameters") == active
    attends = (model.state_layers.value if model.state_layers else 0) < model.layers.value or model.parallel_layers
    for tokens, wanted in zip(TOKENS, kept or (), strict=False):
        if wanted is not None and tokens > 1 and attends:
            assert held(model, tokens) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("model_type", TYPES)
def test_the_parameters_and_cache_of_a_type(read, model_type):
    parameters, active, *kept = TYPES[model_type]
    compare(read(model_type=model_type), parameters, active, kept)


@pytest.mark.parametrize("name", MODELS)
def test_the_parameters_and_cache_of_a_model(read, name):
    fields, *facts = MODELS[name]
    compare(read(**fields), *facts)
