"""Elementary effects (Morris): axes along which an objective changes most, to split boxes that bounds do not rank.

A bound takes every term at its best, one at one end of an axis and another at the other. So halves of one axis may have
the bound of the whole box until several axes are split. The axes that matter are those along which the objective itself
changes, from the first and from the last corner of the box to its other end.
"""

from __future__ import annotations

import numpy as np

from mlsysim.bounds.points import Points


def effects(evaluate: Points, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Mean absolute change of the logarithm of the objective along each axis, from two corners of a box.

    Conditions are not looked at: between points that they accept, hardly any two differ along one axis alone.

    Parameters
    ----------
    evaluate : Points
        Evaluates the objective.
    low, high : ndarray
        First and last index per axis (rows) and box (columns).

    Returns
    -------
    ndarray
        A number per axis (rows) and box (columns).
    """
    corners, others = np.concatenate([low, high], axis=1), np.concatenate([high, low], axis=1)
    with np.errstate(all="ignore"):
        size = np.log(np.abs(evaluate.changed(corners, others)))
    size = np.where(np.isfinite(size), size, 0.0)
    change = np.where(corners == others, 0.0, np.abs(size[1:] - size[0]))
    return change.reshape(len(low), 2, -1).mean(axis=1)
