"""Formulas: a variable, its expression, and their documentation."""

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


def _expression(value: Any, name: str) -> sympy.Basic:
    """Convert a right side to sympy; text is refused, because parsing it would execute it."""
    try:
        expression = sympy.sympify(value, strict=True)
    except (sympy.SympifyError, TypeError, ValueError):
        raise FormulaError(f"formula for {name}: {quoted(value)} is not an expression of declared symbols") from None
    if expression is sympy.nan:
        raise FormulaError(f"formula for {name}: the right side is not a number")
    return expression


@at_the_call
@dataclass(frozen=True, eq=False)
class Formula:
    """An equation ``variable = expression``; its dimensions are checked on declaration.

    Parameters
    ----------
    symbol : sympy.Symbol
        Left side: symbol of the defined variable, or the generic symbol of a family.
    expression : sympy.Basic
        Right side, in declared symbols, unit constants and labels. If the left side is a family, it may contain generic
        symbols of the same index, and tables over its members.
    title : str
        Short name for readers.
    source : Source
        Publication it is from.
    assumes : str
        Assumptions and validity.
    convention : str
        What is counted and how: GB or GiB, which rank, what is included.
    accuracy : str
        Deviation from measurements, and from which.
    variant : str
        Name of this form if the variable has several published forms; else empty.
    example : Example, optional
        Worked example.
    no_example : str
        Reason why there is no example; required if ``example`` is missing.
    given : sympy Boolean
        Condition on the inputs under which the variable lies in its domain, for example that a quotient is whole.
        Models must require it.

    Attributes
    ----------
    variable : Variable
        Defined variable.
    inputs : tuple of Variable
        Variables on the right side, sorted by name; generic ones if the formula has an index.
    covers : tuple of str
        Members that an indexed formula stands for; empty without an index.
    member : str
        Name of the member, if an indexed formula stands for this one.
    printed : Formula
        Formula to print in place of this one: itself, or the indexed formula or sum from which it was expanded.

    Raises
    ------
    UnitError
        If the right side does not have the variable's dimension.
    FormulaError
        If the variable is on both sides, example and reason are both missing, an indexed term lacks a member of the
        left side, or the right side cannot be proven to stay in the variable's domain.

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
            dimension = dimension_of(self.expression)
        except UnitError as error:
            raise UnitError(f"formula for {name}: {error}") from None
        if not same(dimension, self.variable.dimension):
            raise UnitError(
                f"formula for {name}: the right side is {describe(dimension)}, "
                f"but {name} is declared in {self.variable.unit or 'pure numbers'} "
                f"({describe(self.variable.dimension)})"
            )
        symbols = self._symbols()
        for symbol in (self.symbol, *sorted(symbols, key=lambda symbol: symbol.name)):
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
        # The package's own formulas are checked by its tests: checking takes a tenth of the time of a first answer.
        if not caller(__name__).startswith("mlsysim.formulas."):
            self.check_domain()

    def _symbols(self) -> set[Any]:
        """Collect the symbols of variables on the right side."""
        return {s for s in free_symbols(self.expression) if not isinstance(s, UnitSymbol | Label)}

    def _take_inputs(self, symbols: set[Any]) -> None:
        if self.symbol in symbols:
            raise FormulaError(f"formula for {self.name}: {self.name} stands on both sides")
        object.__setattr__(self, "inputs", tuple(sorted(map(variable_of, symbols), key=lambda v: v.name)))

    def _check_index(self) -> None:
        """Refuse an indexed term that lacks a member of the left side, and an index that prints like a variable."""
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
        """Refuse an example that does not suit its member."""
        assert worked.example is not None
        try:
            worked.example.check(worked.variable, worked.inputs)
        except MlsysimError as error:
            raise FormulaError(f"formula for {self.name}: {error}") from None

    def check_domain(self) -> None:
        """Refuse a right side that may leave the variable's domain, given the domains of its symbols.

        Raises
        ------
        FormulaError
            If a member may leave it.
        """
        for formula in self.members:
            formula._check_domain()

    def _check_domain(self) -> None:
        variable = self.variable
        if self.given == sympy.false:  # no model accepts a point
            return
        if variable.domain.kind != "boolean" and variable.domain != Domain():
            interval = range_of(self.expression, self.given)
            if not_shown := unshown(variable, interval):
                raise FormulaError(
                    f"formula for {self.name}: the right side could not be shown to be {not_shown}, as "
                    f"{self.name} is declared ({variable.domain.describe()}); from the domains of its inputs follows "
                    f"{interval.describe(variable)}"
                    f"{', whole' if interval.whole else ''}. Declare {self.name} without a "
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
        """Family that the formula defines; None for a plain variable."""
        return family_of(self.symbol)

    @property
    def calls(self) -> tuple[Variable, ...]:
        """Variables that the equation evaluates at other inputs, by name."""
        targets = {node.target for node in stated(self.expression) if isinstance(node, EvaluatedAt)}
        return tuple(map(variable_of, sorted(targets)))

    @property
    def index(self) -> Index | None:
        """Index of the left side; None for a plain variable."""
        return self.family.index if self.family else None

    @property
    def members(self) -> tuple[Formula, ...]:
        """Plain formulas that it stands for: one per member, with sums expanded; itself if it has no index."""
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
        """Plain formula to which the example belongs; the formula must have an example."""
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
        """Derive one of the plain formulas that this one stands for."""
        words = f", {self.index.members[member]}" if self.index else ""
        derived = copy(self)
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
            object.__setattr__(derived, name, value)
        derived._take_inputs(derived._symbols())
        if not self.index and example:
            self._check_example(derived)
        return derived

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
        derived = self._put_down(self.symbol, expression, self.member, None)
        vars(derived).pop("_members", None)
        changed = {
            "title": f"{self.title} (relaxed)",
            "variant": "relaxed",
            "no_example": "a continuous relaxation has no published number",
            "printed": derived,
        }
        for name, value in changed.items():
            object.__setattr__(derived, name, value)
        return derived

    def only(self, members: Iterable[str]) -> Formula:
        """Restrict the formula to some of its members, to print it in a system that lacks the others.

        Parameters
        ----------
        members : iterable of str
            Some of the members that it covers.
        """
        wanted = set(members)
        covered = tuple(member for member in self.covers if member in wanted)
        if covered == self.covers:
            return self
        restricted = copy(self)
        object.__setattr__(restricted, "covers", covered)
        object.__setattr__(restricted, "expression", limited(self.expression, covered))
        object.__setattr__(
            restricted, "_members", tuple(formula for formula in self.members if formula.member in covered)
        )
        return restricted

    @property
    def name(self) -> str:
        """Name of the defined variable."""
        return self.variable.name

    @property
    def id(self) -> str:
        """Name, with the variant in brackets if there is one."""
        return f"{self.name}[{self.variant}]" if self.variant else self.name

    def latex(self, *, units: bool = False, aligned: bool = False) -> str:
        """Format the equation as LaTeX, on several lines if it is too wide for a page.

        Parameters
        ----------
        units : bool
            Also print the unit of every constant. By default the equation is read in coherent units (byte, second,
            FLOP, token, request).
        aligned : bool
            Return rows for an ``align`` environment, with ``&`` before the equals sign, instead of a whole equation.
        """
        return _latex(self, units, aligned)

    def text(self) -> str:
        """Format the equation as one line of Unicode text."""
        return _text(self)

    def _range(self, printed: Callable[[Index, tuple[str, ...]], str]) -> str:
        """Format the range of the index; empty for a table, which names its members itself."""
        return "" if self.index is None or isinstance(self.expression, ByMember) else printed(self.index, self.covers)

    def constants(self) -> tuple[str, ...]:
        """List the constants that carry a unit, as ``"34 byte/token"``."""
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
