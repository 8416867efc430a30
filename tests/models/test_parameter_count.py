"""Parameters counted by shape: published totals, hand counts, and what one change adds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsysim import Models, ParameterCountModel, TrainingMemoryModel
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


def test_every_part_of_the_shape_is_asked_for():
    for name in SMALL:
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
