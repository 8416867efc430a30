"""First and second derivatives of a System, on points and on whole grids."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mlsysim.backends.blocks import Region, all_within, walked
from mlsysim.backends.compiled import Backend, CompiledFunction, graph_of, of_graph
from mlsysim.backends.staged import Staged
from mlsysim.backends.sweep import BLOCK, before_blocks, walk
from mlsysim.graph import Graph
from mlsysim.graph.passes import along, derivative
from mlsysim.graph.passes.derivative import BY, REVERSED, TANGENT
from mlsysim.symbolic import System

#: Derivatives of an output by the names of the inputs it was differentiated by; its value by none.
Derivatives = dict[tuple[str, ...], np.ndarray]
#: Points from which on a function is made for the grid, in stages, which takes some hundredths of a second.
WORTHWHILE = 1 << 16
#: Points up to which arrays of all directions take less time than code for each.
FEW = 1 << 10


def derivatives(
    system: System, outputs: Sequence[str], wrt: Sequence[str], values: Mapping[str, Any], order: int = 1
) -> dict[str, Derivatives]:
    """Evaluate every output with its derivatives, element by element, in float64.

    Parameters
    ----------
    system : System
        Formulas.
    outputs : sequence of str
        Names to compute.
    wrt : sequence of str
        Inputs to differentiate by.
    values : mapping
        Canonical array per input name; arrays broadcast against each other.
    order : {1, 2}
        Highest order of the derivatives.

    Returns
    -------
    dict
        Nonzero derivatives per output: the value by ``()``, first derivatives by ``(name,)``, second ones by
        ``(name, name)`` both ways round. Arrays have one dimension per axis, of length one where nothing varies.
    """
    inputs = graph_of(system, tuple(outputs)).inputs
    shape = np.broadcast_shapes(*(np.shape(values[name]) for name in inputs))
    points, by = math.prod(shape), tuple(sorted(set(wrt) & set(inputs)))
    together = order == 2 or (points < FEW and REVERSED < len(by) <= REVERSED * len(outputs))
    asked = _Request(system, tuple(outputs), by, order, together)
    graph = _graph(asked)
    if not shape and not together:
        try:
            return _named(_function(asked, "numpy")(values), (), 0)
        except ZeroDivisionError:  # inputs out of their domains, which no caller has checked
            pass
    if together or points < WORTHWHILE:
        function = _function(asked, "vector")
    else:
        ranked = {name: _ranked(values[name], len(shape)) for name in graph.inputs}
        stages = Staged(graph, ranked, before_blocks(shape))
        function, values = stages.last, stages.evaluated()
    moving = [name for name in by if f"{TANGENT}{name}" in graph.inputs]
    operands = {name: _ranked(values[name], len(shape)) for name in function.inputs if name in values}
    # Directions are the first axis, before those of the grid.
    units = np.eye(len(moving)).reshape(len(moving), len(moving), *[1] * len(shape))
    seeds = {f"{TANGENT}{name}": unit for name, unit in zip(moving, units, strict=True)}

    def named(results: Sequence[Any]) -> dict[str, Derivatives]:
        return _named(dict(zip(function.outputs, results, strict=True)), moving, len(shape))

    def within(region: Region) -> dict[str, Derivatives]:
        return _named(function(all_within(operands, region) | seeds), moving, len(shape))

    whole = tuple(slice(0, size) for size in shape)
    block = max(BLOCK // max(len(moving), 1), 1)
    if points <= block:
        return within(whole)
    # Two places along every axis show over which axes a derivative varies.
    corner = within(tuple(slice(0, min(size, 2)) for size in shape))
    arrays = {
        name: {
            by: np.empty([n if m > 1 else 1 for n, m in zip(shape, value.shape, strict=True)])
            for by, value in by_inputs.items()
        }
        for name, by_inputs in corner.items()
    }

    def put(region: Region, results: Sequence[Any]) -> None:
        for name, parts in named(results).items():
            for by, value in parts.items():
                array = arrays[name][by]
                varying = tuple(part if n > 1 else slice(0, 1) for part, n in zip(region, array.shape, strict=True))
                # Blocks are widened over short axes, along which a derivative may be the same.
                array[varying] = value[tuple(slice(None) if n > 1 else slice(0, 1) for n in array.shape)]

    if moving:
        walked(shape, block, lambda region: put(region, [*function(all_within(operands, region) | seeds).values()]))
    else:
        walk(function, operands, shape, put)
    return arrays


def slopes(
    system: System, outputs: Sequence[str], wrt: Sequence[str], values: Mapping[str, Any]
) -> dict[str, dict[str, np.ndarray]]:
    """Derivative of every output with respect to each input, element by element, in float64.

    Parameters
    ----------
    system, outputs, wrt, values
        As for :func:`derivatives`.

    Returns
    -------
    dict
        Per input, per output: an array in canonical units, over the axes on which the output depends.
    """
    by_output = derivatives(system, outputs, wrt, values)
    whole = {name: np.broadcast_shapes(*(value.shape for value in by_output[name].values())) for name in outputs}
    return {by: {name: np.broadcast_to(by_output[name].get((by,), 0.0), whole[name]) for name in outputs} for by in wrt}


class _Request(NamedTuple):
    """Derivatives requested of a system; with ``together``, along all directions at once."""

    system: System
    outputs: tuple[str, ...]
    wrt: tuple[str, ...]
    order: int
    together: bool


@lru_cache(maxsize=256)
def _graph(asked: _Request) -> Graph:
    graph, outputs = graph_of(asked.system, asked.outputs), asked.outputs
    if asked.order == 2:
        graph = derivative(graph, outputs, asked.wrt)
        outputs = tuple(graph.outputs)
    return (along if asked.together else derivative)(graph, outputs, asked.wrt)


@lru_cache(maxsize=256)
def _function(asked: _Request, backend: Backend) -> CompiledFunction:
    return of_graph(_graph(asked), backend)


def _named(results: Mapping[str, Any], moving: Sequence[str], rank: int) -> dict[str, Derivatives]:
    """Derivatives by output and inputs, from the outputs of a differentiated graph."""
    arrays: dict[str, Derivatives] = {}
    for name, value in results.items():
        output, *by = name.split(BY)
        by_inputs = arrays.setdefault(output, {})
        if not by or by[-1]:
            by_inputs[tuple(by)] = _array(value, rank)
            continue
        every = np.broadcast_to(value, (len(moving), *_shape(value, rank + 1)[1:]))
        for other, one in zip(moving, every, strict=True):
            by_inputs[*by[:-1], other] = np.asarray(one, float)
    return arrays


def _array(value: Any, rank: int) -> np.ndarray:
    return np.asarray(np.reshape(value, _shape(value, rank)), float)


def _shape(value: Any, rank: int) -> tuple[int, ...]:
    shape = np.shape(value)
    return (1,) * (rank - len(shape)) + shape


def _ranked(value: Any, rank: int) -> Any:
    """Array with as many dimensions as there are axes; a number as it is."""
    return np.reshape(value, _shape(value, rank)) if np.ndim(value) else value
