"""Ranges of forms hold every value of the compiled function, and are exact where they can be."""

import numpy as np
import pytest
import sympy
from bounds.expressions import (
    INNER,
    LEAST,
    PLANS,
    TABLE,
    UNKNOWN,
    A,
    B,
    Case,
    M,
    N,
    boxes,
    build,
    cases,
    inside,
    ranged,
    whole,
)
from fuzz import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from mlsysim.backends.programs.program import Program
from mlsysim.bounds.ranges import MARGIN, Ranges
from mlsysim.graph.operand import NoOperationError
from mlsysim.symbolic import ErlangC, LeastInteger, NormalCDF, NormalQuantile, Root, SlotsBusy
from mlsysim.symbolic.functions import SlotsBusySlope

FUZZ = fuzzing(200, derandomize=False)
COUNTS = range(1, 13)
LEVEL = sympy.Dummy("l", nonnegative=True)


@pytest.mark.parametrize("thorough", [True, False])
@FUZZ
@given(data=st.data())
def test_every_value_of_a_box_lies_in_its_range(data, thorough):
    case = data.draw(cases())
    low, high = data.draw(boxes(case.sizes))
    translator = case.translator()
    least, greatest = ranged(translator, translator.sum(case.expression), low, high, thorough)
    values, rounding = case.at_all(case.expression), case.rounding()
    for box, there in enumerate(inside(case.points, low, high)):
        known = there & np.isfinite(values)
        assert (values[known] >= least[box] - rounding[known]).all(), (case.expression, case.system, box)
        assert (values[known] <= greatest[box] + rounding[known]).all(), (case.expression, case.system, box)


@pytest.mark.parametrize("thorough", [True, False])
@FUZZ
@given(data=st.data())
def test_a_program_gives_the_same_ranges(data, thorough):
    pytest.importorskip("numba", reason="the machine needs numba")
    case = data.draw(cases())
    low, high = data.draw(boxes(case.sizes))
    translator = case.translator()
    of = translator.sum(case.expression)
    with np.errstate(all="ignore"):
        expected = Ranges(translator.plans, low, high, thorough=thorough).range(of)
        try:
            program = Program.written(
                lambda ends: Ranges(translator.plans, ends[:4], ends[4:], thorough=thorough).range(of), 8
            )
        except NoOperationError:
            return
    found = program(np.concatenate([low, high]))
    np.testing.assert_allclose(found, expected, rtol=1e-14, err_msg=str((case.expression, case.system)))


@pytest.mark.parametrize("of", [TABLE, N], ids=str)
def test_a_comparison_with_a_share_of_what_is_infinite_is_not_sure_to_hold(of):
    """Where no whole number meets a condition it is infinite, and infinite over infinite is no number."""
    k = sympy.Dummy("k", positive=True, integer=True)
    infinite = LeastInteger(k, of <= k * B, 12)
    share = B * (N + sympy.Abs(A + infinite) - 1) / (N + sympy.Abs(A + infinite))
    expression = sympy.Piecewise((share, share <= INNER), (INNER, True))
    case = Case(expression, {A: [0.0, 0.0], B: [0.001], N: [1.0, 1.0]}, [[0.0, 1.0], [0.0, 0.0]], TABLE)
    translator = case.translator()
    _, greatest = ranged(translator, translator.sum(case.expression), case.points, case.points, thorough=True)
    assert (case.at_all(case.expression) <= greatest + 1e-9).all()


@pytest.mark.parametrize("thorough", [True, False])
@pytest.mark.parametrize("undefined", [sympy.sqrt(TABLE), sympy.log(TABLE), ErlangC(N, TABLE) - 2], ids=str)
def test_a_comparison_with_what_is_no_number_is_not_sure_to_hold(undefined, thorough):
    """A root or a logarithm of a negative number compares as false, so that the other case is taken."""
    axes = {A: [1, 2], B: [1.0, 2.0], N: [1, 2]}
    case = Case(sympy.Piecewise((B * undefined, B * undefined <= A), (A, True)), axes, [[-1.0, -2.0], [-3.0, -0.5]])
    least, greatest = whole(case, thorough)
    values = case.at_all(case.expression)
    assert set(values) == {1.0, 2.0}
    assert least <= 1
    assert greatest >= 2


@pytest.mark.parametrize("thorough", [True, False])
@FUZZ
@given(data=st.data(), head=st.sampled_from(["<", "<=", ">", ">=", "==", "!=", "and", "or", "not"]))
def test_what_may_hold_and_what_must(data, thorough, head):
    case = data.draw(cases())
    other = build(data.draw(PLANS))
    compare = {"<": sympy.Lt, "<=": sympy.Le, ">": sympy.Gt, ">=": sympy.Ge, "==": sympy.Eq, "!=": sympy.Ne}
    first = compare.get(head, sympy.Le)(case.expression, other)
    conditions = {"and": sympy.And(first, A <= N), "or": sympy.Or(first, N > B * M), "not": sympy.Not(first)}
    condition = conditions.get(head, first)
    low, high = data.draw(boxes(case.sizes))
    case = Case(condition, {}, 1.0).on(case, case.expression - other)
    translator = case.translator()
    with np.errstate(all="ignore"):
        ranges = Ranges(translator.plans, low, high, thorough=thorough)
        found = [ranges.truth(part) for part in translator.conditions(case.expression)]
    may, must = (np.logical_and.reduce(each) for each in zip(*found, strict=True))
    true = case.at_all(condition, bool)
    clear = np.abs(case.at_all(case.difference)) > case.rounding()
    for box, there in enumerate(inside(case.points, low, high)):
        known = there & clear
        assert may[box] or not true[known].any(), (condition, case.system, box)
        assert not must[box] or true[known].all(), (condition, case.system, box)


@pytest.mark.parametrize("thorough", [True, False])
@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(B * N * M**2 / sympy.sqrt(B), id="product of monotone tables"),
        pytest.param(sympy.ceiling(61 / N) * N * B, id="tables that go up and down"),
        pytest.param((M - 1) / M * B, id="all but one of M"),
        pytest.param(N * B * M * (1 / N), id="factor that cancels its inverse"),
        pytest.param(B * N + M * N - B * N, id="term that is taken away again"),
        pytest.param((B + M) * N / (B + M), id="sum that cancels its inverse"),
        pytest.param(sympy.Piecewise((3 * M, A > 0), (2 * M, True)) / B, id="case of one axis"),
        pytest.param(sympy.Max(N * B, N * M), id="shared factor of a maximum"),
        pytest.param((B + M / INNER) * INNER - M, id="case that cancels its inverse"),
    ],
)
def test_exact(expression, thorough):
    axes = {A: [-1, 0, 2], B: [0.5, 3, 7], N: COUNTS, M: [1, 2, 3, 5]}
    case = Case(expression, axes, inner=sympy.Piecewise((2, N > M), (3, True)))
    values = case.at_all(case.expression)
    np.testing.assert_allclose(whole(case, thorough), (values.min(), values.max()), rtol=4 * MARGIN)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(N * B + sympy.Max(0, M - N * B), id="time that is hidden behind another"),
        pytest.param(N * M + sympy.Piecewise((M - N * M, M > N), (0, True)), id="case that takes a term away"),
        pytest.param(M - sympy.Min(M, N), id="what is left over"),
    ],
)
def test_exact_once_opened(expression):
    """The plain bound of a sum forgets what its terms have in common; a thorough one does not."""
    axes = {B: [0.5, 1, 2], N: [1, 2, 3, 4], M: [1, 2, 3, 5]}
    case = Case(expression, axes)
    least = case.at_all(case.expression).min()
    assert whole(case, thorough=True)[0] == pytest.approx(least, rel=1e-10, abs=1e-10)
    assert whole(case, thorough=False)[0] < least - 0.1


def test_a_ceiling_is_no_more_than_its_argument_and_one():
    case = Case(sympy.ceiling(N * 1000 / M) * M, {N: COUNTS, M: [3, 5, 7]})
    low, high = whole(case)
    values = case.at_all(case.expression)
    assert values.min() - 7 <= low <= values.min()
    assert values.max() <= high <= 12_000 * 7 / 3 + 7


def test_a_quotient_over_a_sum_is_bounded_by_its_inverse():
    """x / (x + y) grows with x: bounded factor by factor it could be anything up to 12 / 1.1."""
    case = Case(N / (N + B), {N: COUNTS, B: [0.1, 1, 50]})
    values = case.at_all(case.expression)
    assert whole(case) == pytest.approx((values.min(), values.max()), rel=1e-10)


@pytest.mark.parametrize("thorough", [True, False])
@pytest.mark.parametrize(
    "expression",
    [
        sympy.Piecewise((B / A, A > 0), (N, True)),
        sympy.Piecewise((B / A, A > 0), (0, True)) * M,
        sympy.Piecewise((sympy.log(A), A > 0), (N * B, True)),
        sympy.Piecewise((N, A <= 0), (sympy.sqrt(A) * M, True)) + B / N,
        sympy.Max(0, A) * sympy.Piecewise((1 / A, A > 0), (5, True)) * B,
        sympy.Piecewise((M / (N - 1), N > 1), (B, True)) - sympy.Piecewise((1 / (N - 1), N > 1), (0, True)),
    ],
)
def test_infinite_and_missing_values_of_branches_not_taken(expression, thorough):
    case = Case(expression, {A: [-2, 0, 0.5, 3], B: [0.25, 4], N: [1, 2, 6], M: [1, 3]})
    values = case.at_all(case.expression)
    assert np.isfinite(values).all()
    low, high = whole(case, thorough)
    scale = np.abs(values).max()
    assert low <= values.min()
    assert values.max() <= high
    assert -2 * scale <= low
    assert high <= 2 * scale


@pytest.mark.parametrize("expression", [B / (N - 1), -B / (N - 1), 1 / (N - 1) + M, TABLE / (N - 1)])
def test_infinite_values(expression):
    case = Case(expression, {A: [1, 2], B: [1, 2], N: [1, 2, 3], M: [1, 2]}, np.full((2, 3), 3.0))
    values = case.at_all(case.expression)
    low, high = whole(case)
    assert low <= values.min()
    assert values.max() <= high


def test_a_condition_in_which_nothing_is_a_rate_of_something_infinite():
    """A table of a condition takes zero times infinity for zero, as the compiled function does."""
    rate = LeastInteger(LEAST, A <= LEAST * B, 12) * sympy.floor(N / 3)
    stated = sympy.Piecewise((1 / A, A > 1), (sympy.oo, True))
    for of, inner in ((rate, 1), (INNER * sympy.floor(N / 3), stated)):
        case = Case(sympy.Piecewise((of, of <= 1), (7, True)), {A: [1], B: [0.001], N: [1, 2]}, inner=inner)
        assert not case.at_all(case.expression).any()
        assert whole(case) == (0, 0)


@pytest.mark.parametrize(
    "expression",
    [
        ErlangC(N, B * M / 3),
        SlotsBusy(N, B, M / 20, 1, 1 + B),
        LeastInteger(LEAST, LEAST * B >= M * N, 40),
        LeastInteger(LEAST, ErlangC(LEAST, B * M) <= sympy.Rational(1, 20), 30) * N,
        sympy.Mod(M * 7, N),
        Root(UNKNOWN, UNKNOWN + sympy.Max(0, UNKNOWN - M) ** 2 / N, 3 * B * M, 0, sympy.oo),
        Root(UNKNOWN, UNKNOWN, 2 * N + B / (1 + UNKNOWN), M, 5 * M) * N,
        pytest.param(
            Root(UNKNOWN, sympy.floor(UNKNOWN * B) - N, M / 2 - sympy.Rational(17, 4), 0, 40), marks=pytest.mark.long
        ),
        pytest.param(
            Root(UNKNOWN, Root(LEVEL, LEVEL * B + LEVEL**2, UNKNOWN * M, 0, UNKNOWN), sympy.sqrt(N), 0, 99),
            marks=pytest.mark.long,
        ),
        NormalCDF((B - 1) * M),
        NormalQuantile(B * M / 16) * N,
    ],
)
@FUZZ
@given(data=st.data())
def test_functions_of_the_field(expression, data):
    case = Case(expression, {B: [0.2, 1, 2.5], N: COUNTS, M: [1, 2, 4, 6]})
    low, high = data.draw(boxes(case.sizes))
    translator = case.translator()
    form = translator.sum(case.expression)
    values = case.at_all(case.expression)
    for thorough in (True, False):
        least, greatest = ranged(translator, form, low, high, thorough)
        for box, there in enumerate(inside(case.points, low, high)):
            assert least[box] <= values[there].min()
            assert values[there].max() <= greatest[box]
            if there.sum() == 1:
                # A remainder next to its divisor, and a count that is met or missed by a hair, may come out either way.
                slack = {sympy.Mod: 13.0, LeastInteger: np.inf, sympy.Mul: 13.0}.get(type(expression), 1e-6)
                if isinstance(expression, Root) and expression.left.has(Root):
                    slack = np.inf  # of a root around a root it is told where it may lie, and no more
                assert greatest[box] - least[box] <= slack or case.points[2, there][0] == 0


def test_a_function_of_which_nothing_is_known_may_be_anything():
    case = Case(SlotsBusySlope(3, N, B, N / 9, 1, B) + M, {B: [1, 2], N: [1, 2], M: [1, 2]})
    assert whole(case) == (-np.inf, np.inf)


def test_more_products_than_are_multiplied_out():
    parts = [
        sympy.Add(*(sympy.Piecewise((k, k < N), (B, k < M), (1, True)) for k in range(j, j + 6))) for j in (1, 2, 3)
    ]
    case = Case(sympy.Mul(*parts), {B: [0.2, 1, 2.5], N: COUNTS, M: COUNTS})
    values = case.at_all(case.expression)
    low, high = whole(case)
    assert 0 <= low <= values.min()
    assert values.max() <= high < 100 * values.max()
