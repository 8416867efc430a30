"""A System compiled into one function that returns every variable it defines."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
import sympy

from mlsysim.engine import arrays, scalar, vector
from mlsysim.engine.guards import guarded
from mlsysim.engine.laws import solved_once
from mlsysim.engine.printer import CodePrinter
from mlsysim.engine.zeros import kept_zero
from mlsysim.errors import FormulaError
from mlsysim.symbolic import System, lower

Backend = Literal["numpy", "vector", "jax"]


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
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    raw: Any

    @cached_property
    def source(self) -> str:
        """The generated source, one line per formula."""
        return inspect.getsource(self.raw).replace("_lambdifygenerated", "compiled", 1)

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
    expressions: tuple[tuple[str, sympy.Basic], ...] = (),
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
    if expressions:
        asked: Any = set().union(*(lower(expression).free_symbols for _, expression in expressions))
        outputs = tuple(sorted({symbol.name for symbol in asked} & {v.name for v in system.variables}))
        loose = {symbol for symbol in asked if symbol.name not in system}
    else:
        loose = set()
    part = system if outputs is None else system.closure(outputs)
    inputs = sorted({v.symbol for v in part.inputs} | loose, key=lambda symbol: symbol.name)
    lines, named = kept_zero(
        [(formula.variable.symbol, lower(formula.expression)) for formula in part],
        [lower(expression) for _, expression in expressions],
    )
    lines, named = solved_once(lines, named)
    if backend == "jax":
        lines = [(symbol, guarded(expression)) for symbol, expression in lines]
    names: list[Any] = [formula.variable.symbol for formula in part]
    for symbol in (*inputs, *names):
        if symbol.name in scalar.NAMESPACE:
            raise FormulaError(f"variable {symbol.name!r} has the name of a function that compiled code calls")

    names = named or names

    def formula_by_formula(_expressions: Any) -> Any:
        return lines, names

    function = sympy.lambdify(
        inputs,
        names,
        modules=[_namespace(backend)],
        printer=CodePrinter,
        cse=formula_by_formula,  # pyright: ignore[reportArgumentType]
        docstring_limit=0,
    )
    returned = tuple(name for name, _ in expressions) or tuple(f.name for f in part)
    return CompiledFunction(tuple(symbol.name for symbol in inputs), returned, function)


def _namespace(backend: Backend) -> dict[str, Any]:
    if backend == "jax":
        return arrays.namespace()
    return scalar.NAMESPACE if backend == "numpy" else vector.NAMESPACE


@lru_cache(maxsize=4096)
def compiled_expression(expression: sympy.Basic, infinite: frozenset[sympy.Symbol] = frozenset()) -> CompiledFunction:
    """Compile one expression, such as a part of a formula or a condition; cached.

    Works on scalars and on NumPy arrays. Beside a factor of zero, ``infinite`` symbols count as zero.
    """
    lowered = lower(expression)
    inputs = sorted(lowered.free_symbols, key=lambda symbol: symbol.name)  # type: ignore[attr-defined]
    _, asked = kept_zero((), [lowered], infinite)
    function = sympy.lambdify(inputs, asked, modules=[vector.NAMESPACE], printer=CodePrinter, docstring_limit=0)
    names = tuple(symbol.name for symbol in inputs)  # type: ignore[attr-defined]
    return CompiledFunction(names, ("value",), function)
