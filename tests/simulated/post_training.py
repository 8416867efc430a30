"""Steps of reinforcement-learning post-training, played token by token.

Response lengths are drawn. Each step of an engine writes one token of every request that it holds, in a time that is
given as a table over requests and tokens of context. Pools exchange batches and weights as four schedules have it.
Nothing here comes from the library.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Tokens = NDArray[np.int64]


def exponential_scale(mean: float, cap: float) -> float:
    """Scale of an exponential whose mean after a cut at the cap is given."""
    from scipy.optimize import brentq

    share = mean / cap
    reach: Any = brentq(lambda x: -math.expm1(-x) / x - share, 1e-9, 1e6)
    return cap / reach


def log_normal_location(mean: float, cap: float, cv: float) -> tuple[float, float]:
    """Mean and deviation of the logarithm of a log-normal whose mean after a cut at the cap is given."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    deviation = math.sqrt(math.log1p(cv**2))

    def cut_mean(location: float) -> float:
        reach = (math.log(cap) - location) / deviation
        below = math.exp(location + deviation**2 / 2) * ndtr(reach - deviation)
        return float(below + cap * ndtr(-reach) - mean)

    location: Any = brentq(cut_mean, math.log(mean) - 10, math.log(cap) + 10)
    return location, deviation


def draw_lengths(mean: float, cap: float, count: int, rng: np.random.Generator, cv: float | None = None) -> Tokens:
    """Lengths of responses: exponential, or log-normal with a coefficient of variation, both cut at the cap."""
    if cv == 0:
        drawn = np.full(count, mean)
    elif cv is None:
        drawn = rng.exponential(exponential_scale(mean, cap), count)
    else:
        drawn = rng.lognormal(*log_normal_location(mean, cap, cv), count)
    return np.clip(np.rint(drawn), 1, cap).astype(np.int64)


@dataclass(frozen=True)
class StepTimes:
    """Time of an engine step over requests and their mean context, linear between the points of a table.

    Attributes
    ----------
    requests, context : array
        Points of both axes, from 1 and from 0.
    seconds : array
        Time at each pair.
    """

    requests: Floats
    context: Floats
    seconds: Floats

    def __call__(self, requests: Floats, cached: Floats) -> Floats:
        """Seconds of steps with so many requests and so many cached tokens in all."""
        row, u = _place(self.requests, requests)
        column, v = _place(self.context, cached / requests)
        corner = self.seconds[row, column] * (1 - v) + self.seconds[row, column + 1] * v
        next_row = self.seconds[row + 1, column] * (1 - v) + self.seconds[row + 1, column + 1] * v
        return corner * (1 - u) + next_row * u


def _place(points: Floats, values: Floats) -> tuple[Tokens, Floats]:
    index = np.clip(np.searchsorted(points, values, side="right") - 1, 0, len(points) - 2)
    return index, (values - points[index]) / (points[index + 1] - points[index])


def starts_in_slots(lengths: Tokens, slots: int) -> Tokens:
    """Step at which each request starts, where a freed slot takes the next one."""
    if len(lengths) <= slots:
        return np.zeros(len(lengths), np.int64)
    free = [0] * slots
    starts = np.empty(len(lengths), np.int64)
    for index, length in enumerate(lengths.tolist()):
        starts[index] = heapq.heappop(free)
        heapq.heappush(free, starts[index] + length)
    return starts


def occupancy(lengths: Tokens, starts: Tokens, prompt: int) -> tuple[Floats, Floats]:
    """Requests and cached tokens at every step of a replica."""
    ends = starts + lengths
    running, offset = np.zeros(ends.max() + 1), np.zeros(ends.max() + 1)
    np.add.at(running, starts, 1)
    np.add.at(running, ends, -1)
    np.add.at(offset, starts, prompt - starts)
    np.add.at(offset, ends, starts - prompt)
    running = np.cumsum(running)[:-1]
    return running, np.cumsum(offset)[:-1] + np.arange(len(running)) * running


@dataclass(frozen=True)
class Rollout:
    """Replicas of an engine that answer a batch of prompts.

    Attributes
    ----------
    times : StepTimes
        A step.
    prompt_seconds : float
        Prefill of one prompt.
    prompt : int
        Tokens of a prompt.
    replicas : int
        Engines, which share the requests evenly.
    slots : int
        Requests that an engine runs at a time.
    """

    times: StepTimes
    prompt_seconds: float
    prompt: int
    replicas: int
    slots: int

    def replica_seconds(self, lengths: Tokens) -> float:
        """One engine, from the first prompt to the last token."""
        requests, cached = occupancy(lengths, starts_in_slots(lengths, self.slots), self.prompt)
        return float(self.times(requests, cached).sum()) + len(lengths) * self.prompt_seconds

    def seconds(self, lengths: Tokens) -> float:
        """The batch, until the slowest engine is done."""
        return max(self.replica_seconds(part) for part in lengths.reshape(self.replicas, -1))

    def seconds_in_room(self, lengths: Tokens, room: float) -> float:
        """One engine whose cache holds so many tokens: the last request leaves, and its tokens are prefilled again."""
        waiting = deque((length, 0) for length in lengths.tolist())
        running: list[list[int]] = []
        cached, seconds, token = 0, 0.0, self.prompt_seconds / self.prompt
        while waiting or running:
            while waiting and cached + self.prompt + waiting[0][1] + len(running) < room and len(running) < self.slots:
                length, written = waiting.popleft()
                running.append([length, written])
                cached += self.prompt + written
                seconds += (self.prompt + written) * token
            while cached + len(running) > room and len(running) > 1:
                length, written = running.pop()
                cached -= self.prompt + written
                waiting.appendleft((length, written))
            seconds += float(self.times(np.array([float(len(running))]), np.array([float(cached)]))[0])
            for request in running:
                request[1] += 1
            cached += len(running)
            cached -= sum(self.prompt + written for length, written in running if written == length)
            running = [request for request in running if request[1] < request[0]]
        return seconds

    def seconds_until(self, lengths: Tokens, needed: int) -> float:
        """The batch of which some are not needed: until so many are done, whichever they are; all start at once."""
        parts = lengths.reshape(self.replicas, -1)
        done = []
        for part in parts:
            requests, cached = occupancy(part, np.zeros(len(part), np.int64), self.prompt)
            clock = len(part) * self.prompt_seconds + np.cumsum(self.times(requests, cached))
            done.append(clock[part - 1])
        return float(np.partition(np.concatenate(done), needed - 1)[needed - 1])


def one_step_off_steps(rollout: Floats, train: Floats, sync: float) -> Floats:
    """Steps of two pools, where a batch may be one version of the weights old.

    Batch k + 1 starts with the weights of update k - 1, when batch k is done; update k starts when batch k is. The
    pools meet for the exchange of weights.
    """
    ends, now = [], 0.0
    batch_done = rollout[0]
    for index in range(1, len(rollout)):
        # The next batch and the update of the last one run beside each other from where both are free.
        now = max(now, batch_done)
        batch_done, updated = now + rollout[index], now + train[index - 1]
        now = max(batch_done, updated) + sync
        batch_done = now
        ends.append(now)
    return np.diff(ends)


#: Events that are no engine's: an update is done, its weights are where they belong.
_UPDATED, _EXCHANGED = -2, -1


@dataclass(frozen=True)
class Asynchronous:
    """Results of a fully asynchronous run.

    Attributes
    ----------
    step : float
        Seconds between updates.
    trainer_idle : float
        Share of the time that the trainer waits for samples.
    versions : float
        Updates that pass while a response is written, mean.
    oldest : int
        Updates between the first token of a sample and its use, largest.
    running : float
        Requests that an engine runs, mean over its steps' time.
    """

    step: float
    trainer_idle: float
    versions: float
    oldest: int
    running: float


def asynchronous_steps(
    rollout: Rollout, lengths: Iterator[int], batch: int, train: float, sync: float, staleness: float, steps: int,
    warm_up: int = 5,
) -> Asynchronous:  # fmt: skip
    """Run engines that are refilled while samples in flight and queued are fewer than the bound allows.

    A new request goes to the engine with the fewest. The trainer takes the oldest batch when it is there; engines stop
    at the end of a step while weights are exchanged, and go on with what they had.
    """
    run = _Run(rollout, lengths, batch, round((1 + staleness) * batch))
    ends: list[float] = []
    waited_at, taken = [0.0], [0]
    run.refill(0.0)
    while len(ends) < steps + warm_up:
        now, index = heapq.heappop(run.events)
        if index == _UPDATED:
            run.paused_until = now + sync
            heapq.heappush(run.events, (run.paused_until, _EXCHANGED))
        elif index == _EXCHANGED:
            run.version, run.training = run.version + 1, False
            ends.append(now)
            run.idle_since = now
        elif now < run.paused_until:
            heapq.heappush(run.events, (run.paused_until, index))
            continue
        else:
            run.advance(index, now)
        if not run.training and len(run.queue) >= batch:
            run.training = True
            waited_at.append(waited_at[-1] + now - run.idle_since)
            run.ages += [run.version - started for started in run.queue[:batch]]
            del run.queue[:batch]
            heapq.heappush(run.events, (now + train, _UPDATED))
        run.refill(now)
        if len(ends) == warm_up and len(taken) == 1:
            taken.append(len(run.passed))
            run.busy_seconds = run.busy_requests = 0.0
    span = ends[-1] - ends[warm_up - 1]
    idle = waited_at[warm_up + steps] - waited_at[warm_up]
    return Asynchronous(
        span / steps, idle / span, float(np.mean(run.passed[taken[1] :])), max(run.ages[warm_up * batch :]),
        run.busy_requests / run.busy_seconds,
    )  # fmt: skip


class _Run:
    """Engines, samples and the version of the weights of an asynchronous run."""

    def __init__(self, rollout: Rollout, lengths: Iterator[int], batch: int, bound: int) -> None:
        self.rollout, self.lengths, self.bound = rollout, lengths, bound
        self.replicas = [_Replica() for _ in range(rollout.replicas)]
        self.events: list[tuple[float, int]] = []
        #: Versions that the samples of the queue were begun with, and those that passed while each was written.
        self.queue: list[int] = []
        self.passed: list[int] = []
        self.ages: list[int] = []
        self.in_flight = self.version = 0
        self.training, self.idle_since, self.paused_until = False, 0.0, 0.0
        self.busy_seconds = self.busy_requests = 0.0

    def refill(self, now: float) -> None:
        """Hand new requests to engines with a free slot, the least loaded first."""
        while self.in_flight + len(self.queue) < self.bound:
            index = min(range(len(self.replicas)), key=lambda index: self.replicas[index].load)
            replica = self.replicas[index]
            if replica.load >= self.rollout.slots:
                return
            replica.waiting += 1
            self.in_flight += 1
            if replica.asleep:
                replica.asleep = False
                heapq.heappush(self.events, (max(now, self.paused_until), index))

    def advance(self, index: int, now: float) -> None:
        """End a step of an engine and begin its next."""
        replica = self.replicas[index]
        for started in replica.finish():
            self.queue.append(started)
            self.passed.append(self.version - started)
            self.in_flight -= 1
        self.refill(now)
        joined = replica.waiting
        for _ in range(joined):
            replica.join(next(self.lengths), self.rollout.prompt, self.version)
        if not replica.count:
            replica.asleep = True
            return
        seconds = float(self.rollout.times(np.array([float(replica.count)]), np.array([replica.cached]))[0])
        seconds += joined * self.rollout.prompt_seconds
        self.busy_seconds += seconds
        self.busy_requests += seconds * replica.count
        replica.step()
        heapq.heappush(self.events, (now + seconds, index))


class _Replica:
    """Requests of one engine, by the step that they end at."""

    def __init__(self) -> None:
        self.now = self.count = self.waiting = 0
        self.cached, self.asleep = 0.0, True
        self._ends: list[tuple[int, int, int]] = []

    @property
    def load(self) -> int:
        """Requests that run or are about to."""
        return self.count + self.waiting

    def join(self, length: int, prompt: int, version: int) -> None:
        """Begin a response."""
        heapq.heappush(self._ends, (self.now + length, prompt + length, version))
        self.count, self.cached, self.waiting = self.count + 1, self.cached + prompt, self.waiting - 1

    def step(self) -> None:
        """Write a token of every response."""
        self.now += 1
        self.cached += self.count

    def finish(self) -> list[int]:
        """Versions that the responses which end here were begun with."""
        done = []
        while self._ends and self._ends[0][0] <= self.now:
            _, held, version = heapq.heappop(self._ends)
            done.append(version)
            self.count, self.cached = self.count - 1, self.cached - held
        return done
