"""Contents of the book: topics with their formulas, the works they cite, and where each is found."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from types import ModuleType
from typing import Any

import sympy

from mlsysim import units
from mlsysim.book.examples import example_value
from mlsysim.errors import ModelError
from mlsysim.formulas import TOPICS, topic
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.references import Reference, reference
from mlsysim.symbolic import Family, Formula, Index, Variable, family_of
from mlsysim.symbolic.variable import declaration_order

#: Pages that are no topic.
PAGES = ("README", "variants", "references")


@dataclass(frozen=True)
class Topic:
    """One page of the book.

    Parameters
    ----------
    name : str
        Module of the formulas, and name of the files.
    title, intro : str
        First line and rest of the module's docstring.
    formulas : tuple of Formula
        In the order the module gives.
    """

    name: str
    title: str
    intro: str
    formulas: tuple[Formula, ...]

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Every variable on the page, in the order of the vocabulary; generic ones where it has an index."""
        found = {v.name: v for formula in self.formulas for v in (formula.variable, *formula.inputs)}
        place = declaration_order()
        return tuple(sorted(found.values(), key=lambda v: place[v.name]))

    @cached_property
    def families(self) -> dict[Index, list[Family]]:
        """The families whose generic variables stand on the page, by index."""
        found: dict[Index, list[Family]] = {}
        for family in filter(None, (family_of(variable.name) for variable in self.variables)):
            found.setdefault(family.index, []).append(family)
        return found

    @cached_property
    def functions(self) -> tuple[sympy.Basic, ...]:
        """One use of every function of mlsysim's own on the page."""
        uses: dict[str, list[sympy.Basic]] = {}
        for formula in self.formulas:
            for node in formula.expression.atoms(sympy.Function):
                if type(node).__module__.startswith("mlsysim."):
                    uses.setdefault(type(node).__name__, []).append(node)
        return tuple(
            min(nodes, key=lambda node: (node.has(sympy.Dummy), str(node))) for _, nodes in sorted(uses.items())
        )


@dataclass(frozen=True)
class Book:
    """All topics."""

    topics: tuple[Topic, ...]

    @cached_property
    def formulas(self) -> tuple[tuple[Topic, Formula], ...]:
        """Every formula with its topic, in order."""
        return tuple((topic, formula) for topic in self.topics for formula in topic.formulas)

    @cached_property
    def works(self) -> tuple[Reference, ...]:
        """Works a formula or its example cites, by key."""
        keys = {key for _, formula in self.formulas for key in cited(formula)}
        return tuple(reference(key) for key in sorted(keys))

    def defining(self, variable: Variable) -> tuple[tuple[Topic, Formula], ...]:
        """The forms of a variable, or of the family it is a member of, with their topics; none for an input."""
        return tuple(self._defining.get(variable, ()))

    @cached_property
    def _defining(self) -> dict[Variable, list[tuple[Topic, Formula]]]:
        found: dict[Variable, list[tuple[Topic, Formula]]] = {}
        for entry in self.formulas:
            for variable in dict.fromkeys((entry[1].variable, *defined(entry[1]))):
                found.setdefault(variable, []).append(entry)
        return found


def read_book(own: Iterable[type[DeclaredModel]] = ()) -> Book:
    """The book as the topic modules have it, and a topic per module of models of one's own.

    Parameters
    ----------
    own : iterable of type
        Models whose formulas no topic of ours has.

    Raises
    ------
    ModelError
        If their module has the name of a page.
    """
    topics = [_topic(name, topic(name), topic(name).FORMULAS) for name in TOPICS]
    found = {formula for each in topics for formula in each.formulas}
    for module, models in groupby(own, key=lambda model: model.__module__):
        name = module.rpartition(".")[2]
        if name in (*(each.name for each in topics), *PAGES):
            raise ModelError(f"{module}: the book has a page {name!r} already; rename the module")
        used = (f.printed for model in models for variant in model.variants for f in model(variant).formulas)
        topics.append(_topic(name, sys.modules[module], [f for f in dict.fromkeys(used) if f not in found]))
        found |= set(topics[-1].formulas)
    return Book(tuple(topics))


def _topic(name: str, module: ModuleType, formulas: Iterable[Formula]) -> Topic:
    title, _, intro = (inspect.getdoc(module) or name).partition("\n")
    return Topic(name, title.strip().removesuffix("."), intro.strip(), tuple(formulas))


def defined(formula: Formula) -> tuple[Variable, ...]:
    """Variable that a formula computes, or the members where it has an index."""
    return tuple(member.variable for member in formula.members)


def cited(formula: Formula) -> Iterable[str]:
    """Citation keys of a formula and of its example."""
    return {source.key for source in (formula.source, formula.example and formula.example.source) if source}


def in_units(variable: Variable, value: Any) -> str:
    """An input of an example with its unit; digits enough to repeat the calculation."""
    if isinstance(value, str | bool | int):
        return _with_unit(str(value), variable.unit)
    digits = f"{value:.10g}"
    if abs(value) >= 1e6:
        digits = re.sub(r"\.?0*e", "e", f"{value:.9e}")
    return _with_unit(_exponent(digits), variable.unit)


def computed(formula: Formula) -> str:
    """Value of a formula for its example, in the unit its source prints and to one digit more.

    Parameters
    ----------
    formula : Formula
        One that has an example.
    """
    formula = formula.worked
    assert formula.example is not None
    value = example_value(formula)
    domain = formula.variable.domain
    if domain.kind == "boolean":
        return str(bool(value))
    if domain.kind == "choice":
        return domain.labels[int(value)]
    printed, _, unit = formula.example.result.strip().partition(" ")
    digits = len(re.sub(r"e.*|\D", "", printed).lstrip("0"))
    style = f"{'#' if '.' in printed else ''}.{max(digits + 1, 4)}g"
    return _with_unit(_exponent(format(units.from_canonical(value, unit), style)), unit)


def unit_text(unit: str) -> str:
    """A unit to read: ``token^2`` is ``token²``, a pure number has none."""
    return "" if unit == "count" else unit.replace("^2", "²").replace("^3", "³")


def _with_unit(value: str, unit: str) -> str:
    return f"{value} {unit_text(unit)}".rstrip()


def _exponent(value: str) -> str:
    return re.sub(r"e\+?(-?)0*", r"e\1", value)
