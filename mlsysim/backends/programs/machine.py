"""Register machine for programs: every instruction is a loop over a block of elements that fits in the cache.

Needs numba, which compiles it once per machine and keeps the result beside this file.
"""

from __future__ import annotations

import re
from zlib import crc32

import numpy as np
from numba import njit

from mlsysim.backends.programs.codes import CODES, EXPRESSIONS
from mlsysim.graph.floats import EPS
from mlsysim.graph.operations.rounding import ROUNDINGS

#: Largest relative distance of a quotient from the whole number it stands for.
WITHIN = ROUNDINGS * EPS


@njit(inline="always")
def at(index):
    """Index as unsigned, so that no element asks if it counts from the end."""
    return np.uint64(index)


@njit(inline="always", error_model="numpy")
def _times(x, y):
    return 0.0 if x == 0.0 or y == 0.0 else x * y


@njit(error_model="numpy")
def times_low(a, b, c, d):
    """Lower end of the product of the ranges from a to b and from c to d."""
    end = _times(a, c)
    if not (a >= 0.0 and c >= 0.0):
        end = min(min(end, _times(b, d)), min(_times(a, d), _times(b, c)))
    return -np.inf if end != end else end


@njit(error_model="numpy")
def times_high(a, b, c, d):
    """Upper end of the product of two ranges."""
    end = _times(b, d)
    if not (a >= 0.0 and c >= 0.0):
        end = max(max(end, _times(a, c)), max(_times(a, d), _times(b, c)))
    return np.inf if end != end else end


@njit(error_model="numpy")
def _level(count):
    level = 0
    while count > 1:
        count >>= 1
        level += 1
    return level


@njit(error_model="numpy")
def least(tables, start, width, low, high):
    """Least value of a stretch, from a sparse table with rows of a width."""
    level = _level(high - low + 1)
    row = start + level * width
    return min(tables[at(row + low)], tables[at(row + high - (1 << level) + 1)])


@njit(error_model="numpy")
def greatest(tables, start, width, low, high):
    """Greatest value of a stretch."""
    level = _level(high - low + 1)
    row = start + level * width
    return max(tables[at(row + low)], tables[at(row + high - (1 << level) + 1)])


@njit(error_model="numpy")
def _corners(tables, start, top, bottom, left, right):
    """Indices of the four rectangles with sides of powers of two that cover a rectangle."""
    powers, rows, columns = int(tables[start]), int(tables[start + 1]), int(tables[start + 2])
    down, across = _level(bottom - top + 1), _level(right - left + 1)
    begin = start + 3 + (down * powers + across) * rows * columns
    up, low = begin + top * columns, begin + (bottom - (1 << down) + 1) * columns
    edge = right - (1 << across) + 1
    return at(up + left), at(up + edge), at(low + left), at(low + edge)


@njit(error_model="numpy")
def least_of_plane(tables, start, top, bottom, left, right):
    """Least value of a rectangle."""
    a, b, c, d = _corners(tables, start, top, bottom, left, right)
    return min(min(tables[a], tables[b]), min(tables[c], tables[d]))


@njit(error_model="numpy")
def greatest_of_plane(tables, start, top, bottom, left, right):
    """Greatest value of a rectangle."""
    a, b, c, d = _corners(tables, start, top, bottom, left, right)
    return max(max(tables[a], tables[b]), max(tables[c], tables[d]))


@njit(error_model="numpy")
def power(x, exponent):
    """Power with a constant exponent, by NumPy's special cases."""
    if exponent == -1.0:
        return 1.0 / x
    if exponent == 2.0:
        return x * x
    if exponent == 0.5:
        return np.sqrt(x)
    return x**exponent


@njit(error_model="numpy")
def lawful(x, y):
    """Product in which zero times infinity is zero."""
    product = x * y
    return 0.0 if product != product and x == x and y == y else product


@njit(error_model="numpy")
def ceil(x):
    """Ceiling; a quotient within rounding of a whole number is that number."""
    nearest = np.rint(x)
    return nearest + (1.0 if x - nearest > WITHIN * abs(x) else 0.0)


@njit(error_model="numpy")
def floor(x):
    """Floor; a quotient within rounding of a whole number is that number."""
    nearest = np.rint(x)
    return nearest - (1.0 if nearest - x > WITHIN * abs(x) else 0.0)


def _source():
    """Source of the function that runs some instructions on the first elements of a block."""
    lines = [
        "def run(code, first, last, constants, tables, register, width, m):",
        "    for line in range(first, last):",
        "        kind, to, start, row = code[line, 0], at(code[line, 1] * width), code[line, 6], code[line, 7]",
    ]
    for name, expression in EXPRESSIONS.items():
        read = [(2 + n, operand) for n, operand in enumerate("abcd") if re.search(rf"\b{operand}\b", expression)]
        lines.append(f"        {'elif' if CODES[name] else 'if'} kind == {CODES[name]}:")
        lines += [f"            at_{operand} = at(code[line, {field}] * width)" for field, operand in read]
        lines += ["            number = constants[start]"] * ("number" in expression)
        lines.append("            for j in range(m):")
        lines += [f"                {operand} = register[at_{operand} + j]" for _, operand in read]
        lines.append(f"                register[to + j] = {expression}")
    return "\n".join(lines)


SOURCE = _source()
_space = dict(globals())
exec(SOURCE, _space)
_run = njit(error_model="numpy")(_space["run"])


def _execute(
    code,
    starts,
    ends,
    constants,
    rows,
    tables,
    registers,
    read,
    elements,
    changed,
    values,
    wanted,
    width,
    results,
    first,
    last,
):
    """Run a program on every element, and again with one input changed: only nodes that depend on that input.

    Parameters
    ----------
    code : ndarray of int64
        One instruction per row: code, register of the result, four registers that are read, two more numbers.
    starts : ndarray of int64
        Start of the instructions of the whole program, of each change after them, and the end of all.
    ends : ndarray of int64
        Registers of the outputs (columns) of the program and after each change (rows).
    constants : ndarray
        Numbers that instructions have.
    rows : ndarray
        Numbers that fill registers of their own, after all others.
    tables : ndarray
        All tables, one after another.
    registers : int
        Number of registers that change.
    read : ndarray of int64
        The inputs that are needed.
    elements : ndarray of int64
        Inputs (rows) of elements (columns).
    changed : ndarray of int64
        The input of each change.
    values : ndarray of int64
        New value of that input, by change (rows) and element (columns).
    wanted : ndarray of bool
        Mask of the changes (rows) of elements (columns) that are needed.
    width : int
        Elements of a block.
    results : ndarray
        Results. Axes: output, change after one row for none, and element. Undefined where not wanted.
    first, last : int
        Range of the elements to compute, the last one excluded.
    """
    register = np.empty((registers + rows.size) * width)
    for row in range(rows.size):
        register[(registers + row) * width : (registers + row + 1) * width] = rows[row]
    for begin in range(first, last, width):
        m = min(width, last - begin)
        for row in read:
            for j in range(m):
                register[row * width + j] = elements[row, begin + j]
        for part in range(starts.size - 1):
            if part > 0:
                change = part - 1
                if not wanted[change, begin : begin + m].any():
                    continue
                row = changed[change]
                # A change has the first register after those of the inputs, and may not be wanted everywhere.
                for j in range(m):
                    at = begin + j
                    register[elements.shape[0] * width + j] = (
                        values[change, at] if wanted[change, at] else elements[row, at]
                    )
            _run(code, starts[part], starts[part + 1], constants, tables, register, width, np.uint64(m))
            for output in range(ends.shape[1]):
                start = ends[part, output] * width
                results[output, part, begin : begin + m] = register[start : start + m]


# Numba caches a function by its name, so other instructions need another name.
_execute.__qualname__ += f"_{crc32(SOURCE.encode()):08x}"
execute = njit(cache=True, nogil=True, error_model="numpy")(_execute)
