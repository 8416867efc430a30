"""Explanations: each formula with its substituted numbers, its value, and the term that binds."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import sympy

from mlsysim import formatting, units
from mlsysim.backends import compiled_expression
from mlsysim.catalog import Sourced
from mlsysim.inputs.binding import DEFAULT
from mlsysim.inputs.recipe import FromRecipe, Origin
from mlsysim.study.results.display import as_text
from mlsysim.symbolic import (
    ChunkedPrefill,
    EvaluatedAt,
    Formula,
    LeastInteger,
    Root,
    System,
    UnitSymbol,
    family_of,
    variable_of,
)
from mlsysim.symbolic.dimensions import dimension_of, same
from mlsysim.symbolic.exchange import exchanged, rebuilt
from mlsysim.symbolic.functions import Unknown
from mlsysim.symbolic.indexed import ByMember, Total, tables
from mlsysim.symbolic.printing import amount_latex, latex, latex_to_text, listed, symbol_text, text
from mlsysim.symbolic.variable import declaration_order

#: Expressions that are explained as a whole.
WHOLE = (ChunkedPrefill, EvaluatedAt, LeastInteger, Root)


class Explanation:
    """Derivation of outputs from inputs, as text.

    Parameters
    ----------
    system : System
        Formulas to explain, in order.
    values : mapping
        Canonical value of every input and variable.
    origins : mapping
        Origin of each input.
    beside : str
        Remark that is printed below the inputs.
    """

    def __init__(
        self, system: System, values: Mapping[str, Any], origins: Mapping[str, Origin], beside: str = ""
    ) -> None:
        self.system = system
        self.beside = beside
        self.values = {name: float(value) for name, value in values.items()}
        self.origins = origins

    def steps(self) -> tuple[str, ...]:
        """Return a block of text per formula with an effect; an indexed formula has a row per member."""
        return tuple(self._members(formula) if formula.index else self._step(formula) for formula in self.shown)

    @cached_property
    def shown(self) -> tuple[Formula, ...]:
        """Printed formulas, without those that have no effect because an input is zero by default."""
        return tuple(
            formula
            for formula in self.system.printed
            if any(member.name in self._effective for member in formula.members)
        )

    @cached_property
    def _absent(self) -> dict[Any, Any]:
        """Symbols of inputs that are zero by default."""
        return {variable.symbol: sympy.Integer(0) for variable in self.system.inputs if self._is_absent(variable.name)}

    @cached_property
    def _effective(self) -> frozenset[str]:
        """Variables and inputs that an output depends on once terms that are zero by default are removed."""
        absent: dict[Any, Any] = dict(self._absent)
        needs: dict[str, set[str]] = {}
        for formula in self.system:
            folded: Any = exchanged(formula.expression, absent)
            if folded == 0 and absent:
                absent[formula.variable.symbol] = folded
            needs[formula.name] = {str(symbol) for symbol in sympy.sympify(folded).free_symbols}
        used = {name for formula in self.system for name in map(str, formula.expression.free_symbols)}
        effective = {formula.name for formula in self.system if formula.name not in used}
        for name in reversed(needs):
            if name in effective:
                effective |= needs[name]
        return frozenset(effective)

    def _is_absent(self, name: str) -> bool:
        return self.origins.get(name) == DEFAULT and self.values[name] == 0

    def given(self) -> str:
        """List the inputs with their sources."""
        lines = []
        used = {variable.name for variable in self.system.inputs}
        hidden = sum(name in used and self._is_absent(name) and name not in self._effective for name in self.origins)
        for variable in (variable_of(name) for name in self.origins if name in used):
            if self._is_absent(variable.name) and variable.name not in self._effective:
                continue
            origin = self.origins[variable.name]
            row = f"  {symbol_text(variable):<15} {self._value(variable.name):<16} {variable.name}  [{_short(origin)}]"
            lines += _wrapped(row, 120)
        if hidden:
            lines.append(f"  {hidden} more that are 0 by default")
        return "\n".join([*lines, *_wrapped(f"  {self.beside}")] if self.beside else lines)

    def __str__(self) -> str:
        return "\n\n".join(["Inputs\n" + self.given(), *self.steps()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Typeset each equation with its numbers in a folded block; the last one is open."""
        *first, last = self.shown
        blocks = [_folded("Inputs", _preformatted(self.given()))]
        blocks += [self._typeset(formula) for formula in first]
        return "".join([*blocks, self._typeset(last, is_open=True)])

    def _typeset(self, formula: Formula, is_open: bool = False) -> str:
        """Typeset an equation with numbers and notes; indexed ones, or those without inline numbers, stay text."""
        source = f"<p>{html.escape(formula.source.text())}</p>"
        if formula.index:
            equation, rows = f"$$\\displaystyle {formula.latex()}$$", self._members(formula).splitlines()[1:]
            return _folded(formula.title, f"{source}{equation}{_preformatted(chr(10).join(rows))}", is_open)
        value = self._value(formula.name)
        expression = formula.members[0].expression
        lines = [formula.latex(aligned=True)]
        taken = self._with_held_cases(expression)
        names = self._named_in(taken)
        if names and self._inserted(taken) != value:
            lines.append(f"&= {latex(taken, values={name: self._value(name) for name in names})}")
        lines.append(f"&= {amount_latex(value)}")
        equation = r" \\ ".join(lines)
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self._notes(expression, formula.variable.unit))
        title = f"{formula.title}: {symbol_text(formula.variable)} = {value}"
        return _folded(title, f"{source}$$\\begin{{align*}}{equation}\\end{{align*}}$${notes}", is_open)

    def _value(self, name: str) -> str:
        return as_text(variable_of(name), self.values[name])

    def _number(self, expression: Any) -> float:
        return float(compiled_expression(expression)(self.values)["value"])

    def _step(self, formula: Formula) -> str:
        left = symbol_text(formula.variable)
        expression = formula.members[0].expression
        inserted = self._sums_inserted(formula.expression) or self._inserted(self._with_held_cases(expression))
        lines = [*self._equation(formula)]
        value = self._value(formula.name)
        pad = " " * (len(left) + 2)
        if inserted is not None and inserted != value:
            lines.append(f"{pad} = {inserted}")
        lines.append(f"{pad} = {value}")
        lines += [f"{pad}   {note}" for note in self._notes(expression, formula.variable.unit)]
        return "\n".join(line for long in lines for line in _wrapped(long))

    def _equation(self, formula: Formula) -> list[str]:
        return [f"{formula.title}  [{formula.source.text()}]", f"  {formula.text()}"]

    def _members(self, formula: Formula) -> str:
        """Format an indexed formula: the equation once, unless it is a table, and a row per member."""
        title, equation = self._equation(formula)
        head = [title] if isinstance(formula.expression, ByMember) else [title, equation]
        return "\n".join(line for long in (*head, *self._table(formula)) for line in _wrapped(long))

    def _table(self, formula: Formula) -> list[str]:
        """List a row per member, with inputs and binding terms; members that are zero share a line."""
        assert formula.index is not None
        members = [formula_of_member for formula_of_member in formula.members if self.values[formula_of_member.name]]
        zero_members = [member.member for member in formula.members if not self.values[member.name]]
        header = [latex_to_text(formula.index.letter), symbol_text(formula.variable)]
        columns = [[member.member for member in members], [self._value(member.name) for member in members]]
        if any(tables(formula.expression)):
            header.append("")
            texts = [
                (text(member.expression), self._inserted(self._with_held_cases(member.expression)))
                for member in members
            ]
            columns.append([f"{form} = {numbers}" if numbers else form for form, numbers in texts])
        else:
            order = declaration_order()
            names = sorted((variable.name for variable in formula.inputs), key=order.__getitem__)
            for family in filter(None, map(family_of, names)):
                header.append(symbol_text(family.variable))
                columns.append([self._value(family[member.member].name) for member in members])
        notes = ["; ".join(self._binding(member.expression, member.variable.unit)) for member in members]
        if any(notes):
            header.append("binds")
            columns.append(notes)
        columns = [[head, *column] for head, column in zip(header, columns, strict=True)] if members else []
        widths = [max(map(len, column)) for column in columns]
        rows = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in zip(*columns, strict=True)
        ]
        return [f"  {row}" for row in (*rows, *([f"zero for {', '.join(zero_members)}"] if zero_members else []))]

    def _named_in(self, expression: sympy.Basic) -> list[str]:
        """Return the symbols with numbers to substitute; none if these would not show how the value is computed."""
        if expression.has(ChunkedPrefill, LeastInteger, Root):
            return []
        return [symbol.name for symbol in expression.free_symbols if symbol.name in self.values]  # type: ignore[attr-defined]

    def _inserted(self, expression: sympy.Basic) -> str | None:
        names = self._named_in(expression)
        if not names:
            return None
        return text(expression, {name: self._value(name) for name in names})

    def _sums_inserted(self, expression: sympy.Basic) -> str | None:
        """Substitute numbers, with each sum over members in brackets; None if that would be hard to read."""
        sums = expression.atoms(Total)
        terms = {node.term for node in sums}
        cases = any(node.has(Total) for node in expression.atoms(sympy.Piecewise))
        if (
            not sums
            or expression in sums
            or cases
            or len(terms) < len(sums)
            or not all(term.is_Symbol for term in terms)
        ):
            return None
        written = {str(node.term): " + ".join(map(self._value, _added(node))) for node in sums}
        taken = self._with_held_cases(expression.xreplace({node: node.term for node in sums}))
        names = [symbol.name for symbol in taken.free_symbols if symbol.name in self.values]
        values = {name: self._value(name) for name in names} | {
            name: f"({numbers})" for name, numbers in written.items()
        }
        return text(taken, values)

    def _holds(self, condition: Any) -> bool:
        return bool(condition == True or (condition != False and self._number(condition)))  # noqa: E712

    def _with_held_cases(self, expression: Any) -> Any:
        """Replace each case distinction by the case that holds, and absent inputs by zero."""
        if isinstance(expression, sympy.Piecewise):
            for value, condition in expression.args:  # type: ignore[misc]
                if self._holds(condition):
                    return self._with_held_cases(value)
        if not expression.args or isinstance(expression, WHOLE):
            return self._absent.get(expression, expression)
        args = [self._with_held_cases(arg) for arg in expression.args]
        if isinstance(expression, sympy.Max | sympy.Min) and tuple(args) != expression.args:
            return listed(expression, args)
        return rebuilt(expression, args)

    def _notes(self, expression: Any, unit: str) -> list[str]:
        """Note the case that holds and the argument that binds in a maximum or minimum, in the unit of the formula."""
        if isinstance(expression, WHOLE):
            return self._search_notes(expression)
        notes: list[str] = []
        subexpressions = list(expression.args)
        if isinstance(expression, sympy.Piecewise):
            for value, condition in expression.args:  # type: ignore[misc]
                if self._holds(condition):
                    notes.append(f"case: {self._case(expression, condition)}")
                    subexpressions = [value]
                    break
        elif isinstance(expression, sympy.Max | sympy.Min):
            notes.append(self._extreme(expression, unit))
        for subexpression in subexpressions:
            notes += self._notes(subexpression, unit)
        return list(dict.fromkeys(notes))

    def _case(self, expression: sympy.Piecewise, condition: Any) -> str:
        symbols: set[Any] = set().union(*(case_condition.free_symbols for _, case_condition in expression.args))  # type: ignore[misc, union-attr]
        known = sorted(symbol.name for symbol in symbols if symbol.name in self.values)
        facts = ", ".join(f"{symbol_text(variable_of(name))} = {self._value(name)}" for name in known)
        return f"{_condition(condition)}  ({facts})"

    def _extreme(self, expression: Any, unit: str) -> str:
        word = "largest" if isinstance(expression, sympy.Max) else "smallest"
        best, *others = [
            self._equals(argument, self._unit_of(expression, unit)) for argument in self._ranked(expression)
        ]
        return f"binds: {best}, the {word}; {', '.join(others)}"

    def _ranked(self, expression: Any) -> list[Any]:
        """Sort the arguments of a maximum or minimum; the first one binds."""
        return sorted(expression.args, key=self._number, reverse=isinstance(expression, sympy.Max))

    def _unit_of(self, expression: Any, unit: str) -> str:
        """Return the unit of a maximum or minimum: that of the formula, or of one of the arguments."""
        symbols = [a for a in self._ranked(expression) if isinstance(a, sympy.Symbol) and a.name in self.values]
        return _fitting([unit, *(variable_of(symbol.name).unit for symbol in symbols)], expression)

    def _binding(self, expression: Any, unit: str) -> list[str]:
        """Say briefly which case holds and which argument binds; of nested ones the innermost."""
        if isinstance(expression, WHOLE):
            return self._search_notes(expression)
        if isinstance(expression, sympy.Piecewise):
            value, condition = next(pair for pair in expression.args if self._holds(pair[1]))  # type: ignore[index, misc]
            return [_condition(condition), *self._binding(value, unit)]
        if isinstance(expression, sympy.Max | sympy.Min):
            best = self._ranked(expression)[0]
            return self._binding(best, unit) or [self._equals(best, self._unit_of(expression, unit))]
        return list(dict.fromkeys(note for part in expression.args for note in self._binding(part, unit)))

    def _equals(self, part: Any, unit: str) -> str:
        value = self._number(part)
        whole = abs(value) < 1e15 and value == math.floor(value)
        amount = formatting.canonical(value, unit) if unit else formatting.number(int(value) if whole else value)
        if part.is_number or isinstance(part, UnitSymbol):
            return amount
        named = f"{variable_of(part.name).label.lower()} ({text(part)})" if part.is_Symbol else text(part)
        return f"{named} = {amount}"

    def _search_notes(self, expression: Any) -> list[str]:
        """Explain a number found by a search; empty for other expressions that are explained as a whole."""
        if isinstance(expression, LeastInteger):
            return self._least_integer(expression)
        return [self._root(expression)] if isinstance(expression, Root) else []

    def _least_integer(self, expression: LeastInteger) -> list[str]:
        least = self._number(expression)
        limit = self._number(expression.upper)
        conditions = list(sympy.And.make_args(expression.condition))

        def failing(n: float) -> str:
            at = [
                condition for condition in conditions if not self._holds(condition.subs(expression.n, sympy.Float(n)))
            ]
            return " and ".join(sorted(map(text, at), key=len))

        if least > limit:
            return [f"no n up to {limit:.0f} holds: at {limit:.0f} fails {failing(limit)}"]
        if least == 1:
            return ["n = 1 holds already"]
        return [f"n = {least:.0f} holds; at n = {least - 1:.0f} fails {failing(least - 1)}"]

    def _root(self, expression: Root) -> str:
        """Give both sides of an equation at its root, or say why an end of the bracket is the answer."""
        root = self._number(expression)
        at = {expression.x: sympy.Float(root)}
        left, right = (self._number(side.xreplace(at)) for side in (expression.left, expression.right))
        symbols = {symbol.name for symbol in expression.free_symbols if symbol.name in self.values}  # type: ignore[attr-defined]
        symbols |= {node.target for node in expression.atoms(EvaluatedAt)}
        unit = _fitting([variable_of(name).unit for name in sorted(symbols)], expression.left)
        own = [expression.x.variable.unit] if isinstance(expression.x, Unknown) else []
        answer = f"{text(expression.x)} = {formatting.canonical(root, _fitting(own, expression.x))}"
        sides = [formatting.canonical(side, unit) for side in (left, right)]
        if root == self._number(expression.lower) and left >= right:
            return f"{answer}, the lower end: {text(expression.left)} = {sides[0]} is no less than {sides[1]} there"
        if root == self._number(expression.upper) and left < right:
            return f"{answer}, the upper end: {text(expression.left)} = {sides[0]} is less than {sides[1]} there"
        if not math.isclose(left, right, rel_tol=1e-6):
            return f"{answer}, where {text(expression.left)} jumps past {sides[1]}"
        return f"{answer}, where both sides are {sides[0]}"


def _folded(title: str, content: str, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{html.escape(title)}</summary>{content}</details>"


def _preformatted(lines: str) -> str:
    return f"<pre>{html.escape(lines)}</pre>"


def _added(node: Total) -> list[str]:
    """Return the names of the members that a sum over a family adds."""
    family = family_of(node.term)
    assert family is not None
    return [family[member].name for member in node.over]


def _condition(condition: Any) -> str:
    return "otherwise" if condition == True else text(condition)  # noqa: E712


def _short(origin: Origin | Sourced) -> str:
    if isinstance(origin, FromRecipe):
        return f"{origin.by}; {_short(origin.origin)}"
    if not isinstance(origin, Sourced) or origin.kind == "user":
        return origin.source if isinstance(origin, Sourced) else origin
    host = origin.source.partition("://")[2].partition("/")[0] or origin.source
    return f"{origin.standing}: {host}, {origin.date}"


def _wrapped(line: str, width: int = 98) -> list[str]:
    indent = len(line) - len(line.lstrip()) + 4
    return textwrap.wrap(
        line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    ) or [line]


def _fitting(offered: list[str], expression: sympy.Basic) -> str:
    """Return the first unit that fits an expression; empty for counts."""
    dimension = dimension_of(expression)
    fits = (unit for unit in offered if set(units.dimension(unit)) - units.COUNTABLE)
    return next((unit for unit in fits if same(dimension, units.dimension(unit))), "")
