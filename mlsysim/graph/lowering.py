"""From formulas of sympy to a graph: one rule a class of expressions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import sympy

from mlsysim import units
from mlsysim.errors import FormulaError
from mlsysim.graph.builder import Builder
from mlsysim.graph.facts import ANY, Facts
from mlsysim.graph.graph import Graph
from mlsysim.graph.operation import TABLE
from mlsysim.graph.operations.erlang import erlang_c_partials
from mlsysim.symbolic import (
    ChunkedPrefill,
    EvaluatedAt,
    Label,
    LeastInteger,
    Root,
    System,
    UnitSymbol,
    is_declared,
    variable_of,
)
from mlsysim.symbolic.exchange import exchanged, renamed
from mlsysim.symbolic.functions import ErlangCSlope

#: Expressions by name.
Named = tuple[tuple[str, sympy.Basic], ...]

#: Up to which power a product is written out, so that every backend multiplies in the same order.
WRITTEN_OUT = 4

_RELATIONS = {
    sympy.StrictLessThan: "less", sympy.LessThan: "less_equal", sympy.StrictGreaterThan: "greater",
    sympy.GreaterThan: "greater_equal", sympy.Equality: "equal", sympy.Unequality: "not_equal",
}  # fmt: skip
_CALLS = {
    sympy.exp: "exp", sympy.log: "log", sympy.ceiling: "ceil", sympy.floor: "floor", sympy.Abs: "absolute",
}  # fmt: skip
#: Names of rules, of classes with their subclasses; the first that fits.
_RULES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((sympy.Symbol,), "symbol"),
    ((sympy.logic.boolalg.BooleanAtom,), "truth"),
    ((sympy.Number, sympy.NumberSymbol), "number"),
    ((sympy.Add,), "add"),
    ((sympy.Mul,), "mul"),
    ((sympy.Pow,), "pow"),
    ((sympy.Piecewise,), "piecewise"),
    ((sympy.Max, sympy.Min), "extreme"),
    ((sympy.core.relational.Relational,), "relation"),
    ((sympy.And, sympy.Or), "joined"),
    ((sympy.Xor,), "xor"),
    ((sympy.Not,), "not"),
    ((sympy.ITE,), "ite"),
    ((sympy.Mod,), "mod"),
    ((ErlangCSlope,), "erlang_c_slope"),
    (tuple(_CALLS), "call"),
    ((EvaluatedAt,), "evaluated_at"),
    ((LeastInteger,), "least_integer"),
    ((Root,), "root"),
    ((ChunkedPrefill,), "chunked_prefill"),
)


class Lowering:
    """Lowers expressions into one builder.

    Parameters
    ----------
    builder : Builder
        Where nodes go.
    outer : Lowering, optional
        Of a scope with bound symbols: of what is around it.
    bound : iterable of sympy.Symbol, optional
        Those symbols. Two scopes may bind the same ones to different values.
    """

    def __init__(self, builder: Builder, outer: Lowering | None = None, bound: Iterable[Any] = ()) -> None:
        self.builder, self.outer, self.bound = builder, outer, set(bound)
        self.known: dict[Any, int] = {}
        self.elsewhere: dict[Any, tuple[Lowering, Lowering]] = {}

    def define(self, symbol: Any, expression: Any) -> int:
        """Place of the formula of a variable, which is that node from now on."""
        place = self.known[symbol] = self.place(expression)
        self.builder.declare(place, symbol.name, declared(symbol.name))
        return place

    def place(self, expression: Any) -> int:
        """Place of an expression."""
        found = self.known.get(expression)
        if found is None:
            if self.outer is not None and self.bound.isdisjoint(_symbols(expression)):
                found = self.outer.place(expression)
                if self.builder is not self.outer.builder:
                    found = self.builder.captured(found)
            else:
                found = getattr(self, "_" + _rule(type(expression), expression))(expression)
            self.known[expression] = found
        return found

    def scope(self, builder: Builder, bound: Iterable[Any]) -> Lowering:
        """A scope within this one."""
        return Lowering(builder, self, bound)

    def step(self, expression: Any) -> int:
        """Place of a step that leads to a value elsewhere."""
        return self.place(expression)

    def _symbol(self, node: Any) -> int:
        if isinstance(node, UnitSymbol):
            return self._number(node.amount)
        if isinstance(node, Label):
            return self._number(node.code)
        return self.builder.input(node.name, declared(node.name))

    def _truth(self, node: Any) -> int:
        return self.builder.number(bool(node))

    def _number(self, node: Any) -> int:
        return self.builder.number(node.p / node.q if node.is_Rational else float(node))

    def _add(self, node: Any) -> int:
        make = self.builder.make
        found: int | None = None
        terms = list(node.args)
        if _is_negative(terms[0]):  # x - 1, which has the bits of -1 + x
            terms[:2] = terms[1::-1]
        for term in terms:
            negative = _is_negative(term)
            place = self.place(-term if negative else term)
            if found is None:
                found = make("negative", place) if negative else place
            else:
                found = make("subtract" if negative else "add", found, place)
        assert found is not None
        return found

    def _mul(self, node: Any) -> int:
        """Numbers and units exactly first, then the other factors, then one division by all divisors."""
        builder = self.builder
        above, below, amount = _factors(node)
        found = builder.number(abs(amount.p) / amount.q) if abs(amount) != 1 else None
        vanishes = amount.is_zero
        for factor in above:
            place = self.place(factor)
            empty = builder.may_vanish(place)
            if found is None:
                found, vanishes = place, empty
                continue
            facts = builder.facts
            lawful = (facts[found].infinite and empty) or (facts[place].infinite and vanishes)
            found, vanishes = builder.make("lawful" if lawful else "multiply", found, place), vanishes or empty
        if below:
            divisors = [self._power(base, exponent) for base, exponent in below]
            divisor = divisors[0]
            for each in divisors[1:]:
                divisor = builder.make("multiply", divisor, each)
            found = builder.make("divide", builder.number(1.0) if found is None else found, divisor)
        assert found is not None
        return builder.make("negative", found) if amount.is_negative else found

    def _pow(self, node: Any) -> int:
        if node.exp.is_Rational and node.exp.is_negative:
            one = self.builder.number(1.0)
            return self.builder.make("divide", one, self._power(node.base, -node.exp))
        return self._power(node.base, node.exp)

    def _power(self, base: Any, exponent: Any) -> int:
        place, make = self.place(base), self.builder.make
        if exponent == sympy.S.Half:
            return make("sqrt", place)
        if exponent.is_Integer and 1 <= exponent <= WRITTEN_OUT:
            found = place
            for _ in range(int(exponent) - 1):
                found = make("multiply", found, place)
            return found
        return make("power", place, self.place(exponent))

    def _call(self, node: Any) -> int:
        op = _CALLS.get(node.func) or node.operation
        return self.builder.make(op, *[self.place(arg) for arg in node.args])

    def _erlang_c_slope(self, node: Any) -> int:
        operands = [self.place(arg) for arg in node.args]
        wait = self.builder.make("erlang_c", *operands)
        _, slope = erlang_c_partials(self.builder, operands, wait)
        assert slope is not None
        return slope

    def _mod(self, node: Any) -> int:
        """The remainder; of numbers that may not be whole, one whose quotient is whole but for rounding is zero."""
        make = self.builder.make
        whole, by = [self.place(arg) for arg in node.args]
        if all(arg.is_integer for arg in node.args):
            return make("mod", whole, by)
        quotient = make("divide", whole, by)
        floor = make("floor", quotient)
        rest = make("subtract", whole, make("multiply", by, floor))
        return make("where", make("equal", make("ceil", quotient), floor), self.builder.number(0.0), rest)

    def _extreme(self, node: Any) -> int:
        """From the first argument on, which at a tie is the one that binds."""
        op = "maximum" if isinstance(node, sympy.Max) else "minimum"
        return self._chain(op, node.args)

    def _joined(self, node: Any) -> int:
        return self._chain("both" if isinstance(node, sympy.And) else "either", node.args)

    def _chain(self, op: str, args: Sequence[Any]) -> int:
        found = self.place(args[0])
        for arg in args[1:]:
            found = self.builder.make(op, found, self.place(arg))
        return found

    def _xor(self, node: Any) -> int:
        return self._chain("not_equal", node.args)

    def _not(self, node: Any) -> int:
        return self.builder.make("negation", self.place(node.args[0]))

    def _ite(self, node: Any) -> int:
        return self.builder.make("where", *[self.place(arg) for arg in node.args])

    def _relation(self, node: Any) -> int:
        return self.builder.make(_RELATIONS[type(node)], self.place(node.lhs), self.place(node.rhs))

    def _piecewise(self, node: Any) -> int:
        """Cases one within the other; nan where none holds."""
        cases = list(node.args)
        found = self.place(cases.pop().expr) if cases[-1].cond is sympy.true else self.builder.number(math.nan)
        for case in reversed(cases):
            found = self.builder.make("where", self.place(case.cond), self.place(case.expr), found)
        return found

    def _evaluated_at(self, node: Any) -> int:
        """Its steps are formulas of bound symbols, in a scope of their own.

        There they have the names of their variables, so that terms keep their order and what is equal outside is one.
        """
        changed, steps = node.definitions[: len(node.changed)], node.definitions[len(node.changed) :]
        around, inner = self._elsewhere(node.definitions[0][0], changed)
        bound = frozenset(symbol for symbol, _ in node.definitions)
        for symbol, step in steps:
            variable = _variable(symbol)
            if variable in around.bound or variable in inner.bound:
                continue
            named = _in_variables(step, bound & _symbols(step))
            scope = around if inner.bound.isdisjoint(_symbols(named)) else inner
            scope.bind(variable, scope.step(named))
        return inner.place(_variable(node.definitions[-1][0]))

    def _elsewhere(self, first: Any, changed: tuple[Any, ...]) -> tuple[Lowering, Lowering]:
        """Scopes of what does not move with what is changed, and of what does; other values elsewhere share them."""
        if (first, changed) not in self.elsewhere:
            around = self.elsewhere[first, ()][0] if (first, ()) in self.elsewhere else self.scope(self.builder, ())
            inner = around.scope(self.builder, ())
            for symbol, value in changed:
                inner.bind(_variable(symbol), self.place(value))
            self.elsewhere[first, ()] = self.elsewhere[first, changed] = around, inner
        return self.elsewhere[first, changed]

    def bind(self, symbol: Any, place: int) -> None:
        """Give a bound symbol its place."""
        self.bound.add(symbol)
        self.known[symbol] = place

    def _within(self, bound: Mapping[Any, Facts]) -> Lowering:
        """A scope of a subgraph, with its own inputs."""
        inner = self.scope(Builder(self.builder), bound)
        for symbol, facts in bound.items():
            inner.known[symbol] = inner.builder.input(symbol.name, facts)
        return inner

    def _least_integer(self, node: Any) -> int:
        inner = self._within({node.n: Facts(1.0, math.inf, False, whole=True)})
        condition, captured = inner.builder.subgraph(inner.place(node.condition))
        missed = _missed(node)
        beyond = self.builder.number(0.0) if missed is None else self.place(missed)
        return self.builder.make("least_integer", self.place(node.upper), beyond, *captured, data=condition)

    def _root(self, node: Any) -> int:
        lower, upper = self.place(node.lower), self.place(node.upper)
        start = self.builder.facts[lower]
        inner = self._within({node.x: Facts(start.low, math.inf, start.zero or start.low < 0)})
        left, right = inner.place(node.left), inner.place(node.right)
        residual, captured = inner.builder.subgraph(inner.builder.make("subtract", left, right))
        return self.builder.make("root", lower, upper, *captured, data=residual)

    def _chunked_prefill(self, node: Any) -> int:
        inner = self._within(dict.fromkeys(node.bound_symbols, Facts(0.0, math.inf)))
        tau, captured = inner.builder.subgraph(inner.place(node.tau))
        law = self.known.get(node.law)
        if law is None:
            arguments = [self.place(arg) for arg in node.arguments.values()]
            law = self.known[node.law] = self.builder.make("chunked", *arguments, *captured, data=tau)
        op = "attained" if node.output.endswith("attainment") else "answer"
        return self.builder.make(op, law, data=(node.output, float(node.share)))


@lru_cache(maxsize=2**14)
def _in_variables(step: Any, bound: frozenset[Any]) -> Any:
    """A step with its bound symbols as the variables they are values of."""
    return exchanged(step, {symbol: _variable(symbol) for symbol in bound}, renamed)


def lowered(part: System, named: Named = (), infinite: Collection[str] = ()) -> Graph:
    """The graph of a system, or of expressions of its variables.

    Parameters
    ----------
    part : System
        Formulas, each after those it needs.
    named : tuple of (str, sympy.Basic), optional
        Names, and the expressions of inputs and variables they stand for. If given, these are the outputs instead of
        the variables.
    infinite : collection of str, optional
        Inputs of which formulas elsewhere state that they may be infinite.

    Returns
    -------
    Graph

    Raises
    ------
    FormulaError
        If an expression has a function without a rule, or a variable has the name of an operation.
    """
    lowering = Lowering(Builder())
    for name in infinite:
        lowering.builder.input(name, declared(name)._replace(infinite=True))
    found = {formula.name: lowering.define(formula.variable.symbol, formula.expression) for formula in part}
    if named:
        found = {name: lowering.place(expression) for name, expression in named}
    graph = lowering.builder.graph(found)
    for name in (*graph.inputs, *graph.names.values()):
        if name in _called():
            raise FormulaError(f"variable {name!r} has the name of a function that compiled code calls")
    return graph


def _variable(symbol: Any) -> Any:
    """The symbol of the variable that a bound one stands for; itself where there is none."""
    return variable_of(symbol.name).symbol if is_declared(symbol.name) else symbol


@cache
def _called() -> frozenset[str]:
    """Names that printed code calls; operations of bounds alone are never printed."""
    alone = {n for n, each in TABLE.items() if each.machine and each.numerics is None and each.partials is None}
    names = {name for name, each in TABLE.items() if not each.text} - alone
    return frozenset(names | {"chunked_prefill", "divided", "inf", "nan", "power"})


@lru_cache(maxsize=1 << 12)
def declared(name: str) -> Facts:
    """Facts of a variable by its declaration; nothing is known of one that is not declared."""
    if not is_declared(name):
        return ANY
    variable = variable_of(name)
    domain = variable.domain
    amount = units.factor(variable.unit) if domain.kind == "real" else 1.0
    low, high = float(domain.lower) * amount, float(domain.upper) * amount
    zero = low < 0 < high or (low == 0 and not domain.open_lower)
    return Facts(low, high, zero, whole=domain.kind == "integer")


@lru_cache(maxsize=1 << 16)
def _symbols(node: Any) -> frozenset[Any]:
    """Every symbol that stands anywhere within, bound ones included."""
    if node.is_Symbol:
        return frozenset((node,))
    return frozenset().union(*[_symbols(arg) for arg in node.args])


@lru_cache(maxsize=256)
def _rule_of(kind: type) -> str | None:
    found = next((name for kinds, name in _RULES if issubclass(kind, kinds)), None)
    return found or ("call" if hasattr(kind, "operation") else None)


def _rule(kind: type, node: Any) -> str:
    name = _rule_of(kind)
    if name is None:
        raise FormulaError(f"no code for the function {kind.__name__} in {node}")
    return name


def _is_negative(term: Any) -> bool:
    coefficient, _ = term.as_coeff_Mul()
    return bool(coefficient.is_negative and not coefficient.is_infinite)


def _factors(node: Any) -> tuple[list[Any], list[tuple[Any, Any]], Any]:
    """Factors of a product, its divisors as bases with positive exponents, and its exact amount."""
    above: list[Any] = []
    below: list[tuple[Any, Any]] = []
    amount: Any = sympy.S.One
    for factor in node.args:
        base, exponent = (factor.base, factor.exp) if factor.is_Pow else (factor, sympy.S.One)
        if isinstance(base, UnitSymbol) and exponent.is_Integer:
            amount *= base.amount**exponent
        elif factor.is_Rational:
            amount *= factor
        elif exponent.is_Rational and exponent.is_negative:
            below.append((base, -exponent))
        else:
            above.append(factor)
    return above, below, amount


def _missed(node: LeastInteger) -> Any:
    """Number that a least integer must exceed or reach for a part of its condition to hold; None if no part says."""
    for part in sympy.And.make_args(node.condition):
        if isinstance(part, sympy.Lt | sympy.Le | sympy.Gt | sympy.Ge):
            share, rest = part.gts.as_independent(node.n, as_Add=False)  # type: ignore[attr-defined]
            if rest == node.n and share.is_nonnegative and not part.lts.has(node.n):  # type: ignore[attr-defined]
                return part.lts / share  # type: ignore[attr-defined]
    return None
