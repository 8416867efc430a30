"""The expected error of an output is that of its area, and none where nothing of the kind was measured."""

from __future__ import annotations

import pytest

from mlsysim import (
    CollectiveModel,
    DistributedModel,
    EconomicsModel,
    ExpertParallelModel,
    KernelModel,
    MoERoutingModel,
    ServingCapacityModel,
    ServingModel,
    Systems,
    TrainingMemoryModel,
)
from mlsysim.catalog import builtin
from mlsysim.errors import NotMeasuredError, UnknownNameError
from mlsysim.models import every_model
from mlsysim.study.results.expected_error import ExpectedError, areas

PRODUCT = {"product_rows": 4096, "product_columns": 8192, "product_inner": 8192}
TRAINED = {"batch_size": 1024, "seq_len": 8192, "tp_size": 8, "pp_size": 4, "gradient_accumulation_steps": 8}


def trained(**given):
    return DistributedModel().solve(**{"model": "Llama3_70B", "fleet": "SuperPOD_H100", **TRAINED, **given})


def area(about, output):
    return next(each for each in areas() if each["about"].startswith(about) and output in each["outputs"])


def test_a_number_with_its_source():
    found = KernelModel().solve(hardware="H100", **PRODUCT).expected_error("kernel_time")
    assert isinstance(found, ExpectedError)
    kept = area("matrix products", "kernel_time")
    assert float(found) == found.median == kept["median"]
    assert (found.rows, found.tail, found.worst) == (kept["rows"], kept["tail"], kept["worst"])
    assert found.section == "Kernels: matrix products on A100, H100 and B200"
    assert "kernel_time: 7.1% in the median" in str(found)
    assert found.to_dict()["page"] == "docs/validation/kernels.md"


def test_the_stack_chooses_the_area():
    by_default = trained().expected_error("step_time")
    by_stack = trained(stack="MPT_H100").expected_error("step_time")
    assert by_default.about == "steps of dense models by library defaults"
    assert by_stack.about == "steps of dense models by LLM Foundry, each with its model left out of the stack"
    assert by_stack.median < by_default.median


@pytest.mark.parametrize(
    ("given", "about"),
    [
        ({"model": "Llama3_8B", "stack": "Megatron_LM"}, "runs of dense models"),
        ({"model": "Mixtral_8x7B", "stack": "Megatron_LM", "ep_size": 8, "dp_size": 8}, "runs of models with experts"),
        ({"model": "Llama3_8B", "stack": "HF_Trainer", "finetuning": "qlora"}, "fine-tuning on A100"),
        ({"model": "Llama3_8B", "zero_stage": 3, "dp_size": 8}, "peaks of dense models trained in full under ZeRO"),
    ],
)
def test_the_error_of_a_peak_is_of_its_stack(given, about):
    """A verdict and the error beside it speak of the same runs."""
    found = TrainingMemoryModel("per_operator").solve(hardware="H100", batch_size=8, precision="bf16", **given)
    assert found.expected_error("total_memory").about == about


@pytest.mark.parametrize("size", [256, 128])
def test_the_number_of_devices_may_be_given(size):
    assert float(trained(fleet_size=size).expected_error("step_time")) == float(trained().expected_error("step_time"))


def test_the_nearest_rows_are_named_first_where_none_are_like_it():
    """Of rows on GPUs and on TPUs with one title, those on the kind of device that was asked about."""
    with pytest.raises(NotMeasuredError, match=r"dense models by library defaults: on devices as[^;]* \(tdp\)"):
        trained(tdp="500 W").expected_error("step_time")


def test_a_utilization_is_as_far_off_as_a_rate():
    assert trained().expected_error("mfu").worst == trained().expected_error("tokens_per_second").worst


def test_peak_memory_of_training():
    model = TrainingMemoryModel("per_operator")
    given = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 16, "dp_size": 8}
    found = model.solve(**given, zero_stage=3).expected_error("total_memory")
    assert (found.section, found.rows) == ("torchtitan on H100", 7)
    assert 0.05 < found.median < 0.2 < found.worst < 0.35
    with pytest.raises(NotMeasuredError, match="at zero_stage 1 to 3, not 0"):
        model.solve(**given, zero_stage=0).expected_error("total_memory")


def test_the_capacity_of_a_replica():
    served = {"model": "Llama3_8B", "hardware": "H100", "qps": 20, "target_p99_latency_ms": 4000}
    assert (
        float(ServingCapacityModel("prefill_aware").solve(**served).expected_error("per_replica_qps_capacity")) < 0.01
    )


def test_steps_with_experts_are_those_of_the_stacks_that_ran_them():
    found = DistributedModel().solve(recipe="Megatron_DeepSeek_V3_GB300_fp8").expected_error("tokens_per_second")
    assert found.rows > 90
    assert 0.02 < found.median < 0.08


def test_a_rate_and_its_time_have_errors_of_their_own():
    step = trained()
    assert step.expected_error("step_time").worst < 1 < step.expected_error("tokens_per_second").worst


@pytest.mark.parametrize(
    ("result", "output", "said"),
    [
        (
            lambda: trained(),
            "bubble_time",
            "no error of bubble_time was measured; of DistributedModel there are errors of",
        ),
        (lambda: trained(model="Mixtral_8x7B", stack="MPT_H100"), "step_time", "at experts 1, not 8"),
        (lambda: trained(efficiency=0.5), "step_time", r"not one that was given \(efficiency\)"),
        (lambda: trained(peak_flops="500 TFLOP/s"), "step_time", r"not with a value that was given \(peak_flops\)"),
        (lambda: trained(stack="Megatron_LM"), "step_time", "not Megatron_LM"),
        (
            lambda: KernelModel().solve(hardware="MI300X", **PRODUCT),
            "kernel_time",
            "on A100, H100, H200, B200, not MI300X",
        ),
        (
            lambda: KernelModel("roofline").solve(hardware="H100", **PRODUCT),
            "kernel_time",
            "by roofline; but by smooth, waves",
        ),
        (
            lambda: CollectiveModel().solve(fleet="SuperPOD_H100", collective_ranks=16, message_bytes="1 MiB"),
            "collective_time",
            "at collective_ranks 2 to 8, not 16",
        ),
        (
            lambda: CollectiveModel().solve(
                hardware="B200", stack="NCCL_A100", collective_ranks=8, message_bytes="1 GB"
            ),
            "collective_time",
            "on A100, of which NCCL_A100 is a stack, not B200",
        ),
        (
            lambda: DistributedModel.solve_example(model="Mixtral_8x7B", stack="Megatron_Bridge_B200"),
            "step_time",
            "on B200, of which Megatron_Bridge_B200 is a stack, not H100",
        ),
    ],
)
def test_nothing_is_made_up(result, output, said):
    with pytest.raises(NotMeasuredError, match=said):
        result().expected_error(output)


def test_a_stack_on_its_own_device_and_on_one_that_its_area_names_has_an_error():
    ring = {"collective_ranks": 8, "message_bytes": "1 GB"}
    for device, stack in (("A100", "NCCL_A100"), ("H200", "NCCL_H100"), ("B200", None)):
        found = CollectiveModel().solve(hardware=device, stack=stack, **ring).expected_error("collective_time")
        assert found.rows == 756
    fleet = Systems.Clusters.SuperPOD_H100.changed(node=Systems.Nodes.DGX_H200)
    assert trained(fleet=fleet, stack="torchtitan_H100").expected_error("step_time").rows > 0


def test_an_unknown_output():
    with pytest.raises(UnknownNameError, match="did you mean step_time"):
        trained().expected_error("step_tim")


def test_memory_and_serving():
    memory = TrainingMemoryModel("per_operator").solve("Llama3_8B", "H100", batch_size=8, dp_size=8)
    assert memory.expected_error("weights").worst == 0
    given = {"model": "Llama3_8B", "hardware": "H100", "qps": 20, "target_p99_latency_ms": 4000}
    first, aware = (ServingCapacityModel(variant).solve(**given) for variant in ("first_order", "prefill_aware"))
    assert float(aware.expected_error("qps_capacity")) < 0.01 < float(first.expected_error("qps_capacity"))


def test_the_areas_name_what_there_is():
    models = {model.__name__: model for model in every_model()}
    for each in areas():
        model = models[each["model"]]
        for variant in each["variants"]:
            system = model(variant).system
            assert {*each["outputs"]} <= {v.name for v in system.variables}
            assert {*each["where"]} <= {*model(variant).arguments}
        assert 0 <= each["median"] <= each["tail"] <= each["worst"]


FLEET = {**dict.fromkeys(EconomicsModel.example), "variant": "owned_serving", "model": "Llama3_8B", "hardware": "H100",
         "qps": 20, "target_p99_latency_ms": 4000, "price": "30000 USD"}  # fmt: skip
COUNTED = ("deployed_replicas", "required_replicas")
STANDING = [
    (EconomicsModel, {}, "total_cost", "training_time of DistributedModel"),
    (EconomicsModel, FLEET, "required_replicas", "qps_capacity of ServingCapacityModel"),
    (EconomicsModel, {}, "mfu", "mfu of DistributedModel"),
    (EconomicsModel, {}, "total_memory", "total_memory of TrainingMemoryModel"),
    (ServingModel, {}, "deployed_replicas", "output_tokens_per_second of IterationModel"),
    (ServingModel, {"variant": "chunked_estimate"}, "tpot_mean", "output_tokens_per_second of IterationModel"),
    (ExpertParallelModel, {"recipe": "Megatron_DeepSeek_V3_GB300_fp8", "variant": "per_operator", "ep_size": None},
     "tokens_per_second_per_accelerator", "tokens_per_second_per_accelerator of DistributedModel"),
]  # fmt: skip


@pytest.mark.long(quick=1)
@pytest.mark.parametrize(("model", "changed", "output", "follows"), STANDING)
def test_a_model_takes_over_the_error_of_the_model_it_stands_on(model, changed, output, follows):
    found = model.solve_example(**changed).expected_error(output)
    assert (found.output, found.follows) == (output, follows)
    told = "not of the count but of" if output in COUNTED else "by"
    assert f"{output}: {told} {follows}, {found.median:.1%} in the median" in str(found)


@pytest.mark.parametrize(
    ("model", "output", "said"),
    [
        (EconomicsModel, "energy", "no error of energy was measured"),
        (ServingModel, "ttft_p99", "no error of ttft_p99 was measured"),
        (ExpertParallelModel, "tokens_per_second_per_accelerator", "not torchtitan_H20"),
        (ExpertParallelModel, "total_memory", "no error of total_memory was measured"),
    ],
)
def test_what_the_model_below_was_not_measured_of_is_not_made_up(model, output, said):
    with pytest.raises(NotMeasuredError, match=said):
        model.solve_example().expected_error(output)


def test_a_closed_loop_has_errors_of_its_own_and_an_open_one_those_of_iterations():
    loop = {"isl": 5000, "osl": 500, "concurrency": 25, "request_rate": 0, "ttft_slo": 0, "tpot_slo": 0, "tp_size": 2}
    closed = ServingModel.solve_example(variant="chunked", **loop)
    assert closed.expected_error("tokens_per_second").rows == 5
    assert float(closed.expected_error("ttft_mean")) > 3 * float(closed.expected_error("tpot_mean")) > 0
    routed = [MoERoutingModel(variant).solve(**{**MoERoutingModel.example, "precision": "bf16"}).expected_error(
        "token_dispatch_bytes") for variant in ("per_layer", "first_order")]  # fmt: skip
    assert float(routed[0]) < 0.01 < float(routed[1])


def test_foundations_name_what_there_is():
    for model in every_model():
        for each in model.foundations:
            below = {v.name for v in each.model(each.variant).system.variables}
            assert {*each.outputs.values()} <= below
            for variant in each.variants or model.variants:
                assert variant in model.variants


def test_a_price_that_is_typed_leaves_the_error_of_the_time():
    step = {**DistributedModel.example, "training_tokens": 1e12, "price": 30000}
    owned, bare = EconomicsModel("owned_training").solve(**step), DistributedModel().solve(**DistributedModel.example)
    assert float(owned.expected_error("total_cost")) == float(bare.expected_error("training_time"))


def test_the_spread_of_steps_in_the_catalog_is_their_median_error():
    """A median error as a standard deviation; library defaults are those of GPUs, which are held against the most."""
    timed = [each for each in areas() if each["model"] == "DistributedModel" and "training_time" in each["outputs"]]
    dense = sorted((each for each in timed if each["where"]["experts"] == [1, 1]), key=lambda each: each["rows"])
    medians = {stack: each["median"] for each in dense for stack in each["stacks"]}
    assert "Generic" in medians
    for stack, median in medians.items():
        assert builtin().entry(f"Stacks.{stack}").step_spread.value == pytest.approx(1.4826 * median, rel=0.05)
