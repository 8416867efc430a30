"""A progress bar on a terminal, and nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def bar(title: str, total: int, done: int = 0, show: bool | None = None) -> Iterator[Callable[[int], None]]:
    """Show how far a computation is.

    Parameters
    ----------
    title : str
        What is computed.
    total, done : int
        Points in all, and those finished already.
    show : bool, optional
        Whether to show it; by default if standard error is a terminal.

    Yields
    ------
    callable
        Takes the number of points finished since the last call.
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda points: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[points]}"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=total, completed=done, points="")
        so_far = done

        def advance(points: int) -> None:
            nonlocal so_far
            so_far += points
            progress.update(task, completed=so_far, points=f"{so_far:.3g} of {total:.3g} points")

        yield advance


@contextmanager
def status(show: bool | None = None) -> Iterator[Callable[[Any, Any], None] | None]:
    """One line on how far a branch and bound is, on a terminal.

    Parameters
    ----------
    show : bool, optional
        Whether to show it; by default if standard error is a terminal.

    Yields
    ------
    callable or None
        Takes the progress and the best points so far.
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield None
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("search") as line:

        def report(seen: Any, best: Any) -> None:
            value = f"{best.values[0]:.6g}" if len(best.values) else "none yet"
            line.update(f"search: {seen.boxes:,} boxes, {seen.points:,} points, best {value}, bound {seen.bound:.6g}")

        yield report
