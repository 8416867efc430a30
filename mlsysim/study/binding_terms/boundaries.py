"""Boundaries of the binding term: in closed form where the terms are rational in an axis, and traced by bisection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from mlsysim import formatting
from mlsysim.study.binding_terms.terms import INACTIVE, Choice
from mlsysim.study.chain import Chain, NoClosedFormError, roots, value_at
from mlsysim.symbolic import STEPS, Closed, System, Variable, lower
from mlsysim.symbolic.exchange import exchanged
from mlsysim.symbolic.printing import equation, symbol_text, text

#: Operations of an equation up to which it is solved, and of a solution up to which it is brought into product form.
SOLVED, FACTORED = 400, 80
#: Relative distance of a solution from the traced boundary up to which it is the same.
SAME = 1e-6


@dataclass(frozen=True, eq=False)
class Boundary:
    """Boundary between two regimes.

    Attributes
    ----------
    between : tuple of str
        The two regimes.
    points : ndarray
        Places on it, one row per axis, in the units of the axes; found by bisection between points of the grid.
    axis : Variable or None
        The axis for which the formula gives the value.
    formula : sympy.Expr or None
        Its value on the boundary, in the other axis and what does not depend on an axis; None where the terms are
        not rational in an axis, or the formula misses the traced points.
    here : str
        The same with numbers put in.
    """

    between: tuple[str, str]
    points: np.ndarray
    axis: Variable | None = None
    formula: Any = None
    here: str = ""

    def text(self) -> str:
        """The formula as a line of text; empty without one."""
        return "" if self.axis is None else f"{symbol_text(self.axis)} = {text(self.formula)}"

    def latex(self) -> str:
        """The formula as LaTeX; empty without one."""
        return "" if self.axis is None else equation(self.axis.latex, self.formula)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        found: dict[str, Any] = {"between": [*self.between], "points": self.points.T.tolist()}
        return found | ({"axis": self.axis.name, "formula": self.text(), "here": self.here} if self.axis else {})

    def __str__(self) -> str:
        lines = [f"{self.between[0]} | {self.between[1]}"]
        if self.axis:
            lines += [f"  {self.text()}", f"  {self.here}"]
        else:
            count = self.points.shape[1]
            lines += [f"  no closed form; traced at {count} place{'s' if count > 1 else ''}"]
        return "\n".join(lines)


@dataclass(frozen=True)
class Solver:
    """Boundaries as formulas.

    Parameters
    ----------
    system : System
        The formulas of the output.
    values : mapping
        Canonical numbers of inputs and variables that depend on no axis.
    axes : sequence of Variable
        Numbers along the axes; the last is solved for first.
    scales : mapping
        Canonical amount of the unit of each axis.
    """

    system: System
    values: Mapping[str, Any]
    axes: Sequence[Variable]
    scales: Mapping[str, float]

    def solved(
        self, choice: Choice, codes: tuple[int, int], at: Mapping[str, float], points: Mapping[str, np.ndarray]
    ) -> Any:
        """Axis, formula and the formula with numbers, where a choice goes from one term to another; None without.

        Parameters
        ----------
        choice : Choice
            What changes.
        codes : tuple of int
            From which term to which.
        at : mapping
            Every value at a point of the boundary.
        points : mapping
            Canonical values of the axes on the boundary.
        """
        chain = Chain(self.system, tuple(axis.name for axis in self.axes), at, SOLVED, (Closed, *STEPS, sympy.Mod))
        for sides in _sides(choice, codes):
            try:
                left, right = (lower(chain.through(side)) for side in sides)
            except NoClosedFormError:
                continue
            found = self._root(self._shortened(left - right), points)  # type: ignore[operator]
            if found is not None:
                return found
        return None

    def _shortened(self, difference: Any) -> Any:
        """A difference without what is zero along all axes."""
        zero = [s for s in difference.free_symbols if np.all(self.values.get(s.name, 1.0) == 0)]
        return sympy.factor_terms(exchanged(difference, dict.fromkeys(zero, sympy.Integer(0))))

    def _root(self, difference: Any, points: Mapping[str, np.ndarray]) -> Any:
        """Axis and formula of where a difference vanishes, if it goes through the traced points."""
        if difference.count_ops() > SOLVED:
            return None
        numerator = sympy.fraction(sympy.together(difference))[0]
        for axis in reversed(self.axes):
            for root in _roots(numerator, axis.symbol):
                if self._holds(root, axis, points):
                    return axis, root, self._here(root, axis)
        return None

    def _holds(self, root: Any, axis: Variable, points: Mapping[str, np.ndarray]) -> bool:
        """Tell whether a solution goes through all traced points."""
        found = np.asarray(value_at(root, {**self.values, **points}), float)
        wanted = points[axis.name]
        return bool(np.all(np.abs(found - wanted) <= SAME * np.abs(wanted)))

    def _here(self, root: Any, axis: Variable) -> str:
        """The solution with numbers for all but the axes, in the units of the axes."""
        numbers = {s: sympy.Float(self.values[s.name]) for s in root.free_symbols if s.name in self.values}
        units_of = {each.symbol: each.symbol * sympy.Float(self.scales[each.name]) for each in self.axes}
        found: Any = lower(root).xreplace(numbers).xreplace(units_of)
        found = found / self.scales[axis.name]
        found = sympy.cancel(found) if found.count_ops() <= SOLVED else found
        found = _simpler(found)
        rounded = found.xreplace({number: _short(number) for number in found.atoms(sympy.Float)})
        if rounded.is_number:
            return f"{axis.name} = {formatting.number(float(found))}"
        names = {each.symbol: sympy.Symbol(each.name) for each in self.axes}
        return f"{axis.name} = {sympy.sstr(rounded.xreplace(names), full_prec=False).replace('**', '^')}"


def _simpler(expression: Any) -> Any:
    """A quotient in which the first term below has the factor one."""
    parts: Any = sympy.fraction(expression)
    above, below = parts
    first = abs(below.as_ordered_terms()[0].as_coeff_Mul()[0])
    return sympy.expand(above / first) / sympy.expand(below / first) if below.is_Add and first else expression


def _short(number: Any) -> Any:
    """A number with four digits; a whole one without a point."""
    found = float(f"{float(number):.4g}")
    return sympy.Integer(int(found)) if found == int(found) and abs(found) < 1e6 else sympy.Float(found, 4)


def _sides(choice: Choice, codes: tuple[int, int]) -> list[tuple[Any, Any]]:
    """Pairs of expressions that may be equal where a choice changes."""
    if INACTIVE in codes:
        return []
    if choice.is_extreme:
        return [(choice.term(codes[0]), choice.term(codes[1]))]
    conditions = [choice.node.args[code].cond for code in sorted(codes)]
    relations = (each for condition in conditions for each in condition.atoms(sympy.core.relational.Relational))
    return [(each.lhs, each.rhs) for each in relations]


def _roots(numerator: Any, symbol: sympy.Symbol) -> list[Any]:
    """Values of a symbol at which a polynomial of first or second degree vanishes."""
    if not numerator.has(symbol) or not numerator.is_polynomial(symbol):
        return []
    try:
        coefficients = sympy.Poly(numerator, symbol).all_coeffs()
    except sympy.PolynomialError:
        return []
    if len(coefficients) == 3 and not coefficients[1]:
        return [sympy.sqrt(_tidy(-coefficients[2] / coefficients[0]))]
    return roots(coefficients, _tidy)


def _tidy(expression: Any) -> Any:
    """A quotient in product form where that is quick, with a numerator that does not begin with a minus."""
    found = sympy.factor(expression) if expression.count_ops() <= FACTORED else expression
    above, below = sympy.fraction(sympy.together(found))
    return -above / -below if above.could_extract_minus_sign() else found
