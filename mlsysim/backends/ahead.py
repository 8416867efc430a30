"""A function of the points of a grid, of which what few axes decide is done ahead, in NumPy; the rest is for a loop.

The function is recorded once for the grid: what has numbers alone is a number, of a case that is decided one side is
left. What is left after that is an object of its own, the same one for the same operations whatever the numbers are,
so that a loop over it need not be compiled again.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy

from mlsysim.backends import arrays
from mlsysim.backends.compiled import CompiledFunction, compiled
from mlsysim.backends.programs.codes import TRUTHS
from mlsysim.backends.programs.recording import Operand, UnrecordableError, Value
from mlsysim.backends.programs.replay import Named
from mlsysim.backends.specialized import specialized
from mlsysim.backends.tiling import Tiling
from mlsysim.symbolic import System

#: Most values of what is done ahead.
MOST = 2**16


@dataclass(frozen=True, eq=False)
class Rest:
    """Operations on arrays, in order.

    Attributes
    ----------
    inputs : tuple of str
        Names of what it is given.
    steps : tuple
        Name and operands of each operation. An operand is the place of a value, inputs first, or a number as text.
    outputs : tuple
        What it gives, as operands.
    """

    inputs: tuple[str, ...]
    steps: tuple[tuple[str, tuple[int | str, ...]], ...]
    outputs: tuple[int | str, ...]

    def raw(self, *values: Any) -> list[Any]:
        """What it gives for JAX arrays."""
        held = list(values)

        def at(operand: int | str) -> Any:
            return held[operand] if isinstance(operand, int) else float(operand)

        for name, operands in self.steps:
            held.append(arrays.operation(name)(*map(at, operands)))
        return list(map(at, self.outputs))


#: Of the same operations there is one object, by which what is compiled is found.
_rest = lru_cache(maxsize=256)(Rest)


def done_ahead(
    system: System,
    expressions: Sequence[sympy.Basic],
    values: Mapping[str, Any],
    tiling: Tiling | None = None,
    numbers: int = 1,
) -> tuple[CompiledFunction | Rest, dict[str, np.ndarray]]:
    """What a loop over the parts of a grid does at each of them, and the values that it is given.

    Parameters
    ----------
    system : System
        Formulas.
    expressions : sequence of sympy.Basic
        In inputs and variables of the system.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
    tiling : Tiling, optional
        Where the parts are tiles: what changes along both a flat and a walked axis is left to the loop.
    numbers : int
        How many expressions are numbers; those after them hold or not.

    Returns
    -------
    tuple of Rest or CompiledFunction, and dict
        The function, as a whole where it cannot be recorded; and its inputs as arrays with one dimension per axis.
    """
    named = tuple((f"asked_{place}", expression) for place, expression in enumerate(expressions))
    function = compiled(system, None, "vector", named)
    given = {name: np.asarray(values[name], float) for name in function.inputs}
    recorded = specialized(function, given)
    if recorded is not None and not recorded.iterates:
        with contextlib.suppress(UnrecordableError):
            return _numbered(*recorded.split(given, lambda shape: _few(shape, tiling)), numbers)
    function = compiled(system, None, "jax", named)
    return function, {name: given[name] for name in function.inputs}


def _few(shape: tuple[int, ...], tiling: Tiling | None) -> bool:
    """Whether what has these values is done ahead: few of them, of tiles along flat axes or along walked ones."""
    axes = [axis for axis, size in enumerate(shape) if size > 1]
    mixed = tiling and any(tiling.rows[axis] > 1 for axis in axes) and any(tiling.widths[axis] > 1 for axis in axes)
    return math.prod(shape) <= MOST and not mixed


def _numbered(
    known: Mapping[int, Any], steps: Sequence[Named], outputs: Sequence[Operand], numbers: int
) -> tuple[Rest, dict[str, np.ndarray]]:
    """Operations with their places counted anew, and what they are given. Numbers are given too, but for a few.

    The first outputs are numbers, the others are truth values.
    """
    used = [(name, at, x) for name, operands, _ in steps for at, x in enumerate(operands)]
    # Equal numbers are given apart: that they are equal may be so by chance.
    apart = [x for name, at, x in used if type(x) is float and _is_given(name, at, x)]
    places = {place: at for at, place in enumerate(known)}
    numbered = itertools.count(len(known))
    given = [*map(np.asarray, known.values()), *map(np.asarray, apart)]
    done: list[tuple[str, tuple[int | str, ...]]] = []

    def add(name: str, *operands: int | str) -> int:
        done.append((name, operands))
        return len(given) + len(done) - 1

    def operand_of(name: str, at: int, operand: Operand) -> int | str:
        if isinstance(operand, Value):
            return places[operand.place]
        if not isinstance(operand, float):
            raise UnrecordableError(name)
        return next(numbered) if _is_given(name, at, operand) else repr(operand)

    for place, value in zip(known, given, strict=False):
        if value.dtype == bool:
            places[place] = add("not_equal", places[place], "0.0")
    for name, operands, place in steps:
        places[place] = add(name, *(operand_of(name, at, x) for at, x in enumerate(operands)))
    # What holds everywhere is no condition.
    results = [*outputs[:numbers], *(x for x in outputs[numbers:] if isinstance(x, Value) or not x)]
    asked = [places[x.place] if isinstance(x, Value) else repr(x) for x in results]
    truths = [x if _is_truth(x, len(given), done) else add("not_equal", x, "0.0") for x in asked[numbers:]]
    inputs = tuple(f"given_{place}" for place in range(len(given)))
    found = _rest(inputs, tuple(done), (*asked[:numbers], *truths))
    return found, {name: value.astype(float) for name, value in zip(inputs, given, strict=True)}


def _is_truth(operand: int | str, inputs: int, steps: Sequence[tuple[str, Any]]) -> bool:
    """Whether an operand is what a comparison gives, and not a number that stands for it."""
    return isinstance(operand, int) and operand >= inputs and steps[operand - inputs][0] in TRUTHS


def _is_given(name: str, at: int, number: float) -> bool:
    """Whether a number may change without another order of operations: neither zero nor one, nor an exponent."""
    return 0 < number < math.inf and number != 1 and not (name == "power" and at == 1)
