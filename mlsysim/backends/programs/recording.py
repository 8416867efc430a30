"""Values that stand for arrays and record what is done with them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, NoReturn

import numpy as np

from mlsysim.backends.programs.codes import TABLE_FIRST

#: What operators of truth values do to floats that stand for them.
LOGIC = {np.bitwise_and: np.logical_and, np.bitwise_or: np.logical_or, np.invert: np.logical_not}


#: Of operations with two operands, the number that changes nothing.
NEUTRAL = {"multiply": 1.0, "logical_and": 1.0, "logical_or": 0.0}
#: Operations whose results may be clipped between numbers.
CLIPS = frozenset({"minimum", "maximum", "where"})


class UnrecordableError(Exception):
    """Something was done that a program has no instruction for."""


class Value(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for an array of floats, or of truth values, in code that is recorded.

    Attributes
    ----------
    place : int
        Its number among all values of its recorder.
    """

    __slots__ = ("_reference", "place")

    def __init__(self, recorder: Recorder, place: int) -> None:
        # A recorder holds its values; were it held by them, it would stay until cycles are collected.
        self._reference, self.place = recorder.reference, place

    @property
    def _recorder(self) -> Recorder:
        recorder = self._reference()
        assert recorder is not None
        return recorder

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            raise UnrecordableError(f"{ufunc.__name__}.{method}")
        return self._recorder.record(ufunc, *inputs)

    def __array_function__(self, function: Any, _types: Any, args: Any, options: Any) -> Any:
        if options:
            raise UnrecordableError(function.__name__)
        return self._recorder.record(function, *args)

    def astype(self, kind: type) -> Value:
        """Itself: truth values are the numbers zero and one."""
        if kind not in (float, bool):
            raise UnrecordableError(f"astype({kind})")
        return self

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise UnrecordableError("an array of values")

    def __bool__(self) -> NoReturn:
        raise UnrecordableError("a branch that depends on data")

    def __hash__(self) -> int:
        return id(self)

    # What bounds do most, without the detour over NumPy.
    def __add__(self, other: Any) -> Any:
        return self._recorder.record(np.add, self, other)

    def __sub__(self, other: Any) -> Any:
        return self._recorder.record(np.subtract, self, other)

    def __mul__(self, other: Any) -> Any:
        return self._recorder.record(np.multiply, self, other)

    def __neg__(self) -> Any:
        return self._recorder.record(np.negative, self)

    def __and__(self, other: Any) -> Any:
        return self._recorder.record(np.logical_and, self, other)

    def __le__(self, other: Any) -> Any:
        return self._recorder.record(np.less_equal, self, other)

    def __ge__(self, other: Any) -> Any:
        return self._recorder.record(np.greater_equal, self, other)


#: An operand: another value, a number, or an array that is looked up.
Operand = Value | float | np.ndarray


class Recorder:
    """Writes down operations on values; equal ones are one.

    Parameters
    ----------
    tabulated : int
        Elements of tables up to which what depends on one place alone is computed at once, for all places, and
        looked up; none by default.

    Attributes
    ----------
    reference : weakref
        To itself, for its values.
    operations : list of tuple
        Name and operands of what made each value; an input has none.
    functions : dict
        What each name does to arrays.
    """

    def __init__(self, tabulated: int = 0) -> None:
        self.reference = weakref.ref(self)
        self.operations: list[tuple[str, tuple[Operand, ...]]] = []
        self.functions: dict[str, Callable[..., Any]] = {}
        self._known: dict[Any, Value] = {}
        self._clipped: set[int] = set()
        self._left = tabulated
        self._tables: dict[int, tuple[Value, np.ndarray]] = {}

    def inputs(self, count: int) -> list[Value]:
        """Values that the program is given.

        Parameters
        ----------
        count : int
            How many; all must be asked for before anything is recorded.
        """
        return [self._value("input", ()) for _ in range(count)]

    def record(self, function: Any, *operands: Any) -> Any:
        """The result of an operation, of which at least one operand is a value.

        Parameters
        ----------
        function : callable
            What it does to arrays; its name is an instruction of :mod:`~mlsysim.backends.programs.machine`.
        *operands : Value, number or ndarray
            What it is applied to.

        Returns
        -------
        Value, float or bool
            A number where the operation has one outcome.
        """
        function = LOGIC.get(function, function)
        name = function.__name__
        plain, key = operands, (name, *[x.place if type(x) is Value else None for x in operands])
        if None in key:
            plain = tuple([x if type(x) is Value else as_operand(x) for x in operands])
            same = _unchanged(name, plain)
            if same is not None:
                return np.float64(same) if type(same) is float else same  # a float of Python refuses to divide by zero
            if name == "multiply" and any(type(x) is float and x == 0 for x in plain) and any(map(self._finite, plain)):
                return np.float64(0.0)
            key = (*key, *[(type(x), _identity(x)) for x in plain if type(x) is not Value])
        found = self._known.get(key)
        if found is None:
            self.functions[name] = function
            table = self._table(name, function, plain)
            found = self._known[key] = self._value(name, plain) if table is None else table
            if name in CLIPS and self._stays_finite(name, plain):
                self._clipped.add(found.place)
        return found

    def _finite(self, operand: Operand) -> bool:
        """Whether it is a value that is clipped between numbers: nothing times it is nothing."""
        return isinstance(operand, Value) and operand.place in self._clipped

    def _stays_finite(self, name: str, operands: tuple[Operand, ...]) -> bool:
        if name == "where":
            return all(self._finite(x) or (type(x) is float and np.isfinite(x)) for x in operands[1:])
        other = "maximum" if name == "minimum" else "minimum"
        values = [x for x in operands if isinstance(x, Value)]
        if len(values) != 1 or len(operands) != 2 or not all(np.isfinite(x) for x in operands if type(x) is float):
            return False
        inner, between = self.operations[values[0].place]
        return inner == other and any(type(x) is float and np.isfinite(x) for x in between)

    def _table(self, name: str, function: Any, operands: tuple[Operand, ...]) -> Value | None:
        """What is looked up in a table at the place at which all its operands are looked up, if it is."""
        if not self._left and name != "looked_up":
            return None
        values = [x for x in operands if isinstance(x, Value)]
        if name == "looked_up" and isinstance(operands[0], np.ndarray):
            return self._looked_up(operands[0], values[0])
        known = [self._tables[x.place] for x in values if x.place in self._tables]
        if len(known) < len(values):
            return None
        place, first = known[0]
        if any(other is not place for other, _ in known) or first.size > self._left:
            return None
        with np.errstate(all="ignore"):
            table = function(*(self._tables[x.place][1] if isinstance(x, Value) else x for x in operands))
        self._left -= first.size
        return self._looked_up(np.asarray(table, float), place)

    def _looked_up(self, table: np.ndarray, place: Value) -> Value:
        found = self._value("looked_up", (table, place))
        self._tables[found.place] = place, table
        return found

    def _value(self, name: str, operands: tuple[Operand, ...]) -> Value:
        self.operations.append((name, operands))
        return Value(self, len(self.operations) - 1)


def recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays that is one instruction, by its name, when it is given a value.

    Parameters
    ----------
    function : callable
        What it does to arrays.
    """

    @wraps(function)
    def either(*operands: Any) -> Any:
        for operand in operands:
            if type(operand) is Value:
                return operand._recorder.record(function, *operands)
        return function(*operands)

    return either


def recorder_of(operands: Iterable[Any]) -> Recorder | None:
    """The recorder of the first value among some operands."""
    for operand in operands:
        if type(operand) is Value:
            return operand._recorder
    return None


def as_operand(given: Any) -> Operand:
    """A value or an array as it is, and what is one number as a float."""
    if type(given) is float or type(given) is Value:
        return given
    if isinstance(given, np.ndarray) and given.size == 1:
        return float(given.ravel()[0])
    return given if isinstance(given, Value | np.ndarray) else float(given)


def _identity(of: Operand) -> Any:
    if isinstance(of, Value):
        return of.place
    if isinstance(of, np.ndarray):
        return id(of)
    # Zeros of either sign are equal, and one over them is not.
    return of if of else repr(of)


def _unchanged(name: str, operands: tuple[Operand, ...]) -> Any:
    """What an operation with a number changes nothing in, or the number that it always gives; else None."""
    if name == "where" and not isinstance(operands[0], Value):
        return operands[1] if operands[0] else operands[2]
    if name in TABLE_FIRST and isinstance(operands[0], float):
        return operands[0]
    neutral = NEUTRAL.get(name)
    if neutral is None:
        return None
    for number, other in (operands, operands[::-1]):
        if isinstance(number, float) and number == neutral:
            return other
        if isinstance(number, float) and name != "multiply" and number == 1.0 - neutral:
            return bool(number)
    return None
