"""Boundaries between regimes: in closed form if the terms are rational in an axis, else traced by bisection."""

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

#: Most operations of an equation to solve, and of a solution to factor.
SOLVED, FACTORED = 400, 80
#: Relative distance within which a solution agrees with the traced boundary.
SAME = 1e-6


@dataclass(frozen=True, eq=False)
class Boundary:
    """Boundary between two regimes.

    Attributes
    ----------
    between : tuple of str
        Names of the two regimes.
    points : ndarray
        Points on it, one row per axis, in the units of the axes; found by bisection between grid points.
    axis : Variable or None
        Axis whose value the formula gives.
    formula : sympy.Expr or None
        Value of the axis on the boundary, in the other axis and constants; None if the terms are not rational in an
        axis, or the formula misses the traced points.
    here : str
        The formula with numbers substituted.
    """

    between: tuple[str, str]
    points: np.ndarray
    axis: Variable | None = None
    formula: Any = None
    here: str = ""

    def text(self) -> str:
        """Return the formula as a line of text; empty without one."""
        return "" if self.axis is None else f"{symbol_text(self.axis)} = {text(self.formula)}"

    def latex(self) -> str:
        """Return the formula as LaTeX; empty without one."""
        return "" if self.axis is None else equation(self.axis.latex, self.formula)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        data: dict[str, Any] = {"between": [*self.between], "points": self.points.T.tolist()}
        return data | ({"axis": self.axis.name, "formula": self.text(), "here": self.here} if self.axis else {})

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
    """Solver of boundaries in closed form.

    Parameters
    ----------
    system : System
        Formulas of the output.
    values : mapping
        Canonical values of inputs and variables that are constant along the axes.
    axes : sequence of Variable
        Numeric axes; the last is solved for first.
    scales : mapping
        Canonical size of the unit of each axis.
    """

    system: System
    values: Mapping[str, Any]
    axes: Sequence[Variable]
    scales: Mapping[str, float]

    def solved(
        self, choice: Choice, codes: tuple[int, int], at: Mapping[str, float], points: Mapping[str, np.ndarray]
    ) -> Any:
        """Solve for the boundary at which a choice changes its term: axis, formula, formula with numbers; None without.

        Parameters
        ----------
        choice : Choice
            Choice that changes.
        codes : tuple of int
            Codes of the two terms.
        at : mapping
            Values of all variables at a point of the boundary.
        points : mapping
            Canonical values of the axes on the boundary.
        """
        chain = Chain(self.system, tuple(axis.name for axis in self.axes), at, SOLVED, (Closed, *STEPS, sympy.Mod))
        for sides in _sides(choice, codes):
            try:
                left, right = (lower(chain.through(side)) for side in sides)
            except NoClosedFormError:
                continue
            solution = self._root(self._shortened(left - right), points)  # type: ignore[operator]
            if solution is not None:
                return solution
        return None

    def _shortened(self, difference: Any) -> Any:
        """Drop terms of a difference that are zero along all axes."""
        zero = [symbol for symbol in difference.free_symbols if np.all(self.values.get(symbol.name, 1.0) == 0)]
        return sympy.factor_terms(exchanged(difference, dict.fromkeys(zero, sympy.Integer(0))))

    def _root(self, difference: Any, points: Mapping[str, np.ndarray]) -> Any:
        """Find the axis and formula at which a difference vanishes, if it passes through the traced points."""
        if difference.count_ops() > SOLVED:
            return None
        numerator = sympy.fraction(sympy.together(difference))[0]
        for axis in reversed(self.axes):
            for root in _roots(numerator, axis.symbol):
                if self._holds(root, axis, points):
                    return axis, root, self._here(root, axis)
        return None

    def _holds(self, root: Any, axis: Variable, points: Mapping[str, np.ndarray]) -> bool:
        """Tell whether a solution passes through all traced points."""
        values = np.asarray(value_at(root, {**self.values, **points}), float)
        wanted = points[axis.name]
        return bool(np.all(np.abs(values - wanted) <= SAME * np.abs(wanted)))

    def _here(self, root: Any, axis: Variable) -> str:
        """Format the solution with numbers for all but the axes, in the units of the axes."""
        numbers = {
            symbol: sympy.Float(self.values[symbol.name]) for symbol in root.free_symbols if symbol.name in self.values
        }
        units_of = {
            other_axis.symbol: other_axis.symbol * sympy.Float(self.scales[other_axis.name]) for other_axis in self.axes
        }
        solution: Any = lower(root).xreplace(numbers).xreplace(units_of)
        solution = solution / self.scales[axis.name]
        solution = sympy.cancel(solution) if solution.count_ops() <= SOLVED else solution
        solution = _simpler(solution)
        rounded = solution.xreplace({number: _short(number) for number in solution.atoms(sympy.Float)})
        if rounded.is_number:
            return f"{axis.name} = {formatting.number(float(solution))}"
        names = {other_axis.symbol: sympy.Symbol(other_axis.name) for other_axis in self.axes}
        return f"{axis.name} = {sympy.sstr(rounded.xreplace(names), full_prec=False).replace('**', '^')}"


def _simpler(expression: Any) -> Any:
    """Normalise a quotient so that the first term of its denominator has coefficient one."""
    fraction: Any = sympy.fraction(expression)
    numerator, denominator = fraction
    first = abs(denominator.as_ordered_terms()[0].as_coeff_Mul()[0])
    return (
        sympy.expand(numerator / first) / sympy.expand(denominator / first)
        if denominator.is_Add and first
        else expression
    )


def _short(number: Any) -> Any:
    """Round a number to four digits; a whole one becomes an integer."""
    rounded = float(f"{float(number):.4g}")
    return sympy.Integer(int(rounded)) if rounded == int(rounded) and abs(rounded) < 1e6 else sympy.Float(rounded, 4)


def _sides(choice: Choice, codes: tuple[int, int]) -> list[tuple[Any, Any]]:
    """Return pairs of expressions that may be equal where a choice changes."""
    if INACTIVE in codes:
        return []
    if choice.is_extreme:
        return [(choice.term(codes[0]), choice.term(codes[1]))]
    conditions = [choice.node.args[code].cond for code in sorted(codes)]
    relations = (relation for condition in conditions for relation in condition.atoms(sympy.core.relational.Relational))
    return [(relation.lhs, relation.rhs) for relation in relations]


def _roots(numerator: Any, symbol: sympy.Symbol) -> list[Any]:
    """Return the values of a symbol at which a polynomial of degree one or two vanishes."""
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
    """Factor a quotient if that is quick, with a numerator that does not begin with a minus."""
    factored = sympy.factor(expression) if expression.count_ops() <= FACTORED else expression
    numerator, denominator = sympy.fraction(sympy.together(factored))
    return -numerator / -denominator if numerator.could_extract_minus_sign() else factored
