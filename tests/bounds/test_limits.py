"""Conditions that hold a quantity to a number: taken out of what is required, and met by any number afterwards."""

import operator

import numpy as np
import pytest
import sympy
from bounds.expressions import INNER, A, B, Case, M, N, cases
from fuzz import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from mlsysim.bounds import Best, Limited, Points, Search, bounding, inputs_of, split_limits

COMPARED = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt}
#: What is held to a number beside an objective.
HELD = (sympy.Max(A, N) * B + M, A * N - M * B, sympy.ceiling(N * M / B) - A)


def system_case():
    axes = {A: [1.0, 2.0, 5.0], B: [0.5, 3.0], N: [1, 2, 3, 4], M: [1, 7]}
    return Case(INNER + N, axes, inner=A * B * N)


def required(case, *conditions):
    values = {name: np.asarray(value, float) for name, value in case.values.items()}
    return split_limits(case.system, conditions, values)


class TestParted:
    def test_a_variable_that_is_held_to_a_number(self):
        case = system_case()
        others, numbers = required(case, sympy.And(INNER <= 7, B <= N), N >= 2)
        assert set(others) == {B <= N, N >= 2}
        assert numbers == {Limited(INNER, "<="): 7.0}

    @pytest.mark.parametrize("turned", [False, True])
    @pytest.mark.parametrize("relation", COMPARED)
    def test_every_relation_from_either_side(self, relation, turned):
        one = {"<=": sympy.Le, "<": sympy.Lt, ">=": sympy.Ge, ">": sympy.Gt}
        back = {"<=": sympy.Ge, "<": sympy.Gt, ">=": sympy.Le, ">": sympy.Lt}
        sides = (sympy.Integer(7), INNER) if turned else (INNER, sympy.Integer(7))
        condition = (back if turned else one)[relation](*sides, evaluate=False)
        assert required(system_case(), condition) == ((), {Limited(INNER, relation): 7.0})

    def test_a_number_may_be_computed_from_inputs_that_are_no_axes(self):
        case = system_case()
        case.values[M.name] = np.full((1, 1, 1, 1), 7.0)
        _, numbers = required(case, 0.9 * M >= INNER)
        assert numbers == {Limited(INNER, "<="): 0.9 * 7.0}

    @pytest.mark.parametrize(
        "condition",
        [INNER <= M, sympy.Eq(INNER, 7), A * B * N <= 7, sympy.Or(INNER <= 7, A <= 2), sympy.Ne(INNER, 7)],
        ids=str,
    )
    def test_all_else_stays_what_it_is(self, condition):
        assert required(system_case(), condition) == ((condition,), {})

    def test_two_axes_are_left_to_a_table(self):
        case = Case(INNER, {A: [1.0, 2.0], N: [1, 2]}, inner=A * N)
        assert required(case, INNER <= 2) == ((INNER <= 2,), {})

    def test_a_second_number_for_the_same_stays_a_condition(self):
        case = system_case()
        others, numbers = required(case, INNER <= 7, INNER <= 5)
        assert others == (INNER <= 5,)
        assert numbers == {Limited(INNER, "<="): 7.0}

    def test_inputs_behind_formulas(self):
        assert inputs_of(system_case().system, [INNER + M]) == {A.name, B.name, N.name, M.name}


def searching(case, limits):
    translator = case.translator(*(limited.quantity for limited in limits))
    points = Points(case.system, (case.expression,), (), case.values, limits)
    held = {limited: translator.sum(limited.quantity, limited.sign) for limited in limits}
    return Search(translator.plans, [translator.sum(case.expression)], (), points, [points], case.sizes, held)


@pytest.mark.parametrize("loaded", [False, True], ids=["in NumPy", "by programs"])
@fuzzing(40)
@given(data=st.data())
def test_any_number_gives_what_brute_force_gives_by_the_same_bounds(loaded, data):
    if loaded:
        pytest.importorskip("numba", reason="the machine needs numba")
    case, relation = data.draw(cases()), data.draw(st.sampled_from(sorted(COMPARED)))
    limited = Limited(data.draw(st.sampled_from(HELD)), relation)
    objective, held = case.at_all(case.expression), case.at_all(limited.quantity)
    numbers = data.draw(st.lists(st.sampled_from(sorted(set(held.tolist()))), min_size=1, max_size=3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Search, "LEAF", 8)
        patch.setattr(bounding, "is_loaded", lambda: loaded)
        patch.setattr(bounding, "worthwhile", lambda *_: False)
        search = searching(case, {limited: numbers[0]})
        for number in numbers:
            search.limit({limited: number})
            best = Best(1)
            seen = search.run(best)
            values = np.where(COMPARED[relation](held, number) & np.isfinite(objective), objective, np.inf)
            assert seen.proven
            if values.min() < np.inf:
                np.testing.assert_allclose(best.values, values.min(), rtol=1e-9)
            else:
                assert not len(best.values)


def test_a_limit_that_is_no_number_is_met_nowhere():
    case = system_case()
    search = searching(case, {Limited(INNER, "<="): float("nan")})
    best = Best(1)
    seen = search.run(best)
    assert seen.proven
    assert not len(best.values)
