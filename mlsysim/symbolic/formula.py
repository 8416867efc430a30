"""Formulas: one variable, one expression, with everything a reader asks of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import sympy

from mlsysim import units
from mlsysim.errors import FormulaError, UnitError, shown
from mlsysim.references import Reference, reference
from mlsysim.symbolic.constants import Label, UnitSymbol
from mlsysim.symbolic.dimensions import describe, dimension_of, same
from mlsysim.symbolic.variable import Variable, variable_of


@dataclass(frozen=True, slots=True)
class Source:
    """Where a formula, a table or an example is printed.

    Parameters
    ----------
    key : str
        Citation key in the bibliography.
    place : str
        Section, equation or table.

    Raises
    ------
    UnknownNameError
        If no work has the key; ``mlsysim.references.add_reference`` adds one's own.
    """

    key: str
    place: str = ""

    def __post_init__(self) -> None:
        reference(self.key)

    @property
    def work(self) -> Reference:
        """The cited work."""
        return reference(self.key)

    def text(self) -> str:
        """Citation as printed: ``rajbhandari2020, section 5``."""
        return f"{self.key}, {self.place}" if self.place else self.key


@dataclass(frozen=True)
class Example:
    """A worked example: a number its source prints, or one derived by hand.

    Parameters
    ----------
    inputs : dict
        Value per symbol on the right side, in the unit of its variable; labels as text.
    result : str
        A number and its unit, or a label. The last printed digit is the precision claimed.
    source : Source, optional
        Where the number is printed.
    derived : str
        The arithmetic, where no source prints the number: ``"7.5e9 * 2 / 64 / 1e9"`` gives the
        number of ``result`` in its unit. For a label, the comparison that decides, which is true.

    Raises
    ------
    FormulaError
        If not exactly one of ``source`` and ``derived`` is given.
    """

    inputs: dict[sympy.Symbol, Any]
    result: str
    source: Source | None = None
    derived: str = ""

    def __post_init__(self) -> None:
        if (self.source is None) == (not self.derived):
            raise FormulaError(f"example {self.result!r}: give the source that prints it, or how it is derived")

    def value(self) -> tuple[float, float]:
        """The printed number in canonical units, and half a unit of its last printed digit.

        Raises
        ------
        FormulaError
            If the result is not a number followed by a unit.
        """
        match = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)(e[+-]?\d+)?\s*(\S.*)?", self.result)
        if not match:
            raise FormulaError(f"example result {self.result!r} is not a number with a unit")
        number = Decimal(match[1] + (match[2] or ""))
        unit = (match[3] or "").strip()
        half = Decimal(5).scaleb(int(number.as_tuple().exponent) - 1)
        return float(number) * units.factor(unit), float(half) * units.factor(unit)


def _expression(given: Any, name: str) -> sympy.Basic:
    """The right side as sympy; text is not read, as reading it would run it."""
    try:
        expression = sympy.sympify(given, strict=True)
    except (sympy.SympifyError, TypeError, ValueError):
        raise FormulaError(f"formula for {name}: {shown(given)} is not an expression of declared symbols") from None
    if expression is sympy.nan:
        raise FormulaError(f"formula for {name}: the right side is not a number")
    return expression


@dataclass(frozen=True, eq=False)
class Formula:
    """One equation ``variable = expression``, its dimensions checked as it is declared.

    Parameters
    ----------
    symbol : sympy.Symbol
        Left side: symbol of the variable it defines.
    expression : sympy.Basic
        Right side, in declared symbols, unit constants and labels.
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

    Attributes
    ----------
    variable : Variable
        What it defines.
    inputs : tuple of Variable
        What the right side needs, by name.

    Raises
    ------
    UnitError
        If the dimension of the right side is not that of the variable.
    FormulaError
        If the variable stands on both sides, or neither example nor reason is given.
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
    variable: Variable = field(init=False)
    inputs: tuple[Variable, ...] = field(init=False)

    def __post_init__(self) -> None:
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
        symbols = {s for s in self.expression.free_symbols if not isinstance(s, UnitSymbol | Label)}
        for symbol in (self.symbol, *sorted(symbols, key=str)):
            if variable_of(str(symbol)).symbol != symbol:  # sympy tells symbols of other assumptions apart
                raise FormulaError(f"formula for {name}: {symbol} is not the symbol that variable() gave for that name")
        if self.symbol in symbols:
            raise FormulaError(f"formula for {name}: {name} stands on both sides")
        if not isinstance(self.source, Source):
            raise FormulaError(f"formula for {name}: source={self.source!r} must be a Source(key, place)")
        if self.example is None and not self.no_example:
            raise FormulaError(f"formula for {name}: give an example, or say why there is none")
        object.__setattr__(self, "inputs", tuple(sorted(map(variable_of, symbols), key=lambda v: v.name)))  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        """Name of the variable it defines."""
        return self.variable.name

    @property
    def id(self) -> str:
        """Name, with the variant in brackets where there is one."""
        return f"{self.name}[{self.variant}]" if self.variant else self.name

    def latex(self, *, units: bool = False) -> str:
        """The equation as LaTeX.

        Parameters
        ----------
        units : bool
            Also print the unit of every constant; by default the equation is read in coherent
            units (byte, second, FLOP, token, request).
        """
        from mlsysim.symbolic.printing import latex

        return f"{self.variable.latex} = {latex(self.expression, units=units)}"

    def text(self) -> str:
        """The equation as one line of Unicode text."""
        from mlsysim.symbolic.printing import symbol_text, text

        return f"{symbol_text(self.variable)} = {text(self.expression)}"

    def constants(self) -> tuple[str, ...]:
        """The constants that carry a unit, as ``"34 byte/token"``."""
        from mlsysim.symbolic.printing import constants

        return constants(self.expression)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __repr__(self) -> str:
        return f"<Formula {self.id}: {self.text()}>"
