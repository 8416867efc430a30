"""Derivatives in closed form, against finite differences and against JAX."""

import math

import jax
import pytest
import sympy
from fuzz import rest_long

from mlsysim import Q_, DistributedModel, MoERoutingModel, ServingCapacityModel, TrainingMemoryModel
from mlsysim.backends import compiled
from mlsysim.errors import InputError, MissingInputError, UnknownNameError
from mlsysim.inputs.binding import bind
from mlsysim.symbolic import variable_of

POINTS = {
    "memory": (
        TrainingMemoryModel(),
        {"model": "Llama3_8B", "hardware": "H100", "batch_size": 9, "dp_size": 4, "zero_stage": 2, "pp_size": 3},
    ),
    "memory of experts": (
        TrainingMemoryModel(),
        {"model": "Mixtral_8x7B", "hardware": "H200", "batch_size": 7, "tp_size": 8, "zero_stage": 3,
         "dp_size": 2, "activation_checkpointing": "full", "optimizer": "sgd", "trainable_fraction": 0.3},
    ),
    "one replica": (
        ServingCapacityModel(),
        {"model": "Llama3_8B", "hardware": "H100", "qps": 20, "target_p99_latency_ms": 4000},
    ),
    "many replicas, memory bound": (
        ServingCapacityModel(),
        {"model": "Llama3_70B", "hardware": "H200", "qps": 1100, "target_p99_latency_ms": 66500, "precision": "fp8",
         "max_batch_size": 1000, "service_time_cv": 1.7, "seq_len": 1000},
    ),
    "too few replicas": (
        ServingCapacityModel(),
        {"model": "Llama3_8B", "hardware": "H100", "qps": 500, "target_p99_latency_ms": 4000, "max_replicas": 5},
    ),
    "too big": (
        ServingCapacityModel(),
        {"model": "GPT3_175B", "hardware": "H100", "qps": 20, "target_p99_latency_ms": 4000},
    ),
    "routing": (
        MoERoutingModel(),
        {"model": "Mixtral_8x7B", "fleet": "Research_256", "batch_size": 4, "ep_size": 8,
         "routing_imbalance_factor": 1.25},
    ),
    "routing, capped": (
        MoERoutingModel(),
        {"model": "Mixtral_8x7B", "fleet": "Research_256", "batch_size": 4, "ep_size": 2,
         "routing_imbalance_factor": 7.5},
    ),
}  # fmt: skip
EVERY = pytest.mark.parametrize(("model", "point"), POINTS.values(), ids=POINTS)


#: Inputs that switch a case on and off: a difference across the switch is no slope.
SWITCHES = {"zero_stage", "kv_lora_rank", "pp_size", "expert_input_dim"}
#: Outputs that hang on the number of servers of a queue, which is whole.
QUEUE = {"wait_probability", "queue_wait_p99", "estimated_p99_latency"}


def numbers(variables):
    return [v.name for v in variables if v.domain.kind in ("real", "integer")]


def has_none(output, by):
    return by == "max_replicas" and output in QUEUE


def in_canonical_units(quantity, output, by):
    per = Q_(1, variable_of(output).unit or "count") / Q_(1, variable_of(by).unit or "count")
    return quantity.magnitude * per.to_base_units().magnitude


@pytest.mark.long(quick=1)
@EVERY
@pytest.mark.parametrize("relax", [False, pytest.param(True, marks=pytest.mark.long)], ids=["with steps", "relaxed"])
def test_closed_form_equals_central_differences(model, point, relax):
    """Steps count as constant without relaxing: points where the difference sees one are left out."""
    binding = bind(model, point)
    system = binding.system.relax() if relax else binding.system
    function = compiled(system)
    start = function(binding.values)
    steps = system.steps()
    checked = 0
    for by in set(numbers(system.inputs)) - SWITCHES:
        at = float(binding.values[by])
        width = 1e-6 * (abs(at) or 1.0)
        low, high = (function({**binding.values, by: at + sign * width}) for sign in (-1, 1))
        if any(end[name] != start[name] for end in (low, high) for name in steps):
            continue
        for output in numbers(system.variables):
            if has_none(output, by) or not math.isfinite(start[output]):
                continue
            slope = (high[output] - low[output]) / (2 * width)
            noise = 1e-9 * abs(start[output]) / (abs(at) or 1.0) + 1e-290
            found = in_canonical_units(model.derivative(output, by, relax=relax).at(**point), output, by)
            assert found == pytest.approx(slope, rel=1e-6, abs=noise), (output, by)
            checked += found != 0
    assert checked >= 10


@pytest.mark.parametrize(
    "name", rest_long(["memory", "routing", "memory of experts", "many replicas, memory bound", "too big"], quick=2)
)
def test_closed_form_equals_automatic_differentiation(name):
    """In canonical float64; least integers, ceilings and floors count as constant on both sides."""
    model, point = POINTS[name]
    binding = bind(model, point)
    constant = {"bytes_per_element", "optimizer_bytes", "activation_bytes"}  # tables of whole numbers, no tangent
    outputs = [name for name in numbers(binding.system.variables) if name not in constant]
    function = model.function(outputs, **point)
    inputs = [name for name in function.inputs if name in numbers(model.inputs)]
    with jax.enable_x64(True):
        at = {name: jax.numpy.float64(function.inputs[name]) for name in inputs}
        values = function(at)
        along = jax.jit(lambda tangent: jax.jvp(function, (at,), (tangent,))[1])
        zeros = dict.fromkeys(at, jax.numpy.float64(0))
        slopes = {by: along({**zeros, by: jax.numpy.float64(1)}) for by in inputs}
    checked = 0
    for output in outputs:
        for by in inputs:
            if has_none(output, by) or not math.isfinite(values[output]):
                continue
            found = in_canonical_units(model.derivative(output, by).at(**point), output, by)
            slope = float(slopes[by][output])
            noise = 1e-14 * abs(float(values[output])) / (abs(function.inputs[by]) or 1.0) + 1e-290
            assert found == pytest.approx(slope, rel=1e-11, abs=noise), (output, by)
            checked += found != 0
    assert checked >= 12  # where nothing fits most outputs are infinite and are left out


def closed(model, output, by, **more):
    return model.derivative(output, by, **more)


MEMORY, SERVING, ROUTING = TrainingMemoryModel(), ServingCapacityModel(), MoERoutingModel()


@pytest.mark.parametrize(
    ("derivative", "text", "unit", "steps"),
    [
        (closed(MEMORY, "weights", "parameters"), "∂W/∂P = q/(t·p·e·{d if Z ≥ 3; 1 otherwise})", "GB", ()),
        (closed(MEMORY, "total_memory", "memory_capacity"), "∂M/∂M_cap = 0", "", ()),
        (closed(MEMORY, "memory_utilization", "memory_capacity"), "∂ρ_M/∂M_cap = -M/M_cap²", "1/GB", ()),
        (closed(MEMORY, "activations", "batch_size"), "∂A/∂b = 0", "GB", ("local_micro_batch",)),
        (closed(MEMORY, "activations", "batch_size", relax=True), "∂A/∂b = h·s·q·ℓ·c_act/(2·d·g)", "GB", ()),
        (closed(SERVING, "base_request_latency", "layer_tax"), "∂T_base/∂τ_layer = L·n_out", "", ()),
        (closed(SERVING, "required_replicas", "qps"), "∂c_req/∂λ = 0", "1/QPS", ("required_replicas",)),
        (closed(SERVING, "ttft", "efficiency"), "∂T_first/∂η = {-Φ_pre/(F·η²) if B_a ≥ 1; 0 otherwise}", "ms", ()),
        (closed(ROUTING, "all_to_all_latency", "fabric_latency"), "∂T_a2a/∂α = e − 1", "ms/µs", ()),
        (closed(ROUTING, "link_bandwidth", "oversubscription"), "∂β/∂κ = -β_fab/κ²", "GB/s", ()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_in_print(derivative, text, unit, steps):
    assert derivative.text() == text
    assert derivative.unit == unit
    assert derivative.steps == steps
    more = "; relax=True takes ceilings and floors as lines"
    note = f"\n  steps, counted as constant: {', '.join(steps)}{more}" if steps else ""
    assert str(derivative) == repr(derivative) == text + note


def test_relaxed_steps_are_not_told_to_relax():
    assert "relax" in str(MEMORY.derivative("total_memory", "batch_size"))
    assert "relax" not in str(MEMORY.derivative("total_memory", "batch_size", relax=True))


def test_as_latex():
    found = MEMORY.derivative("memory_utilization", "memory_capacity")
    assert found.latex() == (r"\frac{\partial \rho_M}{\partial M_{\mathrm{cap}}} = - \frac{M}{M_{\mathrm{cap}}^{2}}")
    assert found._repr_latex_() == f"$\\displaystyle {found.latex()}$"


def test_the_expression_is_sympys():
    found = ROUTING.derivative("all_to_all_latency", "fabric_latency")
    assert found.expression == variable_of("ep_size").symbol - 1
    assert isinstance(found.expression, sympy.Expr)


def test_a_value_has_the_unit_of_the_quotient():
    point = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8}
    found = MEMORY.derivative("total_memory", "batch_size", relax=True).at(**point)
    assert found.to("GB").magnitude == pytest.approx(10 * 32 * 2048 * 4096 / 1e9, rel=1e-14)
    assert MEMORY.derivative("total_memory", "batch_size").at(**point) == Q_(0, "GB")
    assert MEMORY.derivative("total_memory", "batch_size").at("Llama3_8B", "H100", batch_size=8) == Q_(0, "GB")


def test_relaxing_lets_a_derivative_see_through_ceilings_and_floors():
    point = {"model": "Llama3_8B", "hardware": "H100", "qps": 20, "target_p99_latency_ms": 9000, "max_batch_size": 999}
    seen = SERVING.derivative("active_batch_size", "memory_capacity", relax=True)
    assert seen.at(**point).to("request/GB").magnitude == pytest.approx(1 / 0.268435456, rel=1e-14)
    assert seen.steps == ()
    blind = SERVING.derivative("active_batch_size", "memory_capacity")
    assert blind.at(**point).magnitude == 0
    assert blind.steps == ("active_batch_size",)


def test_relaxing_leaves_least_integers_and_says_so():
    found = SERVING.derivative("required_replicas", "qps", relax=True)
    assert (found.expression, found.steps) == (0, ("required_replicas",))


def test_the_branch_that_binds_decides():
    point = {"model": "Mixtral_8x7B", "batch_size": 4}
    slope = ROUTING.derivative("effective_active_experts", "routing_imbalance_factor")
    assert slope.at(**point, routing_imbalance_factor=2).magnitude == 2
    assert slope.at(**point, routing_imbalance_factor=5).magnitude == 0


class TestRefused:
    @pytest.mark.parametrize("output", ["feasible"])
    def test_truth_values(self, output):
        with pytest.raises(InputError) as caught:
            MEMORY.derivative(output, "batch_size")
        assert str(caught.value) == "derivative='feasible': only numbers have derivatives, not labels or truth values"

    def test_labels(self):
        with pytest.raises(InputError) as caught:
            MEMORY.derivative("weights", "precision")
        assert str(caught.value) == "derivative='precision': only numbers have derivatives, not labels or truth values"
        with pytest.raises(InputError, match=r"^derivative='bottleneck': "):
            SERVING.derivative("bottleneck", "qps")

    @pytest.mark.parametrize("output", sorted(QUEUE))
    def test_the_number_of_servers_of_a_queue(self, output):
        with pytest.raises(InputError) as caught:
            SERVING.derivative(output, "max_replicas")
        assert str(caught.value) == (
            f"derivative='max_replicas': {output} has no derivative by it: "
            "Erlang C is defined for whole numbers of replicas only"
        )

    def test_unknown_names(self):
        with pytest.raises(
            UnknownNameError, match=r"^unknown output of TrainingMemoryModel 'wieghts': did you mean wei"
        ):
            MEMORY.derivative("wieghts", "batch_size")
        with pytest.raises(
            UnknownNameError, match=r"^unknown input of TrainingMemoryModel 'batch_sise': did you mean b"
        ):
            MEMORY.derivative("weights", "batch_sise")

    def test_an_output_is_not_an_input(self):
        with pytest.raises(UnknownNameError, match=r"^unknown input of TrainingMemoryModel 'weights': "):
            MEMORY.derivative("total_memory", "weights")

    def test_bad_arguments_of_the_point(self):
        with pytest.raises(InputError, match=r"^batch_size=-1: must be a whole number >= 1$"):
            MEMORY.derivative("weights", "parameters").at("Llama3_8B", "H100", batch_size=-1)

    def test_an_output_that_cannot_be_computed_at_the_point(self):
        slope = ROUTING.derivative("all_to_all_latency", "fabric_latency")
        with pytest.raises(MissingInputError) as caught:
            slope.at("Mixtral_8x7B", batch_size=4)
        assert str(caught.value) == (
            "MoERoutingModel needs fabric_bandwidth for all_to_all_latency: give fleet=... or fabric_bandwidth=..."
        )


def test_a_truth_value_on_the_way_has_no_slope():
    """Whether retries of the allocator begin is a truth value, which a step time depends on."""
    from mlsysim import ExpertParallelModel

    found = ExpertParallelModel("fsdp").derivative("step_time", "straggler_factor")
    assert "Derivative" not in str(found.expression)


def test_a_maximum_over_a_product_of_a_sum_has_a_derivative():
    """Conditions of which SymPy turns the sign of a factor to and fro."""
    run = {"model": "Qwen3_30B_A3B", "fleet": "SuperPOD_H100", "fleet_size": 16, "batch_size": 64, "precision": "bf16",
           "ep_size": 8, "zero_stage": 2, "gradient_accumulation_steps": 4, "two_batch_overlap": True}  # fmt: skip
    model, exposed = DistributedModel(), "ep_exposed_time"
    slope = model.derivative(exposed, "two_batch_hidden_share").at(**run)
    apart = [model.solve(**run, two_batch_hidden_share=share).canonical(exposed) for share in (0.39, 0.41)]
    assert slope.to_base_units().magnitude != 0
    assert slope.m_as("s") == pytest.approx((apart[1] - apart[0]) / 0.02, rel=1e-6)
