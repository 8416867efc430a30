"""What ``mlsysim formula`` prints: pages of the formula book in a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mlsysim.book.contents import Book, Topic, computed, in_units, read_book, unit_text
from mlsysim.book.index import index
from mlsysim.cli import output
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.models import PerformanceModel
from mlsysim.symbolic import Formula, Variable, variable_of
from mlsysim.symbolic.printing import symbol_text

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
    if latex:
        if variable is not None and not formulas:
            raise InputError("formula", variable.name, "is an input, no formula defines it")
        print("\n".join(formula.latex() for _, formula in formulas))
    elif as_json:
        print(_json(book, formulas, variable))
    elif variable is None:
        _print_list(book)
    else:
        _print_card(book, formulas, variable)


def _variable(book: Book, name: str) -> Variable:
    known: dict[str, Variable] = {}
    for _, formula in book.formulas:
        known |= {formula.name: formula.variable, formula.id: formula.variable}
        known |= {variable.name: variable for variable in formula.inputs}
    if name not in known:
        raise UnknownNameError("formula", name, known)
    return known[name]


def _forms(book: Book, variable: Variable, name: str | None) -> Placed:
    """The forms of a variable, or the one whose full name was asked for."""
    forms = book.defining(variable)
    return [(topic, formula) for topic, formula in forms if formula.id == name] or forms


def _json(book: Book, formulas: Placed, variable: Variable | None) -> str:
    whole = json.loads(index(book, about=""))
    wanted = {v.name for _, formula in formulas for v in (formula.variable, *formula.inputs)}
    wanted |= {variable.name} if variable else set()
    content = {
        "formulas": {formula.id: whole["formulas"][formula.id] for _, formula in formulas},
        "variables": {name: whole["variables"][name] for name in sorted(wanted)},
    }
    return json.dumps(content, ensure_ascii=False, indent=2)


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
    if not formulas:
        output.paragraph(f"An input: {variable.domain.describe()}.")
    users = [formula.id for _, formula in book.formulas if variable in formula.inputs]
    if users:
        output.paragraph(f"Used by {', '.join(users)}.")
    for topic, formula in formulas:
        print()
        output.heading(f"{formula.id}  {formula.title}")
        output.block(f"  {formula.text()}")
        for label, text in _notes(topic, formula):
            output.paragraph(text, f"  {label:<13}")
        print()
        rows = [(symbol_text(v), v.name, unit_text(v.unit), v.description) for v in formula.inputs]
        output.listing(("Symbol", "Name", "Unit", "Meaning"), rows, indent=2)


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
    return [(label, text) for label, text in notes if text]


def _example(formula: Formula) -> list[tuple[str, str]]:
    example = formula.example
    if example is None:
        return [("no example", formula.no_example)]
    given = {variable_of(symbol): value for symbol, value in example.inputs.items()}
    stands, where = ("printed", example.source.text()) if example.source else ("derived", example.derived)
    return [
        ("example", ", ".join(f"{symbol_text(v)} = {in_units(v, value)}" for v, value in given.items())),
        ("", f"{stands} {unit_text(example.result)}, computed {computed(formula)}  [{where}]"),
    ]
