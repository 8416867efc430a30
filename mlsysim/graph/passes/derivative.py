"""Derivatives: a graph in, a graph of values and slopes out; forward for few inputs, in reverse for one output by many.

An extreme takes the slope of the operand that binds (at a tie the first), a case that of the case taken; ceilings,
floors and least integers have none. Nothing times an infinite partial derivative is nothing, in both directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mlsysim.graph.builder import Builder, copied
from mlsysim.graph.graph import Graph, Node
from mlsysim.graph.operation import TABLE
from mlsysim.graph.operations.chunked import PICKS

#: What stands between the names of an output and of the input that it is differentiated by.
BY = "|"
#: Before the name of an input: the input more that says how it moves along a direction.
TANGENT = "_along_"
#: A pass in reverse takes as long as one forward by about so many inputs.
REVERSED = 6

#: Place of the slope along each direction.
Slopes = dict[Any, int]


def derivative(graph: Graph, outputs: Sequence[str], wrt: Iterable[str]) -> Graph:
    """Values of some outputs, and their derivatives by some inputs where they do not vanish.

    Parameters
    ----------
    graph : Graph
        Any graph. Its inputs are numbers yet to come: those that are known by now have no slopes.
    outputs : sequence of str
        Names of those to differentiate.
    wrt : iterable of str
        Inputs to differentiate by.

    Returns
    -------
    Graph
        Of the same inputs. Its outputs are the values, by name, and derivatives, by ``output|input``.
    """
    moving = sorted(set(wrt) & set(graph.inputs))
    return (reverse if REVERSED * len(outputs) < len(moving) else forward)(graph, outputs, moving)


def forward(graph: Graph, outputs: Sequence[str], wrt: Iterable[str]) -> Graph:
    """As :func:`derivative`: slopes by each input go along with values."""
    chain = _Chain()
    return chain.forward(graph, outputs, {name: {name: chain.one} for name in wrt})


def reverse(graph: Graph, outputs: Sequence[str], wrt: Iterable[str]) -> Graph:
    """As :func:`derivative`: weights go back from each output to all inputs at once."""
    builder, at = copied(graph)
    chain, wanted = _Chain(builder), set(wrt)
    inputs = {place: node.data for place, node in enumerate(graph.nodes) if node.op == "input" and node.data in wanted}
    found = {name: at[graph.outputs[name]] for name in outputs}
    for name in outputs:
        weights = chain.weights(graph, dict(enumerate(at)), graph.outputs[name], chain.one, inputs)
        found |= {f"{name}{BY}{by}": weights[place] for place, by in inputs.items() if place in weights}
    return builder.graph(found)


def gradient(graph: Graph, output: str, wrt: Sequence[str]) -> Graph:
    """The derivatives of one output by some inputs, in their order, as outputs of a graph of the same inputs."""
    found = derivative(graph, (output,), wrt)
    builder, at = copied(found)
    zero = builder.number(0.0)
    keys = [f"{output}{BY}{name}" for name in wrt]
    slopes = builder.graph({key: at[found.outputs[key]] if key in found.outputs else zero for key in keys})
    return replace(slopes, inputs=graph.inputs)


def along(graph: Graph, outputs: Sequence[str], wrt: Iterable[str]) -> Graph:
    """Values of some outputs, and their derivatives along one direction: for arrays of many.

    Parameters
    ----------
    graph, outputs, wrt
        As for :func:`derivative`.

    Returns
    -------
    Graph
        With an input ``_along_...`` more for each that moves: by how much. Derivatives are named ``output|``.
    """
    chain = _Chain()
    given = {name: {"": chain.builder.input(f"{TANGENT}{name}")} for name in sorted(set(wrt) & set(graph.inputs))}
    return chain.forward(graph, outputs, given)


def _moved(graph: Graph, place: int) -> tuple[int, ...]:
    """Operands with which a node moves: of what is picked from a law, those of the law."""
    node = graph.nodes[place]
    return graph.nodes[node.args[0]].args if node.op in PICKS else node.args


class _Chain:
    """The chain rule, in a builder."""

    def __init__(self, builder: Builder | None = None) -> None:
        self.builder = Builder() if builder is None else builder
        self.zero, self.one = self.builder.number(0.0), self.builder.number(1.0)
        self._unbounded: list[bool] = []

    def forward(self, graph: Graph, outputs: Sequence[str], given: Mapping[str, Slopes]) -> Graph:
        """Values of all outputs of a graph, and slopes of some."""
        builder, inputs = self.builder, {}
        for place, node in enumerate(graph.nodes):
            if node.op == "input":
                inputs[node.data] = builder.input(node.data, graph.facts[place]), given.get(node.data, {})
        at, slopes = self.carried(graph, inputs, outputs)
        for place, name in graph.names.items():
            if place in at and builder.value(at[place]) is None:
                builder.names.setdefault(at[place], name)
        found = {name: at[graph.outputs[name]] for name in outputs}
        for name in outputs:
            found |= {f"{name}{BY}{by}": place for by, place in slopes[graph.outputs[name]].items()}
        return builder.graph(found)

    def carried(
        self, graph: Graph, given: Mapping[str, tuple[int, Slopes]], outputs: Iterable[str] | None = None
    ) -> tuple[dict[int, int], dict[int, Slopes]]:
        """Places of a graph's nodes and of their slopes, from those of its inputs."""
        at: dict[int, int] = {}
        slopes: dict[int, Slopes] = {}
        for place in graph.live(outputs):
            node = graph.nodes[place]
            if node.op == "input":
                at[place], slopes[place] = given[node.data]
            elif node.op == "number":
                at[place], slopes[place] = self.builder.number(node.data), {}
            else:
                args = [at[arg] for arg in node.args]
                at[place] = self.builder.make(node.op, *args, data=node.data)
                by = [slopes[arg] for arg in _moved(graph, place)]
                slopes[place] = self._slopes(node, args, at[place], by) if any(by) else {}
        return at, slopes

    def _slopes(self, node: Node, args: Sequence[int], result: int, given: Sequence[Slopes]) -> Slopes:
        """Slopes of a node from those of its operands."""
        if node.op == "root":
            return self._root_slopes(node.data, args, result, given)
        partials = TABLE[node.op].partials
        found: Slopes = {}
        for partial, slopes in zip(partials(self.builder, args, result) if partials else (), given, strict=False):
            if partial is not None:
                for by, slope in slopes.items():
                    self._gather(found, by, self.times(partial, slope))
        return found

    def weights(
        self, graph: Graph, at: Mapping[int, int], result: int, weight: int, wrt: Iterable[int]
    ) -> dict[int, int]:
        """Weight times derivative of a result by each node that moves with some nodes; ``at`` are their places here."""
        live, moving = graph.live(), set(wrt)
        for place in live:
            if not moving.isdisjoint(graph.nodes[place].args):
                moving.add(place)
        found = {result: weight}
        for place in reversed(live):
            node = graph.nodes[place]
            if place not in found or place not in moving or not node.args:
                continue
            args = [at[arg] for arg in node.args]
            if node.op == "root":
                parts: Sequence[int | None] = self._root_weights(node.data, args, at[place], found[place])
            else:
                partials = TABLE[node.op].partials
                factors = partials(self.builder, args, at[place]) if partials else ()
                parts = [None if factor is None else self.times(factor, found[place]) for factor in factors]
            for arg, part in zip(_moved(graph, place), parts, strict=False):
                if arg in moving:
                    self._gather(found, arg, part)
        return found

    def times(self, partial: int, slope: int) -> int | None:
        """A partial derivative times a slope or weight; None where it vanishes."""
        builder = self.builder
        factor, number, node = builder.value(partial), builder.value(slope), builder.nodes[partial]
        if factor == 0 or number == 0:
            return None
        if factor == -1.0:
            return builder.make("negative", slope)
        if node.op == "where" and node.args[1:] == (self.one, self.zero):
            return builder.make("where", node.args[0], slope, self.zero)
        if node.op == "where" and node.args[1:] == (self.zero, self.one):
            return builder.make("where", node.args[0], self.zero, slope)
        unbounded = self._is_unbounded(partial) or self._is_unbounded(slope)
        return builder.make("chained" if unbounded else "multiply", partial, slope)

    def _gather(self, found: dict[Any, int], key: Any, term: int | None) -> None:
        """Add a term to what is found; two cases of one condition are one."""
        if term is None:
            return
        if key not in found:
            found[key] = term
            return
        before, after = (self.builder.nodes[place] for place in (found[key], term))
        one_condition = before.op == after.op == "where" and before.args[0] == after.args[0]
        if one_condition and before.args[2] == self.zero == after.args[1]:
            found[key] = self.builder.make("where", before.args[0], before.args[1], after.args[2])
        else:
            found[key] = self.builder.make("add", found[key], term)

    def _is_unbounded(self, place: int) -> bool:
        """True if a node may be infinite or undefined at finite inputs."""
        known, facts = self._unbounded, self.builder.facts
        for at in range(len(known), place + 1):
            node = self.builder.nodes[at]
            risky = TABLE[node.op].risky
            blows = risky is not None and self.builder.value(node.args[risky]) is None
            known.append(blows or facts[at].infinite or any(known[arg] for arg in node.args))
        return known[place]

    def _root_slopes(self, residual: Graph, args: Sequence[int], x: int, given: Sequence[Slopes]) -> Slopes:
        """Slopes of a root, by the implicit function theorem; an end that is the root moves as it does."""
        make, own = self.builder.make, object()
        (bound, *captured), (lower, upper, *outer) = residual.inputs, args
        moving: dict[str, tuple[int, Slopes]] = {bound: (x, {own: self.one})}
        moving |= {name: (at, by) for name, at, by in zip(captured, outer, given[2:], strict=True)}
        _, slopes = self.carried(residual, moving)
        along = slopes[residual.outputs["result"]]
        inverse = self._inverse(along.pop(own, self.zero))
        found: Slopes = {}
        for by, slope in along.items():
            self._gather(found, by, self.times(inverse, slope))
        for end, slopes_of_end in ((upper, given[1]), (lower, given[0])):
            if found or slopes_of_end:
                at_end = make("equal", x, end)
                found = {
                    by: make("where", at_end, slopes_of_end.get(by, self.zero), found.get(by, self.zero))
                    for by in {**found, **slopes_of_end}
                }
        return found

    def _root_weights(self, residual: Graph, args: Sequence[int], x: int, weight: int) -> list[int | None]:
        """Weight of each operand of a root: the same, reversed."""
        make, own = self.builder.make, object()
        bound, *captured = residual.inputs
        given: dict[str, tuple[int, Slopes]] = {bound: (x, {own: self.one})}
        given |= {name: (at, {}) for name, at in zip(captured, args[2:], strict=True)}
        at, slopes = self.carried(residual, given)
        result = residual.outputs["result"]
        at_lower, at_upper = (make("equal", x, end) for end in args[:2])
        inside = make("where", make("either", at_lower, at_upper), self.zero, weight)
        seed = self.times(self._inverse(slopes[result].get(own, self.zero)), inside)
        inputs = {node.data: place for place, node in enumerate(residual.nodes) if node.op == "input"}
        moving = [inputs[name] for name in captured if name in inputs]
        found = {} if seed is None else self.weights(residual, at, result, seed, moving)
        lower = make("where", at_lower, weight, self.zero)
        upper = make("where", at_lower, self.zero, make("where", at_upper, weight, self.zero))
        return [lower, upper, *(found.get(inputs.get(name, -1)) for name in captured)]

    def _inverse(self, rise: int) -> int:
        """Minus one over the slope of a residual; nothing where it is flat or jumps."""
        make = self.builder.make
        flat = make("equal", rise, self.zero)
        inverse = make("divide", self.builder.number(-1.0), make("where", flat, self.one, rise))
        return make("where", flat, self.zero, inverse)
