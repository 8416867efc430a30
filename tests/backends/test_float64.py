"""float64 by a scoped context: results are double, the user's own JAX stays as it was."""

from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fuzz import rest_long
from on_jax import evaluate

from mlsysim.backends import compiled, pure_function, slopes
from mlsysim.models import MoERoutingModel, ServingCapacityModel, TrainingMemoryModel

MODELS = [TrainingMemoryModel, ServingCapacityModel, MoERoutingModel]


@pytest.fixture(autouse=True)
def global_flag_is_untouched():
    assert not jax.config.jax_enable_x64
    assert jnp.asarray(1.0).dtype == jnp.float32
    yield
    assert not jax.config.jax_enable_x64
    assert jnp.asarray(1.0).dtype == jnp.float32


@pytest.fixture(scope="module")
def points():
    """A feasible point per model, canonical."""
    common = {"hidden_dim": 4096, "seq_len": 2048, "precision": 3}
    return {
        TrainingMemoryModel: common | {
            "activation_checkpointing": 1, "batch_size": 8, "communication_buffer_fraction": 0.05, "dp_size": 8,
            "ep_size": 1, "gradient_accumulation_steps": 1, "layers": 32, "memory_capacity": 85899345920,
            "optimizer": 0, "parameters": 8.03e9, "pp_size": 2, "tp_size": 2, "trainable_fraction": 1, "zero_stage": 2,
        },
        ServingCapacityModel: common | {
            "dispatch_tax": 1e-5, "efficiency": 0.35, "heads": 32, "kv_heads": 8, "kv_lora_rank": 0,
            "kv_page_size": 16, "layer_tax": 1e-5, "layers": 32, "max_batch_size": 16, "max_replicas": 1024,
            "memory_bandwidth": 3.35e12, "memory_capacity": 85899345920, "output_tokens": 64, "parameters": 8.03e9,
            "peak_flops": 989e12, "qk_rope_head_dim": 0, "qps": 200, "service_time_cv": 1, "target_p99_latency_ms": 3,
            "attention_peak_flops": 989e12, "busy_power": 1, "cap_exponent": 2.4, "duration": 31536000,
            "embodied_device": 164, "embodied_host": 712.5, "flop_power": 5.21, "format_energy": 1,
            "grid_carbon": 1.3e-7, "grid_water": 1.1e-9, "host_power_fraction": 0.45, "idle_power_fraction": 0.12,
            "lifetime": 126144000, "power_limit": 700, "pue": 1.2, "site_water": 1.4e-10, "tdp": 700, "used_share": 0.6,
        },
        MoERoutingModel: common | {
            "active_experts_per_token": 2, "active_parameters": 12.9e9, "batch_size": 4, "ep_size": 8, "experts": 8,
            "expert_input_dim": 0, "fabric_bandwidth": 12.5e9, "fabric_latency": 5e-5, "oversubscription": 1,
            "routing_imbalance_factor": 1.25,
        },
    }  # fmt: skip


def outputs(model):
    return tuple(v.name for v in model().system.variables)


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("model", MODELS)
def test_grids_come_back_as_double_numpy(model, points):
    names = outputs(model)
    found = evaluate(model().system, names, {**points[model], "hidden_dim": np.array([1024.0, 4096.0])})
    scalar = compiled(model().system)(points[model])
    for name in names:
        assert type(found[name]) is np.ndarray
        if found[name].dtype.kind == "f":
            assert found[name].dtype == np.float64
            assert np.ravel(found[name])[-1] == pytest.approx(float(scalar[name]), rel=1e-12)


def test_double_keeps_what_single_would_lose(points):
    exact = 8_030_261_249.0
    values = {**points[TrainingMemoryModel], "parameters": exact, "tp_size": 1, "pp_size": 1}
    found = evaluate(TrainingMemoryModel().system, ["parameters_per_rank"], values)
    assert found["parameters_per_rank"] == exact != float(np.float32(exact))


@pytest.mark.parametrize("model", MODELS)
def test_slopes_come_back_as_double_numpy_for_every_kind_of_output(model, points):
    """A truth value or a table of whole numbers answers with a zero slope, not with JAX's float0."""
    wrt = [v.name for v in model().system.inputs]
    found = slopes(model().system, outputs(model), wrt, points[model])
    assert list(found) == sorted(wrt)
    for by_output in found.values():
        for name, values in by_output.items():
            assert values.dtype == np.float64, name
            assert np.all(np.isfinite(values)), name
            if name in ("feasible", "bottleneck", "optimizer_bytes", "required_replicas"):
                assert np.all(values == 0)


def test_the_flag_survives_an_exception(points):
    model = TrainingMemoryModel
    with pytest.raises(KeyError):
        evaluate(model().system, ["total_memory"], {"parameters": 1.0})
    with pytest.raises((TypeError, ValueError)):
        evaluate(model().system, ["total_memory"], {**points[model], "layers": np.ones(3), "tp_size": np.ones(4)})
    with pytest.raises((TypeError, ValueError)):
        slopes(model().system, ["total_memory"], ["layers"], {**points[model], "layers": "many"})


def test_a_users_own_global_flag_is_left_alone_too(points):
    with jax.enable_x64(True):
        evaluate(MoERoutingModel().system, ["routed_payload"], points[MoERoutingModel])
        assert jax.config.jax_enable_x64
        assert jnp.asarray(1.0).dtype == jnp.float64


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("model", MODELS)
def test_the_pure_function_stays_in_single_precision(model, points):
    names = outputs(model)
    pure = jax.jit(pure_function(model().system, names))
    found = pure({name: jnp.float32(value) for name, value in points[model].items()})
    scalar = compiled(model().system)(points[model])
    for name in names:
        assert found[name].dtype in (jnp.float32, jnp.int32, jnp.bool_), name
        assert float(found[name]) == pytest.approx(float(scalar[name]), rel=2e-5), name


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("model", MODELS)
def test_single_precision_inputs_stay_single_where_double_is_on(model, points):
    with jax.enable_x64(True):
        found = pure_function(model().system, outputs(model))(
            {name: jnp.float32(value) for name, value in points[model].items()}
        )
        for name, value in found.items():
            # A table of constants is weakly typed: it takes the dtype of whatever it meets. Labels are whole numbers.
            whole = jnp.issubdtype(value.dtype, jnp.integer)
            assert value.dtype in (jnp.float32, jnp.bool_) or value.weak_type or whole, name


@pytest.mark.parametrize("model", rest_long(MODELS, quick=1))
def test_the_pure_function_maps_and_differentiates(model, points):
    name = {TrainingMemoryModel: "total_memory", ServingCapacityModel: "estimated_p99_latency",
            MoERoutingModel: "all_to_all_latency"}[model]  # fmt: skip
    pure = pure_function(model().system, (name,))
    wrt = {TrainingMemoryModel: "parameters", ServingCapacityModel: "qps", MoERoutingModel: "oversubscription"}[model]
    at = np.array([0.9, 1.0, 1.1]) * points[model][wrt]

    def along(x):
        return pure({**points[model], wrt: x})[name]

    with jax.enable_x64(True):
        backwards = jax.jit(jax.vmap(jax.grad(along)))(jnp.asarray(at))
    forwards = slopes(model().system, [name], [wrt], {**points[model], wrt: at})[wrt][name]
    np.testing.assert_allclose(backwards, forwards, rtol=1e-12)
    assert np.all(forwards != 0)


def test_the_pure_function_is_cached():
    system = TrainingMemoryModel().system
    assert pure_function(system, ("weights",)) is pure_function(system, ("weights",))


def test_threads_compute_in_double(points):
    """JAX's context belongs to a thread; each call enters its own."""
    model = ServingCapacityModel
    names = outputs(model)

    def work(scale):
        found = evaluate(model().system, names, {**points[model], "qps": 7.0 * scale})
        return found, jnp.asarray(1.0).dtype, jax.config.jax_enable_x64

    function = compiled(model().system)
    with ThreadPoolExecutor(4) as pool:
        for scale, (found, dtype, flag) in enumerate(pool.map(work, range(1, 25)), start=1):
            expected = function({**points[model], "qps": 7.0 * scale})
            assert dtype == jnp.float32
            assert not flag
            for name in names:
                assert float(found[name]) == pytest.approx(float(expected[name]), rel=1e-12), name


def test_outputs_keep_the_axes_they_depend_on(points):
    model = TrainingMemoryModel
    values = {**points[model], "layers": np.array([16.0, 32.0])[:, None], "tp_size": np.array([1.0, 2.0, 4.0])}
    found = evaluate(model().system, ["layers_per_stage", "parameters_per_rank", "total_memory"], values)
    assert found["layers_per_stage"].shape == (2, 1)
    assert found["parameters_per_rank"].shape == (3,)
    assert found["total_memory"].shape == (2, 3)
