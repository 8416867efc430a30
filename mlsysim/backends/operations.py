"""How many operations an expression takes at one point of a grid: what every choice of a method rests on.

Operations are counted from the formulas and never timed, so that the same problem is solved in the same way
on every machine. One operation is about what NumPy does in a nanosecond: a product or a comparison of two floats.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import sympy

from mlsysim.symbolic import (
    ChunkedPrefill,
    ErlangC,
    Formula,
    LeastInteger,
    NormalCDF,
    NormalQuantile,
    Root,
    SlotsBusy,
    System,
    lower,
)

#: Kind of operation, the axes it runs over, and the axes of its operand or divisor; a set of axes is a bit mask.
Operation = tuple[str, int, int]

DIVISION = 12
COSTS = {sympy.ceiling: 6, sympy.floor: 6, sympy.Mod: 12, sympy.log: 20, sympy.exp: 20,
         NormalCDF: 20, NormalQuantile: 20, ErlangC: 400, SlotsBusy: 800, LeastInteger: 400, Root: 400,
         ChunkedPrefill: 20_000_000}  # fmt: skip
#: How often a search for a least integer evaluates its condition, and one for a root its two sides.
TRIES = {LeastInteger: 20, Root: 10}


def counted(system: System, expressions: Sequence[sympy.Basic], values: Mapping[str, Any]) -> Counter[Operation]:
    """Operations by kind and by the axes they run over.

    Parameters
    ----------
    system : System
        Formulas.
    expressions : sequence of sympy.Basic
        What is computed, in inputs and variables of the system.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.

    Returns
    -------
    Counter
        Cost per :data:`Operation`. The kind is ``"work"`` for arithmetic and ``"operand"`` for the use of a value.
    """
    return _counted(system, expressions, _over(values))


def _over(values: Mapping[str, Any]) -> dict[str, int]:
    """The axes of each input, as bits."""
    return {name: sum(1 << axis for axis, n in enumerate(np.shape(value)) if n > 1) for name, value in values.items()}


def _counted(system: System, expressions: Sequence[sympy.Basic], inputs: Mapping[str, int]) -> Counter[Operation]:
    """As :func:`counted`, of inputs over some axes."""
    over = dict(inputs)
    seen: dict[sympy.Basic, int] = {}
    found: Counter[Operation] = Counter()

    def joined(nodes: Iterable[Any]) -> int:
        return reduce(operator.or_, map(axes, nodes), 0)

    def axes(node: Any) -> int:
        if node in seen:
            return seen[node]
        if isinstance(node, sympy.Symbol):
            bits = over.get(node.name, 0)
        elif isinstance(node, sympy.Mul):
            above, below = node.as_numer_denom() if not node.is_number else (node, sympy.S.One)
            factors = [*sympy.Mul.make_args(above), *sympy.Mul.make_args(below)]
            bits = joined(factors)
            found["work", bits, bits] += len(factors) - 1
            if below != 1:
                found["work", bits, joined([below])] += DIVISION
            for part in {axes(factor) for factor in factors}:
                found["operand", bits, part] += 1
        else:
            bits = joined(node.args)
            found["work", bits, bits] += _price(node)
            for part in {axes(arg) for arg in node.args}:
                found["operand", bits, part] += 1
        seen[node] = bits
        return bits

    for formula in _needed(system, expressions):
        over[formula.name] = axes(lower(formula.expression))
    for expression in expressions:
        axes(lower(expression))
    return found


def per_point(system: System, expressions: Sequence[sympy.Basic], values: Mapping[str, Any]) -> float:
    """Operations that one point of a grid takes, without those that are the same at every point.

    Parameters
    ----------
    system, expressions, values
        As for :func:`counted`.

    Returns
    -------
    float
        What a search tries counts :data:`TRIES` times.
    """
    return _per_point(system, tuple(expressions), tuple(_over(values).items()))


@lru_cache(maxsize=1024)
def _per_point(system: System, expressions: tuple[sympy.Basic, ...], inputs: tuple[tuple[str, int], ...]) -> float:
    over = dict(inputs)
    written = [lower(formula.expression) for formula in _needed(system, expressions)]
    searches: set[Any] = {node for e in (*written, *map(lower, expressions)) for node in e.atoms(*TRIES)}
    total = _swept(_counted(system, expressions, over))
    for node in searches:
        unknown, *tried = node.args[: 2 if isinstance(node, LeastInteger) else 3]
        trial = {**over, unknown.name: 1}  # it differs from point to point
        total += (TRIES[type(node)] - 1) * _swept(_counted(system, tried, trial))
    return total


def _needed(system: System, expressions: Sequence[sympy.Basic]) -> Iterable[Formula]:
    names = {symbol.name for e in expressions for symbol in e.free_symbols} & {v.name for v in system.variables}  # type: ignore[attr-defined]
    return system.closure(sorted(names)) if names else ()


def _swept(operations: Counter[Operation]) -> float:
    return float(sum(cost for (kind, over, _), cost in operations.items() if kind == "work" and over))


def _price(node: Any) -> int:
    if isinstance(node, sympy.Pow):
        return DIVISION if node.exp == -1 else 1 if node.exp == 2 else 20
    for kind, cost in COSTS.items():
        if isinstance(node, kind):
            return cost
    return max(len(node.args) - 1, 1)
