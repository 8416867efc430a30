"""A call that recurs with other numbers gives the bits and the errors of one that never came before."""

from __future__ import annotations

import pickle
import random
import struct
import sys
import threading
from copy import deepcopy
from importlib import import_module

import numpy as np
import pytest

import mlsysim
from mlsysim import Q_, Accelerator, Hardware, Models, TrainingMemoryModel
from mlsysim.catalog import Stack
from mlsysim.errors import MlsysimError
from mlsysim.inputs import recurring
from mlsysim.symbolic import variable_of
from tests.study.points import CHAINS, DEPLOYMENTS, POINTS

solving = import_module("mlsysim.study.solve")
POINT = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8, "seq_len": 2048}
ODD = [
    0,
    -1,
    1,
    2.5,
    float("nan"),
    float("inf"),
    1e31,
    1e-31,
    2**53,
    10**400,
    -0.0,
    np.float64(3.0),
    np.int64(4),
    1e300,
]


@pytest.fixture(autouse=True)
def calls(monkeypatch):
    """Calls of which none came before, and that recur from the second one on."""
    found = recurring.Calls()
    monkeypatch.setattr(solving, "_CALLS", found)
    monkeypatch.setattr(recurring, "CALLS_BEFORE", 1)
    return found


def bits(values):
    """Names, types and bits of values; every nan is the same."""
    return {name: (type(x), struct.pack("<d", x) if x == x else "nan") for name, x in ((n, values[n]) for n in values)}


def outcome(model, arguments):
    """What a call says, to the last bit, or the error; and whether it was answered as one that recurs."""
    try:
        result = model.solve(**arguments)
    except (MlsysimError, TypeError) as error:
        return (type(error), str(error)), False
    recurs = "_answer" in vars(result)
    binding = result._binding
    said = (
        bits(result._computed),
        bits(binding.values),
        binding.origins,
        binding.entries,
        binding.system,
        [(reason.inputs, reason.text, reason.condition, reason.needs) for reason in binding.reasons],
        (binding.axes, binding.derived, binding.by_recipe, binding.left_out, binding.free),
        list(result._values),
        result.keys(),
    )
    return said, recurs


def alone(monkeypatch, model, arguments):
    """What the call says if it is the first of its kind."""
    with monkeypatch.context() as patch:
        patch.setattr(solving, "_CALLS", recurring.Calls())
        return outcome(model, arguments)[0]


def typed_numbers(model, point, drawn, most):
    """Some arguments of a model that are numbers, with values that are accepted at the point."""
    values = model.solve(**point).inputs
    known = [
        name
        for name, variable in model.arguments.items()
        if variable is not None and variable.domain.kind in ("integer", "real") and name in values
    ]
    chosen = drawn.sample(known, min(len(known), drawn.randint(1, most)))
    return {name: getattr(values[name], "magnitude", values[name]) for name in chosen}


def moved(name, value, drawn):
    """Another number for an argument, most of which are allowed."""
    if drawn.random() < 0.05:
        return drawn.choice(ODD)
    if variable_of(name).domain.kind == "integer":
        return drawn.choice([value, value, 2 * value, value + drawn.randint(0, 5), max(value // 2, 1), float(value)])
    return value * drawn.choice([1, drawn.uniform(0.5, 2), drawn.uniform(0.9, 1.1), 10 ** drawn.uniform(-3, 3)])


#: Those that take long, or are formulas of another one with few beside them.
AT_LENGTH = {
    *DEPLOYMENTS,
    ("EconomicsModel", "owned_training"),
    ("EconomicsModel", "rented_training"),
    ("EconomicsModel", "rented_serving"),
    ("ExpertParallelModel", "per_operator"),
    ("MemoryExpansionModel", "offloaded_by_share"),
}
CASES = [pytest.param(case, marks=[pytest.mark.long] if case in AT_LENGTH else []) for case in POINTS]


@pytest.mark.long(quick=2)
@pytest.mark.parametrize("case", CASES, ids=[".".join(case) for case in POINTS])
def test_the_bits_and_errors_are_those_of_a_first_call(monkeypatch, case):
    model, drawn = getattr(mlsysim, case[0])(case[1]), random.Random(".".join(case))
    sets, draws = (1, 4) if case in DEPLOYMENTS else (3, 8)
    answered = 0
    for number in range(sets):
        start = typed_numbers(model, POINTS[case], drawn, 1 if number == 0 else 12)
        for _ in range(draws):
            changed = {name: moved(name, value, drawn) for name, value in start.items()}
            found, recurs = outcome(model, {**POINTS[case], **changed})
            assert found == alone(monkeypatch, model, {**POINTS[case], **changed})
            answered += recurs
    # The law of chunked prefill is solved on arrays, for which there is no plain form.
    assert answered or case in CHAINS


@pytest.mark.parametrize(
    "name", ["batch_size", "memory_capacity", "zero_stage", "trainable_fraction", "tdp", "hardware"]
)
@pytest.mark.parametrize("value", [*ODD, True, "8", "80 GB", "8 GB/s", Q_(80, "GB"), [8], np.array(8.0), None], ids=str)
def test_odd_values(monkeypatch, name, value):
    model = TrainingMemoryModel()
    arguments = {**POINT, name: 1 if name in ("batch_size", "zero_stage", "trainable_fraction") else 80}
    if name != "hardware":
        outcome(model, arguments)
    arguments[name] = value
    first = alone(monkeypatch, model, arguments)
    assert outcome(model, arguments)[0] == first
    assert outcome(model, arguments)[0] == first


@pytest.mark.long
def test_what_a_result_tells_is_the_same():
    model = TrainingMemoryModel("per_operator")
    first, second = (model.solve(**POINT, dp_size=8, zero_stage=2) for _ in range(2))
    assert "_answer" in vars(second)
    assert "_answer" not in vars(first)
    assert str(second.explain()) == str(first.explain())
    assert second.to_json() == first.to_json()
    assert second.notes == first.notes
    assert second.references() == first.references()
    assert repr(second) == repr(first)
    assert second.entries == first.entries
    for copy in (deepcopy(second), pickle.loads(pickle.dumps(second))):
        assert copy.to_json() == first.to_json()


def test_arguments_without_a_name():
    model = TrainingMemoryModel()
    llama, h100 = Models.Language.Llama3_8B, Hardware.Cloud.H100
    first = model.solve(llama, h100, batch_size=8)
    again = model.solve(llama, h100, batch_size=8)
    assert "_answer" in vars(again)
    assert again.to_json() == first.to_json()
    with pytest.raises(MlsysimError, match="model is given twice"):
        model.solve(llama, h100, batch_size=8, model=llama)
    with pytest.raises(MlsysimError, match="can be given without a name"):
        model.solve(llama, h100, h100, batch_size=8)


def test_a_table_of_rates_that_was_changed_is_read_again():
    device = Accelerator(name="Own", memory_capacity="80 GB", memory_bandwidth="2 TB/s", peak_flops={"bf16": 1e15})
    other = Accelerator(name="Own", memory_capacity="80 GB", memory_bandwidth="2 TB/s", peak_flops={"bf16": 5e14})
    point = {"hardware": device, "product_rows": 10, "product_columns": 10, "product_inner": 10, "precision": "bf16"}
    model = mlsysim.KernelModel("roofline")
    before = [model.solve(**point) for _ in range(3)][-1]
    assert "_answer" in vars(before)
    device.peak_flops["bf16"] = other.peak_flops["bf16"]
    assert model.solve(**point).canonical("peak_flops") == 5e14 * 1e12
    assert before.canonical("peak_flops") == 1e15 * 1e12
    del device.peak_flops["bf16"]
    with pytest.raises(MlsysimError, match="has no rate for it"):
        model.solve(**point)


@pytest.mark.parametrize(
    ("name", "of", "number_format", "expected"),
    [
        ("peak_flops", "hardware", "fp8", (2e15, 1e15)),
        ("attention_peak_flops", "hardware", "bf16", (1e15, 2e15)),
        ("efficiency", "stack", "fp8", (0.7, 0.8)),
    ],
)
def test_each_input_from_a_table_is_read_again(name, of, number_format, expected):
    rates = {"bf16": 1000.0, "fp8": 2000.0}
    device = Accelerator(name="Own", memory_capacity="80 GB", memory_bandwidth="2 TB/s", peak_flops=rates)
    entries = {"hardware": device, "stack": Stack(name="Own", efficiency={"bf16": 0.8, "fp8": 0.7})}
    point = {**entries, "model": "Llama3_8B", "precision": "fp8", "decode_requests": 8, "context_tokens": 1000}
    model = mlsysim.IterationModel()
    before = [model.solve(**point) for _ in range(3)][-1]
    assert "_answer" in vars(before)
    table = device.peak_flops if of == "hardware" else entries["stack"].efficiency
    table[number_format] = table["fp8" if number_format == "bf16" else "bf16"]
    assert (before.canonical(name), model.solve(**point).canonical(name)) == expected


def test_a_file_is_read_again(tmp_path):
    file = tmp_path / "config.json"
    text = (
        '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096,'
        ' "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": LAYERS, "vocab_size": 32000}'
    )
    model, found = TrainingMemoryModel(), []
    for layers in ("4", "4", "4", "8"):
        file.write_text(text.replace("LAYERS", layers), encoding="utf-8")
        found.append(model.solve(**{**POINT, "model": str(file)}).layers)
    assert found == [4, 4, 4, 8]


def test_a_recipe_takes_the_longer_way():
    model = TrainingMemoryModel("per_operator")
    for pp_size in (16, 16, 8):
        result = model.solve(recipe="DeepSeek_V3_2048_H800", pp_size=pp_size)
        assert "_answer" not in vars(result)
        assert result.dp_size * pp_size == 2048


def test_defaults_of_an_instance_are_its_own():
    model, changed = TrainingMemoryModel(), TrainingMemoryModel()
    point = {name: value for name, value in POINT.items() if name != "seq_len"}
    for _ in range(3):
        usual = model.solve(**point)
    changed.defaults = {**changed.defaults, "seq_len": 128}
    assert changed.solve(**point).canonical("seq_len") == 128
    assert model.solve(**point).canonical("seq_len") == usual.canonical("seq_len") != 128


def test_a_model_that_renames_arguments_of_its_own_is_asked_each_time():
    class Doubled(TrainingMemoryModel):
        """What is the memory of twice the batch?"""

        command = ""

        def named_arguments(self, entries, inputs):
            return {**super().named_arguments(entries, inputs), "batch_size": 2 * inputs["batch_size"]}

    assert [Doubled().solve(**POINT).batch_size for _ in range(3)] == [16, 16, 16]


def test_the_oldest_kind_goes_first(calls, monkeypatch):
    monkeypatch.setattr(recurring, "LARGEST_NUMBER", 2)
    model = TrainingMemoryModel()
    for capacity in ("80 GB", "81 GB", "82 GB", "83 GB"):
        for _ in range(3):
            model.solve(**POINT, memory_capacity=capacity)
        assert len(calls._kept) <= 2
    assert [kind[-1][-1] for kind in calls._kept] == [("82 GB",), ("83 GB",)]


def test_calls_are_counted_before_a_function_is_generated(monkeypatch):
    monkeypatch.setattr(recurring, "CALLS_BEFORE", 3)
    model = TrainingMemoryModel()
    assert ["_answer" in vars(model.solve(**POINT)) for _ in range(5)] == [False, False, False, True, True]


def test_threads(calls, monkeypatch):
    monkeypatch.setattr(recurring, "LARGEST_NUMBER", 3)
    model, errors = TrainingMemoryModel(), []
    want = {(c, b): model.solve(**{**POINT, "batch_size": b}, memory_capacity=f"{c} GB").canonical("total_memory")
            for c in range(70, 76) for b in (1, 2, 4)}  # fmt: skip

    def ask(seed):
        drawn = random.Random(seed)
        for _ in range(60):
            (c, b), value = drawn.choice(list(want.items()))
            found = model.solve(**{**POINT, "batch_size": b}, memory_capacity=f"{c} GB").canonical("total_memory")
            if found != value:
                errors.append((c, b))

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
    assert not errors
    assert len(calls._kept) <= 3
