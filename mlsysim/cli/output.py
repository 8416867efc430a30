"""Text that fits the terminal: plain when piped, headings in bold when not."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from typing import Any

import typer

from mlsysim import show
from mlsysim.errors import printable


def heading(text: str) -> None:
    """Print a line that stands out."""
    for line in _wrap(text, "", ""):
        typer.echo(typer.style(line, bold=True))


def paragraph(text: str, indent: str = "") -> None:
    """Print a text wrapped to the width; all lines but the first clear the indent, such as a label."""
    print("\n".join(_wrap(text, indent, " " * len(indent))))


def block(text: str) -> None:
    """Print lines that keep their indent, as headings where they have none; long ones continue further in."""
    for line in text.splitlines():
        start = line[: len(line) - len(line.lstrip())]
        wrapped = "\n".join(_wrap(line.strip(), start, start + " " * 4))
        print(wrapped) if start else heading(wrapped)


def _wrap(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        printable(text),
        show.width(),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def listing(
    headers: Sequence[str], rows: Sequence[Sequence[Any]], indent: int = 0, numbers: Collection[str] = ()
) -> None:
    """Print text in columns; long cells of the last column wrap, or stand below where there is little room.

    Parameters
    ----------
    headers : sequence of str
        One per column.
    rows : sequence of sequences
        Cells; shown as text.
    indent : int
        Columns left of the table.
    numbers : collection of str
        Headers of the columns that are aligned to the right.
    """
    texts = [tuple(headers), *(tuple(map(str, row)) for row in rows)]
    *first, last = zip(*texts, strict=True)
    widths = [max(map(len, column)) for column in first]
    room = show.width() - indent - sum(widths) - 2 * len(widths)
    below = room < min(show.LEGIBLE, max(map(len, last)))
    for place, (*others, text) in enumerate(texts):
        start = " " * indent
        for header, cell, width in zip(headers, others, widths, strict=False):
            start += f"{cell.rjust(width) if header in numbers else cell.ljust(width)}  "
        further = " " * (indent + 4)
        lines = [start, *_wrap(text, further, further)] if below else _wrap(text, start, " " * len(start))
        text = "\n".join(line.rstrip() for line in lines)
        print(text) if place else heading(lines[0].rstrip() if below else text)
