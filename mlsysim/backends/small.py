"""Grids in NumPy, by blocks that fit the cache: done before XLA would have compiled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlsysim.backends.blocks import Region, all_within, filled
from mlsysim.backends.blocks import shape as shape_of
from mlsysim.backends.compiled import compiled
from mlsysim.backends.output_spec import OutputSpec, ReasonCode
from mlsysim.backends.specialized import has_roots, specialized
from mlsysim.symbolic import System

#: Points of a block: its arrays stay in the cache, and are long enough that calling NumPy takes little of the time.
BLOCK = 1 << 15
#: Points from which on a function with roots is made for the grid, which takes some hundredths of a second.
WORTHWHILE = 1 << 11


def evaluate_small(
    system: System,
    outputs: Sequence[OutputSpec],
    values: Mapping[str, Any],
    shape: Sequence[int],
    reason: ReasonCode | None,
    threads: int = 1,
) -> dict[str, np.ndarray]:
    """As :func:`mlsysim.backends.evaluate_outputs`, without XLA."""
    names = tuple(output.name for output in outputs)
    function = compiled(system, names, "vector")
    code_of = compiled(system, None, "vector", ((reason.name, reason.code),)) if reason else None
    if math.prod(shape) >= WORTHWHILE and has_roots(system, names):
        function = specialized(function, values, names) or function

    def compute(region: Region) -> dict[str, np.ndarray]:
        given, size = all_within(values, region), shape_of(region)
        found = function(given)
        if reason is None or code_of is None:
            return {output.name: _formed(output, found[output.name], None, size) for output in outputs}
        why = np.empty(size, np.int8)
        why[...] = code_of(given)[reason.name]
        return {output.name: _formed(output, found[output.name], why, size) for output in outputs} | {reason.name: why}

    dtypes = {output.name: output.dtype for output in outputs} | ({reason.name: np.int8} if reason else {})
    return filled(dtypes, shape, BLOCK, compute, threads)


def _formed(output: OutputSpec, value: Any, why: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    found = np.empty(shape, output.dtype)
    with np.errstate(invalid="ignore"):
        found[...] = output.formed(value, np)
    if why is not None:
        found[why > 0] = output.missing
    return found
