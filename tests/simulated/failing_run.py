"""Training runs that fail, simulated event by event: segments, saves in flight, restarts, repairs, replicas that leave.

Many runs are simulated side by side, one event of each at a time. Times are in one unit, whichever the caller takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gamma

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], Array]


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error."""

    mean: float
    error: float

    def deviation(self, other: float) -> float:
        """Standard errors by which another number is above it."""
        return (other - self.mean) / self.error


def ratio(useful: Array, passed: Array) -> Estimate:
    """Mean of one over mean of the other, from independent cycles."""
    share = useful.mean() / passed.mean()
    return Estimate(share, float(np.std(useful - share * passed) / passed.mean() / np.sqrt(len(useful))))


@dataclass(frozen=True)
class Saves:
    """Work between failures, which saves interrupt.

    Parameters
    ----------
    mttf : float
        Mean running time to a failure.
    interval, stall : float
        Useful work between saves, and the pause of training at each.
    latency : float
        From the end of the pause until the save can be restored from. One save is written at a time: the next pause
        lasts until the last write has ended.
    recovery : float or callable
        From the failure to the first useful step; a callable draws as many as are asked for.
    restarts_fail : bool
        Whether failures come during recovery too, which then starts again.
    shape : float
        Of the Weibull law of running times to a failure: exponential at 1, and with more early failures below.
    """

    mttf: float
    interval: float
    stall: float
    recovery: float | Draw
    latency: float = 0.0
    restarts_fail: bool = False
    shape: float = 1.0

    def failures(self, count: int, rng: np.random.Generator) -> Array:
        """Running time to each of so many failures, from the last recovery."""
        if self.shape == 1:
            return rng.exponential(self.mttf, count)
        return self.mttf / gamma(1 + 1 / self.shape) * rng.weibull(self.shape, count)

    def recoveries(self, count: int, rng: np.random.Generator) -> Array:
        """Time away after each of so many failures."""
        drawn = self.recovery(count, rng) if callable(self.recovery) else np.full(count, self.recovery)
        if not self.restarts_fail:
            return drawn
        passed, left = np.zeros(count), np.arange(count)
        while len(left):
            failure = self.failures(len(left), rng)
            passed[left] += np.minimum(failure, drawn[left])
            left = left[failure < drawn[left]]
        return passed

    def until_failure(self, failure: Array, wanted: NDArray[np.int64]) -> tuple[NDArray[np.int64], Array]:
        """Segments that can be restored when each run fails or has as many as it wants, and when that is."""
        now, written = np.zeros_like(failure), np.zeros_like(failure)
        done, ended = np.zeros(len(failure), np.int64), failure.copy()
        running = np.arange(len(failure))
        while len(running):
            start = np.maximum(now[running] + self.interval, written[running])
            now[running] = start + self.stall
            written[running] = now[running] + self.latency
            kept = written[running] <= failure[running]
            done[running[kept]] += 1
            reached = kept & (done[running] >= wanted[running])
            ended[running[reached]] = written[running[reached]]
            # A pause that the failure cuts off ends the run, as does a write: what follows it is never kept.
            running = running[kept & ~reached]
        return done, ended

    def share(self, cycles: int, seed: int) -> Estimate:
        """Useful share of time, from cycles of failure to failure."""
        rng = np.random.default_rng(seed)
        failure = self.failures(cycles, rng)
        done, ended = self.until_failure(failure, np.full(cycles, np.iinfo(np.int64).max))
        return ratio(done * self.interval, ended + self.recoveries(cycles, rng))

    def durations(
        self, segments: int, runs: int, seed: int, spares: Spares | None = None, rates: Array | None = None
    ) -> Array:
        """Wall time of runs of so many segments, until the last can be restored.

        Without ``spares`` nodes are there at once; ``rates`` are those of the failures of each run, over the mean.
        """
        rng = np.random.default_rng(seed)
        wall, left = np.zeros(runs), np.full(runs, segments)
        back = np.zeros((runs, spares.count + 1 if spares else 0))
        running = np.arange(runs)
        while len(running):
            failure = self.failures(len(running), rng) / (1.0 if rates is None else rates[running])
            done, ended = self.until_failure(failure, left[running])
            left[running] -= done
            failed = left[running] > 0
            wall[running] += ended
            running = running[failed]
            if spares:
                others = back[running]
                wall[running] += spares.waits(others, wall[running], rng)
                back[running] = others
            wall[running] += self.recoveries(len(running), rng)
        return wall


@dataclass(frozen=True)
class TwoLevels:
    """Saves to memory, of which some failures leave a copy, and every so many of them to storage.

    Parameters
    ----------
    mttf, interval : float
        As for :class:`Saves`; of saves to memory.
    every : int
        Saves to memory from one save to storage to the next.
    memory_stall, storage_stall : float
        Pause of each.
    survival : float
        Share of failures that leave the copy in memory.
    memory_recovery, storage_recovery : float
        From the failure to the first useful step.
    """

    mttf: float
    interval: float
    every: int
    memory_stall: float
    storage_stall: float
    survival: float
    memory_recovery: float
    storage_recovery: float

    def _runs(self, count: int, wanted: float, seed: int) -> tuple[Array, Array]:
        """Wall time and saves to storage of runs that end with so many saves, or else with the first loss of memory."""
        rng = np.random.default_rng(seed)
        wall, blocks = np.zeros(count), np.zeros(count)
        saved, running = np.zeros(count, np.int64), np.arange(count)
        left = rng.exponential(self.mttf, count)
        while len(running):
            full = saved[running] == self.every
            needed = np.where(full, self.storage_stall, self.interval + self.memory_stall)
            failed = left[running] < needed
            ran, full = running[~failed], full[~failed]
            wall[ran] += needed[~failed]
            left[ran] -= needed[~failed]
            blocks[ran] += full
            saved[ran] = np.where(full, 0, saved[ran] + 1)
            hit = running[failed]
            survives = rng.random(len(hit)) < self.survival
            wall[hit] += left[hit] + np.where(survives, self.memory_recovery, self.storage_recovery)
            left[hit] = rng.exponential(self.mttf, len(hit))
            saved[hit[~survives]] = 0
            ended = np.zeros(count, bool)
            ended[hit[~survives] if wanted == np.inf else ran[blocks[ran] == wanted]] = True
            running = running[~ended[running]]
        return wall, blocks

    def share(self, cycles: int, seed: int) -> Estimate:
        """Useful share of time, from cycles of one loss of memory to the next."""
        wall, blocks = self._runs(cycles, np.inf, seed)
        return ratio(blocks * self.every * self.interval, wall)

    def durations(self, saves: int, runs: int, seed: int) -> Array:
        """Wall time of runs of so many saves to storage."""
        return self._runs(runs, saves, seed)[0]


@dataclass(frozen=True)
class Spares:
    """Nodes that stand by for those that fail, which are repaired and then stand by.

    Parameters
    ----------
    count : int
        Of them.
    repair : callable
        Draws times from the failure of a node until it stands by.
    """

    count: int
    repair: Draw

    def waits(self, back: Array, now: Array, rng: np.random.Generator) -> Array:
        """Time until each job has a node for the one that fails; ``back`` is when its other nodes are repaired."""
        # The node that has stood by for longest gives its place to the one that fails.
        back[np.arange(len(now)), back.argmin(1)] = now + self.repair(len(now), rng)
        return np.maximum(back.min(1) - now, 0.0)

    def waiting(self, mttf: float, failures: int, runs: int, seed: int, recovery: float = 0.0) -> Estimate:
        """Share of time that a job waits for a node, from runs side by side after a tenth of their failures."""
        rng = np.random.default_rng(seed)
        back = np.zeros((runs, self.count + 1))
        now, waited = np.zeros(runs), np.zeros(runs)
        begun = waited_before = now
        for failure in range(failures):
            if failure == failures // 10:
                begun, waited_before = now, waited
            now = now + rng.exponential(mttf, runs)
            wait = self.waits(back, now, rng)
            waited = waited + wait
            now = now + wait + recovery
        return ratio(waited - waited_before, now - begun)


@dataclass(frozen=True)
class Elastic:
    """Replicas that leave when they fail and come back, while the others go on.

    Parameters
    ----------
    mttf : float
        Mean running time of all replicas together to a failure.
    replicas : int
        Of the data, as many as there are.
    stall : float
        Pause of all of them at a failure.
    away : float
        From the end of the pause until the replica that failed works again.
    """

    mttf: float
    replicas: int
    stall: float
    away: float

    def _events(self, runs: int, rng: np.random.Generator):
        """Wall time and useful work of each run after each of its events, without end."""
        back = np.full((runs, self.replicas), -np.inf)
        now, useful, paused = np.zeros(runs), np.zeros(runs), np.zeros(runs)
        each = np.arange(runs)
        while True:
            present = (back <= now[:, None]).sum(1)
            begin = np.maximum(now, paused)
            comes = np.where(back > now[:, None], back, np.inf).min(1)
            with np.errstate(divide="ignore"):
                fails = begin + rng.exponential(1.0, runs) * self.mttf * self.replicas / present
            then = np.minimum(comes, fails)
            useful = useful + np.maximum(then - begin, 0) * present / self.replicas
            failed = fails < comes
            chosen = np.where(back <= now[:, None], rng.random((runs, self.replicas)), -1.0).argmax(1)
            back[each[failed], chosen[failed]] = then[failed] + self.stall + self.away
            paused[failed] = then[failed] + self.stall
            now = then
            yield now, useful, present / self.replicas, begin

    def share(self, events: int, runs: int, seed: int) -> Estimate:
        """Useful share of time, from runs side by side after a tenth of them."""
        begun = useful_before = np.zeros(runs)
        now = useful = begun
        for event, (now, useful, *_) in enumerate(self._events(runs, np.random.default_rng(seed))):
            if event == events // 10:
                begun, useful_before = now, useful
            if event == events:
                break
        return ratio(useful - useful_before, now - begun)

    def durations(self, work: float, runs: int, seed: int) -> Array:
        """Wall time of runs of so much work of all replicas."""
        wall = np.full(runs, np.nan)
        for now, useful, pace, _ in self._events(runs, np.random.default_rng(seed)):
            ended = np.isnan(wall) & (useful >= work)
            wall[ended] = now[ended] - (useful[ended] - work) / pace[ended]
            if not np.isnan(wall).any():
                return wall
        raise AssertionError
