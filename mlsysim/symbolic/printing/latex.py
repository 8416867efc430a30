"""Expressions as LaTeX, for papers and pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter
from sympy.printing.precedence import PRECEDENCE

from mlsysim.symbolic.chunked_prefill import ChunkedPrefill
from mlsysim.symbolic.constants import Label, UnitSymbol
from mlsysim.symbolic.family import Index, member_latex
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
from mlsysim.symbolic.printing.lines import BROKEN, END, PAGE, breakable, laid_out
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
from mlsysim.symbolic.printing.width import width
from mlsysim.symbolic.variable import variable_of, words_latex


def latex(expression: sympy.Basic, *, units: bool = False, values: Mapping[str, str] | None = None) -> str:
    """Format an expression as LaTeX with the symbols of its variables; sums break into lines if too wide for a page.

    Parameters
    ----------
    expression : sympy.Basic
        In declared symbols.
    units : bool
        Print unit constants; by default they are left out and the equation is read in coherent units.
    values : mapping, optional
        Text to print instead of a variable, by name: substitutes numbers for symbols. Units of the constants are then
        printed too, except bare counts.
    """
    keep = (lambda _: True) if units else is_no_count if values is not None else None
    printed = Latex(values or {}).doprint(prepared(bare(expression, keep)))
    return laid_out(printed.replace(r"\cdot \,", r"\,"))


def amount_latex(amount: str) -> str:
    r"""Format a value as LaTeX: ``8.03e9`` becomes ``8.03 \cdot 10^{9}``, and words are upright."""
    matched = re.fullmatch(r"(-?[\d.]+)(?:e\+?(-?\d+))?( .+)?", amount)
    if matched is None:
        return words_latex(amount)
    number, power, unit = matched.groups()
    number += rf" \cdot 10^{{{power}}}" if power else ""
    return number + (rf"\,{words_latex(unit.strip())}" if unit else "")


def equation(left: str, expression: sympy.Basic, *, over: str = "", units: bool = False, aligned: bool = False) -> str:
    r"""Format an equation as LaTeX, on several lines if it is too wide for a page.

    Parameters
    ----------
    left : str
        Left side, as LaTeX.
    expression : sympy.Basic
        Right side, in declared symbols.
    over : str
        Range of an index, as LaTeX, printed after the equation.
    units : bool
        Print unit constants.
    aligned : bool
        Return rows for an ``align`` environment, with ``&`` before the equals sign, instead of a whole equation.
    """
    right = latex(expression, units=units)
    rows = right.removeprefix(BROKEN).removesuffix(END) if (broken := right.startswith(BROKEN)) else right
    if over:
        broken = broken or width(f"{right} {over}") > PAGE
        rows += rf", \\ & {over}" if broken else rf", \qquad {over}"
    if aligned or broken:
        rows = f"{left} &= {rows}"
        return rows if aligned else rf"\begin{{aligned}} {rows}{END}"
    return f"{left} = {rows}"


def range_latex(index: Index, members: Iterable[str]) -> str:
    """Format the range of an index as LaTeX."""
    return rf"{index.letter} \in \{{{', '.join(map(member_latex, members))}\}}"


class Latex(LatexPrinter):
    """Printer of expressions in declared symbols as LaTeX, with marks at possible line breaks."""

    def __init__(self, values: Mapping[str, str], mul_symbol: str | None = None) -> None:
        super().__init__({"ln_notation": True, "mul_symbol": mul_symbol or ("dot" if values else None)})
        self.values = values

    def parenthesize(self, item: Any, level: int, *args: Any, **kwargs: Any) -> str:
        """Add brackets, also around a substituted number under a power."""
        printed = super().parenthesize(item, level, *args, **kwargs)
        is_base = isinstance(item, Placed) and item.variable.name in self.values and level >= PRECEDENCE["Pow"]
        return rf"\left({printed}\right)" if is_base else printed

    def _print_Add(self, expr: sympy.Add, order: Any = None) -> str:
        terms = []
        for term in self._as_ordered_terms(expr, order):
            minus = bool(terms) and term.could_extract_minus_sign()
            printed = self._print(-term if minus else term)
            bracketed = rf"\left({printed}\right)" if self._needs_add_brackets(term) else printed
            terms.append(f"{'- ' if minus else '+ '}{bracketed}" if terms else bracketed)
        return breakable(terms)

    def _extreme(self, name: str, expr: Any, exp: Any) -> str:
        *first, last = map(self._print, arguments(expr))
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"\{name}\left({breakable([*(f'{part},' for part in first), last])}\right){power}"

    def _print_Max(self, expr: Any, exp: Any = None) -> str:
        return self._extreme("max", expr, exp)

    def _print_Min(self, expr: Any, exp: Any = None) -> str:
        return self._extreme("min", expr, exp)

    _print_LargestOf, _print_SmallestOf = _print_Max, _print_Min

    def _print_Symbol(self, expr: sympy.Symbol, style: str = "plain") -> str:
        if not isinstance(expr, Placed):
            return expr.name
        value = self.values.get(expr.variable.name)
        return expr.variable.latex if value is None else amount_latex(value)

    _print_Placed = _print_Symbol

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        return reading_order(expr.args)

    _print_Dummy = _print_Symbol

    def _print_Unknown(self, expr: Unknown) -> str:
        return expr.variable.latex

    def _print_UnitSymbol(self, expr: UnitSymbol) -> str:
        return rf"\,\mathrm{{{expr.name}}}"

    def _print_Label(self, expr: Label) -> str:
        return words_latex(expr.text)

    def _print_Float(self, expr: sympy.Float) -> str:
        return f"{float(expr):.7g}"

    def _print_Cases(self, expr: Cases) -> str:
        return self._print(expr.args[0])

    def _print_And(self, e: Any) -> str:
        first, *rest = map(self._operand, in_order_of_size(e.args))
        return breakable([first, *(rf"\wedge {operand}" for operand in rest)], last=True)

    def _operand(self, e: Any) -> str:
        bracketed = isinstance(e, sympy.Or) and alternatives(e) is None
        return rf"\left({self._print(e)}\right)" if bracketed else self._print(e)

    def _print_Or(self, e: Any) -> str:
        if (choice := alternatives(e)) is None:
            args = sorted(e.args, key=sympy.default_sort_key)
            first, *rest = (rf"\left({self._print(arg)}\right)" if arg.is_Boolean else self._print(arg) for arg in args)
            return breakable([first, *(rf"\vee {arg}" for arg in rest)], last=True)
        return rf"{self._print(choice[0])} \in \{{{', '.join(map(self._print, choice[1]))}\}}"

    def _print_LeastInteger(self, expr: LeastInteger) -> str:
        n = self._print(expr.n)
        conditions = map(self._print, in_order_of_size(sympy.And.make_args(expr.condition)))
        rows = r" \\ ".join([rf"{n} \le {self._print(expr.upper)}", *map(full_size, conditions)])
        return rf"\min\left\{{{n} = 1, 2, \dots :\enspace \begin{{array}}{{l}} {rows} \end{{array}}\right\}}"

    def _print_Root(self, expr: Root) -> str:
        x, left, right, lower, upper = map(self._print, expr.args)
        end = ")" if expr.upper == sympy.oo else "]"
        within = "" if is_positive_half(expr) else rf" \in \left[{lower}, {upper}\right{end}"
        return rf"\left\{{{x}{within} :\enspace {breakable([left, f'= {right}'])}\right\}}"

    def _print_ChunkedPrefill(self, expr: ChunkedPrefill) -> str:
        n, c = map(self._print, expr.bound_symbols)
        share = rf",\,{self._print(expr.share)}" if expr.share != 0 else ""
        arguments = [rf"{words_latex(name)} = {self._print(value)}," for name, value in expr.said.items()]
        name = rf"\mathrm{{chunked}}_{{{words_latex(expr.output.replace('_', ' '))}{share}}}"
        tau = rf"\tau({n}, {c}) = {self._print(expr.tau)}"
        return rf"{name}\left({breakable([*arguments, tau])}\right)"

    def _print_NormalCDF(self, expr: NormalCDF, exp: Any = None) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"\Phi{power}\left({self._print(expr.args[0])}\right)"

    def _print_NormalQuantile(self, expr: NormalQuantile, exp: Any = None) -> str:
        printed = rf"\Phi^{{-1}}\left({self._print(expr.args[0])}\right)"
        return printed if exp is None else rf"{{\left({printed}\right)}}^{{{exp}}}"

    def _print_ErlangC(self, expr: ErlangC, exp: Any = None) -> str:
        c, load = (self._print(arg) for arg in expr.args)
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"C{power}\left({c}, {load}\right)"

    def _print_ErlangCSlope(self, expr: ErlangCSlope, exp: Any = None) -> str:
        c, load = (self._print(arg) for arg in expr.args)
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"\frac{{\partial C}}{{\partial {load}}}{power}\left({c}, {load}\right)"

    def _print_SlotsBusy(self, expr: SlotsBusy, exp: Any = None) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"B{power}\left({', '.join(map(self._print, expr.args))}\right)"

    def _print_SlotsBusySlope(self, expr: SlotsBusySlope) -> str:
        which, *args = expr.args
        return rf"\partial_{{{self._print(which)}}} B\left({', '.join(map(self._print, args))}\right)"

    def _print_Total(self, expr: Total) -> str:
        index, whole = expr.index, len(expr.over) == len(expr.index.members)
        below = index.letter if whole else range_latex(index, expr.over)
        return rf"\sum_{{{below}}} {self.parenthesize(expr.term, PRECEDENCE['Mul'], strict=True)}"

    def _print_ByMember(self, expr: ByMember) -> str:
        rows = (
            rf"{full_size(self._print(value))} & \text{{for}}\ {', '.join(map(member_latex, members))}"
            for value, members in rows_of(expr)
        )
        return r"\begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"

    def _needs_mul_brackets(self, expr: Any, first: bool = False, last: bool = False) -> bool:
        if isinstance(expr, Total):
            return not last
        return isinstance(expr, ByMember) or super()._needs_mul_brackets(expr, first, last)

    def _print_EvaluatedAt(self, expr: EvaluatedAt) -> str:
        *first, last = (called(variable_of(name).latex, self._print(value)) for name, value in expr.changed.items())
        changed = breakable([*(f"{argument}," for argument in first), last])
        return rf"{variable_of(expr.target).latex}\left({changed}\right)"

    def _print_Relational(self, expr: Any) -> str:
        signs = {"==": "=", ">": ">", "<": "<", ">=": r"\geq", "<=": r"\leq", "!=": r"\neq"}
        left, sign, right = sides(expr)
        return f"{self._print(left)} {signs[sign]} {self._print(right)}"

    def _print_ITE(self, expr: sympy.ITE) -> str:
        return self._print(either(expr))

    def _print_Piecewise(self, expr: sympy.Piecewise) -> str:
        rows = []
        for value, condition in expr.args:  # type: ignore[misc]
            when = r"\text{otherwise}" if condition == True else rf"\text{{if}}\ {self._print(condition)}"  # noqa: E712
            rows.append(f"{full_size(self._print(value))} & {when}")
        return r"\begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"


def full_size(row: str) -> str:
    """Print the fractions in a row of an array at full size."""
    return rf"\displaystyle {row}" if r"\frac" in row else row
