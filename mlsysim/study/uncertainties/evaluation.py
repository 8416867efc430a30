"""Outputs and conditions at every draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlsysim.backends import compiled
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.expressions import Expression, condition
from mlsysim.study.uncertainties.draws import Uncertain
from mlsysim.symbolic import lower


def conditions_of(model: DeclaredModel, asked: Uncertain, texts: Sequence[Any]) -> list[Expression]:
    """Conditions on the inputs and outputs of a call, read from text.

    Raises
    ------
    InputError
        If one does not read as a condition.
    """
    binding = asked.varied.binding
    known = [*(v.name for v in binding.system.variables), *binding.values]
    return [condition(text, model, known, "conditions") for text in texts]


def evaluated(
    asked: Uncertain, outputs: Sequence[str], shares: np.ndarray, conditions: Sequence[Expression] = ()
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Outputs and conditions at draws.

    Parameters
    ----------
    asked : Uncertain
        The uncertain inputs.
    outputs : sequence of str
        Names among those asked for.
    shares : ndarray
        A row per draw.
    conditions : sequence of Expression
        What may hold.

    Returns
    -------
    tuple
        Canonical values per output, over draws and axes, nan where a draw is refused; whether each condition holds,
        along a first axis of conditions; and whether each draw is allowed.
    """
    size = (len(shares), *asked.sizes)
    found = {name: np.empty(size) for name in outputs}
    held = np.zeros((len(conditions), *size), bool)
    allowed = np.empty(size, bool)
    named = tuple((f"condition_{place}", lower(each.sympy)) for place, each in enumerate(conditions))
    function = compiled(asked.varied.binding.system, None, "vector", named) if named else None
    first = 0
    for block in asked.watched(shares):
        rows, count = slice(first, first + len(block)), len(block)
        given = asked.inputs(block)
        allowed[rows] = good = asked.shaped(asked.varied.allowed(given), count)
        if outputs:
            for name, value in asked.varied.values(given).items():
                if name in found:
                    found[name][rows] = np.where(good, asked.shaped(value, count), np.nan)
        if function is not None:
            with np.errstate(all="ignore"):
                at: dict[str, Any] = {**asked.varied.binding.values, **given}
                met = function(at)
            for place, each in enumerate(met.values()):
                held[place, rows] = asked.shaped(np.asarray(each, bool), count) & good
        first += count
    return found, held, allowed


def shares_that_hold(held: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Share of the allowed draws in which each condition holds, over the axes; nan where none is allowed."""
    count = allowed.sum(axis=0)
    return np.where(count > 0, held.sum(axis=1) / np.maximum(count, 1), np.nan)
