"""Source text of a graph: one printer, of which each language writes its own words."""

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

#: How tightly operators bind; a text with none of them binds like a name.
LEVELS = {"add": 2, "subtract": 2, "multiply": 3, "divide": 3} | dict.fromkeys(
    ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"), 1
)
LOOSE, NAME = 0, 4
#: What binds less tightly than all other operators, but for ``&`` and ``|`` of arrays.
JOINING = frozenset({"where", "both", "either"})

#: ``rule(operands, facts)``: how a backend prints an operation by what is known of its operands.
Rule = Callable[[Sequence[str], Sequence[Facts]], str]


class Printer:
    """Prints graphs: a line for a variable, for what is used twice and for what is deep, the rest within.

    Parameters
    ----------
    column : {"text", "floats", "javascript"}
        Attribute of the operations that is printed.
    rules : mapping, optional
        Rule per operation that is printed in another way.
    """

    def __init__(self, column: str, rules: Mapping[str, Rule] | None = None) -> None:
        self._column = column
        self._texts = {name: getattr(op, column) or op.text for name, op in TABLE.items()}
        self._rules = rules or {}

    def function(self, name: str, graph: Graph) -> str:
        """Definition of a function of the inputs that returns a list of the outputs."""
        texts, lines = self.body(graph, {each: each for each in graph.inputs})
        return self.definition(name, graph.inputs, lines, f"[{', '.join(texts)}]")

    def body(self, graph: Graph, given: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """Texts of the outputs, and the lines before them; ``given`` says what inputs are called."""
        live = graph.live()
        uses = [0] * len(graph.nodes)
        for place in live:
            for arg in graph.nodes[place].args:
                uses[arg] += 1
        for place in graph.outputs.values():
            uses[place] += 1
        laws = _laws(graph, live)
        texts, levels, depth = [""] * len(graph.nodes), [NAME] * len(graph.nodes), [0] * len(graph.nodes)
        lines: list[str] = []
        taken = set(given.values())
        for place in live:
            node = graph.nodes[place]
            if node.op == "input":
                texts[place] = given[node.data]
                continue
            if node.op == "number":
                texts[place] = self.number(node.data)
                levels[place] = LOOSE if texts[place].startswith("-") else NAME
                continue
            said = [(texts[arg], levels[arg]) for arg in node.args]
            if self._texts[node.op] == "{0}":
                texts[place], levels[place] = said[0]
                continue
            text, level = self._expression(place, node, said, graph, laws, lines)
            depth[place] = 1 + max(depth[arg] for arg in node.args)
            called = graph.names.get(place)
            named = called is not None and self.name(called) not in taken
            if named or uses[place] > 1 or depth[place] > DEEPEST:
                name = self.name(called) if called is not None and named else self.temporary(place)
                taken.add(name)
                lines.append(self.assignment(name, text))
                text, level, depth[place] = name, NAME, 0
            texts[place], levels[place] = text, level
        return [texts[place] for place in graph.outputs.values()], lines

    def _expression(
        self, place: int, node: Node, said: list[tuple[str, int]], graph: Graph, laws: Any, lines: list[str]
    ) -> tuple[str, int]:
        """Text of a node, and how tightly it binds."""
        texts = [text for text, _ in said]
        if isinstance(node.data, Graph):
            return self.structured(place, node, texts, laws.get(place, []), lines), NAME
        if node.op in PICKS:
            return f"{texts[0]}[{laws[node.args[0]].index(node.data)}]", NAME
        if node.op in self._rules:
            closed = [_closed(text, level, NAME) for text, level in said]
            text = self._rules[node.op](closed, [graph.facts[arg] for arg in node.args])
            return text, _level(node.op, text)
        form = self._texts[node.op] or self.call(node.op, len(said))
        level = _level(node.op, form)
        if level < NAME:
            # What stands on the right of an operator of the same strength would be grouped with what is on its left.
            left, right = (max(level, 2), level + 1) if level else (self._loosest(node.op),) * 2
            texts = [_closed(*each, right if at else left) for at, each in enumerate(said)]
        return form.format(*texts), level

    def _loosest(self, op: str) -> int:
        """Strength with which operands of an operation must bind that itself does not."""
        return LOOSE + 1 if self._column != "text" and op in JOINING else NAME

    def structured(self, place: int, node: Node, said: list[str], asked: list[Any], lines: list[str]) -> str:
        """A call of what takes a function and what that captures; the function stands on lines before."""
        function = f"_f{place}"
        # The law runs its time of an iteration on arrays, whatever calls the law.
        printer = Printer("text") if node.op == "chunked" else self
        (result,), within = printer.body(node.data, {each: each for each in node.data.inputs})
        lines += printer.definition(function, node.data.inputs, within, result).split("\n")
        count = len(said) - (len(node.data.inputs) - OWN[node.op])
        own, given = said[:count], _tuple(said[count:])
        if node.op == "root":
            within_ = f", {PRECISION}" if node.data.has("chunked") else ""
            return f"root({function}, {own[0]}, {own[1]}, {given}{within_})"
        if node.op == "least_integer":
            return f"least_integer({function}, {own[0]}, {given}, {own[1]})"
        call = f"chunked_prefill({tuple(asked)!r}, {function}, {_tuple(own)}, {given}"
        if all(len(each) == 2 or each[2] < count for each in asked):
            return f"{call})"
        slopes = gradient(node.data, "result", node.data.inputs[OWN["chunked"] :])
        lines += printer.function(f"{function}_slopes", slopes).split("\n")
        return f"{call}, {function}_slopes)"

    def call(self, op: str, operands: int) -> str:
        """Form of an operation that is a function."""
        return f"{op}({', '.join(f'{{{place}}}' for place in range(operands))})"

    def name(self, variable: str) -> str:
        """Name of a variable."""
        return variable

    def temporary(self, place: int) -> str:
        """Name of what no variable is."""
        return f"_{place}"

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
    """Strength with which the text of an operation binds: a call like a name, what has no level not at all."""
    if op in LEVELS:
        return LEVELS[op]
    head = form.partition("(")[0]
    return NAME if form.endswith(")") and head and all(part.isidentifier() for part in head.split(".")) else LOOSE


def _closed(text: str, level: int, least: int) -> str:
    return text if level >= least else f"({text})"


def _laws(graph: Graph, live: Sequence[int]) -> dict[int, list[Any]]:
    """Answers asked of each law, by its place: outputs with shares, and slopes of them by an operand."""
    found: dict[int, list[Any]] = {}
    for place in live:
        node = graph.nodes[place]
        if node.op in PICKS:
            asked = found.setdefault(node.args[0], [])
            if node.data not in asked:
                asked.append(node.data)
    return found


def _tuple(texts: Sequence[str]) -> str:
    return f"({''.join(f'{text}, ' for text in texts)})"
