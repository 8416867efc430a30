"""A compiled function for grids on which most inputs are the same everywhere: what is the same is computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.backends import vector
from mlsysim.backends.compiled import CompiledFunction
from mlsysim.backends.programs.recording import Operand, Recorder, UnrecordableError
from mlsysim.symbolic import ChunkedPrefill, Root, System

if TYPE_CHECKING:
    from mlsysim.backends.programs.replay import Named, Prepared


class Specialized:
    """Some outputs of a compiled function, with all inputs but some at their values.

    Parameters
    ----------
    function : CompiledFunction
        Of arrays.
    values : mapping
        Canonical value per input: a number, or an array where it differs from point to point.
    outputs : sequence of str
        Which of its outputs.

    Raises
    ------
    UnrecordableError
        If the function does something that cannot be recorded, such as a search for a whole number.
    """

    def __init__(self, function: CompiledFunction, values: Mapping[str, Any], outputs: Sequence[str]) -> None:
        from mlsysim.backends.programs.replay import Replay

        recorder = Recorder()
        sizes = {name: np.size(values[name]) for name in function.inputs}
        self.inputs = [name for name in function.inputs if sizes[name] > 1]
        varied = dict(zip(self.inputs, recorder.inputs(len(self.inputs)), strict=True))
        given = [varied[n] if n in varied else np.float64(np.ravel(values[n])[0]) for n in function.inputs]
        with np.errstate(all="ignore"):
            found = dict(zip(function.outputs, function.raw(*given), strict=True))
        self.outputs = tuple(outputs)
        self._replay = Replay(recorder, [found[name] for name in outputs], vector.root)

    def operations(self, values: Mapping[str, np.ndarray], most: int) -> float:
        """Operations of a point of a grid, once what has at most so many values is done; see :meth:`prepared`."""
        if not self.inputs:
            return self._replay.operations
        return self._replay.operations_on([np.shape(values[name]) for name in self.inputs], most)

    def prepared(self, values: Mapping[str, np.ndarray], most: int) -> Prepared:
        """The outputs at any points of a grid.

        Parameters
        ----------
        values : mapping
            Array per input, with one dimension per axis.
        most : int
            What has at most so many values on the grid is done now.
        """
        return self._replay.prepared([np.asarray(values[name], float) for name in self.inputs], most)

    def split(
        self, values: Mapping[str, np.ndarray], early: Callable[[tuple[int, ...]], bool]
    ) -> tuple[dict[int, Any], list[Named], list[Operand]]:
        """What values of some shapes are, and the operations that are left; see :meth:`~.replay.Replay.split`."""
        return self._replay.split([np.asarray(values[name], float) for name in self.inputs], early)

    @property
    def iterates(self) -> bool:
        """Whether a point takes iterations."""
        return self._replay.iterates

    def __call__(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs.

        Parameters
        ----------
        values : mapping
            Array per input that differs; other names are ignored.
        """
        found = self._replay([np.asarray(values[name], float) for name in self.inputs])
        return dict(zip(self.outputs, found, strict=True))


def specialized(
    function: CompiledFunction, values: Mapping[str, Any], outputs: Sequence[str] | None = None
) -> Specialized | None:
    """A function for a grid; None where it cannot be recorded. See :class:`Specialized`."""
    try:
        return Specialized(function, values, function.outputs if outputs is None else outputs)
    except UnrecordableError:
        return None


def has_roots(system: System, outputs: Sequence[str]) -> bool:
    """Whether outputs, or what they follow from, are roots or latencies of chunked prefill."""
    return any(formula.expression.has(Root, ChunkedPrefill) for formula in system.closure(outputs))
