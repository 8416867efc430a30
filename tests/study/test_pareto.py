"""The Pareto front against a quadratic check over loops and grids."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from fuzz import fuzzing, rest_long
from hypothesis import given
from hypothesis import strategies as st
from study.search_cases import FAMILIES, random_objective, random_problem, searches

from mlsysim import DistributedModel, EconomicsModel, MoERoutingModel, TrainingMemoryModel
from mlsysim.bounds import Search
from mlsysim.errors import InputError, UnknownNameError

POINT: dict[str, Any] = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 64}
FLEET: dict[str, Any] = {**POINT, "fleet_size": 64, "fabric_bandwidth": "50 GB/s", "fabric_latency": "10 us"}
ROUTED = {"model": "DeepSeek_V3", "fleet": "Research_256", "batch_size": 64, "ep_size": 8}
MEMORY, STEP, ROUTING = TrainingMemoryModel("per_operator"), DistributedModel(), MoERoutingModel()
LAYOUT = {
    "tp_size": [1, 2, 3, 4, 8],
    "pp_size": [1, 2, 4, 8],
    "zero_stage": [0, 1, 2, 3],
    "activation_checkpointing": ["none", "selective", "full"],
    "gradient_accumulation_steps": [1, 2, 4, 8],
}
QUESTIONS = [
    (MEMORY, POINT, ["total_memory", "activations", "weights"]),
    (STEP, FLEET, ["step_time", "total_memory"]),
    (STEP, FLEET, ["step_time", "total_memory", "optimizer_state"]),
    (ROUTING, ROUTED, ["batch_size", "all_to_all_latency"]),
]
ROUTES = {"batch_size": [8, 16, 64, 100], "ep_size": [1, 2, 8, 16], "routing_imbalance_factor": [1.0, 1.5, 3.0]}


def undominated(rows):
    """Places of rows that no other row beats: no worse in all, better in one; of equal rows the first."""
    kept = []
    for i, row in enumerate(rows):
        if not all(map(math.isfinite, row)):
            continue
        beaten = any(
            all(a <= b for a, b in zip(other, row, strict=True)) and (tuple(other) != tuple(row) or j < i)
            for j, other in enumerate(rows)
            if j != i
        )
        if not beaten:
            kept.append(i)
    return kept


def everywhere(model, fixed, axes, names, signs, allow_infeasible):
    """Objectives at every point by a sweep, infinite where refused, and where infeasible unless that is allowed."""
    limits = [] if allow_infeasible or "feasible" not in model.system else ["feasible"]
    grid = model.sweep(**fixed, **axes, outputs=[*(n for n in names if n not in axes), *limits], refused="mask")
    columns = []
    for name, sign in zip(names, signs, strict=True):
        values = (grid[name].broadcast_like(grid[next(iter(grid.data_vars))]) if name in axes else grid[name]).values
        columns.append(np.asarray(values, float).ravel() * sign)
    rows = np.array(columns).T
    refused = grid["refused"].values.ravel() > 0 if "refused" in grid else np.zeros(len(rows), bool)
    rows[refused] = np.inf
    for name in limits:
        rows[~grid[name].values.ravel()] = np.inf
    return rows


@pytest.mark.long(quick=1)
@fuzzing(15, derandomize=False)
@given(st.data())
@pytest.mark.parametrize("method", rest_long(["enumeration", "bounds", "dense"], quick=2))
def test_equals_a_quadratic_check(method, data):
    model, fixed, objectives = data.draw(st.sampled_from(QUESTIONS))
    choices = ROUTES if model is ROUTING else LAYOUT
    names = data.draw(st.lists(st.sampled_from(sorted(choices)), min_size=1, max_size=3, unique=True))
    if "batch_size" in objectives and "batch_size" not in names:
        names.append("batch_size")
    axes = {name: data.draw(st.permutations(choices[name])) for name in names}
    signs = [data.draw(st.sampled_from([1, 1, -1])) for _ in objectives]
    fixed = {name: value for name, value in fixed.items() if name not in axes}
    allow_infeasible = data.draw(st.booleans())
    rows = everywhere(model, fixed, axes, objectives, signs, allow_infeasible)
    if method == "dense" and data.draw(st.integers(0, 3)):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Search, "LEAF", 4)
        found = model.pareto(
            [name for name, sign in zip(objectives, signs, strict=True) if sign > 0],
            maximize=[name for name, sign in zip(objectives, signs, strict=True) if sign < 0],
            method="auto" if method == "enumeration" else method,
            allow_infeasible=allow_infeasible,
            **fixed,
            **axes,
        )
    assert found.certificate.method == method
    assert found.certificate.proven
    sizes = [len(values) for values in axes.values()]
    places = np.atleast_1d(np.ravel_multi_index(tuple(found.places.T), sizes)).tolist()
    assert sorted(places) == undominated(rows.tolist())
    low, high = found.certificate.feasible
    assert low <= int(np.isfinite(rows).all(axis=1).sum()) <= high
    if method != "bounds":
        assert low == high
        assert found.certificate.evaluated == math.prod(sizes)
    first = [row[0] for row in found.objectives]
    assert first == sorted(first, reverse=not any(sign > 0 for sign in signs))


def to_digits(values):
    """Values to the digits to which those of a front are compared, 30 after the first; halves go away from zero."""
    mantissa, exponent = np.frexp(values)
    return np.copysign(np.ldexp(np.floor(np.abs(mantissa) * 2**31 + 0.5), exponent - 31), mantissa)


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("seed", rest_long([n for n in range(2 * len(FAMILIES)) if not searches(n)], quick=3))
def test_bounds_find_the_front_of_random_problems(seed, monkeypatch):
    """Two or three objectives of any model; every point of the grid is compared with the front, and the ones on it."""
    monkeypatch.setattr(Search, "LEAF", 64)
    random, asked = np.random.default_rng(1000 + seed), random_problem(seed, 8_000)
    model: Any = asked.model
    more = [random_objective(random, model, asked.binding) for _ in range(1 + seed % 2)]
    goals = [(expression.sympy, sign < 0) for expression, sign in asked.objectives] + more
    found = model.pareto(
        [each for each, maximized in goals if not maximized],
        maximize=[each for each, maximized in goals if maximized],
        subject_to=[constraint.sympy for constraint in asked.constraints],
        method="bounds",
        allow_infeasible=True,
        **asked.typed,
    )
    certificate, sizes = found.certificate, asked.grid.sizes
    assert (certificate.method, certificate.proven, certificate.gap) == ("bounds", True, 0.0)
    every = np.array(np.unravel_index(np.arange(asked.grid.points), sizes))
    signs = [sign for _, sign in found._problem.objectives]
    columns, good = found._problem.points.columns(every)
    true = int(good.sum())
    assert certificate.feasible[0] <= true <= certificate.feasible[1]
    assert bool(true) == bool(len(found))
    rows = columns.T
    front = rows[np.ravel_multi_index(tuple(found.places.T), sizes)]
    np.testing.assert_allclose(front, np.array(found.objectives).reshape(front.shape) * signs, rtol=1e-12)
    slack = 1e-9 * np.abs(rows)
    for place in np.flatnonzero(good):
        assert (front <= rows[place] + slack[place]).all(axis=1).any()
    digits = to_digits(rows)
    for place, row in zip(found.places, to_digits(front), strict=True):
        as_good = good & (digits <= row).all(axis=1)
        assert not (as_good & (digits < row).any(axis=1)).any()
        if certificate.first:
            assert np.ravel_multi_index(tuple(place), sizes) == np.flatnonzero(as_good)[0]


def test_all_methods_give_the_same_front():
    given = {**ROUTED, **ROUTES, "ep_size": [2, 8], "minimize": ["all_to_all_latency"], "maximize": ["batch_size"]}
    fronts = [ROUTING.pareto(**given, method=method).places.tolist() for method in ("auto", "bounds", "dense")]
    assert fronts[0] == fronts[1] == fronts[2]
    assert len(fronts[0]) == len(ROUTES["batch_size"])


def test_values_that_differ_by_rounding_are_equal():
    """The sum of the parts is the total, in another order: what is smaller by rounding alone is not on the front."""
    shares = [0.1 * n for n in range(1, 11)]
    found = STEP.pareto(
        ["step_time * efficiency / efficiency", "total_memory"],
        allow_infeasible=True,
        **FLEET,
        dp_overlap=[0.0, 1e-14, 2e-14],
        efficiency=shares,
    )
    assert set(found.places[:, list(found._problem.binding.axes).index("dp_overlap")]) == {0}


@pytest.mark.long
@pytest.mark.parametrize("rounds", rest_long([3, 1, 6], quick=1))
def test_a_front_cut_short_says_how_far_any_design_may_be(rounds, monkeypatch):
    """Every point of the grid is within the gap of a point of the front, in some objective."""
    left, whole = iter(range(rounds)), Search._round

    def few(self, *args):
        if next(left, None) is None:
            self._budget.narrow(-math.inf)
        whole(self, *args)

    monkeypatch.setattr(Search, "_round", few)
    monkeypatch.setattr(Search, "LEAF", 16)
    axes = {**LAYOUT, "batch_size": range(64, 513, 64)}
    names = ["step_time", "total_memory", "batch_size"]
    fixed = {name: value for name, value in FLEET.items() if name != "batch_size"}
    found = STEP.pareto(names[:2], maximize=names[2:], **fixed, **axes, method="bounds", allow_infeasible=True)
    certificate = found.certificate
    assert not certificate.proven
    assert 0 < certificate.gap < math.inf
    assert str(certificate).startswith("Not proven")
    front = np.array(found.objectives) * [1, 1, -1]
    columns, good = found._problem.points.columns(np.indices(found._problem.grid.sizes).reshape(len(axes), -1))
    for row in columns[:, good].T:
        assert ((front - row) / np.abs(front)).max(axis=1).min() <= certificate.gap + 1e-9


def test_ties_keep_the_first_design():
    """Who pays what for power does not change time or memory."""
    found = EconomicsModel("owned_training").pareto(
        ["total_memory", "step_time"],
        **FLEET,
        allow_infeasible=True,
        price=30000,
        tdp=700,
        pue=[1.3, 1.1, 1.2],
        zero_stage=[3, 1, 2],
    )
    assert set(found.places[:, 0]) == {0}
    assert len({tuple(row) for row in found.objectives}) == len(found)


def test_constraints():
    axes: dict[str, Any] = {
        "tp_size": [1, 2, 4, 8],
        "gradient_accumulation_steps": [1, 2, 4, 8],
        "zero_stage": [0, 1, 2, 3],
    }
    found = STEP.pareto(
        ["total_memory", "step_time"], **FLEET, **axes, subject_to="step_time <= 5 s", allow_infeasible=True
    )
    rows = []
    for values in itertools.product(*axes.values()):
        try:
            result = STEP.solve(**FLEET, **dict(zip(axes, values, strict=True)))
        except InputError:
            rows.append([math.inf, math.inf])
            continue
        row = [result.canonical("total_memory"), result.canonical("step_time")]
        rows.append(row if row[1] <= 5 else [math.inf, math.inf])
    sizes = [len(values) for values in axes.values()]
    places = np.atleast_1d(np.ravel_multi_index(tuple(found.places.T), sizes)).tolist()
    assert sorted(places) == undominated(rows)
    assert all(row[1] <= 5 for row in found.objectives)


@pytest.mark.parametrize(
    ("asked", "kind", "message"),
    [
        ({"minimize": "total_memory"}, InputError, "takes at least two objectives together with maximize"),
        ({"minimize": []}, InputError, "a search needs an objective"),
        ({"minimize": ["total_memory", "activatons"]}, UnknownNameError, "did you mean activations"),
        ({"minimize": ["total_memory", 3]}, InputError, "minimize=3"),
        ({"minimize": ["total_memory", "weights"], "tp_size": 2}, InputError, "use solve() for one point"),
        ({"minimize": ["total_memory", "weights"], "method": "best"}, InputError, "must be one of auto, bounds"),
        ({"minimize": ["total_memory", "weights"], "time_limit": 0}, InputError, "a number of seconds > 0"),
        ({"minimize": ["total_memory", "weights"], "time_limit": 1, "method": "dense"}, InputError, "only bounds end"),
    ],
)
def test_refused(asked, kind, message):
    with pytest.raises(kind) as caught:
        MEMORY.pareto(**{**POINT, "tp_size": [1, 2], **asked})
    assert message in str(caught.value)
