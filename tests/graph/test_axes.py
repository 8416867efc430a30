"""The axes of nodes, and graphs in stages by them."""

import numpy as np

from mlsysim.graph import Builder
from mlsysim.graph.interpreter import interpreted
from mlsysim.graph.passes import axes, cost, known, stages

OVER = {"u": 1, "v": 2}


def product():
    """Of a number, of one axis each, and of both; with a case that the number decides."""
    builder = Builder()
    n, u, v = map(builder.input, "nuv")
    many = builder.make("greater", n, builder.number(1.0))
    twice = builder.make("multiply", n, builder.number(2.0))
    along = builder.make("add", u, twice)
    across = builder.make("where", many, builder.make("sqrt", v), v)
    both = builder.make("multiply", along, across)
    return builder.graph({"both": both, "along": along, "many": many})


def test_a_node_depends_on_the_axes_of_its_operands():
    graph = product()
    found = axes(graph, OVER)
    assert {name: found[place] for name, place in graph.outputs.items()} == {"both": 3, "along": 1, "many": 0}


def test_stages_together_are_the_graph():
    graph = product()
    values = {"n": 3.0, "u": 5.0, "v": 9.0}
    expected = interpreted(graph, values)
    for early in (lambda bits: True, lambda bits: bits < 2, lambda bits: not bits, lambda bits: False):
        found = stages(graph, OVER, lambda bits, early=early: bits if early(bits) else None)
        assert [stage.axes for stage in found[:-1]] == [bits for bits in (0, 1, 2, 3) if early(bits)]
        given = dict(values)
        for stage in found:
            results = interpreted(stage.graph, given)
            given.update({name: results[place] for name, place in stage.graph.outputs.items()})
        assert {name: given[name] for name in graph.outputs} == {n: expected[p] for n, p in graph.outputs.items()}


def test_truth_values_that_are_handed_on_as_numbers_are_truth_values_again():
    *_, last = stages(product(), OVER, lambda bits: not bits)
    given = dict.fromkeys(last.graph.inputs, 1.0)
    assert interpreted(last.graph, given)[last.graph.outputs["many"]] is True


def test_a_choice_that_is_known_leaves_one_side():
    *_, last = stages(product(), OVER, lambda bits: not bits)
    (many,) = (node.args[0] for node in last.graph.nodes if node.op == "truth")
    name = last.graph.nodes[many].data
    assert known(last.graph, {name: False}).has("sqrt") is False
    assert known(last.graph, {name: True}).has("where") is False


def test_what_a_subgraph_captures_is_put_in():
    builder = Builder()
    n, u = builder.input("n"), builder.input("u")
    inner = Builder(builder)
    x = inner.input("x")
    less = inner.make("where", inner.captured(builder.make("greater", n, builder.number(1.0))), x, inner.number(0.0))
    residual, captured = inner.subgraph(inner.make("subtract", less, inner.captured(u)))
    ends = builder.number(0.0), builder.number(100.0)
    graph = builder.graph({"root": builder.make("root", *ends, *captured, data=residual)})
    decided = known(graph, {"n": 2.0})
    (root,) = (node for node in decided.nodes if node.op == "root")
    assert len(root.args) == 3
    assert not root.data.has("where", "truth")
    at = {"n": 2.0, "u": 7.0}
    values = [interpreted(each, at)[each.outputs["root"]] for each in (graph, decided)]
    assert values[0] == values[1]
    np.testing.assert_allclose(values, 7.0, rtol=1e-12)


def test_cost_counts_what_is_tried():
    graph = product()
    assert cost(graph, OVER)[3] == 1
    assert cost(graph, OVER).total() == cost(graph, {})[0]
