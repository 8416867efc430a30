"""A best design at the end of what was asked is pointed out, where values beyond may be better."""

import json

import pytest

from mlsysim import DistributedModel, TrainingMemoryModel, linked

MODEL = TrainingMemoryModel("per_operator")
POINT = {"model": "Llama3_8B", "hardware": "H100"}


def named(found):
    return [(edge.name, edge.end, edge.value) for edge in found.edges]


def test_the_largest_value_asked():
    found = MODEL.search(allow_infeasible=True, **POINT, batch_size=64, tp_size=[1, 2, 4, 8], minimize="total_memory")
    assert named(found) == [("tp_size", "largest", 8.0)]
    said = "At the end of what was asked: tp_size=8 (largest); values beyond may be better."
    assert said in " ".join(repr(found).split())
    assert "tp_size=8 (largest)" in found._repr_html_()
    assert json.loads(found.to_json())["edges"] == [{"argument": "tp_size", "end": "largest", "value": 8, "unit": ""}]


def test_the_smallest_value_asked_whatever_the_order():
    found = MODEL.search(allow_infeasible=True, **POINT, batch_size=[64, 16, 32], minimize="total_memory")
    assert named(found) == [("batch_size", "smallest", 16.0)]


def test_a_quantity_in_its_unit():
    found = MODEL.search(
        allow_infeasible=True, **POINT, batch_size=16, reserved_memory=["3 GB", "1 GB", "2 GB"], minimize="total_memory"
    )
    assert "reserved_memory=1.00 GB (smallest)" in repr(found)


@pytest.mark.parametrize(
    ("axes", "minimize"),
    [
        ({"batch_size": [16, 32]}, "total_memory"),
        ({"batch_size": [1, 2, 3]}, "total_memory"),
        ({"batch_size": 64, "zero_stage": [0, 1, 2, 3], "dp_size": 8}, "total_memory"),
        ({"batch_size": 64, "precision": ["bf16", "fp32", "fp8"]}, "total_memory"),
        ({"batch_size": 64, "hardware": ["A100", "H100", "H200"]}, "-memory_capacity"),
        ({"batch_size": 64, "layout": linked(tp_size=[1, 2, 4], pp_size=[1, 2, 4])}, "total_memory"),
        ({"batch_size": 64, "seq_len": [1024, 2048, 4096], "tp_size": 2}, "weights"),
        ({"batch_size": 64, "tp_size": [1, 2, 4, 8, 3]}, "abs(tp_size - 3.9)"),
    ],
    ids=["two values", "nothing beyond is allowed", "no further stage", "labels", "entries", "linked",
         "the axis does not matter", "inside"],
)  # fmt: skip
def test_where_nothing_is_to_be_said(axes, minimize):
    found = MODEL.search(**{**POINT, **axes}, minimize=minimize)
    assert found.edges == ()
    assert "At the end" not in repr(found)


def test_an_end_whose_neighbour_does_not_fit():
    half = MODEL.solve(**POINT, batch_size=64, tp_size=4).total_memory.to("GB").magnitude
    found = MODEL.search(
        allow_infeasible=True,
        **POINT,
        batch_size=64,
        tp_size=[2, 4, 8],
        minimize="tp_size",
        subject_to=f"total_memory <= {half - 1} GB",
    )
    assert named(found) == [("tp_size", "largest", 8.0)]


def test_a_front_spans_its_ends():
    step = DistributedModel()
    found = step.pareto(["step_time", "total_memory"], "Llama3_8B", fleet="Research_256", batch_size=256,
                        tp_size=[1, 2, 4, 8])  # fmt: skip
    assert found.edges == ()
