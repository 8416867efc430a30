"""What an output answers to: gradients with units, elasticities, and steps named as steps."""

import math
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from fuzz import rest_long

from mlsysim import Q_, MoERoutingModel, ServingCapacityModel, TrainingMemoryModel
from mlsysim.errors import InputError, MissingInputError, MlsysimError, UnknownNameError
from mlsysim.symbolic import variable_of

MEMORY, SERVING, ROUTING = TrainingMemoryModel(), ServingCapacityModel(), MoERoutingModel()
TRAIN = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 9, "dp_size": 4, "zero_stage": 2}
SERVE = {"model": "Llama3_8B", "hardware": "H100", "qps": 30, "target_p99_latency_ms": 4000}
ROUTE = {
    "model": "Mixtral_8x7B",
    "fleet": "Research_256",
    "batch_size": 4,
    "ep_size": 4,
    "routing_imbalance_factor": 1.25,
}
POINTS = {
    "memory": (MEMORY, "total_memory", TRAIN),
    "utilization of memory": (MEMORY, "memory_utilization", TRAIN),
    "weights": (MEMORY, "weights", TRAIN),
    "latency": (SERVING, "estimated_p99_latency", SERVE),
    "wait": (SERVING, "queue_wait_p99", {**SERVE, "service_time_cv": 1.5}),
    "capacity": (SERVING, "qps_capacity", SERVE),
    "cache": (SERVING, "kv_bytes_per_request", SERVE),
    "replicas": (SERVING, "required_replicas", SERVE),
    "many replicas": (SERVING, "estimated_p99_latency", {**SERVE, "qps": 500}),
    "memory bound": (SERVING, "estimated_p99_latency", {**SERVE, "max_batch_size": 999, "target_p99_latency_ms": 1e5}),
    "exchange": (ROUTING, "all_to_all_latency", ROUTE),
    "capped": (ROUTING, "token_dispatch_bytes", {**ROUTE, "routing_imbalance_factor": 9}),
}
EVERY = pytest.mark.parametrize(("model", "output", "point"), rest_long(POINTS.values(), quick=6), ids=POINTS)


def magnitude(value):
    return float(getattr(value, "magnitude", value))


def steps_at(solved):
    return [solved[name] for name in solved.model.system.steps() if name in solved.outputs]


@EVERY
def test_gradients_equal_central_differences_of_solve(model, output, point):
    found = model.sensitivity(output, **point)
    here = model.solve(**point)
    checked = 0
    for row in found:
        if row.kind != "continuous":
            continue
        at = magnitude(here[row.name])
        width = 1e-6 * (at or 1.0)
        low, high = at - width, at + width
        domain = variable_of(row.name).domain
        if low < domain.lower or high > domain.upper:
            low, high = max(low, domain.lower), min(high, domain.upper)
        ends = [model.solve(**{**point, row.name: value}) for value in (low, high)]
        if any(steps_at(end) != steps_at(here) for end in ends):
            continue  # the difference sees a step
        slope = (magnitude(ends[1][output]) - magnitude(ends[0][output])) / (high - low)
        noise = 1e-9 * abs(magnitude(here[output])) / (at or 1.0)
        assert row.gradient.magnitude == pytest.approx(slope, rel=2e-6, abs=noise), row.name
        checked += 1
    assert checked >= 1 or not any(row.kind == "continuous" for row in found)


@EVERY
def test_gradients_carry_the_quotient_of_units(model, output, point):
    above = variable_of(output).unit
    for row in model.sensitivity(output, **point):
        if row.kind == "continuous":
            below = variable_of(row.name).unit
            wanted = (Q_(1, above) if above != "count" else Q_(1, "")) / (
                Q_(1, below) if below != "count" else Q_(1, "")
            )
            assert row.gradient.units == wanted.units


@EVERY
def test_elasticity_is_percent_per_percent(model, output, point):
    here = model.solve(**point)
    for row in model.sensitivity(output, **point):
        if row.kind == "continuous":
            share = row.gradient.magnitude * magnitude(here[row.name]) / magnitude(here[output])
            assert row.elasticity == pytest.approx(share, rel=1e-12, abs=1e-15)
        else:
            assert row.elasticity is None


def next_allowed(model, point, name, at):
    """The nearest larger value solve accepts, by trial, and the answer there."""
    for increment in range(1, 40):
        try:
            return increment, model.solve(**{**point, name: at + increment})
        except MlsysimError:
            continue
    return None, None


@EVERY
def test_steps_are_changes_to_the_next_allowed_value(model, output, point):
    here = model.solve(**point)
    checked = 0
    for row in model.sensitivity(output, **point):
        if row.kind != "step":
            continue
        assert row.gradient is None
        increment, there = next_allowed(model, point, row.name, int(magnitude(here[row.name])))
        if increment is None:
            assert row.step is None
            continue
        change = magnitude(there[output]) - magnitude(here[output])
        noise = 1e-13 * abs(magnitude(here[output]))
        assert row.increment == increment, row.name
        assert magnitude(row.step) == pytest.approx(change, rel=1e-9, abs=noise), row.name
        if hasattr(here[output], "units"):
            assert row.step.units == here[output].units
        checked += 1
    assert checked >= 3


@EVERY
def test_there_is_one_row_for_every_input_the_output_needs(model, output, point):
    found = model.sensitivity(output, **point)
    needed = {v.name: v for v in model.system.closure([output]).inputs}
    assert {row.name for row in found} == set(needed)
    kinds = {"real": "continuous", "integer": "step", "choice": "label"}
    assert {row.name: row.kind for row in found} == {name: kinds[v.domain.kind] for name, v in needed.items()}


@EVERY
def test_the_strongest_elasticity_stands_first(model, output, point):
    strengths = [abs(row.elasticity) for row in model.sensitivity(output, **point) if row.elasticity is not None]
    assert strengths == sorted(strengths, reverse=True)


def test_the_exchange_by_hand():
    """T = (e - 1)/e b s h q k gamma kappa / beta + (e - 1) alpha."""
    found = ROUTING.sensitivity("all_to_all_latency", **ROUTE)
    bytes_ = 4 * 2048 * 4096 * 2 * 2 * 1.25
    exchange, start = 3 / 4 * bytes_ / 12.5e9, 3 * 50e-6
    assert found["fabric_latency"].gradient.to("").magnitude == pytest.approx(3, rel=1e-14)
    slope = found["fabric_bandwidth"].gradient.to("s**2/byte").magnitude
    assert slope == pytest.approx(-exchange / 12.5e9, rel=1e-14)
    assert found["routing_imbalance_factor"].elasticity == pytest.approx(exchange / (exchange + start), rel=1e-14)
    assert found["oversubscription"].elasticity == pytest.approx(exchange / (exchange + start), rel=1e-14)
    assert found["fabric_bandwidth"].elasticity == pytest.approx(-exchange / (exchange + start), rel=1e-14)
    assert found["ep_size"].increment == 4
    assert found["batch_size"].step.to("s").magnitude == pytest.approx(exchange / 4, rel=1e-12)


class TestKinds:
    @pytest.fixture(scope="class")
    @classmethod
    def found(cls):
        return SERVING.sensitivity("estimated_p99_latency", **SERVE)

    @pytest.fixture(scope="class")
    @classmethod
    def memory(cls):
        return MEMORY.sensitivity("total_memory", **TRAIN)

    def test_labels_have_no_slope(self, found):
        row = found["precision"]
        assert (row.kind, row.value, row.gradient, row.elasticity, row.step) == ("label", "fp16", None, None, None)

    def test_steps_on_the_way_are_named(self, found, memory):
        assert found["memory_capacity"].through == ("active_batch_size", "required_replicas")
        assert found["seq_len"].through == ("padded_seq_len", "active_batch_size", "required_replicas")
        assert found["qps"].through == ("required_replicas",)
        assert memory["batch_size"].through == ("local_micro_batch",)
        assert memory["pp_size"].through == ("layers_per_stage",)
        assert memory["parameters"].through == ()

    def test_a_slope_through_a_step_is_zero(self, found):
        assert found["memory_capacity"].gradient.magnitude == 0
        assert found["memory_capacity"].elasticity == 0

    def test_the_next_value_that_divides_is_taken(self, found):
        assert (found["heads"].increment, found["kv_heads"].increment) == (32, 8)
        mixture = MEMORY.sensitivity("total_memory", **{**TRAIN, "model": "Mixtral_8x7B", "tp_size": 4})
        assert mixture["tp_size"].increment == 4

    def test_a_step_may_change_nothing(self, memory):
        assert memory["batch_size"].step == Q_(0, "GB")

    def test_no_larger_value_is_allowed(self, memory):
        row = MEMORY.sensitivity("total_memory", **{**TRAIN, "zero_stage": 3})["zero_stage"]
        assert (row.kind, row.step, row.increment) == ("step", None, 0)
        assert memory["ep_size"].step is None

    def test_values_are_shown_where_they_were_taken(self, found):
        assert found["qps"].value == "30.00 QPS"
        assert found["memory_capacity"].value == "85.52 GB"
        assert found.value == "3340.4 ms"

    def test_an_unknown_input_is_refused(self, found):
        with pytest.raises(UnknownNameError, match=r"^unknown input 'efficency': did you mean efficiency"):
            found["efficency"]


class TestInfinite:
    """Where the output is infinite there is no slope, and no change from infinite to infinite."""

    @pytest.fixture(scope="class")
    @classmethod
    def found(cls):
        return SERVING.sensitivity("estimated_p99_latency", **{**SERVE, "model": "GPT3_175B"})

    def test_no_slopes(self, found):
        assert found.value == "∞ ms"
        for row in found:
            assert (row.gradient, row.elasticity) == (None, None)
            assert row.step is None

    def test_the_table_prints(self, found):
        assert "nan" not in repr(found)

    def test_a_step_out_of_the_infinite(self):
        row = SERVING.sensitivity("required_replicas", **{**SERVE, "qps": 500, "max_replicas": 14})["max_replicas"]
        assert (row.step, row.increment) == (-math.inf, 1)

    def test_on_a_grid(self):
        grid = SERVING.sensitivity("estimated_p99_latency", **{**SERVE, "model": ["Llama3_8B", "GPT3_175B"]})
        assert np.isfinite(grid.gradient_efficiency.sel(model="Llama3_8B"))
        assert np.isnan(grid.gradient_efficiency.sel(model="GPT3_175B"))
        assert np.isnan(grid.elasticity.sel(model="GPT3_175B")).all()


def test_an_output_of_zero_has_no_elasticity():
    found = ROUTING.sensitivity("token_dispatch_bytes", **{**ROUTE, "ep_size": 1})
    row = found["routing_imbalance_factor"]
    assert (row.gradient, row.elasticity) == (Q_(0.0, "MB"), None)


class TestTable:
    @pytest.fixture(scope="class")
    @classmethod
    def found(cls):
        return ROUTING.sensitivity("all_to_all_latency", **ROUTE)

    def test_in_print(self, found):
        lines = repr(found).splitlines()
        assert lines[0] == "Sensitivity of all_to_all_latency = 10.22 ms"
        assert lines[1].split("  ")[0] == "Input"
        assert set(lines[2]) == {"─"}
        assert max(map(len, lines)) <= 100
        assert any(line.startswith("fabric_bandwidth") and "-0.985" in line for line in lines)
        for row in found:
            assert (row.name in found.unmoved()) != any(line.split("  ")[0] == row.name for line in lines), row.name

    def test_so_many_rows_of_each_table(self, found):
        assert max(len(part.splitlines()) for part in found.text(2).split("\n\n")[1:-1]) == 2 + 2
        assert "more rows" in found.text(2)
        assert "more rows" not in found.text(None)
        for most in (0, -1, 2.5, True, "all"):
            with pytest.raises(InputError, match="most="):
                found.text(most)

    def test_html_is_well_formed(self, found):
        class Balanced(HTMLParser):
            depth = 0

            def handle_starttag(self, tag, attrs):
                self.depth += 1

            def handle_endtag(self, tag):
                self.depth -= 1

        parser = Balanced()
        parser.feed(found._repr_html_())
        assert parser.depth == 0
        assert "all_to_all_latency" in found._repr_html_()

    def test_plain_data(self, found):
        import json

        found = found.to_dict()
        assert json.loads(json.dumps(found, allow_nan=False)) == found
        assert found["fabric_latency"]["gradient_unit"] == "ms/µs"
        label = found["precision"]
        assert (label["kind"], label["gradient"], label["elasticity"], label["up"]) == ("label", None, None, None)
        assert label["labels"]["fp8"] < 0 < label["labels"]["fp32"]


GRIDS = {
    "memory": (MEMORY, "total_memory", TRAIN, {"batch_size": [8, 9, 17], "precision": ["fp16", "fp8"]}),
    "devices": (
        MEMORY,
        "memory_utilization",
        TRAIN,
        {"hardware": ["H100", "A100_40GB"], "trainable_fraction": [0.5, 1]},
    ),
    "latency": (SERVING, "estimated_p99_latency", SERVE, {"efficiency": [0.3, 0.5], "qps": [1, 30, 90]}),
    "rates": (SERVING, "ttft", SERVE, {"precision": ["fp16", "fp8"], "hardware": ["H100", "H200"]}),
    "exchange": (ROUTING, "all_to_all_latency", ROUTE, {"ep_size": [1, 4, 8], "fabric_latency": [0, "50 us"]}),
}


@pytest.mark.parametrize(("model", "output", "point", "axes"), rest_long(GRIDS.values(), quick=1), ids=GRIDS)
def test_on_a_grid_equals_point_by_point(model, output, point, axes):
    grid = model.sensitivity(output, **{**point, **axes})
    names = grid.input.values.tolist()
    assert names == [v.name for v in model.system.closure([output]).inputs if v.domain.kind == "real"]
    for place in np.ndindex(*(len(values) for values in axes.values())):
        at = {name: values[index] for (name, values), index in zip(axes.items(), place, strict=True)}
        where = dict(zip(axes, place, strict=True))
        rows = model.sensitivity(output, **{**point, **at})
        for name in names:
            wanted = rows[name]
            found = grid[f"gradient_{name}"].isel(where)
            assert found.item() == pytest.approx(wanted.gradient.magnitude, rel=1e-12, abs=1e-300)
            assert grid[f"gradient_{name}"].attrs["units"] == f"{wanted.gradient.units:~P}"
            assert grid[f"gradient_{name}"].attrs["steps"].split() == list(wanted.through)
            elastic = grid.elasticity.sel(input=name).isel(where).item()
            if wanted.elasticity is None:
                assert math.isnan(elastic)
            else:
                assert elastic == pytest.approx(wanted.elasticity, rel=1e-12, abs=1e-300)


def test_a_grid_is_labelled_like_a_sweep():
    grid = MEMORY.sensitivity("total_memory", **{**TRAIN, "batch_size": [8, 9], "memory_capacity": ["40 GB", "80 GB"]})
    assert grid.gradient_parameters.dims == ("batch_size", "memory_capacity")
    assert grid.elasticity.dims == ("input", "batch_size", "memory_capacity")
    assert grid.memory_capacity.attrs["units"] == "GB"
    assert grid.attrs["output"] == "total_memory"
    assert grid.attrs["output_units"] == "GB"
    assert grid.attrs["model"] == "TrainingMemoryModel"


def test_an_output_without_continuous_inputs_on_a_grid():
    grid = MEMORY.sensitivity("layers_per_stage", **{**TRAIN, "pp_size": [1, 2]})
    assert grid.elasticity.shape == (0, 2)
    assert grid.input.values.tolist() == []


class TestRefused:
    @pytest.mark.parametrize("output", ["feasible", "bottleneck"])
    def test_labels_and_truth_values(self, output):
        with pytest.raises(InputError) as caught:
            SERVING.sensitivity(output, **SERVE)
        assert str(caught.value) == f"output='{output}': must be a number; labels and truth values have no gradient"

    def test_an_unknown_output(self):
        with pytest.raises(
            UnknownNameError, match=r"^unknown output of TrainingMemoryModel 'wieghts': did you mean wei"
        ):
            MEMORY.sensitivity("wieghts", **TRAIN)

    @pytest.mark.parametrize("output", [None, 3, ["weights"], b"weights"])
    def test_an_output_that_is_no_name(self, output):
        with pytest.raises(UnknownNameError, match=r"^unknown output of TrainingMemoryModel "):
            MEMORY.sensitivity(output, **TRAIN)

    def test_an_output_that_needs_a_fleet(self):
        with pytest.raises(MissingInputError) as caught:
            ROUTING.sensitivity("all_to_all_latency", "Mixtral_8x7B", batch_size=4)
        assert str(caught.value) == (
            "MoERoutingModel needs fabric_bandwidth for all_to_all_latency: give fleet=... or fabric_bandwidth=..."
        )

    def test_no_output_at_all(self):
        with pytest.raises(TypeError):
            MEMORY.sensitivity()


def test_a_second_question_of_the_same_kind_compiles_nothing(monkeypatch):
    MEMORY.sensitivity("total_memory", **TRAIN)

    def no_compiler(*_args, **_kwargs):
        raise AssertionError("compiled again")

    monkeypatch.setattr(sys.modules["mlsysim.backends.compiled"], "lowered", no_compiler)
    monkeypatch.setattr("jax.jit", no_compiler)
    MEMORY.sensitivity("total_memory", **{**TRAIN, "batch_size": 64})
