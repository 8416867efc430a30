"""Contents of the book: topics with their formulas, cited works, and links to them."""

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

#: Pages that are not topics.
PAGES = ("README", "variants", "references")


@dataclass(frozen=True)
class Topic:
    """One page of the book.

    Parameters
    ----------
    name : str
        Name of the module with the formulas, and of the files.
    title, intro : str
        First line, and rest, of the module's docstring.
    formulas : tuple of Formula
        Formulas in the module's order.
    """

    name: str
    title: str
    intro: str
    formulas: tuple[Formula, ...]

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Variables on the page, in the order of declaration; generic ones for indexed formulas."""
        by_name = {v.name: v for formula in self.formulas for v in (formula.variable, *formula.inputs)}
        position = declaration_order()
        return tuple(sorted(by_name.values(), key=lambda v: position[v.name]))

    @cached_property
    def families(self) -> dict[Index, list[Family]]:
        """Families whose generic variables are on the page, by index."""
        by_index: dict[Index, list[Family]] = {}
        for family in filter(None, (family_of(variable.name) for variable in self.variables)):
            by_index.setdefault(family.index, []).append(family)
        return by_index

    @cached_property
    def functions(self) -> tuple[sympy.Basic, ...]:
        """One call of every function of mlsysim's own on the page."""
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
    """All topics of the book."""

    topics: tuple[Topic, ...]

    @cached_property
    def formulas(self) -> tuple[tuple[Topic, Formula], ...]:
        """Formulas with their topics, in order."""
        return tuple((topic, formula) for topic in self.topics for formula in topic.formulas)

    @cached_property
    def works(self) -> tuple[Reference, ...]:
        """Works that formulas or examples cite, by key."""
        keys = {key for _, formula in self.formulas for key in cited(formula)}
        return tuple(reference(key) for key in sorted(keys))

    def defining(self, variable: Variable) -> tuple[tuple[Topic, Formula], ...]:
        """List the formulas of a variable, or of its family, with their topics; none for an input."""
        return tuple(self._defining.get(variable, ()))

    @cached_property
    def _defining(self) -> dict[Variable, list[tuple[Topic, Formula]]]:
        forms: dict[Variable, list[tuple[Topic, Formula]]] = {}
        for entry in self.formulas:
            for variable in dict.fromkeys((entry[1].variable, *defined(entry[1]))):
                forms.setdefault(variable, []).append(entry)
        return forms


def read_book(own: Iterable[type[DeclaredModel]] = ()) -> Book:
    """Collect the topics of the package, and a topic per module of user-defined models.

    Parameters
    ----------
    own : iterable of type
        Models with formulas that are in none of the package's topics.

    Raises
    ------
    ModelError
        If a module has the name of a page.
    """
    topics = [_topic(name, topic(name), topic(name).FORMULAS) for name in TOPICS]
    covered = {formula for topic in topics for formula in topic.formulas}
    for module, models in groupby(own, key=lambda model: model.__module__):
        name = module.rpartition(".")[2]
        if name in (*(topic.name for topic in topics), *PAGES):
            raise ModelError(f"{module}: the book has a page {name!r} already; rename the module")
        used = (f.printed for model in models for variant in model.variants for f in model(variant).formulas)
        topics.append(_topic(name, sys.modules[module], [f for f in dict.fromkeys(used) if f not in covered]))
        covered |= set(topics[-1].formulas)
    return Book(tuple(topics))


def _topic(name: str, module: ModuleType, formulas: Iterable[Formula]) -> Topic:
    title, _, intro = (inspect.getdoc(module) or name).partition("\n")
    return Topic(name, title.strip().removesuffix("."), intro.strip(), tuple(formulas))


def defined(formula: Formula) -> tuple[Variable, ...]:
    """List the variables that a formula computes: one, or the members of its family."""
    return tuple(member.variable for member in formula.members)


def cited(formula: Formula) -> Iterable[str]:
    """Citation keys of a formula and of its example."""
    return {source.key for source in (formula.source, formula.example and formula.example.source) if source}


def in_units(variable: Variable, value: Any) -> str:
    """Format an input of an example with its unit, in enough digits to repeat the calculation."""
    if isinstance(value, str | bool | int):
        return _with_unit(str(value), variable.unit)
    digits = f"{value:.10g}"
    if abs(value) >= 1e6:
        digits = re.sub(r"\.?0*e", "e", f"{value:.9e}")
    return _with_unit(_exponent(digits), variable.unit)


def computed(formula: Formula) -> str:
    """Format a formula's value for its example, in the source's unit and with one more digit.

    Parameters
    ----------
    formula : Formula
        Formula that has an example.
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
    """Format a unit: ``token^2`` becomes ``token²``, a pure number has none."""
    return "" if unit == "count" else unit.replace("^2", "²").replace("^3", "³")


def _with_unit(value: str, unit: str) -> str:
    return f"{value} {unit_text(unit)}".rstrip()


def _exponent(value: str) -> str:
    return re.sub(r"e\+?(-?)0*", r"e\1", value)
