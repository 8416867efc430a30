"""Order of the conditions on inputs when boxes are enumerated: those that leave the fewest points come first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np

from mlsysim.backends.budget import take
from mlsysim.backends.programs.lazily import Lazily
from mlsysim.graph.operand import Operand
from mlsysim.graph.operations.outward import looked_up_pair

#: Values that an axis is taken to have in a small box.
TYPICAL = 4
#: Operations that looking up one input at one point takes.
LOOK_UP = 10
#: Points on which the share that a condition refuses is estimated.
SAMPLE = 1024


class Check(Protocol):
    """Condition on few axes."""

    @property
    def axes(self) -> frozenset[int]:
        """Axes that it depends on."""
        ...

    def accepts(self, points: np.ndarray) -> np.ndarray:
        """Select points (an index per axis in each column) that meet it; the caller counts the operations."""
        ...

    @property
    def operations(self) -> float:
        """Operations per point."""
        ...

    def built(self, places: Sequence[Operand]) -> Operand:
        """Build the condition on operands that are indices along the axes."""
        ...


@dataclass(frozen=True)
class Pairs:
    """Condition on two axes, as a truth table.

    Attributes
    ----------
    first, second : int
        The axes.
    mask : ndarray
        Truth at each pair of their values.
    """

    first: int
    second: int
    mask: np.ndarray

    @property
    def axes(self) -> frozenset[int]:
        """Both axes."""
        return frozenset((self.first, self.second))

    def accepts(self, points: np.ndarray) -> np.ndarray:
        """Select points that meet it."""
        return self.mask[points[self.first], points[self.second]]

    @property
    def operations(self) -> float:
        """Operations per point."""
        return LOOK_UP

    def built(self, places: Sequence[Operand]) -> Operand:
        """Build the condition on operands that are indices along the axes."""
        return looked_up_pair(self.mask, places[self.first], places[self.second])


class Checks:
    """Conjunction of conditions: each tests the points the ones before it left; one program once points are many.

    Parameters
    ----------
    checks : iterable of Check
        The conditions.
    """

    def __init__(self, checks: Iterable[Check]) -> None:
        self._checks = tuple(checks)
        self._operations = sum(check.operations for check in self._checks)
        self._program = Lazily()

    def accepts(self, points: np.ndarray) -> np.ndarray:
        """Select points that meet all conditions."""
        if not self._checks:
            return np.ones(points.shape[1], bool)
        take(self._operations, points.shape[1])
        program = self._program.after(self._built, self._operations, points.shape[1], points.shape[0])
        if program is not None:
            return program(points)[0] != 0
        good = np.ones(points.shape[1], bool)
        for check in self._checks:
            remaining = np.flatnonzero(good)
            good[remaining] = check.accepts(points[:, remaining])
        return good

    def _built(self, places: list[Operand]) -> list[Any]:
        return [reduce(np.logical_and, [check.built(places) for check in self._checks])]


@dataclass(frozen=True)
class Stage:
    """Conditions that can be tested once some more axes are known.

    Attributes
    ----------
    axes : list of int
        Axes that these conditions depend on and those of the stages before do not.
    checks : Checks
        The conditions.
    """

    axes: list[int]
    checks: Checks


def into_stages(checks: Iterable[Check], sizes: tuple[int, ...]) -> tuple[Stage, ...]:
    """Sort conditions into stages, so that each adds few axes for the points it refuses.

    Parameters
    ----------
    checks : iterable of Check
        The conditions.
    sizes : tuple of int
        Values per axis.
    """
    random = np.random.default_rng(0)
    points = np.array([random.integers(0, size, SAMPLE) for size in sizes])
    left = [(check, (1 + check.accepts(points).sum()) / (1 + SAMPLE)) for check in checks]
    known, stages = frozenset[int](), []
    while left:
        best, _ = min(left, key=lambda each: math.log(TYPICAL) * len(each[0].axes - known) + math.log(each[1]))
        new = best.axes - known
        known |= new
        stages.append(Stage(sorted(new), Checks(check for check, _ in left if check.axes <= known)))
        left = [candidate for candidate in left if not candidate[0].axes <= known]
    return tuple(stages)
