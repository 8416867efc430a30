"""Index of the book for programs: one JSON object per formula, variable and cited work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mlsysim.book.contents import Book, Topic, computed
from mlsysim.jsontext import json_text
from mlsysim.symbolic import Formula, Source, Variable, variable_of
from mlsysim.symbolic.family import families_among


def index(book: Book, about: str) -> str:
    """Serialise the index as JSON with sorted keys, after the text ``about``."""
    content = {
        "about": about,
        "formulas": {formula.id: formula_entry(topic, formula) for topic, formula in book.formulas},
        "references": {work.key: {"text": work.text(), "link": work.link()} for work in book.works},
        "topics": {topic.name: topic.title for topic in book.topics},
        "variables": {v.name: variable_entry(v) for topic in book.topics for v in _named(topic)},
    }
    return json_text(content, indent=1, sort_keys=True) + "\n"


def _named(topic: Topic) -> Iterator[Variable]:
    """List the variables of a topic, their families, and the members of the topic's own families."""
    yield from topic.variables
    yield from map(variable_of, families_among({v.name for v in topic.variables}))
    for families in topic.families.values():
        yield from (variable_of(symbol) for family in families for symbol in family.members.values())


def formula_entry(topic: Topic, formula: Formula) -> dict[str, Any]:
    """Convert a formula to plain data."""
    return {
        "variable": formula.name,
        "topic": topic.name,
        "variant": formula.variant,
        "title": formula.title,
        "latex": formula.latex(),
        "text": formula.text(),
        "unit": formula.variable.unit,
        "inputs": [variable.name for variable in formula.inputs],
        "members": {member.member: member.name for member in formula.members if member.member},
        "constants": list(formula.constants()),
        "source": _source(formula.source),
        "assumes": formula.assumes,
        "convention": formula.convention,
        "accuracy": formula.accuracy,
        "example": _example(formula),
        "no_example": formula.no_example,
    }


def _example(formula: Formula) -> dict[str, Any] | None:
    example = formula.example
    if example is None:
        return None
    return {
        "inputs": {symbol.name: value for symbol, value in example.inputs.items()},
        "printed": example.result,
        "computed": computed(formula),
        "source": _source(example.source) if example.source else {},
        "derived": example.derived,
        "member": example.member,
    }


def variable_entry(variable: Variable) -> dict[str, Any]:
    """Convert a variable to plain data."""
    return {
        "label": variable.label,
        "latex": variable.latex,
        "unit": variable.unit,
        "values": variable.domain.describe(),
        "meaning": variable.description,
    }


def _source(source: Source) -> dict[str, str]:
    return {"key": source.key, "place": source.place}
