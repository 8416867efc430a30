"""Calibrated values as a stack in a user's own catalog file, and their rows as a file beside it."""

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

#: Fields of an entry that are no constants of a stack.
_TEXT = ("name", "description", "variants", "devices")


def save(found: Calibration, path: Any, name: str, *, base: Any, source: str) -> None:
    """Add a calibration to a catalog file, and its rows beside it; see :meth:`Calibration.save`."""
    if not isinstance(path, str | os.PathLike):
        raise InputError("path", path, "must be the path of a TOML file")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise InputError("name", name, "is a word of letters, digits and _", "as in Our_vLLM_H100")
    file = Path(path)
    try:
        with locked(file):
            _save(found, file, name, base, source)
    except MlsysimError:
        raise
    except (OSError, ValueError) as error:
        raise InputError("path", str(file), f"cannot be written: {reason_of(error)}") from None


def _save(found: Calibration, file: Path, name: str, base: Any, source: str) -> None:
    text = _rows_text(found.problem, found.held)
    _refuse(found, file, name, text)
    parent = _base(found, base)
    fields: dict[str, Any] = {}
    if parent is not None:
        fields |= {
            field: _copied(value) for field in _constants() if isinstance(value := getattr(parent, field), Value)
        }
    fields |= _held(found)
    rows = _rows_path(file, name)
    on = f"{found.observations}, in {rows.name}"
    fields |= {each: {**_calibrated(found, each), "calibrated_on": on} for each in found.free}
    today = datetime.date.today().isoformat()
    head = {
        "name": name.replace("_", " "),
        "description": _description(found, parent),
        "source": source,
        "date": today,
        "kind": "calibrated",
        **_devices(found),
    }
    lines = [f"[Stacks.{name}]", *(f"{key} = {_toml(value)}" for key, value in {**head, **fields}.items())]
    begun = rows.exists()
    with replacing(rows) as beside:
        beside.write_text(text, encoding="utf-8", newline="")
    try:
        _append(file, "\n".join(lines) + "\n")
    except BaseException:
        if not begun:
            rows.unlink()
        raise


def _constants() -> tuple[str, ...]:
    return tuple(field for field in Stack.model_fields if field not in _TEXT)


def _refuse(found: Calibration, file: Path, name: str, text: str) -> None:
    """Refuse inputs that no stack has, that are not determined, a name that the file has, and other rows beside it."""
    given = {field for slot in found.model.slots.values() if issubclass(slot.entry, Stack) for field in slot.gives}
    can = [field for field in _constants() if field in given]
    strange = [each for each in found.free if each not in can]
    if strange:
        allowed = f"is nothing that {type(found.model).__name__} takes from a stack"
        raise InputError("save", ", ".join(strange), allowed, f"it takes {', '.join(can) or 'none'}")
    unknown = [each for each in found.free if found.standing(each) == "not determined"]
    if unknown:
        raise InputError("save", ", ".join(unknown), "is not determined by the measurements",
                         "calibrate again with a value for all but one of them, or with rows that tell")  # fmt: skip
    if file.exists() and f"Stacks.{name}" in load_catalog(file).paths():
        raise InputError("name", name, f"stands in {file.name} already", "choose another name")
    rows = _rows_path(file, name)
    # The same rows are those of a save that was broken off before its stack was written.
    if os.path.lexists(rows) and (not rows.is_file() or read_bytes(rows, LARGEST) != text.encode()):
        raise InputError("name", name, f"its rows would overwrite {rows.name}", "choose another name, or move the file")


def _base(found: Calibration, base: Any) -> Stack | None:
    """The stack whose values stand where nothing was calibrated."""
    given = found.held.get("stack") if base is None else base
    if given is None:
        return None
    entry = builtin().find("stack", given) if isinstance(given, str) else given
    if not isinstance(entry, Stack):
        raise InputError("base", base, "must be an entry of the catalog (stack), or its name")
    return entry


def _copied(value: Value) -> dict[str, Any]:
    """A value of the base with its own provenance."""
    return {key: content for key, content in value.model_dump().items() if content not in ("", None)}


def _devices(found: Calibration) -> dict[str, list[str]]:
    """The device of the catalog that all rows were measured on; none where there were several, or one's own."""
    for argument in ("hardware", "node", "fleet"):
        given = found.held.get(argument)
        entry = builtin().find(argument, given) if isinstance(given, str) else given
        if isinstance(entry, Entry) and entry.device is not None:
            paths = [path for path in builtin().paths() if path.endswith(f".{entry.device.key}")]
            return {"devices": [path for path in paths if builtin().entry(path) == entry.device]}
    return {}


def _held(found: Calibration) -> dict[str, Any]:
    """Constants of a stack that were held at a value of the caller's while the others were calibrated."""
    fields = {}
    for field in _constants():
        value = found.held.get(field)
        if value is not None and not isinstance(value, Derived):
            canonical = float(found.problem.measured.varied.binding.values[field])
            fields[field] = {**_amount(field, canonical), "kind": "user", "date": "",
                             "note": "Held while the others were calibrated."}  # fmt: skip
    return fields


def _calibrated(found: Calibration, name: str) -> dict[str, Any]:
    error, standing = found.errors[name], found.standing(name)
    shown = f"{error:.2g~P}" if units.is_quantity(error) else f"{error or 0:.2g}"
    note = f"{standing[:1].upper()}{standing[1:]}." if standing else f"Standard error {shown}."
    return {**_amount(name, found.canonical[name]), "note": note}


def _amount(name: str, canonical: float) -> dict[str, Any]:
    return {key: each for key, each in plain(variable_of(name), canonical).items() if each != ""}


def _description(found: Calibration, parent: Stack | None) -> str:
    others = f"What was not calibrated is that of {parent.key or parent.name}." if parent is not None else ""
    errors = f"Error of the rows {found.residuals.errors}; without each row in turn {found.leave_one_out.errors}."
    return f"{', '.join(found.free)} from {found.observations}. {errors} {others}".strip()


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(content)}" for key, content in value.items()) + " }"
    return json.dumps(printable(value), ensure_ascii=False) if isinstance(value, str) else repr(value)


def _append(file: Path, text: str) -> None:
    """Add to a file, whole or not at all, in its line ends; what does not read as a catalog is not written."""
    before = read_bytes(file, LARGEST) if file.exists() else b""
    added = ("\n" if before.strip() else "") + text
    ends = "\r\n" if b"\r\n" in before else "\n"
    with replacing(file) as beside:
        beside.write_bytes(before + added.replace("\n", ends).encode())
        _readable(beside, file)


def _readable(beside: Path, file: Path) -> None:
    """Refuse what does not read as a catalog, under the name of the file that it is for."""
    try:
        load_catalog(beside)
    except MlsysimError as error:
        raise InputError("path", str(file), str(error).replace(beside.name, file.name)) from None


def _rows_text(problem: Problem, held: Mapping[str, Any]) -> str:
    """The rows as CSV that ``calibrate`` reads: units in the headers, and in notes what was held.

    Weights that were given apart from them are a column.
    """
    columns = [_with_unit(problem, column) for column in _used(problem)]
    text = io.StringIO()
    for note in _notes(problem, held):
        text.write(f"{NOTE} {printable(' '.join(note.split()))}\n")
    headers = tuple(f"{each.name} [{each.unit}]" if each.unit else each.name for each in columns)
    for row in (headers, *zip(*([_row_cell(cell) for cell in each.cells] for each in columns), strict=True)):
        # In quotes a line is no note.
        quoting = csv.QUOTE_ALL if row[0].startswith(NOTE) else csv.QUOTE_MINIMAL
        csv.writer(text, lineterminator="\n", quoting=quoting).writerow(row)
    return text.getvalue()


def _rows_path(file: Path, name: str) -> Path:
    """Path of the rows of a stack: beside the catalog file."""
    return file.with_name(f"{file.stem}.{name}.csv")


def _used(problem: Problem) -> list[Column]:
    """The columns that the calibration used, and those that were carried along."""
    labels, outputs, inputs = problem.measured.labels, problem.measured.outputs, problem.measured.inputs
    columns = [
        each
        for each in problem.measured.table.columns
        if each.name in labels or each.name in outputs or each.name in inputs
    ]
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


def _row_cell(cell: Any) -> str:
    if cell is None:
        return ""
    plain = cell.item() if isinstance(cell, np.generic) else cell
    return repr(plain) if isinstance(plain, float) else " ".join(named(plain).split())
