"""Constants of an expression that carry a unit."""

from __future__ import annotations

from typing import Any

import sympy

from mlsysim.symbolic.constants import UnitSymbol
from mlsysim.symbolic.functions import printed_parts
from mlsysim.units import COUNTABLE, dimension


def constants(expression: sympy.Basic) -> tuple[str, ...]:
    """List the constants of an expression that carry a unit, each once: ``("34 byte/token",)``.

    Bare counting units (one token, one request) convert a count and are left out.
    """
    amounts: list[str] = []

    def visit(node: sympy.Basic) -> None:
        if isinstance(node, sympy.Mul | sympy.Pow | UnitSymbol):
            number, rest = node.as_coeff_Mul()  # type: ignore[union-attr]
            powers = [(p.base.name, p.exp) if p.is_Pow else (p.name, 1) for p in _factors(rest) if _is_unit(p)]
            if any(not set(dimension(name)) <= COUNTABLE for name, _ in powers):
                if all(exponent < 0 for _, exponent in powers):
                    number, powers = 1 / number, [(name, -exponent) for name, exponent in powers]
                amounts.append(f"{number} {_unit_text(powers)}")
            for part in _factors(rest):
                if not _is_unit(part):
                    for child in printed_parts(part):
                        visit(child)
            return
        for child in printed_parts(node):
            visit(child)

    visit(expression)
    return tuple(dict.fromkeys(amounts))


def _factors(node: sympy.Basic) -> tuple[Any, ...]:
    return sympy.Mul.make_args(node)  # type: ignore[arg-type, return-value]


def _is_unit(node: Any) -> bool:
    return isinstance(node, UnitSymbol) or (node.is_Pow and isinstance(node.base, UnitSymbol))


def _unit_text(powers: list[tuple[str, Any]]) -> str:
    def one(name: str, power: Any) -> str:
        return name if power == 1 else f"{name}^{power}"

    above = " ".join(one(n, p) for n, p in powers if p > 0) or "1"
    below = " ".join(one(n, -p) for n, p in powers if p < 0)
    return f"{above}/{below}" if below else above
