"""Every way a user may write a value down."""

import re
from fractions import Fraction

import numpy as np
import pint
import pytest

from mlsysim import (
    Q_,
    DistributedModel,
    Hardware,
    Models,
    MoERoutingModel,
    ServingCapacityModel,
    ServingModel,
    SparseTransformerWorkload,
    Systems,
    TrainingMemoryModel,
    load_catalog,
    ureg,
)
from mlsysim.errors import InputError, UnknownNameError

FOREIGN = pint.UnitRegistry()
MEMORY = {"model": Models.Language.Llama3_8B, "hardware": Hardware.Cloud.H100, "batch_size": 8}
SERVING = {
    "model": Models.Language.Llama3_8B,
    "hardware": Hardware.Cloud.H100,
    "qps": 20,
    "target_p99_latency_ms": 2000,
}
ROUTING = {
    "model": Models.Language.Mixtral_8x7B,
    "fleet": Systems.Clusters.Research_256,
    "batch_size": 4,
    "ep_size": 8,
}


def memory(**given):
    return TrainingMemoryModel().solve(**{**MEMORY, **given})


def serving(**given):
    return ServingCapacityModel().solve(**{**SERVING, **given})


def routing(**given):
    return MoERoutingModel().solve(**{**ROUTING, **given})


@pytest.mark.parametrize(
    "value",
    [
        80,
        80.0,
        np.float64(80),
        np.float32(80),
        np.int64(80),
        np.array(80),
        Fraction(80),
        "80 GB",
        "80GB",
        " 80 GB ",
        "0.08 TB",
        "80e9 byte",
        "640 Gbit",
        Q_(80, "GB"),
        Q_(80.0, "GB"),
        80 * ureg.GB,
        Q_(np.array(80.0), "GB"),
        FOREIGN.Quantity(80, "GB"),
        FOREIGN.Quantity(0.08, "terabyte"),
    ],
    ids=repr,
)
def test_one_capacity_in_all_its_forms(value):
    found = memory(memory_capacity=value)
    assert found.memory_capacity.to("byte").magnitude == pytest.approx(80e9, rel=1e-15)
    assert found.canonical("memory_capacity") == pytest.approx(80e9, rel=1e-15)
    assert found.memory_capacity.units == ureg.GB
    assert found.source("memory_capacity") == "given"


@pytest.mark.parametrize("value", ["80 GiB", Q_(80, "GiB"), FOREIGN.Quantity(80, "GiB")], ids=repr)
def test_binary_units_are_not_decimal_ones(value):
    assert memory(memory_capacity=value).canonical("memory_capacity") == 80 * 2**30


@pytest.mark.parametrize(
    "value",
    [8, 8.0, np.int8(8), np.uint64(8), np.float16(8), np.array(8), Fraction(16, 2), "8", "8 count", 8 * ureg.count],
    ids=repr,
)
def test_one_batch_size_in_all_its_forms(value):
    found = memory(batch_size=value)
    assert found.batch_size == 8
    assert type(found.batch_size) is int


@pytest.mark.parametrize("value", [2048, "2048 token", "2048 tokens", 2048 * ureg.token, Q_(2.048, "ktoken")], ids=repr)
def test_one_sequence_length_in_all_its_forms(value):
    assert memory(seq_len=value).seq_len == 2048 * ureg.token


@pytest.mark.parametrize("value", [20, "20 QPS", "20 requests/s", "1200 request/min", 20 * ureg.QPS], ids=repr)
def test_one_rate_in_all_its_forms(value):
    found = serving(qps=value)
    assert found.qps == pytest.approx(20, rel=1e-15)
    assert isinstance(found.qps, float)


@pytest.mark.parametrize("value", [2000, "2000 ms", "2 s", Q_(2, "s"), FOREIGN.Quantity(2, "second")], ids=repr)
def test_one_target_in_all_its_forms(value):
    assert serving(target_p99_latency_ms=value).target_p99_latency_ms == pytest.approx(2000, rel=1e-15)


@pytest.mark.parametrize("value", [0.5, "0.5", "50%", "50 percent", Q_(50, "%"), Fraction(1, 2)], ids=repr)
def test_one_share_in_all_its_forms(value):
    assert memory(trainable_fraction=value).trainable_fraction == 0.5


@pytest.mark.parametrize("value", [8.03e9, "8.03e9", "8.03e9 params", 8.03e9 * ureg.count], ids=repr)
def test_one_parameter_count_in_all_its_forms(value):
    assert memory(parameters=value).parameters == 8.03e9


@pytest.mark.parametrize("value", ["bf16", np.str_("bf16")], ids=repr)
def test_labels(value):
    assert memory(precision=value).precision == "bf16"


@pytest.mark.parametrize("hardware", ["A100", "Cloud.A100", "Hardware.Cloud.A100", Hardware.Cloud.A100], ids=str)
def test_entries_by_name_or_as_objects(hardware):
    assert memory(hardware=hardware).canonical("memory_capacity") == Hardware.Cloud.A100.memory_capacity.canonical


def test_entries_without_a_name_in_the_order_of_the_signature():
    found = TrainingMemoryModel().solve("Llama3_8B", Hardware.Cloud.H100, batch_size=8)
    assert found.to_dict() == memory().to_dict()
    assert MoERoutingModel().solve("Mixtral_8x7B", "Research_256", batch_size=4, ep_size=8).to_dict() == (
        routing().to_dict()
    )
    assert TrainingMemoryModel().solve("Llama3_8B", hardware="H100", batch_size=8).to_dict() == memory().to_dict()


def test_every_input_an_entry_gives_can_be_overridden():
    found = memory(memory_capacity="40 GB", parameters=7e9, layers=30, hidden_dim=4000, heads=40, experts=4)
    assert found.memory_capacity == Q_(40, "GB")
    assert (found.parameters, found.layers, found.hidden_dim, found.heads, found.experts) == (7e9, 30, 4000, 40, 4)
    for name in ("memory_capacity", "parameters", "layers", "hidden_dim", "heads", "experts"):
        assert found.source(name) == "given"


def test_an_override_changes_only_what_depends_on_it():
    plain, tight = memory(), memory(memory_capacity="40 GB")
    assert plain.total_memory == tight.total_memory
    assert tight.memory_utilization == pytest.approx(plain.memory_utilization * 81559 * 2**20 / 40e9, rel=1e-15)
    assert (plain.feasible, tight.feasible) == (False, False)
    assert memory(memory_capacity="200 GB").feasible is True


def test_a_model_can_do_without_entries_altogether():
    given = {name: getattr(memory(), name) for name in ("parameters", "layers", "hidden_dim", "heads", "experts")}
    found = TrainingMemoryModel().solve(**given, memory_capacity=81559 * ureg.MiB, batch_size=8)
    assert found.outputs == memory().outputs
    assert found.to_dict()["entries"] == {}


@pytest.mark.parametrize("name", ["seq_len", "precision", "zero_stage", "parameters", "memory_capacity"])
def test_none_means_not_given(name):
    assert memory(**{name: None}).to_dict() == memory().to_dict()


def test_defaults_are_marked_as_such():
    found = memory()
    assert found.seq_len == 2048 * ureg.token
    assert found.source("seq_len") == "default"
    assert found.source("batch_size") == "given"
    assert memory(seq_len=2048).source("seq_len") == "given"


def test_a_peak_rate_is_that_of_the_precision():
    rates = {p: serving(precision=p).peak_flops.to("TFLOP/s").magnitude for p in ("fp32", "fp16", "fp8", "int8")}
    assert rates == {"fp32": 67, "fp16": 989, "fp8": 1979, "int8": 1979}
    assert serving(precision="int4", peak_flops="2 PFLOP/s").peak_flops == Q_(2, "PFLOP/s")


def test_without_grouped_queries_every_head_keeps_keys_and_values():
    found = ServingCapacityModel().solve("GPT3_175B", "H100", qps=1, target_p99_latency_ms=2000)
    assert found.kv_heads == found.heads == 96


def test_latent_attention_keeps_one_compressed_vector():
    found = ServingCapacityModel().solve("DeepSeek_V3", "H100", qps=1, target_p99_latency_ms=2000)
    assert found.kv_lora_rank == 512
    assert found.kv_bytes_per_token.to("byte/token").magnitude == 61 * (512 + 64) * 2
    plain = ServingCapacityModel().solve(
        "DeepSeek_V3", "H100", qps=1, target_p99_latency_ms=2000, kv_lora_rank=0, qk_rope_head_dim=0
    )
    assert plain.kv_bytes_per_token.to("byte/token").magnitude == 2 * 61 * 7168 * 2


def test_a_dense_model_has_one_expert():
    assert memory().experts == 1
    assert memory(model="Mixtral_8x7B").experts == 8


def test_published_and_exact_parameter_counts_are_told_apart():
    published = memory(dp_size=8, zero_stage=2)
    exact = memory(model=Models.Language.Llama3_8B.counted(), dp_size=8, zero_stage=2)
    assert (published.parameters, exact.parameters) == (8.03e9, 8030261248)
    assert f"{published.optimizer_state.magnitude:.2f}" == "12.04"
    assert f"{exact.optimizer_state.magnitude:.2f}" == "12.05"


def test_a_workload_built_by_hand():
    toy = SparseTransformerWorkload(
        name="toy",
        parameters="64e9 params",
        active_parameters=8e9 * ureg.count,
        experts=8,
        active_experts_per_token=2,
        layers=32,
        hidden_dim=4096,
        heads=32,
    )
    found = routing(model=toy, routing_imbalance_factor=1.25)
    assert found.effective_active_parameters == 1e10
    assert found.source("experts") == "8 (user: given by the caller)"


OWN = """
[Hardware.Mine.Chip]
name = "My chip"
source = "https://example.org/chip"
date = "2025-05"
kind = "measured"
memory_capacity = "48 GiB"
memory_bandwidth = "1.5 TB/s"
peak_flops = { fp16 = "200 TFLOP/s" }

[Models.Mine.Small]
name = "Small"
source = "https://example.org/small"
date = "2025-05"
kind = "measured"
parameters = 1e9
layers = 16
hidden_dim = 2048
heads = 16
"""


def test_entries_of_a_users_own_file(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(OWN, encoding="utf-8")
    own = load_catalog(file)
    found = serving(model=own.Models.Mine.Small, hardware=own.Hardware.Mine.Chip)
    assert found.peak_flops == Q_(200, "TFLOP/s")
    assert found.canonical("memory_capacity") == 48 * 2**30
    assert found.source("memory_capacity") == "48 GiB (measured: https://example.org/chip, 2025-05)"
    assert found.kv_heads == 16
    mixed = memory(hardware=own.Hardware.Mine.Chip)
    assert mixed.to_dict()["entries"] == {"model": "Llama 3 8B", "hardware": "My chip"}


@pytest.mark.parametrize("axis", [[1, 2], (1,), range(3), np.array([1, 2]), {1}, [1, 2] * ureg.count], ids=repr)
def test_solve_takes_one_value_and_points_to_sweep(axis):
    with pytest.raises(ValueError, match=r"solve\(\) takes one value; use sweep\(batch_size=\.\.\.\) for many$"):
        memory(batch_size=axis)


@pytest.mark.parametrize("model", [DistributedModel, MoERoutingModel])
def test_the_spelling_of_the_tutorial_is_understood(model):
    point = {"model": "Mixtral_8x7B", "fleet": "Research_256", "batch_size": 256, "ep_size": 8}
    named, spelled = (
        model().solve(**point, **{name: 1.5}) for name in ("routing_imbalance_factor", "moe_routing_imbalance_factor")
    )
    assert named.inputs == spelled.inputs
    assert "moe_routing_imbalance_factor" not in spelled.inputs
    with pytest.raises(InputError, match=r"^routing_imbalance_factor=2: is given twice; once as moe_routing"):
        model().solve(**point, routing_imbalance_factor=2, moe_routing_imbalance_factor=2)
    with pytest.raises(InputError, match=r"^routing_imbalance_factor=0\.5"):
        model().solve(**point, moe_routing_imbalance_factor=0.5)
    grid = model().sweep(**point, moe_routing_imbalance_factor=[1, 2])
    assert grid.sizes == {"routing_imbalance_factor": 2}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            "prefil_tp_size",
            "did you mean prefill_tp_size, prefill_pp_size, prefill_ep_size?; variant=disaggregated ",
        ),
        ("prefil_workers", "did you mean prefill_workers?; variant=disaggregated has prefill_workers"),
        ("tensor_parallel_size", "did you mean tp_size?"),
        ("pipeline_parallel_size", "did you mean pp_size?"),
        ("data_parallel_size", "did you mean num_replicas, dp_attention_size?"),
        ("max_concurrency", "did you mean concurrency?"),
        ("input_len", "did you mean isl?"),
        ("output_len", "did you mean osl?"),
        ("request-rate", "did you mean request_rate?"),
    ],
)
def test_a_wrong_name_is_told_the_right_one(typed, said):
    model = ServingModel("colocated")
    point = {**ServingModel.example, typed: 2}
    for ask in (lambda: model.solve(**point), lambda: model.sweep(**{**point, "isl": [100, 200]})):
        with pytest.raises(UnknownNameError, match=re.escape(said)):
            ask()


def test_replicas_are_given_or_as_few_as_hold_what_is_promised():
    asked = {**ServingModel.example, "hardware": "H100", "request_rate": 40}
    fewest, none, six = (ServingModel().solve(**asked, **given) for given in ({}, {"replicas": None}, {"replicas": 6}))
    assert none.inputs == fewest.inputs
    assert none["deployed_replicas"] == fewest["deployed_replicas"] < 6
    assert six["deployed_replicas"] == 6
    assert six.inputs == ServingModel().solve(**asked, num_replicas=6).inputs
    assert "replicas" not in six.inputs
