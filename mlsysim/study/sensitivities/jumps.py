"""Distance of a continuous input from where a ceiling, floor or least integer on the way to the output jumps."""

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

#: Powers of two, times the value of an input, between which it is looked for a jump; places per power.
NEAREST, FARTHEST, PLACES = -40, 20, 2
#: Parts into which an interval is cut in every further round, how many rounds, and how near its ends may come.
REFINED, ROUNDS, ROUNDING = 32, 24, 4e-15


@lru_cache(maxsize=256)
def _stepped(system: System) -> tuple[tuple[str, sympy.Basic], ...]:
    """Every ceiling, floor and least integer of a system, by the variable whose formula has it."""
    return tuple((formula.name, node) for formula in system for node in _nodes(formula.expression))


def _nodes(expression: Any) -> Iterator[Any]:
    if isinstance(expression, STEPS):
        yield expression
    if not isinstance(expression, Closed):
        for arg in expression.args:
            yield from _nodes(arg)


@lru_cache(maxsize=256)
def jumping(system: System, output: str) -> dict[str, tuple[str, ...]]:
    """Variables that jump between each input and an output, by input."""
    graph = graph_of(system, (output,))
    bits = {v.name: 1 << place for place, v in enumerate(system.inputs)}
    moved, steps = axes(graph, bits), system.steps()
    return {name: tuple(step for step in steps if moved[graph.outputs[step]] & bit) for name, bit in bits.items()}


def next_jumps(moves: Moves, inputs: Sequence[Variable]) -> dict[str, list[tuple[Step, float] | None]]:
    """The nearest jumps below and above, per continuous input, each with the relative change that it brings alone.

    All inputs are searched together: places at distances that double are tried first, then ever smaller parts of the
    first interval in which anything jumps, down to rounding.

    Returns
    -------
    dict
        None where there is no jump that is allowed, within the domain and a factor of a million.
    """
    system, values = moves.system, moves.binding.values
    stepped = _stepped(system)
    if not inputs or not stepped:
        return {}
    asked = (("output", moves.output.symbol), *((f"jump_{n}", node) for n, (_, node) in enumerate(stepped)))
    function = compiled(system, None, "vector", asked)
    held: dict[str, Any] = {}
    if function.graph.has("root", "chunked"):
        # Without the roots that the other inputs decide: no goodput where the number of replicas is given.
        moving = {by.name for by in inputs}
        sizes = {name: np.full(2 if name in moving else 1, float(value)) for name, value in values.items()}
        stages = Staged(function.graph, sizes, lambda _shape: False)
        function, held = stages.last, stages.evaluated()
    rows = [(by, way) for by in inputs for way in (-1.0, 1.0)]

    def found_at(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Output and jumping numbers where the input of each row has the values of that row."""
        given: dict[str, Any] = {**held, **{name: float(value) for name, value in values.items()}}
        for by in inputs:
            mine = np.array([each is by for each, _ in rows])
            given[by.name] = np.where(mine[:, None], places, given[by.name])
        found = function(given)
        every = np.stack([np.broadcast_to(np.asarray(found[name], float), places.shape) for name, _ in asked])
        return every[0], every[1:]

    places = np.stack([_doubling(by, way, float(values[by.name])) for by, way in rows])
    _, here = found_at(places[:, :1])
    each, low, high = np.arange(len(rows)), places[:, 0], np.full(len(rows), np.nan)
    ends = low
    for _ in range(ROUNDS):
        _, numbers = found_at(places)
        moved = ((numbers != here) & ~(np.isnan(numbers) & np.isnan(here))).any(axis=0)
        first = np.argmax(moved, axis=1)
        hit = moved[each, first]
        high = np.where(hit, places[each, first], high)
        low = np.where(hit, places[each, np.maximum(first - 1, 0)], low)
        ends = np.where(np.isnan(high), low, high)
        if not (np.abs(ends - low) > ROUNDING * np.abs(ends)).any():
            break
        places = low[:, None] + (ends - low)[:, None] * np.linspace(0.0, 1.0, REFINED + 1)
        places[:, -1] = ends
    output_at, numbers = found_at(np.stack([low, ends], axis=1))
    found: dict[str, list[tuple[Step, float] | None]] = {by.name: [] for by in inputs}
    for place, (by, _) in enumerate(rows):
        beyond = float(high[place])
        if np.isnan(beyond) or not moves.allowed(by.name, np.array([beyond]))[0]:
            found[by.name].append(None)
            continue
        jumped = [name for (name, _), (one, other) in zip(stepped, numbers[:, place], strict=True) if one != other]
        before, after = map(float, output_at[place])
        distance = presented(by, abs(beyond - float(values[by.name])))
        changes = moves.change(moves.value, after), moves.change(before, after)
        effect = moves.relative(moves.value + after - before) if math.isfinite(before) else math.inf
        effect = effect if math.isfinite(before) or math.isfinite(after) else 0.0
        found[by.name].append((Step(presented(by, beyond), distance, *changes, tuple(dict.fromkeys(jumped))), effect))
    return found


def _doubling(by: Variable, way: float, at: float) -> np.ndarray:
    """Values of an input at distances that double, within its domain; downwards also halves towards zero."""
    one = units.factor(by.unit)
    size = abs(at) or one
    powers = np.arange(NEAREST, FARTHEST, 1 / PLACES)
    found = at + way * size * 2.0**powers
    if way < 0 and at > 0 and by.domain.lower >= 0:
        found = at * np.where(powers < -1, 1.0 - 2.0**powers, 2.0 ** -(powers + 2))
    found = np.concatenate([[at], found])
    lower, upper = by.domain.lower * one, by.domain.upper * one
    return np.clip(found, lower if not by.domain.open_lower else np.nextafter(lower, np.inf), upper)
