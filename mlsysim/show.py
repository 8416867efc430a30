"""Aligned tables for terminals and notebooks."""

from __future__ import annotations

import html
import math
import numbers
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from mlsysim import formatting, units
from mlsysim.errors import InputError, printable
from mlsysim.tracebacks import at_the_call

#: Columns if there is no terminal, and most columns of a line in a wider one.
USUAL, MOST = 100, 120
#: Least columns for wrapped text.
LEGIBLE = 24


def width() -> int:
    """Return the line width: that of the terminal or ``COLUMNS``, at most 120; 100 if piped."""
    known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return min(MOST, shutil.get_terminal_size((USUAL, 24)).columns) if known else USUAL


@at_the_call
def table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows under headers: first column left-aligned, the others right-aligned, with a rule between.

    Quantities of one column share the unit that fits the largest of them. Magnitudes have 1 decimal
    from 100 up, 2 from 1 up and 3 below; whole numbers and text stay as they are.

    Parameters
    ----------
    headers : sequence of str
        One header per column; it may have several lines.
    rows : sequence of sequences
        Cells: text, numbers or pint quantities.

    Raises
    ------
    InputError
        If a row does not have one cell per header.
    """
    print(render(headers, rows))


def narrowed(headers: Sequence[str], rows: Sequence[Sequence[Any]], width: int) -> list[str]:
    """Break headers into lines, at blanks and after underscores, if the table would be too wide.

    Parameters
    ----------
    headers, rows
        See :func:`table`.
    width : int
        Available columns.

    Returns
    -------
    list of str
    """
    texts = broken = [str(header) for header in headers]
    widest = [max(map(len, column)) for column in zip(*cells(rows), strict=True)]
    for room in range(max(map(len, texts)) - 1, 5, -1):
        if extent(render(broken, rows)) <= width:
            break
        broken = ["\n".join(_broken(text, max(room, cell))) for text, cell in zip(texts, widest, strict=True)]
    return broken


def _broken(text: str, width: int) -> list[str]:
    """Split a name into parts, joined as far as they fit."""
    lines = [""]
    for part in re.findall(r"[^_ ]+_*|_+", text):
        joined = f"{lines[-1]}{'' if not lines[-1] or lines[-1].endswith('_') else ' '}{part}"
        if len(joined) <= width or not lines[-1]:
            lines[-1] = joined
        else:
            lines.append(part)
    return lines


def fitted(headers: Sequence[str], rows: Sequence[Sequence[Any]], columns: int | None = None, lead: int = 1) -> str:
    """Format a table within a width: multi-line headers first, then blocks of columns, then wrapped text.

    Parameters
    ----------
    headers, rows
        See :func:`table`.
    columns : int, optional
        Available columns; by default those of the terminal.
    lead : int
        Leading columns that identify a row; every block repeats them.

    Returns
    -------
    str
    """
    limit = width() if columns is None else columns
    if not rows:
        return render(headers, rows)
    texts = cells(rows)
    leading = list(range(lead))
    blocks = [leading]
    for index in range(lead, len(headers)):
        if len(blocks[-1]) > lead and extent(_block(headers, texts, [*blocks[-1], index], limit)) > limit:
            blocks.append(leading)
        blocks[-1] = [*blocks[-1], index]
    return "\n\n".join(_block(headers, texts, block, limit) for block in blocks)


def _block(headers: Sequence[str], texts: Sequence[Sequence[str]], indices: Sequence[int], limit: int) -> str:
    """Format some columns; the last one is wrapped if two columns are still too wide."""
    heads, rows = [str(headers[index]) for index in indices], [[row[index] for index in indices] for row in texts]
    heads = narrowed(heads, rows, limit)
    text = render(heads, rows)
    room = limit - max(len(row[0]) for row in rows) - 2
    if len(indices) != 2 or extent(text) <= limit or room < LEGIBLE:
        return text
    broken = []
    for first, last in rows:
        broken += [list(pair) for pair in zip_longest([first], textwrap.wrap(last, room) or [""], fillvalue="")]
    return render(heads, broken)


def extent(text: str) -> int:
    """Width of the longest line."""
    return max(map(len, text.splitlines()))


def render(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Format the text that :func:`table` prints."""
    if not headers:
        raise InputError("headers", list(headers), "a table has at least one column")
    for row in rows:
        if len(row) != len(headers):
            raise InputError("rows", list(row), f"every row must have {len(headers)} cells, one per header")
    texts = cells(rows)
    columns = [[row[index] for row in texts] for index in range(len(headers))]
    heads = [printable(str(header)).split("\n") for header in headers]
    widths = [max(map(len, [*head, *column])) for head, column in zip(heads, columns, strict=True)]
    tallest = max(map(len, heads))
    above = zip(*([""] * (tallest - len(head)) + head for head in heads), strict=True)
    lines = [*(_line(row, widths) for row in above), "─" * (sum(widths) + 2 * (len(widths) - 1))]
    lines += [_line(cells, widths) for cells in zip(*columns, strict=True)]
    return "\n".join(lines)


def cells(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    """Format cells; quantities of one column share a unit."""
    return [list(row) for row in zip(*map(_cells, zip(*rows, strict=True)), strict=True)]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = row
    padded = [str(first).ljust(widths[0])]
    padded += [str(cell).rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
    return "  ".join(padded).rstrip()


def largest(values: Sequence[Any]) -> dict[str, float]:
    """Return the largest finite absolute value per dimension, in canonical units."""
    sizes: dict[str, float] = {}
    for value in values:
        if units.is_quantity(value):
            own = units.own(value)
            size = _size(own)
            if math.isfinite(size):
                kind = str(own.dimensionality)
                sizes[kind] = max(sizes.get(kind, 0.0), size)
    return sizes


def in_unit(value: Any, sizes: Mapping[str, float]) -> str:
    """Format a quantity in the unit that suits the largest of its dimension, or a number."""
    if not units.is_quantity(value):
        return formatting.number(value)
    own = units.own(value)
    return formatting.quantity(own, _unit(own, sizes))


def _unit(own: Any, sizes: Mapping[str, float]) -> str:
    text, kind = f"{own.units:~}", str(own.dimensionality)
    return units.fitting(sizes[kind], text) if kind in sizes else text


def _cells(values: Sequence[Any]) -> list[str]:
    sizes = largest(values)
    return [_cell(value, sizes) for value in values]


def _cell(value: Any, sizes: Mapping[str, float]) -> str:
    if units.is_quantity(value):
        own = units.own(value)
        shared, size = _unit(own, sizes), _size(own)
        if size and size < 5e-4 * units.factor(shared):
            shared = units.fitting(size, f"{own.units:~}")
        return formatting.quantity(own, shared)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return printable(str(value), lines=False)
    return formatting.number(value)


def _size(quantity: Any) -> float:
    if not isinstance(quantity.magnitude, numbers.Real):
        raise InputError("rows", quantity, "a cell holds one real number, not an array")
    return abs(float(quantity.to_base_units().magnitude))


def html_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "", notes: Sequence[str] = ()
) -> str:
    """Format a table of text as HTML, with a caption above and notes below.

    Parameters
    ----------
    headers : sequence of str
        One header per column.
    rows : sequence of sequences of str
        Cells as text.
    caption : str
        Caption in one or several lines; none by default.
    notes : sequence of str
        Notes, a paragraph each.
    """
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in headers)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    under = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    above = f"<caption>{html.escape(caption).replace(chr(10), '<br>')}</caption>" if caption else ""
    return printable(f"<table>{above}<tr>{head}</tr>{body}</table>{under}")
