"""Tree of all halvings of a search and the outcome of every leaf, small enough to be saved.

A search halves boxes and drops halves, so the boxes it dropped or enumerated tile the grid. They are the leaves of a
tree in which every inner node is halved along one axis. Level by level, a node takes one byte: the number of that
axis, or the outcome of a leaf. The ends of a box follow from the halvings. No tree leaves a gap or covers a point
twice.

>>> boxes = BranchTree()
>>> for low, high, fate in (((0, 0), (1, 4), BOUND), ((2, 0), (3, 2), EVALUATED), ((2, 3), (3, 4), INFEASIBLE)):
...     boxes.add(np.array([low]).T, np.array([high]).T, fate)
>>> tree = boxes.encode((4, 5))
>>> list(tree)
[0, 255, 1, 253, 254]
>>> low, high, fates = leaves(tree, (4, 5))
>>> low.T.tolist(), high.T.tolist(), fates.tolist()
([[0, 0], [2, 0], [2, 3]], [[1, 4], [3, 2], [3, 4]], [255, 253, 254])
"""

from __future__ import annotations

import math

import numpy as np

#: Outcomes of a box: its bound is no better than the answer, a condition fails all over it, every point of it was
#: evaluated, or it was still open when the time was over. Smaller bytes are axes.
BOUND, INFEASIBLE, EVALUATED, OPEN = 255, 254, 253, 252


class TreeError(ValueError):
    """A tree that does not tile its grid."""


class BranchTree:
    """Boxes that a search is done with, in the order in which it dropped or enumerated them."""

    def __init__(self) -> None:
        self._ends: list[np.ndarray] = []
        self._fates: list[np.ndarray] = []
        self._kept = 0

    def add(self, low: np.ndarray, high: np.ndarray, fate: int | np.ndarray) -> None:
        """Keep some boxes.

        Parameters
        ----------
        low, high : ndarray
            First and last index per axis (rows) and box (columns).
        fate : int or ndarray of int
            Their outcome.
        """
        if low.shape[1]:
            ends = np.stack([low, high])
            self._ends.append(ends.astype(np.uint16 if ends.max() < 1 << 16 else np.int64))
            self._fates.append(np.broadcast_to(np.asarray(fate, np.uint8), low.shape[1:]).copy())

    def halves(
        self,
        low: np.ndarray,
        high: np.ndarray,
        matter: tuple[np.ndarray, np.ndarray],
        empty: tuple[np.ndarray, np.ndarray],
    ) -> None:
        """Keep the dropped halves of boxes, along several axes at once, as tiles that do not overlap.

        Parameters
        ----------
        low, high : ndarray
            First and last index per axis (rows) and box (columns).
        matter : tuple of ndarray of bool
            Left and right halves that stay, by axis and box.
        empty : tuple of ndarray of bool
            Halves all over which a condition fails.
        """
        low, high, gone = low.copy(), high.copy(), np.zeros(low.shape[1], bool)
        for axis in range(low.shape[0]):
            middle = (low[axis] + high[axis]) // 2
            for side, (stays, void) in enumerate(zip(matter, empty, strict=True)):
                cut = np.flatnonzero(~stays[axis] & ~gone)
                ends = low[:, cut], high[:, cut]
                ends[1 - side][axis] = middle[cut] + side
                self.add(*ends, np.where(void[axis, cut], INFEASIBLE, BOUND))
            left, right = matter[0][axis], matter[1][axis]
            low[axis] = np.where(left, low[axis], middle + 1)
            high[axis] = np.where(right, high[axis], middle)
            gone |= ~left & ~right

    def commit(self) -> None:
        """Make the boxes added so far permanent."""
        self._kept = len(self._fates)

    def rollback(self) -> None:
        """Forget the boxes that were added since the last commit."""
        del self._ends[self._kept :], self._fates[self._kept :]

    def encode(self, sizes: tuple[int, ...]) -> bytes:
        """Encode the tree whose leaves these boxes are, one byte per node.

        Parameters
        ----------
        sizes : tuple of int
            Length of each axis of the grid.

        Raises
        ------
        TreeError
            If they do not tile the grid by halvings.
        """
        if not self._fates:
            raise TreeError("no box was kept")
        low, high = (np.concatenate([ends[side] for ends in self._ends], axis=1).astype(np.int64) for side in (0, 1))
        fates = np.concatenate(self._fates)
        # The boxes of a node stand together; a node is where they begin, and its own ends.
        starts, node_low, node_high = np.zeros(1, np.int64), *_whole(sizes)
        levels = []
        while starts.size:
            counts = np.diff(np.append(starts, fates.size))
            owner = np.repeat(np.arange(starts.size), counts)
            other = (low[:, starts] != node_low) | (high[:, starts] != node_high)
            split: np.ndarray = np.logical_or.reduce(other, axis=0)
            middle = (node_low + node_high) // 2
            across = (low <= middle[:, owner]) & (high > middle[:, owner])
            free = ~np.logical_or.reduceat(across, starts, axis=1) & (node_high > node_low)
            if (~split & (counts > 1)).any() or not np.logical_or.reduce(free, axis=0)[split].all():
                raise TreeError("the boxes do not tile the grid by halvings")
            axis = free.argmax(axis=0)
            levels.append(np.where(split, axis, fates[starts]).astype(np.uint8))
            boxes = np.flatnonzero(split[owner])
            rank = np.cumsum(split) - 1
            right = low[axis[owner[boxes]], boxes] > middle[axis[owner[boxes]], owner[boxes]]
            child = 2 * rank[owner[boxes]] + right
            order = np.argsort(child, kind="stable")
            low, high, fates = low[:, boxes][:, order], high[:, boxes][:, order], fates[boxes][order]
            starts = np.searchsorted(child[order], np.arange(2 * int(split.sum())))
            if np.bincount(child, minlength=starts.size).min(initial=1) == 0:
                raise TreeError("the boxes do not tile the grid by halvings")
            node_low, node_high = _halved(node_low[:, split], node_high[:, split], axis[split])
        return np.concatenate(levels).tobytes()


def leaves(tree: bytes, sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Decode a tree into the boxes that are its leaves.

    Parameters
    ----------
    tree : bytes
        As :meth:`BranchTree.encode` gives it.
    sizes : tuple of int
        Length of each axis of the grid.

    Returns
    -------
    low, high : ndarray
        First and last index per axis (rows) and box (columns).
    fates : ndarray of int
        Outcome of every box.

    Raises
    ------
    TreeError
        If it is none: it ends early or late, or halves what cannot be halved.
    """
    codes, at = np.frombuffer(tree, np.uint8), 0
    low, high = _whole(sizes)
    levels: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    while low.shape[1]:
        level = codes[at : at + low.shape[1]]
        if level.size < low.shape[1]:
            raise TreeError(f"the tree ends after {codes.size:,} nodes, where boxes are missing")
        split = level < OPEN
        axis = level[split].astype(np.int64)
        wrong = axis >= len(sizes)
        if not wrong.any():
            columns = np.flatnonzero(split)
            wrong = high[axis, columns] == low[axis, columns]
        if wrong.any():
            node = at + np.flatnonzero(split)[np.argmax(wrong)]
            raise TreeError(f"node {node:,} of the tree halves a box along axis {codes[node]}, which it cannot")
        levels.append((low[:, ~split], high[:, ~split], level[~split]))
        at += level.size
        low, high = _halved(low[:, split], high[:, split], axis)
    if at < codes.size:
        raise TreeError(f"the tree has {codes.size - at:,} nodes more than its halvings ask for")
    low, high, fates = (np.concatenate(parts, axis=-1) for parts in zip(*levels, strict=True))
    return low, high, fates


def volumes(low: np.ndarray, high: np.ndarray) -> list[int]:
    """Number of points of every box, exactly."""
    return [math.prod(column) for column in (high - low + 1).T.tolist()]


def _whole(sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    last = np.array(sizes, dtype=np.int64)[:, None] - 1
    return np.zeros_like(last), last


def _halved(low: np.ndarray, high: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both halves of every box along one axis each, side by side."""
    columns = np.arange(axis.size)
    middle = (low[axis, columns] + high[axis, columns]) // 2
    lows, highs = np.repeat(low, 2, axis=1), np.repeat(high, 2, axis=1)
    highs[axis, 2 * columns], lows[axis, 2 * columns + 1] = middle, middle + 1
    return lows, highs
