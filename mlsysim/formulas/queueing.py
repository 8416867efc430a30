"""Queueing

Number of replicas that meet a tail-latency target, for an M/M/c queue in front of identical replicas. The wait grows
without bound as arrivals approach capacity, so a deployment that can carry its average load may still need another
replica.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Dummy, Ge, Lt, Piecewise, Rational, log, oo

from mlsysim.symbolic import ErlangC, Example, Formula, LeastInteger, Max, Min, Source, label, request, when
from mlsysim.symbols.serving import (
    T99,
    W99,
    B_a,
    T_base,
    bottleneck,
    c,
    c_max,
    c_req,
    cv,
    load,
    mu,
    qps,
    qps_capacity,
    target,
    utilization,
    wait_probability,
)
from mlsysim.symbols.training import feasible

TUTORIAL = Source("mlsysim_tutorial", "section 2")
TAIL = Rational(1, 100)


def wait_quantile(servers: Any) -> Any:
    """99th percentile of the wait in a stable queue with this many servers."""
    excess = Max(0, log(ErlangC(servers, load) / TAIL))
    return excess * (cv**2 + 1) / 2 * request / (servers * mu - qps)


offered_load = Formula(
    load,
    when(mu > 0, qps / mu, oo),
    title="Offered load",
    source=Source("gross2008", "section 2.3"),
    assumes="Infinite where a replica completes nothing.",
    convention="In erlang: replicas kept busy.",
    example=Example({qps: 360 / 1800, mu: 1 / 240}, "48", Source("wfm", "360 calls per half hour of 240 s each")),
)

_n = Dummy("n", integer=True, positive=True)

required_replicas = Formula(
    c_req,
    LeastInteger(_n, And(qps < _n * mu, T_base + wait_quantile(_n) <= target), c_max),
    title="Fewest replicas that meet the target",
    source=TUTORIAL,
    variant="first_order",
    assumes="Replicas are identical and share one queue; the wait falls as replicas are added, so the "
    "least number is found by bisection. Infinite when even the most replicas allowed do not meet it.",
    example=Example(
        {qps: 20, mu: 45.99756980103042, load: 0.434805579, T_base: 1153.8989, cv: 1, c_max: 1024, target: 2000},
        "1",
        TUTORIAL,
    ),
)

replicas = Formula(
    c,
    Min(c_req, c_max),
    title="Replicas the queue is evaluated at",
    source=TUTORIAL,
    assumes="When no number meets the target the queue is shown at the most replicas allowed.",
    example=Example({c_req: 1, c_max: 1024}, "1", TUTORIAL),
)

capacity = Formula(
    qps_capacity,
    c * mu,
    title="Requests the deployment completes per second",
    source=TUTORIAL,
    example=Example({c: 1, mu: 45.99756980103042}, "46.0 QPS", TUTORIAL),
)

utilization_of_replicas = Formula(
    utilization,
    when(mu > 0, qps / (c * mu), oo),
    title="Utilization",
    source=Source("gross2008", "section 2.3"),
    example=Example({qps: 20, c: 1, mu: 45.99756980103042}, "43.5 %", TUTORIAL),
)

probability_of_waiting = Formula(
    wait_probability,
    when(utilization < 1, ErlangC(c, load), 1),
    title="Probability that a request queues (Erlang C)",
    source=Source("erlang1917"),
    variant="first_order",
    assumes="Poisson arrivals, exponential service, one first-come first-served queue.",
    example=Example({utilization: 0.872727, c: 55, load: 48}, "0.2387", Source("wfm", "55 agents")),
)

queue_wait = Formula(
    W99,
    when(qps < c * mu, wait_quantile(c), oo),
    title="Queueing time 99% of the requests stay below",
    source=Source("gross2008", "section 2.3"),
    variant="first_order",
    assumes="Exact for exponential service; (cv^2 + 1) / 2 is Kingman's correction of the mean, used here "
    "on the quantile. Infinite on a queue that is not stable.",
    example=Example(
        {qps: 10, mu: 10, c: 2, load: 1, cv: 0.5},
        "219.16 ms",
        derived="log(1 / 3 / 0.01) * (0.5 ** 2 + 1) / 2 / (2 * 10 - 10) * 1e3",
    ),
)

p99_latency = Formula(
    T99,
    T_base + W99,
    title="Latency 99% of the requests stay below",
    source=TUTORIAL,
    variant="first_order",
    assumes="The quantile of the wait is added to the mean service time: at light load this is low, because "
    "the spread of the service time itself is dropped.",
    example=Example({T_base: 1153.8989, W99: 145.1}, "1299.0 ms", TUTORIAL),
)

binding_limit = Formula(
    bottleneck,
    Piecewise(
        (label(bottleneck, "Memory"), Lt(B_a, request)),
        (label(bottleneck, "Base Latency"), T_base > target),
        (label(bottleneck, "Feasible"), c_req <= c_max),
        (label(bottleneck, "Capacity"), Ge(qps, c_max * mu)),
        (label(bottleneck, "Tail Latency"), True),
    ),
    title="What keeps the deployment from its target",
    source=TUTORIAL,
    variant="first_order",
    assumes="Named in the order in which adding replicas stops helping: memory and base latency first.",
    example=Example(
        {B_a: 16, T_base: 1153.9, target: 2000, c_req: 1, qps: 20, c_max: 1024, mu: 46.0}, "Feasible", TUTORIAL
    ),
)

meets_target = Formula(
    feasible,
    And(B_a >= request, T_base <= target, c_req <= c_max),
    title="Whether the target is met",
    source=TUTORIAL,
    variant="serving_capacity",
    example=Example({B_a: 16, T_base: 1153.9, target: 2000, c_req: 1, c_max: 1024}, "True", TUTORIAL),
)

FORMULAS = (
    offered_load,
    required_replicas,
    replicas,
    capacity,
    utilization_of_replicas,
    probability_of_waiting,
    queue_wait,
    p99_latency,
    binding_limit,
    meets_target,
)
