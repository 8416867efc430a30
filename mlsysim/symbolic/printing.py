"""Printing in the field's symbols: LaTeX for papers and pages, one line of Unicode for a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter
from sympy.printing.precedence import PRECEDENCE, precedence
from sympy.printing.str import StrPrinter

from mlsysim.symbolic.constants import Label, UnitSymbol
from mlsysim.symbolic.functions import ErlangC, ErlangCSlope, LeastInteger
from mlsysim.symbolic.variable import Variable, declaration_order, variable_of
from mlsysim.units import COUNTABLE, dimension


def latex(expression: sympy.Basic, *, units: bool = False) -> str:
    """An expression as LaTeX, in the symbols of its variables.

    Parameters
    ----------
    expression : sympy.Basic
        In declared symbols.
    units : bool
        Print unit constants; by default they are left out and the equation is read in coherent units.
    """
    return _Latex({"ln_notation": True}).doprint(
        _in_declared_order(_bare(expression, (lambda _: True) if units else None))
    )


def text(expression: sympy.Basic, values: Mapping[str, str] | None = None) -> str:
    """An expression as one line of Unicode text.

    Parameters
    ----------
    expression : sympy.Basic
        In declared symbols.
    values : mapping, optional
        Text to print instead of a variable, by name: substitutes numbers for symbols. Units of the
        constants are then printed too, except bare counts.
    """
    keep = None if values is None else (lambda unit: not set(unit.dimension) <= COUNTABLE)
    return _Text(values or {}).doprint(_in_declared_order(_bare(expression, keep)))


def constants(expression: sympy.Basic) -> tuple[str, ...]:
    """The constants of an expression that carry a unit, each once: ``("34 byte/token",)``.

    Bare counting units (one token, one request) convert a count and are left out.
    """
    found: list[str] = []

    def visit(node: sympy.Basic) -> None:
        if isinstance(node, sympy.Mul | sympy.Pow | UnitSymbol):
            number, rest = node.as_coeff_Mul()  # type: ignore[union-attr]
            powers = [(p.base.name, p.exp) if p.is_Pow else (p.name, 1) for p in _factors(rest) if _is_unit(p)]
            if any(not set(dimension(name)) <= COUNTABLE for name, _ in powers):
                if all(exponent < 0 for _, exponent in powers):
                    number, powers = 1 / number, [(name, -exponent) for name, exponent in powers]
                found.append(f"{number} {_unit_text(powers)}")
            for part in _factors(rest):
                if not _is_unit(part):
                    for child in part.args:
                        visit(child)
            return
        for child in node.args:
            visit(child)

    visit(expression)
    return tuple(dict.fromkeys(found))


def symbol_text(variable: Variable) -> str:
    """The symbol of a variable as Unicode text: ``\\eta`` is ``η``, ``P_{\\mathrm{r}}`` is ``P_r``."""
    return latex_to_text(variable.latex)


_GREEK = {
    name: chr(code)
    for name, code in {
        "alpha": 0x3B1, "beta": 0x3B2, "gamma": 0x3B3, "delta": 0x3B4, "epsilon": 0x3B5, "eta": 0x3B7,
        "theta": 0x3B8, "chi": 0x3C7, "psi": 0x3C8, "Phi": 0x3A6, "Psi": 0x3A8, "Delta": 0x394, "ell": 0x2113, "kappa": 0x3BA, "lambda": 0x3BB, "mu": 0x3BC, "nu": 0x3BD, "pi": 0x3C0, "rho": 0x3C1,
        "sigma": 0x3C3, "tau": 0x3C4, "phi": 0x3C6, "omega": 0x3C9, "Lambda": 0x39B,
    }.items()
}  # fmt: skip


def latex_to_text(source: str) -> str:
    """A simple LaTeX symbol as Unicode text."""
    out = re.sub(r"\\(?:mathrm|text|mathit|operatorname)\{([^{}]*)\}", r"\1", source)
    out = re.sub(r"\\hat\{?(\w)\}?", "\\1\u0302", out)
    out = re.sub(r"\\([A-Za-z]+)", lambda m: _GREEK.get(m[1], m[1]), out)
    return out.replace("^{*}", "*").replace("{", "").replace("}", "").replace("\\", "")


class _Placed(sympy.Symbol):
    """A symbol under a name that sorts where its variable was declared, so authors set the order."""

    @property
    def variable(self) -> Variable:
        return variable_of(self.name.partition(" ")[2])


def _in_declared_order(expression: sympy.Basic) -> sympy.Basic:
    plain = [s for s in expression.free_symbols if not isinstance(s, UnitSymbol | Label | sympy.Dummy)]
    place = declaration_order()
    return expression.xreplace(
        {s: _Placed(f"{place[s.name]:06d} {s.name}", **s._assumptions_orig) for s in plain}  # type: ignore[attr-defined]
    )


def _reading_order(terms: Any) -> list[Any]:
    """Terms of a sum: those added before those subtracted, then as declared."""

    def place(term: Any) -> tuple[bool, str]:
        names = sorted(s.name for s in term.free_symbols if isinstance(s, _Placed))
        return (term.could_extract_minus_sign(), names[0] if names else "~")

    return sorted(terms, key=place)


def _sides(expr: Any) -> tuple[Any, str, Any]:
    """Left side, sign and right side, constants to the right."""
    if isinstance(expr.lhs, Label | UnitSymbol | sympy.Number) and not isinstance(expr.rhs, sympy.Number):
        expr = expr.reversed
    return expr.lhs, expr.rel_op, expr.rhs


def _bare(expression: sympy.Basic, keep: Callable[[UnitSymbol], bool] | None = None) -> sympy.Basic:
    """The expression without its coherent units, but for those to keep."""
    drop = [u for u in expression.atoms(UnitSymbol) if u.amount == 1 and not (keep and keep(u))]
    return expression.xreplace(dict.fromkeys(drop, sympy.S.One)) if drop else expression


def _factors(node: sympy.Basic) -> tuple[Any, ...]:
    return sympy.Mul.make_args(node)  # type: ignore[arg-type, return-value]


def _is_unit(node: Any) -> bool:
    return isinstance(node, UnitSymbol) or (node.is_Pow and isinstance(node.base, UnitSymbol))


def _unit_text(powers: list[tuple[str, Any]]) -> str:
    def one(name: str, power: Any) -> str:
        return name if power == 1 else f"{name}^{power}"

    above = " ".join(one(n, p) for n, p in powers if p > 0) or "1"
    below = " ".join(one(n, -p) for n, p in powers if p < 0)
    return f"{above}/{below}" if below else above


class _Latex(LatexPrinter):
    def _print_Symbol(self, expr: sympy.Symbol, style: str = "plain") -> str:
        return expr.variable.latex if isinstance(expr, _Placed) else expr.name

    _print__Placed = _print_Symbol

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        return _reading_order(expr.args)

    _print_Dummy = _print_Symbol

    def _print_UnitSymbol(self, expr: UnitSymbol) -> str:
        return rf"\,\mathrm{{{expr.name}}}"

    def _print_Label(self, expr: Label) -> str:
        return rf"\text{{{expr.text}}}"

    def _print_LeastInteger(self, expr: LeastInteger) -> str:
        n = self._print(expr.n)
        limit, condition = self._print(expr.upper), self._conjunction(expr.condition)
        return rf"\min\left\{{{n} \in \mathbb{{N}} : {n} \le {limit},\ {condition}\right\}}"

    def _conjunction(self, condition: sympy.Basic) -> str:
        parts = condition.args if isinstance(condition, sympy.And) else (condition,)
        return r",\ ".join(sorted((self._print(part) for part in parts), key=len))

    def _print_ErlangC(self, expr: ErlangC, exp: Any = None) -> str:
        c, load = (self._print(arg) for arg in expr.args)
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"C{power}\left({c}, {load}\right)"

    def _print_ErlangCSlope(self, expr: ErlangCSlope, exp: Any = None) -> str:
        c, load = (self._print(arg) for arg in expr.args)
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"\frac{{\partial C}}{{\partial {load}}}{power}\left({c}, {load}\right)"

    def _print_Relational(self, expr: Any) -> str:
        signs = {"==": "=", ">": ">", "<": "<", ">=": r"\geq", "<=": r"\leq", "!=": r"\neq"}
        left, sign, right = _sides(expr)
        return f"{self._print(left)} {signs[sign]} {self._print(right)}"

    def _print_Piecewise(self, expr: sympy.Piecewise) -> str:
        rows = []
        for value, condition in expr.args:  # type: ignore[misc]
            when = r"\text{otherwise}" if condition == True else rf"\text{{if}}\ {self._print(condition)}"  # noqa: E712
            rows.append(f"{self._print(value)} & {when}")
        return r"\begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"


class _Text(StrPrinter):
    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__()
        self.values = values

    def _print_Symbol(self, expr: sympy.Symbol) -> str:
        if not isinstance(expr, _Placed):
            return expr.name
        return self.values.get(expr.variable.name) or symbol_text(expr.variable)

    _print__Placed = _print_Symbol

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        return _reading_order(expr.args)

    _print_Dummy = _print_Symbol

    def _print_UnitSymbol(self, expr: UnitSymbol) -> str:
        return expr.name

    def _print_Label(self, expr: Label) -> str:
        return expr.text

    def _print_Infinity(self, expr: Any) -> Any:
        return "∞"

    def _print_Mul(self, expr: sympy.Mul) -> str:
        coefficient, rest = expr.as_coeff_Mul()
        number: Any = coefficient
        above: list[str] = []
        below: list[str] = []
        sign = "-" if number.is_negative else ""
        number = abs(number)
        if number.p != 1 if number.is_Rational else True:
            above.append(str(number.p) if number.is_Rational else str(number))
        if number.is_Rational and number.q != 1:
            below.append(str(number.q))
        for factor in rest.as_ordered_factors():
            base, power = factor.as_base_exp()
            if power.is_number and power.is_negative:
                below.append(self.parenthesize(base if power == -1 else base**-power, PRECEDENCE["Mul"], strict=False))
            else:
                above.append(self.parenthesize(factor, PRECEDENCE["Mul"], strict=True))
        top = "·".join(above) or "1"
        if not below:
            return sign + top
        bottom = "·".join(below)
        return f"{sign}{top}/({bottom})" if len(below) > 1 else f"{sign}{top}/{bottom}"

    def _print_Add(self, expr: sympy.Add, order: Any = None) -> str:
        out = ""
        for term in self._as_ordered_terms(expr):
            shown = self._print(term)
            if precedence(term) < PRECEDENCE["Add"]:
                shown = f"({shown})"
            if not out:
                out = shown
            else:
                out += f" − {shown[1:]}" if shown.startswith("-") else f" + {shown}"
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

    def _print_floor(self, expr: Any) -> str:
        return f"⌊{self._print(expr.args[0])}⌋"

    def _print_Max(self, expr: Any) -> str:
        return f"max({', '.join(self._print(arg) for arg in expr.args)})"

    def _print_Min(self, expr: Any) -> str:
        return f"min({', '.join(self._print(arg) for arg in expr.args)})"

    def _print_log(self, expr: Any) -> str:
        return f"ln({self._print(expr.args[0])})"

    def _print_Mod(self, expr: Any) -> str:
        return f"({self._print(expr.args[0])} mod {self._print(expr.args[1])})"

    def _print_Relational(self, expr: Any) -> str:
        signs = {"==": "=", ">": ">", "<": "<", ">=": "≥", "<=": "≤", "!=": "≠"}
        left, sign, right = _sides(expr)
        return f"{self._print(left)} {signs[sign]} {self._print(right)}"

    def _print_And(self, expr: Any) -> str:
        return " and ".join(sorted((self._print(arg) for arg in expr.args), key=len))

    def _print_Or(self, expr: Any) -> str:
        return " or ".join(self._print(arg) for arg in expr.args)

    def _print_Piecewise(self, expr: Any) -> str:
        cases = []
        for value, condition in expr.args:
            when = "otherwise" if condition == True else f"if {self._print(condition)}"  # noqa: E712
            cases.append(f"{self._print(value)} {when}")
        return "{" + "; ".join(cases) + "}"

    def _print_LeastInteger(self, expr: LeastInteger) -> str:
        n = self._print(expr.n)
        return f"min{{{n} ≤ {self._print(expr.upper)} : {self._print(expr.condition)}}}"

    def _print_ErlangC(self, expr: ErlangC) -> str:
        return f"C({', '.join(self._print(arg) for arg in expr.args)})"

    def _print_ErlangCSlope(self, expr: ErlangCSlope) -> str:
        return f"∂C/∂{self._print(expr.args[1])}({', '.join(self._print(arg) for arg in expr.args)})"
