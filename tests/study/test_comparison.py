"""Two results side by side: the parts of a difference add up to it, and stand where they belong."""

from __future__ import annotations

import itertools
import json
import math
from functools import partial

import numpy as np
import pytest
from study.points import DEPLOYMENTS, POINTS
from sympy import Max

import mlsysim
from mlsysim import (
    DistributedModel,
    Formula,
    KernelModel,
    PerformanceModel,
    ServingCapacityModel,
    Source,
    TrainingMemoryModel,
    compare,
    variable,
)
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.study.results.decomposition import shapley

MEMORY = {"model": "Llama3_8B", "hardware": "H100", "dp_size": 8, "batch_size": 64}
TRAINED = {"model": "Llama3_70B", "fleet": "SuperPOD_H100", "batch_size": 1024, "seq_len": 8192, "tp_size": 8,
           "pp_size": 4, "gradient_accumulation_steps": 8}  # fmt: skip

work = variable("cmp_work", "w", "FLOP", "Work.")
rate = variable("cmp_rate", "r", "FLOP/s", "Rate.")
wait = variable("cmp_wait", "t_w", "s", "Waiting.")
start = variable("cmp_start", "t_s", "s", "Starting.")
busy = variable("cmp_busy", "t_b", "s", "Computing.")
whole = variable("cmp_whole", "t", "s", "All of it.")
OWN = {"source": Source("own"), "no_example": "A test."}


class TwoWays(PerformanceModel):
    """How long does it take?"""

    variants = {
        "plain": (
            Formula(busy, work / rate, title="Computing", **OWN),
            Formula(whole, busy + wait, title="All", **OWN),
        ),
        "started": (
            Formula(busy, work / rate, title="Computing", **OWN),
            Formula(whole, Max(busy + wait + start, 2 * start), title="All", **OWN),
        ),
    }
    headline = ("cmp_whole", "cmp_busy")


AT = {"cmp_work": 600.0, "cmp_rate": 100.0, "cmp_wait": 2.0}


def amounts(terms):
    return {(each.name, each.kind): float(getattr(each.difference, "magnitude", each.difference)) for each in terms}


class TestAgainstArithmetic:
    def test_a_sum_is_split_by_its_addends_and_a_product_by_shapley(self):
        model = TwoWays("plain")
        found = compare(model.solve(**AT), model.solve(**{**AT, "cmp_work": 800.0, "cmp_rate": 200.0, "cmp_wait": 3.0}))
        assert found.difference.magnitude == pytest.approx(-1)
        assert amounts(found.terms) == pytest.approx({("cmp_busy", "variable"): -2.0, ("cmp_wait", "input"): 1.0})
        by_work = 0.5 * (200 / 100 + 200 / 200)
        by_rate = 0.5 * (600 / 200 - 600 / 100 + 800 / 200 - 800 / 100)
        expected = {("cmp_work", "input"): by_work, ("cmp_rate", "input"): by_rate, ("cmp_wait", "input"): 1.0}
        assert amounts(found.causes) == pytest.approx(expected)
        assert [each.name for each in found.causes] == ["cmp_rate", "cmp_work", "cmp_wait"]
        assert sum(each.share for each in found.causes) == pytest.approx(1)

    def test_an_addend_that_one_variant_has(self):
        found = compare(TwoWays("plain").solve(**AT), TwoWays("started").solve(**AT, cmp_start=1.5))
        assert amounts(found.terms) == {("cmp_start", "only second"): 1.5}
        assert [row.name for row in found.formulas] == ["cmp_whole"]
        assert found.formulas[0].first == "t = t_w + t_b"
        assert found.formulas[0].second == "t = max(2·t_s, t_w + t_s + t_b)"
        assert [row.name for row in found.inputs] == ["cmp_start"]
        back = compare(*found.results[::-1])
        assert amounts(back.terms) == {("cmp_start", "only first"): -1.5}

    def test_shapley_values(self):
        def value(rows):
            return 3.0 * rows[:, 0] + np.where(rows[:, 1] & rows[:, 2], 4.0, 0.0)

        assert shapley(value, 3) == pytest.approx([3, 2, 2])
        many = shapley(lambda rows: rows @ np.arange(14.0) + 10.0 * rows.all(axis=1), 14)
        assert sum(many) == pytest.approx(sum(range(14)) + 10)
        assert np.diff(many) == pytest.approx(np.ones(13))


def pairs():
    """Each model and variant beside itself at another point, and beside the other variants, to be solved."""
    changes = {
        "hardware": "A100",
        "batch_size": 128,
        "qps": 10,
        "tp_size": 1,
        "message_bytes": "1 MiB",
        "accelerators": 16,
    }
    changes |= {"design": "GH200", "product_rows": 64, "decode_requests": 32, "hidden_dim": 4096}
    for (name, variant), given in POINTS.items():
        if (name, variant) in DEPLOYMENTS:  # roots within roots: those pairs have a test of their own
            continue
        model = getattr(mlsysim, name)
        first = partial(model(variant).solve, **given)
        for change in ({each: value} for each, value in changes.items() if each in given):
            yield f"{name} {variant} {change}", first, partial(model(variant).solve, **{**given, **change})
        for (other, another), there in POINTS.items():
            if other == name and another != variant and (other, another) not in DEPLOYMENTS:
                yield f"{name} {variant} {another}", first, partial(model(another).solve, **there)


def check(first, second, names=()):
    """The parts of the difference of every headline output that both have add up to it."""
    shown = 0
    for name in names or first.model.headline:
        if name not in [*first] or name not in [*second] or isinstance(first[name], bool | str):
            continue
        if not (math.isfinite(first.canonical(name)) and math.isfinite(second.canonical(name))):
            continue
        found = compare(first, second, name)._parts
        for parts in (found.parts(), found.causes()):
            size = max([abs(found.difference), *map(abs, parts.values())])
            assert sum(parts.values()) == pytest.approx(found.difference, rel=1e-9, abs=1e-9 * size)
            shown += 1
    return shown


class TestEveryModel:
    @pytest.mark.long
    def test_parts_of_some_add_up(self):
        for what, first, second in itertools.islice(pairs(), 0, None, 97):
            assert check(first(), second()), what

    @pytest.mark.long
    def test_parts_of_all_add_up(self):
        for what, first, second in pairs():
            try:
                one, other = first(), second()
            except InputError:  # the point that was changed in one argument may be refused
                continue
            assert check(one, other) or one.keys() != other.keys(), what
            assert max(map(len, repr(compare(one, other)).splitlines())) <= 100, what

    @pytest.mark.long
    def test_parts_of_a_deployment_add_up(self):
        """Of one output: each set of inputs that changes is a root within a root."""
        name, variant = "ServingModel", "colocated"
        first = mlsysim.ServingModel(variant).solve(**POINTS[name, variant])
        changed = mlsysim.ServingModel(variant).solve(**{**POINTS[name, variant], "tp_size": 4})
        apart = mlsysim.ServingModel("disaggregated").solve(**POINTS[name, "disaggregated"])
        for second in (changed, apart):
            assert check(first, second, ("tpot_mean",))


class TestShown:
    first, second = TrainingMemoryModel().solve(**MEMORY), TrainingMemoryModel("per_operator").solve(**MEMORY)
    found = compare(first, second)

    def test_outputs_side_by_side(self):
        row = self.found["total_memory"]
        assert (row.first, row.second) == (self.first.total_memory, self.second.total_memory)
        assert row.difference == self.second.total_memory - self.first.total_memory
        assert row.ratio == pytest.approx(float(row.second / row.first))
        assert self.found["feasible"].difference is None

    def test_what_makes_the_difference_is_largest_first(self):
        sizes = [abs(each.share) for each in self.found.terms]
        assert sizes == sorted(sizes, reverse=True)
        assert self.found.terms[0].name == "rank_memory"

    def test_text_fits_a_page(self):
        text = repr(self.found)
        assert max(map(len, text.splitlines())) <= 100
        assert "M = W + G + O + A + C" in text
        assert "Only per_operator takes" in text
        assert self.found._repr_html_().count("<table>") == 5

    def test_plain_data(self):
        plain = json.loads(self.found.to_json())
        assert plain["models"][1] == {"model": "TrainingMemoryModel", "variant": "per_operator"}
        assert sum(each["value"] for each in plain["causes"]) == pytest.approx(plain["difference"])

    def test_entries_that_differ(self):
        model = DistributedModel()
        found = compare(model.solve(**TRAINED), model.solve(**{**TRAINED, "fleet": "Research_256"}))
        assert [row.name for row in found.inputs] == ["fleet", "fabric_bandwidth", "fabric_latency"]
        assert found.output == "step_time"
        assert {each.name for each in found.causes} <= {"fabric_bandwidth", "fabric_latency"}

    def test_two_models(self):
        first = DistributedModel().solve(**TRAINED)
        second = mlsysim.ExpertParallelModel("per_operator").solve(**{**TRAINED, "model": "Mixtral_8x7B"})
        text = repr(compare(first, second))
        assert text.startswith("DistributedModel (per_operator) and ExpertParallelModel (per_operator)")
        assert max(map(len, text.splitlines())) <= 100

    def test_no_difference(self):
        found = compare(self.first, TrainingMemoryModel().solve(**MEMORY))
        assert (found.terms, found.causes, found.inputs, found.formulas) == ((), (), (), ())
        assert "First" in repr(found)

    def test_columns_are_called_by_what_differs_and_equal_rows_are_counted(self):
        boards = [TrainingMemoryModel().solve(**{**MEMORY, "hardware": name}) for name in ("H100", "H200")]
        found = compare(*boards)
        assert found.heads == ("H100", "H200")
        lines = repr(found).splitlines()
        assert lines[2].split() == ["Output", "H100", "H200", "Difference", "Ratio"]
        assert not any(line.startswith("weights") for line in lines)
        equal = [name for name in boards[0].model.headline if boards[0][name] == boards[1][name]]
        said = f"{len(equal)} more that are equal: {', '.join(equal)}"
        assert said in " ".join(" ".join(lines).split())
        assert said in found._repr_html_()
        assert "<code>weights" not in found._repr_html_()

    def test_two_arguments_that_differ_name_no_column(self):
        other = TrainingMemoryModel().solve(**{**MEMORY, "batch_size": 3, "seq_len": 1024})
        assert compare(self.first, other).heads == ("First", "Second")
        longer = TrainingMemoryModel().solve(**{**MEMORY, "seq_len": 1024})
        assert compare(self.first, longer).heads[1] == "seq_len = 1024 token"

    def test_another_output(self):
        assert self.found.of("weights").output == "weights"


class TestRefused:
    first = TrainingMemoryModel().solve(**MEMORY)

    @pytest.mark.parametrize("other", [3, None, {"total_memory": 1}, "memory"])
    def test_no_result(self, other):
        with pytest.raises(InputError, match="must be a result"):
            compare(self.first, other)

    def test_outputs(self):
        with pytest.raises(UnknownNameError, match="did you mean total_memory"):
            compare(self.first, self.first, "total_memry")
        with pytest.raises(InputError, match="labels and truth values have no difference"):
            compare(self.first, self.first, "feasible")
        product = {"hardware": "H100", "product_rows": 64, "product_columns": 64, "product_inner": 64}
        with pytest.raises(InputError, match="shares no finite number"):
            compare(self.first, KernelModel("roofline").solve(**product))

    def test_infinite(self):
        given = {"model": "Llama3_8B", "hardware": "H100", "target_p99_latency_ms": 4000, "max_replicas": 1}
        few, many = (ServingCapacityModel().solve(qps=qps, **given) for qps in (1, 500))
        with pytest.raises(InputError, match="is infinite by"):
            compare(few, many, "estimated_p99_latency")
        assert compare(few, many).output != "estimated_p99_latency"


def test_replicas_that_differ_are_passed_on():
    """With new devices and the old number of replicas the queue would have no end."""
    given = {"model": "Llama3_8B", "qps": 20, "seq_len": 1024, "target_p99_latency_ms": 2000}
    first, second = (ServingCapacityModel("prefill_aware").solve(hardware=name, **given) for name in ("H100", "A100"))
    assert first.required_replicas != second.required_replicas
    found = compare(first, second, "estimated_p99_latency")
    assert {each.name for each in found.causes} == {"peak_flops", "memory_bandwidth"}
    assert "together" not in {each.kind for each in found.terms}
    assert sum(each.share for each in found.causes) == pytest.approx(1)
