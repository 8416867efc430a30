"""Settings of runs that fail: what is simulated, and the same as a question to ``RunModel``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any

import numpy as np
from simulated.failing_run import Draw, Elastic, Estimate, Saves, Spares, TwoLevels

DAY = 86_400.0
#: Cycles from failure to failure, and failures of each of many jobs with spares or replicas.
CYCLES, FAILURES, JOBS = 600_000, 3000, 300


@dataclass(frozen=True, eq=False)
class Setting:
    """One share of time, simulated and asked.

    Parameters
    ----------
    name : str
        Of the test.
    simulate : callable
        Takes a seed.
    variant, asked, output : str, dict, str
        Of ``RunModel``.
    """

    name: str
    simulate: Callable[[int], Estimate]
    variant: str
    asked: dict[str, Any]
    output: str = "ettr"


def job(mttf: float, recovery: float = 0.0, days: float = 1.0) -> dict[str, Any]:
    """A job on one node that fails by the clock of its running time."""
    return {
        "training_time": f"{days} day", "fleet_size": 8, "accelerators_per_node": 8, "failure_clock": "running",
        "node_failure_rate": DAY / mttf, "planned_rate": 0, "placement_time": 0, "initialization_time": 0,
        "detection_time": recovery,
    }  # fmt: skip


#: What a job whose replicas leave one by one does not wait for.
NOT_WAITED_FOR = ("placement_time", "initialization_time", "detection_time")


def of_saves(saves: Saves, recovery: float, **more: Any) -> dict[str, Any]:
    """Arguments of a job with saves of one kind."""
    return job(saves.mttf, recovery) | {
        "save_interval": saves.interval, "save_stall": saves.stall, "save_latency": saves.latency, "load_time": 0,
        "restarts_fail": saves.restarts_fail, **more,
    }  # fmt: skip


def of_levels(levels: TwoLevels, **more: Any) -> dict[str, Any]:
    """Arguments of a job with copies in memory and saves to storage."""
    return job(levels.mttf) | {
        "memory_save_interval": levels.interval, "memory_save_stall": levels.memory_stall,
        "save_interval": levels.every * levels.interval, "save_stall": levels.storage_stall, "save_latency": 0,
        "memory_survival": levels.survival, "memory_load_time": levels.memory_recovery,
        "load_time": levels.storage_recovery, **more,
    }  # fmt: skip


def of_elastic(elastic: Elastic, **more: Any) -> dict[str, Any]:
    """Arguments of a job whose replicas leave one by one."""
    asked = {name: value for name, value in job(elastic.mttf).items() if name not in NOT_WAITED_FOR}
    return asked | {
        "elastic_replicas": elastic.replicas, "elastic_stall": elastic.stall, "away_time": elastic.away, **more,
    }  # fmt: skip


def fixed(length: float) -> Draw:
    """Repairs that take equally long."""
    return lambda count, rng: np.full(count, length)


def exponential(mean: float) -> Draw:
    """Repairs that end at random."""
    return lambda count, rng: rng.exponential(mean, count)


def log_normal(mean: float, deviation: float) -> Draw:
    """Times of which few are very long."""
    square = np.log(1 + (deviation / mean) ** 2)
    return lambda count, rng: rng.lognormal(np.log(mean) - square / 2, sqrt(square), count)


#: MTTF, useful work between saves over Young's best, stall, recovery, and whether restarts fail; of saves that block.
_BLOCKING = [
    (mttf, share, stall, recovery, restarts_fail)
    for mttf, recovery in ((11_135, 600), (3600, 400), (1080, 300))
    for share, stall, restarts_fail in ((1, 60, False), (2, 60, True), (0.5, 300, False), (1, 300, True))
]
#: MTTF, work between saves, stall, latency, recovery and whether restarts fail; of saves beside training.
_OVERLAPPED = [
    (11_135, 500, 1, 400, 600, False), (11_135, 120, 0.6, 51, 200, False), (11_135, 300, 2, 250, 800, True),
    (3600, 200, 2, 150, 300, False), (3600, 100, 0.5, 90, 120, True), (1080, 200, 10, 150, 300, False),
    (1080, 60, 1, 50, 120, False), (21_600, 900, 5, 800, 900, True),
]  # fmt: skip
#: As the fields of TwoLevels.
LEVELS = [
    TwoLevels(11_135, 300, 8, 5, 60, 0.75, 120, 600), TwoLevels(3600, 100, 20, 1, 30, 0.75, 120, 600),
    TwoLevels(1800, 120, 10, 5, 60, 0.75, 120, 600), TwoLevels(7200, 60, 60, 1, 30, 0.9, 100, 900),
    TwoLevels(11_135, 600, 4, 10, 120, 0.3, 300, 1200),
]  # fmt: skip
#: As the fields of Elastic.
REPLICAS = [Elastic(900, 48, 180, 900), Elastic(10_800, 128, 60, 600), Elastic(1800, 16, 120, 1800),
            Elastic(1800, 8, 120, 3600)]  # fmt: skip
#: Failures per day, days of a repair, spares, and the law of repairs.
_SPARES = [(2, 3, spares, law) for spares in (2, 4, 8) for law in (fixed, exponential)] + [
    (7.8, 1, 8, fixed), (7.8, 1, 12, exponential)
]  # fmt: skip

SAVES = [
    (Saves(mttf, share * sqrt(2 * stall * mttf), stall, recovery, 0.0, restarts_fail), recovery)
    for mttf, share, stall, recovery, restarts_fail in _BLOCKING
] + [(Saves(mttf, work, stall, recovery, latency, fails), recovery)
     for mttf, work, stall, latency, recovery, fails in _OVERLAPPED]  # fmt: skip

SETTINGS = [
    *(
        Setting(
            f"M{saves.mttf:g}_T{saves.interval:.0f}_C{saves.stall:g}_D{saves.latency:g}_{saves.restarts_fail}",
            partial(saves.share, CYCLES), "given", of_saves(saves, recovery),
        )
        for saves, recovery in SAVES
    ),
    *(
        Setting(f"levels_M{levels.mttf:g}_{levels.survival:g}", partial(levels.share, CYCLES // 6), "given_two_level",
                of_levels(levels))
        for levels in LEVELS
    ),
    *(
        Setting(f"replicas_M{each.mttf:g}_{each.replicas}", partial(each.share, 2 * FAILURES, JOBS), "given_elastic",
                of_elastic(each))
        for each in REPLICAS
    ),
    *(
        Setting(
            f"spares_{rate:g}_{spares}_{law.__name__}",
            partial(Spares(spares, law(days)).waiting, 1 / rate, FAILURES, JOBS), "given",
            job(DAY / rate) | {"save_interval": 60, "save_stall": 0, "save_latency": 0, "load_time": 0,
                               "spare_nodes": spares, "repair_time": f"{days} day"},
            "spare_wait_share",
        )
        for rate, days, spares, law in _SPARES
    ),
]  # fmt: skip
