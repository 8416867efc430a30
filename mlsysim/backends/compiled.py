"""Systems compiled into one function that returns every variable it defines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any, Literal

import numpy as np
import sympy

from mlsysim.backends import arrays, floats, vector
from mlsysim.graph import Graph, lowered
from mlsysim.graph.lowering import Named
from mlsysim.graph.printer import Printer
from mlsysim.symbolic import System

Backend = Literal["numpy", "vector", "jax"]

_ARRAYS = Printer("text")


@dataclass(frozen=True, eq=False)
class CompiledFunction:
    """System, or expressions of its variables, as one function of its inputs; equal if the source is equal.

    Attributes
    ----------
    graph : Graph
        Graph it was printed from.
    source : str
        Generated source, one line per formula and per common subexpression.
    backend : {"numpy", "vector", "jax"}
        Backend it was printed for.
    """

    graph: Graph
    source: str
    backend: Backend

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CompiledFunction) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.source, self.outputs, self.backend

    @property
    def inputs(self) -> tuple[str, ...]:
        """Argument names, in order."""
        return self.graph.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the returned values: every variable of the system, in order of evaluation."""
        return tuple(self.graph.outputs)

    @cached_property
    def _code(self) -> CodeType:
        return compile(self.source, "<compiled>", "exec")

    @cached_property
    def raw(self) -> Any:
        """The function itself: positional canonical values in, list out."""
        return self.on(_namespace(self.backend))

    def on(self, namespace: dict[str, Any]) -> Any:
        """The function itself on another arithmetic of arrays, which a namespace binds its names to."""
        space = dict(namespace)
        exec(self._code, space)
        return space["compiled"]

    def __call__(self, values: Mapping[str, Any]) -> dict[str, Any]:
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
        arguments = [values[name] for name in self.inputs]
        if self.backend == "numpy":
            results: Any = floats.boxed(self.raw(*map(float, arguments)))
        else:
            with np.errstate(all="ignore"):
                results = self.raw(
                    *[np.float64(x) if type(x) is float else np.asarray(x, float)[()] for x in arguments]
                )
        return dict(zip(self.outputs, results, strict=True))


@lru_cache(maxsize=256)
def graph_of(system: System, outputs: tuple[str, ...] | None = None, expressions: Named = ()) -> Graph:
    """Lower a system, or the part of it that some outputs need, to a graph; cached.

    Parameters
    ----------
    system : System
        Formulas.
    outputs : tuple of str, optional
        Lower only nodes that these need; everything by default.
    expressions : tuple of (str, sympy.Basic)
        Names, and the expressions of inputs and variables they stand for. If given, these are the outputs instead of
        the variables.

    Raises
    ------
    FormulaError
        If an expression uses a function without a rule, or a variable has the name of a function that compiled code
        calls.
    """
    if expressions:
        symbols: Any = set().union(*(expression.free_symbols for _, expression in expressions))
        outputs = tuple(sorted({symbol.name for symbol in symbols} & {v.name for v in system.variables}))
    return lowered(system if outputs is None else system.closure(outputs), expressions)


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
    system, outputs, expressions
        As for :func:`graph_of`.
    backend : {"numpy", "vector", "jax"}
        Single numbers, NumPy arrays, or JAX arrays.

    Returns
    -------
    CompiledFunction

    Raises
    ------
    FormulaError
        As :func:`graph_of`.
    """
    return of_graph(graph_of(system, outputs, expressions), backend)


def of_graph(graph: Graph, backend: Backend) -> CompiledFunction:
    """Compile a graph as it is; backends as for :func:`compiled`."""
    printer = floats.PRINTER if backend == "numpy" else _ARRAYS
    return CompiledFunction(graph, printer.function("compiled", graph), backend)


def _namespace(backend: Backend) -> dict[str, Any]:
    if backend == "jax":
        return arrays.namespace()
    return floats.namespace() if backend == "numpy" else vector.NAMESPACE


@lru_cache(maxsize=4096)
def compiled_expression(expression: sympy.Basic, infinite: frozenset[sympy.Symbol] = frozenset()) -> CompiledFunction:
    """Compile one expression, such as a part of a formula or a condition; cached.

    Works on scalars and on NumPy arrays. Beside a factor of zero, ``infinite`` symbols count as zero.
    """
    graph = lowered(System(()), (("value", expression),), frozenset(symbol.name for symbol in infinite))
    return of_graph(graph, "vector")
