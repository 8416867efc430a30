"""Words of a command line as arguments: spelled out here by hand."""

import pytest

from mlsysim import DistributedModel, Hardware, TrainingMemoryModel
from mlsysim.catalog import builtin
from mlsysim.cli import axes
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs.axes import Derived, Linked


def read(*words, model=TrainingMemoryModel):
    return axes.arguments(model, words, builtin())


def as_list(value):
    return list(value) if isinstance(value, range) else value


@pytest.mark.parametrize(
    ("word", "name", "value"),
    [
        ("batch_size=8", "batch_size", 8),
        ("batch-size=8", "batch_size", 8),
        (" batch_size = 8 ", "batch_size", 8),
        ("zero_stage=0,1,2,3", "zero_stage", [0, 1, 2, 3]),
        ("zero_stage= 0, 3", "zero_stage", [0, 3]),
        ("batch_size=1:4", "batch_size", [1, 2, 3, 4]),
        ("batch_size=4:4", "batch_size", [4]),
        ("batch_size=8:32:8", "batch_size", [8, 16, 24, 32]),
        ("batch_size=1:10:4", "batch_size", [1, 5, 9]),
        ("tp_size=1:64:x2", "tp_size", [1, 2, 4, 8, 16, 32, 64]),
        ("tp_size=1:50:x3", "tp_size", [1, 3, 9, 27]),
        ("tp_size=1:3,8", "tp_size", [1, 2, 3, 8]),
        ("tp_size=1:8:x2,3", "tp_size", [1, 2, 4, 8, 3]),
        ("memory_capacity=80 GB,40 GiB", "memory_capacity", ["80 GB", "40 GiB"]),
        ("memory_capacity=40,80.5", "memory_capacity", [40, 80.5]),
        ("trainable_fraction=0.1:0.5:0.1", "trainable_fraction", [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("trainable_fraction=0.1:0.8:x2", "trainable_fraction", [0.1, 0.2, 0.4, 0.8]),
        ("precision=bf16", "precision", "bf16"),
        ("precision=bf16,fp8", "precision", ["bf16", "fp8"]),
        ("sequence_parallel=true,no", "sequence_parallel", [True, False]),
    ],
)
def test_values(word, name, value):
    ((argument, found),) = read(word).items()
    assert argument == name
    assert as_list(found) == value
    assert type(as_list(found)) is type(value)


def test_entries_come_from_the_catalog():
    found = read("hardware=A100,H100", "model=Llama3_8B")
    assert found["hardware"] == [Hardware.Cloud.A100, Hardware.Cloud.H100]
    assert found["model"].name == "Llama 3 8B"


def test_a_model_may_be_a_hugging_face_config():
    found = read("model=tests/catalog/configs/deepseek_v3.json,Llama3_8B")
    assert [entry.layers.value for entry in found["model"]] == [61, 32]


def test_what_begins_with_an_equals_sign_is_derived():
    found = read("dp_size==512 / (tp_size * pp_size)")["dp_size"]
    assert isinstance(found, Derived)
    assert found.expression == "512 / (tp_size * pp_size)"


def test_linked_arguments_have_a_name_and_a_semicolon_between():
    found = read("layout=tp_size=1,2,4; pp_size=1:4:x2;precision=bf16,fp8,fp8")["layout"]
    assert isinstance(found, Linked)
    assert found.axes == {"tp_size": [1, 2, 4], "pp_size": [1, 2, 4], "precision": ["bf16", "fp8", "fp8"]}


def test_a_long_range_of_whole_numbers_is_not_written_out():
    assert read("batch_size=1:90000000")["batch_size"] == range(1, 90_000_001)


def test_axes_are_told_from_single_values():
    given = read("batch_size=8", "tp_size=1,2", "pp_size=3:3", "layout=cp_size=1,2;ep_size=1,2", "dp_size==8/tp_size")
    assert axes.swept(given, 0) == ["tp_size", "pp_size", "layout"]
    assert axes.swept(given) == ["tp_size", "layout"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["batch_size"], "argument='batch_size': must be NAME=VALUES; as in batch_size=8"),
        (["=8"], "argument='=8': must be NAME=VALUES"),
        (["batch_size=1", "batch-size=2"], "batch_size='2': is given twice"),
        (["batch_size="], "batch_size='': a value is missing"),
        (["batch_size=1,,2"], "batch_size='1,,2': a value is missing"),
        (["batch_size=5:1"], "batch_size='5:1': a range is FIRST:LAST"),
        (["batch_size=1:2:3:4"], "batch_size='1:2:3:4': a range is"),
        (["batch_size=1:8:0"], "batch_size='1:8:0': a range is"),
        (["batch_size=1:8:-1"], "batch_size='1:8:-1': a range is"),
        (["batch_size=1:8:x1"], "batch_size='1:8:x1': a range is"),
        (["batch_size=0:8:x2"], "batch_size='0:8:x2': a range is"),
        (["batch_size=1:"], "batch_size='1:': a range is"),
        (["batch_size=1:nan"], "batch_size='1:nan': a range is"),
        (["batch_size=1:inf"], "batch_size='1:inf': a range is"),
        (["batch_size=1:1e999999999"], "batch_size='1:1e999999999': a range is"),
        (["batch_size=1:2:x1.0000000001"], "batch_size='1:2:x1.0000000001': a range is"),
        (["memory_capacity=0:1:1e-9"], "memory_capacity='0:1:1e-9': a range is"),
        (["memory_capacity=40:80 GB"], "memory_capacity='40:80 GB': a range is"),
        (["batch_size=1:90000000,5"], "batch_size='1:90000000,5': at most 1,000,000 values"),
        (["layout=tp_size=1,2;pp_size"], "layout='tp_size=1,2;pp_size': linked arguments are"),
    ],
)
def test_what_cannot_be_read_is_refused(words, said):
    with pytest.raises(InputError) as refused:
        read(*words)
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize("word", ["bacth_size=8", "bacth_size==8*tp_size", "layout=bacth_size=1,2"])
def test_an_unknown_argument_gets_a_suggestion(word):
    with pytest.raises(UnknownNameError, match="unknown argument of TrainingMemoryModel 'bacth_size': did you mean"):
        read(word)


def test_an_unknown_entry_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match="unknown fleet 'Research_255': did you mean Research_256"):
        read("fleet=Research_255", model=DistributedModel)
