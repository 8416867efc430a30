"""The law of chunked prefill in compiled code: solved once for all that is asked, iterations as a small function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sympy
from sympy.core.symbol import Str
from sympy.logic.boolalg import Boolean

from mlsysim.symbolic import ChunkedPrefill, EvaluatedAt, LeastInteger, Root
from mlsysim.symbolic.exchange import exchanged, rebuilt

Line = tuple[sympy.Symbol, Any]


class SolvedLaw(sympy.Expr):
    """The law of chunked prefill with what is asked of it, outputs and shares; a list of numbers."""

    @classmethod
    def of(cls, law: Sequence[sympy.Basic], asked: Sequence[tuple[str, float]]) -> SolvedLaw:
        """The law of nodes, of which so much is asked."""
        return cls(sympy.Tuple(*(sympy.Tuple(Str(name), sympy.Float(share)) for name, share in asked)), *law)

    @property
    def asked(self) -> tuple[tuple[str, float], ...]:
        """Outputs and shares."""
        return tuple((str(name), float(share)) for name, share in (pair.args for pair in self.args[0].args))  # type: ignore[misc]


class Answer(sympy.Expr):
    """One of the numbers of a law, by its place."""

    @property
    def place(self) -> int:
        """Where it stands."""
        return int(self.args[1])  # type: ignore[arg-type]


def solved_once(lines: Sequence[Line], asked: Sequence[Any] = ()) -> tuple[list[Line], list[Any]]:
    """Formulas in which each law of chunked prefill is solved once, on a line before the first that needs it.

    Parameters
    ----------
    lines : sequence of (sympy.Symbol, sympy.Basic)
        Variables with the lowered expressions that give them, each after those it needs.
    asked : sequence of sympy.Basic
        Further expressions in these variables.
    """
    wanted: dict[tuple[sympy.Basic, ...], dict[tuple[str, float], None]] = {}
    for expression in (*(expression for _, expression in lines), *asked):
        for node in _nodes(expression):
            wanted.setdefault(node.law, {})[node.output, float(node.share)] = None
    if not wanted:
        return list(lines), list(asked)
    symbols = {law: sympy.Dummy("law") for law in wanted}
    places = {law: {each: place for place, each in enumerate(outputs)} for law, outputs in wanted.items()}
    found: list[Line] = []
    ready: set[tuple[sympy.Basic, ...]] = set()

    def answered(expression: Any) -> Any:
        nodes = list(_nodes(expression))
        for law in dict.fromkeys(node.law for node in nodes):
            if law not in ready:
                ready.add(law)
                found.append((symbols[law], SolvedLaw.of(law, list(wanted[law]))))
        swaps: dict[Any, Any] = {
            node: Answer(symbols[node.law], sympy.Integer(places[node.law][node.output, float(node.share)]))
            for node in nodes
        }
        return exchanged(expression, swaps) if swaps else expression

    for symbol, expression in lines:
        line = answered(expression)
        found.append((symbol, line))
    return found, [answered(expression) for expression in asked]


def _nodes(expression: Any) -> Iterator[ChunkedPrefill]:
    """The nodes outside of roots and of what would be elsewhere, where they are solved for other numbers."""
    if isinstance(expression, ChunkedPrefill):
        yield expression
    elif not isinstance(expression, Root | LeastInteger | EvaluatedAt):
        for part in expression.args:
            yield from _nodes(part)


def parted(tau: Any, bound: Sequence[sympy.Basic]) -> tuple[dict[Any, sympy.Dummy], list[Line], Any]:
    """The time of an iteration as a small function: what does not depend on the iteration is put in from outside.

    Parameters
    ----------
    tau : sympy.Basic
        The time.
    bound : sequence of sympy.Basic
        What an iteration consists of.

    Returns
    -------
    dict
        Symbol by expression that does not depend on it.
    list of (sympy.Symbol, sympy.Basic)
        Steps, in these symbols and the bound ones.
    sympy.Basic
        The time, in the symbols of the steps.
    """
    constants: dict[Any, sympy.Dummy] = {}
    steps: list[Line] = []
    moving: set[Any] = set(bound)
    still: dict[Any, Any] = {}

    def fixed(expression: Any) -> Any:
        expression = exchanged(expression, still)
        return expression if expression.is_number else constants.setdefault(expression, sympy.Dummy("k"))

    def small(node: Any) -> Any:
        if isinstance(node, sympy.Expr) and not node.free_symbols & moving:
            return fixed(node)
        if isinstance(node, EvaluatedAt):
            for symbol, step in node.definitions:
                if step.free_symbols & moving:
                    steps.append((symbol, small(step)))
                    moving.add(symbol)
                else:
                    still[symbol] = exchanged(step, still)
            return node.definitions[-1][0]
        if not node.args:
            return node
        if isinstance(node, sympy.Add | sympy.Mul):
            alone = [arg for arg in node.args if not arg.free_symbols & moving]
            rest = [small(arg) for arg in node.args if arg.free_symbols & moving]
            return node.func(*([fixed(node.func(*alone))] if alone else []), *rest)
        args = [small(arg) for arg in node.args]
        unevaluated = isinstance(node, sympy.Piecewise | Boolean)
        return type(node)(*args, evaluate=False) if unevaluated else rebuilt(node, args)  # type: ignore[call-arg]

    return constants, steps, small(tau)
