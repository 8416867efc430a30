"""The rows of a calibration as a file beside the stack that came from them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import units
from mlsysim.errors import printable
from mlsysim.study.calibration.measured import WEIGHT
from mlsysim.study.calibration.table import NOTE, Column, Table, named
from mlsysim.symbolic import variable_of

if TYPE_CHECKING:
    from mlsysim.study.calibration.problem import Problem


def rows_text(problem: Problem, held: Mapping[str, Any]) -> str:
    """The rows as CSV that ``calibrate`` reads: units in the headers, and in notes what was held.

    Parameters
    ----------
    problem : Problem
        Whose rows they are, with weights that were given apart from them as a column.
    held : mapping
        Arguments that had one value for all rows.
    """
    columns = [_with_unit(problem, column) for column in _used(problem)]
    text = io.StringIO()
    for note in _notes(problem, held):
        text.write(f"{NOTE} {printable(' '.join(note.split()))}\n")
    headers = tuple(f"{each.name} [{each.unit}]" if each.unit else each.name for each in columns)
    for row in (headers, *zip(*([_cell(cell) for cell in each.cells] for each in columns), strict=True)):
        # In quotes a line is no note.
        quoting = csv.QUOTE_ALL if row[0].startswith(NOTE) else csv.QUOTE_MINIMAL
        csv.writer(text, lineterminator="\n", quoting=quoting).writerow(row)
    return text.getvalue()


def rows_path(file: Path, name: str) -> Path:
    """Path of the rows of a stack: beside the catalog file."""
    return file.with_name(f"{file.stem}.{name}.csv")


def _used(problem: Problem) -> list[Column]:
    """The columns that the calibration used, and those that were carried along."""
    rows: Table = problem.measured.table
    labels, outputs, inputs = problem.measured.labels, problem.measured.outputs, problem.measured.inputs
    columns = [each for each in rows.columns if each.name in labels or each.name in outputs or each.name in inputs]
    weights = list(problem.weights.values())
    if all((each == weights[0]).all() for each in weights):
        return columns if (weights[0] == 1).all() else [*columns, Column(WEIGHT, "", tuple(weights[0].tolist()))]
    return columns


def _with_unit(problem: Problem, column: Column) -> Column:
    """A column of numbers with a unit in its header, in which all of them are."""
    labels = problem.measured.labels
    variable = None if column.name in labels else problem.measured.varied.model.arguments.get(column.name)
    if column.name in problem.measured.outputs:
        variable = variable_of(column.name)
    if variable is None or variable.named_unit or not variable.dimension:
        return column
    unit = column.unit or variable.unit
    cells = [units.own(c).to(units.unit(unit)).magnitude if units.is_quantity(c) else c for c in column.cells]
    return replace(column, unit=unit, cells=tuple(cells))


def _notes(problem: Problem, given: Mapping[str, Any]) -> list[str]:
    model = problem.measured.varied.model
    held = [f"{name}={named(value)}" for name, value in given.items()]
    free = ", ".join(each.name for each in problem.parameters)
    notes = [
        f"{type(model).__name__}({model.variant!r}).calibrate: found {free} from {problem.measured.table.described}",
        f"Held: {', '.join(held) or 'nothing'}",
    ]
    labels = ", ".join(problem.measured.labels)
    notes += [f"Carried along (ignore=): {labels}"] if labels else []
    notes += ["Compared by difference (space='linear')"] if problem.space == "linear" else []
    each: Mapping[str, np.ndarray] = problem.weights
    if any((weights != next(iter(each.values()))).any() for weights in each.values()):
        notes += [f"Weights of {name}: {', '.join(f'{w:g}' for w in weights)}" for name, weights in each.items()]
    return notes


def _cell(cell: Any) -> str:
    if cell is None:
        return ""
    plain = cell.item() if isinstance(cell, np.generic) else cell
    return repr(plain) if isinstance(plain, float) else " ".join(named(plain).split())
