"""Sums and products in the order in which arrays are smallest."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from mlsysim.graph import Facts
from mlsysim.graph.interpreter import interpreted
from mlsysim.graph.operand import Operand, built
from mlsysim.graph.passes import axes, ordered

#: Inputs over one axis each, one over all four, and one over none.
OVER = {"a": 1, "b": 2, "c": 4, "every": 15, "n": 0}
SIZES = (64, 32, 16, 8)


def of(compute, *, finite=True, facts=None):
    """A graph of the inputs, and what becomes of it."""

    graph = built(lambda given: compute(*given), list(OVER))
    if facts is not None:
        known = [facts if node.op == "input" else each for node, each in zip(graph.nodes, graph.facts, strict=True)]
        graph = replace(graph, facts=tuple(known))
    return graph, ordered(graph, OVER, SIZES, finite=finite)


def full(graph):
    """Operations at every point of the grid."""
    over = axes(graph, OVER)
    return sum(
        bits == max(over) and node.op not in ("input", "number") for node, bits in zip(graph.nodes, over, strict=True)
    )


def same(graph, found, rtol=1e-14):
    random = np.random.default_rng(3)
    for _ in range(20):
        values = dict(zip(OVER, random.uniform(0.5, 2.0, len(OVER)), strict=True))
        one, other = (interpreted(each, values)[each.outputs["0"]] for each in (graph, found))
        assert one == pytest.approx(other, rel=rtol)


@pytest.mark.parametrize(
    ("compute", "number"),
    [
        (lambda a, b, c, e, n: [e + a + b + c + n], 1),
        (lambda a, b, c, e, n: [-e - a - b - c], 2),
        (lambda a, b, c, e, n: [e * a / b * c / n], 1),
        (lambda a, b, c, e, n: [a / (b * c) / e / n], 1),
        (lambda a, b, c, e, n: [(a * b + c + n) / 1e9], 1),
        (lambda a, b, c, e, n: [(e + a) / 1e9], 2),
        (lambda a, b, c, e, n: [np.sqrt(e + a + b) + np.maximum(a * n, c) + b * c], 3),
    ],
)
def test_few_operations_are_done_at_every_point(compute, number):
    graph, found = of(compute)
    assert full(found) == number <= full(graph)
    same(graph, found)


def test_what_is_shared_is_computed_once():
    _, found = of(lambda a, b, c, e, n: [(total := e + a + b), total / n, total <= c])
    assert full(found) == 3


@pytest.mark.parametrize("jump", [lambda x, c: np.where(x < c, 1.0, 2.0), lambda x, c: x.make("ceil", x)])
def test_what_jumps_reads_numbers_as_they_are_written(jump):
    graph, found = of(lambda a, b, c, e, n: [jump(e + a + b, c)])
    assert [node.op for node in graph.nodes] == [node.op for node in found.nodes]
    assert full(found) == full(graph)


def test_differences_stay_as_they_are_written():
    graph, found = of(lambda a, b, c, e, n: [e - a + b])
    assert full(found) == full(graph)
    same(graph, found, rtol=0)


def test_nothing_times_what_is_finite_is_nothing():
    positive = Facts(0.0, math.inf, False)
    _, found = of(lambda a, b, c, e, n: [e + 0.0 * (a / b)], facts=positive)
    assert [node.op for node in found.nodes] == ["input"]
    for options in ({"facts": positive, "finite": False}, {}):  # infinite, or divided by nothing
        _, found = of(lambda a, b, c, e, n: [e + 0.0 * (a / b)], **options)
        assert "divide" in [node.op for node in found.nodes]
    _, found = of(lambda a, b, c, e, n: [np.maximum(e, 0.0)], facts=positive)
    assert [node.op for node in found.nodes] == ["input"]


def test_many_sets_of_axes_are_joined():
    names = [f"x{place}" for place in range(12)]

    def every(given: list[Operand]) -> list[Operand]:
        return [sum(given[1:], given[0])]

    graph = built(every, names)
    found = ordered(graph, {name: 1 << place for place, name in enumerate(names)}, (2,) * 12, finite=True)
    assert len(found.nodes) == len(graph.nodes)
