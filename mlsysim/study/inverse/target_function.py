"""Targets as functions of the unknown, at every point of a grid: residuals, and whether targets hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.backends import compiled, iterates
from mlsysim.errors import InputError, MissingInputError
from mlsysim.inputs.binding import bind_grid
from mlsysim.inputs.convert import inside
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.expressions import Expression, quantity
from mlsysim.study.chain import moved_by, value_at
from mlsysim.study.inverse.targets import Targets, numbers
from mlsysim.study.searches.constraints import FEASIBLE, Comparison, comparisons, feasibility
from mlsysim.study.varied import accepted, closure
from mlsysim.symbolic import System, Variable

#: Relative difference below which two sides count as equal, for a whole unknown and for a real one.
EQUAL_WHOLE, EQUAL = 1e-9, 1e-12

#: Scans along the unknown of one point that are cached, since several steps use the same values.
SCANS = 2


@dataclass
class Evaluation:
    """Targets evaluated at values of the unknown, one column per point.

    Attributes
    ----------
    residual : ndarray or None
        Relative residual of the first equation, left minus right, from -1 to 1; nan if undefined.
    worst_residual : ndarray
        Largest absolute residual of the equations, from 0 to 1; nan if one is undefined.
    equations_hold : ndarray of bool
        True if all equations hold up to rounding.
    conditions_hold : ndarray of bool
        True if all typed conditions hold.
    constraints_hold : ndarray of bool
        True if these hold and, where that is required, the point is feasible.
    accepted : ndarray of bool
        True if the model accepts the point.
    """

    residual: np.ndarray | None
    worst_residual: np.ndarray
    equations_hold: np.ndarray
    conditions_hold: np.ndarray
    constraints_hold: np.ndarray
    accepted: np.ndarray

    @property
    def all_hold(self) -> np.ndarray:
        """True if all targets hold at a point that the model accepts."""
        return self.equations_hold & self.constraints_hold & self.accepted


class TargetFunction:
    """Targets as functions of one unknown, with the other inputs constant at each point of a grid.

    Parameters
    ----------
    model : DeclaredModel
        Model that computes the outputs.
    arguments : mapping
        Arguments of ``solve``, some of which may be axes.
    unknown : Variable
        Input to solve for.
    targets : Targets
        Conditions that must hold.
    allow_infeasible : bool
        Allow infeasible answers.

    Raises
    ------
    InputError
        As :meth:`solve` does, and if no target depends on the unknown.
    """

    def __init__(
        self,
        model: DeclaredModel,
        arguments: Mapping[str, Any],
        unknown: Variable,
        targets: Targets,
        allow_infeasible: Any,
    ) -> None:
        self.model, self.unknown, self.targets = model, unknown, targets
        inputs = {name for name, variable in model.arguments.items() if variable is not None}
        outputs = [name for name in targets.names if name not in inputs]
        self.binding = bind_grid(model, arguments, [unknown.name])
        for name in outputs:
            self.binding.require(name)
        for name in targets.names:
            if name in inputs and name not in self.binding.values and name not in self.binding.system:
                raise MissingInputError(type(model).__name__, name, model.how_to_give(name))
        names = tuple(name for name in targets.names if name in self.binding.system)
        self.typed = closure(self.binding.system, names)
        needed = {variable.name for variable in self.typed.inputs}.union(targets.names)
        if unknown.name not in needed:
            raise InputError("unknown", unknown.name, f"changes nothing of {', '.join(targets.texts)}")
        targets.assumed += feasibility(model, self.binding.system, targets.conditions, allow_infeasible)
        self.system = closure(self.binding.system, (*names, *(FEASIBLE for _ in targets.assumed)))

    @property
    def whole(self) -> bool:
        """True if the unknown is a whole number."""
        return self.unknown.domain.kind == "integer"

    @property
    def iterates(self) -> bool:
        """True if an output is computed in a loop at every point."""
        return iterates(self.systems[1])

    @cached_property
    def only_for_feasibility(self) -> System:
        """Formulas that depend on the unknown and that only feasibility needs, not the typed targets."""
        constant, _ = self.systems
        return System(
            formula for formula in self.system if formula.name not in self.typed and formula.name not in constant
        )

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Points along each axis: those of the targets, then those of the arguments."""
        return (*(len(axis) for axis in self.targets.axes.values()), *self.binding.sizes)

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the axes."""
        return (*self.targets.axes, *self.binding.axes)

    @cached_property
    def comparison(self) -> Comparison | None:
        """The only comparison that must hold; None if there are more conditions."""
        if self.targets.equations or len(self.targets.conditions) != 1:
            return None
        comparisons_found = self.comparisons_of(self.targets.conditions[0])
        return comparisons_found[0] if len(comparisons_found) == 1 else None

    def comparisons_of(self, condition: Expression) -> list[Comparison]:
        """Return the numeric comparisons that a condition consists of."""
        known = [*(variable.name for variable in self.system.variables), *self.binding.values]
        return comparisons(condition, self.system, lambda text: quantity(text, self.model, known))

    @property
    def usual(self) -> float:
        """Default of the unknown in its unit, or one of several; nan without one."""
        values = np.ravel(np.asarray(self.binding.values.get(self.unknown.name, np.nan), float))
        known = np.sort(values[~np.isnan(values)])
        return float(units.from_canonical(known[len(known) // 2], self.unknown.unit)) if len(known) else np.nan

    def block(self, indices: np.ndarray) -> Block:
        """Return the points of the grid with these indices in C order."""
        return Block(self, indices)

    @cached_property
    def systems(self) -> tuple[System, System]:
        """Formulas that do not depend on the unknown, and those of the typed targets that do."""
        if not self.sizes:
            return System(()), self.typed
        constant, dependent = _split_by_dependence(self.system, self.unknown.name)
        return constant, dependent if self.system is self.typed else _split_by_dependence(
            self.typed, self.unknown.name
        )[1]


class Block:
    """Some points of a grid, one column each.

    Parameters
    ----------
    function : TargetFunction
        Targets as functions of the unknown.
    indices : ndarray
        Indices of the points in C order.
    """

    def __init__(self, function: TargetFunction, indices: np.ndarray) -> None:
        self.function = function
        self.count = len(indices)
        binding, axes = function.binding, len(function.targets.axes)
        at = np.unravel_index(indices, function.sizes) if function.sizes else ()
        self.values: dict[str, Any] = {
            name: value[tuple(i if n > 1 else 0 for i, n in zip(at[axes:], value.shape, strict=True))]
            if isinstance(value, np.ndarray)
            else value
            for name, value in binding.numbers.items()
        }
        self.right: list[Any] = []
        self._scans: dict[bytes, dict[str, Any]] = {}
        along = iter(at)
        for equation in function.targets.equations:
            right = equation.right
            self.right.append(right[next(along)] if isinstance(right, np.ndarray) else right)
        constant, self.dependent = function.systems
        if len(constant):
            self.values |= compiled(constant, None, "vector")(self.values)  # type: ignore[arg-type]

    def along(self, x: np.ndarray) -> Evaluation:
        """Evaluate the targets at the same values of the unknown for every point: a row per value."""
        return self._evaluation(self.known(x[:, None]), None, (len(x), self.count))

    def at(self, x: np.ndarray, columns: np.ndarray) -> Evaluation:
        """Evaluate the targets at values of the unknown in its unit.

        Parameters
        ----------
        x : ndarray
            Values.
        columns : ndarray
            Point that each value belongs to.
        """
        return self._evaluation(self.known(x, columns), columns, np.shape(x))

    def residual(self, x: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the relative residual of the first equation."""
        values = self.known(x, columns)
        return np.broadcast_to(relative_residual(*self.sides(0, values, columns)), np.shape(x))

    def _evaluation(self, values: Mapping[str, Any], columns: np.ndarray | None, shape: tuple[int, ...]) -> Evaluation:
        residuals = [relative_residual(*self.sides(index, values, columns)) for index in range(len(self.right))]
        worst = reduce(np.maximum, map(np.abs, residuals)) if residuals else np.zeros(())
        equations_hold = worst <= (EQUAL_WHOLE if self.function.whole else EQUAL)
        conditions_hold: Any = np.ones((), bool)
        for condition in self.function.targets.conditions:
            conditions_hold = conditions_hold & np.asarray(evaluated(condition, values), bool)
        worst, equations_hold, conditions_hold, accepted = (
            np.broadcast_to(values, shape) for values in (worst, equations_hold, conditions_hold, self.accepted(values))
        )
        constraints_hold = self._feasible(values, conditions_hold) if self.function.targets.assumed else conditions_hold
        return Evaluation(
            np.broadcast_to(residuals[0], shape) if residuals else None,
            worst,
            equations_hold,
            conditions_hold,
            constraints_hold,
            accepted,
        )

    def _feasible(self, values: Mapping[str, Any], conditions_hold: np.ndarray) -> np.ndarray:
        """Mask the feasible points among those at which the typed conditions hold."""
        rest, feasible = self.function.only_for_feasibility, np.zeros(conditions_hold.shape, bool)
        if conditions_hold.any():
            names = [FEASIBLE, *(variable.name for variable in rest.inputs)]
            at = {name: values[name] for name in names if name in values}
            at = {
                name: np.broadcast_to(value, conditions_hold.shape)[conditions_hold] if np.ndim(value) else value
                for name, value in at.items()
            }
            feasible[conditions_hold] = (compiled(rest, None, "vector")(at) if len(rest) else at)[FEASIBLE]  # type: ignore[arg-type]
        return feasible

    def everything(self, x: np.ndarray) -> dict[str, Any]:
        """Evaluate every input and output that targets and feasibility need, in canonical units."""
        known, rest = self.known(x), self.function.only_for_feasibility
        return known | compiled(rest, None, "vector")(known) if len(rest) else known  # type: ignore[arg-type]

    def known(self, x: np.ndarray, columns: np.ndarray | None = None) -> dict[str, Any]:
        """Evaluate every input and output that the typed targets need, in canonical units."""
        scan = x.tobytes() if self.count == 1 and columns is None and np.size(x) > 1 else b""
        if (values := self._scans.pop(scan, None)) is None:
            inputs = self._given(x, columns)
            values = inputs | compiled(self.dependent, None, "vector")(inputs) if len(self.dependent) else inputs
        if scan:
            self._scans = dict([*self._scans.items(), (scan, values)][-SCANS:])
        return values

    def _given(self, x: np.ndarray, columns: np.ndarray | None) -> dict[str, Any]:
        """Return the inputs, and the outputs that do not depend on the unknown."""
        unknown = self.function.unknown
        known = {name: value if columns is None else numbers(value, columns) for name, value in self.values.items()}
        return known | {unknown.name: units.to_canonical(np.asarray(x, float), unknown.unit)}

    def sides(self, index: int, values: Mapping[str, Any], columns: np.ndarray | None = None) -> tuple[Any, Any]:
        """Evaluate both sides of an equation."""
        left, right = self.function.targets.equations[index].left, self.right[index]
        if isinstance(right, Expression):
            return evaluated(left, values), evaluated(right, values)
        return evaluated(left, values), right if columns is None else numbers(right, columns)

    def accepts(self, x: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Tell whether the model accepts values of the unknown, ignoring the targets."""
        return np.broadcast_to(self.accepted(self._given(x, columns)), np.shape(x))

    def accepted(self, values: Mapping[str, Any]) -> np.ndarray:
        """Tell whether the unknown is in its domain and no reason refuses the point."""
        unknown = self.function.unknown
        return inside(unknown, values[unknown.name]) & accepted(self.function.binding, values)


def evaluated(expression: Expression, values: Mapping[str, Any]) -> Any:
    """Evaluate an expression in canonical units."""
    return np.asarray(value_at(expression.sympy, values))


def relative_residual(left: Any, right: Any) -> np.ndarray:
    """Return left minus right relative to the sum of their sizes: from -1 to 1; nan if undefined."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        difference = np.asarray(left - right, float)
        residual = difference / (np.abs(left) + np.abs(right))
        if not np.isfinite(residual).all():  # both are zero, or one is infinite
            residual = np.where(np.isfinite(residual), residual, np.where(left == right, 0.0, np.sign(difference)))
    return residual


@lru_cache(maxsize=256)
def _split_by_dependence(system: System, unknown: str) -> tuple[System, System]:
    dependent = moved_by(system, (unknown,))
    varying = System(dependent.values())
    needed = [
        variable.name for variable in varying.inputs if variable.name in system and variable.name not in dependent
    ]
    constant = system.closure(needed) if needed else System(())
    return constant, varying
