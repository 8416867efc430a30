"""Print text that fits the terminal: plain if piped, with bold headings otherwise."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from typing import Any

import typer

from mlsysim import show
from mlsysim.errors import printable


def heading(text: str) -> None:
    """Print a line in bold."""
    for line in _wrap(text, "", ""):
        typer.echo(typer.style(line, bold=True))


def paragraph(text: str, indent: str = "") -> None:
    """Print a text wrapped to the width; lines after the first are indented to clear a label."""
    print("\n".join(_wrap(text, indent, " " * len(indent))))


def block(text: str) -> None:
    """Print lines with their indent; unindented lines are headings, and long ones continue further in."""
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
    """Print text in columns; long cells of the last column wrap, or go below if space is short.

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
    for row, (*others, text) in enumerate(texts):
        start = " " * indent
        for header, cell, width in zip(headers, others, widths, strict=False):
            start += f"{cell.rjust(width) if header in numbers else cell.ljust(width)}  "
        further = " " * (indent + 4)
        lines = [start, *_wrap(text, further, further)] if below else _wrap(text, start, " " * len(start))
        text = "\n".join(line.rstrip() for line in lines)
        print(text) if row else heading(lines[0].rstrip() if below else text)
