"""Answer of ``mlsysim catalog``."""

from __future__ import annotations

from pathlib import Path

from mlsysim import units
from mlsysim.catalog import Catalog, Engine, Entry, Recipe, Sourced, Stack, Value, builtin, load_catalog
from mlsysim.cli import output
from mlsysim.errors import UnknownNameError
from mlsysim.jsontext import json_text
from mlsysim.names import known_as
from mlsysim.references import bibliography


def show(name: str | None, file: Path | None = None, *, as_json: bool = False) -> None:
    """Print one entry of the catalog, one branch, or all of it.

    Parameters
    ----------
    name : str or None
        ``"H100"``, ``"Cloud.H100"``, ``"Hardware.Cloud.H100"`` or a branch such as ``"Hardware"``.
    file : Path, optional
        Own catalog, searched first.
    as_json : bool
        As data.

    Raises
    ------
    UnknownNameError
        If nothing has that name.
    """
    shelves = ([load_catalog(file)] if file else []) + [builtin()]
    shelf_of: dict[str, Catalog] = {}
    for shelf in shelves:
        for path in shelf.paths():
            shelf_of.setdefault(path, shelf)
    paths = [*shelf_of]
    if name is not None and not any(f".{path}.".endswith(f".{name}.") or path.startswith(f"{name}.") for path in paths):
        name = known_as(name, dict.fromkeys(_names(paths))) or name
    path = next((path for path in shelf_of if name and f".{path}".endswith(f".{name}")), None)
    if path is not None:
        entry = shelf_of[path].entry(path)
        if as_json:
            print(json_text({"path": path, **entry.model_dump(mode="json")}))
        else:
            _print_entry(path, entry)
        return
    paths = [path for path in shelf_of if name is None or path.startswith(f"{name}.")]
    if name is not None and not paths:
        raise UnknownNameError("catalog entry", name, _names(list(shelf_of)))
    rows = [(path, *shelf_of[path].named(path)) for path in paths]
    if as_json:
        print(json_text([dict(zip(("path", "type", "name"), row, strict=True)) for row in rows]))
    else:
        output.listing(("Entry", "Type", "Name"), rows)


def _names(paths: list[str]) -> list[str]:
    """List all names of an entry or a branch, short names first."""
    branches = [path.rsplit(".", depth)[0] for depth in (1, 2) for path in paths]
    return [*(path.rpartition(".")[2] for path in paths), *branches, *paths]


def _print_entry(path: str, entry: Entry) -> None:
    output.heading(f"{path}  {entry.name}")
    if entry.description:
        output.paragraph(entry.description)
    if isinstance(entry, Recipe):
        output.paragraph("; ".join(f"{name} {part.key or part.name}" for name, part in entry.entries.items()))
    if isinstance(entry, Stack) and entry.engine is not None:
        output.paragraph(f"A version of {entry.engine.name}.")
    if isinstance(entry, Stack) and entry.devices:
        output.paragraph(f"On {', '.join(device.key or device.name for device in entry.devices)}.")
    values = _values(entry)
    sources = list(dict.fromkeys(value.source for value, _ in values.values()))
    rows = [
        (field, text, value.kind, value.date, f"[{sources.index(value.source) + 1}]")
        for field, (value, text) in values.items()
    ]
    print()
    output.listing(("Field", "Value", "Kind", "Date", "Source"), rows)
    notes = [f"  {field}: {note}" for field, (value, _) in values.items() if (note := _note(value))]
    if notes:
        print()
        output.block("\n".join(["Notes", *notes]))
    print()
    works = [bibliography()[source].text() if source in bibliography() else source for source in sources]
    output.block("\n".join(["Sources", *(f"  [{number}] {work}" for number, work in enumerate(works, start=1))]))


def _note(value: Sourced) -> str:
    """Compose the note on a value: its calibration data, the bytes of a size, and its own note."""
    calibrated = f"Calibrated on {value.calibrated_on}." if value.calibrated_on else ""
    in_bytes = ""
    if isinstance(value, Value) and units.dimension(value.unit) == units.dimension("B"):
        in_bytes = f"{value.canonical:,.0f} bytes."
    return " ".join(filter(None, (calibrated, in_bytes, value.note)))


def _values(entry: Entry, prefix: str = "") -> dict[str, tuple[Sourced, str]]:
    """Collect the values of an entry and its parts, each with its text; a recipe only names its entries."""
    values: dict[str, tuple[Sourced, str]] = {
        f"{prefix}{field}": (value, entry.text(field, digits=15)) for field, value in entry.values().items()
    }
    if isinstance(entry, Recipe):
        return values
    for field in type(entry).model_fields:
        part = getattr(entry, field)
        if isinstance(part, Entry) and not isinstance(part, Engine):
            values |= _values(part, f"{prefix}{field}.")
    return values
