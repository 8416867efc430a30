"""Source text of a graph: one printer for Python and JavaScript."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlsysim.graph.facts import Facts
from mlsysim.graph.graph import OWN, Graph, Node
from mlsysim.graph.operation import TABLE
from mlsysim.symbolic.chunked_prefill import PRECISION

#: Deepest expression on one line; Python refuses much deeper ones.
DEEPEST = 12

#: ``rule(operands, facts)``: how a backend prints an operation by what is known of its operands.
Rule = Callable[[Sequence[str], Sequence[Facts]], str]


class Printer:
    """Prints graphs: a line for a variable, for what is used twice and for what is deep, the rest within.

    Parameters
    ----------
    column : {"text", "floats"}
        Attribute of the operations that is printed.
    rules : mapping, optional
        Rule per operation that is printed in another way.
    """

    def __init__(self, column: str, rules: Mapping[str, Rule] | None = None) -> None:
        self._texts = {name: getattr(op, column) or op.text for name, op in TABLE.items()}
        self._rules = rules or {}

    def function(self, name: str, graph: Graph, *, single: bool = False) -> str:
        """Definition of a function of the inputs that returns a list of the outputs, or the only output."""
        return "\n".join(self._definition(name, graph, single=single))

    def _definition(self, name: str, graph: Graph, *, single: bool) -> list[str]:
        texts, lines = self._lines(graph)
        result = ", ".join(texts[place] for place in graph.outputs.values())
        lines.append(f"return {result if single else f'[{result}]'}")
        return [f"def {name}({', '.join(graph.inputs)}):", *(f"    {line}" for line in lines)]

    def _lines(self, graph: Graph) -> tuple[list[str], list[str]]:
        """Text that stands for each node, and the lines before it."""
        live = graph.live()
        uses = [0] * len(graph.nodes)
        for place in live:
            for arg in graph.nodes[place].args:
                uses[arg] += 1
        for place in graph.outputs.values():
            uses[place] += 1
        laws = _laws(graph, live)
        texts, depth = [""] * len(graph.nodes), [0] * len(graph.nodes)
        lines: list[str] = []
        taken = set(graph.inputs)
        for place in live:
            node = graph.nodes[place]
            if node.op == "input":
                texts[place] = node.data
                continue
            if node.op == "number":
                texts[place] = number(node.data)
                continue
            text = self._expression(place, node, texts, graph, laws, lines)
            depth[place] = 1 + max(depth[arg] for arg in node.args)
            named = place in graph.names and graph.names[place] not in taken
            if named or uses[place] > 1 or depth[place] > DEEPEST:
                name = graph.names[place] if named else f"_{place}"
                taken.add(name)
                lines.append(f"{name} = {text}")
                texts[place], depth[place] = name, 0
            else:
                texts[place] = f"({text})"
        return texts, lines

    def _expression(
        self, place: int, node: Node, texts: list[str], graph: Graph, laws: Mapping[int, list[Any]], lines: list[str]
    ) -> str:
        said = [texts[arg] for arg in node.args]
        if isinstance(node.data, Graph):
            function = f"_f{place}"
            # The law runs its time of an iteration on arrays, whatever calls the law.
            printer = Printer("text") if node.op == "chunked" else self
            lines += printer._definition(function, node.data, single=True)
            return self._structured(node, function, said, laws.get(place, []))
        if node.op in ("answer", "attained"):
            (law,) = node.args
            return f"{said[0]}[{laws[law].index(node.data)}]"
        rule = self._rules.get(node.op)
        if rule is not None:
            return rule(said, [graph.facts[arg] for arg in node.args])
        return self._texts[node.op].format(*said) if self._texts[node.op] else f"{node.op}({', '.join(said)})"

    def _structured(self, node: Node, function: str, said: list[str], asked: list[Any]) -> str:
        """A call of what takes a function and what that captures."""
        count = len(node.args) - (len(node.data.inputs) - OWN[node.op])
        own, given = said[:count], _tuple(said[count:])
        if node.op == "root":
            within = f", {PRECISION}" if node.data.has("chunked") else ""
            return f"root({function}, {own[0]}, {own[1]}, {given}{within})"
        if node.op == "least_integer":
            return f"least_integer({function}, {own[0]}, {given}, {own[1]})"
        return f"chunked_prefill({tuple(asked)!r}, {function}, {_tuple(own)}, {given})"


def _laws(graph: Graph, live: Sequence[int]) -> dict[int, list[Any]]:
    """Outputs and shares that are asked of each law, by its place."""
    found: dict[int, list[Any]] = {}
    for place in live:
        node = graph.nodes[place]
        if node.op in ("answer", "attained"):
            asked = found.setdefault(node.args[0], [])
            if node.data not in asked:
                asked.append(node.data)
    return found


def _tuple(texts: Sequence[str]) -> str:
    return f"({''.join(f'{text}, ' for text in texts)})"


def number(value: Any) -> str:
    """A number in Python, in which infinity and nan are names."""
    if isinstance(value, bool):
        return repr(value)
    if value != value:
        return "nan"
    if abs(value) == math.inf:
        return "inf" if value > 0 else "(-inf)"
    text = repr(float(value))
    return f"({text})" if text[0] == "-" else text
