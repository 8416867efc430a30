"""Grids: a sweep is a loop of solve, with names, units and labels on it."""

import itertools
import json

import numpy as np
import pint
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlsysim import (
    Q_,
    Hardware,
    Models,
    MoERoutingModel,
    ServingCapacityModel,
    Systems,
    TrainingMemoryModel,
    linked,
    load_catalog,
    ureg,
)
from mlsysim.errors import InputError, MissingInputError, UnitError, UnknownNameError
from mlsysim.symbolic import variable_of

MEMORY, SERVING, ROUTING = TrainingMemoryModel(), ServingCapacityModel(), MoERoutingModel()
POINTS = {
    MEMORY: {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8},
    SERVING: {"model": "Llama3_8B", "hardware": "H100", "qps": 20, "target_p99_latency_ms": 4000},
    ROUTING: {"model": "Mixtral_8x7B", "fleet": "Research_256", "batch_size": 4, "ep_size": 8},
}
OWN = """
[Systems.Fabrics.Fast]
name = "Fast"
source = "https://example.org/fast"
date = "2025-01"
kind = "assumed"
bandwidth = "50 GB/s"
latency = "5 us"
oversubscription = 2

[Systems.Clusters.Fast]
name = "Fast cluster"
source = "https://example.org/fast"
date = "2025-01"
kind = "assumed"
node = "Systems.Nodes.DGX_H100"
count = 4
fabric = "Systems.Fabrics.Fast"
"""


@pytest.fixture(scope="module")
def fast(tmp_path_factory):
    file = tmp_path_factory.mktemp("catalog") / "fast.toml"
    file.write_text(OWN, encoding="utf-8")
    return load_catalog(file).Systems.Clusters.Fast


def shown(name, value):
    """What a data set holds for a value that a result shows."""
    domain = variable_of(name).domain
    if domain.kind == "choice":
        return domain.labels.index(value)
    return getattr(value, "magnitude", value)


def assert_equals_a_loop_of_solve(model, arguments, axes):
    """Every output at every point of the grid, compared with one solve."""
    every = [v.name for v in model.outputs]
    fixed = {name: value for name, value in arguments.items() if name not in axes}
    grid = model.sweep(outputs=every, **fixed, **axes)
    typed = {name: list(values) for name, values in axes.items()}
    assert grid.sizes == {name: len(values) for name, values in typed.items()}
    order = list(axes)
    assert list(grid.sizes) == order
    for place in itertools.product(*(range(len(typed[name])) for name in order)):
        at = dict(zip(order, place, strict=True))
        solved = model.solve(**{**arguments, **{name: typed[name][index] for name, index in at.items()}})
        for name in every:
            assert grid[name].dims == tuple(order)
            found = grid[name].isel(at).item()
            wanted = shown(name, solved[name])
            if variable_of(name).domain.kind in ("choice", "boolean"):
                assert found == wanted, (name, at)
            else:
                assert found == pytest.approx(wanted, rel=1e-12, abs=0), (name, at)


def axis(values, most=3):
    """Distinct values in any order."""
    return st.lists(values, min_size=1, max_size=most, unique=True)


def real(low, high):
    return st.floats(low, high, allow_nan=False)


WHOLE = st.integers(1, 4096)
LABELS = {name: st.sampled_from(variable_of(name).domain.labels) for name in ("optimizer", "activation_checkpointing")}
POOLS = {
    MEMORY: {
        "model": st.sampled_from(["Llama3_8B", "Mixtral_8x7B", "Llama3_70B", Models.Language.GPT3_175B]),
        "hardware": st.sampled_from(["H100", "A100", "A100_40GB", "MI300X", Hardware.Cloud.H200]),
        "batch_size": WHOLE,
        "seq_len": st.integers(1, 200_000),
        "precision": st.sampled_from(["fp32", "tf32", "bf16", "fp16", "fp8", "int8", "int4"]),
        **LABELS,
        "zero_stage": st.integers(0, 3),
        "dp_size": WHOLE,
        "tp_size": st.sampled_from([1, 2, 4, 8]),
        "pp_size": st.integers(1, 32),
        "gradient_accumulation_steps": st.integers(1, 64),
        "trainable_fraction": real(0, 1).filter(lambda x: x == 0 or x > 1e-20),
        "communication_buffer_fraction": real(0, 1).filter(lambda x: x == 0 or x > 1e-20),
        "parameters": real(1, 1e15),
        "layers": st.integers(32, 200),
        "hidden_dim": st.integers(1, 100_000),
        "memory_capacity": st.sampled_from(["24 GB", "80 GB", "80 GiB", 192, 0.5 * ureg.TB]),
    },
    SERVING: {
        "model": st.sampled_from(["Llama3_8B", "Mixtral_8x7B", "Llama3_70B", "GPT3_175B", "DeepSeek_V3", "OPT_13B"]),
        "hardware": st.sampled_from(["H100", "H200", "MI300X"]),
        "precision": st.sampled_from(["fp32", "bf16", "fp16", "fp8", "int8"]),
        "qps": real(0.01, 500),
        "target_p99_latency_ms": real(100, 60_000),
        "seq_len": st.integers(1, 20_000),
        "output_tokens": st.integers(1, 2000),
        "max_batch_size": st.integers(1, 256),
        "efficiency": real(0.01, 1),
        "max_replicas": st.integers(1, 2000),
        "service_time_cv": real(0, 3).filter(lambda x: x == 0 or x > 1e-20),
        "kv_page_size": st.integers(1, 512),
        "dispatch_tax": real(0, 100).filter(lambda x: x == 0 or x > 1e-20),
        "layer_tax": real(0, 1).filter(lambda x: x == 0 or x > 1e-20),
        "memory_bandwidth": real(100, 10_000),
        "peak_flops": real(10, 5000),
        "memory_capacity": real(10, 1000),
    },
    ROUTING: {
        "model": st.sampled_from(["Mixtral_8x7B", "DeepSeek_V3"]),
        "batch_size": WHOLE,
        "seq_len": st.integers(1, 200_000),
        "precision": st.sampled_from(["fp32", "tf32", "bf16", "fp16", "fp8", "int8", "int4"]),
        "ep_size": st.sampled_from([1, 2, 4, 8]),
        "routing_imbalance_factor": real(1, 300),
        "active_parameters": real(1, 1e13),
        "hidden_dim": st.integers(1, 100_000),
        "experts": st.sampled_from([8, 16, 64, 256]),
        "active_experts_per_token": st.integers(1, 8),
        "fabric_bandwidth": real(0.1, 1000),
        "fabric_latency": real(0, 1000).filter(lambda x: x == 0 or x > 1e-20),
        "oversubscription": real(1, 16),
    },
}


@st.composite
def grids(draw, model):
    names = draw(st.lists(st.sampled_from(sorted(POOLS[model])), min_size=1, max_size=3, unique=True))
    return {name: draw(axis(POOLS[model][name], most=3 if len(names) < 3 else 2)) for name in names}


def example_grid(model):
    @settings(
        derandomize=True,
        deadline=None,
        max_examples=15,
        suppress_health_check=list(HealthCheck),
    )
    @given(grids(model))
    def check(axes):
        assert_equals_a_loop_of_solve(model, POINTS[model], axes)

    return check


def test_memory_on_random_grids():
    example_grid(MEMORY)()


def test_serving_on_random_grids():
    example_grid(SERVING)()


def test_routing_on_random_grids():
    example_grid(ROUTING)()


#: Two or three values of every argument of every model.
EVERY_ARGUMENT = {
    MEMORY: {
        "model": ["Llama3_8B", Models.Language.Mixtral_8x7B],
        "hardware": ["H100", Hardware.Cloud.A100_40GB],
        "recipe": ["torchtitan_issue_1624", "Megatron_Qwen3_30B_A3B_H100"],
        "batch_size": range(1, 4),
        "seq_len": [512, 2048 * ureg.token, "4096 token"],
        "precision": ["fp32", "bf16", "int4"],
        "optimizer": ["adam", "sgd", "none"],
        "activation_checkpointing": ("none", "selective", "full"),
        "zero_stage": np.arange(4),
        "dp_size": [1, 8],
        "tp_size": [1, 2, 32],
        "pp_size": [1, 3, 32],
        "ep_size": [1],
        "gradient_accumulation_steps": [1, 3],
        "trainable_fraction": np.linspace(0, 1, 3),
        "communication_buffer_fraction": [0, "5 %", 1.0],
        "parameters": [1e9, "8.03e9 params"],
        "layers": [32, 33],
        "hidden_dim": [4096, 8192],
        "heads": [16, 32],
        "experts": [1, 8],
        "memory_capacity": ["40 GB", "80 GiB"],
    },
    SERVING: {
        "model": ["Llama3_8B", "DeepSeek_V3", "GPT3_175B"],
        "hardware": ["H100", "A100"],
        "stack": ["Generic", "Ideal"],
        "qps": [1, 30.5, 500],
        "target_p99_latency_ms": ["100 ms", "4 s"],
        "seq_len": [1, 1000, 2048],
        "output_tokens": [1, 64],
        "max_batch_size": [1, 32, 4096],
        "precision": ["fp16", "fp8"],
        "efficiency": [0.1, 1],
        "max_replicas": [1, 1024],
        "service_time_cv": [0.0, 1, 2.5],
        "kv_page_size": [1, 16, 1000],
        "dispatch_tax": [0, 0.01],
        "layer_tax": [0, "10 us"],
        "parameters": [1e9, 1e12],
        "layers": [1, 80],
        "hidden_dim": [4096, 8192],
        "heads": [32, 64],
        "kv_heads": [1, 8, 32],
        "kv_lora_rank": [0, 512],
        "qk_rope_head_dim": [0, 64],
        "memory_capacity": [16.1, 80],
        "memory_bandwidth": [2039, "3.35 TB/s"],
        "peak_flops": [312, "989 TFLOP/s"],
        "attention_peak_flops": [312, "989 TFLOP/s"],
        "tdp": [400, "0.7 kW"],
        "power_limit": [0, 400, "0.6 kW"],
        "idle_power_fraction": [0, 0.12],
        "busy_power": [0, 1.1],
        "flop_power": [0, 5.21],
        "format_energy": [0.5, 1],
        "cap_exponent": [1, 2.4],
        "host_power_fraction": [0, 0.45],
        "duration": [1, "1 year"],
        "pue": [1, 1.2],
        "grid": ["World", "Sweden"],
        "grid_carbon": [0, "0.4 kg/kWh"],
        "grid_water": [0, "3 L/kWh"],
        "site_water": [0, "0.5 L/kWh"],
        "embodied_device": [0, 164],
        "embodied_host": [0, 712.5],
        "lifetime": [365, "4 year"],
        "used_share": [0.5, 1],
    },
    ROUTING: {
        "model": ["Mixtral_8x7B", "DeepSeek_V3"],
        "fleet": ["Research_256"],
        "batch_size": [1, 4, 5],
        "seq_len": [1, 2048],
        "precision": ["fp32", "fp8", "int4"],
        "ep_size": [1, 2, 4, 8],
        "routing_imbalance_factor": [1.0, 1.25, 10],
        "active_parameters": [1e9, 12.9e9],
        "hidden_dim": [4096, 7168],
        "expert_input_dim": [0, 1024],
        "experts": [8, 16],
        "active_experts_per_token": [1, 2, 8],
        "fabric_bandwidth": ["100 Gbit/s", "400 Gbit/s"],
        "fabric_latency": [0, 50],
        "oversubscription": [1, 1.5, 4],
        "fleet_size": [8, 256],
    },
}


@pytest.mark.parametrize(
    ("model", "name"),
    [(model, name) for model, arguments in EVERY_ARGUMENT.items() for name in arguments],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_every_argument_sweeps(model, name):
    arguments = dict(POINTS[model])
    if (model, name) in ((MEMORY, "ep_size"), (MEMORY, "experts")):
        arguments["model"] = "Mixtral_8x7B"
    if (model, name) == (SERVING, "qk_rope_head_dim"):
        arguments["kv_lora_rank"] = 512
    if name == "hardware":
        arguments["precision"] = "bf16"
    if name == "recipe":
        arguments["ep_size"] = 1
    assert_equals_a_loop_of_solve(model, arguments, {name: EVERY_ARGUMENT[model][name]})


def test_the_list_above_names_every_argument():
    assert {model: set(arguments) for model, arguments in EVERY_ARGUMENT.items()} == {
        model: set(model.arguments) for model in EVERY_ARGUMENT
    }


class TestDevicesByPrecision:
    """The peak rate is a table over device and precision."""

    axes = {"hardware": ["H100", "H200", "MI300X"], "precision": ["fp32", "fp16", "fp8"]}

    @pytest.mark.parametrize("order", [("hardware", "precision"), ("precision", "hardware")])
    def test_equals_a_loop(self, order):
        assert_equals_a_loop_of_solve(SERVING, POINTS[SERVING], {name: self.axes[name] for name in order})

    def test_beside_a_third_axis(self):
        axes = {"precision": ["fp16", "fp8"], "qps": [1, 30], "hardware": ["H100", "MI300X"]}
        assert_equals_a_loop_of_solve(SERVING, POINTS[SERVING], axes)

    def test_a_rate_by_hand_wins(self):
        axes = {"hardware": ["H100", "A100"], "precision": ["fp16", "fp8"], "peak_flops": [100, 200]}
        assert_equals_a_loop_of_solve(SERVING, POINTS[SERVING], axes)

    def test_one_device_without_the_rate_is_refused(self):
        with pytest.raises(InputError, match=r"^precision='fp8': NVIDIA A100 SXM4 80 GB has no rate for it"):
            SERVING.sweep(**{**POINTS[SERVING], "hardware": ["H100", "A100"], "precision": ["fp16", "fp8"]})


def test_dense_and_latent_attention_models_share_a_grid():
    axes = {"model": ["Llama3_8B", "DeepSeek_V3", "OPT_13B"], "memory_capacity": ["80 GB", "2 TB"]}
    assert_equals_a_loop_of_solve(SERVING, POINTS[SERVING], axes)


def test_fleets_of_ones_own_beside_the_built_in_one(fast):
    axes = {"fleet": ["Research_256", fast], "ep_size": [2, 8]}
    assert_equals_a_loop_of_solve(ROUTING, POINTS[ROUTING], axes)
    found = ROUTING.sweep(**{**POINTS[ROUTING], **axes})
    assert found.fleet.values.tolist() == ["Research_256", "Fast"]


class TestLabels:
    grid = MEMORY.sweep(
        "Llama3_8B",
        hardware=["H100", Hardware.Cloud.A100],
        batch_size=range(8, 17, 4),
        precision=("fp16", "fp8"),
        dp_size=8,
    )

    def test_dimensions_stand_in_the_order_typed(self):
        assert tuple(self.grid.sizes) == ("hardware", "batch_size", "precision")
        assert dict(self.grid.sizes) == {"hardware": 2, "batch_size": 3, "precision": 2}

    def test_names_are_coordinates(self):
        assert self.grid.hardware.values.tolist() == ["H100", "A100"]
        assert self.grid.precision.values.tolist() == ["fp16", "fp8"]

    def test_whole_numbers_stay_whole(self):
        assert self.grid.batch_size.dtype == np.int64
        assert self.grid.batch_size.values.tolist() == [8, 12, 16]

    def test_selection_by_name_works(self):
        one = self.grid.sel(hardware="H100", batch_size=8, precision="fp8")
        assert one.weights.item() == pytest.approx(8.03, rel=1e-14)

    def test_the_headline_outputs_are_the_default(self):
        assert list(self.grid.data_vars) == list(TrainingMemoryModel.headline)

    def test_units_names_and_symbols_are_attributes(self):
        attrs = self.grid.total_memory.attrs
        named = {"long_name": "Memory one rank needs", "label": "Total memory"}
        assert attrs == {**named, "latex": "M", "units": "GB"}
        assert self.grid.memory_utilization.attrs["latex"] == r"\rho_M"
        assert "units" not in self.grid.memory_utilization.attrs
        named = {"long_name": "Sequences per step, over all ranks", "label": "Batch size"}
        assert self.grid.batch_size.attrs == {**named, "latex": "b"}

    def test_truth_values_are_booleans(self):
        assert self.grid.feasible.dtype == bool

    def test_the_data_set_says_what_made_it(self):
        attrs = self.grid.attrs
        assert (attrs["model"], attrs["variant"]) == ("TrainingMemoryModel", "first_order")
        assert json.loads(attrs["entries"]) == {"model": "Llama 3 8B"}
        fixed = json.loads(attrs["fixed_inputs"])
        assert (fixed["dp_size"], fixed["parameters"], fixed["seq_len"]) == ("8", "8.03e9", "2048 token")
        assert not {"batch_size", "precision", "memory_capacity"} & set(fixed)


def test_every_numeric_output_carries_its_unit():
    for model, arguments in POINTS.items():
        grid = model.sweep(**{**arguments, "seq_len": [1024]}, outputs=[v.name for v in model.outputs])
        for v in model.outputs:
            numeric = v.domain.kind in ("real", "integer")
            assert grid[v.name].attrs.get("units", "") == (v.unit if numeric and v.dimension else "")
            assert grid[v.name].attrs["long_name"] == v.description.rstrip(".")


def test_a_label_output_is_a_code_with_its_meanings():
    grid = SERVING.sweep(
        "Llama3_8B", "H100", qps=[20, 500], target_p99_latency_ms=[100, 4000], max_replicas=5, outputs=["bottleneck"]
    )
    meanings = grid.bottleneck.attrs["flag_meanings"].split()
    assert meanings == ["Memory", "Base_Latency", "Capacity", "Tail_Latency", "Feasible"]
    assert grid.bottleneck.attrs["flag_values"].tolist() == [0, 1, 2, 3, 4]
    named = [[meanings[code] for code in row] for row in grid.bottleneck.values]
    assert named == [["Base_Latency", "Feasible"], ["Base_Latency", "Capacity"]]


def test_counts_are_whole_unless_one_is_infinite():
    finite = SERVING.sweep(**{**POINTS[SERVING], "qps": [20, 100]})
    assert finite.required_replicas.dtype == np.int64
    mixed = SERVING.sweep(**{**POINTS[SERVING], "qps": [20, 100], "max_replicas": 2})
    assert mixed.required_replicas.values.tolist() == [1.0, np.inf]


def test_counts_beyond_64_bits_keep_their_value():
    rates = [20, 1e22]
    found = SERVING.sweep(**{**POINTS[SERVING], "qps": rates}).required_replicas
    solved = [SERVING.solve(**{**POINTS[SERVING], "qps": rate}).required_replicas for rate in rates]
    assert solved[1] > 2**63
    np.testing.assert_allclose(found.values, np.array(solved, float), rtol=1e-12)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"batch_size": np.ma.array([1, 2, 4], mask=[0, 1, 0])}, "batch_size=.* has masked values"),
        ({"seq_len": Q_(np.ma.array([1.0, 2], mask=[0, 1]), "token")}, "seq_len=.* has masked values"),
        ({"tp_size": [1, np.ma.masked]}, "tp_size=masked: has masked values"),
        ({"gradient_accumulation_steps": np.ma.array(3, mask=True)}, "gradient_accumulation_steps=.* has masked"),
        ({"pair": linked(tp_size=np.ma.array([1, 2], mask=[0, 1]), pp_size=[1, 2])}, "tp_size=.* has masked values"),
        ({"precision": np.ma.array(["fp16", "bf16"], mask=[0, 1])}, "precision=.* has masked values"),
        ({"hardware": np.ma.array(["H100", "A100"], mask=[0, 1])}, "hardware=masked: must be an entry"),
    ],
)
def test_a_masked_value_is_refused(axes, message):
    """What a mask hides is not meant; the number under it must not be used."""
    with pytest.raises(InputError, match=f"(?s){message}"):
        MEMORY.sweep(**POINTS[MEMORY] | {"zero_stage": [0, 1]} | axes)


def test_a_masked_array_that_hides_nothing_is_an_array():
    found = MEMORY.sweep(**POINTS[MEMORY] | {"batch_size": np.ma.array([1, 2])})
    assert found.batch_size.values.tolist() == [1, 2]


class TestQuantitiesAsAxes:
    def test_the_axis_keeps_its_unit(self):
        grid = MEMORY.sweep(**{**POINTS[MEMORY], "memory_capacity": [40960, 81559] * ureg.MiB})
        assert grid.memory_capacity.values.tolist() == [40960, 81559]
        assert grid.memory_capacity.attrs["units"] == "MiB"
        assert grid.memory_utilization.values[1] == MEMORY.solve(**POINTS[MEMORY]).memory_utilization

    def test_a_compound_unit_prints_as_usual(self):
        grid = SERVING.sweep(**{**POINTS[SERVING], "memory_bandwidth": Q_(np.array([2.0, 3.35]), "TB/s")})
        assert grid.memory_bandwidth.attrs["units"] == "TB/s"
        assert grid.memory_bandwidth.values.tolist() == [2.0, 3.35]

    def test_bare_numbers_are_in_the_unit_of_the_argument(self):
        grid = MEMORY.sweep(**{**POINTS[MEMORY], "memory_capacity": [40, 80.5]})
        assert grid.memory_capacity.attrs["units"] == "GB"
        assert grid.memory_capacity.values.tolist() == [40.0, 80.5]

    def test_texts_and_mixed_quantities_come_out_in_the_unit_of_the_argument(self):
        grid = MEMORY.sweep(**{**POINTS[MEMORY], "memory_capacity": ["40 GB", 0.08 * ureg.TB, 120]})
        assert grid.memory_capacity.values.tolist() == [40.0, 80.0, 120.0]
        assert grid.memory_capacity.attrs["units"] == "GB"

    def test_a_foreign_registry(self):
        foreign = pint.UnitRegistry()
        grid = MEMORY.sweep(**{**POINTS[MEMORY], "memory_capacity": foreign.Quantity([40, 80], "GB")})
        assert grid.memory_capacity.attrs["units"] == "GB"
        ours = MEMORY.sweep(**{**POINTS[MEMORY], "memory_capacity": [40, 80]})
        np.testing.assert_array_equal(grid.memory_utilization, ours.memory_utilization)

    def test_the_wrong_dimension_is_refused(self):
        with pytest.raises(UnitError, match=r"^memory_capacity='\[40 80\] s': s is not a unit of GB$"):
            MEMORY.sweep(**{**POINTS[MEMORY], "memory_capacity": [40, 80] * ureg.s})


class TestOutputs:
    def test_one_by_name(self):
        grid = MEMORY.sweep(**{**POINTS[MEMORY], "batch_size": [1, 2]}, outputs="activations")
        assert list(grid.data_vars) == ["activations"]

    def test_an_output_no_axis_touches_is_spread_over_the_grid(self):
        grid = MEMORY.sweep(**{**POINTS[MEMORY], "batch_size": [1, 2]}, outputs=["weights"])
        assert grid.weights.values.tolist() == pytest.approx([16.06, 16.06], rel=1e-15)

    def test_without_a_fleet_the_latency_is_left_out(self):
        grid = ROUTING.sweep("Mixtral_8x7B", batch_size=4, ep_size=[1, 8])
        assert "all_to_all_latency" not in grid
        assert "token_dispatch_bytes" in grid

    def test_asking_for_the_latency_without_a_fleet_names_it(self):
        with pytest.raises(MissingInputError) as caught:
            ROUTING.sweep("Mixtral_8x7B", batch_size=4, ep_size=[1, 8], outputs="all_to_all_latency")
        assert str(caught.value) == (
            "MoERoutingModel needs fabric_bandwidth for all_to_all_latency: give fleet=... or fabric_bandwidth=..."
        )

    def test_an_unknown_one_is_suggested(self):
        with pytest.raises(
            UnknownNameError, match=r"^unknown output of TrainingMemoryModel 'wieghts': did you mean wei"
        ):
            MEMORY.sweep(**{**POINTS[MEMORY], "batch_size": [1]}, outputs=["wieghts"])

    @pytest.mark.parametrize("outputs", [[], (), 3, {}])
    def test_none_at_all_is_refused(self, outputs):
        with pytest.raises(InputError) as caught:
            MEMORY.sweep(**{**POINTS[MEMORY], "batch_size": [1]}, outputs=outputs)
        assert str(caught.value) == f"outputs={outputs!r}: name at least one output"


REFUSED = [
    ({}, "axes={'model': 'Llama3_8B', 'hardware': 'H100', 'batch_size': 8}: give at least one argument as a list; "
         "use solve() for one point"),
    ({"batch_size": []}, "batch_size=[]: an axis has at least one and at most 100,000,000 values"),
    ({"batch_size": np.array([])}, "batch_size=array([], dtype=float64): an axis has at least one and at most"),
    ({"batch_size": np.ones((1, 1))}, "batch_size=array([[1.]]): an axis has one dimension"),
    ({"batch_size": [1, 2, 1]}, "batch_size=[1, 2, 1]: an axis has each value once"),
    ({"batch_size": [1, 1.0]}, "batch_size=[1, 1.0]: an axis has each value once"),
    ({"memory_capacity": ["1 TB", "1000 GB"]}, "memory_capacity=['1 TB', '1000 GB']: an axis has each value once"),
    ({"precision": ["fp16", "fp16"]}, "precision=['fp16', 'fp16']: an axis has each value once"),
    ({"hardware": []}, "hardware=[]: an axis has at least one entry, and each once"),
    ({"hardware": ["H100", "H100"]}, "hardware=['H100', 'H100']: an axis has at least one entry, and each once"),
    ({"hardware": ["H100", "H999"]}, "unknown hardware 'H999': did you mean H100, H200, H800?"),
    ({"hardware": ["H100", 3]}, "hardware=3: must be an entry of the catalog (hardware), or its name"),
    ({"batch_size": [1, -2, -3]}, "batch_size=-2: must be a whole number >= 1"),
    ({"batch_size": [1, 2.5]}, "batch_size=2.5: must be a whole number >= 1; nearest: 2, 3"),
    ({"batch_size": [1, True]}, "batch_size=True: must be a whole number >= 1"),
    ({"batch_size": [1, None]}, "batch_size=None: must be a whole number >= 1"),
    ({"batch_size": [[1], [2]]}, "batch_size=[1]: must be a whole number >= 1"),
    ({"batch_size": np.array([1, np.nan])}, "batch_size=nan: must be a whole number >= 1"),
    ({"precision": ["fp16", "fp17"]}, "precision='fp17': must be one of fp32, tf32, bf16, fp16, fp8, int8, w8a8, "),
    ({"tp_size": [1, 2, 3, 4, 5]}, "tp_size=3: must divide heads=32; 2 of 5 points are refused; nearest: 2, 4"),
    (
        {"tp_size": [1, 3, 5], "batch_size": [1, 2]},
        "tp_size=3: must divide heads=32; 2 of 3 points are refused; nearest: 2, 4",
    ),
    (
        {"model": ["Llama3_8B", "Mixtral_8x7B"], "ep_size": [1, 2, 4]},
        "ep_size=2: must divide experts=1 (1 for a dense model); 2 of 6 points are refused; nearest: 1",
    ),
    ({"pp_size": range(30, 41)}, "pp_size=33: must be at most layers=32; 8 of 11 points are refused; nearest: 32"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("axes", "message"), REFUSED, ids=[f"{n}-{'-'.join(axes)}" for n, (axes, _) in enumerate(REFUSED)]
)
def test_refused_before_anything_is_computed(axes, message, monkeypatch):
    def no_number(*_args, **_kwargs):
        raise AssertionError("something was computed")

    monkeypatch.setattr("mlsysim.study.grids.grid.evaluate_outputs", no_number)
    with pytest.raises(InputError) as caught:
        MEMORY.sweep(**{**POINTS[MEMORY], **axes})
    assert str(caught.value).startswith(message)


def test_a_large_grid_in_one_call():
    """A quarter of a million points, checked at the corners."""
    grid = MEMORY.sweep(
        "Llama3_8B",
        "H100",
        batch_size=range(1, 513),
        dp_size=range(1, 129),
        zero_stage=range(4),
        outputs="total_memory",
    )
    assert grid.total_memory.shape == (512, 128, 4)
    for at in itertools.product((1, 512), (1, 128), (0, 3)):
        chosen = dict(zip(("batch_size", "dp_size", "zero_stage"), at, strict=True))
        solved = MEMORY.solve("Llama3_8B", "H100", **chosen).total_memory.magnitude
        assert grid.total_memory.sel(chosen).item() == pytest.approx(solved, rel=1e-12)


def test_positional_entries():
    named = MEMORY.sweep(model="Llama3_8B", hardware=["H100", "A100"], batch_size=8)
    assert MEMORY.sweep("Llama3_8B", ["H100", "A100"], batch_size=8).identical(named)


def test_the_fleet_of_the_tutorial_in_one_sweep():
    grid = ROUTING.sweep(
        Models.Language.Mixtral_8x7B,
        Systems.Clusters.Research_256,
        batch_size=4,
        ep_size=8,
        routing_imbalance_factor=[1.0, 1.25, 1.5, 2.0],
    )
    assert [round(value, 2) for value in grid.all_to_all_latency.values.tolist()] == [9.75, 12.09, 14.44, 19.14]


class TestMaskedPoints:
    """On request, combinations that do not fit are missing values, counted and given a reason."""

    @settings(derandomize=True, deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
    @given(
        st.fixed_dictionaries(
            {
                "tp_size": axis(st.integers(1, 9)),
                "pp_size": axis(st.sampled_from([1, 7, 32, 33, 80, 81])),
                "model": axis(st.sampled_from(["Llama3_8B", "Mixtral_8x7B", "Llama3_70B"]), most=2),
            }
        )
    )
    def test_a_point_is_masked_exactly_where_solve_refuses(self, axes):
        outputs = ["total_memory", "layers_per_stage", "feasible"]
        grid = MEMORY.sweep(**{**POINTS[MEMORY], **axes}, outputs=outputs, refused="mask")
        refused = 0
        for place in itertools.product(*(range(len(values)) for values in axes.values())):
            at = dict(zip(axes, place, strict=True))
            typed = {name: axes[name][index] for name, index in at.items()}
            found = {name: grid[name].isel(at).item() for name in outputs}
            try:
                solved = MEMORY.solve(**{**POINTS[MEMORY], **typed})
            except InputError:
                refused += 1
                assert np.isnan(found["total_memory"])
                assert np.isnan(found["layers_per_stage"])
                assert found["feasible"] is False
                assert grid.refused.isel(at).item() > 0
                continue
            assert found["total_memory"] == pytest.approx(solved.total_memory.magnitude, rel=1e-12)
            assert found["layers_per_stage"] == solved.layers_per_stage
            assert found["feasible"] is solved.feasible
            assert "refused" not in grid or grid.refused.isel(at).item() == 0
        assert grid.attrs["refused_points"] == refused

    def test_each_point_has_its_reason(self):
        grid = MEMORY.sweep(**{**POINTS[MEMORY], "tp_size": [2, 3], "pp_size": [32, 33]}, refused="mask")
        meanings = grid.refused.attrs["flag_meanings"].split()
        named = [[meanings[code] for code in row] for row in grid.refused.values]
        assert named == [
            ["accepted", "pp_size_must_be_at_most_layers"],
            ["tp_size_must_divide_heads", "tp_size_must_divide_heads"],
        ]
        assert grid.attrs["refused_points"] == 3

    def test_a_rate_a_device_does_not_have(self):
        axes = {"hardware": ["H100", "A100"], "precision": ["fp16", "fp8"]}
        grid = SERVING.sweep(**{**POINTS[SERVING], **axes}, refused="mask")
        assert grid.attrs["refused_points"] == 1
        assert np.isnan(grid.ttft.sel(hardware="A100", precision="fp8"))
        assert grid.bottleneck.sel(hardware="A100", precision="fp8") == -1
        for hardware, precision in (("H100", "fp16"), ("H100", "fp8"), ("A100", "fp16")):
            solved = SERVING.solve(**{**POINTS[SERVING], "hardware": hardware, "precision": precision})
            found = grid.ttft.sel(hardware=hardware, precision=precision).item()
            assert found == pytest.approx(solved.ttft.magnitude, rel=1e-12)

    def test_a_grid_without_refused_points_says_so(self):
        grid = MEMORY.sweep(**{**POINTS[MEMORY], "tp_size": [1, 2]}, refused="mask")
        assert grid.attrs["refused_points"] == 0
        plain = MEMORY.sweep(**{**POINTS[MEMORY], "tp_size": [1, 2]})
        np.testing.assert_array_equal(grid.total_memory, plain.total_memory)

    def test_values_that_are_wrong_by_themselves_are_refused_all_the_same(self):
        with pytest.raises(InputError, match=r"^batch_size=-1: must be a whole number >= 1$"):
            MEMORY.sweep(**{**POINTS[MEMORY], "batch_size": [1, -1]}, refused="mask")

    @pytest.mark.parametrize("refused", ["drop", None, 3, ["mask"], np.array([])])
    def test_an_unknown_wish_is_refused(self, refused):
        with pytest.raises(InputError, match=r"^refused=.*: must be 'raise' or 'mask'$"):
            MEMORY.sweep(**{**POINTS[MEMORY], "batch_size": [1]}, refused=refused)
