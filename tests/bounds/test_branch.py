"""Branch and bound against every point: the traps of the method, adversarial objectives, ties and time limits."""

import math
import time

import numpy as np
import pytest
import sympy
from bounds.expressions import INNER, LEAST, UNKNOWN, A, B, Case, M, N, cases
from fuzz import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from mlsysim.backends.budget import Budget, SpentError
from mlsysim.backends.programs import lazily
from mlsysim.backends.ties import band
from mlsysim.bounds import Best, Nondominated, Points, Search, bounding, branch
from mlsysim.symbolic import LeastInteger, Root

COUNTS = np.arange(1, 25)


@pytest.fixture(autouse=True)
def small_leaves(monkeypatch):
    """Grids small enough for brute force are split all the same, and no first guess finds the best."""
    monkeypatch.setattr(Search, "LEAF", 8)
    monkeypatch.setattr(branch, "descend", lambda *_: None)


def solver(case, conditions=()):
    translator = case.translator(*conditions)
    points = Points(case.system, (case.expression,), tuple(conditions), case.values)
    required = translator.require(conditions)
    return Search(translator.plans, [translator.sum(case.expression)], required, points, [points], case.sizes)


def run(search, k, *args, **how):
    """The k best points, and what was looked at."""
    best = Best(k)
    return best, search.run(best, *args, **how)


def every_value(case, conditions=()):
    """The objective at every point, infinite where it is not feasible."""
    values = case.at_all(case.expression)
    for condition in conditions:
        values = np.where(case.at_all(condition, bool), values, np.inf)
    return np.where(np.isfinite(values), values, np.inf)  # an infinite objective is no design


def first_best(values, k):
    """Indices of the k best points; of those that count as equal to the k-th, the first."""
    known = np.flatnonzero(values < np.inf)
    if not len(known):
        return []
    last = np.sort(values[known])[min(k, len(known)) - 1]
    below, above = last - 1e-9 * abs(last), last + 1e-9 * abs(last)
    strict = known[values[known] < below]
    tied = known[(values[known] >= below) & (values[known] <= above)]
    return sorted([*strict, *tied[: k - len(strict)]])


def check(case, conditions=(), ks=(1, 4)):
    """Branch and bound finds what brute force finds, its bounds only rise, and its counts bracket the truth."""
    values = every_value(case, conditions)
    feasible = int((values < np.inf).sum())
    for k in ks:
        best, bounds, brackets = Best(k), [], []

        def report(seen, best=best, bounds=bounds, brackets=brackets):
            bounds.append(seen.bound)
            brackets.append((max(seen.feasible, len(best.values)), case.count - seen.infeasible))

        seen = solver(case, conditions).run(best, report=report)
        expected = first_best(values, k)
        assert seen.proven
        np.testing.assert_allclose(np.sort(best.values), np.sort(values[expected]), rtol=1e-9)
        if seen.first and len(expected):
            found = np.ravel_multi_index(tuple(best.points), case.sizes)
            assert sorted(found) == expected
        assert all(low <= feasible <= high for low, high in brackets)
        if len(expected) == k:
            assert all(bound <= band(values[expected].max())[1] for bound in bounds)
        rising = [bound for bound in bounds if bound < best.threshold - 2e-9 * abs(best.threshold)]
        assert rising == sorted(rising)
    return best, seen


def grid(expression, inner=None, **axes):
    named = {A: "a", B: "b", N: "n", M: "m"}
    return Case(expression, {s: axes[name] for s, name in named.items() if name in axes}, inner=inner)


class TestTraps:
    """Those the method met; each was a wrong answer or a search without end."""

    def test_1_one_division_in_a_ceiling(self):
        """49 * (1/49) is below one: with two roundings a ceiling comes out one too many."""
        steps = sympy.ceiling(B / (N * M))
        case = grid(steps * N * M + steps / 7, b=[49, 98, 147, 245, 2401], n=np.arange(1, 50), m=np.arange(1, 50))
        check(case, [sympy.Eq(steps * N * M, B)])
        best, _ = check(case, [sympy.Eq(steps, 1), B >= 2401])
        n, m = best.points[2, 0] + 1, best.points[3, 0] + 1
        assert n * m == 2401

    def test_2_square_of_a_maximum_with_negative_arguments(self):
        check(grid(sympy.Max(0, A * N - M) ** 2 - B * N, a=[-9, -2, 0.5, 3], b=[1, 40], n=COUNTS, m=COUNTS))
        check(grid(sympy.Max(A, A * N - M) ** 2 + M / B, a=[-9, -2, 0.5, 3], b=[1, 40], n=COUNTS, m=COUNTS))

    def test_3_a_bound_never_falls_and_the_search_goes_on(self):
        """Children bounded worse than their parent would be split for ever."""
        inner = sympy.Max(N * B - M, M - N) / (N + M)
        check(grid(INNER**2 * M + sympy.Max(INNER, B / N), inner, b=[0.3, 1, 2], n=COUNTS, m=COUNTS))
        case = grid(sympy.Abs(N * M - 331) / (1 + sympy.Mod(N * 7, M)), n=range(1, 60), m=range(1, 60))
        check(case)

    def test_4_zero_times_infinity(self):
        """A bound that is not a number must not rule anything out."""
        hidden = sympy.Piecewise((B / A, A > 0), (0, True))
        check(grid(hidden * M - N * hidden + M / N, a=[0, 0.5, 2], b=[1, 3], n=COUNTS, m=COUNTS))
        check(grid(A * B / (N - 1) + M, a=[0, 1, 2], b=[1, 3], n=COUNTS, m=COUNTS))
        check(grid(M / (N - 1) - B / (N - 1), b=[1, 3], n=COUNTS, m=COUNTS), [A / (N - 1) >= 0])

    def test_5_quotients_of_cases(self):
        pieces = sympy.Piecewise((N * B, N > M), (M + B, True))
        case = grid(pieces / INNER + N / M, pieces, b=[0.5, 2, 9], n=COUNTS, m=COUNTS)
        check(case, [INNER >= 3])
        rates = sympy.Piecewise((1, A < 0), (2, A < 1), (4, True))
        check(grid(M / rates + rates * N * sympy.ceiling(50 / (N * rates)), a=[-1, 0, 3], n=COUNTS, m=COUNTS))

    def test_6_an_axis_the_objective_ignores_and_constraints_dispute(self):
        """No corner of the ignored axis is right for both constraints."""
        check(grid(B + N, a=np.arange(-12, 13), b=[1, 2, 3], n=COUNTS, m=COUNTS), [A + M >= 14, A * M <= 30])
        check(grid(B / N, n=COUNTS, m=range(1, 200), b=[1, 2]), [N * M >= 300, N * M <= 301, M <= 60 + N])


def hashed(x, y, multiplier, modulus):
    return sympy.Mod(multiplier * x + y * x + 17 * y, modulus)


@pytest.mark.parametrize(
    ("expression", "conditions"),
    [
        pytest.param(hashed(N, M, 7919, 1009) + hashed(M, N, 104729, 997), (), id="two hashes"),
        pytest.param(hashed(N, M, 7919, 1009), [N < M], id="hash"),
        pytest.param(sympy.Abs(N * M - sympy.Rational("3141.59")), (), id="product near a number"),
        pytest.param(N + sympy.Rational("1.0001") / N + 1 / M, (), id="nearly flat"),
        pytest.param(-N * M, [sympy.Eq(N + M, 77)], id="equality"),
        pytest.param(N + 3 * M, [sympy.Eq(sympy.Mod(N * M, 360), 0), sympy.Eq(sympy.Mod(N, M), 0)], id="divisibility"),
        pytest.param(N + M, [sympy.Eq(sympy.Mod(5040, N * M), 0), N * M > 700], id="divisors"),
        pytest.param((N - M) ** 2 + N, [sympy.Or(N * M > 5000, sympy.And(N > 70, sympy.Ne(M, 60)))], id="logic"),
        pytest.param(sympy.Mod(sympy.Mod(N * M, 391) * N, 211), [N * M > 100], id="nested remainders"),
        pytest.param(LeastInteger(LEAST, LEAST**2 * N >= M * 80, 64) * N + M / 80, (), id="least integer"),
        pytest.param(M / 9 - Root(UNKNOWN, UNKNOWN**2 / N + UNKNOWN, M + N / 9, 0, 30), [N * M > 90], id="root"),
    ],
)
def test_unstructured_objectives_and_constraints(expression, conditions):
    check(grid(expression, n=range(1, 81), m=range(1, 81)), conditions)


@fuzzing(60, derandomize=False)
@given(cases(), st.integers(1, 6), st.sampled_from([None, 0.2, 0.7]))
def test_random_objectives(case, k, quantile):
    values = case.at_all(case.expression)
    known = values[np.isfinite(values)]
    clear = case.rounding() < 1e-10 * np.abs(values)
    if not len(known) or not clear[np.isfinite(values)].all():
        return
    conditions = []
    if quantile is not None:
        limit = float(np.quantile(case.at_all(A + B * N), quantile))
        conditions = [sympy.Or(limit <= A + B * N, M > 5)]
    check(case, conditions, (k,))


@pytest.mark.parametrize("conditions", [[N * M > 999], [sympy.Eq(N, M + 100)], [sympy.false], [B < 0]])
def test_nothing_is_feasible(conditions):
    best, seen = check(grid(N + M, n=COUNTS, m=COUNTS, b=[1, 2]), conditions)
    assert not len(best.values)
    assert seen.first
    assert seen.bound == math.inf
    assert seen.feasible == 0


@pytest.mark.parametrize("axes", [{"n": [7]}, {}, {"n": range(1, 5000)}, {"n": [3], "m": range(1, 40)}])
def test_axes_of_one_value_and_grids_of_one_axis(axes):
    check(grid((N - 2000) ** 2 + M, **axes), ks=(1, 3))


@pytest.mark.parametrize("k", [1, 2, 7, 40, 100_000])
def test_ties_go_to_the_first_points(k):
    """A plateau: hundreds of points share every value."""
    case = grid(sympy.ceiling(N * M / 50), n=COUNTS, m=COUNTS, b=[1, 2, 3])
    values = every_value(case)
    best, seen = run(solver(case), k)
    assert seen.proven
    assert seen.first
    expected = first_best(values, k)
    assert len(best.values) == min(k, case.count)
    assert sorted(np.ravel_multi_index(tuple(best.points), case.sizes)) == expected


def test_more_points_asked_for_than_are_feasible():
    case = grid(N * M, n=COUNTS, m=COUNTS)
    best, seen = check(case, [N * M < 8], ks=(50,))
    assert len(best.values) == int((every_value(case, [N * M < 8]) < np.inf).sum()) == 16
    assert seen.infeasible == case.count - 16


def test_values_that_differ_by_less_than_a_tie_do_not_drift():
    """Each value counts as equal to the next one, but not to those further on."""
    case = grid(1 + sympy.Rational(1, 10**10) * (5000 - N), n=range(1, 5001))
    best, seen = run(solver(case), 1)
    assert seen.proven
    assert every_value(case)[best.points[2, 0]] <= 1 + 1.001e-9


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("conditions", [[], [sympy.Eq(sympy.Mod(N * M, 7), 3)]])
def test_a_time_limit_leaves_an_honest_bound(seconds, conditions):
    case = grid(hashed(N, M, 7919, 10007) + hashed(M, N, 104729, 9973) + 50, n=range(1, 301), m=range(1, 301))
    values = every_value(case, conditions)
    best, seen = run(solver(case, conditions), 1, Budget(deadline=time.perf_counter() + seconds))
    assert seen.bound <= values.min() * (1 + 1e-9)
    assert seen.feasible <= (values < np.inf).sum() <= case.count - seen.infeasible
    if len(best.values):
        assert values.min() <= best.values[0]
        assert best.values[0] == values[np.ravel_multi_index(tuple(best.points[:, 0]), case.sizes)]
    if not seconds:
        assert not seen.proven


@pytest.mark.parametrize("conditions", [[], [sympy.Eq(sympy.Mod(N * M, 7), 3)], [N * B <= 40, M + N >= 12]], ids=str)
def test_programs_change_nothing(conditions, monkeypatch):
    """The same boxes, points and answers, whether NumPy bounds and evaluates or programs do."""
    pytest.importorskip("numba", reason="the machine needs numba")
    of = (hashed(N, M, 7919, 10007) + 900) * B + sympy.ceiling(5000 / (N * M)) * M + sympy.Max(B * M, 30 * N / M)
    case = grid(of, b=np.linspace(1, 2, 20), n=range(1, 61), m=range(1, 61))
    found = []
    for operations in (math.inf, 0.0):
        for threshold in ("BUILDING", "LOADING"):
            monkeypatch.setattr(lazily, threshold, operations)
        monkeypatch.setattr(bounding, "is_loaded", lambda: False)
        best, seen = run(solver(case, conditions), 4)
        found.append((best.values.tolist(), best.points.tolist(), seen))
    assert found[0] == found[1]
    assert found[0][2].boxes > 1000


@pytest.mark.parametrize("operations", [3e6, 8e6, 2e7, math.inf])
def test_programs_end_a_budget_in_the_same_round(operations, monkeypatch):
    """What is counted hangs neither on the machine nor on what it did before."""
    pytest.importorskip("numba", reason="the machine needs numba")
    of = (hashed(N, M, 7919, 10007) + 900) * B + sympy.ceiling(5000 / (N * M)) * M + sympy.Max(B * M, 30 * N / M)
    case = grid(of, b=np.linspace(1, 2, 20), n=range(1, 61), m=range(1, 61))
    conditions = [sympy.Eq(sympy.Mod(N * M, 6), 0), N * B <= 100, M + N >= 12]
    found = []
    for threshold, loaded in ((math.inf, False), (0.0, False), (1e7, False), (math.inf, True)):
        for name in ("BUILDING", "LOADING"):
            monkeypatch.setattr(lazily, name, threshold)
        monkeypatch.setattr(bounding, "is_loaded", lambda loaded=loaded: loaded)
        one, budget = solver(case, conditions), Budget(operations)
        for _ in range(2):  # a second time all plans and programs are there
            budget = Budget(operations)
            best, seen = run(one, 4, budget)
            found.append((best.values.tolist(), best.points.tolist(), seen, pytest.approx(budget.done, rel=1e-9)))
    assert all(each == found[0] for each in found[1:])


def test_a_search_that_ends_while_it_looks_for_a_first_point_has_a_bound(monkeypatch):
    def no_time(*_):
        raise SpentError

    monkeypatch.setattr(branch, "descend", no_time)
    case = grid(N / M + B * M + 3, b=[1, 2], n=COUNTS, m=COUNTS)
    _, seen = run(solver(case), 1)
    assert not seen.proven
    assert 3 < seen.bound <= every_value(case).min()


def test_bounds_prune():
    """A sum of monotone terms on 1e14 points takes some boxes, not a walk."""
    case = grid((10**6 / N + M) * B + N, b=np.linspace(1, 2, 10**4), n=range(1, 10**5 + 1), m=range(1, 10**5 + 1))
    best, seen = run(solver(case, [N * M >= 10**5]), 1)
    assert seen.proven
    assert seen.boxes < 200_000
    n = np.arange(1, 10**5 + 1)
    assert best.values[0] == pytest.approx((10**6 / n + -(-(10**5) // n) + n).min(), rel=1e-12)


class TestBest:
    def offered(self, k, *batches):
        best = Best(k)
        for values, places in batches:
            best.offer(np.array([values], float), np.array([places, places]))
        return best

    def test_a_point_offered_twice_is_one(self):
        best = self.offered(3, ([5, 5, 4, 4], [9, 9, 2, 2]), ([5, 6], [9, 7]), ([4, 8], [2, 1]))
        assert best.values.tolist() == [4, 5, 6]
        assert best.points[0].tolist() == [2, 9, 7]
        assert best.threshold == 6

    def test_fewer_than_asked_for(self):
        best = self.offered(5, ([3, 1], [0, 1]))
        assert best.values.tolist() == [1, 3]
        assert best.threshold == math.inf

    @given(
        st.lists(st.tuples(st.integers(0, 6), st.integers(0, 30)), min_size=1, max_size=60),
        st.integers(1, 6),
        st.data(),
    )
    def test_in_any_order_and_any_batches(self, offers, k, data):
        by_place = {place: float(value) for value, place in offers}
        offers = data.draw(st.permutations([(by_place[place], place) for _, place in offers]))
        cut = data.draw(st.integers(0, len(offers)))
        batches = [list(zip(*part, strict=True)) for part in (offers[:cut], offers[cut:]) if part]
        best = self.offered(k, *batches)
        expected = sorted((value, place) for place, value in by_place.items())[:k]
        assert list(zip(best.values.tolist(), best.points[0].tolist(), strict=True)) == expected

    def test_what_matters(self):
        best = self.offered(2, ([1, 2, 2], [4, 6, 8]))
        low = np.array([[5, 7, 0, 0], [5, 7, 0, 0]])
        lower = np.array([[2.0, 2.0, 2.1, 1.9]])
        assert best.matters(lower, lambda places: low[:, places]).tolist() == [True, False, False, True]
        assert best.key(lower, lambda places: low[:, places]).tolist() == [2.0, np.inf, np.inf, 1.9]
        nothing = Best(1).matters(np.array([[3.0, np.inf, -np.inf]]), lambda places: low[:, places])
        assert nothing.tolist() == [True, False, True]


def unbeaten(rows):
    """Places of rows that no other beats, and of equal rows the first."""
    return [
        place
        for place, row in enumerate(rows)
        if np.isfinite(row).all()
        and not any(
            (other <= row).all() and ((other < row).any() or before < place)
            for before, other in enumerate(rows)
            if before != place
        )
    ]


@pytest.mark.parametrize("conditions", [[], [N * M >= 30, sympy.Eq(sympy.Mod(N, 2), 0)], [N * M > 999]], ids=str)
@pytest.mark.parametrize(
    "others",
    [[N + M], [sympy.ceiling(N * M / 40)], [-N, sympy.Max(M, N / 2)], [sympy.Abs(N - M), hashed(N, M, 7919, 101)]],
    ids=str,
)
def test_the_same_search_finds_what_no_point_beats(others, conditions):
    goals = [100 / N + B * M, *others]
    case = grid(goals[0], b=[1, 2], n=COUNTS, m=COUNTS)
    translator = case.translator(*others, *conditions)
    alone = [Points(case.system, (goal,), (), case.values) for goal in goals]
    evaluate = Points(case.system, tuple(goals), tuple(conditions), case.values)
    sums, required = [translator.sum(goal) for goal in goals], translator.require(conditions)
    front = Nondominated(case.sizes, len(goals))
    seen = Search(translator.plans, sums, required, evaluate, alone, case.sizes).run(front)
    rows = np.array([case.at_all(goal) for goal in goals]).T
    good = np.logical_and.reduce([case.at_all(condition, bool) for condition in conditions], axis=0)
    expected = unbeaten(np.where(np.broadcast_to(good, len(rows))[:, None], rows, np.inf))
    assert sorted(front.indices.tolist()) == expected
    assert (seen.proven, seen.first, abs(seen.bound)) == (True, True, 0.0)
    assert seen.feasible <= int(np.broadcast_to(good, len(rows)).sum()) <= case.count - seen.infeasible


class TestNondominated:
    LOW = np.array([[0, 2, 5, 9]])

    def front(self):
        front = Nondominated((10,), 2)
        front.offer(np.array([[1, 3, 2, 3], [5, 1, 5, 2.0]]), np.array([[4, 4, 1, 2]]))
        return front

    def test_of_points_alike_in_every_objective_the_first_stays(self):
        front = self.front()
        assert front.values.tolist() == [[1, 5], [3, 1]]
        front.offer(np.array([[1.0, 3.0], [5.0, 1 + 1e-12]]), np.array([[3, 7]]))
        assert front.values.tolist() == [[1, 5], [3, 1]]
        assert front.indices.tolist() == [3, 4]

    def test_what_matters_and_what_comes_first(self):
        """A better point may be in the first box, an earlier equal one in the second, and nothing in the others."""
        front, lower = self.front(), np.array([[1.0, 1.0, 1.0, 4.0], [2.0, 5.0, 5.0, 1.0]])
        assert front.matters(lower, lambda places: self.LOW[:, places]).tolist() == [True, True, False, False]
        key = front.key(lower, lambda places: self.LOW[:, places])
        assert key[0] < front.settled == key[1]
        assert key[2:].tolist() == [np.inf, np.inf]
