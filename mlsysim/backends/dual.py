"""Derivatives carried along with values through compiled code: dual numbers, one slope per input that matters.

A slope is kept only of the inputs a number depends on, over the axes it depends on, and nothing is compiled beside
the function itself. Nested, dual numbers carry second derivatives. An extreme takes the slope of the argument that
binds (at a tie the first), a branch that of the case taken; ceilings, floors and least integers have none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from mlsysim.backends import vector
from mlsysim.graph import operations
from mlsysim.graph.floats import State
from mlsysim.symbolic.functions import erlang_c_slope


class Dual:
    """A number and its slopes.

    Parameters
    ----------
    value : array or Dual
        The number; a dual number of a lower level where second derivatives are asked for.
    slopes : dict
        Derivative by name of input; zero by those that are left out.
    level : int
        Numbers of a lower level count as constant.
    """

    __slots__ = ("level", "slopes", "value")
    __array_ufunc__ = None  # an array on the left leaves the operation to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, slopes: dict[str, Any], level: int = 1) -> None:
        self.value = np.float64(value) if isinstance(value, int | float) else value  # no error where it divides
        self.slopes = slopes
        self.level = level

    def __add__(self, other: Any) -> Any:
        return _combined(self, other, lambda a, b: a + b, lambda _a, _b: (None, None))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return _combined(self, other, lambda a, b: a - b, lambda _a, _b: (None, -1.0))

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __neg__(self) -> Any:
        return Dual(-self.value, {name: -slope for name, slope in self.slopes.items()}, self.level)

    def __pos__(self) -> Any:
        return self

    def __mul__(self, other: Any) -> Any:
        return _combined(self, other, lambda a, b: a * b, lambda a, b: (b, a))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return _combined(self, other, lambda a, b: a / b, _quotient_slopes)

    def __rtruediv__(self, other: Any) -> Any:
        return _combined(other, self, lambda a, b: a / b, _quotient_slopes)

    def __pow__(self, other: Any) -> Any:
        return _power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return _power(other, self)

    def __abs__(self) -> Any:
        return where(self >= 0, self, -self)

    def __lt__(self, other: Any) -> Any:
        return plain(self) < plain(other)

    def __le__(self, other: Any) -> Any:
        return plain(self) <= plain(other)

    def __gt__(self, other: Any) -> Any:
        return plain(self) > plain(other)

    def __ge__(self, other: Any) -> Any:
        return plain(self) >= plain(other)

    def __eq__(self, other: object) -> Any:
        return plain(self) == plain(other)

    def __ne__(self, other: object) -> Any:
        return plain(self) != plain(other)


def plain(number: Any) -> Any:
    """The number without slopes."""
    while isinstance(number, Dual):
        number = number.value
    return number


def _level(number: Any) -> int:
    return number.level if isinstance(number, Dual) else 0


def _parts(number: Any, level: int) -> tuple[Any, dict[str, Any]]:
    """Value and slopes at a level; a number of a lower one is constant."""
    return (number.value, number.slopes) if _level(number) == level else (number, {})


def _combined(left: Any, right: Any, operation: Callable[..., Any], factors: Callable[..., Any]) -> Any:
    """Two numbers together; ``factors`` gives what each one's slopes are multiplied by, None for one."""
    level = max(_level(left), _level(right))
    (a, by_a), (b, by_b) = _parts(left, level), _parts(right, level)
    left_factor, right_factor = factors(a, b)
    slopes = _scaled(left_factor, by_a)
    for name, slope in _scaled(right_factor, by_b).items():
        slopes[name] = slopes[name] + slope if name in slopes else slope
    return Dual(operation(a, b), slopes, level)


def _scaled(factor: Any, slopes: Mapping[str, Any]) -> dict[str, Any]:
    if factor is None or not slopes:
        return dict(slopes)
    return {name: _times(factor, slope) for name, slope in slopes.items()}


def _times(factor: Any, slope: Any) -> Any:
    """A product of slopes, in which nothing times infinity is nothing."""
    found = factor * slope
    value = plain(found)
    if value is not found:
        undefined = np.isnan(value)
    elif np.ndim(value):
        undefined = np.isnan(value) if np.isnan(np.min(value)) else None
    else:
        undefined = value != value
    if undefined is None or not np.any(undefined):
        return found
    return where(undefined & ((plain(factor) == 0) | (plain(slope) == 0)), 0.0, found)


def _quotient_slopes(a: Any, b: Any) -> tuple[Any, Any]:
    inverse = np.float64(1.0) / b
    return inverse, -(a * inverse) * inverse


def _power(base: Any, exponent: Any) -> Any:
    """A power; with an exponent that has slopes, of a base that is not negative."""
    if _level(exponent) < _level(base):
        return _combined(base, exponent, lambda a, b: a**b, lambda a, b: (_lowered(a, b), None))
    return _combined(base, exponent, lambda a, b: a**b, _power_slopes)


def _lowered(base: Any, exponent: Any) -> Any:
    """The derivative of a power by its base."""
    return where(plain(exponent) == 0, 0.0, exponent * base ** (exponent - 1))


def _power_slopes(base: Any, exponent: Any) -> tuple[Any, Any]:
    return _lowered(base, exponent), log(where(plain(base) > 0, base, 1.0)) * base**exponent


def _applied(function: Callable[..., Any], factor: Callable[..., Any]) -> Callable[[Any], Any]:
    """A function of one number; ``factor`` gives its derivative from the number and the function's value."""

    def apply(number: Any) -> Any:
        if not isinstance(number, Dual):
            return function(number)
        value = apply(number.value)
        return Dual(value, _scaled(factor(number.value, value), number.slopes), number.level)

    return apply


exp = _applied(np.exp, lambda _x, value: value)
log = _applied(np.log, lambda x, _value: 1.0 / x)
sqrt = _applied(np.sqrt, lambda _x, value: 0.5 / value)


def where(condition: Any, then: Any, otherwise: Any) -> Any:
    """One of two numbers, with its slopes."""
    level = max(_level(then), _level(otherwise))
    if not level:
        return np.where(condition, then, otherwise)[()]
    (a, by_a), (b, by_b) = _parts(then, level), _parts(otherwise, level)
    if np.ndim(condition) == 0:
        return Dual(a, dict(by_a), level) if condition else Dual(b, dict(by_b), level)
    slopes = {
        name: where(condition, by_a.get(name, 0.0), by_b.get(name, 0.0)) for name in (*by_a, *(by_b.keys() - by_a))
    }
    return Dual(where(condition, a, b), slopes, level)


def maximum(left: Any, right: Any) -> Any:
    """The larger number; at a tie the first."""
    if not isinstance(left, Dual) and not isinstance(right, Dual):
        return np.maximum(left, right)
    a, b = plain(left), plain(right)
    return where((a >= b) | (a != a), left, right)


def minimum(left: Any, right: Any) -> Any:
    """The smaller number; at a tie the first."""
    if not isinstance(left, Dual) and not isinstance(right, Dual):
        return np.minimum(left, right)
    a, b = plain(left), plain(right)
    return where((a <= b) | (a != a), left, right)


def mod(whole: Any, by: Any) -> Any:
    """The remainder."""
    if not isinstance(whole, Dual) and not isinstance(by, Dual):
        return np.mod(whole, by)
    return whole - by * np.floor(plain(whole) / plain(by))


def beside(quantity: Any, *factors: Any) -> Any:
    """The quantity, but zero where it is infinite and a factor is zero."""
    zero = reduce(lambda a, b: a | b, [factor == 0 for factor in factors])
    return where(zero & np.isinf(plain(quantity)), 0.0, quantity)


def erlang_c(servers: Any, load: Any) -> Any:
    """Probability of waiting; its derivative by the load has a closed form."""
    if not isinstance(load, Dual):
        return vector.erlang_c(plain(servers), load)
    wait = erlang_c(servers, load.value)
    stable = plain(load) < plain(servers)
    offered = where(stable, load.value, plain(servers) / 2)
    slope = erlang_c_slope(plain(servers), offered, where(stable, wait, 0.5))
    return Dual(wait, _scaled(where(stable, slope, 0.0), load.slopes), load.level)


def slots_busy(*arguments: Any) -> Any:
    """Probability that all slots are taken."""
    level = max(map(_level, arguments))
    if not level:
        return vector.slots_busy(*arguments)
    slots, *rest = (_parts(argument, level) for argument in arguments)
    values = [slots[0], *(value for value, _ in rest)]
    slopes: dict[str, Any] = {}
    for which, (_, by) in enumerate(rest, start=2):
        if by:
            for name, slope in _scaled(slots_busy_slope(which, *values), by).items():
                slopes[name] = slopes[name] + slope if name in slopes else slope
    return Dual(slots_busy(*values), slopes, level)


def slots_busy_slope(which: int, *arguments: Any) -> Any:
    """A derivative of :func:`slots_busy`, which may have slopes itself."""
    if not any(isinstance(argument, Dual) for argument in arguments):
        return vector.slots_busy_slope(which, *arguments)
    return operations.slots.slots_busy_slope(DUALS, which, *arguments)


def least_integer(condition: Callable[..., Any], limit: Any, given: State, beyond: Any = 0.0) -> Any:
    """Smallest number, which has no slope."""
    return vector.least_integer(condition, plain(limit), tuple(map(plain, given)), plain(beyond))


def root(residual: Callable[..., Any], lower: Any, upper: Any, given: State, within: float = 0.0) -> Any:
    """Number at which a function is zero, with slopes by the implicit function theorem.

    An end that is the root moves as it does. Where the function jumps, or is flat on both sides, there is no slope.
    """
    level = max(map(_level, (lower, upper, *given)))
    if not level:
        return vector.root(residual, lower, upper, given, within)
    (least, by_lower), (greatest, by_upper) = _parts(lower, level), _parts(upper, level)
    x = root(residual, least, greatest, tuple(_parts(each, level)[0] for each in given), within)
    own = "root"
    while any(own in _parts(each, level)[1] for each in given):  # this root stands inside another
        own += "'"
    _, slopes = _parts(residual(Dual(x, {own: 1.0}, level), *given), level)
    rise = slopes.get(own, 0.0)
    flat = plain(rise) == 0
    factor = where(flat, 0.0, -1.0 / where(flat, 1.0, rise))
    inside = Dual(x, _scaled(factor, {name: slope for name, slope in slopes.items() if name != own}), level)
    at_end = where(plain(x) == plain(upper), Dual(x, by_upper, level), inside)
    return where(plain(x) == plain(lower), Dual(x, by_lower, level), at_end)


def chunked_prefill(asked: Any, tau: Any, arguments: State, given: State) -> list[Any]:
    """What requests see under chunked prefill, with slopes."""
    from mlsysim.backends.chunked.asked import answers, loads
    from mlsysim.backends.chunked.duals import chunked_latencies

    def at(values: Any, place: int) -> Any:
        if isinstance(values, Dual):
            return Dual(at(values.value, place), {name: slope[..., place] for name, slope in values.slopes.items()})
        return values[..., place]

    return answers(asked, chunked_latencies(loads(asked, tau, arguments, given, NAMESPACE, vector.NUMBERS)), at)


normal_cdf = _applied(vector.normal_cdf, lambda x, _value: exp(-(x * x) / 2) / np.sqrt(2 * np.pi))
normal_quantile = _applied(vector.normal_quantile, lambda _p, value: exp(value * value / 2) * np.sqrt(2 * np.pi))


class Duals(vector.Arrays):
    """The arithmetic of dual numbers; see :class:`mlsysim.graph.Arithmetic`."""

    where = staticmethod(where)
    minimum = staticmethod(minimum)
    maximum = staticmethod(maximum)
    log = staticmethod(log)
    sqrt = staticmethod(sqrt)

    @staticmethod
    def power(base: Any, exponent: Any) -> Any:
        """A power of a positive number."""
        return exp(exponent * log(base))

    @staticmethod
    def together(*values: Any) -> tuple[Any, ...]:
        """The same numbers: they broadcast as they meet."""
        return values

    @staticmethod
    def constant(value: float, x: Any) -> Any:
        """The number at every point."""
        return np.full(np.shape(plain(x)), value)[()]

    @staticmethod
    def precision(x: Any) -> float:
        """Of a double."""
        return vector.Arrays.precision(plain(x))

    @staticmethod
    def largest(x: Any) -> float:
        """Of a double, with room for a product."""
        return vector.Arrays.largest(plain(x))

    @staticmethod
    def iterate(step: Callable[..., State], state: State, fixed: State) -> State:
        """Take steps at every point until none is going; those that are not keep their state."""
        while np.any(going := state[0]):
            after = step(*state, *fixed)
            state = (
                going & after[0],
                *(where(going, new, old) for new, old in zip(after[1:], state[1:], strict=True)),
            )
        return state


DUALS = Duals()

NAMESPACE: dict[str, Any] = {
    **vector.NAMESPACE,
    "absolute": abs,
    "lawful": lambda left, right: beside(left, right) * beside(right, left),
    "chunked_prefill": chunked_prefill,
    "ceil": lambda x: vector.ceil(plain(x)),
    "erlang_c": erlang_c,
    "exp": exp,
    "floor": lambda x: vector.floor(plain(x)),
    "least_integer": least_integer,
    "log": log,
    "maximum": maximum,
    "minimum": minimum,
    "mod": mod,
    "normal_cdf": normal_cdf,
    "normal_quantile": normal_quantile,
    "root": root,
    "slots_busy": slots_busy,
    "slots_busy_slope": slots_busy_slope,
    "power": operator.pow,
    "sqrt": sqrt,
    "where": where,
}


def unpacked(number: Any) -> dict[tuple[str, ...], Any]:
    """The plain numbers in a dual number, by the names of the inputs it was differentiated by; the value by none."""
    if not isinstance(number, Dual):
        return {(): number}
    found = unpacked(number.value)
    for name, slope in number.slopes.items():
        for names, value in unpacked(slope).items():
            if len(names) < number.level:
                found[(name, *names)] = value
    return found
