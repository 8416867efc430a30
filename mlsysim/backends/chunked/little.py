"""Number of requests that decode: the root of Little's law."""

from __future__ import annotations

from collections.abc import Callable

from mlsysim.backends.chunked.chain import Chain, chain
from mlsysim.backends.chunked.lengths import answers
from mlsysim.backends.chunked.load import Load
from mlsysim.backends.chunked.stay import STEPS, mean_extra

#: Rows times states of the chains with which the root is looked for, and of the one at which it is settled.
COARSE, FINE = 4_000, 15_000
#: Steps that the former take one by one.
FEW = 12
#: The root is found where Little's law misses it by this share, and is near by this one.
MISSED, NEAR = 1e-6, 1e-4
#: Slope of what is missed beyond which a secant is not trusted.
FLATTEST = -1e-3
#: Chains that are looked at for it at most.
TRIES = 30


def decoding(at: Chain, steps: int = STEPS) -> float:
    """Mean number of requests that decode, by Little's law."""
    load = at.load
    lengths, weights = answers(load)
    extra = mean_extra(at, steps).after(lengths)
    return load.request_rate * (load.steps * at.time + float(weights @ extra))


def settled(load: Load) -> Chain:
    """Chain at one request more than decode on average: a request sees itself."""
    near, slope = _root(lambda batch: chain(load, batch, COARSE), load, _fluid(load), NEAR, FEW)
    lattice = chain(load, near.batch, FINE).lattice
    return _root(lambda batch: chain(load, batch, FINE, lattice), load, near.batch, MISSED, STEPS, slope)[0]


def _fluid(load: Load) -> float:
    """A first guess: every iteration takes the prompts that arrive in one."""
    batch, time = 1.0, 0.0
    for _ in range(20):
        share = load.request_rate * load.isl * time
        time = float(load.tau(batch, min(share, load.free(batch))))
        batch = 1.0 + min(load.request_rate * load.steps * time, load.full_batch * 0.98)
    return batch


def _root(
    at: Callable[[float], Chain], load: Load, guess: float, missed: float, steps: int, slope: float = -0.5
) -> tuple[Chain, float]:
    """Secant within brackets: the chain at the root, and the slope there of what Little's law misses."""
    low, high = 1.0, load.full_batch + 1.0
    batch, last = min(max(guess, low), high), None
    candidate = at(batch)
    for _ in range(TRIES):
        if not candidate.ends:
            high, last = batch, None
            batch = (low + high) / 2.0
            candidate = at(batch)
            continue
        miss = decoding(candidate, steps) + 1.0 - batch
        if last is not None:
            change = (miss - last[1]) / (batch - last[0])
            slope = change if change < FLATTEST else slope
        if abs(miss) <= missed * batch or high - low <= missed * missed * high:
            break
        low, high = (batch, high) if miss > 0 else (low, batch)
        last = batch, miss
        batch -= miss / slope
        if not low < batch < high:
            batch = (low + high) / 2.0
        candidate = at(batch)
    return candidate, slope
