"""Interval arithmetic for bounds: sums and products of ranges, rounded outwards, and tables of ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlsysim.graph.operand import OPERATIONS, of_operands
from mlsysim.graph.operation import Operation, define

#: Relative error of a term: tables that differ less count as equal, and sums and products are reordered.
MARGIN = 4e-12

for _name, _function in (("above", np.ceil), ("below", np.floor), ("fmax", np.fmax), ("fmin", np.fmin)):
    OPERATIONS[_function] = _name
#: Exact ceiling and floor; ``ceil`` and ``floor`` of the table allow for the rounding of a quotient.
define(Operation("above", machine="np.ceil({0})", fold=lambda a: float(np.ceil(a))))
define(Operation("below", machine="np.floor({0})", fold=lambda a: float(np.floor(a))))
define(Operation("fmax", machine="{0} if {0} >= {1} or {1} != {1} else {1}", fold=lambda a, b: float(np.fmax(a, b))))
define(Operation("fmin", machine="{0} if {0} <= {1} or {1} != {1} else {1}", fold=lambda a, b: float(np.fmin(a, b))))


def _defined(machine: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Define an operation by its function of arrays and its instruction."""

    def define_it(function: Callable[..., Any]) -> Callable[..., Any]:
        name, table = function.__name__, "tables" in machine

        def fold(*operands: float) -> float:
            with np.errstate(all="ignore"):
                return float(function(*map(np.float64, operands)))

        define(Operation(name, machine=machine, fold=None if table else fold))
        return of_operands(name, function, table=table)

    return define_it


@_defined(f"{{0}} + ({{1}} - {MARGIN} * abs({{1}}))")
def plus_outward(total: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Add a lower bound, moved down by its possible rounding error, to a sum of lower bounds."""
    return total + (least - MARGIN * np.abs(least))


@_defined("{1} if {0} != {0} else {0}")
def known(x: np.ndarray, otherwise: float) -> np.ndarray:
    """Replace nan in an array by a number."""
    return np.where(np.isnan(x), otherwise, x)


@_defined("1.0 / {0} if {0} > 0.0 else {1}")
def inverted(bound: np.ndarray, otherwise: float) -> np.ndarray:
    """Inverse of a bound if it is positive, else another number."""
    with np.errstate(all="ignore"):
        return np.where(bound > 0, 1.0 / bound, otherwise)


@_defined("{1} if {2} != 0.0 and not {1} >= {0} else {0}")
def least_inside(least: np.ndarray, bound: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Lesser of two bounds where the second counts, and the first elsewhere; nan counts as least."""
    return np.where(np.logical_and(inside, ~(bound >= least)), bound, least)


@_defined("times_low({0}, {1}, {2}, {3})")
def times_low(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Lower end of the product of ranges from a to b and from c to d; zero times infinity is zero.

    A zero comes from a mask, which removes any factor.
    """
    end = _times(a, c)
    if not (np.min(a) >= 0 and np.min(c) >= 0):
        lowest = np.minimum(np.minimum(end, _times(b, d)), np.minimum(_times(a, d), _times(b, c)))
        end = np.where((a >= 0) & (c >= 0), end, lowest)
    return known(end, -np.inf)


@_defined("times_high({0}, {1}, {2}, {3})")
def times_high(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Upper end of the product of two ranges; see :func:`times_low`."""
    end = _times(b, d)
    if not (np.min(a) >= 0 and np.min(c) >= 0):
        highest = np.maximum(np.maximum(end, _times(a, c)), np.maximum(_times(a, d), _times(b, c)))
        end = np.where((a >= 0) & (c >= 0), end, highest)
    return known(end, np.inf)


def _times(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    product = x * y
    if np.isnan(np.sum(product)):
        product = np.where((x == 0) | (y == 0), 0.0, product)
    return product


@_defined("tables[at(start + int({0}))]")
def looked_up(table: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Values of a table at some indices."""
    return table[index]


@_defined("tables[at(start + int({0}) * row + int({1}))]")
def looked_up_pair(table: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Values of a two-dimensional table."""
    return table[row, column]


@_defined("least(tables, start, row, int({0}), int({1}))")
def least_of(ladder: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Least value of a stretch, both ends included.

    Parameters
    ----------
    ladder : ndarray
        Sparse table: row n holds the least of every 2**n values from each index on.
    low, high : ndarray
        First and last index.
    """
    level = np.frexp(high - low + 1)[1] - 1
    return np.minimum(ladder[level, low], ladder[level, high - (1 << level) + 1])


@_defined("greatest(tables, start, row, int({0}), int({1}))")
def greatest_of(ladder: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Greatest value of a stretch; see :func:`least_of`."""
    level = np.frexp(high - low + 1)[1] - 1
    return np.maximum(ladder[level, low], ladder[level, high - (1 << level) + 1])


@_defined("least_of_plane(tables, start, int({0}), int({1}), int({2}), int({3}))")
def least_of_plane(ladder: np.ndarray, top: np.ndarray, bottom: np.ndarray, left: np.ndarray, right: np.ndarray) -> Any:
    """Least value of rectangles, all ends included.

    Parameters
    ----------
    ladder : ndarray
        Number of powers of two of the second side, both sides, and then, for each power of two of rows and of columns
        and each index, the least of the rectangle with these sides that begins there.
    top, bottom, left, right : ndarray
        The first and last row, and the first and last column.
    """
    return _of_plane(np.minimum, ladder, top, bottom, left, right)


@_defined("greatest_of_plane(tables, start, int({0}), int({1}), int({2}), int({3}))")
def greatest_of_plane(
    ladder: np.ndarray, top: np.ndarray, bottom: np.ndarray, left: np.ndarray, right: np.ndarray
) -> Any:
    """Greatest value of rectangles; see :func:`least_of_plane`."""
    return _of_plane(np.maximum, ladder, top, bottom, left, right)


def _of_plane(pick: Any, ladder: np.ndarray, top: Any, bottom: Any, left: Any, right: Any) -> Any:
    powers, rows, columns = (int(x) for x in ladder[:3])
    down, across = (np.frexp(last - first + 1)[1] - 1 for first, last in ((top, bottom), (left, right)))
    start = 3 + (down * powers + across) * rows * columns
    up, low = start + top * columns, start + (bottom - (1 << down) + 1) * columns
    edge = right - (1 << across) + 1
    return pick(pick(ladder[up + left], ladder[up + edge]), pick(ladder[low + left], ladder[low + edge]))
