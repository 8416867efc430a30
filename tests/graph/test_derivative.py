"""Derivatives as graphs, against those by hand: forward, in reverse, along a direction; first and second order."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy

from mlsysim.backends import of_graph
from mlsysim.graph import lowered
from mlsysim.graph.passes import along
from mlsysim.graph.passes.derivative import derivative, forward, reverse
from mlsysim.symbolic import System

x, y = sympy.symbols("x y")
X, Y = 1.7, 0.6
CASES = {
    "sum": (2 + x + y - (1 - x), 2.0, 1.0, 0.0, 0.0, 0.0),
    "product": (3 * x * y, 3 * Y, 3 * X, 0.0, 3.0, 0.0),
    "quotient": (x / y, 1 / Y, -X / Y**2, 0.0, -1 / Y**2, 2 * X / Y**3),
    "inverse": (2 / (x * y), -2 / (X**2 * Y), -2 / (X * Y**2), 4 / (X**3 * Y), 2 / (X * Y) ** 2, 4 / (X * Y**3)),
    "square": (x**2 - y, 2 * X, -1.0, 2.0, 0.0, 0.0),
    "power": (x**y, Y * X ** (Y - 1), math.log(X) * X**Y, Y * (Y - 1) * X ** (Y - 2),
              X ** (Y - 1) * (1 + Y * math.log(X)), math.log(X) ** 2 * X**Y),
    "power of a number": (sympy.Float(0.5) ** x, math.log(0.5) * 0.5**X, 0.0, math.log(0.5) ** 2 * 0.5**X, 0.0, 0.0),
    "functions": (sympy.exp(x) * sympy.log(y) + sympy.sqrt(x), math.exp(X) * math.log(Y) + 0.5 / math.sqrt(X),
                  math.exp(X) / Y, math.exp(X) * math.log(Y) - 0.25 * X**-1.5, math.exp(X) / Y, -math.exp(X) / Y**2),
    "extremes": (sympy.Max(x, y) * sympy.Min(x, y), Y, X, 0.0, 1.0, 0.0),
    "branches": (sympy.Piecewise((x * x, x > 1), (y / (x - sympy.Float(X)), True)), 2 * X, 0.0, 2.0, 0.0, 0.0),
    "remainder": (sympy.Mod(x, y), 1.0, -2.0, 0.0, 0.0, 0.0),
    "sizes": (abs(-x) * abs(y), Y, X, 0.0, 1.0, 0.0),
    "steps": (sympy.ceiling(x) * y, 0.0, 2.0, 0.0, 0.0, 0.0),
}  # fmt: skip
BY_HAND = pytest.mark.parametrize(("expression", "by_x", "by_y", "by_xx", "by_xy", "by_yy"), CASES.values(), ids=CASES)


def graph_of(expression):
    return lowered(System(()), (("z", expression),))


def numbers(graph, values):
    """Outputs at a point in plain floats."""
    return {name: float(value) for name, value in of_graph(graph, "numpy")(values).items()}


@pytest.mark.parametrize("differentiated", [forward, reverse])
@BY_HAND
def test_first_and_second_derivatives_by_hand(differentiated, expression, by_x, by_y, by_xx, by_xy, by_yy):
    graph = graph_of(expression)
    first = differentiated(graph, ("z",), ("x", "y"))
    second = differentiated(first, tuple(first.outputs), ("x", "y"))
    found = numbers(first, {"x": X, "y": Y}) | numbers(second, {"x": X, "y": Y})
    expected = {"x": by_x, "y": by_y, "x|x": by_xx, "x|y": by_xy, "y|x": by_xy, "y|y": by_yy}
    for names, value in expected.items():
        assert found.get(f"z|{names}", 0.0) == pytest.approx(value, rel=1e-14, abs=1e-15), names


@BY_HAND
def test_along_directions(expression, by_x, by_y, by_xx, by_xy, by_yy):
    """Two directions at once, of values and of first derivatives."""
    first = forward(graph_of(expression), ("z",), ("x", "y"))
    seeds = {"_along_x": np.array([1.0, 0.5]), "_along_y": np.array([0.0, 2.0])}
    found = of_graph(along(first, tuple(first.outputs), ("x", "y")), "vector")({"x": X, "y": Y} | seeds)
    for name, by in {"z": (by_x, by_y), "z|x": (by_xx, by_xy), "z|y": (by_xy, by_yy)}.items():
        expected = [by[0], 0.5 * by[0] + 2.0 * by[1]]
        np.testing.assert_allclose(found.get(f"{name}|", np.zeros(2)), expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("differentiated", [forward, reverse])
@pytest.mark.parametrize("extreme", [sympy.Max, sympy.Min])
def test_at_a_tie_the_first_operand_gives_the_slope(differentiated, extreme):
    expression = extreme(x, y)
    first = str(expression.args[0])
    found = numbers(differentiated(graph_of(expression), ("z",), ("x", "y")), {"x": 2.0, "y": 2.0})
    assert found == {"z": 2.0} | {f"z|{name}": float(name == first) for name in "xy"}


@pytest.mark.parametrize("differentiated", [forward, reverse])
def test_nothing_times_infinity_is_nothing(differentiated):
    """The slope of a root at zero is infinite, that of what it is multiplied by or takes it from is not."""
    at = {"x": 0.0, "y": 0.0}
    for expression in (sympy.sqrt(x) * y, sympy.sqrt(x * y), sympy.sqrt(x**2) * y, sympy.log(x + 1) * sympy.sqrt(y)):
        found = numbers(differentiated(graph_of(expression), ("z",), ("x", "y")), at)
        assert not any(map(math.isnan, found.values())), expression
    found = numbers(differentiated(graph_of(sympy.sqrt(x) + 3 * y), ("z",), ("x", "y")), at)
    assert found == {"z": 0.0, "z|x": math.inf, "z|y": 3.0}


@pytest.mark.parametrize("differentiated", [forward, reverse])
def test_a_case_that_is_not_taken_adds_nothing(differentiated):
    expression = sympy.Piecewise((x / y, y > 0), (2 * x, True))
    found = numbers(differentiated(graph_of(expression), ("z",), ("x", "y")), {"x": 3.0, "y": 0.0})
    assert found == {"z": 6.0, "z|x": 2.0, "z|y": 0.0}


def test_what_vanishes_everywhere_is_left_out():
    assert set(derivative(graph_of(sympy.floor(x) + y), ("z",), ("x", "y")).outputs) == {"z", "z|y"}


@pytest.mark.long
def test_one_output_by_many_inputs_goes_back_once():
    """The graph in reverse grows by as much as values have, forward by as much for every input."""
    inputs = sympy.symbols("x0:40")
    product = 1 + inputs[0]
    for each in inputs[1:]:
        product = sympy.Add(sympy.Mul(product, each, evaluate=False), 1, evaluate=False)
    graph, names = graph_of(product), [symbol.name for symbol in inputs]
    back, ahead = reverse(graph, ("z",), names), forward(graph, ("z",), names)
    assert len(derivative(graph, ("z",), names).nodes) == len(back.nodes) < 4 * len(graph.nodes)
    assert len(ahead.nodes) > 4 * len(back.nodes)
    at = {name: 1.0 + 0.01 * place for place, name in enumerate(names)}
    assert numbers(back, at) == pytest.approx(numbers(ahead, at), rel=1e-13)


def test_on_arrays_a_slope_stays_over_the_axes_it_depends_on():
    graph = forward(graph_of(x * y), ("z",), ("x", "y"))
    found = of_graph(graph, "vector")({"x": np.array([[1.0], [2.0]]), "y": np.array([[1.0, 2.0, 3.0]])})
    assert [np.shape(found[name]) for name in ("z", "z|x", "z|y")] == [(2, 3), (1, 3), (2, 1)]
