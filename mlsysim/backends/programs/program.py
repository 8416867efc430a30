"""A graph as instructions for the machine: pairs fused, registers shared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mlsysim.backends.blocks import cores
from mlsysim.backends.programs.codes import CODES, COMMUTE, NUMBER, PLAIN, SCALED, TURNED, WITH_NUMBER
from mlsysim.graph import Graph
from mlsysim.graph.operand import Array, NoOperationError, Operand, built

#: Registers that an instruction reads at most, and numbers, places in tables and lengths of rows that it has.
READ, MORE = 4, 2
#: Elements of a block; and where one input after another is changed, when many more registers are in use.
BLOCK, VARIED = 256, 128
#: Least instructions, times elements, that a thread is given; and parts per thread where they take unlike times.
PER_THREAD, UNLIKE = 1 << 18, 4

#: The name of an instruction, the places that it reads, its number or array, and the place of its result.
Instruction = tuple[str, tuple[int, ...], Any, int]


class Line(NamedTuple):
    """An instruction, before it is known which registers it uses.

    Attributes
    ----------
    code : int
        See :mod:`~mlsysim.backends.programs.codes`.
    place : int
        Of the result.
    reads : list of int
        Places of what is read; below zero, numbers that fill a register.
    more : list of int
        The other fields of an instruction.
    """

    code: int
    place: int
    reads: list[int]
    more: list[int]


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores())


class Program:
    """A graph that the machine runs.

    Parameters
    ----------
    graph : Graph
        What is computed.
    inputs : sequence of str
        Names of the inputs, in order; the graph need not have all of them.
    changes : sequence of int
        Inputs that :meth:`varied` changes.

    Raises
    ------
    NoOperationError
        If the machine has no instruction for an operation.
    """

    def __init__(self, graph: Graph, inputs: Sequence[str], changes: Sequence[int] = ()) -> None:
        self._graph = graph
        rows = {name: row for row, name in enumerate(inputs)}
        #: Row of each input of the graph, by its place there.
        self._rows_of = {place: rows[node.data] for place, node in enumerate(graph.nodes) if node.op == "input"}
        self._inputs = len(inputs)
        self._changes = np.array(changes, np.int64)
        self._numbers, self._filled = _Numbers(), _Numbers()
        self._arrays: list[np.ndarray] = []
        self._starts: dict[Array, int] = {}
        self._assemble()

    @classmethod
    def written(
        cls, compute: Callable[[list[Operand]], Sequence[Any]], inputs: int, changes: Sequence[int] = ()
    ) -> Program:
        """The program of a computation of so many inputs; see :func:`mlsysim.graph.operand.built`."""
        names = [f"_{row}" for row in range(inputs)]
        return cls(built(compute, names), names, changes)

    def __len__(self) -> int:
        return int(self._parts[1])

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """Run it.

        Parameters
        ----------
        inputs : ndarray of int64
            One row per input, one column per element.

        Returns
        -------
        ndarray
            One row per output.
        """
        count = inputs.shape[1]
        none = np.empty((0, count), np.int64)
        threads = min(cores(), len(self) * count // PER_THREAD) or 1
        return self._run(inputs, none, none.astype(bool), BLOCK, -(-count // threads))[:, 0]

    def varied(self, inputs: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Run it with one input changed after the other: only what depends on the input is computed again.

        Parameters
        ----------
        inputs : ndarray of int64
            One row per input, one column per element.
        values : ndarray of int64
            What the input of each change (rows) becomes in each element (columns).
        wanted : ndarray of bool
            Which changes of which elements are asked for.

        Returns
        -------
        ndarray
            By output, by change after one row for none, and by element; anything where it is not wanted.
        """
        # Elements with the same changes stand together, so that most blocks have few changes.
        dearest = np.argsort(-np.diff(self._parts)[1:], kind="stable")[:62]
        alike = (1 << np.arange(len(dearest))[::-1]) @ wanted[dearest]
        order = np.argsort(alike, kind="stable")
        threads = cores()
        size = -(-inputs.shape[1] // (UNLIKE * threads * VARIED)) * VARIED if threads > 1 else inputs.shape[1]
        found = self._run(inputs[:, order], values[:, order], wanted[:, order], VARIED, size)
        back = np.empty_like(order)
        back[order] = np.arange(order.size)
        return found[:, :, back]

    def _run(self, inputs: np.ndarray, values: np.ndarray, wanted: np.ndarray, width: int, size: int) -> np.ndarray:
        """Run it and its changes on parts of so many elements."""
        from mlsysim.backends.programs.machine import execute

        count = inputs.shape[1]
        parts = self._parts[: 2 + len(values)]
        found = np.empty((len(self._graph.outputs), parts.size - 1, count))
        given, values, wanted = (np.ascontiguousarray(each) for each in (inputs, values, wanted))

        def run(first: int) -> None:
            execute(
                self._code, parts, self._ends, self._constants, self._rows, self._tables, self._registers,
                self._read, given, self._changes, values, wanted, width, found, first, min(first + size, count),
            )  # fmt: skip

        if size >= count:
            run(0)
        else:
            list(_pool().map(run, range(0, count, size)))
        return found

    def _assemble(self) -> None:
        """Make the instructions of the program, and after them those that each change does again."""
        count = len(self._graph.nodes)
        lines = [self._line(*each) for each in self._fused()]
        outputs = [self._read_at(place) for place in self._graph.outputs.values()]
        # Inputs stay where they are loaded; one more register holds the changed input.
        registers = [self._rows_of.get(place, 0) for place in range(count)]
        places = {row: place for place, row in self._rows_of.items()}
        changes = [places.get(change, -1) for change in self._changes.tolist()]
        parts = [lines, *_dependent(lines, changes, count)]
        shared = set(outputs)
        for part in parts[1:]:
            own = {line[1] for line in part}
            shared.update([x for line in part for x in line[2] if x not in own])
        code, count = _allocated(lines, registers, self._inputs + bool(changes), shared)
        starts, most, ends = [0, len(code)], count, [_places(outputs, registers)]
        for change, part in zip(changes, parts[1:], strict=True):
            own = registers.copy()
            if change >= 0:
                own[change] = self._inputs
            more, used = _allocated(part, own, count, set(outputs))
            code += more
            most = max(most, used)
            starts.append(len(code))
            ends.append(_places(outputs, own))
        self._registers = most
        self._parts = np.array(starts)
        self._constants = np.array([*self._numbers.values, 0.0])
        self._rows = np.array([*self._filled.values, 0.0])
        self._tables = np.concatenate([*self._arrays, np.zeros(1)])
        self._read = np.array(sorted(self._rows_of.values()), np.int64)
        self._ends = _rows_after(np.array(ends, np.int64), most)
        self._code = _rows_after(np.array(code, np.int64).reshape(len(code), 2 + READ + MORE), most)

    def _fused(self) -> list[Instruction]:
        """The instructions: those with a number, and products by one that are only moved outwards done on the way."""
        nodes = self._graph.nodes
        uses = Counter([arg for node in nodes for arg in node.args])
        uses.update(self._graph.outputs.values())
        found: dict[int, Instruction] = {}
        for place, (op, args, data) in enumerate(nodes):
            if op in ("input", "number"):
                continue
            if op in TURNED:
                op, args = TURNED[op], args[::-1]
            name, extra = PLAIN.format(op), data
            if op == "plus_outward" and uses[args[1]] == 1 and args[1] in found:
                inner, factor, number, _ = found[args[1]]
                if inner == NUMBER.format("multiply"):
                    del found[args[1]]
                    name, args, extra = SCALED.format(op), (args[0], *factor), number
            elif op in WITH_NUMBER:
                if op in COMMUTE and nodes[args[0]].op == "number":
                    args = args[::-1]
                if nodes[args[-1]].op == "number":
                    name, args, extra = NUMBER.format(op), args[:-1], nodes[args[-1]].data
            found[place] = (name, args, extra, place)
        return list(found.values())

    def _line(self, name: str, args: tuple[int, ...], data: Any, place: int) -> Line:
        if name not in CODES:
            raise NoOperationError(name)
        reads = [self._read_at(arg) for arg in args]
        more = [] if data is None else self._table(data) if isinstance(data, Array) else [self._numbers.place(data)]
        return Line(CODES[name], place, reads, [*[0] * (READ - len(reads)), *more, *[0] * (MORE - len(more))])

    def _read_at(self, place: int) -> int:
        """A place that a register is read for; negative of a number, which has one everywhere, after all others."""
        node = self._graph.nodes[place]
        return -1 - self._filled.place(node.data) if node.op == "number" else place

    def _table(self, array: Array) -> list[int]:
        """Where the values of an array start; and how many a row of it has, if it has rows."""
        if array not in self._starts:
            self._starts[array] = sum(map(len, self._arrays))
            self._arrays.append(np.asarray(array.values, float).ravel())
        return [self._starts[array], *array.values.shape[1:]]


def _dependent(lines: list[Line], changes: list[int], places: int) -> list[list[Line]]:
    """For each of some inputs the instructions whose results depend on it; none is below zero."""
    bit = {place: 1 << at for at, place in enumerate(sorted(set(changes)))}
    depends = [0] * places
    for place in bit.keys() - {-1}:
        depends[place] = bit[place]
    for _, place, reads, _ in lines if changes else ():
        found = 0
        for x in reads:
            if x >= 0:
                found |= depends[x]
        depends[place] = found
    each = [(depends[line[1]], line) for line in lines]
    return [[line for moved, line in each if moved & bit[change]] for change in changes]


def _places(reads: list[int], registers: list[int]) -> list[int]:
    """The registers of places; numbers that fill a register stay negative."""
    return [registers[x] if x >= 0 else x for x in reads]


def _allocated(lines: list[Line], registers: list[int], count: int, kept: set[int]) -> tuple[list[list[int]], int]:
    """Instructions as the machine reads them, and how many registers are in use after them.

    Parameters
    ----------
    lines : list of Line
        What is computed.
    registers : list of int
        The register of each place that is computed before; those of these results are put in.
    count : int
        The first register that is free.
    kept : set of int
        Places whose registers are not used again.
    """
    own = {line[1] for line in lines} - kept
    last = {x: at for at, line in enumerate(lines) for x in line[2]}
    done: list[list[int]] = [[] for _ in lines]
    for x, at in last.items():
        if x in own:
            done[at].append(x)
    free: list[int] = []
    code = []
    for (instruction, place, reads, more), no_more in zip(lines, done, strict=True):
        # The result gets no register that is read here: loops over one array and itself are slow.
        if free:
            register = free.pop()
        else:
            register, count = count, count + 1
        code.append([instruction, register, *[registers[x] if x >= 0 else x for x in reads], *more])
        registers[place] = register
        for x in no_more:
            free.append(registers[x])
    return code, count


class _Numbers:
    """Different numbers, each at its place."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self._places: dict[Any, int] = {}

    def place(self, number: Any) -> int:
        key = number if number and number == number else repr(float(number))
        if key not in self._places:
            self._places[key] = len(self.values)
            self.values.append(float(number))
        return self._places[key]


def _rows_after(fields: np.ndarray, count: int) -> np.ndarray:
    """Negative fields, which count numbers that fill a register, as registers after so many others."""
    return np.where(fields < 0, count - 1 - fields, fields)
