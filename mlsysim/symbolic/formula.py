"""Formulas: one variable, one expression, with everything a reader asks of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import sympy

from mlsysim.errors import FormulaError, MlsysimError, UnitError, UnknownNameError, quoted
from mlsysim.symbolic.constants import Label, UnitSymbol
from mlsysim.symbolic.dimensions import describe, dimension_of, same
from mlsysim.symbolic.example import Example, Source
from mlsysim.symbolic.exchange import free_symbols
from mlsysim.symbolic.family import Family, Index, family_of
from mlsysim.symbolic.functions import EvaluatedAt, stated
from mlsysim.symbolic.indexed import ByMember, Total, check_index, expanded, holds, limited, written_out
from mlsysim.symbolic.ranges import range_of, unshown
from mlsysim.symbolic.variable import Domain, Variable, caller, variable_of
from mlsysim.tracebacks import at_the_call


def _expression(given: Any, name: str) -> sympy.Basic:
    """The right side as sympy; text is not read, as reading it would run it."""
    try:
        expression = sympy.sympify(given, strict=True)
    except (sympy.SympifyError, TypeError, ValueError):
        raise FormulaError(f"formula for {name}: {quoted(given)} is not an expression of declared symbols") from None
    if expression is sympy.nan:
        raise FormulaError(f"formula for {name}: the right side is not a number")
    return expression


@at_the_call
@dataclass(frozen=True, eq=False)
class Formula:
    """One equation ``variable = expression``, its dimensions checked as it is declared.

    Parameters
    ----------
    symbol : sympy.Symbol
        Left side: symbol of the variable it defines, or the generic symbol of a family.
    expression : sympy.Basic
        Right side, in declared symbols, unit constants and labels. With a family on the left it may have
        generic symbols of the same index, and tables over its members.
    title : str
        What it is, in a few words.
    source : Source
        Where it is published.
    assumes : str
        Assumptions and validity.
    convention : str
        What is counted and how: GB or GiB, which rank, what is in and out.
    accuracy : str
        How near it comes to what was measured, and to what.
    variant : str
        Name among several published forms of one variable; empty when there is one form.
    example : Example, optional
        Worked example.
    no_example : str
        Why there is none; required when ``example`` is missing.
    given : sympy Boolean
        What a model must require of its inputs for the variable to lie in its domain, such as that a quotient is whole.

    Attributes
    ----------
    variable : Variable
        What it defines.
    inputs : tuple of Variable
        What the right side needs, by name; generic variables where it is written with an index.
    covers : tuple of str
        Of a formula with an index, the members it stands for; empty without.
    member : str
        Of a formula that one with an index stands for, the name of its member.
    printed : Formula
        The formula that is printed for this one: itself, or the one with an index or a sum it came from.

    Raises
    ------
    UnitError
        If the dimension of the right side is not that of the variable.
    FormulaError
        If the variable stands on both sides, neither example nor reason is given, something written with
        an index has no member for one of the left side, or the right side cannot be shown to stay in the domain of
        the variable.

    Examples
    --------
    >>> from mlsysim.formulas import topic
    >>> ridge = next(formula for formula in topic("roofline").FORMULAS if formula.name == "ridge_point")
    >>> print(ridge.text())
    I_0 = F·η_max/(B·η_B)
    """

    symbol: sympy.Symbol
    expression: sympy.Basic
    title: str
    source: Source
    assumes: str = ""
    convention: str = ""
    accuracy: str = ""
    variant: str = ""
    example: Example | None = None
    no_example: str = ""
    given: Any = sympy.true
    variable: Variable = field(init=False)
    inputs: tuple[Variable, ...] = field(init=False)
    covers: tuple[str, ...] = field(init=False, default=())
    member: str = field(init=False, default="")
    printed: Formula = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "printed", self)
        object.__setattr__(self, "variable", variable_of(self.symbol))
        object.__setattr__(self, "expression", _expression(self.expression, self.variable.name))
        name = self.variable.name
        try:
            found = dimension_of(self.expression)
        except UnitError as error:
            raise UnitError(f"formula for {name}: {error}") from None
        if not same(found, self.variable.dimension):
            raise UnitError(
                f"formula for {name}: the right side is {describe(found)}, "
                f"but {name} is declared in {self.variable.unit or 'pure numbers'} "
                f"({describe(self.variable.dimension)})"
            )
        symbols = self._symbols()
        for symbol in (self.symbol, *sorted(symbols, key=lambda each: each.name)):
            if variable_of(symbol.name).symbol != symbol:  # sympy tells symbols of other assumptions apart
                raise FormulaError(f"formula for {name}: {symbol} is not the symbol that variable() gave for that name")
        self._take_inputs(symbols)
        if not isinstance(self.title, str) or not self.title.strip():
            raise FormulaError(f"formula for {name}: title={self.title!r} must say what it is in a few words")
        if not isinstance(self.source, Source):
            raise FormulaError(f"formula for {name}: source={self.source!r} must be a Source(key, place)")
        if self.example is None and not self.no_example:
            raise FormulaError(f"formula for {name}: give an example, or say why there is none")
        if self.family is not None:
            object.__setattr__(self, "covers", tuple(self.family))
        if self.family is not None or any(map(family_of, symbols)) or holds(self.expression, ByMember):
            self._check_index()
        elif self.example is not None and not holds(self.expression, Total):
            self._check_example(self)
        # Those of the package are checked by its tests: it takes a tenth of the time of a first answer.
        if not caller(__name__).startswith("mlsysim.formulas."):
            self.check_domain()

    def _symbols(self) -> set[Any]:
        """The symbols of variables on the right side."""
        return {s for s in free_symbols(self.expression) if not isinstance(s, UnitSymbol | Label)}

    def _take_inputs(self, symbols: set[Any]) -> None:
        if self.symbol in symbols:
            raise FormulaError(f"formula for {self.name}: {self.name} stands on both sides")
        object.__setattr__(self, "inputs", tuple(sorted(map(variable_of, symbols), key=lambda v: v.name)))

    def _check_index(self) -> None:
        """Refuse what has no member for one of the left side, and an index that reads as something else."""
        index, what = self.index, f"formula for {self.name}"
        check_index(what, self.expression, index, self.covers)
        for bound in {index, *(node.index for node in self.expression.atoms(Total))} - {None}:
            for variable in (self.variable, *self.inputs):
                if variable.latex == bound.letter:  # type: ignore[union-attr]
                    raise FormulaError(f"{what}: {variable.name} prints as {variable.latex}, as does the index")
        if self.example is not None and self.example.member and self.example.member not in self.covers:
            raise UnknownNameError(f"member of {self.name}", self.example.member, self.covers)
        for formula in self.members:
            if formula.example:
                self._check_example(formula)

    def _check_example(self, worked: Formula) -> None:
        """Refuse an example that cannot be one of the member it is given for."""
        assert worked.example is not None
        try:
            worked.example.check(worked.variable, worked.inputs)
        except MlsysimError as error:
            raise FormulaError(f"formula for {self.name}: {error}") from None

    def check_domain(self) -> None:
        """Refuse a right side that may leave the domain of the variable, by the domains of its symbols.

        Raises
        ------
        FormulaError
            If one of its members may.
        """
        for formula in self.members:
            formula._check_domain()

    def _check_domain(self) -> None:
        variable = self.variable
        if self.given == sympy.false:  # no model accepts a point
            return
        if variable.domain.kind != "boolean" and variable.domain != Domain():
            found = range_of(self.expression, self.given)
            if not_shown := unshown(variable, found):
                raise FormulaError(
                    f"formula for {self.name}: the right side could not be shown to be {not_shown}, as "
                    f"{self.name} is declared ({variable.domain.describe()}); from the domains of its inputs follows "
                    f"{found.describe(variable)}{', whole' if found.whole else ''}. Declare {self.name} without a "
                    "domain (any real number) or with one that contains this, narrow the domains of its inputs, or "
                    "give the formula the maximum or the case that keeps it inside"
                )
        for low, high in variable.orders:
            less: Any = high - self.expression if low == self.symbol else self.expression - low  # type: ignore[operator]
            if not range_of(less, self.given).is_nonnegative:
                raise FormulaError(
                    f"formula for {self.name}: {low} is declared never to exceed {high}, but here it may"
                )

    @property
    def family(self) -> Family | None:
        """The family it defines; None for a plain variable."""
        return family_of(self.symbol)

    @property
    def calls(self) -> tuple[Variable, ...]:
        """Variables whose values at other values of others stand in the equation, by name."""
        found = {node.target for node in stated(self.expression) if isinstance(node, EvaluatedAt)}
        return tuple(map(variable_of, sorted(found)))

    @property
    def index(self) -> Index | None:
        """The index of its left side; None for a plain variable."""
        return self.family.index if self.family else None

    @property
    def members(self) -> tuple[Formula, ...]:
        """The plain formulas it stands for: one per member, with sums written out; itself if it has no index."""
        return self._members

    @cached_property
    def _members(self) -> tuple[Formula, ...]:
        if self.family is None and not holds(self.expression) and not any(family_of(v.symbol) for v in self.inputs):
            return (self,)
        if self.family is None:
            plain = written_out(f"formula for {self.name}", self.expression)
            return (self,) if plain is self.expression else (self._put_down(self.symbol, plain, "", self.example),)
        return tuple(map(self._of_member, self.covers))

    @property
    def worked(self) -> Formula:
        """The plain formula that its example is of; it has an example."""
        return next(formula for formula in self.members if formula.example)

    def _of_member(self, member: str) -> Formula:
        assert self.family is not None
        at = {self.family.index: member}
        example = self.example
        if example is not None and member != (example.member or self.covers[0]):
            example = None
        if example is not None:
            inputs = {expanded(symbol, at): value for symbol, value in example.inputs.items()}
            example = replace(example, inputs=inputs, member="")  # type: ignore[arg-type]
        return self._put_down(self.family[member], expanded(self.expression, at, member), member, example)

    def _put_down(self, symbol: sympy.Symbol, expression: sympy.Basic, member: str, example: Example | None) -> Formula:
        """A plain formula that this one stands for."""
        words = f", {self.index.members[member]}" if self.index else ""
        made = copy(self)
        changed = {
            "symbol": symbol,
            "variable": variable_of(symbol),
            "expression": _expression(expression, symbol.name),
            "title": self.title + words,
            "example": example,
            "no_example": "" if example else self.no_example or "another member has one",
            "covers": (),
            "member": member,
            "printed": self,
        }
        for name, value in changed.items():
            object.__setattr__(made, name, value)
        made._take_inputs(made._symbols())
        if not self.index and example:
            self._check_example(made)
        return made

    def relaxed(self, expression: sympy.Basic) -> Formula:
        """The formula with an expression that has no steps, which may leave the domain of the variable between them.

        Parameters
        ----------
        expression : sympy.Expr
            The right side without steps.

        Returns
        -------
        Formula
        """
        made = self._put_down(self.symbol, expression, self.member, None)
        vars(made).pop("_members", None)
        changed = {
            "title": f"{self.title} (relaxed)",
            "variant": "relaxed",
            "no_example": "a continuous relaxation has no published number",
            "printed": made,
        }
        for name, value in changed.items():
            object.__setattr__(made, name, value)
        return made

    def only(self, members: Iterable[str]) -> Formula:
        """The formula for some of its members, to be printed where a system has no others.

        Parameters
        ----------
        members : iterable of str
            Of those it covers.
        """
        wanted = set(members)
        kept = tuple(each for each in self.covers if each in wanted)
        if kept == self.covers:
            return self
        made = copy(self)
        object.__setattr__(made, "covers", kept)
        object.__setattr__(made, "expression", limited(self.expression, kept))
        object.__setattr__(made, "_members", tuple(each for each in self.members if each.member in kept))
        return made

    @property
    def name(self) -> str:
        """Name of the variable it defines."""
        return self.variable.name

    @property
    def id(self) -> str:
        """Name, with the variant in brackets where there is one."""
        return f"{self.name}[{self.variant}]" if self.variant else self.name

    def latex(self, *, units: bool = False, aligned: bool = False) -> str:
        """The equation as LaTeX, on several lines where one is too wide for a page.

        Parameters
        ----------
        units : bool
            Also print the unit of every constant; by default the equation is read in coherent
            units (byte, second, FLOP, token, request).
        aligned : bool
            Give rows for an ``align`` environment, with ``&`` before the equals sign, instead of a whole equation.
        """
        return _latex(self, units, aligned)

    def text(self) -> str:
        """The equation as one line of Unicode text."""
        return _text(self)

    def _range(self, printed: Callable[[Index, tuple[str, ...]], str]) -> str:
        """The members the index runs over, where the right side is no table, which names them itself."""
        return "" if self.index is None or isinstance(self.expression, ByMember) else printed(self.index, self.covers)

    def constants(self) -> tuple[str, ...]:
        """The constants that carry a unit, as ``"34 byte/token"``."""
        from mlsysim.symbolic.printing import constants

        return constants(self.expression)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __repr__(self) -> str:
        return f"<Formula {self.id}: {self.text()}>"


@lru_cache(maxsize=2048)
def _latex(formula: Formula, units: bool, aligned: bool) -> str:
    from mlsysim.symbolic.printing import equation, range_latex

    over = formula._range(range_latex)
    return equation(formula.variable.latex, formula.expression, over=over, units=units, aligned=aligned)


@lru_cache(maxsize=2048)
def _text(formula: Formula) -> str:
    from mlsysim.symbolic.printing import range_text, symbol_text, text

    return f"{symbol_text(formula.variable)} = {text(formula.expression)}{formula._range(range_text)}"
