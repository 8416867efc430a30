"""JavaScript of a System: the formulas as functions, for pages that answer without a server.

What an expression means is printed as for NumPy; the functions that JavaScript has not stand in ``web/runtime.js``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy.printing.precedence import PRECEDENCE

from mlsysim.backends.laws import SolvedLaw
from mlsysim.backends.printer import CodePrinter, exceeded
from mlsysim.backends.zeros import kept_zero
from mlsysim.errors import FormulaError
from mlsysim.symbolic import ChunkedPrefill, EvaluatedAt, LeastInteger, Root, System, lower

#: What the neutral functions are called where the language has them.
OWN_NAMES = {
    name: f"Math.{called}" for name, called in {"absolute": "abs", "exp": "exp", "log": "log", "sqrt": "sqrt"}.items()
}
#: The functions of ``web/runtime.js``.
RUNTIME = (
    "beside",
    "ceil",
    "erlang_c",
    "floor",
    "least_integer",
    "mod",
    "normal_cdf",
    "normal_quantile",
    "power",
    "root",
    "slots_busy",
)
#: Spaces that say nothing, and the object whose functions have names of their own in short JavaScript.
_SPACES = re.compile(r"(?<![-+]) (\?|:|[*+<>-]|[<>=!]=|&&|\|\||=>|=) (?![-+])|(,) |\bMath\.(?=[a-z])")
LETTERS = "abcdeghijklmnopqrstuvwxyzABCDEFGHIJKLNOPQRSTUVWXYZ"
#: Names that no variable can have in JavaScript and that Python allows.
RESERVED = frozenset({
    "arguments", "case", "catch", "const", "debugger", "default", "delete", "do", "enum", "eval", "export", "extends",
    "false", "function", "implements", "instanceof", "interface", "let", "new", "null", "package", "private",
    "protected", "public", "static", "super", "switch", "this", "throw", "true", "typeof", "var", "void", "Infinity",
    "Math", "NaN", "undefined",
})  # fmt: skip


class JavaScriptPrinter(CodePrinter):
    """Expression to JavaScript; refuses what has no rule."""

    language = "JavaScript"

    def __init__(self, functions: Functions | None = None) -> None:
        super().__init__()
        self._functions = functions
        self._steps: list[list[str]] = [[]]
        self.short: dict[sympy.Symbol, str] = {}

    def printed(self, expression: Any) -> str:
        """A function body that returns an expression."""
        self._steps.append([])
        return self._body(self._print(expression))

    def name(self, symbol: sympy.Symbol) -> str:
        """What a variable is called."""
        return f"{symbol.name}$" if symbol.name in RESERVED or symbol.name in RUNTIME else symbol.name

    def _body(self, source: str) -> str:
        steps = self._steps.pop()
        return f"{{ let {', '.join(dict.fromkeys(steps))}; return {source}; }}" if steps else source

    def _print_Symbol(self, expr: sympy.Symbol) -> str:
        return self.short.get(expr) or self.name(expr)

    def _print_Dummy(self, expr: sympy.Dummy) -> str:
        if self._functions is None:
            return super()._print_Dummy(expr)
        return self.short.setdefault(expr, _short(len(self.short)))

    def _print_Infinity(self, expr: Any) -> str:
        return "Infinity"

    def _print_NegativeInfinity(self, expr: Any) -> str:
        return "-Infinity"

    def _print_Exp1(self, expr: Any) -> str:
        return "Math.E"

    def _print_BooleanTrue(self, expr: Any) -> Any:
        return "true"

    def _print_BooleanFalse(self, expr: Any) -> Any:
        return "false"

    def _call(self, name: str, expr: sympy.Basic) -> str:
        return super()._call(OWN_NAMES.get(name, name), expr)

    def _print_Pow(self, expr: sympy.Pow, rational: bool = False) -> str:
        if expr.exp == sympy.S.Half:
            return f"Math.sqrt({self._print(expr.base)})"
        if expr.exp == -sympy.S.Half:
            return f"1/Math.sqrt({self._print(expr.base)})"
        if expr.exp == -1:
            return f"1/{self.parenthesize(expr.base, PRECEDENCE['Pow'])}"
        return f"power({self._print(expr.base)}, {self._print(expr.exp)})"

    def _print_Max(self, expr: Any) -> str:
        return f"Math.max({', '.join(map(self._print, expr.args))})"

    def _print_Min(self, expr: Any) -> str:
        return f"Math.min({', '.join(map(self._print, expr.args))})"

    def _print_Piecewise(self, expr: sympy.Piecewise) -> str:
        cases: list[Any] = list(expr.args)
        last = self._print(cases.pop().expr) if cases[-1].cond == True else "NaN"  # noqa: E712
        return f"({''.join(f'{self._print(case.cond)} ? {self._print(case.expr)} : ' for case in cases)}{last})"

    def _print_ITE(self, expr: Any) -> str:
        condition, then, otherwise = (self._print(arg) for arg in expr.args)
        return f"({condition} ? {then} : {otherwise})"

    def _print_And(self, expr: Any) -> str:
        return f"({' && '.join(map(self._print, expr.args))})"

    def _print_Or(self, expr: Any) -> str:
        return f"({' || '.join(map(self._print, expr.args))})"

    def _print_Not(self, expr: Any) -> str:
        return f"!({self._print(expr.args[0])})"

    def _print_EvaluatedAt(self, expr: EvaluatedAt) -> str:
        steps = [(self._print(symbol), self._step(step)) for symbol, step in expr.definitions]
        self._steps[-1] += [name for name, _ in steps]
        return f"({', '.join(f'{name} = {step}' for name, step in steps)})"

    def _step(self, step: Any) -> str:
        if self._functions is None or not step.args:
            return self._print(step)
        return f"{self._functions.of(step)}({', '.join(map(self._print, _free(step)))})"

    def _print_LeastInteger(self, expr: LeastInteger) -> str:
        beyond = "".join(f", {self._print(each)}" for each in exceeded(expr))
        return f"least_integer({self._arrow(expr.n, expr.condition)}, {self._print(expr.upper)}{beyond})"

    def _print_Root(self, expr: Root) -> str:
        residual = self._arrow(expr.x, expr.left - expr.right)
        return f"root({residual}, {self._print(expr.lower)}, {self._print(expr.upper)})"

    def _arrow(self, bound: sympy.Symbol, expression: Any) -> str:
        return f"{self._print(bound)} => {self.printed(expression)}"

    def _print_ChunkedPrefill(self, expr: ChunkedPrefill | SolvedLaw) -> str:
        raise FormulaError("chunked prefill is a Markov chain that is solved step by step; it has no JavaScript")

    _print_SolvedLaw = _print_ChunkedPrefill


class Functions:
    """Functions of expressions, each printed once, however many formulas, variants and steps have the expression.

    Attributes
    ----------
    sources : dict
        Name of a function by its text, each after those that it calls.
    """

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self._known: dict[Any, str] = {}

    def of(self, expression: Any) -> str:
        """The name of the function of an expression; its arguments are the free symbols by name.

        Raises
        ------
        FormulaError
            If the expression uses a function that has no JavaScript.
        """
        if expression in self._known:
            return self._known[expression]
        printer, arguments = JavaScriptPrinter(self), _free(expression)
        printer.short |= {symbol: _short(place) for place, symbol in enumerate(arguments)}
        body = printer.printed(expression)
        text = f"({', '.join(printer.short[each] for each in arguments)}) => {body}"
        name = self._known[expression] = self.sources.setdefault(text, f"f{len(self.sources)}")
        return name

    def script(self) -> str:
        """All functions, as short JavaScript; ``web/runtime.js`` has names for those of ``Math``."""
        return "".join(f"const {name}={_SPACES.sub(_closed, text)};\n" for text, name in self.sources.items())


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
    asked = list(expressions)
    lines, named = kept_zero(
        [(formula.variable.symbol, lower(formula.expression)) for formula in system],
        [lower(expression) for _, expression in asked],
    )
    extra = zip((name for name, _ in asked), named, strict=True)
    return (
        [_printed(symbol.name, expression, functions) for symbol, expression in lines],
        [_printed(name, expression, functions) for name, expression in extra],
    )


def _printed(name: str, expression: Any, functions: Functions) -> PrintedFormula:
    try:
        return PrintedFormula(name, functions.of(expression), tuple(symbol.name for symbol in _free(expression)))
    except FormulaError as error:
        raise FormulaError(f"{name}: {error}") from None


def source(system: System) -> str:
    """A system as one function of its inputs, which returns every variable in order of evaluation.

    Raises
    ------
    FormulaError
        If a formula uses a function that has no JavaScript.
    """
    printer = JavaScriptPrinter()
    lines, _ = kept_zero([(formula.variable.symbol, lower(formula.expression)) for formula in system])
    inputs = sorted((v.symbol for v in system.inputs), key=lambda symbol: symbol.name)
    body = [_line(printer, symbol, expression) for symbol, expression in lines]
    returned = ", ".join(printer.name(symbol) for symbol, _ in lines)
    head = f"function compiled({', '.join(map(printer.name, inputs))}) {{"
    return "\n".join([head, *(f"  {line}" for line in body), f"  return [{returned}];", "}", ""])


def _line(printer: JavaScriptPrinter, symbol: sympy.Symbol, expression: Any) -> str:
    body = printer.printed(expression)
    return f"const {printer.name(symbol)} = {f'(() => {body})()' if body.startswith('{ let') else body};"


def _closed(match: re.Match[str]) -> str:
    return match[1] or match[2] or ""


def _short(place: int) -> str:
    """A short name that is no word of the language: a, b, ..., z, a1, b1, ..."""
    return LETTERS[place % len(LETTERS)] + str(place // len(LETTERS) or "")


def _free(expression: Any) -> Sequence[sympy.Symbol]:
    return sorted(expression.free_symbols, key=lambda symbol: symbol.name)
