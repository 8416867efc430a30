"""The rules of the engines once more, token by token: slow, without sums that are carried along, to compare with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from simulated.serving.iteration_time import IterationTime, seconds
from simulated.serving.load import Load


@dataclass(eq=False)
class Request:
    """A request and what has become of it."""

    number: int
    prompt: int
    answer: int
    cached: int
    arrival: float = math.inf
    computed: int = 0
    """Tokens of the prompt, and of an answer before a preemption, that are computed."""
    made: int = 0
    """Tokens of the answer."""
    wanted: int = 0
    """Tokens to compute before the next one is made."""
    decodes: bool = False
    tokens: list[float] = field(default_factory=list)
    """Times of the tokens of the answer."""

    def hold(self) -> None:
        """Be let in, with what is cached."""
        self.computed, self.wanted, self.decodes = self.cached, self.prompt + self.made, False

    @property
    def held(self) -> int:
        """Tokens whose keys and values it takes, or will when its prompt is done."""
        return self.prompt + self.made if self.decodes else self.wanted + 1

    def give(self, now: float) -> None:
        """Make a token."""
        self.made += 1
        self.decodes = True
        self.tokens.append(now)


def _requests(load: Load) -> list[Request]:
    numbers = zip(count(), load.prompt.tolist(), load.answer.tolist(), load.cached.tolist(), strict=False)
    made = [Request(*one) for one in numbers]
    for request, time in zip(made, load.arrival.tolist(), strict=True):
        if not load.in_flight or request.number < load.in_flight:
            request.arrival = time
    return made


def _finish(all_of_them: list[Request], load: Load, now: float) -> None:
    """In a closed loop the next request comes."""
    if load.in_flight:
        later = [request for request in all_of_them if request.arrival == math.inf]
        if later:
            later[0].arrival = now


def serve(engine: Any, load: Load) -> list[Request]:
    """Serve by one engine, without drafts."""
    everyone = _requests(load)
    inside: list[Request] = []
    done: set[int] = set()
    now = 0.0
    while len(done) < len(everyone):
        queue = [one for one in everyone if one.arrival <= now and one not in inside and one.number not in done]
        if not inside and not queue:
            now = min(one.arrival for one in everyone if one.number not in done)
            continue
        while sum(one.held for one in inside) > engine.kv_tokens:
            youngest = inside.pop()
            queue.insert(0, youngest)
        decoding = [one for one in inside if one.decodes]
        room = engine.budget - len(decoding) if engine.budget is not None else math.inf
        pieces: list[tuple[Request, int]] = []
        cut = [one for one in inside if not one.decodes]
        while room > 0:
            if cut:
                one = cut.pop()
            else:
                held = sum(one.held for one in inside)
                allowed = engine.kv_tokens * (1 - engine.watermark)
                if not queue or len(inside) >= engine.slots:
                    break
                if inside and held + queue[0].prompt + queue[0].made + 1 > allowed:
                    break
                one = queue.pop(0)
                one.hold()
                inside.append(one)
            piece = int(min(room, one.wanted - one.computed))
            pieces.append((one, piece))
            room -= piece
            if engine.budget is None:
                break
        if engine.budget is None and pieces:
            decoding = []
        context = sum(one.prompt + one.made for one in decoding)
        pairs = sum(_pairs(one.computed, piece) for one, piece in pieces)
        tokens = len(decoding) + sum(piece for _, piece in pieces)
        ready = [one for one, piece in pieces if one.computed + piece == one.wanted]
        now += seconds(engine.times, tokens, len(decoding) + len(ready), float(context), float(pairs))
        for one, piece in pieces:
            one.computed += piece
        for one in decoding + ready:
            one.give(now)
            if one.made == one.answer:
                inside.remove(one)
                done.add(one.number)
                _finish(everyone, load, now)
    return everyone


def _pairs(known: int, piece: int) -> float:
    return ((known + piece) ** 2 - known**2) / 2


@dataclass(eq=False)
class Worker:
    """A decode worker: those sent to it, those in its step, and when that ends."""

    sent: list[Request] = field(default_factory=list)
    step: list[Request] = field(default_factory=list)
    until: float = math.inf

    def begin(self, now: float, slots: int, times: IterationTime) -> None:
        """Begin a step with the first requests there are slots for."""
        self.step, self.until = self.sent[:slots], math.inf
        if self.step:
            context = float(sum(one.prompt + one.made for one in self.step))
            self.until = now + seconds(times, len(self.step), len(self.step), context, 0.0)


def serve_pools(pools: Any, load: Load) -> list[Request]:
    """Serve by pools, without drafts."""
    everyone = _requests(load)
    waiting = list(everyone)
    prefills: list[tuple[float, Request]] = []
    free = [0.0] * pools.links
    moving: list[tuple[float, int, Request]] = []
    workers = [Worker() for _ in range(pools.decode_workers)]
    now = 0.0
    while any(one.made < one.answer for one in everyone):
        while waiting and waiting[0].arrival <= now and len(prefills) < pools.prefill_workers:
            one = waiting.pop(0)
            new = one.prompt - one.cached
            time = seconds(pools.prefill_times, new, 1, 0.0, _pairs(one.cached, new))
            prefills.append((now + time, one))
        events = [time for time, _ in prefills] + [time for time, _, _ in moving] + [one.until for one in workers]
        if waiting and len(prefills) < pools.prefill_workers:
            events.append(waiting[0].arrival)
        now = min(events)
        for event in [event for event in prefills if event[0] == now]:
            prefills.remove(event)
            one = event[1]
            one.give(now)
            if one.answer == 1:
                _finish(everyone, load, now)
                continue
            link = free.index(min(free))
            free[link] = max(now, free[link]) + one.prompt * pools.bytes_per_token / pools.bandwidth
            moving.append((free[link] + pools.latency, link, one))
        for event in sorted((event for event in moving if event[0] == now), key=lambda event: event[1]):
            moving.remove(event)
            least = min(workers, key=lambda worker: len(worker.sent))
            least.sent.append(event[2])
            if least.until == math.inf:
                least.begin(now, pools.slots, pools.decode_times)
        for worker in workers:
            if worker.until == now:
                for one in worker.step:
                    one.give(now)
                    if one.made == one.answer:
                        worker.sent.remove(one)
                        _finish(everyone, load, now)
                worker.begin(now, pools.slots, pools.decode_times)
    return everyone
