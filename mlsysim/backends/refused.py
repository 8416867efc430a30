"""Counts of refused points of a grid, on the few axes that each reason depends on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from mlsysim.backends.compiled import graph_of
from mlsysim.backends.staged import Staged
from mlsysim.symbolic import System

#: Most combinations of axes that are tested together, and if there are more the number drawn at random; most
#: combinations of one reason that are kept.
COUNTED, KEPT = 1 << 21, 1 << 16

#: Lower and upper bound of a number.
Count = tuple[int, int]


@dataclass(frozen=True)
class RefusedBy:
    """Points that one reason refuses.

    Attributes
    ----------
    count : tuple of int
        Bounds of the number of points of the grid that it refuses.
    axes : tuple of int
        Axes it depends on.
    where : ndarray of bool or None
        Mask of the refused combinations of these axes; None if there are too many to keep.
    """

    count: Count
    axes: tuple[int, ...]
    where: np.ndarray | None


class Refusals:
    """Reasons to refuse points of a grid that is never held in memory.

    Parameters
    ----------
    system : System
        Formulas.
    conditions : sequence of sympy Boolean
        Condition of each reason that must hold for a point to be accepted.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
    sizes : sequence of int
        Length of each axis.
    """

    def __init__(
        self,
        system: System,
        conditions: Sequence[sympy.Basic],
        values: Mapping[str, Any],
        sizes: Sequence[int],
    ) -> None:
        self.sizes = tuple(sizes)
        self._tests = [_Test(system, condition, values) for condition in conditions]

    def by_reason(self) -> list[RefusedBy]:
        """Count the points that each reason refuses on its own; a point with two reasons counts for both."""
        counts = []
        for test in self._tests:
            shape = [self.sizes[axis] for axis in test.axes]
            together = math.prod(shape)
            others = math.prod(self.sizes) // together
            low, high = self._accepted([test], test.axes)
            where = None
            if together <= KEPT:
                grid = np.ix_(*map(np.arange, shape))
                where = np.broadcast_to(test(dict(zip(test.axes, grid, strict=True))), shape)
            counts.append(RefusedBy(((together - high) * others, (together - low) * others), test.axes, where))
        return counts

    def accepted(self) -> Count:
        """Bounds of the number of points that no reason refuses.

        Reasons that share no axis are independent of each other, so that their counts multiply.
        """
        if any(test({}).all() for test in self._tests if not test.axes):
            return 0, 0
        least = most = 1
        for axes, tests in self._independent():
            low, high = self._accepted(tests, axes)
            least, most = least * low, most * high
        return least, most

    def _independent(self) -> Iterator[tuple[tuple[int, ...], list[_Test]]]:
        """Groups of axes that no reason connects, each with the reasons that depend on it."""
        groups = [{axis} for axis in range(len(self.sizes))]
        for test in self._tests:
            joined = [group for group in groups if group & set(test.axes)]
            groups = [group for group in groups if group not in joined] + [set().union(*joined)]
        for group in filter(None, groups):
            yield tuple(sorted(group)), [test for test in self._tests if group & set(test.axes)]

    def _accepted(self, tests: Sequence[_Test], axes: Sequence[int]) -> Count:
        """Bounds of the number of combinations of some axes that all of some reasons accept.

        A list of accepted combinations is extended by the axes of one reason after the other. If it would grow too
        long, the combinations left out of it count as possibly accepted.
        """
        places = {axis: self._allowed(axis, tests) for axis in axes}
        waiting, left = [test for test in tests if len(test.axes) != 1], set(axes)

        def volume(of: Iterable[int]) -> int:
            return math.prod(len(places[axis]) for axis in of)

        most = volume(left)
        accepted: dict[int, np.ndarray] = {}
        count = 1
        while waiting:
            test = min(waiting, key=lambda test: volume(left & set(test.axes)))
            waiting.remove(test)
            fresh = sorted(left & set(test.axes))
            left -= set(fresh)
            rows, *drawn = _draw([np.arange(count), *(places[axis] for axis in fresh)])
            grid = np.ix_(rows, *drawn)
            at = {axis: known[grid[0]] for axis, known in accepted.items() if axis in test.axes}
            at |= dict(zip(fresh, grid[1:], strict=True))
            refused = np.broadcast_to(test(at), [len(rows), *map(len, drawn)])
            lost = int(np.count_nonzero(refused))
            if not fresh and not lost:
                continue
            most -= lost * volume(left)
            row, *others = np.nonzero(~refused)
            count, kept = len(row), rows[row]
            accepted = {axis: known[kept] for axis, known in accepted.items()}
            accepted |= {axis: picked[other] for axis, picked, other in zip(fresh, drawn, others, strict=True)}
        return count * volume(left), most

    def _allowed(self, axis: int, tests: Sequence[_Test]) -> np.ndarray:
        """Indices on an axis that no reason refuses by itself."""
        places = np.arange(self.sizes[axis])
        for test in tests:
            if test.axes == (axis,):
                places = places[~np.broadcast_to(test({axis: places}), places.shape)]
        return places


def _draw(axes: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Indices on some axes, all of whose combinations are tested; a random choice if they are too many."""
    random = np.random.default_rng(0)
    wanted = [len(places) for places in axes]
    while math.prod(wanted) > COUNTED:
        largest = wanted.index(max(wanted))
        wanted[largest] = max(1, wanted[largest] // 2)
    return [
        places if some == len(places) else places[np.sort(random.permutation(len(places))[:some])]
        for places, some in zip(axes, wanted, strict=True)
    ]


class _Test:
    """One reason, evaluated at any points of the axes it depends on."""

    def __init__(self, system: System, condition: sympy.Basic, values: Mapping[str, Any]) -> None:
        # Numbers decide cases: a reason depends on the axes that are left.
        stages = Staged(graph_of(system, None, (("accepted", condition),)), values, lambda _shape: False)
        self._function, self._inputs = stages.last, list(stages.evaluated().values())
        swept = {axis: size for array in self._inputs for axis, size in enumerate(array.shape) if size > 1}
        self.axes = tuple(sorted(swept))
        self._sizes = [swept[axis] for axis in self.axes]

    def __call__(self, at: Mapping[int, np.ndarray]) -> np.ndarray:
        """Mask of the refused points, by their index along each axis; the indices broadcast."""
        points = math.prod(np.broadcast_shapes(*(at[axis].shape for axis in self.axes)))
        if points <= 2 * math.prod(self._sizes):
            return self._at(at)
        # So many points repeat combinations of its axes: each is tested once.
        grid = np.ix_(*map(np.arange, self._sizes))
        refused = np.broadcast_to(self._at(dict(zip(self.axes, grid, strict=True))), self._sizes)
        return refused[tuple(at[axis] for axis in self.axes)]

    def _at(self, at: Mapping[int, np.ndarray]) -> np.ndarray:
        with np.errstate(all="ignore"):
            (met,) = self._function.raw(*(_at(array, at) for array in self._inputs))
        return ~np.asarray(met, bool)


def _at(array: np.ndarray, at: Mapping[int, np.ndarray]) -> Any:
    """Elements of an array over some axes, by the index along each."""
    return array[tuple(at[axis] if size > 1 else 0 for axis, size in enumerate(array.shape))]
