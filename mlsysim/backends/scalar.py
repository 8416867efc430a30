"""The functions compiled code calls on NumPy scalars, at one point at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsysim.backends import functions
from mlsysim.backends.floats import FLOATS
from mlsysim.backends.functions import State
from mlsysim.symbolic.functions import erlang_c_slope


def beside(quantity: Any, *factors: Any) -> np.float64:
    """The quantity, but zero where a rate of it is; see :func:`mlsysim.backends.functions.beside`."""
    return np.float64(functions.beside(FLOATS, quantity, *factors))


def erlang_c(servers: float, load: float) -> np.float64:
    """Probability of waiting; see :func:`mlsysim.backends.functions.erlang_c`."""
    return np.float64(functions.erlang_c(FLOATS, float(servers), float(load)))


def slots_busy(*arguments: float) -> np.float64:
    """Probability that all slots are taken; see :func:`mlsysim.backends.functions.slots_busy`."""
    return np.float64(functions.slots_busy(FLOATS, *map(float, arguments)))


def slots_busy_slope(which: int, *arguments: float) -> np.float64:
    """A derivative of :func:`slots_busy`; see :func:`mlsysim.backends.functions.slots_busy_slope`."""
    return np.float64(functions.slots_busy_slope(FLOATS, which, *map(float, arguments)))


def least_integer(condition: Callable[..., Any], limit: float, given: State, beyond: float = 0.0) -> np.float64:
    """Smallest number; see :func:`mlsysim.backends.functions.least_integer`."""
    return np.float64(functions.least_integer(FLOATS, condition, np.float64(limit), given, np.float64(beyond)))


def root(residual: Callable[..., Any], lower: float, upper: float, given: State, within: float = 0.0) -> np.float64:
    """Number at which a function is zero; see :func:`mlsysim.backends.functions.root`."""

    def number(*arguments: Any) -> np.float64:
        return np.float64(residual(*arguments))

    return np.float64(functions.root(FLOATS, number, np.float64(lower), np.float64(upper), given, within))


def chunked_prefill(asked: Any, tau: Any, arguments: State, given: State) -> list[np.float64]:
    """What requests see under chunked prefill; see :class:`mlsysim.symbolic.ChunkedPrefill`."""
    from mlsysim.backends import vector

    return vector.chunked_prefill(asked, tau, arguments, given)


def normal_cdf(x: float) -> np.float64:
    """The normal distribution."""
    return np.float64(0.5 * math.erfc(-float(x) / math.sqrt(2.0)))


def normal_quantile(p: float) -> np.float64:
    """The quantile of the normal distribution."""
    from statistics import NormalDist

    p = float(p)
    if 0 < p < 1:
        return np.float64(NormalDist().inv_cdf(p))
    return np.float64(-math.inf if p == 0 else math.inf if p == 1 else math.nan)


def ceil(x: np.float64) -> np.float64:
    """The ceiling; see :func:`mlsysim.backends.functions.ceil`."""
    return x + 0.0 if type(x) is np.float64 and x.is_integer() else functions.ceil(FLOATS, x)


def floor(x: np.float64) -> np.float64:
    """The floor; see :func:`mlsysim.backends.functions.floor`."""
    return x if type(x) is np.float64 and x.is_integer() else functions.floor(FLOATS, x)


def maximum(left: Any, right: Any) -> np.float64:
    """The larger number; several times faster than NumPy's, which is made for arrays."""
    found = left if left >= right or left != left else right
    return found if type(found) is np.float64 else np.float64(found)


def minimum(left: Any, right: Any) -> np.float64:
    """The smaller number; as for :func:`maximum`."""
    found = left if left <= right or left != left else right
    return found if type(found) is np.float64 else np.float64(found)


def where(condition: Any, then: Any, otherwise: Any) -> np.float64:
    """One of two numbers."""
    found = then if condition else otherwise
    return found if type(found) is np.float64 else np.float64(found)


#: What these return are NumPy floats, which divide by zero without raising.
NAMESPACE: dict[str, Any] = {
    "absolute": np.absolute,
    "beside": beside,
    "ceil": ceil,
    "chunked_prefill": chunked_prefill,
    "erlang_c": erlang_c,
    "erlang_c_slope": erlang_c_slope,
    "exp": np.exp,
    "floor": floor,
    "inf": np.float64(np.inf),
    "least_integer": least_integer,
    "log": np.log,
    "maximum": maximum,
    "minimum": minimum,
    "mod": np.mod,
    "nan": np.float64(np.nan),
    "normal_cdf": normal_cdf,
    "normal_quantile": normal_quantile,
    "root": root,
    "slots_busy": slots_busy,
    "slots_busy_slope": slots_busy_slope,
    "sqrt": np.sqrt,
    "where": where,
}
