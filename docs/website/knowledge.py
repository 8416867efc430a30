"""What pages say of each other: who uses a formula, what it needs, and where its numbers were checked."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from mlsysim.book.contents import Book, Topic, read_book
from mlsysim.models import PerformanceModel, every_model
from mlsysim.study.results.expected_error import areas
from mlsysim.symbolic import Formula

Model = type[PerformanceModel]


class Knowledge:
    """The book and the models, and the links between them."""

    def __init__(self) -> None:
        self.book: Book = read_book()
        self.models: tuple[Model, ...] = tuple(every_model())
        self.topic_of: dict[Formula, Topic] = {formula: topic for topic, formula in self.book.formulas}

    @cached_property
    def uses(self) -> dict[Formula, dict[Model, list[str]]]:
        """Per formula the models that have it, and in which variants."""
        found: dict[Formula, dict[Model, list[str]]] = {}
        for model in self.models:
            for variant in model.variants:
                for formula in dict.fromkeys(each.printed for each in model(variant).formulas):
                    found.setdefault(formula, {}).setdefault(model, []).append(variant)
        return found

    @cached_property
    def users(self) -> dict[str, list[Formula]]:
        """Per variable the formulas that need it; a formula with an index counts for its members."""
        found: dict[str, dict[Formula, None]] = {}
        for _, formula in self.book.formulas:
            for each in (formula, *formula.members):
                for variable in each.inputs:
                    found.setdefault(variable.name, {})[formula] = None
        return {name: list(formulas) for name, formulas in found.items()}

    def needed_by(self, formula: Formula) -> list[Formula]:
        """The formulas that need what a formula gives."""
        names = [formula.name, *(each.name for each in formula.members)]
        return [
            each
            for each in dict.fromkeys(user for name in names for user in self.users.get(name, ()))
            if each is not formula
        ]

    @cached_property
    def checks(self) -> dict[Formula, list[dict[str, Any]]]:
        """Per formula the areas of checks whose outputs it leads to."""
        found: dict[Formula, list[dict[str, Any]]] = {}
        models = {model.__name__: model for model in self.models}
        for area in areas():
            used: dict[Formula, None] = {}
            for variant in area["variants"]:
                system = models[area["model"]](variant).system
                outputs = [name for name in area["outputs"] if name in system]
                used |= dict.fromkeys(each.printed for each in system.closure(outputs))
            for formula in used:
                found.setdefault(formula, []).append(area)
        return found
