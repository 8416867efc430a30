"""Products of routed experts: how many rows an expert gets, and what few of them cost."""

import pytest

from mlsysim import DistributedModel, KernelModel

STEP = DistributedModel()
RUN = {
    "model": "Qwen3_30B_A3B", "hardware": "H100", "fleet_size": 64, "batch_size": 64, "seq_len": 2048,
    "precision": "bf16", "zero_stage": 3, "fabric_bandwidth": "50 GB/s", "fabric_latency": "10 us",
    "efficiency": 0.6, "expert_product_ratio": 1,
}  # fmt: skip
EXPERTS, CHOICES, WIDTH, INNER = 128, 8, 2048, 768


def asked(**given):
    return STEP.solve(**{**RUN, **given})


@pytest.mark.parametrize(("tp", "etp", "ep"), [(1, 1, 1), (1, 1, 16), (4, 4, 8), (4, 1, 32), (4, 2, 2)])
def test_rows_are_the_tokens_of_a_group_over_its_experts(tp, etp, ep):
    """An expert-parallel group of so many ranks sees all tokens of its ranks once, wherever an expert is cut."""
    found = asked(tp_size=tp, etp_size=etp, ep_size=ep, batch_size=128, sequence_parallel=True)
    tokens = found.canonical("micro_batch_tokens") / tp * etp * ep
    assert found.canonical("rows_per_expert") == pytest.approx(tokens * CHOICES / EXPERTS, rel=1e-12)


@pytest.mark.parametrize("ranks", [8, 16])
def test_is_the_law_of_kernels(ranks):
    """Two matrices into the inner width and one out of it, as KernelModel times them without steps and launches.

    A kernel of one expert alone fills no wave below some rows; grouped ones fill it together.
    """
    found = asked(ep_size=ranks)
    rows = round(found.canonical("rows_per_expert"))
    kernel = KernelModel("smooth")
    plain = {"hardware": "H100", "precision": "bf16", "product_rows": rows, "flop_energy": 0, "launch_time": 0,
             "efficiency": 0.6, "memory_efficiency": 0.8}  # fmt: skip
    into, out = (
        kernel.solve(**plain, product_columns=columns, product_inner=inner).canonical("kernel_time")
        for columns, inner in ((INNER, WIDTH), (WIDTH, INNER))
    )
    arithmetic = 3 * 2 * rows * WIDTH * INNER / found.canonical("product_rate")
    assert (2 * into + out) / arithmetic == pytest.approx(found.canonical("expert_product_factor"), rel=0.002)


def test_more_ranks_give_more_rows_and_quicker_products():
    grid = STEP.sweep(**RUN, ep_size=[1, 2, 4, 8, 16], outputs=["expert_product_factor", "product_time"])
    assert (grid.expert_product_factor.diff("ep_size") < 0).all()
    assert (grid.product_time.diff("ep_size") < 0).all()


def test_a_wide_rank_of_many_rows_computes_and_nothing_else():
    found = asked(model="Mixtral_8x7B", ep_size=8, batch_size=512)
    assert 1 < found.canonical("expert_product_factor") < 1.01


def test_a_dense_model_has_no_such_factor():
    assert asked(model="Llama3_8B", expert_product_ratio=0.72).canonical("expert_product_factor") == 1


def test_grouped_products_reach_a_share_of_dense_ones():
    ours, dense = (asked(expert_product_ratio=ratio).canonical("expert_product_factor") for ratio in (0.72, 1))
    assert ours == pytest.approx(dense / 0.72, rel=1e-12)


def test_a_mean_rank_with_balanced_loads_is_the_hot_one():
    found = asked(ep_size=8)
    assert found.canonical("mean_compute_time") == pytest.approx(found.canonical("compute_time"), rel=1e-12)
