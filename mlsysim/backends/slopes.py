"""First and second derivatives of a System, on points and on whole grids."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from mlsysim.backends.blocks import Region, all_within, blocks
from mlsysim.backends.compiled import CompiledFunction, compiled
from mlsysim.backends.dual import NAMESPACE, Dual, unpacked
from mlsysim.backends.sweep import BLOCK
from mlsysim.symbolic import System

#: Derivatives of an output by the names of the inputs it was differentiated by; its value by none.
Derivatives = dict[tuple[str, ...], np.ndarray]


def derivatives(
    system: System, outputs: Sequence[str], wrt: Sequence[str], values: Mapping[str, Any], order: int = 1
) -> dict[str, Derivatives]:
    """Every output with its derivatives, element by element, in float64.

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
        Derivatives up to which order.

    Returns
    -------
    dict
        Per output, what does not vanish: the value by ``()``, first derivatives by ``(name,)``, second ones by
        ``(name, name)`` both ways round. Arrays have one dimension per axis, of length one where nothing varies.
    """
    function = compiled(system, tuple(outputs), "vector")
    shape = np.broadcast_shapes(*(np.shape(values[name]) for name in function.inputs))
    values = {name: _ranked(values[name], len(shape)) for name in function.inputs}

    def within(region: Region) -> dict[str, dict[tuple[str, ...], Any]]:
        found = carried(function, all_within(values, region), frozenset(wrt), order)
        return {name: unpacked(number) for name, number in zip(function.outputs, found, strict=True) if name in outputs}

    whole = tuple(slice(0, size) for size in shape)
    if math.prod(shape) <= BLOCK:
        return {
            name: {by: np.reshape(value, _shape(value, len(shape))).astype(float) for by, value in parts.items()}
            for name, parts in within(whole).items()
        }
    # Two places along every axis show over which axes a derivative varies.
    corner = within(tuple(slice(0, min(size, 2)) for size in shape))
    arrays = {
        name: {
            by: np.empty([n if m > 1 else 1 for n, m in zip(shape, _shape(value, len(shape)), strict=True)])
            for by, value in parts.items()
        }
        for name, parts in corner.items()
    }
    parts = blocks(shape, BLOCK)
    for region in map(parts.region, range(parts.count)):
        for name, found in within(region).items():
            for by, value in found.items():
                array = arrays[name][by]
                varying = zip(region, array.shape, strict=True)
                array[tuple(part if n > 1 else slice(None) for part, n in varying)] = value
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
    found = derivatives(system, outputs, wrt, values)
    whole = {name: found[name][()].shape for name in outputs}
    return {by: {name: np.broadcast_to(found[name].get((by,), 0.0), whole[name]) for name in outputs} for by in wrt}


def _shape(value: Any, rank: int) -> tuple[int, ...]:
    shape = np.shape(value)
    return (1,) * (rank - len(shape)) + shape


def _ranked(value: Any, rank: int) -> Any:
    """An array with as many dimensions as there are axes; a number as it is."""
    return np.reshape(value, _shape(value, rank)) if np.ndim(value) else value


def carried(function: CompiledFunction, values: Mapping[str, Any], wrt: Collection[str], order: int = 1) -> list[Any]:
    """What a compiled function returns, as dual numbers.

    Parameters
    ----------
    function : CompiledFunction
        For NumPy, of scalars or arrays.
    values : mapping
        Canonical number or array per input.
    wrt : collection of str
        Inputs to differentiate by.
    order : {1, 2}
        Derivatives up to which order.

    Returns
    -------
    list
        A dual number per output, or a plain number where it depends on none of these inputs.
    """
    given: list[Any] = []
    for name in function.inputs:
        value = np.asarray(values[name], float)[()]
        for level in range(1, order + 1) if name in wrt else ():
            value = Dual(value, {name: 1.0}, level)
        given.append(value)
    with np.errstate(all="ignore"):
        return function.on(NAMESPACE)(*given)
