"""Lowering of sympy formulas to a graph: one rule per class of expressions."""

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

#: Highest power that is written out as a product, so that every backend multiplies in the same order.
WRITTEN_OUT = 4

_RELATIONS = {
    sympy.StrictLessThan: "less", sympy.LessThan: "less_equal", sympy.StrictGreaterThan: "greater",
    sympy.GreaterThan: "greater_equal", sympy.Equality: "equal", sympy.Unequality: "not_equal",
}  # fmt: skip
_CALLS = {
    sympy.exp: "exp", sympy.log: "log", sympy.ceiling: "ceil", sympy.floor: "floor", sympy.Abs: "absolute",
}  # fmt: skip
#: Names of rules by classes with their subclasses; the first match counts.
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
    """Lowering of expressions into one builder.

    Parameters
    ----------
    builder : Builder
        Builder of the graph.
    outer : Lowering, optional
        Enclosing scope, of a scope with bound symbols.
    bound : iterable of sympy.Symbol, optional
        Bound symbols. Two scopes may bind the same ones to different values.
    """

    def __init__(self, builder: Builder, outer: Lowering | None = None, bound: Iterable[Any] = ()) -> None:
        self.builder, self.outer, self.bound = builder, outer, set(bound)
        self.known: dict[Any, int] = {}
        self.elsewhere: dict[Any, tuple[Lowering, Lowering]] = {}

    def define(self, symbol: Any, expression: Any) -> int:
        """Lower the formula of a variable, which is that node from now on; return its index."""
        index = self.known[symbol] = self.lower(expression)
        self.builder.declare(index, symbol.name, declared(symbol.name))
        return index

    def lower(self, expression: Any) -> int:
        """Lower an expression; return its index."""
        index = self.known.get(expression)
        if index is None:
            if self.outer is not None and self.bound.isdisjoint(_symbols(expression)):
                index = self.outer.lower(expression)
                if self.builder is not self.outer.builder:
                    index = self.builder.captured(index)
            else:
                index = getattr(self, "_" + _rule(type(expression), expression))(expression)
            self.known[expression] = index
        return index

    def scope(self, builder: Builder, bound: Iterable[Any]) -> Lowering:
        """Scope within this one."""
        return Lowering(builder, self, bound)

    def step(self, expression: Any) -> int:
        """Lower a step that leads to a value elsewhere."""
        return self.lower(expression)

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
        total: int | None = None
        terms = list(node.args)
        if _is_negative(terms[0]):  # x - 1, which has the bits of -1 + x
            terms[:2] = terms[1::-1]
        for term in terms:
            negative = _is_negative(term)
            term_index = self.lower(-term if negative else term)
            if total is None:
                total = make("negative", term_index) if negative else term_index
            else:
                total = make("subtract" if negative else "add", total, term_index)
        assert total is not None
        return total

    def _mul(self, node: Any) -> int:
        """Lower a product: numbers and units exactly, then the other factors, then one division by all divisors."""
        builder = self.builder
        above, below, amount = _factors(node)
        product = builder.number(abs(amount.p) / amount.q) if abs(amount) != 1 else None
        vanishes = amount.is_zero
        for factor in above:
            index = self.lower(factor)
            empty = builder.may_vanish(index)
            if product is None:
                product, vanishes = index, empty
                continue
            facts = builder.facts
            lawful = (facts[product].infinite and empty) or (facts[index].infinite and vanishes)
            product, vanishes = builder.make("lawful" if lawful else "multiply", product, index), vanishes or empty
        if below:
            divisors = [self._power(base, exponent) for base, exponent in below]
            divisor = divisors[0]
            for further in divisors[1:]:
                divisor = builder.make("multiply", divisor, further)
            product = builder.make("divide", builder.number(1.0) if product is None else product, divisor)
        assert product is not None
        return builder.make("negative", product) if amount.is_negative else product

    def _pow(self, node: Any) -> int:
        if node.exp.is_Rational and node.exp.is_negative:
            one = self.builder.number(1.0)
            return self.builder.make("divide", one, self._power(node.base, -node.exp))
        return self._power(node.base, node.exp)

    def _power(self, base: Any, exponent: Any) -> int:
        index, make = self.lower(base), self.builder.make
        if exponent == sympy.S.Half:
            return make("sqrt", index)
        if exponent.is_Integer and 1 <= exponent <= WRITTEN_OUT:
            product = index
            for _ in range(int(exponent) - 1):
                product = make("multiply", product, index)
            return product
        return make("power", index, self.lower(exponent))

    def _call(self, node: Any) -> int:
        op = _CALLS.get(node.func) or node.operation
        return self.builder.make(op, *[self.lower(arg) for arg in node.args])

    def _erlang_c_slope(self, node: Any) -> int:
        operands = [self.lower(arg) for arg in node.args]
        wait = self.builder.make("erlang_c", *operands)
        _, slope = erlang_c_partials(self.builder, operands, wait)
        assert slope is not None
        return slope

    def _mod(self, node: Any) -> int:
        """Lower a remainder; it is zero if the quotient of numbers that may not be whole is whole but for rounding."""
        make = self.builder.make
        whole, by = [self.lower(arg) for arg in node.args]
        if all(arg.is_integer for arg in node.args):
            return make("mod", whole, by)
        quotient = make("divide", whole, by)
        floor = make("floor", quotient)
        rest = make("subtract", whole, make("multiply", by, floor))
        return make("where", make("equal", make("ceil", quotient), floor), self.builder.number(0.0), rest)

    def _extreme(self, node: Any) -> int:
        """Lower an extreme from the first argument on, which binds at a tie."""
        op = "maximum" if isinstance(node, sympy.Max) else "minimum"
        return self._chain(op, node.args)

    def _joined(self, node: Any) -> int:
        return self._chain("both" if isinstance(node, sympy.And) else "either", node.args)

    def _chain(self, op: str, args: Sequence[Any]) -> int:
        result = self.lower(args[0])
        for arg in args[1:]:
            result = self.builder.make(op, result, self.lower(arg))
        return result

    def _xor(self, node: Any) -> int:
        return self._chain("not_equal", node.args)

    def _not(self, node: Any) -> int:
        return self.builder.make("negation", self.lower(node.args[0]))

    def _ite(self, node: Any) -> int:
        return self.builder.make("where", *[self.lower(arg) for arg in node.args])

    def _relation(self, node: Any) -> int:
        return self.builder.make(_RELATIONS[type(node)], self.lower(node.lhs), self.lower(node.rhs))

    def _piecewise(self, node: Any) -> int:
        """Lower cases, one within the other; nan if none holds."""
        cases = list(node.args)
        result = self.lower(cases.pop().expr) if cases[-1].cond is sympy.true else self.builder.number(math.nan)
        for case in reversed(cases):
            result = self.builder.make("where", self.lower(case.cond), self.lower(case.expr), result)
        return result

    def _evaluated_at(self, node: Any) -> int:
        """Lower a value elsewhere, whose steps are formulas of bound symbols in a scope of their own.

        There they have the names of their variables, so that terms keep their order and equal expressions are shared.
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
        return inner.lower(_variable(node.definitions[-1][0]))

    def _elsewhere(self, first: Any, changed: tuple[Any, ...]) -> tuple[Lowering, Lowering]:
        """Scopes of the nodes that do not depend on changed inputs, and of those that do; cached."""
        if (first, changed) not in self.elsewhere:
            around = self.elsewhere[first, ()][0] if (first, ()) in self.elsewhere else self.scope(self.builder, ())
            inner = around.scope(self.builder, ())
            for symbol, value in changed:
                inner.bind(_variable(symbol), self.lower(value))
            self.elsewhere[first, ()] = self.elsewhere[first, changed] = around, inner
        return self.elsewhere[first, changed]

    def bind(self, symbol: Any, index: int) -> None:
        """Bind a symbol to a node."""
        self.bound.add(symbol)
        self.known[symbol] = index

    def _within(self, bound: Mapping[Any, Facts]) -> Lowering:
        """Scope of a subgraph, with its own inputs."""
        inner = self.scope(Builder(self.builder), bound)
        for symbol, facts in bound.items():
            inner.known[symbol] = inner.builder.input(symbol.name, facts)
        return inner

    def _least_integer(self, node: Any) -> int:
        inner = self._within({node.n: Facts(1.0, math.inf, False, whole=True)})
        condition, captured = inner.builder.subgraph(inner.lower(node.condition))
        missed = _missed(node)
        beyond = self.builder.number(0.0) if missed is None else self.lower(missed)
        return self.builder.make("least_integer", self.lower(node.upper), beyond, *captured, data=condition)

    def _root(self, node: Any) -> int:
        lower, upper = self.lower(node.lower), self.lower(node.upper)
        start = self.builder.facts[lower]
        inner = self._within({node.x: Facts(start.low, math.inf, start.zero or start.low < 0)})
        left, right = inner.lower(node.left), inner.lower(node.right)
        residual, captured = inner.builder.subgraph(inner.builder.make("subtract", left, right))
        return self.builder.make("root", lower, upper, *captured, data=residual)

    def _chunked_prefill(self, node: Any) -> int:
        inner = self._within(dict.fromkeys(node.bound_symbols, Facts(0.0, math.inf)))
        tau, captured = inner.builder.subgraph(inner.lower(node.tau))
        law = self.known.get(node.law)
        if law is None:
            arguments = [self.lower(arg) for arg in node.arguments.values()]
            law = self.known[node.law] = self.builder.make("chunked", *arguments, *captured, data=tau)
        op = "attained" if node.output.endswith("attainment") else "answer"
        return self.builder.make(op, law, data=(node.output, float(node.share)))


@lru_cache(maxsize=2**14)
def _in_variables(step: Any, bound: frozenset[Any]) -> Any:
    """Replace the bound symbols of a step by the variables they are values of."""
    return exchanged(step, {symbol: _variable(symbol) for symbol in bound}, renamed)


def lowered(part: System, named: Named = (), infinite: Collection[str] = ()) -> Graph:
    """Lower a system, or expressions of its variables, to a graph.

    Parameters
    ----------
    part : System
        Formulas, each after those it needs.
    named : tuple of (str, sympy.Basic), optional
        Names, and the expressions of inputs and variables they stand for. If given, these are the outputs instead of
        the variables.
    infinite : collection of str, optional
        Inputs that may be infinite by formulas elsewhere.

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
    outputs = {formula.name: lowering.define(formula.variable.symbol, formula.expression) for formula in part}
    if named:
        outputs = {name: lowering.lower(expression) for name, expression in named}
    graph = lowering.builder.graph(outputs)
    for name in (*graph.inputs, *graph.names.values()):
        if name in _called():
            raise FormulaError(f"variable {name!r} has the name of a function that compiled code calls")
    return graph


def _variable(symbol: Any) -> Any:
    """Symbol of the variable that a bound one stands for; itself if there is none."""
    return variable_of(symbol.name).symbol if is_declared(symbol.name) else symbol


@cache
def _called() -> frozenset[str]:
    """Names that printed code calls; operations of bounds alone are never printed."""
    alone = {n for n, op in TABLE.items() if op.machine and op.numerics is None and op.partials is None}
    names = {name for name, op in TABLE.items() if not op.text} - alone
    return frozenset(names | {"chunked_prefill", "divided", "inf", "nan", "power"})


@lru_cache(maxsize=1 << 12)
def declared(name: str) -> Facts:
    """Facts of a variable by its declaration; none for one that is not declared."""
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
    """Every symbol anywhere within, bound ones included."""
    if node.is_Symbol:
        return frozenset((node,))
    return frozenset().union(*[_symbols(arg) for arg in node.args])


@lru_cache(maxsize=256)
def _rule_of(kind: type) -> str | None:
    rule = next((name for kinds, name in _RULES if issubclass(kind, kinds)), None)
    return rule or ("call" if hasattr(kind, "operation") else None)


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
    """Number that a least integer must exceed or reach for a part of its condition to hold; None if no part tells."""
    for part in sympy.And.make_args(node.condition):
        if isinstance(part, sympy.Lt | sympy.Le | sympy.Gt | sympy.Ge):
            share, rest = part.gts.as_independent(node.n, as_Add=False)  # type: ignore[attr-defined]
            if rest == node.n and share.is_nonnegative and not part.lts.has(node.n):  # type: ignore[attr-defined]
                return part.lts / share  # type: ignore[attr-defined]
    return None
