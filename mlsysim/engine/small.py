"""Small grids in NumPy: done before XLA would have compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlsysim.engine.compiled import compiled
from mlsysim.engine.output_spec import OutputSpec, ReasonCode
from mlsysim.symbolic import System


def evaluate_small(
    system: System,
    outputs: Sequence[OutputSpec],
    values: Mapping[str, Any],
    shape: Sequence[int],
    reason: ReasonCode | None,
) -> dict[str, np.ndarray]:
    """As :func:`mlsysim.engine.evaluate_outputs`, without XLA."""
    shape = tuple(shape)
    found = compiled(system, tuple(output.name for output in outputs), "vector")(values)
    if reason is None:
        return {output.name: _formed(output, found[output.name], None, shape) for output in outputs}
    why = np.empty(shape, np.int8)
    why[...] = compiled(system, None, "vector", ((reason.name, reason.code),))(values)[reason.name]
    return {output.name: _formed(output, found[output.name], why, shape) for output in outputs} | {reason.name: why}


def _formed(output: OutputSpec, value: Any, why: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    found = np.empty(shape, output.dtype)
    with np.errstate(invalid="ignore"):
        found[...] = output.formed(value, np)
    if why is not None:
        found[why > 0] = output.missing
    return found
