"""A page per model: what it asks and gives, its variants, its formulas, and how near it comes."""

from __future__ import annotations

from itertools import groupby

from mlsysim.book.contents import unit_text
from mlsysim.book.markdown import anchor, code, inline, joined, prose, slug, table
from mlsysim.inputs.variant import Variant
from mlsysim.models.registry import words_for
from mlsysim.study.results.expected_error import areas
from mlsysim.symbolic import Formula, Variable
from website.knowledge import Knowledge, Model
from website.markup import boxed

#: So many variants are named in a cell of a table; more stand there by their numbers.
FEW = 2


def pages(known: Knowledge) -> dict[str, str]:
    """A page per model."""
    return {f"models/{model.__name__}.md": _page(known, model) for model in known.models}


def _page(known: Knowledge, model: Model) -> str:
    systems = {name: model(name) for name in model.variants}
    lines = [
        f"# {model.__name__}", "", f"{prose(model.question())}", "",
        f"`mlsysim {words_for(model)}` in a shell, [a calculator](../calculators/{model.__name__}.md) in the browser, "
        f"[{code(model.__name__)}](../reference/{model.__name__}.md) in Python.", "",
        "## Variants", "",
        *(f"{number}. {code(name)}: {prose(Variant.of(model.variants[name]).about)}"
          for number, name in enumerate(systems, 1)), "",
    ]  # fmt: skip
    lines += ["## Answers", "", *_answers(known, systems), "", "## Inputs", "", *_inputs(systems), ""]
    lines += [*_accuracy(model), "## Formulas", "", *_formulas(known, systems)]
    return joined(lines)


def _answers(known: Knowledge, systems) -> list[str]:
    """What is shown first, each with the formulas that give it."""
    rows = []
    for name in dict.fromkeys(name for each in systems.values() for name in each.headline):
        forms = {each.system[name].printed: None for each in systems.values() if name in each.system}
        variable = next(each.system[name].variable for each in systems.values() if name in each.system)
        links = ", ".join(formula_from_models(known, formula, briefly=len(forms) > 1) for formula in forms)
        rows.append((inline(variable.latex), code(name), _unit(variable), prose(variable.description), links))
    return boxed("answers", table(("Symbol", "Name", "Unit", "Meaning", "Given by"), rows))


def _inputs(systems) -> list[str]:
    """What may be given by name; the catalog or a default gives the rest."""
    found: dict[str, tuple[Variable, list[str]]] = {}
    for name, model in systems.items():
        for argument, variable in model.arguments.items():
            if isinstance(variable, Variable):
                found.setdefault(argument, (variable, []))[1].append(name)
    rows = [
        (f"{code(name)} {inline(variable.latex)}", _unit(variable), prose(variable.domain.describe()),
         prose(variable.description), _variants(names, systems))
        for name, (variable, names) in found.items()
    ]  # fmt: skip
    return boxed("inputs", table(("Name and symbol", "Unit", "Values", "Meaning", "Variants"), rows))


def _accuracy(model: Model) -> list[str]:
    """The errors that were found, as the accuracy page has them."""
    rows = [
        (", ".join(map(code, area["outputs"])), ", ".join(map(code, area["variants"])),
         f"[{prose(area['about'])}](../{area['page']}#{slug(area['section'])})", str(area["rows"]),
         *(f"{area[name]:.1%}" for name in ("median", "tail", "worst")))
        for area in areas() if area["model"] == model.__name__
    ]  # fmt: skip
    below = {
        each.model.__name__: [
            *(outputs for same in model.foundations if same.model is each.model for outputs in same.outputs)
        ]
        for each in model.foundations
    }
    follows = [
        f"- {', '.join(map(code, dict.fromkeys(outputs)))}: as far off as what they follow from in [{name}]({name}.md)"
        for name, outputs in below.items()
    ]
    if not rows and not follows:
        return []
    heads = ("Output", "Variants", "Rows", "How many", "Median", "90%", "Worst")
    return ["## Accuracy", "", *([*table(heads, rows), ""] if rows else []), *([*follows, ""] if follows else [])]


def _formulas(known: Knowledge, systems) -> list[str]:
    """Every formula by topic, with the variants that have it."""
    used: dict[Formula, list[str]] = {}
    for name, model in systems.items():
        for formula in dict.fromkeys(each.printed for each in model.formulas):
            used.setdefault(formula, []).append(name)
    lines: list[str] = []
    for topic in known.book.topics:
        rows = [
            (formula_from_models(known, formula), inline(formula.variable.latex), code(formula.name),
             _variants(used[formula], systems))
            for formula in topic.formulas if formula in used
        ]  # fmt: skip
        if rows:
            lines += [f"### {prose(topic.title)}", "", *table(("Formula", "Symbol", "Name", "Variants"), rows), ""]
    return lines


def formula_from_models(known: Knowledge, formula: Formula, briefly: bool = False) -> str:
    """A link to a formula from a folder beside the book; briefly by the name of its variant, where it has one."""
    variant = rf" \[{formula.variant}\]" if formula.variant else ""
    shown = formula.variant if briefly and variant else f"{prose(formula.title)}{variant}"
    return f"[{shown}]({formula_page(known, formula)})"


def formula_page(known: Knowledge, formula: Formula) -> str:
    """The place of a formula in the book, from a folder beside it."""
    return f"../formulas/{known.topic_of[formula].name}.md#{anchor(formula)}"


def _unit(variable: Variable) -> str:
    return unit_text(variable.unit) or "–"


def _variants(names: list[str], systems) -> str:
    """Variants by name; by their numbers in the list of variants where they are many."""
    if len(names) == len(systems):
        return "all"
    if len(names) <= FEW:
        return ", ".join(map(code, names))
    numbers = enumerate(number for number, name in enumerate(systems, 1) if name in names)
    runs = [[number for _, number in run] for _, run in groupby(numbers, lambda pair: pair[1] - pair[0])]
    # A run of two is two numbers, and a line does not break within one of more.
    return ", ".join(f"{run[0]}–\u2060{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
