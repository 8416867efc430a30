"""Sums and tables over an index as they are printed, and their expansion for a member."""

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
        """Index of the sum."""
        return self.args[0]  # type: ignore[return-value]

    @property
    def over(self) -> tuple[str, ...]:
        """Members that are summed."""
        return tuple(map(str, self.args[1].args))

    @property
    def term(self) -> sympy.Expr:
        """Summand, with generic symbols."""
        return self.args[2]  # type: ignore[return-value]

    def _eval_is_positive(self) -> Any:
        return self.term.is_positive

    def _eval_is_nonnegative(self) -> Any:
        return self.term.is_nonnegative


class ByMember(sympy.Expr):
    """A table over the members of an index, with one expression for each.

    Build one with :func:`by_member`.
    """

    is_real = True

    def __new__(cls, *rows: Any) -> ByMember:
        """Build the node; nothing is evaluated."""
        return sympy.Expr.__new__(cls, *rows)

    @property
    def table(self) -> dict[str, sympy.Expr]:
        """Expression by member name."""
        return {str(row.args[0]): row.args[1] for row in self.args}  # type: ignore[misc]

    def only(self, members: Iterable[str]) -> ByMember:
        """Restrict the table to some of its members.

        Parameters
        ----------
        members : iterable of str
            Names of members to keep.

        Returns
        -------
        ByMember
        """
        wanted = set(members)
        return ByMember(*(row for row in self.args if str(row.args[0]) in wanted))

    def _eval_is_positive(self) -> Any:
        return fuzzy_and(value.is_positive for value in self.table.values())

    def _eval_is_nonnegative(self) -> Any:
        return fuzzy_and(value.is_nonnegative for value in self.table.values())


@at_the_call
def total(index: Index, term: Any, over: Iterable[str] | None = None) -> Total:
    r"""Sum a term over the members of an index.

    Parameters
    ----------
    index : Index
        Index of the sum.
    term : sympy.Expr
        Summand, with generic symbols of families.
    over : iterable of str, optional
        Members to sum; all by default.

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
    """Build a table with an expression per member of the formula's index, or of the enclosing sum's.

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


#: Nodes with an index of their own.
EITHER = (Total, ByMember)


@lru_cache(maxsize=SHARED)
def holds(expression: sympy.Basic, kind: Any = EITHER) -> bool:
    """Tell whether an expression contains a sum or a table, or one of the given kind."""
    if kind is not EITHER and not holds(expression):
        return False
    return isinstance(expression, kind) or any(holds(part, kind) for part in expression.args)


def unbound(expression: sympy.Basic) -> dict[Index, set[Family]]:
    """Collect the families whose generic symbols are outside every sum over their index, by index."""
    merged: dict[Index, set[Family]] = {}
    for symbol, around in _standing(expression):
        known = family_of(symbol)
        if known is not None and known.index not in around:
            merged.setdefault(known.index, set()).add(known)
    return merged


@lru_cache(maxsize=SHARED)
def _standing(expression: sympy.Basic) -> frozenset[tuple[sympy.Symbol, frozenset[Index]]]:
    """Collect the symbols of an expression, each with the indices of the enclosing sums; families may be redeclared."""
    if isinstance(expression, Total):
        return frozenset((symbol, around | {expression.index}) for symbol, around in _standing(expression.term))
    if isinstance(expression, sympy.Symbol):
        return frozenset({(expression, frozenset())})
    return frozenset().union(*map(_standing, expression.args))


def tables(expression: sympy.Basic) -> Iterator[ByMember]:
    """Yield the tables outside every sum."""
    if isinstance(expression, ByMember):
        yield expression
    elif not isinstance(expression, Total) and holds(expression, ByMember):
        for part in expression.args:
            yield from tables(part)


def check_index(what: str, expression: sympy.Basic, index: Index | None, members: tuple[str, ...] = ()) -> None:
    """Refuse an expression that cannot be expanded for each of these members of an index.

    Parameters
    ----------
    what : str
        Owner of the expression, for the error.
    index : Index or None
        Index that may occur outside sums; None if none may.
    members : tuple of str
        Members of the index.

    Raises
    ------
    FormulaError
        If a term has another index, a family lacks one of the members, or a table has others.
    """
    for other, families in unbound(expression).items():
        names = ", ".join(sorted(family.name for family in families))
        if other != index:
            raise FormulaError(f"{what}: {names} is given over {other.name}: take one member, or their total()")
    check_members(what, expression, index, members)


def check_members(what: str, expression: sympy.Basic, index: Index | None, members: tuple[str, ...]) -> None:
    """Check the part of :func:`check_index` that also applies to the term of a sum, which may have other indices."""
    for family in sorted(unbound(expression).get(index, ()), key=lambda family: family.name):  # type: ignore[arg-type]
        lacking = [member for member in members if member not in family.members]
        if lacking:
            raise FormulaError(f"{what}: {family.name} has no member {', '.join(lacking)}; it has {', '.join(family)}")
    for table in tables(expression):
        if index is None:
            raise FormulaError(f"{what}: a table by_member() needs a family on the left or a total() around it")
        if set(table.table) != set(members):
            raise FormulaError(f"{what}: a table must give exactly {', '.join(members)}; got {', '.join(table.table)}")


def expanded(expression: sympy.Basic, at: Mapping[Index, str], member: str = "") -> sympy.Basic:
    """Expand the sums of an expression and substitute the members of each index.

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
        terms: Any = [expanded(expression.term, {**at, expression.index: name}, name) for name in expression.over]
        return sympy.Add(*terms)
    if isinstance(expression, ByMember):
        return expanded(expression.table[member], at, member)
    args = [expanded(arg, at, member) for arg in expression.args]
    return rebuilt(expression, args)


def _put_in(expression: sympy.Basic, at: Mapping[Index, str]) -> sympy.Basic:
    """Substitute members for generic symbols in an expression without sums and tables."""
    symbols = {symbol for symbol, _ in _standing(expression)}
    swaps: dict[Any, Any] = {s: known[at[known.index]] for s in symbols if (known := family_of(s)) is not None}
    others = symbols - swaps.keys()
    alike = all(old.assumptions0 == new.assumptions0 and new not in others for old, new in swaps.items())
    return exchanged(expression, swaps, renamed if alike and len({*swaps.values()}) == len(swaps) else rebuilt)


def written_out(what: str, expression: sympy.Basic) -> sympy.Basic:
    """Expand the sums of an expression without an index of its own.

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
    """Restrict the tables outside sums to these members."""
    wanted = tuple(members)
    return expression.xreplace({table: table.only(wanted) for table in tables(expression)})
