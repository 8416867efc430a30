"""Python source of an expression, the same for every backend.

The printed code names neutral functions (``maximum``, ``where``, ``erlang_c``); a backend is the
namespace it runs in. Only functions with a rule here compile: nothing falls back to ``math``.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import sympy
from sympy.printing.pycode import AbstractPythonCodePrinter

from mlsysim.backends.laws import Answer, SolvedLaw, parted
from mlsysim.errors import FormulaError
from mlsysim.symbolic import (
    ChunkedPrefill,
    ErlangC,
    EvaluatedAt,
    LeastInteger,
    NormalCDF,
    NormalQuantile,
    Root,
    SlotsBusy,
)
from mlsysim.symbolic.chunked_prefill import PRECISION
from mlsysim.symbolic.functions import ErlangCSlope, SlotsBusySlope

#: Whole numbers above this print as floats, so that 32-bit JAX does not overflow on them.
LARGEST_INTEGER_LITERAL = 2**31 - 1
#: Quotients of larger whole numbers are rounded once, by whoever prints them.
LARGEST_EXACT = 2**53


class CodePrinter(AbstractPythonCodePrinter):
    """Expression to source text; refuses what has no rule."""

    printmethod = "_mlsysim_code"
    language = "Python"

    def __init__(self, settings: dict[str, Any] | None = None) -> None:
        super().__init__({"fully_qualified_modules": False, "strict": True, **(settings or {})})
        self._bound: dict[str, list[sympy.Dummy]] = {}

    def doprint(self, expr: Any, assign_to: Any = None) -> str:
        """The source of an expression; formulas have nothing that would have to be rewritten first."""
        return self._print(sympy.sympify(expr))

    def _print_Integer(self, expr: sympy.Integer) -> str:
        return str(expr) if abs(int(expr)) <= LARGEST_INTEGER_LITERAL else repr(float(expr))

    def _print_Rational(self, expr: sympy.Rational) -> str:
        if max(abs(expr.p), expr.q) > LARGEST_EXACT:
            return repr(expr.p / expr.q)
        return f"{self._print(sympy.Integer(expr.p))}/{self._print(sympy.Integer(expr.q))}"

    def _print_Float(self, expr: sympy.Float) -> str:
        return repr(float(expr))

    def _print_Infinity(self, expr: Any) -> Any:
        return "inf"

    def _print_NegativeInfinity(self, expr: Any) -> Any:
        return "-inf"

    def _print_Exp1(self, expr: Any) -> Any:
        return "exp(1.0)"

    def _print_Pi(self, expr: Any) -> str:
        return repr(float(expr))

    def _print_Dummy(self, expr: sympy.Dummy) -> str:
        """A name that no other bound symbol of the same function has, for one may stand inside another's lambda."""
        alike = self._bound.setdefault(expr.name, [])
        if expr not in alike:
            alike.append(expr)
        place = alike.index(expr)
        return f"_{expr.name}_{place + 1}" if place else f"_{expr.name}"

    def _print_Function(self, expr: Any) -> str:
        raise FormulaError(f"no code for the function {type(expr).__name__} in {expr}")

    def _print_Pow(self, expr: sympy.Pow, rational: bool = False) -> str:
        if expr.exp == sympy.S.Half:
            return f"sqrt({self._print(expr.base)})"
        if expr.exp == -sympy.S.Half:
            return f"1/sqrt({self._print(expr.base)})"
        return super()._print_Pow(expr, rational=rational)

    def _call(self, name: str, expr: sympy.Basic) -> str:
        return f"{name}({', '.join(self._print(arg) for arg in expr.args)})"

    def _print_log(self, expr: Any) -> str:
        return self._call("log", expr)

    def _print_exp(self, expr: Any) -> str:
        return self._call("exp", expr)

    def _print_ceiling(self, expr: Any) -> str:
        return self._call("ceil", expr)

    def _print_floor(self, expr: Any) -> str:
        return self._call("floor", expr)

    def _print_Abs(self, expr: Any) -> str:
        return self._call("absolute", expr)

    def _print_Mod(self, expr: Any) -> str:
        return self._call("mod", expr)

    def _print_Max(self, expr: Any) -> str:
        return reduce(lambda left, right: f"maximum({left}, {right})", map(self._print, expr.args))

    def _print_Min(self, expr: Any) -> str:
        return reduce(lambda left, right: f"minimum({left}, {right})", map(self._print, expr.args))

    def _print_Piecewise(self, expr: sympy.Piecewise) -> Any:
        cases: list[Any] = list(expr.args)
        source = self._print(cases[-1].expr) if cases[-1].cond == True else "nan"  # noqa: E712
        for case in reversed(cases[:-1] if source != "nan" else cases):
            source = f"where({self._print(case.cond)}, {self._print(case.expr)}, {source})"
        return source

    def _print_Relational(self, expr: Any) -> str:
        return f"({self._print(expr.lhs)} {expr.rel_op} {self._print(expr.rhs)})"

    def _print_And(self, expr: Any) -> str:
        return "(" + " & ".join(self._print(arg) for arg in expr.args) + ")"

    def _print_Or(self, expr: Any) -> str:
        return "(" + " | ".join(self._print(arg) for arg in expr.args) + ")"

    def _print_Not(self, expr: Any) -> str:
        return f"(({self._print(expr.args[0])}) == False)"

    def _print_ITE(self, expr: Any) -> str:
        """A condition with cases; sympy would print every maximum in them as cases, and those outside of roots."""
        return f"where({', '.join(self._print(arg) for arg in expr.args)})"

    def _print_Guard(self, expr: Any) -> str:
        operand, taken, safe = (self._print(arg) for arg in expr.args)
        return f"where({taken}, {operand}, {safe})"

    def _print_Beside(self, expr: Any) -> str:
        return self._call("beside", expr)

    def _print_ErlangC(self, expr: ErlangC) -> str:
        return self._call("erlang_c", expr)

    def _print_ErlangCSlope(self, expr: ErlangCSlope) -> str:
        servers, load = (self._print(arg) for arg in expr.args)
        return f"erlang_c_slope({servers}, {load}, erlang_c({servers}, {load}))"

    def _print_SlotsBusy(self, expr: SlotsBusy) -> str:
        return self._call("slots_busy", expr)

    def _print_SlotsBusySlope(self, expr: SlotsBusySlope) -> str:
        return self._call("slots_busy_slope", expr)

    def _print_EvaluatedAt(self, expr: EvaluatedAt) -> str:
        steps = [f"({self._print(symbol)} := {self._print(step)})" for symbol, step in expr.definitions]
        return f"[{', '.join(steps)}][-1]"

    def _print_LeastInteger(self, expr: LeastInteger) -> str:
        function, given = self._function_of(expr.n, expr.condition)
        beyond = "".join(f", {self._print(each)}" for each in exceeded(expr))
        return f"least_integer({function}, {self._print(expr.upper)}, {given}{beyond})"

    def _print_Root(self, expr: Root) -> str:
        function, given = self._function_of(expr.x, expr.left - expr.right)
        within = f", {PRECISION}" if expr.has(ChunkedPrefill) else ""
        return f"root({function}, {self._print(expr.lower)}, {self._print(expr.upper)}, {given}{within})"

    def _print_ChunkedPrefill(self, expr: ChunkedPrefill) -> str:
        return f"{self._print(SolvedLaw.of(expr.law, [(expr.output, float(expr.share))]))}[0]"

    def _print_SolvedLaw(self, expr: SolvedLaw) -> str:
        _, bound, tau, arguments = expr.args
        constants, steps, time = parted(tau, bound.args)
        outside = [f"({self._print(symbol)} := {self._print(each)})" for each, symbol in constants.items()]
        inside = [f"({self._print(symbol)} := {self._print(step)})" for symbol, step in steps]
        names = ", ".join(map(self._print, (*bound.args, *constants.values())))
        function = f"lambda {names}: [{', '.join([*inside, self._print(time)])}][-1]"
        values, given = (f"({', '.join(map(self._print, each))},)" for each in (arguments.args, constants.values()))
        return f"[{', '.join([*outside, f'chunked_prefill({expr.asked!r}, {function}, {values}, {given})'])}][-1]"

    def _print_Answer(self, expr: Answer) -> str:
        return f"{self._print(expr.args[0])}[{expr.place}]"

    def _function_of(self, bound: sympy.Symbol, expression: Any) -> tuple[str, str]:
        """A function of a bound variable and of what else its expression has, and a tuple of the latter."""
        free = sorted(expression.free_symbols - {bound}, key=lambda s: s.name)
        names = [self._print(symbol) for symbol in free]
        arguments = ", ".join([self._print(bound), *names])
        given = ", ".join(names) + ("," if len(names) == 1 else "")
        return f"lambda {arguments}: {self._print(expression)}", f"({given})"

    def _print_NormalCDF(self, expr: NormalCDF) -> str:
        return self._call("normal_cdf", expr)

    def _print_NormalQuantile(self, expr: NormalQuantile) -> str:
        return self._call("normal_quantile", expr)


def exceeded(expr: LeastInteger) -> list[Any]:
    """What the number must exceed, or reach, for one part of the condition to hold; none where no part says so."""
    for part in sympy.And.make_args(expr.condition):
        if isinstance(part, sympy.Lt | sympy.Le | sympy.Gt | sympy.Ge):
            share, rest = part.gts.as_independent(expr.n, as_Add=False)  # type: ignore[attr-defined]
            if rest == expr.n and share.is_nonnegative and not part.lts.has(expr.n):  # type: ignore[attr-defined]
                return [part.lts / share]  # type: ignore[attr-defined]
    return []
