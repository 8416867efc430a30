"""Capacity of experts: what is dropped and padded, in every model of training that has experts."""

import pytest

from mlsysim import DistributedModel, ExpertParallelModel, MoERoutingModel, TrainingMemoryModel
from mlsysim.errors import InputError

EP, STEP = ExpertParallelModel(), DistributedModel()
RUN = {
    "model": "Qwen3_30B_A3B", "hardware": "H100", "fleet_size": 16, "batch_size": 32, "seq_len": 4096,
    "precision": "bf16", "zero_stage": 3, "activation_checkpointing": "full", "fabric_bandwidth": "50 GB/s",
    "fabric_latency": "10 us", "ep_size": 8, "host_operation_time": "0 us",
}  # fmt: skip
COSTS = ("step_time", "ep_time", "product_time", "total_memory", "backward_buffer")


def costs(model=EP, **given):
    found = model.solve(**RUN, **given)
    return [found.canonical(name) for name in COSTS]


class TestDropping:
    @pytest.mark.parametrize("model", [EP, STEP])
    def test_a_capacity_above_the_imbalance_changes_nothing(self, model):
        assert costs(model, routing_imbalance_factor=1.4) == costs(
            model, routing_imbalance_factor=1.4, capacity_factor=1.5
        )

    @pytest.mark.parametrize("model", [EP, STEP])
    def test_the_hot_rank_is_one_of_that_capacity(self, model):
        assert costs(model, routing_imbalance_factor=2, capacity_factor=1.25) == pytest.approx(
            costs(model, routing_imbalance_factor=1.25), rel=1e-12
        )

    def test_nothing_falls_as_capacity_grows(self):
        grid = EP.sweep(**RUN, routing_imbalance_factor=2, capacity_factor=[0.5, 1, 1.25, 1.5, 2, 4], outputs=[*COSTS])
        for name in COSTS:
            assert (grid[name].diff("capacity_factor") >= 0).all()

    def test_at_least_what_the_hot_rank_has_no_room_for_is_dropped(self):
        found = EP.solve(**RUN, routing_imbalance_factor=2, capacity_factor=1.25)
        assert found.least_dropped_share == pytest.approx((2 - 1.25) / 8)
        halved = EP.solve(**RUN, capacity_factor=0.5)
        assert halved.least_dropped_share == pytest.approx(0.5)
        assert halved.hot_rank_factor == halved.mean_rank_factor == 0.5
        assert EP.solve(**RUN, routing_imbalance_factor=8).least_dropped_share == 0

    def test_half_of_the_tokens_are_half_of_the_routed_work(self):
        """Their products are a little slower, as those of fewer rows."""
        whole, half = (EP.solve(**RUN, capacity_factor=each) for each in (1, 0.5))
        assert half.canonical("rows_per_expert") == whole.canonical("rows_per_expert") / 2
        assert (
            0 < half.canonical("routed_time") - whole.canonical("routed_time") / 2 < half.canonical("fixed_expert_time")
        )
        assert half.canonical("hardware_flops") < whole.canonical("hardware_flops")


class TestPadding:
    """Drop and pad: every expert exchanges and computes its capacity, and the host reads no counts."""

    def test_loads_no_longer_matter(self):
        padded = {"capacity_factor": 1.25, "pad_to_capacity": True}
        assert costs(**padded) == costs(**padded, routing_imbalance_factor=8)

    def test_the_host_waits_for_nothing(self):
        assert EP.solve(**RUN, capacity_factor=1.25).canonical("host_sync_time") > 0
        assert EP.solve(**RUN, capacity_factor=1.25, pad_to_capacity=True).canonical("host_sync_time") == 0

    def test_every_rank_works_as_the_hot_one(self):
        found = STEP.solve(**RUN, capacity_factor=1.25, pad_to_capacity=True)
        assert found.hot_rank_factor == found.mean_rank_factor == 1.25
        hot = STEP.solve(**RUN, routing_imbalance_factor=1.25)
        assert found.canonical("product_time") == hot.canonical("product_time")
        assert found.canonical("hardware_flops") > hot.canonical("hardware_flops")
        assert found.canonical("mean_compute_time") > hot.canonical("mean_compute_time")

    def test_every_copy_travels(self):
        """Eight copies of a token: to eight ranks of one node, of which a token without padding meets fewer."""
        plain, padded = (
            STEP.solve(**RUN, capacity_factor=1, pad_to_capacity=each).canonical("dispatch_link_bytes")
            for each in (False, True)
        )
        tokens = 32 / 16 * 4096
        assert padded == pytest.approx(8 * tokens * 2048 * 2 * 7 / 8, rel=1e-12)
        assert plain < padded

    def test_without_a_capacity_there_is_nothing_to_pad_to(self):
        for model in (EP, STEP, TrainingMemoryModel("per_operator")):
            given = RUN if model in (EP, STEP) else {**{k: RUN[k] for k in ("model", "hardware", "batch_size")}}
            with pytest.raises(InputError, match="pad_to_capacity=True: must be False where experts take what comes"):
                model.solve(**given, pad_to_capacity=True)


def test_bytes_of_a_group_with_padding():
    given = {"model": "DeepSeek_V3", "fleet": "Research_256", "batch_size": 64, "ep_size": 8}
    model = MoERoutingModel("per_layer")
    even, padded, dropped = (
        model.solve(**given, **more)
        for more in (
            {},
            {"routing_imbalance_factor": 3, "capacity_factor": 1.5, "pad_to_capacity": True},
            {"routing_imbalance_factor": 3, "capacity_factor": 1.5},
        )
    )
    sent = even.canonical("token_dispatch_bytes")
    assert padded.canonical("token_dispatch_bytes") == pytest.approx(1.5 * sent, rel=1e-12)
    assert dropped.canonical("token_dispatch_bytes") == pytest.approx(sent, rel=1e-12)
    for found in (padded, dropped):
        assert found.canonical("hot_rank_bytes") == pytest.approx(1.5 * sent / 8, rel=1e-12)


def test_a_capacity_is_memory_too():
    """A layer that keeps everything holds what its experts take."""
    given = {
        "model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 8, "precision": "bf16", "dp_size": 8, "ep_size": 8,
        "activation_checkpointing": "none",
    }  # fmt: skip
    model = TrainingMemoryModel("per_operator")
    even, hot, capped, padded = (
        model.solve(**given, **more).canonical("activations")
        for more in (
            {},
            {"routing_imbalance_factor": 2},
            {"routing_imbalance_factor": 2, "capacity_factor": 1.25},
            {"capacity_factor": 1.25, "pad_to_capacity": True},
        )
    )
    assert even < capped < padded < hot


def test_a_capacity_beyond_all_tokens_is_refused_where_experts_are_padded_to_it():
    """Of 128 experts a token goes to eight: a capacity of 16 has room for every token."""
    assert STEP.solve(**RUN, capacity_factor=16, pad_to_capacity=True).least_dropped_share == 0
    with pytest.raises(
        InputError, match=r"^capacity_factor=16\.5: must be at most experts=128 over active_experts_per_to"
    ):
        STEP.solve(**RUN, capacity_factor=16.5, pad_to_capacity=True)
    large, free = (STEP.solve(**RUN, routing_imbalance_factor=1.5, capacity_factor=each) for each in (1e6, 0.0))
    assert large.canonical("step_time") == free.canonical("step_time")
