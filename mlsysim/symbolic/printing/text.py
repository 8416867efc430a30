"""Expressions and symbols as Unicode text, for a terminal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import sympy
from sympy.printing.precedence import PRECEDENCE, precedence
from sympy.printing.str import StrPrinter

from mlsysim.symbolic.chunked_prefill import ChunkedPrefill
from mlsysim.symbolic.constants import Label, UnitSymbol
from mlsysim.symbolic.family import Index
from mlsysim.symbolic.functions import (
    ErlangC,
    ErlangCSlope,
    EvaluatedAt,
    LeastInteger,
    NormalCDF,
    NormalQuantile,
    Root,
    SlotsBusy,
    SlotsBusySlope,
    Unknown,
)
from mlsysim.symbolic.indexed import ByMember, Total
from mlsysim.symbolic.printing.order import (
    Cases,
    Placed,
    alternatives,
    arguments,
    bare,
    called,
    either,
    in_order_of_size,
    is_no_count,
    is_positive_half,
    prepared,
    reading_order,
    rows_of,
    sides,
)
from mlsysim.symbolic.variable import Variable, variable_of


def text(expression: sympy.Basic, values: Mapping[str, str] | None = None) -> str:
    """Format an expression as one line of Unicode text.

    Parameters
    ----------
    expression : sympy.Basic
        In declared symbols.
    values : mapping, optional
        Text to print instead of a variable, by name: substitutes numbers for symbols. Units of the
        constants are then printed too, except bare counts.
    """
    keep = None if values is None else is_no_count
    return _Text(values or {}).doprint(prepared(bare(expression, keep)))


def symbol_text(variable: Variable) -> str:
    r"""Format a variable's symbol as Unicode text: ``\eta`` is ``η``, ``P_{\mathrm{r}}`` is ``P_r``."""
    return latex_to_text(variable.latex)


def range_text(index: Index, members: Iterable[str]) -> str:
    """Format the range of an index, as it follows an equation."""
    return f", {_runs(index, members)}"


def _runs(index: Index, members: Iterable[str]) -> str:
    return f"{latex_to_text(index.letter)} in {{{', '.join(members)}}}"


def latex_to_text(source: str) -> str:
    """Convert a simple LaTeX symbol to Unicode text."""
    out = re.sub(r"\\(?:mathrm|text|mathit|operatorname)\{([^{}]*)\}", r"\1", source)
    out = re.sub(r"\\hat\{?(\w)\}?", "\\1\u0302", out)
    out = re.sub(r"\\([A-Za-z]+)", lambda m: _character(m[1]), out)
    return out.replace("^{*}", "*").replace("{", "").replace("}", "").replace("\\", "")


#: Characters of commands other than names of Greek letters.
_CHARACTERS = {"ast": "*", "ell": "\u2113", "varepsilon": "\u03b5"}


def _character(command: str) -> str:
    if command in _CHARACTERS:
        return _CHARACTERS[command]
    case = "CAPITAL" if command[0].isupper() else "SMALL"
    try:
        return unicodedata.lookup(f"GREEK {case} LETTER {command.upper().replace('LAMBDA', 'LAMDA')}")
    except KeyError:
        return command


class _Text(StrPrinter):
    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__()
        self.values = values

    def _print_Symbol(self, expr: sympy.Symbol) -> str:
        if not isinstance(expr, Placed):
            return expr.name
        return self.values.get(expr.variable.name) or symbol_text(expr.variable)

    _print_Placed = _print_Symbol

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        return reading_order(expr.args)

    _print_Dummy = _print_Symbol

    def _print_Unknown(self, expr: Unknown) -> str:
        return symbol_text(expr.variable)

    def _print_UnitSymbol(self, expr: UnitSymbol) -> str:
        return expr.name

    def _print_Label(self, expr: Label) -> str:
        return expr.text

    def _print_Infinity(self, expr: Any) -> Any:
        return "∞"

    def _print_Float(self, expr: sympy.Float) -> str:
        return f"{float(expr):.7g}"

    def _print_Mul(self, expr: sympy.Mul) -> str:
        coefficient, rest = expr.as_coeff_Mul()
        number: Any = coefficient
        above: list[str] = []
        below: list[str] = []
        sign = "-" if number.is_negative else ""
        number = abs(number)
        if number.p != 1 if number.is_Rational else True:
            above.append(str(number.p) if number.is_Rational else self._print(number))
        if number.is_Rational and number.q != 1:
            below.append(str(number.q))
        for factor in rest.as_ordered_factors():
            base, power = factor.as_base_exp()
            if power.is_number and power.is_negative:
                below.append(self._divisor(base if power == -1 else base**-power))
            else:
                above.append(self.parenthesize(factor, PRECEDENCE["Mul"], strict=True))
        top = "·".join(above) or "1"
        if not below:
            return sign + top
        bottom = "·".join(below)
        return f"{sign}{top}/({bottom})" if len(below) > 1 else f"{sign}{top}/{bottom}"

    def _divisor(self, expr: Any) -> str:
        printed = self.parenthesize(expr, PRECEDENCE["Mul"], strict=False)
        return f"({printed})" if self._is_value(expr) and "/" in printed else printed

    def _is_value(self, expr: Any) -> bool:
        return isinstance(expr, Placed) and expr.variable.name in self.values

    def parenthesize(self, item: Any, level: int, strict: bool = False) -> str:
        """Add brackets if needed; a quantity substituted for a symbol needs them under a power."""
        printed = super().parenthesize(item, level, strict)
        return f"({printed})" if level >= PRECEDENCE["Pow"] and self._is_value(item) and " " in printed else printed

    def _print_Add(self, expr: sympy.Add, order: Any = None) -> str:
        out = ""
        for term in self._as_ordered_terms(expr):
            printed = self._print(term)
            if precedence(term) < PRECEDENCE["Add"]:
                printed = f"({printed})"
            if not out:
                out = printed
            else:
                out += f" − {printed[1:]}" if printed.startswith("-") else f" + {printed}"
        return out

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        if expr.exp == -1:
            return f"1/{self.parenthesize(expr.base, PRECEDENCE['Pow'], strict=False)}"
        supers = {"2": "²", "3": "³"}
        base = self.parenthesize(expr.base, PRECEDENCE["Pow"], strict=False)
        exponent = self._print(expr.exp)
        if exponent in supers:
            return base + supers[exponent]
        return f"{base}^{self.parenthesize(expr.exp, PRECEDENCE['Pow'], strict=False)}"

    def _print_ceiling(self, expr: Any) -> str:
        return f"⌈{self._print(expr.args[0])}⌉"

    def _print_Abs(self, expr: Any) -> str:
        return f"|{self._print(expr.args[0])}|"

    def _print_floor(self, expr: Any) -> str:
        return f"⌊{self._print(expr.args[0])}⌋"

    def _print_Max(self, expr: Any) -> str:
        return f"max({', '.join(map(self._print, arguments(expr)))})"

    def _print_Min(self, expr: Any) -> str:
        return f"min({', '.join(map(self._print, arguments(expr)))})"

    _print_LargestOf, _print_SmallestOf = _print_Max, _print_Min

    def _print_log(self, expr: Any) -> str:
        return f"ln({self._print(expr.args[0])})"

    def _print_Mod(self, expr: Any) -> str:
        return f"({self._print(expr.args[0])} mod {self._print(expr.args[1])})"

    def _print_Relational(self, expr: Any) -> str:
        signs = {"==": "=", ">": ">", "<": "<", ">=": "≥", "<=": "≤", "!=": "≠"}
        left, sign, right = sides(expr)
        return f"{self._print(left)} {signs[sign]} {self._print(right)}"

    def _print_And(self, expr: Any) -> str:
        return " and ".join(map(self._operand, in_order_of_size(expr.args)))

    def _operand(self, expr: Any) -> str:
        bracketed = isinstance(expr, sympy.Or) and alternatives(expr) is None
        return f"({self._print(expr)})" if bracketed else self._print(expr)

    def _print_Not(self, expr: Any) -> str:
        inner = self._print(expr.args[0])
        return f"not {inner}" if expr.args[0].is_Atom else f"not ({inner})"

    def _print_Or(self, expr: Any) -> str:
        if (choice := alternatives(expr)) is None:
            return " or ".join(self._print(arg) for arg in expr.args)
        return f"{self._print(choice[0])} in {{{', '.join(map(self._print, choice[1]))}}}"

    def _print_Cases(self, expr: Cases) -> str:
        return self._print(expr.args[0])

    def _print_ITE(self, expr: Any) -> str:
        return self._print(either(expr))

    def _print_Piecewise(self, expr: Any) -> str:
        cases = []
        for value, condition in expr.args:
            when = "otherwise" if condition == True else f"if {self._print(condition)}"  # noqa: E712
            cases.append(f"{self._print(value)} {when}")
        return "{" + "; ".join(cases) + "}"

    def _print_LeastInteger(self, expr: LeastInteger) -> str:
        n = self._print(expr.n)
        return f"min{{{n} ≤ {self._print(expr.upper)} : {self._print(expr.condition)}}}"

    def _print_Root(self, expr: Root) -> str:
        x, left, right, lower, upper = map(self._print, expr.args)
        end = ")" if expr.upper == sympy.oo else "]"
        within = "" if is_positive_half(expr) else f" in [{lower}, {upper}{end}"
        return f"{{{x}{within} : {left} = {right}}}"

    def _print_ChunkedPrefill(self, expr: ChunkedPrefill) -> str:
        n, c = map(self._print, expr.bound_symbols)
        share = f" {self._print(expr.share)}" if expr.share != 0 else ""
        arguments = ", ".join(f"{name} = {self._print(value)}" for name, value in expr.said.items())
        return f"chunked[{expr.output}{share}]({arguments}; τ({n}, {c}) = {self._print(expr.tau)})"

    def _print_NormalCDF(self, expr: NormalCDF) -> str:
        return f"Φ({self._print(expr.args[0])})"

    def _print_NormalQuantile(self, expr: NormalQuantile) -> str:
        return f"Φ⁻¹({self._print(expr.args[0])})"

    def _print_ErlangC(self, expr: ErlangC) -> str:
        return f"C({', '.join(self._print(arg) for arg in expr.args)})"

    def _print_ErlangCSlope(self, expr: ErlangCSlope) -> str:
        return f"∂C/∂{self._print(expr.args[1])}({', '.join(self._print(arg) for arg in expr.args)})"

    def _print_SlotsBusy(self, expr: SlotsBusy) -> str:
        return f"B({', '.join(self._print(arg) for arg in expr.args)})"

    def _print_SlotsBusySlope(self, expr: SlotsBusySlope) -> str:
        which, *args = expr.args
        return f"∂{self._print(which)} B({', '.join(self._print(arg) for arg in args)})"

    def _print_Total(self, expr: Total) -> str:
        index, whole = expr.index, len(expr.over) == len(expr.index.members)
        below = latex_to_text(index.letter) if whole else f"{{{_runs(index, expr.over)}}}"
        return f"Σ_{below} {self.parenthesize(expr.term, PRECEDENCE['Mul'], strict=True)}"

    def _print_ByMember(self, expr: ByMember) -> str:
        rows = (f"{self._print(value)} for {', '.join(members)}" for value, members in rows_of(expr))
        return "{" + "; ".join(rows) + "}"

    def _print_EvaluatedAt(self, expr: EvaluatedAt) -> str:
        changed = [called(symbol_text(variable_of(name)), self._print(value)) for name, value in expr.changed.items()]
        return f"{symbol_text(variable_of(expr.target))}({', '.join(changed)})"
