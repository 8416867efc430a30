"""Requests of a run: drawn, or those of a trace."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mlsysim.catalog import Trace
from mlsysim.errors import CatalogError, InputError
from mlsysim.simulation.engine import Requests


class Load(NamedTuple):
    """Requests by the order in which they are asked for; a turn of a session follows the one before it."""

    arrival: Any
    """Seconds from the start; zero where other requests decide when one is sent."""
    prompt: Any
    answer: Any
    pace: Any
    """Tokens of a decode step."""
    rank: Any
    """Rank of the priority: the lowest goes first."""
    next: Any
    """The next turn of the session, else -1."""
    session: Any
    """Number of the session, -1 for a request alone."""


def lengths(mean: float, cv: float, count: int, rng: np.random.Generator) -> Any:
    """Draw log-normal lengths, whole and one at least; all alike where the coefficient of variation is zero."""
    if not cv:
        return np.full(count, max(1, round(mean)), np.int64)
    variance = np.log1p(cv**2)
    drawn = rng.lognormal(np.log(mean) - variance / 2, np.sqrt(variance), count)
    return np.maximum(1, np.rint(drawn)).astype(np.int64)


def arrivals(rate: float, burstiness: float, count: int, rng: np.random.Generator) -> Any:
    """Draw times of arrivals whose gaps are gamma distributed: Poisson's where the shape is one."""
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
    """Draw requests, in sessions of so many turns, whose prompts have all that was said before.

    Parameters
    ----------
    count, turns : int
        Requests in all, and those of a session.
    mean, cv : tuple of float
        Tokens of a prompt, or of what a turn adds to it, and of an answer.
    rate, burstiness : float
        Requests per second, or 0 in a closed loop, and the shape of the times between sessions.
    seed : int
        Of the random numbers.
    """
    rng = np.random.default_rng(seed)
    prompt, answer = (lengths(mean[each], cv[each], count, rng) for each in (0, 1))
    sessions = -(-count // turns)
    starts = arrivals(rate / turns, burstiness, sessions, rng) if rate else np.zeros(sessions)
    session, turn = np.divmod(np.arange(count), turns)
    follows = np.where((turn < turns - 1) & (np.arange(count) < count - 1), np.arange(count) + 1, -1)
    for each in range(1, turns):
        later = np.flatnonzero(turn == each)
        prompt[later] += prompt[later - 1] + answer[later - 1]
    arrival = np.where(turn == 0, starts[session], 0.0)
    session = session if turns > 1 else np.full(count, -1)
    return Load(arrival, prompt, answer, np.ones(count), np.zeros(count, np.int64), follows, session)


def of_trace(trace: Trace, rate: float, burstiness: float, seed: int) -> Load:
    """Requests of a trace, in order of arrival; those without times come at a rate, or follow each other."""
    count = len(trace.prompts)
    if trace.times:
        times = np.array(trace.times)
        order = np.argsort(times, kind="stable")
        arrival = (times - times.min())[order] * trace.seconds
    else:
        order = np.arange(count)
        arrival = arrivals(rate, burstiness, count, np.random.default_rng(seed)) if rate else np.zeros(count)
    prompt, answer = (np.array(each, np.int64)[order] for each in (trace.prompts, trace.answers))
    follows, session = np.full(count, -1), np.full(count, -1)
    if trace.sessions:
        last: dict[str, int] = {}
        for place, row in enumerate(order):
            name = trace.sessions[row]
            if name and name in last:
                follows[last[name]] = place
            if name:
                last[name] = place
        names = {name: number for number, name in enumerate(dict.fromkeys(trace.sessions))}
        session = np.array([names[trace.sessions[row]] if trace.sessions[row] else -1 for row in order])
    rank = np.zeros(count, np.int64)
    if trace.priorities:
        rank = np.unique(np.array(trace.priorities)[order], return_inverse=True)[1].astype(np.int64)
    return Load(arrival, prompt, answer, np.ones(count), rank, follows, session)


def drafted_steps(tokens: Any, drafted: int, acceptance_rate: float, rng: np.random.Generator) -> Any:
    """Draw the decode steps of answers: one gives a token, and those drafted before the first that is refused."""
    left, steps = tokens.copy(), np.zeros_like(tokens)
    going = np.flatnonzero(left > 0)
    while len(going):
        refused = rng.random((len(going), drafted)) >= acceptance_rate
        left[going] -= 1 + np.where(refused.any(axis=1), refused.argmax(axis=1), drafted)
        steps[going] += 1
        going = going[left[going] > 0]
    return steps


def with_drafts(load: Load, drafted: int, acceptance_rate: float, seed: int) -> Load:
    """Requests whose steps give a token and what was drafted and accepted."""
    further = load.answer - 1
    steps = drafted_steps(further, drafted, acceptance_rate, np.random.default_rng([seed, drafted]))
    return load._replace(pace=np.where(steps > 0, further / np.maximum(steps, 1), 1.0))


def split(load: Load, replicas: int, seed: int) -> list[Any]:
    """Places of the requests of each replica: sessions are dealt out at random, and stay where they are."""
    if replicas == 1:
        return [np.arange(len(load.prompt))]
    rng = np.random.default_rng([seed, replicas])
    alone = load.session < 0
    own = rng.integers(0, replicas, len(load.prompt))
    of_session = rng.integers(0, replicas, max(1, int(load.session.max()) + 1))
    own = np.where(alone, own, of_session[load.session])
    return [places for each in range(replicas) if len(places := np.flatnonzero(own == each))]


def asked(load: Load, places: Any, front: Any) -> Requests:
    """Requests of one replica, which reach it as many seconds after they are sent."""
    count = len(places)
    new = np.full(len(load.prompt), -1)
    new[places] = np.arange(count)
    follows = load.next[places]
    follows = np.where(follows >= 0, new[follows], -1)
    opening = np.ones(count, bool)
    opening[follows[follows >= 0]] = False
    session = load.session[places]
    if (session >= 0).any():
        session = np.where(session >= 0, np.unique(session, return_inverse=True)[1], -1)
    first = np.flatnonzero(opening)
    # Where other requests decide when one is sent, all stay in their order.
    front = np.asarray(front, np.float64)
    arrival = load.arrival[places] + (front if load.arrival.any() else 0.0)
    first = first[np.argsort(arrival[first], kind="stable")]
    return Requests(
        arrival,
        load.prompt[places].astype(np.int64),
        load.answer[places].astype(np.int64),
        load.pace[places].astype(np.float64),
        load.rank[places].astype(np.int64),
        follows.astype(np.int64),
        session.astype(np.int64),
        first.astype(np.int64),
        front,
    )


def refuse_large(load: Load, cache: float, fixed: float, per_token: float, origin: str) -> None:
    """Refuse requests that have no room alone.

    Raises
    ------
    InputError, CatalogError
        If one has none.
    """
    tokens = load.prompt + load.answer
    largest = int(tokens.argmax())
    if fixed + per_token * float(tokens[largest]) <= cache:
        return
    said = f"a request of {load.prompt[largest]:,} + {load.answer[largest]:,} tokens has no room: "
    said += f"the cache of a replica holds {cache:,.0f}"
    if origin:
        raise CatalogError(f"{origin}: {said}")
    raise InputError("isl", int(load.prompt[largest]), said, "give more ranks, or shorter requests")
