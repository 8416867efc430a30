"""The settings on which the closed forms are compared with the simulation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from simulated.continuous_batching import Deployment, Trace, simulate

#: Llama-3-8B on an H100, prompts of 2048 tokens: the tutorial's deployment.
TUTORIAL = Deployment(prefill=0.0491, weights=16.06 / 3350, kv=0.1342 / 3350, tokens=64, slots=16, tax=0.00032)
#: Its target: 99% of the requests within so many seconds at so many requests per second.
TUTORIAL_TARGET, TUTORIAL_RATE = 2.0, 20.0

#: Short prompts and long answers: the prefill is a twentieth of the service.
DECODE = replace(TUTORIAL, prefill=0.005, tokens=256)
#: Long prompts: four fifths of the service.
PREFILL = replace(TUTORIAL, prefill=0.1, kv=0.2684 / 3350)
#: The slots, not the replica's time, are scarce.
FEW_SLOTS = replace(TUTORIAL, slots=4)
MANY_SLOTS = replace(TUTORIAL, tokens=256, slots=64)
#: At a full batch the KV cache takes five times as long to read as the weights.
LONG_CONTEXT = replace(TUTORIAL, prefill=0.02, kv=0.0004, tokens=128, slots=64)
#: Mixtral 8x7B in 8 bit and Qwen3 30B-A3B on an H200: experts are most of the weights.
FEW_EXPERTS = replace(TUTORIAL, prefill=0.02, weights=0.0003, routed=0.0094, experts=8, top_k=2, tokens=128, slots=32)
MANY_EXPERTS = replace(FEW_EXPERTS, routed=0.0061, experts=128, top_k=8, tax=0.00048, slots=64)

#: How many requests hold the sampling error of the P99 near one percent, by load; twice as many above cv 1.
REQUESTS = {0.1: 40_000, 0.3: 40_000, 0.5: 40_000, 0.7: 60_000, 0.85: 90_000, 0.95: 180_000}


@dataclass(frozen=True)
class Setting:
    """A deployment at a share of its capacity, and how long to simulate it."""

    name: str
    deployment: Deployment
    load: float
    seeds: tuple[int, ...] = (1, 2, 3)

    @property
    def service(self) -> float:
        """Seconds of one replica a request takes: its prefill and its share of full decode steps."""
        one = self.deployment
        return one.prefill + one.tokens * one.step(one.slots) / one.slots

    @property
    def rate(self) -> float:
        """Arrivals per second."""
        return self.load * self.deployment.replicas / self.service

    @property
    def requests(self) -> int:
        """Requests to simulate per seed."""
        nearest = min(REQUESTS, key=lambda load: abs(load - self.load))
        return REQUESTS[nearest] * (2 if self.deployment.cv > 1 else 1)

    def traces(self) -> list[Trace]:
        """One run per seed."""
        return [simulate(self.deployment, self.rate, self.requests, seed) for seed in self.seeds]

    def p99(self) -> tuple[float, float]:
        """P99 of the sojourn over all seeds, and twice its standard error."""
        values = np.array([trace.p99() for trace in self.traces()])
        return float(values.mean()), float(2 * values.std(ddof=1) / np.sqrt(len(values)))


def _settings(name: str, deployment: Deployment, *points: tuple[int, float, float]) -> list[Setting]:
    return [
        Setting(f"{name} c={replicas} cv={cv} load={load}", replace(deployment, replicas=replicas, cv=cv), load)
        for replicas, cv, load in points
    ]


#: The tutorial's question: two replicas at 20 requests per second.
TUTORIAL_SETTING = Setting(
    "tutorial at 20 QPS on two replicas",
    replace(TUTORIAL, replicas=2),
    TUTORIAL_RATE / 2 * (TUTORIAL.prefill + TUTORIAL.tokens * TUTORIAL.step(TUTORIAL.slots) / TUTORIAL.slots),
)

SETTINGS = (
    TUTORIAL_SETTING,
    *_settings("tutorial", TUTORIAL, (1, 0, 0.3), (4, 0, 0.85), (1, 1, 0.1), (1, 0.5, 0.7), (8, 0.5, 0.95)),
    *_settings("tutorial", TUTORIAL, (2, 1, 0.85), (32, 1, 0.95), (4, 2, 0.5), (8, 2, 0.7)),
    *_settings("decode", DECODE, (1, 0, 0.1), (8, 0, 0.85), (2, 0.5, 0.7), (1, 1, 0.5), (8, 1, 0.95)),
    *_settings("decode", DECODE, (4, 2, 0.3), (32, 2, 0.7)),
    *_settings("few slots", FEW_SLOTS, (8, 0, 0.7), (1, 0.5, 0.3), (32, 0.5, 0.95), (4, 1, 0.85), (2, 2, 0.5)),
    *_settings("many slots", MANY_SLOTS, (8, 0, 0.3), (1, 0.5, 0.5), (32, 0.5, 0.95), (2, 1, 0.85), (4, 2, 0.7)),
    *_settings("long context", LONG_CONTEXT, (1, 0, 0.5), (4, 0.5, 0.85), (32, 1, 0.1), (1, 1, 0.7), (2, 2, 0.3)),
    *_settings("few experts", FEW_EXPERTS, (1, 0, 0.1), (2, 1, 0.5), (8, 0.5, 0.85)),
    *_settings("many experts", MANY_EXPERTS, (1, 0, 0.1), (4, 1, 0.3), (2, 0.5, 0.7), (8, 1, 0.95)),
    *_settings("prefill", PREFILL, (4, 0, 0.5), (1, 0.5, 0.3), (8, 0.5, 0.7), (2, 1, 0.5), (8, 1, 0.95), (32, 2, 0.85)),
)
