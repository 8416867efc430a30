"""Bounds of boxes and of their halves: by a program, in NumPy, and half by half."""

import numpy as np
import pytest
from bounds.expressions import INNER, A, B, Case, M, boxes, cases
from fuzz import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from mlsysim.bounds import bounding
from mlsysim.bounds.bounding import Bounding
from mlsysim.symbolic import evaluated_at, when

CONDITIONS = (A + B <= 3, B * M >= 2)


def bounded(translator, case, monkeypatch, low, high, loaded):
    """Bounds and truth of boxes and of their halves."""
    monkeypatch.setattr(bounding, "is_loaded", lambda: loaded)
    monkeypatch.setattr(bounding, "worthwhile", lambda *_: False)
    by = Bounding(translator.plans, translator.sum(case.expression), translator.require(CONDITIONS), ())
    return by(low, high), by.halves(low, high)


@fuzzing(60)
@given(data=st.data())
def test_a_program_gives_the_same_bounds_of_boxes_and_halves(data):
    pytest.importorskip("numba", reason="the machine needs numba")
    case = data.draw(cases())
    low, high = data.draw(boxes(case.sizes))
    translator = case.translator(*CONDITIONS)
    with pytest.MonkeyPatch.context() as patch:
        (plain, plain_alive), halves = bounded(translator, case, patch, low, high, loaded=False)
        (quick, quick_alive), quick_halves = bounded(translator, case, patch, low, high, loaded=True)
    assert np.array_equal(plain_alive, quick_alive)
    assert np.array_equal(halves[1], quick_halves[1])
    for one, other, alive in ((plain, quick, plain_alive), (halves[0], quick_halves[0], halves[1])):
        np.testing.assert_allclose(np.where(alive, one, 0.0), np.where(alive, other, 0.0), rtol=1e-13)


@fuzzing(30)
@given(data=st.data())
def test_halves_are_boxes(data):
    case = data.draw(cases())
    low, high = data.draw(boxes(case.sizes))
    translator = case.translator(*CONDITIONS)
    by = Bounding(translator.plans, translator.sum(case.expression), translator.require(CONDITIONS), ())
    bound, alive = by.halves(low, high)
    middle = (low + high) // 2
    for axis in range(4):
        open_axis = high[axis] > low[axis]
        left, right = high.copy(), low.copy()
        left[axis], right[axis] = middle[axis], middle[axis] + 1
        for half, ends in enumerate(((low, left), (right, high))):
            least, may = by._in_numpy(ends[0][:, open_axis], ends[1][:, open_axis], thorough=False)
            assert np.array_equal(alive[half, axis, open_axis], may)
            assert np.array_equal(bound[half, axis, open_axis][may], least[may])
        assert alive[:, axis, ~open_axis].all()
        assert np.isinf(bound[:, axis, ~open_axis]).all()


def test_values_elsewhere_of_the_same_formulas_are_not_mixed(formula):
    """Their steps are bound by the same symbols: at one point a bound is the value."""
    inner = formula(INNER, when(A * M < 4, A * M + 1, 10 * A))
    at = [evaluated_at(INNER, {A: value}, [inner]) for value in (B / M, B, B + M)]
    case = Case(at[0] + 100 * at[1] + 10_000 * at[2], {B: [1.0, 2.0, 3.5], M: [1, 5]})
    translator, points = case.translator(), case.points
    by = Bounding(translator.plans, translator.sum(case.expression), (), ())
    np.testing.assert_allclose(by(points, points)[0], case.at_all(case.expression), rtol=1e-9)
