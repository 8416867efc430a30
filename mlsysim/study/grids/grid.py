"""A grid that is never held in memory: inputs over its axes, and what is evaluated at every point."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sympy

from mlsysim.backends import OutputSpec, ReasonCode, compiled, evaluate_outputs
from mlsysim.backends.blocks import Region, all_within, shape
from mlsysim.backends.versions import versions
from mlsysim.study.results.notes import element
from mlsysim.study.undefined import refuse_undefined
from mlsysim.study.varied import closure
from mlsysim.symbolic import ChunkedPrefill, System, reason_code

#: Points per block where each solves a Markov chain: seconds, after which there is an estimate and a checkpoint.
CHAINED = 16


@dataclass(frozen=True)
class Grid:
    """Quantities to evaluate at every point of a grid, as one object that can be sent to a worker.

    Attributes
    ----------
    system : System
        Formulas.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
    sizes : tuple of int
        Length of each axis.
    outputs : tuple of OutputSpec
        Outputs to evaluate.
    conditions : tuple of (int, sympy Boolean)
        Code of each reason, with the condition that holds at points it does not refuse.
    reasons : str
        Name of the variable with the codes; empty if there is none.
    defined : bool
        Refuse outputs that are undefined.
    """

    system: System
    values: Mapping[str, Any]
    sizes: tuple[int, ...]
    outputs: tuple[OutputSpec, ...] = ()
    conditions: tuple[tuple[int, sympy.Basic], ...] = ()
    reasons: str = ""
    defined: bool = False

    @property
    def points(self) -> int:
        """Number of points."""
        return math.prod(self.sizes)

    @property
    def required(self) -> list[sympy.Basic]:
        """Conditions that hold at accepted points."""
        return [condition for _, condition in self.conditions]

    @property
    def block_points(self) -> int | None:
        """Most points of a block if each takes long; None if any number will do."""
        wanted = closure(self.system, tuple(output.name for output in self.outputs))
        return CHAINED if _has_chain(wanted) else None

    @property
    def dtypes(self) -> dict[str, np.dtype]:
        """Type of every variable of the data set."""
        dtypes = {output.name: output.dtype for output in self.outputs}
        return dtypes | ({self.reasons: np.dtype(np.int8)} if self.reasons else {})

    def arrays(self, region: Region) -> dict[str, np.ndarray]:
        """Evaluate every variable of the data set in a region; raise if one is undefined and must not be."""
        values = all_within(self._needed, region)
        arrays = evaluate_outputs(
            self.system,
            self.outputs,
            values,
            shape(region),
            reason=ReasonCode(self.reasons, reason_code(self.conditions)) if self.reasons else None,
            whole=self._needed,
        )
        for name, array in arrays.items() if self.defined else ():
            if array.size and array.dtype.kind == "f" and math.isnan(array.min()):
                first = np.unravel_index(int(np.isnan(array).argmax()), array.shape)
                at = {input_name: float(element(np.asarray(value), first)) for input_name, value in values.items()}
                subsystem = closure(self.system, (name,))
                refuse_undefined(subsystem, at, compiled(subsystem)({v.name: at[v.name] for v in subsystem.inputs}))
        return arrays

    @cached_property
    def _needed(self) -> dict[str, Any]:
        names = {symbol.name for _, condition in self.conditions for symbol in condition.free_symbols}  # type: ignore[attr-defined]
        defined = {variable.name for variable in self.system.variables}
        wanted = {output.name for output in self.outputs} | names & defined
        names |= {variable.name for variable in closure(self.system, tuple(sorted(wanted))).inputs}
        return {name: value for name, value in self.values.items() if name in names}

    def fingerprint(self) -> dict[str, str]:
        """Return texts that determine the values of the grid, by part."""
        return {
            "formulas": "\n".join(f"{formula.name} = {formula.expression}" for formula in self.system),
            "inputs": f"{self.sizes}\n{_text_of_values(self.values)}",
            "outputs": f"{self.outputs} {self.reasons}",
            "requirements": "\n".join(f"{code} {condition}" for code, condition in self.conditions),
            "versions": versions(),
        }


@lru_cache(maxsize=256)
def _has_chain(system: System) -> bool:
    """Tell whether a formula solves a Markov chain."""
    return any(formula.expression.has(ChunkedPrefill) for formula in system)


def _text_of_values(values: Mapping[str, Any]) -> str:
    """Digest the inputs of a grid; equal numbers give equal texts."""
    digests = []
    for name in sorted(values):
        array = np.ascontiguousarray(values[name], float)
        digests.append(f"{name} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}")
    return "\n".join(digests)
