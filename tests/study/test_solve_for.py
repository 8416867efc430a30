"""Questions asked backwards: the answer, and what is said where there is none."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from mlsysim import (
    DistributedModel,
    IterationModel,
    KernelModel,
    MemoryExpansionModel,
    MoERoutingModel,
    ServingCapacityModel,
    ServingModel,
    TrainingMemoryModel,
)
from mlsysim.errors import InputError, UnitError, UnknownNameError

POINT = {"model": "Llama3_8B", "hardware": "H100", "seq_len": 8192, "dp_size": 8, "tp_size": 2}
SERVED = {"model": "Llama3_8B", "hardware": "H100", "qps": 20, "target_p99_latency_ms": 4000, "max_batch_size": 16}
ROUTED = {"model": "DeepSeek_V3", "fleet": "Research_256", "batch_size": 64, "ep_size": 8}


def without(point, *names):
    return {name: value for name, value in point.items() if name not in names}


def test_the_largest_batch_that_fits():
    model = TrainingMemoryModel()
    found = model.solve_for("batch_size", feasible=True, **POINT)
    assert (found.status, found.which) == ("solved", "largest")
    assert found.result.feasible
    fits = [model.solve(batch_size=b, **POINT).feasible for b in range(1, 4 * found.value)]
    assert fits == [b <= found.value for b in range(1, 4 * found.value)]


def test_the_sequence_length_at_which_it_stops_fitting():
    model, rest = TrainingMemoryModel(), without(POINT, "seq_len")
    found = model.solve_for("seq_len", feasible=True, batch_size=4, **rest)
    assert found.which == "largest"
    at = found.value.magnitude
    assert model.solve(seq_len=at, batch_size=4, **rest).feasible
    assert not model.solve(seq_len=at + 1, batch_size=4, **rest).feasible


def test_the_bandwidth_needed_for_a_latency():
    model = ServingCapacityModel()
    found = model.solve_for("memory_bandwidth", estimated_p99_latency="<= 2 s", **SERVED)
    assert found.which == "smallest"
    assert found.result.estimated_p99_latency.to("s").magnitude <= 2
    slower = model.solve(memory_bandwidth=0.999 * found.value, **SERVED)
    assert slower.estimated_p99_latency.to("s").magnitude > 2


def test_an_equation_of_a_real_unknown():
    found = TrainingMemoryModel().solve_for("memory_capacity", memory_utilization=0.5, batch_size=4, **POINT)
    assert found.result.memory_utilization == pytest.approx(0.5, rel=1e-12)
    assert (found.which, found.values) == ("", (found.value,))


def test_several_targets_must_all_hold():
    model = TrainingMemoryModel()
    both = model.solve_for("batch_size", feasible=True, subject_to="batch_size % 16 == 0", **without(POINT, "dp_size"))
    one = model.solve_for("batch_size", feasible=True, **without(POINT, "dp_size"))
    assert both.value == one.value // 16 * 16 or both.status == "none"


def test_an_expression_is_a_target():
    model = TrainingMemoryModel()
    found = model.solve_for("batch_size", total_memory="<= 0.9 * memory_capacity", **POINT)
    assert found.result.memory_utilization <= 0.9
    assert model.solve(batch_size=found.value + 8, **POINT).memory_utilization > 0.9


def test_no_solution_says_what_is_reached():
    found = TrainingMemoryModel().solve_for("batch_size", total_memory="1 GB", **POINT)
    assert (found.status, found.value, found.result) == ("none", None, None)
    assert "it comes nearest to 1.00 GB with" in found.reason
    assert "total_memory goes from" in found.reason


def test_no_solution_is_false_and_its_first_words_say_so():
    found = TrainingMemoryModel().solve_for("batch_size", feasible=True, model="Llama3_70B", hardware="H100")
    assert not found
    said = "no batch_size holds feasible: total_memory is at least 1150.1 GB, at batch_size = 1, and "
    assert " ".join(repr(found).split()).startswith(f"{said}memory_capacity is 85.52 GB")
    assert found._repr_html_().startswith("<table><caption>no batch_size holds feasible: ")


def test_a_solution_is_true_also_at_zero():
    found = TrainingMemoryModel().solve_for("zero_stage", total_memory=">= 1 GB", batch_size=8, **POINT)
    assert found.value == 0
    assert found


def test_what_holds_everywhere_is_said():
    found = TrainingMemoryModel().solve_for("zero_stage", total_memory=">= 1 GB", batch_size=8, **POINT)
    assert (found.status, found.value, found.which) == ("everywhere", 0, "smallest")
    assert "every value" in repr(found)


def test_an_input_that_changes_nothing_is_refused():
    with pytest.raises(InputError, match="changes nothing of total_memory"):
        TrainingMemoryModel().solve_for("memory_capacity", total_memory="70 GB", batch_size=3, **POINT)


@pytest.mark.parametrize(("unknown", "time"), [("tdp", "6.5 s"), ("memory_efficiency", "6.9 s")])
def test_what_follows_the_unknown_moves_with_it(unknown, time):
    run = {"model": "Llama3_8B", "fleet": "SuperPOD_H100", "fleet_size": 64, "batch_size": 512, "seq_len": 8192,
           "precision": "bf16", "zero_stage": 3, "gradient_accumulation_steps": 8}  # fmt: skip
    step = DistributedModel()
    found = step.solve_for(unknown, step_time=time, **run)
    assert step.solve(**run, **{unknown: found.value}).canonical("step_time") == pytest.approx(float(time[:-2]))
    if unknown == "tdp":
        with pytest.raises(InputError, match="changes nothing"):
            step.solve_for(unknown, step_time=time, **run, power_limit="700 W")


@pytest.mark.parametrize(
    ("unknown", "given", "error", "match"),
    [
        ("batchsize", {"feasible": True}, UnknownNameError, "did you mean batch_size"),
        ("precision", {"feasible": True}, InputError, "not an entry or a label"),
        ("total_memory", {"feasible": True}, InputError, "is an output"),
        ("batch_size", {"feasibel": True}, UnknownNameError, "did you mean feasible"),
        ("batch_size", {}, InputError, "at least one output"),
        ("batch_size", {"feasible": True, "batch_size": 4}, InputError, "leave it out"),
        ("batch_size", {"total_memory": "3 s"}, UnitError, "total_memory"),
        ("batch_size", {"total_memory": "<= 3 s"}, UnitError, "s is not a unit of GB"),
        ("batch_size", {"total_memory": float("inf")}, InputError, "finite"),
        ("batch_size", {"feasible": True, "which": "best"}, InputError, "largest"),
        ("batch_size", {"zero_stage": 7, "feasible": True}, InputError, "zero_stage"),
        ("batch_size", {"bottleneck": "memory", "feasible": None}, InputError, "is an output|unknown"),
    ],
)
def test_refused(unknown, given, error, match):
    with pytest.raises(error, match=match):
        TrainingMemoryModel().solve_for(unknown, **POINT | given)


def test_a_label_is_a_target():
    found = KernelModel().solve_for(
        "product_rows", kernel_bottleneck="Arithmetic",
        hardware="H100", product_columns=8192, product_inner=4096, precision="fp8",
    )  # fmt: skip
    assert found.result.kernel_bottleneck == "Arithmetic"
    assert found.which == "smallest"


def test_a_plateau_is_an_interval():
    found = ServingCapacityModel().solve_for("qps", required_replicas=4, **without(SERVED, "qps"))
    ((low, high),) = found.intervals
    assert found.value == low
    assert low < high
    assert ServingCapacityModel().solve(**SERVED | {"qps": high}).required_replicas == 4
    assert ServingCapacityModel().solve(**SERVED | {"qps": high * 1.001}).required_replicas == 5


def test_the_largest_of_what_holds_may_be_asked_for():
    found = ServingCapacityModel().solve_for("qps", required_replicas=4, which="largest", **without(SERVED, "qps"))
    assert found.value == found.intervals[0][1]


def test_the_break_even_imbalance():
    model = MoERoutingModel()
    found = model.solve_for("routing_imbalance_factor", all_to_all_latency="1.5 s", **ROUTED)
    assert found.result.all_to_all_latency.to("s").magnitude == pytest.approx(1.5)
    assert found.value > 1


def test_text_fits_a_page_and_json_reads():
    found = TrainingMemoryModel().solve_for("batch_size", feasible=True, **POINT)
    assert all(len(line) <= 100 for line in repr(found).splitlines())
    assert found.to_dict()["value"] == found.value
    assert '"status": "solved"' in found.to_json()
    assert "<table>" in found._repr_html_()


def test_a_variant_has_its_own_inputs():
    with pytest.raises(InputError, match="variant"):
        TrainingMemoryModel("first_order").solve_for("capacity_factor", feasible=True, **POINT)


def test_the_unknown_may_be_in_a_condition():
    point = {"model": "Mixtral_8x7B", "hardware": "H100", "tp_size": 2, "seq_len": 1024}
    found = IterationModel().solve_for("decode_requests", subject_to="decode_requests >= 12", context_tokens=2000,
                                       prompts=1, **point)  # fmt: skip
    assert found.value.magnitude == 12


@pytest.mark.parametrize(
    ("model", "unknown", "given", "printed"),
    [
        (MoERoutingModel, "fabric_bandwidth", ROUTED | {"all_to_all_latency": "0.5 s"},
         "β_fab = κ·M_rt·(e − 1)/(e·(T_a2a − α·(e − 1)))"),
        (TrainingMemoryModel, "batch_size", POINT | {"feasible": True},
         "b = d·g·⌊2·(M_cap − φ_buf·G − W − G − O)/(h·s·q·ℓ·c_act)⌋"),
        (TrainingMemoryModel, "memory_capacity", POINT | {"batch_size": 4, "memory_utilization": 0.5}, "M_cap = M/ρ_M"),
    ],
)  # fmt: skip
def test_the_closed_form_is_printed(model, unknown, given, printed):
    found = model().solve_for(unknown, **given)
    assert f"formula  {printed}" in repr(found)
    assert found.formula.lhs.name == unknown
    assert found.latex()


@pytest.mark.parametrize("columns", [8192, 50001])
def test_an_equation_of_a_whole_number_that_rises_and_falls(columns):
    point = {"hardware": "H100", "product_rows": 1000, "product_inner": 4096, "precision": "fp8"}
    rate = KernelModel().solve(product_columns=columns, **point).kernel_rate
    assert KernelModel().solve_for("product_columns", kernel_rate=rate, **point).value == columns


def test_a_closed_form_says_in_which_cases_it_holds():
    found = MoERoutingModel().solve_for("routing_imbalance_factor", all_to_all_latency="1.5 s", **ROUTED)
    assert found.where == ("k·γ ≤ E",)


def test_a_value_outside_the_domain_is_said():
    found = MoERoutingModel().solve_for("routing_imbalance_factor", all_to_all_latency="0.5 s", **ROUTED)
    assert (found.status, found.value) == ("outside", None)
    assert "it would have to be 0.475, outside its domain (a finite number >= 1)" in found.reason
    assert repr(found).startswith(
        "no routing_imbalance_factor holds all_to_all_latency = 500.0 ms: it would have to be"
    )


@pytest.mark.parametrize("one", ["1 GB", "1 kB"])
def test_a_target_of_one_unit_that_nothing_meets(one):
    found = TrainingMemoryModel().solve_for("batch_size", total_memory=f"<= {one}", **POINT)
    assert found.status == "none"
    assert found.reason.startswith("total_memory is at least 75.38 GB, at batch_size = 1, and must be at most ")


def test_outside_says_what_is_reached_within():
    found = MoERoutingModel().solve_for("routing_imbalance_factor", all_to_all_latency="0.5 s", **ROUTED)
    assert "within it all_to_all_latency goes from 1052.6 ms to 33672.9 ms" in found.reason


def test_a_jump_is_the_nearest():
    found = ServingCapacityModel().solve_for("qps", required_replicas=5000, **without(SERVED, "qps"))
    assert found.status == "none"
    assert "jumps over it" in found.reason
    assert "nearest" not in found.reason


QUEUED = {"model": "Llama3_8B", "hardware": "H100", "qps": 10, "target_p99_latency_ms": 2000}


def test_a_whole_number_that_holds_in_several_intervals():
    found = ServingCapacityModel().solve_for("max_batch_size", estimated_p99_latency="<= 1500 ms", **QUEUED)
    assert (found.status, [value.magnitude for value in found.values]) == ("several", [2, 4])
    assert found.value.magnitude == 2
    assert "the largest of the first interval; it also holds for 4 request" in repr(found)
    assert "the value is of the first" in repr(found)
    found = ServingCapacityModel().solve_for(
        "max_batch_size", estimated_p99_latency="<= 1500 ms", which="largest", **QUEUED
    )
    assert (found.value.magnitude, found.which) == (4, "largest")
    assert "the largest that holds" in repr(found)
    assert "the value is of the last" in repr(found)


SAWTOOTH = QUEUED | {"qps": 50, "seq_len": 1024, "output_tokens": 64, "max_batch_size": 4, "efficiency": 0.35}


@pytest.mark.long
def test_an_output_that_jumps_to_and_fro_is_looked_at_closely():
    model = ServingCapacityModel("prefill_aware")
    found = model.solve_for("memory_bandwidth", estimated_p99_latency="<= 1500 ms", **SAWTOOTH)
    assert found.value.magnitude == pytest.approx(1264.15, rel=1e-5)
    assert len(found.intervals) == 12
    assert "the smallest found" in repr(found)
    assert "others between the values looked at may hold too" in found.note
    grid = model.solve_for("memory_bandwidth", estimated_p99_latency="<= 1500 ms", **SAWTOOTH | {"qps": [50]})
    assert grid.memory_bandwidth.item() == found.value.magnitude
    assert grid.status.item() == 1


def test_a_jump_is_no_solution():
    found = ServingCapacityModel().solve_for("qps", required_replicas="3", which="smallest", **without(SERVED, "qps"))
    assert found.status == "solved"
    found = TrainingMemoryModel().solve_for("batch_size", total_memory="80 GB", **POINT)
    assert found.status == "nearest"


class TestFeasible:
    """It is one of the targets unless it is named, or infeasible answers are allowed."""

    RUN = {"model": "Llama3_8B", "hardware": "H100", "precision": "bf16", "seq_len": 4096, "dp_size": 8}

    def test_the_largest_that_fits(self):
        found = TrainingMemoryModel().solve_for("batch_size", total_memory="<= 100 GB", **self.RUN, zero_stage=2)
        fits = TrainingMemoryModel().solve_for("batch_size", feasible=True, **self.RUN, zero_stage=2)
        more = TrainingMemoryModel().solve_for(
            "batch_size", total_memory="<= 100 GB", allow_infeasible=True, **self.RUN, zero_stage=2
        )
        assert found.value == fits.value < more.value
        assert found.result.feasible
        assert not more.result.feasible
        assert (found.targets, fits.targets, more.targets) == (
            ("total_memory <= 100 GB", "feasible"), ("feasible",), ("total_memory <= 100 GB",)
        )  # fmt: skip
        assert "feasible (allow_infeasible=True keeps what is not)" in repr(found)
        assert found.formula == fits.formula

    def test_none_is_feasible(self):
        found = TrainingMemoryModel().solve_for("batch_size", total_memory=">= 100 GB", **self.RUN)
        at = TrainingMemoryModel().solve_for("batch_size", total_memory=">= 100 GB", allow_infeasible=True, **self.RUN)
        assert found.value is None
        assert f"it is not feasible where the rest holds: at batch_size = {at.value} total_memory is " in found.reason
        assert "memory_capacity 85.52 GB" in found.reason
        other = TrainingMemoryModel().solve_for("batch_size", feasible=False, **self.RUN)
        assert other.targets == ("not feasible",)

    def test_what_the_unknown_does_not_move(self):
        run = {**TRAINED, "hardware": "H100", "tp_size": 1, "pp_size": 1}
        found = DistributedModel().solve_for("fabric_bandwidth", step_time="<= 20 s", **run)
        assert "it is not feasible where the rest holds" in found.reason
        assert DistributedModel().solve_for("fabric_bandwidth", step_time="<= 20 s", allow_infeasible=True, **run)

    def test_on_a_grid(self):
        grid = {**self.RUN, "zero_stage": [2, 3]}
        found = TrainingMemoryModel().solve_for("batch_size", total_memory="<= 100 GB", **grid)
        fits = TrainingMemoryModel().solve_for("batch_size", feasible=True, **grid)
        more = TrainingMemoryModel().solve_for("batch_size", total_memory="<= 100 GB", allow_infeasible=True, **grid)
        np.testing.assert_array_equal(found.batch_size, fits.batch_size)
        assert (more.batch_size >= 1).all()
        assert found.attrs["targets"] == "total_memory <= 100 GB; feasible"

    @pytest.mark.long
    def test_where_no_device_is_there_is_no_such_target(self):
        found = ServingModel("colocated").solve_for(
            "request_rate", tpot_mean="<= 20 ms", model="Llama3_8B", hardware="H100", num_replicas=1
        )
        assert found.targets[-1] == "feasible"
        alone = IterationModel().solve_for("context_tokens", iteration_time="20 ms", model="Llama3_8B",
                                           hardware="H100", decode_requests=8)  # fmt: skip
        assert alone.targets == ("iteration_time = 20.00 ms",)

    def test_a_truth_value(self):
        with pytest.raises(InputError, match="allow_infeasible='no': must be True or False"):
            TrainingMemoryModel().solve_for("batch_size", total_memory="1 GB", allow_infeasible="no", **self.RUN)


class TestNearest:
    """Where no whole number gives what is asked, the two beside it are the answer."""

    RUN = {
        "model": "Llama3_8B",
        "hardware": "H100",
        "precision": "bf16",
        "batch_size": 1,
        "dp_size": 8,
        "zero_stage": 3,
    }

    @pytest.mark.long(quick=1)
    @pytest.mark.parametrize(("which", "row"), [(None, 0), ("smallest", 0), ("largest", 1)])
    def test_at_a_point(self, which, row):
        model = TrainingMemoryModel("per_operator")
        found = model.solve_for("seq_len", total_memory="80 GB", which=which, **self.RUN)
        assert found
        assert (found.status, found.value) == ("nearest", found.nearest[0].value)
        low, high = sorted((each.value.magnitude, each.reached.magnitude) for each in found.nearest)
        assert high[0] == low[0] + 1
        assert low[1] < 80 < high[1]
        assert found.value.magnitude == (low, high)[row][0]
        for length, memory in (low, high):
            assert model.solve(seq_len=length, **self.RUN).total_memory.magnitude == pytest.approx(memory)
        first, second = found.nearest
        head = repr(found).splitlines()[0]
        assert head == f"seq_len = {first.text} ({first.said}); {second.text} is {second.said}"
        assert first.said != second.said
        plain = json.loads(found.to_json())["nearest"]
        assert [each["value"] for each in plain] == [each.value.magnitude for each in found.nearest]
        assert found.result.inputs["seq_len"] == found.value

    def test_on_a_grid(self):
        model = TrainingMemoryModel("per_operator")
        found = model.solve_for("seq_len", total_memory=["60 GB", "80 GB", "1 GB"], **self.RUN)
        one = model.solve_for("seq_len", total_memory="80 GB", **self.RUN)
        here = found.sel(total_memory=80)
        assert here.status.item() == here.status.attrs["flag_meanings"].split().index("nearest")
        assert [here.seq_len.item(), here.other.item()] == [each.value.magnitude for each in one.nearest]
        said = [here.reached.item(), here.other_reached.item()]
        assert said == pytest.approx([each.reached.magnitude for each in one.nearest])
        assert found.reached.attrs["units"] == "GB"
        assert np.isnan(found.sel(total_memory=1).seq_len)

    def test_a_count_that_the_model_accepts(self):
        """Accelerators come in groups: the numbers beside are those that the model accepts."""
        run = {**without(TRAINED, "fleet_size"), "batch_size": 96, "fabric_bandwidth": "50 GB/s"}
        model = DistributedModel()
        speeds = [model.solve(**run, fleet_size=n).tokens_per_second for n in (8, 16)]
        asked = (speeds[0] + speeds[1]) / 2
        found = model.solve_for("fleet_size", tokens_per_second=asked, allow_infeasible=True, **run)
        assert [each.value for each in found.nearest] == [8, 16]
        assert [each.reached.magnitude for each in found.nearest] == pytest.approx([v.magnitude for v in speeds])

    def test_what_does_not_fit_is_no_answer(self):
        found = TrainingMemoryModel("per_operator").solve_for("seq_len", total_memory="100 GB", **self.RUN)
        assert found.value is None
        assert "it is not feasible where the rest holds" in found.reason


def test_on_a_grid_the_same_answers():
    model, rest = TrainingMemoryModel(), without(POINT, "seq_len")
    lengths, stages = [1024, 8192, 65536], [0, 3]
    found = model.solve_for("batch_size", feasible=True, seq_len=lengths, zero_stage=stages, **rest)
    for length in lengths:
        for stage in stages:
            one = model.solve_for("batch_size", feasible=True, seq_len=length, zero_stage=stage, **rest)
            here = found.sel(seq_len=length, zero_stage=stage)
            assert here.status.item() == here.status.attrs["flag_meanings"].split().index(one.status)
            assert one.value == (None if one.status == "none" else here.batch_size.item())


def test_several_targets_are_an_axis():
    targets = [2000, 2500, 3000]
    found = ServingCapacityModel().solve_for("memory_bandwidth", estimated_p99_latency=targets, **SERVED)
    assert found.memory_bandwidth.attrs["units"] == "GB/s"
    assert found.estimated_p99_latency.attrs["units"] == "ms"
    for target, value in zip(targets, found.memory_bandwidth.values, strict=True):
        back = ServingCapacityModel().solve(memory_bandwidth=value, **SERVED)
        assert back.estimated_p99_latency.magnitude == pytest.approx(target, rel=1e-9)


@pytest.mark.long
def test_an_output_that_rises_and_falls_meets_a_target_several_times():
    """A faster memory serves with fewer replicas, which are slower."""
    point = {"model": "Llama3_8B", "design": "GH200", "request_rate": 20, "ttft_slo": 2000, "kv_offload": 1}
    found = MemoryExpansionModel("serving").solve_for("memory_bandwidth", tpot_mean="90 ms", **point)
    assert found.status == "several"
    assert "the value is of the first" in repr(found)
    assert "the smallest found" in repr(found)
    for value in found.values:
        back = MemoryExpansionModel("serving").solve(memory_bandwidth=value, **point)
        assert back.tpot_mean.magnitude == pytest.approx(90)


def test_what_the_model_refuses_lies_between_no_intervals():
    found = DistributedModel().solve_for(
        "fleet_size", mfu=">= 0.2", recipe="torchtitan_issue_1624", allow_infeasible=True
    )
    assert (found.status, found.value, found.which) == ("solved", 8, "largest")


def test_a_solution_is_pickled():
    found = MoERoutingModel().solve_for("fabric_bandwidth", all_to_all_latency="0.5 s", **ROUTED)
    assert pickle.loads(pickle.dumps(found)).result.to_dict() == found.result.to_dict()


def test_a_recipe_gives_the_other_arguments():
    found = TrainingMemoryModel().solve_for("memory_capacity", feasible=True, recipe="torchtitan_issue_1624")
    assert found.result.memory_utilization == pytest.approx(1)


TRAINED = {
    "model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 64, "tp_size": 2, "pp_size": 2, "fleet_size": 16,
    "gradient_accumulation_steps": 4, "fabric_latency": "10 us",
}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"step_time": "3 s", "mfu": 0.3}, "where mfu = 0.300 does not hold"),
        ({"step_time": "<= 3 s", "feasible": True}, "feasible holds nowhere: total_memory is"),
        ({"step_bottleneck": "Arithmetic"}, "step_bottleneck == Arithmetic holds nowhere"),
        ({"mfu": 0.9}, "outside its domain"),
    ],
)
def test_why_there_is_no_value(given, said):
    found = DistributedModel().solve_for("fabric_bandwidth", **TRAINED, **given)
    assert found.value is None
    assert said in found.reason
