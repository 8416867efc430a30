"""Loads: the requests of a run, drawn or from a trace."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mlsysim.catalog import Trace
from mlsysim.errors import CatalogError, InputError
from mlsysim.simulation.engine import Requests


class Load(NamedTuple):
    """Requests in the order they are sent; a turn of a session follows the one before it."""

    arrival: Any
    """Seconds from the start; zero if other requests determine when this one is sent."""
    prompt: Any
    answer: Any
    pace: Any
    """Tokens per decode step."""
    rank: Any
    """Rank of the priority; the lowest goes first."""
    next: Any
    """Index of the next turn of the session, else -1."""
    session: Any
    """Index of the session, -1 for a single request."""


def lengths(mean: float, cv: float, count: int, rng: np.random.Generator) -> Any:
    """Draw log-normal lengths, as whole numbers of at least one; constant if the coefficient of variation is zero."""
    if not cv:
        return np.full(count, max(1, round(mean)), np.int64)
    variance = np.log1p(cv**2)
    drawn = rng.lognormal(np.log(mean) - variance / 2, np.sqrt(variance), count)
    return np.maximum(1, np.rint(drawn)).astype(np.int64)


def arrivals(rate: float, burstiness: float, count: int, rng: np.random.Generator) -> Any:
    """Draw arrival times with gamma distributed gaps: a Poisson process if the shape is one."""
    return np.cumsum(rng.gamma(burstiness, 1 / (rate * burstiness), count))


def drawn(
    count: int,
    turns: int,
    mean: tuple[float, float],
    cv: tuple[float, float],
    rate: float,
    burstiness: float,
    seed: int,
) -> Load:
    """Draw requests, in sessions whose prompts contain all tokens of the turns before.

    Parameters
    ----------
    count, turns : int
        Number of requests, and turns per session.
    mean, cv : tuple of float
        Mean and coefficient of variation of the tokens of a prompt (or what a turn adds to it) and of an answer.
    rate, burstiness : float
        Requests per second, or 0 in a closed loop, and shape of the gaps between sessions.
    seed : int
        Seed of the random numbers.
    """
    rng = np.random.default_rng(seed)
    prompt, answer = (lengths(mean[kind], cv[kind], count, rng) for kind in (0, 1))
    sessions = -(-count // turns)
    starts = arrivals(rate / turns, burstiness, sessions, rng) if rate else np.zeros(sessions)
    session, turn = np.divmod(np.arange(count), turns)
    follows = np.where((turn < turns - 1) & (np.arange(count) < count - 1), np.arange(count) + 1, -1)
    for turn_index in range(1, turns):
        later = np.flatnonzero(turn == turn_index)
        prompt[later] += prompt[later - 1] + answer[later - 1]
    arrival = np.where(turn == 0, starts[session], 0.0)
    session = session if turns > 1 else np.full(count, -1)
    return Load(arrival, prompt, answer, np.ones(count), np.zeros(count, np.int64), follows, session)


def of_trace(trace: Trace, rate: float, burstiness: float, seed: int) -> Load:
    """Read the requests of a trace in order of arrival; without times they arrive at a rate, or follow each other."""
    count = len(trace.prompts)
    if trace.times:
        times = np.array(trace.times)
        order = np.argsort(times, kind="stable")
        arrival = (times - times.min())[order] * trace.seconds
    else:
        order = np.arange(count)
        arrival = arrivals(rate, burstiness, count, np.random.default_rng(seed)) if rate else np.zeros(count)
    prompt, answer = (np.array(counts, np.int64)[order] for counts in (trace.prompts, trace.answers))
    follows, session = np.full(count, -1), np.full(count, -1)
    if trace.sessions:
        last: dict[str, int] = {}
        for position, row in enumerate(order):
            name = trace.sessions[row]
            if name and name in last:
                follows[last[name]] = position
            if name:
                last[name] = position
        names = {name: session_index for session_index, name in enumerate(dict.fromkeys(trace.sessions))}
        session = np.array([names[trace.sessions[row]] if trace.sessions[row] else -1 for row in order])
    rank = np.zeros(count, np.int64)
    if trace.priorities:
        rank = np.unique(np.array(trace.priorities)[order], return_inverse=True)[1].astype(np.int64)
    return Load(arrival, prompt, answer, np.ones(count), rank, follows, session)


def drafted_steps(tokens: Any, drafted: int, acceptance_rate: float, rng: np.random.Generator) -> Any:
    """Draw the decode steps of answers: each gives one token and the drafts before the first rejected one."""
    left, steps = tokens.copy(), np.zeros_like(tokens)
    going = np.flatnonzero(left > 0)
    while len(going):
        refused = rng.random((len(going), drafted)) >= acceptance_rate
        left[going] -= 1 + np.where(refused.any(axis=1), refused.argmax(axis=1), drafted)
        steps[going] += 1
        going = going[left[going] > 0]
    return steps


def with_drafts(load: Load, drafted: int, acceptance_rate: float, seed: int) -> Load:
    """Set the tokens per step of requests with speculative decoding."""
    further = load.answer - 1
    steps = drafted_steps(further, drafted, acceptance_rate, np.random.default_rng([seed, drafted]))
    return load._replace(pace=np.where(steps > 0, further / np.maximum(steps, 1), 1.0))


def split(load: Load, replicas: int, seed: int) -> list[Any]:
    """Assign requests to replicas at random; return their indices. The turns of a session stay together."""
    if replicas == 1:
        return [np.arange(len(load.prompt))]
    rng = np.random.default_rng([seed, replicas])
    alone = load.session < 0
    own = rng.integers(0, replicas, len(load.prompt))
    of_session = rng.integers(0, replicas, max(1, int(load.session.max()) + 1))
    own = np.where(alone, own, of_session[load.session])
    return [indices for replica in range(replicas) if len(indices := np.flatnonzero(own == replica))]


def requests_of(load: Load, indices: Any, front: Any) -> Requests:
    """Build the requests of one replica, which arrive after the time of the front end."""
    count = len(indices)
    new = np.full(len(load.prompt), -1)
    new[indices] = np.arange(count)
    follows = load.next[indices]
    follows = np.where(follows >= 0, new[follows], -1)
    opening = np.ones(count, bool)
    opening[follows[follows >= 0]] = False
    session = load.session[indices]
    if (session >= 0).any():
        session = np.where(session >= 0, np.unique(session, return_inverse=True)[1], -1)
    first = np.flatnonzero(opening)
    # Where other requests decide when one is sent, all stay in their order.
    front = np.asarray(front, np.float64)
    arrival = load.arrival[indices] + (front if load.arrival.any() else 0.0)
    first = first[np.argsort(arrival[first], kind="stable")]
    return Requests(
        arrival,
        load.prompt[indices].astype(np.int64),
        load.answer[indices].astype(np.int64),
        load.pace[indices].astype(np.float64),
        load.rank[indices].astype(np.int64),
        follows.astype(np.int64),
        session.astype(np.int64),
        first.astype(np.int64),
        front,
    )


def refuse_large(load: Load, cache: float, fixed: float, per_token: float, origin: str) -> None:
    """Refuse requests that do not fit even alone.

    Raises
    ------
    InputError, CatalogError
        If one does not fit.
    """
    tokens = load.prompt + load.answer
    largest = int(tokens.argmax())
    if fixed + per_token * float(tokens[largest]) <= cache:
        return
    conflict = f"a request of {load.prompt[largest]:,} + {load.answer[largest]:,} tokens has no room: "
    conflict += f"the cache of a replica holds {cache:,.0f}"
    if origin:
        raise CatalogError(f"{origin}: {conflict}")
    raise InputError("isl", int(load.prompt[largest]), conflict, "give more ranks, or shorter requests")
