"""Graphs in the order of loops: near what is written, within a bound, and only where nothing cancels."""

import math
from collections import Counter

import numpy as np
import pytest

from mlsysim.graph import Builder
from mlsysim.graph.interpreter import interpreted
from mlsysim.graph.passes import axes, regrouped
from mlsysim.graph.passes.regrouped import FLAT, INNER, OUTER, PERHAPS, SCALE, Magnitude

OVER = {"a": FLAT, "b": FLAT, "c": OUTER, "x": INNER, "y": OUTER}


class Expressions(Builder):
    """A builder that is called like arithmetic: ``g("add", "a", g("multiply", "b", 2.0))``."""

    def __call__(self, op, *operands):
        return self.make(op, *map(self.at, operands))

    def at(self, operand):
        if isinstance(operand, str):
            return self.input(operand)
        return self.number(operand) if isinstance(operand, float) else operand


def values_of(graph, given):
    found = interpreted(graph, given)
    return {name: found[place] for name, place in graph.outputs.items()}


def sizes_of(points):
    columns = {name: np.asarray([point[name] for point in points]) for name in points[0]}
    return {name: Magnitude(column.min(), column.max()) for name, column in columns.items()}


def sums(number=1.0):
    """``total = a b x + c x / y + (c y x if a > 1/2 else 0) + a / b``, what it costs, and a limit of it."""
    g = Expressions()
    case = g("where", g("greater", "a", 0.5), g("multiply", g("multiply", "c", "y"), "x"), 0.0)
    first = g("add", g("multiply", g("multiply", "a", "b"), "x"), g("divide", g("multiply", "c", "x"), "y"))
    total = g("add", g("add", first, case), g("divide", "a", "b"))
    price = g("divide", g("multiply", total, "a"), g("multiply", "x", "y"))
    return g.graph({"total": total, "price": price, "fits": g("less_equal", total, number)})


def points_of(random, number):
    return [{name: 10.0 ** random.uniform(-3, 3) for name in OVER} for _ in range(number)]


def test_the_difference_is_within_its_bound():
    random, worst = np.random.default_rng(1), 0.0
    graph = sums()
    points = points_of(random, 400)
    ordered, gaps = regrouped(graph, OVER, sizes_of(points))
    assert set(gaps) == {"total", "price"}
    for point in points:
        written, ours = values_of(graph, point), values_of(ordered, point)
        for name, gap in gaps.items():
            share = abs(ours[name] * ours[name + SCALE] / written[name] - 1)
            assert share <= gap < 1e-13
            worst = max(worst, share)
    assert worst > 0


def test_the_innermost_loop_has_less_to_do_and_no_number_of_a_tile_is_multiplied_at_every_point():
    graph = sums()
    ordered, _ = regrouped(graph, OVER, sizes_of(points_of(np.random.default_rng(1), 9)))

    def at_every_point(graph):
        found = [node.op for node, bits in zip(graph.nodes, axes(graph, OVER), strict=True) if bits >= INNER + FLAT]
        return [op for op in found if op != "less_equal"]

    assert len(at_every_point(graph)) == 7
    assert at_every_point(ordered) == ["multiply", "add", "multiply"]
    scale = axes(ordered, OVER)[ordered.outputs["price" + SCALE]]
    assert scale == INNER | OUTER


def test_what_may_hold_and_what_surely_holds_are_on_both_sides_of_what_is_written():
    random = np.random.default_rng(2)
    undecided = 0
    for point in points_of(random, 200):
        limit = values_of(sums(), point)["total"]
        limit = float(random.choice([limit, limit * (1 + 1e-9), limit * (1 - 1e-9)]))
        graph = sums(limit)
        ordered, _ = regrouped(graph, OVER, sizes_of([point]))
        found, written = values_of(ordered, point), values_of(graph, point)["fits"]
        assert found["fits"] <= written <= found["fits" + PERHAPS]
        undecided += found["fits"] < found["fits" + PERHAPS]
    assert 0 < undecided < 200


@pytest.mark.parametrize(
    ("written", "a", "x"),
    [
        pytest.param(("subtract", ("multiply", "a", "x"), "x"), (1.5, 2.5), (2.0, 2.0), id="a difference"),
        pytest.param(("add", ("multiply", "a", "x"), "x"), None, (2.0, 2.0), id="both signs"),
        pytest.param(("add", ("divide", "x", "a"), "x"), (1.0, 2.0, True), (2.0, 2.0), id="a quotient by zero"),
        pytest.param(
            ("add", ("multiply", ("multiply", ("multiply", "a", "a"), ("multiply", "a", "a")), "x"), "x"),
            (1e-90, 1.0), (2.0, 2.0), id="beyond the range of floats",
        ),
        pytest.param(("add", ("multiply", "a", "x"), "x"), (1.0, math.inf), (2.0, 2.0), id="infinite"),
        pytest.param(("add", ("exp", ("multiply", "a", "x")), "x"), (1.0, 3.0), (2.0, 2.0), id="a function"),
        pytest.param(
            ("add", ("ceil", ("add", ("multiply", "a", "x"), "x")), "x"),
            (0.3, 0.7), (0.3, 0.7), id="a sum and a rounding",
        ),
    ],
)  # fmt: skip
def test_what_may_cancel_leave_the_range_or_round_stays_as_it_is_written(written, a, x):
    g = Expressions()

    def built(each):
        return g(each[0], *map(built, each[1:])) if isinstance(each, tuple) else each

    graph = g.graph({"total": built(written)})
    sizes = {"a": None if a is None else Magnitude(*a), "x": Magnitude(*x)}
    ordered, _ = regrouped(graph, OVER, sizes)
    assert Counter(n.op for n in ordered.nodes if n.op != "number") == Counter(n.op for n in graph.nodes)
    for point in ({"a": sizes["a"].least if a else -3.0, "x": 0.7}, {"a": 0.9, "x": 0.1}):
        assert values_of(ordered, point)["total"] == values_of(graph, point)["total"]
