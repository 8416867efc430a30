"""Latencies of loads, and their slopes by name, without a formula around them."""

from mlsysim.backends.chunked import Direction, solved


def chunked_latencies(loads):
    """Latencies of requests at replicas that prefill in chunks; infinite beyond the capacity."""
    return solved(loads)[0]


def chunked_slopes(loads, wrt=(), tau_slopes=None):
    """Latencies, and their derivatives by attributes of the loads and by what ``slope(n, c, *given)`` of tau says."""
    rates = dict(tau_slopes or {})

    def directions(place):
        changes = [Direction(tau=loads.iteration(slope, place)) for slope in rates.values()]
        return [*(Direction({name: 1.0}) for name in wrt), *changes]

    values, *every = solved(loads, directions)
    return values, dict(zip((*wrt, *rates), every, strict=True))
