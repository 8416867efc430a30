"""Tables of measurements as columns with units: from a CSV file, a DataFrame, a mapping or a list of mappings."""

from __future__ import annotations

import copy
import csv
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.catalog.files import content_of
from mlsysim.errors import CatalogError, InputError, MlsysimError, printable, quoted

#: A header such as ``step_time [ms]``.
_HEADER = re.compile(r"\s*([^\[\]]*?)\s*(?:\[([^\[\]]*)\])?\s*")
#: Beginning of a note.
NOTE = "#"
HOW = "is the path of a CSV file, a DataFrame, a dict of columns or a list of dicts"


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
        Name without its unit.
    unit : str
        Unit in the header; empty without one.
    cells : tuple
        Cells as typed; None for an empty cell.
    """

    name: str
    unit: str
    cells: tuple[Any, ...]

    def values(self, rows: Sequence[int]) -> list[Any]:
        """Return the cells of some rows with the unit of the header; none may be empty."""
        empty = next((row for row in rows if self.cells[row] is None), None)
        if empty is not None:
            raise InputError(self.name, None, "an input has a value in every row", f"row {empty + 1} has none")
        return [self._with_unit(self.cells[row]) for row in rows]

    def _with_unit(self, cell: Any) -> Any:
        if not self.unit or units.is_quantity(cell) or isinstance(cell, bool | np.bool_):
            return cell
        number = cell if isinstance(cell, int | float | np.number) else _number(cell)
        return units.Q_(number, units.unit(self.unit)) if number is not None else cell


@dataclass(frozen=True)
class Table:
    """Columns of equal length, and their origin.

    Attributes
    ----------
    columns : tuple of Column
        Columns in order.
    rows : int
        Number of rows.
    origin : str
        Name of the file; empty without one.
    fingerprint : str
        SHA-256 of the names, units and cells.
    """

    columns: tuple[Column, ...]
    rows: int
    origin: str = ""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the names, units and cells."""
        content = repr([(column.name, column.unit, [named(cell) for cell in column.cells]) for column in self.columns])
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def described(self) -> str:
        """Number and source of the rows, with the beginning of the fingerprint."""
        plural = "row" if self.rows == 1 else "rows"
        return f"{self.rows} {plural}{f' of {self.origin}' if self.origin else ''} (sha256 {self.fingerprint[:12]})"


def read_table(observations: Any) -> Table:
    """Read a table from any supported container.

    Parameters
    ----------
    observations : path, DataFrame, mapping or sequence of mappings
        Headers may have a unit, as in ``step_time [ms]``.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        If it is none of these, has no rows, repeats a column, or its columns differ in length.
    """
    if isinstance(observations, Table):
        return observations
    origin, extra = "", {}
    if isinstance(observations, str | os.PathLike):
        origin = printable(Path(observations).name, lines=False)
        headers, cells = _from_csv(Path(observations))
    elif hasattr(observations, "columns") and hasattr(observations, "iloc"):
        headers, cells = list(observations.columns), [
            observations.iloc[:, index].tolist() for index in range(len(observations.columns))
        ]  # fmt: skip
        extra = _attached_units(observations)
    elif isinstance(observations, Mapping):
        headers, cells = list(observations), [_listed(name, column) for name, column in observations.items()]
    elif isinstance(observations, Sequence) and observations and all(isinstance(row, Mapping) for row in observations):
        headers = list(dict.fromkeys(name for row in observations for name in row))
        cells = [[row.get(name) for row in observations] for name in headers]
    else:
        raise InputError("observations", observations, HOW)
    return _checked(headers, cells, origin, extra)


def _checked(headers: Sequence[Any], cells: Sequence[Sequence[Any]], origin: str, extra: Mapping[str, str]) -> Table:
    columns = []
    for header, column in zip(headers, cells, strict=True):
        matched = _HEADER.fullmatch(header) if isinstance(header, str) else None
        if matched is None or not matched[1]:
            raise InputError("column", header, "is a name, with its unit in brackets", "as in 'step_time [ms]'")
        unit = (matched[2] or extra.get(header) or "").strip()
        units.unit(unit)
        columns.append(Column(matched[1], unit, tuple(None if _is_empty(cell) else cell for cell in column)))
    names = [column.name for column in columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError("observations", twice, "a table has each column once")
    lengths = {column.name: len(column.cells) for column in columns}
    if len(set(lengths.values())) != 1 or not all(lengths.values()):
        hint = ", ".join(f"{length} of {name}" for name, length in lengths.items())
        raise InputError("observations", origin or "table", "columns have one length, of at least one row", hint)
    return Table(tuple(columns), len(columns[0].cells), origin)


def in_row(error: MlsysimError, row: int, column: str = "") -> MlsysimError:
    """Add to an error the row, counted from zero, and the column of a table in which it occurred."""
    message = str(error)
    located = copy.copy(error)
    column = f" of {column}" if column and column not in message else ""
    located.args = (f"{message}; row {row + 1}{column}",)
    return located


def _from_csv(file: Path) -> tuple[list[str], list[list[str]]]:
    """Read headers and columns of a file with commas, semicolons or tabs, and notes."""
    try:
        text = content_of(file, "text", str)
        headers, *rows = _split(file, [line for line in text.splitlines() if line.strip()])
    except CatalogError as error:
        raise InputError("observations", str(file), HOW, str(error)) from None
    except csv.Error as error:
        raise InputError("observations", str(file), HOW, f"it cannot be read as CSV: {error}") from None
    for number, row in enumerate(rows, start=1):
        if len(row) != len(headers):
            allowed = f"a row has as many cells as there are headers, {len(headers)}"
            raise InputError("observations", str(file), allowed, f"row {number} has {len(row)}")
    return headers, [[_read(row[index].strip()) for row in rows] for index in range(len(headers))]


def _split(file: Path, lines: list[str]) -> list[list[str]]:
    """Split lines into cells; a note begins with # and a blank, or has another number of cells than a row."""
    plain = [line for line in lines if not line.lstrip().startswith(NOTE)] or [""]
    reading: Any = {"delimiter": max(",;\t", key=plain[0].count), "skipinitialspace": True}
    width = len(next(csv.reader(plain, **reading)))
    kept: list[str] = []
    for line in lines:
        if not line.lstrip().startswith(NOTE):
            kept.append(line)
        elif len(next(csv.reader([line], **reading))) == width > 1:
            if not re.match(rf"\s*{NOTE}\s", line):
                kept.append(line)
            elif kept:
                allowed = f"a note among the rows must not have as many cells as they, {width}"
                hint = f"line {quoted(line)}: put its first cell in quotes if it is a row, else move it to the top"
                raise InputError("observations", str(file), allowed, hint)
    if len(kept) < 2:
        hint = "" if plain[0] else f"lines that all begin with {NOTE} are notes: put the first header in quotes"
        raise InputError("observations", str(file), "has a line of headers and at least one row", hint)
    return list(csv.reader(kept, **reading))


def _read(text: str) -> Any:
    """Parse a cell of a file as nothing, a flag, a number or text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    number = _number(text)
    return text if number is None else number


def _number(text: Any) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except (TypeError, ValueError):
            continue
    return None


def _is_empty(cell: Any) -> bool:
    """Tell whether a cell is empty: None, blank text, or nan."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return True
    magnitude = getattr(cell, "magnitude", cell)
    try:
        return bool(magnitude != magnitude)
    except (TypeError, ValueError):  # pandas says neither yes nor no of its missing value
        return True


def named(cell: Any) -> str:
    """Format a cell; a catalog entry by its key."""
    return getattr(cell, "key", "") or str(cell)


def _listed(name: Any, column: Any) -> list[Any]:
    """Return the cells of a column that is a list, an array or a quantity with several values."""
    if units.is_quantity(column):
        quantity = units.own(column)
        return [units.Q_(magnitude, quantity.units) for magnitude in np.atleast_1d(quantity.magnitude).tolist()]
    if isinstance(column, str) or not (hasattr(column, "__len__") or isinstance(column, range)):
        raise InputError("observations", column, f"the column {quoted(name)} must be a list of cells")
    cells: Any = column
    return cells.tolist() if hasattr(cells, "tolist") else list(cells)


def _attached_units(frame: Any) -> dict[str, str]:
    """Read units from the attributes of a DataFrame: ``frame.attrs["units"][column]``, or those of each column."""
    of_frame = getattr(frame, "attrs", {}).get("units")
    units_by_column = {name: str(unit) for name, unit in of_frame.items()} if isinstance(of_frame, Mapping) else {}
    for index, name in enumerate(frame.columns):
        own = getattr(frame.iloc[:, index], "attrs", {}).get("units")
        if isinstance(own, str):
            units_by_column[name] = own
    return units_by_column
