"""Objectives and conditions at points of a grid, evaluated by the compiled function."""

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
#: Most values of iterated nodes that are computed at once for all points; and as a share of the points.
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
        Number per limited quantity.
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
        quantities = [limited.quantity for limited in self.limits]
        arrays = {name: np.asarray(value, float) for name, value in values.items()}
        points = math.prod(np.broadcast_shapes(*{value.shape for value in arrays.values()}))
        self._formulas = _Function(system, [*objectives, *dear, *quantities], arrays, points)
        #: The conditions that inputs alone decide, before any formula is evaluated.
        self.checks = [_Function(system, [condition], arrays, points) for condition in cheap]
        self._input_checks = Checks(self.checks)

    @property
    def chunk(self) -> int:
        """Number of points evaluated at once."""
        if self.iterates:
            return int(np.clip(LOOP_OPERATIONS / max(self._formulas.operations, 1.0), 1, LOOP_POINTS))
        return int(np.clip(CHUNK_OPERATIONS / max(self._formulas.operations, 1.0), 1, CHUNK_POINTS))

    @property
    def iterates(self) -> bool:
        """True if a point takes iterations, which compiled code does no faster than NumPy."""
        return self._formulas.iterates

    def limited(self, limits: Mapping[Limited, float]) -> Points:
        """Copy with other limits, which shares the programs."""
        copied = copy.copy(self)
        copied.limits = {limited: limits[limited] for limited in self.limits}
        return copied

    def operations(self, sizes: tuple[int, ...]) -> float:
        """Operations per point of a grid; the share of accepted points is estimated from 4,096 of them.

        Parameters
        ----------
        sizes : tuple of int
            Length of each axis.
        """
        random = np.random.default_rng(0)
        taken = self.accepts(np.array([random.integers(0, size, 4096) for size in sizes]))
        first = sum(check.operations for check in self.checks)
        return first + float(taken.mean()) * self._formulas.operations

    def __call__(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate the first objective and feasibility.

        A point is feasible if every objective is a finite number and every condition holds.

        Parameters
        ----------
        points : ndarray
            Index per axis (rows) and point (columns).
        """
        objectives, good = self.columns(points)
        return objectives[0], good

    def columns(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate all objectives (rows) at points (columns), and their feasibility; see :meth:`__call__`."""
        good = self.accepts(points)
        objectives = np.full((self._count, points.shape[1]), np.nan)
        if not good.any():
            return objectives, good
        # Points that inputs alone rule out are not worth a run of the formulas.
        results = self._formulas(points[:, good])
        accepted = np.nonzero(good)[0]
        for row, objective in zip(objectives, results, strict=False):
            row[accepted] = objective
        first_limited = len(results) - len(self.limits)
        for condition in results[self._count : first_limited]:
            good[accepted] &= np.asarray(condition, bool)
        for (limited, number), values in zip(self.limits.items(), results[first_limited:], strict=True):
            good[accepted] &= limited.holds(values, number)
        return objectives, good & np.isfinite(objectives).all(axis=0)

    def changed(self, points: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Evaluate the first objective at points and after a move along each axis alone, conditions left aside.

        Parameters
        ----------
        points : ndarray
            Index per axis (rows) and point (columns).
        places : ndarray
            Target index along each axis.

        Returns
        -------
        ndarray
            First row: at the points. One more row per axis: after the move, or anything if nothing moves.
        """
        return self._formulas.changed(points, places)

    def accepts(self, points: np.ndarray) -> np.ndarray:
        """Select points that meet the conditions on inputs alone."""
        return self._input_checks.accepts(points)


class _Function:
    """Expressions over a system, compiled for points of a grid of this size."""

    def __init__(
        self, system: System, expressions: list[sympy.Basic], values: Mapping[str, np.ndarray], points: int
    ) -> None:
        named = tuple((f"asked_{index}", expression) for index, expression in enumerate(expressions))
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
        """Evaluate the first expression at points and after a move along each axis; see :meth:`Points.changed`."""
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
        values_by_row = np.full((1 + axes, points.shape[1]), np.nan)
        values_by_row[0] = values[: points.shape[1]]
        values_by_row[1 + axis, column] = values[points.shape[1] :]
        return values_by_row

    def _built(self, places: Sequence[Operand]) -> list[Operand]:
        """Build the expressions on operands that are indices along the axes."""
        graph, builder = self._function.graph, places[0].builder
        inputs = dict(zip(self._function.inputs, self.inputs, strict=True))
        node_at: list[int] = []
        tables: dict[int, int] = {}
        for node in graph.nodes:
            if node.op == "input":
                node_at.append(_looked_up(inputs[node.data], places))
            elif node.op == "number":
                node_at.append(builder.number(node.data))
            else:
                made = builder.make(node.op, *[node_at[arg] for arg in node.args], data=node.data)
                if made not in tables:
                    tables[made] = _tabulated(builder, made)
                node_at.append(tables[made])
        return [Operand(builder, node_at[made]) for made in graph.outputs.values()]

    def built(self, places: Sequence[Operand]) -> Operand:
        """Build the first expression on operands that are indices along the axes."""
        return self._built(places)[0]

    def accepts(self, points: np.ndarray) -> np.ndarray:
        """Select points at which the first expression holds; not counted, see :class:`~.stages.Checks`."""
        return np.broadcast_to(np.asarray(self._evaluated(points)[0], bool), points.shape[1:])


def _symbols(expression: sympy.Basic) -> set[Any]:
    return set(lower(expression).free_symbols)


def _swept(value: np.ndarray) -> list[int]:
    return [axis for axis, size in enumerate(value.shape) if size > 1]


def _looked_up(value: np.ndarray, places: Sequence[Operand]) -> int:
    """Index of a node that looks a value up by the indices of its axes, which are operands."""
    axes = _swept(value)
    if not axes:
        return places[0].builder.number(float(value.ravel()[0]))
    if len(axes) > 2:
        raise NoOperationError("a table of three dimensions")
    table = value.reshape([value.shape[axis] for axis in axes])
    return (looked_up, looked_up_pair)[len(axes) - 1](table, *(places[axis] for axis in axes)).index


def _tabulated(builder: Builder, node: int) -> int:
    """Node of a precomputed table if an operation looks everything up at one index; else the node itself."""
    op, args, data = builder.nodes[node]
    operands = [builder.nodes[arg] for arg in args]
    tables = [operand for operand in operands if operand.op == "looked_up"]
    if op == "looked_up" or data is not None or len({operand.args for operand in tables}) != 1:
        return node
    if tables[0].data.values.size > TABULATED or any(operand.op not in ("looked_up", "number") for operand in operands):
        return node
    values = [operand.data.values if operand.op == "looked_up" else operand.data for operand in operands]
    return builder.make("looked_up", *tables[0].args, data=Array(vector.FUNCTIONS[op](*values)))


def at_points(value: np.ndarray, points: np.ndarray) -> Any:
    """Look a value up at points that are given by their index along every axis."""
    if not value.ndim:
        return value[()]
    return value[tuple(points[axis] if size > 1 else 0 for axis, size in enumerate(value.shape))]
