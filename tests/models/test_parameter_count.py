"""Parameters counted by shape: published totals, hand counts, and what one change adds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsysim import Models, ParameterCountModel, ServingCapacityModel, TrainingMemoryModel, TransformerWorkload
from mlsysim.errors import InputError, MissingInputError

COUNT = ParameterCountModel()
#: A small dense model, every number of it.
SMALL = {
    "layers": 3,
    "hidden_dim": 12,
    "heads": 4,
    "kv_heads": 2,
    "head_dim": 5,
    "vocab_size": 100,
    "ffn_dim": 20,
    "gated": True,
    "experts": 1,
    "active_experts_per_token": 1,
    "moe_layers": 0,
    "expert_ffn_dim": 0,
    "shared_ffn_dim": 0,
    "router_bias": False,
}
#: Parameters, active ones, and bytes of a request's cache and state at 61, 4,096 and 131,072 tokens at 16 bit: tensors
#: that transformers 5.23 builds from the released configurations on PyTorch's meta device, of language models alone.
RELEASED = {
    "GLM_4_5": (352_797_829_024, 33_632_266_144, 22_986_752, 1_543_503_872, 49_392_123_904),
    "GLM_4_5_Air": (106_852_251_264, 13_424_129_664, 11_493_376, 771_751_936, 24_696_061_952),
    "GLM_5 GLM_5_1": (743_911_218_432, 41_784_728_832, 6_699_264, 449_839_104, 14_394_851_328),
    "GLM_5_2": (743_377_019_904, 41_250_530_304, 5_809_152, 390_070_272, 12_482_248_704),
    "Qwen3_Next_80B_A3B": (79_674_391_296, 3_874_929_408, 79_355_904, 178_520_064, 3_299_082_240),
    "Qwen3_5_27B Qwen3_6_27B": (26_895_998_464, 26_895_998_464, 158_924_800, 423_362_560, 8_744_861_696),
    "Qwen3_5_35B_A3B Qwen3_6_35B_A3B": (34_660_610_688, 3_454_988_928, 66_129_920, 148_766_720, 2_749_235_200),
    "Qwen3_5_122B_A10B": (122_111_526_912, 9_771_288_576, 156_033_024, 255_197_184, 3_375_759_360),
    "Qwen3_5_397B_A17B": (396_346_350_336, 17_349_040_896, 195_041_280, 318_996_480, 4_219_699_200),
    "Qwen3_Coder_30B_A3B": (30_532_122_624, 3_353_032_704, 5_996_544, 402_653_184, 12_884_901_888),
    "Qwen3_Coder_480B_A35B": (480_154_875_392, 35_474_765_312, 15_491_072, 1_040_187_392, 33_285_996_544),
    "Qwen3_VL_2B": (1_720_574_976, 1_720_574_976, 6_995_968, 469_762_048, 15_032_385_536),
    "Qwen3_VL_4B": (4_022_468_096, 4_022_468_096, 8_994_816, 603_979_776, 19_327_352_832),
    "Qwen3_VL_8B": (8_190_735_360, 8_190_735_360, 8_994_816, 603_979_776, 19_327_352_832),
    "Qwen3_VL_32B": (32_762_123_264, 32_762_123_264, 15_990_784, 1_073_741_824, 34_359_738_368),
    "Qwen3_VL_235B_A22B": (235_093_634_560, 22_190_763_520, 11_743_232, 788_529_152, 25_232_932_864),
    "DeepSeek_R1 DeepSeek_V3_1": (671_026_419_200, 37_552_297_472, 4_286_592, 287_834_112, 9_210_691_584),
    "DeepSeek_V3_2": (671_877_944_064, 38_403_822_336, 5_239_168, 351_797_248, 11_257_511_936),
    "DeepSeek_V2": (235_741_434_880, 21_375_800_320, 4_216_320, 283_115_520, 9_059_696_640),
    "DeepSeek_V2_Lite": (15_706_484_224, 2_661_150_208, 1_897_344, 127_401_984, 4_076_863_488),
    "Kimi_K2_5 Kimi_K2_6": (1_026_408_232_448, 32_861_500_928, 4_286_592, 287_834_112, 9_210_691_584),
    "Moonlight_16B_A3B": (15_960_110_208, 2_914_776_192, 1_897_344, 127_401_984, 4_076_863_488),
    "Kimi_Linear_48B_A3B": (49_122_681_728, 3_484_459_904, 44_401_024, 76_939_264, 1_100_873_728),
    "MiniMax_M2_5 MiniMax_M2_7": (
        228_689_764_864, 11_030_553_088, 15_491_072, 1_040_187_392, 33_285_996_544,
    ),
    "MiMo_7B": (7_622_619_136, 7_622_619_136, 8_994_816, 603_979_776, 19_327_352_832),
    "MiMo_V2_Flash": (308_778_780_864, 15_445_936_320, 13_585_920, 119_930_880, 3_045_457_920),
    "Nemotron_3_Nano_30B_A3B": (31_577_940_288, 3_580_076_352, 49_739_776, 74_530_816, 854_671_360),
    "Nemotron_3_Super_120B_A12B": (120_668_707_840, 12_770_237_440, 171_548_672, 204_603_392, 1_244_790_784),
    "Nemotron_3_Ultra_550B_A55B": (549_308_993_536, 56_058_843_136, 410_480_640, 460_062_720, 2_020_343_808),
    "Nemotron_H_8B": (8_100_852_736, 8_100_852_736, 103_628_800, 169_738_240, 2_250_113_024),
    "Nemotron_H_56B": (56_324_350_464, 56_324_350_464, 917_315_584, 1_082_589_184, 6_283_526_144),
    "Granite_4_0_H_Small": (32_207_337_984, 8_803_121_664, 154_427_392, 220_536_832, 2_300_911_616),
    "Granite_4_0_H_Tiny": (6_939_037_248, 1_465_470_528, 58_081_280, 91_136_000, 1_131_323_392),
    "Falcon_H1_0_5B": (521_411_104, 521_411_104, 29_952_000, 104_325_120, 2_444_746_752),
    "Falcon_H1_1_5B_Deep": (1_554_770_832, 1_554_770_832, 109_012_992, 381_714_432, 8_963_260_416),
    "Falcon_H1_7B": (7_585_513_568, 7_585_513_568, 142_422_016, 324_222_976, 6_045_253_632),
    "Falcon_H1_34B": (33_642_221_312, 33_642_221_312, 313_933_824, 908_918_784, 19_632_291_840),
    "Jamba_v0_1": (51_570_323_328, 12_110_311_296, 17_514_496, 83_623_936, 2_163_998_720),
    "Jamba_1_5_Large": (398_555_145_696, 94_149_338_592, 76_566_528, 225_312_768, 4_906_156_032),
    "LFM2_350M": (354_483_968, 354_483_968, 811_008, 50_393_088, 1_610_674_176),
    "LFM2_700M": (742_489_344, 742_489_344, 841_728, 50_423_808, 1_610_704_896),
    "LFM2_1_2B": (1_170_340_608, 1_170_340_608, 872_448, 50_454_528, 1_610_735_616),
    "LFM2_2_6B": (2_569_272_320, 2_569_272_320, 1_269_760, 67_379_200, 2_147_753_984),
    "LFM2_8B_A1B": (8_339_930_560, 1_557_740_992, 970_752, 50_552_832, 1_610_833_920),
    "DeepSeek_V4_Pro": (1_572_997_201_763, 49_779_081_059, 8_719_872, 48_640_000, 1_299_099_648),
    "DeepSeek_V4_Flash": (284_332_240_471, 13_799_632_471, 5_910_272, 34_031_616, 907_626_496),
    "Gemma3n_E4B": (6_835_235_568, 6_835_235_568, 2_498_560, 50_331_648, 1_090_519_040),
    "Gemma4_26B_A4B": (25_233_141_790, 3_822_530_590, 13_742_080, 293_601_280, 2_894_069_760),
    "Gemma4_31B": (30_697_345_340, 30_697_345_340, 54_968_320, 1_174_405_120, 11_576_279_040),
    "Phi_4": (14_659_507_200, 14_659_507_200, 12_492_800, 838_860_800, 26_843_545_600),
    "Phi_4_mini": (3_836_021_760, 3_836_021_760, 7_995_392, 536_870_912, 17_179_869_184),
    "OLMo_2_7B": (7_298_617_344, 7_298_617_344, 31_981_568, 2_147_483_648, 68_719_476_736),
    "OLMo_3_7B": (7_298_011_136, 7_298_011_136, 31_981_568, 2_147_483_648, 18_790_481_920),
    "OLMo_3_32B": (32_233_522_176, 32_233_522_176, 15_990_784, 1_073_741_824, 9_395_240_960),
    "SmolLM3_3B": (3_075_098_624, 3_075_098_624, 4_497_408, 301_989_888, 9_663_676_416),
    "Mistral_Small_3": (23_572_403_200, 23_572_403_200, 9_994_240, 671_088_640, 21_474_836_480),
    "Ministral_3_3B": (3_429_006_336, 3_429_006_336, 6_496_256, 436_207_616, 13_958_643_712),
    "Ministral_3_8B": (8_489_553_920, 8_489_553_920, 8_495_104, 570_425_344, 18_253_611_008),
    "Ministral_3_14B": (13_506_073_600, 13_506_073_600, 9_994_240, 671_088_640, 21_474_836_480),
    "ERNIE_4_5_0_3B": (360_748_032, 360_748_032, 1_124_352, 75_497_472, 2_415_919_104),
    "ERNIE_4_5_21B_A3B": (21_825_437_888, 3_352_150_208, 3_497_984, 234_881_024, 7_516_192_768),
    "ERNIE_4_5_300B_A47B": (299_484_163_264, 47_926_586_560, 13_492_224, 905_969_664, 28_991_029_248),
    "Step_3_5_Flash": (196_956_130_368, 11_987_323_968, 11_243_520, 270_532_608, 6_511_656_960),
}  # fmt: skip
RELEASED = {name: facts for names, facts in RELEASED.items() for name in names.split()}
#: A replica without limits.
SERVE = {
    "memory_capacity": "1e6 GB", "memory_bandwidth": "3000 GB/s", "peak_flops": "1000 TFLOP/s", "qps": 1e-3,
    "target_p99_latency_ms": 1e9, "precision": "bf16", "kv_page_size": 1, "output_tokens": 1,
}  # fmt: skip
SPARSE = {**SMALL, "experts": 6, "active_experts_per_token": 2, "moe_layers": 2, "expert_ffn_dim": 7}


def count(**changes):
    return COUNT.solve(**{**SMALL, **changes}).parameters


@pytest.mark.parametrize(
    ("name", "exact"),
    [
        ("Llama3_8B", 8_030_261_248),
        ("Llama3_70B", 70_553_706_496),
        ("Llama3_1_405B", 405_853_388_800),
        ("Llama2_7B", 6_738_415_616),
        ("Mistral_7B", 7_241_732_096),
        ("Mixtral_8x7B", 46_702_792_704),
        ("Qwen2_5_7B", 7_615_616_512),
        ("GPT2_XL", 1_557_611_200),
        ("Qwen3_30B_A3B", 30_532_122_624),
    ],
)
def test_counts_of_published_checkpoints(name, exact):
    """Elements in the checkpoints on Hugging Face, to the last one."""
    assert COUNT.solve(name).parameters == exact


@pytest.mark.parametrize("name", RELEASED)
def test_released_models_are_their_tensors(name):
    parameters, active, *_ = RELEASED[name]
    found = COUNT.solve(name)
    assert (found.parameters, found.active_parameters) == (parameters, active)


@pytest.mark.parametrize("name", RELEASED)
def test_caches_and_states_of_released_models_are_their_tensors(name):
    for tokens, held in zip((61, 4096, 131_072), RELEASED[name][2:], strict=True):
        found = ServingCapacityModel("prefill_aware").solve(name, **SERVE, seq_len=tokens - 1)
        assert found.canonical("kv_bytes_per_request") == pytest.approx(held, rel=1e-14)


def test_heads_need_not_divide_the_width_but_where_the_tutorial_takes_the_quotient():
    with pytest.raises(InputError, match=r"hidden_dim=5120: must be a multiple of heads=96; nearest: 5088, 5184"):
        ServingCapacityModel("first_order").solve("GLM_4_5", "H100", qps=1, target_p99_latency_ms=1000)


def test_active_parameters():
    assert COUNT.solve("Mixtral_8x7B").active_parameters == 12_879_925_248
    dense = COUNT.solve("Llama3_8B")
    assert dense.active_parameters == dense.parameters


def test_a_small_model_counted_by_hand():
    attention = 12 * 20 + 2 * 12 * 10 + 20 * 12
    layer = attention + 3 * 12 * 20 + 2 * 12
    found = COUNT.solve(**SMALL)
    assert found.parameters == 3 * layer + 100 * 12 * 2 + 12
    assert (found.attention_parameters, found.ffn_parameters, found.norm_parameters) == (attention, 720, 12)
    assert (found.embedding_parameters, found.head_parameters) == (1200, 1200)


def test_a_small_sparse_model_counted_by_hand():
    attention, expert, router = 12 * 20 + 2 * 12 * 10 + 20 * 12, 3 * 12 * 7, 6 * 12
    every = 3 * (attention + 24) + 2400 + 12 + 720
    found = COUNT.solve(**SPARSE)
    assert found.parameters == every + 2 * (router + 6 * expert)
    assert found.active_parameters == every + 2 * (router + 2 * expert)


@pytest.mark.parametrize(
    ("change", "more"),
    [
        ({"gated": False}, -3 * 12 * 20),
        ({"tied_embeddings": True}, -100 * 12),
        ({"learned_positions": 64}, 64 * 12),
        ({"qkv_bias": True}, 3 * (20 + 10 + 10)),
        ({"attention_output_bias": True}, 3 * 12),
        ({"mlp_bias": True}, 3 * (20 + 20 + 12)),
        ({"gated": False, "mlp_bias": True}, 3 * (20 + 12) - 3 * 12 * 20),
        ({"norm_bias": True}, 7 * 12),
        ({"qk_norm": True}, 3 * (5 + 5)),
        ({"kv_heads": 4}, 3 * 2 * 12 * 10),
        ({"head_dim": 6}, 3 * (2 * 12 * 4 + 2 * 12 * 2)),
        ({"vocab_size": 101}, 24),
        ({"v_head_dim": 3}, -3 * 2 * (12 * 2 + 4 * 12)),
        ({"gate_width": 4}, 3 * 12 * 4),
        ({"block_norms": 1}, -3 * 12),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_what_one_change_adds(change, more):
    assert count(**change) - count() == more


def test_what_changes_of_the_experts_add():
    def sparse(**changes):
        return COUNT.solve(**{**SPARSE, **changes}).parameters

    assert sparse(router_bias=True) - sparse() == 2 * 6
    assert sparse(shared_ffn_dim=9) - sparse() == 2 * 3 * 12 * 9
    assert sparse(moe_layers=3, ffn_dim=0) - sparse() == 6 * 12 + 6 * 3 * 12 * 7 - 720
    assert sparse(active_experts_per_token=6) - sparse() == 0


def test_latent_attention_counted_by_hand():
    latent = {"kv_lora_rank": 8, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2, "v_head_dim": 3}
    keys = 12 * (8 + 2) + 8 + 8 * 4 * (4 + 3) + 4 * 3 * 12
    assert COUNT.solve(**SMALL, **latent).attention_parameters == 12 * 4 * 6 + keys
    assert COUNT.solve(**SMALL, **latent, q_lora_rank=5).attention_parameters == 12 * 5 + 5 + 5 * 4 * 6 + keys


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"kv_heads": 5}, "kv_heads=5: must divide heads=4; nearest: 4"),
        ({"moe_layers": 1}, "moe_layers=1: must be 0 where experts=1; nearest: 0"),
        ({"experts": 4, "moe_layers": 4}, "moe_layers=4: must be at most layers=3; nearest: 3"),
        (
            {"experts": 4, "moe_layers": 3},
            "expert_ffn_dim=0: must be above 0 where moe_layers=3 have experts; nearest: 1",
        ),
        ({"ffn_dim": 0}, "ffn_dim=0: must be above 0 where layers have no experts; nearest: 1"),
        ({"q_lora_rank": 4}, "q_lora_rank=4: must be 0 where kv_lora_rank=0; nearest: 0"),
        (
            {"kv_lora_rank": 4, "qk_norm": True},
            "qk_norm=True: must be False with latent attention (kv_lora_rank=4)",
        ),
        ({"gated": "yes"}, "gated='yes': must be True or False"),
    ],
)
def test_shapes_that_are_none_are_refused(bad, message):
    with pytest.raises(InputError) as refused:
        COUNT.solve(**{**SMALL, **bad})
    assert str(refused.value) == message


def test_every_part_of_a_dense_shape_is_asked_for():
    dense = [name for name in SMALL if COUNT.defaults.get(name) is None]
    assert dense == [*SMALL][:8]
    for name in dense:
        with pytest.raises(MissingInputError, match=f"^ParameterCountModel needs {name}: give model=... or {name}="):
            COUNT.solve(**{key: value for key, value in SMALL.items() if key != name})


def test_a_count_needs_no_device_and_sweeps():
    grid = COUNT.sweep(model=["Llama3_8B", "Llama3_70B"], vocab_size=[32000, 128256], tied_embeddings=[False, True])
    assert dict(grid.sizes) == {"model": 2, "vocab_size": 2, "tied_embeddings": 2}
    assert grid.parameters.sel(model="Llama3_70B", vocab_size=128256, tied_embeddings=False) == 70_553_706_496
    assert list(COUNT.arguments) == ["model", *COUNT.arguments][1:]
    assert COUNT.keywords == ()


def test_an_override_wins_over_the_entry():
    found = COUNT.solve(Models.Language.Llama3_8B, vocab_size=32000)
    assert found.parameters == 8_030_261_248 - 2 * 4096 * (128256 - 32000)


@st.composite
def shapes(draw):
    whole = st.integers
    layers, ranks = draw(whole(1, 100)), draw(st.sampled_from([1, 2, 4]))
    sparse = draw(st.booleans())
    experts = ranks * draw(whole(2, 16)) if sparse else 1
    shape = {
        "layers": layers,
        "hidden_dim": draw(whole(1, 20_000)),
        "heads": draw(whole(1, 128)),
        "kv_heads": 1,
        "head_dim": draw(whole(1, 256)),
        "vocab_size": draw(whole(1, 300_000)),
        "ffn_dim": draw(whole(1, 60_000)),
        "experts": experts,
        "active_experts_per_token": draw(whole(1, experts)),
        "moe_layers": layers if sparse else 0,
        "expert_ffn_dim": draw(whole(1, 20_000)) if sparse else 0,
        "shared_ffn_dim": draw(whole(0, 10_000)),
    }
    flags = ("gated", "router_bias", "tied_embeddings", "qkv_bias", "attention_output_bias", "mlp_bias", "norm_bias")
    return shape | {name: draw(st.booleans()) for name in flags}


@settings(derandomize=True, deadline=None, max_examples=150)
@given(shapes())
def test_one_rank_holds_every_tensor_and_active_ones_are_a_part(shape):
    found = COUNT.solve(**shape)
    assert found.parameters == int(found.parameters)
    assert 0 < found.active_parameters <= found.parameters
    alone = TrainingMemoryModel("per_operator").solve(
        **shape, moe_layer_interval=1, batch_size=1, memory_capacity="80 GB"
    )
    assert alone.parameters_per_rank == pytest.approx(found.parameters, rel=1e-12)


def test_layers_that_share_a_block_store_it_once():
    """ALBERT: twelve passes through a block, and an embedding narrower than the model; counted by transformers 5.23."""
    for width, heads, ffn, stored in ((4096, 64, 16384, 206_368_944), (768, 12, 3072, 11_221_680)):
        block = 4 * width**2 + 2 * width * ffn + 9 * width + ffn
        vectors = (512 + 2 + 5) * 128 + 30_000 - width  # positions, norms of the narrow width, one norm less
        albert = {**SMALL, "layers": 12, "hidden_dim": width, "heads": heads, "kv_heads": heads, "head_dim": 64,
                  "vocab_size": 30_000, "embedding_dim": 128, "ffn_dim": ffn, "gated": False, "tied_embeddings": True,
                  "qkv_bias": True, "attention_output_bias": True, "mlp_bias": True, "norm_bias": True,
                  "further_vectors": vectors, "reused_parameters": 11 * block}  # fmt: skip
        found = COUNT.solve(**albert)
        assert (found.parameters, found.active_parameters) == (stored, stored + 11 * block)
        named = COUNT.solve(TransformerWorkload(name="ALBERT", **{
            name: value for name, value in albert.items() if name in TransformerWorkload.model_fields
        }))  # fmt: skip
        assert named.parameters == stored
