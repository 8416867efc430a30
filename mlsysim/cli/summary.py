"""Summary of a sweep as text, and tables of its points."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from mlsysim import formatting, show, units
from mlsysim.cli import output
from mlsysim.plot.data import meanings

#: Largest grid that is printed point by point.
SMALL = 32
#: Largest grid that is summarised; the extents of its outputs are computed in memory.
LARGEST = 50_000_000


def print_sweep(ds: Any, first: str, named: Sequence[str] = ()) -> None:
    """Print every point of a small sweep, or the extents of the outputs of a large one.

    Parameters
    ----------
    ds : xarray.Dataset
        Result of ``model.sweep(...)``.
    first : str
        Output to print first.
    named : sequence of str
        Outputs requested by name, which are printed at any width.
    """
    import xarray

    points = int(np.prod(list(ds.sizes.values()), dtype=float))
    entries = json.loads(ds.attrs.get("entries", "{}"))
    output.heading(", ".join([f"{ds.attrs['model']} ({ds.attrs['variant']})", *entries.values()]))
    output.paragraph(f"{points:,} points: " + " x ".join(f"{name} {size:,}" for name, size in ds.sizes.items()))
    print()
    if points > LARGEST:
        output.paragraph(f"More than {LARGEST:,} points are written and not summarised.")
        return
    (ds,) = xarray.broadcast(ds)  # an uncertainty's quantiles have an axis that shares and labels lack
    names = [first, *(str(name) for name in ds.data_vars if name not in (first, "refused"))]
    good = ds["refused"].values.ravel() == 0 if "refused" in ds else np.ones(points, bool)
    if points <= SMALL:
        _print_points(ds, names, good, named)
    else:
        _print_extents(ds, names, good)
    for note in ds.attrs.get("notes", "").splitlines():
        output.paragraph(note)
    _print_refused(ds)


def _print_points(ds: Any, names: list[str], good: np.ndarray, named: Sequence[str]) -> None:
    """Print a row per point: requested outputs in blocks of columns, others as far as the width allows."""
    coordinates = _told(ds)
    columns = [_column(ds, name) for name in coordinates]
    fitting: list[str] = []
    for name in names:
        values = [cell if accepted else "-" for cell, accepted in zip(_column(ds, name), good, strict=True)]
        rows = list(zip(*columns, values, strict=True))
        headers = show.narrowed([*coordinates, *fitting, name], rows, show.width())
        if fitting and name not in named and show.extent(show.render(headers, rows)) > show.width():
            continue
        columns.append(values)
        fitting.append(name)
    rows = list(zip(*columns, strict=True))
    print(show.fitted([*coordinates, *fitting], rows, lead=len(coordinates)))
    if left := [name for name in names if name not in fitting]:
        output.paragraph(f"Also computed: {', '.join(left)} (name them with --outputs, or write all with --output)")


def _print_extents(ds: Any, names: list[str], good: np.ndarray) -> None:
    """Print range and median of each number, counts of labels, and extreme points of the first output."""
    rows, lines = [], []
    for name in names:
        values = ds[name].values.ravel()[good]
        unit = ds[name].attrs.get("units", "")
        if ds[name].dtype.kind == "b":
            lines.append(f"{name}: {int(values.sum()):,} of {ds[name].size:,} points")
        elif "flag_meanings" in ds[name].attrs:
            words = ds[name].attrs["flag_meanings"].split()
            counts = {word: int((values == code).sum()) for code, word in enumerate(words)}
            lines.append(f"{name}: " + ", ".join(f"{word} {count:,}" for word, count in counts.items() if count))
        elif len(values):
            extent = (np.min(values), np.quantile(values, 0.5, method="lower"), np.max(values))
            rows.append([name, *(_amount(value, unit) for value in extent)])
    if rows:
        print(show.fitted(["Output", "Least", "Median", "Most"], rows))
    for line in lines:
        output.paragraph(line)
    values = ds[names[0]].values.ravel().astype(float)
    if good.any() and len({*values[good][:2].tolist(), *values[good][-2:].tolist()}) > 1:
        for word, argument_of in (("least", np.argmin), ("most", np.argmax)):
            point = np.flatnonzero(good)[int(argument_of(values[good]))]
            output.paragraph(f"{names[0]} is {word} at {_where(ds, int(point))}")


def _print_refused(ds: Any) -> None:
    if "refused" not in ds:
        return
    known = [*json.loads(ds.attrs.get("refused_reasons", "{}"))]
    words = known or list(meanings(ds["refused"]).values())[1:]
    counts = np.bincount(ds["refused"].values.ravel(), minlength=len(words) + 1)[1:]
    reasons = "; ".join(f"{word} ({count:,})" for word, count in zip(words, counts, strict=True) if count)
    if reasons:
        output.paragraph(f"Refused: {counts.sum():,} of {ds['refused'].size:,} points: {reasons}")


def accepted(ds: Any) -> dict[str, int]:
    """Return the position of the first accepted point along each axis; empty if all or none are accepted."""
    if "refused" not in ds or ds["refused"].size > LARGEST:
        return {}
    good = np.argwhere(ds["refused"].values == 0)
    return dict(zip(map(str, ds["refused"].dims), map(int, good[0]), strict=True)) if len(good) else {}


def _told(ds: Any) -> list[str]:
    """List the coordinates that identify a point: a linked axis by its members instead of its position."""
    along: dict[str, list[str]] = {}
    for name, array in ds.coords.items():
        for dim in array.dims:
            if "derived" not in array.attrs:
                along.setdefault(str(dim), []).append(str(name))
    return [name for dim in ds.dims for name in ([member for member in along[dim] if member != dim] or [dim])]


def _column(ds: Any, name: str) -> list[Any]:
    """Format a variable or coordinate at every point."""
    array = ds[name].broadcast_like(ds[next(iter(ds.data_vars))]).transpose(*ds.dims)
    return [_cell(ds[name], value) for value in array.values.ravel()]


def _cell(array: Any, value: Any) -> Any:
    if "flag_meanings" in array.attrs:
        return meanings(array).get(int(value), "-")
    if array.dtype.kind in "bOUS":
        return str(value)
    unit = array.attrs.get("units", "")
    if array.dtype.kind in "iu":
        return f"{int(value)} {unit}".strip()
    return units.Q_(float(value), units.unit(unit)) if unit else float(value)


def cell_text(array: Any, value: Any) -> str:
    """Format one value of a variable or coordinate."""
    cell = _cell(array, value)
    return cell if isinstance(cell, str) else formatting.amount(cell)


def _amount(value: Any, unit: str) -> str:
    """Format a number in the prefixed unit that reads best."""
    if not unit:
        return formatting.number(value)
    amount = units.Q_(float(value), units.unit(unit))
    return formatting.quantity(amount, units.fitting(float(units.to_canonical(float(value), unit)), unit))


def _where(ds: Any, point: int) -> str:
    position = dict(zip(ds.dims, np.unravel_index(point, list(ds.sizes.values())), strict=True))
    texts = []
    for name in _told(ds):
        array = ds[name]
        value = array.isel({dim: int(position[dim]) for dim in array.dims}).values.item()
        texts.append(f"{name}={cell_text(array, value)}")
    return ", ".join(texts)


def write_csv(ds: Any, file: Path | TextIO) -> None:
    """Write a sweep as CSV: a row per point, labels as words, units in the header.

    Parameters
    ----------
    ds : xarray.Dataset
        Result of ``model.sweep(...)``.
    file : Path or file
        Destination.
    """
    frame = _frame(ds)
    headers = {name: f"{name} [{ds[name].attrs['units']}]" if ds[name].attrs.get("units") else name for name in frame}
    frame.rename(columns=headers).to_csv(file, index=False)


def as_records(ds: Any) -> dict[str, Any]:
    """Convert a sweep to plain data: the question, units, and a mapping per point.

    Parameters
    ----------
    ds : xarray.Dataset
        Result of ``model.sweep(...)``.
    """
    frame = _frame(ds)
    return {
        "model": ds.attrs["model"],
        "variant": ds.attrs["variant"],
        "entries": json.loads(ds.attrs.get("entries", "{}")),
        **({"notes": ds.attrs["notes"].splitlines()} if "notes" in ds.attrs else {}),
        "units": {name: ds[name].attrs["units"] for name in frame if ds[name].attrs.get("units")},
        "points": frame.to_dict("records"),
    }


def _frame(ds: Any) -> Any:
    """Build a table with a row per point: its coordinates, then every variable, with labels as words."""
    coordinates = _told(ds)
    frame = ds.to_dataframe().reset_index()
    for name in ds.data_vars:
        if "flag_meanings" in ds[name].attrs:
            words = meanings(ds[name])
            frame[name] = [words.get(code, "") for code in frame[name]]
    return frame[
        [*coordinates, *(name for name in frame.columns if name in ds.data_vars or "derived" in ds[name].attrs)]
    ]
