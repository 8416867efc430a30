"""Sums and tables over an index, which stand in what is printed, and what they come to for a member."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import sympy
from sympy.core.logic import fuzzy_and
from sympy.core.symbol import Str
from sympy.printing.precedence import PRECEDENCE

from mlsysim.errors import FormulaError, quoted
from mlsysim.symbolic.exchange import SHARED, exchanged, rebuilt, renamed
from mlsysim.symbolic.family import Family, Index, family_of
from mlsysim.tracebacks import at_the_call


class Total(sympy.Expr):
    r"""A sum over members of an index: :math:`\sum_j t_j`.

    Build one with :func:`total`.
    """

    is_real = True
    precedence = PRECEDENCE["Add"]

    def __new__(cls, index: Any, over: Any, term: Any) -> Total:
        """Build the node; nothing is evaluated."""
        return sympy.Expr.__new__(cls, index, over, term)

    @property
    def index(self) -> Index:
        """Index that it runs over."""
        return self.args[0]  # type: ignore[return-value]

    @property
    def over(self) -> tuple[str, ...]:
        """The members it adds."""
        return tuple(map(str, self.args[1].args))

    @property
    def term(self) -> sympy.Expr:
        """Term that is added, with generic symbols."""
        return self.args[2]  # type: ignore[return-value]

    def _eval_is_positive(self) -> Any:
        return self.term.is_positive

    def _eval_is_nonnegative(self) -> Any:
        return self.term.is_nonnegative


class ByMember(sympy.Expr):
    """A table over the members of an index: one expression for each.

    Build one with :func:`by_member`.
    """

    is_real = True

    def __new__(cls, *rows: Any) -> ByMember:
        """Build the node; nothing is evaluated."""
        return sympy.Expr.__new__(cls, *rows)

    @property
    def table(self) -> dict[str, sympy.Expr]:
        """Expression per name of a member."""
        return {str(row.args[0]): row.args[1] for row in self.args}  # type: ignore[misc]

    def only(self, members: Iterable[str]) -> ByMember:
        """The table of some of its members.

        Parameters
        ----------
        members : iterable of str
            Names of members to keep.

        Returns
        -------
        ByMember
        """
        kept = set(members)
        return ByMember(*(row for row in self.args if str(row.args[0]) in kept))

    def _eval_is_positive(self) -> Any:
        return fuzzy_and(value.is_positive for value in self.table.values())

    def _eval_is_nonnegative(self) -> Any:
        return fuzzy_and(value.is_nonnegative for value in self.table.values())


@at_the_call
def total(index: Index, term: Any, over: Iterable[str] | None = None) -> Total:
    r"""A sum over the members of an index.

    Parameters
    ----------
    index : Index
        What it runs over.
    term : sympy.Expr
        What is added, with generic symbols of families.
    over : iterable of str, optional
        The members to add; all by default.

    Returns
    -------
    Total

    Raises
    ------
    UnknownNameError
        If the index has no member of a name.
    FormulaError
        If the term has nothing with the index, or a family or table in it lacks a member.

    Examples
    --------
    >>> from mlsysim import Index, family, nonnegative, total
    >>> disks = Index("disk_of_docs", r"\digamma", {"boot": "boot", "data": "data"})
    >>> times = family("{}_disk_time", "y_{}", "s", "Time of the {} disk.", disks, nonnegative())
    >>> total(disks, times.symbol).over
    ('boot', 'data')
    """
    if not isinstance(index, Index):
        raise FormulaError(f"a sum runs over an Index, not over {quoted(index)}")
    members = index.chosen(over, f"sum over {index.name}")
    term = sympy.sympify(term, strict=True)
    if index not in unbound(term) and not any(tables(term)):
        raise FormulaError(f"sum over {index.name}: {term} has nothing given over {index.name}")
    check_members(f"sum over {index.name}", term, index, members)
    return Total(index, sympy.Tuple(*map(Str, members)), term)


@at_the_call
def by_member(**values: Any) -> ByMember:
    """A table: the expression of each member of the index that the formula, or the sum around it, has.

    Parameters
    ----------
    **values
        Expression per name of a member.

    Returns
    -------
    ByMember

    Raises
    ------
    FormulaError
        If it is empty.

    Examples
    --------
    >>> from mlsysim import by_member
    >>> len(by_member(boot=1, data=2).args)
    2
    """
    if not values:
        raise FormulaError("by_member() gives no member a value")
    rows = (sympy.Tuple(Str(key), sympy.sympify(value, strict=True)) for key, value in values.items())
    return ByMember(*rows)


#: What has an index of its own.
EITHER = (Total, ByMember)


@lru_cache(maxsize=SHARED)
def holds(expression: sympy.Basic, kind: Any = EITHER) -> bool:
    """Tell whether a sum, or a table, or by default either stands anywhere in an expression."""
    if kind is not EITHER and not holds(expression):
        return False
    return isinstance(expression, kind) or any(holds(part, kind) for part in expression.args)


def unbound(expression: sympy.Basic) -> dict[Index, set[Family]]:
    """The families whose generic symbols stand outside every sum over their index, by index."""
    merged: dict[Index, set[Family]] = {}
    for symbol, around in _standing(expression):
        found = family_of(symbol)
        if found is not None and found.index not in around:
            merged.setdefault(found.index, set()).add(found)
    return merged


@lru_cache(maxsize=SHARED)
def _standing(expression: sympy.Basic) -> frozenset[tuple[sympy.Symbol, frozenset[Index]]]:
    """The symbols of an expression, each with the indices of the sums around it; families may be declared anew."""
    if isinstance(expression, Total):
        return frozenset((symbol, around | {expression.index}) for symbol, around in _standing(expression.term))
    if isinstance(expression, sympy.Symbol):
        return frozenset({(expression, frozenset())})
    return frozenset().union(*map(_standing, expression.args))


def tables(expression: sympy.Basic) -> Iterator[ByMember]:
    """The tables outside every sum."""
    if isinstance(expression, ByMember):
        yield expression
    elif not isinstance(expression, Total) and holds(expression, ByMember):
        for part in expression.args:
            yield from tables(part)


def check_index(what: str, expression: sympy.Basic, index: Index | None, members: tuple[str, ...] = ()) -> None:
    """Refuse an expression that cannot be put down for each of these members of an index.

    Parameters
    ----------
    what : str
        Whose expression it is, for the error.
    index : Index or None
        The index it may have; None where it may have none outside its sums.
    members : tuple of str
        Of the index.

    Raises
    ------
    FormulaError
        If something is given over another index, a family lacks one of the members, or a table has others.
    """
    for other, families in unbound(expression).items():
        names = ", ".join(sorted(each.name for each in families))
        if other != index:
            raise FormulaError(f"{what}: {names} is given over {other.name}: take one member, or their total()")
    check_members(what, expression, index, members)


def check_members(what: str, expression: sympy.Basic, index: Index | None, members: tuple[str, ...]) -> None:
    """The part of :func:`check_index` that also holds for the term of a sum, where other indices may stand."""
    for found in sorted(unbound(expression).get(index, ()), key=lambda each: each.name):  # type: ignore[arg-type]
        lacking = [member for member in members if member not in found.members]
        if lacking:
            raise FormulaError(f"{what}: {found.name} has no member {', '.join(lacking)}; it has {', '.join(found)}")
    for table in tables(expression):
        if index is None:
            raise FormulaError(f"{what}: a table by_member() needs a family on the left or a total() around it")
        if set(table.table) != set(members):
            raise FormulaError(f"{what}: a table must give exactly {', '.join(members)}; got {', '.join(table.table)}")


def expanded(expression: sympy.Basic, at: Mapping[Index, str], member: str = "") -> sympy.Basic:
    """An expression with its sums written out and the members of each index put in.

    Parameters
    ----------
    expression : sympy.Basic
        In generic and plain symbols.
    at : mapping
        Member per index.
    member : str
        The row to take of tables: that of the innermost index.

    Returns
    -------
    sympy.Basic
        In plain symbols.
    """
    if not holds(expression):
        return _put_in(expression, at)
    if isinstance(expression, Total):
        terms: Any = [expanded(expression.term, {**at, expression.index: each}, each) for each in expression.over]
        return sympy.Add(*terms)
    if isinstance(expression, ByMember):
        return expanded(expression.table[member], at, member)
    parts = [expanded(part, at, member) for part in expression.args]
    return rebuilt(expression, parts)


def _put_in(expression: sympy.Basic, at: Mapping[Index, str]) -> sympy.Basic:
    """An expression without sums and tables, with members in place of generic symbols."""
    symbols = {symbol for symbol, _ in _standing(expression)}
    swaps: dict[Any, Any] = {s: found[at[found.index]] for s in symbols if (found := family_of(s)) is not None}
    others = symbols - swaps.keys()
    alike = all(old.assumptions0 == new.assumptions0 and new not in others for old, new in swaps.items())
    return exchanged(expression, swaps, renamed if alike and len({*swaps.values()}) == len(swaps) else rebuilt)


def written_out(what: str, expression: sympy.Basic) -> sympy.Basic:
    """An expression without an index of its own, its sums written out.

    Parameters
    ----------
    what : str
        Whose expression it is, for the error.

    Raises
    ------
    FormulaError
        If a quantity or a table with an index stands outside every sum.
    """
    check_index(what, expression, None)
    return expanded(expression, {}) if holds(expression, Total) else expression


def limited(expression: sympy.Basic, members: Iterable[str]) -> sympy.Basic:
    """An expression whose tables, outside sums, have only these members."""
    kept = tuple(members)
    return expression.xreplace({table: table.only(kept) for table in tables(expression)})
