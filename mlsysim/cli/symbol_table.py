"""Answer of ``mlsysim symbols``: the nomenclature of a question, of one output or of a formula."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlsysim.book.contents import read_book, unit_text
from mlsysim.book.index import variable_entry
from mlsysim.cli import formula_card, output
from mlsysim.jsontext import json_text
from mlsysim.models import PerformanceModel
from mlsysim.models.registry import Registry
from mlsysim.symbolic import Variable
from mlsysim.symbolic.printing import symbol_text
from mlsysim.symbolic.printing.nomenclature import in_order, nomenclature


def show(
    name: str | None,
    needed_by: str | None,
    registry: Registry,
    variant: str | None,
    *,
    latex: bool,
    as_json: bool,
) -> None:
    """Print symbols with meaning and unit.

    Parameters
    ----------
    name : str or None
        A question, or a variable that a formula computes; every symbol without it.
    needed_by : str or None
        Output of the question whose formulas alone count.
    registry : Registry
        Where questions are looked up.
    variant : str or None
        Set of formulas of the question.
    latex, as_json : bool
        Print a LaTeX ``longtable``, or JSON, instead of text.
    """
    if name in registry.commands:
        model = registry.model(name, variant).asked(variant)
        variables: Sequence[Variable] = model.symbols(needed_by and needed_by.replace("-", "_"))
    else:
        variables = in_order(_of_formulas(name, registry.others()))
    if latex:
        print(nomenclature(variables))
    elif as_json:
        print(json_text({variable.name: variable_entry(variable) for variable in variables}, sort_keys=True))
    else:
        rows = [(symbol_text(v), v.name, unit_text(v.unit), v.description) for v in variables]
        output.listing(("Symbol", "Name", "Unit", "Meaning"), rows)


def _of_formulas(name: str | None, others: Sequence[type[PerformanceModel]]) -> list[Any]:
    """List the variables in the forms of one quantity, or in all formulas."""
    book = read_book(others)
    forms = book.formulas if name is None else formula_card.forms_of(book, name.replace("-", "_"))
    return [v for _, formula in forms for v in (formula.variable, *formula.inputs)]
