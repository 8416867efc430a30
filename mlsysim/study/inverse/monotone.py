"""Largest whole numbers at which targets hold, of many points at once, where they hold for all smaller ones."""

from __future__ import annotations

import numpy as np

from mlsysim.study.bisection import bisected
from mlsysim.study.inverse.landscape import Block

#: Above every answer.
LIMIT = 2.0**31


def largest_whole(block: Block, least: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Largest whole number per point at which everything holds, by bisection.

    Parameters
    ----------
    block : Block
        Points of a grid.
    least : ndarray
        Smallest number of interest, per point.
    columns : ndarray of int
        Points that are asked.

    Returns
    -------
    ndarray
        Per point asked; nan where not even the smallest holds.
    """
    holds = block.at(least, columns).true
    found = np.full(len(columns), np.nan)
    asked = columns[holds]
    if len(asked):
        above = np.full(len(asked), LIMIT)
        found[holds], _ = bisected(lambda x: block.at(x, asked).true, least[holds], above)
    return found
