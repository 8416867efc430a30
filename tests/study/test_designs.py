"""What a search answers: a sequence of results, a table, a data set, and why there is nothing better."""

import json
import pickle

import numpy as np
import pytest

from mlsysim import TrainingMemoryModel, linked
from mlsysim.study.designs import Certificate
from mlsysim.study.result import Result

MODEL = TrainingMemoryModel("per_operator")
POINT = {"model": "Llama3_8B", "batch_size": 64}
AXES = {
    "hardware": ["A100", "H200"],
    "layout": linked(tp_size=[1, 2, 4], pp_size=[4, 2, 1]),
    "zero_stage": [0, 1, 2, 3],
    "activation_checkpointing": ["none", "full"],
    "reserved_memory": ["1 GB", "2 GB"],
}
OBJECTIVE, LIMITS = "total_memory + 0 GB", ["total_memory <= 0.9 * memory_capacity", "weights >= 2 GB"]


@pytest.fixture(scope="module")
def designs():
    return MODEL.search(**POINT, **AXES, minimize=OBJECTIVE, subject_to=LIMITS, top=4)


@pytest.fixture(scope="module")
def empty():
    return MODEL.search(**POINT, **AXES, minimize="weights", subject_to="weights <= 1 byte")


def test_a_sequence_of_results_best_first(designs):
    assert len(designs) == len(list(designs)) == len(designs.places) == 4
    assert all(isinstance(each, Result) for each in designs)
    assert designs.best is designs[0]
    assert designs[-1] is list(designs)[-1]
    with pytest.raises(IndexError):
        designs[4]
    memory = [result.total_memory.to("byte").magnitude for result in designs]
    assert memory == sorted(memory)
    assert [value for (value,) in designs.objectives] == pytest.approx(memory, rel=1e-12)
    best = designs.best
    again = MODEL.solve(
        **POINT,
        hardware=["A100", "H200"][designs.places[0, 0]],
        **{name: best.inputs[name] for name in ("tp_size", "pp_size", "zero_stage", "activation_checkpointing")},
        reserved_memory=best.inputs["reserved_memory"],
    )
    assert again.total_memory == best.total_memory


def test_they_survive_a_pickle(designs, empty):
    again = pickle.loads(pickle.dumps(designs))
    assert repr(again) == repr(designs)
    assert again.to_dict() == designs.to_dict()
    assert again.best.total_memory == designs.best.total_memory
    assert repr(pickle.loads(pickle.dumps(empty))) == repr(empty)


def test_a_data_set_with_units_and_labels(designs):
    data = designs.to_dataset()
    assert dict(data.sizes) == {"design": 4}
    assert data.design.values.tolist() == [1, 2, 3, 4]
    assert data.total_memory.attrs["units"] == "GB"
    memory = [result.total_memory.to("GB").magnitude for result in designs]
    np.testing.assert_allclose(data.total_memory.values, memory, rtol=1e-12)
    assert data.tp_size.values.tolist() == [result.inputs["tp_size"] for result in designs]
    assert data.feasible.dtype == bool
    labels = data.activation_checkpointing.attrs["flag_meanings"].split()
    codes = data.activation_checkpointing.values
    assert [labels[code] for code in codes] == [r.inputs["activation_checkpointing"] for r in designs]
    assert data.reserved_memory.attrs["units"] == "GB"
    assert [str(name) for name in data.hardware.values] == [r.to_dict()["entries"]["hardware"] for r in designs]
    assert data.attrs["model"] == "TrainingMemoryModel"
    assert "Proven best" in data.attrs["certificate"]
    assert len(designs.to_pandas()) == 4


def test_plain_data(designs):
    found = designs.to_dict()
    assert len(found["designs"]) == 4
    assert found["certificate"]["proven"] is True
    assert found["certificate"]["points"] == 2 * 3 * 4 * 2 * 2
    assert json.loads(json.dumps(found))["certificate"]["feasible"] == list(designs.certificate.feasible)


def test_prints_as_a_table(designs):
    text, page = repr(designs), designs._repr_html_()
    for words in ("tp_size", "total_memory", "GB", "% used", "Proven best to a relative 1e-09"):
        assert words in text, words
    for words in ("<table>", "tp_size", "Proven best"):
        assert words in page, words
    assert "&lt;" in page or "<=" not in page


def test_what_bound(designs):
    best = designs.best
    used = dict(designs.binding_constraints)
    capacity = best.inputs["memory_capacity"]
    assert used[LIMITS[0]] == pytest.approx((best.total_memory / (0.9 * capacity)).to("").magnitude, rel=1e-12)
    assert used[LIMITS[1]] == pytest.approx(2 / best.weights.to("GB").magnitude, rel=1e-12)


def test_an_empty_answer(empty):
    assert len(empty) == 0
    assert list(empty) == []
    assert empty.best is None
    assert empty.binding_constraints == ()
    assert "No design meets the constraints" in repr(empty)
    assert "No design meets the constraints" in empty._repr_html_()
    assert empty.to_dict()["designs"] == []
    assert dict(empty.to_dataset().sizes) == {"design": 0}
    with pytest.raises(IndexError):
        empty[0]


KNOWN = {"method": "bounds", "points": 2 * 10**18, "proven": True, "first": True, "bound": 5.0, "gap": 0.0,
         "boxes": 12, "evaluated": 3456, "feasible": (7, 7), "seconds": 0.25}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ["Proven best to a relative 1e-09.", "2e+18 points, 7 of them feasible", "3,456 evaluated, 12 boxes",
              "in 0.25 s by bounds"]),
        ({"first": False}, ["others that count as equal may come earlier"]),
        ({"proven": False, "gap": 0.021}, ["Not proven: a design up to 2.1% better may exist"]),
        ({"proven": False, "gap": np.inf}, ["Not proven: the time was too short for a bound"]),
        ({"feasible": (7, 10**12)}, ["7 to 1e+12 of them feasible"]),
        ({"method": "dense", "boxes": 0}, ["3,456 evaluated in 0.25 s by dense"]),
    ],
)  # fmt: skip
def test_the_certificate_in_words(changes, words):
    text = str(Certificate(**{**KNOWN, **changes}))
    for each in words:
        assert each in text
