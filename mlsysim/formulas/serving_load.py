"""Load of an engine

The number of requests that decode together follows from the load by Little's law. A request that arrives independently
meets the mean number, and those prefilled with it.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Piecewise, Rational, oo

from mlsysim.formulas.benchmark_runs import RUN, WAITS, others
from mlsysim.formulas.iteration import PASSED
from mlsysim.formulas.replica_layout import COLOCATED, DISAGGREGATED
from mlsysim.formulas.serving_engines import (
    DISTSERVE,
    LITTLE,
    LONGEST,
    OPEN,
    ORCA,
    STEADY,
    pool_rate,
    shared_rate,
    step,
)
from mlsysim.formulas.serving_waits import STOPPED
from mlsysim.formulas.varied_lengths import OWN
from mlsysim.symbolic import (
    Example,
    Formula,
    Max,
    Min,
    Root,
    Source,
    evaluated_at,
    request,
    when,
)
from mlsysim.symbols.closed_loops import B_Z, K_z, T_fr, W_z, ttft_b
from mlsysim.symbols.deployment import (
    D_1,
    V_N,
    X_B,
    B_e,
    D_each,
    D_w,
    N_e,
    N_z,
    W_w,
    Z_all,
    Z_b,
    Z_e,
    b_N,
    c_a,
    c_dep,
    c_given,
    k_a,
    lam_all,
    lam_e,
    mu_e,
    rho_D,
    rho_e,
    t_x,
    tau_N,
    u_ans,
    x_p,
    y_d,
)
from mlsysim.symbols.varied_lengths import cv_D, x_b

replica_concurrency = Formula(
    Z_e,
    Z_all / c_dep,
    title="Requests in flight of one replica",
    source=LITTLE,
    assumes="They are spread evenly.",
    example=Example({Z_all: 50, c_dep: 2}, "25 request", derived="50 / 2"),
)


#: Wait of a prompt beside as many requests that decode as the root stands for.
_WAITED = evaluated_at(W_z, {N_z: N_e}, WAITS)

closed_batch = Formula(
    N_z,
    when(Z_all > 0, Min(B_Z, Root(N_e, N_e + shared_rate(N_e, N_e) * (D_1 + T_fr + _WAITED), Z_e, 0, Z_e)), 0),
    title="Requests that decode in a closed loop",
    source=LITTLE,
    variant=COLOCATED,
    assumes="Those in flight decode or are prefilled, up to the slots; the others wait for one. Of the prompts that "
    "come together, half are ahead.",
    no_example=PASSED,
)

closed_pools_batch = Formula(
    N_z,
    when(
        Z_all > 0,
        Min(
            B_e,
            Root(N_e, y_d * N_e + pool_rate(N_e, N_e) * (D_1 + t_x + T_fr), Z_e, 0, Z_e),
            Root(N_e, pool_rate(N_e, N_e), x_p * request / D_each, 0, Z_e),
        ),
        0,
    ),
    title="Requests that decode in one engine of a closed loop",
    source=LITTLE,
    variant=DISAGGREGATED,
    assumes="Where prefill cannot keep up, the others wait for it.",
    no_example=PASSED,
)


def arriving(closed: Any) -> Any:
    """Requests per second of a replica, given those of a closed loop."""
    return when(Z_all > 0, closed, lam_all / c_dep)


replica_rate = Formula(
    lam_e,
    arriving(shared_rate(N_z, N_z)),
    title="Requests that reach one replica",
    source=LITTLE,
    variant=COLOCATED,
    no_example=PASSED,
)

pools_rate = Formula(
    lam_e,
    arriving(pool_rate(N_z, N_z)),
    title="Requests that reach two pools",
    source=LITTLE,
    variant=DISAGGREGATED,
    no_example=PASSED,
)


def started(first: Any, slots: Any) -> Any:
    """Mean TTFT of the requests at the start of a run, of which the first fill the slots."""
    return when(RUN, T_fr + first + Max(0, Z_e - slots) / (2 * lam_e), 0)


#: Requests of a run that have a slot at its start.
RESERVED = Min(B_Z, Z_e)

burst_first_token = Formula(
    ttft_b,
    started(D_1 + others(RESERVED) / 2 * D_each, RESERVED),
    title="Mean time to first token of the requests that start a run",
    source=OWN,
    variant=COLOCATED,
    assumes="Their prompts follow each other. Requests without a slot follow in waves, each as long as an answer.",
    example=Example(
        {Z_all: 40, K_z: 10, T_fr: 20, D_1: 100, D_each: 100, B_Z: 16, Z_e: 40, lam_e: 4},
        "3870 ms",
        derived="20 + 100 + 15 / 2 * 100 + 1000 * 24 / (2 * 4)",
    ),
)

pools_burst_first_token = Formula(
    ttft_b,
    when(RUN, when(mu_e > 0, T_fr + D_1 + others(Z_e) / 2 * D_each / x_p, oo), 0),
    title="Mean time to first token of the requests that start a run of pools",
    source=OWN,
    variant=DISAGGREGATED,
    assumes="Their prompts follow each other.",
    example=Example(
        {Z_all: 40, K_z: 10, T_fr: 20, D_1: 100, D_each: 100, x_p: 2, Z_e: 40, mu_e: 4},
        "1095 ms",
        derived="20 + 100 + 39 / 2 * 50",
    ),
)

replica_load = Formula(
    rho_e,
    when(mu_e > 0, lam_e / mu_e, oo),
    title="Load of a replica",
    source=Source("gross2008", "section 2.3"),
    example=Example({lam_e: 3, mu_e: 4}, "0.75", derived="3 / 4"),
)


def _batch(leaving: Any, coming: Any, most: Any = B_e) -> Any:
    """Batch size at which requests leave as fast as they arrive; a request counts itself and the others."""
    found = Min(Root(N_e, leaving, coming, 0, B_e), most)
    return Piecewise((N_z, Z_all > 0), (found, And(rho_e < 1, rho_D < 1)), (B_e, True))


arrival_variation = Formula(
    c_a,
    when(
        OPEN,
        1
        + (1 / k_a - 1)
        * Piecewise((1 / c_given, c_given > 0), (Max(0, Min(1, lam_e / lam_all)), lam_all > 0), (Rational(1), True)),
        1,
    ),
    title="Variation of the times between requests of one replica",
    source=Source("whitt1983", "section 4.4"),
    variant="deployment",
    assumes="Requests are spread over the replicas at random: of bursts each gets its share. A closed loop has none.",
    example=Example({Z_all: 0, k_a: 0.25, c_given: 0, lam_e: 5, lam_all: 20}, "1.75", derived="1 + 3 * 5 / 20"),
)

_alike = request / (1 - rho_D) ** 2
_begun = c_a * _alike + (rho_D * cv_D) ** 2 * _alike

bunch = Formula(
    Z_b,
    (1 - x_b) * _begun + x_b * request,
    title="Requests that start to decode together",
    source=Source("kleinrock1975", "section 5.6"),
    variant=COLOCATED,
    assumes="Prompts that follow each other without a step between are prefilled before any of them decodes; their "
    "number in a busy period, as one of them meets it, with those of the same burst. They stay together until the "
    "shorter answer ends.",
    example=Example({rho_D: 0.5, cv_D: 2, x_b: 0.4, c_a: 1}, "5.2 request", derived="8 - 0.4 * 7"),
)

pool_bunch = Formula(
    Z_b,
    request * Min(1 + (1 - x_b) * (1 - STOPPED**2) * (c_a - 1) / y_d, Max(1, B_e / request * Max(0, 1 - rho_e))),
    title="Requests that start to decode together in one engine of a pool",
    source=Source("whitt1983", "section 4.5"),
    variant=DISAGGREGATED,
    assumes="Itself and those of the same burst, which engines that prefill even out as they are busier and which are "
    "spread over those that decode, as far as slots are free.",
    example=Example(
        {rho_D: 0.5, c_a: 5, x_b: 0.5, y_d: 2, B_e: 16, rho_e: 0.5}, "1.75 request", derived="1 + 0.5 * 0.75 * 4 / 2"
    ),
)

prompt_stay = Formula(
    D_w,
    D_1 + W_w,
    title="Wait for other prompts and own prefill",
    source=ORCA,
    example=Example({D_1: 100, W_w: 20}, "120 ms", derived="100 + 20"),
)

decode_batch = Formula(
    N_e,
    _batch(
        N_e / ((u_ans + rho_D / 2) * step(N_e + Z_b) + rho_D * D_w + (1 - rho_D) * X_B),
        lam_e / (1 - rho_D),
        lam_e * Max(0, LONGEST),
    ),
    title="Requests that decode together",
    source=LITTLE,
    variant=COLOCATED,
    assumes="A request decodes just behind its own prompt: those that came meanwhile are prefilled first. While it "
    "decodes each of the other slots prefills once at most.",
    no_example=PASSED,
)

pools_batch = Formula(
    N_e,
    _batch(pool_rate(N_e + Z_b, N_e), lam_e),
    title="Requests that decode together in one engine of a pool",
    source=LITTLE,
    variant=DISAGGREGATED,
    no_example=PASSED,
)

prompt_load = Formula(
    rho_D,
    lam_e * D_each / request,
    title="Share of the time that prompts take",
    source=ORCA,
    variant=COLOCATED,
    example=Example({lam_e: 4, D_each: 50}, "0.2", derived="4 * 0.05"),
)

pool_prompt_load = Formula(
    rho_D,
    lam_e * D_each / (x_p * request),
    title="Load of the engines that prefill",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    example=Example({lam_e: 4, D_each: 50, x_p: 2}, "0.1", derived="4 * 0.05 / 2"),
)

step_at_load = Formula(
    tau_N,
    when(And(STEADY, rho_D < 1), step(N_e + when(OPEN, Z_b, 0)) / (1 - rho_D), oo),
    title="Decode step that a request meets",
    source=ORCA,
    variant=COLOCATED,
    assumes="Steps stand still while prompts are prefilled. A request that arrives by itself meets the mean and adds "
    "itself.",
    no_example=PASSED,
)

pool_step_at_load = Formula(
    tau_N,
    when(STEADY, step(N_e + when(OPEN, Z_b, 0)), oo),
    title="Decode step that a request meets in its pool",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    no_example=PASSED,
)

step_growth = Formula(
    b_N,
    when(And(STEADY, rho_D < 1), (step(N_e + 2 * request) - step(N_e + request)) / (1 - rho_D), 0),
    title="What one more request adds to a step",
    source=ORCA,
    variant=COLOCATED,
    no_example=PASSED,
)

pool_step_growth = Formula(
    b_N,
    when(STEADY, step(N_e + 2 * request) - step(N_e + request), 0),
    title="What one more request adds to a step of its pool",
    source=ORCA,
    variant=DISAGGREGATED,
    no_example=PASSED,
)


def _variance(engines: Any, bunch: Any) -> Any:
    """Variance of the requests in an engine: a birth-death chain whose steps grow with it is negative binomial."""
    return N_e * bunch / Max(Rational(1, 1000), 1 - lam_e / engines * u_ans * b_N / request)


batch_variance = Formula(
    V_N,
    _variance(1, Z_b),
    title="Variance of the requests that decode",
    source=Source("kleinrock1975", "section 3.2"),
    variant=COLOCATED,
    assumes="A birth-death chain in which a step grows by the same with each request: a negative binomial law. "
    "Requests that were prefilled without a step between come in bunches.",
    example=Example(
        {N_e: 10, Z_b: 4, lam_e: 4, u_ans: 100, b_N: 1},
        "66.667 request^2",
        derived="10 * 4 / (1 - 4 * 100 * 0.001)",
    ),
)

pools_batch_variance = Formula(
    V_N,
    _variance(y_d, Z_b),
    title="Variance of the requests that decode in one engine of a pool",
    source=Source("kleinrock1975", "section 3.2"),
    variant=DISAGGREGATED,
    example=Example(
        {N_e: 10, lam_e: 8, y_d: 2, u_ans: 100, b_N: 1, Z_b: 1},
        "16.667 request^2",
        derived="10 / (1 - 4 * 100 * 0.001)",
    ),
)


#: What says how many requests reach a replica.
RATES = (
    replica_concurrency,
    closed_batch,
    closed_pools_batch,
    replica_rate,
    pools_rate,
    burst_first_token,
    pools_burst_first_token,
)
#: What follows from them.
BY_LOAD = (
    replica_load,
    arrival_variation,
    bunch,
    pool_bunch,
    prompt_stay,
    decode_batch,
    pools_batch,
    prompt_load,
    pool_prompt_load,
    step_at_load,
    pool_step_at_load,
    step_growth,
    pool_step_growth,
    batch_variance,
    pools_batch_variance,
)
FORMULAS = (*RATES, *BY_LOAD)
