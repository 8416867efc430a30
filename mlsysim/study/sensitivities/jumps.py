"""Jumps: distance of a continuous input from the next jump of a ceiling, floor or least integer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import sympy

from mlsysim import units
from mlsysim.backends import compiled, graph_of
from mlsysim.backends.staged import Staged
from mlsysim.graph.passes.axes import axes
from mlsysim.study.results.display import presented
from mlsysim.study.sensitivities.moves import Moves
from mlsysim.study.sensitivities.row import Step
from mlsysim.symbolic import STEPS, Closed, System, Variable

#: Range of the search for a jump in powers of two times the value of an input, and points per power.
NEAREST, FARTHEST, PLACES = -40, 20, 2
#: Points of an interval in each refinement, number of refinements, and smallest relative width.
REFINED, ROUNDS, ROUNDING = 32, 24, 4e-15


@lru_cache(maxsize=256)
def _stepped(system: System) -> tuple[tuple[str, sympy.Basic], ...]:
    """Return every ceiling, floor and least integer of a system, with the variable whose formula contains it."""
    return tuple((formula.name, node) for formula in system for node in _nodes(formula.expression))


def _nodes(expression: Any) -> Iterator[Any]:
    if isinstance(expression, STEPS):
        yield expression
    if not isinstance(expression, Closed):
        for arg in expression.args:
            yield from _nodes(arg)


@lru_cache(maxsize=256)
def jumping(system: System, output: str) -> dict[str, tuple[str, ...]]:
    """Return the variables that jump between each input and an output, by input."""
    graph = graph_of(system, (output,))
    bits = {variable.name: 1 << position for position, variable in enumerate(system.inputs)}
    dependence, steps = axes(graph, bits), system.steps()
    return {name: tuple(step for step in steps if dependence[graph.outputs[step]] & bit) for name, bit in bits.items()}


def next_jumps(moves: Moves, inputs: Sequence[Variable]) -> dict[str, list[tuple[Step, float] | None]]:
    """Find the nearest jumps below and above, per continuous input, each with the relative change it causes alone.

    All inputs are searched together. Points at doubling distances are tried first; then the first interval with a jump
    is subdivided down to rounding.

    Returns
    -------
    dict
        None if there is no allowed jump within the domain and a factor of a million.
    """
    system, values = moves.system, moves.binding.values
    stepped = _stepped(system)
    if not inputs or not stepped:
        return {}
    expressions = (("output", moves.output.symbol), *((f"jump_{n}", node) for n, (_, node) in enumerate(stepped)))
    function = compiled(system, None, "vector", expressions)
    constants: dict[str, Any] = {}
    if function.graph.has("root", "chunked"):
        # Leave out roots that these inputs do not affect: no goodput if the number of replicas is given.
        moving = {by.name for by in inputs}
        sizes = {name: np.full(2 if name in moving else 1, float(value)) for name, value in values.items()}
        stages = Staged(function.graph, sizes, lambda _shape: False)
        function, constants = stages.last, stages.evaluated()
    rows = [(by, way) for by in inputs for way in (-1.0, 1.0)]

    def evaluate(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate output and jumping terms with the input of each row at the points of that row."""
        arguments: dict[str, Any] = {**constants, **{name: float(value) for name, value in values.items()}}
        for by in inputs:
            own_rows = np.array([row_input is by for row_input, _ in rows])
            arguments[by.name] = np.where(own_rows[:, None], points, arguments[by.name])
        results = function(arguments)
        stacked = np.stack([np.broadcast_to(np.asarray(results[name], float), points.shape) for name, _ in expressions])
        return stacked[0], stacked[1:]

    points = np.stack([_doubling(by, way, float(values[by.name])) for by, way in rows])
    _, here = evaluate(points[:, :1])
    row_index, low, high = np.arange(len(rows)), points[:, 0], np.full(len(rows), np.nan)
    ends = low
    for _ in range(ROUNDS):
        _, numbers = evaluate(points)
        jumped = ((numbers != here) & ~(np.isnan(numbers) & np.isnan(here))).any(axis=0)
        first = np.argmax(jumped, axis=1)
        found = jumped[row_index, first]
        high = np.where(found, points[row_index, first], high)
        low = np.where(found, points[row_index, np.maximum(first - 1, 0)], low)
        ends = np.where(np.isnan(high), low, high)
        if not (np.abs(ends - low) > ROUNDING * np.abs(ends)).any():
            break
        points = low[:, None] + (ends - low)[:, None] * np.linspace(0.0, 1.0, REFINED + 1)
        points[:, -1] = ends
    output_at, numbers = evaluate(np.stack([low, ends], axis=1))
    jumps: dict[str, list[tuple[Step, float] | None]] = {by.name: [] for by in inputs}
    for row, (by, _) in enumerate(rows):
        beyond = float(high[row])
        if np.isnan(beyond) or not moves.allowed(by.name, np.array([beyond]))[0]:
            jumps[by.name].append(None)
            continue
        jumping_variables = [
            name for (name, _), (left, right) in zip(stepped, numbers[:, row], strict=True) if left != right
        ]
        before, after = map(float, output_at[row])
        distance = presented(by, abs(beyond - float(values[by.name])))
        changes = moves.change(moves.value, after), moves.change(before, after)
        effect = moves.relative(moves.value + after - before) if math.isfinite(before) else math.inf
        effect = effect if math.isfinite(before) or math.isfinite(after) else 0.0
        jumps[by.name].append(
            (Step(presented(by, beyond), distance, *changes, tuple(dict.fromkeys(jumping_variables))), effect)
        )
    return jumps


def _doubling(by: Variable, way: float, at: float) -> np.ndarray:
    """Values of an input at doubling distances within its domain; downwards also approaching zero by halves."""
    unit_size = units.factor(by.unit)
    size = abs(at) or unit_size
    powers = np.arange(NEAREST, FARTHEST, 1 / PLACES)
    points = at + way * size * 2.0**powers
    if way < 0 and at > 0 and by.domain.lower >= 0:
        points = at * np.where(powers < -1, 1.0 - 2.0**powers, 2.0 ** -(powers + 2))
    points = np.concatenate([[at], points])
    lower, upper = by.domain.lower * unit_size, by.domain.upper * unit_size
    return np.clip(points, lower if not by.domain.open_lower else np.nextafter(lower, np.inf), upper)
