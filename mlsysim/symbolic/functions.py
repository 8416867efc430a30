"""Functions the field writes that sympy does not have: least integers, roots, Erlang C, the normal distribution."""

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
    """Expression with variables or a law of its own, which no walk along the terms of a formula enters."""


class LeastInteger(Closed):
    r"""The smallest whole number that meets a condition: :math:`\min\{n = 1, 2, \dots : n\le N,\ C(n)\}`.

    The condition must be monotone: once met it stays met as ``n`` grows, so compiled code may
    gallop and bisect. Where no ``n`` up to the upper end meets it the value is infinite
    (:math:`\min\emptyset=\infty`).

    Parameters
    ----------
    n : sympy.Symbol
        Bound variable; a plain symbol is made a dummy, so that nothing put in later is captured.
    condition : sympy Boolean
        In ``n`` and any other symbols.
    upper : sympy.Expr
        Largest ``n`` considered.

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
        """The bound variable."""
        return self.args[0]  # type: ignore[return-value]

    @property
    def condition(self) -> Boolean:
        """Condition that the number must meet."""
        return self.args[1]  # type: ignore[return-value]

    @property
    def upper(self) -> sympy.Expr:
        """Largest number considered."""
        return self.args[2]  # type: ignore[return-value]

    @property
    def free_symbols(self) -> set[sympy.Basic]:
        """Symbols of condition and upper end, without the bound variable."""
        return {*free_symbols(self.condition) - {self.n}, *free_symbols(self.upper)}

    @property
    def bound_symbols(self) -> list[sympy.Symbol]:
        """The bound variable."""
        return [self.n]

    def _eval_subs(self, old: Any, new: Any) -> Any:
        return self if old == self.n else None

    def _eval_derivative(self, _symbol: sympy.Symbol) -> sympy.Expr:
        return sympy.S.Zero


class Unknown(sympy.Dummy):
    """A bound variable with the unit and the printed symbol of a declared one."""

    @property
    def variable(self) -> Variable:
        """The variable that it is a value of."""
        return variable_of(self.name)


class Root(Closed):
    r"""The number at which two sides are equal: :math:`\{x\in[a,b] : l(x)=r(x)\}`.

    The left side less the right side must rise with the number. Where it is not negative at the lower end, the
    lower end is the root, and where it is still negative at the upper end, the upper end is.

    Parameters
    ----------
    x : sympy.Symbol
        Bound variable. The symbol of a declared variable gives its unit; any other is a pure number. It is made
        a dummy, so that nothing put in later is captured.
    left, right : sympy.Expr
        The two sides, in ``x`` and any other symbols. They may be infinite and may jump: then the root is where
        the one crosses the other.
    lower, upper : sympy.Expr
        Ends of the interval; the upper one may be infinite.

    Raises
    ------
    FormulaError
        If ``x`` is no symbol, is said to be whole or to be larger than the lower end, or the lower end is infinite.

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
        """The bound variable."""
        return self.args[0]  # type: ignore[return-value]

    @property
    def left(self) -> sympy.Expr:
        """The side that rises against the other."""
        return self.args[1]  # type: ignore[return-value]

    @property
    def right(self) -> sympy.Expr:
        """The other side."""
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
        """The bound variable."""
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
    """A bound variable in place of a symbol; between whole numbers it takes any value."""
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
        """The plain formulas it stands for."""
        ...


@dataclass(frozen=True)
class Assignment:
    """Value of an input of a system that stands within another one.

    Parameters
    ----------
    symbol : sympy.Symbol
        The input.
    value : sympy.Expr
        In symbols of the system around.
    """

    symbol: sympy.Symbol
    value: Any

    @property
    def expression(self) -> sympy.Basic:
        """The value."""
        return sympy.sympify(self.value, strict=True)

    @property
    def members(self) -> tuple[Assignment, ...]:
        """Itself."""
        return (self,)


class EvaluatedAt(Closed):
    """Value of a variable if others had different values: :math:`T_{99}(c = n)`.

    Build one with :func:`evaluated_at`. It carries the expressions that lead from the ones to the other,
    so that a condition on the variable can be tried at many values.
    """

    is_real = True

    @property
    def target(self) -> str:
        """Name of the variable."""
        return str(self.args[0])

    @property
    def changed(self) -> dict[str, sympy.Expr]:
        """The variables that have another value, by name, with that value."""
        names = map(str, self.args[1].args)
        return {name: value for name, (_, value) in zip(names, self.definitions, strict=False)}  # type: ignore[misc]

    @property
    def definitions(self) -> tuple[tuple[sympy.Symbol, sympy.Basic], ...]:
        """Bound symbol and expression of every step, the changed variables first and the target last."""
        return tuple(pair.args for pair in self.args[2].args)  # type: ignore[misc]

    @property
    def free_symbols(self) -> set[sympy.Basic]:
        """Symbols of all steps that no step defines."""
        used = set[Any]().union(*(free_symbols(expression) for _, expression in self.definitions))
        return used.difference(self.bound_symbols)

    @property
    def bound_symbols(self) -> list[sympy.Symbol]:
        """Symbols that the steps define."""
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
    """Yield the symbols and values elsewhere that stand in a printed expression, without the steps to the latter.

    Parameters
    ----------
    expression : sympy.Basic
        In declared symbols.
    """
    if isinstance(expression, sympy.Symbol | EvaluatedAt):
        yield expression
    for part in printed_parts(expression):
        yield from stated(part)


def printed_parts(node: Any) -> tuple[Any, ...]:
    """Parts of a node that print: of a call only the other values, not the steps from them to the target."""
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
    """The value of ``target`` if the variables in ``changed`` had other values, by these formulas.

    Parameters
    ----------
    target : sympy.Symbol
        Symbol of a declared variable.
    changed : mapping
        Other value per symbol of a declared variable. No formula of these variables is used.
    formulas : iterable of Formula
        In any order. Only those are taken that the target needs and that depend on what is changed: what
        does not keeps its present value.
    swaps : bool
        Whether a formula that takes the place of one of these in a system takes it here too.
    whole : bool
        Whether the formulas are a system of their own, with an :class:`Assignment` for each input that is not of the
        system around: what does not depend on what is changed follows from them too, whatever has its name around.

    Returns
    -------
    EvaluatedAt

    Raises
    ------
    FormulaError
        If no formulas lead from what is changed to the target.
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
    led_by = frozenset(formulas)
    bound, moved = _steps(target, tuple(changed), led_by, whole)
    steps = [sympy.Tuple(bound[symbol], sympy.sympify(value, strict=True)) for symbol, value in changed.items()]
    names = sympy.Tuple(*(Str(symbol.name) for symbol in changed))
    made = EvaluatedAt(Str(target.name), names, sympy.Tuple(*steps, *moved))
    if swaps:
        _MADE_OF[made] = target, dict(changed), led_by
    return made


def evaluated_by(expression: sympy.Basic, replaced: Mapping[Definition, Definition]) -> sympy.Basic:
    """An expression whose values elsewhere go by the formulas that take the place of those that led to them.

    Parameters
    ----------
    expression : sympy.Basic
        Of a formula of a system.
    replaced : mapping
        New formulas of the system, by the old ones.
    """
    made = {}
    for node in expression.atoms(EvaluatedAt) & _MADE_OF.keys():
        target, changed, led_by = _MADE_OF[node]
        if led_by & replaced.keys():
            made[node] = evaluated_at(target, changed, (led_by - replaced.keys()) | {*replaced.values()}, swaps=True)
    return expression.xreplace(made)


#: Target, other values and formulas of the values elsewhere that go by the formulas of their system.
_MADE_OF: dict[EvaluatedAt, tuple[sympy.Symbol, dict[sympy.Symbol, Any], frozenset[Definition]]] = {}


@lru_cache(maxsize=256)
def _bound_symbols(
    changed: tuple[sympy.Symbol, ...], formulas: frozenset[Definition], whole: bool
) -> dict[Any, sympy.Dummy]:
    """Bound symbols of all values by the same formulas with the same changes, to which each value adds its own."""
    return {}


@lru_cache(maxsize=256)
def _steps(
    target: sympy.Symbol, changed: tuple[sympy.Symbol, ...], formulas: frozenset[Definition], whole: bool
) -> tuple[Mapping[Any, sympy.Dummy], list[sympy.Tuple]]:
    """Bound symbols, and formulas that move with what is changed and lead to the target, each after what it needs.

    They are the same whatever the values, and made once for many of them.
    """
    moved: dict[Any, sympy.Basic] = {}
    known = {member.symbol: member.expression for formula in formulas for member in formula.members}
    followed: set[Any] = set(changed)
    open_: list[str] = []

    def follow(symbol: Any) -> None:
        """Add what leads to a symbol, if it moves at all."""
        if symbol.name in open_:
            raise CycleError(f"formulas need each other: {' -> '.join([*open_, symbol.name])}")
        if symbol in followed or symbol not in known:
            return
        open_.append(symbol.name)
        needed = free_symbols(known[symbol])
        for each in sorted(needed, key=lambda each: each.name):
            follow(each)
        open_.pop()
        followed.add(symbol)
        if whole or needed & {*changed, *moved}:
            moved[symbol] = known[symbol]

    follow(target)
    if target in changed or target not in moved:
        names = " or ".join(symbol.name for symbol in changed)
        raise FormulaError(f"no formulas lead from {names or 'nothing'} to {target.name}")
    bound = _bound_symbols(changed, formulas, whole)
    for each in (*changed, *moved):
        bound.setdefault(each, sympy.Dummy(each.name, real=True))
    return bound, [sympy.Tuple(bound[symbol], exchanged(each, bound, renamed)) for symbol, each in moved.items()]


#: Expressions that jump, and whose derivative is zero in between.
STEPS = (sympy.ceiling, sympy.floor, LeastInteger)


class Queue(sympy.Function):
    """Probability in a queue, whose first argument counts servers and is whole: there is no derivative by it."""

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
        """Derivative with respect to the offered load."""
        if argindex != 2:
            raise ArgumentIndexError(self, argindex)
        return ErlangCSlope(*self.args)


class ErlangCSlope(sympy.Function):
    r"""Derivative of Erlang C with respect to the offered load, :math:`\partial C/\partial A`.

    Its closed form in terms of ``C`` is :func:`erlang_c_slope`, of which its graph is made.
    """

    nargs = 2
    is_real = True
    is_nonnegative = True


class SlotsBusy(Queue):
    """Probability that all slots are taken, in a queue whose servers slow down as they fill.

    Parameters
    ----------
    m : sympy.Expr
        Number of slots.
    a, b : sympy.Expr
        Arrivals over departures with i slots taken are (a + b i) / i.
    e : sympy.Expr
        Exponent that widens the distribution for arrivals that come in bunches.
    t : sympy.Expr
        Weight of the queue beyond the slots, over that of all slots taken.

    Notes
    -----
    ``B(m, a, b, e, t) = t u_m / (sum_{j<m} u_j + t u_m)`` with ``u_j = prod_{i<=j} ((a + b i)/i)^e``.
    With ``b = 0``, ``e = 1`` and ``t = m/(m - a)`` it is Erlang C.
    """

    operation = "slots_busy"
    nargs = 5

    def fdiff(self, argindex: int = 1) -> Any:
        """Derivative with respect to all but the number of slots, which is whole."""
        if argindex not in (2, 3, 4, 5):
            raise ArgumentIndexError(self, argindex)
        return SlotsBusySlope(sympy.Integer(argindex), *self.args)


class SlotsBusySlope(sympy.Function):
    r"""Derivative of :class:`SlotsBusy` with respect to one of its arguments, counted from 1."""

    operation = "slots_busy_slope"
    nargs = 6
    is_real = True


class NormalCDF(sympy.Function):
    r"""The normal distribution :math:`\Phi(x)`: the share of a standard normal variable below ``x``.

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
        """The density."""
        if argindex != 1:
            raise ArgumentIndexError(self, argindex)
        return sympy.exp(-(self.args[0] ** 2) / 2) / sympy.sqrt(2 * sympy.pi)  # type: ignore[operator]


class NormalQuantile(sympy.Function):
    r"""The quantile of the normal distribution :math:`\Phi^{-1}(p)`, the inverse of :class:`NormalCDF`.

    Parameters
    ----------
    p : sympy.Expr
        A probability; at 0 and 1 the quantile is infinite.
    """

    operation = "normal_quantile"
    nargs = 1
    is_extended_real = True

    def fdiff(self, argindex: int = 1) -> Any:
        """One over the density at the quantile."""
        if argindex != 1:
            raise ArgumentIndexError(self, argindex)
        return sympy.sqrt(2 * sympy.pi) * sympy.exp(self**2 / 2)


def erlang_c_slope(c: Any, load: Any, wait: Any) -> Any:
    """dC/dA in terms of C itself; works on sympy expressions, on operands of a graph and on arrays.

    Follows from ``B' = B (c/A - 1 + B)`` and ``B = C (c - A) / (c - A C)``.
    """
    blocking = wait * (c - load) / (c - load * wait)
    blocking_slope = blocking * (c / load - 1 + blocking)
    room = c - load * (1 - blocking)
    return c * blocking_slope / room + c * blocking * (1 - blocking - load * blocking_slope) / (room * room)


@at_the_call
def when(condition: Any, then: Any, otherwise: Any = 0) -> sympy.Expr:
    """``then`` where the condition holds, else ``otherwise``.

    Parameters
    ----------
    condition : sympy Boolean or Symbol
        A symbol holds where it is above zero.
    then, otherwise : sympy.Expr or number
        Values where the condition holds, and where it does not.

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
    """The divisor of a tensor split ``ways`` ways where the condition holds, else one.

    Parameters
    ----------
    condition : sympy Boolean or Symbol
        Where the tensor is split.
    ways : sympy.Expr or number
        Ranks that share it.

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
    """A table over the labels of a choice variable, in declared order.

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
    given = {text: sympy.sympify(values[text], strict=True) for text in labels}
    if any(value.has(sympy.Piecewise) and symbol in free_symbols(value) for value in given.values()):
        # A table within a table over the same labels: sympy leaves out what cannot be.
        return sympy.Piecewise(*((value, _chosen(symbol, text)) for text, value in given.items()))
    joined = [(value, _chosen(symbol, *texts)) for value, texts in groupby(labels, key=given.__getitem__)]
    return sympy.Piecewise(*joined, evaluate=False)


@lru_cache(maxsize=1024)
def _as_case(condition: Boolean) -> Any:
    """A condition as sympy writes it in a Piecewise, which takes it longer than the rest."""
    if isinstance(condition, Relational) and condition.lhs.is_Symbol and condition.rhs.is_Number:
        return condition
    cases = sympy.Piecewise((1, condition), (0, True))
    return cases.args[0].args[1] if isinstance(cases, sympy.Piecewise) else sympy.sympify(bool(cases))


@cache
def _chosen(symbol: sympy.Symbol, *texts: str) -> Any:
    """The condition that a choice variable has one of some labels, as sympy writes it; none is left behind the last."""
    if texts[-1] == variable_of(symbol).domain.labels[-1]:
        return sympy.true
    each: Any = (sympy.Eq(*sympy.ordered((symbol, label(symbol, text))), evaluate=False) for text in texts)
    return sympy.Or(*each)


WHEN_REDECLARED.append(_chosen.cache_clear)
