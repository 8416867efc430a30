"""Derivatives stay finite beside branches that are not taken, forwards and backwards, by us and by JAX."""

import jax
import numpy as np
import pytest
import sympy
from fuzz import rest_long
from on_jax import evaluate

from mlsysim.backends import compiled, pure_function, slopes
from mlsysim.symbolic import ErlangC, Formula, Source, System, nonnegative, variable


@pytest.fixture(scope="module")
def x(pure):
    return pure("guard_x")


@pytest.fixture(scope="module")
def y(pure):
    return pure("guard_y")


@pytest.fixture(scope="module")
def z(pure):
    return pure("guard_z")


def risky(x, y):
    """Expressions that blow up at x = 0 outside their branch, with the slope there."""
    return {
        "quotient": (sympy.Piecewise((y / x, x > 0), (3 * x, True)), 3.0),
        "logarithm": (sympy.Piecewise((sympy.log(x), x > 0), (2 * x, True)), 2.0),
        "root": (sympy.Piecewise((sympy.sqrt(x), x > 0), (x, True)), 1.0),
        "first of three": (sympy.Piecewise((1 / x, x > 1), (x, x > -1), (1 / (x + 5), True)), 1.0),
        "last of three": (sympy.Piecewise((x, x < 1), (1 / x, x < 2), (sympy.log(x), True)), 1.0),
        "nested": (sympy.Piecewise((sympy.Piecewise((y / x, y > 0), (1 / x**2, True)), x > 0), (4 * x, True)), 4.0),
        "inside a product": (y * sympy.Piecewise((1 / x, x > 0), (x, True)), 7.0),
        "quotient of quotients": (sympy.Piecewise((1 / (y / x + 1 / x), x > 0), (x, True)), 1.0),
        "erlang": (sympy.Piecewise((ErlangC(3, x), x > 0), (5 * x, True)), 5.0),
        "logarithm of erlang": (sympy.Piecewise((sympy.log(ErlangC(3, x)), x > 0), (5 * x, True)), 5.0),
        "infinity": (sympy.Piecewise((1 / x, x > 0), (sympy.oo, True)), 0.0),
    }


CASES = list(risky(*sympy.symbols("x y")))
POINT = {"guard_x": 0.0, "guard_y": 7.0}


@pytest.mark.parametrize("case", rest_long(CASES, quick=4))
def test_slopes_are_finite_forwards_and_backwards(x, y, z, system_of, case):
    expression, slope = risky(x, y)[case]
    system = system_of({z: expression})
    found = slopes(system, ["guard_z"], [v.name for v in system.inputs], POINT)
    assert found["guard_x"]["guard_z"] == slope
    assert all(np.isfinite(values["guard_z"]) for values in found.values())
    pure = pure_function(system, ("guard_z",))
    assert jax.grad(lambda at: pure({**POINT, "guard_x": at})["guard_z"])(0.0) == slope


@pytest.mark.long(quick=2)
@pytest.mark.parametrize("case", CASES)
def test_values_are_unchanged(x, y, z, system_of, case):
    system = system_of({z: risky(x, y)[case][0]})
    axis = np.array([-2.0, -1.0, 0.0, 0.25, 1.0, 1.5, 2.0, 2.9])
    found = evaluate(system, ["guard_z"], {"guard_x": axis[:, None], "guard_y": np.array([-7.0, 7.0])})["guard_z"]
    found = np.broadcast_to(found, (len(axis), 2))
    function = compiled(system)
    scalar = [[function({"guard_x": u, "guard_y": v})["guard_z"] for v in (-7.0, 7.0)] for u in axis]
    np.testing.assert_allclose(found, np.array(scalar, float), rtol=1e-14)


def test_at_a_tie_one_argument_counts(x, y, z, system_of):
    """As in the closed form; JAX's own maximum would give each half."""
    for extreme in (sympy.Max(x, y), sympy.Min(x, y)):
        found = slopes(system_of({z: extreme}), ["guard_z"], ["guard_x", "guard_y"], {"guard_x": 2.0, "guard_y": 2.0})
        assert sorted(float(by["guard_z"]) for by in found.values()) == [0, 1]


def test_an_infinite_slope_is_that_of_its_own_input_alone():
    """The root of zero has an infinite slope; what is added to it keeps its own."""
    x, y = (variable(name, name, "count", "A number.", nonnegative()) for name in ("root_x", "root_y"))
    total = variable("root_total", "t", "count", "A sum.", nonnegative())
    formula = Formula(total, sympy.sqrt(x) + 3 * y, title="test", source=Source("gross2008"), no_example="a test")
    found = slopes(System([formula]), ["root_total"], ["root_x", "root_y"], {"root_x": 0.0, "root_y": 2.0})
    assert found["root_y"]["root_total"] == 3
    assert found["root_x"]["root_total"] == np.inf
