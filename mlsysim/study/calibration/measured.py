"""Measurements: rows of a table as inputs and measured outputs of a model, with its predictions."""

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

#: Axis of the rows, and column of weights.
ROWS, WEIGHT = "observation", "weight"


@dataclass(frozen=True)
class Measured:
    """Measured outputs, and the model at the same inputs.

    Attributes
    ----------
    table : Table
        Table with the rows.
    varied : Varied
        Outputs as functions of the free inputs, with the rows as an axis.
    outputs : dict
        Canonical measurements by output, nan for an empty cell.
    labels : dict
        Cells of the label columns.
    weights : ndarray
        Weight of each row, from the column of weights; ones without it.
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
        return {column.name: column.cells for column in self.table.columns if column.name in known}

    def predicted(self, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Predict canonical outputs in every row, at values of the free inputs; an axis may precede the rows."""
        shape = (*np.broadcast_shapes(*map(np.shape, values.values())), self.table.rows)
        predictions = self.varied.values({name: np.asarray(value)[..., None] for name, value in values.items()})
        return {name: np.broadcast_to(values_of_output, shape) for name, values_of_output in predictions.items()}

    def slopes(self, values: Mapping[str, float]) -> dict[str, dict[str, np.ndarray]]:
        """Differentiate every output in every row by each free input."""
        derivatives, rows = self.varied.slopes(values), (self.table.rows,)
        return {
            by: {name: np.broadcast_to(slope, rows) for name, slope in by_output.items()}
            for by, by_output in derivatives.items()
        }


def measured(
    model: DeclaredModel, table: Table, constants: Mapping[str, Any], free: Sequence[str], *, outputs: Any, ignore: Any
) -> Measured:
    """Bind the rows of a table to the inputs of a model.

    Parameters
    ----------
    model : DeclaredModel
        Model whose arguments and outputs the columns are.
    table : Table
        Table of measurements.
    constants : mapping
        Arguments with one value for all rows.
    free : sequence of str
        Inputs to fit.
    outputs : str or iterable of str, optional
        Measured columns to use; by default all.
    ignore : str or iterable of str
        Columns kept as labels.

    Raises
    ------
    InputError
        If a column is neither argument nor output, is given twice or is empty, or nothing was measured.
    """
    ignored = _names("ignore", ignore)
    for name in ignored:
        if name not in {column.name for column in table.columns}:
            raise UnknownNameError("column", name, [column.name for column in table.columns])
    inputs, outputs_measured, labels, weights = _sorted(model, table, ignored, constants, free)
    used = [name for name in outputs_measured if outputs is None] or model.named_outputs(outputs if outputs else ())
    for name in used:
        if name not in outputs_measured:
            raise InputError(
                "outputs", name, "is no column of the table", f"measured: {', '.join(outputs_measured) or 'nothing'}"
            )
    for name, value in constants.items():
        if isinstance(value, Linked) or is_axis(value):
            raise InputError(name, value, "has one value here", f"what differs between rows is a column {name}")

    def bind(row: Mapping[str, Any]) -> Varied:
        return Varied(model, {**constants, **row}, free, used)

    try:
        varied = bind(_bound(model, table, inputs))
    except MlsysimError as error:
        raise _first_refused(inputs, table.rows, bind, error) from None
    canonical = {name: _canonical(name, outputs_measured[name], table.rows) for name in used}
    return Measured(table, varied, canonical, labels, weights)


def _sorted(
    model: DeclaredModel, table: Table, ignored: Sequence[str], constants: Mapping[str, Any], free: Sequence[str]
) -> tuple[dict[str, Column], dict[str, Column], dict[str, tuple[Any, ...]], np.ndarray]:
    """Sort columns into inputs, measured outputs, labels and weights."""
    inputs: dict[str, Column] = {}
    measured_columns: dict[str, Column] = {}
    labels: dict[str, tuple[Any, ...]] = {}
    weights = np.ones(table.rows)
    for column in table.columns:
        name = column.name
        if name in ignored:
            labels[name] = column.cells
        elif name in free:
            raise InputError("free", name, "is a column of the table, so its values are known")
        elif name in type(model).arguments:
            if constants.get(name) is not None:
                raise InputError(name, constants[name], "is given twice", "it is a column of the table")
            inputs[name] = column
        elif name in model.system:
            if variable_of(name).domain.kind in ("choice", "boolean"):
                allowed = "measured outputs are numbers, no labels or truth values"
                raise InputError("column", name, allowed, f"ignore=[{name!r}] carries it along")
            measured_columns[name] = column
        elif name == WEIGHT:
            weights = _weights(column.values(range(table.rows)), table.rows)
        else:
            outputs = [variable.name for variable in model.outputs]
            hint = f"ignore=[{name!r}] carries it along"
            raise UnknownNameError(f"column: no argument or output of {type(model).__name__} is called", name,
                                   [*model.arguments, *outputs, WEIGHT], hint)  # fmt: skip
    if not measured_columns:
        names = ", ".join(column.name for column in table.columns)
        raise InputError("observations", names, "no column is an output of the model: nothing was measured")
    return inputs, measured_columns, labels, weights


def _bound(model: DeclaredModel, table: Table, inputs: Mapping[str, Column]) -> dict[str, Any]:
    """Convert input columns to arguments: one value if all rows agree, else values along the rows."""
    values = {name: column.values(range(table.rows)) for name, column in inputs.items()}
    constant = {name: column[0] for name, column in values.items() if all(_same(cell, column[0]) for cell in column)}
    different = {name: column for name, column in values.items() if name not in constant}
    for name in different:
        slot = model.slots.get(name)
        if slot is not None and issubclass(slot.entry, Recipe):
            hint = "calibrate on the rows of one recipe, or give what the recipes say as columns"
            raise InputError(name, different[name], "has the same value in all rows", hint)
    return constant | ({ROWS: Linked(different, repeats=True)} if different else {})


def _first_refused(
    inputs: Mapping[str, Column], rows: int, bind: Callable[[dict[str, Any]], Any], error: MlsysimError
) -> MlsysimError:
    """Find the error of the first row that is refused while another is not; return the given error if all are."""
    first: MlsysimError | None = None
    passed = False
    for row in range(rows):
        try:
            bind({name: column.values([row])[0] for name, column in inputs.items()})
        except MlsysimError as row_error:
            first = first or in_row(row_error, row)
        else:
            passed = True
        if first and passed:
            return first
    return error


def _same(first: Any, second: Any) -> bool:
    return type(first) is type(second) and bool(first == second)


def _canonical(name: str, column: Column, rows: int) -> np.ndarray:
    """Convert measured values of an output to canonical units, nan for an empty cell."""
    variable = variable_of(name)
    measured = np.full(rows, np.nan)
    for row in (row for row, cell in enumerate(column.cells) if cell is not None):
        (cell,) = column.values([row])
        try:
            value = _measured(variable, cell, row)
        except UnitError as error:
            raise in_row(error, row, name) from None
        except OverflowError:  # a whole number with hundreds of digits
            value = np.inf
        if not np.isfinite(value):
            raise InputError(name, cell, "a measured output is finite", f"in row {row + 1}; leave its cell empty")
        measured[row] = float(value)
    if np.isnan(measured).all():
        raise InputError(name, None, "every cell of the column is empty")
    return measured


def _measured(variable: Variable, cell: Any, row: int) -> float:
    name, unit = variable.name, variable.unit
    if isinstance(cell, str):
        cell = units.parsed(cell)
    if units.is_quantity(cell):
        return float(units.canonical(cell, unit, name))
    if isinstance(cell, int | float | np.number) and not isinstance(cell, bool | np.bool_):
        return units.to_canonical(float(cell), unit)
    raise InputError(name, cell, "a measured output is a number", f"in row {row + 1}")


def _weights(cells: Iterable[Any], rows: int) -> np.ndarray:
    """Check weights of rows: nonnegative numbers, not all zero."""
    try:
        numbers = np.asarray(list(cells), float)
    except (TypeError, ValueError, OverflowError):
        numbers = np.array([])
    if numbers.shape != (rows,) or not (np.isfinite(numbers) & (numbers >= 0)).all() or not numbers.any():
        raise InputError("weights", cells, f"are {rows} numbers >= 0, one per row, and not all zero")
    return numbers


def weighted(rows_measured: Measured, weights: Any) -> dict[str, np.ndarray]:
    """Weight every measurement by output: weight of its row, times the weight in the call.

    Parameters
    ----------
    rows_measured : Measured
        Measured rows.
    weights : sequence of float, or mapping, optional
        Weights per row, or by output one or one per row.
    """
    rows = len(rows_measured.weights)
    by_output = dict.fromkeys(rows_measured.outputs, rows_measured.weights)
    if weights is None:
        return by_output
    if not isinstance(weights, Mapping):
        return dict.fromkeys(by_output, rows_measured.weights * _weights(weights, rows))
    for name, value in weights.items():
        if name not in by_output:
            raise UnknownNameError("measured output", name, by_output)
        row_weights = value if is_axis(value) else [value] * rows
        by_output[name] = rows_measured.weights * _weights(row_weights, rows)
    return by_output


def _names(argument: str, typed: Any) -> tuple[str, ...]:
    names = (typed,) if isinstance(typed, str) else typed
    listed = tuple(names) if isinstance(names, Iterable) else ()
    if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in listed):
        raise InputError(argument, typed, "must be a name, or a list of names")
    return listed
