"""Discrete-event simulation of inference engines, iteration by iteration.

An iteration takes a time that is given as plain numbers (``serving/iteration_time.py``). An engine either mixes
pieces of prompts with decoding requests, or prefills whole prompts while decoding stops; in pools prompts and
decoding have workers of their own and links between them. Replicas share nothing: with arrivals that are split at
random each is an engine of its own. Nothing here comes from the library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from simulated.serving.engine import Rules, serve
from simulated.serving.iteration_time import IterationTime
from simulated.serving.load import Drafts, Load
from simulated.serving.outcome import COOL_DOWN, WARM_UP, Run, run_of
from simulated.serving.pools import Sizes, serve_pools

#: More than any run needs.
UNLIMITED = 1 << 40
NO_DRAFTS = Drafts()


@dataclass(frozen=True)
class Engine:
    """One engine that prefills and decodes.

    With a token budget an iteration takes a token of every decoding request first, then tokens of prompts, first come
    first served and cut where the budget ends. Without one an iteration is a whole prompt, as soon as a slot is free,
    or else a decode step. Where keys and values no longer fit, the youngest request goes back to the head of the queue
    and is prefilled again with what it had.
    """

    times: IterationTime
    budget: int | None = None
    slots: int = UNLIMITED
    kv_tokens: int = UNLIMITED
    watermark: float = 0.01
    drafts: Drafts = NO_DRAFTS

    def run(self, load: Load, *, warm_up: float = WARM_UP, cool_down: float = COOL_DOWN) -> Run:
        """Serve the requests until the last has left."""
        if (load.prompt + load.answer).max() > self.kv_tokens:
            raise ValueError("the keys and values of a request do not fit")
        rules = Rules(
            self.budget is not None,
            self.budget or 0,
            self.slots,
            self.kv_tokens,
            self.watermark,
            self.drafts.tokens,
            self.drafts.seconds,
        )
        return run_of(load, serve, self.times, rules, warm_up=warm_up, cool_down=cool_down)


@dataclass(frozen=True)
class Pools:
    """Prefill workers that take one prompt each from one queue, links, and decode workers.

    A prompt whose first token is there goes over the link that is free first, then to the decode worker with the fewest
    requests. A worker begins each step with all the requests it has slots for.
    """

    prefill_times: IterationTime
    decode_times: IterationTime
    prefill_workers: int = 1
    decode_workers: int = 1
    slots: int = UNLIMITED
    links: int = 1
    bytes_per_token: float = 0.0
    bandwidth: float = math.inf
    latency: float = 0.0
    drafts: Drafts = NO_DRAFTS

    def run(self, load: Load, *, warm_up: float = WARM_UP, cool_down: float = COOL_DOWN) -> Run:
        """Serve the requests until the last has left."""
        sizes = Sizes(
            self.prefill_workers,
            self.decode_workers,
            self.slots,
            self.links,
            self.bytes_per_token / self.bandwidth,
            self.latency,
            self.drafts.tokens,
            self.drafts.seconds,
        )
        kernel_arguments = (self.prefill_times, self.decode_times, sizes)
        return run_of(load, serve_pools, *kernel_arguments, warm_up=warm_up, cool_down=cool_down)


def saturated_rate(engine: Engine | Pools, load: Load) -> float:
    """Requests finished per second while others always wait: all of them are there at the start."""
    everything = load._replace(arrival=np.zeros(len(load.prompt)), in_flight=0)
    run = engine.run(everything, warm_up=0.2, cool_down=0.3)
    return run.outcome().requests_per_second
