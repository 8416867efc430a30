"""The formulas of a model as JavaScript: every variant, each distinct function printed once."""

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
    """Model as a page computes it: functions, and for each variant the formulas that call them.

    Parameters
    ----------
    model : type
        The model.
    functions : Functions, optional
        Where functions are put that several models may share.

    Attributes
    ----------
    variants : dict
        For each variant that has a calculator, the places of its formulas in ``formulas``, in order of evaluation.
    without : dict
        Why the other variants have none.
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
        """Places of further expressions of inputs, by name."""
        _, named = printed_formulas(System(()), self._functions, expressions)
        return [self._entry(formula) for formula in named]

    def text_of(self, formula: Formula) -> int:
        """Place of the text of a formula in ``texts``."""
        if formula not in self._places:
            marked, cases = template(formula.expression)
            places = self.places_of((formula.name, case) for case in cases)
            text = re.sub("«([^»]*)»", lambda match: f"«{self.name_of(match[1])}»", marked)
            self._places[formula] = len(self.texts)
            self.texts.append((text, places, not formula.expression.has(ChunkedPrefill, LeastInteger, Root)))
        return self._places[formula]

    def name_of(self, name: str) -> int:
        """Place of a name in ``NAMES``."""
        return self._names.setdefault(name, len(self._names))

    def script(self) -> str:
        """The functions; ``NAMES`` of variables, and ``FORMULAS``: place of its name, function, places of its needs."""
        rows = ",\n".join(
            f"[{self.name_of(each.name)},{each.function},[{','.join(str(self.name_of(name)) for name in each.needs)}]]"
            for each in self._entries
        )
        return f"{self._functions.script()}const FORMULAS = [\n{rows}];\nconst NAMES = {json.dumps([*self._names])};\n"
