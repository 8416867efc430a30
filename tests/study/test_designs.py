"""What a search answers: a sequence of results, a table, a data set, and why there is nothing better."""

import html
import json
import pickle

import numpy as np
import pytest

from mlsysim import IterationModel, TrainingMemoryModel, linked
from mlsysim.errors import InfeasibleError, InputError
from mlsysim.study.results.result import Result
from mlsysim.study.searches.certificate import Certificate, Refused

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


@pytest.mark.long
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
    for words in ("tp_size", "total_memory", "GB", "% used", "Proven best of the 96 accepted"):
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
    with pytest.raises(InfeasibleError, match="weights <= 1 byte"):
        empty.best  # noqa: B018
    assert empty.binding_constraints == ()
    assert "No design meets the constraints" in repr(empty)
    assert "No design meets the constraints" in empty._repr_html_()
    assert empty.to_dict()["designs"] == []
    assert dict(empty.to_dataset().sizes) == {"design": 0}
    with pytest.raises(IndexError):
        empty[0]


KNOWN = {"method": "bounds", "points": 2 * 10**18, "accepted": (10**18, 10**18), "proven": True, "first": True,
         "refused": {"tp_size must divide heads": Refused((10**18, 10**18))}, "bound": 5.0, "gap": 0.0,
         "boxes": 12, "evaluated": 3456, "feasible": (7, 7), "seconds": 0.25}  # fmt: skip
TWO = {"price is not in the catalog": Refused((64, 64), tuple("ABCDEFGHIJ")), "too many": Refused((32, 32))}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ["Proven best of the 1e+18 accepted, to a relative 1e-09.",
              "2e+18 points, 7 of them meeting the constraints",
              "3,456 evaluated, 12 boxes", "in 0.25 s by bounds.",
              "Refused: 1e+18: tp_size must divide heads (1e+18)."]),
        ({"refused": {}, "accepted": (2 * 10**18,) * 2}, ["best of the 2e+18 accepted", "No point was refused."]),
        ({"first": False}, ["others that count as equal may come earlier"]),
        ({"proven": False, "gap": 0.021},
         ["Not proven best of the 1e+18 accepted: a design up to 2.1% better may exist"]),
        ({"proven": False, "gap": np.inf}, ["Not proven best of the 1e+18 accepted: the time was too short"]),
        ({"feasible": (7, 10**12)}, ["7 to 1e+12 of them meeting the constraints"]),
        ({"undefined": (0, 0)}, ["7 of them with a finite objective;"]),
        ({"feasible": (0, 0)}, ["Proven infeasible: none of the 1e+18 accepted meets the constraints."]),
        ({"feasible": (0, 0), "accepted": (0, 0)}, ["Proven infeasible: every point is refused."]),
        ({"method": "dense", "boxes": 0}, ["3,456 evaluated in 0.25 s by dense"]),
        ({"points": 100, "accepted": (16, 16), "refused": TWO},
         ["Refused: 84, some for several reasons: price is not in the catalog (64: A, B, C, D, E, F, G, H and 2 more); "
          "too many (32)."]),
        ({"points": 100, "accepted": (10, 40), "refused": {"too many": Refused((60, 90))}},
         ["best of the 10 to 40 accepted", "Refused: 60 to 90: too many (60 to 90)."]),
    ],
)  # fmt: skip
def test_the_certificate_in_words(changes, words):
    text = str(Certificate(**{**KNOWN, **changes}))
    for each in words:
        assert each in text


class TestInfeasible:
    """They are left out unless they are allowed; the answer says so."""

    LARGE = {"model": "Llama3_70B", "hardware": "H100", "batch_size": 64, "dp_size": 1}
    CUT = {"tp_size": [8], "pp_size": [1, 2, 80]}

    @pytest.mark.parametrize("method", ["auto", "bounds", "dense"])
    def test_they_are_left_out_and_counted(self, method):
        found = MODEL.search(**self.LARGE, **self.CUT, maximize="total_memory", top=3, method=method)
        asked = MODEL.search(**self.LARGE, **self.CUT, maximize="total_memory", top=3, subject_to="feasible")
        assert found.places.tolist() == asked.places.tolist() == [[0, 2]]
        assert found.left_out == "Infeasible designs left out: 2 (allow_infeasible=True keeps them)."
        assert found.left_out in " ".join(repr(found).split())
        assert found.left_out in found._repr_html_()
        assert found.left_out in found.to_dataset().attrs["certificate"]
        assert json.loads(found.to_json())["left_out"] == found.left_out
        assert (asked.left_out, "left_out" in asked.to_dict()) == ("", False)
        assert found.certificate.feasible == (1, 1)

    def test_a_constraint_of_ones_own_stands_beside_it(self):
        both = MODEL.search(**self.LARGE, **self.CUT, maximize="total_memory", subject_to="total_memory >= 100 GB")
        assert not len(both)
        assert "Infeasible designs left out: 2" in repr(both)
        own = MODEL.search(**self.LARGE, **self.CUT, maximize="total_memory", subject_to="not feasible")
        assert own.infeasible == (0,)
        assert own.left_out == ""

    @pytest.mark.parametrize(
        ("own", "added"),
        [
            ("total_memory <= 0.9 * usable_memory", True),
            ("usable_memory > total_memory", False),
            ("tp_size > 1 and total_memory <= usable_memory", False),
            ("total_memory <= 1.1 * usable_memory", True),
            ("total_memory <= 60 GB", True),
            ("weights <= 0.9 * usable_memory", True),
            ("total_memory >= 0.9 * usable_memory", True),
        ],
    )
    def test_what_follows_from_a_constraint_of_ones_own_is_not_added(self, own, added):
        found = MODEL.search(**self.LARGE, **self.CUT, maximize="total_memory", top=3, subject_to=own)
        assert bool(found.left_out) is added
        assert all(result.feasible for result in found)

    def test_none_is_feasible(self):
        found = MODEL.search(**self.LARGE, tp_size=[2, 4, 8], minimize="total_memory")
        assert "No design is feasible. total_memory <= usable_memory: nearest" in " ".join(repr(found).split())
        with pytest.raises(InfeasibleError, match=r"left out: 3 \(allow_infeasible=True keeps them\)"):
            found.best  # noqa: B018

    def test_what_a_front_leaves_out(self):
        front = MODEL.pareto(["total_memory", "tp_size * pp_size"], **self.LARGE, **self.CUT)
        assert [result.feasible for result in front] == [True]
        assert "left out: 2" in front.left_out

    def test_large_grids_are_not_counted(self):
        found = MODEL.search(
            **self.LARGE, tp_size=[1, 8], pp_size=[1, 80], seq_len=range(1, 20_000), minimize="tp_size * pp_size",
            subject_to="total_memory <= 60 GB",
        )  # fmt: skip
        assert found.left_out == "Infeasible designs are left out (allow_infeasible=True keeps them)."

    @pytest.mark.parametrize("wrong", [None, 1, "yes"])
    def test_a_truth_value(self, wrong):
        with pytest.raises(InputError, match=r"allow_infeasible=.*: must be True or False"):
            MODEL.search(**self.LARGE, **self.CUT, minimize="total_memory", allow_infeasible=wrong)

    def test_the_best_one(self):
        found = MODEL.search(**self.LARGE, tp_size=[2, 4, 8], minimize="total_memory", allow_infeasible=True)
        best = found.best
        needed, there = (best[name].to("TB").magnitude for name in ("total_memory", "usable_memory"))
        said = (
            f"The best design is not feasible: total_memory <= usable_memory, {needed:.2f} TB against {there:.3f} TB."
        )
        assert (found.infeasible, best.feasible) == ((0,), False)
        assert said in " ".join(repr(found).split())
        assert html.escape(said) in found._repr_html_()
        assert json.loads(found.to_json())["infeasible"] == {"designs": [1], "said": said}
        assert "3 points, 3 of them with a finite objective" in str(found.certificate)

    def test_some_of_several(self):
        found = MODEL.search(**self.LARGE, **self.CUT, maximize="total_memory", top=3, allow_infeasible=True)
        assert found.infeasible == (0, 1)
        assert "Not feasible: 2 of 3 designs (1, 2): total_memory <= usable_memory, " in " ".join(repr(found).split())
        both = MODEL.search(**self.LARGE, tp_size=[1, 2], minimize="weights", top=2, allow_infeasible=True)
        assert both.infeasible == (0, 1)

    def test_none_where_it_was_asked_for_or_where_there_is_no_such_output(self):
        fits = MODEL.search(**self.LARGE, tp_size=[8], pp_size=[1, 80], minimize="weights", subject_to="feasible")
        other = IterationModel().search(
            model="Llama3_8B", hardware="H100", context_tokens=1024, decode_requests=[1, 2], minimize="iteration_time"
        )
        for found in (fits, other):
            assert found.infeasible == ()
            assert "infeasible" not in found.to_dict()
            assert "easible: " not in repr(found)

    def test_of_a_front(self):
        front = MODEL.pareto(
            ["total_memory", "tp_size * pp_size"], **self.LARGE, tp_size=[1, 2, 4, 8], pp_size=[1, 2, 80],
            allow_infeasible=True,
        )  # fmt: skip
        fits = [result.feasible for result in front]
        assert front.infeasible == tuple(place for place, good in enumerate(fits) if not good)
        assert 0 < len(front.infeasible) < len(front)
        assert f"Not feasible: {len(front.infeasible)} of {len(front)} designs (" in repr(front)


def test_whole_numbers_print_whole():
    found = MODEL.search(
        **POINT, hardware="H100", tp_size=[2, 4], pp_size=[4, 8], seq_len=[1024, 2048], allow_infeasible=True,
        minimize="tp_size * pp_size", subject_to="batch_size * seq_len >= 1e5 token", top=3,
    )  # fmt: skip
    first = next(line for line in repr(found).splitlines() if line.startswith("1 "))
    assert first.split()[:4] == ["1", "2", "4", "8"]
    assert "batch_size * seq_len = 131072 token" in repr(found)
    assert "131072 token against 100000 token" in repr(found)
    (objectives, *_) = (design["objectives"] for design in found.to_dict()["designs"])
    assert objectives == {"tp_size * pp_size": {"value": 8, "unit": ""}}
    assert isinstance(objectives["tp_size * pp_size"]["value"], int)
    ratio = MODEL.search(**POINT, hardware="H100", tp_size=[2, 4], minimize="tp_size / 2", allow_infeasible=True)
    assert "1.00" in repr(ratio)


def test_objective_and_constrained_quantities_stand_in_the_table():
    found = MODEL.search(
        model="Llama3_8B", batch_size=4, hardware=["A100", "H200"], tp_size=[1, 2, 4], minimize="weights / 2", top=3,
        subject_to=["total_memory + weights <= 2 * memory_capacity", "tp_size * batch_size >= 4"],
    )  # fmt: skip
    head = found.text(200).splitlines()[0]
    for name in ("weights / 2", "total_memory + weights", "2 * memory_capacity", "tp_size * batch_size"):
        assert name in head
    for result, line in zip(found, found.text(200).splitlines()[2:], strict=False):
        amount = (result.total_memory + result.weights).to("GB").magnitude
        assert f" {amount:.{1 if amount >= 100 else 2}f} GB " in line
        assert f" {result.inputs['tp_size'] * 4} " in line


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_as_wide_as_asked(designs, width):
    text = designs.text(width)
    assert max(map(len, text.splitlines())) <= width
    assert "Proven best of the 96" in text


def test_a_table_too_wide_is_turned():
    parts = ["weights", "gradients", "optimizer_state", "activations", "communication_buffers", "loss_buffer"]
    found = MODEL.search(**POINT, hardware="H100", tp_size=[1, 2], minimize="total_memory", top=2,
                         subject_to=[f"{name} <= 9999 GB" for name in parts], allow_infeasible=True)  # fmt: skip
    lines = found.text(50).splitlines()
    assert lines[0].split() == ["1", "2"]
    assert [line.split()[0] for line in lines[2:10]] == ["tp_size", "total_memory", *parts]
    assert found.text(200).splitlines()[0].split()[:2] == ["tp_size", "total_memory"]


def test_no_infinite_number_in_json():
    found = MODEL.search(**POINT, **AXES, minimize="weights", subject_to="weights <= 1 byte")
    assert not np.isfinite(found.certificate.bound)
    plain = json.loads(found.to_json(), parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert plain["certificate"]["bound"] == {"value": None, "infinite": "positive"}
