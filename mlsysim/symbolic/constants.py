"""Named constants in an expression: units (``34 * byte``) and labels (``precision`` is ``fp16``).

Both stay symbols until an expression is compiled or printed, so that dimensions can be checked and
names can be shown; :func:`lower` then puts the plain numbers in.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import sympy

from mlsysim import units
from mlsysim.symbolic.exchange import exchanged, numbered
from mlsysim.symbolic.variable import variable_of


@cache
def _amount(unit: str) -> sympy.Expr:
    return sympy.nsimplify(units.factor(unit), rational=True)


class UnitSymbol(sympy.Symbol):
    """A unit in an expression, equal to its canonical amount.

    Parameters
    ----------
    name : str
        Name of the unit.

    Examples
    --------
    >>> from mlsysim import UnitSymbol
    >>> UnitSymbol("GB").amount
    1000000000
    """

    def __new__(cls, name: str, **_: Any) -> UnitSymbol:
        """Build the symbol of a unit name known to the registry."""
        units.check(name)
        return super().__new__(cls, name, positive=True)

    @property
    def amount(self) -> sympy.Expr:
        """Canonical amount as an exact number."""
        return _amount(self.name)

    @property
    def dimension(self) -> dict[str, Any]:
        """Exponent per base dimension."""
        return units.dimension(self.name)


class Label(sympy.Symbol):
    """A label of a choice variable, equal to its code."""

    def __new__(cls, name: str, **_: Any) -> Label:
        """Build the symbol of ``"variable.label"``."""
        return super().__new__(cls, name, integer=True, nonnegative=True)

    @property
    def variable_name(self) -> str:
        """Name of the choice variable."""
        return self.name.partition(".")[0]

    @property
    def text(self) -> str:
        """Label as users read it."""
        return self.name.partition(".")[2]

    @property
    def code(self) -> sympy.Integer:
        """Number that compiled code uses."""
        return sympy.Integer(variable_of(self.variable_name).code(self.text))


def label(symbol: sympy.Symbol, text: str) -> Label:
    """Build the constant for a label of a choice variable.

    Parameters
    ----------
    symbol : sympy.Symbol
        Symbol of a choice variable.
    text : str
        One of its labels.

    Returns
    -------
    Label

    Raises
    ------
    UnknownNameError
        If the variable has no such label.

    Examples
    --------
    >>> from mlsysim import choice, label, variable
    >>> mode = variable("mode_of_examples", "m", "", "Mode of a disk.", choice("read", "write"))
    >>> print(label(mode, "write"))
    mode_of_examples.write
    """
    variable_of(symbol).code(text)
    return Label(f"{symbol.name}.{text}")


@lru_cache(maxsize=1 << 14)
def lower(expression: sympy.Basic) -> sympy.Basic:
    """Replace units and labels by numbers and remainders by floors, so that the expression can be compiled.

    Parameters
    ----------
    expression : sympy.Basic
        Any expression.

    Returns
    -------
    sympy.Basic

    Examples
    --------
    >>> from mlsysim import byte
    >>> from mlsysim.symbolic import lower
    >>> lower(3 * byte)
    3
    """
    swaps: dict[sympy.Basic, sympy.Basic] = {}
    atoms = expression.atoms(UnitSymbol, Label, sympy.Mod)
    for atom in atoms:
        if not isinstance(atom, sympy.Mod):
            swaps[atom] = atom.amount if isinstance(atom, UnitSymbol) else atom.code  # type: ignore[union-attr]
    return exchanged(expression, swaps, numbered) if atoms else expression


byte = UnitSymbol("byte")
flop = UnitSymbol("FLOP")
token = UnitSymbol("token")
request = UnitSymbol("request")
