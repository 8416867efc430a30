"""Builders: equal nodes are one, known ones are numbers, and subgraphs leave outside what does not depend on them."""

import math

import pytest
import sympy

from mlsysim.graph import Builder, Facts, lowered
from mlsysim.graph.interpreter import interpreted
from mlsysim.graph.passes import known
from mlsysim.symbolic import LeastInteger, Root, System, evaluated_at, when


@pytest.fixture
def builder():
    return Builder()


def value_of(expression, **values):
    graph = lowered(System(()), (("value", expression),))
    return interpreted(graph, values)[graph.outputs["value"]]


def test_equal_nodes_are_one(builder):
    x, y = builder.input("x"), builder.input("y")
    assert builder.make("add", x, y) == builder.make("add", x, y) != builder.make("add", y, x)


def test_equal_numbers_of_other_kinds_are_not(builder):
    assert len({builder.number(value) for value in (1.0, True, 0.0, -0.0, False, math.nan, math.nan)}) == 6


def test_operations_on_numbers_are_done_and_never_raise(builder):
    one, zero = builder.number(1.0), builder.number(0.0)
    assert builder.value(builder.make("divide", one, zero)) == math.inf
    assert math.isnan(builder.value(builder.make("divide", zero, zero)))
    assert builder.value(builder.make("power", builder.number(10.0), builder.number(999.0))) == math.inf
    assert builder.value(builder.make("log", zero)) == -math.inf
    assert builder.value(builder.make("ceil", builder.number(3.0000000000000004))) == 3


def test_what_changes_nothing_is_left_out(builder):
    x = builder.input("x")
    one, zero = builder.number(1.0), builder.number(0.0)
    same = [("multiply", one, x), ("multiply", x, one), ("divide", x, one), ("subtract", x, zero), ("power", x, one)]
    assert {builder.make(*each) for each in same} == {x}
    assert builder.make("add", x, zero) != x  # of a negative zero it is the other one
    assert builder.make("where", builder.number(True), x, one) == x


def test_a_subgraph_captures_what_does_not_depend_on_it():
    n, a, b = sympy.Dummy("n", integer=True, positive=True), *sympy.symbols("a b", positive=True)
    graph = lowered(System(()), (("value", LeastInteger(n, n * n * sympy.sqrt(a + b) > 100, 99)),))
    (least,) = (node for node in graph.nodes if node.op == "least_integer")
    assert [node.op for node in least.data.nodes if node.op in ("add", "sqrt")] == []
    assert "sqrt" in {node.op for node in graph.nodes}
    assert interpreted(graph, {"a": 7.0, "b": 9.0})[graph.outputs["value"]] == 6


def test_symbols_bound_twice_have_the_value_of_their_own_scope(pure, formula):
    x, y, z = (pure(f"graph_{name}") for name in "xyz")
    steps = [formula(y, 10 * x)]
    once, twice = evaluated_at(y, {x: z}, steps), evaluated_at(y, {x: z + 1}, steps)
    assert value_of(once + 1000 * twice, graph_z=1.0) == 20_010


def test_a_root_is_found_within_another():
    x, a = sympy.symbols("x a", positive=True)
    inner = Root(sympy.Symbol("u"), sympy.Symbol("u") ** 2, x, 0, 100)
    outer = Root(x, inner + x, a, 0, 100)
    assert value_of(outer, a=6.0) == pytest.approx(4, rel=1e-12)


def test_known_inputs_are_folded_through_searches():
    n, a, b = sympy.Dummy("n", integer=True, positive=True), *sympy.symbols("a b", positive=True)
    graph = lowered(System(()), (("value", LeastInteger(n, n * a > 100, 999) + b),))
    rest = known(graph, {"a": 7.0})
    assert rest.inputs == ("b",)
    assert {node.op for node in rest.nodes} == {"input", "number", "add"}
    assert interpreted(rest, {"b": 0.5})[rest.outputs["value"]] == 15.5


def test_nothing_times_a_stated_infinity_is_nothing():
    a, b = sympy.symbols("a b", nonnegative=True)
    stated = a * when(b > 0, 1 / b, sympy.oo)
    assert value_of(stated, a=0.0, b=0.0) == 0
    assert value_of(stated, a=2.0, b=0.0) == math.inf
    assert math.isnan(value_of(stated, a=math.nan, b=0.0))


def test_an_extreme_is_nonzero_only_where_its_range_says_so(builder):
    negative, touching = Facts(-5.0, 5.0, False), Facts(0.0, 1.0, True)
    place = builder.make("maximum", builder.input("x", negative), builder.input("y", touching))
    assert builder.facts[place].zero
