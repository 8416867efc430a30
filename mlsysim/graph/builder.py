"""Builder of graphs, which optimizes them: common subexpressions, constant folding, algebraic simplification."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlsysim.graph.facts import ANY, Facts, facts_of
from mlsysim.graph.graph import Graph, Node
from mlsysim.graph.operation import TABLE


class Builder:
    """Builder that appends nodes, shares equal ones, folds constants, and hoists loop-invariant nodes out of subgraphs.

    Parameters
    ----------
    parent : Builder, optional
        Builder around a subgraph, for nodes that depend on none of its bound inputs.

    Attributes
    ----------
    nodes : list of Node
        Nodes in order.
    facts : list of Facts
        Facts of each node.
    names : dict
        Variable of a node, by index.
    """

    def __init__(self, parent: Builder | None = None) -> None:
        self.parent = parent
        self.nodes: list[Node] = []
        self.facts: list[Facts] = []
        self.names: dict[int, str] = {}
        self._bound: list[int] = []
        self._nonzero: set[int] = set()
        self._known: dict[Any, int] = {}
        self._captured: dict[int, int] = {}

    def input(self, name: str, facts: Facts = ANY) -> int:
        """Index of an argument."""
        index = self._append(Node("input", (), name), facts)
        if index not in self._bound:
            self._bound.append(index)
        return index

    def number(self, value: Any) -> int:
        """Index of a constant."""
        # True, 1 and 1.0 are equal, and so are the two zeros.
        key = type(value), repr(value)
        index = self._known.get(key)
        return self._append(Node("number", (), value), facts_of(value), key) if index is None else index

    def make(self, op: str, *args: int, data: Any = None) -> int:
        """Index of an operation on earlier nodes, or of a simpler equal one."""
        index = self._known.get(Node(op, args, data))
        if index is not None:
            return index
        operation = TABLE[op]
        values = [node.data if node.op == "number" else None for node in [self.nodes[arg] for arg in args]]
        if args and operation.fold is not None and None not in values:
            subgraph = (data,) if isinstance(data, Graph) else ()
            if not any(inner.has("chunked") for inner in subgraph):
                return self.number(operation.fold(*subgraph, *values))
        if operation.idempotent_from is not None and len({*args[operation.idempotent_from :]}) == 1:
            return args[-1]
        if operation.simplify is not None:
            simpler = operation.simplify(values)
            if simpler is not None and simpler.op is not None:
                return self.make(simpler.op, *args)
            if simpler is not None:
                return self.number(simpler.number) if simpler.operand is None else args[simpler.operand]
        if self.parent is not None and data is None and all(self.nodes[a].op in ("captured", "number") for a in args):
            return self.captured(self.parent.make(op, *[self._outside(arg) for arg in args]))
        facts = operation.facts(*[self.facts[arg] for arg in args])
        return self._append(Node(op, args, data), facts)

    def value(self, index: int) -> Any:
        """Value of a constant node; None for any other."""
        node = self.nodes[index]
        return node.data if node.op == "number" else None

    def _append(self, node: Node, facts: Facts, key: Any = None) -> int:
        index = self._known.setdefault(key or node, len(self.nodes))
        if index == len(self.nodes):
            self.nodes.append(node)
            self.facts.append(facts)
        return index

    def declare(self, index: int, name: str, facts: Facts) -> None:
        """Name the variable of a node. Of its declared facts, only the law of zero times infinity is used."""
        self.names.setdefault(index, name)
        if not facts.zero:
            self._nonzero.add(index)

    def may_vanish(self, index: int) -> bool:
        """False if a node is never zero, as far as the law of zero times infinity is concerned."""
        return self.facts[index].zero and index not in self._nonzero

    def is_truth(self, index: int) -> bool:
        """True if a node is a truth value."""
        node = self.nodes[index]
        if node.op == "number":
            return isinstance(node.data, bool)
        if node.op == "captured" and self.parent is not None:
            return self.parent.is_truth(node.data)
        if node.op == "where":
            return self.is_truth(node.args[1]) and self.is_truth(node.args[2])
        return TABLE[node.op].truth

    def captured(self, outer: int) -> int:
        """Index here of a node of the parent; a number is itself."""
        assert self.parent is not None
        value = self.parent.value(outer)
        if value is not None:
            return self.number(value)
        if outer not in self._captured:
            self._captured[outer] = self._append(Node("captured", (), outer), self.parent.facts[outer])
        return self._captured[outer]

    def _outside(self, index: int) -> int:
        assert self.parent is not None
        node = self.nodes[index]
        return node.data if node.op == "captured" else self.parent.number(node.data)

    def subgraph(self, result: int) -> tuple[Graph, tuple[int, ...]]:
        """Extract a result as a graph of its bound and captured inputs; return it and the captured nodes of the parent.

        Searches pass numbers on: a captured truth value becomes one again inside.
        """
        assert self.parent is not None
        live = Graph((), tuple(self.nodes), {"result": result}).live()
        captured = [index for index in live if self.nodes[index].op == "captured"]
        bound = [f"_x{index}" for index in range(len(self._bound))]
        names = [*bound, *(f"_k{index}" for index in range(len(captured)))]
        nodes = [Node("input", (), name) for name in names]
        facts = [self.facts[index] for index in (*self._bound, *captured)]
        moved = {index: at for at, index in enumerate((*self._bound, *captured))}
        for index in captured:
            if self.parent.is_truth(self.nodes[index].data):
                nodes.append(Node("truth", (moved[index],)))
                facts.append(self.facts[index])
                moved[index] = len(nodes) - 1
        for index in live:
            node = self.nodes[index]
            if node.op not in ("input", "captured"):
                nodes.append(Node(node.op, tuple(moved[arg] for arg in node.args), node.data))
                facts.append(self.facts[index])
                moved[index] = len(nodes) - 1
        graph = Graph(tuple(names), tuple(nodes), {"result": moved[result]}, {}, tuple(facts))
        return graph, tuple(self.nodes[index].data for index in captured)

    def graph(self, outputs: Mapping[str, int]) -> Graph:
        """Extract the live graph of some outputs, by name and index."""
        live = Graph((), tuple(self.nodes), outputs).live()
        moved = {index: at for at, index in enumerate(live)}
        nodes = [self.nodes[index] for index in live]
        return Graph(
            tuple(sorted(node.data for node in nodes if node.op == "input")),
            tuple(Node(node.op, tuple(moved[arg] for arg in node.args), node.data) for node in nodes),
            {name: moved[index] for name, index in outputs.items()},
            {moved[index]: name for index, name in self.names.items() if index in moved},
            tuple(self.facts[index] for index in live),
        )


def inlined(
    builder: Builder,
    graph: Graph,
    inputs: Mapping[str, int],
    change: Callable[..., tuple[Node, list[int]]] | None = None,
) -> list[int]:
    """Inline a graph into a builder, on nodes there for its inputs.

    Parameters
    ----------
    builder, graph, inputs
        Builder, graph, and index there per input.
    change : callable, optional
        Rewrites a node with a subgraph, and the indices of its operands.

    Returns
    -------
    list of int
        Index in the builder of each node.
    """
    copies: list[int] = []
    for index, node in enumerate(graph.nodes):
        if node.op == "input":
            at = inputs[node.data]
        elif node.op == "number":
            at = builder.number(node.data)
        else:
            args = [copies[arg] for arg in node.args]
            if change is not None and isinstance(node.data, Graph):
                node, args = change(node, args)
            at = builder.make(node.op, *args, data=node.data)
        if index in graph.names and builder.value(at) is None:
            builder.names.setdefault(at, graph.names[index])
        copies.append(at)
    return copies


def copied(graph: Graph) -> tuple[Builder, list[int]]:
    """Copy a graph into a new builder; return it and the indices of the nodes there."""
    builder = Builder()
    inputs = {
        node.data: builder.input(node.data, graph.facts[index])
        for index, node in enumerate(graph.nodes)
        if node.op == "input"
    }
    return builder, inlined(builder, graph, inputs)
