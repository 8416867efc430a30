"""Infeasible names the constraint that is out of reach and the nearest miss."""

import json

import pytest
from fuzz import rest_long

from mlsysim import DistributedModel, ServingCapacityModel, TrainingMemoryModel
from mlsysim.errors import InfeasibleError
from mlsysim.study import search as module

MODEL = TrainingMemoryModel("per_operator")
POINT = {"model": "Llama3_70B", "batch_size": 64}
AXES = {"hardware": ["A100", "H200"], "tp_size": [1, 2, 3, 4, 8], "pp_size": [1, 2, 4], "zero_stage": [0, 3]}
FITS = "total_memory <= 0.2 * memory_capacity"


def by_solve(side, **axes):
    """The smallest excess of a constraint by sweep, with both sides in GB."""
    grid = MODEL.sweep(**POINT, **axes, outputs=["total_memory", "weights"], refused="mask")
    excess = side(grid)
    at = excess.argmin(...)
    return float(excess.isel(at)), grid.isel(at)


@pytest.mark.parametrize("method", rest_long(["auto", "bounds", "dense"], quick=2))
def test_the_nearest_miss_is_that_of_the_grid(method, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 0.0 if method == "bounds" else module.AT_ONCE)
    found = MODEL.search(
        allow_infeasible=True, **POINT, **AXES, minimize="weights", subject_to=FITS, method=method, progress=False
    )
    assert len(found) == 0
    (miss,) = found.misses
    devices = {
        name: MODEL.solve(**POINT, hardware=name).memory_capacity.to("GB").magnitude for name in AXES["hardware"]
    }
    excess, _ = by_solve(lambda grid: grid.total_memory - 0.2 * grid.hardware.copy(data=list(devices.values())), **AXES)
    assert miss.constraint == FITS
    assert (miss.nearest.unit, miss.limit.unit) == ("GB", "GB")
    assert miss.nearest.value - miss.limit.value == pytest.approx(excess, rel=1e-9)
    assert miss.limit.value == pytest.approx(0.2 * devices[miss.at["hardware"]], rel=1e-12)
    assert (miss.proven, miss.under) == (True, ())
    place = {name: text if name == "hardware" else int(text) for name, text in miss.at.items()}
    assert MODEL.solve(**POINT, **place).total_memory.to("GB").magnitude == pytest.approx(miss.nearest.value, rel=1e-12)


def test_in_words_and_as_data():
    found = MODEL.search(allow_infeasible=True, **POINT, **AXES, minimize="weights", subject_to=FITS)
    (miss,) = found.misses
    value, limit = miss.nearest.value, miss.limit.value
    said = f"{FITS}: nearest {value:.1f} GB against {limit:.2f} GB, at hardware={miss.at['hardware']}, tp_size="
    text = " ".join(repr(found).split())
    assert said in text
    assert "No design meets the constraints." in text
    assert "Proven infeasible: none of the 48 accepted meets the constraints" in text
    assert "0.2 * memory_capacity" in found._repr_html_()
    (plain,) = json.loads(found.to_json())["misses"]
    assert plain["nearest"] == {"value": miss.nearest.value, "unit": "GB", "text": miss.nearest.text}
    assert plain["at"] == miss.at
    with pytest.raises(InfeasibleError) as caught:
        found.best  # noqa: B018
    assert said in str(caught.value)


def test_each_constraint_that_cannot_be_met_alone():
    found = MODEL.search(
        allow_infeasible=True,
        **POINT,
        **AXES,
        minimize="weights",
        subject_to=[FITS, "tp_size <= 4", "pp_size >= 8", "weights <= 1 MB"],
    )
    assert [miss.constraint for miss in found.misses] == [FITS, "pp_size >= 8", "weights <= 1 MB"]
    pipeline = found.misses[1]
    assert (pipeline.nearest.value, pipeline.limit.value, pipeline.at["pp_size"]) == (4, 8, 4)
    assert "nearest 4 against 8" in str(pipeline)


def test_constraints_that_exclude_each_other():
    limits = ["tp_size <= 2", "pp_size <= 2", "total_memory <= 400 GB", "tp_size * pp_size >= 2"]
    assert len(MODEL.search(allow_infeasible=True, **POINT, **AXES, minimize="weights", subject_to=limits[2])) == 1
    found = MODEL.search(allow_infeasible=True, **POINT, **AXES, minimize="weights", subject_to=limits)
    (miss,) = found.misses
    assert miss.constraint == limits[2]
    assert miss.under == ("tp_size <= 2", "pp_size <= 2")
    axes = AXES | {"tp_size": [1, 2], "pp_size": [1, 2]}
    excess, _ = by_solve(lambda grid: grid.total_memory - 400, **axes)
    assert miss.nearest.value - 400 == pytest.approx(excess, rel=1e-9)
    assert "nearest, where tp_size <= 2 and pp_size <= 2, " in str(miss)


def test_a_chain_names_the_part_that_is_missed():
    found = MODEL.search(
        allow_infeasible=True, **POINT, **AXES, minimize="weights", subject_to="1 GB <= weights <= 2 GB"
    )
    (miss,) = found.misses
    assert miss.constraint == "weights <= 2 GB"
    assert miss.nearest.value > miss.limit.value == 2


def test_a_strict_comparison_is_missed_where_it_is_equal():
    found = MODEL.search(allow_infeasible=True, **POINT, **AXES, minimize="weights", subject_to="tp_size > 8")
    (miss,) = found.misses
    assert (miss.nearest.value, miss.limit.value) == (8, 8)


def test_an_equation_is_missed_on_either_side():
    found = MODEL.search(
        allow_infeasible=True, **POINT, **AXES, minimize="weights", subject_to="tp_size * pp_size == 29"
    )
    (miss,) = found.misses
    assert (miss.nearest.value, miss.limit.value) == (32, 29)
    assert str(miss).startswith("tp_size * pp_size == 29: nearest 32 against 29, at ")
    found = MODEL.search(
        allow_infeasible=True, **POINT, **AXES, minimize="weights", subject_to="tp_size * pp_size == 18"
    )
    assert found.misses[0].nearest.value == 16


def test_what_no_value_can_meet():
    found = MODEL.search(allow_infeasible=True, **POINT, **AXES, minimize="weights", subject_to="tp_size < 1")
    (miss,) = found.misses
    assert str(miss).startswith("tp_size < 1: nearest 1 against 1, at ")


@pytest.mark.parametrize(
    ("limit", "text", "value"),
    [
        ("total_memory <= 0 GB", "total_memory <= 0 GB", 0),
        ("-1 GB >= total_memory", "-1 GB >= total_memory", -1),
        ("total_memory < 0 and tp_size <= 4", "total_memory < 0", 0),
    ],
)
def test_a_limit_outside_the_domain_has_a_nearest_miss(limit, text, value):
    """Sympy knows that a size is positive, and makes such a limit false."""
    found = MODEL.search(allow_infeasible=True, **POINT, **AXES, minimize="weights", subject_to=limit)
    (miss,) = found.misses
    least, _ = by_solve(lambda grid: grid.total_memory, **AXES)
    assert miss.constraint == text
    assert sorted([miss.nearest.value, miss.limit.value]) == pytest.approx([value, least], rel=1e-9)
    assert (miss.nearest.unit, miss.limit.unit, miss.proven) == ("GB", "GB", True)


def test_false_parts_that_are_not_comparisons_of_numbers_are_named_whole():
    for limit in ("weights <= 0 GB or tp_size < 1", "weights <= 0 GB and precision == fp32"):
        found = MODEL.search(
            allow_infeasible=True, **POINT, **AXES, precision=["bf16"], minimize="weights", subject_to=limit
        )
        assert [str(miss) for miss in found.misses] == [f"{limit}: met by no accepted point"]


def test_a_label_beside_a_comparison():
    limits = "tp_size <= 4 and precision == fp32"
    found = MODEL.search(
        allow_infeasible=True, **POINT, **AXES, precision=["bf16", "fp16"], minimize="weights", subject_to=limits
    )
    (miss,) = found.misses
    assert (miss.constraint, miss.nearest) == (limits, None)


def test_a_truth_value_stands_for_its_comparisons():
    found = MODEL.search(
        allow_infeasible=True,
        **POINT,
        tp_size=[1, 2],
        hardware=["A100", "H100"],
        minimize="weights",
        subject_to="feasible",
    )
    (miss,) = found.misses
    assert miss.constraint == "total_memory <= usable_memory"
    assert miss.nearest.value > miss.limit.value


def test_a_label_has_no_nearest_miss():
    found = MODEL.search(
        allow_infeasible=True,
        **POINT,
        **AXES,
        precision=["bf16", "fp16"],
        minimize="weights",
        subject_to="precision == fp32",
    )
    (miss,) = found.misses
    assert (miss.nearest, miss.limit) == (None, None)
    assert str(miss) == "precision == fp32: met by no accepted point"


def test_what_is_infinite_everywhere_has_no_nearest_miss():
    serving = ServingCapacityModel()
    found = serving.search(
        "GPT3_175B", "H100", qps=20, target_p99_latency_ms=4000, max_batch_size=[1, 2, 4], minimize="total_kv"
        if "total_kv" in serving.system else "served_weights", subject_to="required_replicas <= 10",
        allow_infeasible=True,
    )  # fmt: skip
    (miss,) = found.misses
    assert miss.nearest is None


def test_an_objective_that_is_infinite_everywhere():
    found = ServingCapacityModel().search(
        "GPT3_175B",
        "H100",
        qps=20,
        target_p99_latency_ms=4000,
        max_batch_size=[1, 2, 4],
        minimize="required_replicas",
        allow_infeasible=True,
    )
    assert found.misses == ()
    assert "required_replicas is infinite or undefined" in repr(found)
    with pytest.raises(InfeasibleError, match="required_replicas is infinite or undefined"):
        found.best  # noqa: B018
    assert '"inf"' not in found.to_json()


def test_a_front_without_designs():
    found = MODEL.pareto(["total_memory", "weights"], **POINT, **AXES, subject_to=FITS)
    assert found.misses[0].constraint == FITS
    assert "nearest" in repr(found)


def test_designs_have_no_misses():
    assert MODEL.search(allow_infeasible=True, **POINT, **AXES, minimize="weights").misses == ()


def test_nothing_found_in_time_is_not_infeasible():
    step = DistributedModel()
    found = step.search(
        "Llama3_70B", fleet="SuperPOD_H100", batch_size=range(1024, 2049), seq_len=range(1024, 131073, 64),
        tp_size=[1, 2, 4, 8], pp_size=range(1, 81), zero_stage=[0, 1, 2, 3], gradient_accumulation_steps=range(1, 129),
        minimize="step_time", subject_to="step_time <= 1 ns", time_limit=1e-9, progress=False,
    )  # fmt: skip
    if not found.certificate.proven:
        assert found.misses == ()
        with pytest.raises(InfeasibleError, match="No design was found in the time there was"):
            found.best  # noqa: B018


def test_the_point_of_a_miss_is_plain_data_in_the_units_of_its_variables():
    found = TrainingMemoryModel().search(
        "Llama3_8B", "H100", batch_size=[8, 16], sequence_parallel=None, activation_checkpointing=["none", "full"],
        minimize="total_memory", subject_to="total_memory <= 1 GB", progress=False, allow_infeasible=True,
    )  # fmt: skip
    (miss,) = json.loads(found.to_json())["misses"]
    assert miss["at"] == {"batch_size": 8, "activation_checkpointing": "full"}
