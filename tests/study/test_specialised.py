"""A derivative at a point is short, holds where it says, and has the value of the whole one there."""

import pytest
from fuzz import rest_long

from mlsysim import DistributedModel, IterationModel, MoERoutingModel, ServingCapacityModel, TrainingMemoryModel
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.symbolic import variable_of

MEMORY = TrainingMemoryModel("per_operator")
RUN = {"model": "Llama3_8B", "hardware": "H100", "precision": "bf16", "seq_len": 8192}
LAYOUT = {**RUN, "batch_size": 64, "dp_size": 64, "zero_stage": 3}
STEP = {"model": "Llama3_8B", "fleet": "SuperPOD_H100", "batch_size": 2048, "seq_len": 4096, "precision": "bf16"}
ROUTE = {"model": "Mixtral_8x7B", "fleet": "Research_256", "batch_size": 4, "seq_len": 2048, "ep_size": 8}
SERVE = {"model": "Llama3_1_70B", "hardware": "H100", "tp_size": 4, "decode_requests": 64, "context_tokens": 2048}
POINTS = {
    "memory by batch": (MEMORY, "total_memory", "batch_size", LAYOUT),
    "memory by length": (MEMORY, "total_memory", "seq_len", LAYOUT),
    "memory of experts": (MEMORY, "total_memory", "seq_len", {**LAYOUT, "model": "Mixtral_8x7B", "ep_size": 8}),
    "adapters": (MEMORY, "total_memory", "seq_len", {**LAYOUT, "finetuning": "lora"}),
    "exchange": (MoERoutingModel("first_order"), "all_to_all_latency", "fabric_latency", ROUTE),
    "step": (DistributedModel(), "step_time", "peak_flops", STEP),
    "iteration": (IterationModel(), "iteration_time", "memory_bandwidth", SERVE),
}


@pytest.mark.parametrize("relax", [True, False])
@pytest.mark.parametrize(("model", "output", "by", "point"), rest_long(POINTS.values(), quick=1), ids=POINTS)
def test_it_is_the_slope_at_the_point(model, output, by, point, relax):
    short = model.derivative(output, by, relax=relax, at=point)
    solved = model.solve(**point)
    values = {variable.symbol: solved.canonical(variable.name) for variable in model.inputs}
    system = short._system  # where relaxed, intermediates are others
    for formula in system:
        values[formula.variable.symbol] = float(_evaluated(system, values, formula.name))
    found = float(short.expression.xreplace({symbol: _number(value) for symbol, value in values.items()}))
    wanted = short.at(**point).to_base_units().magnitude
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-300)
    assert len(short.text()) < 1500


def _evaluated(system, values, name):
    from mlsysim.backends import OutputSpec, evaluate_outputs

    inputs = {variable.name: values[variable.symbol] for variable in system.inputs}
    return evaluate_outputs(system, [OutputSpec(name)], inputs, ())[name]


def _number(value):
    import sympy

    return sympy.Float(value) if value != int(value) else sympy.Integer(int(value))


def test_a_dense_model_prints_short():
    short = MEMORY.derivative("loss_buffer", "batch_size", relax=True, at=RUN)
    assert str(short) == "∂A_loss/∂b = s·(x_norm + c_ℓ·V_r)/(d·c_cp·g)"
    whole = MEMORY.derivative("loss_buffer", "batch_size", relax=True)
    assert len(str(whole)) > 4 * len(str(short))


def test_it_says_which_numbers_decided():
    near = MEMORY.derivative("total_memory", "batch_size", relax=True, at=LAYOUT)
    symbols = {symbol.name for condition in near.conditions for symbol in condition.free_symbols}
    assert {"loss_memory", "head_memory", "layer_memory", "update_memory"} <= symbols
    assert not any(variable_of(name).domain.kind == "choice" for name in symbols)
    assert str(near).count("\n") == 1
    assert "more are in .conditions" in str(near)


def test_labels_alone_keep_the_rest_open():
    some = MEMORY.derivative("total_memory", "batch_size", relax=True, at={"finetuning": "full", "precision": "bf16"})
    none = MEMORY.derivative("total_memory", "batch_size", relax=True)
    names = {symbol.name for symbol in some.expression.free_symbols}
    assert "lora_rank" not in names
    assert "finetuning" not in names
    assert len(str(some)) < len(str(none)) / 4


def test_what_is_zero_and_moves_keeps_its_slope():
    point = {"model": "Mixtral_8x7B", "fleet": "Research_256", "batch_size": 4, "ep_size": 8, "fabric_latency": 0}
    slope = MoERoutingModel("first_order").derivative("all_to_all_latency", "fabric_latency", at=point)
    assert slope.expression != 0


def test_a_queue_is_kept_whole():
    serve = {"model": "Llama3_8B", "hardware": "H100", "qps": 20, "target_p99_latency_ms": 4000}
    slope = ServingCapacityModel("prefill_aware").derivative("estimated_p99_latency", "efficiency", at=serve)
    assert slope.expression != 0


@pytest.mark.parametrize(
    ("at", "error", "said"),
    [
        ("Llama3_8B", InputError, "at='Llama3_8B': must be a mapping of arguments to values"),
        ({"batch_sise": 8}, UnknownNameError, "did you mean batch_size"),
        ({"model": "Llama3_9B"}, UnknownNameError, "did you mean Llama3_8B"),
        ({"batch_size": 0}, InputError, "batch_size=0"),
    ],
)
def test_refused(at, error, said):
    with pytest.raises(error) as caught:
        MEMORY.derivative("total_memory", "batch_size", at=at)
    assert said in str(caught.value)
