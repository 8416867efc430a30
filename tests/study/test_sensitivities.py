"""Ranks, next steps, labels, second derivatives, relaxed whole numbers and the tornado diagram of a sensitivity."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from mlsysim import Q_, ExpertParallelModel, KernelModel, MoERoutingModel, ServingCapacityModel, TrainingMemoryModel
from mlsysim.errors import InputError, UnknownNameError

MEMORY, SERVING, ROUTING = TrainingMemoryModel(), ServingCapacityModel("first_order"), MoERoutingModel("first_order")
TRAIN = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 9, "dp_size": 4, "zero_stage": 2}
SERVE = {"model": "Llama3_8B", "hardware": "H100", "qps": 30, "target_p99_latency_ms": 4000}
PRODUCT = {"hardware": "H100", "product_rows": 1000, "product_columns": 8192, "product_inner": 4096}
OUTPUT = "estimated_p99_latency"


@pytest.fixture(scope="module")
def found():
    return SERVING.sensitivity(OUTPUT, second=True, **SERVE)


def at(**changed):
    return SERVING.solve(**SERVE | changed)[OUTPUT]


def test_ranks_go_down_with_the_size_of_elasticities(found):
    ranked = [row for row in found if row.rank]
    assert [row.rank for row in ranked] == list(range(1, len(ranked) + 1))
    sizes = [abs(row.arc_elasticity if row.elasticity is None else row.elasticity) for row in ranked]
    assert sizes == sorted(sizes, reverse=True)
    assert all(row.elasticity in (None, 0) and row.arc_elasticity in (None, 0) for row in found if not row.rank)


def test_the_arc_elasticity_is_that_to_the_next_value(found):
    row = found["seq_len"]
    share = math.log(at(seq_len=2049).magnitude / at().magnitude) / math.log(2049 / 2048)
    assert row.arc_elasticity == pytest.approx(share, rel=1e-9)


def test_whole_numbers_know_their_next_values_both_ways(found):
    heads = found["kv_heads"]
    assert (heads.down.at, heads.up.at, heads.down.distance, heads.up.distance) == (4, 16, 4, 8)
    assert heads.down.change.magnitude == pytest.approx((at(kv_heads=4) - at()).magnitude, rel=1e-9)
    assert found["kv_lora_rank"].down is None


@pytest.mark.parametrize("name", ["qps", "efficiency", "memory_bandwidth", "target_p99_latency_ms", "service_time_cv"])
def test_a_jump_lies_where_solve_jumps(found, name):
    """Just before the next jump nothing has jumped, just behind it has, and the change is that of solve."""
    here = SERVING.solve(**SERVE)
    for step in (found[name].down, found[name].up):
        where = float(getattr(step.at, "magnitude", step.at))
        start = float(getattr(here[name], "magnitude", here[name]))
        inwards = where + (start - where) * 1e-9
        before, after = (SERVING.solve(**{**SERVE, name: value}) for value in (inwards, where + (where - start) * 1e-9))
        assert before.required_replicas == here.required_replicas != after.required_replicas
        change = after[OUTPUT].magnitude - before[OUTPUT].magnitude
        assert step.jump.magnitude == pytest.approx(change, rel=1e-5)
        behind = SERVING.solve(**{**SERVE, name: where})[OUTPUT].magnitude
        assert step.change.magnitude == pytest.approx(behind - here[OUTPUT].magnitude, rel=1e-9)
        assert step.variables == ("required_replicas",)


def test_a_jump_of_a_floor():
    """The batch that fits is a floor: one request more fits where the capacity reaches the next multiple."""
    many = {**SERVE, "max_batch_size": 10**6}
    step = SERVING.sensitivity("active_batch_size", **many)["memory_capacity"].up
    batch = SERVING.solve(**many).active_batch_size
    assert (step.jump, step.change) == (Q_(1, "request"), Q_(1, "request"))
    sides = [SERVING.solve(**{**many, "memory_capacity": step.at * share}).active_batch_size for share in (1 - 1e-9, 1)]
    assert sides == [batch, batch + Q_(1, "request")]


def test_labels_bring_what_solve_says(found):
    row = found["precision"]
    assert set(row.labels) == set(SERVING.solve(**SERVE).model.arguments["precision"].domain.labels) - {"fp16"}
    for label, change in row.labels.items():
        if change is not None:
            assert change.magnitude == pytest.approx((at(precision=label) - at()).magnitude, rel=1e-9), label
    sizes = [abs(change.magnitude) for change in row.labels.values() if change is not None]
    assert sizes == sorted(sizes, reverse=True)


def test_a_label_the_model_refuses_has_no_change():
    row = TrainingMemoryModel().sensitivity("total_memory", **{**TRAIN, "model": "Mixtral_8x7B"})["precision"]
    assert all(change is None or hasattr(change, "units") for change in row.labels.values())
    serving = SERVING.sensitivity(OUTPUT, **{**SERVE, "hardware": "A100"})["precision"]
    assert serving.labels["fp8"] is None


def test_second_derivatives_by_hand():
    """T = S / (beta e) + latency: mixed and pure derivatives, and cross-elasticities."""
    point = {"model": "Mixtral_8x7B", "fleet": "Research_256", "batch_size": 4, "ep_size": 4}
    found = ROUTING.sensitivity("all_to_all_latency", second=True, **point)
    solved = ROUTING.solve(**point)
    total, start = solved.all_to_all_latency, 3 * solved.fabric_latency
    share = ((total - start) / total).to("").magnitude
    by = found.second
    bandwidth = solved.fabric_bandwidth
    assert (by["fabric_bandwidth", "fabric_bandwidth"] / (2 * (total - start) / bandwidth**2)).to("").magnitude == (
        pytest.approx(1, rel=1e-12)
    )
    mixed = by["oversubscription", "fabric_bandwidth"]
    assert (mixed / (-(total - start) / bandwidth)).to("").magnitude == pytest.approx(1, rel=1e-12)
    assert by["fabric_latency", "fabric_latency"].magnitude == 0
    place = {name: n for n, name in enumerate(by.inputs)}
    row = place["fabric_bandwidth"]
    assert by.cross_elasticities[row, row] == pytest.approx(share * (1 - share), rel=1e-9)
    assert np.allclose(by.cross_elasticities, by.cross_elasticities.T, atol=1e-12)
    with pytest.raises(UnknownNameError, match="did you mean fabric_bandwidth"):
        by["fabric_bandwith", "fabric_bandwidth"]


def test_cross_elasticities_are_slopes_of_elasticities(found):
    names = found.second.inputs
    i, j = names.index("efficiency"), names.index("memory_bandwidth")
    bandwidths = [Q_(3350 * share, "GB/s") for share in (1 - 1e-5, 1 + 1e-5)]
    ends = [SERVING.sensitivity(OUTPUT, **SERVE, memory_bandwidth=each)["efficiency"] for each in bandwidths]
    slope = (ends[1].elasticity - ends[0].elasticity) / 2e-5
    assert found.second.cross_elasticities[i, j] == pytest.approx(slope, rel=1e-5)


def test_cross_elasticities_on_a_grid_equal_those_at_its_points():
    grid = SERVING.sensitivity(OUTPUT, second=True, **{**SERVE, "qps": [10, 30]})
    there = SERVING.sensitivity(OUTPUT, second=True, **SERVE).second
    for i, a in enumerate(there.inputs):
        for j, b in enumerate(there.inputs):
            value = grid.cross_elasticity.sel(input=a, other=b, qps=30).item()
            assert value == pytest.approx(there.cross_elasticities[i, j], rel=1e-9, abs=1e-14)


def test_ranks_on_a_grid():
    grid = SERVING.sensitivity(OUTPUT, **{**SERVE, "qps": [10, 30]})
    order = grid.elasticity_rank.sel(qps=30)
    sizes = abs(grid.elasticity.sel(qps=30))
    strongest = [str(order.input.values[order.values == place][0]) for place in (1, 2, 3)]
    assert strongest == [str(name) for name in sizes.input.values[np.argsort(-sizes.values)[:3]]]
    assert int(order.sel(input="target_p99_latency_ms")) == 0


class TestRelaxed:
    def test_whole_numbers_in_which_formulas_are_smooth_have_a_derivative(self):
        found = MEMORY.sensitivity("total_memory", relax=True, **TRAIN)
        row = found["batch_size"]
        assert row.kind == "relaxed"
        assert row.gradient.magnitude == pytest.approx(
            MEMORY.derivative("total_memory", "batch_size", relax=True).at(**TRAIN).magnitude, rel=1e-12
        )
        assert row.elasticity == pytest.approx(row.gradient.magnitude * 9 / found.amount, rel=1e-12)
        assert "Ceilings and floors are dropped" in repr(found)

    def test_those_that_decide_a_case_have_none(self):
        found = MEMORY.sensitivity("total_memory", relax=True, **TRAIN)
        assert (found["zero_stage"].kind, found["zero_stage"].gradient) == ("step", None)

    def test_servers_of_a_queue_stay_whole(self):
        found = SERVING.sensitivity(OUTPUT, relax=True, **SERVE)
        assert found["max_replicas"].kind == "step"

    def test_on_a_grid(self):
        grid = MEMORY.sensitivity("total_memory", relax=True, **{**TRAIN, "batch_size": [8, 9]})
        there = MEMORY.sensitivity("total_memory", relax=True, **TRAIN)["batch_size"].gradient.magnitude
        assert grid.gradient_batch_size.sel(batch_size=9).item() == pytest.approx(there, rel=1e-12)

    @pytest.mark.parametrize("name", ["relax", "second"])
    def test_they_are_true_or_false(self, name):
        with pytest.raises(InputError, match=f"^{name}='yes': must be True or False"):
            MEMORY.sensitivity("total_memory", **{name: "yes"}, **TRAIN)


class TestTornado:
    def test_bars_are_what_solve_gives(self, found):
        bars = {bar.name: bar for bar in found.tornado(0.2)}
        low, high = bars["efficiency"].outputs
        assert low.magnitude == pytest.approx(at(efficiency=0.4).magnitude, rel=1e-9)
        assert high.magnitude == pytest.approx(at(efficiency=0.6).magnitude, rel=1e-9)
        assert bars["kv_heads"].inputs == ("4", "16")
        assert "fp8" in bars["precision"].inputs
        assert "max_replicas" not in bars

    def test_an_input_stays_in_its_domain(self):
        bars = {bar.name: bar for bar in SERVING.sensitivity(OUTPUT, **{**SERVE, "efficiency": 0.97}).tornado()}
        assert bars["efficiency"].inputs[1] == "1.00"

    def test_the_widest_comes_first(self, found):
        here = found.amount
        widths = [max(*bar.amounts, here) - min(*bar.amounts, here) for bar in found.tornado()]
        assert widths == sorted(widths, reverse=True)

    @pytest.mark.parametrize("change", [0, 1, -0.1, True, "10%"])
    def test_a_share(self, found, change):
        with pytest.raises(InputError, match=r"^change="):
            found.tornado(change)

    def test_the_figure_has_a_bar_per_input(self, found):
        ax = found.plot(most=5)
        assert len(ax.get_yticks()) == 5
        assert ax.get_xlabel() == "Estimated P99 latency [ms]" or "[ms]" in ax.get_xlabel()

    def test_nothing_to_draw(self):
        infinite = SERVING.sensitivity(OUTPUT, **{**SERVE, "model": "GPT3_175B"})
        with pytest.raises(InputError, match="infinite here"):
            infinite.plot()


def test_json_repeats_the_table(found):
    data = json.loads(found.to_json())
    assert data["output"] == OUTPUT
    assert data["inputs"]["efficiency"]["elasticity"] == found["efficiency"].elasticity
    assert data["inputs"]["kv_heads"]["up"]["at"] == 16
    assert data["second"]["inputs"] == [*found.second.inputs]


@pytest.mark.parametrize(
    ("changed", "finite"),
    [
        pytest.param({"qps": 1e6}, {"qps", "max_replicas"}, marks=pytest.mark.long),
        ({"qps": 10, "seq_len": 500_000}, {"seq_len"}),
    ],
)
def test_what_makes_an_infinite_output_finite(changed, finite):
    model = ServingCapacityModel("prefill_aware")
    given = {"model": "Llama3_8B", "hardware": "H100", "target_p99_latency_ms": 2000, "max_replicas": 4, **changed}
    found = model.sensitivity(OUTPUT, **given)
    assert {each.name for each in found.finite} == {*json.loads(found.to_json())["finite"]} == finite
    assert not finite & {*found.unmoved()}
    for each in found.finite:
        there = model.solve(**given | {each.name: each.to_dict()["at"]})[OUTPUT]
        assert there.magnitude == pytest.approx(each.output.magnitude, rel=1e-9)
    assert "Infinite at all values that were tried of active" in repr(found)
    assert "No effect" not in repr(found)


def test_what_is_said_where_there_is_no_slope():
    infinite = SERVING.sensitivity(OUTPUT, **{**SERVE, "model": "GPT3_175B"})
    assert "infinite here" in repr(infinite)
    point = {"model": "Mixtral_8x7B", "fleet": "Research_256", "batch_size": 4, "ep_size": 1}
    nothing = ROUTING.sensitivity("token_dispatch_bytes", **point)
    assert "zero here" in repr(nothing)


def test_at_a_recipe_and_its_variant():
    found = ExpertParallelModel().sensitivity("step_time", recipe="Megatron_Mixtral_8x7B_H100")
    assert found["straggler_factor"].elasticity == pytest.approx(1, rel=1e-12)


def test_every_line_fits_the_page():
    for model, output, point in ((SERVING, OUTPUT, SERVE), (KernelModel("waves"), "kernel_time", PRODUCT)):
        text = repr(model.sensitivity(output, second=True, **point))
        assert max(map(len, text.splitlines())) <= 100


def test_elasticities_on_a_grid_have_the_bits_of_those_at_its_points():
    model, sizes = KernelModel(), [500, 1000, 3000]
    grid = model.sensitivity("kernel_time", **{**PRODUCT, "product_rows": sizes})
    for size in sizes:
        point = model.sensitivity("kernel_time", **{**PRODUCT, "product_rows": size})
        found = grid["elasticity"].sel(product_rows=size)
        assert [found.sel(input=name).item() for name in grid["input"].values] == [
            point[name].elasticity for name in grid["input"].values
        ]
