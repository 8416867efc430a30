r"""Pages in Markdown with ``$$`` that GitHub, Sphinx, Jupyter and pandoc render alike.

GitHub runs Markdown over a page before it looks for mathematics, so ``\\`` and ``\{`` would lose a
backslash and ``_`` or ``*`` start emphasis. :func:`math` spells them so that no processor can.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping

import sympy

from mlsysim.book.contents import Book, Topic, cited, computed, in_units, unit_text
from mlsysim.inputs.variant import Variant
from mlsysim.models import PerformanceModel
from mlsysim.models.registry import words_for
from mlsysim.symbolic import Domain, Family, Formula, Index, Source, System, Variable, family_of, variable_of
from mlsysim.symbolic.family import member_latex
from mlsysim.symbolic.indexed import ByMember
from mlsysim.symbolic.printing import latex

HOW_TO_READ = """\
- **Units.** An equation holds in coherent units: byte, second, FLOP, token, request, USD, watt. The unit
  of a constant follows under *Constants*; the unit in a table is the one in which Python takes and shows
  the quantity. GB is 1e9 bytes, GiB is 2^30.
- **Names.** What stands in `code font` is the name in Python: a keyword argument, or an attribute of a
  result. One name has one symbol and one meaning in all of the book.
- **Indices.** What has an index, such as $t_j$, is one quantity for each member: the range of the index follows
  the equation, and the table at the end of the page names each in Python. A result gives them all as
  `result["group_time"]`, and one as `result["group_time"]["tp"]` or `result.tp_time`.
- **Calls.** $T(N = y)$ is the value that $T$ would have if $N$ were $y$: the formulas that lead from $N$ to $T$ are
  evaluated once more, and all other quantities keep their values. What is called follows under *Calls*.
- **Variants.** A quantity with several published forms has one formula for each, told apart by the name
  of the variant in brackets.
- **Examples.** The inputs, what the formula gives for them, and the number as its source prints it.
- **Files.** Each topic is also a `.tex` file for papers to `\\input`: it needs amsmath, labels each
  equation `eq:mlsysim:ID` and cites from [references.bib](references.bib). Programs read
  [index.json](index.json).
"""


def overview(book: Book, models: Iterable[type[PerformanceModel]]) -> str:
    """The first page: how to read the book, what the models answer, and every formula by topic."""
    questions = [(prose(m.question()), code(f"mlsysim {words_for(m)}"), code(m.__name__)) for m in models]
    lines = [
        "# The formula book of mlsysim",
        "",
        "Every formula the library evaluates, printed from the code that evaluates it.",
        f"Works cited are listed under [references]({_REFERENCES}); models with several forms of one formula under",
        "[variants](variants.md).",
        "",
        "## How to read it",
        "",
        HOW_TO_READ,
        "## Questions",
        "",
        *table(("Question", "Command", "Model"), questions),
        "",
    ]
    for topic in book.topics:
        lines += [f"## [{prose(topic.title)}]({topic.name}.md)", ""]
        linked = [(formula_link(topic, f), f) for f in topic.formulas]
        rows = [(title, inline(f.variable.latex), code(f.name), _cite(f.source)) for title, f in linked]
        lines += [*table(("Formula", "Symbol", "Name", "Source"), rows), ""]
    return joined(lines)


def no_notes(formula: Formula) -> dict[str, str]:
    """Return no notes: only the formula's own are printed."""
    return {}


def name_in_code(variable: Variable) -> str:
    """Format the name of a variable for a table of symbols."""
    return code(variable.name)


def topic_page(
    book: Book,
    topic: Topic,
    notes: Callable[[Formula], Mapping[str, str]] = no_notes,
    named: Callable[[Variable], str] = name_in_code,
) -> str:
    """Write the page of a topic: introduction, formulas, functions, symbols.

    Parameters
    ----------
    book, topic
        Book, and topic of the page.
    notes : callable
        Function that returns further notes on a formula, as Markdown by heading.
    named : callable
        Function that formats the name of a variable in the table of symbols.
    """
    lines = [
        f"# {prose(topic.title)}",
        "",
        prose(topic.intro),
        "",
        "Equations hold in [coherent units](README.md#how-to-read-it); [symbols](#symbols) are explained below.",
        "",
    ]
    for formula in topic.formulas:
        lines += _formula(book, formula, notes(formula))
    if topic.functions:
        lines += ["## Functions", "", *map(_function, topic.functions), ""]
    rows = [_symbol(book, topic, variable, named) for variable in topic.variables]
    lines += ["## Symbols", "", *table(("Symbol", "Name", "Unit", "Values", "Meaning", "Given by"), rows), ""]
    for index, families in topic.families.items():
        lines += [f"## {_by(index)}", "", *_members(index, families), ""]
    return joined(lines)


def variants_pages(book: Book, models: Iterable[type[PerformanceModel]]) -> dict[str, str]:
    """Write the pages of models with several variants, by name: an overview, and one per topic with the equations."""
    lines = [
        "# Variants",
        "",
        "A model is a set of formulas, and a variant another set for the same question: `Model(variant=...)` swaps "
        "formulas of the same quantity. [Checks](../docs/validation.md) say what each comes to.",
        "",
    ]
    users: dict[Formula, dict[str, list[str]]] = {}
    for model in models:
        systems = {name: model(name).system for name in model.variants}
        if len(systems) < 2:
            continue
        lines += [f"## {model.__name__}", ""]
        lines += [f"- `{name}`: {prose(Variant.of(model.variants[name]).about)}" for name in systems]
        lines.append("")
        forms = _forms(systems)
        for name, by_formula in forms.items():
            if len(by_formula) > 1:
                home = _home(book, next(iter(by_formula))).name
                lines += [f"### {code(name)} of {model.__name__}", ""]
                lines += [
                    f"- {', '.join(map(code, names))}: {_place(book, formula, prose(formula.title))}"
                    for formula, names in by_formula.items()
                ]
                lines += [f"- [their equations side by side](variants/{home}.md#{slug(name)})", ""]
                for formula, names in by_formula.items():
                    users.setdefault(formula, {})[model.__name__] = names
        for name in systems:
            own = [f for by_formula in forms.values() for f, names in by_formula.items() if names == [name]]
            alone = [_place(book, f, code(f.name)) for f in own if len(forms[f.name]) == 1]
            if alone:
                lines += [f"Only {code(name)} needs {', '.join(alone)}.", ""]
    return {"variants": joined(lines), **_side_by_side(book, users)}


def _side_by_side(book: Book, users: Mapping[Formula, Mapping[str, list[str]]]) -> dict[str, str]:
    """Write a page per topic with all forms of each quantity, and the models and variants that use them."""
    forms: dict[str, list[Formula]] = {}
    for formula in users:
        forms.setdefault(formula.name, []).append(formula)
    by_topic: dict[Topic, list[str]] = {}
    for name, formulas in forms.items():
        by_topic.setdefault(_home(book, formulas[0]), []).append(name)
    pages = {}
    for topic in (topic for topic in book.topics if topic in by_topic):
        lines = [
            f"# Variants: {prose(topic.title)}",
            "",
            f"Quantities of [{prose(topic.title)}](../{topic.name}.md) that [variants](../variants.md) compute in more "
            "than one way.",
            "",
        ]
        for name in by_topic[topic]:
            lines += [f"## {code(name)}", ""]
            for formula in forms[name]:
                lines += _form(book, formula, users[formula])
        pages[f"variants/{topic.name}"] = joined(lines)
    return pages


def _forms(systems: Mapping[str, System]) -> dict[str, dict[Formula, list[str]]]:
    """Group the formulas of each quantity by the variants that use them."""
    forms: dict[str, dict[Formula, list[str]]] = {}
    for variant, system in systems.items():
        for formula in system.printed:
            forms.setdefault(formula.name, {}).setdefault(formula.printed, []).append(variant)
    return forms


def _form(book: Book, formula: Formula, users: Mapping[str, list[str]]) -> list[str]:
    """Write a formula with its equation, its accuracy, and the models and variants that use it."""
    lines = [f"{_place(book, formula, _heading(formula), '../')}", "", *_equation(formula), ""]
    lines += [f"- {model}: {', '.join(map(code, variants))}" for model, variants in users.items()]
    accuracy = prose(formula.accuracy).replace("](../", "](../../")
    return [*lines, *([f"- Accuracy: {accuracy}"] if accuracy else []), ""]


def _home(book: Book, formula: Formula) -> Topic:
    """Return the topic of the first form of a quantity, independent of the model."""
    return book.defining(formula.variable)[0][0]


def _topic_of(book: Book, formula: Formula) -> Topic:
    return next(topic for topic, other in book.formulas if other is formula)


def _place(book: Book, formula: Formula, text: str, up: str = "") -> str:
    return f"[{text}]({up}{_topic_of(book, formula).name}.md#{anchor(formula)})"


def reference_list(book: Book) -> str:
    """Write the page of cited works, each with the formulas that cite it."""
    lines = ["# References", "", "As BibTeX in [references.bib](references.bib).", ""]
    for work in book.works:
        address = work.link()
        text = prose(work.text().removesuffix(address).rstrip()) + (f" <{address}>" if address else "")
        lines += [f"## {work.anchor}", "", text, "", "Cited in", ""]
        for topic in book.topics:
            users = [formula_link(topic, formula) for formula in topic.formulas if work.key in cited(formula)]
            if users:
                lines.append(f"- [{prose(topic.title)}]({topic.name}.md): {', '.join(users)}")
        lines.append("")
    return joined(lines)


def anchor(formula: Formula) -> str:
    """Return the anchor that GitHub and MyST give to a formula's heading."""
    return slug(_title(formula))


def slug(heading: str) -> str:
    """Return the anchor that GitHub and MyST give to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def math(source: str) -> str:
    r"""Spell LaTeX so that no Markdown processor alters it: ``\cr`` for ``\\``, ``\lbrace`` for ``\{``."""
    spelled = re.sub(r"(\\[^A-Za-z ]|[*|])(?=([A-Za-z])?)", _in_letters, source)
    spelled = re.sub(r"(?<![A-Za-z0-9])_", " _ ", spelled).replace("<", " < ")
    return re.sub(r"  +", " ", spelled).strip()


def inline(source: str) -> str:
    """Format LaTeX within a line."""
    return f"${math(source)}$"


#: File of :func:`reference_list`, to which citations link.
_REFERENCES = "references.md"
_LETTERS = {
    r"\\": r"\cr", r"\{": r"\lbrace", r"\}": r"\rbrace", r"\|": r"\Vert", "|": r"\vert", "*": r"\ast",
    r"\_": r"\underline{\enspace}", r"\,": r"\thinspace", r"\:": r"\thinspace", r"\;": r"\enspace",
    r"\!": r"\negthinspace",
}  # fmt: skip


def _in_letters(match: re.Match[str]) -> str:
    sign, letter = match.groups()
    return _LETTERS.get(sign, sign) + (" " if letter else "")


def _formula(book: Book, formula: Formula, further: Mapping[str, str]) -> list[str]:
    variable = formula.variable
    unit = f" in {unit_text(variable.unit)}" if unit_text(variable.unit) else ""
    others = [(topic, f) for topic, f in book.defining(variable) if f is not formula]
    notes = {
        "Calls": ", ".join(_call(book, variable) for variable in formula.calls),
        "Constants": ", ".join(map(unit_text, formula.constants())),
        "Assumes": prose(formula.assumes),
        "Convention": prose(formula.convention),
        "Accuracy": prose(formula.accuracy),
        "Source": _cite(formula.source),
        "Example": _example(formula),
        "No example": prose(formula.no_example),
        "Other forms": ", ".join(formula_link(topic, f) for topic, f in others),
        **further,
    }
    return [
        f"## {_heading(formula)}",
        "",
        *_equation(formula),
        "",
        f"Gives {code(variable.name)}{unit}{_each(formula)}.",
        "",
        *(f"- **{name}:** {text}" for name, text in notes.items() if text),
        "",
    ]


def _call(book: Book, variable: Variable) -> str:
    """Name a quantity that is evaluated at other inputs, with a link to its first form."""
    target = next((f"{topic.name}.md#{anchor(formula)}" for topic, formula in book.defining(variable)), "")
    return f"{inline(variable.latex)} [{code(variable.name)}]({target})" if target else inline(variable.latex)


def _equation(formula: Formula) -> list[str]:
    """Format the equation of a formula; as a table if the right side is one."""
    if formula.index is None or not isinstance(formula.expression, ByMember):
        return ["$$", math(formula.latex()), "$$"]
    headers = (inline(formula.index.letter), formula.index.name, inline(formula.variable.latex), "Name")
    rows = [
        (
            *_member(formula.index, member.member),
            inline(latex(formula.expression.table[member.member])),
            code(member.name),
        )
        for member in formula.members
    ]
    return table(headers, rows)


def _each(formula: Formula) -> str:
    return f", [{_by(formula.index).lower()}](#{slug(_by(formula.index))})" if formula.index else ""


def _by(index: Index) -> str:
    """Return the heading of an index's table."""
    return f"By {index.name}"


def _members(index: Index, families: list[Family]) -> list[str]:
    """Tabulate the members of an index, with the name of each quantity for them."""
    headers = (inline(index.letter), index.name, *(inline(family.variable.latex) for family in families))
    return table(
        headers,
        [
            (*_member(index, member), *(code(f[member].name) if member in f else "–" for f in families))
            for member in index.members
        ],
    )


def _member(index: Index, member: str) -> tuple[str, str]:
    """Format a member as subscript and in words."""
    return inline(member_latex(member)), prose(index.members[member])


def _example(formula: Formula) -> str:
    example = formula.example
    if example is None:
        return ""
    inputs = ", ".join(
        f"{inline(variable_of(symbol).latex)} = {prose(in_units(variable_of(symbol), value))}"
        for symbol, value in example.inputs.items()
    )
    inputs = f"for {inline(member_latex(example.member))}, {inputs}" if example.member else inputs
    result = unit_text(example.result)
    if example.source is None:
        return f"{inputs} gives {computed(formula)}; derived: `{example.derived}` = **{result}**."
    return f"{inputs} gives {computed(formula)}; printed **{result}** in {_cite(example.source)}."


def _symbol(book: Book, topic: Topic, variable: Variable, named: Callable[[Variable], str]) -> tuple[str, ...]:
    forms = book.defining(variable)
    here = [formula for where, formula in forms if where is topic]
    if here:
        given_by = f"[this page](#{anchor(here[0])})"
    elif forms:
        where, formula = forms[0]
        given_by = f"[{prose(where.title)}]({where.name}.md#{anchor(formula)})"
    elif family := family_of(variable.name):
        given_by = f"[{_by(family.index).lower()}](#{slug(_by(family.index))})"
    else:
        given_by = "input"
    unit = unit_text(variable.unit) or "–"
    return (
        inline(variable.latex),
        named(variable),
        unit,
        _values(variable.domain),
        prose(variable.description),
        given_by,
    )


def _values(domain: Domain) -> str:
    if domain.kind == "choice":
        return ", ".join(map(code, domain.labels))
    if domain.kind == "boolean":
        return "`True`, `False`"
    return inline(domain.latex())


def _function(node: sympy.Basic) -> str:
    """Describe a function by its docstring: the summary, and the notes that define it."""
    summary, _, rest = (inspect.getdoc(type(node)) or "").partition("\n")
    notes = re.search(r"^Notes\n-+\n(.*?)(?=\n\n|\Z)", rest, re.DOTALL | re.MULTILINE)
    definition = " " + " ".join(notes[1].split()) if notes else ""
    return f"- {inline(latex(node))} is {_docstring(summary + definition)}"


def _cite(source: Source) -> str:
    place = f", {prose(source.place)}" if source.place else ""
    return f"[{source.work.anchor}]({_REFERENCES}#{source.work.anchor}){place}"


def _title(formula: Formula) -> str:
    return f"{formula.title} [{formula.variant}]" if formula.variant else formula.title


def formula_link(topic: Topic, formula: Formula) -> str:
    """Link to a formula from another page of the book."""
    return f"[{_heading(formula)}]({topic.name}.md#{anchor(formula)})"


def _heading(formula: Formula) -> str:
    return prose(_title(formula)).replace("[", r"\[").replace("]", r"\]")


#: Pages of the documentation as texts name them; the book is in a folder beside theirs.
_PAGE = re.compile(r"(?<![\w/])docs/\w+\.md")
#: A role in a docstring, with its content.
_ROLE = re.compile(r":(\w+):`([^`]+)`")


def prose(text: str) -> str:
    """Convert plain text to Markdown: code in backticks, links to pages of the documentation, the rest escaped."""
    pieces = re.split(r"``(.+?)``", text)
    pieces[::2] = [_PAGE.sub(r"[\g<0>](../\g<0>)", re.sub(r"([\\*<|$~`])", r"\\\1", piece)) for piece in pieces[::2]]
    pieces[1::2] = map(code, pieces[1::2])
    return "".join(pieces)


def _docstring(text: str) -> str:
    """Convert a docstring to Markdown; roles become mathematics or code."""
    pieces = _ROLE.split(text)
    pieces[::3] = map(prose, pieces[::3])
    pieces[2::3] = [
        inline(content) if role == "math" else code(content)
        for role, content in zip(pieces[1::3], pieces[2::3], strict=True)
    ]
    del pieces[1::3]
    return "".join(pieces)


def code(text: str) -> str:
    """Format text as code."""
    return f"`{text}`"


def table(headers: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Format the lines of a table."""
    cells = [headers, tuple("---" for _ in headers), *rows]
    return [f"| {' | '.join(row)} |" for row in cells]


def joined(lines: Iterable[str]) -> str:
    """Join lines to a page without consecutive blank lines."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"
