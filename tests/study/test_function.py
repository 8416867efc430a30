"""The pure function: a user's own ``jit``, ``grad`` and ``vmap``, in the dtype they choose."""

import math
import pickle
import subprocess
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fuzz import rest_long

from mlsysim import (
    Formula,
    MoERoutingModel,
    PerformanceModel,
    ServingCapacityModel,
    ServingModel,
    Source,
    TrainingMemoryModel,
    nonnegative,
    positive,
    variable,
)
from mlsysim.errors import InputError, MissingInputError, UnknownNameError
from mlsysim.study.function import PureFunction

MEMORY = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8}
SERVING = {"model": "Llama3_8B", "hardware": "H100", "qps": 500, "target_p99_latency_ms": 4000}
ROUTING = {"model": "Mixtral_8x7B", "fleet": "Research_256", "batch_size": 4, "ep_size": 8}
MODELS = {
    "memory": (TrainingMemoryModel(), MEMORY),
    "serving": (ServingCapacityModel(), SERVING),
    "routing": (MoERoutingModel(), ROUTING),
}
EVERY = pytest.mark.parametrize(("model", "given"), MODELS.values(), ids=MODELS)


@pytest.fixture(scope="module")
def latency():
    return ServingCapacityModel().function("estimated_p99_latency", **SERVING)


@pytest.fixture(scope="module")
def jitted(latency):
    return jax.jit(latency)


@EVERY
def test_every_output_equals_solve(model, given):
    solved = model.solve(**given)
    names = list(solved.outputs)
    with jax.enable_x64(True):
        found = model.function(names, **given)()
    assert list(found) == names
    for name in names:
        assert float(found[name]) == pytest.approx(solved.canonical(name), rel=1e-12)


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("variant", rest_long(ServingModel.variants, quick=2))
def test_a_plain_call_takes_as_long_as_solve(variant):
    """Where JAX follows nothing, nothing is compiled by XLA: a deployment took a minute of a processor."""
    given = {"model": "Llama3_1_8B", "hardware": "H100", "request_rate": 2.0}
    model = ServingModel(variant)
    solved = model.solve(**given).canonical("tpot_mean")
    function = model.function(["tpot_mean", "feasible", "deployed_replicas"], **given)
    begun = time.process_time()
    found = function()
    assert time.process_time() - begun < 5
    assert float(found["tpot_mean"]) == pytest.approx(solved, rel=1e-7)
    assert found["feasible"].dtype == bool
    several = function({"request_rate": jnp.array([1.0, 2.0])})["tpot_mean"]
    assert float(several[1]) == pytest.approx(solved, rel=1e-6)


def test_one_name_gives_a_value_and_several_give_a_dict():
    model = TrainingMemoryModel()
    one, several = model.function("weights", **MEMORY), model.function(["weights"], **MEMORY)
    assert isinstance(one, PureFunction)
    assert set(several()) == {"weights"}
    assert float(one()) == float(several()["weights"])
    assert (one.outputs, several.outputs) == (("weights",), ("weights",))


def test_it_knows_its_inputs_in_canonical_units(latency):
    assert latency.inputs["target_p99_latency_ms"] == 4.0
    assert latency.inputs["memory_capacity"] == 81559 * 2**20
    assert latency.inputs["precision"] == 3.0
    weights = TrainingMemoryModel().function("weights", **MEMORY)
    assert set(weights.inputs) == {"precision", "zero_stage", "dp_size", "tp_size", "pp_size", "ep_size", "parameters"}
    assert repr(weights).startswith("<PureFunction weights of ")


def test_inputs_left_out_keep_their_bound_value():
    total = TrainingMemoryModel().function("total_memory", **MEMORY)
    assert float(total()) == float(total({})) == float(total(dict(total.inputs)))
    assert float(total({"batch_size": 16.0})) > float(total())


@pytest.mark.long
def test_it_survives_a_pickle(latency):
    expected = latency({"qps": 400.0})
    again = pickle.loads(pickle.dumps(latency))
    assert (again.inputs, again.outputs) == (latency.inputs, latency.outputs)
    assert float(again({"qps": 400.0})) == float(expected)


def test_positional_entries_work():
    found = TrainingMemoryModel().function("weights", "Llama3_8B", "H100", batch_size=8)
    assert float(found()) == pytest.approx(16.06e9, rel=1e-6)


def test_a_quotient_by_zero_is_infinite_as_solve_says():
    """However it is called, and in the dtype of what it is given."""
    work = variable("own_work", r"w_o", "FLOP", "What is done.", positive())
    rate = variable("own_rate", r"r_o", "FLOP/s", "How fast.", nonnegative())
    taken = variable("own_taken", r"t_o", "s", "How long it takes.", nonnegative())
    formula = Formula(taken, work / rate, title="Time", source=Source("kleinrock1975"), no_example="a test")
    model: Any = type("Taking", (PerformanceModel,), {"__doc__": "How long?", "variants": {"only": (formula,)}})()
    given = {"own_work": 3, "own_rate": 0}
    assert model.solve(**given).canonical("own_taken") == math.inf
    time = model.function("own_taken", **given)
    assert float(time()) == float(time({"own_work": 2.0})) == math.inf
    assert time().dtype == time.dtype
    assert float(jax.jit(time)({"own_work": 2.0})) == math.inf
    assert float(time({"own_rate": 1.5})) == 2
    with jax.enable_x64(True):
        assert time().dtype == np.float64
        assert time({"own_work": jnp.float32(2)}).dtype == np.float32


class TestTransformations:
    def test_jit(self, latency, jitted):
        assert float(jitted({"qps": 400.0})) == pytest.approx(float(latency({"qps": 400.0})), rel=1e-6)

    def test_grad_equals_the_closed_form(self, latency):
        with jax.enable_x64(True):
            at = {name: jnp.float64(latency.inputs[name]) for name in ("memory_bandwidth", "efficiency", "qps")}
            slopes = jax.grad(latency)(at)
        model = ServingCapacityModel()
        closed = model.derivative("estimated_p99_latency", "efficiency").at(**SERVING)
        assert float(slopes["efficiency"]) == pytest.approx(closed.to("s").magnitude, rel=1e-12)
        closed = model.derivative("estimated_p99_latency", "memory_bandwidth").at(**SERVING)
        assert float(slopes["memory_bandwidth"]) == pytest.approx(closed.to("s**2/byte").magnitude, rel=1e-12)
        closed = model.derivative("estimated_p99_latency", "qps").at(**SERVING)
        assert float(slopes["qps"]) == pytest.approx(closed.to("s/QPS").magnitude, rel=1e-12)

    @pytest.mark.long(quick=1)
    @EVERY
    def test_grad_is_finite_in_reverse_mode(self, model, given):
        names = {"memory": "total_memory", "serving": "estimated_p99_latency", "routing": "all_to_all_latency"}
        output = next(name for key, name in names.items() if MODELS[key][0] is model)
        function = model.function(output, **given)
        slopes = jax.grad(function)({name: jnp.float32(value) for name, value in function.inputs.items()})
        assert set(slopes) == set(function.inputs)
        assert all(np.isfinite(slope) for slope in slopes.values())

    @pytest.mark.long(quick=1)
    @pytest.mark.parametrize(
        ("output", "change"),
        [
            ("wait_probability", {"max_replicas": 5}),
            ("wait_probability", {"model": "GPT3_175B"}),
            ("kv_bytes_per_request", {"model": "DeepSeek_V3"}),
            ("qps_capacity", {"model": "GPT3_175B"}),
        ],
    )
    def test_grad_is_finite_where_a_case_is_not_taken(self, output, change):
        """Unstable queues and nothing that fits: the branch beside divides by zero."""
        function = ServingCapacityModel().function(output, **{**SERVING, **change})
        slopes = jax.jit(jax.grad(function))({name: jnp.float32(value) for name, value in function.inputs.items()})
        assert all(np.isfinite(slope) for slope in slopes.values())

    def test_vmap(self, latency, jitted):
        rates = jnp.array([100.0, 300.0, 500.0])
        mapped = jax.jit(jax.vmap(lambda rate: latency({"qps": rate})))(rates)
        assert mapped.shape == (3,)
        np.testing.assert_allclose(mapped, [float(jitted({"qps": rate})) for rate in rates], rtol=1e-6)

    def test_vmap_of_an_eager_call(self):
        exchange = MoERoutingModel().function("all_to_all_latency", **ROUTING)
        factors = jnp.array([1.0, 1.5, 9.0])
        mapped = jax.vmap(lambda factor: exchange({"routing_imbalance_factor": factor}))(factors)
        single = [float(exchange({"routing_imbalance_factor": factor})) for factor in factors]
        np.testing.assert_allclose(mapped, single, rtol=1e-6)

    @pytest.mark.long
    def test_vmap_over_replicas_and_jit_together(self):
        model = ServingCapacityModel()
        count = model.function("required_replicas", **SERVING)
        rates = np.array([1.0, 30.0, 100.0, 300.0, 500.0])
        mapped = jax.jit(jax.vmap(lambda rate: count({"qps": rate})))(rates)
        solved = [model.solve(**{**SERVING, "qps": float(rate)}).required_replicas for rate in rates]
        assert mapped.tolist() == solved

    def test_vmap_of_grad(self, latency):
        slope = jax.jit(jax.vmap(jax.grad(lambda share: latency({"efficiency": share}))))(jnp.array([0.3, 0.5, 0.9]))
        assert np.all(slope < 0)
        assert np.all(np.diff(slope) > 0)

    def test_arrays_broadcast(self):
        function = TrainingMemoryModel().function("total_memory", **MEMORY)
        grid = function({"batch_size": jnp.arange(1.0, 5.0)[:, None], "zero_stage": jnp.arange(0.0, 4.0)})
        assert grid.shape == (4, 4)


class TestDtypes:
    @EVERY
    def test_float32_stays_float32(self, model, given):
        names = [v.name for v in model.outputs if v.domain.kind == "real" and v.name not in ("bytes_per_element",)]
        function = model.function(names, **given)
        found = function({name: jnp.float32(value) for name, value in function.inputs.items()})
        tables = {"optimizer_bytes", "activation_bytes"}
        assert {name: str(found[name].dtype) for name in names if name not in tables} == {
            name: "float32" for name in names if name not in tables
        }

    @EVERY
    def test_float32_is_close_to_float64(self, model, given):
        function = model.function([v.name for v in model.outputs if v.domain.kind == "real"], **given)
        single = function({name: jnp.float32(value) for name, value in function.inputs.items()})
        solved = model.solve(**given)
        for name, value in single.items():
            assert float(value) == pytest.approx(solved.canonical(name), rel=1e-4), name

    def test_float64_where_the_caller_chose_it(self, latency):
        with jax.enable_x64(True):
            assert latency({"qps": jnp.float64(300.0)}).dtype == jnp.float64

    def test_numpy_inputs_are_taken(self):
        weights = TrainingMemoryModel().function("weights", **MEMORY)
        assert float(weights({"parameters": np.float32(2e9)})) == 4e9

    @pytest.mark.long
    def test_the_global_flag_is_never_touched(self):
        """In a fresh process: after solve, sweep, sensitivity, function and grad JAX still makes float32."""
        code = """
import jax, jax.numpy as jnp
from mlsysim import ServingCapacityModel as M
given = dict(model="Llama3_8B", hardware="H100", target_p99_latency_ms=4000)
M().solve(qps=20, **given); M().sweep(qps=[1, 2], **given); M().sensitivity("ttft", qps=20, **given)
f = M().function("ttft", qps=20, **given); jax.grad(lambda x: f({"efficiency": x}))(0.5)
assert M().sweep(qps=[1, 2], **given).ttft.dtype == "float64"
print(jax.config.jax_enable_x64, jnp.zeros(1).dtype)
"""
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
        assert run.stdout.split() == ["False", "float32"]


class TestRefused:
    function = TrainingMemoryModel().function("weights", **MEMORY)

    def test_an_input_it_does_not_depend_on(self):
        with pytest.raises(UnknownNameError) as caught:
            self.function({"seq_len": 1.0})
        assert str(caught.value).startswith("unknown input of this function 'seq_len': ")

    def test_a_mistyped_input_is_suggested(self):
        with pytest.raises(UnknownNameError, match="did you mean parameters"):
            self.function({"parameter": 1.0})

    @pytest.mark.parametrize("x", [3, [1], "parameters", 1.5])
    def test_something_that_is_not_a_dict(self, x):
        with pytest.raises(InputError) as caught:
            self.function(x)
        assert str(caught.value) == f"x={x!r}: must be a dict of canonical inputs by name"

    @pytest.mark.parametrize("outputs", [[], (), None, 3, {}])
    def test_no_output(self, outputs):
        with pytest.raises(InputError) as caught:
            TrainingMemoryModel().function(outputs, **MEMORY)
        assert str(caught.value) == f"outputs={outputs!r}: name at least one output"

    @pytest.mark.parametrize("outputs", ["wieghts", ["weights", "wieghts"], [3]])
    def test_an_unknown_output(self, outputs):
        with pytest.raises(UnknownNameError, match=r"^unknown output of TrainingMemoryModel "):
            TrainingMemoryModel().function(outputs, **MEMORY)

    def test_an_output_that_needs_a_fleet(self):
        with pytest.raises(MissingInputError) as caught:
            MoERoutingModel().function("all_to_all_latency", "Mixtral_8x7B", batch_size=4)
        assert str(caught.value) == (
            "MoERoutingModel needs fabric_bandwidth for all_to_all_latency: give fleet=... or fabric_bandwidth=..."
        )

    def test_a_list_of_values(self):
        with pytest.raises(InputError, match=r"^batch_size=\[1, 2\]: solve\(\) takes one value"):
            TrainingMemoryModel().function("weights", **{**MEMORY, "batch_size": [1, 2]})


class TestChecks:
    function = TrainingMemoryModel().function("weights", **MEMORY)

    def test_values_that_solve_takes(self, latency):
        self.function.check()
        self.function.check(dict(self.function.inputs))
        self.function.check({"tp_size": jnp.array([1.0, 2.0, 4.0]), "parameters": np.float32(2e9)})
        latency.check({"precision": 3.0})

    @pytest.mark.parametrize(
        ("x", "said"),
        [
            ({"parameters": -1.0}, "parameters='-1': must be a finite number > 0"),
            ({"parameters": np.nan}, "parameters='nan': must be a finite number"),
            ({"tp_size": 1.5}, "tp_size='1.5': must be a whole number"),
            ({"tp_size": np.array([1.0, 3.0])}, "tp_size=3: must divide"),
            ({"zero_stage": np.array([0.0, 4.0, 5.0])}, "zero_stage='4': .*2 of 3 values are refused"),
            ({"precision": 99.0}, "precision='99': must be the code of a label"),
            ({"parameters": np.float16(8.0)}, "float16.*must be float32 or float64"),
            ({"parameters": jnp.bfloat16(8.0)}, "bfloat16.*must be float32 or float64"),
            ({"parameters": "many"}, "must be a canonical number"),
            ({"seq_len": 1.0}, "unknown input of this function"),
            ([1], "must be a dict of canonical inputs"),
        ],
    )
    def test_values_that_solve_refuses(self, x, said):
        with pytest.raises(InputError, match=said):
            self.function.check(x)

    def test_a_value_is_shown_in_its_unit(self, latency):
        with pytest.raises(InputError, match="memory_bandwidth='-3000 GB/s'"):
            latency.check({"memory_bandwidth": -3e12})

    def test_every_call_on_request(self):
        checked = TrainingMemoryModel().function("weights", check=True, **MEMORY)
        assert float(checked({"parameters": 2e9})) == 4e9
        assert float(jax.jit(checked)({"parameters": 2e9})) == 4e9
        assert float(self.function({"parameters": -2e9})) == -4e9
        with pytest.raises(InputError, match="parameters"):
            checked({"parameters": -2e9})

    def test_a_traced_value_has_no_number_to_check(self):
        with pytest.raises(InputError, match="check outside of jit"):
            jax.jit(lambda value: self.function.check({"parameters": value}))(1.0)

    def test_float64_of_numpy_is_float32_unless_under_x64(self):
        assert self.function({"parameters": np.float64(2e9)}).dtype == np.float32
        with jax.enable_x64(True):
            assert self.function({"parameters": np.float64(2e9)}).dtype == np.float64

    def test_it_says_its_dtype(self):
        assert self.function.dtype == np.float32
        assert repr(self.function).endswith("in float32>")
        with jax.enable_x64(True):
            assert self.function.dtype == np.float64
