"""Objectives and conditions at any points of a grid, evaluated by the compiled function."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np
import sympy

from mlsysim.backends import vector
from mlsysim.backends.budget import take
from mlsysim.backends.compiled import compiled
from mlsysim.backends.programs.lazily import Lazily
from mlsysim.backends.staged import Staged
from mlsysim.bounds.limits import Limited
from mlsysim.bounds.stages import LOOK_UP, Checks
from mlsysim.graph import Builder
from mlsysim.graph.operand import Array, NoOperationError, Operand
from mlsysim.graph.operations.outward import looked_up, looked_up_pair
from mlsysim.graph.passes import cost
from mlsysim.symbolic import System, lower

#: Operations of a chunk of points, some tenths of a second, after which the clock is looked at; and most points of it.
CHUNK_OPERATIONS, CHUNK_POINTS = 2e8, 1 << 17
#: The same where points take iterations: a root does a thousand calls of NumPy, and few of ten tries on most points.
LOOP_OPERATIONS, LOOP_POINTS = 4e9, 1 << 14
#: Of what takes iterations, most values that are found at once for all points; and as a share of the points.
AHEAD, SHARE = 1 << 17, 0.25
#: Most values of a table in which a program looks up what one axis decides.
TABULATED = 1 << 16


class Points:
    """Evaluates objectives and conditions point by point.

    Parameters
    ----------
    system : System
        Formulas.
    objectives : tuple of sympy.Basic
        What is minimised.
    conditions : tuple of sympy.Basic
        What must hold.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
    limits : mapping, optional
        What is held to a number, and that number.
    """

    def __init__(
        self,
        system: System,
        objectives: tuple[sympy.Basic, ...],
        conditions: tuple[sympy.Basic, ...],
        values: Mapping[str, Any],
        limits: Mapping[Limited, float] | None = None,
    ) -> None:
        self.limits = dict(limits or {})
        cheap = [c for c in conditions if not any(symbol.name in system for symbol in _symbols(c))]
        dear = [c for c in conditions if c not in cheap]
        self._count = len(objectives)
        held = [limited.quantity for limited in self.limits]
        given = {name: np.asarray(value, float) for name, value in values.items()}
        points = math.prod(np.broadcast_shapes(*{value.shape for value in given.values()}))
        self._then = _Function(system, [*objectives, *dear, *held], given, points)
        #: The conditions that inputs alone decide, before any formula is evaluated.
        self.checks = [_Function(system, [condition], given, points) for condition in cheap]
        self._accepted = Checks(self.checks)

    @property
    def chunk(self) -> int:
        """How many points are evaluated at once."""
        if self.iterates:
            return int(np.clip(LOOP_OPERATIONS / max(self._then.operations, 1.0), 1, LOOP_POINTS))
        return int(np.clip(CHUNK_OPERATIONS / max(self._then.operations, 1.0), 1, CHUNK_POINTS))

    @property
    def iterates(self) -> bool:
        """Whether a point takes iterations, which compiled code does no faster than NumPy."""
        return self._then.iterates

    def limited(self, limits: Mapping[Limited, float]) -> Points:
        """The same with other numbers, by the same programs."""
        found = copy.copy(self)
        found.limits = {limited: limits[limited] for limited in self.limits}
        return found

    def operations(self, sizes: tuple[int, ...]) -> float:
        """Operations per point of a grid. How many points are accepted is estimated from 4,096 of them.

        Parameters
        ----------
        sizes : tuple of int
            Length of each axis.
        """
        random = np.random.default_rng(0)
        taken = self.accepts(np.array([random.integers(0, size, 4096) for size in sizes]))
        first = sum(check.operations for check in self.checks)
        return first + float(taken.mean()) * self._then.operations

    def __call__(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first objective, and whether a point is feasible.

        It is if every objective is a finite number and every condition holds.

        Parameters
        ----------
        points : ndarray
            Index per axis (rows) and point (columns).
        """
        found, good = self.columns(points)
        return found[0], good

    def columns(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All objectives (rows) at points (columns), and whether each point is feasible; see :meth:`__call__`."""
        good = self.accepts(points)
        found = np.full((self._count, points.shape[1]), np.nan)
        if not good.any():
            return found, good
        # What inputs alone rule out is not worth a run of the formulas.
        answers = self._then(points[:, good])
        place = np.nonzero(good)[0]
        for row, objective in zip(found, answers, strict=False):
            row[place] = objective
        held = len(answers) - len(self.limits)
        for condition in answers[self._count : held]:
            good[place] &= np.asarray(condition, bool)
        for (limited, number), found_there in zip(self.limits.items(), answers[held:], strict=True):
            good[place] &= limited.holds(found_there, number)
        return found, good & np.isfinite(found).all(axis=0)

    def changed(self, points: np.ndarray, places: np.ndarray) -> np.ndarray:
        """The first objective at points, and after a move along each axis alone, whatever conditions say.

        Parameters
        ----------
        points : ndarray
            Index per axis (rows) and point (columns).
        places : ndarray
            Where to along each axis.

        Returns
        -------
        ndarray
            In the first row at the points; in one more per axis after the move, or anything if it moves nowhere.
        """
        return self._then.changed(points, places)

    def accepts(self, points: np.ndarray) -> np.ndarray:
        """Whether points meet the conditions on inputs alone."""
        return self._accepted.accepts(points)


class _Function:
    """Expressions over a system, compiled to be evaluated at points of a grid of so many."""

    def __init__(
        self, system: System, expressions: list[sympy.Basic], values: Mapping[str, np.ndarray], points: int
    ) -> None:
        named = tuple((f"asked_{place}", expression) for place, expression in enumerate(expressions))
        self._function = compiled(system, None, "vector", named)
        self.inputs = [values[name] for name in self._function.inputs]
        self.axes = frozenset(axis for value in self.inputs for axis in _swept(value))
        looked_up = sum(value.size > 1 for value in self.inputs)
        self._staged: Staged | None = None
        self.iterates = False
        if self._function.graph.has("root", "chunked"):
            ahead = int(min(AHEAD, SHARE * points))
            self._staged = Staged(self._function.graph, values, lambda shape: math.prod(shape) <= ahead)
            self.iterates = self._staged.has("root", "chunked")
        self._lock = Lock()
        self._prepared: dict[str, Any] | None = None
        self.operations = LOOK_UP * looked_up
        if self._staged is None:
            varies = {name: int(value.size > 1) for name, value in zip(self._function.inputs, self.inputs, strict=True)}
            self.operations += cost(self._function.graph, varies)[1]
        else:
            self.operations += self._staged.nanoseconds
        self._program = Lazily()
        self._changed: Lazily | None = None

    def __call__(self, points: np.ndarray) -> Any:
        take(self.operations, points.shape[1])
        return self._evaluated(points)

    def _evaluated(self, points: np.ndarray) -> Any:
        if self._staged is not None:
            with self._lock:
                if self._prepared is None:
                    self._prepared = self._staged.evaluated()
            with np.errstate(all="ignore"):
                return self._staged.last.raw(*(at_points(value, points) for value in self._prepared.values()))
        program = self._program.after(self._built, self.operations, points.shape[1], points.shape[0])
        if program is not None:
            return program(points)
        with np.errstate(all="ignore"):
            return self._function.raw(*(at_points(value, points) for value in self.inputs))

    def changed(self, points: np.ndarray, places: np.ndarray) -> np.ndarray:
        """The first expression at points, and after a move along each axis alone; see :meth:`Points.changed`."""
        axes, moves = len(points), points != places
        count = points.shape[1] + int(moves.sum())
        if self._changed is None:
            self._changed = Lazily(range(axes))
        program = self._changed.after(lambda inputs: self._built(inputs)[:1], self.operations, count, axes)
        if program is not None:
            take(self.operations, count)
            return program.varied(points, places, moves)[0]
        axis, column = np.nonzero(moves)
        moved = points[:, column]
        moved[axis, np.arange(len(axis))] = places[axis, column]
        values = np.broadcast_to(np.asarray(self(np.concatenate([points, moved], axis=1))[0], float), (count,))
        found = np.full((1 + axes, points.shape[1]), np.nan)
        found[0] = values[: points.shape[1]]
        found[1 + axis, column] = values[points.shape[1] :]
        return found

    def _built(self, places: Sequence[Operand]) -> list[Operand]:
        """The expressions at places that are operands."""
        graph, builder = self._function.graph, places[0].builder
        given = dict(zip(self._function.inputs, self.inputs, strict=True))
        at: list[int] = []
        tables: dict[int, int] = {}
        for node in graph.nodes:
            if node.op == "input":
                at.append(_looked_up(given[node.data], places))
            elif node.op == "number":
                at.append(builder.number(node.data))
            else:
                place = builder.make(node.op, *[at[arg] for arg in node.args], data=node.data)
                if place not in tables:
                    tables[place] = _tabulated(builder, place)
                at.append(tables[place])
        return [Operand(builder, at[place]) for place in graph.outputs.values()]

    def built(self, places: Sequence[Operand]) -> Operand:
        """The first expression at places that are operands."""
        return self._built(places)[0]

    def accepts(self, points: np.ndarray) -> np.ndarray:
        """Whether the first expression holds at points; not counted, see :class:`~.stages.Checks`."""
        return np.broadcast_to(np.asarray(self._evaluated(points)[0], bool), points.shape[1:])


def _symbols(expression: sympy.Basic) -> set[Any]:
    return set(lower(expression).free_symbols)


def _swept(value: np.ndarray) -> list[int]:
    return [axis for axis, size in enumerate(value.shape) if size > 1]


def _looked_up(value: np.ndarray, places: Sequence[Operand]) -> int:
    """Place of a value over some axes, which stand at places that are operands."""
    axes = _swept(value)
    if not axes:
        return places[0].builder.number(float(value.ravel()[0]))
    if len(axes) > 2:
        raise NoOperationError("a table of three dimensions")
    table = value.reshape([value.shape[axis] for axis in axes])
    return (looked_up, looked_up_pair)[len(axes) - 1](table, *(places[axis] for axis in axes)).place


def _tabulated(builder: Builder, place: int) -> int:
    """Place of a table of an operation on numbers and on what is looked up at one place; any other is itself."""
    op, args, data = builder.nodes[place]
    operands = [builder.nodes[arg] for arg in args]
    tables = [each for each in operands if each.op == "looked_up"]
    if op == "looked_up" or data is not None or len({each.args for each in tables}) != 1:
        return place
    if tables[0].data.values.size > TABULATED or any(each.op not in ("looked_up", "number") for each in operands):
        return place
    values = [each.data.values if each.op == "looked_up" else each.data for each in operands]
    return builder.make("looked_up", *tables[0].args, data=Array(vector.FUNCTIONS[op](*values)))


def at_points(value: np.ndarray, points: np.ndarray) -> Any:
    """A value over some axes, at points that are given by their index along every axis."""
    if not value.ndim:
        return value[()]
    return value[tuple(points[axis] if size > 1 else 0 for axis, size in enumerate(value.shape))]
