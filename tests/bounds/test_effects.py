"""How much an objective changes along each axis of a box."""

import numpy as np
import pytest
import sympy
from bounds.expressions import A, B, Case, M, N

from mlsysim.backends.programs import lazily
from mlsysim.bounds import Points
from mlsysim.bounds.effects import effects


def of(expression, low, high, conditions=()):
    """Effects along the four axes in one box of a grid."""
    case = Case(expression, {A: [-1.0, 0.0, 1.0], B: [1.0, 2.0, 4.0], N: range(1, 9), M: [1, 10, 100]})
    points = Points(case.system, (case.expression,), conditions, case.values)
    return effects(points, np.array(low)[:, None], np.array(high)[:, None])[:, 0]


def test_factors_have_the_logarithm_of_their_ratio():
    found = of(B**2 * M / N, [0, 0, 0, 0], [2, 2, 7, 2])
    np.testing.assert_allclose(found, np.log([1, 16, 8, 100]), atol=1e-12)


def test_an_axis_with_one_value_in_the_box_has_none():
    np.testing.assert_allclose(of(B * M * N, [0, 1, 2, 0], [2, 1, 3, 1]), [0, 0, np.log(4 / 3), np.log(10)], atol=1e-12)


def test_what_is_added_matters_by_its_share():
    few, many = (of(B + scale * M, [0, 0, 0, 0], [0, 2, 0, 2]) for scale in (1e-6, 1e6))
    assert few[1] > 1 > few[3] > 0
    assert many[3] > 1 > many[1] > 0


@pytest.mark.parametrize("expression", [sympy.log(A) * B, B / A, A * B])
def test_what_is_no_number_somewhere_is_left_out(expression):
    assert np.isfinite(of(expression, [0, 0, 0, 0], [2, 2, 0, 0])).all()


def test_conditions_are_not_looked_at():
    never = (sympy.Eq(sympy.Mod(N, 9), 8),)
    np.testing.assert_array_equal(of(B * N, [0, 0, 0, 0], [2, 2, 7, 2], never), of(B * N, [0, 0, 0, 0], [2, 2, 7, 2]))


def test_a_program_gives_the_same(monkeypatch):
    pytest.importorskip("numba", reason="the machine needs numba")
    case = Case(
        B**2 * M / N + sympy.Max(A, M / B), {A: [-1.0, 0.0, 1.0], B: [1.0, 2.0, 4.0], N: range(1, 9), M: [1, 9]}
    )
    low, high = np.sort(
        np.random.default_rng(1).integers(0, np.array(case.sizes)[:, None, None], (4, 500, 2))
    ).T.swapaxes(1, 2)
    found = []
    for operations in (0.0, np.inf):
        for threshold in ("BUILDING", "LOADING"):
            monkeypatch.setattr(lazily, threshold, operations)
        found.append(effects(Points(case.system, (case.expression,), (), case.values), low, high))
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-12)
    assert (found[0] > 0).any()
