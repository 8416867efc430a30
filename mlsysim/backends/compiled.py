"""A System compiled into one function that returns every variable it defines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import sympy

from mlsysim.backends import arrays, kept, scalar, vector
from mlsysim.backends.source import Named, SourceCode, signature_of, source_of, source_of_expression
from mlsysim.symbolic import System, lower
from mlsysim.symbolic.fingerprint import fingerprint

Backend = Literal["numpy", "vector", "jax"]

#: Systems of fewer formulas, and fewer expressions, are printed about as soon as they are found.
WORTH_KEEPING = 24


@dataclass(frozen=True, eq=False)
class CompiledFunction:
    """A System, or expressions of its variables, as one function of its inputs.

    Attributes
    ----------
    inputs : tuple of str
        Argument names, in order.
    outputs : tuple of str
        Names of the returned values: every variable of the system, in order of evaluation.
    raw : callable
        The function itself: positional canonical values in, list out.
    source : str
        The generated source, one line per formula.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    raw: Any
    source: str

    def __call__(self, values: Mapping[str, float]) -> dict[str, float]:
        """Evaluate at canonical values: numbers, or arrays that broadcast if the backend takes arrays.

        Parameters
        ----------
        values : mapping
            Canonical value per input name; other names are ignored.

        Returns
        -------
        dict
            Value per output name.
        """
        with np.errstate(all="ignore"):
            given = map(values.__getitem__, self.inputs)
            found = self.raw(*[np.float64(x) if type(x) is float else np.asarray(x, float)[()] for x in given])
        return dict(zip(self.outputs, found, strict=True))


@lru_cache(maxsize=256)
def compiled(
    system: System,
    outputs: tuple[str, ...] | None = None,
    backend: Backend = "numpy",
    expressions: Named = (),
) -> CompiledFunction:
    """Compile a system, or the part of it some outputs need; cached.

    Parameters
    ----------
    system : System
        Formulas to compile.
    outputs : tuple of str, optional
        Compile only what these need; everything by default.
    backend : {"numpy", "vector", "jax"}
        NumPy scalars, NumPy arrays, or JAX arrays (with branches kept finite under differentiation).
    expressions : tuple of (str, sympy.Basic)
        Names, and the expressions of inputs and variables they stand for. If given, these are returned
        instead of the variables.

    Returns
    -------
    CompiledFunction

    Raises
    ------
    FormulaError
        If an expression uses a function without a compilation rule, or a variable has the name of
        a function that compiled code calls.
    """
    source = _source(system, outputs, expressions, backend == "jax")
    return CompiledFunction(source.inputs, source.outputs, source.function(_namespace(backend)), source.text)


@lru_cache(maxsize=256)
def _source(system: System, outputs: tuple[str, ...] | None, expressions: Named, finite: bool) -> SourceCode:
    if expressions:
        asked: Any = set().union(*(lower(expression).free_symbols for _, expression in expressions))
        outputs = tuple(sorted({symbol.name for symbol in asked} & {v.name for v in system.variables}))
    part = system if outputs is None else system.closure(outputs)
    key = _key(part, expressions, finite)
    found = kept.find(key) if key else None
    if found is None or not _answers(found, part, expressions):
        found = source_of(part, expressions, finite=finite)
        if key:
            kept.keep(key, found)
    return found


def _answers(source: SourceCode, part: System, expressions: Named) -> bool:
    """Whether source takes and gives what is asked for, as a file that somebody made may not."""
    inputs, outputs = signature_of(part, expressions)
    return (*source.inputs, *source.outputs) == (*(symbol.name for symbol in inputs), *outputs)


def _key(part: System, expressions: Named, finite: bool) -> str:
    """Under which source is kept; empty where it is not."""
    if len(part) + len(expressions) < WORTH_KEEPING:
        return ""
    nodes = [node for formula in part for node in (formula.variable.symbol, formula.expression)]
    said = fingerprint([*nodes, *(expression for _, expression in expressions)])
    return said and kept.key(said, str(finite), *(name for name, _ in expressions))


def _namespace(backend: Backend) -> dict[str, Any]:
    if backend == "jax":
        return arrays.namespace()
    return scalar.NAMESPACE if backend == "numpy" else vector.NAMESPACE


@lru_cache(maxsize=4096)
def compiled_expression(expression: sympy.Basic, infinite: frozenset[sympy.Symbol] = frozenset()) -> CompiledFunction:
    """Compile one expression, such as a part of a formula or a condition; cached.

    Works on scalars and on NumPy arrays. Beside a factor of zero, ``infinite`` symbols count as zero.
    """
    source = source_of_expression(expression, infinite)
    return CompiledFunction(source.inputs, source.outputs, source.function(vector.NAMESPACE), source.text)
