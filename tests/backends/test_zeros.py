"""Nothing times infinity is nothing, in every backend, where a formula states the infinity."""

import math

import jax
import numpy as np
import pytest
import sympy

from mlsysim.backends import compiled, pure_function, slopes
from mlsysim.symbolic import LeastInteger, Root, evaluated_at

BACKENDS = ("numpy", "vector", "jax")
INF = math.inf


@pytest.fixture(scope="module")
def names(pure):
    return {name: pure(f"zero_{name}") for name in ("a", "b", "c", "d", "x", "y", "z", "n")}


def found(system, values, backend, outputs=None, expressions=()):
    """Outputs of a system at one point, computed by one backend."""
    function = compiled(system, outputs, backend, expressions)
    given = {name: np.full(3, value) for name, value in values.items()} if backend != "numpy" else values
    with jax.enable_x64(True):
        answer = function(given)
    return {name: float(np.ravel(value)[0]) for name, value in answer.items()}


def stated(a, b):
    """A quantity that is infinite where ``a`` is not positive."""
    return sympy.Piecewise((b, a > 0), (sympy.oo, True))


@pytest.mark.parametrize("backend", BACKENDS)
class TestEveryBackend:
    def test_zero_times_a_stated_infinity_is_zero(self, names, system_of, backend):
        a, b, c, x, y = (names[name] for name in "abcxy")
        system = system_of({x: stated(a, b), y: 3 * c * x})
        for rate, expected in ((0.0, 0.0), (2.0, INF), (-2.0, -INF)):
            assert found(system, {"zero_a": 0.0, "zero_b": 5.0, "zero_c": rate}, backend)["zero_y"] == expected
        for rate in (0.0, 2.0):
            assert found(system, {"zero_a": 1.0, "zero_b": 5.0, "zero_c": rate}, backend)["zero_y"] == 15 * rate

    def test_infinity_is_followed_from_formula_to_formula(self, names, system_of, backend):
        a, b, c, x, y, z = (names[name] for name in "abcxyz")
        system = system_of({x: stated(a, b) + 1, y: sympy.Max(x, b) ** 2, z: c * (y + 1) / b})
        assert found(system, {"zero_a": 0.0, "zero_b": 5.0, "zero_c": 0.0}, backend)["zero_z"] == 0
        assert found(system, {"zero_a": 0.0, "zero_b": 5.0, "zero_c": 1.0}, backend)["zero_z"] == INF
        assert found(system, {"zero_a": 1.0, "zero_b": 5.0, "zero_c": 1.0}, backend)["zero_z"] == pytest.approx(37 / 5)

    def test_a_least_integer_that_does_not_exist(self, names, system_of, backend):
        a, c, x, y, n = (names[name] for name in "acxyn")
        system = system_of({x: LeastInteger(n, n * a >= 1, 8), y: c * x})
        assert found(system, {"zero_a": 0.0, "zero_c": 0.0}, backend) == {"zero_x": INF, "zero_y": 0.0}
        assert found(system, {"zero_a": 0.25, "zero_c": 0.5}, backend) == {"zero_x": 4.0, "zero_y": 2.0}

    @pytest.mark.long(quick=2)
    def test_what_a_variable_would_be_elsewhere_is_what_it_is_there(self, names, system_of, formula, backend):
        a, b, c, d, x, y, z = (names[name] for name in "abcdxyz")
        steps = (formula(x, stated(a, b)), formula(y, c * x))
        inside = evaluated_at(y, {a: d, c: c - 2}, steps)  # the infinity is of a step
        outside = evaluated_at(y, {c: c - 2}, steps)  # it is of what does not move
        number = sympy.Symbol("number")
        system = system_of({x: stated(a, b), y: inside + outside, z: Root(number, number + inside, 3, 0, 9)})
        given = {"zero_a": 0.0, "zero_b": 5.0, "zero_d": -1.0}
        at_rest = found(system, given | {"zero_c": 2.0}, backend)
        assert (at_rest["zero_y"], at_rest["zero_z"]) == (0, pytest.approx(3, rel=1e-12))
        assert found(system, given | {"zero_c": 3.0}, backend)["zero_y"] == INF
        finite = found(system, given | {"zero_c": 2.1, "zero_a": 1.0, "zero_d": 1.0}, backend)
        assert (finite["zero_y"], finite["zero_z"]) == (pytest.approx(1.0), pytest.approx(2.5))

    def test_several_factors_may_be_zero_or_infinite(self, names, system_of, backend):
        a, b, c, d, x, y, z = (names[name] for name in "abcdxyz")
        system = system_of({x: stated(a, c), y: stated(b, d), z: x * y * c * d})
        for (a_, b_, c_, d_), expected in {
            (0, 0, 0, 0): 0, (0, 0, 2, 0): 0, (0, 1, 2, 0): 0, (1, 0, 0, 2): 0, (0, 0, 2, 3): INF, (1, 1, 2, 3): 36,
        }.items():  # fmt: skip
            values = {"zero_a": a_, "zero_b": b_, "zero_c": c_, "zero_d": d_}
            assert found(system, {k: float(v) for k, v in values.items()}, backend)["zero_z"] == expected

    def test_an_expression_asked_of_the_system(self, names, system_of, backend):
        a, b, c, x = (names[name] for name in "abcx")
        system = system_of({x: stated(a, b)})
        asked = (("asked", c * x),)
        values = {"zero_a": 0.0, "zero_b": 5.0, "zero_c": 0.0}
        assert found(system, values, backend, None, asked) == {"asked": 0.0}

    def test_in_a_branch_in_a_condition_and_under_a_maximum(self, names, system_of, backend):
        a, b, c, x, y = (names[name] for name in "abcxy")
        inside = sympy.Max(1, sympy.Piecewise((c * x + 4, c * x < 1), (7, True)))
        system = system_of({x: stated(a, b), y: inside})
        assert found(system, {"zero_a": 0.0, "zero_b": 5.0, "zero_c": 0.0}, backend)["zero_y"] == 4
        assert found(system, {"zero_a": 0.0, "zero_b": 5.0, "zero_c": 1.0}, backend)["zero_y"] == 7

    def test_zero_over_zero_stays_undefined(self, names, system_of, backend):
        a, x = names["a"], names["x"]
        system = system_of({x: (1 - a**3) / (1 - a)})
        assert math.isnan(found(system, {"zero_a": 1.0}, backend)["zero_x"])

    def test_what_is_no_number_does_not_become_one(self, names, system_of, backend):
        a, b, c, x, y = (names[name] for name in "abcxy")
        system = system_of({x: stated(a, b / c), y: x * c})
        assert math.isnan(found(system, {"zero_a": 1.0, "zero_b": 0.0, "zero_c": 0.0}, backend)["zero_y"])

    def test_infinity_over_infinity_stays_undefined(self, names, system_of, backend):
        a, b, x, y, z = (names[name] for name in "abxyz")
        system = system_of({x: stated(a, b), y: stated(a, b + 1), z: x / y})
        assert math.isnan(found(system, {"zero_a": 0.0, "zero_b": 5.0}, backend)["zero_z"])


def test_finite_products_have_the_same_bits(names, system_of):
    """What may be infinite stands where it stood in the product."""
    a, b, c, d, x, y = (names[name] for name in "abcdxy")
    plain = system_of({y: a * b * c * d * x})
    guarded = system_of({x: stated(a, d), y: a * b * c * d * x})
    assert "lawful" in compiled(guarded).source
    rng = np.random.default_rng(7)
    for values in rng.uniform(0.1, 3, (200, 4)):
        given = dict(zip(("zero_a", "zero_b", "zero_c", "zero_d"), values, strict=True))
        expected = found(plain, {**given, "zero_x": given["zero_d"]}, "numpy")["zero_y"]
        assert found(guarded, given, "numpy")["zero_y"] == expected


def test_source_names_it_only_where_something_may_be_infinite(names, system_of):
    a, b, c, x, y = (names[name] for name in "abcxy")
    assert "lawful(zero_c, zero_x)" in compiled(system_of({x: stated(a, b), y: c * x})).source
    assert "lawful" not in compiled(system_of({x: stated(a, b), y: 3 * x})).source
    assert "lawful" not in compiled(system_of({x: sympy.Min(stated(a, b), 9), y: c * x})).source
    assert "lawful" not in compiled(system_of({x: 1 / a, y: c * x})).source


def test_slopes_at_zero_are_finite(names, system_of):
    a, b, c, x, y = (names[name] for name in "abcxy")
    system = system_of({x: stated(a, b) * (1 + b), y: c * x})
    for at, by_rate in ((0.0, 0.0), (1.0, 30.0)):
        point = {"zero_a": at, "zero_b": 5.0, "zero_c": 0.0}
        found = slopes(system, ["zero_y"], [v.name for v in system.inputs], point)
        assert {name: value["zero_y"] for name, value in found.items()} == {"zero_a": 0, "zero_b": 0, "zero_c": by_rate}
        pure = pure_function(system, ("zero_y",))
        assert jax.grad(lambda c, point=point, pure=pure: pure({**point, "zero_c": c})["zero_y"])(0.0) == by_rate
