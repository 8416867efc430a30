"""By which inputs a system has derivatives, and which variables on the way jump."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sympy

from mlsysim.study.derivative import decides
from mlsysim.symbolic import STEPS, Closed, Queue, System, Variable


def continuous(system: System) -> list[str]:
    """Names of the inputs that are continuous."""
    return [v.name for v in system.inputs if v.domain.kind == "real"]


def smooth(system: System) -> list[str]:
    """Names of the inputs with a derivative: continuous ones, and whole numbers in which every formula is smooth.

    A whole number has none where it is a flag, or decides which case of a formula holds, or moves the number of
    servers of a queue, which is whole.
    """
    found = continuous(system)
    found += [v.name for v in system.inputs if v.domain.kind == "integer" and _is_smooth(system, v)]
    return sorted(found)


@lru_cache(maxsize=4096)
def _is_smooth(system: System, by: Variable) -> bool:
    if by.domain.is_flag:
        return False
    touched: set[Any] = {by.symbol}
    for formula in system:
        expression: Any = formula.expression
        if not touched & expression.free_symbols:
            continue
        touched.add(formula.variable.symbol)
        if decides(expression, by):
            return False
        whole = [node.args[0] for node in expression.atoms(Queue)] + [*expression.atoms(*STEPS, sympy.Mod)]
        # In others a bound number may count servers.
        whole += [node for node in expression.atoms(Closed) if node.has(Queue, sympy.Mod)]
        if any(touched & node.free_symbols for node in whole):
            return False
    return True


def jumping(system: System, output: str) -> dict[str, tuple[str, ...]]:
    """Variables between each input and the output that jump."""
    moved_by = {v.name: frozenset((v.name,)) for v in system.inputs}
    for formula in system:
        moved_by[formula.name] = frozenset().union(*(moved_by[v.name] for v in formula.inputs))
    steps = system.steps(output)
    return {v.name: tuple(step for step in steps if v.name in moved_by[step]) for v in system.inputs}
