"""What is left out of a search stands in its certificate: how many points, by which reason, which entries."""

import json

import pytest
from fuzz import rest_long

from mlsysim import DistributedModel, EconomicsModel, Hardware, TrainingMemoryModel, derived, linked
from mlsysim.errors import InfeasibleError, InputError
from mlsysim.models import PerformanceModel, every_model
from mlsysim.study import search as module
from mlsysim.symbolic import Domain, Formula, Source, between, nonnegative, variable

DEVICES = ["H100", "H200", "A100", "A100_40GB", "H20", "MI300X", "A10", "L4", "RTX_4090"]
UNPRICED = tuple(DEVICES[:-1])
COST = EconomicsModel("owned_fleet")
FLEET = {"accelerators": 64, "busy_share": 0.5, "duration": "30 day", "run_tokens": 1e12, "electricity_price": 0.1}
PRICE, HEADS = "price is not in the catalog", "tp_size must divide heads"


def cheapest(**asked):
    return COST.search(**FLEET, hardware=DEVICES, minimize="total_cost", progress=False, **asked)


def test_the_ninth_device_is_the_best_of_one():
    found = cheapest()
    proof = found.certificate
    assert found.best.to_dict()["entries"]["hardware"] == "NVIDIA GeForce RTX 4090"
    assert (proof.points, proof.accepted) == (9, (1, 1))
    assert {reason: each.count for reason, each in proof.refused.items()} == {PRICE: (8, 8)}
    assert proof.refused[PRICE].entries == UNPRICED
    text = repr(found)
    assert "Proven best of the 1 accepted" in text
    assert f"Refused: 8: {PRICE} (8: {', '.join(UNPRICED)})" in " ".join(text.split())
    assert "Refused: 8" in found._repr_html_()
    plain = json.loads(found.to_json())["certificate"]
    assert plain["accepted"] == [1, 1]
    assert plain["refused"] == {PRICE: {"count": [8, 8], "entries": list(UNPRICED)}}


def test_more_than_eight_names_are_shortened_in_print_alone():
    devices = [*DEVICES, "B200", "GB200"]
    found = COST.search(**FLEET, hardware=devices, minimize="total_cost")
    assert found.certificate.refused[PRICE].entries == (*UNPRICED, "B200", "GB200")
    assert "L4 and 2 more" in " ".join(repr(found).split())
    assert "GB200" in found.to_json()


MODEL = TrainingMemoryModel("per_operator")
AXES = {"tp_size": [1, 2, 3, 4, 8, 16], "pp_size": [1, 2, 4, 64], "dp_size": range(1, 9), "zero_stage": [0, 1, 2, 3]}
POINT = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 64}


def accepted_by_solve(**axes):
    grid = MODEL.sweep(**POINT, **axes, outputs="total_memory", refused="mask")
    return int((grid.refused == 0).sum()) if "refused" in grid else grid.total_memory.size


@pytest.mark.parametrize("method", rest_long(["auto", "bounds", "dense"], quick=2))
def test_every_method_refuses_the_same(method, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 0.0 if method == "bounds" else module.AT_ONCE)
    found = MODEL.search(**POINT, **AXES, minimize="total_memory", method=method, progress=False, allow_infeasible=True)
    proof = found.certificate
    assert proof.accepted == 2 * (accepted_by_solve(**AXES),)
    assert proof.refused[HEADS].count == 2 * (4 * 8 * 4,)
    assert proof.refused["pp_size must be at most layers"].count == 2 * (6 * 8 * 4,)
    assert found.certificate.feasible == proof.accepted


def test_a_front_says_what_was_refused():
    found = MODEL.pareto(["total_memory", "weights"], **POINT, **AXES, progress=False)
    assert found.certificate.accepted == 2 * (accepted_by_solve(**AXES),)
    assert found.certificate.refused[HEADS].count == 2 * (4 * 8 * 4,)
    assert f"Proven best of the {found.certificate.accepted[0]} accepted" in repr(found)


def test_nothing_refused_is_said_too():
    found = MODEL.search(**POINT, zero_stage=[0, 1], minimize="total_memory")
    assert found.certificate.accepted == (2, 2)
    assert found.certificate.refused == {}
    assert "No point was refused." in repr(found)


def test_a_point_with_two_reasons_counts_for_both():
    found = MODEL.search(**POINT, tp_size=[1, 3], pp_size=[1, 64], minimize="total_memory")
    counts = {reason: each.count for reason, each in found.certificate.refused.items()}
    assert counts[HEADS] == counts["pp_size must be at most layers"] == (2, 2)
    assert found.certificate.accepted == (1, 1)
    assert "Refused: 3, some for several reasons" in repr(found)


def test_a_derived_input_out_of_its_domain():
    found = MODEL.search(**POINT, tp_size=[1, 2, 4], pp_size=[1, 3], dp_size=derived("8 / (tp_size * pp_size)"),
                         minimize="total_memory")  # fmt: skip
    assert found.certificate.refused["dp_size must be a whole number >= 1"].count == (3, 3)
    assert found.certificate.accepted == (3, 3)


def test_labels_an_entry_is_refused_with():
    found = DistributedModel().search(
        "Llama3_8B", hardware=["A100", "H100"], precision=["bf16", "fp8", "int4"], batch_size=64, fleet_size=8,
        fabric_bandwidth="50 GB/s", fabric_latency="10 us", tp_size=[1, 2], minimize="step_time",
    )  # fmt: skip
    refused = found.certificate.refused["peak_flops is not in the catalog"]
    assert refused.entries == ("A100 (fp8)", "H100 (int4)") or refused.entries[0].startswith("A100 (fp8")
    assert refused.count == 2 * (found.certificate.points - found.certificate.accepted[0],)


def test_entries_along_a_linked_axis():
    found = COST.search(
        **{**FLEET, "accelerators": None},
        offer=linked(hardware=["RTX_4090", "H100", "RTX_4090", "H100"], accelerators=[64, 64, 32, 8]),
        minimize="total_cost",
    )
    assert found.certificate.refused[PRICE].count == (2, 2)
    assert found.certificate.refused[PRICE].entries == ("H100",)


def test_entries_a_requirement_refuses():
    models = ["Llama3_8B", "GPT2_XL", "Llama3_70B"]
    found = MODEL.search(model=models, hardware="H100", batch_size=64, tp_size=[2, 4, 8], minimize="total_memory")
    assert found.certificate.refused[HEADS].entries == ("GPT2_XL",)
    assert found.certificate.refused[HEADS].count == (3, 3)


def test_all_refused_is_an_answer_that_says_so():
    found = COST.search(**FLEET, hardware=list(UNPRICED), minimize="total_cost")
    assert "Proven infeasible: every point is refused." in repr(found)
    with pytest.raises(
        InfeasibleError, match=r"every point is refused\. Refused: 8: price is not in the catalog \(8: H"
    ):
        found.best  # noqa: B018


@pytest.mark.parametrize("kind", every_model(), ids=lambda kind: kind.__name__)
def test_reasons_are_told_apart(kind):
    for variant in kind.variants:
        reasons = [requirement.reason for requirement in kind(variant).requirements]
        assert len(reasons) == len(set(reasons))


def test_the_nearest_device_of_one_without_a_price_is_still_an_error_for_one_point():
    with pytest.raises(InputError, match="price"):
        COST.solve(**FLEET, hardware=Hardware.Cloud.H100)


@pytest.fixture(scope="module")
def quotient():
    a = variable("undefined_share", "a_{u}", "", "A share.", between(0, 1))
    b = variable("undefined_amount", "b_{u}", "", "An amount.", nonnegative())
    y = variable("undefined_answer", "y_{u}", "", "An answer.", Domain())
    made = Formula(y, b / (1 - a), title="A quotient", source=Source("own"), no_example="a test")
    return type("Quotient", (PerformanceModel,), {"variants": {"v": (made,)}})()


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("method", ["auto", "bounds", "dense"])
def test_points_without_a_finite_objective_are_counted(quotient, method):
    axes = {"undefined_share": [0, 0.5, 1], "undefined_amount": [0, 1]}
    found = quotient.search(**axes, maximize="undefined_answer", method=method, progress=False)
    text = " ".join(repr(found).split())
    assert "at 2 of the 6 accepted points the objective is infinite or undefined" in text
    assert text.endswith("No point was refused.")
    assert json.loads(found.to_json())["certificate"]["undefined"] == [2, 2]
    limited = quotient.search(**axes, maximize="undefined_answer", subject_to="undefined_share < 2", method=method)
    assert limited.certificate.undefined is None


def test_no_finite_objective_at_all_is_said_without_constraints(quotient):
    found = quotient.search(undefined_share=1, undefined_amount=[1, 2], minimize="undefined_answer")
    text = " ".join(repr(found).split())
    assert text.startswith("No design: undefined_answer is infinite or undefined at every accepted point. ")
    assert "Proven infeasible: none of the 2 accepted has a finite objective" in text
    assert "constraints" not in text


def test_every_point_of_a_front_is_a_design_or_counted(quotient):
    axes = {"undefined_share": [0, 0.5, 1], "undefined_amount": [0, 1]}
    found = quotient.pareto(["undefined_answer", "undefined_amount"], **axes)
    assert found.certificate.undefined == (2, 2)
