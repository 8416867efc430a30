"""Compile the engine and cache it, so that the first simulation of an installation does not wait.

Without numba, ``python -m mlsysim.simulation`` does almost nothing.
"""

import numpy as np

from mlsysim.simulation import engine
from mlsysim.simulation.engine import Requests, Rules, Table, Times
from mlsysim.simulation.run import run


def main() -> None:
    """Serve one request, and evaluate each kind of step time."""
    one, table = np.ones(1, np.int64), Table(np.ones(2), 1, 1)
    times = Times(table, table, table, table, np.ones(1), table, 1.0, table, table, table, table)
    requests = Requests(np.zeros(1), one, 2 * one, np.ones(1), 0 * one, -one, -one, 0 * one, np.zeros(1))
    run(requests, times, Rules(False, 0, 1, 1e9, 0.0, 1.0, 0.0, 0.0, 0, 0.0, 1, 0.0, 0.0, 1, False, 0), 0, 1)
    whole, part = one[0], np.ones(1)[0]
    engine.decode_time(times, whole, part)
    engine.prompt_time(times, whole, part)
    engine.mixed_time(times, whole, whole, part, whole, 1, part)
    engine.look(table, whole)


if __name__ == "__main__":
    main()
