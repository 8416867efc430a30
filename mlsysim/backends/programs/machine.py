"""A register machine for programs: every instruction is a loop over a block of elements that fits in the cache.

Needs numba, which compiles it once per machine and keeps the result beside this file.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from mlsysim.backends.programs.codes import CODES
from mlsysim.backends.programs.steps import MARGIN

ADD = CODES["add"]
SUBTRACT = CODES["subtract"]
MULTIPLY = CODES["multiply"]
DIVIDE = CODES["divide"]
MAXIMUM = CODES["maximum"]
MINIMUM = CODES["minimum"]
FMAX = CODES["fmax"]
FMIN = CODES["fmin"]
POWER = CODES["power"]
REMAINDER = CODES["remainder"]
ABSOLUTE = CODES["absolute"]
NEGATIVE = CODES["negative"]
CEIL = CODES["ceil"]
FLOOR = CODES["floor"]
RINT = CODES["rint"]
LOG = CODES["log"]
EXP = CODES["exp"]
SQRT = CODES["sqrt"]
ISNAN = CODES["isnan"]
ISFINITE = CODES["isfinite"]
LESS = CODES["less"]
LESS_EQUAL = CODES["less_equal"]
GREATER = CODES["greater"]
GREATER_EQUAL = CODES["greater_equal"]
EQUAL = CODES["equal"]
NOT_EQUAL = CODES["not_equal"]
LOGICAL_AND = CODES["logical_and"]
LOGICAL_OR = CODES["logical_or"]
LOGICAL_NOT = CODES["logical_not"]
WHERE = CODES["where"]
PLUS_OUTWARD = CODES["plus_outward"]
PLUS_OUTWARD_SCALED = CODES["plus_outward_scaled"]
KNOWN = CODES["known"]
INVERTED = CODES["inverted"]
LEAST_INSIDE = CODES["least_inside"]
TIMES_LOW = CODES["times_low"]
TIMES_HIGH = CODES["times_high"]
LOOKED_UP = CODES["looked_up"]
LOOKED_UP_PAIR = CODES["looked_up_pair"]
LEAST_OF = CODES["least_of"]
GREATEST_OF = CODES["greatest_of"]
LEAST_OF_PLANE = CODES["least_of_plane"]
GREATEST_OF_PLANE = CODES["greatest_of_plane"]
ADD_NUMBER = CODES["add number"]
INVERTED_NUMBER = CODES["inverted number"]
KNOWN_NUMBER = CODES["known number"]
MAXIMUM_NUMBER = CODES["maximum number"]
MINIMUM_NUMBER = CODES["minimum number"]
MULTIPLY_NUMBER = CODES["multiply number"]
POWER_NUMBER = CODES["power number"]


@njit(inline="always")
def _at(place):
    """A place in an array that is not counted from its end, which would have to be asked for every element."""
    return np.uint64(place)


@njit(inline="always", error_model="numpy")
def _times(x, y):
    return 0.0 if x == 0.0 or y == 0.0 else x * y


@njit(error_model="numpy")
def _low(a, b, c, d):
    found = _times(a, c)
    if not (a >= 0.0 and c >= 0.0):
        found = min(min(found, _times(b, d)), min(_times(a, d), _times(b, c)))
    return -np.inf if found != found else found


@njit(error_model="numpy")
def _high(a, b, c, d):
    found = _times(b, d)
    if not (a >= 0.0 and c >= 0.0):
        found = max(max(found, _times(a, c)), max(_times(a, d), _times(b, c)))
    return np.inf if found != found else found


@njit(error_model="numpy")
def _level(count):
    level = 0
    while count > 1:
        count >>= 1
        level += 1
    return level


@njit(error_model="numpy")
def _least(tables, start, width, low, high):
    level = _level(high - low + 1)
    row = start + level * width
    return min(tables[_at(row + low)], tables[_at(row + high - (1 << level) + 1)])


@njit(error_model="numpy")
def _greatest(tables, start, width, low, high):
    level = _level(high - low + 1)
    row = start + level * width
    return max(tables[_at(row + low)], tables[_at(row + high - (1 << level) + 1)])


@njit(error_model="numpy")
def _corners(tables, start, top, bottom, left, right):
    """Places of the four rectangles with sides of powers of two that cover a rectangle."""
    powers, rows, columns = int(tables[start]), int(tables[start + 1]), int(tables[start + 2])
    down, across = _level(bottom - top + 1), _level(right - left + 1)
    begin = start + 3 + (down * powers + across) * rows * columns
    up, low = begin + top * columns, begin + (bottom - (1 << down) + 1) * columns
    edge = right - (1 << across) + 1
    return _at(up + left), _at(up + edge), _at(low + left), _at(low + edge)


@njit(error_model="numpy")
def _least_of_plane(tables, start, top, bottom, left, right):
    a, b, c, d = _corners(tables, start, top, bottom, left, right)
    return min(min(tables[a], tables[b]), min(tables[c], tables[d]))


@njit(error_model="numpy")
def _greatest_of_plane(tables, start, top, bottom, left, right):
    a, b, c, d = _corners(tables, start, top, bottom, left, right)
    return max(max(tables[a], tables[b]), max(tables[c], tables[d]))


@njit(error_model="numpy")
def _power(x, exponent):
    if exponent == -1.0:
        return 1.0 / x
    if exponent == 2.0:
        return x * x
    if exponent == 0.5:
        return np.sqrt(x)
    return x**exponent


@njit(error_model="numpy")
def _run(code, first, last, constants, tables, register, width, m):
    """Run some instructions on the first elements of a block."""
    for line in range(first, last):
        kind = code[line, 0]
        to = np.uint64(code[line, 1] * width)
        x, y = np.uint64(code[line, 2] * width), np.uint64(code[line, 3] * width)
        start, row = code[line, 6], code[line, 7]
        if kind == ADD:
            for j in range(m):
                register[to + j] = register[x + j] + register[y + j]
        elif kind == SUBTRACT:
            for j in range(m):
                register[to + j] = register[x + j] - register[y + j]
        elif kind == MULTIPLY:
            for j in range(m):
                register[to + j] = register[x + j] * register[y + j]
        elif kind == DIVIDE:
            for j in range(m):
                register[to + j] = register[x + j] / register[y + j]
        elif kind == MAXIMUM:
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = a if a >= b or a != a else b
        elif kind == MINIMUM:
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = a if a <= b or a != a else b
        elif kind == FMAX:
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = a if a >= b or b != b else b
        elif kind == FMIN:
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = a if a <= b or b != b else b
        elif kind == POWER:
            for j in range(m):
                register[to + j] = register[x + j] ** register[y + j]
        elif kind == REMAINDER:
            for j in range(m):
                register[to + j] = np.remainder(register[x + j], register[y + j])
        elif kind == ABSOLUTE:
            for j in range(m):
                register[to + j] = abs(register[x + j])
        elif kind == NEGATIVE:
            for j in range(m):
                register[to + j] = -register[x + j]
        elif kind == CEIL:
            for j in range(m):
                register[to + j] = np.ceil(register[x + j])
        elif kind == FLOOR:
            for j in range(m):
                register[to + j] = np.floor(register[x + j])
        elif kind == RINT:
            for j in range(m):
                register[to + j] = np.rint(register[x + j])
        elif kind == LOG:
            for j in range(m):
                register[to + j] = np.log(register[x + j])
        elif kind == EXP:
            for j in range(m):
                register[to + j] = np.exp(register[x + j])
        elif kind == SQRT:
            for j in range(m):
                register[to + j] = np.sqrt(register[x + j])
        elif kind == ISNAN:
            for j in range(m):
                a = register[x + j]
                register[to + j] = 1.0 if a != a else 0.0
        elif kind == ISFINITE:
            for j in range(m):
                a = register[x + j]
                register[to + j] = 1.0 if abs(a) < np.inf else 0.0
        elif kind == LESS:
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = 1.0 if a < b else 0.0
        elif kind == LESS_EQUAL:
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = 1.0 if a <= b else 0.0
        elif kind == GREATER:
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = 1.0 if a > b else 0.0
        elif kind == GREATER_EQUAL:
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = 1.0 if a >= b else 0.0
        elif kind == EQUAL:
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = 1.0 if a == b else 0.0
        elif kind == NOT_EQUAL:
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = 1.0 if a != b else 0.0
        elif kind == LOGICAL_AND:
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = 1.0 if a != 0.0 and b != 0.0 else 0.0
        elif kind == LOGICAL_OR:
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = 1.0 if a != 0.0 or b != 0.0 else 0.0
        elif kind == LOGICAL_NOT:
            for j in range(m):
                a = register[x + j]
                register[to + j] = 0.0 if a != 0.0 else 1.0
        elif kind == WHERE:
            z = np.uint64(code[line, 4] * width)
            for j in range(m):
                a, b, c = register[x + j], register[y + j], register[z + j]
                register[to + j] = b if a != 0.0 else c
        elif kind == PLUS_OUTWARD:
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = a + (b - MARGIN * abs(b))
        elif kind == PLUS_OUTWARD_SCALED:
            number = constants[start]
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = a + (b * number - MARGIN * abs(b * number))
        elif kind == KNOWN:
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = b if a != a else a
        elif kind == INVERTED:
            for j in range(m):
                a, b = register[x + j], register[y + j]
                register[to + j] = 1.0 / a if a > 0.0 else b
        elif kind == LEAST_INSIDE:
            z = np.uint64(code[line, 4] * width)
            for j in range(m):
                a, b, c = register[x + j], register[y + j], register[z + j]
                register[to + j] = b if c != 0.0 and not b >= a else a
        elif kind == TIMES_LOW:
            z = np.uint64(code[line, 4] * width)
            w = np.uint64(code[line, 5] * width)
            for j in range(m):
                a, b, c, d = register[x + j], register[y + j], register[z + j], register[w + j]
                register[to + j] = _low(a, b, c, d)
        elif kind == TIMES_HIGH:
            z = np.uint64(code[line, 4] * width)
            w = np.uint64(code[line, 5] * width)
            for j in range(m):
                a, b, c, d = register[x + j], register[y + j], register[z + j], register[w + j]
                register[to + j] = _high(a, b, c, d)
        elif kind == LOOKED_UP:
            for j in range(m):
                register[to + j] = tables[_at(start + int(register[x + j]))]
        elif kind == LOOKED_UP_PAIR:
            for j in range(m):
                register[to + j] = tables[_at(start + int(register[x + j]) * row + int(register[y + j]))]
        elif kind == LEAST_OF:
            for j in range(m):
                register[to + j] = _least(tables, start, row, int(register[x + j]), int(register[y + j]))
        elif kind == GREATEST_OF:
            for j in range(m):
                register[to + j] = _greatest(tables, start, row, int(register[x + j]), int(register[y + j]))
        elif kind == LEAST_OF_PLANE:
            z = np.uint64(code[line, 4] * width)
            w = np.uint64(code[line, 5] * width)
            for j in range(m):
                register[to + j] = _least_of_plane(
                    tables,
                    start,
                    int(register[x + j]),
                    int(register[y + j]),
                    int(register[z + j]),
                    int(register[w + j]),
                )
        elif kind == GREATEST_OF_PLANE:
            z = np.uint64(code[line, 4] * width)
            w = np.uint64(code[line, 5] * width)
            for j in range(m):
                register[to + j] = _greatest_of_plane(
                    tables,
                    start,
                    int(register[x + j]),
                    int(register[y + j]),
                    int(register[z + j]),
                    int(register[w + j]),
                )
        elif kind == ADD_NUMBER:
            number = constants[start]
            for j in range(m):
                register[to + j] = register[x + j] + number
        elif kind == INVERTED_NUMBER:
            number = constants[start]
            for j in range(m):
                a = register[x + j]
                register[to + j] = 1.0 / a if a > 0.0 else number
        elif kind == KNOWN_NUMBER:
            number = constants[start]
            for j in range(m):
                a = register[x + j]
                register[to + j] = number if a != a else a
        elif kind == MAXIMUM_NUMBER:
            number = constants[start]
            for j in range(m):
                a = register[x + j]
                register[to + j] = a if a >= number or a != a else number
        elif kind == MINIMUM_NUMBER:
            number = constants[start]
            for j in range(m):
                a = register[x + j]
                register[to + j] = a if a <= number or a != a else number
        elif kind == MULTIPLY_NUMBER:
            number = constants[start]
            for j in range(m):
                register[to + j] = register[x + j] * number
        elif kind == POWER_NUMBER:
            number = constants[start]
            for j in range(m):
                register[to + j] = _power(register[x + j], number)


@njit(cache=True, nogil=True, error_model="numpy")
def execute(
    code,
    parts,
    ends,
    constants,
    rows,
    tables,
    registers,
    read,
    given,
    changed,
    values,
    wanted,
    width,
    found,
    first,
    last,
):
    """Run a program on every element, and again with one input changed: only what depends on that input.

    Parameters
    ----------
    code : ndarray of int64
        One instruction per row: code, register of the result, four registers that are read, two more numbers.
    parts : ndarray of int64
        Where the instructions of the whole program begin, those of each change after them, and where these end.
    ends : ndarray of int64
        Registers of the outputs (columns) of the program and after each change (rows).
    constants : ndarray
        Numbers that instructions have.
    rows : ndarray
        Numbers that fill registers of their own, after all others.
    tables : ndarray
        All tables, one after another.
    registers : int
        How many registers change.
    read : ndarray of int64
        The inputs that are needed.
    given : ndarray of int64
        Inputs (rows) of elements (columns).
    changed : ndarray of int64
        The input of each change.
    values : ndarray of int64
        What that input becomes, by change (rows) and element (columns).
    wanted : ndarray of bool
        Which changes of which elements are asked for.
    width : int
        Elements of a block.
    found : ndarray
        Where outputs are put, by output, by change after one row for none, and by element. What is not wanted may
        be anything.
    first, last : int
        The elements that are computed, the last one not among them.
    """
    register = np.empty((registers + rows.size) * width)
    for row in range(rows.size):
        register[(registers + row) * width : (registers + row + 1) * width] = rows[row]
    for begin in range(first, last, width):
        m = min(width, last - begin)
        for row in read:
            for j in range(m):
                register[row * width + j] = given[row, begin + j]
        for part in range(parts.size - 1):
            if part > 0:
                change = part - 1
                if not wanted[change, begin : begin + m].any():
                    continue
                row = changed[change]
                # A change has the first register after those of the inputs, and may not be wanted everywhere.
                for j in range(m):
                    at = begin + j
                    register[given.shape[0] * width + j] = values[change, at] if wanted[change, at] else given[row, at]
            _run(code, parts[part], parts[part + 1], constants, tables, register, width, np.uint64(m))
            for output in range(ends.shape[1]):
                start = ends[part, output] * width
                found[output, part, begin : begin + m] = register[start : start + m]
