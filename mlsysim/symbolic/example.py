"""Publication of a formula, and a worked example."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sympy

from mlsysim import units
from mlsysim.errors import FormulaError, quoted
from mlsysim.references import Reference, reference
from mlsysim.symbolic.variable import Variable
from mlsysim.tracebacks import at_the_call

_RESULT = re.compile(r"\s*(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(\S.*)?")


@at_the_call
@dataclass(frozen=True, slots=True)
class Source:
    """Citation of a formula, table or example.

    Parameters
    ----------
    key : str
        Citation key in the bibliography, a URL, or ``"own"`` for the author's own derivation or measurement.
    place : str
        Section, equation or table; for own work, the method.

    Raises
    ------
    UnknownNameError
        If no work has the key; ``mlsysim.add_reference`` adds one's own.

    Examples
    --------
    >>> from mlsysim import Source
    >>> Source("rajbhandari2020", "section 5").text()
    'rajbhandari2020, section 5'
    """

    key: str
    place: str = ""

    def __post_init__(self) -> None:
        reference(self.key)

    @property
    def work(self) -> Reference:
        """Work that is cited."""
        return reference(self.key)

    def text(self) -> str:
        """Citation as printed: ``rajbhandari2020, section 5``."""
        return f"{self.key}, {self.place}" if self.place else self.key


@at_the_call
@dataclass(frozen=True)
class Example:
    """A worked example: a number its source prints, or one derived by hand.

    Parameters
    ----------
    inputs : dict
        Value per symbol on the right side, in the unit of its variable; labels as text.
    result : str
        Number with unit, or a label. The last printed digit sets the claimed precision.
    source : Source, optional
        Publication of the number.
    derived : str
        Arithmetic, if no source prints the number: ``"7.5e9 * 2 / 64 / 1e9"`` gives the number of ``result`` in its
        unit. For a label, the comparison that decides, which must be true.
    member : str
        Member of an indexed formula to which the example belongs; by default the first.

    Raises
    ------
    FormulaError
        If not exactly one of ``source`` and ``derived`` is given.

    Examples
    --------
    >>> from mlsysim.formulas import topic
    >>> topic("roofline").FORMULAS[0].example.value()
    (962070000000.0, 5000000.0)
    """

    inputs: dict[sympy.Symbol, Any]
    result: str
    source: Source | None = None
    derived: str = ""
    member: str = ""

    def __post_init__(self) -> None:
        if (self.source is None) == (not self.derived):
            raise FormulaError(f"example {self.result!r}: give the source that prints it, or how it is derived")

    def value(self) -> tuple[float, float]:
        """Published number in canonical units, and half a unit of its last printed digit.

        Raises
        ------
        FormulaError
            If the result is not a number followed by a unit.
        """
        number = Decimal(self._parts()[0])
        half = Decimal(5).scaleb(int(number.as_tuple().exponent) - 1)
        return float(number) * units.factor(self.unit()), float(half) * units.factor(self.unit())

    def unit(self) -> str:
        """Unit of the published number."""
        return self._parts()[1]

    def _parts(self) -> tuple[str, str]:
        match = _RESULT.fullmatch(self.result)
        if not match:
            raise FormulaError(f"example result {self.result!r} is not a number with a unit")
        return match[1], (match[2] or "").strip()

    def check(self, variable: Variable, needed: Iterable[Variable]) -> None:
        """Refuse an example that does not fit its formula.

        Parameters
        ----------
        variable : Variable
            Variable that the formula defines.
        needed : iterable of Variable
            Inputs of the formula.

        Raises
        ------
        FormulaError
            If it has other inputs, a value outside its input's domain, or a result in another unit.
        """
        inputs = {v.name: v for v in needed}
        values = {symbol.name: value for symbol, value in self.inputs.items()}
        if values.keys() != inputs.keys():
            has, needs = (", ".join(sorted(names)) or "nothing" for names in (values, inputs))
            raise FormulaError(f"its example gives {has}, but {variable.name} needs {needs}")
        for name, value in values.items():
            if not inputs[name].domain.spans(value):
                allowed = inputs[name].domain.describe()
                raise FormulaError(f"its example has {name}={quoted(value)}, which must be {allowed}")
        labels = {"choice": variable.domain.labels, "boolean": ("True", "False")}.get(variable.domain.kind)
        if labels is not None and self.result.strip() not in labels:
            raise FormulaError(f"its example prints {self.result!r}, which must be one of {', '.join(labels)}")
        if labels is None and units.dimension(self.unit()) != variable.dimension:
            unit = variable.unit or "pure numbers"
            raise FormulaError(f"its example prints {self.result!r}, but {variable.name} is declared in {unit}")
