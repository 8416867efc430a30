"""Answer of ``mlsysim formula``: entries of the formula book in a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mlsysim.book.contents import Book, Topic, computed, defined, in_units, read_book, unit_text
from mlsysim.book.examples import check_examples
from mlsysim.book.index import formula_entry, variable_entry
from mlsysim.cli import output
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.jsontext import json_text
from mlsysim.models import PerformanceModel
from mlsysim.symbolic import Formula, Variable, family_of, variable_of
from mlsysim.symbolic.family import families_among
from mlsysim.symbolic.indexed import ByMember
from mlsysim.symbolic.printing import latex_to_text, symbol_text, text

Placed = Sequence[tuple[Topic, Formula]]


def show(
    name: str | None, others: Sequence[type[PerformanceModel]] = (), *, latex: bool = False, as_json: bool = False
) -> None:
    """Print the formulas of a variable, or a list of all formulas.

    Parameters
    ----------
    name : str or None
        Name of a variable, or of one variant as in ``feasible[training_memory]``; all without it.
    others : sequence of type
        Models beside ours, whose formulas are printed too.
    latex : bool
        Only the equations, as LaTeX.
    as_json : bool
        As data, laid out like the index of the formula book.

    Raises
    ------
    UnknownNameError
        If nothing has that name.
    InputError
        If the LaTeX of a formula is wanted and the variable is an input.
    """
    book = read_book(others)
    variable = None if name is None else _variable(book, name)
    formulas = book.formulas if variable is None else _forms(book, variable, name)
    if others:
        check_examples(formula for _, formula in formulas)
    if latex:
        if variable is not None and not formulas:
            family = family_of(variable.name)
            raise InputError(
                "formula",
                variable.name,
                "no formula defines it as a whole" if family else "is an input, no formula defines it",
                f"ask for {', '.join(member.name for member in family.members.values())}" if family else "",
            )
        print("\n".join(formula.latex() for _, formula in formulas))
    elif as_json:
        print(_json(formulas, variable))
    elif variable is None:
        _print_list(book)
    else:
        _print_card(book, formulas, variable)


def forms_of(book: Book, name: str) -> Placed:
    """Look up all forms of a variable, or the one form with this name."""
    return _forms(book, _variable(book, name), name)


def _variable(book: Book, name: str) -> Variable:
    known: dict[str, Variable] = {}
    for _, formula in book.formulas:
        known |= {formula.name: formula.variable, formula.id: formula.variable}
        known |= {v.name: v for part in (formula, *formula.members) for v in (part.variable, *part.inputs)}
    known |= {family: variable_of(family) for family in families_among(known)}
    if name not in known:
        raise UnknownNameError("formula", name, known)
    return known[name]


def _forms(book: Book, variable: Variable, name: str | None) -> Placed:
    """Return all forms of a variable, or the one whose full name was given."""
    forms = book.defining(variable)
    return [(topic, formula) for topic, formula in forms if formula.id == name] or forms


def _json(formulas: Placed, variable: Variable | None) -> str:
    wanted = {v.name: v for _, f in formulas for v in (f.variable, *f.inputs, *defined(f))}
    wanted |= {variable.name: variable} if variable else {}
    content = {
        "formulas": {formula.id: _in_order(formula_entry(topic, formula)) for topic, formula in formulas},
        "variables": {name: _in_order(variable_entry(wanted[name])) for name in sorted(wanted)},
    }
    return json_text(content)


def _in_order(entry: dict[str, Any]) -> Any:
    """Return an entry of the index, in the order in which it is printed."""
    return json.loads(json_text(entry, sort_keys=True))


def _print_list(book: Book) -> None:
    for topic in book.topics:
        if topic is not book.topics[0]:
            print()
        output.heading(topic.title)
        output.listing(("Name", "Title"), [(f.id, f.title) for f in topic.formulas], indent=2)


def _print_card(book: Book, formulas: Placed, variable: Variable) -> None:
    symbol, unit = symbol_text(variable), unit_text(variable.unit)
    title = [variable.name, symbol if symbol != variable.name else "", f"[{unit}]" if unit else ""]
    output.heading("  ".join(filter(None, title)))
    output.paragraph(variable.description)
    family = family_of(variable.name)
    if family and not formulas:
        rows = [(key, family.index.members[key], symbol.name) for key, symbol in family.members.items()]
        output.listing((latex_to_text(family.index.letter), family.index.name, "Name"), rows, indent=2)
    elif not formulas:
        output.paragraph(f"An input: {variable.domain.describe()}.")
    users = [f.id for _, f in book.formulas if any(variable in part.inputs for part in (f, *f.members))]
    if users:
        output.paragraph(f"Used by {', '.join(users)}.")
    for topic, formula in formulas:
        print()
        output.heading(f"{formula.id}  {formula.title}")
        _print_equation(formula)
        for label, note in _notes(topic, formula):
            output.paragraph(note, f"  {label:<13}")
        print()
        rows = [(symbol_text(v), v.name, unit_text(v.unit), v.description) for v in formula.inputs]
        output.listing(("Symbol", "Name", "Unit", "Meaning"), rows, indent=2)


def _print_equation(formula: Formula) -> None:
    """Print an equation; an indexed one also by member, with the values of a table."""
    if formula.index is None:
        output.block(f"  {formula.text()}")
        return
    headers = [latex_to_text(formula.index.letter), formula.index.name, "Name"]
    rows = [[member.member, formula.index.members[member.member], member.name] for member in formula.members]
    if isinstance(formula.expression, ByMember):
        headers.append(symbol_text(formula.variable))
        rows = [[*row, text(formula.expression.table[row[0]])] for row in rows]
    else:
        output.block(f"  {formula.text()}")
        print()
    output.listing(tuple(headers), rows, indent=2)
    print()


def _notes(topic: Topic, formula: Formula) -> list[tuple[str, str]]:
    notes = [
        ("topic", topic.title),
        ("constants", ", ".join(formula.constants())),
        ("source", formula.source.text()),
        ("", formula.source.work.text()),
        ("assumes", formula.assumes),
        ("convention", formula.convention),
        ("accuracy", formula.accuracy),
        *_example(formula),
    ]
    return [(label, note) for label, note in notes if note]


def _example(formula: Formula) -> list[tuple[str, str]]:
    example = formula.example
    if example is None:
        return [("no example", formula.no_example)]
    inputs = {variable_of(symbol): value for symbol, value in example.inputs.items()}
    whose = f"for {example.member}: " if example.member else ""
    stands, where = ("printed", example.source.text()) if example.source else ("derived", example.derived)
    return [
        ("example", whose + ", ".join(f"{symbol_text(v)} = {in_units(v, value)}" for v, value in inputs.items())),
        ("", f"{stands} {unit_text(example.result)}, computed {computed(formula)}  [{where}]"),
    ]
