"""Limits that every form must have: one rank, infinite bandwidth, degrees of one, trained shares, scales, no host."""

import pytest
from study.points import POINTS

from mlsysim import (
    DistributedModel,
    IterationModel,
    KernelModel,
    MemoryExpansionModel,
    MoERoutingModel,
    ServingCapacityModel,
    TrainingMemoryModel,
)
from mlsysim.errors import InputError
from mlsysim.formats import BITS, SCALES, WEIGHT_FORMATS
from mlsysim.models import every_model

STEP, MEMORY, ITERATION = DistributedModel(), TrainingMemoryModel("per_operator"), IterationModel()
LINKS = {"node_bandwidth": "450 GB/s", "fabric_bandwidth": "50 GB/s", "fabric_latency": "5 us"}
ALONE = {"hardware": "H100", "batch_size": 4, "seq_len": 2048, "precision": "bf16", "fleet_size": 1, **LINKS}
ENGINE = {"hardware": "H100", "precision": "bf16", "decode_requests": 16, "context_tokens": 2000, "prompts": 1,
          "seq_len": 1024}  # fmt: skip
MODELS = ("Llama3_8B", "Mixtral_8x7B", "DeepSeek_V3", "Qwen3_30B_A3B")
EXCHANGES = ("tp_time", "ep_time", "cp_time", "pp_time", "dp_time", "bubble_time")
#: What a collective costs however fast its links are.
LATENCIES = ("collective_latency", "node_latency", "switch_latency")
#: Beyond any device.
ENDLESS = "1e12 GB/s"


@pytest.mark.parametrize("name", MODELS)
class TestOneRank:
    def test_a_step_is_computing_and_its_update(self, name):
        found = STEP.solve(name, **ALONE, host_operation_time=0)
        assert [found.canonical(part) for part in EXCHANGES] == [0] * len(EXCHANGES)
        alone = found.canonical("compute_time") + found.canonical("optimizer_time")
        assert found.canonical("step_time") == pytest.approx(alone, rel=1e-15)
        assert found.scaling_efficiency == pytest.approx(1, rel=1e-15)

    def test_an_iteration_reduces_nothing_and_asks_no_workers(self, name):
        found = ITERATION.solve(name, **ENGINE, iteration_overhead="1 ms", worker_overhead="50 ms")
        assert found.canonical("allreduce_time") == 0
        assert found.canonical("iteration_time") == pytest.approx(found.canonical("device_time") + 1e-3, rel=1e-12)

    def test_tokens_stay_where_they_are(self, name):
        for variant in ("first_order", "per_layer"):
            if name == "Llama3_8B":
                with pytest.raises(InputError, match="needs a mixture-of-experts model"):
                    MoERoutingModel(variant).solve(name, "Research_256", batch_size=8, ep_size=1)
                continue
            found = MoERoutingModel(variant).solve(name, "Research_256", batch_size=8, ep_size=1)
            assert found.canonical("token_dispatch_bytes") == found.canonical("all_to_all_latency") == 0

    def test_a_design_without_remote_memory_exchanges_nothing(self, name):
        found = MemoryExpansionModel("offloaded_training").solve(
            name, design="GH200", precision="bf16", batch_size=1, fleet_size=1, fabric_bandwidth=50, fabric_latency=5
        )
        assert [found.canonical(part) for part in EXCHANGES] == [0] * len(EXCHANGES)


class TestInfiniteBandwidth:
    """What is left is arithmetic, latencies and launches."""

    @pytest.mark.parametrize("name", MODELS)
    def test_of_the_memory_of_an_engine(self, name):
        found = ITERATION.solve(name, **ENGINE, memory_bandwidth=ENDLESS, layer_tax=0)
        assert found.canonical("activation_time") == pytest.approx(0, abs=1e-9)
        rate = found.canonical("peak_flops") * found.canonical("efficiency")
        tokens = found.canonical("iteration_tokens")
        products = found.canonical("dense_product_time") + found.canonical("expert_product_time")
        step = STEP.solve(name, **ALONE)
        one_token = step.canonical("product_flops")
        assert products * rate == pytest.approx(tokens * one_token, rel=1e-6)

    @pytest.mark.parametrize("name", MODELS)
    def test_of_the_memory_of_a_step(self, name):
        found = STEP.solve(name, **ALONE, memory_bandwidth=ENDLESS, host_operation_time=0)
        assert found.canonical("elementwise_time") + found.canonical("optimizer_time") < 1e-7
        arithmetic = sum(found.canonical(part) for part in ("product_time", "score_time", "loss_time"))
        assert found.canonical("step_time") == pytest.approx(arithmetic, rel=1e-7)

    def test_of_the_memory_of_a_replica(self):
        point = {"model": "Llama3_8B", "hardware": "H100", "qps": 1, "target_p99_latency_ms": 1e5}
        found = ServingCapacityModel("prefill_aware").solve(**point, memory_bandwidth=ENDLESS)
        for part in ("step_weights_time", "step_kv_time", "step_experts_time"):
            assert found.canonical(part) < 1e-9
        arithmetic = found.canonical("prefill_flops") / (0.6 * 989e12)
        assert found.canonical("prefill_time") >= arithmetic * (1 - 1e-9)

    def test_of_the_memory_of_a_product(self):
        shape = {"product_rows": 4096, "product_columns": 4096, "product_inner": 4096, "hardware": "H100"}
        found = KernelModel().solve(**shape, memory_bandwidth=ENDLESS, launch_time=0, precision="bf16")
        padded = 2 * 4096**3 / found.tile_efficiency
        assert found.canonical("kernel_time") == pytest.approx(padded / (989e12 * found.ceiling_efficiency), rel=1e-9)

    @pytest.mark.parametrize("name", MODELS)
    def test_of_the_links_of_an_engine(self, name):
        links = {"tp_size": 4, "node_bandwidth": ENDLESS}
        late, once = (
            ITERATION.solve(name, **ENGINE, **links, **given).canonical("allreduce_time")
            for given in ({}, dict.fromkeys(LATENCIES, 0))
        )
        assert late > 1e-5
        assert once < 1e-7 * late


class TestDegreesOfOne:
    """Experts that every token goes to are a dense block, but for the router; a group of one is no group."""

    DENSE = {
        "layers": 8, "hidden_dim": 1024, "heads": 8, "kv_heads": 8, "head_dim": 128, "vocab_size": 512, "gated": True,
        "tied_embeddings": False, "experts": 1, "active_experts_per_token": 1, "moe_layers": 0, "expert_ffn_dim": 0,
        "shared_ffn_dim": 0, "router_bias": False, "ffn_dim": 4096, "moe_layer_interval": 1,
    }  # fmt: skip
    SPLIT = {**DENSE, "experts": 4, "active_experts_per_token": 4, "moe_layers": 8, "expert_ffn_dim": 1024,
             "ffn_dim": 0}  # fmt: skip

    def test_arithmetic(self):
        dense, split = (STEP.solve(**shape, **ALONE) for shape in (self.DENSE, self.SPLIT))
        routers = 2 * 8 * 4 * 1024
        assert split.canonical("product_flops") == dense.canonical("product_flops") + routers
        assert split.canonical("score_flops") == dense.canonical("score_flops")
        assert split.canonical("ep_time") == 0

    def test_states(self):
        given = {"memory_capacity": "80 GB", "batch_size": 1, "precision": "bf16"}
        dense, split = (MEMORY.solve(**shape, **given) for shape in (self.DENSE, self.SPLIT))
        assert split["parameters_per_rank"] == dense["parameters_per_rank"] + 8 * 4 * 1024

    def test_an_iteration(self):
        dense, split = (
            ITERATION.solve(
                **{n: v for n, v in shape.items() if n in ITERATION.arguments}, **ENGINE, memory_bandwidth=ENDLESS
            )
            for shape in (self.DENSE, self.SPLIT)
        )
        products = [
            one.canonical("dense_product_time") + one.canonical("expert_product_time") for one in (dense, split)
        ]
        router = 2 * 8 * 4 * 1024 * 1040 / (0.6 * 989e12)
        assert products[1] == pytest.approx(products[0] + router, rel=1e-6)

    @pytest.mark.long(quick=3)
    @pytest.mark.parametrize("degree", ["ep_size", "cp_size", "tp_size", "pp_size", "interleaved_stages"])
    @pytest.mark.parametrize("model", [model for model in every_model() if model.__name__ != "CollectiveModel"])
    def test_a_degree_of_one_is_the_model_without_it(self, model, degree):
        """What a call leaves out is 1, and nothing else depends on having said so."""
        for variant in model.variants:
            asked = model(variant)
            if asked.defaults.get(degree) != 1 or degree not in asked.arguments:
                continue
            groups = ("ep_size", "cp_size", "tp_size", "pp_size", "interleaved_stages")
            point = {name: value for name, value in POINTS[model.__name__, variant].items() if name not in groups}
            for needs_a_group in ("gradient_accumulation_steps", "two_batch_overlap"):
                point.pop(needs_a_group, None)
            plain, said = asked.solve(**point), asked.solve(**{**point, degree: 1})
            answers = [model.answer] if model.answer in plain.outputs else ["tpot_p99", "goodput", "memory_cost"]
            assert [plain.canonical(name) for name in answers] == [said.canonical(name) for name in answers]


class TestTrainedShare:
    POINT = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8, "dp_size": 8, "precision": "bf16"}

    @pytest.mark.parametrize("variant", TrainingMemoryModel.variants)
    def test_all_weights_trained_is_the_default(self, variant):
        model = TrainingMemoryModel(variant)
        assert model.solve(**self.POINT).total_memory == model.solve(**self.POINT, trainable_fraction=1).total_memory

    @pytest.mark.parametrize("variant", TrainingMemoryModel.variants)
    def test_no_weight_trained_has_no_gradients_and_no_state(self, variant):
        found = TrainingMemoryModel(variant).solve(**self.POINT, trainable_fraction=0)
        assert found.canonical("gradients") == found.canonical("optimizer_state") == 0

    def test_nothing_is_updated_or_reduced(self):
        found = STEP.solve("Llama3_8B", **{**ALONE, "fleet_size": 8, "batch_size": 8}, trainable_fraction=0)
        assert found.canonical("optimizer_time") == found.canonical("dp_traffic_time") == 0


class TestScales:
    """A format with scales is wider than without by what they take in a block, and by nothing else."""

    @pytest.mark.parametrize("name", WEIGHT_FORMATS)
    def test_stored_bytes(self, name):
        point = {"model": "Llama3_8B", "hardware": "H100", "precision": "bf16", "peak_flops": "1 PFLOP/s"}
        found = IterationModel("saturated").solve(**point, weight_dtype=name)
        block, scales = SCALES.get(name, (1, 0))
        # DeepSeek-V3 scales its weights by squares.
        block = block**2 if name == "fp8_block" else block
        assert found.canonical("weight_bytes") == pytest.approx(BITS[name] / 8 + scales / block, rel=1e-12)

    def test_without_scales_a_block_format_is_the_plain_one(self):
        plain, scaled = (
            MoERoutingModel("per_layer").solve("DeepSeek_V3", "Research_256", batch_size=64, ep_size=8,
                                               dispatch_dtype=name)
            for name in ("fp8", "fp8_block")
        )  # fmt: skip
        assert scaled.canonical("dispatch_element_bytes") - 4 / 128 == plain.canonical("dispatch_element_bytes") == 1


class TestNoHost:
    @pytest.mark.parametrize("name", MODELS)
    def test_a_step_waits_for_no_launches(self, name):
        given = {**ALONE, "memory_capacity": "1e5 GB", "batch_size": 1, "seq_len": 128}
        slow, free = (STEP.solve(name, **given, host_operation_time=each) for each in ("1 ms", 0))
        assert free.canonical("host_wait_time") == 0
        assert free.step_bottleneck != "Host"
        assert slow.step_bottleneck == "Host"
        waited = slow.canonical("step_time") - free.canonical("step_time")
        assert waited == pytest.approx(slow.canonical("host_wait_time"), rel=1e-9)

    def test_captured_graphs_launch_nothing_of_a_dense_model(self):
        given = {**ALONE, "batch_size": 1, "seq_len": 128, "host_operation_time": "1 ms"}
        assert STEP.solve("Llama3_8B", **given, captured_share=1).canonical("host_wait_time") == 0

    @pytest.mark.parametrize("name", MODELS)
    def test_an_iteration_is_what_the_device_takes(self, name):
        slow, free = (ITERATION.solve(name, **ENGINE, host_layer_time=each) for each in ("30 ms", 0))
        assert free.canonical("iteration_time") == pytest.approx(free.canonical("device_time"), rel=1e-12)
        assert slow.canonical("iteration_time") == pytest.approx(slow.canonical("layers") * 30e-3, rel=1e-12)
