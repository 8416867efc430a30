"""The Markov chain of the prompt tokens that wait when an iteration begins, given how many requests decode."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mlsysim.engine.chunked.fourier import Array, Spectrum, length_of, spectrum, values
from mlsysim.engine.chunked.lattice import Lattice, chosen, work
from mlsysim.engine.chunked.load import Load
from mlsysim.engine.chunked.transitions import Transitions

#: Largest share of the free tokens that arrivals are taken to fill, where the length of a backlog is estimated.
FULLEST = 0.995

#: Share from which on a queue counts as one without end.
ENDLESS = 0.9995
#: Standard deviations and prompts beyond which hardly ever more waits, and rounds in which that amount is found.
FAR_FIXED, FAR_RANDOM, ROUNDS = 6.0, 24.0, 8

#: Part of a prompt over which its growth is followed, where several prompts share an iteration.
STRIDE = 8.0


@dataclass(frozen=True)
class Full:
    """An iteration that leaves a rest.

    Attributes
    ----------
    batch : float
        Requests that decode in it.
    free : float
        Tokens it has for prompts.
    time : float
        Seconds.
    busy : float
        Share of the free tokens that arrivals take.
    backlog : float
        Iterations that a backlog lasts.
    enough : float
        Tokens more than which hardly ever wait; infinite where a budget may be full.
    """

    batch: float
    free: float
    time: float
    busy: float
    backlog: float
    enough: float


def full(load: Load, batch: float, enough: float | None = None) -> Full:
    """An iteration that leaves a rest; more requests decode in it than on average."""
    enough = _enough(load, batch) if enough is None else enough
    free = min(load.free(batch), enough)
    busy = min(load.request_rate * load.isl * float(load.tau(batch, free)) / free, FULLEST)
    prompts = max(load.isl / free, 0.5) * (1.0 + load.isl_cv**2) / (2.0 * (1.0 - busy) ** 2)
    backlog = max(1.0, prompts)
    more = busy * (load.full_batch - batch) * backlog / (backlog + load.steps)
    batch, free = batch + more, min(free, load.free(batch + more))
    time = float(load.tau(batch, free))
    return Full(batch, free, time, load.request_rate * load.isl * time / free, backlog, enough)


def _enough(load: Load, batch: float) -> float:
    """Tokens more than which hardly ever wait where every iteration clears all: a larger budget changes nothing."""
    prompt, found = load.isl * math.sqrt(1.0 + load.isl_cv**2), load.isl
    far = load.isl * (FAR_FIXED if load.isl_cv == 0 else FAR_RANDOM)
    for _ in range(ROUNDS):
        arriving = load.request_rate * float(load.tau(batch, found))
        found = load.isl * arriving + FAR_FIXED * prompt * math.sqrt(arriving) + far
        if found > load.token_budget:
            return math.inf
    return found


@dataclass(frozen=True)
class Chain:
    """The chain for one number of decoding requests.

    Attributes
    ----------
    load : Load
        What arrives.
    lattice : Lattice
        Its steps.
    batch : float
        Requests that decode.
    full : Full
        An iteration that leaves a rest.
    like : Chain, optional
        A chain nearby. What jumps is as there: this chain is a smooth function of its load and its batch.
    """

    load: Load
    lattice: Lattice
    batch: float
    full: Full
    like: Chain | None = None

    @property
    def ends(self) -> bool:
        """Whether a backlog comes to an end."""
        return self.full.busy < ENDLESS

    @cached_property
    def step(self) -> float:
        """Tokens of a step of the lattice."""
        return self.full.free / self.lattice.chunk

    @cached_property
    def waiting(self) -> Array:
        """Tokens that wait, by state."""
        return self.step * np.arange(self.lattice.states)

    @cached_property
    def row_times(self) -> Array:
        """Seconds of an iteration that clears 0, 1, ... steps, and last of one that leaves a rest."""
        cleared = self.step * np.arange(self.lattice.chunk + 1)
        return np.append(np.broadcast_to(self.load.tau(self.batch, cleared), cleared.shape), self.full.time)

    @cached_property
    def rows(self) -> Array:
        """Row of every state: the steps it clears, or the last where it leaves a rest."""
        return np.minimum(np.arange(self.lattice.states), self.lattice.chunk + 1)

    @cached_property
    def times(self) -> Array:
        """Seconds of an iteration, by state."""
        return self.row_times[self.rows]

    @cached_property
    def prompt(self) -> float:
        """Steps of the mean prompt."""
        return self.load.isl / self.step

    @cached_property
    def followed(self) -> Chain | None:
        """The chain this one is like, where all prompts have one length of at least a step."""
        return self.like if self.like and self.load.isl_cv == 0 and self.like.prompt >= 1.0 else None

    @cached_property
    def longer(self) -> float:
        """Steps by which a prompt is longer than in the chain that is followed."""
        return self.prompt - self.followed.prompt if self.followed else 0.0

    @property
    def stride(self) -> int:
        """Steps over which a prompt that grows is followed: a chunk, where it has several, evens out roundings."""
        prompt = (self.like or self).prompt
        return self.lattice.chunk if prompt >= self.lattice.chunk else max(1, round(prompt / STRIDE))

    @cached_property
    def work(self) -> Array:
        """Probability of every number of steps that a prompt takes."""
        if self.followed:
            return shifted(self.followed.work, self.longer, self.stride)
        return work(self.load, self.lattice, self.full.free, self.full.time)

    @cached_property
    def transform(self) -> Spectrum:
        """Fourier transform of the work of a prompt, less one."""
        return spectrum(self.work, self.length) - 1.0

    @property
    def length(self) -> int:
        """Places of the Fourier transforms: twice the states, so that nothing comes round."""
        return length_of(2 * self.lattice.states)

    @cached_property
    def transitions(self) -> Transitions:
        """Steps from state to state."""
        laws = values(np.exp(self.load.request_rate * self.row_times[:, None] * self.transform), self.length)
        laws = laws[:, : self.lattice.states]
        return Transitions(laws if self.like else np.maximum(laws, 0.0), self.lattice.chunk)

    @property
    def law(self) -> Array:
        """Stationary probability of every state."""
        return self.transitions.stationary

    @cached_property
    def time(self) -> float:
        """Mean seconds of an iteration."""
        return float(self.law @ self.times)

    @cached_property
    def rest(self) -> float:
        """Share of the iterations that leave a rest."""
        return float(self.law[self.lattice.chunk + 1 :].sum())

    @cached_property
    def beyond(self) -> float:
        """Probability of the last 20 states: the lattice is long enough where it is small."""
        return float(self.law[-20:].sum())

    @cached_property
    def completed(self) -> Array:
        """Prompts that an iteration completes, by state, up to a factor."""
        waiting, prompt, free = self.waiting, self.load.isl, self.full.free
        clears = waiting <= free * (1.0 + 1e-12)
        if self.load.isl_cv:
            found = np.where(clears, 1.0 + self.full.busy * waiting / prompt, self.full.busy * free / prompt)
            found[0] = 0.0
            return found
        if self.like:
            return self.like.completed
        slack = min(0.5, self.step / prompt)

        def prompts(tokens: Array) -> Array:
            return np.where(tokens > 0.5 * self.step, np.maximum(1.0, np.ceil(tokens / prompt - slack)), 0.0)

        return prompts(waiting) - np.where(clears, 0.0, prompts(waiting - free))

    @cached_property
    def drawn(self) -> Array:
        """Mean sum of the times of all later iterations beyond their mean, from every state on."""
        return self.transitions.sums(self.row_times - self.time)

    @cached_property
    def leaving(self) -> Array:
        """Law of the state whose iteration completes the prompt of a request."""
        found = self.law * self.completed
        return found / found.sum()


def shifted(law: Array, steps: float, stride: int) -> Array:
    """A law a small part of a step further up: its mean and its square grow as they should.

    What lies below the first place is lost.

    Parameters
    ----------
    law : ndarray
        Along the last axis.
    steps : float
        How far.
    stride : int
        Steps up and down over which the difference is taken.
    """
    found, part = law.copy(), 0.5 * steps / stride
    found[..., stride:] += part * law[..., :-stride]
    found[..., :-stride] -= part * law[..., stride:]
    return found


def nearby(like: Chain, load: Load, batch: float) -> Chain:
    """A chain for nearly the same load and batch, in which nothing jumps."""
    return Chain(load, like.lattice, batch, full(load, batch, like.full.enough), like)


def chain(load: Load, batch: float, most: int, lattice: Lattice | None = None) -> Chain:
    """The chain for a number of decoding requests.

    Parameters
    ----------
    load : Load
        What arrives.
    batch : float
        Requests that decode.
    most : int
        Rows times states of the lattice at most.
    lattice : Lattice, optional
        Its steps; chosen to fit if they are not given.
    """
    when_full = full(load, batch)
    return Chain(load, lattice or chosen(load, when_full.free, when_full.busy, most), batch, when_full)
