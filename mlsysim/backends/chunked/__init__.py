"""Latencies of continuous batching with chunked prefill, from a Markov chain of the prompt tokens that wait.

An iteration takes a token of every request that decodes and, up to its budget, tokens of the prompts that wait, first
come first served. Given how many requests decode, the tokens that wait when an iteration begins are a Markov chain;
how many decode is the root of Little's law.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlsysim.backends.chunked.batch import Loads, solved
from mlsysim.backends.chunked.result import ChunkedLatencies
from mlsysim.backends.chunked.slopes import Direction

__all__ = ["ChunkedLatencies", "Loads", "chunked_latencies", "chunked_slopes"]


def chunked_latencies(loads: Loads) -> ChunkedLatencies:
    """Latencies of requests at replicas that prefill in chunks beside their decoding.

    Parameters
    ----------
    loads : Loads
        What arrives, and what is asked.

    Returns
    -------
    ChunkedLatencies
        Infinite where requests come faster than the capacity, nan where an input is.

    Notes
    -----
    Against simulations of fixed and log-normal lengths, from a tenth to 0.8 of the capacity, the mean time per token
    is off by 1% and the mean time to the first token by 2% in the median; tests/backends/test_chunked.py holds some.
    """
    return solved(loads)[0]


def chunked_slopes(
    loads: Loads, wrt: Sequence[str] = (), tau_slopes: Mapping[str, Callable[..., Any]] | None = None
) -> tuple[ChunkedLatencies, dict[str, ChunkedLatencies]]:
    """Latencies and their derivatives.

    Parameters
    ----------
    loads : Loads
        What arrives, and what is asked.
    wrt : sequence of str, optional
        Names of attributes of the loads, from the rate to the objectives.
    tau_slopes : mapping, optional
        ``slope(n, c, *given)`` by name: derivative of ``tau`` by something it depends on.

    Returns
    -------
    ChunkedLatencies
        The latencies.
    dict
        Their derivatives by each attribute, ``tau`` held, and by each name of ``tau_slopes``; zero where the load is
        beyond the capacity.

    Notes
    -----
    The lattice is held and roundings of the prompts to whole iterations have no slope of their own. Quantiles of the
    time to the first token are averaged over some near them, since few atoms lie there where lengths are fixed.
    """
    rates = dict(tau_slopes or {})

    def directions(place: int) -> list[Direction]:
        changes = [Direction(tau=loads.iteration(slope, place)) for slope in rates.values()]
        return [*(Direction({name: 1.0}) for name in wrt), *changes]

    values, *every = solved(loads, directions)
    return values, dict(zip((*wrt, *rates), every, strict=True))
