"""A layer of one rank of an expert-parallel group: what it computes, and what the library says that it holds."""

import pytest

from mlsysim import TrainingMemoryModel, routing_imbalance

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

SMALL = {"s": 64, "h": 64, "heads": 4, "kv_heads": 2, "experts": 8, "top_k": 2, "f_expert": 32, "norm": "fused"}


@pytest.fixture(scope="module")
def expert_rank(one_thread):
    from counted import expert_rank

    return expert_rank


def test_a_group_of_one_computes_what_a_layer_without_a_group_does(layers, expert_rank):
    shape = layers.Shape(**SMALL, score="output", ranks=1)
    torch.manual_seed(0)
    plain, grouped = layers.TitanMoE(shape), expert_rank.ExpertRank(shape)
    for weight in plain.parameters():
        torch.nn.init.normal_(weight, std=0.1)
    grouped.load_state_dict(plain.state_dict())
    plain, grouped = plain.to(layers.BF16), grouped.to(layers.BF16)
    x = torch.randn(1, shape.s, shape.h, dtype=layers.BF16)
    torch.testing.assert_close(grouped(x), plain(x), rtol=2e-2, atol=2e-2)


def test_rows_are_permuted_by_expert_and_padded(layers, expert_rank):
    rank = expert_rank.ExpertRank(layers.Shape(**{**SMALL, "experts": 4}, ranks=2))
    index, ends = rank.permutation(torch.tensor([[3, 1], [9, 0]]))
    assert index.tolist() == [0, 1, 2, *range(4, 13), *[13] * 4, 3, *[13] * 12]
    assert ends.tolist() == [16, 24]


@pytest.mark.parametrize("skew", [0.0, 0.5])
def test_activations_are_those_counted(layers, expert_rank, skew):
    """docs/validation.md has more of them, and the peaks."""
    counted = layers.measure("expert_rank", **SMALL, mlp="fused", score="input", ranks=4, skew=skew)
    factor = routing_imbalance(counted.layer.mlp.counts.sum(0), ep_size=4)
    found = TrainingMemoryModel("per_operator").solve(
        batch_size=4, seq_len=64, layers=1, hidden_dim=64, heads=4, kv_heads=2, head_dim=16, vocab_size=256, gated=True,
        qk_norm=False, ffn_dim=0, experts=8, active_experts_per_token=2, moe_layers=1, moe_layer_interval=1,
        expert_ffn_dim=32, shared_ffn_dim=0, router_bias=False, memory_capacity="80 GB", precision="bf16", dp_size=4,
        ep_size=4, activation_checkpointing="none", routing_imbalance_factor=factor, routing_weights="before_fp32",
        expert_row_padding=8,
    )  # fmt: skip
    assert (factor > 1.5) == (skew > 0)
    assert found.canonical("activations") == pytest.approx(counted.bytes, rel=0.02)
