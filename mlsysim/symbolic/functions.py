"""Functions that sympy lacks: least integers, roots, Erlang C and the normal distribution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby
from typing import Any, Protocol

import sympy
from sympy.core.function import ArgumentIndexError
from sympy.core.relational import Relational
from sympy.core.symbol import Str
from sympy.logic.boolalg import Boolean

from mlsysim.errors import CycleError, FormulaError, UnknownNameError
from mlsysim.symbolic.constants import label
from mlsysim.symbolic.exchange import exchanged, free_symbols, renamed
from mlsysim.symbolic.variable import WHEN_REDECLARED, Variable, variable_of
from mlsysim.tracebacks import at_the_call


class Closed(sympy.Expr):
    """An expression with bound variables or its own law, which term-by-term walks do not enter."""


class LeastInteger(Closed):
    r"""The smallest integer that meets a condition: :math:`\min\{n = 1, 2, \dots : n\le N,\ C(n)\}`.

    The condition must be monotone: once met, it stays met as ``n`` grows, so that compiled code may gallop and bisect.
    The value is infinite if no ``n`` up to the upper end meets it (:math:`\min\emptyset=\infty`).

    Parameters
    ----------
    n : sympy.Symbol
        Bound variable; a plain symbol is replaced by a dummy, so that later substitutions do not capture it.
    condition : sympy Boolean
        Condition in ``n`` and any other symbols.
    upper : sympy.Expr
        Largest ``n`` that is tried.

    Examples
    --------
    >>> import sympy
    >>> from mlsysim import LeastInteger
    >>> n, load = sympy.symbols("n load", positive=True)
    >>> print(LeastInteger(n, n >= load, 100))
    LeastInteger(_n, _n >= load, 100)
    """

    is_integer = True
    is_positive = True

    @at_the_call
    def __new__(cls, n: Any, condition: Any, upper: Any) -> LeastInteger:
        """Build the node; nothing is evaluated."""
        n, condition = sympy.sympify(n, strict=True), sympy.sympify(condition, strict=True)
        if not isinstance(n, sympy.Symbol):
            raise FormulaError(f"the bound variable of a least integer is a symbol, not {n}")
        if not isinstance(n, sympy.Dummy):
            bound = sympy.Dummy(n.name, integer=True, positive=True)
            n, condition = bound, exchanged(condition, {n: bound})
        return sympy.Expr.__new__(cls, n, condition, sympy.sympify(upper, strict=True))

    @property
    def n(self) -> sympy.Symbol:
        """Bound variable."""
        return self.args[0]  # type: ignore[return-value]

    @property
    def condition(self) -> Boolean:
        """Condition that the integer must meet."""
        return self.args[1]  # type: ignore[return-value]

    @property
    def upper(self) -> sympy.Expr:
        """Largest integer that is tried."""
        return self.args[2]  # type: ignore[return-value]

    @property
    def free_symbols(self) -> set[sympy.Basic]:
        """Symbols of the condition and the upper end, without the bound variable."""
        return {*free_symbols(self.condition) - {self.n}, *free_symbols(self.upper)}

    @property
    def bound_symbols(self) -> list[sympy.Symbol]:
        """Bound variable, as a list."""
        return [self.n]

    def _eval_subs(self, old: Any, new: Any) -> Any:
        return self if old == self.n else None

    def _eval_derivative(self, _symbol: sympy.Symbol) -> sympy.Expr:
        return sympy.S.Zero


class Unknown(sympy.Dummy):
    """A bound variable with the unit and printed symbol of a declared variable."""

    @property
    def variable(self) -> Variable:
        """Declared variable whose unit and symbol it has."""
        return variable_of(self.name)


class Root(Closed):
    r"""The number at which two sides are equal: :math:`\{x\in[a,b] : l(x)=r(x)\}`.

    The left side minus the right side must increase with the number. The root is the lower end if the difference is
    already nonnegative there, and the upper end if it is still negative there.

    Parameters
    ----------
    x : sympy.Symbol
        Bound variable. The symbol of a declared variable sets its unit; any other symbol is a pure number. It is
        replaced by a dummy, so that later substitutions do not capture it.
    left, right : sympy.Expr
        Both sides, in ``x`` and any other symbols. They may be infinite and may jump: the root is then where they
        cross.
    lower, upper : sympy.Expr
        Ends of the interval; the upper end may be infinite.

    Raises
    ------
    FormulaError
        If ``x`` is no symbol, is declared an integer or above the lower end, or the lower end is infinite.

    Examples
    --------
    >>> import sympy
    >>> from mlsysim import Root
    >>> x, a = sympy.symbols("x a", positive=True)
    >>> print(Root(x, x**2, a, 0, a))
    Root(_x, _x**2, a, 0, a)
    """

    is_real = True

    @at_the_call
    def __new__(cls, x: Any, left: Any, right: Any, lower: Any, upper: Any) -> Root:
        """Build the node; nothing is evaluated."""
        x, left, right, lower, upper = (sympy.sympify(arg, strict=True) for arg in (x, left, right, lower, upper))
        if not isinstance(x, sympy.Symbol):
            raise FormulaError(f"the unknown of a root is a symbol, not {x}")
        if lower in (sympy.oo, -sympy.oo):
            raise FormulaError(f"the lower end of a root is finite, not {lower}")
        if not isinstance(x, sympy.Dummy):
            bound = _unknown(x)
            x, left, right = bound, exchanged(left, {x: bound}), exchanged(right, {x: bound})
        if x.is_integer or (x.is_nonnegative and lower.is_negative) or (x.is_positive and lower.is_zero):
            raise FormulaError(f"the unknown {x} of a root takes every value from {lower} to {upper}")
        return sympy.Expr.__new__(cls, x, left, right, lower, upper)

    @property
    def x(self) -> sympy.Symbol:
        """Bound variable."""
        return self.args[0]  # type: ignore[return-value]

    @property
    def left(self) -> sympy.Expr:
        """Side that increases relative to the other."""
        return self.args[1]  # type: ignore[return-value]

    @property
    def right(self) -> sympy.Expr:
        """Other side."""
        return self.args[2]  # type: ignore[return-value]

    @property
    def lower(self) -> sympy.Expr:
        """Lower end of the interval."""
        return self.args[3]  # type: ignore[return-value]

    @property
    def upper(self) -> sympy.Expr:
        """Upper end of the interval."""
        return self.args[4]  # type: ignore[return-value]

    @property
    def free_symbols(self) -> set[sympy.Basic]:
        """Symbols of both sides and of the ends, without the bound variable."""
        within = free_symbols(self.left).union(free_symbols(self.right)) - {self.x}
        return {*within, *free_symbols(self.lower), *free_symbols(self.upper)}

    @property
    def bound_symbols(self) -> list[sympy.Symbol]:
        """Bound variable, as a list."""
        return [self.x]

    def _eval_is_nonnegative(self) -> Any:
        return True if self.lower.is_nonnegative else None

    def _eval_is_positive(self) -> Any:
        return True if self.lower.is_positive else None

    def _eval_subs(self, old: Any, new: Any) -> Any:
        return self if old == self.x else None

    def _eval_derivative(self, symbol: sympy.Symbol) -> sympy.Expr:
        return sympy.Derivative(self, symbol) if symbol in self.free_symbols else sympy.S.Zero


def _unknown(symbol: sympy.Symbol) -> sympy.Dummy:
    """Create the bound variable for a symbol; it also takes values between integers."""
    try:
        declared = variable_of(symbol.name).symbol == symbol
    except UnknownNameError:
        declared = False
    sign = {"nonnegative": True} if symbol.is_nonnegative else {"real": True}
    return (Unknown if declared else sympy.Dummy)(symbol.name, **sign)


class Definition(Protocol):
    """Parts of a formula that :func:`evaluated_at` needs."""

    @property
    def symbol(self) -> sympy.Symbol:
        """Left side."""
        ...

    @property
    def expression(self) -> sympy.Basic:
        """Right side."""
        ...

    @property
    def members(self) -> Iterable[Definition]:
        """Plain formulas that it stands for."""
        ...


@dataclass(frozen=True)
class Assignment:
    """Value of an input of one system, in terms of another system.

    Parameters
    ----------
    symbol : sympy.Symbol
        Symbol of the input.
    value : sympy.Expr
        Value, in symbols of the outer system.
    """

    symbol: sympy.Symbol
    value: Any

    @property
    def expression(self) -> sympy.Basic:
        """Value as an expression."""
        return sympy.sympify(self.value, strict=True)

    @property
    def members(self) -> tuple[Assignment, ...]:
        """The assignment itself, as a tuple."""
        return (self,)


class EvaluatedAt(Closed):
    """Value of a variable if others had different values: :math:`T_{99}(c = n)`.

    Build it with :func:`evaluated_at`. It holds the expressions that lead from the changed variables to the target, so
    that a condition on the target can be tested at many values.
    """

    is_real = True

    @property
    def target(self) -> str:
        """Name of the evaluated variable."""
        return str(self.args[0])

    @property
    def changed(self) -> dict[str, sympy.Expr]:
        """Changed variables by name, with their values."""
        names = map(str, self.args[1].args)
        return {name: value for name, (_, value) in zip(names, self.definitions, strict=False)}  # type: ignore[misc]

    @property
    def definitions(self) -> tuple[tuple[sympy.Symbol, sympy.Basic], ...]:
        """Bound symbol and expression of every step, from the changed variables to the target."""
        return tuple(pair.args for pair in self.args[2].args)  # type: ignore[misc]

    @property
    def free_symbols(self) -> set[sympy.Basic]:
        """Free symbols of all steps, without those that steps define."""
        used = set[Any]().union(*(free_symbols(expression) for _, expression in self.definitions))
        return used.difference(self.bound_symbols)

    @property
    def bound_symbols(self) -> list[sympy.Symbol]:
        """Symbols defined by the steps."""
        return [symbol for symbol, _ in self.definitions]

    def _latex(self, printer: Any) -> str:
        """Print the call where sympy prints it, such as in Jupyter: the steps would fill pages."""
        if hasattr(printer, "_print_EvaluatedAt"):  # ours, which sympy asks second
            return printer._print_EvaluatedAt(self)
        changed = (f"{variable_of(name).latex} = {printer._print(value)}" for name, value in self.changed.items())
        return rf"{variable_of(self.target).latex}\left({', '.join(changed)}\right)"

    def _eval_subs(self, old: Any, new: Any) -> Any:
        return self if old in self.bound_symbols else None

    def _eval_derivative(self, symbol: sympy.Symbol) -> sympy.Expr:
        return sympy.Derivative(self, symbol) if symbol in self.free_symbols else sympy.S.Zero


def stated(expression: Any) -> Iterator[Any]:
    """Yield the symbols and calls in a printed expression, without the steps behind the calls.

    Parameters
    ----------
    expression : sympy.Basic
        Expression in declared symbols.
    """
    if isinstance(expression, sympy.Symbol | EvaluatedAt):
        yield expression
    for part in printed_parts(expression):
        yield from stated(part)


def printed_parts(node: Any) -> tuple[Any, ...]:
    """Return the printed parts of a node; of a call only the changed values, not the steps to the target."""
    return tuple(node.changed.values()) if isinstance(node, EvaluatedAt) else node.args


@at_the_call
def evaluated_at(
    target: sympy.Symbol,
    changed: Mapping[sympy.Symbol, Any],
    formulas: Iterable[Definition],
    *,
    swaps: bool = False,
    whole: bool = False,
) -> EvaluatedAt:
    """Evaluate ``target`` with other values of the variables in ``changed``, by the given formulas.

    Parameters
    ----------
    target : sympy.Symbol
        Symbol of a declared variable.
    changed : mapping
        New value per symbol of a declared variable. Formulas that define these variables are not used.
    formulas : iterable of Formula
        Formulas in any order. Only those are used that the target needs and that depend on the changed variables;
        everything else keeps its value.
    swaps : bool
        True if formulas that replace one of these in a system also replace it here.
    whole : bool
        True if the formulas are a system of their own, with an :class:`Assignment` for each input that the outer system
        lacks. Variables that do not depend on the changed ones are then also taken from them, even if the outer system
        has their names.

    Returns
    -------
    EvaluatedAt

    Raises
    ------
    FormulaError
        If no formulas lead from the changed variables to the target.
    CycleError
        If formulas need each other.

    Examples
    --------
    >>> from mlsysim import evaluated_at
    >>> from mlsysim.formulas import topic
    >>> from mlsysim.symbols import hardware
    >>> from mlsysim.symbolic import variable_of
    >>> ridge = next(formula for formula in topic("roofline").FORMULAS if formula.name == "ridge_point")
    >>> faster = evaluated_at(ridge.variable.symbol, {variable_of("memory_bandwidth").symbol: 1e12}, [ridge])
    >>> sorted(symbol.name for symbol in faster.free_symbols)
    ['ceiling_efficiency', 'memory_efficiency', 'peak_flops']
    """
    definitions = frozenset(formulas)
    bound, moved = _steps(target, tuple(changed), definitions, whole)
    steps = [sympy.Tuple(bound[symbol], sympy.sympify(value, strict=True)) for symbol, value in changed.items()]
    names = sympy.Tuple(*(Str(symbol.name) for symbol in changed))
    call = EvaluatedAt(Str(target.name), names, sympy.Tuple(*steps, *moved))
    if swaps:
        _MADE_OF[call] = target, dict(changed), definitions
    return call


def evaluated_by(expression: sympy.Basic, replaced: Mapping[Definition, Definition]) -> sympy.Basic:
    """Rebuild an expression whose calls use replaced formulas.

    Parameters
    ----------
    expression : sympy.Basic
        Expression of a formula of the system.
    replaced : mapping
        New formulas of the system, by the old ones.
    """
    rebuilt_calls = {}
    for node in expression.atoms(EvaluatedAt) & _MADE_OF.keys():
        target, changed, led_by = _MADE_OF[node]
        if led_by & replaced.keys():
            rebuilt_calls[node] = evaluated_at(
                target, changed, (led_by - replaced.keys()) | {*replaced.values()}, swaps=True
            )
    return expression.xreplace(rebuilt_calls)


#: Target, changed values and formulas of the calls that follow replacements in their system.
_MADE_OF: dict[EvaluatedAt, tuple[sympy.Symbol, dict[sympy.Symbol, Any], frozenset[Definition]]] = {}


@lru_cache(maxsize=256)
def _bound_symbols(
    changed: tuple[sympy.Symbol, ...], formulas: frozenset[Definition], whole: bool
) -> dict[Any, sympy.Dummy]:
    """Bound symbols shared by all calls with the same formulas and changes; each call adds its own."""
    return {}


@lru_cache(maxsize=256)
def _steps(
    target: sympy.Symbol, changed: tuple[sympy.Symbol, ...], formulas: frozenset[Definition], whole: bool
) -> tuple[Mapping[Any, sympy.Dummy], list[sympy.Tuple]]:
    """Order the formulas that lead from the changed variables to the target, and give them bound symbols.

    The result does not depend on the values and is cached.
    """
    moved: dict[Any, sympy.Basic] = {}
    known = {member.symbol: member.expression for formula in formulas for member in formula.members}
    followed: set[Any] = set(changed)
    open_: list[str] = []

    def follow(symbol: Any) -> None:
        """Add the formulas that lead to a symbol, if it depends on a change."""
        if symbol.name in open_:
            raise CycleError(f"formulas need each other: {' -> '.join([*open_, symbol.name])}")
        if symbol in followed or symbol not in known:
            return
        open_.append(symbol.name)
        needed = free_symbols(known[symbol])
        for dependency in sorted(needed, key=lambda dependency: dependency.name):
            follow(dependency)
        open_.pop()
        followed.add(symbol)
        if whole or needed & {*changed, *moved}:
            moved[symbol] = known[symbol]

    follow(target)
    if target in changed or target not in moved:
        names = " or ".join(symbol.name for symbol in changed)
        raise FormulaError(f"no formulas lead from {names or 'nothing'} to {target.name}")
    bound = _bound_symbols(changed, formulas, whole)
    for defined in (*changed, *moved):
        bound.setdefault(defined, sympy.Dummy(defined.name, real=True))
    return bound, [
        sympy.Tuple(bound[symbol], exchanged(expression, bound, renamed)) for symbol, expression in moved.items()
    ]


#: Functions that jump, with a derivative of zero in between.
STEPS = (sympy.ceiling, sympy.floor, LeastInteger)


class Queue(sympy.Function):
    """A probability in a queue; its first argument, the number of servers, is an integer, so it has no derivative."""

    is_real = True
    is_nonnegative = True


class ErlangC(Queue):
    """Erlang C: the probability that an arrival waits in an M/M/c queue.

    Parameters
    ----------
    c : sympy.Expr
        Number of servers.
    A : sympy.Expr
        Offered load, arrival rate over the service rate of one server; below ``c`` for stability.

    Notes
    -----
    ``C(c, A) = c B / (c - A (1 - B))`` with Erlang B ``B = (A^c/c!) / sum_k A^k/k!``.
    The number of servers is whole: only the derivative with respect to the load exists.

    Examples
    --------
    >>> from mlsysim.symbolic import ErlangC
    >>> print(ErlangC(2, 1))
    ErlangC(2, 1)
    """

    operation = "erlang_c"
    nargs = 2

    def fdiff(self, argindex: int = 1) -> Any:
        """Differentiate with respect to the offered load."""
        if argindex != 2:
            raise ArgumentIndexError(self, argindex)
        return ErlangCSlope(*self.args)


class ErlangCSlope(sympy.Function):
    r"""Derivative of Erlang C with respect to the offered load, :math:`\partial C/\partial A`.

    Its closed form in terms of ``C``, from which its graph is built, is :func:`erlang_c_slope`.
    """

    nargs = 2
    is_real = True
    is_nonnegative = True


class SlotsBusy(Queue):
    """Probability that all slots are occupied, in a queue whose servers slow down as they fill.

    Parameters
    ----------
    m : sympy.Expr
        Number of slots.
    a, b : sympy.Expr
        Coefficients of the ratio of arrivals to departures with i slots occupied, (a + b i) / i.
    e : sympy.Expr
        Exponent that widens the distribution for bursty arrivals.
    t : sympy.Expr
        Probability that at least all slots are occupied, relative to exactly all.

    Notes
    -----
    ``B(m, a, b, e, t) = t u_m / (sum_{j<m} u_j + t u_m)`` with ``u_j = prod_{i<=j} ((a + b i)/i)^e``.
    With ``b = 0``, ``e = 1`` and ``t = m/(m - a)`` it is Erlang C.
    """

    operation = "slots_busy"
    nargs = 5

    def fdiff(self, argindex: int = 1) -> Any:
        """Differentiate with respect to any argument but the number of slots, which is an integer."""
        if argindex not in (2, 3, 4, 5):
            raise ArgumentIndexError(self, argindex)
        return SlotsBusySlope(sympy.Integer(argindex), *self.args)


class SlotsBusySlope(sympy.Function):
    r"""Derivative of :class:`SlotsBusy` with respect to one of its arguments, counted from 1."""

    operation = "slots_busy_slope"
    nargs = 6
    is_real = True


class NormalCDF(sympy.Function):
    r"""The normal distribution :math:`\Phi(x)`: probability that a standard normal variable is below ``x``.

    Parameters
    ----------
    x : sympy.Expr
        A pure number.
    """

    operation = "normal_cdf"
    nargs = 1
    is_real = True
    is_nonnegative = True

    def fdiff(self, argindex: int = 1) -> Any:
        """Differentiate: the result is the normal density."""
        if argindex != 1:
            raise ArgumentIndexError(self, argindex)
        return sympy.exp(-(self.args[0] ** 2) / 2) / sympy.sqrt(2 * sympy.pi)  # type: ignore[operator]


class NormalQuantile(sympy.Function):
    r"""The quantile of the normal distribution :math:`\Phi^{-1}(p)`, inverse of :class:`NormalCDF`.

    Parameters
    ----------
    p : sympy.Expr
        Probability; at 0 and 1 the quantile is infinite.
    """

    operation = "normal_quantile"
    nargs = 1
    is_extended_real = True

    def fdiff(self, argindex: int = 1) -> Any:
        """Differentiate: the result is one over the density at the quantile."""
        if argindex != 1:
            raise ArgumentIndexError(self, argindex)
        return sympy.sqrt(2 * sympy.pi) * sympy.exp(self**2 / 2)


def erlang_c_slope(c: Any, load: Any, wait: Any) -> Any:
    """Compute dC/dA from C itself; works on sympy expressions, graph operands and arrays.

    Follows from ``B' = B (c/A - 1 + B)`` and ``B = C (c - A) / (c - A C)``.
    """
    blocking = wait * (c - load) / (c - load * wait)
    blocking_slope = blocking * (c / load - 1 + blocking)
    room = c - load * (1 - blocking)
    return c * blocking_slope / room + c * blocking * (1 - blocking - load * blocking_slope) / (room * room)


@at_the_call
def when(condition: Any, then: Any, otherwise: Any = 0) -> sympy.Expr:
    """Choose ``then`` if the condition holds, else ``otherwise``.

    Parameters
    ----------
    condition : sympy Boolean or Symbol
        Condition; a symbol holds if it is above zero.
    then, otherwise : sympy.Expr or number
        Values if the condition holds, and if it does not.

    Returns
    -------
    sympy.Piecewise

    Examples
    --------
    >>> import sympy
    >>> from mlsysim import when
    >>> Z, d = sympy.symbols("Z d", positive=True)
    >>> when(Z >= 3, 1 / d, 1).subs({Z: 3, d: 8})
    1/8
    """
    one, other = sympy.sympify(then, strict=True), sympy.sympify(otherwise, strict=True)
    if isinstance(condition, sympy.Symbol):  # sympy drops a bare one from the comparisons of further cases
        condition = condition > 0
    if isinstance(condition, Boolean) and one != other and sympy.Piecewise not in (one.func, other.func):
        return sympy.Piecewise((one, _as_case(condition)), (other, True), evaluate=False)
    return sympy.Piecewise((one, condition), (other, True))


@at_the_call
def sharded(condition: Any, ways: Any) -> sympy.Expr:
    """Divide by ``ways`` if the condition holds: returns ``ways``, else one.

    Parameters
    ----------
    condition : sympy Boolean or Symbol
        Condition under which the tensor is split.
    ways : sympy.Expr or number
        Number of ranks that share the tensor.

    Returns
    -------
    sympy.Piecewise

    Examples
    --------
    >>> import sympy
    >>> from mlsysim import sharded
    >>> Z, d = sympy.symbols("Z d", positive=True)
    >>> sharded(Z >= 3, d).subs({Z: 1, d: 8})
    1
    """
    return when(condition, ways, 1)


@at_the_call
def by_label(symbol: sympy.Symbol, values: dict[str, Any]) -> sympy.Expr:
    """Build a table over the labels of a choice variable, in declared order.

    Parameters
    ----------
    symbol : sympy.Symbol
        Symbol of a choice variable.
    values : dict
        Expression per label; every label must be given.

    Returns
    -------
    sympy.Piecewise

    Raises
    ------
    FormulaError
        If a label is missing or unknown.

    Examples
    --------
    >>> from mlsysim import by_label, choice, variable
    >>> medium = variable("medium_of_examples", "m", "", "Kind of a disk.", choice("disk", "flash"))
    >>> print(by_label(medium, {"disk": 1, "flash": 20}))
    Piecewise((1, Eq(medium_of_examples.disk, medium_of_examples)), (20, True))
    """
    labels = variable_of(symbol).domain.labels
    if set(labels) != set(values):
        raise FormulaError(f"table over {symbol.name} must give exactly {', '.join(labels)}; got {', '.join(values)}")
    expressions = {text: sympy.sympify(values[text], strict=True) for text in labels}
    if any(value.has(sympy.Piecewise) and symbol in free_symbols(value) for value in expressions.values()):
        # A table within a table over the same labels: sympy drops the impossible cases.
        return sympy.Piecewise(*((value, _chosen(symbol, text)) for text, value in expressions.items()))
    cases = [(value, _chosen(symbol, *texts)) for value, texts in groupby(labels, key=expressions.__getitem__)]
    return sympy.Piecewise(*cases, evaluate=False)


@lru_cache(maxsize=1024)
def _as_case(condition: Boolean) -> Any:
    """Return a condition as sympy writes it in a Piecewise; cached, because sympy takes long for it."""
    if isinstance(condition, Relational) and condition.lhs.is_Symbol and condition.rhs.is_Number:
        return condition
    cases = sympy.Piecewise((1, condition), (0, True))
    return cases.args[0].args[1] if isinstance(cases, sympy.Piecewise) else sympy.sympify(bool(cases))


@cache
def _chosen(symbol: sympy.Symbol, *texts: str) -> Any:
    """Return the condition that a choice variable has one of some labels; true for the last labels."""
    if texts[-1] == variable_of(symbol).domain.labels[-1]:
        return sympy.true
    conditions: Any = (sympy.Eq(*sympy.ordered((symbol, label(symbol, text))), evaluate=False) for text in texts)
    return sympy.Or(*conditions)


WHEN_REDECLARED.append(_chosen.cache_clear)
