"""Rules shared by both printers: order of symbols and terms, divisors, conditions, units."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import sympy
from sympy.core.relational import Relational
from sympy.core.sorting import default_sort_key

from mlsysim.symbolic.constants import Label, UnitSymbol
from mlsysim.symbolic.exchange import exchanged, rebuilt, renamed
from mlsysim.symbolic.functions import Root
from mlsysim.symbolic.indexed import ByMember
from mlsysim.symbolic.variable import Variable, declaration_order, variable_of
from mlsysim.units import COUNTABLE


class Placed(sympy.Symbol):
    """A symbol renamed to sort in the order of declaration, so that authors control the order."""

    @property
    def variable(self) -> Variable:
        """Variable that it stands for."""
        return variable_of(self.name.partition(" ")[2])


def in_declared_order(expression: sympy.Basic) -> sympy.Basic:
    """Rename symbols so that sympy sorts them in order of declaration."""
    plain = [s for s in expression.free_symbols if not isinstance(s, UnitSymbol | Label | sympy.Dummy)]
    position = declaration_order()
    return exchanged(
        expression,
        {s: Placed(f"{position[s.name]:06d} {s.name}", **s.assumptions0) for s in plain},  # type: ignore[attr-defined]
        _placed,
    )


def _placed(node: Any, args: Sequence[Any]) -> Any:
    """Rebuild a node with renamed symbols; comparisons in cases start with the side that was declared first."""
    node_renamed = renamed(node, args)
    if not isinstance(node_renamed, sympy.Piecewise):
        return node_renamed
    turned = {comparison: comparison.canonical for comparison in node_renamed.atoms(Relational)}
    return _cases((value, exchanged(when, turned)) for value, when in node_renamed.args)  # type: ignore[misc]


def _cases(pairs: Iterable[Any]) -> Any:
    """Build cases unevaluated; evaluated, sympy may swap the sides of some comparisons endlessly."""
    return sympy.Piecewise(*pairs, evaluate=False)


@lru_cache(maxsize=2048)
def prepared(expression: sympy.Basic) -> sympy.Basic:
    """Prepare an expression for either printer."""
    return divisors_below(in_declared_order(expression))


def reading_order(terms: Any) -> list[Any]:
    """Order the terms of a sum: added before subtracted, case distinctions last, then as declared."""

    def place(term: Any) -> tuple[bool, bool, str]:
        names = sorted(s.name for s in term.free_symbols if isinstance(s, Placed))
        return (term.could_extract_minus_sign(), isinstance(term, sympy.Piecewise), names[0] if names else "~")

    return sorted(terms, key=place)


class Cases(sympy.Function):
    """A case distinction in a denominator; opaque, so that sympy leaves it there."""

    nargs = 1
    is_commutative = True


class LargestOf(sympy.Function):
    """A maximum whose arguments keep their order."""


class SmallestOf(sympy.Function):
    """A minimum whose arguments keep their order."""


def arguments(extreme: Any) -> list[Any]:
    """Return the arguments of a maximum or minimum, in printing order."""
    is_ordered = isinstance(extreme, LargestOf | SmallestOf)
    return list(extreme.args) if is_ordered else sorted(extreme.args, key=default_sort_key)


def listed(extreme: Any, args: Iterable[Any]) -> Any:
    """Rebuild a maximum or minimum from replacements of its arguments, in printing order."""
    pairs = zip(extreme.args, args, strict=True)
    in_order = sorted(pairs, key=lambda pair: default_sort_key(prepared(bare(pair[0]))))
    return (LargestOf if isinstance(extreme, sympy.Max) else SmallestOf)(*(arg for _, arg in in_order))


def divisors_below(expression: sympy.Basic) -> sympy.Basic:
    """Write cases whose values are all reciprocals (a sharded tensor) as a divisor."""
    if not expression.has(sympy.Piecewise):
        return expression
    args: Any = [divisors_below(arg) for arg in expression.args]
    if not isinstance(expression, sympy.Piecewise):
        return rebuilt(expression, args)
    if not all(map(_is_share, args)):
        return _cases(args)
    below: Any = Cases(_cases((1 / value, condition) for value, condition in args))
    return 1 / below


def _is_share(pair: Any) -> bool:
    """Tell whether the value of a case is 1 or a reciprocal."""
    value, _ = pair
    return bool(value == 1 or (value.is_Pow and value.exp == -1))


def in_order_of_size(conditions: Any) -> list[Any]:
    """Order conditions that all hold: fewest symbols first, then as declared."""

    def place(condition: Any) -> tuple[int, list[str]]:
        names = sorted(s.name for s in condition.free_symbols if isinstance(s, Placed))
        return (len(names), names)

    return sorted(conditions, key=place)


def alternatives(expr: Any) -> tuple[Any, list[Any]] | None:
    """Return the symbol and its labels, if a condition lists labels of one symbol; else None."""
    equal = [sides(arg) for arg in expr.args if isinstance(arg, sympy.Eq)]
    symbols = {left for left, _, _ in equal}
    if len(equal) != len(expr.args) or len(symbols) != 1 or not all(isinstance(r, Label) for _, _, r in equal):
        return None
    return symbols.pop(), [right for _, _, right in equal]


def rows_of(table: ByMember) -> list[tuple[Any, list[str]]]:
    """Group the members of a table by value."""
    rows: dict[Any, list[str]] = {}
    for member, value in table.table.items():
        rows.setdefault(value, []).append(member)
    return list(rows.items())


def is_positive_half(expr: Root) -> bool:
    """Tell whether a root is sought among all nonnegative numbers, which goes without saying."""
    return bool(expr.lower == 0 and expr.upper == sympy.oo)


def called(symbol: str, value: str) -> str:
    """Print the assignment of a value to a symbol; a value that prints like its symbol stands alone."""
    return symbol if symbol == value else f"{symbol} = {value}"


def sides(expr: Any) -> tuple[Any, str, Any]:
    """Return left side, sign and right side, with constants on the right."""
    if isinstance(expr.lhs, Label | UnitSymbol | sympy.Number) and not isinstance(expr.rhs, sympy.Number):
        expr = expr.reversed
    return expr.lhs, expr.rel_op, expr.rhs


def bare(expression: sympy.Basic, keep: Callable[[UnitSymbol], bool] | None = None) -> sympy.Basic:
    """Drop the coherent units from an expression, except those to keep."""
    drop = [u for u in expression.atoms(UnitSymbol) if u.amount == 1 and not (keep and keep(u))]
    return exchanged(expression, dict.fromkeys(drop, sympy.S.One)) if drop else expression


def is_no_count(unit: UnitSymbol) -> bool:
    """Tell whether a unit is printed beside numbers; units of counts are not."""
    return not set(unit.dimension) <= COUNTABLE


def either(choice: sympy.ITE) -> Any:
    """Rewrite a choice between two conditions as a disjunction."""
    case, one, other = choice.args
    return sympy.Or(sympy.And(case, one), sympy.And(sympy.Not(case), other))  # type: ignore[arg-type]
