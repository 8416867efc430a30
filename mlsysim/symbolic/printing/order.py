"""Rules that both printers share: the order of symbols and terms, divisors, conditions, units."""

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
    """A symbol under a name that sorts where its variable was declared, so authors set the order."""

    @property
    def variable(self) -> Variable:
        """The variable it stands for."""
        return variable_of(self.name.partition(" ")[2])


def in_declared_order(expression: sympy.Basic) -> sympy.Basic:
    """The expression with its symbols renamed so that sympy sorts them as declared."""
    plain = [s for s in expression.free_symbols if not isinstance(s, UnitSymbol | Label | sympy.Dummy)]
    place = declaration_order()
    return exchanged(
        expression,
        {s: Placed(f"{place[s.name]:06d} {s.name}", **s.assumptions0) for s in plain},  # type: ignore[attr-defined]
        _placed,
    )


def _placed(node: Any, args: Sequence[Any]) -> Any:
    """A node with placed symbols; what cases compare is turned so that the side declared first stands first."""
    found = renamed(node, args)
    if not isinstance(found, sympy.Piecewise):
        return found
    turned = {asked: asked.canonical for asked in found.atoms(Relational)}
    return _cases((value, exchanged(when, turned)) for value, when in found.args)  # type: ignore[misc]


def _cases(pairs: Iterable[Any]) -> Any:
    """Cases as they stand: evaluated, sympy turns over some of what they compare for ever."""
    return sympy.Piecewise(*pairs, evaluate=False)


@lru_cache(maxsize=2048)
def prepared(expression: sympy.Basic) -> sympy.Basic:
    """The expression as both printers take it."""
    return divisors_below(in_declared_order(expression))


def reading_order(terms: Any) -> list[Any]:
    """Terms of a sum: those added before those subtracted, case distinctions last, then as declared."""

    def place(term: Any) -> tuple[bool, bool, str]:
        names = sorted(s.name for s in term.free_symbols if isinstance(s, Placed))
        return (term.could_extract_minus_sign(), isinstance(term, sympy.Piecewise), names[0] if names else "~")

    return sorted(terms, key=place)


class Cases(sympy.Function):
    """A case distinction that stands in a denominator; opaque, so that sympy leaves it there."""

    nargs = 1
    is_commutative = True


class LargestOf(sympy.Function):
    """A maximum whose arguments stay in the order they have."""


class SmallestOf(sympy.Function):
    """A minimum whose arguments stay in the order they have."""


def arguments(extreme: Any) -> list[Any]:
    """The arguments of a maximum or minimum, in the order in which they are printed."""
    kept = isinstance(extreme, LargestOf | SmallestOf)
    return list(extreme.args) if kept else sorted(extreme.args, key=default_sort_key)


def listed(extreme: Any, args: Iterable[Any]) -> Any:
    """A maximum or minimum with an argument in place of each of its own, in the order in which those are printed."""
    pairs = zip(extreme.args, args, strict=True)
    in_order = sorted(pairs, key=lambda pair: default_sort_key(prepared(bare(pair[0]))))
    return (LargestOf if isinstance(extreme, sympy.Max) else SmallestOf)(*(arg for _, arg in in_order))


def divisors_below(expression: sympy.Basic) -> sympy.Basic:
    """Cases whose every value is a reciprocal (how a tensor is sharded), written as a divisor."""
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
    """Conditions that all hold, those of fewest symbols first, then as declared."""

    def place(condition: Any) -> tuple[int, list[str]]:
        names = sorted(s.name for s in condition.free_symbols if isinstance(s, Placed))
        return (len(names), names)

    return sorted(conditions, key=place)


def alternatives(expr: Any) -> tuple[Any, list[Any]] | None:
    """The symbol and its labels where a condition says that it is one of several."""
    equal = [sides(arg) for arg in expr.args if isinstance(arg, sympy.Eq)]
    symbols = {left for left, _, _ in equal}
    if len(equal) != len(expr.args) or len(symbols) != 1 or not all(isinstance(r, Label) for _, _, r in equal):
        return None
    return symbols.pop(), [right for _, _, right in equal]


def rows_of(table: ByMember) -> list[tuple[Any, list[str]]]:
    """The values of a table, each once with the members that have it."""
    rows: dict[Any, list[str]] = {}
    for member, value in table.table.items():
        rows.setdefault(value, []).append(member)
    return list(rows.items())


def is_positive_half(expr: Root) -> bool:
    """Tell whether a root is sought among all numbers from zero, which need not be said."""
    return bool(expr.lower == 0 and expr.upper == sympy.oo)


def called(symbol: str, value: str) -> str:
    """Print how a symbol gets another value; one that is called the same says all."""
    return symbol if symbol == value else f"{symbol} = {value}"


def sides(expr: Any) -> tuple[Any, str, Any]:
    """Left side, sign and right side, constants to the right."""
    if isinstance(expr.lhs, Label | UnitSymbol | sympy.Number) and not isinstance(expr.rhs, sympy.Number):
        expr = expr.reversed
    return expr.lhs, expr.rel_op, expr.rhs


def bare(expression: sympy.Basic, keep: Callable[[UnitSymbol], bool] | None = None) -> sympy.Basic:
    """The expression without its coherent units, but for those to keep."""
    drop = [u for u in expression.atoms(UnitSymbol) if u.amount == 1 and not (keep and keep(u))]
    return exchanged(expression, dict.fromkeys(drop, sympy.S.One)) if drop else expression


def is_no_count(unit: UnitSymbol) -> bool:
    """Tell whether a unit is printed beside numbers: one that counts something is not."""
    return not set(unit.dimension) <= COUNTABLE


def either(choice: sympy.ITE) -> Any:
    """A choice between two conditions, as what holds in either case."""
    case, one, other = choice.args
    return sympy.Or(sympy.And(case, one), sympy.And(sympy.Not(case), other))  # type: ignore[arg-type]
