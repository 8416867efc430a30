"""Small grids as a data set shows them, in NumPy: done before XLA would have compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlsysim.engine.compiled import compiled
from mlsysim.engine.shown import Refused, Shown
from mlsysim.scaling import in_unit
from mlsysim.symbolic import System


def evaluate_small(
    system: System,
    outputs: Sequence[Shown],
    values: Mapping[str, Any],
    shape: Sequence[int],
    refused: Refused | None,
) -> dict[str, np.ndarray]:
    """As :func:`mlsysim.engine.evaluate_shown`, without XLA."""
    shape = tuple(shape)
    found = compiled(system, tuple(output.name for output in outputs), "vector")(values)
    if refused is None:
        return {output.name: _shown(output, found[output.name], None, shape) for output in outputs}
    why = np.empty(shape, np.int8)
    why[...] = compiled(system, None, "vector", ((refused.name, refused.code),))(values)[refused.name]
    return {output.name: _shown(output, found[output.name], why, shape) for output in outputs} | {refused.name: why}


def _shown(output: Shown, value: Any, why: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    if output.kind == "number":
        shown, missing = in_unit(np.asarray(value, float), output.scale), np.nan
    elif output.kind == "label":
        shown, missing = np.asarray(value), np.int8(-1)
    else:
        shown, missing = np.asarray(value, bool), False
    dtype = {"number": np.float64, "label": np.int8, "truth": np.bool_}[output.kind]
    found = np.empty(shape, dtype)
    with np.errstate(invalid="ignore"):
        found[...] = shown
    if why is not None:
        found[why > 0] = missing
    return found
