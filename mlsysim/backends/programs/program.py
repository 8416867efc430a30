"""Graphs assembled for the register machine: instructions fused, registers shared."""

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

#: Most registers that an instruction reads, and its fields for numbers, positions in tables and lengths of rows.
READ, MORE = 4, 2
#: Elements of a block; and where one input after another is changed, when many more registers are in use.
BLOCK, VARIED = 256, 128
#: Least instructions, times elements, per thread; and parts per thread if they take unlike times.
PER_THREAD, UNLIKE = 1 << 18, 4

#: Name of an instruction, the nodes that it reads, its number or array, and the node of its result.
Instruction = tuple[str, tuple[int, ...], Any, int]


class Line(NamedTuple):
    """Instruction before register allocation.

    Attributes
    ----------
    code : int
        See :mod:`~mlsysim.backends.programs.codes`.
    result : int
        Node of the result.
    reads : list of int
        Nodes of the operands; below zero, numbers that fill a register.
    more : list of int
        The other fields of an instruction.
    """

    code: int
    result: int
    reads: list[int]
    more: list[int]


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores())


class Program:
    """Graph assembled for the machine.

    Parameters
    ----------
    graph : Graph
        Graph to assemble.
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
        #: Row of each input of the graph, by its node.
        self._rows_of = {index: rows[node.data] for index, node in enumerate(graph.nodes) if node.op == "input"}
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
        """Assemble the program of a computation of so many inputs; see :func:`mlsysim.graph.operand.built`."""
        names = [f"_{row}" for row in range(inputs)]
        return cls(built(compute, names), names, changes)

    def __len__(self) -> int:
        return int(self._starts_of_parts[1])

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """Run the program.

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
        """Run the program with one input changed after the other; only nodes that depend on it are recomputed.

        Parameters
        ----------
        inputs : ndarray of int64
            One row per input, one column per element.
        values : ndarray of int64
            New value of the input of each change (rows) in each element (columns).
        wanted : ndarray of bool
            Mask of the changes (rows) of elements (columns) that are needed.

        Returns
        -------
        ndarray
            Axes: output, change after one row for none, and element. Undefined where not wanted.
        """
        # Elements with the same changes stand together, so that most blocks have few changes.
        dearest = np.argsort(-np.diff(self._starts_of_parts)[1:], kind="stable")[:62]
        pattern = (1 << np.arange(len(dearest))[::-1]) @ wanted[dearest]
        order = np.argsort(pattern, kind="stable")
        threads = cores()
        size = -(-inputs.shape[1] // (UNLIKE * threads * VARIED)) * VARIED if threads > 1 else inputs.shape[1]
        results = self._run(inputs[:, order], values[:, order], wanted[:, order], VARIED, size)
        back = np.empty_like(order)
        back[order] = np.arange(order.size)
        return results[:, :, back]

    def _run(self, inputs: np.ndarray, values: np.ndarray, wanted: np.ndarray, width: int, size: int) -> np.ndarray:
        """Run the program and its changes on parts of so many elements."""
        from mlsysim.backends.programs.machine import execute

        count = inputs.shape[1]
        starts = self._starts_of_parts[: 2 + len(values)]
        results = np.empty((len(self._graph.outputs), starts.size - 1, count))
        elements, values, wanted = (np.ascontiguousarray(array) for array in (inputs, values, wanted))

        def run(first: int) -> None:
            execute(
                self._code, starts, self._ends, self._constants, self._rows, self._tables, self._registers,
                self._read, elements, self._changes, values, wanted, width, results, first, min(first + size, count),
            )  # fmt: skip

        if size >= count:
            run(0)
        else:
            list(_pool().map(run, range(0, count, size)))
        return results

    def _assemble(self) -> None:
        """Assemble the instructions of the program, and after them those that each change repeats."""
        count = len(self._graph.nodes)
        lines = [self._line(*instruction) for instruction in self._fuse()]
        outputs = [self._operand(index) for index in self._graph.outputs.values()]
        # Inputs stay where they are loaded; one more register holds the changed input.
        registers = [self._rows_of.get(index, 0) for index in range(count)]
        node_of_row = {row: index for index, row in self._rows_of.items()}
        changes = [node_of_row.get(change, -1) for change in self._changes.tolist()]
        code_parts = [lines, *_dependent(lines, changes, count)]
        shared = set(outputs)
        for lines_of_part in code_parts[1:]:
            own = {line[1] for line in lines_of_part}
            shared.update([x for line in lines_of_part for x in line[2] if x not in own])
        code, count = _allocate(lines, registers, self._inputs + bool(changes), shared)
        starts, most, ends = [0, len(code)], count, [_registers_of(outputs, registers)]
        for change, lines_of_part in zip(changes, code_parts[1:], strict=True):
            own = registers.copy()
            if change >= 0:
                own[change] = self._inputs
            more, used = _allocate(lines_of_part, own, count, set(outputs))
            code += more
            most = max(most, used)
            starts.append(len(code))
            ends.append(_registers_of(outputs, own))
        self._registers = most
        self._starts_of_parts = np.array(starts)
        self._constants = np.array([*self._numbers.values, 0.0])
        self._rows = np.array([*self._filled.values, 0.0])
        self._tables = np.concatenate([*self._arrays, np.zeros(1)])
        self._read = np.array(sorted(self._rows_of.values()), np.int64)
        self._ends = _rows_after(np.array(ends, np.int64), most)
        self._code = _rows_after(np.array(code, np.int64).reshape(len(code), 2 + READ + MORE), most)

    def _fuse(self) -> list[Instruction]:
        """Fuse numbers into their instructions, and products by a number into outward sums."""
        nodes = self._graph.nodes
        uses = Counter([arg for node in nodes for arg in node.args])
        uses.update(self._graph.outputs.values())
        fused: dict[int, Instruction] = {}
        for index, (op, args, data) in enumerate(nodes):
            if op in ("input", "number"):
                continue
            if op in TURNED:
                op, args = TURNED[op], args[::-1]
            name, extra = PLAIN.format(op), data
            if op == "plus_outward" and uses[args[1]] == 1 and args[1] in fused:
                inner, factor, number, _ = fused[args[1]]
                if inner == NUMBER.format("multiply"):
                    del fused[args[1]]
                    name, args, extra = SCALED.format(op), (args[0], *factor), number
            elif op in WITH_NUMBER:
                if op in COMMUTE and nodes[args[0]].op == "number":
                    args = args[::-1]
                if nodes[args[-1]].op == "number":
                    name, args, extra = NUMBER.format(op), args[:-1], nodes[args[-1]].data
            fused[index] = (name, args, extra, index)
        return list(fused.values())

    def _line(self, name: str, args: tuple[int, ...], data: Any, result: int) -> Line:
        if name not in CODES:
            raise NoOperationError(name)
        reads = [self._operand(arg) for arg in args]
        more = [] if data is None else self._table(data) if isinstance(data, Array) else [self._numbers.index(data)]
        return Line(CODES[name], result, reads, [*[0] * (READ - len(reads)), *more, *[0] * (MORE - len(more))])

    def _operand(self, index: int) -> int:
        """Index that a register is read for; negative for a number, which fills a register after all others."""
        node = self._graph.nodes[index]
        return -1 - self._filled.index(node.data) if node.op == "number" else index

    def _table(self, array: Array) -> list[int]:
        """Start of the values of an array among the tables; and the length of its rows, if it has rows."""
        if array not in self._starts:
            self._starts[array] = sum(map(len, self._arrays))
            self._arrays.append(np.asarray(array.values, float).ravel())
        return [self._starts[array], *array.values.shape[1:]]


def _dependent(lines: list[Line], changes: list[int], node_count: int) -> list[list[Line]]:
    """Instructions that depend on each of some inputs; none for negative indices."""
    bit = {index: 1 << position for position, index in enumerate(sorted(set(changes)))}
    depends = [0] * node_count
    for index in bit.keys() - {-1}:
        depends[index] = bit[index]
    for _, index, reads, _ in lines if changes else ():
        changed_by = 0
        for x in reads:
            if x >= 0:
                changed_by |= depends[x]
        depends[index] = changed_by
    marked = [(depends[line[1]], line) for line in lines]
    return [[line for changed_by_mask, line in marked if changed_by_mask & bit[change]] for change in changes]


def _registers_of(reads: list[int], registers: list[int]) -> list[int]:
    """Registers of nodes; numbers that fill a register stay negative."""
    return [registers[x] if x >= 0 else x for x in reads]


def _allocate(lines: list[Line], registers: list[int], count: int, kept: set[int]) -> tuple[list[list[int]], int]:
    """Allocate registers by live ranges; return instructions as the machine reads them and the registers in use.

    Parameters
    ----------
    lines : list of Line
        Instructions in order.
    registers : list of int
        Register per node that is computed before; registers of these results are added.
    count : int
        First free register.
    kept : set of int
        Nodes that stay live.
    """
    own = {line[1] for line in lines} - kept
    last_use = {x: position for position, line in enumerate(lines) for x in line[2]}
    dying: list[list[int]] = [[] for _ in lines]
    for x, position in last_use.items():
        if x in own:
            dying[position].append(x)
    free: list[int] = []
    code = []
    for (instruction, result, reads, more), dead in zip(lines, dying, strict=True):
        # The result gets no register that is read here: loops over one array and itself are slow.
        if free:
            register = free.pop()
        else:
            register, count = count, count + 1
        code.append([instruction, register, *[registers[x] if x >= 0 else x for x in reads], *more])
        registers[result] = register
        for x in dead:
            free.append(registers[x])
    return code, count


class _Numbers:
    """Interned numbers, by index."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self._registers_of: dict[Any, int] = {}

    def index(self, number: Any) -> int:
        key = number if number and number == number else repr(float(number))
        if key not in self._registers_of:
            self._registers_of[key] = len(self.values)
            self.values.append(float(number))
        return self._registers_of[key]


def _rows_after(fields: np.ndarray, count: int) -> np.ndarray:
    """Renumber negative fields, numbers that fill a register, as registers after so many others."""
    return np.where(fields < 0, count - 1 - fields, fields)
