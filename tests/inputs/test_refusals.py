"""Bad input is refused by name, value and remedy, before any number is computed."""

import math
from decimal import Decimal

import numpy as np
import pint
import pytest

from mlsysim import (
    Q_,
    Accelerator,
    Hardware,
    Models,
    MoERoutingModel,
    ServingCapacityModel,
    Systems,
    TrainingMemoryModel,
)
from mlsysim.errors import InputError, MissingInputError, UnitError, UnknownNameError

MEMORY = (TrainingMemoryModel(), {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8})
SERVING = (
    ServingCapacityModel(),
    {"model": "Llama3_8B", "hardware": "H100", "qps": 20, "target_p99_latency_ms": 2000},
)
ROUTING = (MoERoutingModel(), {"model": "Mixtral_8x7B", "fleet": "Research_256", "batch_size": 4, "ep_size": 8})

#: An accelerator whose maker forgot two numbers.
HOLLOW = Accelerator(
    name="Hollow", memory_capacity="80 GB", memory_bandwidth="0 GB/s", peak_flops={"fp16": "0 TFLOP/s"}
)

WHOLE = "must be a whole number >= 1"
FINITE = "must be a finite number > 0"
PRECISIONS = (
    "must be one of fp32, tf32, bf16, fp16, fp8, int8, w8a8, fp8_deepseek, int4, w4a16, mxfp4, nvfp4, "
    "q8_0, q6_k, q5_k_m, q4_k_m, q4_0"
)
TEXT = "is not a number with a unit, as in '80 GB'"

CASES = [
    # Unknown names, with the nearest.
    (MEMORY, {"hardware": "H999"}, UnknownNameError, "unknown hardware 'H999': did you mean H100, H200, H800?"),
    (MEMORY, {"hardware": "hh100"}, UnknownNameError, "unknown hardware 'hh100': did you mean H100"),
    (
        MEMORY,
        {"hardware": "Llama3_8B"},
        UnknownNameError,
        "unknown hardware 'Llama3_8B': known: H100, H200, A100, A100_40GB, H100_PCIe, ",
    ),
    (MEMORY, {"model": "Lama3_8B"}, UnknownNameError, "unknown model 'Lama3_8B': did you mean Llama3_8B"),
    (ROUTING, {"fleet": "Research_257"}, UnknownNameError, "unknown fleet 'Research_257': did you mean Research_256?"),
    (ROUTING, {"fleet": "DGX_H100"}, UnknownNameError, "unknown fleet 'DGX_H100': did you mean SuperPOD_H100?"),
    (
        ROUTING,
        {"fleet": "Mixtral_8x7B"},
        UnknownNameError,
        "unknown fleet 'Mixtral_8x7B': known: Research_256, SuperPOD_A100, ",
    ),
    (
        MEMORY,
        {"batch_sise": 8},
        UnknownNameError,
        "unknown argument of TrainingMemoryModel 'batch_sise': did you mean batch_size",
    ),
    (SERVING, {"sequence_length": 8}, UnknownNameError, "unknown argument of ServingCapacityModel 'sequence_length': "),
    (ROUTING, {"hardware": "H100"}, UnknownNameError, "unknown argument of MoERoutingModel 'hardware': "),
    (MEMORY, {"precision": "fp15"}, InputError, f"precision='fp15': {PRECISIONS}; did you mean fp16"),
    (MEMORY, {"precision": "FP15"}, InputError, f"precision='FP15': {PRECISIONS}; did you mean fp16"),
    (MEMORY, {"precision": 16}, InputError, f"precision=16: {PRECISIONS}"),
    (MEMORY, {"precision": True}, InputError, f"precision=True: {PRECISIONS}"),
    (
        MEMORY,
        {"optimizer": "adan"},
        InputError,
        "optimizer='adan': must be one of adam, adamw, adam_fp32, adam_8bit, adam_bf16, muon, adafactor, sgd, none; "
        "did you mean adam",
    ),
    (
        MEMORY,
        {"activation_checkpointing": "selectiv"},
        InputError,
        "activation_checkpointing='selectiv': must be one of none, selective, full; did you mean selective?",
    ),
    (
        MEMORY,
        {"activation_checkpointing": True},
        InputError,
        "activation_checkpointing=True: must be one of none, selective, full",
    ),
    # Not a number, not finite, out of range.
    (MEMORY, {"batch_size": math.nan}, InputError, f"batch_size=nan: {WHOLE}"),
    (MEMORY, {"batch_size": math.inf}, InputError, f"batch_size=inf: {WHOLE}"),
    (MEMORY, {"batch_size": -8}, InputError, f"batch_size=-8: {WHOLE}"),
    (MEMORY, {"batch_size": 0}, InputError, f"batch_size=0: {WHOLE}"),
    (MEMORY, {"parameters": -1.0}, InputError, f"parameters=-1.0: {FINITE}"),
    (MEMORY, {"parameters": 0}, InputError, f"parameters=0: {FINITE}"),
    (MEMORY, {"parameters": math.nan}, InputError, f"parameters=nan: {FINITE}"),
    (MEMORY, {"memory_capacity": "nan GB"}, InputError, f"memory_capacity='nan GB': {FINITE}"),
    (MEMORY, {"memory_capacity": "-80 GB"}, InputError, f"memory_capacity='-80 GB': {FINITE}"),
    (MEMORY, {"memory_capacity": Q_(-1, "GB")}, InputError, f"memory_capacity={Q_(-1, 'GB')!r}: {FINITE}"),
    (SERVING, {"memory_bandwidth": 0}, InputError, f"memory_bandwidth=0: {FINITE}"),
    (SERVING, {"memory_bandwidth": "0 GB/s"}, InputError, f"memory_bandwidth='0 GB/s': {FINITE}"),
    (SERVING, {"hardware": HOLLOW}, InputError, f"memory_bandwidth='0 GB/s': {FINITE}; given by Hollow"),
    (
        SERVING,
        {"hardware": HOLLOW, "memory_bandwidth": 1},
        InputError,
        f"peak_flops='0 TFLOP/s': {FINITE}; given by Hollow",
    ),
    (SERVING, {"peak_flops": 0.0}, InputError, f"peak_flops=0.0: {FINITE}"),
    (SERVING, {"qps": 0}, InputError, f"qps=0: {FINITE}"),
    (SERVING, {"target_p99_latency_ms": 0}, InputError, f"target_p99_latency_ms=0: {FINITE}"),
    (SERVING, {"efficiency": 0}, InputError, "efficiency=0: must be a finite number > 0 and <= 1"),
    (SERVING, {"efficiency": 1.01}, InputError, "efficiency=1.01: must be a finite number > 0 and <= 1"),
    (SERVING, {"efficiency": "35"}, InputError, "efficiency='35': must be a finite number > 0 and <= 1"),
    (SERVING, {"service_time_cv": -0.5}, InputError, "service_time_cv=-0.5: must be a finite number >= 0"),
    (
        SERVING,
        {"max_replicas": 10**7},
        InputError,
        "max_replicas=10000000: must be a whole number >= 1 and <= 1,000,000",
    ),
    (MEMORY, {"zero_stage": 4}, InputError, "zero_stage=4: must be a whole number >= 0 and <= 3"),
    (MEMORY, {"trainable_fraction": 1.5}, InputError, "trainable_fraction=1.5: must be a finite number >= 0 and <= 1"),
    (
        ROUTING,
        {"routing_imbalance_factor": 0.5},
        InputError,
        "routing_imbalance_factor=0.5: must be a finite number >= 1",
    ),
    (ROUTING, {"oversubscription": 0.5}, InputError, "oversubscription=0.5: must be a finite number >= 1"),
    (ROUTING, {"fabric_bandwidth": 0}, InputError, f"fabric_bandwidth=0: {FINITE}"),
    # Whole numbers.
    (MEMORY, {"batch_size": 2.5}, InputError, f"batch_size=2.5: {WHOLE}; nearest: 2, 3"),
    (MEMORY, {"tp_size": 1.5}, InputError, f"tp_size=1.5: {WHOLE}; nearest: 1, 2"),
    (SERVING, {"output_tokens": "1.5 token"}, InputError, f"output_tokens='1.5 token': {WHOLE}; nearest: 1, 2"),
    (MEMORY, {"batch_size": True}, InputError, f"batch_size=True: {WHOLE}"),
    (MEMORY, {"batch_size": np.True_}, InputError, f"batch_size=np.True_: {WHOLE}"),
    (MEMORY, {"batch_size": np.array(True)}, InputError, f"batch_size=array(True): {WHOLE}"),
    (SERVING, {"efficiency": True}, InputError, "efficiency=True: must be a finite number > 0 and <= 1"),
    # Too large and too small to be meant, or to be exact.
    (MEMORY, {"memory_capacity": 1e31}, InputError, "memory_capacity=1e+31: must be between 1e-30 and 1e+30 in size"),
    (MEMORY, {"memory_capacity": 1e-31}, InputError, "memory_capacity=1e-31: must be between 1e-30 and 1e+30 in size"),
    (MEMORY, {"trainable_fraction": 1e-40}, InputError, "trainable_fraction=1e-40: must be between 1e-30 and 1e+30 in"),
    (
        MEMORY,
        {"batch_size": 2**53},
        InputError,
        "batch_size=9007199254740992: must be below 2**53, beyond which whole numbers are not exact",
    ),
    (
        MEMORY,
        {"batch_size": 2**53 + 1},
        InputError,
        "batch_size=9007199254740993: must be below 2**53, beyond which whole numbers are not exact",
    ),
    # Values of another kind.
    (MEMORY, {"batch_size": 1 + 2j}, InputError, f"batch_size=(1+2j): {WHOLE}"),
    (MEMORY, {"batch_size": Decimal("8.5")}, InputError, f"batch_size=Decimal('8.5'): {WHOLE}; nearest: 8, 9"),
    (MEMORY, {"batch_size": b"8"}, InputError, f"batch_size=b'8': {WHOLE}"),
    (MEMORY, {"batch_size": {}}, InputError, f"batch_size={{}}: {WHOLE}"),
    (MEMORY, {"memory_capacity": b"80 GB"}, InputError, f"memory_capacity=b'80 GB': {FINITE}, in GB"),
    (MEMORY, {"hardware": 3}, InputError, "hardware=3: must be an entry of the catalog (hardware), or its name"),
    (MEMORY, {"hardware": 80.0}, InputError, "hardware=80.0: must be an entry of the catalog (hardware), or its name"),
    # Units.
    (MEMORY, {"memory_capacity": "80 s"}, UnitError, "memory_capacity='80 s': s is not a unit of GB"),
    (MEMORY, {"memory_capacity": Q_(80, "GB/s")}, UnitError, "memory_capacity='80 GB/s': GB/s is not a unit of GB"),
    (MEMORY, {"memory_capacity": Q_(80, "TFLOP")}, UnitError, "memory_capacity='80 TFLOP': TFLOP is not a unit of GB"),
    (MEMORY, {"batch_size": "8 GB"}, UnitError, "batch_size='8 GB': GB is not a unit of count"),
    (MEMORY, {"seq_len": Q_(8, "count")}, UnitError, "seq_len='8 count': count is not a unit of token"),
    (SERVING, {"max_batch_size": "8 tokens"}, UnitError, "max_batch_size='8 token': token is not a unit of request"),
    (SERVING, {"qps": "20 1/s"}, UnitError, "qps='20 1/s': 1/s is not a unit of QPS"),
    (
        MEMORY,
        {"memory_capacity": pint.UnitRegistry().Quantity(80, "")},
        UnitError,
        "memory_capacity='80 dimensionless': a pure number is not a unit of GB",
    ),
    (
        MEMORY,
        {"memory_capacity": "80"},
        InputError,
        f"memory_capacity='80': {FINITE}, in GB; text needs a unit, as in '80 GB'",
    ),
    (SERVING, {"qps": "20"}, InputError, f"qps='20': {FINITE}, in QPS; text needs a unit, as in '80 QPS'"),
    (
        MEMORY,
        {"seq_len": "2048"},
        InputError,
        f"seq_len='2048': {WHOLE}, in token; text needs a unit, as in '80 token'",
    ),
    (
        MEMORY,
        {"memory_capacity": "80,5 GB"},
        InputError,
        f"memory_capacity='80,5 GB': {FINITE}, in GB; '80,5 GB' {TEXT}",
    ),
    (
        MEMORY,
        {"memory_capacity": "80 000 GB"},
        InputError,
        f"memory_capacity='80 000 GB': {FINITE}, in GB; '80 000 GB' {TEXT}",
    ),
    (
        MEMORY,
        {"memory_capacity": "9**9**9"},
        InputError,
        f"memory_capacity='9**9**9': {FINITE}, in GB; '9**9**9' {TEXT}",
    ),
    (MEMORY, {"memory_capacity": ""}, InputError, f"memory_capacity='': {FINITE}, in GB; '' {TEXT}"),
    (MEMORY, {"memory_capacity": "80 gb"}, InputError, f"memory_capacity='80 gb': {FINITE}, in GB; unknown unit 'gb'"),
    # Sizes that do not divide or do not fit each other.
    (MEMORY, {"tp_size": 3}, InputError, "tp_size=3: must divide heads=32; nearest: 2, 4"),
    (MEMORY, {"tp_size": 64}, InputError, "tp_size=64: must divide heads=32; nearest: 32"),
    (MEMORY, {"heads": 31, "tp_size": 2}, InputError, "tp_size=2: must divide heads=31; nearest: 1, 31"),
    (MEMORY, {"ep_size": 2}, InputError, "ep_size=2: must divide experts=1 (1 for a dense model); nearest: 1"),
    (
        MEMORY,
        {"model": "Mixtral_8x7B", "ep_size": 3},
        InputError,
        "ep_size=3: must divide experts=8 (1 for a dense model); nearest: 2, 4",
    ),
    (MEMORY, {"pp_size": 33}, InputError, "pp_size=33: must be at most layers=32; nearest: 32"),
    (ROUTING, {"ep_size": 3}, InputError, "ep_size=3: must divide experts=8; nearest: 2, 4"),
    (ROUTING, {"ep_size": 16}, InputError, "ep_size=16: must divide experts=8; nearest: 8"),
    (
        ROUTING,
        {"active_experts_per_token": 9},
        InputError,
        "active_experts_per_token=9: must be at most experts=8; nearest: 8",
    ),
    (SERVING, {"kv_heads": 5}, InputError, "kv_heads=5: must divide heads=32; nearest: 4, 8"),
    # The wrong catalog entry.
    (
        ROUTING,
        {"model": "Llama3_8B"},
        InputError,
        "model='Llama 3 8B': MoERoutingModel needs a mixture-of-experts model (SparseTransformerWorkload); this",
    ),
    (
        ROUTING,
        {"model": Models.Language.GPT3_175B},
        InputError,
        "model='GPT-3 175B': MoERoutingModel needs a mixture-of-experts model (SparseTransformerWorkload); this",
    ),
    (
        SERVING,
        {"hardware": "A100", "precision": "fp8"},
        InputError,
        "precision='fp8': NVIDIA A100 SXM4 80 GB has no rate for it, only for fp32, tf32, bf16, fp16, int8; "
        "with weights of 8 bits it can run int8, q8_0; or give peak_flops=...",
    ),
    (
        SERVING,
        {"precision": "int4"},
        InputError,
        "precision='int4': NVIDIA H100 SXM5 80 GB has no rate for it, only for ",
    ),
    # Missing.
    (MEMORY, {"batch_size": None}, MissingInputError, "TrainingMemoryModel needs batch_size: give batch_size=..."),
    (
        MEMORY,
        {"hardware": None},
        MissingInputError,
        "TrainingMemoryModel needs memory_capacity: give hardware=... or memory_capacity=...",
    ),
    (
        MEMORY,
        {"model": None, "parameters": 1e9, "hidden_dim": 64},
        MissingInputError,
        "TrainingMemoryModel needs layers: give model=... or layers=...",
    ),
    (SERVING, {"qps": None}, MissingInputError, "ServingCapacityModel needs qps: give qps=..."),
    (
        SERVING,
        {"hardware": None, "memory_capacity": 80},
        MissingInputError,
        "ServingCapacityModel needs memory_bandwidth, peak_flops: give hardware=... or memory_bandwidth=... and ",
    ),
    (
        ROUTING,
        {"model": None},
        MissingInputError,
        "MoERoutingModel needs model: give model=..., or what it gives one by one, as in active_parameters=...",
    ),
    # One value, not many.
    (
        MEMORY,
        {"batch_size": [1, 2]},
        InputError,
        "batch_size=[1, 2]: solve() takes one value; use sweep(batch_size=...) for",
    ),
    (
        MEMORY,
        {"hardware": ["H100"]},
        InputError,
        "hardware=['H100']: solve() takes one value; use sweep(hardware=...) for many",
    ),
    (
        MEMORY,
        {"memory_capacity": Q_(np.array([1.0, 2.0]), "GB")},
        InputError,
        f"memory_capacity={Q_(np.array([1.0, 2.0]), 'GB')!r}: solve() takes one value; use sweep(memory_capacity=...",
    ),
]


def no_number(*_args, **_kwargs):
    raise AssertionError("something was computed")


@pytest.fixture(autouse=True)
def nothing_is_computed(monkeypatch):
    """Whoever compiles or evaluates a system fails the test."""
    monkeypatch.setattr("mlsysim.study.solve.compiled", no_number)
    monkeypatch.setattr("mlsysim.study.function.concrete_function", no_number)
    monkeypatch.setattr("mlsysim.study.function.pure_function", no_number)
    monkeypatch.setattr("mlsysim.study.grids.grid.evaluate_outputs", no_number)
    monkeypatch.setattr("mlsysim.study.sensitivities.moves.compiled", no_number)
    monkeypatch.setattr("mlsysim.study.sensitivities.point.derivatives", no_number)
    monkeypatch.setattr("mlsysim.study.sensitivities.on_grid.derivatives", no_number)


def test_the_guard_works():
    model, good = MEMORY
    for call in (
        lambda: model.solve(**good),
        lambda: model.sweep(**{**good, "batch_size": [1]}),
        lambda: model.function("weights", **good)(),
        lambda: model.sensitivity("weights", **good),
    ):
        with pytest.raises(AssertionError, match="something was computed"):
            call()


IDS = [f"{type(where[0]).__name__}-{'-'.join(bad)}-{n}" for n, (where, bad, _, _) in enumerate(CASES)]


@pytest.mark.parametrize(("where", "bad", "kind", "message"), CASES, ids=IDS)
def test_solve_refuses(where, bad, kind, message):
    model, good = where
    with pytest.raises(kind) as caught:
        model.solve(**{**good, **bad})
    assert str(caught.value).startswith(message)
    assert type(caught.value) is kind


HEADLINES = {"TrainingMemoryModel": "weights", "ServingCapacityModel": "ttft", "MoERoutingModel": "all_to_all_latency"}


@pytest.mark.parametrize(("where", "bad", "kind", "message"), CASES, ids=IDS)
def test_so_do_the_other_verbs(where, bad, kind, message):
    model, good = where
    if "takes one value" in message:
        return
    axis = {"seq_len": [512, 1024]} if "seq_len" not in bad else {"precision": ["fp16", "bf16"]}
    output = HEADLINES[type(model).__name__]
    for call in (
        lambda: model.function(output, **{**good, **bad}),
        lambda: model.sensitivity(output, **{**good, **bad}),
        lambda: model.sweep(**{**good, **axis, **bad}),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert str(caught.value).startswith(message)


def test_an_integer_too_long_for_a_float():
    with pytest.raises(InputError, match=r"^batch_size=10{56}\.\.\.: must be a whole number >= 1$"):
        MEMORY[0].solve(**{**MEMORY[1], "batch_size": 10**400})


def test_an_entry_of_the_wrong_kind_names_what_is_wanted():
    model, good = MEMORY
    with pytest.raises(InputError, match=r"^hardware=.*: must be an entry of the catalog \(hardware\), or its name$"):
        model.solve(**{**good, "hardware": Models.Language.Llama3_8B})
    with pytest.raises(InputError, match=r"^model=.*: must be an entry of the catalog \(model\), or its name$"):
        model.solve(**{**good, "model": Hardware.Cloud.H100})
    model, good = ROUTING
    with pytest.raises(InputError, match=r"^fleet=.*: must be an entry of the catalog \(fleet\), or its name$"):
        model.solve(**{**good, "fleet": Systems.Nodes.DGX_H100})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: MEMORY[0].solve("Llama3_8B", "H100", 8),
            "TrainingMemoryModel: only model, hardware can be given without a name",
        ),
        (lambda: MEMORY[0].solve("Llama3_8B", model="Llama3_8B"), "TrainingMemoryModel: model is given twice"),
        (
            lambda: ROUTING[0].solve("Mixtral_8x7B", "Research_256", 4),
            "MoERoutingModel: only model, fleet can be given without a name",
        ),
    ],
)
def test_a_call_of_the_wrong_shape_is_a_type_error(call, message):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == message


def test_the_errors_carry_their_parts():
    with pytest.raises(InputError) as caught:
        MEMORY[0].solve(**{**MEMORY[1], "tp_size": 3})
    error = caught.value
    assert (error.argument, error.value, error.allowed, error.hint) == (
        "tp_size",
        3,
        "must divide heads=32",
        "nearest: 2, 4",
    )
