"""Text that fits the terminal: plain when piped, headings in bold when not."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH = 100


def width() -> int:
    """Columns to write in: those of the terminal, at most 100; 100 when piped."""
    return min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns) if sys.stdout.isatty() else WIDTH


def heading(text: str) -> None:
    """Print a line that stands out."""
    _console().print(Text(text, style="bold"))


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
        text,
        width(),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def listing(headers: Sequence[str], rows: Sequence[Sequence[Any]], indent: int = 0) -> None:
    """Print text in left-aligned columns; long cells of the last column wrap.

    Parameters
    ----------
    headers : sequence of str
        One per column.
    rows : sequence of sequences
        Cells; shown as text.
    indent : int
        Columns left of the table.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, header in enumerate(headers):
        last = place == len(headers) - 1
        table.add_column(header, no_wrap=not last, overflow="fold" if last else "ignore")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    console = _console(width() - indent)
    with console.capture() as captured:
        console.print(table)
    print("\n".join(" " * indent + line.rstrip() for line in captured.get().splitlines()))


def _console(columns: int | None = None) -> Console:
    return Console(width=columns or width(), highlight=False, markup=False, emoji=False)
