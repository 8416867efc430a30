"""Automatic differentiation of graphs: forward for few inputs, in reverse for one output by many.

An extreme takes the slope of the operand that binds (at a tie the first), a case that of the case taken; ceilings,
floors and least integers have none. Zero times an infinite partial derivative is zero, in both modes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mlsysim.graph.builder import Builder, copied
from mlsysim.graph.graph import Graph, Node
from mlsysim.graph.operation import TABLE
from mlsysim.graph.operations.chunked import PICKS

#: Separator of the names of an output and of the input that it is differentiated by.
BY = "|"
#: Prefix of the name of an input, for its tangent along a direction.
TANGENT = "_along_"
#: Inputs by which a forward pass takes about as long as one reverse pass.
REVERSED = 6

#: Index of the slope along each direction.
Slopes = dict[Any, int]


def derivative(graph: Graph, outputs: Sequence[str], wrt: Iterable[str]) -> Graph:
    """Differentiate some outputs by some inputs; vanishing derivatives are left out.

    Parameters
    ----------
    graph : Graph
        Any graph. Inputs that were specialized to numbers have no slopes.
    outputs : sequence of str
        Names of the outputs to differentiate.
    wrt : iterable of str
        Inputs to differentiate by.

    Returns
    -------
    Graph
        Graph of the same inputs. Its outputs are the values, by name, and derivatives, by ``output|input``.
    """
    moving = sorted(set(wrt) & set(graph.inputs))
    return (reverse if REVERSED * len(outputs) < len(moving) else forward)(graph, outputs, moving)


def forward(graph: Graph, outputs: Sequence[str], wrt: Iterable[str]) -> Graph:
    """Differentiate in forward mode, like :func:`derivative`: slopes by each input go along with values."""
    chain = _Chain()
    return chain.forward(graph, outputs, {name: {name: chain.one} for name in wrt})


def reverse(graph: Graph, outputs: Sequence[str], wrt: Iterable[str]) -> Graph:
    """Differentiate in reverse mode, like :func:`derivative`: weights go back from each output to all inputs."""
    builder, copies = copied(graph)
    chain, wanted = _Chain(builder), set(wrt)
    inputs = {index: node.data for index, node in enumerate(graph.nodes) if node.op == "input" and node.data in wanted}
    results = {name: copies[graph.outputs[name]] for name in outputs}
    for name in outputs:
        weights = chain.weights(graph, dict(enumerate(copies)), graph.outputs[name], chain.one, inputs)
        results |= {f"{name}{BY}{by}": weights[index] for index, by in inputs.items() if index in weights}
    return builder.graph(results)


def gradient(graph: Graph, output: str, wrt: Sequence[str]) -> Graph:
    """Gradient of one output by some inputs, in their order, as outputs of a graph of the same inputs."""
    differentiated = derivative(graph, (output,), wrt)
    builder, copies = copied(differentiated)
    zero = builder.number(0.0)
    keys = [f"{output}{BY}{name}" for name in wrt]
    slopes = builder.graph(
        {key: copies[differentiated.outputs[key]] if key in differentiated.outputs else zero for key in keys}
    )
    return replace(slopes, inputs=graph.inputs)


def along(graph: Graph, outputs: Sequence[str], wrt: Iterable[str]) -> Graph:
    """Differentiate some outputs along one direction: for arrays of many.

    Parameters
    ----------
    graph, outputs, wrt
        As for :func:`derivative`.

    Returns
    -------
    Graph
        Graph with one more input ``_along_...``, its tangent, for each that moves. Derivatives are named ``output|``.
    """
    chain = _Chain()
    tangents = {name: {"": chain.builder.input(f"{TANGENT}{name}")} for name in sorted(set(wrt) & set(graph.inputs))}
    return chain.forward(graph, outputs, tangents)


def _moved(graph: Graph, index: int) -> tuple[int, ...]:
    """Operands on which the value of a node depends: for an output of a law, those of the law."""
    node = graph.nodes[index]
    return graph.nodes[node.args[0]].args if node.op in PICKS else node.args


class _Chain:
    """Chain rule in a builder."""

    def __init__(self, builder: Builder | None = None) -> None:
        self.builder = Builder() if builder is None else builder
        self.zero, self.one = self.builder.number(0.0), self.builder.number(1.0)
        self._unbounded: list[bool] = []

    def forward(self, graph: Graph, outputs: Sequence[str], tangents: Mapping[str, Slopes]) -> Graph:
        """Values of all outputs of a graph, and slopes of some."""
        builder, inputs = self.builder, {}
        for index, node in enumerate(graph.nodes):
            if node.op == "input":
                inputs[node.data] = builder.input(node.data, graph.facts[index]), tangents.get(node.data, {})
        copies, slopes = self.copy_with_slopes(graph, inputs, outputs)
        for index, name in graph.names.items():
            if index in copies and builder.value(copies[index]) is None:
                builder.names.setdefault(copies[index], name)
        results = {name: copies[graph.outputs[name]] for name in outputs}
        for name in outputs:
            results |= {f"{name}{BY}{by}": index for by, index in slopes[graph.outputs[name]].items()}
        return builder.graph(results)

    def copy_with_slopes(
        self, graph: Graph, inputs: Mapping[str, tuple[int, Slopes]], outputs: Iterable[str] | None = None
    ) -> tuple[dict[int, int], dict[int, Slopes]]:
        """Copy the nodes of a graph and their slopes, from those of its inputs."""
        copies: dict[int, int] = {}
        slopes: dict[int, Slopes] = {}
        for index in graph.live(outputs):
            node = graph.nodes[index]
            if node.op == "input":
                copies[index], slopes[index] = inputs[node.data]
            elif node.op == "number":
                copies[index], slopes[index] = self.builder.number(node.data), {}
            else:
                args = [copies[arg] for arg in node.args]
                copies[index] = self.builder.make(node.op, *args, data=node.data)
                by = [slopes[arg] for arg in _moved(graph, index)]
                slopes[index] = self._slopes(node, args, copies[index], by) if any(by) else {}
        return copies, slopes

    def _slopes(self, node: Node, args: Sequence[int], result: int, operand_slopes: Sequence[Slopes]) -> Slopes:
        """Slopes of a node from those of its operands."""
        if node.op == "root":
            return self._root_slopes(node.data, args, result, operand_slopes)
        partials = TABLE[node.op].partials
        result_slopes: Slopes = {}
        for partial, slopes in zip(
            partials(self.builder, args, result) if partials else (), operand_slopes, strict=False
        ):
            if partial is not None:
                for by, slope in slopes.items():
                    self._gather(result_slopes, by, self.times(partial, slope))
        return result_slopes

    def weights(
        self, graph: Graph, copies: Mapping[int, int], result: int, weight: int, wrt: Iterable[int]
    ) -> dict[int, int]:
        """Adjoints of a result: weight times its derivative by each node that depends on some nodes."""
        live, moving = graph.live(), set(wrt)
        for index in live:
            if not moving.isdisjoint(graph.nodes[index].args):
                moving.add(index)
        adjoints = {result: weight}
        for index in reversed(live):
            node = graph.nodes[index]
            if index not in adjoints or index not in moving or not node.args:
                continue
            args = [copies[arg] for arg in node.args]
            if node.op == "root":
                contributions: Sequence[int | None] = self._root_weights(
                    node.data, args, copies[index], adjoints[index]
                )
            else:
                partials = TABLE[node.op].partials
                factors = partials(self.builder, args, copies[index]) if partials else ()
                contributions = [None if factor is None else self.times(factor, adjoints[index]) for factor in factors]
            for arg, contribution in zip(_moved(graph, index), contributions, strict=False):
                if arg in moving:
                    self._gather(adjoints, arg, contribution)
        return adjoints

    def times(self, partial: int, slope: int) -> int | None:
        """Multiply a partial derivative by a slope or weight; None if it vanishes."""
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

    def _gather(self, sums: dict[Any, int], key: Any, term: int | None) -> None:
        """Add a term to a sum; two cases of one condition are merged."""
        if term is None:
            return
        if key not in sums:
            sums[key] = term
            return
        before, after = (self.builder.nodes[index] for index in (sums[key], term))
        one_condition = before.op == after.op == "where" and before.args[0] == after.args[0]
        if one_condition and before.args[2] == self.zero == after.args[1]:
            sums[key] = self.builder.make("where", before.args[0], before.args[1], after.args[2])
        else:
            sums[key] = self.builder.make("add", sums[key], term)

    def _is_unbounded(self, index: int) -> bool:
        """True if a node may be infinite or undefined at finite inputs."""
        known, facts = self._unbounded, self.builder.facts
        for position in range(len(known), index + 1):
            node = self.builder.nodes[position]
            risky = TABLE[node.op].risky
            blows = risky is not None and self.builder.value(node.args[risky]) is None
            known.append(blows or facts[position].infinite or any(known[arg] for arg in node.args))
        return known[index]

    def _root_slopes(self, residual: Graph, args: Sequence[int], x: int, operand_slopes: Sequence[Slopes]) -> Slopes:
        """Slopes of a root, by the implicit function theorem; an end that is the root moves as it does."""
        make, own = self.builder.make, object()
        (bound, *captured), (lower, upper, *outer) = residual.inputs, args
        moving: dict[str, tuple[int, Slopes]] = {bound: (x, {own: self.one})}
        moving |= {name: (at, by) for name, at, by in zip(captured, outer, operand_slopes[2:], strict=True)}
        _, slopes = self.copy_with_slopes(residual, moving)
        along = slopes[residual.outputs["result"]]
        inverse = self._inverse(along.pop(own, self.zero))
        root_slopes: Slopes = {}
        for by, slope in along.items():
            self._gather(root_slopes, by, self.times(inverse, slope))
        for end, slopes_of_end in ((upper, operand_slopes[1]), (lower, operand_slopes[0])):
            if root_slopes or slopes_of_end:
                at_end = make("equal", x, end)
                root_slopes = {
                    by: make("where", at_end, slopes_of_end.get(by, self.zero), root_slopes.get(by, self.zero))
                    for by in {**root_slopes, **slopes_of_end}
                }
        return root_slopes

    def _root_weights(self, residual: Graph, args: Sequence[int], x: int, weight: int) -> list[int | None]:
        """Adjoint of each operand of a root: the implicit function theorem in reverse mode."""
        make, own = self.builder.make, object()
        bound, *captured = residual.inputs
        residual_inputs: dict[str, tuple[int, Slopes]] = {bound: (x, {own: self.one})}
        residual_inputs |= {name: (copies, {}) for name, copies in zip(captured, args[2:], strict=True)}
        copies, slopes = self.copy_with_slopes(residual, residual_inputs)
        result = residual.outputs["result"]
        at_lower, at_upper = (make("equal", x, end) for end in args[:2])
        inside = make("where", make("either", at_lower, at_upper), self.zero, weight)
        seed = self.times(self._inverse(slopes[result].get(own, self.zero)), inside)
        inputs = {node.data: index for index, node in enumerate(residual.nodes) if node.op == "input"}
        moving = [inputs[name] for name in captured if name in inputs]
        adjoints = {} if seed is None else self.weights(residual, copies, result, seed, moving)
        lower = make("where", at_lower, weight, self.zero)
        upper = make("where", at_lower, self.zero, make("where", at_upper, weight, self.zero))
        return [lower, upper, *(adjoints.get(inputs.get(name, -1)) for name in captured)]

    def _inverse(self, rise: int) -> int:
        """Minus one over the slope of a residual; zero if it is flat or jumps."""
        make = self.builder.make
        flat = make("equal", rise, self.zero)
        inverse = make("divide", self.builder.number(-1.0), make("where", flat, self.one, rise))
        return make("where", flat, self.zero, inverse)
