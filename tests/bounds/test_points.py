"""Points by a program of the formulas' graph, and in NumPy."""

import numpy as np
import pytest
import sympy
from bounds.expressions import A, B, M, N, boxes, cases
from fuzz import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from mlsysim.backends.programs import lazily
from mlsysim.backends.programs.program import Program
from mlsysim.bounds import Points
from mlsysim.symbolic import System

pytest.importorskip("numba", reason="the machine needs numba")


def by_either(monkeypatch, evaluate):
    """What is evaluated in NumPy, and by a program where there is one."""
    found = []
    for operations in (np.inf, 0.0):
        for threshold in ("BUILDING", "LOADING"):
            monkeypatch.setattr(lazily, threshold, operations)
        found.append(evaluate())
    return found


@fuzzing(60)
@given(data=st.data())
def test_a_program_gives_the_same_values_and_conditions(data):
    case = data.draw(cases())
    low, _ = data.draw(boxes(case.sizes))
    with pytest.MonkeyPatch.context() as patch:
        (values, good), (found, accepted) = by_either(
            patch,
            lambda: Points(case.system, (case.expression,), (A + B <= 3, case.expression > B), case.values)(low),
        )
    assert np.array_equal(good, accepted)
    np.testing.assert_allclose(found, values, rtol=1e-14)


def test_a_program_gives_the_same_values_after_moves(monkeypatch):
    sizes = (5, 6, 7)
    axes = np.meshgrid(np.linspace(1, 2, 5), np.arange(1.0, 7), np.arange(2.0, 9), indexing="ij", sparse=True)
    values = dict(zip((B.name, N.name, M.name), axes, strict=True))
    of = sympy.ceiling(B * N / M) + sympy.sqrt(M) * sympy.Max(B * M, N)
    points = np.array(np.unravel_index(np.arange(5 * 6 * 7), sizes))
    places = (points + 1) % np.array(sizes)[:, None]
    expected, found = by_either(monkeypatch, lambda: Points(System(()), (of,), (), values).changed(points, places))
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_what_one_axis_decides_is_a_table():
    """It is computed once per value of the axis and not once per point; so is what only one side of a case needs."""
    b, n = np.linspace(1, 2, 5)[:, None], np.arange(1.0, 7)[None]
    price = sympy.Piecewise((sympy.sqrt(B) * M + sympy.exp(B), M >= 2), (B * N, True))
    condition = price * (sympy.ceiling(N / 4) + N) <= 30
    values = {B.name: b, N.name: n, M.name: np.array(3.0)}
    (check,) = Points(System(()), (N,), (condition,), values).checks
    program = Program.written(lambda places: [check.built(places)], 2)
    assert len(program) == 4  # two look-ups, a product, a comparison
    places = np.array(np.unravel_index(np.arange(30), (5, 6)))
    assert np.array_equal(program(places)[0], check.accepts(places))
