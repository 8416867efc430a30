"""The formula book as pages of the site: every symbol linked, and where each formula is used and checked."""

from __future__ import annotations

from sympy import Symbol

from mlsysim.book.contents import unit_text
from mlsysim.book.markdown import (
    code,
    formula_link,
    inline,
    joined,
    name_in_code,
    overview,
    prose,
    reference_list,
    slug,
    table,
    topic_page,
    variants_pages,
)
from mlsysim.symbolic import Formula, Variable
from mlsysim.symbolic.functions import stated
from website.knowledge import Knowledge

#: So many links stand in a line; more are folded.
FEW = 6


def pages(known: Knowledge) -> dict[str, str]:
    """The pages of the topics, and the page of all symbols."""
    found = {
        "README": overview(known.book, known.models),
        "symbols": _symbols(known),
        **variants_pages(known.book, known.models),
        "references": reference_list(known.book),
        **{topic.name: _topic(known, topic) for topic in known.book.topics},
    }
    return {f"formulas/{name}.md": page for name, page in found.items()}


def _topic(known: Knowledge, topic) -> str:
    return topic_page(known.book, topic, lambda formula: notes(known, formula), anchored)


def anchored(variable: Variable) -> str:
    """The name of a variable, where links to it lead."""
    return f"[{name_in_code(variable)}]{{#symbol-{variable.name}}}"


def notes(known: Knowledge, formula: Formula) -> dict[str, str]:
    """What the site says of a formula beside what it says itself."""
    stands = {each.name for each in stated(formula.expression) if isinstance(each, Symbol)}
    symbols = [f"{inline(each.latex)} [{code(each.name)}](#symbol-{each.name})" for each in formula.inputs
               if each.name in stands]  # fmt: skip
    if rest := len(formula.inputs) - len(symbols):
        symbols.append(f"and, through what it calls, {rest} others of [the table below](#symbols)")
    users = [formula_link(known.topic_of[each], each) for each in known.needed_by(formula)]
    models = [f"[{model.__name__}](../models/{model.__name__}.md) ({', '.join(map(code, variants))})"
              for model, variants in known.uses.get(formula, {}).items()]  # fmt: skip
    return {
        "Symbols": ", ".join(symbols),
        "Needed by": _folded(users),
        "In models": ", ".join(models),
        "Checked": _checked(known, formula),
    }


def _folded(links: list[str]) -> str:
    """Links in a line, without those that are too many; a reader unfolds them."""
    shown, rest = ", ".join(links[:FEW]), links[FEW:]
    return f"{shown}<details><summary>and {len(rest)} more</summary>{', '.join(rest)}</details>" if rest else shown


def _checked(known: Knowledge, formula: Formula) -> str:
    """The tables of the validation page in which it counts, each with the outputs and the median error."""
    found = {}
    for area in known.checks.get(formula, ()):
        found.setdefault(area["section"], area)
    return "; ".join(
        f"[{prose(title)}](../{area['page']}#{slug(title)}), {', '.join(map(code, area['outputs']))} "
        f"{area['median']:.1%} off in the median"
        for title, area in found.items()
    )


def _symbols(known: Knowledge) -> str:
    """Every variable by name, with the pages that have it."""
    found: dict[str, tuple[Variable, list]] = {}
    for topic in known.book.topics:
        for variable in topic.variables:
            found.setdefault(variable.name, (variable, []))[1].append(topic)
    rows: dict[str, list[tuple[str, ...]]] = {}
    for name in sorted(found, key=str.lower):
        variable, topics = found[name]
        defining = [topic for topic, _ in known.book.defining(variable) if topic in topics]
        home = defining[0] if defining else topics[0]
        rows.setdefault(name[0].upper(), []).append((
            f"[{code(name)}]({home.name}.md#symbol-{name})", inline(variable.latex), unit_text(variable.unit) or "–",
            prose(variable.description),
        ))  # fmt: skip
    lines = ["# Symbols", "", "Every quantity of the book by its name in Python. A name leads to its definition.", ""]
    for letter, each in rows.items():
        lines += [f"## {letter}", "", *table(("Name", "Symbol", "Unit", "Meaning"), each), ""]
    return joined(lines)
