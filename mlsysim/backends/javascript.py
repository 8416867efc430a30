"""JavaScript of a System: the formulas as functions, for pages that answer without a server.

Functions that JavaScript lacks stand in ``web/runtime.js``.
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
#: Spaces that mean nothing, and the object whose functions have names of their own in short JavaScript.
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


#: Call of the function of another expression.
CALLED = define(Operation("called", cost=1))


class Calling(Lowering):
    """Lowering of values elsewhere to calls of functions that are printed once for equal steps.

    Parameters
    ----------
    functions : Functions
        Collects those functions.
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
        """Lower a step to a call, unless it is too short for one."""
        needs = sorted(free_symbols(expression), key=lambda each: each.name)
        arguments = [self.lower(symbol) for symbol in needs]
        if len(needs) == 0 or isinstance(expression, sympy.Symbol):
            return self.lower(expression)
        own = Calling(self._functions, Builder())
        for symbol, argument in zip(needs, arguments, strict=True):
            own.known[symbol] = own.builder.input(symbol.name, self.builder.facts[argument])
        result = own.lower(expression)
        graph = own.builder.graph({"result": result})
        text = self._functions.text(graph)
        if len(text) < SHORT:
            return self.lower(expression)
        ordered = [arguments[[symbol.name for symbol in needs].index(name)] for name in graph.inputs]
        call = self.builder.make("called", *ordered, data=self._functions.named(text))
        self.builder.facts[call] = own.builder.facts[result]
        return call


class JavaScriptPrinter(Printer):
    """Printer of graphs as JavaScript; refuses operations that have none.

    Parameters
    ----------
    short : bool, optional
        Use letters as names.
    """

    def __init__(self, *, short: bool = False) -> None:
        super().__init__("javascript")
        self._short = short
        self._name_count = 0

    def named(self) -> str:
        """A name that is not taken."""
        self._name_count += 1
        return _short(self._name_count - 1) if self._short else f"_{self._name_count}"

    def name(self, variable: str) -> str:
        """Name of a variable."""
        if self._short:
            return self.named()
        return f"{variable}$" if variable in RESERVED or variable in RUNTIME else variable

    def temporary(self, index: int) -> str:
        """Name of an unnamed value; unique, since functions capture the names around them."""
        return self.named()

    def call(self, op: str, operands: int) -> str:
        """Form of a function of ``web/runtime.js``."""
        if op not in RUNTIME:
            raise FormulaError(f"{op} has no JavaScript")
        return super().call(op, operands)

    def _expression(
        self, index: int, node: Node, printed: list[tuple[str, int]], graph: Graph, laws: Any, lines: list[str]
    ) -> tuple[str, int]:
        if node.op == CALLED.name:
            return f"{node.data}({', '.join(text for text, _ in printed)})", NAME
        return super()._expression(index, node, printed, graph, laws, lines)

    def structured(self, index: int, node: Any, texts: list[str], requested: list[Any], lines: list[str]) -> str:
        """Call with an arrow function, which captures the values around it."""
        if node.op == "chunked":
            raise FormulaError("chunked prefill is a Markov chain that is solved step by step; it has no JavaScript")
        count = len(texts) - (len(node.data.inputs) - OWN[node.op])
        for position in range(count, len(texts)):
            if not texts[position].replace("$", "").isidentifier() and not texts[position].replace(".", "").isdigit():
                name = self.named()
                lines.append(self.assignment(name, texts[position]))
                texts[position] = name
        own, *captured = node.data.inputs
        bound = self.named()
        names = dict(zip((own, *captured), (bound, *texts[count:]), strict=True))
        arrow = f"{bound} => {self.arrow_body(node.data, names)}"
        if node.op == "root":
            return f"root({arrow}, {texts[0]}, {texts[1]})"
        return f"least_integer({arrow}, {texts[0]}, {texts[1]})"

    def arrow_body(self, graph: Graph, names: dict[str, str]) -> str:
        """Body of an arrow function that returns the only output."""
        (result,), lines = self.body(graph, names)
        return f"{{ const {', '.join(lines)}; return {result}; }}" if lines else result

    def number(self, value: Any) -> str:
        """Text of a number."""
        if isinstance(value, bool):
            return "true" if value else "false"
        text = super().number(value).replace("inf", "Infinity").replace("nan", "NaN").replace("e-0", "e-")
        return text.removesuffix(".0")

    def definition(self, name: str, inputs: Sequence[str], lines: Sequence[str], result: str) -> str:
        """Definition of a function."""
        parameters = ", ".join(map(self.name, inputs))
        body = [*(f"  const {line};" for line in lines), f"  return {result};"]
        return "\n".join([f"function {name}({parameters}) {{", *body, "}", ""])


class Functions:
    """Functions of expressions, each printed once, however many formulas, variants and steps share it.

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
        names = {name: printer.named() for name in graph.inputs}
        return f"({', '.join(names.values())}) => {printer.arrow_body(graph, names)}"

    def named(self, text: str) -> str:
        """Name of the function with a text."""
        return self.sources.setdefault(text, f"f{len(self.sources)}")

    def script(self) -> str:
        """All functions, as short JavaScript; ``web/runtime.js`` has names for those of ``Math``.

        Similar functions stand together, so that a page compresses better.
        """
        similar = sorted(self.sources.items(), key=lambda pair: (pair[0].partition("=>")[0].count(","), len(pair[0])))
        return "".join(f"const {name}={_SPACES.sub(_closed, text)};\n" for text, name in similar)


@dataclass(frozen=True)
class PrintedFormula:
    """Formula as a function of its arguments.

    Attributes
    ----------
    name : str
        The variable that it defines, or the name of an expression.
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
    """Print the formulas of a system in order of evaluation, and further expressions of its variables.

    Parameters
    ----------
    system : System
        Formulas to print.
    functions : Functions
        Collects their functions.
    expressions : iterable of (str, sympy.Basic)
        Names, and the expressions they stand for.

    Raises
    ------
    FormulaError
        If one uses a function that has no JavaScript.
    """
    whole = graph_of(system)
    infinite = [name for name, index in whole.outputs.items() if whole.facts[index].infinite]

    def printed(name: str, expression: Any) -> PrintedFormula:
        lowering = Calling(functions, Builder())
        for variable in infinite:
            lowering.builder.input(variable, declared(variable)._replace(infinite=True))
        try:
            graph = lowering.builder.graph({name: lowering.lower(expression)})
            return PrintedFormula(name, functions.of(graph), graph.inputs)
        except FormulaError as error:
            raise FormulaError(f"{name}: {error}") from None

    return (
        [printed(formula.name, formula.expression) for formula in system],
        [printed(name, expression) for name, expression in expressions],
    )


def source(system: System) -> str:
    """Print a system as one function of its inputs, which returns every variable in order of evaluation.

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


def _short(number: int) -> str:
    """Short name that is no word of the language: a, b, ..., z, a1, b1, ..."""
    return LETTERS[number % len(LETTERS)] + str(number // len(LETTERS) or "")
