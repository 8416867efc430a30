"""Waits of prompts

A prompt waits for the decode step under way, for the prompts ahead of it and for a slot. Waits are zero with some
probability, else they have exponential tails.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Rational, exp, log, pi, sqrt

from mlsysim.formulas.iteration import PASSED
from mlsysim.formulas.replica_layout import COLOCATED, DISAGGREGATED
from mlsysim.formulas.serving_engines import DISTSERVE, NEARLY, OPEN, ORCA, QUEUED, STEADY, WHOLE, pool_rate
from mlsysim.symbolic import (
    ErlangC,
    Example,
    Formula,
    Max,
    Min,
    NormalCDF,
    Root,
    Source,
    evaluated_at,
    request,
    when,
)
from mlsysim.symbols.chunked import cv_in
from mlsysim.symbols.deployment import (
    D_1,
    V_N,
    B_e,
    D_each,
    D_w,
    N_e,
    P_f,
    P_late,
    P_s,
    P_w,
    W_w,
    Z_all,
    beta_s,
    lam_e,
    mu_e,
    p_v,
    rho_D,
    rho_e,
    t_x,
    tau_N,
    tau_v,
    theta_s,
    theta_w,
    x_late,
    x_p,
    y_w,
)
from mlsysim.symbols.varied_lengths import cv_D, k_D

_queue = And(OPEN, rho_D > 0, rho_D < 1)
#: Share of the time that decode steps stand still.
STOPPED = Min(rho_D, NEARLY)

wait_decay = Formula(
    y_w,
    when(_queue, Root(y_w, rho_D * (exp(y_w) - 1) - y_w, 0, -log(rho_D), -2 * log(rho_D)), 1),
    title="Decay of the wait for prompts ahead",
    source=Source("kleinrock1975", "section 2.5"),
    assumes="Prompts are alike. The tail of the wait in a queue of fixed services falls by a factor e in the time of "
    "one of them over this number.",
    example=Example({rho_D: 0.5, Z_all: 0}, "1.2564", derived="1.2564312"),
)

#: What varied prompts add to the mean square of a wait over twice its mean, in prefills.
_longer = when(
    cv_D > 0,
    STOPPED * cv_D**2 / (2 * (1 - STOPPED)) + ((1 + 3 * cv_D**2 + k_D) / (1 + cv_D**2) - 1) / 3,
    0,
)
_LONGER = "The tail is exponential. Where prompts vary it is longer by what their moments add to those of the wait."

wait_scale = Formula(
    theta_w,
    D_each / y_w + D_each * _longer,
    title="Time over which the wait for prompts ahead decays",
    source=Source("kleinrock1975", "section 5.6"),
    variant=COLOCATED,
    assumes=_LONGER,
    example=Example(
        {D_each: 100, y_w: 1.25, rho_D: 0.5, cv_D: 1, k_D: 2}, "196.67 ms", derived="80 + 50 + 100 * (6 / 2 - 1) / 3"
    ),
)

pool_wait_scale = Formula(
    theta_w,
    D_each / (x_p * y_w) + D_each / x_p * _longer,
    title="Time over which the wait for an engine that prefills decays",
    source=Source("cosmetatos1975"),
    variant=DISAGGREGATED,
    assumes=f"{_LONGER} Several engines are one that is as fast as all.",
    example=Example({D_each: 100, x_p: 2, y_w: 1.25, rho_D: 0.5, cv_D: 0, k_D: 0}, "40 ms", derived="100 / 2.5"),
)

prompt_wait = Formula(
    W_w,
    when(_queue, rho_D * D_each * (1 + cv_D**2) / (2 * (1 - rho_D)), 0),
    title="Mean wait for the prompts ahead",
    source=DISTSERVE,
    variant=COLOCATED,
    example=Example({Z_all: 0, rho_D: 0.5, D_each: 100, cv_D: 1}, "100 ms", derived="0.5 * 100 * 2 / (2 * 0.5)"),
)

_random_wait = ErlangC(x_p, x_p * rho_D) * D_each / (x_p * (1 - rho_D))
_alike_wait = (
    ErlangC(x_p, x_p * rho_D)
    * D_each
    / (2 * x_p * (1 - rho_D))
    * (1 + (1 - rho_D) * (x_p - 1) * (sqrt(4 + 5 * x_p) - 2) / (16 * rho_D * x_p))
)

pool_prompt_wait = Formula(
    W_w,
    when(_queue, _alike_wait + cv_D**2 * (_random_wait - _alike_wait), 0),
    title="Mean wait for an engine that prefills",
    source=Source("cosmetatos1975"),
    variant=DISAGGREGATED,
    assumes="Between prefills that are alike and exponential ones by their squared coefficient of variation, and so "
    "beyond.",
    accuracy="Where prompts are alike within 1% of a simulation at all loads.",
    example=Example({Z_all: 0, x_p: 1, rho_D: 0.5, D_each: 100, cv_D: 2}, "250 ms", derived="50 + 4 * (100 - 50)"),
)

wait_probability = Formula(
    P_w,
    Min(1, W_w / theta_w),
    title="Probability of that wait",
    source=Source("kleinrock1975", "section 2.5"),
    assumes="An exponential tail with the mean of the wait.",
    example=Example({W_w: 50, theta_w: 80}, "0.625", derived="50 / 80"),
)

step_wait = Formula(
    p_v,
    when(OPEN, 1 - exp(-N_e / request), 0),
    title="Probability that a prompt finds a decode step under way",
    source=ORCA,
    variant=COLOCATED,
    assumes="Requests that decode are taken to be there as Poisson's law has it.",
    example=Example({N_e: 2, Z_all: 0}, "0.86466", derived="1 - exp(-2)"),
)

pool_step_wait = Formula(
    p_v,
    Rational(0),
    title="Probability that a prompt finds a decode step under way, in a pool that prefills",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    no_example="it is zero",
)

slot_room = Formula(
    beta_s,
    when(N_e > 0, Min(30, Max(0, B_e - N_e) / sqrt(V_N)), 30),
    title="Slots beyond the mean batch, over its spread",
    source=Source("halfin1981"),
    assumes="Beyond thirty nobody waits.",
    example=Example({N_e: 80, B_e: 100, V_N: 100}, "2", derived="20 / 10"),
)

slot_wait_probability = Formula(
    P_s,
    when(QUEUED, 1 / (1 + beta_s * NormalCDF(beta_s) * sqrt(2 * pi) * exp(beta_s**2 / 2)), 0),
    title="Probability that a request finds every slot taken",
    source=Source("halfin1981"),
    variant="deployment",
    assumes="The law of many servers, with the spread of the batch as it is.",
    example=Example(
        {Z_all: 0, rho_e: 0.8, beta_s: 2},
        "0.026881",
        derived="1 / (1 + 2 * 0.9772498680518208 * (2 * 3.141592653589793)**0.5 * exp(2))",
    ),
)

prompt_slot_wait = Formula(
    P_f,
    P_s,
    title="Probability that a prompt waits for a slot",
    source=ORCA,
    variant=COLOCATED,
    example=Example({P_s: 0.1}, "0.1", derived="0.1"),
)

pool_prompt_slot_wait = Formula(
    P_f,
    Rational(0),
    title="Probability that a prompt waits for a slot, in a pool that prefills",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    assumes="Slots are of the pool that decodes: a request waits for one after its first token.",
    no_example="it is zero",
)

slot_wait_mean = Formula(
    theta_s,
    when(QUEUED, request / (mu_e - lam_e), 0 * D_1),
    title="Mean wait of a request that finds every slot taken",
    source=Source("gross2008", "section 2.3"),
    variant=COLOCATED,
    example=Example({Z_all: 0, rho_e: 0.75, mu_e: 4, lam_e: 3}, "1000 ms", derived="1000 / (4 - 3)"),
)

pool_slot_wait_mean = Formula(
    theta_s,
    when(QUEUED, request / (pool_rate(B_e, B_e) - lam_e), 0 * D_1),
    title="Mean wait of a request that finds every slot of its pool taken",
    source=Source("gross2008", "section 2.3"),
    variant=DISAGGREGATED,
    no_example=PASSED,
)


#: Load of the link of two pools.
LINK_LOAD = Min(NEARLY, lam_e * t_x / request)
#: Time to first token of a prompt that finds a slot, mean.
WITH_A_SLOT = D_w + p_v * tau_v / 2
#: Transfer of a cache behind those ahead of it on the link, mean.
HANDED_OVER = t_x * (1 + (1 + cv_in**2) * LINK_LOAD / (2 * (1 - LINK_LOAD)))
#: What prompts take beside what is left for steps.
TAKEN = STOPPED / (1 - STOPPED)

bare_step = Formula(
    tau_v,
    when(STEADY, tau_N * (1 - STOPPED), tau_N),
    title="Decode step without what stops it",
    source=ORCA,
    variant=WHOLE,
    example=Example({Z_all: 0, rho_e: 0.5, tau_N: 20, rho_D: 0.25}, "15 ms", derived="20 * 0.75"),
)

late_requests = Formula(
    P_late,
    Min(
        1,
        p_v
        * (
            1
            - Min(x_late, tau_v) / tau_v
            + P_w * theta_w / tau_v * (exp((Min(x_late, tau_v) - x_late) / theta_w) - exp(-x_late / theta_w))
        )
        + (1 - p_v) * P_w * exp(-x_late / theta_w)
        + P_f * exp(-x_late / Max(theta_s, D_1 / 1000)),
    ),
    title="Requests whose first token comes so much later than the prefill of one prompt",
    source=DISTSERVE,
    assumes="The rest of a decode step is uniform; waits for prompts and for a slot have exponential tails.",
    example=Example(
        {p_v: 0.5, tau_v: 20, P_w: 0.5, theta_w: 40, x_late: 40, P_f: 0, theta_s: 0, D_1: 10},
        "0.21130",
        derived="0.5 * 0.5 * 2 * (exp(-0.5) - exp(-1)) + 0.5 * 0.5 * exp(-1)",
    ),
)


def later(than: Any) -> Any:
    """Share of the requests that come so much later."""
    return evaluated_at(P_late, {x_late: than}, (late_requests,))


FORMULAS = (
    wait_decay,
    wait_scale,
    pool_wait_scale,
    prompt_wait,
    pool_prompt_wait,
    wait_probability,
    step_wait,
    pool_step_wait,
    slot_room,
    slot_wait_probability,
    prompt_slot_wait,
    pool_prompt_slot_wait,
    slot_wait_mean,
    pool_slot_wait_mean,
    bare_step,
    late_requests,
)
