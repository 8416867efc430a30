"""Python source of a system, one line per formula, and what Python makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import sympy

from mlsysim.backends import scalar
from mlsysim.backends.guards import guarded
from mlsysim.backends.laws import solved_once
from mlsysim.backends.printer import CodePrinter
from mlsysim.backends.zeros import kept_zero
from mlsysim.errors import FormulaError
from mlsysim.symbolic import System, lower

#: Expressions by name.
Named = tuple[tuple[str, sympy.Basic], ...]


@dataclass(frozen=True)
class SourceCode:
    """A function of inputs by position that returns a list.

    Attributes
    ----------
    inputs, outputs : tuple of str
        Names of the arguments and of what is returned.
    text : str
        Its definition, one line per formula; the function is called ``compiled``.
    code : CodeType
        What Python makes of the text.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    text: str
    code: CodeType

    @classmethod
    def of(cls, inputs: Sequence[str], outputs: Sequence[str], text: str) -> SourceCode:
        """A text, read by Python."""
        return cls(tuple(inputs), tuple(outputs), text, compile(text, "<compiled>", "exec"))

    def function(self, namespace: dict[str, Any]) -> Any:
        """The function, calling what the names stand for in one backend."""
        space = dict(namespace)
        exec(self.code, space)
        return space["compiled"]


def signature_of(part: System, named: Named) -> tuple[list[Any], list[str]]:
    """Symbols of the inputs and names of the outputs of the source of a system, or of expressions of its variables."""
    asked: Any = set().union(*(lower(expression).free_symbols for _, expression in named))
    loose = {symbol for symbol in asked if symbol.name not in part}
    inputs = sorted({v.symbol for v in part.inputs} | loose, key=lambda symbol: symbol.name)
    return inputs, [name for name, _ in named] or [formula.name for formula in part]


def source_of(part: System, named: Named, *, finite: bool) -> SourceCode:
    """Print the source of a system, or of expressions of its variables.

    Parameters
    ----------
    part : System
        Formulas, all of them needed.
    named : tuple of (str, sympy.Basic)
        What is returned instead of the variables, if anything.
    finite : bool
        Whether branches are kept finite under differentiation.

    Raises
    ------
    FormulaError
        If an expression uses a function without a rule, or a variable has the name of a function of compiled code.
    """
    inputs, outputs = signature_of(part, named)
    lines, returned = kept_zero(
        [(formula.variable.symbol, lower(formula.expression)) for formula in part],
        [lower(expression) for _, expression in named],
    )
    lines, returned = solved_once(lines, returned)
    if finite:
        lines = [(symbol, guarded(expression)) for symbol, expression in lines]
    variables: list[Any] = [formula.variable.symbol for formula in part]
    for symbol in (*inputs, *variables):
        if symbol.name in scalar.NAMESPACE:
            raise FormulaError(f"variable {symbol.name!r} has the name of a function that compiled code calls")
    return _defined(inputs, lines, returned or variables, outputs)


def source_of_expression(expression: sympy.Basic, infinite: frozenset[sympy.Symbol]) -> SourceCode:
    """The source of one expression, with what may be infinite in it; it returns a list of one ``value``."""
    lowered = lower(expression)
    inputs = sorted(lowered.free_symbols, key=lambda symbol: symbol.name)  # type: ignore[attr-defined]
    _, returned = kept_zero((), [lowered], infinite)
    return _defined(inputs, [], returned, ["value"])


def _defined(
    inputs: Sequence[Any], lines: Sequence[Any], returned: Sequence[Any], outputs: Sequence[str]
) -> SourceCode:
    say = CodePrinter().doprint
    names = [say(symbol) for symbol in inputs]
    text = [
        f"def compiled({', '.join(names)}):",
        *(f"    {say(symbol)} = {say(expression)}" for symbol, expression in lines),
        f"    return [{', '.join(map(say, returned))}]\n",
    ]
    return SourceCode.of([symbol.name for symbol in inputs], outputs, "\n".join(text))
