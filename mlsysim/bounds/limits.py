"""Conditions that limit a quantity by a number; bounds and programs depend on the quantity alone.

Questions that differ only in such numbers, as in a budget, share everything that is built from their formulas.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import sympy

from mlsysim.backends.compiled import compiled_expression
from mlsysim.bounds.ranges import MARGIN
from mlsysim.symbolic import System, lower

Relation = Literal["<=", "<", ">=", ">"]

#: How sympy calls a relation, and the one that holds with both sides exchanged.
_RELATIONS: dict[Any, tuple[Relation, Relation]] = {
    sympy.Le: ("<=", ">="),
    sympy.Lt: ("<", ">"),
    sympy.Ge: (">=", "<="),
    sympy.Gt: (">", "<"),
}


@dataclass(frozen=True)
class Limited:
    """Quantity that is limited by a number, whatever that is.

    Attributes
    ----------
    quantity : sympy.Basic
        Expression that is compared with the number.
    relation : str
        Relation that must hold.
    """

    quantity: sympy.Basic
    relation: Relation

    COMPARED: ClassVar = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt}

    @property
    def sign(self) -> int:
        """Factor of the quantity, so that it must be small."""
        return 1 if self.relation in ("<=", "<") else -1

    def holds(self, values: Any, number: float) -> Any:
        """Compare values of the quantity with a limit."""
        return self.COMPARED[self.relation](values, number)

    def may_hold(self, lower: np.ndarray, number: float) -> np.ndarray:
        """Select boxes that may meet a limit where ``sign`` times the quantity is at least ``lower``."""
        return lower <= self.sign * number + MARGIN * abs(number)


def split_limits(
    system: System, conditions: Iterable[sympy.Basic], values: Mapping[str, np.ndarray]
) -> tuple[tuple[sympy.Basic, ...], dict[Limited, float]]:
    """Split conditions into those that limit a variable of more than two axes by a number, and the others.

    Parameters
    ----------
    system : System
        Formulas.
    conditions : iterable of sympy.Basic
        What must hold.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.

    Returns
    -------
    tuple of sympy.Basic, dict
        Other conditions, and the numbers by limited quantity. A condition over one or two axes is a table and stays.
    """
    others: list[sympy.Basic] = []
    numbers: dict[Limited, float] = {}
    for condition in conditions:
        unlimited = []
        for part in sympy.And.make_args(lower(condition)):
            limit = _limited(system, part, values)
            if limit is None or limit[0] in numbers:
                unlimited.append(part)
            else:
                numbers[limit[0]] = limit[1]
        others += [sympy.And(*unlimited)] * bool(unlimited)
    return tuple(others), numbers


def inputs_of(system: System, expressions: Iterable[sympy.Basic]) -> frozenset[str]:
    """Names of the inputs from which some expressions over a system are computed."""
    names = {symbol.name for expression in expressions for symbol in lower(expression).free_symbols}  # type: ignore[attr-defined]
    inside = sorted(name for name in names if name in system)
    below = {variable.name for variable in system.closure(inside).inputs} if inside else set()
    return frozenset(names - set(inside) | below)


def _limited(system: System, part: Any, values: Mapping[str, np.ndarray]) -> tuple[Limited, float] | None:
    if type(part) not in _RELATIONS:
        return None
    left, right = part.args
    there, back = _RELATIONS[type(part)]
    for limited, other in ((Limited(left, there), right), (Limited(right, back), left)):
        number = _number(other, values)
        if number is not None and len(_axes(system, limited.quantity, values)) > 2:
            return limited, number
    return None


def _number(side: Any, values: Mapping[str, np.ndarray]) -> float | None:
    """Value of a side that depends on no variable and no axis; else None."""
    names = {symbol.name for symbol in side.free_symbols}
    if not all(name in values and values[name].size == 1 for name in names):
        return None
    value = compiled_expression(side)({name: float(values[name].ravel()[0]) for name in names})["value"]
    return float(value)


def _axes(system: System, side: Any, values: Mapping[str, np.ndarray]) -> set[int]:
    """Axes that a side of a comparison depends on through formulas; none if it is computed from inputs alone."""
    names = inputs_of(system, [side])
    if all(symbol.name in names for symbol in side.free_symbols):
        return set()
    return {axis for name in names if name in values for axis, size in enumerate(values[name].shape) if size > 1}
