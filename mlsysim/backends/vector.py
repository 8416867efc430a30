"""Functions that compiled code calls on NumPy arrays: a few thousand points at once, without XLA."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mlsysim.backends.budget import look_at_the_clock
from mlsysim.graph import TABLE
from mlsysim.graph.floats import FLOATS, Floats, State
from mlsysim.graph.operand import OPERATIONS
from mlsysim.graph.operations import least_integer as of_least_integer
from mlsysim.graph.operations import normal
from mlsysim.graph.operations import root as of_root


class Arrays:
    """Arithmetic of NumPy arrays; see :class:`mlsysim.graph.Arithmetic`."""

    minimum = staticmethod(np.minimum)
    maximum = staticmethod(np.maximum)
    floor = staticmethod(np.floor)
    nearest = staticmethod(np.rint)
    log = staticmethod(np.log)
    sqrt = staticmethod(np.sqrt)
    power = staticmethod(np.power)
    eps = staticmethod(Floats.eps)
    largest = staticmethod(Floats.largest)

    @staticmethod
    def where(condition: Any, then: Any, otherwise: Any) -> Any:
        """Select one of two numbers at every point. Arrays by their bits: a mispredicted branch of NumPy is slow."""
        if not (type(then) is type(otherwise) is np.ndarray and then.dtype == otherwise.dtype == np.float64):
            return np.where(condition, then, otherwise)
        if not np.shape(condition) == then.shape == otherwise.shape != ():
            return np.where(condition, then, otherwise)
        rest = otherwise.view(np.int64)
        chosen = then.view(np.int64) ^ rest
        chosen *= condition
        chosen ^= rest
        return chosen.view(np.float64)

    @staticmethod
    def together(*values: Any) -> tuple[Any, ...]:
        """Broadcast values against each other."""
        return tuple(np.broadcast_arrays(*(np.asarray(value, float) for value in values)))

    @staticmethod
    def constant(value: float, x: Any) -> Any:
        """The number at every point."""
        return np.full(np.shape(x), value)

    @staticmethod
    def broadcast_mask(truth: Any, x: Any) -> Any:
        """The truth value at every point."""
        return np.broadcast_to(truth, np.shape(x))

    @staticmethod
    def iterate(step: Callable[..., State], state: State, fixed: State) -> State:
        """Take steps at the points that still run; stopped points are dropped once they are a quarter."""
        shape = np.shape(state[0])
        ends = [np.array(value).reshape(-1) for value in state]
        index = np.flatnonzero(ends[0])
        now, read = ([np.reshape(value, -1)[index] for value in values] for values in (ends, fixed))
        going = now[0]
        while index.size:
            look_at_the_clock()
            now = list(step(*now, *read))
            stopped = np.flatnonzero(going & ~now[0])
            if stopped.size:
                for end, value in zip(ends, now, strict=True):
                    end[index[stopped]] = value[stopped]
                going = going & now[0]
                if 4 * np.count_nonzero(going) <= 3 * index.size:
                    left = np.flatnonzero(going)
                    index = index[left]
                    now, read = ([value[left] for value in values] for values in (now, read))
                    going = now[0]
        return tuple(end.reshape(shape) for end in ends)


ARRAYS = Arrays()

bracket = np.errstate(all="ignore")(partial(of_root.bracket, ARRAYS))


def _numerics(name: str) -> Callable[..., Any]:
    """Function of arrays of an operation of the table."""
    function = partial(TABLE[name].numerics, ARRAYS)  # type: ignore[arg-type]
    return np.errstate(all="ignore")(function)


ceil, floor, erlang_c, slots_busy, slots_busy_slope = map(
    _numerics, ("ceil", "floor", "erlang_c", "slots_busy", "slots_busy_slope")
)


@np.errstate(all="ignore")
def root(residual: Callable[..., Any], lower: Any, upper: Any, captured: State, within: float = 0.0) -> Any:
    """Find a root, at one point without arrays; see :mod:`mlsysim.graph.operations.root`."""
    if any(map(np.ndim, (lower, upper, *captured))):
        moving, arrays = _moving(residual, captured)
        return of_root.root(ARRAYS, moving, lower, upper, arrays, within)

    def number(*values: Any) -> Any:
        return np.float64(residual(*values))

    numbers = tuple(map(np.float64, captured))
    return np.float64(of_root.root(FLOATS, number, np.float64(lower), np.float64(upper), numbers, within))


def _moving(function: Callable[..., Any], captured: State) -> tuple[Callable[..., Any], State]:
    """Separate the arrays among captured values: numbers stay numbers in loops over points."""
    positions = [position for position, value in enumerate(captured) if np.ndim(value)]

    def moving(x: Any, *arrays: Any) -> Any:
        operands = list(captured)
        for index, array in zip(positions, arrays, strict=True):
            operands[index] = array
        return function(x, *operands)

    return moving, tuple(captured[position] for position in positions)


def least_integer(condition: Callable[..., Any], limit: Any, captured: State, beyond: Any = 0.0) -> Any:
    """Find the least whole number that meets a condition; see :mod:`mlsysim.graph.operations.least_integer`."""
    moving, arrays = _moving(condition, captured)
    return of_least_integer.least_integer(ARRAYS, moving, limit, arrays, beyond)


def lawful(left: Any, right: Any) -> Any:
    """Product in which zero times infinity is zero."""
    product = left * right
    unknown = product != product
    return np.where(unknown & (left == left) & (right == right), 0.0, product) if np.any(unknown) else product


def chained(left: Any, right: Any) -> Any:
    """Product in which zero times anything is zero."""
    product = left * right
    unknown = product != product
    return np.where(unknown & ((left == 0) | (right == 0)), 0.0, product) if np.any(unknown) else product


def chunked_prefill(requested: Any, tau: Any, arguments: State, captured: State, slopes: Any = None) -> list[Any]:
    """Latencies under chunked prefill, and their slopes; see :class:`mlsysim.symbolic.ChunkedPrefill`."""
    from mlsysim.backends.chunked.asked import answers

    return [latency[()] for latency in answers(requested, tau, arguments, captured, slopes, NAMESPACE, NUMBERS)]


def power(base: Any, exponent: Any) -> Any:
    """Power with the bits of C, like plain floats; vector instructions of a processor have others."""
    return np.float_power(base, exponent)


def normal_cdf(x: Any) -> Any:
    """Cumulative distribution function of the normal distribution."""
    if np.ndim(x) == 0:
        return np.float64(normal.normal_cdf(float(x)))
    from scipy.special import ndtr

    return ndtr(x)


def normal_quantile(p: Any) -> Any:
    """Quantile function of the normal distribution."""
    if np.ndim(p) == 0:
        return np.float64(normal.normal_quantile(float(p)))
    from scipy.special import ndtri

    return ndtri(p)


#: Operations that can be written into an array that is there, as printed code then calls them.
INTO = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}

NAMESPACE: dict[str, Any] = {
    **{f"_{name}": function for name, function in INTO.items()},
    **{name: _numerics(name) for name, operation in TABLE.items() if operation.numerics is not None},
    "absolute": np.absolute,
    "chained": chained,
    "chunked_prefill": chunked_prefill,
    "exp": np.exp,
    "inf": np.float64(np.inf),
    "lawful": lawful,
    "least_integer": least_integer,
    "log": np.log,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "mod": np.mod,
    "nan": np.float64(np.nan),
    "normal_cdf": normal_cdf,
    "normal_quantile": normal_quantile,
    "power": power,
    "root": root,
    "sqrt": np.sqrt,
    "where": np.where,
}


#: An operation of the table on arrays, by its name.
FUNCTIONS = {"truth": lambda x: x != 0} | {op: function for function, op in OPERATIONS.items()} | NAMESPACE


def _single(name: str) -> Callable[..., np.float64]:
    """Operation on NumPy's scalars, which divide by zero without raising."""
    fold: Any = TABLE[name].fold
    return lambda *operands: np.float64(fold(*operands))


#: The same on single numbers.
NUMBERS = NAMESPACE | {name: _single(name) for name in ("ceil", "floor", "maximum", "minimum", "where")}
