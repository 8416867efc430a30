"""Wanted times at the speed of the machine: what takes it how long that is not ours, timed in the same run."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

Clock = Callable[[], float]
#: Runs of which the least counts: a machine that is busy excuses no row.
RUNS = 5


def processor_time() -> float:
    """Seconds of a processor that this process and those it has waited for have taken."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


@dataclass(frozen=True)
class Yardstick:
    """A piece of work that is not ours and stays as it is.

    Attributes
    ----------
    what : str
        Its name on the page.
    reference : float
        Seconds it takes where wanted times were set: the machine of docs/benchmarks.md.
    work : callable
        Does it once.
    """

    what: str
    reference: float
    work: Callable[[], object]

    def seconds(self, clock: Clock = time.perf_counter) -> float:
        """Seconds it takes here and now, the least of some runs."""
        taken = []
        for _ in range(RUNS):
            start = clock()
            self.work()
            taken.append(clock() - start)
        return min(taken)


def fresh_import() -> None:
    """Import what every first answer imports, in a process of its own."""
    subprocess.run([sys.executable, "-c", "import numpy, sympy"], check=True)


def numpy_loop() -> float:
    """Half a thousand calls on arrays that fit the cache: both Python and arithmetic count."""
    x, total = np.linspace(1.0, 2.0, 10_000), 0.0
    for _ in range(500):
        total += np.sqrt(x * x + 1.0).sum()
    return total


START = Yardstick("`import numpy, sympy` in a fresh process", 0.24, fresh_import)
LOOP = Yardstick("a loop of 500 NumPy expressions of 10,000 numbers", 6.0e-3, numpy_loop)


def row(
    what: str,
    wanted: float,
    taken: Sequence[float],
    target: float | None = 1,
    yardstick: Yardstick | None = LOOP,
    clock: Clock = time.perf_counter,
) -> dict[str, Any]:
    """The median of some seconds beside what is wanted, and the ratio of both that is aimed at, if any.

    Wanted seconds are multiplied by what the yardstick takes here over its reference. It is timed now, after the row
    and by the row's clock. Without a yardstick they are seconds on every machine.
    """
    found, other = median(taken), "what is wanted" if target == 1 else f"{wanted:g} s"
    row = {"title": f"{what}, against {other}", "target": target, "ours": found, "theirs": wanted}
    if yardstick is not None:
        here = yardstick.seconds(clock)
        row["theirs"] *= here / yardstick.reference
        row |= {"wanted": wanted, "yardstick": [yardstick.what, here, yardstick.reference]}
    return row | {"ratio": found / row["theirs"]}
