"""Mistakes other analytical packages make, each with a case that would show it.

Mistakes about step times and the traffic of data parallelism are no part of these models and are left out.
"""

import math

import pytest

from mlsysim import Hardware, MoERoutingModel, ServingCapacityModel, TrainingMemoryModel
from mlsysim.errors import InputError

PER_OPERATOR = TrainingMemoryModel("per_operator")
PER_LAYER = MoERoutingModel("per_layer")
MIXTRAL = {"model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 64}
LAYERS, EXPERTS, EXPERT = 32, 8, 3 * 4096 * 14336


def memory(**given):
    return PER_OPERATOR.solve(**{**MIXTRAL, **given})


def exchange(**given):
    fixed = {"model": "Mixtral_8x7B", "fleet": "Research_256", "batch_size": 4}
    return PER_LAYER.solve(**{**fixed, **given})


class TestExpertParallelismShardsExpertsOnly:
    """Not the dense weights: "everything over e" is 19% too low for Mixtral on eight ranks."""

    @pytest.mark.parametrize("ranks", [1, 2, 4, 8])
    def test_dense_parameters_stay(self, ranks):
        found = memory(dp_size=8, ep_size=ranks)
        assert found.dense_parameters_per_rank == memory(dp_size=8).dense_parameters_per_rank
        assert found.expert_parameters_per_rank == LAYERS * EXPERTS * EXPERT / ranks

    def test_mixtral_on_eight_ranks(self):
        found = memory(dp_size=8, ep_size=8)
        assert found.parameters_per_rank == 7_242_780_672
        naive = found.parameters / 8
        assert naive / found.parameters_per_rank == pytest.approx(0.806, abs=5e-4)

    def test_a_dense_model_has_no_expert_ranks(self):
        with pytest.raises(InputError, match=r"^ep_size=2: must divide experts=1"):
            memory(model="Llama3_8B", dp_size=8, ep_size=2)


class TestExpertStatesAreShardedOverTheRanksThatHoldThem:
    """d / e copies of an expert exist, so ZeRO shards it over those, and dense tensors over all d."""

    @pytest.mark.parametrize("ranks", [1, 2, 4, 8])
    @pytest.mark.parametrize(
        ("name", "stage", "size"), [("weights", 3, 2), ("gradients", 2, 2), ("optimizer_state", 1, 12)]
    )
    def test_each_kind_over_its_own_group(self, ranks, name, stage, size):
        d = 8
        found = memory(dp_size=d, ep_size=ranks, zero_stage=stage)
        dense, experts = found.dense_parameters_per_rank, found.expert_parameters_per_rank
        wanted = size * (dense / d + experts / (d / ranks))
        assert found.canonical(name) == pytest.approx(wanted, rel=1e-12)

    def test_an_expert_alone_on_its_rank_is_not_sharded(self):
        found = memory(dp_size=8, ep_size=8, zero_stage=3)
        assert found.canonical("weights") > 2 * LAYERS * EXPERT
        assert found.canonical("largest_layer_parameters") < EXPERT, "so nothing of it is gathered"

    def test_more_expert_ranks_do_not_change_sharded_expert_states(self):
        """E/e experts over d/e ranks is the same for every e."""
        totals = [memory(dp_size=8, ep_size=e, zero_stage=1).canonical("optimizer_state") for e in (1, 2, 4, 8)]
        assert totals == pytest.approx([totals[0]] * 4, rel=1e-12)


class TestEveryLayerExchangesSeveralTimes:
    """Not one all-to-all per step: dispatch and combine, forward and backward, in every layer with experts."""

    @pytest.mark.parametrize(("policy", "times"), [("none", 4), ("selective", 4), ("full", 6)])
    @pytest.mark.parametrize("layers", [0, 1, 16, 32])
    def test_time_and_bytes_of_a_step(self, policy, times, layers):
        found = exchange(ep_size=8, activation_checkpointing=policy, moe_layers=layers)
        assert found.exchanges_per_layer == times
        once = found.canonical("all_to_all_latency")
        assert found.canonical("step_all_to_all_time") == pytest.approx(layers * times * once, rel=1e-12)
        dispatched = found.canonical("token_dispatch_bytes")
        assert found.canonical("step_dispatch_bytes") == pytest.approx(layers * times * dispatched, rel=1e-12)

    def test_layers_without_experts_exchange_nothing(self):
        assert exchange(model="DeepSeek_V3", ep_size=8).moe_layers == 58


class TestNoSampleIsDropped:
    """A batch that does not divide is rounded up to the rank that holds the most."""

    @pytest.mark.parametrize("variant", list(TrainingMemoryModel.variants))
    @pytest.mark.parametrize(("ranks", "steps"), [(8, 1), (8, 3), (1, 7), (24, 2)])
    def test_a_rank_holds_the_rounded_up_share(self, variant, ranks, steps):
        model = TrainingMemoryModel(variant)
        batches = [1, 2, 7, 8, 9, 15, 16, 17, 100, 1000, 1001]
        found = [
            model.solve("Llama3_8B", "H100", batch_size=b, dp_size=ranks, gradient_accumulation_steps=steps)
            for b in batches
        ]
        held = [result.local_micro_batch for result in found]
        assert held == [math.ceil(b / (ranks * steps)) for b in batches]
        assert all(ranks * steps * m >= b for m, b in zip(held, batches, strict=True))
        totals = [result.canonical("total_memory") for result in found]
        assert totals == sorted(totals)


class TestExchangesWithinANodeUseItsLinks:
    """Not the fabric, at 36 times the bandwidth here."""

    def test_a_group_that_fits_a_node_is_priced_on_its_links(self):
        found = exchange(ep_size=8, exchange_latency=0, exchange_link_efficiency=1)
        copies = 4 * 2048 / 8 * 8 * (1 - (7 / 8) ** 2)
        wanted = 7 / 8 * copies * 4096 * 2 / 450e9
        assert found.canonical("all_to_all_latency") == pytest.approx(wanted, rel=1e-12)

    @pytest.mark.parametrize("change", [{"fabric_bandwidth": "1 GB/s"}, {"oversubscription": 7}])
    def test_the_fabric_does_not_matter_within_a_node(self, change):
        assert exchange(ep_size=8, **change).all_to_all_latency == exchange(ep_size=8).all_to_all_latency

    def test_the_fabric_matters_beyond(self):
        near = exchange(model="DeepSeek_V3", ep_size=16)
        assert exchange(model="DeepSeek_V3", ep_size=16, fabric_bandwidth="6.25 GB/s").all_to_all_latency > (
            near.all_to_all_latency
        )

    def test_tokens_cross_the_fabric_once_and_only_those_of_other_nodes(self):
        found = exchange(model="DeepSeek_V3", ep_size=16, exchange_latency=0, fabric_efficiency=1)
        assert found.nodes_per_token == pytest.approx(2 * (1 - 0.5**8))
        wanted = 0.5 * found.nodes_per_token * 4 * 2048 / 16 * 7168 * 2 / 12.5e9
        assert found.canonical("all_to_all_latency") == pytest.approx(wanted, rel=1e-12)

    def test_one_rank_sends_nothing(self):
        found = exchange(ep_size=1)
        assert found.canonical("all_to_all_latency") == found.canonical("token_dispatch_bytes") == 0


class TestImbalanceMovesBytesAndAddsNone:
    @pytest.mark.parametrize("factor", [1.0, 1.25, 4.0, 100.0])
    def test_totals_stay_and_the_hot_rank_sets_the_time(self, factor):
        even, hot = (exchange(ep_size=8, exchange_latency=0, routing_imbalance_factor=each) for each in (1, factor))
        assert hot.token_dispatch_bytes == even.token_dispatch_bytes
        assert hot.hot_rank_factor == min(factor, 4), "a rank of one expert gets at most every token, once"
        ratio = hot.canonical("all_to_all_latency") / even.canonical("all_to_all_latency")
        assert ratio == pytest.approx(hot.hot_rank_factor, rel=1e-12)

    def test_attention_does_not_wait_for_hot_experts(self):
        found = exchange(ep_size=8, routing_imbalance_factor=2.0)
        assert 1 < found.active_parameter_multiplier < 2
        more = found.effective_active_parameters - found.active_parameters
        assert more == pytest.approx(LAYERS * 2 * EXPERT, rel=1e-12)


class TestAFormatHasARateOfItsOwnOrNone:
    """Storing numbers in four bits does not make a device multiply them at its 16-bit rate, or twice it."""

    @pytest.mark.parametrize("variant", list(ServingCapacityModel.variants))
    @pytest.mark.parametrize("device", ["H100", "H200"])
    def test_a_device_without_an_int4_rate_refuses(self, device, variant):
        assert "int4" not in Hardware.Cloud[device].peak_flops
        with pytest.raises(InputError, match=r"^precision='int4': NVIDIA H.* has no rate for it, only for .*fp16"):
            ServingCapacityModel(variant).solve(
                "Llama3_8B", device, qps=1, target_p99_latency_ms=10_000, precision="int4"
            )

    def test_every_rate_is_that_of_its_format(self):
        for device in Hardware.Cloud.H100, Hardware.Cloud.A100, Hardware.Cloud.MI300X:
            for name, rate in device.peak_flops.items():
                found = ServingCapacityModel().solve(
                    "Llama3_8B", device, qps=1, target_p99_latency_ms=10_000, precision=name
                )
                assert found.canonical("peak_flops") == rate.canonical

    def test_memory_needs_no_rate(self):
        narrow = memory(compute_dtype="int4", dp_size=8)
        assert narrow.canonical("weights") == memory(dp_size=8).canonical("weights")
        assert narrow.canonical("activations") < memory(dp_size=8).canonical("activations")
