"""JavaScript of a System: the formulas as functions, for pages that answer without a server.

The functions that JavaScript has not stand in ``web/runtime.js``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from mlsysim.backends.compiled import graph_of
from mlsysim.errors import FormulaError
from mlsysim.graph import Graph
from mlsysim.graph.builder import Builder
from mlsysim.graph.graph import OWN, Node
from mlsysim.graph.lowering import Lowering, declared
from mlsysim.graph.operation import Operation, define
from mlsysim.graph.printer import NAME, Printer
from mlsysim.symbolic import System
from mlsysim.symbolic.exchange import free_symbols

#: The functions of ``web/runtime.js``.
RUNTIME = (
    "ceil", "erlang_c", "floor", "lawful", "least_integer", "mod", "normal_cdf", "normal_quantile", "root",
    "slots_busy",
)  # fmt: skip
#: Spaces that say nothing, and the object whose functions have names of their own in short JavaScript.
_SPACES = re.compile(
    r"(?<![-+]) (\?|:|\*{1,2}|[/+<>-]|[<>=!]=|&&|\|\||=>|=) (?![-+])|;? (})|([,;{]) |\bMath\.(?=[a-z])"
)
#: A function so short is printed where it is called.
SHORT = 60
LETTERS = "abcdeghijklmnopqrstuvwxyzABCDEFGHIJKLNOPQRSTUVWXYZ"
#: Names that no variable can have in JavaScript and that Python allows.
RESERVED = frozenset({
    "arguments", "case", "catch", "const", "debugger", "default", "delete", "do", "enum", "eval", "export", "extends",
    "false", "function", "implements", "instanceof", "interface", "let", "new", "null", "package", "private",
    "protected", "public", "static", "super", "switch", "this", "throw", "true", "typeof", "var", "void", "Infinity",
    "Math", "NaN", "undefined",
})  # fmt: skip


#: A function of another expression, on what its inputs are here.
CALLED = define(Operation("called", cost=1))


class Calling(Lowering):
    """Lowers values elsewhere to calls, where functions of the same steps are printed anyhow.

    Parameters
    ----------
    functions : Functions
        Where those functions stand.
    builder, outer, bound
        Of :class:`mlsysim.graph.lowering.Lowering`.
    """

    def __init__(self, functions: Functions, builder: Builder, outer: Any = None, bound: Iterable[Any] = ()) -> None:
        super().__init__(builder, outer, bound)
        self._functions = functions

    def scope(self, builder: Builder, bound: Iterable[Any]) -> Calling:
        """A scope within this one."""
        return Calling(self._functions, builder, self, bound)

    def step(self, expression: Any) -> int:
        """Place of a step: a call, unless there is nearly nothing to it."""
        needs = sorted(free_symbols(expression), key=lambda each: each.name)
        places = [self.place(each) for each in needs]
        if len(needs) == 0 or isinstance(expression, sympy.Symbol):
            return self.place(expression)
        own = Calling(self._functions, Builder())
        for each, place in zip(needs, places, strict=True):
            own.known[each] = own.builder.input(each.name, self.builder.facts[place])
        result = own.place(expression)
        graph = own.builder.graph({"result": result})
        text = self._functions.text(graph)
        if len(text) < SHORT:
            return self.place(expression)
        given = [places[[each.name for each in needs].index(name)] for name in graph.inputs]
        found = self.builder.make("called", *given, data=self._functions.named(text))
        self.builder.facts[found] = own.builder.facts[result]
        return found


class JavaScriptPrinter(Printer):
    """Prints graphs as JavaScript; refuses what has none.

    Parameters
    ----------
    short : bool, optional
        Whether names are letters.
    """

    def __init__(self, *, short: bool = False) -> None:
        super().__init__("javascript")
        self._short = short
        self._given = 0

    def named(self) -> str:
        """A name that is not taken."""
        self._given += 1
        return _short(self._given - 1) if self._short else f"_{self._given}"

    def name(self, variable: str) -> str:
        """Name of a variable."""
        if self._short:
            return self.named()
        return f"{variable}$" if variable in RESERVED or variable in RUNTIME else variable

    def temporary(self, place: int) -> str:
        """Name of what no variable is, which no function around it has: those around are captured."""
        return self.named()

    def call(self, op: str, operands: int) -> str:
        """Form of a function of ``web/runtime.js``."""
        if op not in RUNTIME:
            raise FormulaError(f"{op} has no JavaScript")
        return super().call(op, operands)

    def _expression(
        self, place: int, node: Node, said: list[tuple[str, int]], graph: Graph, laws: Any, lines: list[str]
    ) -> tuple[str, int]:
        if node.op == CALLED.name:
            return f"{node.data}({', '.join(text for text, _ in said)})", NAME
        return super()._expression(place, node, said, graph, laws, lines)

    def structured(self, place: int, node: Any, said: list[str], asked: list[Any], lines: list[str]) -> str:
        """A call with an arrow function, within which everything around it is known."""
        if node.op == "chunked":
            raise FormulaError("chunked prefill is a Markov chain that is solved step by step; it has no JavaScript")
        count = len(said) - (len(node.data.inputs) - OWN[node.op])
        for at in range(count, len(said)):
            if not said[at].replace("$", "").isidentifier() and not said[at].replace(".", "").isdigit():
                name = self.named()
                lines.append(self.assignment(name, said[at]))
                said[at] = name
        own, *captured = node.data.inputs
        bound = self.named()
        given = dict(zip((own, *captured), (bound, *said[count:]), strict=True))
        arrow = f"{bound} => {self.arrow_body(node.data, given)}"
        if node.op == "root":
            return f"root({arrow}, {said[0]}, {said[1]})"
        return f"least_integer({arrow}, {said[0]}, {said[1]})"

    def arrow_body(self, graph: Graph, given: dict[str, str]) -> str:
        """Body of an arrow function that returns the only output."""
        (result,), lines = self.body(graph, given)
        return f"{{ const {', '.join(lines)}; return {result}; }}" if lines else result

    def number(self, value: Any) -> str:
        """Text of a number."""
        if isinstance(value, bool):
            return "true" if value else "false"
        text = super().number(value).replace("inf", "Infinity").replace("nan", "NaN").replace("e-0", "e-")
        return text.removesuffix(".0")

    def definition(self, name: str, inputs: Sequence[str], lines: Sequence[str], result: str) -> str:
        """Definition of a function."""
        given = ", ".join(map(self.name, inputs))
        body = [*(f"  const {line};" for line in lines), f"  return {result};"]
        return "\n".join([f"function {name}({given}) {{", *body, "}", ""])


class Functions:
    """Functions of expressions, each printed once, however many formulas, variants and steps have the expression.

    Attributes
    ----------
    sources : dict
        Name of a function by its text.
    """

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}

    def of(self, graph: Graph) -> str:
        """Name of the function of a graph with one output; its arguments are the inputs in order.

        Raises
        ------
        FormulaError
            If an operation has no JavaScript.
        """
        return self.named(self.text(graph))

    def text(self, graph: Graph) -> str:
        """Text of that function."""
        printer = JavaScriptPrinter(short=True)
        given = {name: printer.named() for name in graph.inputs}
        return f"({', '.join(given.values())}) => {printer.arrow_body(graph, given)}"

    def named(self, text: str) -> str:
        """Name of the function with a text."""
        return self.sources.setdefault(text, f"f{len(self.sources)}")

    def script(self) -> str:
        """All functions, as short JavaScript; ``web/runtime.js`` has names for those of ``Math``.

        Those that are alike stand together, so that a page, which is compressed, is shorter.
        """
        alike = sorted(self.sources.items(), key=lambda each: (each[0].partition("=>")[0].count(","), len(each[0])))
        return "".join(f"const {name}={_SPACES.sub(_closed, text)};\n" for text, name in alike)


@dataclass(frozen=True)
class PrintedFormula:
    """A formula as a function of what it needs.

    Attributes
    ----------
    name : str
        The variable that it defines, or what was asked.
    function : str
        Name of the function.
    needs : tuple of str
        Names of its arguments, in order.
    """

    name: str
    function: str
    needs: tuple[str, ...]


def printed_formulas(
    system: System, functions: Functions, expressions: Iterable[tuple[str, sympy.Basic]] = ()
) -> tuple[list[PrintedFormula], list[PrintedFormula]]:
    """The formulas of a system in order of evaluation, and further expressions of its variables.

    Parameters
    ----------
    system : System
        Formulas to print.
    functions : Functions
        Where their functions are put.
    expressions : iterable of (str, sympy.Basic)
        Names, and the expressions they stand for.

    Raises
    ------
    FormulaError
        If one uses a function that has no JavaScript.
    """
    whole = graph_of(system)
    infinite = [name for name, place in whole.outputs.items() if whole.facts[place].infinite]

    def printed(name: str, expression: Any) -> PrintedFormula:
        lowering = Calling(functions, Builder())
        for each in infinite:
            lowering.builder.input(each, declared(each)._replace(infinite=True))
        try:
            graph = lowering.builder.graph({name: lowering.place(expression)})
            return PrintedFormula(name, functions.of(graph), graph.inputs)
        except FormulaError as error:
            raise FormulaError(f"{name}: {error}") from None

    return (
        [printed(formula.name, formula.expression) for formula in system],
        [printed(name, expression) for name, expression in expressions],
    )


def source(system: System) -> str:
    """A system as one function of its inputs, which returns every variable in order of evaluation.

    Raises
    ------
    FormulaError
        If a formula uses a function that has no JavaScript.
    """
    printer, graph = JavaScriptPrinter(), graph_of(system)
    texts, lines = printer.body(graph, {name: printer.name(name) for name in graph.inputs})
    return printer.definition("compiled", graph.inputs, lines, f"[{', '.join(texts)}]")


def _closed(match: re.Match[str]) -> str:
    return match[1] or match[2] or match[3] or ""


def _short(place: int) -> str:
    """A short name that is no word of the language: a, b, ..., z, a1, b1, ..."""
    return LETTERS[place % len(LETTERS)] + str(place // len(LETTERS) or "")
