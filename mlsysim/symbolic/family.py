"""Families: quantities indexed by a finite set, such as the time of a pass in each group of ranks.

A family is declared once. Its generic variable carries the letter of the index and stands in the formula
that is printed; its members are plain variables, which everything but printing works with.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from mlsysim.errors import FormulaError, UnknownNameError
from mlsysim.symbolic.variable import Domain, Variable, caller, declared, named_by, variable_of
from mlsysim.tracebacks import at_the_call


class Index(sympy.Atom):
    r"""A finite set that indexes quantities.

    Parameters
    ----------
    name : str
        Name of one member's kind, as a Python identifier: ``"group"``; data sets use it as dimension.
    letter : str
        LaTeX of the index, unlike that of anything else.
    members : mapping
        Description by short name: ``{"tp": "tensor-parallel"}``.

    Raises
    ------
    FormulaError
        If a name is not a Python identifier, there is no member, or a declared variable prints as the letter.

    Examples
    --------
    >>> from mlsysim import Index
    >>> list(Index("drive_of_examples", r"\iota", {"boot": "boot", "data": "data"}).members)
    ['boot', 'data']
    """

    @at_the_call
    def __new__(cls, name: str, letter: str, members: Mapping[str, str]) -> Index:
        """Build an index; equal arguments give equal indices."""
        for identifier in (name, *members):
            if not isinstance(identifier, str) or not identifier.isidentifier():
                raise FormulaError(f"index {name!r}: {identifier!r} is not a Python identifier")
        if not members:
            raise FormulaError(f"index {name!r} has no members")
        _refuse_latex(f"index {name!r}", letter, ())
        index = super().__new__(cls)
        index.name, index.letter, index.members = name, letter, dict(members)
        return index

    name: str
    letter: str
    members: dict[str, str]

    def chosen(self, members: Iterable[str] | None, what: str) -> tuple[str, ...]:
        """Select members, in the order of the index; None selects all.

        Parameters
        ----------
        members : iterable of str, optional
            Names of members; all of them for None.
        what : str
            What asks, for the error.

        Returns
        -------
        tuple of str

        Raises
        ------
        UnknownNameError
            If the index has no such member.
        FormulaError
            If none is chosen.
        """
        if members is None:
            return tuple(self.members)
        wanted = (members,) if isinstance(members, str) else tuple(members)
        for member in wanted:
            if member not in self.members:
                raise UnknownNameError(f"member of {self.name}", member, self.members)
        if not wanted:
            raise FormulaError(f"{what}: over=() chooses no member of {self.name}; known: {', '.join(self.members)}")
        return tuple(member for member in self.members if member in wanted)

    def _hashable_content(self) -> tuple[Any, ...]:
        return (self.name, self.letter, tuple(self.members.items()))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (self.name, self.letter, self.members)

    def _sympystr(self, _printer: Any) -> str:
        return self.name


@dataclass(frozen=True, eq=False, repr=False)
class Family:
    """An indexed quantity, declared by :func:`family`.

    ``F[index]`` is its generic symbol, ``F["tp"]`` the symbol of a member.

    Attributes
    ----------
    index : Index
        Index of the quantity.
    symbol : sympy.Symbol
        The generic symbol, which prints with the letter of the index.
    members : mapping
        Symbol per name of a member, in the order of the index.
    """

    index: Index
    symbol: sympy.Symbol
    members: Mapping[str, sympy.Symbol]

    @property
    def name(self) -> str:
        """Name of the generic variable, under which results give all members."""
        return self.symbol.name

    @property
    def variable(self) -> Variable:
        """Generic variable."""
        return variable_of(self.symbol)

    def __getitem__(self, key: Index | str) -> sympy.Symbol:
        """Return the generic symbol for the index, or the symbol of a member.

        Raises
        ------
        UnknownNameError
            If the family has no such member.
        FormulaError
            If the index is another one.
        """
        if isinstance(key, Index):
            if key != self.index:
                raise FormulaError(f"{self.name} is given over {self.index.name}, not over {key.name}")
            return self.symbol
        if not isinstance(key, str) or key not in self.members:
            raise UnknownNameError(f"member of {self.name}", key, self.members)
        return self.members[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.members)

    def __repr__(self) -> str:
        return f"<Family {self.name} over {self.index.name}: {', '.join(self.members)}>"


_FAMILIES: dict[str, Family] = {}


@at_the_call
def family(
    name: str,
    latex: str,
    unit: str,
    description: str,
    index: Index,
    domain: Domain | None = None,
    *,
    named_unit: bool = False,
    label: str = "",
    over: Iterable[str] | None = None,
    existing: Mapping[str, sympy.Symbol] | None = None,
    not_above: Family | None = None,
) -> Family:
    r"""Declare an indexed quantity: a generic variable for print, and a variable per member.

    Parameters
    ----------
    name, latex, description : str
        As for a variable, with ``{}`` where the member stands: its short name in name and LaTeX, its words in
        the description. The generic variable has the name and the letter of the index there.
    unit, domain, named_unit
        As for a variable, of the generic variable and of every member.
    label : str
        Title as for a variable, with ``{}`` for the words of the member; derived from the names if left out.
    index : Index
        Index of the quantity.
    over : iterable of str, optional
        The members that have the quantity; all by default.
    existing : mapping, optional
        Symbols of members that are variables already and keep their names.
    not_above : Family, optional
        Another family over the index whose members those of this one never exceed.

    Returns
    -------
    Family

    Raises
    ------
    UnknownNameError
        If the index has no member of a name.
    FormulaError
        If a template has no ``{}``, an existing member has another unit or a domain beyond that of the family,
        or something declared prints as a member would.
    DuplicateError
        If another module declared a name with another meaning.

    Examples
    --------
    >>> from mlsysim import Index, family, nonnegative
    >>> drives = Index("drive_of_docs", r"\varkappa", {"boot": "boot", "data": "data"})
    >>> times = family("{}_drive_time", "t_{}", "s", "Time of the {} drive.", drives, nonnegative())
    >>> print(times["boot"])
    boot_drive_time
    """
    for what, template in (("name", name), ("latex", latex), ("description", description)):
        if "{}" not in template:
            raise FormulaError(f"family {name!r}: {what}={template!r} has no {{}} for the member")
    if not isinstance(index, Index):
        raise FormulaError(f"family {name!r}: index={index!r} is not an Index")
    module, known = caller(), dict(existing or {})
    keys = index.chosen(over, f"family {name!r}")
    for key in known:
        if key not in keys:
            raise UnknownNameError(f"member of family {name!r}", key, keys)
    entries = {
        key: Variable(name.replace("{}", key), _subscripted(latex, key), unit, _said(description, index, key),
                      domain or Domain(), named_unit, _said(label, index, key), not_above and not_above[key])
        for key in keys if key not in known
    }  # fmt: skip
    generic = Variable(
        name.replace("{}", index.name), _placed(latex, index.letter), unit, _said(description, index, None),
        domain or Domain(), named_unit, _said(label, index, None), not_above and not_above.symbol,
    )  # fmt: skip
    for entry in (generic, *entries.values()):
        _refuse_latex(f"family {generic.name}", entry.latex, (entry.name,))
    for key, symbol in known.items():
        _refuse_existing(generic, key, variable_of(symbol))
    symbol = declared(generic, module)
    members = {key: known[key] if key in known else declared(entries[key], module) for key in keys}
    _FAMILIES[generic.name] = Family(index, symbol, members)
    return _FAMILIES[generic.name]


def family_of(symbol: sympy.Basic | str) -> Family | None:
    """Look up the family of a generic symbol or name; None for a plain variable.

    Parameters
    ----------
    symbol : sympy.Symbol or str
        Generic symbol of a family, or its name.

    Returns
    -------
    Family or None

    Examples
    --------
    >>> import mlsysim.symbols
    >>> from mlsysim.symbolic import family_of
    >>> print(family_of("batch_size"))
    None
    """
    known = _FAMILIES.get(symbol if isinstance(symbol, str) else getattr(symbol, "name", ""))
    return known if known is not None and (isinstance(symbol, str) or known.symbol == symbol) else None


def members_among(family: str, names: Container[str]) -> dict[str, str]:
    """Find the members of a family among some variables, with the name of each; empty if there is no such family.

    Parameters
    ----------
    family : str
        Name of the generic variable.
    names : container of str
        Names of variables.
    """
    known = _FAMILIES.get(family) if isinstance(family, str) else None
    return {key: variable.name for key, variable in known.members.items() if variable.name in names} if known else {}


def families_among(names: Container[str]) -> tuple[str, ...]:
    """List the families with a member among some variables."""
    return tuple(name for name in _FAMILIES if members_among(name, names))


def several(family: str) -> str:
    """Compose the error for a family given where one quantity is expected."""
    return f"{family} has a value for each {_FAMILIES[family].index.name}"


def member_latex(key: str) -> str:
    """Format the short name of a member as LaTeX."""
    return rf"\mathrm{{{key.replace('_', chr(92) + '_')}}}"


def _subscripted(latex: str, key: str) -> str:
    return _placed(latex, member_latex(key))


def _placed(latex: str, text: str) -> str:
    """Fill in the template with a letter or member name; a lone sub- or superscript gets braces."""
    braced = text if len(text) == 1 else f"{{{text}}}"
    return latex.replace("_{}", f"_{braced}").replace("^{}", f"^{braced}").replace("{}", text)


def _said(description: str, index: Index, key: str | None) -> str:
    """Compose the description of a member, or of the generic variable without repeating the index name."""
    if key is not None:
        text = description.replace("{}", index.members[key])
    else:
        text = description.replace(f"{{}} {index.name}", index.name).replace("{}", index.name)
    return text[:1].upper() + text[1:]


def _refuse_latex(what: str, latex: str, but: tuple[str, ...]) -> None:
    """Refuse LaTeX that another declared variable has."""
    taken = [name for name in named_by(latex) if name not in but]
    if taken:
        raise FormulaError(f"{what} would print as {latex}, as {', '.join(taken)} does")


def _refuse_existing(generic: Variable, key: str, member: Variable) -> None:
    """Refuse a declared member that contradicts the generic variable, by whose assumptions sympy simplifies."""
    if (member.unit, member.named_unit) != (generic.unit, generic.named_unit):
        raise FormulaError(
            f"family {generic.name}: its member {key}, {member.name}, is in {member.unit or 'pure numbers'}, "
            f"the family in {generic.unit or 'pure numbers'}"
        )
    if not generic.domain.contains(member.domain):
        raise FormulaError(
            f"family {generic.name} is {generic.domain.describe()}, but its member {key}, {member.name}, "
            f"may be {member.domain.describe()}"
        )
