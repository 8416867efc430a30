"""Graphs on plain floats, one point at a time: total, and several times faster than NumPy's scalars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from mlsysim.graph import TABLE, Facts
from mlsysim.graph.floats import FLOATS, State
from mlsysim.graph.operations.arithmetic import divided
from mlsysim.graph.operations.least_integer import least_integer
from mlsysim.graph.operations.root import of_floats
from mlsysim.graph.printer import Printer


def _quotient(texts: Sequence[str], facts: Sequence[Facts]) -> str:
    """Print a quotient; a call that does not raise if the divisor may be zero."""
    return f"divided({texts[0]}, {texts[1]})" if facts[1].zero else f"{texts[0]} / {texts[1]}"


def _extreme(name: str, sign: str, texts: Sequence[str], _facts: Sequence[Facts]) -> str:
    """Print an extreme of names and numbers inline; a call for longer operands, which would be printed twice."""
    left, right = texts
    if not all(text.isidentifier() or text[0].isdigit() for text in texts):
        return f"{name}({left}, {right})"
    unknown = f" or {left} != {left}" if left.isidentifier() else ""
    return f"{left} if {left} {sign} {right}{unknown} else {right}"


PRINTER = Printer(
    "floats",
    {"divide": _quotient, "maximum": partial(_extreme, "maximum", ">="), "minimum": partial(_extreme, "minimum", "<=")},
)


@cache
def namespace() -> dict[str, Any]:
    """Functions that the names in printed source stand for."""
    folds = {name: operation.fold for name, operation in TABLE.items() if operation.fold is not None}
    return {
        **folds,
        "chunked_prefill": _chunked_prefill,
        "divided": divided,
        "inf": math.inf,
        "least_integer": partial(least_integer, FLOATS),
        "nan": math.nan,
        "root": of_floats,
    }


def _chunked_prefill(requested: Any, tau: Any, arguments: State, captured: State, slopes: Any = None) -> list[float]:
    """Latencies under chunked prefill, and their slopes; see :class:`mlsysim.symbolic.ChunkedPrefill`."""
    from mlsysim.backends import vector

    moving, rest = (tuple(map(np.float64, values)) for values in (arguments, captured))
    return list(map(float, vector.chunked_prefill(requested, tau, moving, rest, slopes)))


def boxed(results: Sequence[Any]) -> list[Any]:
    """Results as NumPy's scalars, which divide by zero without raising."""
    return [np.bool_(x) if type(x) is bool else np.float64(x) for x in results]
