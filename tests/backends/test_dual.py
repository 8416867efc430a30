"""Derivatives carried along with values: exact, finite where a branch is not taken, and of second order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mlsysim.backends.dual import Dual, exp, log, maximum, minimum, mod, plain, sqrt, unpacked, where

X, Y = 1.7, 0.6
CASES = {
    "sum": (lambda x, y: 2 + x + y - (1 - x), 2.0, 1.0, 0.0, 0.0, 0.0),
    "product": (lambda x, y: 3 * x * y, 3 * Y, 3 * X, 0.0, 3.0, 0.0),
    "quotient": (lambda x, y: x / y, 1 / Y, -X / Y**2, 0.0, -1 / Y**2, 2 * X / Y**3),
    "inverse": (lambda x, y: 2 / (x * y), -2 / (X**2 * Y), -2 / (X * Y**2), 4 / (X**3 * Y), 2 / (X * Y) ** 2,
                4 / (X * Y**3)),
    "square": (lambda x, y: x**2 - y**1, 2 * X, -1.0, 2.0, 0.0, 0.0),
    "power": (lambda x, y: x**y, Y * X ** (Y - 1), math.log(X) * X**Y, Y * (Y - 1) * X ** (Y - 2),
              X ** (Y - 1) * (1 + Y * math.log(X)), math.log(X) ** 2 * X**Y),
    "power of a number": (lambda x, y: 0.5**x, math.log(0.5) * 0.5**X, 0.0, math.log(0.5) ** 2 * 0.5**X, 0.0, 0.0),
    "functions": (lambda x, y: exp(x) * log(y) + sqrt(x), math.exp(X) * math.log(Y) + 0.5 / math.sqrt(X),
                  math.exp(X) / Y, math.exp(X) * math.log(Y) - 0.25 * X**-1.5, math.exp(X) / Y, -math.exp(X) / Y**2),
    "extremes": (lambda x, y: maximum(x, y) * minimum(x, y), Y, X, 0.0, 1.0, 0.0),
    "branches": (lambda x, y: where(x > 1, x * x, y / np.float64(0.0)), 2 * X, 0.0, 2.0, 0.0, 0.0),
    "remainder": (lambda x, y: mod(x, y), 1.0, -2.0, 0.0, 0.0, 0.0),
    "sizes": (lambda x, y: abs(-x) * abs(y), Y, X, 0.0, 1.0, 0.0),
}  # fmt: skip


def derivatives(function, x=X, y=Y):
    inner = [Dual(np.float64(value), {name: 1.0}) for name, value in (("x", x), ("y", y))]
    with np.errstate(all="ignore"):
        found = function(*(Dual(each, {name: 1.0}, 2) for name, each in zip("xy", inner, strict=True)))
    return unpacked(found)


@pytest.mark.parametrize(("function", "by_x", "by_y", "by_xx", "by_xy", "by_yy"), CASES.values(), ids=CASES)
def test_first_and_second_derivatives_by_hand(function, by_x, by_y, by_xx, by_xy, by_yy):
    found = derivatives(function)
    expected = {"x": by_x, "y": by_y, "xx": by_xx, "xy": by_xy, "yx": by_xy, "yy": by_yy}
    for names, value in expected.items():
        assert found.get(tuple(names), 0.0) == pytest.approx(value, rel=1e-14, abs=1e-15), names


def test_at_a_tie_the_first_argument_gives_the_slope():
    number = Dual(np.float64(2.0), {"x": 1.0})
    assert maximum(number, 2.0).slopes == minimum(number, 2.0).slopes == {"x": 1.0}
    assert unpacked(maximum(2.0, number)) == {(): 2.0}


def test_nothing_times_infinity_is_nothing():
    with np.errstate(divide="ignore", invalid="ignore"):
        root = sqrt(Dual(np.array([0.0, 4.0]), {"x": np.array([0.0, 1.0])}))
    assert root.slopes["x"].tolist() == [0.0, 0.25]


def test_on_arrays_a_slope_stays_over_the_axes_it_depends_on():
    x = Dual(np.array([[1.0], [2.0]]), {"x": 1.0})
    product = x * np.array([[1.0, 2.0, 3.0]])
    assert plain(product).shape == (2, 3)
    assert product.slopes["x"].shape == (1, 3)
    chosen = where(np.array([[True, False, True]]), product, 0.0)
    assert chosen.slopes["x"].tolist() == [[1.0, 0.0, 3.0]]
