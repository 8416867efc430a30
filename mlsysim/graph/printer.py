"""Printer of a graph as source text: one printer, with a column of the operation table per language."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlsysim.graph.facts import Facts
from mlsysim.graph.graph import OWN, Graph, Node
from mlsysim.graph.operation import TABLE
from mlsysim.graph.operations.chunked import PICKS
from mlsysim.graph.passes.derivative import gradient
from mlsysim.symbolic.chunked_prefill import PRECISION

#: Deepest expression on one line; Python refuses much deeper ones.
DEEPEST = 12

#: Precedence of operators; a text without operators binds like a name.
LEVELS = {"add": 2, "subtract": 2, "multiply": 3, "divide": 3} | dict.fromkeys(
    ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"), 1
)
LOOSE, NAME = 0, 4
#: Operations that bind less tightly than all other operators, but for ``&`` and ``|`` of arrays.
JOINING = frozenset({"where", "both", "either"})

#: ``rule(operands, facts)``: text of an operation by the facts of its operands.
Rule = Callable[[Sequence[str], Sequence[Facts]], str]


class Printer:
    """Printer of graphs: a line per variable, per common subexpression and per deep expression, the rest inline.

    Parameters
    ----------
    column : {"text", "floats", "javascript"}
        Column of the operation table to print.
    rules : mapping, optional
        Rule per operation that is printed differently.
    """

    def __init__(self, column: str, rules: Mapping[str, Rule] | None = None) -> None:
        self._column = column
        self._texts = {name: getattr(op, column) or op.text for name, op in TABLE.items()}
        self._rules = rules or {}

    def function(self, name: str, graph: Graph) -> str:
        """Print a function of the inputs that returns a list of the outputs."""
        texts, lines = self.body(graph, {input_name: input_name for input_name in graph.inputs})
        return self.definition(name, graph.inputs, lines, f"[{', '.join(texts)}]")

    def body(self, graph: Graph, names: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """Print the outputs, and the lines before them; ``given`` names the inputs."""
        live = graph.live()
        uses = [0] * len(graph.nodes)
        for index in live:
            for arg in graph.nodes[index].args:
                uses[arg] += 1
        for index in graph.outputs.values():
            uses[index] += 1
        laws = _laws(graph, live)
        texts, levels, depth = [""] * len(graph.nodes), [NAME] * len(graph.nodes), [0] * len(graph.nodes)
        lines: list[str] = []
        taken = set(names.values())
        for index in live:
            node = graph.nodes[index]
            if node.op == "input":
                texts[index] = names[node.data]
                continue
            if node.op == "number":
                texts[index] = self.number(node.data)
                levels[index] = LOOSE if texts[index].startswith("-") else NAME
                continue
            printed = [(texts[arg], levels[arg]) for arg in node.args]
            if self._texts[node.op] == "{0}":
                texts[index], levels[index] = printed[0]
                continue
            text, level = self._expression(index, node, printed, graph, laws, lines)
            depth[index] = 1 + max(depth[arg] for arg in node.args)
            called = graph.names.get(index)
            named = called is not None and self.name(called) not in taken
            if named or uses[index] > 1 or depth[index] > DEEPEST:
                name = self.name(called) if called is not None and named else self.temporary(index)
                taken.add(name)
                lines.append(self.assignment(name, text))
                text, level, depth[index] = name, NAME, 0
            texts[index], levels[index] = text, level
        return [texts[index] for index in graph.outputs.values()], lines

    def _expression(
        self, index: int, node: Node, printed: list[tuple[str, int]], graph: Graph, laws: Any, lines: list[str]
    ) -> tuple[str, int]:
        """Print a node; return its text and how tightly it binds."""
        texts = [text for text, _ in printed]
        if isinstance(node.data, Graph):
            return self.structured(index, node, texts, laws.get(index, []), lines), NAME
        if node.op in PICKS:
            return f"{texts[0]}[{laws[node.args[0]].index(node.data)}]", NAME
        if node.op in self._rules:
            closed = [_closed(text, level, NAME) for text, level in printed]
            text = self._rules[node.op](closed, [graph.facts[arg] for arg in node.args])
            return text, _level(node.op, text)
        form = self._texts[node.op] or self.call(node.op, len(printed))
        level = _level(node.op, form)
        if level < NAME:
            # Operators of equal strength group to the left.
            left, right = (max(level, 2), level + 1) if level else (self._loosest(node.op),) * 2
            texts = [_closed(*pair, right if at else left) for at, pair in enumerate(printed)]
        return form.format(*texts), level

    def _loosest(self, op: str) -> int:
        """Strength with which operands must bind in an operation that does not bind itself."""
        return LOOSE + 1 if self._column != "text" and op in JOINING else NAME

    def structured(self, index: int, node: Node, texts: list[str], requested: list[Any], lines: list[str]) -> str:
        """Print a call of an operation on a function and its captured values; the function stands on lines before."""
        function = f"_f{index}"
        # The law runs its time of an iteration on arrays, whatever calls the law.
        printer = Printer("text") if node.op == "chunked" else self
        (result,), within = printer.body(node.data, {name: name for name in node.data.inputs})
        lines += printer.definition(function, node.data.inputs, within, result).split("\n")
        count = len(texts) - (len(node.data.inputs) - OWN[node.op])
        own, captured = texts[:count], _tuple(texts[count:])
        if node.op == "root":
            within_ = f", {PRECISION}" if node.data.has("chunked") else ""
            return f"root({function}, {own[0]}, {own[1]}, {captured}{within_})"
        if node.op == "least_integer":
            return f"least_integer({function}, {own[0]}, {captured}, {own[1]})"
        call = f"chunked_prefill({tuple(requested)!r}, {function}, {_tuple(own)}, {captured}"
        if all(len(request) == 2 or request[2] < count for request in requested):
            return f"{call})"
        slopes = gradient(node.data, "result", node.data.inputs[OWN["chunked"] :])
        lines += printer.function(f"{function}_slopes", slopes).split("\n")
        return f"{call}, {function}_slopes)"

    def call(self, op: str, operands: int) -> str:
        """Format of an operation that is a function."""
        return f"{op}({', '.join(f'{{{index}}}' for index in range(operands))})"

    def name(self, variable: str) -> str:
        """Name of a variable."""
        return variable

    def temporary(self, index: int) -> str:
        """Name of an unnamed value."""
        return f"_{index}"

    def assignment(self, name: str, text: str) -> str:
        """Line that gives a name to a text."""
        return f"{name} = {text}"

    def definition(self, name: str, inputs: Sequence[str], lines: Sequence[str], result: str) -> str:
        """Definition of a function."""
        body = [f"    {line}" for line in (*lines, f"return {result}")]
        return "\n".join([f"def {name}({', '.join(inputs)}):", *body])

    def number(self, value: Any) -> str:
        """Text of a number; infinity and nan have names."""
        if isinstance(value, bool):
            return repr(value)
        if value != value:
            return "nan"
        if abs(value) == math.inf:
            return "inf" if value > 0 else "-inf"
        return repr(float(value))


def _level(op: str, form: str) -> int:
    """Strength with which the text of an operation binds: a call like a name, others without a level not at all."""
    if op in LEVELS:
        return LEVELS[op]
    head = form.partition("(")[0]
    return NAME if form.endswith(")") and head and all(part.isidentifier() for part in head.split(".")) else LOOSE


def _closed(text: str, level: int, least: int) -> str:
    return text if level >= least else f"({text})"


def _laws(graph: Graph, live: Sequence[int]) -> dict[int, list[Any]]:
    """Outputs requested of each law, by its index: outputs with shares, and slopes of them by an operand."""
    requested_by_law: dict[int, list[Any]] = {}
    for index in live:
        node = graph.nodes[index]
        if node.op in PICKS:
            requested = requested_by_law.setdefault(node.args[0], [])
            if node.data not in requested:
                requested.append(node.data)
    return requested_by_law


def _tuple(texts: Sequence[str]) -> str:
    return f"({''.join(f'{text}, ' for text in texts)})"
