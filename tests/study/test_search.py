"""Search by bounds against every point of random grids, and the verb ``search`` itself."""

import itertools
import math
import os
from functools import cache

import numpy as np
import pytest
from fuzz import rest_long
from study.points import CHAINS
from study.search_cases import DEPLOYMENTS, FAMILIES, by_brute_force, first_best, random_problem, searched, searches

from mlsysim import DistributedModel, ServingModel, TrainingMemoryModel, derived, linked
from mlsysim.backends.budget import SpentError
from mlsysim.bounds import Points, Search
from mlsysim.errors import InfeasibleError, InputError, MlsysimError, UnitError, UnknownNameError
from mlsysim.models import every_model
from mlsysim.study import search as module
from mlsysim.symbolic import variable_of

#: More cases, and larger ones, where asked for.
CASES, FULL = int(os.environ.get("MLSYSIM_SEARCH_CASES", "36")), "MLSYSIM_SEARCH_CASES" in os.environ


@cache
def case(seed):
    """A random problem, and the objective at every point of its grid."""
    slow = searches(seed)
    points = 1_500 if slow else 20_000
    if FULL:
        random = np.random.default_rng(seed)
        points = int(10 ** (random.uniform(3.5, 4.0) if slow else 7.0 if seed % 20 == 0 else random.uniform(5.0, 6.3)))
    asked = random_problem(seed, points)
    return asked, by_brute_force(asked)


#: The first family of every model, and then the others, among them what is a training step once more.
FIRST = {kind: seed for seed, (kind, *_) in reversed([*enumerate(FAMILIES)]) if kind != "ExpertParallelModel"}
ONE_EACH = list(FIRST.values())
SEEDS = [*ONE_EACH, *(seed for seed in range(CASES) if seed not in ONE_EACH)]


@pytest.mark.long(quick=2)
@pytest.mark.parametrize("seed", rest_long(SEEDS, quick=len(ONE_EACH)))
def test_bounds_find_what_brute_force_finds(seed, monkeypatch, record_property):
    monkeypatch.setattr(module, "AT_ONCE", -1.0)
    monkeypatch.setattr(Search, "LEAF", 512 if searches(seed) else 4096 if FULL else 64)
    asked, values = case(seed)
    record_property("points", asked.grid.points)
    true = int(np.isfinite(values).sum())
    record_property("feasible", true)
    for top in (1, 5):
        found = searched(asked, method="bounds", top=top)
        certificate = found.certificate
        assert certificate.method == "bounds"
        assert certificate.proven
        places, expected = first_best(values, top)
        sign = asked.objectives[0][1]
        np.testing.assert_allclose([sign * value for (value,) in found.objectives], expected, rtol=2e-9)
        if certificate.first:
            assert np.ravel_multi_index(found.places.T, asked.grid.sizes).tolist() == places
        low, high = certificate.feasible
        assert low <= true <= high
        if true:
            assert sign * certificate.bound <= expected[0] + 1e-9 * abs(expected[0])


@pytest.mark.long
@pytest.mark.parametrize("seed", rest_long([3, 9, 14, 0, 5, 12], quick=1))
def test_streaming_finds_what_brute_force_finds(seed):
    asked, values = case(seed)
    found = searched(asked, method="dense", top=5)
    places, expected = first_best(values, 5)
    assert np.ravel_multi_index(found.places.T, asked.grid.sizes).tolist() == places
    sign = asked.objectives[0][1]
    np.testing.assert_allclose([sign * value for (value,) in found.objectives], expected, rtol=1e-12)
    true = int(np.isfinite(values).sum())
    assert found.certificate.feasible == (true, true)
    assert found.certificate.method == "dense"


@pytest.mark.long
def test_most_random_problems_have_an_answer():
    answered = [bool(np.isfinite(case(seed)[1]).any()) for seed in range(len(FAMILIES))]
    assert sum(answered) > 0.5 * len(answered)


@cache
def deployments(seed):
    """A random problem over deployments, and the objective at every point of its grid."""
    asked = random_problem(seed, 1_500, DEPLOYMENTS)
    return asked, by_brute_force(asked)


@pytest.mark.long
@pytest.mark.parametrize("seed", rest_long(range(2 * len(DEPLOYMENTS)), quick=1))
def test_every_deployment_of_a_grid_is_looked_at(seed):
    asked, values = deployments(seed)
    true = int(np.isfinite(values).sum())
    for top in (1, 5):
        found = searched(asked, top=top)
        places, expected = first_best(values, top)
        assert found.certificate.method == "enumeration"
        assert found.certificate.proven
        assert found.certificate.feasible == (true, true)
        sign = asked.objectives[0][1]
        np.testing.assert_allclose([sign * value for (value,) in found.objectives], expected, rtol=2e-9)
        assert np.ravel_multi_index(found.places.T, asked.grid.sizes).tolist() == places


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1])
def test_bounds_of_deployments_rule_out_no_better_one(seed, monkeypatch):
    monkeypatch.setattr(Search, "LEAF", 256)
    asked, values = deployments(seed)
    found = searched(asked, method="bounds")
    _, expected = first_best(values, 1)
    sign = asked.objectives[0][1]
    np.testing.assert_allclose([sign * value for (value,) in found.objectives], expected, rtol=2e-9)
    assert found.certificate.proven


@pytest.mark.long
def test_deployments_cut_short_have_a_bound_and_a_gap(monkeypatch):
    asked, values = deployments(0)
    sign = asked.objectives[0][1]
    monkeypatch.setattr(Points, "chunk", 100)
    looked_at = module._evaluated_chunks

    def first_parts(*arguments):
        yield from itertools.islice(looked_at(*arguments), 3)
        raise SpentError

    monkeypatch.setattr(module, "_evaluated_chunks", first_parts)
    certificate = searched(asked, time_limit=3600).certificate
    assert not certificate.proven
    assert certificate.evaluated == 300
    assert sign * certificate.bound <= values.min() + 1e-9 * abs(values.min())


@pytest.mark.long
def test_chunked_deployments_are_searched_as_a_loop_of_solve_does():
    model, axes = ServingModel("chunked"), {"tp_size": [1, 2, 4], "max_num_batched_tokens": [512, 2048]}
    fixed = {"model": "Mixtral_8x7B", "hardware": "H100", "request_rate": 8, "isl": 1024, "num_replicas": 2}
    fixed |= {"max_num_seqs": 64, "rental_price": 2}

    def slow(result):
        return result["ttft_p99"].to("s").magnitude

    value, place = by_solve(model, slow, lambda result: result["tpot_p99"].to("ms").magnitude <= 25, axes, **fixed)
    found = model.search(allow_infeasible=True, **fixed, **axes, minimize="ttft_p99", subject_to="tpot_p99 <= 25 ms")
    assert tuple(values[at] for values, at in zip(axes.values(), found.places[0], strict=True)) == place
    assert found.objectives[0][0] == pytest.approx(value, rel=1e-9)
    assert found.certificate.proven


def test_every_model_and_variant_is_asked():
    asked = {*CHAINS, *((kind, variant) for kind, variant, *_ in (*FAMILIES, *DEPLOYMENTS))}
    assert asked == {(model.__name__, variant) for model in every_model() for variant in model.variants}


MODEL = TrainingMemoryModel("per_operator")
STEP = DistributedModel()
POINT = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 64}
FLEET = {**POINT, "fleet_size": 64, "fabric_bandwidth": "50 GB/s", "fabric_latency": "10 us"}


def by_solve(asked, minimize, feasible, axes, **fixed):
    """The first best combination by a plain loop of ``solve``; refused ones are left out."""
    best, chosen = math.inf, None
    for values in itertools.product(*axes.values()):
        try:
            result = asked.solve(**fixed, **dict(zip(axes, values, strict=True)))
        except InputError:
            continue
        if feasible(result) and minimize(result) < best * (1 - 1e-9):
            best, chosen = minimize(result), values
    return best, chosen


class TestAsked:
    axes = {"tp_size": [1, 2, 4, 8, 16, 3], "pp_size": [1, 2, 4, 8], "zero_stage": [0, 1, 2, 3], "batch_size": [16, 48]}

    @pytest.mark.parametrize("method", rest_long(["auto", "bounds", "dense"], quick=2))
    def test_equals_a_loop_of_solve(self, method):
        fixed = {"model": "Llama3_8B", "hardware": "H100", "dp_size": 4}
        value, place = by_solve(
            MODEL,
            lambda r: (r.total_memory * r.inputs["tp_size"]).to("GB").magnitude,
            lambda r: r.total_memory.to("GB").magnitude <= 60 and r.weights.to("GB").magnitude >= 1,
            self.axes,
            **fixed,
        )
        found = MODEL.search(
            allow_infeasible=True,
            **fixed,
            **self.axes,
            minimize="total_memory * tp_size",
            subject_to=["total_memory <= 60 GB", "weights >= 1 GB"],
            method=method,
        )
        assert place is not None
        assert tuple(found.best.inputs[name] for name in self.axes) == place
        assert found.objectives[0][0] == pytest.approx(value * 1e9, rel=1e-9)

    def test_maximize(self):
        found = STEP.search(
            allow_infeasible=True, **FLEET, tp_size=[1, 2, 4, 8], pp_size=[1, 2, 4], maximize="tokens_per_second"
        )
        grid = STEP.sweep(**FLEET, tp_size=[1, 2, 4, 8], pp_size=[1, 2, 4], refused="mask", outputs="tokens_per_second")
        assert found.best.tokens_per_second.magnitude == pytest.approx(float(grid.tokens_per_second.max()), rel=1e-12)
        assert found.certificate.bound == pytest.approx(found.objectives[0][0])
        last = STEP.search(
            allow_infeasible=True,
            **FLEET,
            tp_size=[1, 2, 4, 8],
            pp_size=[1, 2, 4],
            maximize="tokens_per_second",
            top=12,
        )
        speeds = [result.tokens_per_second.magnitude for result in last]
        assert speeds == sorted(speeds, reverse=True)

    def test_one_constraint_or_several(self):
        one = MODEL.search(
            allow_infeasible=True, **POINT, tp_size=[1, 2, 4], minimize="-tp_size", subject_to="tp_size <= 2"
        )
        several = MODEL.search(
            allow_infeasible=True,
            **POINT,
            tp_size=[1, 2, 4],
            minimize="-tp_size",
            subject_to=["tp_size <= 2", "tp_size>0"],
        )
        symbol = variable_of("tp_size").symbol
        as_sympy = MODEL.search(
            allow_infeasible=True, **POINT, tp_size=[1, 2, 4], maximize=symbol, subject_to=symbol <= 2
        )
        assert one.best.inputs["tp_size"] == several.best.inputs["tp_size"] == as_sympy.best.inputs["tp_size"] == 2

    def test_linked_derived_and_catalog_axes(self):
        found = MODEL.search(
            model=["Llama3_8B", "Llama3_70B"],
            hardware=["A100", "H200"],
            batch_size=512,
            layout=linked(tp_size=[1, 2, 8, 8], pp_size=[8, 4, 2, 4]),
            dp_size=derived("512 / (tp_size * pp_size)"),
            zero_stage=[1, 3],
            maximize="parameters / total_memory * usable_memory",
            subject_to="total_memory <= 0.9 * usable_memory",
            top=100,
        )
        values, expected = [value for (value,) in found.objectives], []
        for model, hardware, (t, p), z in itertools.product(
            ["Llama3_8B", "Llama3_70B"], ["A100", "H200"], [(1, 8), (2, 4), (8, 2), (8, 4)], [1, 3]
        ):
            r = MODEL.solve(
                model=model,
                hardware=hardware,
                batch_size=512,
                tp_size=t,
                pp_size=p,
                dp_size=512 // t // p,
                zero_stage=z,
            )
            if r.memory_utilization <= 0.9:
                expected.append(r.canonical("parameters") / r.canonical("memory_utilization"))
        np.testing.assert_allclose(values, sorted(expected, reverse=True), rtol=1e-12)
        assert 0 < len(expected) < 32

    @pytest.mark.parametrize(
        ("asked", "kind", "message"),
        [
            ({}, InputError, "a search needs an objective: give minimize=... or maximize=..., an output"),
            ({"minimize": "total_memry"}, UnknownNameError, "did you mean total_memory"),
            ({"minimize": 7}, InputError, "minimize=7: must be text"),
            ({"minimize": "feasible"}, InputError, "minimize"),
            ({"minimize": "total_memory + batch_size"}, UnitError, "minimize"),
            ({"minimize": ["total_memory", "weights"]}, InputError, "use pareto() for several"),
            ({"minimize": "total_memory", "maximize": "weights"}, InputError, "use pareto() for several"),
            ({"subject_to": "total_memory <= 5"}, UnitError, "needs a unit"),
            ({"subject_to": "total_memory <= 5 s"}, UnitError, "subject_to"),
            ({"subject_to": "total_memory"}, InputError, "compare it"),
            ({"subject_to": 5}, InputError, "subject_to=5"),
            ({"subject_to": ["tp_size <= 2", None]}, InputError, "subject_to=None"),
            ({"subject_to": "tp_sise <= 2"}, UnknownNameError, "did you mean tp_size"),
            ({"subject_to": "__import__('os')"}, MlsysimError, "unknown function"),
            ({"method": "fast"}, InputError, "must be one of auto, bounds, dense"),
            ({"method": None}, InputError, "must be one of auto, bounds, dense"),
            ({"top": 0}, InputError, "must be a whole number from 1"),
            ({"top": 2.0}, InputError, "must be a whole number from 1"),
            ({"top": True}, InputError, "must be a whole number from 1"),
            ({"top": 10**6}, InputError, "must be a whole number from 1"),
            ({"time_limit": 0}, InputError, "number of seconds > 0"),
            ({"time_limit": math.nan}, InputError, "number of seconds > 0"),
            ({"time_limit": "1 s"}, InputError, "number of seconds > 0"),
            ({"time_limit": True}, InputError, "number of seconds > 0"),
            ({"checkpoint": "x.json", "method": "bounds"}, InputError, "use method='dense'"),
            ({"tp_size": 2}, InputError, "use solve() for one point"),
            ({"tp_size": [1, -2]}, InputError, "tp_size=-2"),
            ({"tp_sise": [1, 2]}, UnknownNameError, "did you mean tp_size"),
        ],
    )
    def test_refused(self, asked, kind, message):
        goal = {} if {"minimize", "maximize"} & set(asked) or not asked else {"minimize": "total_memory"}
        with pytest.raises(kind) as caught:
            MODEL.search(allow_infeasible=True, **{**POINT, "tp_size": [1, 2], **goal, **asked})
        assert message in str(caught.value)


class TestHow:
    layout = {
        "batch_size": range(1, 32769), "seq_len": range(128, 131072, 32), "tp_size": [1, 2, 4, 8],
        "pp_size": [1, 2, 4, 8, 16], "dp_size": range(1, 4097), "gradient_accumulation_steps": range(1, 257),
        "zero_stage": [0, 1, 2, 3], "activation_checkpointing": ["none", "selective", "full"],
        "interleaved_stages": range(1, 11), "hardware": ["H100", "H200", "A100", "MI300X"],
    }  # fmt: skip

    @pytest.mark.long
    def test_more_than_1e18_points(self):
        found = MODEL.search(
            model="Llama3_70B",
            **self.layout,
            minimize="dp_size * tp_size * pp_size",
            subject_to=["total_memory <= 0.8 * memory_capacity", "batch_size * seq_len >= 4194304 token"],
        )
        assert found.certificate.points > 1e18
        assert found.certificate.proven
        assert found.certificate.method == "bounds"
        assert found.best.feasible
        assert found.best.inputs["batch_size"] * found.best.inputs["seq_len"].magnitude >= 4194304
        assert found.best.memory_utilization <= 0.8 + 1e-12
        low, high = found.certificate.feasible
        assert 1 <= low <= high <= found.certificate.points

    def test_small_grids_are_enumerated(self):
        found = MODEL.search(allow_infeasible=True, **POINT, tp_size=[1, 2, 4], minimize="total_memory")
        assert found.certificate.method == "enumeration"
        assert found.certificate.evaluated == found.certificate.points == 3
        assert found.certificate.boxes == 0

    @pytest.mark.long(quick=1)
    @pytest.mark.parametrize(("compiling", "method"), [(1e9, "enumeration"), (0.0, "dense")])
    def test_falls_back_where_bounds_do_not_prune(self, monkeypatch, compiling, method):
        """A remainder of a product says nothing about a box."""
        monkeypatch.setattr(module, "AT_ONCE", -1.0)
        monkeypatch.setattr(module, "BOUNDS_SHARE", 1e-9)
        monkeypatch.setattr(module, "COMPILING", compiling)
        axes = {"batch_size": range(1, 300), "seq_len": range(1, 300)}
        asked = "(batch_size * 7919 + seq_len / (1 token) * batch_size * 31) % 1009"
        found = MODEL.search(allow_infeasible=True, **{**POINT, **axes}, minimize=asked)
        assert found.certificate.method == method
        assert method in str(found.certificate)
        assert found.certificate.proven
        b, s = np.meshgrid(np.arange(1, 300), np.arange(1, 300), indexing="ij")
        values = (b * 7919 + s * b * 31) % 1009
        first = np.unravel_index(values.argmin(), values.shape)
        assert found.objectives[0][0] == values.min()
        assert tuple(found.places[0]) == first

    def test_a_time_limit_says_what_is_not_known(self, monkeypatch):
        monkeypatch.setattr(module, "AT_ONCE", -1.0)
        axes = {"batch_size": range(1, 3000), "seq_len": range(1, 3000)}
        asked = "(batch_size * 7919 + seq_len / (1 token) * batch_size * 31) % 100003 + 10"
        for _ in range(2):  # the first time it also compiles
            found = MODEL.search(
                allow_infeasible=True, **{**POINT, **axes}, minimize=asked, method="bounds", time_limit=0.3
            )
        b, s = np.meshgrid(np.arange(1, 3000), np.arange(1, 3000), indexing="ij")
        true = ((b * 7919 + s * b * 31) % 100003).min() + 10
        assert not found.certificate.proven
        assert found.certificate.bound <= true <= found.objectives[0][0]
        assert found.certificate.gap >= 1 - true / found.objectives[0][0]
        assert str(found.certificate).startswith("Not proven")

    @pytest.mark.long
    def test_nothing_is_feasible(self, monkeypatch):
        for at_once in (0.25, 0.0):
            monkeypatch.setattr(module, "AT_ONCE", at_once)
            found = MODEL.search(
                allow_infeasible=True,
                **POINT,
                tp_size=[1, 2],
                pp_size=[1, 2],
                minimize="weights",
                subject_to="weights<=1 byte",
            )
            assert len(found) == 0
            with pytest.raises(InfeasibleError, match="weights<=1 byte: nearest "):
                found.best  # noqa: B018
            assert found.certificate.proven
            assert found.certificate.feasible == (0, 0)


class TestWhatIsNoDesign:
    SMALL = {"model": "Llama3_8B", "hardware": "H100"}

    @pytest.mark.parametrize("method", ["bounds", "dense"])
    @pytest.mark.parametrize(
        ("goal", "batch_size", "feasible"),
        [
            ({"maximize": "1 / (batch_size - 4)"}, 5, 7),
            ({"minimize": "1 / (batch_size - 4)"}, 3, 7),
            ({"minimize": "log(batch_size - 4)"}, 5, 4),
        ],
    )
    def test_an_infinite_objective_is_none(self, method, goal, batch_size, feasible):
        found = TrainingMemoryModel().search(
            allow_infeasible=True, **self.SMALL, batch_size=range(1, 9), method=method, **goal
        )
        assert found.best.batch_size == batch_size
        assert found.certificate.feasible == (feasible, feasible)

    def test_an_empty_answer_says_what_was_refused(self):
        found = TrainingMemoryModel().search(
            allow_infeasible=True, **self.SMALL, batch_size=8, tp_size=[3, 5], minimize="total_memory"
        )
        assert "tp_size must divide heads (2)" in repr(found)
        assert found.certificate.accepted == (0, 0)
        assert "Proven infeasible" in str(found.certificate)

    def test_streaming_for_days_is_refused(self):
        axes = {"batch_size": range(1, 10**5), "seq_len": range(1, 10**5), "dp_size": range(1, 10**4)}
        for ask in (
            lambda: TrainingMemoryModel().pareto(
                ["total_memory"], allow_infeasible=True, maximize=["batch_size"], method="dense", **self.SMALL, **axes
            ),
            lambda: TrainingMemoryModel().search(minimize="total_memory", method="dense", **self.SMALL, **axes),
        ):
            with pytest.raises(InputError, match=r"these are 99,988,000,209,999; search\(method='bounds'\)"):
                ask()

    @pytest.mark.parametrize(
        "constraint", ["fit == 'fits'", "peak_moment == Loss", "fit == fits and binding_rank == first"]
    )
    def test_a_label_that_is_computed_is_a_column(self, constraint):
        found = TrainingMemoryModel("per_operator").search(
            **self.SMALL, batch_size=8, zero_stage=[0, 3], dp_size=8, minimize="zero_stage", subject_to=constraint
        )
        text = repr(found)
        for name in ("fit", "peak_moment", "binding_rank"):
            assert (f"\n{name} " in text) == (name in constraint)

    def test_limits_are_shares_and_equations_are_not(self):
        found = TrainingMemoryModel().search(
            allow_infeasible=True,
            **self.SMALL,
            batch_size=range(1, 9),
            zero_stage=[0, 3],
            dp_size=8,
            maximize="batch_size",
            subject_to=["zero_stage == 3", "total_memory <= 70 GB", "batch_size >= 2"],
        )
        text = repr(found)
        assert "zero_stage == 3:" not in text
        assert "total_memory <= 70 GB: " in text
        assert "batch_size >= 2: 8 against 2, 4 times what is asked" in text
