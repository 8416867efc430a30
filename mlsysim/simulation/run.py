"""Run of one engine over its requests."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mlsysim import progress
from mlsysim.extras import installed
from mlsysim.simulation import engine
from mlsysim.simulation.engine import Requests, Rules, Seen, Times, Work

#: Iterations between two checks for an interrupt.
SLICE = 500_000 if installed("numba") else 20_000


class Run(NamedTuple):
    """Outcome of one engine."""

    seen: Seen
    elapsed: float
    """Seconds in which the counted requests finished."""
    busy: float
    """Seconds of these in which the engine was busy."""
    finished: int


def run(requests: Requests, times: Times, rules: Rules, opens: int, closes: int) -> Run:
    """Serve all requests.

    Parameters
    ----------
    requests : Requests
        Requests to serve.
    times : Times
        Step times of iterations.
    rules : Rules
        Scheduling rules of the engine.
    opens, closes : int
        Numbers of finished requests at which counting starts and ends.
    """
    count = len(requests.prompt)
    sessions = int(requests.session.max()) + 1 if count else 0
    seen = Seen(floats(count), floats(count), floats(count), floats(count), integers(count), integers(count))
    numbers, clocks = integers(engine.INTEGERS), floats(engine.FLOATS)
    numbers[[engine.PARTIAL, engine.OLDEST, engine.NEWEST]] = -1
    clocks[engine.OPEN_TIME] = clocks[engine.CLOSE_TIME] = -1.0
    if opens == 0:
        clocks[engine.OPEN_TIME] = 0.0
    work = Work(
        numbers, clocks, integers(count), requests.prompt.copy(), integers(count), integers(count), integers(count),
        integers(count + 1), integers(count + 1), integers(count + 1), integers(count + 1), floats(count + 1),
        integers(count + 1), integers(count + 1), integers(sessions), integers(sessions, -1), integers(sessions, -1),
        opens, closes,
    )  # fmt: skip
    if not installed("numba"):
        requests, times, seen, work = (_listed(arrays) for arrays in (requests, times, seen, work))
    with progress.loop(count, count) as advance:
        finished = 0
        while not engine.serve(requests, times, rules, seen, work, SLICE):
            advance(int(work.integers[engine.FINISHED]) - finished)
            finished = int(work.integers[engine.FINISHED])
    seen = Seen(*map(np.asarray, seen))
    began, ended = work.floats[engine.OPEN_TIME], work.floats[engine.CLOSE_TIME]
    busy = work.floats[engine.CLOSE_BUSY] - work.floats[engine.OPEN_BUSY]
    return Run(seen, float(ended - began), float(busy), closes - opens)


def floats(size: int, value: float = 0.0) -> Any:
    """Create an array of times."""
    return np.full(size, value, np.float64)


def integers(size: int, value: int = 0) -> Any:
    """Create an array of whole numbers."""
    return np.full(size, value, np.int64)


def _listed(data: Any) -> Any:
    """Convert arrays to lists, whose items are faster to read one by one."""
    if isinstance(data, tuple):
        return type(data)(*map(_listed, data))
    return data.tolist() if isinstance(data, np.ndarray) else data
