"""Largest whole numbers at which targets hold, for many points at once, if they hold for all smaller numbers."""

from __future__ import annotations

import numpy as np

from mlsysim.study.bisection import bisected
from mlsysim.study.inverse.target_function import Block

#: Above every answer.
LIMIT = 2.0**31


def largest_whole(block: Block, least: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Find, by bisection, the largest whole number per point at which all targets hold.

    Parameters
    ----------
    block : Block
        Points of a grid.
    least : ndarray
        Smallest number of interest, per point.
    columns : ndarray of int
        Points to solve.

    Returns
    -------
    ndarray
        The number per point solved; nan if not even the smallest holds.
    """
    least_holds = block.at(least, columns).all_hold
    largest = np.full(len(columns), np.nan)
    asked = columns[least_holds]
    if len(asked):
        above = np.full(len(asked), LIMIT)
        largest[least_holds], _ = bisected(lambda x: block.at(x, asked).all_hold, least[least_holds], above)
    return largest
