"""Discrete-event simulation of continuous batching on identical replicas.

Each replica holds at most ``slots`` requests and does one thing at a time: it prefills the requests
it was given first, one by one and whole, and otherwise makes one decode step for all that are
running. Arrivals are Poisson; each goes to the replica with the fewest requests, or waits in one
first-come first-served queue for the next free slot. The size of a request scales its prompt and
its output together and is gamma distributed with mean one.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray


@dataclass(frozen=True)
class Deployment:
    """Identical replicas and the requests sent to them; times in seconds."""

    prefill: float
    """Prefill of a request of size one."""
    weights: float
    """Reading the weights, once per decode step."""
    kv: float
    """Reading the KV cache of one request, once per decode step."""
    tokens: float
    """Decode steps of a request of size one; prefill gives one more token."""
    slots: int
    """Requests one replica holds at once."""
    replicas: int = 1
    cv: float = 0.0
    """Coefficient of variation of the request size; at zero all are alike."""
    compute: float = 0.0
    """Arithmetic of one request in a decode step, which overlaps with the reads."""
    tax: float = 0.0
    """Fixed time per decode step."""
    routed: float = 0.0
    """Reading all routed experts, of which a step reads those its tokens go to."""
    experts: int = 1
    top_k: int = 1

    def step(self, running: int) -> float:
        """Seconds one decode step takes with so many requests running."""
        gone_to = 1 - (1 - self.top_k / self.experts) ** running
        return max(self.weights + self.routed * gone_to + self.kv * running, self.compute * running) + self.tax

    def sizes(self, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the sizes of so many requests."""
        return rng.gamma(self.cv**-2, self.cv**2, count) if self.cv else np.ones(count)


@dataclass(frozen=True)
class Trace:
    """Times of every request, in order of arrival."""

    arrival: NDArray[np.float64]
    admitted: NDArray[np.float64]
    """When the request got its slot."""
    leave: NDArray[np.float64]

    def sojourns(self, warmup: float = 0.1) -> NDArray[np.float64]:
        """Seconds from arrival to last token, without the first requests."""
        return (self.leave - self.arrival)[int(warmup * len(self.arrival)) :]

    def p99(self, warmup: float = 0.1) -> float:
        """Sojourn 99% of the requests stay below."""
        return float(np.quantile(self.sojourns(warmup), 0.99))

    def drift(self) -> float:
        """Growth of the slot wait per second of arrivals: near zero where the queue is stable."""
        late = slice(len(self.arrival) // 5, None)
        arrival, wait = self.arrival[late], (self.admitted - self.arrival)[late]
        return float(np.polyfit(arrival - arrival.mean(), wait, 1)[0])


class Replica:
    """One server that prefills first and decodes in steps otherwise."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.requests = 0
        self.prompts: deque[int] = deque()
        # Decode steps so far, and per running request the step of its last token.
        self.steps = 0
        self.running: list[tuple[int, int]] = []
        self.breakable = False
        self.process = simulation.env.process(self.serve())

    def admit(self, request: int) -> None:
        """Give the request a slot; a run of decode steps ends at its next step."""
        self.simulation.admitted[request] = self.simulation.env.now
        self.requests += 1
        self.prompts.append(request)
        if self.breakable:
            self.breakable = False
            self.process.interrupt()

    def serve(self) -> Generator[simpy.Event, Any, None]:
        """Prefill, decode or idle, for ever."""
        env, deployment = self.simulation.env, self.simulation.deployment
        while True:
            if self.prompts:
                request = self.prompts.popleft()
                yield env.timeout(self.simulation.prefills[request])
                heapq.heappush(self.running, (self.steps + self.simulation.outputs[request], request))
            elif self.running:
                yield from self.decode(env, deployment.step(len(self.running)))
            else:
                yield from self.pause(env.event())

    def decode(self, env: simpy.Environment, step: float) -> Generator[simpy.Event, Any, None]:
        """Decode up to the next last token, or to the end of the step a request arrives in."""
        begun, steps = env.now, self.running[0][0] - self.steps
        if (yield from self.pause(env.timeout(steps * step))):
            steps = min(steps, max(1, int(np.ceil((env.now - begun) / step))))
            yield env.timeout(max(0.0, begun + steps * step - env.now))
        self.steps += steps
        while self.running and self.running[0][0] <= self.steps:
            self.requests -= 1
            self.simulation.finish(heapq.heappop(self.running)[1], self)

    def pause(self, event: simpy.Event) -> Generator[simpy.Event, Any, bool]:
        """Wait for the event; whether an admitted request came first."""
        self.breakable = True
        try:
            yield event
        except simpy.Interrupt:
            return True
        finally:
            self.breakable = False
        return False


class Simulation:
    """A dispatcher, its queue and its replicas."""

    def __init__(self, deployment: Deployment, arrival: list[float], sizes: NDArray[np.float64]) -> None:
        self.env = simpy.Environment()
        self.deployment = deployment
        self.arrival = arrival
        self.prefills: list[float] = (sizes * deployment.prefill).tolist()
        self.outputs: list[int] = np.maximum(1, np.rint(sizes * deployment.tokens)).astype(int).tolist()
        self.admitted = [0.0] * len(arrival)
        self.leave = [0.0] * len(arrival)
        self.left = len(arrival)
        self.done = self.env.event()
        self.queue: deque[int] = deque()
        self.replicas = [Replica(self) for _ in range(deployment.replicas)]

    def run(self) -> Trace:
        """Simulate until the last request has left."""
        self.env.process(self.dispatch())
        self.env.run(self.done)
        return Trace(np.array(self.arrival), np.array(self.admitted), np.array(self.leave))

    def dispatch(self) -> Generator[simpy.Event, Any, None]:
        """Send each arrival to the replica with the fewest requests, or to the queue."""
        for request, time in enumerate(self.arrival):
            if time > self.env.now:
                yield self.env.timeout(time - self.env.now)
            replica = min(self.replicas, key=lambda one: one.requests)
            if replica.requests < self.deployment.slots:
                replica.admit(request)
            else:
                self.queue.append(request)

    def finish(self, request: int, replica: Replica) -> None:
        """Note the time and give the freed slot to the head of the queue."""
        self.leave[request] = self.env.now
        self.left -= 1
        if self.queue:
            replica.admit(self.queue.popleft())
        if not self.left:
            self.done.succeed()


def simulate(deployment: Deployment, rate: float, requests: int, seed: int) -> Trace:
    """Serve Poisson arrivals of so many requests per second."""
    rng = np.random.default_rng(seed)
    arrival = np.cumsum(rng.exponential(1.0 / rate, requests))
    return Simulation(deployment, arrival.tolist(), deployment.sizes(requests, rng)).run()


def simulate_capacity(deployment: Deployment, requests: int, seed: int) -> float:
    """Requests one replica completes per second while others always wait for its slots."""
    rng = np.random.default_rng(seed)
    sizes = deployment.sizes(requests, rng)
    trace = Simulation(replace(deployment, replicas=1), [0.0] * requests, sizes).run()
    leave = np.sort(trace.leave)
    first, last = int(0.05 * requests), int(0.9 * requests)
    return float((last - first) / (leave[last] - leave[first]))
