"""Sums in the order of the loops: answers and counts are those of the grid as it is written, ties and limits too."""

import numpy as np
import pytest
import sympy
from backends.test_dense import axis_shaped, chosen, smallest
from fuzz import fuzzing, tries
from hypothesis import given
from hypothesis import strategies as st
from study.search_cases import FAMILIES, by_brute_force, first_best, random_problem, searches

from mlsysim.backends import dense as module
from mlsysim.backends import evaluate_outputs
from mlsysim.backends.dense import DenseSearch
from mlsysim.backends.output_spec import OutputSpec
from mlsysim.inputs.binding import bind
from mlsysim.models import TrainingMemoryModel
from mlsysim.study.searches.streamed import smallest as streamed
from mlsysim.symbolic import variable_of

NAMES = ("u", "v", "w", "x", "limit")


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Tiles of few points, so that small grids have many."""
    monkeypatch.setattr(module, "CACHED", 64)


@pytest.fixture(scope="module")
def toy(pure, system_of):
    """A sum whose terms share an axis, with a rounding and a case; what it costs; and a limit."""
    u, v, w, x, limit = (pure(f"regrouped_{name}") for name in NAMES)
    total, cost = pure("regrouped_total"), pure("regrouped_cost")
    system = system_of({
        total: 3 * u * w * x + v * x * sympy.ceiling(u / w) / 2 + sympy.Piecewise((5 * v * x * u, v > 2), (0, True))
        + 7 * w,
        cost: total * w * v / (u * x),
    })  # fmt: skip
    return system, total, cost, limit


def by_hand(values, sizes):
    """The toy in plain NumPy, on the whole grid."""
    u, v, w, x = (np.broadcast_to(values[f"regrouped_{n}"], sizes) for n in NAMES[:-1])
    total = 3 * u * w * x + v * x * np.ceil(u / w) / 2 + np.where(v > 2, 5 * v * x * u, 0) + 7 * w
    with np.errstate(divide="ignore", invalid="ignore"):
        return total, total * w * v / (u * x)


def grids(scale):
    """Values of four axes, alike in length."""
    one = st.integers(1, 12).map(lambda n: n * scale)
    return st.tuples(*(st.lists(one, min_size=n, max_size=n) for n in (9, 5, 4, 8)))


def questions(system, objective, conditions, values, sizes):
    """The same question in the order of the loops, and as it is written."""
    ours = DenseSearch(system, objective, conditions, values, sizes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SPARED", 0)
        plain = DenseSearch(system, objective, conditions, values, sizes)
    assert ours.reorders
    assert not plain.reorders
    return ours, plain


def answer(search, k):
    found = search.resolve(search.scan(0, search.runs, k), k)
    return found.indices.tolist(), found.values.tolist(), found.feasible, found.points


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("goal", ["smallest", "largest"])
def test_small_grids_with_ties_and_points_on_the_limit(toy, goal):
    """Small whole numbers, which floats hold exactly: what is on the limit is on it in any order."""
    system, total, cost, limit = toy
    sign = 1 if goal == "smallest" else -1

    @fuzzing(400, 30)
    @given(grids(1), st.integers(0, 1439), st.sampled_from([0.0, 0.5, -1e9, 1e9]), st.sampled_from([1, 4]))
    def check(axes, place, off, k):
        values, sizes = axis_shaped(dict(zip((f"regrouped_{n}" for n in NAMES), axes, strict=False)))
        sums, costs = by_hand(values, sizes)
        values["regrouped_limit"] = sums.flat[place] + off
        ours = DenseSearch(system, sign * cost, [total <= limit], values, sizes)
        assert ours.reorders
        where, found, feasible, points = answer(ours, k)
        allowed = sums <= values["regrouped_limit"]
        best, first = chosen(sign * costs, allowed, k)
        assert where == first
        np.testing.assert_allclose(found, best, rtol=1e-12)
        assert (feasible, points) == (int(allowed.sum()), costs.size)

    check()


@pytest.mark.long
def test_numbers_that_round_beside_a_limit_of_the_same_sum(toy):
    """Tenths: the limit is the sum at a point, rounded as it is written."""
    system, total, cost, limit = toy

    @fuzzing(200, 25)
    @given(grids(0.1), st.integers(0, 1439), st.booleans())
    def check(axes, place, strictly):
        values, sizes = axis_shaped(dict(zip((f"regrouped_{n}" for n in NAMES), axes, strict=False)))
        sums = evaluate_outputs(system, [OutputSpec("regrouped_total")], values, sizes)["regrouped_total"]
        values["regrouped_limit"] = float(sums.flat[place])
        ours, plain = questions(system, cost, [total < limit if strictly else total <= limit], values, sizes)
        assert answer(ours, 3) == answer(plain, 3)

    check()


@pytest.mark.long
def test_a_model_on_random_layouts(monkeypatch):
    """Against the whole grid in NumPy, with limits at random quantiles; however little the new order spares."""
    monkeypatch.setattr(module, "SPARED", 9)
    random = np.random.default_rng(5)
    model = TrainingMemoryModel()
    names = ("batch_size", "seq_len", "dp_size", "tp_size", "zero_stage")
    fixed = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8}
    memory, capacity, d, t, b, s = (
        variable_of(n).symbol
        for n in ("total_memory", "memory_capacity", "dp_size", "tp_size", "batch_size", "seq_len")
    )
    price = memory * d * t / (b * s)
    for number in range(tries(200, 15)):
        lengths = (random.permutation(32)[:9] + 1) * 8.0, (random.permutation(64)[:8] + 1) * 128.0
        axes = dict(
            zip(names, (*lengths, 1.0 + np.sort(random.permutation(16)[:4]), [1.0, 2, 4], [0.0, 1, 3]), strict=True)
        )
        binding = bind(model, fixed)
        over, sizes = axis_shaped(axes)
        values = {**binding.values, **over}
        held = evaluate_outputs(binding.system, [OutputSpec("total_memory")], values, sizes)["total_memory"]
        sign = -1 if number % 3 == 0 else 1
        values["memory_capacity"] = float(np.quantile(held, max(0.0, random.uniform(-0.02, 0.5))) * (1 - 1e-6))
        ours = DenseSearch(binding.system, sign * price, [memory <= capacity], values, sizes)
        assert ours.reorders
        where, found, feasible, _ = answer(ours, 5)
        prices = sign * held * over["dp_size"] * over["tp_size"] / (over["batch_size"] * over["seq_len"])
        best, first = chosen(prices, held <= values["memory_capacity"], 5)
        assert where == first
        np.testing.assert_allclose(found, best, rtol=1e-12)
        assert feasible == int((held <= values["memory_capacity"]).sum())


@pytest.mark.long
def test_a_plateau_of_the_objective(pure, system_of):
    """Hundreds of tiles whose smallest values differ by rounding alone: the first points in C order."""
    u, v, w, x = (pure(f"regrouped_{name}") for name in NAMES[:-1])
    flat = pure("regrouped_flat")
    system = system_of({flat: u * v * x / 10 + w * x * u * v / 7 + x})
    values, sizes = axis_shaped({"regrouped_u": np.arange(1, 301) * 0.1, "regrouped_w": [3.0, 1, 2],
                                 "regrouped_x": [0.7, 0.5, 0.3, 0.9]})  # fmt: skip
    values["regrouped_v"] = 1 / values["regrouped_u"]
    where = np.arange(300 * 12).reshape(300, 3, 4)[:, 1, 2]
    for k in (1, 7, 40):
        ours, plain = questions(system, flat, [], values, sizes)
        assert ours.runs * ours.tiling.run > 20
        assert answer(ours, k)[0] == where[:k].tolist()
        assert answer(ours, k) == answer(plain, k)


@pytest.mark.long
def test_a_factor_that_is_zero(toy, pure):
    """What is out stays out where the objective is a multiple of an axis that has zero."""
    system, total, _, limit = toy
    axes = [np.arange(1, 9), np.arange(1, 9), [2.0, 1, 3], np.arange(25.0)[::-1]]
    values, sizes = axis_shaped(dict(zip((f"regrouped_{n}" for n in NAMES), axes, strict=False)))
    sums, _ = by_hand(values, sizes)
    values["regrouped_limit"] = 300.0
    x = np.broadcast_to(values["regrouped_x"], sizes)
    ours = DenseSearch(system, total * pure("regrouped_x"), [total <= limit], values, sizes)
    best, first = chosen(sums * x, sums <= 300, 700)
    assert answer(ours, 700) == (first, best, int((sums <= 300).sum()), sums.size)
    assert best[0] == 0 < best[-1]


@pytest.mark.long
def test_an_objective_of_no_walked_axis(pure, system_of):
    """Every tile has the same values: the first point wins."""
    system = system_of({pure("regrouped_flat"): 2 * pure("regrouped_v")})
    values, sizes = axis_shaped({"regrouped_u": np.arange(1, 3001), "regrouped_v": [3.0, 1, 2]})
    found = smallest(system, pure("regrouped_flat"), [], values, sizes, k=3)
    assert (found.indices.tolist(), found.feasible, found.points) == ([1, 4, 7], 9000, 9000)


def test_other_numbers_find_what_is_compiled(toy):
    system, total, cost, limit = toy
    compiled = []
    for scale in (1, 1.7):
        axes = [np.arange(1, 10) * scale, np.arange(1, 6) * 0.3, np.arange(1, 5) * scale, np.arange(1, 9) * 2.0]
        values, sizes = axis_shaped(dict(zip((f"regrouped_{n}" for n in NAMES), axes, strict=False)))
        values["regrouped_limit"] = 400.0 * scale
        search = DenseSearch(system, cost, [total <= limit], values, sizes)
        assert search.reorders
        answer(search, 1)
        compiled.append(module._tile_loop.cache_info().misses)
    assert compiled[0] == compiled[1]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2 * len(FAMILIES)))
def test_every_model_against_brute_force(seed):
    if searches(seed):
        pytest.skip("every point is a search of its own")
    asked = random_problem(seed, 6000)
    (goal,) = asked.goals
    found = streamed(asked.grid, goal, asked.conditions, 5)
    values = by_brute_force(asked)
    places, expected = first_best(values, 5)
    assert found.indices.tolist() == places
    np.testing.assert_allclose(found.values, expected, rtol=1e-12)
    assert found.feasible == int(np.isfinite(values).sum())
