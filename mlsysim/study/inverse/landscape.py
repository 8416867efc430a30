"""Targets as functions of the unknown, at every point of a grid: what they say, and whether they hold."""

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

#: How far apart, of their size, two sides may be that count as equal: what is met by a whole number, and by any.
EQUAL_WHOLE, EQUAL = 1e-9, 1e-12

#: Scans along the unknown of one point whose values are kept, since several steps look at the same ones.
SCANS = 2


@dataclass
class Seen:
    """Targets at values of the unknown, one column per point.

    Attributes
    ----------
    gap : ndarray or None
        How far the first equation is from holding: left over right side, from -1 to 1, nan where it has no value.
    off : ndarray
        How far the equation that is furthest from holding is from it, from 0 to 1; nan where one has no value.
    close : ndarray of bool
        Whether all equations hold, but for rounding.
    given : ndarray of bool
        Whether all conditions hold that were given.
    held : ndarray of bool
        Whether these hold, and the point is feasible where that is asked.
    accepted : ndarray of bool
        Whether the model accepts the point.
    """

    gap: np.ndarray | None
    off: np.ndarray
    close: np.ndarray
    given: np.ndarray
    held: np.ndarray
    accepted: np.ndarray

    @property
    def true(self) -> np.ndarray:
        """True if everything holds."""
        return self.close & self.held & self.accepted


class Landscape:
    """Targets as functions of one unknown, while other inputs are held at points of a grid.

    Parameters
    ----------
    model : DeclaredModel
        Whose outputs they are about.
    arguments : mapping
        Arguments of ``solve``, some of which may be axes.
    unknown : Variable
        The input that is asked for.
    targets : Targets
        What must hold.
    allow_infeasible : bool
        Whether the answer may be infeasible.

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
        asked = tuple(name for name in targets.names if name in self.binding.system)
        self.given = closure(self.binding.system, asked)
        needed = {variable.name for variable in self.given.inputs}.union(targets.names)
        if unknown.name not in needed:
            raise InputError("unknown", unknown.name, f"changes nothing of {', '.join(targets.texts)}")
        targets.assumed += feasibility(model, self.binding.system, targets.conditions, allow_infeasible)
        self.system = closure(self.binding.system, (*asked, *(FEASIBLE for _ in targets.assumed)))

    @property
    def whole(self) -> bool:
        """True if the unknown is a whole number."""
        return self.unknown.domain.kind == "integer"

    @property
    def iterates(self) -> bool:
        """True if an output is computed in a loop at every point."""
        return iterates(self.parts[1])

    @cached_property
    def rest(self) -> System:
        """The formulas that only the condition nobody gave needs, of those that the unknown moves."""
        held, _ = self.parts
        return System(formula for formula in self.system if formula.name not in self.given and formula.name not in held)

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
        """The only comparison that must hold, where no more than that was given."""
        if self.targets.equations or len(self.targets.conditions) != 1:
            return None
        found = self.comparisons_of(self.targets.conditions[0])
        return found[0] if len(found) == 1 else None

    def comparisons_of(self, condition: Expression) -> list[Comparison]:
        """The comparisons of numbers that a condition is made of."""
        known = [*(variable.name for variable in self.system.variables), *self.binding.values]
        return comparisons(condition, self.system, lambda text: quantity(text, self.model, known))

    @property
    def usual(self) -> float:
        """The value that the unknown has where it is not asked for, in its unit, or one of several; nan without one."""
        values = np.ravel(np.asarray(self.binding.values.get(self.unknown.name, np.nan), float))
        known = np.sort(values[~np.isnan(values)])
        return float(units.from_canonical(known[len(known) // 2], self.unknown.unit)) if len(known) else np.nan

    def block(self, places: np.ndarray) -> Block:
        """The points of the grid with these numbers, counted in C order."""
        return Block(self, places)

    @cached_property
    def parts(self) -> tuple[System, System]:
        """The formulas the unknown does not move and the others need, and those of what was given that it moves."""
        if not self.sizes:
            return System(()), self.given
        held, moved = _parts(self.system, self.unknown.name)
        return held, moved if self.system is self.given else _parts(self.given, self.unknown.name)[1]


class Block:
    """Some points of a grid, as many columns.

    Parameters
    ----------
    landscape : Landscape
        Whose points they are.
    places : ndarray
        Their numbers.
    """

    def __init__(self, landscape: Landscape, places: np.ndarray) -> None:
        self.landscape = landscape
        self.count = len(places)
        binding, axes = landscape.binding, len(landscape.targets.axes)
        at = np.unravel_index(places, landscape.sizes) if landscape.sizes else ()
        self.values: dict[str, Any] = {
            name: value[tuple(i if n > 1 else 0 for i, n in zip(at[axes:], value.shape, strict=True))]
            if isinstance(value, np.ndarray)
            else value
            for name, value in binding.numbers.items()
        }
        self.right: list[Any] = []
        self._scans: dict[bytes, dict[str, Any]] = {}
        along = iter(at)
        for equation in landscape.targets.equations:
            right = equation.right
            self.right.append(right[next(along)] if isinstance(right, np.ndarray) else right)
        held, self.moved = landscape.parts
        if len(held):
            self.values |= compiled(held, None, "vector")(self.values)  # type: ignore[arg-type]

    def along(self, x: np.ndarray) -> Seen:
        """Everything at the same values of the unknown for every point: a row per value."""
        return self._seen(self.known(x[:, None]), None, (len(x), self.count))

    def at(self, x: np.ndarray, columns: np.ndarray) -> Seen:
        """Everything at values of the unknown in its unit.

        Parameters
        ----------
        x : ndarray
            Values.
        columns : ndarray
            To which point each belongs.
        """
        return self._seen(self.known(x, columns), columns, np.shape(x))

    def gap(self, x: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Relative gap between both sides of the first equation; see :class:`Seen`."""
        values = self.known(x, columns)
        return np.broadcast_to(relative_gap(*self.sides(0, values, columns)), np.shape(x))

    def _seen(self, values: Mapping[str, Any], columns: np.ndarray | None, shape: tuple[int, ...]) -> Seen:
        gaps = [relative_gap(*self.sides(place, values, columns)) for place in range(len(self.right))]
        off = reduce(np.maximum, map(np.abs, gaps)) if gaps else np.zeros(())
        close = off <= (EQUAL_WHOLE if self.landscape.whole else EQUAL)
        given: Any = np.ones((), bool)
        for condition in self.landscape.targets.conditions:
            given = given & np.asarray(evaluated(condition, values), bool)
        off, close, given, accepted = (
            np.broadcast_to(each, shape) for each in (off, close, given, self.accepted(values))
        )
        held = self._feasible(values, given) if self.landscape.targets.assumed else given
        return Seen(np.broadcast_to(gaps[0], shape) if gaps else None, off, close, given, held, accepted)

    def _feasible(self, values: Mapping[str, Any], held: np.ndarray) -> np.ndarray:
        """Mask the feasible points among those where what was given holds."""
        rest, found = self.landscape.rest, np.zeros(held.shape, bool)
        if held.any():
            names = [FEASIBLE, *(variable.name for variable in rest.inputs)]
            at = {name: values[name] for name in names if name in values}
            at = {n: np.broadcast_to(v, held.shape)[held] if np.ndim(v) else v for n, v in at.items()}
            found[held] = (compiled(rest, None, "vector")(at) if len(rest) else at)[FEASIBLE]  # type: ignore[arg-type]
        return found

    def everything(self, x: np.ndarray) -> dict[str, Any]:
        """Every input and output that targets and feasibility need, in canonical units."""
        known, rest = self.known(x), self.landscape.rest
        return known | compiled(rest, None, "vector")(known) if len(rest) else known  # type: ignore[arg-type]

    def known(self, x: np.ndarray, columns: np.ndarray | None = None) -> dict[str, Any]:
        """Every input and output that the targets that were given need, in canonical units."""
        scan = x.tobytes() if self.count == 1 and columns is None and np.size(x) > 1 else b""
        if (found := self._scans.pop(scan, None)) is None:
            given = self._given(x, columns)
            found = given | compiled(self.moved, None, "vector")(given) if len(self.moved) else given
        if scan:
            self._scans = dict([*self._scans.items(), (scan, found)][-SCANS:])
        return found

    def _given(self, x: np.ndarray, columns: np.ndarray | None) -> dict[str, Any]:
        """The inputs, and the outputs that the unknown does not move."""
        unknown = self.landscape.unknown
        known = {name: v if columns is None else numbers(v, columns) for name, v in self.values.items()}
        return known | {unknown.name: units.to_canonical(np.asarray(x, float), unknown.unit)}

    def sides(self, place: int, values: Mapping[str, Any], columns: np.ndarray | None = None) -> tuple[Any, Any]:
        """Both sides of an equation."""
        left, right = self.landscape.targets.equations[place].left, self.right[place]
        if isinstance(right, Expression):
            return evaluated(left, values), evaluated(right, values)
        return evaluated(left, values), right if columns is None else numbers(right, columns)

    def accepts(self, x: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Tell whether the model accepts values of the unknown, whatever the targets say."""
        return np.broadcast_to(self.accepted(self._given(x, columns)), np.shape(x))

    def accepted(self, values: Mapping[str, Any]) -> np.ndarray:
        """Tell whether the unknown is in its domain and no reason refuses the point."""
        unknown = self.landscape.unknown
        return inside(unknown, values[unknown.name]) & accepted(self.landscape.binding, values)


def evaluated(expression: Expression, values: Mapping[str, Any]) -> Any:
    """An expression in canonical units."""
    return np.asarray(value_at(expression.sympy, values))


def relative_gap(left: Any, right: Any) -> np.ndarray:
    """By how much one side exceeds the other, of their size together: from -1 to 1; nan where one has no value."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        over = np.asarray(left - right, float)
        found = over / (np.abs(left) + np.abs(right))
        if not np.isfinite(found).all():  # both are zero, or one is infinite
            found = np.where(np.isfinite(found), found, np.where(left == right, 0.0, np.sign(over)))
    return found


@lru_cache(maxsize=256)
def _parts(system: System, unknown: str) -> tuple[System, System]:
    moved = moved_by(system, (unknown,))
    second = System(moved.values())
    needed = [variable.name for variable in second.inputs if variable.name in system and variable.name not in moved]
    held = system.closure(needed) if needed else System(())
    return held, second
