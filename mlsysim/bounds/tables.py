"""Functions of one axis: an array over its values, whose range over any stretch of them is looked up."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mlsysim.graph.operations.outward import greatest_of, greatest_of_plane, least_of, least_of_plane, looked_up

#: Decimal digits to which equal tables agree; the margin of every bound covers the difference.
DIGITS = 13
#: Binary digits of a float that are rounded away for it: of 52, 40 stay, so that tables differ by 9e-13 at most.
SPARE = 12


class Table:
    """Values of a factor along one axis; :class:`Tables` makes equal tables one object.

    Attributes
    ----------
    axis : int
        Number of the axis.
    values : ndarray
        One float per value of the axis.
    """

    __slots__ = ("__dict__", "axis", "number", "values")

    def __init__(self, axis: int, values: np.ndarray, number: int) -> None:
        self.axis = axis
        self.values = values
        self.number = number

    def __str__(self) -> str:
        return f"axis{self.axis}[{', '.join(f'{value:.3g}' for value in self.values)}]"

    @cached_property
    def nonnegative(self) -> bool:
        """True if no value is below zero."""
        return bool((self.values >= 0).all())

    @cached_property
    def finite(self) -> bool:
        """True if all values are finite."""
        return bool(np.isfinite(self.values).all())

    @cached_property
    def has_zero(self) -> bool:
        """True if a value is zero."""
        return not self.values.all()

    @cached_property
    def plain(self) -> bool:
        """True if all values are finite and none is below zero: then ends of products are products of ends."""
        return self.nonnegative and self.finite

    @cached_property
    def _direction(self) -> int:
        steps = np.diff(self.values)
        return 1 if (steps >= 0).all() else -1 if (steps <= 0).all() else 0

    @cached_property
    def _ladder(self) -> tuple[np.ndarray, np.ndarray]:
        """Sparse table for range minima and maxima: one row per power of two; a nan counts as any number."""
        unknown = np.isnan(self.values)
        least, greatest = [np.where(unknown, -np.inf, self.values)], [np.where(unknown, np.inf, self.values)]
        width = 1
        while 2 * width <= len(self.values):
            for rows, pick in ((least, np.minimum), (greatest, np.maximum)):
                row = rows[-1].copy()
                row[: len(row) - width] = pick(row[: len(row) - width], row[width:])
                rows.append(row)
            width *= 2
        return np.array(least), np.array(greatest)

    def range(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest value from index ``low`` to ``high``, both included, element by element."""
        return self.end(low, high, 0), self.end(low, high, 1)

    def end(self, low: np.ndarray, high: np.ndarray, side: int) -> np.ndarray:
        """Least value (side 0) or greatest (side 1) from index ``low`` to ``high``, element by element."""
        if self._direction:
            return looked_up(self.values, low if (self._direction > 0) == (side == 0) else high)
        return (least_of, greatest_of)[side](self._ladder[side], low, high)


class Plane:
    """A function of two axes, whose range over any rectangle is looked up.

    Attributes
    ----------
    axes : tuple of int
        Numbers of the axes.
    values : ndarray
        One row per value of the first axis, one column per value of the second.
    """

    __slots__ = ("__dict__", "axes", "values")

    def __init__(self, axes: tuple[int, int], values: np.ndarray) -> None:
        self.axes, self.values = axes, values

    def __str__(self) -> str:
        return f"plane{self.axes[0]},{self.axes[1]}[{self.values.min():.3g} to {self.values.max():.3g}]"

    @cached_property
    def _ladders(self) -> tuple[np.ndarray, np.ndarray]:
        return _plane_ladder(self.values, np.minimum), _plane_ladder(self.values, np.maximum)

    def end(self, low: Any, high: Any, side: int) -> Any:
        """Least value (side 0) or greatest (side 1) of rectangles that are given by indices of all axes."""
        first, second = self.axes
        rows, columns = (low[first], high[first]), (low[second], high[second])
        return (least_of_plane, greatest_of_plane)[side](self._ladders[side], *rows, *columns)


def _plane_ladder(values: np.ndarray, pick: Any) -> np.ndarray:
    """Sparse table of rectangles with sides of powers of two, behind their count; see :func:`least_of_plane`."""
    down = [values]
    while 2 ** len(down) <= values.shape[0]:
        down.append(_doubled(down[-1], 2 ** (len(down) - 1), pick))
    levels = []
    for rows in down:
        across = [rows.T]
        while 2 ** len(across) <= values.shape[1]:
            across.append(_doubled(across[-1], 2 ** (len(across) - 1), pick))
        levels += [level.T.ravel() for level in across]
    return np.concatenate([[len(levels) // len(down), *values.shape], *levels])


def _doubled(rows: np.ndarray, width: int, pick: Any) -> np.ndarray:
    """Combine the picks of so many rows to those of twice as many; near the end as many as there are."""
    return np.concatenate([pick(rows[:-width], rows[width:]), rows[-width:]])


class Tables:
    """All tables, by content, so that equal ones are one object."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes], Table] = {}
        self._products: dict[tuple[int, int], tuple[float, Table | None]] = {}
        self._powers: dict[tuple[int, float], tuple[float, Table | None]] = {}

    def product(self, left: Table, right: Table) -> tuple[float, Table | None]:
        """A scale and a table whose product is that of two tables of one axis; zero beside what is infinite is zero."""
        key = (left.number, right.number) if left.number < right.number else (right.number, left.number)
        if key not in self._products:
            with np.errstate(all="ignore"):
                values = np.where((left.values == 0) | (right.values == 0), 0.0, left.values * right.values)
            self._products[key] = self.intern(left.axis, values)
        return self._products[key]

    def power(self, of: Table, exponent: float) -> tuple[float, Table | None]:
        """A scale and a table whose product is a power of a table."""
        key = (of.number, exponent)
        if key not in self._powers:
            with np.errstate(all="ignore"):
                self._powers[key] = self.intern(of.axis, of.values**exponent)
        return self._powers[key]

    def intern(self, axis: int, values: np.ndarray) -> tuple[float, Table | None]:
        """A scale and a table with ``scale * table = values``; no table, None, where all values are equal."""
        first = float(values[0])
        if np.isfinite(first) and _same(values, np.full_like(values, first)):
            return first, None
        finite = values[np.isfinite(values)]
        scale = float(np.abs(finite).max()) if len(finite) and np.any(finite != 0) else 1.0
        if not (values > 0).any():
            scale = -scale
        scaled = values / scale + 0.0
        key = (axis, _rounded(scaled).tobytes())
        if key not in self._known:
            self._known[key] = Table(axis, scaled, len(self._known))
        return scale, self._known[key]


def _same(left: np.ndarray, right: np.ndarray) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(np.all((left == right) | (np.abs(left - right) <= 10.0**-DIGITS * np.abs(right))))


def _rounded(values: np.ndarray) -> np.ndarray:
    """The bits of numbers, rounded to those that count."""
    bits = (values + 0.0).view(np.int64)
    return np.where(np.isfinite(values), (bits + (1 << (SPARE - 1))) >> SPARE << SPARE, bits)
