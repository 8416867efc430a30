"""Operands: nodes under Python's operators and NumPy's functions, to build a graph by writing arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NoReturn

import numpy as np

from mlsysim.graph.builder import Builder
from mlsysim.graph.graph import Graph

#: Operation of each function of NumPy; operators of truth values have the names of those of bits.
OPERATIONS: dict[Any, str] = {
    np.add: "add", np.subtract: "subtract", np.multiply: "multiply", np.divide: "divide", np.negative: "negative",
    np.power: "power", np.absolute: "absolute", np.sqrt: "sqrt", np.exp: "exp", np.log: "log", np.remainder: "mod",
    np.maximum: "maximum", np.minimum: "minimum", np.where: "where", np.less: "less", np.less_equal: "less_equal",
    np.greater: "greater", np.greater_equal: "greater_equal", np.equal: "equal", np.not_equal: "not_equal",
    np.bitwise_and: "both", np.logical_and: "both", np.bitwise_or: "either", np.logical_or: "either",
    np.invert: "negation", np.logical_not: "negation",
}  # fmt: skip


class NoOperationError(Exception):
    """Error that something done to an operand is no operation of a graph, or of the backend that runs it."""


def _operator(op: str) -> Callable[..., Any]:
    """Operation without the detour over NumPy."""
    return lambda self, *operands: self.make(op, self, *operands)


class Operand(np.lib.mixins.NDArrayOperatorsMixin):
    """Node under construction, for code that is written for arrays.

    Attributes
    ----------
    builder : Builder
        Builder of the graph.
    index : int
        Index of the node.
    """

    __slots__ = ("builder", "index")

    def __init__(self, builder: Builder, index: int) -> None:
        self.builder, self.index = builder, index

    def make(self, op: str, *operands: Any, data: Any = None) -> Operand:
        """Build an operation on operands, numbers and arrays of one number."""
        builder = self.builder
        return Operand(builder, builder.make(op, *[_index_of(builder, operand) for operand in operands], data=data))

    __add__, __sub__, __mul__, __neg__ = map(_operator, ("add", "subtract", "multiply", "negative"))
    __and__, __le__, __ge__ = map(_operator, ("both", "less_equal", "greater_equal"))

    def _result(self, function: Any, operands: Sequence[Any], options: Any) -> Operand:
        if options or function not in OPERATIONS:
            raise NoOperationError(function.__name__)
        return self.make(OPERATIONS[function], *operands)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Operand:
        return self._result(ufunc if method == "__call__" else getattr(ufunc, method), operands, options)

    def __array_function__(self, function: Any, _types: Any, operands: Any, options: Any) -> Operand:
        return self._result(function, operands, options)

    def astype(self, kind: type) -> Operand:
        """Return the operand itself: truth values are the numbers zero and one."""
        if kind not in (float, bool):
            raise NoOperationError(f"astype({kind})")
        return self

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise NoOperationError("an array of operands")

    def __bool__(self) -> NoReturn:
        raise NoOperationError("a branch that depends on data")

    def __hash__(self) -> int:
        return id(self)


def _index_of(builder: Builder, operand: Any) -> int:
    if type(operand) is Operand:
        return operand.index
    value = operand.item() if isinstance(operand, np.ndarray | np.generic) else operand
    return builder.number(value if type(value) is bool else float(value))


def built(compute: Callable[[list[Operand]], Sequence[Any]], inputs: Sequence[str]) -> Graph:
    """Trace a computation into a graph, whose outputs are numbered.

    Parameters
    ----------
    compute : callable
        Function from an operand per input to operands and numbers.
    inputs : sequence of str
        Names.

    Raises
    ------
    NoOperationError
        If it applies something to operands that is no operation.
    """
    builder = Builder()
    outputs = compute([Operand(builder, builder.input(name)) for name in inputs])
    return builder.graph({str(index): _index_of(builder, output) for index, output in enumerate(outputs)})


def of_operands(name: str, function: Callable[..., Any], *, table: bool = False) -> Callable[..., Any]:
    """Overload a function of arrays: on an operand it is one operation.

    Parameters
    ----------
    name : str
        Name of the operation.
    function : callable
        Function of arrays.
    table : bool, optional
        True if the first argument is a lookup table: the data of the node.
    """

    @wraps(function)
    def either(*operands: Any) -> Any:
        for operand in operands:
            if type(operand) is Operand:
                if table:
                    return operand.make(name, *operands[1:], data=Array(operands[0]))
                return operand.make(name, *operands)
        return function(*operands)

    return either


class Array:
    """Array as the data of a node: equal to none but itself.

    Attributes
    ----------
    values : ndarray
        The array.
    """

    __slots__ = ("values",)

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Array) and other.values is self.values

    def __hash__(self) -> int:
        return id(self.values)
