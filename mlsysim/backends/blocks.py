"""Blocks of one size along the leading axes of a grid that is too large for memory."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlsysim.backends.budget import abandon, abandonable
from mlsysim.errors import InputError
from mlsysim.progress import loop

#: Points of a block; one output of so many takes 32 MB.
POINTS = 2**22

Region = tuple[slice, ...]


@dataclass(frozen=True)
class Blocks:
    """Grid as blocks of one size, numbered in C order.

    A block is one index on every axis before ``axis``, a range of ``axis``, and the whole of every axis after it.

    Attributes
    ----------
    sizes : tuple of int
        Length of each axis.
    axis : int
        The axis that is split.
    width : int
        Length of a range along it; the last one may be shorter.
    """

    sizes: tuple[int, ...]
    axis: int
    width: int

    @property
    def ranges(self) -> int:
        """Ranges along the axis that is split."""
        return -(-self.sizes[self.axis] // self.width)

    @property
    def count(self) -> int:
        """Number of blocks."""
        return math.prod(self.sizes[: self.axis]) * self.ranges

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of every block but those at the end of the axis, which may be shorter."""
        return (*[1] * self.axis, self.width, *self.sizes[self.axis + 1 :])

    def region(self, number: int) -> Region:
        """Region of a block in the grid."""
        number, range_index = divmod(number, self.ranges)
        before: list[int] = []
        for size in self.sizes[: self.axis][::-1]:
            number, i = divmod(number, size)
            before.insert(0, i)
        start = range_index * self.width
        part = slice(start, min(start + self.width, self.sizes[self.axis]))
        return (
            *(slice(i, i + 1) for i in before),
            part,
            *(slice(0, n) for n in self.sizes[self.axis + 1 :]),
        )

    def start(self, number: int) -> int:
        """C-order index of the first point of a block; its points follow one another."""
        first = [part.start for part in self.region(number)]
        index = 0
        for first_index, size in zip(first, self.sizes, strict=True):
            index = index * size + first_index
        return index

    def points(self, number: int) -> int:
        """Points of a block."""
        return math.prod(shape(self.region(number)))


def blocks(sizes: Sequence[int], points: int = POINTS) -> Blocks:
    """Split a grid into blocks of at most so many points.

    Parameters
    ----------
    sizes : sequence of int
        Length of each axis.
    points : int
        Most points of a block.

    Returns
    -------
    Blocks
        The same for the same arguments.

    Raises
    ------
    InputError
        If ``points`` is not a whole number of at least one.
    """
    if isinstance(points, bool) or not isinstance(points, int) or points < 1:
        raise InputError("block_points", points, "must be a whole number >= 1")
    sizes = tuple(sizes)
    axis, below = len(sizes) - 1, 1
    while axis > 0 and below * sizes[axis] <= points:
        below *= sizes[axis]
        axis -= 1
    return Blocks(sizes, axis, min(sizes[axis], max(1, points // below)))


def shape(region: Region) -> tuple[int, ...]:
    """Shape of a region."""
    return tuple(part.stop - part.start for part in region)


def within(value: Any, region: Region) -> Any:
    """Part of a value that a region needs; axes along which it does not vary stay as they are."""
    if np.ndim(value) == 0:
        return value
    return value[tuple(part if n > 1 else slice(None) for part, n in zip(region, np.shape(value), strict=True))]


def all_within(values: Mapping[str, Any], region: Region) -> dict[str, Any]:
    """Part of every input that a region needs."""
    return {name: within(value, region) for name, value in values.items()}


def walked(sizes: Sequence[int], points: int, work: Callable[[Region], None], threads: int = 1) -> None:
    """Run a function on a grid at once or, if it has more points than that, block by block.

    Parameters
    ----------
    sizes : sequence of int
        Length of each axis.
    points : int
        Most points of a block.
    work : callable
        Receives each region.
    threads : int
        Blocks worked on at the same time.
    """
    if math.prod(sizes) <= points:
        work(tuple(slice(0, size) for size in sizes))
        return
    split = blocks(sizes, points)
    with loop(split.count) as advance:
        if threads == 1:
            for number in range(split.count):
                work(split.region(number))
                advance(1)
            return
        with ThreadPoolExecutor(threads) as pool, abandonable():
            futures = [pool.submit(copy_context().run, work, split.region(n)) for n in range(split.count)]
            try:
                for future in futures:
                    future.result()
                    advance(1)
            except BaseException:  # an interrupt does not wait for what has not begun
                abandon()
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def cores() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
