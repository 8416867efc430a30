"""Rows of a table as the inputs and the measured outputs of a model, and what the model says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.catalog import Recipe
from mlsysim.errors import InputError, MlsysimError, UnitError, UnknownNameError
from mlsysim.inputs.axes import Linked
from mlsysim.inputs.convert import is_axis
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.calibration.table import Column, Table, in_row
from mlsysim.study.varied import Varied
from mlsysim.symbolic import Variable, variable_of

#: The axis of the rows, and the column of weights.
ROWS, WEIGHT = "observation", "weight"


@dataclass(frozen=True)
class Measured:
    """Outputs that were measured, and the model at the same inputs.

    Attributes
    ----------
    table : Table
        The rows as they came.
    varied : Varied
        Outputs as functions of the free inputs, with an axis of the rows.
    outputs : dict
        Canonical measurements by output, nan where a cell is empty.
    labels : dict
        Cells of the columns that are carried along.
    weights : ndarray
        Per row, from its column; ones without it.
    """

    table: Table
    varied: Varied
    outputs: dict[str, np.ndarray]
    labels: dict[str, tuple[Any, ...]]
    weights: np.ndarray

    @property
    def inputs(self) -> dict[str, tuple[Any, ...]]:
        """Cells of the columns that are inputs."""
        known = self.varied.model.arguments
        return {each.name: each.cells for each in self.table.columns if each.name in known}

    def predicted(self, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Canonical outputs in every row, at values of the free inputs that may have an axis before the rows."""
        shape = (*np.broadcast_shapes(*map(np.shape, values.values())), self.table.rows)
        found = self.varied.values({name: np.asarray(value)[..., None] for name, value in values.items()})
        return {name: np.broadcast_to(each, shape) for name, each in found.items()}

    def slopes(self, values: Mapping[str, float]) -> dict[str, dict[str, np.ndarray]]:
        """Derivative of every output in every row by each free input."""
        found, rows = self.varied.slopes(values), (self.table.rows,)
        return {by: {name: np.broadcast_to(each, rows) for name, each in of.items()} for by, of in found.items()}


def measured(
    model: DeclaredModel, table: Table, held: Mapping[str, Any], free: Sequence[str], *, outputs: Any, ignore: Any
) -> Measured:
    """Bind the rows of a table to the inputs of a model.

    Parameters
    ----------
    model : DeclaredModel
        Whose arguments and outputs the columns are.
    table : Table
        Its rows.
    held : mapping
        Arguments with one value for all rows.
    free : sequence of str
        Inputs that are found.
    outputs : str or iterable of str, optional
        The measured columns to use; all of them by default.
    ignore : str or iterable of str
        Columns that are carried along.

    Raises
    ------
    InputError
        If a column is no argument or output, is given twice, is empty, or nothing was measured.
    """
    carried = _names("ignore", ignore)
    for name in carried:
        if name not in {column.name for column in table.columns}:
            raise UnknownNameError("column", name, [column.name for column in table.columns])
    given, found, labels, weights = _sorted(model, table, carried, held, free)
    asked = [name for name in found if outputs is None] or model.named_outputs(outputs if outputs else ())
    for name in asked:
        if name not in found:
            raise InputError("outputs", name, "is no column of the table", f"measured: {', '.join(found) or 'nothing'}")
    for name, value in held.items():
        if isinstance(value, Linked) or is_axis(value):
            raise InputError(name, value, "has one value here", f"what differs between rows is a column {name}")

    def bind(row: Mapping[str, Any]) -> Varied:
        return Varied(model, {**held, **row}, free, asked)

    try:
        varied = bind(_bound(model, table, given))
    except MlsysimError as error:
        raise _first_refused(given, table.rows, bind, error) from None
    canonical = {name: _canonical(name, found[name], table.rows) for name in asked}
    return Measured(table, varied, canonical, labels, weights)


def _sorted(
    model: DeclaredModel, table: Table, carried: Sequence[str], held: Mapping[str, Any], free: Sequence[str]
) -> tuple[dict[str, Column], dict[str, Column], dict[str, tuple[Any, ...]], np.ndarray]:
    """Columns by what they are: inputs, measured outputs, labels, weights."""
    given: dict[str, Column] = {}
    found: dict[str, Column] = {}
    labels: dict[str, tuple[Any, ...]] = {}
    weights = np.ones(table.rows)
    for column in table.columns:
        name = column.name
        if name in carried:
            labels[name] = column.cells
        elif name in free:
            raise InputError("free", name, "is a column of the table, so its values are known")
        elif name in type(model).arguments:
            if held.get(name) is not None:
                raise InputError(name, held[name], "is given twice", "it is a column of the table")
            given[name] = column
        elif name in model.system:
            if variable_of(name).domain.kind in ("choice", "boolean"):
                allowed = "measured outputs are numbers, no labels or truth values"
                raise InputError("column", name, allowed, f"ignore=[{name!r}] carries it along")
            found[name] = column
        elif name == WEIGHT:
            weights = _weights(column.values(range(table.rows)), table.rows)
        else:
            outputs = [v.name for v in model.outputs]
            hint = f"ignore=[{name!r}] carries it along"
            raise UnknownNameError(f"column: no argument or output of {type(model).__name__} is called", name,
                                   [*model.arguments, *outputs, WEIGHT], hint)  # fmt: skip
    if not found:
        names = ", ".join(column.name for column in table.columns)
        raise InputError("observations", names, "no column is an output of the model: nothing was measured")
    return given, found, labels, weights


def _bound(model: DeclaredModel, table: Table, given: Mapping[str, Column]) -> dict[str, Any]:
    """The columns of inputs as arguments: one value where all rows agree, else values along the rows."""
    values = {name: column.values(range(table.rows)) for name, column in given.items()}
    alike = {name: column[0] for name, column in values.items() if all(_same(cell, column[0]) for cell in column)}
    different = {name: column for name, column in values.items() if name not in alike}
    for name in different:
        slot = model.slots.get(name)
        if slot is not None and issubclass(slot.entry, Recipe):
            hint = "calibrate on the rows of one recipe, or give what the recipes say as columns"
            raise InputError(name, different[name], "has the same value in all rows", hint)
    return alike | ({ROWS: Linked(different, repeats=True)} if different else {})


def _first_refused(
    given: Mapping[str, Column], rows: int, bind: Callable[[dict[str, Any]], Any], error: MlsysimError
) -> MlsysimError:
    """The error of the first row that is refused where another is not; the error as it is where all are."""
    found: MlsysimError | None = None
    passed = False
    for row in range(rows):
        try:
            bind({name: column.values([row])[0] for name, column in given.items()})
        except MlsysimError as own:
            found = found or in_row(own, row)
        else:
            passed = True
        if found and passed:
            return found
    return error


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _canonical(name: str, column: Column, rows: int) -> np.ndarray:
    """Measured values of an output in canonical units, nan where a cell is empty."""
    variable = variable_of(name)
    measured = np.full(rows, np.nan)
    for place in (place for place, cell in enumerate(column.cells) if cell is not None):
        (cell,) = column.values([place])
        try:
            value = _measured(variable, cell, place)
        except UnitError as error:
            raise in_row(error, place, name) from None
        except OverflowError:  # a whole number with hundreds of digits
            value = np.inf
        if not np.isfinite(value):
            raise InputError(name, cell, "a measured output is finite", f"in row {place + 1}; leave its cell empty")
        measured[place] = float(value)
    if np.isnan(measured).all():
        raise InputError(name, None, "every cell of the column is empty")
    return measured


def _measured(variable: Variable, cell: Any, place: int) -> float:
    name, unit = variable.name, variable.unit
    if isinstance(cell, str):
        cell = units.parsed(cell)
    if units.is_quantity(cell):
        return float(units.canonical(cell, unit, name))
    if isinstance(cell, int | float | np.number) and not isinstance(cell, bool | np.bool_):
        return units.to_canonical(float(cell), unit)
    raise InputError(name, cell, "a measured output is a number", f"in row {place + 1}")


def _weights(cells: Iterable[Any], rows: int) -> np.ndarray:
    """Weights of rows: numbers from zero up, not all of them zero."""
    try:
        found = np.asarray(list(cells), float)
    except (TypeError, ValueError, OverflowError):
        found = np.array([])
    if found.shape != (rows,) or not (np.isfinite(found) & (found >= 0)).all() or not found.any():
        raise InputError("weights", cells, f"are {rows} numbers >= 0, one per row, and not all zero")
    return found


def weighted(found: Measured, weights: Any) -> dict[str, np.ndarray]:
    """Weight of every measurement by output: that of its row, times what the caller says.

    Parameters
    ----------
    found : Measured
        The rows.
    weights : sequence of float, or mapping, optional
        One per row, or by output one or one per row.
    """
    rows = len(found.weights)
    by_output = dict.fromkeys(found.outputs, found.weights)
    if weights is None:
        return by_output
    if not isinstance(weights, Mapping):
        return dict.fromkeys(by_output, found.weights * _weights(weights, rows))
    for name, value in weights.items():
        if name not in by_output:
            raise UnknownNameError("measured output", name, by_output)
        each = value if is_axis(value) else [value] * rows
        by_output[name] = found.weights * _weights(each, rows)
    return by_output


def _names(argument: str, given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    found = tuple(names) if isinstance(names, Iterable) else ()
    if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in found):
        raise InputError(argument, given, "must be a name, or a list of names")
    return found
