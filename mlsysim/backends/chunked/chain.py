"""Markov chain of the prompt tokens that wait when an iteration begins, given how many requests decode."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mlsysim.backends.chunked.fourier import Array, Spectrum, length_of, spectrum, values
from mlsysim.backends.chunked.lattice import Lattice, Prompts, chosen, work
from mlsysim.backends.chunked.load import IterationTime, Load
from mlsysim.backends.chunked.moves import CHANGE, Expansion, Moves
from mlsysim.backends.chunked.transitions import Transitions

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
    """Iteration that leaves prompt tokens waiting.

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
        Tokens beyond which hardly any wait; infinite if a budget may be full.
    first_free : float
        Tokens for prompts beside as many requests as decode on average.
    """

    batch: float
    free: float
    time: float
    busy: float
    backlog: float
    enough: float
    first_free: float


def full(
    load: Load, batch: float, enough: float | None = None, times: tuple[IterationTime, IterationTime] | None = None
) -> Full:
    """Iteration that leaves prompt tokens waiting; more requests decode in it than on average.

    Parameters
    ----------
    load : Load
        Requests that arrive.
    batch : float
        Requests that decode on average.
    enough : float, optional
        Tokens beyond which hardly any wait, if known.
    times : tuple of callable, optional
        The time of an iteration near these requests, and near those that decode in a full one.
    """
    at_first, at_last = times or (load.tau, load.tau)
    enough = _enough(load, batch) if enough is None else enough
    first_free = free = min(load.free(batch), enough)
    busy = min(load.request_rate * load.isl * float(at_first(batch, free)) / free, FULLEST)
    prompts = max(load.isl / free, 0.5) * (1.0 + load.isl_cv**2) / (2.0 * (1.0 - busy) ** 2)
    backlog = max(1.0, prompts)
    more = busy * (load.full_batch - batch) * backlog / (backlog + load.steps)
    batch, free = batch + more, min(free, load.free(batch + more))
    time = float(at_last(batch, free))
    return Full(batch, free, time, load.request_rate * load.isl * time / free, backlog, enough, first_free)


def _enough(load: Load, batch: float) -> float:
    """Tokens beyond which hardly any wait if every iteration clears all: a larger budget changes nothing."""
    prompt, tokens = load.isl * math.sqrt(1.0 + load.isl_cv**2), load.isl
    far = load.isl * (FAR_FIXED if load.isl_cv == 0 else FAR_RANDOM)
    for _ in range(ROUNDS):
        arriving = load.request_rate * float(load.tau(batch, tokens))
        tokens = load.isl * arriving + FAR_FIXED * prompt * math.sqrt(arriving) + far
        if tokens > load.token_budget:
            return math.inf
    return tokens


@dataclass(frozen=True)
class Chain:
    """Chain for one number of decoding requests.

    Attributes
    ----------
    load : Load
        Requests that arrive.
    lattice : Lattice
        Its steps.
    batch : float
        Requests that decode.
    full : Full
        An iteration that leaves a rest.
    like : Chain, optional
        A chain nearby with the same lattice, so that this chain is a smooth function of its load and batch, and its
        solution follows from the one nearby.
    rows_time : callable, optional
        The time of an iteration, expanded about the chain nearby.
    """

    load: Load
    lattice: Lattice
    batch: float
    full: Full
    like: Chain | None = None
    rows_time: IterationTime | None = None

    @property
    def ends(self) -> bool:
        """True if a backlog comes to an end."""
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
        time = self.rows_time or self.load.tau
        return np.append(np.broadcast_to(time(self.batch, cleared), cleared.shape), self.full.time)

    @cached_property
    def places(self) -> tuple[Array, Array]:
        """Requests and tokens at which times are taken: a full iteration, at first and at last, and every row."""
        full, cleared = self.full, self.step * np.arange(self.lattice.chunk + 1)
        batches = np.full(len(cleared) + 2, self.batch)
        batches[1] = full.batch
        return batches, np.concatenate([[full.first_free, full.free], cleared])

    @cached_property
    def expansion(self) -> Expansion:
        """The time of an iteration near its places."""
        return Expansion.of(self.load.tau, *self.places)

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
    def prompts(self) -> Prompts:
        """Quantities on which the steps of a prompt depend."""
        return Prompts.of(self.load, self.full.free, self.full.time)

    @cached_property
    def work(self) -> Array:
        """Probability of every number of steps that a prompt takes."""
        return work(self.prompts, self.lattice)

    @cached_property
    def transform(self) -> Spectrum:
        """Fourier transform of the work of a prompt, less one."""
        if self.like:
            return self.like.transform + self.moves.longer
        return spectrum(self.work, self.length) - 1.0

    @cached_property
    def work_slopes(self) -> Array:
        """Slopes of the work of a prompt by the quantities it depends on, a row each."""
        here, rows = self.prompts.numbers, []
        for index, value in enumerate(here):
            change, moved = CHANGE * value, here.copy()
            moved[index] += change
            rows.append((work(Prompts(*moved), self.lattice) - self.work) / change if change else 0.0 * self.work)
        return np.array(rows)

    @cached_property
    def longer_slopes(self) -> tuple[Spectrum, Array]:
        """Transforms of these and their means; where prompts are followed those of a step more."""
        if self.load.isl_cv == 0 and self.prompt >= 1.0:
            rows = (shifted(self.work, 1.0, self.stride) - self.work)[None]
        else:
            rows = self.work_slopes
        return spectrum(rows, self.length), rows @ np.arange(self.lattice.states)

    @cached_property
    def longer_by(self) -> Array:
        """Differences of the quantities of the work from those of the chain nearby."""
        like = self.like or self
        return np.array([self.longer]) if self.followed else self.prompts.numbers - like.prompts.numbers

    @property
    def length(self) -> int:
        """Places of the Fourier transforms: twice the states, so that nothing comes round."""
        return length_of(2 * self.lattice.states)

    @cached_property
    def arriving(self) -> Array:
        """Mean prompts that arrive in an iteration, by row."""
        return self.load.request_rate * self.row_times

    @cached_property
    def arrived(self) -> Spectrum:
        """Fourier transforms of the steps that arrive in an iteration, by row."""
        return np.exp(self.arriving[:, None] * self.transform)

    @cached_property
    def laws(self) -> Array:
        """Probability of every number of steps that arrive in an iteration, by row."""
        if self.like:
            return self.like.laws + self.moves.laws
        return np.maximum(values(self.arrived, self.length)[:, : self.lattice.states], 0.0)

    @cached_property
    def transitions(self) -> Transitions:
        """Steps from state to state."""
        return Transitions(self.laws, self.lattice.chunk)

    @cached_property
    def moves(self) -> Moves:
        """Differences of the steps from those of the chain nearby."""
        like = self.like or self
        return Moves(
            like.arrived,
            self.arriving - like.arriving,
            like.transform,
            like.arriving,
            self.longer_by @ like.longer_slopes[0],
            like.transitions,
        )

    @cached_property
    def law(self) -> Array:
        """Stationary probability of every state."""
        if self.like:
            return self.like.law + self.like.transitions.total(self.moves.of(self.like.law))
        return self.transitions.stationary

    def total(self, weights: Array) -> Array:
        """Sum of weights over all steps from now on; the weights add up to zero."""
        if not self.like:
            return self.transitions.total(weights)
        sums = self.like.transitions.total(weights)
        return sums + self.like.transitions.total(self.moves.of(sums))

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
            finished = np.where(clears, 1.0 + self.full.busy * waiting / prompt, self.full.busy * free / prompt)
            finished[0] = 0.0
            return finished
        if self.like:
            return self.like.completed
        slack = min(0.5, self.step / prompt)

        def prompts(tokens: Array) -> Array:
            return np.where(tokens > 0.5 * self.step, np.maximum(1.0, np.ceil(tokens / prompt - slack)), 0.0)

        return prompts(waiting) - np.where(clears, 0.0, prompts(waiting - free))

    @cached_property
    def drawn(self) -> Array:
        """Mean sum of the times of all later iterations beyond their mean, from every state on."""
        gain = self.row_times - self.time
        if not self.like:
            return self.transitions.sums(gain)
        like = self.like
        growth = like.transitions.growth(like.row_times - like.time)
        mean = float(like.work @ np.arange(len(like.work)))
        prompts = self.moves.more * mean + like.arriving * (self.longer_by @ like.longer_slopes[1])
        more = growth * prompts + gain - like.row_times + like.time
        low, high = self.moves.gained(like.drawn - growth * np.arange(like.lattice.states))
        more[:-1] += low
        sums = like.drawn + like.transitions.sums(more, high)
        return sums - self.law @ sums

    @cached_property
    def leaving(self) -> Array:
        """Law of the state whose iteration completes the prompt of a request."""
        weights = self.law * self.completed
        return weights / weights.sum()


def shifted(law: Array, steps: float, stride: int) -> Array:
    """Shift a law up by a small part of a step: its mean and its square grow as they should.

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
    moved, part = law.copy(), 0.5 * steps / stride
    moved[..., stride:] += part * law[..., :-stride]
    moved[..., :-stride] -= part * law[..., stride:]
    return moved


def nearby(like: Chain, load: Load, batch: float, drift: Array | float = 0.0) -> Chain:
    """Chain for nearly the same load and batch, in which nothing jumps.

    Parameters
    ----------
    like : Chain
        The other.
    load : Load
        Requests that arrive.
    batch : float
        Requests that decode.
    drift : ndarray, optional
        Seconds by which iterations at the places of the other chain are longer.
    """
    first, last, rows = like.expansion.near(drift)
    return Chain(load, like.lattice, batch, full(load, batch, like.full.enough, (first, last)), like, rows)


def chain(load: Load, batch: float, most: int, lattice: Lattice | None = None) -> Chain:
    """Chain for a number of decoding requests.

    Parameters
    ----------
    load : Load
        Requests that arrive.
    batch : float
        Requests that decode.
    most : int
        Rows times states of the lattice at most.
    lattice : Lattice, optional
        Its steps; chosen to fit if they are not given.
    """
    when_full = full(load, batch)
    return Chain(load, lattice or chosen(load, when_full.free, when_full.busy, most), batch, when_full)
