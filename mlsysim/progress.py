"""Progress of a computation: a line on a terminal after two seconds, and nothing elsewhere.

Loops of known length say how far they are, in whatever room they stand; the line shows it with an estimate of the rest.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from functools import wraps
from typing import Any, TypeVar

#: Seconds before progress is shown.
SOON = 2.0
#: Largest share that is shown; a finished computation's line is removed.
UNFINISHED = 0.999
#: Columns of the bar at most and at least, and of what stands beside it: title, share, count, clock and time left.
BAR, SHORTEST, BESIDE = 24, 4, 72

Item = TypeVar("Item")
Verb = TypeVar("Verb", bound=Callable[..., Any])


@dataclass
class _Loop:
    """Total and finished steps of a loop, and the size of the current step."""

    total: float
    done: float
    step: float
    began: float = field(default_factory=lambda: time.monotonic())


class Line:
    """A line that shows the progress of one computation.

    Parameters
    ----------
    title : str
        Name of the computation.
    after : float
        Seconds before it is shown.
    """

    def __init__(self, title: str, after: float) -> None:
        self.loops: list[_Loop] = []
        self.thread = threading.get_ident()
        self.depth = 0
        self._title, self._said = title, ""
        self._shown: Any = None
        self._after, self._began = after, time.monotonic()
        self._lock, self._over = threading.Lock(), True
        self._begin()

    def _begin(self) -> None:
        """Show the line once it is due."""
        self._over = False
        left = self._after - (time.monotonic() - self._began)
        self._timer = threading.Timer(left, self._show)
        self._timer.daemon = True
        if left > 0:
            self._timer.start()
        else:
            self._show()

    @property
    def fraction(self) -> float | None:
        """Finished share; None if no loop reports."""
        share = 0.0
        for outer in reversed(self.loops):
            share = min(1.0, (outer.done + share * outer.step) / outer.total) if outer.total else 1.0
        return share if self.loops else None

    def name(self, title: str) -> None:
        """Name the current computation."""
        self._title, self._said = title, ""
        self.tell()

    def say(self, text: str) -> None:
        """Set the text after the bar."""
        self._said = text
        self.tell()

    def tell(self) -> None:
        """Show the progress, again if the line was removed."""
        if self._over:
            self._begin()
        with self._lock:
            self._update()

    def close(self) -> None:
        """Remove the line, so that later output stands alone."""
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._shown is not None:
                self._update()
                self._shown.stop()
                self._shown = None

    def _update(self) -> None:
        if self._shown is not None:
            share = self.fraction
            known: dict[str, Any] = {"left": self._left(share)}
            if share is not None:
                known |= {"total": 1.0, "completed": min(share, UNFINISHED)}
            self._shown.update(self._shown.task_ids[0], description=self._title, said=self._said, **known)

    def _left(self, share: float | None) -> str:
        """Estimate the remaining time from the pace so far."""
        if not share or not self.loops:
            return ""
        seconds = (time.monotonic() - self.loops[0].began) * (1 - share) / share
        return f"{timedelta(seconds=math.ceil(seconds))} left"

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
        )

        with self._lock:
            if self._over:
                return
            console = Console(stderr=True)
            columns = "{task.description}", "{task.fields[said]}", "{task.fields[left]}"
            title, said, left = map(TextColumn, columns)
            # In a narrow terminal the bar is dropped first, and then the count of points.
            room = min(BAR, console.width - BESIDE)
            bar = [BarColumn(room)] if room >= SHORTEST else []
            count = [said] if console.width >= BESIDE else []
            # Output printed meanwhile goes above the line, unless it goes elsewhere.
            self._shown = Progress(
                title, *bar, TaskProgressColumn(), *count, TimeElapsedColumn(), left,
                console=console, transient=console.is_terminal,
                redirect_stdout=sys.stdout.isatty(), redirect_stderr=False,
            )  # fmt: skip
            self._shown.add_task(self._title, total=None, said=self._said, left="")
            self._shown.tasks[0].start_time = self._began
            self._update()
            self._shown.start()


_line: ContextVar[Line | None] = ContextVar("line", default=None)


@contextmanager
def watched(title: str, show: bool | None = None) -> Iterator[Line | None]:
    """Show the progress of the computation inside, on one line even if it is nested.

    Parameters
    ----------
    title : str
        Name of the computation.
    show : bool, optional
        True shows it at once, False never; by default it appears after two seconds if standard error is a terminal.

    Yields
    ------
    Line or None
        The line, or that of an enclosing computation; None if nothing is shown.
    """
    around = _line.get()
    if show is False or (show is None and around is None and not sys.stderr.isatty()):
        yield None
        return
    if around is not None:
        around.name(title)
        around.depth += 1
        try:
            yield around
        finally:
            around.depth -= 1
            if not around.depth:
                around.close()
        return
    line = Line(title, 0.0 if show else SOON)
    token = _line.set(line)
    try:
        yield line
    finally:
        _line.reset(token)
        line.close()


def shown(verb: Verb) -> Verb:
    """Show the progress of a verb, which may have an argument ``progress``."""
    title = verb.__name__.replace("_", " ")

    @wraps(verb)
    def called(*args: Any, **kwargs: Any) -> Any:
        with watched(title, kwargs.get("progress")):
            return verb(*args, **kwargs)

    return called  # type: ignore[return-value]


@contextmanager
def loop(total: float, step: float = 1, done: float = 0) -> Iterator[Callable[[float], None]]:
    """Report the progress of a loop to the line, if one is shown. A loop inside a step of another counts as its part.

    Parameters
    ----------
    total : float
        Total number of steps.
    step : float
        Steps per report.
    done : float
        Steps finished already.

    Yields
    ------
    callable
        Reports the number of steps finished since the last call.
    """
    line = _line.get()
    if line is None or line.thread != threading.get_ident():
        yield lambda steps: None
        return
    own = _Loop(total, done, step)
    line.loops.append(own)

    def advance(steps: float) -> None:
        own.done += steps
        line.tell()

    try:
        yield advance
    finally:
        line.loops.remove(own)


def looped(items: Sequence[Item]) -> Iterator[Item]:
    """Yield the items, reporting progress."""
    with loop(len(items)) as advance:
        for item in items:
            yield item
            advance(1)


@contextmanager
def bar(
    title: str, total: int, done: int = 0, show: bool | None = None, step: float = 1
) -> Iterator[Callable[[int], None]]:
    """Show the progress of a loop over points.

    Parameters
    ----------
    title : str
        Name of the computation.
    total, done : int
        Number of points, and those finished already.
    show : bool, optional
        See :func:`watched`.
    step : float
        Points per report.

    Yields
    ------
    callable
        Reports the number of points finished since the last call.
    """
    with watched(title, show) as line, loop(total, step, done) as advance:
        so_far = done

        def told(points: int) -> None:
            nonlocal so_far
            so_far += points
            if line is not None:
                line.say(f"{so_far:.3g} of {total:.3g} points")
            advance(points)

        yield told
