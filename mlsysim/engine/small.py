"""Small grids as a data set shows them, in NumPy: done before XLA would have compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy

from mlsysim.engine.compiled import compiled
from mlsysim.engine.shown import Shown
from mlsysim.scaling import in_unit
from mlsysim.symbolic import System


def evaluate_small(
    system: System,
    outputs: Sequence[Shown],
    values: Mapping[str, Any],
    shape: Sequence[int],
    refused: Sequence[tuple[int, Any]],
    conditions: Sequence[tuple[int, sympy.Basic]],
    reasons: str,
) -> dict[str, np.ndarray]:
    """As :func:`mlsysim.engine.evaluate_shown`, without XLA."""
    shape = tuple(shape)
    why = _refusal(system, values, shape, refused, conditions)
    found: Mapping[str, Any] = {}
    if outputs:
        function = compiled(system, tuple(output.name for output in outputs), "vector")
        found = function(values)
    arrays = {output.name: _shown(output, found[output.name], why, shape) for output in outputs}
    return arrays | ({reasons: np.zeros(shape, np.int8) if why is None else why} if reasons else {})


def _refusal(
    system: System,
    values: Mapping[str, Any],
    shape: tuple[int, ...],
    refused: Sequence[tuple[int, Any]],
    conditions: Sequence[tuple[int, sympy.Basic]],
) -> np.ndarray | None:
    """Per point, 0 or the code of the first reason to refuse it; None where there is no reason at all."""
    if not refused and not conditions:
        return None
    masks = [(code, np.asarray(where, bool)) for code, where in refused]
    if conditions:
        named = tuple((f"condition_{place}", condition) for place, (_, condition) in enumerate(conditions))
        met = compiled(system, None, "vector", named)(values)
        masks += [(code, ~np.asarray(met[name], bool)) for (code, _), (name, _) in zip(conditions, named, strict=True)]
    why = np.zeros(shape, np.int8)
    for code, where in reversed(masks):
        why[np.broadcast_to(where, shape)] = code
    return why


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
