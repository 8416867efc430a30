"""The builder of graphs, which is their optimizer: no node twice, no known number computed, nothing done in vain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlsysim.graph.facts import ANY, Facts, facts_of
from mlsysim.graph.graph import Graph, Node
from mlsysim.graph.operation import TABLE


class Builder:
    """Appends nodes. Equal ones are one, known ones are numbers, and a subgraph leaves outside what it need not repeat.

    Parameters
    ----------
    parent : Builder, optional
        Of a subgraph: where nodes go that depend on none of its own inputs.

    Attributes
    ----------
    nodes : list of Node
        In order.
    facts : list of Facts
        What holds of each.
    names : dict
        Variable that a node is, by place.
    """

    def __init__(self, parent: Builder | None = None) -> None:
        self.parent = parent
        self.nodes: list[Node] = []
        self.facts: list[Facts] = []
        self.names: dict[int, str] = {}
        self._own: list[int] = []
        self._nonzero: set[int] = set()
        self._known: dict[Any, int] = {}
        self._captured: dict[int, int] = {}

    def input(self, name: str, facts: Facts = ANY) -> int:
        """Place of an argument."""
        place = self._append(Node("input", (), name), facts)
        if place not in self._own:
            self._own.append(place)
        return place

    def number(self, value: Any) -> int:
        """Place of a constant."""
        # True, 1 and 1.0 are equal, and so are the two zeros.
        key = type(value), repr(value)
        place = self._known.get(key)
        return self._append(Node("number", (), value), facts_of(value), key) if place is None else place

    def make(self, op: str, *args: int, data: Any = None) -> int:
        """Place of an operation on earlier nodes, or of a simpler equal one."""
        place = self._known.get(Node(op, args, data))
        if place is not None:
            return place
        operation = TABLE[op]
        values = [node.data if node.op == "number" else None for node in [self.nodes[arg] for arg in args]]
        if args and operation.fold is not None and None not in values:
            subgraph = (data,) if isinstance(data, Graph) else ()
            if not any(each.has("chunked") for each in subgraph):
                return self.number(operation.fold(*subgraph, *values))
        if operation.alike is not None and len({*args[operation.alike :]}) == 1:
            return args[-1]
        if operation.simplify is not None:
            simpler = operation.simplify(values)
            if simpler is not None and simpler.op is not None:
                return self.make(simpler.op, *args)
            if simpler is not None:
                return self.number(simpler.number) if simpler.place is None else args[simpler.place]
        if self.parent is not None and data is None and all(self.nodes[a].op in ("captured", "number") for a in args):
            return self.captured(self.parent.make(op, *[self._outside(arg) for arg in args]))
        facts = operation.facts(*[self.facts[arg] for arg in args])
        return self._append(Node(op, args, data), facts)

    def value(self, place: int) -> Any:
        """The number at a place; None where it is not known."""
        node = self.nodes[place]
        return node.data if node.op == "number" else None

    def _append(self, node: Node, facts: Facts, key: Any = None) -> int:
        place = self._known.setdefault(key or node, len(self.nodes))
        if place == len(self.nodes):
            self.nodes.append(node)
            self.facts.append(facts)
        return place

    def declare(self, place: int, name: str, facts: Facts) -> None:
        """Name the variable that a node is. Of its declared facts, only the law of zero times infinity takes notice."""
        self.names.setdefault(place, name)
        if not facts.zero:
            self._nonzero.add(place)

    def may_vanish(self, place: int) -> bool:
        """False if a node is never zero, as far as the law of zero times infinity is concerned."""
        return self.facts[place].zero and place not in self._nonzero

    def is_truth(self, place: int) -> bool:
        """True if a node is a truth value."""
        node = self.nodes[place]
        if node.op == "number":
            return isinstance(node.data, bool)
        if node.op == "captured" and self.parent is not None:
            return self.parent.is_truth(node.data)
        if node.op == "where":
            return self.is_truth(node.args[1]) and self.is_truth(node.args[2])
        return TABLE[node.op].truth

    def captured(self, outer: int) -> int:
        """Place here of a node of the parent; a number is itself."""
        assert self.parent is not None
        value = self.parent.value(outer)
        if value is not None:
            return self.number(value)
        if outer not in self._captured:
            self._captured[outer] = self._append(Node("captured", (), outer), self.parent.facts[outer])
        return self._captured[outer]

    def _outside(self, place: int) -> int:
        assert self.parent is not None
        node = self.nodes[place]
        return node.data if node.op == "captured" else self.parent.number(node.data)

    def subgraph(self, result: int) -> tuple[Graph, tuple[int, ...]]:
        """Graph of a result whose inputs are the own ones and then what it captures, and places in the parent of these.

        Searches hand on numbers: a captured truth value is made one again within.
        """
        assert self.parent is not None
        live = Graph((), tuple(self.nodes), {"result": result}).live()
        captured = [place for place in live if self.nodes[place].op == "captured"]
        own = [f"_x{place}" for place in range(len(self._own))]
        names = [*own, *(f"_k{place}" for place in range(len(captured)))]
        nodes = [Node("input", (), name) for name in names]
        facts = [self.facts[place] for place in (*self._own, *captured)]
        moved = {place: at for at, place in enumerate((*self._own, *captured))}
        for place in captured:
            if self.parent.is_truth(self.nodes[place].data):
                nodes.append(Node("truth", (moved[place],)))
                facts.append(self.facts[place])
                moved[place] = len(nodes) - 1
        for place in live:
            node = self.nodes[place]
            if node.op not in ("input", "captured"):
                nodes.append(Node(node.op, tuple(moved[arg] for arg in node.args), node.data))
                facts.append(self.facts[place])
                moved[place] = len(nodes) - 1
        graph = Graph(tuple(names), tuple(nodes), {"result": moved[result]}, {}, tuple(facts))
        return graph, tuple(self.nodes[place].data for place in captured)

    def graph(self, outputs: Mapping[str, int]) -> Graph:
        """The graph of some outputs, by name and place, without what none of them needs."""
        live = Graph((), tuple(self.nodes), outputs).live()
        moved = {place: at for at, place in enumerate(live)}
        nodes = [self.nodes[place] for place in live]
        return Graph(
            tuple(sorted(node.data for node in nodes if node.op == "input")),
            tuple(Node(node.op, tuple(moved[arg] for arg in node.args), node.data) for node in nodes),
            {name: moved[place] for name, place in outputs.items()},
            {moved[place]: name for place, name in self.names.items() if place in moved},
            tuple(self.facts[place] for place in live),
        )


def inlined(
    builder: Builder,
    graph: Graph,
    given: Mapping[str, int],
    change: Callable[..., tuple[Node, list[int]]] | None = None,
) -> list[int]:
    """Put a graph into a builder, with places there for its inputs.

    Parameters
    ----------
    builder, graph, given
        Where nodes go, and place per input.
    change : callable, optional
        From a node with a subgraph and the places of its operands to both as they are built.

    Returns
    -------
    list of int
        Place in the builder of each node.
    """
    places: list[int] = []
    for place, node in enumerate(graph.nodes):
        if node.op == "input":
            at = given[node.data]
        elif node.op == "number":
            at = builder.number(node.data)
        else:
            args = [places[arg] for arg in node.args]
            if change is not None and isinstance(node.data, Graph):
                node, args = change(node, args)
            at = builder.make(node.op, *args, data=node.data)
        if place in graph.names and builder.value(at) is None:
            builder.names.setdefault(at, graph.names[place])
        places.append(at)
    return places


def copied(graph: Graph) -> tuple[Builder, list[int]]:
    """A builder that starts from a graph, and the places of its nodes there."""
    builder = Builder()
    given = {
        node.data: builder.input(node.data, graph.facts[place])
        for place, node in enumerate(graph.nodes)
        if node.op == "input"
    }
    return builder, inlined(builder, graph, given)
