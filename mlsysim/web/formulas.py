"""Formulas of a model as JavaScript, all variants, with each distinct function printed once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import sympy

from mlsysim.backends.javascript import Functions, PrintedFormula, printed_formulas
from mlsysim.errors import FormulaError
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.progress import looped
from mlsysim.symbolic import ChunkedPrefill, Formula, LeastInteger, Root, System
from mlsysim.symbolic.printing.template import template


class PrintedModel:
    """A model as its page computes it: functions, and the formulas of each variant that call them.

    Parameters
    ----------
    model : type
        Model of the page.
    functions : Functions, optional
        Collection of functions, which several models may share.

    Attributes
    ----------
    variants : dict
        Positions in ``formulas`` of each calculable variant's formulas, in order of evaluation.
    without : dict
        Reasons why other variants have no calculator.
    texts : list of tuple
        For each formula as LaTeX its template, the places of the functions that choose among its cases, and whether
        numbers are put into it.
    """

    def __init__(self, model: type[DeclaredModel], functions: Functions | None = None) -> None:
        self._functions = functions or Functions()
        self._entries: dict[PrintedFormula, int] = {}
        self._places: dict[Formula, int] = {}
        self._names: dict[str, int] = {}
        self.texts: list[tuple[str, list[int], bool]] = []
        self.variants: dict[str, list[int]] = {}
        self.without: dict[str, str] = {}
        for variant in looped(tuple(model.variants)):
            if variant in model.without_calculator:
                self.without[variant] = f"ask mlsysim {model.command} --variant {variant}, or Python"
                continue
            try:
                formulas, _ = printed_formulas(model(variant).system, self._functions)
            except FormulaError as error:
                self.without[variant] = str(error).partition(": ")[2]
            else:
                self.variants[variant] = [self._entry(formula) for formula in formulas]

    def _entry(self, formula: PrintedFormula) -> int:
        return self._entries.setdefault(formula, len(self._entries))

    def places_of(self, expressions: Iterable[tuple[str, sympy.Basic]]) -> list[int]:
        """Return the positions of further expressions of the inputs, by name."""
        _, further = printed_formulas(System(()), self._functions, expressions)
        return [self._entry(formula) for formula in further]

    def text_of(self, formula: Formula) -> int:
        """Return the position of a formula's text in ``texts``."""
        if formula not in self._places:
            marked, cases = template(formula.expression)
            places = self.places_of((formula.name, case) for case in cases)
            text = re.sub("«([^»]*)»", lambda match: f"«{self.name_of(match[1])}»", marked)
            self._places[formula] = len(self.texts)
            self.texts.append((text, places, not formula.expression.has(ChunkedPrefill, LeastInteger, Root)))
        return self._places[formula]

    def name_of(self, name: str) -> int:
        """Return the position of a name in ``NAMES``."""
        return self._names.setdefault(name, len(self._names))

    def script(self) -> str:
        """Write the functions, ``NAMES`` of variables, and ``FORMULAS``: index of name, function, indices of inputs."""
        rows = ",\n".join(
            f"[{self.name_of(each.name)},{each.function},[{','.join(str(self.name_of(name)) for name in each.needs)}]]"
            for each in self._entries
        )
        return f"{self._functions.script()}const FORMULAS = [\n{rows}];\nconst NAMES = {json.dumps([*self._names])};\n"
