"""The Pareto front against a quadratic check over loops and grids."""

import itertools
import math

import numpy as np
import pytest
from fuzz import fuzzing, rest_long
from hypothesis import given
from hypothesis import strategies as st

from mlsysim import DistributedModel, EconomicsModel, MoERoutingModel, TrainingMemoryModel
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.study import search as module

POINT = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 64}
FLEET = {**POINT, "fleet_size": 64, "fabric_bandwidth": "50 GB/s", "fabric_latency": "10 us"}
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


def everywhere(model, fixed, axes, names, signs, feasible=None):
    """Objectives at every point by a sweep, infinite where refused."""
    grid = model.sweep(**fixed, **axes, outputs=[name for name in names if name not in axes], refused="mask")
    columns = []
    for name, sign in zip(names, signs, strict=True):
        values = (grid[name].broadcast_like(grid[next(iter(grid.data_vars))]) if name in axes else grid[name]).values
        columns.append(np.asarray(values, float).ravel() * sign)
    rows = np.array(columns).T
    refused = grid["refused"].values.ravel() > 0 if "refused" in grid else np.zeros(len(rows), bool)
    rows[refused] = np.inf
    return rows


@fuzzing(15, derandomize=False)
@given(st.data())
@pytest.mark.parametrize("dense", rest_long([False, True], quick=1))
def test_equals_a_quadratic_check(dense, data):
    model, fixed, objectives = data.draw(st.sampled_from(QUESTIONS))
    choices = ROUTES if model is ROUTING else LAYOUT
    names = data.draw(st.lists(st.sampled_from(sorted(choices)), min_size=1, max_size=3, unique=True))
    if "batch_size" in objectives and "batch_size" not in names:
        names.append("batch_size")
    axes = {name: data.draw(st.permutations(choices[name])) for name in names}
    signs = [data.draw(st.sampled_from([1, 1, -1])) for _ in objectives]
    fixed = {name: value for name, value in fixed.items() if name not in axes}
    rows = everywhere(model, fixed, axes, objectives, signs)
    if dense and data.draw(st.integers(0, 3)):
        return
    previous, module.COMPILING = module.COMPILING, 0.0 if dense else math.inf
    try:
        found = model.pareto(
            [name for name, sign in zip(objectives, signs, strict=True) if sign > 0],
            maximize=[name for name, sign in zip(objectives, signs, strict=True) if sign < 0],
            **fixed,
            **axes,
        )
    finally:
        module.COMPILING = previous
    assert found.certificate.method == ("dense" if dense else "enumeration")
    sizes = [len(values) for values in axes.values()]
    places = np.ravel_multi_index(tuple(found.places.T), sizes).tolist()
    assert sorted(places) == undominated(rows.tolist())
    assert found.certificate.evaluated == math.prod(sizes)
    assert found.certificate.feasible[0] == int(np.isfinite(rows).all(axis=1).sum())
    first = [row[0] for row in found.objectives]
    assert first == sorted(first, reverse=not any(sign > 0 for sign in signs))


def test_ties_keep_the_first_design():
    """Who pays what for power does not change time or memory."""
    found = EconomicsModel("training").pareto(
        ["total_memory", "step_time"], **FLEET, price=30000, tdp=700, pue=[1.3, 1.1, 1.2], zero_stage=[3, 1, 2]
    )
    assert set(found.places[:, 0]) == {0}
    assert len({tuple(row) for row in found.objectives}) == len(found)


def test_constraints():
    axes = {"tp_size": [1, 2, 4, 8], "gradient_accumulation_steps": [1, 2, 4, 8], "zero_stage": [0, 1, 2, 3]}
    found = STEP.pareto(["total_memory", "step_time"], **FLEET, **axes, subject_to="step_time <= 5 s")
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
    assert sorted(np.ravel_multi_index(tuple(found.places.T), sizes)) == undominated(rows)
    assert all(row[1] <= 5 for row in found.objectives)


@pytest.mark.parametrize(
    ("asked", "kind", "message"),
    [
        ({"minimize": "total_memory"}, InputError, "takes at least two objectives together with maximize"),
        ({"minimize": []}, InputError, "a search needs an objective"),
        ({"minimize": ["total_memory", "activatons"]}, UnknownNameError, "did you mean activations"),
        ({"minimize": ["total_memory", 3]}, InputError, "minimize=3"),
        ({"minimize": ["total_memory", "weights"], "tp_size": 2}, InputError, "use solve() for one point"),
    ],
)
def test_refused(asked, kind, message):
    with pytest.raises(kind) as caught:
        MEMORY.pareto(**{**POINT, "tp_size": [1, 2], **asked})
    assert message in str(caught.value)
