"""A call with the names and entries of an earlier one answers and refuses as if it were the first."""

import pytest

from mlsysim import Q_, Accelerator, Hardware, Stacks, TrainingMemoryModel
from mlsysim.errors import MlsysimError
from mlsysim.inputs import binding, plan

MODEL = TrainingMemoryModel()
POINT = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8}
CHANGES = [
    {"batch_size": 16},
    {"batch_size": 0},
    {"batch_size": 2.5},
    {"batch_size": True},
    {"batch_size": "8 GB"},
    {"batch_size": 10**400},
    {"batch_size": 2**53},
    {"batch_size": None},
    {"batch_size": [8]},
    {"batch_size": 9, "dp_size": 3},
    {"batch_size": 9, "dp_size": 2},
    {"tp_size": 2, "dp_size": 2},
    {"precision": "fp16"},
    {"precision": "fp17"},
    {"hardware": "A100"},
    {"hardware": "A1"},
    {"hardware": Stacks.Generic},
    {"memory_capacity": "40 GB"},
    {"memory_capacity": Q_(40, "GB")},
    {"memory_capacity": Q_(40, "GB/s")},
    {"memory_capacity": float("nan")},
]


def outcome(changes):
    """What a call says: every value and its origin, or the error."""
    try:
        result = MODEL.solve(**{**POINT, **changes})
    except (MlsysimError, TypeError) as error:
        return type(error), str(error)
    return {name: (result.canonical(name), str(result[name])) for name in (*result.outputs, *result.inputs)}, {
        name: result.source(name) for name in result.inputs
    }


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_a_later_call_says_what_the_first_one_would(monkeypatch, changes):
    monkeypatch.setattr(binding, "_PLANS", plan.Plans())
    alone = outcome(changes)
    for other in CHANGES:
        outcome(other)
    assert outcome(changes) == alone


def test_a_table_of_rates_that_was_changed_is_read_again():
    from mlsysim import KernelModel

    device = Accelerator(name="Own", memory_capacity="80 GB", memory_bandwidth="2 TB/s", peak_flops={"bf16": 1e15})
    other = Accelerator(name="Own", memory_capacity="80 GB", memory_bandwidth="2 TB/s", peak_flops={"bf16": 5e14})
    point = {"hardware": device, "product_rows": 10, "product_columns": 10, "product_inner": 10, "precision": "bf16"}
    model = KernelModel("roofline")
    assert model.solve(**point).canonical("peak_flops") == 1e15 * 1e12
    device.peak_flops["bf16"] = other.peak_flops["bf16"]
    assert model.solve(**point).canonical("peak_flops") == 5e14 * 1e12
    del device.peak_flops["bf16"]
    with pytest.raises(MlsysimError, match="has no rate for it"):
        model.solve(**point)


def test_defaults_of_an_instance_are_its_own():
    changed = TrainingMemoryModel()
    MODEL.solve(**POINT)
    changed.defaults = {**changed.defaults, "seq_len": 128}
    assert changed.solve(**POINT).canonical("seq_len") == 128
    assert MODEL.solve(**POINT).canonical("seq_len") != 128


def test_an_answer_does_not_change_with_later_ones():
    first = MODEL.solve(**POINT)
    before = first.total_memory
    MODEL.solve(**{**POINT, "batch_size": 64})
    assert first.total_memory == before
    assert first.batch_size == 8


def test_the_oldest_plan_goes_first(monkeypatch):
    kept = plan.Plans()
    monkeypatch.setattr(binding, "_PLANS", kept)
    monkeypatch.setattr(plan, "LARGEST_NUMBER", 2)
    for device in (Hardware.Cloud.H100, Hardware.Cloud.A100, Hardware.Cloud.B200):
        MODEL.solve(**{**POINT, "hardware": device})
    assert [each.entries["hardware"] for each in kept._kept.values()] == [Hardware.Cloud.A100, Hardware.Cloud.B200]
