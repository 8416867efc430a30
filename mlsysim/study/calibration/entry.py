"""Saving of calibrated values as a stack in a user's own catalog file, with their rows beside it."""

from __future__ import annotations

import csv
import datetime
import io
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import units
from mlsysim.catalog import Entry, Stack, Value, builtin, load_catalog
from mlsysim.catalog.files import LARGEST
from mlsysim.errors import InputError, MlsysimError, printable
from mlsysim.files import locked, read_bytes, replacing
from mlsysim.inputs.axes import Derived
from mlsysim.study.calibration.measured import WEIGHT
from mlsysim.study.calibration.table import NOTE, Column, named
from mlsysim.study.grids.checkpoint import reason_of
from mlsysim.study.results.display import plain
from mlsysim.symbolic import variable_of

if TYPE_CHECKING:
    from mlsysim.study.calibration.calibration import Calibration
    from mlsysim.study.calibration.problem import Problem

#: Fields of an entry that are not constants of a stack.
_TEXT = ("name", "description", "variants", "devices")


def save(calibration: Calibration, path: Any, name: str, *, base: Any, source: str) -> None:
    """Add a calibration to a catalog file, and its rows beside it; see :meth:`Calibration.save`."""
    if not isinstance(path, str | os.PathLike):
        raise InputError("path", path, "must be the path of a TOML file")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise InputError("name", name, "is a word of letters, digits and _", "as in Our_vLLM_H100")
    file = Path(path)
    try:
        with locked(file):
            _save(calibration, file, name, base, source)
    except MlsysimError:
        raise
    except (OSError, ValueError) as error:
        raise InputError("path", str(file), f"cannot be written: {reason_of(error)}") from None


def _save(calibration: Calibration, file: Path, name: str, base: Any, source: str) -> None:
    text = _rows_text(calibration.problem, calibration.held)
    _refuse(calibration, file, name, text)
    parent = _base(calibration, base)
    fields: dict[str, Any] = {}
    if parent is not None:
        fields |= {
            field: _copied(value) for field in _constants() if isinstance(value := getattr(parent, field), Value)
        }
    fields |= _held(calibration)
    rows = _rows_path(file, name)
    on = f"{calibration.observations}, in {rows.name}"
    fields |= {
        input_name: {**_calibrated(calibration, input_name), "calibrated_on": on} for input_name in calibration.free
    }
    today = datetime.date.today().isoformat()
    head = {
        "name": name.replace("_", " "),
        "description": _description(calibration, parent),
        "source": source,
        "date": today,
        "kind": "calibrated",
        **_devices(calibration),
    }
    lines = [f"[Stacks.{name}]", *(f"{key} = {_toml(value)}" for key, value in {**head, **fields}.items())]
    begun = rows.exists()
    with replacing(rows) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
    try:
        _append(file, "\n".join(lines) + "\n")
    except BaseException:
        if not begun:
            rows.unlink()
        raise


def _constants() -> tuple[str, ...]:
    return tuple(field for field in Stack.model_fields if field not in _TEXT)


def _refuse(calibration: Calibration, file: Path, name: str, text: str) -> None:
    """Refuse inputs that a stack lacks or that are not determined, and a name or rows already there."""
    set_by_stack = {
        field for slot in calibration.model.slots.values() if issubclass(slot.entry, Stack) for field in slot.gives
    }
    allowed_fields = [field for field in _constants() if field in set_by_stack]
    without_field = [input_name for input_name in calibration.free if input_name not in allowed_fields]
    if without_field:
        allowed = f"is nothing that {type(calibration.model).__name__} takes from a stack"
        raise InputError("save", ", ".join(without_field), allowed, f"it takes {', '.join(allowed_fields) or 'none'}")
    unknown = [input_name for input_name in calibration.free if calibration.standing(input_name) == "not determined"]
    if unknown:
        raise InputError("save", ", ".join(unknown), "is not determined by the measurements",
                         "calibrate again with a value for all but one of them, or with rows that tell")  # fmt: skip
    if file.exists() and f"Stacks.{name}" in load_catalog(file).paths():
        raise InputError("name", name, f"stands in {file.name} already", "choose another name")
    rows = _rows_path(file, name)
    # Equal rows are those of an interrupted save whose stack was not yet written.
    if os.path.lexists(rows) and (not rows.is_file() or read_bytes(rows, LARGEST) != text.encode()):
        raise InputError("name", name, f"its rows would overwrite {rows.name}", "choose another name, or move the file")


def _base(calibration: Calibration, base: Any) -> Stack | None:
    """Return the stack whose values are kept for what was not calibrated."""
    typed = calibration.held.get("stack") if base is None else base
    if typed is None:
        return None
    entry = builtin().find("stack", typed) if isinstance(typed, str) else typed
    if not isinstance(entry, Stack):
        raise InputError("base", base, "must be an entry of the catalog (stack), or its name")
    return entry


def _copied(value: Value) -> dict[str, Any]:
    """Copy a value of the base stack with its own provenance."""
    return {key: content for key, content in value.model_dump().items() if content not in ("", None)}


def _devices(calibration: Calibration) -> dict[str, list[str]]:
    """Return the catalog device of all rows; empty if there were several, or one that the catalog lacks."""
    for argument in ("hardware", "node", "fleet"):
        typed = calibration.held.get(argument)
        entry = builtin().find(argument, typed) if isinstance(typed, str) else typed
        if isinstance(entry, Entry) and entry.device is not None:
            paths = [path for path in builtin().paths() if path.endswith(f".{entry.device.key}")]
            return {"devices": [path for path in paths if builtin().entry(path) == entry.device]}
    return {}


def _held(calibration: Calibration) -> dict[str, Any]:
    """Return constants of a stack that were fixed to a user's value during the calibration."""
    fields = {}
    for field in _constants():
        value = calibration.held.get(field)
        if value is not None and not isinstance(value, Derived):
            canonical = float(calibration.problem.measured.varied.binding.values[field])
            fields[field] = {**_amount(field, canonical), "kind": "user", "date": "",
                             "note": "Held while the others were calibrated."}  # fmt: skip
    return fields


def _calibrated(calibration: Calibration, name: str) -> dict[str, Any]:
    error, standing = calibration.errors[name], calibration.standing(name)
    shown = f"{error:.2g~P}" if units.is_quantity(error) else f"{error or 0:.2g}"
    note = f"{standing[:1].upper()}{standing[1:]}." if standing else f"Standard error {shown}."
    return {**_amount(name, calibration.canonical[name]), "note": note}


def _amount(name: str, canonical: float) -> dict[str, Any]:
    return {key: each for key, each in plain(variable_of(name), canonical).items() if each != ""}


def _description(calibration: Calibration, parent: Stack | None) -> str:
    others = f"What was not calibrated is that of {parent.key or parent.name}." if parent is not None else ""
    left_out = calibration.leave_one_out.errors
    errors = f"Error of the rows {calibration.residuals.errors}; without each row in turn {left_out}."
    return f"{', '.join(calibration.free)} from {calibration.observations}. {errors} {others}".strip()


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(content)}" for key, content in value.items()) + " }"
    return json.dumps(printable(value), ensure_ascii=False) if isinstance(value, str) else repr(value)


def _append(file: Path, text: str) -> None:
    """Append to a file atomically, keeping its line ends; content that is no valid catalog is not written."""
    before = read_bytes(file, LARGEST) if file.exists() else b""
    added = ("\n" if before.strip() else "") + text
    ends = "\r\n" if b"\r\n" in before else "\n"
    with replacing(file) as temporary:
        temporary.write_bytes(before + added.replace("\n", ends).encode())
        _readable(temporary, file)


def _readable(temporary: Path, file: Path) -> None:
    """Refuse a file that is no valid catalog, naming the file it is meant for."""
    try:
        load_catalog(temporary)
    except MlsysimError as error:
        raise InputError("path", str(file), str(error).replace(temporary.name, file.name)) from None


def _rows_text(problem: Problem, constants: Mapping[str, Any]) -> str:
    """Write the rows as CSV that ``calibrate`` reads, with units in the headers and constants in notes.

    Weights given separately become a column.
    """
    columns = [_with_unit(problem, column) for column in _used(problem)]
    text = io.StringIO()
    for note in _notes(problem, constants):
        text.write(f"{NOTE} {printable(' '.join(note.split()))}\n")
    headers = tuple(f"{column.name} [{column.unit}]" if column.unit else column.name for column in columns)
    for row in (headers, *zip(*([_row_cell(cell) for cell in column.cells] for column in columns), strict=True)):
        # A quoted line is not a note.
        quoting = csv.QUOTE_ALL if row[0].startswith(NOTE) else csv.QUOTE_MINIMAL
        csv.writer(text, lineterminator="\n", quoting=quoting).writerow(row)
    return text.getvalue()


def _rows_path(file: Path, name: str) -> Path:
    """Return the path of the rows of a stack, beside the catalog file."""
    return file.with_name(f"{file.stem}.{name}.csv")


def _used(problem: Problem) -> list[Column]:
    """Return the columns that the calibration used, and the labels."""
    labels, outputs, inputs = problem.measured.labels, problem.measured.outputs, problem.measured.inputs
    columns = [
        column
        for column in problem.measured.table.columns
        if column.name in labels or column.name in outputs or column.name in inputs
    ]
    weights = list(problem.weights.values())
    if all((weight == weights[0]).all() for weight in weights):
        return columns if (weights[0] == 1).all() else [*columns, Column(WEIGHT, "", tuple(weights[0].tolist()))]
    return columns


def _with_unit(problem: Problem, column: Column) -> Column:
    """Give a column of quantities a unit in its header, and convert its cells to that unit."""
    labels = problem.measured.labels
    variable = None if column.name in labels else problem.measured.varied.model.arguments.get(column.name)
    if column.name in problem.measured.outputs:
        variable = variable_of(column.name)
    if variable is None or variable.named_unit or not variable.dimension:
        return column
    unit = column.unit or variable.unit
    cells = [
        units.own(cell).to(units.unit(unit)).magnitude if units.is_quantity(cell) else cell for cell in column.cells
    ]
    return replace(column, unit=unit, cells=tuple(cells))


def _notes(problem: Problem, constants: Mapping[str, Any]) -> list[str]:
    model = problem.measured.varied.model
    constant_texts = [f"{name}={named(value)}" for name, value in constants.items()]
    free = ", ".join(parameter.name for parameter in problem.parameters)
    notes = [
        f"{type(model).__name__}({model.variant!r}).calibrate: found {free} from {problem.measured.table.described}",
        f"Held: {', '.join(constant_texts) or 'nothing'}",
    ]
    labels = ", ".join(problem.measured.labels)
    notes += [f"Carried along (ignore=): {labels}"] if labels else []
    notes += ["Compared by difference (space='linear')"] if problem.space == "linear" else []
    weights_by_output: Mapping[str, np.ndarray] = problem.weights
    if any((weights != next(iter(weights_by_output.values()))).any() for weights in weights_by_output.values()):
        notes += [
            f"Weights of {name}: {', '.join(f'{w:g}' for w in weights)}" for name, weights in weights_by_output.items()
        ]
    return notes


def _row_cell(cell: Any) -> str:
    if cell is None:
        return ""
    plain = cell.item() if isinstance(cell, np.generic) else cell
    return repr(plain) if isinstance(plain, float) else " ".join(named(plain).split())
