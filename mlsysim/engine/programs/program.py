"""A recorded computation as instructions for the machine: dead code dropped, pairs fused, registers shared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from mlsysim.engine.blocks import cores
from mlsysim.engine.programs.codes import CODES, COMMUTE, NUMBER_LAST, WITH_NUMBER
from mlsysim.engine.programs.recording import Operand, Recorder, UnrecordableError, Value, as_operand

#: Registers that an instruction reads at most, and numbers, places in tables and lengths of rows that it has.
READ, MORE = 4, 2
#: Least elements that a thread is given.
PER_THREAD = 2048


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores())


class Program:
    """What a recorder wrote down, so far as some outputs need it.

    Parameters
    ----------
    recorder : Recorder
        The operations.
    outputs : sequence of Value or float
        What is computed.

    Raises
    ------
    UnrecordableError
        If the machine has no instruction for an operation.
    """

    def __init__(self, recorder: Recorder, outputs: Sequence[Any]) -> None:
        self._operations = recorder.operations
        self._outputs = [as_operand(output) for output in outputs]
        self._inputs = sum(name == "input" for name, _ in self._operations)
        self._needed = self._alive()
        self._numbers, self._filled = _Numbers(), _Numbers()
        self._arrays: list[np.ndarray] = []
        self._starts: dict[int, int] = {}
        self._code = self._assembled()

    def __str__(self) -> str:
        def told(operand: Operand) -> str:
            if isinstance(operand, Value):
                return str(operand.place)
            return "table" if isinstance(operand, np.ndarray) else f"{operand:g}"

        lines = []
        for place in self._needed:
            name, operands = self._operations[place]
            if name != "input":
                lines.append(f"{place} = {name}({', '.join(map(told, operands))})")
        return "\n".join(lines)

    def __len__(self) -> int:
        return len(self._code)

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
        from mlsysim.engine.programs.machine import execute

        count = inputs.shape[1]
        found = np.empty((len(self._ends), count))
        given = np.ascontiguousarray(inputs, np.int64)

        def run(first: int, last: int) -> None:
            execute(
                self._code, self._ends, self._constants, self._rows, self._tables, self._registers, self._read,
                given, found, first, last,
            )  # fmt: skip

        threads = min(cores(), count // PER_THREAD) or 1
        bounds = [count * part // threads for part in range(threads + 1)]
        if threads == 1:
            run(0, count)
        else:
            list(_pool().map(run, bounds[:-1], bounds[1:]))
        return found

    def _alive(self) -> list[int]:
        """The places of the operations that outputs depend on, in order."""
        wanted = {output.place for output in self._outputs if isinstance(output, Value)}
        for place in range(len(self._operations) - 1, -1, -1):
            if place in wanted:
                wanted.update(x.place for x in self._operations[place][1] if isinstance(x, Value))
        return sorted(wanted)

    def _assembled(self) -> np.ndarray:
        """Instructions in order: code, register of the result, and registers that are read, and more."""
        lines = self._fused()
        last = {x.place: line for line, (_, operands, _) in enumerate(lines) for x in operands if isinstance(x, Value)}
        kept = {output.place for output in self._outputs if isinstance(output, Value)}
        # Inputs stay where they are loaded.
        registers = {place: place for place in range(self._inputs)}
        free: list[int] = []
        count, code = self._inputs, []
        for line, (name, operands, place) in enumerate(lines):
            coded, fields = self._fields(name, operands, registers)
            # The result gets no register that is read here: loops over one array and itself are slow.
            if free:
                registers[place] = free.pop()
            else:
                registers[place], count = count, count + 1
            code.append([CODES[coded], registers[place], *fields])
            done = {x.place for x in operands if isinstance(x, Value) and last[x.place] == line}
            free += [registers[place] for place in done if place >= self._inputs and place not in kept]
        ends = [registers[x.place] if isinstance(x, Value) else self._row(x) for x in self._outputs]
        self._constants = np.array([*self._numbers.values, 0.0])
        self._rows = np.array([*self._filled.values, 0.0])
        self._tables = np.concatenate([*self._arrays, np.zeros(1)])
        self._registers = count
        self._read = np.array([place for place in self._needed if place < self._inputs], np.int64)
        self._ends = _rows_after(np.array(ends, np.int64), count)
        return _rows_after(np.array(code, np.int64).reshape(len(code), 2 + READ + MORE), count)

    def _fused(self) -> list[tuple[str, tuple[Operand, ...], int]]:
        """The operations, with a product by a number that is only added up or moved outwards done on the way."""
        uses = Counter(
            operand.place
            for place in self._needed
            for operand in self._operations[place][1]
            if isinstance(operand, Value)
        )
        uses.update(output.place for output in self._outputs if isinstance(output, Value))
        found: dict[int, tuple[str, tuple[Operand, ...], int]] = {}
        for place in self._needed:
            name, operands = self._operations[place]
            if name == "input":
                continue
            if name == "plus_outward" and isinstance(operands[1], Value) and uses[operands[1].place] == 1:
                inner = found.get(operands[1].place)
                if inner is not None and inner[0] == "multiply" and isinstance(inner[1][1], float):
                    del found[operands[1].place]
                    operands = (operands[0], *inner[1])
                    name = "plus_outward_scaled"
            if name in COMMUTE and isinstance(operands[0], float):
                operands = operands[::-1]
            found[place] = (name, operands, place)
        return list(found.values())

    def _fields(self, name: str, operands: tuple[Operand, ...], registers: dict[int, int]) -> tuple[str, list[int]]:
        """The instruction, and its operands as numbers of registers, constants and tables."""
        with_number = isinstance(operands[-1], float) and name in WITH_NUMBER
        coded = f"{name} number" if with_number else name
        if coded not in CODES:
            raise UnrecordableError(name)
        read: list[int] = []
        more: list[int] = []
        for place, operand in enumerate(operands):
            if isinstance(operand, Value):
                read.append(registers[operand.place])
            elif isinstance(operand, np.ndarray):
                more += self._table(operand)
            elif place == len(operands) - 1 and (with_number or name in NUMBER_LAST):
                more.append(self._numbers.place(operand))
            else:
                read.append(self._row(operand))
        return coded, [*read, *[0] * (READ - len(read)), *more, *[0] * (MORE - len(more))]

    def _row(self, number: Any) -> int:
        """A number where a register is read: one that holds it everywhere, after all others."""
        return -1 - self._filled.place(number)

    def _table(self, array: np.ndarray) -> list[int]:
        """Where the values of an array start; and how many a row of it has, if it has rows."""
        if id(array) not in self._starts:
            self._starts[id(array)] = sum(map(len, self._arrays))
            self._arrays.append(np.asarray(array, float).ravel())
        return [self._starts[id(array)], *array.shape[1:]]


class _Numbers:
    """Different numbers, each at its place."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self._places: dict[str, int] = {}

    def place(self, number: Any) -> int:
        key = float(number).hex()
        if key not in self._places:
            self._places[key] = len(self.values)
            self.values.append(float(number))
        return self._places[key]


def _rows_after(fields: np.ndarray, count: int) -> np.ndarray:
    """Negative fields, which count numbers that fill a register, as registers after so many others."""
    return np.where(fields < 0, count - 1 - fields, fields)
