"""Along which axes an objective changes most: where to split a box of which the bounds do not tell.

A bound takes every term at its best, one at one end of an axis and another at the other. So halves of one axis may
have the bound of the whole, until several axes are split. The axes that matter are those along which the objective
itself changes: from one end of the box to the other, at a few points of it (the elementary effects of Morris).
"""

from __future__ import annotations

import numpy as np

from mlsysim.engine.bounds.points import Points

#: Points from which each axis is moved to both of its ends.
FROM = 3


def effects(evaluate: Points, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """By how much the logarithm of the objective differs between the two ends of an axis, on average.

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
    axes, boxes = np.nonzero(high > low)
    place = np.arange(len(axes))
    share = np.random.default_rng(0).random((len(low), FROM, 1))
    start = low[:, None] + (share * (high - low + 1)[:, None]).astype(np.int64)
    points = np.repeat(start[:, :, None, boxes], 2, axis=2)
    points[axes, :, 0, place], points[axes, :, 1, place] = low[axes, boxes][:, None], high[axes, boxes][:, None]
    with np.errstate(all="ignore"):
        size = np.log(np.abs(evaluate.objective(points.reshape(len(low), -1))))
    size = np.where(np.isfinite(size), size, 0.0).reshape(FROM, 2, -1)
    found = np.zeros(low.shape)
    found[axes, boxes] = np.abs(size[:, 0] - size[:, 1]).mean(axis=0)
    return found
