"""Programs that are built once they pay off."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlsysim.backends.budget import CALL
from mlsysim.backends.programs.program import Program
from mlsysim.extras import installed
from mlsysim.graph.operand import NoOperationError, Operand

#: Operations in NumPy after which a program is built; and of the whole process after which the machine is loaded.
BUILDING, LOADING = 1e7, 2e8


@dataclass
class _InNumpy:
    """Operations of this process in NumPy that programs could have done.

    Attributes
    ----------
    operations : float
        As :func:`mlsysim.graph.passes.cost` counts them.
    """

    operations: float = 0.0


_in_numpy = _InNumpy()
_programs = ContextVar("programs", default=True)


@contextmanager
def without_programs() -> Iterator[None]:
    """Build no program inside: everything is computed in NumPy, as a check of a program needs."""
    token = _programs.set(False)
    try:
        yield
    finally:
        _programs.reset(token)


def worthwhile(operations: float, last: float) -> bool:
    """Decide if a program pays off, by the operations that NumPy has spent so far.

    Parameters
    ----------
    operations : float
        As :func:`mlsysim.graph.passes.cost` counts them.
    last : float
        Those since this was last asked. Until the machine is loaded it is all that the process did that counts.
    """
    if not _programs.get():
        return False
    _in_numpy.operations += last
    enough = operations >= BUILDING and (is_loaded() or _in_numpy.operations >= LOADING)
    return enough and installed("numba")


def is_loaded() -> bool:
    """True if the machine is loaded, so that a program runs without waiting for it."""
    return "mlsysim.backends.programs.machine" in sys.modules


#: Function from an operand per input to the outputs.
Compute = Callable[[list[Operand]], list[Any]]


class Lazily:
    """Program that is built after NumPy has done the same for a while, if the machine can run it.

    Parameters
    ----------
    changes : sequence of int
        Inputs that are changed; see :meth:`Program.varied`.
    """

    def __init__(self, changes: Sequence[int] = ()) -> None:
        self._changes = changes
        self._done, self._tried = 0.0, False
        self._program: Program | None = None

    def after(self, compute: Compute, operations: float, elements: int, inputs: int) -> Program | None:
        """Return the program, if there is one by now.

        Parameters
        ----------
        compute : callable
            From an operand per input to the outputs; the same at every call.
        operations : float
            Operations of NumPy per element of the coming call.
        elements : int
            Number of elements.
        inputs : int
            Number of inputs.
        """
        taken = operations * (elements + CALL)
        self._done += taken
        if not self._tried and worthwhile(self._done, taken):
            self._tried, self._program = True, self._built(compute, inputs)
        return self._program

    def _built(self, compute: Compute, inputs: int) -> Program | None:
        try:
            with np.errstate(all="ignore"):
                return Program.written(compute, inputs, self._changes)
        except NoOperationError:
            return None
