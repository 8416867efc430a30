"""A register machine for programs: every instruction is a loop over a block of elements that fits in the cache.

Needs numba, which compiles it once per machine and keeps the result beside this file.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from mlsysim.engine.programs.codes import CODES
from mlsysim.engine.programs.steps import MARGIN

#: Elements of a block.
BLOCK = 256

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
    return min(tables[row + low], tables[row + high - (1 << level) + 1])


@njit(error_model="numpy")
def _greatest(tables, start, width, low, high):
    level = _level(high - low + 1)
    row = start + level * width
    return max(tables[row + low], tables[row + high - (1 << level) + 1])


@njit(error_model="numpy")
def _corners(tables, start, top, bottom, left, right):
    """Places of the four rectangles with sides of powers of two that cover a rectangle."""
    powers, rows, columns = int(tables[start]), int(tables[start + 1]), int(tables[start + 2])
    down, across = _level(bottom - top + 1), _level(right - left + 1)
    begin = start + 3 + (down * powers + across) * rows * columns
    up, low = begin + top * columns, begin + (bottom - (1 << down) + 1) * columns
    edge = right - (1 << across) + 1
    return up + left, up + edge, low + left, low + edge


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


@njit(cache=True, nogil=True, error_model="numpy")
def execute(code, ends, constants, rows, tables, registers, read, given, found, first, last):
    """Run a program on every element.

    Parameters
    ----------
    code : ndarray of int64
        One instruction per row: code, register of the result, four registers that are read, two more numbers.
    ends : ndarray of int64
        Registers of the outputs.
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
    found : ndarray
        Where outputs (rows) of elements (columns) are put.
    first, last : int
        The elements that are computed, the last one not among them.
    """
    register = np.empty((registers + rows.size, BLOCK))
    for row in range(rows.size):
        register[registers + row, :] = rows[row]
    for begin in range(first, last, BLOCK):
        m = min(BLOCK, last - begin)
        for row in read:
            for j in range(m):
                register[row, j] = given[row, begin + j]
        for line in range(code.shape[0]):
            kind = code[line, 0]
            to = register[code[line, 1]]
            x, y = register[code[line, 2]], register[code[line, 3]]
            start, width = code[line, 6], code[line, 7]
            if kind == ADD:
                for j in range(m):
                    to[j] = x[j] + y[j]
            elif kind == SUBTRACT:
                for j in range(m):
                    to[j] = x[j] - y[j]
            elif kind == MULTIPLY:
                for j in range(m):
                    to[j] = x[j] * y[j]
            elif kind == DIVIDE:
                for j in range(m):
                    to[j] = x[j] / y[j]
            elif kind == MAXIMUM:
                for j in range(m):
                    to[j] = x[j] if x[j] >= y[j] or x[j] != x[j] else y[j]
            elif kind == MINIMUM:
                for j in range(m):
                    to[j] = x[j] if x[j] <= y[j] or x[j] != x[j] else y[j]
            elif kind == FMAX:
                for j in range(m):
                    to[j] = x[j] if x[j] >= y[j] or y[j] != y[j] else y[j]
            elif kind == FMIN:
                for j in range(m):
                    to[j] = x[j] if x[j] <= y[j] or y[j] != y[j] else y[j]
            elif kind == POWER:
                for j in range(m):
                    to[j] = x[j] ** y[j]
            elif kind == REMAINDER:
                for j in range(m):
                    to[j] = np.remainder(x[j], y[j])
            elif kind == ABSOLUTE:
                for j in range(m):
                    to[j] = abs(x[j])
            elif kind == NEGATIVE:
                for j in range(m):
                    to[j] = -x[j]
            elif kind == CEIL:
                for j in range(m):
                    to[j] = np.ceil(x[j])
            elif kind == FLOOR:
                for j in range(m):
                    to[j] = np.floor(x[j])
            elif kind == RINT:
                for j in range(m):
                    to[j] = np.rint(x[j])
            elif kind == LOG:
                for j in range(m):
                    to[j] = np.log(x[j])
            elif kind == EXP:
                for j in range(m):
                    to[j] = np.exp(x[j])
            elif kind == SQRT:
                for j in range(m):
                    to[j] = np.sqrt(x[j])
            elif kind == ISNAN:
                for j in range(m):
                    to[j] = 1.0 if x[j] != x[j] else 0.0
            elif kind == ISFINITE:
                for j in range(m):
                    to[j] = 1.0 if abs(x[j]) < np.inf else 0.0
            elif kind == LESS:
                for j in range(m):
                    to[j] = 1.0 if x[j] < y[j] else 0.0
            elif kind == LESS_EQUAL:
                for j in range(m):
                    to[j] = 1.0 if x[j] <= y[j] else 0.0
            elif kind == GREATER:
                for j in range(m):
                    to[j] = 1.0 if x[j] > y[j] else 0.0
            elif kind == GREATER_EQUAL:
                for j in range(m):
                    to[j] = 1.0 if x[j] >= y[j] else 0.0
            elif kind == EQUAL:
                for j in range(m):
                    to[j] = 1.0 if x[j] == y[j] else 0.0
            elif kind == NOT_EQUAL:
                for j in range(m):
                    to[j] = 1.0 if x[j] != y[j] else 0.0
            elif kind == LOGICAL_AND:
                for j in range(m):
                    to[j] = 1.0 if x[j] != 0.0 and y[j] != 0.0 else 0.0
            elif kind == LOGICAL_OR:
                for j in range(m):
                    to[j] = 1.0 if x[j] != 0.0 or y[j] != 0.0 else 0.0
            elif kind == LOGICAL_NOT:
                for j in range(m):
                    to[j] = 0.0 if x[j] != 0.0 else 1.0
            elif kind == WHERE:
                z = register[code[line, 4]]
                for j in range(m):
                    to[j] = y[j] if x[j] != 0.0 else z[j]
            elif kind == PLUS_OUTWARD:
                for j in range(m):
                    to[j] = x[j] + (y[j] - MARGIN * abs(y[j]))
            elif kind == PLUS_OUTWARD_SCALED:
                number = constants[start]
                for j in range(m):
                    to[j] = x[j] + (y[j] * number - MARGIN * abs(y[j] * number))
            elif kind == KNOWN:
                for j in range(m):
                    to[j] = y[j] if x[j] != x[j] else x[j]
            elif kind == INVERTED:
                for j in range(m):
                    to[j] = 1.0 / x[j] if x[j] > 0.0 else y[j]
            elif kind == TIMES_LOW:
                z = register[code[line, 4]]
                w = register[code[line, 5]]
                for j in range(m):
                    to[j] = _low(x[j], y[j], z[j], w[j])
            elif kind == TIMES_HIGH:
                z = register[code[line, 4]]
                w = register[code[line, 5]]
                for j in range(m):
                    to[j] = _high(x[j], y[j], z[j], w[j])
            elif kind == LOOKED_UP:
                for j in range(m):
                    to[j] = tables[start + int(x[j])]
            elif kind == LOOKED_UP_PAIR:
                for j in range(m):
                    to[j] = tables[start + int(x[j]) * width + int(y[j])]
            elif kind == LEAST_OF:
                for j in range(m):
                    to[j] = _least(tables, start, width, int(x[j]), int(y[j]))
            elif kind == GREATEST_OF:
                for j in range(m):
                    to[j] = _greatest(tables, start, width, int(x[j]), int(y[j]))
            elif kind == LEAST_OF_PLANE:
                z = register[code[line, 4]]
                w = register[code[line, 5]]
                for j in range(m):
                    to[j] = _least_of_plane(tables, start, int(x[j]), int(y[j]), int(z[j]), int(w[j]))
            elif kind == GREATEST_OF_PLANE:
                z = register[code[line, 4]]
                w = register[code[line, 5]]
                for j in range(m):
                    to[j] = _greatest_of_plane(tables, start, int(x[j]), int(y[j]), int(z[j]), int(w[j]))
            elif kind == ADD_NUMBER:
                number = constants[start]
                for j in range(m):
                    to[j] = x[j] + number
            elif kind == INVERTED_NUMBER:
                number = constants[start]
                for j in range(m):
                    to[j] = 1.0 / x[j] if x[j] > 0.0 else number
            elif kind == KNOWN_NUMBER:
                number = constants[start]
                for j in range(m):
                    to[j] = number if x[j] != x[j] else x[j]
            elif kind == MAXIMUM_NUMBER:
                number = constants[start]
                for j in range(m):
                    to[j] = x[j] if x[j] >= number or x[j] != x[j] else number
            elif kind == MINIMUM_NUMBER:
                number = constants[start]
                for j in range(m):
                    to[j] = x[j] if x[j] <= number or x[j] != x[j] else number
            elif kind == MULTIPLY_NUMBER:
                number = constants[start]
                for j in range(m):
                    to[j] = x[j] * number
            elif kind == POWER_NUMBER:
                number = constants[start]
                for j in range(m):
                    to[j] = _power(x[j], number)
        for row in range(ends.size):
            found[row, begin : begin + m] = register[ends[row], :m]
